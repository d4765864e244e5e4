"""Arrays with strides: results and gradients have the same bits as with contiguous arrays.

Some axes have stride 0, so their elements repeat. No byte outside the elements is read."""
import ctypes
import mmap
import os
from functools import partial

import numpy as np

import definitions
from kernel import Problem, State, best_target, usual
from loop import Row, fails, kernel_of
from suite import WHOLE, check

B, H, G, D = 2, 4, 2, 8
SOFTMAX = {'similarity': {'softmax': {'modify': 's + ({e}) / 4'}}}
CUSTOM = {'similarity': {'custom': {'weight': '(2 + s) * (2 + s) * exp(({e}) / 4)'}}}
MASK = {'similarity': 'softmax', 'mask': {'expr': '{e}'}}
ANGLE = {'prepare': [{'rope': {'angle': '{e}'}}], 'similarity': 'softmax'}
DECAY = {'similarity': 'softmax', 'mask': 'causal', 'decay': {'log': '{e}'}}
LINEAR = {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'decay': {'log': '{e}'}, 'normalize': 'none'}
DELTA = LINEAR | {'prepare': ['l2norm'], 'delta': {'rate': 0.5}, 'dtype': 'f64'}   # elements of f64 fill vectors
CASES = {   # Each case is (base spec, element expression, shapes and types of its arrays).
    'table': (SOFTMAX, 'a[h][i - j + 5]', {'a': ['H', 11]}),
    'pair': (SOFTMAX, 'a[h][row][j]', {'a': ['H', 'Nq', 'Nk']}),
    'pair_turned': (SOFTMAX, 'a[b][j][row]', {'a': ['B', 'Nk', 'Nq']}),
    'query': (SOFTMAX, 'a[b][h][row]', {'a': ['B', 'H', 'Nq']}),
    'key': (SOFTMAX, 'a[b][g][j]', {'a': ['B', 'G', 'Nk']}),
    'key_of_query': (SOFTMAX, 'a[b][i] - a[b][j]', {'a': ['B', 'Nk']}),
    'element': (SOFTMAX, 'a[b][row][1]', {'a': ['B', 'Nq', 3]}),
    'bucket': (SOFTMAX, 'a[h][c[b][j]]', {'a': ['H', 6], 'c': (['B', 'Nk'], 'int')}),
    'bucket_of_pair': (SOFTMAX, 'a[c[h][row][j] % 6]', {'a': [6], 'c': (['H', 'Nq', 'Nk'], 'int')}),
    'truncated': (SOFTMAX, 'a[h][(int)(c[b][j] * 4 + w[h])] + a[h][(int)(w[h] * (i - j)) + 3]', {'a': ['H', 6], 'c': ['B', 'Nk'], 'w': ['H']}),
    'heads': (SOFTMAX, 'a[b][h]', {'a': ['B', 'H']}),
    'swin': (SOFTMAX, 'a[h][i / 3 - j / 3 + 3][i % 3 - j % 3 + 2]', {'a': ['H', 7, 5]}),
    'carried': (CUSTOM, 'a[b][h][j] + c[h]', {'a': ['B', 'H', 'Nk'], 'c': ['H']}),
    'carried_row': (CUSTOM, 'a[b][j][2]', {'a': ['B', 'Nk', 4]}),
    'weight': ({'similarity': {'custom': {'weight': 'exp({e})'}}}, 'a[h][row][j]', {'a': ['H', 'Nq', 'Nk']}),
    'bare': ({'similarity': {'custom': {'weight': '{e}'}}, 'normalize': 'none'}, 'a[h][row][j]', {'a': ['H', 'Nq', 'Nk']}),
    'mask_of_pair': (MASK, 'a[b][row][j]', {'a': (['B', 'Nq', 'Nk'], 'bool')}),
    'mask_of_heads': (MASK, 'a[b][h][row][j] || i == j', {'a': (['B', 'H', 'Nq', 'Nk'], 'bool')}),
    'mask_turned': (MASK, 'a[h][j][row]', {'a': (['H', 'Nk', 'Nq'], 'bool')}),
    'mask_of_keys': (MASK, 'a[h][j]', {'a': (['H', 'Nk'], 'bool')}),
    'mask_of_ids': (MASK, 'a[b][i] % 3 == a[b][j] % 3', {'a': (['B', 'Nk'], 'int')}),
    'mask_of_lengths': (MASK, 'j < a[b][h]', {'a': (['B', 'H'], 'int')}),
    'mask_by_index': (MASK, 'a[a[j] % 7] % 2', {'a': (['Nk'], 'int')}),
    'mask_of_ints': (MASK, 'a[b][h][row][j] % 2', {'a': (['B', 'H', 'Nq', 'Nk'], 'int')}),
    'mask_of_reals': (MASK, 'a[b][(int)(c[b][h][j] * 3)] || i == j', {'a': (['B', 5], 'bool'), 'c': ['B', 'H', 'Nk']}),
    'other_heads': (SOFTMAX, 'a[H - 1 - h][j] + c[h / 2]', {'a': ['H', 'Nk'], 'c': ['H']}),
    'other_entries': (SOFTMAX, 'a[(b + 1) % B][row][j]', {'a': ['B', 'Nq', 'Nk']}),
    'blocks': (MASK, 'a[b][h][row / 8][j / 8]', {'a': (['B', 'H', 'Nq / 8', 'Nk / 8'], 'bool')}),
    'angle': (ANGLE, 'a[b][i] * c[t]', {'a': (['B', 'Nk'], 'int'), 'c': [D // 2]}),
    'angle_of_keys': (ANGLE, 'a[b][i] * (t + 1)', {'a': ['B', 'Nk']}),
    'decay': (DECAY, 'a[b][h][t]', {'a': ['B', 'H', 'Nk']}),
    'decay_of_elements': (LINEAR, 'a[b][h][t][d]', {'a': ['B', 'H', 'Nk', 'D']}),
    'decay_of_channels': (LINEAR, '-fabs(a[h][d])', {'a': ['H', 'D']}),
    'wide_decay': (LINEAR | {'dtype': 'f64'}, 'a[b][h][t][d] * fabs(c[h][d])', {'a': ['B', 'H', 'Nk', 'D'], 'c': ['H', 'D']}),
    'delta': (DELTA, 'a[b][h][t][d] * fabs(c[h][d])', {'a': ['B', 'H', 'Nk', 'D'], 'c': ['H', 'D']}),
}
NO_GRADIENTS = ('key_of_query', 'angle_of_keys', 'other_heads', 'other_entries')   # attnc refuses gradients of these specs
DECODED = ('truncated', 'mask_of_reals', 'table', 'key', 'bucket', 'mask_of_keys', 'mask_of_ids', 'carried', 'mask_of_lengths', 'heads', 'decay', 'decay_of_channels', 'angle',
           'angle_of_keys')


def with_element(value, element):
    if isinstance(value, dict): return {k: with_element(x, element) for k, x in value.items()}
    if isinstance(value, list): return [with_element(x, element) for x in value]
    return value.replace('{e}', element) if isinstance(value, str) else value


def spec_of(name, more=()):
    base, element, arrays = CASES[name]
    if 'decode' in more: base = dict(base, mask={'all': ['causal', base.get('mask', 'causal')]})
    arrays = {n: dict(shape=a[0], type=a[1]) if isinstance(a, tuple) else {'shape': a} for n, a in arrays.items()}
    emit = ['forward'] + list(more)
    return {'name': name, 'dtype': 'f32'} | with_element(base, element) | {'arrays': arrays, 'shape': {'head_dim': D}, 'emit': emit}


def apart(x, rng):
    """Copies the elements into a larger array with strides. Its other elements would spoil the result."""
    shape = [2 * n + 1 for n in x.shape]
    order = rng.permutation(x.ndim)
    large = np.empty([shape[k] for k in order], x.dtype)
    large[...] = np.nan if x.dtype.kind == 'f' else 2 ** 31 - 1 if x.dtype == np.int32 else 77
    made = large.transpose(np.argsort(order))[tuple(slice(1, None, 2) for _ in x.shape)]
    made[...] = x
    return made


def layouts(x, rng):
    """Yields (name, contiguous array, array of the same elements with other strides)."""
    yield 'apart', x, apart(x, rng)
    for k in range(x.ndim):
        one = np.take(x, [0], k)
        repeated = np.broadcast_to(one, x.shape)
        yield 'axis %d repeats' % k, np.ascontiguousarray(repeated), repeated
    yield 'all axes repeat', np.full(x.shape, x.flat[0], x.dtype), np.broadcast_to(x.flat[0], x.shape)
    rows = np.zeros(x.shape[:-1] + (x.shape[-1] + 3,), x.dtype)
    rows[..., :x.shape[-1]] = x
    yield 'rows apart', x, rows[..., :x.shape[-1]]


def compare(x, more):
    kernel, given, rng = x.kernel, [x.arrays[n] for n in ('q', 'k', 'v', 'dout')], np.random.default_rng(7)
    for n, a in x.rest.items():
        for how, plain, other in layouts(a, rng):
            one, two = (outputs(kernel, x.rest | {n: of}, *given, more) for of in (plain, other))
            results, with_tables = {how: two}, kernel.tables(x.rest | {n: other})
            if n + ' tiles' in with_tables:
                results[how + ', with a table of tiles'] = outputs(kernel, with_tables, *given, more)
            if how.endswith('apart') and x.n_q < 70:
                for before in False, True:
                    place = partial(at_a_fence, before=before)
                    fenced = {m: place(other if m == n else of) for m, of in x.rest.items()}
                    at = '%s, at a fence %s' % (how, 'before' if before else 'after')
                    results[at] = outputs(kernel, fenced, *given, more, place)
            x.made.calls += 1 + len(results)
            for by, of in results.items():
                for what in one:
                    check(np.array_equal(one[what], of[what], equal_nan=True), '%s: other bits of %s' % (by, what))


def refused(x):
    """A kernel refuses strides and arrays before it reads an element."""
    a, c, memory = x.arrays['a'], x.arrays['c'], np.zeros(4 * x.arrays['a'].size + 8, np.uint8)
    large = np.lib.stride_tricks.as_strided
    for what, error, given in (('a negative stride', -1, {'a': a[:, ::-1]}), ('a negative stride of integers', -1, {'c': c[::-1]}),
                               ('an overflow', -5, {'a': large(a, a.shape, (2 ** 62, 4))}),
                               ('an overflow of a sum', -5, {'c': large(c, c.shape, (2 ** 61, 2 ** 61 // 16))}),
                               ('an array that is not aligned', -6, {'a': memory[1:1 + 4 * a.size].view(np.float32).reshape(a.shape)})):
        fails(x.but(**given), error, what)
    for name in 'ac': fails(x.but(**{name: None}), -3, 'NULL')
    extreme = np.where(np.arange(c.size).reshape(c.shape) % 2, 2 ** 31 - 1, -2 ** 31).astype(np.int32)
    check(np.isfinite(x.but(c=extreme).out).all(), 'indices of 32 bits are not limited')


def shared(folder, suite):
    """An output that is another array of the call is an error, in forward, backward and extend. Nothing is written."""
    spec = {'name': 'shared', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': D},
            'emit': ['forward', 'backward', 'decode']}
    (_, kernel), rng = kernel_of(folder, suite, spec, 'generic', *usual(1)), np.random.default_rng(1)
    x = {n: rng.standard_normal((B, H, 9, D)).astype(np.float32)
         for n in ('q', 'k', 'v', 'out', 'dout', 'dq', 'dk', 'dv')}
    state, work = State(kernel, {}, B, H, H, 9), np.zeros(1 << 22, np.uint8)
    work, problem = work[-work.ctypes.data % 64:], Problem(B, H, H, 9, 9, threads=1, capacity=9)
    calls = {'forward': (('q', 'k', 'v', 'out'), 1, ()), 'extend': (('q', 'k', 'v', 'out'), 1, (state.block.ctypes.data,)),
             'backward': (('q', 'k', 'v', 'out', 'dout', 'dq', 'dk', 'dv'), 3, (None,))}
    for entry, (names, outputs_of, more) in calls.items():
        call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * (3 + len(names) + len(more)))(getattr(kernel.about, entry))
        for output in names[-outputs_of:]:
            for other in set(names) - {output}:
                given = x | {output: x[other]}
                before = {n: a.copy() for n, a in x.items()}
                error = call(ctypes.byref(problem), None, *(given[n].ctypes.data for n in names), *more, work.ctypes.data)
                check(error == -2, '%s with %s = %s returned %d' % (entry, output, other, error))
                check(all(np.array_equal(before[n], x[n]) for n in x), '%s with %s = %s wrote' % (entry, output, other))
        error = call(ctypes.byref(problem), None, *(x[n].ctypes.data for n in names), *more, work.ctypes.data)
        check(error == 0, '%s returned %d' % (entry, error))


def at_a_fence(x, before=False):
    """Copies an array, with its strides, to the end of a page, or to the beginning of a page if `before` is true. Reading
    on the other side of this end is a fault. Bytes between the elements would spoil the result."""
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
    span = x.itemsize + sum(abs(stride) * (n - 1) for stride, n in zip(x.strides, x.shape)) if x.size else 0
    size = (span + page - 1) // page * page
    memory = mmap.mmap(-1, size + page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fence = address if before else address + size
    bytes_of = np.frombuffer(memory, np.uint8)
    bytes_of[...] = 0xff
    first = page if before else size - span
    made = np.lib.stride_tricks.as_strided(bytes_of[first:first + x.itemsize].view(x.dtype) if x.size else x, x.shape, x.strides)
    made[...] = x
    check(libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0, 'mprotect failed')
    FENCED.append(memory)
    return made


FENCED = []   # memory with a page without access, which must stay mapped


def hostile(folder, suite):
    """Huge, negative and NaN subscripts read the elements at the ends, and nothing outside the arrays."""
    element = 'a[h][(int)(log(j - 5) * 1e30)] + a[h + y[b][j]][i * y[b][i]] + x[b][(i - j) * 1000000007]'
    spec = {'name': 'hostile', 'similarity': {'softmax': {'modify': 's + (%s) / 8' % element}}, 'shape': {'head_dim': D},
            'mask': {'expr': 'z[row / 8 + y[b][j]][j / 8 - y[b][j]] || i == j'},
            'arrays': {'a': {'shape': ['H', 7]}, 'x': {'shape': ['B', 'Nk']}, 'y': {'shape': ['B', 'Nk'], 'type': 'int'},
                       'z': {'shape': ['Nq / 8', 'Nk / 8'], 'type': 'bool'}}}
    (_, kernel), rng, n = kernel_of(folder, suite, spec, best_target(), *usual(1)), np.random.default_rng(5), 37
    q, k, v = (rng.standard_normal((B, heads, n, D)).astype(np.float32) for heads in (H, G, G))
    P = {'a': rng.standard_normal((H, 7)).astype(np.float32), 'z': rng.integers(0, 2, (5, 5)).astype(np.uint8),
         'x': np.full((B, n), np.nan, np.float32),
         'y': rng.choice(np.array([-2 ** 31, 2 ** 31 - 1, -1, 0, 6], np.int32), (B, n))}
    P['x'][:, [0, -1]] = 0, 1   # The subscripts of x are 0 or far outside, so x is read only at its ends.
    made = kernel({name: at_a_fence(x) for name, x in P.items()}, q, k, v)
    P['a'] = np.zeros_like(P['a'])
    check(made.shape == q.shape and not np.array_equal(made, kernel(P, q, k, v)), 'the table is not read')
    check(np.isfinite(made).all(), 'a subscript is not limited')


def wild(folder, suite):
    """Subscripts from real arrays with NaN, infinity and huge numbers read what definitions.py reads, in forward,
    backward and extend. Nothing outside the arrays is read."""
    more, n = ['backward', 'decode'], 37
    element = 'a[h][(int)(x[b][j] * 2 - w[h])] + y[(int)x[b][i]][3] + y[b][(int)(w[h] * (i - j))] * 0.5 + a[h][(int)floor(w[H - 1 - h])]'
    spec = {'name': 'wild', 'similarity': {'softmax': {'modify': 's + (%s) / 8' % element}}, 'shape': {'head_dim': D},
            'mask': {'all': ['causal', {'expr': 'z[h][(int)(x[b][j] * 3)] || i == j'}]}, 'emit': ['forward', *more],
            'arrays': {'a': {'shape': ['H', 7]}, 'x': {'shape': ['B', 'Nk']}, 'w': {'shape': ['H']},
                       'y': {'shape': ['B', 5], 'type': 'int'}, 'z': {'shape': ['H', 9], 'type': 'bool'}}}
    (loaded, kernel), rng = kernel_of(folder, suite, spec, best_target(), *usual(1)), np.random.default_rng(5)
    reals = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 2.0 ** 63, -2.0 ** 63, 2.0 ** 31, -1e-40, -0.0, 1.5, 2.25, -0.5, 3], np.float32)
    q, k, v, dout = (rng.standard_normal((B, heads, n, D)).astype(np.float32) for heads in (H, G, G, H))
    for w in reals[:4], reals[4:8], reals[8:12]:
        P = {'a': rng.standard_normal((H, 7)).astype(np.float32), 'x': rng.choice(reals, (B, n)), 'w': w,
             'y': rng.integers(-5, 5, (B, 5)).astype(np.int32), 'z': rng.integers(0, 2, (H, 9)).astype(np.uint8)}
        for before in False, True:
            place = lambda x: at_a_fence(x, before)
            made = outputs(kernel, {name: place(x) for name, x in P.items()}, q, k, v, dout, more, place)
            with np.errstate(invalid='ignore'):
                # doubles, as the kernel's: 2 x - w of infinite floats is another number
                wanted = definitions.attend(loaded, {n: x.astype(float) if x.dtype.kind == 'f' else x for n, x in P.items()},
                                            *(x.astype(float) for x in (q, k, v)))
            for name in 'out', 'extended':
                off = np.abs(made[name] - wanted).max()
                check(off < 1e-5, '%s is off by %.3g' % (name, off))
            check(not made['dx'].any() and not made['dw'].any(), 'a subscript has a gradient: %s %s' % (made['dx'], made['dw']))
            check(all(np.isfinite(made[name]).all() for name in ('dq', 'dk', 'dv', 'da')) and made['da'].any(), 'gradients are wrong')


# Words that the C of kernels uses, and parts of names that it makes of an array's.
WORDS = """await_segment batch call chunk chunk0 chunk1 chunks dk_row dout_batch e e_first end first gradient group i_end
    iteration j_end k_row kv_heads length m max members min n_k n_q out_head out_row part pass_segment q_batch q_head r
    round_up rows score in_region segment segment_length synchronise t_key task tiles v_row vector work b0 g1 m0 m1 i0 i1
    j0 j1 d0 e1 r0 params at strides p lane row_sum weight ot k_tile batch_row batch_stride_0 batch_array ids ids_0
    t_0 sum lambda threads main id seen""".split()
FORMS = [(['H'], 'real', '{}[h]'), (['B', 'H', 'Nk'], 'real', '{}[b][h][j]'), ([7], 'real', '{}[j % 7]'),
         (['B', 'H'], 'int', '{}[b][h] % 5'), (['H', 33], 'real', '{}[h][i - j + 4]'), (['B', 'H', 'Nq'], 'real', '{}[b][h][row]'),
         ([], 'real', '{}'), (['B', 'Nk', 3], 'real', '{}[b][j][1]')]


def named(folder, suite, names, more):
    """A kernel whose arrays have these names, and its inputs. Other names are filled up with plain ones."""
    names = names + ['plain%d' % n for n in range(len(names), len(FORMS))]
    element = ' + '.join(form[2].format(name) for name, form in zip(names, FORMS))
    spec = {'name': 'named', 'similarity': {'softmax': {'modify': 's + (%s) / 8' % element}}, 'mask': 'causal',
            'arrays': {name: {'shape': form[0], 'type': form[1]} for name, form in zip(names, FORMS)},
            'shape': {'head_dim': D}, 'emit': ['forward', *more]}
    return *kernel_of(folder, suite, spec, 'generic', *usual(1)), names


def called(folder, suite, words):
    """Names of arrays that the emitted C uses for something else: the results are those of plain names."""
    more, results = ['backward', 'decode'], []
    for k, part in enumerate(([], words)):
        os.mkdir(folder + '/%d' % k)
        spec, kernel, names = named(folder + '/%d' % k, suite, part, more)
        rng = np.random.default_rng(3)
        definitions.make_inputs(spec, folder + '/in%d' % k, H, G, 35, 35, B, 3)
        P = definitions.read_dir(folder + '/in%d' % k)
        q, k, v = (P.pop(n) for n in 'qkv')
        P = {n: rng.standard_normal(P[n].shape).astype(P[n].dtype) for n in names}
        made = outputs(kernel, P, q, k, v, rng.standard_normal(q.shape).astype(np.float32), more)
        results.append([made.get(n, made.get('d' + n)) for n in ('out', 'extended', 'dq', 'dk', 'dv', *names)])
    for one, two in zip(*results): check(np.array_equal(one, two), 'the results are other ones')


def outputs(kernel, P, q, k, v, dout, more, place=lambda x: x):
    made = {'out': kernel(P, q, k, v)}
    if 'backward' in more: made |= kernel.gradients(P, q, k, v, dout, arrays=True)
    if 'decode' in more:
        state, at, rows = State(kernel, P, B, H, G, q.shape[2]), 0, []
        for size in (5, 1, 40, 24):
            cut = slice(at, at + size)
            if at >= q.shape[2]: break
            new = {n: place(x[(slice(None),) * axis_of_tokens(kernel, n) + (cut,)]) for n, x in P.items()
                   if axis_of_tokens(kernel, n) is not None}
            rows.append(state.extend(q[:, :, cut], k[:, :, cut], v[:, :, cut], rows=new))
            at += size
        made['extended'] = np.concatenate(rows, 2)
    return made


def axis_of_tokens(kernel, name):
    """Returns the axis of keys of an array, or None."""
    for n in range(kernel.about.params):
        p = kernel.about.param[n]
        if p.name.decode() == name and -5 in list(p.shape[:p.rank]): return list(p.shape[:p.rank]).index(-5)
    return None


def tangents(folder, suite):
    """Tangents with strides, of which one element is NaN: the rows that see it are NaN, the others have the same bits."""
    name, at = 'q.tangent k.tangent v.tangent a.tangent'.split(), 39
    spec = spec_of('table', ['jvp']) | {'mask': 'causal', 'algorithm': 'quadratic', 'emit': ['jvp']}
    count = 0
    for target in dict.fromkeys((best_target(), 'generic')):
        (_, kernel), rng = kernel_of(folder, suite, spec, target, *usual(1)), np.random.default_rng(11)
        for n_q, n_k in ((70, 70), (3, 70), (1, 70)):
            q, *others = (rng.standard_normal((B, heads, n, D)).astype(np.float32) for heads, n in ((H, n_q), (G, n_k), (G, n_k)))
            P = {n: rng.standard_normal(x.shape).astype(np.float32) for n, x in zip(name, (q, *others))}
            P |= {n: rng.standard_normal((H, 11)).astype(np.float32) for n in ('a', name[3])}
            for n in P:
                for how, plain, other in layouts(P[n], rng):
                    one = kernel(P | {n: plain}, q, *others)
                    check(np.isfinite(one).all(), 'the tangent is not finite')
                    results = {how: kernel(P | {n: other}, q, *others)}
                    for before in (False, True) if how.endswith('apart') or 'repeat' in how else ():
                        results['%s, at a fence' % how] = kernel(P | {n: at_a_fence(other, before)}, q, *others)
                    for by, two in results.items(): check(np.array_equal(one, two), '%s: %s of n_q %d has other bits' % (by, n, n_q))
                    count += 1
            one = kernel(P, q, *others)
            for how, spoilt in ('contiguous', P['v.tangent'].copy()), ('apart', apart(P['v.tangent'], rng)):
                spoilt[..., at, :] = np.nan
                two, seen = kernel(P | {'v.tangent': spoilt}, q, *others), np.arange(n_q) + n_k - n_q >= at
                check(np.array_equal(one[:, :, ~seen], two[:, :, ~seen]), '%s: NaN reaches rows that do not see it' % how)
                check(np.isnan(two[:, :, seen]).all(), '%s: a row that sees NaN is finite' % how)
    return '%d layouts' % count


def cases():
    def row(case, name, n, more=(), checks=None, lengths=((20, 20), (3, 33), (70, 70))):
        spec = spec_of(name, more)
        shapes = [(3, (B, H, H if 'delta' in spec else G, n_q, n_k)) for n_q, n_k in lengths]
        return Row(case, spec, shapes, checks or [partial(compare, more=more)], best_target(), usual(n), order='any')
    yield row('refused', 'bucket', 1, checks=[refused], lengths=[(20, 20)])
    for function in tangents, shared, hostile, wild: yield function.__name__, function
    for at in range(0, len(WORDS), len(FORMS)):
        words = WORDS[at:at + len(FORMS)]
        yield 'names/%s-%s' % (words[0], words[-1]), called, words
    for n, name in enumerate(CASES):   # the kernels with gradients have `forward`, too
        if name in NO_GRADIENTS or n % 3 == 0 or WHOLE: yield row('forward/' + name, name, n)
    for n, name in enumerate(CASES):
        if name not in NO_GRADIENTS: yield row('backward/' + name, name, n + 3, ['backward'])
    for n, name in enumerate(DECODED):
        yield row('decode/' + name, name, n + 5, ['decode'], lengths=((20, 20), (3, 3), (70, 70)))
