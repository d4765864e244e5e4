# Arrays of NumPy, PyTorch and other libraries, used in place: their addresses, checks of their shapes and strides,
# and new arrays for results.
from __future__ import annotations

import ctypes
import math
import operator
import struct
import sys
from typing import Any, Sequence

from ._header import _Strides


_OTHER_NAMES = {"f32": ("float32",), "f64": ("float64",), "f16": ("float16",),
                "bf16": ("bfloat16", "uint16"), "i32": ("int32",), "u8": ("bool", "uint8"),
                "fp8": ("uint8", "float8_e4m3fn"), "i8": ("uint8",), "i8_32": ("uint8",), "i8_64": ("uint8",),
                "q8_0": ("uint8",), "q4_0": ("uint8",)}
_BLOCKS = {"i8_32": (32, 36), "i8_64": (64, 68), "q8_0": (32, 34), "q4_0": (32, 18)}  # elements and bytes of a block
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "uint16": 2, "int32": 4, "bool": 1, "uint8": 1,
          "float8_e4m3fn": 1}
_INTEGERS = ("i32", "u8")
_HALVES = ("f16", "bf16")


def gradient_type(kind: str) -> str:
    """Returns the type of the gradient with respect to a parameter of this type."""
    return "f32" if kind in _HALVES else kind


def row_units(kind: str, elements: int) -> int:
    """Returns the size of the last axis of an array of stored rows, which is a number of bytes for a type with scales."""
    of, bytes_ = _BLOCKS.get(kind, (1, 1))
    return elements + 4 if kind == "i8" else -(-elements // of) * bytes_


class Misaligned(ValueError):
    """An array whose address is no multiple of the size of an element."""


class _Tensor(ctypes.Structure):  # DLTensor of dlpack.h
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64)]


class _VersionedTensor(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _is(value: Any, module: str, kind: str) -> bool:
    """Returns True if the value is an instance of `kind` in a module that may be missing."""
    made = getattr(sys.modules.get(module), kind, None)  # None while another thread imports the module
    return made is not None and isinstance(value, made)


def dtype_of(value: Any) -> str:
    """Returns the name of an array's dtype in NumPy, or "" if it has none."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")


def _is_number(value: Any) -> bool:
    """Returns True if the value is a number of Python or NumPy, not an array."""
    return isinstance(value, (int, float)) or _is(value, "numpy", "floating") or _is(value, "numpy", "integer")


class _Packed:
    """The memory of a number in f16 or bf16, or of an integer of 32 bits."""

    def __init__(self, dtype: str) -> None:
        self.bits: Any = ctypes.c_int32() if dtype == "i32" else ctypes.c_uint16()
        self.dtype = dtype

    def _set(self, number: Any) -> None:
        if self.dtype == "i32":
            number = operator.index(number)
            if not -2**31 <= number < 2**31:
                raise ValueError(f"a number is {number}; expected an integer from -2^31 to 2^31 - 1")
            self.bits.value = number
        elif self.dtype == "f16":
            try:
                self.bits.value = struct.unpack("=H", struct.pack("=e", number))[0]
            except OverflowError:  # too large: infinity
                self.bits.value = 0xfc00 if number < 0 else 0x7c00
        else:
            bits = struct.unpack("=I", bytes(ctypes.c_float(number)))[0]
            self.bits.value = bits >> 16 | 0x40 if number != number else bits + 0x7fff + (bits >> 16 & 1) >> 16

    value = property(fset=_set)


def narrowed(name: str, value: Any) -> Any:
    """Returns an array of int32 in place of integers of another type, such as int64, the default of PyTorch and NumPy.
    Returns another value as it is. Raises ValueError for an element that int32 cannot have."""
    dtype = dtype_of(value)
    if dtype == "int32" or not dtype.startswith(("int", "uint")) or _is_number(value):
        return value
    is_tensor = _is(value, "torch", "Tensor")
    if is_tensor and (value.device.type != "cpu" or dtype == "uint64"):
        return value  # an error, which the call reports
    if not is_tensor:
        import numpy

        value = numpy.asarray(value) if hasattr(value, "__array__") else numpy.from_dlpack(value)
    if 0 not in value.shape:
        wide = value.to(sys.modules["torch"].int64) if is_tensor else value
        for one in int(wide.min()), int(wide.max()):
            if not -2**31 <= one < 2**31:
                raise ValueError(f"{name} is {dtype} and has an element {one}; expected integers from -2^31 to 2^31 - 1")
    return value.to(sys.modules["torch"].int32) if is_tensor else value.astype("int32")


class _Number:
    """A number that is stored like an array without axes."""

    def __init__(self, value: Any, dtype: str) -> None:
        kind = ctypes.c_double if dtype == "f64" else ctypes.c_float
        self.memory: Any = _Packed(dtype) if dtype in ("i32", *_HALVES) else kind()
        self.memory.value = value
        place: Any = getattr(self.memory, "bits", self.memory)
        sign, letter = "<" if sys.byteorder == "little" else ">", {"i32": "i", "bf16": "u"}.get(dtype, "f")
        self.__array_interface__ = {"data": (ctypes.addressof(place), False), "shape": (), "version": 3,
                                    "typestr": f"{sign}{letter}{ctypes.sizeof(place)}"}


def _has_tangent(tensor: Any) -> bool:
    """Returns True if PyTorch's forward-mode differentiation is used for the tensor."""
    forward = sys.modules["torch"].autograd.forward_ad
    return forward._current_level >= 0 and tensor.is_floating_point() and forward.unpack_dual(tensor).tangent is not None


class _Array:
    """The address, dtype, shape and strides (in elements) of an array. `keep` keeps its memory allocated."""

    dtype: str
    address: int
    shape: list[int]
    strides: list[int]
    keep: Any

    def __init__(self, name: str, value: Any, writable: bool = False, kernel: str = "a kernel") -> None:
        self.name = name
        strides: list[int] | None
        if writable and (_is(value, "jax", "Array") or _is(value, "tensorflow", "Tensor")):
            raise ValueError(f"{name} is an immutable array ({type(value).__name__}); "
                             f"leave out {name}= to get a new array")
        if _is(value, "torch", "Tensor"):
            strides = self._from_torch(name, value, kernel)
        elif hasattr(value, "__array_interface__"):
            strides = self._from_interface(name, value, writable)
        elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            strides = self._from_dlpack(name, value, writable, kernel)
        elif _is(value, "jax", "Array"):
            raise TypeError(f"{name} is traced by JAX (jit, grad, vmap) and has no elements; "
                            f"call {kernel} outside the traced function, or with jax.pure_callback on NumPy arrays")
        else:
            says = "missing" if value is None else f"a {type(value).__name__}"
            numbers = isinstance(value, (list, tuple, bytes, bytearray, memoryview)) or type(value).__module__ == "array"
            raise TypeError(f"{name} is {says}; expected a NumPy array, or a tensor with __dlpack__"
                            f"{f', such as numpy.asarray({name})' if numbers else ''}")
        if strides is None:
            strides = [1] * len(self.shape)
            for axis in range(len(self.shape) - 2, -1, -1):
                strides[axis] = strides[axis + 1] * max(self.shape[axis + 1], 1)
        self.strides = strides
        if self.dtype in _BYTES and 0 not in self.shape and self.address % _BYTES[self.dtype]:
            kind = ValueError if writable else Misaligned  # a result cannot be copied
            raise kind(f"{name} is not aligned: its address must be a multiple of the size of an element")

    def _from_interface(self, name: str, value: Any, writable: bool) -> list[int] | None:
        interface = value.__array_interface__
        if _is(value, "numpy.ma", "MaskedArray") or interface.get("mask") is not None:
            raise TypeError(f"{name} is a masked array, and its mask would be lost; pass {name}.filled(…)")
        typestr = interface["typestr"]
        kinds = {"f": "float", "i": "int", "u": "uint", "b": "bool", "c": "complex"}
        self.dtype = kinds.get(typestr[1], typestr) + (str(8 * int(typestr[2:])) if typestr[1] in "fiuc" else "")
        if typestr[1:] == "V2" and str(getattr(value, "dtype", "")) == "bfloat16":
            self.dtype = "bfloat16"
        if typestr[1:] in ("V1", "f1") and str(getattr(value, "dtype", "")) == "float8_e4m3fn":
            self.dtype = "float8_e4m3fn"
        if typestr[0] == (">" if sys.byteorder == "little" else "<") and int(typestr[2:]) > 1:
            self.dtype += " of the other byte order"
        if interface.get("data") is None:
            raise TypeError(f"{name} has no address of its elements (__array_interface__ without 'data')")
        self.address, read_only = interface["data"]
        if writable and read_only:
            raise ValueError(f"{name} is read-only")
        self.shape, self.keep = list(interface["shape"]), value
        strides = interface.get("strides")
        if strides is None:
            return None
        size = int(typestr[2:])
        if any(stride % size for stride in strides):
            raise ValueError(f"{name}: its strides {list(strides)} are not multiples of the element size, {size} bytes")
        return [stride // size for stride in strides]

    def _from_torch(self, name: str, value: Any, kernel: str) -> list[int]:
        """Reads a tensor directly, which is faster than DLPack."""
        if value.device.type != "cpu":
            raise ValueError(f"{name} is on another device ({value.device}); {kernel} runs on the CPU")
        if value.requires_grad:
            raise ValueError(f"{name} requires gradients, which would be lost; pass {name}.detach()")
        if _has_tangent(value):
            raise ValueError(f"{name} has a tangent, which would be lost; pass {name}.detach()")
        if value.layout is not sys.modules["torch"].strided:
            raise ValueError(f"{name} is {value.layout}; {kernel} takes strided tensors")
        self.dtype, self.keep = dtype_of(value), value
        if value.is_conj() or value.is_neg():
            raise ValueError(f"{name} is a conjugate or negative view; pass {name}.resolve_conj().resolve_neg()")
        self.address, self.shape = value.data_ptr(), list(value.shape)
        return list(value.stride())

    def _from_dlpack(self, name: str, value: Any, writable: bool, kernel: str) -> list[int] | None:
        device = tuple(int(number) for number in value.__dlpack_device__())
        if device[0] not in (1, 3):  # kDLCPU, kDLCUDAHost
            raise ValueError(f"{name} is on another device ({getattr(value, 'device', device)}); "
                             f"{kernel} runs on the CPU")
        try:
            try:
                self.keep = value.__dlpack__(max_version=(1, 0))  # deleting the capsule frees the tensor
            except TypeError:  # DLPack before 1.0
                self.keep = value.__dlpack__()
        except (BufferError, RuntimeError) as error:
            raise ValueError(f"{name}: {error}") from error
        kind = _capsule_name(self.keep)
        address = _capsule_pointer(self.keep, kind)
        if kind == b"dltensor_versioned":
            versioned = _VersionedTensor.from_address(address)
            if writable and versioned.flags & 1:
                raise ValueError(f"{name} is read-only")
            tensor = versioned.tensor
        else:
            tensor = _Tensor.from_address(address)
        kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
        self.dtype = kinds.get(tensor.code, "dtype code %d, " % tensor.code) + (
            "" if tensor.code == 6 and tensor.bits == 8 else str(tensor.bits))
        if tensor.lanes != 1:
            self.dtype += "x%d" % tensor.lanes
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = [tensor.shape[axis] for axis in range(tensor.ndim)]
        return [tensor.strides[axis] for axis in range(tensor.ndim)] if tensor.strides else None


def size_of(word: str, sizes: dict[str, int], otherwise: int | None = None) -> int | None:
    """Returns the size that a word in a shape names. "n_q/64" is the number of blocks of 64 queries, rounded up."""
    name, _, block = word.partition("/")
    size = sizes.get(name)
    return otherwise if size is None else -(-size // int(block)) if block else size


def named(dtype: str) -> str:
    """Returns the names of arrays that are a kernel's `dtype`, for messages."""
    of_rows = f", rows of {dtype} as attnc.quantize() makes them" if _OTHER_NAMES[dtype][0] == "uint8" else ""
    return " or ".join(_OTHER_NAMES[dtype]) + of_rows


_AXES = {"B": "batch", "H": "heads of q", "G": "heads of k and v", "K": "heads of q and k", "n_q": "queries", "n_k": "keys",
         "n": "new tokens"}


def wrong_shape(name: str, shape: Sequence[int], wanted: Sequence[int | str], sizes: dict[str, int]) -> ValueError:
    """Returns the exception for an array of another shape. A word in `wanted` names a size."""
    names = dict.fromkeys(str(word).partition("/")[0] for word in wanted)
    known = ", ".join(f"{word} = {sizes[word]}" for word in names if word in sizes)
    words = ", ".join(f"{word}: {_AXES[word]}" for word in names if word in _AXES)
    turned = ""
    if (name in ("q", "k", "v") and len(shape) == len(wanted) == 4 and wanted[3] == shape[3]
            and sizes.get(str(wanted[1]), shape[1]) != shape[1]):
        turned = f"; if it is [batch, positions, heads, size], pass {name}.swapaxes(1, 2)"
    return ValueError(f"{name} has shape {list(shape)}; expected [{', '.join(map(str, wanted))}]"
                      f"{' with ' + known if known else ''}{f' ({words})' if words else ''}{turned}")


def check_shape(name: str, shape: Sequence[int], wanted: Sequence[int | str], sizes: dict[str, int]) -> None:
    """Checks the shape of an array. A word in `wanted` names a size. Its first use sets the size, such as sizes["n_q"]."""
    fits = len(shape) == len(wanted)
    for want, have in zip(wanted, shape) if fits else ():
        fits = fits and have == (size_of(want, sizes, have) if isinstance(want, str) else want)
    if not fits:
        raise wrong_shape(name, shape, wanted, sizes)
    sizes.update((want, have) for want, have in zip(wanted, shape) if isinstance(want, str) and "/" not in want)


def _expect(kernel: str, name: str, array: _Array, dtype: str, shape: Sequence[int | str],
            sizes: dict[str, int]) -> None:
    """Checks the dtype and shape of an array."""
    if array.dtype not in _OTHER_NAMES[dtype]:
        raise TypeError(f"{name} is {array.dtype}; {kernel} takes {named(dtype)}")
    check_shape(name, array.shape, shape, sizes)


def words_of_heads(q: Any, v: Any) -> tuple[str, str]:
    """Returns the names of the sizes that are the number of heads of q and of k. If v has more heads than q, both are
    K, and v and the result have H = G heads."""
    of_q, of_v = (tuple(getattr(a, "shape", ())) for a in (q, v))
    return ("K", "K") if len(of_q) == len(of_v) == 4 and of_v[1] > of_q[1] else ("H", "G")


def heads_of_result(q: Any, v: Any) -> int:
    """Returns the number of heads of the result. v may have more heads than q, unless values are keys."""
    return q.shape[1] if v is None else max(q.shape[1], v.shape[1])  # type: ignore[no-any-return]


def check_heads(sizes: dict[str, int]) -> None:
    """Sets the size H if v has more heads than q. Raises ValueError if the numbers of heads do not fit."""
    if "K" in sizes:
        sizes["H"] = sizes["G"]
        if sizes["K"] == 0 or sizes["H"] % sizes["K"]:
            raise ValueError(f"v has {sizes['H']} heads and q and k have {sizes['K']}: v needs a multiple of the heads of q")
    elif sizes["H"] and (sizes["G"] == 0 or sizes["H"] % sizes["G"]):
        raise ValueError(f"q has {sizes['H']} heads and k has {sizes['G']}: q needs a multiple of the heads of k")


def strides_of(name: str, shape: Sequence[int], strides: Sequence[int], written: bool = False) -> _Strides:
    """Returns the strides of an array [batch, heads, rows, columns]. Raises ValueError if the kernel cannot use the
    array in place."""
    columns, rows = shape[3], shape[2]
    if 0 in shape:
        return _Strides(0, 0, columns)
    if columns > 1 and strides[3] != 1:
        raise ValueError(f"{name}: its last axis has to be contiguous, "
                         f"but has a stride of {strides[3]} elements (strides {list(strides)})")
    row = strides[2] if rows > 1 else columns
    batch, head = (stride if extent > 1 else 0 for stride, extent in zip(strides, shape[:2]))
    if row < columns or batch < 0 or head < 0:
        raise ValueError(f"{name}: its rows overlap or run backwards (strides {list(strides)})")
    if written and any(extent > 1 and stride == 0 for stride, extent in zip(strides, shape[:3])):
        raise ValueError(f"{name}: its elements share memory (strides {list(strides)})")
    return _Strides(batch, head, row)


def _strides(name: str, array: _Array, written: bool = False) -> _Strides:
    return strides_of(name, array.shape, array.strides, written)


def _check_contiguous(name: str, array: _Array) -> None:
    stride = 1
    for extent, has in zip(reversed(array.shape), reversed(array.strides)):
        if extent > 1 and has != stride and 0 not in array.shape:
            raise ValueError(f"{name} has to be contiguous, but has strides {list(array.strides)}")
        stride *= extent


_BROADCAST = -2**63  # ATTN_BROADCAST


def _strides_of_array(name: str, array: _Array) -> list[int]:
    """Returns the strides of an array of `arrays:`, as its member of struct NAME_strides has them. Raises ValueError
    if the kernel cannot use the array in place."""
    if 0 in array.shape:
        return [0] * len(array.shape)
    strides = [stride if extent > 1 else 0 for stride, extent in zip(array.strides, array.shape)]
    if any(stride < 0 for stride in strides):
        raise ValueError(f"{name}: an axis runs backwards (strides {list(array.strides)})")
    if not any(strides) and math.prod(array.shape) > 1:
        return [_BROADCAST] * len(strides)
    return strides


def _compact(value: Any) -> Any:
    """Returns a contiguous and aligned copy of an array. Raises ImportError if NumPy is needed but missing."""
    if _is(value, "torch", "Tensor"):
        made = value.contiguous()
        return made.clone() if made.data_ptr() % made.element_size() else made
    import numpy

    return numpy.require(value if hasattr(value, "__array_interface__") else numpy.from_dlpack(value), None,
                         ["C", "A"])


def _extent(array: _Array) -> tuple[int, int, int, list[int]]:
    """Returns the memory of an array, in bytes: the first address, the end, the length of a contiguous run, the
    strides between runs."""
    size = _BYTES[array.dtype]
    run, end = size, array.address + size
    strides: list[int] = []
    for stride, extent in sorted((stride * size, extent)
                                 for stride, extent in zip(array.strides, array.shape) if extent > 1):
        end += stride * (extent - 1)
        if not strides and stride <= run:
            run += stride * (extent - 1)
        else:
            strides.append(stride)
    return array.address, end, run, strides


def _overlap(one: _Array, two: _Array) -> bool:
    """Returns True if two arrays may share memory. Returns False for alternating slices such as a[..., :4] and a[...,
    4:]."""
    if 0 in one.shape or 0 in two.shape:
        return False
    begin, end, run, strides = _extent(one)
    other_begin, other_end, other_run, other_strides = _extent(two)
    if end <= other_begin or other_end <= begin:
        return False
    period = 0  # the greatest common divisor of all strides; runs begin at its multiples
    for stride in strides + other_strides:
        period = math.gcd(period, stride)
    offset = (other_begin - begin) % period if period else 0
    return not run <= offset <= period - other_run


def _empty(like: Any, array: _Array, shape: Sequence[int], kind: str | None = None) -> Any:
    """Returns a new array for a result, of the library of `like`. `array` describes `like`. `kind` is the dtype of the
    result, by default the dtype of `like`."""
    if _is(like, "torch", "Tensor"):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, kind) if kind else like.dtype, device="cpu")
    import numpy

    dtype = kind or getattr(like, "dtype", array.dtype) if hasattr(like, "__array_interface__") else array.dtype
    if str(dtype) == "bfloat16":
        try:
            from ml_dtypes import bfloat16 as dtype  # NumPy has no bfloat16; JAX installs ml_dtypes
        except ImportError:
            raise TypeError("the result is bfloat16, which NumPy lacks; install ml_dtypes, or pass out=") from None
    return numpy.empty(shape, dtype)


def _result(q: Any, made: Any) -> Any:
    """Converts an array that _empty made to an array of q's library."""
    if _is(q, "torch", "Tensor") or hasattr(q, "__array_interface__") or not hasattr(q, "__array_namespace__"):
        return made
    namespace = q.__array_namespace__()
    # NumPy cannot export bfloat16 through DLPack
    return namespace.asarray(made) if str(made.dtype) == "bfloat16" else namespace.from_dlpack(made)


def _aligned(memory: Any) -> int:
    address = ctypes.addressof(memory)
    return address + -address % 64
