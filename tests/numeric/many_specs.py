#!/usr/bin/python3
"""Tests thousands of random specs, each with little time. It can be stopped and continued.

many_specs.py ATTNC [--log FILE] [--count N] [--seed N] [--arrays PART] [--several PART]
many_specs.py ATTNC --spec FILE [--shrink SECONDS]

- attnc compiles each spec, and random_calls.py calls its kernel. One of 128 is compiled with the flags of users, two
  by gcc, the others with -O0. One of 64 also runs `attnc check`.
- With --log, this is a campaign: the log has a line for each spec. If it exists, specs in it are not tested again. A
  spec that fails is written to a file next to the log.
- --spec tests such a file again. --shrink makes it smaller.
- Sizes of specs are small, except in every 16th."""
import copy
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import definitions
import draw_spec
import quick
import random_calls
import random_specs
from autograd_venv import autograd
from kernel import RUNTIME, Kernel, Objects, runtime_objects
from processor import MACHINE, missing_flags, multiplies_bf16, targets_of
from random_specs import DRAWS, Wrong, accepted, ended, told
from shrink import shrink
from suite import WHOLE, Failure, Skip, Suite, compiler, execute, signal_name

OFTEN = 16         # one of this many specs has large sizes
SECONDS = 60       # the maximum CPU time of a spec's calls
NO_END = 1200      # the maximum time of a spec
LARGEST = {'head_dim': 32, 'value_dim': 32, 'sketch': 8, 'count': 17, 'hidden': 8, 'size': 17, 'degree': 8}


# Specs that failed once in a way that random_specs.py does not test.
FOUND = {
    'bf16_keys_as_equations': {
        'similarity': 'softmax', 'mask': 'causal', 'delta': {'rate': '0.5'}, 'dtype': 'bf16', 'shape': {'head_dim': 4},
        'emit': ['forward', 'backward'], 'n_q': 20, 'n_k': 20},
    'decay_of_one_element': {
        'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'arrays': {'rate': {'shape': ['H', 'D']}},
        'delta': {'rate': '0.1'}, 'decay': {'log': '-exp(rate[h][d]) * 0.2'}, 'shape': {'head_dim': 1},
        'emit': ['forward', 'backward'], 'n_q': 20, 'n_k': 20},
    'denominator_beyond_f64': {
        'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': 'j < 40'}]}, 'normalize': 'none',
        'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'decay': {'log': 'gate[b][h][t] * 90'}, 'n_q': 159,
        'n_k': 159, 'shape': {'head_dim': 16}, 'emit': ['forward', 'statistics']},
    'gradient_of_padding': {
        'similarity': {'linear': {'features': {'relu': {'eps': 1}}, 'modify': 's * exp(a0[j] / 4)'}}, 'mask': 'lengths',
        'algorithm': 'linear', 'arrays': {'a0': {'shape': ['Nk']}}, 'shape': {'head_dim': 4}, 'n_q': 20, 'n_k': 25,
        'emit': ['forward', 'backward']},
    'gradient_of_query_positions': {
        'similarity': {'custom': {'weight': '(1 + j) * a0[i]'}}, 'mask': 'causal', 'algorithm': 'linear', 'n_k': 25,
        'n_q': 30, 'arrays': {'a0': {'shape': [33]}}, 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'growing_linear': {
        'similarity': {'linear': {'features': {'relu': {'eps': 0.01}}, 'modify': 's * exp(j * 2.6)'}}, 'mask': 'causal',
        'algorithm': 'linear', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_linear_array': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(a[b][g][j] * 50)'}}, 'mask': 'causal',
        'arrays': {'a': {'shape': ['B', 'G', 'Nk']}}, 'algorithm': 'linear', 'shape': {'head_dim': 4, 'value_dim': 7},
        'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_linear_integers': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(a[b][j] * 5.5)'}}, 'mask': 'causal',
        'arrays': {'a': {'shape': ['B', 'Nk'], 'type': 'int'}}, 'algorithm': 'linear', 'n_q': 25, 'n_k': 36,
        'shape': {'head_dim': 4, 'value_dim': 7}, 'emit': ['forward', 'backward']},
    'growing_linear_plus': {
        'similarity': {'custom': {'weight': 's * s * exp(j * 2.6)'}}, 'mask': 'causal', 'normalize': {'sum_plus': 2},
        'algorithm': 'linear', 'shape': {'head_dim': 2}, 'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_linear_query': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(a[b][i] * 5.5)'}}, 'n_q': 36,
        'arrays': {'a': {'shape': ['B', 'Nk'], 'type': 'int'}}, 'algorithm': 'linear', 'mask': 'causal', 'n_k': 36,
        'shape': {'head_dim': 4, 'value_dim': 7}, 'emit': ['forward', 'backward']},
    'growing_linear_shrinks': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(j * -2.6)'}}, 'mask': 'causal',
        'algorithm': 'linear', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_linear_signed': {
        'similarity': {'custom': {'weight': '(s + 5) * exp(j * 2.6)'}}, 'mask': 'causal', 'normalize': {'sum_plus': 2},
        'algorithm': 'linear', 'shape': {'head_dim': 2}, 'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_linear_window': {
        'similarity': {'linear': {'features': {'relu': {'eps': 0.01}}, 'modify': 's * exp(j * 2.6)'}}, 'n_q': 36,
        'mask': {'block_window': {'block': 8, 'left': 1, 'right': 0}}, 'algorithm': 'linear', 'dtype': 'bf16', 'n_k': 36,
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'growing_linear_zeros': {
        'similarity': {'linear': {'features': 'relu', 'modify': 's * exp(j * 2.6)'}}, 'mask': 'causal',
        'algorithm': 'linear', 'shape': {'head_dim': 2}, 'emit': ['forward', 'backward'], 'n_q': 36, 'n_k': 36},
    'growing_sum': {
        'similarity': {'custom': {'weight': 's * exp(j * 9.0)'}}, 'mask': 'causal', 'normalize': {'sum_plus': 2},
        'algorithm': 'quadratic', 'shape': {'head_dim': 2}, 'emit': ['forward', 'backward'], 'n_q': 20, 'n_k': 20},
    'growing_zeros': {
        'similarity': {'linear': {'features': 'relu', 'modify': 's * exp(j * 2.5)'}}, 'mask': 'causal',
        'algorithm': 'quadratic', 'shape': {'head_dim': 2}, 'emit': ['forward', 'backward'], 'n_q': 38, 'n_k': 38},
    'delta_and_another_sequence': {
        'similarity': {'linear': {'features': 'relu', 'modify': 's * a[(b + 1) % B][h]'}}, 'mask': 'causal',
        'arrays': {'a': {'shape': ['B', 'H']}}, 'delta': {'rate': '0.2'}, 'shape': {'head_dim': 4},
        'emit': ['forward', 'backward', 'decode']},
    'delta_of_different_members': {
        'similarity': {'linear': {'features': 'relu', 'modify': 's * x[h][j]'}}, 'mask': 'causal', 'normalize': 'none',
        'arrays': {'x': {'shape': ['H', 'Nk'], 'learned': True}}, 'delta': {'rate': '0.5'}, 'shape': {'head_dim': 4},
        'emit': ['forward', 'backward']},
    'pages_of_another_head': {
        'similarity': {'custom': {'weight': 'exp(a[H - 1 - h][j] / 4)'}}, 'mask': {'window': {'left': 9}},
        'emit': ['forward', 'decode'], 'arrays': {'a': {'shape': ['H', 'Nk']}}, 'shape': {'head_dim': 4}},
    'only_key_with_strong_decay': {
        'similarity': {'softmax': {'cap': 5.5, 'bias': 'dense', 'compatibility': {'additive': {'hidden': 2}}}},
        'mask': {'all': ['causal', {'global': {'tokens': [1]}}]}, 'shape': {'head_dim': 16, 'value_dim': 32},
        'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'decay': {'log': 'gate[b][h][t] * 180'}, 'n_q': 24, 'n_k': 24,
        'heads': 6, 'emit': ['forward', 'backward']},
    'order_of_other_sequences': {
        'similarity': {'polynomial': {'degree': 1}}, 'shape': {'head_dim': 4}, 'emit': ['forward', 'decode'],
        'mask': {'all': ['causal', 'document', {'expr': 'j < u0[b]'}]}, 'arrays': {'u0': {'shape': ['B'], 'type': 'int'}},
        'heads': 2, 'kv_heads': 1, 'batch': 3, 'n_q': 110, 'n_k': 110, 'seed': 1057, 'ids': 'many', 'chunks': [7]},
    'packed_row_of_another_head': {
        'similarity': {'linear': {'features': {'favor_positive': {'count': 1}}, 'modify': 's * exp(a[H - 1 - h][j])'}},
        'mask': 'causal', 'shape': {'head_dim': 3}, 'arrays': {'a': {'shape': ['H', 'Nk']}}, 'algorithm': 'quadratic'},
    'rate_of_all_sequences': {
        'similarity': {'linear': {'features': 'identity'}}, 'prepare': ['l2norm'], 'mask': 'causal',
        'normalize': 'none', 'arrays': {'beta': {'shape': ['H', 'Nk']}},
        'delta': {'rate': 'fabs(tanh(beta[h][t])) / D'}, 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'rounded_out_of_peaks': {
        'prepare': [{'scale': {'by': -1.5}}, {'scale': {'by': -1.5}}], 'project': {'linformer': {'size': 16}},
        'similarity': {'linear': {'features': 'squared_relu', 'modify': 'exp(s / 2) * (1 + 0.125 * s * s)'}},
        'shape': {'head_dim': 8}, 'dtype': 'bf16', 'emit': ['forward', 'backward'], 'heads': 2, 'kv_heads': 1,
        'batch': 1, 'n_q': 36, 'n_k': 36, 'seed': 197},
    'rows_of_two_iterations': {
        'prepare': ['layernorm'], 'similarity': 'softmax', 'project': {'linformer': {'size': 4}},
        'shape': {'head_dim': 4}, 'heads': 12, 'n_q': 3},
    'statistics_of_rotations': {
        'prepare': [{'rope': {'dims': 12}}, {'rope': {'base': 1.5}}, {'rope': {'base': 500.0, 'dims': 24}}],
        'similarity': {'linear': {'features': {'favor_trig': {'count': 17}}}}, 'shape': {'head_dim': 32}, 'dtype': 'f64',
        'mask': {'expr': 'j % 2 == 0'}, 'emit': ['forward', 'statistics'], 'n_q': 62, 'n_k': 62},
    'stored_between_two_numbers': {
        'prepare': [{'rmsnorm': {'affine': True}}, 'l2norm', {'scale': {'by': 0.5}},
                    {'rope': {'angle': 'tanh(turn0[b][i]) * (t + 1)'}}],
        'similarity': {'custom': {'weight': 'exp(s + a0[h] + a1[b][h])'}}, 'mask': 'causal', 'heads': 3, 'kv_heads': 1,
        'arrays': {'a0': {'shape': ['H']}, 'a1': {'shape': ['B', 'H']}, 'turn0': {'shape': ['B', 'Nk']}},
        'n_q': 169, 'n_k': 169, 'seed': 236, 'shape': {'head_dim': 64, 'value_dim': 64}, 'storage': {'k': 'q8_0', 'v': 'q8_0'},
        'emit': ['forward', 'decode']},
    'slopes_of_arrays': {
        'similarity': {'custom': {'weight': 's * s * exp(-exp(slope[h]) * (i - j)) + pow(1 / (2 + tanh(pace[b][h])), i - j) / 9'}},
        'mask': 'causal', 'algorithm': 'linear', 'arrays': {'slope': {'shape': ['H'], 'learned': True}, 'pace': {'shape': ['B', 'H']}},
        'shape': {'head_dim': 3}, 'emit': ['forward', 'backward', 'decode', 'statistics'], 'n_q': 99, 'n_k': 99},
    'slopes_and_documents': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp((j - i) * log1p(fabs(slope[b])) / 4)'}},
        'mask': {'all': ['causal', 'document']}, 'arrays': {'slope': {'shape': ['B']}}, 'shape': {'head_dim': 5},
        'algorithm': 'linear', 'emit': ['forward', 'backward', 'decode'], 'n_q': 77, 'n_k': 77},
    'slopes_of_corrected_values': {
        'similarity': {'custom': {'weight': 's * exp(-slope[h] * slope[h] * (i - j))'}}, 'mask': 'causal', 'normalize': 'none',
        'prepare': ['l2norm'], 'arrays': {'slope': {'shape': ['H']}, 'beta': {'shape': ['B', 'G', 'Nk']}},
        'delta': {'rate': 'beta[b][g][t]'}, 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'decode']},
    'rates_in_another_order': {
        'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none', 'prepare': ['l2norm'],
        'arrays': {'beta': {'shape': ['Nk', 'B', 'H']}}, 'delta': {'rate': 'beta[t][b][h]'}, 'shape': {'head_dim': 4},
        'emit': ['forward', 'backward']},
    'corrected_without_products': {
        'similarity': {'custom': {'weight': '1.5 + a[h]'}}, 'mask': 'causal', 'arrays': {'a': {'shape': ['H']}}, 'delta': {'rate': '0.02'},
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'statistics']},
    'corrected_by_equal_logits': {
        'similarity': {'softmax': {'modify': '1'}}, 'mask': 'causal', 'decay': {'log': '-0.1 * (h + 1)'}, 'delta': {'rate': '0.3'},
        'shape': {'head_dim': 4}, 'dtype': 'bf16', 'emit': ['forward', 'backward', 'decode']},
    'arrays_of_separate_states': {
        'similarity': {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(x[h][j] + y[j][b][1] - w[b][row])'}}, 'mask': 'causal',
        'algorithm': 'linear', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'],
        'arrays': {'x': {'shape': ['H', 'Nk']}, 'y': {'shape': ['Nk', 'B', 3]}, 'w': {'shape': ['B', 'Nq']}}},
    'relative_places': {
        'similarity': {'softmax': {'modify': 's + w[h] * (place[b][i][0] - place[b][j][0]) + 0.3 * x[h][i] * x[h][j]'}},
        'mask': 'causal', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'], 'n_q': 37, 'n_k': 60,
        'arrays': {'place': {'shape': ['B', 'Nk', 2]}, 'w': {'shape': ['H']}, 'x': {'shape': ['H', 'Nk']}}},
    'angles_of_rows': {
        'prepare': [{'rope': {'angle': 'at[b][i] * pow(100, -t / 4.0)'}}], 'similarity': 'softmax', 'mask': {'window': {'left': 9}},
        'arrays': {'at': {'shape': ['B', 'Nk']}}, 'shape': {'head_dim': 8}, 'emit': ['forward', 'backward'], 'dtype': 'f64'},
    'transition_in_parts': {
        'similarity': {'polysketch': {'degree': 4, 'sketch': 28}}, 'prepare': ['l2norm'], 'mask': 'causal',
        'normalize': 'sum', 'delta': {'rate': '0.01 / D'}, 'shape': {'head_dim': 2, 'value_dim': 1},
        'emit': ['forward', 'decode']}}

ROWS = {'q2': {'shape': ['B', 'H', 'Nq', 4]}, 'k2': {'shape': ['B', 'G', 'Nk', 4]}, 'lam': {'shape': ['H'], 'learned': True}}
SCORES = {'r': {'query': 'q2', 'key': 'k2'}}
DIFFERENTIAL = {
    'arrays': ROWS, 'scores': SCORES, 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 4},
    'prepare': ['rope', {'rope': {'rows': ['q2', 'k2']}}], 'output': 'a - lam[h] * c',
    'sums': {'a': {}, 'c': {'similarity': {'softmax': {'scale': 1, 'modify': '0.5 * r'}}}}}
# Several scores, sums, and an output of sums.
FOUND |= {
    'differential': DIFFERENTIAL | {'emit': ['forward', 'backward', 'decode']},
    'differential_few_queries': DIFFERENTIAL | {'heads': 8, 'kv_heads': 2, 'n_q': 1, 'n_k': 77},
    'differential_of_halves': DIFFERENTIAL | {'dtype': 'bf16', 'emit': ['forward', 'backward']},
    'linear_of_two_scores': {
        'arrays': ROWS, 'scores': SCORES, 'similarity': {'custom': {'weight': '(s * r) * (s * r) + 1'}}, 'mask': 'causal',
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'decode'], 'n_q': 90, 'n_k': 90},
    'scores_of_heads': {
        'arrays': {'k2': {'shape': ['B', 'H', 'Nk', 'D']}}, 'scores': {'r': {'key': 'k2'}}, 'shape': {'head_dim': 4},
        'similarity': {'softmax': {'modify': 's + 0.3 * r'}}, 'emit': ['forward', 'backward']},
    'sums_of_two_masks': {
        'similarity': 'softmax', 'mask': 'causal', 'sums': {'a': {}, 'c': {'mask': {'window': {'left': 5}}}},
        'output': 'a + 0.5 * c', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'decode']},
    'unmasked_and_masked_sum': {
        'similarity': 'softmax', 'sums': {'a': {'mask': 'causal'}, 'c': {}, 'd1': {'mask': {'window': {'left': 9}}, 'factor': 's'}},
        'output': 'a + 0.5 * c - d1', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'polynomial_sums_of_two_masks': {
        'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'sums': {'a': {}, 'c': {'mask': {'window': {'left': 5}}}},
        'output': 'a + 0.5 * c', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'decode']},
    'linear_sums': {
        'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'shape': {'head_dim': 4},
        'sums': {'a': {}, 'c': {'similarity': {'linear': {'features': 'relu'}}, 'normalize': 'none'}},
        'output': 'a + 0.1 * c', 'emit': ['forward', 'backward', 'decode'], 'n_q': 90, 'n_k': 90},
    'linear_sums_of_values': {
        'arrays': {'v2': {'shape': ['B', 'G', 'Nk', 'E']}, 'v3': {'shape': ['B', 'H', 'Nk', 'E']}}, 'shape': {'head_dim': 4},
        'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'all': ['causal', 'document']},
        'sums': {'a': {}, 'c': {'values': 'v2'}, 'd1': {'values': 'v3', 'normalize': 'none'}, 'n': {'values': 1}},
        'output': 'a + 0.5 * c - 0.1 * d1 + n', 'emit': ['forward', 'backward', 'decode'], 'n_q': 90, 'n_k': 90, 'heads': 4, 'kv_heads': 2},
    'linear_sums_of_all_keys': {
        'arrays': {'v2': {'shape': ['B', 'G', 'Nk', 'E']}}, 'similarity': {'linear': {'features': 'elu_plus_one'}},
        'sums': {'a': {}, 'c': {'values': 'v2'}}, 'output': 'a - 0.5 * c', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'softmax_and_linear_sum': {
        'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'shape': {'head_dim': 4},
        'sums': {'a': {}, 'c': {'similarity': 'softmax', 'mask': {'window': {'left': 7}}}},
        'output': 'a + c', 'emit': ['forward', 'backward', 'decode'], 'n_q': 90, 'n_k': 90},
    'values_of_sums': {
        'arrays': {'v2': {'shape': ['B', 'G', 'Nk', 'E']}, 'gate': {'shape': ['B', 'H', 'Nq']}}, 'similarity': 'softmax', 'mask': 'causal',
        'sums': {'a': {'factor': '1 + tanh(s)'}, 'c': {'values': 'v2', 'factor': 'exp(0.1 * (j - i))'}, 'n': {'values': 1, 'factor': 's'}},
        'output': 'a * n + sigmoid(gate[b][h][row]) * c / (1 + e)', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'written_keys_of_equal_weights': {
        'arrays': {name: {'shape': ['B', 'H', 'Nk', 'D']} for name in ('a0', 'a1')}, 'similarity': {'custom': {'weight': '1 + h'}},
        'mask': 'causal', 'normalize': 'none', 'delta': {'rate': '0.02', 'erase': 'a0', 'write': 'a1'}, 'shape': {'head_dim': 4},
        'emit': ['forward', 'decode'], 'n_q': 90, 'n_k': 90},
    'products_of_sums': {
        'arrays': ROWS | {'v2': {'shape': ['B', 'G', 'Nk', 'E']}}, 'scores': SCORES, 'similarity': 'softmax', 'mask': 'causal',
        'sums': {'a': {}, 'c': {'values': 'v2', 'factor': 'tanh(r)'}, 'd1': {'similarity': {'softmax': {'scale': 0.3}}}},
        'output': 'a * c - lam[h] * d1 * a', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'], 'heads': 4, 'kv_heads': 2},
    'sums_by_one_denominator': {
        'arrays': {'v2': {'shape': ['B', 'G', 'Nk', 'E']}}, 'prepare': [{'scale': {'by': 30}}], 'similarity': 'softmax', 'mask': 'causal',
        'sums': {'a': {}, 'c': {'values': 'v2', 'factor': 'tanh(s)'}, 'd1': {'normalize': {'sink': '0.5 * h'}}},
        'output': 'a + 0.25 * c - d1', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'tables_of_distances': {
        'arrays': {'x': {'shape': ['B', 'H', 'Nq', 3]}, 'y': {'shape': [3, 'E'], 'learned': True}}, 'prepare': [{'scale': {'by': 30}}],
        'similarity': {'softmax': {'modify': 's + x[b][h][row][clamp(j - i, -1, 1) + 1]'}}, 'shape': {'head_dim': 4},
        'sums': {'o': {}, 'w0': {'factor': 'j < i', 'values': 1}, 'w2': {'factor': 'j > i', 'values': 1}},
        'output': 'o + w0 * y[0][e] + w2 * y[2][e]', 'emit': ['forward', 'backward']},
    'output_of_the_only_sum': {
        'arrays': {'gate': {'shape': ['B', 'H', 'Nq', 'E']}}, 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 4},
        'output': 'o * o * sigmoid(gate[b][h][row][e])', 'emit': ['forward', 'backward', 'decode']},
    'gradients_of_rows_of_heads': {
        'arrays': {'q2': {'shape': ['B', 'H', 'Nq', 'D']}, 'k2': {'shape': ['B', 'H', 'Nk', 'D']}}, 'scores': SCORES,
        'similarity': {'softmax': {'modify': '0.18 * r'}}, 'mask': 'causal', 'normalize': 'none', 'shape': {'head_dim': 8},
        'sums': {'o2': {}, 'o3': {'factor': 'tanh(s)'}}, 'output': 'o2 - o3', 'emit': ['forward', 'backward'], 'heads': 2, 'kv_heads': 2},
    'gradients_of_narrow_rows_of_heads': {
        'arrays': {'k2': {'shape': ['B', 'H', 'Nk', 'D']}}, 'scores': {'r': {'query': 'q', 'key': 'k2'}}, 'shape': {'head_dim': 3},
        'similarity': {'custom': {'weight': '1 + (0.29 * r) * (0.29 * r)'}}, 'sums': {'o3': {}, 'o1': {'similarity': 'softmax'}},
        'output': 'o3 + o1', 'emit': ['forward', 'backward'], 'heads': 3, 'kv_heads': 1, 'n_q': 2, 'n_k': 56},
    'gradients_of_prepared_rows_of_heads': {
        'arrays': {'q2': {'shape': ['B', 'H', 'Nq', 8]}, 'k2': {'shape': ['B', 'H', 'Nk', 8]}}, 'scores': SCORES,
        'similarity': {'custom': {'weight': 'exp(r)'}}, 'prepare': [{'l2norm': {'rows': ['q2', 'k2']}}], 'shape': {'head_dim': 32},
        'emit': ['forward', 'backward'], 'heads': 3, 'kv_heads': 3, 'batch': 3, 'n_q': 8, 'n_k': 33},
    'elements_of_two_sums': {
        'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': 'j < i / 3'}]}, 'decay': {'log': 't % 11 == 3 ? -90 : 0'},
        'sums': {'a': {}, 'c': {'similarity': {'softmax': {'modify': 's + tanh(s)'}}}}, 'output': 'e % 2 ? a : c',
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'], 'n_q': 39, 'n_k': 39},
    'gradient_of_positions_beside_a_sum': {
        'similarity': {'softmax': {'modify': 's + tanh(a0[b][h][i])'}}, 'shape': {'head_dim': 8},
        'arrays': {'a0': {'shape': ['B', 'H', 'Nk'], 'learned': True}}, 'output': 'o2 + o3', 'emit': ['forward', 'backward'],
        'sums': {'o2': {}, 'o3': {'similarity': {'linear': {'features': {'relu': {'eps': 0.1}}}}, 'normalize': {'sink': '0.5 * h'}}},
        'heads': 2, 'kv_heads': 1, 'batch': 1, 'n_q': 20, 'n_k': 20},
    'features_in_a_vector_of_sums': {
        'prepare': [{'rope': {'dims': 10}}], 'similarity': 'softmax', 'shape': {'head_dim': 17}, 'algorithm': 'linear',
        'sums': {'o2': {'similarity': {'polynomial': {'degree': 2}}, 'factor': 'i - j < 5'}}, 'emit': ['forward', 'backward'],
        'heads': 2, 'kv_heads': 1, 'batch': 1, 'n_q': 20, 'n_k': 20},
    'ranges_of_two_sums': {
        'similarity': 'softmax', 'mask': {'not': {'any': [{'block_window': {'block': 12, 'left': 2, 'right': 1}}, {'global': {'tokens': [49, 14]}}]}},
        'sums': {'a': {}, 'c': {'similarity': {'linear': {'features': 'elu_plus_one'}}}}, 'output': 'a - c',
        'shape': {'head_dim': 2, 'value_dim': 32}, 'n_q': 2, 'n_k': 76},
    'masks_of_few_queries': {
        'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'all': ['causal', {'window': {'left': 17, 'dilation': 3}}]},
        'sums': {'a': {}, 'c': {'mask': {'all': ['causal', {'block_window': {'block': 8, 'left': 1}}]}}}, 'output': 'a - c',
        'shape': {'head_dim': 4}, 'emit': ['forward', 'decode'], 'chunks': [1], 'n_q': 46, 'n_k': 46},
    'output_that_cancels': {
        'similarity': 'softmax', 'mask': 'causal', 'sums': {'a': {}, 'c': {'mask': {'window': {'left': 5}}}},
        'output': 'tanh(a) * (1 + c) - a', 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'parts_of_matrix_units': {
        'similarity': 'softmax', 'sums': {'a': {'similarity': {'custom': {'weight': '1 + s * s'}}}, 'c': {'factor': 'tanh(s)'}},
        'output': 'a + c', 'shape': {'head_dim': 30}, 'dtype': 'bf16', 'algorithm': 'linear', 'schedule': {'part': 16},
        'n_q': 29, 'n_k': 29, 'target': 'x86-64-v4'},
    'waves_in_one_vector': {
        'arrays': {'r': {'shape': ['H']}, 'w': {'shape': ['H']}}, 'mask': 'causal', 'normalize': 'none', 'target': 'generic',
        'similarity': {'custom': {'weight': 'exp(-fabs(r[h]) * (i - j)) * cos(w[h] * (i - j)) + 0.5 * exp(-2 * (i - j))'}},
        'algorithm': 'linear', 'shape': {'head_dim': 16}, 'emit': ['forward', 'backward'], 'n_q': 90, 'n_k': 90},
    'written_rows_that_rotate': {
        'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none', 'shape': {'head_dim': 16},
        'prepare': [{'rope': {'rows': ['x']}}, {'l2norm': {'rows': ['x']}}, 'l2norm'], 'delta': {'rate': '0.5', 'write': 'x'},
        'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}, 'x': {'shape': ['B', 'H', 'Nk', 'D']}},
        'decay': {'log': 'gate[b][h][t][d]'}, 'emit': ['forward', 'backward']},
    'product_of_divided_and_undivided': {
        'similarity': 'softmax', 'shape': {'head_dim': 4}, 'arrays': {'u': {'shape': ['B', 'H', 'Nq'], 'type': 'bool'}},
        'mask': {'expr': '!u[b][h][row]'}, 'emit': ['forward', 'backward'], 'output': 'a * c + 0.25 * a',
        'sums': {'a': {'factor': 'i - j < 5', 'values': 1}, 'c': {'factor': 'i - j < 5', 'normalize': 'none'}}},
    'weights_that_alone_decay_by_elements': {
        'similarity': {'custom': {'weight': 'exp(key[b][j])'}}, 'mask': 'causal', 'normalize': 'none',
        'arrays': {'key': {'shape': ['B', 'Nk']}, 'gate': {'shape': ['B', 'G', 'Nk']}},
        'decay': {'log': '-fabs(gate[b][g][t]) * (d % 3 + 1)'}, 'weights': '0.125 * s', 'emit': ['forward', 'weights'],
        'shape': {'head_dim': 16}},
    'listed_keys_of_blocks_of_queries': {
        'similarity': 'softmax', 'mask': {'all': ['causal', {'top': {'count': 20, 'by': 't'}}]}, 'dtype': 'bf16',
        'arrays': {'qi': {'shape': ['B', 1, 'Nq', 32]}, 'ki': {'shape': ['B', 1, 'Nk', 32]}},
        'scores': {'t': {'query': 'qi', 'key': 'ki', 'sum': 't'}}, 'shape': {'head_dim': 64}, 'emit': ['forward', 'decode'],
        'heads': 16, 'kv_heads': 1, 'n_q': 65, 'n_k': 65, 'target': 'x86-64-v4'},
    'keys_that_heads_hide': {
        'similarity': {'polynomial': {'degree': 2}}, 'mask': {'all': ['causal', {'expr': 'u[h][j]'}]}, 'shape': {'head_dim': 4},
        'arrays': {'u': {'shape': ['H', 'Nk'], 'type': 'bool'}}, 'emit': ['forward', 'backward', 'decode'],
        'algorithm': 'linear', 'batch': 1, 'n_q': 40, 'n_k': 40},
    'array_at_queries': {
        'similarity': {'softmax': {'modify': 's + tanh(a[b][h][i])'}}, 'mask': 'causal', 'normalize': 'none',
        'arrays': {'a': {'shape': ['B', 'H', 'Nk'], 'learned': True}}, 'shape': {'head_dim': 4}, 'emit': ['forward', 'backward'],
        'n_q': 20, 'n_k': 25},
    'lists_of_two_sums_with_one_weight': {
        'similarity': 'softmax', 'shape': {'head_dim': 4}, 'output': 'a + c', 'emit': ['forward', 'backward', 'decode'],
        'sums': {'a': {'mask': {'all': ['causal', {'top': {'count': 5, 'by': 's'}}]}},
                 'c': {'mask': {'all': ['causal', {'top': {'count': 7, 'by': '-s'}}]}}}, 'n_q': 70, 'n_k': 70},
    'best_keys_by_a_score_of_one_head': {
        'similarity': 'softmax', 'mask': {'all': ['causal', {'top': {'count': 9, 'by': 'r'}}]}, 'shape': {'head_dim': 8},
        'arrays': {'qi': {'shape': ['B', 1, 'Nq', 32]}, 'ki': {'shape': ['B', 1, 'Nk', 32]}},
        'scores': {'r': {'query': 'qi', 'key': 'ki'}}, 'emit': ['forward', 'backward', 'decode'], 'n_q': 37, 'n_k': 37},
    'gradients_of_rows_of_one_head': {
        'similarity': {'softmax': {'modify': 's + 0.2 * r'}}, 'mask': 'causal', 'shape': {'head_dim': 8}, 'batch': 1,
        'arrays': {'qi': {'shape': ['B', 1, 'Nq', 8]}, 'ki': {'shape': ['B', 1, 'Nk', 8]}},
        'scores': {'r': {'query': 'qi', 'key': 'ki'}}, 'running': {'near': {'sum': 'sigmoid(r)'}},
        'sums': {'o': {'factor': 'exp(-near)'}}, 'emit': ['forward', 'backward'], 'n_q': 37, 'n_k': 50},
    'running_sum_of_arrays_of_all_heads': {
        'similarity': {'softmax': {'modify': 's - 0.1 * near'}}, 'mask': 'causal', 'shape': {'head_dim': 8}, 'n_q': 21,
        'arrays': {'a': {'shape': ['B', 'Nq']}, 'c': {'shape': ['B', 'G', 'Nq']}}, 'n_k': 26,
        'running': {'near': {'sum': 'sigmoid(a[b][row] * c[b][g][row] * s)'}}, 'emit': ['forward', 'backward']},
    'factors_of_rows_that_see_nothing': {
        'similarity': {'custom': {'weight': 'sigmoid(s) * exp(-near)'}}, 'shape': {'head_dim': 4}, 'output': 'a - c',
        'sums': {'a': {'factor': 'i', 'mask': 'causal'}, 'c': {'values': 1}}, 'running': {'near': {'sum': 'sigmoid(s)'}},
        'n_q': 52, 'n_k': 16},
    'gradient_of_a_decay_beside_a_running_sum': {
        'similarity': {'custom': {'weight': 'sigmoid(s) * exp(-fabs(near))'}}, 'mask': 'causal', 'shape': {'head_dim': 8},
        'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'decay': {'log': 'gate[b][h][t]'}, 'batch': 1, 'seed': 3,
        'running': {'near': {'sum': 'sigmoid(s)'}}, 'emit': ['forward', 'backward'], 'n_q': 30, 'n_k': 30},
    'pages_after_a_prefix': {
        'similarity': 'softmax', 'mask': {'all': [{'not': {'prefix': {'length': 20}}}, 'causal']}, 'shape': {'head_dim': 8},
        'emit': ['forward', 'decode'], 'chunks': [33, 7, 1]},
    'rounded_exponents_of_positions': {
        'similarity': {'linear': {'features': 'taylor1', 'modify': 's * exp((i - j) * 0.1899968)'}}, 'mask': 'causal',
        'arrays': {'beta': {'shape': ['B', 'Nk']}}, 'prepare': ['l2norm'],
        'delta': {'rate': 'fabs(tanh(beta[b][t])) / D'}, 'decay': {'log': '-0.05 * (h + 1)'}, 'heads': 1, 'kv_heads': 1,
        'shape': {'head_dim': 17, 'value_dim': 32}, 'n_q': 156, 'n_k': 156, 'seed': 1},
    'listed_keys_among_ids_in_any_order': {
        'similarity': 'softmax', 'mask': {'all': ['causal', 'document', {'top': {'count': 5, 'by': 's'}}]}, 'ids': 'any',
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward', 'decode']},
    'pairs_of_listed_values': {
        'similarity': 'softmax', 'mask': {'all': ['causal', {'top': {'count': 5, 'by': 't'}}]}, 'dtype': 'bf16',
        'arrays': {'qi': {'shape': ['B', 1, 'Nq', 8]}, 'ki': {'shape': ['B', 1, 'Nk', 8]}},
        'scores': {'t': {'query': 'qi', 'key': 'ki', 'sum': 't'}}, 'shape': {'head_dim': 16}, 'emit': ['forward', 'backward', 'decode'],
        'n_q': 65, 'n_k': 65, 'target': 'x86-64-v4'},
    'undivided_sums': {
        'similarity': {'softmax': {'scale': 1}}, 'mask': 'causal', 'normalize': 'none', 'shape': {'head_dim': 4},
        'sums': {'a': {}, 'n': {'values': 1}}, 'output': 'a / fmax(fabs(n), 1)', 'emit': ['forward', 'backward', 'decode']},
}


class Many(Suite):
    """A suite whose cases are random specs. It compiles kernels and tests them in child processes."""

    def __init__(self):
        super().__init__(__doc__.split('\n\n')[0], options)
        draw_spec.READS, draw_spec.SEVERAL = self.options.arrays, self.options.several
        self.environment = quick.environment(self.folder)
        self.without = autograd() if not self.options.list else ''
        self.runnable = [t for t in targets_of(MACHINE, 'any') if not missing_flags(t)]
        self.objects, self.archive = Objects(self.folder), self.folder + '/runtime.a'

    def prepare(self):
        """Compiles what all kernels share."""
        execute(['ar', 'rcs', self.archive, *runtime_objects(self)])

    def kernel(self, d, folder):
        """Returns the kernel of a draw, from a new folder."""
        path, refused = accepted(self, d, folder, 'c,h,json')
        if not path: raise Skip(refused[-1])
        return Kernel(library(self, d, folder), d['spec']['name'])


def options(parser):
    add = parser.add_argument
    add('--log', metavar='FILE', help='a line for each spec; specs in it are not tested again')
    add('--count', type=int, default=24 if WHOLE else 12, help='specs (default: %(default)s)')
    add('--seed', type=int, default=1, help='other specs (default: 1)')
    add('--arrays', type=float, default=0.9, metavar='PART',
        help='the part of the specs whose weights may read arrays (default: 0.9)')
    add('--several', type=float, default=0.15, metavar='PART',
        help='the part of the specs that have scores and several sums (default: 0.15)')
    add('--spec', metavar='FILE', help='only this spec, a file that a campaign wrote')
    add('--shrink', type=float, default=0, metavar='SECONDS', help='for making smaller the spec of --spec (default: 0)')


def divides(d):
    """Makes the spec a linear form whose gradients can be computed for parts of the tokens."""
    spec, rng = d['spec'], random.Random('divides %s' % d['spec'])
    for key in 'project', 'dropout', 'seed', 'storage': spec.pop(key, None)
    if re.search(r"softmax|dense|additive|multiplicative|\b(row|Nq|Nk)\b|/ \d+\]", str(spec['similarity'])):
        spec['similarity'] = {'linear': {'features': rng.choice(draw_spec.CORRECTED)}}
    spec['prepare'] = [step for step in spec.get('prepare', []) if 'rope' not in str(step)]
    spec['shape']['head_dim'] = max(3, spec['shape']['head_dim'])   # a norm leaves only the signs of two elements
    if rng.random() < 0.4 and 'delta' not in spec: draw_spec.delta(rng, spec)
    if rng.random() < 0.4 and 'decay' not in spec:
        logs = [x for x in draw_spec.LOGS if '90' not in str(x[0])]
        if 'identity' in str(spec['similarity']): logs = draw_spec.LOGS_OF_ELEMENTS
        log, shapes = rng.choice(logs)
        spec |= {'decay': {'log': log},
                 'arrays': spec.get('arrays', {}) | {name: {'shape': shape} for name, shape in shapes.items()}}
        if not spec['arrays']: del spec['arrays']
    spec |= {'mask': 'causal', 'algorithm': 'linear', 'emit': ['forward', 'backward', 'decode']}
    if 'delta' in spec:
        spec['normalize'] = 'none'
        d['heads'] = d['kv_heads']
    while d['batch'] * d['heads'] * d['n_k'] ** 2 > random_calls.MOST_PAIRS: d['n_k'] = d['n_k'] * 3 // 4
    d |= {'divides': True, 'targets': ['generic']}


def drawn(suite, seed, number, parts=False):
    """Yields draws until one can be judged. `parts`: gradients can be computed for parts of the tokens."""
    for again in range(DRAWS * (1 + parts)):
        d = draw_spec.draw(seed, number + 1000000 * again, True)
        if parts: divides(d)
        if number % OFTEN and 'storage' not in d['spec']:
            d['spec'] = draw_spec.fitting(draw_spec.capped(d['spec'], LARGEST))
        if d['targets'] != ['generic']: d['targets'] = suite.runnable[number % len(suite.runnable):][:1]
        d['flags'] = ['-O2'] if number % (8 * OFTEN) == 67 else ['-O0']
        d['checks'] = number % (4 * OFTEN) == 5
        if number % (4 * OFTEN) == 7: d['compiler'] = 'gcc'
        yield d


def library(suite, d, folder):
    """Compiles the emitted C. Returns its shared library."""
    options = [*d['flags'], '-std=gnu11', '-w', '-I', RUNTIME, '-I', folder]
    compiling, linking = quick.lines(compiler(d.get('compiler', 'clang')), options,
                                     os.path.join(folder, d['spec']['name'] + '.c'), folder + '/kernel.so', suite.archive)
    done = ended(compiling, env=dict(os.environ, LC_ALL='C'))
    if done.returncode: raise Wrong('compiler: ' + random_specs.kind_of(done.stderr), done.stderr[:2000])
    done = ended(linking)
    if done.returncode: raise Wrong('linker', done.stderr[:2000])
    return folder + '/kernel.so'


def judge(suite, d, folder):
    """Runs all checks of a draw without its refused parts. Returns notes."""
    path, refused = accepted(suite, d, folder, 'c,h,json,loops' if multiplies_bf16() else 'c,h,json')
    if not path: raise Skip(refused[-1])
    if random_specs.grows(d['spec']): d['n_q'] = d['n_k']
    with open(path[:-5] + '.json') as f: linear = any(k['form'] == 'linear' for k in json.load(f)['kernels'])
    kernel = Kernel(library(suite, d, folder), d['spec']['name'])
    notes = [random_calls.judge(random_calls.Drawn(suite, d, folder, path, kernel, linear))]
    if d['checks']: notes.append(random_specs.checked(suite, d, path))
    return '; '.join(filter(None, refused + notes))


def apart(suite, d, folder):
    """Judges a draw in a child process, because a kernel may crash. Returns (verdict, kind, what to say, the draw)."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, resource.RLIM_INFINITY))
        signal.alarm(NO_END)
        try:
            said = ['ok', '', judge(suite, d, folder)]
        except Skip as skip:
            said = ['skip', '', str(skip)]
        except Wrong as wrong:
            said = ['FAIL', wrong.kind, str(wrong)]
        except BaseException:
            said = ['FAIL', 'the test itself broke', traceback.format_exc()]
        with os.fdopen(write, 'w') as f: json.dump(said, f)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f: said = f.read()
    status = os.waitpid(child, 0)[1]
    if said: return json.loads(said)
    ending = os.WTERMSIG(status)
    if ending == signal.SIGXCPU: return ['slow', '', 'more than %d s of CPU time' % SECONDS]
    return ['FAIL', 'killed by ' + signal_name(ending), 'killed by ' + signal_name(ending)]


def one(suite, seed, number, folder, parts=False):
    """Tests the draws of a number. Returns (verdict, kind, what to say, the last draw)."""
    notes = ''
    for d in drawn(suite, seed, number, parts):
        verdict, kind, said = apart(suite, copy.deepcopy(d), folder)
        if verdict != 'skip': return verdict, kind, said + notes, d
        notes = '; drawn again: ' + said.split('\n')[0]
    return verdict, kind, said, d


def done_before(path):
    if not os.path.exists(path): return set()
    with open(path) as f: return {(int(m[1]), int(m[2])) for m in re.finditer(r'^\w+ (\d+)/(\d+) ', f.read(), re.M)}


def campaign(suite):
    o, count = suite.options, {}
    before = done_before(o.log)
    with open(o.log, 'a') as log:
        version = execute(['git', '-C', HERE, 'rev-parse', '--short', 'HEAD']).stdout.strip()
        now = time.strftime('%F %T')
        print('# commit %s, seed %d, arrays %g, %s' % (version, o.seed, o.arrays, now), file=log, flush=True)
        for number in range(o.count):
            if (o.seed, number) in before: continue
            used = sum(os.times()[:4])
            verdict, kind, said, d = one(suite, o.seed, number, suite.folder + '/spec')
            count[verdict] = count.get(verdict, 0) + 1
            words = ' '.join((kind or said).split())[:150]
            used = sum(os.times()[:4]) - used
            print('%s %d/%05d %.2f %s' % (verdict, o.seed, number, used, words), file=log, flush=True)
            if verdict != 'FAIL': continue
            print('FAIL %d/%05d %s' % (o.seed, number, words), flush=True)
            with open('%s.%d-%05d.yaml' % (o.log, o.seed, number), 'w') as f:
                f.write(told(d) + '\n' + ''.join('# %s\n' % line for line in said.split('\n')))
    print(', '.join('%d %s' % (n, verdict) for verdict, n in sorted(count.items())))
    return 1 if 'FAIL' in count else 0


def again(suite):
    """Tests a spec of a file, and makes it smaller if it fails."""
    o = suite.options
    with open(o.spec) as f: rest = re.findall(r'^# (\{.*\})$', f.read(), re.M)
    d = draw_spec.draw(1, 0, True) | {'flags': ['-O0'], 'checks': False} | json.loads((rest or ['{}'])[0]) | {
        'spec': definitions.load(o.spec)}
    if d['targets'] not in [[t] for t in suite.runnable]: d['targets'] = suite.runnable[-1:]
    folder = suite.folder + '/spec'
    verdict, kind, said = apart(suite, copy.deepcopy(d), folder)
    print(verdict, said)
    if verdict == 'FAIL' and o.shrink:
        end = time.monotonic() + o.shrink
        small = shrink(d, lambda other: apart(suite, copy.deepcopy(other), folder)[:2] == [verdict, kind],
                       lambda: time.monotonic() > end)
        verdict, kind, said = apart(suite, copy.deepcopy(small), folder)
        print('made smaller:\n%s\n%s' % (told(small), said))
    return 1 if verdict == 'FAIL' else 0


def found(folder, suite, name):
    spec = FOUND[name] | {'name': 'spec'}
    d = draw_spec.draw(1, 0, True) | {
        'spec': spec, 'heads': 2 if 'delta' in spec else 4, 'kv_heads': 2, 'batch': 2, 'n_q': 60, 'n_k': 60,
        'chunks': [60, 7, 1], 'targets': suite.runnable[-1:], 'flags': ['-O0'], 'checks': False}
    own = {key: spec.pop(key) for key in ('heads', 'kv_heads', 'batch', 'n_q', 'n_k', 'seed', 'ids', 'chunks', 'target') if key in spec}
    if own.pop('target', '') in suite.runnable: d['targets'] = [FOUND[name]['target']]
    d |= own
    verdict, kind, said = apart(suite, d, folder + '/spec')
    if verdict != 'ok': raise Failure(said)
    return said


def case(folder, suite, number, parts=False):
    verdict, kind, said, d = one(suite, suite.options.seed, number, folder + '/spec', parts)
    if verdict == 'FAIL': raise Failure('%s\n--- drawn\n%s' % (said, told(d)))
    if verdict != 'ok': raise Skip(said)
    return said.replace('\n', ' ')


def main():
    suite = Many()
    o = suite.options
    if not o.list: suite.prepare()
    if o.log or o.spec:
        try:
            return again(suite) if o.spec else campaign(suite)
        finally:
            shutil.rmtree(suite.folder, ignore_errors=True)
    for name in FOUND: suite.case('found/' + name, found, suite, name)
    for number in range(o.count): suite.case('%05d' % number, case, suite, number)
    for number in range(o.count // 3): suite.case('parts/%05d' % number, case, suite, number, True)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
