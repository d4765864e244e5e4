/* attnc bench --decode appends tokens one by one to a sequence. This file counts the tokens of a call and the bytes
   of each step. */
#include "request.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../host/host.h"

/* Returns the linear form for decoding on this machine, whose state has sums. Returns NULL if the state has keys
   and values. */
static const struct compilation *carried(const struct unit *p)
{
    const struct version *const v = versions_find(&p->kernel.of[STEP_EXTEND], unit_target_here(p), 0);
    return v ? v->c : NULL;
}

int64_t decode_tokens(const struct unit *p)
{
    const struct compilation *sums = carried(p);
    if (sums && sums->state.chunk > 0) return sums->state.chunk;
    return p->kernel.read_back < 0 ? DECODE_TOKENS : DECODE_TOKENS_OF_WINDOW;
}

/* Returns the bytes of all parameters that have no element per position. */
static double param_bytes(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    double bytes = 0;
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *param = &kernel->param[k];
        bool constant = true;
        for (int d = 0; d < param->rank; d++) constant &= param->shape[d] != ATTN_N_K;
        if (constant) bytes += call_param_bytes(param, problem);
    }
    return bytes;
}

/* Counts the bytes of a step in the linear form. A step reads
   - all sums,
   - the keys and values of the last read_back tokens,
   - the keys and values of the unfinished chunk, on average (chunk + 1) / 2 tokens. */
static void count_sums(const struct unit *p, const struct compilation *c, const struct problem_size *size,
                       struct bench_result *result)
{
    const double heads = (double)(size->kv_heads * size->members),
                 tasks = emit_tasks_over(c->loops, SIZE_MEMBERS) ? heads : (double)size->kv_heads;
    const struct call_parts run = {c, &c, 1};
    result->form = "linear";
    result->unit = parts_unit(&run, &result->on_units);
    result->counts.exact = true;
    result->read = (double)size->batch *
                   (tasks * (double)c->loops->kept +
                    (double)size->kv_heads * ((double)p->kernel.read_back + (double)(c->state.chunk + 1) / 2) *
                        (double)spec_pair_bytes(p->spec));
    result->roofline.work = (double)size->batch * heads * linear_cost(c);
    result->reach = (double)size->n_k * heads * linear_cost(c);
}

/* Counts the keys and values that a step of the quadratic form reads. */
static void count_keys(const struct bench *b, const struct unit *p, const struct problem_size *size, int threads,
                       struct bench_result *result)
{
    const struct target *target = unit_target_here(p);
    const struct call_parts run = unit_forward(p, target, size, true), lists = {run.whole, run.part, run.parts - 1};
    struct counts counts;
    struct roofline roofline;
    count_parts(&lists, size, b->request.document, threads, machine_cache(), &counts, &roofline);
    count_parts(&run, size, b->request.document, threads, machine_cache(), &result->counts, &result->roofline);
    result->form = compilation_form(run.part[run.parts - 1]);
    result->unit = parts_unit(&run, &result->on_units);
    result->read = counts.bytes + result->counts.visited / (double)size->members * (double)spec_pair_bytes(p->spec);
    result->reach = 0;
}

void decode_count(const struct bench *b, int entry, const struct bench_point *at, const struct call *call,
                  struct bench_result *result)
{
    const struct unit *const p = b->unit[entry];
    const struct compilation *const sums = carried(p);
    const struct problem_size size = {b->request.batch, at->heads.kv_heads, at->heads.heads / at->heads.kv_heads, 1,
                                      at->length + (call->tokens + 1) / 2};
    result->tokens = call->tokens;
    result->state = call->problem.state_bytes;
    if (sums)
        count_sums(p, sums, &size, result);
    else
        count_keys(b, p, &size, at->threads, result);
    result->read += param_bytes(call->kernel, &call->problem) +
                    (double)(size.batch * at->heads.heads * p->spec->head_dim * dtype_bytes(p->spec->dtype));
    result->roofline.bytes = (double)result->state <= (double)machine_cache() ? 0 : result->read;
}
