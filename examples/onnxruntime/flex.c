/* FlexAttention of ai.onnx.preview: its subgraphs become expressions of a spec. score_mod becomes the logit and a mask:
   where it writes -inf, a query does not see the key. prob_mod becomes a factor of the weights. */
#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V };
enum { MOST_TERMS = 256, MOST_TEXT = 4000, MOST_ITEMS = 8, MOST_CONSTANTS = 32 };

/* ---- terms ---- */

enum kind { INTEGER, REAL, TRUTH };

/* A tensor of a subgraph. Its element is an expression, in which the character k + 1 stands for the subscript of axis
 * k. */
struct term {
    const char *name;
    enum kind kind;
    char *text;   /* NULL: minus infinity */
    char *seen;   /* a condition: where it is false, the element is minus infinity. NULL: it is true */
    bool of_prob; /* `text` is what the probability is multiplied by */
    int axes;
    char size[MOST_AXES][24]; /* numbers, or names of sizes in expressions */
    int items;                /* a vector that is known element by element: their number, otherwise 0 */
    char item[MOST_ITEMS][24];
};

struct trace {
    struct term term[MOST_TERMS], spare; /* spare: a term that does not fit */
    int terms;
    char *texts[4 * MOST_TERMS]; /* what is freed at the end */
    int count;
    bool failed;
    struct text arrays; /* declarations for the spec */
    struct plan *plan;
};

/* Keeps a text until the trace ends. Returns NULL if it is too long, and notes that. */
static char *kept(struct trace *t, struct text *text)
{
    if (text->failed || !text->data || text->length > MOST_TEXT || t->count == sizeof t->texts / sizeof *t->texts) {
        text_free(text);
        t->failed = true;
        return NULL;
    }
    return t->texts[t->count++] = text->data;
}

static char *say(struct trace *t, const char *format, ...) PRINTS(2, 3);
static char *say(struct trace *t, const char *format, ...)
{
    char made[MOST_TEXT + 2];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(made, sizeof made, format, list);
    va_end(list);
    struct text text = {0};
    text_add(&text, "%s", made);
    if (length < 0 || (size_t)length >= sizeof made) text.failed = true;
    return kept(t, &text);
}

/* Returns the text with other subscripts: to[k] in place of axis k. */
static char *with_subscripts(struct trace *t, const char *from, const char *const *to)
{
    struct text text = {0};
    if (!from) return NULL;
    for (const char *c = from; *c; c++)
        if (*c <= MOST_AXES && *c > 0)
            text_add(&text, "%s", to[*c - 1]);
        else
            text_add(&text, "%c", *c);
    return kept(t, &text);
}

static struct term *find(struct trace *t, const char *name)
{
    for (int n = t->terms - 1; n >= 0; n--)
        if (strcmp(t->term[n].name, name) == 0) return &t->term[n];
    return NULL;
}

static struct term *add(struct trace *t, const char *name, enum kind kind)
{
    if (t->terms == MOST_TERMS) {
        t->failed = true;
        return &t->spare;
    }
    struct term *const made = &t->term[t->terms++];
    *made = (struct term){.name = name, .kind = kind};
    return made;
}

static bool is_one(const struct term *term, int axis)
{
    return strcmp(term->size[axis], "1") == 0;
}

/* Returns the term as one of `axes` axes: new first axes have one element, and so has its subscript. */
static struct term aligned(struct trace *t, const struct term *term, int axes)
{
    static const char *const subscript[MOST_AXES] = {"\1", "\2", "\3", "\4", "\5", "\6", "\7", "\10"};
    const char *to[MOST_AXES];
    struct term made = *term;
    for (int k = 0; k < term->axes; k++) to[k] = is_one(term, k) ? "0" : subscript[k + axes - term->axes];
    for (int k = term->axes; k < MOST_AXES; k++) to[k] = "0";
    made.text = with_subscripts(t, term->text, to);
    made.seen = with_subscripts(t, term->seen, to);
    made.axes = axes;
    for (int k = 0; k < axes; k++)
        strcpy(made.size[k], k < axes - term->axes ? "1" : term->size[k - (axes - term->axes)]);
    return made;
}

/* ---- constants ---- */

static double element_of(const void *data, int type, int64_t n)
{
    switch (type) {
    case ORT_F32: return (double)((const float *)data)[n];
    case ORT_F64: return ((const double *)data)[n];
    case ORT_F16: return attn_f16_value(((const uint16_t *)data)[n]);
    case ORT_BF16: return attn_bf16_value(((const uint16_t *)data)[n]);
    case ORT_I64: return (double)((const int64_t *)data)[n];
    case ORT_I32: return (double)((const int32_t *)data)[n];
    case ORT_BOOL:
    case ORT_U8: return (double)((const uint8_t *)data)[n];
    default: return NAN;
    }
}

static enum kind kind_of(int type)
{
    return type == ORT_BOOL ? TRUTH : type == ORT_I32 || type == ORT_I64 || type == ORT_U8 ? INTEGER : REAL;
}

/* Adds a constant to the arrays of the spec, and its values to the plan. */
static void add_array(struct trace *t, struct term *term, const void *data, int type, int64_t count)
{
    struct plan *const plan = t->plan;
    const bool wide = plan->type == ORT_F64 || plan->wide;
    const size_t element = term->kind == TRUTH ? 1 : term->kind == REAL && wide ? 8 : 4;
    if (!plan->constant) plan->constant = calloc(MOST_CONSTANTS, sizeof *plan->constant);
    void *const values = malloc((size_t)count * element + 1);
    if (!plan->constant || plan->constants == MOST_CONSTANTS || !values) {
        free(values);
        t->failed = true;
        return;
    }
    for (int64_t n = 0; n < count; n++) {
        const double value = element_of(data, type, n);
        if (term->kind == TRUTH)
            ((uint8_t *)values)[n] = value != 0;
        else if (term->kind == INTEGER) {
            if (fabs(value) > INT32_MAX) t->failed = true;
            ((int32_t *)values)[n] = (int32_t)value;
        } else if (wide)
            ((double *)values)[n] = value;
        else
            ((float *)values)[n] = (float)value;
        if (!isfinite(value)) t->failed = true; /* -inf in an array would have to be a mask */
    }
    struct constant *const constant = &plan->constant[plan->constants];
    snprintf(constant->name, sizeof constant->name, "c%d", plan->constants++);
    constant->data = values;
    text_add(&t->arrays, ", %s: {shape: [", constant->name);
    struct text element_text = {0};
    text_add(&element_text, "%s", constant->name);
    for (int k = 0; k < term->axes; k++) {
        text_add(&t->arrays, "%s%s", k ? ", " : "", term->size[k]);
        text_add(&element_text, "[%c]", k + 1);
    }
    text_add(&t->arrays, "]%s}", term->kind == TRUTH ? ", type: bool" : term->kind == INTEGER ? ", type: int" : "");
    term->text = kept(t, &element_text);
}

/* Adds a term for a tensor whose elements are known. */
static struct term *add_constant(struct trace *t, const char *name, const OrtValue *value)
{
    OrtShape *shape = NULL;
    const void *data = NULL;
    int type = 0;
    size_t axes = 0;
    int64_t size[MOST_AXES], count = 1;
    const bool read = done(ort->GetTensorTypeAndShape(value, &shape)) &&
                      done(ort->GetTensorElementType(shape, &type)) && done(ort->GetDimensionsCount(shape, &axes)) &&
                      axes <= MOST_AXES && done(ort->GetDimensions(shape, size, axes)) &&
                      done(ort->GetTensorData(value, &data)) && data;
    if (shape) ort->ReleaseTensorTypeAndShapeInfo(shape);
    if (!read || !bytes_of(type) || type == ORT_I8) return NULL;
    struct term *const term = add(t, name, kind_of(type));
    term->axes = (int)axes;
    for (size_t k = 0; k < axes; k++) {
        snprintf(term->size[k], sizeof term->size[k], "%lld", (long long)size[k]);
        count *= size[k];
    }
    const double first = count > 0 ? element_of(data, type, 0) : 0;
    if (axes == 1 && count <= MOST_ITEMS && term->kind == INTEGER) {
        term->items = (int)count;
        for (int64_t n = 0; n < count; n++)
            snprintf(term->item[n], sizeof term->item[n], "%lld", (long long)element_of(data, type, n));
    }
    if (count != 1)
        add_array(t, term, data, type, count);
    else if (term->kind != REAL)
        term->text = say(t, "(%lld)", (long long)first);
    else if (isinf(first) && first < 0)
        term->text = NULL;
    else if (!isfinite(first))
        t->failed = true;
    else
        term->text = say(t, strpbrk(say(t, "%.17g", first), ".e") ? "(%.17g)" : "(%.17g.0)", first);
    return term;
}

/* ---- operators ---- */

/* One node of a subgraph, with its inputs. */
struct step {
    const char *op, *out;
    const struct node *node;
    struct term *in[MOST_INPUTS];
    int count;
};

static const struct {
    const char *op, *format; /* with the texts of one or two operands */
    int operands;
    enum kind kind; /* of the result; INTEGER: that of the operands */
} simple[] = {
    {"Add", "(%s + %s)", 2, INTEGER},
    {"Sub", "(%s - %s)", 2, INTEGER},
    {"Mul", "(%s * %s)", 2, INTEGER},
    {"Div", "(%s / %s)", 2, INTEGER},
    {"Max", "max(%s, %s)", 2, INTEGER},
    {"Min", "min(%s, %s)", 2, INTEGER},
    {"Pow", "pow(%s, %s)", 2, REAL},
    {"Less", "(%s < %s)", 2, TRUTH},
    {"LessOrEqual", "(%s <= %s)", 2, TRUTH},
    {"Greater", "(%s > %s)", 2, TRUTH},
    {"GreaterOrEqual", "(%s >= %s)", 2, TRUTH},
    {"Equal", "(%s == %s)", 2, TRUTH},
    {"And", "(%s && %s)", 2, TRUTH},
    {"Or", "(%s || %s)", 2, TRUTH},
    {"Xor", "(%s != %s)", 2, TRUTH},
    {"Not", "(!%s)", 1, TRUTH},
    {"Neg", "(-%s)", 1, INTEGER},
    {"Abs", "fabs(%s)", 1, INTEGER},
    {"Sign", "sign(%s)", 1, REAL},
    {"Exp", "exp(%s)", 1, REAL},
    {"Log", "log(%s)", 1, REAL},
    {"Sqrt", "sqrt(%s)", 1, REAL},
    {"Tanh", "tanh(%s)", 1, REAL},
    {"Sigmoid", "sigmoid(%s)", 1, REAL},
    {"Erf", "erf(%s)", 1, REAL},
    {"Sin", "sin(%s)", 1, REAL},
    {"Cos", "cos(%s)", 1, REAL},
    {"Floor", "floor(%s)", 1, REAL},
    {"Ceil", "ceil(%s)", 1, REAL},
    {"Round", "rint(%s)", 1, REAL},
    {"Reciprocal", "(1.0 / %s)", 1, REAL},
    {"Relu", "fmax(%s, 0)", 1, REAL},
};

static bool is(const struct step *step, const char *op)
{
    return strcmp(step->op, op) == 0;
}

/* Returns "x && y", where NULL is true. */
static char *both(struct trace *t, char *x, char *y)
{
    return !x ? y : !y ? x : say(t, "(%s && %s)", x, y);
}

static bool is_zero(const struct term *term)
{
    return term->axes == 0 && term->text && (strcmp(term->text, "(0.0)") == 0 || strcmp(term->text, "(0)") == 0);
}

static bool is_positive(const struct term *term) /* a number above 0 */
{
    char *end;
    const double value = term->text && term->text[0] == '(' ? strtod(term->text + 1, &end) : -1;
    return value > 0 && strcmp(end, ")") == 0;
}

/* Sets the axes of a result to those that its operands are broadcast to. */
static void broadcast(struct trace *t, struct term *to, struct term *operand, int count)
{
    to->axes = 0;
    for (int n = 0; n < count; n++)
        if (operand[n].axes > to->axes) to->axes = operand[n].axes;
    for (int k = 0; k < to->axes; k++) strcpy(to->size[k], "1");
    for (int n = 0; n < count; n++) {
        operand[n] = aligned(t, &operand[n], to->axes);
        for (int k = 0; k < to->axes; k++)
            if (!is_one(&operand[n], k)) strcpy(to->size[k], operand[n].size[k]);
    }
}

/* An operator that computes each element from those of its operands. */
static bool of_elements(struct trace *t, const struct step *step, size_t row)
{
    struct term x[2], result = {0};
    const int count = simple[row].operands;
    if (step->count != count) return false;
    for (int n = 0; n < count; n++) x[n] = *step->in[n];
    broadcast(t, &result, x, count);
    const bool two = count == 2, adds = is(step, "Add") || (is(step, "Sub") && !(x[1].seen || !x[1].text)),
               scales = (is(step, "Mul") || is(step, "Div")) && two && is_positive(&x[1]);
    if (x[0].of_prob || (two && x[1].of_prob)) { /* what keeps a factor of the probability */
        const bool product = (is(step, "Mul") && x[0].of_prob != x[1].of_prob) || (is(step, "Div") && !x[1].of_prob),
                   sum = (is(step, "Add") || is(step, "Sub")) && x[0].of_prob && x[1].of_prob;
        if (!product && !sum && !is(step, "Neg")) return false;
        result.of_prob = true;
    }
    for (int n = 0; n < count; n++) {
        if (x[n].text && !x[n].seen) continue;
        if (!adds && !(scales && n == 0)) return false; /* an operation on minus infinity */
        result.seen = both(t, result.seen, x[n].seen);
    }
    if (!x[0].text || (two && !x[1].text))
        result.text = NULL;
    else if (two)
        result.text = say(t, simple[row].format, x[0].text, x[1].text);
    else
        result.text = say(t, simple[row].format, x[0].text);
    result.kind = simple[row].kind != INTEGER                       ? simple[row].kind
                  : x[0].kind == REAL || (two && x[1].kind == REAL) ? REAL
                                                                    : INTEGER;
    struct term *const made = add(t, step->out, result.kind);
    result.name = step->out;
    *made = result;
    return true;
}

static bool of_where(struct trace *t, const struct step *step)
{
    if (step->count != 3) return false;
    struct term x[3] = {*step->in[0], *step->in[1], *step->in[2]}, result = {.name = step->out};
    broadcast(t, &result, x, 3);
    if (!x[0].text || x[0].seen || x[0].of_prob) return false;
    if (x[1].of_prob || x[2].of_prob) {
        if ((!x[1].of_prob && !is_zero(step->in[1])) || (!x[2].of_prob && !is_zero(step->in[2]))) return false;
        result.of_prob = true;
    }
    result.kind = x[1].kind == REAL || x[2].kind == REAL ? REAL : x[1].kind;
    char *const seen[2] = {x[1].text ? x[1].seen : NULL, x[2].text ? x[2].seen : NULL};
    if (!x[1].text && !x[2].text)
        result.text = NULL;
    else if (!x[1].text || !x[2].text) { /* minus infinity on one side: a mask */
        const int other = x[1].text ? 1 : 2;
        result.text = x[other].text;
        result.seen = both(t, other == 1 ? x[0].text : say(t, "(!%s)", x[0].text), seen[other - 1]);
    } else {
        result.text = say(t, "(%s ? %s : %s)", x[0].text, x[1].text, x[2].text);
        if (seen[0] || seen[1])
            result.seen = say(t, "(%s ? %s : %s)", x[0].text, seen[0] ? seen[0] : "1", seen[1] ? seen[1] : "1");
    }
    *add(t, step->out, result.kind) = result;
    return true;
}

static bool of_mod(struct trace *t, const struct step *step)
{
    if (step->count != 2 || step->in[0]->kind != INTEGER || step->in[1]->kind != INTEGER) return false;
    struct term x[2] = {*step->in[0], *step->in[1]}, result = {.name = step->out};
    broadcast(t, &result, x, 2);
    if (!x[0].text || !x[1].text) return false;
    if (integer_of(step->node, "fmod", 0))
        result.text = say(t, "(%s %% %s)", x[0].text, x[1].text);
    else /* the sign of the divisor */
        result.text = say(t, "((%s %% %s + %s) %% %s)", x[0].text, x[1].text, x[1].text, x[1].text);
    *add(t, step->out, INTEGER) = result;
    return true;
}

static bool of_clip(struct trace *t, const struct step *step)
{
    struct term *const made = add(t, step->out, step->in[0]->kind);
    *made = *step->in[0];
    made->name = step->out;
    for (int n = 1; n < step->count; n++) {
        if (!step->in[n]) continue;
        if (!made->text || made->seen || made->of_prob || !step->in[n]->text || step->in[n]->axes != 0) return false;
        made->text = say(t, n == 1 ? "max(%s, %s)" : "min(%s, %s)", made->text, step->in[n]->text);
    }
    made->items = 0;
    return true;
}

static bool of_cast(struct trace *t, const struct step *step)
{
    const enum kind to = kind_of((int)integer_of(step->node, "to", ORT_F32));
    struct term made = *step->in[0];
    if (to != made.kind && (made.seen || !made.text || made.of_prob)) return false;
    if (to != made.kind)
        made.text = to == TRUTH         ? say(t, "(%s != 0)", made.text)
                    : to == REAL        ? say(t, "(1.0 * %s)", made.text)
                    : made.kind == REAL ? say(t, "((int)%s)", made.text)
                                        : made.text;
    made.name = step->out;
    made.kind = to;
    *add(t, step->out, to) = made;
    return true;
}

/* Shape, Gather, Concat and Slice of vectors of sizes, Range. */
static bool of_shape(struct trace *t, const struct step *step)
{
    struct term made = {.name = step->out, .kind = INTEGER, .axes = 1, .items = step->in[0]->axes};
    const int64_t start = integer_of(step->node, "start", 0), end = integer_of(step->node, "end", made.items);
    if (start != 0 || end != made.items) return false;
    for (int k = 0; k < made.items; k++) strcpy(made.item[k], step->in[0]->size[k]);
    snprintf(made.size[0], sizeof made.size[0], "%d", made.items);
    *add(t, step->out, INTEGER) = made;
    return true;
}

static bool of_gather(struct trace *t, const struct step *step)
{
    const struct term *const from = step->in[0], *const at = step->count > 1 ? step->in[1] : NULL;
    struct term made = {.name = step->out, .kind = from->kind, .axes = 0};
    if (!at || !at->text || at->seen || integer_of(step->node, "axis", 0) != 0) return false;
    if (from->items) {
        char *end;
        long number = at->items == 1 ? strtol(at->item[0], &end, 10) : strtol(at->text + 1, &end, 10);
        if ((at->items > 1) || (at->items == 0 && (at->axes != 0 || strcmp(end, ")") != 0))) return false;
        if (number < 0) number += from->items;
        if (number < 0 || number >= from->items) return false;
        made.text = say(t, "%s", from->item[number]);
        if (at->items == 1) {
            made.axes = made.items = 1;
            strcpy(made.item[0], from->item[number]);
            strcpy(made.size[0], "1");
        }
    } else { /* an element of an array, at a computed subscript */
        if (from->axes != 1 || !from->text || from->seen || from->of_prob || at->kind != INTEGER) return false;
        const char *to[MOST_AXES] = {at->text, "0", "0", "0", "0", "0", "0", "0"};
        made.text = with_subscripts(t, from->text, to);
        made.axes = at->axes;
        memcpy(made.size, at->size, sizeof made.size);
    }
    *add(t, step->out, made.kind) = made;
    return true;
}

static bool of_concat(struct trace *t, const struct step *step)
{
    struct term made = {.name = step->out, .kind = INTEGER, .axes = 1};
    for (int n = 0; n < step->count; n++)
        for (int k = 0; k < step->in[n]->items; k++) {
            if (made.items == MOST_ITEMS) return false;
            strcpy(made.item[made.items++], step->in[n]->item[k]);
        }
    snprintf(made.size[0], sizeof made.size[0], "%d", made.items);
    *add(t, step->out, INTEGER) = made;
    return made.items > 0;
}

static bool of_range(struct trace *t, const struct step *step)
{
    struct term made = {.name = step->out, .kind = INTEGER, .axes = 1};
    for (int n = 0; n < 3; n++)
        if (step->count != 3 || !step->in[n]->text || step->in[n]->axes != 0 || step->in[n]->kind != INTEGER)
            return false;
    const char *const first = step->in[0]->text, *const end = step->in[1]->text, *const by = step->in[2]->text;
    const bool plain = strcmp(first, "(0)") == 0 && strcmp(by, "(1)") == 0;
    snprintf(made.size[0], sizeof made.size[0], "%s", plain && strlen(end) < sizeof made.size[0] ? end : "?");
    made.text = plain ? say(t, "\1") : say(t, "(%s + %s * \1)", first, by);
    *add(t, step->out, INTEGER) = made;
    return true;
}

/* Reshape, Unsqueeze, Squeeze, Expand: axes with one element come or go, the others keep their order. */
static bool of_axes(struct trace *t, const struct step *step)
{
    static const char *const subscript[MOST_AXES] = {"\1", "\2", "\3", "\4", "\5", "\6", "\7", "\10"};
    const struct term *const from = step->in[0], *const by = step->count > 1 ? step->in[1] : NULL;
    const char *to[MOST_AXES] = {"0", "0", "0", "0", "0", "0", "0", "0"};
    struct term made = *from;
    if (by && !by->items && by->text && by->axes == 1 && !is(step, "Squeeze")) return false;
    made.name = step->out;
    if (from->items) { /* a vector of sizes: only its one element may become a number */
        made.axes = is(step, "Squeeze") || (is(step, "Reshape") && by && by->items == 0) ? 0 : 1;
        if (made.axes == 0 && from->items != 1) return false;
        if (made.axes == 0) {
            made.text = say(t, "%s", from->item[0]);
            made.items = 0;
        }
        *add(t, step->out, made.kind) = made;
        return true;
    }
    if (is(step, "Expand")) {
        *add(t, step->out, made.kind) = made;
        return true; /* what reads it broadcasts it */
    }
    int axes = 0, next = 0;
    bool one[MOST_AXES] = {false};
    if (is(step, "Reshape")) {
        if (!by || by->items < 1) return false;
        axes = by->items;
        for (int k = 0; k < axes; k++) one[k] = strcmp(by->item[k], "1") == 0;
    } else if (is(step, "Unsqueeze")) {
        if (!by || by->items < 1 || by->items + from->axes > MOST_AXES) return false;
        axes = by->items + from->axes;
        for (int k = 0; k < by->items; k++) {
            const long axis = strtol(by->item[k], NULL, 10);
            if (axis < -axes || axis >= axes) return false;
            one[axis < 0 ? axis + axes : axis] = true;
        }
        if (from->text && !from->axes && made.kind == INTEGER && axes == 1 &&
            strlen(from->text) < sizeof made.item[0]) {
            made.items = 1; /* a size becomes a vector of it */
            strcpy(made.item[0], from->text);
        }
    } else
        for (int k = 0; k < from->axes; k++) axes += !is_one(from, k);
    for (int k = 0; k < axes; k++) {
        strcpy(made.size[k], "1");
        if (one[k]) continue;
        while (next < from->axes && is_one(from, next) && (is(step, "Reshape") || is(step, "Squeeze"))) next++;
        if (next == from->axes) return false;
        strcpy(made.size[k], from->size[next]);
        to[next++] = subscript[k];
    }
    while (next < from->axes && is_one(from, next)) next++;
    if (next != from->axes) return false;
    made.text = with_subscripts(t, from->text, to);
    made.seen = with_subscripts(t, from->seen, to);
    made.axes = axes;
    *add(t, step->out, made.kind) = made;
    return true;
}

static bool of_constant(struct trace *t, const struct step *step)
{
    const OrtOpAttr *attribute = NULL;
    OrtValue *value = NULL;
    if (!done(ort->Node_GetAttributeByName(step->node->node, "value", &attribute)) || !attribute ||
        !done(ort->OpAttr_GetTensorAttributeAsOrtValue(attribute, &value)) || !value)
        return false;
    const bool made = add_constant(t, step->out, value);
    ort->ReleaseValue(value);
    return made;
}

/* Adds the term of a node's output. Returns false if the node cannot be an expression. */
static bool translate(struct trace *t, const struct step *step)
{
    static const struct {
        const char *op;
        bool (*of)(struct trace *, const struct step *);
    } others[] = {{"Where", of_where}, {"Mod", of_mod},          {"Clip", of_clip},      {"Cast", of_cast},
                  {"CastLike", NULL},  {"Shape", of_shape},      {"Gather", of_gather},  {"Concat", of_concat},
                  {"Range", of_range}, {"Reshape", of_axes},     {"Unsqueeze", of_axes}, {"Squeeze", of_axes},
                  {"Expand", of_axes}, {"Constant", of_constant}};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (is(step, others[n].op))
            return others[n].of && (step->count > 0 || is(step, "Constant")) && others[n].of(t, step);
    if (is(step, "Identity")) {
        struct term made = *step->in[0];
        made.name = step->out;
        *add(t, step->out, made.kind) = made;
        return true;
    }
    for (size_t n = 0; n < sizeof simple / sizeof *simple; n++)
        if (is(step, simple[n].op)) return of_elements(t, step, n);
    return false;
}

/* Returns the term with a name. It may be a constant of the subgraph or of the graph around it. */
static struct term *term_of(struct trace *t, const struct declared *declared)
{
    struct term *const found = find(t, declared->name);
    const OrtValue *value = NULL;
    bool constant = false;
    if (found) return found;
    if (!done(ort->ValueInfo_IsConstantInitializer(declared->info, &constant)) || !constant ||
        !done(ort->ValueInfo_GetInitializerValue(declared->info, &value)) || !value)
        return NULL;
    return add_constant(t, declared->name, value);
}

/* Translates a subgraph, whose input is `given`. Returns the term of its output, or NULL. */
static const struct term *run_graph(struct trace *t, const OrtGraph *graph, struct term given)
{
    const OrtValueInfo *in = NULL, *out = NULL;
    size_t inputs = 0, outputs = 0, count = 0;
    struct declared first, last;
    if (!done(ort->Graph_GetNumInputs(graph, &inputs)) || !done(ort->Graph_GetNumOutputs(graph, &outputs)) ||
        inputs != 1 || outputs != 1 || !done(ort->Graph_GetInputs(graph, &in, 1)) ||
        !done(ort->Graph_GetOutputs(graph, &out, 1)) || !declared_of(in, &first) || !declared_of(out, &last) ||
        !first.info || !last.info || !done(ort->Graph_GetNumNodes(graph, &count)))
        return NULL;
    given.name = first.name;
    *add(t, first.name, REAL) = given;
    const OrtNode **const nodes = calloc(count + 1, sizeof *nodes);
    bool fine = nodes && done(ort->Graph_GetNodes(graph, nodes, count));
    for (size_t n = 0; fine && n < count; n++) {
        struct node node;
        struct step step = {0};
        fine = node_of(nodes[n], &node) && *node.domain == 0 && has_output(&node, 0);
        step = (struct step){.op = node.op, .out = node.output[0].name, .node = &node, .count = node.inputs};
        for (int k = 0; fine && k < node.inputs; k++) {
            if (node.input[k].info) step.in[k] = term_of(t, &node.input[k]);
            fine = step.in[k] || (!node.input[k].info && k > 0 && strcmp(node.op, "Clip") == 0);
        }
        fine = fine && translate(t, &step) && !t->failed;
    }
    free(nodes);
    return fine ? term_of(t, &last) : NULL;
}

/* ---- FlexAttention ---- */

/* Returns the expression of an element for a query and a key. */
static char *of_pair(struct trace *t, const char *text)
{
    static const char *const to[MOST_AXES] = {"b", "h", "row", "j", "0", "0", "0", "0"};
    return with_subscripts(t, text, to);
}

/* Translates the subgraphs of a node into the traits. */
static bool subgraphs(struct trace *t, const struct node *node, struct traits *traits)
{
    const OrtGraph *graph[2];
    const char *name[2];
    size_t count = 0;
    static const struct term pair = {.kind = REAL, .axes = 4, .size = {"B", "H", "Nq", "Nk"}};
    if (!done(ort->Node_GetNumSubgraphs(node->node, &count)) || count > 2 ||
        (count && !done(ort->Node_GetSubgraphs(node->node, graph, count, name))))
        return false;
    for (size_t n = 0; n < count; n++) {
        const bool probs = strcmp(name[n], "prob_mod") == 0;
        struct term given = pair;
        given.text = say(t, probs ? "1.0" : "(s * scale)");
        given.of_prob = probs;
        t->terms = 0; /* each subgraph has its own names */
        const struct term *const out = t->failed ? NULL : run_graph(t, graph[n], given);
        if (!out || !out->text || out->kind != REAL || out->axes > 4) return false;
        const struct term made = aligned(t, out, 4);
        if (probs) {
            if (!made.of_prob) return false;
            traits->factor = of_pair(t, made.text);
        } else {
            traits->score = of_pair(t, made.text);
            traits->seen = made.seen ? of_pair(t, made.seen) : NULL;
        }
    }
    traits->arrays = t->arrays.data;
    return !t->failed && !t->arrays.failed;
}

static void run_flex(struct call *call)
{
    const struct tensor q_in = input_of(call, Q), k_in = input_of(call, K), v_in = input_of(call, V);
    if (call->status) return;
    const struct rows q = rows_of(call, "Q", q_in, 0), k = rows_of(call, "K", k_in, 0), v = rows_of(call, "V", v_in, 0);
    struct range range;
    if (call->status || !range_of(call, q.batch, 0, k.rows, &range)) return;
    const int64_t size[] = {q.batch, q.heads, q.rows, v.size};
    const struct tensor result = output_of(call, 0, q_in.type, 4, size), none = {0};
    if (!call->status) compute_attention(call, &range, q, k, v, none, NULL, none, rows_of(call, "Y", result, 0));
}

bool plan_flex(const struct settings *settings, const struct node *node, struct plan *plan)
{
    const struct declared *const q = &node->input[Q], *const v = &node->input[V];
    if (node->inputs < 3 || !has_input(node, V) || q->axes != 4 || v->axes != 4 || node->input[K].type != q->type ||
        v->type != q->type)
        return false;
    plan->run = run_flex;
    plan->left = plan->right = -1;
    plan->type = q->type;
    plan->wide = integer_of(node, "softmax_precision", ORT_F32) == ORT_F64 && q->type != ORT_F64;
    plan->scale = number_of(node, "scale", q->size[3] > 0 ? 1 / sqrt((double)q->size[3]) : 1);
    struct traits traits = {.type = q->type, .head_dim = q->size[3], .value_dim = v->size[3], .mode = NO_WEIGHTS};
    struct trace *const t = calloc(1, sizeof *t);
    if (!t) return false;
    t->plan = plan;
    const bool made = subgraphs(t, node, &traits) && find_kernel(settings, &traits, plan);
    for (int n = 0; n < t->count; n++) free(t->texts[n]);
    text_free(&t->arrays);
    free(t);
    return made;
}
