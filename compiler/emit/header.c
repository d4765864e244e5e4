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

const char *emit_row_text(struct arena *arena, const char *text, const char *name, const char *arrays, bool any)
{
    static const char *const types[] = {"struct @_params", "struct @_gradients"};
    struct text made = {0};
    for (const char *c = text; *c;) {
        size_t type = 0;
        while (any && type < 2 && strncmp(c, types[type], strlen(types[type])) != 0) type++;
        const bool found = any && type < 2;
        if (found || *c == '@' || *c == '#')
            text_add(&made, "%s", found ? "void" : *c == '@' ? name : arrays);
        else
            text_append(&made, c, 1);
        c += found ? strlen(types[type]) : 1;
    }
    return text_take(&made, arena);
}

const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, const struct function_row *f)
{
    const enum entry entry = f->emit == EMIT_BACKWARD ? ENTRY_BACKWARD : ENTRY_FORWARD;
    const bool appends = f->emit == EMIT_DECODE;
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
                            dtype_c_type(appends ? a->appended : a->dtype), a->member);
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

/* Prints what a state has, for all functions of states. */
static void state(const struct emission *p, struct text *out)
{
    const struct compilation *c = p->compilation[0];
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
             holds, c->spec->name, p->read_back < 0 ? ", capacity" : ", rewind");
}

/* Returns what the comment of state_fold says. */
static const char *fold(const struct emission *p, struct arena *arena)
{
    if (!p->folds && !p->of[STEP_FOLDABLE].count) return "Returns ATTN_EFOLD: states of this kernel cannot be joined";
    const char *const folds = arena_printf(
        arena,
        "Appends each sequence of `right` to the same sequence of `left`. After an error, both are unchanged.\n"
        "   The sequence of `right` must begin %s"
        "where the sequence of `left` ends (see %s_state_init).\n%s"
        "   Otherwise returns ATTN_ELENGTH. Returns ATTN_ECAPACITY if the sums would lack %lld or more tokens",
        !p->terms_move ? ""
        : p->moves     ? "at position 0,\n   or "
                       : "at position 0 and have no tokens in its sums,\n   or ",
        p->spec->name,
        p->any_order ? "" : "   If its sums have tokens, the sums of `left` must have all tokens of `left`.\n",
        (long long)emit_state_rows(0, 0, emission_extend(p)->state.chunk, true));
    return p->of[STEP_FOLDABLE].count
               ? arena_printf(arena, "%s.\n   Returns ATTN_EFOLD unless problem->foldable is set", folds)
               : folds;
}

/* Prints the comment of a function that depends on the kernel. */
static void describe(const struct emission *p, enum kernel_function f, struct text *out)
{
    const struct spec *const spec = p->spec;
    const struct versions *const forward = &p->of[STEP_FORWARD];
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    const char *const name = spec->name;
    switch ((int)f) {
    case FUNCTION_params_size:
        text_add(out, "Returns the bytes of `storage` that %s_params_init needs for the random arrays%s.", name,
                 emit_has_random(p->arrays) ? ". It must be aligned to 64" : "");
        break;
    case FUNCTION_workspace:
        text_add(
            out,
            "Returns the bytes of the workspace for a problem%s. It must be aligned to 64.\n"
            "   The number depends on problem->threads%s. With threads = 0 the workspace serves one thread\n"
            "   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,\n"
            "   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that "
            "_forward\n"
            "   can check it. Returns 0 for NULL.",
            !emit_by_length(forward->version, forward->count) ? ""
            : p->of[STEP_TERMS].count ? ", and for all problems with fewer keys and no more queries than keys"
                                      : ", and for all problems with fewer keys",
            emit_by_length(forward->version, forward->count) || p->of[STEP_TERMS].count + p->of[STEP_CORRECT].count
                ? ""
                : ", not on the lengths");
        break;
    case FUNCTION_forward:
        text_add(out,
                 "Computes out%s. Returns 0 or a negative ATTN_E… (see %s).\n%s"
                 "   Allocates no memory. The result does not depend on the number of threads.",
                 spec->emit & EMIT_JVP ? ", the tangent of the output along the tangents in `params`" : "",
                 p->standalone ? "enum attn_error" : "attn_strerror",
                 spec->emit & EMIT_WEIGHTS ? "   If problem->weights is not NULL, also writes the weights there.\n"
                                           : "");
        break;
    case FUNCTION_merge: {
        const struct kernel_array *const a = &p->arrays->array[kernel_array_find(p->arrays, "statistics")];
        const bool logarithms = spec_has_logarithms(spec);
        text_add(out,
                 "Merges the results of %s_forward for two sets of keys that have no key in common (attn_merge in "
                 "attnrt.h describes it).\n   Their statistics are at problem->statistics, %s [%s], which forward "
                 "writes unless it is NULL: %sthe\n   denominator of each row; %s for a row that sees no key, or only "
                 "keys of weight 0. Returns 0 or a negative ATTN_E…",
                 name, dtype_c_type(a->dtype), array_shape_text(arena, a, ","), logarithms ? "the logarithm of " : "",
                 logarithms ? "-INFINITY" : "0");
        break;
    }
    case FUNCTION_backward:
        text_add(
            out,
            "Computes the gradients with respect to %s from dout, the gradient with respect to out.\n"
            "   Pass NULL for gradients that are not needed. With grouped heads, %s over the query heads of a group.\n"
            "%s   The bits of a gradient depend neither on the number of threads nor on the choice of the other "
            "gradients.\n   Returns 0 or an error, like forward.",
            spec->values_are_keys ? "q and k" : "q, k and v",
            spec->values_are_keys ? "dk is a sum" : "dk and dv are sums",
            spec->values_are_keys ? "   dk is the gradient with respect to keys both as keys and as values.\n" : "");
        break;
    case FUNCTION_state_init:
        text_add(out, "Initialises a state whose sequences are all empty.");
        if (p->folds || p->of[STEP_FOLDABLE].count)
            text_add(out,
                     " The first token of each sequence will be at position\n"
                     "   problem->start, which must be a multiple of %lld, the number of tokens that the kernel sums "
                     "at a time.\n   For other positions, returns ATTN_ELENGTH.",
                     (long long)emission_extend(p)->state.chunk);
        break;
    case FUNCTION_page:
        text_add(out, "Returns the bytes of a page for problem->pages, or 0%s.",
                 p->paged ? " for an error" : ": this kernel's states cannot be in pages");
        break;
    case FUNCTION_extend:
        text_add(
            out,
            "Appends problem->n_q tokens to each sequence, or problem->lengths[b] tokens to sequence b, which may be "
            "0.\n"
            "   %s and out have n_q rows. Rows after the first lengths[b] are neither read nor written. n_k is "
            "ignored.\n"
            "   A row of out is causal attention over all tokens of its sequence so far: the row that %s_forward\n"
            "   computes for the whole sequence, however the sequence is divided into calls. The state then contains "
            "the\n"
            "   new tokens.\n%s%s   Returns 0, ATTN_ESTATE, ATTN_ECAPACITY (the state is unchanged), or an error of "
            "forward.",
            spec->values_are_keys ? "q, k" : "q, k, v", name, without_rows(p), rows_of_arrays(arena, p->arrays));
        break;
    case FUNCTION_state_keep:
        text_add(out,
                 "Keeps `count` of the last call's tokens of a sequence: the tokens path[0] < path[1] < … of these, "
                 "counted\n"
                 "   from 0, at the positions after the earlier tokens. The others are removed.\n"
                 "   Returns ATTN_ELENGTH if the path is not ascending or has other tokens, if the sequence cannot be "
                 "truncated to\n   this length%s.",
                 p->rows_move
                     ? ""
                     : ", or if the path is not 0, 1, 2, …: rows of this kernel's states belong to a position");
        break;
    case FUNCTION_state_fold: text_add(out, "%s.", fold(p, arena)); break;
    default: break;
    }
}

/* Prints the declarations of the kernel's functions and their comments. */
static void functions(const struct emission *p, struct text *out)
{
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    const char *const name = p->spec->name;
    for (const struct function_row *f = NULL; emission_next_function(p, &f);) {
        const enum kernel_function which = (enum kernel_function)(f - function_table);
        const char *const arrays = strchr(f->parameters, '#') ? emit_array_arguments(arena, p->arrays, f) : "";
        if (which == FUNCTION_saved) emit_gradients_struct(p, out);
        if (which == FUNCTION_state) state(p, out);
        text_add(out, "/* ");
        if (f->says)
            text_add(out, "%s", emit_row_text(arena, f->says, name, "", false));
        else
            describe(p, which, out);
        text_add(out, " */\n%s %s_%s(%s);\n", f->type, name, f->suffix,
                 emit_row_text(arena, f->parameters, name, arrays, false));
    }
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
    text_add(out, "\n");
    functions(p, out);
    text_add(out, "extern const struct attn_kernel %s_kernel;\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", name);
    emit_fold(out);
}
