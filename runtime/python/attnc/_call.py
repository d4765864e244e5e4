# Calls a kernel on NumPy arrays, tensors and other objects with __dlpack__, without copies. This file is the module
# attnc._call. A module NAME.py that attnc writes begins with a copy.
from __future__ import annotations

import collections
import ctypes
import functools
import math
import operator
import os
import re
import sys
import threading
import types
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence

_OTHER_NAMES = {"f32": ("float32",), "f64": ("float64",), "f16": ("float16",),
                "bf16": ("bfloat16", "uint16"), "i32": ("int32",), "u8": ("bool", "uint8")}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "uint16": 2, "int32": 4, "bool": 1, "uint8": 1}
_INTEGERS = ("i32", "u8")
_DTYPES = ("f32", "bf16", "f16", "f64", "i32", "u8", "fp8", "i8", "i8_32", "i8_64", "q8_0", "q4_0")  # enum attn_dtype

_ERRORS: dict[int, tuple[type[Exception], str]] = {  # enum attn_error of attnrt.h
    -1: (ValueError, "a size or stride of the problem is negative or too small, heads is not a multiple of kv_heads or "
                     "key_heads, or query_start is out of range"),
    -2: (ValueError, "an array is missing, or an output is also another array"),
    -3: (ValueError, "a parameter is missing"),
    -4: (MemoryError, "the workspace is too small"),
    -5: (ValueError, "the sizes are too large: a product of them overflows"),
    -6: (RuntimeError, "the workspace is not aligned"),
    -7: (MemoryError, "out of memory"),
    -8: (OSError, "a file could not be read or written"),
    -9: (ValueError, "a file has the wrong format"),
    -10: (RuntimeError, "this machine has none of the instruction sets that the kernel was compiled for"),
    -11: (ValueError, "ids decrease from one key to the next: the linear form needs ids in ascending order"),
    -12: (ValueError, "the state belongs to another kernel or other sizes, or is truncated or damaged"),
    -13: (ValueError, "a sequence would grow beyond the capacity of its state, or beyond what the spec allows"),
    -14: (ValueError, "there are more positions than the spec allows; query_start puts a query after the last key, "
                      "which a linear form cannot compute; or a sequence is shorter than the given length, "
                      "its state cannot go back that far, or another state cannot be appended there"),
    -15: (ValueError, "states, or results, of this kernel cannot be joined"),
    -16: (ValueError, "a table of tiles is for a mask of another shape or for other tiles, or is no table"),
    -17: (RuntimeError, "a message between processes was not delivered"),
    -18: (ValueError, "a page's number is out of range, a page is twice in a table or gets tokens of two sequences, or the "
                      "states of this kernel cannot be in pages"),
}


# ---- attnrt.h


_HEADER = """"""  # in NAME.py, attnc inserts the types here; the package reads attnrt.h


def _declarations(file: str = "attnrt.h") -> dict[str, str]:
    """Returns the C text of the members of each struct of a header, by name."""
    text = _HEADER
    if not text:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), encoding="utf-8") as header:
            text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.DOTALL)
    return dict(re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.DOTALL | re.MULTILINE))


_MEMBERS = _declarations()
_NUMBERS = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t}


def _type(text: str, **structs: Any) -> Any:
    """Returns the ctypes type of a declaration such as "int64_t" or "struct attn_strides". A pointer is an address,
    unless it points to char."""
    word = re.sub(r"\bconst\b", "", text).split()
    if "*" in text:
        return ctypes.c_char_p if word[0] == "char" else ctypes.c_void_p
    return ctypes.c_int if word[0] == "enum" else structs[word[1]] if word[0] == "struct" else _NUMBERS[word[0]]


def _fields(struct: str, functions: bool = False, **structs: Any) -> list[tuple[str, Any]]:
    """Returns the members of a struct of attnrt.h for ctypes.Structure. If `functions` is true, function pointers can
    be called."""
    fields: list[tuple[str, Any]] = []
    kind: Any
    for member in filter(None, map(str.strip, _MEMBERS[struct].split(";"))):
        function = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", member, re.DOTALL)
        if function:
            result, name, arguments = function.groups()
            kind = ctypes.c_void_p if not functions else ctypes.CFUNCTYPE(
                _NUMBERS[result], *(_type(one) for one in arguments.split(",") if one != "void"))
            fields.append((name, kind))
            continue
        kind_text, names = re.fullmatch(  # type: ignore[union-attr]
            r"((?:const )?(?:struct |enum )?\w+) (.*)", member, re.DOTALL).groups()
        for one in names.split(","):
            name, count = re.fullmatch(r"\s*\**(\w+)(?:\[(\d+)\])?", one).groups()  # type: ignore[union-attr]
            kind = _type(kind_text + (" *" if "*" in one else ""), **structs)
            fields.append((name, kind * int(count) if count else kind))
    return fields


class _Strides(ctypes.Structure):
    _fields_ = _fields("attn_strides")


class _Problem(ctypes.Structure):
    _fields_ = _fields("attn_problem", attn_strides=_Strides)


class _Team(ctypes.Structure):
    _fields_ = _fields("attn_team")


class _Param(ctypes.Structure):
    _fields_ = _fields("attn_param")


class _Kernel(ctypes.Structure):
    _fields_ = _fields("attn_kernel", functions=True)


# ---- arrays of other libraries, used in place


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


def _is_number(value: Any) -> bool:
    """Returns True if the value is a number of Python or NumPy, not an array."""
    return isinstance(value, (int, float)) or _is(value, "numpy", "floating") or _is(value, "numpy", "integer")


class _Number:
    """A number that is stored like an array without axes."""

    def __init__(self, value: Any, dtype: str) -> None:
        kind: Any = {"f64": ctypes.c_double, "i32": ctypes.c_int32}.get(dtype, ctypes.c_float)
        self.memory: Any = kind(value)
        sign = "<" if sys.byteorder == "little" else ">"
        self.__array_interface__ = {"data": (ctypes.addressof(self.memory), False), "shape": (), "version": 3,
                                    "typestr": f"{sign}{'i' if dtype == 'i32' else 'f'}{ctypes.sizeof(self.memory)}"}


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
            raise TypeError(f"{name} is a {type(value).__name__}; expected a NumPy array, or a tensor with __dlpack__")
        if strides is None:
            strides = [1] * len(self.shape)
            for axis in range(len(self.shape) - 2, -1, -1):
                strides[axis] = strides[axis + 1] * max(self.shape[axis + 1], 1)
        self.strides = strides
        if self.dtype in _BYTES and 0 not in self.shape and self.address % _BYTES[self.dtype]:
            raise ValueError(f"{name} is not aligned: its address must be a multiple of the size of an element")

    def _from_interface(self, name: str, value: Any, writable: bool) -> list[int] | None:
        interface = value.__array_interface__
        if _is(value, "numpy.ma", "MaskedArray") or interface.get("mask") is not None:
            raise TypeError(f"{name} is a masked array, and its mask would be lost; pass {name}.filled(…)")
        typestr = interface["typestr"]
        kinds = {"f": "float", "i": "int", "u": "uint", "b": "bool", "c": "complex"}
        self.dtype = kinds.get(typestr[1], typestr) + (str(8 * int(typestr[2:])) if typestr[1] in "fiuc" else "")
        if typestr[1:] == "V2" and str(getattr(value, "dtype", "")) == "bfloat16":
            self.dtype = "bfloat16"
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
        self.dtype, self.keep = str(value.dtype).removeprefix("torch."), value
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


def _expect(kernel: str, name: str, array: _Array, dtype: str, shape: Sequence[int | str],
            sizes: dict[str, int]) -> None:
    """Checks the dtype and shape of an array. A word in `shape` names a size. Its first use sets the size, such as
    sizes["n_q"]."""
    if array.dtype not in _OTHER_NAMES[dtype]:
        raise TypeError(f"{name} is {array.dtype}; {kernel} takes {' or '.join(_OTHER_NAMES[dtype])}")
    fits = len(array.shape) == len(shape)
    for want, have in zip(shape, array.shape) if fits else ():
        fits = fits and have == (size_of(want, sizes, have) if isinstance(want, str) else want)
    if not fits:
        names = dict.fromkeys(str(word).partition("/")[0] for word in shape)
        known = ", ".join(f"{word} = {sizes[word]}" for word in names if word in sizes)
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"{name} has shape {array.shape}; expected [{wanted}]{' with ' + known if known else ''}")
    sizes.update((want, have) for want, have in zip(shape, array.shape) if isinstance(want, str) and "/" not in want)


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


def _strides(name: str, array: _Array, written: bool = False) -> _Strides:
    """Returns the strides of an array [batch, heads, rows, columns]. Raises ValueError if the kernel cannot use the
    array in place."""
    columns, rows = array.shape[3], array.shape[2]
    if 0 in array.shape:
        return _Strides(0, 0, columns)
    if columns > 1 and array.strides[3] != 1:
        raise ValueError(f"{name}: its last axis has to be contiguous, "
                         f"but has a stride of {array.strides[3]} elements (strides {list(array.strides)})")
    row = array.strides[2] if rows > 1 else columns
    batch, head = (stride if extent > 1 else 0 for stride, extent in zip(array.strides, array.shape[:2]))
    if row < columns or batch < 0 or head < 0:
        raise ValueError(f"{name}: its rows overlap or run backwards (strides {list(array.strides)})")
    if written and any(extent > 1 and stride == 0 for stride, extent in zip(array.strides, array.shape[:3])):
        raise ValueError(f"{name}: its elements share memory (strides {list(array.strides)})")
    return _Strides(batch, head, row)


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
    """Returns a contiguous copy of an array. Raises ImportError if NumPy is needed but missing."""
    if _is(value, "torch", "Tensor"):
        return value.contiguous()
    import numpy

    return numpy.ascontiguousarray(value if hasattr(value, "__array_interface__") else numpy.from_dlpack(value))


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


_local = threading.local()  # objects of each Python thread
# The process that last called a kernel on several threads. All modules share this object, because they share OpenMP's
# threads.
_threaded: Any = sys.modules.setdefault("_attnc_threaded", types.SimpleNamespace(process=None))  # type: ignore


class _Teams:
    """PyTorch's OpenMP threads. If PyTorch is imported, kernels run on them, because idle threads of a second
    library would spin."""

    def __init__(self) -> None:
        self.made: _Team | None = None
        self.address: int | None = None
        self.known = False
        self.lock = threading.Lock()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Runs in a forked process and forgets PyTorch's threads. GNU's OpenMP hangs in a child of a process with
        threads."""
        self.address, self.known, self.lock = None, "torch" in sys.modules, threading.Lock()
        if self.known and _threaded.process is None:
            _threaded.process = os.getppid()  # PyTorch may have used threads in the parent

    def of(self, binding: Binding) -> int | None:
        """Returns the threads for calls of a kernel. They are PyTorch's, or the package's own for a kernel without
        OpenMP."""
        address = self.of_torch()
        return _own_team() if address is None and not binding.openmp else address

    def of_torch(self) -> int | None:
        """Returns the address of a struct attn_team with PyTorch's threads, or None."""
        if not self.known and "torch" in sys.modules:
            path = getattr(getattr(sys.modules["torch"], "_C", None), "__file__", None)
            if path:  # None while another thread is importing PyTorch
                with self.lock:
                    if not self.known:
                        self._find(path)
        return self.address

    def _find(self, path: str) -> None:
        try:
            library = ctypes.CDLL(path)  # also finds functions of the library's dependencies
            found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in ("GOMP_parallel", "GOMP_barrier")]
        except (AttributeError, OSError):
            pass  # a PyTorch without OpenMP
        else:
            self.made = _Team(*found)
            self.address = ctypes.addressof(self.made)
        self.known = True


@functools.lru_cache(maxsize=None)
def own_team_path() -> str | None:
    """Returns the path of the library with the package's own threads (team.c). Returns None if there is none."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "attnc_team.so")
    return path if os.path.exists(path) else None


@functools.lru_cache(maxsize=None)
def _own_team() -> int | None:
    """Returns the address of a struct attn_team with threads of the package."""
    path = own_team_path()
    if path is None:
        return None
    function = ctypes.CDLL(path).attnc_team
    function.restype = ctypes.c_void_p
    return function()  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=None)
def processors() -> int:
    """Returns the number of threads of a call that names none, for kernels without OpenMP."""
    named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(named) if named.isdecimal() and int(named) > 0 else len(os.sched_getaffinity(0))


_teams = _Teams()


class _Room:
    """The workspace of a Python thread."""

    def __init__(self) -> None:
        self.size, self.address = -1, 0
        self.memory: Any = None

    def of(self, size: int) -> int:
        """Returns the address of a workspace of at least `size` bytes."""
        if self.size < size:
            self.memory, self.size = (ctypes.c_char * (size + 64))(), size
            self.address = _aligned(self.memory)
        return self.address


def _room() -> _Room:
    room = getattr(_local, "room", None)
    if room is None:
        room = _local.room = _Room()
    return room


_Written = collections.namedtuple("_Written", "array given like made")
Outputs = collections.namedtuple("Outputs", "out statistics")
Outputs.__doc__ = """The results of a call for statistics, for attnc.merge().

out: as the call returns it without statistics
statistics: [B, H, n_q], the denominator of each row, or its logarithm for a softmax; 0 or -inf for a row that sees no
    key"""


Parameter = collections.namedtuple("Parameter", "name keyword dtype shape from_seed")
Parameter.__doc__ = """A parameter, with members of struct attn_param.

keyword: the name of its argument, features_wq for example"""


def _calls() -> Calls:
    """Returns the last calls of this Python thread."""
    calls = getattr(_local, "calls", None)
    if calls is None:
        calls = _local.calls = Calls()
    return calls


_no_table = object()


class MaskTiles:
    """A mask with the table of its tiles, which tiles_of_mask() makes. Calls take it in place of the mask."""

    def __init__(self, mask: Any, table: Any) -> None:
        self.mask, self.table = mask, table

    @property
    def shape(self) -> Any:
        return self.mask.shape

    @property
    def dtype(self) -> Any:
        return self.mask.dtype

    def __repr__(self) -> str:
        return f"<attnc.MaskTiles of a mask {list(self.shape)}>"


def _mask_tiles(mask: Any, tiles_bytes: Any, tiles_of_mask: Any) -> MaskTiles:
    """Returns the mask with the table of its tiles. The two functions are attn_tiles_bytes and attn_tiles_of_mask."""
    if _is(mask, "jax", "Array"):
        raise TypeError("a table of tiles is for NumPy arrays and tensors; calls with arrays of JAX take the mask")
    array = _Array("mask", mask)
    rank, shape = len(array.shape), (ctypes.c_int64 * len(array.shape))(*array.shape)
    if array.dtype not in _OTHER_NAMES["u8"] or not 2 <= rank <= 4:
        raise TypeError(f"mask is {array.dtype} {array.shape}; expected an array of bool or uint8 with 2 to 4 axes, "
                        "the last of which are queries and keys")
    strides = (ctypes.c_int64 * rank)(*_strides_of_array("mask", array))
    bytes_ = tiles_bytes(rank, shape)
    if bytes_ == 0:
        raise ValueError(f"mask {array.shape} is too large: a product of its sizes overflows")
    table = _Array("table", _empty(mask, array, [bytes_], "uint8"), writable=True)
    error = tiles_of_mask(array.address, rank, shape, strides, table.address, bytes_)
    if error:
        raise RuntimeError(f"attn_tiles_of_mask returned {error}")
    return MaskTiles(mask, table.keep)


def tiles_without_kernel(mask: Any) -> MaskTiles | None:
    """Returns the mask with the table of its tiles, from functions of the package's own library. Returns None if there is
    no such library."""
    path = own_team_path()
    if path is None:
        return None
    library, sizes, address = ctypes.CDLL(path), ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
    library.attn_tiles_bytes.restype, library.attn_tiles_bytes.argtypes = ctypes.c_size_t, [ctypes.c_int, sizes]
    library.attn_tiles_of_mask.argtypes = [address, ctypes.c_int, sizes, sizes, address, ctypes.c_size_t]
    return _mask_tiles(mask, library.attn_tiles_bytes, library.attn_tiles_of_mask)


class Binding:
    """A compiled kernel, its sizes and its parameters."""

    takes_stored = False
    with_masks: "Binding | None" = None  # a kernel with a mask as a parameter, if one was loaded

    def __init__(self, name: str, version: str, dtype: str, head_dim: int, value_dim: int,
                 parameters: Iterable[tuple[str, str, str, tuple[int | str, ...], bool]], remedy: str = "",
                 values_are_keys: bool = False, symbol: str | None = None) -> None:
        """name, version, dtype, head_dim, value_dim, values_are_keys: as in struct attn_kernel
        parameters: for each, its name, keyword, dtype and shape, and whether it can be made from a seed
        remedy: advice at the end of the message that the library has a different kernel
        symbol: the kernel's name in the library, if it has another name there

        If values_are_keys, the argument v of all methods is ignored."""
        self.name, self.version, self.dtype = name, version, dtype
        self.head_dim, self.value_dim, self.remedy = head_dim, value_dim, remedy
        self.parameters = tuple(Parameter(*p) for p in parameters)
        self.learned = tuple(p for p in self.parameters if not p.from_seed and p.dtype not in _INTEGERS)
        self.values_are_keys, self.symbol, self.openmp = values_are_keys, symbol or name, True
        of_parameters = ["d" + p.keyword for p in self.learned]
        self.gradients = ["dq", "dk", "dv", *of_parameters]  # the gradients of PyTorch's operators, which always take v
        self.Gradients: Any = collections.namedtuple(  # type: ignore[misc]
            "Gradients", ["dq", "dk"] + ([] if values_are_keys else ["dv"]) + of_parameters)
        self.own_seed: int | None = None  # the spec's seed of random parameters
        self.library: Any = None
        self.copied: set[str] = set()  # names of arrays whose copies the user was already warned of
        self._lock = threading.Lock()
        self._seeded: dict[int, tuple[Any, Any]] = {}  # for each of the last four seeds: parameters and their memory

    def load(self, path: str) -> None:
        """Loads the compiled kernel."""
        library = ctypes.CDLL(os.path.abspath(path))
        try:
            kernel = _Kernel.in_dll(library, self.symbol + "_kernel")
        except ValueError:
            raise OSError(f"{path} has no kernel {self.symbol}") from None
        params = ctypes.cast(kernel.param, ctypes.POINTER(_Param))
        offsets = {params[k].name.decode(): params[k].offset for k in range(kernel.params)}
        rows = {params[k].name.decode() for k in range(kernel.params) if params[k].rows}
        contiguous = ctypes.c_size_t(-1).value  # ATTN_CONTIGUOUS
        strides = {params[k].name.decode(): params[k].strides for k in range(kernel.params)
                   if params[k].strides != contiguous}
        found = (kernel.version.decode(), _DTYPES[kernel.dtype], kernel.head_dim, kernel.value_dim, sorted(offsets),
                 bool(kernel.values_are_keys))
        if found != (self.version, self.dtype, self.head_dim, self.value_dim, sorted(p.name for p in self.parameters),
                     self.values_are_keys):
            raise OSError(f"{path} was compiled from other C code than this module expects{self.remedy}")
        with self._lock:
            self._seeded.clear()
            self.kernel, self.offsets, self.strides = kernel, offsets, strides
            if kernel.tiles_of_mask:
                Binding.with_masks = self
            self.tiles = {params[k].name.decode(): params[k].tiles for k in range(kernel.params) if params[k].tiles}
            self.rows = rows  # names of the parameters of which extend() takes only the rows of new tokens
            # stored, because ctypes makes a new object at each access of a structure's member
            self.forward_function, self.workspace_function = kernel.forward, kernel.workspace
            # With `storage`, forward takes rows in other types. They cannot be passed from Python, but states take f32.
            self.takes_stored = (kernel.key_dtype, kernel.value_dtype) != (kernel.dtype, kernel.dtype)
            self.openmp = hasattr(library, "omp_get_max_threads")
            # LLVM's OpenMP library has both functions. GNU's library has only the first.
            self.gnu = hasattr(library, "GOMP_parallel") and not hasattr(library, "__kmpc_fork_call")
            self.set_wait = getattr(library, "kmp_set_blocktime", None)
            self.library = library

    # ---- functions that all kinds of calls use

    def check(self, error: int) -> None:
        if error:
            kind, says = _ERRORS.get(error, (RuntimeError, "error %d" % error))
            raise kind(f"{self.name}: {says}")

    def has_sums(self) -> bool:
        """Returns True if the kernel has a state that is sums over keys."""
        return bool(self.kernel.state_chunk) and self.kernel.state_chunk(ctypes.byref(_Problem())) > 0

    def check_fork(self, problem: _Problem) -> None:
        """Raises RuntimeError if this call would hang. GNU's OpenMP hangs in a forked process if the parent used
        threads."""
        if not self.gnu or (problem.threads or self.library.omp_get_max_threads()) < 2:
            return
        if _threaded.process not in (None, os.getpid()):
            raise RuntimeError(
                f"{self.name}: this process was forked after its parent had used several threads, so a call on "
                "several threads would hang; "
                "pass threads=1, or start processes with the method 'spawn' of multiprocessing")
        _threaded.process = os.getpid()

    def wait_briefly(self) -> None:
        """LLVM's OpenMP threads spin for 200 ms after a call, which slows down NumPy's matrix products. Sets this time
        to 1 ms, unless the user has set a time."""
        if self.set_wait is not None and not getattr(_local, "waits", False):
            if "KMP_BLOCKTIME" not in os.environ and "OMP_WAIT_POLICY" not in os.environ:
                self.set_wait(1)
            _local.waits = True

    def from_seed(self, seed: int) -> tuple[Any, Any]:
        """Returns a struct NAME_params with the parameters of the seed, and its memory."""
        with self._lock:
            made = self._seeded.get(seed)
            if made is None:
                kernel = self.kernel
                made = (ctypes.c_char * kernel.params_bytes)(), (ctypes.c_char * (kernel.params_size() + 64))()
                self.check(kernel.params_init(ctypes.addressof(made[0]), seed, _aligned(made[1])))
                while len(self._seeded) > 3:
                    del self._seeded[next(iter(self._seeded))]
                self._seeded[seed] = made
        return made

    # ---- calls

    def check_stored(self) -> None:
        """Raises TypeError if forward takes keys or values that are stored in other types."""
        if self.takes_stored:
            raise TypeError(f"{self.name} has 'storage': its forward takes rows that only C can make (attn_store_row). "
                            "A state takes float32 and stores them: with 'emit: [forward, decode]', call state()")

    def forward(self, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None = None, out: Any = None,
                threads: int = 0, saved: Saved | None = None, statistics: Any = False) -> Any:
        if saved is not None and not isinstance(saved, Saved):
            raise TypeError(f"saved is a {type(saved).__name__}; expected {self.name}.Saved()")
        self.check_stored()
        v = k if self.values_are_keys else v
        if out is None and saved is None and statistics is False:
            key = key_of(self, q, k, v, given, seed, threads)
            if key is not None:
                return self.forward_again(key, q, k, v, given, seed, threads)
        return self._forward(q, k, v, given, seed, out, threads, saved, statistics)[0]

    def forward_again(self, key: tuple[Any, ...], q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None,
                      threads: int) -> Any:
        """Runs forward() for a key of key_of. Calls with equal keys differ only in addresses and in the values of
        numbers. So only the first of them is checked."""
        calls = _calls()
        known = calls.known(key)
        if known is not None:
            return known.call(q, k, v, given)
        made, call, target = self._forward(q, k, v, given, seed, None, threads, None)
        calls.keep(key, call, self.forward_function, target, q)
        return made

    def _forward(self, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None, out: Any, threads: int,
                 saved: Saved | None, statistics: Any = False) -> tuple[Any, _Call, _Array]:
        call = _Call(self, threads, seed)
        arrays = call.inputs(q, k, v)
        target = call.writes("out", out, q, arrays[0], ("B", "H", "n_q", self.value_dim))
        call.take_positions(given)
        call.take_parameters(given)
        if statistics is not False:
            call.writes_statistics(statistics, q, arrays[0], "n_q")
        if saved is not None:
            saved._take(call)
        made = call.run(self.forward_function, self.workspace_function, *(array.address for array in arrays),
                        target.address)
        return made["out"] if statistics is False else Outputs(made["out"], made["statistics"]), call, target

    def tiles_of_mask(self, mask: Any) -> MaskTiles:
        """Returns the mask with the table of its tiles. This kernel must have a mask that is a parameter."""
        return _mask_tiles(mask, self.kernel.tiles_bytes, self.kernel.tiles_of_mask)

    def merge(self, left: Any, right: Any, threads: int = 0) -> Outputs:
        """Merges two results into the left one."""
        if not self.kernel.merge:
            raise ValueError(f"{self.name} has no statistics, so its results cannot be merged")
        calls: list[_Call] = []
        outs: list[Any] = []
        for side, (out, statistics) in ("left", left), ("right", right):
            call = _Call(self, threads, None)
            call.sizes.update(calls[0].sizes if calls else {})
            array = _Array(f"out ({side})", out, writable=side == "left", kernel=self.name)
            _expect(self.name, array.name, array, self.dtype, ("B", "H", "n_q", self.value_dim), call.sizes)
            call.problem.out = _strides(array.name, array, written=True)
            call.takes_statistics(statistics, side, "n_q", writable=side == "left")
            for field, word in zip(("batch", "heads", "kv_heads", "n_q"), ("B", "H", "H", "n_q")):
                setattr(call.problem, field, call.sizes[word])
            calls.append(call)
            outs.append(array)
        for one, two in (outs[0], outs[1]), (calls[0].read[0], calls[1].read[0]):
            if _overlap(one, two):
                raise ValueError(f"{one.name} shares memory with {two.name}")
        self.check(self.kernel.merge(ctypes.byref(calls[0].problem), outs[0].address, ctypes.byref(calls[1].problem),
                                     outs[1].address))
        return Outputs(*left)

    def _wanted(self, wanted: Any, given: Mapping[str, Any]) -> Sequence[str]:
        """Returns the names of the gradients to compute. If `wanted` is None, returns all names."""
        names: tuple[str, ...] = self.Gradients._fields
        if wanted is None:
            return names
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        for name in wanted:
            if name not in names:
                raise ValueError(f"unknown gradient {name!r}; expected some of {', '.join(names)}")
        for name, value in given.items():
            if value is not None and name not in wanted:
                raise ValueError(f"{name}= is given, but wanted does not contain {name!r}")
        return wanted  # type: ignore[no-any-return]

    def backward(self, q: Any, k: Any, v: Any, out: Any, dout: Any, given: Mapping[str, Any], seed: int | None = None,
                 saved: Saved | None = None, wanted: Any = None, gradients: Mapping[str, Any] | None = None,
                 threads: int = 0) -> Any:
        if saved is not None and not isinstance(saved, Saved):
            raise TypeError(f"saved is a {type(saved).__name__}; expected {self.name}.Saved()")
        return self._backward(q, k, v, out, dout, given, seed, saved, wanted, gradients or {}, threads)[0]

    def _backward(self, q: Any, k: Any, v: Any, out: Any, dout: Any, given: Mapping[str, Any], seed: int | None,
                  saved: Saved | None, wanted: Any, gradients: Mapping[str, Any],
                  threads: int, call: _Call | None = None) -> tuple[Any, _Call, Any]:
        call = call or _Call(self, threads, seed)
        wanted = self._wanted(wanted, gradients)
        arrays = call.inputs(q, k, v)
        arrays += [call.reads(name, value, ("B", "H", "n_q", self.value_dim))
                   for name, value in (("out", out), ("dout", dout))]
        call.take_positions(given)
        call.take_parameters(given)
        targets, parameters = [], (ctypes.c_void_p * (len(self.learned) + 1))()
        shape: tuple[int | str, ...]
        of_q, of_k = ("K", "K") if "K" in call.sizes else ("H", "G")
        for name, like, like_array, shape in (("dq", q, arrays[0], ("B", of_q, "n_q", self.head_dim)),
                                              ("dk", k, arrays[1], ("B", of_k, "n_k", self.head_dim)),
                                              ("dv", v, arrays[2], ("B", "G", "n_k", self.value_dim))):
            made = call.writes(name, gradients.get(name), like, like_array, shape) if name in wanted else None
            targets.append(made and made.address)
        for number, p in enumerate(self.learned):
            word = p.keyword
            if "d" + word in wanted:
                like = next(array for array in call.read if array.name == word)
                parameters[number] = call.writes("d" + word, gradients.get("d" + word), call.given[p.name], like,
                                                 p.shape, p.dtype).address
        if saved is not None:
            saved._give(call)
        results = call.run(self.kernel.backward, self.kernel.backward_workspace, *(array.address for array in arrays),
                           *targets, ctypes.addressof(parameters) if self.learned else None)
        return self.Gradients(*map(results.get, self.Gradients._fields)), call, parameters


def _check_integer(word: str, value: Any, most: int) -> int:
    try:
        number = operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # NumPy and PyTorch raise different errors for an array
        raise TypeError(f"{word} is a {type(value).__name__}; expected an integer") from None
    if not 0 <= number <= most:
        raise ValueError(f"{word} is {number}; expected 0 to {most}")
    return number


def check_threads(threads: Any) -> int:
    """Returns the number of threads, 0 for the default. Raises an exception if it is no number of threads."""
    return 0 if threads is None else _check_integer("threads", threads, 2**31 - 1)


class _Call:
    """A call in preparation: its problem, inputs and outputs."""

    def __init__(self, binding: Binding, threads: int, seed: int | None) -> None:
        threads = check_threads(threads)
        if seed is not None:
            _check_integer("seed", seed, 2**64 - 1)
        self.binding, self.seed = binding, binding.own_seed if seed is None else seed
        self.problem = _Problem(threads=threads or (0 if binding.openmp else processors()), team=_teams.of(binding),
                                seed=seed or 0)
        self.sizes: dict[str, int] = {}
        self.params: int | None = None
        self.params_memory: Any = None
        self.given: dict[str, Any] = {}  # the parameters by name; a number is a _Number
        self.strides: Any = None  # a struct NAME_strides, or None if all arrays are contiguous
        # The name of the size that gives the number of rows of q and k in this call. None if they have n_q and n_k
        # rows.
        self.tokens: str | None = None
        self.in_one_row = False  # the tokens of all sequences are in one row of memory
        self.read: list[_Array] = []
        self.written: list[Any] = []
        self.keep: list[Any] = []
        self.copies = False

    def _copy(self, name: str, value: Any, why: ValueError) -> _Array:
        """Returns a copy of an array that the kernel cannot read in place. The first copy of a name gives a warning."""
        try:
            made = _Array(name, _compact(value), kernel=self.binding.name)
        except (ImportError, RuntimeError, BufferError):
            raise why from None
        self.copies = True
        if name not in self.binding.copied:
            self.binding.copied.add(name)
            warnings.warn(f"{why}; {self.binding.name} copies it at every call", RuntimeWarning, stacklevel=2)
        return made

    def reads(self, name: str, value: Any, shape: Sequence[int | str]) -> _Array:
        """Adds an input [batch, heads, rows, columns]."""
        array = _Array(name, value, kernel=self.binding.name)
        _expect(self.binding.name, name, array, self.binding.dtype, shape, self.sizes)
        try:
            strides = _strides(name, array)
        except ValueError as why:
            array = self._copy(name, value, why)
            strides = _strides(name, array)
        setattr(self.problem, name, strides)
        self.read.append(array)
        return array

    def inputs(self, q: Any, k: Any, v: Any) -> list[_Array]:
        """Adds q, k and v, and sets the problem's sizes."""
        arrays = self.heads_of(q, k, v, "n_q", "n_k")
        for field, word in zip(("batch", "heads", "kv_heads", "n_q", "n_k"), ("B", "H", "G", "n_q", "n_k")):
            setattr(self.problem, field, self.sizes[word])
        return arrays

    def heads_of(self, q: Any, k: Any, v: Any, rows_of_q: str, rows_of_k: str) -> list[_Array]:
        """Adds q, k and v, whose numbers of rows have these names. Checks their heads, and sets the problem's
        key_heads."""
        D, E = self.binding.head_dim, self.binding.value_dim
        of_q, of_k = ("H", "G") if self.binding.values_are_keys else words_of_heads(q, v)
        if "H" in self.sizes:  # of a state
            of_q, of_k = ("K", "K") if "K" in self.sizes else ("H", "G")
        arrays = [self.reads("q", q, ("B", of_q, rows_of_q, D)), self.reads("k", k, ("B", of_k, rows_of_k, D))]
        arrays.append(arrays[1] if self.binding.values_are_keys else self.reads("v", v, ("B", "G", rows_of_k, E)))
        check_heads(self.sizes)
        self.problem.key_heads = self.sizes.get("K", 0)
        return arrays

    def take_positions(self, given: Mapping[str, Any]) -> None:
        """Sets the positions of the first queries: one integer, or one for each sequence."""
        start = given.get("query_start")
        if start is None:
            return
        batch = self.sizes["B"]
        try:
            try:
                numbers = [operator.index(one) for one in start]
            except TypeError:
                numbers = [operator.index(start)] * batch
        except TypeError:
            raise TypeError("query_start has to be an integer, or an integer for each sequence") from None
        if len(numbers) != batch:
            raise ValueError(f"query_start has {len(numbers)} positions; expected {batch}, one for each sequence")
        if any(not -2**31 <= one <= 2**31 for one in numbers):
            raise ValueError(f"query_start is {numbers}; expected positions from -2^31 to 2^31")
        positions = (ctypes.c_int64 * batch)(*numbers)
        self.keep.append(positions)
        self.problem.query_start = ctypes.addressof(positions)

    def take_parameters(self, given: Mapping[str, Any]) -> None:
        """Fills in the kernel's struct of parameters."""
        binding = self.binding
        if not binding.parameters:
            return
        params = (ctypes.c_char * binding.kernel.params_bytes)()
        self.params_memory = params
        self.keep.append(params)
        self.params = ctypes.addressof(params)
        wanted = [p for p in binding.parameters if p.from_seed and given[p.name] is None]
        if wanted and self.seed is None:
            shapes = ", ".join(f"{p.keyword} {list(p.shape)}" for p in wanted)
            raise ValueError(f"{binding.name} needs seed=, or the parameters {shapes}")
        if wanted:
            made = binding.from_seed(operator.index(self.seed))  # type: ignore[arg-type]
            ctypes.memmove(params, made[0], binding.kernel.params_bytes)
            self.keep.append(made)
        for p in binding.parameters:
            word, value = p.keyword, given[p.name]
            of_tokens = self.tokens and p.name in binding.rows
            shape = [self.tokens if of_tokens and self.tokens and extent in ("n_q", "n_k") else
                     1 if of_tokens and self.in_one_row and extent == "B" else extent for extent in p.shape]
            if value is None:
                if not p.from_seed:
                    raise ValueError(f"{binding.name} needs the parameter {word}, "
                                     f"{_OTHER_NAMES[p.dtype][0]} [{', '.join(map(str, shape))}]")
                continue
            if not p.shape and _is_number(value):
                value = _Number(value, p.dtype)
                self.keep.append(value)
            table, value = (value.table, value.mask) if isinstance(value, MaskTiles) else (_no_table, value)
            self.given[p.name] = value
            array = _Array(word, value, kernel=binding.name)
            _expect(binding.name, word, array, p.dtype, shape, self.sizes)
            if table is not _no_table and p.name in binding.tiles:
                self._take_table(params, p, array, table)
            try:
                if p.name not in binding.strides or (of_tokens and isinstance(shape[-1], int)):
                    _check_contiguous(word, array)
                else:
                    self._set_strides(params, p, _strides_of_array(word, array))
            except ValueError as why:
                array = self._copy(word, value, why)
            ctypes.c_void_p.from_buffer(params, binding.offsets[p.name]).value = array.address
            self.read.append(array)

    def _take_table(self, params: Any, p: Parameter, mask: _Array, table: Any) -> None:
        """Writes the address of the table of a mask's tiles to the kernel's struct of parameters."""
        array = _Array(f"the table of {p.keyword}", table, kernel=self.binding.name)
        shape = (ctypes.c_int64 * len(mask.shape))(*mask.shape)
        _check_contiguous(array.name, array)
        if math.prod(array.shape) * _BYTES.get(array.dtype, 0) != self.binding.kernel.tiles_bytes(len(shape), shape):
            raise ValueError(f"{array.name} is for a mask of another shape; make it with tiles_of_mask()")
        ctypes.c_void_p.from_buffer(params, self.binding.tiles[p.name]).value = array.address
        self.read.append(array)

    def _set_strides(self, params: Any, p: Parameter, strides: list[int]) -> None:
        """Writes the strides of an array to struct NAME_strides."""
        kernel = self.binding.kernel
        if self.strides is None:
            self.strides = (ctypes.c_char * kernel.strides_bytes)()
            self.keep.append(self.strides)
            ctypes.c_void_p.from_buffer(params, kernel.strides).value = ctypes.addressof(self.strides)
        numbers: Any = (ctypes.c_int64 * len(strides)).from_buffer(self.strides, self.binding.strides[p.name])
        numbers[:] = strides

    def writes(self, name: str, value: Any, like: Any, like_array: _Array, shape: Sequence[int | str],
               dtype: str | None = None) -> _Array:
        """Adds an output: `value`, or a new array like `like`. Gradients of parameters must be contiguous, because a
        problem has no strides for them."""
        extents = [self.sizes[extent] if isinstance(extent, str) else extent for extent in shape]
        made = _empty(like, like_array, extents) if value is None else value
        array = _Array(name, made, writable=True, kernel=self.binding.name)
        _expect(self.binding.name, name, array, dtype or self.binding.dtype, shape, self.sizes)
        if hasattr(self.problem, name):
            setattr(self.problem, name, _strides(name, array, written=True))
        else:
            _check_contiguous(name, array)
        self.written.append(_Written(array, value is not None, like, made))
        return array

    def takes_statistics(self, value: Any, of: str, rows: str, writable: bool) -> _Array:
        """Adds an array [batch, heads, rows] of statistics."""
        binding = self.binding
        name = f"statistics ({of})" if of else "statistics"
        array = _Array(name, value, writable=writable, kernel=binding.name)
        _expect(binding.name, name, array, "f64" if binding.dtype == "f64" else "f32", ("B", "H", rows), self.sizes)
        array.shape, array.strides = array.shape + [1], array.strides + [1]
        self.problem.statistics, self.problem.statistics_at = array.address, _strides(name, array, written=True)
        self.read.append(array)
        return array

    def writes_statistics(self, value: Any, like: Any, like_array: _Array, rows: str) -> None:
        """Adds statistics that the kernel writes: `value`, or a new array if it is True."""
        binding = self.binding
        if not binding.kernel.merge:
            raise ValueError(f"{binding.name} has no statistics: its spec needs 'emit: [forward, statistics]'")
        shape = [self.sizes[word] for word in ("B", "H", rows)]
        kind = "float64" if binding.dtype == "f64" else "float32"
        made = _empty(like, like_array, shape, kind) if value is True else value
        array = self.takes_statistics(made, "", rows, writable=True)
        self.read.pop()
        self.written.append(_Written(array, value is not True, like, made))

    def run(self, function: Callable[..., int], workspace: Callable[..., int], *arguments: Any) -> dict[str, Any]:
        """Calls the kernel, unless all outputs are empty. Returns the outputs by name."""
        for number, written in enumerate(self.written):
            array = written.array
            others = [(other, "read") for other in self.read]
            others += [(other.array, "written") for other in self.written[:number]]
            for other, what in others if written.given else ():
                if _overlap(array, other):
                    raise ValueError(
                        f"{array.name} shares memory with {other.name}, which is {what} while {array.name} is written")
        if any(0 not in written.array.shape for written in self.written):
            self.binding.check_fork(self.problem)
            if not self.problem.team:
                self.binding.wait_briefly()
            self.problem.workspace_bytes = workspace(ctypes.byref(self.problem))
            room = _room().of(self.problem.workspace_bytes)
            self.binding.check(function(ctypes.byref(self.problem), self.params, *arguments, room))
        return {written.array.name: written.made if written.given else _result(written.like, written.made)
                for written in self.written}


def _key_of_arrays(binding: Binding, q: Any, k: Any, v: Any, seed: int | None, threads: int) -> tuple[Any, ...] | None:
    """Returns a key for forward() with NumPy arrays. Calls with equal keys differ only in addresses. Returns None if
    an array is not a plain one."""
    kind = type(q)
    if kind.__module__ != "numpy" or kind.__name__ != "ndarray" or type(k) is not kind or type(v) is not kind:
        return None
    return (binding, q.shape, k.shape, v.shape, q.strides, k.strides, v.strides, q.dtype, k.dtype, v.dtype, seed,
            threads)


def key_of_tensors(binding: Binding, q: Any, k: Any, v: Any, seed: int | None, threads: int) -> tuple[Any, ...] | None:
    """Returns a key for forward() with PyTorch tensors. Returns None if a tensor is not plain or requires gradients."""
    torch = sys.modules["torch"]
    kind, strided = torch.Tensor, torch.strided
    if torch.autograd.forward_ad._current_level >= 0:
        return None
    if (type(q) is not kind or type(k) is not kind or type(v) is not kind
            or q.requires_grad or k.requires_grad or v.requires_grad):
        return None
    for a in (q, k, v):
        if not a.is_cpu or a.layout is not strided or a.is_neg():
            return None
    return (binding, q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(), q.dtype, k.dtype, v.dtype, seed,
            threads)


def key_of_parameters(given: Mapping[str, Any], gradients: bool = False) -> tuple[Any, ...] | None:
    """Returns the part of a key that describes parameters: the shape, strides and dtype of an array, or 0 for a
    number. Returns None if a parameter is not a number, a plain NumPy array or a plain tensor, or if there are
    positions. A tensor may require gradients only if `gradients` is true."""
    key: list[Any] = []
    if given.get("query_start") is not None:  # positions are values, which a repeated call would not take
        return None
    for value in given.values():
        if value is None:
            key.append(None)
        elif type(value) is float or type(value) is int:
            key.append(0)
        elif _is(value, "torch", "Tensor"):
            if (not value.is_cpu or value.layout is not sys.modules["torch"].strided or value.is_neg()
                    or value.requires_grad and not gradients):
                return None
            key.append((value.shape, value.stride(), value.dtype, value.requires_grad))
        elif type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
            key.append((value.shape, value.strides, value.dtype))
        else:
            return None
    return tuple(key)


def key_of(binding: Binding, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None,
           threads: int) -> tuple[Any, ...] | None:
    """Returns a key for a call of forward() with NumPy arrays or PyTorch tensors. Returns None if the call has no
    key."""
    key = (key_of_tensors if _is(q, "torch", "Tensor") else _key_of_arrays)(binding, q, k, v, seed, threads)
    if key is None or not given:
        return key
    more = key_of_parameters(given)
    return None if more is None else key + more


def _address_in_library(value: Any) -> Callable[[Any], int]:
    """Returns the function that returns the address of an array like this one."""
    return type(value).data_ptr if _is(value, "torch", "Tensor") else _address_in(sys.modules["numpy"])


class _Again:
    """A checked call. Later calls with the same key repeat it with other addresses, without checks. Only one thread
    may use the object at a time, because calls share its problem and its struct of parameters."""

    def __init__(self, call: _Call, function: Callable[..., int], like: Any) -> None:
        self.binding, self.problem, self.params, self.keep = call.binding, call.problem, call.params, call.keep
        self.problem_address, self.team = ctypes.byref(self.problem), self.problem.team
        self.bytes = self.problem.workspace_bytes
        self.function, self.library, self.gnu = function, self.binding.library, self.binding.gnu
        self.address = _address_in_library(like)
        self.params_memory = call.params_memory
        # Each entry has the name of a parameter and the place to fill in. The place is the memory of a number, or the
        # address of an array.
        self.numbers: list[tuple[str, Any]] = []
        self.arrays: list[tuple[str, Any, Callable[[Any], int], int]] = []
        for p in self.binding.parameters:
            value = call.given.get(p.name)
            if isinstance(value, _Number):
                self.numbers.append((p.name, value.memory))
            elif value is not None:
                place = ctypes.c_void_p.from_buffer(self.params_memory, self.binding.offsets[p.name])
                self.arrays.append((p.name, place, _address_in_library(value),
                                    {"f64": 8, "u8": 1}.get(p.dtype, 4) - 1))

    def fill(self, given: Mapping[str, Any]) -> None:
        """Takes the parameters of this call."""
        for name, memory in self.numbers:
            memory.value = given[name]
        for name, place, address, unaligned in self.arrays:
            at = address(given[name])
            if at & unaligned:
                self.refuse(name)
            place.value = at

    def refuse(self, names: str) -> None:
        raise ValueError(f"{self.binding.name}: {names} is not aligned: its address must be a multiple of the size of an "
                         "element")

    def room(self) -> int:
        """Returns the address of a workspace."""
        if self.gnu:
            self.binding.check_fork(self.problem)
        room = getattr(_local, "room", None)
        return room.address if room is not None and room.size >= self.bytes else _room().of(self.bytes)

    def run(self, *arguments: Any) -> None:
        error = self.function(self.problem_address, self.params, *arguments, self.room())
        if error:
            self.binding.check(error)


class _Forward(_Again):
    """A call of forward() or of extend() of a state."""

    def __init__(self, call: _Call, function: Callable[..., int], target: _Array, q: Any, state: Sequence[int]) -> None:
        super().__init__(call, function, q)
        self.state = state
        shape, self.unaligned = tuple(target.shape), _BYTES[target.dtype] - 1
        self.empty: Callable[[Any], Any]
        if type(q).__module__ == "numpy":
            numpy = sys.modules["numpy"]
            self.empty = lambda q: numpy.empty(shape, q.dtype)
        else:
            torch = sys.modules["torch"]
            self.empty = lambda q: q.new_empty(shape)
            if shape == tuple(q.shape):  # empty_like takes half the time of new_empty
                self.empty = functools.partial(torch.empty_like, memory_format=torch.contiguous_format)

    def call(self, q: Any, k: Any, v: Any, given: Mapping[str, Any] | None = None, saved: int | None = None,
             seed: int | None = None) -> Any:
        address, out = self.address, self.empty(q)
        at_q, at_k, at_v = address(q), address(k), address(v)
        if (at_q | at_k | at_v) & self.unaligned:
            self.refuse("q, k or v")
        if given:
            self.fill(given)
        if saved is not None:
            self.problem.saved = saved
        if seed is not None:
            self.problem.seed = seed
        error = self.function(self.problem_address, self.params, at_q, at_k, at_v, address(out), *self.state,
                              self.room())
        if error:
            self.binding.check(error)
        return out


class Calls:
    """The last 64 calls of a thread, or of a state, by key."""

    def __init__(self) -> None:
        self._calls: dict[Any, Any] = {}

    def known(self, key: tuple[Any, ...]) -> Any:
        """Returns the call with this key. Returns None if there is none, or if the library or the threads have changed
        since."""
        made = self._calls.get(key)
        if made is None or made.library is not made.binding.library:
            return None
        team = _teams.address or _teams.of(made.binding)
        return made if made.team == team else None

    def keep(self, key: tuple[Any, ...], call: _Call, function: Callable[..., int], target: _Array, q: Any,
             state: Sequence[int] = ()) -> None:
        if 0 not in target.shape and not call.copies:
            self.put(key, _Forward(call, function, target, q, state))

    def put(self, key: tuple[Any, ...], made: _Again) -> None:
        while len(self._calls) > 63:
            del self._calls[next(iter(self._calls))]
        self._calls[key] = made


def _address_from_interface(array: Any) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _address_from_object(array: Any) -> int:
    """Reads the address of the data from NumPy's struct, after CPython's object header."""
    return _pointer_at(id(array) + object.__basicsize__).value or 0


_pointer_at = ctypes.c_void_p.from_address


@functools.lru_cache(maxsize=None)
def _address_in(numpy: Any) -> Callable[[Any], int]:
    """Returns the faster of the two functions above, if it works with this NumPy."""
    if sys.implementation.name == "cpython":
        array = numpy.empty(3)
        if _address_from_object(array[1:]) == _address_from_interface(array) + 8:
            return _address_from_object
    return _address_from_interface


class Saved:
    """Values that forward() saves for backward(): a few numbers for each row. Several calls can use one object, one
    after the other."""

    def __init__(self) -> None:
        self._memory: Any = None
        self._sizes: dict[str, int] | None = None

    def _take(self, call: _Call) -> None:
        """Makes room for a call's saved values."""
        if not call.binding.kernel.saved:
            raise ValueError(f"{call.binding.name} has no gradients, and saves nothing for them")
        bytes_ = call.binding.kernel.saved(ctypes.byref(call.problem))
        if self._memory is None or len(self._memory) < bytes_ + 64:
            self._memory = (ctypes.c_char * (bytes_ + 64))()
        self._sizes = dict(call.sizes)
        call.problem.saved, call.problem.saved_bytes = _aligned(self._memory), bytes_

    def _give(self, call: _Call) -> None:
        """Passes the saved values to backward, whose sizes must be those of forward."""
        if self._sizes is None:
            raise ValueError("saved is empty; pass it to forward() first")
        for word, size in call.sizes.items():
            if self._sizes.get(word, size) != size:
                raise ValueError(f"saved is from a call of forward() with {word} = {self._sizes[word]}, but this call "
                                 f"has {size}")
        self._take(call)
