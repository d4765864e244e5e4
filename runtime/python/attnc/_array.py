"""Types of the arrays that kernels take: NumPy, PyTorch, JAX and libraries with __dlpack__."""
from __future__ import annotations

from typing import Any, Iterator, Protocol, Tuple, TypeVar, Union


class HasDLPack(Protocol):
    def __dlpack__(self) -> Any: ...


class HasArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...


Array = Union[HasDLPack, HasArrayInterface]
AnyArray = TypeVar("AnyArray", bound=Array)
_Made = TypeVar("_Made", covariant=True)


class Gradients(Protocol[_Made]):
    """The gradients of a call, a named tuple. Those with respect to learned parameters have the name of the parameter
    after "d"."""

    @property
    def dq(self) -> _Made: ...

    @property
    def dk(self) -> _Made: ...

    @property
    def dv(self) -> _Made: ...

    @property
    def _fields(self) -> Tuple[str, ...]: ...

    def __getattr__(self, name: str) -> _Made: ...

    def __iter__(self) -> Iterator[_Made]: ...

    def __getitem__(self, number: int) -> _Made: ...

    def __len__(self) -> int: ...
