"""flex_attention with the signature of torch.nn.attention.flex_attention, computed by attnc. The formulas of score_mod
and mask_mod (_flex_formula.py) have gradients with respect to captured tensors."""
from __future__ import annotations

import math
import weakref
from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, BlockMask, create_mask, noop_mask

from ._flex_formula import _condition, _Trace, Untranslatable
from ._background import first_call
from ._formula import of_formula
from ._kernel import _FLOATS, Kernel
from ._tensor_call import statistics

__all__ = ["flex_attention"]

# ---- block masks

_checked: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # the mask_mod with which each was checked


def _check_blocks(mask: BlockMask) -> None:
    """Checks once for each BlockMask that its lists of blocks agree with its mask_mod. A kernel reads only the
    mask_mod. Lists that hide more keys would be lost."""
    if _checked.get(mask) is mask.mask_mod:
        return
    rows, columns = mask.BLOCK_SIZE
    listed = mask.to_dense().bool()
    n_q, n_k = mask.seq_lengths
    for first in range(0, n_q, rows):
        dense = create_mask(lambda b, h, q, kv: mask.mask_mod(b, h, q + first, kv), listed.shape[0], listed.shape[1],
                            min(rows, n_q - first), n_k, device=listed.device)
        padded = torch.nn.functional.pad(dense, (0, listed.shape[3] * columns - n_k))
        seen = padded.view(*padded.shape[:-1], -1, columns).any(-1).any(-2)
        if bool((seen & ~listed[:, :, first // rows]).any()):
            raise Untranslatable("the blocks of this BlockMask hide keys that its mask_mod shows: "
                                 "express them in the mask_mod")
    _checked[mask] = mask.mask_mod


def _blocks_of(mask: BlockMask) -> Callable[..., Any]:
    """Returns the mask_mod of a BlockMask that has lists of blocks, and no mask_mod."""
    listed, (rows, columns) = mask.to_dense().bool(), mask.BLOCK_SIZE
    batches, heads = listed.shape[:2]

    def seen(b: Any, h: Any, q: Any, kv: Any) -> Any:
        return listed[b if batches > 1 else 0, h if heads > 1 else 0, q // rows, kv // columns]
    return seen


# ---- the call


def _translated(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Any]],
                mask_mod: Optional[Callable[..., Any]], scale: Optional[float],
                traced: bool = False) -> tuple[Kernel, dict[str, Any]]:
    """Returns the kernel for a call, and its arrays. If `traced` is true, captured tensors have no values yet."""
    head_dim, dtype = query.shape[3], _FLOATS[str(query.dtype).removeprefix("torch.")]
    batch, heads, n_q = query.shape[:3]
    trace = _Trace(batch, heads, n_q, key.shape[2], traced, query.dtype,
                   torch.is_grad_enabled() and (query.requires_grad or key.requires_grad))
    score, seen = trace.score(), "1"
    if score_mod is not None:
        score = trace.run(score_mod, score, *trace.positions()).used()
    if mask_mod is not None:
        seen = _condition(trace, trace.run(mask_mod, *trace.positions()))
    declared = trace.declared()
    # s is the inner product / sqrt(head_dim) in `modify`, and the inner product in a mask
    factor = 1.0 if scale is None else scale * math.sqrt(head_dim)
    mask = trace.mask(score.hidden, seen, f"(s * {factor / math.sqrt(head_dim)!r})", declared)
    text = trace.text(score.text, declared, "s" if factor == 1.0 else f"(s * {factor!r})")
    kernel = of_formula(None, None if text == "s" else text, mask, None, None, 0.0, declared, int(head_dim),
                         int(value.shape[3]), dtype, first=None if traced else first_call(query, key))
    return kernel, trace.arrays(declared)


def _checked_call(query: Tensor, key: Tensor, value: Tensor, block_mask: Optional[BlockMask],
                  enable_gqa: bool) -> tuple[Tensor, Tensor, Optional[Callable[..., Any]]]:
    """Checks the arguments of flex_attention. Returns key and value for each sequence, and the mask_mod or None."""
    for name, tensor in ("query", query), ("key", key), ("value", value):
        if not isinstance(tensor, Tensor) or tensor.dim() != 4:
            raise ValueError(f"{name} must be a tensor [batch, heads, positions, size]")
    if str(query.dtype).removeprefix("torch.") not in _FLOATS:
        raise ValueError(f"query is {query.dtype}; flex_attention takes float32, bfloat16, float16 and float64")
    if key.shape[1] != query.shape[1] and not enable_gqa:
        raise ValueError(f"query has {query.shape[1]} heads and key has {key.shape[1]}: this needs enable_gqa=True")
    if key.shape[0] == 1 and query.shape[0] > 1:
        key, value = (a.expand(query.shape[0], -1, -1, -1) for a in (key, value))
    if block_mask is None:
        return key, value, None
    lengths, mod = tuple(block_mask.seq_lengths), block_mask.mask_mod
    if lengths != (query.shape[2], key.shape[2]):
        raise ValueError(f"block_mask is for {lengths[0]} queries and {lengths[1]} keys, but the call has "
                         f"{query.shape[2]} and {key.shape[2]}")
    return key, value, _blocks_of(block_mask) if mod is noop_mask or mod is None else mod


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Any]] = None,
                   block_mask: Optional[BlockMask] = None, scale: Optional[float] = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: Any = None, *,
                   return_aux: Optional[AuxRequest] = None) -> Any:
    """torch.nn.attention.flex_attention on the CPU, with gradients.

    query: [B, Hq, L, E]; key: [B, Hkv, S, E]; value: [B, Hkv, S, Ev]; f32, bf16, f16 or f64. Hq is Hkv, or with
        enable_gqa a multiple of it.
    score_mod(score, b, h, q_idx, kv_idx): the logit; block_mask: its mask_mod(b, h, q_idx, kv_idx) says which keys a
        query sees. They may use arithmetic, comparisons, torch.where, the functions of the spec language, and elements
        of captured tensors. Gradients reach captured tensors of real numbers.
    return_lse, return_aux=AuxRequest(lse=True): also the logarithm of the denominator, [B, Hq, L]; it has no gradient.
    kernel_options: ignored

    Returns [B, Hq, L, Ev]; a row that sees no key is 0. A new formula compiles a kernel, once on a machine. Raises
    NotImplementedError, with the line, for an operation that a kernel cannot compute."""
    wants_lse = return_lse or (return_aux is not None and return_aux.lse)
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("flex_attention of attnc does not return the maximum of scores")
    if torch.compiler.is_dynamo_compiling() and in_graphs is not None:
        key, value, mod = _checked_call(query, key, value, block_mask, enable_gqa)
        made = in_graphs(query, key, value, score_mod or _same, (mod or noop_mask,), scale, {"lse": wants_lse})
    else:
        made = _eagerly(query, key, value, score_mod, block_mask, scale, enable_gqa, wants_lse)
    out, lse = made if wants_lse else (made, None)
    return (out, AuxOutput(lse=lse)) if return_aux is not None else (out, lse) if wants_lse else out


def _same(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _eagerly(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Any]],
             block_mask: Optional[BlockMask], scale: Optional[float], enable_gqa: bool, wants_lse: bool) -> Any:
    key, value, mod = _checked_call(query, key, value, block_mask, enable_gqa)
    if block_mask is not None and mod is block_mask.mask_mod:
        _check_blocks(block_mask)
    return _computed(query, key, value, score_mod, mod, scale, wants_lse)


def _computed(query: Tensor, key: Tensor, value: Tensor, score_mod: Any, mask_mod: Any, scale: Optional[float],
              wants_lse: bool, traced: bool = False) -> Any:
    """Returns the result of a call, and with `wants_lse` also the logarithms of the denominators."""
    kernel, arrays = _translated(query, key, value, score_mod, mask_mod, scale, traced)
    made = kernel(query, key, value, **arrays)
    return (made, statistics(kernel, query, key, value, arrays)) if wants_lse else made


def _in_a_graph(query: Tensor, key: Tensor, value: Tensor, score_mod: Any, block_mask: Any, scale: Optional[float],
                options: Any, captured_by_score: Sequence[Any], captured_by_mask: Sequence[Any]) -> Any:
    """Implements flex_attention in a graph of torch.compile, where score_mod and the last element of block_mask are
    graphs, whose last arguments are the captured tensors. With the option `lse`, also returns the logarithms of the
    denominators."""
    def score(*arguments: Any) -> Any:
        return score_mod(*arguments, *captured_by_score)

    def mask(*arguments: Any) -> Any:
        return block_mask[-1](*arguments, *captured_by_mask)

    return _computed(query, key, value, score, mask, None if scale is None else float(scale), options["lse"], True)


_NAME = "attnc_flex_attention"


class _Operator(HigherOrderOperator):
    """An operator whose arguments are functions, like that of PyTorch's own flex_attention. Dynamo makes graphs of score_mod
    and mask_mod, and finds the tensors that they capture."""

    def __init__(self) -> None:
        super().__init__(_NAME)  # type: ignore[no-untyped-call]

    def __call__(self, *arguments: Any) -> Any:
        return _in_a_graph(*arguments)  # a graph contains what it calls


def _operator() -> Optional[_Operator]:
    """Returns None with another version of PyTorch, which has no class for such calls."""
    try:
        from torch._dynamo.variables import higher_order_ops

        higher_order_ops._hop_name_to_variable_class[_NAME] = higher_order_ops.FlexAttentionHigherOrderVariable
        return _Operator()
    except (AttributeError, ImportError, TypeError):
        return None


in_graphs = _operator()
