"""Types of the arrays that kernels take: NumPy, PyTorch, JAX and libraries with __dlpack__."""
from __future__ import annotations

from typing import Any, Protocol, TypeVar, Union


class HasDLPack(Protocol):
    def __dlpack__(self) -> Any:
        ...


class HasArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> Any:
        ...


Array = Union[HasDLPack, HasArrayInterface]
AnyArray = TypeVar("AnyArray", bound=Array)
