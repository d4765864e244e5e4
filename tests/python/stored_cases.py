"""Tests calls with stored keys and values (`storage` of a spec), with only NumPy. Results are compared with definitions.py,
which takes the rounded keys and values."""
import pickle
import warnings

from common import *

import definitions
import stored

TYPES = 'f16', 'bf16', 'fp8', 'i8', 'i8_32', 'i8_64', 'q8_0', 'q4_0'
PAIRS = [(kind, kind) for kind in TYPES] + [('q8_0', 'f16'), ('f16', 'q4_0'), ('i8', 'bf16'), ('fp8', 'i8_64'), ('q4_0', 'q8_0')]


def spec_of(keys, values, **more):
    return {'name': 'stored', 'similarity': 'softmax', 'mask': {'all': ['causal', 'lengths']}, 'shape': {'head_dim': 64},
            'storage': {'k': keys, 'v': values}, **more}


def numbers(shape, seed=0):
    """Returns numbers whose rows, and parts of rows, have different scales."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape, np.float32) * np.exp(rng.standard_normal((*shape[:-1], 1), np.float32))
    made[..., ::9] *= 0.1
    return made


@case
def rows_are_what_kernels_take(folder):
    x = numbers((2, 3, 5, 192))
    x[0, 0, 0] = 0
    for kind in TYPES:
        rows = stored.packed(x, kind)
        made = attnc.quantize(x, kind)
        check(made.rows.dtype == rows.dtype and np.array_equal(made.rows, rows), '%s: other bytes' % kind)
        check(made.shape == x.shape and made.type == kind and made.elements == 192, '%s: %r' % (kind, made))
        wanted = stored.unpacked(rows, kind, 192)
        check(np.array_equal(made.dequantize(), wanted), '%s: other numbers' % kind)
        check(np.array_equal(attnc.Stored(rows[:, 1:], kind).dequantize(), wanted[:, 1:]), '%s: rows with gaps' % kind)
        check(np.array_equal(attnc.quantize(x[:, :, ::2], kind).rows, rows[:, :, ::2]), '%s: numbers with gaps' % kind)
        half = x.astype('f2')
        check(np.array_equal(attnc.quantize(half, kind).rows, stored.packed(half, kind)), '%s: of float16' % kind)
        check(np.array_equal(pickle.loads(pickle.dumps(made)).rows, rows), '%s: pickled' % kind)
        check(attnc.quantize(x[:, :, :0], kind).dequantize().shape == (2, 3, 0, 192), '%s: no rows' % kind)
        check(attnc.quantize(x[0, 0, 0], kind).shape == (192,), '%s: one row' % kind)
    check(repr(made) == '<attnc.Stored: [2, 3, 5, 192] in q4_0>', repr(made))


@case
def kernels_take_stored_rows(folder):
    lengths = np.array([70, 41], 'int32')
    q, k, v = numbers((2, 4, 9, 64), 1), numbers((2, 2, 70, 64), 2), numbers((2, 2, 70, 64), 3)
    for keys, values in PAIRS:
        spec = spec_of(keys, values)
        made, K, V = attnc.kernel(spec), attnc.quantize(k, keys), attnc.quantize(v, values)
        check(made.storage == {'k': keys, 'v': values}, str(made.storage))
        given = {'lengths': lengths, 'query_start': lengths - 9}
        arguments = [a.astype('f8') for a in (q, K.dequantize(), V.dequantize())]
        wanted = definitions.attend(spec, given, *arguments)
        limit = definitions.allowed_error(spec, given, *arguments, wanted)
        out = made(q, K, V, **given)
        check(np.all(np.abs(out - wanted) <= limit), '%s, %s: off by %s' % (keys, values, np.max(np.abs(out - wanted))))
        into = np.full_like(out, np.nan)
        check(made(q, K, V.rows, out=into, threads=2, **given) is into and np.array_equal(into, out), 'out=')
        for each in range(2):   # a call that was checked before, and other memory
            again = made(*(a.copy() for a in (q, K.rows, V.rows)), **given)
            check(np.array_equal(again, out), '%s, %s: rows in other memory' % (keys, values))


@case
def calls_of_stored_rows_repeat(folder):
    """Later calls with equal sizes are not checked again, and rows of bytes need no alignment."""
    made = attnc.kernel(spec_of('q4_0', 'i8', mask='causal', emit=['forward', 'statistics', 'decode']))
    q, k, v = numbers((1, 4, 3, 64), 1), numbers((1, 2, 40, 64), 2), numbers((1, 2, 40, 64), 3)
    K, V = attnc.quantize(k, 'q4_0').rows, attnc.quantize(v, 'i8').rows
    out = made(q, K, V)
    for shift in range(4):
        moved = [np.empty(a.nbytes + 4, 'u1')[shift:][:a.nbytes].reshape(a.shape) for a in (K, V)]
        for to, a in zip(moved, (K, V)): to[:] = a
        check(np.array_equal(made(q, *moved), out), 'rows at an odd address')
    odd = np.empty(q.nbytes + 4, 'u1')[1:][:q.nbytes].view('f4').reshape(q.shape)
    odd[:] = q
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        check(np.array_equal(made(odd, K, V), out), 'a q that is not aligned')
    check('q is not aligned' in str(said[0].message) and 'copies it' in str(said[0].message), said)
    room = np.zeros((1, 2, 50, K.shape[-1]), 'u1')
    room[:, :, 10:] = K
    check(np.array_equal(made(q, room[:, :, 10:], V), out), 'rows of a larger array')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        check(np.array_equal(made(q, np.asfortranarray(K), V), out), 'rows with gaps between bytes')
    check(len(said) == 1 and 'k: its last axis has to be contiguous' in str(said[0].message), str(said))
    sides = [made(q, K[:, :, part], V[:, :, part], statistics=True, query_start=start)
             for part, start in ((slice(0, 25), 25), (slice(25, 40), 12))]
    close(attnc.merge(made, *sides).out, out, 1e-5, 'merged')
    state = made.state(1, capacity=40)
    begun = state.extend(numbers((1, 4, 37, 64)), k[:, :, :37], v[:, :, :37])
    close(state.extend(q, k[:, :, 37:], v[:, :, 37:]), out, 1e-5, 'a state, which stores the rows itself')
    check(begun.dtype == np.float32, str(begun.dtype))


@case
def values_are_stored_keys(folder):
    spec = {'name': 'latent', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 96, 'value_dim': 64, 'values': 'keys'},
            'storage': {'k': 'q8_0'}}
    made, q = attnc.kernel(spec), numbers((1, 4, 3, 96))
    K = attnc.quantize(numbers((1, 1, 30, 96), 1), 'q8_0')
    arguments = [a.astype('f8') for a in (q, K.dequantize(), K.dequantize())]
    wanted = definitions.attend(spec, {}, *arguments)
    check(np.all(np.abs(made(q, K) - wanted) <= definitions.allowed_error(spec, {}, *arguments, wanted)), 'other values')
    check(np.array_equal(made(q, K.rows), made(q, K)) and made.storage == {'k': 'q8_0', 'v': 'q8_0'}, 'rows')
    refuses(lambda: made(q, K, K), TypeError, 'latent takes no v: its values are the first 64 elements of k (values: keys)')


@case
def eight_bit_floats_of_ml_dtypes(folder):
    try:
        import ml_dtypes
    except ImportError:
        raise Skip('no ml_dtypes')
    made, (q, k, v) = attnc.kernel(spec_of('fp8', 'bf16', mask='causal')), [numbers((1, 2, 20, 64), n) for n in range(3)]
    K, V = attnc.quantize(k, 'fp8'), attnc.quantize(v, 'bf16')
    out = made(q, K, V)
    check(np.array_equal(made(q, K.rows.view(ml_dtypes.float8_e4m3fn), V.rows.view(ml_dtypes.bfloat16)), out), 'other results')
    check(np.array_equal(made(q, k.astype(ml_dtypes.float8_e4m3fn), v.astype(ml_dtypes.bfloat16)), out), 'other rounding')
    check(np.array_equal(attnc.quantize(V.rows.view(ml_dtypes.bfloat16), 'q8_0').rows,
                         attnc.quantize(V.dequantize(), 'q8_0').rows), 'of bfloat16')


@case
def wrong_rows_are_refused(folder):
    x = numbers((1, 2, 6, 64))
    made = attnc.kernel(spec_of('q8_0', 'f16', mask='causal'))
    K, V = attnc.quantize(x, 'q8_0'), attnc.quantize(x, 'f16')
    refuses(lambda: made(x, x, V), TypeError, 'k is float32; stored takes uint8, rows of q8_0 as attnc.quantize() makes them')
    refuses(lambda: made(x, K, x), TypeError, 'v is float32; stored takes float16')
    refuses(lambda: made(x, attnc.quantize(x, 'q4_0'), V), TypeError, 'k is stored as q4_0; stored takes q8_0')
    refuses(lambda: made(x, K, K), TypeError, 'v is stored as q8_0; stored takes f16')
    refuses(lambda: made(K, K, V), TypeError, 'q is a Stored; expected a NumPy array, or a tensor with __dlpack__')
    refuses(lambda: made(x, attnc.quantize(x.repeat(2, 3), 'q8_0'), V), ValueError,
            'k has shape [1, 2, 6, 136]; expected [B, G, n_k, 68] with B = 1…')
    refuses(lambda: made(x, K.rows[:, :, :5], V), ValueError,
            'v has shape [1, 2, 6, 64]; expected [B, G, n_k, 64] with B = 1, G = 2, n_k = 5…')
    refuses(lambda: attnc.kernel({'similarity': 'softmax', 'shape': {'head_dim': 64}})(x, K, V), TypeError,
            'k is a Stored; expected a NumPy array, or a tensor with __dlpack__')
    refuses(lambda: attnc.quantize(x, 'q8_1'), ValueError,
            "the type is 'q8_1'; expected one of f16, bf16, fp8, i8, i8_32, i8_64, q8_0, q4_0")
    refuses(lambda: attnc.quantize(x[..., :63], 'q8_0'), ValueError,
            'array has shape [1, 2, 6, 63]; q8_0 needs rows with a multiple of 32 elements')
    refuses(lambda: attnc.quantize(np.zeros((), 'f4'), 'i8'), ValueError, 'array has shape []; i8 needs rows with elements')
    refuses(lambda: attnc.quantize(x.astype('f8'), 'i8'), TypeError, 'array is float64; expected float32 or float16 or bfloat16')
    refuses(lambda: attnc.Stored(K.rows[..., :33], 'q8_0'), ValueError,
            'rows has shape [1, 2, 6, 33]; a row of q8_0 has a multiple of 34 bytes')
    refuses(lambda: attnc.Stored(K.rows[..., :4], 'i8'), ValueError,
            'rows has shape [1, 2, 6, 4]; a row of i8 has 4 bytes and one for each element')
    refuses(lambda: attnc.Stored(x, 'q8_0'), TypeError, 'rows is float32; rows of q8_0 are uint8')


if __name__ == '__main__':
    sys.exit(main(__doc__.split('\n\n')[0]))
