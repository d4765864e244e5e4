"""attnc.torch.ContextParallel: one sequence over the processes of torch.distributed.

attnrt_ranks.h says how processes work together. This file has the functions that move bytes, and the gradients."""
from __future__ import annotations

import builtins
import contextlib
import ctypes
import datetime
import functools
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from . import _header, _tensors
from ._call import Parameter, _Call
from ._compiler import library_path
from ._context import parallel
from ._kernel import Kernel
from ._operators import gradient_dtype
from ._threads import _room

_ENOT_DELIVERED = -17  # ATTN_ERANKS
_UNSERVED = -15, -14  # ATTN_EFOLD, ATTN_ELENGTH
_SAYS = {-1: "the processes have other kernels, batches or numbers of heads, or an array has the wrong size",
         -15: "results for different keys cannot be merged: 'delta' changes the values; or an array has no rows of the "
              "process's keys, such as one for blocks of keys; or it is a linear form that needs 'algorithm: quadratic', such "
              "as one with 'storage' and 'decay' or 'document'",
         -14: "positions or queries count by blocks, so that the tokens of each process must begin with a block"}

_header._MEMBERS.update(_header._declarations("attnrt_ranks.h"))


class _Transport(ctypes.Structure):
    _fields_ = _header._fields("attn_transport", functions=True)


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    path = library_path("attnc_ranks.so", "runtime/mpi")
    if path is None:
        raise RuntimeError("the library attnc_ranks.so is missing; reinstall attnc")
    library = ctypes.CDLL(path)
    for name, count in ("forward", 9), ("workspace", 3), ("backward", 14), ("backward_workspace", 3):
        function = getattr(library, "attn_ranks_" + name)
        function.argtypes = [ctypes.c_void_p] * count
        if count == 3:
            function.restype = ctypes.c_size_t
    return library


class _Messages:
    """The transport of a process group. Messages are tensors that share the memory of the caller."""

    def __init__(self, group: Any) -> None:
        self.group, self.processes = group, dist.get_process_group_ranks(group)
        self.begun: dict[int, Tuple[Any, Tensor]] = {}
        self.count = 0
        self.failure: Optional[BaseException] = None
        kinds = dict(_Transport._fields_)
        self.transport = _Transport(rank=dist.get_rank(group), ranks=len(self.processes),
                                    send=kinds["send"](functools.partial(self._begin, dist.isend)),
                                    receive=kinds["receive"](functools.partial(self._begin, dist.irecv)),
                                    wait=kinds["wait"](self._wait))

    def _guarded(self, function: Callable[[], Any]) -> int:
        """Calls the function. The caller raises an exception after attn_ranks_… has returned."""
        try:
            function()
        except BaseException as error:
            self.failure = self.failure or error
            return _ENOT_DELIVERED
        return 0

    def _begin(self, begin: Any, _: Any, address: int, size: int, peer: int, tag: int, request: int) -> int:
        def message() -> None:
            memory = torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=torch.uint8) if size else (
                torch.empty(0, dtype=torch.uint8))
            work = begin(memory, self.processes[peer], group=self.group, tag=tag)
            self.count += 1
            self.begun[self.count] = work, memory
            ctypes.c_int64.from_address(request).value = self.count
        return self._guarded(message)

    def _wait(self, _: Any, request: int) -> int:
        return self._guarded(lambda: self.begun.pop(ctypes.c_int64.from_address(request).value)[0].wait())


class _Ranked(_Call):
    """A call on one process, with its own tokens."""

    def __init__(self, context: ContextParallel, kernel: Kernel, binding: Any, seed: Optional[int]) -> None:
        super().__init__(binding, torch.get_num_threads(), seed)
        self.context, self.kernel = context, kernel
        self.problem.foldable = context._foldable and (binding.has_sums() or binding.has_key_sums())

    def take(self, q: Any, k: Any, v: Any, given: Mapping[str, Any], total: int) -> List[Any]:
        """Adds the arrays. `total` is the number of keys of all processes. Returns the addresses of q, k, v and out."""
        if given.get("query_start") is not None:
            raise ValueError(f"{self.binding.name}: query_start cannot be given in ContextParallel, which counts the tokens "
                             "of all processes")
        arrays = self.inputs(q, k, v)
        out = self.writes("out", None, q, arrays[0], ("B", "H", "n_q", self.binding.value_dim))
        self.take_sizes(total)
        self.take_parameters(given)
        return [array.address or None for array in (*arrays, out)]

    def take_sizes(self, total: int) -> None:
        """Sets the sizes of the other arrays."""
        binding = self.binding
        if binding.has_sums():
            self.tokens = "n_q"  # other arrays have the tokens of all processes
            self.problem.capacity = self.sizes["n_k"] = total
            return
        self.of_all_keys = {p.name for p in binding.parameters if _is_of_pairs(p) or _is_of_all_keys(binding, p)}
        if self.of_all_keys:
            self.sizes["all_keys"] = total
        if binding.kernel.in_parts:
            self.problem.all_keys = total

    def take_statistics(self, statistics: Tensor) -> None:
        """Adds an array for a number for each row of the result, which backward reads."""
        if self.binding.is_undivided():
            return  # backward needs none
        heads, rows = self.problem.heads, self.problem.n_q
        self.problem.statistics = statistics.data_ptr() or _room().of(64)  # an empty tensor has no address
        self.problem.statistics_at = _header._Strides(heads * rows, rows, 1)

    def meet(self, workspace: Any, function: Any, allowed: Sequence[int], *arguments: Any) -> int:
        """Calls a function of attnrt_ranks.h on all processes. Returns an error if it is one of the allowed ones, else 0."""
        of_all = (ctypes.byref(one) for one in (self.context._messages.transport, self.binding.kernel, self.problem))
        transport, kernel, problem = of_all
        size, code = workspace(transport, kernel, problem), 0

        def call() -> int:
            nonlocal code
            code = function(transport, kernel, problem, self.params, *arguments, _room().of(max(size, 64)))
            return 0 if code in allowed else code
        self.context._meet(self.kernel, None, call)
        return code


class _Unserved(Exception):
    """attn_ranks_backward does not compute these gradients."""


class _Backward(_Ranked):
    """A call of attn_ranks_backward. `statistics` are those of forward. Arrays of a linear form have the rows of this
    process."""

    def __init__(self, context: ContextParallel, kernel: Kernel, binding: Any, seed: Optional[int], keys: int,
                 statistics: Tensor) -> None:
        super().__init__(context, kernel, binding, seed)
        self.keys, self.statistics = keys, statistics

    def take_parameters(self, given: Mapping[str, Any]) -> None:
        if not self.binding.has_sums():
            self.take_sizes(self.keys)
            self.take_statistics(self.statistics)
        super().take_parameters(given)

    def run(self, function: Any, workspace: Any, *arguments: Any) -> dict[str, Any]:
        library, made = _library(), {written.array.name: written.made for written in self.written}
        for number, p in enumerate(self.binding.learned):
            pointer = ctypes.c_void_p.from_address(arguments[-1] + number * ctypes.sizeof(ctypes.c_void_p))
            if "d" + p.keyword in made and not pointer.value:
                pointer.value = _room().of(64)  # all processes must want the same, and an empty array has no address
        if self.meet(library.attn_ranks_backward_workspace, library.attn_ranks_backward,
                     _UNSERVED if self.binding.has_sums() else (), *arguments):
            raise _Unserved
        return made


def _with_gradients(kernel: Kernel) -> Any:
    """Returns the kernel for attn_ranks_backward. Returns None if it does not serve the kernel, or if arrays of a linear
    form need rows of other processes."""
    binding = kernel._with_rank_gradients()
    if binding is None or binding.has_sums() and any(
            _has_queries(p) or ("n_k" in p.shape and p.name not in binding.rows) for p in binding.parameters):
        return None
    return binding


def _has_queries(p: Parameter) -> bool:
    """Returns True if the parameter has an element for each query or for each block of queries."""
    return any(str(extent).partition("/")[0] == "n_q" for extent in p.shape)


def _is_of_pairs(p: Parameter) -> bool:
    return _has_queries(p) and "n_k" in p.shape


def _is_of_all_keys(binding: Any, p: Parameter) -> bool:
    """Returns True for `document` of a kernel whose calls have some keys: each process needs the ids of all tokens."""
    return bool(binding.kernel.in_parts) and p.dtype == "i32" and "n_k" in p.shape and p.name not in binding.strides


def _needs_total(binding: Any) -> bool:
    """Returns True if the call needs the number of keys of all processes."""
    return bool(binding.kernel.in_parts) or any("n_k" in p.shape and (p.name not in binding.rows if binding.has_sums() else _has_queries(p))
               for p in binding.parameters)


class _Exchange:
    """The rows of all processes, for gradients that need the keys of the whole sequence."""

    def __init__(self, group: Any, queries: int, keys: int) -> None:
        self.group, self.rank = group, dist.get_rank(group)
        runs = [torch.zeros(2, dtype=torch.int64) for _ in range(dist.get_world_size(group))]
        dist.all_gather(runs, torch.tensor([queries, keys]), group=group)
        self.queries, self.keys = ([int(run[number]) for run in runs] for number in (0, 1))

    def start(self) -> int:
        """Returns the position of this process's first query, counted from the first key."""
        return sum(self.keys) - sum(self.queries[self.rank:])

    def gather(self, own: Tensor, axis: int) -> Tensor:
        """Returns the rows of the keys of all processes."""
        return _of_all(own, axis, self.keys, self.group)

    def give_back(self, gradient: Tensor, axis: int) -> Tensor:
        """Returns the gradient of this process's own rows: the sum over all processes."""
        total = gradient.to(torch.float64 if gradient.dtype == torch.float64 else torch.float32).contiguous()
        dist.all_reduce(total, group=self.group)
        return total.narrow(axis, sum(self.keys[:self.rank]), self.keys[self.rank]).to(gradient.dtype).contiguous()


def _of_all(own: Tensor, axis: int, counts: Sequence[int], group: Any) -> Tensor:
    """Returns the rows of all processes along an axis. `counts` has the number of rows of each process."""
    padded = own.new_zeros([*own.shape[:axis], max(counts), *own.shape[axis + 1:]])
    padded.narrow(axis, 0, own.shape[axis]).copy_(own)
    parts = [torch.empty_like(padded) for _ in counts]
    dist.all_gather([part.view(torch.uint8) for part in parts], padded.view(torch.uint8), group=group)
    return torch.cat([part.narrow(axis, 0, count) for part, count in zip(parts, counts)], axis)


def _gradients(kernel: Kernel, start: int, q: Tensor, out: Tensor, dout: Tensor, arrays: Mapping[str, Any],
               seed: Optional[int], wanted: Sequence[bool]) -> List[Optional[Tensor]]:
    """Returns the gradients for the queries of this process, or None for those that are not wanted."""
    binding = kernel._with_gradients()
    k, v = arrays["k"], arrays["v"]
    given = {name: value for name, value in arrays.items() if name not in ("k", "v")}
    if not q.shape[2] or not k.shape[2]:
        each = [(a, a.dtype) for a in (q, k, v)]
        each += [(a, gradient_dtype(p.dtype, a)) for p in binding.learned for a in [given[p.name]]]
        return [torch.zeros(a.shape, dtype=dtype) if is_wanted else None for (a, dtype), is_wanted in zip(each, wanted)]
    if start != k.shape[2] - q.shape[2]:
        given["query_start"] = start
    names = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted]
    result = binding.backward(q, k, v, out, dout, given, seed, None, names, None, torch.get_num_threads())
    return [getattr(result, name) if is_wanted else None for name, is_wanted in zip(binding.gradients, wanted)]


class ContextParallel:
    """Attention of one sequence over the processes of a group of torch.distributed. In a `with` block, the tensors q, k
    and v of a call of attnc are the tokens of this process: a run of consecutive tokens, of any length, also 0. Process
    0 of the group has the first tokens.

        parallel = attnc.torch.ContextParallel()
        with parallel:
            out = attend(q, k, v)
        model = parallel(model)         # a module whose forward is in such a block

    group: a process group; default: all processes
    timeout: seconds after which a process no longer waits for another one; default: that of torch.distributed
    foldable: with linear forms, all processes sum their tokens at the same time, and then join their states: faster for
        many processes. The result equals that of one process up to rounding. Each process must begin at a multiple of the
        tokens that a state sums at a time (see attnrt_ranks.h); otherwise foldable changes nothing.

    All processes of the group make the object together, and then call the same kernels in the same order, forward and
    backward. An exception in one of them is raised in all. Messages are sent by the backend gloo."""

    def __init__(self, group: Any = None, *, timeout: Optional[float] = None, foldable: bool = False) -> None:
        if not dist.is_initialized():
            raise RuntimeError("ContextParallel needs torch.distributed.init_process_group()")
        if group is not None and dist.get_rank(group) < 0:
            raise ValueError("this process is not in the group")
        limit = None if timeout is None else datetime.timedelta(seconds=timeout)
        # its own group, so that its messages are not mixed with those of others
        self._group = dist.new_group(dist.get_process_group_ranks(group), timeout=limit, backend="gloo",
                                     use_local_synchronization=True)
        self._messages = _Messages(self._group)
        self._meetings = 0
        self._foldable = foldable
        _tensors.watch_parallel()
        _library()

    def __copy__(self) -> ContextParallel:
        return self

    def __deepcopy__(self, _: Any) -> ContextParallel:
        return self  # copies of a model are for the same processes

    def __reduce__(self) -> Any:
        raise TypeError("a ContextParallel belongs to its processes and cannot be pickled: make one in each process")

    def __enter__(self) -> ContextParallel:
        parallel.before, parallel.now = (*parallel.before, parallel.now), self
        return self

    def __exit__(self, *_: Any) -> None:
        *before, parallel.now = parallel.before
        parallel.before = tuple(before)

    def __call__(self, module: nn.Module) -> nn.Module:
        """Returns a module that calls `module` in this context."""
        return _InContext(module, self)

    # ---- calls

    def call(self, kernel: Kernel, function: Callable[[], Tensor]) -> Tensor:
        """Calls a function that makes one call of the kernel. If it raises an exception before attn_ranks_forward, the
        other processes raise it, too."""
        with self._telling(kernel):
            return function()

    @contextlib.contextmanager
    def _telling(self, kernel: Kernel) -> Iterator[None]:
        """Tells the other processes of an exception in the block, unless they know it."""
        before = self._meetings
        try:
            yield
        except Exception as error:
            if self._meetings == before:
                self._fail(kernel, error)
            raise

    def _meet(self, kernel: Kernel, own: Optional[Exception], function: Callable[[], int]) -> None:
        """Calls a function of attnrt_ranks.h on all processes. `own` is the exception that this process raises."""
        self._messages.failure = None
        self._meetings += 1
        self._check(kernel, function(), own)

    def _fail(self, kernel: Kernel, error: Exception) -> None:
        """Tells the other processes of an exception, so that they do not wait."""
        self._meet(kernel, error, lambda: _library().attn_ranks_forward(
            ctypes.byref(self._messages.transport), *[None] * 7, _room().of(64)))

    def _reduced(self, number: int, how: Any = dist.ReduceOp.SUM) -> int:
        made = torch.tensor([number])
        dist.all_reduce(made, how, group=self._group)
        return int(made)

    def _total(self, k: Any) -> int:
        return self._reduced(k.shape[2] if getattr(k, "ndim", 0) == 4 else 0)

    def _with_all_ids(self, binding: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the arrays, with the ids of the tokens of all processes instead of this one's own."""
        made = dict(given)
        for p in binding.parameters:
            if not _is_of_all_keys(binding, p):
                continue
            own = given.get(p.name)
            good = isinstance(own, Tensor) and own.ndim == 2 and own.dtype == torch.int32
            sizes = [torch.zeros(2, dtype=torch.int64) for _ in self._messages.processes]
            dist.all_gather(sizes, torch.tensor(list(own.shape) if good and own is not None else [-1, -1]), group=self._group)
            batches, rows = ([int(one[number]) for one in sizes] for number in (0, 1))
            if min(rows) < 0 or len(set(batches)) > 1 or own is None:
                continue  # the call raises an exception for one of them
            made[p.name] = _of_all(own, 1, rows, self._group)
        return made

    def forward(self, kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, given: Mapping[str, Any],
                seed: Optional[int], saved: Optional[Tensor]) -> Tensor:
        """Implements the operator attnc::forward. `saved` gets what backward() needs."""
        with self._telling(kernel):
            binding = kernel._with_ranks()
            ring = None if saved is None or binding.has_sums() else kernel._with_rank_gradients()
            binding = ring or binding
            total = self._total(k) if _needs_total(binding) else 0
            given = self._with_all_ids(binding, given)
            call = _Ranked(self, kernel, binding, seed)
            arrays = call.take(q, k, v, given, total)
            if ring is not None and saved is not None:
                call.take_statistics(saved)
        call.meet(_library().attn_ranks_workspace, _library().attn_ranks_forward, (), *arrays)
        out: Tensor = call.written[0].made
        return out

    def backward(self, kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, out: Tensor, dout: Tensor, saved: Tensor,
                 given: Mapping[str, Any], seed: Optional[int], wanted: Sequence[bool]) -> List[Tensor]:
        """Implements the operator attnc::backward. The gradients of an array without rows for tokens are parts whose sum
        over all processes is the gradient."""
        binding = _with_gradients(kernel)
        if binding is None:
            return self._backward_of_all_keys(kernel, q, k, v, out, dout, given, seed, wanted)
        names, has_sums = [name for name, is_wanted in zip(binding.gradients, wanted) if is_wanted], binding.has_sums()
        try:
            with self._telling(kernel):
                call = _Backward(self, kernel, binding, seed,
                                 self._total(k) if not has_sums and _needs_total(binding) else 0, saved)
                given = given if has_sums else self._with_all_ids(binding, given)
                result = binding._backward(q, k, v, out, dout, given, seed, None, names, {}, 0, call)[0]
        except _Unserved:
            return self._backward_of_all_keys(kernel, q, k, v, out, dout, given, seed, wanted)
        # attn_ranks_backward has added the parts of all processes, except for rows of tokens
        rows = {"dq", "dk", "dv", *("d" + p.keyword for p in binding.learned if {"n_q", "n_k"} & set(p.shape))}
        return [getattr(result, name) if name in rows else getattr(result, name) / len(self._messages.processes)
                for name in names]

    def _backward_of_all_keys(self, kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, out: Tensor, dout: Tensor,
                              given: Mapping[str, Any], seed: Optional[int], wanted: Sequence[bool]) -> List[Tensor]:
        """Computes the gradients for the process's own queries, with the keys of all processes. Gradients of keys are
        added."""
        own: Optional[Exception] = None
        made: List[Optional[Tensor]] = []
        try:
            exchange, chain = _Exchange(self._group, q.shape[2], k.shape[2]), kernel._with_ranks()
            keys = {"k": 2} if kernel.values_are_keys else {"k": 2, "v": 2}
            keys |= {p.name: p.shape.index("n_k") for p in kernel.parameters if "n_k" in p.shape and "n_q" not in p.shape
                     and (not chain.has_sums() or p.name in chain.rows)}  # each process has the rows of its keys
            arrays = {**given, "k": k, "v": v}
            for name, axis in keys.items():
                if arrays.get(name) is not None:
                    arrays[name] = exchange.gather(arrays[name], axis)
            if kernel.values_are_keys:
                arrays["v"] = arrays["k"][..., :kernel.value_dim]
        except RuntimeError as error:
            self._messages.failure = error
            self._check(kernel, _ENOT_DELIVERED, None)
        try:
            made = _gradients(kernel, exchange.start(), q, out, dout, arrays, seed, wanted)
        except Exception as error:
            own = error
        self._check(kernel, self._reduced(-2 if own else 0, dist.ReduceOp.MIN), own)
        words = ["q", "k", "v", *(p.name for p in kernel._with_gradients().learned)]
        for number, name in enumerate(words):
            one = made[number]
            if one is not None and name in keys:
                made[number] = exchange.give_back(one, keys[name])
        return [one for one in made if one is not None]

    def _check(self, kernel: Kernel, code: int, own: Optional[Exception]) -> None:
        """Raises the same exception on all processes. `code` is the same on all, `own` the exception of this one."""
        if not code:
            return
        failure = self._messages.failure
        if failure is not None and not isinstance(failure, Exception):
            raise failure
        if code == _ENOT_DELIVERED:
            self._messages.begun.clear()
            raise RuntimeError(f"{kernel.name}: a message between processes was not delivered, because a process "
                               "ended, waited too long, or made other calls") from (failure or own)
        said: List[Any] = [None] * self._messages.transport.ranks
        dist.all_gather_object(said, own and (type(own).__name__, str(own)), group=self._group)
        for rank, one in enumerate(said):
            if one is not None:
                kind = getattr(builtins, one[0], ValueError)
                raise (kind if issubclass(kind, Exception) else RuntimeError)(f"process {rank}: {one[1]}") from own
        if code in _SAYS:
            raise ValueError(f"{kernel.name}: {_SAYS[code]}")
        kernel._binding.check(code)


class _InContext(nn.Module):
    def __init__(self, module: nn.Module, context: ContextParallel) -> None:
        super().__init__()
        self.module, self._context = module, context

    def forward(self, *arguments: Any, **named: Any) -> Any:
        with self._context:
            return self.module(*arguments, **named)
