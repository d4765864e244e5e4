#!/usr/bin/python3
"""Compares decays with sums in float64, for long sequences and for resets, whose logarithm is -infinity."""
import json
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import quick
from recurrence import recurrence
from suite import WHOLE, Suite, check, execute

FORMS = {   # Each value is (similarity, other keys of the spec).
    'softmax': ('softmax', {}),
    'quadratic': ({'linear': {'features': 'identity'}}, {'normalize': 'none', 'algorithm': 'quadratic'}),
    'linear': ({'linear': {'features': 'identity'}}, {'normalize': 'none', 'algorithm': 'linear'})}
HEAD = 8


def results(folder, suite, spec, arrays, level='-O0'):
    """Runs a spec on arrays, and returns the arrays that it writes."""
    os.makedirs(folder + '/in')
    path = folder + '/k.yaml'
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    for name, x in arrays.items(): np.save('%s/in/%s.npy' % (folder, name), x.astype(np.float32))
    done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out'],
                   env=suite.environment | {'ATTNC_CFLAGS': level})
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
    return {name: np.load(folder + '/out/' + name) for name in sorted(os.listdir(folder + '/out'))}


def spec_of(form, elements, emit):
    similarity, more = FORMS[form]
    shape = ['B', 'H', 'Nk'] + (['D'] if elements else [])
    return {'name': 'k', 'similarity': similarity, 'mask': 'causal', 'emit': emit, 'shape': {'head_dim': HEAD},
            'arrays': {'gate': {'shape': shape}},
            'decay': {'log': 'gate[b][h][t]' + ('[d]' if elements else '')}} | more


def draw(seed, n, elements):
    rng = np.random.default_rng(seed)
    rows = {name: rng.standard_normal((1, 2, n, HEAD)) for name in ('q', 'k', 'v', 'dout')}
    return rows | {'gate': -0.1 * np.abs(rng.standard_normal((1, 2, n) + ((HEAD,) if elements else ())))}


def resets(folder, suite, form, elements):
    """A reset hides the keys before it. Later bits do not depend on the size of the logarithm."""
    arrays, n, all_results = draw(1, 150, elements), 150, []
    for number, log in enumerate((-2e4, -1e30, -np.inf)):
        arrays['gate'][:, :, 10::37] = log
        made = results('%s/%d' % (folder, number), suite, spec_of(form, elements, ['forward', 'backward']), arrays)
        for name, x in made.items(): check(np.isfinite(x).all(), '%s is not finite with a logarithm of %g' % (name, log))
        all_results.append(made)
    for made in all_results[1:]:
        for name, x in made.items(): check(np.array_equal(x, all_results[0][name]), name + ' has other bits')
    if form == 'softmax' and elements: return 'with %d positions' % n   # the logit of a key before a reset is 0
    arrays['k'][:, :, :10] = arrays['v'][:, :, :10] = 100
    made = results(folder + '/other', suite, spec_of(form, elements, ['forward', 'backward']), arrays)
    check(np.array_equal(made['out.npy'][:, :, 10:], all_results[0]['out.npy'][:, :, 10:]),
          'a query after a reset sees a key before it')
    return 'with %d positions' % n


def long(folder, suite, elements):
    n = 300000
    arrays = {name: x.astype(np.float32).astype(float) for name, x in draw(2, n, elements).items() if name != 'dout'}
    made = results(folder, suite, spec_of('linear', elements, ['forward']), arrays)['out.npy']
    q, k, v, factor = (arrays[name][0] for name in ('q', 'k', 'v', 'gate'))
    factor = np.exp(factor if elements else factor[..., None])
    wanted, terms = recurrence(q, k, v, factor)[0], recurrence(np.abs(q), np.abs(k), np.abs(v), factor)[0]
    worst = float((np.abs(made[0] - wanted) / terms).max())
    check(worst <= 2e-6, 'off by %.3g of the terms' % worst)
    return 'largest error %.2g of the terms' % worst


def long_delta(folder, suite, name, n):
    """The delta rule with a decay of each element, whose rows fill vectors: decays near 1, resets, and both."""
    rng, elements = np.random.default_rng(5), 16
    rows = {x: rng.standard_normal((1, 2, n, elements)).astype(np.float32).astype(float) for x in ('q', 'k', 'v')}
    rows['k'] /= np.linalg.norm(rows['k'], axis=-1, keepdims=True)
    slow = -1e-5 * np.abs(rng.standard_normal((1, 2, n, elements)))
    gate = {'slow': slow, 'fast': 1e6 * slow, 'resets': np.where(rng.random(slow.shape) < 0.03, -1e4, slow)}[name]
    spec = {'name': 'k', 'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal',
            'emit': ['forward'], 'shape': {'head_dim': elements}, 'delta': {'rate': 0.25},
            'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}, 'decay': {'log': 'gate[b][h][t][d]'}}
    arrays = {x: y.astype(np.float32) for x, y in (rows | {'gate': gate}).items()}
    made = results(folder, suite, spec, arrays)['out.npy']
    q, k, v, decay = (arrays[x][0].astype(float) for x in ('q', 'k', 'v', 'gate'))
    wanted = recurrence(q, k, v, np.exp(decay), np.full(k.shape[:2], 0.25))[0]
    worst = float(np.abs(made[0] - wanted).max() / np.abs(wanted).max())
    check(worst <= 2e-6, 'off by %.3g of the largest result' % worst)
    return 'largest error %.2g of the largest result' % worst


FADING = {   # Each value is (other keys of a spec, whether forward may skip tiles, whether backward may).
    'plain': ({}, True, True), 'f64': ({'dtype': 'f64'}, True, True), 'bf16': ({'dtype': 'bf16'}, False, False),
    'strict': ({'mask': {'expr': 'j < i'}}, False, True),
    'window': ({'mask': {'window': {'left': 60}}}, True, True),
    'prepared': ({'prepare': ['rope', {'rmsnorm': {'affine': True}}]}, False, True),
    'cap': ({'similarity': {'softmax': {'cap': 5}}}, False, False),
    'bias': ({'similarity': {'softmax': {'bias': 'alibi'}}}, False, False),
    'sink': ({'normalize': {'sink': '0.5 * h'}}, True, True),
    'statistics': ({'emit': ['forward', 'statistics', 'backward']}, True, True),
    'dropout': ({'dropout': 0.3}, True, True)}
TILES = {'tile_q': 16, 'tile_k': 32}


def fading(folder, suite, name):
    """Skipping tiles that a decay empties changes results by rounding alone, also if far keys have large logits."""
    more, forward, backward = FADING[name]
    spec = {'name': 'k', 'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'backward'],
            'shape': {'head_dim': HEAD, 'value_dim': 5}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}},
            'decay': {'log': 'gate[b][h][t]'}} | more
    rng, worst, number = np.random.default_rng(3), 0.0, 0
    for at, (heads, kv_heads, n_q, n_k) in enumerate(((4, 2, 200, 200), (1, 1, 40, 170), (2, 2, 170, 60))):
        for turn, (size, log) in enumerate(((1, -1.5), (6, -1.5), (1, 0.2), (1, 'resets'))):
            if (at + turn + len(name)) % 2 and not WHOLE: continue
            shapes = {'q': (2, heads, n_q, HEAD), 'k': (2, kv_heads, n_k, HEAD), 'v': (2, kv_heads, n_k, 5),
                      'dout': (2, heads, n_q, 5)}
            arrays = {n: rng.standard_normal(shape) * (size if n in 'qk' else 1) for n, shape in shapes.items()}
            arrays['gate'] = np.full((2, heads, n_k), -0.01 if log == 'resets' else log) * rng.random((2, heads, n_k))
            if log == 'resets': arrays['gate'][:, :, 20::37] = -np.inf
            for x in 'q_norm.weight', 'k_norm.weight': arrays[x] = rng.standard_normal(HEAD)
            made = []
            for schedule in ({}, TILES | {'backward': TILES}), ({'faded': 0}, TILES | {'backward': TILES}):
                off = schedule[0] if forward else {}
                off_backward = schedule[0] if backward else {}
                schedule = schedule[1] | off | {'backward': TILES | off_backward}
                made.append(results('%s/%d' % (folder, number), suite, spec | {'schedule': schedule}, arrays))
                number += 1
            for what, x in made[1].items():
                scale = np.abs(x[np.isfinite(x)]).max(initial=1)
                with np.errstate(invalid='ignore'): off = np.abs(np.where(x == made[0][what], 0, made[0][what] - x)).max()
                worst = max(worst, off / scale)
                check(off <= 2.0 ** -20 * scale, '%s is off by %.3g of %.3g, with H%d nq%d nk%d, size %d, %s' % (
                    what, off, scale, heads, n_q, n_k, size, log))
    return 'differences of at most %.2g' % worst


def skipped(folder, suite):
    """Infinite values of keys in skipped tiles do not matter. `faded: 0` computes these tiles."""
    spec = {'name': 'k', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': HEAD},
            'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}}, 'decay': {'log': 'gate[b][h][t]'}}
    arrays = {name: x for name, x in draw(4, 160, False).items() if name != 'dout'}
    arrays['gate'][:, :, 64] = -np.inf
    arrays['v'][:, :, :64] = np.inf
    on, off = (results('%s/%d' % (folder, n), suite, spec | {'schedule': TILES | more}, arrays)['out.npy']
               for n, more in enumerate(({}, {'faded': 0})))
    check(np.isfinite(on[:, :, 64:]).all(), 'a tile is not skipped')
    check(np.isnan(off[:, :, 64:]).any(), 'a tile is skipped in spite of faded: 0')
    with open(folder + '/k.yaml', 'w') as f: yaml.safe_dump(spec, f)
    said = execute([suite.attnc, 'explain', folder + '/k.yaml']).stdout
    check('skips tiles' in said, said[:2000])
    with open(folder + '/k.yaml', 'w') as f: yaml.safe_dump(spec | {'similarity': {'softmax': {'cap': 5}}}, f)
    said = execute([suite.attnc, 'explain', folder + '/k.yaml']).stdout
    check('skips tiles' not in said, said[:2000])


ELU = {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'normalize': 'sum'}
LANES = {   # Each value is (other keys of the spec, [B, H, G, n_q, n_k], logarithms of decays).
    'plain': ({}, [(1, 1, 1, 1, 1), (1, 2, 2, 31, 31), (2, 2, 1, 32, 32), (1, 4, 2, 33, 33), (1, 1, 1, 100, 100)], 1),
    'lengths': ({}, [(1, 2, 1, 7, 70), (1, 1, 1, 70, 40), (2, 1, 1, 64, 65)], 1),
    'near-1': ({}, [(1, 2, 2, 150, 150)], 1e-4),
    'near-0': ({}, [(1, 2, 2, 150, 150)], 40),
    'resets': ({}, [(1, 2, 1, 150, 150)], np.inf),
    'normalized': (ELU, [(1, 2, 1, 70, 70), (1, 1, 1, 9, 50)], 1),
    'prepared': ({'prepare': ['l2norm', {'scale': {'by': 0.5}}]}, [(1, 2, 1, 70, 70), (1, 2, 1, 3, 40)], 1),
    'values': ({'shape': {'head_dim': 16, 'value_dim': 5}}, [(1, 2, 1, 70, 70)], 1),
    'long-chunk': ({'schedule': {'chunk': 48}}, [(1, 2, 1, 150, 150)], 1),
    'short-tile': ({'schedule': {'chunk': 32, 'tile_k': 16}}, [(1, 2, 1, 70, 70)], 1),
    'kept-rows': ({'emit': ['forward', 'backward']}, [(1, 2, 1, 70, 70)], 1),
    'f64': ({'dtype': 'f64'}, [(1, 2, 1, 70, 70)], 1),
    'bf16': ({'dtype': 'bf16'}, [(1, 2, 1, 70, 70)], 1)}


def state_by_state(spec, arrays):
    """Returns the rows of a linear form whose state decays by element, in float64."""
    q, k, v = (arrays[x] for x in 'qkv')
    if 'prepare' in spec: q, k = 0.5 * q / np.linalg.norm(q, axis=-1, keepdims=True), k / np.linalg.norm(
        k, axis=-1, keepdims=True)
    divided = spec['normalize'] == 'sum'
    if divided: q, k = (np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))
    if divided: v = np.concatenate([v, np.ones(v.shape[:-1] + (1,))], -1)
    members, behind = q.shape[1] // k.shape[1], k.shape[2] - q.shape[2]
    k, v, factor = k.repeat(members, 1), v.repeat(members, 1), np.exp(arrays['gate'])
    state, rows = np.zeros(q.shape[:2] + (q.shape[3], v.shape[3])), np.zeros(q.shape[:3] + v.shape[3:])
    for t in range(k.shape[2]):
        state = state * factor[:, :, t, :, None] + k[:, :, t, :, None] * v[:, :, t, None]
        if t >= behind: rows[:, :, t - behind] = np.einsum('bhd,bhde->bhe', q[:, :, t - behind], state)
    return rows[..., :-1] / np.where(rows[..., -1:] == 0, 1, rows[..., -1:]) if divided else rows


def lanes(folder, suite, name):
    """A linear form whose state decays by element has the elements in the lanes. It agrees with a loop over positions,
    and its bits do not depend on the number of threads."""
    more, sizes, log = LANES[name]
    width = 16
    spec = {'name': 'k', 'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none',
            'algorithm': 'linear', 'shape': {'head_dim': width}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}},
            'decay': {'log': 'gate[b][h][t][d]'}} | more
    rng, worst = np.random.default_rng(6), 0.0
    for number, (batch, heads, kv_heads, n_q, n_k) in enumerate(sizes):
        rows = {'q': (heads, n_q, width), 'k': (kv_heads, n_k, width),
                'v': (kv_heads, n_k, spec['shape'].get('value_dim', width))}
        if 'backward' in spec.get('emit', []): rows['dout'] = (heads, n_q, width)
        arrays = {x: rng.standard_normal((batch, *shape)) for x, shape in rows.items()}
        if name == 'bf16':   # numbers of few bits, so that storing them is exact
            arrays = {x: np.round(4 * a) / 4 for x, a in arrays.items()}
        arrays['gate'] = -(1 if log == np.inf else log) * rng.random((batch, heads, n_k, width))
        if log == np.inf: arrays['gate'][:, :, 20::37] = -np.inf
        arrays = {x: a.astype(np.float32).astype(float) for x, a in arrays.items()}
        wanted = state_by_state(spec, arrays)
        out = results('%s/%d' % (folder, number), suite, spec, arrays)['out.npy']
        off, scale = np.abs(out - wanted).max(), np.abs(wanted).max()
        worst = max(worst, off / scale)
        check(off <= (2.0 ** -8 if name == 'bf16' else 2.0 ** -20) * scale, 'out is off by %.3g of %.3g, for %s' % (
            off, scale, sizes[number]))
        at = '%s/%d' % (folder, number)
        for threads in '1', '3':
            done = execute([suite.attnc, 'run', at + '/k.yaml', '--threads', threads, '--in', at + '/in', '--out',
                            at + '/' + threads], env=suite.environment | {'ATTNC_CFLAGS': '-O0'})
            check(done.returncode == 0, done.stderr)
            check(np.load('%s/%s/out.npy' % (at, threads)).tobytes() == out.tobytes(), '%s threads change bits' % threads)
    if name == 'plain':
        loops = execute([suite.attnc, folder + '/0/k.yaml', '--target', 'x86-64-v4', '--emit', 'loops', '--stdout'])
        check('map [i j d] within' in loops.stdout and 'log_decay_k' not in loops.stdout.split('for b from')[-1],
              loops.stdout)
    return 'largest error %.2g of the largest result' % worst


WORKSPACES = {   # Each value is (other keys of a spec with a decay of each element, lengths with equal workspaces)
    'linear': ({'algorithm': 'linear'}, (100, 3000)), 'delta': ({'delta': {'rate': 0.25}}, (100, 3000)),
    'both': ({}, (2000, 6000)), 'backward': ({'algorithm': 'linear', 'emit': ['forward', 'backward']}, (100, 3000))}


def workspace(folder, suite, name):
    """A chunk has its own sums of logarithms, so the workspace of forward does not grow with the length."""
    more, lengths = WORKSPACES[name]
    with open(folder + '/k.yaml', 'w') as f:
        yaml.safe_dump(spec_of('linear', True, ['forward']) | {'algorithm': 'auto', 'shape': {'head_dim': 16}} | more, f)
    done = execute([suite.attnc, 'bench', folder + '/k.yaml', '--lengths', ','.join(map(str, lengths)), '--json', '--time',
                    '0', '--heads', '2', '--threads', '2'], env=suite.environment | {'ATTNC_CFLAGS': '-O0'})
    check(done.returncode == 0, done.stderr)
    bytes_of = [r['workspace_bytes'] for r in json.loads(done.stdout)['results']]
    check(len(set(bytes_of)) == 1, 'for %s positions, %s bytes' % (lengths, bytes_of))
    return '%d bytes' % bytes_of[0]


def main():
    suite = Suite(__doc__.split('\n')[0])
    suite.environment = quick.environment(suite.folder)
    for form in FORMS:
        for elements in (False, True):
            suite.case('resets/%s%s' % (form, '-elements' if elements else ''), resets, suite, form, elements)
    for name in FADING: suite.case('fading/' + name, fading, suite, name)
    suite.case('fading/skipped', skipped, suite)
    for name in LANES: suite.case('lanes/' + name, lanes, suite, name)
    for name in WORKSPACES: suite.case('workspace/' + name, workspace, suite, name)
    suite.case('long/head', long, suite, False)
    suite.case('long/elements', long, suite, True)
    for name, n in ('slow', 50000), ('fast', 999), ('resets', 10000):
        suite.case('long/delta-' + name, long_delta, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
