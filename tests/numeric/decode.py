#!/usr/bin/python3
"""Tests sequences that grow.

- The output of `extend` in random pieces is compared with definitions.py, and with other pieces.
- States are compared with lists of tokens.
- Damaged states are refused.
- All specs of specs/ whose queries see no later keys are tested, and more specs with a causal mask."""
import ctypes
import os
import re
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from answers import draw
from kernel import SANITIZED, Objects, Pages, Problem, State, best_target, compiled, with_report
from processor import missing_flags
from recurrence import recurrence
from suite import ROOT, WHOLE, Failure, Skip, Suite, check, compiler, execute

SPECS = os.path.join(ROOT, 'specs')
CAPACITY, SINGLE = 170, 10
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']
LATER_KEYS = 'under this mask a query may see keys after its own position'   # attnc does not decode it
ONE_TILE = 96   # chunks up to this number of keys are one tile
EFOLD, ESTATE, ECAPACITY, ELENGTH, EPROBLEM, EPOINTER, EPAGES, EALIGN = -15, -12, -13, -14, -1, -2, -18, -6


def library():
    """Yields the specs by name. Each spec has a mask that can be decoded."""
    for file in sorted(os.listdir(SPECS)):
        if not file.endswith('.yaml'):
            continue
        with open(os.path.join(SPECS, file)) as f:
            spec = yaml.safe_load(f)
        # Calls with elements for every pair of tokens cannot append tokens.
        if any('Nq' in a['shape'] and any(str(size).startswith('Nk') for size in a['shape']) for a in spec.get('arrays', {}).values()):
            continue
        # A call needs all keys, or all queries, so tokens cannot be appended.
        if 'project' in spec or 'dense' in str(spec['similarity']) or "'blocks'" in str(spec.get('mask')):
            continue
        if 'random' in str(spec.get('mask')):
            spec['mask']['any'][-1]['random']['causal'] = True
        spec['shape'] = {'head_dim': 16, 'value_dim': 24}
        if spec.get('block', 0) > 64:
            spec['block'] = 64
        if 'learned' in file:   # definitions.py takes a minute for large networks
            spec['similarity']['polysketch']['sketch'] = 8
        yield file[:-5], spec


OWN = {
    # The ring buffer moves. The dilated window has several periods.
    'ring': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': {'window': {'left': 37}},
             'shape': {'head_dim': 8, 'value_dim': 24}},
    'ring_dilated': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 9, 'dilation': 5}},
                     'shape': {'head_dim': 16}},
    'ring_blocks': {'similarity': 'softmax', 'shape': {'head_dim': 8}, 'dtype': 'f64',
                    'mask': {'all': ['causal', {'block_window': {'block': 24, 'left': 1}}]}},
    'sinks': {'similarity': {'polynomial': {'degree': 2}}, 'algorithm': 'quadratic', 'shape': {'head_dim': 8},
              'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]}},
    'sinks_rope': {'prepare': ['rope'], 'similarity': {'softmax': {'bias': 'alibi'}},
                   'mask': {'any': [{'all': [{'prefix': {'length': 5}}, 'causal']},
                                    {'all': [{'not': {'expr': 'j > i'}}, {'block_window': {'block': 16, 'left': 1}}]}]},
                   'shape': {'head_dim': 16, 'value_dim': 24}},
    'sinks_dilated': {'similarity': 'softmax', 'shape': {'head_dim': 8}, 'dtype': 'f64',
                      'mask': {'all': ['causal', {'any': [{'window': {'left': 9, 'dilation': 3}},
                                                          {'global': {'tokens': [0, 4, 20]}}]}]}},
    'sinks_only': {'similarity': 'softmax', 'shape': {'head_dim': 8}, 'dtype': 'f16',
                   'mask': {'all': ['causal', {'prefix': {'length': 70}}]}},
    'drawn': {'similarity': 'softmax', 'shape': {'head_dim': 8},
              'mask': {'all': ['causal', {'any': [{'block_window': {'block': 16}},
                                                  {'random': {'block': 16, 'count': 2, 'causal': True}}]}]}},
    'recent': {'prepare': ['rope'], 'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}},
               'mask': {'all': ['causal', {'block_window': {'block': 20, 'left': 2}}]}, 'algorithm': 'linear',
               'shape': {'head_dim': 16, 'value_dim': 24}},
    'window_carried': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'window': {'left': 50}},
                       'shape': {'head_dim': 8}},
    # The state waits for keys that the next queries do not see.
    'waits': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'expr': 'i - j >= 37'}, 'algorithm': 'linear',
              'shape': {'head_dim': 8, 'value_dim': 24}},
    'waits_documents': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'algorithm': 'linear', 'block': 16,
                        'mask': {'all': ['document', {'expr': 'j / 24 < i / 24'}]}, 'shape': {'head_dim': 16}},
    'waits_window': {'prepare': ['rope'], 'similarity': {'polynomial': {'degree': 2}}, 'algorithm': 'linear', 'dtype': 'f64',
                     'mask': {'expr': '9 <= i - j && i - j < 70'}, 'shape': {'head_dim': 4}},
    'window_sums': {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'algorithm': 'linear',
                    'mask': {'window': {'left': 44}}, 'shape': {'head_dim': 8, 'value_dim': 24}, 'dtype': 'bf16'},
    'carried_f64': {'prepare': ['rope'], 'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                    'algorithm': 'linear', 'shape': {'head_dim': 24, 'value_dim': 5}, 'dtype': 'f64'},
    'carried_rope': {'prepare': ['rope', 'layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 8,
                                                                                     'local': 'exact'}},
                     'block': 48, 'mask': 'causal', 'algorithm': 'linear', 'shape': {'head_dim': 16, 'value_dim': 13},
                     'dtype': 'bf16'},
    'carried_wide': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                     'shape': {'head_dim': 8, 'value_dim': 12}},
    'carried_documents': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'block': 16,
                          'mask': {'all': ['document', 'causal']}, 'algorithm': 'linear',
                          'shape': {'head_dim': 8, 'value_dim': 24}},
    # The best keys are chosen from those in the state.
    'best_keys': {'prepare': ['rope'], 'similarity': 'softmax', 'shape': {'head_dim': 16, 'value_dim': 24},
                  'arrays': {'a': {'shape': ['B', 'G', 'Nk']}, 'u': {'shape': ['B', 'Nq']}},
                  'mask': {'all': ['causal', {'top': {'count': 20, 'by': 'u[b][row] * a[b][g][j]'}}]}},
    'best_blocks': {'prepare': ['rope'], 'similarity': 'softmax', 'shape': {'head_dim': 16, 'value_dim': 24},
                    'mask': {'all': ['causal', {'top': {'count': 3, 'block': 16, 'by': 's'}}]}},
    # A sink is a logit without a key.
    'sink': {'similarity': 'softmax', 'normalize': {'sink': 'h * 2 - i * 0.05'}, 'mask': 'causal',
             'shape': {'head_dim': 16}},
    'sink_ring': {'similarity': 'softmax', 'normalize': {'sink': 1.5}, 'mask': {'window': {'left': 30}}, 'dtype': 'f64',
                  'shape': {'head_dim': 8}},
    'sink_learned': {'similarity': 'softmax', 'normalize': {'sink': 'sink[h]'}, 'mask': 'causal',
                     'arrays': {'sink': {'shape': ['H'], 'learned': True}}, 'shape': {'head_dim': 8}},
    'sink_linear': {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'mask': 'causal',
                    'normalize': {'sink': 'i * 0.03 - h'}, 'algorithm': 'linear', 'shape': {'head_dim': 8}},
    'padded': {'similarity': 'softmax', 'mask': {'all': ['causal', 'lengths']}, 'shape': {'head_dim': 8}},
    'padded_ring': {'prepare': ['rope'], 'similarity': {'softmax': {'bias': 'alibi'}}, 'dtype': 'bf16',
                    'mask': {'all': [{'window': {'left': 30}}, 'lengths']}, 'shape': {'head_dim': 16, 'value_dim': 24}},
    'padded_carried': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'block': 16, 'algorithm': 'linear',
                       'mask': {'all': ['causal', 'lengths']}, 'shape': {'head_dim': 8, 'value_dim': 24}},
    # The state stores prepared keys: all keys, or the first and the last ones.
    'prepared_rmsnorm': {'prepare': [{'rmsnorm': {'affine': True}}, {'rope': {'first': 2, 'dims': 4}}],
                         'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 8}},
    'prepared_rope': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': 'causal',
                      'shape': {'head_dim': 18, 'value_dim': 7}},
    'prepared_halves': {'prepare': ['l2norm', {'rope': {'pairs': 'halves', 'base': 500}}, {'scale': {'by': 3}}],
                        'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': 'causal', 'dtype': 'f64',
                        'shape': {'head_dim': 16, 'value_dim': 24}},
    'prepared_l2norm': {'prepare': ['l2norm'], 'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal',
                        'algorithm': 'quadratic', 'shape': {'head_dim': 8},
                        'schedule': [{'tile_q': 32}, {'from': 60, 'tile_k': 48}]},
    'prepared_sinks': {'prepare': [{'layernorm': {'affine': True}}, 'rope'], 'similarity': 'softmax',
                       'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                       'shape': {'head_dim': 24, 'value_dim': 5}},
    'prepared_linear': {'prepare': ['l2norm', 'rope'], 'similarity': {'linear': {'features': 'elu_plus_one'}},
                        'mask': {'expr': 'j <= i && (i - j < 40 || j % 7 == 0)'}, 'shape': {'head_dim': 8}},
    # The state stores rounded keys and values. Keys are rounded after they are prepared.
    'stored_ring': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': {'window': {'left': 37}}, 'storage': {'k': 'f16', 'v': 'bf16'},
                    'shape': {'head_dim': 16, 'value_dim': 24}},
    'stored_blocks': {'prepare': ['rmsnorm', 'rope'], 'similarity': 'softmax', 'mask': 'causal', 'storage': {'k': 'q8_0', 'v': 'q4_0'},
                      'shape': {'head_dim': 64, 'value_dim': 32}},
    'stored_bytes': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': 'causal', 'storage': {'k': 'i8', 'v': 'fp8'},
                     'shape': {'head_dim': 18, 'value_dim': 7}},
    'stored_sinks': {'prepare': [{'layernorm': {'affine': True}}, 'rope'], 'similarity': 'softmax', 'storage': {'k': 'i8_64', 'v': 'i8_32'},
                     'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                     'shape': {'head_dim': 64, 'value_dim': 32}},
    'stored_values': {'similarity': 'softmax', 'mask': 'causal', 'prepare': ['rope'], 'storage': {'k': 'q8_0'},
                      'shape': {'head_dim': 64, 'value_dim': 32, 'values': 'keys'}},
    # Values are keys. The state stores them once, or twice if keys are prepared.
    'values': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 24, 'value_dim': 16, 'values': 'keys'}},
    'values_prepared': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': 'causal',
                        'shape': {'head_dim': 18, 'value_dim': 7, 'values': 'keys'}},
    'values_ring': {'prepare': [{'layernorm': {'affine': True}}, 'rope'], 'similarity': 'softmax',
                    'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                    'shape': {'head_dim': 24, 'value_dim': 5, 'values': 'keys'}},
    'values_bf16': {'similarity': 'softmax', 'mask': {'window': {'left': 37}}, 'dtype': 'bf16',
                    'shape': {'head_dim': 33, 'value_dim': 32, 'values': 'keys'}},
    'values_carried': {'prepare': ['rope'], 'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                       'algorithm': 'linear', 'shape': {'head_dim': 24, 'value_dim': 5, 'values': 'keys'},
                       'dtype': 'f64'},
    'values_heads': {'similarity': 'softmax', 'mask': 'causal',
                     'shape': {'head_dim': 24, 'value_dim': 16, 'values': 'keys'}},
    'values_heads_prepared': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': {'window': {'left': 37}},
                              'shape': {'head_dim': 16, 'value_dim': 7, 'values': 'keys'}},
    # Decoding ignores dropout.
    'dropout': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.4, 'shape': {'head_dim': 8}},
    'dropout_prepared': {'prepare': ['rope'], 'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': 'causal',
                         'dropout': 0.4, 'seed': 3, 'shape': {'head_dim': 8, 'value_dim': 5}},
    'dropout_ring': {'prepare': ['l2norm'], 'similarity': 'softmax', 'dtype': 'f16', 'dropout': 0.9,
                     'mask': {'window': {'left': 30}}, 'shape': {'head_dim': 8}},
    'dropout_features': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'dropout': 0.2,
                         'shape': {'head_dim': 8}, 'dtype': 'f64'},
    'unprepared_f16': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f16',
                       'shape': {'head_dim': 16}},
    'prepared_angle': {'prepare': [{'rope': {'angle': '(t < 2 ? i / 8 : i % 8 + b) * pow(100, -(t % 2) / 2.0)'}}],
                       'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 8}},
    'carried_angle': {'prepare': [{'rope': {'pairs': 'halves', 'angle': '(i + 5 * b) * pow(D, -t / 4.0)'}}],
                      'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                      'shape': {'head_dim': 8}},
    'delta': {'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none',
              'mask': 'causal', 'delta': {'rate': '0.5 + 0.01 * (t % 7 + h)'}, 'shape': {'head_dim': 8, 'value_dim': 5}},
    'delta_decay': {'prepare': ['l2norm', 'rope'], 'similarity': {'custom': {'weight': 's * exp(-0.1 * (i - j))'}},
                    'normalize': 'none', 'mask': 'causal', 'delta': {'rate': 0.5}, 'block': 24,
                    'shape': {'head_dim': 8}, 'dtype': 'f64'},
    # Decays by token, in every kind of state: constant states, all keys, a ring, sinks, prepared keys. The decay is
    # for each head or element. The state may keep its array.
    'decay': {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal',
              'algorithm': 'linear', 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'block': 8,
              'decay': {'log': 'gate[b][h][t] * (1 + t % 3)'}, 'shape': {'head_dim': 8, 'value_dim': 24}},
    'decay_elements': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                       'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}, 'dtype': 'bf16',
                       'decay': {'log': 'gate[b][h][t][d]'}, 'shape': {'head_dim': 4, 'value_dim': 5}},
    'decay_shared': {'prepare': ['l2norm'], 'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * exp(gate[b][j])'}},
                     'mask': 'causal', 'algorithm': 'linear', 'dtype': 'f64', 'decay': {'log': 'gate[b][t] - tau[h] * tau[h]'},
                     'arrays': {'gate': {'shape': ['B', 'Nk']}, 'tau': {'shape': ['H']}}, 'shape': {'head_dim': 4}},
    'decay_constant': {'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear',
                       'decay': {'log': '-0.02 * (h + 1) - 0.01 * (t % 5)'}, 'shape': {'head_dim': 8}},
    'decay_softmax': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': 'causal', 'decay': {'log': 'gate[b][h][t]'},
                      'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'shape': {'head_dim': 16, 'value_dim': 24}},
    'decay_few': {'similarity': {'softmax': {'cap': 9}}, 'mask': 'causal', 'dtype': 'bf16',
                  'decay': {'log': 'far[b][t] + near[h] * 0.01'}, 'shape': {'head_dim': 8},
                  'arrays': {'far': {'shape': ['B', 'Nk']}, 'near': {'shape': ['H']}}},
    'decay_ring': {'similarity': 'softmax', 'mask': {'window': {'left': 37}}, 'shape': {'head_dim': 8},
                   'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}},
    'decay_ring_elements': {'similarity': 'softmax', 'mask': {'window': {'left': 20}}, 'shape': {'head_dim': 2},
                            'decay': {'log': 'gate[b][h][t] * (1 + d)'}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}},
    'decay_sinks': {'prepare': ['rope'], 'similarity': 'softmax', 'decay': {'log': 'gate[b][h][t] * 0.1'},
                    'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                    'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'shape': {'head_dim': 16, 'value_dim': 24}},
    'decay_sinks_only': {'similarity': 'softmax', 'decay': {'log': '-0.01'}, 'dtype': 'f64', 'shape': {'head_dim': 8},
                         'mask': {'all': ['causal', {'prefix': {'length': 70}}]}},
    'delta_gates': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'normalize': 'none', 'mask': 'causal',
                    'prepare': ['l2norm'], 'delta': {'rate': '0.1 / (1 + exp(-beta[b][t] - gate[b][h][t]))'},
                    'decay': {'log': 'gate[b][h][t]'}, 'block': 16, 'shape': {'head_dim': 8, 'value_dim': 5},
                    'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}, 'beta': {'shape': ['B', 'Nk']}}},
    'delta_divided': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                      'delta': {'rate': 'beta[b][t]', 'normalize': 'sum'}, 'arrays': {'beta': {'shape': ['B', 'Nk']}},
                      'shape': {'head_dim': 8, 'value_dim': 5}},
    'delta_divided_rows': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'all': ['causal', 'document']},
                           'delta': {'rate': 0.3, 'normalize': 'sum', 'erase': 'x', 'write': 'y'}, 'algorithm': 'linear',
                           'decay': {'log': '-0.05 * (h + 1)'}, 'dtype': 'f64', 'shape': {'head_dim': 8},
                           'arrays': {'x': {'shape': ['B', 'H', 'Nk', 'D']}, 'y': {'shape': ['B', 'H', 'Nk', 'D']}}},
    # Sequences of a batch see different keys, or have different weights.
    'batch': {'similarity': {'softmax': {'modify': 's * (1 + 0.25 * b) + 0.1 * B * cos(i - j)'}},
              'mask': {'expr': 'j <= i && (b >= 1 || i - j < 23)'}, 'shape': {'head_dim': 8}},
    'batch_ring': {'prepare': ['rope'], 'similarity': 'softmax', 'shape': {'head_dim': 8},
                   'mask': {'expr': 'j <= i && i - j < (b % 2 == 0 ? 9 : 31)'}},
    # arrays with rows of keys or of queries, in every kind of state
    'rows': {'similarity': {'softmax': {'modify': 's + far[h][j] + near[b][j] * tau[b][h]'}}, 'mask': 'causal',
             'arrays': {'far': {'shape': ['H', 'Nk']}, 'near': {'shape': ['B', 'Nk']}, 'tau': {'shape': ['B', 'H']}},
             'shape': {'head_dim': 8}},
    'rows_of_sequences': {'prepare': ['rope'], 'similarity': {'softmax': {'modify': 's * gate[b][h][i] + far[b][g][j][1]'}},
                          'mask': 'causal', 'dtype': 'bf16', 'shape': {'head_dim': 16, 'value_dim': 24},
                          'arrays': {'far': {'shape': ['B', 'G', 'Nk', 3]}, 'gate': {'shape': ['B', 'H', 'Nk']}}},
    'rows_ring': {'similarity': {'softmax': {'modify': 's + far[h][j] * own[b][row] + gate[b][i]'}},
                  'mask': {'window': {'left': 37}}, 'shape': {'head_dim': 8, 'value_dim': 24},
                  'arrays': {'far': {'shape': ['H', 'Nk']}, 'own': {'shape': ['B', 'Nq']}, 'gate': {'shape': ['B', 'Nk']}}},
    'rows_sinks': {'prepare': ['rope'], 'similarity': {'softmax': {'modify': 's * own[b][h][row] + far[b][h][j] * far[b][h][i]'}},
                   'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                   'arrays': {'far': {'shape': ['B', 'H', 'Nk']}, 'own': {'shape': ['B', 'H', 'Nq']}},
                   'shape': {'head_dim': 16, 'values': 'keys'}},
    'rows_sinks_quadratic': {'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * exp(far[j] / 2 - far[i] / 3)'}},
                             'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]},
                             'arrays': {'far': {'shape': ['Nk']}}, 'algorithm': 'quadratic', 'dtype': 'f64',
                             'shape': {'head_dim': 8, 'value_dim': 5}},
    'rows_carried': {'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * exp(far[b][h][j] / 2) * (3 + tanh(own[b][row] + far[b][h][i]))'}},
                     'arrays': {'far': {'shape': ['B', 'H', 'Nk']}, 'own': {'shape': ['B', 'Nq']}}, 'mask': 'causal',
                     'algorithm': 'linear', 'shape': {'head_dim': 4, 'value_dim': 24}},
    'rows_carried_shared': {'prepare': ['rope'], 'similarity': {'custom': {'weight': 's * s * (2 + tanh(far[h][j] * near[j][0])) + near[i][1] * near[i][1]'}},
                            'arrays': {'far': {'shape': ['H', 'Nk']}, 'near': {'shape': ['Nk', 2]}}, 'mask': 'causal',
                            'algorithm': 'linear', 'shape': {'head_dim': 4}, 'dtype': 'f64'},
    # integers and truth values for each key or query, in every kind of state
    'rows_integers': {'similarity': {'softmax': {'modify': 's + table[h][kind[b][h][j]] + own[b][row] % 3'}},
                      'mask': {'all': ['causal', {'expr': 'seen[g][j] || ids[b][i] == ids[b][j]'}]},
                      'arrays': {'table': {'shape': ['H', 6]}, 'kind': {'shape': ['B', 'H', 'Nk'], 'type': 'int'},
                                 'own': {'shape': ['B', 'Nq'], 'type': 'int'}, 'ids': {'shape': ['B', 'Nk'], 'type': 'int'},
                                 'seen': {'shape': ['G', 'Nk'], 'type': 'bool'}}, 'shape': {'head_dim': 8}},
    # sequences that share the tiles that a thread keeps, with different lengths
    'kept_tiles': {'similarity': {'softmax': {'modify': 's + table[h][(i * 3 + j) % 7]'}}, 'mask': 'causal',
                   'arrays': {'table': {'shape': ['H', 7]}}, 'shape': {'head_dim': 8}},
    'rows_integers_ring': {'prepare': ['rope'], 'similarity': {'softmax': {'modify': 's + (kind[b][j][1] - kind[b][i][0]) % 3'}},
                           'mask': {'all': [{'window': {'left': 30}}, {'expr': 'ids[b][i] == ids[b][j]'}]},
                           'arrays': {'kind': {'shape': ['B', 'Nk', 2], 'type': 'int'}, 'ids': {'shape': ['B', 'Nk'], 'type': 'int'}},
                           'shape': {'head_dim': 8}},
    'rows_integers_sinks': {'similarity': 'softmax', 'arrays': {'ids': {'shape': ['B', 'H', 'Nk'], 'type': 'int'}},
                            'mask': {'all': ['causal', {'any': [{'window': {'left': 20}}, {'prefix': {'length': 3}}]},
                                             {'expr': 'ids[b][h][j] % 3 != ids[b][h][i] % 4'}]}, 'shape': {'head_dim': 8}},
    'rows_integers_carried': {'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + kind[h][j] % 3)'}}, 'mask': 'causal',
                              'arrays': {'kind': {'shape': ['H', 'Nk'], 'type': 'int'}}, 'algorithm': 'linear', 'shape': {'head_dim': 8}},
    'rows_ids_carried': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'block': 16, 'algorithm': 'linear',
                         'mask': {'all': ['causal', {'expr': 'ids[b][i] == ids[b][j]'}]},
                         'arrays': {'ids': {'shape': ['B', 'Nk'], 'type': 'int'}}, 'shape': {'head_dim': 8}},
    # positions that a call gives, for the angles of rotations
    'rows_angle': {'prepare': [{'rope': {'pairs': 'halves', 'angle': 'place[b][i][t % 3] * waves[t]'}}], 'mask': 'causal',
                   'similarity': 'softmax', 'shape': {'head_dim': 8},
                   'arrays': {'place': {'shape': ['B', 'Nk', 3], 'type': 'int'}, 'waves': {'shape': [4]}}},
    'rows_angle_ring': {'prepare': ['rmsnorm', {'rope': {'angle': 'place[b][i] * pow(100, -t / 4.0) + ids[i] % 2'}}],
                        'similarity': 'softmax', 'mask': {'window': {'left': 37}}, 'shape': {'head_dim': 8, 'values': 'keys'},
                        'arrays': {'place': {'shape': ['B', 'Nk']}, 'ids': {'shape': ['Nk'], 'type': 'int'}}},
    'rows_angle_bf16': {'prepare': [{'rope': {'angle': 'place[b][i] * pow(100, -t / 4.0)'}}], 'mask': 'causal',
                        'similarity': 'softmax', 'dtype': 'bf16', 'shape': {'head_dim': 8},
                        'arrays': {'place': {'shape': ['B', 'Nk'], 'type': 'int'}}},
    'rows_angle_carried': {'prepare': ['l2norm', {'rope': {'angle': 'place[b][i] * waves[t]'}}], 'algorithm': 'linear',
                           'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                           'arrays': {'place': {'shape': ['B', 'Nk'], 'type': 'int'}, 'waves': {'shape': [4]}},
                           'shape': {'head_dim': 8}},
    'rows_sink': {'similarity': 'softmax', 'normalize': {'sink': 'sink[b][h][row] + far[b][i]'}, 'mask': 'causal',
                  'arrays': {'sink': {'shape': ['B', 'H', 'Nq']}, 'far': {'shape': ['B', 'Nk']}}, 'shape': {'head_dim': 8}},
    'rows_heads': {'similarity': {'softmax': {'modify': 's + far[b][j] + gate[b][g][j]'}}, 'mask': 'causal',
                   'arrays': {'far': {'shape': ['B', 'Nk']}, 'gate': {'shape': ['B', 'G', 'Nk']}},
                   'shape': {'head_dim': 24, 'value_dim': 16, 'values': 'keys'}},
    'batch_carried': {'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * (1 + b + B) * (2 + cos(i * 0.1 + b)) * (1 + j % 3)'}},
                      'mask': 'causal', 'algorithm': 'linear', 'shape': {'head_dim': 4}},
    'of_s': {'prepare': ['rope'], 'similarity': {'softmax': {'modify': 's > 0 ? sigmoid(s) : trunc(s)'}}, 'shape': {'head_dim': 8},
             'mask': {'all': [{'window': {'left': 30}}, {'expr': 's > -0.5 || (i & 7) == (j & 7)'}]}},
    'of_s_all': {'similarity': {'custom': {'weight': 'exp(s) * (1 + s * s)'}}, 'mask': {'all': ['causal', {'expr': 's > 0'}]},
                 'shape': {'head_dim': 8}},
    # Heads see different keys. Some masks use the operator %.
    'heads': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && (h >= 1 || i - j < 23)'}, 'shape': {'head_dim': 8}},
    'heads_ring': {'prepare': ['rope'], 'similarity': 'softmax', 'shape': {'head_dim': 8},
                   'mask': {'expr': 'j <= i && i - j < (h % 2 == 0 ? 9 : 31)'}},
    'congruent': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && i % 16 == j % 16'}, 'shape': {'head_dim': 8}},
    'near': {'similarity': 'softmax', 'shape': {'head_dim': 8},
             'mask': {'expr': 'j <= i && i / 32 - j / 32 <= 1 && i % 32 - j % 32 <= 2 && j % 32 - i % 32 <= 2'}},
    'expression': {'similarity': {'custom': {'weight': '(1 + s) * (1 + s)'}}, 'shape': {'head_dim': 4},
                   'mask': {'expr': 'j <= i && (i - j < 40 || j % 7 == 0)'}},
}


# Sequences that exceed the capacity of a state.
LONG = dict.fromkeys(['ring', 'ring_dilated', 'heads', 'heads_ring', 'near', 'sinks', 'sinks_rope', 'sinks_dilated', 'sinks_only',
                      'prepared_sinks', 'values_ring', 'values_bf16', 'rows_ring', 'rows_sinks',
                      'rows_sinks_quadratic', 'decay_ring', 'decay_sinks', 'decay_sinks_only'], 420)
# The prefix sums of a decay with `d` begin again after 512 tokens.
LONG |= {'decay_elements': 1050, 'decay_ring_elements': 550, 'gates_of_elements': 700}
# The states of these specs keep all keys, and can go back to any length.
EVERY = ['prepared_rope', 'values', 'rows_of_sequences', 'decay_softmax']
# Specs whose state keeps the first and the last keys. Each value is (number of first keys, number of keys before a
# query).
SINKS = {'sinks': (3, 30), 'sinks_rope': (5, 31), 'sinks_dilated': (21, 27), 'sinks_only': (70, 0)}

# Specs whose states can be joined. The flags are: whether keys may get other positions, and whether they may get
# another order.
SMALL = {'head_dim': 8, 'value_dim': 12}
FOLDED = {
    'sums': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
              'shape': SMALL}, True, True),
    'maxima': ({'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'mask': 'causal',
                'algorithm': 'linear', 'shape': {'head_dim': 8}}, True, True),
    'decay': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * pow(1 - pow(2, -5 - h), i - j)'}},
               'mask': 'causal', 'algorithm': 'linear', 'shape': SMALL, 'dtype': 'f64'}, True, False),
    'rope': ({'prepare': ['rope'], 'similarity': {'custom': {'weight': 's * pow(1 - pow(2, -3 - h), i - j)'}},
              'normalize': 'none', 'mask': 'causal', 'algorithm': 'linear', 'shape': {'head_dim': 8}}, False, False),
    'rows': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + tanh(far[h][j] + near[b][j]))'}},
              'mask': 'causal', 'algorithm': 'linear', 'shape': {'head_dim': 4, 'value_dim': 12},
              'arrays': {'far': {'shape': ['H', 'Nk']}, 'near': {'shape': ['B', 'Nk']}}}, True, True),
    'gates': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
               'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'shape': SMALL}, False, False),
    'gates_of_elements': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'algorithm': 'linear',
                           'decay': {'log': 'gate[b][h][t][d]'}, 'shape': {'head_dim': 2, 'value_dim': 3}, 'dtype': 'f64',
                           'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}}, False, False),
    'gates_placed': ({'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear',
                      'decay': {'log': '-0.02 * (t % 3)'}, 'shape': SMALL}, False, False),
    'delta': ({'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none',
               'mask': 'causal', 'delta': {'rate': '0.1 + rate[b][h][t] * rate[b][h][t] * 0.1'},
               'arrays': {'rate': {'shape': ['B', 'H', 'Nk']}}, 'shape': SMALL}, True, False),
    'delta_sum': ({'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                   'delta': {'rate': 0.05}, 'shape': SMALL}, True, False),
    'delta_sketch': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, 'block': 24,
                      'prepare': ['l2norm'], 'mask': 'causal', 'delta': {'rate': 0.05}, 'shape': SMALL}, False, False),
    'delta_fixed': ({'prepare': ['l2norm', 'rope'], 'similarity': {'custom': {'weight': 's * exp(-0.05 * (i - j))'}},
                     'normalize': 'none', 'mask': 'causal', 'delta': {'rate': 0.7}, 'shape': SMALL}, False, False),
    'delta_gates': ({'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                     'decay': {'log': '-gate[b][h][t] * gate[b][h][t] * 0.02'}, 'delta': {'rate': 0.1}, 'dtype': 'f64',
                     'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'shape': SMALL}, False, False),
    'delta_bf16': ({'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal',
                    'decay': {'log': '-gate[b][h][t] * gate[b][h][t] * 0.02'}, 'delta': {'rate': 0.6}, 'dtype': 'bf16',
                    'normalize': 'none', 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'shape': SMALL}, False, False),
    'delta_elements': ({'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal',
                        'decay': {'log': '-gate[b][h][t][d] * gate[b][h][t][d] * 0.02'}, 'delta': {'rate': 0.6},
                        'normalize': 'none', 'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}, 'shape': SMALL}, False, False),
    'local': ({'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear', 'shape': {'head_dim': 8}},
              True, True),
}


def sizes_of(x, arrays):
    """Returns the output for |v|."""
    spec, values = definitions.values_apart(x.spec, arrays['k'], arrays['v'])
    return definitions.attend(spec, dict(arrays), arrays['q'], arrays['k'], np.abs(values))


def cases():
    for name, spec in library():
        yield name, spec
    yield from OWN.items()


class Grown:
    """A kernel, and a batch of sequences of different lengths."""

    def __init__(self, suite, folder, name, spec, level='-O0', n=CAPACITY, target=best_target()):
        self.spec, self.folder = {'dtype': 'f32'} | dict(spec, emit=['forward', 'decode']), folder
        if self.spec.get('mask', 'none') == 'none':
            self.spec['mask'] = 'causal'
        path = os.path.join(folder, name + '.yaml')
        self.write(path)
        try:
            self.kernel = compiled(suite, path, folder, target, level, compiler('clang'))
        except Failure as failure:
            if LATER_KEYS not in str(failure): raise
            self.spec['mask'] = {'all': ['causal', self.spec['mask']]}
            self.write(path)
            self.kernel = compiled(suite, path, folder, target, level, compiler('clang'))
        self.spec = definitions.load(path)
        with open(path[:-5] + '.c') as f:
            chunk = re.search(r'[.]chunk = (\d+)', f.read())
        # If a chunk is one tile, an output row always adds the same numbers in the same order. In other forms, the
        # order depends on the tile, and so it does at the edges of a window.
        self.cut_alike = chunk and int(chunk.group(1)) <= ONE_TILE and 'window' not in name and 'i - j <' not in str(spec)
        rng = self.rng = np.random.default_rng(sum(map(ord, name)))
        self.heads = (4, 2) if rng.random() < 0.5 else (3, 3)
        if name == 'retention':
            self.heads = (4, 2)
        if 'delta' in self.spec:
            self.heads = (3, 3)
        if name.startswith(('values_heads', 'rows_heads')):   # many heads take the place of queries
            self.heads = (33, 1)
        self.batch, self.n = 2, n
        undropped = {key: value for key, value in self.spec.items() if key not in ('dropout', 'seed')} | {'appended': True}
        self.answer = draw(undropped, os.path.join(folder, 'data'), (*self.heads, n, n, self.batch), 1)
        arrays = dict(self.answer.arrays)
        # Dot products of bf16 pairs round the weights.
        self.beside = 2.0 ** -8 * self.answer.scale if self.spec['dtype'] == 'bf16' and not chunk else 0.0
        self.q, self.k, self.v = (arrays.pop(x) for x in 'qkv')
        self.P = arrays
        # For each array with rows of tokens: whether each sequence has its own rows, and the axis of the rows.
        shapes = {name: a['shape'] for name, a in self.spec.get('arrays', {}).items()}
        self.of_tokens = {name: ('B' in shape, next(n for n, x in enumerate(shape) if x in ('Nk', 'Nq')))
                          for name, shape in shapes.items() if 'Nk' in shape or 'Nq' in shape}
        if 'document' in self.P: self.of_tokens['document'] = True, 1
        self.packs = True   # some calls have the tokens of all sequences in one row of memory
        self.shares_rows = not all(batch for batch, _ in self.of_tokens.values())

    def rows(self, n, tokens):
        """Returns the rows of a call with up to n tokens per sequence. They are rows tokens[b] of the whole arrays,
        and NaN elsewhere, or 77 in arrays of integers."""
        made = {}
        for name, (batch, axis) in self.of_tokens.items():
            x = self.P[name]
            other = dict(fill_value=77, dtype=x.dtype) if x.dtype.kind in 'iub' else dict(fill_value=np.nan)
            made[name] = np.full(x.shape[:axis] + (n,) + x.shape[axis + 1:], **other)
            for b, numbers in enumerate(tokens):
                to, of = (made[name][b], x[b]) if batch else (made[name], x)
                if len(numbers):
                    to[(slice(None),) * (axis - batch) + (slice(len(numbers)),)] = of.take(numbers, axis - batch)
        return made

    def in_one_row(self, state, out, at, lengths):
        """Appends the next tokens of all sequences, which are in one row of memory."""
        ends = 1 + np.cumsum([0, *lengths])   # the row before the first token is not used
        given = [np.full((1, x.shape[1], ends[-1] + 2, x.shape[3]), np.nan) for x in (self.q, self.k, self.v)]
        rows = self.rows(ends[-1] + 2, [[]] * self.batch)
        for name, (batch, _) in self.of_tokens.items():   # one row for all sequences
            if batch: rows[name] = np.broadcast_to(rows[name][:1].copy(), rows[name].shape)
        for b, m in enumerate(lengths):
            numbers, here = slice(at[b], at[b] + m), slice(ends[b], ends[b] + m)
            for to, x in zip(given, (self.q, self.k, self.v)): to[0, :, here] = x[b, :, numbers]
            for name, (batch, axis) in self.of_tokens.items():
                before = (slice(None),) * (axis - batch)
                to, of = rows[name], self.P[name]
                if batch: to, of = to[0], of[b]
                to.flags.writeable = True
                to[*before, here] = of[*before, numbers]
        made = state.extend(*given, rows=rows, ends=ends)
        check(np.isnan(made[0, :, :1]).all() and np.isnan(made[0, :, ends[-1]:]).all(), 'other rows were written')
        for b, m in enumerate(lengths): out[b, :, at[b]:at[b] + m] = made[0, :, ends[b]:ends[b] + m]

    def write(self, path):
        with open(path, 'w') as f:
            yaml.safe_dump(self.spec, f, sort_keys=False)

    def has_pages(self):
        """Returns whether the rows of a state may be in pages."""
        problem = Problem(self.batch, *self.heads)
        return Pages(problem, self.kernel.about.page, 1, 16, 1).bytes > 0

    def state(self, **more):
        return State(self.kernel, self.P, self.batch, *self.heads, capacity=self.n, **more)

    def grow(self, state, out, upto, sizes):
        """Calls extend until every sequence has the length in `upto`. Rows after a call's tokens must not be used."""
        at = np.array([state.length(b) for b in range(self.batch)])
        while (at < upto).any():
            lengths = np.minimum([next(sizes) for _ in at], np.subtract(upto, at))
            if self.packs and self.rng.random() < 0.4:
                self.in_one_row(state, out, at, lengths)
                at = at + lengths
                continue
            if self.shares_rows:   # each call extends only one sequence
                lengths *= np.arange(self.batch) == np.argmax((at < upto) * self.rng.random(self.batch))
            n = int(lengths.max()) + int(self.rng.integers(3))
            given = [np.full(x.shape[:2] + (n,) + x.shape[3:], np.nan) for x in (self.q, self.k, self.v)]
            for b, m in enumerate(lengths):
                for to, x in zip(given, (self.q, self.k, self.v)):
                    to[b, :, :m] = x[b, :, at[b]:at[b] + m]
            tokens = [range(at[b], at[b] + m) for b, m in enumerate(lengths)]
            made = state.extend(*given, lengths, rows=self.rows(n, tokens))
            for b, m in enumerate(lengths):
                check(np.isnan(made[b, :, m:]).all(), 'rows beyond those of a call were written')
                out[b, :, at[b]:at[b] + m] = made[b, :, :m]
            at = at + lengths
            check([state.length(b) for b in range(self.batch)] == list(at), 'a length is not what was added')

    def cut(self, sizes, **more):
        out = np.full(self.answer.expected.shape, np.nan)
        self.grow(self.state(**more), out, [self.n] * self.batch, sizes)
        return out


def some_sizes(rng):
    while True:
        yield int(rng.choice([0, 1, 1, 2, 5, int(rng.integers(1, 201))]))


def always(n):
    while True:
        yield n


def grows(folder, suite, name, spec, target=best_target()):
    """Extends states by random pieces, long ones and single tokens, on one thread and on three."""
    if missing_flags(target):
        raise Skip('the processor has no ' + missing_flags(target))
    x = Grown(suite, folder, name, spec, n=LONG.get(name, CAPACITY), target=target)
    made = []
    for threads in 1, 3:
        x.rng = np.random.default_rng(7)
        made.append(x.cut(some_sizes(np.random.default_rng(len(name))), threads=threads))
    check(np.array_equal(*made), 'other bits on three threads')
    paged = x.has_pages()
    if paged:
        tokens = (16, 40, 64, 256)[len(name) % 4]
        x.rng = np.random.default_rng(7)
        out = x.cut(some_sizes(np.random.default_rng(len(name))), threads=2, pages=tokens)
        if x.n == CAPACITY: check(np.array_equal(made[0], out), 'other bits with pages of %d tokens' % tokens)
        wrong, _, _ = x.answer.judge(out, 2, x.beside)
        check(not wrong, 'in pages of %d tokens: %s' % (tokens, wrong))
    wrong, part, _ = x.answer.judge(made[0], 2, x.beside)
    check(not wrong, 'cut at random: ' + wrong)
    other, state = np.full(made[0].shape, np.nan), x.state(threads=1)
    x.grow(state, other, [3] * x.batch, always(3))
    x.grow(state, other, [x.n - SINGLE] * x.batch, always(x.n))
    x.grow(state, other, [x.n] * x.batch, always(1))
    wrong, _, _ = x.answer.judge(other, 2, x.beside)
    check(not wrong, 'in a long call and token by token: ' + wrong)
    same = np.array_equal(made[0], other)
    check(same or not x.cut_alike, 'other bits where the sequence is cut otherwise')
    return 'error %.2g of what is allowed%s%s' % (part, ', the same bits for both cuts' if same else '',
                                                  ', in pages' if paged else '')


def million(folder, suite, name):
    """Compares a million tokens, with gates near 1 and near 0, with a recurrence in float64."""
    n, d, e, piece = 1 << 20, 4, 3, 40000
    x = Grown(suite, folder, name, MILLION[name], n=8)
    rng = np.random.default_rng(1)
    wide = MILLION[name]['decay']['log'].endswith('[d]')
    state, sums = State(x.kernel, {}, 1, 1, 1, threads=2), np.zeros((1, d, e))
    worst = 0.0
    for at in range(0, n, piece):
        m = min(piece, n - at)
        q, k, v = (rng.standard_normal((1, 1, m, size)).astype(np.float32) for size in (d, d, e))
        gate = -np.exp(rng.uniform(-14, -7, (1, 1, m) + (d,) * wide)).astype(np.float32)
        gate[rng.random(gate.shape) < 1e-4] = -30
        rows = {'gate': gate}
        if 'delta' in MILLION[name]: rows['rate'] = rng.random((1, 1, m)).astype(np.float32)
        out = np.concatenate([state.extend(*(a[:, :, b:b + size] for a in (q, k, v)), None,
                                           rows={word: a[:, :, b:b + size] for word, a in rows.items()})
                              for b, size in ((0, m - 9), *((m - 9 + t, 1) for t in range(9)))], 2)
        queries, keys, values, kept = (y[0].astype(float) for y in (q, k, v, np.exp(gate.astype(float))))
        if 'delta' in MILLION[name]: queries, keys = (y / np.linalg.norm(y, axis=-1, keepdims=True) for y in (queries, keys))
        rate = rows['rate'][0].astype(float) if 'delta' in MILLION[name] else None
        wanted, sizes, sums = recurrence(queries, keys, values, kept if wide else kept[..., None], rate, sums)
        worst = max(worst, float((np.abs(out[0] - wanted).max(-1) / sizes.max(-1)).max()))
    check(worst < 1e-5, 'off by %.2g of the scale of a row' % worst)
    return 'error %.2g of the scale of a row' % worst


MILLION = {
    'decay': {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal',
              'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'decay': {'log': 'gate[b][h][t]'}, 'algorithm': 'linear',
              'shape': {'head_dim': 4, 'value_dim': 3}},
    'elements': {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal',
                 'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}, 'decay': {'log': 'gate[b][h][t][d]'},
                 'algorithm': 'linear', 'shape': {'head_dim': 4, 'value_dim': 3}},
    'delta': {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal', 'prepare': ['l2norm'],
              'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}, 'rate': {'shape': ['B', 'H', 'Nk']}},
              'decay': {'log': 'gate[b][h][t]'}, 'delta': {'rate': 'rate[b][h][t]'},
              'shape': {'head_dim': 4, 'value_dim': 3}},
}


class Tokens:
    """A state, and the numbers of the tokens that it should have."""

    def __init__(self, x, rewind):
        self.x, self.state = x, x.state(threads=1, rewind=rewind, foldable='delta' in x.spec)
        self.tokens = [[] for _ in range(x.batch)]
        self.longest = [0] * x.batch

    def rows(self, numbers):
        """Returns the rows of q, k and v with these token numbers."""
        return [x[0][:, numbers] for x in (self.x.q, self.x.k, self.x.v)]


def edges(folder, suite, name):
    """A state that keeps only the first and the last keys has a fixed size. Sequences of lengths around its limits
    can be extended."""
    first, back = SINKS[name]
    x = Grown(suite, folder, name, OWN[name], n=LONG[name])
    with open(os.path.join(folder, name + '.h')) as f:
        rows = int(re.search(r'at most (\d+)\s+tokens', f.read()).group(1))
    check(first + back < rows < x.n, 'room for %d tokens' % rows)
    sizes = {State(x.kernel, x.P, x.batch, *x.heads, capacity=n).bytes for n in (0, x.n, 100 * x.n)}
    token = (x.q.shape[-1] + x.v.shape[-1]) * {'f64': 8, 'f32': 4, 'f16': 2}[x.spec['dtype']]
    check(len(sizes) == 1 and 0 <= sizes.pop() - rows * token * x.batch * x.heads[1] < 1024, 'bytes of a state')
    allowed, worst = 2e-3 if x.spec['dtype'] == 'f16' else 2e-5, 0.0
    for length in sorted({n + d for n in (first, back, first + back, rows) for d in (-1, 0, 1, 2)}):
        if length < 1:
            continue
        state, out = x.state(threads=1), np.full(x.answer.expected.shape, np.nan)
        x.grow(state, out, [length, length - 1], always(length))
        for b, gone in enumerate((2, 1)):   # removes some tokens, so that others can take their place
            to = max(length - gone, state.min_length(b))
            if to <= state.length(b):
                check(state.truncate(b, to) == 0, 'truncate to %d of %d failed' % (to, length))
        x.grow(state, out, [length + 3] * x.batch, always(1))
        x.grow(state, out, [length + 60] * x.batch, always(57))
        off = np.abs(out - x.answer.expected)[:, :, :length + 60].max() / np.abs(x.answer.expected).max()
        check(off < allowed, 'at %d tokens off by %.2g' % (length, off))
        worst = max(worst, float(off))
    return 'error %.2g' % worst


def models(folder, suite, name, operations, rewind=0):
    """Runs random operations: appends tokens, copies sequences within a state and to another state, saves and loads
    states, and truncates sequences. Appended tokens must give the rows that forward gives for the whole list.
    Some rows are compared."""
    if not WHOLE: operations = min(operations, 110)
    x = Grown(suite, folder, name, OWN[name], n=LONG.get(name, CAPACITY))
    rng = np.random.default_rng(3)
    states = [Tokens(x, rewind), Tokens(x, rewind)]
    compared = refused = 0
    worst = 0.0
    for step in range(operations):
        s, b = states[rng.integers(2)], int(rng.integers(x.batch))
        state, tokens = s.state, s.tokens[b]
        what = rng.choice(['extend', 'extend', 'extend', 'copy', 'truncate'])
        if what == 'copy' and rng.random() < 0.2:
            other = states[states[0] is s]
            other.state.block[:] = np.frombuffer(state.block.tobytes(), np.uint8)
            other.tokens, other.longest = [list(t) for t in s.tokens], list(s.longest)
            continue
        if what == 'copy':
            other, to = states[rng.integers(2)], int(rng.integers(x.batch))
            check(other.state.copy(to, state, b) == 0, 'copy failed')
            other.tokens[to], other.longest[to] = list(tokens), s.longest[b]
        elif what == 'truncate':
            length = int(rng.integers(max(0, len(tokens) - 2 * rewind - 40) if rewind else 0, len(tokens) + 2))
            if name in LONG:   # about as far as the state can go back
                length = int(np.clip(state.min_length(b) + rng.integers(-3, 4), 0, len(tokens) + 1))
            may = length == 0 or state.min_length(b) <= length <= len(tokens)
            error = state.truncate(b, length)
            check(error == (0 if may else ELENGTH), 'truncate to %d of %d returned %d' % (length, len(tokens), error))
            refused += error != 0
            if not error:
                del tokens[length:]
                if length == 0: s.longest[b] = 0
        else:
            lengths = [0] * x.batch
            lengths[b] = min(int(rng.choice([1, 1, 1, 2, 7, int(rng.integers(1, 90))])), x.n - len(tokens))
            if name in LONG and len(tokens) < x.n // 2:
                lengths[b] = x.n // 2
            ascending = name == 'rows_ids_carried'   # linear forms need ids in ascending order
            numbers = [int(n) for n in rng.integers(tokens[-1] if ascending and tokens else 0, x.n, size=max(lengths))]
            if ascending: numbers.sort()
            given = []
            for new in s.rows(numbers):
                given.append(np.full((x.batch,) + new.shape, np.nan))
                given[-1][b] = new
            if lengths[b]:
                rows = x.rows(max(lengths), [numbers if n == b else [] for n in range(x.batch)])
                for array, (batch, _) in x.of_tokens.items():   # each token gets the rows that it has in sequence 0
                    if batch:
                        rows[array][b] = x.rows(max(lengths), [numbers])[array][0]
                out = state.extend(*given, lengths, rows=rows)[b]
                tokens += numbers
                s.longest[b] = max(s.longest[b], len(tokens))
                back = max(0, s.longest[b] - rewind)
                check(state.min_length(b) <= back or not rewind, 'it can go back to %d, not to %d' % (state.min_length(b), back))
                if rng.random() < 0.15:
                    compared += 1
                    of_tokens = {name: rows[:1] if x.of_tokens[name][0] else rows
                                 for name, rows in x.rows(len(tokens), [tokens]).items()}
                    arrays = dict(x.P, **of_tokens, **dict(zip('qkv', (a[None] for a in s.rows(tokens)))))
                    expected = definitions.attend(x.spec, dict(x.P, **of_tokens), arrays['q'], arrays['k'], arrays['v'])[0]
                    size = sizes_of(x, arrays)[0]
                    scale = np.abs(size).max(-1, keepdims=True)[:, -lengths[b]:]
                    off = np.abs(out - expected[:, -lengths[b]:]) / (1e-5 * scale + 1e-30)
                    worst = max(worst, float(off.max()))
                    check(worst <= 1, 'step %d: off by %.3g times what is allowed' % (step, worst))
        for each in states:
            for n in range(x.batch):
                check(each.state.length(n) == len(each.tokens[n]), 'step %d: another length' % step)
    check(compared > operations // 40, 'hardly any rows were compared')
    check(refused > 2 or rewind or name in EVERY, 'hardly any sequence could not go back')
    return '%d rows of calls compared, %d cuts refused; error %.2g of what is allowed' % (compared, refused, worst)


def prepares_once(folder, suite, name):
    """Keys are prepared once, when they are stored."""
    path = os.path.join(folder, name + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(dict(OWN[name], emit=['forward', 'decode']), f, sort_keys=False)
    done = execute([suite.attnc, path, '-o', folder, '--target', 'x86-64-v3'])
    check(done.returncode == 0, done.stderr)
    with open(path[:-5] + '.c') as f:
        functions = dict(re.findall(r'^TARGET (?:static|APART) void T\((\w+)\)\(.*?^{\n(.*?)^}', f.read(), re.M | re.S))
    work = re.compile(r'(?:cos|sin|sqrt|rsqrt)(?:_\w+)?\(')
    stores = [body for name, body in functions.items() if name.endswith('_prepare')]
    loops = [body[body.index('for (int64_t j'):] for name, body in functions.items()
             if re.search('_extend(_few_keys)?$', name) and 'for (int64_t j' in body]
    check(len(stores) == 1 and work.search(stores[0]), 'nothing prepares keys: %s' % sorted(functions))
    check(len(loops) == 2, 'functions with loops over keys: %s' % sorted(functions))
    check(not any(work.search(loop) for loop in loops), 'stored keys are prepared again')
    forward = [body for name, body in functions.items() if name.endswith('_few_keys') and '_extend_' not in name]
    check(len(forward) == 1 and work.search(forward[0]), 'the same would be found in forward, which has to prepare them')


def folds(folder, suite, name, spec, moves, any_order):
    """Joins two states, some with incomplete chunks. The joined state is extended."""
    x = Grown(suite, folder, name, spec, n=LONG.get(name, CAPACITY))
    with open(os.path.join(folder, name + '.c')) as f:
        chunk = int(re.search(r'[.]chunk = (\d+)', f.read()).group(1))
    worst = 0.0

    def fed(upto, at, start=0, **more):
        """Returns a state with the tokens `at` to `upto` of each sequence."""
        state = x.state(threads=1, first=start, foldable='delta' in x.spec, **more)
        check(state.begun == 0, 'state_init returned %d' % state.begun)
        for b, (first, last) in enumerate(zip(at, upto)):
            given = [np.zeros_like(a[:, :, first:last]) for a in (x.q, x.k, x.v)]
            for to, a in zip(given, (x.q, x.k, x.v)):
                to[b] = a[b, :, first:last]
            lengths = [0] * x.batch
            lengths[b] = last - first
            if last > first:
                rows = x.rows(last - first, [range(first, last) if k == b else [] for k in range(x.batch)])
                state.extend(*given, lengths, rows=rows)
        return state

    def compare(left, last, what):
        nonlocal worst
        check([left.length(b) for b in range(x.batch)] == list(last), 'another length')
        for b, n in enumerate(last):
            out = np.full(x.answer.expected[b].shape, np.nan)
            least = left.min_length(b)
            check(least <= n, 'min_length is beyond the length')
            alone = x.state(threads=2, foldable='delta' in x.spec)
            check(alone.copy(b, left, b) == 0, 'copy failed')
            while n < x.n:
                m = min(int(x.rng.choice([1, 7, chunk, x.n])), x.n - n)
                lengths = [m if k == b else 0 for k in range(x.batch)]
                rows = x.rows(m, [range(n, n + m) if k == b else [] for k in range(x.batch)])
                out[:, n:n + m] = alone.extend(*(a[:, :, n:n + m] for a in (x.q, x.k, x.v)), lengths, rows=rows)[b]
                n += m
            seen = np.s_[b, :, last[b]:]
            off = np.abs(out[:, last[b]:] - x.answer.expected[seen]).max() / np.abs(x.answer.expected[seen]).max()
            worst = max(worst, float(off))
            check(off < (2.0 ** -7 if x.spec['dtype'] == 'bf16' else 2e-5), '%s: off by %.2g' % (what, off))

    def joined(first, last, start=0):
        left, right = fed(first, [0] * x.batch), fed(last, first, start)
        error = left.fold(right)
        if error:
            return error
        compare(left, last, 'folded at %s and %s' % (first, last))
        return 0

    c, n = chunk, x.n
    start = 0 if moves else 2 * c
    check(joined([2 * c, 2 * c], [n - 3, 2 * c + 5], start) == 0, 'whole chunks were not folded')
    check(joined([0, 2 * c], [n - 20, 2 * c], start if moves else 0) == 0, 'an empty one was not folded')
    got = joined([c - 1, c + 2], [n - 10, 3 * c + 1])
    check(got == (0 if any_order else ELENGTH), 'parts of chunks: %d' % got)
    got = joined([c + 5, c - 3], [c + 8, 2 * c - 8])
    check(got == (ELENGTH if name == 'gates_placed' else 0), 'tokens that are not summed: %d' % got)
    for later_first in False, True:   # three runs of tokens, joined in both groupings
        runs = [fed([end] * x.batch, [at] * x.batch, at) for at, end in ((0, 2 * c), (2 * c, 3 * c), (3 * c, n - 3))]
        pairs = ((1, 2), (0, 1)) if later_first else ((0, 1), (0, 2))
        check([runs[a].fold(runs[b]) for a, b in pairs] == [0, 0], 'three runs were not folded')
        compare(runs[0], [n - 3] * x.batch, 'three runs')
    if 'delta' in x.spec:
        sizes = [1, 7, 64]
        plain, foldable = (x.cut((sizes[k % 3] for k in range(10 ** 6)), foldable=f) for f in (0, 1))
        check(np.array_equal(plain, foldable), 'a state with transitions gives other bits')
        check(x.state().fold(x.state()) == EFOLD, 'states without transitions were folded')
        grouped = Problem(x.batch, 4, 2, foldable=1)   # delta takes as many heads of q as of v
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(x.kernel.about.state)
        check(size(ctypes.byref(grouped)) == 0, 'a state of grouped heads')
    if not moves:
        check(joined([2 * c, 2 * c], [n - 3, n - 3]) == ELENGTH, 'keys for other positions were summed')
    check(joined([2 * c, c], [n - 3, n - 3], 2 * c) == ELENGTH, 'it was folded where it does not begin')
    check(x.state(first=c + 1).begun == ELENGTH and x.state(first=-1).begun == EPROBLEM, 'it begins within a chunk')
    left, right = fed([c, c], [0, 0]), fed([c, c], [0, 0])
    before = left.block.copy()
    right.block[200] ^= 1
    check(left.fold(right) == ESTATE and left.fold(left) == EPOINTER, 'a damaged state was folded, or itself')
    right.block[200] ^= 1
    left.block[8] ^= 1
    check(left.fold(right) == ESTATE, 'into a damaged state was folded')
    left.block[8] ^= 1
    check((left.block == before).all(), 'a fold that failed changed the state')
    if any_order:   # the state has room for tokens that are not summed yet
        many = [fed([c - 1] * 2, [0, 0]) for _ in range(4)]
        got = [many[0].fold(other) for other in many[1:]]
        check(got == [0, ECAPACITY, ECAPACITY], 'too many that are not summed: %s' % got)
    return 'error %.2g' % worst


def folds_not(folder, suite, name):
    x = Grown(suite, folder, name, OWN[name])
    left, right = x.state(), x.state()
    before = left.block.copy()
    check(left.fold(right) == EFOLD and (left.block == before).all(), 'it was folded')
    check(x.state(first=64).begun == ELENGTH, 'it begins later')
    right.block[9] ^= 1
    check(left.fold(right) == ESTATE, 'a damaged state was read')


def remembers(folder, suite, name):
    """A token without output is added to the state like any other."""
    x = Grown(suite, folder, name, OWN[name])
    state, other, asked = x.state(), np.full(x.answer.expected.shape, np.nan), np.full(x.answer.expected.shape, np.nan)
    at = 0
    for n in 1, 70, x.n - SINGLE - 71:
        error, _ = state.try_extend(None, x.k[:, :, at:at + n], x.v[:, :, at:at + n], [n, n - (at > 70)],
                                    rows=x.rows(n, [range(at, at + n)] * 2))
        at += n
        check(error == 0 and [state.length(b) for b in range(2)] == [at, at - (at > 71)], 'lengths, or %d' % error)
    x.grow(state, other, [x.n] * 2, always(1))
    full = x.state()
    x.grow(full, asked, [x.n - SINGLE, x.n - SINGLE - 1], always(x.n))
    x.grow(full, asked, [x.n] * 2, always(1))
    last = slice(x.n - SINGLE, None)
    check(np.array_equal(other[:, :, last], asked[:, :, last]), 'other rows than after tokens with queries')
    expected = x.answer.expected[:, :, last]
    check(np.abs(other[:, :, last] - expected).max() < 1e-4 * np.abs(expected).max(), 'other rows than forward gives')


def damaged(folder, suite):
    """A state that is damaged, or that belongs to another kernel or size, is refused and stays unchanged.
    Impossible problems are refused as well."""
    names = 'recent', 'ring', 'sinks', 'drawn'
    kernels = {}
    for name in names:
        os.makedirs(os.path.join(folder, name))
        kernels[name] = Grown(suite, os.path.join(folder, name), name, OWN[name])
    flips = 0
    for name, x in kernels.items():
        state = x.state(threads=1)
        out = np.full(x.answer.expected.shape, np.nan)
        x.grow(state, out, [50, 3], always(50))
        good = state.block.copy()
        one = [a[:, :, :1] for a in (x.q, x.k, x.v)]

        def refuses(error, why):
            before = state.block.copy()
            got, _ = state.try_extend(*one)
            check(got == error, '%s, %s: extend returned %d' % (name, why, got))
            check((state.block == before).all(), '%s, %s: extend changed the state' % (name, why))

        header = 256 + 56 * x.batch   # Each sequence has 56 bytes in the header.
        for byte in [*range(208), *range(256, header)]:
            for bit in (1, 128):
                state.block[byte] ^= bit
                if (state.block[:header] != good[:header]).any():
                    refuses(ESTATE, 'bit %d of byte %d' % (bit, byte))
                    check(state.length(0) == ESTATE and state.truncate(0, 1) == ESTATE
                          and state.copy(0, state, 1) == ESTATE, 'a damaged state was taken')
                    flips += 1
                state.block[byte] ^= bit
        state.problem.state_bytes -= 1
        refuses(ESTATE, 'cut short')
        state.problem.state_bytes += 1
        for member in 'batch', 'heads', 'kv_heads':
            kept = getattr(state.problem, member)
            setattr(state.problem, member, {'batch': 3, 'heads': 12, 'kv_heads': 1}[member])
            state.problem.state_bytes = 0
            got = state.length(0)
            check(got == ESTATE, '%s: other %s gave %d' % (name, member, got))
            setattr(state.problem, member, kept)
        state.problem.state_bytes = state.bytes
        for other in names:
            if other == name:
                continue
            theirs = kernels[other].state(threads=1)
            size = min(theirs.block.size, state.block.size)
            state.block[:size] = theirs.block[:size]
            refuses(ESTATE, 'the state of ' + other)
            state.block[:] = good
        for b, length, error in (0, 51, ELENGTH), (0, -1, ELENGTH), (2, 0, EPROBLEM), (-1, 0, EPROBLEM):
            check(state.truncate(b, length) == error, 'truncate took sequence %d and length %d' % (b, length))
        for lengths in [-1, 0], [2, 0]:
            got, _ = state.try_extend(*one, lengths)
            check(got == EPROBLEM, 'lengths %s returned %d' % (lengths, got))
        if name == 'drawn':   # This state grows up to its capacity but not beyond.
            more = [np.repeat(a[:, :, :1], x.n - 49, 2) for a in (x.q, x.k, x.v)]
            got, _ = state.try_extend(*more)
            check(got == ECAPACITY and state.length(0) == 50, 'beyond the capacity it returned %d' % got)
        check((state.block == good).all(), 'a call that failed changed the state')
        # The state is saved, and loaded into other memory.
        file = os.path.join(folder, name + '.state')
        state.block.tofile(file)
        expected = state.extend(*one)
        loaded = x.state(threads=1)
        loaded.block[:] = np.fromfile(file, np.uint8)
        check(np.array_equal(loaded.extend(*one), expected), 'a state that was saved gives other bits')
    return '%d flipped bits' % flips


def hostile_pages(folder, suite, name):
    """Wrong pages are refused before anything is written."""
    x = Grown(suite, folder, name, OWN[name])
    state = x.state(pages=16)
    pages, numbers = state.pages, state.pages.numbers
    x.grow(state, np.full(x.answer.expected.shape, np.nan), [50, 35], always(50))
    pages.mine = False   # the test gives numbers from here on
    numbers[:, 3:5] = [[pages.free.pop(), pages.free.pop()] for _ in range(2)]
    new = [a[:, :, 50:64] for a in (x.q, x.k, x.v)]
    kept = state.block.copy(), pages.memory.copy(), numbers.copy()

    def refuses(why, error, lengths=None):
        got, out = state.try_extend(*new, lengths)
        check(got == error, '%s: extend returned %d' % (why, got))
        check(np.isnan(out).all() and (state.block == kept[0]).all() and (pages.memory == kept[1]).all(),
              why + ': something was written')
        numbers[:] = kept[2]
        pages.tokens, pages.row, pages.count = 16, numbers.shape[1], kept_count

    kept_count = pages.count
    for b, place, number, why in ((0, 3, -1, 'no page for new tokens'), (0, 1, -1, 'a page that was freed'),
                                  (1, 2, pages.count, 'a number out of range'), (1, 0, -2 ** 31, 'a negative number'),
                                  (0, 1, numbers[0, 0], 'a page twice in one table'),
                                  (0, 3, numbers[0, 1], 'new tokens in a page with other tokens of the sequence'),
                                  (0, 3, numbers[1, 1], 'new tokens in a page of another sequence'),
                                  (1, 2, numbers[0, 3], 'a page that two sequences append to')):
        numbers[b, place] = number
        refuses(why, EPAGES)
    numbers[1, 1] = numbers[0, 3]
    refuses('a page of a sequence without new tokens', EPAGES, [1, 0])
    pages.row = 3
    refuses('a table that is too short', ECAPACITY)
    pages.count = int(max(numbers[:, :4].max(0)))
    refuses('too few pages', EPAGES)
    for tokens in 15, 257, 0, -16:
        pages.tokens = tokens
        refuses('pages of %d tokens' % tokens, EPAGES)
    pages.tokens = 32
    refuses('pages of another size', ESTATE)
    pages.bytes -= 128
    refuses('pages that are too small', EPAGES)
    pages.bytes += 64
    pages.base += 8
    refuses('pages that are not aligned', EALIGN)
    pages.base -= 8
    pages.table = None
    refuses('no table', EPOINTER)
    pages.table = numbers.ctypes.data
    alone = x.state()
    check(alone.copy(0, state, 0) == ESTATE, 'a state without pages took a sequence of pages')
    numbers[1, 2:] = -1   # the numbers after a sequence's last page are not used
    check(state.try_extend(*new, [14, 0])[0] == 0 and state.length(0) == 64, 'good pages were refused')


def shares_pages(folder, suite, name):
    """A sequence that shares pages of another gives the bits that it gives with separate pages. Sequences may end, and
    others take their pages."""
    x = Grown(suite, folder, name, OWN[name])
    for array in x.q, x.k, x.v: array[1, :, :70] = array[0, :, :70]
    for word, (batch, axis) in x.of_tokens.items():
        if batch: x.P[word].swapaxes(1, axis)[1, :70] = x.P[word].swapaxes(1, axis)[0, :70]
    outs = []
    for shared in False, True:
        state, out = x.state(pages=16, threads=3), np.full(x.answer.expected.shape, np.nan)
        pages = state.pages
        x.rng = np.random.default_rng(5)
        x.grow(state, out, [70, 0], always(64))
        if shared:
            check(state.copy(1, state, 0) == 0 and state.length(1) == 70, 'copy failed')
            pages.numbers[1, :4] = pages.numbers[0, :4]
            pages.numbers[1, 4] = pages.free.pop()   # the caller copies the last page, which gets other tokens
            page = [pages.base - pages.memory.ctypes.data + int(n) * pages.bytes for n in pages.numbers[:, 4]]
            pages.memory[page[1]:page[1] + pages.bytes] = pages.memory[page[0]:page[0] + pages.bytes]
            out[1, :, :70] = out[0, :, :70]
        else:
            x.grow(state, out, [70, 70], always(64))
        x.grow(state, out, [x.n - 40, x.n], always(30))
        gone = set(pages.numbers[0, :-(-(x.n - 40) // 16)].tolist()) - set(pages.numbers[1].tolist())
        check(state.truncate(0, 0) == 0, 'truncate failed')   # another sequence begins, in the pages of the first
        pages.free = sorted(gone) + pages.free
        x.grow(state, out, [x.n, x.n], always(60))
        outs.append(out)
    check(np.array_equal(*outs), 'other bits where pages are shared')
    return 'error %.2g' % (np.abs(outs[1][0] - x.answer.expected[0]).max() / np.abs(x.answer.expected[0]).max())


TREE = {'arrays': {'round': {'shape': ['B', 'Nk'], 'type': 'int'}, 'slot': {'shape': ['B', 'Nk'], 'type': 'int'},
                   'place': {'shape': ['B', 'Nk'], 'type': 'int'}, 'ancestor': {'shape': ['B', 'Nq', 64], 'type': 'bool'}},
        'prepare': [{'rope': {'pairs': 'halves', 'angle': 'place[b][i] * pow(10000, -2.0 * t / D)'}}], 'similarity': 'softmax',
        'mask': {'all': ['causal', {'expr': 'round[b][j] < round[b][i] || ancestor[b][row][slot[b][j]]'}]},
        'shape': {'head_dim': 8}}


def verifies_trees(folder, suite):
    """A call with a tree of tokens gives each token the row that it has after its ancestors alone. One path is kept."""
    x = Grown(suite, folder, 'tree', TREE)
    state, alone, n, worst = x.state(), x.state(), 0, 0.0

    def call(state, tokens, round, slots, places, seen):
        rows = {'round': np.full((x.batch, len(tokens)), round, np.int32), 'ancestor': np.zeros((x.batch, len(tokens), 64), np.uint8)}
        rows |= {word: np.repeat(np.array(made, np.int32)[None], x.batch, 0) for word, made in (('slot', slots), ('place', places))}
        rows['ancestor'][:, :, :seen.shape[1]] = seen
        return state.extend(*(a[:, :, tokens] for a in (x.q, x.k, x.v)), rows=rows)

    for round, size in enumerate((40, 1, 64, 20, 7, 33)):
        parent = [int(x.rng.integers(max(0, t - 9), t)) if t else -1 for t in range(size)]
        if round < 2: parent = list(range(-1, size - 1))
        seen, depth = np.zeros((size, size), np.uint8), [0] * size
        for t, of in enumerate(parent):
            if of >= 0: seen[t], depth[t] = seen[of], depth[of] + 1
            seen[t, t] = 1
        tokens = [(13 * round + t) % x.n for t in range(size)]
        path = [t for t in range(size) if seen[-1, t]]
        out = call(state, tokens, round, range(size), [n + d for d in depth], seen)[:, :, path]
        kept = [tokens[t] for t in path]
        chain = np.tril(np.ones((len(path), len(path)), np.uint8))
        expected = call(alone, kept, round, range(len(path)), range(n, n + len(path)), chain)
        worst = max(worst, float(np.abs(out - expected).max() / np.abs(expected).max()))
        for b in range(x.batch):
            for wrong in path[::-1][:2] if len(path) > 1 else [-1], [size], list(range(size + 1)):
                check(state.keep_path(b, wrong) == ELENGTH, 'the path %s was kept' % wrong)
            check(state.keep_path(b, path) == 0, 'the path was refused')
        n += len(path)
        check([state.length(b) for b in range(x.batch)] == [n] * x.batch, 'another length')
    check(worst < 2e-6, 'off by %.2g' % worst)
    return 'error %.2g' % worst


def keeps_paths(folder, suite, name, pages=0, moves=True):
    """After a path is kept, a state is that of the earlier tokens and the path alone."""
    x = Grown(suite, folder, name, OWN[name])
    state, alone = (x.state(rewind=0 if pages else 24, pages=pages) for _ in range(2))

    def call(state, tokens):
        return state.extend(*(a[:, :, tokens] for a in (x.q, x.k, x.v)), rows=x.rows(len(tokens), [tokens] * x.batch))
    for one in state, alone: call(one, range(50))
    call(state, range(50, 74))
    path = [0, 1, 4, 5, 9, 23] if moves else [0, 1, 2, 3]
    check(moves or state.keep_path(0, [0, 2]) == ELENGTH, 'rows of other positions were moved')
    check([state.keep_path(b, path) for b in range(2)] == [0, 0], 'the path was refused')
    call(alone, [50 + t for t in path])
    check(np.array_equal(call(state, range(80, 90)), call(alone, range(80, 90))), 'other bits after a path')


def frees_pages(folder, suite, name):
    """A window does not need the pages before it."""
    x = Grown(suite, folder, name, OWN[name], n=LONG[name])
    with open(os.path.join(folder, name + '.c')) as f:
        back = int(re.search(r'[.]read_back = (\d+)', f.read()).group(1))
    first = SINKS.get(name, (0,))[0]
    state, out = x.state(pages=16, threads=2), np.full(x.answer.expected.shape, np.nan)
    pages, freed = state.pages, 0
    for upto in range(20, x.n + 1, 20):
        x.grow(state, out, [upto, upto], some_sizes(np.random.default_rng(upto)))
        for b in range(2):
            for place in range(-(-first // 16), max(0, upto - back - first) // 16):
                number = int(pages.numbers[b, place])
                if number < 0: continue
                at = pages.base - pages.memory.ctypes.data + number * pages.bytes
                pages.memory[at:at + pages.bytes] = 0xFF
                pages.free.insert(0, number)
                pages.numbers[b, place] = -1
                freed += 1
    wrong, part, _ = x.answer.judge(out[:, :, :x.n], 2, x.beside)
    check(not wrong, wrong)
    check(freed > 10, 'only %d pages were freed' % freed)
    return '%d pages freed' % freed


def emitted(folder, suite, name, *options):
    spec, path = OWN[name], os.path.join(folder, name + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'dtype': 'f32'} | spec | {'emit': ['forward', 'decode']}, f, sort_keys=False)
    done = execute([suite.attnc, path, '-o', folder, '--standalone', *options])
    check(done.returncode == 0, done.stderr)
    return os.path.join(folder, name + '.c')


def silent(folder, suite, name, every):
    """The compilers give no warning. gcc makes code for every third kernel: its warnings of unused functions and of missing
    values need that, and take four times as long as the others."""
    source = emitted(folder, suite, name)
    for found, work in ((compiler('gcc'), '-c' if every or WHOLE else '-fsyntax-only'), (compiler('clang'), '-c')):
        done = execute([found, '-O0', *WARNINGS, '-fopenmp', work, source], cwd=folder, timeout=600)
        check(done.returncode == 0 and not done.stderr, done.stderr[-3000:])


def sanitized(folder, suite, name, target=best_target(), *more):
    """Runs the functions of a state under sanitizers, which check all memory accesses."""
    c, spec = emitted(folder, suite, name, '--target', target), OWN[name]
    params = list(more)
    params += ['-DARRAYS'] if 'document' in str(spec) or 'arrays' in spec else \
        ['-DPARAMS'] if 'favor' in str(spec) or 'sketch' in str(spec) else []
    if 'delta' in spec:
        with open(c) as f:
            params += ['-DFOLDABLE=1', '-DCHUNK=' + re.search(r'[.]chunk = (\d+)', f.read()).group(1)]
    element = {'f64': 'double', 'bf16': 'uint16_t'}.get(spec.get('dtype'), 'float')

    def test(debug):
        done = execute([compiler('clang'), '-O0', *debug, *SANITIZED, *params, '-DKERNEL=' + name, '-DELEMENT=' + element,
                        '-include', c[:-1] + 'h', os.path.join(HERE, 'decode_main.c'), c, '-lm', '-o', 'main'],
                       cwd=folder, timeout=600)
        check(done.returncode == 0, done.stderr[-3000:])
        done = execute([os.path.join(folder, 'main')], env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'), timeout=300)
        check(done.returncode == 0, '%s%s' % (done.stdout, done.stderr[-3000:]))
        return done.stdout.strip()
    return with_report(test)


def main():
    suite = Suite(__doc__)
    suite.objects = Objects(suite.folder)
    for name, spec in cases():
        suite.case('grows/' + name, grows, suite, name, spec)
    # rows of a state are whole cache lines
    suite.case('grows/v3', grows, suite, 'v3', {
        'prepare': ['layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 64}}, 'mask': 'causal',
        'shape': {'head_dim': 16, 'value_dim': 24}}, 'x86-64-v3')
    for name in MILLION:
        suite.case('million/' + name, million, suite, name)
    for name in SINKS:
        suite.case('edges/' + name, edges, suite, name)
    for name, operations in (('recent', 400), ('ring', 300), ('sinks', 200), ('carried_f64', 300),
                             ('prepared_rope', 200), ('prepared_sinks', 200), ('values', 200), ('values_ring', 200),
                             ('rows_sinks', 200), ('rows_sinks_quadratic', 200), ('rows_carried', 200), ('delta', 200),
                             ('decay', 200), ('decay_shared', 200), ('decay_softmax', 200), ('decay_ring', 200),
                             ('decay_sinks', 200), ('delta_gates', 200)):
        suite.case('models/' + name, models, suite, name, operations)
    for name, rewind in (('carried_f64', 40), ('decay', 9), ('decay_shared', 1), ('delta', 20), ('delta_gates', 33),
                         ('window_carried', 17), ('ring', 25), ('decay_ring', 16), ('decay_sinks', 12),
                         ('rows_carried', 100), ('rows_ids_carried', 20), ('decay_softmax', 5)):
        suite.case('rewinds/' + name, models, suite, name, 200, rewind)
    for name, (spec, moves, any_order) in FOLDED.items():
        suite.case('folds/' + name, folds, suite, name, spec, moves, any_order)
    for name in 'ring', 'drawn', 'sinks', 'recent', 'carried_documents', 'delta', 'decay_ring':
        suite.case('folds_not/' + name, folds_not, suite, name)
    for name in 'prepared_rope', 'prepared_halves', 'prepared_l2norm', 'prepared_sinks':
        suite.case('prepares_once/' + name, prepares_once, suite, name)
    for name in 'ring', 'ring_blocks', 'sinks', 'drawn', 'carried_f64', 'delta', 'delta_gates', 'prepared_halves', 'values', \
            'values_prepared', 'rows_sink', 'rows_sinks', 'decay_softmax', 'decay_ring', 'decay_sinks_only':
        suite.case('remembers/' + name, remembers, suite, name)
    suite.case('damaged', damaged, suite)
    for name in 'prepared_rope', 'rows':
        suite.case('hostile_pages/' + name, hostile_pages, suite, name)
    for name in 'prepared_rope', 'sink', 'values_prepared', 'unprepared_f16', 'padded':
        suite.case('shares_pages/' + name, shares_pages, suite, name)
    suite.case('verifies_trees', verifies_trees, suite)
    for name, pages, moves in (('values', 0, True), ('values', 16, True), ('rows', 16, True), ('sinks', 0, True), ('ring', 0, False),
                               ('prepared_rope', 16, False), ('unprepared_f16', 16, True), ('carried_f64', 0, False)):
        suite.case('keeps_paths/%s/%d' % (name, pages), keeps_paths, suite, name, pages, moves)
    for name in 'ring', 'sinks', 'sinks_rope':
        suite.case('frees_pages/' + name, frees_pages, suite, name)
    for name in 'carried_documents', 'ring', 'sinks', 'values', 'values_carried', 'padded', 'rows_sinks', \
            'rows_carried', 'delta', 'decay', 'decay_elements', 'decay_softmax', 'decay_ring', 'decay_sinks_only', 'delta_gates':
        suite.case('silent/' + name, silent, suite, name, len(suite.cases) % 3 == 0)
    for name in 'ring', 'carried_rope', 'recent', 'carried_documents', 'sinks', 'prepared_halves', 'sinks_rope', \
            'values', 'values_bf16', 'rows_of_sequences', 'rows_ids_carried', 'rows_ring', 'rows_sinks', 'rows_carried', 'rows', 'delta', \
            'decay', 'decay_elements', 'decay_softmax', 'decay_ring', 'decay_sinks', 'decay_sinks_only', 'delta_gates':
        suite.case('sanitized/' + name, sanitized, suite, name)
    for name in 'prepared_halves', 'sinks', 'values_bf16', 'values_prepared':
        suite.case('sanitized/%s/pages' % name, sanitized, suite, name, best_target(), '-DPAGES=16')
    # rows of values end within a cache line
    suite.case('sanitized/carried_wide/generic', sanitized, suite, 'carried_wide', 'generic')
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
