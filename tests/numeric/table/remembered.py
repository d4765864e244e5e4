"""Kernels whose threads keep tiles for later sequences of the batch: windows of an image with a bias for each pair of
patches, as in Swin Transformer.

A sequence has the same bits alone as in a batch, on 1 to 3 threads. Lengths are around a tile of 64. A thread keeps
the tiles of all heads, or those of one head, which it then computes for all sequences first."""
from functools import partial

from loop import BY_CALL, Row, in_turn, right, right_gradients, same_bits, threads
from processor import rounding

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
    'batch': {'modify': 's + table[h][(i * j + 5 * b) % 9]', 'arrays': {'table': {'shape': ['H', 9]}}},
}
# Each shape is (batch, heads, key/value heads, queries, keys).
SHAPES = [(5, 4, 2, 49, 49), (3, 2, 1, 63, 65), (3, 3, 3, 64, 64), (2, 2, 2, 65, 63), (3, 4, 4, 1, 1), (3, 2, 2, 20, 49),
          (3, 4, 4, 130, 140), (2, 40, 20, 49, 49), (4, 40, 40, 9, 12)]


def alone(x):
    """A sequence has the same bits alone as in a batch."""
    for b in range(x.batch):
        own = {n: a[b:b + 1] for n, a in x.arrays.items() if n in (*BY_CALL, 'lengths')}
        same_bits(x.but(**own).out, x.out[b:b + 1], 'of sequence %d alone' % b)


def cases():
    for n, (name, keys) in enumerate(SPECS.items()):
        keys, target = dict(keys), in_turn(n)
        spec = {'name': 'remembered', 'dtype': 'f32', 'mask': 'none', 'shape': {'head_dim': 8, 'value_dim': 12},
                'similarity': {'softmax': {'modify': keys.pop('modify')}}, 'emit': ['forward', 'backward']} | keys
        most = spec['shape'].get('max_length', 1 << 30)
        shapes = [(at, shape) for at, shape in enumerate(SHAPES) if max(shape[3:]) <= most]
        checks = [partial(right, more=lambda x, to=target: rounding(x.spec, to, '')), partial(threads, counts=(1, 2, 3)),
                  lambda x: None if x.seed % 3 else right_gradients(x)]
        yield Row(name, spec, shapes, checks + [alone] * (name != 'batch'), target)
