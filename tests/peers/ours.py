"""Kernels of specs, compiled by attnc and called on NumPy arrays without a copy."""
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(ROOT, 'build-peers')
BUILD = os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build'))
PACKAGE = os.path.join(ROOT, 'runtime/python')
BF16 = 1


class Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ('batch', 'head', 'row')]


class Problem(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_int64) for name in ('batch', 'heads', 'kv_heads', 'n_q', 'n_k')]
                + [(name, Strides) for name in ('q', 'k', 'v', 'out')]
                + [('threads', ctypes.c_int), ('workspace_bytes', ctypes.c_size_t), ('saved', ctypes.c_void_p),
                   ('saved_bytes', ctypes.c_size_t), ('room', ctypes.c_int64 * 32)]
                + [(name, Strides) for name in ('dout', 'dq', 'dk', 'dv')])


class Param(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('dtype', ctypes.c_int), ('rank', ctypes.c_int),
                ('shape', ctypes.c_int64 * 4), ('offset', ctypes.c_size_t),
                ('random', ctypes.c_int), ('strides', ctypes.c_size_t), ('tiles', ctypes.c_size_t),
                ('rows', ctypes.c_int)]


class Description(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('version', ctypes.c_char_p), ('dtype', ctypes.c_int),
                ('head_dim', ctypes.c_int64), ('value_dim', ctypes.c_int64), ('params', ctypes.c_int),
                ('param', ctypes.POINTER(Param)), ('params_bytes', ctypes.c_size_t),
                ('params_size', ctypes.c_void_p), ('params_init', ctypes.c_void_p),
                ('workspace', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)),
                ('forward', ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 7)),
                ('saved', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)),
                ('backward_workspace', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)),
                ('backward', ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 12)),
                ('state', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)),
                ('state_init', ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2)),
                ('extend_workspace', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)),
                ('extend', ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 8)),
                ('of_state', ctypes.c_void_p * 5), ('values_are_keys', ctypes.c_int), ('statistics', ctypes.c_int),
                ('merge', ctypes.c_void_p), ('strides', ctypes.c_size_t), ('strides_bytes', ctypes.c_size_t),
                ('tiles_bytes', ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)),
                ('tiles_of_mask', ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 3,
                                                   ctypes.c_size_t))]


def compiler():
    """Returns the C compiler that attnc would use."""
    words = os.environ.get('ATTNC_CC', '').split()
    if words:
        return words
    for name in ['clang', *('clang-%d' % n for n in range(19, 13, -1))]:
        if shutil.which(name):
            return [name]
    return os.environ.get('CC', '').split() or ['cc']


def make(command, what):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace')
    if done.returncode:
        raise RuntimeError('%s: exit status %d of %s\n%s' % (what, done.returncode, ' '.join(command), done.stdout))


def library(name, command, inputs):
    """Compiles a shared library, once for equal commands and inputs. Returns its path."""
    digest = hashlib.sha256(repr(command).encode())
    for path in inputs:
        with open(path, 'rb') as f:
            digest.update(f.read())
    os.makedirs(os.path.join(WORK, 'lib'), exist_ok=True)
    path = os.path.join(WORK, 'lib', '%s-%s.so' % (name, digest.hexdigest()[:16]))
    if not os.path.exists(path):
        make([*command, '-o', path + '.part'], name)
        os.rename(path + '.part', path)
    return path


def pointer(array):
    assert array.flags.c_contiguous
    return array.ctypes.data


class Kernel:
    """specs/NAME.yaml with changed keys, on arrays [B,H,N,D] or [H,N,D]. A call overwrites .out and returns it. If
    `tiles` is true, masks get tables of their tiles."""

    def __init__(self, spec, settings, q, k, v, parameters, threads, tiles=False):
        folder = os.path.join(WORK, 'kernels')
        os.makedirs(folder, exist_ok=True)
        options = [word for key, value in settings.items() for word in ('--set', '%s=%s' % (key, value))]
        make([os.path.join(BUILD, 'attnc'), '--quiet', '-o', folder, *options,
              os.path.join(ROOT, 'specs', spec + '.yaml')], 'attnc')
        source, runtime = os.path.join(folder, spec + '.c'), os.path.join(BUILD, 'libattnrt.a')
        command = [*compiler(), '-O2', '-std=gnu11', '-fPIC', '-shared', '-fopenmp',
                   '-I', os.path.join(ROOT, 'runtime'), source, runtime, '-lm']
        self.library = ctypes.CDLL(library(spec, command, [source, runtime]))
        self.kernel = Description.in_dll(self.library, spec + '_kernel')
        batch, heads, n_q, dim = (1, *q.shape)[-4:]
        kv_heads, n_k = k.shape[-3:-1]
        assert (self.kernel.head_dim, self.kernel.value_dim) == (dim, v.shape[-1])
        self.problem = Problem(batch=batch, heads=heads, kv_heads=kv_heads, n_q=n_q, n_k=n_k, threads=threads)
        self.kept = [q, k, v, parameters]
        self.table = ctypes.create_string_buffer(max(self.kernel.params_bytes, 8))
        for p in self.kernel.param[:self.kernel.params]:
            ctypes.c_void_p.from_buffer(self.table, p.offset).value = pointer(parameters[p.name.decode()])
            if tiles and p.tiles: self.make_tiles(p, parameters[p.name.decode()])
        self.out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
        self.problem.workspace_bytes = self.kernel.workspace(ctypes.addressof(self.problem))
        self.arguments = (ctypes.addressof(self.problem), ctypes.addressof(self.table), pointer(q), pointer(k),
                          pointer(v), pointer(self.out), self.memory(self.problem.workspace_bytes))

    def make_tiles(self, p, mask):
        shape = (ctypes.c_int64 * 4)(*mask.shape)
        size = self.kernel.tiles_bytes(mask.ndim, ctypes.addressof(shape))
        table = self.memory(size)
        error = self.kernel.tiles_of_mask(pointer(mask), mask.ndim, ctypes.addressof(shape), None, table, size)
        if error:
            raise RuntimeError('attn_tiles_of_mask: error %d' % error)
        ctypes.c_void_p.from_buffer(self.table, p.tiles).value = table

    def memory(self, size):
        """Allocates `size` bytes and returns their address, which is a multiple of 64."""
        self.kept.append(np.zeros(size + 64, np.uint8))
        return -(-pointer(self.kept[-1]) // 64) * 64

    def __call__(self):
        error = self.kernel.forward(*self.arguments)
        if error:
            raise RuntimeError('%s_forward: error %d' % (self.kernel.name.decode(), error))
        return self.out

    def floats(self, x):
        return (x.astype(np.uint32) << 16).view(np.float32) if self.kernel.dtype == BF16 else x

    def values(self):
        return self.floats(self.out)


class FromPython:
    """The kernel through the Python package. Its time includes checks and a new array."""

    def __init__(self, spec, settings, q, k, v, threads):
        os.environ['ATTNC'] = os.path.join(BUILD, 'attnc')
        if PACKAGE not in sys.path:
            sys.path.append(PACKAGE)
        import attnc
        self.attend, self.arrays, self.threads = attnc.kernel(spec, settings), (q, k, v), threads

    def __call__(self):
        self.out = self.attend(*self.arrays, threads=self.threads)
        return self.out

    def values(self):
        return np.asarray(self.out)


class Trained(Kernel):
    """The kernel with gradients. Its calls use saved values. If `forward`, a call also computes them."""

    def __init__(self, spec, settings, q, k, v, dout, parameters, threads, forward):
        super().__init__(spec, settings | {'emit': '[forward, backward]'}, q, k, v, parameters, threads)
        problem = ctypes.addressof(self.problem)
        self.problem.saved_bytes = self.kernel.saved(problem)
        self.problem.saved = self.memory(self.problem.saved_bytes)
        self.forward, self.gradients = forward, tuple(np.zeros_like(x) for x in (q, k, v))
        super().__call__()
        self.sizes = self.problem.workspace_bytes, self.kernel.backward_workspace(problem)
        self.kept.append(dout)
        self.of_backward = (*self.arguments[:6], pointer(dout), *map(pointer, self.gradients), None,
                            self.memory(self.sizes[1]))

    def __call__(self):
        if self.forward:
            self.problem.workspace_bytes = self.sizes[0]
            super().__call__()
        self.problem.workspace_bytes = self.sizes[1]
        error = self.kernel.backward(*self.of_backward)
        if error:
            raise RuntimeError('%s_backward: error %d' % (self.kernel.name.decode(), error))
        return self.gradients

    def values(self):
        return tuple(self.floats(x) for x in self.gradients)
