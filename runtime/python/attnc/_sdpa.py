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
from ._autograd import Attended, Backward, Kept, refuse_parallel, rows_of, saved_size
from ._repeat import _calls

_OPERATOR = "_scaled_dot_product_flash_attention_for_cpu"
_LOG_2 = math.log(2)

# Calls with fewer multiply-adds of q and k are as fast with PyTorch's operator, measured on Sapphire Rapids
MIN_WORK, MIN_WORK_16_BITS = 1 << 25, 1 << 23


_kernels: dict[Any, Kernel] = {}


def _kernel_of(q: Tensor, k: Tensor, is_causal: bool, scale: Optional[float]) -> Kernel:
    key = q.shape[3], q.dtype, is_causal and q.shape[2] == k.shape[2], is_causal, scale
    made = _kernels.get(key)
    if made is not None:
        return made
    spec: dict[str, Any] = {"name": "sdpa", "similarity": "softmax" if scale is None else {"softmax": {"scale": scale}},
                            "shape": {"head_dim": q.shape[3]}, "dtype": _FLOATS[str(q.dtype).removeprefix("torch.")],
                            "emit": ["forward", "backward"]}
    if is_causal:  # PyTorch counts the positions of queries from the first key, attnc from the last
        spec["mask"] = "causal" if q.shape[2] == k.shape[2] else {"expr": "j <= row"}
    made = _kernels[key] = _of_source(Source.of(spec))
    return made


def _takes(q: Tensor, k: Tensor, v: Tensor, dropout_p: float, attn_mask: Optional[Tensor]) -> bool:
    """Returns True if a kernel of attnc can compute this call and is faster."""
    if dropout_p or attn_mask is not None or any(a.stride(3) != 1 for a in (q, k, v)):
        return False
    if q.shape[1] != k.shape[1] or v.shape[3] != q.shape[3] or not q.numel() or not k.numel():
        return False
    work = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * q.shape[3]
    return work >= (MIN_WORK if q.element_size() > 2 else MIN_WORK_16_BITS)


def _name(kernel: Kernel, *tensors: Tensor) -> Any:
    """Returns the key of a call in _repeat.py."""
    return ("sdpa", kernel, torch.get_num_threads(), tensors[0].shape, tensors[1].shape, *(a.stride() for a in tensors))


def _rows(saved: Tensor, q: Tensor) -> Tensor:
    """Returns the saved values as [batch, heads, rows]: the logarithms to base 2 of the rows' denominators."""
    batch, heads, rows = q.shape[:3]
    return saved.as_strided((batch, heads, rows), (heads * rows, rows, 1))


def _forward(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> Tuple[Tensor, Tensor]:
    """Returns the result, and the natural logarithms of the rows' denominators."""
    calls, name = _calls(), _name(kernel, q, k, v)
    known = calls.known(name)
    if known is not None:
        saved = torch.empty_like(known.saved_like)
        out = known.call(q, k, v, None, saved.data_ptr())
    else:
        binding, sums = kernel._with_gradients(), torch.float64 if kernel.dtype == "f64" else torch.float32
        saved = torch.zeros(saved_size(kernel, rows_of(q)), dtype=sums)
        out, call, target = binding._forward(q.detach(), k.detach(), v.detach(), kernel._none, None, torch.empty_like(q),
                                             torch.get_num_threads(), Kept(saved))
        known = Attended(call, binding.forward_function, target, q, saved)
        known.empty = torch.empty_like
        calls.put(name, known)
    logarithms = torch.empty((q.shape[0], q.shape[2], q.shape[1]), dtype=saved.dtype).transpose(1, 2)
    return out, torch.mul(_rows(saved, q), _LOG_2, out=logarithms)


def _like_pytorch(a: Tensor) -> Tensor:
    return torch.empty_permuted(a.shape, (0, 2, 1, 3), dtype=a.dtype)


def _backward(kernel: Kernel, inputs: Tuple[Tensor, ...], logarithms: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns dq, dk and dv. `inputs` are q, k, v, out and dout."""
    calls, name = _calls(), _name(kernel, *inputs)
    saved = torch.empty(saved_size(kernel, logarithms.numel()), dtype=logarithms.dtype)
    torch.div(logarithms, _LOG_2, out=_rows(saved, inputs[0]))
    known = calls.known(name)
    if known is None:
        binding, names = kernel._with_gradients(), ("dq", "dk", "dv")
        targets = {name: _like_pytorch(a) for name, a in zip(names, inputs)}
        q, k, v, out, dout = (a.detach() for a in inputs)
        made, call, gradients = binding._backward(q, k, v, out, dout, kernel._none, None, Kept(saved), names, targets,
                                                  torch.get_num_threads())
        known = Backward(call, binding.kernel.backward, q, gradients, (True,) * 3)
        known.empty = _like_pytorch
        calls.put(name, known)
        return made.dq, made.dk, made.dv
    return tuple(known.call(inputs, saved, kernel._none, None))


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
        return _forward(made, query, key, value)

    def _differentiate(self, keys: Any, grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor,
                       logsumexp: Tensor, dropout_p: float, is_causal: bool, *, attn_mask: Optional[Tensor] = None,
                       scale: Optional[float] = None) -> Tuple[Tensor, Tensor, Tensor]:
        takes = _takes(query, key, value, dropout_p, attn_mask)
        made = self._kernel(query, key, is_causal, scale) if takes else None
        if made is None:
            result: Tuple[Tensor, Tensor, Tensor] = self._backward.call_boxed(
                keys, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
            return result
        if grad_out.stride(3) != 1 or 0 in grad_out.stride():
            grad_out = grad_out.contiguous()
        return _backward(made, (query, key, value, out, grad_out), logsumexp)


_operators = _Operators()
_lock = threading.Lock()


def use() -> Replaced:
    """Makes torch.nn.functional.scaled_dot_product_attention on the CPU use kernels of attnc if they are faster: calls
    without a mask or with is_causal=True, without dropout, of float32, bfloat16, float16 or float64, that are not too
    small. PyTorch computes all other calls. Gradients, torch.compile and modules work as before.

    Returns an object whose undo() restores PyTorch's operators; in `with attnc.torch.use():` the end of the block does.
    A kernel is compiled at its first use on a machine; `attnc.compile_all` does it ahead."""
    return Replaced()
