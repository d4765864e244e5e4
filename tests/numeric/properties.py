#!/usr/bin/python3
"""Tests properties of emitted C: no warnings, no reports of sanitizers, no allocation, linearity in v, no effect of
threads.

The C is compiled with the flags of users. It is called from NumPy, and from driver.c to test memory and errors."""
import ctypes
import functools
import os
import platform
import re
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import (RUNTIME, SANITIZED, Kernel, Made, Objects, best_target, compiled, done_well, inputs, with_report,
                    optimised, runtime_sources, usual)
from processor import OF_LINEAR_FORMS, missing_flags
from stored import HALVES, rounded
from suite import ROOT, WHOLE, Failure, Skip, Suite, check, compiler, execute

KERNELS = {
    'softmax_none': {'similarity': 'softmax', 'shape': {'head_dim': 20}},
    'softmax_causal': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 64}},
    'softmax_bf16': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 32}, 'dtype': 'bf16'},
    'softmax_window': {'prepare': ['rope'], 'similarity': {'softmax': {'cap': 8.0, 'bias': 'alibi'}}, 'dtype': 'f16',
                       'mask': {'window': {'left': 20, 'right': 3, 'dilation': 2}},
                       'shape': {'head_dim': 24, 'value_dim': 40}},
    'softmax_dense': {'similarity': {'softmax': {'bias': 'dense'}}, 'shape': {'head_dim': 8, 'value_dim': 24}},
    'softmax_multiplicative': {
        'prepare': [{'layernorm': {'affine': True}}], 'similarity': {'softmax': {'compatibility': 'multiplicative'}},
        'mask': {'prefix': {'length': 70}}, 'normalize': {'sum_plus': 0.5}, 'shape': {'head_dim': 20, 'value_dim': 16}},
    'polynomial_causal': {'prepare': ['layernorm', {'scale': {'by': 0.25}}],
                          'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal',
                          'shape': {'head_dim': 24}},
    'polynomial_none': {'prepare': [{'rope': {'pairs': 'halves'}}, {'l2norm': {'eps': 1e-6}}],
                        'similarity': {'polynomial': {'degree': 2, 'alpha': 1}},
                        'normalize': 'none', 'shape': {'head_dim': 24, 'value_dim': 8}, 'dtype': 'f64'},
    'square_window': {'similarity': {'polynomial_square': {'degree': 3, 'coefficients': 'param'}},
                      'mask': {'window': {'left': 64}},
                      'shape': {'head_dim': 8, 'value_dim': 36}, 'dtype': 'f64'},
    'documents': {'similarity': 'softmax', 'mask': 'document', 'shape': {'head_dim': 24, 'value_dim': 40}},
    'documents_causal': {'similarity': {'polynomial_square': {'degree': 2, 'coefficients': 'param'}},
                         'mask': {'all': ['causal', 'document']},
                         'algorithm': 'quadratic', 'shape': {'head_dim': 16}, 'dtype': 'f64',
                         'schedule': {'tile_q': 16, 'tile_k': 20}},
    'documents_carried': {'similarity': {'linear': {'features': 'elu_plus_one'}},
                          'mask': {'all': ['document', 'causal']}, 'algorithm': 'linear', 'block': 16,
                          'shape': {'head_dim': 8, 'value_dim': 24}},
    'documents_any': {'similarity': {'softmax': {'cap': 4.0}}, 'shape': {'head_dim': 8},
                      'mask': {'any': [{'all': [{'not': 'document'}, {'block_window': {'block': 24, 'left': 1}}]},
                                       {'global': {'count': 2}}]}},
    'given': {'similarity': 'softmax', 'mask': {'expr': 'seen[row][j]'}, 'shape': {'head_dim': 16},
              'arrays': {'seen': {'shape': ['Nq', 'Nk'], 'type': 'bool'}}},
}
# Rows of many vectors, with `./dev test whole`.
LARGER = {'softmax_none': (64, 64), 'softmax_bf16': (64, 64), 'softmax_multiplicative': (80, 64), 'polynomial_causal': (64, 64),
          'square_window': (8, 128)}
if WHOLE: KERNELS |= {name: KERNELS[name] | {'shape': {'head_dim': d, 'value_dim': e}} for name, (d, e) in LARGER.items()}
# Specs with linear forms.
CARRIED = {
    'sketch_local': {'prepare': ['layernorm'],
                     'similarity': {'polysketch': {'degree': 4, 'sketch': 24, 'local': 'exact'}},
                     'block': 100, 'mask': 'causal',
                     'algorithm': 'linear', 'shape': {'head_dim': 24, 'value_dim': 40}, 'dtype': 'bf16'},
    'sketch_none': {'similarity': {'polysketch': {'degree': 4, 'sketch': 8}}, 'algorithm': 'linear',
                    'shape': {'head_dim': 16}, 'dtype': 'f64'},
    'square_of_s': {'similarity': {'polynomial': {'degree': 2, 'alpha': 1}}, 'mask': 'causal', 'normalize': 'sum',
                    'algorithm': 'linear',
                    'shape': {'head_dim': 16, 'value_dim': 24}},
    'elu_causal': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                   'shape': {'head_dim': 24}, 'dtype': 'f64'},
    'favor_blocks': {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}},
                     'mask': {'all': ['causal', {'block_window': {'block': 20, 'left': 2}}]},
                     'algorithm': 'linear', 'shape': {'head_dim': 16, 'value_dim': 24}},
    'hedgehog_none': {'similarity': {'linear': {'features': 'hedgehog'}}, 'algorithm': 'linear',
                      'shape': {'head_dim': 16, 'value_dim': 8}},
}
# Specs that are called with arrays between pages without access. Their rows are not whole vectors or cache lines.
EVERY_ENTRY = ['forward', 'backward', 'decode']
FENCED = {
    'softmax': {'similarity': 'softmax', 'mask': 'causal', 'emit': EVERY_ENTRY},
    'window': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 20}}, 'emit': EVERY_ENTRY},
    'documents': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'emit': EVERY_ENTRY},
    'rows': {'similarity': {'softmax': {'modify': 's * own[b][row] + far[h][j] * gate[b][g][i][2]'}},
             'arrays': {'own': {'shape': ['B', 'Nq']}, 'far': {'shape': ['H', 'Nk']}, 'gate': {'shape': ['B', 'G', 'Nk', 3]}},
             'mask': 'causal', 'emit': ['forward', 'decode']},
    'rows_window': {'similarity': {'softmax': {'modify': 's + far[b][h][j]'}}, 'mask': {'window': {'left': 20}},
                    'arrays': {'far': {'shape': ['B', 'H', 'Nk']}}, 'emit': EVERY_ENTRY},
    'rows_linear': {'similarity': {'custom': {'weight': 's * (2 + tanh(far[b][j])) + near[j] * near[j]'}},
                    'arrays': {'far': {'shape': ['B', 'Nk']}, 'near': {'shape': ['Nk']}}, 'mask': 'causal',
                    'algorithm': 'linear', 'emit': ['forward', 'decode']},
    'none': {'similarity': 'softmax', 'emit': ['forward', 'backward']},
    'given': {'similarity': 'softmax', 'mask': {'expr': 'seen[b][row][j]'}, 'emit': ['forward', 'backward'],
              'arrays': {'seen': {'shape': ['B', 'Nq', 'Nk'], 'type': 'bool'}}},
    'elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
            'emit': EVERY_ENTRY},
    'square': {'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear',
               'emit': EVERY_ENTRY},
    'hedgehog': {'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': 'causal', 'algorithm': 'linear',
                 'emit': EVERY_ENTRY},
    'sketch': {'prepare': ['layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
               'block': 16, 'mask': 'causal', 'algorithm': 'linear', 'emit': ['forward', 'decode']},
}
OF_KEYS = {   # a value is a part of its key
    'keys': {'similarity': 'softmax', 'mask': 'causal', 'emit': EVERY_ENTRY},
    'keys_prepared': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': {'window': {'left': 20}}, 'emit': EVERY_ENTRY},
    'keys_elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                 'emit': EVERY_ENTRY},
}
FENCED |= OF_KEYS
FENCED_SIZES = (8, 12, 'f32'), (16, 24, 'f32'), (5, 8, 'bf16'), (24, 8, 'f32'), (12, 5, 'f32'), (64, 16, 'f16')
# The code of this kernel for x86-64-v4 names no instructions. It has only C's vectors.
WITHOUT_INSTRUCTIONS = {'square'}
# Specs that are called with impossible sizes. Their states keep all tokens, the first and the last tokens, or sums.
# Some specs have ids, prepared keys, sums that tiles add in turn, or gradients that are sums.
HOSTILE = {name: FENCED[name] for name in ('softmax', 'window', 'given', 'elu', 'hedgehog', 'rows', 'rows_linear')} | {
    'keys': OF_KEYS['keys_prepared'] | {'shape': {'head_dim': 12, 'value_dim': 8, 'values': 'keys'}},
    'documents_carried': KERNELS['documents_carried'] | {'emit': EVERY_ENTRY},
    'sinks': {'prepare': ['rope'], 'similarity': 'softmax', 'emit': ['forward', 'decode'],
              'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]}},
}
# A row of 64 elements has whole vectors only. A row of 21 elements has a remainder.
STORED = {'stored_%s_%d' % (dtype, width): {'similarity': 'softmax', 'dtype': dtype,
                                            'shape': {'head_dim': 2, 'value_dim': width}}
          for dtype in HALVES for width in (64, 21)}
OPTIMISED = {'softmax_window', 'polynomial_none', 'sketch_local'}   # compiled as users do; with `./dev test whole`, all
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']


class Emitted(Made):
    """The C of one spec, and the programs built from it."""

    def __init__(self, suite, name):
        super().__init__()
        self.suite, self.name = suite, name
        self.spec = {'name': name, 'dtype': 'f32'} | {**KERNELS, **CARRIED, **STORED}[name]
        self.folder = os.path.join(suite.folder, 'emitted', name)
        self.level = '-O2' if WHOLE or name in OPTIMISED else '-O0'

    def emit(self):
        os.makedirs(self.folder)
        path = os.path.join(self.folder, self.name + '.yaml')
        with open(path, 'w') as f:
            yaml.safe_dump(self.spec, f, sort_keys=False)
        done = execute([self.suite.attnc, path, '-o', self.folder])
        check(done.returncode == 0, 'attnc %s: exit status %d: %s' % (path, done.returncode, done.stderr))
        self.spec = definitions.load(path)
        return os.path.join(self.folder, self.name + '.c')

    def source(self):
        return self.once('source', self.emit)

    def here(self):
        """Returns the path of C that has only this machine's target."""
        source = self.source()

        def make():
            folder = os.path.join(self.folder, 'here')
            os.makedirs(folder)
            done = execute([self.suite.attnc, os.path.join(self.folder, self.name + '.yaml'), '-o', folder,
                            '--target', best_target()])
            check(done.returncode == 0, done.stderr)
            return os.path.join(folder, os.path.basename(source))
        return self.once('here', make)

    def build(self, key, source, command, sources, out, link=()):
        # Where the kernel may have -O2, so has the runtime, which every kernel runs.
        level = [] if '-fsanitize' in ' '.join(command) or '-fopenmp' not in command else ['-O2']
        objects = self.suite.objects.of(key.replace('-quick', ''), [*command, *level], sources)

        def make():
            path = os.path.join(self.folder, out)
            line = command + ['-I', RUNTIME, '-I', os.path.dirname(source), source, *objects, '-o', path,
                              *link, '-pthread', '-lm']
            done = execute(line, timeout=600)
            check(done.returncode == 0, '%s\n%s' % (' '.join(line), (done.stderr + done.stdout)[-3000:]))
            return path
        return self.once(key, make)

    def library(self, openmp=True):
        command = [compiler('clang'), *([self.level, '-fopenmp'] if openmp else ['-O0']), '-fPIC']
        path = self.build('library%d%s' % (openmp, self.level), self.here(), command, runtime_sources(),
                          'lib%s%s.so' % (self.name, '' if openmp else '_serial'), ['-shared'])
        return Kernel(path, self.name)

    def driver(self, key, cc, flags, link, debug):
        command = [compiler(cc), '-std=gnu11', *debug, '-DKERNEL=kernel_under_test', *flags]
        key += ''.join(debug)
        return self.build(key, self.here(), command, [*runtime_sources(), os.path.join(HERE, 'lib', 'driver.c')],
                          'driver-' + key, [*link, '-Wl,--defsym=kernel_under_test=%s_kernel' % self.name])


UNIT = {'bf16': 2.0 ** -8, 'f16': 2.0 ** -11}   # the largest relative change by rounding to 16 bits


def allowed(spec, P, q, k, v, least=False):
    """Returns the tolerance of each row, or a quick lower bound of it, without perturbed inputs."""
    out = definitions.attend(spec, P, q, k, v)
    error = (2e-6 * np.abs(definitions.attend(spec, P, q, k, np.abs(v))).max(-1, keepdims=True) if least
             else definitions.allowed_error(spec, P, q, k, v, out))
    if spec['dtype'] in HALVES:   # both results are stored in 16 bits, and weights may be rounded to bf16
        weights = (np.abs(definitions.attend(spec, P, q, k, np.abs(v))).max(-1, keepdims=True)
                   if spec['dtype'] == 'bf16' else 0)
        return 2 * error + 2 * (UNIT[spec['dtype']] * np.abs(out) + OF_LINEAR_FORMS * weights)
    # Both sides of the comparison have errors. The last bits of f64 are not tested.
    return error * (2.0 ** -26 if spec['dtype'] == 'f64' else 2)


def near(got, wanted, error, what):
    """Compares with the tolerance error(False). error(True) is a lower bound of it."""
    for least in True, False:
        over = np.abs(got - wanted) / np.maximum(error(least), 1e-300)
        over = np.where(np.isnan(over), np.inf, over)
        if (over <= 1).all(): return
    check((over <= 1).all(), '%s: off by %.3g times what is allowed, at %s' % (
        what, over.max(), np.unravel_index(np.argmax(over), over.shape)))


# ---------------------------------------------------------------- properties of the numbers

def linear(folder, emitted):
    """Attention is linear in v."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 101, 131, 2, 1, folder)
    w = np.random.default_rng(2).standard_normal(v.shape).astype(np.float32).astype(np.float64)
    if run.stored:   # few digits, so that 2 v - w / 2 is exact
        v, w = (np.clip(np.round(4 * x) / 4, -3, 3) for x in (v, w))
    both = (2 * v - 0.5 * w).astype(run.dtype).astype(np.float64)
    error = lambda least: sum(by * allowed(spec, P, q, k, x, least) for by, x in ((2, v), (0.5, w), (1, both)))
    near(run(P, q, k, both), 2.0 * run(P, q, k, v) - 0.5 * run(P, q, k, w), error,
         'f(2 v - w/2) is not 2 f(v) - f(w)/2')


def permuted(folder, emitted):
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 67, 131, 2, 3, folder)
    order = np.random.default_rng(4).permutation(131)
    moved = {n: x[..., order] if n == 'bias' else x for n, x in P.items()}
    near(run(moved, q, k[:, :, order], v[:, :, order]), run(P, q, k, v), lambda least: 2 * allowed(spec, P, q, k, v, least),
         'another order of the keys')


def same_bits(folder, emitted):
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    for B, H, G, n in (2, 4, 4, 1000 if WHOLE else 350), (1, 1, 1, 1000), (1, 4, 2, 130):
        P, q, k, v = inputs(spec, H, G, n, n, B, 5, folder)
        one = run(P, q, k, v, threads=1)
        for threads in 2, 3, 7, 7, 3, 2:
            other = run(P, q, k, v, threads=threads)
            check(one.tobytes() == other.tobytes(),
                  'B%d H%d n%d: %d threads give other bits than one, in %d of %d rows' % (
                      B, H, n, threads, (one != other).any(-1).sum(), one[..., 0].size))


def serial(folder, emitted):
    """Without -fopenmp the kernel runs on one thread."""
    emitted.source()
    run, with_threads, spec = emitted.library(openmp=False), emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 97, 130, 2, 6, folder)
    out = run(P, q, k, v, threads=7)
    error = functools.cache(lambda least: allowed(spec, P, q, k, v, least))
    near(out, definitions.attend(spec, P, q, k, v), error, 'without -fopenmp')
    near(out, with_threads(P, q, k, v, threads=7), lambda least: 2 * error(least), 'with and without -fopenmp')


def prefix_stable(folder, emitted):
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 2, 1, 163, 163, 1, 7, folder)
    whole = run(P, q, k, v)
    for n in 1, 64, 97, 130:
        first = [x[:, :, :n] for x in (q, k, v)]
        near(run(P, *first), whole[:, :, :n], lambda least: 2 * allowed(spec, P, *first, least), 'the first %d tokens alone' % n)


def masked_rows(folder, emitted):
    """Rows that see no key are exactly 0."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 190, 41, 2, 8, folder)
    seen = definitions.mask(spec['mask'], 190, 41, P, 0, 0, P).any(-1)
    check(not seen.all(), 'the test has no such row')
    out = run(P, q, k, v)
    check((out[:, :, ~seen] == 0).all(), 'a row without keys is not 0')
    check((out[:, :, seen] != 0).any(-1).all(), 'a row with keys is 0')


def given_table(folder, emitted):
    """With the caller's table of tiles, results have the same bits. The kernel believes the table. Tables of other
    masks, and memory that is no table, are refused before anything is written."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 190, 150, 2, 8, folder)
    expected, given = run(P, q, k, v), run.tables(P)
    table = given['seen tiles']
    check(run(given, q, k, v).tobytes() == expected.tobytes(), 'results with a table have other bits')
    empty = run.tables({'seen': np.zeros_like(P['seen'])})['seen tiles']
    check((run(given | {'seen tiles': empty}, q, k, v) == 0).all(), 'keys are seen, in spite of an empty table')
    part = np.zeros(table.size + 8, np.uint8)[4:][:table.size]
    part[:] = table
    wrong = {'of fewer queries': run.tables({'seen': P['seen'][1:]})['seen tiles'],
             'of fewer keys': run.tables({'seen': P['seen'][:, 1:]})['seen tiles'],
             'of more keys': run.tables({'seen': np.ones((190, 1500), np.uint8)})['seen tiles'],
             'of several masks': run.tables({'seen': np.ones((2, 190, 150), np.uint8)})['seen tiles'],
             'of zeros': np.zeros_like(table), 'of ones': np.full_like(table, 255),
             'for other tiles': np.concatenate([table[:1] ^ 1, table[1:]]), 'that is not aligned': part}
    for what, other in wrong.items():
        try:
            run(given | {'seen tiles': other}, q, k, v)
        except Failure as failure:
            error = 'forward returned %d' % (-6 if 'aligned' in what else -16)
            check(str(failure) == error, 'a table %s: %s' % (what, failure))
        else:
            raise Failure('a table %s is accepted' % what)


def large_logits(folder, emitted):
    """Large and small queries and keys give numbers between the minimum and maximum of the values."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    for by in 1e4, -1e4, 1e-4, 0.0:
        P, q, k, v = inputs(spec, 4, 2, 97, 130, 1, 9, folder)
        out = run(P, q * by, k, v)
        check(np.isfinite(out).all(), '%d results are not finite with q times %g' % ((~np.isfinite(out)).sum(), by))
        bound = np.abs(v).max() * (1 + 1e-5)
        check(np.abs(out).max() <= bound,
              'a mean of values up to %g is %g with q times %g' % (bound, np.abs(out).max(), by))


def minus_infinity(folder, emitted):
    """A bias of -inf hides a key. A row whose biases are all -inf is 0."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 97, 200, 1, 10, folder)
    rng = np.random.default_rng(11)
    P['bias'] = np.where(rng.random(P['bias'].shape) < 0.3, -np.inf, P['bias'])
    P['bias'][:, 5] = P['bias'][:, 96] = -np.inf     # these rows see no key
    P['bias'][:, 7, :-1] = -np.inf                   # this row sees only the last key
    P['bias'][:, 8, 1:] = -np.inf                    # this row sees only the first key
    P['bias'][:, 9:20, :128] = -np.inf               # in these rows, whole tiles without a visible key come first
    P['bias'][:, 20:30, 64:] = -np.inf               # in these rows, whole tiles without a visible key come last
    with np.errstate(invalid='ignore'):
        expected = definitions.attend(spec, P, q, k, v)
        error = allowed(spec, P, q, k, v)
    check(np.isfinite(expected).all(), 'the test has a bad answer')
    out = run(P, q, k, v)
    bad = np.argwhere(~np.isfinite(out))
    check(not len(bad), '%d results are not finite, in rows %s' % (len(bad), sorted(set(bad[:, 2].tolist()))[:10]))
    check((out[:, :, [5, 96]] == 0).all(), 'a row of -inf is not 0')
    near(out, expected, lambda least: error, 'with -inf in the bias')


def nan_stays(folder, emitted):
    """A NaN in a row of q reaches only the same row of out. A NaN in a row of k reaches only rows that see the key."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    P, q, k, v = inputs(spec, 4, 2, 130, 130, 2, 12, folder)
    clean = run(P, q, k, v)
    for row in 0, 63, 64, 100, 129:
        bad = q.copy()
        bad[1, 2, row, 3] = np.nan
        out = run(P, bad, k, v)
        sees = definitions.mask(spec.get('mask'), 130, 130, P, 0, 0, P)
        check(not sees[row].any() or np.isnan(out[1, 2, row]).all(), 'row %d of q has a NaN, its result has none' % row)
        out[1, 2, row] = clean[1, 2, row]
        check(out.tobytes() == clean.tobytes(),
              'a NaN in row %d of q changes rows %s' % (row, np.argwhere((out != clean).any(-1))[:4].tolist()))
        bad = k.copy()
        bad[0, 1, row, 2] = np.nan
        out = run(P, q, bad, v)
        hit = np.isnan(out).any(-1)
        wanted = np.zeros_like(hit)
        wanted[0, 2:4] = sees[:, row]
        check((hit == wanted).all(), 'a NaN in row %d of k reaches %d rows, not the %d that see it' % (
            row, hit.sum(), wanted.sum()))


def written(folder, suite, spec, n):
    """Returns the spec as read back, and its kernel, the n-th of these."""
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    return definitions.load(path), compiled(suite, path, folder, best_target(), *usual(n))


EXTREMES = ['exp(fmin(j, s))', 'exp(fmax(-5.0, s))', 'exp(fmin(s, fmax(0.5 * s, 2 * s)))',
            'exp(s) * fmax(log(j - 2.0), 1)', 'exp(s) * fmin(log(h - 0.5), 3.0)']


def extremes(folder, suite, weight, dtype, n):
    """fmin and fmax return NaN if an argument is NaN."""
    spec, run = written(folder, suite, {'name': 'extremes', 'similarity': {'custom': {'weight': weight}},
                                        'dtype': dtype, 'shape': {'head_dim': 8}}, n)
    P, q, k, v = inputs(spec, 2, 1, 5, 40, 1, 1, folder + '/in')
    q[:, :, 2] = np.nan
    with np.errstate(all='ignore'):
        wanted = np.isnan(definitions.attend(spec, P, q, k, v))
    check(wanted[:, :, 2].all(), 'the definitions lose a NaN')
    check(np.array_equal(np.isnan(run(P, q, k, v)), wanted), 'NaN is elsewhere than in the definitions')


def zero_rows(folder, suite, what, eps, n=1):
    """A query or key of 0 stays 0 after a norm."""
    spec, run = written(folder, suite,
                        {'name': 'zeros', 'dtype': 'f32', 'mask': 'causal', 'shape': {'head_dim': 8}} | what, n)
    P, q, k, v = inputs(spec, 2, 1, 40, 40, 1, 1, folder + '/in')
    q[:, :, 5], k[:, :, [0, 9]] = 0, 0
    unit = [np.divide(x, length, out=np.zeros_like(x), where=length > 0) for x in (q, k)
            for length in [np.sqrt((x * x).sum(-1, keepdims=True) + eps)]]
    s = unit[0] @ unit[1].swapaxes(-1, -2)
    weight = np.tril(1 + s if 'linear' in str(what) else np.exp(s / np.sqrt(8)))
    wanted = weight / weight.sum(-1, keepdims=True) @ v
    check(np.abs(run(P, q, k, v) - wanted).max() < 1e-5, 'off by %g' % np.abs(run(P, q, k, v) - wanted).max())


def every_number(folder, emitted):
    """With one visible key, the output is its value. This is tested for all 16-bit numbers. The mean of two
    adjacent numbers is rounded to the even one."""
    emitted.source()
    run, spec = emitted.library(), emitted.spec
    width = spec['shape']['value_dim']
    bits = np.arange(65536, dtype=np.uint16)
    numbers = run.as_numbers(bits if run.stored == 'bf16' else bits.view(np.float16)).astype(np.float32)
    # smaller numbers may be flushed to 0
    first = numbers[np.isfinite(numbers) & (np.abs(numbers) >= (2.0 ** -120 if run.stored == 'bf16' else 0))]
    first = np.sort(first[: first.size // width * width])
    heads = first.size // width
    v = np.stack([first, first], -1).reshape(1, heads, width, 2).swapaxes(2, 3)
    zeros = np.zeros((1, heads, 2, 2))
    out = run({}, zeros[:, :, :1], zeros[:, :, :1], v[:, :, :1])
    check(np.array_equal(out.reshape(-1), first), 'a number changes on its way through')
    second = np.append(first[1:], first[-1])
    v[:, :, 1] = second.reshape(1, heads, width)
    # Twice a larger value would overflow.
    small = np.abs(v).max(2, keepdims=True) < (2.0 ** 127 if run.stored == 'bf16' else np.inf)
    v = np.where(small, v, 0)
    out, mean = run({}, zeros[:, :, :1], zeros, v), v.astype(np.float64).mean(2, keepdims=True).astype(np.float32)
    check(np.array_equal(out, rounded(mean, run.stored)), 'a number between two is not rounded to the even one')


# ---------------------------------------------------------------- properties of the C

def quiet(line):
    done = execute(line, timeout=600)
    said = (done.stdout + done.stderr).strip()
    check(done.returncode == 0 and not said, '%s\n%s' % (' '.join(line), said[:3000]))


def silent(folder, emitted, cc, flags):
    quiet([compiler(cc), *flags, *WARNINGS, '-I', RUNTIME, '-c', emitted.source(), '-o', os.path.join(folder, 'k.o')])


def header(folder, emitted, cc, language):
    emitted.source()
    path = os.path.join(folder, 'user.' + ('cc' if language.startswith('c++') else 'c'))
    with open(path, 'w') as f:
        f.write('#include "%s.h"\n#include "%s.h"\nconst struct attn_kernel *user(void);\n'
                'const struct attn_kernel *user(void) { return &%s_kernel; }\n' % (
                    emitted.name, emitted.name, emitted.name))
    line = [compiler(cc), '-std=' + language, *WARNINGS, '-I', RUNTIME, '-I', emitted.folder, '-c', path,
            '-o', os.path.join(folder, 'user.o')]
    done = execute(line)
    check(done.returncode == 0 and not (done.stdout + done.stderr).strip(),
          '%s\n%s' % (' '.join(line), done.stderr[:3000]))


ALLOWED_SYMBOLS = re.compile(
    r'(GOMP_|omp_|__kmpc_|attn_)\w+|mem(cpy|set|move)|'
    r'(exp|exp2|log|log2|pow|tanh|erf|sqrt|sin|cos|floor|ldexp|fmod|f(abs|min|max|ma))f?|sincosf?|'
    r'__cpu_(model|indicator_init|features2)|sched_yield|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__popcountdi2')


def symbols(folder, emitted, level):
    """The object file has no warnings, allocates nothing, does no I/O, has no writable data, and exports only its
    own names."""
    path = os.path.join(folder, 'k.o')
    # Compiling the code of all targets takes four times as long.
    source = emitted.here() if level == '-O2' else emitted.source()
    quiet([compiler('gcc'), '-std=gnu11', level, '-fopenmp', '-fno-pie', *WARNINGS, '-I', RUNTIME, '-c', source, '-o', path])
    table = [line.split()[-2:] for line in execute(['nm', path]).stdout.splitlines()]
    foreign = sorted(name for kind, name in table if kind in 'UwW' and not ALLOWED_SYMBOLS.fullmatch(name))
    check(not foreign, 'asks for ' + ', '.join(foreign))
    state = sorted(name for kind, name in table if kind in 'bBdDCsSgG')
    check(not state, 'holds state: ' + ', '.join(state))
    own = re.compile(emitted.name + r'_(params_size|params_init|workspace|forward|kernel)')
    exported = sorted(name for kind, name in table if kind.isupper() and kind != 'U' and not own.fullmatch(name))
    check(not exported, 'exports ' + ', '.join(exported))


def clean_text(folder, emitted):
    """The emitted C has no path and no date. It has a command that reproduces it."""
    with open(emitted.source()) as f:
        text = f.read()
    check(emitted.folder not in text and '/tmp' not in text, 'the C holds a path')
    check(not re.search(r'20\d\d-\d\d|__DATE__|__TIME__', text), 'the C holds a date')
    check('attnc' in text.split('*/')[0], 'the header comment does not name attnc')
    long = [n for n, line in enumerate(text.split('\n'), 1) if len(line) > 200]
    check(not long, 'lines of more than 200 characters: %s' % long[:10])


WRAP = '-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign'
DRIVERS = {   # Each driver has a compiler, flags, checks and environment variables.
    'gcc': ('gcc', ['-O2', '-fopenmp', '-DCOUNT_ALLOCATIONS'],
            'layouts threads teams errors workspace allocations callers settings', {'OMP_NUM_THREADS': '3'}),
    'address-clang': ('clang', ['-O0', *SANITIZED], 'layouts threads errors callers',
                      {'ASAN_OPTIONS': 'detect_leaks=0'}),
    'thread-clang': ('clang', ['-O0', '-fsanitize=thread'], 'callers layouts teams', {}),
    'clang': ('clang', ['-O2', '-fopenmp'], 'layouts threads teams errors workspace callers settings',
              {'OMP_NUM_THREADS': '3'}),
    'gcc-quick': ('gcc', ['-O0', '-fopenmp', '-DCOUNT_ALLOCATIONS'],
                  'layouts threads teams errors workspace allocations callers settings', {'OMP_NUM_THREADS': '3'}),
    'clang-quick': ('clang', ['-O0', '-fopenmp'], 'layouts threads teams errors workspace callers settings',
                    {'OMP_NUM_THREADS': '3'}),
    'serial': ('gcc', ['-O0'], 'layouts threads errors workspace callers', {}),
    'address-gcc': ('gcc', ['-O0', *SANITIZED], 'layouts threads errors callers settings',
                    {'ASAN_OPTIONS': 'detect_leaks=0'}),
    'thread-gcc': ('gcc', ['-O0', '-fsanitize=thread'], 'callers layouts teams', {}),
    # With OpenMP, ThreadSanitizer needs the library Archer to know about barriers.
    'thread-openmp': ('clang', ['-O1', '-fopenmp', '-fsanitize=thread'], 'threads',
                      {'TSAN_OPTIONS': 'ignore_noninstrumented_modules=1'}),
}
FOR_ALL = ['address-clang']   # every kernel is tested with this driver, and with one driver of each list in IN_TURN
IN_TURN = ['gcc', 'clang-quick', 'gcc-quick', 'clang'], ['thread-clang', 'serial', 'address-gcc', 'thread-gcc', 'thread-openmp']
WITH_TABLES = {'given'}   # kernels whose workspace grows with the number of tiles
# In these kernels, threads use tables that other threads made.
ALSO = {'documents_carried': ['thread-openmp'], 'given': ['thread-openmp']}


def without_avx512(path):
    """Rewrites the C of a kernel so that it needs no AVX-512."""
    with open(path) as f:
        text = f.read()
    text, targets = re.subn(r'__attribute__\(\(target\("avx512[^"]*"\)\)\)', '', text)
    text, choices = re.subn(r'attn_x86_64_level\(\) >= 4', '1', text)
    check(targets and choices, 'the C does not say what it needs AVX-512 for')
    with open(path, 'w') as f:
        f.write(text)


def fences(folder, suite, spec, target):
    """No access is outside the arrays, in forward, backward and extend."""
    path, line, options = os.path.join(folder, 'fenced.yaml'), [compiler('clang'), '-O0', '-g1'], []
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'fenced'} | spec, f, sort_keys=False)
    done_well([suite.attnc, path, '-o', folder, '--target', target], folder)
    if target == 'x86-64-v4' and missing_flags(target):
        without_avx512(path[:-4] + 'c')
        options = ['-Wno-psabi', *['-DATTN_EMULATE_TILES'] * (spec['dtype'] == 'bf16')]
    elif missing_flags(target):
        raise Skip('the processor has no ' + missing_flags(target))
    objects = suite.objects.of('fences', [*line, '-DKERNEL=fenced_kernel'],
                               [*runtime_sources(), os.path.join(HERE, 'lib', 'fences_driver.c')])
    done_well([*line, *options, '-I', RUNTIME, 'fenced.c', *objects, '-lm', '-o', 'fenced'], folder)
    done = execute([os.path.join(folder, 'fenced')], timeout=300)
    check(done.returncode == 0, done.stdout + done.stderr[-2000:])


def fenced():
    """Yields the cases: a few sizes of each form and target, or all sizes with ATTN_FENCES=all."""
    arm = platform.machine() in ('aarch64', 'arm64')
    for t, target in enumerate(['generic', 'aarch64'] if arm else
                               ['generic', 'x86-64-v2', 'x86-64-v3', 'x86-64-v4']):
        rewritten = target == 'x86-64-v4' and missing_flags(target)
        every = rewritten or os.environ.get('ATTN_FENCES') == 'all'
        for n, (name, spec) in enumerate(FENCED.items()):
            if rewritten and name not in WITHOUT_INSTRUCTIONS:
                continue
            for at, (head_dim, value_dim, dtype) in enumerate(FENCED_SIZES):
                turn = (at - n - t) % len(FENCED_SIZES)
                if name == 'square' and head_dim > 24:   # head_dim squared would be too many features
                    continue
                if (n + t) % 2 and not every and not WHOLE: continue   # a form has two of the targets
                if every or turn == 0 or turn == 3 and name in ('elu', 'square'):
                    shape = {'head_dim': head_dim, 'value_dim': value_dim}
                    if name in OF_KEYS:
                        even = max(head_dim, value_dim) // 2 * 2
                        shape = {'head_dim': even, 'value_dim': min(head_dim, value_dim, even), 'values': 'keys'}
                    yield target, name, dict(spec, dtype=dtype, shape=shape)


def hostile(folder, suite, name, spec):
    """Impossible problems are refused, and nothing is written."""
    path = os.path.join(folder, name + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': name, 'dtype': 'f32', 'shape': {'head_dim': 8, 'value_dim': 12}} | spec, f,
                       sort_keys=False)
    done_well([suite.attnc, path, '-o', folder, '--target', 'generic'], folder)

    def test(debug):
        line = [compiler('clang'), '-O0', *debug, '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
        objects = suite.objects.of('hostile' + ''.join(debug), [*line, '-DKERNEL=kernel_under_test'],
                                   [*runtime_sources(), os.path.join(HERE, 'hostile_driver.c')])
        done_well([*line, '-I', RUNTIME, name + '.c', *objects, '-Wl,--defsym=kernel_under_test=%s_kernel' % name, '-lm',
                   '-o', 'hostile'], folder)
        done = execute([os.path.join(folder, 'hostile')], timeout=300,
                       env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0', UBSAN_OPTIONS='print_stacktrace=1'))
        check(done.returncode == 0, done.stdout + done.stderr[-3000:])
        return done.stdout.strip()
    return with_report(test)


PAGED = {   # specs, the window, and the sanitizers
    'f32': ({'mask': 'causal', 'shape': {'head_dim': 8, 'value_dim': 12}}, 0, 'address,undefined'),
    'threads': ({'mask': 'causal', 'shape': {'head_dim': 8, 'value_dim': 12}}, 0, 'thread'),
    'q8_0': ({'mask': 'causal', 'shape': {'head_dim': 32}, 'storage': {'k': 'q8_0', 'v': 'q8_0'}}, 0, 'address,undefined'),
    'window': ({'mask': {'window': {'left': 40}}, 'shape': {'head_dim': 16}}, 40, 'address,undefined'),
    'window-threads': ({'mask': {'window': {'left': 40}}, 'shape': {'head_dim': 32}, 'storage': {'k': 'q8_0', 'v': 'f16'}}, 40,
                       'thread'),
}


def wrong_pages(folder, suite, name):
    """Wrong pages are refused before anything is written, and freed pages are not read."""
    spec, window, sanitizers = PAGED[name]
    path = os.path.join(folder, 'paged.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'paged', 'similarity': 'softmax', 'emit': ['forward', 'decode']} | spec, f, sort_keys=False)
    done_well([suite.attnc, path, '-o', folder, '--target', 'generic' if name == 'window' else best_target()], folder)

    def test(debug):
        line = [compiler('clang'), '-O0', *debug, '-fsanitize=' + sanitizers, '-fno-sanitize-recover=all']
        objects = suite.objects.of('pages' + sanitizers + ''.join(debug), [*line, '-DKERNEL=paged_kernel'],
                                   [*runtime_sources(), os.path.join(HERE, 'pages_driver.c')])
        done_well([*line, '-I', RUNTIME, 'paged.c', *objects, '-lm', '-lpthread', '-o', 'paged'], folder)
        before = []
        for _ in range(2):
            done = execute([*before, os.path.join(folder, 'paged'), str(window)], timeout=300, signals=True,
                           env=dict(os.environ, ASAN_OPTIONS='detect_leaks=1', UBSAN_OPTIONS='print_stacktrace=1'))
            if 'unexpected memory mapping' not in done.stderr: break
            before = ['setarch', '-R']
        check(done.returncode == 0, done.stdout + done.stderr[-3000:])
        return done.stdout.strip()
    return with_report(test)


def driver(folder, emitted, key):
    cc, flags, checks, environment = DRIVERS[key]
    environment = dict(os.environ, **environment)
    if key == 'thread-openmp':
        where = execute([compiler('clang'), '-print-file-name=libarcher.so']).stdout.strip()
        if not os.path.exists(where):
            raise Skip('there is no libarcher.so for ' + compiler('clang'))
        environment |= {'OMP_TOOL_LIBRARIES': where, 'LD_LIBRARY_PATH': os.path.dirname(os.path.realpath(where))}
    if emitted.name in WITH_TABLES: checks = checks.replace('workspace', '')

    def test(debug):
        path = emitted.driver(key, cc, flags, [WRAP] if '-DCOUNT_ALLOCATIONS' in flags else [], debug)
        before = []
        for _ in range(2):
            done = execute([*before, path, *checks.split()], env=environment, timeout=600, signals=True)
            if 'unexpected memory mapping' not in done.stderr:
                break
            before = ['setarch', '-R']   # turns off Linux's random addresses, which the sanitizer may not support
        said = [line for line in done.stdout.splitlines() if not line.startswith('info ')]
        lines = '\n'.join(said[:8] + done.stderr.strip().splitlines()[:25])
        check(done.returncode == 0 and not done.stderr.strip(),
              'exit status %d\n%s\nreproduce: %s %s' % (done.returncode, lines, path, checks))
        return ' '.join(line[5:] for line in done.stdout.splitlines() if line.startswith('info ')) or None
    return with_report(test)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    kernels = {name: Emitted(suite, name) for name in KERNELS}
    for n, (name, emitted) in enumerate(kernels.items()):
        # gcc warns more when it optimises. symbols() checks these warnings with gnu11.
        suite.case('silent-gcc-c11-' + name, silent, emitted, 'gcc', ['-std=c11', '-fsyntax-only', '-fopenmp'])
        for std, more in ('c11', ['-fopenmp']), [('gnu11', ['-fopenmp']), ('c11', [])][n % 2]:
            suite.case('silent-clang-%s%s-%s' % (std, '' if more else '-serial', name), silent, emitted, 'clang',
                       ['-std=' + std, '-fsyntax-only', *more])
        for level in ('-O0', '-O2')[:1 + optimised(n, 3)]:   # symbols() also checks the warnings of gcc with gnu11
            suite.case('symbols%s-%s' % (level, name), symbols, emitted, level)
        suite.case('text-' + name, clean_text, emitted)
    for name in CARRIED:
        emitted = Emitted(suite, name)
        suite.case('same_bits-' + name, same_bits, emitted)
        suite.case('serial-' + name, serial, emitted)
        if 'mask' in CARRIED[name]:
            suite.case('prefix_stable-' + name, prefix_stable, emitted)
    for name in 'softmax_causal', 'softmax_multiplicative', 'softmax_bf16':
        suite.case('header-c-' + name, header, kernels[name], 'gcc', 'c11')
        suite.case('header-c++-' + name, header, kernels[name], 'c++', 'c++17')
    for name, emitted in kernels.items():
        suite.case('linear-' + name, linear, emitted)
        suite.case('serial-' + name, serial, emitted)
        suite.case('same_bits-' + name, same_bits, emitted)
        suite.case('nan_stays-' + name, nan_stays, emitted)
    for property, names in (
            (permuted, 'softmax_none softmax_dense'),
            (prefix_stable, 'softmax_causal softmax_bf16 polynomial_causal'), (minus_infinity, 'softmax_dense'),
            (given_table, 'given'),
            (masked_rows, 'softmax_causal softmax_window polynomial_causal square_window documents_causal'),
            (large_logits, 'softmax_none softmax_causal softmax_bf16 softmax_window softmax_dense')):
        for name in names.split():
            suite.case('%s-%s' % (property.__name__, name), property, kernels[name])
    for n, weight in enumerate(EXTREMES):
        suite.case('extremes-%d' % n, extremes, suite, weight, 'f32', 2 * n)
        suite.case('extremes-%d-f64' % n, extremes, suite, weight, 'f64', 2 * n + 5)
    for form in 'quadratic', 'linear':
        for feature, eps in ('taylor1', 0), ({'taylor1': {'eps': 0.01}}, 0.01):
            suite.case('zero_rows-%s-%g' % (form, eps), zero_rows, suite,
                       {'similarity': {'linear': {'features': feature}}, 'algorithm': form}, eps, 0 if eps else 1)
    suite.case('zero_rows-l2norm', zero_rows, suite, {'similarity': 'softmax', 'prepare': ['l2norm']}, 0)
    for target, name, spec in fenced():
        sizes = spec['shape']['head_dim'], spec['shape']['value_dim']
        suite.case('fences-%s-%s-%dx%d-%s' % (target, name, *sizes, spec['dtype']), fences, suite, spec, target)
    for name, spec in HOSTILE.items():
        if name in ('window', 'elu') and not WHOLE: continue   # `sinks` has a window, `hedgehog` sums of keys
        suite.case('hostile-' + name, hostile, suite, name, spec)
    for name in PAGED: suite.case('wrong_pages-' + name, wrong_pages, suite, name)
    for name in STORED:
        suite.case('every_number-' + name, every_number, Emitted(suite, name))
    for n, (name, emitted) in enumerate(kernels.items()):
        turn = [keys[n % len(keys)] for keys in IN_TURN]
        if n >= 4 and not WHOLE: turn[0] = {'gcc': 'gcc-quick', 'clang': 'clang-quick'}.get(turn[0], turn[0])
        for key in dict.fromkeys(FOR_ALL + turn + ALSO.get(name, [])):
            suite.case('driver-%s-%s' % (key, name), driver, emitted, key)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
