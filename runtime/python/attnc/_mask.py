"""Evaluates the mask of a spec and compares it with a model's. A query "sees" the keys that a mask keeps."""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

import torch
from torch import Tensor

_OPERATIONS: Dict[str, Callable[..., Tensor]] = {  # operations of ir/expr.def that masks may have
    "neg": torch.neg, "add": torch.add, "sub": torch.sub, "mul": torch.mul,
    "div": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "mod": torch.fmod, "floormod": torch.remainder,
    "lt": torch.lt, "le": torch.le, "eq": torch.eq, "ne": torch.ne, "and": torch.logical_and, "or": torch.logical_or,
    "not": torch.logical_not, "select": torch.where, "abs": torch.abs, "min": torch.minimum, "max": torch.maximum}
_ENTRIES = 1 << 22  # the maximum number of pairs to compare at a time


class Unreadable(ValueError):
    """The mask depends on more than positions and heads."""


def mask_of(graph: Mapping[str, Any]) -> Any:
    """Returns the mask of a spec, or None. graph: the member `graph` of NAME.json"""
    masks = graph["masks"]
    if len(masks) > 1:
        raise Unreadable("its mask is not one condition")
    return masks[0] if masks else None


def _rows(mask: Any, i: Tensor, n_q: int, n_k: int, heads: int, kv_heads: int) -> Tensor:
    """The mask of some queries: True for the keys that a query sees.

    i: [rows, 1], the numbers of the queries

    Returns [heads, rows, n_k], or [1, rows, n_k] if the mask is the same for all heads."""
    if mask is None:
        return torch.ones(1, len(i), n_k, dtype=torch.bool)
    members = heads // max(kv_heads, 1)
    values = {"i": i, "j": torch.arange(n_k), "g": torch.arange(kv_heads).view(-1, 1, 1, 1),
              "m": torch.arange(members).view(-1, 1, 1)}
    made = _value(mask, values, {"i": n_q, "j": n_k, "g": kv_heads, "m": members})
    if made.dim() == 4:  # the mask depends on heads
        return made.expand(kv_heads, members, len(i), n_k).flatten(0, 1)
    return made.broadcast_to(1, len(i), n_k)


def _value(tree: Any, values: Dict[str, Tensor], sizes: Dict[str, int]) -> Tensor:
    """Evaluates an expression. `values` has the index of each axis, and `sizes` the extent of each axis."""
    if isinstance(tree, int):
        return torch.tensor(tree)
    if isinstance(tree, str):
        if tree in values:
            return values[tree]
        raise Unreadable("its mask depends on more than positions")
    operation, *arguments = tree
    if operation == "size" and arguments[0] in sizes:
        return torch.tensor(sizes[arguments[0]])
    if operation == "start":  # [batch entry, position if the caller gives none]: models give none
        return _value(arguments[1], values, sizes)
    if operation not in _OPERATIONS or not arguments:
        raise Unreadable("its mask depends on more than positions")
    return _OPERATIONS[operation](*(_value(one, values, sizes) for one in arguments))


def difference(mask: Any, n_q: int, n_k: int, heads: int, kv_heads: int, kept: Optional[Tensor], is_causal: bool,
               ignores: bool) -> str:
    """Compares the mask of a model's call with the mask of a spec. Returns the reason why the call cannot use the spec, or
    "" if it can.

    - Either both masks let some query see later keys, or neither does.
    - The spec may hide keys that the model's query sees. The reverse is allowed only with `ignores`.

    kept: the model's mask, True for keys that are kept; is_causal: the argument of scaled_dot_product_attention"""
    spec_ahead = model_ahead = hidden = False
    step = max(1, _ENTRIES // max(n_k, 1))
    for first in range(0, n_q, step):
        i, j = torch.arange(first, min(first + step, n_q)).unsqueeze(1), torch.arange(n_k)
        spec = _rows(mask, i, n_q, n_k, heads, kv_heads)
        model = (j <= i if is_causal else torch.ones(len(i), n_k, dtype=torch.bool)).unsqueeze(0)
        if kept is not None:
            model = model & (kept if kept.shape[-2] == 1 else kept[..., first:first + step, :])
        ahead = j > i + n_k - n_q
        spec_ahead |= bool((spec & ahead).any())
        model_ahead |= bool((model & ahead).any())
        hidden |= bool((spec & ~model).any())
    if model_ahead != spec_ahead:
        return ("the model lets a query see keys that come after it, which the spec does not" if model_ahead else
                "the spec lets a query see keys that come after it, which the model does not")
    return "the model hides keys that the spec lets a query see" if hidden and not ignores else ""
