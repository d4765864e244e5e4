# Threads and workspaces of calls.
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
import threading
import types
import warnings
from typing import Any, Iterator

from ._arrays import _aligned
from ._header import _Team


_local = threading.local()  # objects of each Python thread
# The process that last called a kernel on several threads. All modules share this object, because they share OpenMP's
# threads.
_threaded: Any = sys.modules.setdefault("_attnc_threaded", types.SimpleNamespace(process=None))  # type: ignore


class _Teams:
    """PyTorch's OpenMP threads. If PyTorch is imported, kernels run on them, because idle threads of a second
    library would spin."""

    def __init__(self) -> None:
        self.made: _Team | None = None
        self.address: int | None = None
        self.known = False
        self.lock = threading.Lock()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Runs in a forked process and forgets PyTorch's threads. GNU's OpenMP hangs in a child of a process with
        threads."""
        self.address, self.known, self.lock = None, "torch" in sys.modules, threading.Lock()
        if self.known and _threaded.process is None:
            _threaded.process = os.getppid()  # PyTorch may have used threads in the parent

    def of(self, binding: Any) -> int | None:
        """Returns the threads for calls of a kernel. They are PyTorch's, or the package's own for a kernel without
        OpenMP."""
        address = self.of_torch()
        return _own_team() if address is None and not binding.openmp else address

    def of_torch(self) -> int | None:
        """Returns the address of a struct attn_team with PyTorch's threads, or None."""
        if not self.known and "torch" in sys.modules:
            path = getattr(getattr(sys.modules["torch"], "_C", None), "__file__", None)
            if path:  # None while another thread is importing PyTorch
                with self.lock:
                    if not self.known:
                        self._find(path)
        return self.address

    def _find(self, path: str) -> None:
        try:
            library = ctypes.CDLL(path)  # also finds functions of the library's dependencies
            found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in ("GOMP_parallel", "GOMP_barrier")]
        except (AttributeError, OSError):
            pass  # a PyTorch without OpenMP
        else:
            self.made = _Team(*found)
            self.address = ctypes.addressof(self.made)
        self.known = True


@functools.lru_cache(maxsize=None)
def own_team_path() -> str | None:
    """Returns the path of the library with the package's own threads (team.c). Returns None if there is none."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "attnc_team.so")
    return path if os.path.exists(path) else None


@functools.lru_cache(maxsize=None)
def _own_team() -> int | None:
    """Returns the address of a struct attn_team with threads of the package."""
    path = own_team_path()
    if path is None:
        return None
    function = ctypes.CDLL(path).attnc_team
    function.restype = ctypes.c_void_p
    return function()  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=None)
def processors() -> int:
    """Returns the number of threads of a call that names none, for kernels without OpenMP."""
    named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(named) if named.isdecimal() and int(named) > 0 else len(os.sched_getaffinity(0))


@contextlib.contextmanager
def usable_openmp() -> Iterator[None]:
    """In the block, OMP_NUM_THREADS is not set if it is no list of numbers from 1 to 2^16. LLVM's OpenMP library, which
    reads it at its first call, ends the process if it is empty, and counts threads wrongly if it is another text."""
    name = "OMP_NUM_THREADS"
    text = os.environ.get(name)
    if text is None or all(one.strip().isdecimal() and 0 < int(one) <= 1 << 16 for one in text.split(",")):
        yield
        return
    if text.strip():
        warnings.warn(f"{name} is {text!r}, which is ignored; expected a number of threads, 1 to {1 << 16}",
                      RuntimeWarning, stacklevel=4)
    del os.environ[name]
    try:
        yield
    finally:
        os.environ[name] = text


_teams = _Teams()


class _Room:
    """The workspace of a Python thread."""

    def __init__(self) -> None:
        self.size, self.address = -1, 0
        self.memory: Any = None
        self.shown = (ctypes.c_int64 * 2)()  # its size and address, for tensors.c
        self.place = ctypes.addressof(self.shown)

    def of(self, size: int) -> int:
        """Returns the address of a workspace of at least `size` bytes."""
        if self.size < size:
            self.memory, self.size = (ctypes.c_char * (size + 64))(), size
            self.address = _aligned(self.memory)
            self.shown[0], self.shown[1] = size, self.address
        return self.address


def _room() -> _Room:
    room = getattr(_local, "room", None)
    if room is None:
        room = _local.room = _Room()
    return room
