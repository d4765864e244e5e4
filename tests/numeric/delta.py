#!/usr/bin/python3
"""Compares the delta rule with definitions.py, in forward and in extend.

- Specs have every similarity with features, preparations, decays, blocks of any length, every dtype and target.
- A state has constant size.
- The bits do not depend on how the tokens are divided into calls."""
import functools
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
import quick
from kernel import Objects, compiled, inputs, usual
from processor import MACHINE, missing_flags, targets_of
from stored import HALVES, off_by, rounded
from suite import WHOLE, Failure, Skip, Suite, check, execute

BASE = {'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none',
        'mask': 'causal', 'delta': {'rate': '0.9 / (1 + exp(-beta[b][h][t] * 4))'},
        'arrays': {'beta': {'shape': ['B', 'H', 'Nk']}}, 'shape': {'head_dim': 16, 'value_dim': 12}}


def with_rate(rate, **more):
    return {'delta': {'rate': '%s / (1 + exp(-beta[b][h][t] * 4))' % rate}} | more


# Rates are small, because large rates make the output grow without bound.
FORWARD = {
    'identity': {},
    'rope': {'prepare': ['l2norm', 'rope', {'scale': {'by': 0.3}}]},
    'norm': with_rate(0.02, prepare=[{'rmsnorm': {'affine': True}}]),
    'layernorm': with_rate(0.02, prepare=[{'layernorm': {'affine': True}}]),
    'relu': {'similarity': {'linear': {'features': {'relu': {'eps': 0.01}}}}, 'normalize': 'sum'},
    'elu': with_rate(0.03, similarity={'linear': {'features': 'elu_plus_one'}}, normalize='sum'),
    'squared_relu': {'similarity': {'linear': {'features': 'squared_relu'}}, 'normalize': {'sum_plus': 0.5}},
    'taylor': with_rate(0.1, similarity={'linear': {'features': 'taylor1'}}, normalize='sum'),
    'hedgehog': with_rate(0.2, similarity={'linear': {'features': 'hedgehog'}}, normalize='sum'),
    'favor_relu': with_rate(0.02, similarity={'linear': {'features': {'favor_relu': {'count': 8}}}}),
    'polynomial': with_rate(0.1, similarity={'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 2}}),
    'square': with_rate(0.3, similarity={'polynomial_square': {'degree': 1, 'coefficients': [0.3, 0.5]}}),
    'square_learned': with_rate(0.05, similarity={'polynomial_square': {'degree': 1, 'coefficients': 'param'}}),
    'sketch': with_rate(0.01, similarity={'polysketch': {'degree': 4, 'sketch': 4}}),
    'exact': with_rate(0.01, similarity={'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, block=24),
    'custom': with_rate(0.3, similarity={'custom': {'weight': '(s * 0.5 + 0.1) * (1 + 0.1 * h) * tau[h]'}},
                        arrays=BASE['arrays'] | {'tau': {'shape': ['H']}}),
    'of_positions': with_rate(0.3, similarity={'custom': {'weight': 's * (1 + i % 3) * (2 - j % 2)'}}),
    'decay': {'similarity': {'custom': {'weight': 's * exp(-0.1 * (i - j))'}}},
    'slow_decay': {'similarity': {'custom': {'weight': 's * pow(0.9995, i - j)'}}},
    'strict': {'mask': {'expr': 'j < i'}},
    'constant': {'delta': {'rate': 0.25}},
    'positions': {'delta': {'rate': '(t % 5 + b + h) * 0.1 / (B + H)'}, 'arrays': {}},
    'values_are_keys': {'shape': {'head_dim': 16, 'value_dim': 9, 'values': 'keys'}},
    'wide': {'shape': {'head_dim': 40, 'value_dim': 130}},
    'narrow': {'shape': {'head_dim': 4, 'value_dim': 3}},
    'block_1': {'block': 1}, 'block_5': {'block': 5}, 'block_200': {'block': 200},
    'statistics': {'similarity': {'linear': {'features': 'squared_relu'}}, 'normalize': 'sum',
                   'emit': ['forward', 'statistics']},
    'linear': {'algorithm': 'linear'}, 'documents': {'mask': {'all': ['causal', 'document']}},
    'own_block': {'algorithm': 'linear', 'mask': {'all': ['causal', {'block_window': {'block': 40}}]}},
    'own_block_decay': {'algorithm': 'linear', 'mask': {'all': ['causal', {'expr': 'j / 64 == i / 64'}]}, 'decay': {'log': '-0.1'}},
}
TAU = {'delta': {'rate': '0.7 / (1 + exp(-tau[h])) + 0.001 * (t % 7)'}, 'arrays': {'tau': {'shape': ['H']}}}
# Logarithms of decays, as in gated DeltaNet. A reset clears the state. Growth means factors above 1.
GATE = {'gate': {'shape': ['B', 'H', 'Nk']}}
LOGS = {'gate': ('gate[b][h][t]', GATE), 'resets': ('gate[b][h][t] * (t % 20 == 7 ? 1000000 : 1)', GATE),
        'growth': ('gate[b][h][t] * (t % 3 == 0 ? -1 : 1)', GATE), 'slow': ('-0.00001 * (h + 1)', {}),
        'fast': ('-30', {}), 'learned': ('-exp(rate[h]) * 0.1', {'rate': {'shape': ['H']}})}
ELEMENTS = {'elements': ('gate[b][h][t][d]', {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}),
            'element_resets': ('gate[b][h][t] * (t % 20 == 7 && d % 3 == 0 ? 1000000 : d % 5)', GATE)}
OF_D = 'identity', 'rope', 'norm', 'relu', 'elu', 'squared_relu', 'polynomial', 'square', 'custom', 'of_positions', \
    'strict', 'values_are_keys', 'wide', 'narrow', 'block_1', 'block_5', 'statistics', 'documents'
GATED = {'%s-%s' % (name, log): FORWARD[name] | {
    'decay': {'log': LOGS[log][0]}, 'arrays': FORWARD[name].get('arrays', BASE['arrays']) | LOGS[log][1]}
    for n, name in enumerate(FORWARD) if name not in ('exact', 'linear')
    for log in (list(LOGS) if name == 'identity' else [list(LOGS)[n % len(LOGS)]])}
GATED |= {'%s-%s' % (name, log): FORWARD[name] | {
    'decay': {'log': ELEMENTS[log][0]}, 'arrays': FORWARD[name].get('arrays', BASE['arrays']) | ELEMENTS[log][1]}
    for n, name in enumerate(OF_D) for log in (list(ELEMENTS) if name == 'identity' else [list(ELEMENTS)[n % 2]])}
# Other rows than the keys give the values that are removed.
ROWS = BASE['arrays'] | {'x': {'shape': ['B', 'H', 'Nk', 'D']}}
UNIT = ['l2norm', {'l2norm': {'rows': ['x']}}]
ERASED = {'delta': BASE['delta'] | {'erase': 'x'}, 'arrays': ROWS, 'prepare': UNIT}
ERASE = {
    'identity': ERASED, 'raw': ERASED | {'prepare': ['l2norm', {'scale': {'by': 0.2, 'rows': ['x']}}]},
    'rope': ERASED | {'prepare': [*UNIT, 'rope', {'rope': {'rows': ['x']}}]},
    'elu': ERASED | FORWARD['elu'] | {'delta': FORWARD['elu']['delta'] | {'erase': 'x'}},
    'polynomial': ERASED | FORWARD['polynomial'] | {'delta': FORWARD['polynomial']['delta'] | {'erase': 'x'}},
    'narrow': ERASED | FORWARD['narrow'] | {'arrays': BASE['arrays'] | {'x': {'shape': ['B', 'G', 'Nk', 4]}}},
    'block_5': ERASED | {'block': 5}, 'values_are_keys': ERASED | FORWARD['values_are_keys'],
    'gate': ERASED | {'decay': {'log': 'gate[b][h][t]'}, 'arrays': ROWS | {'gate': {'shape': ['B', 'H', 'Nk']}}},
    'elements': ERASED | {'decay': {'log': 'gate[b][h][t][d]'}, 'arrays': ROWS | {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}},
    'by_row': ERASED | {'similarity': {'custom': {'weight': 's * z[row]'}}, 'arrays': ROWS | {'z': {'shape': ['Nk']}}},
}
# Two keys a position: one has the value, and the other one what is removed, as in RWKV-7.
def written(name, **more):
    own = ERASE[name]
    arrays = own['arrays'] | {'y': {'shape': ['B', 'H', 'Nk', 'D']}}
    return own | {'arrays': arrays, 'prepare': [*own['prepare'], {'l2norm': {'rows': ['y']}}],
                  'delta': own['delta'] | {'write': 'y'}} | more


WRITE = {name: written(name) for name in ('identity', 'rope', 'elu', 'polynomial', 'block_5', 'values_are_keys', 'gate', 'elements')}
WRITE['alone'] = written('identity', delta=BASE['delta'] | {'write': 'y'}, prepare=['l2norm', {'l2norm': {'rows': ['y']}}])
WRITE['alone']['arrays'] = {name: shape for name, shape in WRITE['alone']['arrays'].items() if name != 'x'}
WRITE['documents'] = written('elements', mask=FORWARD['documents']['mask'])
WRITE['minus_one'] = written('elements', delta={'rate': '-1', 'erase': 'x', 'write': 'y'})
WRITE['minus_one']['arrays'] = {name: shape for name, shape in WRITE['minus_one']['arrays'].items() if name != 'beta'}
# Specs without a linear form. Some have weights relative to the maximum of their row, or masks that no state can
# carry. The others ask for the quadratic form.
SOFTMAX = {'similarity': 'softmax', 'normalize': 'sum'}
WINDOW = {'mask': {'all': ['causal', {'window': {'left': 20}}]}}
QUADRATIC = {
    'softmax': SOFTMAX, 'softmax_plain': with_rate(0.5, prepare=[]) | SOFTMAX, 'softmax_none': SOFTMAX | {'mask': 'none'}, 'softmax_window': SOFTMAX | WINDOW,
    'softmax_dilated': SOFTMAX | {'mask': {'window': {'left': 9, 'dilation': 3}}},
    'softmax_large': SOFTMAX | {'similarity': {'softmax': {'scale': 60}}},
    'softmax_cap': SOFTMAX | {'similarity': {'softmax': {'cap': 3, 'bias': 'alibi'}}},
    'softmax_raw': SOFTMAX | {'normalize': 'none', 'similarity': {'softmax': {'scale': 0.5}}},
    'softmax_modify': SOFTMAX | {'similarity': {'softmax': {'modify': 's * (1 + h) - 0.1 * (i % 3) + j % 2'}}},
    'softmax_rope': SOFTMAX | {'prepare': ['l2norm', 'rope']}, 'softmax_wide': SOFTMAX | FORWARD['wide'],
    'softmax_narrow': SOFTMAX | FORWARD['narrow'], 'softmax_keys': SOFTMAX | FORWARD['values_are_keys'],
    'softmax_multiplicative': SOFTMAX | {'similarity': {'softmax': {'compatibility': 'multiplicative'}}},
    'softmax_additive': SOFTMAX | {'similarity': {'softmax': {'compatibility': {'additive': {'hidden': 5}}}}},
    'softmax_statistics': SOFTMAX | {'emit': ['forward', 'statistics']}, 'softmax_dropout': SOFTMAX | {'dropout': 0.3},
    'softmax_prefix': SOFTMAX | {'mask': {'prefix': {'length': 40}}},
    'softmax_random': with_rate(0.3) | SOFTMAX | {'mask': {'random': {'block': 16, 'count': 2, 'causal': True}}},
    'softmax_blocks': SOFTMAX | {'mask': {'block_window': {'block': 24, 'left': 1}}},
    'softmax_parity': SOFTMAX | {'mask': {'expr': 'j <= i && (j % 3 == 0 || i - j < 5)'}},
    'softmax_documents': SOFTMAX | {'mask': {'all': ['causal', 'document']}},
    'softmax_lengths': SOFTMAX | {'mask': {'all': ['causal', 'lengths']}},
    'exponential': with_rate(0.05, similarity={'custom': {'weight': 'exp(s) * (1 + 0.1 * h)'}}),
    'favor_positive': with_rate(0.05, similarity={'linear': {'features': {'favor_positive': {'count': 8}}}},
                                normalize='sum'),
    'odd': {'similarity': {'custom': {'weight': 's * fabs(s)'}}}, 'window': WINDOW, 'ahead': {'mask': 'none'},
    'relu_window': FORWARD['relu'] | WINDOW}
QUADRATIC |= {'quadratic_' + name: FORWARD[name] | {'algorithm': 'quadratic'} for name in FORWARD if name != 'linear'}
QUADRATIC |= {'gated_%s-%s' % (name, log): QUADRATIC[name] | {
    'decay': {'log': (LOGS | ELEMENTS)[log][0]},
    'arrays': QUADRATIC[name].get('arrays', BASE['arrays']) | (LOGS | ELEMENTS)[log][1]}
    for name, log in (('softmax', 'gate'), ('softmax', 'fast'), ('softmax_window', 'slow'), ('softmax', 'elements'),
                      ('softmax_cap', 'learned'), ('softmax_large', 'growth'), ('exponential', 'gate'), ('window', 'gate'),
                      ('odd', 'elements'), ('quadratic_identity', 'gate'), ('quadratic_polynomial', 'slow'))}
QUADRATIC |= {'erase_' + name: ERASE[name] | more for name, more in (
    ('identity', {'algorithm': 'quadratic'}), ('elements', {'algorithm': 'quadratic'}), ('rope', SOFTMAX | WINDOW),
    ('gate', SOFTMAX | {'mask': {'all': ['causal', 'document']}}))}
QUADRATIC |= {'write_' + name: WRITE[name] | more for name, more in (
    ('identity', {'algorithm': 'quadratic'}), ('elements', WINDOW), ('rope', {'mask': {'all': ['causal', 'document']}, 'algorithm': 'quadratic'}))}
# The sum over earlier keys is divided by its weights, as in DeltaFormer.
DIVIDED = {'delta': {'rate': 0.8, 'normalize': 'sum'}, 'arrays': {}}
QUADRATIC |= {'divided_' + name: more for name, more in {
    'softmax': SOFTMAX | DIVIDED, 'large': SOFTMAX | DIVIDED | {'similarity': {'softmax': {'scale': 60}}},
    'window': SOFTMAX | ERASED | WINDOW | {'delta': {'rate': '1.0', 'erase': 'x', 'normalize': 'sum'}},
    'blocks': SOFTMAX | DIVIDED | {'mask': {'block_window': {'block': 24, 'left': 1}}},
    'elu': FORWARD['elu'] | DIVIDED, 'written': written('elu', delta={
        'rate': '0.02', 'erase': 'x', 'write': 'y', 'normalize': 'sum'})}.items()}
# These specs are decoded. The others have masks that show later keys, or repeat what these test.
APPENDING = ['softmax_rope', 'softmax_window', 'softmax_documents', 'softmax_parity', 'softmax_keys', 'gated_softmax-gate',
             'gated_odd-elements', 'quadratic_strict', 'erase_rope', 'erase_elements',
             'write_identity', 'write_elements', 'divided_softmax']
GROWING = {name: FORWARD[name] | TAU for name in ('identity', 'rope', 'decay', 'slow_decay', 'strict', 'values_are_keys',
                                                  'wide', 'narrow', 'block_1', 'block_5', 'block_200', 'documents')}
GROWING |= {name: FORWARD[name] | {'delta': {'rate': rate}, 'arrays': {}} for name, rate in (
    ('relu', 0.3), ('elu', 0.02), ('polynomial', 0.05), ('exact', 0.005), ('norm', 0.01), ('hedgehog', 0.1))}
GROWING |= {'erase_' + name: ERASE[name] for name in ('identity', 'rope', 'block_5', 'elements')}
GROWING |= {'write_' + name: WRITE[name] for name in ('identity', 'elu', 'block_5', 'minus_one', 'documents')}
UNDERFLOW = 2.0 ** -120   # f32 has no smaller numbers of full precision, times the largest input
# Each shape is (batch, heads, n_q, n_k).
SHAPES = [(2, 3, 33, 33), (1, 1, 1, 1), (1, 2, 70, 200), (1, 2, 150, 80), (3, 1, 64, 64), (1, 1, 129, 129)]
CALLS = ['1', '1,7,64', '150', '16,3']


# In these forms, no loop over chunks of keys reaches a query if there are no keys.
WITHOUT_KEYS = {'chunks': {}, 'sketch': FORWARD['sketch'], 'softmax': QUADRATIC[next(iter(QUADRATIC))],
                'summed': FORWARD['relu']}


class Expected:
    """The result of definitions.py for the stored inputs, and its tolerance. A corrected value may be small while its
    terms are large. Its error is relative to those."""

    def __init__(self, spec, folder):
        P = {n: x.astype(np.float64) if x.dtype.kind == 'f' else x for n, x in definitions.read_dir(folder).items()}
        q, k, v = (P.pop(n) for n in 'qkv')
        if spec['dtype'] in HALVES:
            q, k, v = (rounded(x.astype(np.float32), spec['dtype']).astype(np.float64) for x in (q, k, v))
        self.given, self.unit = (spec, P, q, k, v), 2.0 ** -29 if spec['dtype'] == 'f64' else 1
        self.out = definitions.attend(*self.given)

    @functools.cached_property
    def least(self):
        """Returns a lower bound of the tolerance, without perturbed inputs."""
        spec, P, q, k, v = self.given
        own, values = definitions.values_apart(spec, k, v)
        terms = definitions.attend(own, P, q, k, values, sizes=True).max(-1, keepdims=True)
        return (1e-6 * terms + UNDERFLOW) * self.unit

    @functools.cached_property
    def allowed(self):
        return 2 * definitions.allowed_error(*self.given, self.out) * self.unit + self.least


def called(suite, path, folder, *options):
    done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out', *options],
                   env=suite.environment)
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
    return np.load(folder + '/out/out.npy')


def prepared(folder, spec, shape, seed):
    path = os.path.join(folder, 'delta.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    batch, heads, n_q, n_k = shape
    definitions.make_inputs(definitions.load(path), folder + '/in', heads, heads, n_q, n_k, batch, seed)
    return path


def compare(what, out, expected):
    off = off_by(out.astype(np.float64), expected.out, expected.given[0]['dtype'])
    for allowed in 'least', 'allowed':
        part = off / np.maximum(getattr(expected, allowed), 1e-300)
        if (part <= 1).all(): return float(part.max())
    raise Failure('%s is off by %.3g of %.3g, %.3g times the tolerance' % (
        what, off.max(), np.abs(expected.out).max(), np.nan_to_num(part, nan=np.inf).max()))


def forward(folder, suite, spec, target, number):
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    worst = 0.0
    for n, shape in enumerate(SHAPES[number % 2::2]):
        path = prepared(folder, spec, shape, n)
        out = called(suite, path, folder, '--target', target, '--threads', 1 + n % 3)
        worst = max(worst, compare('out of B%d H%d nq%d nk%d' % shape, out, Expected(spec, folder + '/in')))
    return 'at most %.2g of the tolerance' % worst


def growing(folder, suite, spec, target):
    """Extends a state by one and by several tokens. The size of the state is constant."""
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    shape = 2, 2, 150, 150
    path = prepared(folder, spec, shape, 5)
    expected = Expected(spec, folder + '/in')
    outs = [called(suite, path, folder, '--target', target, '--chunks', calls) for calls in CALLS]
    for calls, out in zip(CALLS, outs):
        check(out.tobytes() == outs[0].tobytes(), 'calls of %s tokens give other bits than calls of 1' % calls)
    worst = compare('out', outs[0], expected)
    said = execute([suite.attnc, 'explain', path], env=suite.environment).stdout
    check('however long it is' in said, 'the state grows: ' + said[:400])
    return 'at most %.2g of the tolerance' % worst


def appending(folder, suite, spec, target):
    """Extends a state that stores keys and corrected values."""
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    path, worst = prepared(folder, spec, (2, 2, 70, 70), 6), 0.0
    expected = Expected(spec, folder + '/in')
    for calls in '1', '1,7,64', '70':
        out = called(suite, path, folder, '--target', target, '--chunks', calls)
        worst = max(worst, compare('out of calls of ' + calls, out, expected))
    return 'at most %.2g of the tolerance' % worst


def refused(folder, suite):
    spec = {'name': 'delta', 'dtype': 'f32'} | BASE
    path = os.path.join(folder, 'delta.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    definitions.make_inputs(definitions.load(path), folder + '/in', 4, 2, 5, 5, 1, 1)
    done = execute([suite.attnc, 'run', path, '--in', folder + '/in', '--out', folder + '/out'], env=suite.environment)
    check(done.returncode == 1 and "'delta' needs as many heads" in done.stderr, done.stderr[:300])


def checked(folder, suite, spec):
    path = prepared(folder, spec, SHAPES[0], 1)
    done = execute([suite.attnc, 'check', path, '--lengths', '1,33,70'], env=suite.environment, timeout=600)
    check(done.returncode == 0, '%s %s' % (done.stdout, done.stderr[:600]))


def without_keys(folder, suite, spec):
    """A call without keys writes rows of 0, their statistics and their gradients."""
    path = prepared(folder, spec, SHAPES[0], 1)
    kernel, spec = compiled(suite, path, folder, 'generic', *usual(1)), definitions.load(path)
    P, q, k, v = inputs(spec, 2, 2, 5, 1, 2, 3, folder + '/in')
    k, v = k[:, :, :0], v[:, :, :0]
    P = {n: x[..., :0] if n == 'beta' else x for n, x in P.items()}
    statistics = np.full(q.shape[:3], np.nan, np.float32)
    out = kernel(P, q, k, v, statistics=statistics)
    check((out == 0).all(), 'out has %s' % out.ravel()[:4])
    none = -np.inf if kernel.about.statistics == 1 else 0
    check((statistics == none).all(), 'statistics has %s' % statistics.ravel()[:4])
    made = kernel.gradients(P, q, k, v, np.ones_like(out), wanted=('dq',))
    check((made['dq'] == 0).all(), 'dq has %s' % made['dq'].ravel()[:4])


def of_other_documents(folder, suite, more):
    """A NaN of a value changes no row of another document."""
    spec = {'similarity': {'linear': {'features': 'identity'}}, 'prepare': ['l2norm'], 'mask': {'all': ['causal', 'document']},
            'normalize': 'none', 'delta': {'rate': '0.5'}, 'shape': {'head_dim': 8}, 'dtype': 'f32'} | more
    path = prepared(folder, spec, SHAPES[0], 1)
    kernel = compiled(suite, path, folder, 'generic', *usual(1))
    P, q, k, v = inputs(definitions.load(path), 2, 2, 90, 90, 2, 3, folder + '/in')
    P['document'] = np.repeat([0, 1, 2], [20, 25, 45])[None].repeat(2, 0).astype(np.int32)
    out, v[:, :, 3] = kernel(P, q, k, v), np.nan
    lost = kernel(P, q, k, v)
    check((lost[:, :, 20:] == out[:, :, 20:]).all(), 'a NaN of the first document reaches another one')
    check(np.isnan(lost[:, :, 5]).all(), 'a NaN is lost in its own document')


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder, ATTNC_CFLAGS='-O0')
    targets = targets_of(MACHINE, 'any')
    for n, (name, more) in enumerate(FORWARD.items()):
        dtype = ('f32', 'f64')[n % 2] if n % 7 else 'f32'
        spec = {'name': 'delta', 'dtype': dtype} | BASE | more
        suite.case('forward/%s-%s' % (name, dtype), forward, suite, spec, targets[n % len(targets)], n)
        if n % (2 if WHOLE else 4) == 0: suite.case('check/' + name, checked, suite, spec)
    for n, (name, more) in enumerate(GATED.items()):
        spec = {'name': 'delta', 'dtype': ('f32', 'f64', 'bf16', 'f32', 'f16')[n % 5]} | BASE | more
        suite.case('gated/%s-%s' % (name, spec['dtype']), forward, suite, spec, targets[n % len(targets)], n)
        if n % (6 if WHOLE else 12) == 0: suite.case('check/gated_' + name, checked, suite, spec)
    for kind, specs in ('erase', ERASE), ('write', WRITE):
        for n, (name, more) in enumerate(specs.items()):
            spec = {'name': 'delta', 'dtype': ('f32', 'f64', 'f32', 'bf16', 'f16')[n % 5]} | BASE | more
            suite.case('%s/%s-%s' % (kind, name, spec['dtype']), forward, suite, spec, targets[n % len(targets)], n)
            if n % (2 if WHOLE else 5) == 0: suite.case('check/%s_%s' % (kind, name), checked, suite, spec)
    for n, (name, more) in enumerate(QUADRATIC.items()):
        dtype = ('f32', 'bf16', 'f32' if 'gated' in name else 'f64', 'f32', 'f16')[n % 5]
        spec = {'name': 'delta', 'dtype': dtype} | BASE | more
        suite.case('quadratic/%s-%s' % (name, spec['dtype']), forward, suite, spec, targets[n % len(targets)], n)
        if n % (6 if WHOLE else 12) == 0: suite.case('check/quadratic_' + name, checked, suite, spec)
    for n, (name, more) in enumerate(GROWING.items()):
        spec = {'name': 'delta', 'dtype': ('f32', 'f64')[n % 2]} | BASE | more | {'emit': ['forward', 'decode']}
        suite.case('decode/' + name, growing, suite, spec, targets[n % len(targets)])
        if n % 3 == 0: suite.case('check/decode_' + name, checked, suite, spec)
    for n, name in enumerate(APPENDING):
        spec = {'name': 'delta', 'dtype': ('f32', 'f64', 'bf16', 'f16')[n % 4]} | BASE | QUADRATIC[name] | {
            'emit': ['forward', 'decode']}
        suite.case('append/' + name, appending, suite, spec, targets[n % len(targets)])
        if n % 4 == 0: suite.case('check/append_' + name, checked, suite, spec)
    for m, target in enumerate(targets):
        for n, dtype in enumerate(('f32', 'f64', 'bf16', 'f16')):
            if (n + m) % 2 and not WHOLE: continue   # every target and every dtype occurs twice
            spec = {'name': 'delta', 'dtype': dtype} | BASE
            suite.case('%s-%s' % (target, dtype), forward, suite, spec, target, 0)
            suite.case('decode-%s-%s' % (target, dtype), growing, suite,
                       spec | TAU | {'emit': ['forward', 'decode']}, target)
            suite.case('gated-%s-%s' % (target, dtype), forward, suite, spec | GATED['identity-gate'], target, 1)
    suite.objects = Objects(suite.folder)
    for name, more in WITHOUT_KEYS.items():
        spec = {'name': 'delta', 'dtype': 'f32'} | BASE | more | {'emit': ['forward', 'backward', 'statistics']}
        suite.case('without_keys/' + name, without_keys, suite, spec)
        suite.case('check/statistics_' + name, checked, suite, spec)
    for name, more in {'linear': {}, 'quadratic': {'algorithm': 'quadratic', 'schedule': {'tile_q': 16}}, 'softmax': {'similarity': 'softmax'},
                       'divided': {'similarity': 'softmax', 'delta': {'rate': '0.5', 'normalize': 'sum'}}}.items():
        suite.case('of_other_documents/' + name, of_other_documents, suite, more)
    suite.case('refused/heads', refused, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
