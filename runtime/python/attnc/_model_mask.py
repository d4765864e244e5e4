"""Turns masks of transformers into numbers and arrays that a kernel takes."""
from __future__ import annotations

import functools
import importlib
from typing import Any, Dict, NoReturn, Optional, Tuple, Union

import torch
from torch import Tensor

from ._context import is_traced, is_undisturbed

FAR = 1 << 30  # a distance that no query has from a key
_utils: Any = importlib.import_module("transformers.masking_utils")


class Unknown(Exception):
    """A mask function whose meaning is unknown."""


class Mask:
    """The keys that the queries of a call see. Query `row` is at position p = row + at, and sees key j if

    - p - j < left, j - p <= right, and since <= j < until for its sequence,
    - kept[b][j], ids[b][p] == ids[b][j] and seen[b][row][j], as far as the mask has these arrays.

    Models pass it from the function that makes masks to that of attention, and do not look inside."""

    ndim = 4

    def __init__(self, batch: int, n_q: int, n_k: int, at: Union[int, Tensor] = 0, left: int = FAR, right: int = FAR,
                 since: Optional[Tensor] = None, until: Optional[Tensor] = None, kept: Optional[Tensor] = None,
                 ids: Optional[Tensor] = None, seen: Optional[Tensor] = None) -> None:
        self.batch, self.n_q, self.n_k = batch, n_q, n_k
        self.at, self.left, self.right, self.since, self.until = at, left, right, since, until
        self.kept, self.ids, self.seen = kept, ids, seen
        self.shape = (batch, 1, n_q, n_k)
        self.arrays: Dict[int, Dict[str, Any]] = {}  # the arguments that numbers() made, by batch size
        self.plans: Dict[Any, Any] = {}  # what the layers that share this mask have in common (_model_attention.py)

    def numbers(self, batch: int) -> Dict[str, Any]:
        """Returns the arguments of a kernel for a call with `batch` sequences."""
        made = self.arrays.get(batch)
        if made is None:
            made = {"left": self.left, "right": self.right}
            for name, value, otherwise in (
                    ("at", self.at, 0), ("since", self.since, 0), ("until", self.until, self.n_k)):
                if isinstance(value, Tensor):
                    made[name] = value.to(torch.int32).expand(batch).contiguous()
                else:
                    made[name] = torch.full((batch,), otherwise if value is None else value, dtype=torch.int32)
            for name in "kept", "ids", "seen":
                array = getattr(self, name)
                if array is not None:
                    made[name] = array.expand(batch, *array.shape[1:]).contiguous()
            self.arrays[batch] = made
        return made

    def tensor(self) -> Tensor:
        """Returns the mask as truth values, [batch, 1, n_q, n_k]."""
        row, j = torch.arange(self.n_q).view(-1, 1), torch.arange(self.n_k)
        numbers = self.numbers(self.batch)
        p = row + numbers["at"].view(-1, 1, 1)
        made: Tensor = (p - j < self.left) & (j - p <= self.right)
        made = made & (j >= numbers["since"].view(-1, 1, 1)) & (j < numbers["until"].view(-1, 1, 1))
        if self.kept is not None:
            made = made & numbers["kept"].unsqueeze(1)
        if self.ids is not None:
            ids = numbers["ids"]
            of_row = ids.gather(1, p[:, :, 0].clamp(0, self.n_k - 1).long())
            made = made & (of_row.unsqueeze(2) == ids.unsqueeze(1))
        if self.seen is not None:
            made = made & numbers["seen"]
        return made.unsqueeze(1)

    def contiguous(self) -> Mask:
        return self

    def to(self, *_: Any, **__: Any) -> Mask:
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"the mask of attn_implementation='attnc' has no {name!r}, because it is not a tensor; "
                             "code that works on the elements of a mask needs attn_implementation='eager'")

    def __getitem__(self, index: Any) -> NoReturn:
        self.__getattr__("elements")


# ---- masks without arrays


def bounded(batch: int, n_q: int, n_k: int, at: Any, left: int, right: int) -> Mask:
    """Returns a mask without arrays. Calls with the same sizes share it, so the layers of a model share its plans."""
    sizes = batch, n_q, n_k, at, left, right
    shares = type(at) is int and not is_traced() and is_undisturbed()
    if not shares or torch._C._len_torch_function_stack():
        return Mask(*sizes)
    return _shared(*sizes, torch.is_inference_mode_enabled())


@functools.lru_cache(maxsize=64)
def _shared(batch: int, n_q: int, n_k: int, at: int, left: int, right: int, _: bool) -> Mask:
    """Implements bounded(). Gradients cannot use the tensors of inference mode, so its masks are separate."""
    if n_q + at <= left and n_k - at <= right + 1:  # it hides no key
        made = Mask(batch, n_q, n_k)
        made.arrays, made.plans = _of_all_keys(batch, n_q, torch.is_inference_mode_enabled())
        return made
    return Mask(batch, n_q, n_k, at, left, right)


@functools.lru_cache(maxsize=64)
def _of_all_keys(batch: int, n_q: int, _: bool) -> Tuple[Dict[int, Dict[str, Any]], Dict[Any, Any]]:
    """Returns the arrays and plans of masks that hide no key. They suit any number of keys, so the next token of a
    model needs no new ones."""
    mask = Mask(batch, n_q, FAR)
    mask.numbers(batch)
    return mask.arrays, mask.plans


# ---- mask functions


def _captured(function: Any) -> Dict[str, Any]:
    return dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))


class _Told:
    """The meaning of a mask function: its window, and arrays over key positions."""

    def __init__(self) -> None:
        self.left = self.right = FAR
        self.ids: Optional[Tensor] = None
        self.remapped: Optional[Tensor] = None  # positions inside packed sequences, which need the ids of the sequences
        self.chunk: Optional[Tuple[int, Tensor]] = None

    def add(self, function: Any) -> None:
        """Adds what a function hides. Raises Unknown for a function that is not of transformers.masking_utils."""
        if function is _utils.causal_mask_function:
            self.right = min(self.right, 0)
            return
        if function is _utils.bidirectional_mask_function:
            return
        # torch.compile does not show what a function has captured
        if is_traced() or getattr(function, "__module__", None) != _utils.__name__:
            raise Unknown
        name = function.__qualname__.partition(".")[0]
        if name == "and_masks":
            for part in _captured(function)["mask_functions"]:
                self.add(part)
        elif name == "sliding_window_overlay":
            self.left = min(self.left, int(_captured(function)["sliding_window"]))
        elif name == "sliding_window_bidirectional_overlay":
            width = int(_captured(function)["sliding_window"])
            self.left, self.right = min(self.left, width + 1), min(self.right, width)
        else:
            self._add_ids(name, function)

    def _add_ids(self, name: str, function: Any) -> None:
        captured = _captured(function)
        if name == "packed_sequence_mask_function" and self.ids is None:
            self.ids = captured["packed_sequence_mask"]
        elif name == "chunked_overlay" and self.chunk is None:
            self.chunk = int(captured["chunk_size"]), captured["left_padding"]
        elif name == "remap_positions_for_packed_sequence" and self.remapped is None:
            inner = _Told()
            inner.add(captured["mask_function"])
            if inner.ids is not None or inner.chunk is not None or inner.remapped is not None:
                raise Unknown
            self.remapped = captured["position_ids"]
            self.left, self.right = min(self.left, inner.left), min(self.right, inner.right)
        else:
            raise Unknown

    def ids_of_keys(self, n_q: int, n_k: int, offset: int) -> Optional[Tensor]:
        """Returns the ids [B, n_k] that query and key must share. Raises Unknown if there are several kinds of ids."""
        if self.remapped is not None:
            # a window of positions is a window of indices if each step inside an id is 1
            steps = torch.diff(self.remapped, dim=-1) == 1
            if self.ids is None or not bool((steps | (torch.diff(self.ids, dim=-1) != 0)).all()):
                raise Unknown
        if self.ids is not None:
            if self.chunk is not None or offset or n_q != n_k or self.ids.shape[-1] != n_k:
                raise Unknown
            return self.ids.to(torch.int32)
        if self.chunk is not None:
            size, padding = self.chunk
            j = torch.arange(offset, offset + n_k)
            return torch.div(j - padding.view(-1, 1), size, rounding_mode="floor").to(torch.int32)
        return None


def _runs(kept: Tensor) -> Optional[Tuple[Tensor, Tensor]]:
    """Returns the first key that each sequence keeps, and the end of its keys. Returns None if a sequence has a gap."""
    until = kept.shape[-1] - kept.flip(-1).int().argmax(-1)
    since = kept.int().argmax(-1)
    count = kept.sum(-1)
    until = torch.where(count > 0, until, since)
    return (since, until) if bool((until - since == count).all()) else None


def mask(batch_size: int, q_length: int, kv_length: int, q_offset: Union[int, Tensor] = 0, kv_offset: int = 0,
         mask_function: Any = None, attention_mask: Any = None, use_vmap: bool = False, **_: Any) -> Mask:
    """Returns the mask of a call."""
    if isinstance(attention_mask, Mask):
        return attention_mask
    sizes = batch_size, q_length, kv_length
    told = _Told()
    try:
        told.add(_utils.causal_mask_function if mask_function is None else mask_function)
        ids = told.ids_of_keys(q_length, kv_length, kv_offset)
    except Unknown:
        made: Tensor = _utils.sdpa_mask(
            batch_size=batch_size, q_length=q_length, kv_length=kv_length, q_offset=q_offset, kv_offset=kv_offset,
            mask_function=mask_function, attention_mask=attention_mask, allow_is_causal_skip=False,
            allow_is_bidirectional_skip=False, use_vmap=use_vmap)
        return Mask(*sizes, seen=made[:, 0] if made.shape[1] == 1 else made)
    at = q_offset - kv_offset
    kept = _kept_keys(attention_mask, kv_length, kv_offset)
    if kept is None:
        of_token = q_length == 1 and ids is None  # plans of longer calls would keep their large arrays
        return bounded(*sizes, at, told.left, told.right) if of_token else Mask(
            *sizes, at, told.left, told.right, ids=ids)
    runs = None if is_traced() else _runs(kept)
    if runs is None:
        return Mask(*sizes, at, told.left, told.right, kept=kept, ids=ids)
    return Mask(*sizes, at, told.left, told.right, *runs, ids=ids)


def _kept_keys(attention_mask: Optional[Tensor], n_k: int, offset: int) -> Optional[Tensor]:
    """Returns the keys that are no padding, [B, n_k], or None if all are kept."""
    if attention_mask is None:
        return None
    kept = attention_mask.to(torch.bool)[:, offset:offset + n_k]
    if kept.shape[-1] < n_k:
        kept = torch.nn.functional.pad(kept, (0, n_k - kept.shape[-1]))
    return None if not is_traced() and bool(kept.all()) else kept

