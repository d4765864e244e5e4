"""Positions of queries from the caller (problem.query_start).

Positions differ between sequences. Some queries are before the first key or after the last key. Each call is repeated
with the positions that a kernel uses by itself, and must then give the same bits."""
from functools import partial

import numpy as np

from kernel import best_target
from loop import ELENGTH, EPROBLEM, Row, fails, in_turn, right, right_gradients, same_bits
from processor import rounding
from suite import WHOLE

GRADIENTS = ['forward', 'backward']
ELU = {'linear': {'features': 'elu_plus_one'}}
IDENTITY = {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none'}
RATE = {'delta': {'rate': 'rate[b][h][t]'}, 'arrays': {'rate': {'shape': ['B', 'H', 'Nk']}}}
GATE = {'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}}
WINDOW = {'window': {'left': 20, 'right': 3}}
# Each value is the keys of a spec. Its gradients are compared if `emit` has backward.
SPECS = {
    'causal': {'similarity': 'softmax', 'mask': 'causal', 'emit': GRADIENTS},
    'rope': {'similarity': 'softmax', 'prepare': ['rope'], 'mask': 'causal', 'emit': GRADIENTS},
    'rope-halves': {'similarity': 'softmax', 'prepare': [{'rope': {'pairs': 'halves', 'first': 2, 'dims': 4}}]},
    'angle-array': {'similarity': 'softmax', 'mask': 'causal', 'arrays': {'place': {'shape': ['B', 'Nk']}},
                    'prepare': [{'rope': {'angle': 'place[b][i] * pow(10.0, -0.1 * t)'}}]},
    'angle': {'similarity': 'softmax', 'mask': 'causal',
              'prepare': [{'rope': {'angle': '(i + 3) * pow(10.0, -0.1 * t)'}}]},
    'window': {'similarity': 'softmax', 'mask': WINDOW, 'emit': GRADIENTS},
    'window-left': {'similarity': 'softmax', 'mask': {'window': {'left': 20}}, 'prepare': ['rope'], 'emit': GRADIENTS},
    'distance': {'similarity': {'softmax': {'modify': 's - 0.5 * log1p(fabs(i - j))'}}, 'mask': WINDOW, 'emit': GRADIENTS},
    'dilated': {'similarity': 'softmax', 'mask': {'window': {'left': 9, 'right': 4, 'dilation': 3}}, 'emit': GRADIENTS},
    'blocks': {'similarity': 'softmax', 'mask': {'block_window': {'block': 16, 'left': 1}}, 'emit': GRADIENTS},
    'global': {'similarity': 'softmax', 'mask': {'any': [WINDOW, {'global': {'tokens': [0, 40]}}]}},
    'random': {'similarity': 'softmax', 'mask': {'random': {'block': 8, 'count': 3}}, 'emit': GRADIENTS},
    'random-causal': {'similarity': 'softmax', 'mask': {'random': {'block': 8, 'count': 3, 'causal': True}}},
    'document': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'emit': GRADIENTS},
    'lengths': {'similarity': 'softmax', 'mask': {'all': ['causal', 'lengths']}, 'prepare': ['rope'],
                'emit': GRADIENTS},
    'congruent': {'similarity': 'softmax', 'mask': {'expr': '(i - j) % 8 == 0'}, 'emit': GRADIENTS},
    'columns': {'similarity': 'softmax', 'mask': {'expr': 'i % 16 == j % 16'}, 'emit': GRADIENTS},
    'alibi': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': 'causal', 'emit': GRADIENTS},
    'dense': {'similarity': {'softmax': {'bias': 'dense'}}, 'mask': 'causal'},
    'strip': {'similarity': {'softmax': {'modify': 's + table[h][i - j + 30]'}}, 'emit': GRADIENTS,
              'arrays': {'table': {'shape': ['H', 61]}}},
    'tile': {'similarity': {'softmax': {'modify': 's + table[h][i / 4 - j / 4 + 9][i % 4 - j % 4 + 3]'}}, 'emit': GRADIENTS,
             'arrays': {'table': {'shape': ['H', 19, 7]}}},
    'at-position': {'similarity': {'softmax': {'modify': 's + term[b][i] * scale[h][j]'}}, 'mask': 'causal',
                    'arrays': {'term': {'shape': ['B', 'Nk']}, 'scale': {'shape': ['H', 'Nk']}}},
    'integers': {'similarity': 'softmax', 'mask': {'expr': 'kind[b][i] <= kind[b][j] + 5'},
                 'arrays': {'kind': {'shape': ['B', 'Nk'], 'type': 'int'}}},
    'given': {'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': 'seen[b][row][j]'}]},
              'arrays': {'seen': {'shape': ['B', 'Nq', 'Nk'], 'type': 'bool'}}, 'emit': GRADIENTS},
    'sink': {'similarity': 'softmax', 'mask': 'causal', 'normalize': {'sink': '0.1 * i'},
             'emit': GRADIENTS + ['statistics']},
    'dropout': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.3, 'seed': 5, 'emit': GRADIENTS},
    'custom': {'similarity': {'custom': {'weight': '(1 + s * s) / (1 + fabs(i - j))'}}, 'mask': 'causal'},
    'forgetting': {'similarity': 'softmax', 'mask': 'causal', 'emit': GRADIENTS, **GATE},
    'linear': {'similarity': ELU, 'mask': 'causal', 'algorithm': 'linear', 'emit': GRADIENTS},
    'linear-rope': {'similarity': IDENTITY['similarity'], 'normalize': 'none', 'prepare': ['rope'], 'mask': 'causal',
                    'algorithm': 'linear', 'emit': GRADIENTS},
    'linear-all': {'similarity': ELU, 'prepare': ['rope'], 'algorithm': 'linear', 'mask': 'none', 'emit': GRADIENTS},
    'linear-before': {'similarity': ELU, 'mask': {'expr': 'j < i'}, 'algorithm': 'linear', 'emit': GRADIENTS},
    'linear-prefix': {'similarity': ELU, 'mask': {'any': ['causal', {'prefix': {'length': 21}}]},
                      'algorithm': 'linear'},
    'linear-blocks': {'similarity': ELU, 'mask': {'all': ['causal', {'block_window': {'block': 16, 'left': 2}}]},
                      'algorithm': 'linear', 'emit': GRADIENTS},
    'linear-document': {'similarity': ELU, 'mask': {'all': ['causal', 'document']}, 'algorithm': 'linear',
                        'emit': GRADIENTS},
    'retention': {'similarity': {'custom': {'weight': 's * pow(1 - pow(2, -3 - h), i - j)'}}, 'normalize': 'none',
                  'mask': 'causal', 'algorithm': 'linear', 'emit': GRADIENTS},
    'sketch': {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'block': 16,
               'mask': 'causal', 'algorithm': 'linear', 'emit': GRADIENTS},
    'gated': {**IDENTITY, 'mask': 'causal', 'algorithm': 'linear', 'emit': GRADIENTS, **GATE},
    'delta': {**IDENTITY, 'mask': 'causal', 'algorithm': 'linear', 'emit': GRADIENTS, **RATE},
    'delta-softmax': {'similarity': 'softmax', 'mask': 'causal', 'emit': GRADIENTS, **RATE},
    'auto': {'similarity': ELU, 'mask': 'causal', 'schedule': {'crossover': 64}, 'emit': GRADIENTS}}
DTYPES = ['f32', 'f64', 'bf16', 'f16']
# Each row has the number of queries and of keys, and positions of the first queries relative to n_k - n_q.
SIZES = [(1, 1, [0, 0, 0]), (5, 70, [0, -30, -65]), (70, 150, [-80, 0, -13]), (1, 150, [-140, -20, 0]),
         (33, 20, [0, -5, -40]), (130, 140, [-10, -1, 0])]
AFTER = [(5, 70, [3, -70, 40]), (70, 40, [35, -90, 0]), (1, 70, [1, 70, -75]), (40, 150, [20, -130, 149])]


def is_linear(spec):
    return spec.get('algorithm') == 'linear' and spec['mask'] != 'none'


def default(x):
    """The positions that a kernel uses by itself give the bits of no positions."""
    given, none = x.but(query_start=np.full(x.batch, x.n_k - x.n_q)), x.but(query_start=None)
    same_bits(given.out, none.out, 'if positions are given as they are by default')
    if 'backward' in x.spec.get('emit', []):
        first, second = given.gradients(), none.gradients()
        for name in first: same_bits(first[name], second[name], 'of %s if positions are given as they are by default' % name)


def refused(made):
    """A linear form refuses queries after the last key."""
    fails(made.draw(0, (3, *heads_of(made.spec, 0), 7, 40, [-3, 0, 1])), ELENGTH, 'a query after the last key')


FAR = {'name': 'positions', 'dtype': 'f32', 'shape': {'head_dim': 8}, 'mask': {'any': [WINDOW, 'document']},
       'similarity': {'softmax': {'modify': 's + table[h][i - j + 30] + term[b][i]'}},
       'arrays': {'table': {'shape': ['H', 61]}, 'term': {'shape': ['B', 'Nk']}}}


def far(x):
    """Positions beyond 2^31 are errors. Positions up to it read nothing outside the arrays."""
    for start in (2 ** 31, -2 ** 31, 2 ** 31 - 9): right(x.but(query_start=np.array([start, 3, -start])))
    for start in (2 ** 31 + 1, -2 ** 31 - 1, 2 ** 63 - 1, -2 ** 63):
        fails(x.but(query_start=np.array([0, start, 0])), EPROBLEM, 'the position %d' % start)


def heads_of(spec, number):
    return (2, 2) if 'delta' in spec else [(4, 2), (3, 1), (2, 2)][number % 3]


def cases():
    for n, (name, keys) in enumerate(SPECS.items()):
        dtypes, target = ['f32'] if keys.get('algorithm') or 'delta' in keys else ['f32', DTYPES[1 + n % 3]], in_turn(n)
        for dtype in dtypes if WHOLE or len(dtypes) == 1 else dtypes[(n + n // 4) % 2:][:1]:
            spec = {'name': 'positions', 'dtype': dtype, 'mask': 'none', 'shape': {'head_dim': 8, 'value_dim': 12}} | keys
            shapes = [(at, (len(starts), *heads_of(spec, at), n_q, n_k, starts))
                      for at, (n_q, n_k, starts) in enumerate(SIZES + AFTER * (not is_linear(spec)))]
            checks = [partial(right, times=2 if 'algorithm' in keys else 1, more=lambda x, to=target: rounding(x.spec, to, '')),
                      default] + [right_gradients] * ('emit' in keys)
            yield Row('%s-%s' % (name, dtype), spec, shapes[::1 if dtype == 'f32' else 3], checks, target,
                      once=[refused] * is_linear(spec))
    yield Row('far', FAR, [(0, (3, 4, 2, 9, 70))], [far], best_target())
