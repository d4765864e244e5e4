"""Sequences that grow: what a kernel remembers of the tokens so far."""
from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from ._call import Binding, Calls, _address_in, _aligned, _Call, _is, key_of

if TYPE_CHECKING:
    from ._kernel import Kernel

_HEADER = struct.Struct("=112x4q")  # struct state_header of emitted C: batch, heads, kv_heads, capacity


def _zeros(size: int) -> Any:
    """Memory, in pages of 2 MiB where it is large and the system has them: it is filled without a fault for every 4 KiB."""
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
        pass  # a system without them
    return (ctypes.c_char * size).from_buffer(pages)


def _place_of(value: Any) -> tuple[Any, ...] | None:
    """Where the elements of a parameter are, and how they lie; None: it is something else than they are."""
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        return _address_in(sys.modules["numpy"])(value), value.shape, value.strides, value.dtype
    if (_is(value, "torch", "Tensor") and value.is_cpu and value.layout is sys.modules["torch"].strided
            and not value.requires_grad):
        return value.data_ptr(), value.shape, value.stride(), value.dtype
    return None


class State:
    """What a kernel remembers of the tokens so far of some sequences. Made by kernel.state() and kernel.load_state().

    A state is changed by one thread at a time."""

    def __init__(self, kernel: Kernel, binding: Binding, batch: int, capacity: int, start: int,
                 seed: int | None, threads: int | None, given: Mapping[str, Any]) -> None:
        self.kernel, self.batch, self.capacity, self.start = kernel, batch, capacity, start
        self._binding, self._seed, self._threads, self._given = binding, seed, threads, given
        self._heads: tuple[int, int] | None = None
        self._memory: Any = None
        self._calls = Calls()

    def _call(self, threads: int | None = 0) -> _Call:
        call = _Call(self._binding, threads or 0, self._seed)
        call.problem.batch, call.problem.capacity = self.batch, self.capacity
        call.problem.start = self.start
        call.sizes["B"], call.sizes["n_k"] = self.batch, self.capacity
        if self._heads:
            call.sizes["H"], call.sizes["G"] = call.problem.heads, call.problem.kv_heads = self._heads
            call.problem.state_bytes = len(self._memory) - 64
        return call

    def _take(self, heads: int, kv_heads: int, saved: bytes | None = None) -> None:
        """Memory for sequences of that many heads: empty ones, or what was saved."""
        call = self._call()
        call.problem.heads, call.problem.kv_heads = heads, kv_heads
        kernel, problem = self._binding.kernel, ctypes.byref(call.problem)
        size = kernel.state(problem)
        if not size:
            self._binding.check(-5)
        if saved is not None and len(saved) != size:
            self._binding.check(-12)
        memory = _zeros(size + 64)
        if saved is None:
            self._binding.check(kernel.state_init(problem, _aligned(memory)))
        else:
            ctypes.memmove(_aligned(memory), saved, size)
        self._memory, self._heads = memory, (heads, kv_heads)

    def _key(self, q: Any, k: Any, v: Any, threads: int) -> tuple[Any, ...] | None:
        """What calls have in common that differ in the addresses of q, k and v alone; None: nothing is known of them."""
        places = [_place_of(value) for value in self._given.values() if value is not None]
        key = None if None in places else key_of(self._binding, q, k, v, None, threads)
        return None if key is None else (*key, *places)

    def extend(self, q: Any, k: Any, v: Any, *, lengths: Iterable[int] | None = None, out: Any = None) -> Any:
        """Attention of new tokens over all tokens so far, which it remembers: a prompt, a piece of one, a single token.

        q: [B, H, n, D]; k: [B, G, n, D]; v: [B, G, n, E], like those of a call of the kernel
        lengths: how many of the n tokens each sequence has, 0 to n; the rows after these are neither read nor written
        out: [B, H, n, E], where the result is written; else it is made

        Returns an array like q, [B, H, n, E]: the rows that a call of the kernel gives for the whole sequences. The
        first call says how many heads there are. Where an array is wrong, nothing is remembered."""
        threads = self._threads
        if threads is None and _is(q, "torch", "Tensor"):
            threads = sys.modules["torch"].get_num_threads()
        key = self._key(q, k, v, threads or 0) if out is None and lengths is None else None
        known = self._calls.known(key) if key is not None else None
        if known is not None:
            return known.call(q, k, v)
        binding, call = self._binding, self._call(threads)
        D, E = binding.head_dim, binding.value_dim
        arrays = [call.reads("q", q, ("B", "H", "n", D)), call.reads("k", k, ("B", "G", "n", D)),
                  call.reads("v", v, ("B", "G", "n", E))]
        heads, kv_heads, n = call.sizes["H"], call.sizes["G"], call.sizes["n"]
        if kv_heads == 0 or heads % kv_heads:
            raise ValueError(f"q has {heads} heads and k {kv_heads}: the first has to be a multiple of the second")
        target = call.writes("out", out, q, arrays[0], ("B", "H", "n", E))
        call.take_parameters(self._given)
        if self._heads is None:
            self._take(heads, kv_heads)
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
        extend, state = binding.kernel.extend, _aligned(self._memory)
        made = call.run(extend, binding.kernel.extend_workspace, *(array.address for array in arrays), target.address,
                        state)["out"]
        if key is not None:
            self._calls.keep(key, call, extend, target, q, (state,))
        return made

    def _lengths_by(self, function: Any) -> list[int]:
        if self._memory is None:
            return [self.start] * self.batch
        problem, made = self._call().problem, []
        for sequence in range(self.batch):
            made.append(function(ctypes.byref(problem), _aligned(self._memory), sequence))
            self._binding.check(min(made[-1], 0))
        return made

    @property
    def lengths(self) -> list[int]:
        """The tokens of each sequence so far."""
        return self._lengths_by(self._binding.kernel.state_length)

    @property
    def min_lengths(self) -> list[int]:
        """The least length, besides 0, that each sequence can go back to."""
        return self._lengths_by(self._binding.kernel.state_min_length)

    def truncate(self, length: int, sequence: int | None = None) -> None:
        """Forgets the tokens from `length` on, of one sequence or (None) of all. Raises ValueError where it is not that
        long, or cannot go back so far (`min_lengths`); then none is changed."""
        lengths, least = self.lengths, self.min_lengths
        some = range(self.batch) if sequence is None else [sequence]
        for one in some:
            if not 0 <= one < self.batch:
                raise ValueError(f"sequence is {one}; there are {self.batch}")
            if length != self.start and not least[one] <= length <= lengths[one]:
                raise ValueError(f"sequence {one} has {lengths[one]} tokens and can go back to {least[one]}, or 0, "
                                 f"not to {length}")
        for one in some if self._memory is not None else ():
            self._binding.check(self._binding.kernel.state_truncate(
                ctypes.byref(self._call().problem), _aligned(self._memory), one, length))

    def assign(self, sequence: int, source: State, source_sequence: int) -> None:
        """A sequence becomes one of another state of this kernel, or of this state: as many heads, batch and capacity."""
        if source._memory is None:
            self.truncate(0, sequence)
            return
        if self._memory is None and source._heads:
            self._take(*source._heads)
        if source._heads != self._heads or source.batch != self.batch:
            raise ValueError("the states differ in batch or heads")
        self._binding.check(self._binding.kernel.state_copy(
            ctypes.byref(self._call().problem), _aligned(self._memory), sequence, _aligned(source._memory),
            source_sequence))

    def fold(self, other: State) -> None:
        """The tokens of each sequence become those so far, followed by those of the same sequence of another state of this
        kernel, which stays as it is: of as many heads, batch and capacity. A state of sums can do that, as linear forms
        have it. Raises ValueError for others, and where the sequences do not follow each other (`start` of
        kernel.state()); then none is changed."""
        if other is self:
            raise ValueError("a state cannot follow itself")
        if other._memory is None:
            return
        if self._memory is None and other._heads:
            self._take(*other._heads)
        if other._heads != self._heads or other.batch != self.batch:
            raise ValueError("the states differ in batch or heads")
        self._binding.check(self._binding.kernel.state_fold(
            ctypes.byref(self._call().problem), _aligned(self._memory), _aligned(other._memory)))

    def copy(self) -> State:
        """Another state that goes on from the same tokens."""
        made = State(self.kernel, self._binding, self.batch, self.capacity, self.start, self._seed, self._threads, self._given)
        if self._heads:
            made._take(self._heads[0], self._heads[1], self.tobytes())
        return made

    def tobytes(self) -> bytes:
        """All of it, for kernel.load_state(). Raises ValueError before the first extend()."""
        if self._memory is None:
            raise ValueError("the state is empty, and does not know how many heads there are")
        return ctypes.string_at(_aligned(self._memory), len(self._memory) - 64)

    def __repr__(self) -> str:
        return f"<attnc.State of {self.kernel.name}: {self.lengths} tokens>"


def loaded(kernel: Kernel, binding: Binding, data: bytes, otherwise: int, seed: int | None, threads: int | None,
           given: Mapping[str, Any]) -> State:
    """A state from its bytes, which say how large it is; its capacity too, unless the kernel does without one."""
    if len(data) < _HEADER.size:
        binding.check(-12)
    batch, heads, kv_heads, capacity = _HEADER.unpack_from(data)
    if min(batch, heads, kv_heads, capacity) < 0:
        binding.check(-12)
    made = State(kernel, binding, batch, capacity or otherwise, 0, seed, threads, given)
    made._take(heads, kv_heads, bytes(data))
    made.lengths  # which refuses what is damaged
    return made
