"""q and k with fewer heads than v: results have the bits of a call in which their heads are repeated.

Gradients of q and k are sums over the heads of v that share a head."""
import functools
import os
import shutil
from functools import partial

import numpy as np

import definitions
import quick
from loop import Made, Row, numbered, spec_file
from processor import MACHINE, targets_of
from stored import off_by
from suite import WHOLE, check, execute

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
# Each shape is (batch, heads, heads, queries, keys). q and k are called with KEY_HEADS of the same row.
SHAPES = numbered(0, [(2, 4, 4, 33, 33), (1, 6, 6, 5, 70), (3, 3, 3, 1, 1), (2, 2, 2, 97, 97)])
KEY_HEADS = [2, 2, 1, 1]


def spec_of(name, dtype='f32'):
    spec, emit = CASES[name]
    return {'name': 'key_heads', 'shape': {'head_dim': 16, 'value_dim': 12}, 'dtype': dtype} | spec | {'emit': emit}


@functools.cache
def environment(suite):
    return quick.environment(suite.folder, ATTNC_CFLAGS='-O0')


def run(made, arrays, *options):
    """Runs the kernel on the arrays. Returns its outputs by name."""
    folder, made.calls = made.folder + '/run', made.calls + 1
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + '/in')
    for name, x in arrays.items(): np.save('%s/in/%s.npy' % (folder, name), x)
    done = execute([made.suite.attnc, 'run', made.folder + '/key_heads.yaml', '--in', folder + '/in', '--out', folder + '/out',
                    *options], env=environment(made.suite))
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
    return definitions.read_dir(folder + '/out')


def compare(x, target):
    made, emit, dtype = x.made, x.spec['emit'], x.spec['dtype']
    key_heads, (batch, heads) = KEY_HEADS[x.seed], x.arrays['q'].shape[:2]
    times = heads // key_heads
    fewer = {n: a[:, ::times] if n in ('q', 'k') else a for n, a in x.arrays.items() if n != 'dout' or 'backward' in emit}
    both = fewer, fewer | {n: fewer[n].repeat(times, 1) for n in 'qk'}
    options = ['--target', target, '--threads', 1 + x.seed % 3]
    results = [run(made, arrays, *options) for arrays in both]
    if 'decode' in emit and x.n_q == x.n_k:
        for result, arrays in zip(results, both):
            result['extend'] = run(made, arrays, *options, '--chunks', '1,7,64')['out']
    for what, wanted in results[1].items():
        got = results[0][what]
        if what not in ('dq', 'dk'):
            check(np.array_equal(got, wanted, equal_nan=True), what + ' has other bits')
            continue
        each = wanted.astype(np.float64).reshape(batch, key_heads, times, *wanted.shape[2:])
        # The sum rounds at each step. A gradient of 16 bits is then rounded once more.
        allowed = np.abs(each).sum(2) * 2.0 ** (-50 if dtype == 'f64' else -22)
        check((off_by(got.astype(np.float64), each.sum(2), dtype) <= allowed).all(), what + ' is no sum over heads')


def make(folder, suite, row):
    return Made(folder, suite, definitions.load(spec_file(folder, row.spec)), None)   # `attnc run` compiles it


def wrong_heads(folder, suite):
    """Numbers of heads that do not fit are refused."""
    path = spec_file(folder, {'name': 'key_heads', 'shape': {'head_dim': 4}, 'similarity': 'softmax'})
    for q, k, v, says in ((2, 2, 3, 'must be a multiple of the number of heads of q.npy, 2'),
                          (2, 1, 4, 'v.npy has more heads than q.npy, so q and k need equally many'),
                          (1, 4, 4, 'v.npy has more heads than q.npy, so q and k need equally many')):
        os.makedirs(folder + '/in', exist_ok=True)
        for name, heads in (('q', q), ('k', k), ('v', v)):
            np.save('%s/in/%s.npy' % (folder, name), np.zeros((1, heads, 5, 4), np.float32))
        done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out'], env=environment(suite))
        check(done.returncode == 1 and says in done.stderr, '%d %s' % (done.returncode, done.stderr))
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/3'], env=environment(suite))
    check(done.returncode == 2 and '8/8/2' in done.stderr, done.stderr)
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/2', '--lengths', '7', '--set', 'shape.values=keys'],
                   env=environment(suite))
    check(done.returncode == 2 and "with 'values: keys', k cannot have fewer heads" in done.stderr, done.stderr)


def checked(folder, suite, name):
    path = spec_file(folder, spec_of(name) | {'shape': {'head_dim': 8}})
    done = execute([suite.attnc, 'check', path, '--heads', '4/4/2', '--lengths', '1,33'], env=environment(suite), timeout=600)
    check(done.returncode == 0, '%s %s' % (done.stdout, done.stderr[:600]))


def cases():
    targets = targets_of(MACHINE, 'any')
    for n, name in enumerate(CASES):
        types = ('f32', SHAPES), (('f64', 'bf16', 'f16')[n // 2 % 3], SHAPES[n % 2::2] if WHOLE else SHAPES)
        for dtype, shapes in types if WHOLE else types[(n + n // 4) % 2:][:1]:
            target = targets[n % len(targets)]
            checks = [partial(compare, target=target)]
            yield Row('%s-%s' % (name, dtype), spec_of(name, dtype), shapes, checks, target, make=make)
        if n % 3 == 0: yield 'check/' + name, checked, name
    yield 'refused', wrong_heads
