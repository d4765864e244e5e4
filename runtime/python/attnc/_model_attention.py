"""The attention of models of transformers: the specs that serve them, and the function that calls their kernels."""
from __future__ import annotations

import contextlib
import functools
import json
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import torch
from torch import Tensor

from ._autograd import is_undisturbed
from ._compiler import Source
from ._kernel import Kernel
from ._model_call import numbers_of, run, run_differentiable
from ._model_mask import FAR, Mask
from ._traits import _Axes, Traits, spec_of
from .torch import _NARROW, _WORDS, _constant, _constant_size, _forward, _is_eager, _kernel_of, drawn_seed


@functools.lru_cache(maxsize=None)
def _known_text(traits: Traits, head_dim: int, value_dim: int, dtype: str) -> str:
    source = Source.of(spec_of(traits, head_dim, value_dim, dtype))
    return json.dumps([source.operand, source.text, *source.settings])


def _text(traits: Tuple[Any, ...], head_dim: int, value_dim: int, dtype: str) -> str:
    """Returns the text that names a kernel (torch.py)."""
    return _known_text(Traits(*traits), head_dim, value_dim, dtype)


@functools.lru_cache(maxsize=None)
def _known_names(text: str) -> Tuple[str, ...]:
    return tuple(p.name for p in _kernel_of(text).parameters)


def _names(text: str) -> Tuple[str, ...]:
    return _known_names(text)


@functools.lru_cache(maxsize=None)
def _kernel_for(traits: Traits, head_dim: int, value_dim: int, dtype: torch.dtype) -> Tuple[Kernel, Tuple[str, ...]]:
    """Returns the kernel for calls outside graphs, and the names of its arrays."""
    text = _known_text(traits, head_dim, value_dim, _WORDS[dtype])
    return _kernel_of(text), _known_names(text)


_constant(_text)
_constant(_names)

# ---- kernels compiled ahead

_wanted: Optional[Set[Tuple[str, bool]]] = None  # a set while calls are only noted, not computed


@contextlib.contextmanager
def noting() -> Iterator[Set[Tuple[str, bool]]]:
    """Makes a context in which attention computes nothing. Yields the set of kernels that calls would use. An entry
    has a kernel's text, and tells whether gradients are needed."""
    global _wanted
    made: Set[Tuple[str, bool]] = set()
    _wanted = made
    try:
        yield made
    finally:
        _wanted = None


# ---- calls


def _repeated(a: Tensor, heads: int) -> Tensor:
    return a if a.shape[1] == heads else a.repeat_interleave(heads // a.shape[1], dim=1)


def plainly(query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, cap: Optional[float],
            sink: Optional[Tensor], extra: Optional[Tensor], dropout: float) -> Tuple[Tensor, Tensor]:
    """Computes attention with PyTorch's functions. Returns the result and the weights."""
    key, value = _repeated(key, query.shape[1]), _repeated(value, query.shape[1])
    logits = torch.matmul(query, key.transpose(2, 3)).float() * scale
    if cap is not None:
        logits = cap * torch.tanh(logits / cap)
    if extra is not None:
        logits = logits + extra
    logits = logits.masked_fill(~mask.tensor().to(logits.device), torch.finfo(logits.dtype).min)
    if sink is not None:
        of_rows = sink.to(logits.dtype).view(1, -1, 1, 1).expand(*logits.shape[:3], 1)
        logits = torch.cat([logits, of_rows], dim=-1)
    weights = logits.softmax(-1)[..., :key.shape[2]].to(query.dtype)
    weights = torch.nn.functional.dropout(weights, dropout, training=dropout > 0)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


_said: Set[str] = set()


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _reason(query: Tensor, output_attentions: Any) -> str:
    """Returns the reason why no kernel can compute this call, or "" if one can."""
    if output_attentions:
        return "kernels do not return the attention weights that output_attentions=True asks for"
    if query.device.type != "cpu":
        return f"the model is on another device ({query.device}), and kernels run on the CPU"
    if query.dtype not in _WORDS:
        return f"there are no kernels for {query.dtype}"
    return ""


@functools.lru_cache(maxsize=64)
def _shared_mask(batch: int, n_q: int, n_k: int, at: int, left: int, right: int, _: bool) -> Mask:
    """Returns the mask of all calls with these sizes that give none. Gradients cannot use the tensors of inference mode,
    so its masks are separate."""
    made = Mask(batch, n_q, n_k, at, left, right)
    if left == right == FAR:
        made.arrays, made.plans = _of_all_keys(batch, n_q, torch.is_inference_mode_enabled())
    return made


@functools.lru_cache(maxsize=64)
def _of_all_keys(batch: int, n_q: int, _: bool) -> Tuple[Dict[int, Dict[str, Any]], Dict[Any, Any]]:
    """Returns the arrays and plans of masks that hide no key. They suit any number of keys, so the next token of a
    model needs no new ones."""
    mask = Mask(batch, n_q, FAR)
    mask.numbers(batch)
    return mask.arrays, mask.plans


def _mask_of(given: Any, query: Tensor, key: Tensor, is_causal: bool,
             window: Optional[int]) -> Tuple[Mask, Optional[Tensor]]:
    """Returns the mask of a call, and the array that is added to logits."""
    n_q, n_k = query.shape[2], key.shape[2]
    if isinstance(given, Mask):
        if given.n_q != n_q or given.n_k != n_k:
            raise ValueError(f"the mask was made for {given.n_q} queries and {given.n_k} keys, but the call has {n_q} "
                             f"queries and {n_k} keys")
        return given, None
    if given is None:
        causal = is_causal and n_q > 1
        left, right = (window or FAR, 0) if causal else (FAR, FAR)
        sizes = query.shape[0], n_q, n_k, n_k - n_q, left, right
        shares = not torch.compiler.is_compiling() and is_undisturbed() and not torch._C._len_torch_function_stack()
        return _shared_mask(*sizes, torch.is_inference_mode_enabled()) if shares else Mask(*sizes), None
    given = given[..., :n_k]
    if given.dtype != torch.bool:  # the array is added to logits, and -inf would make rows without keys NaN
        narrow = given.dtype == query.dtype and given.dtype in _NARROW
        return Mask(query.shape[0], n_q, n_k), given if narrow else given.float().clamp(min=-1e30)
    given = given.expand(given.shape[0], given.shape[1], n_q, n_k)
    return Mask(query.shape[0], n_q, n_k, seen=given[:, 0] if given.shape[1] == 1 else given), None


def _compact(a: Tensor, names: List[str], sizes: Tuple[int, ...]) -> Tuple[Tensor, _Axes]:
    """Returns the array without axes along which it repeats, and the names of the other axes."""
    axes = tuple(name for name, size, whole in zip(names, a.shape, sizes) if size > 1 or whole == 1 and name != "B")
    kept = [n for n, name in enumerate(names) if name in axes]
    return a.reshape([a.shape[n] for n in kept]).contiguous(), axes


class _Plan(NamedTuple):
    """The kernel and its arrays for calls with a mask, of layers that differ in query, key, value and sink alone."""

    kernel: Kernel
    given: Dict[str, Any]
    numbers: Tuple[Any, ...]
    bias: Optional[Tensor]  # the position_bias of these calls
    version: Optional[int]  # of its elements


def _version(a: Optional[Tensor]) -> Optional[int]:
    """Returns a number that changes with the elements of the tensor."""
    return None if a is None or a.is_inference() else a._version


class _Wishes(NamedTuple):
    """The arguments of attention() that can differ between calls with the same mask."""

    scaling: Optional[float]
    softcap: Optional[float]
    sink: Optional[Tensor]
    bias: Optional[Tensor]

    def key(self, query: Tensor, value: Tensor) -> Tuple[Any, ...]:
        return (query.shape[0], query.shape[3], value.shape[3], query.dtype, self.scaling, self.softcap,
                self.sink is None, self.bias is None)


def _planned(mask: Mask, query: Tensor, key: Tensor, value: Tensor, wishes: _Wishes) -> Optional[Tensor]:
    """Makes a call as an earlier layer with this mask made it. Returns None if there was none, or if gradients are
    wanted."""
    plan: Optional[_Plan] = mask.plans.get(wishes.key(query, value))
    if plan is None or mask.n_q != query.shape[2] or mask.n_k != key.shape[2] or not is_undisturbed():
        return None
    grad, sink, bias = torch.is_grad_enabled(), wishes.sink, wishes.bias
    if plan.bias is not bias or plan.version != _version(bias) or grad and bias is not None and bias.requires_grad:
        return None
    for a in (query, key, value):
        if type(a) is not Tensor or not a.is_cpu or a.stride(3) != 1 or grad and a.requires_grad:
            return None
    given = plan.given
    if sink is not None:
        known = given["sink"]
        if (not _is_eager(sink) or grad and sink.requires_grad or sink.dtype != known.dtype or sink.shape != known.shape
                or not sink.is_contiguous()):
            return None
        given = {**given, "sink": sink}
    return run(plan.kernel, query, key, value, given, plan.numbers)


def attention(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, dropout: float = 0.0,
              scaling: Optional[float] = None, is_causal: Optional[bool] = None, softcap: Optional[float] = None,
              s_aux: Optional[Tensor] = None, position_bias: Optional[Tensor] = None,
              sliding_window: Optional[int] = None, output_attentions: Any = False,
              **_: Any) -> Tuple[Tensor, Optional[Tensor]]:
    """Implements AttentionInterface. Returns [batch, positions, heads, size]."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    wishes: Optional[_Wishes] = None  # of a call that other layers may repeat
    if (not dropout and not output_attentions and _wanted is None and not torch.compiler.is_compiling()
            and not torch.is_autocast_enabled("cpu")):
        if attention_mask is None and position_bias is None and query.is_cpu:
            attention_mask = _mask_of(None, query, key, causal, sliding_window)[0]
        if type(attention_mask) is Mask:
            wishes = _Wishes(scaling, softcap, s_aux, position_bias)
            known = _planned(attention_mask, query, key, value, wishes)
            if known is not None:
                return known, None
    if torch.is_autocast_enabled("cpu") and query.device.type == "cpu":
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    mask, extra = _mask_of(attention_mask, query, key, causal, sliding_window)
    if position_bias is not None:
        extra = position_bias if extra is None else position_bias + extra
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    reason = _reason(query, output_attentions)
    if reason:
        _say(f"attnc: {type(module).__name__} computes its attention by PyTorch: {reason}")
        return plainly(query, key, value, mask, scale, softcap, s_aux, extra, dropout)
    real = torch.float64 if query.dtype == torch.float64 else torch.float32
    numbers: Dict[str, Any] = dict(mask.numbers(query.shape[0]), scale=scale)
    axes: Optional[_Axes] = None
    narrow = False
    if softcap is not None:
        numbers["cap"] = softcap
    if s_aux is not None:
        numbers["sink"] = s_aux.to(real).contiguous()
    if extra is not None:
        sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        extra = extra[..., :key.shape[2]]
        narrow = extra.dtype == query.dtype and extra.dtype in _NARROW  # kernels read it as it is
        numbers["extra"], axes = _compact(extra if narrow else extra.to(real), ["B", "H", "Nq", "Nk"], sizes)
    seen = None if mask.seen is None else ("B", "Nq", "Nk") if mask.seen.dim() == 3 else ("B", "H", "Nq", "Nk")
    traits = Traits(softcap is not None, s_aux is not None, axes, mask.ids is not None, mask.kept is not None, seen,
                    dropout, narrow)
    query, key, value = [a if a.stride(-1) == 1 else a.contiguous() for a in (query, key, value)]
    if _wanted is None and not torch.compiler.is_compiling():
        tensors = [query, key, value, *[a for a in numbers.values() if isinstance(a, Tensor)]]
        if _is_eager(*tensors):
            kernel, names = _kernel_for(traits, query.shape[3], value.shape[3], query.dtype)
            given = {name: numbers[name] for name in names}
            made: Optional[Tensor]
            if torch.is_grad_enabled() and any([a.requires_grad for a in tensors]):
                made = run_differentiable(kernel, query, key, value, given, int(drawn_seed()) if dropout else None)
            else:
                made = None if dropout else run(kernel, query, key, value, given)
                if wishes is not None:
                    mask.plans[wishes.key(query, value)] = _Plan(
                        kernel, given, numbers_of(given), position_bias, _version(position_bias))
            if made is not None:
                return made, None
    text = _text(tuple(traits), _constant_size(query.shape[3]), _constant_size(value.shape[3]), _WORDS[query.dtype])
    return _call(text, query, key, value, numbers, dropout > 0), None


def _call(text: str, query: Tensor, key: Tensor, value: Tensor, numbers: Dict[str, Any], drops: bool) -> Tensor:
    """Calls the kernel by an operator, and returns its result with heads after positions."""
    real = torch.float64 if query.dtype == torch.float64 else torch.float32
    if _wanted is not None:
        _wanted.add((text, query.requires_grad or key.requires_grad or value.requires_grad))
        return query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[3])
    names, drawn = _names(text), drawn_seed() if drops else None
    tensors = [query, key, value, *(a for a in numbers.values() if isinstance(a, Tensor))]
    differentiable = torch.is_grad_enabled() and any(a.requires_grad for a in tensors)
    given = [_as_tensor(numbers[name], real if name in ("scale", "cap") else torch.int32) for name in names]
    made: Tensor = _forward(text, query, key, value, given, [], None, None, differentiable, drawn)[0]
    return made.transpose(1, 2).contiguous()


def _as_tensor(value: Any, dtype: torch.dtype) -> Tensor:
    return value if isinstance(value, Tensor) else torch.tensor(value, dtype=dtype, device="cpu")
