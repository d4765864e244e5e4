#!/usr/bin/python3
"""Compares kernels of tangents (`emit: [jvp]`) with differences of definitions.py: every weight, mask, preparation and
dtype, in the quadratic and the linear form.

Lengths are no multiples of tiles, and some queries see no key."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np

import answers
import backward
import quick
import tangents
from kernel import optimised
from processor import missing_flags
from suite import WHOLE, Failure, Skip, Suite, check, execute

SHAPES = [(2, 4, 2, 37, 75), (1, 2, 1, 65, 64), (1, 1, 1, 1, 1), (1, 3, 3, 90, 41), (1, 4, 1, 1, 70), (1, 2, 2, 40, 1),
          (1, 8, 2, 49, 57)]
DTYPES = ['f32', 'f64', 'f32', 'bf16', 'f64', 'f16']

DECAYS = {'softmax': ('softmax', '-exp(gate[b][h][t])'),
          'features': (backward.SIMILARITY['elu_plus_one'], '-exp(gate[b][h][t]) * exp(rate[h])'),
          'elements': ({'linear': {'features': 'identity'}}, '-exp(gate[b][h][t][d])')}
SUMS = {'of_features': ({'a': {}, 'c': {'similarity': {'custom': {'weight': '1 + s * s'}}}}, 'causal'),
        'of_features_and_softmax': ({'a': {}, 'c': {'similarity': 'softmax', 'mask': {'window': {'left': 9}}}}, 'causal'),
        'of_all_keys': ({'a': {}, 'c': {'similarity': {'custom': {'weight': '1 + s * s'}}, 'normalize': 'none'}}, 'none')}

GATE, ROWS = {'shape': ['B', 'H', 'Nk']}, {'shape': ['B', 'H', 'Nk', 'D']}
DELTA = {'plain': {}, 'constant': {'delta': {'rate': 0.4}, 'arrays': {}}, 'elu': {'similarity': backward.SIMILARITY['elu_plus_one'], 'delta': {'rate': 'tanh(beta[b][h][t]) / 16'}},
         'decay': {'decay': {'log': '-exp(gate[b][h][t])'}, 'arrays': {'beta': GATE, 'gate': GATE}},
         'elements': {'decay': {'log': '-exp(gate[b][h][t][d])'}, 'arrays': {'beta': GATE, 'gate': ROWS}},
         'divided': {'normalize': 'sum', 'similarity': backward.SIMILARITY['elu_plus_one'], 'delta': {'rate': 'tanh(beta[b][h][t]) / 16'}},
         'documents': {'mask': {'all': ['causal', 'document']}},
         'quadratic': {'algorithm': 'quadratic'}, 'prefix': {'mask': {'prefix': {'length': 40}}},
         'divided_window': {'normalize': 'sum', 'similarity': backward.SIMILARITY['elu_plus_one'], 'mask': {'window': {'left': 19}},
                            'delta': {'rate': 'tanh(beta[b][h][t]) / 4', 'normalize': 'sum'}},
         'divided_squares': {'algorithm': 'quadratic', 'normalize': 'sum', 'similarity': {'custom': {'weight': '(1 + s) * (1 + s)'}},
                             'delta': {'rate': 'beta[b][h][t]', 'normalize': 'sum'}},
         'divided_rule': {'similarity': 'softmax', 'normalize': 'sum', 'delta': {'rate': '0.9', 'normalize': 'sum'}, 'arrays': {}},
         'erase_quadratic': {'algorithm': 'quadratic', 'delta': {'rate': 'beta[b][h][t]', 'erase': 'a'}, 'arrays': {'beta': GATE, 'a': ROWS},
                             'prepare': ['l2norm', {'l2norm': {'rows': ['a']}}]},
         'erase_and_write': {'delta': {'rate': 'beta[b][h][t]', 'erase': 'a', 'write': 'w'}, 'arrays': {'beta': GATE, 'a': ROWS, 'w': ROWS},
                             'prepare': ['l2norm', {'l2norm': {'rows': ['a', 'w']}}]}}


def case(folder, suite, spec, shapes, seed, target=None):
    lacks = missing_flags(target or 'native')
    if lacks: raise Skip('this processor lacks ' + lacks)
    path, spec = backward.write_spec(folder, spec)
    if not WHOLE: shapes = [shapes[(seed + at) % len(shapes)] for at in range(min(2, len(shapes)))]
    largest, flags = 0.0, '-O2' if optimised(seed, 9) else '-O0'
    for at, shape in enumerate(shapes):
        d = '%s/%d' % (folder, at)
        if 'delta' in spec: shape = (shape[0], shape[2], *shape[2:])   # as many heads of q as of k
        answers.make_inputs(spec, d + '/in', (*shape[1:], shape[0]), seed + at,
                            'any' if spec['algorithm'] == 'quadratic' else 'rising')   # the linear form takes ascending ids
        arrays, given = tangents.make(spec, d + '/in', seed + at, zero='kvq'[seed % 7:][:1])
        done = execute(['env', 'ATTNC_CFLAGS=' + flags, suite.attnc, 'run', path, '--in', d + '/in', '--out', d + '/out',
                        '--threads', 1 + at % 3, *(['--target', target] if target else [])], env=suite.environment)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
        try:
            largest = max(largest, tangents.judge(spec, np.load(d + '/out/out.npy'),
                                                  *tangents.expected(spec, arrays, given)))
        except Failure as failure:
            raise Failure('B%d H%d G%d nq%d nk%d: %s' % (*shape, failure))
    return '(%d shapes, largest error %.2f of what is allowed)' % (len(shapes), largest)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder)
    base = {'emit': ['jvp'], 'algorithm': 'quadratic', 'block': 16}
    count = 0

    def add(name, spec, **more):
        nonlocal count
        spec = base | {'name': 'jvp%d' % count, 'dtype': DTYPES[count % 6], 'shape': {'head_dim': 10, 'value_dim': 7}} | spec
        targets = backward.OTHER_TARGETS
        suite.case(name, case, suite, spec, SHAPES, count, targets[count % len(targets)] if count % 4 == 3 else None)
        count += 1
    for name, similarity in backward.SIMILARITY.items():
        spec = {'similarity': similarity, 'mask': 'causal'}
        if 'signed' in name or 'trig' in name: spec |= {'normalize': 'none'}
        add('similarity/' + name, spec)
    for n, (name, mask) in enumerate(backward.MASKS.items()):
        add('mask/' + name, {'similarity': ['softmax', backward.SIMILARITY['polynomial_2']][n % 2], 'mask': mask})
    for n, (name, prepare) in enumerate(backward.PREPARE.items()):
        add('prepare/' + name, {'similarity': ['softmax', backward.SIMILARITY['polynomial_4']][n % 2], 'prepare': prepare,
                                'mask': 'causal', 'shape': {'head_dim': 12, 'value_dim': 7}})
    for name, (sink, similarity, form) in backward.SINKS.items():
        add('sink/' + name, {'similarity': similarity, 'normalize': {'sink': sink}, 'mask': 'causal',
                             **{key: x for key, x in form.items() if key == 'arrays'}})
    for name, (similarity, mask) in backward.LINEAR.items():
        spec = {'similarity': similarity, 'mask': mask, 'algorithm': 'auto'}
        if 'decay' in name or 'trig' in name: spec |= {'normalize': 'none'}
        add('linear/' + name, spec)
    for name, (form, prepare, similarity, mask) in backward.VALUES.items():
        spec = {'similarity': similarity, 'mask': mask, 'shape': {'head_dim': 12, 'value_dim': 7, 'values': 'keys'}} | form
        add('values/' + name, spec | {'algorithm': 'auto'} | ({'prepare': prepare} if prepare else {}))
    for of, table in ('learned/', backward.LEARNED), ('learned/linear_', backward.LEARNED_LINEAR):
        for name, (prepare, similarity, mask) in table.items():
            spec = {'similarity': similarity, 'mask': mask, 'shape': {'head_dim': 8, 'value_dim': 12}}
            if 'linear' in of: spec |= {'algorithm': 'auto'}
            if name == 'angle': spec |= {'dtype': 'f32'}   # answers.py rounds angles to f64: too coarse for differences
            add(of + name, spec | ({'prepare': prepare} if prepare else {}))
    for name, (similarity, mask, more) in backward.DROPPED.items():
        add('dropout/' + name, {'similarity': similarity, 'mask': mask, 'dropout': 0.3, 'seed': count} | more)
    for name, (prepare, similarity, size) in backward.PROJECTED.items():
        spec = {'similarity': similarity, 'project': {'linformer': {'size': size}}, 'algorithm': 'auto', 'block': 'auto'}
        add('project/' + name, spec | ({'prepare': prepare} if prepare else {}))
    add('decay/constant', {'similarity': 'softmax', 'mask': 'causal', 'decay': {'log': '-0.05 * (h + 1)'}})
    add('decay/constant_features', {'similarity': backward.SIMILARITY['elu_plus_one'], 'mask': 'causal',
                                  'decay': {'log': '-0.05 * (h + 1)'}})
    for name, (similarity, log) in DECAYS.items():
        add('decay/' + name, {'similarity': similarity, 'mask': 'causal', 'decay': {'log': log}, 'algorithm': 'auto',
                              'normalize': 'none' if '[d]' in log else 'sum',
                              'arrays': {'gate': {'shape': ['B', 'H', 'Nk'] + ['D'] * ('[d]' in log)},
                                         'rate': {'shape': ['H'], 'learned': True}}})
    for name, more in DELTA.items():
        add('delta/' + name, {'similarity': {'linear': {'features': 'identity'}}, 'prepare': ['l2norm'], 'mask': 'causal',
                              'normalize': 'none', 'algorithm': 'auto', 'block': 'auto', 'delta': {'rate': 'beta[b][h][t]'},
                              'arrays': {'beta': {'shape': ['B', 'H', 'Nk']}}} | more)
    for name, (form, mask) in SUMS.items():
        add('sums/' + name, {'similarity': backward.SIMILARITY['elu_plus_one'], 'mask': mask, 'algorithm': 'auto',
                             'arrays': {'mix': {'shape': ['H'], 'learned': True}}, 'sums': form, 'output': 'a - mix[h] * c'})
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
