"""Divides the sequences of a run over processes of torch.distributed."""
from __future__ import annotations

import contextlib
import datetime
import multiprocessing
import os
import signal
import tempfile
from multiprocessing import resource_tracker
from typing import Any, Callable, Iterable, Sequence, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

import attnc.torch

T = TypeVar("T")
STOPS = (signal.SIGINT, signal.SIGTERM)


class Ranks:
    """One of `count` processes. It has consecutive positions of every sequence, process 0 the first ones."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count
        self.context: Any = attnc.torch.ContextParallel() if count > 1 else contextlib.nullcontext()

    def own(self, rows: Tensor) -> Tensor:
        """Returns this process's positions of rows[batch, position]."""
        return rows.tensor_split(self.count, 1)[self.rank] if self.count > 1 else rows

    def add(self, parts: Iterable[Tensor]) -> None:
        """Replaces each tensor by its sum over all processes."""
        if self.count == 1:
            return
        every = list(parts)
        flat = torch.cat([part.flatten() for part in every])
        dist.all_reduce(flat)
        for part, sums in zip(every, flat.split([part.numel() for part in every])):
            part.copy_(sums.view_as(part))

    def any(self, flag: bool) -> bool:
        """Returns True in all processes if the flag is True in one."""
        number = torch.tensor([float(flag)])
        self.add([number])
        return bool(number)


def _peer(rank: int, count: int, meeting: str, function: Callable[..., Any], given: Sequence[Any]) -> None:
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)  # process 0 tells when to stop
    torch.set_num_threads(1)
    _join(rank, count, meeting)
    function(Ranks(rank, count), *given)


def _join(rank: int, count: int, meeting: str) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name may have no address
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=count,
                            timeout=datetime.timedelta(minutes=5))


def divide(count: int, function: Callable[..., T], given: Sequence[Any], own: Sequence[Any]) -> T:
    """Calls function(Ranks, *given) in `count` processes of this machine. This one is process 0, where `own` arguments
    follow; the others are ended when it has returned. Returns its result."""
    if count == 1:
        return function(Ranks(), *given, *own)
    # A fork of this process could hang: it may have the group of an earlier call, but not the group's threads.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["attnc.torch"])
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        peers = [context.Process(target=_peer, args=(rank, count, meeting, function, given), daemon=True)
                 for rank in range(1, count)]
        resource_tracker.ensure_running()  # its start would unblock the signals
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # Ctrl-C would end peers that are just starting
        for peer in peers:
            peer.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            _join(0, count, meeting)
            return function(Ranks(0, count), *given, *own)
        finally:
            for peer in peers:
                peer.kill()  # after an exception here, it would wait for a message
            if dist.is_initialized():
                dist.destroy_process_group()
