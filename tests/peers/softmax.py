"""Measures softmax attention in f32, for every library with an operator for it."""
from measure import normal, row
from ours import FromPython, Kernel

# Each row is (model, batch, heads, positions, head size, causal or not).
SHORT = (('BERT', 8, 12, 128, 64, (False, True)),
         ('BERT', 1, 12, 512, 64, (False, True)),
         ('ViT', 16, 12, 197, 64, (False,)),
         ('Llama', 1, 32, 512, 128, (True,)),
         (None, 64, 4, 16, 64, (False,)))
SMALLEST = SHORT[-1]  # at this length, attnc is also called from Python


def mask(causal):
    return 'causal' if causal else 'no mask'


def short_job(model, batch, heads, n, dim, causal):
    words = ['softmax', mask(causal)] + (['batch %d' % batch] if batch > 1 else [])
    words += ['%d heads' % heads + ('' if dim == 64 else ' of %d' % dim), 'n = %d' % n]
    return ', '.join(words) + (' (%s)' % model if model else '')


def problem(batch, heads, n, dim, causal):
    """Returns the kernel of specs/, and standard normal q, k and v."""
    return ('softmax_causal' if causal else 'softmax', {'shape.head_dim': dim},
            [normal(seed, batch, heads, n, dim) for seed in (1, 2, 3)])


def softmax_rows(peer, options, forms, same=lambda array: array):
    """`forms` returns {label: call} for NumPy arrays [B, H, N, D] and the causal flag. `same` converts an array to
    the library's type."""
    def measure(job, shape, causal, from_python=False, **more):
        if not options.wanted(peer, job):
            return
        spec, settings, arrays = problem(*shape, causal)
        kernel = (FromPython(spec, settings, *map(same, arrays), options.threads) if from_python
                  else Kernel(spec, settings, *arrays, {}, options.threads))
        row(job, peer, kernel, forms(*arrays, causal), 1e-4, options.limit, **more)

    for n in options.lengths(8192):
        for causal in (True, False):
            measure('softmax, %s, n = %d' % (mask(causal), n), (1, options.heads, n, 64), causal)
    for model, *shape, masks in SHORT:
        for causal in masks:
            measure(short_job(model, *shape, causal), shape, causal, table='short')
    model, *shape, (causal,) = SMALLEST
    measure(short_job(model, *shape, causal) + ', attnc from Python', shape, causal, True, table='short')
