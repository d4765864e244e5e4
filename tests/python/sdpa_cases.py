"""Tests attnc.torch.use(): results and gradients of scaled_dot_product_attention are those of PyTorch's own
operators."""
from common import *

import torch
import torch.nn.functional as F

import attnc.torch
from attnc import _sdpa

OPERATOR = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_sdpa.MIN_WORK = _sdpa.MIN_WORK_16_BITS = 0


def tensors(n_q, n_k, dtype=torch.float32, B=2, H=3, D=16):
    torch.manual_seed(n_q)
    return [torch.randn(B, n, H, D, dtype=dtype).transpose(1, 2).requires_grad_() for n in (n_q, n_k, n_k)]


def computed(q, k, v, dout, **options):
    """Returns the result, the logarithms of the denominators, and the gradients."""
    out = F.scaled_dot_product_attention(q, k, v, **options)
    _, logarithms = OPERATOR(q.detach(), k.detach(), v.detach(), 0.0, options.get('is_causal', False),
                             scale=options.get('scale'))
    return [out, logarithms, *torch.autograd.grad(out, (q, k, v), dout)]


def count_calls(function):
    """Calls the function, and returns its result and how many kernels of attnc ran."""
    kernels = []
    kernel_of = _sdpa._kernel_of
    _sdpa._kernel_of = lambda *call: kernels.append(call) or kernel_of(*call)
    try:
        return function(), len(kernels)
    finally:
        _sdpa._kernel_of = kernel_of


@case
def pytorch_computes_the_same(folder):
    for dtype, limit in (torch.float32, 1e-5), (torch.float64, 1e-13), (torch.bfloat16, 4e-2), (torch.float16, 5e-3):
        for n_q, n_k, options in ((33, 33, {'is_causal': True}), (70, 45, {'is_causal': True}), (5, 50, {}),
                                  (45, 70, {'is_causal': True, 'scale': 0.3}), (1, 1, {}), (64, 65, {'scale': 2.0})):
            arrays = tensors(n_q, n_k, dtype)
            dout = torch.randn(2, 3, n_q, 16, dtype=dtype)
            wanted = computed(*arrays, dout, **options)
            with attnc.torch.use():
                made, count = count_calls(lambda: computed(*arrays, dout, **options))
            check(count == 3, '%d kernels ran' % count)
            for number, (one, two) in enumerate(zip(made, wanted)):
                largest = max(1, float(two.detach().abs().max()))
                close(one.detach().double(), two.detach().double(), limit * largest, '%s, %s x %s: %d' % (dtype, n_q, n_k, number))
                check(one.stride() == two.stride() and one.dtype == two.dtype, 'strides of %d' % number)


@case
def other_calls_are_of_pytorch(folder):
    q, k, v = (a.detach() for a in tensors(20, 20))
    mask = torch.rand(20, 20) < 0.5
    with attnc.torch.use():
        for options in {'attn_mask': mask}, {'attn_mask': mask.float()}:
            _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v, **options))
            check(count == 0, options)
        _sdpa.MIN_WORK = 1 << 30
        _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
        _sdpa.MIN_WORK = 0
        check(count == 0, 'a small call')


@case
def undo_restores_it(folder):
    q, k, v = (a.detach() for a in tensors(20, 20))
    before = F.scaled_dot_product_attention(q, k, v)
    used = attnc.torch.use()
    _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
    used.undo()
    used.undo()
    after, none = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
    check((count, none) == (1, 0) and torch.equal(before, after), '%d, then %d kernels' % (count, none))


@case
def modules_and_compiled_graphs_use_it(folder):
    torch.manual_seed(0)
    layer, x = torch.nn.MultiheadAttention(24, 3, batch_first=True), torch.randn(2, 20, 24)
    wanted, _ = layer(x, x, x, need_weights=False)
    compiled = torch.compile(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), fullgraph=True,
                             backend='aot_eager')
    q = tensors(20, 20)[0]
    expected = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    with attnc.torch.use():
        (made, _), count = count_calls(lambda: layer(x, x, x, need_weights=False))
        check(count == 1, '%d kernels of the module' % count)
        out, count = count_calls(lambda: compiled(q))
        check(count == 1, '%d kernels of the graph' % count)
        close(torch.autograd.grad(out.sum(), q)[0], torch.autograd.grad(expected.sum(), q)[0], 1e-5, 'gradients')
    close(made.detach(), wanted.detach(), 1e-5, 'the module')
    close(out.detach(), expected.detach(), 1e-5, 'the graph')


@case
def without_a_compiler_pytorch_computes(folder):
    import warnings
    q, k, v = (a.detach() for a in tensors(20, 20))
    def fail(*call):
        raise attnc.CompilerError('no C compiler found')
    kernel_of, _sdpa._kernel_of = _sdpa._kernel_of, fail
    with attnc.torch.use() as first, attnc.torch.use():
        first.undo()
    try:
        with attnc.torch.use(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            for _ in range(2):
                F.scaled_dot_product_attention(q, k, v)
    finally:
        _sdpa._kernel_of, _sdpa._operators._failed = kernel_of, False
    check([str(w.message) for w in said] == ['attnc.torch.use(): PyTorch computes attention, because no C compiler found'], said)


if __name__ == '__main__':
    sys.exit(main(__doc__))
