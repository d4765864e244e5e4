"""The table of experiments: all runs, by group."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from variants import BLOCK, THESIS, causal_variants, delta_variants, polysketch, square


@dataclasses.dataclass(frozen=True)
class Run:
    group: str
    variant: str
    spec: Mapping[str, Any]
    task: str
    length: int
    seed: int
    steps: int
    batch: int
    rate: float
    model: str = "decoder"
    width: int = 32
    heads: int = 1
    layers: int = 1
    conv: int = 0              # the width of the convolution of q, k and v
    kernels: str = "attnc"     # "attnc", or "torch": composed of PyTorch's operations
    every: int = 100           # steps between evaluations; if 0, only time is measured
    early: int = 0             # steps between evaluations in the first tenth
    # In these steps, the learning rate rises. Then it falls as a cosine. If there are 0 steps, the rate is constant.
    warmup: int = 0
    until: float = 0.0         # the run ends early at this loss
    most: Optional[float] = None  # train.py reports FAIL if the final loss is higher
    coefficients_of: str = ""  # the run whose learned coefficients this one uses
    copied: int = 0
    easier: Tuple[Tuple[int, int], ...] = ()  # easier tasks to learn first: (length, symbols to copy)
    broken: bool = False       # this run is a control: its queries and keys get no gradients
    ranks: int = 1             # the number of processes that share each sequence
    stored: Tuple[str, ...] = ()  # types in which the final model stores keys and values, for an evaluation each

    @property
    def name(self) -> str:
        return f"{self.group}/{self.variant}/{self.length}/{self.seed}".replace(" ", "_")

    def evaluates(self, step: int) -> bool:
        if not self.every or not step:
            return False
        often = self.early if self.early and step <= self.steps // 10 else self.every
        return step % often == 0 or step == self.steps


    @property
    def divides(self) -> bool:
        """True if sequences can be divided over processes. Convolutions would need positions of another process."""
        return self.task == "text" and not self.conv


def divided(run: Run, ranks: int) -> Run:
    """Returns the same run on sequences that are divided over processes."""
    return dataclasses.replace(run, variant=f"{run.variant}, {ranks} processes", ranks=ranks)


SEEDS = range(1, 6)

# ---- the thesis

# Losses after 10,000 iterations, as published in the thesis. Its last comparison is left out, because it does not name
# the variants.
PUBLISHED = {
    "x^2": 0.196, "x^4": 0.0199, "x^8": 4.1e-6,
    **{f"geometric {d}": loss for d, loss in enumerate((2.208, 0.180, 1.2e-5, 0.143, 4.7e-6, 0.093), 1)},
    **{f"learned {d}": loss for d, loss in enumerate((0.217, 5.6e-6, 4.5e-6, 0.188, 1.7e-5, 1.3e-5), 1)},
}


def thesis(seeds: Any = SEEDS, steps: int = 10_000) -> List[Run]:
    def run(variant: str, spec: Mapping[str, Any], seed: int, **more: Any) -> Run:
        return Run("thesis", variant, spec, "reverse", 50, seed, steps, 128, 1e-3, model="encoder", early=10, **more)

    made = []
    for seed in seeds:
        made += [run(name, spec, seed) for name, spec in THESIS.items()]
        source = next(r for r in made if r.variant == "learned 2" and r.seed == seed)
        made.append(run("fixed learned 2", square(2, [1.0, 1.0, 1.0]), seed, coefficients_of=source.name))
    return made


def thesis_time() -> List[Run]:
    """Returns runs that measure only time, around the lengths where linear kernels become faster."""
    linear = ("x^2", "geometric 1", "learned 1", "elu + 1")
    made = []
    for length, steps in (50, 60), (500, 20), (5000, 6):
        for name in ("x^2", "x^4", "x^8", "geometric 1", "geometric 3", "learned 1", "softmax", "elu + 1"):
            for form in ("quadratic", "linear") if name in linear else ("quadratic",):
                made.append(Run("thesis-time", f"{name}, {form}", {**THESIS[name], "algorithm": form}, "reverse",
                                length, 1, steps, 16, 1e-3, model="encoder", every=0))
    return made


# ---- PolySketchFormer, appendix F


SYNTHETIC = ("softmax", "polynomial 4", "polynomial 8", "polysketch random r32", "polysketch learned r32")

UNAIDED = "softmax, full length from the start"


def synthetic(seeds: Any = (1,)) -> List[Run]:
    every = causal_variants(16)
    shared: Dict[str, Any] = {"width": 128, "heads": 8, "layers": 2, "warmup": 50, "every": 25, "until": 2e-4}
    made = []
    for seed in seeds:
        for name in SYNTHETIC:
            # Training with sketches starts slowly.
            steps, rate = (2_000, 1e-3) if name.startswith("polysketch") else (1_000, 2e-3)
            made.append(Run("induction", name, every[name], "induction", 128, seed, steps, 16, rate,
                            easier=((16, 0), (32, 0), (64, 0)), **shared))
        made.append(dataclasses.replace(made[-len(SYNTHETIC)], variant=UNAIDED, easier=()))
    for seed in seeds:
        for name in SYNTHETIC:
            rate = 2e-3 if name in ("softmax", "polynomial 4") else 1e-3
            made.append(Run("copying", name, every[name], "copying", 64, seed, 2_000, 16, rate,
                            easier=((8, 2), (16, 4), (32, 8)), copied=8, **shared))
    return made


# ---- PolySketchFormer, tables 2 to 4

TOKENS = 8192  # the number of tokens per step
CONTEXTS = (512, 1024, 2048, 4096, 8192)


def text(steps: int = 256) -> List[Run]:
    return [Run("text", name, spec, "text", length, 1, steps, TOKENS // length, 4e-3, width=64, layers=2,
                warmup=20, every=32)
            # The longest contexts come first.
            for length in reversed(CONTEXTS) for name, spec in causal_variants(64).items()]


DELTA_CONTEXTS = (512, 8192)
CONV = 4  # the width of convolutions


def delta(steps: int = 256) -> List[Run]:
    """Returns runs with the delta rule, with and without convolutions of q, k and v, and softmax with convolutions."""
    kinds = [(name, spec, conv) for conv in (0, CONV) for name, spec in delta_variants(64).items()]
    kinds.append(("softmax", causal_variants(64)["softmax"], CONV))
    return [Run("delta", f"{name} + conv" if conv else name, spec, "text", length, 1, steps, TOKENS // length, 4e-3,
                width=64, layers=2, conv=conv, warmup=20, every=32)
            for length in DELTA_CONTEXTS for name, spec, conv in kinds]


LONG = 65_536  # the number of tokens of a sequence that processes share


def long(steps: int = 32) -> List[Run]:
    """Returns runs with one long sequence per step, in one process and divided over two."""
    every = {**causal_variants(64), **delta_variants(64)}
    alone = [Run("long", name, every[name], "text", LONG, 1, steps, 1, 4e-3, width=64, layers=2, warmup=8, every=4)
             for name in ("polysketch random r32 + local", f"window {BLOCK}", "gated deltanet")]
    return [run for one in alone for run in (one, divided(one, 2))]


# The types of stored keys and values, and the bytes of a row of 64.
STORED = {"f32": 256, "f16": 128, "bf16": 128, "i8": 68, "q8_0": 68, "fp8": 64, "q4_0": 36}


def stored(steps: int = 256) -> List[Run]:
    """Returns runs whose final models are evaluated with keys and values stored in fewer bytes."""
    every = causal_variants(64)
    return [Run("stored", name, every[name], "text", 512, 1, steps, TOKENS // 512, 4e-3, width=64, layers=2, warmup=20,
                every=32, stored=tuple(STORED)) for name in ("softmax", f"window {BLOCK}")]


def text_time() -> List[Run]:
    """Returns runs that measure only time, with attnc or with PyTorch's operations."""
    every = causal_variants(64)
    composed = ("softmax", "polysketch random r32", "polysketch random r32 + local")
    return [Run(f"text-time-{kernels}", name, every[name], "text", length, 1, 8, TOKENS // length, 4e-3,
                width=64, layers=2, warmup=20, every=0, kernels=kernels)
            for kernels, names in (("attnc", tuple(every)), ("torch", composed))
            for length in CONTEXTS for name in names]


# ---- quick: runs of three minutes in all


def quick() -> List[Run]:
    """Trains each kind of attention to a loss that it reaches only with correct gradients."""
    thesis_kinds = {name: THESIS[name] for name in ("x^4", "geometric 2", "learned 2", "softmax", "elu + 1")}
    made = [Run("quick", name, spec, "reverse", 12, 1, 1500, 32, 4e-3, model="encoder", every=25, until=0.5, most=0.5)
            for name, spec in thesis_kinds.items()]
    made.append(dataclasses.replace(made[3], variant="control, softmax", until=0.0, most=None, steps=500, broken=True))
    every = causal_variants(16)
    causal = {
        **{name: every[name] for name in ("polynomial 4", "hedgehog")},
        **{f"polysketch {kind} r8 + local": polysketch(8, kind, 16, local=8) for kind in ("random", "learned")},
        "performer 32": {**every["performer 256"],
                         "similarity": {"linear": {"features": {"favor_positive": {"count": 32, "orthogonal": True}}}}},
        "window 24": {**every[f"window {BLOCK}"], "mask": {"window": {"left": 23}}},
    }
    made += [Run("quick", f"causal {name}", spec, "mirror", 24, 1, 1500, 32, 4e-3, model="encoder", heads=2, every=25,
                 until=0.5, most=0.5) for name, spec in causal.items()]
    return made


GROUPS: Dict[str, Callable[[], List[Run]]] = {
    "thesis": thesis, "thesis-time": thesis_time, "synthetic": synthetic, "text": text, "delta": delta, "long": long,
    "stored": stored, "text-time": text_time,
}
