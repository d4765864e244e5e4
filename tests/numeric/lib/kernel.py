"""Compiles a kernel into a shared library, and calls it with NumPy arrays."""
import ctypes
import glob
import hashlib
import os
import shutil
import threading

import numpy as np

import definitions
import quick
from processor import MACHINE, missing_flags, targets
from stored import HALVES, packed, rounded
from suite import ROOT, WHOLE, Failure, check, compiler, execute

RUNTIME = os.path.join(ROOT, 'runtime')
# -O0 of clang compiles four times as fast as -O1 of gcc, and keeps every memory access. AddressSanitizer finds wrong
# pointers, so the pointer checks of UBSan are off.
SANITIZED = ['-fsanitize=address,undefined', '-fno-sanitize=null,pointer-overflow', '-fno-sanitize-recover=all',
             '-fopenmp']


def best_target():
    """Returns the target that attnc chooses on this machine."""
    return next(t.name for t in targets() if t.architecture in (MACHINE, 'any') and t.chosen == 'default'
                and not missing_flags(t.name))


def runtime_sources():
    return sorted(glob.glob(RUNTIME + '/*.c') + glob.glob(RUNTIME + '/call/*.c'))


class Made:
    """Creates an object when it is first used, and keeps it."""

    def __init__(self):
        self.lock, self.made = threading.Lock(), {}

    def once(self, key, make):
        with self.lock:
            if key not in self.made:
                try:
                    self.made[key] = make()
                except Failure as failure:
                    self.made[key] = failure
            if isinstance(self.made[key], Failure):
                raise self.made[key]
            return self.made[key]


class Objects(Made):
    """Object files that all kernels share, for each set of flags."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def of(self, key, line, sources):
        def make():
            folder = os.path.join(self.folder, 'objects-' + key)
            os.makedirs(folder)
            cache = ['ccache'] if shutil.which('ccache') else []   # suites compile the same objects
            for source in sources:
                done = execute([*cache, *line, '-I', RUNTIME, '-c', source], cwd=folder, timeout=600,
                               env=os.environ | {'CCACHE_NOHASHDIR': '1'})
                check(done.returncode == 0, '%s\n%s' % (' '.join(line), (done.stderr + done.stdout)[-3000:]))
            return sorted(os.path.join(folder, f) for f in os.listdir(folder))
        return self.once(key, make)


class Strides(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ('batch', 'head', 'row')]


class Problem(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ('batch', 'heads', 'kv_heads', 'n_q', 'n_k')] + [
        (n, Strides) for n in ('q', 'k', 'v', 'out')] + [
        ('threads', ctypes.c_int), ('workspace_bytes', ctypes.c_size_t), ('saved', ctypes.c_void_p),
        ('saved_bytes', ctypes.c_size_t)] + [(n, Strides) for n in ('dout', 'dq', 'dk', 'dv')] + [
        ('capacity', ctypes.c_int64), ('lengths', ctypes.c_void_p), ('state_bytes', ctypes.c_size_t),
        ('start', ctypes.c_int64), ('team', ctypes.c_void_p), ('seed', ctypes.c_uint64), ('statistics', ctypes.c_void_p),
        ('statistics_at', Strides), ('rewind', ctypes.c_int64), ('key_heads', ctypes.c_int64), ('query_start', ctypes.c_void_p),
        ('foldable', ctypes.c_int), ('cu_seqlens', ctypes.c_void_p), ('pages', ctypes.c_void_p),
        ('chunk_sums', ctypes.c_void_p), ('chunk_sums_bytes', ctypes.c_size_t),
        ('earlier_sums', ctypes.c_void_p), ('later_sums', ctypes.c_void_p),
        ('term_gradients', ctypes.c_void_p), ('first_key', ctypes.c_int64), ('all_keys', ctypes.c_int64),
        ('sink_mode', ctypes.c_int), ('query_decay', ctypes.c_void_p),
        ('query_decay_gradients', ctypes.c_void_p), ('key_decay_gradients', ctypes.c_void_p),
        ('weights', ctypes.c_void_p), ('weights_at', Strides), ('room', ctypes.c_int64 * 32)]

    def give(self, statistics):
        """Sets the array [batch, heads, queries] to which the next calls write statistics, or None."""
        self.statistics = None if statistics is None else statistics.ctypes.data
        strides = (0, 0, 0) if statistics is None else (s // statistics.itemsize for s in statistics.strides)
        self.statistics_at = Strides(*strides)

    def give_weights(self, weights):
        """Sets the array [batch, heads, queries, keys] to which the next calls write weights."""
        self.weights = weights.ctypes.data
        self.weights_at = Strides(*(s // weights.itemsize for s in weights.strides[:3]))

    def place(self, P):
        """Sets the positions of first queries if P has them."""
        if 'query_start' not in P: return
        self.starts = np.ascontiguousarray(P['query_start'], np.int64)   # kept alive
        self.query_start = self.starts.ctypes.data


class Param(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('dtype', ctypes.c_int), ('rank', ctypes.c_int),
                ('shape', ctypes.c_int64 * 4), ('offset', ctypes.c_size_t),
                ('random', ctypes.c_int), ('strides', ctypes.c_size_t), ('tiles', ctypes.c_size_t),
                ('rows', ctypes.c_int), ('limits', ctypes.c_int)]


class Description(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('version', ctypes.c_char_p), ('dtype', ctypes.c_int),
                ('head_dim', ctypes.c_int64), ('value_dim', ctypes.c_int64),
                ('params', ctypes.c_int), ('param', ctypes.POINTER(Param)), ('params_bytes', ctypes.c_size_t)] + [
        (n, ctypes.c_void_p) for n in (
            'params_size', 'params_init', 'workspace', 'forward', 'saved', 'backward_workspace', 'backward', 'state',
            'state_init', 'extend_workspace', 'extend', 'state_length', 'state_min_length', 'state_truncate',
            'state_copy', 'state_fold')] + [
        ('values_are_keys', ctypes.c_int), ('statistics', ctypes.c_int), ('merge', ctypes.c_void_p),
        ('strides', ctypes.c_size_t), ('strides_bytes', ctypes.c_size_t), ('tiles_bytes', ctypes.c_void_p),
        ('tiles_of_mask', ctypes.c_void_p)] + [
        (n, ctypes.c_int64) for n in ('before', 'after', 'period')] + [
        ('names_heads', ctypes.c_int), ('names_sequences', ctypes.c_int), ('in_parts', ctypes.c_int),
        ('state_chunk', ctypes.c_void_p),
        ('key_dtype', ctypes.c_int), ('value_dtype', ctypes.c_int), ('page', ctypes.c_void_p),
        ('saved_power', ctypes.c_int64), ('state_part', ctypes.c_void_p), ('state_keep', ctypes.c_void_p),
        ('chunk_sums', ctypes.c_void_p), ('outer_sums', ctypes.c_void_p), ('add_outer_sums', ctypes.c_void_p),
        ('outer_chunk', ctypes.c_int64), ('outer_adds', ctypes.c_int), ('finish_gradients', ctypes.c_void_p),
        ('has_sink', ctypes.c_int), ('open_keys', ctypes.c_int64), ('end_of_keys', ctypes.c_int64),
        ('key_sums', ctypes.c_void_p), ('add_key_sums', ctypes.c_void_p),
        ('sums_whole', ctypes.c_int), ('decay_terms', ctypes.c_int64), ('decay_params', ctypes.c_uint64),
        ('decay_sums', ctypes.c_void_p), ('weights', ctypes.c_int), ('state_sums', ctypes.c_void_p), ('state_set', ctypes.c_void_p), ('state_get', ctypes.c_void_p),
        ('state_arrays', ctypes.c_int), ('state_shapes', ctypes.POINTER(ctypes.c_int64))]


# The types of keys and values, by their numbers in enum attn_dtype.
TYPES = {1: 'bf16', 2: 'f16', 6: 'fp8', 7: 'i8', 8: 'i8_32', 9: 'i8_64', 10: 'q8_0', 11: 'q4_0'}
BROADCAST = -2 ** 63   # the value of ATTN_BROADCAST in attnrt.h


class Kernel:
    """The kernel NAME_kernel of a shared library."""

    def __init__(self, path, name):
        self.library = ctypes.CDLL(path)
        self.about = Description.in_dll(self.library, name + '_kernel')
        self.dtype = np.dtype(np.float64 if self.about.dtype == 3 else np.float32)
        self.stored = {1: 'bf16', 2: 'f16'}.get(self.about.dtype)
        self.workspace = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(self.about.workspace)
        self.forward = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 7)(self.about.forward)

    def __call__(self, P, q, k, v, threads=2, statistics=None, key_heads=0, seed=0, fence=lambda x: x, weights=None):
        """Calls forward. `fence` copies q, k and v to other memory. `weights` has the kernel's type in memory."""
        heads, kv_heads, columns = v.shape[1] if key_heads else q.shape[1], v.shape[1], v.shape[3:]
        q, k = (fence(self.as_stored(np.ascontiguousarray(x, self.dtype), n)) for x, n in ((q, 'q'), (k, 'k')))
        v = k if self.about.values_are_keys else fence(self.as_stored(np.ascontiguousarray(v, self.dtype), 'v'))
        problem = Problem(q.shape[0], heads, kv_heads, q.shape[2], k.shape[2], threads=threads, key_heads=key_heads, seed=seed)
        problem.give(statistics)
        if weights is not None: problem.give_weights(weights)
        problem.place(P)
        problem.workspace_bytes = self.workspace(ctypes.byref(problem))
        memory = np.full(problem.workspace_bytes + 64, 0xFF, np.uint8)
        workspace = memory[-memory.ctypes.data % 64:]
        params, _keep = self.parameters(P)
        out = fence(self.as_stored(np.full((q.shape[0], heads, q.shape[2]) + columns, np.nan, self.dtype)))
        error = self.forward(ctypes.byref(problem), params if self.about.params else None,
                             q.ctypes.data, k.ctypes.data, v.ctypes.data, out.ctypes.data, workspace.ctypes.data)
        check(error == 0, 'forward returned %d' % error)
        return self.as_numbers(out)

    def gradients(self, P, q, k, v, dout, wanted=('dq', 'dk', 'dv'), threads=2, saves=True, arrays=False):
        """Calls backward after forward. Returns the gradients in `wanted` by name: dq, dk and dv. If `arrays` is
        true, it also returns the gradients of the learned parameters. Then every parameter must be an array."""
        q, k, v, dout = (self.as_stored(np.ascontiguousarray(x, self.dtype)) for x in (q, k, v, dout))
        problem = Problem(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], threads=threads)
        problem.place(P)
        about, whole, address = self.about, ctypes.c_void_p, ctypes.byref(problem)

        def memory(function):
            size = ctypes.CFUNCTYPE(ctypes.c_size_t, whole)(function)(address)
            made = np.full(size + 128, 0xFF, np.uint8)  # elements that are not written are NaN
            return made[-made.ctypes.data % 64:][:size]
        if saves:
            saved = memory(about.saved)
            problem.saved, problem.saved_bytes = saved.ctypes.data, saved.size
        params, _keep = self.parameters(P)
        params = params if about.params else None
        out, work = np.zeros_like(dout), memory(about.workspace)
        problem.workspace_bytes = work.size
        inputs = [x.ctypes.data for x in (q, k, v)]
        error = self.forward(address, params, *inputs, out.ctypes.data, work.ctypes.data)
        check(error == 0, 'forward returned %d' % error)
        work = memory(about.backward_workspace)
        problem.workspace_bytes = work.size
        made = {n: np.full_like(x, 0x7FFF if x.dtype == np.uint16 else np.nan)
                for n, x in zip(('dq', 'dk', 'dv'), (q, k, v)) if n in wanted}
        learned = [p for p in (about.param[n] for n in range(about.params if arrays else 0)) if p.dtype < 4 and not p.random]
        of_arrays = {'d' + p.name.decode(): np.full(np.shape(P[p.name.decode()]), np.nan, self.dtype) for p in learned}
        pointers = (whole * max(1, len(learned)))(*(x.ctypes.data for x in of_arrays.values())) if learned else None
        error = ctypes.CFUNCTYPE(ctypes.c_int, *[whole] * 12)(about.backward)(
            address, params, *inputs, out.ctypes.data, dout.ctypes.data,
            *(made[n].ctypes.data if n in made else None for n in ('dq', 'dk', 'dv')), pointers, work.ctypes.data)
        check(error == 0, 'backward returned %d' % error)
        return {n: self.as_numbers(x) for n, x in made.items()} | of_arrays

    def merge(self, left, right, threads=2):
        """Merges two pairs of out and statistics."""
        outs = [self.as_stored(np.array(out, self.dtype)) for out, _ in (left, right)]
        B, H, n, _ = outs[0].shape
        problems = [Problem(B, H, H, n, 0, threads=threads) for _ in outs]
        statistics = [np.array(x) for _, x in (left, right)]
        for problem, x in zip(problems, statistics):
            problem.give(x)
        error = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(self.about.merge)(
            ctypes.byref(problems[0]), outs[0].ctypes.data, ctypes.byref(problems[1]), outs[1].ctypes.data)
        check(error == 0, 'merge returned %d' % error)
        return self.as_numbers(outs[0]), statistics[0]

    def parameters(self, P):
        """Returns the struct of parameters, and the arrays that it points to."""
        params, keep = (ctypes.c_char * max(1, self.about.params_bytes))(), {}
        self.give_parameters(params, keep, P)
        return params, keep

    def tables(self, P):
        """Returns P with a table of tiles for each mask that a kernel takes one for. The table of the mask NAME is
        named 'NAME tiles'."""
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(self.about.tiles_bytes or 0)
        make = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_size_t)(
            self.about.tiles_of_mask or 0)
        made = dict(P)
        for param in self.about.param[:self.about.params]:
            name = param.name.decode()
            if not param.tiles or name not in P: continue
            mask = P[name]
            shape = (ctypes.c_int64 * 4)(*mask.shape)
            strides = (ctypes.c_int64 * 4)(*(mask.strides if any(mask.strides) else [BROADCAST] * mask.ndim))
            table = np.full(size(mask.ndim, shape) // 8 + 1, -1, np.int64).view(np.uint8)[:size(mask.ndim, shape)]
            error = make(mask.ctypes.data, mask.ndim, shape, strides, table.ctypes.data, table.size)
            check(error == 0, 'attn_tiles_of_mask returned %d' % error)
            made[name + ' tiles'] = table
        return made

    def give_parameters(self, params, keep, P):
        """Sets the parameters in P. An array with gaps is used in place if the struct has strides for it. Otherwise
        it is copied."""
        strides = keep.setdefault('strides of arrays', (ctypes.c_char * max(8, self.about.strides_bytes))())
        if self.about.strides_bytes:
            ctypes.c_void_p.from_buffer(params, self.about.strides).value = ctypes.addressof(strides)
        for n in range(self.about.params):
            param = self.about.param[n]
            name = param.name.decode()
            if name not in P:
                continue
            kind = {3: np.float64, 4: np.int32, 5: np.uint8}.get(param.dtype, np.float32)
            x = P[name]
            if param.dtype in (1, 2): x = halved(x, param.dtype)
            elif x.dtype != kind: x = np.ascontiguousarray(x, kind)
            if param.strides < self.about.strides_bytes:
                at = (ctypes.c_int64 * max(1, x.ndim)).from_buffer(strides, param.strides)
                for k in range(x.ndim): at[k] = x.strides[k] // x.itemsize if any(x.strides) else BROADCAST if x.size else 0
            else: x = np.ascontiguousarray(x)
            keep[name] = x
            ctypes.c_void_p.from_buffer(params, param.offset).value = keep[name].ctypes.data
            if name + ' tiles' in P:
                keep[name + ' tiles'] = P[name + ' tiles']
                ctypes.c_void_p.from_buffer(params, param.tiles).value = keep[name + ' tiles'].ctypes.data

    def as_stored(self, x, name='q'):
        """Returns an array in the type of this argument of forward."""
        kind = {'k': self.about.key_dtype, 'v': self.about.value_dtype}.get(name, self.about.dtype)
        if kind != self.about.dtype: return packed(x, TYPES[kind])
        if self.stored == 'bf16':
            return (rounded(x, 'bf16').view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return x.astype(np.float16) if self.stored else x

    def as_numbers(self, x):
        if self.stored == 'bf16':
            return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return x.astype(self.dtype)


def halved(x, dtype):
    """Returns an array of the 16 bits of its elements, with the axes in the same order in memory."""
    if dtype == 2: return x.astype(np.float16)
    made = np.empty_like(x, np.float32)
    made[...] = rounded(x, 'bf16')
    return (made.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


class Pages(ctypes.Structure):
    """struct attn_pages, with memory for `count` pages and a table of [batch, row] numbers."""
    _fields_ = [('base', ctypes.c_void_p)] + [(n, ctypes.c_int64) for n in ('bytes', 'count', 'tokens')] + [
        ('table', ctypes.c_void_p), ('row', ctypes.c_int64)]

    def __init__(self, problem, page, count, tokens, row, seed=0):
        super().__init__(count=count, tokens=tokens, row=row)
        self.mine = True   # extend() takes pages for new tokens
        problem.pages = ctypes.addressof(self)
        self.bytes = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(page)(ctypes.byref(problem))
        if self.bytes == 0: return
        self.bytes += 64
        self.memory = np.full(self.bytes * count + 64, 0xFF, np.uint8)   # NaN
        self.base = self.memory.ctypes.data + -self.memory.ctypes.data % 64
        self.numbers = np.full((problem.batch, row), -77, np.int32)
        self.table = self.numbers.ctypes.data
        self.free = list(np.random.default_rng(seed).permutation(count))

    def grow(self, b, length, new):
        """Gives sequence b pages for `new` tokens more."""
        for x in range(-(-length // self.tokens), -(-(length + new) // self.tokens)): self.numbers[b, x] = self.free.pop()


class State:
    """A state of a kernel. Methods have the names and results of the kernel's functions."""

    def __init__(self, kernel, P, batch, heads, kv_heads, capacity=0, threads=2, vouch=False, first=0, rewind=0,
                 foldable=0, pages=0):
        about = kernel.about
        self.kernel, self.threads = kernel, threads
        self.params, self.keep = kernel.parameters(P)
        self.problem = Problem(batch, heads, kv_heads, threads=threads, capacity=capacity, start=first,
                               rewind=rewind, foldable=foldable)
        self.pages = None
        if pages:   # the tokens of a page
            row = -(-capacity // pages) + 1
            self.pages = Pages(self.problem, about.page, batch * row + 3, pages, row)
        problem = ctypes.byref(self.problem)
        self.bytes = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(about.state)(problem)
        check(self.bytes > 0, 'a state of no bytes')
        self.problem.state_bytes = 0 if vouch else self.bytes
        self.memory = np.full(self.bytes + 128, 0xA5, np.uint8)   # elements that are not set are not zero
        start = -self.memory.ctypes.data % 64
        self.block = self.memory[start:start + self.bytes]
        self.after = self.memory[start + self.bytes:].copy()
        init = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(about.state_init)
        self.begun = init(problem, self.address)
        check(self.begun == 0 or first, 'state_init failed')
        whole = ctypes.c_int64
        self.extending = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 8)(about.extend)
        self.needed = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(about.extend_workspace)
        self.lengths = ctypes.CFUNCTYPE(whole, ctypes.c_void_p, ctypes.c_void_p, whole)(about.state_length)
        self.least = ctypes.CFUNCTYPE(whole, ctypes.c_void_p, ctypes.c_void_p, whole)(about.state_min_length)
        self.truncating = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, whole, whole)(
            about.state_truncate)
        self.copying = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, whole, ctypes.c_void_p, whole)(
            about.state_copy)
        self.folding = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(about.state_fold)

    @property
    def address(self):
        return self.block.ctypes.data

    def length(self, b):
        return self.lengths(ctypes.byref(self.problem), self.address, b)

    def min_length(self, b):
        return self.least(ctypes.byref(self.problem), self.address, b)

    def truncate(self, b, length):
        return self.truncating(ctypes.byref(self.problem), self.address, b, length)

    def keep_path(self, b, path):
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
                                    ctypes.c_int64)(self.kernel.about.state_keep)
        path = np.array(path, np.int64)
        return function(ctypes.byref(self.problem), self.address, b, path.ctypes.data, path.size)

    def sums(self, given=None):
        """Returns the state as an array [batch, heads, numbers], or sets it to the array `given`."""
        about, problem, pointer = self.kernel.about, ctypes.byref(self.problem), ctypes.c_void_p
        if given is not None:
            return ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 3)(about.state_set)(problem, self.address, given.ctypes.data)
        count = ctypes.CFUNCTYPE(ctypes.c_size_t, pointer)(about.state_sums)
        size = count(problem) // np.dtype(self.kernel.dtype).itemsize
        check(size > 0, 'the state is no array')
        of_head = count(ctypes.byref(Problem(1, 1, 1))) // np.dtype(self.kernel.dtype).itemsize
        made = np.full((self.problem.batch, size // of_head // self.problem.batch, of_head), np.nan, self.kernel.dtype)
        self.problem.workspace_bytes = self.needed(problem)
        memory = np.full(self.problem.workspace_bytes + 64, 0xFF, np.uint8)
        workspace = memory[-memory.ctypes.data % 64:]
        error = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 5)(about.state_get)(
            problem, self.params if about.params else None, self.address, made.ctypes.data, workspace.ctypes.data)
        check(error == 0, 'state_get returned %d' % error)
        return made

    def matrices(self, sums):
        """Returns the matrices of an array of sums(): [batch, heads, features, columns]."""
        shapes = [tuple(self.kernel.about.state_shapes[2 * n:2 * n + 2]) for n in range(self.kernel.about.state_arrays)]
        ends = np.cumsum([0] + [a * b for a, b in shapes])
        check(sums.shape[2] == ends[-1], 'the shapes of the matrices')
        return [sums[:, :, a:b].reshape(*sums.shape[:2], *shape) for a, b, shape in zip(ends, ends[1:], shapes)]

    def copy(self, to, source, b):
        return self.copying(ctypes.byref(self.problem), self.address, to, source.address, b)

    def fold(self, right):
        return self.folding(ctypes.byref(self.problem), self.address, right.address)

    def stores_chunks(self, n):
        """Gives the next calls memory for the sums of the chunks of n tokens, and returns it."""
        self.problem.n_q = n
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(self.kernel.about.chunk_sums)
        self.problem.chunk_sums_bytes = size(ctypes.byref(self.problem))
        memory = np.full(self.problem.chunk_sums_bytes + 64, 0xFF, np.uint8)   # NaN
        sums = memory[-memory.ctypes.data % 64:][:self.problem.chunk_sums_bytes]
        self.problem.chunk_sums = sums.ctypes.data
        return sums

    def try_extend(self, q, k, v, lengths=None, statistics=None, rows=None, ends=None):
        """Returns the result of extend, and out. Rows that extend may not write are NaN. Without q, no output is
        requested. With `ends`, all tokens are in one row of memory, and these are the numbers of cu_seqlens."""
        self.kernel.give_parameters(self.params, self.keep, rows or {})
        stored = [None if x is None else self.kernel.as_stored(np.ascontiguousarray(x, self.kernel.dtype))
                  for x in (q, k, v)]
        q, k, v = stored
        problem = self.problem
        problem.n_q = k.shape[2]
        problem.give(statistics)
        counts = None if lengths is None else np.array(lengths, np.int64)
        problem.lengths = None if counts is None else counts.ctypes.data
        ends = None if ends is None else np.array(ends, np.int64)
        problem.cu_seqlens = None if ends is None else ends.ctypes.data
        if self.pages and self.pages.mine:
            for b in range(problem.batch):
                new = k.shape[2] if lengths is None else lengths[b]
                self.pages.grow(b, self.length(b), int(new if ends is None else ends[b + 1] - ends[b]))
        problem.workspace_bytes = self.needed(ctypes.byref(problem))
        memory = np.full(problem.workspace_bytes + 64, 0xFF, np.uint8)
        workspace = memory[-memory.ctypes.data % 64:]
        out = None
        if q is not None:
            out = self.kernel.as_stored(np.full(q.shape[:3] + v.shape[3:], np.nan, self.kernel.dtype))
        error = self.extending(ctypes.byref(problem), self.params if self.kernel.about.params else None,
                               *(None if x is None else x.ctypes.data for x in (*stored, out)), self.address,
                               workspace.ctypes.data)
        check((self.memory[-self.after.size:] == self.after).all(), 'extend wrote after the state')
        return error, None if out is None else self.kernel.as_numbers(out)

    def extend(self, q, k, v, lengths=None, statistics=None, rows=None, ends=None):
        error, out = self.try_extend(q, k, v, lengths, statistics, rows, ends)
        check(error == 0, 'extend returned %d' % error)
        return out


def inputs(spec, H, G, n_q, n_k, B, seed, folder):
    definitions.make_inputs(spec, folder, H, G, n_q, n_k, B, seed)
    P = {n: (rounded(x, spec['dtype']) if n in 'qkv' and spec['dtype'] in HALVES else x).astype(np.float64)
         if x.dtype.kind == 'f' else x for n, x in definitions.read_dir(folder).items()}
    return P, P.pop('q'), P.pop('k'), P.pop('v')


def runtime_objects(suite):
    """Returns the object files of the runtime."""
    return suite.objects.of('runtime', ['cc', '-O2', '-fopenmp', '-fPIC'], runtime_sources())


def done_well(line, folder):
    done = execute(line, cwd=folder, timeout=600)
    check(done.returncode == 0, ' '.join(line) + '\n' + done.stderr[-2000:])


def with_report(test):
    """Calls test([]). After a failure, calls test(['-g1']), whose sanitizers name lines. Debug information takes a quarter of the
    time of a compilation."""
    try:
        return test([])
    except Failure as failure:
        test(['-g1'])
        raise failure   # it does not fail every time


def optimised(n, every):
    """Returns whether the n-th kernel of a suite is compiled with -O2 as users do, which takes ten to twenty times as long as
    -O0. `./dev test whole` does so four times as often."""
    return n % (every if WHOLE else 4 * every) == 0


def usual(n):
    """Returns the level and the compiler for the n-th kernel of a suite. A few are compiled with -O2, by gcc and clang in
    turn."""
    return ('-O2' if optimised(n, 12) else '-O0'), compiler('gcc' if optimised(n, 24) else 'clang')


LIBRARIES, LOCK = {}, threading.Lock()   # the libraries of this process, by their C and the command that compiles it


def compiled(suite, path, folder, target, level='-O2', cc='cc'):
    """Returns the kernel of a spec, compiled with a user's flags. Cases with equal C share a library."""
    name = os.path.basename(path)[:-5]
    done_well([suite.attnc, path, '-o', folder, '--target', target], folder)
    with open(os.path.join(folder, name + '.c'), 'rb') as f: text = f.read()
    key = hashlib.sha256(b'\0'.join([cc.encode(), level.encode(), text])).hexdigest()[:24]

    def make():
        os.makedirs(os.path.join(suite.folder, 'libraries'), exist_ok=True)
        library = os.path.join(suite.folder, 'libraries', key + '.so')
        for line in quick.lines(cc, [level, '-I', RUNTIME, '-I', folder], name + '.c', library, *runtime_objects(suite)):
            done_well(line, folder)
        os.remove(library + '.o')
        return library
    with LOCK: made = LIBRARIES.setdefault(key, Made())
    return Kernel(made.once(key, make), name)
