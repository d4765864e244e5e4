"""Prints the expected results of numeric tests, to compare processors with different vector instructions. usage:
same.py FOLDER"""
import hashlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np

from answers import draw

SPECS = [
    {'prepare': ['rope', {'l2norm': {'eps': 1e-3}}, 'layernorm'],
     'similarity': {'polysketch': {'degree': 8, 'sketch': 8, 'map': 'learned'}}, 'normalize': 'none'},
    {'prepare': ['rope'], 'similarity': {'softmax': {'cap': 3.0, 'bias': 'alibi'}}},
    {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}},
    {'similarity': {'custom': {'weight': 'exp(s / 2) * pow(1.5 + tanh(s), 3)'}}},
]


def main(folder):
    for n, spec in enumerate(SPECS):
        for dtype in 'f32', 'f64':
            spec = spec | {'name': 'same%d' % n, 'dtype': dtype,
                           'shape': {'head_dim': 20, 'value_dim': 24}, 'mask': 'causal'}
            answer = draw(spec, os.path.join(folder, '%d%s' % (n, dtype)), (2, 1, 30, 33, 1), n)
            # the last digits of wider numbers may differ
            print(n, dtype, hashlib.sha256(np.asarray(answer.own).tobytes()).hexdigest(), '%.6g %.6g %.6g' % (
                answer.expected.astype(np.float64).sum(), answer.allowed.sum(), answer.wider))


if __name__ == '__main__':
    main(sys.argv[1])
