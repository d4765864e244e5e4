"""Computes the expected output of a kernel with definitions.py in wider arithmetic, and the tolerance of each row."""
import functools
import importlib.util
import os

import numpy as np

import definitions
from plain import Plain
from stored import HALVES, kind_of, off_by, rounded, rounded_rows
from suite import check

SEEDS = 8   # the number of tolerances that are averaged, each with another seed


def over(out, expected, allowed, dtype):
    """Returns the error of each number relative to its tolerance."""
    with np.errstate(invalid='ignore', divide='ignore'):
        off = off_by(out, expected, dtype)
        part = off / allowed
    # 0 / 0 comes from a row of exact zeros, which has no error.
    return np.where(np.isnan(part), np.where(np.isnan(out) | (off > allowed), np.inf, 0), part)


def exact_definitions(seed=None, number=np.float64):
    """Returns definitions.py with exact angles of rope and wider sines, because NumPy's functions depend on the
    processor. With a seed, every logit and angle is moved by half an ulp of f64, and every logarithm of a decay by half
    an ulp of the type `number`, or of the largest sum of logarithms if this type is f64."""
    found = importlib.util.spec_from_file_location('exact', definitions.__file__)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    sign = np.random.default_rng(seed).choice([-1, 1], 4096)

    def angle_of(text, names, i, t):
        """Returns the angle in float64, computed with functions that are rounded once."""
        functions = module.FUNCTIONS
        names = {n: np.asarray(x).astype(np.float64) if x.dtype.kind == 'f' else x for n, x in names.items()}
        def rounded_once(function):
            return lambda *x: x[0] if x[0].dtype.kind == 'i' and function is np.floor else function(
                *(a.astype(np.longdouble) for a in x)).astype(np.float64)
        module.FUNCTIONS = {name: f if name in ('clamp', 'fmin', 'fmax', 'fabs') else rounded_once(f)
                            for name, f in functions.items()}
        try:
            return module.expression(text, **dict(names, i=i, t=t)) + 0.0 * i * t
        finally:
            module.FUNCTIONS = functions

    def rope(x, position, base=10000.0, pairs='interleaved', dims=None, first=0, angle=None, names={}):
        if dims is not None and (first or first + dims < x.shape[-1]):
            rotated = rope(x[..., first:first + dims], position, base, pairs, angle=angle, names=names)
            return np.concatenate([x[..., :first], rotated, x[..., first + dims:]], -1)
        n, d = x.shape[-2:]
        i = (position + np.arange(n))[:, None]
        if angle is None:
            frequency = (base ** (-np.arange(0, d, 2) / d).astype(np.longdouble)).astype(np.float64)
            angle = (i * frequency).astype(np.longdouble)
        else:
            angle = np.stack([angle_of(angle, dict(names, b=np.int64(names.get('b', b))), i, np.arange(d // 2)[None, :])
                              for b in range(x.shape[0])])[:, None].astype(np.longdouble)
        if seed is not None: angle = angle * (1 + np.resize(sign, angle.shape) * np.longdouble(2) ** -53)
        a, b = (slice(0, None, 2), slice(1, None, 2)) if pairs == 'interleaved' else (
            slice(0, d // 2), slice(d // 2, None))
        y = np.empty_like(x)
        y[..., a] = x[..., a] * np.cos(angle) - x[..., b] * np.sin(angle)
        y[..., b] = x[..., a] * np.sin(angle) + x[..., b] * np.cos(angle)
        return y
    module.rope = rope
    if seed is None:
        return module
    exact, between = module.similarity, module.decay_between

    def similarity(*arguments):
        logits, w = exact(*arguments)
        if logits is not None:
            logits = logits * (1 + sign[:logits.shape[1]] * np.longdouble(2) ** -53)
        return logits, w
    def decay_between(gate, *arguments):
        logs = between(gate, *arguments)
        size = np.abs(gate).max(initial=0) if number is np.float64 else logs   # kernels subtract sums in f64
        return logs + size * sign[:logs.shape[1]] * np.longdouble(np.finfo(number).eps / 2)
    module.similarity, module.decay_between = similarity, decay_between
    return module


def stepped_definitions():
    """Returns definitions.py in which each computed row of q or k moves by half an ulp of f32: after a step of
    `prepare`, a feature map, and a product of a sketch. A kernel rounds these rows. If two elements of a row are almost
    equal, or two rows of length 1 almost opposite, moving the inputs shows little of that. Arguments of exp move, too,
    because rounding a large one changes a weight more than rounding the inputs. A state stores keys in fewer bits. A key
    that is nearly in the middle between two of their numbers may become either, as the steps of `prepare`
    and the type's scale are rounded. A pair whose s is near the limit of a mask may be shown or hidden."""
    found = importlib.util.spec_from_file_location('stepped', definitions.__file__)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    rng, prepare, features, sketch, kept = (np.random.default_rng(0), module.prepare, module.features, module.sketch,
                                            module.kept)

    def moved(x):
        return x * (1 + rng.choice([-1, 1], x.shape) * 2.0 ** -24)

    def steps(spec, P, q, k):
        for step in spec.get('prepare', []): q, k = map(moved, prepare({**spec, 'prepare': [step]}, P, q, k))
        return q, k
    module.prepare = steps
    module.kept = lambda k, kind: kept(k * (1 + rng.choice([-1, 1], k.shape) * 2.0 ** -21), kind)
    module.compared = lambda s: s + 2.0 ** -18 * np.abs(s).max(initial=0) * rng.choice([-1, 1], s.shape)
    exponentials = {name: module.FUNCTIONS[name] for name in ('exp', 'exp2')}
    module.FUNCTIONS = module.FUNCTIONS | {name: lambda x, f=f: f(moved(np.asarray(x))) for name, f in exponentials.items()}
    module.features = lambda *arguments: moved(features(*arguments))
    module.sketch = lambda P, x, r, degree, *more: x if degree == 1 else moved(sketch(P, x, r, degree, *more))
    return module


EXACT, STEPPED = exact_definitions(), stepped_definitions()
# If a row has two large weights, both move in the same direction in half of the draws, which changes little.
NUDGED = {wide: [exact_definitions(seed, number) for seed in range(6)]
          for wide, number in ((True, np.float64), (False, np.float32))}


def attend(module, spec, arrays, number, **how):
    # number(x) converts an array of one element to a scalar
    numbers = (lambda x: x.astype(number)) if isinstance(number, type) else number
    P = {n: numbers(x) if x.dtype.kind == 'f' else x for n, x in arrays.items()}
    q, k, v = (P.pop(n) for n in 'qkv')
    with np.errstate(over='ignore', invalid='ignore'):
        return module.attend(spec, P, q, k, v, **how)


class Answer:
    """The output of definitions.py for some inputs, and the tolerance of a kernel."""

    def __init__(self, spec, arrays):
        self.spec, self.arrays, self.wide = spec, arrays, spec['dtype'] == 'f64'
        self.expected = attend(EXACT, spec, arrays, np.longdouble) if self.wide else self.definition
        check(np.isfinite(self.expected).all(), 'the generator made a case whose answer is not finite')
        check(self.wide or np.abs(self.expected).max(initial=0) < 1e30,
              'the generator made a case that f32 cannot hold')

    @functools.cached_property
    def definition(self):
        return attend(definitions, self.spec, self.arrays, np.float64)

    @functools.cached_property
    def scale(self):
        own, values = definitions.values_apart(self.spec, self.arrays['k'], self.arrays['v'])
        sizes = definitions.positive(self.arrays) | {'v': np.abs(values)}
        apart = bool({'sums', 'output'} & set(own))   # an output may be smaller than its sums
        scale = np.abs(attend(definitions, own, sizes, np.float64, sizes=apart)).max(-1, keepdims=True)
        check(np.isfinite(scale).all(), 'the generator made a case whose allowance is not finite')
        return scale

    @functools.cached_property
    def least(self):
        """Returns a lower bound of the tolerance, without perturbed inputs."""
        return self.scale * (2e-6 * 2.0 ** -29 if self.wide else 2e-6)

    def allowed_error(self, seed, module=definitions):
        P = {n: x.astype(np.float64) if x.dtype.kind == 'f' else x for n, x in self.arrays.items()}
        q, k, v = (P.pop(n) for n in 'qkv')
        allowed = module.allowed_error(self.spec, P, q, k, v, self.definition, seed)
        check(np.isfinite(allowed).all(), 'the generator made a case whose allowance is not finite')
        return (allowed * 2.0 ** -29 if self.wide else allowed) + self.logits

    @functools.cached_property
    def logits(self):
        """Returns 4 times the change of a row if angles and logits in f64 and the logarithms of decays move by half an
        ulp. Angles and these logarithms may be large without a large input."""
        softmax = definitions.tagged(self.spec['similarity'])[0] == 'softmax'
        turns, decays = self.wide and 'rope' in str(self.spec.get('prepare')), 'decay' in self.spec
        if not turns and not (softmax or decays if self.wide else softmax and decays): return 0
        moved = [attend(module, self.spec, self.arrays, np.longdouble) for module in NUDGED[self.wide]]
        return 4 * np.max([np.abs(m - self.expected).max(-1, keepdims=True) for m in moved], 0)

    @functools.cached_property
    def one(self):
        return self.allowed_error(0)

    @functools.cached_property
    def allowed(self):
        """Returns the mean of allowed_error over several seeds. One seed is the maximum of four draws, which is
        sometimes too small."""
        return np.mean([self.one] + [self.allowed_error(seed) for seed in range(1, SEEDS)], 0)

    @functools.cached_property
    def stepped(self):
        """Returns a tolerance that also allows for the rounding of computed rows. It is the maximum over the draws."""
        return np.max([self.allowed] + [self.allowed_error(seed, STEPPED) for seed in range(SEEDS // 2)], 0)

    @functools.cached_property
    def underflow(self):
        """Returns the error of a row if each of its weights, and each factor of a weight, is 0 where it is below the
        smallest normal number. With a strong decay, all weights of a row may be that small."""
        P = {n: x.astype(np.float64) if x.dtype.kind == 'f' else x for n, x in self.arrays.items()}
        q, k, v = (P.pop(n) for n in 'qkv')
        tiny = np.finfo(np.float64 if self.wide else np.float32).tiny
        if {'sums', 'output'} & set(self.spec):
            whole = lambda lost: definitions.attend(self.spec, P, q, k, v, sizes=True, lost=lost).max(-1, keepdims=True)
            return whole(2 * tiny) - whole(0.0)
        plain = {key: x for key, x in self.spec.items() if key not in ('decay', 'delta', 'dropout')}
        def total(similarity):
            spec = plain | {'similarity': similarity, 'normalize': 'none'}
            return definitions.attend(spec, definitions.positive(P), q, k, v, sizes=True).max(-1, keepdims=True)
        size = total({'custom': {'weight': '1'}})
        # The largest weight of softmax is 1.
        if definitions.tagged(self.spec['similarity'])[0] == 'softmax': return tiny * size
        size += total(self.spec['similarity'])
        divisor = np.abs(definitions.attend(self.spec, P, q, k, v, statistics=True)[1])[..., None]
        lost = tiny * np.divide(size, divisor, out=np.zeros_like(size), where=divisor != 0)
        check(np.isfinite(lost).all(), 'the generator made a case whose allowance is not finite')
        return lost

    @functools.cached_property
    def own(self):
        """Returns the output of definitions.py with each step rounded to the kernel's type."""
        return np.asarray(attend(EXACT, self.spec, self.arrays,
                                 functools.partial(Plain, dtype=np.float64 if self.wide else np.float32)))

    @functools.cached_property
    def wider(self):
        """Returns the factor that widens the tolerance. It is twice the error of `own` relative to the tolerance,
        and at least 1."""
        return max(1.0, 2 * float(over(self.own, self.expected, self.allowed, 'f64').max(initial=0)))

    def judge(self, out, times=1, more=0.0):
        """Returns
        - '' if every row is within `times` * tolerance + `more`, otherwise the worst row;
        - the largest error relative to the tolerance;
        - the factor that widened the tolerance.
        Rows are first compared with a quick lower bound of the tolerance."""
        for allowed in 'least', 'one', 'allowed', 'stepped', 'underflow':
            if allowed == 'underflow': more = more + self.underflow
            else: tolerance = times * getattr(self, allowed)
            part = over(out, self.expected, tolerance + more, self.spec['dtype'])
            if (part <= 1).all():
                return '', part.max(initial=0), 1.0
        wide = over(out, self.expected, self.wider * times * self.allowed + more, self.spec['dtype'])
        if (wide <= 1).all():
            return '', part.max(), self.wider
        at = np.unravel_index(np.argmax(wide), wide.shape)
        return 'out[%s] is %.9g, not %.9g: off by %.3g times what is allowed; %d of %d rows are off' % (
            ','.join(map(str, at)), out[at], self.expected[at], wide[at], (wide > 1).any(-1).sum(),
            wide[..., 0].size), part.max(), self.wider


def draw(spec, folder, sizes, seed, order='sorted'):
    """Writes inputs into a folder. Returns the expected output for them."""
    make_inputs(spec, folder, sizes, seed, order)
    return Answer(spec, definitions.read_dir(folder))


def ascending_ids(spec, folder):
    """Sorts integers that may be ids. A linear form takes ids in ascending order."""
    for name, a in spec.get('arrays', {}).items():
        if a.get('type') == 'int' and a['shape'] == ['B', 'Nk']:
            np.save('%s/%s.npy' % (folder, name), np.sort(np.load('%s/%s.npy' % (folder, name)) // 9, axis=1))


def make_inputs(spec, folder, sizes, seed, order):
    definitions.make_inputs(spec, folder, *sizes, seed)
    for name in 'qkv' if spec['dtype'] in HALVES else '':
        x = rounded(np.load('%s/%s.npy' % (folder, name)), spec['dtype'])
        np.save('%s/%s.npy' % (folder, name), x.astype(np.float16) if spec['dtype'] == 'f16' else x)
    for name in (['k'] if spec['shape'].get('values') == 'keys' else 'kv') if 'storage' in spec else '':
        path, kind = '%s/%s.npy' % (folder, name), kind_of(spec, name)
        if kind: np.save(path, rounded_rows(np.load(path), kind))
    if order != 'any': ascending_ids(spec, folder)
    if not os.path.exists(folder + '/document.npy') or order == 'sorted':
        return
    ids, rng = np.load(folder + '/document.npy'), np.random.default_rng(seed)
    if order == 'rising':
        ids = np.array([-2 ** 31, -7, 0, 2 ** 31 - 1], np.int32)[ids]
    elif order == 'many':
        ids = (np.cumsum(rng.random(ids.shape) < 0.06, axis=1) - 5).astype(np.int32)
    elif order == 'extreme':
        ids = np.array([-2 ** 31, -7, -2 ** 31, 2 ** 31 - 1], np.int32)[ids]
    else:
        ids = rng.permuted(ids, axis=1) - 2
    np.save(folder + '/document.npy', ids)
