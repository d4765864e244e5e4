"""Trains the model of one run and stores its loss curve. A run that is stopped and continued gives the result of an
uninterrupted run."""
from __future__ import annotations

import io
import json
import math
import os
import statistics
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch import nn

import models
import tasks
from experiments import Run
from files import write
from ranks import Ranks, divide
from results import record_of
from variants import square

SAVES_EVERY = 30.0  # the seconds between two checkpoints
SAMPLES = 10         # the number of batches whose losses are averaged for one point of the curve
LEARNED = 0.1        # below this loss, the next task begins
Tell = Callable[[int, Optional[float]], None]  # the step, and the last point of the curve if there is one


class Missing(Exception):
    """The result of another run is missing."""


def spec_of(run: Run, folder: str) -> Any:
    if not run.coefficients_of:
        return run.spec
    learned = record_of(folder, run.coefficients_of).get("coefficients")
    if not learned:
        raise Missing(run.coefficients_of)
    return square(len(learned) - 1, learned)


def task_of(run: Run, text: str, length: int, copied: int) -> tasks.Task:
    if run.task == "text":
        return tasks.Text(length, text)
    if run.task == "copying":
        return tasks.Copying(length, copied)
    return {"reverse": tasks.Reverse, "mirror": tasks.Mirror, "induction": tasks.Induction}[run.task](length)


class _NoGradients(nn.Module):
    def __init__(self, attend: nn.Module) -> None:
        super().__init__()
        self.attend = attend

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.attend(q.detach(), k.detach(), v)
        return made


def model_of(run: Run, task: tasks.Task, spec: Any) -> nn.Module:
    def attend(layer: int) -> nn.Module:
        made = models.attention(spec, run.heads, 1000 * run.seed + layer, run.kernels)
        for name, weight in made.named_parameters():
            if name == "coefficients":  # initialised as in the thesis
                nn.init.uniform_(weight, -50, 50)
        return _NoGradients(made) if run.broken else made

    torch.manual_seed(run.seed)
    if run.model == "encoder":
        return models.Encoder(task.symbols, task.length, run.width, run.heads, attend(0))
    return models.Decoder(task.symbols, run.width, run.heads, run.layers, attend, run.conv)


def rate_at(run: Run, step: int) -> float:
    if not run.warmup:
        return run.rate
    if step < run.warmup:
        return run.rate * (step + 1) / run.warmup
    done = (step - run.warmup) / max(1, run.steps - run.warmup)
    return run.rate * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


class Training:
    """The state of a run, which a checkpoint stores."""
    KEPT = ("step", "seconds", "curve", "times", "losses", "begun")

    def __init__(self, run: Run, folder: str, text: str, ranks: Ranks) -> None:
        self.run, self.folder, self.ranks = run, folder, ranks
        self.spec = spec_of(run, folder)
        self.tasks = [task_of(run, text, *each) for each in (*run.easier, (run.length, run.copied))]
        self.model = model_of(run, self.tasks[-1], self.spec)
        decay = 0.1 if run.task == "text" else 0.01
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=run.rate, weight_decay=decay, fused=True)
        self.draw = torch.Generator().manual_seed(run.seed)
        self.step, self.seconds = 0, 0.0
        self.curve: List[Dict[str, float]] = []
        self.times: List[float] = []
        self.losses: List[float] = []  # the losses of the last batches of the current task
        self.begun = [0]               # the step at which each task began
        self.final: Dict[str, float] = {}
        self.path = os.path.join(folder, "runs", run.name + ".pt")
        if os.path.exists(self.path):
            self._load()

    def _load(self) -> None:
        kept = torch.load(self.path, weights_only=True)
        self.model.load_state_dict(kept["model"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.draw.set_state(kept["draw"])
        for name in self.KEPT:
            if name in kept:  # checkpoints of older versions lack some names
                setattr(self, name, kept[name])

    @property
    def task(self) -> tasks.Task:
        return self.tasks[len(self.begun) - 1]

    @property
    def is_last_task(self) -> bool:
        return len(self.begun) == len(self.tasks)

    def save(self) -> None:
        if self.ranks.rank:
            return  # process 0 saves
        made = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
                    "draw": self.draw.get_state(), **{name: getattr(self, name) for name in self.KEPT}}, made)
        write(self.path, made.getvalue())
        self._record(False)

    def _record(self, done: bool) -> None:
        later = self.times[len(self.times) // 4:]  # the first quarter of the steps includes loading
        made = {"done": done, "final": self.final, "step": self.step, "seconds": round(self.seconds, 3),
                "curve": self.curve, "begun": self.begun,
                "step_seconds": round(statistics.median(later), 6) if later else None}
        for name, weight in self.model.named_parameters():
            if name.endswith(".coefficients"):
                made["coefficients"] = weight.tolist()
        write(os.path.join(self.folder, "runs", self.run.name + ".json"), json.dumps(made))

    def one(self) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(self.run, self.step)
        batch = self.task.batch(self.run.batch, self.draw)
        given, wanted = map(self.ranks.own, batch)
        with self.ranks.context:
            loss = tasks.loss_of(self.model, (given, wanted)) * (wanted.numel() / batch[1].numel())
        self.optimiser.zero_grad()
        loss.backward()
        loss = loss.detach()
        self.ranks.add([loss, *(p.grad for p in self.model.parameters() if p.grad is not None)])
        if self.run.warmup:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        self.losses = [*self.losses, loss.item()][-SAMPLES:]
        self.seconds += time.perf_counter() - begun
        if len(self.times) < 500:  # CPU time, which other programs disturb less
            self.times.append(time.process_time() - worked)

    def measure(self) -> float:
        """Adds a point to the curve. For text, it is the loss on held-out text. Otherwise, it is the mean loss of
        the last batches: each batch is new, so none was trained on before."""
        if isinstance(self.task, tasks.Text):
            found = tasks.evaluate(self.model, self.task, self.run.batch, self.task.held_out // 4, self.ranks)
        else:
            found = {"loss": statistics.fmean(self.losses)}
        self.curve.append({"step": self.step, "seconds": round(self.seconds, 3), **found})
        return found["loss"]

    def advance(self) -> None:
        """Continues with the next task if the current task is learned."""
        if not self.is_last_task and len(self.losses) == SAMPLES and statistics.fmean(self.losses) < LEARNED:
            self.begun.append(self.step)
            self.losses = []

    def evaluate(self) -> Dict[str, float]:
        return tasks.evaluate(self.model, self.tasks[-1], self.run.batch, self.tasks[-1].held_out, self.ranks)

    def losses_of_stored(self) -> Iterator[Tuple[str, float]]:
        """Yields the types of run.stored, and the losses of the model with keys and values in them."""
        layers = [module for module in self.model.modules() if isinstance(module, models.Heads)]
        attends = [layer.attend for layer in layers]
        for kind in self.run.stored:
            for layer, attend in zip(layers, attends):
                layer.attend = models.Stored(attend, self.spec, kind)
            yield kind, self.evaluate()["loss"]
        for layer, attend in zip(layers, attends):
            layer.attend = attend

    def finish(self) -> None:
        if self.curve:
            self.final = self.evaluate()
            self.final.update({f"loss, {kind}": loss for kind, loss in self.losses_of_stored()})
        if self.ranks.rank:
            return
        self._record(True)
        if os.path.exists(self.path):
            os.remove(self.path)


def train(run: Run, folder: str, text: str, is_stopped: Callable[[], bool], tell: Tell) -> bool:
    """Returns True if the run is complete. If it was stopped, it left a checkpoint."""
    torch.set_num_threads(1)
    return divide(run.ranks, _train, (run, folder, text), (is_stopped, tell))


def _train(ranks: Ranks, run: Run, folder: str, text: str, is_stopped: Callable[[], bool] = lambda: False,
           tell: Tell = lambda step, loss: None) -> bool:
    at = Training(run, folder, text, ranks)
    saved = told = time.monotonic()
    loss = at.curve[-1]["loss"] if at.curve else None
    while at.step < run.steps:
        at.one()
        if run.evaluates(at.step):
            loss = at.measure()
            if loss < run.until and at.is_last_task or math.isnan(loss):
                break
        at.advance()
        now = time.monotonic()
        if now - told > 0.5 and not at.ranks.rank:
            tell(at.step, loss)
            told = now
        if at.ranks.any(is_stopped()) and at.step < run.steps:
            at.save()
            return False
        if now - saved > SAVES_EVERY:
            at.save()
            saved = now
    at.finish()
    return True
