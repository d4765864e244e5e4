"""attn_implementation="attnc" for models of transformers, kernels compiled ahead, and a cache.

    import attnc.transformers
    model = AutoModelForCausalLM.from_pretrained(…, attn_implementation="attnc")
"""
from __future__ import annotations

import importlib
from typing import Any, List, Optional

import torch

from . import _model_bypass as bypass, _model_layers as layers
from ._compiler import CompilerError, Source
from ._context import constant
from ._kernel import Kernel, compile_all
from ._model_attention import attention
from ._model_cache import Cache
from ._model_call import noting
from ._model_layers import Use
from ._model_mask import Mask, mask

__all__ = ["Cache", "Mask", "Prepared", "prepare"]


@constant
def _reason(config: Any) -> str:
    kind: Any = type(config)
    layers.adopt_caller(config)
    return bypass.reason(kind, config.model_type)


def _mask(config: Any = None, **words: Any) -> Any:
    """Implements AttentionMaskInterface."""
    why = "" if config is None else _reason(config)
    if why:
        raise ValueError(why)
    kind: Any = type(config)
    if config is not None and bypass.selects(kind):
        return _masking.eager_mask(**words)
    return mask(**words)


_masking: Any = importlib.import_module("transformers.masking_utils")
bypass.extend()
importlib.import_module("transformers.modeling_utils").AttentionInterface.register("attnc", attention)
_masking.AttentionMaskInterface.register("attnc", _mask)


class Prepared(List[Kernel]):
    """The result of prepare() for `model`: a sequence of its kernels. undo() takes back what prepare() changed; so does the
    end of a `with` block. Kernels stay compiled.

    layers: the names of layers that use kernels although they do not ask for an implementation of attention: the
        recurrences of Qwen3-Next, Kimi Linear, Mamba-2 and others, and the attention of Falcon, MPT and BLOOM"""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self._use = model, Use()
        self._layers = layers.adopt(model, self._use)
        self.layers = [name for name, _ in self._layers]

    def undo(self) -> Any:
        """Gives the layers their own code, unless another prepare() holds or the model's config names attnc. Returns the
        model. Calling it twice is harmless."""
        layers.release(self._layers, self._use)
        self._layers, self.layers = [], []
        return self.model

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: Any) -> None:
        self.undo()

    def __repr__(self) -> str:
        return "\n".join([f"kernels: {', '.join(map(repr, self)) or 'none'}",
                          f"layers with other code: {', '.join(self.layers) or 'none'}"])


def prepare(model: Any, *, gradients: Optional[bool] = None, **inputs: Any) -> Prepared:
    """Compiles the kernels of a model ahead of time, in parallel. Otherwise the first call that needs a kernel compiles it.
    Layers with recurrences use kernels from then on. No other model changes, also if it has the same classes.

    gradients: also compile the gradients; default: if the model is in training mode
    inputs: small inputs of the model's forward(); default: those of transformers for text (model.dummy_inputs)

    Runs the model's forward() once, without attention, to see which kernels it uses. Other threads may run models
    meanwhile. Returns the kernels, as a sequence with an undo(). A copy of the model, also through pickle, is prepared, too.
    Models without attention, such as Mamba-2, use kernels only after this call."""
    model = getattr(model, "_orig_mod", model)  # that of torch.compile
    given = inputs or model.dummy_inputs
    wants = model.training if gradients is None else gradients
    made = Prepared(model)
    try:
        # Training draws the same after it. Without training, other threads may draw meanwhile, such as tokens.
        with noting() as found, torch.set_grad_enabled(wants), torch.random.fork_rng([], enabled=model.training):
            model(**given)
        for needed, differentiable in (True, False), (True, True), (False, False), (False, True):
            texts = sorted(text for text, *of_text in found if of_text == [differentiable, needed])
            try:
                made += compile_all(map(Source.named, texts), gradients=differentiable)
            except CompilerError:
                if needed:
                    raise
    except BaseException:
        made.undo()
        raise
    return made
