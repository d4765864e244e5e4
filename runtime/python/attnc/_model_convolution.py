"""Causal convolutions of models of transformers, with a filter for each channel. PyTorch computes them several times as
fast in two dimensions with the channels last, which is how the models have them in memory."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Optional

import torch
from torch import Tensor
from torch.nn import functional as F

_activations: Any = importlib.import_module("transformers.activations")
_FEW = 16  # with fewer tokens, one dimension is as fast


def _differentiates(*arrays: Optional[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(a is not None and a.requires_grad for a in arrays)


def _activated(a: Tensor, activation: Optional[str], dtype: torch.dtype) -> Tensor:
    made: Tensor = _activations.ACT2FN[activation](a) if activation else a
    return made.to(dtype)


def whole(original: Callable[..., Any], _: bool) -> Callable[..., Any]:
    """Returns a function for hidden_states [B, channels, n] and weight [channels, width]."""

    @functools.wraps(original)
    def convolve(hidden_states: Tensor, weight: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None,
                 **more: Any) -> Tensor:
        n, width = hidden_states.shape[-1], weight.shape[-1]
        # PyTorch's gradients of 16-bit convolutions are slower in two dimensions.
        slow = weight.dtype != torch.float32 and _differentiates(hidden_states, weight, bias)
        if hidden_states.device.type != "cpu" or n < _FEW or slow:
            return original(hidden_states, weight, bias, activation, **more)  # type: ignore[no-any-return]
        rows = hidden_states.to(weight.dtype).unsqueeze(2).contiguous(memory_format=torch.channels_last)
        made = F.conv2d(rows, weight[:, None, None], bias, padding=(0, width - 1), groups=weight.shape[0])
        return _activated(made[..., :n].squeeze(2), activation, hidden_states.dtype)
    return convolve


def token(original: Callable[..., Any], _: bool) -> Callable[..., Any]:
    """Returns a function for a token after conv_state [B, channels, width or more], which it changes."""

    @functools.wraps(original)
    def update(hidden_states: Tensor, conv_state: Tensor, weight: Tensor, bias: Optional[Tensor] = None,
               activation: Optional[str] = None, **more: Any) -> Tensor:
        fits = hidden_states.device.type == "cpu" and hidden_states.shape[-1] == 1
        if not fits or conv_state.shape[-1] + 1 < weight.shape[-1]:
            return original(hidden_states, conv_state, weight, bias, activation, **more)  # type: ignore[no-any-return]
        last = torch.cat([conv_state, hidden_states], dim=-1).to(weight.dtype)
        conv_state.copy_(last[..., 1:])
        made = torch.linalg.vecdot(last[..., -weight.shape[-1]:], weight)
        return _activated((made if bias is None else made + bias).unsqueeze(-1), activation, hidden_states.dtype)
    return update
