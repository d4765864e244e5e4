"""Measures openblas_blocks.c, which calls OpenBLAS."""
import ctypes
import glob
import os

import numpy as np

from measure import normal, row
from ours import ROOT, WORK, Kernel, library

PEER = 'OpenBLAS'


def folder():
    """Returns the folder of libopenblas.so: unpacked, or the system's."""
    found = glob.glob(os.path.join(WORK, 'openblas/usr/lib/*/openblas-pthread/libopenblas.so')) + glob.glob(
        '/usr/lib/*/openblas-*/libopenblas.so')
    found += glob.glob('/usr/lib*/libopenblas.so')
    if not found:
        raise ImportError('no libopenblas.so')
    return os.path.dirname(found[0])


def open_library():
    at = folder()
    source = os.path.join(ROOT, 'tests/peers/openblas_blocks.c')
    # Typical options of a user. libmvec has vector forms of expf.
    command = ['gcc', '-O3', '-march=native', '-ffast-math', '-fopenmp', '-std=gnu11', '-fPIC', '-shared', source,
               '-L', at, '-Wl,-rpath,' + at, '-lopenblas', '-lm']
    return ctypes.CDLL(library('openblas_blocks', command, [source])), ctypes.CDLL(os.path.join(at, 'libopenblas.so'))


def version():
    _, blas = open_library()
    blas.openblas_get_config.restype = blas.openblas_get_corename.restype = ctypes.c_char_p
    return 'OpenBLAS %s (%s kernels)' % (blas.openblas_get_config().decode().split()[1],
                                         blas.openblas_get_corename().decode())


def caller(function, heads, n, block, threads, middle, arrays):
    out = np.zeros_like(arrays[0])
    arguments = [ctypes.c_int64(x) for x in (heads, n, block)] + [ctypes.c_int(x) for x in (threads, *middle)]
    arguments += [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out)]

    def call():
        if function(*arguments):
            raise MemoryError('no memory')
        return out
    return call


def rows(options):
    blocks, blas = open_library()
    blas.openblas_set_num_threads(1)
    heads, dim, threads = options.heads, 64, options.threads
    for n in options.lengths(8192):
        job = 'softmax, causal, n = %d' % n
        if options.wanted(PEER, job):
            q, k, v = (normal(seed, heads, n, dim) for seed in (1, 2, 3))
            forms = {'b = %d' % b: caller(blocks.softmax_causal, heads, n, b, threads, (), (q, k, v))
                     for b in (64, 128, 256, 512)}
            row(job, PEER, Kernel('softmax_causal', {}, q, k, v, {}, threads), forms, 1e-4, options.limit)
    for n in options.lengths(8192, 32768):
        for exact in (0, 1):
            job = 'polysketch, r = 32, %s, n = %d' % ('exact in blocks of 256' if exact else 'sketched', n)
            if not options.wanted(PEER, job):
                continue
            q, k, v = (normal(seed, heads, n, dim) for seed in (1, 2, 3))
            g1, g2 = normal(4, dim, 32), normal(5, dim, 32)
            g = np.ascontiguousarray(np.concatenate([g1, g2], 1))
            spec, settings = ('polysketch_r32_local', {'prepare': '[]'}) if exact else (
                'polysketch_r32', {'prepare': '[]'})
            forms = {'b = %d' % b: caller(blocks.polysketch_causal, heads, n, b, threads, (exact,), (q, k, v, g))
                     for b in ((256,) if exact else (32, 64, 128, 256))}
            row(job, PEER, Kernel(spec, settings, q, k, v, {'sketch.g1': g1, 'sketch.g2': g2}, threads), forms,
                1e-4, options.limit)
