"""NaN and infinity of a key do not change the bits of queries that do not see the key, for every mask and for both forms.

In v, NaN or infinity reaches every query that sees it, but no other column."""
import itertools

import numpy as np

from kernel import optimised
from loop import Row, in_turn, numbered, unseen

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
SHAPES = [(2, 2, 1, n_q, n_k) for n_q, n_k in [(150, 150), (70, 200), (200, 70), (4, 300)]]


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


def planted(x):
    """Plants NaN and infinity at the ends, at edges of tiles, and elsewhere."""
    n_k = x.n_k
    keys = sorted({0, n_k - 1, 15, 16, 47, *np.random.default_rng(x.seed).integers(0, n_k, 2).tolist()})
    at = [(array, [key], column, what) for n, key in enumerate(keys) for array, column, what in (
        ('v', n % 3 + 1, [np.nan, np.inf, -np.inf][n % 3]), ('k', None, [np.inf, np.nan, -np.inf][n % 3]))]
    unseen(x, at + [('v', keys[1::2], 5, np.nan), ('k', keys[::2], None, np.nan),
                    ('v', list(range(n_k // 2, n_k)), None, np.nan)])


def cases():
    for n, (name, spec) in enumerate(specs()):
        spec = {'name': 'unseen', 'shape': {'head_dim': 16, 'value_dim': 20}} | spec
        yield Row(name, spec, numbered(0, SHAPES), [planted], in_turn(n), ('-O2' if optimised(n, 7) else '-O0', 'clang'))
