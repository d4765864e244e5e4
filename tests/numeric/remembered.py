#!/usr/bin/python3
"""Compares kernels whose threads keep tiles for later sequences of the batch with definitions.py: windows of an image
with a bias for each pair of patches, as in Swin Transformer.

A sequence has the same bits alone as in a batch, on 1 to 3 threads. Lengths are around a tile of 64. A thread keeps
the tiles of all heads, or those of one head, which it then computes for all sequences first."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import answers
import backward
import definitions
from autograd_venv import autograd
from kernel import Objects, best_target, compiled
from positions import call, gradients_of
from processor import rounding
from suite import Suite, check, compiler

BIAS = 's + table[h][i / 7 - j / 7 + 6][i % 7 - j % 7 + 6]'
TABLE = {'table': {'shape': ['H', 13, 13]}}
SPECS = {
    'swin': {'modify': BIAS, 'arrays': TABLE},
    'swin-f64': {'modify': BIAS, 'arrays': TABLE, 'dtype': 'f64'},
    'swin-bf16': {'modify': BIAS, 'arrays': TABLE, 'dtype': 'bf16'},
    'short': {'modify': BIAS, 'arrays': TABLE, 'shape': {'head_dim': 8, 'value_dim': 12, 'max_length': 49}},
    'group': {'modify': 's + table[g][i / 7 - j / 7 + 6][i % 7 - j % 7 + 6]', 'arrays': {'table': {'shape': ['G', 13, 13]}}},
    # the subscripts come from the caller
    'index': {'modify': 's + table[h][index[row][j] % 9]',
              'arrays': {'table': {'shape': ['H', 9]}, 'index': {'shape': ['Nq', 'Nk'], 'type': 'int'}}},
    # the keys that exist differ between sequences, and so do the ranges of tiles
    'padded': {'modify': BIAS, 'arrays': TABLE, 'mask': {'all': ['causal', 'lengths']}},
    'window': {'modify': BIAS, 'arrays': TABLE, 'mask': {'window': {'left': 40, 'right': 3}}},
    # the tile differs between sequences, so that a thread may not keep it
    'batch': {'modify': 's + table[h][(i * j + 5 * b) % 9]', 'arrays': {'table': {'shape': ['H', 9]}}, 'equal': False},
}
# `equal`: false if the weights depend on the number of the sequence. Each shape is (batch, heads, key/value heads, queries, keys).
SHAPES = [(5, 4, 2, 49, 49), (3, 2, 1, 63, 65), (3, 3, 3, 64, 64), (2, 2, 2, 65, 63), (3, 4, 4, 1, 1), (3, 2, 2, 20, 49),
          (3, 4, 4, 130, 140), (2, 40, 20, 49, 49), (4, 40, 40, 9, 12)]


def of_sequence(P, b):
    """Returns the arrays of sequence b alone."""
    return {n: x[b:b + 1] if n in ('q', 'k', 'v', 'dout', 'lengths', 'query_start') else x for n, x in P.items()}


def case(folder, suite, keys, target):
    keys = dict(keys)
    equal = keys.pop('equal', True)
    spec = {'name': 'kept', 'dtype': 'f32', 'mask': 'none', 'shape': {'head_dim': 8, 'value_dim': 12},
            'similarity': {'softmax': {'modify': keys.pop('modify')}}, 'emit': ['forward', 'backward']} | keys
    path = folder + '/kept.yaml'
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    spec = definitions.load(path)
    kernel = compiled(suite, path, folder, target, '-O0', compiler('clang'))
    calls, most = 0, spec['shape'].get('max_length') or 1 << 30
    for number, shape in enumerate(SHAPES):
        if max(shape[3:]) > most: continue
        P = backward.inputs('%s/%d' % (folder, number), spec, shape, number)
        if suite.without: P.pop('dout')
        out = call(kernel, P)
        answer = answers.Answer(spec, {n: x for n, x in P.items() if n != 'dout'})
        why = answer.judge(out.astype(float), more=rounding(spec, target, '') * answer.scale)[0]
        check(not why, '%s: %s' % (shape, why))
        rest = {n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')}
        for threads in 1, 2, 3:
            again = kernel(rest, P['q'], P['k'], P['v'], threads=threads)
            check(again.tobytes() == out.tobytes(), '%s: other bits on %d threads' % (shape, threads))
        calls += 4
        for b in range(shape[0] if equal else 0):
            alone = call(kernel, of_sequence(P, b))
            check(alone.tobytes() == out[b:b + 1].tobytes(), '%s: sequence %d has other bits alone' % (shape, b))
            calls += 1
        if suite.without or number % 3: continue
        backward.judge(spec, P, gradients_of(kernel, spec, P))
        calls += 1
    return '(%d calls)' % calls


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    suite.without = autograd() if not suite.options.list else ''
    for n, (name, keys) in enumerate(SPECS.items()):
        suite.case(name, case, suite, keys, 'generic' if n % 4 == 3 else best_target())
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
