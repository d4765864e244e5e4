"""Calls by layers of models, outside graphs of torch.compile. Without gradients, the layers and tokens of a model share
a record of a call (tensors.c): they differ in arrays, in the number of keys, and in the strides of keys and values, which
grow with each token where a cache joins tensors."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator, Mapping, Optional, Set, Tuple

import torch
from torch import Tensor

from . import _autograd
from ._arrays import heads_of_result
from ._context import is_traced
from ._kernel import Kernel
from ._repeat import _Again, _calls


_Kernels = Set[Tuple[str, bool, bool]]


class _Noting(threading.local):
    kernels: Optional[_Kernels] = None


_noting = _Noting()


@contextlib.contextmanager
def noting() -> Iterator[_Kernels]:
    """Makes a context in which attention in this thread computes nothing, and recurrences use no kernels. Yields the set of
    kernels that calls would use. An entry has a kernel's text, and tells whether gradients are needed, and whether calls
    fail without the kernel."""
    before, made = _noting.kernels, set()  # type: Optional[_Kernels], _Kernels
    _noting.kernels = made
    try:
        yield made
    finally:
        _noting.kernels = before


def noted() -> Optional[_Kernels]:
    """Returns the set of the innermost noting() of this thread, or None. Graphs of torch.compile always compute."""
    return None if is_traced() else _noting.kernels


def again(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> Optional[Tensor]:
    """Makes a call as a checked one was made. Returns None if there was none like it."""
    made: Optional[Tensor] = None
    if kernel._records[1]:
        made = _autograd.library.call(kernel._records[1], query, key, value, given)
    return made


def _detached(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {word: array.detach() if isinstance(array, Tensor) else array for word, array in given.items()}


def run(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Calls the kernel without gradients. Returns [batch, positions, heads, size].

    given: the arrays of the kernel, contiguous tensors and numbers, whose shapes fit the call"""
    made = again(kernel, query, key, value, given)
    if made is not None:
        return made
    shape = query.shape[0], query.shape[2], heads_of_result(query, value), value.shape[3]
    out = query.new_empty(shape)
    if not out.numel():
        return out
    query, key, value = (a.detach() for a in (query, key, value))
    given = _detached(given)
    binding = kernel._binding
    _, call, _ = binding._forward(query, key, value, given, None, out.transpose(1, 2), torch.get_num_threads(), None)
    if not call.copies and _autograd.library is not None:
        known = _Again(call, binding.forward_function, query)
        known.unaligned = query.element_size() - 1
        _autograd.library.keep(kernel._records[1], known, (query, key, value), given, lambda q: q.new_empty(shape))
    return out


def weigh(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> Tuple[Tensor, Tensor]:
    """Does the same as run(), and also returns the weights [batch, heads, positions, positions of keys]."""
    query, key, value = (a.detach() for a in (query, key, value))
    made = kernel._with_weights().forward(query, key, value, _detached(given), None, None, torch.get_num_threads(),
                                          weights=True)
    return made.out.transpose(1, 2), made.weights


def run_differentiable(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any],
                       seed: Optional[int] = None) -> Optional[Tensor]:
    """Does the same as run() for a call with gradients. Returns None if an operator has to make the call."""
    if seed is None:
        made = again(kernel, query, key, value, given)
        if made is not None:
            return made
    name = _autograd.key_of(kernel, query, key, value, given, seed, True)
    if name is None or not name[0] or not query.numel() or not key.numel():
        return None
    return _autograd.attend(_autograd.Way(kernel, name, _calls().known(name), True), seed, query, key, value, given)
