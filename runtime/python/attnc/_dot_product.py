"""attnc.jax.dot_product_attention, with the arguments of jax.nn.dot_product_attention."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from ._arrays import _HALVES
from ._kernel import _FLOATS, Kernel, kernel
from ._traits import Traits, spec_of

_FAR = 1 << 30  # a distance that no query has from a key
_AXES = "B", "H", "Nq", "Nk"


@functools.lru_cache(maxsize=None)
def _kernel(traits: Traits, head_dim: int, value_dim: int, dtype: str) -> Kernel:
    return kernel(spec_of(traits, head_dim, value_dim, dtype))


def _with_four_axes(name: str, array: Any, least: int = 3) -> Any:
    made = jnp.asarray(array)
    if not least <= made.ndim <= 4:
        raise ValueError(f"{name} has {made.ndim} axes; expected {least} to 4")
    return made[(None,) * (4 - made.ndim)]


def _compact(name: str, array: Any, sizes: tuple[int, ...], always: str = "") -> tuple[tuple[str, ...], Any]:
    """Returns the axes along which an array differs, and the array without its other axes. `always` is the name of an
    axis that stays."""
    array = _with_four_axes(name, array, 0)
    if any(have not in (1, size) for have, size in zip(array.shape, sizes)):
        raise ValueError(f"{name} has shape {list(array.shape)}, which cannot be broadcast to {list(sizes)}")
    axes = tuple(word for word, have in zip(_AXES, array.shape) if have > 1 or word == always)
    shape = tuple(size if word == always else have for word, have, size in zip(_AXES, array.shape, sizes))
    kept = [size for word, size in zip(_AXES, shape) if word in axes]
    return axes, jnp.broadcast_to(array, shape).reshape(kept)


def _lengths(name: str, array: Any, batch: int) -> Any:
    made = jnp.asarray(array)
    if made.shape != (batch,) or not jnp.issubdtype(made.dtype, jnp.integer):
        raise ValueError(f"{name} is {made.dtype} of shape {list(made.shape)}; expected integers of shape [{batch}]")
    return jnp.clip(made, 0, _FAR).astype(jnp.int32)  # int64 may be larger than int32 can be


def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *,
                          scale: float | None = None, is_causal: bool = False, query_seq_lengths: Any = None,
                          key_value_seq_lengths: Any = None, local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: bool = False) -> Any:
    """jax.nn.dot_product_attention on the CPU, by a kernel of attnc. It can be used under jit, grad and vmap.

    query: [B, T, N, H], or without B; key, value: [B, S, K, H], where N is a multiple of K; of float32, float64, float16
        or bfloat16. `value` may have another last size than `key`.
    bias: added to the logits, broadcast to [B, N, T, S]. It has a gradient, which is summed over the broadcast axes
    mask: bool, broadcast to [B, N, T, S]. True means that the query sees the key
    scale: the scale of the logits. The default is 1 / sqrt(H)
    is_causal: query i sees the keys up to i, counted from the first query and the first key
    query_seq_lengths, key_value_seq_lengths: integers [B]. Later queries and keys are padding. Padded queries give 0
    local_window_size: (left, right), the numbers of keys that a query sees before and after its own, or one
        number for both
    implementation: "attnc" or None. "xla" and "cudnn" call jax.nn.dot_product_attention
    return_residual: only for another `implementation`

    A query that sees no key gives 0; jax.nn.dot_product_attention gives the mean of the values. Scale, window and lengths
    are arguments of one kernel; a bias or a mask has a kernel for each set of axes along which it differs."""
    if implementation not in (None, "attnc"):
        theirs: Any = jax.nn.dot_product_attention
        return theirs(
            query, key, value, bias, mask, scale=scale, is_causal=is_causal, query_seq_lengths=query_seq_lengths,
            key_value_seq_lengths=key_value_seq_lengths, local_window_size=local_window_size,
            implementation=implementation, return_residual=return_residual)
    if return_residual:
        raise NotImplementedError("return_residual=True needs implementation='xla'")
    shape = jnp.asarray(query).shape
    q, k, v = (_with_four_axes(name, a) for name, a in (("query", query), ("key", key), ("value", value)))
    word = _FLOATS.get(str(q.dtype))
    if word is None or k.dtype != q.dtype or v.dtype != q.dtype:
        raise TypeError(f"query, key and value are {q.dtype}, {k.dtype} and {v.dtype}; expected the same type of real "
                        "numbers")
    batch, n_q, heads, head_dim = q.shape
    n_k, value_dim = k.shape[1], v.shape[3]
    if k.shape[0] != batch or k.shape[3] != head_dim or v.shape[:3] != k.shape[:3] or heads % max(k.shape[2], 1):
        raise ValueError(f"query, key and value have the shapes {list(q.shape)}, {list(k.shape)} and {list(v.shape)}; "
                         "expected [B, T, N, H], [B, S, K, H] and [B, S, K, E], where N is a multiple of K")
    left, right = (_FAR, _FAR) if local_window_size is None else (
        (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size)
    sizes = (batch, heads, n_q, n_k)
    reals = jnp.float64 if word == "f64" else jnp.float32
    given: dict[str, Any] = {"scale": head_dim**-0.5 if scale is None else scale, "left": min(left, _FAR - 1) + 1,
                             "right": 0 if is_causal else right, "at": jnp.zeros(batch, jnp.int32),
                             "since": jnp.zeros(batch, jnp.int32), "until": jnp.full(batch, n_k, jnp.int32)}
    if not isinstance(given["scale"], (int, float)):
        given["scale"] = jnp.asarray(scale, reals)
    if key_value_seq_lengths is not None:
        given["until"] = _lengths("key_value_seq_lengths", key_value_seq_lengths, batch)
    extra = seen = None
    narrow = False
    if bias is not None:
        extra, array = _compact("bias", bias, sizes)
        narrow = word in _HALVES and array.dtype == q.dtype
        given["extra"] = array if narrow else array.astype(reals)
    if mask is not None:
        if jnp.asarray(mask).dtype != bool:
            raise TypeError(f"mask is {jnp.asarray(mask).dtype}; expected bool. bias takes numbers that are added to logits")
        seen, given["seen"] = _compact("mask", mask, sizes, always="Nk")
    attend = _kernel(Traits(extra=extra, seen=seen, narrow=narrow), head_dim, value_dim, word)
    out = attend(*(a.swapaxes(1, 2) for a in (q, k, v)), **given).swapaxes(1, 2)
    if query_seq_lengths is not None:
        there = jnp.arange(n_q) < _lengths("query_seq_lengths", query_seq_lengths, batch)[:, None]
        out = jnp.where(there[:, :, None, None], out, 0)
    return out.reshape(*shape[:-1], value_dim)
