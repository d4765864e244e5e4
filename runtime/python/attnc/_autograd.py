"""Gradients of eager calls with tensors. PyTorch's Python code for operators takes longer than many kernels, so an eager
call is a torch.autograd.Function, and repeats calls that were checked before (_call.py)."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ._call import Saved, _Again, _Backward, _calls, _Forward, heads_of_result, key_of_parameters
from ._kernel import Kernel

_Key = Tuple[Any, ...]
_strided = torch.strided
_contiguous = torch.contiguous_format


class _Parallel(threading.local):
    now: Any = None


parallel = _Parallel()  # the ContextParallel of this thread, or None
OF_PARALLEL = -float(1 << 100)  # the last saved value of a call in a ContextParallel, if there is room


def refuse_parallel(what: str) -> None:
    if parallel.now is not None:
        raise NotImplementedError(f"{what} computes the tokens of one process, and was called in a ContextParallel")


@contextlib.contextmanager
def within(context: Any) -> Iterator[None]:
    """Runs a block in a ContextParallel, or in none."""
    before, parallel.now = parallel.now, context
    try:
        yield
    finally:
        parallel.now = before


def is_undisturbed() -> bool:
    """Returns True if no transformation (vmap, grad), no tracing and no ContextParallel is active. Then a call works
    without an operator, which is faster."""
    if parallel.now is not None:
        return False
    try:
        return torch._C._functorch.peek_interpreter_stack() is None and not torch._C._len_torch_dispatch_stack()
    except AttributeError:  # another version of PyTorch names them differently
        return False


class Kept(Saved):
    """A Saved whose memory is a tensor, because autograd stores tensors from forward to backward."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.tensor = tensor.clone() if tensor.data_ptr() % 64 else tensor

    def _take(self, call: Any) -> None:
        call.problem.saved, call.problem.saved_bytes = self.tensor.data_ptr(), self.tensor.nbytes

    _give = _take


def saved_size(kernel: Kernel, rows: Any) -> Any:
    """Returns the number of elements that forward saves for `rows` rows of the result. Each saved array takes a
    multiple of 64 bytes."""
    info = kernel._gradient_info()
    size = 8 if kernel.dtype == "f64" else 4
    line = 64 // size
    return info["saved_bytes_a_row"] // size * ((rows + line - 1) // line * line)


def key_of(kernel: Kernel, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: Optional[int]) -> Optional[_Key]:
    """Returns a key for a call that may be differentiated. Returns None if the call has no key."""
    for a in (q, k, v):
        if not isinstance(a, Tensor) or not a.is_cpu or a.layout is not _strided or a.is_neg():
            return None
    parameters = key_of_parameters(given, gradients=True)
    if parameters is None:
        return None
    return (kernel, "gradients", q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(), q.dtype, k.dtype, v.dtype,
            seed, torch.get_num_threads(), *parameters)


def known(key: Optional[_Key]) -> Any:
    """Returns the call of forward with this key. Returns None if it has not been made."""
    return None if key is None else _calls().known(key)


def attend(kernel: Kernel, key: _Key, seed: Optional[int], q: Tensor, k: Tensor, v: Tensor,
           given: Mapping[str, Any]) -> Tensor:
    """Makes a call that can be differentiated. The caller has checked it, unless the key is known."""
    made: Any = _Attend.apply(kernel, key, seed, given, q, k, v,  # type: ignore[no-untyped-call]
                              *(value for value in given.values() if isinstance(value, Tensor)))
    return made  # type: ignore[no-any-return]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Kernel, key: _Key, seed: Optional[int], given: Mapping[str, Any],
                q: Tensor, k: Tensor, v: Tensor, *tensors: Tensor) -> Tensor:
        binding, again = kernel._with_gradients(), _calls().known(key)
        if again is None:
            rows = q.shape[0] * heads_of_result(q, None if kernel.values_are_keys else v) * q.shape[2]
            sums = torch.float64 if kernel.dtype == "f64" else torch.float32
            saved = torch.zeros(saved_size(kernel, rows), dtype=sums)
            detached = {name: value.detach() if isinstance(value, Tensor) else value for name, value in given.items()}
            out, call, target = binding._forward(q.detach(), k.detach(), v.detach(), detached, seed, None,
                                                 torch.get_num_threads(), Kept(saved))
            if 0 not in target.shape and not call.copies:
                again = _Forward(call, binding.forward_function, target, q, ())
                again.saved_like = saved  # type: ignore[attr-defined]
                _calls().put(key, again)
        else:
            saved = torch.empty_like(again.saved_like)
            out = again.call(q, k, v, given, saved.data_ptr())
        ctx.save_for_backward(q, k, v, out, saved, *tensors)
        ctx.kernel, ctx.key, ctx.seed = kernel, key, seed
        ctx.given = {name: None if isinstance(value, Tensor) else value for name, value in given.items()}
        ctx.tensors = [name for name, value in given.items() if isinstance(value, Tensor)]
        return out  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        q, k, v, out, saved, *tensors = ctx.saved_tensors
        needs = ctx.needs_input_grad
        of_tensors = dict(zip(ctx.tensors, needs[7:]))
        given = {**ctx.given, **dict(zip(ctx.tensors, tensors))}
        wanted = (*needs[4:7], *(of_tensors.get(p.name, False) for p in ctx.kernel._with_gradients().learned))
        if dout.stride(-1) != 1 and dout.shape[-1] > 1 or 0 in dout.stride():
            dout = dout.contiguous()  # the gradient of a sum, for example, is an expanded tensor with stride 0
        gradients = _gradients if not torch.is_grad_enabled() and is_undisturbed() else _by_operator
        results = gradients(ctx, (q, k, v, out, dout), saved, given, wanted)
        by_name = dict(zip((p.name for p in ctx.kernel._with_gradients().learned), results[3:]))
        return (None, None, None, None, *results[:3], *(by_name.get(name) for name in ctx.tensors))


def _by_operator(ctx: Any, inputs: Tuple[Tensor, ...], saved: Tensor, given: Mapping[str, Any],
                 wanted: Sequence[bool]) -> List[Optional[Tensor]]:
    """Does the same as _gradients for create_graph=True and vmap. The operator reports second derivatives as an
    error."""
    from .torch import _as_tensors, _backward

    q, k, v, out, dout = inputs
    parameters, tables = _as_tensors(ctx.kernel, [given.get(p.name) for p in ctx.kernel.parameters])
    each = iter(_backward(ctx.kernel._text, dout, q, k, v, out, saved, parameters, tables, None, ctx.seed, list(wanted),
                          None))
    return [next(each) if is_wanted else None for is_wanted in wanted]


def _gradients(ctx: Any, inputs: Tuple[Tensor, ...], saved: Tensor, given: Mapping[str, Any],
               wanted: Sequence[bool]) -> List[Optional[Tensor]]:
    """Returns the gradients with respect to q, k, v and the learned parameters. A gradient that is not wanted is
    None."""
    binding = ctx.kernel._with_gradients()
    dout = inputs[4]
    key = (*ctx.key, "backward", dout.stride(), wanted)
    again: Any = _calls().known(key)
    if again is not None:
        targets = [torch.empty_like(a, memory_format=_contiguous) if is_wanted else None
                   for a, is_wanted in zip(inputs, wanted[:3])]
        learned = [torch.empty_like(given[p.name], memory_format=_contiguous) if is_wanted else None
                   for p, is_wanted in zip(binding.learned, wanted[3:])]
        again.call(inputs, saved.data_ptr(), given, targets, learned)
        return targets + learned
    names = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted]
    detached = {name: value.detach() if isinstance(value, Tensor) else value for name, value in given.items()}
    result, call, gradients = binding._backward(*(a.detach() for a in inputs), detached, ctx.seed, Kept(saved), names, {},
                                                torch.get_num_threads())
    if not call.copies and not any(0 in a.shape for a in inputs):
        made: _Again = _Backward(call, binding.kernel.backward, inputs[0], gradients)
        _calls().put(key, made)
    return [getattr(result, name, None) for name in binding.gradients]
