/* Tests the table of a kernel's arrays (compiler/spec/kernel_arrays.def): the order of arguments and parameters,
   and the axes of each array. */
#include "compiler/analysis/analysis.h"
#include "suite.h"

#include <stddef.h>
#include <string.h>

static const char text[] = "graph arrays bf16\n"
                           "axis b batch\naxis g kv_heads\naxis m members\naxis i n_q\naxis j n_k\naxis d 8\naxis r 3\n"
                           "%0 = input q [b g m i d]\n"
                           "%1 = input k [b g j d]\n"
                           "%2 = input v [b g j d]\n"
                           "%3 = param scale.j [b g j]\n"
                           "%4 = param gate [b g m i r]\n"
                           "%5 = param document i32 [b j]\n"
                           "%6 = param table [g m r]\n"
                           "%7 = param sketch.g1 normal [d r]\n"
                           "%8 = param bias [g m i j]\n"
                           "%9 = map [b g m i j] add(add(%3, %8), mul(%4[b, g, m, i, 0], %6[g, m, 0]))\n"
                           "%10 = contract [b g m i d] %9 %2\n"
                           "output %10\n";

static const struct kernel_arrays *made(struct arena *arena, int64_t head_dim, int64_t value_dim)
{
    struct spec *const spec = arena_alloc(arena, sizeof *spec);
    *spec = (struct spec){.dtype = DTYPE_BF16, .head_dim = head_dim, .value_dim = value_dim};
    const struct graph *const g = graph_parse(arena, text, diagnostics_new(arena, "arrays", text, strlen(text)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    return kernel_arrays(spec, g);
}

static void test_arguments(void)
{
    static const char *const names[] = {"q", "k", "v", "out", "dout", "dq", "dk", "dv"};
    struct arena *const arena = arena_new();
    const struct kernel_arrays *const all = made(arena, 8, 24);
    for (int k = 0; k < 8; k++) {
        const struct kernel_array *const a = &all->array[k];
        CU_ASSERT_STRING_EQUAL(a->name, names[k]);
        CU_ASSERT_EQUAL(a->place, PLACE_ARGUMENT);
        CU_ASSERT_EQUAL(a->dtype, DTYPE_BF16);
        CU_ASSERT(a->rows);
        CU_ASSERT_EQUAL(a->gradient_of, k < 4 ? -1 : k == 4 ? 3 : k - 5);
    }
    CU_ASSERT_STRING_EQUAL(array_shape_text(arena, &all->array[2], ","), "B,G,n_k,24");
    arena_free(arena);
}

static void test_parameters(void)
{
    static const struct {
        const char *name, *identifier, *shape;
        bool rows;
        enum array_role role;
        bool learned;
    } expected[] = {{"scale.j", "scale_j", "B,G,n_k", true, ROLE_PER_KEY, true},
                    {"gate", "gate", "B,H,n_q,3", true, ROLE_PER_QUERY, true},
                    {"document", "document", "B,n_k", false, ROLE_PER_KEY, false},
                    {"table", "table", "H,3", false, ROLE_PER_HEAD, true},
                    {"sketch.g1", "sketch_g1", "8,3", false, ROLE_SHARED, false},
                    {"bias", "bias", "H,n_q,n_k", false, ROLE_PER_PAIR, true}};
    enum { PARAMS = sizeof expected / sizeof *expected };
    struct arena *const arena = arena_new();
    const struct kernel_arrays *const all = made(arena, 8, 8);
    int gradients = 0;
    for (int k = 0; k < PARAMS; k++) {
        const int number = kernel_array_find(all, expected[k].name);
        CU_ASSERT_EQUAL_FATAL(number, 8 + k);
        const struct kernel_array *const a = &all->array[number];
        CU_ASSERT_STRING_EQUAL(a->identifier, expected[k].identifier);
        CU_ASSERT_STRING_EQUAL(array_shape_text(arena, a, ","), expected[k].shape);
        CU_ASSERT_EQUAL(a->role, expected[k].role);
        CU_ASSERT_EQUAL(a->learned, expected[k].learned);
        CU_ASSERT_EQUAL(a->rows, expected[k].rows);
        CU_ASSERT_EQUAL(a->dtype, strcmp(a->name, "document") == 0 ? DTYPE_I32 : DTYPE_F32);
        if (!a->learned) continue;
        const struct kernel_array *const gradient = &all->array[8 + PARAMS + gradients++];
        CU_ASSERT_EQUAL(gradient->gradient_of, number);
        CU_ASSERT_STRING_EQUAL(gradient->member, a->member);
        CU_ASSERT_EQUAL(gradient->place, PLACE_GRADIENTS);
        CU_ASSERT_EQUAL(gradient->access[ENTRY_FORWARD], ACCESS_NONE);
        CU_ASSERT_FALSE(gradient->rows);
    }
    CU_ASSERT_EQUAL(all->count, 8 + PARAMS + gradients);
    CU_ASSERT_EQUAL(array_row_elements(&all->array[8]), 1);
    CU_ASSERT_EQUAL(array_row_elements(&all->array[9]), 3);
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"kernel_arrays/arguments", test_arguments},
                                             {"kernel_arrays/parameters", test_parameters}};
    return unit_tests_run("kernel_arrays", tests, sizeof tests / sizeof *tests);
}
