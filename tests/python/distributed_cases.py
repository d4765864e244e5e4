"""Tests attnc.torch.ContextParallel with processes over gloo: results and gradients are those of one process."""
from common import *

import copy
import datetime
import pickle
import time
import traceback
import warnings

import torch
import torch.distributed as dist

import attnc.torch

torch.set_num_threads(1)
LIMIT = 100   # seconds until a process is ended
RUNS = {1: (65,), 2: (23, 42), 3: (30, 0, 35), 4: (0, 40, 1, 24), 7: (9, 0, 16, 1, 20, 12, 7)}


def in_processes(count, folder, function):
    """Runs function(rank) in processes. Raises a Failure for exceptions in them. They are forked, because PyTorch takes
    seconds to import."""
    children = []
    for rank in range(count):
        child = os.fork()
        if not child:
            status = 1
            try:
                dist.init_process_group('gloo', init_method='file://' + os.path.join(folder, 'meeting'), rank=rank,
                                        world_size=count, timeout=datetime.timedelta(seconds=60))
                function(rank)
                status = 0
            except BaseException:
                with open(os.path.join(folder, 'error%d' % rank), 'w') as file:
                    traceback.print_exc(file=file)
            finally:
                os._exit(status)
        children.append(child)
    end, left = time.monotonic() + LIMIT, set(children)
    while left and time.monotonic() < end:
        left -= {child for child in left if os.waitpid(child, os.WNOHANG)[0]}
        time.sleep(0.02)
    for child in left:
        os.kill(child, 9)
        os.waitpid(child, 0)
    said = [open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder)) if name.startswith('error')]
    check(not left and not said, '%d processes did not end\n%s' % (len(left), '\n'.join(said)))


def kernels():
    """Returns kernels, each with its arrays for n tokens."""
    def gates(n, rng):
        return {'gate': -torch.rand(2, 4, n, generator=rng), 'beta': torch.rand(2, 4, n, generator=rng)}
    window = small('softmax_causal', mask='{window: {left: 9}}')
    def ids(n, rng):
        return {'document': torch.arange(n, dtype=torch.int32).div(17, rounding_mode='floor').expand(2, n).contiguous()}
    softmax = {'similarity': {'softmax': {}}, 'mask': 'causal'}
    return {'packed': (small(softmax | {'name': 'packed', 'mask': {'all': ['causal', 'document']}}), ids),
            'padded': (small(softmax | {'name': 'padded', 'mask': 'lengths'}), lambda n, rng: {
                'lengths': torch.tensor([n - 9, 21], dtype=torch.int32)}),
            'prefix': (small(softmax | {'name': 'prefixed', 'mask': {'any': ['causal', {'prefix': {'length': 33}}]}}),
                       lambda n, rng: {}),
            'sink': (small(softmax | {'name': 'sunk', 'normalize': {'sink': 'logit[h]'}, 'arrays': {
                'logit': {'shape': ['H'], 'learned': True}}}), lambda n, rng: {'logit': torch.rand(4, generator=rng)}),
            'forgetting': (small('forgetting'), lambda n, rng: {'gate': -torch.rand(2, 4, n, generator=rng)}),
            'linear': (small('linear_elu', block=8), lambda n, rng: {}),
            'hedgehog': (small('hedgehog'), lambda n, rng: {
                word: torch.from_numpy(a) for word, a in small('hedgehog').init(1, heads=4, kv_heads=4).items()}),
            'gated': (small('gla', decay="{log: 'gate[b][h][t]'}", arrays="{gate: {shape: [B, H, Nk]}}"), lambda n, rng: {
                'gate': -torch.rand(2, 4, n, generator=rng)}),
            'local': (small('polysketch_learned_r32_local', block=8, similarity="{polysketch: {degree: 4, sketch: 4, map: "
                            "learned, local: exact}}"), lambda n, rng: {
                word: torch.from_numpy(a) for word, a in small(
                    'polysketch_learned_r32_local', block=8, similarity="{polysketch: {degree: 4, sketch: 4, map: learned, "
                    "local: exact}}").init(1, heads=4, kv_heads=2).items()}),
            'whole': (small('linear_elu', mask='none'), lambda n, rng: {}),
            'keys': (small('linear_elu', mask='lengths', prepare='[rope]'), lambda n, rng: {
                'lengths': torch.tensor([n - 9, 21], dtype=torch.int32)}),
            'padded states': (small('linear_elu', mask='{all: [causal, lengths]}', block=8), lambda n, rng: {
                'lengths': torch.tensor([n - 9, 21], dtype=torch.int32)}),
            'opened': (small('linear_elu', mask='{any: [causal, {prefix: {length: 33}}]}', algorithm='linear', prepare='[rope]'),
                       lambda n, rng: {}),
            'weighted': (small({'name': 'weighted', 'similarity': {'custom': {'weight': '(1 + s) * (1 + s) * far[b][g][j]'}},
                                'algorithm': 'linear', 'arrays': {'far': {'shape': ['B', 'G', 'Nk']}}}), lambda n, rng: {
                'far': torch.rand(2, 2, n, generator=rng)}),
            'rotated': (small('linear_elu', block=8, prepare='[rope]'), lambda n, rng: {}),
            'sums': (small({'name': 'two_sums', 'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal',
                            'scores': {'r': {'key': 'k2'}}, 'output': 'a - lam[h] * c', 'sums': {
                                'a': {}, 'c': {'similarity': {'custom': {'weight': '0.1 * r'}}, 'normalize': 'none'}},
                            'arrays': {'k2': {'shape': ['B', 'G', 'Nk', 'D']}, 'lam': {'shape': ['H'], 'learned': True}}}),
                     lambda n, rng: {'k2': torch.randn(2, 2, n, 8, generator=rng), 'lam': torch.rand(4, generator=rng)}),
            'delta': (small('gated_deltanet'), gates),
            'bias': (small({'name': 'bias', 'similarity': {'softmax': {'modify': 's - slope[h] * (i - j)'}}, 'mask': 'causal',
                            'arrays': {'slope': {'shape': ['H'], 'type': 'real', 'learned': True}}}),
                     lambda n, rng: {'slope': torch.rand(4, generator=rng)}),
            'document': (small('linear_elu', mask='{all: [causal, document]}', algorithm='linear', block=8),
                         lambda n, rng: {'document': torch.arange(n, dtype=torch.int32).div(17, rounding_mode='floor')
                                         .expand(2, n).contiguous()}),
            'prefix of keys': (small({'name': 'prefix_of_keys', 'similarity': {'softmax': {'modify': 's + far[b][g][j]'}},
                                      'mask': {'any': ['causal', {'prefix': {'length': 60}}]},
                                      'arrays': {'far': {'shape': ['B', 'G', 'Nk']}}}), lambda n, rng: {
                'far': torch.randn(2, 2, n, generator=rng)}),
            'pairs': (small({'name': 'pairs', 'similarity': {'softmax': {'modify': 's + near[h][row][j] + far[b][g][j]'}}, 'mask': 'causal',
                             'arrays': {'near': {'shape': ['H', 'Nq', 'Nk']}, 'far': {'shape': ['B', 'G', 'Nk']}}}), lambda n, rng: {
                'near': torch.randn(4, n, n, generator=rng), 'far': torch.randn(2, 2, n, generator=rng)}),
            'queries': (small({'name': 'queries', 'similarity': {'softmax': {'modify': 's * warm[b][row]'}}, 'mask': {'window': {'left': 20}},
                               'normalize': {'sink': 'out_of[h][row]'}, 'arrays': {
                                   'warm': {'shape': ['B', 'Nq']}, 'out_of': {'shape': ['H', 'Nq']}}}), lambda n, rng: {
                'warm': torch.randn(2, n, generator=rng), 'out_of': torch.randn(4, n, generator=rng)}),
            'undivided': (small({'name': 'undivided', 'similarity': {'custom': {'weight': 'exp(0.1 * s) * far[b][g][j]'}}, 'normalize': 'none',
                                 'mask': 'causal', 'arrays': {'far': {'shape': ['B', 'G', 'Nk']}}}), lambda n, rng: {
                'far': torch.randn(2, 2, n, generator=rng)}),
            'causal': (small('softmax_causal'), lambda n, rng: {}), 'window': (window, lambda n, rng: {})}


def parts(tensor, axis, runs, rank):
    return tensor.narrow(axis, sum(runs[:rank]), runs[rank])


def rows_of(kernel, word):
    """Returns the axis of queries of an array, or that of keys, or None."""
    shape = next(p.shape for p in kernel.parameters if p.keyword == word)
    return next((shape.index(rows) for rows in ('n_q', 'n_k') if rows in shape), None)


def gradients(kernel, inputs, given, dout, context=None):
    """Returns the result and all gradients."""
    leaves = [a.clone().requires_grad_(a.is_floating_point()) for a in (*inputs, *given.values())]
    if context is None:
        out = kernel(*leaves[:3], **dict(zip(given, leaves[3:])))
    else:
        with context:
            out = kernel(*leaves[:3], **dict(zip(given, leaves[3:])))
    return out.detach(), torch.autograd.grad(out, [a for a in leaves if a.requires_grad], dout)


def compare(name, kernel, arrays_of, runs, rank, parallel):
    rng, n = torch.Generator().manual_seed(5), sum(runs)
    groups = 4 if name in ('delta', 'hedgehog') else 2
    inputs = [torch.randn(2, heads, n, 8, generator=rng) for heads in (4, groups, groups)]
    given, dout = arrays_of(n, rng), torch.randn(2, 4, n, 8, generator=rng)
    wanted, of_all = gradients(kernel, inputs, given, dout)
    axes = [2, 2, 2, *(rows_of(kernel, word) for word in given)]
    mine = [a if axis is None else parts(a, axis, runs, rank) for a, axis in zip((*inputs, *given.values()), axes)]
    out, made = gradients(kernel, mine[:3], dict(zip(given, mine[3:])), parts(dout, 2, runs, rank), parallel)
    close(out, parts(wanted, 2, runs, rank), 1e-5 * max(1, float(wanted.abs().max())), name)
    axes = [axis for axis, a in zip(axes, (*inputs, *given.values())) if a.is_floating_point()]
    for number, (one, two, axis) in enumerate(zip(made, of_all, axes)):
        if axis is None:
            dist.all_reduce(one)   # the sum over processes
        else:
            two = parts(two, axis, runs, rank)
        close(one, two, 1e-4 * max(1, float(two.abs().max()) if two.numel() else 1), '%s: gradient %d' % (name, number))


@case
def copies_are_for_the_same_processes(folder):
    def work(rank):
        parallel = attnc.torch.ContextParallel()
        check(copy.deepcopy(parallel(torch.nn.Identity()))._context is parallel and copy.copy(parallel) is parallel, 'a copy')
        refuses(lambda: pickle.dumps(parallel), TypeError, 'a ContextParallel belongs to its processes and cannot be pickled: …')
    in_processes(1, folder, work)


@case
def processes_compute_what_one_computes(folder):
    made = kernels()
    for kernel, _ in made.values():   # compiled here, not in each process
        kernel._with_ranks()
        kernel._with_gradients()
        kernel._with_rank_gradients()
    of_sums = {name for name, (kernel, _) in made.items() if kernel._with_ranks().has_sums()}
    served = {name for name, (kernel, _) in made.items() if kernel._with_rank_gradients()}
    check(served & of_sums == {'linear', 'hedgehog', 'gated', 'local', 'rotated', 'sums', 'delta', 'document'},
          'the chain')
    check(served - of_sums == {'bias', 'causal', 'forgetting', 'window', 'packed', 'padded', 'prefix',
                                                                                      'sink', 'whole', 'keys', 'weighted', 'padded states', 'opened', 'prefix of keys', 'pairs', 'queries',
                                                                                      'undivided'},
          'the ring')
    for count, runs in RUNS.items():
        def work(rank):
            parallel = attnc.torch.ContextParallel()
            for name, (kernel, arrays_of) in made.items():
                compare(name, kernel, arrays_of, runs, rank, parallel)
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        in_processes(count, place, work)


@case
def no_process_gets_all_keys(folder):
    made, runs = kernels(), (24, 0, 16, 32)
    names = 'linear', 'hedgehog', 'local', 'gated', 'rotated', 'delta', 'whole', 'keys', 'weighted', 'padded states', 'opened', 'document', 'prefix of keys', 'pairs', 'queries', 'undivided'
    for name in names:   # compiles here, not in each process
        made[name][0]._with_rank_gradients(), made[name][0]._with_gradients()

    def work(rank):
        parallel = attnc.torch.ContextParallel()
        def gathered(*_): raise AssertionError('a process gets the keys of others')
        parallel._backward_of_all_keys = gathered
        for name in names: compare(name, *made[name], runs, rank, parallel)
        parallel = attnc.torch.ContextParallel(foldable=True)
        for name in 'whole', 'keys', 'opened': compare(name, *made[name], runs, rank, parallel)
    in_processes(4, folder, work)


@case
def states_that_processes_sum_apart_can_be_joined(folder):
    linear, runs = small('linear_elu', block=8), (24, 16, 32)
    linear._with_ranks()

    def work(rank):
        rng = torch.Generator().manual_seed(5)
        inputs = [torch.randn(2, heads, sum(runs), 8, generator=rng) for heads in (4, 2, 2)]
        wanted, mine = linear(*inputs), [parts(a, 2, runs, rank) for a in inputs]
        made = []
        for foldable in False, True:
            with attnc.torch.ContextParallel(foldable=foldable): made.append(linear(*mine))
            close(made[-1], parts(wanted, 2, runs, rank), 1e-5 * float(wanted.abs().max()), 'foldable: %s' % foldable)
        check(rank < 2 or not torch.equal(*made), 'foldable changes nothing')
    in_processes(3, folder, work)


@case
def processes_take_stored_keys(folder):
    made = [small('linear_elu', storage='{k: f16, v: i8}', mask=mask, **more)
            for mask in ('causal', 'none', '{all: [causal, lengths]}') for more in ({'block': 8}, {'algorithm': 'quadratic'})]
    for kernel in made: kernel._with_ranks()
    check([kernel._with_ranks().has_key_sums() for kernel in made] == [True, False] * 3, 'sums')
    for count in 3, 7:
        def work(rank):
            rng, runs, parallel = torch.Generator().manual_seed(5), RUNS[count], attnc.torch.ContextParallel()
            q, k, v = [torch.randn(2, heads, sum(runs), 8, generator=rng) for heads in (4, 2, 2)]
            inputs = q, k.half(), attnc.quantize(v, 'i8').rows
            for kernel in made:
                given = {p.keyword: torch.tensor([50, 21], dtype=torch.int32) for p in kernel.parameters}
                with parallel: out = kernel(*[parts(a, 2, runs, rank) for a in inputs], **given)
                close(out, parts(kernel(*inputs, **given), 2, runs, rank), 1e-5, repr(kernel))
                with parallel: said = raised(lambda: kernel(inputs[0].requires_grad_(), *inputs[1:], **given))
                check(said is not None and 'have no gradients' in said[1], said)
                inputs[0].requires_grad_(False)
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        in_processes(count, place, work)


@case
def processes_have_elements_of_blocks_of_queries(folder):
    kernel = small({'name': 'blocked', 'similarity': {'softmax': {'modify': 's * warm[h][row / 8] + near[row / 4][j]'}}, 'mask': 'causal',
                    'arrays': {'warm': {'shape': ['H', 'Nq / 8']}, 'near': {'shape': ['Nq / 4', 'Nk']}}})
    kernel._with_ranks()

    def work(rank):
        rng, runs = torch.Generator().manual_seed(5), (0, 40, 8, 17)
        q, k, v = [torch.randn(2, heads, 65, 8, generator=rng) for heads in (4, 2, 2)]
        given, first = {'warm': torch.randn(4, 9, generator=rng), 'near': torch.randn(17, 65, generator=rng)}, sum(runs[:rank])
        own = {name: a.narrow(axis, first // block, -(-(first + runs[rank]) // block) - first // block)
               for (name, a), axis, block in zip(given.items(), (1, 0), (8, 4))}
        with attnc.torch.ContextParallel():
            out = kernel(*[parts(a, 2, runs, rank) for a in (q, k, v)], **own)
            said = raised(lambda: kernel(q[:, :, :5], k[:, :, :5], v[:, :, :5], warm=given['warm'][:, :1], near=torch.ones(2, 20)))
            check(said is not None and 'must begin with a block' in said[1], said)
        close(out, parts(kernel(q, k, v, **given), 2, runs, rank), 1e-5, 'out')
    in_processes(4, folder, work)


@case
def processes_have_the_lists_of_their_own_queries(folder):
    kernel = small({'name': 'listed', 'similarity': {'softmax': {'modify': 's * heat[h]'}},
                    'arrays': {'heat': {'shape': ['H'], 'learned': True}},
                    'mask': {'all': ['causal', {'blocks': {'block': 8, 'count': 3}}]}})
    kernel._with_rank_gradients(), kernel._with_ranks(), kernel._with_gradients()
    for count, runs in {1: (65,), 2: (24, 41), 4: (0, 40, 8, 17), 7: (8, 0, 16, 8, 0, 24, 9)}.items():
        def work(rank):
            rng, n, first = torch.Generator().manual_seed(5), sum(runs), sum(runs[:rank])
            inputs = [torch.randn(2, heads, n, 8, generator=rng) for heads in (4, 2, 2)]
            given = {'heat': torch.rand(4, generator=rng),
                     'blocks': torch.randint(-1, 9, (2, 4, 9, 3), generator=rng, dtype=torch.int32)}
            dout, parallel = torch.randn(2, 4, n, 8, generator=rng), attnc.torch.ContextParallel()
            def gathered(*_): raise AssertionError('a process gets the keys of others')
            parallel._backward_of_all_keys = gathered
            wanted, of_all = gradients(kernel, inputs, given, dout)
            own = given | {'blocks': given['blocks'][:, :, first // 8:-(-(first + runs[rank]) // 8)].contiguous()}
            out, made = gradients(kernel, [parts(a, 2, runs, rank) for a in inputs], own, parts(dout, 2, runs, rank), parallel)
            close(out, parts(wanted, 2, runs, rank), 1e-5, 'out')
            for one, two in zip(made[:3], of_all): close(one, parts(two, 2, runs, rank), 1e-4, 'a gradient')
            dist.all_reduce(made[3])
            close(made[3], of_all[3], 1e-4, 'the gradient of heat')
            if count == 4:   # a process begins within a block
                few = own | {'blocks': own['blocks'].new_zeros(2, 4, 1, 3)}
                with parallel: said = raised(lambda: kernel(*[a[:, :, :5 + rank] for a in inputs], **few))
                check(said is not None and 'must begin with a block' in said[1], said)
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        in_processes(count, place, work)


def raised(function):
    """Returns the type and text of the function's exception."""
    try:
        function()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


@case
def exceptions_are_the_same_in_all_processes(folder):
    causal, linear, delta = small('softmax_causal'), small('linear_elu', block=8), small('deltanet_softmax')
    for kernel in causal, linear, delta:
        kernel._with_ranks()
    q = torch.ones(1, 4, 5, 8)
    undelivered = ('RuntimeError', 'softmax_causal: a message between processes was not delivered, because a process ended, '
                                   'waited too long, or made other calls')

    def work(rank):
        parallel = attnc.torch.ContextParallel()
        cases = ((lambda: causal(q, q, q[..., :rank + 7]), 'process 0: v has shape [1, 4, 5, 7]; expected'),
                 (lambda: causal(q, q, q.double() if rank else q), 'process 1: v is float64; softmax_causal takes float32'),
                 (lambda: causal(q, q, q, query_start=rank), 'process 0: softmax_causal: query_start cannot be given in'),
                 (lambda: causal(q, q, q, threads=1), 'process 0: softmax_causal: ContextParallel takes no out= and no'),
                 (lambda: causal(q, q, q) if rank else linear(q, q, q), ': the processes have other kernels, batches or'),
                 (lambda: causal(*[q[:, :4 - 2 * rank]] * 3), ': the processes have other kernels, batches or'),
                 (lambda: delta(q, q, q, beta=q[..., 0]), ': results for different keys cannot be merged'),
                 (lambda: linear(q, q[:, :, :4], q[:, :, :4]), 'linear_elu: the processes have other kernels, batches or'))
        with attnc.torch.use(), parallel:
            said = raised(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
            check(said is not None and 'computes the tokens of one process' in said[1], said)
        with parallel:
            for function, words in cases:
                said = raised(function)
                check(said is not None and words in said[1], '%s, not: %s' % (said, words))
        check(raised(lambda: attnc.torch.ContextParallel('group')) is not None, 'no error for a text as group')
        with attnc.torch.ContextParallel(timeout=1):
            begin = time.monotonic()
            said = raised(lambda: causal(q, q, q)) if rank == 0 else time.sleep(3)
            check(rank or (said == undelivered and time.monotonic() - begin < 2.5), said)
        dist.barrier()
        if rank:
            os._exit(0)   # a process that ends
        with parallel:
            said = raised(lambda: causal(q, q, q))
        check(said == undelivered, said)
    in_processes(2, folder, work)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(32, 96), torch.nn.Linear(32, 32)
        self.attention = attnc.torch.Attention(small('hedgehog'), heads=4)

    def forward(self, x):
        q, k, v = self.inner(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        return self.outer(self.attention(q, k, v).transpose(1, 2).flatten(2))


@case
def models_train_beside_ddp(folder):
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(3)
    layer, x, runs = Layer(), torch.randn(2, 37, 32), (20, 17)
    layer.attention.kernel._with_ranks()
    layer.attention.kernel._with_gradients()

    def work(rank):
        layer(x).square().mean().backward()
        wanted = [p.grad.clone() for p in layer.parameters()]
        layer.zero_grad()
        model = DistributedDataParallel(attnc.torch.ContextParallel()(layer))
        (model(parts(x, 1, runs, rank)).square().sum() * (2 / x.numel())).backward()   # DDP returns the mean over processes
        for (name, p), one in zip(layer.named_parameters(), wanted):
            close(p.grad, one, 1e-5 * max(1, float(one.abs().max())), name)
    in_processes(2, folder, work)


@case
def models_train_beside_fsdp(folder):
    """Each process has a part of the weights, and they get the weights that one process gets."""
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    def sharded(layer, way):
        if way == 'FullyShardedDataParallel':
            return FullyShardedDataParallel(layer, use_orig_params=True, device_id=torch.device('cpu'))
        for part in layer.inner, layer.attention: fully_shard(part)   # the rest is a third part
        return fully_shard(layer)

    def whole(model, way):
        if way == 'fully_shard': return {name: p.full_tensor() for name, p in model.named_parameters()}
        with FullyShardedDataParallel.summon_full_params(model):
            return {name.replace('_fsdp_wrapped_module.', ''): p.clone() for name, p in model.named_parameters()}

    def trained(model, x, runs=None, rank=0):
        """Returns the model's losses in a few steps."""
        mine, losses = x if runs is None else parts(x, 1, runs, rank), []
        steps = torch.optim.SGD(model.parameters(), lr=0.5)   # to Adam, the scale of gradients would not matter
        for _ in range(3):
            steps.zero_grad()
            loss = model(mine).square().sum() / x.numel()
            (loss * (1 if runs is None else len(runs))).backward()   # FSDP takes the mean over processes
            steps.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    Layer().attention.kernel._with_ranks(), Layer().attention.kernel._with_gradients()
    for count, runs in {2: (20, 17), 3: (30, 0, 7)}.items():
        def work(rank):
            warnings.simplefilter('ignore')   # FSDP warns that in-place operations would go wrong
            for way in 'FullyShardedDataParallel', 'fully_shard':
                torch.manual_seed(3)
                alone, layer, x = Layer(), Layer(), torch.randn(2, 37, 32)
                layer.load_state_dict(alone.state_dict())
                wanted = trained(alone, x)
                model = sharded(layer, way)
                losses = trained(attnc.torch.ContextParallel()(model), x, runs, rank)
                dist.all_reduce(losses)
                check(float(wanted[0] - wanted[-1]) > 1e-3, 'the model learns nothing')
                close(losses, wanted, 1e-6, way + ': losses')
                held = sum(getattr(p, '_local_tensor', p).numel() for p in model.parameters())
                check(held < sum(p.numel() for p in alone.parameters()), way + ' divides no weights')
                got = whole(model, way)
                for name, p in alone.named_parameters(): close(got[name].detach(), p.detach(), 1e-5, '%s: %s' % (way, name))
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        in_processes(count, place, work)


if __name__ == '__main__':
    sys.exit(main(__doc__))
