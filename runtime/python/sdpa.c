/* PyTorch's fused scaled_dot_product_attention for CPUs and its gradient (the operators
   aten::_scaled_dot_product_flash_attention_for_cpu and its _backward), with kernels of attnc. _sdpa.py is their other
   part.

   PyTorch calls an operator with a stack of 64-bit values: handles of tensors, which the operator owns, integers, and
   bits of doubles. An optional value is the address of such a value, or 0. The functions of PyTorch's stable C
   interface (torch/csrc/inductor/aoti_torch/c/shim.h) come as a table of pointers, so one library serves all versions.
 */
#include "tensors.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct handle *handle; /* AtenTensorHandle */
typedef uint64_t value;        /* StableIValue */

/* Functions of PyTorch: result, name, arguments. Those that return int return 0 for success. The two whose names begin
   with torch_exception and torch_delete are NULL in older versions. */
#define TORCH(F) \
    F(int, aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu, \
      (handle, handle, handle, double, int32_t, handle *, double *, handle *, handle *)) \
    F(int, aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward, \
      (handle, handle, handle, handle, handle, handle, double, int32_t, handle *, double *, handle *, handle *, \
       handle *)) \
    F(int, aoti_torch_delete_tensor_object, (handle)) \
    F(int, aoti_torch_is_defined, (handle, bool *)) \
    F(int, aoti_torch_get_data_ptr, (handle, void **)) \
    F(int, aoti_torch_get_dim, (handle, int64_t *)) \
    F(int, aoti_torch_get_sizes, (handle, const int64_t **)) \
    F(int, aoti_torch_get_strides, (handle, const int64_t **)) \
    F(int, aoti_torch_get_dtype, (handle, int32_t *)) \
    F(int, aoti_torch_empty_strided, (int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, handle *)) \
    F(int, aoti_torch_copy_, (handle, handle, int32_t)) \
    F(int, torch_get_num_threads, (uint32_t *)) \
    F(const char *, torch_exception_get_what_without_backtrace, (void)) \
    F(int, torch_delete_stable_ivalue, (value *)) \
    F(void, aoti_torch_check, (bool, const char *, const char *, uint32_t, const char *)) \
    F(int, aoti_torch_library_init_impl, (const char *, const char *, const char *, uint32_t, void **)) \
    F(int, aoti_torch_library_impl, (void *, const char *, void (*)(value *, uint64_t, uint64_t))) \
    F(int, aoti_torch_delete_library_object, (void *))

static struct torch {
    TORCH(MEMBER)
} torch;
EXPORTED struct torch *const attnc_torch = &torch;
EXPORTED const char attnc_torch_names[] = TORCH(NAME);

EXPORTED int64_t attnc_sdpa_work;             /* PyTorch computes calls with fewer multiply-adds of q and k */
EXPORTED _Atomic int64_t attnc_sdpa_calls;    /* the number of calls that kernels of attnc computed */
EXPORTED _Atomic bool attnc_sdpa_in_parallel; /* there has been a ContextParallel */

enum { FLOAT16 = 5, FLOAT32 = 6, FLOAT64 = 7, BFLOAT16 = 15 }; /* numbers of dtypes in PyTorch */

/* ---- tensors */

struct seen {
    handle of;
    void *data;
    const int64_t *shape, *strides;
    int64_t axes;
    int32_t type;
};

/* Looks at tensors. Returns false if one of them has another number of axes. */
static bool look(struct seen *made, const handle *tensors, int count, int64_t axes)
{
    for (int k = 0; k < count; k++) {
        struct seen *const one = &made[k];
        one->of = tensors[k];
        if (torch.aoti_torch_get_dim(one->of, &one->axes) != 0 || one->axes != axes ||
            torch.aoti_torch_get_data_ptr(one->of, &one->data) != 0 ||
            torch.aoti_torch_get_sizes(one->of, &one->shape) != 0 ||
            torch.aoti_torch_get_strides(one->of, &one->strides) != 0 ||
            torch.aoti_torch_get_dtype(one->of, &one->type) != 0)
            return false;
    }
    return true;
}

/* Returns a new tensor, or NULL. */
static handle empty(struct seen *made, const int64_t *shape, const int64_t *strides, int64_t axes, int32_t type)
{
    handle one = NULL;
    if (torch.aoti_torch_empty_strided(axes, shape, strides, type, 0, -1, &one) != 0) return NULL;
    return look(made, &one, 1, axes) ? one : NULL;
}

/* Returns a new tensor like torch.empty_like: its axes are in the same order in memory. It is contiguous if elements of
   `of` share memory. */
static handle empty_like(struct seen *made, const struct seen *of)
{
    int order[MAX_AXES] = {0, 1, 2, 3};
    int64_t strides[MAX_AXES], elements = 1;
    bool shares = false;
    for (int k = 0; k < MAX_AXES; k++) shares |= of->strides[k] == 0 && of->shape[k] > 1;
    for (int k = 1; k < MAX_AXES && !shares; k++)
        for (int j = k; j > 0 && of->strides[order[j - 1]] < of->strides[order[j]]; j--) {
            const int other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
        }
    for (int k = MAX_AXES; k-- > 0; elements *= of->shape[order[k]]) strides[order[k]] = elements;
    return empty(made, of->shape, strides, MAX_AXES, of->type);
}

/* Returns a new tensor [B, H, n, …] whose rows are in memory as [B, n, H, …], like results of PyTorch's operators. */
static handle empty_with_heads_inside(struct seen *made, const int64_t *shape, int64_t axes, int32_t type)
{
    const int64_t columns = axes == MAX_AXES ? shape[3] : 1;
    const int64_t strides[MAX_AXES] = {shape[1] * shape[2] * columns, columns, shape[1] * columns, 1};
    return empty(made, shape, strides, axes, type);
}

static void delete(const handle *tensors, int count)
{
    for (int k = 0; k < count; k++)
        if (tensors[k] != NULL) torch.aoti_torch_delete_tensor_object(tensors[k]);
}

/* Sets the strides of a problem. Returns false if a kernel cannot use the tensor in place. */
static bool place(struct attn_strides *made, const struct seen *of)
{
    *made = strides_of_rows(of->shape, of->strides);
    return has_rows_in_place(of->shape, of->strides);
}

/* ---- kernels */

enum mask { NO_MASK, CAUSAL, CAUSAL_FROM_FIRST }; /* the last one: query i sees keys 0 to i, and n_q differs from n_k */

/* The kernel for some calls. _Chosen in _sdpa.py has the same members. If `scaled`, the kernel's only parameter is the
   scale, a number given with each call. Otherwise the scale is 1 / sqrt(head_dim). */
struct chosen {
    int64_t head_dim;
    int32_t type, mask, scaled;
    const struct attn_kernel *kernel; /* NULL: PyTorch computes these calls */
    const struct attn_team *team;
    char error[512];
};

enum { MAX_CHOSEN = 256 };
static struct {
    pthread_mutex_t lock;
    struct chosen *one[MAX_CHOSEN]; /* the kernels. None is removed, because another thread may use it */
    unsigned count;
    unsigned process; /* that of the first attnc_sdpa_replace() */
    void *library;
    object *choose, *refuse; /* functions of Python (attnc_sdpa_replace) */
} used = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Raises an exception in the main thread again, and owns it. */
static int raise_again(void *exception)
{
    object *const one = exception, *const type = py.PyObject_Type(one);
    py.PyErr_SetObject(type, one);
    release(type);
    release(one);
    return -1;
}

/* Calls a function of Python that writes to a struct chosen. An operator can raise no exception of Python. So one that
   must not be lost, such as KeyboardInterrupt, is raised as soon as the main thread is in Python again. */
static void ask(object *function, struct chosen *made)
{
    const int state = py.PyGILState_Ensure();
    object *const address = py.PyLong_FromVoidPtr(made);
    object *const answer = address == NULL ? NULL : py.PyObject_CallFunctionObjArgs(function, address, NULL);
    if (answer == NULL) {
        object *type, *exception, *trace;
        py.PyErr_Fetch(&type, &exception, &trace);
        py.PyErr_NormalizeException(&type, &exception, &trace);
        if (exception == NULL || py.Py_AddPendingCall(raise_again, exception) != 0) {
            release(exception);
            strcpy(made->error, "attnc: an exception of Python could not be raised");
        }
        release(type);
        release(trace);
    }
    release(answer);
    release(address);
    py.PyGILState_Release(state);
}

/* A call of an operator. Its first tensors are q, k and v. Then come out, dout and the logarithms of rows' denominators
   for the gradient. */
struct operation {
    int count; /* 3 or 6 */
    struct seen tensors[6];
    double dropout, scale;
    bool is_causal, has_mask, has_scale;
    handle results[3];
    char error[sizeof((struct chosen *)NULL)->error];
};
enum { LOGARITHMS = 5 };
enum { FEW = 16 }; /* kernels that save values are slower than PyTorch for fewer queries */

static bool serves(const struct chosen *one, const struct chosen *wanted)
{
    return one->head_dim == wanted->head_dim && one->type == wanted->type && one->mask == wanted->mask &&
           one->scaled == wanted->scaled;
}

/* Returns the kernel for calls like `wanted`, or NULL if PyTorch has to compute them. Python makes it for the first. */
static const struct chosen *kernel_for(const struct chosen *wanted, char *error)
{
    const struct chosen *made = NULL;
    pthread_mutex_lock(&used.lock);
    for (unsigned k = 0; k < used.count && made == NULL; k++)
        if (serves(used.one[k], wanted)) made = used.one[k];
    const bool is_full = used.count == MAX_CHOSEN;
    pthread_mutex_unlock(&used.lock);
    struct chosen *const asked = made != NULL || is_full ? NULL : malloc(sizeof *asked);
    if (asked != NULL) {
        *asked = *wanted;
        ask(used.choose, asked);
        pthread_mutex_lock(&used.lock);
        const bool keeps = asked->kernel != NULL && used.count < MAX_CHOSEN;
        if (keeps) used.one[used.count++] = asked;
        pthread_mutex_unlock(&used.lock);
        if (keeps)
            made = asked;
        else {
            strcpy(error, asked->error);
            free(asked);
        }
    }
    return made;
}

/* Returns true if a scale is that of calls without one, in the numbers that a kernel for this type computes with. */
static bool is_usual(double scale, int64_t head_dim, int32_t type)
{
    const double usual = 1 / sqrt((double)head_dim);
    return type == FLOAT64 ? scale == usual : (float)scale == (float)usual;
}

/* Returns the kernel for a call and sets its problem. Returns NULL if PyTorch has to compute the call: with a mask or
   dropout, arrays that a kernel cannot use in place, or little work. */
static const struct chosen *kernel_of(struct operation *call, struct attn_problem *problem)
{
    const struct seen *const q = &call->tensors[0], *const k = &call->tensors[1], *const v = &call->tensors[2];
    const int64_t *const rows = q->shape, *const keys = k->shape;
    if (call->dropout != 0 || call->has_mask || !isfinite((float)call->scale)) return NULL;
    if (q->type != FLOAT32 && q->type != BFLOAT16 && q->type != FLOAT16 && q->type != FLOAT64) return NULL;
    if (k->type != q->type || v->type != q->type || keys[0] != rows[0] || keys[3] != rows[3] || keys[1] < 1 ||
        rows[1] % keys[1] != 0 || memcmp(keys, v->shape, MAX_AXES * sizeof *keys) != 0)
        return NULL;
    const int64_t work = rows[0] * rows[1] * rows[2] * keys[2] * rows[3];
    if (work == 0 || work < attnc_sdpa_work) return NULL;
    *problem = (struct attn_problem){
        .batch = rows[0], .heads = rows[1], .kv_heads = keys[1], .n_q = rows[2], .n_k = keys[2]};
    if (!place(&problem->q, q) || !place(&problem->k, k) || !place(&problem->v, v)) return NULL;
    const struct chosen wanted = {
        .head_dim = rows[3],
        .type = q->type,
        .mask = !call->is_causal     ? NO_MASK
                : rows[2] == keys[2] ? CAUSAL
                                     : CAUSAL_FROM_FIRST,
        .scaled = call->has_scale && !is_usual(call->scale, rows[3], q->type),
    };
    const struct chosen *const made = kernel_for(&wanted, call->error);
    if (made == NULL) return NULL;
    problem->team = made->team;
    /* GNU's OpenMP hangs with several threads in a child of a process with threads. */
    uint32_t threads = 1;
    if (used.process == process_number()) torch.torch_get_num_threads(&threads);
    problem->threads = (int)threads;
    return made;
}

/* ---- memory of a thread */

static pthread_key_t rooms; /* the memory begins with its number of bytes, and ends with the thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
    pthread_key_create(&rooms, free);
}

/* Returns memory of this thread, aligned to 64 bytes, or NULL. The next call may free it. */
static void *memory_of(size_t bytes)
{
    size_t *room = pthread_getspecific(rooms);
    if (room == NULL || *room < bytes) {
        free(room);
        bytes += -bytes & 63;
        room = aligned_alloc(64, 64 + bytes);
        if (pthread_setspecific(rooms, room) != 0) {
            free(room);
            room = NULL;
        }
        if (room == NULL) return NULL;
        *room = bytes;
    }
    return (char *)room + 64;
}

/* ---- calls */

/* Copies between the logarithms of rows' denominators: natural ones in PyTorch's tensor [B, H, n], and those to base 2
   in `saved` of a kernel, [B, H, n]. */
static void convert(const struct seen *natural, void *saved, bool to_natural)
{
    static const double log_2 = 0.69314718055994530942;
    const double factor = to_natural ? log_2 : 1 / log_2;
    const int64_t *const shape = natural->shape, *const strides = natural->strides;
    for (int64_t k = 0, row = 0; k < shape[0] * shape[1]; k++) {
        int64_t at = k / shape[1] * strides[0] + k % shape[1] * strides[1];
        for (int64_t i = 0; i < shape[2]; i++, row++, at += strides[2]) {
            if (natural->type == FLOAT64) {
                double *const one = (double *)natural->data + at, *const other = (double *)saved + row;
                *(to_natural ? one : other) = factor * *(to_natural ? other : one);
            } else {
                float *const one = (float *)natural->data + at, *const other = (float *)saved + row;
                *(to_natural ? one : other) = (float)factor * *(to_natural ? other : one);
            }
        }
    }
}

/* Returns the workspace of a problem, and sets its size and the place of `saved` bytes of saved values. Returns NULL
   without memory. */
static void *prepare(struct attn_problem *problem, size_t workspace, size_t saved)
{
    problem->workspace_bytes = workspace;
    workspace += -workspace & 63;
    char *const memory = memory_of(workspace + saved);
    if (saved > 0 && memory != NULL) {
        problem->saved = memory + workspace;
        problem->saved_bytes = saved;
    }
    return memory;
}

enum { MAX_PARAMS_BYTES = 64 };

/* The parameters of a kernel for calls with a scale. */
struct scale {
    union {
        float real;
        double wide;
    } number;
    union {
        char bytes[MAX_PARAMS_BYTES];
        const void *aligned;
    } params;
};

/* Returns the parameters of a call, NULL if the kernel has none. */
static const void *parameters_of(const struct operation *call, const struct attn_kernel *kernel, struct scale *made)
{
    if (kernel->params == 0) return NULL;
    const void *const at = &made->number;
    memset(&made->params, 0, sizeof made->params);
    if (call->tensors[0].type == FLOAT64)
        made->number.wide = call->scale;
    else
        made->number.real = (float)call->scale;
    memcpy(made->params.bytes + kernel->param[0].offset, &at, sizeof at);
    return made->params.bytes;
}

/* Computes the result and the logarithms of rows' denominators. Returns false if PyTorch has to do it. */
static bool attend(struct operation *call)
{
    struct attn_problem problem;
    struct scale scale;
    struct seen results[2];
    const struct seen *const q = &call->tensors[0];
    const struct chosen *const one = kernel_of(call, &problem);
    if (one == NULL) return false;
    const struct attn_kernel *const kernel = one->kernel;
    const bool saves = kernel->merge == NULL; /* Without statistics, saved values have the logarithms. */
    if (saves && q->shape[2] < FEW) return false;
    call->results[0] = empty_like(&results[0], q);
    call->results[1] = empty_with_heads_inside(&results[1], q->shape, 3, q->type == FLOAT64 ? FLOAT64 : FLOAT32);
    if (call->results[0] == NULL || call->results[1] == NULL || !place(&problem.out, &results[0])) return false;
    const int64_t *const strides = results[1].strides;
    if (!saves) {
        problem.statistics = results[1].data;
        problem.statistics_at = (struct attn_strides){strides[0], strides[1], strides[2]};
    }
    void *const room = prepare(&problem, kernel->workspace(&problem), saves ? kernel->saved(&problem) : 0);
    if (room == NULL || kernel->forward(&problem, parameters_of(call, kernel, &scale), q->data, call->tensors[1].data,
                                        call->tensors[2].data, results[0].data, room) != 0)
        return false;
    if (saves) convert(&results[1], problem.saved, true);
    return true;
}

/* Computes the gradients of q, k and v. Returns false if PyTorch has to do it. */
static bool differentiate(struct operation *call)
{
    struct attn_problem problem;
    struct scale scale;
    struct seen gradients[3];
    void *none[1] = {NULL}; /* no gradient of the scale */
    const struct seen *const q = &call->tensors[0], *const k = &call->tensors[1], *const v = &call->tensors[2],
                             *const out = &call->tensors[3], *const logarithms = &call->tensors[LOGARITHMS];
    struct seen *const dout = &call->tensors[4];
    /* For one query, PyTorch is faster. */
    const bool is_wide = q->type == FLOAT32 || q->type == FLOAT64;
    const struct chosen *const one = is_wide && q->shape[2] == 1 ? NULL : kernel_of(call, &problem);
    if (one == NULL || logarithms->type != (q->type == FLOAT64 ? FLOAT64 : FLOAT32) || out->type != q->type ||
        dout->type != q->type || !place(&problem.out, out))
        return false;
    const struct attn_kernel *const kernel = one->kernel;
    handle copy = NULL;
    bool done = false;
    if (!place(&problem.dout, dout)) { /* the gradient of a sum, for example */
        struct seen made;
        copy = empty_with_heads_inside(&made, dout->shape, MAX_AXES, dout->type);
        if (copy == NULL || torch.aoti_torch_copy_(copy, dout->of, 0) != 0 || !place(&problem.dout, &made)) goto end;
        *dout = made;
    }
    for (int j = 0; j < 3; j++) {
        call->results[j] = empty_with_heads_inside(&gradients[j], call->tensors[j].shape, MAX_AXES, q->type);
        if (call->results[j] == NULL) goto end;
    }
    void *const room = prepare(&problem, kernel->backward_workspace(&problem), kernel->saved(&problem));
    if (room == NULL || !place(&problem.dq, &gradients[0]) || !place(&problem.dk, &gradients[1]) ||
        !place(&problem.dv, &gradients[2]))
        goto end;
    convert(logarithms, problem.saved, false);
    done = kernel->backward(&problem, parameters_of(call, kernel, &scale), q->data, k->data, v->data, out->data,
                            dout->data, gradients[0].data, gradients[1].data, gradients[2].data, none, room) == 0;
end:
    delete (&copy, 1);
    return done;
}

/* ---- operators */

/* Raises an error of PyTorch, an exception of C++. */
static void fail(const char *why)
{
    torch.aoti_torch_check(false, "scaled_dot_product_attention", "sdpa.c", 0, why);
}

static void delete_optional(value *one)
{
    if (one == NULL) return;
    if (torch.torch_delete_stable_ivalue != NULL)
        torch.torch_delete_stable_ivalue(one);
    else
        free(one); /* older versions use C++'s `delete` */
}

static double real_of(value of)
{
    double made;
    memcpy(&made, &of, sizeof made);
    return made;
}

/* PyTorch's own operators: the call with the tensors of the stack. Returns 0 for success. */
static int call_pytorch(const handle *t, struct operation *call, handle *mask)
{
    double *const scale = call->has_scale ? &call->scale : NULL;
    handle *const made = call->results;
    if (call->count == 3)
        return torch.aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
            t[0], t[1], t[2], call->dropout, call->is_causal, mask, scale, &made[0], &made[1]);
    return torch.aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
        t[0], t[1], t[2], t[3], t[4], t[5], call->dropout, call->is_causal, mask, scale, &made[0], &made[1], &made[2]);
}

/* Implements both operators. The stack has the tensors (q, k, v or dout, q, k, v, out, logarithms), dropout_p,
   is_causal, attn_mask and scale. The results replace them. */
static void operate(value *stack, uint64_t inputs, uint64_t results)
{
    const int count = (int)inputs - 4;
    handle tensors[6], mask = NULL;
    value *const given_mask = (value *)(uintptr_t)stack[count + 2];
    value *const given_scale = (value *)(uintptr_t)stack[count + 3];
    struct operation call = {
        .count = count,
        .dropout = real_of(stack[count]),
        .is_causal = (stack[count + 1] & 1) != 0,
        .has_scale = given_scale != NULL,
    };
    for (int k = 0; k < count; k++) tensors[k] = (handle)(uintptr_t)stack[k];
    if (given_mask != NULL) mask = (handle)(uintptr_t)*given_mask;
    if (mask != NULL) torch.aoti_torch_is_defined(mask, &call.has_mask); /* autograd gives an undefined tensor */
    if (call.has_scale) call.scale = real_of(*given_scale);
    if (attnc_sdpa_in_parallel) {
        struct chosen answer = {.error = ""};
        ask(used.refuse, &answer);
        strcpy(call.error, answer.error);
    }
    bool done = false;
    if (call.error[0] == '\0' && count == 3)
        done = look(call.tensors, tensors, 3, MAX_AXES) && attend(&call);
    else if (call.error[0] == '\0')
        done = look(call.tensors, &tensors[1], 4, MAX_AXES) && look(&call.tensors[4], tensors, 1, MAX_AXES) &&
               look(&call.tensors[LOGARITHMS], &tensors[LOGARITHMS], 1, 3) && differentiate(&call);
    if (done) attnc_sdpa_calls++;
    if (!done && call.error[0] == '\0') {
        delete (call.results, 3);
        memset(call.results, 0, sizeof call.results);
        if (call_pytorch(tensors, &call, call.has_mask ? &mask : NULL) != 0) {
            const char *const why = torch.torch_exception_get_what_without_backtrace == NULL
                                        ? NULL
                                        : torch.torch_exception_get_what_without_backtrace();
            strncpy(call.error, why == NULL || *why == '\0' ? "the operator failed" : why, sizeof call.error - 1);
        }
    }
    delete (tensors, count);
    delete (&mask, 1);
    delete_optional(given_mask);
    delete_optional(given_scale);
    if (call.error[0] != '\0') {
        delete (call.results, 3);
        fail(call.error);
    }
    for (uint64_t k = 0; k < results; k++) stack[k] = (value)(uintptr_t)call.results[k];
}

/* Ends the use of kernels: the operators are PyTorch's own again. */
EXPORTED void attnc_sdpa_restore(void)
{
    if (used.library != NULL) torch.aoti_torch_delete_library_object(used.library);
    used.library = NULL;
}

/* Replaces the operators. Returns false if PyTorch refuses it.

   choose: takes the address of a struct chosen, and writes its kernel and team, or an error
   refuse: does the same, and writes an error if a ContextParallel is active in this thread */
EXPORTED bool attnc_sdpa_replace(object *choose, object *refuse)
{
    pthread_once(&once, begin);
    register_forks();
    if (used.choose == NULL) { /* they are the same in all calls */
        used.process = process_number();
        used.choose = kept(choose);
        used.refuse = kept(refuse);
    }
    if (torch.aoti_torch_library_init_impl("aten", "CPU", "attnc", 0, &used.library) == 0 &&
        torch.aoti_torch_library_impl(used.library, "_scaled_dot_product_flash_attention_for_cpu", operate) == 0 &&
        torch.aoti_torch_library_impl(used.library, "_scaled_dot_product_flash_attention_for_cpu_backward", operate) ==
            0)
        return true;
    attnc_sdpa_restore();
    return false;
}
