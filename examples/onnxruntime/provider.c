/* The provider: what ONNX Runtime loads, which nodes it takes, and their plans. */
#include "provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "AttncExecutionProvider"
#define PREVIEW "ai.onnx.preview" /* a domain of operators */

const struct ort_api *ort;

/* ---- errors ---- */

OrtStatus *error_of(int code, const char *format, ...)
{
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return ort->CreateStatus(code, message);
}

bool done(OrtStatus *status)
{
    if (status) ort->ReleaseStatus(status);
    return !status;
}

/* ---- nodes ---- */

/* The operators that this provider computes. */
static const struct {
    const char *domain, *op;
    int first, last; /* the versions of the operator */
    make_plan *plan;
} operators[] = {
    {"", "Attention", 23, 25, plan_attention},
    {"", "LinearAttention", 27, 27, plan_linear},
    {PREVIEW, "FlexAttention", 1, 1, plan_flex},
    {"com.microsoft", "MultiHeadAttention", 1, 1, plan_multi_head},
    {"com.microsoft", "GroupQueryAttention", 1, 1, plan_group_query},
};

struct provider {
    struct ort_ep ep; /* the first member */
    struct settings settings;
    char program[4096];
    _Atomic(struct memory *) memory;
};

void plan_free(struct plan *plan)
{
    for (int n = 0; plan && n < plan->constants; n++) free(plan->constant[n].data);
    if (plan) free(plan->constant);
    free(plan);
}

/* Makes a plan. Returns NULL if this provider does not compute the node. */
static struct plan *plan_of(struct provider *provider, const OrtNode *from)
{
    struct node node;
    if (!node_of(from, &node)) return NULL;
    for (size_t n = 0; n < sizeof operators / sizeof *operators; n++) {
        if (strcmp(node.op, operators[n].op) != 0 || strcmp(node.domain, operators[n].domain) != 0) continue;
        if (node.version < operators[n].first || node.version > operators[n].last) return NULL;
        struct plan *const plan = calloc(1, sizeof *plan);
        if (!plan) return NULL;
        plan->memory = &provider->memory;
        plan->threads = provider->settings.threads;
        if (operators[n].plan(&provider->settings, &node, plan)) return plan;
        plan_free(plan);
    }
    return NULL;
}

static OrtStatus *get_capability(struct ort_ep *ep, const OrtGraph *graph, OrtSupport *support)
{
    size_t count = 0;
    OrtStatus *status = ort->Graph_GetNumNodes(graph, &count);
    if (status || count == 0) return status;
    const OrtNode **const nodes = malloc(count * sizeof *nodes);
    if (!nodes) return error_of(ORT_FAIL, "attnc: out of memory");
    status = ort->Graph_GetNodes(graph, nodes, count);
    for (size_t n = 0; !status && n < count; n++) {
        struct plan *const plan = plan_of((struct provider *)ep, nodes[n]);
        if (plan) status = ort->GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(support, &nodes[n], 1, NULL);
        plan_free(plan);
    }
    free(nodes);
    return status;
}

static OrtStatus *create_state(struct ort_compute *compute, const void *context, void **state)
{
    (void)context;
    *state = compute;
    return NULL;
}

static OrtStatus *compute(struct ort_compute *compute, void *state, OrtKernelContext *context)
{
    (void)state;
    return plan_call((struct plan *)compute, context);
}

static void release_state(struct ort_compute *compute, void *state)
{
    (void)compute;
    (void)state;
}

/* Finds the numbers that inputs or outputs of a node have in the node that stands for it. */
static void numbers_of(const struct declared *own, int count, const struct declared *fused, int number, int *to,
                       int most)
{
    for (int n = 0; n < most; n++) {
        to[n] = -1;
        for (int m = 0; n < count && own[n].info && m < number && to[n] < 0; m++)
            if (fused[m].info && strcmp(own[n].name, fused[m].name) == 0) to[n] = m;
    }
}

static OrtStatus *compile_one(struct provider *provider, const OrtGraph *graph, const OrtNode *fused,
                              struct ort_compute **made)
{
    const OrtNode *only = NULL;
    size_t count = 0;
    OrtStatus *status = ort->Graph_GetNumNodes(graph, &count);
    if (status) return status;
    if (count != 1) return error_of(ORT_FAIL, "attnc: %zu nodes to compile; expected 1", count);
    status = ort->Graph_GetNodes(graph, &only, 1);
    if (status) return status;
    struct plan *const plan = plan_of(provider, only);
    struct node node, outer;
    if (!plan || !node_of(only, &node) || !node_of(fused, &outer)) {
        plan_free(plan);
        return error_of(ORT_FAIL, "attnc: there is no kernel for a node any more");
    }
    numbers_of(node.input, node.inputs, outer.input, outer.inputs, plan->input, MOST_INPUTS);
    numbers_of(node.output, node.outputs, outer.output, outer.outputs, plan->output, MOST_OUTPUTS);
    plan->compute = (struct ort_compute){ORT_API_VERSION, create_state, compute, release_state};
    *made = &plan->compute;
    return NULL;
}

static void release_computes(struct ort_ep *ep, struct ort_compute **computes, size_t count)
{
    (void)ep;
    for (size_t n = 0; n < count; n++) plan_free((struct plan *)computes[n]);
}

static OrtStatus *compile(struct ort_ep *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                          struct ort_compute **made, OrtNode **context_nodes)
{
    (void)context_nodes;
    for (size_t n = 0; n < count; n++) {
        OrtStatus *const status = compile_one((struct provider *)ep, graphs[n], fused[n], &made[n]);
        if (!status) continue;
        release_computes(ep, made, n);
        memset(made, 0, count * sizeof *made);
        return status;
    }
    return NULL;
}

static const char *ep_name(const struct ort_ep *ep)
{
    (void)ep;
    return NAME;
}

/* ---- the factory ---- */

struct factory {
    struct ort_factory factory; /* the first member */
    OrtCustomOpDomain *preview;
};

/* ---- FlexAttention as an operator: ONNX Runtime 1.32 does not know it ---- */

static const char *flex_name(const struct ort_custom_op *op)
{
    (void)op;
    return "FlexAttention";
}

static const char *flex_provider(const struct ort_custom_op *op)
{
    (void)op;
    return NAME;
}

static size_t flex_inputs(const struct ort_custom_op *op)
{
    (void)op;
    return 3;
}

static size_t flex_outputs(const struct ort_custom_op *op)
{
    (void)op;
    return 1;
}

static int flex_characteristic(const struct ort_custom_op *op, size_t n)
{
    (void)op, (void)n;
    return 0; /* required */
}

static OrtStatus *flex_create(const struct ort_custom_op *op, const void *api, const void *info, void **kernel)
{
    (void)op, (void)api, (void)info, (void)kernel;
    return error_of(ORT_NOT_IMPLEMENTED, "attnc has no kernel for this FlexAttention; its log says why");
}

static OrtStatus *flex_compute(void *kernel, OrtKernelContext *context)
{
    (void)kernel, (void)context;
    return error_of(ORT_NOT_IMPLEMENTED, "attnc has no kernel for this FlexAttention");
}

static void flex_destroy(void *kernel)
{
    (void)kernel;
}

static int flex_version(const struct ort_custom_op *op)
{
    (void)op;
    return 1;
}

#define FLEX(word, number) \
    static int flex_type_##word(const struct ort_custom_op *op, size_t n) \
    { \
        (void)op, (void)n; \
        return number; \
    }
FLEX(f32, ORT_F32)
FLEX(f16, ORT_F16)
FLEX(bf16, ORT_BF16)
FLEX(f64, ORT_F64)
#undef FLEX

/* One operator for each type. ONNX Runtime makes one schema of all. */
static const struct ort_custom_op flex[] = {
#define FLEX(word) \
    {.version = ORT_API_VERSION, \
     .GetName = flex_name, \
     .GetExecutionProviderType = flex_provider, \
     .GetInputType = flex_type_##word, \
     .GetInputTypeCount = flex_inputs, \
     .GetOutputType = flex_type_##word, \
     .GetOutputTypeCount = flex_outputs, \
     .KernelDestroy = flex_destroy, \
     .GetInputCharacteristic = flex_characteristic, \
     .GetOutputCharacteristic = flex_characteristic, \
     .GetInputMemoryType = flex_characteristic, \
     .CreateKernelV2 = flex_create, \
     .KernelComputeV2 = flex_compute, \
     .GetStartVersion = flex_version, \
     .GetEndVersion = flex_version}
    FLEX(f32),
    FLEX(f16),
    FLEX(bf16),
    FLEX(f64),
#undef FLEX
};

static OrtStatus *domain_count(struct ort_factory *factory, size_t *count)
{
    *count = ((struct factory *)factory)->preview ? 1 : 0;
    return NULL;
}

static OrtStatus *domains(struct ort_factory *factory, OrtCustomOpDomain **to, size_t count)
{
    if (count > 0) to[0] = ((struct factory *)factory)->preview;
    return NULL;
}

/* ---- the functions of the factory ---- */

static const char *factory_name(const struct ort_factory *factory)
{
    (void)factory;
    return NAME;
}

static const char *vendor(const struct ort_factory *factory)
{
    (void)factory;
    return "attnc";
}

static uint32_t vendor_id(const struct ort_factory *factory)
{
    (void)factory;
    return 0;
}

static const char *version(const struct ort_factory *factory)
{
    (void)factory;
    return ATTNC_VERSION;
}

static OrtStatus *supported_devices(struct ort_factory *factory, const OrtHardwareDevice *const *devices, size_t count,
                                    OrtEpDevice **made, size_t most, size_t *number)
{
    *number = 0;
    for (size_t n = 0; n < count && *number < most; n++) {
        if (ort->HardwareDevice_Type(devices[n]) != ORT_CPU) continue;
        OrtStatus *const status = ort->GetEpApi()->CreateEpDevice(factory, devices[n], NULL, NULL, &made[*number]);
        if (status) return status;
        ++*number;
    }
    return NULL;
}

/* Reads an option of the provider. Returns false if the session does not have it. */
static bool option(const OrtSessionOptions *options, const char *name, char *value, size_t bytes)
{
    /* ONNX Runtime writes the name of a provider in lower case */
    char key[128];
    int has = 0;
    snprintf(key, sizeof key, "ep.attncexecutionprovider.%s", name);
    return done(ort->HasSessionConfigEntry(options, key, &has)) && has &&
           done(ort->GetSessionConfigEntry(options, key, value, &bytes));
}

static OrtStatus *create_ep(struct ort_factory *factory, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t count, const OrtSessionOptions *options,
                            const OrtLogger *logger, struct ort_ep **ep)
{
    (void)factory, (void)devices, (void)metadata, (void)count;
    struct provider *const provider = calloc(1, sizeof *provider);
    char threads[32] = "0", *end = threads;
    if (!provider) return error_of(ORT_FAIL, "attnc: out of memory");
    provider->ep = (struct ort_ep){.ort_version_supported = ORT_API_VERSION,
                                   .GetName = ep_name,
                                   .GetCapability = get_capability,
                                   .Compile = compile,
                                   .ReleaseNodeComputeInfos = release_computes};
    provider->settings.logger = logger;
    if (option(options, "program", provider->program, sizeof provider->program))
        provider->settings.program = provider->program;
    if (option(options, "threads", threads, sizeof threads)) {
        const long number = strtol(threads, &end, 10);
        if (end == threads || *end || number < 0 || number > 4096) {
            free(provider);
            return error_of(ORT_INVALID_ARGUMENT, "attnc: the option threads is \"%s\"; expected 0 to 4096", threads);
        }
        provider->settings.threads = (int)number;
    }
    *ep = &provider->ep;
    return NULL;
}

static void release_ep(struct ort_factory *factory, struct ort_ep *ep)
{
    (void)factory;
    struct provider *const provider = (struct provider *)ep;
    if (provider) memory_free(atomic_exchange(&provider->memory, NULL));
    free(provider);
}

static OrtStatus *create_allocator(struct ort_factory *factory, const void *info, const OrtKeyValuePairs *options,
                                   void **allocator)
{
    (void)factory, (void)info, (void)options;
    *allocator = NULL; /* memory is that of the CPU */
    return NULL;
}

static void release_allocator(struct ort_factory *factory, void *allocator)
{
    (void)factory;
    (void)allocator;
}

static OrtStatus *create_transfer(struct ort_factory *factory, void **transfer)
{
    (void)factory;
    *transfer = NULL;
    return NULL;
}

static bool is_stream_aware(const struct ort_factory *factory)
{
    (void)factory;
    return false;
}

/* ---- what ONNX Runtime calls ---- */

#define EXPORTED __attribute__((visibility("default")))
EXPORTED OrtStatus *CreateEpFactories(const char *name, const struct ort_api_base *base, const OrtLogger *logger,
                                      struct ort_factory **factories, size_t most, size_t *count);
EXPORTED OrtStatus *ReleaseEpFactory(struct ort_factory *factory);

OrtStatus *CreateEpFactories(const char *name, const struct ort_api_base *base, const OrtLogger *logger,
                             struct ort_factory **factories, size_t most, size_t *count)
{
    (void)name, (void)logger;
    const struct ort_api *const api = base->GetApi(ORT_API_VERSION);
    if (!api) return base->GetApi(1)->CreateStatus(ORT_FAIL, "attnc needs ONNX Runtime 1.24 or newer");
    ort = api;
    if (most < 1) return error_of(ORT_INVALID_ARGUMENT, "attnc: no room for a factory");
    struct factory *const made = calloc(1, sizeof *made);
    if (!made) return error_of(ORT_FAIL, "attnc: out of memory");
    made->factory = (struct ort_factory){.ort_version_supported = ORT_API_VERSION,
                                         .GetName = factory_name,
                                         .GetVendor = vendor,
                                         .GetSupportedDevices = supported_devices,
                                         .CreateEp = create_ep,
                                         .ReleaseEp = release_ep,
                                         .GetVendorId = vendor_id,
                                         .GetVersion = version,
                                         .CreateAllocator = create_allocator,
                                         .ReleaseAllocator = release_allocator,
                                         .CreateDataTransfer = create_transfer,
                                         .IsStreamAware = is_stream_aware,
                                         .GetNumCustomOpDomains = domain_count,
                                         .GetCustomOpDomains = domains};
    OrtStatus *status = ort->CreateCustomOpDomain(PREVIEW, &made->preview);
    for (size_t n = 0; !status && n < sizeof flex / sizeof *flex; n++)
        status = ort->CustomOpDomain_Add(made->preview, &flex[n]);
    if (status) {
        free(made);
        return status;
    }
    factories[0] = &made->factory;
    *count = 1;
    return NULL;
}

OrtStatus *ReleaseEpFactory(struct ort_factory *factory)
{
    struct factory *const made = (struct factory *)factory;
    if (made && made->preview) ort->ReleaseCustomOpDomain(made->preview);
    free(made);
    return NULL;
}
