"""Calls of one kernel that differ in their arrays and in the number of keys, as layers and tokens of a model do."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple

import torch
from torch import Tensor

from ._call import _BYTES, _room, _teams, heads_of_result
from ._kernel import Kernel

_local = threading.local()
_KEPT = 64  # prepared calls of a thread


class _Prepared:
    """A checked call. Later calls with the same key repeat it with other addresses and another number of keys."""

    def __init__(self, kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any],
                 out: Tensor) -> None:
        self.binding = kernel._binding
        _, self.call, _ = self.binding._forward(query, key, value, given, None, out, torch.get_num_threads(), None)
        self.problem, self.params = self.call.problem, self.call.params
        self.problem_at = ctypes.byref(self.problem)
        self.n_k, self.bytes = key.shape[2], self.problem.workspace_bytes
        self.unaligned = _BYTES[str(query.dtype).removeprefix("torch.")] - 1
        params = self.call.keep[0]
        self.places: List[Tuple[str, Any]] = [
            (name, ctypes.c_void_p.from_buffer(params, self.binding.offsets[name]))
            for name, array in given.items() if isinstance(array, Tensor)]
        self.strides: List[Tuple[str, Any]] = []  # memory for the strides of arrays, which depend on the number of keys
        if self.call.strides is not None:
            self.strides = [(name, (ctypes.c_int64 * given[name].dim()).from_buffer(self.call.strides, at))
                            for name, at in self.binding.strides.items() if isinstance(given[name], Tensor)]

    def again(self, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any], out: Tensor) -> bool:
        """Runs the call. Returns False if an array is not aligned. Then a checked call reports the error."""
        for name, place in self.places:
            place.value = given[name].data_ptr()
        addresses = query.data_ptr(), key.data_ptr(), value.data_ptr()
        if (addresses[0] | addresses[1] | addresses[2]) & self.unaligned:
            return False
        if key.shape[2] != self.n_k:
            self.n_k = self.problem.n_k = key.shape[2]
            for name, numbers in self.strides:
                numbers[:] = [stride if size > 1 else 0 for stride, size in zip(given[name].stride(), given[name].shape)]
            self.bytes = self.problem.workspace_bytes = self.binding.workspace_function(self.problem_at)
        self.binding.check_fork(self.problem)
        self.binding.check(self.binding.forward_function(
            self.problem_at, self.params, *addresses, out.data_ptr(), _room().of(self.bytes)))
        return True


def _calls() -> Dict[Any, _Prepared]:
    try:
        return _local.calls  # type: ignore[no-any-return]
    except AttributeError:
        _local.calls = {}
        return _local.calls  # type: ignore[no-any-return]


def _key(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> Any:
    numbers = tuple([array for array in given.values() if not isinstance(array, Tensor)])
    return (kernel, query.shape, query.stride(), key.shape[:2], key.stride(), value.stride(), numbers,
            torch.get_num_threads(), _teams.of_torch())


def run(kernel: Kernel, query: Tensor, key: Tensor, value: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Calls the kernel without gradients. Returns [batch, positions, heads, size].

    given: the arrays of the kernel, contiguous tensors and numbers, whose shapes fit the call"""
    shape = query.shape
    out = query.new_empty(shape[0], shape[2], heads_of_result(query, value), value.shape[3])
    if not out.numel():
        return out
    calls = _calls()
    name = _key(kernel, query, key, value, given)
    known: Optional[_Prepared] = calls.get(name)
    if known is not None and known.again(query, key, value, given, out):
        return out
    while len(calls) >= _KEPT:
        del calls[next(iter(calls))]
    query, key, value = (a.detach() for a in (query, key, value))
    given = {name: array.detach() if isinstance(array, Tensor) else array for name, array in given.items()}
    calls[name] = _Prepared(kernel, query, key, value, given, out.transpose(1, 2))
    return out
