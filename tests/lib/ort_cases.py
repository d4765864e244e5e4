"""Models for ONNX Runtime with one node each, or with several layers, whose results are compared with those of other
providers and of NumPy."""
import concurrent.futures
import os
import sys
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from suite import ROOT, check, execute

MICROSOFT, PREVIEW = 'com.microsoft', 'ai.onnx.preview'
EPSILON = 2e-5   # the error, relative to the largest element
HALF = 4e-3      # of f16: ONNX Runtime's CPU provider rounds between steps


def model(nodes, inputs, outputs, constants=None, opset=24):
    """Returns a model. Inputs are arrays by name, of which the model knows all sizes; outputs are names."""
    def info(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    dtype = helper.np_dtype_to_tensor_dtype(next(iter(inputs.values())).dtype)
    graph = helper.make_graph(
        nodes, 'attention', [info(*each) for each in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()])
    versions = [helper.make_opsetid('', opset), helper.make_opsetid(MICROSOFT, 1), helper.make_opsetid(PREVIEW, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=11)


def draw(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape, np.float32).astype(dtype)


def compare(provider, made, inputs, epsilon, skipped=None):
    """Compares a model's results with those of the CPU provider. `skipped` hides elements of the first one."""
    ours, theirs = provider.session(made), provider.session(made, ours=False)
    check(provider.nodes(ours), 'attnc computes no node')
    for ours_is, theirs_is in zip(provider.run(ours, inputs), provider.run(theirs, inputs)):
        check(ours_is.shape == theirs_is.shape and ours_is.dtype == theirs_is.dtype, 'another shape or type')
        a, b = ours_is.astype(np.float64), theirs_is.astype(np.float64)
        error = np.abs(a - b).max() / np.abs(b).max()
        check(error <= epsilon, 'the error is %.1e of %.1e' % (error, epsilon))


# ---- operators of com.microsoft

def multi_head(folder, provider, dtype, option):
    batch, heads, n_q, n_k, size, value_size = 2, 3, 5, 7, 16, 8
    x = {'q': draw(batch, n_q, heads * size, dtype=dtype), 'k': draw(batch, n_k, heads * size, dtype=dtype, seed=1),
         'v': draw(batch, n_k, heads * value_size, dtype=dtype, seed=2)}
    names, outputs, more = ['q', 'k', 'v'], ['out'], {}
    if option == 'bias':
        x['bias'] = draw(heads * (2 * size + value_size), dtype=dtype, seed=3)
        names += ['bias']
    elif option == 'lengths':
        x['lengths'] = np.array([4, 7], np.int32)
        names += ['', 'lengths']
    elif option == 'padding':
        x['padding'] = (np.arange(batch * n_k).reshape(batch, n_k) % 3 != 1).astype(np.int32)
        names += ['', 'padding']
    elif option == 'added':
        x['added'] = draw(1, heads, n_q, n_k, dtype=dtype, seed=4)
        names += ['', '', 'added']
    elif option == 'past':
        x['v'] = draw(batch, n_k, heads * size, dtype=dtype, seed=2)   # ONNX Runtime takes only values as long as keys
        x.update(past_key=draw(batch, heads, 6, size, dtype=dtype, seed=5),
                 past_value=draw(batch, heads, 6, size, dtype=dtype, seed=6))
        names += ['', '', '', 'past_key', 'past_value']
        outputs += ['present_key', 'present_value']
    elif option == 'causal':
        x['k'], x['v'] = x['k'][:, :n_q], x['v'][:, :n_q]
        more['unidirectional'] = 1
    node = helper.make_node('MultiHeadAttention', names, outputs, domain=MICROSOFT, num_heads=heads, scale=0.3, **more)
    compare(provider, model([node], x, outputs), x, EPSILON if dtype == np.float32 else HALF)


def group_query(folder, provider, dtype, option):
    batch, heads, groups, n, size, past = 1 if 'chunk' in option else 2, 4, 2, 5, 16, 9
    step = 'decode' in option
    if step: n = 1
    if 'prompt' in option: past = 0
    x = {'q': draw(batch, n, heads * size, dtype=dtype), 'k': draw(batch, n, groups * size, dtype=dtype, seed=1),
         'v': draw(batch, n, groups * size, dtype=dtype, seed=2)}
    names, more, outputs = ['q', 'k', 'v', '', ''], {}, ['out', 'present_key', 'present_value']
    if past:
        x.update(past_key=draw(batch, groups, past, size, dtype=dtype, seed=3),
                 past_value=draw(batch, groups, past, size, dtype=dtype, seed=4))
        names[3:] = ['past_key', 'past_value']
    total = past + n
    last = np.full(batch, total - 1, np.int32)
    if 'ragged' in option: last[0] -= 2
    constants = {'last': last, 'total': np.array(total, np.int32)}
    names += ['last', 'total']
    if 'rotary' in option:
        angle = np.arange(32)[:, None] / 100 ** (np.arange(size // 2) / 8)
        constants.update(cos=np.cos(angle).astype(dtype), sin=np.sin(angle).astype(dtype))
        more.update(do_rotary=1, rotary_interleaved=int('interleaved' in option))
        names += ['cos', 'sin']
    if 'packed' in option:
        x = {'q': np.concatenate([x[name] for name in 'qkv'], -1),
             **{name: array for name, array in x.items() if name.startswith('past')}}
        names[1:3] = ['', '']
    if 'window' in option: more['local_window_size'] = 3
    if 'cap' in option: more['softcap'] = 1.5
    if 'smooth' in option: more['smooth_softmax'] = 1
    if 'sink' in option:
        constants['sink'] = draw(heads, dtype=dtype, seed=7)
        names += [''] * (11 - len(names)) + ['sink']
    node = helper.make_node('GroupQueryAttention', names, outputs, domain=MICROSOFT, num_heads=heads,
                            kv_num_heads=groups, **more)
    compare(provider, model([node], x, outputs, constants), x, EPSILON if dtype == np.float32 else HALF)


# ---- LinearAttention

def linear(folder, provider, rule, dtype):
    """Calls of some tokens, each with the state after the one before, have the results of one call of ONNX Runtime."""
    n, heads, groups, size, value_size, limit = 41, 4, 2, 16, 8, EPSILON if dtype == np.float32 else 2 * HALF
    x = {'q': draw(2, n, heads * size, dtype=dtype), 'k': draw(2, n, groups * size, dtype=dtype, seed=1) / 4,
         'v': draw(2, n, groups * value_size, dtype=dtype, seed=2),
         'past': draw(2, groups, size, value_size, dtype=dtype, seed=3)}
    if 'gated' in rule: x['decay'] = -abs(draw(2, n, groups, dtype=dtype, seed=4)) / 8
    if 'delta' in rule: x['beta'] = abs(np.tanh(draw(2, n, groups, dtype=dtype, seed=5)))
    names = [name if name in x else '' for name in ('q', 'k', 'v', 'past', 'decay', 'beta')]
    made = model([helper.make_node('LinearAttention', names, ['out', 'present'], q_num_heads=heads, kv_num_heads=groups,
                                   update_rule=rule)], x, ['out', 'present'], opset=27)
    for one in made.graph.input:
        if one.name != 'past': one.type.tensor_type.shape.dim[1].dim_param = 'n'
    ours, theirs = provider.session(made), provider.session(made, ours=False)
    check(provider.nodes(ours), 'attnc computes no node')
    expected, outs, first, past = provider.run(theirs, x), [], 0, x['past']
    for count in 3, 1, 30, 1, 2, 4:
        part = {name: array[:, first:first + count] for name, array in x.items() if name != 'past'}
        out, past = provider.run(ours, part | {'past': past})
        outs.append(out)
        first += count
    for a, b in zip((np.concatenate(outs, 1), past), expected):
        error = np.abs(a - b.astype(np.float64)).max() / np.abs(b).max()
        check(a.shape == b.shape and error <= limit, 'the error is %.1e of %.1e' % (error, limit))


# ---- FlexAttention with subgraphs that ONNX's tests do not have

def subgraph(name, nodes, out, constants):
    """Returns a subgraph with the input `x`."""
    shape = ['B', 'H', 'L', 'S']
    return helper.make_graph(
        nodes, name, [helper.make_tensor_value_info('x', TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()])


def positions():
    """Returns nodes that make the positions `i` and `j`, [L, 1] and [1, S], and their constants."""
    node = helper.make_node
    return [node('Shape', ['x'], ['shape']), node('Gather', ['shape', 'two'], ['L']),
            node('Gather', ['shape', 'three'], ['S']), node('Range', ['zero', 'L', 'one'], ['rows']),
            node('Range', ['zero', 'S', 'one'], ['columns']),
            node('Unsqueeze', ['rows', 'last'], ['i']), node('Unsqueeze', ['columns', 'first'], ['j'])], {
        'zero': np.int64(0), 'one': np.int64(1), 'two': np.int64(2), 'three': np.int64(3), 'first': np.array([0]),
        'last': np.array([1])}


def flex_model(score, prob, x, constants=None):
    graphs = {name: graph for name, graph in (('score_mod', score), ('prob_mod', prob)) if graph is not None}
    node = helper.make_node('FlexAttention', ['q', 'k', 'v'], ['out'], domain=PREVIEW, **graphs)
    return model([node], x, ['out'], constants, 26)


def reference(x, logits, factor=1.0):
    q, k, v = (np.float64(x[name]) for name in 'qkv')
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    s = logits(s)
    w = np.exp(s - s.max(-1, keepdims=True))
    return (w / w.sum(-1, keepdims=True) * factor) @ v


def flex(folder, provider, option):
    n, node = 40, helper.make_node
    x = {name: draw(2, 3, n, 8, seed=seed) for seed, name in enumerate('qkv')}
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    nodes, constants = positions()
    outer, prob, factor = {}, None, 1.0
    if option == 'window':   # |i - j| < 7, with an additive mask
        nodes += [node('Sub', ['i', 'j'], ['d']), node('Abs', ['d'], ['a']), node('Less', ['a', 'seven'], ['near']),
                  node('Where', ['near', 'nothing', 'hidden'], ['mask']), node('Add', ['x', 'mask'], ['y'])]
        constants.update(seven=np.int64(7), nothing=np.float32(0), hidden=np.float32(-np.inf))
        logits = lambda s: np.where(abs(i - j) < 7, s, -np.inf)
    elif option == 'alibi':   # slopes for heads, from the graph around
        outer['slopes'] = np.float32([[[[0.5]], [[0.25]], [[0.125]]]])
        nodes += [node('Sub', ['j', 'i'], ['d']), node('Cast', ['d'], ['f'], to=TensorProto.FLOAT),
                  node('Mul', ['f', 'slopes'], ['b']), node('Add', ['x', 'b'], ['y'])]
        logits = lambda s: s + (j - i) * outer['slopes']
    elif option == 'blocks':   # both in one block, or a first key; a table of biases by position
        constants.update(eight=np.int64(8), hidden=np.float32(-np.inf), table=draw(n, n, seed=9))
        nodes += [node('Div', ['i', 'eight'], ['bi']), node('Div', ['j', 'eight'], ['bj']),
                  node('Equal', ['bi', 'bj'], ['same']), node('Less', ['j', 'two'], ['begin']),
                  node('Or', ['same', 'begin'], ['seen']),
                  node('Add', ['x', 'table'], ['z']), node('Tanh', ['z'], ['t']),
                  node('Where', ['seen', 't', 'hidden'], ['y'])]
        logits = lambda s: np.where((i // 8 == j // 8) | (j < 2), np.tanh(s + constants['table']), -np.inf)
    elif option == 'prob':   # a factor by position, and 0 for some pairs
        nodes, constants = [], {}
        more, also = positions()
        also.update(three_even=np.int64(3), nothing=np.float32(0), table=draw(1, 3, 1, n, seed=8))
        more += [node('Mod', ['j', 'three_even'], ['m']), node('Equal', ['m', 'zero'], ['kept']),
                 node('Mul', ['x', 'table'], ['z']), node('Where', ['kept', 'z', 'nothing'], ['y'])]
        prob = subgraph('prob', more, 'y', also)
        factor = np.where(j % 3 == 0, also['table'], 0)
        logits = lambda s: s
    score = subgraph('score', nodes, 'y', constants) if nodes else None
    session = provider.session(flex_model(score, prob, x, outer))
    check(provider.nodes(session) == ['FlexAttention'], 'attnc does not compute the node')
    made, = provider.run(session, x)
    expected = reference(x, logits, factor)
    error = np.abs(made - expected).max() / np.abs(expected).max()
    check(error <= EPSILON, 'the error is %.1e' % error)


def flex_refused(folder, provider):
    """A square of the probability is no factor: the model does not load, and says what is missing."""
    x = {name: draw(1, 2, 5, 8, seed=seed) for seed, name in enumerate('qkv')}
    square = subgraph('prob', [helper.make_node('Mul', ['x', 'x'], ['y'])], 'y', {})
    try:
        provider.session(flex_model(None, square, x))
    except Exception as error:
        check('FlexAttention' in str(error), 'it says: %s' % error)
        return
    check(False, 'it is loaded')


# ---- sessions, errors, and a model with layers

def attention_model(size, n='n'):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, n + name, size])
            for name in ('q', 'k', 'v', 'out')]
    node = helper.make_node('Attention', ['q', 'k', 'v'], ['out'], name='named')
    graph = helper.make_graph([node], 'attention', info[:3], info[3:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 24)], ir_version=11).SerializeToString()


def errors(folder, provider):
    """Wrong sizes end a call with a message, and no compiler leaves nodes to ONNX Runtime."""
    session = provider.session(attention_model(64))
    x = {'q': draw(1, 2, 5, 64), 'k': draw(1, 2, 6, 64), 'v': draw(1, 2, 7, 64)}
    try:
        provider.run(session, x)
        check(False, 'keys and values of different lengths are taken')
    except Exception as error:
        check('[1, 2, 6, 64] and [1, 2, 7, 64]' in str(error), 'it says: %s' % error)
    session = provider.session(attention_model(11), program='/no/such/program')
    check(not provider.nodes(session), 'a kernel from nowhere')
    try:
        provider.session(attention_model(64), threads='many')
        check(False, 'a wrong option is taken')
    except Exception as error:
        check('threads' in str(error), 'it says: %s' % error)


def parallel(folder, provider):
    """Two sessions, which three threads each call, have the results of one thread."""
    sessions = [provider.session(attention_model(64)) for _ in range(2)]
    inputs = [{name: draw(1, 2, 30 + 10 * n, 64, seed=n) for name in 'qkv'} for n in range(6)]
    expected = [provider.run(sessions[0], x)[0] for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda n: provider.run(sessions[n % 2], inputs[n % 6])[0], range(120)))
    check(all(np.array_equal(out, expected[n % 6]) for n, out in enumerate(made)), 'results differ')


def transformer(layers, hidden, heads, groups, words, n):
    """Returns a decoder with random weights, as an exporter writes it."""
    nodes, weights = [helper.make_node('Gather', ['embedding', 'ids'], ['x0'])], {'embedding': draw(words, hidden)}

    def node(op, inputs, out, **more):
        nodes.append(helper.make_node(op, inputs, [out], **more))
        return out

    def weight(name, *shape):
        weights[name] = draw(*shape, seed=len(weights)) / np.float32(np.sqrt(shape[0]))
        return name

    def normal(x, name):
        weights[name] = np.ones(hidden, np.float32)
        return node('LayerNormalization', [x, name], name + 'x', axis=-1)

    x, small = 'x0', hidden // heads * groups
    for layer in map(str, range(layers)):
        y = normal(x, 'first' + layer)
        q, k, v = (node('MatMul', [y, weight(name + layer, hidden, size)], name + 'x' + layer)
                   for name, size in (('q', hidden), ('k', small), ('v', small)))
        y = node('Attention', [q, k, v], 'att' + layer, is_causal=1, q_num_heads=heads, kv_num_heads=groups)
        x = node('Add', [x, node('MatMul', [y, weight('o' + layer, hidden, hidden)], 'ox' + layer)], 'mid' + layer)
        y = node('MatMul', [normal(x, 'second' + layer), weight('up' + layer, hidden, 2 * hidden)], 'upx' + layer)
        y = node('Gelu', [y], 'gelu' + layer)
        y = node('MatMul', [y, weight('down' + layer, 2 * hidden, hidden)], 'downx' + layer)
        x = node('Add', [x, y], 'x' + str(int(layer) + 1))
    node('MatMul', [normal(x, 'final'), weight('head', hidden, words)], 'logits')
    graph = helper.make_graph(
        nodes, 'transformer', [helper.make_tensor_value_info('ids', TensorProto.INT64, [1, n])],
        [helper.make_tensor_value_info('logits', TensorProto.FLOAT, [1, n, words])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 24)], ir_version=11).SerializeToString()


def layers(folder, provider, count=12, hidden=256, heads=4, groups=2, n=512, repeats=2):
    """A transformer of 12 layers has the same logits with and without the provider."""
    made = transformer(count, hidden, heads, groups, 100, n)
    x = {'ids': np.random.default_rng(0).integers(0, 100, (1, n))}
    outs, times = [], []
    for ours in (True, False):
        session = provider.session(made, ours)
        check(len(provider.nodes(session)) == (count if ours else 0), 'attnc computes other nodes')
        outs.append(provider.run(session, x)[0])
        times.append(min(timed(lambda: provider.run(session, x)) for _ in range(repeats)))
    error = np.abs(outs[0] - outs[1]).max() / np.abs(outs[1]).max()
    check(error <= EPSILON, 'the error is %.1e' % error)
    return 'error %.1e; %.1f ms with attnc, %.1f without' % (error, *(1e3 * seconds for seconds in times))


REGISTERED = '''
import sys
import attnc.onnxruntime
import numpy as np
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
assert attnc.onnxruntime.register(options) is options
assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
again = attnc.onnxruntime.register(threads=1)
for given in options, again:
    session = onnxruntime.InferenceSession(sys.argv[1], given)
    assert attnc.onnxruntime.nodes(session) == ["named"], attnc.onnxruntime.nodes(session)
    session.run(None, {name: np.ones((1, 2, 5, 64), np.float32) for name in "qkv"})
'''


def registered(folder, provider, attnc):
    """The package of the tree registers the provider, twice, and names its nodes."""
    path = os.path.join(folder, 'model.onnx')
    with open(path, 'wb') as f: f.write(attention_model(64))
    done = execute([sys.executable, '-c', REGISTERED, path], env=dict(
        os.environ, ATTNC=attnc, PYTHONPATH=os.path.join(ROOT, 'runtime', 'python')))
    check(done.returncode == 0, done.stderr)


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


MULTI_HEAD = 'plain', 'bias', 'lengths', 'padding', 'added', 'past', 'causal'
GROUP_QUERY = ('prompt', 'decode', 'decode_ragged', 'chunk', 'prompt_rotary', 'decode_rotary_interleaved',
               'prompt_packed_rotary', 'prompt_window', 'decode_window', 'prompt_cap', 'decode_smooth', 'prompt_sink')


def add(suite, provider):
    for option in MULTI_HEAD:
        suite.case('multi_head-' + option, multi_head, provider, np.float32, option)
    for option in GROUP_QUERY:
        suite.case('group_query-' + option, group_query, provider, np.float32, option)
    suite.case('multi_head-f16', multi_head, provider, np.float16, 'past')
    suite.case('group_query-f16', group_query, provider, np.float16, 'decode_rotary')
    for rule in ('linear', 'gated', 'delta', 'gated_delta'):
        suite.case('linear-' + rule, linear, provider, rule, np.float32)
    suite.case('linear-f16', linear, provider, 'gated_delta', np.float16)
    for option in ('window', 'alibi', 'blocks', 'prob'):
        suite.case('flex-' + option, flex, provider, option)
    suite.case('flex-refused', flex_refused, provider)
    suite.case('errors', errors, provider)
    suite.case('parallel', parallel, provider)
    suite.case('transformer', layers, provider)
    suite.case('registered', registered, provider, suite.attnc)
