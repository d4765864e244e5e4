/* Records of calls: layouts of tensors, and how a call differs from a record. */
#include "tensors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned process; /* counts the forks that led to this process */

static const char word_of_record[] = "attnc.record";

object *kept(object *one)
{
    if (one != NULL) py.Py_IncRef(one);
    return one;
}

void release(object *one)
{
    if (one != NULL) py.Py_DecRef(one);
}

struct record *record_of(object *capsule)
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
    for (int k = 0; k < record->extras; k++) release(record->extra[k].name);
    for (int k = 0; k < MAX_GRADIENTS; k++) release(record->gradients[k]);
    free(record);
}

/* ---- objects of Python */

bool failed(void)
{
    return py.PyErr_Occurred() != NULL;
}

void forgive(void)
{
    if (failed() && py.PyErr_ExceptionMatches(given.exception)) py.PyErr_Clear();
}

object *nothing(void)
{
    return failed() ? NULL : kept(given.none);
}

bool truth(object *one, bool otherwise)
{
    const int made = one == NULL ? -1 : py.PyObject_IsTrue(one);
    release(one);
    return made >= 0 ? made : otherwise;
}

long long number(object *one)
{
    const long long made = one == NULL ? NO_NUMBER : py.PyLong_AsLongLong(one);
    release(one);
    return made == -1 && failed() ? NO_NUMBER : made;
}

/* ---- layouts */

bool view(object *one, struct tensor *made)
{
    object *const type = py.PyObject_Type(one);
    py.Py_DecRef(type); /* the object keeps it */
    if (type != given.tensor && type != given.parameter) return false;
    if (exchange->view(one, made) != 0) {
        forgive(); /* a sparse tensor, for example */
        return false;
    }
    return made->device == OF_CPU && made->axes <= MAX_AXES &&
           !truth(py.PyObject_CallMethodObjArgs(one, words.is_neg, NULL), true);
}

void *address(const struct tensor *of)
{
    return (char *)of->data + of->offset;
}

static int32_t number_of_type(const struct tensor *of)
{
    return of->type.code << 8 | of->type.bits;
}

bool fits(const struct tensor *of, const struct layout *layout)
{
    const size_t bytes = (size_t)of->axes * sizeof *of->shape;
    return of->axes == layout->axes && number_of_type(of) == layout->type &&
           memcmp(of->shape, layout->shape, bytes) == 0 && memcmp(of->strides, layout->strides, bytes) == 0;
}

/* Does the same for a contiguous array whose number of keys may be another one. */
static bool fits_with_keys(const struct tensor *of, const struct layout *layout, int key_axis, int64_t keys)
{
    int64_t stride = 1;
    if (of->axes != layout->axes || number_of_type(of) != layout->type) return false;
    for (int k = of->axes; k-- > 0;) {
        const int64_t extent = of->shape[k];
        if (extent != (k == key_axis ? keys : layout->shape[k]) || (extent > 1 && of->strides[k] != stride))
            return false;
        stride *= extent;
    }
    return true;
}

struct attn_strides strides_of_rows(const int64_t *shape, const int64_t *strides)
{
    return (struct attn_strides){shape[0] > 1 ? strides[0] : 0, shape[1] > 1 ? strides[1] : 0,
                                 shape[2] > 1 ? strides[2] : shape[3]};
}

bool has_rows_in_place(const int64_t *shape, const int64_t *strides)
{
    const struct attn_strides of_rows = strides_of_rows(shape, strides);
    return of_rows.batch >= 0 && of_rows.head >= 0 && of_rows.row >= shape[3] && (shape[3] == 1 || strides[3] == 1);
}

/* Returns true if `of` has a row for each key and the kernel can read it in place. */
static bool has_rows(const struct tensor *of, const struct layout *layout, int64_t keys)
{
    const int64_t *const shape = of->shape;
    return of->axes == 4 && layout->axes == 4 && number_of_type(of) == layout->type && shape[0] == layout->shape[0] &&
           shape[1] == layout->shape[1] && shape[2] == keys && shape[3] == layout->shape[3] && keys > 0 &&
           has_rows_in_place(shape, of->strides);
}

static int64_t keys_of(const struct call *call)
{
    return call->views[K].axes == 4 ? call->views[K].shape[2] : 0;
}

bool all_fit(const struct record *record, const struct call *call)
{
    uintptr_t bits = 0;
    if (record->process != process) return false;
    for (int k = 0; k < record->tensors; k++) {
        const bool is_of_keys = record->workspace != NULL && (k == K || k == V);
        if (is_of_keys ? !has_rows(&call->views[k], &record->layouts[k], keys_of(call))
                       : !fits(&call->views[k], &record->layouts[k]))
            return false;
        bits |= (uintptr_t)address(&call->views[k]);
    }
    return (bits & record->unaligned) == 0;
}

bool requires_grad(object *tensor)
{
    return truth(py.PyObject_GetAttr(tensor, words.requires_grad), true);
}

bool take_extras(const struct record *record, object *extras, struct call *call, bool *differentiable)
{
    call->count_of_arrays = call->count_of_numbers = 0;
    if (!record->takes_extras || extras == given.none) return !record->takes_extras && extras == given.none;
    if (py.PyObject_Size(extras) != record->extras) return false; /* positions of queries are one more */
    for (int k = 0; k < record->extras; k++) {
        const struct extra *const extra = &record->extra[k];
        object *const value = py.PyObject_GetItem(extras, extra->name);
        if (value == NULL) forgive();
        release(value); /* `extras` keeps it */
        if (value == NULL || (value == given.none) != (extra->kind == ABSENT)) return false;
        if (extra->kind == ARRAY) {
            struct tensor *const seen = &call->views[TENSORS + call->count_of_arrays];
            const struct layout *const layout = &record->layouts[TENSORS + call->count_of_arrays];
            if (!view(value, seen) || ((uintptr_t)address(seen) & extra->unaligned) != 0 ||
                !(record->workspace == NULL ? fits(seen, layout)
                                            : fits_with_keys(seen, layout, extra->key_axis, keys_of(call))))
                return false;
            const bool wanted = requires_grad(value);
            if (failed()) return false;
            if (wanted && extra->learned < 0) return false; /* an error */
            *differentiable = *differentiable || wanted;
            call->arrays[call->count_of_arrays++] = value;
        } else if (extra->kind != ABSENT) {
            object *const type = py.PyObject_Type(value);
            py.Py_DecRef(type);
            if (type != given.integer && (type != given.real || extra->kind == INTEGER)) return false;
            if (extra->kind == INTEGER) {
                const long long whole = number(kept(value));
                forgive();
                if (whole < INT32_MIN || whole > INT32_MAX) return false; /* an error, which Python code reports */
            }
            call->numbers[call->count_of_numbers++] = value;
        }
    }
    return true;
}

static void count_fork(void)
{
    process++;
}

static void register_count(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

void register_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_count);
}

unsigned process_number(void)
{
    return process;
}

/* ---- functions for Python */

static bool take_layout(object *tensor, struct layout *layout)
{
    struct tensor one;
    if (!view(tensor, &one)) return false;
    layout->axes = one.axes;
    layout->type = number_of_type(&one);
    memcpy(layout->shape, one.shape, (size_t)one.axes * sizeof *one.shape);
    memcpy(layout->strides, one.strides, (size_t)one.axes * sizeof *one.strides);
    return true;
}

/* Takes tuples (name, kind, place in the struct of parameters, unaligned bits, number among learned ones, axis of keys,
   array). */
static bool take_descriptions(struct record *record, object *extras)
{
    const intptr_t count = extras == given.none ? 0 : py.PyTuple_Size(extras);
    record->takes_extras = extras != given.none;
    if (count > MAX_EXTRAS || record->params_bytes > MAX_PARAMS) return false;
    for (intptr_t k = 0; k < count; k++) {
        object *const one = py.PyTuple_GetItem(extras, k);
        long long numbers[5];
        for (int j = 0; j < 5; j++) numbers[j] = py.PyLong_AsLongLong(py.PyTuple_GetItem(one, j + 1));
        record->extra[k] = (struct extra){kept(py.PyTuple_GetItem(one, 0)),
                                          (enum kind)numbers[0],
                                          (size_t)numbers[1],
                                          (uintptr_t)numbers[2],
                                          (int)numbers[3],
                                          (int)numbers[4]};
        record->extras++;
        if (numbers[0] == ARRAY &&
            !take_layout(py.PyTuple_GetItem(one, 6), &record->layouts[TENSORS + record->arrays++]))
            return false;
    }
    return true;
}

/* Makes a record of a checked call. Returns a capsule, None if no record can be made, or NULL with an exception.

   owner, problem, params, function: of the call
   tensors: (q, k, v), or (q, k, v, out, saved, dout) for backward
   wanted: for backward, a tuple of integers: whether to compute the gradients of q, k, v and the arrays of extras
   empty, saved_like, of: None if the record needs none. A call without saved_like cannot be differentiated
   extras: None, or a tuple for take_descriptions() */
EXPORTED object *attnc_tensors_record(object *owner, void *problem, void *params, size_t params_bytes, void *function,
                                      object *tensors, int64_t unaligned, object *wanted, object *empty,
                                      object *saved_like, object *of, object *extras)
{
    struct record *const record = calloc(1, sizeof *record);
    if (record == NULL) return kept(given.none);
    record->process = process;
    record->differentiable = saved_like != given.none;
    record->tensors = (int)py.PyTuple_Size(tensors);
    record->unaligned = (uintptr_t)unaligned;
    record->problem = problem;
    record->params = params;
    record->params_bytes = params_bytes;
    record->function = function;
    record->owner = kept(owner);
    record->empty = kept(empty);
    record->saved_like = kept(saved_like);
    record->of = kept(of);
    object *const capsule = py.PyCapsule_New(record, word_of_record, forget);
    if (capsule == NULL) {
        free(record);
        return NULL;
    }
    bool all = take_descriptions(record, extras);
    for (int k = 0; k < record->tensors && all; k++)
        all = take_layout(py.PyTuple_GetItem(tensors, k), &record->layouts[k]);
    for (intptr_t k = py.PyTuple_Size(wanted); k-- > 0 && all;)
        record->wanted[k] = py.PyObject_IsTrue(py.PyTuple_GetItem(wanted, k)) == 1;
    if (all) return capsule;
    py.Py_DecRef(capsule);
    return nothing();
}

/* Makes a record serve other numbers of keys. */
EXPORTED void attnc_tensors_grow(object *capsule, const struct attn_kernel *kernel)
{
    struct record *const record = record_of(capsule);
    record->workspace = kernel->workspace;
    record->strides = kernel->strides;
}

/* Adds a record of backward to that of forward. */
EXPORTED void attnc_tensors_add(object *forward_record, object *backward_record)
{
    struct record *const record = record_of(forward_record);
    object **const place = &record->gradients[record->next++ % MAX_GRADIENTS], *const before = *place;
    *place = kept(backward_record);
    release(before);
}
