/* Repeats calls of kernels with PyTorch's tensors, which Python code has checked before (_repeat.py, _autograd.py).

   A record of a call has the layouts of its tensors. A later call with tensors of the same layouts differs only in
   addresses, so the functions below compare layouts, allocate results and call the kernel. They use no header and no
   symbol of Python or PyTorch, so one library serves all versions: Python fills in a table of functions of its stable
   ABI, and a tensor's layout comes from PyTorch's table of functions for DLPack. */
#include "../attnrt.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    F(object *, PyUnicode_InternFromString, (const char *)) \
    F(object *, PyCapsule_New, (void *, const char *, void (*)(object *))) \
    F(void *, PyCapsule_GetPointer, (object *, const char *)) \
    F(object *, PyCFunction_NewEx, (void *, object *, object *)) \
    F(object *, PyErr_Occurred, (void)) \
    F(void, PyErr_Clear, (void)) \
    F(void *, PyEval_SaveThread, (void)) \
    F(void, PyEval_RestoreThread, (void *))

#define MEMBER(result, name, arguments) result(*name) arguments;
static struct {
    PYTHON(MEMBER)
} py;

#define NAME(result, name, arguments) #name " "
EXPORTED const char *attnc_tensors_names(void);
const char *attnc_tensors_names(void)
{
    return PYTHON(NAME);
}

EXPORTED void attnc_tensors_fill(void *const *functions);
void attnc_tensors_fill(void *const *functions)
{
    memcpy(&py, functions, sizeof py);
}

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
    F(apply)        /* the function apply of the subclass of torch.autograd.Function */ \
    F(empty_like)   /* torch.empty_like */ \
    F(grad_enabled) /* torch.is_grad_enabled */ \
    F(threads)      /* torch.get_num_threads */ \
    F(autocast)     /* torch.is_autocast_enabled, and its argument */ \
    F(cpu) \
    F(interpreter)    /* torch._C._functorch.peek_interpreter_stack */ \
    F(dispatch_modes) /* torch._C._len_torch_dispatch_stack */ \
    F(forward_ad)     /* the module torch.autograd.forward_ad */ \
    F(parallel)       /* parallel of _autograd.py */ \
    F(local)          /* _local of _threads.py */ \
    F(make_room)      /* a function: makes _local.place, of a workspace of at least this size */ \
    F(differentiate)  /* a function: backward of a call without a record */ \
    F(check)          /* a function: raises the exception of an error of a kernel */

#define OBJECT(name) object *name;
static struct {
    GIVEN(OBJECT)
} given;

#define WORDS(F) \
    F(requires_grad) \
    F(is_neg) \
    F(_current_level) F(now) F(place) F(save_for_backward) F(saved_tensors) F(needs_input_grad) F(of) F(record)
static struct {
    WORDS(OBJECT)
} words;

static const struct exchange *exchange;

/* ---- records */

enum { MAX_AXES = 4, TENSORS = 6, MAX_GRADIENTS = 4 };
enum tensor_of_call { Q, K, V, OUT, SAVED, DOUT }; /* the order of tensors in a record, and of the saved ones */

struct layout {
    int32_t axes, type;
    int64_t shape[MAX_AXES], strides[MAX_AXES];
};

struct record {
    unsigned process; /* a forked process makes its own records, because it has none of the threads */
    bool differentiable;
    bool wanted[3]; /* the gradients that backward computes, of q, k and v */
    int tensors;    /* 3 for forward, or 6 */
    uintptr_t unaligned;
    struct layout layouts[TENSORS];
    const struct attn_problem *problem;
    const void *params;
    void *function;
    object *owner;                    /* keeps `problem` and `params` */
    object *empty;                    /* makes `out` from q */
    object *saved_like;               /* a tensor like the saved values, or NULL */
    object *of;                       /* what Python's backward needs */
    object *gradients[MAX_GRADIENTS]; /* records of backward; the oldest is replaced */
    unsigned next;
};

struct room { /* a member of _Room in _threads.py */
    int64_t bytes;
    void *address;
};

static unsigned process; /* counts the forks that led to this process */

static const char word_of_record[] = "attnc.record";

static object *kept(object *one)
{
    if (one != NULL) py.Py_IncRef(one);
    return one;
}

static void release(object *one)
{
    if (one != NULL) py.Py_DecRef(one);
}

static struct record *record_of(object *capsule)
{
    return py.PyCapsule_GetPointer(capsule, word_of_record);
}

static void forget(object *capsule)
{
    struct record *const record = record_of(capsule);
    release(record->owner);
    release(record->empty);
    release(record->saved_like);
    release(record->of);
    for (int k = 0; k < MAX_GRADIENTS; k++) release(record->gradients[k]);
    free(record);
}

/* ---- objects of Python */

/* Returns the truth of an object, and releases it. An exception counts as `otherwise`. */
static bool truth(object *one, bool otherwise)
{
    const int made = one == NULL ? -1 : py.PyObject_IsTrue(one);
    release(one);
    if (made >= 0) return made;
    py.PyErr_Clear();
    return otherwise;
}

static bool is_none(object *one)
{
    const bool made = one == given.none;
    release(one);
    if (one == NULL) py.PyErr_Clear();
    return made;
}

static long long number(object *one)
{
    const long long made = one == NULL ? -1 : py.PyLong_AsLongLong(one);
    release(one);
    if (one == NULL || made == -1) py.PyErr_Clear();
    return made;
}

/* ---- layouts */

/* Returns true if `one` is a plain tensor on the CPU with at most MAX_AXES axes, and its view. */
static bool view(object *one, struct tensor *made)
{
    object *const type = py.PyObject_Type(one);
    py.Py_DecRef(type); /* the object keeps it */
    if (type != given.tensor && type != given.parameter) return false;
    if (exchange->view(one, made) != 0) {
        py.PyErr_Clear(); /* a sparse tensor, for example */
        return false;
    }
    return made->device == OF_CPU && made->axes <= MAX_AXES &&
           !truth(py.PyObject_CallMethodObjArgs(one, words.is_neg, NULL), true);
}

static void *address(const struct tensor *of)
{
    return (char *)of->data + of->offset;
}

static int32_t number_of_type(const struct tensor *of)
{
    return of->type.code << 8 | of->type.bits;
}

static bool fits(const struct tensor *of, const struct layout *layout)
{
    const size_t bytes = (size_t)of->axes * sizeof *of->shape;
    return of->axes == layout->axes && number_of_type(of) == layout->type &&
           memcmp(of->shape, layout->shape, bytes) == 0 && memcmp(of->strides, layout->strides, bytes) == 0;
}

static bool all_fit(const struct record *record, const struct tensor *tensors)
{
    if (record->process != process) return false;
    for (int k = 0; k < record->tensors; k++)
        if (!fits(&tensors[k], &record->layouts[k])) return false;
    return true;
}

static bool any_unaligned(const struct record *record, const struct tensor *tensors)
{
    uintptr_t bits = 0;
    for (int k = 0; k < record->tensors; k++) bits |= (uintptr_t)address(&tensors[k]);
    return (bits & record->unaligned) != 0;
}

/* ---- calls */

/* Returns true if no transformation, no tracing and no ContextParallel is active. */
static bool is_undisturbed(void)
{
    return is_none(py.PyObject_CallObject(given.interpreter, NULL)) &&
           number(py.PyObject_CallObject(given.dispatch_modes, NULL)) == 0 &&
           is_none(py.PyObject_GetAttr(given.parallel, words.now));
}

/* Returns a workspace of this thread, or NULL with an exception. */
static void *room_of(size_t bytes)
{
    object *place = py.PyObject_GetAttr(given.local, words.place);
    if (place == NULL) py.PyErr_Clear();
    const struct room *room = place == NULL ? NULL : py.PyLong_AsVoidPtr(place);
    release(place);
    if (room == NULL || room->bytes < (int64_t)bytes) {
        object *const size = py.PyLong_FromLongLong((long long)bytes);
        place = size == NULL ? NULL : py.PyObject_CallFunctionObjArgs(given.make_room, size, NULL);
        release(size);
        if (place == NULL) return NULL;
        room = py.PyLong_AsVoidPtr(place);
        py.Py_DecRef(place);
    }
    return room->address;
}

/* Returns false with an exception if the call failed. `made` are the addresses of dq, dk and dv for backward. */
static bool run(const struct record *record, const struct tensor *tensors, void *saved, void *const made[3])
{
    struct attn_problem problem = *record->problem; /* several threads may use a record */
    problem.saved = saved;
    void *const room = room_of(problem.workspace_bytes), *at[TENSORS];
    if (room == NULL) return false;
    for (int k = 0; k < TENSORS; k++) at[k] = k < record->tensors || k == OUT ? address(&tensors[k]) : NULL;
    void *const state = py.PyEval_SaveThread();
    int error;
    if (made == NULL) {
        int (*forward)(const struct attn_problem *, const void *, const void *, const void *, const void *, void *,
                       void *);
        memcpy(&forward, &record->function, sizeof forward);
        error = forward(&problem, record->params, at[Q], at[K], at[V], at[OUT], room);
    } else {
        int (*backward)(const struct attn_problem *, const void *, const void *, const void *, const void *,
                        const void *, const void *, void *, void *, void *, void *, void *);
        memcpy(&backward, &record->function, sizeof backward);
        error = backward(&problem, record->params, at[Q], at[K], at[V], at[OUT], at[DOUT], made[0], made[1], made[2],
                         NULL, room);
    }
    py.PyEval_RestoreThread(state);
    if (error == 0) return true;
    object *const code = py.PyLong_FromLongLong(error);
    if (code != NULL) release(py.PyObject_CallFunctionObjArgs(given.check, record->owner, code, NULL));
    release(code);
    return false;
}

/* Returns out, or NULL with an exception. tensors[OUT] becomes its view. With `saved`, the call writes the saved values
   to a new tensor *saved. */
static object *attend(const struct record *record, object *q, struct tensor *tensors, object **saved)
{
    object *out = py.PyObject_CallFunctionObjArgs(record->empty, q, NULL);
    if (out == NULL) return NULL;
    struct tensor of_saved = {.data = NULL};
    if (saved != NULL) {
        *saved = py.PyObject_CallFunctionObjArgs(given.empty_like, record->saved_like, NULL);
        if (*saved == NULL || exchange->view(*saved, &of_saved) != 0) goto failed;
    }
    if (exchange->view(out, &tensors[OUT]) != 0 || !run(record, tensors, address(&of_saved), NULL)) goto failed;
    return out;
failed:
    py.Py_DecRef(out);
    if (saved != NULL) release(*saved);
    return NULL;
}

static bool serves(const struct record *record, const struct tensor *tensors, bool differentiable)
{
    return record->differentiable == differentiable && all_fit(record, tensors) && !any_unaligned(record, tensors) &&
           record->problem->threads == number(py.PyObject_CallObject(given.threads, NULL));
}

/* call(records, q, k, v) returns the result, or None if there is no record for it. */
static object *call(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)count;
    object *const records = arguments[0], *const *const inputs = arguments + 1;
    const intptr_t known = py.PyList_Size(records);
    struct tensor tensors[TENSORS];
    if (known == 0 || !is_undisturbed() ||
        truth(py.PyObject_CallFunctionObjArgs(given.autocast, given.cpu, NULL), true) ||
        number(py.PyObject_GetAttr(given.forward_ad, words._current_level)) != -1)
        return kept(given.none);
    bool differentiable = false;
    for (int k = 0; k < 3; k++) {
        if (!view(inputs[k], &tensors[k])) return kept(given.none);
        differentiable = differentiable || truth(py.PyObject_GetAttr(inputs[k], words.requires_grad), false);
    }
    differentiable = differentiable && truth(py.PyObject_CallObject(given.grad_enabled, NULL), false);
    object *capsule = NULL;
    for (intptr_t k = known; k-- > 0 && capsule == NULL;) {
        capsule = kept(py.PyList_GetItem(records, k)); /* another thread may shorten the list meanwhile */
        if (capsule == NULL) {
            py.PyErr_Clear();
        } else if (!serves(record_of(capsule), tensors, differentiable)) {
            release(capsule);
            capsule = NULL;
        }
    }
    if (capsule == NULL) return kept(given.none);
    object *const made = differentiable ? py.PyObject_CallFunctionObjArgs(given.apply, capsule, inputs[0], inputs[1],
                                                                          inputs[2], NULL)
                                        : attend(record_of(capsule), inputs[0], tensors, NULL);
    py.Py_DecRef(capsule);
    return made;
}

/* forward(ctx, record, q, k, v) of the subclass of torch.autograd.Function. */
static object *forward(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)count;
    object *const ctx = arguments[0], *const *const inputs = arguments + 2, *saved = NULL;
    const struct record *const record = record_of(arguments[1]);
    struct tensor tensors[TENSORS];
    for (int k = 0; k < 3; k++)
        if (exchange->view(inputs[k], &tensors[k]) != 0) return NULL;
    object *const out = attend(record, inputs[0], tensors, &saved);
    if (out == NULL) return NULL;
    object *const done = py.PyObject_CallMethodObjArgs(ctx, words.save_for_backward, inputs[0], inputs[1], inputs[2],
                                                       out, saved, NULL);
    const bool failed = done == NULL || py.PyObject_SetAttr(ctx, words.of, record->of) != 0 ||
                        py.PyObject_SetAttr(ctx, words.record, arguments[1]) != 0;
    release(done);
    py.Py_DecRef(saved);
    if (!failed) return out;
    py.Py_DecRef(out);
    return NULL;
}

/* Returns the record of backward for these tensors, or NULL. */
static object *record_of_gradients(const struct record *of, const struct tensor *tensors, const bool wanted[3])
{
    for (int k = 0; k < MAX_GRADIENTS && of->gradients[k] != NULL; k++) {
        const struct record *const record = record_of(of->gradients[k]);
        if (memcmp(record->wanted, wanted, sizeof record->wanted) == 0 && all_fit(record, tensors) &&
            !any_unaligned(record, tensors) && (uintptr_t)address(&tensors[SAVED]) % 64 == 0)
            return of->gradients[k];
    }
    return NULL;
}

/* Returns (None, dq, dk, dv), or NULL with an exception. A gradient that is not wanted is None. */
static object *differentiate(const struct record *record, object *const *inputs, const struct tensor *tensors)
{
    object *const results = py.PyTuple_New(4);
    if (results == NULL) return NULL;
    py.PyTuple_SetItem(results, 0, kept(given.none));
    void *at[3] = {NULL};
    for (int k = 0; k < 3; k++) {
        object *const made = record->wanted[k] ? py.PyObject_CallFunctionObjArgs(given.empty_like, inputs[k], NULL)
                                               : kept(given.none);
        if (made == NULL) goto failed;
        py.PyTuple_SetItem(results, k + 1, made);
        struct tensor of_made;
        if (!record->wanted[k]) continue;
        if (exchange->view(made, &of_made) != 0) goto failed;
        at[k] = address(&of_made);
    }
    if (run(record, tensors, address(&tensors[SAVED]), at)) return results;
failed:
    py.Py_DecRef(results);
    return NULL;
}

/* backward(ctx, dout) of the subclass of torch.autograd.Function. */
static object *backward(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)count;
    object *const ctx = arguments[0], *const dout = arguments[1];
    object *const saved = py.PyObject_GetAttr(ctx, words.saved_tensors), *capsule = NULL, *made = NULL;
    if (saved == NULL) return NULL;
    object *const needs = py.PyObject_GetAttr(ctx, words.needs_input_grad);
    object *const of = py.PyObject_GetAttr(ctx, words.record);
    if (needs == NULL || of == NULL) goto end;
    struct tensor tensors[TENSORS];
    object *inputs[TENSORS];
    bool wanted[3], plain = py.PyTuple_Size(saved) == DOUT && is_undisturbed() &&
                            !truth(py.PyObject_CallObject(given.grad_enabled, NULL), true);
    for (int k = 0; k < TENSORS && plain; k++) {
        inputs[k] = k == DOUT ? dout : py.PyTuple_GetItem(saved, k);
        plain = view(inputs[k], &tensors[k]);
    }
    for (int k = 0; k < 3 && plain; k++)
        wanted[k] = py.PyTuple_GetItem(needs, k + 1) != NULL &&
                    py.PyObject_IsTrue(py.PyTuple_GetItem(needs, k + 1)) == 1;
    if (plain) capsule = kept(record_of_gradients(record_of(of), tensors, wanted));
    made = capsule != NULL ? differentiate(record_of(capsule), inputs, tensors)
                           : py.PyObject_CallFunctionObjArgs(given.differentiate, ctx, saved, dout, NULL);
    release(capsule);
end:
    release(needs);
    release(of);
    py.Py_DecRef(saved);
    return made;
}

/* ---- functions for Python */

/* Makes a record of a checked call. Returns a capsule, None if no record can be made, or NULL with an exception.

   owner, problem, params, function: of the call
   tensors: (q, k, v), or (q, k, v, out, saved, dout) for backward
   wanted: for backward, whether to compute dq, dk and dv
   empty, saved_like, of: None if the record needs none. A call without saved_like cannot be differentiated */
EXPORTED object *attnc_tensors_record(object *owner, void *problem, void *params, void *function, object *tensors,
                                      int64_t unaligned, const bool *wanted, object *empty, object *saved_like,
                                      object *of);
object *attnc_tensors_record(object *owner, void *problem, void *params, void *function, object *tensors,
                             int64_t unaligned, const bool *wanted, object *empty, object *saved_like, object *of)
{
    struct record *const record = calloc(1, sizeof *record);
    if (record == NULL) return kept(given.none);
    record->process = process;
    record->differentiable = saved_like != given.none;
    record->tensors = (int)py.PyTuple_Size(tensors);
    record->unaligned = (uintptr_t)unaligned;
    record->problem = problem;
    record->params = params;
    record->function = function;
    memcpy(record->wanted, wanted, sizeof record->wanted);
    for (int k = 0; k < record->tensors; k++) {
        struct tensor one;
        struct layout *const layout = &record->layouts[k];
        if (!view(py.PyTuple_GetItem(tensors, k), &one)) {
            free(record);
            return kept(given.none);
        }
        layout->axes = one.axes;
        layout->type = number_of_type(&one);
        memcpy(layout->shape, one.shape, (size_t)one.axes * sizeof *one.shape);
        memcpy(layout->strides, one.strides, (size_t)one.axes * sizeof *one.strides);
    }
    record->owner = kept(owner);
    record->empty = kept(empty);
    record->saved_like = kept(saved_like);
    record->of = kept(of);
    return py.PyCapsule_New(record, word_of_record, forget);
}

/* Adds a record of backward to that of forward. */
EXPORTED void attnc_tensors_add(object *forward_record, object *backward_record);
void attnc_tensors_add(object *forward_record, object *backward_record)
{
    struct record *const record = record_of(forward_record);
    object **const place = &record->gradients[record->next++ % MAX_GRADIENTS], *const before = *place;
    *place = kept(backward_record);
    release(before);
}

static void count_fork(void)
{
    process++;
}

static void register_count(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* A PyMethodDef of Python's stable ABI. */
struct method {
    const char *name;
    object *(*function)(object *, object *const *, intptr_t);
    int flags;
    const char *text;
};
enum { METH_FASTCALL = 0x80 };

/* Returns (call, forward, backward), or NULL with an exception or without one. `objects` has the members of `given`,
   and `api` is PyTorch's table of functions for DLPack. */
EXPORTED object *attnc_tensors_begin(object *objects, const void *api);
object *attnc_tensors_begin(object *objects, const void *api)
{
    static struct method methods[] = {{"call", call, METH_FASTCALL, NULL},
                                      {"forward", forward, METH_FASTCALL, NULL},
                                      {"backward", backward, METH_FASTCALL, NULL}};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_count);
    exchange = api;
    intptr_t at = 0;
#define TAKE(name) given.name = kept(py.PyTuple_GetItem(objects, at++));
    GIVEN(TAKE)
#define INTERN(name) words.name = py.PyUnicode_InternFromString(#name);
    WORDS(INTERN)
    if (exchange->major != DLPACK_MAJOR || py.PyTuple_Size(objects) != at || py.PyErr_Occurred() != NULL) return NULL;
    object *const made = py.PyTuple_New(3);
    for (int k = 0; k < 3 && made != NULL; k++)
        py.PyTuple_SetItem(made, k, py.PyCFunction_NewEx(&methods[k], NULL, NULL));
    return made;
}
