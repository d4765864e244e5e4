"""The attention of models of transformers: the specs that serve them, and the function that calls their kernels."""
from __future__ import annotations

import functools
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from ._background import first_call
from ._compiler import Source
from ._context import cached_constant, constant_size, is_eager, is_traced
from ._kernel import Kernel
from ._model_call import again, noted, run, run_differentiable, weigh
from ._model_mask import bounded, FAR, Mask
from ._operators import _NARROW, _WORDS, as_tensor, drawn_seed, forward, kernel_of, names_of
from ._traits import _Axes, Traits, spec_of


@cached_constant
def _text(traits: Tuple[Any, ...], head_dim: int, value_dim: int, dtype: str) -> str:
    """Returns the text that names a kernel (_operators.py)."""
    return Source.of(spec_of(Traits(*traits), head_dim, value_dim, dtype)).name()


_kernels: Dict[Any, Tuple[Kernel, Tuple[str, ...]]] = {}


def _kernel_for(traits: Traits, query: Tensor, key: Tensor, value: Tensor) -> Tuple[Kernel, Tuple[str, ...]]:
    """Returns the kernel for a call outside graphs, and the names of its arrays."""
    name = traits, query.shape[3], value.shape[3], query.dtype
    made = _kernels.get(name)
    if made is None:
        text = _text(tuple(traits), *name[1:3], _WORDS[query.dtype])
        made = _kernels[name] = kernel_of(text, first_call(query, key)), names_of(text)
    return made


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
    hidden = ~mask.tensor().to(logits.device)
    if extra is not None:
        logits, hidden = logits + extra, hidden | (extra == -torch.inf)
    logits = logits.masked_fill(hidden, torch.finfo(logits.dtype).min)
    if sink is not None:
        of_rows = sink.to(logits.dtype).view(1, -1, 1, 1).expand(*logits.shape[:3], 1)
        logits = torch.cat([logits, of_rows], dim=-1)
    weights = logits.softmax(-1)[..., :key.shape[2]].masked_fill(hidden, 0).to(query.dtype)
    weights = torch.nn.functional.dropout(weights, dropout, training=dropout > 0)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


@torch.compiler.disable  # type: ignore[untyped-decorator]
@functools.lru_cache(maxsize=None)  # once for each text
def _say(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)


def _reason(query: Tensor, output_attentions: Any, plain: bool) -> str:
    """Returns the reason why no kernel can compute this call, or "" if one can. `plain`: it has neither gradients nor
    dropout, and no graph of torch.compile contains it."""
    if output_attentions and not plain:
        return ("kernels return the attention weights that output_attentions=True asks for without gradients, dropout and "
                "torch.compile only")
    if query.device.type != "cpu":
        return f"the model is on another device ({query.device}), and kernels run on the CPU"
    if query.dtype not in _WORDS:
        return f"there are no kernels for {query.dtype}"
    return ""


def _mask_of(given: Any, query: Tensor, key: Tensor, is_causal: bool,
             window: Optional[int]) -> Tuple[Mask, Optional[Tensor]]:
    """Returns the mask of a call, and the array that is added to logits."""
    n_q, n_k = query.shape[2], key.shape[2]
    if isinstance(given, Mask):
        if given.n_q != n_q or given.n_k != n_k:
            raise ValueError(f"the mask was made for {given.n_q} queries and {given.n_k} keys, but the call has {n_q} "
                             f"queries and {n_k} keys; a model with an encoder and a decoder needs a cache for each, as "
                             "attnc.transformers.Cache(model.config) returns it")
        return given, None
    if given is None:
        causal = is_causal and n_q > 1
        left, right = (window or FAR, 0) if causal else (FAR, FAR)
        return bounded(query.shape[0], n_q, n_k, n_k - n_q, left, right), None
    given = given[..., :n_k]
    if given.dtype != torch.bool:  # it is added to logits, and -inf hides
        return Mask(query.shape[0], n_q, n_k), given
    given = given.expand(given.shape[0], given.shape[1], n_q, n_k)
    return Mask(query.shape[0], n_q, n_k, seen=given[:, 0] if given.shape[1] == 1 else given), None


def _chosen(given: Any, indices: Tensor, block: int, query: Tensor, n_k: int) -> Tensor:
    """Returns which of the keys that a mask shows are in the blocks `indices`, [B, (heads,) Nq, count]; -1 is no block."""
    indices = indices if indices.dim() == 4 else indices.unsqueeze(1)
    blocks = -(-n_k // block)
    seen = torch.zeros(*indices.shape[:3], blocks + 1, dtype=torch.bool)
    seen.scatter_(-1, indices.long().where(indices >= 0, torch.tensor(blocks)), True)
    seen = seen[..., :blocks].repeat_interleave(block, -1)[..., :n_k]
    if seen.shape[1] > 1:
        seen = _repeated(seen, query.shape[1])
    shown: Tensor = given[..., :n_k] == 0
    return seen & shown


def _compact(a: Tensor, names: List[str], sizes: Tuple[int, ...]) -> Tuple[Tensor, _Axes]:
    """Returns the array without axes along which it repeats, and the names of the other axes."""
    axes = tuple(name for name, size, whole in zip(names, a.shape, sizes) if size > 1 or whole == 1 and name != "B")
    kept = [n for n, name in enumerate(names) if name in axes]
    return a.reshape([a.shape[n] for n in kept]).contiguous(), axes


class _Extra(NamedTuple):
    """An array that is added to logits, as kernels take it."""

    array: Tensor
    axes: _Axes
    narrow: bool  # it has the 16-bit type of the query

    @classmethod
    def of(cls, query: Tensor, n_k: int, given: Tensor) -> _Extra:
        sizes = (*query.shape[:3], n_k)
        if given.shape[-1] > n_k:
            given = given[..., :n_k]
        narrow = given.dtype == query.dtype and given.dtype in _NARROW
        return cls(*_compact(given if narrow else given.to(_real(query)), ["B", "H", "Nq", "Nk"], sizes), narrow)


class _Plan(NamedTuple):
    """The kernel and its arrays for calls with a mask, of layers that differ in query, key, value, sink and
    position_bias alone."""

    kernel: Kernel
    given: Dict[str, Any]
    extra: Optional[_Extra]  # made from `bias`, if that is not None
    bias: Optional[Tensor]  # the position_bias of the last call
    version: Optional[int]  # of its elements


def _real(query: Tensor) -> torch.dtype:
    """Returns the type of numbers and sums of a call."""
    return torch.float64 if query.dtype == torch.float64 else torch.float32


def _version(a: Optional[Tensor]) -> Optional[int]:
    """Returns a number that changes with the elements of the tensor, or None if the tensor has none."""
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
    """Makes a call as an earlier layer with this mask made it. Returns None if there was none like it."""
    name = wishes.key(query, value)
    plan: Optional[_Plan] = mask.plans.get(name)
    if plan is None or mask.n_q != query.shape[2] or mask.n_k != key.shape[2]:
        return None
    sink, bias = wishes.sink, wishes.bias
    if bias is not None and (plan.bias is not bias or plan.version is None or plan.version != _version(bias)):
        if plan.extra is None or not is_eager(bias) or torch.is_grad_enabled() and bias.requires_grad:
            return None
        extra = _Extra.of(query, mask.n_k, bias)
        if extra[1:] != plan.extra[1:]:
            return None
        plan = mask.plans[name] = plan._replace(given={**plan.given, "extra": extra.array}, extra=extra, bias=bias,
                                                version=_version(bias))
    return again(plan.kernel, query, key, value, plan.given if sink is None else {**plan.given, "sink": sink})


def attention(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, dropout: float = 0.0,
              scaling: Optional[float] = None, is_causal: Optional[bool] = None, softcap: Optional[float] = None,
              s_aux: Optional[Tensor] = None, position_bias: Optional[Tensor] = None,
              sliding_window: Optional[int] = None, output_attentions: Any = False, indices: Optional[Tensor] = None,
              block_indices: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, Optional[Tensor]]:
    """Implements AttentionInterface. Returns [batch, positions, heads, size]."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if indices is not None:
        attention_mask = _chosen(attention_mask, indices, 1, query, key.shape[2])
    if block_indices is not None:
        attention_mask = _chosen(attention_mask, block_indices, module.indexer.block_size, query, key.shape[2])
    wishes: Optional[_Wishes] = None  # of a call that other layers may repeat
    if (not dropout and not output_attentions and noted() is None and not is_traced()
            and not torch.is_autocast_enabled("cpu")):
        # plans of longer calls would keep their large position_bias
        if attention_mask is None and (position_bias is None or query.shape[2] == 1) and query.is_cpu:
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
    learns = torch.is_grad_enabled() and any(
        a is not None and a.requires_grad for a in (query, key, value, s_aux, extra))
    reason = _reason(query, output_attentions, not (learns or dropout or is_traced() or noted() is not None))
    if reason:
        _say(f"attnc: {type(module).__name__} computes its attention by PyTorch: {reason}")
        return plainly(query, key, value, mask, scale, softcap, s_aux, extra, dropout)
    numbers: Dict[str, Any] = dict(mask.numbers(query.shape[0]), scale=scale)
    added = None if extra is None else _Extra.of(query, key.shape[2], extra)
    if softcap is not None:
        numbers["cap"] = softcap
    if s_aux is not None:
        numbers["sink"] = s_aux.to(_real(query)).contiguous()
    if added is not None:
        numbers["extra"] = added.array
    seen = None if mask.seen is None else ("B", "Nq", "Nk") if mask.seen.dim() == 3 else ("B", "H", "Nq", "Nk")
    traits = Traits(softcap is not None, s_aux is not None, added and added.axes, mask.ids is not None,
                    mask.kept is not None, seen, dropout, added is not None and added.narrow)
    query, key, value = [a if a.stride(-1) == 1 else a.contiguous() for a in (query, key, value)]
    if noted() is None and not is_traced():
        tensors = [query, key, value, *[a for a in numbers.values() if isinstance(a, Tensor)]]
        if output_attentions or is_eager(*tensors):
            kernel, names = _kernel_for(traits, query, key, value)
            given = {name: numbers[name] for name in names}
            made: Optional[Tensor]
            if output_attentions:
                return weigh(kernel, query, key, value, given)
            if torch.is_grad_enabled() and any([a.requires_grad for a in tensors]):
                made = run_differentiable(kernel, query, key, value, given, int(drawn_seed()) if dropout else None)
            else:
                made = None if dropout else run(kernel, query, key, value, given)
                if wishes is not None:
                    mask.plans[wishes.key(query, value)] = _Plan(
                        kernel, given, added, position_bias, _version(position_bias))
            if made is not None:
                return made, None
    text = _text(tuple(traits), constant_size(query.shape[3]), constant_size(value.shape[3]), _WORDS[query.dtype])
    return _call(text, query, key, value, numbers, dropout > 0), None


def _call(text: str, query: Tensor, key: Tensor, value: Tensor, numbers: Dict[str, Any], drops: bool) -> Tensor:
    """Calls the kernel by an operator, and returns its result with heads after positions."""
    found = noted()
    if found is not None:
        found.add((text, query.requires_grad or key.requires_grad or value.requires_grad, True))
        return query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[3])
    real = _WORDS[_real(query)]
    given = [as_tensor(numbers[name], real if name in ("scale", "cap") else "i32") for name in names_of(text)]
    drawn = drawn_seed() if drops else None
    return forward(text, query, key, value, given, drawn=drawn).transpose(1, 2).contiguous()
