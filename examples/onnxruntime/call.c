/* Calls of nodes: tensors, memory, and parameters of kernels. */
#include "provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

enum { ALIGNMENT = 64 };

/* Memory of a call. A plan keeps it for the next call. If it was too small, `more` has what the call took besides. */
struct memory {
    struct memory *more;
    size_t bytes, used, wanted; /* wanted: what the whole call takes */
};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct memory *memory_of(size_t bytes)
{
    const size_t head = rounded(sizeof(struct memory));
    if (bytes > SIZE_MAX / 2) return NULL;
    struct memory *const memory = aligned_alloc(ALIGNMENT, head + rounded(bytes));
    if (memory) *memory = (struct memory){.bytes = head + rounded(bytes), .used = head};
    return memory;
}

void memory_free(struct memory *memory)
{
    while (memory) {
        struct memory *const more = memory->more;
        free(memory);
        memory = more;
    }
}

void *take(struct call *call, int64_t bytes)
{
    struct memory *memory = call->memory;
    const size_t wanted = bytes < 0 ? SIZE_MAX : rounded((size_t)bytes);
    if (memory) memory->wanted += bytes < 0 ? 0 : wanted;
    if (!memory || wanted > memory->bytes - memory->used) {
        struct memory *const more = memory_of(wanted);
        if (!more) {
            fails(call, "out of memory: %lld bytes", (long long)bytes);
            return NULL;
        }
        more->wanted = memory ? memory->wanted : wanted;
        more->more = memory;
        call->memory = memory = more;
    }
    void *const made = (char *)memory + memory->used;
    memory->used += wanted;
    return made;
}

/* Keeps the memory of a call for the next one: one block with room for such a call. */
static void give_back(const struct plan *plan, struct memory *memory)
{
    if (memory && memory->more) {
        const size_t wanted = memory->wanted;
        memory_free(memory);
        memory = memory_of(wanted);
    }
    if (memory) {
        memory->used = rounded(sizeof *memory);
        memory->wanted = 0;
    }
    memory_free(atomic_exchange(plan->memory, memory));
}

OrtStatus *plan_call(struct plan *plan, OrtKernelContext *context)
{
    struct call call = {.plan = plan, .context = context, .memory = atomic_exchange(plan->memory, NULL)};
    plan->run(&call);
    give_back(plan, call.memory);
    return call.status;
}

bool fails(struct call *call, const char *format, ...)
{
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    if (!call->status) call->status = error_of(ORT_INVALID_ARGUMENT, "attnc: %s", message);
    return false;
}

static bool ok(struct call *call, OrtStatus *status)
{
    if (!status) return true;
    if (call->status)
        ort->ReleaseStatus(status);
    else
        call->status = status;
    return false;
}

/* ---- tensors ---- */

int64_t bytes_of(int type)
{
    switch (type) {
    case ORT_U8:
    case ORT_I8:
    case ORT_BOOL: return 1;
    case ORT_F16:
    case ORT_BF16: return 2;
    case ORT_F32:
    case ORT_I32: return 4;
    case ORT_F64:
    case ORT_I64: return 8;
    default: return 0;
    }
}

int dtype_of(int type)
{
    switch (type) {
    case ORT_F32: return ATTN_F32;
    case ORT_F16: return ATTN_F16;
    case ORT_BF16: return ATTN_BF16;
    case ORT_F64: return ATTN_F64;
    default: return -1;
    }
}

struct tensor input_of(struct call *call, int n)
{
    struct tensor tensor = {0};
    const OrtValue *value = NULL;
    const int at = call->plan->input[n];
    if (at < 0 || call->status || !ok(call, ort->KernelContext_GetInput(call->context, (size_t)at, &value)) || !value)
        return tensor;
    OrtShape *shape = NULL;
    size_t axes = 0;
    if (!ok(call, ort->GetTensorTypeAndShape(value, &shape))) return tensor;
    const bool read = ok(call, ort->GetTensorElementType(shape, &tensor.type)) &&
                      ok(call, ort->GetDimensionsCount(shape, &axes)) &&
                      (axes <= MOST_AXES || fails(call, "input %d has %zu axes", n, axes)) &&
                      ok(call, ort->GetDimensions(shape, tensor.size, axes));
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    const void *data = NULL;
    if (!read || !ok(call, ort->GetTensorData(value, &data))) return tensor;
    static const uint64_t nothing = 0; /* a tensor without elements may have no address */
    tensor.data = (void *)(uintptr_t)(data ? data : &nothing);
    tensor.axes = (int)axes;
    return tensor;
}

struct tensor output_of(struct call *call, int n, int type, int axes, const int64_t *size)
{
    struct tensor tensor = {.type = type, .axes = axes};
    OrtValue *value = NULL;
    const int at = call->plan->output[n];
    if (at < 0 || call->status ||
        !ok(call, ort->KernelContext_GetOutput(call->context, (size_t)at, size, (size_t)axes, &value)) || !value ||
        !ok(call, ort->GetTensorMutableData(value, &tensor.data)))
        return tensor;
    memcpy(tensor.size, size, (size_t)axes * sizeof *size);
    static uint64_t nothing;
    if (!tensor.data) tensor.data = &nothing;
    return tensor;
}

struct rows rows_of(struct call *call, const char *name, struct tensor t, int64_t heads)
{
    if (t.axes == 4)
        return (struct rows){t.data,    t.size[0],
                             t.size[1], t.size[2],
                             t.size[3], {t.size[1] * t.size[2] * t.size[3], t.size[2] * t.size[3], t.size[3]}};
    if (t.axes != 3 || heads < 1 || t.size[2] % heads) {
        fails(call,
              "%s has %d axes, the last of %lld elements; expected [batch, heads, rows, size] or [batch, rows, "
              "%lld heads]",
              name, t.axes, (long long)(t.axes > 0 ? t.size[t.axes - 1] : 0), (long long)heads);
        return (struct rows){0};
    }
    const int64_t size = t.size[2] / heads;
    return (struct rows){t.data, t.size[0], heads, t.size[1], size, {t.size[1] * t.size[2], size, t.size[2]}};
}

void copy_rows(const struct rows *to, int64_t first, const struct rows *from, int64_t element)
{
    for (int64_t b = 0; b < from->batch; b++)
        for (int64_t h = 0; h < from->heads; h++) {
            const char *source = from->data + (b * from->at.batch + h * from->at.head) * element;
            char *target = to->data + (b * to->at.batch + h * to->at.head + first * to->at.row) * element;
            const bool whole = from->at.row == from->size && to->at.row == to->size;
            const int64_t count = whole ? 1 : from->rows, elements = whole ? from->rows * from->size : from->size;
            for (int64_t n = 0; n < count; n++)
                memmove(target + n * to->at.row * element, source + n * from->at.row * element,
                        (size_t)(elements * element));
        }
}

/* ---- kernels ---- */

static const struct attn_param *param_of(const struct attn_kernel *kernel, const char *name)
{
    for (int n = 0; n < kernel->params; n++)
        if (strcmp(kernel->param[n].name, name) == 0) return &kernel->param[n];
    return NULL;
}

bool params_of(struct call *call, const struct attn_kernel *kernel, struct params *p)
{
    *p = (struct params){.kernel = kernel};
    p->params = take(call, (int64_t)(kernel->params_bytes + 1));
    p->strides = take(call, (int64_t)(kernel->strides_bytes + 1));
    if (call->status) return false;
    memset(p->params, 0, kernel->params_bytes);
    memset(p->strides, 0, kernel->strides_bytes);
    if (kernel->strides) memcpy(p->params + kernel->strides, &p->strides, sizeof p->strides);
    return true;
}

void set_array(const struct params *p, const char *name, const void *data, const int64_t *stride)
{
    const struct attn_param *const param = param_of(p->kernel, name);
    if (!param) return;
    memcpy(p->params + param->offset, &data, sizeof data);
    if (stride) memcpy(p->strides + param->strides, stride, (size_t)param->rank * sizeof *stride);
}

void set_number(struct call *call, const struct params *p, const char *name, double value)
{
    const struct attn_param *const param = param_of(p->kernel, name);
    void *const place = param ? take(call, 8) : NULL;
    if (!place) return;
    if (param->dtype == ATTN_I32)
        *(int32_t *)place = (int32_t)value;
    else if (param->dtype == ATTN_F64)
        *(double *)place = value;
    else
        *(float *)place = (float)value;
    set_array(p, name, place, NULL);
}

bool set_broadcast(struct call *call, const struct params *p, const char *name, struct tensor t, const int64_t *size,
                   int axes)
{
    int64_t stride[MOST_AXES], next = 1;
    if (t.axes > axes) return fails(call, "%s has %d axes; expected at most %d", name, t.axes, axes);
    for (int n = axes - 1; n >= 0; n--) {
        const int at = n - (axes - t.axes);
        const int64_t have = at < 0 ? 1 : t.size[at];
        if (have != 1 && have != size[n])
            return fails(call, "axis %d of %s has %lld elements; expected 1 or %lld", at, name, (long long)have,
                         (long long)size[n]);
        stride[n] = have == 1 ? ATTN_BROADCAST : next;
        next *= have;
    }
    set_array(p, name, t.data, stride);
    return true;
}

bool forward(struct call *call, const struct params *p, struct attn_problem *problem, const struct rows *q,
             const struct rows *k, const struct rows *v, const struct rows *out)
{
    problem->batch = q->batch;
    problem->heads = q->heads;
    problem->kv_heads = k->heads;
    problem->n_q = q->rows;
    problem->n_k = k->rows;
    problem->q = q->at;
    problem->k = k->at;
    problem->v = v->at;
    problem->out = out->at;
    problem->threads = call->plan->threads;
    const size_t bytes = p->kernel->workspace(problem);
    void *const workspace = bytes == SIZE_MAX ? NULL : take(call, (int64_t)bytes + 1);
    if (!workspace) return fails(call, "the sizes of a call overflow");
    problem->workspace_bytes = bytes;
    const int error = p->kernel->forward(problem, p->params, q->data, k->data, v->data, out->data, workspace);
    return !error || fails(call, "%s", attn_strerror(error));
}
