#!/usr/bin/env python3
"""The gradients of every attention variant: definitions.py, differentiated with autograd (pip install autograd), in
float64.

usage: gradient_definitions.py SPEC.yaml IN_DIR OUT_DIR
Reads IN_DIR/{q,k,v,dout,<parameter>}.npy, writes OUT_DIR/{dq,dk,dv,d<parameter>}.npy and, for each,
allowed_<name>.npy: the tolerance of an f32 kernel. Without IN_DIR/dout.npy a random one is made and written there.
Integer parameters and random ones (a sketch's g1, Performer's features.w) have no gradient unless the spec says that
they are learned; they are written nevertheless, and may be left out of a comparison.
"""
import importlib.util, math, os, sys
import numpy
import autograd.numpy as np
from autograd import make_vjp
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_vjps import unbroadcast_f
import definitions

def copy_of(module):
    """Returns another copy of a module."""
    found = importlib.util.spec_from_file_location('copy', module.__file__)
    copy = importlib.util.module_from_spec(found)
    found.loader.exec_module(copy)
    return copy

definitions.np = np                      # definitions.py then computes with arrays that autograd follows.
for f in ('exp', 'log', 'tanh', 'sqrt', 'cos', 'sin', 'log1p', 'expm1', 'log2', 'exp2', 'ceil', 'rint', 'trunc'): definitions.FUNCTIONS[f] = getattr(np, f)
definitions.FUNCTIONS['erf'] = primitive(definitions.FUNCTIONS['erf'])
defvjp(definitions.FUNCTIONS['erf'], lambda value, x: lambda g: g * 2 / math.sqrt(math.pi) * np.exp(-x * x))
# autograd's own rule does not sum over axes that an operand lacks
defvjp(getattr(np, '_original_where', np.where), None,
       lambda value, c, a=None, b=None: unbroadcast_f(a, lambda g: np.where(c, g, numpy.zeros(g.shape))),
       lambda value, c, a=None, b=None: unbroadcast_f(b, lambda g: np.where(c, numpy.zeros(g.shape), g)))
definitions.FUNCTIONS.update(clamp=lambda x, low, high: np.minimum(np.maximum(x, low), high), fabs=np.abs, fmin=np.minimum, fmax=np.maximum, min=np.minimum, max=np.maximum, floor=np.floor,
                             round=np.rint, sigmoid=lambda x: 1 / (1 + np.exp(-x * 1.0)), pow=lambda a, b: np.power(a * 1.0, b))

def corrected_back(u, w, rate, v):
    """Returns the gradients of `corrected`. The gradient of v is a solution of the transposed system."""
    def solve(g):
        x = numpy.array(g, dtype=u.dtype)
        for t in range(len(x) - 1, 0, -1): x[:t] -= numpy.outer(w[t, :t], rate[t] * x[t])
        return x
    return (lambda g: -numpy.tril((rate[:, None] * solve(g)) @ u.T, -1), lambda g: (solve(g) * (v - w @ u)).sum(-1),
            lambda g: rate[:, None] * solve(g))

definitions.corrected = primitive(definitions.corrected)
defvjp(definitions.corrected, *(lambda u, w, rate, v, n=n: corrected_back(u, w, rate, v)[n] for n in range(3)))

def nudged(seed, dtype='f32'):
    """Returns definitions.py in which some steps move by half an f32 ulp: logarithms of decays; tanh in its derivative 1 -
    tanh^2; and the two terms of a weight's gradient, from the row's sum and from the product with the values. If these
    terms cancel, their rounding errors remain. With a `dtype` of 16 bits, these two terms move by half its ulp: kernels
    round `out`, from which they compute the first, and may round weights. The logarithm of a row's sum moves, too: forward
    saves it, and the weights of a row are relative to it."""
    copy, nudge = copy_of(definitions), lambda x: x * (1 + numpy.random.default_rng(seed).choice([-1, 1], numpy.shape(x)) * 2.0 ** -24)
    tanh, use, exact = primitive(numpy.tanh), primitive(lambda weights: weights + 0.0), copy.decay_between
    defvjp(tanh, lambda value, x: lambda g: g * (1 - nudge(value) ** 2))
    other = numpy.random.default_rng(seed + 100)
    half = {'bf16': 2.0 ** -9, 'f16': 2.0 ** -12}.get(dtype, 2.0 ** -24)
    defvjp(use, lambda value, x: lambda g: g * (1 + other.choice([-1, 1], numpy.shape(g)) * half))
    copy.np, copy.FUNCTIONS, copy.use, copy.corrected = np, dict(definitions.FUNCTIONS, tanh=tanh), use, definitions.corrected
    copy.decay_between = lambda *sums: nudge(exact(*sums))
    copy.compared = lambda s: s + 2.0 ** -18 * numpy.abs(s).max(initial=0) * other.choice([-1, 1], s.shape)
    def saved(total, top):
        sums, top = (numpy.asarray(definitions.without_gradient(x)) for x in (abs(total), top))
        logarithm = numpy.abs(numpy.log(numpy.where(sums > 0, sums, 1.0)) + top)
        return total * (1 + other.choice([-1, 1], sums.shape) * 2.0 ** -24 * logarithm)
    copy.saved = saved
    # Rows do not depend on the maximum that is subtracted. Its derivative would remove the error of the largest weight.
    copy.shift = definitions.without_gradient
    return copy

def in_f32():
    """Returns definitions.py in which the results of rope and the weights are f32. Angles and positions are float64, and
    NumPy would compute everything after them in float64, too."""
    copy, narrow = copy_of(definitions), primitive(lambda x: numpy.asarray(x, numpy.float32))
    defvjp(narrow, lambda value, x: lambda g: numpy.asarray(g, numpy.float32))
    rope, similarity = copy.rope, copy.similarity
    copy.np, copy.FUNCTIONS, copy.use, copy.corrected = np, definitions.FUNCTIONS, definitions.use, definitions.corrected
    copy.rope = lambda *of, **options: narrow(rope(*of, **options))
    copy.similarity = lambda *of, **options: tuple(x if x is None else narrow(x) for x in similarity(*of, **options))
    return copy

NUDGED, IN_F32 = {dtype: [nudged(seed, dtype) for seed in range(4)] for dtype in ('f32', 'bf16', 'f16')}, in_f32()

def gradients(spec, P, q, k, v, dout, module=definitions):
    real = [n for n in P if P[n].dtype.kind == 'f']
    def out(args):
        Q = dict(P, **dict(zip(real, args[3:])))
        return module.attend(spec, Q, *args[:3])
    vjp, _ = make_vjp(out)(tuple([q, k, v] + [P[n] for n in real]))
    with numpy.errstate(all='ignore'): g = vjp(dout)
    g = dict(zip(['dq', 'dk', 'dv'] + ['d' + n for n in real], g))
    # If values are keys, dk includes the gradient with respect to the values.
    if spec['shape'].get('values', 'given') == 'keys': del g['dv']
    return g

def least(x):
    """Returns a lower bound of the tolerance of a gradient, without moved inputs."""
    return 4e-6 * numpy.abs(x).max() + 0 * x

def allowed(spec, P, q, k, v, dout, g, seed=0):
    """Returns the tolerance of each gradient. It is 4e-6 of the largest gradient, plus 4 times the change if every
    input, and the steps that nudged() lists, move by half an f32 ulp."""
    rng = numpy.random.default_rng(seed); nudge = lambda x: x * (1 + rng.choice([-1, 1], x.shape) * 2.0 ** -24) if x.dtype.kind == 'f' else x
    modules = NUDGED.get(spec.get('dtype'), NUDGED['f32'])
    moved = [gradients(spec, {n: nudge(x) for n, x in P.items()}, nudge(q), nudge(k), nudge(v), nudge(dout), module) for module in modules]
    return {n: least(x) + 4 * numpy.max([numpy.abs(m[n] - x) for m in moved], 0) for n, x in g.items()}

def rounded(spec, P, q, k, v, dout, seed):
    """Returns the gradients with every step rounded to f32. Inputs move by half an f32 ulp, because a single error may
    be small by chance."""
    choice = numpy.random.default_rng(seed).choice
    narrow = lambda x: (x * (1 + choice([-1, 1], x.shape) * 2.0 ** -24)).astype(numpy.float32) if x.dtype.kind == 'f' else x
    return gradients(spec, {n: narrow(x) for n, x in P.items()}, narrow(q), narrow(k), narrow(v), narrow(dout), IN_F32)

def main(spec, inputs, output):
    spec = definitions.load(spec)
    P = {n: x.astype(numpy.float64) if x.dtype.kind == 'f' else x for n, x in definitions.read_dir(inputs).items()}
    q, k, v = (P.pop(n) for n in 'qkv')
    dout = P.pop('dout', None)
    if dout is None:
        shape = q.shape[:3] + v.shape[-1:]
        dout = numpy.random.default_rng(99).standard_normal(shape).astype(numpy.float32).astype(numpy.float64)
        numpy.save(os.path.join(inputs, 'dout.npy'), dout.astype(numpy.float32))
    g = gradients(spec, P, q, k, v, dout)
    os.makedirs(output, exist_ok=True)
    for n, x in g.items(): numpy.save(os.path.join(output, n + '.npy'), x)
    for n, x in allowed(spec, P, q, k, v, dout, g).items(): numpy.save(os.path.join(output, 'allowed_' + n + '.npy'), x)

if __name__ == '__main__': main(*sys.argv[1:])
