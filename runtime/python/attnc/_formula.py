"""Kernels from formulas: attnc.attention()."""
from __future__ import annotations

import ast
import dataclasses
import re
import sys
from typing import Any, Mapping, Sequence

from ._array import AnyArray, Array
from ._arrays import _HALVES, _is, _is_number, dtype_of
from ._background import first_call
from ._compiler import First, Source
from ._kernel import _FLOATS, _of_source, Kernel, of_tensors


def sole_subscripts(text: str, name: str) -> tuple[str, ...]:
    """Returns for each axis of the array the subscript in all its uses, or "" if they differ. Example: ("h", "i - j")
    for `name[h][i - j]`."""
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\b", text):
        at, words = match.end(), []
        while (opening := re.match(r"\s*\[", text[at:])) is not None:
            begin = at = at + opening.end()
            depth = 1
            while depth and at < len(text):
                depth += {"[": 1, "]": -1}.get(text[at], 0)
                at += 1
            words.append(text[begin:at - 1].strip())
        found.append(words)
    return tuple(words[0] if len(set(words)) == 1 else "" for words in zip(*found))


Declared = tuple[str, tuple["int | str", ...], str]  # name, shape and type of an array in a spec


def _type_of(array: Any, in_mask: bool) -> str:
    """Returns the type of an array in a spec. A number is real, and real numbers of 16 bits stay. In a mask, integers
    stay."""
    if _is_number(array):
        return "int" if in_mask and not isinstance(array, float) else "real"
    dtype = dtype_of(array)
    return _FLOATS[dtype] if _FLOATS.get(dtype) in _HALVES else (
        "bool" if dtype in ("bool", "uint8") else "int" if dtype.startswith(("int", "uint")) else "real")


def _rows_of(scores: Mapping[str, Any], sums: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Returns the subscripts of the arrays that are rows of queries, keys or values."""
    keys = [one.get("key") for one in scores.values()] + [one.get("values") for one in sums.values()]
    heads = ("b", "h", "j", "")
    return {**dict.fromkeys(filter(None, keys), heads),
            **dict.fromkeys(filter(None, [one.get("query") for one in scores.values()]), ("b", "h", "row", ""))}


def _declared(formula: str, mask: str, arrays: Mapping[str, Any], q: Any, k: Any,
              rows: Mapping[str, tuple[str, ...]]) -> tuple[Declared, ...]:
    """Returns arrays as a spec declares them. If an axis always has the subscript b, h, g, j or row, its size is a
    size of the problem. So one kernel serves all problems. `rows` has the subscripts of arrays of rows."""
    names = {"b": ("B", q.shape[0]), "h": ("H", q.shape[1]), "g": ("G", k.shape[1]), "j": ("Nk", k.shape[2]),
             "row": ("Nq", q.shape[2])}
    made, text = [], f"{formula} {mask}"
    for name, array in arrays.items():
        shape: list[int | str] = [] if _is_number(array) else [int(n) for n in array.shape]
        if name in rows and len(shape) == 4 and shape[1] == k.shape[1] != q.shape[1]:
            shape[1] = "G"
        for axis, word in enumerate((rows.get(name) or sole_subscripts(text, name))[:len(shape)]):
            symbol, size = names.get(word, ("", 0))
            if symbol and size == shape[axis] and symbol not in shape:
                shape[axis] = symbol
        made.append((name, tuple(shape), _type_of(array, re.search(rf"\b{name}\b", mask) is not None)))
    return tuple(made)


_formulas: dict[Any, Kernel] = {}


def of_formula(weight: str | None, score: str | None, mask: Any, normalize: Any, algorithm: str | None,
                dropout: float, arrays: tuple[Declared, ...], head_dim: int, value_dim: int,
                dtype: str, scaled: bool = False, several: str = "", *, first: First | None = None) -> Kernel:
    """Returns the kernel for arguments of attention(). `arrays` has the names, shapes and types of arrays. If `scaled`,
    the logit has its own scale. `several` is the text of a dictionary of scores, sums and the output. first: the sizes
    of a call, if the kernel need not be whole"""
    key = (weight, score, str(mask), str(normalize), algorithm, dropout, arrays, head_dim, value_dim, dtype, scaled,
           several)
    made = _formulas.get(key)
    if made is None:
        spec: dict[str, Any] = {
            "similarity": {"custom": {"weight": weight}} if weight is not None
                          else {"softmax": {**({"scale": 1} if scaled else {}), "modify": score}} if score is not None
                          else "softmax",
            "shape": {"head_dim": head_dim, "value_dim": value_dim}, "dtype": dtype}
        more = {"mask": None if mask is None else _rule(mask), "normalize": normalize, "algorithm": algorithm,
                "arrays": {name: {"shape": list(shape), "type": kind} for name, shape, kind in arrays} or None,
                "dropout": dropout or None}
        spec.update((key, value) for key, value in more.items() if value is not None)
        spec.update(ast.literal_eval(several or "{}"))
        # In Python 1/8 is 0.125, but in formulas 1/8 is 0 as in C. The option makes it an error.
        source = dataclasses.replace(Source.of(spec), options=("--no-remainders",))
        made = _formulas[key] = _of_source(source, first)
    return made if first else made._whole()


def _rule(mask: Any) -> Any:
    """Returns a mask as a spec has it."""
    return mask if not isinstance(mask, str) or mask.isidentifier() else {"expr": mask}


def _element(name: str, array: Any, sizes: Sequence[int]) -> str:
    """Returns the element of a given mask for a query and a key, such as "mask[b][0][row][j]".

    sizes: of the axes that the mask is broadcast to, [batch, heads, n_q, n_k]"""
    shape = [int(n) for n in array.shape]
    of_shape = sizes[len(sizes) - len(shape):]
    if len(shape) > len(sizes) or any(n not in (1, size) for n, size in zip(shape, of_shape)):
        raise ValueError(f"{name} has shape {shape}, which cannot be broadcast to {list(sizes)}, "
                         "[batch, heads, queries, keys]")
    words = ("b", "h", "row", "j")[len(sizes) - len(shape):]
    return name + "".join(f"[{0 if n == 1 else word}]" for n, word in zip(shape, words))


def _with_mask(mask: Any, rule: Any, score: str, given: dict[str, Any], q: Any, k: Any, v: Any) -> tuple[Any, str]:
    """Adds a given mask to the arrays of a call. Returns the spec's mask, which is that and `rule`, and the logit."""
    dtype = dtype_of(mask)
    if not hasattr(mask, "shape") or dtype not in ("bool", "uint8", *_FLOATS):
        raise TypeError(f"mask is {dtype or 'a ' + type(mask).__name__}; expected an array of bool, True where a query "
                        "sees a key, or of real numbers, which are added to the logits")
    sizes = q.shape[0], max(q.shape[1], v.shape[1]), q.shape[2], k.shape[2]
    given["mask"], element = mask, _element("mask", mask, sizes)
    if dtype in _FLOATS:
        wide = dtype_of(q) == "float64"
        if wide != (dtype == "float64"):
            other = "float64" if wide else "float32"
            given["mask"] = mask.to(getattr(sys.modules["torch"], other)) if _is(mask, "torch", "Tensor") else mask.astype(other)
        score, element = f"({score}) + {element}", f"{element} != -INFINITY"
    own = {"expr": element}
    return own if rule is None else {"all": [_rule(rule), own]}, score


def _check_attention(q: Any, k: Any, v: Any) -> str:
    """Checks the arguments q, k and v of attention(). Returns the name of their dtype."""
    for name, array in zip("qkv", (q, k, v)):
        shape = getattr(array, "shape", None)
        if array is None or shape is None:
            says = "missing" if array is None else f"a {type(array).__name__}"
            raise TypeError(f"{name} is {says}; expected an array [batch, heads, positions, size]")
        if len(shape) != 4:
            raise ValueError(f"{name} has shape {list(shape)}; expected 4 axes, [batch, heads, positions, size]")
    dtype = dtype_of(q)
    if dtype not in _FLOATS:
        raise TypeError(f"q is {dtype}; attention takes {', '.join(_FLOATS)}")
    return dtype


def attention(q: AnyArray, k: Array | None = None, v: Array | None = None, attn_mask: Array | None = None,
              dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | Array | None = None,
              weight: str | None = None, score: str | None = None,
              mask: str | Mapping[str, Any] | Array | None = None, normalize: str | Mapping[str, Any] | None = None,
              algorithm: str | None = None, arrays: Mapping[str, Array | float] | None = None, dropout: float = 0.0,
              seed: int | None = None, out: Array | None = None, threads: int | None = None,
              scores: Mapping[str, Any] | None = None, sums: Mapping[str, Any] | None = None,
              output: str | None = None, weights: bool | Array = False,
              running: Mapping[str, Any] | None = None) -> AnyArray:
    """Attention from a formula, compiled at the first call.

    q, k, v: as for a kernel, [batch, heads, positions, size]; they determine head sizes and dtype
    weight: the weight of a key for a query, such as "(1 + s) * (1 + s)". It is a C expression in s (the inner product
        of query and key), i and j (the positions of query and key) and h (the head). 1/8 is an error, because it is 0
        in C: write 1.0/8
    score: the logit of softmax, such as "s - 0.1 * (i - j)": a C expression in s (the inner product times `scale`),
        i, j and h
    scale: a number, or an array of one. The default is 1 / sqrt(D). One kernel serves all other numbers
    mask: the keys that a query sees: a C expression such as "j <= i && i - j < 256", a word of the spec language
        ("causal"), or a dictionary like its YAML ({"window": {"left": 255}}). Or an array, as attn_mask
    attn_mask, dropout_p, is_causal: as PyTorch's scaled_dot_product_attention takes them. An array attn_mask is
        broadcast to [batch, heads, queries, keys]. If it is bool, a query sees the keys for which it is True. Other
        numbers are added to the logits, and -inf hides a key. With is_causal, query i sees the keys up to i, both counted from the first.
        mask="causal" counts from the last query and key, which differs only if there are more keys than queries
    normalize: "sum" (the default), "none", or {"sum_plus": c}
    algorithm: "auto", "quadratic" or "linear"
    arrays: numbers and arrays that `weight`, `score` or `mask` reads, by name: score="s + table[h][i - j + 127]",
        arrays={"table": table}; mask="seen[b][row][j]", arrays={"seen": seen}. Arrays of numbers are float32, float16 or
        bfloat16 (float64 with float64 q), integers of any type (a kernel reads int32), and a given mask bool. A subscript
        beyond an end reads the element at that end. PyTorch computes gradients with respect to them. Another number of
        elements along an axis compiles another kernel, unless the subscript is always h, j, b, g or row. A number, as in arrays={"slope": 0.1} for "s - slope * i", is given with
        each call: another number needs no other kernel
    dropout: the probability that a weight is dropped; the others are divided by 1 - dropout. It needs a seed: the same
        seed drops the same weights in every call. Each probability has its own kernel
    seed: the seed of dropout, an integer below 2**63 for tensors, below 2**64 for other arrays
    out, threads, weights: as for a kernel
    scores, sums, output: several inner products, sums and what is computed from these, as the keys of a spec:
        scores={"r": {"query": "q2", "key": "k2"}}, sums={"a": {}, "c": {"similarity": {"softmax": {"modify": "r"}}}},
        output="a - 0.5 * c", arrays={"q2": q2, "k2": k2}. A sum has the weight, mask and denominator of the call where
        it names none

    running: sums over the later keys of a row, as the key of a spec: running={"r": {"sum": "log1p(exp(s))"}},
        weight="sigmoid(s) * exp(-r)", normalize="none"

    Without `weight` and `score` it computes softmax attention. Raises the errors of attnc.kernel() and of a call."""
    if weight is not None and score is not None:
        raise TypeError("weight and score cannot be given together: a weight is used as it is, a score is the logit of softmax")
    if dropout and dropout_p:
        raise TypeError("dropout and dropout_p are the same; expected one of them")
    dropout = dropout or dropout_p
    if dropout and seed is None:
        raise TypeError("dropout needs seed=, a new number for each call")
    if seed is not None and not dropout:
        raise TypeError("seed is the seed of dropout, so it needs dropout=")
    inputs: tuple[Any, Any, Any] = q, k, v
    # before the functions that are constants of graphs, because the module marks them
    door = of_tensors() if _is(q, "torch", "Tensor") and weights is False else None
    dtype = _check_attention(*inputs)
    head_dim = int(inputs[0].shape[3])
    given: dict[str, Any] = dict(arrays or {})
    for name, array in given.items():
        if not _is_number(array) and not hasattr(array, "shape"):
            raise TypeError(f"arrays: {name} is a {type(array).__name__}; expected an array or a number")
    rule: Any = mask
    if mask is not None and not isinstance(mask, (str, Mapping)):
        if attn_mask is not None:
            raise TypeError("mask and attn_mask are both arrays; expected one of them")
        rule, attn_mask = None, mask
    if is_causal:
        if rule is not None:
            raise TypeError("mask and is_causal are given; expected one of them, or {'all': ['causal', …]} as mask")
        rule = "causal" if inputs[0].shape[2] == inputs[1].shape[2] else "j <= row"
    number: Any = scale if _is_number(scale) else None
    # torch.compile has a symbol for the comparison, but not for the constants
    scaled = True if scale is not None and (number is None or float(number) != head_dim ** -0.5) else False
    adds = dtype_of(attn_mask) in _FLOATS
    for name, there in ("scale", scaled), ("mask", attn_mask is not None):
        if there and name in given:
            raise TypeError(f"arrays has {name!r}, which is a name of attention() itself; expected another name")
        if weight is not None and there and (name == "scale" or adds):
            raise TypeError(f"{name} is for logits, and a weight has none: write it in the weight, with its values in "
                            "arrays=")
    if scaled:
        given["scale"], score = scale, re.sub(r"\bs\b", "(s * scale)", score or "s")
    if attn_mask is not None:
        rule, logit = _with_mask(attn_mask, rule, score or "s", given, *inputs)
        score = logit if score is not None or logit != "s" else None
    keys = {"scores": scores, "sums": sums, "output": output, "running": running}
    several = str({key: value for key, value in keys.items() if value})
    declared = _declared(f"{weight or score or ''} {several}", str(rule or ""), given, *inputs[:2],
                         _rows_of(scores or {}, sums or {}))
    # torch.compile has a symbol for the default number, so the constant 0.0 is used
    formula = (weight, score, rule, normalize, algorithm, dropout if dropout else 0.0, declared,
               head_dim, int(inputs[2].shape[3]), _FLOATS[dtype], scaled, "" if several == "{}" else several)
    made: AnyArray
    if door is not None:
        made = door.call_formula(formula, *inputs, given, seed, out, threads)
    else:
        made = of_formula(*formula, first=first_call(q, k))._with_arrays(inputs, given, seed, out, threads, weights=weights)
    return made
