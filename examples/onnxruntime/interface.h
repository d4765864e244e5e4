/* The interface of ONNX Runtime to plugin execution providers, as far as this provider uses it. Its tables only grow at
   their ends, so the numbers of their members are the same in all versions from 1.24 on. The names are those of ONNX
   Runtime (MIT License), which documents them in onnxruntime_c_api.h and onnxruntime_ep_c_api.h. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the tables that this provider asks for. */
enum { ORT_API_VERSION = 24 };

enum ort_error { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9 };
enum ort_hardware { ORT_CPU = 0 };
enum ort_attribute { ORT_INT = 1, ORT_INTS = 2, ORT_FLOAT = 3, ORT_FLOATS = 4, ORT_STRING = 5 };
enum ort_log { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2 };

/* Types of elements, as ONNX numbers them. */
enum ort_type {
    ORT_UNDEFINED = 0,
    ORT_F32 = 1,
    ORT_U8 = 2,
    ORT_I8 = 3,
    ORT_I32 = 6,
    ORT_I64 = 7,
    ORT_BOOL = 9,
    ORT_F16 = 10,
    ORT_F64 = 11,
    ORT_BF16 = 16
};

typedef struct OrtStatus OrtStatus;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtGraph OrtGraph;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtLogger OrtLogger;
typedef struct OrtNode OrtNode;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtShape OrtShape;     /* OrtTensorTypeAndShapeInfo */
typedef struct OrtSupport OrtSupport; /* OrtEpGraphSupportInfo */
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtValueInfo OrtValueInfo;
struct ort_factory;

/* Members from one number to another that this provider does not use. */
#define UNUSED(first, last) void *unused_##first[(last) - (first) + 1];

struct ort_custom_op {
    uint32_t version;
    void *(*CreateKernel)(const struct ort_custom_op *, const void *api, const void *info);
    const char *(*GetName)(const struct ort_custom_op *);
    const char *(*GetExecutionProviderType)(const struct ort_custom_op *);
    int (*GetInputType)(const struct ort_custom_op *, size_t n);
    size_t (*GetInputTypeCount)(const struct ort_custom_op *);
    int (*GetOutputType)(const struct ort_custom_op *, size_t n);
    size_t (*GetOutputTypeCount)(const struct ort_custom_op *);
    void (*KernelCompute)(void *, OrtKernelContext *);
    void (*KernelDestroy)(void *);
    int (*GetInputCharacteristic)(const struct ort_custom_op *, size_t n);
    int (*GetOutputCharacteristic)(const struct ort_custom_op *, size_t n);
    int (*GetInputMemoryType)(const struct ort_custom_op *, size_t n);
    int (*GetVariadicInputMinArity)(const struct ort_custom_op *);
    int (*GetVariadicInputHomogeneity)(const struct ort_custom_op *);
    int (*GetVariadicOutputMinArity)(const struct ort_custom_op *);
    int (*GetVariadicOutputHomogeneity)(const struct ort_custom_op *);
    OrtStatus *(*CreateKernelV2)(const struct ort_custom_op *, const void *api, const void *info, void **kernel);
    OrtStatus *(*KernelComputeV2)(void *, OrtKernelContext *);
    OrtStatus *(*InferOutputShapeFn)(const struct ort_custom_op *, void *);
    int (*GetStartVersion)(const struct ort_custom_op *);
    int (*GetEndVersion)(const struct ort_custom_op *);
    UNUSED(21, 24)
};

struct ort_api {
    OrtStatus *(*CreateStatus)(int code, const char *message);
    UNUSED(1, 1)
    const char *(*GetErrorMessage)(const OrtStatus *);
    UNUSED(3, 25)
    OrtStatus *(*CreateCustomOpDomain)(const char *domain, OrtCustomOpDomain **);
    OrtStatus *(*CustomOpDomain_Add)(OrtCustomOpDomain *, const struct ort_custom_op *);
    UNUSED(28, 50)
    OrtStatus *(*GetTensorMutableData)(OrtValue *, void **data);
    UNUSED(52, 54)
    OrtStatus *(*CastTypeInfoToTensorInfo)(const OrtTypeInfo *, const OrtShape **);
    UNUSED(56, 59)
    OrtStatus *(*GetTensorElementType)(const OrtShape *, int *type);
    OrtStatus *(*GetDimensionsCount)(const OrtShape *, size_t *count);
    OrtStatus *(*GetDimensions)(const OrtShape *, int64_t *sizes, size_t count);
    UNUSED(63, 64)
    OrtStatus *(*GetTensorTypeAndShape)(const OrtValue *, OrtShape **);
    UNUSED(66, 87)
    OrtStatus *(*KernelContext_GetInputCount)(const OrtKernelContext *, size_t *count);
    OrtStatus *(*KernelContext_GetOutputCount)(const OrtKernelContext *, size_t *count);
    OrtStatus *(*KernelContext_GetInput)(const OrtKernelContext *, size_t n, const OrtValue **);
    OrtStatus *(*KernelContext_GetOutput)(OrtKernelContext *, size_t n, const int64_t *sizes, size_t count,
                                          OrtValue **);
    UNUSED(92, 92)
    void (*ReleaseStatus)(OrtStatus *);
    UNUSED(94, 95)
    void (*ReleaseValue)(OrtValue *);
    UNUSED(97, 98)
    void (*ReleaseTensorTypeAndShapeInfo)(OrtShape *);
    UNUSED(100, 100)
    void (*ReleaseCustomOpDomain)(OrtCustomOpDomain *);
    UNUSED(102, 236)
    OrtStatus *(*HasSessionConfigEntry)(const OrtSessionOptions *, const char *key, int *has);
    OrtStatus *(*GetSessionConfigEntry)(const OrtSessionOptions *, const char *key, char *value, size_t *bytes);
    UNUSED(239, 246)
    OrtStatus *(*Logger_LogMessage)(const OrtLogger *, int level, const char *message, const char *file, int line,
                                    const char *function);
    UNUSED(248, 271)
    OrtStatus *(*ReadOpAttr)(const OrtOpAttr *, int type, void *data, size_t bytes, size_t *wanted);
    UNUSED(273, 288)
    OrtStatus *(*GetValueInfoName)(const OrtValueInfo *, const char **name);
    OrtStatus *(*GetValueInfoTypeInfo)(const OrtValueInfo *, const OrtTypeInfo **);
    UNUSED(291, 306)
    int (*HardwareDevice_Type)(const OrtHardwareDevice *);
    UNUSED(308, 316)
    const struct ort_ep_api *(*GetEpApi)(void);
    UNUSED(318, 325)
    OrtStatus *(*ValueInfo_GetInitializerValue)(const OrtValueInfo *, const OrtValue **);
    UNUSED(327, 330)
    OrtStatus *(*ValueInfo_IsConstantInitializer)(const OrtValueInfo *, bool *is);
    UNUSED(332, 337)
    OrtStatus *(*Graph_GetNumInputs)(const OrtGraph *, size_t *count);
    OrtStatus *(*Graph_GetInputs)(const OrtGraph *, const OrtValueInfo **, size_t count);
    OrtStatus *(*Graph_GetNumOutputs)(const OrtGraph *, size_t *count);
    OrtStatus *(*Graph_GetOutputs)(const OrtGraph *, const OrtValueInfo **, size_t count);
    OrtStatus *(*Graph_GetNumInitializers)(const OrtGraph *, size_t *count);
    OrtStatus *(*Graph_GetInitializers)(const OrtGraph *, const OrtValueInfo **, size_t count);
    OrtStatus *(*Graph_GetNumNodes)(const OrtGraph *, size_t *count);
    OrtStatus *(*Graph_GetNodes)(const OrtGraph *, const OrtNode **, size_t count);
    UNUSED(346, 348)
    OrtStatus *(*Node_GetName)(const OrtNode *, const char **name);
    OrtStatus *(*Node_GetOperatorType)(const OrtNode *, const char **type);
    OrtStatus *(*Node_GetDomain)(const OrtNode *, const char **domain);
    OrtStatus *(*Node_GetSinceVersion)(const OrtNode *, int *version);
    OrtStatus *(*Node_GetNumInputs)(const OrtNode *, size_t *count);
    OrtStatus *(*Node_GetInputs)(const OrtNode *, const OrtValueInfo **, size_t count);
    OrtStatus *(*Node_GetNumOutputs)(const OrtNode *, size_t *count);
    OrtStatus *(*Node_GetOutputs)(const OrtNode *, const OrtValueInfo **, size_t count);
    OrtStatus *(*Node_GetNumImplicitInputs)(const OrtNode *, size_t *count);
    UNUSED(358, 360)
    OrtStatus *(*Node_GetAttributeByName)(const OrtNode *, const char *name, const OrtOpAttr **);
    OrtStatus *(*OpAttr_GetTensorAttributeAsOrtValue)(const OrtOpAttr *, OrtValue **);
    OrtStatus *(*OpAttr_GetType)(const OrtOpAttr *, int *type);
    UNUSED(364, 364)
    OrtStatus *(*Node_GetNumSubgraphs)(const OrtNode *, size_t *count);
    OrtStatus *(*Node_GetSubgraphs)(const OrtNode *, const OrtGraph **, size_t count, const char **names);
    UNUSED(367, 377)
    OrtStatus *(*GetTensorData)(const OrtValue *, const void **data);
};
_Static_assert(offsetof(struct ort_api, ReleaseCustomOpDomain) == 101 * sizeof(void *), "the end of version 1");
_Static_assert(offsetof(struct ort_api, GetSessionConfigEntry) == 238 * sizeof(void *), "the end of version 14");
_Static_assert(offsetof(struct ort_api, GetEpApi) == 317 * sizeof(void *), "the end of version 22");
_Static_assert(offsetof(struct ort_api, GetTensorData) == 378 * sizeof(void *), "version 23");

struct ort_api_base {
    const struct ort_api *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
};

/* The table for providers. `options` may be NULL */
struct ort_ep_api {
    OrtStatus *(*CreateEpDevice)(struct ort_factory *, const OrtHardwareDevice *, const OrtKeyValuePairs *metadata,
                                 const OrtKeyValuePairs *options, OrtEpDevice **);
    UNUSED(1, 1)
    OrtStatus *(*EpGraphSupportInfo_AddNodesToFuse)(OrtSupport *, const OrtNode *const *, size_t count,
                                                    const void *options);
};

/* A compiled node. */
struct ort_compute {
    uint32_t ort_version_supported;
    OrtStatus *(*CreateState)(struct ort_compute *, const void *context, void **state);
    OrtStatus *(*Compute)(struct ort_compute *, void *state, OrtKernelContext *);
    void (*ReleaseState)(struct ort_compute *, void *state);
};

/* A provider of a session. Members that are NULL have defaults. */
struct ort_ep {
    uint32_t ort_version_supported;
    const char *(*GetName)(const struct ort_ep *);
    OrtStatus *(*GetCapability)(struct ort_ep *, const OrtGraph *, OrtSupport *);
    OrtStatus *(*Compile)(struct ort_ep *, const OrtGraph **, const OrtNode **fused, size_t count,
                          struct ort_compute **made, OrtNode **context_nodes);
    void (*ReleaseNodeComputeInfos)(struct ort_ep *, struct ort_compute **, size_t count);
    UNUSED(5, 25)
};

struct ort_factory {
    uint32_t ort_version_supported;
    const char *(*GetName)(const struct ort_factory *);
    const char *(*GetVendor)(const struct ort_factory *);
    OrtStatus *(*GetSupportedDevices)(struct ort_factory *, const OrtHardwareDevice *const *, size_t count,
                                      OrtEpDevice **made, size_t most, size_t *number);
    OrtStatus *(*CreateEp)(struct ort_factory *, const OrtHardwareDevice *const *,
                           const OrtKeyValuePairs *const *metadata, size_t count, const OrtSessionOptions *,
                           const OrtLogger *, struct ort_ep **);
    void (*ReleaseEp)(struct ort_factory *, struct ort_ep *);
    uint32_t (*GetVendorId)(const struct ort_factory *);
    const char *(*GetVersion)(const struct ort_factory *);
    void *ValidateCompiledModelCompatibilityInfo;
    OrtStatus *(*CreateAllocator)(struct ort_factory *, const void *info, const OrtKeyValuePairs *, void **allocator);
    void (*ReleaseAllocator)(struct ort_factory *, void *allocator);
    OrtStatus *(*CreateDataTransfer)(struct ort_factory *, void **transfer);
    bool (*IsStreamAware)(const struct ort_factory *);
    UNUSED(13, 15)
    OrtStatus *(*GetNumCustomOpDomains)(struct ort_factory *, size_t *count);
    OrtStatus *(*GetCustomOpDomains)(struct ort_factory *, OrtCustomOpDomain **, size_t count);
    UNUSED(18, 25)
};

#endif
