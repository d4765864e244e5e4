"""What a kernel has to answer: inputs on files, definitions.py in wider arithmetic than the kernel's, and what a row may be off by."""
import importlib.util
import os

import numpy as np

import definitions
from stored import HALVES, off_by, rounded
from suite import check

DRAWS = 4


def worst(out, expected, allowed, dtype='f32'):
    """'' when every row is within what is allowed, else where it is worst."""
    with np.errstate(invalid='ignore', divide='ignore'):
        off = off_by(out, expected, dtype)
        over = off / allowed
    over = np.where(np.isnan(over), np.where(np.isnan(out) | (off > allowed), np.inf, 0), over)   # 0 / 0: a row of exact zeros
    if (over <= 1).all():
        return ''
    at = np.unravel_index(np.argmax(over), over.shape)
    return 'out[%s] is %.9g, not %.9g: off by %.3g times what is allowed; %d of %d rows are off' % (
        ','.join(map(str, at)), out[at], expected[at], over[at], (over > 1).any(-1).sum(), over[..., 0].size)


def exact_definitions(seed=None):
    """definitions.py once more, with rope's frequencies the doubles nearest to what it says: NumPy's power is off by one in the last place for some of
    them, differently on different processors. With a seed every logit is off by half a unit."""
    found = importlib.util.spec_from_file_location('exact', definitions.__file__)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    def rope(x, first, base=10000.0, pairs='interleaved'):
        n, d = x.shape[-2:]
        frequency = (base ** (-np.arange(0, d, 2) / d).astype(np.longdouble)).astype(np.float64)
        angle = (first + np.arange(n))[:, None] * frequency
        a, b = (slice(0, None, 2), slice(1, None, 2)) if pairs == 'interleaved' else (slice(0, d // 2), slice(d // 2, None))
        y = np.empty_like(x)
        y[..., a] = x[..., a] * np.cos(angle) - x[..., b] * np.sin(angle)
        y[..., b] = x[..., a] * np.sin(angle) + x[..., b] * np.cos(angle)
        return y
    module.rope = rope
    if seed is None:
        return module
    sign, exact = np.random.default_rng(seed).choice([-1, 1], 4096), module.similarity

    def similarity(*arguments):
        logits, w = exact(*arguments)
        if logits is not None:
            logits = logits * (1 + sign[:logits.shape[1]] * np.longdouble(2) ** -53)
        return logits, w
    module.similarity = similarity
    return module


EXACT = exact_definitions()
NUDGED = [exact_definitions(seed) for seed in range(3)]


def attend(module, spec, arrays, dtype):
    P = {n: x.astype(dtype) if x.dtype.kind == 'f' else x for n, x in arrays.items()}
    q, k, v = (P.pop(n) for n in 'qkv')
    return module.attend(spec, P, q, k, v)


def answer(spec, arrays):
    """What definitions.py says, what a kernel may be off by, and which part of that the definitions themselves use up in the kernel's own arithmetic."""
    P = {n: x.astype(np.float64) if x.dtype.kind == 'f' else x for n, x in arrays.items()}
    q, k, v = (P.pop(n) for n in 'qkv')
    expected = definitions.attend(spec, P, q, k, v)
    allowed = definitions.allowed_error(spec, P, q, k, v, expected)
    own = attend(definitions, spec, arrays, np.float32) if spec['dtype'] != 'f64' else attend(EXACT, spec, arrays, np.float64)
    if spec['dtype'] == 'f64':
        expected = attend(EXACT, spec, arrays, np.longdouble)
        allowed = allowed * 2.0 ** -29
        moved = [attend(module, spec, arrays, np.longdouble) for module in NUDGED]
        allowed = allowed + 4 * np.max([np.abs(m - expected).max(-1, keepdims=True) for m in moved], 0)
    with np.errstate(invalid='ignore', divide='ignore'):
        used = np.nanmax(np.append(np.abs(own - expected) / allowed, 0))
    return expected, allowed, used


def make_inputs(spec, folder, sizes, seed, order):
    definitions.make_inputs(spec, folder, *sizes, seed)
    for name in 'qkv' if spec['dtype'] in HALVES else '':
        x = rounded(np.load('%s/%s.npy' % (folder, name)), spec['dtype'])
        np.save('%s/%s.npy' % (folder, name), x.astype(np.float16) if spec['dtype'] == 'f16' else x)
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


def draw(spec, folder, sizes, seed, order='sorted'):
    """Inputs, drawn again a few times where the definitions in the kernel's own arithmetic use more than 0.4 of what is allowed (a row whose
    weights nearly vanish, a high power of a large number: any kernel may then miss it by accident). If that stays so, 2.5 times what they use is allowed."""
    found = []
    for times in range(DRAWS):
        make_inputs(spec, folder, sizes, seed + 1000003 * times, order)
        expected, allowed, used = answer(spec, definitions.read_dir(folder))
        check(np.isfinite(expected).all() and np.isfinite(allowed).all(), 'the generator made a case whose answer is not finite')
        check(spec['dtype'] == 'f64' or np.abs(expected).max() < 1e30, 'the generator made a case that f32 cannot hold')
        if used <= 0.4:
            return expected, allowed, 1.0
        found.append((used, times))
    used, times = min(found)
    make_inputs(spec, folder, sizes, seed + 1000003 * times, order)
    expected, allowed, used = answer(spec, definitions.read_dir(folder))
    return expected, allowed, max(1.0, 2.5 * used)
