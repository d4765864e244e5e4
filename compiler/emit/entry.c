/* The entry points of an emitted file, and the description of its kernel. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

/* One workspace serves a sequence while it grows and shrinks, so what fewer keys take counts, too. */
static void max_bytes(const struct emitted_file *e, struct text *out)
{
    struct text from = {0};
    for (int k = 0; k < e->versions; k++) {
        bool before = e->version[k].from == 0;
        for (int n = 0; n < k; n++) before |= e->version[n].from == e->version[k].from;
        if (!before) text_add(&from, ", %lld", (long long)e->version[k].from);
    }
    text_add(out,
             "/* Of what runs for so many keys, or for fewer. */\nstatic size_t most_bytes_a_thread(int64_t n_k)\n{\n"
             "    static const int64_t from[] = {0%s};\n    size_t bytes = 0;\n"
             "    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {\n"
             "        const struct version v = version(from[k]);\n"
             "        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);\n    }\n    return bytes;\n}\n\n",
             from.data ? from.data : "");
    text_free(&from);
}

void emit_entry_points(const struct emitted_file *e, struct text *out)
{
    const struct compilation *c = e->c[0];
    const bool phases = emit_any_in_phases(e->c, e->compilations), lengths = emit_by_length(e->version, e->versions);
    const char *name = c->spec->name, *stored = emit_stored(c->spec->dtype);
    const struct graph *g = c->source;
    int params = emit_param_count(g);
    long long D = (long long)c->spec->head_dim, E = (long long)c->spec->value_dim;
    text_add(
        out,
        "/* ==== the interface ==== */\n"
        "/* OpenMP's default may change between the call of _workspace and that of _forward, or be another in the thread that makes it. So the workspace serves\n"
        "   at least as many threads as there are processors, and what it is not known to serve more than that is not run on more. */\n"
        "static size_t threads_served(const struct attn_problem *p)\n{\n    if (p->threads > 0) return (size_t)p->threads;\n"
        "#ifdef _OPENMP\n    return (size_t)most(omp_get_max_threads(), omp_get_num_procs());\n#else\n    return 1;\n#endif\n}\n\n"
        "static int thread_count(const struct attn_problem *p, size_t bytes_a_thread)\n{\n    if (p->threads > 0) return p->threads;\n"
        "#ifdef _OPENMP\n    const int64_t served = (int64_t)(p->workspace_bytes / bytes_a_thread);\n"
        "    return (int)least(omp_get_max_threads(), most(omp_get_num_procs(), served));\n#else\n    (void)bytes_a_thread;\n    return 1;\n#endif\n}\n\n");
    if (phases)
        text_add(out, "/* The part of thread `number` of `there` in what they do together, in the workspace of the `threads` that were asked for. */\n"
                      "static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace, struct part *part)\n{\n"
                      "    const size_t all = (size_t)threads;\n"
                      "    part->number = number;\n    part->threads = there;\n"
                      "    part->work = workspace + (size_t)number * v->own;\n"
                      "    part->shared = workspace + all * v->own;\n"
                      "    part->slots = part->shared + v->shared;\n"
                      "    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads * part->threads;\n}\n\n");
    const char *ids = phases ? emit_param_of_ids(g) : NULL;
    if (ids)
        text_add(out, "/* The state is carried from key to key, so keys of one id have to stand together: in each batch ids never fall. */\n"
                      "static int ids_fall(const int32_t *id, int64_t batch, int64_t n)\n{\n    for (int64_t b = 0; b < batch; b++, id += n)\n"
                      "        for (int64_t x = 1; x < n; x++)\n            if (id[x] < id[x - 1]) return 1;\n    return 0;\n}\n\n");
    emit_params_functions(c, out);
    if (lengths) max_bytes(e, out);
    text_add(out, "size_t %s_workspace(const struct attn_problem *problem)\n{\n    if (!problem) return 0;\n%sthreads_served(problem);\n}\n\n", name,
             lengths ? "    return most_bytes_a_thread(problem->n_k) * "
                     : "    const struct version this = version(problem->n_k);\n    return bytes_a_thread(&this) * ");
    text_add(
        out,
        "int %s_forward(const struct attn_problem *problem, const struct %s_params *params, const %s *q, const %s *k, const %s *v,\n    %s *out, void *workspace)\n{\n",
        name, name, stored, stored, stored, stored);
    text_add(out, "    if (!problem) return ATTN_EPOINTER;\n    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};\n");
    text_add(out, "    const int error = attn_problem_check(problem, %lld, %lld, &call.p);\n    if (error) return error;\n", D, E);
    text_add(out, "    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;\n");
    text_add(out, "    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;\n");
    if (params) {
        text_add(out, "    if (!params");
        for (int v = 0; v < g->values; v++)
            if (g->value[v].op == GRAPH_PARAM) text_add(out, " || !params->%s", emit_name(g->module->arena, g->value[v].name));
        text_add(out, ") return ATTN_EPARAM;\n");
    }
    text_add(out, "    if ((uintptr_t)workspace %% 64) return ATTN_EALIGN;\n");
    text_add(out,
             "    const struct version this = version(call.p.n_k);\n    if (%s) return ATTN_EMACHINE;\n"
             "    const size_t bytes = bytes_a_thread(&this), given = problem->workspace_bytes%s;\n"
             "    const int threads = thread_count(problem, %s);\n"
             "    if (given && given < %s * (size_t)threads) return ATTN_EWORKSPACE;\n"
             "    const int64_t heads = this.tile == 0 ? call.p.kv_heads : call.p.heads;\n"
             "%s",
             phases ? "!this.rows && !this.head" : "!this.rows", lengths ? ", most_bytes = most_bytes_a_thread(call.p.n_k)" : "",
             lengths ? "most_bytes" : "bytes", lengths ? "most_bytes" : "bytes",
             emit_any_apart(e->c, e->compilations)
                 ? "    const int64_t far = this.tile * this.apart; /* from the first query of a task to that of the next with the same remainder */\n"
                   "    const int64_t tasks = call.p.batch * heads * (far > 0 ? (call.p.n_q + far - 1) / far * this.apart : 1);\n"
                 : "    const int64_t tasks = call.p.batch * heads * (this.tile > 0 ? (call.p.n_q + this.tile - 1) / this.tile : 1);\n");
    if (ids) text_add(out, "    if (this.head && ids_fall(params->%s, call.p.batch, call.p.n_k)) return ATTN_EORDER;\n", emit_name(g->module->arena, ids));
    if (phases)
        text_add(out, "    int64_t alone = tasks; /* the heads after these are all threads' together */\n"
                      "    if (this.head && this.together) alone = this.together > 1 ? 0 : tasks / threads * threads;\n");
    text_add(out,
             "    int there = 0; /* threads number themselves: omp_get_thread_num may be of another OpenMP library than this region */\n"
             "#ifdef _OPENMP\n#pragma omp parallel num_threads(threads)\n#endif\n    {\n"
             "        int number;\n#ifdef _OPENMP\n#pragma omp atomic capture\n#endif\n        number = there++;\n"
             "        unsigned char *const work = (unsigned char *)workspace + (size_t)number * bytes;\n%s"
             "#ifdef _OPENMP\n#pragma omp for schedule(dynamic)\n#endif\n",
             phases
                 ? "        struct part part = {.threads = 1, .window = 1, .work = work, .shared = work + this.own, .slots = work + this.own + this.shared};\n"
                 : "");
    if (phases)
        text_add(out, "        for (int64_t task = 0; task < alone; task++) {\n            if (this.head)\n                this.head(&call, task, &part);\n"
                      "            else\n                this.rows(&call, task, work);\n        }\n"
                      "        if (alone < tasks) together(&this, threads, number, there, (unsigned char *)workspace, &part);\n"
                      "        for (int64_t task = alone; task < tasks; task++) this.head(&call, task, &part);\n");
    else
        text_add(out, "        for (int64_t task = 0; task < tasks; task++) this.rows(&call, task, work);\n");
    text_add(out, "    }\n    return 0;\n}\n\n");
    /* the description, with entry points that take any pointer; their names end in nothing that follows a spec's name */
    if (params) {
        text_add(out, "static const struct attn_param param[] = {\n");
        for (int v = 0; v < g->values; v++) {
            if (g->value[v].op != GRAPH_PARAM) continue;
            const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL};
            int rank = emit_param_shape(g, &g->value[v], shape, said);
            text_add(out, "    {\"%s\", %s, %d, {", g->value[v].name, g->value[v].integers ? "ATTN_I32" : emit_runtime_dtype(dtype_of_sums(c->spec->dtype)),
                     rank);
            for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? ", " : "", shape[k]);
            text_add(out, "}, offsetof(struct %s_params, %s), %d},\n", name, emit_name(g->module->arena, g->value[v].name),
                     g->value[v].origin != ORIGIN_LEARNED);
        }
        text_add(out, "};\n\n");
    }
    text_add(
        out,
        "static int params_init_any(void *params, uint64_t seed, void *storage)\n{\n    return %s_params_init((struct %s_params *)params, seed, storage);\n}\n\n",
        name, name);
    text_add(
        out,
        "static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v, void *out, void *workspace)\n{\n"
        "    return %s_forward(problem, (const struct %s_params *)params, (const %s *)q, (const %s *)k, (const %s *)v, (%s *)out, workspace);\n}\n\n",
        name, name, stored, stored, stored, stored);
    text_add(
        out,
        "const struct attn_kernel %s_kernel = {\n    .name = \"%s\", .version = \"%s\", .dtype = %s, .head_dim = %lld, .value_dim = %lld,\n"
        "    .params = %d, .param = %s, .params_bytes = sizeof(struct %s_params),\n    .params_size = %s_params_size, .params_init = params_init_any, .workspace = %s_workspace, .forward = forward_any,\n};\n",
        name, name, ATTNC_VERSION, emit_runtime_dtype(c->spec->dtype), D, E, params, params ? "param" : "NULL", name, name, name);
}
