"""Calls of kernels with PyTorch's tensors that were checked before, repeated by a library in C (tensors.c). Python code
for the same takes several times as long."""
from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ._arrays import _HALVES
from ._compiler import library_path
from ._repeat import _Again
from ._threads import _local, _room

_KINDS = ("absent", "array", "integer", "float", "double")  # enum kind of tensors.h
_MOST = 8  # records of a kernel; the oldest is replaced


def _make_room(size: int) -> int:
    """Makes a workspace of this thread. Returns the address of its size and address."""
    room = _room()
    room.of(size)
    place = _local.place = room.place
    return place


def _check(owner: Any, error: int) -> None:
    owner.binding.check(error)


class Tensors:
    """The library. `call`, `forward` and `backward` are functions in C, whose arguments tensors.c describes."""

    def __init__(self, library: Any, apply: Callable[..., Any], differentiate: Callable[..., Any], parallel: Any) -> None:
        """apply: the function of the subclass of torch.autograd.Function; differentiate: its backward for a call
        without a record; parallel: as in _context.py"""
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        api = address(Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        library.attnc_tensors_begin.restype = ctypes.py_object
        library.attnc_tensors_begin.argtypes = [ctypes.py_object, ctypes.c_void_p]
        self.call, self.forward, self.backward = library.attnc_tensors_begin(
            (None, Tensor, nn.Parameter, float, int, apply, torch.empty_like, torch.is_grad_enabled, torch.get_num_threads,
             torch.is_autocast_enabled, "cpu", torch._C._functorch.peek_interpreter_stack,
             torch._C._len_torch_dispatch_stack, forward_ad, parallel, _local, _make_room, differentiate,
             Exception, _check), api)
        self._record, self._add, self._grow = (library.attnc_tensors_record, library.attnc_tensors_add,
                                               library.attnc_tensors_grow)
        self._record.restype = ctypes.py_object
        self._record.argtypes = [ctypes.py_object, *[ctypes.c_void_p] * 2, ctypes.c_size_t, ctypes.c_void_p, ctypes.py_object,
                                 ctypes.c_int64, *[ctypes.py_object] * 5]
        self._add.restype, self._add.argtypes = None, [ctypes.py_object] * 2
        self._grow.restype, self._grow.argtypes = None, [ctypes.py_object, ctypes.c_void_p]

    def keep(self, records: List[Any], known: _Again, tensors: Tuple[Tensor, ...], given: Mapping[str, Any], empty: Any,
             saved: Optional[Tensor] = None, of: Any = None) -> None:
        """Adds a record of a call of forward. With `saved`, the call can be differentiated. Without it, the record also
        serves other numbers of keys, if the arrays are contiguous."""
        made = self._made(known, tensors, given, (), empty, saved, of)
        if made is not None:
            arrays = [value for value in given.values() if isinstance(value, Tensor)]
            if saved is None and not known.binding.takes_stored and all(a.is_contiguous() for a in arrays):
                self._grow(made, ctypes.addressof(known.binding.kernel))
            if len(records) >= _MOST:
                del records[0]
            records.append(made)
            if known.library is not known.binding.library:  # another one has taken its place meanwhile
                records.clear()

    def keep_gradients(self, record: Any, known: _Again, tensors: Tuple[Tensor, ...], given: Mapping[str, Any],
                       wanted: Sequence[bool]) -> None:
        """Adds a record of backward to that of forward."""
        made = self._made(known, tensors, given, tuple(wanted), None, None, None)
        if made is not None:
            self._add(record, made)

    def _made(self, known: _Again, tensors: Tuple[Tensor, ...], given: Mapping[str, Any], wanted: Tuple[bool, ...],
              *more: Any) -> Any:
        extras = _extras(known, given, wanted) if any(value is not None for value in given.values()) else None
        if extras == ():
            return None
        return self._record(known, ctypes.addressof(known.problem), known.params, known.binding.kernel.params_bytes,
                            ctypes.cast(known.function, ctypes.c_void_p), tensors,  # type: ignore[arg-type]
                            known.unaligned, wanted, *more, extras)


def _extras(known: _Again, given: Mapping[str, Any], wanted: Sequence[bool]) -> Tuple[Any, ...]:
    """Returns the descriptions of parameters for a record (take_descriptions in records.c). Returns () if there can be no
    record."""
    binding, unaligned = known.binding, {name: bits for name, _, _, bits in known.arrays}
    learned = [p.name for p in binding.learned]
    made = []
    for p in binding.parameters:
        value, bits = given.get(p.name), unaligned.get(p.name, 0)
        if value is None:
            kind = "absent"
        elif p.name not in unaligned:
            kind = {"i32": "integer", "f32": "float", "f64": "double"}.get(p.dtype, "")
        elif isinstance(value, Tensor) and (value.is_contiguous() and p.dtype not in _HALVES or not any(wanted[3:])):
            kind = "array"  # gradients with respect to arrays are contiguous
        else:
            kind = ""
        if not kind:
            return ()
        made.append((p.name, _KINDS.index(kind), binding.offsets[p.name], bits,
                     learned.index(p.name) if p.name in learned else -1,
                     p.shape.index("n_k") if "n_k" in p.shape else -1, value if kind == "array" else None))
    return tuple(made) if len(given) == len(made) else ()


def fill(made: Any, table: str, source: Any, optional: Tuple[str, ...] = ()) -> None:
    """Fills in a table of the library with functions of another one. Raises AttributeError if one is missing, unless its
    name begins with one of `optional`."""
    names = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(made, table + "_names"))).decode().split()
    places = (ctypes.c_void_p * len(names)).from_address(ctypes.c_void_p.in_dll(made, table).value or 0)
    for number, name in enumerate(names):
        if hasattr(source, name) or not name.startswith(optional):
            places[number] = ctypes.cast(getattr(source, name), ctypes.c_void_p)


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """Returns the library, or None with an interpreter for which it cannot be used."""
    path = library_path("attnc_tensors.so") if sys.implementation.name == "cpython" else None
    try:
        made = None if path is None else ctypes.PyDLL(path)
        if made is not None:
            fill(made, "attnc_python", ctypes.pythonapi)
        return made
    except (AttributeError, OSError):
        return None


def watch_parallel() -> None:
    """Makes the operators in C ask whether a ContextParallel is active (_refuse in _sdpa.py)."""
    if library() is not None:
        ctypes.c_bool.in_dll(library(), "attnc_sdpa_in_parallel").value = True


def loaded(*arguments: Any) -> Optional[Tensors]:
    """Returns the functions for calls, or None with an interpreter or a version of PyTorch that lacks what they need."""
    try:
        return None if library() is None else Tensors(library(), *arguments)
    except (AttributeError, OSError, ValueError):
        return None
