"""Measures ONNX Runtime on the CPU. Its models have one attention operator, or the operators that exporters emit."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from measure import later
from softmax import softmax_rows

PEER = 'ONNX Runtime'
MICROSOFT = 'com.microsoft'
MOST = 1 << 28  # the maximum number of bytes of a form's weights


def version():
    return 'ONNX Runtime ' + onnxruntime.__version__


def model(nodes, shape, constants):
    """q, k, v and `out` have the same shape."""
    arrays = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ('q', 'k', 'v', 'out')]
    constants = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, 'attention', arrays[:3], arrays[3:], constants)
    versions = [helper.make_opsetid('', 23), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10).SerializeToString()


def loaded(text, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # ONNX Runtime would spin for 50 ms after a call, and take a core from attnc's kernel. It spins for 5 ms, as
    # attnc does with KMP_BLOCKTIME.
    options.add_session_config_entry('session.intra_op.spin_duration_us', '5000')
    return onnxruntime.InferenceSession(text, options, providers=['CPUExecutionProvider'])


def positions_first(x):
    """Swaps the axes H and N: [B, H, N, D] becomes [B, N, H, D], or the reverse."""
    return x.transpose(0, 2, 1, 3)


def caller(nodes, arrays, in_rows, constants, threads):
    """Calls a model on its own memory. Arrays are [B, H, N, D], or [B, N, H D] if `in_rows`."""
    batch, heads, n, dim = arrays[0].shape
    shape = (batch, n, heads * dim) if in_rows else arrays[0].shape
    given = [np.ascontiguousarray(positions_first(x)).reshape(shape) if in_rows else x for x in arrays]
    out = np.zeros(shape, np.float32)
    result = positions_first(out.reshape(batch, n, heads, dim)) if in_rows else out
    made = loaded(model(nodes, shape, constants), threads)
    binding = made.io_binding()
    for name, x in zip('qkv', given):
        binding.bind_input(name, 'cpu', 0, np.float32, shape, x.ctypes.data)
    binding.bind_output('out', 'cpu', 0, np.float32, shape, out.ctypes.data)

    def call(_=given):  # keeps the bound arrays alive
        made.run_with_iobinding(binding)
        return result
    return call


def products(n, dim, causal):
    """Returns the nodes and the constants of two products and a softmax."""
    node, constants = helper.make_node, {'scale': np.float32(dim ** -0.5)}
    nodes = [node('Transpose', ['k'], ['turned'], perm=[0, 1, 3, 2]), node('MatMul', ['q', 'turned'], ['s']),
             node('Mul', ['s', 'scale'], ['scaled'])]
    if causal:
        constants['mask'] = np.triu(np.full((n, n), -np.inf, np.float32), 1)
        nodes.append(node('Add', ['scaled', 'mask'], ['masked']))
    return [*nodes, node('Softmax', [nodes[-1].output[0]], ['weights'], axis=-1),
            node('MatMul', ['weights', 'v'], ['out'])], constants


def forms(q, k, v, causal, threads):
    batch, heads, n, dim = q.shape
    node, qkv, one = helper.make_node, ['q', 'k', 'v'], int(causal)
    counts = dict(num_heads=heads)
    cases = {
        'Attention': ([node('Attention', qkv, ['out'], is_causal=one)], False, {}),
        'Attention, [B, N, H D]': ([node('Attention', qkv, ['out'], is_causal=one, q_num_heads=heads,
                                           kv_num_heads=heads)], True, {}),
        'MultiHeadAttention': ([node('MultiHeadAttention', qkv, ['out'], domain=MICROSOFT, unidirectional=one,
                                     num_heads=heads)], True, {})}
    if causal:  # GroupQueryAttention has only the causal mask
        cases['GroupQueryAttention'] = (
            [node('GroupQueryAttention', [*qkv, '', '', 'last', 'total'], ['out'], domain=MICROSOFT, num_heads=heads,
                  kv_num_heads=heads)], True, {'last': np.full(batch, n - 1, np.int32), 'total': np.int32(n)})
    if 4 * batch * heads * n * n <= MOST:
        nodes, constants = products(n, dim, causal)
        cases['MatMul, Softmax, MatMul'] = nodes, False, constants

    return {label: later(caller, nodes, (q, k, v), in_rows, constants, threads)
            for label, (nodes, in_rows, constants) in cases.items()}


def rows(options):
    softmax_rows(PEER, options, lambda *given: forms(*given, options.threads))
