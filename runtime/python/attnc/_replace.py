"""replace(): PyTorch models use a spec for their attention. Calls that do not fit are unchanged and reported."""
from __future__ import annotations

import functools
import inspect
import math
import sys
import threading
import traceback
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ._compiler import Source, Spec, settings_of
from ._context import cached_constant, constant, constant_size, differentiates, is_traced
from ._kernel import Kernel
from ._layer import Attention
from ._mask import Unreadable, difference, mask_of
from ._multihead import heads_of, masks_of, results_of
from ._operators import _WORDS, kernel_of, names_of, operator, text_as
from ._tensor_call import call_text

_Model = TypeVar("_Model", bound=nn.Module)
_Sizes = Tuple[int, int, int, int]  # n_q, n_k, heads, kv_heads

# ---- decides whether a call may use a spec. A "text" names a kernel (_operators.py). Its properties are constant in
# graphs of torch.compile.


@constant
def _text_of(name: str, word: str, head_dim: int, value_dim: int) -> str:
    """Returns the text of the kernel for these sizes and the dtype `word`, such as "f32". `name` is the text of the
    spec."""
    return text_as(name, f"shape.head_dim={head_dim}", f"shape.value_dim={value_dim}", "shape.values=given",
                   "dtype=" + word)


@functools.lru_cache(maxsize=None)
def _mask_of(text: str) -> Any:
    return mask_of(kernel_of(text)._info["graph"])


def _difference(text: str, sizes: _Sizes, kept: Optional[Tensor], is_causal: bool, ignores: bool) -> str:
    try:
        return difference(_mask_of(text), *sizes, kept, is_causal, ignores)
    except Unreadable as why:
        return f"the spec: {why}"


@cached_constant
def _difference_without_mask(text: str, sizes: _Sizes, is_causal: bool, ignores: bool) -> str:
    return _difference(text, sizes, None, is_causal, ignores)


@constant
def _masks(text: str) -> bool:
    """Returns True if the kernel has a mask."""
    try:
        return _mask_of(text) is not None
    except Unreadable:
        return True


@constant
def _why_never(text: str) -> str:
    """Returns the reason why no call of scaled_dot_product_attention can use the kernel, or ""."""
    kernel = kernel_of(text)
    return _DROPS if kernel.dropout else _needs([p.keyword for p in kernel.parameters if p.from_seed is None])


def _needs(keywords: Sequence[str]) -> str:
    return f"the spec needs arrays that calls of the model do not pass: {', '.join(keywords)}" if keywords else ""


@constant
def _own_seed(text: str, seed: Optional[int]) -> Optional[int]:
    kernel = kernel_of(text)
    return kernel._seed(seed) if any(p.from_seed for p in kernel.parameters) else None


_apart: Any = torch.compiler.disable


def _hides(mask: Tensor) -> Tensor:
    """Returns True where an additive mask hides a key. Such an element is the most negative number, or nearly."""
    return mask < torch.finfo(mask.dtype).min / 2


def _is_bias(mask: Tensor) -> bool:
    return mask.dtype != torch.bool and bool(((mask != 0) & ~_hides(mask)).any())


def _kept(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else ~_hides(mask)


_DROPS = "the spec drops weights, which replace() does not do; set={'dropout': 0} makes a spec that does not"


class _Shaped:
    """A spec that is compiled for each call's sizes and dtype. `name` is the text of the spec. If `ignores` is true,
    queries may see keys that the model hides. `seed` is for random parameters."""

    def __init__(self, name: str, ignores: bool, seed: Optional[int]) -> None:
        self.name, self.ignores, self.seed = name, ignores, seed

    @staticmethod
    def of(spec: Spec | Kernel, set_: Mapping[str, Any] | None, ignores: bool, seed: Optional[int]) -> _Shaped:
        source = (spec._source if isinstance(spec, Kernel) else Source.of(spec)).with_settings(*settings_of(set_))
        return _Shaped(source.name(), ignores, seed)

    def text(self, q: Tensor, v: Tensor) -> str:
        return _text_of(self.name, _WORDS[q.dtype], constant_size(q.shape[-1]), constant_size(v.shape[-1]))

    def why_not(self, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], is_causal: bool, enable_gqa: bool) -> str:
        """Returns the reason why a call of scaled_dot_product_attention cannot use the spec, or "" if it can."""
        if q.device.type != "cpu":
            return f"it computes on another device ({q.device})"
        if q.dtype not in _WORDS or k.dtype != q.dtype or v.dtype != q.dtype:
            return f"its dtype is {str(q.dtype).removeprefix('torch.')}"
        if (q.dim() != 4 or k.dim() != 4 or k.shape[:-1] != v.shape[:-1] or k.shape[0] != q.shape[0]
                or k.shape[3] != q.shape[3] or k.shape[1] == 0
                or (q.shape[1] % k.shape[1] != 0 if enable_gqa else q.shape[1] != k.shape[1])):
            return "its arrays have other shapes than [B, H, n_q, D], [B, G, n_k, D] and [B, G, n_k, E]"
        text = self.text(q, v)
        if _why_never(text):
            return _why_never(text)
        if mask is not None and mask.dim() > 1 and mask.shape[-2] == 1 < q.shape[2] and _masks(text):
            # transformers may pass query heads as rows, which are no positions
            return "its mask has one row for all queries, so these need not be consecutive positions"
        return self.why_not_by_mask(text, q, k, mask, is_causal)

    def why_not_by_mask(self, text: str, q: Tensor, k: Tensor, mask: Optional[Tensor], is_causal: bool) -> str:
        sizes = (constant_size(q.shape[2]), constant_size(k.shape[2]), constant_size(q.shape[1]),
                 constant_size(k.shape[1]))
        if mask is not None:
            if _is_bias(mask):
                return "the model adds a bias to the inner products"
            kept = _kept(mask)
            if not bool(kept.all()):
                return _difference(text, sizes, kept, is_causal, self.ignores)
        return _difference_without_mask(text, sizes, is_causal, self.ignores)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: Optional[float]) -> Tensor:
        head_dim = q.shape[-1]
        if scale is not None and not math.isclose(scale, head_dim ** -0.5, rel_tol=1e-6):
            q = q * (scale * math.sqrt(head_dim))
        text = self.text(q, v)
        return call_text(text, q, k, v, [None] * len(names_of(text)), _own_seed(text, self.seed))


def _refuse_dropout(drops: bool) -> None:
    if drops:
        raise ValueError("the model uses dropout on attention weights, which attnc's kernels do not have; set that "
                         "dropout to 0, or call model.eval()")


# ---- the report about a model

_lock = threading.RLock()  # held while a report changes, because several threads may run the model


class Replacement(Generic[_Model]):
    """The result of replace() for `model`. A module that calls scaled_dot_product_attention is listed after its first
    call.

    replaced: the names of modules whose attention uses the spec, in all or in some calls
    left: the reasons why attention is unchanged, in all or in some calls, by the name of the module"""

    def __init__(self, model: _Model) -> None:
        self.model = model
        self.replaced: List[str] = []
        self.left: Dict[str, str] = {}
        self._names = {module: name for name, module in model.named_modules()}
        self._undone = False  # modules and a forward() that others hold, too, then do what they did before
        self._swaps: List[Tuple[nn.Module, str, nn.Module, nn.Module]] = []  # a parent, a name, its module before and now
        self._waiting: Dict[str, None] = {}  # names of modules without a call so far
        self._unsaid: Dict[str, List[str]] = {}  # messages to print after this call

    def undo(self) -> _Model:
        """Restores the model's own attention, and returns the model. Calling it twice is harmless. If other code
        has put another module in place of a replaced one, that stays."""
        self._undone = True
        for parent, name, original, made in self._swaps:
            if parent._modules.get(name) is made:
                setattr(parent, name, original)
        forward = self.model.__dict__.get("forward")
        if isinstance(forward, _Forward) and forward.report is self:
            forward.remove()
        with _lock:
            self._swaps, self.replaced, self.left = [], [], {}
            self._waiting.clear()
        return self.model

    def __repr__(self) -> str:
        lines = [f"replaced: {', '.join(self.replaced) or 'nothing'}"]
        if self._waiting:
            lines.append(f"compared with the spec when they are called: {', '.join(self._waiting)}")
        by_reason: Dict[str, List[str]] = {}
        for name, why in self.left.items():
            by_reason.setdefault(why, []).append(name)
        return "\n".join([*lines, *(f"left as it was: {', '.join(names)}: {why}" for why, names in by_reason.items())])

    @_apart  # type: ignore[untyped-decorator]
    def _note(self, name: str, why: str) -> None:
        """Records a call from module `name`. `why` is the reason why it does not use the spec, or "" if it does."""
        with _lock:
            self._waiting.pop(name, None)
            before = self.left.get(name, "")
            if not why and name not in self.replaced:
                self.replaced.append(name)
                self._unsaid.setdefault("", []).append(name)
            elif why and why not in before:
                self.left[name] = f"{before}; {why}" if before else why
                self._unsaid.setdefault(why, []).append(name)

    @_apart  # type: ignore[untyped-decorator]
    def _caller(self) -> str:
        """Returns the name of the model's innermost running module."""
        modules = (frame.f_locals.get("self") for frame, _ in traceback.walk_stack(sys._getframe(2)))
        return next((self._names[one] for one in modules if isinstance(one, nn.Module) and one in self._names), "")

    @_apart  # type: ignore[untyped-decorator]
    def _settle(self) -> None:
        """Runs after a call of the model. Records modules that did not call scaled_dot_product_attention, and prints
        messages."""
        with _lock:
            for name in list(self._waiting):
                self._note(name, "it does not call scaled_dot_product_attention")
            unsaid, self._unsaid = self._unsaid, {}
        for why, names in unsaid.items():
            _say(f"left as it was, in this call: {', '.join(names)}: {why}" if why else f"replaced: {', '.join(names)}")


def _say(text: str) -> None:
    print("attnc: " + text.replace("\n", "\nattnc: "), file=sys.stderr, flush=True)


def _looks_like_attention(module: nn.Module) -> bool:
    return "attention" in type(module).__name__.lower()


def _candidates(model: nn.Module) -> List[Tuple[str, nn.Module]]:
    """Returns the modules with "attention" in their class name that have no such module inside."""
    return [(name, module) for name, module in model.named_modules()
            if _looks_like_attention(module) and not isinstance(module, (nn.MultiheadAttention, Attention))
            and not any(_looks_like_attention(inner) for inner in module.modules() if inner is not module)]


# ---- calls of scaled_dot_product_attention


_sdpa = nn.functional.scaled_dot_product_attention


class _Swap(TorchFunctionMode):
    """A context in which calls of scaled_dot_product_attention use the spec if they fit."""

    def __init__(self, shaped: _Shaped, report: Replacement[Any]) -> None:
        super().__init__()
        self.shaped, self.report = shaped, report

    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (self.attend if function is _sdpa else function)(*args, **(kwargs or {}))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor] = None,
               dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None,
               enable_gqa: bool = False) -> Tensor:
        compiles, shaped = is_traced(), self.shaped
        if compiles and attn_mask is not None:
            if dropout_p == 0 and not attn_mask.requires_grad:
                return _attend_by_mask(shaped.name, shaped.ignores, shaped.seed, query, key, value, attn_mask, is_causal,
                                       scale, enable_gqa)
            why = "it drops weights at random, or learns its mask"
        else:
            why = shaped.why_not(query, key, value, attn_mask, is_causal, enable_gqa)
        if not compiles:
            self.report._note(self.report._caller(), why)
        if why:
            return _sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        _refuse_dropout(dropout_p != 0)
        return shaped.attend(query, key, value, scale)


# torch.compile knows a mask only at run time. So this operator compares the mask when it runs.


_OPERANDS = ("str name, bool ignores, int? seed, Tensor q, Tensor k, Tensor v, Tensor mask, bool is_causal, float? scale, "
             "bool enable_gqa")


def _attended_by_mask(name: str, ignores: bool, seed: Optional[int], q: Tensor, k: Tensor, v: Tensor, mask: Tensor,
                      is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    shaped = _Shaped(name, ignores, seed)
    if shaped.why_not(q, k, v, mask, is_causal, enable_gqa):
        return _sdpa(q, k, v, mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa).contiguous()
    return shaped.attend(q, k, v, scale)


def _gradients_by_mask(*operands: Any) -> List[Tensor]:
    inputs = [a.detach().requires_grad_() for a in operands[3:6]]
    with torch.enable_grad():
        out = _attended_by_mask(*operands[:3], *inputs, *operands[6:10])
    return [a.contiguous() for a in torch.autograd.grad(out, inputs, operands[10])]


_attend_by_mask_backward: Callable[..., List[Tensor]] = operator(
    "attend_by_mask_backward", _gradients_by_mask, lambda *of: [a.new_empty(a.shape) for a in of[3:6]],
    f"({_OPERANDS}, Tensor dout) -> Tensor[]")


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    ctx.before, ctx.after = inputs[:3], inputs[7:]
    ctx.save_for_backward(*inputs[3:7])


def _differentiate(ctx: Any, dout: Tensor) -> Tuple[Any, ...]:
    gradients = _attend_by_mask_backward(*ctx.before, *ctx.saved_tensors, *ctx.after, dout)
    return None, None, None, *gradients, None, None, None, None


_attend_by_mask: Callable[..., Tensor] = operator(
    "attend_by_mask", _attended_by_mask, lambda *of: of[3].new_empty((*of[3].shape[:-1], of[5].shape[-1])),
    f"({_OPERANDS}) -> Tensor", _keep, _differentiate)


class _Forward:
    """Replaces a model's forward(). Calls of scaled_dot_product_attention inside may use the spec."""

    def __init__(self, model: nn.Module, shaped: _Shaped, report: Replacement[Any]) -> None:
        self.model, self.shaped, self.report = model, shaped, report
        self.before = model.__dict__.get("forward")  # another replacement of forward(), or None
        model.forward = self

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.before or functools.partial(type(self.model).forward, self.model))

    def remove(self) -> None:
        del self.model.__dict__["forward"]
        if self.before is not None:
            self.model.__dict__["forward"] = self.before

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.report._undone:
            return self._original(*args, **kwargs)
        if not is_traced():
            return self._eagerly(*args, **kwargs)
        with _Swap(self.shaped, self.report):
            return self._original(*args, **kwargs)

    @_apart  # type: ignore[untyped-decorator]
    def _eagerly(self, *args: Any, **kwargs: Any) -> Any:
        """Runs forward() in a _Swap context. torch.compile does not trace it, because attributes of tensors in such
        a context confuse it."""
        with _Swap(self.shaped, self.report):
            made = self._original(*args, **kwargs)
        self.report._settle()
        return made

    def _original(self, *args: Any, **kwargs: Any) -> Any:
        if self.before is not None:
            return self.before(*args, **kwargs)
        return type(self.model).forward(self.model, *args, **kwargs)


# ---- modules


class MultiheadAttention(nn.MultiheadAttention):
    """An nn.MultiheadAttention that uses the spec if a call fits. It then returns None for the weights if the
    call has gradients, or is in a graph of torch.compile."""

    attention: Attention
    _same: bool
    _shaped: _Shaped
    _report: Replacement[Any]
    _name: str

    @staticmethod
    def of(module: nn.MultiheadAttention, shaped: _Shaped, report: Replacement[Any], name: str) -> MultiheadAttention:
        made = MultiheadAttention.__new__(MultiheadAttention)
        nn.Module.__init__(made)
        made.__dict__.update(module.__dict__)
        made._modules = dict(module._modules)
        made._same = module._qkv_same_embed_dim
        made._qkv_same_embed_dim = False  # otherwise nn.TransformerEncoderLayer bypasses forward()
        made._shaped, made._report, made._name = shaped, report, name
        kernel = kernel_of(_text_of(shaped.name, _WORDS[module.out_proj.weight.dtype], module.head_dim, module.head_dim))
        made.attention = Attention(kernel, module.num_heads, seed=shaped.seed or 0)
        return made

    def plain(self) -> nn.MultiheadAttention:
        """Returns an ordinary nn.MultiheadAttention with the same parameters."""
        made = nn.MultiheadAttention.__new__(nn.MultiheadAttention)
        own = {"_same", "_shaped", "_report", "_name"}
        made.__dict__.update((name, value) for name, value in self.__dict__.items() if name not in own)
        made._modules = {name: module for name, module in self._modules.items() if name != "attention"}
        made._qkv_same_embed_dim = self._same
        return made

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None,
                need_weights: bool = True, attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        """Does what nn.MultiheadAttention.forward() does."""
        if self._report._undone:
            return self.plain().forward(query, key, value, key_padding_mask, need_weights, attn_mask,
                                        average_attn_weights, is_causal)
        q, k, v = heads_of(self, (query, key, value))
        why = _why_not_of_heads(self, q, k, key_padding_mask, attn_mask)
        if not is_traced():
            self._report._note(self._name, why)
        if why:
            return self.plain().forward(query, key, value, key_padding_mask, need_weights, attn_mask,
                                        average_attn_weights, is_causal)
        _refuse_dropout(bool(self.dropout) and self.training)
        shares: Optional[Tensor] = None
        if need_weights and not is_traced() and not differentiates((q, k, v)):
            made, shares = self.attention(q, k, v, weights=True)
        else:
            made = self.attention(q, k, v)
        return results_of(self, query, made, shares, average_attn_weights)


def _why_not_of_heads(module: MultiheadAttention, q: Tensor, k: Tensor, padding: Optional[Tensor],
                      attn_mask: Optional[Tensor]) -> str:
    """Returns the reason why a module's heads cannot use the spec in this call, or "" if they can."""
    if is_traced() and (padding is not None or attn_mask is not None):
        raise NotImplementedError("torch.compile cannot compare the mask of an nn.MultiheadAttention with a spec; "
                                  "call undo() of the result of replace() to restore the module")
    kept: Optional[Tensor] = None
    for mask in masks_of(q, k, padding, attn_mask):
        if _is_bias(mask):
            return "the model adds a bias to the inner products"
        here = ~mask if mask.dtype == torch.bool else _kept(mask)
        kept = here if kept is None else kept & here
    return module._shaped.why_not_by_mask(module.attention.kernel._text, q, k, kept, False)


# ---- replace()


def replace(model: _Model, spec: Spec | Kernel, set: Mapping[str, Any] | None = None, *, masks: str = "compare",
            seed: int | None = None) -> Replacement[_Model]:
    """Makes a model use a spec for its attention, in place, in all calls that fit the spec.

    Two kinds of attention are replaced: nn.MultiheadAttention modules, and calls of
    torch.nn.functional.scaled_dot_product_attention while the model's forward() runs. Kernels are compiled for the head
    size and dtype of the calls; the spec's `shape` and `dtype` are ignored. A call is left unchanged if

    - either the model or the spec lets some query see later keys, but not both,
    - the model hides a key that the spec does not hide (the spec may hide more keys than the model),
    - the model adds a bias to the logits, or
    - the arrays have other shapes than those of a kernel.

    masks: "compare" compares the masks; "ignore" lets queries see keys that the model hides, such as padding, if the
        spec does not hide them
    seed: the seed of random parameters. Only nn.MultiheadAttention modules can have learned parameters of a spec.

    Returns a report: the replaced modules, and the unchanged modules with the reasons. Also prints the report on
    standard error. Its method undo() restores the model."""
    if masks not in ("compare", "ignore"):
        raise ValueError(f"masks is {masks!r}; expected 'compare' or 'ignore'")
    before = model.__dict__.get("forward")
    if isinstance(before, _Forward):
        before.report.undo()
    shaped = _Shaped.of(spec, set, masks == "ignore", seed)
    report = Replacement(model)
    for name, module in list(model.named_modules()):
        if type(module) is not nn.MultiheadAttention or not name:
            continue
        why = _why_not_of_module(shaped, module)
        if why:
            report.left[name] = why
            continue
        parent, _, own = name.rpartition(".")
        holder = model.get_submodule(parent)
        made = MultiheadAttention.of(module, shaped, report, name)
        setattr(holder, own, made)
        report._swaps.append((holder, own, module, made))
        report.replaced.append(name)
    for name, module in _candidates(model):
        kind = getattr(getattr(module, "config", getattr(model, "config", None)), "_attn_implementation", "sdpa")
        if kind == "sdpa":
            report._waiting[name] = None
        else:
            report.left[name] = (f"transformers runs its {kind!r} attention, which does not call "
                                 "scaled_dot_product_attention; load the model with attn_implementation='sdpa'")
    _Forward(model, shaped, report)
    _say(repr(report))
    return report


def _why_not_of_module(shaped: _Shaped, module: nn.MultiheadAttention) -> str:
    if module.bias_k is not None or module.add_zero_attn:
        return "it adds keys (add_bias_kv, add_zero_attn)"
    word = _WORDS.get(module.out_proj.weight.dtype)
    if word is None:
        return f"its dtype is {module.out_proj.weight.dtype}"
    kernel = kernel_of(_text_of(shaped.name, word, module.head_dim, module.head_dim))
    if kernel.dropout:
        return _DROPS
    taken = [p.keyword for p in kernel.parameters if p.dtype == "i32" or {"n_q", "n_k"} & {*map(str, p.shape)}]
    return _needs(taken)
