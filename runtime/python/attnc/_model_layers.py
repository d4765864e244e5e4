"""Layers of models of transformers that compute with functions of attnc. Such a layer gets another class: no class or
module of transformers changes, and no other model."""
from __future__ import annotations

import functools
import sys
import threading
import traceback
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from torch import nn

from . import _model_bypass as bypass, _model_recurrent as recurrent
from ._model_call import noted

_lock = threading.Lock()  # held while layers get and lose their classes


class Use:
    """A reason why a layer computes with attnc: prepare(), or a model's config, while that names attnc."""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def holds(self) -> bool:
        return self.config is None or self.config._attn_implementation == "attnc"


def _rebound(function: types.FunctionType, old: Dict[str, Any], new: Dict[str, Any]) -> types.FunctionType:
    """Returns a copy of a function, with its decorators, that has the globals `new` in place of `old`."""
    inner = getattr(function, "__wrapped__", None)
    made_inner = None if inner is None else _rebound(inner, old, new)
    cells = tuple(types.CellType(made_inner) if inner is not None and cell.cell_contents is inner else cell
                  for cell in function.__closure__ or ())
    made = types.FunctionType(function.__code__, new if function.__globals__ is old else function.__globals__,
                              function.__name__, function.__defaults__, cells)
    functools.update_wrapper(made, function)
    made.__kwdefaults__ = function.__kwdefaults__
    del made.__wrapped__  # type: ignore[attr-defined]
    if made_inner is not None:
        made.__wrapped__ = made_inner  # type: ignore[attr-defined]
    return made


def _innermost(function: types.FunctionType) -> types.FunctionType:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _own_forward(kind: type, original: types.FunctionType) -> Optional[Callable[..., Any]]:
    """Returns the forward() of attnc for layers of this class, or None if there is none."""
    if kind.__module__.startswith("transformers.models.") and kind.__name__ in bypass.EXTENDED:
        return recurrent.replaced(original, bypass.EXTENDED[kind.__name__])
    module = sys.modules.get(kind.__module__)
    if module is None or not recurrent.REPLACED.keys() & {*_innermost(original).__code__.co_names}:
        return None
    return _rebound(original, vars(module), vars(recurrent.with_kernels(module)))


@functools.lru_cache(maxsize=None)
def _extended(kind: Any, original: Any) -> Any:
    """Returns another class for layers of this class, whose forward() is `original`, or None if they stay as they are."""
    own = _own_forward(kind, original) if isinstance(original, types.FunctionType) else None
    if own is None:
        return None

    @functools.wraps(original)
    def forward(self: Any, *words: Any, **more: Any) -> Any:
        function = own if any(use.holds() for use in self._attnc_uses) else original
        return function(self, *words, **more)

    def reduce(self: Any, protocol: Any) -> Any:
        """Copies and pickles the layer. A pickle has the name of the class of transformers."""
        return _restored, (kind,), *object.__reduce_ex__(self, protocol)[2:]
    return type(kind)(kind.__name__, (kind,), {
        "forward": forward, "__reduce_ex__": reduce, "__module__": kind.__module__, "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__, "_attnc_kind": kind})


def _restored(kind: Any) -> Any:
    made = _extended(kind, kind.forward)
    return made.__new__(made)


def adopt(model: nn.Module, use: Use) -> List[Tuple[str, nn.Module]]:
    """Lets the layers of a model use functions of attnc. Returns the names of these layers, and the layers."""
    made = []
    with _lock:
        for name, layer in model.named_modules():
            uses = vars(layer).get("_attnc_uses")
            if uses is None:
                kind: Any = type(layer)
                of_attnc = _extended(kind, kind.forward)
                if of_attnc is None:
                    continue
            vars(layer)["_attnc_uses"] = (*(uses or ()), use)
            if uses is None:
                layer.__class__ = of_attnc
            made.append((name, layer))
    return made


def release(layers: List[Tuple[str, nn.Module]], use: Use) -> None:
    """Takes back what adopt() did. A layer with another use keeps its class."""
    with _lock:
        for _, layer in layers:
            uses = tuple(one for one in vars(layer).get("_attnc_uses", ()) if one is not use)
            kind = vars(type(layer)).get("_attnc_kind")
            if uses or kind is None:  # without a use, forward() is that of transformers, also if others made a subclass
                vars(layer)["_attnc_uses"] = uses
            else:
                layer.__class__ = kind
                del vars(layer)["_attnc_uses"]


@functools.lru_cache(maxsize=None)
def _has_layers(module: Any) -> bool:
    kinds: List[Any] = [
        kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, nn.Module)]
    return any(_extended(kind, kind.forward) is not None for kind in kinds)


def adopt_caller(config: Any) -> None:
    """Adopts the layers of the model that asks for a mask: the innermost running module with this config, because
    transformers does not pass the model. They use attnc as long as the config names it."""
    module = bypass.module_of(type(config))
    if module is None or not _has_layers(module) or noted() is not None:  # prepare() adopts them itself
        return
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        model = frame.f_locals.get("self")
        if isinstance(model, nn.Module) and getattr(model, "config", None) is config:
            if "_attnc_adopted" not in vars(model):
                adopt(model, Use(config))
                vars(model)["_attnc_adopted"] = True
            return
