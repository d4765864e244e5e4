#!/usr/bin/python3
"""Compares kernels for few queries with definitions.py: every weight, mask, dtype and preparation, with one or
several chunks of keys. The bits depend neither on the number of threads nor on other queries of the call.

Each kernel is compiled once and called from NumPy. The shapes are around the limits at which its loops change."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from answers import draw
from kernel import Objects, best_target, compiled
from suite import WHOLE, Suite, check, compiler, execute

# Types of stored keys and values, with the sizes of rows. Sums over several rows use other loops than over one.
STORED = {'f16': (128, 48), 'bf16': (48, 160), 'fp8': (64, 24), 'i8': (64, 48), 'i8_32': (128, 64), 'i8_64': (64, 128),
          'q8_0': (64, 160), 'q4_0': (128, 96)}
DECAY = 's * s * pow(1 - pow(2, -3 - h), i - j)'
SPECS = {
    'softmax': {'similarity': 'softmax', 'shape': {'head_dim': 64}},
    'causal': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 64}},
    'causal-bf16': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'bf16', 'shape': {'head_dim': 64}},
    'causal-f16': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f16', 'shape': {'head_dim': 128}},
    'causal-f64': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f64', 'shape': {'head_dim': 16}},
    'sink': {'similarity': 'softmax', 'normalize': {'sink': 'h * 2 - i * 0.01'}, 'mask': 'causal', 'dtype': 'bf16',
             'emit': ['forward', 'statistics'], 'shape': {'head_dim': 32, 'value_dim': 20}},
    'odd-f16': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f16',
                'shape': {'head_dim': 24, 'value_dim': 20}},
    'odd-f64': {'similarity': 'softmax', 'mask': {'window': {'left': 40}}, 'dtype': 'f64',
                'shape': {'head_dim': 5, 'value_dim': 3}},
    'rope-window': {'prepare': ['rope'], 'similarity': {'softmax': {'cap': 8.0, 'bias': 'alibi'}},
                    'mask': {'window': {'left': 300, 'right': 3, 'dilation': 3}}, 'shape': {'head_dim': 32}},
    'rope-halves': {'prepare': [{'layernorm': {'affine': True}}, {'rope': {'pairs': 'halves'}}], 'mask': 'causal',
                    'similarity': 'softmax', 'dtype': 'bf16', 'shape': {'head_dim': 64, 'value_dim': 24}},
    'dense': {'similarity': {'softmax': {'bias': 'dense'}}, 'shape': {'head_dim': 16, 'value_dim': 24}},
    'multiplicative': {'similarity': {'softmax': {'compatibility': 'multiplicative', 'bias': 'dense'}},
                       'normalize': {'sum_plus': 0.5}, 'shape': {'head_dim': 32}},
    'additive': {'similarity': {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}, 'mask': 'causal',
                 'shape': {'head_dim': 8, 'value_dim': 16}},
    'cosine': {'prepare': ['l2norm', {'scale': {'by': 3}}], 'similarity': 'softmax', 'shape': {'head_dim': 48}},
    'polynomial': {'similarity': {'polynomial': {'degree': 4}}, 'prepare': ['layernorm'],
                   'mask': {'prefix': {'length': 70}}, 'shape': {'head_dim': 64}},
    'square': {'similarity': {'polynomial_square': {'degree': 3, 'coefficients': 'param'}}, 'mask': 'causal',
               'normalize': {'sum_plus': 1}, 'algorithm': 'quadratic', 'shape': {'head_dim': 16}},
    'power': {'similarity': {'polynomial': {'degree': 32}}, 'mask': 'causal', 'shape': {'head_dim': 16}},
    'signed': {'similarity': {'custom': {'weight': 's'}}, 'normalize': 'none', 'algorithm': 'quadratic',
               'mask': 'causal', 'shape': {'head_dim': 16, 'value_dim': 8}},
    'exp-poly': {'similarity': {'custom': {'weight': 'exp(s / 4) * (1 + s * s)'}}, 'mask': {'window': {'left': 700}},
                 'shape': {'head_dim': 16}},
    'decay': {'similarity': {'custom': {'weight': DECAY}}, 'mask': 'causal', 'normalize': {'sum_plus': 1},
              'shape': {'head_dim': 16}},
    'elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'shape': {'head_dim': 32, 'value_dim': 24}},
    'elu-causal': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                   'shape': {'head_dim': 32}},
    'favor': {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'mask': 'causal',
              'shape': {'head_dim': 16}},
    'hedgehog': {'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': 'causal', 'shape': {'head_dim': 16}},
    'sketch': {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'block': 32,
               'mask': 'causal', 'shape': {'head_dim': 16}},
    'linformer': {'similarity': 'softmax', 'project': {'linformer': {'size': 24}}, 'shape': {'head_dim': 16}},
    'padded': {'similarity': 'softmax', 'mask': {'all': ['causal', 'lengths']}, 'shape': {'head_dim': 16}},
    'documents': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'shape': {'head_dim': 16}},
    'blocks': {'similarity': 'softmax', 'mask': {'any': [{'block_window': {'block': 64, 'left': 1, 'right': 1}},
                                                         {'global': {'count': 70}},
                                                         {'random': {'block': 64, 'count': 2, 'seed': 5}}]},
               'dtype': 'f16', 'shape': {'head_dim': 16}},
    'random': {'similarity': 'softmax', 'mask': {'random': {'block': 3, 'count': 200}}, 'shape': {'head_dim': 16}},
    'heads': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && (i - j < 20 || j % 7 == h)'},
              'shape': {'head_dim': 16}},
    'with-gradients': {'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'backward'],
                       'shape': {'head_dim': 16}},
    # Each query sees one range of keys, which the call gives.
    'ranges': {'arrays': {'first': {'shape': ['B', 'Nq'], 'type': 'int'}, 'end': {'shape': ['B', 'Nq'], 'type': 'int'},
                          'sink': {'shape': ['H']}}, 'similarity': 'softmax', 'normalize': {'sink': 'sink[h]'},
               'mask': {'expr': 'first[b][row] <= j && j < end[b][row] + 40'}, 'dtype': 'f16', 'shape': {'head_dim': 16}},
    'ranges-by-head': {'arrays': {'end': {'shape': ['B', 'H', 'Nq'], 'type': 'int'}}, 'similarity': 'softmax',
                       'mask': {'expr': 'j < end[b][h][row]'}, 'shape': {'head_dim': 16}},
    'tree': {'arrays': {'tree': {'shape': ['B', 'Nq', 'Nk'], 'type': 'bool'}}, 'similarity': 'softmax',
             'mask': {'expr': 'tree[b][row][j]'}, 'dtype': 'bf16', 'shape': {'head_dim': 24}},
    'pair-ids': {'arrays': {'id': {'shape': ['B', 'Nq', 'Nk'], 'type': 'int'}}, 'similarity': 'softmax',
                 'mask': {'all': ['causal', {'expr': 'id[b][row][j] % 3 == 0'}]}, 'shape': {'head_dim': 16}},
    # Many heads that share keys take the place of queries.
    'values': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 24, 'value_dim': 16, 'values': 'keys'}},
    'values-bf16': {'similarity': {'softmax': {'cap': 5.0}}, 'mask': 'causal', 'dtype': 'bf16',
                    'shape': {'head_dim': 72, 'value_dim': 64, 'values': 'keys'}},
    'values-f16': {'prepare': ['rope', 'layernorm'], 'similarity': {'softmax': {'bias': 'alibi'}},
                   'mask': {'window': {'left': 37, 'right': 3}}, 'dtype': 'f16',
                   'shape': {'head_dim': 18, 'values': 'keys'}},
    'values-f64': {'prepare': ['rmsnorm', 'rope'], 'similarity': 'softmax', 'dtype': 'f64',
                   'mask': {'expr': 'j <= i && (i - j < 20 || j % 7 == h % 7)'},
                   'shape': {'head_dim': 16, 'value_dim': 7, 'values': 'keys'}},
    'values-documents': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']},
                         'shape': {'head_dim': 16, 'value_dim': 12, 'values': 'keys'}},
    'values-ranges': {'arrays': {'end': {'shape': ['B', 'Nq'], 'type': 'int'}}, 'similarity': 'softmax',
                      'mask': {'expr': 'j < end[b][row]'}, 'shape': {'head_dim': 16, 'value_dim': 8, 'values': 'keys'}},
    'values-dense': {'similarity': {'softmax': {'bias': 'dense'}}, 'mask': 'causal',
                     'shape': {'head_dim': 16, 'value_dim': 8, 'values': 'keys'}},
    'values-hedgehog': {'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': 'causal', 'algorithm': 'quadratic',
                        'shape': {'head_dim': 16, 'values': 'keys'}},
    'scheduled': {'similarity': {'polynomial': {'degree': 2, 'alpha': 1}}, 'mask': 'causal', 'shape': {'head_dim': 16},
                  'schedule': [{'tile_q': 16, 'crossover': 20}, {'from': 1000, 'crossover': 2147483647}]},
}
MASKS = ['causal', {'window': {'left': 300, 'right': 3}}, {'all': ['causal', 'document']}]
SPECS |= {'stored-' + kind: {'similarity': 'softmax', 'mask': MASKS[n % 3], 'storage': {'k': kind, 'v': kind},
                             'shape': {'head_dim': terms, 'value_dim': lanes}}
          for n, (kind, (terms, lanes)) in enumerate(STORED.items())}
# Each shape is (n_q, n_k, heads, kv_heads, batch).
SHAPES = [(1, 1, 1, 1, 1), (1, 2500, 4, 2, 2), (2, 1023, 3, 1, 1), (3, 1025, 6, 3, 1), (16, 1040, 4, 1, 1),
          (5, 3, 2, 1, 1), (4, 129, 16, 1, 1), (4, 129, 17, 1, 1), (17, 140, 2, 2, 1), (1, 70, 64, 1, 1)]
MANY_HEADS = [(1, 130, 40, 1, 2), (1, 1030, 66, 2, 1), (1, 1, 32, 1, 3), (5, 70, 33, 1, 1), (16, 129, 128, 1, 1),
              (3, 2, 33, 1, 1), (2, 50, 64, 2, 1), (1, 290, 31, 1, 1), (17, 33, 40, 1, 1)]
ROWS = [(n_q, n_k, heads, 2, 1) for n_q, n_k, heads in
        [(1, 143, 2), (2, 128, 2), (3, 161, 2), (4, 129, 2), (5, 127, 2), (1, 130, 4), (1, 1050, 6), (1, 33, 8),
         (1, 145, 10), (2, 1040, 6), (3, 17, 6), (4, 150, 8), (5, 15, 6)]]
THREADS = [1, 2, 3, 7]
# Specs whose kernels have no loops for few queries.
WITHOUT = {name: 'its map has a matrix for each head' for name in ('hedgehog', 'values-hedgehog')}
WITHOUT_HEADS = ('values-documents', 'values-dense', 'values-ranges', *WITHOUT)


def kernel_of(folder, suite, name, spec, target):
    path = os.path.join(folder, 'few.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'few', 'dtype': 'f32'} | spec, f, sort_keys=False)
    usual = ('-O2', 'cc') if name in (('causal', 'causal-f16', 'stored-q4_0') if WHOLE else ('causal-f16',)) else ('-O0', compiler('clang'))
    kernel = compiled(suite, path, folder, target, *usual)
    with open(os.path.join(folder, 'few.c')) as f:
        text = f.read()
    found, heads = 'few_few_' in text, 'few_heads_' in text
    check(found == (name not in WITHOUT), 'it has %s loops for few queries' % ('no' if not found else 'now'))
    check(heads == ('values' in name and name not in WITHOUT_HEADS),
          'it has %s loops for heads' % ('no' if not heads else 'now'))
    return definitions.load(path), kernel


def few_pay(n_q, n_k, lanes=16):
    """Returns whether entry.c uses the loops for few queries on x86-64-v4. Only this target rounds weights."""
    return n_k >= 1024 or n_q * (n_k + 10 * lanes) <= -(-n_q // lanes) * lanes * n_k + 40 * lanes


def one(folder, suite, name, target, seed):
    spec, kernel = kernel_of(folder, suite, name, SPECS[name], target)
    wrong, largest = [], 0.0
    stored = 'storage' in spec
    for n, (n_q, n_k, heads, kv_heads, batch) in enumerate(SHAPES + MANY_HEADS * ('values' in name) + ROWS * stored):
        if batch * n_k > 2000 and 'additive' in str(spec['similarity']):
            continue
        answer = draw(spec, '%s/in%d' % (folder, n), (heads, kv_heads, n_q, n_k, batch), seed + n)
        P = definitions.read_dir('%s/in%d' % (folder, n))
        q, k, v = (P.pop(x).astype(np.float64) for x in 'qkv')
        outs = [kernel(P, q, k, v, threads) for threads in THREADS]
        here = 'B%d H%d G%d nq%d nk%d: ' % (batch, heads, kv_heads, n_q, n_k)
        wrong += [here + '%d threads give other bits than one' % threads for threads, out in zip(THREADS, outs)
                  if out.tobytes() != outs[0].tobytes()]
        # Kernels round the weights of a tile. The loops for few queries do not round weights.
        many = n_q > 16 or n_q * heads // kv_heads > 64 or not few_pay(n_q, n_k) or (
            'values' in name and heads // kv_heads >= 32)
        why, error, _ = answer.judge(outs[0].astype(np.float16) if spec['dtype'] == 'f16' else outs[0],
                                     more=2.0 ** -8 * answer.scale if many and spec['dtype'] == 'bf16' else 0.0)
        if why:
            wrong.append(here + why)
        largest = max(largest, error)
    check(not wrong, '; '.join(wrong[:4]))
    return '(largest error %.2f of what is allowed)' % largest


def apart(folder, suite, target):
    """A query's bits do not depend on other queries of the call."""
    spec, kernel = kernel_of(folder, suite, 'causal', SPECS['causal'], target)
    definitions.make_inputs(spec, folder + '/in', 8, 2, 5, 1500, 2, 3)
    P = definitions.read_dir(folder + '/in')
    q, k, v = (P.pop(x) for x in 'qkv')
    whole = kernel(P, q, k, v)
    for head in range(8):
        group = slice(head // 4, head // 4 + 1)
        alone = kernel(P, q[:, head:head + 1, 4:], k[:, group], v[:, group])
        check((alone == whole[:, head:head + 1, 4:]).all(), 'head %d has other bits alone' % head)


def unseen(folder, suite, name, target):
    """NaN and infinity in k reach only queries that see the key. In v, they also stay in their column."""
    spec, kernel = kernel_of(folder, suite, name, SPECS[name], target)
    definitions.make_inputs(spec, folder + '/in', 4, 2, 5, 1100, 1, 8)
    P = definitions.read_dir(folder + '/in')
    q, k, v = (P.pop(x) for x in 'qkv')
    clean = kernel(P, q, k, v)
    for key in 1099, 1097, 1024, 7:
        sees = np.arange(5) + 1095 >= key
        for what in np.nan, np.inf, -np.inf:
            k2, v2 = k.copy(), v.copy()
            k2[:, :, key] = v2[:, :, key, 3] = what
            by_key, by_value = kernel(P, q, k2, v), kernel(P, q, k, v2)
            here = '%s at key %d ' % (what, key)
            check((by_key[:, :, ~sees] == clean[:, :, ~sees]).all(), here + 'reaches queries that do not see it')
            check((by_value[:, :, ~sees] == clean[:, :, ~sees]).all(), here + 'reaches queries by its value')
            check((np.delete(by_value, 3, -1) == np.delete(clean, 3, -1)).all(), here + 'reaches other columns')
            check(not np.isfinite(by_value[:, :, sees, 3]).any(), here + 'is lost')


def said(folder, suite):
    path = os.path.join(folder, 'few.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'few'} | SPECS['elu'], f)
    done = execute([suite.attnc, 'explain', path])
    check('  few: up to 16 queries' in done.stdout and 'rows' in done.stdout, done.stdout)
    done = execute([suite.attnc, path, '--emit', 'json', '--stdout', '--target', 'generic'])
    made = yaml.safe_load(done.stdout)
    few = made['versions'][0]['few']
    check(made['kernels'][few['kernel']]['form'] == 'few' and few['queries'] == 16 and few['rows'] == 64, str(few))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(SPECS):
        suite.case(name, one, suite, name, 'generic' if n % 5 == 4 else best_target(), 100 * n)
    suite.case('apart', apart, suite, best_target())
    for name in 'causal', 'odd-f16', 'causal-f64':
        suite.case('unseen-' + name, unseen, suite, name, best_target())
    suite.case('said', said, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
