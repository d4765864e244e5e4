"""Composes attention of PyTorch's operations, to compare speeds: scaled_dot_product_attention, and polysketch by a
loop over blocks."""
from __future__ import annotations

import math
from typing import Any, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _rotate(x: Tensor) -> Tensor:
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    a, b, c, s = x[..., 0::2], x[..., 1::2], angle.cos(), angle.sin()
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


class _Composed(nn.Module):
    """Computes the attention of an attnc layer with PyTorch's operations, using the layer's arrays."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.given = layer

    def prepared(self, x: Tensor, side: str) -> Tensor:
        d = x.shape[-1]
        return _rotate(F.layer_norm(x, (d,), getattr(self.given, f"{side}_norm_weight"),
                                    getattr(self.given, f"{side}_norm_bias")))


class Softmax(_Composed):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(self.prepared(q, "q"), self.prepared(k, "k"), v, is_causal=True)


class RandomPolysketch(_Composed):
    """Polynomial attention of degree 4 with a random sketch. Weights inside a block are exact or sketched."""

    def __init__(self, layer: nn.Module, size: int, block: int, exact: bool) -> None:
        super().__init__(layer)
        self.size, self.block, self.exact = size, block, exact

    def sketch(self, x: Tensor) -> Tensor:
        return (x @ self.given.sketch_g1) * (x @ self.given.sketch_g2) / math.sqrt(self.size)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = self.prepared(q, "q"), self.prepared(k, "k")
        fq, fk = self.sketch(q), self.sketch(k)
        v = F.pad(v, (0, 1), value=1.0)  # the last column sums the weights
        state, rows = torch.zeros(1), []
        for at in range(0, q.shape[2], self.block):
            here = slice(at, at + self.block)
            one, other = fq[:, :, here], fk[:, :, here]
            weight = (q[:, :, here] @ k[:, :, here].mT) ** 4 if self.exact else (one @ other.mT) ** 2
            sums = weight.tril() @ v[:, :, here]
            if at:
                sums = sums + (one[..., :, None] * one[..., None, :]).flatten(-2) @ state
            state = state + (other[..., :, None] * other[..., None, :]).flatten(-2).mT @ v[:, :, here]
            rows.append(sums[..., :-1] / (1 + sums[..., -1:]))
        return torch.cat(rows, 2)


def of(spec: Mapping[str, Any], layer: nn.Module) -> nn.Module:
    similarity = spec["similarity"]
    if similarity == "softmax":
        return Softmax(layer)
    options = similarity["polysketch"]
    return RandomPolysketch(layer, options["sketch"], spec.get("block", 256), options.get("local") == "exact")
