"""The loop that all tables of this folder share: a row is compiled, arrays are drawn for each of its shapes, and its
checks are functions of these arrays. Checks that several tables use are here, too."""
import dataclasses
import functools
import itertools

import numpy as np
import yaml

import answers
import backward
import definitions
from autograd_venv import autograd
from kernel import best_target, compiled
from processor import missing_flags
from stored import HALVES, rounded
from suite import Failure, Skip, check, compiler

EPROBLEM, ELENGTH = -1, -14
BY_CALL = ('q', 'k', 'v', 'dout')   # the other arrays are in the struct of parameters
WITH_GRADIENTS = {'emit': ['forward', 'backward']}
without = functools.cache(autograd)   # the reason why gradients cannot be compared, or ''


@dataclasses.dataclass
class Row:
    """A case: a kernel, and the checks of its calls."""
    name: str
    spec: dict
    shapes: list            # (seed, (batch, heads, key/value heads, queries, keys)), and perhaps positions of first queries
    checks: list            # functions of a Call, which may return the largest error relative to its tolerance
    target: str = ''
    build: tuple = ('-O0', 'clang')
    once: list = ()         # functions of the Made
    make: object = None     # function of (folder, suite, row) that returns the Made
    order: str = 'sorted'   # of integers that may be ids


def numbered(first, shapes):
    """Returns shapes with a seed for each."""
    return list(enumerate(shapes, first))


def in_turn(n, every=4):
    """Returns the target of the n-th kernel: usually that of this machine."""
    return 'generic' if n % every == every - 1 else best_target()


def spec_file(folder, spec):
    path = '%s/%s.yaml' % (folder, spec['name'])
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    return path


def kernel_of(folder, suite, spec, target, level='-O0', cc='clang'):
    """Returns the spec as definitions.py reads it, and its kernel."""
    path = spec_file(folder, spec)
    return definitions.load(path), compiled(suite, path, folder, target, level, compiler(cc))


class Made:
    """The kernels of a row. Most have one."""

    def __init__(self, folder, suite, spec, *kernels, order='sorted'):
        self.folder, self.suite, self.spec, self.kernels, self.order = folder, suite, spec, kernels, order
        self.calls, self.drawn = 0, itertools.count()

    def text(self):
        """Returns the emitted C."""
        with open('%s/%s.c' % (self.folder, self.spec['name'])) as f: return f.read()

    def draw(self, seed, shape):
        """Returns a call with arrays for a shape."""
        spec, folder = self.spec, '%s/in%d' % (self.folder, next(self.drawn))
        batch, heads, kv_heads, n_q, n_k, *starts = shape
        answers.make_inputs(spec, folder, (heads, kv_heads, n_q, n_k, batch), seed, self.order)
        arrays = definitions.read_dir(folder)
        dout = np.random.default_rng(seed + 1).standard_normal((batch, heads, n_q, arrays['v'].shape[-1])).astype(np.float32)
        arrays['dout'] = rounded(dout, spec['dtype']) if spec['dtype'] in HALVES else dout
        if starts: arrays['query_start'] = np.array(starts[0]) + n_k - n_q
        return Call(self, arrays, seed)


def make(folder, suite, row):
    return Made(folder, suite, *kernel_of(folder, suite, row.spec, row.target, *row.build), order=row.order)


class Call:
    """Arrays for a kernel, and its results."""

    def __init__(self, made, arrays, seed):
        self.made, self.spec, self.kernel, self.arrays, self.seed = made, made.spec, made.kernels[0], arrays, seed
        (self.batch, self.heads, self.n_q, _), (_, self.kv_heads, self.n_k, _) = arrays['q'].shape, arrays['k'].shape

    def __str__(self):
        starts = ' starts ' + str(self.arrays['query_start'].tolist()) if 'query_start' in self.arrays else ''
        return 'B%d H%d G%d nq%d nk%d%s' % (self.batch, self.heads, self.kv_heads, self.n_q, self.n_k, starts)

    def but(self, **changed):
        """Returns a call with other arrays. None is no array."""
        return Call(self.made, {n: x for n, x in (self.arrays | changed).items() if x is not None}, self.seed)

    def forward(self, threads=2, kernel=None):
        self.made.calls += 1
        return (kernel or self.kernel)(self.rest, *(self.arrays[n] for n in 'qkv'), threads)

    def gradients(self, wanted=backward.WANTED, threads=2, saves=True, kernel=None):
        self.made.calls += 1
        learned = set(backward.learned(self.spec, self.rest))
        made = (kernel or self.kernel).gradients(self.rest, *(self.arrays[n] for n in BY_CALL), wanted, threads, saves,
                                                 bool(learned))
        return {n: x for n, x in made.items() if n in backward.WANTED or n[1:] in learned}

    @functools.cached_property
    def rest(self):
        return {n: x for n, x in self.arrays.items() if n not in BY_CALL}

    @functools.cached_property
    def out(self):
        return self.forward()

    @functools.cached_property
    def answer(self):
        return answers.Answer(self.spec, {n: x for n, x in self.arrays.items() if n != 'dout'})

    @functools.cached_property
    def seen(self):
        """Returns which query sees which key, [batch, heads, queries, keys]."""
        return np.stack([[definitions.mask(self.spec.get('mask'), self.n_q, self.n_k, self.rest, h, b)
                          for h in range(self.heads)] for b in range(self.batch)])


def case(folder, suite, row):
    """Makes every check of a row, for each of its shapes."""
    if missing_flags(row.target): raise Skip('this processor lacks ' + missing_flags(row.target))
    made, wrong, skipped, largest = (row.make or make)(folder, suite, row), [], '', 0.0

    def collect(where, function, x):
        nonlocal skipped, largest
        try: largest = max(largest, function(x) or 0.0)
        except Failure as failure: wrong.append('%s%s' % (where, failure))
        except Skip as skip: skipped = str(skip)
    for function in row.once: collect('', function, made)
    for seed, shape in row.shapes:
        x = made.draw(seed, shape)
        for function in row.checks: collect('%s: ' % x, function, x)
    check(not wrong, '%d are wrong\n%s' % (len(wrong), '\n'.join(wrong[:4])))
    if skipped: raise Skip(skipped)
    return '(%d calls%s)' % (made.calls, ', largest error %.2f of what is allowed' % largest if largest else '')


def same_bits(one, other, what):
    check(one.tobytes() == other.tobytes(), 'other bits ' + what)


def right(x, times=1, more=lambda x: 0.0, out=None):
    """Compares an output with definitions.py. `more` returns an addition to the tolerance, relative to a row's scale."""
    extra = more(x)
    why, error, _ = x.answer.judge(x.out if out is None else out, times, extra * x.answer.scale if extra else 0.0)
    check(not why, why)
    return error


def threads(x, counts=(1, 3, 7)):
    """Numbers of threads do not change the bits."""
    for count in counts: same_bits(x.forward(count), x.out, 'on %d threads' % count)


def right_gradients(x, others=(), kernel=None):
    """Compares gradients with gradient_definitions.py. Each of `others` is (text, arguments of Call.gradients), which give
    the same bits."""
    if without(): raise Skip(without())
    made = x.gradients(threads=1, kernel=kernel)
    for what, arguments in others:
        again = x.gradients(**{'kernel': kernel} | arguments)
        for name in again: same_bits(again[name], made[name], 'of %s %s' % (name, what))
    exact = {n: a.astype(np.float64) if a.dtype.kind == 'f' else a for n, a in x.arrays.items()}
    return backward.judge(x.spec, exact, {n: a.astype(np.float64) for n, a in made.items()})


def fails(x, error, what):
    """forward returns an error."""
    try:
        x.forward()
    except Failure as failure:
        check(str(failure) == 'forward returned %d' % error, '%s: %s' % (what, failure))
    else:
        raise Failure(what + ' is accepted')


def planted_at(*keys):
    """Returns what to plant: NaN and infinity in k, and in one column of v."""
    return [(array, [key], column, what) for key in keys for what in (np.nan, np.inf, -np.inf)
            for array, column in (('k', None), ('v', 3))]


def unseen(x, planted):
    """NaN and infinity of a key reach no query that does not see the key. In v, they reach every query that sees it, and
    no other column. Each of `planted` is (array, keys, column or None for all, value)."""
    for kernel in x.made.kernels:
        clean = x.forward(kernel=kernel)
        bits = np.dtype('u%d' % clean.itemsize)
        for array, keys, column, what in planted:
            spoilt = x.arrays[array].copy()
            spoilt[:, :, keys, slice(None) if column is None else column] = what
            out = x.but(**{array: spoilt}).forward(kernel=kernel)
            alike, hidden = out.view(bits) == clean.view(bits), ~x.seen[..., keys].any(-1)
            here = '%s %s at %s' % (what, array, keys if len(keys) < 9 else 'the second half')
            at = np.argwhere(hidden & ~alike.all(-1))
            check(not at.size, '%s reaches %d rows that do not see it, %s among them' % (here, len(at), at[:1].tolist()))
            if array == 'v' and column is not None:
                check(np.delete(alike, column, -1).all(), here + ' reaches other columns')
                check(not np.isfinite(out[..., column][~hidden]).any(), here + ' is lost on a query that sees it')
