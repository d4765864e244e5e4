"""Tests that models and threads do not disturb each other: prepare(), replace(), use() and torch.compile in one thread
while others compute, and what undo() puts back."""
import contextlib
import copy
import io
import os
import pickle
import threading

from common import *

os.environ['HF_HUB_OFFLINE'] = '1'

import torch
from torch.nn import functional as F

try:
    import transformers
except ImportError:
    print('skip sharing transformers is not installed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)

import attnc.torch
import attnc.transformers
from attnc import _sdpa
from models import *

transformers.logging.set_verbosity_error()
LONG = {'input_ids': ids(2, 150)}


def logits(model, given=LONG):
    with torch.no_grad():
        return model(**given).logits


def same(one, two, why):
    check(torch.equal(one, two), '%s: they differ by %g' % (why, float((one - two).abs().max())))


def near(one, two, why):
    apart = float((one - two).abs().max() / one.abs().max())
    check(apart <= 1e-4, '%s: they differ by %g of the largest' % (why, apart))


def vars_of(kind):
    """Returns what the module and the classes of the models have at present."""
    module = sys.modules[type(kind).__module__]
    made = {name: value for name, value in vars(module).items() if not name.startswith('__')}
    for name, value in list(made.items()):
        if isinstance(value, type):
            made[name] = value, dict(vars(value))
    return made


def in_threads(*functions):
    """Runs functions at the same time. Raises the first exception."""
    failures = []

    def run(function):
        try:
            function()
        except BaseException as failure:
            failures.append(failure)
    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if failures: raise failures[0]


def until(ended, function):
    def repeat():
        while not ended.is_set(): function()
    return repeat


@case
def prepare_while_others_run(folder):
    """prepare() in one thread changes no result of another: of the same model, or of other ones."""
    names = 'Llama', 'Mamba2', 'Qwen3Next', 'Bert'
    given = {name: {'input_ids': ids(2, 150)} if name in ('Mamba2', 'Qwen3Next') else inputs(name) for name in names}
    models = {name: model_of(name, 'eager' if name == 'Mamba2' else 'attnc') for name in names}
    wanted = {name: logits(model_of(name), given[name]) for name in names}
    for name in names: logits(models[name], given[name])  # compiles kernels
    ended = threading.Event()

    def runs(name):
        for _ in range(8): near(wanted[name], logits(models[name], given[name]), name)

    def prepares(name):
        with attnc.transformers.prepare(models[name]): pass

    def checked():
        try:
            in_threads(*(lambda name=name: runs(name) for name in names))
        finally:
            ended.set()
    in_threads(checked, until(ended, lambda: prepares('Llama')), until(ended, lambda: prepares('Mamba2')))


@case
def several_threads_run_prepared_models(folder):
    names = 'Mamba2', 'Qwen3Next', 'Mpt'
    models = [model_of(name, 'eager' if name == 'Mamba2' else 'attnc') for name in names]
    given = [inputs(name) if name == 'Mpt' else LONG for name in names]
    for model in models: attnc.transformers.prepare(model)
    wanted = [logits(model, one) for model, one in zip(models, given)]

    def run(number):
        for _ in range(6): same(wanted[number], logits(models[number], given[number]), names[number])
    in_threads(*(lambda number=number: run(number) for number in [0, 1, 2] * 2))


@case
def prepare_belongs_to_a_model(folder):
    """Two models of a class: one is prepared, and the other has the same bits before and after. So do the module and the
    classes of transformers."""
    for name in 'Mamba2', 'Qwen3Next', 'Mpt':
        kind = 'attnc' if name == 'Mpt' else 'eager'
        given = inputs(name) if name == 'Mpt' else LONG
        a, b, other = model_of(name, kind), model_of(name, kind), model_of(name)
        before, wanted, there = logits(other, given), logits(a, given), vars_of(a)
        prepared = attnc.transformers.prepare(b)
        check(vars_of(a) == there, name + ': the module or a class of transformers has changed')
        same(logits(other, given), before, name + ', the other model')
        same(logits(a, given), wanted, name + ', the model that is not prepared')
        made = logits(b, given)
        near(before, made, name)
        check(bool(prepared.layers) and prepared.model is b and len(prepared) >= 1, repr(prepared))
        check(torch.equal(made, before) == (kind == 'attnc') or kind == 'attnc', name + ' compares attnc with itself')
        check(prepared.undo() is b and prepared.layers == [], 'undo')
        same(logits(b, given), wanted, name + ', undone')
        prepared.undo()
        check(vars_of(a) == there and not any('_attnc_uses' in vars(layer) for layer in b.modules()
                                              if kind == 'eager'), name + ': something is left')
    check(attnc.transformers.prepare(model_of('Llama')) == [], 'kernels of an eager model')


@case
def prepare_draws_nothing(folder):
    """A model in training draws the same numbers after prepare()."""
    model = model_of('Llama', 'attnc', attention_dropout=0.3).train()
    model.model.embed_tokens = torch.nn.Sequential(model.model.embed_tokens, torch.nn.Dropout(0.5))
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    check(len(attnc.transformers.prepare(model)) == 1, 'its kernels')
    same(torch.rand(3), wanted, 'numbers after prepare()')


@case
def prepares_end_in_any_order(folder):
    for order in (0, 1), (1, 0):
        model = model_of('Mamba2')
        plain = logits(model)
        uses = [attnc.transformers.prepare(model) for _ in range(2)]
        prepared = logits(model)
        check(not torch.equal(plain, prepared), 'no kernel')
        uses[order[0]].undo()
        uses[order[0]].undo()
        same(logits(model), prepared, 'the other one still holds')
        uses[order[1]].undo()
        same(logits(model), plain, 'all undone')
    whole, part = model_of('Mamba2'), model_of('Mamba2')
    part.backbone.layers[0].mixer = whole.backbone.layers[0].mixer  # a layer of two models
    with attnc.transformers.prepare(whole):
        with attnc.transformers.prepare(part):
            prepared = logits(part)
        same(logits(whole), prepared, 'a layer of two models')
    same(logits(part), plain, 'undone')
    refuses(lambda: attnc.transformers.prepare(whole, input_ids=torch.tensor([[1000]])), IndexError, 'index out of range in self')
    same(logits(whole), plain, 'after a failure')


@case
def copies_of_prepared_models(folder):
    """A copy of a prepared model is prepared. undo() of the first does not reach it."""
    for name in 'Mamba2', 'Qwen3Next':
        model = model_of(name)
        plain = logits(model)
        prepared = attnc.transformers.prepare(model)
        made = logits(model)
        texts = pickle.dumps(model)
        torch.save(model, os.path.join(folder, 'model'))
        copies = copy.deepcopy(model), pickle.loads(texts), torch.load(os.path.join(folder, 'model'), weights_only=False)
        for one in copies: same(logits(one), made, name + ', a copy')
        prepared.undo()
        same(logits(model), plain, name)
        for one in copies: same(logits(one), made, name + ', a copy after undo()')
        check(all(type(one) is type(model) for one in copies), 'another class')
        check(pickle.dumps(model) != texts and b'attnc' not in pickle.dumps(model), 'something is left')


@case
def recurrences_follow_the_config(folder):
    """The recurrences of a model that asks for attnc use kernels, as long as it does."""
    model, eager = model_of('Qwen3Next', 'attnc'), model_of('Qwen3Next')
    plain, made = logits(eager), logits(model)
    check(not torch.equal(plain, made), 'no kernel')
    same(logits(eager), plain, 'an eager model')
    model.set_attn_implementation('eager')
    same(logits(model), plain, 'eager after attnc')
    model.set_attn_implementation('attnc')
    same(logits(model), made, 'attnc again')
    torch._dynamo.reset()
    graph = torch.compile(model_of('Qwen3Next', 'attnc'), fullgraph=True, backend='aot_eager')
    near(made, logits(graph, {**LONG, 'use_cache': False}), 'compiled')


@case
def a_thread_that_compiles(folder):
    """While a thread compiles, torch.compiler.is_compiling() is true in all threads. Others compute as before."""
    begun, may_end = threading.Event(), threading.Event()

    def backend(graph, _):
        begun.set()
        may_end.wait(60)
        return graph.forward

    def others():
        try:
            check(begun.wait(60) and torch.compiler.is_compiling(), 'nothing compiles')
            q, k, v = torch.randn(3, 1, 2, 9, 16).unbind()
            tangent = torch.func.jvp(lambda q: attnc.attention(q, k, v), (q,), (torch.ones_like(q),))[1]
            near(torch.func.jvp(lambda q: F.softmax(q @ k.mT / 4, -1) @ v, (q,), (torch.ones_like(q),))[1], tangent, 'tangent')
            model, before = Keeps(), F.scaled_dot_product_attention
            with contextlib.redirect_stderr(io.StringIO()):
                attnc.torch.replace(model, 'softmax_causal')
                model(q, k, v)
            check(model.seen is before, 'replace() has changed PyTorch')
            check(len(attnc.transformers.prepare(model_of('Llama', 'attnc'))) == 1, 'prepare')
        finally:
            may_end.set()
    torch._dynamo.reset()
    in_threads(lambda: torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3)), others)


class Keeps(torch.nn.Module):
    """Calls scaled_dot_product_attention, and keeps the function that it finds."""

    def __init__(self, breaks=False):
        super().__init__()
        self.breaks, self.seen = breaks, None

    def forward(self, q, k, v):
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if self.breaks: torch._dynamo.graph_break()
        self.seen = F.scaled_dot_product_attention
        return F.scaled_dot_product_attention(made, k, v, is_causal=True)


@case
def compiled_replacements_change_no_function(folder):
    """A compiled model with replaced attention leaves PyTorch's function as it is, also between its graphs, and also if
    others have patched it."""
    own, (q, k, v) = F.scaled_dot_product_attention, torch.randn(3, 1, 2, 9, 16).unbind()
    for breaks in False, True:
        torch._dynamo.reset()
        plain, model = Keeps()(q, k, v), Keeps(breaks)
        with contextlib.redirect_stderr(io.StringIO()):
            report = attnc.torch.replace(model, {'similarity': {'custom': {'weight': '(1 + s) * (1 + s)'}}, 'mask': 'causal'})
            wanted = model(q, k, v)
        check(not torch.allclose(plain, wanted), 'another weight changes nothing')
        graph = torch.compile(model, backend='aot_eager', fullgraph=not breaks)
        same(graph(q, k, v), wanted, 'compiled')
        check(model.seen is own and F.scaled_dot_product_attention is own, 'PyTorch has another function')
        F.scaled_dot_product_attention = mine = lambda *given, **more: own(*given, **more)
        try:
            graph(q, k, v)
            check(F.scaled_dot_product_attention is mine, 'the function of others is gone')
        finally:
            F.scaled_dot_product_attention = own
        report.undo()
        same(graph(q, k, v), plain, 'undone')


@case
def replacements_end_in_any_order(folder):
    layer, x = torch.nn.TransformerEncoderLayer(32, 4, 32, dropout=0.0), torch.randn(9, 2, 32)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    (q, k, v), keeps = torch.randn(3, 1, 2, 9, 16).unbind(), Keeps()

    def replace(one, spec='softmax'):
        with contextlib.redirect_stderr(io.StringIO()):
            return attnc.torch.replace(one, spec, masks='ignore', set={'similarity': {'softmax': {'scale': 0.01}}})
    with torch.no_grad():
        plain = model(x)
        for order in (0, 1), (1, 0):
            reports = replace(model.layers[0]), replace(model)
            made = model(x)
            check(not torch.allclose(made, plain), 'nothing is replaced')
            for number in order: reports[number].undo()
            same(model(x), plain, 'undone in the order %s' % (order,))
        first = replace(keeps, 'softmax_causal')
        second = replace(keeps, 'softmax_causal')  # takes the place of the first
        with contextlib.redirect_stderr(io.StringIO()):
            made = keeps(q, k, v)
        first.undo()
        same(keeps(q, k, v), made, 'the second one after undo() of the first')
        held = keeps.forward
        keeps.forward = lambda *given: held(*given)  # others hold the replaced forward()
        second.undo()
        second.undo()
        same(keeps(q, k, v), Keeps()(q, k, v), 'undone inside the forward() of others')
        report, other = replace(model), torch.nn.Identity()
        ours, model.layers[0].self_attn = model.layers[0].self_attn, other
        report.undo()
        check(model.layers[0].self_attn is other, 'undo() overwrites a module of others')
        model.layers[0].self_attn = ours
        same(model(x), plain, 'a module that others have kept')


@case
def threads_run_a_replaced_model(folder):
    """Several threads make the first calls of a replaced model. The report is complete, and other models are as before."""
    names = ['%d' % n for n in range(20)]
    model, other = torch.nn.Sequential(*(torch.nn.Sequential(Attends()) for _ in names)), Attends()
    x = torch.randn(1, 2, 9, 16)
    with contextlib.redirect_stderr(io.StringIO()):
        wanted = other(x)
        report = attnc.torch.replace(model, {'similarity': {'custom': {'weight': '(1 + s) * (1 + s)'}}, 'mask': 'causal'})
        in_threads(*[lambda: model(x)] * 4, *[lambda: same(other(x), wanted, 'another model')] * 4)
    check(sorted(report.replaced) == sorted(name + '.0' for name in names) and not report.left, repr(report))


class Attends(torch.nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@case
def contexts_of_threads(folder):
    """Two threads enter the same ContextParallel, and leave it in another order. Each is then where it was."""
    from attnc._context import parallel

    torch.distributed.init_process_group('gloo', init_method='file://' + os.path.join(folder, 'meet'), rank=0, world_size=1)
    try:
        outer, inner = (attnc.torch.ContextParallel() for _ in range(2))
        is_in, may_leave = threading.Event(), threading.Event()

        def first():
            with outer:
                with inner:
                    is_in.set()
                    check(may_leave.wait(60), 'the other thread does not end')
                check(parallel.now is outer, 'another context around it')
            check(parallel.now is None, 'a context is left')

        def second():
            check(is_in.wait(60), 'the other thread does not begin')
            try:
                inner.__enter__()
            finally:
                may_leave.set()
            while is_first.is_alive(): is_first.join(1)
            inner.__exit__(None, None, None)
            check(parallel.now is None, 'the context of another thread')
        failures = []
        is_first = threading.Thread(target=lambda: failures.append(caught(first)))
        is_first.start()
        second()
        check(failures == [None], str(failures))
    finally:
        torch.distributed.destroy_process_group()


def caught(function):
    try:
        function()
    except BaseException as failure:
        return str(failure)


@case
def use_after_a_failure(folder):
    """A use() that fails is none: the next one replaces PyTorch's operators."""
    q, before = torch.randn(1, 4, 256, 64), _sdpa._library

    def fails():
        raise RuntimeError('no library')
    _sdpa._library = fails
    try:
        refuses(attnc.torch.use, RuntimeError, 'no library')
    finally:
        _sdpa._library = before
    with attnc.torch.use():
        calls = _sdpa.calls()
        F.scaled_dot_product_attention(q, q, q)
        check(_sdpa.calls() == calls + 1, 'PyTorch has computed the call')


if __name__ == '__main__':
    sys.exit(main(__doc__))
