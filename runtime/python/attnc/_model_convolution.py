"""Causal convolutions of models of transformers, with a filter for each channel. PyTorch computes them several times as
fast in two dimensions with the channels last, which is how the models have them in memory."""
from __future__ import annotations

import importlib
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import functional as F

from ._context import differentiates

_activations: Any = importlib.import_module("transformers.activations")
_FEW = 16  # with fewer tokens, one dimension is as fast


def _activated(a: Tensor, activation: Optional[str], dtype: torch.dtype) -> Tensor:
    made: Tensor = _activations.ACT2FN[activation](a) if activation else a
    return made.to(dtype)


def whole(hidden_states: Tensor, weight: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None,
          **_: Any) -> Optional[Tensor]:
    """Convolves hidden_states [B, channels, n] with weight [channels, width]. Returns None if the model has to do it."""
    n, width = hidden_states.shape[-1], weight.shape[-1]
    # PyTorch's gradients of 16-bit convolutions are slower in two dimensions.
    slow = weight.dtype != torch.float32 and differentiates((hidden_states, weight, bias))
    if hidden_states.device.type != "cpu" or n < _FEW or slow:
        return None
    rows = hidden_states.to(weight.dtype).unsqueeze(2).contiguous(memory_format=torch.channels_last)
    made = F.conv2d(rows, weight[:, None, None], bias, padding=(0, width - 1), groups=weight.shape[0])
    return _activated(made[..., :n].squeeze(2), activation, hidden_states.dtype)


def token(hidden_states: Tensor, conv_state: Tensor, weight: Tensor, bias: Optional[Tensor] = None,
          activation: Optional[str] = None, **_: Any) -> Optional[Tensor]:
    """Does the same for a token after conv_state [B, channels, width or more], which it changes."""
    fits = hidden_states.device.type == "cpu" and hidden_states.shape[-1] == 1
    if not fits or conv_state.shape[-1] + 1 < weight.shape[-1]:
        return None
    last = torch.cat([conv_state, hidden_states], dim=-1).to(weight.dtype)
    conv_state.copy_(last[..., 1:])
    made = torch.linalg.vecdot(last[..., -weight.shape[-1]:], weight)
    return _activated((made if bias is None else made + bias).unsqueeze(-1), activation, hidden_states.dtype)
