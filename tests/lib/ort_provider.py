"""ONNX Runtime with the provider of examples/onnxruntime."""
import ctypes

import ml_dtypes
import numpy as np
import onnxruntime

NAME = 'AttncExecutionProvider'
BF16 = 16   # ONNX's number of the type


class Provider:
    def __init__(self, path):
        onnxruntime.register_execution_provider_library('attnc', path)
        self.devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]

    def session(self, model, ours=True, threads=1, **options):
        """Returns a session for a model, with the provider if `ours`."""
        given = onnxruntime.SessionOptions()
        given.intra_op_num_threads = threads if isinstance(threads, int) else 1
        given.log_severity_level = 3
        given.add_session_config_entry('session.record_ep_graph_assignment_info', '1')
        if ours:
            given.add_provider_for_devices(self.devices, {'threads': str(threads), **options})
        return onnxruntime.InferenceSession(model if isinstance(model, bytes) else model.SerializeToString(), given)

    @staticmethod
    def nodes(session):
        """Returns the operators of the nodes that attnc computes."""
        return [node.op_type for part in session.get_provider_graph_assignment_info() if part.ep_name == NAME
                for node in part.get_nodes()]

    @staticmethod
    def run(session, inputs):
        """Runs a session on arrays of NumPy, also of bfloat16, and returns such arrays."""
        return [array_of(value) for value in session.run_with_ort_values(
            None, {name: value_of(array) for name, array in inputs.items()})]


def value_of(array):
    array = np.ascontiguousarray(array)
    if array.dtype == ml_dtypes.bfloat16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), BF16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def array_of(value):
    if value.element_type() != BF16:
        return value.numpy()
    shape = value.shape()
    data = ctypes.string_at(value.data_ptr(), 2 * int(np.prod(shape)))
    return np.frombuffer(data, ml_dtypes.bfloat16).reshape(shape)
