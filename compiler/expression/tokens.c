/* Checks the tokens of an expression before libclang parses it. Limits of length and nesting keep libclang's stack
 * small. */
#include "reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All punctuation of C, and other signs that users may type, each with a blank after it.
   - allowed: the signs are part of the language
   - note: an explanation, or NULL */
static const struct signs {
    const char *list;
    bool allowed;
    const char *note;
} signs[] = {
    {"<< >> <= >= == != && || & ^ | ~ + - * / % < > ! ? : ( ) [ ] , ", true, NULL},
    {"%:%: ... -> <: :> <% %> %: ", false, NULL},
    {"\?\? ", false, NULL}, /* trigraphs */
    {"<<= >>= ++ += -= *= /= %= &= |= ^= ", false, "an expression cannot assign"},
    {"-- ", false, "an expression cannot assign; to subtract a negative number, put a blank between the signs"},
    {"= ", false, "a comparison is written '=='"},
    {"// /* ", false, "a comment begins with # and is written outside the expression"},
    {"** ", false, "a power is written pow(x, y)"},
    {"\xe2\x89\xa4 ", false, "write '<='"},
    {"\xe2\x89\xa5 ", false, "write '>='"},
    {"\xe2\x89\xa0 ", false, "write '!='"},
    {"\xe2\x88\x92 ", false, "write '-'"},
    {"\xc3\x97 \xc2\xb7 ", false, "write '*'"},
};

/* A sign of an expression, and the list that it is in, or NULL. */
struct sign {
    char text[5];
    size_t length;
    const struct signs *of;
};

static const char *const types[] = {"char",   "double", "float",    "int",  "int64_t", "long", "short",
                                    "signed", "size_t", "unsigned", "void", "_Bool",   "bool", NULL};
static const char *const keywords[] = {
    "auto",   "break",   "case",   "const",  "continue", "default",  "do",      "else",    "enum",   "extern",
    "for",    "goto",    "if",     "inline", "register", "restrict", "return",  "sizeof",  "static", "struct",
    "switch", "typedef", "typeof", "union",  "volatile", "while",    "alignof", "defined", "asm",    NULL};

static void report(struct expression_reader *r, size_t offset, enum expression_says says, const char *format,
                   va_list args)
{
    char message[600];
    if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = 0;
    r->report(r->user, offset, says, message);
}

bool expression_error(struct expression_reader *r, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, offset, EXPRESSION_ERROR, format, args);
    va_end(args);
    r->failed = true;
    return false;
}

void expression_warning(struct expression_reader *r, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, offset, EXPRESSION_WARNING, format, args);
    va_end(args);
}

void expression_note(struct expression_reader *r, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, offset, EXPRESSION_NOTE, format, args);
    va_end(args);
}

/* ---- names ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

static bool is_function(const char *word)
{
    return expression_find_function(word) != EXPRESSION_FUNCTIONS;
}

/* Returns the places of expressions that may name a score or a sum. */
static unsigned places_of(enum array_type type)
{
    return type == ARRAY_SCORE     ? EXPRESSION_PAIR | EXPRESSION_MASK | EXPRESSION_TERM
           : type == ARRAY_RUNNING ? EXPRESSION_PAIR
           : type == ARRAY_SUM     ? EXPRESSION_OUTPUT
                                   : ~0U;
}

const struct user_array *expression_array(const struct expression_reader *r, const char *name)
{
    const enum expression_name own = expression_find_name(name);
    for (int k = 0; k < r->arrays->count + r->arrays->named; k++) {
        const struct user_array *const a = &r->arrays->array[k];
        if (strcmp(a->name, name) != 0) continue;
        if ((unsigned)r->place & places_of(a->type) || own == EXPRESSION_NAMES ||
            !expression_name_allowed(own, r->place))
            return a;
    }
    return NULL;
}

bool expression_reserves_value(const char *name, enum array_type type)
{
    const enum expression_name own = expression_find_name(name);
    return own == EXPRESSION_NAMES ? expression_reserves(name)
                                   : expression_name_allowed(own, (enum expression_place)places_of(type));
}

bool expression_reserves(const char *name)
{
    static const char *const more[] = {"d", "attnc_value", NULL};
    const enum expression_name known = expression_find_name(name); /* `e` and `x` have a meaning in one place alone */
    return (known != EXPRESSION_NAMES && known != NAME_e && known != NAME_x) || among(name, more) ||
           among(name, types) || among(name, keywords) || *name == '_';
}

/* Returns the function most similar to `word`, or NULL. */
static const char *near_function(const char *word)
{
    const char *names[EXPRESSION_FUNCTIONS + 1] = {NULL};
    int count = 0;
    for (int function = 0; function < EXPRESSION_FUNCTIONS; function++)
        if (expression_function_name(function)) names[count++] = expression_function_name(function);
    return nearest_word(word, names);
}

/* Returns the name of the array whose name is most similar to `word`, or NULL. */
static const char *near_array(const struct expression_reader *r, const char *word)
{
    const int count = r->arrays->count + r->arrays->named;
    const char **names = arena_alloc(r->arena, ((size_t)count + 1) * sizeof *names);
    for (int k = 0; k < count; k++) names[k] = r->arrays->array[k].name;
    return nearest_word(word, names);
}

static void note_functions(struct expression_reader *r, size_t at)
{
    struct text list = {0};
    expression_list_functions(&list, ", ");
    expression_note(r, at, "the functions are %s", list.data);
    text_free(&list);
}

static void note_names(struct expression_reader *r, size_t at)
{
    struct text list = {0};
    expression_list_names(r->place, &list, ", ");
    expression_note(r, at, "the names are %s%s", list.data,
                    r->arrays->count > 0 ? ", and the names under 'arrays'" : "; an array is declared under 'arrays'");
    text_free(&list);
}

/* Reports a name that an expression in this place may not use. */
static void report_misplaced(struct expression_reader *r, size_t at, const char *word)
{
    expression_error(r, at, "%s has no '%s'",
                     r->place == EXPRESSION_MASK       ? "a mask"
                     : r->place == EXPRESSION_PAIR     ? "a weight or logit"
                     : r->place == EXPRESSION_QUERY    ? "a logit without a key"
                     : r->place == EXPRESSION_DECAY    ? "the logarithm of a decay"
                     : r->place == EXPRESSION_POSITION ? "a number for each position"
                     : r->place == EXPRESSION_OUTPUT   ? "an element of the output"
                     : r->place == EXPRESSION_TERM     ? "a term of a score"
                                                       : "the angle of a rotation",
                     word);
    note_names(r, at);
}

static void check_name(struct expression_reader *r, size_t at, size_t length, bool called)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), r->text + at);
    const struct user_array *array = expression_array(r, word);
    const enum expression_name known = expression_find_name(word);
    const bool name = array || (known != EXPRESSION_NAMES && expression_name_allowed(known, r->place));
    if (!called && array && array->type >= ARRAY_SCORE) {
        if (!((unsigned)r->place & places_of(array->type)))
            expression_error(r, at,
                             array->type == ARRAY_SCORE
                                 ? "'%s' is a score, a number for each pair; only weights, logits, factors and masks "
                                   "read it"
                             : array->type == ARRAY_RUNNING
                                 ? "'%s' is a running sum, a number for each pair; only weights, logits and factors "
                                   "read it"
                                 : "'%s' is a sum, which only 'output' reads",
                             word);
        if (r->place == EXPRESSION_MASK && !r->uses[NAME_s]) {
            r->uses[NAME_s] = true;
            r->first_use[NAME_s].offset = at;
        }
        return;
    }
    if (called ? is_function(word) && !array : name) {
        if (!called && !array && !r->uses[known]) {
            r->uses[known] = true;
            r->first_use[known].offset = at;
        }
        return;
    }
    if (among(word, types)) {
        expression_error(r, at, "'%s' is not part of expressions", word);
        expression_note(r, at,
                        "the only cast is (int)x: names other than s are 64-bit integers, s and numbers with a "
                        "fraction are doubles");
    } else if (among(word, keywords) || strncmp(word, "__", 2) == 0 ||
               (word[0] == '_' && word[1] >= 'A' && word[1] <= 'Z'))
        expression_error(r, at, "'%s' is not part of expressions", word);
    else if (is_function(word) && !array)
        expression_error(r, at, "'%s' is a function: write %s(…)", word, word);
    else if (name)
        expression_error(r, at, "'%s' is not a function", word);
    else if (called) {
        expression_error(r, at, "there is no function '%s' in expressions", word);
        const char *near = near_function(word);
        if (near)
            expression_note(r, at, "did you mean '%s'?", near);
        else
            note_functions(r, at);
    } else if (known != EXPRESSION_NAMES) {
        report_misplaced(r, at, word);
    } else {
        static const char *const operators[][2] = {{"and", "&&"}, {"or", "||"}, {"not", "!"}};
        expression_error(r, at, "unknown name '%s'", word);
        for (int k = 0; k < 3; k++)
            if (strcmp(word, operators[k][0]) == 0) {
                expression_note(r, at, "expressions are C: write %s", operators[k][1]);
                return;
            }
        const char *near = near_function(word), *array_near = near_array(r, word);
        if (array_near)
            expression_note(r, at, "did you mean '%s'?", array_near);
        else if (near)
            expression_note(r, at, "did you mean '%s(…)'?", near);
        else
            note_names(r, at);
    }
}

/* ---- numbers ---- */

/* Returns the length of the preprocessing number at s, as in C. */
static size_t number_length(const char *s)
{
    size_t n = 1;
    while (is_letter(s[n]) || is_digit(s[n]) || s[n] == '.' ||
           ((s[n] == '+' || s[n] == '-') && strchr("eEpP", s[n - 1])))
        n++;
    return n;
}

static size_t digits(const char *s)
{
    size_t n = 0;
    while (is_digit(s[n])) n++;
    return n;
}

static void check_number(struct expression_reader *r, size_t at, size_t length)
{
    const char *s = r->text + at;
    size_t whole = digits(s), n = whole, fraction = 0;
    if (s[n] == '.') {
        fraction = digits(s + n + 1);
        n += 1 + fraction;
    }
    bool real = n > whole;
    if ((s[n] == 'e' || s[n] == 'E') && is_digit(s[n + 1 + (s[n + 1] == '+' || s[n + 1] == '-')])) {
        n += 1 + (size_t)(s[n + 1] == '+' || s[n + 1] == '-');
        n += digits(s + n);
        real = true;
    }
    int shown = length > 60 ? 60 : (int)length;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X' || s[1] == 'b' || s[1] == 'B')) {
        expression_error(r, at, "'%.*s': write the number in decimal", shown, s);
        return;
    }
    if (n != length || whole + fraction == 0) {
        expression_error(r, at, "'%.*s' is not a number", shown, s);
        if (n < length && whole + fraction > 0 && is_letter(s[n]))
            expression_note(r, at + n, "numbers have no suffixes");
        return;
    }
    if (!real && whole > 1 && s[0] == '0') {
        expression_error(r, at, "a number with a leading zero is ambiguous");
        return;
    }
    errno = 0;
    if (real) {
        double value = strtod(s, NULL);
        bool zero = strspn(s, "0.") >= strcspn(s, "eE") || strspn(s, "0.") == length;
        if (!isfinite(value)) expression_error(r, at, "'%.*s' is larger than any double", shown, s);
        if (value == 0 && !zero) expression_error(r, at, "'%.*s' is smaller than any double", shown, s);
    } else {
        (void)strtoll(s, NULL, 10);
        if (errno == ERANGE) expression_error(r, at, "'%.*s' does not fit 64 bits", shown, s);
    }
}

double expression_number(const struct expression_reader *r, size_t offset, bool *is_integer, int64_t *integer)
{
    const char *s = r->text + offset;
    size_t whole = digits(s);
    *is_integer = s[whole] != '.' && s[whole] != 'e' && s[whole] != 'E';
    *integer = *is_integer ? strtoll(s, NULL, 10) : 0;
    return strtod(s, NULL);
}

/* ---- the whole text ---- */

/* Returns the number of bytes of the UTF-8 character at s. */
static size_t character(const char *s)
{
    size_t n = 1;
    while (n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80) n++;
    return n;
}

struct walk {
    struct expression_reader *r;
    size_t at;
    bool operand;      /* the token before this one ends an operand */
    bool cast;         /* the token is after the `int` of a cast */
    bool function;     /* the token is after the name of a function */
    int depth, prefix; /* open parentheses; consecutive prefix operators */
    int choices;       /* the number of `?` in the expression */
    int casts;         /* the number of casts in the expression */
    struct subscripted {
        const struct user_array *array; /* NULL if there is no array */
        size_t at;                      /* the offset of the array's name */
        int subscripts;                 /* the number of subscripts so far */
    } last;                             /* the array before this token */
    struct bracket {
        enum { BRACKET_PLAIN, BRACKET_CALL, BRACKET_SUBSCRIPT } kind;
        size_t at;
        struct subscripted of; /* used by BRACKET_SUBSCRIPT */
    } open[EXPRESSION_MAX_DEPTH];
};

/* Checks that the array before this token has all its subscripts. */
static void end_subscripts(struct walk *w)
{
    const struct user_array *a = w->last.array;
    if (a && w->last.subscripts < a->rank)
        expression_error(w->r, w->last.at, "'%s' has %d ax%ss, so it takes %d subscript%s, found %d", a->name, a->rank,
                         a->rank == 1 ? "i" : "e", a->rank, a->rank == 1 ? "" : "s", w->last.subscripts);
    w->last.array = NULL;
}

/* Checks '[' and ']'. Returns false to stop the check of the expression. */
static bool check_subscript(struct walk *w, bool opens)
{
    struct expression_reader *r = w->r;
    const struct user_array *a = w->last.array;
    if (opens) {
        if (!a || w->last.subscripts == a->rank) {
            if (a)
                expression_error(r, w->at, "'%s' has %d axes, so this is a subscript too many", a->name, a->rank);
            else if (!r->failed)
                expression_error(r, w->at, "only an array that is declared under 'arrays' has subscripts");
            return false;
        }
        if (w->depth == EXPRESSION_MAX_DEPTH)
            return expression_error(r, w->at, "parentheses more than %d deep", EXPRESSION_MAX_DEPTH);
        w->open[w->depth++] = (struct bracket){BRACKET_SUBSCRIPT, w->at, w->last};
        w->last.array = NULL;
        w->operand = false;
        w->prefix = 0;
        return true;
    }
    end_subscripts(w);
    if (w->depth == 0 || w->open[w->depth - 1].kind != BRACKET_SUBSCRIPT) {
        if (w->depth > 0)
            expression_error(r, w->open[w->depth - 1].at, "this '(' is not closed");
        else
            expression_error(r, w->at, "this ']' has no '[' before it");
        return false;
    }
    if (!w->operand) return expression_error(r, w->at, "a subscript is missing here");
    w->last = w->open[--w->depth].of;
    w->last.subscripts++;
    w->operand = true;
    return true;
}

/* Checks a punctuation sign. Returns false to stop the check of the expression. */
static bool check_sign(struct walk *w, const struct sign *sign)
{
    struct expression_reader *r = w->r;
    const char *s = sign->text;
    bool function = w->function;
    w->function = false;
    if (*s == '[' || *s == ']') return check_subscript(w, *s == '[');
    end_subscripts(w);
    if (!sign->of->allowed) {
        expression_error(r, w->at, "'%s' is not part of expressions", s);
        if (sign->of->note) expression_note(r, w->at, "%s", sign->of->note);
        w->operand = false;
        /* these signs begin a comment, so the rest of the text is not checked */
        return strcmp(s, "//") != 0 && strcmp(s, "/*") != 0;
    }
    if (*s == '(') {
        if (w->depth == EXPRESSION_MAX_DEPTH)
            return expression_error(r, w->at, "parentheses more than %d deep", EXPRESSION_MAX_DEPTH);
        w->open[w->depth++] = (struct bracket){.kind = function ? BRACKET_CALL : BRACKET_PLAIN, .at = w->at};
        w->operand = false;
        w->prefix = 0;
        return true;
    }
    if (*s == ')') {
        if (w->depth == 0) return expression_error(r, w->at, "this ')' has no '(' before it");
        if (w->open[w->depth - 1].kind == BRACKET_SUBSCRIPT)
            return expression_error(r, w->open[w->depth - 1].at, "this '[' is not closed");
        w->depth--;
        w->operand = !w->cast; /* A cast comes before its operand, so it does not end one. */
        w->cast = false;
        return true;
    }
    if (*s == ',' && (w->depth == 0 || w->open[w->depth - 1].kind != BRACKET_CALL)) {
        expression_error(r, w->at, "a comma is only allowed between the arguments of a function");
        return true;
    }
    bool prefix = !w->operand && strchr("+-!~", *s) && !s[1];
    if (*s == '~' && !prefix) {
        expression_error(r, w->at, "an operator is missing before '~'");
        return true;
    }
    if (!w->operand && !prefix) {
        expression_error(r, w->at, "an operand is missing before '%s'", s);
        return true;
    }
    w->prefix = prefix ? w->prefix + 1 : 0;
    w->choices += *s == '?';
    if (w->prefix > EXPRESSION_MAX_DEPTH || w->choices > EXPRESSION_MAX_DEPTH)
        return expression_error(r, w->at, "more than %d '%s'%s", EXPRESSION_MAX_DEPTH, w->prefix ? s : "?",
                                w->prefix ? " before an operand" : " in one expression");
    w->operand = false;
    return true;
}

/* Returns the longest sign at the beginning of the text. */
static struct sign find_sign(const char *text)
{
    struct sign found = {.of = NULL};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        for (const char *sign = signs[k].list; *sign; sign += strcspn(sign, " ") + 1) {
            const size_t length = strcspn(sign, " ");
            if (length > found.length && strncmp(text, sign, length) == 0) {
                found = (struct sign){.length = length, .of = &signs[k]};
                memcpy(found.text, sign, length);
            }
        }
    return found;
}

/* Returns whether the word at w->at is the `int` of a cast, alone in parentheses. */
static bool is_cast(const struct walk *w, size_t length)
{
    const char *s = w->r->text;
    size_t before = w->at, after = w->at + length;
    if (length != 3 || strncmp(s + w->at, "int", 3) != 0 || w->operand || w->depth == 0 ||
        w->open[w->depth - 1].kind != BRACKET_PLAIN)
        return false;
    while (before > 0 && is_blank(s[before - 1])) before--;
    while (is_blank(s[after])) after++;
    return before > 0 && s[before - 1] == '(' && s[after] == ')';
}

/* Checks the token at w->at. Returns false to stop the check of the expression. */
static bool check_token(struct walk *w)
{
    struct expression_reader *r = w->r;
    const char *s = r->text + w->at;
    size_t length = 1;
    if (is_letter(*s)) {
        while (is_letter(s[length]) || is_digit(s[length])) length++;
        size_t next = length;
        while (is_blank(s[next])) next++;
        if (is_cast(w, length)) {
            if (++w->casts > EXPRESSION_MAX_DEPTH)
                return expression_error(r, w->at, "more than %d casts in one expression", EXPRESSION_MAX_DEPTH);
            w->cast = true;
            w->at += length;
            return true;
        }
        check_name(r, w->at, length, s[next] == '(');
        end_subscripts(w);
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), s);
        w->last = (struct subscripted){expression_array(r, word), w->at, 0};
        w->operand = w->function = true;
        w->prefix = 0;
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        length = number_length(s);
        check_number(r, w->at, length);
        end_subscripts(w);
        w->operand = true;
        w->function = false;
        w->prefix = 0;
    } else {
        const struct sign sign = find_sign(s);
        if (sign.of) {
            if (!check_sign(w, &sign)) return false;
            length = sign.length;
        } else if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            expression_error(r, w->at, "control character U+%04X in an expression", (unsigned)*s);
        } else {
            length = character(s);
            expression_error(r, w->at, "'%.*s' is not part of expressions", (int)length, s);
            if (strchr("\"'`;{}#\\@$", *s) && *s != '\'') w->operand = false;
            /* A character such as ; or " cannot be in an expression, so the check stops. */
            if (strchr(";{}\"'#\\", *s)) return false;
        }
    }
    w->at += length;
    return true;
}

bool expression_check_text(struct expression_reader *r)
{
    struct walk walk = {.r = r}, *w = &walk;
    r->length = strlen(r->text);
    if (r->length > EXPRESSION_MAX_BYTES)
        return expression_error(r, 0, "the expression has more than %d bytes", EXPRESSION_MAX_BYTES);
    for (int tokens = 0;; tokens++) {
        while (is_blank(r->text[w->at])) w->at++;
        if (!r->text[w->at]) break;
        r->last = w->at;
        if (tokens == EXPRESSION_MAX_TOKENS)
            return expression_error(r, w->at, "the expression has more than %d names, numbers and signs",
                                    EXPRESSION_MAX_TOKENS);
        if (!check_token(w)) return false;
    }
    end_subscripts(w);
    if (w->depth > 0)
        expression_error(r, w->open[w->depth - 1].at, "this '%c' is not closed",
                         w->open[w->depth - 1].kind == BRACKET_SUBSCRIPT ? '[' : '(');
    return !r->failed;
}
