#!/usr/bin/python3
"""Compares the gradients of kernels with gradient_definitions.py: with respect to q, k, v and learned parameters.

Lengths are no multiples of tiles, and some queries see no key. The bits do not depend on the number of threads,
the requested gradients and saved values. Like gradients.py, this test needs autograd."""
import ctypes
import itertools
import os
import re
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import answers
import definitions
import quick
from autograd_venv import autograd
from kernel import RUNTIME, SANITIZED, Objects, Problem, Strides, compiled, done_well, optimised, runtime_sources, with_report
from processor import MACHINE, SLOWER_TOO, missing_flags, targets_of
from stored import HALVES, rounded
from suite import WHOLE, Failure, Skip, Suite, check, compiler, execute

# Each shape is (batch, heads, key/value heads, queries, keys).
SHAPES = [(2, 4, 2, 97, 135), (1, 2, 1, 65, 64), (1, 1, 1, 1, 1), (1, 3, 3, 300, 131), (2, 2, 2, 63, 63),
          (1, 4, 1, 1, 300), (1, 2, 2, 200, 1), (1, 8, 2, 129, 257)]
SIMILARITY = {
    'softmax': 'softmax',
    'scale': {'softmax': {'scale': 0.3}},
    'cap': {'softmax': {'cap': 2.0}},
    'alibi': {'softmax': {'bias': 'alibi'}},
    'modify': {'softmax': {'modify': 's + 0.5 * tanh(s) - fabs(i - j) / 8.0'}},
    'polynomial_2': {'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 3}},
    'polynomial_4': {'polynomial': {'degree': 4}},
    'square': {'polynomial_square': {'degree': 3, 'coefficients': [1.0, 0.25, 0.125, 0.03125]}},
    'custom': {'custom': {'weight': '(1 + s) * (1 + s)'}},
    'custom_signed': {'custom': {'weight': '(2 + tanh(s)) * exp(s) * (i - j < 2 ? 1 : -0.25)'}},
    'sketch': {'polysketch': {'degree': 4, 'sketch': 8}},
    'sketch_local': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
    'elu_plus_one': {'linear': {'features': 'elu_plus_one'}},
    'favor_relu': {'linear': {'features': {'favor_relu': {'count': 16}}}},
    'favor_trig': {'linear': {'features': {'favor_trig': {'count': 16}}}},
    'favor_positive': {'linear': {'features': {'favor_positive': {'count': 16}}}},
    'named': {'softmax': {'modify': 's * (1 + 0.5 * cos(0.3 * (i - j) + b)) + sin(s) + log1p(s * s) * (row + 1) / Nq'}},
    'operators': {'softmax': {'modify': 's > 0 ? 2 * sigmoid(s) : max(round(s), -2) + 0.1 * ((i ^ j) & 5 | i >> 3) + log2(1 + s * s)'}},
    'functions': {'softmax': {'modify': 'clamp(s, -1, 1.5) + 0.3 * expm1(clamp(s, -2, 1)) + cos(3 * s + g) '
                                        '- 0.1 * (int)sqrt(fabs(i - j)) * (B + H - G)'}}}
MASKS = {
    'none': 'none',
    'causal': 'causal',
    'window': {'window': {'left': 40, 'right': 3}},
    'dilated': {'window': {'left': 20, 'dilation': 2}},
    'blocks': {'block_window': {'block': 16, 'left': 1, 'right': 1}},
    'prefix_lm': {'any': ['causal', {'prefix': {'length': 70}}]},
    'global': {'any': [{'window': {'left': 20}}, {'global': {'count': 3}}]},
    'random': {'random': {'block': 16, 'count': 2}},
    'document': {'all': ['causal', 'document']},
    'expr': {'expr': 'j <= i && (i + h) % 3 != j % 2'},
    'bits': {'expr': '(i >> 4) == (j >> 4) || ((i ^ j) & 9) == 8'},
    'of_s': {'all': ['causal', {'expr': 's > -0.25 * (h + 1) || i == j'}]},
    'of_s_alone': {'any': [{'expr': 's * s > 2'}, {'window': {'left': 3}}]},
    'heads': {'expr': 'j <= i && (h % 2 == 1 || i - j < 20)'},
    'congruent': {'expr': 'i % 24 == j % 24'},
    'near': {'expr': 'i / 24 - j / 24 <= 1 && j / 24 - i / 24 <= 1 && i % 24 - j % 24 <= 2 && j % 24 - i % 24 <= 2'},
    'near_clamped': {'expr': 'fabs(j / 32 - fmin(fmax(i / 32, 1), 3)) <= 1 && fabs(j % 32 - fmin(fmax(i % 32, 3), 28)) <= 3'},
    'nothing': {'all': [{'prefix': {'length': 10}}, {'not': {'prefix': {'length': 20}}}]},
    'lengths': 'lengths',
    'padded_window': {'all': [{'window': {'left': 40, 'right': 20}}, 'lengths']},
    'lists': {'blocks': {'block': 32, 'count': 2}},
    'lists_causal': {'all': ['causal', 'lengths', {'any': [{'blocks': {'block': 16, 'count': 3}}, {'window': {'left': 7}}]}]},
    'batch': {'expr': 'j <= i && (b % 2 == 1 || i - j < 20 + g)'},
    'rows': {'expr': 'j < Nk - 3 && (row + b) % 3 != j % 2 && i - j <= 9 * (int)sqrt(fabs(i))'}}
LINEAR = {
    'polynomial_2-none': (SIMILARITY['polynomial_2'], 'none'),
    'polynomial_2-prefix_lm': (SIMILARITY['polynomial_2'], MASKS['prefix_lm']),
    'square-causal': ({'polynomial_square': {'degree': 2, 'coefficients': [1.0, 0.25, 0.125]}}, 'causal'),
    'custom-causal': (SIMILARITY['custom'], 'causal'),
    'sketch-causal': (SIMILARITY['sketch'], 'causal'),
    'sketch_local-causal': (SIMILARITY['sketch_local'], 'causal'),
    'sketch-blocks': (SIMILARITY['sketch'], {'block_window': {'block': 16, 'left': 2, 'right': 1}}),
    'elu_plus_one-none': (SIMILARITY['elu_plus_one'], 'none'),
    'elu_plus_one-causal': (SIMILARITY['elu_plus_one'], 'causal'),
    'elu_plus_one-document': (SIMILARITY['elu_plus_one'], MASKS['document']),
    'elu_plus_one-blocks': (SIMILARITY['elu_plus_one'], {'all': ['causal', {'block_window': {'block': 16, 'left': 2}}]}),
    'elu_plus_one-window_documents': (SIMILARITY['elu_plus_one'], {'all': [{'window': {'left': 40}}, 'document']}),
    'decay-blocks': ({'custom': {'weight': '(1 + s * s) * pow(0.97, i - j)'}},
                     {'all': ['causal', 'document', {'block_window': {'block': 16, 'left': 3}}]}),
    'choice-causal': ({'custom': {'weight': 'i - j < 20 ? exp(0.5 * s) : 1 + 0.5 * s + 0.125 * s * s'}}, 'causal'),
    'favor_relu-prefix': (SIMILARITY['favor_relu'], {'prefix': {'length': 70}}),
    'favor_positive-none': (SIMILARITY['favor_positive'], 'none'),
    'favor_positive-causal': (SIMILARITY['favor_positive'], 'causal'),
    'favor_trig-prefix_lm': (SIMILARITY['favor_trig'], MASKS['prefix_lm']),
    'taylor1-causal': ({'linear': {'features': 'taylor1'}}, 'causal'),
    'decay-causal': ({'custom': {'weight': 's * pow(0.875, i - j)'}}, 'causal'),
    'decay_of_heads-causal': ({'custom': {'weight': 's * pow(1 - pow(2, -3 - h), i - j)'}}, 'causal'),
    'decay-prefix_lm': ({'custom': {'weight': '(2 + s) * pow(0.9, fabs(i - j))'}}, 'causal'),
    'decay-document': ({'custom': {'weight': 's * pow(0.9, i - j)'}}, MASKS['document']),
    'taylor1-prefix': ({'linear': {'features': 'taylor1'}}, {'prefix': {'length': 39}}),
    'elu_plus_one-lengths': (SIMILARITY['elu_plus_one'], 'lengths'),
    'elu_plus_one-padded': (SIMILARITY['elu_plus_one'], {'all': ['causal', 'lengths']}),
    'favor_positive-padded': (SIMILARITY['favor_positive'], {'all': ['causal', 'lengths']}),
    'sketch_local-padded': (SIMILARITY['sketch_local'], {'all': ['causal', 'lengths']})}
PREPARE = {
    'layernorm': ['layernorm'],
    'l2norm': ['l2norm', {'scale': {'by': 3}}],
    'rope': ['rope'],
    'halves': [{'rope': {'pairs': 'halves', 'base': 100}}],
    'rmsnorm': [{'rmsnorm': {'affine': True}}, {'rope': {'first': 3, 'dims': 6}}]}
DROPPED = {   # Each value is (similarity, mask, other keys of the spec).
    'softmax-causal': ('softmax', 'causal', {}),
    'softmax-none': ('softmax', 'none', {'normalize': {'sum_plus': 1}, 'prepare': ['rope']}),
    'cap-window': (SIMILARITY['cap'], MASKS['window'], {}),
    'polynomial_4-causal': (SIMILARITY['polynomial_4'], 'causal', {'prepare': ['layernorm']}),
    'elu_plus_one-causal': (SIMILARITY['elu_plus_one'], 'causal', {}),
    'custom-none': (SIMILARITY['custom'], 'none', {'normalize': 'none'}),
    'additive-global': ({'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, MASKS['global'], {}),
    'bias-causal': ({'softmax': {'bias': 'dense'}}, 'causal', {}),
    'hedgehog-document': ({'linear': {'features': 'hedgehog'}}, MASKS['document'], {}),
    'softmax-random': ('softmax', MASKS['random'], {}),
    'softmax-dilated': ('softmax', {'window': {'left': 30, 'right': 5, 'dilation': 2}}, {})}
LEARNED = {   # Each value is (prepare, similarity, mask).
    'hedgehog': (None, {'linear': {'features': 'hedgehog'}}, 'causal'),
    'square': (None, {'polynomial_square': {'degree': 2, 'coefficients': 'param'}}, 'causal'),
    'square_5': (['l2norm'], {'polynomial_square': {'degree': 5, 'coefficients': 'param'}}, 'none'),
    'sketch': (['layernorm'], {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned'}}, 'causal'),
    'sketch_local': ([{'layernorm': {'affine': True}}],
                     {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned', 'local': 'exact'}}, 'causal'),
    'multiplicative': (None, {'softmax': {'compatibility': 'multiplicative'}}, 'causal'),
    'additive': (None, {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, {'window': {'left': 40}}),
    'bias': (None, {'softmax': {'bias': 'dense'}}, 'causal'),
    'bias_cap': (None, {'softmax': {'bias': 'dense', 'cap': 4.0}}, {'window': {'left': 20, 'right': 30}}),
    'affine': ([{'layernorm': {'affine': True}}, 'rope'], 'softmax', 'causal'),
    'affine_polynomial': ([{'layernorm': {'affine': True}}], {'polynomial': {'degree': 4}},
                          {'all': ['causal', {'expr': '(i + j) % 3 != 1'}]}),
    **{name: (['l2norm'] if name == 'table' else None, {'softmax': {'modify': text}}, mask) for name, text, mask in (
        ('table', 's * 4 + table[h][i - j + 7]', 'causal'), ('tau', 's * tau[h] + far[h][j] * bound', {'window': {'left': 40}}),
        ('near', 's + near[i / 4 - j / 4 + 2][j % 3]', 'none'),
        ('entry', 's * entry[b][h] + kv[g][i - j + 3 * b]', 'causal'),
        ('keys_of_heads', 's + each[b][h][j]', 'causal'))},
    'affine_batch': ([{'layernorm': {'affine': True}}, {'rope': {'angle': '(i + b) * pow(9, -t / 4.0)'}}], 'softmax',
                     MASKS['batch']),
    'angle': ([{'rope': {'angle': '(i + shift[b]) * waves[t] * 0.2'}}], 'softmax', 'causal'),
    'bias_prepared': (['rope', 'l2norm', {'scale': {'by': -1.5}}], {'softmax': {'bias': 'dense'}}, 'causal')}
ARRAYS = {'table': {'shape': ['H', 15], 'learned': True}, 'tau': {'shape': ['H']}, 'bound': {'shape': []},
          'far': {'shape': ['H', 'Nk']}, 'near': {'shape': [5, 3]}, 'entry': {'shape': ['B', 'H']},
          'kv': {'shape': ['G', 31]}, 'each': {'shape': ['B', 'H', 'Nk']}, 'shift': {'shape': ['B']},
          'waves': {'shape': ['D / 2']}}
# The specs that also have a linear form.
LEARNED_LINEAR = {
    'sketch': LEARNED['sketch'], 'sketch_local': LEARNED['sketch_local'],
    'sketch_blocks': (['layernorm'], LEARNED['sketch'][1], {'all': ['causal', {'block_window': {'block': 16, 'left': 1}}]}),
    'affine': ([{'layernorm': {'affine': True}}], {'polynomial': {'degree': 2, 'alpha': 1.0}}, 'causal'),
    'square': LEARNED['square'],
    'affine_batch': ([{'layernorm': {'affine': True}}, {'rope': {'angle': '(i + b) * pow(9, -t / 4.0)'}}],
                     {'custom': {'weight': '(1 + s) * (1 + s) * (1 + 0.25 * b + 0.1 * cos(i + b))'}}, 'causal'),
    'angle': (['l2norm', *LEARNED['angle'][0]], {'linear': {'features': 'elu_plus_one'}}, 'causal'),
    'hedgehog': LEARNED['hedgehog'], 'hedgehog_unmasked': LEARNED['hedgehog'][:2] + ('none',),
    'affine_prefix': ([{'layernorm': {'affine': True}}], {'polynomial': {'degree': 2}}, {'prefix': {'length': 39}}),
    'affine_decay': ([{'layernorm': {'affine': True}}], LINEAR['decay_of_heads-causal'][0], 'causal'),
    'tau': (None, {'custom': {'weight': '(1 + s * tau[h]) * (1 + s * tau[h])'}}, 'causal')}
GATE, GATES = {'gate': {'shape': ['B', 'H', 'Nk']}}, {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}
STEPS = {'rate': {'shape': ['H'], 'learned': True}, 'step': {'shape': ['B', 'H', 'Nk']}}
DECAYS = {   # Each value is (logarithm of the decay, similarity, other keys of the spec).
    'forgetting': ('gate[b][h][t]', 'softmax', {'arrays': GATE, 'prepare': ['rope']}),
    'forgetting_window': ('gate[b][h][t]', SIMILARITY['cap'], {
        'arrays': GATE, 'mask': {'window': {'left': 20}}, 'normalize': {'sink': 'h * 0.5'}}),
    'shared': ('gate[t] - 0.01 * (t % 3)', 'softmax', {'arrays': {'gate': {'shape': ['Nk']}}}),
    'of_kv_heads': ('gate[b][g][t]', SIMILARITY['elu_plus_one'], {'arrays': {'gate': {'shape': ['B', 'G', 'Nk']}}}),
    'steps': ('-exp(rate[h]) * log1p(exp(step[b][h][t]))', {'linear': {'features': 'identity'}}, {
        'arrays': STEPS, 'normalize': 'none'}),
    'steps_linear': ('-exp(rate[h]) * log1p(exp(step[b][h][t]))', {'linear': {'features': 'identity'}}, {
        'arrays': STEPS, 'normalize': 'none', 'algorithm': 'linear'}),
    'constant_linear': ('-0.05 * (h + 1)', SIMILARITY['elu_plus_one'], {'algorithm': 'linear'}),
    'resets_linear': ('t % 9 == 4 ? -100 : gate[b][h][t]', {'linear': {'features': 'identity'}}, {
        'arrays': GATE, 'normalize': 'none', 'algorithm': 'linear'}),
    'square_linear': ('gate[b][h][t]', SIMILARITY['custom'], {'arrays': GATE, 'algorithm': 'linear',
                                                              'mask': {'all': ['causal', 'document']}}),
    'favor_linear': ('gate[b][h][t]', SIMILARITY['favor_positive'], {'arrays': GATE, 'algorithm': 'linear'}),
    'strict_linear': ('gate[b][h][t]', {'linear': {'features': 'identity'}}, {
        'arrays': GATE, 'normalize': 'none', 'algorithm': 'linear', 'mask': {'expr': 'j < i'}}),
    'elements': ('gate[b][h][t][d]', {'linear': {'features': 'identity'}}, {'arrays': GATES, 'normalize': 'none'}),
    'elements_softmax': ('gate[b][h][t][d]', 'softmax', {'arrays': GATES}),
    'elements_linear': ('gate[b][h][t][d]', {'linear': {'features': 'identity'}}, {
        'arrays': GATES, 'normalize': 'none', 'algorithm': 'linear'}),
    'elements_of_heads_linear': ('-exp(rate[h][d]) * 0.1', SIMILARITY['elu_plus_one'], {
        'arrays': {'rate': {'shape': ['H', 'D'], 'learned': True}}, 'algorithm': 'linear'}),
    'elements_power_linear': ('gate[b][h][t][d]', SIMILARITY['polynomial_2'], {
        'arrays': GATES, 'normalize': {'sum_plus': 1}, 'algorithm': 'linear', 'shape': {'head_dim': 5, 'value_dim': 9}}),
}
# If both the rate and the weight of a key with itself are large, the solution grows without bound.
BETA = {'beta': {'shape': ['B', 'H', 'Nk']}}
IDENTITY = {'linear': {'features': 'identity'}}
DELTA = {   # Each value is (rate, similarity, other keys of the spec).
    'plain': ('beta[b][h][t]', IDENTITY, {'arrays': BETA}),
    'twice': ('2 * beta[b][h][t]', IDENTITY, {'arrays': BETA, 'prepare': ['l2norm', 'rope']}),
    'zero': ('t % 3 == 1 ? 0 : beta[b][h][t]', IDENTITY, {'arrays': BETA}),
    'constant': ('0.5', IDENTITY, {}),
    'learned': ('0.7 / (1 + exp(-step[h]))', IDENTITY, {'arrays': {'step': {'shape': ['H'], 'learned': True}}}),
    'gated': ('beta[b][h][t]', IDENTITY, {'arrays': BETA | GATE, 'decay': {'log': 'gate[b][h][t]'}}),
    'resets': ('beta[b][h][t]', IDENTITY, {'arrays': BETA | GATE,
                                           'decay': {'log': 't % 9 == 4 ? -100 : 0.01 * gate[b][h][t]'}}),
    'steps': ('beta[b][h][t]', IDENTITY, {'arrays': BETA | STEPS, 'prepare': ['l2norm', {'scale': {'by': 0.3}}],
                                          'decay': {'log': '-exp(rate[h]) * log1p(exp(step[b][h][t]))'}}),
    'elu': ('0.03 * beta[b][h][t]', SIMILARITY['elu_plus_one'], {'arrays': BETA, 'normalize': 'sum'}),
    'elu_gated': ('0.03 * beta[b][h][t]', SIMILARITY['elu_plus_one'], {
        'arrays': BETA | GATE, 'normalize': {'sum_plus': 0.5}, 'decay': {'log': 'gate[b][h][t]'}}),
    'polynomial': ('0.1 * beta[b][h][t]', SIMILARITY['polynomial_2'], {'arrays': BETA, 'normalize': {'sum_plus': 1}}),
    'sketch': ('0.01 * beta[b][h][t]', {'polysketch': {'degree': 4, 'sketch': 4}}, {
        'arrays': BETA, 'normalize': {'sum_plus': 1}, 'shape': {'head_dim': 8, 'value_dim': 9}}),
    'sketch_local': ('0.01 * beta[b][h][t]', {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, {
        'arrays': BETA, 'normalize': {'sum_plus': 1}, 'block': 24, 'shape': {'head_dim': 8, 'value_dim': 9}}),
    'hedgehog': ('0.2 * beta[b][h][t]', {'linear': {'features': 'hedgehog'}}, {'arrays': BETA, 'normalize': 'sum'}),
    'affine': ('0.02 * beta[b][h][t]', IDENTITY, {'arrays': BETA, 'prepare': [{'rmsnorm': {'affine': True}}]}),
    'decay': ('beta[b][h][t]', {'custom': {'weight': 's * exp(-0.1 * (i - j))'}}, {'arrays': BETA}),
    'tau': ('0.3 * beta[b][h][t]', {'custom': {'weight': '(s * 0.5 + 0.1) * (1 + 0.1 * h) * tau[h]'}}, {
        'arrays': BETA | {'tau': {'shape': ['H']}}}),
    'strict': ('beta[b][h][t]', IDENTITY, {'arrays': BETA, 'mask': {'expr': 'j < i'}}),
    'short_blocks': ('beta[b][h][t]', IDENTITY, {'arrays': BETA, 'block': 5}),
    'values': ('beta[b][h][t]', IDENTITY, {'arrays': BETA, 'shape': {'head_dim': 12, 'value_dim': 7, 'values': 'keys'}}),
    'elements': ('beta[b][h][t]', IDENTITY, {'arrays': BETA | GATES, 'prepare': ['l2norm'],
                                             'decay': {'log': 'gate[b][h][t][d]'}}),
    'elements_resets': ('beta[b][h][t]', IDENTITY, {
        'arrays': BETA | GATES, 'decay': {'log': 't % 9 == 4 && d % 3 == 0 ? -100 : gate[b][h][t][d]'}}),
    'elements_of_heads': ('0.03 * beta[b][h][t]', SIMILARITY['elu_plus_one'], {
        'arrays': BETA | {'rate': {'shape': ['H', 'D'], 'learned': True}}, 'normalize': 'sum',
        'decay': {'log': '-exp(rate[h][d]) * 0.1'}}),
}
# Other rows than the keys give the values that are removed.
def erasing(rate, similarity, rows='x', **more):
    arrays = {name: array for name, array in (BETA | GATES).items() if name in str((rate, more))}
    arrays |= {name: {'shape': ['B', 'H', 'Nk', 'D']} for name in rows}
    prepare = ['l2norm', {'l2norm': {'rows': list(rows)}}]
    delta = {'rate': rate, 'erase': 'x'} | ({'write': 'y'} if 'y' in rows else {})
    return rate, similarity, {'arrays': arrays, 'prepare': prepare} | more | {'delta': delta}


DELTA |= {
    'erase': erasing('beta[b][h][t]', IDENTITY), 'erase_elements': erasing('beta[b][h][t]', IDENTITY, decay={'log': 'gate[b][h][t][d]'}),
    'erase_rotated': erasing('0.02 * beta[b][h][t]', SIMILARITY['elu_plus_one'], normalize='sum', prepare=[
        'l2norm', 'rope', {'rmsnorm': {'rows': ['x']}}, {'rope': {'rows': ['x']}}]),
    'write': erasing('beta[b][h][t]', IDENTITY, 'xy'), 'write_elements': erasing('-1', IDENTITY, 'xy', decay={'log': 'gate[b][h][t][d]'}),
    'write_gated': erasing('beta[b][h][t]', IDENTITY, 'xy', decay={'log': 'gate[b][h][t][0]'}),
    'write_elu': erasing('0.02 * beta[b][h][t]', SIMILARITY['elu_plus_one'], 'xy', normalize='sum'),
    'divided': ('0.7', SIMILARITY['elu_plus_one'], {'normalize': 'sum', 'delta': {'rate': '0.7', 'normalize': 'sum'}}),
    'padded': ('beta[b][h][t]', IDENTITY, {'arrays': BETA, 'mask': {'all': ['causal', 'lengths']}}),
    'own_block': ('beta[b][h][t]', IDENTITY, {'arrays': BETA, 'algorithm': 'linear',
                                              'mask': {'all': ['causal', {'block_window': {'block': 40}}]}}),
    'own_block_elements': ('beta[b][h][t]', IDENTITY, {
        'arrays': BETA | GATES, 'decay': {'log': 'gate[b][h][t][d]'}, 'algorithm': 'linear',
        'mask': {'all': ['causal', {'expr': 'j / 64 == i / 64'}]}})}
DELTA |= {name + '_documents': (rate, similarity, more | {'mask': MASKS['document']}) for name, (rate, similarity, more)
          in DELTA.items() if name in ('plain', 'gated', 'elements', 'polynomial', 'write_elements')}
SOFTMAX_DELTA = {'arrays': BETA, 'normalize': 'sum'}
# The delta rule without a linear form, by blocked substitution. Each value is (rate, similarity, other keys of the spec).
SUBSTITUTED = {
    'softmax': ('beta[b][h][t]', 'softmax', SOFTMAX_DELTA | {'prepare': []}),
    'window': ('beta[b][h][t]', {'softmax': {'scale': 8, 'bias': 'alibi'}}, SOFTMAX_DELTA | {
        'mask': {'all': ['causal', {'window': {'left': 20}}]}, 'prepare': ['l2norm', 'rope'], 'dropout': 0.2}),
    'ahead': ('0.3 * beta[b][h][t]', {'softmax': {'cap': 3}}, SOFTMAX_DELTA | {'mask': 'none'}),
    'parity': ('beta[b][h][t]', {'softmax': {'modify': 's * exp(tau[h]) - 0.1 * (i % 3)'}}, SOFTMAX_DELTA | {
        'arrays': BETA | {'tau': {'shape': ['H'], 'learned': True}}, 'mask': {'expr': 'j <= i && (j % 3 == 0 || i - j < 5)'},
        'shape': {'head_dim': 8, 'value_dim': 5, 'values': 'keys'}}),
    'gated': ('beta[b][h][t]', {'softmax': {'scale': 4}}, SOFTMAX_DELTA | {
        'arrays': BETA | GATE, 'decay': {'log': 'gate[b][h][t]'}, 'mask': {'all': ['causal', 'document']}}),
    'erase': erasing('beta[b][h][t]', 'softmax', normalize='sum', mask={'all': ['causal', {'window': {'left': 9}}]}),
    'write': erasing('beta[b][h][t]', IDENTITY, 'xy', mask={'all': ['causal', {'window': {'left': 9}}]}),
    'divided': ('0.7', 'softmax', {'normalize': 'sum', 'delta': {'rate': '0.7', 'normalize': 'sum'}}),
    'odd': ('beta[b][h][t]', {'custom': {'weight': 's * fabs(s)'}}, {
        'arrays': BETA | GATES, 'decay': {'log': 'gate[b][h][t][d]'}}),
    'quadratic': ('0.1 * beta[b][h][t]', SIMILARITY['polynomial_2'], {
        'arrays': BETA, 'normalize': {'sum_plus': 1}, 'algorithm': 'quadratic', 'mask': {'all': ['causal', 'lengths']}})}
DELTA_SHAPES = [(2, 2, 2, 37, 67), (1, 1, 1, 65, 64), (1, 3, 3, 90, 41), (1, 1, 1, 29, 97), (1, 1, 1, 1, 1),
                (1, 2, 2, 1, 70), (1, 2, 2, 40, 1), (2, 2, 2, 33, 33)]   # autograd takes quadratic time
PROJECTED = {   # Each value is (prepare, similarity, size).
    'softmax': (None, 'softmax', 13),
    'cap': ([{'layernorm': {'affine': True}}], SIMILARITY['cap'], 37),
    'unit': (['l2norm', {'scale': {'by': 3}}], SIMILARITY['polynomial_4'], 1),
    'hedgehog': (['layernorm'], {'linear': {'features': 'hedgehog'}}, 7),
    'elu_plus_one': (None, SIMILARITY['elu_plus_one'], 16),
    'additive': (None, {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, 6)}
SINKS = {   # Each value is (sink, similarity, other keys of the spec).
    'zero': (0, 'softmax', {}),
    'large': ('i * 0.5 - 10', SIMILARITY['cap'], {}),
    'of_heads': ('h - 1.5', 'softmax', {'emit': ['forward', 'backward', 'statistics']}),
    'negative': (-200, 'softmax', {}),
    'power': ('h * 3', SIMILARITY['polynomial_4'], {'emit': ['forward', 'backward', 'statistics']}),
    'learned': ('sink[h]', 'softmax', {'arrays': {'sink': {'shape': ['H'], 'learned': True}}}),
    'learned_rows': ('tau[h] * 2 - sink[h][i % 7] * 0.1', SIMILARITY['cap'],
                     {'arrays': {'sink': {'shape': ['H', 7]}, 'tau': {'shape': ['H']}}}),
    'learned_linear': ('sink[h]', SIMILARITY['elu_plus_one'],
                       {'arrays': {'sink': {'shape': ['H'], 'learned': True}}, 'algorithm': 'linear'}),
    'linear': ('1 - i * 0.01', SIMILARITY['elu_plus_one'], {'algorithm': 'linear'}),
    'linear_statistics': ('h', SIMILARITY['polynomial_2'],
                          {'algorithm': 'linear', 'emit': ['forward', 'backward', 'statistics']})}
# Each value of SUBSETS is (algorithm or schedule, prepare, similarity, mask).
AFFINE = [{'layernorm': {'affine': True}}, 'rope']
SUBSETS = {
    'quadratic-bias': ({}, ['l2norm'], {'softmax': {'bias': 'dense'}}, MASKS['document']),
    'quadratic-affine': ({}, AFFINE, {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, MASKS['expr']),
    'quadratic-hedgehog': ({}, None, LEARNED['hedgehog'][1], MASKS['global']),
    'linear-hedgehog': ({'algorithm': 'linear'}, AFFINE, LEARNED['hedgehog'][1], MASKS['document']),
    'linear-square': ({'algorithm': 'linear'}, None, LEARNED['square'][1], LINEAR['sketch-blocks'][1]),
    'linear-sketch': ({'algorithm': 'linear'}, None, LEARNED['sketch_local'][1], 'causal'),
    'linear-decay': ({'algorithm': 'linear', 'normalize': 'none'}, AFFINE, LINEAR['decay_of_heads-causal'][0], 'causal'),
    'project': ({'algorithm': 'auto', 'project': {'linformer': {'size': 7}}}, AFFINE[:1], LEARNED['hedgehog'][1], 'none'),
    **{'either-%s-%d' % (name, n): ({'algorithm': 'auto', 'schedule': {'crossover': n}}, prepare, similarity, 'causal')
       for name, n, prepare, similarity in (('hedgehog', 20, AFFINE, LEARNED['hedgehog'][1]),
                                            ('hedgehog', 100, AFFINE, LEARNED['hedgehog'][1]),
                                            ('short', 20, None, SIMILARITY['elu_plus_one']))}}
# Specs whose values are their keys. Each is (algorithm, prepare, similarity, mask).
VALUES = {
    'softmax': ({}, None, 'softmax', 'causal'),
    'affine': ({}, AFFINE, 'softmax', {'window': {'left': 40}}),
    'polynomial_4': ({}, ['l2norm'], SIMILARITY['polynomial_4'], 'none'),
    'linear-elu_plus_one': ({'algorithm': 'linear'}, None, SIMILARITY['elu_plus_one'], 'causal'),
    'linear-hedgehog': ({'algorithm': 'linear'}, AFFINE, LEARNED['hedgehog'][1], 'causal'),
    'linear-decay': ({'algorithm': 'linear', 'normalize': 'none'}, ['rope'], LINEAR['decay_of_heads-causal'][0], 'causal')}
WANTED = ('dq', 'dk', 'dv')


def wanted_of(spec):
    """Returns the gradients of inputs. If values are keys, there is no dv."""
    return WANTED[:2] if spec['shape'].get('values') == 'keys' else WANTED


OTHER_TARGETS = targets_of('x86_64', 'any')
EPSILON = {'f32': 4e-6, 'bf16': 4e-6, 'f16': 4e-6, 'f64': 1e-14}
OPTIONS = {'emit': ['forward', 'backward'], 'algorithm': 'quadratic'}


def inputs(folder, spec, shape, seed):
    """Writes the arrays of a case, and returns them rounded to the kernel's dtype."""
    batch, heads, kv_heads, n_q, n_k = shape
    definitions.make_inputs(spec, folder, heads, kv_heads, n_q, n_k, batch, seed)
    if spec.get('algorithm') != 'quadratic': answers.ascending_ids(spec, folder)
    value_dim = spec['shape'].get('value_dim', spec['shape']['head_dim'])
    dout = np.random.default_rng(seed + 1).standard_normal((batch, heads, n_q, value_dim))
    np.save(folder + '/dout.npy', dout.astype(np.float32))
    P = {}
    for name, x in definitions.read_dir(folder).items():
        if name in ('q', 'k', 'v', 'dout') and spec['dtype'] in HALVES: x = rounded(x, spec['dtype'])
        P[name] = x if x.dtype.kind != 'f' else x.astype(np.float64)
    return P


def gradients_of(spec, P):
    """Returns the gradients of gradient_definitions.py, by name."""
    import gradient_definitions
    with np.errstate(all='ignore'):
        return gradient_definitions.gradients(spec, {n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')},
                                              *(P[n] for n in ('q', 'k', 'v', 'dout')))


def over(got, wanted, allowed):
    """Returns the error of each number relative to its tolerance. The error of NaN is infinite."""
    with np.errstate(all='ignore'): part = np.where(got == wanted, 0, np.abs(got - wanted) / allowed)
    return np.where(np.isnan(part), np.inf, part)


def widened(spec, P, name, x, most, may):
    """Returns a tolerance of f32, widened for what kernels of the spec round. `x` is the wanted gradient, `most` the largest
    of all."""
    if spec['dtype'] == 'f64': may = may * 2.0 ** -29 + 1e-13 * np.abs(x).max()
    # Here all terms cancel, for example because there is only one key.
    if np.abs(x).max() <= 1e-9 * most: may = may + EPSILON[spec['dtype']] * most
    if 'decay' in spec and name[1:] in P and re.search(r'\b%s\b' % name[1:], str(spec['decay']['log'])):
        may = may + EPSILON[spec['dtype']] * most * P['k'].shape[2]   # sums over positions, whose terms cancel
    if spec['dtype'] in HALVES:   # kernels round `out`, the weights and the gradients of weights
        may = may + {'bf16': 2.0 ** -5, 'f16': 2.0 ** -8}[spec['dtype']] * most
    return may


def judge(spec, P, made, cancels=False):
    """Compares gradients with gradient_definitions.py. Returns the largest error relative to its tolerance. `cancels`: the
    terms of a gradient may cancel, so that definitions that round every step to f32 exceed the tolerance, too. Then the
    tolerance is twice their error. Gradients are first compared with a quick lower bound of the tolerance."""
    import gradient_definitions
    given = {n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')}, *(P[n] for n in ('q', 'k', 'v', 'dout'))
    wanted = gradients_of(spec, P)
    largest, most, allowed, own = 0.0, max(np.abs(wanted[name]).max() for name in made), None, None
    for name, got in made.items():
        x = wanted[name]
        check(got.shape == x.shape, '%s has the shape %s, not %s' % (name, got.shape, x.shape))
        if spec['dtype'] == 'f16':   # numbers that f16 cannot hold are infinite
            got = np.where((np.abs(x) > np.finfo(np.float16).max) & (got == np.sign(x) * np.inf), x, got)
        part = over(got, x, widened(spec, P, name, x, most, gradient_definitions.least(x)))
        if not (part <= 1).all():
            with np.errstate(all='ignore'): allowed = allowed or gradient_definitions.allowed(spec, *given, wanted)
            part = over(got, x, widened(spec, P, name, x, most, allowed[name]))
        if cancels and not (part <= 1).all() and np.isfinite(got).all():
            with np.errstate(all='ignore'):
                own = own or [gradient_definitions.rounded(spec, *given, seed) for seed in range(3)]
            wider = 2 * max(over(g[name], x, allowed[name]).max() for g in own)
            if 1 < wider < np.inf: part = part / wider
        at = np.unravel_index(np.argmax(part), part.shape)
        check(part[at] <= 1, '%s%s is %.9g, not %.9g: off by %.3g times what is allowed; %d of %d are off' % (
            name, list(map(int, at)), got[at], x[at], part[at], (part > 1).sum(), part.size))
        largest = max(largest, part[at])
    return largest


def expressions(node):
    """Returns the values of a node of YAML as one text, without keys: `beta` is an option, and may be an array."""
    if isinstance(node, dict): node = list(node.values())
    return ' '.join(map(expressions, node)) if isinstance(node, list) else str(node)


def learned(spec, P):
    """Returns the parameters with a gradient. Integers, parameters from a seed and unused arrays have none."""
    text, used = str(spec['similarity']), expressions({key: x for key, x in spec.items() if key not in ('arrays', 'name')})
    unused = [n for n in spec.get('arrays', {}) if not re.search(r'\b%s\b' % n, used)]
    return [n for n, x in sorted(P.items()) if n not in ('q', 'k', 'v', 'dout', *unused) and x.dtype.kind == 'f'
            and not (n == 'features.w' and 'favor_' in text) and not (n.startswith('sketch') and 'learned' not in text)]


def write_spec(folder, spec):
    arrays = {name: a for name, a in ARRAYS.items() if re.search(r'\b%s\b' % name, str([spec['similarity'], spec.get('prepare')]))}
    if arrays: spec = spec | {'arrays': arrays | spec.get('arrays', {})}
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    return path, {'dtype': 'f32'} | definitions.load(path)


def case(folder, suite, spec, shapes, seed, target):
    if suite.without: raise Skip(suite.without)
    lacks = missing_flags(target or 'native')
    if lacks: raise Skip('this processor lacks ' + lacks)
    path, spec = write_spec(folder, spec)
    largest = 0.0
    if not WHOLE: shapes = [shapes[(seed // 10 + at) % len(shapes)] for at in range(min(2, len(shapes)))]
    for at, shape in enumerate(shapes):
        d = '%s/%d' % (folder, at)
        P = inputs(d + '/in', spec, shape, seed + at)
        # These shapes use dot products of bf16 if the processor has them.
        slower_too = spec['dtype'] == 'bf16' and at % 2
        flags = ('-O2' if optimised(seed, 9) else '-O0') + (' ' + SLOWER_TOO if slower_too else '')
        line = ['env', 'ATTNC_CFLAGS=' + flags, suite.attnc, 'run', path, '--in', d + '/in', '--out', d + '/out',
                '--threads', 1 + at % 3]
        here = target or ('native' if slower_too or '-O2' in flags else None)
        done = execute(line + (['--target', here] if here else []), env=suite.environment)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
        try:
            made = {n: np.load('%s/out/%s.npy' % (d, n)) for n in [*wanted_of(spec), *('d' + n for n in learned(spec, P))]}
            for n in learned(spec, P):
                check(made['d' + n].dtype == (np.float64 if spec['dtype'] == 'f64' else np.float32),
                      'd%s is %s' % (n, made['d' + n].dtype))
            made = {n: x.astype(np.float64) for n, x in made.items()}
            largest = max(largest, judge(spec, P, made))
        except Failure as failure:
            raise Failure('B%d H%d G%d nq%d nk%d: %s' % (*shape, failure))
    return '(%d shapes, largest error %.2f of what is allowed)' % (len(shapes), largest)


def caller(folder, suite, spec, shape, seed, target='generic', plant=lambda P: None):
    """Returns (a function that calls forward and backward, sample inputs, names of all gradients). `plant` may
    change the inputs."""
    path, spec = write_spec(folder, spec)
    library = compiled(suite, path, folder, target, '-O0', compiler('clang')).library
    name = spec['name']
    P = inputs(folder + '/in', spec, shape, seed)
    plant(P)
    of_params = learned(spec, P)
    of_inputs = wanted_of(spec)
    everything = (*of_inputs, *('d' + n for n in of_params))
    real = np.float64 if spec['dtype'] == 'f64' else np.float32
    sample = [np.ascontiguousarray(P[n], real) for n in ('q', 'k', 'v', 'dout')]
    for function in 'saved', 'backward_workspace', 'workspace':
        getattr(library, '%s_%s' % (name, function)).restype = ctypes.c_size_t

    order = [n for n in open('%s/%s.h' % (folder, name)).read().split('_params {')[1].split('}')[0].split()]
    params = {n: np.ascontiguousarray(P[n], real if P[n].dtype.kind == 'f' else P[n].dtype) for n in sorted(
        set(P) - {'q', 'k', 'v', 'dout'}, key=lambda n: order.index('*%s;' % n.replace('.', '_')))}

    def pointers(arrays):
        arrays = [None if x is None else x.ctypes.data for x in arrays]
        return (ctypes.c_void_p * (len(arrays) + 1))(*arrays)

    def memory(n):
        whole = np.full(n + 64, 0xff, np.uint8)
        return whole[-whole.ctypes.data % 64:][:n]

    def call(threads, wanted, saves, apart, given=sample):
        q, k, v, dout = given
        room = lambda x: np.full((*x.shape[:-1], x.shape[-1] + (3 if apart else 0)), np.nan, real)[..., :x.shape[-1]]
        dq, dk, dv = (room(x) for x in (q, k, v))
        values = [v] if 'dv' in of_inputs else []
        by_param = {n: np.full(x.shape, np.nan, real) for n, x in params.items() if n in of_params}
        problem = Problem(*shape, threads=threads)
        out = np.empty_like(dout)
        saved = memory(library[name + '_saved'](ctypes.byref(problem))) if saves else None
        if saves: problem.saved, problem.saved_bytes = saved.ctypes.data, saved.size
        problem.dq, problem.dk, problem.dv = (Strides(*(stride // x.itemsize for stride in x.strides[:3]))
                                              for x in (dq, dk, dv))
        work = memory(library[name + '_workspace'](ctypes.byref(problem)))
        problem.workspace_bytes = work.size
        pointer = lambda x: ctypes.c_void_p(x.ctypes.data)
        error = library[name + '_forward'](ctypes.byref(problem), pointers(params.values()), *map(pointer, (q, k, *values, out, work)))
        check(error == 0, 'forward: %d' % error)
        work = memory(library[name + '_backward_workspace'](ctypes.byref(problem)))
        problem.workspace_bytes = work.size
        gradients = [pointer(x) if n in wanted else None for n, x in zip(of_inputs, (dq, dk, dv))]
        of_wanted = [x if 'd' + n in wanted else None for n, x in by_param.items()]
        of_wanted = None if saves and not any(x is not None for x in of_wanted) else pointers(of_wanted)
        backward = lambda: library[name + '_backward'](
            ctypes.byref(problem), pointers(params.values()), *map(pointer, (q, k, *values, out, dout)), *gradients,
            of_wanted, pointer(work))
        error = backward()
        check(error == 0, 'backward: %d' % error)
        problem.workspace_bytes -= 1
        error = backward()
        check(error == -4, 'a workspace that is too small: %d' % error)
        made = dict(zip(of_inputs, (dq, dk, dv))) | {'d' + n: x for n, x in by_param.items()}
        for n, x in made.items(): check(np.isnan(x).all() or n in wanted, n + ' is not wanted, but written')
        return {n: np.ascontiguousarray(x) for n, x in made.items() if n in wanted}

    return call, sample, everything


def same(a, b):
    return a.keys() == b.keys() and all(a[n].tobytes() == b[n].tobytes() for n in a)


def bits(folder, suite, spec, shape, seed):
    """The bits do not depend on threads, requested gradients, saved values and strides."""
    call, _, everything = caller(folder, suite, spec, shape, seed)
    first = call(1, everything, True, False)
    for threads, saves, apart in (2, 1, 0), (3, 1, 1), (7, 1, 0), (1, 0, 0), (3, 0, 1):
        check(same(call(threads, everything, saves, apart), first),
              '%d threads, saved %d, apart %d: other bits' % (threads, saves, apart))
    of_inputs = wanted_of(spec)
    of_params = everything[len(of_inputs):]
    subsets = [s for count in range(3) for s in itertools.combinations(of_inputs, count)]
    some = [(n,) for n in of_params] + [of_params[::2], everything[1::2], of_params]
    for wanted in subsets + some if of_params else subsets:
        check(same(call(2, wanted, True, False), {n: first[n] for n in wanted}),
              'other bits where %s alone are wanted' % (wanted,))
    return ''


def subsets(folder, suite, spec, shape, seed, target):
    """Every subset of the gradients has the same bits as all gradients together, with one and three threads."""
    lacks = missing_flags(target)
    if lacks: raise Skip('this processor lacks ' + lacks)
    call, _, everything = caller(folder, suite, spec, shape, seed, target)
    of_inputs = wanted_of(spec)
    first, of_params = [call(2, everything, saves, False) for saves in (False, True)], everything[len(of_inputs):]
    tried = {(*wanted, *more) for count in range(4) for wanted in itertools.combinations(of_inputs, count)
             for more in ((), of_params, *((n,) for n in of_params))}
    for n, wanted in enumerate(sorted(tried)):
        saves = n // 2 % 2
        check(same(call(1 + n % 2 * 2, wanted, saves, False), {n: first[saves][n] for n in wanted}),
              'other bits where %s are wanted' % (wanted,))
    return '(%d subsets)' % len(tried)


def unseen(folder, suite, spec, shape, seed):
    """Infinity and NaN in a query or key reach no row that does not see this query or key. The mask is causal."""
    call, sample, _ = caller(folder, suite, spec, shape, seed)
    queries, keys = np.s_[..., :-1, :], np.s_[..., shape[4] - shape[3] + 1:, :]
    for bad in np.nan, np.inf:
        for at, row, reached, untouched in ((1, -1, 'dq', {'dq': queries}), (2, -1, 'dq', {'dq': queries}),
                                            (0, 0, 'dk', {'dk': keys, 'dv': keys}),
                                            (3, 0, 'dv', {'dk': keys, 'dv': keys})):
            made = []
            for value in 0, bad:
                given = [x.copy() for x in sample]
                given[at][..., row, 1] = value
                made.append(call(2, WANTED, True, False, given))
            said = '%s in %s' % (bad, ('q', 'k', 'v', 'dout')[at])
            for name, part in untouched.items():
                check(made[0][name][part].tobytes() == made[1][name][part].tobytes(), said + ' changes ' + name)
            check(not np.isfinite(made[1][reached]).all(), said + ' reaches nothing')
    return ''


def minus_infinity(folder, suite, spec, shape, seed):
    """A bias of -inf hides a key as the mask does, even in rows that see no key."""
    n_q, n_k = shape[3:]
    ahead = np.arange(n_k) > np.arange(n_q)[:, None] + n_k - n_q
    check(ahead.all(-1).any(), 'every row sees something')

    def hide(P):
        P['bias'] = np.where(ahead, -np.inf, P['bias'])

    made = []
    for mask, plant in ('causal', lambda P: None), ('none', hide):
        own = os.path.join(folder, mask)
        os.mkdir(own)
        call, _, everything = caller(own, suite, spec | {'mask': mask, 'name': 'bias_' + mask}, shape, seed, plant=plant)
        made += [call(2, everything, saves, False) for saves in (True, False)]
    for name, wanted in made[0].items():
        for got in made[1:]:
            error = np.abs(got[name] - wanted).max() / np.abs(wanted).max()
            check(error <= EPSILON[spec['dtype']], '%s is off by %.3g of its largest element' % (name, error))
    return ''


def driver(suite, key, line, name):
    """Returns objects and options to link the program that calls the kernel's backward."""
    objects = suite.objects.of(key, [*line, '-DKERNEL=kernel_under_test'],
                               [*runtime_sources(), os.path.join(HERE, 'backward_driver.c')])
    return [*objects, '-Wl,--defsym=kernel_under_test=%s_kernel' % name, '-lm']


def memory(folder, suite, spec):
    path, spec = write_spec(folder, spec)
    name = spec['name']
    done_well([suite.attnc, path, '-o', folder, '--target', 'native'], folder)

    def test(debug):
        line = [compiler('clang'), '-O0', *debug, *SANITIZED]
        done_well([*line, '-I', RUNTIME, '-I', folder, '-o', 'driver', name + '.c',
                   *driver(suite, 'memory' + ''.join(debug), line, name)], folder)
        done = execute(['./driver', *(['alone'] if 'delta' in spec else [])], cwd=folder, timeout=600)
        check(done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:])
        return ''
    return with_report(test)


def checked(folder, suite, spec, spoil):
    """Runs `attnc check`. With `spoil`, a compiler makes the gradients wrong, and `attnc check` must find that."""
    path, spec = write_spec(folder, spec)
    environment = dict(suite.environment)
    if spoil:
        with open(folder + '/spoiling-cc', 'w') as f:
            f.write('#!/bin/sh\nfor word; do case $word in *.c) sed -i "%s" "$word" ;; esac; done\nexec quick-cc "$@" -O0\n'
                    % spoil)
        os.chmod(folder + '/spoiling-cc', 0o755)
        environment |= {'ATTNC_CC': 'spoiling-cc', 'PATH': folder + os.pathsep + environment['PATH'],
                        'XDG_CACHE_HOME': folder + '/cache'}
    done = execute([suite.attnc, 'check', path, '--lengths', '1,7,20', '--heads', '2/1', '--verbose'], env=environment, timeout=600)
    check(done.returncode == (1 if spoil else 0), 'exit status %d: %s%s' % (done.returncode, done.stdout, done.stderr))
    lines = [line for line in done.stdout.splitlines() if 'gradients' in line and 'some of' not in line]
    check(len(lines) == 2 and ('WRONG' in lines[1]) == bool(spoil), done.stdout)
    return ''


def sweeps(folder, suite):
    """Gradients of the delta rule share a loop over chunks in each direction. Forward saves its solution for them."""
    said = execute([suite.attnc, 'explain', 'gated_deltanet'], env=suite.environment).stdout
    parts = [line for line in said.splitlines() if 'parts, one after the other' in line]
    check(len(parts) == 1 and parts[0].count(';') == 2, str(parts))
    check('forward saves 256 bytes a row and head' in said, said)
    check('dv, dbeta;' in parts[0] and 'dq, dlog_decay_q, dk, dlog_decay_k;' in parts[0], parts[0])


def main():
    suite = Suite(__doc__.split('\n')[0])
    suite.objects = Objects(suite.folder)
    suite.environment = quick.environment(suite.folder)
    suite.without = autograd() if not suite.options.list else ''
    base = OPTIONS | {'block': 16, 'shape': {'head_dim': 24, 'value_dim': 40}}
    dtypes = ['f32', 'f64', 'f32', 'bf16', 'f32', 'f16']
    for n, (name, similarity) in enumerate(SIMILARITY.items()):
        for m, mask in enumerate(('causal', 'none') if n % 2 else ('causal',)):
            spec = base | {'name': 's%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[(n + m) % 6]}
            suite.case('similarity/%s-%s' % (name, mask), case, suite, spec, SHAPES[n % 3::3], 10 * n,
                       OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
    for n, (name, mask) in enumerate(MASKS.items()):
        spec = base | {'name': 'm%d' % n, 'similarity': ['softmax', SIMILARITY['polynomial_2']][n % 2], 'mask': mask,
                       'dtype': dtypes[n % 6], 'shape': {'head_dim': 16}}
        suite.case('mask/' + name, case, suite, spec, SHAPES[n % 2::2], 10 * n + 5,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 1 else None)
    for n, (name, prepare) in enumerate(PREPARE.items()):
        spec = base | {'name': 'p%d' % n, 'similarity': ['softmax', SIMILARITY['polynomial_4']][n % 2],
                       'prepare': prepare, 'mask': 'causal', 'dtype': dtypes[n % 2]}
        suite.case('prepare/' + name, case, suite, spec, SHAPES[n % 4::4], 10 * n + 7, None)
    for n, similarity in enumerate([SIMILARITY['polynomial_2'], SIMILARITY['custom'], SIMILARITY['square']]):
        spec = base | {'name': 'n%d' % n, 'similarity': similarity, 'normalize': 'none', 'dtype': dtypes[n],
                       'mask': 'causal'}
        suite.case('unnormalized/%d' % n, case, suite, spec, SHAPES[n::3], 10 * n + 9, None)
    for n, (name, (sink, similarity, form)) in enumerate(SINKS.items()):
        spec = base | form | {'name': 's%d' % n, 'similarity': similarity, 'normalize': {'sink': sink},
                              'mask': 'causal', 'dtype': dtypes[n % 6]}
        suite.case('sink/' + name, case, suite, spec, SHAPES[n % 3::3], 10 * n + 11, None)
    for n, (name, (log, similarity, form)) in enumerate(DECAYS.items()):
        spec = base | {'name': 'decay%d' % n, 'similarity': similarity, 'mask': 'causal', 'decay': {'log': log},
                       'dtype': dtypes[n % 6], 'shape': {'head_dim': 12, 'value_dim': 20}} | form
        shapes = SHAPES if 'normalize' not in form else [s for s in SHAPES if s[4] > 1]
        suite.case('decay/' + name, case, suite, spec, shapes[n % 2::2], 10 * n + 13,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 4 == 0 else None)
    for n, (name, (rate, similarity, form)) in enumerate(DELTA.items()):
        spec = base | {'name': 'delta%d' % n, 'similarity': similarity, 'mask': 'causal', 'delta': {'rate': rate},
                       'algorithm': 'auto', 'normalize': 'none', 'prepare': ['l2norm'], 'dtype': dtypes[n % 6],
                       'shape': {'head_dim': 12, 'value_dim': 20}} | form
        suite.case('delta/' + name, case, suite, spec, DELTA_SHAPES[n % 4::4], 10 * n + 17,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 4 == 0 else None)
        if n % 5 == 0:
            suite.case('bits/delta_' + name, bits, suite, spec | {'name': 'bits_d%d' % n, 'dtype': dtypes[n % 2]},
                       (2, 2, 2, 135, 150), n)
            if name in ('plain', 'polynomial') and not WHOLE: continue   # `elements`, `decay` and `gated` have more
            if 'documents' in name: continue   # the callers of `memory` have no ids
            suite.case('memory/delta_' + name, memory, suite, spec | {'name': 'memory_d%d' % n})
    for n, (name, (rate, similarity, form)) in enumerate(SUBSTITUTED.items()):
        spec = base | {'name': 'substituted%d' % n, 'similarity': similarity, 'mask': 'causal', 'delta': {'rate': rate},
                       'algorithm': 'auto', 'normalize': 'none', 'prepare': ['l2norm'], 'dtype': dtypes[(n + 1) % 6],
                       'shape': {'head_dim': 12, 'value_dim': 20}} | form
        suite.case('substituted/' + name, case, suite, spec, DELTA_SHAPES[n % 4::4], 10 * n + 19, None)
    suite.case('bits/substituted', bits, suite, base | {
        'name': 'bits_s', 'mask': 'causal', 'algorithm': 'auto', 'delta': {'rate': SUBSTITUTED['gated'][0]}, 'dtype': 'f32',
        'similarity': 'softmax', **SUBSTITUTED['gated'][2], 'shape': {'head_dim': 12, 'value_dim': 20}},
        (2, 2, 2, 65, 70), 3)
    suite.case('delta_sweeps', sweeps, suite)
    for n, (name, (similarity, mask)) in enumerate(LINEAR.items()):
        spec = base | {'name': 'l%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 6],
                       'algorithm': 'linear',
                       'shape': {'head_dim': 5 if name == 'square-causal' else 12, 'value_dim': 20}}
        if 'decay' in name: spec |= {'normalize': 'none'}
        if 'decay_of_heads' in name: spec |= {'prepare': ['rope', {'layernorm': {}}]}
        # the weight of a single key may nearly vanish, which makes errors of features large
        shapes = SHAPES if name.startswith(('elu', 'favor')) else [s for s in SHAPES if s[4] > 1]
        suite.case('linear/' + name, case, suite, spec, shapes[n % 2::2], 10 * n + 3, OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
    for n, (name, (form, prepare, similarity, mask)) in enumerate(VALUES.items()):
        spec = base | {'name': 'values%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 6],
                       'shape': {'head_dim': 12, 'value_dim': 7 + 5 * (n % 2), 'values': 'keys'}} | form
        if prepare: spec['prepare'] = prepare
        suite.case('values/' + name, case, suite, spec, SHAPES[n % 3::3], 10 * n + 3,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
        suite.case('bits/values_' + name, bits, suite, spec | {'name': 'bits_v%d' % n, 'dtype': dtypes[n % 2]},
                   (2, 4, 2, 135, 150), n)
        if n % 2 == 1 or WHOLE: suite.case('memory/values_' + name, memory, suite, spec | {'name': 'memory_v%d' % n})
    many_axes = base | {'name': 'many', 'algorithm': 'linear', 'shape': {'head_dim': 2, 'value_dim': 20}, 'dtype': 'f64',
                        'similarity': {'polynomial_square': {'degree': 5, 'coefficients': [0, 0, -0.25, 1, 0.5, 2]}}}
    suite.case('linear/many_axes', case, suite, many_axes, SHAPES[:1], 1, None)
    for n, (name, mask) in enumerate((('softmax', 'causal'), ('polynomial_4', 'none'), ('alibi', MASKS['window']),
                                      ('polynomial_2', 'causal'), ('elu_plus_one', MASKS['random']))):
        spec = base | {'name': 'bits%d' % n, 'similarity': SIMILARITY[name], 'mask': mask, 'dtype': dtypes[n % 2],
                       'shape': {'head_dim': 8}}
        suite.case('bits/' + name, bits, suite, spec, (2, 4, 2, 135, 150), n)
        if n % 4 == 0 or WHOLE:   # softmax, and sums of keys
            suite.case('bits/one_head_' + name, bits, suite, spec | {'name': 'head%d' % n}, (1, 2, 1, 700, 710), n)
        if mask == 'causal':
            suite.case('unseen/' + name, unseen, suite, spec | {'name': 'unseen'}, (1, 2, 1, 150, 170), n)
    for n, name in enumerate(('elu_plus_one-causal', 'elu_plus_one-none', 'decay-prefix_lm')):
        spec = base | {'name': 'bits_linear%d' % n, 'similarity': LINEAR[name][0], 'mask': LINEAR[name][1],
                       'algorithm': 'linear', 'dtype': dtypes[n % 2], 'shape': {'head_dim': 8}}
        suite.case('bits/linear-' + name, bits, suite, spec, (2, 4, 2, 135, 150), n)
    own_states = base | {'name': 'own_states', 'similarity': LINEAR['decay_of_heads-causal'][0], 'mask': 'causal',
                         'normalize': 'none', 'algorithm': 'linear', 'shape': {'head_dim': 6}}
    # if a head shares its keys with no other, its gradient is written directly
    suite.case('bits/own_states_alone', bits, suite, own_states | {'name': 'own_states_alone'}, (2, 3, 3, 70, 90), 1)
    suite.case('bits/own_states', bits, suite, own_states, (1, 4, 2, 70, 90), 1)
    suite.case('memory/own_states', memory, suite, own_states)
    for n, (name, (prepare, similarity, mask)) in enumerate(LEARNED.items()):
        spec = base | {'name': 'l%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 6],
                       'shape': {'head_dim': 16, 'value_dim': 24} if n % 2 else {'head_dim': 10}}
        if prepare: spec['prepare'] = prepare
        suite.case('learned/' + name, case, suite, spec, SHAPES[n % 3::3], 10 * n + 3,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
    for n, (name, (prepare, similarity, mask)) in enumerate(LEARNED_LINEAR.items()):
        spec = base | {'name': 'll%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 6],
                       'algorithm': 'linear', 'shape': {'head_dim': 8, 'value_dim': 12} if n % 2 else {'head_dim': 6}}
        if prepare: spec['prepare'] = prepare
        suite.case('learned/linear_' + name, case, suite, spec, SHAPES[n % 3::3], 10 * n + 3,
                   OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
    for n, (name, (similarity, mask, more)) in enumerate(DROPPED.items()):
        types = 'f32', ('f64', 'bf16', 'f16')[n % 3]
        for dtype in types if WHOLE else types[n // 3 % 2:][:1]:
            spec = base | {'name': 'dropped%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtype,
                           'dropout': (0.1, 0.5, 0.75)[n % 3], 'seed': 3 ** n, 'shape': {'head_dim': 8, 'value_dim': 12}}
            suite.case('dropout/%s-%s' % (name, dtype), case, suite, spec | more, SHAPES[n % 3::3], 10 * n + 8,
                       OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 2 else None)
    suite.case('bits/dropout', bits, suite, base | {'name': 'bits_dropout', 'similarity': 'softmax', 'mask': 'causal',
                                                    'dropout': 0.3, 'shape': {'head_dim': 8}}, (2, 4, 2, 135, 150), 3)
    suite.case('memory/dropout', memory, suite, base | {'name': 'memory_dropout', 'similarity': 'softmax',
                                                        'mask': 'causal', 'dropout': 0.3})
    short = [(2, 4, 2, 37, 65), (1, 3, 1, 67, 20), (1, 1, 1, 1, 1), (2, 2, 2, 5, 70)]
    for n, (name, (prepare, similarity, length)) in enumerate(PROJECTED.items()):
        spec = base | {'name': 'project%d' % n, 'similarity': similarity, 'project': {'linformer': {'size': length}},
                       'dtype': dtypes[n % 6], 'shape': {'head_dim': 8, 'value_dim': 5} if n % 2 else {'head_dim': 6}}
        del spec['block'], spec['algorithm']
        if prepare: spec['prepare'] = prepare
        shapes = short if name in ('softmax', 'elu_plus_one') else [s for s in short if s[4] > 1]
        suite.case('project/' + name, case, suite, spec, shapes, 10 * n + 3, OTHER_TARGETS[n % len(OTHER_TARGETS)] if n % 3 == 0 else None)
        if name == 'cap': suite.case('bits/project_' + name, bits, suite, spec | {'name': 'bits'}, (2, 4, 2, 70, 81), n)
        if name == 'softmax':
            suite.case('memory/project_' + name, memory, suite, spec | {'name': 'memory_p'})
    for n, name in enumerate(('sketch_local', 'affine', 'hedgehog')):
        prepare, similarity, mask = LEARNED_LINEAR[name]
        spec = base | {'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 2], 'algorithm': 'linear',
                       'shape': {'head_dim': 6}}
        if prepare: spec['prepare'] = prepare
        suite.case('bits/learned_linear_' + name, bits, suite, spec | {'name': 'bits_ll%d' % n}, (2, 4, 2, 135, 150), n)
        if prepare: suite.case('memory/learned_linear_' + name, memory, suite, spec | {'name': 'memory_ll%d' % n})
    for n, name in enumerate(('hedgehog', 'sketch_local', 'square', 'affine', 'bias')):
        if name == 'sketch_local' and not WHOLE: continue   # the linear form has it, too
        prepare, similarity, mask = LEARNED[name]
        spec = base | {'name': 'bits_learned%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n % 2],
                       'shape': {'head_dim': 8}}
        if prepare: spec['prepare'] = prepare
        suite.case('bits/learned_' + name, bits, suite, spec, (2, 4, 2, 135, 150), n)
    for dtype in 'f32', 'f64':
        spec = base | {'similarity': LEARNED['bias'][1], 'shape': {'head_dim': 8}, 'dtype': dtype}
        suite.case('minus_infinity/' + dtype, minus_infinity, suite, spec, (2, 4, 2, 150, 130), 1)
    for n, (name, (form, prepare, similarity, mask)) in enumerate(SUBSETS.items()):
        spec = base | {'similarity': similarity, 'mask': mask, 'shape': {'head_dim': 6, 'value_dim': 9}} | form
        if prepare: spec['prepare'] = prepare
        if 'project' in spec: del spec['block'], spec['mask']
        targets = targets_of(MACHINE, 'any')
        for m, target in enumerate(targets):
            if (n - m) % 2 and not WHOLE: continue   # two specs have all targets
            suite.case('subsets/%s-%s' % (name, target), subsets, suite,
                       spec | {'name': 'subsets%d' % n, 'dtype': dtypes[(n + m) % 2]},
                       # every spec has both shapes: several entries of a batch, and several heads of keys
                       (3, 2, 1, 1, 1) if 'short' in name else [(2, 2, 1, 45, 61), (1, 4, 2, 45, 61)][m % 2], 2 * n, target)
    for n, mask in enumerate(('causal', {'any': [{'window': {'left': 20}}, {'random': {'block': 16, 'count': 2}}]})):
        spec = base | {'name': 'memory%d' % n, 'similarity': 'softmax', 'mask': mask, 'dtype': dtypes[n],
                       'shape': {'head_dim': 5, 'value_dim': 7}}
        suite.case('memory/%d' % n, memory, suite, spec)
    for n, name in enumerate(('elu_plus_one-blocks', 'elu_plus_one-none', 'decay-causal')):
        spec = base | {'name': 'memory_linear%d' % n, 'similarity': LINEAR[name][0], 'mask': LINEAR[name][1],
                       'algorithm': 'linear', 'dtype': dtypes[n], 'shape': {'head_dim': 5, 'value_dim': 7}}
        suite.case('memory/linear-' + name, memory, suite, spec)
    for n, name in enumerate(('hedgehog', 'sketch_local', 'square_5', 'affine', 'bias')):
        if name == 'sketch_local' and not WHOLE: continue
        prepare, similarity, mask = LEARNED[name]
        spec = base | {'name': 'memory_learned%d' % n, 'similarity': similarity, 'mask': mask, 'dtype': dtypes[n],
                       'shape': {'head_dim': 6, 'value_dim': 7}}
        if prepare: spec['prepare'] = prepare
        suite.case('memory/learned_' + name, memory, suite, spec)
    for name, spoil in ('partial', 's/if (partial_0) {/if (0) {/'), ('total', 's/if (dfeatures_wq) {/if (0) {/'):
        spec = base | {'name': 'wrong', 'similarity': LEARNED['hedgehog'][1], 'shape': {'head_dim': 8}}
        suite.case('check/wrong_' + name, checked, suite, spec, spoil)
    checks = 'softmax', 'polynomial_4', 'modify', 'elu_plus_one', 'custom', 'sketch_local'   # other suites check drawn specs
    for n, name in enumerate(checks if WHOLE else checks[::5]):
        spec = base | {'name': 'c%d' % n, 'similarity': SIMILARITY[name], 'mask': 'causal', 'dtype': dtypes[n],
                       'shape': {'head_dim': 8}}
        suite.case('check/' + name, checked, suite, spec, None)
    for name, spoil in ('dq', 's/if (sum_0) {/if (0) {/'), ('dv', 's/if (dv) {/if (0) {/'):
        spec = base | {'name': 'wrong', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 8}}
        suite.case('check/wrong_' + name, checked, suite, spec, spoil)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
