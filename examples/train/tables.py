"""Makes tables and pictures from CSV files."""
from __future__ import annotations

import math
import os
import re
import statistics
from typing import Any, Dict, List, Optional, Tuple

import plot
import results
from experiments import CONTEXTS, DELTA_CONTEXTS, LONG, PUBLISHED, STORED, SYNTHETIC, UNAIDED
from files import write
from variants import causal_variants

Rows = List[Dict[str, Any]]


def _number(x: Optional[float]) -> str:
    if x is None or math.isnan(x):
        return "nan" if x is not None else ""
    return f"{x:.1e}" if x < 1e-3 else f"{x:.3g}"


def _table(head: List[str], rows: List[List[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _names(rows: Rows) -> List[str]:
    return list(dict.fromkeys(row["variant"] for row in rows))


def thesis(rows: Rows) -> str:
    made = []
    done = [row for row in rows if row["done"]]
    for name, steps in dict.fromkeys((row["variant"], row["steps"]) for row in done):
        losses = sorted(row["loss"] for row in done if (row["variant"], row["steps"]) == (name, steps))
        made.append([name, _number(PUBLISHED.get(name)), _number(statistics.median(losses)),
                     f"{_number(losses[0])} … {_number(losses[-1])}" if len(losses) > 1 else "", str(len(losses)),
                     f"{steps:.0f}"])
    return _table(["weight of a key", "thesis, 10,000 iterations", "here, median", "range", "seeds", "iterations"], made)


def thesis_time(rows: Rows) -> str:
    lengths = sorted({row["length"] for row in rows})
    pairs = {(row["variant"], row["length"]): row["step_seconds"] for row in rows if row["done"]}
    made = []
    for name in dict.fromkeys(row["variant"].rsplit(",", 1)[0] for row in rows):
        cells = [name]
        for length in lengths:
            for form in "quadratic", "linear":
                took = pairs.get((f"{name}, {form}", length))
                cells.append("" if took is None else f"{took * 1e3:.4g}")
        made.append(cells)
    return _table(["ms an iteration"] + [f"{int(n)}, {form}" for n in lengths for form in ("quadratic", "linear")], made)


def synthetic(rows: Rows) -> str:
    made = []
    for name in _names(rows):
        cells = [name]
        for group in "induction", "copying":
            of_group = [r for r in rows if r["variant"] == name and r["group"] == group and r["done"]]
            cells.append(", ".join(f"{row['accuracy']:.2%}" for row in of_group))
            easier = [row["steps"] if row["easier"] is None else row["easier"] for row in of_group]
            cells.append(", ".join(f"{n:.0f} + {row['steps'] - n:.0f}" for n, row in zip(easier, of_group)))
        made.append(cells)
    return _table(["", "induction", "steps, easier + full", "copying", "steps, easier + full"], made)


def _by_context(rows: Rows, cell: Any) -> str:
    contexts = sorted({row["length"] for row in rows})
    made = []
    for name in _names(rows):
        at = {row["length"]: row for row in rows if row["variant"] == name}
        made.append([name] + [cell(at[n]) if n in at else "" for n in contexts])
    return _table([""] + [f"{int(n)}" for n in contexts], made)


def text_bits(rows: Rows) -> str:
    """Returns the table of losses. Each column has one length and one number of steps."""
    rows = [row for row in rows if row["done"] and row["loss"] is not None]
    columns = sorted({(row["length"], row["steps"]) for row in rows})
    made = []
    for name in causal_variants(64):
        at = {column: statistics.median(losses) / math.log(2) for column in columns
              if (losses := [r["loss"] for r in rows if (r["variant"], r["length"], r["steps"]) == (name, *column)])}
        if at:
            made.append([name] + [f"{at[column]:.3f}" if column in at else "" for column in columns])
    return _table([""] + [f"{length:.0f}, {steps:.0f} steps" for length, steps in columns], made)


def long(rows: Rows) -> str:
    """Returns the losses of runs in one process and of the same runs in two, and the CPU time of a step in process 0."""
    made = []
    of = {row["variant"]: row for row in rows if row["done"]}
    for name, alone in of.items():
        shared = of.get(f"{name}, 2 processes")
        if shared:
            made.append([name, *(f"{row['loss'] / math.log(2):.5f}" for row in (alone, shared)),
                         *(f"{row['step_seconds']:.2f}" for row in (alone, shared))])
    return _table(["", "one process, bits", "two, bits", "one, s of CPU a step", "two, s of CPU a step and process"], made)


def stored(rows: Rows) -> str:
    """Returns the losses of models with stored keys and values, and how much larger than in f32 they are."""
    bits = {row["variant"]: row["loss"] / math.log(2) for row in rows if row["done"]}
    names = [name for name in bits if f"{name}, f32" in bits]
    made = []
    for kind, size in STORED.items():
        cells = [kind, str(size)]
        for name in names:
            loss = bits[f"{name}, {kind}"]
            cells += [f"{loss:.4f}", f"{loss - bits[f'{name}, f32']:+.5f}"]
        made.append(cells)
    return _table(["type", "bytes of a row", *(head for name in names for head in (f"{name}, bits", "more than f32"))], made)


def step_times(rows: Rows) -> Dict[Tuple[str, int], float]:
    """Returns the seconds per step by variant and context, preferably from runs that measured only time."""
    return {(row["variant"], row["length"]): row["step_seconds"] for group in ("text", "text-time-attnc")
            for row in rows if row["group"] == group and row["step_seconds"]}


def text_speed(rows: Rows) -> str:
    times = [{"variant": name, "length": length, "step_seconds": took} for name in causal_variants(64)
             for (of_name, length), took in step_times(rows).items() if of_name == name]
    return _by_context(times, lambda row: f"{1 / row['step_seconds']:.2f}")


def text_time(rows: Rows) -> str:
    by_torch = {row["variant"] for row in rows if row["group"].endswith("torch")}
    kept = [{**row, "variant": f"{row['variant']}, by {'attnc' if row['group'].endswith('attnc') else 'PyTorch'}"}
            for row in rows if row["done"] and row["variant"] in by_torch]
    return _by_context(sorted(kept, key=lambda row: str(row["variant"])),
                       lambda row: f"{1 / row['step_seconds']:.2f}")


def delta(rows: Rows) -> str:
    """Returns the losses of all kinds at the contexts of the delta rule, and the CPU time of a step of new ones."""
    made = []
    for name in [*causal_variants(64), *_names([row for row in rows if row["group"] == "delta"])]:
        at = {row["length"]: row for row in rows if row["variant"] == name and row["done"]}
        cells = [name]
        cells += [_bits(at[n]["loss"]) if n in at else "" for n in DELTA_CONTEXTS]
        cells += [f"{at[n]['step_seconds']:.2f}" if n in at and at[n]["group"] == "delta" else ""
                  for n in DELTA_CONTEXTS]
        made.append(cells)
    heads = [f"{n}, {what}" for what in ("bits", "s of CPU a step") for n in DELTA_CONTEXTS]
    return _table(["", *heads], made)


def _bits(loss: float) -> str:
    return "diverges" if math.isnan(loss) else f"{loss / math.log(2):.3f}"


TABLES = {"thesis": (thesis, ("thesis",)), "thesis-time": (thesis_time, ("thesis-time",)),
          "synthetic": (synthetic, ("induction", "copying")), "bits": (text_bits, ("text",)),
          "delta": (delta, ("text", "delta")), "long": (long, ("long",)), "stored": (stored, ("stored",)),
          "speed": (text_speed, ("text", "text-time-attnc")), "pytorch": (text_time, ("text-time-attnc", "text-time-torch"))}


def pictures(folder: str, into: str = "") -> None:
    """Draws the pictures for which there is enough data."""
    curves = results.read(os.path.join(folder, "curves.csv"))
    rows = results.read(os.path.join(folder, "results.csv"))
    took = step_times(rows)
    into = into or folder

    def of(group: str, variant: str, length: int, seconds: float = 1.0, scale: float = 1.0) -> plot.Points:
        """Returns the longest curve of the first seed as points (time, loss)."""
        found = [row for row in curves if (row["group"], row["variant"], row["length"]) == (group, variant, length)]
        one = min(((row["seed"], -row["of"]) for row in found), default=None)
        return [(row["step"] * seconds, row["loss"] * scale) for row in found
                if (row["seed"], -row["of"]) == one and row["loss"] is not None and not math.isnan(row["loss"])]

    names = ("x^2", "x^4", "x^8", "geometric 3", "learned 3", "softmax", "elu + 1", "fixed learned 2")
    lines = {name: points for name in names if len(points := of("thesis", name, 50)) > 1}
    if lines:
        write(os.path.join(into, "thesis.svg"),
              plot.lines("Reversing 50 integers", "iteration", "loss", lines, log_x=True, log_y=True))
    names = ("softmax", "polynomial 4", "polysketch learned r32 + local", "polysketch random r32 + local",
             "polysketch random r32", "elu + 1", "hedgehog", "performer 256", "window 256", "local blocks 256")
    longest = max(CONTEXTS)
    lines = {name: points for name in names if (name, longest) in took
             and len(points := of("text", name, longest, took[name, longest], 1 / math.log(2))) > 1}
    if lines:
        write(os.path.join(into, "text.svg"),
              plot.lines(f"Language models, context {longest}: loss against time", "seconds of training, one thread",
                         "bits per byte, held out", lines))
    longest = max(DELTA_CONTEXTS)
    kinds = [("text", name) for name in ("softmax", "polysketch learned r32 + local", "window 256", "elu + 1")]
    kinds += [("delta", name) for name in _names([row for row in rows if row["group"] == "delta"])]
    lines = {name: points for group, name in kinds
             if len(points := of(group, name, longest, 1.0, 1 / math.log(2))) > 1}
    if any(group == "delta" and name in lines for group, name in kinds):
        write(os.path.join(into, "delta.svg"), plot.lines(
            f"Language models, context {longest}: the delta rule", "step", "bits per byte, held out", lines))
    lines = {name.replace(" processes", ""): points for name in _names([row for row in rows if row["group"] == "long"])
             if len(points := of("long", name, LONG, 1.0, 1 / math.log(2))) > 1}
    if lines:
        write(os.path.join(into, "long.svg"), plot.lines(
            f"Language models, context {LONG}: one process and two", "step", "bits per byte, held out", lines,
            dashed=[name for name in lines if name.endswith(", 2")]))
    for group, length, title in (("induction", 128, "Induction heads"), ("copying", 64, "Selective copying")):
        lines = {name: points for name in (*SYNTHETIC, UNAIDED) if len(points := of(group, name, length)) > 1}
        if lines:
            write(os.path.join(into, f"{group}.svg"),
                  plot.lines(f"{title}, easier tasks first", "step", "loss", lines, log_y=True))
    speed = {name: sorted((length, 1 / took[name, length]) for of_name, length in took if of_name == name)
             for name in names}
    speed = {name: points for name, points in speed.items() if len(points) > 1}
    if speed:
        write(os.path.join(into, "speed.svg"), plot.lines(
            "Language models: steps a second, 8192 tokens each", "context", "steps a second", speed, log_x=True,
            log_y=True))


def write_all(folder: str, here: str) -> None:
    """Replaces the tables between the marks in README.md, and writes the pictures."""
    path = os.path.join(here, "README.md")
    rows = results.read(os.path.join(folder, "results.csv"))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, (make, groups) in TABLES.items():
        kept = [row for row in rows if row["group"] in groups]
        if kept:
            text, count = re.subn(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)",
                                  lambda match: f"{match[1]}{make(kept)}\n{match[2]}", text, flags=re.S)
            if count != 1:
                raise SystemExit(f"train: error: {path} has {count} places for the table '{name}'")
    write(path, text)
    pictures(folder, here)
