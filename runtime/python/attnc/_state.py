"""States: what a kernel stores about sequences, so that calls can append tokens (decoding)."""
from __future__ import annotations

import contextlib
import ctypes
import mmap
import struct
import sys
import threading
from typing import Any, Iterable, Iterator, Mapping

from ._array import AnyArray, Array
from ._arrays import _Array, _aligned, _check_contiguous, _expect, _is, _is_number, Misaligned
from ._call import Binding, Outputs, _Call
from ._header import _Problem
from ._pages import Pages
from ._repeat import Calls, _address_in, key_of
from ._threads import _room

# struct state_header of emitted C: batch, heads, kv_heads, capacity, rewind, key_heads, foldable, page
_HEADER = struct.Struct("=112x4q32xq8xqqq")


def _zeros(size: int) -> Any:
    """Returns zeroed memory of `size` bytes. From 4 MiB on it has pages of 2 MiB, which cause fewer page faults."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < 4 << 20 or advice is None:
        return (ctypes.c_char * size)()
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"a state of {size} bytes: {error.strerror}") from None
    try:
        pages.madvise(advice)
    except OSError:
        pass  # the system has no pages of 2 MiB
    return (ctypes.c_char * size).from_buffer(pages)


def _place_of(value: Any) -> tuple[Any, ...] | None:
    """Returns the address, shape, strides and dtype of a parameter, or the text of a number, or None."""
    if _is_number(value):
        return (repr(value),)
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        return _address_in(sys.modules["numpy"])(value), value.shape, value.strides, value.dtype
    if (_is(value, "torch", "Tensor") and value.is_cpu and value.layout is sys.modules["torch"].strided
            and not value.requires_grad):
        return value.data_ptr(), value.shape, value.stride(), value.dtype
    return None


class State:
    """The state of several sequences, made by kernel.state() or load_state(). Threads may share it: methods run one
    at a time."""

    def __init__(self, kernel: Any, binding: Binding, batch: int, capacity: int, start: int,
                 rewind: int, foldable: bool, seed: int | None, threads: int | None,
                 given: Mapping[str, Any], pages: Pages | None = None, table: Any = None, initial: Any = None) -> None:
        self._initial, self._of_torch = initial, _is(initial, "torch", "Tensor")
        self.kernel, self.batch, self.capacity, self.start, self.rewind = kernel, batch, capacity, start, rewind
        self.foldable, self.pages, self.table = foldable, pages, table
        if (pages is None) != (table is None):
            raise ValueError("pages and table: expected both, or none of them")
        self._table = pages.table(table, batch) if pages else None
        self._binding, self._seed, self._threads, self._given = binding, seed, threads, given
        self._heads: tuple[int, int, int] | None = None  # H, G, and the heads of k if it has fewer than v, or 0
        self._memory: Any = None
        self._calls = Calls()
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def _locked_with(self, other: State) -> Iterator[None]:
        """Locks both states in a fixed order, so that two threads cannot block each other."""
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:
            yield

    def _call(self, threads: int | None = 0) -> _Call:
        call = _Call(self._binding, threads or 0, self._seed)
        call.problem.batch, call.problem.capacity = self.batch, self.capacity
        call.problem.start, call.problem.rewind = self.start, self.rewind
        call.problem.foldable = self.foldable
        if self._table is not None:
            call.problem.pages = ctypes.addressof(self._table)
        call.sizes["B"], call.sizes["n_k"] = self.batch, self.capacity
        if self._heads:
            heads, kv_heads, key_heads = self._heads
            call.problem.heads, call.problem.kv_heads, call.problem.key_heads = self._heads
            call.sizes.update({"H": heads, "G": kv_heads, **({"K": key_heads} if key_heads else {})})
            call.problem.state_bytes = len(self._memory) - 64
        return call

    def _take(self, heads: int, kv_heads: int, key_heads: int, saved: bytes | None = None) -> None:
        """Allocates the memory, with empty sequences or a saved state."""
        call = self._call()
        call.problem.heads, call.problem.kv_heads, call.problem.key_heads = heads, kv_heads, key_heads
        kernel, problem = self._binding.kernel, ctypes.byref(call.problem)
        if self.pages is not None and self._table is not None:
            self.pages._take(call, self._table)
        size = kernel.state(problem)
        if not size:
            self._binding.check(-5)
        if saved is not None and len(saved) != size:
            self._binding.check(-12)
        memory = _zeros(size + 64)
        if saved is None:
            self._binding.check(kernel.state_init(problem, _aligned(memory)))
            if self._initial is not None:
                array, _ = self._sums(call, "initial_state", self._initial)
                self._binding.check(kernel.state_set(problem, _aligned(memory), array.address))
        else:
            ctypes.memmove(_aligned(memory), saved, size)
        self._memory, self._heads = memory, (heads, kv_heads, key_heads)

    def _sums(self, call: _Call, name: str, value: Any = None) -> tuple[_Array, Any]:
        """Returns the array [B, heads, numbers] of a state, and its matrices: `value`, or views of a new array."""
        import numpy

        binding, batch, kernel = self._binding, self.batch, self._binding.kernel
        kind = "float64" if binding.dtype == "f64" else "float32"
        bytes_of_state = kernel.state_sums(ctypes.byref(call.problem))
        if not kernel.state_arrays or self.foldable:
            raise ValueError(f"{binding.name}: its state is no matrices that are right at every position, so it is no "
                             "array; tobytes() and load_state() keep such a state")
        numbers = (ctypes.c_int64 * (2 * kernel.state_arrays)).from_address(kernel.state_shapes)
        matrices = list(zip(numbers[::2], numbers[1::2]))
        total = sum(features * columns for features, columns in matrices)
        heads = bytes_of_state // max(1, batch * total * numpy.dtype(kind).itemsize)
        shapes = [[batch, heads, features, *([columns] if columns > 1 or binding.value_dim == 1 else [])]
                  for features, columns in matrices]
        torch = sys.modules.get("torch")
        if value is None:
            whole = torch.empty([batch, heads, total], dtype=getattr(torch, kind)) if self._of_torch and torch else (
                numpy.empty([batch, heads, total], kind))
            ends = [sum(f * c for f, c in matrices[:n]) for n in range(len(matrices) + 1)]
            given = [whole[:, :, a:b].reshape(shape) for a, b, shape in zip(ends, ends[1:], shapes)]
        else:
            given = list(value) if isinstance(value, (tuple, list)) else [value]
            if len(given) != len(shapes):
                raise ValueError(f"{name}: expected {len(shapes)} arrays, as final_state() returns them")
            for one, shape in zip(given, shapes):
                _expect(binding.name, name, _Array(name, one, kernel=binding.name),
                        "f64" if kind == "float64" else "f32", shape, {})
            join = numpy.concatenate if not _is(given[0], "torch", "Tensor") or torch is None else torch.cat
            whole = given[0] if len(given) == 1 else join([x.reshape(batch, heads, -1) for x in given], -1)
        array = _Array(name, whole, kernel=binding.name)
        _check_contiguous(name, array)
        return array, given[0] if len(given) == 1 else tuple(given)

    def final_state(self) -> Any:
        """Returns the state as an array [B, heads, features, E] of float32 (float64 for "f64"): the sum of each key's
        features times its value, as `initial_state` of kernel.state() takes it. Heads are those of k and v, or of q if
        heads of q have their own decays. NumPy's, or a tensor if the last tokens were tensors.

        If a state has several sums, returns a tuple: for each sum of `sums` in turn such an array, and an array [B, heads,
        features] for a sum of weights, such as a denominator. Equal sums are there once; a denominator is before its sum.

        Raises ValueError if the state is no such arrays: without a linear form, if weights or rows depend on positions
        in another way than by `decay`, with `delta` and several sums or a denominator, and with `foldable`."""
        with self._lock:
            if self._memory is None:
                raise ValueError("the state is empty: expected a call of extend() before")
            call, kernel = self._call(), self._binding.kernel
            call.without_rows = True
            array, made = self._sums(call, "final_state")
            call.take_parameters(self._given)
            call.problem.workspace_bytes = kernel.extend_workspace(ctypes.byref(call.problem))
            self._binding.check(kernel.state_get(ctypes.byref(call.problem), call.params, _aligned(self._memory),
                                                 array.address, _room().of(call.problem.workspace_bytes)))
            return made

    def _key(self, q: Any, k: Any, v: Any, threads: int) -> tuple[Any, ...] | None:
        """Returns a key for extend(). Calls with equal keys differ only in addresses. Returns None if all arrays must
        be checked."""
        places = [_place_of(value) for value in self._given.values() if value is not None]
        key = None if None in places else key_of(self._binding, q, k, v, {}, None, threads)
        return None if key is None else (*key, *places)

    def extend(self, q: AnyArray | None, k: Array, v: Array | None = None, *, lengths: Iterable[int] | None = None,
               cu_seqlens: Iterable[int] | None = None, out: Array | None = None, statistics: bool | Array = False,
               **rows: Array) -> AnyArray:
        """Appends tokens to each sequence, and returns their attention over all tokens so far. A call may append a
        whole prompt, a part of a prompt, or a single token.

        q: [B, H, n, D]; k: [B, G, n, D]; v: [B, G, n, E], as for a call of the kernel (no v if its values are the keys).
            If q is None, the tokens are only appended, and the result is None. The first call sets the number of heads,
            so it needs a q, which may have no rows.
        lengths: the number of tokens, 0 to n, to append to each sequence; rows after these are neither read nor written
        cu_seqlens: B + 1 numbers, instead of lengths. The tokens of all sequences are in one row of memory: sequence b
            has rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of q, k, v and out, which are [1, H, n, D] for n tokens in
            all. So are the arrays in `rows`.
        out: [B, H, n, E], overwritten if given, else allocated
        statistics: True, or an array [B, H, n]: returns Outputs(out, statistics), as a call of the kernel does. The
            spec needs 'emit: [forward, statistics]'.
        rows: parameters that have a row for each key or query, with the rows of these tokens: [B, H, n] of an array
            declared as [B, H, Nk]. All sequences get the same rows of an array without the axis B.

        Returns an array like q, [B, H, n, E]: the rows that a call of the kernel with the whole sequences returns
            for these tokens. If an array is wrong, nothing is appended."""
        self.kernel._check_values(v)
        v = k if self.kernel.values_are_keys else v
        with self._lock:
            made: AnyArray = self._extend(q, k, v, lengths, cu_seqlens, out, statistics, rows)
            return made

    def _extend(self, q: Any, k: Any, v: Any, lengths: Iterable[int] | None, cu_seqlens: Iterable[int] | None, out: Any,
                statistics: Any, rows: Mapping[str, Any]) -> Any:
        names = {word: name for word, name in self.kernel._keywords.items() if name in self._binding.rows}
        for word in rows:
            if word not in names:
                raise TypeError(f"extend() of {self._binding.name} takes no {word}=")
        threads = self._threads
        if threads is None and _is(k, "torch", "Tensor"):
            threads = sys.modules["torch"].get_num_threads()
        if q is None and self._heads is None:
            raise ValueError("q is None, but the first call sets the number of heads: it needs a q, which may have no rows")
        if q is None and (out is not None or statistics is not False):
            raise ValueError("q is None, so there is nothing to write to out or statistics")
        plain = q is not None and out is None and lengths is None and cu_seqlens is None and statistics is False and not rows
        key = self._key(q, k, v, threads or 0) if plain else None
        known = self._calls.known(key) if key is not None else None
        if known is not None:
            try:
                return known.call(q, k, v)
            except Misaligned:
                pass  # the call below copies the array
        binding, call = self._binding, self._call(threads)
        if cu_seqlens is not None:
            call.in_one_row, call.sizes["B"] = True, 1
        arrays = call.heads_of(q, k, v, "n", "n")
        heads, kv_heads, n = call.sizes["H"], call.sizes["G"], call.sizes["n"]
        target = None if q is None else call.writes("out", out, q, arrays[0], ("B", "H", "n", binding.value_dim))
        if statistics is not False:
            call.writes_statistics(statistics, q, arrays[0], "n")
        call.tokens, call.sizes["B"] = "n", self.batch
        call.take_parameters({**self._given, **{names[word]: value for word, value in rows.items()}})
        if self._heads is None:
            self._take(heads, kv_heads, call.problem.key_heads)
        self._of_torch = _is(k, "torch", "Tensor")
        problem = call.problem
        problem.heads, problem.kv_heads, problem.n_q, problem.n_k = heads, kv_heads, n, n
        problem.state_bytes = len(self._memory) - 64
        if lengths is not None:
            counts = [int(x) for x in lengths]
            if len(counts) != self.batch or not all(0 <= x <= n for x in counts):
                raise ValueError(f"lengths are {counts}; expected {self.batch} numbers from 0 to {n}")
            numbers = (ctypes.c_int64 * self.batch)(*counts)
            call.keep.append(numbers)
            problem.lengths = ctypes.addressof(numbers)
        if cu_seqlens is not None:
            ends = [int(x) for x in cu_seqlens]
            if lengths is not None:
                raise ValueError("lengths and cu_seqlens are given; expected one of them")
            if len(ends) != self.batch + 1 or sorted(ends) != ends or not 0 <= ends[0] <= ends[-1] <= n:
                raise ValueError(f"cu_seqlens are {ends}; expected {self.batch + 1} ascending numbers from 0 to {n}")
            numbers = (ctypes.c_int64 * (self.batch + 1))(*ends)
            call.keep.append(numbers)
            problem.cu_seqlens = ctypes.addressof(numbers)
        extend, state = binding.kernel.extend, _aligned(self._memory)
        places = [*([None] if q is None else []), *(array.address for array in arrays), target and target.address]
        made = call.run(extend, binding.kernel.extend_workspace, *places, state)
        if target is None:
            return None
        if key is not None:
            self._calls.keep(key, call, extend, target, q, (state,))
        return made["out"] if statistics is False else Outputs(made["out"], made["statistics"])

    def _lengths_by(self, function: Any, some: Iterable[int] | None = None) -> list[int]:
        """Returns what the function says of some sequences, or of all."""
        some = range(self.batch) if some is None else some
        with self._lock:
            if self._memory is None:
                return [self.start for _ in some]
            problem, made = self._call().problem, []
            for sequence in some:
                made.append(function(ctypes.byref(problem), _aligned(self._memory), sequence))
                self._binding.check(min(made[-1], 0))
            return made

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of each sequence."""
        return self._lengths_by(self._binding.kernel.state_length)

    @property
    def min_lengths(self) -> list[int]:
        """The minimum length, other than 0, to which each sequence can be truncated."""
        return self._lengths_by(self._binding.kernel.state_min_length)

    def truncate(self, length: int, sequence: int | None = None) -> None:
        """Truncates one sequence, or all if `sequence` is None, to `length` tokens. Raises ValueError, without any
        change, if a sequence is shorter, or `length` is between 0 and its `min_lengths`."""
        some = range(self.batch) if sequence is None else [sequence]
        if sequence is not None and not 0 <= sequence < self.batch:
            raise ValueError(f"sequence is {sequence}; the state has {self.batch} sequences, from 0")
        kernel = self._binding.kernel
        with self._lock:
            both = (self._lengths_by(function, some) for function in (kernel.state_min_length, kernel.state_length))
            for one, least, most in zip(some, *both):
                if length != self.start and not least <= length <= most:
                    raise ValueError(f"sequence {one} has {most} tokens; its new length must be 0, or from {least} to "
                                     f"{most}, not {length}")
            problem = self._call().problem
            for one in some if self._memory is not None else ():
                self._binding.check(kernel.state_truncate(ctypes.byref(problem), _aligned(self._memory), one, length))

    def keep(self, path: Iterable[int], sequence: int = 0) -> None:
        """Keeps some of the tokens that the last extend() appended to a sequence: those with the numbers in `path`, which
        count from 0 and ascend. The others are removed. So a draft with a tree of tokens becomes one of its paths.

        Raises ValueError, without any change, if the path has other numbers, if the sequence cannot be truncated to the
        new length (see `rewind` of kernel.state()), or if tokens would move whose keys belong to their positions."""
        numbers = [int(x) for x in path]
        if any(a >= b for a, b in zip([-1, *numbers], numbers)):
            raise ValueError(f"path is {numbers}; expected ascending numbers from 0")
        with self._lock:
            if self._memory is None:
                raise ValueError("the state is empty: expected a call of extend() before")
            self._binding.check(self._binding.kernel.state_keep(
                ctypes.byref(self._call().problem), _aligned(self._memory), sequence,
                (ctypes.c_int64 * len(numbers))(*numbers), len(numbers)))

    def assign(self, sequence: int, source: State, source_sequence: int) -> None:
        """Copies a sequence of `source` to a sequence of this state. `source` is of this kernel with equal heads,
        batch and capacity."""
        with self._locked_with(source):
            if source._memory is None:
                self.truncate(0, sequence)
                return
            problem = self._problem_with(source)
            self._binding.check(self._binding.kernel.state_copy(
                problem, _aligned(self._memory), sequence, _aligned(source._memory), source_sequence))

    def _problem_with(self, other: State) -> Any:
        """Returns the problem of a call with another state. Raises ValueError if they differ in sizes."""
        if self._memory is None and other._heads:
            self._take(*other._heads)
        if other._heads != self._heads or other.batch != self.batch or other.foldable != self.foldable:
            raise ValueError("the states differ in batch, heads or foldable")
        return ctypes.byref(self._call().problem)

    def fold(self, other: State) -> None:
        """Appends to each sequence the tokens of the same sequence in `other`, which is not changed.

        other: a state of this kernel with equal heads, batch and capacity. The kernel must have a linear form, whose
            state stores sums; with 'delta', both states must be foldable. Each sequence of `other` must begin where the same sequence of this state ends: see
            `start` of kernel.state()

        Raises ValueError, without changing any sequence, if the states cannot be joined."""
        if other is self:
            raise ValueError("a state cannot be appended to itself")
        with self._locked_with(other):
            if other._memory is not None:
                problem, fold = self._problem_with(other), self._binding.kernel.state_fold
                self._binding.check(fold(problem, _aligned(self._memory), _aligned(other._memory)))

    def copy(self) -> State:
        """Returns a copy of the state. A sequence in pages is copied with assign(), after its row of the table."""
        if self.pages is not None:
            raise ValueError("a state in pages: copy the rows of its table, and its sequences with assign()")
        make, described = self.__reduce__()
        made: State = make(*described)
        return made

    __copy__ = copy

    def __reduce__(self) -> Any:
        """A deep copy, and one through pickle, also copies the arrays and pages that the state was made with. States that
        are copied together share pages as before."""
        with self._lock:
            return _restored, (self.kernel, self.batch, self.capacity, self.start, self.rewind, self.foldable, self._seed,
                               self._threads, dict(self._given), self.pages, self.table, self._heads,
                               None if self._memory is None else self.tobytes(), self._initial)

    def tobytes(self) -> bytes:
        """Returns the state as bytes for kernel.load_state(). Raises ValueError before the first extend()."""
        with self._lock:
            if self._memory is None:
                raise ValueError("the state is empty: the first extend() sets its number of heads")
            return ctypes.string_at(_aligned(self._memory), len(self._memory) - 64)

    def __repr__(self) -> str:
        return f"<attnc.State of {self.kernel.name}: {self.lengths} tokens>"


def _restored(kernel: Any, batch: int, capacity: int, start: int, rewind: int, foldable: bool, seed: int | None,
              threads: int | None, given: Mapping[str, Any], pages: Pages | None, table: Any,
              heads: tuple[int, int, int] | None, data: bytes | None, initial: Any = None) -> State:
    """Returns the state that __reduce__ describes."""
    made = State(kernel, kernel._with_state(), batch, capacity, start, rewind, foldable, seed, threads, given, pages, table,
                 initial)
    if heads is not None:
        made._take(*heads, data)
    return made


def loaded(kernel: Any, binding: Binding, data: bytes, otherwise: int, seed: int | None, threads: int | None,
           given: Mapping[str, Any], pages: Pages | None, table: Any) -> State:
    """Returns a state from the bytes of tobytes(). `otherwise` is the capacity if the bytes contain none."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{kernel.name}: data is a {type(data).__name__}; expected the bytes from State.tobytes()")
    data = bytes(data)
    if len(data) < _HEADER.size:
        binding.check(-12)
    batch, heads, kv_heads, capacity, rewind, key_heads, foldable, tokens = _HEADER.unpack_from(data)
    if min(batch, heads, kv_heads, capacity, rewind, key_heads, foldable, tokens) < 0:
        binding.check(-12)
    if tokens != (pages.tokens if pages else 0):
        raise ValueError(f"the state is in pages of {tokens} tokens; expected pages= and table= of it" if tokens else
                         "the state is not in pages, or damaged")
    made = State(kernel, binding, batch, capacity or otherwise, 0, rewind, bool(foldable), seed, threads, given, pages, table)
    made._take(heads, kv_heads, key_heads if key_heads < kv_heads else 0, data)
    made.lengths  # the kernel raises an exception for damaged bytes
    return made
