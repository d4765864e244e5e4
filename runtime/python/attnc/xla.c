/* The handler that XLA calls for a kernel, compiled with jaxlib's headers (jax.py). Its operands are q, k, v, the
   parameters, the positions of first queries (none, or one for each sequence), and for gradients also out, the saved
   values and dout. Its attributes name the library and the kernel. */
#include "attnrt.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xla/ffi/api/c_api.h>

enum { MAX_PATH = 4096, MAX_NAME = 256, LINE = 64 };

static XLA_FFI_Error *fail(const XLA_FFI_CallFrame *frame, const char *message, XLA_FFI_Error_Code code)
{
    XLA_FFI_Error_Create_Args args = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = message, .errc = code};
    return frame->api->XLA_FFI_Error_Create(&args);
}

/* Does not call attn_strerror, because it is in a library that kernels do not need. */
static XLA_FFI_Error *failed(const XLA_FFI_CallFrame *frame, const char *name, int error)
{
    char message[MAX_NAME + 200];
    const char
        *says = error == ATTN_EMEMORY ? "out of memory"
                : error == ATTN_EMACHINE
                    ? "this machine has none of the instruction sets that the kernel was compiled for"
                : error == ATTN_EORDER
                    ? "ids decrease from one key to the next: the linear form needs ids in ascending order"
                : error == ATTN_ELENGTH
                    ? "there are more positions than the spec allows, or query_start puts a query after the last "
                      "key, which a linear form cannot compute"
                : error == ATTN_ESIZE ? "the sizes are too large: a product of them overflows"
                                      : "the shapes of the arrays do not match the kernel";
    snprintf(message, sizeof message, "%s: %s (%d)", name, says, error);
    return fail(frame, message,
                error == ATTN_EMEMORY ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED : XLA_FFI_Error_Code_INVALID_ARGUMENT);
}

/* Reads a word. Returns false if it is missing or too long. */
static int word(const XLA_FFI_Attrs *attrs, const char *name, char *out, size_t size)
{
    for (int64_t k = 0; k < attrs->size; k++) {
        const XLA_FFI_ByteSpan *found = attrs->names[k];
        if (attrs->types[k] != XLA_FFI_AttrType_STRING || found->len != strlen(name) ||
            memcmp(found->ptr, name, found->len) != 0)
            continue;
        const XLA_FFI_ByteSpan *value = attrs->attrs[k];
        if (value->len >= size) return 0;
        memcpy(out, value->ptr, value->len);
        out[value->len] = 0;
        return 1;
    }
    return 0;
}

/* Takes the threads of the library that the attribute `team` names. Only kernels without OpenMP need this. */
static void take_team(const XLA_FFI_Attrs *attrs, struct attn_problem *p)
{
    char library[MAX_PATH], threads[16];
    if (!word(attrs, "team", library, sizeof library) || !word(attrs, "threads", threads, sizeof threads) || !*library)
        return;
    void *code = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *symbol = code ? dlsym(code, "attnc_team") : 0;
    if (!symbol) return;
    const struct attn_team *(*team)(void);
    memcpy(&team, &symbol, sizeof team);
    p->team = team();
    p->threads = atoi(threads);
}

static XLA_FFI_Buffer *argument(const XLA_FFI_CallFrame *frame, int64_t number)
{
    return frame->args.args[number];
}

static void *result(const XLA_FFI_CallFrame *frame, int64_t number)
{
    return ((XLA_FFI_Buffer *)frame->rets.rets[number])->data;
}

static void *room(size_t bytes)
{
    return aligned_alloc(LINE, (bytes + LINE) / LINE * LINE);
}

static int forward(const XLA_FFI_CallFrame *frame, const struct attn_kernel *kernel, struct attn_problem *p,
                   void *params)
{
    p->workspace_bytes = kernel->workspace(p);
    if (frame->rets.size > 1) /* weights [batch, heads, n_q, n_k], or saved values */
        *(((XLA_FFI_Buffer *)frame->rets.rets[1])->rank == 4 ? &p->weights : &p->saved) = result(frame, 1);
    void *workspace = room(p->workspace_bytes);
    const int error = workspace ? kernel->forward(p, params, argument(frame, 0)->data, argument(frame, 1)->data,
                                                  argument(frame, 2)->data, result(frame, 0), workspace)
                                : ATTN_EMEMORY;
    free(workspace);
    return error;
}

static int backward(const XLA_FFI_CallFrame *frame, const struct attn_kernel *kernel, struct attn_problem *p,
                    void *params)
{
    const int64_t last = 4 + kernel->params;
    p->workspace_bytes = kernel->backward_workspace(p);
    p->saved = argument(frame, last + 1)->data;
    void **gradients = calloc((size_t)frame->rets.size, sizeof *gradients);
    for (int64_t k = 3; k < frame->rets.size && gradients; k++) gradients[k - 3] = result(frame, k);
    void *workspace = room(p->workspace_bytes);
    const int error = workspace && gradients
                          ? kernel->backward(p, params, argument(frame, 0)->data, argument(frame, 1)->data,
                                             argument(frame, 2)->data, argument(frame, last)->data,
                                             argument(frame, last + 2)->data, result(frame, 0), result(frame, 1),
                                             result(frame, 2), gradients, workspace)
                          : ATTN_EMEMORY;
    free(workspace);
    free(gradients);
    return error;
}

/* Runs the kernel with the positions in `start`, which has 32-bit integers because JAX has no others by default. */
static int run(const XLA_FFI_CallFrame *frame, const struct attn_kernel *kernel, struct attn_problem *p, void *params,
               const XLA_FFI_Buffer *start)
{
    const bool moves = start->rank == 1 && start->dims[0] > 0;
    int64_t *positions = NULL;
    if (moves) {
        if (start->dims[0] != p->batch || start->dtype != XLA_FFI_DataType_S32) return ATTN_EPROBLEM;
        positions = calloc((size_t)p->batch, sizeof *positions);
        if (!positions) return ATTN_EMEMORY;
        for (int64_t b = 0; b < p->batch; b++) positions[b] = ((const int32_t *)start->data)[b];
        p->query_start = positions;
    }
    const bool differentiates = frame->args.size > 4 + kernel->params;
    const int error = differentiates ? backward(frame, kernel, p, params) : forward(frame, kernel, p, params);
    free(positions);
    return error;
}

XLA_FFI_Error *attnc_call(XLA_FFI_CallFrame *frame)
{
    if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *about = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
        about->api_version.major_version = XLA_FFI_API_MAJOR;
        about->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    char library[MAX_PATH], name[MAX_NAME], symbol[MAX_NAME + 8];
    if (!word(&frame->attrs, "library", library, sizeof library) || !word(&frame->attrs, "kernel", name, sizeof name))
        return fail(frame, "attnc: the attributes name no kernel", XLA_FFI_Error_Code_INVALID_ARGUMENT);
    snprintf(symbol, sizeof symbol, "%s_kernel", name);
    /* The library stays loaded, because idle OpenMP threads still execute its code. */
    void *code = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct attn_kernel *kernel = code ? dlsym(code, symbol) : NULL;
    if (!kernel)
        return fail(frame, "attnc: the kernel's library was removed from the cache", XLA_FFI_Error_Code_NOT_FOUND);
    const int64_t few = 4 + kernel->params, many = few + 3;
    if ((frame->args.size != few && frame->args.size != many) || frame->rets.size < 1 ||
        argument(frame, 0)->rank != 4 || argument(frame, 1)->rank != 4 || argument(frame, 2)->rank != 4)
        return failed(frame, name, ATTN_EPROBLEM);
    const int64_t *q = argument(frame, 0)->dims, *k = argument(frame, 1)->dims, *v = argument(frame, 2)->dims;
    struct attn_problem p = {.batch = q[0], .heads = q[1], .n_q = q[2], .kv_heads = k[1], .n_k = k[2]};
    if (v[1] > q[1]) { /* v has more heads than q and k */
        p.heads = p.kv_heads = v[1];
        p.key_heads = q[1];
    }
    take_team(&frame->attrs, &p);
    void *params = calloc(1, kernel->params_bytes + 1);
    for (int number = 0; number < kernel->params && params; number++)
        memcpy((char *)params + kernel->param[number].offset, &argument(frame, 3 + number)->data, sizeof(void *));
    const int error = params ? run(frame, kernel, &p, params, argument(frame, few - 1)) : ATTN_EMEMORY;
    free(params);
    dlclose(code);
    return error ? failed(frame, name, error) : NULL;
}
