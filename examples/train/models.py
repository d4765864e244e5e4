"""The models. All layers are PyTorch's except attention."""
from __future__ import annotations

import math
from typing import Any, Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnc.torch
import composed


class Heads(nn.Module):
    """Projects to q, k and v, attends, and projects back."""

    def __init__(self, width: int, heads: int, attend: nn.Module) -> None:
        super().__init__()
        self.heads, self.attend = heads, attend
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


def attention(spec: Mapping[str, Any], heads: int, seed: int, kernels: str = "attnc") -> nn.Module:
    made = attnc.torch.Attention(spec, heads, seed=seed)
    return made if kernels == "attnc" else composed.of(spec, made)


class Encoder(nn.Module):
    """The model of the thesis: an embedding with sinusoidal positions, one encoder layer, a readout."""

    def __init__(self, symbols: int, length: int, width: int, heads: int, attend: nn.Module) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], 2).flatten(1), persistent=False)
        self.attention = Heads(width, heads, attend)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.readout = nn.Linear(width, symbols)

    def forward(self, x: Tensor, last: int) -> Tensor:
        """Returns the predictions at the last `last` positions."""
        x = self.embed(x) + self.positions
        x = self.norm1(x + self.attention(x))[:, -last:]
        x = self.norm2(x + self.down(F.relu(self.up(x))))
        return self.readout(x)


class Block(nn.Module):
    """A pre-norm block with a gated linear unit (PolySketchFormer's Transformer++)."""

    def __init__(self, width: int, heads: int, attend: nn.Module) -> None:
        super().__init__()
        inner = 8 * width // 3 // 16 * 16
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Heads(width, heads, attend)
        self.up, self.down = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, last: int) -> Tensor:
        x = (x + self.attention(self.norm1(x)))[:, -last:]
        value, gate = self.up(self.norm2(x)).chunk(2, 2)
        return x + self.down(F.silu(gate) * value)


class Decoder(nn.Module):
    """A language model: the embedding, blocks, a norm, a readout."""

    def __init__(self, symbols: int, width: int, heads: int, layers: int,
                 attend: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.blocks = nn.ModuleList([Block(width, heads, attend(number)) for number in range(layers)])
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, symbols, bias=False)
        for weight in (p for block in self.blocks for p in (block.attention.out.weight, block.down.weight)):
            nn.init.normal_(weight, std=0.02 / math.sqrt(2 * layers))
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, x: Tensor, last: int) -> Tensor:
        """Returns the predictions at the last `last` positions. The last block computes only these rows."""
        x, length = self.embed(x), x.shape[1]
        for number, block in enumerate(self.blocks, 1):
            x = block(x, last if number == len(self.blocks) else length)
        return self.readout(self.norm(x))
