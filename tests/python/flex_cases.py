"""Tests attnc.torch.flex_attention: it gives PyTorch's results, and gradients of captured tensors. Its errors quote
the line."""
import math
import threading

from common import *

import torch
import torch._dynamo.testing
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, create_mask

import attnc.torch

B, H, G, L, S, D = 2, 4, 2, 70, 45, 8
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False


def tensors(n_q=L, n_k=L, dtype=torch.float32, grad=False, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(B, heads, n, D, dtype=dtype, requires_grad=grad) for heads, n in ((H, n_q), (G, n_k), (G, n_k))]


def captured():
    torch.manual_seed(1)
    return {'slopes': torch.tensor([0.5, 0.25, 0.125, 0.0625]), 'table': torch.randn(H, 2 * L), 'cap': torch.tensor(5.0),
            'bias': torch.randn(B, H, L, L), 'keys': torch.randn(B, H, L).to(torch.bfloat16),
            'document': torch.sort(torch.randint(0, 3, (B, L)), -1)[0], 'prefix': torch.tensor([10, 33]),
            'bucket': torch.randint(0, 2 * L, (L,)), 'tree': torch.rand(L, L) < 0.3, 'pages': torch.randint(-3, 3, (L,))}


def scores(c):
    inf = float('inf')
    return {
        'none': None,
        'causal': lambda s, b, h, q, k: torch.where(q >= k, s, -inf),
        'causal_turned': lambda s, b, h, q, k: torch.where(q < k, torch.tensor(-inf), s),
        'distance': lambda s, b, h, q, k: s + (q - k) * 0.1,
        'alibi': lambda s, b, h, q, k: s + c['slopes'][h] * (k - q),
        'softcap': lambda s, b, h, q, k: c['cap'] * torch.tanh(s / c['cap']),
        'softcap_of_a_number': lambda s, b, h, q, k: 5.0 * torch.tanh(s / 5.0),
        'bias': lambda s, b, h, q, k: s + c['bias'][b, h, q, k],
        'bias_in_steps': lambda s, b, h, q, k: s + c['bias'][b][h][q, k] - c['bias'][0, 1, 2, 3],
        'table': lambda s, b, h, q, k: s + c['table'][h, q - k + L],
        'negative_subscripts': lambda s, b, h, q, k: s + c['table'][h, q - k],
        'bucket': lambda s, b, h, q, k: s * c['table'][h, c['bucket'][k]],
        'half': lambda s, b, h, q, k: s - c['keys'][b, h, k],
        'clamped': lambda s, b, h, q, k: s + c['table'][h, torch.clamp((q - k).abs(), max=7)],
        'floors': lambda s, b, h, q, k: s * ((q - k) % 3 + 0.5) + (q - k) // 4 + c['pages'][q] // 2 + (k - q).remainder(5),
        'two_branches': lambda s, b, h, q, k: torch.where(q % 2 == 0, s, torch.where(k <= q, s * 2, -inf)),
        'functions': lambda s, b, h, q, k: (s * torch.sigmoid(s) + (q >= k).float() - torch.log1p(k.abs())
                                            + torch.erf(s) * torch.rsqrt(1.0 + q) - (s ** 2) / 10 + torch.minimum(s, -s)),
    }


def masks(c):
    return {
        'none': None,
        'causal': lambda b, h, q, k: q >= k,
        'window': lambda b, h, q, k: (q >= k) & (q - k <= 9),
        'document': lambda b, h, q, k: (c['document'][b, q] == c['document'][b, k]) & (k <= q),
        'prefix': lambda b, h, q, k: (k < c['prefix'][b]) | (q >= k),
        'heads': lambda b, h, q, k: ((q - k) % 3 == 0) & (q >= k) & ~((h == 1) & (k > 5)),
        'blocks': lambda b, h, q, k: q // 16 == k // 16,
        'given': lambda b, h, q, k: c['tree'][q, k] | (q == k),
        'both': flex.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: torch.logical_not(k == 3)),
    }


def block_mask(mod, n_q=L, n_k=L):
    return None if mod is None else create_block_mask(mod, B, H, n_q, n_k, device='cpu')


def dense(score_mod, mask_mod, q, k, v):
    """Computes attention by tensor operations, which autograd can differentiate."""
    n_q, n_k = q.shape[2], k.shape[2]
    s = (q @ k.repeat_interleave(H // G, 1).transpose(-1, -2)) / math.sqrt(D)
    if score_mod:
        at = torch.meshgrid(*(torch.arange(n) for n in (B, H, n_q, n_k)), indexing='ij')
        s = score_mod(s, *at)
    if mask_mod:
        s = s.masked_fill(~create_mask(mask_mod, B, H, n_q, n_k, device='cpu'), -math.inf)
    return torch.softmax(s, -1).nan_to_num(0) @ v.repeat_interleave(H // G, 1)


@case
def pytorch_computes_the_same(folder):
    c, (q, k, v) = captured(), tensors()
    # A score and a mask are translated separately, so few pairs of them show how they are joined.
    both = ((s, 'causal') for s in ('causal_turned', 'alibi', 'table', 'functions', 'two_branches'))
    for pairs in ((s, 'none') for s in scores(c)), both, (('none', m) for m in masks(c) if m != 'none'):
        for s, m in pairs:
            mask = block_mask(masks(c)[m])
            wanted, lse = flex.flex_attention(q, k, v, scores(c)[s], mask, enable_gqa=True, return_lse=True)
            made, made_lse = attnc.torch.flex_attention(q, k, v, scores(c)[s], mask, enable_gqa=True, return_lse=True)
            close(made, wanted, 2e-5, '%s, %s' % (s, m))
            close(made_lse, lse, 2e-5, '%s, %s: lse' % (s, m))


@case
def other_lengths_scales_and_dtypes(folder):
    c = captured()
    mod = masks(c)['causal']
    for dtype, limit in (torch.float64, 1e-10), (torch.bfloat16, 3e-2), (torch.float16, 4e-3):
        for n_q, n_k in (L, S), (S, L):
            q, k, v = tensors(n_q, n_k, dtype)
            wanted = flex.flex_attention(q.double(), k.double(), v.double(), scores(c)['alibi'], block_mask(mod, n_q, n_k),
                                         0.3, True)
            made, aux = attnc.torch.flex_attention(q, k, v, scores(c)['alibi'], block_mask(mod, n_q, n_k), 0.3, True,
                                                   return_aux=AuxRequest(lse=True))
            close(made.double(), wanted, limit, '%s, %s x %s' % (dtype, n_q, n_k))
            check(aux.lse.shape == (B, H, n_q) and aux.max_scores is None, aux)


@case
def gradients_of_captured_tensors(folder):
    learned = {name: tensor.clone().requires_grad_() for name, tensor in captured().items() if tensor.is_floating_point()}
    c = captured() | learned
    for s, m in (('alibi', 'causal'), ('softcap', 'document'), ('bias', 'none'), ('table', 'causal'), ('half', 'window'),
                 ('bucket', 'none'), ('functions', 'causal'), ('two_branches', 'prefix')):
        q, k, v = tensors(grad=True)
        dout = torch.randn(B, H, L, D)
        each = [q, k, v, *(learned[name] for name in ('slopes', 'cap', 'bias', 'table', 'keys'))]
        wanted = torch.autograd.grad(dense(scores(c)[s], masks(c)[m], q, k, v), each, dout, allow_unused=True)
        made = torch.autograd.grad(attnc.torch.flex_attention(q, k, v, scores(c)[s], block_mask(masks(captured())[m]),
                                                              enable_gqa=True), each, dout, allow_unused=True)
        for number, (one, two) in enumerate(zip(made, wanted)):
            check((one is None) == (two is None), '%s: gradient %d' % (s, number))
            if one is not None:
                limit = (2e-2 if one.dtype == torch.bfloat16 else 1e-4) * max(1, float(two.abs().max()))
                check(one.dtype == two.dtype, '%s: gradient %d is %s' % (s, number, one.dtype))
                close(one.float(), two.float(), limit, '%s: gradient %d' % (s, number))


@case
def blocks_without_a_function(folder):
    q, k, v = tensors(64, 64)
    counts = torch.tensor([1, 2, 0, 1]).expand(1, 1, 4)
    listed = torch.tensor([[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]).expand(1, 1, 4, 4)
    mask = BlockMask.from_kv_blocks(counts.int(), listed.int(), BLOCK_SIZE=16, seq_lengths=(64, 64))
    wanted = dense(None, lambda b, h, x, y: mask.to_dense()[0, 0].bool()[x // 16, y // 16], q, k, v)
    close(attnc.torch.flex_attention(q, k, v, None, mask, enable_gqa=True), wanted, 1e-5, 'blocks')


@case
def what_it_refuses(folder):
    c, (q, k, v) = captured(), tensors()
    def gamma(s, b, h, x, y): return torch.lgamma(s)
    def branch(s, b, h, x, y): return s if x > y else -s
    def whole(s, b, h, x, y): return s + c['slopes']
    def inside(s, b, h, x, y): return -torch.where(x > y, s, -math.inf)
    for mod, why in ((gamma, 'torch.lgamma()'), (branch, 'a Python condition on a position or a score; '),
                     (whole, 'a tensor of shape [4] without subscripts'), (inside, 'this operation on -inf')):
        refuses(lambda: attnc.torch.flex_attention(q, k, v, mod, enable_gqa=True), attnc.torch.Untranslatable,
                'flex_attention cannot compile %s…' % why)
        try:
            attnc.torch.flex_attention(q, k, v, mod, enable_gqa=True)
        except NotImplementedError as error:
            check('flex_cases.py:%d: def %s' % (mod.__code__.co_firstlineno, mod.__name__) in str(error), error)
    refuses(lambda: attnc.torch.flex_attention(q, k, v), ValueError,
            'query has 4 heads and key has 2: this needs enable_gqa=True')
    refuses(lambda: attnc.torch.flex_attention(q, k, v, None, block_mask(masks(c)['causal'], 30, 30), enable_gqa=True),
            ValueError, 'block_mask is for 30 queries and 30 keys, but the call has 70 and 70')
    fewer = block_mask(masks(c)['causal'])
    fewer.mask_mod = lambda b, h, x, y: x >= 0
    fewer.kv_num_blocks, fewer.full_kv_num_blocks = fewer.kv_num_blocks * 0, None
    refuses(lambda: attnc.torch.flex_attention(q, k, v, None, fewer, enable_gqa=True), attnc.torch.Untranslatable,
            'the blocks of this BlockMask hide keys that its mask_mod shows: …')


@case
def one_kernel_serves_other_tensors(folder):
    """The kernel does not depend on the values of captured tensors, nor on lengths."""
    from attnc import flex as ours
    before = None
    for n, shift in (L, 0.0), (S, 1.0):
        q, k, v = tensors(n, n)
        slopes, document = torch.rand(H) + shift, torch.zeros(B, n, dtype=torch.long)
        mask = block_mask(lambda b, h, x, y: (document[b, x] == document[b, y]) & (x >= y), n, n)
        attnc.torch.flex_attention(q, k, v, lambda s, b, h, x, y: s - slopes[h] * (x - y), mask, enable_gqa=True)
        count = len(attnc._formula._formulas)
        check(before in (None, count), '%s kernels, then %s' % (before, count))
        before = count


@case
def graphs_of_torch_compile(folder):
    """torch.compile has no graph break. Results and gradients are those of eager calls."""
    learned = {name: tensor.clone().requires_grad_() for name, tensor in captured().items() if tensor.is_floating_point()}
    c = captured() | learned
    each = [learned[name] for name in ('slopes', 'cap', 'bias', 'table', 'keys')]
    for s, m in (('bias_in_steps', 'causal'), ('table', 'causal'), ('two_branches', 'given'), ('half', 'document'),
                 ('floors', 'none'), ('softcap', 'both')):
        mask, dout = block_mask(masks(captured())[m]), torch.randn(B, H, L, D)
        made = []
        torch._dynamo.reset()
        for way in lambda f: f, lambda f: torch.compile(f, fullgraph=True, backend='aot_eager'):
            function = way(lambda q, k, v: attnc.torch.flex_attention(q * 2, k, v, scores(c)[s], mask, enable_gqa=True) + 1)
            inputs = tensors(grad=True)
            out = function(*inputs)
            made.append([out, *torch.autograd.grad(out, [*inputs, *each], dout, allow_unused=True)])
        for number, (one, two) in enumerate(zip(*made)):
            check((one is None) == (two is None), '%s, %s: %d' % (s, m, number))
            if one is not None:
                close(one.detach().float(), two.detach().float(), 1e-5, '%s, %s: %d' % (s, m, number))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.rand(H))
        self.register_buffer('document', torch.arange(200)[None] // 20)

    def forward(self, q, k, v, mask, shift):
        steeper = self.slopes * 2

        def score(s, b, h, x, y):
            return s - steeper[h] * (x - y) + shift
        return attnc.torch.flex_attention(q, k, v, score, mask, enable_gqa=True)


@case
def logarithms_in_graphs(folder):
    """Also of rows that see no key, and in calls with gradients."""
    slopes = torch.rand(H, requires_grad=True)
    mask = block_mask(lambda b, h, x, y: (x >= y) & (x != 5))
    for aux in False, True:
        def function(q, k, v):
            more = {'return_aux': AuxRequest(lse=True)} if aux else {'return_lse': True}
            out, lse = attnc.torch.flex_attention(q, k, v, lambda s, b, h, x, y: s - slopes[h] * (x - y), mask,
                                                  enable_gqa=True, **more)
            return out, lse.lse if aux else lse
        made = []
        for way in function, torch.compile(function, fullgraph=True, backend='aot_eager'):
            inputs = tensors(grad=True)
            out, lse = way(*inputs)
            check(not lse.requires_grad, 'the logarithms require a gradient')
            made.append([out.detach(), lse, *torch.autograd.grad(out.square().sum(), [*inputs, slopes])])
        check(bool((made[1][1][:, :, 5] == -torch.inf).all()), 'rows without keys')
        for number, (one, two) in enumerate(zip(*made)):
            same = one == two   # -inf - -inf is no number
            close(torch.where(same, 0, one), torch.where(same, 0, two), 1e-5, 'number %d' % number)


@case
def modules_in_graphs(folder):
    layer = Layer()
    compiled = torch.compile(layer, fullgraph=True, backend='aot_eager', dynamic=True)
    for n, shift in (64, 0.5), (65, 0.5), (100, 1.5):
        inputs = tensors(n, n, grad=True)
        mask = block_mask(lambda b, h, x, y: (layer.document[0, x] == layer.document[0, y]) & (x >= y), n, n)
        wanted, made = layer(*inputs, mask, shift), compiled(*inputs, mask, shift)
        close(made.detach(), wanted.detach(), 0, '%d tokens' % n)
        each = [*inputs, layer.slopes]
        for one, two in zip(torch.autograd.grad(made.sum(), each), torch.autograd.grad(wanted.sum(), each)):
            close(one, two, 1e-6, 'gradients of %d tokens' % n)
    q, k, v = tensors(64, 64)
    counts = torch.tensor([1, 2, 0, 1]).expand(1, 1, 4)
    listed = torch.tensor([[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]).expand(1, 1, 4, 4)
    mask = BlockMask.from_kv_blocks(counts.int(), listed.int(), BLOCK_SIZE=16, seq_lengths=(64, 64))
    function = lambda q, k, v: attnc.torch.flex_attention(q, k, v, None, mask, enable_gqa=True, scale=0.3)
    close(torch.compile(function, fullgraph=True, backend='aot_eager')(q, k, v), function(q, k, v), 1e-6, 'blocks')
    bad = torch.compile(lambda q, k, v: attnc.torch.flex_attention(q, k, v, lambda s, *_: torch.lgamma(s), enable_gqa=True),
                        fullgraph=True, backend='aot_eager')
    try:
        bad(q, k, v)
    except Exception as error:
        check('flex_attention cannot compile torch.lgamma()' in str(error), error)
    else:
        check(False, 'no error')


def users(c):
    """Returns score_mods as PyTorch's tests and users write them."""
    inf, F = float('inf'), torch.nn.functional
    return {
        'extremes': lambda s, b, h, q, k: s + torch.max(q, k) * 0.1 - torch.min(q, k) * 0.2,
        'bits': lambda s, b, h, q, k: s + ((q >> 2) & 3) * 0.1 - ((k << 1) | 1) * 0.01 + (q ^ k) * 0.03 + ~k * 0.01,
        'powers': lambda s, b, h, q, k: s * 2 ** h + torch.exp2(-((h + 1) * 8.0 / H)) * (k - q),
        'logarithms': lambda s, b, h, q, k: s + torch.log2(1 + (q - k).abs()).to(int) * 0.5,
        'added': lambda s, b, h, q, k: s + torch.where(q >= k, 0.0, -inf),
        'doubled': lambda s, b, h, q, k: torch.where(q >= k, s, -inf) * 2,
        'threshold': lambda s, b, h, q, k: torch.where(s > 0, s, -inf),
        'causal_threshold': lambda s, b, h, q, k: torch.where(q >= k, torch.where(s > c['keys'][b, h, k], s, -inf), -inf),
        'tensor_of_inf': lambda s, b, h, q, k: torch.where(q >= k, s, torch.tensor(-inf, dtype=s.dtype, device=s.device)),
        'new_full': lambda s, b, h, q, k: torch.where((q - k) % 3 == 0, s.new_full((), -inf), s + s.new_zeros(())),
        'full_like': lambda s, b, h, q, k: torch.where(q >= k, s, torch.full_like(s, -inf)) + torch.zeros_like(s),
        'rounding': lambda s, b, h, q, k: torch.round(q / 2) + torch.ceil(s) - torch.trunc(s * 3) / 3 + torch.sign(s - 0.1),
        'rests': lambda s, b, h, q, k: s + torch.fmod(k - q, 5) * 0.1 + torch.div(k - q, 4, rounding_mode='trunc') * 0.3,
        'activations': lambda s, b, h, q, k: F.gelu(s) + F.gelu(s, approximate='tanh') + F.silu(s) + F.softplus(s) + F.relu(s),
        'tested': lambda s, b, h, q, k: torch.where(torch.isnan(s) | torch.isinf(s), 0.0, torch.addcmul(s, s, s, value=0.1)),
        'truths': lambda s, b, h, q, k: s + ((q > k) + (q > 5)) * 0.3 + ((q > k) * (k > 3)) * 0.5,
        'trigonometry': lambda s, b, h, q, k: torch.sin(torch.cos(s)) + torch.tan(b),
        'filled': lambda s, b, h, q, k: s.masked_fill(q < k, -inf).to(s.dtype),
        'in_place': lambda s, b, h, q, k: s.mul_(2).add_(h),
        'hidden_rows': lambda s, b, h, q, k: torch.where((q > 5) & (q >= k), s, -inf),
        'bias_of_inf': lambda s, b, h, q, k: s + c['holes'][h, q, k],
        'bytes_with_a_sign': lambda s, b, h, q, k: s + c['bytes'][k % 4].to(torch.int8) * 0.01,
    }


def with_holes():
    c = captured()
    c['holes'] = torch.randn(H, L, L).masked_fill(torch.rand(H, L, L) < 0.4, -math.inf)
    c['holes'][1, 7] = -math.inf
    c['bytes'] = torch.tensor([3, 200, 128, 255], dtype=torch.uint8)
    return c


@case
def score_mods_of_users(folder):
    c, (q, k, v) = with_holes(), tensors()
    for name, mod in users(c).items():
        wanted = flex.flex_attention(q, k, v, mod, enable_gqa=True, return_lse=True)
        made = attnc.torch.flex_attention(q, k, v, mod, enable_gqa=True, return_lse=True)
        for one, two in zip(made, wanted):
            same = one == two   # -inf - -inf is no number
            close(torch.where(same, 0, one), torch.where(same, 0, two), 3e-5, name)


@case
def wide_integers(folder):
    """Captured int64 that do not fit 32 bits are compared as they are. Other uses are refused, in graphs by each call."""
    q, k, v = tensors()
    ids = (torch.arange(L) // 9 * 2 ** 32 + 5).roll(3)
    ids[:4] = -1
    ends = ids[torch.arange(L).clamp(max=60)] + 2 ** 33
    def seen(b, h, x, y): return (ids[x] == ids[y]) & (ids[y] != -1) | (ends[x] < ids[y])
    def added(s, b, h, x, y): return s + (ids[x] - ids[y]) * 1e-12
    mask = block_mask(seen)
    wanted = flex.flex_attention(q, k, v, None, mask, enable_gqa=True)
    function = lambda q, k, v: attnc.torch.flex_attention(q, k, v, None, mask, enable_gqa=True)
    for way in function, torch.compile(function, fullgraph=True, backend='aot_eager'):
        close(way(q, k, v), wanted, 2e-5, 'wide')
    for way in lambda f: f, lambda f: torch.compile(f, fullgraph=True, backend='aot_eager'):
        try:
            way(lambda q, k, v: attnc.torch.flex_attention(q, k, v, added, enable_gqa=True))(q, k, v)
        except Exception as error:
            check('integers that do not fit 32 bits' in str(error) and '(ids[x] - ids[y])' in str(error) or 'sub' in str(error),
                  error)
        else:
            check(False, 'no error')


@case
def tables_of_symbolic_sizes(folder):
    """One graph serves tables whose size depends on the number of tokens."""
    def function(q, k, v, table):
        n = q.shape[2]
        return attnc.torch.flex_attention(q, k, v, lambda s, b, h, x, y: s + table[h, x - y + n - 1] + table[h, y - x], None,
                                          enable_gqa=True)
    count = torch._dynamo.testing.CompileCounterWithBackend('aot_eager')
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend=count, dynamic=True)
    for n in 40, 41, 52, 63:
        q, k, v = tensors(n, n, grad=True)
        table = torch.randn(H, 2 * n - 1, requires_grad=True)
        wanted, made = function(q, k, v, table), compiled(q, k, v, table)
        close(made.detach(), wanted.detach(), 1e-5, '%d tokens' % n)
        for one, two in zip(torch.autograd.grad(made.square().sum(), [q, table]),
                            torch.autograd.grad(wanted.square().sum(), [q, table])):
            close(one, two, 1e-4, 'gradients of %d tokens' % n)
    check(count.frame_count == 1, '%d graphs' % count.frame_count)


@case
def threads_at_the_same_time(folder):
    """Threads call flex_attention with other formulas, masks and shapes."""
    c, calls = captured(), []
    for number, (s, m) in enumerate((('alibi', 'none'), ('table', 'causal'), ('softcap', 'document'), ('bias', 'given'),
                                     ('none', 'window'), ('half', 'heads'))):
        n = L if s == 'bias' or m in ('document', 'given') else S + number
        inputs = tensors(n, n, seed=number)
        calls.append((inputs, scores(c)[s], block_mask(masks(c)[m], n, n)))
    compute = lambda inputs, s, m: attnc.torch.flex_attention(*inputs, s, m, enable_gqa=True)
    wanted = [compute(*one) for one in calls]
    wrong = []

    def work(first):
        torch.set_num_threads(1)
        for turn in range(60):
            at = (first + turn) % len(calls)
            try:
                if not torch.equal(compute(*calls[at]), wanted[at]):
                    wrong.append('call %d differs' % at)
            except Exception as error:
                wrong.append('call %d: %r' % (at, error))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=work, args=(first,)) for first in range(len(calls))]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
    finally:
        sys.setswitchinterval(interval)
    check(not wrong, '%d of %d: %s' % (len(wrong), 60 * len(calls), wrong[:3]))


if __name__ == '__main__':
    sys.exit(main(__doc__))
