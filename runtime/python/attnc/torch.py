"""Kernels in PyTorch: the operators attnc::forward and attnc::backward, and the module Attention."""
from __future__ import annotations

import functools
import json
import math
import sys
from typing import Any, List, Mapping, Optional, Sequence, Tuple, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from . import _autograd
from . import _kernel as _kernels
from . import _tensors
from ._arrays import (_HALVES, _INTEGERS, _OTHER_NAMES, _has_tangent, _is_number, heads_of_result, Misaligned, named,
                      narrowed, row_units, words_of_heads, wrong_shape)
from ._autograd import OF_PARALLEL, Kept, Way, is_traced, is_undisturbed, parallel, rows_of, saved_size, within
from ._call import MaskTiles
from ._compiler import Source, Spec, settings_of
from ._kernel import Kernel, _of_formula, _of_source, _sole_subscripts, kernel as _kernel

__all__ = ["Attention", "ContextParallel", "MultiheadAttention", "Replacement", "Untranslatable", "flex_attention",
           "replace", "use"]

_DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
           "i32": torch.int32, "u8": torch.bool}
_WORDS = {dtype: word for word, dtype in _DTYPES.items() if word not in _INTEGERS}
_NARROW = {dtype: word for dtype, word in _WORDS.items() if word in _HALVES}

# ---- names of kernels: operators take strings, and compiled graphs store them

_named: dict[str, Kernel] = {}


def _kernel_of(name: str) -> Kernel:
    made = _named.get(name)
    if made is None:
        operand, text, *settings = json.loads(name)
        made = _named[name] = _of_source(Source(operand, text, tuple(settings)))
    return made


def _text_as(name: str, dtype: str) -> str:
    """Returns the text of the spec with another dtype."""
    return json.dumps([*json.loads(name), "dtype=" + dtype])


def _given(kernel: Kernel, parameters: Sequence[Optional[Tensor]], tables: Sequence[Optional[Tensor]] = (),
           start: Optional[Tensor] = None) -> Mapping[str, Any]:
    given: dict[str, Any] = {p.name: value if value is None else narrowed(p.keyword, value) if p.dtype == "i32" else
                             value.detach() for p, value in zip(kernel.parameters, parameters)}
    for p, table in zip(kernel.parameters, tables):
        if table is not None:
            given[p.name] = MaskTiles(given[p.name], table)
    if start is not None:
        given["query_start"] = start
    return given


def _positions(start: Any, batch: int) -> Optional[Tensor]:
    """Returns the positions of the first queries, [batch], or None."""
    if start is None:
        return None
    positions = torch.as_tensor(start, device="cpu")
    if positions.dtype.is_floating_point or positions.dtype.is_complex or positions.dtype is torch.bool:
        raise TypeError("query_start has to be an integer, or an integer for each sequence")
    positions = positions.to(torch.int64)
    return (positions.expand(batch) if positions.dim() == 0 else positions).contiguous()


def _masks_and_tables(parameters: Sequence[Any]) -> Tuple[list[Any], list[Any]]:
    """Returns the parameters with masks in place of MaskTiles, and the table of each parameter or None. Without tables,
    the second list is empty."""
    if not any(isinstance(value, MaskTiles) for value in parameters):
        return list(parameters), []
    return ([value.mask if isinstance(value, MaskTiles) else value for value in parameters],
            [value.table if isinstance(value, MaskTiles) else None for value in parameters])


# ---- the operators. `tables` has a table of tiles or None for each parameter, or is empty. `start` has the positions
# of first queries. A seed is a number, or a tensor without axes that is drawn in a graph of torch.compile.


def _seed(seed: Optional[int], drawn: Optional[Tensor]) -> Optional[int]:
    return seed if drawn is None else int(drawn)


def drawn_seed() -> Tensor:
    """Returns a new seed for dropout, from PyTorch's generator."""
    return torch.randint(1, 2**63 - 1, (), dtype=torch.int64, device="cpu")


def _heads(kernel: Kernel, q: Tensor, v: Tensor) -> int:
    """Returns the number of heads of the result."""
    return heads_of_result(q, None if kernel.values_are_keys else v)


@torch.library.custom_op("attnc::forward", mutates_args=())
def _forward(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]],
             tables: Sequence[Optional[Tensor]], start: Optional[Tensor], seed: Optional[int], saves: bool,
             drawn: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    made = _kernel_of(kernel)
    rows = q.shape[0] * _heads(made, q, v) * q.shape[2] if saves and q.dim() == 4 else 0
    sums = torch.float64 if made.dtype == "f64" else torch.float32
    saved = torch.zeros(saved_size(made, rows, rows_of(v) if rows else 0) if saves else 0, dtype=sums)
    q, k, v, given = q.detach(), k.detach(), v.detach(), _given(made, parameters, tables, start)
    if parallel.now is not None:
        saved.fill_(OF_PARALLEL)
        return parallel.now.forward(made, q, k, v, given, _seed(seed, drawn), saved if saves else None), saved
    binding = made._with_gradients() if saves else made._binding
    out = binding.forward(q, k, v, given, _seed(seed, drawn), None, torch.get_num_threads(),
                          Kept(saved) if saves else None)
    return out, saved


@_forward.register_fake
def _(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]],
      tables: Sequence[Optional[Tensor]], start: Optional[Tensor], seed: Optional[int], saves: bool,
      drawn: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    made = _kernel_of(kernel)
    _check(made, q, k, v)
    heads = _heads(made, q, v)
    size = saved_size(made, q.shape[0] * heads * q.shape[2], rows_of(v)) if saves else 0
    sums = torch.float64 if made.dtype == "f64" else torch.float32
    return q.new_empty((q.shape[0], heads, q.shape[2], made.value_dim)), q.new_empty((size,), dtype=sums)


@torch.library.custom_op("attnc::backward", mutates_args=())
def _backward(kernel: str, dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, saved: Tensor,
              parameters: Sequence[Optional[Tensor]], tables: Sequence[Optional[Tensor]], start: Optional[Tensor],
              seed: Optional[int], wanted: Sequence[bool], drawn: Optional[Tensor]) -> List[Tensor]:
    made = _kernel_of(kernel)
    if parallel.now is not None:
        given = _given(made, parameters, tables, start)
        gradients: List[Tensor] = parallel.now.backward(
            made, *(a.detach() for a in (q, k, v, out, dout)), saved, given, _seed(seed, drawn), wanted)
        return gradients
    if saved.numel() and float(saved[-1]) == OF_PARALLEL:
        raise RuntimeError(f"{made.name}: forward ran in a ContextParallel; backward has to run in it, too, if "
                           "torch.compile compiled the model")
    binding = made._with_gradients()
    names = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted]
    if dout.stride(-1) != 1 and dout.shape[-1] > 1 or 0 in dout.stride():
        dout = dout.contiguous()  # the gradient of a sum has stride 0
    result = binding.backward(q.detach(), k.detach(), v.detach(), out.detach(), dout.detach(),
                              _given(made, parameters, tables, start), _seed(seed, drawn), Kept(saved), names, None,
                              torch.get_num_threads())
    return [getattr(result, name) for name in names]


@_backward.register_fake
def _(kernel: str, dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, saved: Tensor,
      parameters: Sequence[Optional[Tensor]], tables: Sequence[Optional[Tensor]], start: Optional[Tensor],
      seed: Optional[int], wanted: Sequence[bool], drawn: Optional[Tensor]) -> List[Tensor]:
    made = _kernel_of(kernel)
    learned = [None if value is None else (value, _tensors.gradient_dtype(p.dtype, value))
               for p, value in zip(made.parameters, parameters) if _is_learned(p)]
    return [torch.empty(each[0].shape, dtype=each[1], device=each[0].device)
            for each, is_wanted in zip([*((a, a.dtype) for a in (q, k, v)), *learned], wanted)
            if is_wanted and each is not None]


@torch.library.custom_op("attnc::statistics", mutates_args=())
def _statistics(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]]) -> Tensor:
    made = _kernel_of(kernel)
    given = _given(made, parameters)
    counted: Any = made(*(a.detach() for a in (q, k, v)), statistics=True,
                        **{p.keyword: given[p.name] for p in made.parameters})
    result: Tensor = counted.statistics
    return result


@_statistics.register_fake
def _(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]]) -> Tensor:
    made = _kernel_of(kernel)
    sums = torch.float64 if made.dtype == "f64" else torch.float32
    return q.new_empty((q.shape[0], _heads(made, q, v), q.shape[2]), dtype=sums)


def statistics(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, given: Mapping[str, Any]) -> Tensor:
    """Returns the statistics of the rows. The call is an operator without gradients."""
    parameters, _ = _as_tensors(kernel, [given.get(p.name) for p in kernel.parameters])
    of_rows: Tensor = _statistics(kernel._text, q.detach(), k.detach(), v.detach(),
                                  [None if value is None else value.detach() for value in parameters])
    return of_rows


def _is_learned(p: Any) -> bool:
    return p.from_seed is None and p.dtype not in _INTEGERS


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Tensor, Tensor]) -> None:
    kernel, q, k, v, parameters, tables, start, seed, saves, drawn = inputs
    rest = (*parameters, *tables, start, drawn)
    ctx.kernel, ctx.seed, ctx.saves, ctx.there = kernel, seed, saves, [p is not None for p in rest]
    ctx.count, ctx.parallel = len(parameters), parallel.now
    ctx.save_for_backward(q, k, v, *output, *(p for p in rest if p is not None))
    ctx.mark_non_differentiable(output[1])


def _differentiate(ctx: Any, dout: Tensor, _: Any) -> Tuple[Any, ...]:
    q, k, v, out, saved, *rest = ctx.saved_tensors
    made = _kernel_of(ctx.kernel)
    if not ctx.saves:
        raise RuntimeError(f"{made.name}: forward was called without saving values for gradients")
    *arrays, start, drawn = [rest.pop(0) if there else None for there in ctx.there]
    parameters, tables = arrays[:ctx.count], arrays[ctx.count:]
    needs = ctx.needs_input_grad
    of_parameters = needs[4] if isinstance(needs[4], (list, tuple)) else [needs[4]] * len(parameters)
    learned = [number for number, p in enumerate(made.parameters) if _is_learned(p)]
    wanted = [*needs[1:4], *(bool(of_parameters[number]) for number in learned)]
    results = []
    if any(wanted):
        with within(ctx.parallel or parallel.now):
            results = _backward(ctx.kernel, dout, q, k, v, out, saved, parameters, tables, start, ctx.seed, wanted,
                                drawn)
    each = iter(results)
    gradients = [next(each) if is_wanted else None for is_wanted in wanted]
    by_parameter: List[Optional[Tensor]] = [None] * len(parameters)
    for number, gradient in zip(learned, gradients[3:]):
        by_parameter[number] = gradient
    of_lists = [gradient if isinstance(need, (list, tuple)) else None  # autograd tells lists from single values
                for need, gradient in ((needs[4], by_parameter), (needs[5], [None] * len(tables)))]
    return None, *gradients[:3], *of_lists, None, None, None, None


def _keep_nothing(ctx: Any, inputs: Tuple[Any, ...], output: List[Tensor]) -> None:
    ctx.kernel = inputs[0]


def _differentiate_twice(ctx: Any, *_: Any) -> Any:
    raise RuntimeError(f"{_kernel_of(ctx.kernel).name}: attnc has no second derivatives; its gradients cannot be "
                       "differentiated (create_graph=True)")


_forward.register_autograd(_differentiate, setup_context=_keep)
_backward.register_autograd(_differentiate_twice, setup_context=_keep_nothing)


# ---- forward mode: another kernel computes the tangent of the output (`emit: [jvp]`)


class _Pushed(torch.autograd.Function):
    """A call with tangents. `arrays` are the parameters, then their tables."""

    generate_vmap_rule = True

    @staticmethod
    def forward(kernel: str, seed: Optional[int], start: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor,
                *arrays: Optional[Tensor]) -> Tensor:
        count = len(_kernel_of(kernel).parameters)
        out, _ = _forward(kernel, q, k, v, arrays[:count], arrays[count:], start, seed, False, None)
        return out  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
        ctx.kernel, ctx.seed, *tensors = inputs
        ctx.there = [a is not None for a in tensors]
        ctx.save_for_forward(*(a for a in tensors if a is not None))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        rest = list(ctx.saved_tensors)
        start, q, k, v, *arrays = [rest.pop(0) if there else None for there in ctx.there]
        made = _kernel_of(ctx.kernel)
        count, sums = len(made.parameters), torch.float64 if made.dtype == "f64" else torch.float32
        words = "q", "k", "v", *(p.name for p in made.parameters)
        primals: dict[str, Any] = dict(zip(words, (q, k, v, *arrays[:count])))
        pushed = dict(zip(primals, tangents[3:]))
        tables = dict(zip((p.name for p in made.parameters), arrays[count:]))
        other = made._tangent()

        def of(name: str) -> Any:
            if not name.endswith(".tangent"):
                return primals[name]
            like, tangent = primals[name.removesuffix(".tangent")], pushed[name.removesuffix(".tangent")]
            return torch.zeros(like.shape, dtype=sums) if tangent is None else tangent.to(sums).expand(like.shape)

        names = [p.name for p in other.parameters]
        out, _ = _forward(other._text, q, k, v, [of(name) for name in names],
                          [tables.get(name) for name in names] if tables else [], start, ctx.seed, False, None)
        return out  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(f"{_kernel_of(ctx.kernel).name}: a call with tangents (torch.func.jvp, dual tensors) has no "
                           "gradients")


_push: Any = _Pushed.apply


def _call_with_tangents(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Any],
                        tables: Sequence[Any], start: Optional[Tensor], seed: Optional[int]) -> Tensor:
    if parallel.now is not None:
        raise NotImplementedError(f"{kernel.name}: ContextParallel has no forward-mode derivatives")
    for p, value in zip(kernel.parameters, parameters):
        if isinstance(value, Tensor) and _has_tangent(value) and not _is_learned(p):
            raise ValueError(f"{p.keyword} has a tangent, but random arrays have none; pass {p.keyword}.detach()")
    if not kernel.values_are_keys and q.shape[1] < _heads(kernel, q, v):
        raise NotImplementedError(f"{kernel.name}: forward-mode derivatives need as many heads of q as of the result")
    kernel._tangent()  # raises SpecError if the spec has no tangent yet
    made: Tensor = _push(kernel._text, seed, start, q, k, v, *parameters, *tables)
    return made


# ---- vmap: additional batch axes. Calls take masks without tables, which give the same bits.


def _merged(a: Tensor, dim: Optional[int], count: int) -> Tensor:
    """Merges the axis of vmap into the batch: [count, B, …] becomes [count * B, …]."""
    a = a.movedim(dim, 0) if dim is not None else a.expand(count, *a.shape)
    return a.reshape(count * a.shape[1], *a.shape[2:])


def _merged_parameters(kernel: Kernel, parameters: Sequence[Optional[Tensor]], dims: Any,
                       count: int) -> List[Optional[Tensor]]:
    made: List[Optional[Tensor]] = []
    dims = dims if isinstance(dims, (list, tuple)) else [None] * len(parameters)
    for p, value, dim in zip(kernel.parameters, parameters, dims):
        if value is not None and p.shape and p.shape[0] == "B":
            value = _merged(value, dim, count)
        elif value is not None and dim is not None:
            raise NotImplementedError(f"{kernel.name}: vmap over the parameter {p.keyword} is not supported, only over batches")
        made.append(value)
    return made


def _merged_start(start: Optional[Tensor], dim: Optional[int], count: int) -> Optional[Tensor]:
    return None if start is None else _merged(start, dim, count)


@_forward.register_vmap
def _(info: Any, in_dims: Any, kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]],
      tables: Sequence[Optional[Tensor]], start: Optional[Tensor], seed: Optional[int], saves: bool,
      drawn: Optional[Tensor]) -> Any:
    count, made = info.batch_size, _kernel_of(kernel)
    merged = [_merged(a, dim, count) for a, dim in zip((q, k, v), in_dims[1:4])]
    given = _merged_parameters(made, parameters, in_dims[4], count)
    start = _merged_start(start, in_dims[6], count)
    out, saved = _forward(kernel, *merged, given, [], start, seed, saves, drawn)
    return (out.unflatten(0, (count, -1)), saved), (0, None)


@_backward.register_vmap
def _(info: Any, in_dims: Any, kernel: str, dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, saved: Tensor,
      parameters: Sequence[Optional[Tensor]], tables: Sequence[Optional[Tensor]], start: Optional[Tensor],
      seed: Optional[int], wanted: Sequence[bool], drawn: Optional[Tensor]) -> Any:
    count, made = info.batch_size, _kernel_of(kernel)
    if made.dropout and (any(wanted[3:]) or in_dims[5] is None):
        raise NotImplementedError(f"{made.name}: this call of vmap would not draw what forward drew, because dropout "
                                  "draws by the index in the batch")
    if any(wanted[3:]):  # a gradient of a parameter sums over the batch, so each call needs its own
        arrays = [a.movedim(dim, 0) if dim is not None else a.expand(count, *a.shape)
                  for a, dim in zip((dout, q, k, v, out), in_dims[1:6])]
        each = []
        for number in range(count):
            one = [a[number] for a in arrays]
            given = [p if p is None or dim is None else p.select(dim, number)
                     for p, dim in zip(parameters, in_dims[7] or [None] * len(parameters))]
            at = start if start is None or in_dims[9] is None else start.select(in_dims[9], number)
            out_again, saved_again = _forward(kernel, *one[1:4], given, [], at, seed, True, drawn)
            each.append(_backward(kernel, *one[:4], out_again, saved_again, given, [], at, seed, wanted, drawn))
        results = [torch.stack(several) for several in zip(*each)]
    else:
        merged = [_merged(a, dim, count) for a, dim in zip((dout, q, k, v, out), in_dims[1:6])]
        given = _merged_parameters(made, parameters, in_dims[7], count)
        start = _merged_start(start, in_dims[9], count)
        if in_dims[5] is None:  # forward ran without vmap, so it saved values for only one of the batches
            _, saved = _forward(kernel, *merged[1:4], given, [], start, seed, True, drawn)
        results = [a.unflatten(0, (count, -1))
                   for a in _backward(kernel, *merged, saved, given, [], start, seed, wanted, drawn)]
    return results, [0] * len(results)


# ---- calls


def _check(kernel: Kernel, q: Any, k: Any, v: Any) -> None:
    """Checks q, k and v before an operator, because tracing calls no kernel."""
    dtype = _DTYPES[kernel.dtype]
    sizes: dict[str, int] = {}
    for name, a in zip("qkv", (q, k, v)):
        if not isinstance(a, Tensor):
            raise TypeError(f"{name} is a {type(a).__name__}; expected a tensor, because q is one")
        columns = kernel.value_dim if name == "v" else kernel.head_dim
        if kernel._binding.takes_stored and name != "q":
            kind = kernel.storage[name]
            if str(a.dtype).removeprefix("torch.") not in _OTHER_NAMES[kind]:
                raise TypeError(f"{name} is {str(a.dtype).removeprefix('torch.')}; {kernel.name} takes {named(kind)}")
            columns = row_units(kind, kernel.head_dim if kernel.values_are_keys else columns)
        elif a.dtype != dtype:
            raise TypeError(f"{name} is {str(a.dtype).removeprefix('torch.')}; {kernel.name} takes "
                            f"{str(dtype).removeprefix('torch.')}")
        heads = dict(zip("qk", words_of_heads(q, None if kernel.values_are_keys else v)), v="G")
        words = ("B", heads[name], "n_q" if name == "q" else "n_k")
        if a.dim() != 4 or a.shape[3] != columns or any(sizes.get(w, n) != n for w, n in zip(words, a.shape)):
            raise wrong_shape(name, a.shape, (*words, columns), sizes)
        sizes.update(zip(words, a.shape))


def _values(kernel: Kernel, k: Any, v: Any) -> Any:
    """Returns the operand v of an operator. If values are keys, it is a view of k without a gradient."""
    if not kernel._binding.values_are_keys or not isinstance(k, Tensor):
        return v
    return k.detach() if kernel._binding.takes_stored else k.detach()[..., :kernel.value_dim]


def _on_the_cpu(kernel: Kernel, **tensors: Any) -> None:
    for name, a in tensors.items():
        if isinstance(a, Tensor) and a.device.type != "cpu":
            raise ValueError(f"{name} is on another device ({a.device}); {kernel.name} runs on the CPU")


def _have_tangents(*tensors: Any) -> bool:
    return any(isinstance(a, Tensor) and _has_tangent(a) for a in tensors)


def _refuse_tangents(name: str, *tensors: Any) -> None:
    if _have_tangents(*tensors):
        raise NotImplementedError(f"{name}: a graph of torch.compile has no forward-mode derivatives (torch.func.jvp, dual "
                                  "tensors)")


def _is_eager(*tensors: Any) -> bool:
    """Returns True if is_undisturbed() and all tensors are plain tensors or parameters, not of other subclasses."""
    return is_undisturbed() and all(type(a) in (Tensor, nn.Parameter, type(None)) for a in tensors)


def _as_tensor(value: Any, word: str) -> Any:
    """A number becomes a tensor without axes. Other values stay."""
    return torch.tensor(value, dtype=_DTYPES[word], device="cpu") if _is_number(value) else value


def _as_tensors(kernel: Kernel, parameters: Sequence[Any]) -> Tuple[list[Any], list[Any]]:
    """Returns the parameters of an operator, and its tables."""
    return _masks_and_tables([value if p.shape else _as_tensor(value, p.dtype)
                              for p, value in zip(kernel.parameters, parameters)])


def _check_parameters(kernel: Kernel, parameters: Sequence[Any], tables: Sequence[Any]) -> None:
    for p, value in (*zip(kernel.parameters, parameters), *zip(kernel.parameters, tables)):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{p.keyword} is a {type(value).__name__}; expected a tensor, because q is one")
        if value is not None and value.requires_grad and not _is_learned(p):
            raise ValueError(f"{p.keyword} requires gradients, but random arrays have none; "
                             f"pass {p.keyword}.detach()")


def _directly(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, given: Mapping[str, Any], seed: Optional[int],
              out: Any = None, threads: Optional[int] = None) -> Tensor:
    q, k, v = (a.detach() if a.requires_grad else a for a in (q, k, v))
    made: Tensor = kernel._binding.forward(q, k, v, given, seed, out,
                                           torch.get_num_threads() if threads is None else threads)
    return made


def call(kernel: Kernel, q: Tensor, k: Any, v: Any, seed: Optional[int], out: Any, threads: Optional[int],
         given: Mapping[str, Any]) -> Tensor:
    """Implements Kernel.__call__ for tensors."""
    if v is None:
        v = _values(kernel, k, v)
    if is_traced():
        return _call(kernel, None, q, k, v, seed, out, threads, given)
    if out is None and threads is None and seed is None and kernel._records[0]:
        repeated: Optional[Tensor] = _autograd.library.call(kernel._records[0], q, k, v,
                                                            None if given is kernel._none else given)
        if repeated is not None:
            return repeated
    if parallel.now is None and any(p.dtype == "i32" for p in kernel.parameters):
        given = {**given, **{p.name: narrowed(p.keyword, given[p.name]) for p in kernel.parameters if p.dtype == "i32"}}
    key: Any = None
    if out is None and threads is None and is_undisturbed() and not torch.is_autocast_enabled("cpu"):
        key = _autograd.key_of(kernel, q, k, v, given, seed)
        again = None if key is None else _autograd.known(key)
        if again is not None:
            try:
                if key[0]:
                    return _autograd.attend(Way(kernel, key, again, False), seed, q, k, v, given)
                return again.call(q, k, v, given, None, seed)  # type: ignore[no-any-return]
            except Misaligned:
                key = None  # the call below copies the tensor
    if parallel.now is not None:
        made: Tensor = parallel.now.call(kernel, lambda: _call(kernel, None, q, k, v, seed, out, threads, given))
        return made
    return _call(kernel, key, q, k, v, seed, out, threads, given)


def _call(kernel: Kernel, key: Any, q: Tensor, k: Any, v: Any, seed: Optional[int], out: Any, threads: Optional[int],
          given: Mapping[str, Any]) -> Tensor:
    """Checks a call, and makes it. It is kept by the key if it has one (_autograd.py)."""
    if is_traced():
        _refuse_tangents(kernel.name, q, k, v, *given.values())
    _on_the_cpu(kernel, q=q, k=k, v=v, **{p.keyword: given[p.name] for p in kernel.parameters})
    stored = kernel._binding.takes_stored  # its keys and values stay as they are
    if torch.is_autocast_enabled("cpu") and isinstance(k, Tensor) and isinstance(v, Tensor) and out is None and not stored:
        narrow = torch.get_autocast_dtype("cpu")
        if kernel.dtype != "f64" and q.dtype != torch.float64:
            kernel = kernel._as(_NARROW[narrow])
            q, k, v = q.to(narrow), k.to(narrow), v.to(narrow)
    _check(kernel, q, k, v)
    parameters, tables = _as_tensors(kernel, [given[p.name] for p in kernel.parameters])
    _check_parameters(kernel, parameters, tables)
    start = _positions(given.get("query_start"), q.shape[0])
    if not is_traced() and _have_tangents(q, k, v, *parameters):
        if out is not None or threads is not None:
            raise ValueError(f"{kernel.name}: out= and threads= are for calls without tangents")
        return _call_with_tangents(kernel, q, k, v, parameters, tables, start, seed)
    differentiable = torch.is_grad_enabled() and any(
        isinstance(a, Tensor) and a.requires_grad for a in (q, k, v, *parameters))
    if out is not None or threads is not None:
        if not is_traced() and parallel.now is not None:
            raise ValueError(f"{kernel.name}: ContextParallel takes no out= and no threads=")
        if differentiable:
            raise ValueError(f"{kernel.name}: out= and threads= are for calls without gradients; torch.no_grad() makes "
                             "one, and torch.set_num_threads() sets threads")
        return _directly(kernel, q, k, v, _given(kernel, parameters, tables, start), seed, out, threads)
    if key is not None and _is_eager(*parameters):
        if differentiable:
            return _autograd.attend(Way(kernel, key, None, False), seed, q, k, v, given)
        detached = {name: value.detach() if isinstance(value, Tensor) else value for name, value in given.items()}
        result: Tensor = kernel._binding.forward_again(key, q.detach(), k.detach(), v.detach(), detached, seed,
                                                       torch.get_num_threads())
        known = _autograd.known(key)
        if _autograd.library is not None and known is not None and seed is None:
            _autograd.library.keep(kernel._records[0], known, (q, k, v), given, known.empty_of(q))
        return result
    if not differentiable and not is_traced() and _is_eager(q, k, v, *parameters):
        return _directly(kernel, q, k, v, _given(kernel, parameters, tables, start), seed)
    return _forward(  # type: ignore[no-any-return]
        kernel._text, q, k, v, parameters, tables, start, seed, differentiable, None)[0]


def _text_of_formula(*formula: Any) -> str:
    return _of_formula(*formula)._text


def _constant_size(size: int) -> int:
    """Returns a size as a number, even if torch.compile has a symbol for it. int() would keep the symbol."""
    return len(list(range(size)))


_constant: Any = torch.compiler.assume_constant_result
_constant(_text_of_formula)
_constant(_sole_subscripts)


def _names_of_formula(*formula: Any) -> Tuple[str, ...]:
    """Returns the names of the kernel's arrays, in its order."""
    return tuple(p.name for p in _of_formula(*formula).parameters)


_constant(_names_of_formula)
_constant(_text_as)


def call_formula(formula: Tuple[Any, ...], q: Tensor, k: Tensor, v: Tensor, arrays: Mapping[str, Any],
                 seed: Optional[int], out: Any,
                 threads: Optional[int]) -> Tensor:
    """Implements attnc.attention() for tensors. A graph contains the text of the kernel."""
    if is_traced() and out is None and threads is None:
        _refuse_tangents("attention", q, k, v)
        *words, head_dim, value_dim, dtype, scaled = formula
        formula = (*words, _constant_size(head_dim), _constant_size(value_dim), dtype, scaled)
        given, tables = _masks_and_tables([_as_tensor(arrays[name], "f64" if dtype == "f64" else "f32")
                                           for name in _names_of_formula(*formula)])
        differentiable = torch.is_grad_enabled() and any(a is not None and a.requires_grad for a in (q, k, v, *given))
        return _forward(  # type: ignore[no-any-return]
            _text_of_formula(*formula), q, k, v, given, tables, None, seed, differentiable, None)[0]
    made: Tensor = _of_formula(*formula)._with_arrays((q, k, v), arrays, seed, out, threads)
    return made


def _call_text(text: str, q: Tensor, k: Tensor, v: Optional[Tensor], parameters: Sequence[Optional[Tensor]],
               seed: Optional[int] = None) -> Tensor:
    """Calls the kernel that this text names. In a graph, calls the operator."""
    if not is_traced():
        kernel = _kernel_of(text)
        kernel._check_values(v)
        given = {p.name: value for p, value in zip(kernel.parameters, parameters)} if any(
            value is not None for value in parameters) else kernel._none
        return call(kernel, q, k, v, seed, None, None, given)
    kernel = _kernel_of(text)
    kernel._check_values(v)
    v = _values(kernel, k, v)
    parameters, tables = _as_tensors(kernel, parameters)
    differentiable = torch.is_grad_enabled() and any(a is not None and a.requires_grad for a in (q, k, v, *parameters))
    return _forward(text, q, k, v, parameters, tables, None, seed, differentiable, None)[0]  # type: ignore[no-any-return]


# ---- a module


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
        self.kernel = spec if isinstance(spec, Kernel) else _kernel(spec, set)
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
        return any(p.keyword == word and _is_learned(p) for p in self.kernel.parameters)

    def reset_parameters(self) -> None:
        """Sets parameters and buffers to their initial values, for example after to_empty()."""
        with torch.no_grad():
            for word, array in self._initial().items():
                getattr(self, word).copy_(array)

    def forward(self, q: Tensor, k: Tensor, v: Optional[Tensor] = None, **given_arrays: Tensor | float) -> Tensor:
        word = _WORDS.get(q.dtype, self.kernel.dtype)
        arrays: dict[str, Any] = dict(given_arrays)
        for p in self.kernel.parameters:
            owned = p.from_seed is not None or p.initial is not None
            value = getattr(self, p.keyword) if owned else arrays.get(p.keyword)
            if p.dtype not in _INTEGERS and isinstance(value, Tensor):
                arrays[p.keyword] = value.to(torch.float64 if word == "f64" else torch.float32)
        kernel = self.kernel if self.training else self._undropped
        seed = int(torch.randint(1, 2**63 - 1, (), device="cpu")) if kernel.dropout else None
        if word == kernel.dtype:
            return kernel(q, k, v, seed=seed, **arrays)
        given = [arrays.pop(p.keyword, None) for p in kernel.parameters]
        kernel._given(arrays)  # raises TypeError for an unknown parameter
        return _call_text(_text_as(kernel._text, word), q, k, v, given, seed)

    def extra_repr(self) -> str:
        heads = "" if self.heads is None else f", heads={self.heads}"
        shared = "" if self.kv_heads == self.heads else f", kv_heads={self.kv_heads}"
        return f"{self.kernel.name!r}, head_dim={self.kernel.head_dim}, dtype={self.kernel.dtype}{heads}{shared}"


_kernels._torch = sys.modules[__name__]  # calls of kernels look there, which is faster than an import

from ._replace import MultiheadAttention, Replacement, replace  # noqa: E402 (_replace imports names defined above)


def __getattr__(name: str) -> Any:
    if name in ("Untranslatable", "flex_attention"):  # PyTorch takes seconds to import what they need
        from . import flex

        return getattr(flex, name)
    if name == "ContextParallel":
        from . import distributed

        return distributed.ContextParallel
    if name == "use":
        from . import _sdpa

        return _sdpa.use
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
