"""Specs of softmax attention whose scale, cap, window and padding are arguments of a call, and of the linear recurrences
of transformers. transformers, PyTorch and JAX call their kernels, and the wheel contains the usual ones."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

_SUBSCRIPTS = {"B": "b", "H": "h", "Nq": "row", "Nk": "j"}
_Axes = Tuple[str, ...]


class Traits(NamedTuple):
    """The differences between the specs of models. Scale, cap, window and padding are arguments of a call, so that one
    kernel serves many models. `extra` has the axes of an array that is added to the logit, and hides pairs where it is
    -inf. `seen` has the axes of a given mask. None means that there is no such array. If `narrow`, `extra` has the dtype
    of the kernel, of 16 bits; otherwise it is f32 or f64."""

    cap: bool = False
    sink: bool = False
    extra: Optional[_Axes] = None
    ids: bool = False
    kept: bool = False
    seen: Optional[_Axes] = None
    dropout: float = 0.0
    narrow: bool = False


def spec_of(traits: Traits, head_dim: int, value_dim: int, dtype: str) -> Dict[str, Any]:
    """Returns the spec of a kernel for these traits."""
    arrays: Dict[str, Any] = {"scale": {"shape": []}}
    for name in "left", "right":
        arrays[name] = {"shape": [], "type": "int"}
    for name in "at", "since", "until":
        arrays[name] = {"shape": ["B"], "type": "int"}
    logit = "s * scale"
    mask = "row + at[b] - j < left && j - row - at[b] <= right && since[b] <= j && j < until[b]"

    def element(name: str, axes: _Axes, **more: Any) -> str:
        arrays[name] = {"shape": list(axes), **more}
        return name + "".join(f"[{_SUBSCRIPTS[axis]}]" for axis in axes)
    if traits.cap:
        logit = f"{element('cap', ())} * tanh({logit} / cap)"
    if traits.extra is not None:
        added = element("extra", traits.extra, **({"type": dtype} if traits.narrow else {}))
        logit, mask = f"{logit} + {added}", f"{mask} && {added} != -INFINITY"
    if traits.ids:
        mask += f" && ids[b][row + at[b]] == {element('ids', ('B', 'Nk'), type='int')}"
    if traits.kept:
        mask += " && " + element("kept", ("B", "Nk"), type="bool")
    if traits.seen is not None:
        mask += " && " + element("seen", traits.seen, type="bool")
    made: Dict[str, Any] = {"similarity": {"softmax": {"scale": 1, "modify": logit}}, "mask": {"expr": mask},
                            "shape": {"head_dim": head_dim, "value_dim": value_dim}, "dtype": dtype, "arrays": arrays}
    if traits.sink:
        made["normalize"] = {"sink": element("sink", ("H",))}
    if traits.dropout:
        made["dropout"] = traits.dropout
    return made


def recurrent_spec(delta: bool, by_element: bool, normalises: bool, head_dim: int, value_dim: int) -> Dict[str, Any]:
    """Returns the spec of a recurrence (Rule of _model_recurrent.py)."""
    arrays: Dict[str, Any] = {"gate": {"shape": ["B", "Nk", "H", "D"] if by_element else ["B", "H", "Nk"]}}
    made: Dict[str, Any] = {
        "mask": "causal", "normalize": "none", "similarity": {"linear": {"features": "identity"}}, "arrays": arrays,
        "decay": {"log": "gate[b][t][h][d]" if by_element else "gate[b][h][t]"},
        "shape": {"head_dim": head_dim, "value_dim": value_dim}}
    if delta:
        made["prepare"] = [*([{"l2norm": {"eps": 1e-6}}] if normalises else []), {"scale": {"by": head_dim ** -0.5}}]
        arrays["rate"] = {"shape": ["B", "H", "Nk"]}
        made["delta"] = {"rate": "rate[b][h][t]"}
    return made
