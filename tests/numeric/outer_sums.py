#!/usr/bin/python3
"""Computes gradients of parts of a sequence from the sums over the other tokens (attn_problem.earlier_sums).

Together they are the gradients of one call for the whole sequence, up to rounding. backward.py tests that call."""
import ctypes
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib', '../mpi')]

import numpy as np
import yaml

import definitions
from kernel import Objects, Problem, best_target, compiled, inputs
from processor import MACHINE, missing_flags, targets_of
from ranks import share
from suite import Skip, Suite, check, compiler

IDENTITY, ELU = {'linear': {'features': 'identity'}}, {'linear': {'features': 'elu_plus_one'}}
GATE, GATES = {'gate': {'shape': ['B', 'H', 'Nk']}}, {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}
DELTA = {'similarity': IDENTITY, 'normalize': 'none', 'prepare': ['l2norm']}
RATE = {'delta': {'rate': 'beta[b][h][t]'}, 'arrays': {'beta': {'shape': ['B', 'H', 'Nk']}}}
GATED_DELTA = RATE | {'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATE | RATE['arrays']}
DOCUMENTS = {'all': ['causal', 'document']}
CASES = {   # Each case is (keys of the spec, batch, heads, key/value heads).
    'elu': ({'similarity': ELU}, 2, 4, 2),
    'elu_f64': ({'similarity': ELU, 'dtype': 'f64'}, 1, 2, 2),
    'rope': ({'similarity': ELU, 'prepare': ['rope']}, 1, 4, 2),
    'cosine': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * cos((i - j) * 0.01)'}}}, 1, 2, 2),
    'elu_auto': ({'similarity': ELU, 'algorithm': 'auto'}, 1, 2, 1),
    'elu_bf16': ({'similarity': ELU, 'dtype': 'bf16'}, 1, 4, 1),
    'plus_one': ({'similarity': {'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 3}}, 'shape': {'head_dim': 5},
                  'normalize': {'sum_plus': 1}}, 1, 2, 1),
    'undivided': ({'similarity': IDENTITY, 'normalize': 'none'}, 1, 3, 3),
    'sketch': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}}, 1, 4, 2),
    'sketch_local': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, 'block': 16}, 1, 2, 2),
    'learned_local': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned', 'local': 'exact'}},
                       'block': 16, 'prepare': [{'layernorm': {'affine': True}}]}, 2, 4, 2),
    'hedgehog': ({'similarity': {'linear': {'features': 'hedgehog'}}}, 2, 4, 2),
    'hedgehog_f16': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'dtype': 'f16'}, 1, 2, 2),
    'favor_positive': ({'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}}, 1, 2, 1),
    'square_param': ({'similarity': {'polynomial_square': {'degree': 1, 'coefficients': 'param'}}}, 1, 2, 1),
    'retention': ({'similarity': {'custom': {'weight': 's * pow(1 - pow(2, -3 - h), i - j)'}}, 'normalize': 'none'},
                  2, 4, 2),
    'constant': ({'similarity': ELU, 'decay': {'log': '-0.05 * (h + 1)'}}, 1, 2, 1),
    'gated': ({'similarity': IDENTITY, 'normalize': 'none', 'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATE}, 2, 2, 2),
    'gated_elu': ({'similarity': ELU, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATE}, 1, 4, 2),
    'learned_rate': ({'similarity': IDENTITY, 'normalize': 'none', 'decay': {'log': '-exp(rate[h]) * log1p(exp(step[b][h][t]))'},
                      'arrays': {'rate': {'shape': ['H'], 'learned': True}, 'step': {'shape': ['B', 'H', 'Nk']}}}, 2, 2, 2),
    'gated_f64': ({'similarity': ELU, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATE, 'dtype': 'f64'}, 1, 4, 2),
    'gla': ({'similarity': IDENTITY, 'normalize': 'none', 'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': GATES},
            1, 2, 2),
    'documents': ({'similarity': ELU, 'mask': DOCUMENTS}, 2, 4, 2),
    'documents_f64': ({'similarity': ELU, 'mask': {'all': ['document', 'causal']}, 'dtype': 'f64'}, 2, 2, 1),
    'documents_bf16': ({'similarity': ELU, 'mask': DOCUMENTS, 'dtype': 'bf16'}, 1, 4, 1),
    'documents_auto': ({'similarity': ELU, 'mask': DOCUMENTS, 'algorithm': 'auto'}, 1, 2, 2),
    'documents_sketch': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned', 'local': 'exact'}},
                          'block': 16, 'mask': DOCUMENTS}, 2, 4, 2),
    'documents_undivided': ({'similarity': IDENTITY, 'normalize': 'none', 'mask': DOCUMENTS}, 3, 2, 2),
    'documents_gated': ({'similarity': ELU, 'mask': DOCUMENTS, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATE}, 2, 2, 2),
    'delta': (DELTA | RATE, 2, 4, 4),
    'delta_constant': (DELTA | {'delta': {'rate': '0.5'}}, 1, 2, 2),
    'delta_f64': (DELTA | RATE | {'dtype': 'f64'}, 1, 2, 2),
    'delta_bf16': (DELTA | RATE | {'dtype': 'bf16'}, 1, 2, 2),
    'delta_auto': (DELTA | RATE | {'algorithm': 'auto'}, 1, 2, 2),
    'delta_sketch': (DELTA | RATE | {'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}}, 1, 2, 2),
    'delta_learned': (DELTA | RATE | {'similarity': {'linear': {'features': 'hedgehog'}}}, 2, 2, 2),
    'gated_delta': (DELTA | GATED_DELTA, 2, 2, 2),
    'gated_delta_bf16': (DELTA | GATED_DELTA | {'dtype': 'bf16'}, 1, 2, 2),
    'fixed_delta': (DELTA | RATE | {'decay': {'log': '-0.05 * (h + 1)'}}, 1, 2, 2),
    'affine_delta': (DELTA | RATE | {'prepare': ['l2norm', {'layernorm': {'affine': True}}]}, 1, 2, 2),
    'learned_delta': (DELTA | {'delta': {'rate': '1 / (1 + exp(-beta[b][h][t] - shift[h]))'},
                               'decay': {'log': '-exp(slope[h]) * log1p(exp(gate[b][h][t]))'},
                               'arrays': GATED_DELTA['arrays'] | {'shift': {'shape': ['H'], 'learned': True},
                                                                  'slope': {'shape': ['H'], 'learned': True}}}, 2, 2, 2),
    'kda': (DELTA | GATED_DELTA | {'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': GATES | RATE['arrays']}, 1, 2, 2),
    'kda_wide': (DELTA | GATED_DELTA | {'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': GATES | RATE['arrays'],
                                        'shape': {'head_dim': 32, 'value_dim': 16}}, 1, 2, 2),
    'kda_f64': (DELTA | GATED_DELTA | {'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': GATES | RATE['arrays'],
                                       'dtype': 'f64'}, 1, 2, 2),
}
# In parts that begin with a chunk, these have the bits of one call, because each thread adds to the states of a head.
EXACT = 'delta', 'delta_f64', 'delta_bf16', 'delta_constant'
# Kernels without outer sums: ids reset sums, or the state is no sum.
NONE = {
    'ids': {'similarity': ELU, 'mask': {'expr': 'j <= i && ids[b][i] == ids[b][j]'},
            'arrays': {'ids': {'shape': ['B', 'Nk'], 'type': 'int'}}},
    'document_rope': {'similarity': ELU, 'mask': DOCUMENTS, 'prepare': ['rope']},
    'delta_softmax': {'similarity': {'softmax': {}}, 'delta': {'rate': '0.5'}, 'algorithm': 'auto'},
    'window': {'similarity': ELU, 'mask': {'all': ['causal', {'block_window': {'block': 16, 'left': 2}}]}, 'block': 16},
    'forward': {'similarity': ELU, 'emit': ['forward', 'decode']},
    'backward': {'similarity': ELU, 'emit': ['forward', 'backward']},
}
POINTER = ctypes.c_void_p
ALLOWED = {'f64': 1e-12, 'f32': 3e-5, 'bf16': 0.03, 'f16': 0.006}


def kernel_of(suite, folder, keys, target):
    spec = {'name': 'k', 'mask': 'causal', 'shape': {'head_dim': 8, 'value_dim': 12}, 'dtype': 'f32',
            'emit': ['forward', 'backward', 'decode'], 'algorithm': 'linear'} | keys
    path = os.path.join(folder, 'k.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    return compiled(suite, path, folder, target, '-O0', compiler('clang')), spec


def memory(size, value=0xFF):
    made = np.full(size + 128, value, np.uint8)
    return made[-made.ctypes.data % 64:][:size]


class Part:
    """Backward of a part of the tokens. `sums` are those of earlier and of later tokens."""

    def __init__(self, kernel, P, q, k, v, out, dout, threads, first=0):
        self.kernel, self.about, self.P = kernel, kernel.about, P
        self.arrays = [np.ascontiguousarray(x) for x in (q, k, v, out, dout)]
        self.problem = Problem(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], threads=threads, first_key=first)
        self.params, self.keep = kernel.parameters(P)
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, POINTER, ctypes.c_int)(self.about.outer_sums)
        self.sums = [memory(size(ctypes.byref(self.problem), later), 0) for later in (0, 1)]

    def ready(self):
        self.problem.earlier_sums, self.problem.later_sums = (x.ctypes.data for x in self.sums)
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, POINTER)(self.about.backward_workspace)(ctypes.byref(self.problem))
        self.work = memory(size)
        self.problem.workspace_bytes = size

    def add(self, later):
        """Returns the sums with those of this part's tokens."""
        before = [x.copy() for x in self.sums]
        self.ready()
        function = ctypes.CFUNCTYPE(ctypes.c_int, *[POINTER] * 7, ctypes.c_int, POINTER)(self.about.add_outer_sums)
        error = function(ctypes.byref(self.problem), self.params, *(x.ctypes.data for x in self.arrays), later,
                         self.work.ctypes.data)
        check(error == 0, 'add_outer_sums returned %d' % error)
        check(np.array_equal(before[1 - later], self.sums[1 - later]), 'add_outer_sums changed other sums')
        made = self.sums[later].copy()
        self.sums[later][:] = before[later]
        return made

    def gradients(self):
        """Computes the gradients. Those of arrays that a decay reads need finish()."""
        given = [x.copy() for x in self.sums]
        self.terms = memory(ctypes.CFUNCTYPE(ctypes.c_size_t, POINTER, ctypes.c_int)(self.about.outer_sums)(
            ctypes.byref(self.problem), 2)).view(np.float64)
        self.problem.term_gradients = self.terms.ctypes.data if self.terms.size else None
        self.ready()
        self.made = {n: np.full_like(x, 0x7FFF if x.dtype == np.uint16 else np.nan)
                     for n, x in zip(('dq', 'dk', 'dv'), self.arrays)}
        learned = [p for p in self.about.param[:self.about.params] if p.dtype < 4 and not p.random]
        self.of_params = {'d' + p.name.decode(): np.full(np.shape(self.P[p.name.decode()]), np.nan, self.kernel.dtype)
                          for p in learned}
        self.rows = {'d' + p.name.decode(): axis for p in learned for axis in range(p.rank) if p.shape[axis] in (-4, -5)}
        self.call(self.about.backward)
        check(all(np.array_equal(x, y) for x, y in zip(given, self.sums)), 'backward changed the outer sums')

    def call(self, function):
        pointers = (POINTER * max(1, len(self.of_params)))(*(x.ctypes.data for x in self.of_params.values()))
        error = ctypes.CFUNCTYPE(ctypes.c_int, *[POINTER] * 12)(function)(
            ctypes.byref(self.problem), self.params, *(x.ctypes.data for x in self.arrays),
            *(x.ctypes.data for x in self.made.values()), pointers, self.work.ctypes.data)
        check(error == 0, 'backward returned %d' % error)

    def finish(self, later):
        """Finishes the gradients. Returns `later`, the sums of the gradients of later terms, with those of this part."""
        own = self.terms.copy()
        if self.terms.size:
            self.terms[:] = later
            self.call(self.about.finish_gradients)
        return own + later


def of_document(P, at, sums):
    """Returns sums over tokens on one side of token `at`, or zeros for sequences in which a document begins there."""
    if 'document' not in P or at >= P['document'].shape[1]: return sums
    sums.reshape(len(P['document']), -1)[P['document'][:, at] != P['document'][:, at - 1]] = 0
    return sums


def compose(kernel, P, arrays, runs, threads):
    """Returns the gradients of the whole sequence, from parts of these lengths."""
    parts, at = [], 0
    for n in runs:
        rows = slice(at, at + n)
        parts.append(Part(kernel, share(kernel, P, rows, rows), *(x[:, :, rows] for x in arrays), threads,
                          rows.start))
        at += n
    for at, (one, following) in enumerate(zip(parts, parts[1:]), 1):
        following.sums[0][:] = of_document(P, sum(runs[:at]), one.add(0))
    for at, (one, previous) in list(enumerate(zip(parts[1:], parts), 1))[::-1]:
        previous.sums[1][:] = of_document(P, sum(runs[:at]), one.add(1))
    later = 0
    for part in parts: part.gradients()
    for part in reversed(parts): later = part.finish(later)
    made = [{n: kernel.as_numbers(x) for n, x in part.made.items()} | part.of_params for part in parts]
    rows = {'dq': 2, 'dk': 2, 'dv': 2} | parts[0].rows
    return {n: np.concatenate([x[n] for x in made], rows[n]) if n in rows else sum(x[n].astype(np.float64) for x in made)
            for n in made[0]}


def of_parts(folder, suite, name, target):
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    keys, B, H, G = CASES[name]
    kernel, spec = kernel_of(suite, folder, keys, target)
    definition, worst, chunk = definitions.load(os.path.join(folder, 'k.yaml')), 0, kernel.about.outer_chunk
    check(chunk > 0, 'the kernel has no outer sums')
    for n in 150, 3 * max(chunk, 16) + 1:
        P, q, k, v = inputs(definition, H, G, n, n, B, 5, os.path.join(folder, 'data'))
        dout = np.random.default_rng(n).standard_normal((B, H, n, v.shape[-1]))
        q, k, v, dout = (kernel.as_stored(np.ascontiguousarray(x, kernel.dtype)) for x in (q, k, v, dout))
        out = kernel.as_stored(kernel(P, *(kernel.as_numbers(x) for x in (q, k, v))).astype(kernel.dtype))
        expected = kernel.gradients(P, *(kernel.as_numbers(x) for x in (q, k, v, dout)), arrays=kernel.about.params > 0)
        whole = max(1, 64 // chunk) * chunk
        cuts = [(n,), (chunk, n - chunk), (whole, n - whole)] + ([(n - 1, 1), (1, 33, n - 35, 1)] if chunk == 1 else []) + (
            [(chunk, 2 * chunk, n - 3 * chunk)] if n > 3 * chunk else [])
        for number, runs in enumerate(cuts):
            got = compose(kernel, P, (q, k, v, out, dout), runs, 1 + number % 3)
            exact = name in EXACT and all(m % 64 == 0 for m in runs[:-1])
            for what, of_whole in expected.items():
                check(not exact or what not in ('dq', 'dk', 'dv', 'dbeta') or np.array_equal(got[what], of_whole),
                      '%s of %d tokens has other bits in parts of %s' % (what, n, runs))
                off = np.abs(got[what] - of_whole).max() / np.abs(of_whole).max()
                check(off <= ALLOWED[spec['dtype']], '%s of %d tokens in parts of %s is off by %.3g' % (
                    what, n, runs, off))
                worst = max(worst, off)
    return '(off by %.2g)' % worst


def without(folder, suite, name):
    kernel, _ = kernel_of(suite, folder, NONE[name], best_target())
    check(not kernel.about.outer_sums and not kernel.about.add_outer_sums and not kernel.about.outer_chunk,
          'the kernel has outer sums')


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    targets = targets_of(MACHINE, 'any')
    for n, name in enumerate(CASES): suite.case(name, of_parts, suite, name, targets[n % len(targets)])
    for name in NONE: suite.case('none-' + name, without, suite, name)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
