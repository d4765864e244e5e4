"""Calls of kernels with PyTorch's tensors: which of the ways makes a call, and what is checked before."""
from __future__ import annotations

import sys
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _autograd, _kernel as _kernels, _operators as operators
from ._arrays import _has_tangent, Misaligned, narrowed
from ._autograd import detached
from ._background import first_call
from ._context import (constant, constant_size, differentiates, is_eager, is_traced, is_undisturbed, parallel,
                       refuse_parallel)
from ._formula import of_formula, sole_subscripts
from ._kernel import Kernel
from ._repeat import _calls
from ._operators import _NARROW, as_tensor, as_tensors, given_of, kernel_of

constant(sole_subscripts)


def _positions(start: Any, batch: int) -> Optional[Tensor]:
    """Returns the positions of the first queries, [batch], or None."""
    if start is None:
        return None
    positions = torch.as_tensor(start, device="cpu")
    if positions.dtype.is_floating_point or positions.dtype.is_complex or positions.dtype is torch.bool:
        raise TypeError("query_start has to be an integer, or an integer for each sequence")
    positions = positions.to(torch.int64)
    return (positions.expand(batch) if positions.dim() == 0 else positions).contiguous()


def values_of(kernel: Kernel, k: Any, v: Any) -> Any:
    """Returns the operand v of an operator. If values are keys, it is a view of k without a gradient."""
    kernel._check_values(v)
    if not kernel._binding.values_are_keys or not isinstance(k, Tensor):
        return v
    return k.detach() if kernel._binding.takes_stored else k.detach()[..., :kernel.value_dim]


def _have_tangents(*tensors: Any) -> bool:
    return any(isinstance(a, Tensor) and _has_tangent(a) for a in tensors)


_NO_TANGENTS = "a graph of torch.compile has no forward-mode derivatives (torch.func.jvp, dual tensors)"


def _outside(name: str, function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Makes a call with tangents. torch.compile ends its graph before this call, if it may have several graphs."""
    if is_traced():
        raise NotImplementedError(f"{name}: {_NO_TANGENTS}")
    return function(*arguments)


_disabled: Any = None


@constant
def _disable() -> bool:
    """torch.compiler.disable imports the compiler, so it is called in the first graph that needs it."""
    global _disabled
    _disabled = _disabled or torch.compiler.disable(_outside, reason=_NO_TANGENTS)  # type: ignore[no-untyped-call]
    return True


def _outside_graph(name: str, function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    _disable()
    return _disabled(name, function, *arguments)  # type: ignore[no-any-return]


def _call_with_tangents(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Any],
                        tables: Sequence[Any], start: Optional[Tensor], seed: Optional[int]) -> Tensor:
    if parallel.now is not None:
        raise NotImplementedError(f"{kernel.name}: ContextParallel has no forward-mode derivatives")
    for p, value in zip(kernel.parameters, parameters):
        if _have_tangents(value) and not p.is_learned:
            raise ValueError(f"{p.keyword} has a tangent, but random arrays have none; pass {p.keyword}.detach()")
    if not kernel.values_are_keys and q.shape[1] < kernel._axes(q, v)[1]:
        raise NotImplementedError(f"{kernel.name}: forward-mode derivatives need as many heads of q as of the result")
    kernel._tangent()  # raises SpecError if the spec has no tangent yet
    return operators.push(kernel._text, seed, start, q, k, v, *parameters, *tables)


def _check_parameters(kernel: Kernel, parameters: Sequence[Any], tables: Sequence[Any]) -> None:
    for p, value in (*zip(kernel.parameters, parameters), *zip(kernel.parameters, tables)):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{p.keyword} is a {type(value).__name__}; expected a tensor, because q is one")
        if value is not None and value.requires_grad and not p.is_learned:
            raise ValueError(f"{p.keyword} requires gradients, but random arrays have none; "
                             f"pass {p.keyword}.detach()")


def call(kernel: Kernel, q: Tensor, k: Any, v: Any, seed: Optional[int], out: Any, threads: Optional[int],
         given: Mapping[str, Any]) -> Tensor:
    """Implements Kernel.__call__ for tensors."""
    if v is None:
        v = values_of(kernel, k, v)
    if is_traced():
        return _call(kernel, None, q, k, v, seed, out, threads, given)
    if out is None and threads is None and seed is None and kernel._records[0]:
        repeated: Optional[Tensor] = _autograd.library.call(kernel._records[0], q, k, v,
                                                            None if given is kernel._none else given)
        if repeated is not None:
            return repeated
    if parallel.now is None and any(p.dtype == "i32" for p in kernel.parameters):
        given = {**given, **{p.name: narrowed(p.keyword, given[p.name]) for p in kernel.parameters if p.dtype == "i32"}}
    key: Any = None
    if out is None and threads is None and is_undisturbed() and not torch.is_autocast_enabled("cpu"):
        key = _autograd.key_of(kernel, q, k, v, given, seed)
        again = None if key is None else _calls().known(key)
        if again is not None:
            try:
                if key[0]:
                    return _autograd.attend(_autograd.Way(kernel, key, again, False), seed, q, k, v, given)
                return again.call(q, k, v, given, None, seed)  # type: ignore[no-any-return]
            except Misaligned:
                key = None  # the call below copies the tensor
    if parallel.now is not None:
        made: Tensor = parallel.now.call(kernel, lambda: _call(kernel, None, q, k, v, seed, out, threads, given))
        return made
    return _call(kernel, key, q, k, v, seed, out, threads, given)


def _call(kernel: Kernel, key: Any, q: Tensor, k: Any, v: Any, seed: Optional[int], out: Any, threads: Optional[int],
          given: Mapping[str, Any]) -> Tensor:
    """Checks a call, and makes it. It is kept by the key if it has one (_autograd.py)."""
    if is_traced() and _have_tangents(q, k, v, *given.values()):
        return _outside_graph(
            kernel.name, _call, kernel, None, q, k, v, seed, out, threads, given)
    for name, a in (("q", q), ("k", k), ("v", v), *((p.keyword, given[p.name]) for p in kernel.parameters)):
        if isinstance(a, Tensor) and a.device.type != "cpu":
            raise ValueError(f"{name} is on another device ({a.device}); {kernel.name} runs on the CPU")
    stored = kernel._binding.takes_stored  # its keys and values stay as they are
    if torch.is_autocast_enabled("cpu") and isinstance(k, Tensor) and isinstance(v, Tensor) and out is None and not stored:
        narrow = torch.get_autocast_dtype("cpu")
        if kernel.dtype != "f64" and q.dtype != torch.float64:
            kernel = kernel._as(_NARROW[narrow])
            q, k, v = q.to(narrow), k.to(narrow), v.to(narrow)
    operators.check(kernel, q, k, v)
    parameters, tables = as_tensors(kernel, [given[p.name] for p in kernel.parameters])
    _check_parameters(kernel, parameters, tables)
    start = _positions(given.get("query_start"), q.shape[0])
    is_plain = out is None and threads is None
    if not is_traced() and _have_tangents(q, k, v, *parameters):
        if not is_plain:
            raise ValueError(f"{kernel.name}: out= and threads= are for calls without tangents")
        return _call_with_tangents(kernel, q, k, v, parameters, tables, start, seed)
    differentiable = differentiates((q, k, v, *parameters))
    if not is_plain and not is_traced() and parallel.now is not None:
        raise ValueError(f"{kernel.name}: ContextParallel takes no out= and no threads=")
    if not is_plain and differentiable:
        raise ValueError(f"{kernel.name}: out= and threads= are for calls without gradients; torch.no_grad() makes "
                         "one, and torch.set_num_threads() sets threads")
    if is_plain and key is not None and is_eager(*parameters):
        if differentiable:
            return _autograd.attend(_autograd.Way(kernel, key, None, False), seed, q, k, v, given)
        result: Tensor = kernel._binding.forward_again(key, q.detach(), k.detach(), v.detach(), detached(given), seed,
                                                       torch.get_num_threads())
        known = _calls().known(key)
        if _autograd.library is not None and known is not None and seed is None:
            _autograd.library.keep(kernel._records[0], known, (q, k, v), given, known.empty_of(q))
        return result
    if not is_plain or not differentiable and not is_traced() and is_eager(q, k, v, *parameters):
        q, k, v = (a.detach() if a.requires_grad else a for a in (q, k, v))
        made: Tensor = kernel._binding.forward(q, k, v, given_of(kernel, parameters, tables, start), seed, out,
                                               torch.get_num_threads() if threads is None else threads)
        return made
    return operators.forward(kernel._text, q, k, v, parameters, tables, start, seed)


def statistics(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Returns the statistics of the rows. The call is an operator without gradients."""
    parameters, _ = as_tensors(kernel, [given.get(p.name) for p in kernel.parameters])
    return operators.statistics(kernel._text, q.detach(), k.detach(), v.detach(),
                                [None if value is None else value.detach() for value in parameters])


def threads_alone(what: str) -> int:
    """Returns the number of threads of a call that a ContextParallel does not know."""
    refuse_parallel(what)
    return torch.get_num_threads()


@constant
def _text_of_formula(*formula: Any) -> str:
    return of_formula(*formula)._text


def call_formula(formula: Tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, arrays: Mapping[str, Any],
                 seed: Optional[int], out: Any, threads: Optional[int]) -> Tensor:
    """Implements attnc.attention() for tensors. A graph contains the text of the kernel."""
    if is_traced() and out is None and threads is None:
        if _have_tangents(q, k, v):
            return _outside_graph(
                "attention", call_formula, formula, q, k, v, arrays, seed, out, threads)
        *words, declared, head_dim, value_dim, dtype, scaled, several = formula
        declared = tuple((name, tuple(size if isinstance(size, str) else constant_size(size) for size in shape), kind)
                         for name, shape, kind in declared)
        text = _text_of_formula(*words, declared, constant_size(head_dim), constant_size(value_dim), dtype, scaled, several)
        given, tables = operators.masks_and_tables([as_tensor(arrays[name], "f64" if dtype == "f64" else "f32")
                                                    for name in operators.names_of(text)])
        return operators.forward(text, q, k, v, given, tables, None, seed)
    made: Tensor = of_formula(*formula, first=None if is_traced() else first_call(q, k))._with_arrays((q, k, v), arrays, seed, out, threads)
    return made


def call_text(text: str, q: Tensor, k: Tensor, v: Optional[Tensor], parameters: Sequence[Any],
              seed: Optional[int] = None) -> Tensor:
    """Calls the kernel that this text names. In a graph, calls the operator."""
    kernel = kernel_of(text, None if is_traced() else first_call(q, k))
    if not is_traced():
        kernel._check_values(v)
        given = {p.name: value for p, value in zip(kernel.parameters, parameters)} if any(
            value is not None for value in parameters) else kernel._none
        return call(kernel, q, k, v, seed, None, None, given)
    return operators.forward(text, q, k, values_of(kernel, k, v), *as_tensors(kernel, parameters), None, seed)


_kernels._torch = sys.modules[__name__]  # calls of kernels look there, which is faster than an import
