/* This file prints NAME.h, the interface of an emitted file. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

/* ---- NAME.h ---- */

/* Prints the interface of backward. */
static void gradients(const struct emission *p, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *name = c->spec->name;
    emit_gradients_struct(p, out);
    text_add(out,
             "/* The bytes of problem->saved. Unless that is NULL, %s_forward fills it for %s_backward with the same "
             "arrays. Returns 0 if the sizes overflow. */\nsize_t %s_saved(const struct attn_problem *problem);\n",
             name, name, name);
    text_add(
        out,
        "/* Returns the bytes of workspace for %s_backward, aligned to 64. Put them into problem->workspace_bytes. "
        "Returns 0 for NULL, or if the sizes overflow. */\nsize_t %s_backward_workspace(const struct attn_problem "
        "*problem);\n",
        name, name);
    text_add(
        out,
        "/* Computes the gradients with respect to q, k and v from dout, the gradient with respect to out. A gradient "
        "that is "
        "NULL is not computed. "
        "With grouped heads dk and dv are sums over the group. Returns as forward does; the bits depend neither on "
        "the threads nor on which gradients are wanted. */\n");
    text_add(
        out,
        "int %s_backward(const struct attn_problem *problem, const struct %s_params *params, %s, struct %s_gradients "
        "*gradients, void *workspace);\n",
        name, name, emit_array_arguments(c->graph->module->arena, p->arrays, ENTRY_BACKWARD), name);
}

/* Returns the sentence of NAME.h about calls of extend that only store tokens, with NULL for q and out. */
static const char *without_rows(const struct emission *p)
{
    if (p->extends) return "";
    return p->attends
               ? " With q and out NULL the tokens are remembered, and no rows computed. Keys are stored prepared, "
                 "with the parameters of the call that they come in."
               : " With q and out NULL the tokens are remembered, and no rows computed.";
}

/* Prints the interface of a state. */
static void decoding(const struct emission *p, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *const name = c->spec->name;
    struct arena *const arena = c->graph->module->arena;
    const char *holds = p->read_back < 0 ? "keys and values of problem->capacity tokens a sequence"
                        : p->extends     ? "sums over the keys so far, and the last keys and values"
                        : p->read_first  ? "the first and the last keys and values"
                                         : "the last keys and values";
    if (p->read_back >= 0)
        holds = arena_printf(arena, "%s, of %lld tokens at most", holds,
                             (long long)emit_state_rows(p->read_first, p->read_back,
                                                        p->extends ? p->extend[0].c->state.chunk : 0, p->folds));
    text_add(out,
             "\n/* A state is one block of memory, aligned to 64, that remembers the tokens so far of problem->batch "
             "sequences:\n   %s. It may be moved and saved as its bytes are. problem->state_bytes, if not 0, is how "
             "many of them there are. All functions return a negative ATTN_E… for a state that is not this kernel's, "
             "not of this problem (batch, heads, kv_heads%s) or damaged. */\n",
             holds, p->read_back < 0 ? ", capacity" : "");
    text_add(out,
             "/* Returns the bytes of a state. Returns 0 if the problem is "
             "NULL or not valid. */\nsize_t %s_state(const struct attn_problem "
             "*problem);\n",
             name);
    text_add(out,
             "/* Initialises a state: every "
             "sequence is empty%s. */\nint %s_state_init(const struct attn_problem *problem, void *state);\n",
             p->folds
                 ? ", and its first token will be at position problem->start, a multiple of the tokens that sums take "
                   "in at a time; else ATTN_ELENGTH"
                 : "",
             name);
    text_add(out,
             "/* Returns the bytes of workspace for %s_extend, "
             "like %s_workspace. */\nsize_t %s_extend_workspace(const struct "
             "attn_problem *problem);\n",
             name, name, name);
    text_add(
        out,
        "/* Adds problem->n_q tokens to each sequence b, or problem->lengths[b] tokens (maybe 0; rows after these are "
        "neither read nor written): q and out have n_q rows, k and v as well, and n_k is not looked at. Their rows "
        "of out are causal attention over all tokens so far, which the state remembers then; what %s_forward gives "
        "for a whole sequence, whatever the calls it is cut into.%s%s Returns 0; ATTN_ESTATE; ATTN_ECAPACITY before "
        "anything has changed; or as forward does. */\n",
        name, without_rows(p),
        emit_param_of_ids(p->arrays) ? " Ids are [B, problem->capacity], of every position of each sequence." : "");
    text_add(out,
             "int %s_extend(const struct attn_problem *problem, const struct %s_params *params, %s, void *state, void "
             "*workspace);\n",
             name, name, emit_array_arguments(arena, p->arrays, ENTRY_FORWARD));
    text_add(out,
             "/* Returns the number of tokens of a sequence "
             "so far. */\nint64_t %s_state_length(const struct attn_problem *problem, "
             "const void *state, int64_t sequence);\n",
             name);
    text_add(out,
             "/* Returns the minimum length, other than 0, to which the sequence "
             "can be truncated. */\nint64_t %s_state_min_length(const "
             "struct attn_problem *problem, const void *state, int64_t sequence);\n",
             name);
    text_add(
        out,
        "/* Removes tokens from `length` on. Returns ATTN_ELENGTH if there are fewer, or if the state cannot go back "
        "so far. */\nint %s_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, "
        "int64_t length);\n",
        name);
    text_add(out,
             "/* Copies a sequence of the state `from` to a sequence of `to`. These "
             "are states of the same problem, or one state. */\nint "
             "%s_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from, "
             "int64_t from_sequence);\n",
             name);
    const char *folds = "Returns ATTN_EFOLD: this kernel's states cannot be joined";
    if (p->folds)
        folds = arena_printf(
            arena,
            "Each sequence of `left` becomes its tokens followed by those of the same sequence of `right`, which "
            "begins at "
            "position 0%s or, by problem->start of its %s_state_init, where that of `left` ends%s; else ATTN_ELENGTH. "
            "With "
            "%lld tokens or more that are not summed yet, ATTN_ECAPACITY. After an error nothing has changed",
            p->moves ? "" : " (while it has not summed any)", name,
            p->any_order ? "" : ", and that of `left` has no tokens that are not summed if `right` has summed any",
            (long long)emit_state_rows(0, 0, p->extend[0].c->state.chunk, true));
    text_add(out, "/* %s. */\nint %s_state_fold(const struct attn_problem *problem, void *left, const void *right);\n",
             folds, name);
}

void emit_header(const struct emission *p, const char *command, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *name = c->spec->name, *guard = arena_printf(c->graph->module->arena, "ATTNC_%s_H", name);
    text_add(out, "/* %s.h, made by attnc %s: %s\n", name, ATTNC_VERSION,
             emit_harmless(c->graph->module->arena, command));
    if (*c->spec->description) emit_comment(c->graph->module->arena, out, c->spec->description, 3);
    text_add(out, "   %s, %s. H is a multiple of G; query head h reads key/value head h / (H/G).\n",
             emit_array_shapes(c->graph->module->arena, p->arrays), dtype_name(c->spec->dtype));
    text_add(out, "   The last query is at the position of the last key. The result of a query that sees no key is 0.");
    if (c->spec->max_length)
        text_add(out, "\n   n_q and n_k are %lld at most, else it is ATTN_ELENGTH.", (long long)c->spec->max_length);
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
             name, emit_has_random(p->arrays) ? ", to be aligned to 64" : "", name);
    text_add(out, "/* Makes the random arrays in `storage`. Learned arrays become NULL, and the caller sets them. "
                  "Returns 0 or a negative ATTN_E… */\n");
    text_add(out, "int %s_params_init(struct %s_params *params, uint64_t seed, void *storage);\n", name, name);
    text_add(out,
             "/* Returns the bytes of workspace, aligned to 64, for a problem%s; they depend on the threads%s.\n"
             "   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward "
             "takes no\n"
             "   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and "
             "_forward\n"
             "   checks that they are enough. Returns 0 for NULL. */\n",
             emit_by_length(p->version, p->versions) ? " and every one with fewer keys" : "",
             emit_by_length(p->version, p->versions) ? "" : ", not on the lengths");
    text_add(out, "size_t %s_workspace(const struct attn_problem *problem);\n", name);
    text_add(out,
             "/* Returns 0 or a negative ATTN_E…; %s. Allocates nothing; the result does not depend on the number of "
             "threads. */\n",
             p->standalone ? "enum attn_error above says what each means" : "attn_strerror explains");
    text_add(
        out,
        "int %s_forward(const struct attn_problem *problem, const struct %s_params *params, %s, void *workspace);\n",
        name, name, emit_array_arguments(c->graph->module->arena, p->arrays, ENTRY_FORWARD));
    if (p->parts) gradients(p, out);
    if (p->spec->emit & EMIT_DECODE) decoding(p, out);
    text_add(out, "extern const struct attn_kernel %s_kernel;\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", name);
    emit_fold(out);
}
