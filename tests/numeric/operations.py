#!/usr/bin/python3
"""Compares the operations that the cost model counts by walking loops with those that the interpreter runs: for every
program (forward, parts of the gradients, states) of every spec, and of masks with decays and the delta rule.

Useful FLOPs are at most those that run. Lengths are no multiples of tiles."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import yaml

from suite import WHOLE, Suite, check, execute

OFF = 0.1       # the largest error of a count
SHAPES = [(70, 150), (33, 33)] + [(150, 330), (90, 41)] * WHOLE
SLOW = {'gla': (40, 70), 'kda': (40, 70), 'rwkv': (40, 70), 'gdn2': (40, 70), 'rwkv7': (40, 70)}   # the interpreter computes exponentials for each term
MASKS = {'none': 'none', 'causal': 'causal', 'window': {'window': {'left': 20}},
         'dilated': {'window': {'left': 12, 'right': 3, 'dilation': 5}}, 'prefix': {'prefix': {'length': 30}},
         'document': {'all': ['causal', 'document']}, 'random': {'random': {'block': 16, 'count': 2, 'seed': 3}},
         'union': {'any': [{'global': {'count': 5}}, {'window': {'left': 7}},
                           {'random': {'block': 8, 'count': 1, 'seed': 1}}]},
         'not': {'not': 'document'}, 'expr': {'expr': '(i * j) % 7 == 0'}, 'heads': {'expr': 'j <= i + 40 * h'},
         'lengths': {'all': ['causal', 'lengths']},
         'blocks': {'all': ['causal', {'blocks': {'block': 16, 'count': 2}}]}}
LINEAR = {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none'}
GATE = {'gate': {'shape': ['B', 'H', 'Nk']}}
GATES = {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}
RULES = {
    'head': {'arrays': GATE, 'decay': {'log': '-0.05 * fabs(gate[b][h][t])'}},
    'elements': {'arrays': GATES, 'decay': {'log': '-0.05 * fabs(gate[b][h][t][d])'}},
    'delta': {'delta': {'rate': 0.25}},
    'gated-delta': {'arrays': GATE, 'decay': {'log': '-0.05 * fabs(gate[b][h][t])'},
                    'delta': {'rate': '1 / (1 + exp(-gate[b][h][t]))'}},
    'gated-elements': {'arrays': GATES, 'decay': {'log': '-0.05 * fabs(gate[b][h][t][d])'}, 'delta': {'rate': 0.25}}}


def programs_of(program, spec, n_q, n_k):
    """Compares all programs of a spec. Returns how many there are, and the largest error."""
    done = execute([program, n_q, n_k, spec])
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
    count, largest = 0, 0.0
    for line in done.stdout.splitlines():
        name, form, *numbers = line.split()
        at = '%s %s, %d queries and %d keys' % (name, form, n_q, n_k)
        check(not form.endswith(':'), '%s: %s' % (at, line))
        decays = numbers[-1] == 'decays'
        numbers = [float(x) for x in numbers[:7]]
        for k, what in enumerate(('FLOPs of products', 'scalar operations', 'functions')[:1 if decays else 3]):
            counted, ran = numbers[2 * k:2 * k + 2]
            check(abs(counted - ran) <= OFF * ran, '%s: %d %s are counted, and %d run' % (at, counted, what, ran))
            if ran: largest = max(largest, abs(counted - ran) / ran)
        check(numbers[6] <= (1 + OFF) * numbers[1], '%s: %d useful FLOPs, and %d run' % (at, numbers[6], numbers[1]))
        count += 1
    return count, largest


def case(folder, suite, spec, shapes):
    path = spec
    if isinstance(spec, dict):
        path = folder + '/k.yaml'
        with open(path, 'w') as f: yaml.safe_dump({'name': 'k'} | spec, f, sort_keys=False)
    found = [programs_of(suite.program, path, *shape) for shape in shapes]
    return '(%d programs, off by %.1f%% at most)' % (sum(n for n, _ in found), 100 * max(x for _, x in found))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.program = os.path.join(os.environ.get('ATTNC_BUILD', os.path.dirname(suite.attnc)), 'tests', 'operations')
    small = {'shape': {'head_dim': 16}}
    for file in sorted(os.listdir(ROOT + '/specs')):
        name = file.removesuffix('.yaml')
        if file.endswith('.yaml'):
            suite.case('specs/' + name, case, suite, '%s/specs/%s' % (ROOT, file), [SLOW.get(name, SHAPES[0])] + SHAPES[1:])
    for name, mask in MASKS.items():
        suite.case('softmax/' + name, case, suite, {'similarity': 'softmax', 'mask': mask} | small, SHAPES)
    for name in 'none', 'causal', 'window', 'prefix', 'document', 'lengths':
        spec = {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': MASKS[name], 'block': 16}
        suite.case('linear/' + name, case, suite, spec | small, SHAPES)
    for name, rule in RULES.items():
        suite.case('rules/' + name, case, suite, LINEAR | rule | small, SHAPES)
        if 'delta' not in rule:
            spec = {'similarity': 'softmax', 'mask': {'window': {'left': 20}}}
            suite.case('rules/softmax-' + name, case, suite, spec | rule | small, SHAPES)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
