"""Fast attention on CPUs: kernels for any attention variant, compiled from a few lines of YAML or a formula.

    import attnc
    attend = attnc.kernel("polysketch.yaml", set={"block": 128})
    out = attend(q, k, v, seed=1)      # arrays of NumPy, PyTorch or JAX; PyTorch and JAX can differentiate the call
    out = attnc.attention(q, k, v, weight="(1 + s) * (1 + s)", mask="j <= i && i - j < 256")

attnc.torch needs PyTorch, attnc.transformers also transformers, and attnc.jax needs JAX. Compiling a kernel needs a C
compiler: clang, gcc, or the command in $ATTNC_CC.
"""
from __future__ import annotations

import functools
import importlib
import json
from typing import Any, List

from ._call import MaskTiles, Outputs, Parameter, Weighed
from ._compiler import _run, CompilerError, SpecError
from ._drafts import ancestors
from ._formula import attention
from ._kernel import doors, Kernel, compile, compile_all, kernel, merge, tiles_of_mask
from ._pages import Pages
from ._repeat import Saved
from ._state import State
from ._stored import Stored, quantize

__all__ = ["CompilerError", "Kernel", "MaskTiles", "Outputs", "Pages", "Parameter", "Saved", "SpecError", "State", "Stored", "Weighed",
           "ancestors", "attention", "compile", "compile_all", "kernel", "merge", "quantize", "tiles_of_mask"]
doors.update({framework: functools.partial(importlib.import_module, module, __name__)
              for framework, module in (("torch", "._tensor_call"), ("jax", ".jax"))})


def list(*words: str) -> "List[str]":
    """The names of the specs that come with attnc, for attnc.kernel(): of all, or of those that have the words in their
    name, group or description."""
    lines = _run(["list", "--json", *words]).splitlines()
    return [json.loads(line)["name"] for line in lines]


def __getattr__(name: str) -> Any:
    if name == "__version__":   # the compiler has it
        return _run(["--version"]).split()[1]
    if name in ("torch", "jax", "transformers"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
