"""Computes the expected tangent of an output: the central difference of definitions.py along the tangents of its inputs, in
long double. Also its tolerance."""
import numpy as np

import answers
import backward
import definitions
from processor import multiplies_bf16
from stored import HALVES
from suite import check

STEP = 2.0 ** -24        # so small that hardly any kink of a function, such as that of fmax, is between both points
EPSILON = 4e-6
DIFFERENCE = 1e-10       # the error of a difference relative to its terms: an ulp of long double or of math.erf per STEP
OF_WEIGHTS = 2.0 ** -6   # the relative error of weights that are rounded to bf16


def names_of(spec, P):
    """Returns the names of the arrays that have a tangent."""
    values = [] if spec['shape'].get('values') == 'keys' else ['v']
    return ['q', 'k', *values, *backward.learned(spec, P)]


def make(spec, folder, seed, zero=()):
    """Writes tangents next to the inputs of a folder, with zeros for the names in `zero`. Returns all arrays, and the
    tangents by the names of their arrays."""
    arrays, rng = definitions.read_dir(folder), np.random.default_rng(seed + 7)
    tangents = {n: (rng.standard_normal(arrays[n].shape) * (n not in zero)).astype(np.float32) for n in names_of(spec, arrays)}
    for n, x in tangents.items(): np.save('%s/%s.tangent.npy' % (folder, n), x)
    return arrays, tangents


def along(spec, arrays, tangents, step, statistics=False):
    """Returns the output where the inputs have moved by a step along their tangents, or its denominators."""
    P = {n: x.astype(np.longdouble) if x.dtype.kind == 'f' else x for n, x in arrays.items()}
    for n, x in tangents.items(): P[n] = P[n] + np.longdouble(step) * x
    q, k, v = (P.pop(n) for n in 'qkv')
    with np.errstate(all='ignore'):
        out = answers.EXACT.attend(spec, P, q, k, v, statistics=statistics)
        if not statistics: return out
        return (np.exp(out[1]) if definitions.tagged(spec['similarity'])[0] == 'softmax' else out[1])[..., None]


def difference(*given, **more):
    """Returns the derivative from central differences of two steps, whose errors in the square of the step cancel."""
    one, two = ((along(*given, h, **more) - along(*given, -h, **more)) / (2 * np.longdouble(h)) for h in (STEP, 2 * STEP))
    return (4 * one - two) / 3


def expected(spec, arrays, tangents):
    """Returns the tangent of the output, and a tolerance."""
    found = difference(spec, arrays, tangents)
    check(np.isfinite(found).all(), 'the generator made a case whose tangent is not finite')
    wide, rng = spec['dtype'] == 'f64', np.random.default_rng(0)
    nudge = lambda x: x * (1 + rng.choice([-1, 1], x.shape) * 2.0 ** -24) if x.dtype.kind == 'f' else x
    moved = [difference(spec, {n: nudge(x) for n, x in arrays.items()}, {n: nudge(x) for n, x in tangents.items()})
             for _ in range(4)]
    # the tangent is (the tangent of the sum - out * the tangent of the denominator) / denominator, whose terms may cancel
    plain = {key: x for key, x in spec.items() if key != 'normalize'} | {'normalize': 'none'}
    terms = np.abs(difference(plain, arrays, tangents))
    if spec.get('normalize') != 'none':
        out, total = along(spec, arrays, tangents, 0), np.abs(along(spec, arrays, tangents, 0, statistics=True))
        with np.errstate(all='ignore'):
            terms = (terms + np.abs(out * difference(spec, arrays, tangents, statistics=True))) / total
    terms = np.where(np.isfinite(terms), terms, 0).max(-1, keepdims=True)
    allowed = EPSILON * terms + 4 * np.max([np.abs(m - found).max(-1, keepdims=True) for m in moved], 0)
    if wide: allowed = allowed * 2.0 ** -29
    if spec['dtype'] in HALVES and multiplies_bf16(): allowed = allowed + OF_WEIGHTS * terms
    return found, allowed + DIFFERENCE * (terms + np.abs(found))


def judge(spec, got, wanted, allowed):
    """Compares a tangent with the expected one. Returns the largest error relative to the tolerance."""
    check(got.shape == wanted.shape, 'the shape is %s, not %s' % (got.shape, wanted.shape))
    part = answers.over(got, wanted, allowed, spec['dtype'])
    at = np.unravel_index(np.argmax(part), part.shape)
    check(part[at] <= 1, 'the tangent of out%s is %.9g, not %.9g: off by %.3g times what is allowed; %d of %d are off' % (
        list(map(int, at)), got[at], wanted[at], part[at], (part > 1).sum(), part.size))
    return float(part[at])
