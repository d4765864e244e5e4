/* libFuzzer's entry point for the reader of expressions. The first byte selects the use of the expression.
 * - The reader must return an expression, or report errors inside the text.
 * - An expression must be well-typed, of limited size and printable. Its evaluation must work. */
#include "compiler/expression/expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    size_t length;
    int errors;
};

static void count(void *user, size_t offset, enum expression_says says, const char *message)
{
    struct told *t = user;
    t->errors += says == EXPRESSION_ERROR;
    if (offset > t->length || !*message || (says == EXPRESSION_NOTE && t->errors == 0)) abort();
}

static void evaluate(const struct expr *e)
{
    static const double s[][MAX_OPERANDS] = {{0}, {-1.5, 2, 0, -3}, {1e300, 1e300}};
    static const int64_t points[][EXPRESSION_NAMES] = {
        {0}, {0, -7, 3, 1, 1, 0, -7, 2, 1, 4, 2, 70, 63}, {1, 1000000, 5, 31}, {5, 5, 5, 2, 5, 5, 5, 5}};
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        const struct environment env = {.operand = s[k % 3], .index = points[k]};
        double value = expr_eval(e, &env);
        if (e->type == TYPE_BOOL && value != 0 && value != 1) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    struct arena *arena = arena_new();
    char *text = arena_alloc(arena, size);
    memcpy(text, data + 1, size - 1); /* the last byte is 0 */
    const enum expression_place place = (enum expression_place)(1 << data[0] % 3);
    struct told told = {strlen(text), 0};
    struct user_array array[] = {{.name = "scalar"},
                                 {.name = "table", .rank = 2, .axis = {{EXTENT_H, 0}, {EXTENT_NUMBER, 8}}}};
    const struct user_arrays arrays = {.count = sizeof array / sizeof *array, .array = array};
    const struct expression *e = expression_read(arena, text, place, &arrays, count, &told);
    if (!e == (told.errors == 0)) abort();
    if (e) {
        struct module *m = module_new(arena, "fuzz", DTYPE_F64);
        for (int k = 0; k < EXPRESSION_NAMES; k++)
            module_axis(m, expression_name((enum expression_name)k), SIZE_CONSTANT, 1);
        /* a mask of s is a condition of the weight, any other mask is a region */
        const bool of_s = expr_has(e->value, EXPR_OPERAND), region = place == EXPRESSION_MASK && !of_s;
        const struct allowed allowed = {.operands = place == EXPRESSION_PAIR || of_s ? 1 + e->elements : 0,
                                        .index = (1U << EXPRESSION_NAMES) - 1};
        if (region ? where_check(m, e->value, &allowed) : expr_check(m, e->value, &allowed)) abort();
        struct text printed = {0};
        expression_print(e->value, e, NULL, &printed);
        text_free(&printed);
        evaluate(e->value);
    }
    arena_free(arena);
    return 0;
}
