"""Runs experiments in parallel, one process each, and prints their progress."""
from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from typing import Any, Dict, List, Optional, Sequence

from experiments import Run

REFRESHES_EVERY = 1.0     # the seconds between two updates on a terminal
SPEAKS_EVERY = 20.0       # the seconds between two lines of progress if standard error is not a terminal


def clock(seconds: float) -> str:
    minutes, hours = int(seconds + 30) // 60, int(seconds + 30) // 3600
    return f"{int(seconds)} s" if seconds < 100 else f"{minutes} min" if minutes < 100 else f"{hours} h {minutes % 60} min"


def _child(run: Run, folder: str, text: str, pipe: Any) -> None:
    """Trains one run in a process. After Ctrl-C the process saves its state."""
    import worker  # already loaded by the parent

    stopped: List[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _: stopped.append(n))
    try:
        done = worker.train(run, folder, text, lambda: bool(stopped), lambda *at: pipe.send(("at", *at)))
        pipe.send(("done" if done else "stopped",))
    except worker.Missing as missing:
        pipe.send(("failed", f"it takes its coefficients from {missing}, which is not done"))
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


class _Running:
    def __init__(self, run: Run, folder: str, text: str) -> None:
        self.run, self.begun, self.step, self.first = run, time.monotonic(), 0, -1
        self.loss: Optional[float] = None  # there is none before the first point of the curve
        self.pipe, theirs = multiprocessing.Pipe(False)
        self.process = multiprocessing.get_context("fork").Process(target=_child, args=(run, folder, text, theirs))
        self.process.start()
        theirs.close()


class Pool:
    def __init__(self, runs: Sequence[Run], folder: str, text: str, jobs: int, end: float, done: Any) -> None:
        self.waiting, self.folder, self.text, self.jobs, self.end, self.done = (
            list(runs), folder, text, jobs, end, done)
        self.total, self.finished = len(self.waiting), 0
        self.spoke = 0.0
        self.running: List[_Running] = []
        self.failures: Dict[str, str] = {}
        self.cost: Dict[str, float] = {}  # measured seconds per step
        self.stopping = ""

    def run(self) -> bool:
        """Runs all experiments. Returns True if all are done."""
        import worker  # loads PyTorch once for all children

        def stop(*_: Any) -> None:
            self.stopping = self.stopping or "stopped"

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while self.running or (self.waiting and not self.stopping):
                self._start()
                self._listen()
                self._say()
                if time.monotonic() > self.end and not self.stopping:
                    self.stopping = "its time is over"
                if self.stopping:
                    for one in self.running:
                        if one.process.pid and one.process.is_alive():
                            os.kill(one.process.pid, signal.SIGTERM)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
        return not self.stopping and not self.failures

    def _start(self) -> None:
        while not self.stopping:
            busy = {one.run.name for one in self.running} | {run.name for run in self.waiting}
            ready = next((run for run in self.waiting if run.coefficients_of not in busy), None)
            used = sum(one.run.ranks for one in self.running)
            if ready is None or used and used + ready.ranks > self.jobs:
                return
            self.waiting.remove(ready)
            self.running.append(_Running(ready, self.folder, self.text))

    def _listen(self) -> None:
        pipes = {one.pipe: one for one in self.running}
        for pipe in multiprocessing.connection.wait(list(pipes), timeout=REFRESHES_EVERY / 2):
            one = pipes[pipe]  # type: ignore[index]
            try:
                word, *rest = one.pipe.recv()
            except (EOFError, ConnectionResetError):
                one.process.join()
                word, rest = "failed", [f"its process ended with status {one.process.exitcode}"]
            if word == "at":
                one.step, one.loss = rest
                if one.first < 0:
                    one.first, one.begun = one.step, time.monotonic()
                elif one.step > one.first:
                    self.cost[self._kind(one.run)] = (time.monotonic() - one.begun) / (one.step - one.first)
                continue
            one.process.join()
            self.running.remove(one)
            if word == "failed" and not self.stopping:  # Ctrl-C also ends compilers, which fails runs
                self.failures[one.run.name] = rest[0]
                print(f"train: error: {one.run.name}: {rest[0]}", file=sys.stderr, flush=True)
            elif word == "done":
                self.finished += 1
                self.done(one.run)

    @staticmethod
    def _kind(run: Run) -> str:
        return f"{run.group}/{run.variant}/{run.length}"

    def _left(self) -> float:
        """Returns the expected remaining seconds, from the mean time of a step."""
        if not self.cost:
            return float("nan")
        usual = sum(self.cost.values()) / len(self.cost)
        steps = [(run, run.steps) for run in self.waiting] + [(one.run, one.run.steps - one.step) for one in self.running]
        work = [steps_left * self.cost.get(self._kind(run), usual) for run, steps_left in steps]
        return max(sum(work) / self.jobs, max(work, default=0.0))

    def _say(self) -> None:
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self.spoke < (REFRESHES_EVERY if terminal else SPEAKS_EVERY) or not any(
                one.step for one in self.running):
            return
        self.spoke, left, one = now, self._left(), next(one for one in self.running if one.step)
        about = "at most" if one.run.until else "about"  # a run may end early
        loss = "" if one.loss is None else f", loss {one.loss:.4g}"
        said = (f"{self.finished} of {self.total} done, {len(self.running)} running, "
                f"{'' if left != left else f'{about} {clock(left)} left; '}"
                f"{one.run.name}: step {one.step} of {one.run.steps}{loss}")
        print(f"\r\033[K{said[:150]}" if terminal else said, end="" if terminal else "\n", file=sys.stderr, flush=True)
