"""Single tokens of the linear recurrences of models of transformers (_model_recurrent.py). A kernel would not be faster
than PyTorch's products, if these pass over the state three times: once for key and query, and twice to change it."""
from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ._context import differentiates


def _is_plain(state: Any, *arrays: Any) -> bool:
    """Returns True if the state is contiguous, in float32 on the CPU, and nothing is differentiated."""
    return (isinstance(state, Tensor) and state.device.type == "cpu" and state.dtype == torch.float32
            and state.is_contiguous() and not differentiates((state, *arrays)))


def _normalised(a: Tensor) -> Tensor:
    return a * torch.rsqrt((a * a).sum(-1, keepdim=True) + 1e-6)


def _step(query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
    """Computes a token of the delta rule: query, key [B, H, D], value [B, H, E], gate [B, H, 1 or D], rate [B, H],
    state [B, H, D, E]. Returns the result [B, H, E] and the next state.

    The query's product with the next state is its product with the decayed state, and with the change of the state."""
    batch, heads, size, columns = state.shape
    decay, flat = gate.exp(), state.view(batch * heads, size, columns)
    both = torch.stack((key * decay, query * decay), 2).view(batch * heads, 2, size)
    of_key, of_query = torch.bmm(both, flat).view(batch, heads, 2, columns).unbind(2)
    change = (value - of_key) * rate[..., None]
    out = of_query + (query * key).sum(-1, keepdim=True) * change
    made = flat * decay.reshape(batch * heads, -1, 1)
    made.baddbmm_(key.reshape(batch * heads, size, 1), change.view(batch * heads, 1, columns))
    return out, made.view_as(state)


def delta(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, initial_state: Optional[Tensor] = None,
          output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False, by_element: bool = False,
          **_: Any) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    """Computes one token of the delta rule, with the arguments of _delta() in _model_recurrent.py."""
    if query.shape[1] != 1 or not output_final_state or not _is_plain(initial_state, query, key, value, g, beta):
        return None
    q, k, v, gate, rate = (a[:, 0].float() for a in (query, key, value, g, beta))
    if use_qk_l2norm_in_kernel:
        q, k = _normalised(q), _normalised(k)
    members = v.shape[1] // k.shape[1]
    if members > 1:
        q, k = q.repeat_interleave(members, dim=1), k.repeat_interleave(members, dim=1)
    out, last = _step(q * q.shape[-1] ** -0.5, k, v, gate if by_element else gate[..., None], rate,
                      initial_state)  # type: ignore[arg-type]
    return out.unsqueeze(1).to(query.dtype), last


def space(state: Tensor, hidden_states: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor] = None,
          dt_bias: Optional[Tensor] = None, dt_softplus: bool = False, z: Optional[Tensor] = None,
          **_: Any) -> Optional[Tensor]:
    """Computes one token of the state space model: state [B, H, E, D], which it changes, hidden_states, dt [B, H, E],
    A [H, E, D], B, C [B, groups, D]. A and dt are numbers for each head, repeated."""
    of_heads = (A.dim() == 3 and A.stride()[1:] == (0, 0) and dt.dim() == 3 and dt.stride(2) == 0
                and (dt_bias is None or dt_bias.dim() == 2 and dt_bias.stride(1) == 0))
    if not of_heads or not _is_plain(state, hidden_states, dt, A, B, C, D, dt_bias, z):
        return None
    batch, heads, columns, size = state.shape
    step = dt[:, :, 0] if dt_bias is None else dt[:, :, 0] + dt_bias[:, 0].to(dt.dtype)
    step = (F.softplus(step) if dt_softplus else step).float()
    flat, inputs = state.view(batch * heads, columns, size), hidden_states.float()
    b, c = (a.float().repeat_interleave(heads // a.shape[1], dim=1).reshape(batch * heads, 1, size) for a in (B, C))
    flat.mul_((step * A[:, 0, 0].float()).exp().view(-1, 1, 1))
    flat.baddbmm_((inputs * step[..., None]).view(batch * heads, columns, 1), b)
    out = torch.bmm(c, flat.transpose(1, 2)).view(batch, heads, columns)
    if D is not None:
        out = out + inputs * D
    if z is not None:
        out = out * F.silu(z)
    return out.to(hidden_states.dtype)
