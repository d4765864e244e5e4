"""A cache of keys and values for models of transformers, to which tokens are appended in place."""
from __future__ import annotations

import copy
import importlib
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

_utils: Any = importlib.import_module("transformers.cache_utils")
_SPARE = 64  # the minimum number of further tokens for which memory is allocated


def _begin_in(room: Optional[Tensor], held: Tensor) -> Optional[int]:
    """Returns the number of the first token of `held` in `room`. Returns None if `held` is elsewhere."""
    if (room is None or held.stride() != room.stride() or held.shape[:2] != room.shape[:2]
            or held.untyped_storage().data_ptr() != room.untyped_storage().data_ptr()):
        return None
    return held.storage_offset() // room.stride(2)


def _appended(room: Optional[Tensor], held: Optional[Tensor], new: Tensor) -> Tuple[Tensor, Tensor]:
    """Appends the tokens of `new` to `held`. Returns their memory, and all the tokens in it.

    If `held` is in `room` and there is space after it, only `new` is copied."""
    n, more = 0 if held is None else held.shape[2], new.shape[2]
    begin = None if held is None else _begin_in(room, held)
    if room is None or begin is None or begin + n + more > room.shape[2]:
        capacity = n + more + max(_SPARE, (n + more) // 2)
        room, begin = new.new_empty((*new.shape[:2], capacity, new.shape[3])), 0
        if held is not None:
            room[:, :, :n] = held
    room[:, :, begin + n:begin + n + more] = new
    return room, room[:, :, begin:begin + n + more]


def _move(held: Tensor, since: int, to: Tensor, source: Tensor) -> None:
    """Copies the tokens from number `since` on of the sequences `source` to the sequences `to`."""
    tail = held[:, :, since:]
    tail[to] = tail[source]


class _InPlace:
    """Memory for keys and for values, allocated ahead, of both kinds of layers."""

    keys: Any
    values: Any
    is_initialized: bool
    lazy_initialization: Any
    _rooms: Tuple[Optional[Tensor], Optional[Tensor]] = (None, None)
    # [b][c]: how many of the last tokens of sequences b and c may differ. Beams share the tokens before these.
    _apart: Optional[Tensor] = None

    def _append(self, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(keys, values)
        held: Tuple[Any, Any] = (None, None)
        if self.keys is not None and self.keys.numel():
            held = self.keys, self.values
        if torch.is_grad_enabled() and (keys.requires_grad or held[0] is not None and held[0].requires_grad):
            if held[0] is None:  # autograd needs the tensors as they are
                return keys, values
            return torch.cat([held[0], keys], dim=2), torch.cat([held[1], values], dim=2)
        if self._apart is not None:
            self._apart = self._apart + keys.shape[2] if self._is_in_place() else None
        made = [_appended(room, old, new) for room, old, new in zip(self._rooms, held, (keys, values))]
        self._rooms = made[0][0], made[1][0]
        return made[0][1], made[1][1]

    def __copy__(self) -> Any:
        """Returns a layer with its own memory, because tokens are appended in place."""
        return copy.deepcopy(self)

    def _is_in_place(self) -> bool:
        return all(_begin_in(room, held) is not None for room, held in zip(self._rooms, (self.keys, self.values)))

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Reorders the sequences. Copies only the tokens in which a sequence differs from the one it replaces."""
        if self.keys is None or not self.keys.numel():
            return
        batch, n = self.keys.shape[0], self.keys.shape[2]
        if beam_idx.shape[0] != batch or not self._is_in_place():
            self.keys, self.values = self.keys.index_select(0, beam_idx), self.values.index_select(0, beam_idx)
            return
        apart = self._apart
        if apart is None:
            apart = torch.full((batch, batch), n, device=beam_idx.device)
        apart.fill_diagonal_(0)
        to = (beam_idx != torch.arange(batch, device=beam_idx.device)).nonzero()[:, 0]
        if to.numel():
            source = beam_idx[to]
            since = max(0, n - int(apart[to, source].max()))
            _move(self.keys, since, to, source)
            _move(self.values, since, to, source)
        self._apart = apart[beam_idx][:, beam_idx]


class Layer(_InPlace, _utils.DynamicLayer):  # type: ignore[misc]
    """The keys and values of all tokens."""

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Tuple[Tensor, Tensor]:
        self.keys, self.values = self._append(key_states, value_states)
        return self.keys, self.values


class SlidingLayer(_InPlace, _utils.DynamicSlidingWindowLayer):  # type: ignore[misc]
    """The keys and values of the tokens in a window. If the memory is used up, the tokens of the window are moved."""

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> Tuple[Tensor, Tensor]:
        self.cumulative_length += key_states.shape[2]
        keys, values = self._append(key_states, value_states)
        last = self.sliding_window - 1
        if self.record_past:
            self.keys, self.values = keys, values
            visible = last + key_states.shape[2]
            return keys[:, :, -visible:], values[:, :, -visible:]
        first = max(keys.shape[2] - last, 0)
        self.keys, self.values = keys[:, :, first:], values[:, :, first:]
        if keys.shape[2] > 4 * max(last, _SPARE):  # the memory of a long prompt is freed
            self.keys, self.values, self._rooms = self.keys.clone(), self.values.clone(), (None, None)
        return keys, values


class Cache(_utils.DynamicCache):  # type: ignore[misc]
    """Keys and values in memory that is allocated ahead, so that generating a token copies no other token.

    config: the model's config. If it is given, layers with a sliding window keep only the tokens of the window. For a
    model with an encoder and a decoder, such as T5, Cache(config) returns an EncoderDecoderCache of transformers, which has
    one Cache for self-attention and one for cross-attention. more: other arguments of DynamicCache, which transformers
    gives"""

    layers: Any
    layer_class_to_replicate: Any

    def __new__(cls, config: Any = None, **_: Any) -> Any:
        made = super().__new__(cls)
        if not getattr(config, "is_encoder_decoder", False):
            return made
        made.__init__(config)
        made.layer_class_to_replicate = Layer  # the decoder may have more layers than the encoder, which transformers counts
        return _utils.EncoderDecoderCache(made, cls())  # a layer's cross-attention has no window

    def __copy__(self) -> Any:
        return copy.deepcopy(self)

    def __init__(self, config: Any = None, **more: Any) -> None:
        super().__init__(config=config, **more)
        if self.layer_class_to_replicate is not None:
            self.layer_class_to_replicate = Layer
        layers: List[Any] = []
        for layer in self.layers:
            if type(layer) is _utils.DynamicLayer:
                layer = Layer()
            elif type(layer) is _utils.DynamicSlidingWindowLayer:
                layer = SlidingLayer(layer.sliding_window)
            layers.append(layer)
        self.layers = layers
