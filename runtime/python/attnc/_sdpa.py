"""attnc.torch.use(): PyTorch's scaled_dot_product_attention computes on the CPU with kernels of attnc.

It replaces two operators of PyTorch: the fused attention for CPUs, and its gradient. autograd, torch.compile and modules
call these operators. They are in C (sdpa.c), because Python code for them takes longer than many calls. Only calls of
nn.MultiheadAttention for weights have no such operator: they are computed in its forward() (_multihead.py).
"""
from __future__ import annotations

import ctypes
import functools
import os
import threading
import warnings
from typing import Any, Sequence

import torch
from torch import nn

from . import _multihead, _sdpa_math, _tensors
from ._compiler import CompilerError, Source
from ._context import OF_ONE_PROCESS, parallel
from ._kernel import _of_source
from ._threads import _teams

MIN_WORK = 1 << 16  # multiply-adds of q and k; to compile a kernel for smaller calls would not pay
_DTYPES = {5: "f16", 6: "f32", 7: "f64", 15: "bf16"}  # by PyTorch's numbers
_MASKS: tuple[Any, ...] = None, "causal", {"expr": "j <= row"}  # PyTorch counts the positions of queries from the first key


class _Chosen(ctypes.Structure):
    """struct chosen of sdpa.c."""

    _fields_ = [("head_dim", ctypes.c_int64), ("type", ctypes.c_int32), ("mask", ctypes.c_int32), ("scaled", ctypes.c_int32),
                ("kernel", ctypes.c_void_p), ("team", ctypes.c_void_p),
                ("error", ctypes.c_char * 512)]


def _binding_of(wanted: _Chosen, entries: Sequence[str]) -> Any:
    """Returns the kernel for calls of the operators. One kernel serves all scales, which are numbers of a call."""
    spec: dict[str, Any] = {
        "name": "sdpa_scaled" if wanted.scaled else "sdpa",
        **({"similarity": {"softmax": {"scale": 1, "modify": "s * scale"}}, "arrays": {"scale": {"shape": []}}}
           if wanted.scaled else {"similarity": "softmax"}),
        "shape": {"head_dim": wanted.head_dim}, "dtype": _DTYPES[wanted.type], "emit": list(entries)}
    if wanted.mask:
        spec["mask"] = _MASKS[wanted.mask]
    return _of_source(Source.of(spec))._binding


def _choose(address: int) -> None:
    """Writes the kernel and the threads of a struct chosen, or an error, or nothing if PyTorch has to compute. Without a
    C compiler a warning says so once, and PyTorch computes the calls. KeyboardInterrupt leaves this function: then
    PyTorch computes the call, and sdpa.c raises it again after the call."""
    wanted = _Chosen.from_address(address)
    key = wanted.head_dim, wanted.type, wanted.mask, wanted.scaled
    try:
        if key not in _failed:
            try:
                binding = _binding_of(wanted, ("forward", "backward", "statistics"))
            except CompilerError:  # a wheel has kernels without statistics
                binding = _binding_of(wanted, ("forward", "backward"))
            _kept.append(binding)
            wanted.team = _teams.of(binding)
            if not wanted.team:
                binding.wait_briefly()
            wanted.kernel = ctypes.addressof(binding.kernel)
    except CompilerError as error:
        if not _failed:
            warnings.warn(f"attnc.torch.use(): PyTorch computes attention, because {error}", stacklevel=2)
        _failed.add(key)
    except BaseException as error:  # becomes an error of PyTorch
        if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
            raise
        wanted.error = f"{type(error).__name__}: {error}".encode()[:511]


def _refuse(address: int) -> None:
    """Writes an error to a struct chosen if this thread is in a ContextParallel."""
    if parallel.now is not None:
        _Chosen.from_address(address).error = OF_ONE_PROCESS.format("scaled_dot_product_attention").encode()


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    """Returns the library with the operators."""
    library = _tensors.library()
    if library is None:
        raise RuntimeError("attnc.torch.use() needs attnc_tensors.so, which comes with attnc, and CPython")
    library.attnc_sdpa_replace.restype = ctypes.c_bool
    library.attnc_sdpa_replace.argtypes = [ctypes.py_object] * 2
    of_torch = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    try:
        _tensors.fill(library, "attnc_torch", of_torch, ("torch_exception", "torch_delete"))
    except AttributeError:
        raise RuntimeError(f"attnc.torch.use() needs PyTorch 2.10 or newer, and this is {torch.__version__}") from None
    ctypes.c_int64.in_dll(library, "attnc_sdpa_work").value = MIN_WORK
    return library


def set_work(work: int) -> None:
    """Sets how many multiply-adds of q and k a call needs, so that a kernel of attnc computes it."""
    ctypes.c_int64.in_dll(_library(), "attnc_sdpa_work").value = work


def _work_in_python() -> int:
    """Returns how many multiply-adds a call needs that is checked in Python."""
    return 64 * ctypes.c_int64.in_dll(_library(), "attnc_sdpa_work").value


def calls() -> int:
    """Returns the number of calls that kernels of attnc have computed."""
    return ctypes.c_int64.in_dll(_library(), "attnc_sdpa_calls").value


class Replaced:
    """Attention of PyTorch as it was replaced by attnc.torch.use(). undo() restores PyTorch's operators, unless another
    use() is active; so does the end of a `with` block."""

    _users = 0

    def __init__(self) -> None:
        self._active = True
        with _lock:
            if not Replaced._users:
                _replace_operators()
            Replaced._users += 1

    def undo(self) -> None:
        """Ends this use of attnc. Calling it twice is harmless."""
        with _lock:
            Replaced._users -= self._active
            if self._active and not Replaced._users:
                _library().attnc_sdpa_restore()
                _unfused.pop()._destroy()
                nn.MultiheadAttention.forward = _multihead.original  # type: ignore[method-assign]
            self._active = False

    def __reduce__(self) -> Any:
        raise TypeError("what attnc.torch.use() returns cannot be copied or pickled: each use has one undo()")

    def __enter__(self) -> Replaced:
        return self

    def __exit__(self, *_: Any) -> None:
        self.undo()


def _replace_operators() -> None:
    _failed.clear()  # there may be a C compiler now
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of the first operator that is replaced in a process
        first = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        first.impl("_scaled_dot_product_flash_attention_for_cpu", lambda *call: None, "CPU")  # type: ignore[no-untyped-call]
        first._destroy()  # type: ignore[no-untyped-call]
    if not _library().attnc_sdpa_replace(_choose, _refuse):
        raise RuntimeError("attnc.torch.use(): PyTorch does not let its operators be replaced")
    unfused = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for key in "CPU", "AutogradCPU":
        unfused.impl("_scaled_dot_product_attention_math", _sdpa_math.operator_of(_work_in_python), key)  # type: ignore[no-untyped-call]
    _unfused.append(unfused)
    nn.MultiheadAttention.forward = _multihead.forward_of_weights(_work_in_python)  # type: ignore[method-assign]


_failed: set[Any] = set()  # kernels that are not ready, and could not be compiled
_kept: list[Any] = []  # kernels, which the library uses from then on
_unfused: list[Any] = []  # the library of PyTorch that replaces the operator without a fused one
_lock = threading.Lock()


def use() -> Replaced:
    """Makes torch.nn.functional.scaled_dot_product_attention on the CPU use kernels of attnc if they are faster: calls of
    float32, bfloat16, float16 or float64 that are not too small. PyTorch computes all other calls, among them those with
    a mask and neither gradients nor dropout. Gradients, torch.compile and modules work as before; README.md has a table.
    Kernels also compute calls of nn.MultiheadAttention with need_weights=True that have neither gradients nor dropout,
    with any of its masks; there a query that sees no key gives 0, and PyTorch gives NaN.

    Returns an object whose undo() restores PyTorch's operators; in `with attnc.torch.use():` the end of the block does.
    A kernel is compiled at its first use on a machine; `attnc.compile_all` does it ahead."""
    return Replaced()
