"""The gated delta rule of models of transformers, such as Qwen3-Next, by a kernel."""
from __future__ import annotations

import functools
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from ._kernel import Kernel, kernel

_NAME = "torch_chunk_gated_delta_rule"
_SHORT = 128  # with fewer tokens, PyTorch is as fast as a kernel


@functools.lru_cache(maxsize=None)
def _kernel(head_dim: int, value_dim: int, normalises: bool) -> Kernel:
    steps = [{"l2norm": {"eps": 1e-6}}] if normalises else []
    arrays = {name: {"shape": ["B", "H", "Nk"]} for name in ("gate", "rate")}
    return kernel({"prepare": [*steps, {"scale": {"by": head_dim ** -0.5}}], "mask": "causal", "normalize": "none",
                   "similarity": {"linear": {"features": "identity"}}, "decay": {"log": "gate[b][h][t]"},
                   "delta": {"rate": "rate[b][h][t]"}, "arrays": arrays,
                   "shape": {"head_dim": head_dim, "value_dim": value_dim}})


def gated_delta_rule(query: Tensor, key: Tensor, value: Tensor, gate: Tensor, rate: Tensor, state: Optional[Tensor],
                     wants_state: bool, normalises: bool) -> Tuple[Tensor, Optional[Tensor]]:
    """Computes the rule for arrays [B, H, n, …] of float32, and the last state [B, H, D, E].

    A state enters as D more tokens, whose keys are the unit vectors and whose values are its rows. The last state is
    the result for the unit vectors as queries, which come after the last token and change nothing."""
    batch, heads, n, size = query.shape
    before, after = 0 if state is None else size, size if wants_state else 0
    unit = torch.eye(size).expand(batch, heads, size, size)
    nothing = torch.zeros(batch, heads, size, value.shape[3])
    parts: List[List[Any]] = [[torch.zeros_like(unit), query, unit], [unit, key, unit], [state, value, nothing]]
    first, end = 0 if before else 1, 3 if after else 2
    joined = [torch.cat(part[first:end], dim=2) for part in parts]
    gate = torch.nn.functional.pad(gate, (before, after))
    rate = torch.nn.functional.pad(torch.nn.functional.pad(rate, (before, 0), value=1.0), (0, after))
    made: Tensor = _kernel(size, value.shape[3], normalises)(*joined, gate=gate, rate=rate)
    last = made[:, :, before + n:] * size ** 0.5 if after else None
    return made[:, :, before:before + n], last


def _fits(query: Tensor, arrays: Tuple[Optional[Tensor], ...], documents: Any) -> bool:
    return (documents is None and query.shape[1] >= _SHORT and not torch.compiler.is_compiling()
            and all(a is None or a.device.type == "cpu" and a.dtype != torch.float64 for a in arrays)
            and not (torch.is_grad_enabled() and any(a is not None and a.requires_grad for a in arrays)))


def extend(module: Any) -> None:
    """Lets the layers of a modeling module use the kernel, for prompts without gradients."""
    original: Any = getattr(module, _NAME, None)
    if original is None or getattr(original, "of_attnc", False):
        return

    @functools.wraps(original)
    def chunk_gated_delta_rule(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor, chunk_size: int = 64,
                               initial_state: Optional[Tensor] = None, output_final_state: bool = False,
                               use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Any = None,
                               **more: Any) -> Tuple[Tensor, Optional[Tensor]]:
        if not _fits(query, (query, key, value, g, beta, initial_state), cu_seqlens):
            return original(  # type: ignore[no-any-return]
                query, key, value, g=g, beta=beta, chunk_size=chunk_size, initial_state=initial_state,
                output_final_state=output_final_state, use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
                cu_seqlens=cu_seqlens, **more)
        members = value.shape[2] // key.shape[2]
        query, key = (a.repeat_interleave(members, dim=2) if members > 1 else a for a in (query, key))
        state = None if initial_state is None else initial_state.float()
        q, k, v, gate, rate = (a.transpose(1, 2).float().contiguous() for a in (query, key, value, g, beta))
        out, last = gated_delta_rule(q, k, v, gate, rate, state, output_final_state, use_qk_l2norm_in_kernel)
        return out.transpose(1, 2).to(query.dtype).contiguous(), last
    chunk_gated_delta_rule.of_attnc = True  # type: ignore[attr-defined]
    setattr(module, _NAME, chunk_gated_delta_rule)
