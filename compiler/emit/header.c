/* Prints NAME.h, the interface of a kernel. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

/* ---- NAME.h ---- */

/* Returns the next argument of the entry point, from array *from on, and advances *from. Returns NULL after the last
   argument. */
static const struct kernel_array *next_argument(const struct kernel_arrays *all, enum entry entry, int *from)
{
    for (; *from < all->count; ++*from)
        if (all->array[*from].place == PLACE_ARGUMENT && all->array[*from].access[entry] != ACCESS_NONE)
            return &all->array[(*from)++];
    return NULL;
}

const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry,
                                 bool appends)
{
    const struct kernel_array *before = NULL;
    const char *list = "";
    for (int k = 0; k < arrays->count;) {
        const struct kernel_array *const a = next_argument(arrays, entry, &k);
        if (!a) break;
        list = arena_printf(arena, "%s%s%s%s *%s", list,
                            !before                                     ? ""
                            : a->access[entry] != before->access[entry] ? ",\n    "
                                                                        : ", ",
                            a->access[entry] == ACCESS_READ ? "const " : "",
                            emit_stored(appends ? a->appended : a->dtype), a->member);
        before = a;
    }
    return list;
}

/* Returns the shapes of forward's arrays, such as "q [B,H,n_q,64]  …". */
static const char *array_shapes(struct arena *arena, const struct kernel_arrays *arrays)
{
    const struct kernel_array *a;
    const char *list = "";
    for (int k = 0; (a = next_argument(arrays, ENTRY_FORWARD, &k));)
        list = arena_printf(arena, "%s%s%s [%s]", list, *list ? "  " : "", a->name, array_shape_text(arena, a, ","));
    return list;
}

/* Prints the part of NAME.h about statistics. */
static void statistics(const struct emission *p, struct text *out)
{
    const struct kernel_array *const a = &p->arrays->array[kernel_array_find(p->arrays, "statistics")];
    const char *name = p->spec->name;
    const bool logarithms = spec_has_logarithms(p->spec);
    text_add(
        out,
        "/* Merges the results of %s_forward for two sets of keys that have no key in common (attn_merge in attnrt.h "
        "describes it).\n   Their statistics are at problem->statistics, %s [%s], which forward writes unless it is "
        "NULL: %sthe\n   denominator of each row; %s for a row that sees no key, or only keys of weight 0. Returns 0 "
        "or a negative ATTN_E… "
        "*/\n",
        name, emit_stored(a->dtype), array_shape_text(p->compilation[0]->graph->module->arena, a, ","),
        logarithms ? "the logarithm of " : "", logarithms ? "-INFINITY" : "0");
    text_add(
        out,
        "int %s_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, const void "
        "*right_out);\n",
        name);
}

/* Prints the declarations of backward and their comments. */
static void gradients(const struct emission *p, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *name = c->spec->name;
    emit_gradients_struct(p, out);
    text_add(out,
             "/* Returns the bytes of problem->saved, where %s_forward stores values for %s_backward.\n"
             "   Both calls must get the same arrays. If problem->saved is NULL, backward computes the values itself.\n"
             "   Returns 0 if the sizes overflow. */\nsize_t %s_saved(const struct attn_problem *problem);\n",
             name, name, name);
    text_add(out,
             "/* Returns the bytes of the workspace of %s_backward, which must be aligned to 64.\n"
             "   Put the number into problem->workspace_bytes. Returns 0 for NULL, or if the sizes overflow. */\n"
             "size_t %s_backward_workspace(const struct attn_problem *problem);\n",
             name, name);
    text_add(
        out,
        "/* Computes the gradients with respect to %s from dout, the gradient with respect to out.\n"
        "   Pass NULL for gradients that are not needed. With grouped heads, %s over the query heads of a group.\n%s"
        "   The bits of a gradient depend neither on the number of threads nor on the choice of the other gradients.\n"
        "   Returns 0 or an error, like forward. */\n",
        c->spec->values_are_keys ? "q and k" : "q, k and v",
        c->spec->values_are_keys ? "dk is a sum" : "dk and dv are sums",
        c->spec->values_are_keys ? "   dk is the gradient with respect to keys both as keys and as values.\n" : "");
    text_add(
        out,
        "int %s_backward(const struct attn_problem *problem, const struct %s_params *params, %s, struct %s_gradients "
        "*gradients, void *workspace);\n",
        name, name, emit_array_arguments(c->graph->module->arena, p->arrays, ENTRY_BACKWARD, false), name);
}

/* Returns a sentence for NAME.h about parameters with a row for each token, or "". */
static const char *rows_of_arrays(struct arena *arena, const struct kernel_arrays *arrays)
{
    const char *names = "";
    for (int k = 0; k < arrays->count; k++)
        if (arrays->array[k].place == PLACE_PARAMS && array_grows(&arrays->array[k]))
            names = arena_printf(arena, "%s%s%s", names, *names ? ", " : "", arrays->array[k].member);
    return *names ? arena_printf(arena, "   Arrays that have only the n_q rows of the new tokens: %s.\n", names) : "";
}

/* Returns the sentence for NAME.h about calls of extend with NULL for q and out. */
static const char *without_rows(const struct emission *p)
{
    return p->of[STEP_PREPARE].count
               ? "   If q and out are NULL, the call only adds the tokens to the state. Keys are stored after "
                 "normalisation, rotation or\n   the like, computed with the parameters of this call.\n"
               : "   If q and out are NULL, the call only adds the tokens to the state.\n";
}

int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds)
{
    enum { FEW = 256 };
    return first + read_back + (chunk ? chunk + (folds ? chunk : 0) : read_back > FEW ? read_back : FEW);
}

/* Prints the declarations for states and their comments. */
static void decoding(const struct emission *p, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *const name = c->spec->name;
    struct arena *const arena = c->graph->module->arena;
    /* Without prepared keys, a state stores values as parts of their keys. */
    const char *const rows = c->spec->values_are_keys && !p->of[STEP_PREPARE].count ? "keys" : "keys and values";
    const char *holds = p->read_back < 0 ? arena_printf(arena, "the %s%s of up to problem->capacity tokens", rows,
                                                        p->of[STEP_APPEND].count ? ", and the corrected values," : "")
                        : p->of[STEP_EXTEND].count
                            ? arena_printf(arena, "sums over the keys so far, and the %s of the last tokens", rows)
                        : p->read_first ? arena_printf(arena, "the %s of the first and the last tokens", rows)
                                        : arena_printf(arena, "the %s of the last tokens", rows);
    if (p->read_back >= 0)
        holds = arena_printf(arena, "%s (at most %lld tokens)", holds,
                             (long long)emit_state_rows(p->read_first, p->read_back,
                                                        p->of[STEP_EXTEND].count ? emission_extend(p)->state.chunk : 0,
                                                        p->folds));
    text_add(out,
             "\n/* A state is one block of memory, aligned to 64, for the tokens so far of problem->batch sequences.\n"
             "   For each sequence it stores\n   %s.\n"
             "   A state contains no addresses, so its bytes can be copied and saved.\n"
             "   If problem->state_bytes is not 0, it must be at least %s_state(problem).\n"
             "   All functions return a negative ATTN_E… if the state is damaged, of another kernel,\n"
             "   or of another problem (batch, heads, kv_heads%s). */\n",
             holds, name, p->read_back < 0 ? ", capacity" : ", rewind");
    text_add(out,
             "/* Returns the bytes of a state. Returns 0 if the problem is "
             "NULL or not valid. */\nsize_t %s_state(const struct attn_problem "
             "*problem);\n",
             name);
    text_add(out,
             "/* Initialises a state whose sequences are all empty. %s*/\n"
             "int %s_state_init(const struct attn_problem *problem, void *state);\n",
             p->folds || p->of[STEP_FOLDABLE].count
                 ? arena_printf(arena,
                                "The first token of each sequence will be at position\n"
                                "   problem->start, which must be a multiple of %lld, the number of tokens that the "
                                "kernel sums at a time.\n"
                                "   For other positions, returns ATTN_ELENGTH. ",
                                (long long)emission_extend(p)->state.chunk)
                 : "",
             name);
    text_add(out,
             "/* Returns the bytes of a page for problem->pages, or 0%s. */\n"
             "size_t %s_page(const struct attn_problem *problem);\n",
             p->paged ? " for an error" : ": this kernel's states cannot be in pages", name);
    text_add(out,
             "/* Returns the bytes of the workspace of %s_extend, "
             "like %s_workspace. */\nsize_t %s_extend_workspace(const struct "
             "attn_problem *problem);\n",
             name, name, name);
    text_add(
        out,
        "/* Appends problem->n_q tokens to each sequence, or problem->lengths[b] tokens to sequence b, which may be "
        "0.\n"
        "   %s and out have n_q rows. Rows after the first lengths[b] are neither read nor written. n_k is "
        "ignored.\n"
        "   A row of out is causal attention over all tokens of its sequence so far: the row that %s_forward\n"
        "   computes for the whole sequence, however the sequence is divided into calls. The state then contains the\n"
        "   new tokens.\n%s%s   Returns 0, ATTN_ESTATE, ATTN_ECAPACITY (the state is unchanged), or an error of "
        "forward. */\n",
        c->spec->values_are_keys ? "q, k" : "q, k, v", name, without_rows(p), rows_of_arrays(arena, p->arrays));
    text_add(out,
             "int %s_extend(const struct attn_problem *problem, const struct %s_params *params, %s, void *state, void "
             "*workspace);\n",
             name, name, emit_array_arguments(arena, p->arrays, ENTRY_FORWARD, true));
    text_add(out,
             "/* Returns the length of a sequence so far: the position of its next token. */\n"
             "int64_t %s_state_length(const struct attn_problem *problem, const void *state, int64_t sequence);\n",
             name);
    text_add(out,
             "/* Returns the minimum length to which the sequence can be truncated. It can always be emptied, too. */\n"
             "int64_t %s_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence);\n",
             name);
    text_add(
        out,
        "/* Truncates a sequence to `length`. Returns ATTN_ELENGTH if the sequence is shorter, or if `length` is "
        "below\n"
        "   %s_state_min_length and the result is not empty. It can always go back by problem->rewind tokens from the\n"
        "   longest that it has been; problem->rewind must be the same in all calls with a state. */\n"
        "int %s_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length);\n",
        name, name);
    text_add(
        out,
        "/* Copies a sequence of the state `from` over a sequence of the state `to`, which may be the same state.\n"
        "   Both states must be of this problem. */\n"
        "int %s_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from, "
        "int64_t from_sequence);\n",
        name);
    text_add(
        out,
        "/* Keeps `count` of the last call's tokens of a sequence: the tokens path[0] < path[1] < … of these, counted\n"
        "   from 0, at the positions after the earlier tokens. The others are removed.\n"
        "   Returns ATTN_ELENGTH if the path is not ascending or has other tokens, if the sequence cannot be truncated "
        "to\n   this length%s. */\n"
        "int %s_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path, "
        "int64_t count);\n",
        p->rows_move ? "" : ", or if the path is not 0, 1, 2, …: rows of this kernel's states belong to a position",
        name);
    const char *folds = "Returns ATTN_EFOLD: states of this kernel cannot be joined";
    if (p->folds || p->of[STEP_FOLDABLE].count)
        folds = arena_printf(
            arena,
            "Appends each sequence of `right` to the same sequence of `left`. After an error, both are unchanged.\n"
            "   The sequence of `right` must begin %s"
            "where the sequence of `left` ends (see %s_state_init).\n%s"
            "   Otherwise returns ATTN_ELENGTH. Returns ATTN_ECAPACITY if the sums would lack %lld or more tokens",
            !p->terms_move ? ""
            : p->moves     ? "at position 0,\n   or "
                           : "at position 0 and have no tokens in its sums,\n   or ",
            name,
            p->any_order ? "" : "   If its sums have tokens, the sums of `left` must have all tokens of `left`.\n",
            (long long)emit_state_rows(0, 0, emission_extend(p)->state.chunk, true));
    if (p->of[STEP_FOLDABLE].count)
        folds = arena_printf(arena, "%s.\n   Returns ATTN_EFOLD unless problem->foldable is set", folds);
    text_add(out, "/* %s. */\nint %s_state_fold(const struct attn_problem *problem, void *left, const void *right);\n",
             folds, name);
}

/* Describes the arguments that have another type than the result. */
static void storage(const struct emission *p, struct text *out)
{
    const struct spec *const spec = p->spec;
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        if (a->place != PLACE_ARGUMENT || a->access[ENTRY_FORWARD] != ACCESS_READ || a->dtype == spec->dtype) continue;
        text_add(out, "   %s is %s: a row has %lld bytes%s.\n", a->name, emit_runtime_dtype(a->dtype),
                 (long long)dtype_row_bytes(a->dtype, array_row_elements(a)),
                 dtype_is_packed(a->dtype) ? arena_printf(p->compilation[0]->graph->module->arena,
                                                          ", and strides of problem->%s are in bytes", a->name)
                                           : "");
    }
    if (spec_has_storage(spec))
        text_add(out, "   attn_store_row makes such rows%s.\n",
                 spec->emit & EMIT_DECODE ? "; _extend takes floats and stores such rows in the state" : "");
}

void emit_header(const struct emission *p, const char *command, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *name = c->spec->name, *guard = arena_printf(c->graph->module->arena, "ATTNC_%s_H", name);
    text_add(out, "/* %s.h, made by attnc %s: %s\n", name, ATTNC_VERSION,
             emit_harmless(c->graph->module->arena, command));
    if (*c->spec->description) emit_comment(c->graph->module->arena, out, c->spec->description, 3);
    text_add(out, "   %s, %s. H is a multiple of G; query head h reads key/value head h / (H/G).\n",
             array_shapes(c->graph->module->arena, p->arrays), dtype_name(c->spec->dtype));
    if (c->spec->values_are_keys)
        text_add(out,
                 "   A value is the first %lld elements of its key, so there is no v. problem->v and problem->dv are "
                 "ignored.\n",
                 (long long)c->spec->value_dim);
    storage(p, out);
    text_add(out, "   The last query is at the position of the last key. The result of a query that sees no key is 0.");
    if (c->spec->max_length)
        text_add(out, "\n   n_q and n_k are at most %lld; for more, functions return ATTN_ELENGTH.",
                 (long long)c->spec->max_length);
    text_add(out, " */\n");
    text_add(out, "#ifndef %s\n#define %s\n\n", guard, guard);
    if (p->standalone)
        standalone_types(out);
    else
        text_add(out, "#include <attnrt.h>\n");
    text_add(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    emit_params_struct(p, out);
    text_add(out,
             "\n/* Returns the bytes of `storage` that %s_params_init needs "
             "for the random arrays%s. */\nsize_t %s_params_size(void);\n",
             name, emit_has_random(p->arrays) ? ". It must be aligned to 64" : "", name);
    text_add(out, "/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them "
                  "before other calls.\n"
                  "   Returns 0 or a negative ATTN_E… */\n");
    text_add(out, "int %s_params_init(struct %s_params *params, uint64_t seed, void *storage);\n", name, name);
    text_add(
        out,
        "/* Returns the bytes of the workspace for a problem%s. It must be aligned to 64.\n"
        "   The number depends on problem->threads%s. With threads = 0 the workspace serves one thread\n"
        "   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,\n"
        "   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that "
        "_forward\n"
        "   can check it. Returns 0 for NULL. */\n",
        !emit_by_length(p->of[STEP_FORWARD].version, p->of[STEP_FORWARD].count) ? ""
        : p->of[STEP_TERMS].count ? ", and for all problems with fewer keys and no more queries than keys"
                                  : ", and for all problems with fewer keys",
        emit_by_length(p->of[STEP_FORWARD].version, p->of[STEP_FORWARD].count) ||
                p->of[STEP_TERMS].count + p->of[STEP_CORRECT].count
            ? ""
            : ", not on the lengths");
    text_add(out, "size_t %s_workspace(const struct attn_problem *problem);\n", name);
    text_add(out,
             "/* Computes out%s. Returns 0 or a negative ATTN_E… (see %s).\n"
             "   Allocates no memory. The result does not depend on the number of threads. */\n",
             p->spec->emit & EMIT_JVP ? ", the tangent of the output along the tangents in `params`" : "",
             p->standalone ? "enum attn_error" : "attn_strerror");
    text_add(
        out,
        "int %s_forward(const struct attn_problem *problem, const struct %s_params *params, %s, void *workspace);\n",
        name, name, emit_array_arguments(c->graph->module->arena, p->arrays, ENTRY_FORWARD, false));
    if (p->spec->emit & EMIT_STATISTICS) statistics(p, out);
    if (p->parts) gradients(p, out);
    if (p->spec->emit & EMIT_DECODE) decoding(p, out);
    text_add(out, "extern const struct attn_kernel %s_kernel;\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", name);
    emit_fold(out);
}
