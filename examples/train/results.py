"""Stores results of runs as CSV files, and reads them as rows for tables and pictures."""
from __future__ import annotations

import csv
import io
import json
import os
from typing import Any, Dict, Iterable, List

from experiments import Run
from files import write

COLUMNS = ("group", "variant", "length", "seed", "steps", "seconds", "step_seconds", "loss", "accuracy", "done",
           "easier")


def record_of(folder: str, name: str) -> Dict[str, Any]:
    """Returns the stored state of a run, or {}."""
    try:
        with open(os.path.join(folder, "runs", name + ".json"), encoding="utf-8") as file:
            made: Dict[str, Any] = json.load(file)
            return made
    except FileNotFoundError:
        return {}


def row_of(run: Run, folder: str) -> Dict[str, Any]:
    """Returns the row of a run in results.csv, or {}."""
    kept = record_of(folder, run.name)
    if not kept:
        return {}
    last = kept["final"] or (kept["curve"] or [{}])[-1]
    begun = kept.get("begun", [0])
    return {"group": run.group, "variant": run.variant, "length": run.length, "seed": run.seed, "steps": kept["step"],
            "seconds": kept["seconds"], "step_seconds": kept["step_seconds"], "loss": last.get("loss", ""),
            "accuracy": last.get("accuracy", ""), "done": int(kept["done"]),
            "easier": begun[-1] if len(begun) > len(run.easier) else ""}


def rows_of(run: Run, folder: str) -> List[Dict[str, Any]]:
    """Returns the row of a run, and one for each type of stored keys and values with which it was evaluated."""
    row = row_of(run, folder)
    final = record_of(folder, run.name).get("final", {})
    return ([row] if row else []) + [{**row, "variant": f"{run.variant}, {kind}", "loss": final[f"loss, {kind}"], "accuracy": ""}
                                     for kind in run.stored if f"loss, {kind}" in final]


def _text(columns: Iterable[str], rows: List[Dict[str, Any]]) -> str:
    made = io.StringIO()
    out = csv.DictWriter(made, list(columns), lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
    return made.getvalue()


def _run_of(row: Dict[str, Any]) -> Any:
    return tuple(str(row[name]) for name in ("group", "variant", "length", "seed"))


def _with_kept(new: List[Dict[str, Any]], kept: str) -> List[Dict[str, Any]]:
    """Returns the rows of the CSV file `kept` whose runs have no new rows, then the new rows."""
    known = {_run_of(row) for row in new}
    with open(kept, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if _run_of(row) not in known] + new


def write_all(runs: List[Run], folder: str, kept: str = "") -> None:
    """Writes results.csv (a row per run) and curves.csv (a row per point). The files in the folder `kept`, if given,
    get these rows too, in place of earlier rows of the same runs."""
    rows = [row for run in runs for row in rows_of(run, folder)]
    write(os.path.join(folder, "results.csv"), _text(COLUMNS, rows))
    points = [{"group": run.group, "variant": run.variant, "length": run.length, "seed": run.seed,
               "step": at["step"], "seconds": at["seconds"], "loss": f"{at['loss']:.6g}", "of": kept["step"]}
              for run in runs for kept in (record_of(folder, run.name),) for at in kept.get("curve", [])]
    columns = ("group", "variant", "length", "seed", "step", "seconds", "loss", "of")
    write(os.path.join(folder, "curves.csv"), _text(columns, points))
    for name, of, made in (("results.csv", COLUMNS, rows), ("curves.csv", columns, points)):
        if kept:
            write(os.path.join(kept, name), _text(of, _with_kept(made, os.path.join(kept, name))))


def read(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8", newline="") as file:
        made: List[Dict[str, Any]] = list(csv.DictReader(file))
    for row in made:
        for name in row:
            if name not in ("group", "variant"):
                row[name] = float(row[name]) if row[name] else None
    return made
