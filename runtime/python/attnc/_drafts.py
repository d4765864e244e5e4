"""Trees of tokens that one call verifies."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


def ancestors(parents: Any, size: int = 64) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the mask of a tree of tokens, and the depth of each token. Row t of the mask is true for t and its
    ancestors: the argument of an array {shape: [B, Nq, 64], type: bool}.

    parents: [tokens] or [batch, tokens]: the number of each token's parent, which is a smaller number, or -1
    size: the length of a row, at least the number of tokens"""
    import numpy

    numbers = numpy.asarray(parents)
    tokens = numbers.shape[-1] if numbers.ndim else 0
    if numbers.ndim not in (1, 2) or (numbers.dtype.kind not in "iu" and tokens):
        raise ValueError(f"parents is {numbers.dtype} {list(numbers.shape)}; expected integers [tokens] or [batch, tokens]")
    if tokens > size:
        raise ValueError(f"size is {size}; expected {tokens} or more, the number of tokens")
    if ((numbers < -1) | (numbers >= numpy.arange(tokens))).any():
        raise ValueError("a parent is not -1 or the number of an earlier token")
    trees = numbers.reshape(-1, tokens)
    mask = numpy.zeros((*trees.shape, size), bool)
    every = numpy.arange(len(trees))
    for t in range(tokens):
        parent = trees[:, t]
        mask[:, t] = mask[every, parent] & (parent >= 0)[:, None]
        mask[:, t, t] = True
    depths = mask.sum(-1, dtype=numpy.int32) - numpy.int32(1)
    return mask.reshape(*numbers.shape, size), depths.reshape(numbers.shape)
