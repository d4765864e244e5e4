#!/usr/bin/python3
"""Compares states as arrays (NAME_state_get, NAME_state_set) with token recurrences and with whole sequences.

A sequence is divided anywhere: the state after the first part is set in a new state, which gets the second part. An
array that is set is read back with the same bits. Kernels whose states are no such array say so."""
import ctypes
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import Objects, State, best_target, compiled, inputs, usual
from suite import Suite, check

IDENTITY = {'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'mask': 'causal'}
GATE, GATES, RATE = {'shape': ['B', 'H', 'Nk']}, {'shape': ['B', 'H', 'Nk', 'D']}, {'rate': 'rate[b][h][t]'}
CASES = {
    'plain': {},
    'f64': {'dtype': 'f64'},
    'bf16': {'dtype': 'bf16'},
    'decay': {'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': GATE}},
    'elements': {'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': {'gate': GATES}},
    'delta': {'delta': RATE, 'arrays': {'rate': GATE}, 'prepare': ['l2norm', {'scale': {'by': 0.3}}]},
    'gated_delta': {'decay': {'log': 'gate[b][h][t]'}, 'delta': RATE, 'arrays': {'gate': GATE, 'rate': GATE},
                    'prepare': ['l2norm']},
    'elements_delta': {'decay': {'log': 'gate[b][h][t][d]'}, 'delta': RATE, 'arrays': {'gate': GATES, 'rate': GATE},
                       'prepare': ['l2norm']},
    'written': {'decay': {'log': 'gate[b][h][t]'}, 'delta': {'rate': '0.1 * rate[b][h][t]', 'erase': 'x', 'write': 'y'},
                'arrays': {'gate': GATE, 'rate': GATE, 'x': GATES, 'y': GATES}},
    'constant_decay': {'decay': {'log': '-0.125'}},
    'elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}},
    'output': {'sums': {'a': {}}, 'output': '2 * a + 1'},
    # Several matrices and vectors: a denominator, then the sum that it divides.
    'divided': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'normalize': 'sum'},
    'two_sums': {'sums': {'a': {}, 'c': {'similarity': {'linear': {'features': 'relu'}}}}, 'output': 'a + c'},
    'two_keys': {'sums': {'a': {'values': 'v2'}, 'c': {'similarity': {'custom': {'weight': 'r'}}}}, 'scores': {'r': {'key': 'k2'}},
                 'output': 'a - c', 'arrays': {'k2': {'shape': ['B', 'G', 'Nk', 16]}, 'v2': {'shape': ['B', 'G', 'Nk', 'E']}}},
    'sum_of_weights': {'sums': {'a': {}, 'n': {'values': 1}}, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': GATE},
                       'output': 'a / fmax(fabs(n), 1)'},
    'shared_keys': {'shape': {'head_dim': 16, 'values': 'keys'}},
}
REFUSED = {
    'softmax': {'similarity': 'softmax'},
    'of_distance': {'similarity': {'custom': {'weight': 's * pow(0.9, i - j)'}}},
    # A state that is set begins at another position.
    'rotated': {'prepare': ['rope']},
    'wave': {'similarity': {'custom': {'weight': 's * cos(0.1 * (i - j))'}}},
    'of_key_position': {'similarity': {'custom': {'weight': 's * (1 + j % 3)'}}},
    'earlier_blocks': {'mask': {'expr': 'j / 16 < i / 16'}},
    'window': {'mask': {'window': {'left': 100}}},
    'divided_delta': {'delta': RATE, 'arrays': {'rate': GATE}, 'normalize': 'sum'},
    'sums_of_two_masks': {'sums': {'a': {}, 'c': {'mask': {'window': {'left': 40}}}}, 'output': 'a + c'},
}
TOLERANCE = {'f32': 2e-5, 'f64': 1e-11, 'bf16': 0.04}


def spec_of(spec):
    return {'name': 'k', **IDENTITY, 'shape': {'head_dim': 16, 'value_dim': 12}, 'dtype': 'f32', 'emit': ['forward', 'decode']} | spec


FEATURES = {'elu': [lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))], 'two_sums': [lambda x: x, lambda x: np.maximum(x, 0)]}


def recurrences(name, spec, P, k, v, n):
    """Returns the matrices of a head after n tokens, in the order of the kernel."""
    of = FEATURES.get('elu' if name == 'divided' else name, [lambda x: x])
    made = [recurrence(spec, P, f(k), v, n) for f in of]
    ones = np.ones((len(k), 1))
    if name == 'divided': made.insert(0, recurrence(spec, P, of[0](k), ones, n))
    if name == 'sum_of_weights': made.append(recurrence(spec, P, k, ones, n))
    if name == 'two_keys': made = [recurrence(spec, P, k, P['v2'], n), recurrence(spec, P, P['k2'], v, n)]
    return made


def recurrence(spec, P, k, v, n):
    """Returns the sum of a head over n tokens, for keys with these features."""
    P = {name: x[:n] for name, x in P.items()}
    S = np.zeros((k.shape[1], v.shape[1]))
    for t in range(n):
        gate = P['gate'][t] if 'gate' in P else -0.125
        if 'decay' in spec: S = S * np.exp(gate if np.ndim(gate) == 0 else gate[:, None])
        if 'y' in P:
            S = S + np.outer(k[t], v[t]) - np.outer(P['y'][t], 0.1 * P['rate'][t] * (P['x'][t] @ S))
            continue
        u = v[t] - k[t] @ S if 'delta' in spec else v[t]
        S = S + np.outer(k[t], u * P['rate'][t] if 'delta' in spec else u)
    return S


def made(suite, folder, spec, n):
    path = os.path.join(folder, 'k.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    return compiled(suite, path, folder, best_target(), *usual(n)), definitions.load(path)


def parts(kernel, P, q, k, v, at, to, state):
    rows = {name: x[:, :, at:to] for name, x in P.items()}
    return state.extend(*(x[:, :, at:to] for x in (q, k, v)), rows=rows)


def case(folder, suite, name, n):
    kernel, spec = made(suite, folder, spec_of(CASES[name]), n)
    shares = not set(spec) & {'decay', 'delta'}
    B, H, G, length, worst = 2, 4, 2 if shares else 4, 150, 0.0
    P, q, k, v = inputs(spec, H, G, length, length, B, n, os.path.join(folder, 'data'))
    whole = definitions.attend(spec, dict(P), q, k, v)
    scale, tolerance = np.abs(whole).max(), TOLERANCE[spec['dtype']]
    new = lambda: State(kernel, P, B, H, G, capacity=length)
    for pieces in (0,), (1,), (16,), (7, 20, 37), (64,), (100, 149), (150,):
        state, at = new(), 0
        for to in pieces:
            if to: parts(kernel, P, q, k, v, at, to, state)
            at = to
        sums = state.sums()
        check(np.isfinite(sums).all(), 'not finite after %s' % (pieces,))
        ready = definitions.prepare(spec, P, q, k)[1]
        for b in range(B):
            for g in range(sums.shape[1]):
                of, matrices = {x: P[x][b, g] for x in P}, state.matrices(sums)
                values = k[b, g] if name == 'shared_keys' else v[b, g]
                every = recurrences(name, spec, of, ready[b, g], values, at)
                check(len(every) == len(matrices), 'the number of matrices')
                for wanted, got in zip(every, matrices):
                    off = np.abs(got[b, g] - wanted).max() / max(1, np.abs(wanted).max())
                    check(off <= tolerance, 'the state after %s is off by %.3g' % (pieces, off))
                    worst = max(worst, float(off))
        other = new()
        check(other.sums(sums) == 0, 'state_set')
        check(other.sums().tobytes() == sums.tobytes(), 'an array that is set is read with other bits')
        check(state.sums().tobytes() == sums.tobytes(), 'state_get changed the state')
        for again in state, other:
            if at == length: continue
            middle = min(length, at + 21)
            got = np.concatenate([parts(kernel, P, q, k, v, a, b, again) for a, b in ((at, middle), (middle, length)) if a < b], 2)
            off = np.abs(got - whole[:, :, at:]).max() / scale
            check(off <= tolerance, 'the rest after %s is off by %.3g' % (pieces, off))
            worst = max(worst, float(off))
    return '(largest error %.2g)' % worst


def refused(folder, suite, name, n):
    kernel, spec = made(suite, folder, spec_of(REFUSED[name]), n)
    P, q, k, v = inputs(spec, 2, 2, 8, 8, 1, n, os.path.join(folder, 'data'))
    state = State(kernel, P, 1, 2, 2, capacity=8)
    size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(kernel.about.state_sums)(ctypes.byref(state.problem))
    check(size == 0, 'the state is an array')
    check(state.sums(np.zeros(4096)) == -15, 'state_set does not refuse it')


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(CASES): suite.case(name, case, suite, name, n)
    for n, name in enumerate(REFUSED): suite.case(name, refused, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
