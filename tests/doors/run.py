#!/usr/bin/python3
"""One rule at every door: -inf in a mask hides a pair, and any other number is added to its logit.

A case is a door, a type and a mask. Its calls have one query, a few, and many; the default scale and another number.
Each result is compared with float64 NumPy, and where it is defined, with the framework's own function:
- Nothing of a hidden key or value gets into a result. Some are NaN or infinite.
- A row that sees no key is 0, also where a framework gives NaN or the mean of the values.
- A row of the lowest numbers of a type is not hidden: its weights are those of the framework.

tests/package/llama.py tests the door of ggml. The frameworks come from the environment that the suite `python` makes."""
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WITH_FRAMEWORKS = os.path.join(ROOT, 'build-python', 'frameworks', 'bin', 'python')
if not importlib.util.find_spec('torch') and os.path.exists(WITH_FRAMEWORKS) and sys.executable != WITH_FRAMEWORKS:
    os.execv(WITH_FRAMEWORKS, [WITH_FRAMEWORKS, *sys.argv])
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../lib', '../../runtime/python')]
import quick

os.environ |= {'ATTNC_CFLAGS': '-O0', 'ATTNC_CC': quick.compiler(), 'OMP_NUM_THREADS': '2', 'OMP_WAIT_POLICY': 'passive',
               'JAX_ENABLE_X64': '1'}

import json

import numpy as np

from suite import Skip, Suite, check, execute

B, H, G, D = 2, 4, 2, 16
LENGTHS = (1, 90), (3, 70), (70, 150)   # queries and keys
HIDDEN = slice(3, None, 7)              # keys that no query sees
EPSILON = {'f32': 5e-6, 'f64': 1e-13, 'bf16': 3e-2, 'f16': 4e-3}
LOWEST = {'f32': np.finfo(np.float32).min, 'f64': np.finfo(np.float64).min, 'f16': -65504.0, 'bf16': -3.3895313892515355e38}
# the axes of each mask: a number is an axis of one element
SHAPES = {'pairs': 'BHQK', 'sequences': 'B1QK', 'heads': '1HQK', 'rows': 'QK', 'keys': 'B11K', 'flags': 'B1QK',
          'flags-of-heads': 'BHQK'}


def type_of(dtype):
    if dtype == 'bf16':
        if not importlib.util.find_spec('ml_dtypes'): raise Skip('there is no ml_dtypes')
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype({'f32': 'float32', 'f64': 'float64', 'f16': 'float16'}[dtype])


def need(*modules):
    for name in modules:
        if not importlib.util.find_spec(name): raise Skip('there is no %s; the suite `python` installs it' % name)


class Call:
    """The arrays of a call, in a type of NumPy. `mask` is added, or has truth values."""

    def __init__(self, rng, dtype, kind, n_q, n_k):
        type_ = type_of(dtype)
        self.dtype, self.n_q, self.n_k = dtype, n_q, n_k
        self.q, self.k, self.v = (rng.standard_normal((B, heads, n, D)).astype(type_)
                                  for heads, n in ((H, n_q), (G, n_k), (G, n_k)))
        sizes = {'B': B, 'H': H, 'Q': n_q, 'K': n_k, '1': 1}
        shape = tuple(sizes[axis] for axis in SHAPES[kind])
        seen = rng.random(shape) < 0.6
        if n_q > 3 and shape[-2] > 1: seen[..., 2::9, :] = False
        seen[..., HIDDEN] = False
        if kind.startswith('flags'):
            self.mask, added = seen, np.where(seen, 0, -np.inf)
        else:
            added = rng.standard_normal(shape).astype(type_)
            if n_q > 3 and shape[-2] > 1:
                added[..., 1::9, :] = LOWEST[dtype]
            self.mask = added = np.where(seen, added, -np.inf).astype(type_)
        self.added = np.broadcast_to(added.astype(np.float64), (B, H, n_q, n_k))
        self.empty = (self.added == -np.inf).all(-1)

    def expected(self, scale):
        q, k, v = (x.astype(np.float64) for x in (self.q, self.k, self.v))
        logits = np.einsum('bhid,bhjd->bhij', q, k.repeat(H // G, 1)) * scale + self.added
        logits[self.empty] = 0
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights[self.empty] = 0
        return np.einsum('bhij,bhje->bhie', weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300),
                         v.repeat(H // G, 1))

    def poison(self):
        for x, filled in (self.k, (np.nan, np.inf, -np.inf)), (self.v, (-np.inf, np.nan)):
            for n, one in enumerate(filled): x[:, :, HIDDEN][:, :, n::len(filled)] = one


def spec_of(call, kind, dtype):
    """The spec of a kernel with such a mask."""
    subscripts = {'B': '[b]', 'H': '[h]', 'Q': '[row]', 'K': '[j]'}
    axes = [axis for axis in SHAPES[kind] if axis != '1']
    element = 'mask' + ''.join(subscripts[axis] for axis in axes)
    flags = kind.startswith('flags')
    array = {'shape': [{'Q': 'Nq', 'K': 'Nk'}.get(axis, axis) for axis in axes]}
    if flags or dtype in ('f16', 'bf16'): array['type'] = 'bool' if flags else dtype
    return {'name': 'door', 'shape': {'head_dim': D}, 'dtype': dtype, 'arrays': {'mask': array, 'scale': {'shape': []}},
            'similarity': {'softmax': {'scale': 1, 'modify': 's * scale' + ('' if flags else ' + ' + element)}},
            'mask': {'expr': element if flags else element + ' != -INFINITY'}}


# ---- doors: they return [B, H, n_q, D]


def by_kernel(call, kind, scale, folder):
    import attnc
    mask = call.mask.reshape([n for n, axis in zip(call.mask.shape, SHAPES[kind]) if axis != '1'])
    return attnc.kernel(spec_of(call, kind, call.dtype))(call.q, call.k, call.v, mask=mask, scale=scale)


def by_attention(call, kind, scale, folder):
    import attnc
    return attnc.attention(call.q, call.k, call.v, attn_mask=call.mask, scale=scale)


def by_program(call, kind, scale, folder):
    """The command attnc run."""
    there = os.path.join(folder, 'in')
    os.makedirs(there, exist_ok=True)
    wide = np.float64 if call.dtype == 'f64' else np.float32
    mask = call.mask.reshape([n for n, axis in zip(call.mask.shape, SHAPES[kind]) if axis != '1'])
    for name, array in ('q', call.q), ('k', call.k), ('v', call.v), ('mask', mask), ('scale', np.array(scale)):
        np.save(os.path.join(there, name + '.npy'), array if array.dtype == bool else array.astype(wide))
    with open(os.path.join(folder, 'door.yaml'), 'w') as f:
        json.dump(spec_of(call, kind, call.dtype), f)
    done = execute([os.environ['ATTNC'], 'run', os.path.join(folder, 'door.yaml'), '--in', there, '--out', folder])
    check(done.returncode == 0, done.stderr)
    return np.load(os.path.join(folder, 'out.npy'))


def tensors(call):
    import torch
    type_ = {'f32': torch.float32, 'f64': torch.float64, 'bf16': torch.bfloat16, 'f16': torch.float16}[call.dtype]
    given = [torch.tensor(x.astype(np.float64)).to(type_) for x in (call.q, call.k, call.v)]
    flags = call.mask.dtype == bool
    return given, torch.tensor(call.mask) if flags else torch.tensor(call.mask.astype(np.float64)).to(type_)


def sdpa(call, scale):
    import torch
    (q, k, v), mask = tensors(call)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)


def of_torch(call, kind, scale):
    need('torch')
    return sdpa(call, scale).double().numpy()


def by_sdpa(call, kind, scale, folder):
    need('torch')
    import attnc.torch
    with attnc.torch.use():
        return sdpa(call, scale).double().numpy()


def by_transformers(call, kind, scale, folder):
    """The function that models call, with masks of four axes."""
    need('torch', 'transformers')
    import torch
    from attnc import _model_attention
    module = torch.nn.Module()
    module.is_causal = False
    given, mask = tensors(call)
    while mask.dim() < 4: mask = mask[None]
    return _model_attention.attention(module, *given, mask, scaling=scale)[0].transpose(1, 2).double().numpy()


def jax_call(function, call, scale):
    import jax.numpy as jnp
    given = [jnp.asarray(x.swapaxes(1, 2)) for x in (call.q, call.k, call.v)]
    mask = jnp.asarray(call.mask)
    while mask.ndim < 4: mask = mask[None]
    word = 'mask' if mask.dtype == bool else 'bias'
    if function.__module__.startswith('jax'): mask = jnp.broadcast_to(mask, (B, H, call.n_q, call.n_k))
    return np.asarray(function(*given, scale=scale, **{word: mask}).astype('float64')).swapaxes(1, 2)


def of_jax(call, kind, scale):
    need('jax')
    import jax
    return jax_call(jax.nn.dot_product_attention, call, scale)


def by_jax(call, kind, scale, folder):
    need('jax')
    import attnc.jax
    from attnc._dot_product import dot_product_attention
    return jax_call(dot_product_attention, call, scale)


# doors, with the framework's own function
DOORS = {'kernel': (by_kernel, None), 'attention': (by_attention, None), 'run': (by_program, None),
         'sdpa': (by_sdpa, of_torch), 'transformers': (by_transformers, of_torch), 'jax': (by_jax, of_jax)}


def one(folder, door, dtype, kind):
    through, own = DOORS[door]
    rng = np.random.default_rng(len(kind))
    worst = 0
    for n_q, n_k in LENGTHS:
        for scale in D ** -0.5, 0.3:
            call = Call(rng, dtype, kind, n_q, n_k)
            expected = call.expected(scale)
            say = '%d queries, %d keys, scale %g: ' % (n_q, n_k, scale)
            if own:
                rows = ~call.empty
                if own is of_jax and dtype == 'f64': rows &= ~(call.added == LOWEST[dtype]).any(-1)   # its logits are f32
                theirs = own(call, kind, scale)[rows]
                check(np.allclose(theirs, expected[rows], atol=max(4 * EPSILON[dtype], 1e-5)), say + 'NumPy and the framework differ')
            if door != 'sdpa': call.poison()   # PyTorch computes this call, and multiplies hidden values by 0
            made = np.asarray(through(call, kind, scale, folder)).astype(np.float64)
            if door == 'sdpa': made[call.empty] = 0   # these rows are PyTorch's
            check(not np.isnan(made).any(), say + 'the result has NaN')
            apart = np.abs(made - expected).max()
            check(apart <= EPSILON[dtype], say + 'error %.2e of %.1e' % (apart, EPSILON[dtype]))
            check(not made[call.empty].any(), say + 'a row that sees no key is not 0')
            worst = max(worst, apart)
    return 'largest error %.1e' % worst


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.options.jobs = 1
    os.environ['ATTNC'] = suite.attnc
    for door in DOORS:
        for dtype in EPSILON:
            for kind in SHAPES:
                # the axes make other kernels, the types other code: not each pair of them
                if dtype == 'f32' or kind in ('pairs', 'keys', 'flags') and (dtype == 'bf16' or kind == 'pairs'):
                    suite.case('%s-%s-%s' % (door, dtype, kind), one, door, dtype, kind)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
