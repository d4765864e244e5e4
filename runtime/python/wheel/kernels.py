#!/usr/bin/env python3
"""Compiles kernels ahead, for the wheel. They need no OpenMP library, and only an old glibc.

kernels.py FOLDER KEPT ATTNC [--only WORD,…]: writes HASH-BITS.so into FOLDER for each kernel below (kernel_ready in
compiler/host/host.h). $WHEEL_CC compiles; zig links for $WHEEL_TARGET (see cc). KEPT has the kernels of earlier runs,
by their C code and compiler, so that a run that was stopped goes on where it was."""
from __future__ import annotations

import argparse
import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import runpy
import shlex
import shutil
import subprocess
import tempfile
import time
from typing import Any, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
BITS = {"forward": 1, "backward": 2, "decode": 4}  # EMIT_... of compiler/spec/spec.h; statistics would make forward slower

LINK = ["-shared", "-s", "-Wl,-Bsymbolic"]

HEAD_DIMS = 64, 80, 96, 128, 256, 512
DTYPES = "f32", "bf16"
# Specs of the library, with their settings. The delta rules divide q by the root of head_dim.
DIVIDED = "prepare=[l2norm, {scale: {by: %r}}]"
LIBRARY = {"softmax": "", "softmax_causal": "", "linear_elu": "", "polysketch_r32_local": "", "gated_deltanet": DIVIDED}
# Recurrences of transformers: what makes them (recurrent_spec of _traits.py), and the sizes of a key and a value.
RECURRENT = {"qwen3_next": (True, False, True, 128, 128), "kimi": (True, True, True, 128, 128),
             "mamba2": (False, False, False, 128, 64)}


def specs() -> Iterator[tuple[str, str | None, list[str]]]:
    """Yields a label, the text of the spec, and the settings of each kernel. The text is None for a spec of the
    library."""
    traits: Any = runpy.run_path(os.path.join(os.path.dirname(HERE), "attnc", "_traits.py"))

    def text_of(spec: dict[str, Any]) -> str:
        return "".join(f"{key}: {json.dumps(value)}\n" for key, value in spec.items())

    def of_library(name: str, setting: str, dtype: str, head_dim: int) -> tuple[str, str | None, list[str]]:
        settings = [f"shape.head_dim={head_dim}", f"dtype={dtype}", *([setting % head_dim**-0.5] if setting else [])]
        return f"{name}/{dtype}/{head_dim}", None, settings
    for head_dim, dtype in itertools.product(HEAD_DIMS, DTYPES):
        for name, setting in LIBRARY.items():
            yield of_library(name, setting, dtype, head_dim)
        for cap, sink in itertools.product((False, True), repeat=2):
            label = "numbers" + "_cap" * cap + "_sink" * sink
            spec = traits["spec_of"](traits["Traits"](cap=cap, sink=sink), head_dim, head_dim, dtype)
            yield f"{label}/{dtype}/{head_dim}", text_of(spec), []
    for head_dim in 64, 128:
        yield of_library("kda", DIVIDED, "f32", head_dim)
    for name, words in RECURRENT.items():
        yield f"{name}/f32/{words[3]}", text_of(traits["recurrent_spec"](*words)), []


def sets(settings: list[str], entries: list[str]) -> list[str]:
    return [word for setting in [*settings, f"emit=[{', '.join(entries)}]"] for word in ("--set", setting)]


def described(attnc: str, operand: str, settings: list[str], entries: list[str]) -> dict[str, Any] | None:
    """Returns NAME.json of the spec with these entry points. Returns None if the spec cannot have them."""
    done = subprocess.run([attnc, operand, "--emit", "json", "--stdout", "--quiet", *sets(settings, entries)],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def found(attnc: str, folder: str, place: str, operand: str, settings: list[str], entries: list[str]) -> str:
    """Returns the path of the kernel that attnc finds in the folder without a C compiler, and with an empty cache in
    `place`."""
    done = subprocess.run([attnc, "build", operand, *sets(settings, entries)], capture_output=True, text=True, check=False,
                          env={**os.environ, "ATTNC_KERNELS": folder, "ATTNC_CC": "no-compiler", "XDG_CACHE_HOME": place})
    return done.stdout.strip()


def compiler(target: str) -> list[str]:
    cross = ["--target=aarch64-linux-gnu"] if target.startswith("aarch64") else []
    return [*shlex.split(os.environ.get("WHEEL_CC", "clang-19")), *cross, "-O2", "-std=gnu11", "-fPIC", "-c"]


@functools.lru_cache(maxsize=None)
def tools(target: str) -> bytes:
    """Returns what a compiled kernel depends on besides its C code."""
    version = subprocess.run([*compiler(target)[:-1], "--version"], stdout=subprocess.PIPE, check=True).stdout
    with open(os.path.join(HERE, "cc"), "rb") as linker:
        return b"\0".join([target.encode(), " ".join(compiler(target) + LINK).encode(), version, linker.read()])


def compiled(base: str, kept: str, target: str) -> tuple[str, bool]:
    """Returns the path in `kept` of the shared library for BASE.c, and whether it had to be compiled."""
    with open(base + ".c", "rb") as code:
        name = hashlib.sha256(tools(target) + code.read()).hexdigest()[:32] + ".so"
    path = os.path.join(kept, name)
    if os.path.exists(path):
        return path, False
    subprocess.run([*compiler(target), base + ".c", "-o", base + ".o"], check=True)
    subprocess.run([os.path.join(HERE, "cc"), *LINK, "-o", base + ".so", base + ".o", "-lm"], check=True)
    shutil.copyfile(base + ".so", f"{path}.{os.getpid()}")
    os.replace(f"{path}.{os.getpid()}", path)
    return path, True


def build(attnc: str, folder: str, kept: str, target: str, label: str, text: str | None,
          settings: list[str]) -> tuple[str, int, str]:
    """Compiles one kernel with all entry points that it can have. Returns a line about it, its size, and its path in
    `kept`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attnc-wheel-") as place:
        operand = label.partition("/")[0]
        if text is not None:
            operand = os.path.join(place, operand + ".yaml")
            with open(operand, "w", encoding="utf-8") as file:
                file.write(text)
        entries = ["forward"]
        for word in list(BITS)[1:]:
            if described(attnc, operand, settings, [*entries, word]):
                entries.append(word)
        named = [*settings, "name=attention"]
        says = described(attnc, operand, named, entries)
        if says is None:
            raise SystemExit(f"kernels.py: {label} cannot be compiled")
        targets = "aarch64,generic" if target.startswith("aarch64") else "x86-64-v4,x86-64-v3,generic"
        subprocess.run([attnc, operand, "--standalone", "--target", targets, "--quiet", "-o", place,
                        *sets(named, entries)], check=True)
        path, is_new = compiled(os.path.join(place, "attention"), kept, target)
        made = os.path.join(folder, f"{says['hash'][:32]}-{sum(BITS[word] for word in entries):x}.so")
        shutil.copyfile(path, made)
        for some in (["forward"], entries):
            if found(attnc, os.path.abspath(folder), place, operand, settings, some) != os.path.abspath(made):
                raise SystemExit(f"kernels.py: attnc does not find {label}, compiled ahead")
        took = f"{time.monotonic() - began:.0f} s" if is_new else "kept"
        return f"{label}: {', '.join(entries)}, {os.path.getsize(made) // 1024} KiB, {took}", os.path.getsize(made), path


def main() -> None:
    options = argparse.ArgumentParser(
        usage="./dev wheel [--machine aarch64] [--test] [--only WORD,…] [--jobs N]",
        description="Builds the Python package, and compiles kernels for it. A kernel's label is NAME/DTYPE/HEAD_DIM/, "
                    "as in softmax_causal/f32/64/; numbers is softmax with scale, window and padding as arguments of "
                    "the call.")
    options.add_argument("folder", help=argparse.SUPPRESS)
    options.add_argument("kept", help=argparse.SUPPRESS)
    options.add_argument("attnc", help=argparse.SUPPRESS)
    options.add_argument("--machine", help="aarch64: the wheel is for this processor, made by cross compilers")
    options.add_argument("--test", action="store_true",
                         help="then install the wheel in a Debian with Python alone, and call kernels there; needs root")
    options.add_argument("--only", default="", metavar="WORD,…",
                         help="only the kernels whose labels contain one of these words")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                         help="kernels at a time (default: processors)")
    given = options.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    os.makedirs(given.kept, exist_ok=True)
    target = os.environ["WHEEL_TARGET"]
    chosen = [one for one in specs() if any(word in one[0] + "/" for word in given.only.split(","))]
    if not chosen:
        options.error(f"no label contains '{given.only}'; the labels: {' '.join(one[0] for one in specs())}")
    total, used = 0, set()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        each = [pool.submit(build, given.attnc, given.folder, given.kept, target, *one) for one in chosen]
        for number, one in enumerate(concurrent.futures.as_completed(each), 1):
            line, size, path = one.result()
            total += size
            used.add(os.path.basename(path))
            print(f"{number}/{len(each)} {line}", flush=True)
    print(f"{len(each)} kernels, {total / 2**20:.1f} MiB")
    if not given.only:
        for stale in set(os.listdir(given.kept)) - used:
            os.remove(os.path.join(given.kept, stale))


if __name__ == "__main__":
    main()
