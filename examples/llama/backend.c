/* libggml-attnc.so, a backend for ggml that computes attention with kernels of attnc. It has one device, in the memory
   of the CPU; ggml gives it the operations that it supports, and keeps all others. */
#include "backend.h"
#include "interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The operations that this backend computes. */
static const struct operation {
    enum ggml_op op;
    const char *name;
    bool (*supported)(const struct ggml_tensor *);
    enum ggml_status (*compute)(struct context *, const struct ggml_tensor *);
} operations[] = {
    {GGML_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT", attention_supported, attention_compute},
    {GGML_OP_GATED_DELTA_NET, "GATED_DELTA_NET", delta_supported, delta_compute},
    {GGML_OP_SSM_SCAN, "SSM_SCAN", scan_supported, scan_compute},
};

static const struct operation *find_operation(enum ggml_op op)
{
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++)
        if (operations[n].op == op) return &operations[n];
    return NULL;
}

static bool is_view(enum ggml_op op)
{
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE ||
           op == GGML_OP_TRANSPOSE;
}

/* ---- a backend: computes graphs ---- */

static const char *backend_name(ggml_backend_t backend)
{
    (void)backend;
    return "ATTNC";
}

static void backend_free(ggml_backend_t backend)
{
    struct context *const context = backend->context;
    attn_free(context->memory);
    free(context);
    free(backend);
}

static enum ggml_status compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
    for (int n = 0; n < ggml_graph_n_nodes(graph); n++) {
        const struct ggml_tensor *const node = ggml_graph_node(graph, n);
        if (is_view(node->op) || !(node->flags & GGML_TENSOR_FLAG_COMPUTE) || ggml_nelements(node) == 0) continue;
        const struct operation *const operation = find_operation(node->op);
        if (!operation) return GGML_STATUS_FAILED;
        const enum ggml_status status = operation->compute(backend->context, node);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

static void set_threads(ggml_backend_t backend, int threads)
{
    ((struct context *)backend->context)->threads = threads > 0 ? threads : 1;
}

/* ---- the device ---- */

static const char *device_name(ggml_backend_dev_t device)
{
    (void)device;
    return "ATTNC";
}

static const char *device_description(ggml_backend_dev_t device)
{
    (void)device;
    return "attention compiled by attnc";
}

static void device_memory(ggml_backend_dev_t device, size_t *available, size_t *total)
{
    (void)device;
    *available = *total = 0; /* it uses the memory of the CPU */
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t device)
{
    (void)device;
    return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void device_props(ggml_backend_dev_t device, struct ggml_backend_dev_props *props)
{
    props->name = device_name(device);
    props->description = device_description(device);
    props->type = device_type(device);
    device_memory(device, &props->memory_free, &props->memory_total);
    props->caps.buffer_from_host_ptr = true;
}

static ggml_backend_t device_init(ggml_backend_dev_t device, const char *params)
{
    (void)params;
    static ggml_guid guid = {0xa7, 0x7c, 0x0c, 0x5e, 0x61, 0x74, 0x74, 0x6e, 0x63, 0x2d, 0x67, 0x67, 0x6d, 0x6c, 0, 1};
    struct context *const context = calloc(1, sizeof *context);
    ggml_backend_t backend = calloc(1, sizeof *backend);
    if (!context || !backend) {
        free(context);
        free(backend);
        return NULL;
    }
    context->threads = GGML_DEFAULT_N_THREADS;
    context->team = find_team();
    *backend = (struct ggml_backend){
        .guid = &guid,
        .iface = {.get_name = backend_name, .free = backend_free, .graph_compute = compute},
        .device = device,
        .context = context,
    };
    return backend;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device)
{
    (void)device;
    return ggml_backend_cpu_buffer_type();
}

static ggml_backend_buffer_t device_buffer(ggml_backend_dev_t device, void *memory, size_t size, size_t largest)
{
    (void)device;
    (void)largest;
    return ggml_backend_cpu_buffer_from_ptr(memory, size);
}

static bool device_supports(ggml_backend_dev_t device, const struct ggml_tensor *op)
{
    (void)device;
    const struct operation *const operation = find_operation(op->op);
    return is_view(op->op) || (operation && operation->supported(op));
}

static bool device_takes(ggml_backend_dev_t device, ggml_backend_buffer_type_t type)
{
    (void)device;
    return ggml_backend_buft_is_host(type);
}

/* ---- the library ---- */

static const char *library_name(ggml_backend_reg_t library)
{
    (void)library;
    return "ATTNC";
}

static size_t device_count(ggml_backend_reg_t library)
{
    (void)library;
    return 1;
}

static ggml_backend_dev_t get_device(ggml_backend_reg_t library, size_t index)
{
    static struct ggml_backend_device device = {
        .iface = {.get_name = device_name,
                  .get_description = device_description,
                  .get_memory = device_memory,
                  .get_type = device_type,
                  .get_props = device_props,
                  .init_backend = device_init,
                  .get_buffer_type = device_buffer_type,
                  .buffer_from_host_ptr = device_buffer,
                  .supports_op = device_supports,
                  .supports_buft = device_takes},
    };
    device.reg = library;
    return index == 0 ? &device : NULL;
}

static void *get_function(ggml_backend_reg_t library, const char *name)
{
    (void)library;
    void *function = NULL;
    if (strcmp(name, "ggml_backend_set_n_threads") == 0)
        memcpy(&function, &(void (*)(ggml_backend_t, int)){set_threads}, sizeof function);
    return function;
}

/* ggml calls this function of a library that it loads. */
EXPORT ggml_backend_reg_t ggml_backend_init(void);
ggml_backend_reg_t ggml_backend_init(void)
{
    static struct ggml_backend_reg library = {
        .api_version = GGML_BACKEND_API_VERSION,
        .iface = {.get_name = library_name,
                  .get_device_count = device_count,
                  .get_device = get_device,
                  .get_proc_address = get_function},
    };
    /* The interface's version does not change when operations get other numbers. */
    for (size_t n = 0; n < sizeof operations / sizeof *operations; n++) {
        if (strcmp(ggml_op_name(operations[n].op), operations[n].name) == 0) continue;
        fprintf(stderr, "ggml-attnc: compiled with the headers of another version of ggml: no %s\n",
                operations[n].name);
        return NULL;
    }
    return &library;
}
