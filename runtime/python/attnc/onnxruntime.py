"""Attention of ONNX models by kernels of attnc, in ONNX Runtime (examples/onnxruntime)."""
from __future__ import annotations

import ctypes
import threading
from typing import Any

import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ._compiler import CompilerError, environment, library_path, program

__all__ = ["devices", "nodes", "register"]

NAME = "AttncExecutionProvider"
_lock = threading.Lock()


def devices() -> list[Any]:
    """Returns the devices of the provider, which is registered first if this process has not done so. They are what
    SessionOptions.add_provider_for_devices takes.

    Raises CompilerError if the package has no library for ONNX Runtime."""
    with _lock:
        found = _found()
        if not found:
            path = library_path("libattnc_ort.so", "examples/onnxruntime")
            if path is None:
                raise CompilerError("this package has no libattnc_ort.so; reinstall attnc, or set $ATTNC to a program in "
                                    "a build folder")
            variables = [f"{name}={environment()[name]}".encode() for name in ("ATTNC_CC", "ATTNC_LIBCLANG")
                         if name in environment()]
            ctypes.CDLL(path).attnc_ort_uses(program().encode(), *(variables + [None, None])[:2])
            onnxruntime.register_execution_provider_library("attnc", path)
            found = _found()
        return found


def _found() -> list[Any]:
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def register(options: Any = None, *, threads: int | None = None) -> Any:
    """Registers the provider, and adds it to the options of a session. Returns the options.

    options: onnxruntime.SessionOptions; None makes new ones. Nodes that attnc does not compute are computed by
        providers that are added later, and by ONNX Runtime's own
    threads: of a call of a kernel. The default is the session's `intra_op_num_threads`, and as many as OpenMP takes if
        that is 0

    ONNX Runtime's threads then do not spin after a node, because a kernel needs their cores, unless the options say
    otherwise."""
    made = onnxruntime.SessionOptions() if options is None else options
    count = int(made.intra_op_num_threads) if threads is None else threads
    made.add_provider_for_devices(devices(), {"threads": str(count)})
    try:
        made.get_session_config_entry(_SPINNING)
    except RuntimeError:  # there is no such entry
        made.add_session_config_entry(_SPINNING, "0")
    made.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return made


_SPINNING = "session.intra_op.allow_spinning"


def nodes(session: Any) -> list[str]:
    """Returns the names of the nodes that attnc computes in a session whose options are those of register()."""
    return [node.name for part in session.get_provider_graph_assignment_info() if part.ep_name == NAME
            for node in part.get_nodes()]
