/* Prints and parses expressions, references and axes, for the text of both IRs. */
#include "reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4000 };

static const char *const size_names[] = {
#define SIZE(name, text, kind) text,
#include "size.def"
#undef SIZE
};
enum { SIZE_SOURCES = sizeof size_names / sizeof *size_names };

const char *size_name(enum size_source source)
{
    return size_names[source];
}

/* ---- printing ---- */

void real_print(double value, bool visibly_real, struct text *out)
{
    char digits[40];
    if (isnan(value)) {
        text_add(out, "nan");
        return;
    }
    if (fabs(value) < 1e15 && value == floor(value))
        snprintf(digits, sizeof digits, "%.0f", value);
    else
        for (int precision = 1; precision <= 17; precision++) {
            snprintf(digits, sizeof digits, "%.*g", precision, value);
            if (strtod(digits, NULL) == value) break;
        }
    text_add(out, "%s%s", digits, visibly_real && !strpbrk(digits, ".ein") ? ".0" : "");
}

void axes_print(const struct module *m, int rank, const int *axes, struct text *out)
{
    text_add(out, "[");
    for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? " " : "", m->axis[axes[k]].name);
    text_add(out, "]");
}

void ref_print(const struct module *m, const struct ref *r, referred_by *by, const void *program, struct text *out)
{
    struct referred to = by(program, r->of);
    bool plain = r->rank == to.rank;
    for (int k = 0; k < r->rank && plain; k++) plain = ref_axis(r, k) == to.axes[k];
    text_add(out, "%%%s", to.name);
    if (plain) return;
    text_add(out, "[");
    for (int k = 0; k < r->rank; k++) {
        if (k) text_add(out, ", ");
        expr_print(m, r->sub[k], NULL, by, program, out);
    }
    text_add(out, "]");
}

void expr_print(const struct module *m, const struct expr *e, const struct ref *operand, referred_by *by,
                const void *program, struct text *out)
{
    if (e->op == EXPR_REAL)
        real_print(e->real, true, out);
    else if (e->op == EXPR_INT)
        text_add(out, "%lld", (long long)e->integer);
    else if (e->op == EXPR_OPERAND && operand && by)
        ref_print(m, &operand[e->integer], by, program, out);
    else if (e->op == EXPR_OPERAND)
        text_add(out, "%%?%lld", (long long)e->integer);
    else if (e->op == EXPR_INDEX)
        text_add(out, "%s", m->axis[e->integer].name);
    else if (expr_arity(e->op) == 0)
        text_add(out, "%s(%s)", expr_name(e->op), m->axis[e->integer].name);
    else {
        text_add(out, "%s(", expr_name(e->op));
        if (e->name) text_add(out, "%s, ", e->name);
        for (int k = 0; k < expr_arity(e->op); k++) {
            if (k) text_add(out, ", ");
            expr_print(m, e->arg[k], operand, by, program, out);
        }
        if (e->op == EXPR_DRAWN && e->draw->name)
            text_add(out, ", %lld, in %s%s", (long long)e->draw->count, e->draw->name,
                     e->draw->sorted ? ", sorted" : "");
        else if (e->op == EXPR_DRAWN)
            text_add(out, ", %lld, %llu%s", (long long)e->draw->count, (unsigned long long)e->draw->seed,
                     e->draw->upto ? ", upto" : "");
        text_add(out, ")");
    }
}

void axis_lines_print(const struct module *m, struct text *out)
{
    for (int a = 0; a < m->axes; a++) {
        text_add(out, "axis %s ", m->axis[a].name);
        if (m->axis[a].source == SIZE_CONSTANT)
            text_add(out, "%lld\n", (long long)m->axis[a].extent);
        else {
            text_add(out, "%s", size_name(m->axis[a].source));
            if (axis_has_extent(&m->axis[a])) text_add(out, " %lld", (long long)m->axis[a].extent);
            text_add(out, "\n");
        }
    }
}

static int64_t constant_elements(const struct module *m, int rank, const int *axes)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++)
        if (m->axis[axes[k]].source != SIZE_CONSTANT || __builtin_mul_overflow(count, m->axis[axes[k]].extent, &count))
            return -1;
    return count;
}

void table_print(const struct module *m, int rank, const int *axes, const double *data, struct text *out)
{
    int64_t count = constant_elements(m, rank, axes);
    text_add(out, "{");
    for (int64_t k = 0; k < count; k++) {
        if (k) text_add(out, k % 12 ? ", " : ",\n    ");
        real_print(data[k], false, out);
    }
    text_add(out, "}");
}

/* ---- tokens ---- */

static bool name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

bool name_is_plain(const char *name)
{
    if (!name || !name_start(*name)) return false;
    for (; *name; name++)
        if (!name_part(*name)) return false;
    return true;
}

static size_t token_length(const char *p)
{
    size_t n = 0;
    if (*p == '\0') return 0;
    if (*p == '%' || (*p == '-' && name_start(p[1]))) {
        n = 1;
        while (name_part(p[n])) n++;
        return n;
    }
    if (name_start(*p)) {
        while (name_part(p[n])) n++;
        return n;
    }
    if (*p == '-') n = 1;
    if (!isdigit((unsigned char)p[n]) && p[n] != '.') return 1;
    while (isalnum((unsigned char)p[n]) || p[n] == '.' ||
           ((p[n] == '-' || p[n] == '+') && (p[n - 1] == 'e' || p[n - 1] == 'E')))
        n++;
    return n;
}

void reader_next(struct reader *r)
{
    const char *p = r->token + r->length;
    for (;; p++) {
        if (*p == '#') p += strcspn(p, "\n");
        if (*p == '\n') {
            r->line++;
            r->line_start = p + 1;
        } else if (*p != ' ' && *p != '\t' && *p != '\r')
            break;
    }
    r->token = p;
    r->length = r->failed ? 0 : token_length(p);
}

void reader_start(struct reader *r, struct module *m, const char *text, struct diagnostics *d)
{
    *r = (struct reader){.module = m, .diagnostics = d, .token = text, .line_start = text, .line = 1};
    reader_next(r);
}

static struct position position(const struct reader *r)
{
    return (struct position){r->line, (int)(r->token - r->line_start) + 1};
}

void reader_error(struct reader *r, const char *format, ...)
{
    if (!r->failed) {
        char message[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        diagnostics_error(r->diagnostics, position(r), "%s", message);
    }
    r->failed = true;
    r->length = 0;
}

bool reader_at(const struct reader *r, const char *token)
{
    return !r->failed && strlen(token) == r->length && memcmp(token, r->token, r->length) == 0;
}

bool reader_take(struct reader *r, const char *token)
{
    if (r->length == 0 || !reader_at(r, token)) return false;
    reader_next(r);
    return true;
}

/* A position in the text. The reader returns to it to report an error there. */
struct place {
    const char *token, *line_start;
    int line;
};

static struct place place(const struct reader *r)
{
    return (struct place){r->token, r->line_start, r->line};
}

static void go_back(struct reader *r, struct place to)
{
    r->token = to.token;
    r->line_start = to.line_start;
    r->line = to.line;
}

/* Returns the current token, quoted for a message. */
static const char *found(const struct reader *r, char *buffer, size_t size)
{
    if (r->length == 0) return "the end of the text";
    snprintf(buffer, size, "'%.*s'", (int)(r->length > 40 ? 40 : r->length), r->token);
    return buffer;
}

void reader_expect(struct reader *r, const char *token)
{
    char buffer[64];
    if (!reader_take(r, token)) reader_error(r, "expected '%s', not %s", token, found(r, buffer, sizeof buffer));
}

static void expected(struct reader *r, const char *what)
{
    char buffer[64];
    reader_error(r, "expected %s, not %s", what, found(r, buffer, sizeof buffer));
}

static char *token_copy(struct reader *r, size_t skip)
{
    return arena_printf(r->module->arena, "%.*s", (int)(r->length - skip), r->token + skip);
}

const char *reader_name(struct reader *r, const char *what)
{
    if (r->length == 0 || !name_start(*r->token)) {
        expected(r, what);
        return "";
    }
    const char *name = token_copy(r, 0);
    reader_next(r);
    return name;
}

/* ---- parsing numbers ---- */

static bool number_token(const struct reader *r)
{
    const char *p = r->token + (r->length && *r->token == '-');
    return r->length && (isdigit((unsigned char)*p) || *p == '.');
}

static bool real_word(const struct reader *r)
{
    return reader_at(r, "inf") || reader_at(r, "-inf") || reader_at(r, "nan");
}

int64_t reader_int(struct reader *r, int64_t min)
{
    if (!number_token(r)) {
        expected(r, "a whole number");
        return min;
    }
    char *end;
    errno = 0;
    long long value = strtoll(r->token, &end, 10);
    if (end != r->token + r->length)
        expected(r, "a whole number");
    else if (errno == ERANGE)
        reader_error(r, "the number does not fit in 64 bits");
    else if (value < min)
        reader_error(r, "the number must be at least %lld", (long long)min);
    else {
        reader_next(r);
        return value;
    }
    return min;
}

double reader_real(struct reader *r)
{
    if (!number_token(r) && !real_word(r)) {
        expected(r, "a number");
        return 0;
    }
    char *end;
    double value = strtod(r->token, &end);
    if (end != r->token + r->length) {
        expected(r, "a number");
        return 0;
    }
    reader_next(r);
    return value;
}

const double *reader_table(struct reader *r, int rank, const int *axes)
{
    int64_t count = r->failed ? 0 : constant_elements(r->module, rank, axes);
    if (count < 0) reader_error(r, "the axes of a table must have constant extents");
    size_t left = r->failed ? 0 : strlen(r->token);
    if (!r->failed && (uint64_t)count > left) reader_error(r, "expected %lld numbers", (long long)count);
    double *data = arena_alloc(r->module->arena, (r->failed ? 1 : (size_t)count) * sizeof *data);
    reader_expect(r, "{");
    for (int64_t k = 0; k < count && !r->failed; k++) {
        if (k) reader_expect(r, ",");
        data[k] = reader_real(r);
    }
    reader_expect(r, "}");
    return data;
}

/* ---- parsing and printing axes ---- */

void reader_axis_lines(struct reader *r)
{
    struct module *m = r->module;
    while (reader_at(r, "axis")) {
        reader_next(r);
        if (r->length && name_start(*r->token) && module_find_axis(m, token_copy(r, 0)) >= 0)
            reader_error(r, "there is an axis of that name already");
        if (real_word(r)) reader_error(r, "an axis cannot have the name of a number");
        if (m->axes == MAX_AXES) reader_error(r, "there can be no more than %d axes", MAX_AXES);
        const char *name = reader_name(r, "the name of an axis");
        enum size_source source = SIZE_CONSTANT;
        int64_t extent = 0;
        for (int k = 0; k < SIZE_SOURCES; k++)
            if (k != SIZE_CONSTANT && reader_take(r, size_names[k])) {
                source = (enum size_source)k;
                break;
            }
        if (source == SIZE_CONSTANT) {
            if (!number_token(r))
                expected(
                    r, "an extent: a number, batch, kv_heads, members, n_q, n_k, chunks, query_chunks, units or rows");
            extent = reader_int(r, 1);
        } else if (axis_has_extent(&(struct axis){.source = source}))
            extent = reader_int(r, 1);
        if (!r->failed) module_axis(m, name, source, extent);
    }
}

/* Reports that there is no such thing as the token, and what may be meant. */
static void unknown(struct reader *r, const char *what, const char *const *known)
{
    const char *const near = nearest_word(token_copy(r, 0), known);
    reader_error(r, "there is no %s '%.*s'%s%s%s", what, (int)r->length, r->token, near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
}

int reader_axis(struct reader *r)
{
    if (r->length == 0 || !name_start(*r->token)) {
        expected(r, "an axis");
        return 0;
    }
    int axis = module_find_axis(r->module, token_copy(r, 0));
    if (axis < 0) {
        const char *known[MAX_AXES + 1] = {NULL};
        for (int a = 0; a < r->module->axes; a++) known[a] = r->module->axis[a].name;
        unknown(r, "axis", known);
        return 0;
    }
    reader_next(r);
    return axis;
}

void reader_axes(struct reader *r, int *rank, int *axes)
{
    *rank = 0;
    reader_expect(r, "[");
    while (!r->failed && !reader_at(r, "]")) {
        if (*rank == MAX_RANK) {
            reader_error(r, "there can be no more than %d axes here", MAX_RANK);
            return;
        }
        axes[(*rank)++] = reader_axis(r);
    }
    reader_expect(r, "]");
}

enum dtype reader_dtype(struct reader *r)
{
    enum dtype dtype = DTYPE_F32;
    char text[8] = "";
    if (r->length < sizeof text) memcpy(text, r->token, r->length);
    if (dtype_parse(text, &dtype))
        reader_next(r);
    else
        expected(r, "a type: f32, bf16, f16 or f64");
    return dtype;
}

/* ---- references and expressions ---- */

struct ref reader_ref(struct reader *r)
{
    struct ref ref = {.of = 0, .rank = 0};
    if (r->length < 2 || *r->token != '%') {
        expected(r, "a reference, such as %name");
        return ref;
    }
    if (!r->find(r->program, token_copy(r, 1), &ref)) {
        reader_error(r, "'%.*s' is not defined before this", (int)r->length, r->token);
        return ref;
    }
    reader_next(r);
    if (!reader_take(r, "[")) return ref;
    int wanted = ref.rank;
    for (int k = 0; k < wanted && !r->failed; k++) {
        if (k) reader_expect(r, ",");
        if (r->length && *r->token == '%') reader_error(r, "a subscript cannot hold a reference");
        struct place start = place(r);
        ref.sub[k] = reader_expr(r);
        if (!r->failed && ref.sub[k]->type == TYPE_REAL) {
            go_back(r, start);
            reader_error(r, "a subscript must be an integer");
        }
    }
    if (reader_at(r, ",")) reader_error(r, "too many subscripts: expected %d", wanted);
    reader_expect(r, "]");
    return ref;
}

static const struct expr *operand(struct reader *r)
{
    struct place start = place(r);
    struct ref ref = reader_ref(r);
    int k = 0;
    while (k < r->operands && !ref_equal(&r->operand[k], &ref)) k++;
    if (r->failed) return expr_int(r->module, 0);
    if (k == MAX_OPERANDS) {
        go_back(r, start);
        reader_error(r, "there can be no more than %d different references in one statement", MAX_OPERANDS);
        return expr_int(r->module, 0);
    }
    if (k == r->operands) r->operand[r->operands++] = ref;
    return expr_operand(r->module, k);
}

static enum expr_op function(struct reader *r)
{
    const char *known[EXPR_OPS + 1];
    int count = 0;
    for (int op = 0; op < EXPR_OPS; op++) {
        const char *name = expr_name((enum expr_op)op);
        if (*name && reader_at(r, name)) return (enum expr_op)op;
        if (*name) known[count++] = name;
    }
    known[count] = NULL;
    unknown(r, "function", known);
    return EXPR_OPS;
}

static uint64_t read_seed(struct reader *r)
{
    char *end = NULL;
    unsigned long long seed = 0;
    errno = 0;
    if (number_token(r) && *r->token != '-') seed = strtoull(r->token, &end, 10);
    if (!end || end != r->token + r->length || errno == ERANGE)
        expected(r, "a seed");
    else
        reader_next(r);
    return seed;
}

static const struct expr *call(struct reader *r)
{
    struct module *m = r->module;
    enum expr_op op = function(r);
    if (op == EXPR_OPS) return expr_int(m, 0);
    reader_next(r);
    reader_expect(r, "(");
    if (expr_arity(op) == 0) {
        int axis = reader_axis(r);
        reader_expect(r, ")");
        return r->failed ? expr_int(m, 0) : expr_leaf(m, op, axis);
    }
    const struct expr *arg[3] = {NULL, NULL, NULL};
    bool ids = expr_is_of_ids(op) || op == EXPR_LISTED;
    const char *name = ids ? reader_name(r, op == EXPR_LISTED ? "a list" : "the parameter's name") : NULL;
    if (ids) reader_expect(r, ",");
    for (int k = 0; k < expr_arity(op); k++) {
        if (k && !reader_at(r, ",")) reader_error(r, "%s takes %d arguments", expr_name(op), expr_arity(op));
        if (k) reader_next(r);
        struct place start = place(r);
        arg[k] = reader_expr(r);
        if (!r->failed && expr_integer_only(op, k) && arg[k]->type == TYPE_REAL) {
            go_back(r, start);
            reader_error(r, "argument %d of %s must not be real", k + 1, expr_name(op));
        }
    }
    struct draw draw = {0};
    if (op == EXPR_DRAWN) {
        reader_expect(r, ",");
        draw.count = reader_int(r, 1);
        reader_expect(r, ",");
        if (reader_take(r, "in"))
            draw.name = reader_name(r, "the parameter's name");
        else
            draw.seed = read_seed(r);
        if (reader_take(r, ",")) {
            reader_expect(r, draw.name ? "sorted" : "upto");
            *(draw.name ? &draw.sorted : &draw.upto) = true;
        }
        reader_expect(r, ")");
        return r->failed ? expr_int(m, 0) : expr_drawn(m, arg[0], arg[1], arg[2], draw);
    }
    if (reader_at(r, ","))
        reader_error(r, "%s takes %d argument%s", expr_name(op), expr_arity(op), expr_arity(op) == 1 ? "" : "s");
    reader_expect(r, ")");
    if (ids && !r->failed) return expr_id(m, op, name, arg[0], arg[1], arg[2]);
    return r->failed ? expr_int(m, 0) : expr_make(m, op, arg[0], arg[1], arg[2]);
}

static const struct expr *number(struct reader *r)
{
    bool whole = number_token(r);
    for (size_t k = 0; k < r->length; k++) whole &= isdigit((unsigned char)r->token[k]) || (k == 0 && *r->token == '-');
    return whole ? expr_int(r->module, reader_int(r, INT64_MIN)) : expr_real(r->module, reader_real(r));
}

const struct expr *reader_expr(struct reader *r)
{
    const struct expr *e = NULL;
    if (r->depth == DEEPEST) reader_error(r, "the expression is nested too deeply");
    r->depth++;
    if (r->length && *r->token == '%')
        e = operand(r);
    else if (number_token(r) || real_word(r))
        e = number(r);
    else if (r->length && name_start(*r->token)) {
        const char *after = r->token + r->length;
        while (*after == ' ') after++;
        if (*after == '(')
            e = call(r);
        else {
            int axis = reader_axis(r);
            if (!r->failed) e = expr_index(r->module, axis);
        }
    } else
        expected(r, "an expression");
    r->depth--;
    return r->failed || !e ? expr_int(r->module, 0) : e;
}
