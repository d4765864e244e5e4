#!/usr/bin/python3
"""NaN and infinity of a key do not change the bits of queries that do not see the key. This is tested for every
mask and for both forms.

In v, NaN or infinity reaches every query that sees it, but no other column."""
import itertools
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import Objects, best_target, compiled, inputs, optimised
from suite import Suite, check, compiler

# Every mask of the language, alone and inside any, all and not.
MASKS = {
    'causal': 'causal',
    'left': {'window': {'left': 40}},
    'both': {'window': {'left': 9, 'right': 20}},
    'dilated': {'window': {'left': 12, 'right': 3, 'dilation': 3}},
    'blocks': {'block_window': {'block': 24, 'left': 1, 'right': 1}},
    'prefix': {'prefix': {'length': 50}},
    'global': {'any': [{'window': {'left': 8}}, {'global': {'tokens': [3, 70]}}]},
    'random': {'random': {'block': 16, 'count': 3, 'seed': 4}},
    'random_causal': {'any': [{'random': {'block': 8, 'count': 2, 'causal': True}}, {'global': {'count': 1}}]},
    'document': 'document',
    'padded': {'all': ['causal', 'lengths']},
    'lists': {'blocks': {'block': 16, 'count': 2}},
    'own_document': {'all': ['causal', 'document']},
    'expr': {'expr': 'j <= i && (i - j < 20 || j % 7 == h)'},
    'heads': {'expr': 'j <= i && (h == 1 || i - j < 20)'},
    'congruent': {'expr': 'i % 16 == j % 16'},
    'near': {'expr': 'i / 32 - j / 32 <= 1 && j / 32 - i / 32 <= 1 && i % 32 - j % 32 <= 3 && j % 32 - i % 32 <= 3'},
    'prefix_lm': {'any': ['causal', {'prefix': {'length': 30}}]},
    'not': {'not': {'block_window': {'block': 16, 'left': 2}}},
}
SIMILARITIES = {
    'softmax': 'softmax',
    'alibi': {'softmax': {'bias': 'alibi', 'cap': 5}},
    'polynomial': {'polynomial': {'degree': 4, 'alpha': 1, 'beta': 2}},
    'mixed': {'custom': {'weight': 'exp(s / 4) * (1 + s * s)'}},
    'elu': {'linear': {'features': 'elu_plus_one'}},
    'favor': {'linear': {'features': {'favor_positive': {'count': 8}}}},
}
# Specs with a state. Each is (similarity, mask, other keys of the spec).
CARRIED = [
    ('elu', 'causal', {'block': 16}), ('elu', 'prefix', {}), ('elu', 'prefix_lm', {'block': 16}),
    ('elu', 'own_document', {'block': 32}), ('elu', 'padded', {'block': 16}), ('local', 'padded', {'block': 24}),
    ('sketch', 'causal', {'block': 40}), ('local', 'causal', {'block': 24}), ('local', 'own_document', {'block': 24}),
    ('local', 'blocks', {'block': 24}),
    ('favor', 'causal', {'block': 32}), ('favor', 'blocks', {}), ('hedgehog', 'causal', {'block': 24}),
    ('square', 'blocks', {}),
    ('decay', 'causal', {'block': 16}), ('decay', 'own_document', {'block': 16}), ('square', 'own_blocks', {})]
OF_STATES = SIMILARITIES | {'sketch': {'polysketch': {'degree': 4, 'sketch': 8}},
                            'local': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
                            'hedgehog': {'linear': {'features': 'hedgehog'}},
                            'square': {'polynomial': {'degree': 2, 'alpha': 1}},
                            'decay': {'custom': {'weight': 's * s * pow(1 - pow(2, -3 - h), i - j)'}}}
OF_STATES_MASKS = MASKS | {'own_blocks': {'all': ['causal', {'block_window': {'block': 24, 'left': 2}}]}}
DTYPES = ['f32', 'bf16', 'f64', 'f16']
LENGTHS = [(150, 150), (70, 200), (200, 70), (4, 300)]
HEADS, KV_HEADS, BATCH = 2, 1, 2


def specs():
    """Yields (name, spec): every mask with f32 and one other dtype, and every similarity with some masks."""
    similarity = itertools.cycle(SIMILARITIES)
    for m, mask in enumerate(MASKS):
        for dtype in ['f32', DTYPES[1 + m % 3]]:
            weight = 'softmax' if dtype != 'f32' and m % 2 else next(similarity)
            yield 'rows-%s-%s-%s' % (mask, weight, dtype), {'similarity': SIMILARITIES[weight], 'mask': MASKS[mask],
                                                            'dtype': dtype, 'algorithm': 'quadratic'}
    for n, (weight, mask, more) in enumerate(CARRIED):
        dtype = DTYPES[n % 3]
        yield 'carried-%s-%s-%s' % (weight, mask,
                                    dtype), {'similarity': OF_STATES[weight], 'mask': OF_STATES_MASKS[mask],
                                             'dtype': dtype, 'algorithm': 'linear'} | more


def same(a, b):
    """Returns an array that is True where the bits are equal."""
    return a.view(np.uint64 if a.itemsize == 8 else np.uint32) == b.view(np.uint64 if b.itemsize == 8 else np.uint32)


def planted(rng, n_k):
    """Yields (array, keys, column or None for all columns, value): at the ends, at edges of tiles, and elsewhere."""
    keys = sorted({0, n_k - 1, 15, 16, 47, *rng.integers(0, n_k, 2).tolist()})
    for n, key in enumerate(keys):
        yield 'v', [key], n % 3 + 1, [np.nan, np.inf, -np.inf][n % 3]
        yield 'k', [key], None, [np.inf, np.nan, -np.inf][n % 3]
    yield 'v', keys[1::2], 5, np.nan
    yield 'k', keys[::2], None, np.nan
    yield 'v', list(range(n_k // 2, n_k)), None, np.nan


def one(folder, suite, spec, target, level):
    spec = {'name': 'unseen', 'shape': {'head_dim': 16, 'value_dim': 20}} | spec
    path = os.path.join(folder, 'unseen.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    spec, kernel, runs, wrong = definitions.load(path), compiled(suite, path, folder, target, level, compiler('clang')), 0, []
    for n, (n_q, n_k) in enumerate(LENGTHS):
        P, q, k, v = inputs(spec, HEADS, KV_HEADS, n_q, n_k, BATCH, n, folder + '/in')
        seen = np.stack([[definitions.mask(spec['mask'], n_q, n_k, P, h, b) for h in range(HEADS)]
                         for b in range(BATCH)])
        clean = kernel(P, q, k, v)
        for array, keys, column, what in planted(np.random.default_rng(n), n_k):
            k2, v2 = k.copy(), v.copy()
            (k2 if array == 'k' else v2)[:, :, keys, slice(None) if column is None else column] = what
            out = kernel(P, q, k2, v2)
            alike, unseen = same(out, clean), ~seen[..., keys].any(-1)
            here = '%s %s at %s of %d, %d queries' % (what, array,
                                                      keys if len(keys) < 9 else 'the second half', n_k, n_q)
            if not alike[unseen].all():
                at = np.argwhere(unseen & ~alike.all(-1))
                wrong.append('%s: reaches %d rows that do not see it, [%s] among them' % (
                    here, len(at), ','.join(map(str, at[0]))))
            if array == 'v' and column is not None:
                if not np.delete(alike, column, -1).all():
                    wrong.append('%s: reaches columns other than its own' % here)
                if np.isfinite(out[..., column][~unseen]).any():
                    wrong.append('%s: is lost on a query that sees it' % here)
            runs += 1
    check(not wrong, '%d of %d: %s' % (len(wrong), runs, '\n'.join(wrong[:4])))
    return '(%d calls)' % runs


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, (name, spec) in enumerate(specs()):
        suite.case(name, one, suite, spec, 'generic' if n % 4 == 3 else best_target(), '-O2' if optimised(n, 7) else '-O0')
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
