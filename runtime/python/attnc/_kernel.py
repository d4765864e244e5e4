"""The class Kernel, and the functions that make kernels from specs and formulas."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import html
import importlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import zlib
from typing import Any, Iterable, Mapping, Sequence

from ._array import AnyArray, Array, Gradients
from ._arrays import _HALVES, _is, _is_number
from ._call import Binding, MaskTiles, Outputs, check_threads, tiles_without_kernel
from ._compiler import progress, Source, Spec, SpecError
from ._pages import page_bytes, Pages
from ._repeat import Saved
from ._state import State, loaded
from ._stored import Stored

_LETTERS = {"batch": "B", "heads": "H", "kv_heads": "G"}
_FLOATS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """An array that a kernel takes in addition to q, k and v.

    name: its name in the spec language, such as "features.wq"
    keyword: its name as a keyword argument, such as "features_wq". It ends in "_" if Python or a function uses the plain
        name: "threads_" for an array "threads"
    dtype: "f32", "f64", "f16", "bf16", "i32" or "u8"
    shape: numbers, and names of sizes of a call: "B" batch, "H" heads of q, "G" heads of k and v, "n_q",
        "n_k"; "n_q/64" is the number of blocks of 64 queries, rounded up
    from_seed: how it is generated from a seed, "normal" or "orthogonal"; None: it is not generated
    initial: the initial value of a learned parameter: "normal" (normal values / sqrt(first extent)), "zeros", "ones",
        "identity", or "exponential" (element k is 1 / k!); None: the caller gives its values with each call
    """

    name: str
    keyword: str
    dtype: str
    shape: tuple[int | str, ...]
    from_seed: str | None
    initial: str | None


_torch: Any = None  # the module attnc.torch, once it is imported


def _bridge() -> Any:
    """Returns the module attnc.torch."""
    if _torch is None:
        importlib.import_module(".torch", __package__)
    return _torch


class Kernel:
    """A compiled attention variant. Made by attnc.kernel(); immutable, safe to call from several threads, picklable."""

    _source: Source
    _info: dict[str, Any]
    _binding: Binding
    _lock: threading.Lock
    _differentiable: list[tuple[Binding, dict[str, Any]]]
    _decoding: list[Binding]
    _counting: list[Binding]
    _ranked: list[Binding]
    _ring: list[Binding | None]
    _chain: list[Binding | None]
    _records: tuple[list[Any], list[Any]]  # of calls with PyTorch's tensors (_tensors.py), and with rows before heads
    _text: str
    _keywords: dict[str, str]
    _none: dict[str, Any]
    _own_seed: int | None
    parameters: tuple[Parameter, ...]

    def __init__(self, source: Source) -> None:
        info = source.description()
        parameters = tuple(
            Parameter(p["name"], p["keyword"], p["dtype"], tuple(_LETTERS.get(n, n) for n in p["shape"]),
                      p["from_seed"], p["initial"]) for p in info["parameters"])
        self.__dict__.update(_source=source, _info=info, parameters=parameters, _lock=threading.Lock(),
                             _differentiable=[], _decoding=[], _counting=[], _ranked=[], _ring=[], _chain=[],
                             _records=([], []),
                             _keywords={p.keyword: p.name for p in parameters},
                             _none={p.name: None for p in parameters},
                             _own_seed=None if info["seed"] is None else int(info["seed"]),
                             _text=json.dumps([source.operand, source.text, *source.settings]))
        self.__dict__["_binding"] = self._bind(info)
        if info["gradients"] is not None:
            self._differentiable.append((self._binding, info))

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

    def _bind(self, info: Mapping[str, Any]) -> Binding:
        binding = Binding(info["name"], info["attnc"], info["dtype"], info["head_dim"], info["value_dim"],
                          [(p.name, p.keyword, p.dtype, p.shape, p.from_seed is not None) for p in self.parameters],
                          values_are_keys=info["values"] == "keys", symbol=info["symbol"])
        binding.own_seed = self._own_seed
        binding.load(info["library"])
        return binding

    def _with_gradients(self) -> Binding:
        """Returns this kernel compiled with gradients. Compiles it at the first call."""
        if not self._differentiable:
            with self._lock:
                if not self._differentiable:
                    info = self._source.with_settings("emit=[forward, backward]").description()
                    self._differentiable.append((self._bind(info), info))
        return self._differentiable[0][0]

    def _with_state(self) -> Binding:
        """Returns this kernel compiled with a state. Compiles it at the first call."""
        with self._lock:
            if not self._decoding:
                has = bool(self._binding.kernel.state)
                statistics = ", statistics" if self._binding.kernel.merge else ""
                self._decoding.append(self._binding if has else self._bind(
                    self._source.with_settings(f"emit=[forward, decode{statistics}]").description()))
        return self._decoding[0]

    def _with_statistics(self) -> Binding:
        """Returns this kernel compiled with statistics. Compiles it at the first call."""
        with self._lock:
            if not self._counting:
                has = bool(self._binding.kernel.merge)
                self._counting.append(self._binding if has else self._bind(
                    self._source.with_settings("emit=[forward, statistics]").description()))
        return self._counting[0]

    def _with_ranks(self) -> Binding:
        """Returns this kernel compiled for ContextParallel: a linear form with a state, or another one with statistics.
        Compiles it at the first call."""
        with self._lock:
            if not self._ranked:
                words = ["decode", "statistics"] if "linear" in self._info["algorithm"]["forms"] else ["statistics"]
                self._ranked.append(self._with_one_of(words))
        return self._ranked[0]

    def _with_ring(self) -> Binding | None:
        """Returns this kernel compiled for attn_ranks_backward, with gradients and statistics. Returns None if that
        function does not serve it. Compiles it at the first call."""
        if self._with_ranks().has_sums():
            return None
        with self._lock:
            if not self._ring:
                try:
                    made = self._bind(self._source.with_settings("emit=[forward, backward, statistics]").description())
                except SpecError:
                    self._ring.append(None)
                else:
                    travels = (made.kernel.saved_power or made.is_undivided()) and made.kernel.period > 0
                    self._ring.append(made if travels or made.has_key_sums() else None)
        return self._ring[0]

    def _with_chain(self) -> Binding | None:
        """Returns this kernel compiled for attn_ranks_backward, with gradients and a state of sums. Returns None if that
        function does not serve it. Compiles it at the first call."""
        if not self._with_ranks().has_sums():
            return None
        with self._lock:
            if not self._chain:
                try:
                    made = self._bind(self._source.with_settings("emit=[forward, backward, decode]").description())
                except SpecError:
                    self._chain.append(None)
                else:
                    self._chain.append(made if made.kernel.add_outer_sums else None)
        return self._chain[0]

    def _with_one_of(self, words: Sequence[str]) -> Binding:
        """Returns this kernel compiled with the first of these functions that its spec allows."""
        for word in words[:-1]:
            try:
                made = self._bind(self._source.with_settings(f"emit=[forward, {word}]").description())
            except SpecError:  # the message for the last word is raised
                continue
            if made.has_sums():
                return made
        return self._bind(self._source.with_settings(f"emit=[forward, {words[-1]}]").description())

    def _gradient_info(self) -> dict[str, Any]:
        """Returns the member `gradients` of NAME.json."""
        self._with_gradients()
        gradients: dict[str, Any] = self._differentiable[0][1]["gradients"]
        return gradients

    def _gradient_library(self) -> str:
        self._with_gradients()
        return str(self._differentiable[0][1]["library"])

    def _tangent(self) -> Kernel:
        """Returns the kernel of the tangent of this kernel's output. Compiles it at the first call."""
        return _of_source(self._source.with_settings("emit=[jvp]", "algorithm=quadratic"))

    def _as(self, dtype: str) -> Kernel:
        """Returns this kernel compiled for another dtype."""
        return self if dtype == self.dtype else _of_source(self._source.with_settings("dtype=" + dtype))

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
        return str(self._info["library"])

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
                     threads: int | None) -> Any:
        """Calls the kernel with the arrays by their names in the spec."""
        words = {p.name: p.keyword for p in self.parameters}
        given: dict[str, Any] = {words.get(name, name): array for name, array in arrays.items()}
        return self(*inputs, seed=seed, out=out, threads=threads, **given)

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
                 saved: Saved | None = None, statistics: bool | Array = False, query_start: Any = None,
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
        if statistics is not False:
            if saved is not None and not (self._binding.kernel.merge and self._binding.kernel.saved):
                raise ValueError(f"{self.name}: for both saved= and statistics=, the spec needs "
                                 "'emit: [forward, backward, statistics]'")
            count = 0
            if _is(q, "torch", "Tensor"):
                from . import _autograd

                _autograd.refuse_parallel("statistics=")
                count = sys.modules["torch"].get_num_threads()
            made = self._with_statistics().forward(*arrays, given, self._seed(seed), out,
                                                   count if threads is None else threads, saved, statistics)
        elif _torch is not None and isinstance(q, _torch.Tensor) or _is(q, "torch", "Tensor"):
            made = _bridge().call(self, q, k, v, seed if seed is None else self._seed(seed), out, threads, given)
        elif _is(q, "jax", "Array"):
            from . import jax as bridge_jax

            made = bridge_jax.call(self, *arrays, self._seed(seed), out, threads, given, query_start)
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
              threads: int | None = None, **parameters: Array | float) -> State:
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
        seed, threads, parameters: as for a call of the kernel; they apply to all calls of extend(). An array that is
            named `table` or `pages` is also `table_` or `pages_` here, in case the state has pages.

        Raises SpecError if the mask lets a query see later tokens."""
        for word, value in ("batch", batch), ("capacity", capacity), ("start", start), ("rewind", rewind):
            if value < 0:
                raise ValueError(f"{word} is {value}; expected 0 or more")
        check_threads(threads)
        parameters, pages, table = self._apart_from_pages(parameters, pages, table)
        return State(self, self._with_state(), batch, capacity, start, rewind, foldable, self._seed(seed),
                     threads, self._given(parameters), pages, table)

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
    if Binding.with_masks is None:
        made = tiles_without_kernel(mask)
        if made is not None:
            return made
    binding = Binding.with_masks or kernel("softmax_tree")._binding
    return binding.tiles_of_mask(mask)


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
        return numpy.array([1 / math.factorial(n) for n in range(shape[0])], dtype)
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


def _of_source(source: Source) -> Kernel:
    """Returns the kernel of a spec. Equal specs share one object, as long as the environment variables are equal
    too."""
    key = source, variables()
    made = _kernels.get(key)
    if made is not None:
        return made
    with _lock:
        one = _making.setdefault(key, threading.Lock())
    with one:  # one thread at a time compiles this kernel
        if key not in _kernels:
            _kernels[key] = Kernel(source)
    return _kernels[key]


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
        with lock:
            ready[1] += 1
        return made
    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(make, sources))


def _sole_subscripts(text: str, name: str) -> tuple[str, ...]:
    """Returns for each axis of the array the subscript in all its uses, or "" if they differ. Example: ("h", "i - j")
    for `name[h][i - j]`."""
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\b", text):
        at, words = match.end(), []
        while (opening := re.match(r"\s*\[", text[at:])) is not None:
            begin = at = at + opening.end()
            depth = 1
            while depth and at < len(text):
                depth += {"[": 1, "]": -1}.get(text[at], 0)
                at += 1
            words.append(text[begin:at - 1].strip())
        found.append(words)
    return tuple(words[0] if len(set(words)) == 1 else "" for words in zip(*found))


_Declared = tuple[str, tuple["int | str", ...], str]  # name, shape and type of an array in a spec


def _type_of(array: Any, in_mask: bool) -> str:
    """Returns the type of an array in a spec. A number is real, and real numbers of 16 bits stay. In a mask, integers
    stay."""
    if _is_number(array):
        return "int" if in_mask and not isinstance(array, float) else "real"
    dtype = str(array.dtype).removeprefix("torch.")
    return _FLOATS[dtype] if _FLOATS.get(dtype) in _HALVES else (
        "bool" if dtype in ("bool", "uint8") else "int" if dtype.startswith(("int", "uint")) else "real")


def _declared(formula: str, mask: str, arrays: Mapping[str, Any], q: Any, k: Any) -> tuple[_Declared, ...]:
    """Returns arrays as a spec declares them. If an axis always has the subscript b, h, g, j or row, its size is a
    size of the problem. So one kernel serves all problems."""
    names = {"b": ("B", q.shape[0]), "h": ("H", q.shape[1]), "g": ("G", k.shape[1]), "j": ("Nk", k.shape[2]),
             "row": ("Nq", q.shape[2])}
    made, text = [], f"{formula} {mask}"
    for name, array in arrays.items():
        shape: list[int | str] = [] if _is_number(array) else [int(n) for n in array.shape]
        for axis, word in enumerate(_sole_subscripts(text, name)[:len(shape)]):
            symbol, size = names.get(word, ("", 0))
            if symbol and size == shape[axis] and symbol not in shape:
                shape[axis] = symbol
        made.append((name, tuple(shape), _type_of(array, re.search(rf"\b{name}\b", mask) is not None)))
    return tuple(made)


def _of_formula(weight: str | None, score: str | None, mask: Any, normalize: Any, algorithm: str | None,
                dropout: float, arrays: tuple[_Declared, ...], head_dim: int, value_dim: int,
                dtype: str, scaled: bool = False) -> Kernel:
    """Returns the kernel for arguments of attention(). `arrays` has the names, shapes and types of arrays. If `scaled`,
    the logit has its own scale."""
    key = (weight, score, str(mask), str(normalize), algorithm, dropout, arrays, head_dim, value_dim, dtype, scaled)
    made = _formulas.get(key)
    if made is None:
        spec: dict[str, Any] = {
            "similarity": {"custom": {"weight": weight}} if weight is not None
                          else {"softmax": {**({"scale": 1} if scaled else {}), "modify": score}} if score is not None
                          else "softmax",
            "shape": {"head_dim": head_dim, "value_dim": value_dim}, "dtype": dtype}
        if mask is not None:
            spec["mask"] = mask if not isinstance(mask, str) or mask.isidentifier() else {"expr": mask}
        if normalize is not None:
            spec["normalize"] = normalize
        if algorithm is not None:
            spec["algorithm"] = algorithm
        if arrays:
            spec["arrays"] = {name: {"shape": list(shape), "type": kind} for name, shape, kind in arrays}
        if dropout:
            spec["dropout"] = dropout
        # In Python 1/8 is 0.125, but in formulas 1/8 is 0 as in C. The option makes it an error.
        source = dataclasses.replace(Source.of(spec), options=("--no-remainders",))
        made = _formulas[key] = _of_source(source)
    return made


_formulas: dict[Any, Kernel] = {}


def _element(name: str, array: Any, sizes: Sequence[int]) -> str:
    """Returns the element of a given mask for a query and a key, such as "mask[b][0][row][j]".

    sizes: of the axes that the mask is broadcast to, [batch, heads, n_q, n_k]"""
    shape = [int(n) for n in array.shape]
    of_shape = sizes[len(sizes) - len(shape):]
    if len(shape) > len(sizes) or any(n not in (1, size) for n, size in zip(shape, of_shape)):
        raise ValueError(f"{name} has shape {shape}, which cannot be broadcast to {list(sizes)}, "
                         "[batch, heads, queries, keys]")
    words = ("b", "h", "row", "j")[len(sizes) - len(shape):]
    return name + "".join(f"[{0 if n == 1 else word}]" for n, word in zip(shape, words))


def _with_dtype(array: Any, dtype: str) -> Any:
    """Returns an array of NumPy, PyTorch or JAX in another type."""
    if _is(array, "torch", "Tensor"):
        return array.to(getattr(sys.modules["torch"], dtype))
    return array.astype(dtype)


def _with_mask(mask: Any, rule: Any, score: str, given: dict[str, Any], q: Any, k: Any, v: Any) -> tuple[Any, str]:
    """Adds a given mask to the arrays of a call. Returns the spec's mask, which is that and `rule`, and the logit."""
    dtype = str(getattr(mask, "dtype", "")).removeprefix("torch.")
    if not hasattr(mask, "shape") or dtype not in ("bool", "uint8", *_FLOATS):
        raise TypeError(f"mask is {dtype or 'a ' + type(mask).__name__}; expected an array of bool, True where a query "
                        "sees a key, or of real numbers, which are added to the logits")
    sizes = q.shape[0], max(q.shape[1], v.shape[1]), q.shape[2], k.shape[2]
    given["mask"], element = mask, _element("mask", mask, sizes)
    if dtype in _FLOATS:
        wide = str(q.dtype).removeprefix("torch.") == "float64"
        if wide != (dtype == "float64"):
            given["mask"] = _with_dtype(mask, "float64" if wide else "float32")
        score, element = f"({score}) + {element}", f"{element} != -INFINITY"
    own = {"expr": element}
    if rule is None:
        return own, score
    return {"all": [rule if not isinstance(rule, str) or rule.isidentifier() else {"expr": rule}, own]}, score


def _check_attention(q: Any, k: Any, v: Any) -> str:
    """Checks the arguments q, k and v of attention(). Returns the name of their dtype."""
    for name, array in zip("qkv", (q, k, v)):
        shape = getattr(array, "shape", None)
        if array is None or shape is None:
            says = "missing" if array is None else f"a {type(array).__name__}"
            raise TypeError(f"{name} is {says}; expected an array [batch, heads, positions, size]")
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {list(shape)}; expected 4 axes, [batch, heads, positions, size]")
    dtype = str(q.dtype).removeprefix("torch.")
    if dtype not in _FLOATS:
        raise TypeError(f"q is {dtype}; attention takes {', '.join(_FLOATS)}")
    return dtype


def attention(q: AnyArray, k: Array | None = None, v: Array | None = None, attn_mask: Array | None = None,
              dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | Array | None = None,
              weight: str | None = None, score: str | None = None,
              mask: str | Mapping[str, Any] | Array | None = None, normalize: str | Mapping[str, Any] | None = None,
              algorithm: str | None = None, arrays: Mapping[str, Array | float] | None = None, dropout: float = 0.0,
              seed: int | None = None, out: Array | None = None,
              threads: int | None = None) -> AnyArray:
    """Attention from a formula, compiled at the first call.

    q, k, v: as for a kernel, [batch, heads, positions, size]; they determine head sizes and dtype
    weight: the weight of a key for a query, such as "(1 + s) * (1 + s)". It is a C expression in s (the inner product
        of query and key), i and j (the positions of query and key) and h (the head). 1/8 is an error, because it is 0
        in C: write 1.0/8
    score: the logit of softmax, such as "s - 0.1 * (i - j)": a C expression in s (the inner product times `scale`),
        i, j and h
    scale: a number, or an array of one. The default is 1 / sqrt(D). One kernel serves all other numbers
    mask: the keys that a query sees: a C expression such as "j <= i && i - j < 256", a word of the spec language
        ("causal"), or a dictionary like its YAML ({"window": {"left": 255}}). Or an array, as attn_mask
    attn_mask, dropout_p, is_causal: as PyTorch's scaled_dot_product_attention takes them. An array attn_mask is
        broadcast to [batch, heads, queries, keys]. If it is bool, a query sees the keys for which it is True. Other
        numbers are added to the logits, and -inf hides a key. With is_causal, query i sees the keys up to i, both counted from the first.
        mask="causal" counts from the last query and key, which differs only if there are more keys than queries
    normalize: "sum" (the default), "none", or {"sum_plus": c}
    algorithm: "auto", "quadratic" or "linear"
    arrays: numbers and arrays that `weight`, `score` or `mask` reads, by name: score="s + table[h][i - j + 127]",
        arrays={"table": table}; mask="seen[b][row][j]", arrays={"seen": seen}. Arrays of numbers are float32, float16 or
        bfloat16 (float64 with float64 q), integers of any type (a kernel reads int32), and a given mask bool. A subscript
        beyond an end reads the element at that end. PyTorch computes gradients with respect to them. Another number of
        elements along an axis compiles another kernel, unless the subscript is always h, j, b, g or row. A number, as in arrays={"slope": 0.1} for "s - slope * i", is given with
        each call: another number needs no other kernel
    dropout: the probability that a weight is dropped; the others are divided by 1 - dropout. It needs a seed: the same
        seed drops the same weights in every call. Each probability has its own kernel
    seed: the seed of dropout, an integer below 2**63 for tensors, below 2**64 for other arrays
    out, threads: as for a kernel

    Without `weight` and `score` it computes softmax attention. Raises the errors of attnc.kernel() and of a call."""
    if weight is not None and score is not None:
        raise TypeError("weight and score cannot be given together: a weight is used as it is, a score is the logit of softmax")
    if dropout and dropout_p:
        raise TypeError("dropout and dropout_p are the same; expected one of them")
    dropout = dropout or dropout_p
    if dropout and seed is None:
        raise TypeError("dropout needs seed=, a new number for each call")
    if seed is not None and not dropout:
        raise TypeError("seed is the seed of dropout, so it needs dropout=")
    inputs: tuple[Any, Any, Any] = q, k, v
    dtype = _check_attention(*inputs)
    head_dim = int(inputs[0].shape[3])
    given: dict[str, Any] = dict(arrays or {})
    for name, array in given.items():
        if not _is_number(array) and not hasattr(array, "shape"):
            raise TypeError(f"arrays: {name} is a {type(array).__name__}; expected an array or a number")
    rule: Any = mask
    if mask is not None and not isinstance(mask, (str, Mapping)):
        if attn_mask is not None:
            raise TypeError("mask and attn_mask are both arrays; expected one of them")
        rule, attn_mask = None, mask
    if is_causal:
        if rule is not None:
            raise TypeError("mask and is_causal are given; expected one of them, or {'all': ['causal', …]} as mask")
        rule = "causal" if inputs[0].shape[2] == inputs[1].shape[2] else "j <= row"
    number: Any = scale if _is_number(scale) else None
    scaled = scale is not None and (number is None or float(number) != head_dim ** -0.5)
    adds = str(getattr(attn_mask, "dtype", "")).removeprefix("torch.") in _FLOATS
    for name, there in ("scale", scaled), ("mask", attn_mask is not None):
        if there and name in given:
            raise TypeError(f"arrays has {name!r}, which is a name of attention() itself; expected another name")
        if weight is not None and there and (name == "scale" or adds):
            raise TypeError(f"{name} is for logits, and a weight has none: write it in the weight, with its values in "
                            "arrays=")
    if scaled:
        given["scale"], score = scale, re.sub(r"\bs\b", "(s * scale)", score or "s")
    if attn_mask is not None:
        rule, logit = _with_mask(attn_mask, rule, score or "s", given, *inputs)
        score = logit if score is not None or logit != "s" else None
    declared = _declared(weight or score or "", str(rule or ""), given, *inputs[:2])
    # torch.compile has a symbol for the default number, so the constant 0.0 is used
    formula = (weight, score, rule, normalize, algorithm, dropout if dropout else 0.0, declared,
               head_dim, int(inputs[2].shape[3]), _FLOATS[dtype], scaled)
    made: AnyArray
    if _is(q, "torch", "Tensor"):
        from . import torch as bridge

        made = bridge.call_formula(formula, *inputs, given, seed, out, threads)  # type: ignore[assignment]
    else:
        made = _of_formula(*formula)._with_arrays(inputs, given, seed, out, threads)
    return made
