"""attnc.torch.use(): PyTorch's scaled_dot_product_attention computes on the CPU with kernels of attnc.

It replaces two operators of PyTorch: the fused attention for CPUs, and its gradient. Nothing else changes, because
autograd, torch.compile and modules such as nn.MultiheadAttention call these operators.
"""
from __future__ import annotations

import math
import threading
import warnings
from types import TracebackType
from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from ._compiler import CompilerError, Source
from ._kernel import _FLOATS, Kernel, _of_source
from ._autograd import Kept, refuse_parallel, saved_size

_OPERATOR = "_scaled_dot_product_flash_attention_for_cpu"
_LOG_2 = math.log(2)

# Calls with fewer multiply-adds of q and k are as fast with PyTorch's operator, measured on Sapphire Rapids
MIN_WORK, MIN_WORK_16_BITS = 1 << 25, 1 << 23


def _kernel_of(q: Tensor, k: Tensor, is_causal: bool, scale: Optional[float]) -> Kernel:
    spec: dict[str, Any] = {"name": "sdpa", "similarity": "softmax" if scale is None else {"softmax": {"scale": scale}},
                            "shape": {"head_dim": q.shape[3]}, "dtype": _FLOATS[str(q.dtype).removeprefix("torch.")],
                            "emit": ["forward", "backward"]}
    if is_causal:  # PyTorch counts the positions of queries from the first key, attnc from the last
        spec["mask"] = "causal" if q.shape[2] == k.shape[2] else {"expr": "j <= row"}
    return _of_source(Source.of(spec))


def _takes(q: Tensor, k: Tensor, v: Tensor, dropout_p: float, attn_mask: Optional[Tensor]) -> bool:
    """Returns True if a kernel of attnc can compute this call and is faster."""
    if dropout_p or attn_mask is not None or any(a.stride(3) != 1 for a in (q, k, v)):
        return False
    if q.shape[1] != k.shape[1] or v.shape[3] != q.shape[3] or not q.numel() or not k.numel():
        return False
    work = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * q.shape[3]
    return work >= (MIN_WORK if q.element_size() > 2 else MIN_WORK_16_BITS)


class Replaced:
    """Attention of PyTorch as it was replaced by attnc.torch.use(). undo() restores PyTorch's operators, unless another
    use() is active; so does the end of a `with` block."""

    def __init__(self) -> None:
        self._active = True
        with _lock:
            _operators.users += 1
            if _operators.users == 1:
                _operators.replace()

    def undo(self) -> None:
        """Ends this use of attnc. Calling it twice is harmless."""
        with _lock:
            _operators.users -= self._active
            if self._active and not _operators.users:
                _operators.restore()
            self._active = False

    def __enter__(self) -> Replaced:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.undo()


class _Operators:
    """PyTorch's operators and the functions that replace them."""

    def __init__(self) -> None:
        self.users = 0
        self._failed = False
        self._forward: Any = None
        self._backward: Any = None
        self._library: Any = None

    def replace(self) -> None:
        if self._forward is None:
            self._forward, self._backward = (torch.library.get_kernel(f"aten::{_OPERATOR}{ending}", "CPU")
                                             for ending in ("", "_backward"))
        self._library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of an operator that is replaced
            for ending, function in ("", self._call), ("_backward", self._differentiate):
                self._library.impl(_OPERATOR + ending, function, "CPU", with_keyset=True)

    def restore(self) -> None:
        self._library._destroy()
        self._library = None

    def _kernel(self, *call: Any) -> Optional[Kernel]:
        """Returns the kernel, or None without a C compiler. In that case a warning says so once, and PyTorch computes
        the calls."""
        if self._failed:
            return None
        try:
            return _kernel_of(*call)
        except CompilerError as error:
            self._failed = True
            warnings.warn(f"attnc.torch.use(): PyTorch computes attention, because {error}", stacklevel=2)
            return None

    def _call(self, keys: Any, query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0,
              is_causal: bool = False, *, attn_mask: Optional[Tensor] = None,
              scale: Optional[float] = None) -> Tuple[Tensor, Tensor]:
        refuse_parallel("scaled_dot_product_attention")
        takes = _takes(query, key, value, dropout_p, attn_mask)
        made = self._kernel(query, key, is_causal, scale) if takes else None
        if made is None:
            result: Tuple[Tensor, Tensor] = self._forward.call_boxed(keys, query, key, value, dropout_p, is_causal,
                                                                     attn_mask=attn_mask, scale=scale)
            return result
        batch, heads, rows, _ = query.shape
        out, sums = torch.empty_like(query), torch.float64 if made.dtype == "f64" else torch.float32
        saved = torch.empty(saved_size(made, batch * heads * rows), dtype=sums)
        query, key, value = (a.detach() for a in (query, key, value))
        made._with_gradients().forward(query, key, value, made._none, None, out, torch.get_num_threads(), Kept(saved))
        # a kernel of softmax saves the logarithm to base 2 of each row's denominator
        logarithms = torch.empty((batch, rows, heads), dtype=sums).transpose(1, 2)
        return out, logarithms.copy_(saved[:batch * heads * rows].view(batch, heads, rows)).mul_(_LOG_2)

    def _differentiate(self, keys: Any, grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor,
                       logsumexp: Tensor, dropout_p: float, is_causal: bool, *, attn_mask: Optional[Tensor] = None,
                       scale: Optional[float] = None) -> Tuple[Tensor, Tensor, Tensor]:
        takes = _takes(query, key, value, dropout_p, attn_mask)
        made = self._kernel(query, key, is_causal, scale) if takes else None
        if made is None:
            result: Tuple[Tensor, Tensor, Tensor] = self._backward.call_boxed(
                keys, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
            return result
        saved = torch.zeros(saved_size(made, logsumexp.numel()), dtype=logsumexp.dtype)
        torch.div(logsumexp, _LOG_2, out=saved[:logsumexp.numel()].view(logsumexp.shape))
        if grad_out.stride(3) != 1 or 0 in grad_out.stride():
            grad_out = grad_out.contiguous()
        gradients = {name: torch.empty_permuted(a.shape, (0, 2, 1, 3), dtype=a.dtype)
                     for name, a in (("dq", query), ("dk", key), ("dv", value))}
        query, key, value, out = (a.detach() for a in (query, key, value, out))
        made._with_gradients().backward(query, key, value, out, grad_out, made._none, None, Kept(saved),
                                        list(gradients), gradients, torch.get_num_threads())
        return gradients["dq"], gradients["dk"], gradients["dv"]


_operators = _Operators()
_lock = threading.Lock()


def use() -> Replaced:
    """Makes torch.nn.functional.scaled_dot_product_attention on the CPU use kernels of attnc if they are faster: calls
    without a mask or with is_causal=True, without dropout, of float32, bfloat16, float16 or float64, that are not too
    small. PyTorch computes all other calls. Gradients, torch.compile and modules work as before.

    Returns an object whose undo() restores PyTorch's operators; in `with attnc.torch.use():` the end of the block does.
    A kernel is compiled at its first use on a machine; `attnc.compile_all` does it ahead."""
    return Replaced()
