"""Measures OpenVINO on the CPU: scaled_dot_product_attention, compiled for one shape or for any shape."""
import numpy as np
import openvino
from openvino import opset13, properties

from measure import later
from softmax import softmax_rows

PEER = 'OpenVINO'


def version():
    return 'OpenVINO ' + openvino.__version__.split('-')[0]


def swapped(x):
    """Swaps the axes H and N: [B, H, N, D] becomes [B, N, H, D], or the reverse."""
    return x.transpose(0, 2, 1, 3)


def model(shape, causal, positions_first):
    given = [opset13.parameter(shape, np.float32) for _ in 'qkv']
    turn = (lambda x: opset13.transpose(x, [0, 2, 1, 3])) if positions_first else lambda x: x
    out = opset13.scaled_dot_product_attention(*map(turn, given), causal=causal)
    return openvino.Model([turn(out)], given)


def caller(arrays, causal, positions_first, any_shape, threads):
    """Calls a compiled model on the memory of arrays."""
    given = [np.ascontiguousarray(swapped(x)) for x in arrays] if positions_first else arrays
    out = np.zeros(given[0].shape, np.float32)
    shape = [-1, -1, -1, out.shape[-1]] if any_shape else list(out.shape)
    settings = {properties.hint.inference_precision(): openvino.Type.f32,
                properties.hint.performance_mode(): properties.hint.PerformanceMode.LATENCY,
                properties.inference_num_threads(): threads}
    compiled = openvino.Core().compile_model(model(shape, causal, positions_first), 'CPU', settings)
    request = compiled.create_infer_request()
    for i, x in enumerate(given):
        request.set_input_tensor(i, openvino.Tensor(x, shared_memory=True))
    request.set_output_tensor(0, openvino.Tensor(out, shared_memory=True))
    result = swapped(out) if positions_first else out

    def call(_=given):  # keeps the arrays of the tensors alive
        request.infer()
        return result
    return call


def forms(q, k, v, causal, threads):
    make = lambda positions_first, any_shape: later(caller, (q, k, v), causal, positions_first, any_shape, threads)
    return {'scaled_dot_product_attention': make(False, False),
            'scaled_dot_product_attention of [B, N, H, D]': make(True, False),
            'scaled_dot_product_attention, any shape': make(False, True)}


def rows(options):
    softmax_rows(PEER, options, lambda *given: forms(*given, options.threads))
