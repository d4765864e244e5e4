"""attn_implementation="attnc" for models of transformers, kernels compiled ahead, and a cache.

    import attnc.transformers
    model = AutoModelForCausalLM.from_pretrained(…, attn_implementation="attnc")
"""
from __future__ import annotations

import importlib
import json
import sys
from typing import Any, List, Optional

import torch

from . import _model_bypass as bypass, _model_recurrent as recurrent
from ._compiler import Source
from ._kernel import Kernel, compile_all
from ._model_attention import attention, noting
from ._model_cache import Cache
from ._model_mask import Mask, mask
from .torch import _constant

__all__ = ["Cache", "Mask", "prepare"]



def _reason(config: Any) -> str:
    kind: Any = type(config)
    return bypass.reason(kind, config.model_type)


_constant(_reason)


def _mask(config: Any = None, **words: Any) -> Mask:
    """Implements AttentionMaskInterface."""
    why = "" if config is None else _reason(config)
    if why:
        raise ValueError(why)
    return mask(**words)


bypass.extend()
importlib.import_module("transformers.modeling_utils").AttentionInterface.register("attnc", attention)
importlib.import_module("transformers.masking_utils").AttentionMaskInterface.register("attnc", _mask)


def prepare(model: Any, *, gradients: Optional[bool] = None, **inputs: Any) -> List[Kernel]:
    """Compiles the kernels of a model ahead of time, in parallel. Otherwise the first call that needs a kernel compiles it.

    gradients: also compile the gradients; default: if the model is in training mode
    inputs: small inputs of the model's forward(); default: those of transformers for text (model.dummy_inputs)

    Runs the model's forward() once, without attention, to see which kernels it uses. Returns them. Models without
    attention, such as Mamba-2, use kernels only after this call."""
    recurrent.extend(sys.modules[type(model).__module__])
    given = inputs or model.dummy_inputs
    wants = model.training if gradients is None else gradients
    with noting() as found, torch.set_grad_enabled(wants):
        model(**given)
    made: List[Kernel] = []
    for needs in False, True:
        texts = sorted(text for text, differentiable in found if differentiable == needs)
        made += compile_all(map(_source, texts), gradients=needs)
    return made


def _source(name: str) -> Source:
    operand, text, *settings = json.loads(name)
    return Source(operand, text, tuple(settings))
