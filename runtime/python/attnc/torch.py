"""Kernels in PyTorch: a module, and functions that make models, scaled_dot_product_attention and FlexAttention use them."""
from __future__ import annotations

import importlib
from typing import Any

from ._layer import Attention
from ._replace import MultiheadAttention, Replacement, replace

__all__ = ["Attention", "ContextParallel", "MultiheadAttention", "Replacement", "Untranslatable", "flex_attention",
           "replace", "use"]
_LATER = {"Untranslatable": ".flex", "flex_attention": ".flex", "ContextParallel": ".distributed", "use": "._sdpa"}


def __getattr__(name: str) -> Any:
    if name in _LATER:  # PyTorch takes seconds to import what they need
        return getattr(importlib.import_module(_LATER[name], __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
