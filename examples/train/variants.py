"""The specs of attention variants, by the names used in tables and pictures."""
from __future__ import annotations

from typing import Any, Dict, List, Union

Spec = Dict[str, Any]


# ---- the thesis: one head of 32, without a mask


def _thesis(similarity: Any, **more: Any) -> Spec:
    return {"similarity": similarity, "mask": "none", "normalize": "sum", "shape": {"head_dim": 32}, **more}


def power(degree: int) -> Spec:
    return _thesis({"polynomial": {"degree": degree}})


def square(degree: int, coefficients: Union[str, List[float]]) -> Spec:
    """Returns a spec with the weight (a0 + a1 x + …)^2 of x = <q, k> / sqrt(32), scaled as in softmax."""
    return _thesis({"polynomial_square": {"degree": degree, "coefficients": coefficients}},
                   prepare=[{"scale": {"by": 32 ** -0.5}}])


THESIS: Dict[str, Spec] = {
    **{f"x^{p}": power(p) for p in (2, 4, 8)},
    **{f"geometric {d}": square(d, [1.0] * (d + 1)) for d in range(1, 7)},
    **{f"learned {d}": square(d, "param") for d in range(1, 7)},
    "softmax": _thesis("softmax"),
    "elu + 1": _thesis({"linear": {"features": "elu_plus_one"}}),
}


# ---- PolySketchFormer: causal, layernorm on q and k, then rotary positions


def _causal(similarity: Any, head_dim: int, **more: Any) -> Spec:
    return {"prepare": [{"layernorm": {"affine": True}}, "rope"], "similarity": similarity, "mask": "causal",
            "shape": {"head_dim": head_dim}, **more}


def polynomial(degree: int, head_dim: int, **more: Any) -> Spec:
    return _causal({"polynomial": {"degree": degree, "beta": head_dim ** 0.5}}, head_dim, **more)


def polysketch(size: int, kind: str, head_dim: int, local: int = 0) -> Spec:
    """Polysketch of degree 4 with a sketch of `size` components. `local` is the length of blocks with exact
    weights, or 0."""
    options: Dict[str, Any] = {"degree": 4, "sketch": size, "map": kind}
    return _causal({"polysketch": {**options, "local": "exact"} if local else options}, head_dim,
                   **({"block": local} if local else {}))


# ---- the delta rule


def gated_delta(similarity: Any, head_dim: int, **more: Any) -> Spec:
    """Gated DeltaNet (Yang, Kautz and Hatamizadeh, 2025) with any similarity. `gate` holds logarithms of decays."""
    array = {"shape": ["B", "H", "Nk"]}
    return {"prepare": ["l2norm"], "similarity": similarity, "mask": "causal", "normalize": "none",
            "decay": {"log": "gate[b][h][t]"}, "delta": {"rate": "beta[b][h][t]"},
            "arrays": {"gate": array, "beta": array}, "shape": {"head_dim": head_dim}, **more}


BLOCK = 256  # the size of local blocks, and the width of the sliding window


def causal_variants(head_dim: int) -> Dict[str, Spec]:
    return {
        "softmax": _causal("softmax", head_dim),
        **{f"polynomial {p}": polynomial(p, head_dim) for p in (2, 4, 8)},
        **{f"polysketch {kind} r{size}{' + local' if local else ''}": polysketch(size, kind, head_dim, local)
           for size in (32, 64) for kind in ("random", "learned") for local in (0, BLOCK)},
        "performer 256": _causal({"linear": {"features": {"favor_positive": {"count": 256, "orthogonal": True}}}},
                                 head_dim),
        "elu + 1": _causal({"linear": {"features": "elu_plus_one"}}, head_dim),
        "hedgehog": _causal({"linear": {"features": "hedgehog"}}, head_dim),
        f"window {BLOCK}": _causal("softmax", head_dim, mask={"window": {"left": BLOCK - 1}}),
        f"local blocks {BLOCK}": polynomial(4, head_dim,
                                            mask={"all": ["causal", {"block_window": {"block": BLOCK}}]}),
    }


def delta_variants(head_dim: int) -> Dict[str, Spec]:
    return {
        "gated deltanet": gated_delta({"linear": {"features": "identity"}}, head_dim),
        "sketch r32 + gated delta": gated_delta({"polysketch": {"degree": 4, "sketch": 32}}, head_dim),
    }
