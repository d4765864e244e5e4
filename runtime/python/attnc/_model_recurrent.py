"""The linear recurrences of models of transformers, by kernels: the gated delta rule of Qwen3-Next and its kin, Kimi
Delta Attention, and the state space model of Mamba-2. Their convolutions are in _model_convolution.py."""
from __future__ import annotations

import functools
import sys
import types
import warnings
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F

from . import _model_convolution, _model_token
from ._compiler import CompilerError, Source
from ._context import cached_constant, constant, constant_size, differentiates, is_eager, is_traced
from ._kernel import variables
from ._model_call import noted, run, run_differentiable
from ._operators import forward, kernel_of, names_of
from ._traits import recurrent_spec

_SHORT = 128  # with fewer tokens, PyTorch is as fast as a kernel


class Rule(NamedTuple):
    """How states change. `delta`: by the delta rule, and q is divided by the root of its size. `by_element`: each
    element of a key has its own decay. `normalises`: q and k are divided by their norms, with `delta`."""

    delta: bool
    by_element: bool
    normalises: bool


@cached_constant
def _text(rule: Tuple[bool, ...], head_dim: int, value_dim: int) -> str:
    """Returns the text that names a kernel (_operators.py)."""
    return Source.of(recurrent_spec(*Rule(*rule), head_dim, value_dim)).name()


@functools.lru_cache(maxsize=None)
def _known_to_compile(text: str, _: Tuple[Optional[str], ...]) -> bool:
    try:
        kernel_of(text)
    except CompilerError as error:
        warnings.warn(f"attnc.transformers: PyTorch computes the recurrence, because {error}", RuntimeWarning,
                      stacklevel=3)
        return False
    return True


@constant
def _compiles(text: str) -> bool:
    """Returns True if there is a kernel, or a C compiler to make it."""
    return _known_to_compile(text, variables())


def _call(rule: Rule, query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Optional[Tensor]) -> Tensor:
    text = _text(tuple(rule), constant_size(key.shape[3]), constant_size(value.shape[3]))
    given: Dict[str, Any] = {"gate": gate if rule.by_element else gate.transpose(1, 2).contiguous()}
    if rate is not None:
        given["rate"] = rate.transpose(1, 2).contiguous()
    query, key, value = ((a if a.stride(-1) == 1 else a.contiguous()).transpose(1, 2) for a in (query, key, value))
    arrays = [given[name] for name in names_of(text)]
    if not is_traced() and is_eager(query, key, value, *arrays):
        call: Callable[..., Optional[Tensor]] = (
            run_differentiable if differentiates((query, key, value, *arrays)) else run)
        result = call(kernel_of(text), query, key, value, given)
        if result is not None:
            return result
    return forward(text, query, key, value, arrays).transpose(1, 2)


def recurrence(rule: Rule, query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Optional[Tensor],
               state: Optional[Tensor], wants_state: bool) -> Tuple[Tensor, Optional[Tensor]]:
    """Computes the recurrence for float32 arrays [B, n, H, …]. Returns its results and the last state [B, D, H, E].
    Query and key may have fewer heads than the other arrays.

    gate: logarithms of the decays, [B, n, H] or [B, n, H, D]
    rate: [B, n, H], with the delta rule
    state: the first state [B, D, H, E], or None

    A state enters as D more tokens, whose keys are the unit vectors and whose values are its rows. The last state is
    the result for the unit vectors as queries, which come after the last token and change nothing."""
    batch, n, heads, size = *value.shape[:3], key.shape[3]
    before, after = 0 if state is None else size, size if wants_state else 0
    if before or after:
        unit = torch.eye(size, dtype=key.dtype).view(1, size, 1, size).expand(batch, size, key.shape[2], size)
        nothing = value.new_zeros(1, 1, 1, 1).expand(batch, size, heads, value.shape[3])
        empty = unit.new_zeros(1, 1, 1, 1).expand(unit.shape)
        parts = [empty, query, unit], [unit, key, empty], [state, value, nothing]
        first, end = 0 if before else 1, 3 if after else 2
        query, key, value = (torch.cat(part[first:end], dim=1).contiguous() for part in parts)  # type: ignore[arg-type]
        gate = F.pad(gate, [0, 0] * (gate.dim() - 2) + [before, after])
        if rate is not None:
            rate = F.pad(F.pad(rate, (0, 0, before, 0), value=1.0), (0, 0, 0, after))
    made = _call(rule, query, key, value, gate, rate)
    last = made[:, before + n:] * (size ** 0.5 if rule.delta else 1) if after else None
    return made[:, before:before + n], last


def _fits(rule: Rule, key: Tensor, value: Tensor, *arrays: Any) -> bool:
    """Returns True if a kernel computes a call with these keys [B, n, …, D], values [B, n, H, E] and other arrays."""
    if any(a is not None and (a.device.type != "cpu" or a.dtype == torch.float64) for a in (key, value, *arrays)):
        return False
    text, found = _text(tuple(rule), constant_size(key.shape[-1]), constant_size(value.shape[-1])), noted()
    if found is not None:
        found.add((text, differentiates((key, value, *arrays)), False))
    return found is None and key.shape[1] >= _SHORT and _compiles(text)


def _delta(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, chunk_size: int = 64,
           initial_state: Optional[Tensor] = None, output_final_state: bool = False,
           use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Any = None, by_element: bool = False,
           **_: Any) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    """Computes the delta rule: query, key, g [B, n, H or fewer, D], value [B, n, H, E], beta [B, n, H]."""
    kind = Rule(True, by_element, use_qk_l2norm_in_kernel)
    if cu_seqlens is not None or not _fits(kind, key, value, query, g, beta, initial_state):
        return None
    q, k, v, gate, rate = (a.float() for a in (query, key, value, g, beta))
    state = None if initial_state is None else initial_state.float().transpose(1, 2)
    out, last = recurrence(kind, q, k, v, gate, rate, state, output_final_state)
    return out.to(query.dtype).contiguous(), None if last is None else last.transpose(1, 2).contiguous()


def _space(hidden_states: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int,
           D: Optional[Tensor] = None, dt_bias: Optional[Tensor] = None, initial_states: Optional[Tensor] = None,
           dt_softplus: bool = False, dt_limit: Tuple[float, float] = (0.0, float("inf")),
           return_final_states: bool = False, **_: Any) -> Any:
    """Computes the state space model: hidden_states [B, n, H, E], dt [B, n, H], A [H], B and C [B, n, groups, D]. Its
    states are [B, H, E, D]."""
    kind = Rule(False, False, False)
    if A.dim() != 1 or not _fits(kind, B, hidden_states, dt, A, C, initial_states):
        return None
    step = dt if dt_bias is None else dt + dt_bias.to(dt.dtype)
    step = (F.softplus(step) if dt_softplus else step).clamp(*dt_limit).float()
    inputs = hidden_states.float()
    state = None if initial_states is None else initial_states.float().permute(0, 3, 1, 2)
    made, last = recurrence(kind, C.float(), B.float(), inputs * step[..., None], A.float() * step, None, state,
                            return_final_states)
    made = (made if D is None else made + D[..., None] * inputs).contiguous()
    return (made, None if last is None else last.permute(0, 2, 3, 1).contiguous()) if return_final_states else made


# Functions that compute calls of these functions of a modeling module, or return None if these have to. by_element: each
# element of a key has its own decay
REPLACED: Dict[str, Callable[..., Any]] = {
    "torch_chunk_gated_delta_rule": _delta, "chunk_kimi_delta_attention": functools.partial(_delta, by_element=True),
    "mamba2_chunk_scan": _space, "torch_recurrent_gated_delta_rule": _model_token.delta,
    "recurrent_kimi_delta_attention": functools.partial(_model_token.delta, by_element=True),
    "mamba2_selective_state_update": _model_token.space, "causal_conv1d_fn": _model_convolution.whole,
    "causal_conv1d_update": _model_convolution.token}


def replaced(original: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls `function`, and `original` if that returns None."""
    @functools.wraps(original)
    def made(*words: Any, **more: Any) -> Any:
        result = function(*words, **more)
        return original(*words, **more) if result is None else result
    return made


@functools.lru_cache(maxsize=None)
def with_kernels(module: Any) -> Any:
    """Returns a copy of a modeling module, whose functions use kernels for prompts and for training, fewer passes over the
    state for single tokens, and faster convolutions."""
    made = types.ModuleType(f"{__package__}.with_kernels.{module.__name__}")
    vars(made).update((name, value) for name, value in vars(module).items()
                      if name not in ("__name__", "__file__", "__spec__", "__loader__", "__cached__"))
    for name, function in REPLACED.items():
        if hasattr(module, name):
            setattr(made, name, replaced(getattr(module, name), function))
    sys.modules[made.__name__] = made  # torch.compile looks up the globals of functions there
    return made
