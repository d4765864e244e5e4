"""Tests attnc.jax.dot_product_attention with the grid with which JAX tests jax.nn.dot_product_attention: types, groups of
heads, vmap, masks and their pairs, gradients. The results are those of jax.nn.dot_product_attention for arrays of 64 bits,
whose logits JAX computes in 32 bits."""
import threading

from common import *

import jax
import jax.numpy as jnp

jax.config.update('jax_platforms', 'cpu')
jax.config.update('jax_enable_x64', True)
jax.config.update('jax_disable_most_optimizations', True)   # which take longer than the tests

import attnc.jax

B, S, T, N, H = 2, 37, 37, 4, 8
TYPES = 'float32', 'float64', 'bfloat16', 'float16'
LIMITS = {'float32': (2e-6, 2e-5), 'float64': (2e-6, 2e-5), 'bfloat16': (0.02, 0.06), 'float16': (3e-3, 0.01)}


def drawn(dtype, kv_heads=N, batch=(B,), n_q=T, n_k=S):
    keys = jax.random.split(jax.random.PRNGKey(0), 5)
    shapes = (*batch, n_q, N, H), (*batch, n_k, kv_heads, H), (*batch, n_k, kv_heads, H), (*batch, n_q, N, H)
    return [jax.random.normal(key, shape, 'float32').astype(dtype) for key, shape in zip(keys, shapes)]


def compare(given, dout, why, bias=None, mask=None, axes=None, **options):
    """Compares results and gradients. `axes` are those of vmap for q, k, v and the bias."""
    dtype = str(given[0].dtype)
    made, wanted = [], []
    for function, cast, to in (attnc.jax.dot_product_attention, lambda a: a, made), (jax.nn.dot_product_attention, lambda a: a.astype('float64'), wanted):
        call = lambda q, k, v, added, function=function: function(q, k, v, bias=added, mask=mask, **options)
        if axes is not None: call = jax.vmap(call, axes)
        arrays = [cast(a) for a in given] + ([] if bias is None else [cast(bias)])
        flat = (lambda *a, call=call: call(*a)) if bias is not None else (lambda q, k, v, call=call: call(q, k, v, None))
        both = lambda dout, *a, flat=flat: (lambda made: (made[0], made[1](dout)))(jax.vjp(flat, *a))
        out, slopes = (jax.jit(both) if to is made else both)(cast(dout), *arrays)   # JAX compiles longer than it computes
        to.extend([out, *slopes])
    for name, one, two in zip(('out', 'dq', 'dk', 'dv', 'dbias'), made, wanted):
        check(one.shape == two.shape and str(one.dtype) == dtype, '%s: %s is %s %s' % (why, name, one.dtype, one.shape))
        limit = LIMITS[dtype][name != 'out'] * max(1, float(jnp.abs(two).max()))
        close(one.astype('float64'), two, limit, '%s: %s' % (why, name))


def grid(dtype, folder):
    for number, group in enumerate((1, 2, 4)):
        *given, dout = drawn(dtype, N // group)
        axes = (0, 0, 0, None) if (number + TYPES.index(dtype)) % 2 else None
        compare(given, dout, '%s, groups of %d, vmap %s' % (dtype, group, axes), axes=axes)


@case
def grid_of_float32(folder): grid('float32', folder)


@case
def grid_of_float64(folder): grid('float64', folder)


@case
def grid_of_bfloat16(folder): grid('bfloat16', folder)


@case
def grid_of_float16(folder): grid('float16', folder)


MODES = ('bias',), ('causal',), ('padding',), ('custom',), ('causal', 'padding'), ('custom', 'padding'), ('bias', 'causal'), ('causal', 'sliding_window'), ('sliding_window',)


def masked(number, modes, folder):
    dtype = TYPES[number % 4]
    *given, dout = drawn(dtype)
    options = {'is_causal': 'causal' in modes}
    if 'padding' in modes:
        options.update(query_seq_lengths=jnp.asarray([T // 2, T // 4], 'int32'), key_value_seq_lengths=jnp.asarray([S // 4, S // 2], 'int32'))
    if 'custom' in modes: options['mask'] = jnp.tril(jnp.ones((T, S), bool))[None, None]
    if 'bias' in modes: options['bias'] = jax.random.normal(jax.random.PRNGKey(4), (1, N, T, S), dtype)
    if 'sliding_window' in modes: options['local_window_size'] = (3, 2) if options['is_causal'] else (3, 0)
    compare(given, dout, '%s, %s' % (dtype, modes), **options)


for number, modes in enumerate(MODES):
    function = lambda folder, number=number, modes=modes: masked(number, modes, folder)
    function.__name__ = 'mask_of_' + '_and_'.join(modes)
    case(function)


@case
def gradients_of_biases(folder):
    for batch in 1, 16:
        *given, dout = drawn('float32', batch=(batch,))
        bias = jax.random.normal(jax.random.PRNGKey(4), (batch, N, T, S), 'float32')
        mask = jnp.ones((1, 1, S), bool)
        compare(given, dout, 'a batch of %d' % batch, bias, mask, (0, 0, 0, 0) if batch == 1 else None)


@case
def arrays_without_a_batch_and_rows_of_masks(folder):
    for dtype, options in (('float64', {'mask': jnp.arange(7) <= 3}), ('float32', {'mask': jnp.tri(5, 7, 2, bool), 'scale': 0.3}),
                           ('float32', {'bias': jax.random.normal(jax.random.PRNGKey(4), (7,), 'float32')})):
        *given, dout = drawn(dtype, 2, (), 5, 7)
        compare(given, dout, '%s, %s' % (dtype, list(options)), **options)


@case
def threads_with_types_of_their_own(folder):
    wrong = []

    def work(dtype):
        *given, dout = drawn(dtype)
        try:
            for _ in range(2): compare(given, dout, dtype)
        except Exception as error: wrong.append(error)
    threads = [threading.Thread(target=work, args=(dtype,)) for dtype in ('float32', 'float64')]
    for one in threads: one.start()
    for one in threads: one.join()
    check(not wrong, wrong)


if __name__ == '__main__':
    sys.exit(main(__doc__))
