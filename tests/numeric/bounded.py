#!/usr/bin/python3
"""Tests specs with max_length. Every length up to it is compared with definitions.py, in the quadratic and in the
linear form. Longer inputs are refused. The workspace is smaller than without max_length.

Gradients and extend give the same results as without max_length."""
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
from answers import draw
from kernel import Objects, Problem, State, best_target, compiled
from kernel import inputs as read_inputs
from processor import missing_flags
from suite import WHOLE, Skip, Suite, check, compiler, execute

ECAPACITY, ELENGTH = -13, -14
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


class Bounded:
    """The kernels of a spec with max_length and without it."""

    def __init__(self, suite, folder, name, target, emit='forward'):
        self.most, spec = SPECS[name]
        self.kernel = []
        for n, shape in enumerate((spec['shape'] | {'max_length': self.most}, spec['shape'])):
            own = os.path.join(folder, 'free' if n else 'bound')
            os.mkdir(own)
            path = os.path.join(own, 'bounded.yaml')
            with open(path, 'w') as f:
                yaml.safe_dump({'name': 'bounded', 'dtype': 'f32'} | spec | {'shape': shape, 'emit': list(dict.fromkeys(['forward', emit]))},
                               f, sort_keys=False)
            self.kernel.append(compiled(suite, path, own, target, '-O0', compiler('clang')))
        self.bound, self.free = self.kernel
        self.spec = definitions.load(path)

    def error(self, n_q, n_k, function='forward'):
        """Calls a function of the kernel with max_length for these lengths. Returns the function's result."""
        problem = Problem(1, 2, 1, n_q, n_k, threads=1)
        call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * (12 if function == 'backward' else 7))(
            getattr(self.bound.about, function))
        return call(ctypes.byref(problem), *[None] * (11 if function == 'backward' else 6))

    def smaller(self, function):
        """max_length makes the workspace smaller. It may stay equal if keys are projected or if a chunk is shorter
        than max_length."""
        problem = ctypes.byref(Problem(1, 2, 1, self.most, self.most, threads=1))
        few, many = (ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(getattr(kernel.about, function))(problem)
                     for kernel in self.kernel)
        check(few < many or (few == many and ('project' in self.spec or self.spec.get('block', self.most) < self.most)),
              'the workspace has %d bytes, and without max_length %d' % (few, many))
        return few, many


def lengths(folder, suite, name, target):
    if missing_flags(target):
        raise Skip('the processor has no ' + missing_flags(target))
    x = Bounded(suite, folder, name, target)
    most, largest = x.most, 0.0
    shapes = [(n, n) for n in range(1, most + 1)] + [(1, most), (most, 1), ((most + 1) // 2, most), (most, (most + 1) // 2)]
    for n_q, n_k in shapes:
        answer = draw(x.spec, '%s/in%d-%d' % (folder, n_q, n_k), (4, 2, n_q, n_k, 1), n_q)
        P = dict(answer.arrays)
        q, k, v = (P.pop(a).astype(np.float64) for a in 'qkv')
        out = x.bound(P, q, k, v)
        why, error, _ = answer.judge(out.astype(np.float16) if x.spec['dtype'] == 'f16' else out, 2,
                                     2.0 ** -8 * answer.scale if x.spec['dtype'] == 'bf16' else 0.0)
        check(not why, 'nq%d nk%d: %s' % (n_q, n_k, why))
        largest = max(largest, error)
    for n_q, n_k in (most + 1, 1), (1, most + 1), (most + 1, most + 1):
        check(x.error(n_q, n_k) == ELENGTH, '%d queries and %d keys: %d' % (n_q, n_k, x.error(n_q, n_k)))
    check(x.error(most, most) != ELENGTH, 'max_length itself is refused')
    few, many = x.smaller('workspace')
    return '(largest error %.2f of what is allowed; %d bytes of workspace, without it %d)' % (largest, few, many)


def gradients(folder, suite, name):
    x = Bounded(suite, folder, name, 'generic', 'backward')
    most, worst = x.most, 0.0
    for n in sorted({1, 2, (most + 1) // 2, most}):
        P, q, k, v = read_inputs(x.spec, 4, 2, n, n, 1, n, '%s/in%d' % (folder, n))
        dout = np.random.default_rng(n).standard_normal((1, 4, n, v.shape[-1]))
        made, wanted = (kernel.gradients(P, q, k, v, dout, saves=n % 2) for kernel in x.kernel)
        scale = max(np.abs(g).max() for g in wanted.values())
        for g in wanted:
            off = np.abs(made[g].astype(float) - wanted[g].astype(float)).max() / scale
            check(off <= {'f64': 1e-13, 'f32': 4e-6}[x.spec['dtype']], '%s of %d positions is off by %.3g' % (g, n, off))
            worst = max(worst, off)
    error = x.error(most + 1, most, 'backward'), x.error(most, most + 1, 'backward')
    check(error == (ELENGTH, ELENGTH), 'backward returns %s' % (error,))
    few, many = x.smaller('backward_workspace')
    return '(off by %.2g at most; %d bytes of workspace, without it %d)' % (worst, few, many)


def decodes(folder, suite, name):
    x = Bounded(suite, folder, name, best_target(), 'decode')
    n = x.most
    P, q, k, v = read_inputs(x.spec, 4, 2, n, n, 2, 1, folder + '/in')
    whole = x.free(P, q, k, v)
    state = State(x.bound, P, 2, 4, 2, capacity=n)
    for at in range(0, n, 7):
        given = [a[:, :, at:min(at + 7, n)] for a in (q, k, v)]
        rows = {'document': P['document'][:, at:at + 7]} if 'document' in P else None
        off = np.abs(state.extend(*given, rows=rows).astype(float) - whole[:, :, at:at + 7]).max() / np.abs(whole).max()
        check(off <= (2.0 ** -7 if x.spec['dtype'] == 'bf16' else 1e-5), 'from %d on off by %.3g' % (at, off))
    one = [a[:, :, :1] for a in (q, k, v)]
    error, _ = state.try_extend(*one)
    check(error == ECAPACITY and state.length(0) == n, 'a token more: %d, and %d tokens' % (error, state.length(0)))
    problem = Problem(2, 4, 2, capacity=n + 1)
    size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(x.bound.about.state)(ctypes.byref(problem))
    begun = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(x.bound.about.state_init)(
        ctypes.byref(problem), state.address)
    grows = State(x.free, P, 2, 4, 2, capacity=n).bytes != State(x.free, P, 2, 4, 2, capacity=n + 1).bytes
    check((size, begun) == (0, ELENGTH) if grows else size > 0, 'a larger capacity: %d bytes, %d' % (size, begun))


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


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(SPECS):
        targets = list(dict.fromkeys(['generic', best_target()]))
        for target in targets if WHOLE else [targets[n % len(targets)]]:
            suite.case('lengths/%s/%s' % (name, target), lengths, suite, name, target)
    for name in 'softmax', 'causal', 'odd', 'prepared', 'carried':
        suite.case('gradients/' + name, gradients, suite, name)
    for name in DECODED:
        suite.case('decodes/' + name, decodes, suite, name)
    suite.case('commands', commands, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
