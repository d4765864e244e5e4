"""A module of PyTorch that computes the attention of a spec."""
from __future__ import annotations

from typing import Any, Mapping, Optional

import torch
from torch import Tensor, nn

from ._arrays import _INTEGERS
from ._compiler import Spec
from ._kernel import Kernel, kernel as make_kernel
from ._operators import _WORDS, drawn_seed, text_as
from ._tensor_call import call_text


class Attention(nn.Module):
    """A layer that computes the attention of a spec, and owns its learned parameters.

    spec, set: as attnc.kernel() takes them
    heads: H, the number of query heads; kv_heads: G, the number of heads of k and v (default: heads)
    seed: the seed of random parameters, and of the initial values of learned parameters
    n_q, n_k: needed if a learned parameter has an element for each position (a dense bias, a projection)

    forward(q [B, H, n_q, D], k [B, G, n_k, D], v [B, G, n_k, E], **arrays) takes the parameters that the layer does not
    own: integers, and arrays that are not `learned: true`. There is no v if the values are the keys. It returns
    [B, H, n_q, E], computed by the kernel for their dtype. With dropout, a module in training takes a new seed from
    PyTorch's generator for each call (torch.manual_seed repeats them); after eval() nothing is dropped. The learned
    parameters are nn.Parameters, named by their keywords (`features_wq`). They are float32 (float64 for an f64 kernel),
    whatever the dtype of q, k and v. Random parameters are buffers, so that a
    state_dict has everything that the result depends on."""

    def __init__(self, spec: Spec | Kernel, heads: int | None = None, kv_heads: int | None = None, *,
                 set: Mapping[str, Any] | None = None, seed: int = 0, n_q: int | None = None,
                 n_k: int | None = None) -> None:
        super().__init__()
        if isinstance(spec, Kernel) and set:
            raise TypeError("set= needs a spec, but this kernel is already compiled")
        self.kernel = spec if isinstance(spec, Kernel) else make_kernel(spec, set)
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads
        self._undropped = self.kernel._without_dropout()
        self._seed = self.kernel.seed if seed == 0 and self.kernel.seed is not None else seed
        self._sizes = {"heads": heads, "kv_heads": kv_heads, "n_q": n_q, "n_k": n_k}
        for word, array in self._initial().items():
            tensor = torch.empty(array.shape, dtype=array.dtype)  # on the device of torch.device()
            if hasattr(self, word):
                raise TypeError(f"{self.kernel.name}: modules of PyTorch have an attribute {word!r}; declare the array "
                                "by another name")
            if self._is_learned(word):
                self.register_parameter(word, nn.Parameter(tensor))
            else:
                self.register_buffer(word, tensor)
        self.reset_parameters()

    def _initial(self) -> dict[str, Tensor]:
        with torch.device("cpu"):
            return {word: torch.from_numpy(array) for word, array in self.kernel.init(self._seed, **self._sizes).items()}

    def _is_learned(self, word: str) -> bool:
        return any(p.keyword == word and p.is_learned for p in self.kernel.parameters)

    def reset_parameters(self) -> None:
        """Sets parameters and buffers to their initial values, for example after to_empty()."""
        with torch.no_grad():
            for word, array in self._initial().items():
                getattr(self, word).copy_(array)

    def forward(self, q: Tensor, k: Tensor, v: Optional[Tensor] = None, *, weights: bool = False,
                **given_arrays: Tensor | float) -> Any:
        """Returns the attention, or with `weights` a named tuple of it and of its weights, which have no gradients."""
        word = _WORDS.get(q.dtype, self.kernel.dtype)
        arrays: dict[str, Any] = dict(given_arrays)
        for p in self.kernel.parameters:
            owned = p.from_seed is not None or p.initial is not None
            value = getattr(self, p.keyword) if owned else arrays.get(p.keyword)
            if p.dtype not in _INTEGERS and isinstance(value, Tensor):
                arrays[p.keyword] = value.to(torch.float64 if word == "f64" else torch.float32)
        kernel = self.kernel if self.training else self._undropped
        seed = int(drawn_seed()) if kernel.dropout else None
        if weights:
            return kernel._as(word)(q, k, v, seed=seed, weights=True, **arrays)
        if word == kernel.dtype:
            return kernel(q, k, v, seed=seed, **arrays)
        given = [arrays.pop(p.keyword, None) for p in kernel.parameters]
        kernel._given(arrays)  # raises TypeError for an unknown parameter
        return call_text(text_as(kernel._text, "dtype=" + word), q, k, v, given, seed)

    def extra_repr(self) -> str:
        heads = "" if self.heads is None else f", heads={self.heads}"
        shared = "" if self.kv_heads == self.heads else f", kv_heads={self.kv_heads}"
        return f"{self.kernel.name!r}, head_dim={self.kernel.head_dim}, dtype={self.kernel.dtype}{heads}{shared}"
