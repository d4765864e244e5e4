"""Measures the formula of PolySketchFormer in JAX on the CPU, with jit."""
from functools import partial

import jax
import jax.numpy as jnp

from measure import normal, row
from ours import Kernel

PEER = 'JAX'


def version():
    return 'JAX ' + jax.__version__


def head(q, k, v, g1, g2, block):
    """Computes one head by a scan over blocks. The state is [r^2, E + 1]."""
    n, r = q.shape[0], g1.shape[1]
    sketch = lambda x: (x @ g1) * (x @ g2) / jnp.sqrt(jnp.float32(r))
    tensored = lambda x: (x[:, :, None] * x[:, None, :]).reshape(block, r * r)
    cut = lambda x: x.reshape(n // block, block, x.shape[-1])
    v1 = jnp.concatenate([v, jnp.ones((n, 1), v.dtype)], 1)

    def step(state, blocks):
        sq, sk, vc = blocks
        sums = jnp.tril((sq @ sk.T) ** 2) @ vc + tensored(sq) @ state
        return state + tensored(sk).T @ vc, sums[:, :-1] / (1 + sums[:, -1:])
    _, out = jax.lax.scan(step, jnp.zeros((r * r, v1.shape[1]), v.dtype), (cut(sketch(q)), cut(sketch(k)), cut(v1)))
    return out.reshape(v.shape)


@partial(jax.jit, static_argnames='block')
def all_heads(q, k, v, g1, g2, block):
    return jax.vmap(partial(head, block=block), (0, 0, 0, None, None))(q, k, v, g1, g2)


@partial(jax.jit, static_argnames='block')
def head_by_head(q, k, v, g1, g2, block):
    return jax.lax.map(lambda x: head(*x, g1, g2, block), (q, k, v))


def rows(options):
    for n in options.lengths(8192, 32768):
        job = 'polysketch, r = 32, sketched, n = %d' % n
        if not options.wanted(PEER, job):
            continue
        arrays = [normal(seed, options.heads, n, 64) for seed in (1, 2, 3)]
        g1, g2 = normal(4, 64, 32), normal(5, 64, 32)
        given = [jax.device_put(x) for x in (*arrays, g1, g2)]
        forms = {}
        for b in (64, 128, 256):
            for name, function in (('all heads', all_heads), ('head by head', head_by_head)):
                forms['scan over blocks of %d, %s' % (b, name)] = lambda b=b, function=function: function(
                    *given, block=b).block_until_ready()
        kernel = Kernel('polysketch_r32', {'prepare': '[]'}, *arrays,
                        {'sketch.g1': g1, 'sketch.g2': g2}, options.threads)
        row(job, PEER, kernel, forms, 1e-4, options.limit)
