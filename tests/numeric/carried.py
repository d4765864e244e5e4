"""Makes the cases of linear forms. Every two choices of weight, mask, block, dtype, normalize, sizes and prepare
occur together in some kernel. Lengths are around the edges of the kernel's blocks. Some heads are grouped, and
n_q may differ from n_k."""
import itertools
import re

from cover import cover
from suite import WHOLE

COEFFICIENTS = [1.0, 0.25, 0.125, 0.03125, 0.0625]
# A name is one choice. If it lists several similarities, kernels take them in turn.
WEIGHTS = {
    'polynomial': [{'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 4.0}},
                   {'polynomial': {'degree': 4, 'alpha': 2, 'beta': 2.5}},
                   {'polynomial': {'degree': 2}}],
    'polynomial_high': [{'polynomial': {'degree': 8, 'alpha': 2, 'beta': 2.5}},
                        {'polynomial': {'degree': 6, 'alpha': 2, 'beta': -2}}],
    'square': [{'polynomial_square': {'degree': m, 'coefficients': COEFFICIENTS[:m + 1]}} for m in (2, 3, 1, 4)],
    'square_param': [{'polynomial_square': {'degree': m, 'coefficients': 'param'}} for m in (2, 1)],
    'elu_plus_one': [{'linear': {'features': 'elu_plus_one'}}],
    'relu': [{'linear': {'features': f}} for f in ({'relu': {'eps': 1e-3}}, 'relu')],
    'squared_relu': [{'linear': {'features': 'squared_relu'}}],
    'taylor1': [{'linear': {'features': 'taylor1'}}],
    'favor_positive': [{'linear': {'features': {'favor_positive': {'count': m}}}} for m in (16, 40, 24)],
    'favor_trig': [{'linear': {'features': {'favor_trig': {'count': m}}}} for m in (24, 16)],
    'favor_relu': [{'linear': {'features': {'favor_relu': {'count': m}}}} for m in (16, 64, 24)],
    'hedgehog': [{'linear': {'features': 'hedgehog'}}],
}
# The number of features of these weights is a power of the head size.
MOST_HEAD_DIM = {'polynomial': 8, 'polynomial_high': 4, 'square': 3, 'square_param': 8}
# 'local' also has exact weights inside blocks.
PLACES = {'causal': {'mask': 'causal'}, 'none': {'mask': 'none'}, 'local': {'mask': 'causal'}}
NORMALIZE = {'sum': 'sum', 'plus_half': {'sum_plus': 0.5}, 'unnormalized': 'none', 'sink': {'sink': '1 - h * 0.5'}}
SIZES = {'8x24': (8, 24), '16': (16, None), '24x40': (24, 40)}
PREPARE = {'nothing': [], 'layernorm': ['layernorm'],
           'l2norm_scale': [{'l2norm': {'eps': 1e-6}}, {'scale': {'by': 1.5}}]}
CHOSEN = list(PREPARE)
PREPARE['short'] = [{'l2norm': {'eps': 1e-6}}, {'scale': {'by': 0.5}}]
DTYPES, ANY = ['f32', 'f64', 'half'], ['16', '100', 'auto']   # `half` is bf16 and f16 in turn
# Masks whose last visible key is the end of a prefix, or the query's own key if that is later.
PREFIXES = {'prefix_lm': {'mask': {'any': ['causal', {'prefix': {'length': 70}}]}},
            'prefix': {'mask': {'prefix': {'length': 37}}},
            'short': {'mask': {'any': [{'prefix': {'length': 5}}, 'causal']}},
            'long': {'mask': {'prefix': {'length': 1000}}},
            'both': {'mask': {'all': ['causal', {'prefix': {'length': 70}}]}},
            'ahead': {'mask': {'expr': 'j <= i + 21 || j < 40'}}}
# Windows of blocks, for which the state covers the last few chunks.
BLOCKS = {'back': {'block_window': {'left': 2}}, 'ahead': {'block_window': {'left': 1, 'right': 1}},
          'causal_blocks': {'all': ['causal', {'block_window': {'left': 3}}]},
          'far_ahead': {'block_window': {'left': 4, 'right': 2}},
          'narrower': {'all': [{'block_window': {'left': 3, 'right': 9}}, 'causal', {'block_window': {'left': 1}}]}}
# Weights that decrease with the distance: {name: (weight, whether it may be negative)}.
DECAYS = {
    'fixed': ('s * pow(0.97, i - j)', True),
    'exponential': ('exp(-0.03 * (i - j)) * s', True),
    'of_the_head': ('pow(1 - pow(2, -5 - h), i - j) * s', True),
    'slow': ('s * s * pow(1 - pow(2, -14), i - j)', False),
    'faster': ('s * s * pow(0.98, (i - j) * (1 + h)) * exp(-(i - j) / (20.0 + h))', False),
    'steep': ('s * s * pow(0.2, i - j)', False),
    'amount': ('(1 + s) * (1 + s) * pow(0.9, fabs(i - j))', False),
    'shifted': ('s * s * exp(-0.5 * (2 * i - 2 * j - 3) / (4 + h))', False),
    'two': ('s * s * pow(0.99, i - j) + 0.5 * exp(-0.2 * (i - j))', False),
    'sides': ('(1 + s * s) * exp(0.05 * j - 0.05 * i + 0.2 * tanh(j / 10.0)) * (1 + j % 3)', False),
    'quotient': ('s / pow(1.02, i - j) * (1 + h)', True),
}
OF_MASKS = {'polynomial': {'polynomial': {'degree': 2}}, 'sketch': {'polysketch': {'degree': 4, 'sketch': 8}},
            'elu_plus_one': {'linear': {'features': 'elu_plus_one'}},
            'favor_positive': {'linear': {'features': {'favor_positive': {'count': 16}}}},
            'hedgehog': {'linear': {'features': 'hedgehog'}},
            'local': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
            'decay': {'custom': {'weight': 's * s * pow(1 - pow(2, -5 - h), i - j)'}}}

# Weights of the key alone, choices, powers and waves: {name: (weight, whether it may be negative)}.
FORMS = {
    'of_key': ('exp(a[b][j])', False), 'of_key_and_head': ('exp(own[h][j] + 0.1 * h)', False), 'mean': ('1', False),
    'clamped': ('s * s * pow(clamp(0.5 + rate[h], 0, 1), i - j)', False),
    'limited': ('s * s * pow(fmax(fmin(rate[h], 1), 0), i - j)', False),
    'kept_factor': ('kept[b][j] * (1 + s * s)', False), 'kept_choice': ('kept[b][j] ? 1 + s * s : 0', False),
    'of_query': ('i % 2 == 0 ? 1 + s * s : (2 + s) * (2 + s)', False), 'of_key_number': ('j % 3 == 0 ? 0.5 : 1 + s * s', False),
    'own': ('j < i ? 1 + s * s : 2 + rate[h] * rate[h]', False), 'earlier': ('j == i ? 3 : i - j >= 1 ? s * s : 0', False),
    'waves': ('c[h][0] * pow(0.9, i - j) * cos(0.3 * (i - j)) + c[h][1] * pow(0.95, i - j) * cos(c[h][0] * (i - j))', True),
    'cube': ('s * s * s', True), 'cube_of_sum': ('(s + 1.5) * (s + 1.5) * (s + 1.5)', True), 'fifth': ('pow(s, 5)', True),
    'powers': ('s * (2 + rate[h]) * s * (1 + 0.5 * tanh(a[b][j])) * s * s', True)}
FORM_ARRAYS = {'a': {'shape': ['B', 'Nk']}, 'own': {'shape': ['H', 'Nk']}, 'rate': {'shape': ['H'], 'learned': True},
               'kept': {'shape': ['B', 'Nk'], 'type': 'bool'}, 'c': {'shape': ['H', 2]}}
# Masks for them. Some hide keys from all queries.
KEPT = {'causal': 'causal', 'none': 'none', 'kept': {'all': ['causal', {'expr': 'kept[b][j]'}]},
        'kept_alone': {'expr': 'kept[b][j] && j % 5 != 3'}}


def of_weights(row, turn):
    weight = row['weight']
    if weight.startswith('polynomial'):
        # s + alpha stays away from 0, because features cancel if a weight nearly vanishes
        row['prepare'] = 'short'
    if weight == 'square_param' and row['place'] == 'none' and row['block'] == '16':
        # With random coefficients, all weights of a short row may be almost 0.
        row['block'] = '100'
    turn[weight] = turn.get(weight, -1) + 1
    return WEIGHTS[weight][turn[weight] % len(WEIGHTS[weight])]


def of_sketches(row, turn):
    if row['place'] == 'local' and row['block'] == 'auto':
        row['block'] = '16'       # these specs need a block size
    if row['prepare'] == 'nothing' and row['degree'] in ('8', '16'):
        row['prepare'] = 'layernorm'   # without layernorm, weights of these degrees exceed the range of f32
    options = {'degree': int(row['degree']), 'sketch': int(row['r']), 'map': row.setdefault('map', 'random')}
    return {'polysketch': options | ({'local': 'exact'} if row['place'] == 'local' else {})}


def of_decays(row, turn):
    weight, signed = DECAYS[row['weight']]
    if signed:
        row['normalize'] = 'unnormalized'
    return {'custom': {'weight': weight}}


def of_masks(row, turn):
    if row['weight'] == 'decay' and row['place'] in ('prefix', 'long', 'ahead'):
        row['weight'] = 'polynomial'   # under these masks, the sum may grow without bound
    row['prepare'] = 'layernorm' if row['weight'] in ('sketch', 'local') else 'nothing'
    return OF_MASKS[row['weight']]


def of_forms(row, turn):
    weight, signed = FORMS[row['weight']]
    if signed: row['normalize'] = 'unnormalized'
    if row['weight'] == 'cube':   # a row of few keys may have a small s, whose features cancel
        row |= {'place': 'causal' if row['place'] == 'kept' else 'none', 'dtype': 'half' if row['dtype'] == 'half' else 'f32'}
    if 'i ' in weight and 'i %' not in weight: row['place'] = {'none': 'causal', 'kept_alone': 'kept'}.get(row['place'], row['place'])
    return {'custom': {'weight': weight}}


MASKED = {'dtype': DTYPES, 'normalize': list(NORMALIZE), 'sizes': ['8x24', '16']}
COMMON = {'dtype': DTYPES, 'normalize': list(NORMALIZE), 'sizes': list(SIZES), 'prepare': CHOSEN}
# Learned networks are slow, so there are only a few.
LEARNED = [{'degree': d, 'r': r, 'map': 'learned', 'place': place, 'block': b,
            'dtype': dtype, 'normalize': 'plus_half', 'sizes': '8x24', 'prepare': 'layernorm'}
           for d, r, place, b, dtype in (('4', '32', 'causal', 'auto', 'f32'), ('4', '24', 'local', '16', 'f64'),
                                         ('8', '8', 'none', '16', 'f32'))]
# Each row is (seed, name, similarity of a row, largest head size, choices, further rows).
TABLE = [
    (3, '{weight}-{place}-{block}-{dtype}-{normalize}-{sizes}-{prepare}', of_weights, 64,
     {'weight': list(WEIGHTS), 'place': ['causal', 'none'], 'block': ANY, **COMMON}, []),
    (4, 'polysketch_{degree}_r{r}_{map}-{place}-{block}-{dtype}-{normalize}-{sizes}-{prepare}', of_sketches, 64,
     {'degree': ['2', '4', '8', '16'], 'r': ['8', '24', '32', '64'], 'place': list(PLACES),
      'block': ['16', '100', '256', 'auto'], **COMMON}, LEARNED),
    (5, 'decay-{weight}-{block}-{dtype}-{normalize}-{sizes}', of_decays, 8,
     {'weight': list(DECAYS), 'block': ANY, **MASKED}, []),
    (6, 'prefix-{weight}-{place}-{block}-{dtype}-{normalize}-{sizes}', of_masks, 8,
     {'weight': [name for name in OF_MASKS if name != 'local'], 'place': list(PREFIXES), 'block': ANY, **MASKED}, []),
    (7, 'blocks-{weight}-{place}-{block}-{dtype}-{normalize}-{sizes}', of_masks, 8,
     {'weight': ['polynomial', 'sketch', 'local', 'favor_positive', 'elu_plus_one'], 'place': list(BLOCKS),
      'block': ['16', '36'], **MASKED}, []),
    (8, 'form-{weight}-{place}-{block}-{dtype}-{normalize}', of_forms, 4,
     {'weight': list(FORMS), 'place': list(KEPT), 'block': ANY, 'dtype': DTYPES, 'normalize': list(NORMALIZE)}, [])]


def of_blocks(mask, length):
    if isinstance(mask, list):
        return [of_blocks(part, length) for part in mask]
    if not isinstance(mask, dict):
        return mask
    return {key: {'block': length} | value if key == 'block_window' else of_blocks(value, length)
            for key, value in mask.items()}


def specs():
    """Yields (name, spec) for the rows of the table."""
    halves, names = itertools.cycle(['bf16', 'f16']), set()
    for seed, text, similarity_of, most, factors, more in TABLE:
        turn = {}
        for row in cover(factors, seed=seed) + more:
            row = {'place': 'causal', 'prepare': 'nothing', 'sizes': '16'} | row
            similarity, head_dim = similarity_of(row, turn), most
            if similarity_of is of_weights: head_dim = MOST_HEAD_DIM.get(row['weight'], most)
            name, (head, value) = text.format(**row), SIZES[row['sizes']]
            if name in names: continue   # Two rows can have the same name after `normalize` is set.
            names.add(name)
            spec = {'similarity': similarity, 'dtype': next(halves) if row['dtype'] == 'half' else row['dtype'],
                    'algorithm': 'linear', 'prepare': PREPARE[row['prepare']], 'normalize': NORMALIZE[row['normalize']],
                    'shape': {'head_dim': min(head, head_dim)} | ({'value_dim': value} if value else {})}
            if text.startswith('blocks'): spec['mask'] = of_blocks(BLOCKS[row['place']], int(row['block']))
            elif text.startswith('form'): spec['mask'] = KEPT[row['place']]
            else: spec |= (PLACES | PREFIXES)[row['place']]
            read = {name: array for name, array in FORM_ARRAYS.items() if re.search(r'\b%s\[' % name, str(spec))}
            if read: spec['arrays'] = read
            if spec['dtype'] == 'f64' and row['block'] == '256':
                spec['block'] = 100           # definitions.py in 80 bits is slow
            elif row['block'] != 'auto':
                spec['block'] = int(row['block'])
            yield name, spec


def shapes(spec, turn):
    """Yields ((n_q, n_k), (heads, kv_heads), batch, threads), with lengths around the edges of the blocks. `turn`
    varies the combinations."""
    b = spec.get('block', 64)
    # in short rows all weights may nearly vanish
    few = (b // 2, b // 2) if 'poly' in str(spec['similarity']) else (2, 2)
    lengths = [few, (b - 1, b - 1), (b, b), (b + 1, b + 1), (3 * b + 7, 3 * b + 7),
               (b + 3, 2 * b + 5), (2 * b + 5, b + 3)]
    groups, threads = [(1, 1), (2, 2), (2, 1), (4, 2), (4, 1)], [1, 2, 3, 7]
    # short lengths, a long one, two lengths: each kernel has two of the three
    some = range(7) if WHOLE else [at for n, at in enumerate((turn % 3, 3 + turn // 3 % 2, 5 + turn // 6 % 2)) if n != turn // 12 % 3]
    for at in some:
        length = lengths[at]
        group, batch = groups[(turn + at) % len(groups)], 1 + (turn + at) % 2
        if max(length) > 200:
            group, batch = groups[(turn + at) % 3], 1    # definitions.py takes quadratic time
        yield length, group, batch, threads[(turn + 3 * at) % len(threads)]


def cases():
    """Yields (name, spec, shapes)."""
    for turn, (name, spec) in enumerate(specs()):
        yield 'linear-' + name, {'name': 'carried%03d' % turn} | spec, list(shapes(spec, turn))
    for turn, weight in enumerate(('of_the_head', 'slow', 'exponential', 'amount')):   # every query is far from most keys
        spec = {'name': 'far%d' % turn, 'similarity': {'custom': {'weight': DECAYS[weight][0]}},
                'mask': 'causal', 'normalize': 'none',
                'dtype': 'f64' if turn == 3 else 'f32', 'algorithm': 'quadratic', 'shape': {'head_dim': 16}}
        yield 'far-' + weight, spec, [((1500, 1500), (1, 1), 1, 2), ((97, 700), (4, 2), 1, 1),
                                      ((300, 97), (2, 1), 1, 3)]


# Errors that accumulate from chunk to chunk show at the end of a long sequence.
LONG = {'slow': 's * pow(1 - pow(2, -12 - 4 * h), i - j)', 'slowest': 's * s * pow(1 - pow(2, -20), i - j)',
        'rate': '(1 + s) * (1 + s) * exp(-0.0007 * (i - j))'}


def long_cases():
    """Yields (name, spec, n) for long sequences."""
    for turn, (name, weight) in enumerate(LONG.items()):
        # f64 has no compensation, so sums of both signs accumulate errors
        for dtype in (['f32', 'f64'] if WHOLE else ['f32', 'f64'][turn - 1:turn]) if turn else ['f32']:
            yield 'long-%s-%s' % (name, dtype), {'name': 'long%d%s' % (turn, dtype),
                                                 'similarity': {'custom': {'weight': weight}}, 'mask': 'causal',
                                                 'dtype': dtype, 'normalize': 'none' if turn == 0 else 'sum',
                                                 'algorithm': 'linear', 'shape': {'head_dim': 8}}, 200000
