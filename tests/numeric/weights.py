#!/usr/bin/python3
"""Compares weights (`emit: [forward, weights]`) with definitions.py: every kind of weight, mask, denominator and dtype,
and expressions of pairs in place of weights.

The array is contiguous or has gaps, which keep their contents. The output and the weights have the same bits with any
number of threads, and the output has the same bits without weights."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import Objects, best_target, compiled, inputs, usual
from suite import Suite, check

RATE = {'arrays': {'rate': {'shape': ['B', 'H', 'Nk']}}, 'delta': {'rate': 'rate[b][h][t]'}}
SOME = {'expr': 'j <= i && (i + h) % 5 != 2 && j % 7 != 0'}   # some rows see no key
CASES = {
    'softmax': {'similarity': 'softmax'},
    'causal-bf16': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'bf16', 'shape': {'head_dim': 32}},
    'some-f16': {'similarity': {'softmax': {'cap': 5}}, 'mask': SOME, 'dtype': 'f16', 'prepare': ['rope']},
    'window-f64': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 9, 'dilation': 2}}, 'dtype': 'f64'},
    'sink': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'normalize': {'sink': '0.3 * h'}},
    'large-logits': {'similarity': {'softmax': {'scale': 40}}, 'mask': 'causal', 'normalize': {'sum_plus': 0.5}},
    'dropout': {'similarity': 'softmax', 'dropout': 0.3, 'seed': 5},
    'undivided': {'similarity': 'softmax', 'normalize': 'none', 'mask': 'causal'},
    'random': {'similarity': 'softmax', 'mask': {'any': [{'global': {'count': 2}}, {'random': {'block': 8, 'count': 2}}]}},
    'learns': {'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'backward', 'decode', 'statistics', 'weights']},
    'decay': {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'decay': {'log': 'gate[b][h][t][d]'},
              'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 16]}}, 'normalize': 'none', 'algorithm': 'linear'},
    'delta': {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none', **RATE},
    'delta-softmax': {'similarity': 'softmax', 'mask': 'causal', **RATE},
    'power': {'similarity': {'polynomial': {'degree': 12, 'beta': 2}}, 'mask': 'causal', 'normalize': 'sum'},
    'favor': {'similarity': {'linear': {'features': {'favor_positive': {'count': 8}}}}, 'mask': 'causal', 'algorithm': 'linear'},
    'local': {'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, 'mask': 'causal', 'block': 16},
    'additive': {'similarity': {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}},
    'factor': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.2, 'output': '2 * a', 'sums': {'a': {
        'factor': 'tanh(s) + 0.1 * h'}}},
    'logits': {'similarity': 'softmax', 'mask': 'causal', 'prepare': ['rope'], 'weights': '0.25 * s'},
    'logits-bf16': {'similarity': 'softmax', 'mask': SOME, 'dtype': 'bf16', 'weights': '5 * tanh(s / 5) + bias[h][i - j + 4]',
                    'arrays': {'bias': {'shape': ['H', 9]}}},
    'logits-of-sums': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f64', 'weights': 'j <= i ? s - r : low',
                       'arrays': {'q2': {'shape': ['B', 'H', 'Nq', 5]}, 'k2': {'shape': ['B', 'G', 'Nk', 5]}, 'low': {'shape': []}},
                       'scores': {'r': {'query': 'q2', 'key': 'k2'}}, 'output': 'a * c',
                       'sums': {'a': {}, 'c': {'similarity': {'softmax': {'modify': 's + r'}}}}},
    'logits-of-features': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'dtype': 'f16',
                           'prepare': ['l2norm'], 'weights': 's * (h + 1)'},
    'keys': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 16, 'value_dim': 8, 'values': 'keys'}},
}
# Each shape is (batch, heads, heads of k and v, queries, keys).
SHAPES = [(1, 1, 1, 1, 1), (2, 4, 2, 15, 15), (1, 3, 1, 33, 170), (1, 4, 2, 70, 33), (1, 32, 1, 2, 300)]
TOLERANCE = {'f32': 2e-5, 'f64': 1e-12, 'f16': 2.0 ** -10, 'bf16': 2.0 ** -6}


def spec_of(name):
    return {'name': 'k', 'shape': {'head_dim': 16, 'value_dim': 12}, 'dtype': 'f32', 'emit': ['forward', 'weights']} | CASES[name]


def one_shape(kernel, spec, folder, shape, seed):
    B, H, G, n_q, n_k = shape
    if 'delta' in spec: G = H
    P, q, k, v = inputs(spec, H, G, n_q, n_k, B, seed, folder)
    _, expected = definitions.attend(spec, dict(P), q, k, v, weights=True)
    plain = kernel(P, q, k, v)
    stored = {'bf16': np.uint16, 'f16': np.float16}.get(kernel.stored, kernel.dtype)
    first = None
    for gaps in 0, 3:
        memory = np.full((B, n_q, H + (gaps > 0), n_k + gaps), 0x7FC1 if kernel.stored == 'bf16' else np.nan, stored)
        view = memory[:, :, :H, :n_k].transpose(0, 2, 1, 3)
        before = memory.copy()
        out = kernel(P, q, k, v, threads=1 + gaps, weights=view)
        check(out.tobytes() == plain.tobytes(), 'out has other bits with weights')
        got, view[...] = view.copy(), before[:, :, :H, :n_k].transpose(0, 2, 1, 3)
        check(memory.tobytes() == before.tobytes(), 'it wrote elsewhere')
        check(first is None or got.tobytes() == first.tobytes(), 'other bits with other threads')
        first = got
    numbers = kernel.as_numbers(got)
    check('weights' in spec or (numbers[expected == 0] == 0).all(), 'a key that is hidden has a weight')
    scale = 1 if spec.get('normalize') != 'none' and 'weights' not in spec else np.abs(expected).max(-1, keepdims=True) + 1
    off = float((np.abs(numbers - expected) / scale).max(initial=0))
    check(off <= TOLERANCE[spec['dtype']], 'weights of B%d H%d G%d nq%d nk%d are off by %.3g' % (*shape, off))
    return off


def case(folder, suite, name, n):
    spec, path = spec_of(name), os.path.join(folder, 'k.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    kernel = compiled(suite, path, folder, best_target(), *usual(n))
    spec = definitions.load(path)
    return '(largest error %.2g)' % max(one_shape(kernel, spec, os.path.join(folder, 'data%d' % n), shape, n)
                                         for n, shape in enumerate(SHAPES))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(CASES):
        suite.case(name, case, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
