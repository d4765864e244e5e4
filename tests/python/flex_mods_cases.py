"""Tests attnc.torch.flex_attention with the kinds of score_mod and mask_mod with which PyTorch tests its flex_attention, one
case each: results are PyTorch's, and gradients, also of captured tensors, those of the formula in 64 bits."""
import math
import threading

from common import *

import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, create_mask

import attnc.torch

flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
B, H, N, D = 2, 4, 66, 8
INF = float('inf')
DTYPES = torch.float32, torch.float64, torch.bfloat16, torch.float16
LIMITS = {torch.float32: (1e-5, 5e-5), torch.float64: (1e-12, 1e-11), torch.bfloat16: (0.03, 0.1), torch.float16: (4e-3, 0.015)}
# what differs from B sequences of N queries and keys with H heads of D elements
SHAPES = ({}, {'kv_heads': 2}, {'kv_heads': 1, 'n_k': 91}, {'n_k': 39}, {'kv_batch': 1}, {'value_dim': 12}, {'n_q': 1}, {'head_dim': 11})


def captured(seed=0):
    """Returns what formulas capture. Tensors of real numbers get gradients."""
    draw = torch.Generator().manual_seed(seed)
    real = lambda *shape: torch.randn(shape, generator=draw)
    whole = lambda most, *shape: torch.randint(most, shape, generator=draw)
    return {'heads': real(H), 'row': real(100), 'pairs': real(100, 100), 'of_heads': real(H, 100, 100), 'all': real(B, H, 100, 100),
            'distances': real(200), 'number': torch.tensor(0.7), 'other': real(H, 100), 'document': whole(4, 100).sort()[0],
            'of_batches': whole(3, B, 100).sort()[0], 'prefix': torch.tensor([11, 40]), 'lengths': torch.tensor([30, 66]),
            'order': torch.randperm(100, generator=draw), 'keep': torch.rand(100, 100, generator=draw) < 0.4}


SCORES = {
    'identity': lambda c: lambda s, b, h, q, k: s,
    'times_two': lambda c: lambda s, b, h, q, k: s * 2,
    'squared': lambda c: lambda s, b, h, q, k: s * s,
    'causal': lambda c: lambda s, b, h, q, k: torch.where(q >= k, s, -INF),
    'inverse_causal': lambda c: lambda s, b, h, q, k: torch.where(q <= k, s, -INF),
    'distance': lambda c: lambda s, b, h, q, k: s + (q - k),
    'distance_causal': lambda c: lambda s, b, h, q, k: torch.where(q >= k, s + (q - k), -INF),
    'alibi': lambda c: lambda s, b, h, q, k: s + (k - q) * torch.exp2(-((h + 1) * 8.0 / H)),
    'head_factor': lambda c: lambda s, b, h, q, k: s * c['heads'][h],
    'trigonometric': lambda c: lambda s, b, h, q, k: torch.sin(torch.cos(s)) + torch.tan(b),
    'two_branches': lambda c: lambda s, b, h, q, k: torch.cos(s) * torch.sin(s) + torch.tan(b),
    'softcap': lambda c: lambda s, b, h, q, k: 3 * torch.tanh(s / 3),
    'silu': lambda c: lambda s, b, h, q, k: F.silu(s),
    'captured_scale': lambda c: lambda s, b, h, q, k: s * c['number'],
    'documents': lambda c: lambda s, b, h, q, k: torch.where(c['document'][q] == c['document'][k], s, -INF),
    'bidirectional_prefix': lambda c: lambda s, b, h, q, k: torch.where((k <= q) | (k < c['prefix'][b]), s, -INF),
    'padded_causal': lambda c: lambda s, b, h, q, k: torch.where((q >= k) & (k < c['lengths'][b]), s, -INF),
    'natten': lambda c: lambda s, b, h, q, k: torch.where(((q // 8 - k // 8).abs() <= 1) & ((q % 8 - k % 8).abs() <= 2), s, -INF),
    'bias_of_keys': lambda c: lambda s, b, h, q, k: s + c['row'][k],
    'bias_of_pairs': lambda c: lambda s, b, h, q, k: s + c['pairs'][q, k],
    'bias_of_heads': lambda c: lambda s, b, h, q, k: s + c['of_heads'][h, q, k],
    'bias_of_all': lambda c: lambda s, b, h, q, k: s + c['all'][b, h, q, k],
    'bias_of_distances': lambda c: lambda s, b, h, q, k: s + c['distances'][q - k + 100],
    'bias_of_absolute_distances': lambda c: lambda s, b, h, q, k: s + c['row'][(q - k).abs()],
    'factor_of_pairs': lambda c: lambda s, b, h, q, k: s * c['pairs'][q, k],
    'turned_bias': lambda c: lambda s, b, h, q, k: s + c['pairs'][k, q],
    'symmetric_bias': lambda c: lambda s, b, h, q, k: s + c['row'][q] + c['row'][k],
    'indirect_bias': lambda c: lambda s, b, h, q, k: s + c['row'][c['order'][q]],
    'window_bias': lambda c: lambda s, b, h, q, k: s + torch.where((q - k).abs() <= 8, c['row'][(q - k).abs().clamp(max=8)], 0.0),
    'gate_of_heads': lambda c: lambda s, b, h, q, k: s * torch.sigmoid(c['heads'][h]),
    'several_biases': lambda c: lambda s, b, h, q, k: s * F.softplus(c['heads'][h]) + c['row'][k] * c['pairs'][q, k] - c['other'][h, q],
    'outer_bias': lambda c: lambda s, b, h, q, k: s + c['other'][h, q] * c['other'][h, k],
}
MASKS = {
    'none': lambda c: None,
    'every': lambda c: flex.noop_mask,
    'causal_mask': lambda c: lambda b, h, q, k: q >= k,
    'inverse_causal_mask': lambda c: lambda b, h, q, k: q <= k,
    'sliding_window': lambda c: lambda b, h, q, k: (q >= k) & (q - k <= 12),
    'prefix_lm': lambda c: flex.or_masks(lambda b, h, q, k: k < c['prefix'][b], lambda b, h, q, k: q >= k),
    'document_causal': lambda c: flex.and_masks(lambda b, h, q, k: c['of_batches'][b, q] == c['of_batches'][b, k],
                                                lambda b, h, q, k: q >= k),
    'natten_mask': lambda c: lambda b, h, q, k: ((q // 8 - k // 8).abs() <= 2) & ((q % 8 - k % 8).abs() <= 2),
    'dilated': lambda c: lambda b, h, q, k: ((q - k).abs() <= 24) & ((q - k) % 3 == 0),
    'rows_without_keys': lambda c: lambda b, h, q, k: (q % 5 != 2) & (q >= k),
    'captured_mask': lambda c: lambda b, h, q, k: c['keep'][q, k] | (q == k),
    'one_head': lambda c: lambda b, h, q, k: (h == 1) | (q >= k),
    'lengths': lambda c: lambda b, h, q, k: (q < c['lengths'][b]) & (k < c['lengths'][b]),
}


def drawn(dtype, n_q=N, n_k=N, kv_heads=H, kv_batch=B, value_dim=None, head_dim=D):
    draw = torch.Generator().manual_seed(n_q + n_k)
    shapes = (B, H, n_q, head_dim), (kv_batch, kv_heads, n_k, head_dim), (kv_batch, kv_heads, n_k, value_dim or head_dim)
    return [torch.randn(shape, generator=draw).to(dtype).requires_grad_() for shape in shapes]


def dense(score_mod, mask_mod, q, k, v):
    """Computes attention by tensor operations, which autograd can differentiate."""
    k, v = (a.repeat_interleave(H // a.shape[1], 1).expand(B, -1, -1, -1) for a in (k, v))
    n_q, n_k = q.shape[2], k.shape[2]
    at = torch.meshgrid(*(torch.arange(n) for n in (B, H, n_q, n_k)), indexing='ij')
    s = score_mod(q @ k.mT / math.sqrt(q.shape[3]), *at)
    if mask_mod: s = s.masked_fill(~create_mask(mask_mod, B, H, n_q, n_k, device='cpu'), -INF)
    return torch.softmax(s.masked_fill((s == -INF).all(-1, keepdim=True), 0), -1).masked_fill((s == -INF).all(-1, keepdim=True), 0) @ v


def compare(score, mask, dtype, shape, why):
    arrays, c = drawn(dtype, **shape), captured()
    learned = {name: a.to(torch.float64 if dtype == torch.float64 else torch.float32).requires_grad_() for name, a in c.items() if a.is_floating_point()}
    wide = {name: a.detach().double().requires_grad_() for name, a in learned.items()}
    score_mod, mask_mod = SCORES[score](c | learned), MASKS[mask](c)
    n_q, n_k = arrays[0].shape[2], arrays[1].shape[2]
    blocks = None if mask_mod is None else create_block_mask(mask_mod, B, H, n_q, n_k, device='cpu')
    grouped = arrays[1].shape[1] != H
    out = attnc.torch.flex_attention(*arrays, score_mod, blocks, enable_gqa=grouped)
    wanted = dense(SCORES[score](c | wide), mask_mod, *(a64 := [a.detach().double().requires_grad_() for a in arrays]))
    if blocks is None and arrays[1].shape[0] != B:   # which PyTorch wants for this
        blocks = create_block_mask(flex.noop_mask, B, H, n_q, n_k, device='cpu')
    with torch.no_grad():
        theirs = flex.flex_attention(*(a.detach().double() for a in arrays), SCORES[score](c | {n: a.detach() for n, a in wide.items()}),
                                     blocks, enable_gqa=grouped)
    limit, of_gradients = LIMITS[dtype]
    check(out.dtype == dtype, '%s: %s' % (why, out.dtype))
    close(theirs, wanted.detach(), 1e-10, why + ': the formula')
    close(out.detach().double(), theirs, limit * max(1, float(theirs.abs().max())), why)
    dout = torch.randn(out.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    made = torch.autograd.grad(out, [*arrays, *learned.values()], dout.to(dtype), allow_unused=True)
    wanted = torch.autograd.grad(wanted, [*a64, *wide.values()], dout.to(dtype).double(), allow_unused=True)
    for name, one, two in zip(('q', 'k', 'v', *learned), made, wanted):
        check((one is None) == (two is None), '%s: a gradient of %s is missing' % (why, name))
        if one is not None:
            close(one.double(), two, of_gradients * max(1, float(two.abs().max())), '%s: d%s' % (why, name))


def named(name, number, score, mask):
    def function(folder):
        dtype, shape = DTYPES[(number + number // 4) % 4], SHAPES[number % 8]
        compare(score, mask, dtype, shape, '%s, %s, %s' % (name, dtype, shape))
    function.__name__ = name
    case(function)


for number, score in enumerate(SCORES): named(score, number, score, 'none')
for number, mask in enumerate([mask for mask in MASKS if mask != 'none']): named(mask, number, 'identity', mask)


@case
def threads_with_formulas_of_their_own(folder):
    wrong = []

    def work(names):
        try:
            for name in names: compare(name, 'sliding_window', torch.float32, {}, name)
        except Exception as error: wrong.append(error)
    names = 'identity', 'head_factor', 'bias_of_pairs'
    threads = [threading.Thread(target=work, args=(names[n:] + names[:n],)) for n in range(3)]
    for one in threads: one.start()
    for one in threads: one.join()
    check(not wrong, wrong)


if __name__ == '__main__':
    sys.exit(main(__doc__))
