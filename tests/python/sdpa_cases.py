"""Tests attnc.torch.use(): results and gradients of scaled_dot_product_attention are those of PyTorch's own
operators."""
from common import *

import copy
import time

import torch
import torch.nn.functional as F

import attnc.torch
from attnc import _multihead, _sdpa

OPERATOR = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_sdpa.set_work(0)


def tensors(n_q, n_k, dtype=torch.float32, B=2, H=3, D=16):
    torch.manual_seed(n_q)
    return [torch.randn(B, n, H, D, dtype=dtype).transpose(1, 2).requires_grad_() for n in (n_q, n_k, n_k)]


def computed(q, k, v, dout, **options):
    """Returns the result, the logarithms of the denominators, and the gradients."""
    out = F.scaled_dot_product_attention(q, k, v, **options)
    _, logarithms = OPERATOR(q.detach(), k.detach(), v.detach(), 0.0, options.get('is_causal', False),
                             scale=options.get('scale'))
    return [out, logarithms, *torch.autograd.grad(out, (q, k, v), dout)]


def count_calls(function):
    """Calls the function, and returns its result and how many kernels of attnc ran."""
    before = _sdpa.calls()
    return function(), _sdpa.calls() - before


@case
def pytorch_computes_the_same(folder):
    for dtype, limit in (torch.float32, 1e-5), (torch.float64, 1e-13), (torch.bfloat16, 4e-2), (torch.float16, 5e-3):
        for n_q, n_k, options in ((33, 33, {'is_causal': True}), (70, 45, {'is_causal': True}), (5, 50, {}),
                                  (45, 70, {'is_causal': True, 'scale': 0.3}), (1, 1, {}), (1, 40, {}), (64, 65, {'scale': 2.0})):
            arrays = tensors(n_q, n_k, dtype)
            dout = torch.randn(2, 3, n_q, 16, dtype=dtype)
            wanted = computed(*arrays, dout, **options)
            with attnc.torch.use():
                made, count = count_calls(lambda: computed(*arrays, dout, **options))
            is_backward = n_q > 1 or dtype.itemsize == 2
            check(count == 2 + is_backward, '%s, %d queries: %d kernels ran' % (dtype, n_q, count))
            for number, (one, two) in enumerate(zip(made, wanted)):
                largest = max(1, float(two.detach().abs().max()))
                close(one.detach().double(), two.detach().double(), limit * largest, '%s, %s x %s: %d' % (dtype, n_q, n_k, number))
                check(one.stride() == two.stride() and one.dtype == two.dtype, 'strides of %d' % number)


@case
def scales_share_a_kernel(folder):
    """A scale is a number of the call. 1 / sqrt(D) has the kernel of calls without one."""
    made, binding_of = [], _sdpa._binding_of
    for dtype, limit in (torch.float32, 2e-5), (torch.float64, 1e-13):
        q, k, v = tensors(30, 30, dtype, D=36)   # kernels that no other case has
        dout = torch.randn(2, 3, 30, 36, dtype=dtype)
        _sdpa._binding_of = lambda chosen, entries: made.append(chosen.scaled) or binding_of(chosen, entries)
        try:
            for scale in None, 36 ** -0.5, 0.3, 0.11, -0.2, 0.0, 1.0, 1e-3, 7, 0.25:
                wanted = computed(q, k, v, dout, scale=scale)
                with attnc.torch.use():
                    got, count = count_calls(lambda: computed(q, k, v, dout, scale=scale))
                check(count == 3, '%d kernels ran' % count)
                for number, (one, two) in enumerate(zip(got, wanted)):
                    largest = max(1, float(two.detach().abs().max()))
                    close(one.detach().double(), two.detach().double(), 3 * limit * largest, '%s, %s: %d' % (dtype, scale, number))
            for scale in float('nan'), float('inf'), *([1e39] if dtype is torch.float32 else []):
                with attnc.torch.use():
                    _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v, scale=scale))
                check(count == 0, '%s: %d kernels ran' % (scale, count))
        finally:
            _sdpa._binding_of = binding_of
    check(made == [0, 1, 0, 1], 'kernels were made for %s' % made)


INTERRUPTED = """
import signal, torch, attnc.torch
from torch.nn.functional import scaled_dot_product_attention as attend
from attnc import _multihead, _sdpa
_sdpa.set_work(0)
q = torch.randn(1, 2, 20, 44)
class Stop(BaseException): pass
def stop(number, frame): raise Stop('of the handler')
signal.signal(signal.SIGUSR1, stop)
def run(number):
    _sdpa._binding_of = lambda *call: signal.raise_signal(number)
    with attnc.torch.use():
        attend(q, q, q)
        for _ in range(1000): pass
for number in signal.SIGINT, signal.SIGUSR1:
    try: run(number)
    except (KeyboardInterrupt, Stop) as error: print(repr(error), [one.name for one in __import__('traceback').extract_tb(error.__traceback__)][-1])
    else: print('lost')
"""


@case
def interrupts_are_raised(folder):
    """If a signal comes while a kernel is compiled, PyTorch computes the call, and the exception is raised after it."""
    done = execute([sys.executable, '-c', INTERRUPTED])
    check(done.stdout.split('\n') == ["KeyboardInterrupt() <lambda>", "Stop('of the handler') stop", ''], done.stdout + done.stderr)


@case
def other_calls_are_of_pytorch(folder):
    q, k, v = (a.detach() for a in tensors(20, 20))
    mask = torch.rand(20, 20) < 0.5
    with attnc.torch.use():
        for options in {'attn_mask': mask}, {'attn_mask': mask.float()}:
            _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v, **options))
            check(count == 0, options)
        _sdpa.set_work(1 << 30)
        _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
        _sdpa.set_work(0)
        check(count == 0, 'a small call')


@case
def undo_restores_it(folder):
    q, k, v = (a.detach() for a in tensors(20, 20))
    before = F.scaled_dot_product_attention(q, k, v)
    used = attnc.torch.use()
    _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
    used.undo()
    used.undo()
    after, none = count_calls(lambda: F.scaled_dot_product_attention(q, k, v))
    check((count, none) == (1, 0) and torch.equal(before, after), '%d, then %d kernels' % (count, none))


@case
def modules_and_compiled_graphs_use_it(folder):
    torch.manual_seed(0)
    layer, x = torch.nn.MultiheadAttention(24, 3, batch_first=True), torch.randn(2, 20, 24)
    wanted, _ = layer(x, x, x, need_weights=False)
    compiled = torch.compile(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), fullgraph=True,
                             backend='aot_eager')
    q = tensors(20, 20)[0]
    expected = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    with attnc.torch.use():
        (made, _), count = count_calls(lambda: layer(x, x, x, need_weights=False))
        check(count == 1, '%d kernels of the module' % count)
        out, count = count_calls(lambda: compiled(q))
        check(count == 1, '%d kernels of the graph' % count)
        close(torch.autograd.grad(out.sum(), q)[0], torch.autograd.grad(expected.sum(), q)[0], 1e-5, 'gradients')
    close(made.detach(), wanted.detach(), 1e-5, 'the module')
    close(out.detach(), expected.detach(), 1e-5, 'the graph')


LIMITS = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 4e-2}


def weighing(dtype, batch_first=True, **more):
    """Returns a module, and arguments of calls for weights by what they have: a bool mask, or numbers for each head."""
    torch.manual_seed(5)
    layer = torch.nn.MultiheadAttention(24, 3, batch_first=batch_first, dtype=dtype, **more).eval().requires_grad_(False)
    q, k, v = (torch.randn(2, n, size, dtype=dtype) for n, size in ((20, 24), (33, layer.kdim), (33, layer.vdim)))
    padding = torch.arange(33) >= torch.tensor([[33], [21]])
    hidden = torch.rand(20, 33) < 0.4
    hidden[:, 0] = False   # PyTorch gives NaN where a query sees no key
    added = torch.randn(6, 20, 33, dtype=dtype).masked_fill(hidden, -torch.inf)
    numbers = torch.zeros(2, 33, dtype=dtype).masked_fill(padding, -torch.inf)
    inputs = [a if batch_first else a.transpose(0, 1) for a in (q, k, v)]
    return layer, inputs, {'no mask': {}, 'padding': {'key_padding_mask': padding}, 'hidden': {'attn_mask': hidden},
                           'both': {'key_padding_mask': padding, 'attn_mask': hidden}, 'numbers': {'attn_mask': added},
                           'numbers and padding': {'key_padding_mask': numbers, 'attn_mask': added}}


def count_weighed(function):
    """Calls the function, and returns its result and how many calls for weights kernels computed."""
    calls, attention = [], _multihead.attention
    _multihead.attention = lambda *call, **more: calls.append(call) or attention(*call, **more)
    try:
        return function(), len(calls)
    finally:
        _multihead.attention = attention


def same_weights(layer, inputs, options, why):
    dtype = inputs[0].dtype
    wanted = layer(*inputs, **options)
    with attnc.torch.use():
        made, count = count_weighed(lambda: layer(*inputs, **options))
    check(count == 1, '%s: %d kernels ran' % (why, count))
    for one, two in zip(made, wanted):
        check(one.dtype == dtype and one.shape == two.shape, '%s: %s, %s' % (why, one.dtype, one.shape))
        close(one.double(), two.double(), LIMITS[dtype], why)


@case
def modules_return_weights(folder):
    """Results and weights are those of nn.MultiheadAttention, averaged and for each head, also without a batch."""
    for dtype in LIMITS:
        layer, inputs, masks = weighing(dtype)
        for name, mask in masks.items():
            if dtype is not torch.float32 and name not in ('both', 'numbers and padding'): continue
            for average in True, False:
                same_weights(layer, inputs, {**mask, 'average_attn_weights': average}, '%s, %s' % (dtype, name))
    for more in {'batch_first': False}, {'kdim': 16, 'vdim': 12}, {'bias': False}:
        layer, inputs, masks = weighing(torch.float32, **more)
        same_weights(layer, inputs, masks['both'], str(more))
        alone = [a[0] if layer.batch_first else a[:, 0] for a in inputs]
        mask = {'attn_mask': masks['numbers']['attn_mask'][:3], 'key_padding_mask': masks['numbers and padding']['key_padding_mask'][1]}
        same_weights(layer, alone, mask, '%s, without a batch' % more)
    layer, inputs, _ = weighing(torch.float32)
    with attnc.torch.use():
        nothing = layer(*inputs, key_padding_mask=torch.ones(2, 33, dtype=torch.bool))
    check(not nothing[1].any() and torch.equal(nothing[0], layer.out_proj.bias.expand_as(nothing[0])), 'queries that see no key')
    check(torch.nn.MultiheadAttention.forward is _multihead.original, 'undo')


@case
def threads_get_their_weights(folder):
    import threading
    layer, inputs, masks = weighing(torch.float32)
    wanted = {name: layer(*inputs, **mask, average_attn_weights=False) for name, mask in masks.items()}
    wrong = []
    def run(name):
        for _ in range(10):
            made = layer(*inputs, **masks[name], average_attn_weights=False)
            wrong.extend(name for one, two in zip(made, wanted[name]) if not torch.allclose(one, two, atol=1e-5))
    with attnc.torch.use():
        threads = [threading.Thread(target=run, args=(name,)) for name in [*masks] * 2]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    check(not wrong, 'wrong weights: %s' % wrong)


@case
def pytorch_computes_other_weights(folder):
    """Those with gradients, dropout, torch.compile or vmap, and calls that are wrong."""
    layer, (q, k, v), masks = weighing(torch.float32)
    learns = copy.deepcopy(layer).requires_grad_(True)
    drops, zeros = torch.nn.MultiheadAttention(24, 3, 0.5).requires_grad_(False), torch.nn.MultiheadAttention(24, 3, add_zero_attn=True)
    compiled = torch.compile(layer, backend='eager', fullgraph=True)
    several = torch.vmap(lambda q: layer(q, k, v)[1])
    with attnc.torch.use():
        for name, function in (('gradients', lambda: learns(q, k, v)[1].square().sum().backward()), ('dropout', lambda: drops(q, q, q)),
                               ('zeros', lambda: zeros.requires_grad_(False)(q, q, q)), ('a graph', lambda: compiled(q, k, v)),
                               ('vmap', lambda: several(q[None])), ('autocast', lambda: autocast(layer, q, k, v)),
                               ('no weights', lambda: layer(q, k, v, need_weights=False))):
            _, count = count_weighed(function)
            check(count == 0, '%s: %d kernels ran' % (name, count))
        for options in {'attn_mask': torch.zeros(20, 32)}, {'key_padding_mask': torch.zeros(1, 33, dtype=torch.bool)}, {'is_causal': True}:
            try: layer(q, k, v, **options)
            except (RuntimeError, AssertionError): continue
            raise Failure('no error for %s' % options)
    check(learns.in_proj_weight.grad is not None, 'no gradient')


def autocast(layer, *inputs):
    with torch.autocast('cpu', torch.bfloat16): return layer(*inputs)


@case
def without_a_compiler_pytorch_computes(folder):
    import warnings
    q, k, v = (a.detach() for a in tensors(20, 20, D=12))   # a kernel that no other case has
    def fail(*call):
        raise attnc.CompilerError('no C compiler found')
    binding_of, _sdpa._binding_of = _sdpa._binding_of, fail
    with attnc.torch.use() as first, attnc.torch.use():
        first.undo()
    try:
        with attnc.torch.use(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            for causal in False, False, True:
                _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
                check(count == 0, '%d kernels ran' % count)
            _sdpa._binding_of = binding_of   # another kernel may be ready
            _, count = count_calls(lambda: F.scaled_dot_product_attention(q, k, v, scale=0.7))
            check(count == 1, 'a kernel that could be compiled did not run')
    finally:
        _sdpa._binding_of = binding_of
        _sdpa._failed.clear()
    check([str(w.message) for w in said] == ['attnc.torch.use(): PyTorch computes attention, because no C compiler found'], said)


@case
def kernels_of_a_wheel_need_no_statistics(folder):
    """Without a C compiler there are only the kernels of the wheel."""
    q, k, v = tensors(33, 20, D=28)   # a kernel that no other case has
    dout = torch.randn(2, 3, 33, 28)
    wanted = computed(q, k, v, dout)
    binding_of = _sdpa._binding_of
    def ready(chosen, entries):
        if 'statistics' in entries: raise attnc.CompilerError('no C compiler found')
        return binding_of(chosen, entries)
    _sdpa._binding_of = ready
    try:
        with attnc.torch.use():
            made, count = count_calls(lambda: computed(q, k, v, dout))
            _, few = count_calls(lambda: F.scaled_dot_product_attention(q[:, :, :3], k, v))
    finally:
        _sdpa._binding_of = binding_of
    check((count, few) == (3, 0), '%d kernels ran, and %d for few queries' % (count, few))
    for number, (one, two) in enumerate(zip(made, wanted)):
        close(one.detach(), two.detach(), 1e-5, 'number %d' % number)


@case
def uses_in_a_loop_keep_kernels(folder):
    """The second use of a kernel asks nothing of Python."""
    q, k, v = (a.detach() for a in tensors(20, 20))
    with attnc.torch.use(): F.scaled_dot_product_attention(q, k, v)
    choices, binding_of = [], _sdpa._binding_of
    _sdpa._binding_of = lambda *call: choices.append(call) or binding_of(*call)
    try:
        for _ in range(3):
            with attnc.torch.use(): F.scaled_dot_product_attention(q, k, v)
    finally:
        _sdpa._binding_of = binding_of
    check(not choices, '%d choices' % len(choices))


@case
def grouped_heads_are_computed(folder):
    torch.manual_seed(3)
    for H, G in (8, 2), (6, 6), (4, 1):
        q = torch.randn(2, H, 37, 24, requires_grad=True)
        k, v = (torch.randn(2, G, 37, 24, requires_grad=True) for _ in range(2))
        dout = torch.randn(2, H, 37, 24)
        def computed():
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return [out, *torch.autograd.grad(out, (q, k, v), dout)]
        wanted = computed()
        with attnc.torch.use():
            made, count = count_calls(computed)
        check(count == 2, '%d kernels ran' % count)
        for one, two in zip(made, wanted):
            close(one.detach(), two.detach(), 1e-5, '%d heads on %d' % (H, G))


@case
def views_and_gradients_of_sums(folder):
    """Strides that a kernel takes, and others that PyTorch takes."""
    torch.manual_seed(4)
    whole = torch.randn(3, 2, 50, 3, 32, requires_grad=True)
    views = {
        'rows of three': whole[..., 0, :], 'expanded heads': whole[:, :1, :, 0, :].expand(3, 2, 50, 32),
        'every second row': whole[:, :, ::2, 1, :], 'elements apart': whole[..., 0, ::2], 'one row': whole[:, :, :1, 2, :],
    }
    for name, q in views.items():
        def computed():
            out = F.scaled_dot_product_attention(q, q, q)
            return [out, *torch.autograd.grad(out.sum(), whole, retain_graph=True)]
        wanted = computed()
        with attnc.torch.use():
            made, count = count_calls(computed)
        check(count == {'elements apart': 0, 'one row': 1}.get(name, 2), '%s: %d kernels ran' % (name, count))
        for one, two in zip(made, wanted):
            close(one.detach(), two.detach(), 1e-4, name)


@case
def errors_are_errors(folder):
    """Errors of PyTorch's operator and of attnc reach the caller, and the next call works."""
    q, k, v = (a.detach() for a in tensors(20, 20, D=20))   # a kernel that no other case has
    binding_of = _sdpa._binding_of
    def fail(*call):
        raise ValueError('this shape is not liked')
    wanted = F.scaled_dot_product_attention(q, k, v)
    with attnc.torch.use():
        try:
            OPERATOR(q[0], k[0], v[0])
            raise Failure('no error for three axes')
        except RuntimeError as error:
            check('4' in str(error) or 'dim' in str(error), error)
        _sdpa._binding_of = fail
        try:
            F.scaled_dot_product_attention(q, k, v)
            raise Failure('no error of the compiler')
        except RuntimeError as error:
            check('ValueError: this shape is not liked' in str(error), error)
        finally:
            _sdpa._binding_of = binding_of
        close(F.scaled_dot_product_attention(q, k, v), wanted, 1e-5, 'after errors')


@case
def threads_call_it_at_once(folder):
    """Also the first calls of a kernel."""
    import threading
    q, k, v = (a.detach() for a in tensors(40, 40, D=48))
    scales = [0.1 * n for n in range(1, 9)]
    wanted = [F.scaled_dot_product_attention(q, k, v, scale=scale) for scale in scales]
    made, start = {}, threading.Barrier(4)
    def work(number):
        start.wait()
        for repeat in range(20):
            for n, scale in enumerate(scales):
                made[number, n] = F.scaled_dot_product_attention(q, k, v, scale=scale)
    with attnc.torch.use():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    for (number, n), out in made.items():
        close(out, wanted[n], 1e-5, 'thread %d, scale %d' % (number, n))


@case
def forked_processes_call_it(folder):
    """GNU's OpenMP would hang with several threads in a child of a process with threads."""
    q, k, v = (a.detach() for a in tensors(130, 130))
    with attnc.torch.use():
        wanted = F.scaled_dot_product_attention(q, k, v)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(F.scaled_dot_product_attention(q, k, v), wanted) else 1)
        end = time.monotonic() + 60
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            check(time.monotonic() < end, 'the child hangs')
            time.sleep(0.01)


if __name__ == '__main__':
    sys.exit(main(__doc__))
