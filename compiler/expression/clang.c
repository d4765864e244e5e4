/* Parses a user's expression with libclang, as the return value of a function in a file in memory. This file
   determines types itself, because all integers have 64 bits, and fmin of integers is an integer. libclang is loaded
   when it is needed. */
#include "expression.h"
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef ATTNC_HAS_LIBCLANG
#include <clang-c/Index.h>
#include <dlfcn.h>

/* ---- libclang ---- */

#define CLANG_FUNCTIONS(F) \
    F(clang_createIndex) \
    F(clang_disposeIndex) \
    F(clang_parseTranslationUnit2) \
    F(clang_disposeTranslationUnit) \
    F(clang_getNumDiagnostics) \
    F(clang_getDiagnostic) \
    F(clang_disposeDiagnostic) \
    F(clang_getDiagnosticSeverity) \
    F(clang_getDiagnosticSpelling) \
    F(clang_getDiagnosticLocation) \
    F(clang_getSpellingLocation) \
    F(clang_getTranslationUnitCursor) \
    F(clang_visitChildren) \
    F(clang_getCursorKind) \
    F(clang_getCursorSpelling) \
    F(clang_getCString) \
    F(clang_disposeString) \
    F(clang_getCursorExtent) \
    F(clang_getRangeStart) \
    F(clang_Cursor_getNumArguments) \
    F(clang_Cursor_getArgument) \
    F(clang_getCursorBinaryOperatorKind) \
    F(clang_getCursorUnaryOperatorKind)

static struct {
    bool tried, loaded;
    char problem[300];
#define POINTER(name) __typeof__(&name) name;
    CLANG_FUNCTIONS(POINTER)
#undef POINTER
} lib;

/* Finds the functions of a loaded library. If a function is missing, returns its name. Otherwise returns NULL. */
static const char *find_functions(void *handle)
{
#define FIND(name) \
    { \
        void *found = dlsym(handle, #name); \
        if (!found) return #name; \
        memcpy(&lib.name, &found, sizeof lib.name); \
    }
    CLANG_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

enum { NEWEST_CLANG = 24, OLDEST_CLANG = 17 };

static bool open_library(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    const char *missing = find_functions(handle);
    if (!missing) return lib.loaded = true;
    snprintf(lib.problem, sizeof lib.problem, "%.100s has no %s", name, missing);
    dlclose(handle);
    return false;
}

static bool load_library(void)
{
    if (lib.tried) return lib.loaded;
    lib.tried = true;
    const char *named = getenv("ATTNC_LIBCLANG");
    if (named && *named) {
        if (!open_library(named) && !*lib.problem)
            snprintf(lib.problem, sizeof lib.problem, "%.200s, which ATTNC_LIBCLANG names, cannot be loaded", named);
        return lib.loaded;
    }
    for (int version = NEWEST_CLANG; version >= OLDEST_CLANG; version--) {
        char debian[40], debian_old[40], usual[40], plain[40];
        snprintf(debian, sizeof debian, "libclang-%d.so.%d", version, version);
        snprintf(debian_old, sizeof debian_old, "libclang-%d.so.1", version);
        snprintf(usual, sizeof usual, "libclang.so.%d.1", version);
        snprintf(plain, sizeof plain, "libclang.so.%d", version);
        if (open_library(debian) || open_library(debian_old) || open_library(usual) || open_library(plain)) return true;
    }
    if (open_library("libclang.so.1") || open_library("libclang.so")) return true;
    if (!*lib.problem) snprintf(lib.problem, sizeof lib.problem, "it is not installed");
    return false;
}

bool expression_library_missing(void)
{
    return lib.tried && !lib.loaded;
}

bool expression_library_loads(void)
{
    return load_library();
}

/* ---- the file in memory ---- */

static const char file_name[] = "attnc-expression.c";
static const char after[] = "\n); }\n";

/* Returns the text before the user's text: declarations, and the beginning of a function whose parameters are the
   allowed names. Sets *declarations to the number of declarations. */
static const char *text_before(const struct expression_reader *r, int *declarations)
{
    struct text text = {0};
    *declarations = r->arrays->count + r->arrays->named;
    for (int k = 0; k < *declarations; k++)
        text_add(&text, "extern long long %.*s%s;\n", r->arrays->array[k].rank, "********", r->arrays->array[k].name);
    for (int function = 0; function < EXPRESSION_FUNCTIONS; function++) {
        const char *const name = expression_function_name(function);
        if (!name || expression_array(r, name)) continue; /* an array can be named like a function */
        text_add(&text, "long long %s(", name);
        for (int k = 0; k < expression_function_arguments(function); k++) text_add(&text, "%slong long", k ? ", " : "");
        text_add(&text, ");\n");
        ++*declarations;
    }
    text_add(&text, "long long attnc_value(long long ");
    expression_list_names(r->place, &text, ", long long ");
    text_add(&text, ") { return (\n");
    return text_take(&text, r->arena);
}

/* ---- from the syntax tree to expressions ---- */

/* A translated expression. `real` is true if its type in C is double. Its value e may still be an integer, as in
   floor(i). */
struct typed {
    const struct expr *e;
    bool real;
};

struct lowering {
    struct expression_reader *r;
    struct module *m;
    size_t start; /* the offset at which the user's text begins */
};

static const struct typed nothing = {NULL, false};

static size_t offset_of(const struct lowering *x, CXSourceLocation location)
{
    unsigned offset = 0;
    lib.clang_getSpellingLocation(location, NULL, NULL, NULL, &offset);
    size_t at = offset >= x->start ? offset - x->start : 0;
    return at < x->r->last ? at : x->r->last;
}

static size_t begin_of(const struct lowering *x, CXCursor cursor)
{
    return offset_of(x, lib.clang_getRangeStart(lib.clang_getCursorExtent(cursor)));
}

static const char *spelling(const struct lowering *x, CXCursor cursor)
{
    CXString string = lib.clang_getCursorSpelling(cursor);
    const char *text = lib.clang_getCString(string);
    text = arena_copy(x->m->arena, text ? text : "");
    lib.clang_disposeString(string);
    return text;
}

enum { MAX_CHILDREN = 4 };
struct children {
    CXCursor cursor[MAX_CHILDREN], last;
    int count;
};

static enum CXChildVisitResult add_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    struct children *c = data;
    if (c->count < MAX_CHILDREN) c->cursor[c->count] = cursor;
    c->last = cursor;
    c->count++;
    return CXChildVisit_Continue;
}

static struct children children_of(CXCursor cursor)
{
    struct children c;
    memset(&c, 0, sizeof c);
    lib.clang_visitChildren(cursor, add_child, &c);
    return c;
}

static const struct expr *make(const struct lowering *x, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, op, a, b, NULL);
}

static const struct expr *as_real(const struct lowering *x, const struct expr *e)
{
    if (e->type == TYPE_REAL) return e;
    return e->op == EXPR_INT ? expr_real(x->m, (double)e->integer) : expr_mul(x->m, e, expr_real(x->m, 1));
}

static const struct expr *truth(const struct lowering *x, const struct expr *e);

/* Returns the negation of a truth value. A comparison is reversed. For example, passes see j <= i for !(j > i). */
static const struct expr *negation(const struct lowering *x, const struct expr *e)
{
    bool integers = e->arg[1] && e->arg[0]->type != TYPE_REAL && e->arg[1]->type != TYPE_REAL;
    if (e->op == EXPR_EQ) return make(x, EXPR_NE, e->arg[0], e->arg[1]);
    if (e->op == EXPR_NE) return expr_eq(x->m, e->arg[0], e->arg[1]);
    if (e->op == EXPR_LT && integers) return expr_le(x->m, e->arg[1], e->arg[0]);
    if (e->op == EXPR_LE && integers) return expr_lt(x->m, e->arg[1], e->arg[0]);
    return expr_not(x->m, e);
}

static bool is_truth(const struct expr *e)
{
    return e->type == TYPE_BOOL || (e->op == EXPR_INT && (e->integer == 0 || e->integer == 1));
}

static const struct expr *truth(const struct lowering *x, const struct expr *e)
{
    if (is_truth(e)) return e;
    if (e->op == EXPR_SELECT && is_truth(e->arg[1]) && is_truth(e->arg[2])) {
        const struct expr *c = truth(x, e->arg[0]);
        return expr_or(x->m, expr_and(x->m, c, e->arg[1]), expr_and(x->m, negation(x, c), e->arg[2]));
    }
    return make(x, EXPR_NE, e, e->type == TYPE_REAL ? expr_real(x->m, 0) : expr_int(x->m, 0));
}

/* Reports an error. */
static struct typed refuse(const struct lowering *x, CXCursor at, const char *format, ...) IR_PRINTF(3, 4);
static struct typed refuse(const struct lowering *x, CXCursor at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    expression_error(x->r, begin_of(x, at), "%s", arena_vprintf(x->m->arena, format, arguments));
    va_end(arguments);
    return nothing;
}

/* Checks a translated expression. A constant must be finite, and e must not have too many nodes. */
static struct typed finish(const struct lowering *x, CXCursor at, const struct expr *e, bool real)
{
    if (e->op == EXPR_REAL && !isfinite(e->real))
        return refuse(x, at, "this constant is %s", isnan(e->real) ? "not a number" : "infinite");
    if (e->size > EXPRESSION_MAX_NODES)
        return refuse(x, at, "written out, the expression has more than %d operations", EXPRESSION_MAX_NODES);
    return (struct typed){e, real};
}

static struct typed lower(const struct lowering *x, CXCursor cursor);

static bool is_exponential(const struct expr *e)
{
    return e->op == EXPR_EXP || e->op == EXPR_EXP2;
}

/* Like finish, for a new exponential. Also records the place of the exponential for messages. */
static struct typed finish_exponential(const struct lowering *x, CXCursor at, const struct expr *e,
                                       const struct expr *exponential)
{
    struct expression_reader *r = x->r;
    const bool grows = is_exponential(exponential) || exponential->op == EXPR_EXPM1 || exponential->op == EXPR_POW;
    if (grows && r->exponentials < EXPRESSION_MAX_TOKENS)
        r->exponential[r->exponentials++] = (struct exponential){.e = exponential, .offset = begin_of(x, at)};
    return finish(x, at, e, true);
}

/* Warns of a division of integers with a remainder. For example, 1 / 8 is 0. */
static void warn_of_remainder(const struct lowering *x, CXCursor at, const struct expr *a, const struct expr *b)
{
    if (a->op != EXPR_INT || b->op != EXPR_INT || b->integer == 0 || b->integer == -1 || a->integer % b->integer == 0)
        return;
    const long long above = (long long)a->integer, below = (long long)b->integer;
    expression_warning(x->r, begin_of(x, at), "%lld / %lld is %lld, because both are integers; write %lld.0 / %lld",
                       above, below, above / below, above, below);
}

/* Returns the quotient of integers as in C. It is 0 if b is 0. */
static const struct expr *divide_integers(const struct lowering *x, const struct expr *a, const struct expr *b)
{
    if (b->op == EXPR_INT) return expr_div(x->m, a, b);
    const struct expr *zero = expr_eq(x->m, b, expr_int(x->m, 0));
    const struct expr *divisor = expr_select(x->m, zero, expr_int(x->m, 1), b);
    return expr_select(x->m, zero, expr_int(x->m, 0), expr_div(x->m, a, divisor));
}

static bool overflows(enum expr_op op, int64_t a, int64_t b)
{
    int64_t result;
    switch ((int)op) {
    case EXPR_ADD: return __builtin_add_overflow(a, b, &result);
    case EXPR_SUB: return __builtin_sub_overflow(a, b, &result);
    case EXPR_MUL: return __builtin_mul_overflow(a, b, &result);
    case EXPR_DIV: return a == INT64_MIN && b == -1;
    default: return false;
    }
}

/* Returns whether e or a factor of e is an exponential. Passes prevent overflow only in factors. So -e becomes a
   product with -1, and e / x becomes a product with 1 / x. */
static bool exponential(const struct expr *e)
{
    return is_exponential(e) || (e->op == EXPR_MUL && (exponential(e->arg[0]) || exponential(e->arg[1])));
}

static struct typed takes_integers(const struct lowering *x, CXCursor at, const char *sign)
{
    expression_error(x->r, begin_of(x, at), "'%s' takes integers, not doubles", sign);
    expression_note(x->r, begin_of(x, at), "(int)x truncates a real number x");
    return nothing;
}

static struct typed arithmetic(const struct lowering *x, CXCursor at, CXCursor right, enum expr_op op, struct typed a,
                               struct typed b)
{
    bool real = a.real || b.real, division = op == EXPR_DIV || op == EXPR_MOD;
    if (division && expr_is_real(b.e, 0)) return refuse(x, right, "division by zero");
    if (op == EXPR_MOD && real) return takes_integers(x, a.real ? at : right, "%");
    if (real && (op == EXPR_MUL || op == EXPR_DIV)) { /* Operands of + and - stay integers. */
        a.e = as_real(x, a.e);
        b.e = as_real(x, b.e);
    }
    if (!real && a.e->op == EXPR_INT && b.e->op == EXPR_INT && overflows(op, a.e->integer, b.e->integer))
        return refuse(x, at, "this constant does not fit 64 bits");
    if (op == EXPR_DIV && real && is_exponential(b.e)) {
        const struct expr *inverse = make(x, b.e->op, expr_neg(x->m, b.e->arg[0]), NULL);
        return finish_exponential(x, right, expr_mul(x->m, a.e, inverse), inverse);
    }
    if (op == EXPR_DIV && real && exponential(a.e))
        return finish(x, at, expr_mul(x->m, a.e, expr_div(x->m, expr_real(x->m, 1), b.e)), true);
    if (op == EXPR_DIV && !real) {
        warn_of_remainder(x, at, a.e, b.e);
        return finish(x, at, divide_integers(x, a.e, b.e), false);
    }
    if (op == EXPR_MOD && b.e->op != EXPR_INT)
        return finish(x, at, expr_sub(x->m, a.e, expr_mul(x->m, b.e, divide_integers(x, a.e, b.e))), false);
    return finish(x, at, make(x, op, a.e, b.e), real);
}

/* Returns a == b, or a != b if `equal` is false. Simplifies a comparison of a truth value with 0 or 1. */
static const struct expr *equality(const struct lowering *x, const struct expr *a, const struct expr *b, bool equal)
{
    if (a->op == EXPR_INT)
        return b->op == EXPR_INT ? make(x, equal ? EXPR_EQ : EXPR_NE, a, b) : equality(x, b, a, equal);
    if (a->type != TYPE_BOOL || b->op != EXPR_INT || !is_truth(b)) return make(x, equal ? EXPR_EQ : EXPR_NE, a, b);
    return (b->integer == 1) == equal ? a : negation(x, a);
}

static bool is_comparison(CXCursor at)
{
    while (lib.clang_getCursorKind(at) == CXCursor_UnexposedExpr) at = children_of(at).last; /* a conversion */
    if (lib.clang_getCursorKind(at) != CXCursor_BinaryOperator) return false;
    const int kind = (int)lib.clang_getCursorBinaryOperatorKind(at);
    return kind == CXBinaryOperator_LT || kind == CXBinaryOperator_GT || kind == CXBinaryOperator_LE ||
           kind == CXBinaryOperator_GE || kind == CXBinaryOperator_EQ || kind == CXBinaryOperator_NE;
}

/* Returns an operation on bits. A constant that is a power of two, or one less, becomes a product, a quotient or a
   remainder, whose values passes can bound. Truth values have one bit. */
static struct typed bits(const struct lowering *x, CXCursor at, const CXCursor *side, enum expr_op op, struct typed a,
                         struct typed b)
{
    enum { MOST_DOUBLED = 30 }; /* A product with a larger power of two may overflow. */
    const char *const sign = expr_infix(op);
    if (a.real || b.real) return takes_integers(x, side[!a.real], sign);
    for (int k = 0; k < 2; k++)
        if (is_comparison(side[k]) && !is_truth(k ? a.e : b.e))
            expression_warning(x->r, begin_of(x, side[k]),
                               "'%s' takes the result of this comparison, 0 or 1; to compare "
                               "the result of '%s', put it in parentheses",
                               sign, sign);
    if (op != EXPR_SHIFT_LEFT && op != EXPR_SHIFT_RIGHT) {
        if (is_truth(a.e) && is_truth(b.e))
            return finish(x, at,
                          op == EXPR_BIT_XOR ? equality(x, a.e, b.e, false)
                                             : make(x, op == EXPR_BIT_AND ? EXPR_AND : EXPR_OR, a.e, b.e),
                          false);
        if (a.e->op == EXPR_INT)
            return b.e->op == EXPR_INT ? finish(x, at, make(x, op, a.e, b.e), false)
                                       : bits(x, at, (CXCursor[]){side[1], side[0]}, op, b, a);
    }
    const int64_t by = b.e->op == EXPR_INT ? b.e->integer : -1, size = by == INT64_MIN || by == INT64_MAX ? 0
                                                                       : by < 0                           ? -by
                                                                                                          : by + 1;
    if (a.e->op == EXPR_INT || b.e->op != EXPR_INT) return finish(x, at, make(x, op, a.e, b.e), false);
    if (op == EXPR_SHIFT_LEFT && by >= 0 && by <= MOST_DOUBLED)
        return finish(x, at, expr_mul(x->m, a.e, expr_int(x->m, INT64_C(1) << by)), false);
    const bool shifts = op == EXPR_SHIFT_RIGHT && by >= 0 && by < 63,
               cuts = op == EXPR_BIT_AND && size && (size & (size - 1)) == 0;
    if (!shifts && !cuts) return finish(x, at, make(x, op, a.e, b.e), false);
    const struct expr *const of = expr_int(x->m, shifts ? INT64_C(1) << by : size), *const rest = expr_floormod(
                                                                                        x->m, a.e, of);
    if (cuts && by >= 0) return finish(x, at, rest, false);
    const struct expr *const whole = expr_sub(x->m, a.e, rest);
    return finish(x, at, shifts ? expr_div(x->m, whole, of) : whole, false);
}

/* Returns the condition that an element is not -inf, if one of a and b is an element of a real array and the other one
   is -INFINITY. Otherwise returns NULL. */
static const struct expr *shown(const struct lowering *x, const struct expr *a, const struct expr *b)
{
    if (a->op == EXPR_REAL) return b->op == EXPR_OPERAND ? shown(x, b, a) : NULL;
    if (a->op != EXPR_OPERAND || a->integer == 0 || b->op != EXPR_REAL || b->real != -INFINITY) return NULL;
    if (x->r->uses[NAME_s]) return NULL; /* it becomes a weight of 0 */
    const int k = (int)a->integer - 1;
    const struct expr *const zero = expr_int(x->m, 0);
    return expr_lt(x->m, zero, expr_id(x->m, EXPR_ID, x->r->element[k].array->name, expr_int(x->m, k), zero, NULL));
}

static struct typed lower_binary(const struct lowering *x, CXCursor cursor)
{
    struct children c = children_of(cursor);
    if (c.count != 2) return nothing;
    struct typed a = lower(x, c.cursor[0]), b = lower(x, c.cursor[1]);
    if (!a.e || !b.e) return nothing;
    const struct expr *compared = NULL;
    switch ((int)lib.clang_getCursorBinaryOperatorKind(cursor)) {
    case CXBinaryOperator_Mul: return arithmetic(x, cursor, c.cursor[1], EXPR_MUL, a, b);
    case CXBinaryOperator_Div: return arithmetic(x, cursor, c.cursor[1], EXPR_DIV, a, b);
    case CXBinaryOperator_Rem: return arithmetic(x, cursor, c.cursor[1], EXPR_MOD, a, b);
    case CXBinaryOperator_Add: return arithmetic(x, cursor, c.cursor[1], EXPR_ADD, a, b);
    case CXBinaryOperator_Sub: return arithmetic(x, cursor, c.cursor[1], EXPR_SUB, a, b);
    case CXBinaryOperator_And: return bits(x, cursor, c.cursor, EXPR_BIT_AND, a, b);
    case CXBinaryOperator_Or: return bits(x, cursor, c.cursor, EXPR_BIT_OR, a, b);
    case CXBinaryOperator_Xor: return bits(x, cursor, c.cursor, EXPR_BIT_XOR, a, b);
    case CXBinaryOperator_Shl: return bits(x, cursor, c.cursor, EXPR_SHIFT_LEFT, a, b);
    case CXBinaryOperator_Shr: return bits(x, cursor, c.cursor, EXPR_SHIFT_RIGHT, a, b);
    case CXBinaryOperator_LT: compared = expr_lt(x->m, a.e, b.e); break;
    case CXBinaryOperator_GT: compared = expr_lt(x->m, b.e, a.e); break;
    case CXBinaryOperator_LE: compared = expr_le(x->m, a.e, b.e); break;
    case CXBinaryOperator_GE: compared = expr_le(x->m, b.e, a.e); break;
    case CXBinaryOperator_EQ:
    case CXBinaryOperator_NE: {
        const bool equal = lib.clang_getCursorBinaryOperatorKind(cursor) == CXBinaryOperator_EQ;
        compared = shown(x, a.e, b.e);
        compared = !compared ? equality(x, a.e, b.e, equal) : equal ? negation(x, compared) : compared;
        break;
    }
    case CXBinaryOperator_LAnd: compared = expr_and(x->m, truth(x, a.e), truth(x, b.e)); break;
    case CXBinaryOperator_LOr: compared = expr_or(x->m, truth(x, a.e), truth(x, b.e)); break;
    default: return refuse(x, cursor, "this operator is not part of expressions");
    }
    return finish(x, cursor, compared, false);
}

static struct typed lower_unary(const struct lowering *x, CXCursor cursor)
{
    struct children c = children_of(cursor);
    struct typed a = c.count == 1 ? lower(x, c.cursor[0]) : nothing;
    if (!a.e) return nothing;
    switch ((int)lib.clang_getCursorUnaryOperatorKind(cursor)) {
    case CXUnaryOperator_Plus: return a;
    case CXUnaryOperator_Minus:
        if (a.e->op == EXPR_INT && a.e->integer == INT64_MIN)
            return refuse(x, cursor, "this constant does not fit 64 bits");
        if (a.real) a.e = as_real(x, a.e); /* Integers have no -0, so the operand becomes real. */
        if (exponential(a.e)) return finish(x, cursor, expr_mul(x->m, a.e, expr_real(x->m, -1)), true);
        if (a.e->op == EXPR_REAL && isinf(a.e->real)) return (struct typed){expr_real(x->m, -a.e->real), true};
        return finish(x, cursor, expr_neg(x->m, a.e), a.real);
    case CXUnaryOperator_Not:
        if (a.real) return takes_integers(x, c.cursor[0], "~");
        return finish(x, cursor, expr_sub(x->m, expr_int(x->m, -1), a.e), false);
    case CXUnaryOperator_LNot: return finish(x, cursor, negation(x, truth(x, a.e)), false);
    default: return refuse(x, cursor, "this operator is not part of expressions");
    }
}

static struct typed lower_choice(const struct lowering *x, CXCursor cursor)
{
    struct children c = children_of(cursor);
    if (c.count != 3) return nothing;
    struct typed condition = lower(x, c.cursor[0]), a = lower(x, c.cursor[1]), b = lower(x, c.cursor[2]);
    if (!condition.e || !a.e || !b.e) return nothing;
    bool both = is_exponential(a.e) && a.e->op == b.e->op; /* c ? exp(a) : exp(b) becomes exp(c ? a : b) */
    const struct expr *chosen = expr_select(x->m, truth(x, condition.e), both ? a.e->arg[0] : a.e,
                                            both ? b.e->arg[0] : b.e);
    if (!both) return finish(x, cursor, chosen, a.real || b.real);
    chosen = make(x, a.e->op, chosen, NULL);
    return finish_exponential(x, cursor, chosen, chosen);
}

static struct typed lower_power(const struct lowering *x, CXCursor at, const struct expr *base,
                                const struct expr *exponent)
{
    double n = exponent->op == EXPR_INT ? (double)exponent->integer : exponent->op == EXPR_REAL ? exponent->real : 0.5;
    if (n != floor(n) || fabs(n) > (double)EXPRESSION_MAX_POWER) {
        const struct expr *made = expr_pow(x->m, as_real(x, base), as_real(x, exponent));
        return finish_exponential(x, at, made, made);
    }
    /* A power with an integer exponent becomes products. The linear form finds features of products. */
    const struct expr *power = expr_power(x->m, as_real(x, base), (int64_t)fabs(n));
    return finish(x, at, n < 0 ? expr_div(x->m, expr_real(x->m, 1), power) : power, true);
}

/* Returns the smaller or larger argument. It is an exact integer if both arguments are integers. */
static struct typed extreme(const struct lowering *x, enum expr_op op, struct typed a, struct typed b)
{
    return (struct typed){make(x, op, a.e, b.e), a.real || b.real};
}

static struct typed lower_call(const struct lowering *x, CXCursor cursor)
{
    const char *name = spelling(x, cursor);
    const int function = expression_function_meant(expression_find_function(name));
    if (function == EXPRESSION_FUNCTIONS ||
        lib.clang_Cursor_getNumArguments(cursor) != expression_function_arguments(function))
        return refuse(x, cursor, "this call is not part of expressions");
    struct typed arg[3] = {nothing, nothing, nothing};
    for (int k = 0; k < expression_function_arguments(function); k++)
        if (!(arg[k] = lower(x, lib.clang_Cursor_getArgument(cursor, (unsigned)k))).e) return nothing;
    if (function == (int)EXPR_OPS + (int)COMPOSED_clamp) {
        const struct typed made = extreme(x, EXPR_MIN, extreme(x, EXPR_MAX, arg[0], arg[1]), arg[2]);
        return finish(x, cursor, made.e, made.real);
    }
    if (function == (int)EXPR_OPS + (int)COMPOSED_sign) { /* It is 0 for NaN. */
        const struct expr *const of = arg[0].e, *const zero = of->type == TYPE_REAL ? expr_real(x->m, 0)
                                                                                    : expr_int(x->m, 0);
        return finish(x, cursor, expr_sub(x->m, expr_lt(x->m, zero, of), expr_lt(x->m, of, zero)), arg[0].real);
    }
    const enum expr_op op = (enum expr_op)function;
    const struct expr *a = arg[0].e, *b = arg[1].e;
    if (op == EXPR_POW) return lower_power(x, cursor, a, b);
    if (expr_rounds(op) && a->type != TYPE_REAL) return (struct typed){a, true};
    /* For integer arguments, fabs, fmin and fmax return exact integers. */
    bool integer = (op == EXPR_ABS || op == EXPR_MIN || op == EXPR_MAX) && !arg[0].real && !arg[1].real;
    const struct expr *made = make(x, op, a, b);
    return is_exponential(made) || op == EXPR_EXPM1 ? finish_exponential(x, cursor, made, made)
                                                    : finish(x, cursor, made, !integer);
}

/* Translates (int)x, the only cast that tokens.c accepts. */
static struct typed lower_cast(const struct lowering *x, CXCursor cursor)
{
    struct children c = children_of(cursor);
    struct typed a = c.count == 1 ? lower(x, c.last) : nothing;
    if (!a.e) return nothing;
    const bool converted = a.e->op == EXPR_MUL && a.e->arg[0]->type != TYPE_REAL && expr_is_real(a.e->arg[1], 1);
    if (converted) a.e = a.e->arg[0]; /* as_real made a.e from an integer */
    return finish(x, cursor, a.e->type == TYPE_REAL ? make(x, EXPR_TRUNC, a.e, NULL) : a.e, false);
}

static bool same_element(const struct element *a, const struct element *b)
{
    return a->array == b->array && memcmp(a->sub, b->sub, sizeof a->sub) == 0;
}

/* Returns an element of an array. Equal elements are one operand. */
static struct typed lower_element(const struct lowering *x, CXCursor at, struct element e)
{
    struct expression_reader *r = x->r;
    int k = 0;
    while (k < r->elements && !same_element(&r->element[k], &e)) k++;
    if (k + 1 >= MAX_OPERANDS) {
        expression_error(r, begin_of(x, at), "the expression reads more than %d elements of arrays", MAX_OPERANDS - 2);
        return nothing;
    }
    if (k == r->elements) r->element[r->elements++] = e;
    if (array_is_real(e.array)) return (struct typed){expr_operand(x->m, k + 1), true};
    const struct expr *const zero = expr_int(x->m, 0), *const id = expr_id(x->m, EXPR_ID, e.array->name,
                                                                           expr_int(x->m, k), zero, NULL);
    return (struct typed){e.array->type == ARRAY_BOOL ? expr_lt(x->m, zero, id) : id, false};
}

/* Returns s, or the name of a score or sum, that e depends on. Returns NULL if it depends on none. */
static const char *of_pair(const struct lowering *x, const struct expr *e)
{
    const char *found = expr_uses(e, expr_operand(x->m, 0)) ? "s" : NULL;
    for (int k = 0; k < x->r->elements; k++) {
        const struct user_array *const a = x->r->element[k].array;
        if (a->type >= ARRAY_SCORE && expr_uses(e, expr_operand(x->m, k + 1))) found = a->name;
    }
    return found;
}

/* Reads array[first][second]…. In clang's tree, the last subscript is outermost. */
static struct typed lower_subscripts(const struct lowering *x, CXCursor cursor)
{
    CXCursor base = cursor, sub[MAX_RANK];
    int rank = 0;
    while (lib.clang_getCursorKind(base) != CXCursor_DeclRefExpr) {
        const bool subscript = lib.clang_getCursorKind(base) == CXCursor_ArraySubscriptExpr;
        struct children c = children_of(base);
        if (c.count != (subscript ? 2 : 1) || rank == MAX_RANK)
            return refuse(x, base, "this is not part of expressions");
        if (subscript) sub[rank++] = c.cursor[1];
        base = c.cursor[0];
    }
    struct element e = {.array = expression_array(x->r, spelling(x, base)), .offset = begin_of(x, cursor)};
    if (!e.array || e.array->rank != rank) return refuse(x, base, "this is not part of expressions");
    for (int k = 0; k < rank; k++) {
        const CXCursor at = sub[rank - 1 - k];
        const struct typed t = lower(x, at);
        if (!t.e) return nothing;
        if (t.real) {
            expression_error(x->r, begin_of(x, at), "subscript %d of '%s' is a real number, not an integer", k + 1,
                             e.array->name);
            expression_note(x->r, begin_of(x, at), "(int)x truncates a real number x");
            return nothing;
        }
        const char *const pair = of_pair(x, t.e);
        if (pair && (x->r->place != EXPRESSION_PAIR || !array_is_stored_real(e.array) ||
                     e.array->axis[k].extent != EXTENT_NUMBER)) {
            expression_error(x->r, begin_of(x, at),
                             "subscript %d of '%s' depends on %s, but elements are found from "
                             "positions and arrays alone",
                             k + 1, e.array->name, pair);
            if (x->r->place == EXPRESSION_PAIR)
                expression_note(x->r, begin_of(x, at),
                                "a weight or logit may find elements of real numbers along an "
                                "axis whose size is a number");
            return nothing;
        }
        e.sub[k] = t.e->type == TYPE_BOOL ? expr_select(x->m, t.e, expr_int(x->m, 1), expr_int(x->m, 0)) : t.e;
    }
    return lower_element(x, cursor, e);
}

static struct typed lower_name(const struct lowering *x, CXCursor cursor)
{
    const char *const word = spelling(x, cursor);
    const enum expression_name name = expression_find_name(word);
    if (expression_array(x->r, word)) return lower_subscripts(x, cursor);
    if (name == NAME_INFINITY) return (struct typed){expr_real(x->m, INFINITY), true};
    if (name == NAME_s) return (struct typed){expr_operand(x->m, 0), true};
    if (name != EXPRESSION_NAMES) return (struct typed){expr_index(x->m, (int)name), false};
    return refuse(x, cursor, "unknown name '%s'", word);
}

static struct typed lower_number(const struct lowering *x, CXCursor cursor)
{
    bool is_integer;
    int64_t integer;
    double value = expression_number(x->r, begin_of(x, cursor), &is_integer, &integer);
    return is_integer ? (struct typed){expr_int(x->m, integer), false}
                      : finish(x, cursor, expr_real(x->m, value), true);
}

static struct typed lower(const struct lowering *x, CXCursor cursor)
{
    switch ((int)lib.clang_getCursorKind(cursor)) {
    case CXCursor_UnexposedExpr: /* an implicit conversion */
    case CXCursor_ParenExpr: {
        struct children c = children_of(cursor);
        if (c.count == 1) return lower(x, c.cursor[0]);
        break;
    }
    case CXCursor_DeclRefExpr: return lower_name(x, cursor);
    case CXCursor_ArraySubscriptExpr: return lower_subscripts(x, cursor);
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral: return lower_number(x, cursor);
    case CXCursor_UnaryOperator: return lower_unary(x, cursor);
    case CXCursor_BinaryOperator: return lower_binary(x, cursor);
    case CXCursor_ConditionalOperator: return lower_choice(x, cursor);
    case CXCursor_CallExpr: return lower_call(x, cursor);
    case CXCursor_CStyleCastExpr: return lower_cast(x, cursor);
    default: break;
    }
    return refuse(x, cursor, "this is not part of expressions");
}

/* ---- clang parses the file ---- */

/* Reports a syntax error. Messages about code that the user did not write are replaced. */
static void report_syntax(const struct lowering *x, size_t at, const char *message)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"expected expression", "an operand is missing here"},
                 {"expected ')'", "an operator is missing here"},
                 {"expected ';'", "an operator is missing here"},
                 {"expected ':'", "the ':' of a '?' is missing here"},
                 {"invalid argument type 'double' to unary", "'~' takes integers, not doubles"},
                 {"too few arguments", "too few arguments"},
                 {"too many arguments", "too many arguments"}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strncmp(message, words[k].theirs, strlen(words[k].theirs)) == 0) {
            expression_error(x->r, at, "%s", words[k].ours);
            return;
        }
    const char *const sign = x->r->text + at;
    if (strncmp(message, "invalid operands to binary", 26) == 0) {
        expression_error(x->r, at, "'%.*s' takes integers, not doubles", *sign && sign[1] == *sign ? 2 : 1, sign);
        return;
    }
    expression_error(x->r, at, "%s", message);
}

/* Reports only the first error of clang, because it may cause the later ones. Returns false after an error. */
static bool check_syntax(const struct lowering *x, CXTranslationUnit unit)
{
    bool good = true;
    unsigned count = lib.clang_getNumDiagnostics(unit);
    for (unsigned k = 0; k < count && good; k++) {
        CXDiagnostic d = lib.clang_getDiagnostic(unit, k);
        if (lib.clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error) {
            CXString message = lib.clang_getDiagnosticSpelling(d);
            const char *text = lib.clang_getCString(message);
            report_syntax(x, offset_of(x, lib.clang_getDiagnosticLocation(d)), text ? text : "not an expression");
            lib.clang_disposeString(message);
            good = false;
        }
        lib.clang_disposeDiagnostic(d);
    }
    return good;
}

/* Finds the value that the last function returns. Returns false unless the file has exactly `declarations`
   declarations and one function with one return statement. */
static bool find_value(const struct expression_reader *r, CXTranslationUnit unit, int declarations, CXCursor *value)
{
    int names = 0;
    for (int name = 0; name < EXPRESSION_NAMES; name++)
        names += expression_name_allowed((enum expression_name)name, r->place);
    const struct {
        enum CXCursorKind last;
        int children;
    } path[] = {
        {CXCursor_FunctionDecl, declarations + 1}, {CXCursor_CompoundStmt, names + 1}, {CXCursor_ReturnStmt, 1}};
    CXCursor at = lib.clang_getTranslationUnitCursor(unit);
    for (size_t k = 0; k < sizeof path / sizeof *path; k++) {
        struct children c = children_of(at);
        if (c.count != path[k].children || lib.clang_getCursorKind(c.last) != path[k].last) return false;
        at = c.last;
    }
    struct children c = children_of(at);
    *value = c.last;
    return c.count == 1;
}

static bool has_infinity(const struct expr *e)
{
    bool has = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) has |= w.e->op == EXPR_REAL && isinf(w.e->real);
    return has;
}

/* Reports a real element or infinity in a mask, except in a subscript, in a comparison of both, and
   next to s. */
static const struct expr *mask_of(struct lowering *x, const struct expr *e)
{
    struct expression_reader *const r = x->r;
    for (int k = 0; k < r->elements && !r->failed && !r->uses[NAME_s]; k++)
        if (expr_uses(e, expr_operand(x->m, k + 1)))
            expression_error(r, r->element[k].offset,
                             "a mask cannot read '%s', because it is an array of real numbers; it can only ask whether "
                             "an element is -inf, as in '%s[…] != -INFINITY'",
                             r->element[k].array->name, r->element[k].array->name);
    if (!r->failed && !r->uses[NAME_s] && has_infinity(e))
        expression_error(r, 0, "a mask compares only elements of arrays of real numbers with -INFINITY, by != and ==");
    return r->failed ? NULL : truth(x, e);
}

static const struct expr *parse(struct lowering *x)
{
    struct expression_reader *r = x->r;
    if (!load_library()) {
        expression_error(r, 0, "expressions need libclang %d or newer: %s", OLDEST_CLANG, lib.problem);
        expression_note(r, 0, "install it (Debian: libclang1-19) or name the library in ATTNC_LIBCLANG");
        return NULL;
    }
    static const char *const arguments[] = {"-xc", "-std=gnu11", "-nostdinc", "-fno-builtin", "-ferror-limit=1"};
    int declarations;
    const char *head = text_before(r, &declarations);
    const char *source = arena_printf(r->arena, "%s%s%s", head, r->text, after);
    x->start = strlen(head);
    struct CXUnsavedFile file = {file_name, source, (unsigned long)strlen(source)};
    CXIndex index = lib.clang_createIndex(0, 0);
    CXTranslationUnit unit = NULL;
    CXCursor value;
    const struct expr *made = NULL;
    enum CXErrorCode failed = lib.clang_parseTranslationUnit2(
        index, file_name, arguments, sizeof arguments / sizeof *arguments, &file, 1, CXTranslationUnit_None, &unit);
    if (failed || !unit)
        expression_error(r, 0, "libclang cannot read this expression");
    else if (check_syntax(x, unit)) {
        if (find_value(r, unit, declarations, &value)) made = lower(x, value).e;
        if (made && r->place == EXPRESSION_MASK) made = mask_of(x, made);
        if (!made && !r->failed) expression_error(r, 0, "this is not an expression");
    }
    if (unit) lib.clang_disposeTranslationUnit(unit);
    lib.clang_disposeIndex(index);
    return made;
}
#else
static bool asked;

bool expression_library_missing(void)
{
    return asked;
}

bool expression_library_loads(void)
{
    return false;
}

struct lowering {
    struct expression_reader *r;
    struct module *m;
};

static const struct expr *parse(struct lowering *x)
{
    asked = true;
    expression_error(x->r, 0, "this attnc was built without libclang, which reads expressions");
    expression_note(x->r, 0, "build it again where clang-c/Index.h is found (Debian: libclang-19-dev)");
    return NULL;
}
#endif

struct expression *expression_read(struct arena *arena, const char *text, enum expression_place place,
                                   const struct user_arrays *arrays, expression_report *report, void *user)
{
    struct expression_reader r = {
        .arena = arena, .text = text, .place = place, .arrays = arrays, .report = report, .user = user};
    if (!expression_check_text(&r)) return NULL;
    struct lowering x = {.r = &r, .m = expression_module(arena)};
    struct expression *made = arena_alloc(arena, sizeof *made);
    *made = (struct expression){.text = text, .place = place, .value = parse(&x)};
    made->exponentials = r.exponentials;
    made->exponential = arena_alloc(arena, (size_t)r.exponentials * sizeof *made->exponential + 1);
    memcpy(made->exponential, r.exponential, (size_t)r.exponentials * sizeof *made->exponential);
    made->elements = r.elements;
    made->element = arena_alloc(arena, (size_t)r.elements * sizeof *made->element + 1);
    memcpy(made->element, r.element, (size_t)r.elements * sizeof *made->element);
    memcpy(made->uses, r.uses, sizeof r.uses);
    memcpy(made->first_use, r.first_use, sizeof r.first_use);
    return made->value ? made : NULL;
}
