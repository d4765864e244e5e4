"""Kernels of first calls. `attnc build --quick` compiles what the call needs, in a fraction of the time. Another process
then compiles the whole kernel, which takes the place of the first one while the program runs. Both compute the same bits.
With ATTNC_QUICK=0 in the environment, calls wait for whole kernels."""
from __future__ import annotations

import atexit
import os
import subprocess
import threading
from typing import Any, Callable, Mapping

from ._compiler import CompilerError, First, Source, SpecError

_ENDS_WITHIN = 5.0  # seconds from SIGTERM to the end of a process


def first_call(q: Any, k: Any) -> First | None:
    """Returns the sizes of a call [batch, heads, n, size] for which a new kernel is compiled. None: for all calls."""
    if os.environ.get("ATTNC_QUICK") == "0":
        return None
    return max(1, int(q.shape[2])), int(k.shape[2]), max(1, int(q.shape[1]) // max(1, int(k.shape[1])))


class Work(threading.Thread):
    """A thread that waits for the process that compiles a whole kernel."""

    slots = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))  # processes at a time
    ended = False  # the interpreter ends
    all: list[Work] = []  # those that have not replaced a kernel yet, also failed ones

    def __init__(self, kernel: Any, source: Source, replace: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(name="attnc", daemon=True)
        self.kernel, self.source, self.replace = kernel, source, replace
        self.process: subprocess.Popen[str] | None = None
        Work.all.append(self)
        self.start()

    def run(self) -> None:
        with self.slots:
            try:
                if not self.ended:
                    self.done(self.source.description(background=self.watch))
            except (SpecError, CompilerError, OSError):
                pass  # the first kernel stays, and whole() tells why

    def watch(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        if self.ended:
            process.terminate()

    def done(self, info: Mapping[str, Any]) -> None:
        if self in Work.all:
            self.replace(info)
            Work.all.remove(self)


def whole(kernel: Any = None) -> None:
    """Waits until this kernel, or each of them, is whole. Raises what the compilation raises."""
    for work in tuple(Work.all):
        if kernel is None or work.kernel is kernel:
            work.join()
            if work in Work.all:
                work.done(work.source.description())


def _end() -> None:
    """Ends processes, which then remove their files."""
    Work.ended = True
    for work in tuple(Work.all):
        if work.process is not None:
            work.process.terminate()
    for work in tuple(Work.all):
        work.join(_ENDS_WITHIN)


def _fork() -> None:
    """Begins again in a forked process, which has no threads of its parent."""
    Work.slots = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))
    before, Work.all = Work.all, []
    for work in before:
        Work(work.kernel, work.source, work.replace)


atexit.register(_end)
os.register_at_fork(after_in_child=_fork)
