#!/usr/bin/python3
"""Compares the statistics of rows (`emit: statistics`) and merged results with definitions.py.

Statistics are contiguous or have gaps. Results for parts of the keys are merged and compared with the result for
all keys."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import Objects, State, best_target, compiled, inputs, usual
from suite import Suite, check

SIMILARITY = {
    'softmax': 'softmax',
    'alibi': {'softmax': {'bias': 'alibi', 'cap': 5}},
    'polynomial': {'polynomial': {'degree': 4}},
    'power': {'polynomial': {'degree': 16, 'beta': 2}},
    'elu': {'linear': {'features': 'elu_plus_one'}},
    'favor': {'linear': {'features': {'favor_positive': {'count': 8}}}},
    'local': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}},
    'exponential': {'custom': {'weight': 'exp(s / 4) * (1 + s * s)'}},
    'zero': {'custom': {'weight': 's > 0 ? s * s : 0.0'}},   # a row may see only keys with weight 0
}
NORMALIZE = {'sum': 'sum', 'plus': {'sum_plus': 0.5}, 'sink': {'sink': 'h * 0.5 - i * 0.02'}, 'none': 'none',
             'learned': {'sink': 'sink[h] * 2'}}
MASKS = {
    'none': 'none', 'causal': 'causal', 'window': {'window': {'left': 20}}, 'document': 'document',
    'own_document': {'all': ['causal', 'document']},
    'some': {'expr': 'j <= i && (i + h) % 5 != 2 && j % 7 != 0'},   # some rows see no key
    'prefix': {'prefix': {'length': 40}}}
# Each value is (similarity, normalize, mask, other keys of the spec).
CASES = {
    'softmax': ('softmax', 'sum', 'none', {}),
    'softmax-bf16': ('softmax', 'sum', 'none', {'dtype': 'bf16', 'shape': {'head_dim': 32}}),
    'softmax-f16': ('softmax', 'sum', 'none', {'dtype': 'f16'}),
    'softmax-f64': ('softmax', 'sum', 'none', {'dtype': 'f64'}),
    'softmax-causal': ('softmax', 'sum', 'causal', {'emit': ['forward', 'statistics', 'decode', 'backward']}),
    'softmax-causal-bf16': ('softmax', 'sum', 'causal', {'emit': ['forward', 'statistics', 'decode', 'backward'],
                                                         'dtype': 'bf16', 'shape': {'head_dim': 32}}),
    'softmax-some': ('softmax', 'sum', 'some', {'emit': ['forward', 'statistics', 'decode']}),
    'softmax-none': ('softmax', 'none', 'some', {}),
    'softmax-none-unmasked': ('softmax', 'none', 'none', {}),
    'softmax-plus': ('softmax', 'plus', 'own_document', {'emit': ['forward', 'statistics', 'decode']}),
    'softmax-sink': ('softmax', 'sink', 'window', {'emit': ['forward', 'statistics', 'decode'],
                                                   'prepare': ['rope']}),
    'softmax-sink-some': ('softmax', 'sink', 'some', {'dtype': 'f64'}),
    'softmax-sink-learned': ('softmax', 'learned', 'causal', {
        'emit': ['forward', 'statistics', 'decode', 'backward'], 'arrays': {'sink': {'shape': ['H'], 'learned': True}}}),
    'alibi': ('alibi', 'sum', 'causal', {'emit': ['forward', 'statistics', 'decode']}),
    'document': ('softmax', 'sum', 'document', {'dtype': 'f16'}),
    'polynomial': ('polynomial', 'sum', 'none', {'algorithm': 'quadratic'}),
    'polynomial-linear': ('polynomial', 'sum', 'none', {'algorithm': 'linear', 'shape': {'head_dim': 4}}),
    'polynomial-plus': ('polynomial', 'plus', 'some', {'algorithm': 'quadratic'}),
    'polynomial-plus-linear': ('polynomial', 'plus', 'causal', {'algorithm': 'linear', 'shape': {'head_dim': 4},
                                                                'emit': ['forward', 'statistics', 'decode']}),
    'power': ('power', 'sum', 'causal', {'emit': ['forward', 'statistics', 'backward']}),
    'elu': ('elu', 'sum', 'none', {'algorithm': 'linear', 'dtype': 'f64'}),
    'elu-none': ('elu', 'none', 'none', {'algorithm': 'linear'}),
    'elu-sink': ('elu', 'sink', 'prefix', {'algorithm': 'linear'}),
    'elu-causal': ('elu', 'sum', 'causal', {'emit': ['forward', 'statistics', 'decode', 'backward'],
                                            'algorithm': 'linear'}),
    'elu-document': ('elu', 'none', 'own_document', {'emit': ['forward', 'statistics', 'decode'],
                                                     'algorithm': 'linear'}),
    'favor': ('favor', 'sum', 'causal', {'emit': ['forward', 'statistics', 'decode'], 'algorithm': 'linear'}),
    'local': ('local', 'plus', 'causal', {'emit': ['forward', 'statistics', 'decode'], 'block': 16}),
    'exponential': ('exponential', 'sum', 'none', {}),
    'zero-sum': ('zero', 'sum', 'none', {'shape': {'head_dim': 1}}),
    'many-parts': ('softmax', 'sum', 'causal', {'schedule': {'tile_q': 16, 'tile_k': 16}, 'shape': {'head_dim': 8}}),
}
# Each shape is (batch, heads, heads of k and v, queries, keys).
SHAPES = [(1, 1, 1, 1, 1), (2, 4, 2, 15, 15), (1, 3, 1, 33, 70), (2, 2, 2, 129, 129), (1, 4, 2, 70, 33),
          (1, 2, 1, 3, 700), (1, 2, 2, 1, 129)]
TOLERANCE = {'f32': 1e-5, 'f64': 1e-12, 'f16': 1e-5, 'bf16': 2.0 ** -7}
OUT = {'f32': 2e-5, 'f64': 1e-12, 'f16': 2.0 ** -9, 'bf16': 2.0 ** -6}


def close(what, got, expected, tolerance):
    """Checks that infinite and NaN numbers are equal, and that the error of other numbers is at most `tolerance` *
    (1 + |number|)."""
    unseen = ~np.isfinite(expected)
    check(np.array_equal(got[unseen], expected[unseen]), what + ': a row that sees no key, or one that does')
    off = np.abs(got[~unseen] - expected[~unseen]) / (1 + np.abs(expected[~unseen]))
    check((off <= tolerance).all(), '%s is off by %.3g' % (what, off.max(initial=0)))
    return float(off.max(initial=0))


def spec_of(name):
    similarity, normalize, mask, more = CASES[name]
    return {'name': 'k', 'similarity': SIMILARITY[similarity], 'normalize': NORMALIZE[normalize], 'mask': MASKS[mask],
            'shape': {'head_dim': 16, 'value_dim': 12}, 'dtype': 'f32', 'emit': ['forward', 'statistics']} | more


def array(kernel, shape, gaps):
    """Returns an array of NaN, and a view of it for a call to write."""
    B, H, n = shape
    memory = np.full((B, n, H + 1, 3) if gaps else (B, H, n), np.nan, kernel.dtype)
    return memory, memory[:, :, :H, 1].transpose(0, 2, 1) if gaps else memory


def one_shape(kernel, spec, folder, shape, seed):
    B, H, G, n_q, n_k = shape
    P, q, k, v = inputs(spec, H, G, n_q, n_k, B, seed, folder)
    dtype, worst = spec['dtype'], 0.0
    expected, statistics = definitions.attend(spec, dict(P), q, k, v, statistics=True)
    plain = kernel(P, q, k, v)
    for gaps in False, True:
        memory, view = array(kernel, (B, H, n_q), gaps)
        out = kernel(P, q, k, v, threads=1 + 2 * gaps, statistics=view)
        check(out.tobytes() == plain.tobytes(), 'out has other bits with statistics')
        what = 'statistics of B%d H%d G%d nq%d nk%d' % shape + (' with gaps' if gaps else '')
        worst = max(worst, close(what, view, statistics, TOLERANCE[dtype]))
        check(np.isfinite(memory).sum() + np.isinf(memory).sum() == view.size, 'it wrote elsewhere')
    return worst, (P, q, k, v)


def merged(kernel, spec, given):
    """Merges results for parts of the keys, one after the other. One part is empty."""
    P, q, k, v = given
    n = k.shape[2]
    tolerance, worst = OUT[spec['dtype']], 0.0
    memory, whole = array(kernel, q.shape[:3], False)
    out = kernel(P, q, k, v, statistics=whole)
    for ends in (0, n), (0, 0, n), (n // 2, n), (1, n // 3, n):
        total, begin = None, 0
        for end in ends:
            some = np.full_like(whole, np.nan)
            part = kernel(P, q, k[:, :, begin:end], v[:, :, begin:end], statistics=some), some
            total = part if total is None else kernel.merge(total, part, threads=len(ends))
            begin = end
        scale = np.abs(out).max(-1, keepdims=True)
        off = np.abs(total[0] - out) / np.maximum(scale, np.abs(v).max() if spec['normalize'] != 'none' else 1e-30)
        check((off <= tolerance).all(), 'merged rows of parts up to %s are off by %.3g' % (ends, off.max()))
        worst = max(worst, float(off.max(initial=0)),
                    close('merged statistics of parts up to %s' % (ends,), total[1], whole, TOLERANCE[spec['dtype']]))
    return worst


def grown(kernel, spec, folder, seed):
    """Tests the statistics that extend writes for pieces of a sequence."""
    B, H, G, n = 2, 4, 2, 140
    P, q, k, v = inputs(spec, H, G, n, n, B, seed, folder)
    _, statistics = definitions.attend(spec, dict(P), q, k, v, statistics=True)
    state, rng, at = State(kernel, P, B, H, G, capacity=n), np.random.default_rng(seed), np.zeros(B, int)
    got = np.full_like(statistics, np.nan)
    while (at < n).any():
        lengths = np.minimum(rng.choice([0, 1, 1, 3, 17, 60], size=B), n - at)
        pieces = [np.zeros(x.shape[:2] + (max(1, lengths.max()),) + x.shape[3:]) for x in (q, k, v)]
        rows = {name: np.zeros((B, pieces[0].shape[2]), P[name].dtype) for name in ('document',) if name in P}
        for b, m in enumerate(lengths):
            for to, x in zip(pieces, (q, k, v)):
                to[b, :, :m] = x[b, :, at[b]:at[b] + m]
            for name, to in rows.items(): to[b, :m] = P[name][b, at[b]:at[b] + m]
        memory, view = array(kernel, (B, H, pieces[0].shape[2]), bool(rng.integers(2)))
        state.extend(*pieces, list(lengths), statistics=view, rows=rows)
        for b, m in enumerate(lengths):
            got[b, :, at[b]:at[b] + m] = view[b, :, :m]
            check(np.isnan(view[b, :, m:]).all(), 'extend wrote beyond the tokens of a call')
        at += lengths
    return close('statistics of extend', got, statistics, TOLERANCE[spec['dtype']])


def case(folder, suite, name, n):
    spec, path = spec_of(name), os.path.join(folder, 'k.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    kernel = compiled(suite, path, folder, best_target(), *usual(n))
    spec, said = definitions.load(path), []
    for n, shape in enumerate(SHAPES):
        worst, given = one_shape(kernel, spec, os.path.join(folder, 'data%d' % n), shape, n)
        said.append(worst)
        _, normalize, mask, _ = CASES[name]
        if mask == 'none' and normalize in ('sum', 'none') and given[2].shape[2] > 2:
            said.append(merged(kernel, spec, given))
    if 'decode' in spec['emit']:
        said.append(grown(kernel, spec, os.path.join(folder, 'grown'), 3))
    return '(largest error %.2g)' % max(said)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(CASES):
        suite.case(name, case, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
