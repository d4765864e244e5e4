"""Tests the package with PyTorch: operators, gradients, transformations, modules and models."""
import copy
import io
import os
import pickle
import shutil
import warnings

from common import *

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

import attnc.torch


def tensors(dtype=torch.float32, grad=False, **sizes):
    return [torch.from_numpy(a).to(dtype).requires_grad_(grad) for a in arrays(**sizes)]


def again(tensors_):
    return [a.detach().clone().requires_grad_() for a in tensors_]


def sdpa(q, k, v):
    """Computes causal attention. The last query is at the last key."""
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    return F.scaled_dot_product_attention(q, k.repeat_interleave(q.shape[-3] // k.shape[-3], -3),
                                          v.repeat_interleave(q.shape[-3] // v.shape[-3], -3), attn_mask=seen)


def traced(function):
    """Compiles a function like torch.compile, but generates no code, which takes most of the time."""
    return torch.compile(function, fullgraph=True, backend='aot_eager')


def same(one, two, limit, why):
    for number, (a, b) in enumerate(zip(one, two)):
        close(a.detach().float(), b.detach().float(), limit, '%s: %d' % (why, number))


@case
def values_are_keys(folder):
    made, wanted = of_keys()
    (q, k, _), (q2, k2, _) = tensors(grad=True), tensors(grad=True)
    for function in made, traced(made), attnc.torch.Attention(made, heads=4, kv_heads=2):
        out, expected = function(q, k), wanted(q2, k2)
        close(out.detach(), expected.detach(), 1e-6, 'forward')
        q.grad = k.grad = q2.grad = k2.grad = None
        out.square().sum().backward()
        expected.square().sum().backward()
        same([q.grad, k.grad], [q2.grad, k2.grad], 1e-5, 'gradients')
    refuses(lambda: made(q, k, k[..., :5]), TypeError,
            'softmax_causal takes no v: its values are the first 5 elements of k (values: keys)')
    q, k = q.detach(), k.detach()
    close(torch.func.vmap(made)(torch.stack([q, q]), torch.stack([k, k]))[1], made(q, k), 1e-6, 'vmap')


@case
def v_may_have_more_heads(folder):
    made, inputs, given, _ = of_fewer_keys()
    given = {name: torch.from_numpy(a) for name, a in given.items()}
    one, two = ([torch.from_numpy(a).requires_grad_() for a in inputs] for _ in range(2))
    repeated = [a.repeat_interleave(2, 1) if n < 2 else a for n, a in enumerate(two)]
    wanted = made(*repeated, **given)
    wanted.square().sum().backward()
    for function in made, made, traced(made):
        out = function(*one, **given)
        close(out.detach(), wanted.detach(), 0, 'forward')
        for a in one: a.grad = None
        out.square().sum().backward()
        same([a.grad for a in one], [a.grad for a in two], 1e-5, 'gradients')
    with torch.no_grad():
        close(made(*one, **given), wanted.detach(), 0, 'without gradients')
        vmapped = torch.func.vmap(lambda q, k, v, gate, beta: made(q, k, v, gate=gate, beta=beta))
        close(vmapped(*(torch.stack([a, a]) for a in (*one, *given.values())))[1], wanted.detach(), 0, 'vmap')


@case
def stored_keys_and_values(folder):
    """Tensors of stored rows, with the bits of NumPy's."""
    spec = {'name': 'kept', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 32}}
    q, k, v = tensors(n=4, m=30, D=32)
    for keys, values in ('q8_0', 'f16'), ('bf16', 'q4_0'), ('fp8', 'i8'):
        made = attnc.kernel({**spec, 'storage': {'k': keys, 'v': values}})
        K, V = attnc.quantize(k, keys), attnc.quantize(v, values)
        arrays_ = [attnc.quantize(a.numpy(), kind) for a, kind in ((k, keys), (v, values))]
        for one, two in zip((K, V), arrays_): close(one.dequantize(), two.dequantize(), 0, 'rounded')
        wanted = torch.from_numpy(made(q.numpy(), *arrays_))
        for each in range(3): close(made(q, K, V), wanted, 0, 'call %d' % each)
        close(made(q, K.rows, V.rows, out=torch.empty_like(wanted), threads=1), wanted, 0, 'out=')
        with torch.no_grad(): close(made(q, K, V), wanted, 0, 'no_grad')
        close(traced(made)(q, K, V), wanted, 0, 'torch.compile')
        close(traced(made)(q, K.rows, V.rows), wanted, 0, 'torch.compile of rows')
        with torch.autocast('cpu'): close(made(q, K, V), wanted, 0, 'autocast')
        for shift in range(3):
            moved = torch.empty(K.rows.nbytes + 4, dtype=torch.uint8)[2 * shift if keys == 'bf16' else shift:][:K.rows.nbytes]
            moved = moved.view(K.rows.dtype).view(K.rows.shape) if shift < 2 or keys != 'bf16' else K.rows
            moved.copy_(K.rows)
            close(made(q, moved, V.rows), wanted, 0, 'rows at another address')
        try:
            made(q.clone().requires_grad_(), K, V)
            raise Failure('a call with gradients was made')
        except attnc.SpecError as error:
            check("'storage' rounds keys and values, which have no gradients then" in str(error), str(error))
        close(made.state(2).extend(q, k[:, :, -4:], v[:, :, -4:]), made(q, attnc.quantize(k[:, :, -4:], keys),
                                                                       attnc.quantize(v[:, :, -4:], values)), 1e-5, 'a state')
    close(made(q, K.rows.view(torch.float8_e4m3fn), V), wanted, 0, 'torch.float8_e4m3fn')
    close(made(q, k.to(torch.float8_e4m3fn), V), wanted, 0, 'rounded by PyTorch')
    check(torch.equal(attnc.quantize(k.bfloat16(), 'bf16').rows, k.bfloat16()), 'bfloat16')
    refuses(lambda: made(q, k, V), TypeError, 'k is float32; kept takes uint8 or float8_e4m3fn, rows of fp8 as attnc.quantize() '
            'makes them')
    refuses(lambda: made(q, K, V.rows[..., 1:]), ValueError, 'v has shape [2, 2, 30, 35]; expected [B, G, n_k, 36] with B = 2, '
            'G = 2, n_k = 30…')
    refuses(lambda: attnc.quantize(k.requires_grad_(), 'fp8'), ValueError,
            'array requires gradients, which would be lost; pass array.detach()')


@case
def gradients_are_those_of_pytorch(folder):
    made = small('softmax_causal')
    ours, theirs = tensors(grad=True), tensors(grad=True)
    close(made(*ours).detach(), sdpa(*theirs).detach(), 1e-6, 'forward')
    made(*ours).square().sum().backward()
    sdpa(*theirs).square().sum().backward()
    same([a.grad for a in ours], [a.grad for a in theirs], 1e-5, 'gradients')
    q, k, v = tensors()
    k.requires_grad_()
    made(q, k, v).sum().backward()     # PyTorch passes the gradient of a sum as one number, expanded to the shape
    check(q.grad is None and k.grad.abs().sum() > 0, 'a gradient only with respect to k')


@case
def threads_are_those_of_pytorch(folder):
    made = small('softmax_causal')
    q, k, v = tensors(H=8, G=8, n=64, m=64)
    alone = made(q, k, v, threads=1)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        torch.randn(1 << 20).exp()     # PyTorch creates its threads here.
        there = len(os.listdir('/proc/self/task'))
        close(made(q, k, v), alone, 0, 'of tensors')
        close(made(q.numpy(), k.numpy(), v.numpy(), threads=3), alone, 0, 'of arrays')
        close(made.state(2).extend(q, k, v), alone, 1e-6, 'of a state')
        now = len(os.listdir('/proc/self/task'))
        check(now == there, 'there were %d threads, and are %d' % (there, now))
    finally:
        torch.set_num_threads(before)


FORKS = """
import os, sys, torch, attnc
made = attnc.kernel("softmax_causal", set={"shape.head_dim": 8, "shape.value_dim": 8})
q, k, v = (torch.randn(1, 4, 64, 8) for _ in range(3))
torch.set_num_threads(2)
alone = made(q, k, v)
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
try:
    same = (made(q, k, v) == alone).all()
    os._exit(0 if same else 1)
except RuntimeError as error:
    os._exit(3 if "was forked after its parent had used several threads" in str(error) else 1)
"""


@case
def calls_leave_threads_as_they_are(folder):
    """GNU's OpenMP ends threads that a call does not use, and starting them again takes longer than most calls."""
    made, threads = small('softmax_causal'), torch.get_num_threads()
    big = torch.ones(1 << 18)
    try:
        torch.set_num_threads(6)
        with torch.no_grad():
            before = None
            for batch in 1, 4, 5, 6, 8, 10, 14, 30:   # some of them are worth 2 to 5 threads
                made(*(torch.randn(batch, 4, rows, 8) for rows in (1, 100, 100)))
                big.add_(1)
                after = set(os.listdir('/proc/self/task'))
                check(before is None or after <= before, 'a batch of %d started a thread' % batch)
                before = after
    finally:
        torch.set_num_threads(threads)


@case
def a_forked_process_has_threads_of_its_own(folder):
    """After a fork, kernels that use clang's OpenMP work. Kernels that use gcc's OpenMP report an error."""
    for name, wanted in ('clang', 0), ('gcc', 3):
        found = compiler(name)
        done = execute([sys.executable, '-c', FORKS], env=dict(os.environ, ATTNC_CC=found), timeout=120)
        check(done.returncode == wanted, '%s: exit status %d, not %d\n%s' % (found, done.returncode, wanted, done.stderr))


GRAPH_FIRST = """
import attnc
%s
import torch
q, x = torch.randn(1, 2, 9, 8), torch.randn(2)
call = lambda q: made(q, q, q) if made else attnc.attention(q, q, q, score="s * x[h]", mask="causal", scale=0.3, arrays={"x": x})
assert torch.equal(torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")(q), call(q))
"""


@case
def the_first_call_of_a_process_is_in_a_graph(folder):
    made = 'made = attnc.kernel("softmax_causal", set={"shape.head_dim": 8})'
    for begin in made, 'import torch; ' + made, 'made = None':
        done = execute([sys.executable, '-c', GRAPH_FIRST % begin], timeout=300)
        check(done.returncode == 0, done.stderr)


@case
def gradcheck(folder):
    for name, sizes in (('softmax_causal', {}), ('hedgehog', {'m': 5}), ('linear_elu', {'G': 4})):
        made = small(name, dtype='f64')
        given = {w: torch.from_numpy(a).requires_grad_() for w, a in made.init(1, heads=4, kv_heads=2).items()}
        inputs = [
            torch.from_numpy(a).requires_grad_() for a in arrays('float64', B=1, n=3, **{'m': 4, **sizes})]
        check(torch.autograd.gradcheck(lambda q, k, v, *p: made(q, k, v, **dict(zip(given, p))),
                                       (*inputs, *given.values()), fast_mode=True), name)


@case
def positions_of_queries(folder):
    spec = {'name': 'placed', 'similarity': 'softmax', 'prepare': ['rope'], 'mask': {'all': ['causal', 'lengths']},
            'shape': {'head_dim': 8}, 'dtype': 'f64'}
    made, lengths = attnc.kernel(spec), torch.tensor([20, 33], dtype=torch.int32)
    q, k, v = (torch.randn(2, heads, n, 8, dtype=torch.float64, requires_grad=True) for heads, n in ((4, 5), (2, 40), (2, 40)))
    call = lambda start: lambda q, k, v: made(q, k, v, lengths=lengths, query_start=start)
    check(torch.autograd.gradcheck(call(lengths - 5), (q, k, v), fast_mode=True), 'gradcheck')
    with torch.no_grad():
        wanted = call(lengths - 5)(q, k, v)
        check(torch.equal(call([15, 28])(q, k, v), wanted), 'a list')
        check(not torch.equal(call(lengths - 6)(q, k, v), wanted), 'a later call keeps the positions of an earlier one')
        both = torch.vmap(lambda q, k, v, start: made(q, k, v, lengths=lengths, query_start=start))(
            *(torch.stack([a, a]) for a in (q, k, v)), torch.stack([lengths - 5, lengths - 6]))
        check(torch.equal(both[0], wanted) and torch.equal(both[1], call(lengths - 6)(q, k, v)), 'vmap')


@case
def dropout(folder):
    spec = {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.4, 'seed': 5, 'shape': {'head_dim': 8}, 'dtype': 'f64'}
    made = attnc.kernel(spec)
    given = tensors(torch.float64, True, n=9, D=8)
    check(torch.autograd.gradcheck(lambda *x: made(*x, seed=77), given, fast_mode=True), 'gradcheck')
    for seed in 1, 2, 1:   # the second and the third call repeat the first, with their own seeds
        wanted = torch.ops.attnc.forward(made._text, *given, [], [], None, seed, True, None)[0]
        one, two = ((out, *torch.autograd.grad(out.square().sum(), given)) for out in (made(*given, seed=seed), wanted))
        same(one, two, 0, 'seed %d' % seed)
    layer, undropped = attnc.torch.Attention(spec, heads=4, kv_heads=2), attnc.kernel(spec, set={'dropout': 0})
    torch.manual_seed(1)
    first, second = layer(*given), layer(*given)
    torch.manual_seed(1)
    check(torch.equal(layer(*given), first) and not torch.equal(first, second), 'seeds of a module in training')
    check(torch.equal(layer.eval()(*given), undropped(*given)), 'eval() drops')
    compiled = traced(lambda *x: attnc.attention(*x, dropout=0.2, seed=3))
    check(torch.equal(compiled(*given), attnc.attention(*given, dropout=0.2, seed=3)), 'torch.compile')
    several = torch.randn(3, *given[0].shape, dtype=torch.float64)
    refuses(lambda: torch.func.vmap(lambda d: torch.autograd.grad(made(*given, seed=1), given[0], d)[0])(several),
            NotImplementedError, 'attention: this call of vmap would not draw what forward drew, because dropout draws '
            'by the index in the batch')


@case
def opcheck(folder):
    made, learned = small('softmax_causal'), small('hedgehog')
    compact = tensors(grad=True)
    permuted = [a.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for a in compact]
    for inputs in compact, permuted:
        torch.library.opcheck(torch.ops.attnc.forward.default, (made._text, *inputs, [], [], None, None, True, None))
    weights = list(attnc.torch.Attention(learned, 4, 2).parameters())
    torch.library.opcheck(torch.ops.attnc.forward.default, (learned._text, *compact, weights, [], None, None, True, None))
    plain = [a.detach() for a in compact]
    torch.library.opcheck(torch.ops.attnc.forward.default, (made._text, *plain, [], [], None, None, False, None))
    out, saved = torch.ops.attnc.forward(made._text, *plain, [], [], None, None, True, None)
    torch.library.opcheck(torch.ops.attnc.backward.default,
                          (made._text, out, *plain, out, saved, [], [], None, None, [True, False, True], None))
    drops = small('softmax_causal', dropout=0.3)
    torch.library.opcheck(torch.ops.attnc.forward.default, (drops._text, *compact, [], [], None, None, True, torch.tensor(5)))


@case
def strided_tensors_are_not_copied(folder):
    made = small('softmax_causal')
    q, k, v = tensors()
    turned = [a.transpose(1, 2).contiguous().transpose(1, 2) for a in (q, k, v)]
    wide = [F.pad(a, (3, 5))[..., 3:11] for a in (q, k, v)]
    for name, given in ('[B, N, H, D]', turned), ('a slice', wide):
        check(not given[0].is_contiguous(), name)
        close(made(*given), made(q, k, v), 0, name)
        grad = [a.detach().requires_grad_() for a in given]
        made(*grad).square().sum().backward()
        plain = again((q, k, v))
        made(*plain).square().sum().backward()
        same([a.grad for a in grad], [a.grad for a in plain], 0, name)
    close(made(q[:1].expand(2, -1, -1, -1), k, v), made(q[:1].repeat(2, 1, 1, 1), k, v), 0, 'one q for all')


@case
def others_are_copied(folder):
    made = small('softmax_causal', name='copies')
    q, k, v = tensors()
    flat = v[..., :1].expand(-1, -1, -1, 8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        for _ in range(2):
            turned = k.mT.contiguous().mT.requires_grad_()
            out = made(q, turned, flat)
            close(out.detach(), made(q, k, flat.contiguous()), 1e-6, 'a copy')
            out.square().sum().backward()
    right = k.clone().requires_grad_()
    made(q, right, flat.contiguous()).square().sum().backward()
    close(turned.grad, right.grad, 0, 'its gradient')
    check({str(w.message)[:2] for w in said} == {'k:', 'v:'}, 'said %s' % [str(w.message) for w in said])


@case
def compiles(folder):
    made = small('softmax_causal')
    # inductor generates code only once, for both lengths
    settings = [{'backend': 'eager'}, {'backend': 'aot_eager'}, {'backend': 'inductor', 'dynamic': True}]
    # like a model, with heads next to each other in memory
    of_rows = lambda q: (q.transpose(1, 2).contiguous() * 2).transpose(1, 2)
    for function, count in ((lambda q, k, v: made(of_rows(q), k, v) + 1, 3 if shutil.which('g++') else 2),
                            (lambda q, k, v: attnc.attention(q, k, v, weight='1 + s * s', mask='j <= i') * 2, 2)):
        for setting in settings[:count]:
            torch._dynamo.reset()
            compiled = torch.compile(function, fullgraph=True, **setting)
            for n in 5, 6:
                ours, theirs = tensors(grad=True, n=n), tensors(grad=True, n=n)
                out, wanted = compiled(*ours), function(*theirs)
                out.square().sum().backward()
                wanted.square().sum().backward()
                close(out.detach(), wanted.detach(), 0, setting['backend'])
                same([a.grad for a in ours], [a.grad for a in theirs], 1e-5, setting['backend'])
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend='aot_eager', dynamic=True)
    for size in 8, 8, 4:   # kernels depend on the head size
        inputs = tensors(D=size)
        close(compiled(*inputs), function(*inputs), 0, 'a head of %d numbers that was left open' % size)
    layer = attnc.torch.Attention('hedgehog', 4, 2, set={'shape.head_dim': 8, 'shape.value_dim': 8})
    torch._dynamo.reset()
    close(torch.compile(layer, fullgraph=True, backend='aot_eager')(*tensors()).detach(), layer(*tensors()).detach(), 0,
          'a module')


@case
def delta_saves_its_solution(folder):
    """Backward reads what forward of the delta rule saves for each key, also where the rate is 0."""
    made = attnc.torch.Attention('gated_deltanet', set={'shape.head_dim': 8, 'shape.value_dim': 12})

    def recurrence(q, k, v, gate, beta):
        q, k, out = 0.125 * F.normalize(q, dim=-1), F.normalize(k, dim=-1), []
        state = q.new_zeros(*k.shape[:2], 8, 12)
        for t in range(k.shape[2]):
            state = state * gate[:, :, t, None, None].exp()
            rest = v[:, :, t] - torch.einsum('bhd,bhde->bhe', k[:, :, t], state)
            state = state + torch.einsum('bhd,bhe->bhde', k[:, :, t], beta[:, :, t, None] * rest)
            row = t - (k.shape[2] - q.shape[2])
            if row >= 0: out.append(torch.einsum('bhd,bhde->bhe', q[:, :, row], state))
        return torch.stack(out, 2)

    for rows, keys in (1, 1), (31, 31), (32, 32), (33, 33), (5, 70):
        torch.manual_seed(keys)
        inputs = [torch.randn(2, 3, n, size) for n, size in ((rows, 8), (keys, 8), (keys, 12))]
        inputs += [-torch.rand(2, 3, keys), torch.rand(2, 3, keys)]
        inputs[4][:, :, ::3] = 0
        leaves, exact, dout = again(inputs), again([a.double() for a in inputs]), torch.randn(2, 3, rows, 12)
        wanted = torch.autograd.grad(recurrence(*exact), exact, dout.double())
        for _ in range(2):  # the second call uses what the first one kept
            out = made(*leaves[:3], gate=leaves[3], beta=leaves[4])
            same(torch.autograd.grad(out, leaves, dout, retain_graph=True), wanted, 1e-5, '%d rows, %d keys' % (rows, keys))
    function = traced(lambda q, k, v, gate, beta: made(q, k, v, gate=gate, beta=beta))
    same(torch.autograd.grad(function(*leaves), leaves, dout), torch.autograd.grad(out, leaves, dout), 0, 'compiled')


@case
def vmap_over_batches(folder):
    made = small('softmax_causal')
    q, k, v = (torch.stack([a, 0.5 * a, -a]) for a in tensors())
    close(torch.func.vmap(made)(q, k, v), torch.stack([made(*one) for one in zip(q, k, v)]), 0, 'vmap')
    close(torch.func.vmap(made, in_dims=(0, None, None))(q, k[0], v[0]), torch.stack([made(a, k[0], v[0]) for a in q]), 0,
          'one k for all')
    close(torch.func.vmap(made, in_dims=1)(*(a.movedim(0, 1) for a in (q, k, v))),
          torch.stack([made(*one) for one in zip(q, k, v)]), 0, 'another axis')
    leaves = again((q[0], k[0], v[0]))
    out = made(*leaves)
    several = torch.stack([torch.ones_like(out), out.detach()])
    each = [torch.autograd.grad(out, leaves, one, retain_graph=True) for one in several]
    batched = torch.func.vmap(lambda one: torch.autograd.grad(out, leaves, one, retain_graph=True))(several)
    for number, gradient in enumerate(batched):
        close(gradient, torch.stack([one[number] for one in each]), 1e-6, 'several gradients with respect to out')


@case
def contexts(folder):
    made = small('softmax_causal')
    inputs = tensors()
    wanted = made(*inputs)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        out = made(*inputs)
        leaves = again(inputs)
        made(*leaves).float().sum().backward()
    check(out.dtype == torch.bfloat16 and leaves[0].grad.dtype == torch.float32, 'autocast gives %s' % out.dtype)
    close(out.float(), wanted, 0.05, 'autocast')
    with torch.inference_mode():
        close(made(*(a.clone() for a in inputs)), wanted, 0, 'inference_mode')
    ours, theirs = again(inputs), again(inputs)
    torch.utils.checkpoint.checkpoint(made, *ours, use_reentrant=False).square().sum().backward()
    made(*theirs).square().sum().backward()
    same([a.grad for a in ours], [a.grad for a in theirs], 0, 'checkpoint')
    threads = torch.get_num_threads()
    try:
        for number in 1, 2:
            torch.set_num_threads(number)
            seen = []
            call = attnc._call._Call

            class Spy(call):
                def __init__(self, binding, threads, seed):
                    seen.append(threads)
                    super().__init__(binding, threads, seed)
            attnc._call._Call = Spy
            leaves = again([a[:, :, :1 + number].contiguous() for a in inputs])  # sizes that no other call had
            made(*leaves).sum().backward()
            attnc._call._Call = call
            check(seen == [number, number], 'with set_num_threads(%d) a call had %s' % (number, seen))
    finally:
        torch.set_num_threads(threads)
    room = torch.zeros(wanted.shape)
    check(made(*inputs, out=room) is room and (room == wanted).all(), 'out=')


@case
def no_second_derivatives(folder):
    made = small('softmax_causal')
    q, k, v = tensors(grad=True)
    gradient, = torch.autograd.grad(made(q, k, v).square().sum(), q, create_graph=True)
    refuses(lambda: gradient.sum().backward(), RuntimeError,
            'softmax_causal: attnc has no second derivatives; its gradients cannot be differentiated (create_graph=True)')


@case
def call_without_the_compiler(folder):
    """A call in no graph does not import the compiler of PyTorch, which takes a second. A graph refuses tangents."""
    program = ('import sys, torch, attnc\n'
               'q = torch.ones(1, 1, 3, 8, requires_grad=True)\n'
               'attnc.attention(q, q, q, score="s + 1.5").sum().backward()\n'
               'print("torch._dynamo" in sys.modules)')
    done = execute([sys.executable, '-c', program])
    check(done.stdout.strip() == 'False', 'imported: %s %s' % (done.stdout, done.stderr))
    q = tensors(torch.float64)[0]
    made = small('softmax_causal', dtype='f64')
    try:
        torch.compile(lambda q: torch.func.jvp(lambda q: made(q, q, q), (q,), (q,)), fullgraph=True)(q)
        check(False, 'a graph computed tangents')
    except torch._dynamo.exc.Unsupported as error:
        check('no forward-mode derivatives' in str(error), str(error))


@case
def forward_differentiation(folder):
    made, learned = small('softmax_causal', dtype='f64'), small('hedgehog', dtype='f64')
    inputs = tensors(torch.float64)
    with torch.no_grad(): weights = {w: torch.from_numpy(a).double() for w, a in learned.init(1, heads=4, kv_heads=2).items()}
    for kernel, more in (made, []), (learned, [weights['features_wq'], weights['features_wk']]):
        names = [p.keyword for p in kernel.parameters]
        function = lambda q, k, v, *arrays: kernel(q, k, v, **dict(zip(names, arrays)))
        given = [*inputs, *more]
        along = [torch.randn_like(a) for a in given]
        out, tangent = torch.func.jvp(function, tuple(given), tuple(along))
        close(out, function(*given), 0, 'jvp: the output')
        leaves = again(given)
        weight = torch.randn_like(out)
        gradients = torch.autograd.grad((function(*leaves) * weight).sum(), leaves)
        close((tangent * weight).sum(), sum((g * t).sum() for g, t in zip(gradients, along)), 1e-10, 'jvp: the tangent')
    step = 1e-6
    for number in range(3):   # the other inputs have no tangent
        with torch.autograd.forward_ad.dual_level():
            along = torch.randn_like(inputs[number])
            duals = [torch.autograd.forward_ad.make_dual(a, along) if n == number else a for n, a in enumerate(inputs)]
            one = torch.autograd.forward_ad.unpack_dual(made(*duals)).tangent
        moved = [made(*(a + step * sign * along if n == number else a for n, a in enumerate(inputs))) for sign in (1, -1)]
        close(one, (moved[0] - moved[1]) / (2 * step), 1e-7, 'dual tensors')
    q, k, v = (a[:1, :, :3] for a in inputs)
    matrix = torch.func.jacfwd(made, argnums=1)(q, k, v)
    rows = torch.autograd.functional.jacobian(lambda k: made(q, k, v), k)
    close(matrix, rows, 1e-10, 'jacfwd')
    check(torch.autograd.gradcheck(made, tuple(again((q, k, v))), check_forward_ad=True), 'gradcheck')
    for dtype, limit in (torch.float32, 1e-5), (torch.bfloat16, 0.1):   # kernels of bf16 take tangents of f32
        narrow = [a.to(dtype) for a in inputs]
        out, tangent = torch.func.jvp(small('softmax_causal', dtype='f32' if dtype is torch.float32 else 'bf16'),
                                      tuple(narrow), tuple(narrow))
        check(out.dtype is tangent.dtype is dtype, 'dtype')
        close(tangent.double(), torch.func.jvp(made, *[tuple(a.double() for a in narrow)] * 2)[1], limit, 'narrow')
    turned = [a.transpose(1, 2).contiguous().transpose(1, 2) for a in inputs]
    ones = [torch.ones((), dtype=torch.float64).expand_as(a) for a in turned]
    close(torch.func.jvp(made, tuple(turned), tuple(ones))[1],
          torch.func.jvp(made, tuple(inputs), tuple(a.clone() for a in ones))[1], 1e-12, 'strides')
    drops = small('softmax_dropout', dtype='f64')
    out, tangent = torch.func.jvp(lambda v: drops(*inputs[:2], v, seed=5), (inputs[2],), (inputs[2],))
    close(tangent, out, 1e-12, 'dropout')
    values, separate = of_keys(dtype='f64')
    out, tangent = torch.func.jvp(values, tuple(inputs[:2]), tuple(inputs[:2]))
    close(tangent, torch.func.jvp(separate, tuple(inputs[:2]), tuple(inputs[:2]))[1], 1e-12, 'values that are keys')
    none = [a[:, :, :0] for a in inputs]
    check(torch.func.jvp(made, tuple(none), tuple(none))[1].shape == none[0].shape, 'no tokens')


@case
def refused_tangents(folder):
    made, inputs = small('softmax_causal'), tensors()
    formula = lambda *a: attnc.attention(*a, weight='1 + s * s')
    for function in formula, lambda *a: made(*a):
        of_graph, tangent = (torch.func.jvp(f, tuple(inputs), tuple(inputs))[1]
                             for f in (torch.compile(function, backend='eager'), function))
        close(of_graph, tangent, 0, 'torch.compile')
    delta = small('deltaformer', **{'delta.normalize': 'none'})
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(inputs[1], inputs[1])
        try:
            delta(inputs[1], dual, inputs[2])
        except attnc.SpecError as error:
            check('the tangent of a maximum is not compiled yet' in str(error), str(error))
        else:
            check(False, 'delta')
        refuses(lambda: made(inputs[0], dual, inputs[2], threads=1), ValueError,
                'softmax_causal: out= and threads= are for calls without tangents')
        asked = inputs[0].clone().requires_grad_()
        refuses(lambda: torch.autograd.forward_ad.unpack_dual(made(asked, dual, inputs[2])).primal.sum().backward(),
                RuntimeError, 'softmax_causal: a call with tangents (torch.func.jvp, dual tensors) has no gradients')
        same_size = [a[:, :, :3] for a in (inputs[0], dual, inputs[2])]
        refuses(lambda: made.state(2).extend(*same_size), ValueError,
                'k has a tangent, which would be lost; pass k.detach()')
        check(made(*inputs).shape == inputs[0].shape, 'without a tangent')


@case
def tensors_that_are_not_aligned_are_copied(folder):
    """Also in repeated calls, in backward, and in graphs."""
    made = small('softmax_causal')
    q, k, v = tensors()
    def odd(a):
        memory = np.zeros(4 * a.numel() + 1, 'u1')[1:].view('f4')
        memory[:] = a.detach().numpy().ravel()
        return torch.from_numpy(memory).reshape(a.shape).requires_grad_()
    compiled = torch.compile(lambda *a: made(*a), backend='aot_eager', fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for function in made, made, made, compiled:
            leaves = [a.detach().clone().requires_grad_() for a in (q, k, v)]
            others = [odd(a) for a in (q, k, v)]
            out, other = function(*leaves), function(*others)
            close(out.detach(), other.detach(), 0, 'the result')
            dout = torch.randn_like(out)
            for one, two in zip(torch.autograd.grad(out, leaves, dout, retain_graph=True), torch.autograd.grad(other, others, odd(dout).detach())):
                close(one, two, 0, 'a gradient')
            for one, two in zip(torch.autograd.grad(out, leaves, dout), torch.autograd.grad(function(*leaves), leaves, odd(dout).detach())):
                close(one, two, 0, 'a gradient of dout')
            with torch.no_grad():
                close(function(*others), out.detach(), 0, 'without gradients')


@case
def integers_may_be_wider(folder):
    """PyTorch's default, int64, is narrowed in eager calls, with gradients, in graphs, and with fast repeated calls."""
    inputs, of_kernels = of_integers()
    for made, given in of_kernels:
        (word, ids), = given.items()
        q, k, v = (torch.from_numpy(a).requires_grad_() for a in inputs)
        ids = torch.from_numpy(ids.copy())
        def computed(ids, function=made):
            out = function(q, k, v, **{word: ids})
            return [out.detach(), *torch.autograd.grad(out.square().sum(), (q, k, v))]
        wanted = computed(ids.int())
        compiled = torch.compile(lambda *a, **more: made(*a, **more), backend='aot_eager', fullgraph=True)
        with torch.no_grad(): alone = made(q, k, v, **{word: ids.int()})
        for repeat in range(4):
            other = ids.roll(repeat, 0)
            for one, two in zip(computed(other), computed(other.int())): close(one, two, 0, '%s: call %d' % (word, repeat))
            with torch.no_grad(): close(made(q, k, v, **{word: ids}), alone, 0, word)
        for one, two in zip(computed(ids, compiled), wanted): close(one, two, 0, '%s: a graph' % word)
        wrong = ids.clone()
        wrong.view(-1)[-1] = 2**32
        for function in made, compiled:
            refuses(lambda: function(q, k, v, **{word: wrong}), ValueError,
                    '%s is int64 and has an element 4294967296; expected integers from -2^31 to 2^31 - 1' % word)
    number = attnc.kernel({'similarity': 'softmax', 'shape': {'head_dim': 8}, 'mask': {'expr': 'i - j < width && j <= i'},
                           'arrays': {'width': {'shape': [], 'type': 'int'}}})
    for _ in range(3): wanted = number(q, k, v, width=5)
    refuses(lambda: number(q, k, v, width=2**32 + 5), ValueError, 'a number is 4294967301; expected an integer from …')
    close(number(q, k, v, width=5).detach(), wanted.detach(), 0, 'after an error')


@case
def a_module_owns_the_learned_arrays(folder):
    layer = attnc.torch.Attention('hedgehog', 4, 2, set={'shape.head_dim': 8, 'shape.value_dim': 8})
    check(str(layer) == "Attention('hedgehog', head_dim=8, dtype=f32, heads=4, kv_heads=2)", str(layer))
    check({n: tuple(p.shape) for n, p in layer.named_parameters()} == {'features_wq': (4, 8, 8), 'features_wk': (2, 8, 8)},
          'parameters')
    check((layer.features_wq == torch.eye(8)).all(), 'they begin as something else')
    inputs = tensors()
    before = layer(*inputs)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    before.square().sum().backward()
    check(all(p.grad.abs().sum() > 0 for p in layer.parameters()), 'no gradients')
    optimizer.step()
    after = layer(*inputs)
    check(not (before == after).all(), 'a step changes nothing')
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = attnc.torch.Attention('hedgehog', 4, 2, set={'shape.head_dim': 8, 'shape.value_dim': 8})
    other.load_state_dict(torch.load(file))
    close(other(*inputs).detach(), after.detach(), 0, 'state_dict')
    for made in copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)):
        close(made(*inputs).detach(), after.detach(), 0, 'a copy')
        check(made.kernel is layer.kernel, 'a copy has another kernel')
    used = attnc.torch.use()
    used.undo()
    for function in copy.copy, copy.deepcopy, pickle.dumps:
        refuses(lambda: function(used), TypeError, 'what attnc.torch.use() returns cannot be copied or pickled: …')
    for dtype, limit in (torch.bfloat16, 0.05), (torch.float16, 0.01), (torch.float64, 1e-5):
        out = layer(*(a.to(dtype) for a in inputs))
        check(out.dtype == dtype, 'of %s it gives %s' % (dtype, out.dtype))
        close(out.detach().double(), after.detach(), limit, 'of %s' % dtype)
        torch._dynamo.reset()
        again_ = torch.compile(layer, backend='aot_eager', fullgraph=True)(*(a.to(dtype) for a in inputs))
        close(again_.detach().double(), out.detach().double(), 0, 'of %s, compiled' % dtype)
    close(layer.to(torch.bfloat16)(*inputs).detach(), after.detach(), 0.05, 'in bf16 its arrays are widened')
    sketch = attnc.torch.Attention('polysketch_r32', set={'shape.head_dim': 8, 'shape.value_dim': 8}, seed=3)
    check(not list(sketch.parameters()) and set(sketch.state_dict()) == {'sketch_g1', 'sketch_g2'}, 'random arrays')
    close(sketch(*inputs), sketch.kernel(*inputs, seed=3), 0, 'random arrays of a seed')
    packed = attnc.torch.Attention('packed_documents', set={'shape.head_dim': 8, 'shape.value_dim': 8})
    ids = torch.tensor([[0, 0, 0, 1, 1, 2, 2]] * 2, dtype=torch.int32)
    check(packed(*inputs, document=ids).shape == inputs[0].shape, 'integers')
    for name, sizes in ('hedgehog', (4, 2)), ('polysketch_r32', ()):
        with torch.device('meta'):
            planned = attnc.torch.Attention(name, *sizes, set={'shape.head_dim': 8, 'shape.value_dim': 8}, seed=3)
        check({a.device.type for a in planned.state_dict().values()} == {'meta'}, 'made on another device than meta')
        planned.to_empty(device='cpu').reset_parameters()
        made = attnc.torch.Attention(name, *sizes, set={'shape.head_dim': 8, 'shape.value_dim': 8}, seed=3)
        same(planned.state_dict().values(), made.state_dict().values(), 0, name)


@case
def formulas_of_several_sums(folder):
    """Tests attention() with scores, sums and an output, and its gradients, even under torch.compile."""
    q, k, v = tensors(grad=True)
    heads, members = q.shape[1], q.shape[1] // k.shape[1]
    q2, k2 = (torch.randn(*x.shape[:3], 6, requires_grad=True) for x in (q, k))
    lam = torch.rand(heads, requires_grad=True)
    sums = {'a': {}, 'c': {'similarity': {'softmax': {'scale': 1, 'modify': '0.3 * r'}}}}

    def formula(q, k, v, q2, k2, lam):
        return attnc.attention(q, k, v, mask='causal', scores={'r': {'query': 'q2', 'key': 'k2'}}, sums=sums,
                               output='a - lam[h] * c', arrays={'q2': q2, 'k2': k2, 'lam': lam})

    def plain(q, k, v, q2, k2, lam):
        hidden = ~torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]).bool()
        k, v, k2 = (x.repeat_interleave(members, 1) for x in (k, v, k2))
        one, other = (s.masked_fill(hidden, -torch.inf).softmax(-1).nan_to_num() @ v
                      for s in (q @ k.mT / q.shape[3] ** 0.5, q2 @ k2.mT * 0.3))
        return one - lam[:, None, None] * other
    given = q, k, v, q2, k2, lam
    wanted = torch.autograd.grad(plain(*given).square().sum(), given)
    for function in formula, torch.compile(formula, backend='eager', fullgraph=True):
        out = function(*given)
        close(out.detach(), plain(*given).detach(), 1e-5, 'out')
        for name, one, other in zip(('q', 'k', 'v', 'q2', 'k2', 'lam'), torch.autograd.grad(out.square().sum(), given), wanted):
            close(one, other, 1e-3, 'd' + name)


@case
def formulas_read_arrays(folder):
    """Tests gradients with respect to a formula's arrays, even under torch.compile. A module owns the learned
    arrays."""
    q, k, v = tensors(grad=True)
    heads, n_k = q.shape[1], k.shape[2]
    table, far = torch.randn(heads, 9, requires_grad=True), torch.randn(n_k, requires_grad=True)
    i = (torch.arange(q.shape[2]) + n_k - q.shape[2])[:, None]
    near = (i - torch.arange(n_k) + 4).clamp(0, 8)

    def formula(q, k, v, table, far):
        return attnc.attention(q, k, v, score='s + table[h][i - j + 4] - far[j]', arrays={'table': table, 'far': far})

    def plain(q, k, v, table, far):
        group = heads // k.shape[1]
        s = q @ k.repeat_interleave(group, 1).transpose(2, 3) / q.shape[3] ** 0.5 + table[:, near] - far
        return s.softmax(-1) @ v.repeat_interleave(group, 1)
    given = q, k, v, table, far
    wanted = torch.autograd.grad(plain(*given).square().sum(), given)
    for function in formula, torch.compile(formula, backend='eager', fullgraph=True):
        out = function(*given)
        close(out.detach(), plain(*given).detach(), 1e-5, 'out')
        for name, one, other in zip(('q', 'k', 'v', 'table', 'far'), torch.autograd.grad(out.square().sum(), given), wanted):
            close(one, other, 1e-3, 'd' + name)
    layer = attnc.torch.Attention({
        'name': 'tables', 'similarity': {'softmax': {'modify': 's * warm[h] + table[h][i - j + 4]'}},
        'arrays': {'table': {'shape': ['H', 9], 'learned': True}, 'warm': {'shape': ['H']}},
        'shape': {'head_dim': q.shape[3], 'value_dim': v.shape[3]}}, heads=heads, kv_heads=k.shape[1])
    check([name for name, _ in layer.named_parameters()] == ['table'], 'it owns another array')
    layer(q, k, v, warm=torch.ones(heads)).sum().backward()
    check(layer.table.grad is not None, 'the table has no gradient')
    refuses(lambda: layer(q, k, v), ValueError, 'tables needs the parameter warm, float32 [H]')

    def capped(q, k, v, cap):
        return attnc.attention(q, k, v, score='cap * tanh(s / cap)', arrays={'cap': cap})
    cap = torch.tensor(2.5, requires_grad=True)
    out = capped(q, k, v, cap)
    gradient, = torch.autograd.grad(out.square().sum(), cap)
    ends = [capped(*(a.detach() for a in (q, k, v)), c).double().square().sum() for c in (2.51, 2.49)]
    close(gradient, (ends[0] - ends[1]) / 0.02, 1e-3, 'the gradient with respect to a number')
    compiled = torch.compile(capped, backend='eager', fullgraph=True)
    for c in 2.5, cap, 3.5, 4.5:   # the second number makes torch.compile use a symbol
        close(compiled(q, k, v, c).detach(), capped(q, k, v, c).detach(), 0, 'compiled with %r' % c)


@case
def arrays_of_16_bits(folder):
    """Kernels read them as they are: results and gradients are those of the same numbers in f32."""
    q, k, v = tensors(grad=True)
    heads, n_q, n_k = q.shape[1], q.shape[2], k.shape[2]
    for dtype in torch.bfloat16, torch.float16:
        pairs, table = (torch.randn(*shape).to(dtype) for shape in ((2, heads, n_q, n_k), (heads, 9)))
        turned = pairs.transpose(2, 3).contiguous().transpose(2, 3)
        for inner in torch.float32, dtype:
            given = [a.detach().to(inner) for a in (q, k, v)]
            score, results = 'c * s + pairs[b][h][row][j] + table[h][i - j + 4]', []
            for to, of_pairs in (torch.float32, pairs), (dtype, pairs), (dtype, turned):
                leaves = [a.detach().clone().requires_grad_() for a in (*given, of_pairs.to(to), table.to(to))]
                for _ in range(3):   # repeated calls take other ways
                    out = attnc.attention(*leaves[:3], score=score,
                                          arrays={'pairs': leaves[3], 'table': leaves[4], 'c': 0.75})
                    gradients = torch.autograd.grad(out.float().square().sum(), leaves)
                check(all(g.dtype == a.dtype for g, a in zip(gradients, leaves)), 'a gradient of another type')
                results.append([out.detach(), *gradients])
            for name, wanted, *others in zip(('out', 'dq', 'dk', 'dv', 'dpairs', 'dtable'), *results):
                for other in others:
                    close(other.float(), wanted.to(other.dtype).float(), 0, '%s of %s in %s' % (name, dtype, inner))
    made = attnc.kernel({'name': 'halves', 'similarity': {'softmax': {'modify': 'c * s'}}, 'shape': {'head_dim': 8},
                         'arrays': {'c': {'shape': [], 'type': 'bf16'}}})
    for c in 0.75, 1.0, torch.tensor(0.75, dtype=torch.bfloat16):
        with torch.no_grad():
            close(made(q, k, v, c=c), attnc.attention(q, k, v, score='%r * s' % float(c)), 1e-6, 'a number')
    refuses(lambda: made(q, k, v, c=torch.tensor(0.75)), TypeError, 'c is float32; halves takes bfloat16 or uint16')


@case
def tables_of_tiles(folder):
    """Masks with tables of their tiles give the same bits: eager and compiled, with gradients, and in a module."""
    made, seen = masked()
    q, k, v = (a.requires_grad_() for a in tensors(n=90, m=150))
    seen = torch.from_numpy(seen)
    tiles, hidden = attnc.tiles_of_mask(seen), attnc.tiles_of_mask(torch.zeros_like(seen))
    layer = attnc.torch.Attention(made, heads=4, kv_heads=2)

    def formula(q, k, v, seen):
        return attnc.attention(q, k, v, mask='j <= i && seen[b][row][j]', arrays={'seen': seen})

    def by_keyword(q, k, v, seen):
        return made(q, k, v, seen=seen)

    def results(function, seen):
        out = function(q, k, v, seen)
        return out.detach(), *torch.autograd.grad(out.square().sum(), (q, k, v))
    for function in by_keyword, formula, lambda q, k, v, seen: layer(q, k, v, seen=seen):
        for one, other in zip(results(function, tiles), results(function, seen)):
            close(one, other, 0, 'a result')
        with torch.no_grad():
            close(function(q, k, v, tiles), function(q, k, v, seen), 0, 'without gradients')
        compiled = torch.compile(function, backend='eager', fullgraph=True)
        for one, other in zip(results(compiled, tiles), results(function, seen)):
            close(one, other, 0, 'a compiled result')
        for run in function, compiled:   # the kernel believes the table
            check(not any(result.any() for result in results(run, hidden)[:2]), 'the kernel does not read the table')
    close(layer(*(a.detach().bfloat16() for a in (q, k, v)), seen=tiles).float(),
          layer(*(a.detach().bfloat16() for a in (q, k, v)), seen=seen).float(), 0, 'in bf16')
    refuses(lambda: made(q, k, v, seen=attnc.tiles_of_mask(seen.numpy())), TypeError,
            'seen is a ndarray; expected a tensor, because q is one')


@case
def errors_are_exact(folder):
    made, sketch = small('softmax_causal'), small('polysketch_r32')
    q, k, v = tensors()
    for given, kind, message in (
            ((q.double(), k, v), TypeError, 'q is float64; softmax_causal takes float32'),
            ((q.to('meta'), k, v), ValueError, 'q is on another device (meta); softmax_causal runs on the CPU'),
            ((q, k, v.to('meta')), ValueError, 'v is on another device (meta); softmax_causal runs on the CPU'),
            ((q, k, v[..., :4]), ValueError, 'v has shape [2, 2, 7, 4]; expected [B, G, n_k, 8] with B = 2, '
             'G = 2, n_k = 7…'),
            ((q, k[:1], v), ValueError, 'k has shape [1, 2, 7, 8]; expected [B, G, n_k, 8] with B = 2…'),
            ((q, k.numpy(), v), TypeError, 'k is a ndarray; expected a tensor, because q is one'),
            ((q, k, None), TypeError, 'v is a NoneType; expected a tensor, because q is one')):
        refuses(lambda: made(*given), kind, message)
        if isinstance(given[0], torch.Tensor) and given[0].dtype == torch.float32:
            refuses(lambda: made(given[0].detach().requires_grad_(), *given[1:]), kind, message)
    arrays_ = {w: torch.from_numpy(a) for w, a in sketch.init(1).items()}
    arrays_['sketch_g1'].requires_grad_()
    refuses(lambda: sketch(q, k, v, **arrays_), ValueError, 'sketch_g1 requires gradients, but random '
            'arrays have none; pass sketch_g1.detach()')
    refuses(lambda: sketch(q, k, v), ValueError, 'polysketch_r32 needs seed=, or the parameters sketch_g1 [8, 32], '
            'sketch_g2 [8, 32]')
    refuses(lambda: small('hedgehog')(q, k, v, features_wq=3), TypeError, 'features_wq is a int; expected a tensor, because q '
            'is one')
    refuses(lambda: made(q.requires_grad_(), k, v, out=torch.zeros(2, 4, 5, 8)), ValueError, 'softmax_causal: out= and '
            'threads= are for calls without gradients; torch.no_grad() makes one, and torch.set_num_threads() sets '
            'threads')


if __name__ == '__main__':
    sys.exit(main(__doc__))
