/* Shared by the files of the library for PyTorch's tensors (tensors.c, sdpa.c). */
#ifndef ATTNC_TENSORS_H
#define ATTNC_TENSORS_H

#include "../attnrt.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct object object; /* PyObject */

/* Functions of Python's stable ABI: result, name, arguments. */
#define PYTHON(F) \
    F(void, Py_IncRef, (object *)) \
    F(void, Py_DecRef, (object *)) \
    F(object *, PyObject_Type, (object *)) \
    F(object *, PyObject_GetAttr, (object *, object *)) \
    F(int, PyObject_SetAttr, (object *, object *, object *)) \
    F(int, PyObject_IsTrue, (object *)) \
    F(object *, PyObject_GetItem, (object *, object *)) \
    F(intptr_t, PyObject_Size, (object *)) \
    F(object *, PyObject_CallObject, (object *, object *)) \
    F(object *, PyObject_CallFunctionObjArgs, (object *, ...)) \
    F(object *, PyObject_CallMethodObjArgs, (object *, object *, ...)) \
    F(object *, PyTuple_New, (intptr_t)) \
    F(int, PyTuple_SetItem, (object *, intptr_t, object *)) \
    F(object *, PyTuple_GetItem, (object *, intptr_t)) \
    F(intptr_t, PyTuple_Size, (object *)) \
    F(object *, PyList_GetItem, (object *, intptr_t)) \
    F(intptr_t, PyList_Size, (object *)) \
    F(object *, PyLong_FromLongLong, (long long)) \
    F(long long, PyLong_AsLongLong, (object *)) \
    F(void *, PyLong_AsVoidPtr, (object *)) \
    F(double, PyFloat_AsDouble, (object *)) \
    F(object *, PyUnicode_InternFromString, (const char *)) \
    F(object *, PyCapsule_New, (void *, const char *, void (*)(object *))) \
    F(void *, PyCapsule_GetPointer, (object *, const char *)) \
    F(object *, PyCFunction_NewEx, (void *, object *, object *)) \
    F(object *, PyErr_Occurred, (void)) \
    F(void, PyErr_Clear, (void)) \
    F(int, PyErr_ExceptionMatches, (object *)) \
    F(void, PyErr_Fetch, (object **, object **, object **)) \
    F(void, PyErr_NormalizeException, (object **, object **, object **)) \
    F(void, PyErr_SetObject, (object *, object *)) \
    F(int, Py_AddPendingCall, (int (*)(void *), void *)) \
    F(void *, PyEval_SaveThread, (void)) \
    F(void, PyEval_RestoreThread, (void *)) \
    F(object *, PyLong_FromVoidPtr, (void *)) \
    F(int, PyGILState_Ensure, (void)) \
    F(void, PyGILState_Release, (int))

/* A table of functions, which Python fills in, and the text of their names in its order (fill in _tensors.py). */
#define MEMBER(result, name, arguments) result(*name) arguments;
#define NAME(result, name, arguments) #name " "
extern struct functions {
    PYTHON(MEMBER)
} py;

/* ---- structs of DLPack 1.x, with the members that are used here */

enum { OF_CPU = 1, DLPACK_MAJOR = 1 };

struct tensor { /* DLTensor */
    void *data;
    int32_t device, device_id;
    int32_t axes;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *shape, *strides;
    uint64_t offset;
};

struct exchange { /* DLPackExchangeAPI */
    uint32_t major, minor;
    void *previous, *allocate, *managed_from, *managed_to;
    int (*view)(void *object, struct tensor *made); /* dltensor_from_py_object_no_sync */
};

/* ---- what Python gives */

/* Members of the tuple that attnc_tensors_begin takes, in this order. */
#define GIVEN(F) \
    F(none) \
    F(tensor) /* the types torch.Tensor and torch.nn.Parameter */ \
    F(parameter) \
    F(real) /* the types float and int */ \
    F(integer) \
    F(apply)        /* the function apply of the subclass of torch.autograd.Function */ \
    F(empty_like)   /* torch.empty_like */ \
    F(grad_enabled) /* torch.is_grad_enabled */ \
    F(threads)      /* torch.get_num_threads */ \
    F(autocast)     /* torch.is_autocast_enabled, and its argument */ \
    F(cpu) \
    F(interpreter)    /* torch._C._functorch.peek_interpreter_stack */ \
    F(dispatch_modes) /* torch._C._len_torch_dispatch_stack */ \
    F(forward_ad)     /* the module torch.autograd.forward_ad */ \
    F(parallel)       /* parallel of _context.py */ \
    F(local)          /* _local of _threads.py */ \
    F(make_room)      /* a function: makes _local.place, of a workspace of at least this size */ \
    F(differentiate)  /* a function: backward of a call without a record */ \
    F(exception)      /* the type Exception, which KeyboardInterrupt is not of */ \
    F(check)          /* a function: raises the exception of an error of a kernel */

#define OBJECT(name) object *name;
extern struct given {
    GIVEN(OBJECT)
} given;

#define WORDS(F) \
    F(requires_grad) \
    F(is_neg) \
    F(_current_level) \
    F(now) F(place) F(save_for_backward) F(saved_tensors) F(numbers) F(needs_input_grad) F(of) F(record)
extern struct words {
    WORDS(OBJECT)
} words;

extern const struct exchange *exchange;

/* ---- records */

enum { MAX_AXES = 4, TENSORS = 6, MAX_GRADIENTS = 4, MAX_EXTRAS = 12, ALL = TENSORS + MAX_EXTRAS, MAX_PARAMS = 512 };
enum tensor_of_call { Q, K, V, OUT, SAVED, DOUT }; /* the order of tensors in a record, and of the saved ones */

struct layout {
    int32_t axes, type;
    int64_t shape[MAX_AXES], strides[MAX_AXES];
};

/* A parameter of the kernel. _tensors.py has the numbers of these kinds. */
enum kind { ABSENT, ARRAY, INTEGER, FLOAT, DOUBLE };
struct extra {
    object *name; /* its key in the arguments of a call */
    enum kind kind;
    size_t at; /* its place in the struct of parameters */
    uintptr_t unaligned;
    int learned;  /* its number among learned parameters, or -1 */
    int key_axis; /* the axis whose extent is the number of keys, or -1 */
};

struct record {
    unsigned process; /* a forked process makes its own records, because it has none of the threads */
    bool differentiable, takes_extras;
    int tensors; /* 3 for forward, or 6 */
    int extras, arrays;
    bool wanted[ALL]; /* the gradients that backward computes: of q, k, v and the arrays of extras */
    uintptr_t unaligned;
    struct layout layouts[ALL]; /* of the tensors, and from TENSORS on of the arrays of extras */
    struct extra extra[MAX_EXTRAS];
    const struct attn_problem *problem;
    const void *params;
    size_t params_bytes;
    void *function;
    /* The kernel's function, or NULL. If it is there, the record also serves other numbers of keys, and keys and values
       with other strides. Then arrays of extras are contiguous. */
    size_t (*workspace)(const struct attn_problem *);
    size_t strides;                   /* of struct attn_kernel */
    object *owner;                    /* keeps `problem` and `params` */
    object *empty;                    /* makes `out` from q */
    object *saved_like;               /* a tensor like the saved values, or None */
    object *of;                       /* what Python's backward needs */
    object *gradients[MAX_GRADIENTS]; /* records of backward; the oldest is replaced */
    unsigned next;
};

/* The arguments of a call. `arrays` and `numbers` are of extras, in their order, and borrowed. */
struct call {
    object *tensors[TENSORS], *arrays[MAX_EXTRAS], *numbers[MAX_EXTRAS];
    int count_of_arrays, count_of_numbers;
    struct tensor views[ALL];
};

/* ---- objects of Python (records.c) ---- */

object *kept(object *one); /* adds a reference, also to NULL */
void release(object *one); /* removes a reference, also of NULL */
/* No function hides an exception of Python that its caller does not expect: it stays set, and the caller looks for it
   with failed() before it calls Python again. */
bool failed(void);     /* an exception is set */
void forgive(void);    /* removes an exception that was expected, but none such as KeyboardInterrupt */
object *nothing(void); /* returns None, or NULL if an exception is set */
/* Returns the truth of an object, and releases it. Returns `otherwise` with an exception. */
bool truth(object *one, bool otherwise);
#define NO_NUMBER LLONG_MIN
long long number(object *one);      /* returns the value of an integer, and releases it. NO_NUMBER with an exception */
bool requires_grad(object *tensor); /* returns tensor.requires_grad, or true with an exception */

/* ---- records (records.c) ---- */

struct record *record_of(object *capsule);
void register_forks(void);     /* counts forks from the first call on */
unsigned process_number(void); /* the number of forks that led to this process */
/* Returns true if `one` is a plain tensor on the CPU with at most MAX_AXES axes, and its view. */
bool view(object *one, struct tensor *made);
void *address(const struct tensor *of);
bool fits(const struct tensor *of, const struct layout *layout);
/* The strides of an array [batch, heads, rows, columns], and whether a kernel can use it in place. */
struct attn_strides strides_of_rows(const int64_t *shape, const int64_t *strides);
bool has_rows_in_place(const int64_t *shape, const int64_t *strides);
/* Returns true if the tensors of a call have the layouts of a record, and are aligned. */
bool all_fit(const struct record *record, const struct call *call);
/* Adds the extras of a call, and whether one of them requires a gradient. Returns false if the record does not fit. */
bool take_extras(const struct record *record, object *extras, struct call *call, bool *differentiable);

#endif
