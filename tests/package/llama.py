#!/usr/bin/python3
"""Builds examples/llama, loads it as a backend of ggml, and compares its operations with NumPy and with ggml's CPU
backend, also for all shapes of ggml's own tests of backends (ggml_grid.py). The headers and libraries of ggml are those
of the folder ATTNC_GGML (include/ggml.h, lib/libggml.so), or of the Python package libggml-python, which is installed
into build-python/ggml."""
import collections
import glob
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')   # several would spin, for small products

import numpy as np

import ggml
import ggml_grid
import installed
from suite import ROOT, Failure, Skip, Suite, cached, check, execute

EPSILON = 2e-6                                   # our error, relative to the largest element
LOOSE = 5e-2                                     # that of ggml, which sums in f16 and rounds queries to 8 bits
FLASH = (('f16', 64), ('q8_0', 64), ('q4_0', 64), ('f32', 576))
# the types of keys for which kernels are compiled, for each size of heads, and the sizes with caps
SIZES = {64: ggml_grid.OUR_TYPES, 80: ('f16',), 96: ('f16', 'q8_0', 'q4_0'), 128: ('f16',), 192: ('f16',), 256: ('f16',),
         576: ('f32', 'f16')}
CAPPED = 64, 128
LEFT_SIZE = 64                                   # the backend that is asked for shapes that ggml computes itself


def folder_of_ggml():
    """Returns the folder of ggml. Raises Skip if there is none."""
    if 'ATTNC_GGML' in os.environ: return os.environ['ATTNC_GGML']
    place = os.path.join(ROOT, 'build-python', 'ggml')
    pattern = os.path.join(place, 'lib', 'python*', 'site-packages', 'libggml')
    if not glob.glob(pattern):
        for command in ([sys.executable, '-m', 'venv', place],
                        [os.path.join(place, 'bin', 'pip'), 'install', '--quiet', '--no-deps', 'libggml-python']):
            try:
                done = execute(command)
            except OSError as error:
                raise Skip('no ggml: %s' % error)
            if done.returncode: raise Skip('no ggml: %s' % ' '.join((done.stdout + done.stderr).split())[-200:])
    return glob.glob(pattern)[0]


class Backends:
    """The CPU backend of ggml, and ours, one for each size of heads, which is built when it is first needed."""

    def __init__(self, suite, folder):
        self.suite, self.folder, self.place = suite, folder, None
        self.ggml = ggml.Ggml(folder)
        self.cpu = self.ggml('ggml_backend_cpu_init', ggml.P)()
        self.ggml('ggml_backend_cpu_set_n_threads', None, ggml.P, ggml.I)(self.cpu, 1)   # several would spin
        self.made = {}

    def ours(self, size):
        """Returns the backend with kernels for heads of this size, and its device."""
        if size not in self.made:
            self.made[size] = None, None
            self.made[size] = self.ggml.backend(self.build(size))
        check(self.made[size][0], 'ggml does not load the backend')
        return self.made[size]

    def build(self, size):
        if self.place is None:
            error = installed.install(self.suite)
            check(not error, error)
            self.place = installed.Place(self.suite, self.suite.folder, 'user')
        build = self.place.path('build-%d' % size)
        self.place.run(['meson', 'setup', build, os.path.join(ROOT, 'examples', 'llama'), '-Dggml=' + self.folder,
                        '-Dhead_dims=%d' % size, '-Dtargets=native', '-Doptimization=0', '-Dtypes=' + ','.join(SIZES[size]),
                        *['-Dmasks=range,bias'] * (size not in CAPPED)],
                       env={'CC': cached('clang')})
        self.place.run(['ninja', '-C', build], timeout=600)
        return os.path.join(build, 'libggml-attnc.so')

    def supports(self, size, result):
        return self.ggml('ggml_backend_dev_supports_op', ggml.ctypes.c_bool, ggml.P, ggml.P)(self.ours(size)[1], result)

    def compare(self, size, graph, result, expected, epsilon, queries=None):
        """Compares the result of both backends with the expected one, which may be that of some queries, and with each other.
        Returns the errors, relative to the largest element, and the mean square of the difference."""
        check(self.supports(size, result), 'the backend does not support the operation')
        answers = graph.compute(result, [self.ours(size)[0], self.cpu])
        graph.free()
        scale = np.abs(expected).max() + 1e-30
        errors = []
        for (status, out), limit, who in zip(answers, (epsilon, LOOSE), ('ours', 'ggml')):
            check(status == 0, '%s: status %d' % (who, status))
            if queries is not None: out = out.reshape(len(expected), -1, *expected.shape[2:])[:, queries].ravel()
            error = float(np.abs(out - expected.ravel()).max() / scale)
            check(error <= limit, '%s: error %.2e of %.1e' % (who, error, limit))
            errors.append(error)
        (_, out), (_, theirs) = answers
        square = float(np.square(out - theirs).mean() / np.square(theirs).mean())
        check(square <= ggml_grid.NMSE, 'the mean square of the difference is %.1e of %.1e' % (square, ggml_grid.NMSE))
        return [*errors, square]


def told(errors):
    return 'largest errors: %.1e; ggml %.1e; mean square of the difference: %.1e' % tuple(np.max(errors, 0))


def attention(q, k, v, mask, scale, max_bias, cap, sinks):
    """Returns [sequences, n_q, heads, value_dim] in float64. q, k, v: [sequences, heads, rows, size]."""
    sequences, heads, n_q, _ = q.shape
    k, v = k.astype(np.float64), v.astype(np.float64)
    logits = q.astype(np.float64).reshape(sequences, k.shape[1], -1, q.shape[3]) @ k.swapaxes(2, 3) * scale
    logits = logits.reshape(sequences, heads, n_q, -1)
    if cap: logits = cap * np.tanh(logits / cap)
    if mask is not None:
        power = 1 << int(np.floor(np.log2(heads)))
        slope = [2.0 ** (-max_bias / power * (h + 1)) if h < power else
                 2.0 ** (-max_bias / 2 / power * (2 * (h - power) + 1)) for h in range(heads)]
        logits = logits + (np.array(slope)[:, None, None] if max_bias else 1) * mask.astype(np.float64)
    top = logits.max(-1, keepdims=True)
    if sinks is not None: top = np.maximum(top, sinks[:, None, None])
    top[~np.isfinite(top)] = 0
    weight = np.exp(logits - top)
    total = weight.sum(-1, keepdims=True)
    if sinks is not None: total = total + np.exp(sinks[:, None, None] - top)
    weight = np.divide(weight, total, where=total > 0, out=0 * weight).reshape(sequences, k.shape[1], -1, k.shape[2])
    return (weight @ v).reshape(sequences, heads, n_q, -1).swapaxes(1, 2)


def draw_mask(rng, kind, sequences, heads, n_q, n_k):
    i, j = np.arange(n_q)[:, None] + n_k - n_q, np.arange(n_k)
    if kind is None: return None
    seen = j <= i
    if kind == 'window': seen = seen & (i - j < 40)
    if kind == 'scattered': seen = rng.random((sequences, 1, n_q, n_k)) < 0.5
    if kind == 'by-head': seen = rng.random((1, heads, n_q, n_k)) < 0.5
    if kind.startswith('holes'):
        seen = rng.random((sequences, heads if kind == 'holes-by-head' else 1, n_q, n_k)) < 0.5
        seen[..., HIDDEN] = False                # from every query, so their keys and values may be anything
        seen[..., 2::5, :] = False               # rows that see no key
    mask = np.where(seen.reshape((1,) * (4 - seen.ndim) + seen.shape), 0, -np.inf)
    if kind == 'holes-numbers': mask = np.where(mask == 0, rng.standard_normal(mask.shape), mask)
    if kind == 'holes-numbers': mask[..., 1::5, ::2] = np.where(mask[..., 1::5, ::2] > -np.inf, -65504, -np.inf)
    if kind == 'alibi' or kind == 'holes-alibi': mask = np.where(mask == 0, -np.abs(i - j), -np.inf)
    if kind == 'unseen': mask[..., ::3, :] = -np.inf
    return mask.astype(np.float16)


PLAIN = ((None, 0, False, (1, 4, 4, 1, 1)), ('causal', 0, False, (1, 6, 2, 150, 150)),
         ('causal', 0, True, (2, 4, 1, 1, 333)), ('window', 5.0, False, (1, 2, 1, 70, 200)),
         ('alibi', 0, False, (1, 12, 4, 33, 100)), ('scattered', 0, True, (2, 4, 2, 19, 260)),
         ('by-head', 3.0, False, (1, 2, 2, 17, 65)), ('unseen', 0, False, (2, 4, 2, 4, 40)),
         ('alibi', 9.0, False, (1, 3, 3, 5, 500)))
HIDDEN = slice(3, None, 7)                       # keys that masks with holes hide
# kinds of masks, caps, sinks, shapes, and the columns and rows that a mask has more than the problem
HOSTILE = (('holes', 0, False, (2, 4, 2, 19, 260), 0, 0), ('holes', 0, True, (1, 4, 2, 6, 65), 0, 58),
           ('holes', 5.0, False, (2, 2, 1, 40, 130), 0, 24), ('holes', 0, False, (3, 4, 1, 1, 300), 0, 31),
           ('holes-by-head', 0, False, (1, 4, 2, 33, 100), 0, 0), ('holes-by-head', 3.0, True, (2, 2, 2, 7, 90), 38, 57),
           ('holes-numbers', 0, False, (2, 4, 2, 21, 140), 0, 0), ('holes-numbers', 7.0, False, (1, 4, 1, 9, 70), 5, 3),
           ('holes-alibi', 0, False, (1, 12, 4, 33, 100), 0, 0), ('holes-alibi', 9.0, True, (2, 3, 3, 5, 200), 56, 0),
           ('causal', 0, False, (1, 6, 2, 150, 150), 90, 10), ('scattered', 0, False, (1, 2, 1, 3, 64), 200000, 1),
           ('unseen', 0, False, (2, 4, 2, 16, 40), 24, 16))


def flash(backends, kind, size, cases=PLAIN):
    """Draws some problems for keys of one type and size. Hidden keys and values are infinite or NaN, if they can be."""
    rng = np.random.default_rng(size)
    said = []
    value = 512 if size == 576 else size
    for mask_kind, cap, sink, shape, *wider in cases:
        sequences, heads, kv_heads, n_q, n_k = shape
        if size == 576: kv_heads, cap = 1, 0   # MLA
        q = rng.standard_normal((sequences, heads, n_q, size))
        g = ggml.Graph(backends.ggml, backends.cpu)
        k, v = (g.values(rng.standard_normal((sequences, kv_heads, n_k, n)), kind) for n in (size, value))
        mask = draw_mask(rng, mask_kind, sequences, heads, n_q, n_k)
        sinks = rng.standard_normal(heads) * 2 if sink else None
        max_bias, scale = 8.0 if mask_kind and 'alibi' in mask_kind else 0.0, size ** -0.5
        expected = attention(q.astype(np.float32), k, v, mask, scale, max_bias, cap, sinks)
        if wider and mask_kind.startswith('holes'):
            for x, filled in (k, (np.nan, np.inf, -np.inf)), (v, (np.inf, np.nan)):
                for n, one in enumerate(filled): x[:, :, HIDDEN][:, :, n::len(filled)] = one
        if wider:
            more = rng.standard_normal((*mask.shape[:2], n_q + wider[1], n_k + wider[0])).astype(np.float16)
            more[..., :n_q, :n_k] = mask
            mask = more
        shared = size == 576 and n_q != 17   # values are the beginning of the keys
        if shared:
            v = k[..., :value]
            expected = attention(q.astype(np.float32), k, v, mask, scale, max_bias, cap, sinks)

        # Rows of all heads of a token are neighbours, as in the caches of llama.cpp.
        tq, tk = (g.permute(g.tensor(x.transpose(0, 2, 1, 3), t), 0, 2, 1, 3) for x, t in ((q, 'f32'), (k, kind)))
        width = {'f32': 4}.get(kind, 2)
        tv = (g.view(tk, (value, n_k, kv_heads, sequences),
                     (size * kv_heads * width, size * width, size * kv_heads * n_k * width)) if shared else
              g.permute(g.tensor(v.transpose(0, 2, 1, 3), kind), 0, 2, 1, 3))
        tm = g.tensor(mask, 'f16') if mask is not None else None
        P, F = ggml.P, ggml.F
        out = backends.ggml('ggml_flash_attn_ext', P, P, P, P, P, P, F, F, F)(
            g.context, tq, tk, tv, tm, scale, max_bias, cap)
        if sink: backends.ggml('ggml_flash_attn_ext_add_sinks', None, P, P)(out, g.tensor(sinks))
        try:
            said.append(backends.compare(size, g, out, expected, EPSILON))
        except Exception as error:
            raise type(error)('%s, cap %g, %s: %s' % (mask_kind, cap, shape, error))
    return told(said)


def flash_grid(backends, shapes):
    """Some of ggml's own shapes. Says how many the backend computes, and how many it leaves to ggml."""
    rng, errors, left = np.random.default_rng(7), [], collections.Counter()
    for shape in shapes:
        why = ggml_grid.why_left(shape)
        try:
            made = flash_shape(backends, rng, shape, why)
        except Exception as error:
            raise type(error)('%s: %s' % (shape, error))
        left[why] += why is not None
        if not why: errors.append(made)
    return said_of_grid(errors, left)


def said_of_grid(errors, left):
    computed = ['%d computed, %s' % (len(errors), told(errors))] if errors else []
    return '; '.join(computed + ['%d left to ggml: %s' % (count, why) for why, count in left.items() if why])


def flash_shape(backends, rng, shape, why):
    """Compares one shape, unless there is a reason `why` ggml has to compute it."""
    g, P, F = ggml.Graph(backends.ggml, backends.cpu), ggml.P, ggml.F
    size, value = (ggml_grid.stored_size(*each) for each in ((shape.size, shape.kind), (shape.value, shape.value_kind)))
    heads, keys, scale = shape.heads * shape.group, shape.keys, shape.size ** -0.5

    def rows(count, of_heads, width, kind, wider=2):
        """Returns a tensor [sequences, of_heads, count, width], its elements and its strides. It is the first part of a tensor
        that is `wider` times as large."""
        outer, inner = (count, of_heads) if shape.permuted else (of_heads, count)
        sizes = shape.sequences, outer, inner * wider, width
        array = np.broadcast_to(np.float32(0), sizes) if why else ggml_grid.numbers(rng, -1, 1, *sizes)
        row = backends.ggml('ggml_row_size', ggml.ctypes.c_size_t, ggml.I, ggml.L)(ggml.TYPES[kind], width)
        near, far = row, inner * wider * row
        strides = (far, near, outer * far) if shape.permuted else (near, far, outer * far)
        x = array if why else g.values(array, kind)[:, :, :inner]
        if shape.permuted: x = x.swapaxes(1, 2)
        return g.view(g.tensor(array, kind), (width, count, of_heads, shape.sequences), strides), x, strides

    tq, q, _ = rows(shape.queries, heads, size, 'f32', 1)
    tk, k, strides = rows(keys, shape.heads, size, shape.kind)
    if (size, value) == (576, 512):   # values are the beginning of the keys
        tv, v = g.view(tk, (value, keys, shape.heads, shape.sequences), strides), k[..., :value]
    else:
        tv, v, _ = rows(keys, shape.heads, value, shape.value_kind)
    mask = ggml_grid.draw_mask(rng, shape.sequences, shape.queries, keys) if shape.mask else None
    sinks = rng.uniform(-10, 10, heads) if shape.sinks else None
    out = backends.ggml('ggml_flash_attn_ext', P, P, P, P, P, P, F, F, F)(
        g.context, tq, tk, tv, g.tensor(mask, 'f16') if shape.mask else None, scale, shape.bias, shape.cap)
    if shape.sinks: backends.ggml('ggml_flash_attn_ext_add_sinks', None, P, P)(out, g.tensor(sinks))
    backends.ggml('ggml_flash_attn_ext_set_prec', None, P, ggml.I)(out, 10 * shape.precise)
    if not why:   # ggml computes all queries, NumPy some of them, because float64 is slow
        some = rng.permutation(shape.queries)[:8]
        expected = attention(q[:, :, some], k, v, mask[:, :, some] if shape.mask else None, scale, shape.bias, shape.cap, sinks)
        return backends.compare(size, g, out, expected, EPSILON, some)
    check(not backends.supports(LEFT_SIZE, out), 'the backend computes it; ggml_grid.py says that it does not')
    return g.free()


def delta_shape(backends, rng, shape, why=None, low=-20, power=1):
    """The gated delta rule for one row of ggml_grid.DELTA. The states follow the results, transposed."""
    groups, size, n, sequences, repeats, snapshots, form = shape + (1, 1, '')[len(shape) - 4:]
    heads = groups * repeats
    q, k = (rng.standard_normal((sequences, n, groups, size)) for _ in range(2))
    q, k = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k))
    v = rng.uniform(-0.3, 5, (sequences, n, heads, size))
    gate = low * rng.random((sequences, n, heads, size if 'e' in form else 1)) ** power
    rate = rng.random((sequences, n, heads, 1))
    given = rng.uniform(-1, 1, (sequences, heads, size, size))
    g = ggml.Graph(backends.ggml, backends.cpu)
    three = [g.permute(g.tensor(x.swapaxes(1, 2)), 0, 2, 1, 3) if 'p' in form else g.tensor(x) for x in (q, k, v)]
    out = backends.ggml('ggml_gated_delta_net', ggml.P, *[ggml.P] * 7, ggml.L)(
        g.context, *three, *(g.tensor(x) for x in (gate, rate, given)), snapshots)
    if why:
        check(not backends.supports(LEFT_SIZE, out), 'the backend computes it; ggml_grid.py says that it does not')
        return g.free()
    state, rows = given.swapaxes(-1, -2).copy(), []
    for t in range(n):
        qt, kt = (np.tile(x[:, t], (1, repeats, 1)) for x in (q, k))   # head h uses h % groups
        state *= np.exp(gate[:, t])[..., None]
        corrected = rate[:, t] * (v[:, t] - np.einsum('bhde,bhd->bhe', state, kt))
        state += np.einsum('bhd,bhe->bhde', kt, corrected)
        rows.append(np.einsum('bhde,bhd->bhe', state, qt) * size ** -0.5)
    expected = np.concatenate([np.stack(rows, 1).ravel(), state.swapaxes(-1, -2).ravel()])
    return backends.compare(size, g, out, expected, EPSILON)


def delta(backends, channels):
    """The gated delta rule, with fewer key heads than heads, and decays that are slow."""
    rng = np.random.default_rng(3)
    return told([delta_shape(backends, rng, (2, 64, n, 2, 3, 1, 'e' * channels), low=-1, power=4) for n in (96, 109, 163)])


def delta_grid(backends):
    rng, errors, left = np.random.default_rng(8), [], collections.Counter()
    for shape in ggml_grid.DELTA:
        why = ggml_grid.why_left_delta(*shape)
        try:
            made = delta_shape(backends, rng, shape, why)
        except Exception as error:
            raise type(error)('%s: %s' % (shape, error))
        left[why] += why is not None
        if not why: errors.append(made)
    return said_of_grid(errors, left)


def scan(backends):
    """The scan of Mamba-2. `ids` says which state each sequence continues."""
    rng, size, (sequences, heads, groups) = np.random.default_rng(4), 64, (2, 6, 2)
    n, states = 330, 5
    x = rng.standard_normal((sequences, n, heads, 64))
    step = rng.standard_normal((sequences, n, heads))
    decay = -rng.random((heads, 1)) * 3
    b, c = (rng.standard_normal((sequences, n, groups, size)) for _ in range(2))
    given = rng.standard_normal((states, heads, 64, size))
    ids = np.array([4, 1], np.int32)
    state, rows = given[ids].copy(), []
    for t in range(n):
        soft = np.log1p(np.exp(step[:, t]))
        bt, ct = (np.repeat(y[:, t], heads // groups, 1) for y in (b, c))
        state = (state * np.exp(soft * decay[:, 0])[..., None, None] +
                 np.einsum('bhe,bhd->bhed', x[:, t] * soft[..., None], bt))
        rows.append(np.einsum('bhed,bhd->bhe', state, ct))
    expected = np.concatenate([np.stack(rows, 1).ravel(), state.ravel()])
    g = ggml.Graph(backends.ggml, backends.cpu)
    out = backends.ggml('ggml_ssm_scan', ggml.P, *[ggml.P] * 8, ggml.L)(
        g.context, *(g.tensor(y) for y in (given, x, step, decay, b, c)), g.tensor(ids, 'i32'), 1)
    return told([backends.compare(64, g, out, expected, EPSILON)])


class Lazy:
    """The backends, which the first case loads. Cases run one after another."""

    def __init__(self, suite):
        self.suite, self.made = suite, None

    def __call__(self):
        if self.made is None:
            try:
                self.made = Backends(self.suite, folder_of_ggml())
            except (Skip, Failure) as why:
                self.made = why
        if isinstance(self.made, Exception): raise self.made
        return self.made


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.options.jobs = 1
    backends = Lazy(suite)
    for kind, size in FLASH:
        suite.case('flash-%s-%d' % (kind, size), lambda folder, *which: flash(backends(), *which), kind, size)
    suite.case('hidden', lambda folder: flash(backends(), 'f16', 64, HOSTILE))
    suite.case('delta', lambda folder: delta(backends(), False))
    suite.case('delta-channels', lambda folder: delta(backends(), True))
    suite.case('scan', lambda folder: scan(backends()))
    grid = collections.defaultdict(list)
    for shape in ggml_grid.flash_shapes():
        kinds = shape.kind if shape.kind == shape.value_kind else 'mixed'
        grid['grid-%s-%dx%d' % (kinds, shape.size, shape.value) if kinds != 'mixed' else 'grid-mixed'].append(shape)
    for name, shapes in grid.items():
        suite.case(name, lambda folder, shapes: flash_grid(backends(), shapes), shapes)
    suite.case('grid-delta', lambda folder: delta_grid(backends()))
    suite.case('grid-left', lambda folder: ggml_grid.check_left())
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
