/* Attention for ONNX Runtime, by kernels of attnc. */
#ifndef PROVIDER_H
#define PROVIDER_H

#include "interface.h"

#include <attnrt.h>
#include <stdarg.h>

#if defined __GNUC__
#define PRINTS(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTS(text, first)
#endif

extern const struct ort_api *ort; /* set when the library is loaded by ONNX Runtime */

/* Returns an error with this text. Releases `status`, which may be NULL. */
OrtStatus *error_of(int code, const char *format, ...) PRINTS(2, 3);
/* Releases a status. Returns true if it was no error. */
bool done(OrtStatus *status);

/* ---- text (text.c) ---- */

/* A text that grows. If memory runs out, `failed` is true from then on. */
struct text {
    char *data;
    size_t length, room;
    bool failed;
};
void text_add(struct text *text, const char *format, ...) PRINTS(2, 3);
void text_free(struct text *text);

/* ---- kernels (kernels.c) ---- */

/* The options of a session. */
struct settings {
    const char *program; /* the program attnc, or NULL: $ATTNC, the folder of this library, or PATH */
    int threads;         /* of a call; 0: as many as OpenMP takes */
    const OrtLogger *logger;
};

/* Returns the kernel for the text of a spec. It is one that is compiled into this library, or one that `attnc build`
   finds or compiles. Returns NULL if there is none, and says why in the log. Kernels stay until the process ends. */
const struct attn_kernel *kernel_of(const struct settings *settings, const char *spec);

/* ---- nodes (node.c) ---- */

enum { MOST_INPUTS = 16, MOST_OUTPUTS = 8, MOST_AXES = 8 };

/* An input or output of a node as the model declares it. */
struct declared {
    const OrtValueInfo *info; /* NULL if the node does not have it */
    const char *name;
    int type, axes;          /* enum ort_type; axes: -1 if they are unknown */
    int64_t size[MOST_AXES]; /* -1 if it is unknown */
};
struct node {
    const OrtNode *node;
    const char *op, *domain;
    int version, inputs, outputs;
    struct declared input[MOST_INPUTS], output[MOST_OUTPUTS];
};

bool declared_of(const OrtValueInfo *info, struct declared *declared);
bool node_of(const OrtNode *from, struct node *node); /* returns false if it has too many inputs or outputs */
bool has_input(const struct node *node, int n);
bool has_output(const struct node *node, int n);
/* These return the attribute, or `otherwise` if the node does not have it. */
int64_t integer_of(const struct node *node, const char *name, int64_t otherwise);
double number_of(const struct node *node, const char *name, double otherwise);
/* Writes an attribute that is a text. Returns false if it is too long. */
bool word_of(const struct node *node, const char *name, const char *otherwise, char *word, size_t bytes);

/* ---- calls (call.c) ---- */

struct plan;

/* A constant of a plan, which is an array of its kernel. */
struct constant {
    char name[8];
    void *data;
};

/* A tensor of a call. */
struct tensor {
    void *data; /* NULL if the call does not have it */
    int type, axes;
    int64_t size[MOST_AXES];
};

/* A call of a node: its tensors, and memory that is free again when it ends. */
struct call {
    const struct plan *plan;
    OrtKernelContext *context;
    struct memory *memory;
    OrtStatus *status; /* the first error, or NULL */
};

struct tensor input_of(struct call *call, int n);
/* Returns an output of these sizes, which ONNX Runtime allocates; without data if the node does not have it. */
struct tensor output_of(struct call *call, int n, int type, int axes, const int64_t *size);
/* Returns memory that is free when the call ends, aligned to 64; NULL with an error if there is none. */
void *take(struct call *call, int64_t bytes);
/* Notes an error, unless there is one. Returns false. */
bool fails(struct call *call, const char *format, ...) PRINTS(2, 3);
int64_t bytes_of(int type); /* returns the bytes of an element; 0: a type without a size that is known here */
int dtype_of(int type);     /* returns the enum attn_dtype, or -1 */

/* Queries, keys, values or results: [batch, heads, rows, size]. */
struct rows {
    char *data;
    int64_t batch, heads, rows, size;
    struct attn_strides at;
};
/* Returns rows of a tensor [B, H, N, D], or [B, N, heads D]; `first` and `count` are elements of a row of such a
   tensor, where count 0 means all. Notes an error if the sizes do not fit. */
struct rows rows_of(struct call *call, const char *name, struct tensor tensor, int64_t heads);
/* Copies rows to rows `first`, first + 1, … of others with as many sequences and heads. */
void copy_rows(const struct rows *to, int64_t first, const struct rows *from, int64_t element);

/* A kernel's parameters, by name. Names that the kernel does not have are ignored. */
struct params {
    const struct attn_kernel *kernel;
    char *params, *strides;
};
bool params_of(struct call *call, const struct attn_kernel *kernel, struct params *params);
void set_array(const struct params *params, const char *name, const void *data, const int64_t *stride);
/* Sets a number of the type that the kernel has, for example an integer. `place` is memory of 8 bytes. */
void set_number(struct call *call, const struct params *params, const char *name, double value);
/* Sets the strides with which the tensor is broadcast to these sizes. Returns false if it cannot be. */
bool set_broadcast(struct call *call, const struct params *params, const char *name, struct tensor tensor,
                   const int64_t *size, int axes);
/* Calls forward. */
bool forward(struct call *call, const struct params *params, struct attn_problem *problem, const struct rows *q,
             const struct rows *k, const struct rows *v, const struct rows *out);

/* ---- operations ---- */

/* How a node is computed. It is immutable, but for the memory of calls that have ended. */
struct plan {
    struct ort_compute compute; /* the first member, so ONNX Runtime's pointer to it is one to the plan */
    void (*run)(struct call *call);
    const struct attn_kernel *kernel, *step;      /* step: LinearAttention's for few tokens */
    int input[MOST_INPUTS], output[MOST_OUTPUTS]; /* their numbers in calls, or -1 */
    int threads;
    _Atomic(struct memory *) *memory; /* of calls of the session that have ended, or NULL */
    /* softmax attention, and contrib operators: sizes and options */
    int64_t heads, kv_heads, head_dim, value_dim, left, right, mode;
    double scale, cap, filter; /* filter: what is added to the logits of padding */
    bool causal, rotates, interleaved, sinks;
    /* LinearAttention: own_sums: each head of q has its own */
    int type, state_type;
    bool by_element, own_sums;
    bool wide; /* computed in f64, although tensors have another type */
    /* FlexAttention: arrays of its subgraphs */
    struct constant *constant;
    int constants;
};

/* Makes the plan for a node. Returns false if this provider does not compute it; ONNX Runtime then does. */
typedef bool make_plan(const struct settings *settings, const struct node *node, struct plan *plan);
make_plan plan_attention, plan_linear, plan_multi_head, plan_group_query, plan_flex;
void plan_free(struct plan *plan);
OrtStatus *plan_call(struct plan *plan, OrtKernelContext *context);
void memory_free(struct memory *memory);

/* ---- specs of softmax attention (spec.c) ---- */

/* A spec whose scale, window and lengths are arguments of a call. */
struct traits {
    int type; /* enum ort_type of queries */
    int64_t head_dim, value_dim;
    int mask; /* enum ort_type of a mask [B, H, Nq, Nk]: ORT_BOOL, or of numbers that are added; 0: none */
    bool cap, sink;
    const char *score;  /* an expression for the logit, in which s is the scaled product; NULL: s */
    const char *seen;   /* a condition of `score`, or NULL */
    const char *factor; /* an expression for what a weight is multiplied by after the division; NULL: 1 */
    const char *arrays; /* declarations of arrays that these read, or NULL */
    int mode;           /* which weights are an output: enum weights */
};
enum weights { NO_WEIGHTS = -1, SCALED, CAPPED, MASKED, WEIGHTS };
const char *dtype_word(int type); /* returns the word of the spec language, or NULL */
/* Returns the text of the spec, which the caller frees; NULL if memory runs out. */
char *spec_of(const struct traits *traits);

#endif
