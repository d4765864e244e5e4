"""Which ContextParallel, tracing and transformations surround a call of a kernel with tensors."""
from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Iterable, Iterator, Tuple, TypeVar

import torch
from torch import Tensor, nn

from ._kernel import constant as constant

OF_ONE_PROCESS = "{} computes the tokens of one process, and was called in a ContextParallel"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Parallel(threading.local):
    now: Any = None
    before: Tuple[Any, ...] = ()  # the contexts around it


parallel = _Parallel()  # the ContextParallel of this thread, or None


def refuse_parallel(what: str) -> None:
    if parallel.now is not None:
        raise NotImplementedError(OF_ONE_PROCESS.format(what))


@contextlib.contextmanager
def within(context: Any) -> Iterator[None]:
    """Runs a block in a ContextParallel, or in none."""
    before, parallel.now = parallel.now, context
    try:
        yield
    finally:
        parallel.now = before


def is_undisturbed() -> bool:
    """Returns True if no transformation (vmap, grad), no tracing and no ContextParallel is active. Then a call works
    without an operator, which is faster."""
    if parallel.now is not None:
        return False
    try:
        return torch._C._functorch.peek_interpreter_stack() is None and not torch._C._len_torch_dispatch_stack()
    except AttributeError:  # another version of PyTorch names them differently
        return False


def is_eager(*tensors: Any) -> bool:
    """Returns True if is_undisturbed() and all tensors are plain tensors or parameters, not of other subclasses."""
    return is_undisturbed() and all(type(a) in (Tensor, nn.Parameter, type(None)) for a in tensors)


def differentiates(arrays: Iterable[Any]) -> bool:
    """Returns True if gradients with respect to one of the arrays are needed. Some may be numbers or None."""
    return torch.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in arrays)


def is_traced() -> bool:
    """Returns True in a graph of torch.compile or torch.export. torch.compiler.is_compiling() is also True in all other
    threads while one of them compiles."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return torch.compiler.is_compiling() and torch._C._len_torch_dispatch_stack() > 0  # export traces with such modes


# ---- functions whose results are constants of a graph


def cached_constant(function: _Function) -> _Function:
    """Returns the function with a cache. The function and its arguments may be part of a graph."""
    cached = functools.lru_cache(maxsize=4096)(function)

    def made(*words: Any) -> Any:
        return cached(*words)
    return constant(made)  # type: ignore[return-value]


def constant_size(size: int) -> int:
    """Returns a size as a number, even if torch.compile has a symbol for it. int() would keep the symbol."""
    return len(list(range(size)))
