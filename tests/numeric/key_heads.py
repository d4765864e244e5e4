#!/usr/bin/python3
"""Tests q and k with fewer heads than v: results have the bits of a call in which their heads are repeated.

Gradients of q and k are sums over the heads of v that share a head."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
import quick
from processor import MACHINE, missing_flags, targets_of
from stored import off_by
from suite import WHOLE, Skip, Suite, check, execute

GATES = {'gate': {'shape': ['B', 'H', 'Nk']}, 'beta': {'shape': ['B', 'H', 'Nk']}}
DELTA = {'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none',
         'delta': {'rate': 'beta[b][h][t]'}, 'arrays': GATES, 'decay': {'log': 'gate[b][h][t]'}}
ELEMENTS = {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}
ALL, GROWS = ['forward', 'backward', 'decode'], ['forward', 'decode']
CASES = {   # Each case is (spec, what it emits).
    'delta': (DELTA, ALL),
    'kda': (DELTA | {'arrays': GATES | ELEMENTS, 'decay': {'log': 'gate[b][h][t][d]'}}, ALL),
    'delta_sketch': (DELTA | {'delta': {'rate': '0.01 * beta[b][h][t]'},
                              'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}}, ALL),
    'delta_softmax': (DELTA | {'similarity': 'softmax', 'normalize': 'sum'}, ALL),
    'gla': ({'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none',
             'arrays': ELEMENTS, 'decay': {'log': 'gate[b][h][t][d]'}}, ALL),
    'elu': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal'}, ALL),
    'elu_ahead': ({'similarity': {'linear': {'features': 'elu_plus_one'}}}, ['forward', 'backward']),
    'hedgehog': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': 'causal'}, ALL),
    'local': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, 'block': 16, 'mask': 'causal'},
              ALL),
    'softmax': ({'prepare': ['rope', {'rmsnorm': {'affine': True}}], 'similarity': 'softmax', 'mask': 'causal'}, ALL),
    'ahead': ({'similarity': 'softmax'}, ['forward', 'backward']),
    'window': ({'similarity': 'softmax', 'mask': {'window': {'left': 20}}}, ALL),
    'forgetting': ({'similarity': 'softmax', 'mask': 'causal', 'arrays': {'gate': GATES['gate']},
                    'decay': {'log': 'gate[b][h][t]'}}, ALL),
    'bias': ({'similarity': {'softmax': {'modify': 's + tau[h] * (i - j)'}}, 'mask': 'causal',
              'arrays': {'tau': {'shape': ['H']}}}, ALL),
    'project': ({'similarity': 'softmax', 'project': {'linformer': {'size': 8}}}, ['forward', 'backward']),
    'sinks': ({'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'statistics'],
               'normalize': {'sink': '0.1 * h'}}, ['forward', 'statistics']),
}
# Each shape is (batch, heads of v, heads of q and k, n_q, n_k).
SHAPES = [(2, 4, 2, 33, 33), (1, 6, 2, 5, 70), (3, 3, 1, 1, 1), (2, 2, 1, 97, 97)]


def run(suite, path, folder, arrays, *options):
    """Runs the kernel on the arrays. Returns its outputs by name."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder): os.remove(os.path.join(folder, name))
    for name, x in arrays.items(): np.save('%s/%s.npy' % (folder, name), x)
    done = execute([suite.attnc, 'run', path, '--in', folder, '--out', folder + '-out', *options], env=suite.environment)
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
    made = {name[:-4]: np.load(os.path.join(folder + '-out', name)) for name in os.listdir(folder + '-out')}
    for name in os.listdir(folder + '-out'): os.remove(os.path.join(folder + '-out', name))
    return made


def compare(folder, suite, name, dtype, target, shapes):
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    spec, emit = CASES[name]
    path = folder + '/shared.yaml'
    spec = {'name': 'shared', 'shape': {'head_dim': 16, 'value_dim': 12}, 'dtype': dtype} | spec | {'emit': emit}
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    for n, (batch, heads, key_heads, n_q, n_k) in shapes:
        definitions.make_inputs(definitions.load(path), folder + '/drawn', heads, heads, n_q, n_k, batch, n)
        given, times = definitions.read_dir(folder + '/drawn'), heads // key_heads
        if 'backward' in emit:
            given['dout'] = np.random.default_rng(n).standard_normal((batch, heads, n_q, 12)).astype(np.float32)
        fewer = given | {x: given[x][:, ::times] for x in 'qk'}
        repeated = fewer | {x: fewer[x].repeat(times, 1) for x in 'qk'}
        options = ['--target', target, '--threads', 1 + n % 3]
        results = [run(suite, path, folder + '/in', arrays, *options) for arrays in (fewer, repeated)]
        if 'decode' in emit and n_q == n_k:
            for result, arrays in zip(results, (fewer, repeated)):
                result['extend'] = run(suite, path, folder + '/in', arrays, *options, '--chunks', '1,7,64')['out']
        for what, wanted in results[1].items():
            where = '%s of B%d H%d K%d nq%d nk%d' % (what, batch, heads, key_heads, n_q, n_k)
            got = results[0][what]
            if what not in ('dq', 'dk'):
                check(np.array_equal(got, wanted, equal_nan=True), where + ' has other bits')
                continue
            each = wanted.astype(np.float64).reshape(batch, key_heads, times, *wanted.shape[2:])
            # The sum rounds at each step. A gradient of 16 bits is then rounded once more.
            allowed = np.abs(each).sum(2) * 2.0 ** (-50 if dtype == 'f64' else -22)
            check((off_by(got.astype(np.float64), each.sum(2), dtype) <= allowed).all(), where + ' is no sum over heads')


def wrong_heads(folder, suite):
    """Numbers of heads that do not fit are refused."""
    spec = {'name': 'shared', 'shape': {'head_dim': 4}, 'similarity': 'softmax'}
    path = folder + '/shared.yaml'
    for more, q, k, v, says in (({}, 2, 2, 3, 'must be a multiple of the number of heads of q.npy, 2'),
                                ({}, 2, 1, 4, 'v.npy has more heads than q.npy, so q and k need equally many'),
                                ({}, 1, 4, 4, 'v.npy has more heads than q.npy, so q and k need equally many')):
        with open(path, 'w') as f: yaml.safe_dump(spec | more, f)
        os.makedirs(folder + '/in', exist_ok=True)
        for name, heads in (('q', q), ('k', k), ('v', v)):
            np.save('%s/in/%s.npy' % (folder, name), np.zeros((1, heads, 5, 4), np.float32))
        done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out'], env=suite.environment)
        check(done.returncode == 1 and says in done.stderr, '%d %s' % (done.returncode, done.stderr))
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/3'], env=suite.environment)
    check(done.returncode == 2 and '8/8/2' in done.stderr, done.stderr)
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/2', '--lengths', '7', '--set', 'shape.values=keys'],
                   env=suite.environment)
    check(done.returncode == 2 and "with 'values: keys', k cannot have fewer heads" in done.stderr, done.stderr)


def checked(folder, suite, name):
    spec, emit = CASES[name]
    path = folder + '/shared.yaml'
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'shared', 'shape': {'head_dim': 8}} | spec | {'emit': emit}, f, sort_keys=False)
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/2', '--lengths', '1,33'], env=suite.environment, timeout=600)
    check(done.returncode == 0, '%s %s' % (done.stdout, done.stderr[:600]))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder, ATTNC_CFLAGS='-O0')
    targets = targets_of(MACHINE, 'any')
    for n, name in enumerate(CASES):
        shapes = list(enumerate(SHAPES))
        types = ('f32', shapes), (('f64', 'bf16', 'f16')[n // 2 % 3], shapes[n % 2::2] if WHOLE else shapes)
        for dtype, some in types if WHOLE else types[(n + n // 4) % 2:][:1]:
            suite.case('%s-%s' % (name, dtype), compare, suite, name, dtype, targets[n % len(targets)], some)
        if n % 3 == 0: suite.case('check/' + name, checked, suite, name)
    suite.case('refused', wrong_heads, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
