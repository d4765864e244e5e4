"""Tests repeated calls with PyTorch's tensors, which a library in C makes (runtime/python/tensors.c)."""
import contextlib
import threading

from common import *

import torch
import torch.utils.checkpoint

import attnc.torch
import attnc.transformers
from attnc import _autograd


def tensors(*shape, dtype=torch.float32):
    return [torch.randn(*shape, dtype=dtype) for _ in range(3)]


def leaves(inputs):
    return [a.detach().clone().requires_grad_() for a in inputs]


def is_recorded(out):
    return type(out.grad_fn).__name__ == '_RecordedBackward'


def raises(function, kind, words):
    try:
        function()
    except kind as error:
        check(words in str(error), str(error))
    else:
        check(False, 'no exception: %s' % words)


def near(one, two, why):
    apart = float((one - two).abs().max() / one.abs().max())
    check(apart < 1e-5, '%s: they differ by %g of the largest' % (why, apart))


def gradients(made, inputs, dout, **options):
    """Returns out and the gradients."""
    out = made(*inputs)
    return [out, *torch.autograd.grad(out, inputs, dout, **options)]


def exact(a, b, why):
    check(len(a) == len(b) and all(torch.equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b)), why)


@case
def later_calls_have_the_bits_of_the_first(folder):
    check(_autograd.library is not None, 'there is no library')
    for name in 'softmax_causal', 'linear_elu':
        for dtype, word in (torch.float32, 'f32'), (torch.float64, 'f64'), (torch.bfloat16, 'bf16'):
            made = small(name, dtype=word)
            for n in 1, 15, 16, 17:
                inputs, dout = leaves(tensors(2, 4, n, 8, dtype=dtype)), torch.randn(2, 4, n, 8).to(dtype)
                first = gradients(made, inputs, dout)
                for number in range(3):
                    later = gradients(made, inputs, dout)
                    check(is_recorded(later[0]), 'no record')
                    exact(later, first, '%s, %s, %d rows, call %d' % (name, word, n, number))
                with torch.no_grad():
                    exact([made(*inputs) for _ in range(3)], [first[0]] * 3, 'without gradients')


@case
def layouts_differ(folder):
    """A record serves only calls of the same layouts."""
    made = small('softmax_causal')
    base = torch.randn(2, 9, 4, 8)
    ways = [lambda a: a.transpose(1, 2), lambda a: a.transpose(1, 2).contiguous(), lambda a: a.transpose(1, 2)[:, :2],
            lambda a: a.transpose(1, 2)[:, :, 1:], lambda a: a.transpose(1, 2)[1:], lambda a: a.transpose(1, 2)[:1].expand(2, -1, -1, -1)]
    wanted = {}
    for _ in range(3):
        for number, way in enumerate(ways):
            inputs = [base.clone().requires_grad_() for _ in range(3)]
            views = [way(a) for a in inputs]
            dout = way(torch.ones_like(base)).contiguous()
            out = made(*views)
            result = [out, *torch.autograd.grad(out, inputs, dout)]
            exact(result, wanted.setdefault(number, result), 'layout %d' % number)
            close(out.detach(), made(*(a.detach().contiguous() for a in views)), 0, 'layout %d, contiguous' % number)
    raises(lambda: made(base.transpose(1, 2), base.transpose(1, 2), base.transpose(1, 2)[..., :4]), ValueError,
            'v has shape [2, 4, 9, 4]')
    raises(lambda: made(base.transpose(1, 2).double(), *[base.transpose(1, 2)] * 2), TypeError, 'q is float64')


@case
def some_gradients(folder):
    """Each set of wanted gradients has its own record. There are more sets than records."""
    made, inputs, dout = small('softmax_causal'), tensors(1, 2, 20, 8), torch.randn(1, 2, 20, 8)
    every = gradients(made, leaves(inputs), dout)
    for _ in range(3):
        for bits in range(1, 8):
            needs = [bool(bits >> k & 1) for k in range(3)]
            given = [a.clone().requires_grad_(need) for a, need in zip(inputs, needs)]
            out = made(*given)
            got = torch.autograd.grad(out, [a for a in given if a.requires_grad], dout)
            exact(got, [g for g, need in zip(every[1:], needs) if need], 'gradients %s' % needs)


@case
def gradients_of_any_layout(folder):
    made, inputs = small('softmax_causal'), leaves(tensors(1, 2, 20, 8))
    complex_ = torch.randn(1, 2, 20, 8, dtype=torch.complex64)
    for dout in (torch.ones(()).expand(1, 2, 20, 8), torch.randn(1, 20, 2, 8).transpose(1, 2), torch.randn(1, 2, 8, 20).mT,
                 complex_.conj().imag, torch._neg_view(torch.randn(1, 2, 20, 8))):
        wanted = gradients(small('softmax_causal', dtype='f64'), leaves(a.double() for a in inputs), dout.double())
        for _ in range(3):
            for one, two in zip(gradients(made, inputs, dout), wanted):
                close(one.detach(), two.detach().float(), 1e-5, 'dout with strides %s' % (dout.stride(),))
    q = torch._neg_view(inputs[0].detach())
    for _ in range(3):
        close(made(q, *inputs[1:]).detach(), made(-inputs[0].detach(), *inputs[1:]).detach(), 0, 'q is a negative view')


@case
def other_contexts(folder):
    made, inputs, dout = small('softmax_causal'), leaves(tensors(2, 2, 20, 8)), torch.randn(2, 2, 20, 8)
    wanted = [gradients(made, inputs, dout) for _ in range(3)][0]

    def copied(kept):  # hooks may return other strides
        return kept.movedim(0, -1).clone().movedim(-1, 0) if kept.dim() == 4 else kept
    with torch.autograd.graph.saved_tensors_hooks(copied, lambda kept: kept):
        out = made(*inputs)
    for one, two in zip(torch.autograd.grad(out, inputs, dout), wanted[1:]):
        close(one, two, 1e-5, 'hooks')
    count = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: count.append(1) or kept):
        out = made(*inputs)
    exact(torch.autograd.grad(out, inputs, dout), wanted[1:], 'counted hooks')
    check(len(count) == 5, '%d tensors were unpacked' % len(count))
    out = torch.utils.checkpoint.checkpoint(made, *inputs, use_reentrant=False)
    exact(torch.autograd.grad(out, inputs, dout), wanted[1:], 'checkpoint')
    gradient, = torch.autograd.grad(made(*inputs).square().sum(), inputs[:1], create_graph=True)
    raises(lambda: gradient.sum().backward(), RuntimeError, 'attnc has no second derivatives')
    raises(lambda: torch.func.grad(lambda q: made(q, *inputs[1:]).sum())(inputs[0]), RuntimeError, '')
    out = made(*inputs)
    batched = torch.func.vmap(lambda one: torch.autograd.grad(out, inputs, one, retain_graph=True))(torch.stack([dout, dout]))
    for one, two in zip(batched, wanted[1:]):
        close(one[1], two, 1e-5, 'vmap')
    close(torch.func.vmap(made)(*(torch.stack([a.detach()] * 2) for a in inputs))[1], wanted[0].detach(), 0, 'vmap')
    with torch.autocast('cpu', dtype=torch.bfloat16):
        check(made(*inputs).dtype == torch.bfloat16, 'autocast')
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(inputs[0].detach(), inputs[0].detach())
        out = torch.autograd.forward_ad.unpack_dual(made(dual, *inputs[1:]))
        check(out.tangent is not None and out.tangent.shape == out.primal.shape, 'a dual tensor')
    with torch.inference_mode():
        exact([made(*inputs)], wanted[:1], 'inference_mode')
    copy = inputs[1] * 1
    out = made(inputs[0], copy, inputs[2])
    copy.add_(1)
    raises(lambda: out.sum().backward(), RuntimeError, 'modified by an inplace operation')
    out = made(*inputs)
    out.sum().backward()
    raises(lambda: out.sum().backward(), RuntimeError, 'backward through the graph a second time')


def formula(q, k, v, slopes, factor, table, seen, shift):
    return attnc.attention(q, k, v, score='s - slopes[h] * (i - j) * factor + table[row][j]', mask='seen[b][row][j] && i >= j - shift',
                           arrays={'slopes': slopes, 'factor': factor, 'table': table, 'seen': seen, 'shift': shift})


@case
def arrays_and_numbers(folder):
    """Calls with the same layouts of arrays share a record. They take their own numbers."""
    n = 21
    inputs, dout = leaves(tensors(2, 4, n, 8)), torch.randn(2, 4, n, 8)
    tables = [torch.randn(n, n), torch.randn(n, n).T, torch.randn(2 * n)[::2].expand(n, n)]
    for table in tables:
        wanted = {}
        for learned in [(True, True), (True, False), (False, True), (False, False)] * 3:
            for factor, shift in (0.5, 3), (2, 0), (torch.tensor(0.25), 1):
                slopes, given = torch.arange(4.0).requires_grad_(learned[0]), table.clone() if table is tables[0] else table
                given.requires_grad_(learned[1])
                seen = torch.arange(2 * n * n).view(2, n, n) % 3 > 0
                out = formula(*inputs, slopes, factor, given, seen, shift)
                each = [*inputs, *(a for a in (slopes, given) if a.requires_grad)]
                result = [out, *torch.autograd.grad(out, each, dout)]
                first = wanted.setdefault((learned, float(factor), shift), (result, type(out.grad_fn)))
                exact(result, first[0], 'learned %s, factor %s, table with strides %s' % (learned, factor, table.stride()))
                with torch.no_grad():
                    exact([formula(*inputs, slopes, factor, given, seen, shift)], result[:1], 'without gradients')
            table.requires_grad_(False)
        check(len({str(float(result[0].detach().abs().sum())) for result, _ in wanted.values()}) == 3, 'numbers are not taken')
        check(is_recorded(out), 'no record')
    kernel = next(made for key, made in attnc._formula._formulas.items() if 'slopes[h]' in str(key[1]))
    kernel._records[0].clear()
    by_python = formula(*inputs, slopes, factor, given, seen, shift)
    check(not is_recorded(by_python) and torch.equal(by_python, out), 'Python code gives other results')


@case
def errors_of_later_calls(folder):
    """A call that is wrong has no record, so that Python code reports its error."""
    made = small('polysketch_r32')
    inputs, keywords = leaves(tensors(1, 2, 20, 8)), [p.keyword for p in made.parameters]
    random = {w: torch.from_numpy(a) for w, a in made.init(1, heads=2).items()}
    for _ in range(3):
        out = made(*inputs, **random)
    check(is_recorded(out), 'no record')
    raises(lambda: made(*inputs, **{w: a.clone().requires_grad_() for w, a in random.items()}), ValueError, 'requires gradients')
    raises(lambda: made(*inputs, **{w: a.double() for w, a in random.items()}), TypeError, 'float64')
    raises(lambda: made(*inputs), ValueError, 'needs seed=')
    close(made(*inputs, seed=1).detach(), out.detach(), 0, 'a seed in place of %s' % keywords)


@case
def threads_share_records(folder):
    made = small('softmax_causal')
    problems = [(leaves(tensors(1, 2, n, 8)), torch.randn(1, 2, n, 8)) for n in range(20, 32)]  # more than records
    wanted, failed = [gradients(made, *problem) for problem in problems], []

    def work(first):
        for number in range(first, first + 300):
            problem = number % len(problems)
            if not all(map(torch.equal, gradients(made, *problems[problem]), wanted[problem])):
                failed.append(problem)
    workers = [threading.Thread(target=work, args=(5 * number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    check(not failed, 'wrong: %s' % failed[:5])
    count = torch.get_num_threads()
    try:
        for number in 1, 2, 1:
            torch.set_num_threads(number)
            exact(gradients(made, *problems[0]), wanted[0], '%d threads' % number)
    finally:
        torch.set_num_threads(count)


@case
def a_forked_process_makes_its_own_records(folder):
    program = '''
import os, torch, attnc, attnc.torch
torch.set_num_threads(1)
made = attnc.kernel("softmax_causal", set={"shape.head_dim": 8})
q, k, v = (torch.randn(1, 2, 9, 8, requires_grad=True) for _ in range(3))
names = lambda: [type(made(q, k, v).grad_fn).__name__ for _ in range(2)]
assert names() == ["_AttendBackward", "_RecordedBackward"], "parent"
out = made(q, k, v)
if os.fork() == 0:
    out.sum().backward()
    os._exit(0 if names() == ["_AttendBackward", "_RecordedBackward"] else 1)
os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
'''
    done = execute([sys.executable, '-c', program], timeout=120)
    check(done.returncode == 0, done.stderr)


@contextlib.contextmanager
def counting():
    """Yields a list that gets an element for each call that Python code checks."""
    calls, original = [], attnc._call.Binding._forward
    attnc._call.Binding._forward = lambda *a, **more: (calls.append(1), original(*a, **more))[1]
    try:
        yield calls
    finally:
        attnc._call.Binding._forward = original


@case
def numbers_of_keys_grow(folder):
    """Without gradients, a record serves all numbers of keys, and keys and values of all strides."""
    lengths = 5, 1, 6, 2, 33, 64, 65, 5
    whole = tensors(2, 2, 70, 8)

    def with_arrays(q, k, v):
        n = k.shape[2]
        slopes, of_keys, kept = torch.arange(4.0), table[:, :n].contiguous(), seen[:, :, :n].contiguous()
        if not isinstance(k, torch.Tensor): slopes, of_keys, kept = slopes.numpy(), of_keys.numpy(), kept.numpy()
        return formula(q, k, v, slopes, 0.5, of_keys, kept, n - 3)

    table, seen = torch.randn(3, 70), torch.arange(2 * 3 * 70).view(2, 3, 70) % 3 > 0
    made = {'softmax': small('softmax'), 'linear': small('linear_elu', mask='none'), 'causal': small('linear_elu'),
            'arrays': with_arrays}
    for name, kernel in made.items():
        q = torch.randn(2, 4, 3, 8)
        with counting() as calls:
            for n in lengths:
                k, v = whole[0][:, :, :n], whole[1][:, :, :n]
                rows_first = v.transpose(1, 2).contiguous().transpose(1, 2)
                results = [kernel(q, k, v), kernel(q, k.contiguous(), v), kernel(q, k, rows_first)]
                by_numpy = torch.from_numpy(kernel(q.numpy(), k.numpy(), v.numpy()))
                exact(results, [by_numpy] * 3, '%s, %d keys' % (name, n))
        check(len(calls) <= 1 + len(lengths), '%s: %d calls were checked' % (name, len(calls)))
    raises(lambda: made['softmax'](q, *tensors(2, 2, 9, 8)[:1], tensors(2, 2, 7, 8)[0]), ValueError, 'n_k')


@case
def tokens_share_a_plan(folder):
    """Queries that see all keys, whose number grows with each token."""
    from attnc._model_attention import attention, plainly
    from attnc._model_mask import bounded, FAR
    module = torch.nn.Module()
    module.is_causal = True
    plans = set()

    def compare(q, k, v, mask, bias):
        made = attention(module, q, k, v, mask, scaling=0.3, position_bias=bias)[0]
        bias = None if bias is None else bias[..., :k.shape[2]]
        near(plainly(q, k, v, mask or bounded(2, 1, k.shape[2], 0, FAR, FAR), 0.3, None, None, bias, 0.0)[0], made,
             '%d keys, mask: %s' % (k.shape[2], mask))

    def rows(n, heads, order):
        """Keys or values in memory of more tokens than n, or with heads after tokens."""
        if order == 'padded':
            return torch.randn(2, heads, n + 3, 16)[:, :, 1:n + 1]
        a = torch.randn(2, n, heads, 16)
        return a.transpose(1, 2) if order == 'rows first' else a.transpose(1, 2).contiguous()

    with counting() as calls:
        for mode in torch.no_grad, torch.inference_mode, torch.enable_grad:
            with mode():
                for n in 3, 1, 2, 70, 64, 5:
                    for order in 'contiguous', 'padded', 'rows first':
                        q, k, v = torch.randn(2, 4, 1, 16), rows(n, 2, order), rows(n, 2, order)
                        mask = bounded(2, 1, n, n - 1, FAR, 0)
                        plans.update((id(mask.plans), id(bounded(2, 1, n, n - 1, FAR, FAR).plans)))
                        for bias in (None, torch.randn(1, 4, 1, n), torch.randn(1, 4, 1, n + 3), torch.randn(1, 1, 1, n)):
                            compare(q, k, v, None, bias)
                            compare(q, k, v, mask, bias)
                            if bias is not None:
                                bias.mul_(2)
                                compare(q, k, v, mask, bias)
    check(len(plans) == 2, '%d sets of plans' % len(plans))  # those of inference mode are separate
    check(_autograd.library is None or len(calls) < 20, '%d calls were checked' % len(calls))
    with torch.no_grad():
        mask, other = bounded(2, 1, 9, 8, 4, 0), bounded(2, 1, 9, 2, FAR, 0)  # a window, and a cache with spare rows
        for each in mask, other:
            compare(torch.randn(2, 4, 1, 16), rows(9, 2, 'padded'), rows(9, 2, 'padded'), each, None)
            check(id(each.plans) not in plans, 'a mask that hides keys shares the plans of one that does not')


@case
def calls_that_a_record_cannot_repeat(folder):
    """Layouts that kernels do not read in place, and gradients."""
    from attnc._model_attention import attention
    module = torch.nn.Module()
    module.is_causal = False
    ours = lambda q, k, v: attention(module, q, k, v, None)[0].transpose(1, 2)
    theirs = torch.nn.functional.scaled_dot_product_attention
    q, k, v = torch.randn(2, 4, 1, 16), torch.randn(2, 4, 9, 16), torch.randn(2, 4, 9, 16)
    with torch.no_grad():
        for _ in range(2):
            near(theirs(q, k, v), ours(q, k, v), 'as they are')
        for name, a, b in (('columns apart', k.transpose(2, 3).contiguous().transpose(2, 3), v),
                           ('one row for all', k[:, :, :1].expand(2, 4, 9, 16), v[:, :, :1].expand(2, 4, 9, 16)),
                           ('one head for all', k[:, :1].expand(2, 4, 9, 16), v[:, :1].expand(2, 4, 9, 16)),
                           ('fewer heads', k[:, :2], v[:, :2])):
            near(theirs(q, a, b, enable_gqa=True), ours(q, a, b), name)
        try:
            ours(q, torch._neg_view(k), v)
            check(False, 'no exception for a negative view')
        except ValueError as error:
            check('resolve_neg' in str(error), str(error))
    keys = k.clone().requires_grad_()
    made = [torch.autograd.grad(f(q, keys, v).square().sum(), keys)[0] for f in (theirs, ours)]
    near(*made, 'gradients')


@case
def exceptions_are_not_lost(folder):
    """A mode of PyTorch makes its functions call Python. Whichever of these calls raises, the caller gets the exception."""
    from torch.overrides import TorchFunctionMode
    made, numbers = small('softmax_causal', similarity='{softmax: {scale: 1, modify: "s * c"}}',
                          arrays='{c: {shape: []}}'), {'c': 0.3}
    inputs = leaves(tensors(1, 2, 5, 8))
    class Stop(TorchFunctionMode):
        def __init__(self, count, kind):
            super().__init__()
            self.count, self.kind = count, kind

        def __torch_function__(self, function, types, args=(), words=None):
            self.count -= 1
            if self.count == 0: raise self.kind('here')
            return function(*args, **(words or {}))
    for grad in True, False:
        with torch.set_grad_enabled(grad):
            for _ in range(3): made(*inputs, **numbers)
            for kind in KeyboardInterrupt, ValueError:
                for count in range(1, 100):
                    mode = Stop(count, kind)
                    try:
                        with mode: made(*inputs, **numbers)
                    except kind as error:
                        check(str(error) == 'here', error)
                    else:
                        break
                check(mode.count > 0, '%s of call %d was lost' % (kind.__name__, count))
                check(count > 5, 'only %d calls' % count)
    near(made(*inputs, **numbers), made(*inputs, c=0.3), 'after them')


if __name__ == '__main__':
    sys.exit(main(__doc__))
