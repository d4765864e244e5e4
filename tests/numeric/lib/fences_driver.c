/* Calls forward, backward and extend with arrays next to pages without access. If an access is outside an array,
   prints the call and the array. properties.py builds this file with -DKERNEL=NAME_kernel, without threads. traps.py
   builds it with -DTRAPS: then 0 / 0 ends the program. */
#include "attnrt.h"
#include "fences.h"

#ifdef TRAPS
#include <fenv.h>
#endif
#include <setjmp.h>
#include <signal.h>

extern const struct attn_kernel KERNEL;
static const struct attn_kernel *const kernel = &KERNEL;
enum { MAX_PARAMS = 32, MAX_ARRAYS = 16 + 2 * MAX_PARAMS, SAID = 12 };

/* The arrays of one call. */
struct arrays {
    struct block block[MAX_ARRAYS];
    const char *name[MAX_ARRAYS];
    int count;
    bool front;
    void *params, *gradient[MAX_PARAMS];
};
static struct arrays *now;
static sigjmp_buf outside;
static int failures;
static char call_name[160];

static void say(const char *what, const char *name)
{
    if (failures++ < SAID) printf("%s: %s%s\n", call_name, what, name);
}

/* This signal handler finds the array next to the faulting address. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const unsigned char *const at = info->si_addr;
    const char *name = "all arrays";
    (void)number;
    (void)context;
    for (int a = 0; a < now->count; a++)
        if (at >= now->block[a].map && at < now->block[a].map + now->block[a].mapped) name = now->name[a];
    say(now->front ? "reads or writes before " : "reads or writes after ", name);
    siglongjmp(outside, 1);
}

static void *array_new(struct arrays *a, const char *name, size_t bytes, size_t align)
{
    if (a->count == MAX_ARRAYS) abort();
    a->name[a->count] = name;
    a->block[a->count] = block_new(bytes, align, a->front);
    return a->block[a->count++].data;
}

static void *numbers_new(struct arrays *a, const char *name, int64_t count, enum attn_dtype dtype)
{
    const size_t size = attn_dtype_size(dtype);
    void *const made = array_new(a, name, (size_t)count * size, size);
    for (int64_t i = 0; i < count; i++) {
        const int64_t run = i / 29; /* ids ascend, and 29 keys share an id */
        store(made, (size_t)i, dtype == ATTN_I32 ? (double)run : 0.25 * number((uint64_t)a->count, (uint64_t)i), dtype);
    }
    return made;
}

static void params_new(struct arrays *a, const struct attn_problem *p, bool with_gradients)
{
    int learned = 0;
    a->params = array_new(a, "the struct of parameters", kernel->params_bytes, 8);
    memset(a->params, 0, kernel->params_bytes);
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const param = &kernel->param[k];
        int64_t shape[4], count = 1;
        attn_param_shape(param, p, shape);
        for (int r = 0; r < param->rank; r++) count *= shape[r];
        void *const made = numbers_new(a, param->name, count, param->dtype);
        memcpy((char *)a->params + param->offset, &made, sizeof made);
        if (with_gradients && attn_param_learned(param))
            a->gradient[learned++] = numbers_new(a, param->name, count, param->dtype);
    }
}

static void release(struct arrays *a)
{
    for (int k = 0; k < a->count; k++) {
        if (!block_whole(&a->block[k])) say("writes outside ", a->name[k]);
        block_free(&a->block[k]);
    }
}

static const void *params_of(const struct arrays *a)
{
    return kernel->params ? a->params : NULL;
}

static void judge(int error)
{
    if (error) say("returned ", attn_strerror(error));
}

static void name_call(const char *entry, const struct attn_problem *p, const char *more)
{
    snprintf(call_name, sizeof call_name, "%s, %lld queries, %lld keys, %lld heads on %lld, batch %lld%s", entry,
             (long long)p->n_q, (long long)p->n_k, (long long)p->heads, (long long)p->kv_heads, (long long)p->batch,
             more);
}

/* Makes an array with rows of `dim` elements, for each key if `of_keys`, otherwise for each query. */
static void *rows_new(struct arrays *a, const char *name, const struct attn_problem *p, bool of_keys, int64_t dim)
{
    const int64_t rows = of_keys ? p->kv_heads * p->n_k : p->heads * p->n_q;
    return numbers_new(a, name, p->batch * rows * dim, kernel->dtype);
}

static void forward_and_backward(struct attn_problem p, bool front, bool saves)
{
    const int64_t D = kernel->head_dim, E = kernel->value_dim;
    static struct arrays a;
    a = (struct arrays){.front = front};
    now = &a;
    void *const q = rows_new(&a, "q", &p, false, D), *const k = rows_new(&a, "k", &p, true, D),
                *const v = rows_new(&a, "v", &p, true, E), *const out = rows_new(&a, "out", &p, false, E);
    params_new(&a, &p, kernel->backward != NULL);
    p.workspace_bytes = kernel->workspace(&p);
    void *const workspace = array_new(&a, "the workspace", p.workspace_bytes, 64);
    if (saves) {
        p.saved_bytes = kernel->saved(&p);
        p.saved = array_new(&a, "saved", p.saved_bytes, 64);
    }
    if (!sigsetjmp(outside, 1)) {
        name_call("forward", &p, saves ? ", saves" : "");
        judge(kernel->forward(&p, params_of(&a), q, k, v, out, workspace));
        if (kernel->backward) {
            void *const dout = rows_new(&a, "dout", &p, false, E), *const dq = rows_new(&a, "dq", &p, false, D),
                        *const dk = rows_new(&a, "dk", &p, true, D), *const dv = rows_new(&a, "dv", &p, true, E);
            p.workspace_bytes = kernel->backward_workspace(&p);
            void *const work = array_new(&a, "the workspace of backward", p.workspace_bytes, 64);
            name_call("backward", &p, saves ? ", of what is saved" : "");
            judge(kernel->backward(&p, params_of(&a), q, k, v, out, dout, dq, dk, dv, a.gradient, work));
        }
    }
    release(&a);
}

/* If a parameter has rows of tokens, replaces it by an array with the rows of this call. */
static void params_of_tokens(struct arrays *a, const struct arrays *kept, const struct attn_problem *p)
{
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const param = &kernel->param[k];
        int64_t shape[4], count = 1;
        bool rows = false;
        attn_param_shape(param, p, shape);
        for (int r = 0; r < param->rank; r++) {
            count *= shape[r];
            rows |= param->shape[r] == ATTN_N_Q || param->shape[r] == ATTN_N_K;
        }
        if (!rows || param->dtype == ATTN_I32) continue;
        void *const made = numbers_new(a, param->name, count, param->dtype);
        memcpy((char *)kept->params + param->offset, &made, sizeof made);
    }
}

/* Extends a state in several calls. Call c appends tokens[c] tokens. If `ragged`, the last sequence gets fewer. */
static void extend(struct attn_problem p, bool front, const int64_t *tokens, int calls, bool ragged)
{
    static struct arrays kept, a;
    int64_t lengths[8], *given = NULL;
    kept = (struct arrays){.front = front};
    now = &kept;
    for (int c = 0; c < calls; c++) p.capacity += tokens[c];
    struct attn_problem whole = p;
    whole.n_k = whole.n_q = p.capacity;
    params_new(&kept, &whole, false);
    p.state_bytes = kernel->state(&p);
    p.workspace_bytes = kernel->extend_workspace(&p);
    void *const state = array_new(&kept, "the state", p.state_bytes, 64), *const workspace = array_new(
                                                                              &kept, "the workspace of extend",
                                                                              p.workspace_bytes, 64);
    name_call("state_init", &p, "");
    judge(kernel->state_init(&p, state));
    for (int c = 0; c < calls && !failures; c++) {
        a = (struct arrays){.front = front};
        p.n_q = p.n_k = tokens[c];
        void *const q = rows_new(&a, "q", &p, false, kernel->head_dim),
                    *const k = rows_new(&a, "k", &p, true, kernel->head_dim),
                    *const v = rows_new(&a, "v", &p, true, kernel->value_dim),
                    *const out = rows_new(&a, "out", &p, false, kernel->value_dim);
        params_of_tokens(&a, &kept, &p);
        if (ragged) {
            given = array_new(&a, "lengths", (size_t)p.batch * sizeof *lengths, 8);
            for (int64_t b = 0; b < p.batch; b++) given[b] = b + 1 < p.batch ? p.n_q : p.n_q / 2;
        }
        p.lengths = given;
        name_call("extend", &p, ragged ? ", ragged" : "");
        for (int n = 0; n < kept.count; n++) { /* arrays of all calls, so that a fault finds their names */
            if (a.count + kept.count > MAX_ARRAYS) abort();
            a.block[a.count + n] = kept.block[n];
            a.name[a.count + n] = kept.name[n];
        }
        const int own = a.count;
        a.count += kept.count;
        now = &a;
        if (!sigsetjmp(outside, 1)) judge(kernel->extend(&p, params_of(&kept), q, k, v, out, state, workspace));
        a.count = own;
        now = &kept;
        release(&a);
    }
    release(&kept);
}

int main(int count, char **argument)
{
    static const int64_t lengths[][2] = {{1, 1},   {7, 7},   {16, 16}, {32, 32}, {64, 64},
                                         {16, 97}, {1, 133}, {70, 3},  {0, 5},   {3, 0}};
    static const int64_t growing[] = {1, 7, 16, 32, 64, 13}, at_once[] = {32, 101};
    /* Each row is (query heads, key/value heads, sequences). The last row is only for kernels with separate loops
     * for many heads. */
    static const int64_t heads[][3] = {{4, 2, 3}, {1, 1, 1}, {33, 1, 1}};
    const int threads = count > 1 ? (int)strtol(argument[1], NULL, 10) : 1;
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, &action, NULL) || sigaction(SIGBUS, &action, NULL)) return 3;
#ifdef TRAPS
    feenableexcept(FE_INVALID | FE_DIVBYZERO); /* OpenMP's threads inherit this */
#endif
    for (int h = 0; h < (kernel->values_are_keys ? 3 : 2); h++)
        for (int front = 0; front < 2; front++) {
            struct attn_problem p = {
                .heads = heads[h][0], .kv_heads = heads[h][1], .batch = heads[h][2], .threads = threads};
            for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
                p.n_q = lengths[n][0];
                p.n_k = lengths[n][1];
                forward_and_backward(p, front, false);
                if (kernel->saved) forward_and_backward(p, front, true);
            }
            if (!kernel->extend) continue;
            p.n_q = p.n_k = 0;
            extend(p, front, growing, sizeof growing / sizeof *growing, false);
            extend(p, front, at_once, sizeof at_once / sizeof *at_once, false);
            if (h == 0) extend(p, front, at_once, sizeof at_once / sizeof *at_once, true);
        }
    return failures != 0;
}
