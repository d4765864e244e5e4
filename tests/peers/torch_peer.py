"""Measures PyTorch on the CPU: functions that a user calls or writes, in every form that may be the fastest."""
import math

import numpy as np
import torch
import torch._dynamo
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from measure import alternate, normal, report, row, same_job, say, seconds
from ours import Kernel, Trained
from softmax import softmax_rows

PEER = 'PyTorch'
BLOCKS = (64, 128, 256)


def version():
    return 'PyTorch ' + torch.__version__


# ---- linear attention under a causal mask: weights <f(q), f(k)>, a state [features, E + 1] carried over blocks

def with_ones(v):
    return torch.cat([v, torch.ones_like(v[..., :1])], -1)


def divide(sums, plus):
    return sums[..., :-1] / (sums[..., -1:] + plus)


def carried_loop(q, k, v, block, features, near, plus, step=None):
    """Computes attention block after block, with sketched or mapped q and k. `features` makes the factor of the
    state. `near` computes the weights in a block."""
    v1, out = with_ones(v), torch.empty_like(v)
    state = None
    for i in range(0, q.shape[1], block):
        qc, kc, vc = q[:, i:i + block], k[:, i:i + block], v1[:, i:i + block]
        if step is not None:
            if state is None:
                state = torch.zeros(q.shape[0], features(kc[:, :1]).shape[-1], v1.shape[-1])
            out[:, i:i + block], state = step(qc, kc, vc, state)
            continue
        sums = torch.bmm(near(qc, kc).tril_(), vc)
        if state is None:
            state = torch.bmm(features(kc).transpose(1, 2), vc)
        else:
            sums.baddbmm_(features(qc), state)
            state.baddbmm_(features(kc).transpose(1, 2), vc)
        torch.div(sums[..., :-1], sums[..., -1:] + plus, out=out[:, i:i + block])
    return out


def carried_all(q, k, v, block, features, near, plus):
    """Computes all blocks at once: states, their running sums, and products."""
    heads, n, _ = q.shape
    cut = lambda x: x.reshape(heads, n // block, block, x.shape[-1])
    qc, kc, vc = cut(q), cut(k), cut(with_ones(v))
    states = features(kc).transpose(2, 3) @ vc
    before = states.cumsum(1) - states
    sums = near(qc, kc).tril_() @ vc + features(qc) @ before
    return divide(sums, plus).reshape(v.shape)


def compiled_step(features, near, plus):
    """Compiles the body of the loop with torch.compile."""
    torch._dynamo.reset()

    def step(qc, kc, vc, state):
        sums = torch.bmm(near(qc, kc).tril(), vc) + torch.bmm(features(qc), state)
        return divide(sums, plus), torch.baddbmm(state, features(kc).transpose(1, 2), vc)
    return torch.compile(step, dynamic=False)


def carried_forms(q, k, v, make, features, near, plus, blocks=BLOCKS, compiled=True, most=2 << 30):
    """Returns {label: call}. `make` is a sketch or a feature map of q and k."""
    forms = {}
    size = features(make(k[:, :1])).shape[-1]
    for b in blocks:
        forms['loop over blocks of %d' % b] = lambda b=b: carried_loop(make(q), make(k), v, b, features, near, plus)
        # This form keeps the features of all keys and all queries in memory at once.
        if 4 * q.shape[0] * q.shape[1] * size * 2 <= most:
            forms['all blocks of %d at once' % b] = lambda b=b: carried_all(
                make(q), make(k), v, b, features, near, plus)
    if compiled:
        step = compiled_step(features, near, plus)
        b = blocks[-1]
        forms['loop over blocks of %d, torch.compile' % b] = lambda: carried_loop(
            make(q), make(k), v, b, features, near, plus, step)
    return forms


def trained_loop(q, k, v, block, features, near, plus):
    """Computes attention block after block. Nothing is written in place, because autograd needs the old values."""
    v1, out, state = with_ones(v), [], None
    for i in range(0, q.shape[1], block):
        qc, kc, vc = q[:, i:i + block], k[:, i:i + block], v1[:, i:i + block]
        sums = torch.bmm(near(qc, kc).tril(), vc)
        new = torch.bmm(features(kc).transpose(1, 2), vc)
        sums, state = (sums, new) if state is None else (torch.baddbmm(sums, features(qc), state), state + new)
        out.append(divide(sums, plus))
    return torch.cat(out, 1)


def same(x):
    return x


def elu_plus_one(x):
    return F.elu(x) + 1


def inner(q, k):
    return q @ k.mT


def sketched_square(q, k):
    return (q @ k.mT).square_() if not torch.compiler.is_compiling() else (q @ k.mT).square()


def tensored(x):
    """Returns the tensor product of x with itself, as in PolySketchFormer."""
    return (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)


def sketch_of(g1, g2):
    factor = 1 / math.sqrt(g1.shape[1])
    return lambda x: (x @ g1) * (x @ g2) * factor


def polysketch_exact(q, k, v, sketch, block):
    """Computes attention whose weights inside a block are <q, k>^4. Weights between blocks are sketched."""
    both = lambda x: torch.cat([x, sketch(x)], -1)
    d = q.shape[-1]
    return carried_loop(both(q), both(k), v, block, lambda x: tensored(x[..., d:]),
                        lambda a, b: (a[..., :d] @ b[..., :d].mT).square_().square_(), 1)


# ---- quadratic forms

def polynomial(q, k, v, rows, power):
    """Computes attention with the weights (s / 8)^4 under a causal mask, for some rows at a time."""
    v1, out = with_ones(v), torch.empty_like(v)
    for i in range(0, q.shape[1], rows):
        end = min(i + rows, q.shape[1])
        weights = power(torch.bmm(q[:, i:end] * 0.125, k[:, :end].mT))
        weights[:, :, i:].tril_()
        sums = torch.bmm(weights, v1[:, :end])
        torch.div(sums[..., :-1], sums[..., -1:] + 1, out=out[:, i:end])
    return out



class Arrays:
    """Standard normal q, k, v as NumPy arrays and as tensors on the same memory."""

    def __init__(self, heads, n, dim=64):
        self.arrays = [normal(seed, heads, n, dim) for seed in (1, 2, 3)]
        self.q, self.k, self.v = (torch.from_numpy(a) for a in self.arrays)


def no_grad(forms):
    def guarded(form):
        def call():
            with torch.inference_mode():
                return form().squeeze(0)
        return call
    return {label: guarded(form) for label, form in forms.items()}


def measure(options, job, arrays, spec, settings, forms, parameters=None, tolerance=1e-4):
    kernel = Kernel(spec, settings, *arrays, parameters or {}, options.threads)
    row(job, PEER, kernel, no_grad(forms), tolerance, options.limit)


def softmax_forms(q, k, v, causal, most=1 << 28):
    q, k, v = map(torch.from_numpy, (q, k, v))
    forms = {'scaled_dot_product_attention': lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)}
    batch, heads, n, dim = q.shape
    if 4 * batch * heads * n * n <= most:
        hidden = torch.full((n, n), -math.inf).triu_(1)

        def products():
            scores = (q @ k.mT).mul_(dim ** -0.5)
            return torch.softmax(scores.add_(hidden) if causal else scores, -1) @ v
        forms['matmul, softmax, matmul'] = products
    return no_grad(forms)


def bf16_row(options, n):
    job = 'softmax, causal, bf16, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        q, k, v = (x.to(torch.bfloat16) for x in (a.q, a.k, a.v))
        bits = [x.view(torch.int16).numpy().view(np.uint16) for x in (q, k, v)]
        forms = {'scaled_dot_product_attention': lambda: F.scaled_dot_product_attention(
            q[None], k[None], v[None], is_causal=True)}
        measure(options, job, bits, 'softmax_causal_bf16', {}, forms, tolerance=3e-2)


def gradients(leaves, dout, form, forward):
    """Returns a call that computes gradients with respect to the leaves. If `forward`, the call also computes the
    result."""
    dout = dout[None]
    if forward:
        return lambda: torch.autograd.grad(form()[None], leaves, dout)
    out = form()[None]
    return lambda: torch.autograd.grad(out, leaves, dout, retain_graph=True)


def train(options, job, arrays, dtype, spec, settings, make, forward, parameters=None, tolerance=1e-4):
    """Measures the gradients with respect to q, k and v. `make` returns {label: function that computes the output}."""
    given = [*arrays, normal(4, *arrays[2].shape)]
    tensors = [torch.from_numpy(a).to(dtype) for a in given]
    if dtype == torch.bfloat16:
        given = [x.view(torch.int16).numpy().view(np.uint16) for x in tensors]
    leaves = [x.detach().requires_grad_() for x in tensors[:3]]
    kernel = Trained(spec, settings, *given, parameters or {}, options.threads, forward)
    forms = {label: gradients(leaves, tensors[3], form, forward) for label, form in make(*leaves).items()}
    row(job, PEER, kernel, forms, tolerance, options.limit)


def backward_rows(options, n):
    sdpa = lambda q, k, v: {'scaled_dot_product_attention': lambda: F.scaled_dot_product_attention(
        q[None], k[None], v[None], is_causal=True)[0]}
    for name, dtype, spec, tolerance in (('', torch.float32, 'softmax_causal', 1e-4),
                                         (' bf16,', torch.bfloat16, 'softmax_causal_bf16', 5e-2)):
        job = 'softmax, causal,%s backward, n = %d' % (name, n)
        if options.wanted(PEER, job):
            a = Arrays(options.heads, n)
            train(options, job, a.arrays, dtype, spec, {}, sdpa, False, tolerance=tolerance)
    job = 'linear, ELU + 1, causal, forward and backward, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        forms = trained_forms(elu_plus_one, same, inner, 0)
        train(options, job, a.arrays, torch.float32, 'linear_elu', {}, forms, True)


def trained_forms(make, features, near, plus, blocks=BLOCKS, most=1 << 30):
    """Returns a function that makes the forms with gradients. `make` is a sketch or a feature map."""
    def forms(q, k, v):
        made, size = {}, features(make(k[:, :1])).shape[-1]
        for b in blocks:
            made['autograd, loop over blocks of %d' % b] = lambda b=b: trained_loop(
                make(q), make(k), v, b, features, near, plus)
            if 4 * q.shape[0] * q.shape[1] * size * 2 <= most:
                made['autograd, all blocks of %d at once' % b] = lambda b=b: carried_all(
                    make(q), make(k), v, b, features, near, plus)
        return made
    return forms


def polysketch_backward_rows(options, n):
    g1, g2 = normal(4, 64, 32), normal(5, 64, 32)
    sketch = sketch_of(torch.from_numpy(g1), torch.from_numpy(g2))
    job = 'polysketch, r = 32, sketched, forward and backward, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        train(options, job, a.arrays, torch.float32, 'polysketch_r32', {'prepare': '[]'},
              trained_forms(sketch, tensored, lambda q, k: (q @ k.mT).square(), 1), True,
              {'sketch.g1': g1, 'sketch.g2': g2})


def flex_rows(options, n):
    heads = options.heads
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])
    # The documents have 1/16, 3/16, 1/8, 1/4, 1/16 and 5/16 of the tokens.
    ends = np.cumsum([n // 16, 3 * n // 16, n // 8, n // 4, n // 16, 5 * n // 16])
    document = np.searchsorted(ends, np.arange(n), side='right').astype(np.int32)[None]
    ids = torch.from_numpy(document[0])
    causal = lambda b, h, i, j: i >= j
    plain = {'shape.head_dim': 64, 'prepare': '[]'}
    cases = [
        ('softmax, causal', None, causal, 'softmax_causal', {}, {}),
        ('sliding window of 1024', None, lambda b, h, i, j: (i >= j) & (i - j <= 1024), 'sliding_window',
         {**plain, 'mask.window.left': 1024}, {}),
        ('ALiBi, causal', lambda s, b, h, i, j: s - slopes[h] * (i - j), causal, 'softmax_alibi', {}, {}),
        ('soft-cap 50, causal', lambda s, b, h, i, j: 50 * torch.tanh(s / 50), causal, 'softmax_softcap', plain, {}),
        ('6 packed documents, causal', None, lambda b, h, i, j: (i >= j) & (ids[i] == ids[j]), 'packed_documents', {},
         {'document': document}),
    ]
    for name, score, mask, spec, settings, parameters in cases:
        job = 'FlexAttention: %s, n = %d' % (name, n)
        if not options.wanted(PEER, job):
            continue
        torch._dynamo.reset()
        a = Arrays(heads, n)
        flex, made = torch.compile(flex_attention, dynamic=False), []

        def form():
            if not made:
                made.append(create_block_mask(mask, None, None, n, n, device='cpu'))
            return flex(a.q[None], a.k[None], a.v[None], score_mod=score, block_mask=made[0])
        measure(options, job[15:], a.arrays, spec, settings, {'flex_attention, compiled': form}, parameters)


def polynomial_row(options, n):
    job = 'polynomial, degree 4, quadratic, n = %d' % n
    if not options.wanted(PEER, job):
        return
    a = Arrays(options.heads, n)
    square = lambda s: s.square_().square_()
    forms = {'%d rows at a time' % rows: lambda rows=rows: polynomial(a.q, a.k, a.v, rows, square)
             for rows in (64, 128, 256, 512)}
    forms['pow, 256 rows at a time'] = lambda: polynomial(a.q, a.k, a.v, 256, lambda s: s.pow_(4))
    measure(options, job, a.arrays, 'polynomial_p4', {'prepare': '[]'}, forms)


def polysketch_rows(options, n):
    g1, g2 = normal(4, 64, 32), normal(5, 64, 32)
    sketch = sketch_of(torch.from_numpy(g1), torch.from_numpy(g2))
    parameters = {'sketch.g1': g1, 'sketch.g2': g2}
    job = 'polysketch, r = 32, sketched, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        forms = carried_forms(a.q, a.k, a.v, sketch, tensored, sketched_square, 1)
        measure(options, job, a.arrays, 'polysketch_r32', {'prepare': '[]'}, forms, parameters)
    job = 'polysketch, r = 32, exact in blocks of 256, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        forms = {'loop over blocks of 256': lambda: polysketch_exact(a.q, a.k, a.v, sketch, 256)}
        measure(options, job, a.arrays, 'polysketch_r32_local', {'prepare': '[]'}, forms, parameters)


def linear_rows(options, n):
    job = 'linear, ELU + 1, causal, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        measure(options, job, a.arrays, 'linear_elu', {}, carried_forms(a.q, a.k, a.v, elu_plus_one, same, inner, 0))
    job = 'linear, ELU + 1, no mask, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        whole = lambda: divide(elu_plus_one(a.q) @ (elu_plus_one(a.k).mT @ with_ones(a.v)), 0)
        torch._dynamo.reset()
        measure(options, job, a.arrays, 'linear_elu', {'mask': 'none'},
                {'two products': whole, 'two products, torch.compile': torch.compile(whole)})
    job = 'Performer, 256 positive features, causal, n = %d' % n
    if options.wanted(PEER, job):
        a = Arrays(options.heads, n)
        w = normal(6, 256, 64)
        tensor = torch.from_numpy(w)

        def favor(x):
            x = x * 64 ** -0.25
            return (x @ tensor.T - x.square().sum(-1, keepdim=True) / 2).exp_() / 16
        measure(options, job, a.arrays, 'performer_positive', {},
                carried_forms(a.q, a.k, a.v, favor, same, inner, 0, compiled=False), {'features.w': w})


# ---- linear against quadratic, in each library

def naive_elu(q, k, v):
    """Computes the formula as written, with a running sum of phi(k) v^T."""
    f, g, v1 = elu_plus_one(q), elu_plus_one(k), with_ones(v)
    return divide(torch.einsum('hnf,hnfe->hne', f, torch.einsum('hnf,hne->hnfe', g, v1).cumsum(1)), 0)


def fastest(forms):
    """Returns the fastest form. Each form is called once before it is measured."""
    def best(form):
        form()
        return min(seconds(form), seconds(form))
    return min(forms.values(), key=best)


def claim_rows(options):
    title = ('Linear forms against quadratic softmax, each within its library '
             '(in brackets: its time over that of the quadratic form of the same library). '
             'Running sums: the state after every token in memory, as the formula reads.')
    g1, g2 = normal(4, 64, 32), normal(5, 64, 32)
    sketch = sketch_of(torch.from_numpy(g1), torch.from_numpy(g2))
    for n in (1024,) if options.quick else (1024, 2048, 4096, 8192):
        job = 'linear against quadratic, n = %d' % n
        if not options.wanted(PEER, job):
            continue
        say('%s: %s' % (PEER, job))
        a = Arrays(options.heads, n)
        kernels = [Kernel('softmax_causal', {}, *a.arrays, {}, options.threads),
                   Kernel('polysketch_r32', {'prepare': '[]'}, *a.arrays, {'sketch.g1': g1, 'sketch.g2': g2},
                          options.threads), Kernel('linear_elu', {}, *a.arrays, {}, options.threads)]
        quadratic = no_grad(
            {'sdpa': lambda: F.scaled_dot_product_attention(a.q[None], a.k[None], a.v[None], is_causal=True)})
        polysketch = no_grad(carried_forms(a.q, a.k, a.v, sketch, tensored, sketched_square, 1, compiled=False))
        elu = no_grad(carried_forms(a.q, a.k, a.v, elu_plus_one, same, inner, 0, compiled=False))
        naive = no_grad({'naive': lambda: naive_elu(a.q, a.k, a.v)})['naive']
        calls = {'PyTorch, SDPA': quadratic['sdpa'], 'PyTorch, polysketch': fastest(polysketch),
                 'PyTorch, ELU + 1': fastest(elu), 'PyTorch, ELU + 1, running sums': naive,
                 'attnc, softmax': kernels[0], 'attnc, polysketch': kernels[1], 'attnc, ELU + 1': kernels[2]}
        base = {name: 'attnc, softmax' if name.startswith('attnc') else 'PyTorch, SDPA' for name in calls}
        for kernel in kernels:
            kernel()
        for name, kernel in zip(list(calls)[:4], (*kernels, kernels[2])):
            same_job(name, calls[name](), kernel, 1e-4)
        best, _ = alternate(list(calls.values()), options.limit)
        report(table='claim', title=title, n=n, ms={name: 1e3 * t for name, t in zip(calls, best)}, base=base)


def rows(options):
    torch.set_num_threads(options.threads)
    softmax_rows(PEER, options, softmax_forms, torch.from_numpy)
    for n in options.lengths(8192):
        bf16_row(options, n)
        flex_rows(options, n)
        polynomial_row(options, n)
        linear_rows(options, n)
    for n in options.lengths(8192):
        backward_rows(options, n)
    for n in options.lengths(8192, 32768):
        polysketch_rows(options, n)
        polysketch_backward_rows(options, n)
    claim_rows(options)
