/* Repeats calls of kernels with PyTorch's tensors, which Python code has checked before (_repeat.py, _autograd.py).

   A record of a call has the layouts of its tensors. A later call with tensors of the same layouts differs only in
   addresses, so the functions below compare layouts, allocate results and call the kernel. They use no header and no
   symbol of Python or PyTorch, so one library serves all versions: Python fills in a table of functions of its stable
   ABI, and a tensor's layout comes from PyTorch's table of functions for DLPack. */
#include "tensors.h"

#include <string.h>

struct functions py;
EXPORTED struct functions *const attnc_python = &py;
EXPORTED const char attnc_python_names[] = PYTHON(NAME);
struct given given;
struct words words;
const struct exchange *exchange;

struct room { /* a member of _Room in _threads.py */
    int64_t bytes;
    void *address;
};

/* ---- calls */

static bool is_none(object *one)
{
    const bool made = one == given.none;
    release(one);
    return made;
}

/* Returns true if no transformation, no tracing and no ContextParallel is active. Returns false with an exception if a
   function failed. */
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
    if (place == NULL) forgive(); /* the first call of this thread */
    const struct room *room = place == NULL ? NULL : py.PyLong_AsVoidPtr(place);
    release(place);
    if (failed()) return NULL;
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

/* The parameters of a call, and the addresses of gradients with respect to learned ones. */
struct parameters {
    union {
        char bytes[MAX_PARAMS];
        void *aligned;
    } params;
    union {
        int32_t integer;
        float real;
        double wide;
    } numbers[MAX_EXTRAS];
    void *gradients[MAX_EXTRAS];
};

/* Returns the kernel's struct of parameters for this call. Returns NULL with an exception if a number is too large. */
static const void *fill(const struct record *record, const struct call *call, struct parameters *made)
{
    int arrays = 0, numbers = 0;
    memcpy(made->params.bytes, record->params, record->params_bytes);
    if (record->workspace != NULL && record->strides > 0)
        memset(made->params.bytes + record->strides, 0, sizeof(void *)); /* all arrays are contiguous */
    for (int k = 0; k < record->extras; k++) {
        const struct extra *const extra = &record->extra[k];
        void *at = &made->numbers[k];
        if (extra->kind == ABSENT) continue;
        if (extra->kind == ARRAY)
            at = address(&call->views[TENSORS + arrays++]);
        else if (extra->kind == INTEGER)
            made->numbers[k].integer = (int32_t)py.PyLong_AsLongLong(call->numbers[numbers++]);
        else if (extra->kind == FLOAT)
            made->numbers[k].real = (float)py.PyFloat_AsDouble(call->numbers[numbers++]);
        else
            made->numbers[k].wide = py.PyFloat_AsDouble(call->numbers[numbers++]);
        memcpy(made->params.bytes + extra->at, &at, sizeof at);
    }
    return numbers > 0 && py.PyErr_Occurred() != NULL ? NULL : made->params.bytes;
}

/* Returns false with an exception if the call failed. `made` are the addresses of dq, dk, dv and the gradients of
   arrays for backward, and NULL for forward. */
static bool run(const struct record *record, const struct call *call, void *saved, void *const *made)
{
    struct attn_problem problem = *record->problem; /* several threads may use a record */
    struct parameters parameters;
    problem.saved = saved;
    if (record->workspace != NULL) {
        problem.n_k = call->views[K].shape[2];
        problem.k = strides_of_rows(call->views[K].shape, call->views[K].strides);
        problem.v = strides_of_rows(call->views[V].shape, call->views[V].strides);
        problem.workspace_bytes = record->workspace(&problem);
    }
    const void *const params = record->takes_extras ? fill(record, call, &parameters) : record->params;
    if (record->takes_extras && params == NULL) return false;
    memset(parameters.gradients, 0, sizeof parameters.gradients);
    for (int k = 0, array = 0; k < record->extras && made != NULL; k++) {
        if (record->extra[k].kind != ARRAY) continue;
        if (record->extra[k].learned >= 0) parameters.gradients[record->extra[k].learned] = made[3 + array];
        array++;
    }
    void *const room = room_of(problem.workspace_bytes), *at[TENSORS];
    if (room == NULL) return false;
    for (int k = 0; k < TENSORS; k++) at[k] = k < record->tensors || k == OUT ? address(&call->views[k]) : NULL;
    void *const state = py.PyEval_SaveThread();
    int error;
    if (made == NULL) {
        int (*forward)(const struct attn_problem *, const void *, const void *, const void *, const void *, void *,
                       void *);
        memcpy(&forward, &record->function, sizeof forward);
        error = forward(&problem, params, at[Q], at[K], at[V], at[OUT], room);
    } else {
        int (*backward)(const struct attn_problem *, const void *, const void *, const void *, const void *,
                        const void *, const void *, void *, void *, void *, void *, void *);
        memcpy(&backward, &record->function, sizeof backward);
        error = backward(&problem, params, at[Q], at[K], at[V], at[OUT], at[DOUT], made[0], made[1], made[2],
                         parameters.gradients, room);
    }
    py.PyEval_RestoreThread(state);
    if (error == 0) return true;
    object *const code = py.PyLong_FromLongLong(error);
    if (code != NULL) release(py.PyObject_CallFunctionObjArgs(given.check, record->owner, code, NULL));
    release(code);
    return false;
}

/* Returns out, or NULL with an exception. With `saved`, the call writes the saved values to a new tensor *saved. */
static object *attend(const struct record *record, struct call *call, object **saved)
{
    object *out = py.PyObject_CallFunctionObjArgs(record->empty, call->tensors[Q], NULL);
    if (out == NULL) return NULL;
    struct tensor of_saved = {.data = NULL};
    if (saved != NULL) {
        *saved = py.PyObject_CallFunctionObjArgs(given.empty_like, record->saved_like, NULL);
        if (*saved == NULL || exchange->view(*saved, &of_saved) != 0) goto failed;
    }
    if (exchange->view(out, &call->views[OUT]) != 0 || !run(record, call, address(&of_saved), NULL)) goto failed;
    return out;
failed:
    py.Py_DecRef(out);
    if (saved != NULL) release(*saved);
    return NULL;
}

/* Returns a tuple of two lists of objects, which it borrows. */
static object *tuple(object *const *first, int firsts, object *const *others, int count)
{
    object *const made = py.PyTuple_New(firsts + count);
    for (int k = 0; k < firsts + count && made != NULL; k++)
        py.PyTuple_SetItem(made, k, kept(k < firsts ? first[k] : others[k - firsts]));
    return made;
}

/* Makes a call that can be differentiated. */
static object *apply(object *capsule, const struct call *call)
{
    object *const numbers = call->count_of_numbers > 0 ? tuple(call->numbers, call->count_of_numbers, call->arrays, 0)
                                                       : kept(given.none);
    if (numbers == NULL) return NULL;
    object *const first[] = {capsule, numbers, call->tensors[Q], call->tensors[K], call->tensors[V]};
    object *const arguments = tuple(first, 5, call->arrays, call->count_of_arrays);
    object *const made = arguments == NULL ? NULL : py.PyObject_CallObject(given.apply, arguments);
    release(arguments);
    py.Py_DecRef(numbers);
    return made;
}

static bool serves(const struct record *record, object *extras, struct call *call, bool differentiable)
{
    if (!all_fit(record, call) || !take_extras(record, extras, call, &differentiable)) return false;
    if (differentiable) differentiable = truth(py.PyObject_CallObject(given.grad_enabled, NULL), false);
    return !failed() && record->differentiable == differentiable &&
           record->problem->threads == number(py.PyObject_CallObject(given.threads, NULL));
}

/* call(records, q, k, v, extras) returns the result, or None if there is no record for it, or NULL with an exception.
   `extras` has parameters by name, or is None. */
static object *call(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)count;
    object *const records = arguments[0], *const extras = arguments[4];
    const intptr_t known = py.PyList_Size(records);
    struct call one = {.count_of_arrays = 0};
    if (known == 0 || !is_undisturbed() ||
        truth(py.PyObject_CallFunctionObjArgs(given.autocast, given.cpu, NULL), true) ||
        number(py.PyObject_GetAttr(given.forward_ad, words._current_level)) != -1)
        return nothing();
    bool differentiable = false;
    for (int k = 0; k < 3; k++) {
        one.tensors[k] = arguments[k + 1];
        if (!view(one.tensors[k], &one.views[k])) return nothing();
        differentiable = differentiable || requires_grad(one.tensors[k]);
        if (failed()) return NULL;
    }
    object *capsule = NULL;
    for (intptr_t k = known; k-- > 0 && capsule == NULL && !failed();) {
        capsule = kept(py.PyList_GetItem(records, k)); /* another thread may shorten the list meanwhile */
        if (capsule == NULL) {
            forgive();
        } else if (!serves(record_of(capsule), extras, &one, differentiable)) {
            release(capsule);
            capsule = NULL;
        }
    }
    if (capsule == NULL) return nothing();
    const struct record *const record = record_of(capsule);
    object *const made = record->differentiable ? apply(capsule, &one) : attend(record, &one, NULL);
    py.Py_DecRef(capsule);
    return made;
}

/* forward(ctx, record, numbers, q, k, v, …) of the subclass of torch.autograd.Function. Arrays of extras follow. */
static object *forward(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)count;
    object *const ctx = arguments[0], *const numbers = arguments[2], *saved = NULL;
    const struct record *const record = record_of(arguments[1]);
    struct call one = {.count_of_arrays = 0};
    one.count_of_arrays = record->arrays;
    for (int k = 0; k < 3 + record->arrays; k++) {
        object *const tensor = arguments[k + 3];
        if (exchange->view(tensor, &one.views[k < 3 ? k : k - 3 + TENSORS]) != 0) return NULL;
        if (k < 3)
            one.tensors[k] = tensor;
        else
            one.arrays[k - 3] = tensor;
    }
    if (numbers != given.none)
        for (intptr_t k = py.PyTuple_Size(numbers); k-- > 0;) one.numbers[k] = py.PyTuple_GetItem(numbers, k);
    object *const out = attend(record, &one, &saved);
    if (out == NULL) return NULL;
    object *const first[] = {one.tensors[Q], one.tensors[K], one.tensors[V], out, saved};
    object *const kept_tensors = tuple(first, 5, one.arrays, record->arrays), *done = NULL;
    object *const save = py.PyObject_GetAttr(ctx, words.save_for_backward);
    if (kept_tensors != NULL && save != NULL) done = py.PyObject_CallObject(save, kept_tensors);
    const bool failed = done == NULL || py.PyObject_SetAttr(ctx, words.of, record->of) != 0 ||
                        py.PyObject_SetAttr(ctx, words.record, arguments[1]) != 0 ||
                        py.PyObject_SetAttr(ctx, words.numbers, numbers) != 0;
    release(done);
    release(save);
    release(kept_tensors);
    py.Py_DecRef(saved);
    if (!failed) return out;
    py.Py_DecRef(out);
    return NULL;
}

/* Returns the record of backward for a call, or NULL. */
static object *record_of_gradients(const struct record *of, const struct call *call, const bool *wanted)
{
    for (int k = 0; k < MAX_GRADIENTS && of->gradients[k] != NULL; k++) {
        const struct record *const record = record_of(of->gradients[k]);
        if (memcmp(record->wanted, wanted, sizeof record->wanted) != 0 || !all_fit(record, call)) continue;
        bool all = (uintptr_t)address(&call->views[SAVED]) % 64 == 0;
        for (int j = 0; j < record->arrays && all; j++)
            all = fits(&call->views[TENSORS + j], &record->layouts[TENSORS + j]);
        if (all) return of->gradients[k];
    }
    return NULL;
}

/* Returns (None, None, dq, dk, dv, …), or NULL with an exception. A gradient that is not wanted is None. */
static object *differentiate(const struct record *record, const struct call *call)
{
    const int count = 3 + record->arrays;
    object *const results = py.PyTuple_New(2 + count);
    if (results == NULL) return NULL;
    py.PyTuple_SetItem(results, 0, kept(given.none));
    py.PyTuple_SetItem(results, 1, kept(given.none));
    void *at[ALL] = {NULL};
    for (int k = 0; k < count; k++) {
        object *const like = k < 3 ? call->tensors[k] : call->arrays[k - 3];
        object *const made = record->wanted[k] ? py.PyObject_CallFunctionObjArgs(given.empty_like, like, NULL)
                                               : kept(given.none);
        if (made == NULL) goto failed;
        py.PyTuple_SetItem(results, k + 2, made);
        struct tensor of_made;
        if (!record->wanted[k]) continue;
        if (exchange->view(made, &of_made) != 0) goto failed;
        at[k] = address(&of_made);
    }
    if (run(record, call, address(&call->views[SAVED]), at)) return results;
failed:
    py.Py_DecRef(results);
    return NULL;
}

/* Takes the tensors of a call of backward, and which gradients are wanted. Returns false if they are not plain. */
static bool take_saved(const struct record *record, struct call *call, object *saved, object *dout, object *needs,
                       object *numbers, bool *wanted)
{
    call->count_of_arrays = record->arrays;
    if (py.PyTuple_Size(saved) != DOUT + record->arrays || py.PyTuple_Size(needs) != 5 + record->arrays) return false;
    for (int k = 0; k < TENSORS + record->arrays; k++) {
        object *const one = k == DOUT ? dout : py.PyTuple_GetItem(saved, k < DOUT ? k : k - 1);
        if (k < TENSORS)
            call->tensors[k] = one;
        else
            call->arrays[k - TENSORS] = one;
        if (!view(one, &call->views[k])) return false;
    }
    if (numbers != given.none)
        for (intptr_t k = py.PyTuple_Size(numbers); k-- > 0;) call->numbers[k] = py.PyTuple_GetItem(numbers, k);
    for (int k = 0; k < 3 + record->arrays; k++) wanted[k] = py.PyObject_IsTrue(py.PyTuple_GetItem(needs, k + 2)) == 1;
    return true;
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
    object *const numbers = py.PyObject_GetAttr(ctx, words.numbers);
    if (needs == NULL || of == NULL || numbers == NULL) goto end;
    struct call one = {.count_of_arrays = 0};
    bool wanted[ALL] = {false};
    if (is_undisturbed() && !truth(py.PyObject_CallObject(given.grad_enabled, NULL), true) &&
        take_saved(record_of(of), &one, saved, dout, needs, numbers, wanted))
        capsule = kept(record_of_gradients(record_of(of), &one, wanted));
    if (failed()) goto end;
    made = capsule != NULL ? differentiate(record_of(capsule), &one)
                           : py.PyObject_CallFunctionObjArgs(given.differentiate, ctx, saved, dout, NULL);
end:
    release(capsule);
    release(needs);
    release(of);
    release(numbers);
    py.Py_DecRef(saved);
    return made;
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
EXPORTED object *attnc_tensors_begin(object *objects, const void *api)
{
    static struct method methods[] = {{"call", call, METH_FASTCALL, NULL},
                                      {"forward", forward, METH_FASTCALL, NULL},
                                      {"backward", backward, METH_FASTCALL, NULL}};
    register_forks();
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
