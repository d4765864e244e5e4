# Calls a kernel on NumPy arrays, tensors and other objects with __dlpack__, without copies. A module NAME.py that attnc
# writes begins with _header.py, _arrays.py, _threads.py, _repeat.py and this file.
from __future__ import annotations

import collections
import ctypes
import math
import operator
import os
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ._arrays import (_aligned, _Array, _BYTES, _check_contiguous, check_heads, _compact, _empty, _expect, _INTEGERS,
                      gradient_type, _is, _is_number, Misaligned, narrowed, _Number, _OTHER_NAMES, _overlap, _result,
                      row_units, _strides, _strides_of_array, words_of_heads)
from ._header import _DTYPES, _ERRORS, _Kernel, _Param, _Problem
from ._repeat import _calls, key_of, Saved
from ._threads import _local, own_team_path, processors, _room, _teams, _threaded, usable_openmp


_Written = collections.namedtuple("_Written", "array given like made")
Outputs = collections.namedtuple("Outputs", "out statistics")
Outputs.__doc__ = """The results of a call for statistics, for attnc.merge().

out: as the call returns it without statistics
statistics: [B, H, n_q], the denominator of each row, or its logarithm for a softmax; 0 or -inf for a row that sees no
    key"""


Weighed = collections.namedtuple("Weighed", "out weights")
Weighed.__doc__ = """The results of a call for weights.

out: as the call returns it without weights
weights: [B, H, n_q, n_k], the numbers that values are multiplied by; 0 for a hidden key"""


class Parameter(NamedTuple):
    """An array that a kernel takes in addition to q, k and v.

    name: its name in the spec language, such as "features.wq"
    keyword: its name as a keyword argument, such as "features_wq". It ends in "_" if Python or a function uses the plain
        name: "threads_" for an array "threads"
    dtype: "f32", "f64", "f16", "bf16", "i32" or "u8"
    shape: numbers, and names of sizes of a call: "B" batch, "H" heads of q, "G" heads of k and v, "n_q",
        "n_k"; "n_q/64" is the number of blocks of 64 queries, rounded up
    from_seed: how it is generated from a seed, "normal" or "orthogonal"; None: it is not generated
    initial: the initial value of a learned parameter: "normal" (normal values / sqrt(first extent)), "zeros", "ones",
        "identity", or "exponential" (element k is 1 / k!); None: the caller gives its values with each call"""

    name: str
    keyword: str
    dtype: str
    shape: tuple[int | str, ...]
    from_seed: str | None
    initial: str | None = None

    @property
    def is_learned(self) -> bool:
        return not self.from_seed and self.dtype not in _INTEGERS


def _gradients(fields: Sequence[str], values: Sequence[Any]) -> Any:
    """Returns the results of backward(), a named tuple."""
    return _class_of_gradients(fields)(*values)


def _class_of_gradients(fields: Sequence[str]) -> Any:
    made = collections.namedtuple("Gradients", fields)  # type: ignore[misc]

    def reduce(self: Any) -> Any:
        return _gradients, (self._fields, tuple(self))
    setattr(made, "__reduce__", reduce)  # pickle does not find the class of one kernel
    return made


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

    takes_stored = False  # forward takes keys or values of other types than dtype (`storage` of the spec)

    def __init__(self, name: str, version: str, dtype: str, head_dim: int, value_dim: int,
                 parameters: Iterable[Iterable[Any]], remedy: str = "",
                 values_are_keys: bool = False, symbol: str | None = None) -> None:
        """name, version, dtype, head_dim, value_dim, values_are_keys: as in struct attn_kernel
        parameters: the members of each Parameter
        remedy: advice at the end of the message that the library has a different kernel
        symbol: the kernel's name in the library, if it has another name there

        If values_are_keys, the argument v of all methods is ignored."""
        self.name, self.version, self.dtype = name, version, dtype
        self.head_dim, self.value_dim, self.remedy = head_dim, value_dim, remedy
        self.parameters = tuple(Parameter(*p) for p in parameters)
        self.learned = tuple(p for p in self.parameters if p.is_learned)
        self.values_are_keys, self.symbol, self.openmp = values_are_keys, symbol or name, True
        of_parameters = ["d" + p.keyword for p in self.learned]
        self.gradients = ["dq", "dk", "dv", *of_parameters]  # the gradients of PyTorch's operators, which always take v
        self.Gradients = _class_of_gradients(["dq", "dk"] + ([] if values_are_keys else ["dv"]) + of_parameters)
        self.own_seed: int | None = None  # the spec's seed of random parameters
        self.library: Any = None
        self.copied: set[str] = set()  # names of arrays whose copies the user was already warned of
        self._lock = threading.Lock()
        self._seeded: dict[int, tuple[Any, Any]] = {}  # for each of the last four seeds: parameters and their memory

    def load(self, path: str) -> None:
        """Loads the compiled kernel."""
        with usable_openmp():
            library = ctypes.CDLL(os.path.abspath(path))
            if hasattr(library, "omp_get_max_threads"):
                library.omp_get_max_threads()
        try:
            kernel = _Kernel.in_dll(library, self.symbol + "_kernel")
        except ValueError:
            raise OSError(f"{path} has no kernel {self.symbol}") from None
        params = (_Param * kernel.params).from_address(kernel.param) if kernel.params else ()
        offsets = {p.name.decode(): p.offset for p in params}
        contiguous = ctypes.c_size_t(-1).value  # ATTN_CONTIGUOUS
        found = (kernel.version.decode(), _DTYPES[kernel.dtype], kernel.head_dim, kernel.value_dim, sorted(offsets),
                 bool(kernel.values_are_keys))
        if found != (self.version, self.dtype, self.head_dim, self.value_dim, sorted(p.name for p in self.parameters),
                     self.values_are_keys):
            raise OSError(f"{path} was compiled from other C code than this module expects{self.remedy}")
        with self._lock:
            self._seeded.clear()
            self.kernel, self.offsets = kernel, offsets
            self.strides = {p.name.decode(): p.strides for p in params if p.strides != contiguous}
            self.tiles = {p.name.decode(): p.tiles for p in params if p.tiles}
            # names of the parameters of which extend() takes only the rows of new tokens
            self.rows = {p.name.decode() for p in params if p.rows}
            # stored, because ctypes makes a new object at each access of a structure's member
            self.forward_function, self.workspace_function = kernel.forward, kernel.workspace
            self.key_dtype, self.value_dtype = _DTYPES[kernel.key_dtype], _DTYPES[kernel.value_dtype]
            self.takes_stored = (self.key_dtype, self.value_dtype) != (self.dtype, self.dtype)
            self.openmp = hasattr(library, "omp_get_max_threads")
            # LLVM's OpenMP library has both functions. GNU's library has only the first.
            self.gnu = hasattr(library, "GOMP_parallel") and not hasattr(library, "__kmpc_fork_call")
            self.set_wait = getattr(library, "kmp_set_blocktime", None)
            self.library, self.path = library, path

    # ---- functions that all kinds of calls use

    def check(self, error: int) -> None:
        if error:
            kind, says = _ERRORS.get(error, (RuntimeError, "error %d" % error))
            raise kind(f"{self.name}: {says}")

    def has_sums(self) -> bool:
        """Returns True if the kernel has a state that is sums over keys."""
        return bool(self.kernel.state_chunk) and self.kernel.state_chunk(ctypes.byref(_Problem())) > 0

    def has_key_sums(self) -> bool:
        """Returns True if queries read sums over all keys, which several processes add."""
        return bool(self.kernel.key_sums)

    def is_undivided(self) -> bool:
        """Returns True if rows are not divided by a sum of weights."""
        return bool(self.kernel.statistics == 3)  # ATTN_UNDIVIDED

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

    def forward(self, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None = None, out: Any = None,
                threads: int = 0, saved: Saved | None = None, statistics: Any = False, weights: Any = False) -> Any:
        if saved is not None and not isinstance(saved, Saved):
            raise TypeError(f"saved is a {type(saved).__name__}; expected {self.name}.Saved()")
        v = k if self.values_are_keys else v
        if saved is None and statistics is False and weights is False:
            key = key_of(self, q, k, v, given, seed, threads, out)
            if key is not None:
                return self.forward_again(key, q, k, v, given, seed, threads, out)
        return self._forward(q, k, v, given, seed, out, threads, saved, statistics, weights)[0]

    def forward_again(self, key: tuple[Any, ...], q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None,
                      threads: int, out: Any = None) -> Any:
        """Runs forward() for a key of key_of. Calls with equal keys differ only in addresses and in the values of
        numbers. So only the first of them is checked."""
        calls = _calls()
        known = calls.known(key)
        if known is not None and (out is None or known.is_apart(out, q, k, v)):
            try:
                return known.call(q, k, v, given, out=out)
            except Misaligned:
                pass  # the call below copies the array
        made, call, target = self._forward(q, k, v, given, seed, out, threads, None)
        calls.keep(key, call, self.forward_function, target, q)
        return made

    def _forward(self, q: Any, k: Any, v: Any, given: Mapping[str, Any], seed: int | None, out: Any, threads: int,
                 saved: Saved | None, statistics: Any = False,
                 weights: Any = False) -> tuple[Any, _Call, _Array]:
        call = _Call(self, threads, seed)
        arrays = call.inputs(q, k, v)
        target = call.writes("out", out, q, arrays[0], ("B", "H", "n_q", self.value_dim))
        call.take_positions(given)
        call.take_parameters(given)
        if statistics is not False:
            call.writes_statistics(statistics, q, arrays[0], "n_q")
        if weights is not False:
            if not self.kernel.weights:
                raise ValueError(f"{self.name} has no weights: its spec needs 'emit: [forward, weights]'")
            call.writes("weights", None if weights is True else weights, q, arrays[0], ("B", "H", "n_q", "n_k"))
        if saved is not None:
            saved._take(call)
        made = call.run(self.forward_function, self.workspace_function, *(array.address for array in arrays),
                        target.address)
        result = (Weighed(made["out"], made["weights"]) if weights is not False else
                  made["out"] if statistics is False else Outputs(made["out"], made["statistics"]))
        return result, call, target

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
                                                 call.shapes[p.name], gradient_type(p.dtype)).address
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
        self.of_all_keys: set[str] = set()  # parameters for keys of which the call has some
        self.shapes: dict[str, list[int | str]] = {}  # of the parameters
        self.without_rows = False  # arrays with a row for each token are not read
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

    def _array(self, name: str, value: Any) -> _Array:
        """Returns an input, or a copy of one that is not aligned."""
        try:
            return _Array(name, value, kernel=self.binding.name)
        except Misaligned as why:
            return self._copy(name, value, why)

    def reads(self, name: str, value: Any, shape: Sequence[int | str], dtype: str | None = None) -> _Array:
        """Adds an input [batch, heads, rows, columns]."""
        array = self._array(name, value)
        _expect(self.binding.name, name, array, dtype or self.binding.dtype, shape, self.sizes)
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
        arrays = self.heads_of(q, k, v, "n_q", "n_k", stored=True)
        for field, word in zip(("batch", "heads", "kv_heads", "n_q", "n_k"), ("B", "H", "G", "n_q", "n_k")):
            setattr(self.problem, field, self.sizes[word])
        return arrays

    def heads_of(self, q: Any, k: Any, v: Any, rows_of_q: str, rows_of_k: str, stored: bool = False) -> list[_Array]:
        """Adds q, k and v, whose numbers of rows have these names, or k and v if q is None. Checks their heads, and sets
        the problem's key_heads. If `stored`, k and v are of the types that forward takes, else of the kernel's dtype."""
        D, E, of_keys, of_values = self.binding.head_dim, self.binding.value_dim, None, None
        columns_of_k, columns_of_v = D, E
        if stored and self.binding.takes_stored:
            of_keys, of_values = self.binding.key_dtype, self.binding.value_dtype
            columns_of_k, columns_of_v = row_units(of_keys, D), row_units(of_values, E)
        if "H" in self.sizes:  # of a state
            of_q, of_k = ("K", "K") if "K" in self.sizes else ("H", "G")
        else:
            of_q, of_k = ("H", "G") if self.binding.values_are_keys else words_of_heads(q, v)
        arrays = [] if q is None else [self.reads("q", q, ("B", of_q, rows_of_q, D))]
        arrays.append(self.reads("k", k, ("B", of_k, rows_of_k, columns_of_k), of_keys))
        arrays.append(arrays[-1] if self.binding.values_are_keys else
                      self.reads("v", v, ("B", "G", rows_of_k, columns_of_v), of_values))
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
                     "all_keys" if p.name in self.of_all_keys and extent == "n_k" else
                     1 if of_tokens and self.in_one_row and extent == "B" else extent for extent in p.shape]
            self.shapes[p.name] = shape
            if value is None:
                if self.without_rows and p.name in binding.rows:
                    continue  # the state has its rows
                if not p.from_seed:
                    raise ValueError(f"{binding.name} needs the parameter {word}, "
                                     f"{_OTHER_NAMES[p.dtype][0]} [{', '.join(map(str, shape))}]")
                continue
            if not p.shape and _is_number(value):
                value = _Number(value, p.dtype)
                self.keep.append(value)
            table, value = (value.table, value.mask) if isinstance(value, MaskTiles) else (_no_table, value)
            if p.dtype == "i32":
                ids, value = value, narrowed(word, value)
                self.copies = self.copies or ids is not value
            self.given[p.name] = value
            array = self._array(word, value)
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
        kind = "float32" if dtype == "f32" else None
        made = _empty(like, like_array, extents, kind) if value is None else value
        array = _Array(name, made, writable=True, kernel=self.binding.name)
        _expect(self.binding.name, name, array, dtype or self.binding.dtype, shape, self.sizes)
        if hasattr(self.problem, name + "_at"):
            setattr(self.problem, name, array.address)
            setattr(self.problem, name + "_at", _strides(name, array, written=True))
        elif hasattr(self.problem, name):
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
        """Calls the kernel, unless there are outputs and all are empty. Returns the outputs by name."""
        for number, written in enumerate(self.written):
            array = written.array
            others = [(other, "read") for other in self.read]
            others += [(other.array, "written") for other in self.written[:number]]
            for other, what in others if written.given else ():
                if _overlap(array, other):
                    raise ValueError(
                        f"{array.name} shares memory with {other.name}, which is {what} while {array.name} is written")
        if not self.written or any(0 not in written.array.shape for written in self.written):
            self.binding.check_fork(self.problem)
            if not self.problem.team:
                self.binding.wait_briefly()
            self.problem.workspace_bytes = workspace(ctypes.byref(self.problem))
            room = _room().of(self.problem.workspace_bytes)
            self.binding.check(function(ctypes.byref(self.problem), self.params, *arguments, room))
        return {written.array.name: written.made if written.given else _result(written.like, written.made)
                for written in self.written}
