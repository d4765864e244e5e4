#!/usr/bin/env python3
"""Draws what `server FILE.csv` wrote: picture.py FILE.csv memory.svg speed.svg"""
import csv
import os
import sys

# plot.py may also be next to this file, where Python looks first
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
try:
    import plot
except ImportError:
    sys.exit("picture.py: error: there is no plot.py; copy examples/train/plot.py of attnc next to picture.py")

STEPS = 16   # a point of the speed is the mean of these


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    rows = {}
    with open(sys.argv[1]) as f:
        for row in csv.DictReader(f):
            rows.setdefault(row["kernel"], []).append({k: float(x) for k, x in row.items() if k != "kernel"})
    memory = {name: [(r["step"], r["bytes"] / 2 ** 20) for r in steps[::4]] for name, steps in rows.items()}
    speed = {name: [(part[0]["step"], sum(r["tokens"] for r in part) / sum(r["seconds"] for r in part))
                    for part in (steps[n:n + STEPS] for n in range(0, len(steps), STEPS))]
             for name, steps in rows.items()}
    for path, title, name, curves in ((sys.argv[2], "Memory of 64 sequences that share 1024 tokens", "MiB", memory),
                                      (sys.argv[3], "Tokens in a second", "tokens/s", speed)):
        with open(path, "w") as f:
            f.write(plot.lines(title, "step", name, curves))


if __name__ == "__main__":
    main()
