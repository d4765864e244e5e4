"""One emitted kernel as a user has it: compiled with cc -O2 -fopenmp into a library, and called from NumPy."""
import ctypes
import glob
import os
import platform
import shutil

import numpy as np

from processor import missing_flags
from suite import ROOT, check, execute

RUNTIME = os.path.join(ROOT, 'runtime')
ELEMENTS = {'f32': np.float32, 'f64': np.float64, 'f16': np.float16, 'bf16': np.uint16}


class Strides(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ('batch', 'head', 'row')]


class Problem(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ('batch', 'heads', 'kv_heads', 'n_q', 'n_k')] + [(n, Strides) for n in 'q k v out'.split()] + [
        ('threads', ctypes.c_int), ('workspace_bytes', ctypes.c_size_t)]


def best_target():
    """What attnc itself compiles for this machine alone."""
    if platform.machine() in ('aarch64', 'arm64'):
        return 'aarch64'
    return next((target for target in ('x86-64-v4', 'x86-64-v3') if not missing_flags(target)), 'generic')


def stored(x, dtype):
    """x as the kernel reads it; bf16 as the upper halves of floats, rounded."""
    x = np.asarray(x)
    if dtype != 'bf16':
        return np.ascontiguousarray(x.astype(ELEMENTS[dtype])).reshape(x.shape)
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1))
    return (np.where(np.isfinite(x), rounded, bits) >> np.uint32(16)).astype(np.uint16)


class Kernel:
    def __init__(self, attnc, spec_file, folder, target):
        name = os.path.basename(spec_file)[:-5]
        done = execute([attnc, spec_file, '-o', folder, '--target', target])
        check(done.returncode == 0, 'attnc %s: exit status %d: %s' % (spec_file, done.returncode, done.stderr))
        library = os.path.join(folder, name + '.so')
        line = [shutil.which('gcc') or 'cc', '-O2', '-fopenmp', '-fPIC', '-shared', '-I', RUNTIME, '-I', folder, '-o', library, os.path.join(folder, name + '.c'),
                *sorted(glob.glob(RUNTIME + '/*.c')), '-lm']
        done = execute(line, timeout=600)
        check(done.returncode == 0, ' '.join(line) + '\n' + done.stderr[-2000:])
        self.library, self.name = ctypes.CDLL(library), name
        self.workspace = getattr(self.library, name + '_workspace')
        self.workspace.restype = ctypes.c_size_t
        with open(os.path.join(folder, name + '.h')) as f:
            text = f.read()
        self.members = [line.split('*')[1].split(';')[0] for line in text[text.index('struct %s_params {' % name):].split('\n')[1:] if line.startswith('    const ')
                        ][:text[text.index('struct %s_params {' % name):].split('};')[0].count('    const ')]
        self.dtype = next(d for d in ('bf16', 'f16', 'f64', 'f32') if ', %s. H is' % d in text)

    def numbers(self, x):
        return (x.astype(np.uint32) << np.uint32(16)).view(np.float32) if self.dtype == 'bf16' else x

    def forward(self, arrays, q, k, v, threads=2):
        """out, as it is stored. `arrays`: the parameters by name."""
        wide = np.float64 if self.dtype == 'f64' else np.float32
        given = {n.replace('.', '_'): np.ascontiguousarray(x if x.dtype == np.int32 else x.astype(wide)) for n, x in arrays.items()}
        params = (ctypes.c_void_p * max(1, len(self.members)))(*[given[m].ctypes.data for m in self.members])
        (batch, heads, n_q, _), (_, kv_heads, n_k, value_dim) = q.shape, v.shape
        problem = Problem(batch=batch, heads=heads, kv_heads=kv_heads, n_q=n_q, n_k=n_k, threads=threads)
        problem.workspace_bytes = self.workspace(ctypes.byref(problem))
        space = np.empty(problem.workspace_bytes + 64, np.uint8)
        out = np.zeros((batch, heads, n_q, value_dim), q.dtype)
        at = ctypes.c_void_p(space.ctypes.data + -space.ctypes.data % 64)
        error = getattr(self.library, self.name + '_forward')(ctypes.byref(problem), params, *[ctypes.c_void_p(x.ctypes.data) for x in (q, k, v, out)], at)
        check(error == 0, 'forward returns %d' % error)
        return out
