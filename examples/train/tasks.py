"""The tasks, which generate batches, and the loss of a model on a batch."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Dict, Tuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from files import write
from ranks import Ranks

PACKAGE = "python3.11-doc"  # the Debian package with the text
HELD_OUT = 2 ** 18  # the number of bytes of the text that are not trained on

Batch = Tuple[Tensor, Tensor]  # the input, and the expected output at the last positions


class Task:
    symbols: int
    length: int
    held_out = 10  # the number of batches of the final evaluation

    def batch(self, size: int, draw: Generator) -> Batch:
        raise NotImplementedError

    def unseen(self, number: int, size: int) -> Batch:
        """Returns a batch for evaluation. It is new, unless the task has fixed data."""
        return self.batch(size, Generator().manual_seed(2 ** 40 + number))


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    given, wanted = batch
    return F.cross_entropy(model(given, wanted.shape[1]).flatten(0, 1), wanted.flatten())


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, size: int, batches: int, ranks: Ranks) -> Dict[str, float]:
    model.eval()
    sums = torch.zeros(3, dtype=torch.float64)
    for number in range(batches):
        given, wanted = map(ranks.own, task.unseen(number, size))
        with ranks.context:
            scores = model(given, wanted.shape[1])
        sums += torch.tensor([F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), reduction="sum").item(),
                              (scores.argmax(-1) == wanted).sum().item(), wanted.numel()], dtype=torch.float64)
    ranks.add([sums])
    loss, right, count = sums.tolist()
    model.train()
    return {"loss": loss / count, "accuracy": right / count}


class Reverse(Task):
    """The model repeats the integers 0 to 9 in reverse order."""
    symbols = 10

    def __init__(self, length: int) -> None:
        self.length = length

    def batch(self, size: int, draw: Generator) -> Batch:
        given = torch.randint(self.symbols, (size, self.length), generator=draw)
        return given, given.flip(1)


class Mirror(Task):
    """The input has n symbols and then n marks. At the marks, the model predicts the symbols in reverse order.
    Causal attention can learn this."""
    symbols = 11

    def __init__(self, length: int) -> None:
        self.length = length

    def batch(self, size: int, draw: Generator) -> Batch:
        half = self.length // 2
        given = torch.full((size, self.length), self.symbols - 1)
        given[:, :half] = torch.randint(self.symbols - 1, (size, half), generator=draw)
        return given, given[:, :half].flip(1)


class Induction(Task):
    """A special symbol occurs twice, the second time at the end. The model predicts the symbol after its first
    occurrence."""
    symbols, held_out = 16, 256

    def __init__(self, length: int) -> None:
        self.length = length

    def batch(self, size: int, draw: Generator) -> Batch:
        special = self.symbols - 1
        given = torch.randint(special, (size, self.length), generator=draw)
        at = torch.randint(self.length - 2, (size,), generator=draw)
        rows = torch.arange(size)
        given[rows, at], given[:, -1] = special, special
        return given, given[rows, at + 1][:, None]


class Copying(Task):
    """The input has symbols among blanks, and then marks. At the marks, the model predicts the symbols in order."""
    symbols, held_out = 16, 64

    def __init__(self, length: int, copied: int) -> None:
        self.length, self.copied = length, copied

    def batch(self, size: int, draw: Generator) -> Batch:
        blank, mark, room = self.symbols - 2, self.symbols - 1, self.length - self.copied
        places = torch.rand(size, room, generator=draw).argsort(1)[:, :self.copied].sort(1).values
        what = torch.randint(blank, (size, self.copied), generator=draw)
        given = torch.full((size, self.length), blank)
        given.scatter_(1, places, what)
        given[:, room:] = mark
        return given, what


class Text(Task):
    """The model predicts the next byte of a text."""
    symbols, held_out = 256, 16

    def __init__(self, length: int, file: str) -> None:
        self.length = length
        with open(file, "rb") as f:
            every = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
        self.learned, self.kept = every[:-HELD_OUT], every[-HELD_OUT:]
        self.windows = HELD_OUT // (length + 1)

    def _of(self, text: Tensor, begin: Tensor) -> Batch:
        rows = text[begin[:, None] + torch.arange(self.length + 1)].long()
        return rows[:, :-1], rows[:, 1:]

    def batch(self, size: int, draw: Generator) -> Batch:
        return self._of(self.learned, torch.randint(len(self.learned) - self.length, (size,), generator=draw))

    def unseen(self, number: int, size: int) -> Batch:
        begin = (torch.arange(number * size, (number + 1) * size) % self.windows) * (self.length + 1)
        return self._of(self.kept, begin)


# ---- the text


def why_not(file: str, length: int) -> str:
    """Returns why a file cannot be the text for sequences of this length, or ""."""
    try:
        bytes_ = os.path.getsize(file)
        with open(file, "rb"):
            pass
    except OSError as error:
        return str(error.strerror)
    least = HELD_OUT + 2 * (length + 1)
    return "" if bytes_ >= least else (f"it has {bytes_} bytes; expected {least} or more, because its last {HELD_OUT} bytes are "
                                       f"held out and sequences have {length} bytes")


def text_file(folder: str) -> str:
    """Makes one file of Python's documentation. Returns its path. The end has every twentieth document, and is not
    trained on."""
    made = os.path.join(folder, "text")
    if os.path.exists(made):
        return made
    print(f"fetching the text: Debian's package {PACKAGE}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        try:
            for command in (["apt-get", "download", "-qq", PACKAGE], ["sh", "-c", "dpkg-deb -x *.deb ."]):
                subprocess.run(command, cwd=temporary, check=True, stdin=subprocess.DEVNULL, capture_output=True,
                               text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"train: error: no text: {getattr(error, 'stderr', '') or error}\n"
                             "Give one by --text FILE: its last 256 KiB are held out.")
        names = sorted(os.path.join(place, name) for place, _, names in os.walk(temporary) for name in names
                       if name.endswith(".rst.txt"))
        learned, kept = bytearray(), bytearray()
        for number, name in enumerate(names):
            with open(name, "rb") as f:
                (kept if number % 20 == 19 else learned).extend(f.read())
        missing = HELD_OUT - len(kept)
        if missing > 0:
            raise SystemExit(f"train: error: the held-out files are {missing} bytes short")
        write(made, bytes(learned + kept[:HELD_OUT]))
    return made
