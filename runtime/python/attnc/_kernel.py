"""The class Kernel, and the functions that make kernels from specs and formulas."""
from __future__ import annotations

import concurrent.futures
import html
import math
import os
import shutil
import subprocess
import sys
import threading
import zlib
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar

from . import _background
from ._array import AnyArray, Array, Gradients
from ._arrays import _is, heads_of_result
from ._call import Binding, MaskTiles, Outputs, Parameter, check_threads, tiles_without_kernel
from ._compiler import First, progress, Source, Spec, SpecError
from ._pages import page_bytes, Pages
from ._repeat import Saved
from ._state import State, loaded
from ._stored import Stored

_LETTERS = {"batch": "B", "heads": "H", "kv_heads": "G"}
_FLOATS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}

# The modules above this one that call kernels with arrays of a framework, by its name. attnc/__init__.py fills it in.
doors: dict[str, Callable[[], Any]] = {}
_torch: Any = None  # that of PyTorch, once it is imported


_Function = TypeVar("_Function", bound=Callable[..., Any])


def constant(function: _Function) -> _Function:
    """Makes torch.compile call a function while it traces, and take the result as a constant.
    torch.compiler.assume_constant_result does the same, but imports the compiler, which takes a second."""
    setattr(function, "_dynamo_marked_constant", True)
    return function


@constant
def _ready(load: bool = False) -> bool:
    """Returns whether the module that calls kernels with tensors is imported. torch.compile may read _torch after this alone,
    because it expects the value of the beginning at the end."""
    return bool(_torch or load and doors["torch"]())


def of_tensors() -> Any:
    """Returns the module that calls kernels with tensors."""
    _ready(True)
    return _torch


class Kernel:
    """A compiled attention variant. Made by attnc.kernel(); immutable, safe to call from several threads, picklable."""

    _source: Source
    _first: First | None  # sizes of the call that it was made for (_background.py)
    _info: dict[str, Any]
    _binding: Binding
    _lock: threading.Lock
    _variants: dict[tuple[str, ...], Any]  # by entry points
    _records: tuple[list[Any], list[Any]]  # of calls with PyTorch's tensors (_tensors.py), and with rows before heads
    _text: str
    _keywords: dict[str, str]
    _none: dict[str, Any]
    _own_seed: int | None
    parameters: tuple[Parameter, ...]

    def __init__(self, source: Source, first: First | None = None) -> None:
        info = source.description(first)
        parameters = tuple(
            Parameter(p["name"], p["keyword"], p["dtype"], tuple(_LETTERS.get(n, n) for n in p["shape"]),
                      p["from_seed"], p["initial"]) for p in info["parameters"])
        self.__dict__.update(_source=source, _first=first, _info=info, parameters=parameters, _lock=threading.Lock(),
                             _variants={}, _records=([], []),
                             _keywords={p.keyword: p.name for p in parameters},
                             _none={p.name: None for p in parameters},
                             _own_seed=None if info["seed"] is None else int(info["seed"]),
                             _text=source.name())
        self.__dict__["_binding"] = self._bind(info, source)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"kernels are immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"kernels are immutable: {name} cannot be deleted")

    def __reduce__(self) -> Any:
        return _of_source, (self._source,)

    def __repr__(self) -> str:
        words = [f"D = {self.head_dim}", f"E = {self.value_dim}", self.dtype,
                 " or ".join(self._info["algorithm"]["forms"])]
        words += [f"{p.keyword}{list(p.shape)}".replace("'", "") for p in self.parameters]
        return f"<attnc.Kernel {self.name}: {', '.join(words)}>"

    def _bind(self, info: dict[str, Any], source: Source) -> Binding:
        binding = Binding(info["name"], info["attnc"], info["dtype"], info["head_dim"], info["value_dim"], self.parameters,
                          values_are_keys=info["values"] == "keys", symbol=info["symbol"])
        binding.own_seed = self._own_seed
        binding.load(info["library"])

        def replace(made: Mapping[str, Any]) -> None:
            info["library"] = made["library"]
            binding.load(made["library"])
            for records in self._records:
                records.clear()
        if info["quick"]:
            _background.Work(self, source, replace)
        return binding

    def _whole(self) -> Kernel:
        """Waits until this kernel is compiled for all calls."""
        _background.whole(self)
        return self

    def _variant(self, *entries: str) -> tuple[Binding, dict[str, Any]]:
        """Returns this kernel compiled with these entry points besides forward, and the contents of NAME.json. Compiles it
        at the first call. Raises SpecError if the spec cannot have them."""
        made = self._variants.get(entries)
        if made is None:
            with self._lock:
                made = self._variants.get(entries)
                if made is None:
                    try:
                        source = self._source.with_settings(f"emit=[{', '.join(['forward', *entries])}]")
                        info = source.description(self._first)
                        made = self._bind(info, source), info
                    except SpecError as error:
                        made = error
                    self._variants[entries] = made
        if isinstance(made, SpecError):
            raise made.with_traceback(None)
        return made

    def _with_gradients(self) -> Binding:
        return self._binding if self._info["gradients"] is not None else self._variant("backward")[0]

    def _with_state(self) -> Binding:
        kernel = self._binding.kernel
        return self._binding if kernel.state else self._variant("decode", *["statistics"] * bool(kernel.merge))[0]

    def _with_statistics(self) -> Binding:
        return self._binding if self._binding.kernel.merge else self._variant("statistics")[0]

    def _with_weights(self) -> Binding:
        return self._binding if self._binding.kernel.weights else self._variant("weights")[0]

    def _with_ranks(self) -> Binding:
        """Returns this kernel compiled for ContextParallel: a linear form with a state, or another one with statistics."""
        if "linear" in self._info["algorithm"]["forms"]:
            try:
                made, _ = self._variant("decode")
                if made.has_sums():
                    return made
            except SpecError:  # the message about statistics is raised
                pass
        try:
            return self._variant("statistics")[0]
        except SpecError as why:
            if "those of one sum" not in str(why):
                raise
            raise SpecError(f"{self.name}: several processes merge the results of one sum by its statistics, and the spec "
                            "has 'sums'; call a kernel for each sum, and compute 'output' from their results") from None

    def _with_rank_gradients(self) -> Binding | None:
        """Returns this kernel compiled for attn_ranks_backward: with statistics, or of a linear form with a state of sums.
        Returns None if that function does not serve it."""
        has_sums = self._with_ranks().has_sums()
        try:
            made, _ = self._variant("backward", "decode" if has_sums else "statistics")
        except SpecError:
            return None
        if has_sums:
            return made if made.kernel.add_outer_sums else None
        travels = (made.kernel.saved_power or made.is_undivided()) and made.kernel.period > 0
        return made if travels or made.has_key_sums() else None

    def _axes(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """Returns the axes of the result, other than the last one."""
        return q.shape[0], heads_of_result(q, None if self.values_are_keys else v), q.shape[2]

    def _saved_size(self, q: Any, v: Any) -> Any:
        """Returns the number of elements that forward saves for backward. Each saved array takes a multiple of 64 bytes."""
        info = (self._info if self._info["gradients"] is not None else self._variant("backward")[1])["gradients"]
        size = 8 if self.dtype == "f64" else 4
        line = 64 // size
        batch, heads, rows = self._axes(q, v)
        rows, of_keys = batch * heads * rows, info["saved_bytes_a_key"] // size * v.shape[0] * v.shape[1] * v.shape[2]
        return info["saved_bytes_a_row"] // size * ((rows + line - 1) // line * line) + (of_keys + line - 1) // line * line

    def _tangent(self) -> Kernel:
        """Returns the kernel of the tangent of this kernel's output. Compiles it at the first call."""
        return _of_source(self._source.with_settings("emit=[jvp]", "algorithm=auto"), self._first)

    def _as(self, dtype: str) -> Kernel:
        """Returns this kernel compiled for another dtype."""
        return self if dtype == self.dtype else _of_source(self._source.with_settings("dtype=" + dtype),
                                                                self._first)

    # ---- properties

    @property
    def name(self) -> str:
        """The name in the spec, or of its file."""
        return str(self._info["name"])

    @property
    def dtype(self) -> str:
        """The dtype of q, k, v and out: "f32", "bf16", "f16" or "f64"."""
        return str(self._info["dtype"])

    @property
    def head_dim(self) -> int:
        """D, the size of a query and of a key."""
        return int(self._info["head_dim"])

    @property
    def value_dim(self) -> int:
        """E, the size of a value."""
        return int(self._info["value_dim"])

    @property
    def values_are_keys(self) -> bool:
        """True if a value is the first E elements of its key (`shape: {values: keys}`). Calls then take no v."""
        return bool(self._info["values"] == "keys")

    @property
    def storage(self) -> dict[str, str]:
        """The types of the keys and values that a call takes and that a state stores, for example {"k": "q8_0", "v":
        "f16"}: those of the spec's `storage`, or `dtype`. If values are keys, both are that of the keys."""
        of_keys = self._binding.key_dtype
        return {"k": of_keys, "v": of_keys if self._binding.values_are_keys else self._binding.value_dtype}

    @property
    def description(self) -> str:
        """The description in the spec."""
        return str(self._info["description"])

    @property
    def seed(self) -> int | None:
        """The seed in the spec for random parameters, or None."""
        return self._own_seed

    @property
    def dropout(self) -> float:
        """The probability that a call drops a weight."""
        return float(self._info["dropout"])

    def _without_dropout(self) -> Kernel:
        return _of_source(self._source.with_settings("dropout=0")) if self.dropout else self

    @property
    def spec(self) -> str:
        """The spec as YAML, before the changes by the argument `set` of attnc.kernel(); `settings` has the changes."""
        return self._source.show()

    @property
    def settings(self) -> tuple[str, ...]:
        """The changes by the argument `set` of attnc.kernel(), as texts "key=value"."""
        return self._source.settings

    @property
    def library(self) -> str:
        """The path of the kernel's shared library, in the cache on this machine."""
        return str(self._whole()._info["library"])

    def explain(self, *options: str) -> str:
        """The output of `attnc explain`: the chosen form and why; FLOPs, bytes and workspace; the kernel's loops.

        options: options of `attnc explain`, as in explain("--lengths", "1k..64k")"""
        return self._source.run("explain", *options)

    def _repr_html_(self) -> str:
        shapes = "".join(
            f"<tr><td>{html.escape(p.keyword)}</td><td>{html.escape(', '.join(map(str, p.shape)))}</td>"
            f"<td>{p.dtype}</td><td>{'from a seed' if p.from_seed else 'given' if p.dtype == 'i32' else 'learned'}</td>"
            "</tr>" for p in self.parameters)
        table = f"<table><tr><th>parameter</th><th>shape</th><th>dtype</th><th></th></tr>{shapes}</table>"
        return (f"<h4>{html.escape(self.name)}</h4><p>{html.escape(self.description)}</p>"
                f"{table if shapes else ''}{self._picture()}<pre>{html.escape(self.explain())}</pre>")

    def _picture(self) -> str:
        """Returns the graph as SVG if Graphviz is installed, else as text."""
        dot = shutil.which("dot")
        if dot:
            drawn = subprocess.run([dot, "-Tsvg"], input=self._source.run("--emit", "dot", "--stdout"), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            if drawn.returncode == 0:
                return drawn.stdout[drawn.stdout.index("<svg"):]
        return f"<pre>{html.escape(self._info['graph']['text'])}</pre>"

    def init(self, seed: int = 0, *, batch: int | None = None, heads: int | None = None, kv_heads: int | None = None,
             n_q: int | None = None, n_k: int | None = None) -> dict[str, Any]:
        """Initial values of the parameters: NumPy arrays by keyword, for passing to a call. Integer parameters, such as
        the document of each key or the length of each sequence, and arrays that are not `learned: true` are data and not
        included.

        seed: the seed of random parameters, with the same result as `attnc run --seed`, and of learned parameters
        batch, heads, kv_heads, n_q, n_k: sizes that the shapes of parameters depend on; kv_heads defaults to heads

        Raises TypeError if a size is missing."""
        import numpy

        sizes = {"B": batch, "H": heads, "G": heads if kv_heads is None else kv_heads, "n_q": n_q, "n_k": n_k}
        words = {"B": "batch", "H": "heads", "G": "kv_heads", "n_q": "n_q", "n_k": "n_k"}
        made: dict[str, Any] = {}
        for p in self.parameters:
            if p.from_seed is None and p.initial is None:
                continue
            shape = []
            for extent in p.shape:
                size = sizes[extent] if isinstance(extent, str) else extent
                if size is None:
                    raise TypeError(f"{self.name}: {p.keyword} has the shape [{', '.join(map(str, p.shape))}]; "
                                    f"init() needs {words[str(extent)]}=")
                shape.append(size)
            dtype = numpy.dtype({"f32": "float32", "f64": "float64"}[p.dtype])
            if p.from_seed is not None:
                made[p.keyword] = self._from_seed(p, seed, shape, dtype)
            else:
                made[p.keyword] = _initial(p, seed, shape, dtype)
        return made

    def _from_seed(self, p: Parameter, seed: int, shape: Sequence[int], dtype: Any) -> Any:
        import ctypes

        import numpy

        params, memory = self._binding.from_seed(seed)
        address = ctypes.c_void_p.from_buffer(params, self._binding.offsets[p.name]).value
        count = math.prod(shape)
        kind = ctypes.c_float if dtype.itemsize == 4 else ctypes.c_double
        made = numpy.array((kind * count).from_address(address or 0), dtype).reshape(shape)
        del memory  # the array above is a copy
        return made

    # ---- calls

    def _with_arrays(self, inputs: Sequence[Any], arrays: Mapping[str, Any], seed: int | None, out: Any,
                     threads: int | None, weights: Any = False) -> Any:
        """Calls the kernel with the arrays by their names in the spec."""
        words = {p.name: p.keyword for p in self.parameters}
        given: dict[str, Any] = {words.get(name, name): array for name, array in arrays.items()}
        return self(*inputs, seed=seed, out=out, threads=threads, weights=weights, **given)

    def _given(self, parameters: Mapping[str, Any], query_start: Any = None) -> Mapping[str, Any]:
        """Returns the given parameters and positions by name. A missing parameter is None."""
        if not parameters and query_start is None:
            return self._none
        given = dict(self._none)
        if query_start is not None:
            given["query_start"] = query_start
        for keyword, value in parameters.items():
            name = self._keywords.get(keyword) or self._keywords.get(keyword.removesuffix("_"))
            if name is None:
                takes = ", ".join(p.keyword for p in self.parameters) or "none"
                raise TypeError(f"{self.name} has no parameter {keyword!r}; it takes {takes}")
            given[name] = value
        return given

    def _seed(self, seed: int | None) -> int | None:
        if seed is not None and not self.dropout and not any(p.from_seed for p in self.parameters):
            raise TypeError(f"{self.name} has no random parameters and no dropout, so it takes no seed")
        return seed

    def _check_values(self, v: Any) -> None:
        """Raises TypeError if v is given but the kernel takes none."""
        if v is not None and self._binding.values_are_keys:
            raise TypeError(f"{self.name} takes no v: its values are the first {self.value_dim} elements of k "
                            "(values: keys)")

    def _rows(self, name: str, value: Any) -> Any:
        """Returns the rows of a Stored. Returns another argument as it is."""
        if not isinstance(value, Stored):
            return value
        wanted = self.storage[name]
        if value.type != wanted:
            raise TypeError(f"{name} is stored as {value.type}; {self.name} takes {wanted}")
        return value.rows

    def __call__(self, q: AnyArray, k: Array | Stored, v: Array | Stored | None = None, *, seed: int | None = None, out: Array | None = None,
                 saved: Saved | None = None, statistics: bool | Array = False,
                 weights: bool | Array = False, query_start: Any = None,
                 threads: int | None = None, **parameters: Array | float) -> AnyArray:
        """Attention of q over k and v.

        q: [B, H, n_q, D]; k: [B, G, n_k, D]; v: [B, G, n_k, E]. H is a multiple of G, and query head h reads head
            h // (H // G) of k and v. If v has more heads than q and k, the result has as many as v: head h of v
            belongs to head h // (H // K) of the K heads of q and k. The arrays are NumPy arrays, PyTorch tensors or JAX
            arrays of `dtype`. An array that is not contiguous along its last axis is copied, with a warning at the first copy. A kernel whose
            values are its keys (`values_are_keys`) takes no v.
            If the spec has `storage`, k and v are the Stored of attnc.quantize(), or its `rows`: uint8 with the bytes of
            each row, such as ggml's, and float16, bfloat16 (NumPy: also uint16) or float8_e4m3fn. Not for JAX.
        out: [B, H, n_q, E], overwritten if given (NumPy, or a tensor without gradients), else allocated
        seed: generates the random parameters that are not given, with the same values on every machine; also the seed
            of dropout, whose default is the seed in the spec. The same seed drops the same weights in every call.
        saved: a Saved(), in which the call stores the values that backward() needs (only for NumPy arrays)
        statistics: True, or an array [B, H, n_q] of float32 (float64 for "f64") that is overwritten: the call returns
            Outputs(out, statistics), a named tuple, with the denominator of each row, or its logarithm for a softmax.
            attnc.merge() merges such results for two sets of keys. The call cannot be differentiated.
        weights: True, or an array [B, H, n_q, n_k] of `dtype` that is overwritten: the call returns Weighed(out,
            weights), a named tuple, with the numbers that values are multiplied by, after the mask, the division and
            dropout; 0 for a hidden key. They take quadratic time in every form. The call cannot be differentiated.
        query_start: the position of the first query: an integer, or one for each sequence. With a mask of `lengths`, k
            and v can be allocated for more keys than there are. Default: n_k - n_q, so that the last query is at the
            last key. A linear form computes no queries after the last key.
        threads: the number of threads; default: one for each processor, or torch.get_num_threads() for tensors. The
            result does not depend on it.
        parameters: arrays by keyword; the attribute `parameters` describes them. For a parameter without axes, also a
            number

        Returns an array like q, [B, H, n_q, E]. The output of a query that sees no key is 0. PyTorch and JAX can differentiate the call.

        Raises TypeError for a wrong kind or dtype of an array or an unknown parameter, ValueError for a wrong shape,
        device or stride, RuntimeError if the machine cannot run the kernel."""
        arrays: tuple[Any, Any, Any] = q, k, v
        made: AnyArray
        binding = self._binding
        if binding.values_are_keys:
            self._check_values(v)
        if binding.takes_stored:
            arrays = q, k, v = q, *(self._rows(name, value) for name, value in (("k", k), ("v", v)))
        given = self._given(parameters, query_start) if parameters or query_start is not None else self._none
        if threads is not None:
            threads = check_threads(threads)
        if weights is not False:
            if statistics is not False or saved is not None:
                raise ValueError(f"{self.name}: a call that returns weights takes no statistics= and no saved=")
            count = of_tensors().threads_alone("weights=") if _is(q, "torch", "Tensor") else 0
            if _is(q, "jax", "Array"):
                made = doors["jax"]().call(self, *arrays, self._seed(seed), out, threads, given, query_start, weights)
            else:
                made = self._with_weights().forward(*arrays, given, self._seed(seed), out,
                                                    count if threads is None else threads, weights=weights)
        elif statistics is not False:
            if saved is not None and not (self._binding.kernel.merge and self._binding.kernel.saved):
                raise ValueError(f"{self.name}: for both saved= and statistics=, the spec needs "
                                 "'emit: [forward, backward, statistics]'")
            count = 0
            if _is(q, "torch", "Tensor"):
                count = of_tensors().threads_alone("statistics=")
            made = self._with_statistics().forward(*arrays, given, self._seed(seed), out,
                                                   count if threads is None else threads, saved, statistics)
        elif _ready() and isinstance(q, _torch.Tensor) or _is(q, "torch", "Tensor"):
            made = (_torch if _ready() else of_tensors()).call(self, q, k, v, seed if seed is None else self._seed(seed), out, threads, given)
        elif _is(q, "jax", "Array"):
            made = doors["jax"]().call(self, *arrays, self._seed(seed), out, threads, given, query_start)
        else:
            if saved is not None:
                binding = self._with_gradients()
            made = binding.forward(*arrays, given, self._seed(seed), out, threads or 0, saved)
        return made

    def backward(self, q: AnyArray, k: Array, v: Array | None = None, out: Array | None = None,
                 dout: Array | None = None, *, seed: int | None = None, saved: Saved | None = None,
                 wanted: Sequence[str] | str | None = None, query_start: Any = None, threads: int | None = None,
                 **parameters: Array | float) -> Gradients[AnyArray]:
        """Gradients of a call with NumPy arrays. PyTorch and JAX call this automatically.

        q, k, v, seed, query_start, parameters: as for the call
        out: [B, H, n_q, E], the result of the call; dout: the gradient with respect to it
        saved: the Saved() of the call; without it the values are computed again, with the same bits
        wanted: names of the gradients to compute, as in ("dq", "dv"); None: all
        dq, dk, dv, and "d" with the keyword of a learned parameter: arrays that are overwritten; otherwise new arrays
            are allocated

        Returns a named tuple of dq, dk, dv and the gradients with respect to learned parameters; None for those that
        are not wanted. If H > G, dk and dv are sums over the query heads that read a head of k and v. If the values are
        the keys, v is None, there is no dv, and dk is the gradient with respect to keys both as keys and as values."""
        self._check_values(v)
        for name, array in (("out", out), ("dout", dout)):
            if array is None:
                raise TypeError(f"backward() of {self.name} needs {name}")
        binding = self._with_gradients()
        fields = binding.Gradients._fields
        gradients = {name: parameters.pop(name) for name in fields if name in parameters}
        made: Gradients[AnyArray] = binding.backward(q, k, v, out, dout, self._given(parameters, query_start),
                                                     self._seed(seed), saved, wanted, gradients, check_threads(threads))
        return made

    def state(self, batch: int = 1, *, capacity: int = 4096, start: int = 0, rewind: int = 0,
              foldable: bool = False, pages: Pages | None = None, table: Array | None = None, seed: int | None = None,
              threads: int | None = None, initial_state: Any = None, **parameters: Array | float) -> State:
        """A state of empty sequences. Its method extend(q, k, v) appends tokens: a whole prompt, or token by token.

        batch: the number of sequences
        capacity: the maximum number of tokens of a sequence, if the kernel keeps all of them (`explain` prints the size
            of a state); also the length of a row of integer parameters
        start: the position of the first token, if fold() will append this state to another state
        rewind: the number of tokens that truncate() can always remove, for example the tokens of a draft
        foldable: whether fold() will join the state with another state. Needed only for a spec with 'delta', whose
            state then also stores a matrix [features, features] for each head
        pages, table: attnc.Pages for the keys and values, and an array of int32 [batch, n]: number x in the row of a
            sequence is the page of its tokens from x * pages.tokens on. Each extend() reads the table. The caller gives
            sequences pages for new tokens, lets them share earlier ones, and frees pages. `capacity` is not used.
        initial_state: the array, or arrays, that State.final_state() returns, instead of empty sequences.
            Their lengths then begin with the number of tokens that the kernel sums at a time.
        seed, threads, parameters: as for a call of the kernel; they apply to all calls of extend(). An array that is
            named `table` or `pages` is also `table_` or `pages_` here, in case the state has pages.

        Raises SpecError if the mask lets a query see later tokens."""
        for word, value in ("batch", batch), ("capacity", capacity), ("start", start), ("rewind", rewind):
            if value < 0:
                raise ValueError(f"{word} is {value}; expected 0 or more")
        check_threads(threads)
        parameters, pages, table = self._apart_from_pages(parameters, pages, table)
        return State(self, self._with_state(), batch, capacity, start, rewind, foldable, self._seed(seed),
                     threads, self._given(parameters), pages, table, initial_state)

    def _apart_from_pages(self, parameters: dict[str, Any], pages: Any, table: Any) -> tuple[dict[str, Any], Any, Any]:
        """Returns the arguments of state(), where `pages` and `table` may be arrays of the spec with these names."""
        if pages is not None and "pages" in self._keywords and not isinstance(pages, Pages):
            parameters, pages = {**parameters, "pages": pages}, None
        if table is not None and "table" in self._keywords and pages is None:
            parameters, table = {**parameters, "table": table}, None
        return parameters, pages, table

    def page_bytes(self, heads: int, kv_heads: int | None = None, *, key_heads: int = 0, tokens: int = 128) -> int:
        """The bytes of a page of attnc.Pages(…, tokens) for a state of this kernel.

        heads, kv_heads, key_heads: the heads of q, the heads of v (the default: as many as q has), and the heads of q and
            k if v has more; 0: it has no more

        Raises ValueError if states of this kernel cannot be in pages."""
        return page_bytes(self._with_state(), heads, heads if kv_heads is None else kv_heads, key_heads, tokens)

    def load_state(self, data: bytes, *, capacity: int = 4096, pages: Pages | None = None, table: Array | None = None,
                   seed: int | None = None, threads: int | None = None, **parameters: Array | float) -> State:
        """A state from the bytes of State.tobytes(), made on this machine or on one with the same byte order.

        capacity: used only if the bytes contain no capacity; other arguments: as for state()

        Raises ValueError if the bytes are of another kernel, truncated or damaged."""
        check_threads(threads)
        parameters, pages, table = self._apart_from_pages(parameters, pages, table)
        return loaded(self, self._with_state(), data, capacity, self._seed(seed), threads, self._given(parameters), pages,
                      table)


def tiles_of_mask(mask: Array) -> MaskTiles:
    """Returns the mask with a table of its tiles of 16 queries and 64 keys, which says what tiles the mask hides. Calls
    take it in place of the mask, and then need not read the whole mask. So make it once if several calls have the same
    mask, such as the layers of a model:

        seen = attnc.tiles_of_mask(seen)
        for layer in layers: out = attend(q, k, v, seen=seen)

    mask: a NumPy array or a tensor of bool or uint8, as the kernel takes it, such as [B, H, n_q, n_k]

    After a change of the mask, call this function again: kernels do not compute tiles that the table says are hidden.
    A kernel that needs no table ignores it."""
    made = tiles_without_kernel(mask)
    return kernel("softmax_tree")._binding.tiles_of_mask(mask) if made is None else made


def merge(kernel: Kernel, left: Outputs, right: Outputs, *, threads: int | None = None) -> Outputs:
    """Merges the results of a kernel for the same queries and two sets of keys that have no key in common: the result
    for all these keys, up to rounding. For example, each part of the keys can be on another machine.

    left, right: results of kernel(q, k, v, statistics=True), or pairs (out, statistics). `left` is overwritten.
    threads: the number of threads; default: one for each processor if there is much to merge

    A query sees the same keys in a call for a part of the keys only if the mask does not use positions. If the
    denominator has a constant or a sink (`normalize`), only one of the calls may have it.

    Returns left. A row that sees no key on one side is that of the other side."""
    return kernel._with_statistics().merge(left, right, check_threads(threads))


def _initial(p: Parameter, seed: int, shape: Sequence[int], dtype: Any) -> Any:
    """Returns the initial value of a learned parameter."""
    import numpy

    if p.initial == "zeros":
        return numpy.zeros(shape, dtype)
    if p.initial == "ones":
        return numpy.ones(shape, dtype)
    if p.initial == "identity":
        return numpy.broadcast_to(numpy.eye(shape[-2], shape[-1], dtype=dtype), shape).copy()
    if p.initial == "exponential":
        return numpy.broadcast_to(numpy.array([1 / math.factorial(n) for n in range(shape[-1])], dtype), shape).copy()
    draws = numpy.random.Generator(numpy.random.PCG64([seed, zlib.crc32(p.name.encode())]))
    return (draws.standard_normal(shape) / math.sqrt(shape[0])).astype(dtype)


# ---- kernels from specs


_kernels: dict[Any, Kernel] = {}
_making: dict[Any, threading.Lock] = {}
_lock = threading.Lock()
_ENVIRONMENT = ("ATTNC", "ATTNC_CC", "ATTNC_CFLAGS", "CC", "XDG_CACHE_HOME", "HOME")


def variables() -> tuple[str | None, ...]:
    """Returns the environment variables that decide which kernels can be made."""
    return tuple(map(os.environ.get, _ENVIRONMENT))


def _of_source(source: Source, first: First | None = None) -> Kernel:
    """Returns the kernel of a spec. Equal specs share one object, as long as the environment variables are equal too. With
    the sizes of a first call, it may not be whole yet."""
    key = source, variables()
    made = _kernels.get(key)
    if made is not None:
        return made if first else made._whole()
    with _lock:
        one = _making.setdefault(key, threading.Lock())
    with one:  # one thread at a time compiles this kernel
        if key not in _kernels:
            _kernels[key] = Kernel(source, first)
    return _kernels[key] if first else _kernels[key]._whole()


def kernel(spec: Spec, set: Mapping[str, Any] | None = None) -> Kernel:
    """The kernel of a spec. It is compiled at the first call on a machine, and stored in the cache
    ($XDG_CACHE_HOME/attnc).

    spec: a file, the name of a spec that comes with attnc ("softmax_causal"), or a dictionary with the keys of the YAML
    set: values that replace those of the spec, by path: {"block": 128, "shape.head_dim": 32}

    If compiling takes more than a second, a message on standard error says so. If several processes need the same
    kernel, one of them compiles it.

    Raises SpecError (a ValueError) if the spec is wrong, with the compiler's message; OSError for a file that cannot
    be read; CompilerError (a RuntimeError) if there is no C compiler or no cache."""
    return _of_source(Source.of(spec, set))


def compile(*specs: Spec | Source | tuple[Spec, Mapping[str, Any]], gradients: bool = False) -> list[Kernel]:
    """Compiles kernels ahead of time, as compile_all() does. Also waits for those of earlier calls of attention(),
    flex_attention() and models, which another process compiles while the program runs. Returns the kernels of the specs."""
    made = compile_all(specs, gradients=gradients)
    _background.whole()
    return made


def compile_all(specs: Iterable[Spec | Source | tuple[Spec, Mapping[str, Any]]], *,
                gradients: bool = False) -> list[Kernel]:
    """Compiles kernels ahead of time, in parallel.

    specs: specs as attnc.kernel() takes them, or pairs (spec, set)
    gradients: also compile the gradients"""
    sources = [one if isinstance(one, Source) else Source.of(*one) if isinstance(one, tuple) else Source.of(one)
               for one in specs]

    ready = [len(sources), 0]

    def make(source: Source) -> Kernel:
        progress.now = ready
        made = _of_source(source)
        if gradients:
            made._with_gradients()
            made._whole()
        with lock:
            ready[1] += 1
        return made
    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(make, sources))
