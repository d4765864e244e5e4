/* The interface that ggml and its backends implement. ggml has it in ggml-backend-impl.h, which it does not install.
   Names and layout are from there: Copyright (c) 2023-2026 The ggml authors, MIT License. Versions 2 to 6 have the same
   layout of these structs. The version that ggml wants is GGML_BACKEND_API_VERSION, the option `interface`. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <ggml-backend.h>

#ifndef GGML_BACKEND_API_VERSION
#define GGML_BACKEND_API_VERSION 2
#endif

struct ggml_backend_i {
    const char *(*get_name)(ggml_backend_t);
    void (*free)(ggml_backend_t);
    void (*set_tensor_async)(void);
    void (*get_tensor_async)(void);
    void (*set_tensor_2d_async)(void);
    void (*get_tensor_2d_async)(void);
    void (*cpy_tensor_async)(void);
    void (*synchronize)(ggml_backend_t);
    void (*graph_plan_create)(void);
    void (*graph_plan_free)(void);
    void (*graph_plan_update)(void);
    void (*graph_plan_compute)(void);
    enum ggml_status (*graph_compute)(ggml_backend_t, struct ggml_cgraph *);
    void (*event_record)(void);
    void (*event_wait)(void);
    void (*graph_optimize)(void);
};

struct ggml_backend {
    ggml_guid_t guid;
    struct ggml_backend_i iface;
    ggml_backend_dev_t device;
    void *context;
};

struct ggml_backend_device_i {
    const char *(*get_name)(ggml_backend_dev_t);
    const char *(*get_description)(ggml_backend_dev_t);
    void (*get_memory)(ggml_backend_dev_t, size_t *free, size_t *total);
    enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t);
    void (*get_props)(ggml_backend_dev_t, struct ggml_backend_dev_props *);
    ggml_backend_t (*init_backend)(ggml_backend_dev_t, const char *params);
    ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t);
    ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t);
    ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t, void *, size_t size, size_t max_tensor_size);
    bool (*supports_op)(ggml_backend_dev_t, const struct ggml_tensor *);
    bool (*supports_buft)(ggml_backend_dev_t, ggml_backend_buffer_type_t);
    bool (*offload_op)(ggml_backend_dev_t, const struct ggml_tensor *);
    void (*event_new)(void);
    void (*event_free)(void);
    void (*event_synchronize)(void);
};

struct ggml_backend_device {
    struct ggml_backend_device_i iface;
    ggml_backend_reg_t reg;
    void *context;
};

struct ggml_backend_reg_i {
    const char *(*get_name)(ggml_backend_reg_t);
    size_t (*get_device_count)(ggml_backend_reg_t);
    ggml_backend_dev_t (*get_device)(ggml_backend_reg_t, size_t index);
    void *(*get_proc_address)(ggml_backend_reg_t, const char *name);
};

struct ggml_backend_reg {
    int api_version;
    struct ggml_backend_reg_i iface;
    void *context;
};

#endif
