"""Measures ONNX Runtime on the CPU. Its models have one attention operator, or the operators that exporters emit.
Some rows call attnc through ONNX Runtime, too, by the provider of examples/onnxruntime."""
import os

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from measure import later, normal, row
from ours import BUILD, Kernel
from softmax import mask, softmax_rows

PEER = 'ONNX Runtime'
MICROSOFT = 'com.microsoft'
MOST = 1 << 28  # the maximum number of bytes of a form's weights


def version():
    return 'ONNX Runtime ' + onnxruntime.__version__


def model(nodes, arrays, outputs, constants, opset=23):
    """Returns a model. Inputs and outputs are arrays by name."""
    def infos(named):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in named.items()]
    constants = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, 'attention', infos(arrays), infos(outputs), constants)
    versions = [helper.make_opsetid('', opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10 if opset < 25 else 13).SerializeToString()


def loaded(text, threads, through_attnc):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # ONNX Runtime would spin for 50 ms after a call, and take a core from attnc's kernel. It spins for 5 ms, as
    # attnc does with KMP_BLOCKTIME.
    options.add_session_config_entry('session.intra_op.spin_duration_us', '5000')
    if through_attnc:
        options.add_provider_for_devices(devices(), {'threads': str(threads)})
        options.add_session_config_entry('session.disable_cpu_ep_fallback', '1')  # attnc computes the node, or it fails
    return onnxruntime.InferenceSession(text, options)


def devices():
    """Returns the devices of attnc's provider."""
    def found():
        return [device for device in onnxruntime.get_ep_devices() if device.ep_name == 'AttncExecutionProvider']
    if not found():
        os.environ.setdefault('ATTNC', os.path.join(BUILD, 'attnc'))
        onnxruntime.register_execution_provider_library(
            'attnc', os.path.join(BUILD, 'examples', 'onnxruntime', 'libattnc_ort.so'))
    return found()


def bound(text, arrays, outputs, threads, through_attnc):
    """Returns a function that runs a model on its own memory, and returns the first output."""
    made = loaded(text, threads, through_attnc)
    binding = made.io_binding()
    for name, x in arrays.items():
        binding.bind_input(name, 'cpu', 0, np.float32, x.shape, x.ctypes.data)
    for name, x in outputs.items():
        binding.bind_output(name, 'cpu', 0, np.float32, x.shape, x.ctypes.data)

    def call(_=(arrays, outputs)):  # keeps the bound arrays alive
        made.run_with_iobinding(binding)
        return next(iter(outputs.values()))
    return call


class Provided:
    """attnc through ONNX Runtime, in place of a kernel."""

    def __init__(self, call):
        self.call = call

    def __call__(self):
        self.out = self.call()
        return self.out

    def values(self):
        return self.out


def positions_first(x):
    """Swaps the axes H and N: [B, H, N, D] becomes [B, N, H, D], or the reverse."""
    return x.transpose(0, 2, 1, 3)


def caller(nodes, arrays, in_rows, constants, threads, through_attnc=False):
    """Calls a model on its own memory. Arrays are [B, H, N, D], or [B, N, H D] if `in_rows`."""
    batch, heads, n, dim = arrays[0].shape
    shape = (batch, n, heads * dim) if in_rows else arrays[0].shape
    given = [np.ascontiguousarray(positions_first(x)).reshape(shape) if in_rows else x for x in arrays]
    outputs = {'out': np.zeros(shape, np.float32)}
    named = dict(zip('qkv', given))
    call = bound(model(nodes, named, outputs, constants), named, outputs, threads, through_attnc)
    result = positions_first(outputs['out'].reshape(batch, n, heads, dim)) if in_rows else outputs['out']

    def run():
        call()
        return result
    return run


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


def recurrence(arrays, state, threads, through_attnc):
    """Returns a function that runs LinearAttention with the gated delta rule. Arrays are [B, N, H D] and [B, N, H]."""
    batch, n, width = arrays['q'].shape
    heads = arrays['gate'].shape[-1]
    outputs = {'out': np.zeros((batch, n, width), np.float32), 'present': np.zeros_like(state)}
    named = {**arrays, 'past': state}
    node = helper.make_node('LinearAttention', ['q', 'k', 'v', 'past', 'gate', 'beta'], ['out', 'present'],
                            q_num_heads=heads, kv_num_heads=heads, update_rule='gated_delta')
    return bound(model([node], named, outputs, {}, 27), named, outputs, threads, through_attnc)


def recurrent_rows(options, heads=4, dim=128):
    """The gated delta rule by ONNX Runtime's fused operator: the kernel, and the same operator by attnc."""
    for n in (*options.lengths(4096), 1):
        q, k, v = (normal(seed, 1, n, heads * dim) for seed in (1, 2, 3))
        by_head = k.reshape(1, n, heads, dim)
        k = (by_head / np.linalg.norm(by_head, axis=-1, keepdims=True)).reshape(k.shape)
        arrays = {'q': q, 'k': k, 'v': v, 'gate': -np.abs(normal(4, 1, n, heads)) / 8,
                  'beta': (1 / (1 + np.exp(-normal(5, 1, n, heads)))).astype(np.float32)}
        state = normal(6, 1, heads, dim, dim) if n == 1 else np.zeros((1, heads, dim, dim), np.float32)
        job = 'gated delta rule, %d heads of %d, ' % (heads, dim) + ('one token' if n == 1 else 'n = %d' % n)
        forms = {'LinearAttention': later(recurrence, arrays, state, options.threads, False)}
        if n > 1 and options.wanted(PEER, job):
            apart = [np.ascontiguousarray(positions_first(x.reshape(1, n, heads, dim))) for x in (q, k, v)]
            rates = {name: np.ascontiguousarray(arrays[name].transpose(0, 2, 1)) for name in ('gate', 'beta')}
            kernel = Kernel('gated_deltanet', {'shape.head_dim': dim, 'prepare': '[{scale: {by: %r}}]' % dim ** -0.5,
                                               'emit': '[forward]'}, *apart, rates, options.threads)
            turned = {label: turned_by(form, n, heads, dim) for label, form in forms.items()}
            row(job, PEER, kernel, turned, 1e-4, options.limit)
        job += ', attnc in ONNX Runtime'
        if options.wanted(PEER, job):
            row(job, PEER, Provided(recurrence(arrays, state, options.threads, True)), forms, 1e-4, options.limit)


def turned_by(form, n, heads, dim):
    """Returns a form whose result is [B, H, N, D]."""
    return lambda: positions_first(form().reshape(1, n, heads, dim))


def provided_rows(options):
    """The operators of the other rows, with attnc in ONNX Runtime."""
    for n in options.lengths(8192):
        for causal in (True, False):
            job = 'softmax, %s, n = %d, attnc in ONNX Runtime' % (mask(causal), n)
            if not options.wanted(PEER, job):
                continue
            arrays = [normal(seed, 1, options.heads, n, 64) for seed in (1, 2, 3)]
            node = helper.make_node('Attention', ['q', 'k', 'v'], ['out'], is_causal=int(causal))
            row(job, PEER, Provided(caller([node], arrays, False, {}, options.threads, True)),
                forms(*arrays, causal, options.threads), 1e-4, options.limit)


def rows(options):
    softmax_rows(PEER, options, lambda *given: forms(*given, options.threads))
    provided_rows(options)
    recurrent_rows(options)
