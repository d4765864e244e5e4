"""Trains the models of two papers with attention by attnc, and prints their results."""
from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import time
from typing import List

sys.dont_write_bytecode = True

import experiments
import pool
import results
import tables
from experiments import Run, divided

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build-train", "results")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev train", description=__doc__,
        epilog="groups: " + ", ".join(experiments.GROUPS) + ". Ctrl-C stops all runs; the same command continues "
        "them. A run with the same seed has the same curve, even if other runs are in progress.")
    parser.add_argument("group", nargs="*", help="groups of runs (default: all of them)")
    parser.add_argument("--quick", action="store_true",
                        help="in three minutes: each kind of attention on a small task, to a loss that it must reach")
    parser.add_argument("--only", metavar="PATTERN", action="append", help="only runs whose names contain PATTERN")
    parser.add_argument("--list", action="store_true", help="list the runs and their progress")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="runs at a time, one thread each (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="divide each sequence over N processes "
                        "(only language models without convolutions)")
    parser.add_argument("--minutes", type=float, default=0, metavar="M", help="stop after M minutes, as Ctrl-C does")
    parser.add_argument("--steps", type=int, metavar="N", help="the number of steps of each run")
    parser.add_argument("--out", default=DEFAULT, metavar="FOLDER", help="the folder of results (default: %(default)s)")
    parser.add_argument("--text", metavar="FILE", help="the text of the language models (default: Python's "
                        "documentation, from Debian's package)")
    parser.add_argument("--tables", action="store_true",
                        help="train nothing; write tables and pictures of the results in FOLDER into examples/train")
    return parser.parse_args()


def chosen(given: argparse.Namespace) -> List[Run]:
    for group in given.group:
        if group not in experiments.GROUPS:
            sys.exit(_usage(f"unknown group '{group}'; expected one of {', '.join(experiments.GROUPS)}"))
    runs = experiments.quick() if given.quick else [
        run for name in given.group or experiments.GROUPS for run in experiments.GROUPS[name]()]
    if given.only:
        runs = [run for run in runs if any(pattern.replace(" ", "_") in run.name for pattern in given.only)]
    if given.ranks > 1:
        runs = list({new.name: new for run in runs for new in (run if run.ranks > 1 else divided(run, given.ranks),)}.values())
    if given.steps:
        runs = [dataclasses.replace(run, steps=given.steps) for run in runs]
    return runs


def _usage(message: str) -> int:
    print(f"train: error: {message}", file=sys.stderr)
    return 2


def compile_kernels(runs: List[Run], jobs: int) -> None:
    """Compiles all kernels first, so that a run's time has no compilation."""
    import attnc

    begun = time.monotonic()
    every = {repr(run.spec): run.spec for run in runs}
    print(f"kernels: {len(every)}, compiled unless they are in the cache", file=sys.stderr, flush=True)
    attnc.compile_all(list(every.values()), gradients=True)
    print(f"kernels: ready after {pool.clock(time.monotonic() - begun)}", file=sys.stderr, flush=True)


def show(runs: List[Run], folder: str) -> None:
    for run in runs:
        row = results.row_of(run, folder)
        state = "" if not row else "done" if row["done"] else f"step {row['steps']}"
        loss = f"loss {row['loss']:.4g}" if row and row["loss"] != "" else ""
        print(f"{run.name:<60} {run.steps:>6} steps  {state:<12} {loss}".rstrip())


def judged(runs: List[Run], folder: str) -> bool:
    """Prints whether each run reached its required loss. Returns True if all did."""
    good = True
    for run in runs:
        row = results.row_of(run, folder)
        if not row or not row["done"]:
            continue
        passed = run.most is None or row["loss"] <= run.most
        if run.broken:  # a control must not reach the loss
            passed = row["loss"] > max(other.most or 0 for other in runs)
        good = good and passed
        wanted = "a control, which has to stay above" if run.broken else f"at most {run.most:g}" if run.most else ""
        print(f"{'ok  ' if passed else 'FAIL'} {run.name:<52} loss {row['loss']:.4f} after {row['steps']} steps, "
              f"{row['seconds']:.1f} s{'; ' + wanted if wanted else ''}")
    return good


def main() -> int:
    begun = time.monotonic()
    given = arguments()
    for name in "jobs", "ranks":
        if getattr(given, name) < 1:
            return _usage(f"--{name} takes a number from 1")
    folder = os.path.join(given.out, "quick") if given.quick else given.out
    every = experiments.quick() if given.quick else [run for make in experiments.GROUPS.values() for run in make()]
    if given.tables:
        if not os.path.isdir(os.path.join(folder, "runs")):
            print(f"train: error: there are no runs in {folder}", file=sys.stderr)
            return 1
        kept = os.path.join(HERE, "results")
        results.write_all(every, folder, kept)
        tables.write_all(kept, HERE)
        return 0
    runs = chosen(given)
    alone = next((run for run in runs if run.ranks > 1 and not run.divides), None)
    if alone:
        return _usage(f"--ranks cannot divide the sequences of {alone.name}; it can those of 'long' and 'text'")
    every = list({run.name: run for run in (*every, *runs)}.values())
    if not runs:
        return _usage("no run matches; --list has their names")
    if given.list:
        show(runs, folder)
        return 0
    os.makedirs(folder, exist_ok=True)
    text = given.text or ""
    if not text and any(run.task == "text" for run in runs):
        import tasks  # This module imports PyTorch, which --help does not need.
        text = tasks.text_file(folder)
    lengths = [run.length for run in runs if run.task == "text"]
    if given.text and lengths:
        import tasks
        why = tasks.why_not(text, max(lengths))
        if why:
            print(f"train: error: --text {text}: {why}", file=sys.stderr)
            return 1
    left = [run for run in runs if not results.record_of(folder, run.name).get("done")]
    print(f"runs: {len(runs)}, of which {len(runs) - len(left)} were done before; results: {folder}", file=sys.stderr)
    compile_kernels(left, given.jobs)
    at = pool.Pool(left, folder, text, given.jobs,
                   begun + given.minutes * 60 if given.minutes else math.inf,
                   lambda run: results.write_all(every, folder))
    complete = at.run()
    results.write_all(every, folder)
    tables.pictures(folder)
    if at.stopping:
        print(f"train: {at.stopping}; the same command goes on", file=sys.stderr)
    if given.quick:
        return 0 if judged(runs, folder) and complete else 130 if at.stopping else 1
    show(runs, folder)
    return 0 if complete else 130 if at.stopping == "stopped" else 1 if at.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # Ctrl-C before the first run
        print("train: stopped; the same command goes on", file=sys.stderr)
        sys.exit(130)
