"""Specs with max_length. Every length up to it is compared with definitions.py, in the quadratic and in the linear form.
Longer inputs are refused. The workspace is smaller than without max_length.

Gradients and extend give the same results as without max_length."""
import ctypes
import os
from functools import partial

import numpy as np

from kernel import Problem, State, best_target
from loop import ELENGTH, Made, Row, kernel_of, right
from suite import WHOLE, check, execute

ECAPACITY = -13
LINEAR = {'algorithm': 'linear'}
SPECS = {   # Each value is (max_length, the other keys of the spec).
    'softmax': (16, {'similarity': 'softmax', 'shape': {'head_dim': 8}}),
    'one': (1, {'similarity': 'softmax', 'shape': {'head_dim': 8}}),
    'causal': (64, {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 16}}),
    'odd': (37, {'prepare': ['rope'], 'similarity': {'softmax': {'bias': 'alibi', 'cap': 5.0}},
                 'mask': {'window': {'left': 12, 'right': 3}}, 'shape': {'head_dim': 6, 'value_dim': 9}, 'dtype': 'f64'}),
    'bf16': (40, {'prepare': ['layernorm'], 'similarity': 'softmax', 'mask': 'causal', 'dtype': 'bf16',
                  'shape': {'head_dim': 32}}),
    'f16': (20, {'similarity': {'softmax': {'bias': 'dense'}}, 'dtype': 'f16', 'shape': {'head_dim': 8}}),
    'prepared': (50, {'prepare': ['layernorm'], 'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal',
                      'shape': {'head_dim': 16}}),
    'random': (60, {'similarity': 'softmax', 'mask': {'random': {'block': 32, 'count': 1}}, 'shape': {'head_dim': 8}}),
    'documents': (30, {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'shape': {'head_dim': 8}}),
    'projected': (24, {'similarity': 'softmax', 'project': {'linformer': {'size': 40}}, 'shape': {'head_dim': 8}}),
    'scheduled': (32, {'similarity': 'softmax', 'shape': {'head_dim': 8}, 'schedule': {'tile_q': 128, 'tile_k': 20}}),
    'carried': (70, {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'block': 16,
                     'shape': {'head_dim': 16, 'value_dim': 24}} | LINEAR),
    'short_of_a_chunk': (20, {'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}}, 'block': 64,
                              'mask': 'causal', 'shape': {'head_dim': 16}} | LINEAR),
    'summed': (33, {'similarity': {'linear': {'features': 'hedgehog'}}, 'shape': {'head_dim': 8}} | LINEAR),
}
DECODED = ['causal', 'bf16', 'documents', 'carried', 'short_of_a_chunk', 'prepared']


def make(folder, suite, row):
    """Returns the kernel with max_length, and the one without it."""
    os.mkdir(folder + '/free')
    shape = {key: n for key, n in row.spec['shape'].items() if key != 'max_length'}
    _, free = kernel_of(folder + '/free', suite, row.spec | {'shape': shape}, row.target)
    spec, kernel = kernel_of(folder, suite, row.spec, row.target)
    return Made(folder, suite, spec, kernel, free)


def bounds(made, function):
    """Longer inputs are refused, and the workspace is smaller. It may stay equal if keys are projected or if a chunk is
    shorter than max_length."""
    most, (bound, free) = made.spec['shape']['max_length'], made.kernels
    pointers, workspace = (12, 'backward_workspace') if function == 'backward' else (7, 'workspace')

    def error(n_q, n_k):
        call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * pointers)(getattr(bound.about, function))
        return call(ctypes.byref(Problem(1, 2, 1, n_q, n_k, threads=1)), *[None] * (pointers - 1))
    for n_q, n_k in (most + 1, 1), (1, most + 1), (most + 1, most + 1), (most + 1, most), (most, most + 1):
        check(error(n_q, n_k) == ELENGTH, '%d queries and %d keys: %d' % (n_q, n_k, error(n_q, n_k)))
    check(error(most, most) != ELENGTH, 'max_length itself is refused')
    few, many = (ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(getattr(kernel.about, workspace))(
        ctypes.byref(Problem(1, 2, 1, most, most, threads=1))) for kernel in made.kernels)
    check(few < many or (few == many and ('project' in made.spec or made.spec.get('block', most) < most)),
          'the workspace has %d bytes, and without max_length %d' % (few, many))


def gradients(x):
    """Gradients are those without max_length."""
    made, wanted = (x.gradients(saves=x.n_q % 2, kernel=kernel) for kernel in x.made.kernels)
    scale = max(np.abs(g).max() for g in wanted.values())
    for g in wanted:
        off = np.abs(made[g].astype(float) - wanted[g].astype(float)).max() / scale
        check(off <= {'f64': 1e-13, 'f32': 4e-6}[x.spec['dtype']], '%s is off by %.3g' % (g, off))


def decodes(x):
    """extend computes what forward computes without max_length, and refuses one token more."""
    (bound, free), P, n, size = x.made.kernels, x.rest, x.n_q, (x.batch, x.heads, x.kv_heads)
    q, k, v = (x.arrays[name] for name in 'qkv')
    whole, state = x.forward(kernel=free), State(bound, P, *size, capacity=n)
    for at in range(0, n, 7):
        given = [a[:, :, at:min(at + 7, n)] for a in (q, k, v)]
        rows = {'document': P['document'][:, at:at + 7]} if 'document' in P else None
        off = np.abs(state.extend(*given, rows=rows).astype(float) - whole[:, :, at:at + 7]).max() / np.abs(whole).max()
        check(off <= (2.0 ** -7 if x.spec['dtype'] == 'bf16' else 1e-5), 'from %d on off by %.3g' % (at, off))
    one = [a[:, :, :1] for a in (q, k, v)]
    error, _ = state.try_extend(*one)
    check(error == ECAPACITY and state.length(0) == n, 'a token more: %d, and %d tokens' % (error, state.length(0)))
    problem = Problem(*size, capacity=n + 1)
    needed = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(bound.about.state)(ctypes.byref(problem))
    begun = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(bound.about.state_init)(
        ctypes.byref(problem), state.address)
    grows = State(bound, P, *size, capacity=n - 1).bytes != State(bound, P, *size, capacity=n).bytes
    check((needed, begun) == (0, ELENGTH) if grows else needed > 0, 'a larger capacity: %d bytes, %d' % (needed, begun))


def commands(folder, suite):
    """Without --lengths, commands use lengths that the spec allows."""
    path = os.path.join(folder, 'brief.yaml')
    with open(path, 'w') as f:
        f.write('similarity: {polynomial: {degree: 2}}\nmask: causal\nshape: {head_dim: 16, max_length: 24}\n'
                'emit: [forward, backward, decode]\n')

    def attnc(*words, status=0):
        done = execute([suite.attnc, *words], env=dict(os.environ, XDG_CACHE_HOME=folder + '/cache'))
        check(done.returncode == status, '%s: %d: %s' % (words, done.returncode, (done.stdout + done.stderr)[-600:]))
        return done.stdout + done.stderr

    check('brief: ok' in attnc('check', path), 'check')
    said = attnc('explain', path)
    check('up to 24 positions' in said and 'max_length is 24' in said and ' 1024  quadratic' not in said, said)
    for words in ('check', path, '--lengths', '24,25'), ('tune', path, '--shape', 'n=25'):
        check('max_length is 24, so a length of 25' in attnc(*words, status=2), words)
    check('more positions than the spec allows' in attnc('bench', path, '--lengths', '32', '--time', '0.01', status=1),
          'bench')
    said = attnc(path, '--stdout', '--emit', 'json,h')
    check('"max_length": 24' in said and 'n_q and n_k are at most 24' in said, 'the spec is not told of')


def cases():
    def row(case, name, shapes, check_of, target, emit=(), once=()):
        most, spec = SPECS[name]
        spec = {'name': 'bounded', 'dtype': 'f32', 'emit': ['forward', *emit]} | spec
        return Row(case, spec | {'shape': spec['shape'] | {'max_length': most}}, shapes(most), [check_of], target,
                   once=once, make=make)

    def lengths(most):
        pairs = [(n, n) for n in range(1, most + 1)] + [(1, most), (most, 1), ((most + 1) // 2, most), (most, (most + 1) // 2)]
        return [(n_q, (1, 4, 2, n_q, n_k)) for n_q, n_k in pairs]
    for n, name in enumerate(SPECS):
        targets = list(dict.fromkeys(['generic', best_target()]))
        for target in targets if WHOLE else [targets[n % len(targets)]]:
            of_weights = partial(right, times=2, more=lambda x: 2.0 ** -8 if x.spec['dtype'] == 'bf16' else 0.0)
            yield row('lengths/%s/%s' % (name, target), name, lengths, of_weights, target,
                      once=[partial(bounds, function='forward')])
    for name in 'softmax', 'causal', 'odd', 'prepared', 'carried':
        yield row('gradients/' + name, name, lambda most: [(n, (1, 4, 2, n, n)) for n in sorted({1, 2, (most + 1) // 2, most})],
                  gradients, 'generic', ['backward'], [partial(bounds, function='backward')])
    for name in DECODED:
        yield row('decodes/' + name, name, lambda most: [(1, (2, 4, 2, most, most))], decodes, best_target(), ['decode'])
    yield 'commands', commands
