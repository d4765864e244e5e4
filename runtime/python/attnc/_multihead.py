"""The heads and masks of nn.MultiheadAttention, and its calls for weights under attnc.torch.use()."""
from __future__ import annotations

import warnings
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

from ._compiler import CompilerError
from ._context import differentiates, is_eager, is_traced
from ._formula import attention
from ._operators import _WORDS

original: Callable[..., Tuple[Tensor, Optional[Tensor]]] = nn.MultiheadAttention.forward


def _in_batches(module: nn.MultiheadAttention, arrays: Sequence[Tensor]) -> List[Tensor]:
    """Returns the arguments of a module as [batch, positions, size]."""
    return [a.unsqueeze(0) if a.dim() == 2 else a if module.batch_first else a.transpose(0, 1) for a in arrays]


def heads_of(module: nn.MultiheadAttention, arrays: Sequence[Tensor]) -> List[Tensor]:
    """Returns q, k and v after the module's projections, as [batch, heads, positions, size]."""
    packed, bias = module.in_proj_weight, module.in_proj_bias
    weights: Any = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight) if packed is None else packed.chunk(3)
    biases: Any = (None, None, None) if bias is None else bias.chunk(3)
    return [nn.functional.linear(a, w, b).view(*a.shape[:2], module.num_heads, module.head_dim).transpose(1, 2)
            for a, w, b in zip(_in_batches(module, arrays), weights, biases)]


def masks_of(q: Tensor, k: Tensor, padding: Optional[Tensor], attn_mask: Optional[Tensor]) -> List[Tensor]:
    """Returns the masks of a call that there are, with the axes batch, heads, queries and keys."""
    made = [] if padding is None else [padding.reshape(-1, 1, 1, k.shape[2])]
    if attn_mask is not None:
        made.append(attn_mask.reshape(-1, q.shape[1] if attn_mask.dim() == 3 else 1, q.shape[2], k.shape[2]))
    return made


def results_of(module: nn.MultiheadAttention, query: Tensor, made: Tensor, weights: Optional[Tensor],
               average: bool) -> Tuple[Tensor, Optional[Tensor]]:
    """Returns what the module returns for the result and the weights of its heads."""
    out = module.out_proj(made.transpose(1, 2).flatten(2))
    shares = weights.mean(1) if weights is not None and average else weights
    if query.dim() == 2:
        return out[0], None if shares is None else shares[0]
    return out if module.batch_first else out.transpose(0, 1), shares


def _fits(module: nn.MultiheadAttention, least: int, arrays: Sequence[Tensor], padding: Optional[Tensor],
          attn_mask: Optional[Tensor]) -> bool:
    """Returns True if kernels compute this call. PyTorch computes others, or says what is wrong with them."""
    query, masks = arrays[0], [mask for mask in (padding, attn_mask) if mask is not None]
    reals = [*arrays, *module.parameters(), *(mask for mask in masks if mask.dtype is not torch.bool)]
    if not is_eager(*reals, *masks) or differentiates(reals) or torch.is_autocast_enabled("cpu"):
        return False
    if any(a.device.type != "cpu" or a.layout is not torch.strided or a.is_nested for a in (*reals, *masks)):
        return False
    if query.dtype not in _WORDS or any(a.dtype != query.dtype for a in reals):
        return False
    if module.bias_k is not None or module.add_zero_attn or module.training and module.dropout:
        return False
    if query.dim() not in (2, 3) or any(a.dim() != query.dim() for a in arrays):
        return False
    q, k, v = _in_batches(module, arrays)
    batch, n_q, n_k = *q.shape[:2], k.shape[1]
    return (q.shape[2] == module.embed_dim and k.shape == (batch, n_k, module.kdim) and v.shape == (batch, n_k, module.vdim)
            and (padding is None or padding.shape == ((n_k,) if query.dim() == 2 else (batch, n_k)))
            and (attn_mask is None or attn_mask.shape in ((n_q, n_k), (batch * module.num_heads, n_q, n_k)))
            and batch * n_q * n_k * module.embed_dim >= max(least, 1))


def _joined(masks: Sequence[Tensor], dtype: torch.dtype) -> Optional[Tensor]:
    """Returns one mask for attention(): True where a key is seen, or numbers that are added to logits."""
    if all(mask.dtype is torch.bool for mask in masks):
        return ~(masks[0] | masks[-1]) if masks else None
    added = [torch.zeros(mask.shape, dtype=dtype).masked_fill_(mask, -torch.inf) if mask.dtype is torch.bool else mask
             for mask in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]


def forward_of_weights(work: Callable[[], int]) -> Callable[..., Any]:
    """Returns a forward() for nn.MultiheadAttention whose calls for weights are computed by kernels. `work` returns how
    many multiply-adds of q and k such a call needs."""
    def forward(self: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor,
                key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None,
                average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        arrays = query, key, value
        if need_weights and not is_causal and not is_traced() and _fits(self, work(), arrays, key_padding_mask, attn_mask):
            try:
                q, k, v = heads_of(self, arrays)
                mask = _joined(masks_of(q, k, key_padding_mask, attn_mask), q.dtype)
                made: Any = attention(q, k, v, mask, weights=True)
                return results_of(self, query, made.out, made.weights, average_attn_weights)
            except CompilerError as error:
                warnings.warn(f"attnc.torch.use(): PyTorch computes attention weights, because {error}", stacklevel=2)
        return original(self, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
    return forward
