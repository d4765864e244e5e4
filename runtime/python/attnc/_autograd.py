"""Gradients of eager calls with tensors. PyTorch's Python code for operators takes longer than many kernels, so an
eager call is a torch.autograd.Function, and repeats calls that were checked before (_repeat.py)."""
from __future__ import annotations

import ctypes
import itertools
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import _tensors
from ._arrays import Misaligned
from ._context import is_undisturbed, parallel
from ._kernel import Kernel
from ._operators import as_tensors, backward, Call, gradient_dtype, Kept, rows_in_place, sums_of
from ._repeat import _Again, _calls, _Forward, key_of_tensors

_Key = Tuple[Any, ...]


def _seed_in_key(kernel: Kernel, seed: Optional[int]) -> Any:
    """Returns the seed, or a word if each call may have its own. A seed of random parameters makes arrays."""
    if type(seed) is not int or not 0 <= seed < 1 << 64 or any(p.from_seed for p in kernel.parameters):
        return seed
    return "any"


def key_of(kernel: Kernel, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: Optional[int],
           rows_first: bool = False) -> Optional[_Key]:
    """Returns a key for a call with plain tensors (key_of_tensors)."""
    return key_of_tensors(kernel, q, k, v, given, True, _seed_in_key(kernel, seed), torch.get_num_threads(), rows_first)


def detached(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value.detach() if isinstance(value, Tensor) else value for name, value in given.items()}


_numbers = itertools.count()


class Way(NamedTuple):
    """The common parts of calls of attend() with the same key."""

    kernel: Kernel
    key: _Key
    again: Any  # the known call with this key, or None
    rows_first: bool


def attend(way: Way, seed: Optional[int], q: Tensor, k: Tensor, v: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Makes a call that can be differentiated, where no transformation of functorch is active. If the call is not
    known, the caller has checked it. Returns [B, H, n, E], or [B, n, H, E] with rows_first."""
    tensors = [value for value in given.values() if isinstance(value, Tensor)] if given else ()
    return _apply(way, seed, given, q, k, v, *tensors)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, way: Way, seed: Optional[int], given: Mapping[str, Any], q: Tensor, k: Tensor, v: Tensor,
                *tensors: Tensor) -> Tensor:
        again = way.again
        if again is not None:
            saved = torch.empty_like(again.saved_like)
            out = again.call(q, k, v, given, saved.data_ptr(), seed)
        else:
            out, saved, again = _attend_first(way, seed, given, q, k, v)
        ctx.save_for_backward(q, k, v, out, saved, *tensors)
        ctx.of = way, seed, *(_without_tensors(given) if given else (given, ())), None if again is None else again.number
        return out  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Any:
        return None, None, None, *_differentiate(ctx.of, ctx.needs_input_grad[3:], ctx.saved_tensors, dout)[0]


def _without_tensors(given: Mapping[str, Any]) -> Tuple[Mapping[str, Any], Sequence[str]]:
    """Returns the parameters with None in place of tensors, and the names of the tensors."""
    names = [name for name, value in given.items() if isinstance(value, Tensor)]
    return {**given, **dict.fromkeys(names)}, names


def _differentiate(of: Any, needs: Sequence[bool], kept: Sequence[Tensor],
                   dout: Tensor) -> Tuple[List[Optional[Tensor]], Tuple[Tensor, ...], Any]:
    """Returns the gradients with respect to q, k, v and the tensors of `given`, and what a record needs: the tensors of
    the call, and the known call or None.

    of: what forward kept; needs: which gradients are needed; kept: q, k, v, out, saved and the tensors of `given`"""
    way, seed, given, names, number = of
    q, k, v, out, saved, *tensors = kept
    wanted = tuple(needs)
    learned = [p.name for p in way.kernel._with_gradients().learned] if names else []
    if names:
        given = {**given, **dict(zip(names, tensors))}
        of_tensors = dict(zip(names, wanted[3:]))
        wanted = (*wanted[:3], *(of_tensors.get(name, False) for name in learned))
    if way.rows_first:
        out, dout = out.transpose(1, 2), dout.transpose(1, 2)
    dout = rows_in_place(dout)
    inputs = q, k, v, out, dout
    again = None
    results: Any = None
    if torch.is_grad_enabled() or not is_undisturbed():
        results = _by_operator(way.kernel, seed, inputs, saved, given, wanted)
    else:
        name = number, dout.stride(), wanted
        again = _calls().known(name)
        if again is not None:
            try:
                results = again.call(inputs, saved, given, seed)
            except Misaligned:
                pass  # the call below copies the array
        if results is None:
            results, again = _gradients(way.kernel, seed, name, inputs, saved, given, wanted)
    if names:
        by_name = dict(zip(learned, results[3:]))
        results = [*results[:3], *(by_name.get(name) for name in names)]
    if way.rows_first:
        out, dout = out.transpose(1, 2), dout.transpose(1, 2)
    return results, (q, k, v, out, saved, dout), again


class _Recorded(torch.autograd.Function):
    """Does the same as _Attend for a call with a record (_tensors.py)."""


def _without_record(ctx: Any, kept: Tuple[Tensor, ...], dout: Tensor) -> Tuple[Optional[Tensor], ...]:
    """Implements backward of _Recorded for a call that has no record, and keeps one."""
    way, seed, given, names, number = ctx.of
    if ctx.numbers is not None:
        of_numbers = (name for name, value in given.items() if value is not None)
        given = {**given, **dict(zip(of_numbers, ctx.numbers))}
    needs = ctx.needs_input_grad[2:]
    results, tensors, known = _differentiate((way, seed, given, names, number), needs, kept, dout)
    if known is not None and all(torch.empty_like(a, device="meta").stride(-1) == 1 for a in tensors[:3]):
        library.keep_gradients(ctx.record, known, tensors, {**given, **dict(zip(names, kept[5:]))}, needs)
    return None, None, *results


# Function.apply() itself looks for functorch and for default arguments. The apply() of its base class does not.
_apply: Callable[..., Tensor] = super(torch.autograd.Function, _Attend).apply

library: Any = _tensors.loaded(super(torch.autograd.Function, _Recorded).apply, _without_record, parallel)
if library is not None:
    _Recorded.forward, _Recorded.backward = library.forward, library.backward  # type: ignore[method-assign]


def _attend_first(way: Way, seed: Optional[int], given: Mapping[str, Any], q: Tensor, k: Tensor,
                  v: Tensor) -> Tuple[Tensor, Tensor, Any]:
    """Makes a call that is not known, and keeps it. Returns its result, the saved values, and the call or None."""
    kernel, again, binding = way.kernel, None, way.kernel._with_gradients()
    saved = torch.zeros(kernel._saved_size(q, v), dtype=sums_of(kernel))
    batch, heads, rows = kernel._axes(q, v)
    out = q.new_empty(batch, rows, heads, kernel.value_dim) if way.rows_first else None
    made, call, target = binding._forward(
        q.detach(), k.detach(), v.detach(), detached(given), seed, None if out is None else out.transpose(1, 2),
        torch.get_num_threads(), Kept(saved))
    if 0 not in target.shape and not call.copies:
        again = _Forward(call, binding.forward_function, target, q, ())
        again.saved_like, again.number = saved, next(_numbers)
        if out is not None:
            shape = out.shape
            again.empty = lambda a: a.new_empty(shape)
        _calls().put(way.key, again)
        if library is not None and seed is None:
            of = way._replace(again=again), None, *_without_tensors(given), again.number
            library.keep(kernel._records[way.rows_first], again, (q, k, v), given, again.empty_of(q), saved, of)
    return made if out is None else out, saved, again


def _by_operator(kernel: Kernel, seed: Optional[int], inputs: Tuple[Tensor, ...], saved: Tensor,
                 given: Mapping[str, Any], wanted: Sequence[bool]) -> List[Optional[Tensor]]:
    """Does the same as _gradients for create_graph=True and vmap. The operator reports second derivatives as an
    error."""
    q, k, v, out, dout = inputs
    parameters, tables = as_tensors(kernel, [given.get(p.name) for p in kernel.parameters])
    return backward(Call(kernel._text, q, k, v, parameters, tables, None, seed, True, None), out, saved, dout, wanted)


class Backward(_Again):
    """A call of backward(), with new tensors for the gradients that are wanted."""

    def __init__(self, call: Any, function: Any, like: Tensor, gradients: Any, wanted: Sequence[bool]) -> None:
        super().__init__(call, function, like)
        self.wanted, self.unaligned = wanted[:3], like.element_size() - 1
        self.learned = [(p.name, p.dtype) if is_wanted else None
                        for p, is_wanted in zip(call.binding.learned, wanted[3:])]
        self.of_learned, self.addresses = gradients, ctypes.addressof(gradients) if self.learned else None

    def call(self, inputs: Tuple[Tensor, ...], saved: Tensor, given: Mapping[str, Any],
             seed: Optional[int]) -> List[Optional[Tensor]]:
        """`inputs` are q, k, v, out and dout. Returns the gradients with respect to q, k, v and learned parameters."""
        results = [_empty(a) if is_wanted else None for a, is_wanted in zip(inputs, self.wanted)]
        places = [a.data_ptr() for a in inputs]
        if any(at & self.unaligned for at in places):
            self.refuse("an array")
        if given:
            self.fill(given)
        for number, of in enumerate(self.learned):
            made = None
            if of is not None:
                like = given[of[0]]
                made = torch.empty_like(like, dtype=gradient_dtype(of[1], like), memory_format=torch.contiguous_format)
            self.of_learned[number] = None if made is None else made.data_ptr()
            results.append(made)
        if seed is not None:
            self.problem.seed = seed
        self.problem.saved = saved.data_ptr()
        self.run(*places, *(None if a is None else a.data_ptr() for a in results[:3]), self.addresses)
        return results


def _empty(a: Tensor) -> Tensor:
    """Returns a new tensor for the gradient of a. Its axes are in the same order in memory, unless rows would not be
    contiguous."""
    made = torch.empty_like(a)
    return made if made.stride(-1) == 1 else torch.empty_like(a, memory_format=torch.contiguous_format)


def _gradients(kernel: Kernel, seed: Optional[int], key: _Key, inputs: Tuple[Tensor, ...], saved: Tensor,
               given: Mapping[str, Any], wanted: Sequence[bool]) -> Tuple[List[Optional[Tensor]], Any]:
    """Returns the gradients with respect to q, k, v and the learned parameters, and the call if it is kept by the key.
    A gradient that is not wanted is None. The first element of the key is None if forward was not kept."""
    binding = kernel._with_gradients()
    names = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted]
    targets = {name: _empty(a.detach()) for name, a in zip(binding.gradients[:3], inputs) if name in names}
    q, k, v, out, dout = (a.detach() for a in inputs)
    result, call, gradients = binding._backward(q, k, v, out, dout, detached(given), seed, Kept(saved), names, targets,
                                                torch.get_num_threads())
    made = None
    if key[0] is not None and not call.copies and not any(0 in a.shape for a in inputs):
        made = Backward(call, binding.kernel.backward, inputs[0], gradients, wanted)
        _calls().put(key, made)
    return [getattr(result, name, None) for name in binding.gradients], made
