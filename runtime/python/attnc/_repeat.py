# Calls that were checked before, which later calls repeat with other addresses, and saved values.
from __future__ import annotations

import ctypes
import functools
import operator
import sys
from typing import Any, Callable, Mapping, Sequence

from ._arrays import _aligned, _Array, _BYTES, _extent, _is, Misaligned, _Number
from ._threads import _local, _room, _teams


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


def _key_of_arrays(binding: Any, q: Any, k: Any, v: Any, seed: int | None, threads: int) -> tuple[Any, ...] | None:
    """Returns a key for forward() with NumPy arrays. Calls with equal keys differ only in addresses. Returns None if
    an array is not a plain one."""
    kind = type(q)
    if kind.__module__ != "numpy" or kind.__name__ != "ndarray" or type(k) is not kind or type(v) is not kind:
        return None
    return (binding, q.shape, k.shape, v.shape, q.strides, k.strides, v.strides, q.dtype, k.dtype, v.dtype, seed,
            threads)


@functools.lru_cache(maxsize=None)
def _plain_kinds(torch: Any) -> tuple[type, ...]:
    return torch.Tensor, torch.nn.Parameter


def key_of_tensors(owner: Any, q: Any, k: Any, v: Any, given: Mapping[str, Any], gradients: bool,
                   *more: Any) -> tuple[Any, ...] | None:
    """Returns a key for a call with PyTorch tensors. Its first element is True if gradients are wanted. Returns None if
    a tensor is not plain, or if it requires gradients and `gradients` is false."""
    torch = sys.modules["torch"]
    kinds, strided = _plain_kinds(torch), torch.strided
    if torch.autograd.forward_ad._current_level >= 0:
        return None
    for a in (q, k, v):
        if type(a) not in kinds or not a.is_cpu or a.layout is not strided or a.is_neg():
            return None
    wanted = q.requires_grad or k.requires_grad or v.requires_grad
    parameters = key_of_parameters(given, gradients) if given else ()
    if parameters is None or wanted and not gradients:
        return None
    if gradients and given:
        wanted = wanted or any(_is(a, "torch", "Tensor") and a.requires_grad for a in given.values())
    return (wanted and torch.is_grad_enabled(), owner, q.shape, k.shape, v.shape, q.stride(), k.stride(), v.stride(),
            q.dtype, k.dtype, v.dtype, *more, *parameters)


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


def _key_of_out(out: Any, q: Any, given: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Returns the part of a key that describes an array for the result. Returns None if it is not plain, or if there
    are other arrays with which it could share memory."""
    if not all(value is None or type(value) in (float, int) for value in given.values()):
        return None
    if type(out).__module__ == "numpy":
        plain = type(out) is type(q) and out.flags.writeable
        return (out.shape, out.strides, out.dtype) if plain else None
    plain = _is(q, "torch", "Tensor") and type(out) in _plain_kinds(sys.modules["torch"]) and out.is_cpu
    if not plain or out.layout is not sys.modules["torch"].strided or out.is_neg() or out.requires_grad:
        return None
    return out.shape, out.stride(), out.dtype


def key_of(binding: Any, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None, threads: int,
           out: Any = None) -> tuple[Any, ...] | None:
    """Returns a key for a call of forward() with NumPy arrays or PyTorch tensors. Returns None if the call has no
    key."""
    if out is not None:
        of_out, key = _key_of_out(out, q, given), key_of(binding, q, k, v, given, seed, threads)
        return None if of_out is None or key is None else (*key, "out", *of_out)
    if _is(q, "torch", "Tensor"):
        return key_of_tensors(binding, q, k, v, given, False, seed, threads)
    key = _key_of_arrays(binding, q, k, v, seed, threads)
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

    unaligned: int  # the bits that are 0 in addresses of q, k and v

    def __init__(self, call: Any, function: Callable[..., int], like: Any) -> None:
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
        raise Misaligned(f"{self.binding.name}: {names} is not aligned: its address must be a multiple of the size of an "
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
    """A call of forward() or of extend() of a state. One that can be differentiated also has a tensor like its saved values,
    and a number."""

    saved_like: Any
    number: int

    def __init__(self, call: Any, function: Callable[..., int], target: _Array, q: Any, state: Sequence[int]) -> None:
        super().__init__(call, function, q)
        self.state = state
        shape, self.unaligned = tuple(target.shape), _BYTES[target.dtype] - 1
        # Rows of `storage` may be aligned to less than q is. Then this has the bits for each of q, k and v.
        self.unaligned_rows: list[int] | None = None
        if call.binding.takes_stored:
            inputs = [*call.read[:2], call.read[1 if call.binding.values_are_keys else 2]]
            self.unaligned_rows = [_BYTES[array.dtype] - 1 for array in inputs]
        # The bytes from the first address of out, q, k and v to the end of each.
        self.bytes_of_out, *self.bytes_read = (end - begin for begin, end, *_ in map(_extent, (target, *call.read[:3])))
        self.empty: Callable[[Any], Any]
        if type(q).__module__ == "numpy":
            numpy = sys.modules["numpy"]
            self.empty = lambda q: numpy.empty(shape, q.dtype)
        else:
            torch = sys.modules["torch"]
            self.empty = lambda q: q.new_empty(shape)
            if shape == tuple(q.shape):  # empty_like takes half the time of new_empty
                self.empty = functools.partial(torch.empty_like, memory_format=torch.contiguous_format)

    def is_apart(self, out: Any, *read: Any) -> bool:
        """Whether `out` is aligned, and neither q, k nor v is in the memory that it spans."""
        at = self.address(out)
        end = at + self.bytes_of_out
        return not at & self.unaligned and all(end <= begin or begin + bytes_ <= at for begin, bytes_ in
                                               zip(map(self.address, read), self.bytes_read))

    def empty_of(self, q: Any) -> Callable[[Any], Any]:
        """Returns a function that does the same as self.empty for q and tensors of the same layout."""
        like, made = sys.modules["torch"].empty_like, self.empty(q)
        plain = like(q)
        return like if plain.shape == made.shape and plain.stride() == made.stride() else self.empty

    def call(self, q: Any, k: Any, v: Any, given: Mapping[str, Any] | None = None, saved: int | None = None,
             seed: int | None = None, out: Any = None) -> Any:
        address = self.address
        out = self.empty(q) if out is None else out
        at_q, at_k, at_v = address(q), address(k), address(v)
        if (at_q | at_k | at_v) & self.unaligned and (
                self.unaligned_rows is None or any(map(operator.and_, (at_q, at_k, at_v), self.unaligned_rows))):
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

    def keep(self, key: tuple[Any, ...], call: Any, function: Callable[..., int], target: _Array, q: Any,
             state: Sequence[int] = ()) -> None:
        if 0 not in target.shape and not call.copies:
            self.put(key, _Forward(call, function, target, q, state))

    def put(self, key: tuple[Any, ...], made: _Again) -> None:
        while len(self._calls) > 63:
            del self._calls[next(iter(self._calls))]
        self._calls[key] = made


def _calls() -> Calls:
    """Returns the last calls of this Python thread."""
    calls = getattr(_local, "calls", None)
    if calls is None:
        calls = _local.calls = Calls()
    return calls


def _saved(data: bytes | None, sizes: dict[str, int] | None) -> Saved:
    """Returns a Saved with these values. Their layout depends on the address, so they are copied to an aligned one."""
    made = Saved()
    if data is not None:
        made._memory, made._sizes = (ctypes.c_char * (len(data) + 64))(), sizes
        ctypes.memmove(_aligned(made._memory), data, len(data))
    return made


class Saved:
    """Values that forward() saves for backward(): a few numbers for each row. Several calls can use one object, one
    after the other. Copies, also through pickle, have their own memory."""

    def __init__(self) -> None:
        self._memory: Any = None
        self._sizes: dict[str, int] | None = None

    def __reduce__(self) -> Any:
        data = None if self._memory is None else ctypes.string_at(_aligned(self._memory), len(self._memory) - 64)
        return _saved, (data, self._sizes and dict(self._sizes))

    def _take(self, call: Any) -> None:
        """Makes room for a call's saved values."""
        if not call.binding.kernel.saved:
            raise ValueError(f"{call.binding.name} has no gradients, and saves nothing for them")
        bytes_ = call.binding.kernel.saved(ctypes.byref(call.problem))
        if self._memory is None or len(self._memory) < bytes_ + 64:
            self._memory = (ctypes.c_char * (bytes_ + 64))()
        self._sizes = dict(call.sizes)
        call.problem.saved, call.problem.saved_bytes = _aligned(self._memory), bytes_

    def _give(self, call: Any) -> None:
        """Passes the saved values to backward, whose sizes must be those of forward."""
        if self._sizes is None:
            raise ValueError("saved is empty; pass it to forward() first")
        for word, size in call.sizes.items():
            if self._sizes.get(word, size) != size:
                raise ValueError(f"saved is from a call of forward() with {word} = {self._sizes[word]}, but this call "
                                 f"has {size}")
        self._take(call)
