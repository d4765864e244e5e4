"""Functions that the cases of the Python package share."""
import os
import sys

sys.dont_write_bytecode = sys.pycache_prefix is None
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../lib', '../numeric/lib')]
import quick

# kernels of tests need not be fast, and idle threads must not take cores from other tests
os.environ['ATTNC_CFLAGS'] = '-O0'
os.environ['ATTNC_CC'] = quick.compiler()
os.environ['ATTNC_QUICK'] = '0'   # with -O0, whole kernels take no longer than those of a first call
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
os.environ.setdefault('TORCHINDUCTOR_VEC_ISA_OK', '0')   # to find the processor's vectors takes longer than the tests
os.environ.setdefault('TORCHINDUCTOR_COMPILE_THREADS', '1')   # more would start processes, each of which loads PyTorch

import numpy as np

import attnc
from suite import WHOLE, Failure, Skip, Suite, check, compiler, execute

CASES = []


def case(function):
    CASES.append(function)
    return function


def small(spec, **more):
    """Returns a kernel with 8 elements per row."""
    return attnc.kernel(spec, set={'shape.head_dim': 8, 'shape.value_dim': 8, **more})


def of_keys(**more):
    """Returns a kernel that uses the first 5 elements of keys as values, and a function that must give equal
    results. The function passes these elements as separate values."""
    made = [small('softmax_causal', **{'shape.value_dim': 5, 'shape.values': values}, **more) for values in ('keys', 'given')]
    return made[0], lambda q, k, **other: made[1](q, k, k[..., :5], **other)


def masked(**more):
    """Returns a kernel with a mask as a parameter, and such a mask."""
    made = attnc.kernel({'name': 'masked', 'similarity': 'softmax', 'shape': {'head_dim': 8},
                         'mask': {'all': ['causal', {'expr': 'seen[b][row][j]'}]},
                         'arrays': {'seen': {'shape': ['B', 'Nq', 'Nk'], 'type': 'bool'}}, **more})
    seen = np.zeros((2, 90, 150), bool)
    seen[:, ::3, :40] = seen[1, 40:, 100:] = True
    return made, seen


def of_integers():
    """Returns kernels with arrays of integers, and such arrays."""
    q, k, v = arrays(n=40, m=40)
    ids = np.repeat(np.arange(4), 10)[None].repeat(2, 0)
    blocks = np.tile(np.array([[0, 1], [1, -1], [2, 0]]), (2, 4, 1, 1))
    softmax = {'similarity': 'softmax', 'shape': {'head_dim': 8}}
    return (q, k, v), (
        (attnc.kernel({**softmax, 'name': 'packed', 'mask': {'all': ['causal', 'document']}}), {'document': ids}),
        (attnc.kernel({**softmax, 'name': 'padded', 'mask': 'lengths'}), {'lengths': np.array([33, 7])}),
        (attnc.kernel({**softmax, 'name': 'listed', 'mask': {'blocks': {'block': 16, 'count': 2}}}), {'blocks': blocks}),
        (attnc.kernel({**softmax, 'name': 'placed_by', 'mask': {'expr': 'at[b][i] >= at[b][j]'},
                       'arrays': {'at': {'shape': ['B', 'Nk'], 'type': 'int'}}}), {'at': ids[:, ::-1]}))


def of_fewer_keys():
    """Returns a kernel, arrays q, k, v and parameters, where q and k have 2 heads and v has 4, and a function that
    repeats heads."""
    made = small('gated_deltanet', emit='[forward, backward, decode]')
    rng = np.random.default_rng(4)
    inputs = [rng.standard_normal((2, heads, 30, 8), np.float32) for heads in (2, 2, 4)]
    given = {'gate': -rng.random((2, 4, 30), np.float32), 'beta': rng.random((2, 4, 30), np.float32)}
    return made, inputs, given, lambda q, k, v: (q.repeat(2, 1), k.repeat(2, 1), v)


def arrays(dtype='float32', B=2, H=4, G=2, n=5, m=7, D=8, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in ((B, H, n, D), (B, G, m, D), (B, G, m, D))]


def close(one, two, limit, why):
    one, two = np.asarray(one, np.float64), np.asarray(two, np.float64)
    check(one.shape == two.shape, '%s: shapes %s and %s' % (why, one.shape, two.shape))
    apart = np.max(np.abs(one - two), initial=0)
    check(apart <= limit, '%s: they differ by %s' % (why, apart))


def refuses(function, kind, message):
    """Checks the message of the exception. If `message` ends with …, only the beginning is compared."""
    try:
        made = function()
    except Exception as error:
        said = str(error)
        fits = said.startswith(message[:-1]) if message.endswith('…') else said == message
        check(type(error) is kind and fits, 'raised %s: %s\nnot %s: %s' % (type(error).__name__, said, kind.__name__, message))
    else:
        raise Failure('no error, but %r, for: %s' % (type(made), message))


def main(description):
    suite = Suite(description)
    for function in CASES:
        suite.case(function.__name__, lambda folder, made=function: made(folder))
    return suite.run()
