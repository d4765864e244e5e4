"""Rows of keys and values in the types of a spec's `storage`."""
from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

from ._array import Array
from ._arrays import _Array, _BLOCKS, _compact, _is, _OTHER_NAMES, row_units
from ._compiler import library_path
from ._header import _DTYPES

TYPES = ("f16", "bf16", "fp8", "i8", "i8_32", "i8_64", "q8_0", "q4_0")
_FLOATS = ("float32", "float16", "bfloat16")


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    path = library_path("attnc_tensors.so")
    if path is None:
        raise RuntimeError("the library attnc_tensors.so is missing; reinstall attnc")
    made = ctypes.CDLL(path)
    for function in made.attnc_store_rows, made.attnc_load_rows:
        function.restype = None
        function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    return made


def _check_type(kind: str) -> None:
    if kind not in TYPES:
        raise ValueError(f"the type is {kind!r}; expected one of {', '.join(TYPES)}")


class Stored:
    """Rows of keys or values in a type of `storage`. A kernel with this type takes it for k or v.

    rows: the rows, [..., units]: float16 for "f16"; bfloat16, or in NumPy uint16, for "bf16"; bytes (uint8) for other
        types. The spec language describes them: ggml's blocks for "q8_0" and "q4_0", a float and the integers for
        "i8". A kernel also takes this array itself.
    type: "f16", "bf16", "fp8", "i8", "i8_32", "i8_64", "q8_0" or "q4_0"
    elements: the number of elements that each row stores

    attnc.quantize() makes it from numbers, Stored(rows, type) from such rows, for example those of a file."""

    rows: Any
    type: str
    elements: int

    def __init__(self, rows: Array, type: str) -> None:
        """Raises TypeError or ValueError if `rows` are not rows of this type."""
        _check_type(type)
        array = _Array("rows", rows)
        if array.dtype not in _OTHER_NAMES[type]:
            raise TypeError(f"rows is {array.dtype}; rows of {type} are {' or '.join(_OTHER_NAMES[type])}")
        units = array.shape[-1] if array.shape else 0
        block = _BLOCKS.get(type, (1, 1))
        elements = units - 4 if type == "i8" else units // block[1] * block[0]
        if elements < 1 or row_units(type, elements) != units:
            raise ValueError(f"rows has shape {array.shape}; a row of {type} has "
                             f"{'4 bytes and one for each element' if type == 'i8' else f'a multiple of {block[1]} bytes'}")
        self.rows, self.type, self.elements = rows, type, elements

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of numbers: [..., elements]."""
        return (*self.rows.shape[:-1], self.elements)

    def dequantize(self) -> Any:
        """Returns the numbers that the rows store, as an array of float32 of the same library."""
        array = _Array("rows", _compact(self.rows))
        made = _new(self.rows, list(self.shape), "float32")
        _convert("attnc_load_rows", self.type, array, _Array("made", made), self.elements)
        return made

    def __repr__(self) -> str:
        return f"<attnc.Stored: {list(self.shape)} in {self.type}>"


def quantize(array: Array, type: str) -> Stored:
    """Returns the rows of an array, rounded to a type of `storage`, for a kernel that stores keys or values in this type:

        attend = attnc.kernel({"similarity": "softmax", "shape": {"head_dim": 128}, "storage": {"k": "q8_0", "v": "q8_0"}})
        out = attend(q, attnc.quantize(k, "q8_0"), attnc.quantize(v, "q8_0"))

    array: [..., n], float32, float16 or bfloat16; n is a multiple of 32 for "i8_32", "q8_0" and "q4_0", of 64 for
        "i8_64"
    type: "f16", "bf16", "fp8", "i8", "i8_32", "i8_64", "q8_0" or "q4_0". The bytes of "q8_0" and "q4_0" are those of
        ggml.

    Raises TypeError for another dtype, ValueError for another size or an unknown type."""
    _check_type(type)
    given: Any = array
    described = _Array("array", given)
    if described.dtype not in _FLOATS:
        raise TypeError(f"array is {described.dtype}; expected {' or '.join(_FLOATS)}")
    elements, (block, _) = described.shape[-1] if described.shape else 0, _BLOCKS.get(type, (1, 1))
    if elements < 1 or elements % block:
        raise ValueError(f"array has shape {described.shape}; {type} needs rows with "
                         f"{f'a multiple of {block} elements' if block > 1 else 'elements'}")
    if _is(given, "torch", "Tensor"):
        numbers = given.float()
    else:
        import numpy

        numbers = numpy.asarray(given if hasattr(given, "__array__") else numpy.from_dlpack(given), numpy.float32)
    made = _new(numbers, [*described.shape[:-1], row_units(type, elements)],
                {"f16": "float16", "bf16": "bfloat16"}.get(type, "uint8"))
    _convert("attnc_store_rows", type, _Array("array", _compact(numbers)), _Array("made", made), elements)
    return Stored(made, type)


def _new(like: Any, shape: list[int], dtype: str) -> Any:
    """Returns a new tensor if `like` is one, else a new array of NumPy, which has the bits of bfloat16 as uint16."""
    if _is(like, "torch", "Tensor"):
        import torch

        return torch.empty(shape, dtype=getattr(torch, dtype))
    import numpy

    return numpy.empty(shape, "uint16" if dtype == "bfloat16" else dtype)


def _convert(function: str, kind: str, source: _Array, target: _Array, elements: int) -> None:
    rows = math.prod(target.shape[:-1])
    if rows:
        getattr(_library(), function)(_DTYPES.index(kind), source.address, rows, elements, target.address)
