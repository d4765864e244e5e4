#!/usr/bin/python3
"""Compares decays with sums in float64, for long sequences and for resets, whose logarithm is -infinity."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import numpy as np
import yaml

from suite import Suite, check, execute

FORMS = {   # Each value is (similarity, other keys of the spec).
    'softmax': ('softmax', {}),
    'quadratic': ({'linear': {'features': 'identity'}}, {'normalize': 'none', 'algorithm': 'quadratic'}),
    'linear': ({'linear': {'features': 'identity'}}, {'normalize': 'none', 'algorithm': 'linear'})}
HEAD = 8


def results(folder, suite, spec, arrays):
    """Runs a spec on arrays, and returns the arrays that it writes."""
    os.makedirs(folder + '/in')
    path = folder + '/k.yaml'
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    for name, x in arrays.items(): np.save('%s/in/%s.npy' % (folder, name), x.astype(np.float32))
    done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out'],
                   env=dict(os.environ, XDG_CACHE_HOME=suite.folder + '/cache'))
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
    state, scale, worst = np.zeros((2, HEAD, HEAD)), np.zeros((2, HEAD, HEAD)), 0.0
    factor = np.exp(arrays['gate'][0])
    for t in range(n):
        by = factor[:, t, :, None] if elements else factor[:, t, None, None]
        term = arrays['k'][0, :, t, :, None] * arrays['v'][0, :, t, None, :]
        state, scale = state * by + term, scale * by + np.abs(term)
        if t % 1000 < 990: continue
        wanted = np.einsum('hd,hde->he', arrays['q'][0, :, t], state)
        size = np.einsum('hd,hde->he', np.abs(arrays['q'][0, :, t]), scale)
        worst = max(worst, float((np.abs(made[0, :, t] - wanted) / size).max()))
    check(worst <= 2e-6, 'off by %.3g of the terms' % worst)
    return 'largest error %.2g of the terms' % worst


def main():
    suite = Suite(__doc__.split('\n')[0])
    for form in FORMS:
        for elements in (False, True):
            suite.case('resets/%s%s' % (form, '-elements' if elements else ''), resets, suite, form, elements)
    suite.case('long/head', long, suite, False)
    suite.case('long/elements', long, suite, True)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
