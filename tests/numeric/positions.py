#!/usr/bin/python3
"""Compares kernels with definitions.py where the caller gives the positions of queries (problem.query_start).

Positions differ between sequences. Some queries are before the first key or after the last key. Each call is repeated
with the positions that a kernel uses by itself, and must then give the same bits."""
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
from processor import rounding
from suite import WHOLE, Failure, Suite, check, compiler

ATTN_EPROBLEM, ATTN_ELENGTH = -1, -14
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


def heads_of(spec, number):
    return (2, 2) if 'delta' in spec else [(4, 2), (3, 1), (2, 2)][number % 3]


def arrays_of(folder, spec, sizes, number, gradients):
    heads, kv_heads = heads_of(spec, number)
    n_q, n_k, starts = sizes
    shape = (len(starts), heads, kv_heads, n_q, n_k)
    P = backward.inputs(folder, spec, shape, number)
    if not gradients: P.pop('dout')
    return P | {'query_start': np.array(starts) + n_k - n_q}


def call(kernel, P, statistics=None):
    rest = {n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')}
    return kernel(rest, P['q'], P['k'], P['v'], statistics=statistics)


def gradients_of(kernel, spec, P):
    rest = {n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')}
    learned = set(backward.learned(spec, rest))
    made = kernel.gradients(rest, P['q'], P['k'], P['v'], P['dout'], arrays=bool(learned))
    return {n: x.astype(float) for n, x in made.items() if n in backward.WANTED or n[1:] in learned}


def default(P):
    """Returns the arrays with the positions that a kernel uses by itself."""
    return P | {'query_start': np.full(len(P['q']), P['k'].shape[2] - P['q'].shape[2])}


def without(P):
    return {n: x for n, x in P.items() if n != 'query_start'}


def same(a, b, what):
    check(a.tobytes() == b.tobytes(), '%s has other bits if positions are given as they are by default' % what)


def case(folder, suite, keys, dtype, target):
    spec = {'name': 'placed', 'dtype': dtype, 'mask': 'none', 'shape': {'head_dim': 8, 'value_dim': 12}} | keys
    path = folder + '/placed.yaml'
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    spec = definitions.load(path)
    kernel = compiled(suite, path, folder, target, '-O0', compiler('clang'))
    differentiates = 'backward' in spec.get('emit', []) and not suite.without
    calls, wrong = 0, []
    sizes_of_calls = SIZES + ([] if is_linear(spec) else AFTER)
    for number, sizes in list(enumerate(sizes_of_calls))[::1 if dtype == 'f32' else 3]:
        P = arrays_of('%s/%d' % (folder, number), spec, sizes, number, differentiates)
        try:
            out = call(kernel, P)
            answer = answers.Answer(spec, {n: x for n, x in P.items() if n != 'dout'})
            why = answer.judge(out.astype(float), 2 if 'algorithm' in spec else 1, rounding(spec, target, '') * answer.scale)[0]
            check(not why, why)
            same(call(kernel, default(P)), call(kernel, without(P)), 'out')
            calls += 3
            if not differentiates: continue
            backward.judge(spec, P, gradients_of(kernel, spec, P))
            first, second = gradients_of(kernel, spec, default(P)), gradients_of(kernel, spec, without(P))
            for name in first: same(first[name], second[name], name)
            calls += 3
        except Failure as failure:
            wrong.append('%d queries, %d keys, starts %s: %s' % (*sizes[:2], P['query_start'].tolist(), failure))
    if is_linear(spec): refused(kernel, spec, folder)
    check(not wrong, '\n'.join(wrong))
    return '(%d calls)' % calls


def refused(kernel, spec, folder):
    """A linear form refuses queries after the last key."""
    P = arrays_of(folder + '/after', spec, (7, 40, [-3, 0, 1]), 0, False)
    try:
        call(kernel, P)
    except Failure as failure:
        check(str(failure) == 'forward returned %d' % ATTN_ELENGTH, str(failure))
    else:
        raise Failure('a linear form accepts queries after the last key')


def far(folder, suite):
    """Positions beyond 2^31 are errors. Positions up to it read nothing outside the arrays."""
    spec = {'name': 'placed', 'similarity': {'softmax': {'modify': 's + table[h][i - j + 30] + term[b][i]'}},
            'mask': {'any': [WINDOW, 'document']}, 'shape': {'head_dim': 8},
            'arrays': {'table': {'shape': ['H', 61]}, 'term': {'shape': ['B', 'Nk']}}, 'dtype': 'f32'}
    path = folder + '/placed.yaml'
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    kernel = compiled(suite, path, folder, best_target(), '-O0', compiler('clang'))
    P = arrays_of(folder + '/in', spec, (9, 70, [0, 0, 0]), 0, False)
    for start in (2 ** 31, -2 ** 31, 2 ** 31 - 9):
        P['query_start'] = np.array([start, 3, -start])
        answer = answers.Answer(spec, P)
        why = answer.judge(call(kernel, P).astype(float))[0]
        check(not why, '%d: %s' % (start, why))
    for start in (2 ** 31 + 1, -2 ** 31 - 1, 2 ** 63 - 1, -2 ** 63):
        P['query_start'] = np.array([0, start, 0])
        try:
            call(kernel, P)
        except Failure as failure:
            check(str(failure) == 'forward returned %d' % ATTN_EPROBLEM, '%d: %s' % (start, failure))
        else:
            raise Failure('the position %d is accepted' % start)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    suite.without = autograd() if not suite.options.list else ''
    for n, (name, keys) in enumerate(SPECS.items()):
        dtypes = ['f32'] if keys.get('algorithm') or 'delta' in keys else ['f32', DTYPES[1 + n % 3]]
        for dtype in dtypes if WHOLE or len(dtypes) == 1 else dtypes[(n + n // 4) % 2:][:1]:
            target = 'generic' if n % 4 == 3 else best_target()
            suite.case('%s-%s' % (name, dtype), case, suite, keys, dtype, target)
    suite.case('far', far, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
