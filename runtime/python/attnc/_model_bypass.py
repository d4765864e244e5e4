"""Models whose code computes attention without asking transformers for an implementation. Their layers are extended
(_model_layers.py), so that they call attnc if they are given its mask."""
from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, Callable, Dict, Optional

from torch import Tensor, nn

from ._model_attention import attention
from ._model_mask import Mask


def _heads(a: Tensor, count: int) -> Tensor:
    return a.view(*a.shape[:-1], count, -1).transpose(1, 2)


def _mpt(module: Any, hidden_states: Tensor, position_bias: Optional[Tensor] = None, cache: Any = None,
         attention_mask: Any = None, **more: Any) -> Any:
    if not isinstance(attention_mask, Mask):
        return None
    mixed = module.Wqkv(hidden_states)
    if module.clip_qkv:
        mixed = mixed.clamp(min=-module.clip_qkv, max=module.clip_qkv)
    query, key, value = (_heads(a, module.n_heads) for a in mixed.chunk(3, dim=2))
    if cache is not None:
        key, value = cache.update(key, value, module.layer_idx)
    bias = None if position_bias is None else position_bias[None, ..., -key.shape[2]:]
    made, weights = attention(module, query, key, value, attention_mask, module.attn_dropout_p if module.training else 0.0,
                              module.softmax_scale, position_bias=bias, **more)
    return module.out_proj(made.flatten(2)), weights


def _bloom(module: Any, hidden_states: Tensor, residual: Tensor, alibi: Tensor, attention_mask: Any = None,
           layer_past: Any = None, **more: Any) -> Any:
    if not isinstance(attention_mask, Mask):
        return None
    query, key, value = module._reshape(module.query_key_value(hidden_states))
    if layer_past is not None:
        key, value = layer_past.update(key, value, module.layer_idx)
    made, weights = attention(module, query, key, value, attention_mask,
                              module.attention_dropout.p if module.training else 0.0, module.inv_norm_factor,
                              position_bias=alibi.view(hidden_states.shape[0], -1, *alibi.shape[1:]), **more)
    added = _modeling("bloom").dropout_add(module.dense(made.flatten(2)), residual, module.hidden_dropout, module.training)
    return added, weights


def _falcon(module: Any, hidden_states: Tensor, alibi: Optional[Tensor] = None, attention_mask: Any = None,
            position_ids: Any = None, layer_past: Any = None, use_cache: bool = False, output_attentions: bool = False,
            position_embeddings: Any = None, **_: Any) -> Any:
    if not isinstance(attention_mask, Mask):
        return None
    query, key, value = (a.transpose(1, 2) for a in module._split_heads(module.query_key_value(hidden_states)))
    query, key = _modeling("falcon").apply_rotary_pos_emb(query, key, *position_embeddings)
    if layer_past is not None:
        key, value = layer_past.update(key, value, module.layer_idx)
    made, weights = attention(module, query, key, value, attention_mask, output_attentions=output_attentions)
    return module.dense(made.flatten(2)), weights


def _modeling(name: str) -> Any:
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


# Functions that compute the forward() of these classes, or return None if the model has to
EXTENDED: Dict[str, Callable[..., Any]] = {"MptAttention": _mpt, "BloomAttention": _bloom, "FalconAttention": _falcon}


def extend() -> None:
    """Extends models that look up the class of their attention by the name of the implementation."""
    classes: Any = getattr(_modeling("falcon"), "FALCON_ATTENTION_CLASSES", {})
    if "eager" in classes:
        classes["attnc"] = classes["eager"]


def module_of(config: Any) -> Any:
    """Returns the modeling module for a class of configs of transformers, or None."""
    name = config.__module__
    if not name.startswith("transformers.models."):
        return None
    return sys.modules.get(name.replace("configuration_", "modeling_"))


@functools.lru_cache(maxsize=None)
def selects(config: Any) -> bool:
    """Returns whether layers of a model choose keys, for which they need a tensor with the mask."""
    return any(name.endswith("Indexer") for name in vars(module_of(config) or type))


@functools.lru_cache(maxsize=None)
def reason(config: Any, model_type: str) -> str:
    """Returns the reason why attnc does not reach the attention of a model, or "" if it does."""
    module = module_of(config)
    if module is None or hasattr(module, "ALL_ATTENTION_FUNCTIONS"):
        return ""
    own = [name for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, nn.Module)
           and kind.__module__ == module.__name__ and "Attention" in name]
    if not own or EXTENDED.keys() & {*own}:  # a model that consists of other models has no attention
        return ""
    return (f"{model_type}: transformers computes the attention of this model in separate code, which "
            "attn_implementation='attnc' does not reach; load it with attn_implementation='eager'")
