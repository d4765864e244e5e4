"""Tests the package with only NumPy. Results are compared with definitions.py."""
import copy
import ctypes
import mmap
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest.mock
import warnings

from common import *
from attnc._call import _Call

import definitions

WRAPPER = '#!/bin/sh\ncase " $* " in *.c\\ *) echo x >> "%s" ;; esac\n%sexec cc "$@"\n'


def counted(folder, before=''):
    """Returns an environment whose C compiler counts its runs, and a function that returns the count."""
    os.makedirs(os.path.join(folder, 'bin'))
    log, wrapper = os.path.join(folder, 'log'), os.path.join(folder, 'bin', 'counted-cc')
    with open(wrapper, 'w') as f:
        f.write(WRAPPER % (log, before))
    os.chmod(wrapper, 0o755)
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, 'cache'), ATTNC_CC='counted-cc',
                       PATH=os.path.join(folder, 'bin') + os.pathsep + os.environ['PATH'])

    def times():
        return os.path.getsize(log) // 2 if os.path.exists(log) else 0
    return environment, times


def program(folder, text, environment):
    done = execute([sys.executable, '-c', 'import attnc, numpy as np\n' + text], cwd=folder, env=environment)
    check(done.returncode == 0, done.stderr[-1500:])
    return done


@case
def tables_of_tiles(folder):
    """A mask with a table of its tiles gives the same bits as the mask. Tables of other masks are refused."""
    made, seen = masked()
    q, k, v = arrays(n=90, m=150)
    for mask in seen, seen.view(np.uint8), np.broadcast_to(seen[1], seen.shape), seen[:, ::-1][:, ::-1], np.asfortranarray(seen):
        tiles, saved = attnc.tiles_of_mask(mask), attnc.Saved()
        out = made(q, k, v, seen=tiles, saved=saved)
        close(out, made(q, k, v, seen=mask), 0, 'out')
        for one, other in zip(made.backward(q, k, v, out, q, seen=tiles, saved=saved),
                              made.backward(q, k, v, out, q, seen=mask)):
            close(one, other, 0, 'gradients')
    check(not made(q, k, v, seen=attnc.tiles_of_mask(np.zeros_like(seen))).any(), 'the kernel does not read the table')
    check(repr(tiles) == '<attnc.MaskTiles of a mask [2, 90, 150]>', repr(tiles))
    other = attnc.MaskTiles
    says = 'masked: a table of tiles is for a mask of another shape or for other tiles, or is no table'
    short = 'the table of seen is for a mask of another shape; make it with tiles_of_mask()'
    for table, message in ((tiles.table[:-1], short), (tiles.table[:0], short), (np.zeros_like(tiles.table), says),
                           (attnc.tiles_of_mask(seen[:, 1:]).table, says)):
        refuses(lambda: made(q, k, v, seen=other(seen, table)), ValueError, message)
    refuses(lambda: made(q, k, v, seen=attnc.tiles_of_mask(seen[:, 1:])), ValueError,
            'seen has shape [2, 89, 150]; expected [B, n_q, n_k] with B = 2, n_q = 90, n_k = 150…')
    refuses(lambda: made(q, k, v, seen=other(seen, None)), TypeError, 'the table of seen is missing…')
    for mask, has in ((seen.astype(np.float32), 'float32 [2, 90, 150]'), (seen[0, 0], 'bool [150]')):
        refuses(lambda: attnc.tiles_of_mask(mask), TypeError, 'mask is %s; expected an array of bool or uint8 with 2 to 4 '
                'axes, the last of which are queries and keys' % has)
    # Without a kernel that has a mask, the table needs no compiler.
    program(folder, 'mask = np.arange(3 * 90 * 150).reshape(3, 90, 150) %% 7000 > 3000\n'
            'tiles = attnc.tiles_of_mask(mask)\n'
            'assert tiles.table.tobytes() == bytes.fromhex("%s")' % attnc.tiles_of_mask(
                np.arange(3 * 90 * 150).reshape(3, 90, 150) % 7000 > 3000).table.tobytes().hex(),
            dict(os.environ, ATTNC_CC='/no/compiler', XDG_CACHE_HOME=folder + '/empty'))


@case
def values_are_keys(folder):
    made, wanted = of_keys()
    q, k, v = arrays()
    check(made.values_are_keys and not small('softmax_causal').values_are_keys, 'values_are_keys')
    for _ in range(2):   # the second call skips checks of the first
        out = made(q, k)
        close(out, wanted(q, np.ascontiguousarray(k)), 1e-6, 'forward')
    says = 'softmax_causal takes no v: its values are the first 5 elements of k (values: keys)'
    refuses(lambda: made(q, k, k[..., :5]), TypeError, says)
    refuses(lambda: made.backward(q, k, v, out, out), TypeError, says)
    refuses(lambda: made.backward(q, k, out=out), TypeError, 'backward() of softmax_causal needs dout')
    refuses(lambda: small('softmax_causal')(q, k), TypeError,
            'v is missing; expected a NumPy array, or a tensor with __dlpack__')
    saved = attnc.Saved()
    out = made(q, k, saved=saved)
    gradients = made.backward(q, k, out=out, dout=out, saved=saved)
    check(gradients._fields == ('dq', 'dk'), gradients._fields)
    other = small('softmax_causal', **{'shape.value_dim': 5})
    values = np.ascontiguousarray(k[..., :5])
    expected = other.backward(q, k, values, other(q, k, values), out)
    dk = expected.dk.copy()
    dk[..., :5] += expected.dv
    close(gradients.dk, dk, 1e-5, 'dk')
    state = made.state(batch=2, capacity=9)
    refuses(lambda: state.extend(q, k[:, :, :5], k[:, :, :5, :5]), TypeError, says)
    rows = [state.extend(q[:, :, n:n + 1], k[:, :, n:n + 1]) for n in range(5)]
    close(np.concatenate(rows, 2), made(q, k[:, :, :5]), 1e-6, 'extend')


@case
def positions_of_queries(folder):
    """Queries in the middle of allocated keys."""
    spec = {'similarity': 'softmax', 'prepare': ['rope'], 'mask': {'all': ['causal', 'lengths']},
            'shape': {'head_dim': 8}, 'emit': ['forward', 'backward']}
    made, lengths = attnc.kernel({'name': 'placed', **spec}), np.array([33, 20], 'int32')
    (q, _, _), (_, k, v) = arrays(n=5, m=40, D=8), arrays(n=40, m=40, D=8)
    start = lengths - 5
    P = {'lengths': lengths, 'query_start': start}
    wanted = definitions.attend(spec, P, *(a.astype('f8') for a in (q, k, v)))
    for given in start, start.tolist(), start.astype('int64'):
        close(made(q, k, v, lengths=lengths, query_start=given), wanted, 1e-5, 'out')
    one = made(q[:1], k[:1], v[:1], lengths=lengths[:1], query_start=28)
    close(one, wanted[:1], 1e-5, 'a number')
    whole = made.backward(q, k, v, one.repeat(2, 0), one.repeat(2, 0), lengths=lengths, query_start=start)
    check(not whole.dk[0, :, 33:].any() and not whole.dk[1, :, 20:].any(), 'a key that nobody sees has a gradient')
    refuses(lambda: made(q, k, v, lengths=lengths, query_start=[1]), ValueError,
            'query_start has 1 positions; expected 2, one for each sequence')
    refuses(lambda: made(q, k, v, lengths=lengths, query_start=0.5), TypeError,
            'query_start has to be an integer, or an integer for each sequence')
    refuses(lambda: made(q, k, v, lengths=lengths, query_start=2**40), ValueError,
            'query_start is [1099511627776, 1099511627776]; expected positions from -2^31 to 2^31')


@case
def kernels_give_what_definitions_say(folder):
    q, k, v = arrays(n=37, m=41, D=16)
    for name in ('softmax_causal', 'sliding_window', 'softmax_bias', 'linear_elu', 'polynomial_p4', 'hedgehog',
                 'polysketch_r32_local', 'packed_documents', 'softmax_padding', 'softmax_blocks', 'luong', 'bahdanau', 'qk_norm'):
        settings = {'shape.head_dim': 16, 'shape.value_dim': 16}
        made = attnc.kernel(name, set=settings)
        given = made.init(3, batch=2, heads=4, kv_heads=2, n_q=37, n_k=41)
        if name == 'packed_documents':
            given['document'] = np.sort(np.random.default_rng(1).integers(0, 4, (2, 41)), axis=1).astype('int32')
        if name == 'softmax_padding':
            given['lengths'] = np.array([41, 0], 'int32')
        if name == 'softmax_blocks':
            given['blocks'] = np.random.default_rng(1).integers(-1, 3, (2, 4, 1, 16)).astype('int32')
            refuses(lambda: made(q, k, v, blocks=given['blocks'].repeat(2, 2)), ValueError,
                    'blocks has shape [2, 4, 2, 16]; expected [B, H, n_q/64, 16] with B = 2, H = 4, n_q = 37…')
        out = made(q, k, v, **given)
        spec = definitions.yaml.load(made.spec, definitions.Loader)
        spec['shape'] = {'head_dim': 16, 'value_dim': 16}
        names = {p.keyword: p.name for p in made.parameters}
        P = {names[word]: value.astype('f8') if value.dtype != 'int32' else value for word, value in given.items()}
        wanted, allowed = definitions.attend(spec, P, *(a.astype('f8') for a in (q, k, v)))[:2]
        limit = definitions.allowed_error(spec, P, *(a.astype('f8') for a in (q, k, v)), wanted)
        check(np.all(np.abs(out - wanted) <= limit), '%s is off by %s' % (name, np.max(np.abs(out - wanted))))


@case
def dropout_takes_a_seed(folder):
    q, k, v = arrays('float64', n=37, m=41, D=8)
    spec = {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.4, 'seed': 5, 'shape': {'head_dim': 8},
            'dtype': 'f64'}
    made, dout = attnc.kernel(spec), np.random.default_rng(2).standard_normal(q.shape)
    check(made.dropout == 0.4 and attnc.kernel('softmax').dropout == 0, 'the attribute dropout')
    for seed in None, 0, 77, 2 ** 64 - 1:
        wanted = definitions.attend(spec | {'seed': seed or 5}, {}, q, k, v)
        close(made(q, k, v, seed=seed), wanted, 1e-12, 'seed %s' % seed)
        out, saved = made(q, k, v, seed=seed), attnc.Saved()
        close(made(q, k, v, seed=seed, saved=saved), out, 1e-13, 'saved= changes the result')
        got, along = made.backward(q, k, v, out, dout, seed=seed, saved=saved), np.random.default_rng(3).standard_normal(k.shape)
        ends = [(made(q, k + step * along, v, seed=seed) * dout).sum() for step in (1e-5, -1e-5)]
        close((got.dk * along).sum(), (ends[0] - ends[1]) / 2e-5, 1e-5, 'dk with the seed %s' % seed)
    draws = np.mean([made(q, k, v, seed=seed) for seed in range(1, 401)], 0)
    undropped = attnc.kernel(spec, set={'dropout': 0})(q, k, v)
    check(np.abs(draws - undropped).max() < 0.3 * np.abs(undropped).max(), 'the mean of 400 draws')
    close(made.state(2).extend(q[:, :, :1], k[:, :, :1], v[:, :, :1]), np.repeat(v[:, :, :1], q.shape[1] // v.shape[1], 1),
          1e-12, 'extend drops')
    close(attnc.attention(q, k, v, mask='causal', dropout=0.4, seed=9), made(q, k, v, seed=9), 1e-12, 'attention()')
    both = attnc.kernel({'similarity': {'linear': {'features': {'favor_positive': {'count': 8, 'seed': 7}}}},
                         'dropout': 0.4, 'seed': 5, 'shape': {'head_dim': 8}, 'dtype': 'f64'})
    given = both.init(7)
    close(both(q, k, v), both(q, k, v, seed=5, **given), 1e-12, 'two seeds in a spec')
    refuses(lambda: attnc.attention(q, k, v, dropout=0.1), TypeError, 'dropout needs seed=, a new number for each call')
    refuses(lambda: attnc.attention(q, k, v, seed=1), TypeError, 'seed is the seed of dropout, so it needs dropout=')
    refuses(lambda: small('softmax')(q, k, v, seed=1), TypeError,
            'softmax has no random parameters and no dropout, so it takes no seed')


@case
def gradients_are_differences(folder):
    rng = np.random.default_rng(4)
    for name in 'softmax_causal', 'hedgehog', 'qk_norm':
        made = small(name, dtype='f64')
        q, k, v = arrays('float64')
        given = made.init(1, heads=4, kv_heads=2)
        saved, dout = attnc.Saved(), rng.standard_normal(q.shape)
        many = [np.concatenate([a] * 20, 2) for a in (q, k, v)]
        close(made(*many, saved=attnc.Saved(), **given), made(*many, **given), 0, name + ': saved= changes the result')
        out = made(q, k, v, saved=saved, **given)
        # Kernels for few queries save nothing.
        close(out, made(q, k, v, **given), 1e-14, name + ': saved= changes the result')
        got = made.backward(q, k, v, out, dout, saved=saved, **given)
        everything = {'q': q, 'k': k, 'v': v, **given}
        for word, array in everything.items():
            along = rng.standard_normal(array.shape)
            ends = [(made(**{**everything, word: array + step * along}) * dout).sum() for step in (1e-5, -1e-5)]
            close((getattr(got, 'd' + word) * along).sum(), (ends[0] - ends[1]) / 2e-5, 1e-5, name + ': d' + word)
        only = made.backward(q, k, v, out, dout, wanted='dk', **given)
        check(only.dq is None and (only.dk == got.dk).all(), name + ': dk alone')


@case
def weights_are_returned(folder):
    for spec in {'similarity': 'softmax', 'mask': 'causal'}, {'similarity': 'softmax', 'emit': ['forward', 'weights']}:
        for dtype in 'float32', 'float64', 'float16':
            made = attnc.kernel({**spec, 'shape': {'head_dim': 8},
                                 'dtype': {'float32': 'f32', 'float64': 'f64', 'float16': 'f16'}[dtype]})
            q, k, v = arrays(dtype, n=20, m=31)
            out, weights = made(q, k, v, weights=True)
            check((out == made(q, k, v)).all() and weights.dtype == dtype, 'weights=True changes the result')
            times = q.shape[1] // v.shape[1]
            rows = np.einsum('bhij,bhje->bhie', *(a.astype('float64') for a in (weights, v.repeat(times, 1))))
            close(rows, out, {'float32': 1e-5, 'float64': 1e-13, 'float16': 4e-3}[dtype], 'rows of weights')
            mine = np.full(weights.shape[:3] + (40,), np.nan, dtype)
            check(made(q, k, v, weights=mine[..., :31]).weights.base is mine, 'weights= is not used')
            check((mine[..., :31] == weights).all() and np.isnan(mine[..., 31:]).all(), 'weights= is not written')
    for more, says in ({'weights': mine[..., :30]}, 'expected'), ({'weights': True, 'statistics': True}, 'no statistics='):
        try:
            made(q, k, v, **more)
        except (TypeError, ValueError) as error:
            check(says in str(error), str(error))
        else:
            raise Failure('a call took ' + says)


@case
def states_are_arrays(folder):
    made = attnc.kernel({'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'normalize': 'none',
                         'prepare': ['l2norm'], 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}, 'beta': {'shape': ['B', 'H', 'Nk']}},
                         'decay': {'log': '-fabs(gate[b][h][t])'}, 'delta': {'rate': 'beta[b][h][t]'}, 'shape': {'head_dim': 8}})
    q, k, v = (np.random.default_rng(n).standard_normal((2, 3, 50, 8), dtype='float32') for n in range(3))
    rows = {name: np.random.default_rng(n).random((2, 3, 50), dtype='float32') for n, name in enumerate(('gate', 'beta'))}
    whole, part = made(q, k, v, **rows), lambda a, b: ([x[:, :, a:b].copy() for x in (q, k, v)],
                                                       {name: x[:, :, a:b].copy() for name, x in rows.items()})
    first = made.state(2)
    arrays, given = part(0, 21)
    first.extend(*arrays, **given)
    sums = first.final_state()
    check(sums.shape == (2, 3, 8, 8) and sums.dtype == 'float32', 'another array')
    second = made.state(2, initial_state=sums)
    arrays, given = part(21, 50)
    close(second.extend(*arrays, **given), whole[:, :, 21:], 1e-5, 'tokens after initial_state')
    for kernel, value, says in (made, sums[:1].copy(), 'expected'), (made, sums.astype('float16'), 'float16'), (
            small('softmax_causal'), sums, 'no array'):
        try:
            arrays, given = part(0, 1)
            kernel.state(2, initial_state=value).extend(*arrays, **(given if kernel is made else {}))
        except (TypeError, ValueError) as error:
            check(says in str(error), str(error))
        else:
            raise Failure('a state took ' + says)


@case
def states_of_several_sums_are_tuples(folder):
    made = attnc.kernel({'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'shape': {'head_dim': 8},
                         'sums': {'a': {}, 'c': {'similarity': {'linear': {'features': 'relu'}}, 'normalize': 'none'}}, 'output': 'a + c'})
    q, k, v = (np.random.default_rng(n).standard_normal((2, 3, 50, 8), dtype='float32') for n in range(3))
    first = made.state(2)
    first.extend(*(x[:, :, :21].copy() for x in (q, k, v)))
    sums = first.final_state()
    check([x.shape for x in sums] == [(2, 3, 8), (2, 3, 8, 8), (2, 3, 8, 8)], 'other arrays')
    features = np.where(k > 0, k + 1, np.exp(np.minimum(k, 0))), np.maximum(k, 0)
    close(sums[0], features[0][:, :, :21].sum(2), 1e-5, 'the denominator')
    for x, f in zip(sums[1:], features): close(x, f[:, :, :21].swapaxes(2, 3) @ v[:, :, :21], 1e-5, 'a sum')
    second = made.state(2, initial_state=sums)
    close(second.extend(*(x[:, :, 21:].copy() for x in (q, k, v))), made(q, k, v)[:, :, 21:], 1e-5, 'tokens after initial_state')
    try:
        made.state(2, initial_state=sums[0]).extend(q, k, v)
    except ValueError as error:
        check('3 arrays' in str(error), str(error))
    else:
        raise Failure('a state took one array for three')


@case
def results_for_parts_of_the_keys_are_merged(folder):
    for similarity, dtype in ('softmax', 'float32'), ('softmax', 'float64'), ('softmax', 'float16'), (
            {'linear': {'features': 'elu_plus_one'}}, 'float32'):
        made = attnc.kernel({'similarity': similarity, 'shape': {'head_dim': 8},
                             'dtype': {'float32': 'f32', 'float64': 'f64', 'float16': 'f16'}[dtype]})
        q, k, v = arrays(dtype, n=20, m=31)
        out, statistics = made(q, k, v, statistics=True)
        check((out == made(q, k, v)).all(), 'statistics=True changes the result')
        check(statistics.dtype == ('float64' if dtype == 'float64' else 'float32') and statistics.shape == q.shape[:3],
              'statistics of another kind')
        parts = [made(q, k[:, :, a:b].copy(), v[:, :, a:b].copy(), statistics=True)
                 for a, b in ((0, 9), (9, 9), (9, 31))]
        merged = attnc.merge(made, attnc.merge(made, parts[0], parts[1]), parts[2], threads=2)
        check(merged.out is parts[0].out, 'another array')
        limit = {'float32': 1e-5, 'float64': 1e-13, 'float16': 2e-3}[dtype]
        close(merged.out, out, limit, 'merged out')
        close(merged.statistics / statistics, np.ones(q.shape[:3]), 1e-13 if dtype == 'float64' else 1e-5,
              'merged statistics')
        mine = np.full(q.shape[:3] + (2,), np.nan, statistics.dtype)
        check(made(q, k, v, statistics=mine[..., 1]).statistics.base is mine, 'statistics= is not used')
        check((mine[..., 1] == statistics).all() and np.isnan(mine[..., 0]).all(), 'statistics= is not written')
        for wrong, says in ((parts[1].out, parts[1].statistics[:, :1]), 'expected [B, H, n_q]'), (
                parts[0], 'shares memory'):
            try:
                attnc.merge(made, parts[0], wrong)
            except ValueError as error:
                check(says in str(error), str(error))
            else:
                raise Failure('merge took ' + says)
    made = attnc.kernel({'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 8},
                         'emit': ['forward', 'decode', 'statistics']})
    q, k, v = arrays(n=20, m=20)
    whole, state = made(q, k, v, statistics=True), made.state(2)
    pieces = [state.extend(*(a[:, :, n:n + 5].copy() for a in (q, k, v)), statistics=True) for n in range(0, 20, 5)]
    close(np.concatenate([p.statistics for p in pieces], 2), whole.statistics, 1e-5, 'statistics of extend')


@case
def a_kernel_is_one_object(folder):
    made = small('softmax_causal')
    check(small('softmax_causal') is made and small('softmax_causal', mask='none') is not made, 'made twice')
    copy = pickle.loads(pickle.dumps(made))
    check(copy is made, 'unpickled here it is another one')
    for change in ('made.name = "x"', 'made.other = 1', 'del made.parameters'):
        try:
            exec(change)
        except AttributeError as error:
            check('kernels are immutable' in str(error), str(error))
        else:
            raise Failure(change)
    spec = os.path.join(folder, 'a b.yaml')
    with open(spec, 'w') as f:
        f.write('name: mine\nsimilarity: softmax\nmask: causal\nshape: {head_dim: 8}\n')
    mine = attnc.kernel(spec)
    kept = pickle.dumps(mine)
    with open(spec, 'a') as f:
        f.write('prepare: [l2norm]\n')
    other = attnc.kernel(spec)
    q, k, v = arrays()
    check(other is not mine and not (other(q, k, v) == mine(q, k, v)).all(), 'an edited file gives the old kernel')
    with open(os.path.join(folder, 'kept'), 'wb') as f:
        f.write(kept)
    os.remove(spec)
    np.savez(os.path.join(folder, 'in.npz'), q=q, k=k, v=v, out=mine(q, k, v))
    program(folder, 'import pickle; made = pickle.load(open("kept", "rb")); a = np.load("in.npz")\n'
                    'assert made.name == "mine" and (made(a["q"], a["k"], a["v"]) == a["out"]).all()', os.environ)


@case
def a_dictionary_is_a_spec(folder):
    spec = {'similarity': {'softmax': {'scale': 0.25}}, 'mask': {'any': [{'window': {'left': 2}}, {'global': {'count': 1}}]},
            'shape': {'head_dim': np.int64(8)}, 'description': 'two\nlines: "quoted"'}
    made = attnc.kernel(spec)
    with open(os.path.join(folder, 'same.yaml'), 'w') as f:
        f.write('similarity: {softmax: {scale: 0.25}}\nmask: {any: [{window: {left: 2}}, {global: {count: 1}}]}\n'
                'shape: {head_dim: 8}\n')
    q, k, v = arrays()
    close(made(q, k, v), attnc.kernel(os.path.join(folder, 'same.yaml'))(q, k, v), 0, 'a dictionary')
    check(made.name == 'attention' and made.description == 'two\nlines: "quoted"', repr(made.description))


@case
def one_line(folder):
    q, k, v = arrays()
    i, j = np.arange(5)[:, None] + 2, np.arange(7)
    s = np.einsum('bhid,bhjd->bhij', *(a.astype('f8') for a in (q, k.repeat(2, 1))))

    def wanted(weight, seen):
        weight = np.where(seen, weight, 0)
        return np.einsum('bhij,bhje->bhie', weight / weight.sum(-1, keepdims=True), v.repeat(2, 1))
    close(attnc.attention(q, k, v, weight='(1 + s) * (1 + s)', mask='j <= i && i - j < 3'),
          wanted((1 + s) ** 2, (j <= i) & (i - j < 3)), 1e-5, 'a weight')
    close(attnc.attention(q, k, v, score='s - 0.5 * (i - j)', mask='causal'),
          wanted(np.exp(s / np.sqrt(8) - 0.5 * (i - j)), j <= i), 1e-5, 'a score')
    close(attnc.attention(q, k, v), wanted(np.exp(s / np.sqrt(8)), j < 9), 1e-5, 'softmax')
    close(attnc.attention(q, k, v, weight='1 + s * s', algorithm='linear', normalize='none'),
          np.einsum('bhij,bhje->bhie', 1 + s * s, v.repeat(2, 1)), 1e-4, 'linear, not normalized')
    table, far = np.random.default_rng(3).standard_normal((4, 5)).astype('f4'), np.arange(7, dtype='f4') / 4
    score = 's + table[h][i - j + 1] - far[j]'
    close(attnc.attention(q, k, v, score=score, mask='causal', arrays={'table': table, 'far': far}),
          wanted(np.exp(s / np.sqrt(8) + table[:, np.clip(i - j + 1, 0, 4)] - far), j <= i), 1e-5, 'arrays')
    with warnings.catch_warnings():   # a copied array would cause a warning
        warnings.simplefilter('error')
        for name, x in {'every second': table.repeat(2, 1)[:, ::2], 'turned': table.T.copy().T}.items():
            close(attnc.attention(q, k, v, score=score, mask='causal', arrays={'table': x, 'far': far}),
                  wanted(np.exp(s / np.sqrt(8) + table[:, np.clip(i - j + 1, 0, 4)] - far), j <= i), 1e-5, name)
        for name, x in {'a row': np.broadcast_to(table[:1], table.shape), 'a column': np.broadcast_to(table[:, :1], table.shape),
                        'a number': np.broadcast_to(table[0, 0], table.shape)}.items():
            close(attnc.attention(q, k, v, score=score, mask='causal', arrays={'table': x, 'far': far}),
                  wanted(np.exp(s / np.sqrt(8) + x[:, np.clip(i - j + 1, 0, 4)] - far), j <= i), 1e-5, name)
    refuses(lambda: attnc.attention(q, k, v, score=score, arrays={'table': table, 'far': '3'}), TypeError,
            'arrays: far is a str; expected an array or a number')
    refuses(lambda: attnc.attention(q, k, v, score=score, arrays={'table': table, 'far': far.astype('f8')}), TypeError,
            'far is float64; attention takes float32')
    before = kernels_of_formulas(weight='(1 + s) * (1 + s)')
    attnc.attention(q[:, :, :3], k, v, weight='(1 + s) * (1 + s)', mask='j <= i && i - j < 3')
    check(kernels_of_formulas(weight='(1 + s) * (1 + s)') == before, 'the same expression is another kernel')
    refuses(lambda: attnc.attention(q, k, v, weight='s', score='s'), TypeError,
            'weight and score cannot be given together: a weight is used as it is, a score is the logit of softmax')
    refuses(lambda: attnc.attention(q[0], k, v), ValueError,
            'q has shape [4, 5, 8]; expected 4 axes, [batch, heads, positions, size]')
    for wrong, says in (((q,), 'k is missing…'), ((q, k), 'v is missing…'), ((q, k.tolist(), v), 'k is a list…')):
        refuses(lambda: attnc.attention(*wrong), TypeError, says)
    refuses(lambda: attnc.attention(q.astype('i4'), k, v), TypeError,
            'q is int32; attention takes float32, float64, float16, bfloat16')
    refuses(lambda: attnc.attention(q, k, v, weight='1 + t'), attnc.SpecError, "attention.yaml:1:…")


def kernels_of_formulas(weight=None, head_dim=None):
    """Returns the number of kernels for formulas with this weight or head size. Other cases make kernels meanwhile."""
    keys = list(attnc._formula._formulas)
    return sum(weight in (None, key[0]) and head_dim in (None, key[7]) for key in keys)


def attended(q, k, v, scale, seen, extra=0.0):
    """Returns softmax attention in f64. Rows that see no key are 0."""
    k, v = (np.repeat(a, q.shape[1] // a.shape[1], 1) for a in (k, v))
    logits = np.float64(scale) * np.einsum('bhid,bhjd->bhij', q, k, dtype='f8') + np.where(np.isneginf(extra), 0, extra)
    seen = np.broadcast_to(seen & ~np.isneginf(extra), logits.shape)
    weights = np.exp(logits - logits.max(-1, keepdims=True)) * seen
    return np.einsum('bhij,bhje->bhie', weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300), v)


@case
def scales_share_a_kernel_of_formulas(folder):
    for dtype, limit in ('f4', 1e-5), ('f8', 1e-13):
        q, k, v = arrays(dtype, D=6)
        before = kernels_of_formulas(head_dim=6)
        for scale in 0.3, 0.11, -0.2, 0, 1, 1e-3, np.float32(0.5), np.array(0.25, dtype):
            close(attnc.attention(q, k, v, scale=scale), attended(q, k, v, scale, True), limit, '%s: %s' % (dtype, scale))
        check(kernels_of_formulas(head_dim=6) <= before + 1, 'kernels: %d' % (kernels_of_formulas(head_dim=6) - before))
        usual = attnc.attention(q, k, v)
        close(attnc.attention(q, k, v, scale=6 ** -0.5), usual, 0, 'the usual scale')
        check(kernels_of_formulas(head_dim=6) <= before + 2, 'the usual scale is another kernel')
    i, j = np.arange(5)[:, None] + 2, np.arange(7)
    close(attnc.attention(q, k, v, scale=0.3, score='s - 0.1 * (i - j)'), attended(q, k, v, 0.3, True, -0.1 * (i - j)), 1e-13, 'a score')
    refuses(lambda: attnc.attention(q, k, v, weight='1 + s', scale=2), TypeError, 'scale is for logits, and a weight has none…')
    refuses(lambda: attnc.attention(q, k, v, scale=2, arrays={'scale': 1.0}), TypeError, "arrays has 'scale', which is a name…")


@case
def masks_may_be_arrays(folder):
    """Of bool, or of numbers that are added to the logits and hide a key where they are -inf."""
    q, k, v = arrays()
    rng = np.random.default_rng(5)
    for shape in (5, 7), (2, 1, 1, 7), (2, 4, 5, 7), (1, 4, 5, 1):
        seen = rng.random(shape) < 0.6
        seen.reshape(-1, shape[-1])[0] = False   # the first row sees nothing
        close(attnc.attention(q, k, v, mask=seen), attended(q, k, v, 8 ** -0.5, seen), 1e-5, 'bool %s' % (shape,))
        if shape == (2, 1, 1, 7): continue
        extra = np.where(seen, rng.standard_normal(shape), -np.inf)
        for dtype in 'f4', 'f8':
            close(attnc.attention(q, k, v, extra.astype(dtype), scale=0.3), attended(q, k, v, 0.3, True, extra), 1e-5,
                  'numbers %s %s' % (dtype, shape))
    seen = rng.random((5, 7)) < 0.6
    i, j = np.arange(5)[:, None], np.arange(7)
    close(attnc.attention(q, k, v, is_causal=True), attended(q, k, v, 8 ** -0.5, j <= i), 1e-5, 'is_causal')
    close(attnc.attention(q, k, v, seen, is_causal=True), attended(q, k, v, 8 ** -0.5, seen & (j <= i)), 1e-5, 'both')
    close(attnc.attention(q, k, v, seen, mask='j <= i'), attended(q, k, v, 8 ** -0.5, seen & (j <= i + 2)), 1e-5, 'both masks')
    close(attnc.attention(q, k, v, dropout_p=0.5, seed=3), attnc.attention(q, k, v, dropout=0.5, seed=3), 0, 'dropout_p')
    close(attnc.attention(q, k, v, mask=seen, weight='1 + s * s', normalize='none'),
          np.einsum('bhij,bhje->bhie', (1 + np.einsum('bhid,bhjd->bhij', q, np.repeat(k, 2, 1)) ** 2) * seen, np.repeat(v, 2, 1)),
          1e-3, 'a weight')
    for wrong, kind, says in (([1], TypeError, 'mask is a list; expected an array of bool, …'),
                              (seen.astype('i8'), TypeError, 'mask is int64; expected an array of bool, …'),
                              (seen[:3], ValueError, 'mask has shape [3, 7], which cannot be broadcast to [2, 4, 5, 7], …')):
        refuses(lambda: attnc.attention(q, k, v, mask=wrong), kind, says)
    refuses(lambda: attnc.attention(q, k, v, seen, mask=seen), TypeError, 'mask and attn_mask are both arrays; expected one of them')
    refuses(lambda: attnc.attention(q, k, v, mask='causal', is_causal=True), TypeError, 'mask and is_causal are given…')
    refuses(lambda: attnc.attention(q, k, v, mask=np.zeros((5, 7), 'f4'), weight='s'), TypeError, 'mask is for logits…')


def copies(one):
    """Yields copies of an object, and how they were made."""
    yield copy.copy(one), 'copy'
    yield copy.deepcopy(one), 'deepcopy'
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(one, protocol)), 'pickle %d' % protocol


@case
def objects_are_copied(folder):
    """Each copy has equal results. Its memory is not that of the original."""
    made = small('softmax_causal')
    q, k, v = arrays(n=7, m=7)
    saved, dout = attnc.Saved(), np.random.default_rng(1).standard_normal(q.shape).astype('f4')
    for _, how in copies(saved): pass   # one that is empty
    out = made(q, k, v, saved=saved)
    wanted = made.backward(q, k, v, out, dout, saved=saved)
    kept = [copies(saved) for _ in range(3)]   # at several addresses
    for several in zip(*kept):
        for other, how in several:
            for one, two in zip(wanted, made.backward(q, k, v, out, dout, saved=other)): close(one, two, 0, 'saved: ' + how)
            made(q * 2, k, v, saved=other)
    for one, two in zip(wanted, made.backward(q, k, v, out, dout, saved=saved)): close(one, two, 0, 'saved is changed')
    for other, how in copies(wanted):
        check(other._fields == wanted._fields and str(other)[:13] == str(wanted)[:13] == 'Gradients(dq=', 'gradients: ' + how)
        for one, two in zip(wanted, other): close(one, two, 0, 'gradients: ' + how)
    for other, how in copies(made): check(other is made, 'a kernel: ' + how)
    for other, how in copies(made.parameters + small('hedgehog').parameters):
        check(other == made.parameters + small('hedgehog').parameters, 'parameters: ' + how)
    counted = made(q, k, v, statistics=True)
    for other, how in copies(counted): close(other.statistics, counted.statistics, 0, 'outputs: ' + how)
    given, seen = masked()
    tiles = given._binding.tiles_of_mask(seen)
    more = arrays(n=90, m=150)
    for other, how in copies(tiles): close(given(*more, seen=other), given(*more, seen=seen), 0, 'tiles: ' + how)
    rows = attnc.quantize(np.ones((1, 2, 3, 32), 'f4'), 'q8_0')
    for other, how in copies(rows): close(other.dequantize(), rows.dequantize(), 0, 'rows: ' + how)
    for kind in attnc.SpecError, attnc.CompilerError:
        for other, how in copies(kind('why')): check(type(other) is kind and str(other) == 'why', how)


@case
def states_are_copied(folder):
    q, k, v = arrays(n=12, m=12)
    one, two = (tuple(a[:, :, part] for a in (q, k, v)) for part in (slice(0, 7), slice(7, 12)))
    for spec in 'softmax_causal', 'linear_elu':
        made = small(spec)
        for _, how in copies(made.state(2, capacity=20)):
            close(_.extend(*one), made(*one), 1e-5, 'an empty state: ' + how)
        state = made.state(2, capacity=20)
        state.extend(*one)
        kept = list(copies(state))
        wanted = state.extend(*two)
        for other, how in kept:
            check(other.lengths == [7, 7] and state.lengths == [12, 12], '%s shares memory' % how)
            close(other.extend(*two), wanted, 0, how)
    made = small('softmax_causal')
    pages, table = attnc.Pages(8, tokens=16), np.arange(4, dtype='i4').reshape(2, 2)
    for _, how in copies(pages): check(_.count == 8, how)
    state = made.state(2, pages=pages, table=table)
    state.extend(*one)
    refuses(lambda: copy.copy(state), ValueError, 'a state in pages: copy the rows of its table…')
    kept = [make() for make in (lambda: copy.deepcopy((state, pages)), lambda: pickle.loads(pickle.dumps((state, pages))))]
    wanted = state.extend(*two)
    for other, its_pages in kept:
        check(other.pages is its_pages and its_pages is not pages and other.table is not table, 'pages are shared')
        close(other.extend(*two), wanted, 0, 'a state in pages')
    mine = attnc.Pages(2, memory=mmap.mmap(-1, 2 * made.page_bytes(4, 2)))
    for function in copy.copy, copy.deepcopy, pickle.dumps:
        refuses(lambda: function(mine), TypeError, 'pages in memory of the caller cannot be copied or pickled: …')


@case
def integers_may_be_wider(folder):
    """Ids, lengths, lists and other integers of any type are those of int32. The kernel's own type is not needed."""
    inputs, of_kernels = of_integers()
    for made, given in of_kernels:
        (word, ids), = given.items()
        wanted = made(*inputs, **{word: np.ascontiguousarray(ids, 'i4')})
        for dtype in 'i8', 'i2', 'i1', 'i8':
            close(made(*inputs, **{word: ids.astype(dtype)}), wanted, 0, '%s: %s' % (word, dtype))
        for _ in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter('error')
                close(made(*inputs, **{word: ids}), wanted, 0, word)
        if ids.min() >= 0: close(made(*inputs, **{word: ids.astype('u8')}), wanted, 0, word)
        for far in 2**31, 2**32, -2**31 - 1:
            wrong = ids.copy()
            wrong.ravel()[-1] = far
            refuses(lambda: made(*inputs, **{word: wrong}), ValueError,
                    '%s is int64 and has an element %d; expected integers from -2^31 to 2^31 - 1' % (word, far))
        refuses(lambda: made(*inputs, **{word: ids.astype('f4')}), TypeError, '%s is float32; %s takes int32' % (word, made.name))
    made, ids = of_kernels[0][0], of_kernels[0][1]['document']
    outs = []
    for dtype in 'i4', 'i8', 'i8':
        state = made.state(2, capacity=50)
        outs.append([state.extend(*(a[:, :, part] for a in inputs), document=ids[:, part].astype(dtype))
                     for part in (slice(0, 30), slice(30, 31), slice(31, 40))])
    for several in outs[1:]:
        for one, two in zip(outs[0], several): close(one, two, 0, 'a state')
    close(attnc.attention(*inputs, mask='ids[b][i] == ids[b][j]', arrays={'ids': ids}),
          attnc.attention(*inputs, mask='ids[b][i] == ids[b][j]', arrays={'ids': ids.astype('i4')}), 0, 'a formula')
    number = attnc.kernel({'similarity': 'softmax', 'shape': {'head_dim': 8}, 'mask': {'expr': 'i - j < width && j <= i'},
                           'arrays': {'width': {'shape': [], 'type': 'int'}}})
    wanted = number(*inputs, width=5)
    close(number(*inputs, width=np.int64(5)), wanted, 0, 'a number')
    for width in 2**32 + 5, -2**31 - 1:
        refuses(lambda: number(*inputs, width=width), ValueError, 'a number is %d; expected an integer from …' % width)


@case
def kernels_need_no_home(folder):
    """Then they are stored among the temporary files, which is said once."""
    program = ('import attnc, numpy as np\n'
               'q = np.ones((1, 2, 70, 8), "f4")\n'
               'for mask in "causal", "none": print(float(attnc.attention(q, q, q, mask=mask).sum()))')
    os.mkdir(folder + '/tmp', 0o700)
    environment = {name: value for name, value in os.environ.items() if name not in ('HOME', 'XDG_CACHE_HOME')}
    environment['TMPDIR'], place = folder + '/tmp', '%s/tmp/attnc-cache-%d' % (folder, os.geteuid())
    for says in 1, 0:
        done = execute([sys.executable, '-c', program], env=environment)
        check(done.returncode == 0 and done.stdout == '1120.0\n' * 2, done.stdout + done.stderr)
        check(done.stderr.count('compiled kernels are stored in %s, because' % place) == says, done.stderr)
    def folders():
        program = ('from attnc._compiler import cache_folders, CompilerError\n'
                   'try: print(cache_folders())\nexcept CompilerError as error: print(error)')
        return execute([sys.executable, '-c', program], env=environment).stdout.strip()
    check(folders() == str([place]), folders())
    environment['XDG_CACHE_HOME'] = folder
    check(folders() == str([folder + '/attnc']), folders())
    os.chmod(folder + '/attnc', 0o777)
    check(folders() == str([place]), folders())
    os.chmod(folder + '/tmp', 0o777)
    check(folders() == 'there is no folder for compiled code: %s/attnc: others can put code there; %s: others can put code '
          'there; set XDG_CACHE_HOME to a folder' % (folder, place), folders())


@case
def numbers_of_threads_that_are_none(folder):
    """LLVM's OpenMP library ends a process for which OMP_NUM_THREADS is empty."""
    program = ('import attnc, numpy as np\n'
               'q = np.ones((1, 2, 70, 8), "f4")\n'
               'made = attnc.kernel("softmax_causal", set={"shape.head_dim": 8, "shape.value_dim": 8})\n'
               'print(float(made(q, q, q).sum()))')
    for text, says in ('', 0), (' ', 0), ('abc', 1), ('-3', 1), ('0', 1), ('9' * 20, 1), ('999999', 1), ('2,1', 0), ('2', 0):
        done = execute([sys.executable, '-c', program], env=dict(os.environ, OMP_NUM_THREADS=text))
        check(done.returncode == 0 and done.stdout == '1120.0\n', '%r: %s%s' % (text, done.stdout, done.stderr))
        check(done.stderr.count('OMP_NUM_THREADS is %r, which is ignored' % text) == says, '%r: %s' % (text, done.stderr))


@case
def arrays_named_like_arguments(folder):
    q, k, v = arrays()
    rng, names = np.random.default_rng(4), ['threads', 'saved', 'lambda', 'self', 'capacity', 'rewind', 'wanted']
    given = {name: rng.standard_normal(4).astype('f4') for name in names}
    score = 's * (1 + j % 3 * 0.1) + ' + ' + '.join('%s[h] * (i - j) * 0.1' % name for name in names)
    plain = score
    for name in names: plain = plain.replace(name + '[', 'plain_%s[' % name)
    expected = attnc.attention(q, k, v, score=plain, arrays={'plain_' + name: x for name, x in given.items()}, mask='causal')
    close(attnc.attention(q, k, v, score=score, arrays=given, mask='causal'), expected, 0, 'attention()')
    made = attnc.kernel({'name': 'named', 'similarity': {'softmax': {'modify': score}}, 'mask': 'causal',
                         'arrays': {name: {'shape': ['H']} for name in names} | {'start': {'shape': ['B', 'H', 'Nk']}},
                         'decay': {'log': '-fabs(start[b][h][t])'}, 'shape': {'head_dim': 8}})
    check([p.keyword for p in made.parameters] == ['start_', *(name + '_' for name in names)],
          'keywords are %s' % [p.keyword for p in made.parameters])
    words = {p.keyword: given[p.name] for p in made.parameters if p.name in given}
    rows = rng.standard_normal((2, 4, 5)).astype('f4') / 4
    k, v = k[:, :, :5], v[:, :, :5]
    out, state = made(q, k, v, start_=rows, **words), made.state(batch=2, capacity=8, **words)
    steps = [state.extend(*(a[:, :, n:n + 1] for a in (q, k, v)), start_=rows[:, :, n:n + 1]) for n in range(5)]
    close(np.concatenate(steps, 2), out, 1e-5, 'token by token')
    got = made.backward(q, k, v, out, np.ones_like(out), start_=rows, **words)
    check(got.dthreads_.shape == (4,) and np.isfinite(got.dlambda_).all(), 'gradients')
    refuses(lambda: made(q, k, v, start_=rows), ValueError, 'named needs the parameter threads_, float32 [H]')


@case
def numbers_are_arrays_without_axes(folder):
    q, k, v = arrays()
    s = np.einsum('bhid,bhjd->bhij', *(a.astype('f8') for a in (q, k.repeat(2, 1)))) / np.sqrt(8)
    causal = np.arange(7) <= np.arange(5)[:, None] + 2

    def wanted(cap):
        weight = np.where(causal, np.exp(cap * np.tanh(s / cap)), 0)
        return np.einsum('bhij,bhje->bhie', weight / weight.sum(-1, keepdims=True), v.repeat(2, 1))
    score = 'cap * tanh(s / cap)'
    for cap in 2.5, 3, np.float32(2.5), np.float64(2.5), np.int64(3), np.array(2.5, 'f4'):
        close(attnc.attention(q, k, v, score=score, mask='causal', arrays={'cap': cap}), wanted(float(cap)), 1e-5,
              'cap %r' % cap)
    made = attnc.kernel({'name': 'capped', 'similarity': {'softmax': {'modify': score}}, 'mask': 'causal',
                         'arrays': {'cap': {'shape': []}}, 'shape': {'head_dim': 8}})
    out, dout = made(q, k, v, cap=2.5), np.random.default_rng(5).standard_normal(q.shape).astype('f4')
    expected = ((wanted(2.501) - wanted(2.499)) * dout).sum() / 0.002
    for cap in 2.5, np.float64(2.5), np.array(2.5, 'f4'):
        got = made.backward(q, k, v, out, dout, cap=cap, wanted='dcap')
        check(got.dcap.shape == () and got.dcap.dtype == 'float32', 'dcap is %r' % got.dcap)
        close(got.dcap, expected, 1e-4, 'dcap of %r' % cap)
    for cap in 2.5, np.float32(2.5):
        state = made.state(2, cap=cap)
        rows = [state.extend(*(a[:, :, n:n + 1].copy() for a in (np.concatenate([q[:, :, :2], q], 2), k, v)))
                for n in range(7)]
        close(np.concatenate(rows, 2)[:, :, 2:], out, 1e-5, 'extend')
    refuses(lambda: made(q, k, v, cap='2'), TypeError, 'cap is a str; expected a NumPy array, or a tensor with __dlpack__')
    refuses(lambda: made(q, k, v, cap=np.ones(2, 'f4')), ValueError, 'cap has shape [2]; expected []')


@case
def arrays_that_lie_otherwise_are_copied(folder):
    """Arrays with unusual strides in their last axes are copied, with one warning."""
    made = small('hedgehog', name='copies')
    q, k, v = arrays()
    given = made.init(1, heads=4, kv_heads=2)
    turned = {word: np.asfortranarray(value) for word, value in given.items()}
    columns = np.repeat(k, 2, -1)[..., ::2]
    one = np.broadcast_to(v[..., :1, :1], v.shape)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        for _ in range(3):
            close(made(q[..., ::-1], columns, one, **turned), made(q[..., ::-1].copy(), k, one.copy(), **given), 0, 'a copy')
    wanted = ['q: its last axis has to be contiguous, but has a stride of -1 elements (strides [160, 40, 8, -1]); copies '
              'copies it at every call']
    check([str(w.message) for w in said][:1] == wanted and len(said) == 5, 'said %s' % [str(w.message) for w in said])
    state = small('softmax_causal').state(2)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for at in range(3):
            out = state.extend(*(a[:, :, at:at + 1, ::-1] for a in (q, k, v)))
    close(out, small('softmax_causal')(*(a[:, :, :3, ::-1].copy() for a in (q, k, v)))[:, :, 2:], 1e-6, 'a state')
    refuses(lambda: small('softmax_causal')(q, k, v, out=np.zeros(q.shape[:3] + (16,), 'f4')[..., ::2]), ValueError,
            'out: its last axis has to be contiguous, but has a stride of 2 …')


@case
def ctrl_c_leaves_nothing_in_the_cache(folder):
    """SIGINT goes only to the Python process, as in a notebook."""
    environment, times = counted(folder, 'sleep 60\n')
    process = subprocess.Popen([sys.executable, '-c', 'import attnc\nattnc.kernel("softmax", set={"shape.head_dim": 8})'],
                               cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not times():
        check(time.monotonic() < until and process.poll() is None, 'the compiler never started')
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    check(said.rstrip().endswith('KeyboardInterrupt'), said)
    left = os.listdir(os.path.join(folder, 'cache', 'attnc'))
    check(not left, 'left: %s' % left)


@case
def a_division_is_not_pythons(folder):
    """1/8 is 0.125 in Python and 0 in C. The message names the line of Python."""
    q = arrays(n=5, D=8)[0]
    refuses(lambda: attnc.attention(q, q, q, score='s - 1/8 * (i - j)'), attnc.SpecError,
            'attention.yaml:1:41: error: 1 / 8 is 0, because both are integers; write 1.0 / 8\n…')
    refuses(lambda: attnc.attention(q, q, q, weight='1 + 3/2 * s * s'), attnc.SpecError,
            'attention.yaml:1:40: error: 3 / 2 is 1, because both are integers; write 3.0 / 2\n…')
    refuses(lambda: attnc.attention(q, q, q, mask='j - i < 7/2'), attnc.SpecError,
            'attention.yaml:4:25: error: 7 / 2 is 3, because both are integers; write 7.0 / 2\n…')
    close(attnc.attention(q, q, q, score='s - 1.0/8 * (i - j)', mask='i / 64 == j / 64'),
          attnc.attention(q, q, q, score='s - 0.125 * (i - j)'), 1e-6, '1.0/8 is not 0.125')
    spec = {'similarity': {'softmax': {'modify': 's + 7/2'}}, 'shape': {'head_dim': 8}}
    program(folder, 'attnc.kernel(%r)' % spec, dict(os.environ))


@case
def compiled_once_on_a_machine(folder):
    environment, times = counted(folder, 'sleep 1.2\n')
    text = ('made = attnc.kernel("softmax", set={"shape.head_dim": 8}); q = np.ones((1, 1, 3, 8), "f4")\n'
            'assert (made(q, q, q) == 1).all()')
    both = [subprocess.Popen([sys.executable, '-c', 'import attnc, numpy as np\n' + text], cwd=folder, env=environment,
                             stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[1] for process in both]
    check([p.returncode for p in both] == [0, 0], str(said))
    check(times() == 1, 'two processes compiled %d times' % times())
    check(set(said) == {'attnc: compiling softmax (shape.head_dim=8) … (first time)\n'}, 'said %s' % said)
    again = program(folder, text, environment)
    check(times() == 1 and again.stderr == '', 'compiled again: ' + again.stderr)
    program(folder, 'import threading\nmade = []\n'
            'ts = [threading.Thread(target=lambda: made.append(attnc.kernel("linear_elu"))) for _ in range(6)]\n'
            '[t.start() for t in ts]; [t.join() for t in ts]\nassert len(set(map(id, made))) == 1, made', environment)
    check(times() == 2, 'six threads compiled %d times' % (times() - 1))
    program(folder, 'a, b = attnc.compile_all(["softmax_causal", ("softmax", {"shape.head_dim": 8})], gradients=True)\n'
            'assert (a.name, b.name, b.head_dim) == ("softmax_causal", "softmax", 8)', environment)
    check(times() == 5, 'compile_all compiled %d times' % (times() - 2))


@case
def several_threads_call_it(folder):
    made, wanted = small('softmax_causal'), {}
    inputs = {n: arrays(n=n, seed=n) for n in range(2, 8)}
    for n, given in inputs.items():
        wanted[n] = made(*given)
    wrong = []

    def caller(n):
        for _ in range(50):
            if not (made(*inputs[n]) == wanted[n]).all():
                wrong.append(n)
    threads = [threading.Thread(target=caller, args=(n,)) for n in inputs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not wrong, 'calls of several threads disturb each other')
    for n, given in inputs.items():   # A repeated call takes a short path, which must notice new arrays.
        close(made(*(a + 1 for a in given)), made(*((a + 1).copy() for a in given), threads=1), 0, 'the same shapes again')


@case
def repeated_calls_write_a_given_array(folder):
    made = small('softmax_causal')
    q, k, v = arrays(H=8, G=4, n=9, m=9)
    wanted, out = made(q, k, v), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    wide = np.full((*out.shape[:-1], 2 * out.shape[-1]), 7, q.dtype)
    for n in range(3):
        out[:] = 5
        check(made(q, k, v, out=out) is out, 'another array is returned')
        close(out, wanted, 0, 'call %d' % n)
        made(q, k, v, out=wide[..., :out.shape[-1]])
        close(wide[..., :out.shape[-1]], wanted, 0, 'call %d, rows with gaps' % n)
        check((wide[..., out.shape[-1]:] == 7).all(), 'elements between rows are written')
    # The layouts are those of known calls, so that only addresses and flags can be refused.
    room = np.zeros(2 * q.size, q.dtype)
    for at in 0, q.size // 2, q.size:
        one = room[at:at + q.size].reshape(q.shape)
        one[:] = q
        if at < q.size:
            refuses(lambda: made(one, k, v, out=room[:out.size].reshape(out.shape)), ValueError, 'out shares memory with q, which is read while out is written')
    close(made(one, k, v, out=room[:out.size].reshape(out.shape)), wanted, 0, 'next to q')
    out.flags.writeable = False
    refuses(lambda: made(q, k, v, out=out), ValueError, 'out is read-only…')
    room = np.zeros(4 * out.size + 1, 'u1')[1:].view(out.dtype).reshape(out.shape)
    refuses(lambda: made(q, k, v, out=room), ValueError, 'out is not aligned…')


@case
def a_forked_process_computes(folder):
    made = small('softmax_causal')
    q, k, v = arrays(H=8, G=8, n=64, m=64)
    out = made(q, k, v, threads=2)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if (made(q, k, v, threads=1) == out).all() else 1)
        finally:
            os._exit(2)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, 'not in a forked process')


@case
def threads_do_not_spin_for_long(folder):
    made = small('softmax_causal')
    library = ctypes.CDLL(made.library)
    if not hasattr(library, 'kmp_get_blocktime'):
        raise Skip('this is not of LLVM\'s OpenMP')
    waits = '; '.join(('import ctypes, numpy, attnc', 'made = attnc.kernel("softmax_causal")',
                       'a = numpy.zeros((1, 2, 100, 64), "float32")', 'made(a, a, a)',
                       'print(ctypes.CDLL(made.library).kmp_get_blocktime())'))
    for given, wanted in (None, '1'), ('77', '77'):
        environment = {name: value for name, value in os.environ.items() if name not in ('KMP_BLOCKTIME', 'OMP_WAIT_POLICY')}
        if given:
            environment['KMP_BLOCKTIME'] = given
        done = execute([sys.executable, '-c', waits], env=environment)
        check(done.stdout.strip() == wanted, 'they wait for %s ms, not %s%s' % (done.stdout.strip(), wanted, done.stderr))


@case
def says_what_it_is(folder):
    made = small('hedgehog')
    check([(p.keyword, p.shape, p.initial) for p in made.parameters] == [
        ('features_wq', ('H', 8, 8), 'identity'), ('features_wk', ('G', 8, 8), 'identity')], str(made.parameters))
    check(made.spec.startswith('description:') and 'shape.head_dim=8' in made.settings, made.spec)
    check('linear' in made.explain() and 'features.wq' in made.explain('--lengths', '64'), made.explain())
    page = made._repr_html_()
    for word in '<h4>hedgehog</h4>', 'features_wq', 'H, 8, 8', ('<svg', 'contract'), 'FLOP':
        check(any(w in page for w in ((word,) if isinstance(word, str) else word)), 'the page has no %s' % (word,))
    check(repr(made) == '<attnc.Kernel hedgehog: D = 8, E = 8, f32, quadratic or linear, features_wq[H, 8, 8], '
          'features_wk[G, 8, 8]>', repr(made))
    check(attnc.kernel({'similarity': {'linear': {'features': {'favor_positive': {'count': 4, 'seed': 9}}}},
                        'shape': {'head_dim': 8}}).seed == 9, 'the seed of the spec')


@case
def parameters_begin_as_they_should(folder):
    made = small('hedgehog').init(heads=3)
    check((made['features_wq'] == np.eye(8)).all() and made['features_wq'].shape == (3, 8, 8), 'features')
    norm = attnc.kernel({'prepare': [{'layernorm': {'affine': True}}], 'similarity': 'softmax', 'shape': {'head_dim': 8}}).init()
    check((norm['q_norm_weight'] == 1).all() and (norm['k_norm_bias'] == 0).all(), str(norm))
    sketch = small('polysketch_r32')
    q, k, v = arrays()
    close(sketch(q, k, v, **sketch.init(5)), sketch(q, k, v, seed=5), 0, 'what init() draws')
    net = small('polysketch_learned_r32').init(1)
    check(abs(net['sketch_g1_w0'].std() * np.sqrt(8) - 1) < 0.1, 'the scale of a matrix')
    check(not (net['sketch_g1_w0'] == small('polysketch_learned_r32').init(2)['sketch_g1_w0']).any(), 'the seed')
    refuses(lambda: small('hedgehog').init(), TypeError,
            'hedgehog: features_wq has the shape [H, 8, 8]; init() needs heads=')


@case
def errors_are_exact(folder):
    made = small('softmax_causal')
    q, k, v = arrays()
    for given, kind, message in (
            ((q.astype('f8'), k, v), TypeError, 'q is float64; softmax_causal takes float32'),
            ((q, k[..., :4], v), ValueError, 'k has shape [2, 2, 7, 4]; expected [B, G, n_k, 8] with B = 2…'),
            ((q, k[:1], v), ValueError, 'k has shape [1, 2, 7, 8]; expected [B, G, n_k, 8] with B = 2…'),
            ((q[0], k, v), ValueError, 'q has shape [4, 5, 8]; expected [B, H, n_q, 8]…'),
            ((q[:, :3], k, v), ValueError, 'q has 3 heads and k has 2: q needs a multiple of the heads of k'),
            ((q, k, None), TypeError, 'v is missing; expected a NumPy array, or a tensor with __dlpack__')):
        refuses(lambda: made(*given), kind, message)
        refuses(lambda: made(*given), kind, message)   # these calls are refused again, after their shapes were used
    made(q, k, v)
    odd = np.frombuffer(b'\0' * (q.nbytes + 1), 'u1')[1:].view('f4').reshape(q.shape)
    for wrong in ((odd, k, v), (odd, odd[:, :2], odd[:, :2])):   # copied in the first call, and in repeated ones
        plain = [a.copy() for a in wrong]
        with warnings.catch_warnings(record=True):
            warnings.simplefilter('always')
            for _ in range(3): close(made(*wrong), made(*plain), 0, 'an array that is not aligned')
    swapped = [a.swapaxes(1, 2) for a in (q, k, v)]
    refuses(lambda: made(*swapped), ValueError, 'k has shape [2, 7, 2, 8]; expected [B, K, n_k, 8] with B = 2, K = 5 (B: batch, '
            'K: heads of q and k, n_k: keys); if it is [batch, positions, heads, size], pass k.swapaxes(1, 2)')
    for wrong in q.tolist(), memoryview(q), bytearray(8):
        refuses(lambda: made(wrong, k, v), TypeError, 'q is a %s; expected a NumPy array, or a tensor with __dlpack__, such as '
                'numpy.asarray(q)' % type(wrong).__name__)
    for bad, says in ({'softmax': {'scale': float('nan')}}, 'similarity.softmax.scale is nan'), (
            {'custom': {'weight': [1, np.float32('inf')]}}, 'similarity.custom.weight[1] is inf'):
        refuses(lambda: attnc.kernel({'similarity': bad}), attnc.SpecError, says + '; expected a finite number')
        refuses(lambda: attnc.kernel('softmax', set={'similarity': bad}), attnc.SpecError, says + '; expected a finite number')
    names = attnc.list()
    check('softmax_causal' in names and len(names) > 50 and set(attnc.list('window')) < set(names), names)
    refuses(lambda: attnc.list('nothing-has-this'), attnc.SpecError, 'no spec that comes with attnc has…')
    refuses(lambda: made(q, k, v, bias=q), TypeError, "softmax_causal has no parameter 'bias'; it takes none")
    refuses(lambda: made(q, k, v, seed=1), TypeError, 'softmax_causal has no random parameters and no dropout, so it takes '
            'no seed')
    refuses(lambda: made(q, k, v, threads=-1), ValueError, 'threads is -1; expected 0 to 2147483647')
    for wrong in np.array([1, 2]), 1.5:
        said = 'threads is a %s; expected an integer' % type(wrong).__name__
        refuses(lambda: made(q, k, v, threads=wrong), TypeError, said)
        refuses(lambda: made.state(threads=wrong), TypeError, said)
    refuses(lambda: small('hedgehog')(q, k, v), ValueError,
            'hedgehog needs the parameter features_wq, float32 [H, 8, 8]')
    refuses(lambda: small('hedgehog')(q, k, v, features=q), TypeError,
            "hedgehog has no parameter 'features'; it takes features_wq, features_wk")
    refuses(lambda: attnc.kernel({'similarity': 'sofmax', 'shape': {'head_dim': 8}}), attnc.SpecError,
            "attention.yaml:1:13: error: unknown similarity 'sofmax'\nsimilarity: \"sofmax\"\n            ^\n"
            "attention.yaml:1:13: note: did you mean 'softmax'?")
    refuses(lambda: attnc.kernel('sofmax'), attnc.SpecError, 'sofmax: no such file, and attnc comes with no spec '
            "of that name; did you mean 'softmax'?")
    refuses(lambda: attnc.kernel('softmax', set={'mask': 'casual'}), attnc.SpecError,
            "softmax: error: --set mask=casual: unknown mask 'casual'\nsoftmax: note: did you mean 'causal'?")
    refuses(lambda: attnc.kernel('gone/mine.yaml'), FileNotFoundError, "[Errno 2] No such file or directory: 'gone/mine.yaml'")
    refuses(lambda: attnc.kernel(3), TypeError, 'the spec is a int; expected a file, the name of a spec that comes with '
            'attnc, or a dictionary')
    refuses(lambda: attnc.kernel({'similarity': object()}), TypeError, 'a spec cannot contain <object object …')
    path = os.path.join(folder, 'wrong.yaml')
    with open(path, 'w') as f:
        f.write('similarity: softmax\nshape: {head_dim: 0}\n')
    refuses(lambda: attnc.kernel(path), attnc.SpecError, path + ':2:…')


@case
def sequences_grow(folder):
    """extend in pieces gives the output for the whole sequence."""
    q, k, v = arrays(n=60, m=60)
    for name in 'softmax_causal', 'linear_elu', 'packed_documents':
        made = small(name)
        ids = np.repeat(np.arange(4), 15)[None].repeat(2, 0).astype('int32')

        def of(x): return {'document': x} if name == 'packed_documents' else {}
        wanted = made(q, k, v, **of(ids))
        state = made.state(2, capacity=60)
        parts = [state.extend(*(a[:, :, at:at + n] for a in (q, k, v)), **of(ids[:, at:at + n]))
                 for at, n in ((0, 35), (35, 1), (36, 4))]
        close(np.concatenate(parts, 2), wanted[:, :, :40], 1e-5, name)
        check(state.lengths == [40, 40], '%s has %s tokens' % (name, state.lengths))
        again, other = made.load_state(state.tobytes(), capacity=60), state.copy()
        new, later = [a[:, :, 40:] for a in (q, k, v)], of(ids[:, 40:])
        out = np.full((2, 4, 20, 8), np.nan, np.float32)
        check(state.extend(*new, lengths=[20, 3], out=out, **later) is out, 'another array than out=')
        close(out[0], wanted[0, :, 40:], 1e-5, name)
        close(out[1, :, :3], wanted[1, :, 40:43], 1e-5, name)
        check(np.isnan(out[1, :, 3:]).all() and state.lengths == [60, 43], 'tokens that there are not were written')
        for one in again, other:
            check(np.array_equal(one.extend(*new, **later)[0], out[0]), name + ': a copy goes on otherwise')
        state.truncate(40, 1)
        state.assign(1, again, 1)
        check(state.lengths == [60, 60], str(state.lengths))
        row = [np.concatenate([a[:1, :, :5], a[1:, :, :9]], 2) for a in (q, k, v)]
        packed, first = made.state(2, capacity=60), of(np.concatenate([ids[:1, :5], ids[1:, :9]], 1))
        one = packed.extend(*row, cu_seqlens=[0, 5, 14], **first)
        close(one, np.concatenate([wanted[:1, :, :5], wanted[1:, :, :9]], 2), 1e-5, name + ': in one row')
        check(packed.lengths == [5, 9], 'lengths of sequences in one row: %s' % packed.lengths)
        refuses(lambda: packed.extend(*row, cu_seqlens=[0, 9, 5], **first), ValueError, 'cu_seqlens are [0, 9, 5]; expected 3 '
                'ascending numbers from 0 to 14')
        data = bytearray(state.tobytes())
        data[100] ^= 1
        for wrong in bytes(data), bytes(data[:-1]), b'':
            refuses(lambda: made.load_state(wrong), ValueError,
                    name + ': the state belongs to another kernel or other sizes, or is truncated or damaged')
    refuses(lambda: made.load_state(None), TypeError, 'packed_documents: data is a NoneType; expected the bytes from '
            'State.tobytes()')
    refuses(lambda: state.extend(*new, **later), ValueError, 'packed_documents: a sequence would grow beyond the capacity of its state, '
            'or beyond what the spec allows')
    refuses(lambda: state.extend(q, k[:, :1], v, document=ids), ValueError, 'k has shape [2, 1, 60, 8]; expected [B, G, n, 8] …')
    refuses(lambda: state.truncate(61), ValueError, 'sequence 0 has 60 tokens; its new length must be 0, or from 0 to 60, not 61')
    refuses(lambda: small('softmax_causal').state(1, capacity=1 << 50).extend(q[:1], k[:1], v[:1]), MemoryError, 'a state of …')
    refuses(lambda: small('softmax').state(), attnc.SpecError, 'softmax: error: without a mask …')


@case
def ids_of_tokens_ascend(folder):
    made = small('linear_elu', mask='{all: [causal, document]}', algorithm='linear', block=16)
    q, k, v = arrays(n=60, m=60)
    ids = np.full((2, 60), 5, np.int32)
    state = made.state(2)
    state.extend(*(a[:, :, :20] for a in (q, k, v)), document=ids[:, :20])
    for change, lengths in ((5 + np.arange(10) // 3 % 2, [20, 20]), (4, [20, 20]), (5, [30, 30]), (4, [30, 30])):
        ids[1, 20:30] = change
        extend = lambda: state.extend(*(a[:, :, 20:30] for a in (q, k, v)), document=ids[:, 20:30])
        if lengths[0] > state.lengths[0]: extend()
        else: refuses(extend, ValueError, 'linear_elu: ids decrease from one key to the next…')
        check(state.lengths == lengths, 'lengths: %s' % state.lengths)


@case
def verifies_trees(folder):
    """A call with a tree of tokens gives each token the row that it has after its ancestors alone. One path is kept."""
    q, k, v = arrays(n=60, m=60)
    spec = {'arrays': {'base': {'shape': ['B'], 'type': 'int'}, 'ancestor': {'shape': ['B', 'Nq', 64], 'type': 'bool'}},
            'similarity': 'softmax', 'shape': {'head_dim': q.shape[-1], 'value_dim': v.shape[-1]},
            'mask': {'all': ['causal', {'expr': 'j < base[b] || ancestor[b][row][j - base[b]]'}]}}
    pages, table = attnc.Pages(8, tokens=16), np.arange(8, dtype='int32').reshape(2, 4)
    base = np.zeros(2, 'int32')   # calls read what the caller writes there
    state = attnc.kernel(spec).state(2, pages=pages, table=table, base=base)
    parents = np.array([[-1, 0, 0, 1, 2, 4, -1], [-1, 0, 1, 1, 1, 3, 5]])
    mask, depths = attnc.ancestors(parents)
    check(mask.shape == (2, 7, 64) and depths.tolist() == [[0, 1, 1, 2, 2, 3, 0], [0, 1, 2, 2, 2, 3, 4]], 'depths')
    chain, _ = attnc.ancestors(np.arange(-1, 39))
    part = lambda tokens: [a[:, :, tokens] for a in (q, k, v)]
    state.extend(*part(range(40)), ancestor=np.stack([chain] * 2))
    base[:] = state.lengths
    out = state.extend(*part(range(40, 47)), ancestor=mask)
    for b in range(2):
        path = np.flatnonzero(mask[b, 5])
        tokens = [*range(40), *(40 + path)]
        wanted = small('softmax_causal')(*(a[b:b + 1, :, tokens] for a in (q, k, v)))
        close(out[b:b + 1, :, path], wanted[:, :, 40:], 1e-5, 'a path')
        state.keep(path, b)
    check(state.lengths == [44, 44], 'lengths %s' % state.lengths)
    refuses(lambda: attnc.ancestors([0]), ValueError, 'a parent is not -1 or the number of an earlier token')
    refuses(lambda: attnc.ancestors([-1, -2]), ValueError, 'a parent is not -1 or the number of an earlier token')
    refuses(lambda: attnc.ancestors([-1, 0], size=1), ValueError, 'size is 1; expected 2 or more, the number of tokens')
    refuses(lambda: attnc.ancestors([0.5]), ValueError, 'parents is float64 [1]; expected integers [tokens] or [batch, tokens]')


@case
def a_path_of_a_draft_is_kept(folder):
    q, k, v = arrays(n=60, m=60)
    made = small('softmax_causal')
    state, alone = made.state(2, capacity=60), made.state(2, capacity=60)
    refuses(lambda: state.keep([0]), ValueError, 'the state is empty: expected a call of extend() before')
    tokens = [0, 1, 4, 7]
    state.extend(*(a[:, :, :8] for a in (q, k, v)))
    for sequence in range(2): state.keep(tokens, sequence)
    alone.extend(*(a[:, :, tokens] for a in (q, k, v)))
    new = [a[:, :, 8:12] for a in (q, k, v)]
    check(np.array_equal(state.extend(*new), alone.extend(*new)) and state.lengths == [8, 8], 'the path is not what was kept')
    refuses(lambda: state.keep([2, 1]), ValueError, 'path is [2, 1]; expected ascending numbers from 0')


@case
def sequences_grow_by_tokens(folder):
    """Equal calls of extend take a short path, which must notice changed arrays."""
    for name, given in (('softmax_causal', {}), ('sliding_window', {}), ('polysketch_r32', {'seed': 1}), ('hedgehog', None)):
        made = small(name)
        given = made.init(1, heads=4, kv_heads=2) if given is None else given
        q, k, v = arrays(n=20, m=20)
        wanted = made(q, k, v, **given)
        state = made.state(2, capacity=20, **given)
        spoilt = [np.zeros_like(a[:, :, :1]) for a in (q, k, v)]
        here, whole, run = threading.get_ident(), [], _Call.run

        def counted(call, *arguments):
            if threading.get_ident() == here: whole.append(call)   # other cases run in other threads
            return run(call, *arguments)
        with unittest.mock.patch.object(_Call, 'run', counted):
            for at in range(20):
                token = [np.ascontiguousarray(a[:, :, at:at + 1]) for a in (q, k, v)]
                close(state.extend(*token), wanted[:, :, at:at + 1], 1e-5, '%s: token %d' % (name, at))
                if at == 9:   # these tokens are removed again
                    state.extend(*spoilt)
                    state.truncate(10)
        check(len(whole) == 1, '%s: %d of 21 calls went the whole way' % (name, len(whole)))
        if name == 'softmax_causal':
            refuses(lambda: state.extend(*spoilt), ValueError,
                    name + ': a sequence would grow beyond the capacity of its state, or beyond what the spec allows')
            check(state.lengths == [20, 20], 'it holds %s tokens' % state.lengths)


@case
def tokens_are_appended_without_queries(folder):
    """A state is the same whether a call had queries or not."""
    fewer, (q, k, v), given, _ = of_fewer_keys()
    kernels = [(small('softmax_causal'), *arrays(n=30, m=30), {}), (small('linear_elu_decode'), *arrays(n=30, m=30), {}),
               (fewer, q, k, v, given), (of_keys()[0], *arrays(n=30, m=30)[:2], None, {})]
    for made, q, k, v, given in kernels:
        def part(*some):
            piece = lambda x: None if x is None else np.ascontiguousarray(x[:, :, slice(*some)])
            return (piece(q), piece(k), piece(v)), {word: piece(x) for word, x in given.items()}

        def extend(state, new, queries=True):
            return state.extend(new[0][0] if queries else None, *new[0][1:], **new[1])
        with_q, without = made.state(2, capacity=30), made.state(2, capacity=30)
        refuses(lambda: extend(without, part(3), False), ValueError,
                'q is None, but the first call sets the number of heads: it needs a q, which may have no rows')
        extend(without, part(0))
        check(extend(without, part(22), False) is None, 'a result without queries')
        extend(with_q, part(22))
        check(without.lengths == with_q.lengths == [22, 22], 'other lengths')
        rows = [extend(state, part(22, 30)) for state in (with_q, without)]
        check(np.array_equal(*rows), made.name + ': another state')
        refuses(lambda: without.extend(None, *part(0)[0][1:], out=rows[0], **part(0)[1]), ValueError,
                'q is None, so there is nothing to write to out or statistics')


@case
def states_take_rows_of_arrays(folder):
    """extend() takes the new rows of arrays with an axis Nk or Nq."""
    spec = {'name': 'rows', 'mask': 'causal', 'shape': {'head_dim': 8}, 'arrays': {
        'far': {'shape': ['H', 'Nk']}, 'gate': {'shape': ['B', 'H', 'Nk', 2]}, 'own': {'shape': ['B', 'Nq']},
        'tau': {'shape': ['H']}}, 'similarity': {'softmax': {
            'modify': 's * tau[h] + far[h][j] * own[b][row] + gate[b][h][j][1] * gate[b][h][i][0]'}}}
    made, rng = attnc.kernel(spec), np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, heads, 30, 8), np.float32) for heads in (4, 2, 2))
    far, gate, own, tau = (rng.standard_normal(shape, np.float32) for shape in ((4, 30), (2, 4, 30, 2), (2, 30), (4,)))
    whole, state = made(q, k, v, far=far, gate=gate, own=own, tau=tau), made.state(2, capacity=30, tau=tau)
    for at, n in (0, 17), (17, 1), (18, 12):
        piece = slice(at, at + n)
        rows = {'far': far[:, piece].copy(), 'gate': gate[:, :, piece].copy(), 'own': own[:, piece].copy()}
        close(state.extend(*(a[:, :, piece] for a in (q, k, v)), **rows), whole[:, :, piece], 1e-5, 'rows %d' % at)
        if at == 17:   # loads the saved state, removes the last token, and appends it again
            state = made.load_state(state.tobytes(), tau=tau)
            state.truncate(17)
            close(state.extend(*(a[:, :, piece] for a in (q, k, v)), **rows), whole[:, :, piece], 1e-5, 'again')
    token = [a[:, :, :1] for a in (q, k, v)]
    refuses(lambda: state.extend(*token, gate=gate[:, :, :1], own=own[:, :1]), ValueError,
            'rows needs the parameter far, float32 [H, n]')
    refuses(lambda: state.extend(*token, far=far, gate=gate[:, :, :1], own=own[:, :1]), ValueError,
            'far has shape [4, 30]; expected [H, n]…')
    refuses(lambda: state.extend(*token, tau=tau), TypeError, 'extend() of rows takes no tau=')


@case
def v_may_have_more_heads(folder):
    made, (q, k, v), given, repeated = of_fewer_keys()
    wanted = made(*repeated(q, k, v), **given)
    for _ in range(2):   # the second call skips checks of the first
        close(made(q, k, v, **given), wanted, 0, 'forward')
    saved = attnc.Saved()
    out = made(q, k, v, saved=saved, **given)
    gradients = made.backward(q, k, v, out, out, saved=saved, **given)
    others = made.backward(*repeated(q, k, v), wanted, wanted, **given)
    for name, gradient, other in zip(gradients._fields, gradients, others):
        if name in ('dq', 'dk'): other = other[:, ::2] + other[:, 1::2]
        close(gradient, other, 0, name)
    state = made.state(2)
    for at, n in (0, 17), (17, 1), (18, 12):
        piece = slice(at, at + n)
        rows = {name: a[:, :, piece].copy() for name, a in given.items()}
        close(state.extend(*(a[:, :, piece] for a in (q, k, v)), **rows), wanted[:, :, piece], 1e-6, 'rows %d' % at)
        state = made.load_state(state.tobytes())
    token = {name: a[:, :, :1].copy() for name, a in given.items()}
    refuses(lambda: state.extend(*(a[:, :, :1] for a in repeated(q, k, v)), **token), ValueError,
            'q has shape [2, 4, 1, 8]; expected [B, K, n, 8] with B = 2, K = 2…')
    refuses(lambda: made(q, k, v[:, :3], **given), ValueError,
            'v has 3 heads and q and k have 2: v needs a multiple of the heads of q')
    refuses(lambda: made(q, k[:, :1], v, **given), ValueError,
            'k has shape [2, 1, 30, 8]; expected [B, K, n_k, 8] with B = 2, K = 2…')


@case
def threads_that_extend_a_state_take_turns(folder):
    tokens = np.random.default_rng(0).standard_normal((4, 200, 1, 1, 1, 8)).astype('f4')
    state, barrier = small('softmax_causal').state(1, capacity=801), threading.Barrier(4)
    zero = np.zeros((1, 1, 1, 8), 'f4')

    def caller(own):
        barrier.wait()
        for token in tokens[own]:
            state.extend(zero, token, token)
    threads = [threading.Thread(target=caller, args=(n,)) for n in range(4)]
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-6)
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    check(state.lengths == [800], 'it has %s tokens of 800' % state.lengths)
    # for a query of zeros, all keys have equal weights
    close(state.extend(zero, zero, zero), tokens.sum((0, 1)) / 801, 1e-6, 'what it holds')


@case
def sequences_are_joined(folder):
    q, k, v = arrays(n=60, m=60)
    made = small('linear_elu')
    wanted = made(q, k, v)
    left, right = made.state(2), made.state(2)
    left.fold(right)   # folds an empty state
    for state, at, n in (left, 0, 37), (right, 37, 13):
        state.extend(*(a[:, :, at:at + n] for a in (q, k, v)))
    left.fold(right)
    check(left.lengths == [50, 50] and right.lengths == [13, 13], 'joined: %s' % left.lengths)
    close(left.extend(*(a[:, :, 50:] for a in (q, k, v))), wanted[:, :, 50:], 1e-5, 'joined')
    empty = made.state(2)
    empty.fold(right)
    check(empty.lengths == [13, 13], 'into an empty one: %s' % empty.lengths)
    refuses(lambda: left.fold(left), ValueError, 'a state cannot be appended to itself')
    softmax = [small('softmax_causal').state(2, capacity=60) for _ in range(2)]
    for state in softmax:
        state.extend(q, k, v)
    refuses(lambda: softmax[0].fold(softmax[1]), ValueError,
            'softmax_causal: states, or results, of this kernel cannot be joined')


@case
def states_of_the_delta_rule_are_joined(folder):
    q, k, v = arrays(n=150, m=150)
    q = q[:, :k.shape[1]]
    made = small('deltanet', **{'delta.rate': 0.5, 'emit': ['forward', 'decode']})
    wanted, ends = made(q, k, v), (0, 64, 128, 141)
    runs = [made.state(2, start=at, foldable=True) for at in ends[:3]]
    for state, at, end in zip(runs, ends, ends[1:]):
        state.extend(*(a[:, :, at:end] for a in (q, k, v)))
    runs[1].fold(runs[2])
    runs[0].fold(runs[1])
    joined = made.load_state(runs[0].tobytes())
    check(joined.foldable and joined.lengths == [141, 141], 'joined: %s' % joined.lengths)
    close(joined.extend(*(a[:, :, 141:] for a in (q, k, v))), wanted[:, :, 141:], 1e-5, 'joined')
    plain, other = made.state(2), made.state(2)
    for state in plain, other:
        state.extend(q, k, v)
    refuses(lambda: plain.fold(other), ValueError, 'deltanet: states, or results, of this kernel cannot be joined')
    refuses(lambda: plain.fold(joined), ValueError, 'the states differ in batch, heads or foldable')


@case
def states_decay_and_go_back(folder):
    """States of a decay and of the delta rule take gates and rates of new tokens, and remove the tokens of a draft."""
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal((2, 3, 90, 8), np.float32) for _ in range(3))
    for name in 'mamba2', 'gated_deltanet', 'forgetting':
        made = attnc.kernel(name, set={'shape.head_dim': 8})
        gates = {'gate': -np.abs(rng.standard_normal((2, 3, 90), np.float32)) / 8}
        if name == 'gated_deltanet': gates['beta'] = rng.random((2, 3, 90), np.float32)
        given = {}
        if name == 'mamba2': gates, given = {'step': -gates['gate']}, {'rate': np.zeros(3, np.float32)}
        whole, state = made(q, k, v, **gates, **given), made.state(2, capacity=90, rewind=20, **given)

        def feed(state, at, n):
            rows = {word: gate[:, :, at:at + n].copy() for word, gate in gates.items()}
            out = state.extend(*(a[:, :, at:at + n] for a in (q, k, v)), **rows)
            close(out, whole[:, :, at:at + n], 1e-5, '%s: tokens from %d' % (name, at))

        feed(state, 0, 70)
        for at in range(70, 90): feed(state, at, 1)
        check(max(state.min_lengths) <= 70, '%s can go back to %s' % (name, state.min_lengths))
        again = made.load_state(state.tobytes(), capacity=90, **given)
        for each, length in (state, 70), (again, 75):
            each.truncate(length)
            feed(each, length, 90 - length)


@case
def strong_decays_leave_the_thread_as_it_was(folder):
    """Kernels with decays take subnormal numbers for 0; the threads that call them do not, before and after."""
    rng = np.random.default_rng(11)
    made, bare = attnc.kernel('gla', set={'shape.head_dim': 8}), np.full(4, 2.0**-130, np.float32)
    q, k, v = (rng.standard_normal((1, 2, 200, 8), np.float32) for _ in range(3))
    for threads in 1, 2:
        out = made(q, k, v * 2.0**-100, gate=np.full((1, 2, 200, 8), -3, np.float32), threads=threads)
        check(not np.any((out != 0) & (np.abs(out) < 2.0**-126)), '%d threads: results are subnormal' % threads)
        check(np.all(bare + bare == 2.0**-129), '%d threads: a sum of subnormal numbers is 0 after a call' % threads)


@case
def the_machine_fails_it(folder):
    for setting, words in (({'ATTNC_CC': 'nothing-like-it'}, "no C compiler found: $ATTNC_CC is 'nothing-like-it'"),
                           ({'ATTNC_CACHE_SIZE': '0'}, 'cannot store the library of')):
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, 'cache'), **setting)
        said = program(folder, 'try: attnc.kernel("softmax")\nexcept attnc.CompilerError as error: print(error)',
                       environment).stdout
        check(words in said, said)


@case
def another_program(folder):
    """A program with another attnrt.h is refused, because its kernels are called in another way."""
    from attnc import _compiler

    other = os.path.join(folder, 'attnc')
    with open(other, 'w') as f:
        f.write("""#!/bin/sh\n"%s" "$@" | sed 's/"header":"[^"]*"/"header":"0"/'\n""" % _compiler.program())
    os.chmod(other, 0o755)
    said = program(folder, 'try: attnc.kernel("softmax")\nexcept attnc.CompilerError as error: print(error)',
                   dict(os.environ, ATTNC=other)).stdout
    check(said.startswith('%s is from another version of attnc than the Python package in ' % other), said)


@case
def the_command_comes_with_it(folder):
    program_ = os.path.join(os.path.dirname(sys.executable), 'attnc')
    check(execute([program_, '--version']).stdout == 'attnc %s\n' % attnc.__version__, 'another version')
    check(execute([program_, 'softmax', '--standalone'], cwd=folder).returncode == 0, 'it does not compile')
    check(sorted(os.listdir(folder)) == ['softmax.c', 'softmax.h'], str(os.listdir(folder)))


if __name__ == '__main__':
    sys.exit(main(__doc__))
