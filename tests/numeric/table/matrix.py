"""Kernels of bf16 on matrix units: every weight and mask, sizes around a tile register. Emulation, processor and threads
give the same bits.

Without matrix units, only emulated kernels run. The gradients need autograd, as in gradients.py."""
import ctypes
import os
import random
import re
import struct
from functools import partial

import numpy as np

import definitions
import quick
import random_masks
from kernel import RUNTIME, Kernel, done_well, runtime_objects
from loop import (WITH_GRADIENTS, Made, Row, numbered, planted_at, right, right_gradients, same_bits, spec_file, threads,
                  unseen)
from processor import OF_LINEAR_FORMS, OF_WEIGHTS, SLOWER_TOO
from suite import WHOLE, Skip, check, compiler, execute

SPECS = {
    'causal': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 64}},
    'one': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 1, 'value_dim': 1}},
    'eight': {'similarity': 'softmax', 'mask': {'window': {'left': 40, 'right': 3}}, 'shape': {'head_dim': 8}},
    'odd': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 33, 'value_dim': 17}},
    'wide': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 80, 'value_dim': 128}},
    'values': {'similarity': 'softmax', 'shape': {'head_dim': 128, 'value_dim': 40}},
    'scale': {'similarity': {'softmax': {'scale': -0.4}}, 'mask': 'causal', 'shape': {'head_dim': 32}},
    'alibi': {'similarity': {'softmax': {'cap': 8.0, 'bias': 'alibi'}}, 'mask': 'causal', 'shape': {'head_dim': 32}},
    'sinks': {'similarity': 'softmax', 'mask': {'all': ['causal', {'any': [
        {'window': {'left': 50}}, {'global': {'count': 4}}]}]}, 'shape': {'head_dim': 32}},
    'sum-plus': {'similarity': 'softmax', 'normalize': {'sum_plus': 1}, 'mask': 'causal', 'shape': {'head_dim': 32}},
    'sink': {'similarity': 'softmax', 'normalize': {'sink': 'h - i * 0.02'}, 'mask': 'causal',
             'emit': ['forward', 'backward', 'statistics'], 'shape': {'head_dim': 32}},
    'padded': {'similarity': 'softmax', 'mask': 'lengths', 'shape': {'head_dim': 32}},
    'padded_window': {'similarity': 'softmax', 'mask': {'all': [{'window': {'left': 100, 'right': 30}}, 'lengths']}, 'shape': {'head_dim': 32}},
    'lists': {'similarity': 'softmax', 'mask': {'blocks': {'block': 64, 'count': 3}}, 'shape': {'head_dim': 32}},
    'documents': {'similarity': 'softmax', 'mask': {'all': ['causal', 'document']}, 'shape': {'head_dim': 32}},
    'blocks': {'similarity': 'softmax', 'mask': {'any': [{'block_window': {'block': 64, 'left': 1, 'right': 1}},
                                                         {'global': {'count': 70}},
                                                         {'random': {'block': 64, 'count': 2, 'seed': 5}}]},
               'shape': {'head_dim': 16}},
    'dilated': {'similarity': 'softmax', 'mask': {'window': {'left': 60, 'dilation': 3}}, 'shape': {'head_dim': 32}},
    'fixed': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && (i - j < 16 || j % 8 == 7)'},
              'shape': {'head_dim': 32}},
    'runs': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && j % 64 < 40'}, 'shape': {'head_dim': 40}},
    'short-runs': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && j % 64 < 10'}, 'shape': {'head_dim': 32}},
    'heads': {'similarity': 'softmax', 'mask': {'expr': 'j <= i && (i - j < 20 || j % 7 == h)'},
              'shape': {'head_dim': 16}},
    'polynomial': {'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal', 'algorithm': 'quadratic',
                   'shape': {'head_dim': 64}},
    'plus-one': {'similarity': {'polynomial': {'degree': 2, 'alpha': 1}}, 'normalize': {'sum_plus': 1},
                 'algorithm': 'quadratic', 'mask': 'causal', 'shape': {'head_dim': 48}},
    'power': {'similarity': {'polynomial': {'degree': 16, 'beta': 2}}, 'normalize': 'sum', 'mask': 'causal',
              'algorithm': 'quadratic', 'shape': {'head_dim': 32}},
    'sigmoid': {'similarity': {'custom': {'weight': '1 / (1 + exp(-s / 8))'}}, 'mask': 'causal',
                'shape': {'head_dim': 32}},
    'rope': {'prepare': ['rope'], 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 32}},
    'norm': {'prepare': ['layernorm'], 'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal',
             'algorithm': 'quadratic', 'shape': {'head_dim': 64}},
    'cosine': {'prepare': ['l2norm', {'scale': {'by': 3.0}}], 'similarity': 'softmax', 'mask': 'causal',
               'shape': {'head_dim': 40, 'value_dim': 16}},
    'dropout': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.3, 'seed': 11, 'shape': {'head_dim': 32}},
    'dropout-window': {'similarity': {'softmax': {'cap': 8.0}}, 'mask': {'window': {'left': 40, 'right': 3}},
                       'dropout': 0.75, 'shape': {'head_dim': 40}},
    'short': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 32, 'max_length': 40}},
    'saved': {'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'backward'], 'shape': {'head_dim': 32}},
}
ON_UNITS = {'shape': {'head_dim': 64}, 'mask': 'causal', 'algorithm': 'linear'}
SKETCH = {'degree': 4, 'sketch': 32}
LINEAR = {
    'elu': {'similarity': {'linear': {'features': 'elu_plus_one'}}},
    'elu-all': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'none'},
    'elu-odd': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'shape': {'head_dim': 72, 'value_dim': 112}},
    'hedgehog': {'similarity': {'linear': {'features': 'hedgehog'}}},
    'performer': {'similarity': {'linear': {'features': {'favor_positive': {'count': 128, 'orthogonal': True}}}}},
    'retention': {'prepare': ['rope', {'scale': {'by': 0.125}}], 'normalize': 'none',
                  'similarity': {'custom': {'weight': 's * pow(1 - pow(2, -5 - h), i - j)'}}},
    'delta': {'prepare': ['l2norm'], 'normalize': 'none', 'similarity': {'linear': {'features': 'identity'}},
              'delta': {'rate': '0.4 + 0.05 * (t % 7 + h)'}},
    'delta-sketch': {'prepare': ['l2norm'], 'normalize': 'none', 'similarity': {'polysketch': SKETCH},
                     'delta': {'rate': '0.002'}},
    'sketch': {'prepare': ['layernorm'], 'similarity': {'polysketch': SKETCH}},
    'sketch-local': {'prepare': ['layernorm'], 'similarity': {'polysketch': SKETCH | {'local': 'exact'}}, 'block': 64},
    'learned': {'prepare': ['layernorm'], 'similarity': {'polysketch': SKETCH | {'map': 'learned'}}},
    'learned-local': {'prepare': ['layernorm'], 'block': 64,
                      'similarity': {'polysketch': SKETCH | {'map': 'learned', 'local': 'exact'}}},
}
# The higher the power, the more weights are small compared with their features.
for degree, local in (2, {}), (8, {'local': 'exact'}), (16, {}), (16, {'local': 'exact'}):
    LINEAR['degree-%d' % degree + '-local' * len(local)] = {
        'prepare': ['layernorm'], 'block': 64, 'similarity': {'polysketch': SKETCH | {'degree': degree} | local}}
LINEAR['learned-odd'] = {'prepare': ['layernorm'], 'shape': {'head_dim': 40, 'value_dim': 72},
                           'similarity': {'polysketch': {'degree': 4, 'sketch': 20, 'map': 'learned'}}}
CHUNKS = {'elu': 32, 'elu-odd': 32, 'hedgehog': 32, 'retention': 32, 'delta': 32, 'performer': 16, 'sketch': 256, 'learned': 256}
LENGTHS = [(1, 2, 1, n, n) for n in map(int, os.environ.get('ATTN_LENGTHS', '').split())]
# Each shape is (batch, heads, key/value heads, queries, keys).
SHAPES = [(1, 65, 1, 1, 70), (1, 2, 2, 17, 17), (2, 2, 1, 31, 33), (1, 2, 2, 33, 127), (1, 4, 2, 129, 129),
          (1, 1, 1, 513, 520), (1, 2, 1, 140, 20)]
BACKWARD_SHAPES = [(1, 2, 1, 65, 129), (2, 2, 2, 63, 33), (1, 1, 1, 1, 1), (1, 4, 2, 31, 15), (1, 1, 1, 129, 64),
                   (1, 1, 1, 17, 16)]
GRADIENTS = ['causal', 'one', 'eight', 'odd', 'wide', 'alibi', 'documents', 'padded', 'lists', 'blocks', 'dilated', 'heads', 'polynomial',
             'rope', 'sum-plus', 'norm', 'cosine', 'short', 'dropout', 'dropout-window']
# Specs whose dq is computed in separate loops, or from keys prepared in f32.
APART = {'blocks', 'lists', 'heads', 'rope', 'dilated', 'norm', 'cosine'}
SHORT = {'alibi', 'dense', 'blocks', 'heads', 'scale', 'prefix', 'rope'}  # definitions.py is slow for these specs


SIGNALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'signal_main.c')


def flags():
    with open('/proc/cpuinfo') as f:
        return next((line.split() for line in f if line.startswith('flags')), [])


def make(folder, suite, row, plain=False, pairs=False):
    """Returns the kernel on emulated registers, and the one on the processor's registers if it has them. `plain` compiles
    for any processor. `pairs` uses products of pairs instead of registers."""
    path = spec_file(folder, row.spec)
    done_well([suite.attnc, path, '-o', folder, '--target', 'x86-64-v4'], folder)
    if pairs and 'avx512_bf16' not in flags():
        raise Skip('the processor has no products of bf16')
    # AMX gives the bits of the emulation, because both fuse multiplication and addition.
    made, units = [], 'amx_bf16' in flags() and not pairs
    emulated = ['-DATTN_EMULATE_TILES', '-Wno-psabi', *['-march=native'] * (units or not plain)]
    if pairs: emulated = SLOWER_TOO.split()
    for name, options in [('emulated', emulated)] + [('units', [])] * units:
        options = ['-O0', '-Wall', '-Wextra', '-Wpedantic', '-Werror', *options, '-I', RUNTIME, '-I', folder]
        for line in quick.lines(compiler(row.build[1]), options, 'matrix.c', name + '.so', *runtime_objects(suite)):
            done_well(line, folder)
        made.append(Kernel(os.path.join(folder, name + '.so'), 'matrix'))
    return Made(folder, suite, definitions.load(path), *made)


def row(name, spec, shapes, checks, seed=0, pairs=False, **more):
    """Returns a row. Some kernels are compiled by gcc, some for any processor."""
    shapes = [(n, s) for n, s in shapes if max(s[3:]) <= spec['shape'].get('max_length', max(s[3:]))]
    return Row(name, {'name': 'matrix', 'dtype': 'bf16'} | spec, shapes, checks,
               build=('-O0', 'clang' if seed % 300 else 'gcc'), make=partial(make, plain=seed % 200 == 0, pairs=pairs),
               **more)


def uses(made, word='unit_dot', wanted=True):
    check(('T(%s)' % word in made.text()) == wanted, '%s is %s' % (word, 'not used' if wanted else 'used now'))


def of_units(x):
    """The processor gives the bits of the emulation."""
    for kernel in x.made.kernels[1:]:
        for count in 1, 2, 3: same_bits(x.forward(count, kernel), x.out, 'of the processor on %d threads' % count)


def linear(x):
    """Compares each kernel of a linear form."""
    made = [x.out] + [x.forward(3, kernel) for kernel in x.made.kernels[1:]]
    return max(right(x, 2, lambda x: OF_LINEAR_FORMS, out) for out in made)


def linear_shapes(name):
    """Returns lengths around a chunk. Queries come after, among or before the keys."""
    b = CHUNKS.get(name, 64)
    shapes = [(1, 2, 1, 17, 17), (1, 2, 2, b - 1, b - 1), (2, 1, 1, b, b), (1, 4, 2, b + 1, b + 1),
              (1, 2, 2, 33, 2 * b + 1), (1, 1, 1, 1, 1), (1, 2, 1, 1, b + 1)] + [(1, 2, 1, 2 * b + 3, 2 * b + 3)] * (b < 256)
    return [(s[0], s[1], s[1] if 'delta' in LINEAR[name] else s[2], *s[3:]) for s in LENGTHS or shapes]


def linear_gradients(x):
    """Compares gradients of a linear form, from saved values or from recomputed values."""
    others = [('of 3 threads', {'threads': 3}), ('where nothing is saved', {'threads': 2, 'saves': False})]
    return max(right_gradients(x, others, kernel) for kernel in x.made.kernels)


def all_parts(made):
    """The parts of backward are on matrix units."""
    parts = re.findall(r'T\(matrix_linear_(\w+)_(?:keys|queries)\)\(const struct call(.*?\n})', made.text(), re.S)
    groups = {name for name, _ in parts} - {'saved'}
    check(len(groups) == 2 and groups <= {name for name, part in parts if 'for matrix units' in part},
          'not all of %s are on matrix units' % ' and '.join(groups))


def gradients(x):
    """Threads, requested gradients, saved values and registers do not change the bits of gradients."""
    others = [('of 3 threads', {'threads': 3})]
    # For at most 16 queries, kernels recompute in f32 what was not saved.
    if x.n_q > 16: others.append(('where nothing is saved', {'saves': False}))
    others += [('of %s alone' % ' and '.join(some), {'wanted': some}) for some in (['dq'], ['dk'], ['dv'], ['dq', 'dv'])]
    others += [('of the processor on %d threads' % count, {'threads': count, 'kernel': units})
               for units in x.made.kernels[1:] for count in (1, 3)]
    return right_gradients(x, others)


def masked_at_random(seed):
    """Returns a row with nested masks or periodic masks. Their runs of keys may be too short for matrix units."""
    rng = random.Random(seed)
    mask = random_masks.striped(rng) if seed % 3 else random_masks.mask(rng, rng.randrange(1, 4))
    spec = {'similarity': rng.choice(['softmax', {'softmax': {'modify': 's - (i - j) / 64.0'}}]), 'mask': mask,
            'shape': {'head_dim': rng.choice([8, 32, 33]), 'value_dim': rng.choice([16, 40])}}
    lengths = rng.choice([(131, 131), (64, 130), (117, 20)]), rng.choice([(33, 90), (20, 117)])

    def every(x):
        for kernel in x.made.kernels: right(x, 1, lambda x: OF_WEIGHTS, x.forward(kernel=kernel))
    return row('random/%d' % seed, spec, numbered(seed, [(1, 2, 1, n_q, n_k) for n_q, n_k in lengths]), [every], seed=100)


def unseen_gradients(x):
    """NaN and infinity of a key reach only dq of queries that see the key. NaN and infinity of a query reach only
    dk and dv of keys that the query sees."""
    for kernel in x.made.kernels:
        clean = x.gradients(kernel=kernel)
        for at, what in (149, np.nan), (128, np.inf), (7, -np.inf), (0, np.nan):
            for to in 'q', 'k', 'v', 'dout':
                moved = x.arrays[to].copy()
                moved[:, :, at, 3] = what
                made = x.but(**{to: moved}).gradients(kernel=kernel)
                for of in ('dq',) if to in 'kv' else ('dk', 'dv'):
                    same = ~(x.seen[0, 0, :, at] if of == 'dq' else x.seen[0, 0, at])
                    here = '%s at %s %d reaches %s ' % (what, to, at, of)
                    check((made[of][:, :, same] == clean[of][:, :, same]).all(), here + 'of what does not see it')
                    if to != 'q':  # an infinite score may give a weight of 0
                        check(not np.isfinite(made['dq' if to == 'dout' else of][:, :, at]).all(), here + 'not')


def refuse():
    """Linux refuses tile data from now on: seccomp answers arch_prctl with EPERM."""
    class Program(ctypes.Structure):
        _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 3, 158),               # is the system call arch_prctl?
             (0x20, 0, 0, 16), (0x15, 0, 1, 0x1023),           # is its first argument ARCH_REQ_XCOMP_PERM?
             (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *s) for s in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.prctl(38, 1, 0, 0, 0) == 0, 'no_new_privs')
    program = Program(len(steps), ctypes.addressof(code))
    if libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
        raise Skip('seccomp is not allowed here')


def in_child(work):
    """Runs the function in a child process, and returns its output."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work())
            os._exit(0)
        except Skip:
            os._exit(77)
        except BaseException:  # pylint: disable=broad-except
            os._exit(1)
    os.close(write)
    with os.fdopen(read, 'rb') as f:
        wrote = f.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 77:
        raise Skip('seccomp is not allowed here')
    check(status == 0, 'a process of the kernel ended with status %d' % status)
    return wrote


def of_weights(x):
    return OF_WEIGHTS


def refused(x):
    """Without matrix units, the next best version of the code runs."""
    if 'amx_bf16' not in flags():
        raise Skip('the processor has no matrix units')

    def work():
        refuse()
        check(ctypes.CDLL(x.made.folder + '/units.so').attn_tiles() == 0, 'seccomp does not refuse tile data')
        return x.forward(1, x.made.kernels[1]).tobytes()
    return right(x, 1, of_weights, np.frombuffer(in_child(work), np.float32).reshape(x.answer.expected.shape))


def forked(x):
    """Forks before and after the process requested permission for tile data give the same bits."""
    call = partial(x.forward, 1, x.made.kernels[-1])
    before = in_child(lambda: call().tobytes())
    out = call()
    check(out.tobytes() == before, 'a fork before the first call changes its bits')
    check(in_child(lambda: call().tobytes()) == before, 'a fork after it does')
    return right(x, 1, of_weights, out)


def signals(folder, suite):
    """Signal handlers call a kernel while another call uses the registers."""
    spec_file(folder, {'name': 'matrix', 'dtype': 'bf16'} | SPECS['causal'])
    done_well([suite.attnc, 'matrix.yaml', '-o', folder, '--target', 'x86-64-v4'], folder)
    said = []
    for options in ['-DATTN_EMULATE_TILES'], *[[]] * ('amx_bf16' in flags()):
        done_well([compiler('clang'), '-O0', '-Wall', '-Wextra', '-Werror', '-Wno-psabi', *options,
                   '-DKERNEL="matrix.c"', '-I', RUNTIME, '-I', folder, '-o', 'signals',
                   SIGNALS, *runtime_objects(suite), '-fopenmp', '-pthread', '-lm'], folder)
        done = execute([os.path.join(folder, 'signals')], cwd=folder)
        check(done.returncode == 0, 'a signal between tiles changes what is computed, after %s' % done.stdout.strip())
        check(int(done.stdout) > 0, 'no signal came')
        said.append(done.stdout.strip())
    return '(%s calls were interrupted)' % ' and '.join(said)


def cases():
    weights = [partial(right, more=of_weights), of_units]
    for n, name in enumerate(SPECS):
        shapes = [(seed, s) for seed, s in numbered(100 * n, SHAPES) if name not in SHORT or s[3] <= 200]
        yield row(name, SPECS[name], shapes, weights, 100 * n, once=[uses])
    for n, name in enumerate(GRADIENTS):
        shapes = numbered(100 * n, BACKWARD_SHAPES[:2 if name in SHORT else None])
        for kind, pairs in ('gradients-', False), ('gradients-by-pairs-', True):
            yield row(kind + name, SPECS[name] | WITH_GRADIENTS, shapes, [gradients], 100 * n, pairs,
                      once=[partial(uses, word='unit_across', wanted=name not in APART)])
    forms = {name: {key: x for key, x in (ON_UNITS | keys).items() if x != 'none' or key == 'normalize'}
             for name, keys in LINEAR.items()}
    for n, name in enumerate(LINEAR):
        checks = [linear, partial(threads, counts=(1, 3))]
        yield row('linear-' + name, forms[name], numbered(100 * n, linear_shapes(name)), checks, seed=100,
                  once=[partial(uses, word='unit_terms')])
    for n, name in enumerate(['elu', 'elu-odd', 'hedgehog', 'performer', 'retention', 'sketch', 'sketch-local',
                              'learned-local', 'degree-8-local']):
        shapes = numbered(100 * n, [(1, 2, 1, 70, 130), (1, 1, 1, 65, 65), (2, 2, 2, 17, 15), (1, 1, 1, 33, 300)])
        yield row('linear-gradients-' + name, forms[name] | WITH_GRADIENTS, shapes, [linear_gradients], seed=100,
                  once=[all_parts])
    for seed in range(8 if WHOLE else 4): yield masked_at_random(seed)
    for name in 'causal', 'dilated', 'fixed':
        shapes = [(8, (1, 2, 1, 150, 150))]
        yield row('unseen ' + name, SPECS[name], shapes, [partial(unseen, planted=planted_at(149, 128, 7))], seed=100)
        for kind, pairs in ('unseen-gradients ', False), ('unseen-gradients-by-pairs ', True):
            yield row(kind + name, SPECS[name] | WITH_GRADIENTS, shapes, [unseen_gradients], 100, pairs)
    for function in refused, forked:
        yield row(function.__name__, SPECS['causal'], [(5, (1, 2, 1, 100, 100))], [function], seed=100)
    yield 'signals', signals
