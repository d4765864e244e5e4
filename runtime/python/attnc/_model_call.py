"""Calls by layers of models, outside graphs of torch.compile. Without gradients, the layers and tokens of a model share
a prepared call: they differ in arrays, in the number of keys, and in the strides of keys and values, which grow with
each token where a cache joins tensors."""
from __future__ import annotations

import ctypes
from typing import Any, List, Mapping, Optional, Tuple

import torch
from torch import Tensor

from . import _autograd
from ._arrays import _BYTES, heads_of_result, strides_of
from ._call import _Call
from ._kernel import Kernel
from ._repeat import _Again, _calls


class _Prepared(_Again):
    """A checked call. Later calls with the same key repeat it with other addresses and another number of keys."""

    def __init__(self, call: _Call, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> None:
        super().__init__(call, call.binding.forward_function, query)
        self.layouts = key.stride(), value.stride()
        self.n_k, self.unaligned = key.shape[2], _BYTES[str(query.dtype).removeprefix("torch.")] - 1
        self.strides: List[Tuple[str, Any]] = []  # memory for the strides of arrays, which depend on the number of keys
        if call.strides is not None:
            self.strides = [(name, (ctypes.c_int64 * given[name].dim()).from_buffer(call.strides, at))
                            for name, at in self.binding.strides.items() if isinstance(given[name], Tensor)]

    def takes(self, key: Tensor, value: Tensor) -> bool:
        """Sets the strides of keys and values. Returns False if the kernel cannot use them in place."""
        layouts = key.stride(), value.stride()
        if layouts != self.layouts or self.n_k < 2:  # the stride of a single row was not used
            try:
                of_key = strides_of("k", key.shape, layouts[0])
                of_value = strides_of("v", value.shape, layouts[1])
            except ValueError:
                return False
            self.problem.k, self.layouts = of_key, layouts
            if not self.binding.values_are_keys:
                self.problem.v = of_value
        return True

    def again(self, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any], out: Tensor) -> None:
        addresses = query.data_ptr(), key.data_ptr(), value.data_ptr()
        if (addresses[0] | addresses[1] | addresses[2]) & self.unaligned:
            self.refuse("query, key or value")
        if key.shape[2] != self.n_k:
            self.n_k = self.problem.n_k = key.shape[2]
            for name, numbers in self.strides:
                array = given[name]
                numbers[:] = [stride if size > 1 else 0 for stride, size in zip(array.stride(), array.shape)]
            self.bytes = self.problem.workspace_bytes = self.binding.workspace_function(self.problem_address)
        self.fill(given)
        self.run(*addresses, out.data_ptr())


def numbers_of(given: Mapping[str, Any]) -> Tuple[Any, ...]:
    return tuple([array for array in given.values() if not isinstance(array, Tensor)])


def _key(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, numbers: Tuple[Any, ...]) -> Any:
    return (kernel, "model", query.shape, query.stride(), key.shape[:2], value.shape[:2], numbers,
            torch.get_num_threads())


def run(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any],
        numbers: Optional[Tuple[Any, ...]] = None) -> Tensor:
    """Calls the kernel without gradients. Returns [batch, positions, heads, size].

    given: the arrays of the kernel, contiguous tensors and numbers, whose shapes fit the call
    numbers: numbers_of(given), if the caller has it"""
    shape = query.shape
    out = query.new_empty(shape[0], shape[2], heads_of_result(query, value), value.shape[3])
    if not out.numel():
        return out
    calls, name = _calls(), _key(kernel, query, key, value, numbers_of(given) if numbers is None else numbers)
    known: Optional[_Prepared] = calls.known(name)
    if known is not None and known.takes(key, value):
        known.again(query, key, value, given, out)
        return out
    query, key, value = (a.detach() for a in (query, key, value))
    given = {word: array.detach() if isinstance(array, Tensor) else array for word, array in given.items()}
    _, call, _ = kernel._binding._forward(query, key, value, given, None, out.transpose(1, 2),
                                          torch.get_num_threads(), None)
    if not call.copies:
        calls.put(name, _Prepared(call, query, key, value, given))
    return out


def run_differentiable(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any],
                       seed: Optional[int] = None) -> Optional[Tensor]:
    """Does the same as run() for a call with gradients. Returns None if an operator has to make the call."""
    if seed is None and kernel._records[1]:
        made: Optional[Tensor] = _autograd.library.call(kernel._records[1], query, key, value, given or None)
        if made is not None:
            return made
    name = _autograd.key_of(kernel, query, key, value, given, seed, True)
    if name is None or not name[0] or not query.numel() or not key.numel():
        return None
    return _autograd.attend(_autograd.Way(kernel, name, _autograd.known(name), True), seed, query, key, value, given)
