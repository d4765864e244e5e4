#!/usr/bin/python3
"""Calls kernels with random, hostile and boundary arguments (calls_driver.c), with AddressSanitizer and UBSan.

A failed case prints its seed. `calls.py ATTNC --only NAME --seed N --count 1` repeats the call."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import yaml

from kernel import RUNTIME, SANITIZED, Objects, best_target, done_well, runtime_sources, with_report
from suite import WHOLE, Suite, check, compiler, execute

EVERY = ['forward', 'backward', 'decode']
ELU = {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal'}
GATED = {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none', 'emit': EVERY}


def of(shape, kind='float'):
    return {'shape': shape} if kind == 'float' else {'shape': shape, 'type': kind}


SPECS = {
    'softmax': {'mask': 'causal', 'emit': [*EVERY, 'statistics']},
    'none': {'emit': ['forward', 'backward', 'statistics']},
    'window': {'mask': {'window': {'left': 20}}, 'similarity': {'softmax': {'bias': 'alibi'}}, 'emit': EVERY},
    'sinks': {'prepare': ['rope'], 'emit': ['forward', 'decode'],
              'mask': {'all': ['causal', {'any': [{'window': {'left': 30}}, {'global': {'count': 3}}]}]}},
    'draft': {'prepare': [{'rope': {'angle': 'place[b][i] * (t + 1)'}}], 'mask': 'causal', 'emit': EVERY,
              'arrays': {'place': of(['B', 'Nk'], 'int')}},
    'draft_linear': {'prepare': [{'rope': {'angle': 'place[b][i] * (t + 1)'}}], 'emit': ['forward', 'decode'],
                     'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear',
                     'arrays': {'place': of(['B', 'Nk'], 'int')}},
    'tree': {'arrays': {'base': of(['B'], 'int'), 'ancestor': of(['B', 'Nq', 64], 'bool')}, 'emit': ['forward', 'decode'],
             'mask': {'all': ['causal', {'expr': 'j < base[b] || ancestor[b][row][j - base[b]]'}]}},
    'documents': ELU | {'mask': {'all': ['causal', 'document']}, 'algorithm': 'linear', 'emit': EVERY},
    'documents_softmax': {'mask': {'all': ['causal', 'document']}, 'emit': EVERY},
    'lengths': {'mask': {'all': ['causal', 'lengths']}, 'emit': ['forward', 'decode']},
    'given': {'mask': {'expr': 'seen[b][row][j]'}, 'emit': ['forward', 'backward'],
              'arrays': {'seen': of(['B', 'Nq', 'Nk'], 'bool')}},
    'rows': {'similarity': {'softmax': {'modify': 's * own[b][row] + far[h][j] * gate[b][g][i][2]'}}, 'mask': 'causal',
             'arrays': {'own': of(['B', 'Nq']), 'far': of(['H', 'Nk']), 'gate': of(['B', 'G', 'Nk', 3])},
             'emit': ['forward', 'decode']},
    'elements': {'similarity': {'softmax': {'modify': 's + gate[b][j][1] + rank[b][h][j][2] * 0.1'}}, 'mask': 'causal',
                 'arrays': {'gate': of(['B', 'Nk', 3]), 'rank': of(['B', 'H', 'Nk', 4], 'int')}, 'emit': ['forward', 'decode']},
    'elu': ELU | {'algorithm': 'linear', 'emit': EVERY},
    'square': {'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear', 'emit': EVERY},
    'elu_both': ELU | {'emit': EVERY},
    'gated': GATED | {'decay': {'log': 'log_gate[b][h][t][d]'}, 'arrays': {'log_gate': of(['B', 'H', 'Nk', 'D'])}},
    'decay': {'mask': 'causal', 'decay': {'log': 'log_gate[b][h][t]'}, 'arrays': {'log_gate': of(['B', 'H', 'Nk'])}, 'emit': EVERY},
    'delta': GATED | {'prepare': ['l2norm'], 'delta': {'rate': 'rate[b][h][t]'}, 'arrays': {'rate': of(['B', 'H', 'Nk'])}},
    'keys': {'prepare': ['rope'], 'mask': {'window': {'left': 20}}, 'emit': EVERY,
             'shape': {'head_dim': 12, 'value_dim': 8, 'values': 'keys'}},
    'bf16': {'mask': 'causal', 'dtype': 'bf16', 'emit': EVERY},
    'f64': {'dtype': 'f64', 'mask': 'causal', 'emit': [*EVERY, 'statistics'], 'normalize': {'sink': 'h * 2 - i * 0.01'}},
    'stored': {'mask': 'causal', 'storage': {'k': 'q8_0', 'v': 'f16'}, 'prepare': [{'rope': {'pairs': 'halves'}}],
               'shape': {'head_dim': 32, 'value_dim': 12}, 'emit': ['forward', 'decode']},
}
SAME_HEADS = {'delta'}
CALLS = 2000 if WHOLE else 250   # of each kernel; half of them are sequences of calls with a state


def random_calls(folder, suite, name, n):
    spec = {'name': name, 'similarity': 'softmax', 'dtype': 'f32', 'shape': {'head_dim': 8, 'value_dim': 12}} | SPECS[name]
    path = os.path.join(folder, name + '.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    done_well([suite.attnc, path, '-o', folder, '--target', 'generic' if n % 2 else best_target()], folder)

    def test(debug):
        line = [compiler('clang'), '-O0', *debug, *SANITIZED]
        objects = suite.objects.of('calls' + ''.join(debug), [*line, '-std=gnu11', '-DKERNEL=kernel_under_test'],
                                   [*runtime_sources(), os.path.join(HERE, 'calls_driver.c')])
        done_well([*line, '-I', RUNTIME, name + '.c', *objects, '-Wl,--defsym=kernel_under_test=%s_kernel' % name, '-lm',
                   '-o', 'calls'], folder)
        done = execute([os.path.join(folder, 'calls'), str(suite.options.seed), str(suite.options.count),
                        str(int(name in SAME_HEADS))], timeout=900,
                       env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0', UBSAN_OPTIONS='print_stacktrace=1',
                                OMP_NUM_THREADS='2'))
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stdout + done.stderr[-3000:]))
        return done.stdout.strip()
    return with_report(test)


def main():
    def more(parser):
        parser.add_argument('--seed', type=int, default=1, help='other calls (default: 1)')
        parser.add_argument('--count', type=int, default=CALLS, help='calls of each kernel (default: %d)' % CALLS)
    suite = Suite(__doc__.split('\n\n')[0], more)
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(SPECS): suite.case(name, random_calls, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
