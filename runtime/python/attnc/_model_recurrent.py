"""The linear recurrences of models of transformers, by kernels: the gated delta rule of Qwen3-Next and its kin, Kimi
Delta Attention, and the state space model of Mamba-2."""
from __future__ import annotations

import functools
import json
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ._compiler import Source
from .torch import _constant, _constant_size, _forward, _kernel_of

_SHORT = 128  # with fewer tokens, PyTorch is as fast as a kernel


class Rule(NamedTuple):
    """How states change. `delta`: by the delta rule. `by_element`: each element of a key has its own decay."""

    delta: bool
    by_element: bool
    normalises: bool


@functools.lru_cache(maxsize=None)
def _known_text(rule: Rule, head_dim: int, value_dim: int) -> str:
    arrays: Dict[str, Any] = {"gate": {"shape": ["B", "H", "Nk", "D"] if rule.by_element else ["B", "H", "Nk"]}}
    spec: Dict[str, Any] = {
        "mask": "causal", "normalize": "none", "similarity": {"linear": {"features": "identity"}}, "arrays": arrays,
        "decay": {"log": "gate[b][h][t][d]" if rule.by_element else "gate[b][h][t]"},
        "shape": {"head_dim": head_dim, "value_dim": value_dim}}
    if rule.normalises:
        spec["prepare"] = [{"l2norm": {"eps": 1e-6}}]
    if rule.delta:
        arrays["rate"] = {"shape": ["B", "H", "Nk"]}
        spec["delta"] = {"rate": "rate[b][h][t]"}
    source = Source.of(spec)
    return json.dumps([source.operand, source.text, *source.settings])


def _text(rule: Tuple[bool, ...], head_dim: int, value_dim: int) -> str:
    """Returns the text that names a kernel (torch.py)."""
    return _known_text(Rule(*rule), head_dim, value_dim)


def _names(text: str) -> Tuple[str, ...]:
    return tuple(p.name for p in _kernel_of(text).parameters)


_constant(_text)
_constant(_names)


def _call(rule: Rule, query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Optional[Tensor]) -> Tensor:
    text = _text(tuple(rule), _constant_size(key.shape[3]), _constant_size(value.shape[3]))
    given: Dict[str, Any] = {"gate": gate} if rate is None else {"gate": gate, "rate": rate}
    if not torch.compiler.is_compiling():
        return _kernel_of(text)(query, key, value, **given)
    arrays = [given[name] for name in _names(text)]
    saves = torch.is_grad_enabled() and any(a.requires_grad for a in (query, key, value, *arrays))
    return _forward(text, query, key, value, arrays, None, saves, None)[0]  # type: ignore[no-any-return]


def recurrence(rule: Rule, query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Optional[Tensor],
               state: Optional[Tensor], wants_state: bool) -> Tuple[Tensor, Optional[Tensor]]:
    """Computes the recurrence for float32 arrays [B, H, n, …]. Returns its results and the last state [B, H, D, E].
    Query and key may have fewer heads than the other arrays.

    gate: logarithms of the decays, [B, H, n] or [B, H, n, D]
    rate: [B, H, n], with the delta rule

    A state enters as D more tokens, whose keys are the unit vectors and whose values are its rows. The last state is
    the result for the unit vectors as queries, which come after the last token and change nothing."""
    batch, heads, n, size = *value.shape[:3], key.shape[3]
    before, after = 0 if state is None else size, size if wants_state else 0
    unit = torch.eye(size, dtype=key.dtype).expand(batch, key.shape[1], size, size)
    nothing = value.new_zeros(batch, heads, size, value.shape[3])
    parts = [torch.zeros_like(unit), query, unit], [unit, key, torch.zeros_like(unit)], [state, value, nothing]
    first, end = 0 if before else 1, 3 if after else 2
    query, key, value = (torch.cat(part[first:end], dim=2).contiguous() for part in parts)  # type: ignore[arg-type]
    pad = [0, 0] * (gate.dim() - 3) + [before, after]
    gate = F.pad(gate, pad).contiguous()
    if rate is not None:
        rate = F.pad(F.pad(rate, (before, 0), value=1.0), (0, after)).contiguous()
    made = _call(rule, query, key, value, gate, rate)
    last = made[:, :, before + n:] if after else None
    return made[:, :, before:before + n], last


def _fits(n: int, *arrays: Any) -> bool:
    return n >= _SHORT and all(a is None or a.device.type == "cpu" and a.dtype != torch.float64 for a in arrays)


def _by_heads(a: Tensor, heads: int = 0) -> Tensor:
    """Returns [B, n, heads of keys, …] as float32 [B, heads of keys, n, …], or repeated as [B, heads, n, …]."""
    members = heads // a.shape[2]
    return (a.repeat_interleave(members, dim=2) if members > 1 else a).transpose(1, 2).float()


def _delta(original: Callable[..., Any], by_element: bool) -> Callable[..., Any]:
    """Returns a function for the delta rule: query, key, g [B, n, H or fewer, D], value [B, n, H, E], beta [B, n, H]."""

    @functools.wraps(original)
    def rule(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, chunk_size: int = 64,
             initial_state: Optional[Tensor] = None, output_final_state: bool = False,
             use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Any = None,
             **more: Any) -> Tuple[Tensor, Optional[Tensor]]:
        if cu_seqlens is not None or not _fits(query.shape[1], query, key, value, g, beta, initial_state):
            return original(  # type: ignore[no-any-return]
                query, key, value, g=g, beta=beta, chunk_size=chunk_size, initial_state=initial_state,
                output_final_state=output_final_state, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
                cu_seqlens=cu_seqlens, **more)
        q, k, v, rate = (_by_heads(a) for a in (query, key, value, beta))
        gate = _by_heads(g, value.shape[2])
        state = None if initial_state is None else initial_state.float()
        out, last = recurrence(Rule(True, by_element, use_qk_l2norm_in_kernel), q, k, v, gate, rate, state, output_final_state)
        return (out * query.shape[3] ** -0.5).transpose(1, 2).to(query.dtype).contiguous(), last
    return rule


def _space(original: Callable[..., Any], _: bool) -> Callable[..., Any]:
    """Returns a function for the state space model: hidden_states [B, n, H, E], dt [B, n, H], A [H],
    B and C [B, n, groups, D]. Its states are [B, H, E, D]."""

    @functools.wraps(original)
    def scan(hidden_states: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int,
             D: Optional[Tensor] = None, dt_bias: Optional[Tensor] = None, initial_states: Optional[Tensor] = None,
             dt_softplus: bool = False, dt_limit: Tuple[float, float] = (0.0, float("inf")),
             return_final_states: bool = False, **more: Any) -> Any:
        if A.dim() != 1 or not _fits(hidden_states.shape[1], hidden_states, dt, A, B, C, initial_states):
            return original(hidden_states, dt, A, B, C, chunk_size=chunk_size, D=D, dt_bias=dt_bias,
                            initial_states=initial_states, dt_softplus=dt_softplus, dt_limit=dt_limit,
                            return_final_states=return_final_states, **more)
        step = dt if dt_bias is None else dt + dt_bias.to(dt.dtype)
        step = (F.softplus(step) if dt_softplus else step).clamp(*dt_limit).float()
        inputs = hidden_states.float()
        q, k, v, gate = (_by_heads(a) for a in (C, B, inputs * step[..., None], A.float() * step))
        state = None if initial_states is None else initial_states.float().transpose(2, 3)
        out, last = recurrence(Rule(False, False, False), q, k, v, gate, None, state, return_final_states)
        made = out.transpose(1, 2)
        made = (made if D is None else made + D[..., None] * inputs).contiguous()
        return (made, None if last is None else last.transpose(2, 3).contiguous()) if return_final_states else made
    return scan


# {function of a modeling module: (what makes its replacement, whether each element of a key has its own decay)}
_REPLACED: Dict[str, Tuple[Callable[..., Any], bool]] = {
    "torch_chunk_gated_delta_rule": (_delta, False), "chunk_kimi_delta_attention": (_delta, True),
    "mamba2_chunk_scan": (_space, False)}


def extend(module: Any) -> None:
    """Lets the layers of a modeling module use kernels, for prompts and for training."""
    for name, (replacement, by_element) in _REPLACED.items():
        original: Any = getattr(module, name, None)
        if original is None or getattr(original, "of_attnc", False):
            continue
        made: Any = replacement(original, by_element)
        made.of_attnc = True
        setattr(module, name, made)
