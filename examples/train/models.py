"""The models. All layers are PyTorch's except attention."""
from __future__ import annotations

import math
from typing import Any, Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnc
import attnc.torch
import composed


class Heads(nn.Module):
    """Projects to q, k and v, attends, and projects back. With `conv`, a causal convolution of that many positions and
    SiLU follow the first projection."""

    def __init__(self, width: int, heads: int, attend: nn.Module, conv: int = 0) -> None:
        super().__init__()
        self.heads, self.attend = heads, attend
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.conv = nn.Conv1d(3 * width, 3 * width, conv, groups=3 * width, padding=conv - 1,
                              bias=False) if conv else None

    def forward(self, x: Tensor) -> Tensor:
        rows = self.qkv(x)
        if self.conv is not None:
            rows = F.silu(self.conv(rows.mT)[..., :rows.shape[1]]).mT.contiguous()
        q, k, v = rows.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(self.attended(x, q, k, v).transpose(1, 2).flatten(2))

    def attended(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        made: Tensor = self.attend(q, k, v)
        return made


class DeltaHeads(Heads):
    """The layer of Gated DeltaNet: each head has decays and rates, and its output is normalised and gated."""

    def __init__(self, width: int, heads: int, attend: nn.Module, conv: int = 0) -> None:
        super().__init__(width, heads, attend, conv)
        self.decay, self.rate = nn.Linear(width, heads), nn.Linear(width, heads, bias=False)
        self.norm, self.gate = nn.RMSNorm(width // heads, eps=1e-5), nn.Linear(width, width, bias=False)
        # The first decays of a head are e^(-a s): a from 1 to 16, s from 0.001 to 0.1.
        self.strength = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        with torch.no_grad():
            steps = torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)).exp()
            self.decay.bias.copy_(steps.expm1().log())

    def attended(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        gate = -self.strength.exp() * F.softplus(self.decay(x))
        rows = self.attend(q, k, v, gate=gate.mT.contiguous(), beta=self.rate(x).sigmoid().mT.contiguous())
        return self.norm(rows) * F.silu(self.gate(x).unflatten(2, (self.heads, -1)).transpose(1, 2))


def attention(spec: Mapping[str, Any], heads: int, seed: int, kernels: str = "attnc") -> nn.Module:
    made = attnc.torch.Attention(spec, heads, seed=seed)
    return made if kernels == "attnc" else composed.of(spec, made)


class Stored(nn.Module):
    """Attends as `attend` does with this spec, but keys and values are stored in a type, as in a state of decoding."""

    def __init__(self, attend: nn.Module, spec: Mapping[str, Any], kind: str) -> None:
        super().__init__()
        self.attend = attend
        self.kernel = attnc.kernel(spec if kind == "f32" else {**spec, "storage": {"k": kind, "v": kind}})

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        arrays = {name: weight.detach() for name, weight in (*self.attend.named_parameters(), *self.attend.named_buffers())}
        made: Tensor = self.kernel.state(len(q), capacity=k.shape[2], **arrays).extend(q, k, v)
        return made


def heads_of(width: int, heads: int, attend: nn.Module, conv: int = 0) -> Heads:
    """Returns the layer around `attend`. Attention with the delta rule takes decays and rates."""
    given = {p.keyword for p in attend.kernel.parameters} if isinstance(attend, attnc.torch.Attention) else set()
    return (DeltaHeads if "beta" in given else Heads)(width, heads, attend, conv)


class Encoder(nn.Module):
    """The model of the thesis: an embedding with sinusoidal positions, one encoder layer, a readout."""

    def __init__(self, symbols: int, length: int, width: int, heads: int, attend: nn.Module) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], 2).flatten(1), persistent=False)
        self.attention = heads_of(width, heads, attend)
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

    def __init__(self, width: int, heads: int, attend: nn.Module, conv: int) -> None:
        super().__init__()
        inner = 8 * width // 3 // 16 * 16
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = heads_of(width, heads, attend, conv)
        self.up, self.down = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, last: int) -> Tensor:
        x = (x + self.attention(self.norm1(x)))[:, -last:]
        value, gate = self.up(self.norm2(x)).chunk(2, 2)
        return x + self.down(F.silu(gate) * value)


class Decoder(nn.Module):
    """A language model: the embedding, blocks, a norm, a readout."""

    def __init__(self, symbols: int, width: int, heads: int, layers: int,
                 attend: Callable[[int], nn.Module], conv: int = 0) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.blocks = nn.ModuleList([Block(width, heads, attend(number), conv) for number in range(layers)])
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
