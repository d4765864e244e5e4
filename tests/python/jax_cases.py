"""Tests the package with JAX on the CPU: jit, grad, vmap, 16-bit numbers, errors."""
from common import *

import jax
import jax.numpy as jnp

jax.config.update('jax_platforms', 'cpu')


def inputs(**sizes):
    return [jnp.asarray(a) for a in arrays(**sizes)]


def softmax(q, k, v):
    """Computes causal attention. The last query is at the last key."""
    group = q.shape[-3] // k.shape[-3]
    logit = jnp.einsum('...id,...jd->...ij', q, jnp.repeat(k, group, -3)) / np.sqrt(q.shape[-1])
    seen = np.arange(k.shape[-2]) <= np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
    return jax.nn.softmax(jnp.where(seen, logit, -jnp.inf), -1) @ jnp.repeat(v, group, -3)


def square(function):
    return lambda *a, **more: (function(*a, **more) ** 2).sum()


def same(one, two, limit, why):
    for number, (a, b) in enumerate(zip(one, two)):
        close(a, b, limit, '%s: %d' % (why, number))


@case
def forward_and_jit(folder):
    made, given = small('softmax_causal'), inputs()
    out = made(*given)
    check(isinstance(out, jax.Array), 'gives %s' % type(out))
    close(out, softmax(*given), 1e-6, 'forward')
    close(jax.jit(made)(*given), out, 0, 'jit')
    close(made(*map(np.asarray, given)), out, 0, 'NumPy')
    close(made(given[0].transpose(0, 2, 1, 3).transpose(0, 2, 1, 3), *given[1:]), out, 0, 'transposed')
    sketch = small('polysketch_r32')
    close(jax.jit(lambda *a: sketch(*a, seed=3))(*given), sketch(*map(np.asarray, given), seed=3), 0, 'a seed')
    close(attnc.attention(*given, weight='1 + s * s'), attnc.attention(*map(np.asarray, given), weight='1 + s * s'), 0,
          'a formula')



@case
def v_may_have_more_heads(folder):
    made, one, given, repeated = of_fewer_keys()
    two = repeated(*one)
    close(made(*map(jnp.asarray, one), **given), made(*two, **given), 0, 'forward')
    of_one, of_two = (jax.jit(jax.grad(square(lambda *a: made(*a, **given)), (0, 1, 2)))(*map(jnp.asarray, a)) for a in (one, two))
    same(of_one, [a[:, ::2] + a[:, 1::2] if n < 2 else a for n, a in enumerate(of_two)], 1e-5, 'gradients')


@case
def dot_product_attention_is_as_jax_nn(folder):
    ours, jaxs = attnc.jax.dot_product_attention, jax.nn.dot_product_attention
    draw = np.random.default_rng(0)
    given = [jnp.asarray(draw.standard_normal((2, 33, heads, 8)), 'float32') for heads in (4, 2, 2)]
    for more in ({'is_causal': True, 'scale': 0.3}, {'local_window_size': (9, 2)},
                 {'key_value_seq_lengths': jnp.asarray([20, 33], 'int32')}):
        close(ours(*given, **more), jaxs(*given, **more), 2e-6, str(list(more)))
        ours_too, wanted = (jax.jit(jax.grad(square(lambda *a: f(*a, **more)), (0, 1, 2)))(*given) for f in (ours, jaxs))
        same(ours_too, wanted, 1e-4, 'gradients, %s' % list(more))

@case
def values_are_keys(folder):
    made, wanted = of_keys()
    q, k = inputs()[:2]
    close(jax.jit(made)(q, k), wanted(q, k), 1e-6, 'forward')
    same(jax.grad(square(made), (0, 1))(q, k), jax.grad(square(wanted), (0, 1))(q, k), 1e-5, 'gradients')
    close(jax.vmap(made)(jnp.stack([q, q]), jnp.stack([k, k]))[1], made(q, k), 1e-6, 'vmap')
    refuses(lambda: made(q, k, k[..., :5]), TypeError,
            'softmax_causal takes no v: its values are the first 5 elements of k (values: keys)')


@case
def gradients(folder):
    made, given = small('softmax_causal'), inputs()
    wanted = jax.grad(square(softmax), (0, 1, 2))(*given)
    same(jax.grad(square(made), (0, 1, 2))(*given), wanted, 1e-5, 'grad')
    same(jax.jit(jax.grad(square(made), (0, 1, 2)))(*given), wanted, 1e-5, 'jit of grad')
    learned = small('hedgehog')
    parameters = {w: jnp.asarray(a) for w, a in learned.init(1, heads=4, kv_heads=2).items()}
    got = jax.grad(lambda p: (learned(*given, **p) * given[0]).sum())(parameters)
    right = learned.backward(*map(np.asarray, given), np.asarray(learned(*given, **parameters)), np.asarray(given[0]),
                             **{w: np.asarray(a) for w, a in parameters.items()})
    for word in parameters:
        close(got[word], getattr(right, 'd' + word), 1e-6, word)


@case
def numbers_are_arrays_without_axes(folder):
    q, k, v = inputs()

    def capped(q, cap):
        return attnc.attention(q, k, v, score='cap * tanh(s / cap)', arrays={'cap': cap})
    out = capped(q, jnp.float32(2.5))
    close(capped(q, 2.5), out, 0, 'a number')
    close(jax.jit(lambda q: capped(q, 2.5))(q), out, 0, 'a number, jit')
    ends = [np.square(np.asarray(capped(q, c), np.float64)).sum() for c in (2.51, 2.49)]
    close(jax.grad(lambda c: (capped(q, c) ** 2).sum())(jnp.float32(2.5)), (ends[0] - ends[1]) / 0.02, 1e-3, 'a gradient')


@case
def vmap_over_batches(folder):
    made = small('softmax_causal')
    q, k, v = (jnp.stack([a, 0.5 * a, -a]) for a in inputs())
    close(jax.vmap(made)(q, k, v), softmax(q, k, v), 1e-6, 'vmap')
    close(jax.jit(jax.vmap(made, (0, None, None)))(q, k[0], v[0]), jnp.stack([softmax(a, k[0], v[0]) for a in q]), 1e-6,
          'one k for all')
    wanted = jax.vmap(jax.grad(square(softmax), (0, 1, 2)))(q, k, v)
    same(jax.jit(jax.vmap(jax.grad(square(made), (0, 1, 2))))(q, k, v), wanted, 1e-5, 'vmap of grad')
    close(jax.grad(lambda q: square(jax.vmap(made))(q, k, v))(q), wanted[0], 1e-5, 'grad of vmap')


@case
def vmap_with_learned_arrays(folder):
    """vmap gives separate gradients, not their sum."""
    learned, given = small('hedgehog'), inputs()
    p = {w: jnp.asarray(a) for w, a in learned.init(1, heads=4, kv_heads=2).items()}
    q = jnp.stack([given[0], 2 * given[0]])
    loss = lambda q, p: square(learned)(q, *given[1:], **p)
    each = [jax.grad(loss, 1)(one, p) for one in q]
    got, summed = jax.vmap(jax.grad(loss, 1), (0, None))(q, p), jax.grad(lambda p: jax.vmap(loss, (0, None))(q, p).sum())(p)
    for word in p:
        close(got[word], jnp.stack([one[word] for one in each]), 1e-4, word + ' of each')
        close(summed[word], sum(one[word] for one in each), 1e-4, word + ' of all')


@case
def forward_mode(folder):
    """Both modes, of one function."""
    made, given = small('softmax_causal'), inputs()
    along = [a[::-1] for a in inputs()]
    wanted = jax.jvp(softmax, given, along)
    same(jax.jvp(made, given, along), wanted, 1e-5, 'jvp')
    same(jax.jit(lambda *a: jax.jvp(made, a[:3], a[3:]))(*given, *along), wanted, 1e-5, 'jit of jvp')
    close(jax.linearize(made, *given)[1](*along), wanted[1], 1e-5, 'linearize')
    two = jnp.stack([along[0], -2 * along[0]])
    close(jax.vmap(lambda t: jax.jvp(made, given, [t, *along[1:]])[1])(two),
          jnp.stack([jax.jvp(softmax, given, [t, *along[1:]])[1] for t in two]), 1e-5, 'vmap of jvp')
    learned = small('hedgehog')
    p = {w: jnp.asarray(a) for w, a in learned.init(1, heads=4, kv_heads=2).items()}
    attend = lambda q, p: learned(q, *given[1:], **p)
    moved = (along[0], {w: jnp.cos(a) for w, a in p.items()})
    tangent, loss = jax.jvp(attend, (given[0], p), moved)[1], lambda q, p: (attend(q, p) * given[0]).sum()
    gradients = jax.grad(loss, (0, 1))(given[0], p)
    close((tangent * given[0]).sum(), sum((a * b).sum() for a, b in zip(*map(jax.tree.leaves, (gradients, moved)))), 1e-3,
          'a tangent along learned arrays')
    close(jax.vmap(lambda p: jax.jvp(lambda p: attend(given[0], p), (p,), (moved[1],))[1], ({w: 0 for w in p},))(
        {w: a[None] for w, a in p.items()})[0], jax.jvp(lambda p: attend(given[0], p), (p,), (moved[1],))[1], 1e-6,
          'vmap over learned arrays')
    for delta, more in (small('deltanet'), {'beta': jnp.full(given[0].shape[:3], 0.5)}), (small('deltaformer'), {}):
        of_rows = lambda q: delta(q, q, q, **more)
        tangent, gradient = jax.jvp(of_rows, given[:1], along[:1])[1], jax.grad(lambda q: (of_rows(q) * given[0]).sum())(given[0])
        close((tangent * given[0]).sum(), (gradient * along[0]).sum(), 1e-3, 'a tangent of delta')
    deltaformer = small('deltaformer', **{'delta.normalize': 'none'})
    try:
        jax.jvp(lambda q: deltaformer(q, q, q), given[:1], along[:1])
    except attnc.SpecError as error:
        check('the tangent of a maximum is not compiled yet' in str(error), str(error))
    else:
        raise Failure('no error for a tangent of a maximum')
    close(jax.grad(square(made))(*given), jax.grad(square(softmax))(*given), 1e-5, 'gradients of the same function')


@case
def sixteen_bits(folder):
    given = inputs()
    for dtype in 'bf16', 'f16':
        made = small('softmax_causal', dtype=dtype)
        narrow = [a.astype({'bf16': jnp.bfloat16, 'f16': jnp.float16}[dtype]) for a in given]
        out = made(*narrow)
        check(out.dtype == narrow[0].dtype, '%s gives %s' % (dtype, out.dtype))
        close(out.astype(jnp.float32), softmax(*given), 0.05, dtype)
        gradient = jax.grad(lambda q: made(q, *narrow[1:]).astype(jnp.float32).sum())(narrow[0])
        check(gradient.dtype == narrow[0].dtype and bool((gradient != 0).any()), 'the gradient of ' + dtype)


@case
def errors_are_exact(folder):
    made, (q, k, v) = small('softmax_causal'), inputs()
    for call in made, jax.jit(made):
        for given, kind, message in (
                ((q.astype(jnp.float16), k, v), TypeError, 'q is float16; softmax_causal takes float32'),
                ((q[..., :4], k, v), ValueError, 'q has shape [2, 4, 5, 4]; expected [B, H, n_q, 8]…'),
                ((q, k[:1], v), ValueError, 'k has shape [1, 2, 7, 8]; expected [B, G, n_k, 8] with B = 2…'),
                ((q[:, :3], k, v), ValueError, 'q has 3 heads and k has 2: q needs a multiple of the heads of k')):
            refuses(lambda: call(*given), kind, message)
    refuses(lambda: made(q, k, None), TypeError, 'v is a NoneType; expected a JAX array, because q is one')
    refuses(lambda: made(q, k, v, out=q), ValueError, 'out is for NumPy arrays and tensors; arrays of JAX are immutable')
    refuses(lambda: made(q, k, v, threads=2), ValueError, 'threads= is for NumPy arrays and tensors; for JAX, '
            'set OMP_NUM_THREADS in the environment')
    refuses(lambda: small('polysketch_r32')(q, k, v), ValueError, 'polysketch_r32 needs seed=, or the parameters '
            "sketch_g1 [8, 32], sketch_g2 [8, 32]")
    refuses(lambda: small('hedgehog')(q, k, v), ValueError, 'hedgehog needs the parameter features_wq, float32 [H, 8, 8]')
    packed = small('packed_documents')
    falling = jnp.asarray([[1, 0, 0, 0, 0, 0, 0]] * 2, jnp.int32)
    check(packed(q, k, v, document=falling).shape == q.shape, 'ids in any order')


@case
def positions_of_queries(folder):
    """Positions from a call, a list, jit and vmap give the results and gradients that NumPy arrays give."""
    made = attnc.kernel({'name': 'placed', 'similarity': 'softmax', 'mask': {'all': ['causal', 'lengths']},
                         'shape': {'head_dim': 8}})
    q, k, v = arrays(n=5, m=40)
    lengths, start = np.array([20, 33], np.int32), np.array([15, 28], np.int32)
    wanted = made(q, k, v, lengths=lengths, query_start=start)
    of_numpy = made.backward(q, k, v, wanted, np.ones_like(wanted), lengths=lengths, query_start=start)
    inputs = [jnp.asarray(a) for a in (q, k, v)]
    call = lambda q, k, v, start: made(q, k, v, lengths=jnp.asarray(lengths), query_start=start)
    for given in [15, 28], jnp.asarray(start):
        close(wanted, call(*inputs, given), 1e-6, 'out')
    traced = jax.jit(jax.grad(lambda *x: call(*x).sum(), argnums=(0, 1, 2)))(*inputs, jnp.asarray(start))
    for name, one, two in zip('qkv', of_numpy, traced):
        close(one, two, 1e-5, 'gradient of ' + name)
    several = jax.vmap(call)(*(jnp.stack([a, a]) for a in inputs), jnp.stack([start, start - 1]))
    close(wanted, several[0], 1e-6, 'vmap')
    close(made(q, k, v, lengths=lengths, query_start=start - 1), several[1], 1e-6, 'vmap, the second')
    once = jax.vmap(lambda *x: call(*x, jnp.asarray(start)))(*(jnp.stack([a, a]) for a in inputs))
    close(wanted, once[1], 1e-6, 'vmap with the same positions')
    refuses(lambda: call(*inputs, 0.5), TypeError, 'query_start has to be an integer, or an integer for each sequence')
    refuses(lambda: call(*inputs, jnp.asarray([1])), ValueError,
            'query_start has shape [1]; expected [2], one position for each sequence')


@case
def integers_may_be_wider(folder):
    inputs, of_kernels = of_integers()
    q, k, v = (jnp.asarray(a) for a in inputs)
    for made, given in of_kernels:
        (word, ids), = given.items()
        wanted = made(q, k, v, **{word: jnp.asarray(ids, jnp.int32)})
        close(made(q, k, v, **{word: ids}), wanted, 0, word)   # an array of NumPy, int64
        close(made(q, k, v, **{word: jnp.asarray(ids, jnp.int16)}), wanted, 0, word)
        refuses(lambda: made(q, k, v, **{word: np.full_like(ids, 2**32)}), ValueError, '%s is int64 and has an element 4294967296; …' % word)
        refuses(lambda: jax.jit(lambda x: made(q, k, v, **{word: x}))(jnp.asarray(ids, jnp.int16)), TypeError,
                '%s is int16; %s takes int32, because JAX traces it and hides its values' % (word, made.name))


@case
def weights_under_jit_and_vmap(folder):
    made, given = small('softmax_causal'), inputs()
    wanted = made(*map(np.asarray, given), weights=True)
    call = lambda *a: made(*a, weights=True)
    got = jax.jit(call)(*given)
    check(type(got).__name__ == 'Weighed' and isinstance(got.weights, jax.Array), type(got))
    same(got, wanted, 0, 'jit')
    two = jax.vmap(call)(*(jnp.stack([x, x / 2]) for x in given))
    same([x[0] for x in two], wanted, 0, 'vmap')
    same([x[1] for x in two], call(*(x / 2 for x in given)), 0, 'vmap')
    of_numbers = small('packed_documents')
    ids = np.repeat(np.arange(2), 4)[None, :7].repeat(2, 0).astype('int32')
    q, k, v = inputs(n=7)
    same(jax.jit(lambda *a: of_numbers(*a, document=ids, weights=True))(q, k, v),
         of_numbers(*map(np.asarray, (q, k, v)), document=ids, weights=True), 0, 'a parameter')
    refuses(lambda: made(*given, weights=np.zeros((2, 4, 5, 7), 'float32')), ValueError,
            'weights= takes True for arrays of JAX, which are immutable')


if __name__ == '__main__':
    sys.exit(main(__doc__))
