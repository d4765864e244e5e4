#!/usr/bin/python3
"""Compares `attnc run` with definitions.py.

- Every two choices of similarity, mask, prepare, normalize, dtype, sizes and shape occur together in some kernel. Some
  choices stand for several names, which kernels take in turn.
- A case is one kernel, compiled once and run on several shapes.
- The answer is definitions.py in wider arithmetic than the kernel's: float64 for f32, 80 bits for f64.
- The tolerance of a row is the larger of two numbers: the mean of allowed_error over several seeds, and twice the error
  of definitions.py in the kernel's own arithmetic.
- The tolerance is multiplied by 2^-29 for f64. For 16 bits it applies before rounding. For products of bf16 it includes
  the rounding of their operands.
- In f64, half a unit in the last place of a row's logits is added. Logits are doubles in any kernel, but allowed_error
  changes only the inputs.
"""
import itertools
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import carried
import definitions
import quick
from answers import Answer, draw, make_inputs
from cover import cover, extend, pairs_of
from kernel import optimised
from processor import SLOWER_TOO, missing_flags, rounding, targets_of
from stored import HALVES, holds, off_by
from suite import WHOLE, Failure, Skip, Suite, check, execute

# A name is one choice. If it lists several specs, kernels take them in turn.
SIMILARITY = {
    'softmax': ['softmax'],
    'scale': [{'softmax': {'scale': 0.3}}, {'softmax': {'scale': 0.05}}, {'softmax': {'scale': 0.5}}],
    'cap': [{'softmax': {'cap': 2.0}}, {'softmax': {'scale': 0.3, 'cap': 5.0}}, {'softmax': {'cap': 30}}],
    'alibi': [{'softmax': {'bias': 'alibi'}}, {'softmax': {'bias': 'alibi', 'cap': 3.0, 'scale': 0.2}}],
    'dense': [{'softmax': {'bias': 'dense'}}, {'softmax': {'bias': 'dense', 'cap': 4.0}},
              {'softmax': {'bias': 'dense', 'scale': 0.1}}],
    'multiplicative': [{'softmax': {'compatibility': 'multiplicative'}},
                       {'softmax': {'compatibility': 'multiplicative', 'bias': 'dense'}}],
    'multiplicative_cap': [{'softmax': {'compatibility': 'multiplicative', 'cap': 3.0}},
                           {'softmax': {'compatibility': 'multiplicative', 'cap': 6.0, 'bias': 'alibi', 'scale': 0.2}}],
}
for degree in 1, 2, 3, 4, 6, 8:
    SIMILARITY['polynomial_%d' % degree] = [{'polynomial': {'degree': degree, **more}} for more in
                                            ({}, {'alpha': 0.5, 'beta': 4.0}, {'beta': 3},
                                             {'alpha': -1.25, 'beta': 8.0}, {'alpha': 2})]
COEFFICIENTS = [0.5, -0.25, 0.125, 0.0625, -0.03125, 0.015625]
SIMILARITY['square'] = [{'polynomial_square': {'degree': m, 'coefficients': COEFFICIENTS[:m + 1]}} for m in range(1, 6)]
SIMILARITY['square_param'] = [{'polynomial_square': {'degree': m, 'coefficients': 'param'}} for m in range(1, 6)]
FEATURES = ['elu_plus_one', 'relu', {'relu': {'eps': 0.01}}, 'squared_relu', 'taylor1',
            {'favor_positive': {'count': 16}}, {'favor_relu': {'count': 64}},
            'hedgehog', {'favor_positive': {'count': 64}}]
SIMILARITY['features'] = [{'linear': {'features': f}} for f in FEATURES]
SIMILARITY['sketch'] = [{'polysketch': {'degree': p, 'sketch': r, **more}}
                        for p, r, more in ((4, 32, {}), (4, 24, {'local': 'exact'}), (8, 8, {}), (2, 8, {}),
                                           (4, 8, {'map': 'learned'}), (8, 8, {'local': 'exact'}), (8, 24, {}))]
SIMILARITY['additive'] = [{'softmax': {'compatibility': {'additive': {'hidden': 5}}}},
                          {'softmax': {'compatibility': {'additive': {'hidden': 32}}, 'cap': 3.0, 'bias': 'alibi'}}]
SIMILARITY['named'] = [
    {'softmax': {'modify': 's * (1 + 0.5 * cos(0.3 * (i - j))) - 0.1 * log1p(fabs(i - j)) + 0.2 * b - 0.1 * g'}},
    {'softmax': {'modify': 'clamp(s, -2, 1.5) + sin(s) * expm1(-fabs(i - j) / 8.0) - 0.2 * (int)sqrt(fabs(i - j))'}},
    {'softmax': {'modify': 's * log(Nk + 1) / sqrt(D) + cos(1000000 * (row + 1) - 900 * j) * clamp(i - j, -3, H + 2) / (B + 2)'}},
    {'softmax': {'modify': 's > 0 ? sigmoid(s) : ceil(s) + 0.1 * (~(i ^ j) & 6 | (i - j) >> 3) - 0.1 * (1 << (j & 2)) + exp2(min(s, h)) * log2(fabs(i) + j + 1)'}},
    {'custom': {'weight': '(1.25 + sin(0.02 * i + j + b)) * (1 + s * s / D) + (row < Nq / 2) + (int)(j * 0.1) * (E + G) * 0.01'}},
    {'custom': {'weight': '(0.5 + s) * (0.5 + s) * (2 + cos(i * 0.7 + b)) * (1 + (int)sqrt(j) % 3 + log1p(j)) + 0.5'}}]
BLOCKS = [16, 100]   # block sizes for `local: exact`

# Specs with weights of both signs, with high powers, and with projected keys. Normalisations and preparations are
# such that no denominator is near 0.
ALONE = [{'similarity': {'linear': {'features': f}}, 'normalize': 'none', 'mask': 'causal'} for f in (
    'identity', {'favor_trig': {'count': 16}}, {'favor_trig': {'count': 64}})] + [
        {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'mask': {'window': {'left': 40}}},
        # The hidden pairs have the largest logits.
        {'similarity': {'softmax': {'modify': '-60 * s'}}, 'mask': {'all': ['causal', {'expr': 's > 0'}]}},
        {'similarity': {'custom': {'weight': 'exp(-60 * s) * (2 + s)'}}, 'mask': {'expr': 's > 0'}},
        {'similarity': {'polysketch': {'degree': 16, 'sketch': 8}}, 'prepare': ['layernorm', {'scale': {'by': 0.25}}],
         'mask': 'causal'},
        {'similarity': {'polysketch': {'degree': 8, 'sketch': 8, 'map': 'learned', 'local': 'exact'}},
         'prepare': ['layernorm'], 'block': 16, 'mask': 'causal'}] + [
            {'project': {'linformer': {'size': size}}} | more for size, more in (
                (48, {'similarity': 'softmax'}),
                (1, {'similarity': {'softmax': {'cap': 5}}, 'normalize': {'sum_plus': 1}}),
                (70, {'similarity': {'polynomial': {'degree': 4}}, 'prepare': ['layernorm']}),
                (33, {'similarity': {'softmax': {'compatibility': {'additive': {'hidden': 12}}}},
                      'prepare': ['l2norm', {'scale': {'by': 3}}]}),
                (40, {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'algorithm': 'linear'}))]

MASK = {
    'none': ['none', None],
    'causal': ['causal'],
    'left': [{'window': {'left': 40}}, {'window': {'left': 3}}, {'window': {'left': 100}}],
    'right': [{'window': {'right': 33}}, {'window': {'right': 1}}],
    'both': [{'window': {'left': 20, 'right': 9}}, {'window': {'left': 0, 'right': 0}},
             {'window': {'left': 64, 'right': 64}}],
    'dilation_2': [{'window': {'left': 30, 'right': 5, 'dilation': 2}}, {'window': {'left': 9, 'dilation': 2}}],
    'dilation_3': [{'window': {'left': 17, 'right': 40, 'dilation': 3}}, {'window': {'right': 11, 'dilation': 3}}],
    'global': [{'any': [{'window': {'left': 20}}, {'global': {'count': 3}}]},
               {'global': {'tokens': [100, 7, 8, 9, 41, 90]}}],
    'named': [{'expr': 'b % 2 == 0 ? j <= i : fabs(i - j) <= 4 * b + g'},
              {'expr': 'j < Nk - b && row >= j - 9 * (h / (H / G) + 1) && (i + B) % 3 != j % (1 + b)'},
              {'expr': 'i - j <= (int)sqrt(fabs(i)) * (b + 2) && j - i <= (int)(Nk * 0.1) && j % (D / 4) != E % 3'},
              {'expr': '((i * 4611686018427387 ^ j << 40) >> 37 & 255) < 128 | (-i >> j - 3) % 3 == 0'},
              {'expr': '(1 << j % 70 >> i % 67) % 3 != 1 && ((i - 40 ^ ~j) & (j - i << i - j)) != 0 | (int)log2(fabs(i) + 1) == (int)log2(j + 1)'},
              {'expr': 'cos(i * 0.2) + sin(j * 0.1) < clamp(i - j, 0, 9) * 0.2 + (row == Nq - 1)'}],
    'of_s': [{'all': ['causal', {'expr': 's > -0.1 * (h + 1)'}]}, {'expr': 's * s < 4 || (i & 3) == (j & 3)'},
             {'all': ['causal', {'not': {'all': [{'expr': 's < 0'}, {'window': {'left': 30}}]}}]}],
    'prefix': [{'prefix': {'length': 70}}, {'prefix': {'length': 1}}, {'prefix': {'length': 96}}],
}
# Masks of blocks, and masks that combine others with `any`, `all` or `not`.
UNIONS = [
    {'any': ['causal', {'prefix': {'length': 70}}]},
    {'all': ['causal', {'any': [{'window': {'left': 30}}, {'prefix': {'length': 4}}]}]},
    {'block_window': {'block': 16, 'left': 1, 'right': 1}},
    {'random': {'block': 16, 'count': 3}},
    {'any': [{'block_window': {'block': 64, 'left': 1, 'right': 1}}, {'global': {'count': 70}},
             {'random': {'block': 64, 'count': 2, 'seed': 5}}]},
    {'all': ['causal', {'block_window': {'block': 50, 'left': 1}}]},
    {'random': {'block': 24, 'count': 2, 'seed': 2 ** 64 - 1, 'causal': True}},
    {'any': [{'block_window': {'block': 7, 'right': 2}}, {'global': {'tokens': [0, 40, 41, 99]}},
             {'random': {'block': 7, 'count': 4, 'seed': 1}}]},
    {'all': ['causal', {'any': [{'random': {'block': 10, 'count': 3, 'causal': True}}, {'window': {'left': 12}},
                                {'global': {'count': 2}}]}]},
    {'not': {'random': {'block': 9, 'count': 6, 'seed': 3}}},
    {'any': [{'random': {'block': 32, 'count': 1, 'seed': 1}}, {'random': {'block': 5, 'count': 2, 'seed': 2}}]},
    {'all': [{'random': {'block': 32, 'count': 2, 'seed': 1}}, {'random': {'block': 16, 'count': 5, 'seed': 2}}]},
    {'random': {'block': 1, 'count': 20}},
    {'random': {'block': 3, 'count': 1000}},
    {'not': {'any': [{'block_window': {'block': 16, 'left': 2}}, {'window': {'left': 9, 'right': 70, 'dilation': 3}}]}},
    {'all': [{'not': 'causal'}, {'any': [{'window': {'right': 40}}, {'prefix': {'length': 9}}]}]},
    {'global': {'tokens': list(range(0, 90, 2))}},
    {'all': [{'any': [{'window': {'left': 8}}, {'global': {'count': 3}}, {'block_window': {'block': 20}}]},
             {'any': ['causal', {'global': {'tokens': [50]}}, {'not': {'prefix': {'length': 60}}}]}]},
    {'all': [{'prefix': {'length': 10}}, {'not': {'prefix': {'length': 20}}}]},
]

# Each is (mask with ids, similarity, order of ids). A fourth element has other keys of the spec, for the linear
# form.
DOCUMENTS = [('document', 'softmax', 'sorted'), ({'all': ['causal', 'document']}, 'softmax', 'sorted'),
             ({'all': ['causal', 'document']}, 'softmax', 'mixed'),
             ({'all': ['document', {'window': {'left': 40, 'right': 3}}]}, {'softmax': {'cap': 3.0}}, 'extreme'),
             ({'any': ['document', {'window': {'left': 9}}]}, 'softmax', 'sorted'),
             ({'not': 'document'}, {'linear': {'features': 'elu_plus_one'}}, 'sorted'),
             ({'any': [{'all': ['causal', {'not': 'document'}]}, {'global': {'count': 3}}]}, 'softmax', 'mixed'),
             ('document', {'polynomial': {'degree': 2, 'alpha': 1}}, 'extreme'),
             ({'all': ['document', {'any': [{'random': {'block': 16, 'count': 2}}, {'block_window': {'block': 16}}]}]},
              'softmax', 'mixed'),
             ({'all': [{'any': ['causal', 'document']}, {'not': {'all': ['document', {'prefix': {'length': 30}}]}}]},
              {'softmax': {'bias': 'alibi'}}, 'sorted'),
             ({'all': ['causal', 'document']}, {'custom': {'weight': 'exp(s / 2) * (1 + 0.25 * s * s)'}}, 'sorted')]
DOCUMENTS += [({'all': ['causal', 'document']}, {'linear': {'features': 'elu_plus_one'}}, 'many', {'block': 16}),
              ({'all': ['document', 'causal']}, {'linear': {'features': 'squared_relu'}}, 'sorted', {}),
              ({'all': ['causal', 'document']}, {'polynomial': {'degree': 2, 'alpha': 1}}, 'many', {'block': 100}),
              ({'all': ['causal', 'document']}, {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'many',
               {'block': 32}),
              ({'all': ['causal', 'document']}, {'polysketch': {'degree': 4, 'sketch': 8}}, 'rising', {'block': 7}),
              ({'all': ['document', {'expr': 'j <= i - 3'}]}, {'linear': {'features': 'elu_plus_one'}}, 'many',
               {'block': 16}),
              ({'all': ['causal', 'document']}, {'custom': {'weight': '(1 + s) * (1 + s) * pow(0.96, i - j)'}},
               'many', {'block': 16})]
# Masks with lengths of sequences, and with lists of blocks.
DOCUMENTS += [('lengths', 'softmax', 'sorted'), ({'all': ['causal', 'lengths']}, {'softmax': {'cap': 3.0}}, 'sorted'),
             ({'all': [{'window': {'left': 60, 'right': 21, 'dilation': 3}}, 'lengths']}, 'softmax', 'sorted'),
             ({'any': [{'all': ['document', {'not': 'lengths'}]}, {'window': {'left': 9}}]}, {'polynomial': {'degree': 2}},
              'mixed'),
             ({'blocks': {'block': 32, 'count': 3}}, 'softmax', 'sorted'),
             ({'all': ['causal', {'any': [{'blocks': {'block': 16, 'count': 2}}, {'window': {'left': 9}}]}]}, 'softmax',
              'sorted'),
             ({'all': ['lengths', {'blocks': {'block': 64, 'count': 1}}]}, {'linear': {'features': 'elu_plus_one'}}, 'sorted'),
             ({'any': [{'all': ['lengths', {'not': {'blocks': {'block': 12, 'count': 4}}}]}, {'random': {'block': 16, 'count': 1}}]},
              {'softmax': {'bias': 'alibi'}}, 'sorted')]
DOCUMENTS += [('lengths', {'linear': {'features': 'taylor1'}}, 'sorted', {}),
              ({'all': ['lengths', 'causal']}, {'linear': {'features': 'elu_plus_one'}}, 'sorted', {'block': 16}),
              ({'all': ['lengths', 'causal']}, {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'sorted',
               {'block': 40}),
              ({'all': ['causal', 'lengths', 'document']}, {'polynomial': {'degree': 2, 'alpha': 1}}, 'many', {'block': 24}),
              ({'all': [{'any': ['causal', {'prefix': {'length': 70}}]}, 'lengths']}, {'linear': {'features': 'relu'}},
               'sorted', {})]
UNDER_UNIONS = ['softmax', {'linear': {'features': 'elu_plus_one'}}, {'softmax': {'cap': 3.0}},
                {'polynomial': {'degree': 2}}, {'linear': {'features': 'hedgehog'}}]

# Each is (similarity, mask, probability, other keys), for a spec with dropout.
DROPPED = [('softmax', 'causal', 0.25, {}), ('softmax', 'none', 0.9, {'normalize': {'sum_plus': 1}}),
           ({'softmax': {'cap': 3.0, 'bias': 'alibi'}}, {'window': {'left': 40, 'right': 3}}, 0.5, {}),
           ({'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, 'causal', 0.1, {}),
           ({'polynomial': {'degree': 8}}, 'causal', 0.2, {'prepare': ['layernorm']}),
           ({'linear': {'features': 'elu_plus_one'}}, 'causal', 0.3, {}),
           ({'custom': {'weight': '(1 + s) * (2 - 0.5 * s)'}}, {'window': {'left': 30, 'right': 5, 'dilation': 2}}, 0.4,
            {'normalize': 'none'}),
           ('softmax', {'random': {'block': 16, 'count': 3}}, 0.15, {}),
           ('softmax', {'any': [{'window': {'left': 20}}, {'global': {'count': 3}}]}, 0.6, {'normalize': 'none'}),
           ('softmax', {'all': ['causal', {'block_window': {'block': 50, 'left': 1}}]}, 1e-12, {}),
           ('softmax', {'expr': 'i % 24 == j % 24'}, 0.35, {}),
           ({'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'causal', 0.5, {'block': 16}),
           ('softmax', 'none', 0.3, {'project': {'linformer': {'size': 33}}})]

# Specs with schedules, run at lengths around the start of each entry.
NEVER = 2147483647
SCHEDULED = [
    ({'similarity': 'softmax', 'mask': 'causal'},
     [{'tile_q': 16, 'tile_k': 20, 'rows': 8, 'vectors': 1}, {'from': 65, 'rows': 12, 'unroll': 1},
      {'from': 150, 'tile_q': 96, 'tile_k': 300, 'vectors': 3, 'rows': 16}]),
    ({'similarity': {'polysketch': {'degree': 4, 'sketch': 8}}, 'mask': 'causal'},
     [{'crossover': 20, 'chunk': 24}, {'from': 64, 'crossover': 1, 'chunk': 7, 'together': 2},
      {'from': 97, 'crossover': NEVER, 'tile_k': 33}, {'from': 135, 'chunk': 100, 'together': 0, 'crossover': 140},
      {'from': 300, 'crossover': 1, 'rows': 3, 'vectors': 8}]),
    ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear'},
     [{'chunk': 1, 'rows': 1, 'vectors': 1}, {'from': 65, 'chunk': 65536, 'together': 0},
      {'from': 136, 'chunk': 48, 'together': 2, 'unroll': 8}]),
    ({'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal'},
     {'part': 16, 'crossover': 1, 'chunk': 40, 'together': 2}),
    ({'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': 'causal'},
     [{'crossover': 1, 'chunk': 16}, {'from': 96, 'crossover': 96, 'rows': 8, 'together': 2}]),
]
# High powers multiply the rounding of long inner products. Each row is (mean error relative to the tolerance, spec).
LONG_PRODUCTS = [
    (0.130, {'similarity': {'polynomial': {'degree': 6, 'alpha': 0.7, 'beta': 9.0}}, 'prepare': ['layernorm'],
             'shape': {'head_dim': 80, 'value_dim': 8}}),
    (0.145, {'similarity': {'polynomial': {'degree': 8}}, 'normalize': 'none',
             'shape': {'head_dim': 80, 'value_dim': 8}}),
    (0.210, {'similarity': {'polynomial': {'degree': 8}}, 'prepare': ['layernorm'], 'normalize': 'none', 'dtype': 'f64',
             'shape': {'head_dim': 128, 'value_dim': 8}}),
    (0.165, {'similarity': {'polysketch': {'degree': 4, 'sketch': 32}}, 'normalize': 'none',
             'shape': {'head_dim': 128, 'value_dim': 8}})]

AROUND = [(n, n) for n in (1, 19, 20, 63, 64, 65, 96, 97, 134, 135, 136, 140, 149, 150, 299, 300)] + [
    (1, 300), (150, 65), (3, 64)]

PREPARE = {
    'nothing': [None, []],
    'layernorm': [['layernorm'], [{'layernorm': {'eps': 0.01}}]],
    'layernorm_affine': [[{'layernorm': {'affine': True}}]],
    'rmsnorm': [['rmsnorm'], [{'rmsnorm': {'eps': 0.01}}], [{'rmsnorm': {'affine': True}}]],
    'rope_part': [[{'rope': {'dims': 4}}], [{'rope': {'first': 2, 'dims': 6, 'pairs': 'halves'}}],
                  [{'rmsnorm': {'affine': True}}, {'rope': {'first': 4, 'dims': 4}}, {'rope': {'dims': 2}}]],
    'l2norm': [[{'l2norm': {'eps': 1e-6}}, {'scale': {'by': 3}}], ['l2norm'], [{'l2norm': {'eps': 0.5}}]],
    'rope': [['rope'], [{'rope': {'base': 500.0}}], [{'rope': {'pairs': 'interleaved'}}]],
    'rope_angle': [[{'rope': {'angle': '(t < D / 4 ? i / 16 : i % 16) * pow(10000, -(t % (D / 4)) / (D / 4.0))'}}],
                   [{'rope': {'pairs': 'halves', 'angle': 'i * pow(500, -2.0 * t / D) * (1 - 0.75 * clamp(t - 1, 0, 2) / 2)'}}],
                   [{'rope': {'dims': 4, 'first': 2, 'angle': '(i + 3 * b) * 0.37 / (t + 1) + sin(i * sqrt(t + B)) + H - G'}}, 'rope'],
                   [{'rope': {'angle': '(int)sqrt(fabs(i)) * 500000.5 * (t + 1) + Nq - Nk % 7 + log1p(t)'}}]],
    'rope_halves': [[{'rope': {'pairs': 'halves'}}], [{'rope': {'pairs': 'halves', 'base': 100}}]],
    'scale': [[{'scale': {'by': 0.5}}], [{'scale': {'by': -1.5}}]],
    'layernorm_rope': [['layernorm', 'rope'],
                       [{'layernorm': {'affine': True}}, {'rope': {'pairs': 'halves'}}, {'scale': {'by': 0.75}}]],
    'l2norm_scale': [[{'l2norm': {'eps': 1e-5}}, {'scale': {'by': 4.0}}]],
    'rope_l2norm': [['rope', 'l2norm'], ['rope', {'l2norm': {'eps': 1e-3}}, 'layernorm']],
}

NORMALIZE = {'default': [None], 'sum': ['sum'], 'plus_1': [{'sum_plus': 1}], 'plus_half': [{'sum_plus': 0.5}],
             'sink': [{'sink': 'h * 0.5 - i * 0.1'}, {'sink': 0}, {'sink': 'i % 7 * 10 - 30'}, {'sink': -2.5}],
             'unnormalized': ['none']}
SIZES = {'8x24': (8, 24), '24x64': (24, 64), '64': (64, None), '64x80': (64, 80), '80x8': (80, 8), '80x128': (80, 128),
         # With a name that begins with keys, the values are the keys.
         '128x64': (128, 64), 'keys_72x64': (72, 64), 'keys_24': (24, None), 'keys_40x13': (40, 13)}
DTYPES = ['f32', 'f64']

LENGTHS = [(n, n) for n in (1, 2, 63, 64, 65, 95, 96, 97, 135, 300)] + [
    (1, 300), (300, 1), (64, 135), (135, 64), (97, 300), (300, 97), (2, 65), (65, 2)]
GROUPS = [(1, 1), (3, 3), (2, 1), (6, 3), (4, 1), (8, 2)]
SHAPES_EACH = 2
ORDER = {'document%d' % n: one[2] for n, one in enumerate(DOCUMENTS)}

# Names that are one choice, so that fewer kernels have every two choices. Each name occurs. `./dev test whole` has all
# names as choices.
ONE_CHOICE = {
    'similarity': [['polynomial_1', 'polynomial_3'], ['polynomial_2', 'polynomial_4'], ['polynomial_6', 'polynomial_8'],
                   ['square', 'square_param'], ['scale', 'cap'], ['alibi', 'dense'], ['multiplicative', 'multiplicative_cap']],
    'mask': [['dilation_2', 'dilation_3']],
    'prepare': [['layernorm', 'layernorm_affine'], ['l2norm', 'l2norm_scale'], ['rope', 'rope_halves'],
                ['rope_part', 'rope_angle'], ['layernorm_rope', 'rope_l2norm'], ['nothing', 'scale']],
    'normalize': [['plus_1', 'plus_half']],
    'sizes': [['24x64', '64x80'], ['80x8', '80x128']]}


def chosen_rows(tables):
    """Returns rows of names such that every two choices occur together, and every name and as many pairs of names as may
    be."""
    groups = {key: {names[0]: names for names in ([] if WHOLE else ONE_CHOICE.get(key, []))} for key in tables}
    later = {key: {name for names in of.values() for name in names[1:]} for key, of in groups.items()}
    rows = cover({key: [name for name in table if name not in later[key]] for key, table in tables.items()})
    found = set()
    for n, row in enumerate(rows):
        meanings = [dict(zip(row, names)) for names in itertools.product(*(groups[key].get(x, [x]) for key, x in row.items()))]
        rows[n] = max(meanings, key=lambda made: len(pairs_of(made, tables) - found))
        found |= pairs_of(rows[n], tables)
    return rows


OTHER_TARGETS = ['', *targets_of('x86_64', 'any')]  # '' selects attnc's default list of targets
OTHERS = 5


def spec_of(row, turn, name):
    """Returns the spec of a row of choices. `turn` counts the uses of each choice."""
    def take(table, key):
        variants, n = table[row[key]], turn.get((key, row[key]), 0)
        turn[key, row[key]] = n + 1
        return variants[n % len(variants)]
    spec = {'name': name, 'similarity': take(SIMILARITY, 'similarity'), 'dtype': row['dtype']}
    for key, table in ('prepare', PREPARE), ('mask', MASK), ('normalize', NORMALIZE):
        value = take(table, key)
        if value is not None:
            spec[key] = value
    head, value = SIZES[row['sizes']]
    if isinstance(spec['similarity'], dict) and spec['similarity'].get('polysketch', {}).get('local') == 'exact':
        spec['block'] = BLOCKS[turn.get('block', 0) % len(BLOCKS)]
        turn['block'] = turn.get('block', 0) + 1
    spec['shape'] = {'head_dim': head} | ({'value_dim': value} if value else {})
    if row['sizes'].startswith('keys'): spec['shape']['values'] = 'keys'
    return spec


def one_shape(suite, spec, path, folder, shape, target, seed, flags):
    (n_q, n_k), (heads, kv_heads), batch, threads = shape
    name = 'B%d H%d G%d nq%d nk%d threads%d%s' % (batch, heads, kv_heads, n_q, n_k, threads,
                                                  '' if target == 'native' else ' ' + (target or 'default targets'))
    d = os.path.join(folder, name.replace(' ', '_'))
    try:
        answer = draw(spec, d + '/in', (heads, kv_heads, n_q, n_k, batch), seed, ORDER.get(spec['name'], 'sorted'))
    except Failure as failure:
        raise Failure('%s: %s' % (name, failure))
    command = ['env', 'ATTNC_CFLAGS=' + flags, suite.attnc, 'run', path, '--in', d + '/in', '--out', d + '/out',
               '--threads', threads] + (['--target', target] if target else [])
    done = execute(command, env=suite.environment)
    again = '\nreproduce: ' + ' '.join(map(str, command))
    check(done.returncode == 0, '%s: exit status %d: %s%s' % (name, done.returncode, done.stderr.strip()[:400], again))
    check(os.path.exists(d + '/out/out.npy'), '%s: no out.npy%s' % (name, again))
    out = np.load(d + '/out/out.npy')
    check(out.shape == answer.expected.shape,
          '%s: out has the shape %s, not %s%s' % (name, out.shape, answer.expected.shape, again))
    check(out.dtype == {'f64': np.float64, 'f16': np.float16}.get(spec['dtype'], np.float32),
          '%s: out is %s%s' % (name, out.dtype, again))
    check(holds(out, spec['dtype']), '%s: out has numbers that are no %s%s' % (name, spec['dtype'], again))
    carried = spec.get('algorithm') == 'linear' or 'crossover' in str(spec.get('schedule'))
    why, error, wider = answer.judge(out, 2 if carried else 1, rounding(spec, target, flags) * answer.scale)
    if why:
        np.save(d + '/expected.npy', answer.expected)
        np.save(d + '/allowed.npy', answer.allowed)
        raise Failure('%s: %s%s' % (name, why, again))
    return error, wider


def level_of(n):
    """A few kernels are compiled with -O2, as users do."""
    return '-O2' if optimised(n + n // 4 - 3, 60) else '-O0'


def flags_of(n, spec, target):
    """Every second kernel of bf16 uses products of bf16 even if they are slower."""
    twice = spec['dtype'] == 'bf16' and target in ('native', 'x86-64-v4') and n % 2 == 0
    return level_of(n) + (' ' + SLOWER_TOO if twice else '')


def some_types(n, *types):
    """Returns all types but one, a different one for each n. `./dev test whole` has all."""
    return types if WHOLE else [x for at, x in enumerate(types) if at != (n + 1) % len(types)]


def kernel(folder, suite, spec, shapes, target, seed, flags):
    lacks = missing_flags(target)
    if lacks:
        raise Skip('this processor lacks ' + lacks)
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    spec, largest, highest, wrong = definitions.load(path), 0.0, 1.0, []
    for at, shape in enumerate(shapes):
        try:
            error, wider = one_shape(suite, spec, path, folder, shape, target, seed + at, flags)
            largest, highest = max(largest, error), max(highest, wider)
        except Failure as failure:
            wrong.append(str(failure))
    if wrong:
        raise Failure('%d of %d shapes; %s' % (len(wrong), len(shapes), '\n'.join(wrong[:3])))
    wider = ('; up to %.2f passes, as the definitions in %s use %.2f' % (highest, spec['dtype'], highest / 2)
             if highest > 1 else '')
    return '(%d shapes, largest error %.2f of what is allowed%s)' % (len(shapes), largest, wider)


def long_rows(folder, suite, spec, n, seed):
    """Compares some rows of a long sequence. One, two and three threads must give equal bits."""
    path, d, outs = os.path.join(folder, spec['name'] + '.yaml'), os.path.join(folder, 'long'), []
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    spec = definitions.load(path)
    definitions.make_inputs(spec, d + '/in', 2, 1, n, n, 1, seed)
    for threads in 1, 2, 3:
        done = execute([suite.attnc, 'run', path, '--in', d + '/in', '--out', d + '/out', '--threads', threads],
                       env=suite.environment)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:400]))
        outs.append(np.load(d + '/out/out.npy'))
        check(np.isfinite(outs[-1]).all(), 'a row is not finite')
        check(outs[-1].tobytes() == outs[0].tobytes(), '%d threads give other bits than one' % threads)
    arrays, largest = definitions.read_dir(d + '/in'), 0.0
    for end in n, n // 2 + 17, n // 3:
        answer = Answer(spec, {name: x[:, :, end - 3 if name == 'q' else 0:end] if name in 'qkv' else x
                               for name, x in arrays.items()})
        why, error, _ = answer.judge(outs[0][:, :, end - 3:end], 2)
        check(not why, 'rows before %d: %s' % (end, why))
        largest = max(largest, error)
    return '(largest error %.2f of what is allowed)' % largest


def same_everywhere(folder):
    """Expected results do not depend on NumPy's vector instructions."""
    core = np.core if np.__version__ < '2' else np._core
    features, said = core._multiarray_umath.__cpu_features__, set()
    found = [f for f in core._multiarray_umath.__cpu_dispatch__ if features[f]]
    if not found:
        raise Skip('NumPy has one vector code for this processor')
    for number, disabled in enumerate([[], found, [f for f in found if f.startswith('AVX512')]]):
        done = execute([sys.executable, os.path.join(HERE, 'same.py'), '%s/%d' % (folder, number)],
                       env=os.environ | {'NPY_DISABLE_CPU_FEATURES': ' '.join(disabled)})
        check(done.returncode == 0 and len(done.stdout.splitlines()) == 8, done.stdout + done.stderr)
        said.add(done.stdout)
    check(len(said) == 1, 'NumPy without some of its vector codes says otherwise:\n' + '\n'.join(sorted(said)))


def rounding_of_sums(folder, suite, spec, most, seed):
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    spec, uses = definitions.load(path), []
    for draws in range(3):
        make_inputs(spec, folder + '/in', (6, 1, 1, 1, 20), seed + draws, 'sorted')
        done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out',
                        '--target', 'generic'], env=suite.environment)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:400]))
        answer = Answer(spec, definitions.read_dir(folder + '/in'))
        uses.append(off_by(np.load(folder + '/out/out.npy'), answer.expected, spec['dtype']).max(-1, keepdims=True)
                    / answer.one)
    check(np.mean(uses) <= most, 'rows use %.3f of what is allowed on average, more than %.3f' % (np.mean(uses), most))
    return '(rows use %.3f of what is allowed on average)' % np.mean(uses)


def main():
    suite = Suite(__doc__.split('\n\n')[0], lambda parser: parser.add_argument(
        '--target', default='native', help='for what is compiled for this machine'))
    native = suite.options.target
    suite.environment = quick.environment(suite.folder)
    rows = chosen_rows({'similarity': list(SIMILARITY), 'mask': list(MASK), 'prepare': list(PREPARE),
                        'normalize': list(NORMALIZE), 'sizes': list(SIZES), 'dtype': [*DTYPES, *HALVES]})
    shapes = extend(rows, {'length': LENGTHS, 'group': GROUPS, 'batch': [1, 2], 'threads': [1, 2, 3, 7]}, SHAPES_EACH)
    turn, chosen = {}, []
    for n, (row, more) in enumerate(zip(rows, shapes)):
        name = '-'.join(row[key] for key in ('similarity', 'mask', 'prepare', 'normalize', 'dtype', 'sizes'))
        spec = spec_of(row, turn, 'k%03d' % n)
        chosen.append((name, spec, [(s['length'], s['group'], s['batch'], s['threads']) for s in more]))

    def add(name, spec, some, target, seed):
        if spec.get('dtype') == 'f64':   # definitions.py in 80 bits is slow
            some = [(tuple(min(n, 200) for n in length), *more) for length, *more in some]
        suite.case(name, kernel, suite, spec, some, target, seed,
                   flags_of(len(suite.cases), {'dtype': 'f32'} | spec, target))
    for n, (name, spec, some) in enumerate(chosen):
        add(name, spec, some, native, 100 * n)
    for n, more in enumerate(ALONE):
        for dtype in some_types(n, *DTYPES, HALVES[n % 2]):
            spec = {'name': 'alone%d%s' % (n, dtype), 'dtype': dtype, 'shape': {'head_dim': 24, 'value_dim': 40}} | more
            some = [((97, 135), (4, 2), 1, 2), ((65, 65), (1, 1), 2, 1)]
            if 'project' in more:
                some.append(((150, 1300), (2, 1), 1, 3))
            add('alone-%d-%s' % (n, dtype), spec, some, native, 7 * n)
    for n, (name, spec, some) in enumerate(carried.cases()):
        add(name, spec, some, native, 100 * n + 50)
    for n, (name, spec, length) in enumerate(carried.long_cases()):
        suite.case(name, long_rows, suite, spec, length, 31 * n)
    for n, mask in enumerate(UNIONS):
        spec = {'name': 'union%d' % n, 'similarity': UNDER_UNIONS[n % len(UNDER_UNIONS)],
                'dtype': (*DTYPES, *HALVES)[n % 4], 'mask': mask, 'shape': {'head_dim': 8}}
        if n % 3 == 2:
            spec['schedule'] = {'tile_q': 16, 'tile_k': 20}
        some = [((300, 300), (2, 2), 1, 2), ((256, 320), (4, 2), 1, 3), ((131, 300), (1, 1), 2, 1),
                ((300, 131), (2, 1), 1, 2), ((3, 200), (1, 1), 1, 1), ((200, 3), (1, 1), 1, 2)]
        add('union-%d-%s' % (n, spec['dtype']), spec, some, OTHER_TARGETS[n % 2], 13 * n)
    for n, (mask, similarity, _, *carried_with) in enumerate(DOCUMENTS):
        for dtype in some_types(n, HALVES[n // 4 % 2] if n % 4 == 3 else 'f32', 'f64'):
            spec = {'name': 'document%d' % n, 'similarity': similarity, 'dtype': dtype, 'mask': mask,
                    'shape': {'head_dim': 8, 'value_dim': 24}}
            if carried_with:
                spec |= {'algorithm': 'linear', 'normalize': {'sum_plus': 1}} | carried_with[0]
            if (n + n // 2 + (dtype == 'f64')) % 2:
                spec['schedule'] = {'tile_q': 16, 'tile_k': 20}
            some = [((300, 300), (4, 2), 2, 2), ((97, 300), (1, 1), 3, 3), ((300, 131), (2, 1), 2, 1),
                    ((1, 77), (2, 2), 2, 2), ((200, 1), (1, 1), 2, 1)]
            add('document-%d-%s' % (n, dtype), spec, some, OTHER_TARGETS[n % 2 * 4], 17 * n)
    for n, (similarity, mask, probability, what) in enumerate(DROPPED):
        for dtype in some_types(n, *DTYPES, HALVES[n % 2]):
            spec = {'name': 'dropped%d%s' % (n, dtype), 'similarity': similarity, 'mask': mask, 'dtype': dtype,
                    'dropout': probability, 'seed': 2 ** (8 * n % 64) + n,
                    'shape': {'head_dim': 8, 'value_dim': 24}} | what
            some = [((129, 129), (4, 2), 2, 2), ((33, 70), (2, 2), 1, 3), ((70, 33), (1, 1), 2, 1),
                    ((1, 129), (6, 3), 2, 2), ((15, 200), (4, 1), 1, 2), ((5, 5), (1, 1), 1, 1)]
            if 'project' in what: some = [x for x in some if x[0][1] > 40]
            if not WHOLE: some = some[(n + (dtype != 'f32')) % 2::2]   # the dtypes of a mask share the shapes
            add('dropped-%d-%s' % (n, dtype), spec, some, (native, *OTHER_TARGETS)[n % (1 + len(OTHER_TARGETS))], 37 * n)
    for n, (what, schedule) in enumerate(SCHEDULED):
        for dtype in (*DTYPES, HALVES[n % 2]):
            spec = {'name': 'scheduled%d%s' % (n, dtype), 'dtype': dtype,
                    'shape': {'head_dim': 32, 'value_dim': 24}} | what | {'schedule': schedule}
            some = AROUND if dtype == 'f32' else AROUND[n % 3::3]   # the starts of entries do not depend on the dtype
            add('scheduled-%d-%s' % (n, dtype), spec,
                [(pair, GROUPS[at % len(GROUPS)], 1 + at % 2, 1 + at % 3) for at, pair in enumerate(some)],
                native if dtype == 'f32' else OTHER_TARGETS[n % len(OTHER_TARGETS)], 19 * n)
        spec = {'name': 'scheduledlong%d' % n, 'dtype': 'f32', 'shape': {'head_dim': 32}} | what | {
            'schedule': schedule}
        suite.case('scheduled-%d-threads' % n, long_rows, suite, spec, 2000, 23 * n)
    suite.case('same_everywhere', same_everywhere)
    for n, (most, what) in enumerate(LONG_PRODUCTS):
        spec = {'name': 'sums%d' % n, 'dtype': 'f32', 'algorithm': 'quadratic'} | what
        suite.case('long-products-%d' % n, rounding_of_sums, suite, spec, most, 29 * n)
    step = len(chosen) // OTHERS
    for n in range(OTHERS):
        name, spec, some = chosen[n * step]
        target = OTHER_TARGETS[n % len(OTHER_TARGETS)]
        suite.case('%s-%s' % (name, target or 'default_targets'), kernel, suite, spec, some, target,
                   100 * n * step, '-O2')
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
