"""Calls the kernel of a random spec in every way that it allows, and compares the results with definitions.py.

- forward: threads, shared heads of q and k, tables of tiles, positions of queries, statistics, weights, merged results
- backward: all gradients, some of them, with and without saved values, those of parts of the tokens
- extend: random pieces, in one row of memory, with pages, after truncation, folded states, kept paths"""
import ctypes
import itertools
import mmap
import re

import numpy as np

import answers
import backward
import decode
import definitions
import outer_sums
import random_specs
from kernel import Problem
from random_specs import CANCELS, CANCELLED, MAX_F16, Wrong, grows, times
from suite import Failure, Skip

MOST_PAIRS = 12000   # the maximum number of pairs of query and key, of all heads, for gradient_definitions.py
CAPACITY_MORE = 24   # the tokens that a kept path and a truncation add
EFOLD, ELENGTH = -15, -14
N_Q, N_K = -4, -5   # sizes of axes of arrays
LIBC = ctypes.CDLL(None)


def fenced(x):
    """Returns a copy of an array whose last byte is before a page that cannot be read or written."""
    size, page = -(-max(1, x.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.PAGESIZE
    whole = np.frombuffer(mmap.mmap(-1, size + page), np.uint8)
    LIBC.mprotect(ctypes.c_void_p(whole.ctypes.data + size), ctypes.c_size_t(page), 0)
    copy = whole[size - x.nbytes:size].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


def memory(size):
    """Returns `size` bytes that are aligned to 64 and not zero."""
    whole = np.full(size + 128, 0xFF, np.uint8)
    return whole[-whole.ctypes.data % 64:][:size]


class Drawn(decode.Grown):
    """A kernel, a call that was drawn for it, and the expected output."""

    def __init__(self, suite, d, folder, path, kernel, linear):
        self.suite, self.d, self.folder, self.path, self.kernel, self.linear = suite, d, folder, path, kernel, linear
        self.spec = {'dtype': 'f32'} | definitions.load(path)
        self.heads, self.batch, self.n = (d['heads'], d['kv_heads']), d['batch'], d['n_k']
        self.rng, into = np.random.default_rng(d['seed']), folder + '/in'
        self.seed = 0
        if self.spec.get('dropout') and self.rng.random() < 0.5:   # the seed of the call, in place of the spec's
            self.seed = self.spec['seed'] = int(self.rng.integers(1, 2 ** 63))
        with np.errstate(all='ignore'):
            answers.make_inputs(self.spec, into, (*self.heads, d['n_q'], d['n_k'], self.batch), d['seed'], d['ids'])
            if d['seed'] % 3 == 1 and not grows(self.spec): random_specs.place(d, into, linear)
            arrays = definitions.read_dir(into)
            self.answer = self.expected(self.spec, arrays)
        self.P = dict(arrays)
        self.q, self.k, self.v = (self.P.pop(x) for x in 'qkv')
        shapes = {name: a['shape'] for name, a in self.spec.get('arrays', {}).items()}
        self.of_tokens = {name: ('B' in shape, next(n for n, x in enumerate(shape) if x in ('Nk', 'Nq')))
                          for name, shape in shapes.items() if 'Nk' in shape or 'Nq' in shape}
        if 'document' in self.P: self.of_tokens['document'] = True, 1
        self.packs = True
        self.shares_rows = not all(batch for batch, _ in self.of_tokens.values())

    @staticmethod
    def expected(spec, arrays):
        try:
            return answers.Answer(spec, arrays)
        except Failure as failure:   # numbers overflow
            raise Skip(str(failure))
        except SystemExit as refused:
            raise Wrong('definitions.py', refused)

    def right(self, out, what):
        try:
            random_specs.right(self.suite, self.d, self.folder, self.path, self.answer, out, self.linear, what)
        except Wrong as wrong:
            if not self.linear or wrong.kind != what or not np.isfinite(out).all() or not self.rounds(out): raise
            raise Skip('features cancel: off by %.3g times what is allowed' % times(str(wrong)))

    def rounds(self, out):
        """Returns whether errors of a linear form are rounding errors: in f64 they are as much smaller as its numbers
        are more exact, and the quadratic form is right. Such features cancel in a small weight."""
        if self.spec['dtype'] == 'f64': return False
        wider = {key: x for key, x in self.spec.items() if key not in ('storage', 'schedule')}
        if 'arrays' in wider:   # their numbers are those of 16 bits, but a kernel of f64 takes no such arrays
            wider['arrays'] = {name: {key: x for key, x in a.items() if x not in ('f16', 'bf16')}
                               for name, a in wider['arrays'].items()}
        d = self.d | {'spec': wider | {'dtype': 'f64', 'emit': ['forward']}}
        kernel = self.suite.kernel(d, self.folder + '/wider')
        expected, exact = self.answer.expected, kernel(self.P, self.q, self.k, self.v, 1)
        if np.abs(exact - expected).max() > 2.0 ** -20 * np.abs(out - expected).max(): return False
        judge = lambda numbers: self.answer.judge(numbers, 2)[0]
        return random_specs.accurate_if_quadratic(self.suite, self.d, self.folder, self.path, judge)

    # ---- forward

    def call(self, P, q, k, threads, **more):
        return self.kernel(P, q, k, self.v, threads, seed=self.seed, **more)

    def forward(self):
        d = self.d
        P = {name: fenced(x) for name, x in self.P.items()}
        statistics = None
        if self.kernel.about.statistics and self.rng.random() < 0.8:
            statistics = np.full((self.batch, self.heads[0], d['n_q']), np.nan, self.kernel.dtype)
        weights = None
        if self.kernel.about.weights and self.rng.random() < 0.8:
            kind = {'bf16': np.uint16, 'f16': np.float16}.get(self.kernel.stored, self.kernel.dtype)
            weights = np.full((self.batch, self.heads[0], d['n_q'], d['n_k']), 0x7FC1 if kind == np.uint16 else np.nan, kind)
        out = self.call(P, self.q, self.k, d['threads'], statistics=statistics, weights=weights, fence=fenced)
        self.right(out, 'numbers')
        again = self.call(self.kernel.tables(P), self.q, self.k, 1 + d['threads'] % 3)
        if again.tobytes() != out.tobytes(): raise Wrong('bits', 'other threads, tables of tiles, no statistics or no weights')
        if statistics is not None: self.check_statistics(statistics)
        if weights is not None: self.check_weights(self.kernel.as_numbers(weights))
        if self.heads[0] == self.heads[1] > 1 and not self.kernel.about.values_are_keys: self.share()
        if statistics is not None and self.merges(): self.merge()

    def merges(self):
        """Returns whether keys may be divided between two calls: no position, and no constant in a denominator."""
        spec = self.spec
        summed = spec.get('mask', 'none') == 'none' and spec.get('normalize') in ('sum', 'none')
        plain = not set(spec) & {'project', 'dropout', 'decay', 'delta'} and 'query_start' not in self.P
        named = re.search(r"\b(i|j|row|Nk|Nq|rope|bias|exact)\b", str(spec))
        wide = spec['dtype'] in ('f32', 'f64') and self.d['n_k'] > 1
        return bool(self.kernel.about.merge) and summed and plain and wide and not named

    def merge(self):
        cut, parts = int(self.rng.integers(1, self.d['n_k'])), []
        for keys in slice(0, cut), slice(cut, None):
            s = np.full((self.batch, self.heads[0], self.d['n_q']), np.nan, self.kernel.dtype)
            parts.append((self.kernel(self.P, self.q, self.k[:, :, keys], self.v[:, :, keys], 2, statistics=s), s))
        self.right(self.kernel.merge(*parts)[0], 'merge')

    def share(self):
        """Heads of q and k that are shared give the bits of repeated heads."""
        key_heads = int(self.rng.choice([n for n in range(1, self.heads[0]) if self.heads[0] % n == 0]))
        times = self.heads[0] // key_heads
        q, k = self.q[:, ::times], self.k[:, ::times]
        some = self.call(self.P, q, k, 2, key_heads=key_heads)
        if some.tobytes() != self.call(self.P, q.repeat(times, 1), k.repeat(times, 1), 2).tobytes():
            raise Wrong('shared heads', 'out has other bits with %d heads of q and k' % key_heads)

    def normed(self):
        """Returns whether a norm leaves only the signs of a row."""
        some = 'layernorm' in str(self.spec.get('prepare')) or "'learned'" in str(self.spec['similarity'])
        return some and self.spec['shape']['head_dim'] <= 2

    def expected_of(self, name):
        """Returns an output of definitions.py other than `out`, and this output for four calls with nearly the same inputs.
        Returns None if small errors of the inputs are not small errors of the output."""
        # Rotations in f64 are less exact than those of an f64 kernel.
        exact = (answers.EXACT, np.longdouble) if self.spec['dtype'] == 'f64' else (definitions, np.float64)
        def of(nudge=lambda x: x, module=exact[0], number=exact[1]):
            P = {n: nudge(x.astype(number)) if x.dtype.kind == 'f' else x for n, x in self.P.items()}
            q, k, v = (nudge(x.astype(number)) for x in (self.q, self.k, self.v))
            with np.errstate(all='ignore'): return module.attend(self.spec, P, q, k, v, **{name: True})[1]
        if self.normed() or random_specs.rounding(self.folder, self.spec['name'], self.linear): return None
        nudge = lambda x: x * (1 + self.rng.choice([-1, 1], x.shape) * 2.0 ** -24)
        return of(), lambda: [of(nudge, answers.STEPPED) for _ in range(4)]

    def check_weights(self, got):
        expected = self.expected_of('weights')
        if expected is None: return
        expected, moved = expected
        largest, unit = np.abs(expected).max(-1, keepdims=True), 2.0 ** -29 if self.spec['dtype'] == 'f64' else 1.0
        if not (largest <= {'f64': 1e30, 'f16': 6e4}.get(self.spec['dtype'], 3e38)).all(): return
        if 'weights' not in self.spec and (got[expected == 0] != 0).any(): raise Wrong('weights', 'a hidden key has a weight')
        off = np.abs(got - expected)
        least = np.abs(expected) * {'bf16': 2.0 ** -8, 'f16': 2.0 ** -11}.get(self.spec['dtype'], 0) + 6e-8 * (self.spec['dtype'] == 'f16')
        if (off <= least + 2e-6 * unit * largest).all(): return
        allowed = least + unit * (1e-5 * largest + 8 * np.max([np.abs(m - expected) for m in moved()], 0)) + 1e-37
        part = np.max(off / allowed, initial=0)
        if not part <= 1: raise Wrong('weights', 'off by %.3g times what is allowed' % part)

    def check_statistics(self, got):
        expected = self.expected_of('statistics')
        if expected is None: return
        expected, moved = expected
        # Statistics of a row with weights of 0 alone are 0, except for softmax.
        if (got == 0).any() and 'softmax' not in str(self.spec['similarity']):
            zeros = (np.abs(self.answer.expected) <= self.answer.underflow).all(-1)
            expected = np.where((got == 0) & zeros, 0, expected)
        finite, most = np.isfinite(expected), 1e30 if self.spec['dtype'] == 'f64' else 3e38
        if (np.abs(expected[finite]) > most).any(): return
        if not np.array_equal(got[~finite], expected[~finite]):
            raise Wrong('statistics', 'a row that sees no key has %s' % got[~finite][:3])
        unit = 2.0 ** -29 if self.spec['dtype'] == 'f64' else 1.0
        off, size = np.abs(got[finite] - expected[finite]), np.abs(expected[finite])
        if (off <= 2e-6 * unit * size).all(): return
        allowed = unit * (1e-5 * (1 + size) + 8 * np.max([np.abs(m - expected)[finite] for m in moved()], 0)) + 1e-37
        part = np.max(off / allowed, initial=0)
        if not part <= (CANCELS if self.linear else 1):
            raise Wrong('statistics', 'off by %.3g times what is allowed' % part)

    # ---- backward

    def gradients(self):
        """Compares gradients. Returns '', or why they were not compared."""
        spec, d = self.spec, self.d
        if self.suite.without or d['batch'] * d['heads'] * d['n_q'] * d['n_k'] > MOST_PAIRS:
            return self.suite.without or 'many pairs'
        if self.normed(): return 'a norm of two elements'
        if 'taylor1' in str(spec['similarity']) and spec['shape']['head_dim'] == 1: return 'weights of 0 and 2 alone'
        why = ''
        for seed in range(d['seed'], d['seed'] + 3):   # with one seed, weights may be almost 0
            why = self.gradients_once(seed)
            if not why: return ''
            if times(why) > CANCELS: break
        raise Wrong('gradients', why)

    def gradients_once(self, seed):
        spec, d = self.spec, self.d
        into = self.folder + '/derived'
        P = backward.inputs(into, spec, (d['batch'], d['heads'], d['kv_heads'], d['n_q'], d['n_k']), seed)
        if d['seed'] % 3 == 1 and not grows(spec):
            random_specs.place(d, into, self.linear)
            P['query_start'] = np.load(into + '/query_start.npy')
        names = [*backward.wanted_of(spec), *('d' + n for n in backward.learned(spec, P))]
        saves = self.rng.random() < 0.7
        made = self.differentiate(P, names, saves, d['threads'])
        some = [n for n in names if self.rng.random() < 0.5]
        for n, x in self.differentiate(P, some, saves, 1 + d['threads'] % 3).items():
            if not np.array_equal(x, made[n], equal_nan=True):
                raise Wrong('bits of gradients', '%s where %s are wanted' % (n, ', '.join(some)))
        with np.errstate(all='ignore'): wanted = backward.gradients_of(spec, P)
        most = max(np.abs(wanted[n]).max(initial=0) for n in names)
        # The tolerance of such gradients is less than the smallest normal number of f32.
        if spec['dtype'] != 'f64' and most < 1e-30: raise Skip('the gradients underflow')
        largest = MAX_F16 if spec['dtype'] == 'f16' else np.inf
        names = [n for n in names if CANCELLED * most <= np.abs(wanted[n]).max(initial=0) <= largest]
        if not names: raise Skip('every gradient is too large for f16, or only rounding')
        why = self.judged(P, {n: made[n] for n in names}, wanted)
        if why or not self.divides(): return why
        parts = self.divided(P)
        why = self.judged(P, {n: parts[n] for n in names}, wanted)
        return 'of parts: ' + why if why else ''

    def judged(self, P, made, wanted):
        """Returns '', or which gradients differ from the wanted ones."""
        spec = self.spec
        least = 1e-13 if spec['dtype'] == 'f64' else backward.EPSILON[spec['dtype']]
        close = lambda x, y: (np.abs(x - y) <= least * np.abs(y).max(initial=0)).all()
        if all(close(x, wanted[n]) for n, x in made.items()): return ''
        try:
            backward.judge(spec, P, made, cancels=True)
        except Failure as failure:
            inputs = [P[n] for n in 'qkv']
            with np.errstate(all='ignore'): sums = definitions.attend(spec, P, *inputs, statistics=True)[1]
            if 'softmax' not in str(spec['similarity']) and np.abs(sums).max(initial=0) > 1e150:
                raise Skip('the square of a sum overflows in the definitions of gradients')
            return str(failure)
        return ''

    def divides(self):
        """Returns whether gradients can be computed for parts of the tokens, from sums over the others."""
        about = self.kernel.about
        axes = [(p.shape[:p.rank], p.rows) for p in about.param[:about.params]]
        own = all((N_Q in shape) + (N_K in shape) == 0 or ((N_Q in shape) != (N_K in shape) and rows) for shape, rows in axes)
        return bool(about.outer_sums) and own and grows(self.spec)

    def divided(self, P):
        """Returns gradients that are composed of those of parts."""
        kernel, n, chunk = self.kernel, self.d['n_k'], self.kernel.about.outer_chunk
        ends = sorted(chunk * int(x) for x in self.rng.integers(0, n // chunk + 1, self.rng.integers(1, 4)))
        runs = [end - begin for begin, end in zip([0, *ends], [*ends, n])]
        arrays = {name: x for name, x in P.items() if name not in ('q', 'k', 'v', 'dout')}
        q, k, v, dout = (kernel.as_stored(np.ascontiguousarray(P[name], kernel.dtype)) for name in ('q', 'k', 'v', 'dout'))
        out = kernel(arrays, *(kernel.as_numbers(x) for x in (q, k, v)), seed=self.seed)
        out = kernel.as_stored(out.astype(kernel.dtype))
        made = outer_sums.compose(kernel, arrays, (q, k, v, out, dout), [m for m in runs if m], 1 + self.d['threads'] % 3)
        return {name: x.astype(np.float64) for name, x in made.items()}

    def differentiate(self, P, names, saves, threads):
        """Calls forward and backward. Returns the gradients in `names`."""
        kernel, about, whole = self.kernel, self.kernel.about, ctypes.c_void_p
        q, k, v, dout = (kernel.as_stored(np.ascontiguousarray(P[n], kernel.dtype)) for n in ('q', 'k', 'v', 'dout'))
        problem = Problem(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], threads=threads, seed=self.seed)
        problem.place(P)
        address = ctypes.byref(problem)
        room = lambda function: memory(ctypes.CFUNCTYPE(ctypes.c_size_t, whole)(function)(address))
        if saves:
            saved = room(about.saved)
            problem.saved, problem.saved_bytes = saved.ctypes.data, saved.size
        params, _keep = kernel.parameters({n: x for n, x in P.items() if n not in ('q', 'k', 'v', 'dout')})
        params = params if about.params else None
        out, work = np.zeros_like(dout), room(about.workspace)
        problem.workspace_bytes = work.size
        inputs = [x.ctypes.data for x in (q, k, v)]
        error = kernel.forward(address, params, *inputs, out.ctypes.data, work.ctypes.data)
        if error: raise Wrong('forward', 'returned %d' % error)
        work = room(about.backward_workspace)
        problem.workspace_bytes = work.size
        made = {n: np.full_like(x, 0x7FFF if x.dtype == np.uint16 else np.nan)
                for n, x in zip(('dq', 'dk', 'dv'), (q, k, v)) if n in names}
        learned = [p.name.decode() for p in about.param[:about.params] if p.dtype < 4 and not p.random]
        of_arrays = {'d' + n: np.full(np.shape(P[n]), np.nan, kernel.dtype) for n in learned if 'd' + n in names}
        places = [of_arrays['d' + n].ctypes.data if 'd' + n in of_arrays else None for n in learned]
        error = ctypes.CFUNCTYPE(ctypes.c_int, *[whole] * 12)(about.backward)(
            address, params, *inputs, out.ctypes.data, dout.ctypes.data,
            *(made[n].ctypes.data if n in made else None for n in ('dq', 'dk', 'dv')),
            (whole * (len(learned) + 1))(*places) if of_arrays else None, work.ctypes.data)
        if error: raise Wrong('backward', 'returned %d' % error)
        return {n: kernel.as_numbers(x).astype(np.float64) for n, x in made.items()} | {
            n: x.astype(np.float64) for n, x in of_arrays.items()}

    # ---- extend

    def grown(self):
        """Extends states. A state stores prepared keys, and ignores dropout."""
        appended = {key: x for key, x in self.spec.items() if key not in ('dropout', 'seed')} | {'appended': True}
        if 'dropout' in self.spec or 'storage' in self.spec:
            with np.errstate(all='ignore'): self.answer = self.expected(appended, self.answer.arrays)
        sizes = [*self.d['chunks'], *(int(x) for x in self.rng.integers(0, 40, 3))]
        if max(sizes) == 0: sizes = [1]
        rng, made = self.rng.integers(2 ** 32), []
        paged = self.has_pages()
        for pages in [0, (16, 40, 64, 256)[rng % 4]][:1 + paged]:
            self.rng = np.random.default_rng(rng)
            made.append(self.cut(itertools.cycle(sizes), threads=1 + (self.d['threads'] + pages) % 3, pages=pages))
        self.right(made[0], 'extend')
        if paged and made[0].tobytes() != made[1].tobytes(): raise Wrong('pages', 'other bits, with pages')
        if self.kernel.about.statistics and 'storage' not in self.spec:
            statistics = np.full((self.batch, self.heads[0], self.n), np.nan, self.kernel.dtype)
            self.alone(self.state(), 0, self.n, statistics=statistics)
            self.check_statistics(statistics)
        self.truncated()
        if self.kernel.about.state_chunk: self.folded(made[0])
        if self.kernel.about.chunk_sums: self.stored()
        return 'pages' if paged else ''

    def alone(self, state, at, to, tokens=None, statistics=None, asked=True):
        """Appends the same tokens to every sequence. Returns out, which is None unless `asked`."""
        tokens = range(at, to) if tokens is None else tokens
        lengths = [len(tokens)] * self.batch
        given = [np.ascontiguousarray(x[:, :, tokens]) for x in (self.q, self.k, self.v)]
        if not asked: given[0] = None
        return state.extend(*given, lengths, statistics, self.rows(len(tokens), [tokens] * self.batch))

    def truncated(self):
        """Goes back in a state with `rewind`, and appends other tokens. Then keeps a path."""
        n, back = self.n, int(min(self.n // 2, CAPACITY_MORE))
        if back < 2: return
        states = [self.state(rewind=back, threads=1) for _ in range(2)]
        for state in states: self.alone(state, 0, n - back)
        wrong = sorted(int(x) for x in self.rng.integers(n - back, n, back))   # ids of tokens may have to ascend
        self.alone(states[0], 0, 0, wrong)
        if [states[0].truncate(b, n - back) for b in range(self.batch)] != [0] * self.batch:
            raise Wrong('truncate', 'did not go back by %d of %d' % (back, n))
        outs = [self.alone(state, n - back, n) for state in states]
        if outs[0].tobytes() != outs[1].tobytes():
            raise Wrong('truncate', 'other bits after going back by %d of %d' % (back, n))
        for moves in True, False:
            path = list(range(back // 2))
            if moves: path = sorted(int(x) for x in self.rng.choice(back, (back + 1) // 2, replace=False))
            states = [self.state(rewind=back, threads=1) for _ in range(2)]
            for state in states: self.alone(state, 0, n - back)
            self.alone(states[0], n - back, n)
            got = {states[0].keep_path(b, path) for b in range(self.batch)}
            if moves and got == {ELENGTH}: continue   # its rows cannot move
            if got != {0}: raise Wrong('keep', 'returned %s' % got)
            self.alone(states[1], 0, 0, [n - back + t for t in path])
            last = n - back + path[-1]   # ids of later tokens may have to ascend
            outs = [self.alone(state, 0, 0, [max(t, last) for t in range(n - back // 2, n)]) for state in states]
            if outs[0].tobytes() != outs[1].tobytes():
                raise Wrong('keep', 'other bits after a path of %d of %d' % (len(path), back))
            break

    def stored(self):
        """Computes rows from the stored sums of their chunks. Bits must be those of one call."""
        at, rewind = (int(x) for x in (self.rng.integers(0, self.n), self.rng.integers(0, 3)))
        states = [self.state(threads=1 + (self.d['threads'] + k) % 3, rewind=rewind) for k in range(3)]
        for state in states: self.alone(state, 0, at)
        sums = states[1].stores_chunks(self.n - at)
        self.alone(states[1], at, self.n, asked=False)
        states[2].problem.chunk_sums, states[2].problem.chunk_sums_bytes = sums.ctypes.data, sums.size
        outs = [self.alone(states[k], at, self.n) for k in (0, 2)]
        if outs[0].tobytes() != outs[1].tobytes(): raise Wrong('stored', 'other bits with stored sums, from token %d on' % at)
        for state in states: state.problem.chunk_sums, state.problem.chunk_sums_bytes = None, 0
        last = [self.n - 1] * 5   # bytes of a state between its rows may have any value
        if len({self.alone(state, 0, 0, last).tobytes() for state in states}) > 1:
            raise Wrong('stored', 'other states with stored sums')

    def folded(self, made):
        """Joins the states of two runs of tokens. `made` is the output of all tokens."""
        chunk = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.kernel.about.state_chunk)(
            ctypes.byref(self.state().problem))
        if not chunk or chunk + 2 > self.n: return
        middle = chunk * int(self.rng.integers(1, (self.n - 2) // chunk + 1))
        end = int(self.rng.integers(middle + 1, self.n))
        foldable = int('delta' in self.spec)
        left, right = (self.state(first=first, foldable=foldable, threads=1) for first in (0, middle))
        if right.begun: return   # this kernel cannot fold
        self.alone(left, 0, middle)
        self.alone(right, middle, end)
        got = left.fold(right)
        if got == EFOLD: return
        if got: raise Wrong('fold', '%d for %d and %d tokens, chunks of %d' % (got, middle, end - middle, chunk))
        out = np.array(made)
        out[:, :, end:] = self.alone(left, end, self.n)
        self.right(out, 'fold')


def judge(x):
    """Calls a kernel in every way. Returns notes."""
    if x.d.get('divides') and not x.divides(): raise Skip('gradients of parts need more than sums')
    x.forward()
    notes = [x.gradients() if 'backward' in x.spec.get('emit', []) else '', x.grown() if grows(x.spec) else '']
    return '; '.join(filter(None, notes))
