"""Tests scores, sums and outputs through every door: NumPy, PyTorch, threads, JAX, states and pages."""
import threading

from common import *

import jax
import jax.numpy as jnp
import torch

jax.config.update('jax_platforms', 'cpu')

B, H, G, N, M = 2, 4, 2, 9, 13
SPEC = {   # the second inner product has rows that are rotated, and a state stores these prepared
    'name': 'two_maps', 'prepare': ['rope', {'rope': {'rows': ['q2', 'k2'], 'base': 100}}], 'similarity': 'softmax', 'mask': 'causal',
    'arrays': {'q2': {'shape': ['B', 'H', 'Nq', 6]}, 'k2': {'shape': ['B', 'G', 'Nk', 6]}, 'lam': {'shape': ['H']}},
    'scores': {'r': {'query': 'q2', 'key': 'k2'}}, 'output': 'a - lam[h] * c', 'shape': {'head_dim': 8},
    'sums': {'a': {}, 'c': {'similarity': {'softmax': {'scale': 1, 'modify': '0.3 * r'}}}}}
NAMES = 'q2', 'k2', 'lam'
LIMITS = {'f32': (2e-6, 2e-5), 'f64': (1e-13, 1e-12), 'bf16': (0.03, 0.2)}
KINDS = {'f32': torch.float32, 'f64': torch.float64, 'bf16': torch.bfloat16}


def drawn(dtype='f32', n=N, m=M):
    """Returns q, k, v and the arrays as tensors. Arrays are not of 16 bits."""
    draw = torch.Generator().manual_seed(1)
    of = lambda kind, *shape: (0.7 * torch.randn(*shape, generator=draw, dtype=torch.float64)).to(kind)
    own = torch.float64 if dtype == 'f64' else torch.float32
    return [*(of(KINDS[dtype], B, heads, rows, 8) for heads, rows in ((H, n), (G, m), (G, m))),
            of(own, B, H, n, 6), of(own, B, G, m, 6), of(own, H)]


def rotated(x, base, first):
    """Rotates neighbours, as rope does."""
    half = x.shape[-1] // 2
    angle = (torch.arange(x.shape[2], dtype=x.dtype) + first)[:, None] * base ** (-torch.arange(half, dtype=x.dtype) / half)
    one, other = x[..., ::2], x[..., 1::2]
    return torch.stack([one * angle.cos() - other * angle.sin(), other * angle.cos() + one * angle.sin()], -1).flatten(-2)


def plain(q, k, v, q2, k2, lam):
    n, m = q.shape[2], k.shape[2]
    hidden = ~torch.ones(n, m).tril(m - n).bool()
    q, k, q2, k2 = rotated(q, 1e4, m - n), rotated(k, 1e4, 0), rotated(q2, 100, m - n), rotated(k2, 100, 0)
    k, v, k2 = (x.repeat_interleave(H // G, 1) for x in (k, v, k2))
    one, other = (s.masked_fill(hidden, -torch.inf).softmax(-1) @ v for s in (q @ k.mT / 8 ** 0.5, q2 @ k2.mT * 0.3))
    return one - lam[:, None, None] * other


def expected(given):
    """Returns the output and the gradients of the sum of its squares, in float64."""
    wide = [x.double().requires_grad_() for x in given]
    out = plain(*wide)
    return out.detach(), torch.autograd.grad(out.square().sum(), wide)


def same(got, wanted, limit, why):
    for name, one, other in zip(('q', 'k', 'v', *NAMES), got, wanted):
        close(one, other, limit * max(1, float(abs(other).max())), '%s, %s' % (why, name))


def of_tensors(made, given):
    """Returns the output and the gradients in PyTorch."""
    given = [x.clone().requires_grad_() for x in given]
    out = made(*given[:3], **dict(zip(NAMES, given[3:])))
    return out.detach().double(), [x.double() for x in torch.autograd.grad(out.double().square().sum(), given)]


@case
def tensors_of_all_dtypes_and_threads(folder):
    for dtype, (limit, of_gradients) in LIMITS.items():
        made, given = attnc.kernel({**SPEC, 'dtype': dtype, 'emit': ['forward', 'backward']}), drawn(dtype)
        wanted, gradients = expected(given)
        found = []

        def call():
            for _ in range(2): found.append(of_tensors(made, given))
        threads = [threading.Thread(target=call) for _ in range(3)]
        for one in threads: one.start()
        for one in threads: one.join()
        check(len(found) == 6, 'a thread failed')
        for out, got in found:
            close(out, wanted, limit, dtype)
            same(got, gradients, of_gradients, dtype)
        if dtype == 'f32':
            close(made(*(x.numpy() for x in given[:3]), **{n: x.numpy() for n, x in zip(NAMES, given[3:])}), wanted, limit, 'NumPy')


@case
def jit_gradients_and_vmap_of_jax(folder):
    made, given = attnc.kernel({**SPEC, 'emit': ['forward', 'backward']}), drawn()
    wanted, gradients = expected(given)
    of = [jnp.asarray(x.numpy()) for x in given]
    call = lambda q, k, v, *more: made(q, k, v, **dict(zip(NAMES, more)))
    close(jax.jit(call)(*of), wanted, 2e-6, 'jit')
    slope = jax.grad(lambda *a: (call(*a) ** 2).sum(), tuple(range(6)))
    same(jax.jit(slope)(*of), gradients, 2e-5, 'grad')
    axes = (0,) * 5 + (None,)
    two = [jnp.stack([x, 0.5 * x]) if axis == 0 else x for x, axis in zip(of, axes)]
    close(jax.vmap(call, axes)(*two)[0], wanted, 2e-6, 'vmap')
    same([x[0] for x in jax.vmap(slope, axes)(*two)], gradients, 2e-5, 'vmap of grad')
    for twice in jax.jacfwd(slope), jax.grad(lambda *a: slope(*a)[0].sum()), jax.jit(jax.jacfwd(jax.jacfwd(call))):
        refuses(lambda: twice(*of), NotImplementedError, 'two_maps: attnc has no second derivatives')


@case
def formulas_in_graphs_of_any_size(folder):
    """With dynamic=True, torch.compile has symbols also for the sizes of arrays."""
    call = lambda q, k, v, q2, k2, lam: attnc.attention(
        q, k, v, mask='causal', scores=SPEC['scores'], sums=SPEC['sums'], output=SPEC['output'], arrays={'q2': q2, 'k2': k2, 'lam': lam})
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend='aot_eager')
    for n in 9, 14:
        given = drawn(n=n, m=n)
        close(compiled(*given), call(*given), 0, '%d tokens' % n)


@case
def states_and_pages(folder):
    made, given = attnc.kernel({**SPEC, 'emit': ['forward', 'backward', 'decode']}), drawn(n=40, m=40)
    q, k, v, q2, k2, lam = (x.numpy() for x in given)
    wanted = plain(*given)
    row, tokens = 5, 16
    pages = attnc.Pages(B * row, tokens)
    table = np.arange(B * row, dtype=np.int32).reshape(B, row)
    for more in {'rewind': 9}, {'pages': pages, 'table': table}:
        state, at, outs = made.state(B, capacity=40, lam=lam, **more), 0, []
        for count in 7, 1, 1, 17, 2, 12:
            take = lambda x: np.ascontiguousarray(x[:, :, at:at + count])
            outs.append(state.extend(take(q), take(k), take(v), q2=take(q2), k2=take(k2)))
            at += count
        close(np.concatenate(outs, 2), wanted, 2e-6, more)
        if 'rewind' in more:
            state.truncate(33)
            rest = [np.ascontiguousarray(x[:, :, 33:]) for x in (q, k, v, q2, k2)]
            close(state.extend(*rest[:3], q2=rest[3], k2=rest[4]), wanted[:, :, 33:], 2e-6, 'truncated')


@case
def pairs_of_scores(folder):
    """The output `weights` may be an expression, which differs from the logit where the call says so."""
    made = attnc.kernel({**SPEC, 'prepare': [], 'emit': ['forward', 'weights'], 'weights': 'j <= i ? 2 * tanh(s / 2) - r : low',
                         'arrays': {**SPEC['arrays'], 'low': {'shape': []}}})
    q, k, v, q2, k2, lam = drawn()
    out, got = made(q, k, v, q2=q2, k2=k2, lam=lam, low=-np.inf, weights=True)
    k, k2 = (x.repeat_interleave(H // G, 1) for x in (k, k2))
    wanted = (2 * torch.tanh(q @ k.mT / 2) - q2 @ k2.mT).masked_fill(~torch.ones(N, M).tril(M - N).bool(), -torch.inf)
    check(torch.equal(torch.isinf(got), torch.isinf(wanted)), 'other hidden pairs')
    close(got.nan_to_num(neginf=0), wanted.nan_to_num(neginf=0), 1e-5, 'pairs')


@case
def processes_have_no_several_softmax(folder):
    refuses(attnc.kernel({**SPEC, 'emit': ['forward', 'backward']})._with_ranks, attnc.SpecError,
            "two_maps: several processes merge the results of one sum by its statistics, and the spec has 'sums'; …")


if __name__ == '__main__':
    sys.exit(main(__doc__))
