"""Kernels as operators of PyTorch: attnc::forward and attnc::backward with gradients, vmap and forward mode, and
attnc::statistics."""
from __future__ import annotations

from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ._arrays import (_HALVES, _INTEGERS, _is_number, _OTHER_NAMES, check_shape, dtype_of, gradient_type, named,
                      narrowed, row_units, words_of_heads)
from ._call import MaskTiles
from ._compiler import First, Source
from ._context import cached_constant, constant, parallel, within
from ._kernel import _of_source, Kernel
from ._repeat import Saved

_DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
           "i32": torch.int32, "u8": torch.bool}
_WORDS = {dtype: word for word, dtype in _DTYPES.items() if word not in _INTEGERS}
_NARROW = {dtype: word for dtype, word in _WORDS.items() if word in _HALVES}
_OF_PARALLEL = -float(1 << 100)  # the last saved value of a call in a ContextParallel, if there is room

# ---- names of kernels: operators take strings, and compiled graphs store them

_named: dict[str, Kernel] = {}


def kernel_of(name: str, first: Optional[First] = None) -> Kernel:
    """Returns the kernel with this name. With the sizes of a first call, it may not be whole yet."""
    made = _named.get(name)
    if made is None:
        made = _named[name] = _of_source(Source.named(name), first)
    return made


@cached_constant
def names_of(name: str) -> Tuple[str, ...]:
    """Returns the names of the kernel's arrays, in its order."""
    return tuple(p.name for p in kernel_of(name).parameters)


@constant
def text_as(name: str, *settings: str) -> str:
    """Returns the name of the kernel with more settings."""
    return Source.named(name).with_settings(*settings).name()


# ---- the operands of operators


class Call(NamedTuple):
    """The operands of attnc::forward. `tables` has a table of tiles or None for each parameter, or is empty. `start` has
    the positions of first queries. A seed is a number, or a tensor without axes that is drawn in a graph."""

    kernel: str
    q: Tensor
    k: Tensor
    v: Tensor
    parameters: Sequence[Optional[Tensor]]
    tables: Sequence[Optional[Tensor]]
    start: Optional[Tensor]
    seed: Optional[int]
    saves: bool
    drawn: Optional[Tensor]

    def made(self) -> Tuple[Kernel, Mapping[str, Any], Optional[int]]:
        """Returns the kernel, its parameters by name, and the seed."""
        made = kernel_of(self.kernel)
        return (made, given_of(made, self.parameters, self.tables, self.start),
                self.seed if self.drawn is None else int(self.drawn))


def given_of(kernel: Kernel, parameters: Sequence[Optional[Tensor]], tables: Sequence[Optional[Tensor]] = (),
             start: Optional[Tensor] = None) -> Mapping[str, Any]:
    given: dict[str, Any] = {p.name: value if value is None else narrowed(p.keyword, value) if p.dtype == "i32" else
                             value.detach() for p, value in zip(kernel.parameters, parameters)}
    for p, table in zip(kernel.parameters, tables):
        if table is not None:
            given[p.name] = MaskTiles(given[p.name], table)
    if start is not None:
        given["query_start"] = start
    return given


def masks_and_tables(parameters: Sequence[Any]) -> Tuple[List[Any], List[Any]]:
    """Returns the parameters with masks in place of MaskTiles, and the table of each parameter or None. Without tables,
    the second list is empty."""
    if not any(isinstance(value, MaskTiles) for value in parameters):
        return list(parameters), []
    return ([value.mask if isinstance(value, MaskTiles) else value for value in parameters],
            [value.table if isinstance(value, MaskTiles) else None for value in parameters])


def as_tensor(value: Any, word: str) -> Any:
    """A number becomes a tensor without axes. Other values stay."""
    return torch.tensor(value, dtype=_DTYPES[word], device="cpu") if _is_number(value) else value


def as_tensors(kernel: Kernel, parameters: Sequence[Any]) -> Tuple[List[Any], List[Any]]:
    """Returns the parameters of an operator, and its tables."""
    return masks_and_tables([value if p.shape else as_tensor(value, p.dtype)
                             for p, value in zip(kernel.parameters, parameters)])


def drawn_seed() -> Tensor:
    """Returns a new seed for dropout, from PyTorch's generator."""
    return torch.randint(1, 2**63 - 1, (), dtype=torch.int64, device="cpu")


def sums_of(kernel: Kernel) -> torch.dtype:
    """Returns the dtype of sums, which saved values and statistics have."""
    return torch.float64 if kernel.dtype == "f64" else torch.float32


def gradient_dtype(kind: str, array: Tensor) -> torch.dtype:
    """Returns the dtype of the gradient that a kernel writes for a parameter of this type."""
    return torch.float32 if gradient_type(kind) != kind else array.dtype


def rows_in_place(dout: Tensor) -> Tensor:
    """Returns a gradient that kernels can read. That of a sum is an expanded tensor with stride 0."""
    strides = dout.stride()
    good = (strides[-1] == 1 or dout.shape[-1] <= 1) and 0 not in strides and not dout.is_neg()
    return dout if good else dout.resolve_neg().contiguous()


class Kept(Saved):
    """A Saved whose memory is a tensor, because autograd stores tensors from forward to backward."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.tensor = tensor.clone() if tensor.data_ptr() % 64 else tensor

    def _take(self, call: Any) -> None:
        call.problem.saved, call.problem.saved_bytes = self.tensor.data_ptr(), self.tensor.nbytes

    _give = _take

    def __reduce__(self) -> Any:
        return Kept, (self.tensor,)


def check(kernel: Kernel, q: Any, k: Any, v: Any) -> None:
    """Checks q, k and v before an operator, because tracing calls no kernel."""
    sizes: dict[str, int] = {}
    heads = dict(zip("qk", words_of_heads(q, None if kernel.values_are_keys else v)), v="G")
    for name, a in zip("qkv", (q, k, v)):
        if not isinstance(a, Tensor):
            raise TypeError(f"{name} is a {type(a).__name__}; expected a tensor, because q is one")
        columns, takes = kernel.value_dim if name == "v" else kernel.head_dim, _OTHER_NAMES[kernel.dtype][0]
        fits = dtype_of(a) == takes
        if kernel._binding.takes_stored and name != "q":
            kind = kernel.storage[name]
            takes, fits = named(kind), dtype_of(a) in _OTHER_NAMES[kind]
            columns = row_units(kind, kernel.head_dim if kernel.values_are_keys else columns)
        if not fits:
            raise TypeError(f"{name} is {dtype_of(a)}; {kernel.name} takes {takes}")
        check_shape(name, a.shape, ("B", heads[name], "n_q" if name == "q" else "n_k", columns), sizes)


# ---- the operators: what they compute, and the shapes of their results

# A compiled graph that PyTorch has in its cache calls the operators, so their operands stay.
_FORWARD = ("(str kernel, Tensor q, Tensor k, Tensor v, Tensor?[] parameters, Tensor?[] tables, Tensor? start, int? seed, "
            "bool saves, Tensor? drawn) -> (Tensor, Tensor)")
_BACKWARD = ("(str kernel, Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor saved, Tensor?[] parameters, "
             "Tensor?[] tables, Tensor? start, int? seed, bool[] wanted, Tensor? drawn) -> Tensor[]")


def _of_backward(kernel: str, dout: Any, q: Any, k: Any, v: Any, out: Any, saved: Any, parameters: Any, tables: Any,
                 start: Any, seed: Any, wanted: Any, drawn: Any) -> Tuple[Call, Any, Any, Any, Any]:
    """Returns the operands of forward, its results, their gradient, and a truth value for each gradient to compute."""
    return Call(kernel, q, k, v, parameters, tables, start, seed, True, drawn), out, saved, dout, wanted


def _called_backward(call: Call, out: Any, saved: Any, dout: Any, wanted: Sequence[bool]) -> List[Tensor]:
    """Calls attnc::backward. Returns the wanted gradients of q, k, v and learned parameters."""
    kernel, q, k, v, parameters, tables, start, seed, _, drawn = call
    return _backward(kernel, dout, q, k, v, out, saved, parameters, tables, start, seed, wanted, drawn)


def _forward_of(*operands: Any) -> Tuple[Tensor, Tensor]:
    call = Call(*operands)
    made, given, seed = call.made()
    size = made._saved_size(call.q, call.v) if call.saves and call.q.dim() == 4 else 0
    saved, (q, k, v) = torch.zeros(size, dtype=sums_of(made)), (a.detach() for a in operands[1:4])
    if parallel.now is not None:
        saved.fill_(_OF_PARALLEL)
        return parallel.now.forward(made, q, k, v, given, seed, saved if call.saves else None), saved
    binding = made._with_gradients() if call.saves else made._binding
    return binding.forward(q, k, v, given, seed, None, torch.get_num_threads(), Kept(saved) if call.saves else None), saved


def _forward_shapes(*operands: Any) -> Tuple[Tensor, Tensor]:
    call = Call(*operands)
    made, q = kernel_of(call.kernel), call.q
    check(made, q, call.k, call.v)
    size = made._saved_size(q, call.v) if call.saves else 0
    return q.new_empty((*made._axes(q, call.v), made.value_dim)), q.new_empty((size,), dtype=sums_of(made))


def _backward_of(*operands: Any) -> List[Tensor]:
    call, out, saved, dout, wanted = _of_backward(*operands)
    made, given, seed = call.made()
    q, k, v, out, dout = (a.detach() for a in (call.q, call.k, call.v, out, rows_in_place(dout)))
    if parallel.now is not None:
        gradients: List[Tensor] = parallel.now.backward(made, q, k, v, out, dout, saved, given, seed, wanted)
        return gradients
    if saved.numel() and float(saved[-1]) == _OF_PARALLEL:
        raise RuntimeError(f"{made.name}: forward ran in a ContextParallel; backward has to run in it, too, if "
                           "torch.compile compiled the model")
    binding = made._with_gradients()
    names = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted]
    result = binding.backward(q, k, v, out, dout, given, seed, Kept(saved), names, None,
                              torch.get_num_threads())
    return [getattr(result, name) for name in names]


def _backward_shapes(*operands: Any) -> List[Tensor]:
    call, *_, wanted = _of_backward(*operands)
    arrays: List[Any] = [(a, a.dtype) for a in (call.q, call.k, call.v)]
    arrays += [a if a is None else (a, gradient_dtype(p.dtype, a))
               for p, a in zip(kernel_of(call.kernel).parameters, call.parameters) if p.is_learned]
    return [torch.empty(each[0].shape, dtype=each[1], device=each[0].device)
            for each, is_wanted in zip(arrays, wanted) if is_wanted and each is not None]


def _statistics_of(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]]) -> Tensor:
    made = kernel_of(kernel)
    given = given_of(made, parameters)
    counted: Any = made(*(a.detach() for a in (q, k, v)), statistics=True,
                        **{p.keyword: given[p.name] for p in made.parameters})
    result: Tensor = counted.statistics
    return result


def _statistics_shapes(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Any) -> Tensor:
    made = kernel_of(kernel)
    return q.new_empty(made._axes(q, v), dtype=sums_of(made))


def operator(name: str, function: Callable[..., Any], shapes: Callable[..., Any], schema: Optional[str] = None,
             keep: Any = None, differentiate: Any = None, of_batches: Any = None) -> Any:
    """Returns an operator of PyTorch. shapes, keep and differentiate, of_batches: its functions for tracing, for gradients
    and for vmap"""
    made = torch.library.custom_op("attnc::" + name, function, mutates_args=(), schema=schema)
    made.register_fake(shapes)
    if differentiate is not None:
        made.register_autograd(differentiate, setup_context=keep)
    if of_batches is not None:
        made.register_vmap(of_batches)
    return made


def forward(kernel: str, q: Tensor, k: Tensor, v: Tensor, parameters: Sequence[Optional[Tensor]],
            tables: Sequence[Optional[Tensor]] = (), start: Optional[Tensor] = None, seed: Optional[int] = None,
            drawn: Optional[Tensor] = None) -> Tensor:
    """Returns the result of attnc::forward, which saves values for gradients if one is needed."""
    saves = torch.is_grad_enabled() and any(a is not None and a.requires_grad for a in (q, k, v, *parameters))
    return _forward(kernel, q, k, v, parameters, tables, start, seed, saves, drawn)[0]


def backward(call: Call, out: Tensor, saved: Tensor, dout: Tensor, wanted: Sequence[bool]) -> List[Optional[Tensor]]:
    """Returns the gradients of q, k, v and learned parameters, or None for those that are not wanted."""
    each = iter(_called_backward(call, out, saved, dout, wanted) if any(wanted) else ())
    return [next(each) if is_wanted else None for is_wanted in wanted]


# ---- gradients


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tuple[Tensor, Tensor]) -> None:
    call = Call(*inputs)
    rest = (*call.parameters, *call.tables, call.start, call.drawn)
    ctx.kernel, ctx.seed, ctx.saves, ctx.there = call.kernel, call.seed, call.saves, [p is not None for p in rest]
    ctx.count, ctx.parallel = len(call.parameters), parallel.now
    ctx.save_for_backward(call.q, call.k, call.v, *output, *(p for p in rest if p is not None))
    ctx.mark_non_differentiable(output[1])


def _differentiate(ctx: Any, dout: Tensor, _: Any) -> Tuple[Any, ...]:
    q, k, v, out, saved, *rest = ctx.saved_tensors
    made, needs = kernel_of(ctx.kernel), ctx.needs_input_grad
    if not ctx.saves:
        raise RuntimeError(f"{made.name}: forward was called without saving values for gradients")
    *arrays, start, drawn = [rest.pop(0) if there else None for there in ctx.there]
    parameters, tables = arrays[:ctx.count], arrays[ctx.count:]
    of_parameters = needs[4] if isinstance(needs[4], (list, tuple)) else [needs[4]] * len(parameters)
    learned = [number for number, p in enumerate(made.parameters) if p.is_learned]
    wanted = [*needs[1:4], *(bool(of_parameters[number]) for number in learned)]
    with within(ctx.parallel or parallel.now):
        gradients = backward(Call(ctx.kernel, q, k, v, parameters, tables, start, ctx.seed, True, drawn), out, saved, dout,
                             wanted)
    by_parameter: List[Optional[Tensor]] = [None] * len(parameters)
    for number, gradient in zip(learned, gradients[3:]):
        by_parameter[number] = gradient
    of_lists = [gradient if isinstance(need, (list, tuple)) else None  # autograd tells lists from single values
                for need, gradient in ((needs[4], by_parameter), (needs[5], [None] * len(tables)))]
    return None, *gradients[:3], *of_lists, None, None, None, None


def _keep_nothing(ctx: Any, inputs: Tuple[Any, ...], output: List[Tensor]) -> None:
    ctx.kernel = inputs[0]


def _differentiate_twice(ctx: Any, *_: Any) -> Any:
    raise RuntimeError(f"{kernel_of(ctx.kernel).name}: attnc has no second derivatives; its gradients cannot be "
                       "differentiated (create_graph=True)")


# ---- vmap: additional batch axes. Calls take masks without tables, which give the same bits.


def _merged(a: Any, dim: Any, count: int) -> Any:
    """Merges the axis of vmap into the batch: [count, B, …] becomes [count * B, …]."""
    if a is None:
        return None
    a = a.movedim(dim, 0) if dim is not None else a.expand(count, *a.shape)
    return a.reshape(count * a.shape[1], *a.shape[2:])


def _dims_of(call: Call, dims: Call) -> Sequence[Any]:
    """Returns the axes of vmap of the parameters, from those of all operands."""
    return dims.parameters if isinstance(dims.parameters, (list, tuple)) else [None] * len(call.parameters)


def _with_one_batch(call: Call, dims: Call, count: int) -> Call:
    """Returns a call for all elements of vmap's axis. `dims` has the number of that axis for each operand, or None."""
    made, parameters = kernel_of(call.kernel), list(call.parameters)
    for number, (p, value, dim) in enumerate(zip(made.parameters, parameters, _dims_of(call, dims))):
        if value is not None and p.shape and p.shape[0] == "B":
            parameters[number] = _merged(value, dim, count)
        elif value is not None and dim is not None:
            raise NotImplementedError(f"{made.name}: vmap over the parameter {p.keyword} is not supported, only over "
                                      "batches")
    q, k, v = (_merged(a, dim, count) for a, dim in zip(call[1:4], dims[1:4]))
    return call._replace(q=q, k=k, v=v, parameters=parameters, tables=[], start=_merged(call.start, dims.start, count))


def _forward_of_batches(info: Any, dims: Any, *operands: Any) -> Any:
    out, saved = _forward(*_with_one_batch(Call(*operands), Call(*dims), info.batch_size))
    return (out.unflatten(0, (info.batch_size, -1)), saved), (0, None)  # type: ignore[no-untyped-call]


def _selected(a: Any, dim: Any, number: int) -> Any:
    return a if a is None or dim is None else a.select(dim, number)


def _backward_of_batches(info: Any, of_operands: Any, *operands: Any) -> Any:
    (call, out, saved, dout, wanted), count = _of_backward(*operands), info.batch_size
    dims, of_out, of_saved, of_dout, _ = _of_backward(*of_operands)
    made = kernel_of(call.kernel)
    if made.dropout and (any(wanted[3:]) or of_saved is None):
        raise NotImplementedError(f"{made.name}: this call of vmap would not draw what forward drew, because dropout "
                                  "draws by the index in the batch")
    if any(wanted[3:]):  # a gradient of a parameter sums over the batch, so each call needs its own
        each = []
        for number in range(count):
            q, k, v = (_selected(a, dim, number) for a, dim in zip(call[1:4], dims[1:4]))
            given = [_selected(a, dim, number) for a, dim in zip(call.parameters, _dims_of(call, dims))]
            one = call._replace(q=q, k=k, v=v, parameters=given, tables=[], start=_selected(call.start, dims.start, number))
            result, values = _forward(*one)
            each.append(_called_backward(one, result, values, _selected(dout, of_dout, number), wanted))
        results = [torch.stack(several) for several in zip(*each)]
    else:
        whole = _with_one_batch(call, dims, count)
        if of_saved is None:  # forward ran without vmap, so it saved values for only one of the batches
            _, saved = _forward(*whole)
        gradients: Any = _called_backward(whole, _merged(out, of_out, count), saved, _merged(dout, of_dout, count), wanted)
        results = [a.unflatten(0, (count, -1)) for a in gradients]
    return results, [0] * len(results)


_forward: Callable[..., Tuple[Tensor, Tensor]] = operator(
    "forward", _forward_of, _forward_shapes, _FORWARD, _keep, _differentiate, _forward_of_batches)
_backward: Callable[..., List[Tensor]] = operator(
    "backward", _backward_of, _backward_shapes, _BACKWARD, _keep_nothing, _differentiate_twice, _backward_of_batches)
statistics: Callable[..., Tensor] = operator(
    "statistics", _statistics_of, _statistics_shapes,
    "(str kernel, Tensor q, Tensor k, Tensor v, Tensor?[] parameters) -> Tensor")

# ---- forward mode: another kernel computes the tangent of the output (`emit: [jvp]`)


class _Pushed(torch.autograd.Function):
    """A call with tangents. `arrays` are the parameters, then their tables."""

    generate_vmap_rule = True

    @staticmethod
    def forward(kernel: str, seed: Optional[int], start: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor,
                *arrays: Optional[Tensor]) -> Tensor:
        count = len(kernel_of(kernel).parameters)
        return _forward(kernel, q, k, v, arrays[:count], arrays[count:], start, seed, False, None)[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
        ctx.kernel, ctx.seed, *tensors = inputs
        ctx.there = [a is not None for a in tensors]
        ctx.save_for_forward(*(a for a in tensors if a is not None))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        rest = list(ctx.saved_tensors)
        start, q, k, v, *arrays = [rest.pop(0) if there else None for there in ctx.there]
        made = kernel_of(ctx.kernel)
        other, names = made._tangent(), [p.name for p in made.parameters]
        primals: dict[str, Any] = dict(zip(["q", "k", "v", *names], (q, k, v, *arrays)))
        pushed = dict(zip(primals, tangents[3:]))
        tables = dict(zip(names, arrays[len(names):]))

        def of(name: str) -> Any:
            if not name.endswith(".tangent"):
                return primals[name]
            like, tangent = primals[name.removesuffix(".tangent")], pushed[name.removesuffix(".tangent")]
            sums = sums_of(made)
            return torch.zeros(like.shape, dtype=sums) if tangent is None else tangent.to(sums).expand(like.shape)
        names = [p.name for p in other.parameters]
        return _forward(other._text, q, k, v, [of(name) for name in names],
                        [tables.get(name) for name in names] if tables else [], start, ctx.seed, False, None)[0]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(f"{kernel_of(ctx.kernel).name}: a call with tangents (torch.func.jvp, dual tensors) has no "
                           "gradients")


push: Callable[..., Tensor] = _Pushed.apply
