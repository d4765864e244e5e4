"""Kernels for few queries: every weight, mask, dtype and preparation, with one or several chunks of keys. The bits depend
neither on the number of threads nor on other queries of the call.

The shapes are around the limits at which the loops of these kernels change."""
from functools import partial

import yaml

from kernel import best_target
from loop import Row, in_turn, numbered, planted_at, right, same_bits, spec_file, threads, unseen
from suite import WHOLE, check, execute

# Types of stored keys and values, with the sizes of rows. Sums over several rows use other loops than over one.
STORED = {'f16': (128, 48), 'bf16': (48, 160), 'fp8': (64, 24), 'i8': (64, 48), 'i8_32': (128, 64), 'i8_64': (64, 128),
          'q8_0': (64, 160), 'q4_0': (128, 96)}
DECAY = 's * s * pow(1 - pow(2, -3 - h), i - j)'
INDEXER = {'arrays': {'qi': {'shape': ['B', 2, 'Nq', 32]}, 'ki': {'shape': ['B', 1, 'Nk', 32]}},
           'scores': {'r': {'query': 'qi', 'key': 'ki', 'sum': 'r'}}, 'similarity': 'softmax', 'shape': {'head_dim': 16}}
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
    # Threads share the keys of a row whose best keys are listed. Many keys have equal values, or NaN, which is not listed.
    'top': {'mask': {'all': ['causal', {'top': {'count': 70, 'by': 'fmin(fmax(r, -1), 1)'}}]}, **INDEXER},
    'top-blocks': {'mask': {'all': [{'window': {'left': 900}}, {'top': {'count': 5, 'block': 24, 'by': 'sqrt(r)'}}]},
                   **INDEXER},
    'top-f64': {'mask': {'top': {'count': 200, 'by': 'sqrt(r)'}}, 'dtype': 'f64', **INDEXER},
    'top-f16': {'mask': {'all': ['causal', 'document', {'top': {'count': 33, 'by': 'fmin(r, 2)'}}]}, 'dtype': 'f16',
                **INDEXER},
    'top-bf16': {'mask': {'all': ['causal', {'top': {'count': 45, 'by': 'r'}}]}, 'dtype': 'bf16', **INDEXER},
    'top-own': {'similarity': 'softmax', 'mask': {'all': ['causal', {'top': {'count': 40, 'by': 'fmin(s, 1)'}}]},
                'shape': {'head_dim': 16}},
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
SPECS = {name: {'name': 'few', 'dtype': 'f32'} | spec for name, spec in SPECS.items()}
# Each shape is (batch, heads, key/value heads, queries, keys).
SHAPES = [(1, 1, 1, 1, 1), (2, 4, 2, 1, 2500), (1, 3, 1, 2, 1023), (1, 6, 3, 3, 1025), (1, 4, 1, 16, 1040),
          (1, 2, 1, 5, 3), (1, 16, 1, 4, 129), (1, 17, 1, 4, 129), (1, 2, 2, 17, 140), (1, 64, 1, 1, 70)]
MANY_HEADS = [(2, 40, 1, 1, 130), (1, 66, 2, 1, 1030), (3, 32, 1, 1, 1), (1, 33, 1, 5, 70), (1, 128, 1, 16, 129),
              (1, 33, 1, 3, 2), (1, 64, 2, 2, 50), (1, 31, 1, 1, 290), (1, 40, 1, 17, 33)]
ROWS = [(1, heads, 2, n_q, n_k) for n_q, n_k, heads in
        [(1, 143, 2), (2, 128, 2), (3, 161, 2), (4, 129, 2), (5, 127, 2), (1, 130, 4), (1, 1050, 6), (1, 33, 8),
         (1, 145, 10), (2, 1040, 6), (3, 17, 6), (4, 150, 8), (5, 15, 6)]]
# Specs whose kernels have no loops for few queries.
WITHOUT = {name: 'its map has a matrix for each head' for name in ('hedgehog', 'values-hedgehog')}
WITHOUT |= {'top-own': 'query heads have different lists'}
GATHERED = 'top', 'top-blocks', 'top-f64', 'top-bf16'   # other masks are tests or bounds, so kernels gather keys
WITHOUT_HEADS = ('values-documents', 'values-dense', 'values-ranges', *WITHOUT)
OPTIMISED = ('causal', 'causal-f16', 'stored-q4_0') if WHOLE else ('causal-f16',)


def has_loops(made, name):
    for word, wanted in ('few', name not in WITHOUT), ('heads', ('values' in name and name not in (*WITHOUT, *WITHOUT_HEADS)) or name in GATHERED):
        check(('few_%s_' % word in made.text()) == wanted, 'it has %s loops for %s' % ('no' if wanted else 'now', word))


def few_pay(n_q, n_k, lanes=16):
    """Returns whether entry.c uses the loops for few queries on x86-64-v4. Only this target rounds weights."""
    return n_k >= 1024 or n_q * (n_k + 10 * lanes) <= -(-n_q // lanes) * lanes * n_k + 40 * lanes


def of_tiles(x):
    """Kernels round the weights of a tile. The loops for few queries do not round weights."""
    group = x.heads // x.kv_heads
    many = x.n_q > 16 or x.n_q * group > 64 or not few_pay(x.n_q, x.n_k) or (
        x.spec['shape'].get('values') == 'keys' and group >= 32) or 'qi' in x.arrays
    return 2.0 ** -8 if many and x.spec['dtype'] == 'bf16' else 0.0


def apart(x):
    """A query's bits do not depend on other queries of the call."""
    for head in range(x.heads):
        group = slice(head // 4, head // 4 + 1)
        alone = x.but(q=x.arrays['q'][:, head:head + 1, -1:], k=x.arrays['k'][:, group], v=x.arrays['v'][:, group])
        same_bits(alone.out, x.out[:, head:head + 1, -1:], 'of head %d alone' % head)


def said(folder, suite):
    path = spec_file(folder, SPECS['elu'])
    done = execute([suite.attnc, 'explain', path])
    check('  few: up to 16 queries' in done.stdout and 'rows' in done.stdout, done.stdout)
    done = execute([suite.attnc, path, '--emit', 'json', '--stdout', '--target', 'generic'])
    made = yaml.safe_load(done.stdout)
    few = made['versions'][0]['few']
    check(made['kernels'][few['kernel']]['form'] == 'few' and few['queries'] == 16 and few['rows'] == 64, str(few))


def cases():
    def row(name, case, shapes, checks, target=best_target()):
        return Row(case, SPECS[name], shapes, checks, target, ('-O2', 'cc') if name in OPTIMISED else ('-O0', 'clang'),
                   [partial(has_loops, name=name)])
    for n, name in enumerate(SPECS):
        shapes = numbered(100 * n, SHAPES + MANY_HEADS * ('values' in name) + ROWS * name.startswith('stored'))
        if name == 'additive': shapes = [(seed, s) for seed, s in shapes if s[0] * s[-1] <= 2000]
        yield row(name, name, shapes, [partial(right, more=of_tiles), threads], in_turn(n, 5))
    yield row('causal', 'apart', [(3, (2, 8, 2, 5, 1500))], [apart])
    for name in 'causal', 'odd-f16', 'causal-f64':
        planted = planted_at(1099, 1097, 1024, 7)
        yield row(name, 'unseen-' + name, [(8, (1, 4, 2, 5, 1100))], [partial(unseen, planted=planted)])
    yield 'said', said
