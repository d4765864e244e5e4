#!/usr/bin/python3
"""Compares kernels of bf16 on matrix units with definitions.py and gradient_definitions.py: every weight and mask,
sizes around a tile register. Emulation, processor and threads give the same bits.

Without matrix units, only emulated kernels run. The gradients need autograd, as in gradients.py."""
import ctypes
import os
import random
import re
import struct
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import backward
import definitions
import quick
import random_masks
from answers import draw
from autograd_venv import autograd
from kernel import RUNTIME, Kernel, Objects, done_well, runtime_objects
from processor import OF_LINEAR_FORMS, OF_WEIGHTS, SLOWER_TOO
from suite import WHOLE, Failure, Skip, Suite, check, compiler, execute

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
LENGTHS = [(n, n, 2, 1, 1) for n in map(int, os.environ.get('ATTN_LENGTHS', '').split())]
# Each shape is (n_q, n_k, heads, kv_heads, batch).
SHAPES = [(1, 70, 65, 1, 1), (17, 17, 2, 2, 1), (31, 33, 2, 1, 2), (33, 127, 2, 2, 1), (129, 129, 4, 2, 1),
          (513, 520, 1, 1, 1), (140, 20, 2, 1, 1)]
# Each shape is (batch, heads, key/value heads, queries, keys).
BACKWARD_SHAPES = [(1, 2, 1, 65, 129), (2, 2, 2, 63, 33), (1, 1, 1, 1, 1), (1, 4, 2, 31, 15), (1, 1, 1, 129, 64),
                   (1, 1, 1, 17, 16)]
GRADIENTS = ['causal', 'one', 'eight', 'odd', 'wide', 'alibi', 'documents', 'padded', 'lists', 'blocks', 'dilated', 'heads', 'polynomial',
             'rope', 'sum-plus', 'norm', 'cosine', 'short', 'dropout', 'dropout-window']
# Specs whose dq is computed in separate loops, or from keys prepared in f32.
APART = {'blocks', 'lists', 'heads', 'rope', 'dilated', 'norm', 'cosine'}
SHORT = {'alibi', 'dense', 'blocks', 'heads', 'scale', 'prefix', 'rope'}  # definitions.py is slow for these specs


def flags():
    with open('/proc/cpuinfo') as f:
        return next((line.split() for line in f if line.startswith('flags')), [])


def kernels(folder, suite, spec, cc='clang', plain=False, pairs=False):
    """Returns (spec, kernel on emulated registers, kernel on the processor's registers or None, whether it has
    products on registers). `plain` compiles for any processor. `pairs` uses products of pairs instead of
    registers."""
    path = os.path.join(folder, 'matrix.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'matrix', 'dtype': 'bf16'} | spec, f, sort_keys=False)
    done_well([suite.attnc, path, '-o', folder, '--target', 'x86-64-v4'], folder)
    if pairs and 'avx512_bf16' not in flags():
        raise Skip('the processor has no products of bf16')
    # AMX gives the bits of the emulation, because both fuse multiplication and addition.
    made, units = [], 'amx_bf16' in flags() and not pairs
    emulated = ['-DATTN_EMULATE_TILES', '-Wno-psabi', *['-march=native'] * (units or not plain)]
    if pairs: emulated = SLOWER_TOO.split()
    for name, options in [('emulated', emulated)] + [('units', [])] * units:
        for line in quick.lines(compiler(cc), ['-O0', '-Wall', '-Wextra', '-Wpedantic', '-Werror', *options, '-I', RUNTIME, '-I', folder],
                                'matrix.c', name + '.so', *runtime_objects(suite)):
            done_well(line, folder)
        made.append(Kernel(os.path.join(folder, name + '.so'), 'matrix'))
    with open(os.path.join(folder, 'matrix.c')) as f:
        return definitions.load(path), made[0], (made + [None])[1], 'T(unit_dot)' in f.read()


def allowed(shapes, first, spec):
    """Returns the shapes that the spec allows."""
    return [s for s in shapes if max(s[first:first + 2]) <= spec['shape'].get('max_length', max(s))]


def one(folder, suite, name, seed):
    spec, emulated, units, used = kernels(folder, suite, SPECS[name], 'gcc' if seed % 300 == 0 else 'clang',
                                            seed % 200 == 0)
    check(used, 'it does not use matrix units')
    wrong, largest = [], 0.0
    for n, (n_q, n_k, heads, kv_heads, batch) in enumerate(allowed(SHAPES, 0, spec)):
        if name in SHORT and n_q > 200:
            continue
        answer = draw(spec, '%s/in%d' % (folder, n), (heads, kv_heads, n_q, n_k, batch), seed + n)
        P = definitions.read_dir('%s/in%d' % (folder, n))
        q, k, v = (P.pop(x) for x in 'qkv')
        out = emulated(P, q, k, v, 1)
        here = 'B%d H%d G%d nq%d nk%d: ' % (batch, heads, kv_heads, n_q, n_k)
        if units:
            wrong += [here + 'the processor gives other bits on %d threads' % threads for threads in (1, 2, 3)
                      if units(P, q, k, v, threads).tobytes() != out.tobytes()]
        why, error, _ = answer.judge(out, more=OF_WEIGHTS * answer.scale)
        wrong += [here + why] if why else []
        largest = max(largest, error)
    check(not wrong, '; '.join(wrong[:4]))
    return '(largest error %.2f of what is allowed)' % largest


def linear(folder, suite, name, seed):
    """Tests the linear form, for lengths around a chunk. Queries come after, among or before the keys."""
    given = ON_UNITS | LINEAR[name]
    given = {key: value for key, value in given.items() if value != 'none' or key == 'normalize'}
    spec, emulated, units, _ = kernels(folder, suite, given)
    with open(folder + '/matrix.c') as f:
        check('T(unit_terms)' in f.read(), 'it does not use matrix units')
    wrong, largest, b = [], 0.0, CHUNKS.get(name, 64)
    shapes = [(17, 17, 2, 1, 1), (b - 1, b - 1, 2, 2, 1), (b, b, 1, 1, 2), (b + 1, b + 1, 4, 2, 1),
              (33, 2 * b + 1, 2, 2, 1), (1, 1, 1, 1, 1), (1, b + 1, 2, 1, 1)]
    shapes += [(2 * b + 3, 2 * b + 3, 2, 1, 1)] * (b < 256)
    for n, (n_q, n_k, heads, kv_heads, batch) in enumerate(LENGTHS or shapes):
        if 'delta' in spec: kv_heads = heads
        answer = draw(spec, '%s/in%d' % (folder, n), (heads, kv_heads, n_q, n_k, batch), seed + n)
        P = definitions.read_dir('%s/in%d' % (folder, n))
        q, k, v = (P.pop(x) for x in 'qkv')
        out = emulated(P, q, k, v, 1)
        here = 'B%d H%d G%d nq%d nk%d: ' % (batch, heads, kv_heads, n_q, n_k)
        wrong += [here + 'other bits on 3 threads'] * (emulated(P, q, k, v, 3).tobytes() != out.tobytes())
        for kernel in filter(None, (emulated, units)):
            made = out if kernel is emulated else units(P, q, k, v, 3)
            why, error, _ = answer.judge(made, times=2, more=OF_LINEAR_FORMS * answer.scale)
            wrong += [here + ('' if kernel is emulated else 'the processor: ') + why] if why else []
            largest = max(largest, error)
    check(not wrong, '; '.join(wrong[:4]))
    return '(largest error %.2f of what is allowed)' % largest


def linear_gradients(folder, suite, name, seed):
    """Compares gradients of a linear form on matrix units, from saved values or from recomputed values."""
    why = autograd()
    if why:
        raise Skip(why)
    given = ON_UNITS | {'emit': ['forward', 'backward']}
    spec, emulated, units, _ = kernels(folder, suite, given | LINEAR[name])
    with open(folder + '/matrix.c') as f:
        parts = re.findall(r'T\(matrix_linear_(\w+)_(?:keys|queries)\)\(const struct call(.*?\n})', f.read(), re.S)
    groups = {name for name, _ in parts} - {'saved'}
    check(len(groups) == 2 and groups <= {name for name, part in parts if 'for matrix units' in part},
          'not all of %s are on matrix units' % ' and '.join(groups))
    error = 0.0
    for n, shape in enumerate([(1, 2, 1, 70, 130), (1, 1, 1, 65, 65), (2, 2, 2, 17, 15), (1, 1, 1, 33, 300)]):
        P = backward.inputs('%s/in%d' % (folder, n), spec, shape, seed + n)
        q, k, v, dout = (P.pop(x) for x in ('q', 'k', 'v', 'dout'))
        given, here = P | {'q': q, 'k': k, 'v': v, 'dout': dout}, 'B%d H%d G%d nq%d nk%d: ' % shape
        for kernel in filter(None, (emulated, units)):
            made = kernel.gradients(P, q, k, v, dout, threads=1)
            error = max(error, backward.judge(spec, given, made))
            for what, threads, saves in ('of 3 threads', 3, True), ('where nothing is saved', 2, False):
                again = kernel.gradients(P, q, k, v, dout, threads=threads, saves=saves)
                for x in again:
                    check(again[x].tobytes() == made[x].tobytes(), '%sother bits of %s %s' % (here, x, what))
    return '(largest error %.2f of what is allowed)' % error


def gradients(folder, suite, name, seed, pairs=False):
    """Compares gradients. Threads, requested gradients, saved values and registers do not change the bits."""
    why = autograd()
    if why:
        raise Skip(why)
    spec, emulated, units, _ = kernels(folder, suite, SPECS[name] | {'emit': ['forward', 'backward']},
                                       'gcc' if seed % 300 == 0 else 'clang', seed % 200 == 0, pairs)
    with open(folder + '/matrix.c') as f:
        sweeps = 'T(unit_across)' in f.read()
    check(sweeps == (name not in APART), 'dq is %s' % ('in the sweep now' if sweeps else 'not in the sweep'))
    wrong, largest = [], 0.0
    for n, shape in enumerate(allowed(BACKWARD_SHAPES, 3, spec)[:2 if name in SHORT else None]):
        P = backward.inputs('%s/in%d' % (folder, n), spec, shape, seed + n)
        q, k, v, dout = (P.pop(x) for x in ('q', 'k', 'v', 'dout'))
        made = emulated.gradients(P, q, k, v, dout, threads=1)
        here = 'B%d H%d G%d nq%d nk%d: ' % shape
        try:
            largest = max(largest, backward.judge(spec, P | {'q': q, 'k': k, 'v': v, 'dout': dout}, made))
        except Failure as failure:
            wrong.append(here + str(failure))
        others = [(emulated, 'of 3 threads', made, 3, True)] + [
            # For at most 16 queries, kernels recompute in f32 what was not saved.
            (emulated, 'where nothing is saved', made, 2, False) for _ in range(shape[3] > 16)] + [
            (emulated, 'of %s alone' % ' and '.join(w), w, 2, True) for w in (['dq'], ['dk'], ['dv'], ['dq', 'dv'])] + [
            (units, 'of the processor on %d threads' % threads, made, threads, True) for threads in (1, 3) if units]
        for kernel, what, wanted, threads, saves in others:
            again = kernel.gradients(P, q, k, v, dout, wanted, threads, saves)
            wrong += [here + 'other bits of %s %s' % (x, what) for x in again
                      if again[x].tobytes() != made[x].tobytes()]
    check(not wrong, '; '.join(wrong[:6]))
    return '(largest error %.2f of what is allowed)' % largest


def masked_at_random(folder, suite, seed):
    """Compares kernels with nested masks or periodic masks."""
    rng = random.Random(seed)
    mask = random_masks.striped(rng) if seed % 3 else random_masks.mask(rng, rng.randrange(1, 4))
    spec = {'similarity': rng.choice(['softmax', {'softmax': {'modify': 's - (i - j) / 64.0'}}]), 'mask': mask,
            'shape': {'head_dim': rng.choice([8, 32, 33]), 'value_dim': rng.choice([16, 40])}}
    read, emulated, units, used = kernels(folder, suite, spec)
    if not used:
        return 'has too short runs of keys'
    for n, (n_q, n_k) in enumerate([rng.choice([(131, 131), (64, 130), (117, 20)]), rng.choice([(33, 90), (20, 117)])]):
        answer = draw(read, '%s/in%d' % (folder, n), (2, 1, n_q, n_k, 1), seed + n)
        P = definitions.read_dir('%s/in%d' % (folder, n))
        q, k, v = (P.pop(x) for x in 'qkv')
        for kernel in filter(None, (emulated, units)):
            why, _, _ = answer.judge(kernel(P, q, k, v), more=OF_WEIGHTS * answer.scale)
            check(not why, 'nq%d nk%d: %s\n%s' % (n_q, n_k, why, random_masks.told(spec)))


SEES = {'causal': lambda i, key: i >= key,
        'dilated': lambda i, key: (i >= key) & (i - key <= 180) & ((i - key) % 3 == 0),
        'fixed': lambda i, key: (i >= key) & ((i - key < 16) | (key % 8 == 7))}


def unseen(folder, suite, name):
    """NaN and infinity in k reach only queries that see the key. In v, they also stay in their column."""
    spec, emulated, units, _ = kernels(folder, suite, SPECS[name])
    definitions.make_inputs(spec, folder + '/in', 2, 1, 150, 150, 1, 8)
    P = definitions.read_dir(folder + '/in')
    q, k, v = (P.pop(x) for x in 'qkv')
    for kernel in filter(None, (emulated, units)):
        clean = kernel(P, q, k, v)
        for key in 149, 128, 7:
            sees = SEES[name](np.arange(150), key)
            for what in np.nan, np.inf, -np.inf:
                k2, v2 = k.copy(), v.copy()
                k2[:, :, key] = v2[:, :, key, 3] = what
                by_key, by_value = kernel(P, q, k2, v), kernel(P, q, k, v2)
                here = '%s at key %d ' % (what, key)
                check((by_key[:, :, ~sees] == clean[:, :, ~sees]).all(), here + 'reaches queries that do not see it')
                check((by_value[:, :, ~sees] == clean[:, :, ~sees]).all(), here + 'reaches queries by its value')
                check((np.delete(by_value, 3, -1) == np.delete(clean, 3, -1)).all(), here + 'reaches other columns')
                check(not np.isfinite(by_value[:, :, sees, 3]).any(), here + 'is lost')


def unseen_gradients(folder, suite, name, pairs=False):
    """NaN and infinity of a key reach only dq of queries that see the key. NaN and infinity of a query reach only
    dk and dv of keys that the query sees."""
    spec, emulated, units, _ = kernels(folder, suite, SPECS[name] | {'emit': ['forward', 'backward']}, pairs=pairs)
    P = backward.inputs(folder + '/in', spec, (1, 2, 1, 150, 150), 8)
    given = {x: P.pop(x) for x in ('q', 'k', 'v', 'dout')}
    for kernel in filter(None, (emulated, units)):
        clean = kernel.gradients(P, **given)
        for at, what in (149, np.nan), (128, np.inf), (7, -np.inf), (0, np.nan):
            for to, x in given.items():
                moved = x.copy()
                moved[:, :, at, 3] = what
                made = kernel.gradients(P, **given | {to: moved})
                query_sees, seen = SEES[name](np.arange(150), at), SEES[name](at, np.arange(150))
                for of in ('dq',) if to in 'kv' else ('dk', 'dv'):
                    same = ~(query_sees if of == 'dq' else seen)
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


def small(folder, suite):
    spec, emulated, units, _ = kernels(folder, suite, SPECS['causal'])
    answer = draw(spec, folder + '/in', (2, 1, 100, 100, 1), 5)
    P = definitions.read_dir(folder + '/in')
    q, k, v = (P.pop(x) for x in 'qkv')
    return answer, lambda: (units or emulated)(P, q, k, v, 1)


def refused(folder, suite):
    """Without matrix units, the next best version of the code runs."""
    if 'amx_bf16' not in flags():
        raise Skip('the processor has no matrix units')
    answer, call = small(folder, suite)

    def work():
        refuse()
        tiles = ctypes.CDLL(os.path.join(folder, 'units.so')).attn_tiles
        check(tiles() == 0, 'seccomp does not refuse tile data')
        return call().tobytes()
    out = np.frombuffer(in_child(work), np.float32).reshape(answer.expected.shape)
    why, _, _ = answer.judge(out, more=OF_WEIGHTS * answer.scale)
    check(not why, why)


def forked(folder, suite):
    """Tests forks before and after the process requested permission for tile data."""
    answer, call = small(folder, suite)
    before = in_child(lambda: call().tobytes())
    out = call()
    check(out.tobytes() == before, 'a fork before the first call changes its bits')
    check(in_child(lambda: call().tobytes()) == before, 'a fork after it does')
    why, _, _ = answer.judge(out, more=OF_WEIGHTS * answer.scale)
    check(not why, why)


def signals(folder, suite):
    """Signal handlers call a kernel while another call uses the registers."""
    with open(os.path.join(folder, 'matrix.yaml'), 'w') as f:
        yaml.safe_dump({'name': 'matrix', 'dtype': 'bf16'} | SPECS['causal'], f)
    done_well([suite.attnc, 'matrix.yaml', '-o', folder, '--target', 'x86-64-v4'], folder)
    said = []
    for options in ['-DATTN_EMULATE_TILES'], *[[]] * ('amx_bf16' in flags()):
        done_well([compiler('clang'), '-O0', '-Wall', '-Wextra', '-Werror', '-Wno-psabi', *options,
                   '-DKERNEL="matrix.c"', '-I', RUNTIME, '-I', folder, '-o', 'signals',
                   os.path.join(HERE, 'signal_main.c'), *runtime_objects(suite), '-fopenmp', '-pthread', '-lm'], folder)
        done = execute([os.path.join(folder, 'signals')], cwd=folder)
        check(done.returncode == 0, 'a signal between tiles changes what is computed, after %s' % done.stdout.strip())
        check(int(done.stdout) > 0, 'no signal came')
        said.append(done.stdout.strip())
    return '(%s calls were interrupted)' % ' and '.join(said)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(SPECS):
        suite.case(name, one, suite, name, 100 * n)
    for n, name in enumerate(GRADIENTS):
        suite.case('gradients-' + name, gradients, suite, name, 100 * n)
        suite.case('gradients-by-pairs-' + name, gradients, suite, name, 100 * n, True)
    for n, name in enumerate(LINEAR):
        suite.case('linear-' + name, linear, suite, name, 100 * n)
    for n, name in enumerate(['elu', 'elu-odd', 'hedgehog', 'performer', 'retention', 'sketch', 'sketch-local',
                              'learned-local', 'degree-8-local']):
        suite.case('linear-gradients-' + name, linear_gradients, suite, name, 100 * n)
    for seed in range(8 if WHOLE else 4):
        suite.case('random/%d' % seed, masked_at_random, suite, seed)
    for name in SEES:
        suite.case('unseen ' + name, unseen, suite, name)
        suite.case('unseen-gradients ' + name, unseen_gradients, suite, name)
        suite.case('unseen-gradients-by-pairs ' + name, unseen_gradients, suite, name, True)
    suite.case('refused', refused, suite)
    suite.case('forked', forked, suite)
    suite.case('signals', signals, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
