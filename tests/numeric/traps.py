#!/usr/bin/python3
"""Tests that kernels raise neither 'invalid' nor 'division by zero' for finite inputs, so that they run in a host with
floating-point traps.

Each spec in specs/ runs forward, backward and extend on one thread, with numbers of rows that fill no tile. The flags of
the thread must stay as they were. Some kernels also run on two threads with traps."""
import ctypes
import ctypes.util
import glob
import os
import platform
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import answers
import definitions
from kernel import RUNTIME, Description, Objects, State, best_target, compiled, done_well, runtime_sources
from processor import missing_flags
from suite import ROOT, WHOLE, Suite, check, compiler, execute

LIBM = ctypes.CDLL(ctypes.util.find_library('m'))
ALL, INVALID, DIVISION = (0x3d, 1, 4) if platform.machine() == 'x86_64' else (0x1f, 1, 2)
SIZES = ((3, 3), (1, 37), (100, 100), (5, 0))   # (queries, keys)
H, G, B = 4, 2, 2
# More specs: masks and operations that specs/ has not
MORE = {
    'window_2': {'mask': {'window': {'left': 9, 'right': 3, 'dilation': 2}}, 'emit': ['forward', 'backward', 'statistics']},
    'window': {'mask': {'window': {'left': 20}}, 'emit': ['forward', 'backward', 'decode']},
    'elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'emit': ['forward', 'backward', 'decode']},
    'none': {'emit': ['forward', 'backward', 'statistics']},
    'lengths': {'mask': {'all': ['causal', 'lengths']}, 'emit': ['forward', 'decode']},
    'blocks': {'mask': {'blocks': {'block': 16, 'count': 3}}, 'emit': ['forward', 'backward']},
    'plus': {'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal', 'normalize': {'sum_plus': 0.5}, 'emit': ['forward', 'backward', 'decode']},
    'norms': {'prepare': ['layernorm', 'l2norm'], 'mask': {'window': {'left': 5}}, 'emit': ['forward', 'backward', 'decode']},
    'bf16': {'dtype': 'bf16', 'mask': {'window': {'left': 20}}, 'emit': ['forward', 'backward', 'decode']},
    'f16': {'dtype': 'f16', 'mask': 'causal', 'emit': ['forward', 'backward', 'decode']},
    'f64': {'dtype': 'f64', 'mask': {'window': {'left': 20}}, 'emit': ['forward', 'backward', 'decode']},
    'int8': {'storage': {'k': 'i8', 'v': 'q8_0'}, 'mask': {'window': {'left': 20}}, 'emit': ['forward', 'decode']},
}


class Watched:
    """Records which floating-point exceptions the entry points of a kernel raise."""

    def __init__(self, kernel):
        self.kernel, self.keep, self.raised = kernel, [], []
        kernel.about = Description.from_buffer_copy(kernel.about)
        kernel.forward = self.watch(kernel.about.forward, 7, 'forward')
        for name, count in ('backward', 12), ('extend', 8):
            if getattr(kernel.about, name):
                self.keep.append(self.watch(getattr(kernel.about, name), count, name))
                setattr(kernel.about, name, ctypes.cast(self.keep[-1], ctypes.c_void_p).value)

    def watch(self, address, count, name):
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * count)
        function = kind(address)

        def call(*arguments):
            LIBM.feclearexcept(ALL)
            error = function(*arguments)
            found = LIBM.fetestexcept(INVALID | DIVISION)
            self.raised += [name + ': ' + what for bit, what in ((INVALID, 'invalid'), (DIVISION, 'division by 0')) if found & bit]
            return error
        return kind(call)


def source_of(folder, suite, name, target):
    """Writes the spec with as many entry points as it can have. Returns its path."""
    if name in MORE: spec = {'name': name, 'similarity': 'softmax', 'shape': {'head_dim': 32}} | MORE[name]
    else:
        with open(os.path.join(ROOT, 'specs', name + '.yaml')) as f: spec = yaml.safe_load(f)
    own = spec.get('emit', ['forward'])
    path = os.path.join(folder, name + '.yaml')
    for emit in ['forward', 'backward', 'decode'], ['forward', 'backward'], ['forward', 'decode'], own:
        with open(path, 'w') as f: yaml.safe_dump(spec | {'emit': emit}, f, sort_keys=False)
        if execute([suite.attnc, path, '--stdout', '--emit', 'graph']).returncode == 0: break
    return path


def trapped(folder, suite, name, target):
    path = source_of(folder, suite, name, target)
    kernel = compiled(suite, path, folder, target, '-O0', compiler('clang'))
    watched, spec, calls = Watched(kernel), {'dtype': 'f32'} | definitions.load(path), 0
    heads, rng = (H, H if 'delta' in spec else G), np.random.default_rng(3)
    for n_q, n_k in SIZES:
        if 'max_length' in spec['shape'] and max(n_q, n_k) > spec['shape']['max_length']: continue
        answers.make_inputs(spec, folder + '/in', (*heads, n_q, n_k, B), 5, 'sorted')
        P = definitions.read_dir(folder + '/in')
        q, k, v = (P.pop(x).astype(kernel.dtype) for x in 'qkv')
        kernel(P, q, k, v, threads=1)
        calls += 1
        if kernel.about.backward:
            dout = rng.standard_normal(q.shape[:3] + v.shape[3:]).astype(kernel.dtype)
            kernel.gradients(P, q, k, v, dout, threads=1, saves=n_q == 3, arrays=True)
        if kernel.about.extend and n_q == n_k:
            grown(watched, spec, P, q, k, v)
        check(not watched.raised, '%d queries, %d keys: %s' % (n_q, n_k, ', '.join(sorted(set(watched.raised)))))
    return '%d calls' % calls


def with_traps(folder, suite, name, level):
    """Runs a kernel in a process with traps."""
    path = source_of(folder, suite, name, 'native')
    done_well([suite.attnc, path, '-o', folder, '--target', best_target()], folder)
    line = [compiler('gcc' if level == '-O2' else 'clang'), level, '-fopenmp', '-D_GNU_SOURCE', '-I', RUNTIME]
    done_well([*line, '-std=gnu11', '-DTRAPS', '-DKERNEL=%s_kernel' % name, name + '.c', *runtime_sources(),
               os.path.join(HERE, 'lib', 'fences_driver.c'), '-lm', '-o', 'traps'], folder)
    done = execute([os.path.join(folder, 'traps'), '2'], timeout=300, signals=True)
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stdout + done.stderr[-1000:]))


def grown(watched, spec, P, q, k, v):
    """Extends a state by pieces."""
    shapes = {name: a['shape'] for name, a in spec.get('arrays', {}).items()} | {'document': ['B', 'Nk']}
    of_tokens = {name: next(n for n, x in enumerate(shape) if x in ('Nk', 'Nq'))
                 for name, shape in shapes.items() if name in P and ('Nk' in shape or 'Nq' in shape)}
    n, at = q.shape[2], 0
    state = State(watched.kernel, {m: x for m, x in P.items() if m not in of_tokens}, B, q.shape[1], k.shape[1], capacity=n,
                  threads=1)
    while at < n:
        to = min(n, at + (1, 7, 33)[at % 3])
        rows = {m: np.ascontiguousarray(P[m].take(range(at, to), axis)) for m, axis in of_tokens.items()}
        state.extend(*(np.ascontiguousarray(x[:, :, at:to]) for x in (q, k, v)), [to - at] * B, None, rows)
        at = to


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    names = sorted(os.path.basename(f)[:-5] for f in glob.glob(os.path.join(ROOT, 'specs', '*.yaml'))) + list(MORE)
    here = [t for t in ('generic', 'x86-64-v3', 'x86-64-v4') if t == 'generic' or
            (platform.machine() == 'x86_64' and not missing_flags(t))]
    for n, name in enumerate(names):
        for target in here if WHOLE else [here[n % len(here)]]:
            suite.case('%s/%s' % (name, target), trapped, suite, name, target)
    for n, name in enumerate(('window_2', 'window', 'elu', 'norms', 'f64')):
        suite.case('host/' + name, with_traps, suite, name, '-O2' if WHOLE or n == 0 else '-O0')
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
