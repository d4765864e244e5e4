#!/usr/bin/python3
"""Compares attn_ranks_… on several ranks with one rank and with definitions.py.

Most cases have ranks that are threads of this process, with a transport in Python that counts bytes. A few run under
mpirun if there is one. With --sanitize, AddressSanitizer and UBSan check kernels and attn_ranks_…; a report ends the
program."""
import ctypes
import os
import shutil
import sys
import zlib

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../numeric', '../numeric/lib', '../lib')]

import numpy as np
import yaml

import definitions
import draw_spec
import many_specs
from kernel import (RUNTIME, SANITIZED, Kernel, Made, Objects, Problem, State, best_target, compiled, done_well, inputs,
                    runtime_sources)
from ranks import TAGS, Call, Post, Ranks, aligned, backward, built, calls_of, extend, forward, run_all, share, together
from suite import Failure, Skip, Suite, check, compiler, execute

IDENTITY, ROWS = {'linear': {'features': 'identity'}}, {'shape': ['B', 'H', 'Nk']}
# Linear forms, whose states travel from rank to rank: (keys of the spec, sizes B, H, G).
LINEAR = {
    'elu': ({'similarity': {'linear': {'features': 'elu_plus_one'}}}, (2, 4, 2)),
    'sketch': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}}, 'block': 16}, (1, 2, 2)),
    'long-chunks': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'block': 128}, (1, 4, 2)),   # which ranks store
    'hedgehog-bf16': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'dtype': 'bf16'}, (1, 4, 2)),
    'retention': ({'similarity': {'custom': {'weight': 's * pow(1 - pow(2, -3 - h), i - j)'}}, 'prepare': ['rope'],
                   'normalize': 'none'}, (2, 2, 2)),
    'gla': ({'similarity': IDENTITY, 'normalize': 'none', 'decay': {'log': 'gate[b][h][t][d]'},
             'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}}, (2, 3, 3)),
    'delta': ({'similarity': IDENTITY, 'normalize': 'none', 'prepare': ['l2norm'], 'decay': {'log': 'gate[b][h][t]'},
               'delta': {'rate': 'beta[b][h][t]'}, 'arrays': {'gate': ROWS, 'beta': ROWS}}, (1, 3, 3)),
    'shared-keys': ({'similarity': IDENTITY, 'normalize': 'none', 'prepare': ['l2norm'],
                     'delta': {'rate': 'beta[b][h][t]'}, 'arrays': {'beta': ROWS}}, (1, 4, 4)),
    'sums': ({'similarity': IDENTITY, 'normalize': 'none', 'output': 'a / fmax(fabs(n), 1)',
              'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}, 'sums': {'a': {}, 'n': {'values': 1}}}, (2, 4, 2)),
    'sums-of-features': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'output': 'a - 0.5 * c',
                          'sums': {'a': {}, 'c': {'similarity': IDENTITY, 'normalize': 'none'}}}, (1, 4, 2)),
    'documents': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': {'all': ['causal', 'document']}},
                  (2, 2, 1)),
    'window-of-blocks': ({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'algorithm': 'auto',
                          'mask': {'all': ['causal', {'block_window': {'block': 16, 'left': 2, 'right': 0}}]}}, (2, 4, 2)),
}
# Numbers of tokens of each rank: uneven, empty, and no multiples of a chunk.
RUNS = [[150], [75, 75], [64, 86], [1, 0, 149], [0, 33, 100, 17], [10, 0, 0, 70, 31, 1, 38], [150, 0, 0]]


def checked_by_sanitizers():
    """Returns a compiler whose code AddressSanitizer and UBSan check in this process."""
    return [compiler('clang'), '-O0', '-g1', *SANITIZED, '-shared-libasan', '-fPIC', '-w']


def start_with_sanitizers():
    """Starts this program again with the library of AddressSanitizer, which has to be loaded first."""
    library = execute([compiler('clang'), '-print-file-name=libclang_rt.asan-%s.so' % os.uname().machine]).stdout.strip()
    check(os.path.isabs(library), 'there is no library of AddressSanitizer')
    options = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'   # Python leaks
    of_programs = {'OMPI_CC': compiler('clang'), 'MPICH_CC': compiler('clang'), 'LD_LIBRARY_PATH': os.path.dirname(library)}
    os.execve(sys.executable, [sys.executable, *sys.argv],
              os.environ | of_programs | {'LD_PRELOAD': library, 'ASAN_OPTIONS': options})


def compiled_kernel(suite, folder):
    if not suite.options.sanitize:
        return compiled(suite, os.path.join(folder, 'k.yaml'), folder, best_target(), '-O0', compiler('clang'))
    done_well([suite.attnc, 'k.yaml', '-o', folder, '--target', best_target()], folder)
    line = checked_by_sanitizers()
    done_well([*line, '-shared', '-I', RUNTIME, '-I', folder, 'k.c', *suite.objects.of('sanitized', line, runtime_sources()),
               '-lm', '-o', 'k.so'], folder)
    return Kernel(os.path.join(folder, 'k.so'), 'k')


def kernel_of(suite, keys):
    """Returns a kernel and its spec. Cases with the same spec share the kernel."""
    spec = {'name': 'k', 'mask': 'causal', 'shape': {'head_dim': 8, 'value_dim': 12}, 'dtype': 'f32',
            'emit': ['forward', 'decode'], 'algorithm': 'linear'} | keys
    text = yaml.safe_dump(spec, sort_keys=False)
    folder = os.path.join(suite.folder, 'kernel-%08x' % zlib.crc32(text.encode()))

    def make():
        os.makedirs(folder)
        with open(os.path.join(folder, 'k.yaml'), 'w') as f:
            f.write(text)
        return compiled_kernel(suite, folder)
    return suite.kernels.once(text, make), definitions.load(os.path.join(folder, 'k.yaml'))


def library(suite):
    return suite.objects.once('ranks', lambda: made_library(suite))


def made_library(suite):
    line = [checked_by_sanitizers()] if suite.options.sanitize else []
    done_well(built(suite.folder, runtime_sources(), *line), suite.folder)
    return Ranks(os.path.join(suite.folder, 'ranks.so'))


def state_bytes(kernel, batch, heads, kv_heads, key_heads, **more):
    size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(kernel.about.state)
    return size(ctypes.byref(Problem(batch, heads, kv_heads, key_heads=key_heads, **more)))


def chunk_of(kernel, **sizes):
    """Returns the number of tokens that a state sums at a time."""
    chunk = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(kernel.about.state_chunk)
    return chunk(ctypes.byref(Problem(1, 1, 1, **sizes)))


def off_by(out, expected, spec):
    """Returns the largest error, relative to its row."""
    worst = (np.abs(out - expected) / (np.abs(expected).max(-1, keepdims=True) + 1e-3)).max()
    check(worst < (0.03 if spec['dtype'] == 'bf16' else 1e-3), 'off by %.3g' % worst)
    return worst


def linear(folder, suite, name):
    keys, (B, H, G) = LINEAR[name]
    kernel, spec = kernel_of(suite, keys)
    ranks, n = library(suite), sum(RUNS[0])
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
    if name.endswith('shared-keys'): q, k = q[:, :2], k[:, :2]   # problem.key_heads
    one = forward(ranks, kernel, P, q, k, v, [(n, n)])
    times = v.shape[1] // k.shape[1] if name.endswith('shared-keys') else 1
    expected = definitions.attend(spec, dict(P), q.repeat(times, 1), k.repeat(times, 1), v)
    worst = off_by(one, expected, spec)
    slices = B * (1 if kernel.about.names_heads else k.shape[1])
    heads = [B * x // slices for x in (H, G, k.shape[1] if times > 1 else 0)]
    for runs in RUNS[1:]:
        post = Post(len(runs))
        out = forward(ranks, kernel, P, q, k, v, [(m, m) for m in runs], post)
        check(out.tobytes() == one.tobytes(), 'other bits with runs %s' % runs)
        limit = (len(runs) - 1) * slices * state_bytes(kernel, 1, *heads, capacity=n)
        check(post.bytes_of('state') == limit, 'it sent %d bytes of states, not %d' % (post.bytes_of('state'), limit))
    c = chunk_of(kernel, capacity=n)
    for runs in [c, n - c], [0, c, 0, n - c], [n - n % c, n % c]:   # each rank begins after whole chunks
        post = Post(len(runs))
        calls = calls_of(ranks, kernel, P, q, k, v, [(m, m) for m in runs], post, 1, foldable=1)
        if name in ('documents', 'window-of-blocks') and len(runs) > 2:   # tokens leave sums, so states cannot be joined
            check(set(together(calls, ranks)) == {ERRORS['form']}, 'states of %s were joined' % name)
            continue
        run_all(calls, ranks)
        worst = max(worst, off_by(kernel.as_numbers(np.concatenate([x.out for x in calls], axis=2)), expected, spec))
        limit = (len(runs) - 1) * slices * state_bytes(kernel, 1, *heads, capacity=n, foldable=1)
        check(post.bytes_of('state') == limit, 'it sent %d bytes of states, not %d' % (post.bytes_of('state'), limit))
    out = forward(ranks, kernel, P, q, k, v, [(c + 1, c + 1), (n - c - 1, n - c - 1)], foldable=1)
    check(out.tobytes() == one.tobytes(), 'other bits where a rank begins within a chunk')
    return '(off by %.2g)' % worst


def state(folder, suite, name):
    """Extends a state over ranks, and then on the last rank alone, like one state on one rank."""
    keys, (B, H, G) = LINEAR[name]
    kernel, spec = kernel_of(suite, keys)
    ranks, n, prompt = library(suite), 150, 21
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))

    def begun():
        return State(kernel, P, B, H, G, capacity=n, rewind=20)

    def step(made, begin, end):
        rows = slice(begin, end)
        return made.extend(q[:, :, rows], k[:, :, rows], v[:, :, rows], rows=share(kernel, P, rows, rows))
    for runs in [50], [20, 30], [0, 7, 1, 42], [49, 1, 0]:
        alone, first = begun(), begun()
        last = first if len(runs) == 1 else begun()
        check(step(alone, 0, prompt).tobytes() == step(first, 0, prompt).tobytes(), 'two states differ')
        rows = slice(prompt, prompt + 50)
        wanted = step(alone, prompt, prompt + 50)
        got = extend(ranks, kernel, share(kernel, P, rows, rows), *(x[:, :, rows] for x in (q, k, v)),
                     [(m, m) for m in runs], first, last)
        check(got.tobytes() == wanted.tobytes(), 'other bits with runs %s' % runs)
        for at in range(71, 150, 26):
            check(step(alone, at, min(at + 26, n)).tobytes() == step(last, at, min(at + 26, n)).tobytes(),
                  'decoding differs after runs %s' % runs)


# Quadratic forms, whose keys travel: (keys of the spec, sizes B, H, G). Those of BACKWARD also compute gradients.
RING = {
    'full': ({'mask': 'none'}, (2, 4, 2)),
    'causal': ({'prepare': ['rope']}, (1, 4, 2)),
    'window-f16': ({'mask': {'window': {'left': 20}}, 'dtype': 'f16'}, (1, 2, 2)),
    'two-sided': ({'mask': {'expr': 'i - j < 9 && j - i < 40'}, 'similarity': {'softmax': {'bias': 'alibi'}}},
                  (1, 2, 1)),
    'dilated': ({'mask': {'expr': 'j <= i && (i - j) % 3 == 0'}, 'dtype': 'f64'}, (1, 2, 2)),
    'sum': ({'similarity': {'custom': {'weight': '1 + s * s'}}, 'dtype': 'f64'}, (1, 2, 2)),
    'power': ({'similarity': {'polynomial': {'degree': 16, 'beta': 2}}, 'normalize': 'sum'}, (1, 2, 2)),
    'undivided': ({'similarity': {'custom': {'weight': '1 + s * s * a[b][h][j]'}}, 'normalize': 'none', 'mask': 'none',
                   'arrays': {'a': {'shape': ['B', 'H', 'Nk']}}}, (2, 2, 2)),
    'pairs-bf16': ({'similarity': {'softmax': {'modify': 's + near[h][row][j]'}}, 'dtype': 'bf16',
                    'arrays': {'near': {'shape': ['H', 'Nq', 'Nk']}}}, (1, 4, 2)),
    'per-query': ({'similarity': {'softmax': {'modify': 's * warm[b][row]'}}, 'mask': {'window': {'left': 70}},
                   'arrays': {'warm': {'shape': ['B', 'Nq']}}}, (2, 2, 1)),
    'keys-as-values': ({'shape': {'head_dim': 12, 'value_dim': 8, 'values': 'keys'}}, (1, 4, 1)),
    'learned': ({'similarity': {'softmax': {'modify': 's * hot[h] + near[h][i - j]'}},
                 'prepare': [{'rmsnorm': {'affine': True}}],
                 'arrays': {'hot': {'shape': ['H'], 'learned': True}, 'near': {'shape': ['H', 150], 'learned': True}}},
                (1, 2, 2)),
}
SINK = {'normalize': {'sink': 'out_of[h] + 0.1 * cos(i)'}, 'arrays': {'out_of': {'shape': ['H'], 'learned': True}}}
# Masks that depend on more than the difference of positions, and sinks.
RING |= {
    'document': ({'mask': {'all': ['causal', 'document']}}, (2, 4, 2)),
    'documents-around': ({'mask': 'document', 'prepare': ['rope']}, (2, 2, 2)),
    'lengths': ({'mask': 'lengths'}, (3, 4, 2)),
    'lengths-causal-f64': ({'mask': {'all': ['causal', 'lengths']}, 'dtype': 'f64'}, (2, 2, 2)),
    'prefix-lm': ({'mask': {'any': ['causal', {'prefix': {'length': 40}}]}, 'prepare': ['rope']}, (1, 4, 2)),
    'prefix': ({'mask': {'prefix': {'length': 77}}}, (1, 2, 1)),
    'bigbird': ({'mask': {'any': [{'block_window': {'block': 8, 'left': 1, 'right': 1}}, {'global': {'count': 3}},
                                  {'random': {'block': 8, 'count': 2}}]}}, (1, 2, 2)),
    'from-the-end': ({'mask': {'expr': 'j <= i && Nk - j < 90 || i % 7 == 3'}, 'dtype': 'f64'}, (1, 2, 2)),
    'length-scaled': ({'similarity': {'softmax': {'modify': 's * log(2.0 + i)'}}}, (1, 2, 2)),
    'angles': ({'prepare': [{'rope': {'angle': '0.01 * i * i / (1 + t)'}}], 'mask': {'window': {'left': 50}}}, (1, 2, 2)),
    'dropout': ({'dropout': 0.3, 'seed': 7}, (2, 4, 2)),
    'sink': (SINK, (2, 4, 2)),
    'sink-around': (SINK | {'mask': 'none', 'dtype': 'f64'}, (1, 2, 2)),
    'sink-window-bf16': (SINK | {'mask': {'window': {'left': 20}}, 'dtype': 'bf16'}, (1, 2, 2)),
    'sink-document': (SINK | {'mask': 'document'}, (2, 2, 2)),
    'constant-sink': ({'normalize': {'sink': '1.5'}}, (1, 2, 2)),
    'sum-plus': ({'similarity': {'polynomial': {'degree': 2}}, 'normalize': {'sum_plus': 2}}, (1, 4, 2)),
    'sum-plus-power': ({'similarity': {'polynomial': {'degree': 16, 'beta': 2}}, 'normalize': {'sum_plus': 3},
                        'mask': 'none'}, (1, 2, 2)),
}
# Decays, whose logarithms are summed over the tokens of all ranks.
RING |= {
    'decay': ({'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}}, (2, 4, 2)),
    'decay-f64': ({'decay': {'log': '-exp(rate[h]) * log1p(exp(gate[b][h][t]))'}, 'dtype': 'f64', 'prepare': ['rope'],
                   'arrays': {'gate': ROWS, 'rate': {'shape': ['H'], 'learned': True}}}, (1, 4, 2)),
    'decay-bf16': ({'decay': {'log': '0.1 * gate[b][h][t]'}, 'arrays': {'gate': ROWS}, 'dtype': 'bf16'}, (1, 2, 1)),
    'decay-of-elements': ({'decay': {'log': 'gate[b][h][t][d]'}, 'dtype': 'f64',
                           'arrays': {'gate': {'shape': ['B', 'H', 'Nk', 'D']}}}, (1, 2, 2)),
    'decay-documents': ({'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS},
                         'mask': {'all': ['causal', 'document']}}, (2, 2, 2)),
    'decay-lengths': ({'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}, 'mask': {'all': ['causal', 'lengths']}},
                      (2, 2, 2)),
    'decay-window-f16': ({'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}, 'dtype': 'f16',
                          'mask': {'window': {'left': 70}}}, (1, 2, 2)),
    'decay-sink': (SINK | {'decay': {'log': 'gate[b][h][t]'}, 'arrays': SINK['arrays'] | {'gate': ROWS}}, (2, 2, 1)),
    'decay-undivided': ({'similarity': {'custom': {'weight': '1 + s * s * far[b][h][j]'}}, 'normalize': 'none',
                         'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS, 'far': ROWS}}, (2, 2, 2)),
    'decay-power': ({'similarity': {'polynomial': {'degree': 4}}, 'normalize': {'sum_plus': 1}, 'decay': {'log': 'gate[b][h][t]'},
                     'arrays': {'gate': ROWS}}, (1, 2, 2)),
    'decay-of-position': ({'decay': {'log': 'gate[b][h][t] + 0.1 * cos(0.3 * t)'}, 'arrays': {'gate': ROWS}}, (1, 2, 2)),
    'decay-constant': ({'decay': {'log': '-0.05 * (h + 1)'}}, (1, 2, 1)),
}
# Lists of blocks of keys for blocks of queries. Each rank has those for its queries.
LISTED = {'all': ['causal', {'blocks': {'block': 16, 'count': 4}}]}
RING |= {
    'blocks': ({'mask': LISTED}, (2, 4, 2)),
    'blocks-around-f64': ({'mask': {'blocks': {'block': 8, 'count': 5}}, 'prepare': ['rope'], 'dtype': 'f64'}, (1, 4, 2)),
    'blocks-or-window-bf16': ({'mask': {'any': [{'window': {'left': 20}}, {'blocks': {'block': 16, 'count': 2}}]},
                               'dtype': 'bf16'}, (1, 4, 1)),
    'blocks-window': ({'mask': {'all': [{'window': {'left': 50}}, {'blocks': {'block': 10, 'count': 6}}]}}, (1, 4, 2)),
    'blocks-of-100': ({'mask': {'all': ['causal', {'blocks': {'block': 100, 'count': 1}}]}}, (1, 2, 2)),
    'blocks-not': ({'mask': {'all': ['causal', {'not': {'blocks': {'block': 16, 'count': 3}}}]}}, (1, 2, 2)),
    'blocks-document': ({'mask': {'all': ['causal', 'document', {'blocks': {'block': 16, 'count': 6}}]}}, (2, 4, 2)),
    'blocks-lengths': ({'mask': {'all': ['lengths', {'blocks': {'block': 16, 'count': 4}}]}}, (2, 2, 1)),
    'blocks-sink': (SINK | {'mask': LISTED}, (2, 4, 2)),
    'blocks-window-sink': (SINK | {'mask': {'all': [{'window': {'left': 27}}, {'blocks': {'block': 10, 'count': 9}}]}}, (1, 4, 2)),
    'blocks-decay': ({'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}, 'mask': LISTED}, (2, 4, 2)),
    'blocks-learned': (RING['learned'][0] | {'mask': LISTED}, (1, 4, 2)),
    'blocks-of-keys': ({'similarity': {'softmax': {'modify': 's * warm[b][row] + far[b][h][j]'}}, 'mask': LISTED,
                        'arrays': {'warm': {'shape': ['B', 'Nq']}, 'far': ROWS}}, (2, 2, 2)),
    'blocks-bigbird': ({'mask': {'any': [{'block_window': {'block': 16, 'left': 1, 'right': 0}}, {'global': {'count': 3}},
                                         {'blocks': {'block': 16, 'count': 2}}]}}, (1, 2, 2)),
}
# Arrays with an element for blocks of queries, which have no gradient.
RING |= {
    'of-blocks': ({'similarity': {'softmax': {'modify': 's * warm[b][h][row / 16]'}}, 'mask': {'window': {'left': 50}},
                   'arrays': {'warm': {'shape': ['B', 'H', 'Nq / 16']}}}, (2, 4, 2)),
    'of-blocks-f64': ({'similarity': {'softmax': {'modify': 's * warm[row / 10][h] + near[g][row / 4][j]'}}, 'mask': 'none', 'dtype': 'f64',
                       'arrays': {'warm': {'shape': ['Nq / 10', 'H']}, 'near': {'shape': ['G', 'Nq / 4', 'Nk']}}}, (1, 4, 2)),
    'of-blocks-sink': ({'similarity': {'softmax': {'modify': 's + warm[h][row / 8] * far[b][j]'}}, 'normalize': {'sink': 'out_of[row / 12]'},
                        'dtype': 'bf16', 'arrays': {'warm': {'shape': ['H', 'Nq / 8']}, 'out_of': {'shape': ['Nq / 12']},
                                                    'far': {'shape': ['B', 'Nk']}}}, (2, 2, 1)),
}
OF_BLOCKS = 'of-blocks', 'of-blocks-f64', 'of-blocks-sink'
# Arrays with a row for each key or query, whose gradients have these rows.
RING |= {
    'of-keys': ({'similarity': {'softmax': {'modify': 's * warm[g][j] + far[b][h][j]'}},
                 'arrays': {'warm': {'shape': ['G', 'Nk']}, 'far': ROWS}}, (2, 4, 2)),
    'of-keys-f16': ({'similarity': {'softmax': {'modify': 's + far[j]'}}, 'dtype': 'f16', 'mask': {'window': {'left': 40}},
                     'arrays': {'far': {'shape': ['Nk']}}}, (1, 4, 2)),
    'of-queries': ({'similarity': {'softmax': {'modify': 's * warm[b][row] + 0.1 * far[b][h][row] * j'}}, 'mask': 'none',
                    'dtype': 'f64', 'arrays': {'warm': {'shape': ['B', 'Nq']}, 'far': {'shape': ['B', 'H', 'Nq']}}}, (2, 2, 1)),
    'of-pairs': ({'similarity': {'softmax': {'modify': 's + near[row][j] + far[b][j]'}}, 'mask': {'all': ['causal', 'document']},
                  'arrays': {'near': {'shape': ['Nq', 'Nk']}, 'far': {'shape': ['B', 'Nk']}}}, (2, 4, 2)),
    'of-pairs-f64': ({'similarity': {'softmax': {'modify': 's * near[b][h][row][j]'}}, 'mask': 'none', 'dtype': 'f64',
                      'arrays': {'near': {'shape': ['B', 'H', 'Nq', 'Nk']}}}, (2, 4, 2)),
    'of-tokens-sink': ({'normalize': {'sink': 'out_of[h][row]'}, 'mask': {'window': {'left': 20}},
                        'similarity': {'softmax': {'modify': 's + far[g][j][h % 2]'}},
                        'arrays': {'out_of': {'shape': ['H', 'Nq']}, 'far': {'shape': ['G', 'Nk', 2]}}}, (1, 4, 2)),
    'of-own-heads': ({'similarity': {'softmax': {'modify': 's + 0.1 * t'}}, 'mask': {'window': {'left': 60}},
                      'scores': {'t': {'query': 'qi', 'key': 'ki', 'sum': 'warm[b][row][x] * fmax(t, 0)'}},
                      'arrays': {'qi': {'shape': ['B', 4, 'Nq', 8]}, 'ki': {'shape': ['B', 2, 'Nk', 8]},
                                 'warm': {'shape': ['B', 'Nq', 4]}}}, (2, 4, 2)),
}
# Keys and values in fewer bytes.
STORED = {
    'f16': ({'storage': {'k': 'f16', 'v': 'f16'}}, (2, 4, 2)),
    'i8': ({'storage': {'k': 'i8', 'v': 'i8'}, 'mask': {'window': {'left': 70}}}, (1, 4, 2)),
    'fp8': ({'storage': {'k': 'fp8', 'v': 'bf16'}, 'mask': 'none'}, (2, 2, 1)),
    'blocks-of-32': ({'storage': {'k': 'q8_0', 'v': 'q4_0'}, 'mask': {'all': ['causal', 'document']}}, (1, 4, 2)),
    'values': ({'storage': {'v': 'i8_32'}, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS}}, (1, 2, 2)),
    'keys': ({'storage': {'k': 'i8_64'}, 'shape': {'head_dim': 64}, 'prepare': ['rope']}, (1, 2, 2)),
    'keys-as-values': ({'storage': {'k': 'q8_0'}, 'shape': {'head_dim': 64, 'value_dim': 32, 'values': 'keys'}}, (1, 4, 1)),
}
# Linear forms, whose sums are made from such keys and values.
STORED_LINEAR = {'algorithm': 'linear', 'similarity': {'linear': {'features': 'elu_plus_one'}}}
STORED |= {name: (STORED_LINEAR | keys, sizes) for name, (keys, sizes) in {
    'linear': ({'storage': {'k': 'f16', 'v': 'f16'}}, (2, 4, 2)),
    'linear-rope': ({'storage': {'k': 'i8', 'v': 'bf16'}, 'prepare': ['rope']}, (1, 4, 2)),
    'linear-whole': ({'storage': {'k': 'q8_0', 'v': 'q4_0'}, 'mask': 'none'}, (2, 4, 2)),
    'linear-values': ({'storage': {'v': 'i8_32'}, 'mask': 'lengths'}, (2, 2, 1)),
    'linear-keys': ({'storage': {'k': 'fp8'}, 'mask': {'all': ['causal', 'lengths']}}, (2, 4, 2)),
    'linear-open': ({'storage': {'k': 'q8_0', 'v': 'f16'}, 'mask': {'any': ['causal', {'prefix': {'length': 40}}]}}, (1, 4, 2)),
    'linear-keys-as-values': ({'storage': {'k': 'q8_0'}, 'shape': {'head_dim': 64, 'value_dim': 32, 'values': 'keys'}}, (1, 4, 1)),
    'linear-auto': ({'storage': {'k': 'f16'}, 'algorithm': 'auto'}, (1, 2, 2)),
}.items()}
BACKWARD = 'full', 'causal', 'window-f16', 'two-sided', 'sum', 'power', 'undivided', 'pairs-bf16', 'per-query', 'learned', *[name for name in RING if name not in OF_BLOCKS and name in list(RING)[list(RING).index('document'):]]
RING_TOLERANCE = {'f32': 3e-6, 'f64': 1e-13, 'f16': 4e-3, 'bf16': 3e-2}


def close(what, got, expected, tolerance):
    check(np.isfinite(got).all(), what + ': not finite')
    off = np.abs(got - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-3)
    check(off <= tolerance, '%s is off by %.3g' % (what, off))
    return off


def row_bytes(kernel, batch, heads, kv_heads):
    """Returns the bytes of a row of a message without parameters."""
    size, about = (2 if kernel.stored else kernel.dtype.itemsize), kernel.about
    lines = [batch * kv_heads * size * dim for dim in (about.head_dim, 0 if about.values_are_keys else about.value_dim)]
    return sum(-(-n // 64) * 64 for n in lines)


QUADRATIC = {'similarity': 'softmax', 'algorithm': 'quadratic', 'emit': ['forward', 'statistics']}


def emit_of(name):
    return ['forward', 'statistics'] + ['backward'] * (name in BACKWARD)


def ring(folder, suite, name):
    keys, (B, H, G) = RING[name]
    kernel, spec = kernel_of(suite, QUADRATIC | keys | {'emit': emit_of(name)})
    ranks, n, about = library(suite), sum(RUNS[0]), kernel.about
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
    expected, worst = definitions.attend(spec, dict(P), q, k, v), 0.0
    for runs in (aligned(kernel, runs) for runs in RUNS):
        post = Post(len(runs))
        out = forward(ranks, kernel, P, q, k, v, [(m, m) for m in runs], post)
        worst = max(worst, close('out with runs %s' % runs, out, expected, RING_TOLERANCE[spec['dtype']]))
        row = row_bytes(kernel, B, H, G)
        for rank in range(len(runs)):
            sent = post.bytes_of('keys', rank) // row
            if not about.params: check(sent <= n, 'rank %d sent %d rows of %d' % (rank, sent, n))
            if about.before < n:
                check(sent <= len(runs) * (about.before + about.after + 32), 'too many rows: %d' % sent)
    return '(largest error %.2g)' % worst


def stored(folder, suite, name):
    """Keys and values in other types travel as they are, or sums over them."""
    keys, (B, H, G) = STORED[name]
    kernel, spec = kernel_of(suite, QUADRATIC | {'shape': {'head_dim': 32, 'value_dim': 32}} | keys)
    ranks, worst, about = library(suite), 0.0, kernel.about
    earlier = bool(about.key_sums) and not about.sums_whole
    for n_q, n_k in [(150, 150)] + [(60, 150)] * (not earlier):
        P, q, k, v = inputs(spec, H, G, n_q, n_k, B, 5, os.path.join(folder, 'data'))
        one = kernel(P, q, k, v)
        for runs in RUNS + [[60, 0, 90]]:
            pairs = [(m, m) for m in runs] if n_q == n_k else list(zip([n_q] + [0] * (len(runs) - 1), runs))
            post = Post(len(runs))
            out = forward(ranks, kernel, P, q, k, v, pairs, post, foldable=len(runs) % 2 if about.key_sums else 0)
            worst = max(worst, close('out with runs %s' % pairs, out, one, RING_TOLERANCE[spec['dtype']]))
            if about.key_sums: check(not post.bytes_of('keys'), 'keys were sent')
            arrays = [kernel.as_stored(np.zeros(x.shape, kernel.dtype), which) for x, which in ((k, 'k'), (v, 'v'))]
            row = sum(-(-x[:, :, 0].nbytes // 64) * 64 for x in arrays[:2 - about.values_are_keys])
            if not about.params: check(post.bytes_of('keys') <= (len(runs) - 1) * n_k * row, 'too many bytes')
    return '(largest difference %.2g)' % worst


def sent_rows(folder, suite, name):
    """Counts the rows of keys that ranks send: none that no query of a rank sees, if the mask tells."""
    keys, (B, H, G) = RING[name]
    kernel, spec = kernel_of(suite, QUADRATIC | keys | {'emit': emit_of(name)})
    ranks, runs = library(suite), aligned(kernel, [40, 60, 50]) if name != 'blocks' else [48, 48, 54]
    n = sum(runs)

    def lists(*blocks): return np.array(blocks)[:, None]   # each block of queries lists one block of keys
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
    place = np.arange(n)
    for arrays, up, down in {
            'document': [({'document': place // 100}, 40, 0), ({'document': (place >= 40) * 1 + (place >= 100)}, 0, 0),
                         ({'document': 7 - place // 90}, 50, 0)],
            # around a ring: rank 0 sends to rank 1, 1 to 2, 2 to 0; keys of rank 2 pass rank 0 on their way to rank 1
            'documents-around': [({'document': (place >= 40) * 1 + (place >= 100)}, 0, 0),
                                 ({'document': place // 100}, 40 + 60 + 60, 0)],
            'lengths': [({'lengths': np.array([45, 10, 3])}, 2 * 45, 0), ({'lengths': np.zeros(3)}, 0, 0)],
            # 150 keys are 10 blocks. Ranks have blocks 0-2, 3-5 and 6-9
            'blocks': [({'blocks': lists(*range(10))}, 0, 0), ({'blocks': lists(0, 1, 2, 0, 0, 0, 6, 7, 8, 9)}, 16, 0),
                       ({'blocks': lists(2, 1, 0, 3, 4, 1, 4, 4, 2, 9)}, 32 + 16 + 16, 0)],
            'prefix-lm': [({}, 40 + 100, 0)], 'prefix': [({}, 40 + 40 + 37 + 37, 0)]}[name]:
        arrays = {word: np.broadcast_to(x, P[word].shape).astype(np.int32) for word, x in arrays.items()}
        post = Post(len(runs))
        out = forward(ranks, kernel, P | arrays, q, k, v, [(m, m) for m in runs], post)
        close('out', out, definitions.attend(spec, P | arrays, q, k, v), RING_TOLERANCE[spec['dtype']])
        sent = [sum(count for (_, tag), count in post.sent.items() if tag == TAGS[word]) for word in ('keys', 'down')]
        check(sent == [x * row_bytes(kernel, B, H, G) for x in (up, down)], '%s: %s bytes, not %s rows of %d' % (
            arrays, sent, (up, down), row_bytes(kernel, B, H, G)))


def checked(folder, suite, name):
    """attnc check accepts a kernel whose positions count from first_key, or that can be without its sink."""
    keys = (CAUSAL_LENGTHS | EARLIER[name][0] if name in EARLIER else
            QUADRATIC | RING[name][0] | {'emit': emit_of(name)} if name in RING else CHAIN[name][0] | ALL)
    spec = {'name': 'k', 'mask': 'causal', 'shape': {'head_dim': 4}, 'algorithm': 'linear'} | keys
    with open(os.path.join(folder, 'k.yaml'), 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    done_well([suite.attnc, 'check', 'k.yaml'], folder)


def gradients(folder, suite, name):
    keys, (B, H, G) = RING[name]
    kernel, spec = kernel_of(suite, QUADRATIC | keys | {'emit': emit_of(name)})
    ranks, n = library(suite), sum(RUNS[0])
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
    dout, worst = np.random.default_rng(1).standard_normal(q.shape[:3] + v.shape[3:]), 0.0
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    expected = kernel.gradients(P, q, k, v, dout, arrays=learned)
    for runs in (aligned(kernel, RUNS[k]) for k in (0, 1, 3, 5)):
        got = backward(ranks, kernel, P, q, k, v, dout, [(m, m) for m in runs])
        for what, x in ((n, expected[n]) for n in got):
            what += ' with runs %s' % runs
            worst = max(worst, close(what, got[what.split()[0]], x, 10 * RING_TOLERANCE[spec['dtype']]))
    return '(largest difference %.2g)' % worst


def apart(folder, suite, name):
    """Queries are on other ranks than keys."""
    keys, (B, H, G) = RING[name]
    kernel, spec = kernel_of(suite, QUADRATIC | keys | {'emit': emit_of(name)})
    ranks, n_q, n_k, worst = library(suite), 60, 150, 0.0
    P, q, k, v = inputs(spec, H, G, n_q, n_k, B, 5, os.path.join(folder, 'data'))
    expected = definitions.attend(spec, dict(P), q, k, v)
    dout = np.random.default_rng(1).standard_normal(q.shape[:3] + v.shape[3:])
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    of_one = kernel.gradients(P, q, k, v, dout, arrays=learned)
    for runs in [(40, 0), (20, 100), (0, 50)], [(0, 150), (60, 0)], [(60, 0), (0, 150)], [(25, 10), (5, 0), (0, 140), (30, 0)]:
        runs = list(zip(*(aligned(kernel, x, axis) for x, axis in zip(zip(*runs), (-4, -5)))))
        out = forward(ranks, kernel, P, q, k, v, runs)
        worst = max(worst, close('out with runs %s' % runs, out, expected, RING_TOLERANCE[spec['dtype']]))
        got = backward(ranks, kernel, P, q, k, v, dout, runs)
        for what, x in got.items():
            worst = max(worst, close('%s with runs %s' % (what, runs), x, of_one[what], 10 * RING_TOLERANCE[spec['dtype']]))
    return '(largest difference %.2g)' % worst


# Gradients of linear forms, whose sums travel: (keys of the spec, sizes B, H, G).
ALL = {'emit': ['forward', 'backward', 'decode']}
CHAIN = {
    'elu': (LINEAR['elu'][0], (2, 4, 2)),
    'elu-f64': (LINEAR['elu'][0] | {'dtype': 'f64'}, (1, 2, 1)),
    'elu-auto': (LINEAR['elu'][0] | {'algorithm': 'auto'}, (1, 2, 2)),
    'sketch': (LINEAR['sketch'][0], (1, 4, 2)),
    'learned': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned'}}}, (2, 4, 2)),
    'hedgehog-bf16': (LINEAR['hedgehog-bf16'][0], (1, 4, 2)),
    'hedgehog': ({'similarity': {'linear': {'features': 'hedgehog'}}}, (2, 4, 2)),
    'favor': ({'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}}, (1, 2, 1)),
    'retention': (LINEAR['retention'][0] | {'prepare': []}, (2, 2, 2)),
    'retention-rope': (LINEAR['retention'][0], (2, 2, 2)),
    'rope': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}, 'prepare': ['rope', 'layernorm']}, (1, 4, 2)),
    'rope-elu': (LINEAR['elu'][0] | {'prepare': [{'rope': {'pairs': 'halves'}}], 'dtype': 'f64'}, (1, 2, 2)),
    'rope-local': (LINEAR['sketch'][0] | {'prepare': ['rope']}, (1, 2, 2)),
    'rope-delta': (LINEAR['delta'][0] | {'prepare': ['l2norm', 'rope']}, (1, 2, 2)),
    'cosformer': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * cos((i - j) * 0.01)'}}}, (1, 2, 2)),
    'of-difference': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + 0.01 * (i - j))'}}, 'dtype': 'f64'},
                      (1, 2, 2)),
    'fading': ({'similarity': {'custom': {'weight': 's * s * exp(0.02 * (j - i))'}}, 'dtype': 'f64'}, (1, 2, 2)),
    'of-position': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * (1 + 0.001 * j)'}}}, (1, 2, 2)),
    'positions': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * cos((i - j) * 0.01) * (1 + 0.001 * j)'}}},
                  (1, 2, 2)),
    'gla': (LINEAR['gla'][0], (2, 3, 3)),
    'gated': ({'similarity': IDENTITY, 'normalize': 'none', 'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': ROWS},
               'prepare': [{'scale': {'by': 0.125}}]}, (2, 4, 2)),
    'shared-keys': ({'similarity': {'linear': {'features': 'elu_plus_one'}}}, (1, 4, 4)),
    'of-tokens': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * far[b][g][j]'}},
                   'arrays': {'far': {'shape': ['B', 'G', 'Nk']}}}, (2, 2, 2)),
    'delta': (LINEAR['delta'][0], (2, 3, 3)),
    'delta-f64': (LINEAR['delta'][0] | {'dtype': 'f64'}, (1, 2, 2)),
    'delta-bf16': (LINEAR['delta'][0] | {'dtype': 'bf16'}, (1, 2, 2)),
    'delta-sketch': (LINEAR['shared-keys'][0] | {'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}}, (1, 2, 2)),
    'delta-shared-keys': (LINEAR['shared-keys'][0], (1, 4, 4)),
    'kda': (LINEAR['delta'][0] | {'decay': {'log': 'gate[b][h][t][d]'},
                                  'arrays': {'gate': LINEAR['gla'][0]['arrays']['gate'], 'beta': ROWS}}, (2, 2, 2)),
    'sums': (LINEAR['sums'][0], (2, 4, 2)),
    'sums-of-features': (LINEAR['sums-of-features'][0], (1, 4, 2)),
    'documents': (LINEAR['documents'][0], (2, 4, 2)),
    'documents-f64': (LINEAR['documents'][0] | {'dtype': 'f64'}, (3, 2, 1)),
    'documents-bf16': (LINEAR['documents'][0] | {'dtype': 'bf16'}, (1, 4, 2)),
    'documents-auto': (LINEAR['documents'][0] | {'algorithm': 'auto'}, (1, 2, 2)),
    'documents-local': (LINEAR['sketch'][0] | {'mask': LINEAR['documents'][0]['mask']}, (2, 2, 2)),
    'documents-learned': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'mask': LINEAR['documents'][0]['mask']}, (2, 4, 2)),
    'documents-gated': (LINEAR['gla'][0] | {'mask': LINEAR['documents'][0]['mask'], 'decay': {'log': 'gate[b][h][t]'},
                                            'arrays': {'gate': ROWS}}, (2, 2, 2)),
    'documents-shared-keys': (LINEAR['documents'][0], (1, 4, 4)),
}
CHAIN_TOLERANCE = {'f32': 3e-5, 'f64': 1e-12, 'bf16': 0.03}


def outer_bytes(kernel, batch, heads, kv_heads, key_heads):
    size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int)(kernel.about.outer_sums)
    return [size(ctypes.byref(Problem(batch, heads, kv_heads, key_heads=key_heads)), which) for which in (0, 1, 2)]


def chain(folder, suite, name):
    """Gradients of linear forms on several ranks are those of one rank."""
    keys, (B, H, G) = CHAIN[name]
    kernel, spec = kernel_of(suite, keys | ALL)
    ranks, worst, chunk = library(suite), 0.0, kernel.about.outer_chunk
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    for n in 150, 75:
        P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
        if name.endswith('shared-keys'): q, k = q[:, :2], k[:, :2]   # problem.key_heads
        if name == 'of-tokens': P['far'] = np.abs(P['far']) + 0.1
        dout = np.random.default_rng(1).standard_normal((B, H) + v.shape[2:])
        whole = backward(ranks, kernel, P, q, k, v, dout, [(n, n)])
        if not name.endswith('shared-keys'):
            for what, x in kernel.gradients(P, q, k, v, dout, arrays=learned).items():
                close('%s on one rank' % what, whole[what], x, CHAIN_TOLERANCE[spec['dtype']])
        uneven = [[n - 1, 1], [75, n - 75], [1, 0, n - 1], [10, 0, 0, n - 42, 31, 1, 0]] if chunk == 1 else []
        for runs in uneven + [[2 * chunk, n - 2 * chunk], [chunk, 0, 2 * chunk, n - 3 * chunk], [n, 0, 0]]:
            post = Post(len(runs))
            got = backward(ranks, kernel, P, q, k, v, dout, [(m, m) for m in runs], 1 + len(runs) % 2, post,
                           foldable=len(runs) % 2 and not name.startswith('documents'))   # whose states cannot be joined
            for what, x in whole.items():
                worst = max(worst, close('%s with runs %s' % (what, runs), got[what], x, CHAIN_TOLERANCE[spec['dtype']]))
            sizes = outer_bytes(kernel, B, H, G, 2 if name.endswith('shared-keys') else 0)
            sizes = [sizes[0], sizes[1] + sizes[2]]
            for tag, size in zip(('sums', 'sums_down'), sizes):
                sent, limit = post.bytes_of(tag), (len(runs) - 1) * size
                check(sent == limit, 'it sent %d bytes of sums, not %d' % (sent, limit))
        if chunk > 1:
            calls = calls_of(ranks, kernel, P, q, k, v, [(1, 1), (n - 1, n - 1)], Post(2), 1)
            run_all(calls, ranks)
            for call, rows in zip(calls, (slice(0, 1), slice(1, n))): call.differentiate(ranks, dout[:, :, rows], P)
            check(set(together(calls, ranks)) == {-14}, 'a rank begins within a chunk')
    return '(largest difference %.2g)' % worst


# Linear forms whose queries see the same keys: sums over keys travel to the last rank, and back.
TOTAL = {
    'elu': (LINEAR['elu'][0], (2, 4, 2)),
    'elu-f64': (LINEAR['elu'][0] | {'dtype': 'f64'}, (1, 2, 1)),
    'elu-auto': (LINEAR['elu'][0] | {'algorithm': 'auto', 'shape': {'head_dim': 8, 'value_dim': 12}}, (1, 2, 2)),
    'elu-bf16': (LINEAR['elu'][0] | {'dtype': 'bf16'}, (1, 4, 2)),
    'undivided': ({'similarity': IDENTITY, 'normalize': 'none'}, (2, 3, 3)),
    'plus-one': ({'similarity': {'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 3}}}, (1, 4, 2)),
    'sketch': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}}, (1, 4, 2)),
    'learned': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned'}}}, (2, 4, 2)),
    'hedgehog': ({'similarity': {'linear': {'features': 'hedgehog'}}}, (2, 4, 2)),
    'hedgehog-f16': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'dtype': 'f16'}, (1, 4, 2)),
    'favor': ({'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}}, (1, 2, 1)),
    'affine': (LINEAR['elu'][0] | {'prepare': [{'layernorm': {'affine': True}}]}, (2, 4, 2)),
    'of-tokens': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * far[b][g][j] * near[h][row]'}},
                   'normalize': 'none', 'arrays': {'far': {'shape': ['B', 'G', 'Nk']}, 'near': {'shape': ['H', 'Nq']}}}, (2, 2, 2)),
    'shared-keys': (LINEAR['elu'][0], (1, 4, 4)),
    'lengths': (LINEAR['elu'][0] | {'mask': 'lengths'}, (3, 4, 2)),
    'lengths-f64': (LINEAR['elu'][0] | {'mask': 'lengths', 'dtype': 'f64', 'prepare': ['rope']}, (2, 2, 2)),
    'prefix': (LINEAR['elu'][0] | {'mask': {'prefix': {'length': 77}}}, (1, 2, 1)),
    'some-keys': (LINEAR['elu'][0] | {'mask': {'expr': 'j < 50'}}, (1, 2, 1)),
    'rope': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4}}, 'prepare': ['rope', 'layernorm']}, (1, 4, 2)),
    'rope-halves': (LINEAR['elu'][0] | {'prepare': [{'rope': {'pairs': 'halves'}}], 'dtype': 'f64'}, (1, 2, 2)),
    'cosformer': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * cos((i - j) * 0.01)'}}, 'dtype': 'f64'}, (1, 2, 2)),
    'of-difference': ({'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + 0.01 * (i - j))'}}, 'dtype': 'f64'},
                      (1, 2, 2)),
    'of-position': ({'similarity': {'linear': {'features': 'relu', 'modify': 's * (1 + 0.001 * j)'}}}, (1, 2, 2)),
}
WHOLE = {'mask': 'none', 'emit': ['forward', 'backward', 'statistics'], 'schedule': {'tile_k': 8}}
TOTAL_TOLERANCE = {'f32': 3e-5, 'f64': 1e-12, 'f16': 4e-3, 'bf16': 0.03}


def key_sums(kernel, batch, heads, kv_heads, key_heads):
    """Returns the bytes of the sums over keys of forward, and over keys and queries of backward."""
    size, problem = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p), Problem(batch, heads, kv_heads, key_heads=key_heads)
    outer = outer_bytes(kernel, batch, heads, kv_heads, key_heads) if kernel.about.outer_sums else [0, 0]
    return size(kernel.about.key_sums)(ctypes.byref(problem)), outer[0] + outer[1]


def total(folder, suite, name):
    """Results and gradients of linear forms without a mask on several ranks are those of one rank."""
    keys, (B, H, G) = TOTAL[name]
    kernel, spec = kernel_of(suite, WHOLE | keys)
    ranks, worst, tolerance = library(suite), 0.0, TOTAL_TOLERANCE[spec['dtype']]
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    shares = 2 if name.endswith('shared-keys') else 0
    for n_q, n_k in (150, 150), (40, 150), (150, 33), (1, 75):
        P, q, k, v = inputs(spec, H, G, n_q, n_k, B, 5, os.path.join(folder, 'data'))
        if shares: q, k = q[:, :2], k[:, :2]   # problem.key_heads
        if name == 'of-tokens': P['far'], P['near'] = np.abs(P['far']) + 0.1, np.abs(P['near']) + 0.1
        times = 2 if shares else 1
        dout = np.random.default_rng(1).standard_normal((B, H, n_q) + v.shape[3:])
        one = forward(ranks, kernel, P, q, k, v, [(n_q, n_k)])
        close('out on one rank', one, definitions.attend(spec, dict(P), q.repeat(times, 1), k.repeat(times, 1), v), tolerance)
        whole = backward(ranks, kernel, P, q, k, v, dout, [(n_q, n_k)])
        for what, x in kernel.gradients(P, q, k, v, dout, arrays=learned).items() if not shares else ():
            close('%s on one rank' % what, whole[what], x, 10 * tolerance)
        for runs in RUNS[1:]:
            parts = [[round(m * n / 150) for m in np.cumsum([0, *runs])] for n in (n_q, n_k)]
            parts = [[end - begin for begin, end in zip(x, x[1:])] for x in parts]
            pairs = list(zip(parts[0], parts[1] if len(runs) % 2 else parts[1][::-1]))
            for foldable in 0, 1:
                post = Post(len(runs))
                out = forward(ranks, kernel, P, q, k, v, pairs, post, 1 + len(runs) % 2, foldable=foldable)
                worst = max(worst, close('out with runs %s' % pairs, out, one, tolerance))
                for_forward, for_backward = ((len(runs) - 1) * x for x in key_sums(kernel, B, H, G, shares))
                check(not post.bytes_of('keys'), 'keys were sent')
                for tag in 'sums', 'totals':
                    check(post.bytes_of(tag) == for_forward, 'it sent %d bytes of sums, not %d' % (post.bytes_of(tag), for_forward))
                post = Post(len(runs))
                got = backward(ranks, kernel, P, q, k, v, dout, pairs, 1 + len(runs) % 2, post, foldable=foldable)
                for what, x in whole.items():
                    worst = max(worst, close('%s with runs %s' % (what, pairs), got[what], x, 10 * tolerance))
                for tag in 'sums', 'totals':   # forward and backward
                    sent, limit = post.bytes_of(tag), for_forward + for_backward
                    check(sent == limit, 'it sent %d bytes of sums, not %d' % (sent, limit))
    return '(largest difference %.2g)' % worst


def total_bits(folder, suite, name):
    """If each rank's keys begin with a chunk, results have the bits of one rank, and of NAME_forward."""
    keys, (B, H, G) = TOTAL[name]
    kernel, spec = kernel_of(suite, WHOLE | keys)
    ranks, n = library(suite), 150
    P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
    one = kernel(P, q, k, v)
    for runs in [n], [32, 118], [64, 32, 0, 54], [0, 96, 0, 0, 32, 0, 22]:
        out = forward(ranks, kernel, P, q, k, v, [(m, m) for m in runs])
        check(out.tobytes() == one.tobytes(), 'other bits with runs %s' % runs)


# Causal linear forms whose mask also hides keys from all queries: sums over earlier keys travel.
CAUSAL_LENGTHS = {'mask': {'all': ['causal', 'lengths']}, 'emit': ['forward', 'backward', 'statistics'], 'block': 16}
EARLIER = {
    'lengths': (LINEAR['elu'][0], (3, 4, 2)),
    'lengths-f64': (LINEAR['elu'][0] | {'dtype': 'f64', 'prepare': ['rope']}, (2, 2, 2)),
    'lengths-bf16': (LINEAR['elu'][0] | {'dtype': 'bf16'}, (2, 4, 2)),
    'lengths-auto': (LINEAR['elu'][0] | {'algorithm': 'auto'}, (2, 2, 1)),
    'prefix': (LINEAR['elu'][0] | {'mask': {'all': ['causal', {'prefix': {'length': 77}}]}}, (1, 4, 2)),
    'learned': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned'}}, 'prepare': ['rope']}, (2, 4, 2)),
    'hedgehog': ({'similarity': {'linear': {'features': 'hedgehog'}}, 'normalize': 'none'}, (2, 4, 2)),
    'cosformer': (TOTAL['cosformer'][0], (2, 2, 2)),
    'of-tokens': (CHAIN['of-tokens'][0] | {'similarity': {'custom': {'weight': '(1 + s * s) * far[b][g][j]'}}}, (2, 2, 2)),
    'shared-keys': (LINEAR['elu'][0], (1, 4, 4)),
}
# Masks under which all queries also see the first keys: their sums travel back to the ranks before.
OPEN = {'mask': {'any': ['causal', {'prefix': {'length': 40}}]}}
OPENED = {'mask': {'all': [{'any': [{'prefix': {'length': 77}}, 'causal', {'prefix': {'length': 9}}]}, 'lengths']}}
EARLIER |= {
    'open': (LINEAR['elu'][0] | OPEN, (1, 4, 2)),
    'open-f64': (LINEAR['elu'][0] | OPEN | {'dtype': 'f64', 'prepare': ['rope']}, (2, 2, 2)),
    'open-bf16': (LINEAR['elu'][0] | OPEN | {'dtype': 'bf16'}, (1, 4, 1)),
    'open-f16': (EARLIER['hedgehog'][0] | OPEN | {'dtype': 'f16', 'normalize': 'sum'}, (1, 2, 2)),
    'open-auto': (LINEAR['elu'][0] | OPEN | {'algorithm': 'auto'}, (1, 2, 2)),
    'open-all': (LINEAR['elu'][0] | {'mask': {'any': ['causal', {'prefix': {'length': 150}}]}}, (1, 2, 1)),
    'open-few': (LINEAR['elu'][0] | {'mask': {'any': [{'prefix': {'length': 1}}, 'causal']}}, (1, 2, 1)),
    'open-lengths': (LINEAR['elu'][0] | OPENED, (3, 4, 2)),
    'open-plus-one': ({'similarity': {'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 3}}, 'normalize': {'sum_plus': 1}} | OPEN, (1, 4, 2)),
    'open-learned': (EARLIER['learned'][0] | OPENED, (2, 4, 2)),
    'open-hedgehog': (EARLIER['hedgehog'][0] | OPEN, (2, 4, 2)),
    'open-cosformer': (TOTAL['cosformer'][0] | OPEN, (2, 2, 2)),
    'open-of-tokens': ({'similarity': {'custom': {'weight': '(1 + s * s) * far[b][g][j] * near[b][h][row]'}},
                        'arrays': {'far': {'shape': ['B', 'G', 'Nk']}, 'near': {'shape': ['B', 'H', 'Nq']}}, 'normalize': 'none'} | OPEN, (2, 2, 2)),
    'open-shared-keys': (LINEAR['elu'][0] | OPEN, (1, 4, 4)),
}


def ranks_before_last_key(runs, keys):
    """Returns the number of ranks before the one with the last of the first keys of a sequence."""
    return max((rank for rank, n in enumerate(runs) if n and sum(runs[:rank]) < keys), default=0)


def earlier(folder, suite, name):
    """Results and gradients of causal linear forms with `lengths` or a prefix on several ranks are those of one rank."""
    keys, (B, H, G) = EARLIER[name]
    kernel, spec = kernel_of(suite, CAUSAL_LENGTHS | keys)
    ranks, worst, tolerance = library(suite), 0.0, TOTAL_TOLERANCE[spec['dtype']]
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    shares, n = 2 if name.endswith('shared-keys') else 0, 150
    for lengths in [40, 150, 0], [97, 1, 75], [64, 33, 149]:
        P, q, k, v = inputs(spec, H, G, n, n, B, 5, os.path.join(folder, 'data'))
        if shares: q, k = q[:, :2], k[:, :2]   # problem.key_heads
        if 'lengths' in P: P['lengths'] = np.array(lengths[:B], np.int32)
        if 'far' in P: P['far'] = np.abs(P['far']) + 0.1
        if 'near' in P: P['near'] = np.abs(P['near']) + 0.1
        dout, times = np.random.default_rng(1).standard_normal((B, H, n) + v.shape[3:]), 2 if shares else 1
        expected = definitions.attend(spec, dict(P), q.repeat(times, 1), k.repeat(times, 1), v)
        for b, length in enumerate(P.get('lengths', ())): k[b, :, length:] = v[b, :, length:] = np.nan   # padding
        one = forward(ranks, kernel, P, q, k, v, [(n, n)])
        close('out on one rank', one, expected, tolerance)
        whole = backward(ranks, kernel, P, q, k, v, dout, [(n, n)])
        for what, x in kernel.gradients(P, q, k, v, dout, arrays=learned).items() if not shares else ():
            close('%s on one rank' % what, whole[what], x, 10 * tolerance)
        for runs in RUNS[1:]:
            pairs = [(m, m) for m in runs]
            for foldable in 0, 1:
                post = Post(len(runs))
                out = forward(ranks, kernel, P, q, k, v, pairs, post, 1 + len(runs) % 2, foldable=foldable)
                worst = max(worst, close('out with runs %s' % runs, out, one, tolerance))
                limit = (len(runs) - 1) * key_sums(kernel, B, H, G, shares)[0]
                check(post.bytes_of('sums') == limit, 'it sent %d bytes of sums, not %d' % (post.bytes_of('sums'), limit))
                limit = ranks_before_last_key(runs, kernel.about.open_keys) * key_sums(kernel, B, H, G, shares)[0]
                check(post.bytes_of('totals') == limit, 'it sent %d bytes back, not %d' % (post.bytes_of('totals'), limit))
                post = Post(len(runs))
                got = backward(ranks, kernel, P, q, k, v, dout, pairs, 1 + len(runs) % 2, post, foldable=foldable)
                for what, x in whole.items():
                    worst = max(worst, close('%s with runs %s' % (what, runs), got[what], x, 10 * tolerance))
                check(not post.bytes_of('keys'), 'keys were sent')
                limit = ranks_before_last_key(runs, kernel.about.open_keys) * sum(key_sums(kernel, B, H, G, shares))
                check(post.bytes_of('totals') == limit, 'it sent %d bytes back, not %d' % (post.bytes_of('totals'), limit))
    return '(largest difference %.2g)' % worst


RANDOM = 12   # random linear forms, and as many quadratic forms
RANDOM_TOLERANCE = 1e-7   # in f64, where features may cancel


def first_drawn(suite, folder, tries, numbers, change, fits):
    """Returns the first kernel that fits, its spec, and the draw. `tries` and `numbers` are for draw_spec.draw. `change`
    changes a spec."""
    for again, number in enumerate(tries):
        d = draw_spec.draw(9, number, numbers)
        d['spec'] = draw_spec.fitting(draw_spec.capped(d['spec'], many_specs.LARGEST))
        many_specs.divides(d)
        d['spec'].pop('schedule', None)
        change(d['spec'])
        place = os.path.join(folder, str(again))   # a library that is loaded is not replaced
        os.mkdir(place)
        with open(place + '/k.yaml', 'w') as f: yaml.safe_dump(d['spec'], f, sort_keys=False)
        try:
            kernel = compiled_kernel(suite, place)
        except Failure:   # many_specs.py tests refusals
            continue
        if fits(kernel.about) and not kernel.about.values_are_keys:
            return kernel, definitions.load(place + '/k.yaml'), d
    raise Skip('no spec fits')


def drawn_kernel(suite, folder, number):
    """Returns a random kernel whose gradients can be computed from sums over other tokens, its spec, and the draw."""
    def change(spec): spec.update(name='k', dtype='f64')
    tries = [number + 1000000 * k for k in range(20)]
    return first_drawn(suite, folder, tries, True, change, lambda about: about.outer_sums)


def random_chain(folder, suite, number):
    """Gradients of a random linear form on several ranks are those of one rank."""
    kernel, spec, d = drawn_kernel(suite, folder, number)
    ranks, chunk, worst = library(suite), kernel.about.outer_chunk, 0.0
    n, rng = 3 * chunk + int(d['n_k']), np.random.default_rng(number)
    P, q, k, v = inputs(spec, d['heads'], d['kv_heads'], n, n, d['batch'], number, os.path.join(folder, 'data'))
    dout = rng.standard_normal(q.shape[:3] + v.shape[3:])
    if kernel.about.names_sequences and d['batch'] > 1:   # refused
        calls = calls_of(ranks, kernel, P, q, k, v, [(n, n)], Post(1), 1)
        check(together(calls, ranks) == [ERRORS['form']], 'a form that names sequences')
        return ''
    whole = backward(ranks, kernel, P, q, k, v, dout, [(n, n)])
    for count in 2, 4:
        ends = sorted(chunk * int(x) for x in rng.integers(0, n // chunk + 1, count - 1))
        runs = [end - begin for begin, end in zip([0, *ends], [*ends, n])]
        got = backward(ranks, kernel, P, q, k, v, dout, [(m, m) for m in runs], foldable=count // 4 * ('document' not in P))
        for what, x in whole.items():
            worst = max(worst, close('%s with runs %s of\n%s\n' % (what, runs, d['spec']), got[what], x, RANDOM_TOLERANCE))
    return '(largest difference %.2g)' % worst


def shares_of(rng, n, count):
    """Returns the numbers of tokens of each rank. With three ranks or more, some rank has none."""
    ends = sorted(int(x) for x in rng.choice(rng.integers(0, n + 1, max(1, count - 2)), count - 1))
    return [end - begin for begin, end in zip([0, *ends], [*ends, n])]


def drawn_quadratic(suite, folder, number):
    """Returns a random kernel whose keys can travel, its spec, and the draw."""
    def change(spec):
        for word in 'delta', 'storage': spec.pop(word, None)
        if number % 3 == 0:   # a decay, under a mask that shows no later key
            masks = ['causal'] + [spec['mask']] * ('mask' in spec)
            spec.update(decay={'log': '-fabs(fade[b][h][t])'}, mask={'all': masks}, arrays=spec.get('arrays', {}) | {'fade': ROWS})
        if number % 4 == 1:
            masks = [{'blocks': {'block': 4 + number, 'count': 3}}] + [spec['mask']] * ('mask' in spec)
            spec.update(mask={'any' if number % 8 == 1 and number % 3 else 'all': masks})
        spec.update(name='k', dtype='f64', algorithm='quadratic', emit=['forward', 'backward', 'statistics'])

    def fits(about): return about.merge and (about.period == 1 or number % 4 == 1 and about.period == 4 + number) and (about.saved_power or about.statistics == 3)
    return first_drawn(suite, folder, [number + 5000 + 1000000 * k for k in range(40)], False, change, fits)


def random_ring(folder, suite, number):
    """Results and gradients of a random quadratic form on several ranks are those of one rank."""
    kernel, spec, d = drawn_quadratic(suite, folder, number)
    ranks, worst, rng, n = library(suite), 0.0, np.random.default_rng(number), 40 + int(d['n_k'])
    P, q, k, v = inputs(spec, d['heads'], d['kv_heads'], n, n, d['batch'], number, os.path.join(folder, 'data'))
    dout = rng.standard_normal(q.shape[:3] + v.shape[3:])
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    statistics = np.zeros(q.shape[:3])
    out, whole = kernel(P, q, k, v, statistics=statistics), kernel.gradients(P, q, k, v, dout, arrays=learned)
    if not all(np.isfinite(x).all() for x in (out, *whole.values())) or np.isnan(statistics).any() or np.isposinf(statistics).any():
        raise Skip('a result or denominator is not finite')
    for count in 2, 3, 4, 7:
        runs = [(m, m) for m in aligned(kernel, shares_of(rng, n, count))]
        calls = calls_of(ranks, kernel, P, q, k, v, runs, Post(count), 1)
        errors = set(together(calls, ranks))
        if errors == {ERRORS['form']}: raise Skip('an array has no rows that travel')
        check(errors == {0}, 'errors %s of\n%s\n' % (errors, d['spec']))
        got = {'out': np.concatenate([call.out for call in calls], axis=2)}
        got |= backward(ranks, kernel, P, q, k, v, dout, runs)
        for what, x in got.items():
            worst = max(worst, close('%s with runs %s of\n%s\n' % (what, runs, d['spec']), x,
                                     out if what == 'out' else whole[what], RANDOM_TOLERANCE))
    return '(largest difference %.2g)' % worst


def drawn_total(suite, folder, number):
    """Returns a random kernel whose queries read sums over all keys, or over earlier ones, its spec, and the draw."""
    opened = {'any': ['causal', {'prefix': {'length': 1 + number * 7 % 60}}]}
    mask = ['lengths', 'none', {'all': ['causal', 'lengths']}, opened, {'all': [opened, 'lengths']}][number % 5]
    def change(spec):
        for word in 'delta', 'decay', 'storage', 'project': spec.pop(word, None)
        spec.update(name='k', dtype='f64', mask=mask, algorithm='linear', emit=['forward', 'backward', 'statistics'])
        if number % 4 == 3: spec.update(dtype='f32', emit=['forward', 'statistics'], storage={'k': 'f16', 'v': 'i8'})
    return first_drawn(suite, folder, [number + 9000 + 1000000 * k for k in range(60)], False, change, lambda about: about.key_sums)


def random_total(folder, suite, number):
    """Results and gradients of a random linear form with sums over keys on several ranks are those of one rank."""
    kernel, spec, d = drawn_total(suite, folder, number)
    ranks, worst, rng, n = library(suite), 0.0, np.random.default_rng(number), 40 + int(d['n_k'])
    P, q, k, v = inputs(spec, d['heads'], d['kv_heads'], n, n, d['batch'], number, os.path.join(folder, 'data'))
    dout = rng.standard_normal(q.shape[:3] + v.shape[3:])
    learned = any(p.dtype < 4 and not p.random for p in kernel.about.param[:kernel.about.params])
    differentiable, tolerance = bool(kernel.about.backward), RANDOM_TOLERANCE if kernel.about.backward else RING_TOLERANCE['f16']
    whole = {'out': kernel(P, q, k, v)} | (kernel.gradients(P, q, k, v, dout, arrays=learned) if differentiable else {})
    if not all(np.isfinite(x).all() for x in whole.values()): raise Skip('a result is not finite')
    for count in 2, 3, 4, 7:
        of_queries, of_keys = shares_of(rng, n, count), shares_of(rng, n, count)
        runs = list(zip(of_queries, of_keys if kernel.about.sums_whole else of_queries))
        calls = calls_of(ranks, kernel, P, q, k, v, runs, Post(count), 1, foldable=count % 2)
        errors = set(together(calls, ranks))
        if errors == {ERRORS['form']}: raise Skip('an array has no rows of a part of the tokens')
        check(errors == {0}, 'errors %s of\n%s\n' % (errors, d['spec']))
        got = {'out': np.concatenate([call.out for call in calls], axis=2)}
        got |= backward(ranks, kernel, P, q, k, v, dout, runs, foldable=count % 2) if differentiable else {}
        for what, x in got.items():
            worst = max(worst, close('%s with runs %s of\n%s\n' % (what, runs, d['spec']), x, whole[what], tolerance))
    return '(largest difference %.2g)' % worst


ERRORS = {'workspace': -4, 'pointer': -2, 'heads': -1, 'ids': -1, 'order': -11, 'form': -15, 'lost': -17, 'blocks': -14, 'workspace-total': -4,
          'lost-total': -17}


def errors(folder, suite, name):
    """Makes one rank of four fail. All ranks return the same error."""
    keys = {'order': LINEAR['documents'][0], 'workspace': LINEAR['elu'][0], 'lost': LINEAR['elu'][0],
            'form': QUADRATIC | {'delta': {'rate': 'beta[b][h][t]'}, 'arrays': {'beta': ROWS}},
            'ids': QUADRATIC | {'mask': 'document'}, 'blocks': QUADRATIC | RING['blocks'][0], 'workspace-total': WHOLE | TOTAL['elu'][0],
            'lost-total': WHOLE | TOTAL['elu'][0]}
    kernel, spec = kernel_of(suite, keys.get(name, QUADRATIC))
    name, total = name.split('-')[0], '-' in name
    ranks, n = library(suite), 40
    P, q, k, v = inputs(spec, 2, 2, 4 * n, 4 * n, 1, 5, os.path.join(folder, 'data'))
    if name == 'order': P['document'] = np.where(np.arange(4 * n) == 2 * n + 5, 0, P['document'] + 1).astype(np.int32)
    for wrong in range(4) if name != 'order' else [0]:
        for failing in (0, 1, 2, 3, 5, 9) if name == 'lost' else [0]:
            post = Post(4, wrong if name == 'lost' else None, failing)
            calls = []
            for rank in range(4):
                rows = slice(rank * n, (rank + 1) * n)
                call = Call(ranks, kernel, post.transport(rank), share(kernel, P, rows, rows),
                            *(x[:, :, rows] for x in (q, k, v)), capacity=4 * n, all_keys=4 * n)
                if rank == wrong and name == 'ids':   # other ids than the other ranks, or too few
                    call = Call(ranks, kernel, post.transport(rank), {'document': P['document'] + 1},
                                *(x[:, :, rows] for x in (q, k, v)), all_keys=4 * n - wrong % 2)
                if rank == wrong and name == 'workspace': call.problem.workspace_bytes -= 1
                if rank == wrong and name == 'heads': call.problem.heads = call.problem.kv_heads = 1
                if rank == wrong and name == 'pointer': call.arrays[1] = None
                calls.append(call)
            got = together(calls, ranks)
            # The last messages of a rank may be lost after the others have returned.
            wanted = {ERRORS[name]} if name != 'lost' or failing < 2 + total else {ERRORS[name], 0}
            check(set(got) <= wanted and (name == 'lost' or len(set(got)) == 1), 'rank %d fails: %s' % (wrong, got))


def backward_errors(folder, suite, name):
    """Makes one rank of three fail in attn_ranks_backward of a linear form. All ranks return the same error."""
    kernel, spec = kernel_of(suite, LINEAR[{'lost': 'gla', 'pointer': 'delta'}.get(name, 'elu')][0] | ALL)
    ranks, n = library(suite), 32
    P, q, k, v = inputs(spec, 2, 2, 3 * n, 3 * n, 1, 5, os.path.join(folder, 'data'))
    dout = np.random.default_rng(1).standard_normal(q.shape[:3] + v.shape[3:])
    for wrong in range(3):
        for failing in (0, 3, 5) if name == 'lost' else [0]:
            calls = calls_of(ranks, kernel, P, q, k, v, [(n, n)] * 3, Post(3), 1)
            run_all(calls, ranks)
            post = Post(3, wrong if name == 'lost' else None, failing)
            for rank, call in enumerate(calls):
                rows = slice(rank * n, (rank + 1) * n)
                call.transport = post.transport(rank)
                call.differentiate(ranks, dout[:, :, rows], share(kernel, P, rows, rows))
                if rank == wrong and name == 'workspace': call.problem.workspace_bytes -= 1
                if rank == wrong and name == 'pointer': call.problem.n_q -= 1
            got, wanted = together(calls, ranks), {{'workspace': -4, 'pointer': -1, 'lost': -17}[name]}
            check(set(got) <= wanted | ({0} if name == 'lost' and failing > 1 else set()) and (
                name == 'lost' or len(set(got)) == 1), 'rank %d fails: %s' % (wrong, got))


# The commands of each MPI that Debian has, and the options of its mpirun.
MPI = {'openmpi': ('mpicc.openmpi', ['mpirun.openmpi', '--oversubscribe', '--allow-run-as-root', '--bind-to', 'none']),
       'mpich': ('mpicc.mpich', ['mpirun.mpich'])}


def processes(folder, suite, which):
    """Runs a program under mpirun."""
    cc, mpirun = MPI[which]
    if not shutil.which(cc) or not shutil.which(mpirun[0]): raise Skip('there is no ' + mpirun[0])
    own = os.path.join(RUNTIME, 'mpi')
    line = checked_by_sanitizers()[1:] if suite.options.sanitize else ['-O1']
    done_well([cc, *line, '-I', RUNTIME, '-I', own, '-o', 'program', os.path.join(HERE, 'program.c'),
               *(os.path.join(own, f) for f in sorted(os.listdir(own)) if f.endswith('.c')), *runtime_sources(), '-ldl',
               '-lm'], folder)
    linear, spec = kernel_of(suite, LINEAR['elu'][0] | ALL)
    q = inputs(spec, 4, 2, 150, 150, 2, 5, folder)[1]
    np.save(os.path.join(folder, 'document.npy'), np.arange(300, dtype=np.int32).reshape(2, 150) // 40)
    np.save(os.path.join(folder, 'blocks.npy'), np.random.default_rng(2).integers(-1, 11, (2, 4, 10, 4)).astype(np.int32))
    np.save(os.path.join(folder, 'dout.npy'), np.random.default_rng(1).standard_normal(q.shape[:3] + (12,)).astype(np.float32))
    ring = kernel_of(suite, QUADRATIC | RING['causal'][0] | {'emit': emit_of('causal')})[0]
    whole = kernel_of(suite, WHOLE | TOTAL['elu'][0])[0]
    opened, documents, listed = (kernel_of(suite, keys)[0] for keys in (
        CAUSAL_LENGTHS | EARLIER['open'][0], CHAIN['documents'][0] | ALL,
        QUADRATIC | RING['blocks'][0] | {'emit': emit_of('blocks')}))
    for kernel, tolerance in ((linear, 0), (ring, RING_TOLERANCE['f32']), (whole, RING_TOLERANCE['f32']),
                              (opened, CHAIN_TOLERANCE['f32']), (documents, 0), (listed, RING_TOLERANCE['f32'])):
        outs, names = [], ('out', 'dq', 'dk', 'dv')
        for runs in [[150], [75, 75], [70, 30, 50], [0, 33, 100, 17]]:
            runs = aligned(kernel, runs)
            done_well([*mpirun, '-n', str(len(runs)), './program', kernel.library._name, 'k_kernel', folder,
                       ','.join(map(str, runs))], folder)
            outs.append([np.load(os.path.join(folder, name + '.npy')) for name in names])
            for name, got, one in zip(names, outs[-1], outs[0]):
                close('%s with runs %s' % (name, runs), got, one, tolerance if name == 'out' else CHAIN_TOLERANCE['f32'])


def sanitized(folder, suite, pattern):
    """Runs a few cases under AddressSanitizer and UBSan."""
    done = execute([sys.executable, __file__, suite.attnc, '--sanitize', '--only', pattern], cwd=folder, timeout=600)
    check(done.returncode == 0, (done.stdout + done.stderr)[-5000:])


def main():
    if '--sanitize' in sys.argv and 'libclang_rt.asan' not in os.environ.get('LD_PRELOAD', ''): start_with_sanitizers()
    suite = Suite(__doc__.split('\n\n')[0], lambda parser: parser.add_argument(
        '--sanitize', action='store_true', help='check the C of ranks and of kernels with AddressSanitizer and UBSan'))
    os.environ.pop('LD_PRELOAD', None)   # compilers run without it
    suite.objects, suite.kernels = Objects(suite.folder), Made()
    for name in LINEAR:
        suite.case('linear-' + name, linear, suite, name)
    for name in 'elu', 'retention', 'gla', 'delta':
        suite.case('state-' + name, state, suite, name)
    for name in RING:
        suite.case('ring-' + name, ring, suite, name)
    for name in 'document', 'documents-around', 'lengths', 'prefix-lm', 'prefix', 'blocks':
        suite.case('sent-rows-' + name, sent_rows, suite, name)
    for name in 'document', 'bigbird', 'blocks', 'sink', 'sum-plus', 'rope', 'of-difference', 'open', 'open-lengths':
        suite.case('check-' + name, checked, suite, name)
    for name in STORED:
        suite.case('stored-' + name, stored, suite, name)
    for name in BACKWARD:
        suite.case('backward-' + name, gradients, suite, name)
    for name in [name for name in BACKWARD if name not in ('learned',)]:
        suite.case('apart-' + name, apart, suite, name)
    for name in CHAIN:
        suite.case('chain-backward-' + name, chain, suite, name)
    for name in TOTAL:
        suite.case('total-' + name, total, suite, name)
    for name in EARLIER:
        suite.case('earlier-' + name, earlier, suite, name)
    for name in 'elu', 'sketch', 'hedgehog':
        suite.case('total-bits-' + name, total_bits, suite, name)
    for number in range(RANDOM):
        suite.case('random-%d' % number, random_chain, suite, number)
    for number in range(RANDOM):
        suite.case('random-ring-%d' % number, random_ring, suite, number)
    for number in range(RANDOM):
        suite.case('random-total-%d' % number, random_total, suite, number)
    for name in 'workspace', 'pointer', 'lost':
        suite.case('errors-backward-' + name, backward_errors, suite, name)
    for name in ERRORS:
        suite.case('errors-' + name, errors, suite, name)
    if not suite.options.sanitize:
        suite.case('sanitized', sanitized, suite, 'random-*[012]')
    for name in MPI:
        suite.case('mpirun-' + name, processes, suite, name)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
