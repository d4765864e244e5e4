"""Kernels in JAX on the CPU: foreign functions of XLA with derivatives in both modes and a rule for vmap."""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import hashlib
import importlib.resources
import os
import shlex
import subprocess
import tempfile
from typing import Any, Callable, Iterator, Mapping

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxlib import version as jaxlib_version

from ._arrays import _is_number, check_heads, check_shape, gradient_type, narrowed, words_of_heads
from ._call import Binding, MaskTiles, Weighed
from ._compiler import cache_folders, CompilerError, compiler
from ._dot_product import dot_product_attention as dot_product_attention
from ._header import _header_text
from ._kernel import Kernel
from ._threads import own_team_path, processors

_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "u8": "bool"}
_TARGET = "attnc_call"


# ---- the handler that XLA calls


@contextlib.contextmanager
def _held(folder: str) -> Iterator[None]:
    """Locks a temporary folder in the cache while the context is active. attnc removes unlocked temporary folders."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@functools.lru_cache(maxsize=None)
def _register(caches: tuple[str, ...]) -> None:
    """Registers the handler with XLA, and compiles it if needed."""
    folder = importlib.resources.files(__package__)
    with importlib.resources.as_file(folder / "xla.c") as source, \
            importlib.resources.as_file(folder / "attnrt.h") as header:
        command = compiler()
        key = hashlib.sha256()
        for part in (source.read_bytes(), _header_text().encode(), jaxlib_version.__version__.encode(), " ".join(command).encode()):
            key.update(part)
        name, cache = f"xla-{key.hexdigest()[:32]}.so", caches[-1]
        path = next(filter(os.path.exists, (os.path.join(one, name) for one in caches)), os.path.join(cache, name))
        if not os.path.exists(path):
            if not command:
                raise CompilerError("JAX needs a C compiler once, for the handler that XLA calls: install clang or gcc, or "
                                    "pip install 'attnc[compiler]'; or name a compiler in $ATTNC_CC")
            with tempfile.TemporaryDirectory(prefix="attnc-", dir=cache) as build, _held(build):
                made = os.path.join(build, "xla.so")
                done = subprocess.run([*command, "-O2", "-std=gnu11", "-shared", "-fPIC", "-I", str(header.parent), "-I",
                                       jax.ffi.include_dir(), "-o", made, str(source), "-ldl"], text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      check=False)
                if done.returncode != 0:
                    raise CompilerError(f"the handler for XLA cannot be compiled: {shlex.join(done.args)}\n{done.stdout}")
                os.chmod(made, 0o700)
                os.replace(made, path)  # atomic, because another process may write it, too
    library = ctypes.CDLL(path)
    jax.ffi.register_ffi_target(_TARGET, _pycapsule(library.attnc_call), platform="cpu")


# ---- the functions of a kernel


_array: Any = jax.ShapeDtypeStruct
_pycapsule: Any = jax.ffi.pycapsule
_ffi_call: Any = jax.ffi.ffi_call


def _foreign(binding: Binding, results: Any, *arrays: Any) -> Any:
    team, threads = ("", 0) if binding.openmp else (own_team_path() or "", processors())
    return _ffi_call(_TARGET, results)(*arrays, library=binding.path, kernel=binding.symbol, team=team, threads=str(threads))


def _without_derivatives(kernel: Kernel, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function, whose derivatives are an error."""
    def refuse(*_: Any) -> Any:
        raise NotImplementedError(f"{kernel.name}: attnc has no {what}")
    made: Any = jax.custom_jvp(function)
    made.defjvp(refuse)
    return made  # type: ignore[no-any-return]


def _batched(kernel: Kernel, function: Callable[..., Any], has_batch: Callable[[int], bool],
             split: Callable[[int], bool], merges: bool) -> Callable[..., Any]:
    """Adds a rule for vmap to the function."""
    made: Any = jax.custom_batching.custom_vmap(function)
    made.def_vmap(_rule_for_vmap(kernel, made, has_batch, split, merges))
    return made  # type: ignore[no-any-return]


def _rule_for_vmap(kernel: Kernel, made: Callable[..., Any], has_batch: Callable[[int], bool],
                   split: Callable[[int], bool], merges: bool) -> Callable[..., Any]:
    """Returns the rule for vmap of a function `made`. With `merges`, the axis of vmap is merged into the batch. Otherwise
    each index is one call. has_batch(number) tells whether this argument has a batch axis. split(number) tells whether
    this result has one."""
    def rule(size: int, is_batched: Any, *arrays: Any) -> Any:
        if not merges:
            all_arrays = [a if several else jnp.broadcast_to(a, (size, *a.shape))
                          for a, several in zip(arrays, is_batched)]
            results = jax.lax.map(lambda one: made(*one), all_arrays)
            return results, tuple(True for _ in results)
        merged = []
        for number, (array, several) in enumerate(zip(arrays, is_batched)):
            if has_batch(number):
                array = array if several else jnp.broadcast_to(array, (size, *array.shape))
                array = array.reshape(size * array.shape[1], *array.shape[2:])
            elif several:
                raise NotImplementedError(f"{kernel.name}: vmap over a parameter is not supported, only over batches")
            merged.append(array)
        results = made(*merged)
        batched = tuple(split(number) for number in range(len(results)))
        return tuple(r.reshape(size, -1, *r.shape[1:]) if b else r for r, b in zip(results, batched)), batched
    return rule


# ---- derivatives: a linear function of tangents, which another kernel computes (`emit: [jvp]`). Its transpose, a function
# of `dout`, is the kernel's backward. The arguments are tangents of q, k, v and learned parameters, then the arrays that
# backward takes: q, k, v, all parameters, positions of first queries, the output and the saved values


_pushed: Any = Primitive("attnc_tangent")
_zeros_of: Any = ad.instantiate_zeros


def _learned(kernel: Kernel) -> list[int]:
    return [number for number, p in enumerate(kernel.parameters) if p.is_learned]


def _has_batch(kernel: Kernel, number: int) -> bool:
    """Tells whether an argument of a kernel has a batch axis: q, k, v, a parameter or an array after them."""
    count = 3 + len(kernel.parameters)
    return number < 3 or number >= count or kernel.parameters[number - 3].shape[:1] == ("B",)


def _out_of(kernel: Kernel, q: Any, v: Any) -> Any:
    return _array((*kernel._axes(q, v), kernel.value_dim), q.dtype)


def _tangent(*arrays: Any, kernel: Kernel) -> Any:
    """Computes the tangent of the output."""
    learned = _learned(kernel)
    tangents, primals = arrays[:3 + len(learned)], arrays[3 + len(learned):]
    names = ["q", "k", "v", *(p.name for p in kernel.parameters)]
    sums = "float64" if kernel.dtype == "f64" else "float32"
    of = dict(zip(names, primals))
    of |= {f"{name}.tangent": a.astype(sums) for name, a in zip(["q", "k", "v", *(names[3 + n] for n in learned)], tangents)}
    other = kernel._tangent()
    given = [of[name] for name in ("q", "k", "v", *(p.name for p in other.parameters))]
    return _foreign(other._binding, (_out_of(kernel, of["q"], of["v"]),), *given, primals[len(names)])[0]


def _transposed(dout: Any, *arrays: Any, kernel: Kernel) -> list[Any]:
    """Computes the gradients of q, k, v and learned parameters."""
    learned = _learned(kernel)
    gradients = [None] * len(arrays)
    results = _gradients(kernel)(*arrays[3 + len(learned):], _zeros_of(dout))
    for number, (gradient, like) in enumerate(zip(results, arrays)):
        if isinstance(like, ad.UndefinedPrimal):
            gradients[number] = gradient.astype(like.aval.dtype)
    return gradients


def _tangent_batched(arrays: Any, axes: Any, kernel: Kernel) -> Any:
    """The rule for vmap of the tangent."""
    learned = _learned(kernel)
    moved = [a if axis is None else jnp.moveaxis(a, axis, 0) for a, axis in zip(arrays, axes)]
    size = next(a.shape[0] for a, axis in zip(moved, axes) if axis is not None)
    numbers = [*range(3), *(3 + n for n in learned), *range(5 + len(kernel.parameters))]
    has_batch = [_has_batch(kernel, n) for n in numbers] + [False]  # the saved values have no batch axis
    rule = _rule_for_vmap(kernel, lambda *one: (_pushed.bind(*one, kernel=kernel),), has_batch.__getitem__,
                          lambda _: True, not learned)
    return rule(size, [axis is not None for axis in axes], *moved)[0][0], 0


_pushed.def_impl(_tangent)
_pushed.def_abstract_eval(lambda *arrays, kernel: jax.core.ShapedArray(
    *(lambda like: (like.shape, like.dtype))(_out_of(kernel, arrays[3 + len(_learned(kernel))], arrays[5 + len(_learned(kernel))]))))
mlir.register_lowering(_pushed, mlir.lower_fun(_tangent, multiple_results=False))
ad.primitive_transposes[_pushed] = _transposed
batching.primitive_batchers[_pushed] = _tangent_batched


@functools.lru_cache(maxsize=None)
def _gradients(kernel: Kernel) -> Callable[..., Any]:
    """Returns the function of the arrays that backward takes and `dout`, whose results are gradients of q, k, v and
    learned parameters."""
    learned, count = _learned(kernel), 4 + len(kernel.parameters)

    def backward(*arrays: Any) -> Any:
        like = [(a.shape, a.dtype) for a in arrays[:3]]
        for number in learned:
            like.append((arrays[3 + number].shape, _DTYPES[gradient_type(kernel.parameters[number].dtype)]))
        return _foreign(kernel._with_gradients(), tuple(_array(shape, dtype) for shape, dtype in like), *arrays)
    made = _batched(kernel, backward, lambda number: _has_batch(kernel, number) and number != count + 1, lambda number: True,
                    not learned)
    return _without_derivatives(kernel, "second derivatives", made)


@functools.lru_cache(maxsize=None)
def _function(kernel: Kernel) -> Callable[..., Any]:
    """Returns the function attend(q, k, v, *parameters, start) of a kernel, which JAX can differentiate. `start` has the
    positions of first queries, or is empty."""
    _register(tuple(cache_folders()))

    def forward(*arrays: Any) -> Any:
        return _foreign(kernel._binding, (_out_of(kernel, arrays[0], arrays[2]),), *arrays)

    def saving(*arrays: Any) -> Any:
        size = int(kernel._saved_size(arrays[0], arrays[2]))
        saved = _array((size,), "float64" if kernel.dtype == "f64" else "float32")
        return _foreign(kernel._with_gradients(), (_out_of(kernel, arrays[0], arrays[2]), saved), *arrays)

    learned = _learned(kernel)
    merges = not learned  # a gradient of a learned parameter sums over the batch, so batches stay apart
    has_batch = functools.partial(_has_batch, kernel)
    forward_batched = _batched(kernel, forward, has_batch, lambda number: True, merges)
    # saved values of a merged batch cannot be split
    saving_batched = _without_derivatives(kernel, "second derivatives",
                                          _batched(kernel, saving, has_batch, lambda number: number == 0, merges))

    @jax.custom_jvp
    def attend(*arrays: Any) -> Any:
        return forward_batched(*arrays)[0]

    @attend.defjvp
    def push(arrays: Any, tangents: Any) -> Any:
        out, saved = saving_batched(*arrays)
        linear = [tangents[number] for number in (0, 1, 2, *(3 + n for n in learned))]
        return out, _pushed.bind(*linear, *arrays, out, saved, kernel=kernel)
    return attend


@functools.lru_cache(maxsize=None)
def _weighing(kernel: Kernel) -> Callable[..., Any]:
    """Returns the function of the same arguments whose results are the output and weights. It has no derivatives."""
    _register(tuple(cache_folders()))

    def forward(*arrays: Any) -> Any:
        q, k, v = arrays[:3]
        return _foreign(kernel._with_weights(),
                        (_out_of(kernel, q, v), _array((*kernel._axes(q, v), k.shape[2]), q.dtype)), *arrays)
    made = _batched(kernel, forward, functools.partial(_has_batch, kernel), lambda number: True, True)
    return _without_derivatives(kernel, "derivatives of a call with weights=True", made)


def _check(kernel: Kernel, sizes: dict[str, int], name: str, array: Any, dtype: str,
           shape: tuple[int | str, ...]) -> None:
    if not isinstance(array, jax.Array) and not hasattr(array, "__array__"):
        raise TypeError(f"{name} is a {type(array).__name__}; expected a JAX array, because q is one")
    if str(array.dtype) != _DTYPES[dtype]:
        traced = isinstance(array, jax.core.Tracer) and dtype == "i32"  # other integers become int32, after a check
        raise TypeError(f"{name} is {array.dtype}; {kernel.name} takes {_DTYPES[dtype]}"
                        f"{', because JAX traces it and hides its values' if traced else ''}")
    check_shape(name, array.shape, shape, sizes)
    if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer):
        platforms = {device.platform for device in array.devices()}
        if platforms != {"cpu"}:
            raise ValueError(f"{name} is on another device ({', '.join(sorted(platforms))}); {kernel.name} runs on the "
                             "CPU; jax.device_put(…, jax.devices('cpu')[0]) moves it")


def _positions(start: Any, batch: int) -> Any:
    """Returns the positions of first queries, [batch], or an empty array if there are none."""
    if start is None:
        return jnp.zeros((0,), jnp.int32)
    made = jnp.asarray(start)
    if not jnp.issubdtype(made.dtype, jnp.integer):
        raise TypeError("query_start has to be an integer, or an integer for each sequence")
    if made.ndim and made.shape != (batch,):
        raise ValueError(f"query_start has shape {list(made.shape)}; expected [{batch}], one position for each sequence")
    return jnp.broadcast_to(made, (batch,)).astype(jnp.int32)


def call(kernel: Kernel, q: Any, k: Any, v: Any, seed: int | None, out: Any, threads: int | None,
         given: Mapping[str, Any], start: Any = None, weights: Any = False) -> Any:
    """Implements Kernel.__call__ for JAX arrays. start: the argument query_start"""
    if weights is not False and weights is not True:
        raise ValueError("weights= takes True for arrays of JAX, which are immutable")
    kernel._whole()  # compiled functions contain its path
    if kernel._binding.takes_stored:
        raise TypeError(f"{kernel.name} has 'storage'; calls with stored keys and values take NumPy arrays and tensors")
    if out is not None:
        raise ValueError("out is for NumPy arrays and tensors; arrays of JAX are immutable")
    if threads is not None:
        raise ValueError("threads= is for NumPy arrays and tensors; for JAX, set OMP_NUM_THREADS in the environment")
    if kernel.dropout:
        raise NotImplementedError(f"{kernel.name}: dropout is not available for arrays of JAX; set={{'dropout': 0}} "
                                  "makes a kernel without it")
    seed = kernel.seed if seed is None else seed
    sizes: dict[str, int] = {}
    D, E = kernel.head_dim, kernel.value_dim
    of_q, of_k = ("H", "G") if kernel.values_are_keys else words_of_heads(q, v)
    inputs = [("q", q, ("B", of_q, "n_q", D)), ("k", k, ("B", of_k, "n_k", D)), ("v", v, ("B", "G", "n_k", E))]
    for name, array, shape in inputs[:2] if kernel.values_are_keys else inputs:
        _check(kernel, sizes, name, array, kernel.dtype, shape)
    if kernel.values_are_keys:
        v = jnp.zeros((sizes["B"], 1, 1, 1), q.dtype)  # the kernel ignores it
    check_heads(sizes)
    drawn: Mapping[str, Any] = {}
    if any(p.from_seed and given[p.name] is None for p in kernel.parameters):
        if seed is None:
            names = ", ".join(f"{p.keyword} {list(p.shape)}" for p in kernel.parameters if p.from_seed)
            raise ValueError(f"{kernel.name} needs seed=, or the parameters {names}")
        drawn = kernel.init(seed, batch=sizes["B"], heads=sizes["H"], kv_heads=sizes["G"], n_q=sizes["n_q"],
                            n_k=sizes["n_k"])
    parameters = []
    for p in kernel.parameters:
        value = given[p.name]
        if value is None and p.from_seed:
            value = drawn[p.keyword]
        if value is None:
            raise ValueError(f"{kernel.name} needs the parameter {p.keyword}, {_DTYPES[p.dtype]} "
                             f"[{', '.join(map(str, p.shape))}]")
        if isinstance(value, MaskTiles):
            raise TypeError(f"{p.keyword} is a mask with a table of tiles, which is for NumPy arrays and tensors; pass "
                            "the mask")
        if not p.shape and _is_number(value):
            value = jnp.asarray(value, _DTYPES[p.dtype])
        if p.dtype == "i32" and not isinstance(value, jax.core.Tracer):
            value = narrowed(p.keyword, value)
        _check(kernel, sizes, p.keyword, value, p.dtype, p.shape)
        parameters.append(jnp.asarray(value))
    arrays = q, jnp.asarray(k), jnp.asarray(v), *parameters, _positions(start, sizes["B"])
    return Weighed(*_weighing(kernel)(*arrays)) if weights else _function(kernel)(*arrays)
