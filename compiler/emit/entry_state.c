/* Sets the names of templates for states: the rows and sums that a state stores. */
#include "entry.h"
#include "definitions.h"
#include "../analysis/analysis.h"
#include "../support/support.h"

int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds)
{
    enum { FEW = 256 };
    return first + read_back + (chunk ? chunk + (folds ? chunk : 0) : read_back > FEW ? read_back : FEW);
}

/* C for arrays that have a row of reals per token, in calls with a state. */
struct rows_text {
    struct arena *arena;
    int count;
    const char *bytes, *heads, *pointers, *strides, *row_strides;
    const char *elements,
        *apart; /* for rows of an array of the caller: the bytes of an element, and its stride; or 0 */
    bool any_apart;
    const char *types;  /* the type and the elements of a row that is rounded, or 0, 0 */
    const char *values; /* statements that set the arrays in struct call */
};

/* Returns the number of the axis of heads, or -1. */
static int axis_of_heads(const struct kernel_array *a)
{
    const int heads = emit_axis_of_size(a, ARRAY_SIZE_HEADS);
    return heads < 0 ? emit_axis_of_size(a, ARRAY_SIZE_KV_HEADS) : heads;
}

/* Adds C for the elements of a row. Those of an array of the caller may be apart, but a state stores them together. */
static void add_elements(struct rows_text *x, const struct kernel_array *a)
{
    const char *const comma = x->count ? ", " : "";
    const struct array_axis *const last = a && a->rank > 0 ? &a->axis[a->rank - 1] : NULL;
    if (!last || !a->strided || !last->constant || last->extent == 1) {
        x->elements = arena_printf(x->arena, "%s%s0", x->elements, comma);
        x->apart = arena_printf(x->arena, "%s%s0", x->apart, comma);
        return;
    }
    const char *const size = arena_printf(x->arena, "(int64_t)sizeof(%s)", emit_stored(a->dtype));
    x->any_apart = true;
    x->elements = arena_printf(x->arena, "%s%s%s", x->elements, comma, size);
    x->apart = arena_printf(x->arena, "%s%scall->at.%s[%d] * %s", x->apart, comma, a->member, a->rank - 1, size);
    x->values = arena_printf(x->arena, "%s%s    call->at.%s[%d] = rows->apart[%d] / %s;", x->values,
                             *x->values ? "\n" : "", a->member, a->rank - 1, x->count, size);
}

/* Adds C for an array of integers, except what all arrays have. Kernels read it through the parameters, at a subscript
   that counts from the first sequence of the batch. */
static void add_integer_rows(struct rows_text *x, const struct kernel_array *a)
{
    const int axis[] = {emit_axis_of_size(a, ARRAY_SIZE_BATCH), axis_of_heads(a), emit_axis_of_size(a, ARRAY_SIZE_N_K)};
    static const char *const member[] = {"batch", "head", "row"};
    const char *const comma = x->count ? ", " : "", *given = "";
    x->values = arena_printf(
        x->arena, "%s%s    call->own.%s = (const %s *)((uintptr_t)rows->at[%d]%s);", x->values, *x->values ? "\n" : "",
        a->member, emit_stored(a->dtype), x->count,
        axis[0] < 0
            ? ""
            : arena_printf(x->arena, " - (uintptr_t)(call->first_sequence * rows->strides[%d].batch)", x->count));
    for (int k = 0; k < 3; k++) {
        given = arena_printf(x->arena, "%s%s%s", given, k ? ", " : "",
                             axis[k] < 0 ? "0" : arena_printf(x->arena, "call->at.%s[%d]", a->member, axis[k]));
        if (axis[k] >= 0)
            x->values = arena_printf(x->arena,
                                     "%s\n    call->at.%s[%d] = rows->strides[%d].%s / (int64_t)sizeof *call->own.%s;",
                                     x->values, a->member, axis[k], x->count, member[k], a->member);
    }
    x->pointers = arena_printf(x->arena, "%s%s(unsigned char *)(uintptr_t)call->params->%s", x->pointers, comma,
                               a->member);
    x->strides = arena_printf(x->arena, "%s%sin_bytes((struct attn_strides){%s}, sizeof *call->params->%s)", x->strides,
                              comma, given, a->member);
    x->row_strides = arena_printf(x->arena, "%s%scall.at.%s[%d]", x->row_strides, comma, a->member, axis[2]);
    x->count++;
}

/* Adds C for an array whose rows come from the caller. */
static void add_given_rows(struct rows_text *x, const struct kernel_array *a)
{
    const char *const comma = x->count ? ", " : "", *const type = emit_stored(a->dtype);
    const bool rounded = a->appended != a->dtype;
    const long long elements = (long long)array_row_elements(a);
    x->bytes = dtype_is_packed(a->dtype)
                   ? arena_printf(x->arena, "%s%s%lld", x->bytes, comma, (long long)dtype_row_bytes(a->dtype, elements))
                   : arena_printf(x->arena, "%s%s%lld * (int64_t)sizeof(%s)", x->bytes, comma, elements, type);
    x->types = arena_printf(x->arena, "%s%s{%s, %lld}", x->types, comma, emit_runtime_dtype(a->dtype),
                            rounded ? elements : 0);
    x->heads = arena_printf(x->arena, "%s%s%s", x->heads, comma,
                            a->shared                                ? "key_heads"
                            : array_has_size(a, ARRAY_SIZE_KV_HEADS) ? "kv_heads"
                            : array_has_size(a, ARRAY_SIZE_HEADS)    ? "heads"
                                                                     : "1");
    add_elements(x, a);
    if (a->integer_rows) {
        add_integer_rows(x, a);
        return;
    }
    x->pointers = arena_printf(x->arena, "%s%s(unsigned char *)(uintptr_t)call->%s", x->pointers, comma, a->identifier);
    x->strides = arena_printf(x->arena, "%s%sin_bytes(call->%s, sizeof%s%s%s)", x->strides, comma, a->strides,
                              rounded ? "(" : " *call->", rounded ? emit_stored(a->appended) : a->identifier,
                              rounded ? ")" : "");
    x->row_strides = arena_printf(x->arena, "%s%scall.%s.row", x->row_strides, comma, a->strides);
    x->values = arena_printf(x->arena,
                             "%s%s    call->%s = (const %s *)(const void *)rows->at[%d];\n"
                             "    call->%s = in_elements(rows->strides[%d], sizeof *call->%s);",
                             x->values, *x->values ? "\n" : "", a->identifier, type, x->count, a->strides, x->count,
                             a->identifier);
    if (!array_has_size(a, ARRAY_SIZE_KV_HEADS) && !array_has_size(a, ARRAY_SIZE_HEADS))
        x->values = arena_printf(x->arena, "%s\n    call->%s.head = 0; /* all heads share the rows */", x->values,
                                 a->strides);
    x->count++;
}

/* Adds an array that a call computes from rows of the caller. */
static void add_computed_rows(struct rows_text *x, const struct kernel_array *a)
{
    const long long row = (long long)array_row_elements(a);
    x->bytes = arena_printf(x->arena, "%s, %lld * (int64_t)sizeof(%s)", x->bytes, row, emit_stored(a->dtype));
    x->types = arena_printf(x->arena, "%s, {%s, 0}", x->types, emit_runtime_dtype(a->dtype));
    x->heads = arena_printf(x->arena, "%s, heads", x->heads);
    add_elements(x, NULL);
    x->pointers = arena_printf(x->arena, "%s, NULL", x->pointers);
    x->strides = arena_printf(x->arena, "%s, {0, 0, 0}", x->strides);
    x->row_strides = arena_printf(x->arena, "%s, %lld", x->row_strides, row);
    x->count++;
}

static bool has_rows_of_keys(const struct kernel_array *a)
{
    return array_grows(a) && a->role == ROLE_PER_KEY && a->access[ENTRY_FORWARD] == ACCESS_READ;
}

/* Sets the template's names for arrays with a row of reals per token.
   - A state stores inputs, parameters, corrected values and prefix sums, in this order. It does not store parameters
   that only prefix sums need.
   - An array within another array is stored as part of it. If `prepared`, both arrays are stored, because the state
     has the outer array in another form. */
static void set_kept_arrays(struct template_names *t, const struct kernel_arrays *arrays, bool prepared, bool corrects)
{
    struct rows_text x = {t->arena, 0, "", "", "", "", "", "", "", false, "", ""};
    const struct kernel_array *const ids = emit_param_of_ids(arrays);
    int sums = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!has_rows_of_keys(a) || a->of_terms) continue;
        if (a == ids) template_set_number(t, "IDS_ARRAY", x.count);
        if (a->place == PLACE_WITHIN && !prepared) /* The array that contains this one is stored before it. */
            x.values = arena_printf(t->arena, "%s\n    call->%s = call->%s;\n    call->%s = call->p.%s;", x.values,
                                    a->member, a->within, a->strides, a->within);
        else
            add_given_rows(&x, a);
    }
    const int corrected = corrects ? kernel_array_find(arrays, corrected_values) : -1;
    if (corrected >= 0) add_computed_rows(&x, &arrays->array[corrected]);
    for (int k = 0; k < arrays->count; k++) {
        const enum prefix_array found = prefix_array_find(arrays->array[k].name);
        if (found != PREFIX_OF_KEY && found != PREFIX_OF_KEY_LOW) continue;
        add_computed_rows(&x, &arrays->array[k]);
        sums++;
    }
    template_set_number(t, "KEPT_ARRAYS", x.count);
    template_set_number(t, "SUM_ARRAYS", sums);
    template_set(t, "KEPT_VALUES", x.values);
    x.values = "";
    for (int k = 0; k < arrays->count; k++)
        if (has_rows_of_keys(&arrays->array[k]) && arrays->array[k].of_terms) add_given_rows(&x, &arrays->array[k]);
    template_set_number(t, "GIVEN_ARRAYS", x.count);
    template_set(t, "KEPT_ROW_BYTES", x.bytes);
    template_set(t, "KEPT_TYPES", x.types);
    template_set_number(t, "ROWS_APART", x.any_apart);
    template_set(t, "KEPT_ELEMENT_BYTES", x.elements);
    template_set(t, "KEPT_APART", x.apart);
    template_set(t, "KEPT_HEADS", x.heads);
    template_set(t, "KEPT_POINTERS", x.pointers);
    template_set(t, "KEPT_STRIDES", x.strides);
    template_set(t, "KEPT_ROW_STRIDES", x.row_strides);
    template_set(t, "TERMS_VALUES", x.values);
}

/* Sets the statements that advance the pointers of parameters with a row per query. */
static void set_rows_of_queries(struct template_names *t, const struct kernel_arrays *arrays)
{
    const char *sequences = "", *rows = "";
    int count = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if ((!emit_is_param_of_rows(a) && !a->integer_rows) || a->role != ROLE_PER_QUERY) continue;
        const char *const end = count++ ? "\n" : "";
        if (a->integer_rows) { /* kernels count the sequences of such an array from the first one of the batch */
            const int row = emit_axis_of_size(a, ARRAY_SIZE_N_Q), batch = emit_axis_of_size(a, ARRAY_SIZE_BATCH);
            rows = arena_printf(t->arena, "%s%s    call->own.%s += m * call->at.%s[%d];", rows, end, a->member,
                                a->member, row);
            if (batch >= 0)
                sequences = arena_printf(t->arena,
                                         "%s%s    if (call->p.cu_seqlens) call->own.%s += call->p.cu_seqlens[b] * "
                                         "call->at.%s[%d] - b * call->at.%s[%d];",
                                         sequences, *sequences ? "\n" : "", a->member, a->member, row, a->member,
                                         batch);
            continue;
        }
        sequences = arena_printf(t->arena, "%s%s    call->%s += before_sequence(&call->p, &call->%s, b);", sequences,
                                 *sequences ? "\n" : "", a->identifier, a->strides);
        rows = arena_printf(t->arena, "%s%s    call->%s += m * call->%s.row;", rows, end, a->identifier, a->strides);
    }
    template_set_number(t, "ROWS_OF_QUERIES", count);
    template_set(t, "SEQUENCES_OF_ROWS_OF_QUERIES", sequences);
    template_set(t, "MORE_ROWS_OF_QUERIES", rows);
}

static bool stores_solution(const struct loops *l)
{
    bool stores = false;
    for (int a = 0; a < l->arrays; a++) stores |= l->array[a].solved;
    return stores;
}

bool emit_stores_chunks(const struct emission *p)
{
    return p->of[STEP_EXTEND].count > 0 && p->folds && p->read_first == 0;
}

/* Sets the names for sums over keys that several sequences share. */
static void set_common(struct template_names *t, const struct emitted_file *e)
{
    int64_t row = 0;
    for (int k = 0; k < e->compilations; k++) {
        struct common_keys common;
        if (e->c[k]->state.common && common_keys_of(e->c[k]->loops, &common) && common.row > row) row = common.row;
    }
    template_set_number(t, "COMMON", row > 0);
    template_set_number(t, "COMMON_ROW", row);
    template_set_number(t, "COMMON_ROWS", MAX_FEW_ROWS);
}

void emit_set_state(struct template_names *t, const struct emitted_file *e)
{
    const struct emission *const p = e->p;
    const bool decodes = p->spec->emit & EMIT_DECODE, carried = p->of[STEP_EXTEND].count > 0;
    const struct kernel_array *const ids = emit_param_of_ids(p->arrays);
    template_set_number(t, "DECODE", decodes);
    template_set_number(t, "CARRIED", carried);
    template_set_number(t, "SOLVES", carried && stores_solution(emission_extend(p)->loops));
    template_set_number(t, "PAGED", p->paged);
    set_common(t, e);
    template_set_number(t, "APPENDS", p->of[STEP_APPEND].count > 0);
    template_set_number(t, "ROWS_MOVE", p->rows_move);
    template_set_number(t, "READ_FIRST", p->read_first);
    template_set_number(t, "NUMBERED", emit_numbers_sequences(p->spec));
    template_set_number(t, "CHUNK_SUMS", emit_stores_chunks(p));
    if (!decodes) return;
    template_set_number(t, "FOLDS", p->folds);
    template_set_number(t, "TRANSITIONS", p->of[STEP_FOLDABLE].count > 0);
    template_set_number(t, "JOINS", p->folds || p->of[STEP_FOLDABLE].count > 0);
    template_set_number(t, "MOVES", p->moves);
    template_set_number(t, "TERMS_MOVE", p->terms_move);
    template_set_number(t, "PREPARED", p->of[STEP_PREPARE].count > 0);
    template_set_number(t, "ATTENDS", p->of[STEP_ATTEND].count > 0);
    template_set(t, "ATTENDING", p->of[STEP_ATTEND].count ? "attending" : "version");
    template_set_number(t, "ANY_ORDER", p->any_order);
    template_set_number(t, "BY_CAPACITY", p->read_back < 0);
    template_set_number(t, "READ_BACK", p->read_back);
    template_set_number(
        t, "ROWS_KEPT",
        emit_state_rows(p->read_first, p->read_back, carried ? emission_extend(p)->state.chunk : 0, p->folds));
    const bool uncopied = p->read_first == 0 && p->of[STEP_PREPARE].count == 0 && !spec_has_storage(p->spec) &&
                          p->read_back >= 0 && (!carried || p->read_back == 0),
               rounds = p->of[STEP_PREPARE].count > 0 && p->spec->k_storage;
    template_set_number(t, "UNCOPIED", uncopied);
    template_set_number(t, "ROUNDS_PREPARED", rounds);
    bool several = emit_by_length(e->version, e->versions), linear = false;
    for (int k = 0; k < e->versions; k++) several |= e->version[k].few != NULL;
    for (int k = 0; k < e->compilations; k++) linear |= e->c[k]->program.linear;
    template_set_number(t, "EXTEND_BY_LENGTH", !carried && several);
    template_set_number(t, "BOUNDED", p->read_back < 0);
    template_set_number(t, "IDS_IN_ORDER", ids && linear);
    if (ids) {
        template_set(t, "IDS_OF_CALL_SEQUENCE", arena_printf(t->arena, "call.at.%s[0]", ids->member));
        template_set(t, "IDS_OF_CALL_ROW", arena_printf(t->arena, "call.at.%s[1]", ids->member));
    }
    template_set(t, "FINGERPRINT", arena_printf(t->arena, "UINT64_C(0x%016llx)", (unsigned long long)p->fingerprint));
    set_kept_arrays(t, p->arrays, p->of[STEP_PREPARE].count > 0, p->of[STEP_APPEND].count > 0);
    set_rows_of_queries(t, p->arrays);
}
