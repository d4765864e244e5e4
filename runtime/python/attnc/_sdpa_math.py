"""Calls of scaled_dot_product_attention that PyTorch has no fused operator for, under attnc.torch.use(): other numbers of
axes, batches that are broadcast, values of another size than keys, dropout, and masks with gradients.

It replaces PyTorch's operator for them, whose matrices have all pairs of queries and keys."""
from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Optional, Tuple

import torch
from torch import Tensor

from ._arrays import _has_tangent
from ._compiler import CompilerError
from ._context import is_eager
from ._formula import attention
from ._operators import _WORDS, drawn_seed, rows_in_place

_operator: Any = torch.ops.aten._scaled_dot_product_attention_math.default


def _with_four_axes(batch: Tuple[int, ...], a: Tensor) -> Tensor:
    """Returns the tensor broadcast to the batch, as [batch, heads, positions, size]."""
    a = a.expand(*batch, *a.shape[-2:])
    return a[(None,) * (4 - a.dim())] if a.dim() < 4 else a.flatten(0, -4)


def _arrays(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], grouped: bool) -> Tuple[Tuple[Any, ...], Tuple[int, ...]]:
    """Returns q, k, v and mask for attention(), and the batch of the result. There are no arrays for shapes that PyTorch
    has to compute or refuse."""
    of_k, of_v = k.shape[:-2], v.shape[:-2]
    if grouped and (q.dim() != 4 or of_k != of_v or of_k[:1] != q.shape[:1] or q.shape[1] % max(k.shape[1], 1)):
        return (), ()
    try:
        batch = q.shape[:-2] if grouped else torch.broadcast_shapes(q.shape[:-2], of_k, of_v)  # type: ignore[no-untyped-call]
        pairs = *batch, q.shape[-2], k.shape[-2]
        if mask is not None and (len(batch) > 2 < mask.dim() or
                                 torch.broadcast_shapes(mask.shape, pairs) != pairs):  # type: ignore[no-untyped-call]
            return (), ()
    except RuntimeError:
        return (), ()
    arrays = (q, k, v) if grouped else [_with_four_axes(batch, a) for a in (q, k, v)]
    return (*map(rows_in_place, arrays), mask if mask is None else rows_in_place(mask)), batch


def _fits(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], scale: Optional[float]) -> bool:
    """Returns True if kernels can compute this call. With fused operators forbidden, PyTorch's operator is wanted."""
    arrays = [a for a in (q, k, v, mask) if a is not None]
    fused: bool = torch.backends.cuda.flash_sdp_enabled()  # type: ignore[no-untyped-call]
    return (fused and is_eager(*arrays) and q.dtype in _WORDS and (scale is None or math.isfinite(scale))
            and q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
            and all(a.dtype is q.dtype and a.layout is torch.strided and a.device.type == "cpu" and a.dim() > 1
                    and not (a.is_nested or _has_tangent(a)) for a in arrays))


def operator_of(work: Callable[[], int]) -> Callable[..., Any]:
    """Returns a function for PyTorch's operator. `work` returns how many multiply-adds of q and k a call needs, so that a
    kernel computes it."""
    def operate(q: Tensor, k: Tensor, v: Tensor, attn_mask: Optional[Tensor] = None, dropout_p: float = 0.0,
                is_causal: bool = False, dropout_mask: Optional[Tensor] = None, *, scale: Optional[float] = None,
                enable_gqa: bool = False) -> Tuple[Tensor, Tensor]:
        if dropout_mask is None and 0 <= dropout_p < 1 and _fits(q, k, v, attn_mask, scale):
            arrays, batch = _arrays(q, k, v, attn_mask, enable_gqa)
            if arrays and arrays[0].numel() * k.shape[-2] >= max(work(), 1):
                try:
                    made = attention(arrays[0], arrays[1], arrays[2], arrays[3], dropout_p, is_causal, scale=scale,
                                     seed=int(drawn_seed()) if dropout_p else None)
                    # scaled_dot_product_attention drops the second result, the weights
                    return made.reshape(*batch, *made.shape[-2:]), q.new_empty(0)
                except CompilerError as error:
                    warnings.warn(f"attnc.torch.use(): PyTorch computes attention, because {error}", stacklevel=2)
        theirs: Tuple[Tensor, Tensor] = _operator.decompose(q, k, v, attn_mask, dropout_p, is_causal, dropout_mask, scale=scale,
                                                             enable_gqa=enable_gqa)
        return theirs
    return operate
