"""Tests attnc.torch.use() with PyTorch's own samples of scaled_dot_product_attention, those of its OpInfo: kernels compute
all of them, with the results and gradients of PyTorch in 64 bits. The samples have numbers up to 9, so logits are
large, and 16 bits have the errors of PyTorch's fused operator.

With dropout, PyTorch's operator gets the weights that the kernel dropped."""
from common import *

import threading

import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

import attnc.torch
from attnc import _sdpa, _sdpa_math

_sdpa.set_work(0)
LIMITS = {torch.float32: (1e-5, 5e-5), torch.float64: (2e-14, 1e-13), torch.bfloat16: (0.01, 0.25), torch.float16: (1e-3, 0.04)}
SAMPLES = 25   # of each dtype: 12 with dropout, 1 with a mask that has a gradient
OF_FUSED = 4   # of them are computed by PyTorch's fused operator, which is replaced in C
OPERATION, = (one for one in op_db if one.name == 'nn.functional.scaled_dot_product_attention')


def kernels(function):
    """Calls the function. Returns its result, how many kernels ran in place of the fused operator and its gradient, and
    the arguments of calls in place of the other operator."""
    calls, attention, before = [], _sdpa_math.attention, _sdpa.calls()
    _sdpa_math.attention = lambda *call, **more: calls.append((call, more)) or attention(*call, **more)
    try:
        return function(), _sdpa.calls() - before, calls
    finally:
        _sdpa_math.attention = attention


def kept(call, more):
    """Returns which weights a call with dropout keeps, as a dropout_mask of PyTorch."""
    q, k = (a.detach().float() for a in call[:2])
    every = torch.eye(k.shape[2]).expand(*k.shape[:3], -1)
    return attnc.attention(torch.zeros_like(q), torch.zeros_like(k), every, None, call[4], seed=more['seed']) != 0


def computed(arrays, mask, options, dout):
    out = F.scaled_dot_product_attention(*arrays, attn_mask=mask, **options)
    needed = [a for a in (*arrays, mask) if a is not None and a.requires_grad]
    return [out, *torch.autograd.grad(out, needed, dout)]


def same(arrays, mask, options, why, fused=None):
    """Checks a call. `fused` tells whether the fused operator computes it."""
    dtype = arrays[0].dtype
    shape = F.scaled_dot_product_attention(*(a.detach() for a in arrays), attn_mask=mask, **options).shape
    dout = torch.randn(shape, dtype=dtype)
    with attnc.torch.use():
        made, count, calls = kernels(lambda: computed(arrays, mask, options, dout))
    check((count, len(calls)) == ((2, 0) if fused else (0, 1)), '%s: %d and %d kernels ran' % (why, count, len(calls)))
    wide = [a if a is None or a.dtype is torch.bool else a.detach().double().requires_grad_(a.requires_grad) for a in (*arrays, mask)]
    if options.get('dropout_p'):
        chosen = kept(*calls[0])
        out = torch.ops.aten._scaled_dot_product_attention_math(
            *wide, dropout_mask=chosen.reshape(*shape[:-2], *chosen.shape[-2:]), **options)[0]
        wanted = [out, *torch.autograd.grad(out, [a for a in wide if a is not None and a.requires_grad], dout.double())]
    else:
        wanted = computed(wide[:3], wide[3], options, dout.double())
    for number, (one, two) in enumerate(zip(made, wanted)):
        check(one.dtype == dtype and one.shape == two.shape, '%s: %s, %s' % (why, one.dtype, one.shape))
        close(one.detach().double(), two.detach(), LIMITS[dtype][number > 0] * max(1, float(two.detach().abs().max())),
              '%s: %d' % (why, number))
    return count > 0


def of_samples(dtype):
    torch.manual_seed(7)
    numbers = {True: 0, False: 0}
    for number, sample in enumerate(OPERATION.sample_inputs('cpu', dtype, requires_grad=True)):
        options = dict(sample.kwargs)
        mask, arrays = options.pop('attn_mask', None), (sample.input, *sample.args)
        fused = not options['dropout_p'] and mask is None and all(a.dim() == 4 for a in arrays)
        numbers[same(arrays, mask, options, '%s, sample %d' % (dtype, number), fused)] += 1
    check(numbers == {True: OF_FUSED, False: SAMPLES - OF_FUSED}, 'kernels computed %s' % numbers)


@case
def samples_of_float32(folder):
    of_samples(torch.float32)


@case
def samples_of_float64(folder):
    of_samples(torch.float64)


@case
def samples_of_bfloat16(folder):
    of_samples(torch.bfloat16)


@case
def samples_of_float16(folder):
    of_samples(torch.float16)


@case
def other_shapes(folder):
    torch.manual_seed(8)
    def drawn(*shapes, dtype=torch.float32):
        return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    rows = (5, 8), (7, 8), (7, 8)
    same(drawn(*rows), None, {'is_causal': True}, 'without a batch')
    same(drawn(*rows), drawn((5, 7))[0], {'scale': -0.3}, 'a mask without a batch')
    same(drawn((2, 3, 2, 5, 8), (3, 1, 7, 8), (2, 1, 1, 7, 8)), drawn((5, 1))[0], {}, 'five axes')
    same(drawn((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)), None, {'is_causal': True, 'dropout_p': 0.5}, 'values of another size')
    same(drawn((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)), drawn((2, 1, 1, 7))[0], {'enable_gqa': True, 'scale': 0.4}, 'grouped heads')
    mask = torch.rand(3, 5, 7) < 0.5
    mask[1, 2] = False   # a query that sees no key
    same(drawn((3, 5, 8), (3, 7, 8), (3, 7, 8), dtype=torch.float64), mask, {}, 'a mask of truth values')


@case
def pytorch_computes_what_it_is_asked_for(folder):
    """Calls that are small, wrong, transformed or traced, or whose user forbids fused operators."""
    q = torch.randn(3, 5, 8, requires_grad=True)
    attend = lambda q: F.scaled_dot_product_attention(q, q, q)
    wanted = attend(q)
    def forbidden(q):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH): return attend(q)
    def small(q):
        _sdpa.set_work(1 << 12)
        try: return attend(q)
        finally: _sdpa.set_work(0)
    with attnc.torch.use():
        for name, function in (('forbidden', forbidden), ('small', small), ('vmap', torch.vmap(attend)), ('jvp', lambda q: torch.func.jvp(
                attend, (q,), (q,))[0]), ('a graph', torch.compile(attend, backend='aot_eager', fullgraph=True))):
            made, _, calls = kernels(lambda: function(q))
            check(not calls, '%s: a kernel ran' % name)
            close(made.detach(), wanted.detach(), 1e-6, name)
        for wrong in [(q, q[:, :, :7], q)], [(q, q.double(), q)], [(q, q[:2], q)], [(q, q, q), 2.0]:
            try: kernels(lambda: F.scaled_dot_product_attention(*wrong[0], None, *wrong[1:]))
            except RuntimeError: continue
            raise Failure('no error')
        second, = torch.autograd.grad(forbidden(q).square().sum(), q, create_graph=True)
        torch.autograd.grad(second.sum(), q)
    after, _, calls = kernels(lambda: attend(q))
    check(not calls and torch.equal(after, wanted), 'undo')


@case
def threads_and_seeds(folder):
    """torch.manual_seed() says what dropout drops, and calls of several threads do not disturb each other."""
    q, mask = torch.randn(4, 33, 8), torch.randn(33, 33, requires_grad=True)
    made, wrong = {}, []
    attend = lambda **more: F.scaled_dot_product_attention(q, q, q, **more)
    wanted = attend(attn_mask=mask).detach()

    def work():
        for _ in range(10):
            if not torch.allclose(attend(attn_mask=mask).detach(), wanted, atol=1e-5): wrong.append(1)
    with attnc.torch.use():
        for seed in 1, 2, 1:
            torch.manual_seed(seed)
            out = attend(dropout_p=0.5)
            check(torch.equal(made.setdefault(seed, out), out), 'seed %d' % seed)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for one in threads: one.start()
        for one in threads: one.join()
    check(not wrong and not torch.equal(made[1], made[2]), '%d wrong results' % len(wrong))


if __name__ == '__main__':
    sys.exit(main(__doc__))
