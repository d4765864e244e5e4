"""Draws random specs with every key and option of the language. Also draws targets, compilers and arrays.

A draw is a dict: `spec` is the spec as in YAML, and other keys are settings. shrink.py reduces both. If
`numbers` is true, the kernel is run. Then weights are smooth, nothing overflows, and sums are rarely near 0."""
import random
import re
import string

from draw_text import anything, earlier, limit, mask, pick, smooth, truth, value_of_keys, weight, whole
from processor import targets_of

# Words that mean something in C, its library, linkers or emitted C. attnc may refuse some of them. If it accepts
# one, the emitted C must compile.
NAMES = '''math string stdio stdlib stdint stddef float limits errno signal assert ctype wchar time complex features
alloca endian sched pthread unistd immintrin stdc_predef bits sys gnu omp attnrt attn main exp memcpy memset malloc
floor pow abs div printf q k v out i j h n s o call part params problem row rows tile tiles chunk lane load store
splat pick vec mask ints wide meet least most probe kernel forward workspace threads state size_t int32_t uint64_t
float16 half bool true false restrict_ asm typeof linux unix i386 NULL NAN INFINITY EOF M_PI I FLT_MAX INLINE APART
UNROLL TARGET_v4 class new template this operator namespace t_1 a_0 a0 x1 _a _1 x__y __x _Bool int void return
attn_problem attn_kernel attn_alloc generic native v3 any all none numpy sum max'''.split()
DESCRIPTIONS = ['a */ b', 'two\nlines /* \\', '"quoted" \\ %s %d ??/', 'é ≤ ∞', "it's # so: yes", '\\']


def some(rng, chance, **options):
    """Draws each option with the probability `chance`."""
    return {key: value() for key, value in options.items() if rng.random() < chance}


def word(tag, options):
    return {tag: options} if options else tag


def real(rng, numbers, *moderate):
    """Draws one of `moderate`. If the kernel is not run, the number may have any size."""
    if numbers or rng.random() < 0.9: return rng.choice(moderate)
    large = rng.choice([1e300, 1e-300, 5e-324, 1e39, 1e-40, 3.4028234663852886e38, 123456789.0, 0.1, 1e-7])
    return large * (rng.choice([-1, 1]) if min(moderate) < 0 else 1)


def size(rng):
    return rng.choice([1, 2, 3, 4, 8, 16, 17, 24, 32, 33, 48, 64, 65, rng.randrange(1, 71), rng.randrange(1, 71)])


def angle(rng):
    """Returns an expression for the angle of pair t at position i."""
    by = rng.choice(['pow(10000, -t / 8.0)', '0.3', '(t + 1) * 0.01', '(t < 2 ? 1 : 0.125)', 'clamp(t * 0.1, 0, 0.5)', 'exp(-t)'])
    of = rng.choice(['i', 'i', '(i + b)', '(i % 8)', '(t % 2 ? i / 8 : i % 8)', '(int)sqrt(fabs(i))', '(i * D)'])
    return '%s * %s%s' % (of, by, rng.choice(['', '', ' + sin(t)', ' - b * 0.5', ' + H + B', ' + cos(i * 0.1)']))


def step(rng, numbers, head_dim, rope):
    """Draws a step of `prepare`. `rope` says whether rope is allowed. It may rotate a part of a row of odd size."""
    kind = rng.randrange(5 if rope and head_dim > 1 else 4)
    if kind == 0:
        affine, eps = lambda: rng.random() < 0.8, lambda: real(rng, numbers, 1e-5, 0.01, 1, 1e-12)
        return word('layernorm', some(rng, 0.4, affine=affine, eps=eps))
    if kind == 1: return word('l2norm', some(rng, 0.4, eps=lambda: real(rng, numbers, 0, 1e-6, 0.5, 1)))
    if kind == 2:
        return word('rmsnorm', some(rng, 0.4, affine=lambda: rng.random() < 0.8,
                                    eps=lambda: real(rng, numbers, 1e-6, 0.01, 1)))
    if kind == 3: return {'scale': {'by': real(rng, numbers, 0.5, -1.5, 2, 0.25, 1, -1)}}
    base, pairs = lambda: rng.choice([10000, 500.0, 2, 1e6, 1.5]), lambda: pick(rng, 'interleaved', 'halves')
    options = some(rng, 0.4, base=base, pairs=pairs)
    if head_dim % 2 or rng.random() < 0.3:
        options['dims'] = 2 * rng.randrange(1, head_dim // 2 + 1)
        if rng.random() < 0.5: options['first'] = rng.randrange(head_dim - options['dims'] + 1)
    if rng.random() < 0.25:
        options.pop('base', None)
        options['angle'] = angle(rng)
    return word('rope', options)


def features(rng, numbers):
    kind = rng.randrange(9)
    options = {'count': rng.choice([1, 2, 4, 15, 16, 17, 33, 64, 70])}
    options |= some(rng, 0.3, orthogonal=lambda: rng.random() < 0.7, seed=lambda: rng.choice([0, 7, 2 ** 64 - 1]))
    if kind == 0: return {'favor_positive': options}
    if kind == 1: return {'favor_trig': options}
    if kind == 2: return {'favor_relu': options | some(rng, 0.3, eps=lambda: real(rng, numbers, 1e-3, 0, 0.5))}
    if kind == 3: return word('relu', some(rng, 0.5, eps=lambda: real(rng, numbers, 0, 0.01, 1)))
    return ['elu_plus_one', 'identity', 'squared_relu', 'taylor1', 'hedgehog'][kind - 4]


def softmax(rng, numbers, positions):
    options = some(rng, 0.3, scale=lambda: real(rng, numbers, 0.3, 0.05, 1, -0.2),
                   cap=lambda: real(rng, numbers, 2.0, 30, 5.5))
    if positions: options |= some(rng, 0.35, bias=lambda: pick(rng, 'none', 'alibi', 'dense'))
    text = smooth(rng, rng.randrange(1, 4)) if numbers else anything(rng, rng.randrange(1, 5))
    compatibility = pick(rng, 'dot', 'multiplicative', {'additive': {'hidden': size(rng)}})
    return word('softmax', options | some(rng, 0.3, modify=lambda: text, compatibility=lambda: compatibility))


def polysketch(rng, moderate, positions):
    options = some(rng, 0.5, map=lambda: pick(rng, 'random', 'learned'))
    nets = options.get('map') == 'learned'   # for degree 64, learned networks are 70,000 lines of C
    options['degree'] = rng.choice([2, 4, 4, 4, 8, 8 if nets else 16] if moderate else [16, 16] if nets else [32, 64])
    options['sketch'] = rng.choice([1, 2, 8, 16, 24, 32, 48, 64, 70])
    if positions: options |= some(rng, 0.4, local=lambda: pick(rng, 'sketched', 'exact'))
    if not nets: options |= some(rng, 0.3, seed=lambda: rng.randrange(2 ** 64))
    return {'polysketch': options}


def similarity(rng, numbers, positions):
    kind, moderate = rng.randrange(10), numbers or rng.random() < 0.9
    if kind < 2: return softmax(rng, numbers, positions)
    if kind == 2:
        options = {'degree': rng.choice([2, 2, 4, 4, 6, 8, 1, 3]) if moderate else rng.randrange(2, 65)}
        alpha, beta = lambda: real(rng, numbers, 0, 0.5, -1.25, 2, 1), lambda: real(rng, numbers, 1, 3, 8.0, -4)
        return {'polynomial': options | some(rng, 0.4, alpha=alpha, beta=beta)}
    if kind == 3:
        degree = rng.randrange(1, 6 if moderate else 33)
        listed = [real(rng, numbers, 0, 1, 0.5, -0.25, 0.125, 2) for _ in range(degree + 1)]
        return {'polynomial_square': {'degree': degree, 'coefficients': 'param' if rng.random() < 0.4 else listed}}
    if kind < 6: return polysketch(rng, moderate, positions)
    if kind < 8:
        made = {'features': features(rng, numbers)} | some(rng, 0.2, modify=lambda: weight(rng))
        if 'favor' in str(made['features']) and 'modify' in made:   # these weights are exponentials themselves
            made['modify'] = made['modify'].replace('exp(s', 'tanh(s')
        return {'linear': made}
    return {'custom': {'weight': weight(rng) if numbers or rng.random() < 0.3 else anything(rng, rng.randrange(1, 5))}}


SLOPED = 0.2   # the part of the specs whose weights may fade with a slope from an array
READS = 0.3   # the part of the specs whose weights may read arrays
# Each is (element of an array, shape of the array). {n} is a small size.
ELEMENTS = [('{a}', []), ('{a}[h]', ['H']), ('{a}[h][i - j + {n} / 2]', ['H', '{n}']), ('{a}[j - i]', ['{n}']),
            ('{a}[h][j]', ['H', 'Nk']), ('{a}[j]', ['Nk']), ('{a}[i / 3 - j / 3 + 2][j % {n}]', ['{n}', '{n}']),
            ('{a}[j][h]', ['{n}', 5]), ('{a}[(i - j) * (i - j)]', ['{n}']), ('{a}[h][i * 1000000007 - j]', ['H', '{n}']),
            ('{a}[{n} * (i > j) + h % 3]', ['{n}']), ('{a}[i - i][fmin(i - j, 4)]', ['{n}', 'D']),
            ('{a}[b][h][j]', ['B', 'H', 'Nk']), ('{a}[g][j][{n} / 2]', ['G', 'Nk', '{n}']), ('{a}[b][j]', ['B', 'Nk']),
            ('{a}[b][h][i]', ['B', 'H', 'Nk']), ('{a}[i] * {a}[j]', ['Nk']), ('{a}[h][row]', ['H', 'Nq']),
            ('{a}[b][row][1]', ['B', 'Nq', '{n}']), ('{a}[b][h]', ['B', 'H']), ('{a}[h / 2]', ['H']), ('{a}[H - 1 - h][j]', ['H', 'Nk']),
            ('{a}[(b + 1) % B][h % 3]', ['B', 'H']), ('{a}[g * 7 - b][j / 4]', ['G', 'Nk / 4']), ('{a}[h + 1][i - j]', ['H', '{n}'])]


# Each is (condition on an element, shape of its array, type of its array).
GIVEN = [('{a}[b][row][j]', ['B', 'Nq', 'Nk'], 'bool'), ('{a}[h][j]', ['H', 'Nk'], 'bool'), ('!{a}[b][h][row]', ['B', 'H', 'Nq'], 'bool'),
         ('{a}[b][i] == {a}[b][j]', ['B', 'Nk'], 'int'), ('j < {a}[b]', ['B'], 'int'), ('{a}[b][h] / 3 <= j', ['B', 'H'], 'int'),
         ('i - j < {a}', [], 'int'), ('{a}[row] / 2 <= j && j < {a}[row] / 2 + 9', ['Nq'], 'int'), ('{a}[i / 8 - j / 8 + 2]', [5], 'bool'),
         ('{a}[h][i % 5] != j % 3', ['H', 5], 'int'), ('{a}[i % 3][j % 4] || i == j', [3, 4], 'bool'), ('{a}[b] ? j <= i : j < 40', ['B'], 'bool'),
         ('{a}[g][j] < {a}[g][i]', ['G', 'Nk'], 'int'), ('{a}[{a}[j] % 7] % 2', ['Nk'], 'int'),
         ('{a}[b][h][row / 8][j / 8]', ['B', 'H', 'Nq / 8', 'Nk / 8'], 'bool'), ('{a}[row / 5][j / 16] || i == j', ['Nq / 5', 'Nk / 16'], 'bool'),
         ('{a}[b][h][row][j] != -INFINITY', ['B', 'H', 'Nq', 'Nk'], 'real'), ('!({a}[row][j] == -INFINITY)', ['Nq', 'Nk'], 'real'),
         ('{a}[b][j] != -INFINITY && j <= i', ['B', 'Nk'], 'real'),
         ('{a}[h * h - 3][j]', ['H', 'Nk'], 'bool'), ('{a}[B - 1 - b][i] <= {a}[b][j]', ['B', 'Nk'], 'int'), ('j < {a}[b / 2][H - 1 - h]', ['B', 'H'], 'int')]


def given(rng, spec):
    """Adds a condition on elements of arrays to the mask."""
    text, shape, kind = rng.choice(GIVEN)
    if 'decode' in spec.get('emit', []) and re.search(r'/|Nq.*Nk|INFINITY|B - |\{a\}\[\{a\}', text + str(shape)): text, shape, kind = 'j < {a}[b]', ['B'], 'int'
    name = 'u%d' % len(spec.get('arrays', {}))
    spec.setdefault('arrays', {})[name] = {'shape': shape, 'type': kind}
    condition = {'expr': text.format(a=name)}
    if 'mask' not in spec: spec['mask'] = condition
    else: spec['mask'] = rng.choice([{'all': [spec['mask'], condition]}, {'all': [condition, spec['mask']]},
                                     {'all': [spec['mask'], {'any': [condition, {'expr': 'j % 2 == 0'}]}]}])


def arrays(rng, spec):
    """Lets a weight of softmax, custom or linear read elements of arrays."""
    kind, options = next(iter(spec['similarity'].items())) if isinstance(spec['similarity'], dict) else ('', None)
    if spec['similarity'] == 'softmax': kind, options = 'softmax', {}
    if kind not in ('softmax', 'custom', 'linear'): return
    spec['arrays'], grows = {}, 'decode' in spec.get('emit', [])
    at = rng.choice(['c0[b][j]', 'c0[b][i]', 'c0[h][j]']) if 'project' not in spec else 'c0[b]'
    shape = {'c0[h][j]': ['H', 'Nk'], 'c0[b]': ['B']}.get(at, ['B', 'Nk'])
    spec['arrays'] |= some(rng, 0.4, c0=lambda: {'shape': shape, 'type': pick(rng, 'int', 'bool')})
    for n in range(rng.choice([1, 1, 2, 3])):
        name, size = 'a%d' % n, str(rng.choice([1, 2, 7, 16, 33]))
        text, shape = rng.choice(ELEMENTS)
        if 'project' in spec and re.search(r'\b([ij]|row)\b', text): text, shape = '{a}[h]', ['H']
        # A state cannot append rows of an array with a divided size.
        if grows and '/' in str(shape): text, shape = '{a}[h]', ['H']
        element = text.format(a=name, n=size)
        if 'c0' in spec['arrays'] and shape and shape[-1] == '{n}' and rng.random() < 0.7:
            element = re.sub(r'\[[^[]*\]$', '[%s %s]' % (at, rng.choice(['', '% 5', '* 1000000007', '- j', '* (i % 3)'])), element)
        elif 'c0' in spec['arrays'] and rng.random() < 0.3: element = '(%s %% 2 ? %s : 0.5)' % (at, element)
        shape = [int(x) if isinstance(x, str) and x.isdigit() else x for x in (
            x.format(n=size) if isinstance(x, str) else x for x in shape)]
        spec['arrays'][name] = {'shape': shape} | some(rng, 0.3, learned=lambda: True,
                                                       init=lambda: pick(rng, 'zeros', 'ones', 'normal'))
        if kind == 'softmax':
            old = options.get('modify', 's')
            options['modify'] = rng.choice(['(%s) + %s', '(%s) * exp(%s / 4)', '%s + tanh(%s) * 2']) % (old, element)
        else:
            key = 'weight' if kind == 'custom' else 'modify'
            options[key] = '(%s) * exp(%s / 4)' % (options.get(key, 's'), element)
    spec['similarity'] = {kind: options}


def knobs(rng):
    """Draws the knobs of one entry of a schedule."""
    return some(rng, 0.3, tile_q=lambda: rng.choice([16, 32, 48, 64, 256]),
                tile_k=lambda: rng.choice([1, 7, 16, 20, 33, 64, 300]),
                rows=lambda: rng.randrange(1, 17), vectors=lambda: rng.randrange(1, 9),
                unroll=lambda: rng.randrange(1, 9),
                chunk=lambda: rng.choice([1, 7, 16, 40, 65, 1000]),
                crossover=lambda: rng.choice([1, 20, 60, 2147483647]),
                together=lambda: rng.randrange(3), part=lambda: rng.choice([16, 32, 64]))


def masks(rng, numbers):
    """Draws a mask. If the kernel is not run, the mask may have expressions of any kind."""
    if numbers or rng.random() < 0.6: return mask(rng, rng.randrange(4))
    text = re.sub(r'\bs\b', 'i', whole(rng, rng.randrange(5))) if rng.random() < 0.3 else truth(rng, rng.randrange(5))
    drawn = {'block': rng.randrange(1, 40), 'count': rng.randrange(1, 9), 'causal': rng.random() < 0.5,
             'seed': rng.randrange(2 ** 64)}
    made = {'expr': text}
    return rng.choice([made, {'any': [made, 'causal']}, {'all': ['causal', made]}, {'not': made}, {'random': drawn}])


def name_of(rng):
    if rng.random() < 0.8: return 'spec'
    if rng.random() < 0.8: return rng.choice(NAMES)
    letters = string.ascii_letters + '_'
    return rng.choice(letters) + ''.join(rng.choice(letters + string.digits)
                                         for _ in range(rng.choice([0, 1, 5, 40, 99])))


def parts_of(rng, spec):
    """Adds gradients or a state to the spec. With a state, the mask usually hides later keys."""
    spec['emit'] = rng.choice([['forward', 'backward'], ['forward', 'decode'], ['forward', 'backward', 'decode']])
    if 'project' in spec or 'dense' in str(spec['similarity']): spec['emit'] = ['forward', 'backward']
    if 'decode' not in spec['emit'] or rng.random() < 0.03: return
    # A state does not know `row`, Nq and Nk.
    if re.search(r'\b(row|Nq|Nk)\b', str(spec)): spec['emit'] = ['forward', 'backward']
    if spec.get('mask', 'causal') == 'causal': spec['mask'] = 'causal'
    else: spec['mask'] = {'all': rng.sample(['causal', spec['mask']], 2)}


SINKS = [0, -1.5, 3, '0', 'h - 1', 'i * 0.1', '-i', 'h % 2 ? 2 : -20', 'tanh(i * 0.2) * 5', 'i % 5 - 2']


# Each is (logarithm of a decay, {array that it reads: shape}).
LOGS = [('gate[b][h][t]', {'gate': ['B', 'H', 'Nk']}), ('gate[b][g][t]', {'gate': ['B', 'G', 'Nk']}),
        ('gate[t] - t % 3 * 0.01', {'gate': ['Nk']}), ('-0.05 * (h + 1)', {}), (-0.25, {}),
        ('t % 11 == 3 ? -90 : gate[b][h][t]', {'gate': ['B', 'H', 'Nk']}), ('gate[b][h][t] * 90', {'gate': ['B', 'H', 'Nk']}),
        ('-exp(rate[h]) * log1p(exp(pace[b][h][t]))', {'rate': ['H'], 'pace': ['B', 'H', 'Nk']})]
LOGS_OF_ELEMENTS = [('gate[b][h][t][d]', {'gate': ['B', 'H', 'Nk', 'D']}), ('-exp(rate[h][d]) * 0.2', {'rate': ['H', 'D']}),
                    ('gate[b][g][t] * (d % 3 + 1)', {'gate': ['B', 'G', 'Nk']})]


def decay(spec):
    """Adds a decay to some specs. The random numbers depend only on the spec, so other draws do not change."""
    rng, kind = random.Random('decay %s' % spec), str(spec['similarity'])
    if 'project' in spec or rng.random() > (0.5 if 'delta' in spec else 0.25 if 'softmax' in kind else 0.1): return
    elements = rng.random() < 0.4 and not re.search(
        'sketch|favor|hedgehog|taylor1|multiplicative|additive', kind) and spec['shape']['head_dim'] <= 33
    # If a rate is 0 or near weights are dropped, the other weights are too small for f32 under a strong decay.
    strong = [x for x in LOGS if '90' in str(x[0])]
    weak = [x for x in LOGS if x not in strong]
    logs = weak if {'delta', 'dropout'} & set(spec) else strong if 'softmax' in kind and rng.random() < 0.5 else LOGS
    log, shapes = rng.choice(LOGS_OF_ELEMENTS if elements else logs)
    spec['decay'] = {'log': log}
    if shapes: spec['arrays'] = spec.get('arrays', {}) | {name: {'shape': shape} for name, shape in shapes.items()}
    # a query must see near keys, because weights of far keys are 0 in f32
    masked = spec.get('mask', 'causal') not in ('causal', 'none') and 'softmax' in kind
    spec['mask'] = {'all': ['causal', spec['mask']]} if masked else 'causal'


# Each is (element of an array of slopes, shape of the array).
SLOPES = [('slope[h]', ['H']), ('slope[h]', ['H']), ('slope[g]', ['G']), ('slope[b]', ['B']), ('slope[b][h]', ['B', 'H']), ('slope[h][b]', ['H', 'B']),
          ('slope', []), ('slope[H - 1 - h]', ['H']), ('slope[h % 3]', [3]), ('slope[b][g]', ['B', 'G']), ('slope[j % 2]', [2]), ('slope[h][i]', ['H', 'Nk'])]
# Slopes that are 0 or more for any element {a}, and factors of weights that such a slope {r} makes.
RISES = ['exp({a})', 'fabs({a})', 'log1p(fabs({a}))', 'sqrt(fabs({a}))', '{a} * {a}', 'log1p(exp({a}))', '(1 + tanh({a}))', 'fmax({a}, 0.0)',
         'expm1(fabs({a}))', 'clamp({a}, 0.0, 2.0)', '({a} > 0 ? {a} : -{a} / 2)', '{a}', 'fmin(exp({a}), 1) / (1 + fabs({a}))']
FADES = ['exp(-{r} * (i - j))', 'exp(-{r} * (i - j))', 'exp({r} * (j - i) / 8.0)', 'exp(-fabs(i - j) * {r})', 'pow(0.5, {r} * (i - j))',
         'pow(exp(-{r}), i - j)', 'pow(1 / (1 + {r}), i - j)', 'exp(-{r} * (i - j) + 0.1 * h)', '1 / pow(1 + {r}, i - j)',
         'exp(-{r} * (i - j) * (h + 1) / H)', 'exp(-(i - j) * ({r} + 0.1))']
# Factors that do not depend on the query and the key, or not on their inner product. {a} is an element.
PLAIN = ['1', '2.5', 'exp({a})', '(tanh({a}) + 2)', 'h + 1', '(1 + {a} * {a})', '(1.5 + cos(0.3 * (i - j)))', '(j % 3 + 1)']


def slopes(spec):
    """Lets some weights fade with a slope from an array, and some weights ignore the inner product. The random numbers
    depend only on the spec, as in decay()."""
    rng = random.Random('slopes %s' % spec)
    kind, options = next(iter(spec['similarity'].items())) if isinstance(spec['similarity'], dict) else (spec['similarity'], {})
    if kind not in ('softmax', 'custom', 'linear') or 'project' in spec or rng.random() > SLOPED: return
    at, shape = rng.choice([x for x in SLOPES if x[1] != ['H', 'Nk'] or 'decode' not in spec.get('emit', [])])
    fade = rng.choice(FADES).format(r=rng.choice(RISES).format(a=at))
    key = 'weight' if kind == 'custom' else 'modify'
    old = '(%s)' % options.get(key, 's')
    if rng.random() < 0.3: old = rng.choice(PLAIN).format(a=at)
    if 'exp(s' in old and kind == 'linear': old = 's'
    made = rng.choice(['%s * %s', '%s * %s', '%s * (1 + %s)', old if kind != 'softmax' else '%s * %s']) if kind != 'softmax' else '%s + log(1e-3 + %s)'
    made = made % (old, fade) if '%s' in made else made
    spec['similarity'] = {kind: options | {key: made}}
    if 'slope' in made: spec['arrays'] = spec.get('arrays', {}) | {'slope': {'shape': shape} | some(rng, 0.5, learned=lambda: True)}
    if rng.random() < 0.8: spec['mask'] = 'causal'
    elif 'mask' in spec and spec['mask'] != 'causal': spec['mask'] = {'all': ['causal', spec['mask']]}


# Each is (angle of pair t at position i, {array that it reads: (shape, type)}).
ANGLES = [('place0[b][i] * pow(10000, -t / 8.0)', {'place0': (['B', 'Nk'], 'int')}),
          ('place0[b][i][t % 3] * pow(1000, -t / 8.0) + b', {'place0': (['B', 'Nk', 3], 'int')}),
          ('(i + turn0[b]) * wave0[t] * 0.3', {'turn0': (['B'], 'real'), 'wave0': ([4], 'real')}),
          ('i * wave0[t] * 0.1 + turn0', {'turn0': ([], 'real'), 'wave0': (['D / 2'], 'real')}),
          ('place0[i] * wave0[t / 2] + (kind0[b][i] ? 0.5 : i * 0.1)',
           {'place0': (['Nk'], 'int'), 'wave0': ([3], 'real'), 'kind0': (['B', 'Nk'], 'bool')}),
          ('tanh(turn0[b][i]) * (t + 1)', {'turn0': (['B', 'Nk'], 'real')}),
          ('place0[i / 8 + t % 2] * 0.25', {'place0': (['Nk / 8'], 'int')})]


def angles(spec):
    """Lets the angles of some rotations read arrays. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('angles %s' % spec)
    for step in spec.get('prepare', []):
        options = step.get('rope') if isinstance(step, dict) else None
        if not options or 'angle' not in options or rng.random() < 0.3: continue
        grows, derives = (part in spec.get('emit', []) for part in ('decode', 'backward'))
        options['angle'], shapes = rng.choice([
            (text, shapes) for text, shapes in ANGLES if not (grows and '/ 8' in str(shapes))
            and not (derives and ('Nk' in str(shapes.get('turn0'))))])
        spec['arrays'] = spec.get('arrays', {}) | {
            name: {'shape': shape} | ({} if kind == 'real' else {'type': kind}) for name, (shape, kind) in shapes.items()}
        return


# Each is (real number in a subscript, shape of the array that it reads).
TRUNCATED = [('{r}[h] * (i - j)', ['H']), ('{r}[b][j] * 5 + h', ['B', 'Nk']), ('{r}[b][h][i] * 3 - j', ['B', 'H', 'Nk']), ('exp({r}) * i', []),
             ('floor({r}[h] * j) / 2', ['H']), ('{r}[j] * 1e30', ['Nk']), ('{r}[b][g] * 9', ['B', 'G']), ('log({r}[H - 1 - h]) * j', ['H'])]


def truncated(spec):
    """Computes some subscripts of weights from a real array. The random numbers depend only on the spec, as in decay()."""
    rng, options = random.Random('truncated %s' % spec), next(iter(spec['similarity'].values())) if isinstance(spec['similarity'], dict) else {}
    for key in 'modify', 'weight':
        found = re.search(r'\[(i - j|j - i|\(i - j\) \* \(i - j\)|fmin\(i - j, 4\)|i \* 1000000007 - j)\]', str(options.get(key, '')))
        if not found or rng.random() < 0.6: continue
        text, shape = rng.choice(TRUNCATED)
        options[key] = options[key].replace(found[0], '[(int)(%s)]' % text.format(r='real0'))
        spec['arrays']['real0'] = {'shape': shape}


RATES = ['{a}', '{a} * 0.5', '0.3 / D', '(t % 5 + h) * 0.1 / (H + D)', '0.2 / (D + exp(-{a}))', 'fabs(tanh({a})) / D']
CORRECTED = ['identity', {'relu': {'eps': 0.01}}, 'elu_plus_one', 'squared_relu', 'taylor1', 'hedgehog']


def delta(rng, spec):
    """Adds the delta rule. Keys have length 1 and rates are small, so values stay finite."""
    spec.pop('project', None)
    if rng.random() < 0.6: spec['similarity'] = rng.choice(
        [{'linear': {'features': feature}} for feature in CORRECTED] +
        [{'polynomial': {'degree': 2}}, {'custom': {'weight': 's * exp(-0.2 * (i - j))'}},
         {'custom': {'weight': '(s + 0.5) * (1 + j % 3) * (1 + i % 2)'}},
         {'polysketch': {'degree': 4, 'sketch': 4} | some(rng, 0.5, local=lambda: 'exact')}])
    if 'exact' in str(spec['similarity']): spec['block'] = rng.choice([1, 7, 16, 20, 50])
    spec['prepare'] = [*spec.get('prepare', []), 'l2norm']
    if rng.random() < 0.7: spec['mask'] = 'causal'
    own = random.Random('block %s' % spec)
    if spec.get('mask') == 'causal' and own.random() < 0.15:
        spec['mask'] = {'all': ['causal', {'block_window': {'block': own.choice([16, 24, 32, 64])}}]}
    head = rng.choice([('H', 'h'), ('G', 'g')])
    axes = rng.sample([('B', 'b'), head, ('Nk', 't')], rng.choice([0, 1, 2, 3, 3]))
    if 'decode' in spec.get('emit', []): axes = [x for x in [('B', 'b'), head, ('Nk', 't')] if x in axes]
    element, shape = 'beta' + ''.join('[%s]' % name for _, name in axes), [axis for axis, _ in axes]
    rate = rng.choice(RATES)
    # These weights can be above 2 / rate. Then values and their rounding errors grow exponentially.
    if 'custom' in str(spec['similarity']): rate += ' / 8'
    if '{a}' in rate:
        spec['arrays'] = spec.get('arrays', {}) | {'beta': {'shape': shape}}
    spec['delta'] = {'rate': rate.replace('{a}', element)}


# Weights of the key alone, choices, waves and powers. Each is (weight, {array that it reads: (shape, type)}). {w} is a
# weight that is not negative.
FORMS = [('1', {}), ('exp(key[b][j])', {'key': (['B', 'Nk'], 'real')}), ('exp(key[h][j] / 2) * {w}', {'key': (['H', 'Nk'], 'real')}),
         ('{w} * pow(clamp(base[h], 0, 1), i - j)', {'base': (['H'], 'real')}), ('{w} * pow(fmax(fmin(base, 1), 0), i - j)', {'base': ([], 'real')}),
         ('kept[b][j] ? {w} : 0', {'kept': (['B', 'Nk'], 'bool')}), ('kept[h][j] * {w}', {'kept': (['H', 'Nk'], 'bool')}),
         ('i % 2 == 0 ? {w} : 2', {}), ('j % 3 != 1 ? {w} : (1 + h) * {w}', {}), ('kept[b][row] ? {w} : 0.5', {'kept': (['B', 'Nq'], 'bool')}),
         ('j < i ? {w} : exp(own[h])', {'own': (['H'], 'real')}), ('i == j ? 2 : i - j > 0 ? {w} : 1', {}), ('i != j ? {w} : 0.25', {}),
         ('i - j < 21 ? exp(0.5 * s) : {w}', {}), ('(i - j < 33 || j < 3 ? fabs(s) : {w}) * pow(0.97, i - j)', {}),
         ('{w} * (1.2 + cos(turn[h] * (i - j))) * pow(0.9, i - j)', {'turn': (['H'], 'real')}),
         ('(2 + tanh(s)) * 0 + 3 + pow(0.8, i - j) * sin(0.3 * (i - j))', {}), ('{w} * (4 + pow(0.1 * s, 3))', {}), ('(1 + 0.1 * s) * (1 + 0.1 * s) * (1 + 0.1 * s) * (1 + 0.1 * s)', {})]


def forms(spec):
    """Gives some custom weights another form. The random numbers depend only on the spec, as in decay()."""
    rng, emit = random.Random('forms %s' % spec), spec.get('emit', [])
    if 'custom' not in str(spec['similarity']) or {'project', 'delta', 'decay', 'sums'} & set(spec) or rng.random() > 0.4: return
    text, arrays = rng.choice([x for x in FORMS if 'decode' not in emit or not re.search(r'row|\[h\]\[j\]', x[0])])
    spec['similarity'] = {'custom': {'weight': text.format(w=rng.choice(['s * s', '(1 + s * s)', 'fabs(s)', '1']))}}
    new = {name: {'shape': shape, 'type': kind} for name, (shape, kind) in arrays.items()}
    spec['arrays'] = {name: x for name, x in (spec.get('arrays', {}) | new).items() if name in new or name in str(spec.get('mask'))}
    if not spec['arrays']: del spec['arrays']
    if rng.random() < 0.8: spec['mask'] = 'causal'
    elif 'mask' in spec and spec['mask'] != 'causal': spec['mask'] = {'all': ['causal', spec['mask']]}


def rows_of_delta(spec):
    """Lets some delta rules erase or write other rows than the keys. The random numbers depend only on the spec, as in
    decay()."""
    rng = random.Random('erase %s' % spec)
    if 'delta' not in spec or rng.random() < 0.4: return
    keys = ['erase', 'write'] if "'softmax'" not in str(spec['similarity']) else ['erase']
    keys = [key for key in keys if rng.random() < 0.7] or keys[:1]
    spec['arrays'] = spec.get('arrays', {}) | {'rows_%s' % key: {'shape': ['B', rng.choice(['H', 'G']), 'Nk', 'D']} for key in keys}
    steps = [{'l2norm': {'rows': ['rows_%s' % key for key in keys]}}]
    if rng.random() < 0.3: steps.insert(0, {rng.choice(['rmsnorm', 'layernorm']): {'rows': ['rows_' + keys[0]]}})
    if rng.random() < 0.3 and spec['shape']['head_dim'] % 2 == 0: steps.append({'rope': {'rows': ['rows_' + keys[-1]]}})
    if rng.random() < 0.3: steps.append({'scale': {'by': rng.choice([0.5, -1]), 'rows': ['rows_' + keys[0]]}})
    spec['prepare'] = [*spec.get('prepare', []), *steps] if rng.random() < 0.5 else [*steps, *spec.get('prepare', [])]
    spec['delta'] |= {key: 'rows_' + key for key in keys}
    if rng.random() < 0.2: spec['delta']['normalize'] = rng.choice(['sum', 'none'])


SEVERAL = 0.15   # the part of the specs that have scores or several sums


def indexer(rng, spec):
    """Adds a score r that sums over its own heads. Returns its factor in a logit."""
    heads, size = rng.choice([1, 2, 3, 4, 6]), rng.choice([1, 4, 8, 17])
    of_keys = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    shape, weight = rng.choice([(['B', 'Nq', heads], 'wi[b][row][x] * '), ([heads], 'wi[x] * '), (['B', 'H', 'Nq'], 'wi[b][h][row] * '), (None, '')])
    shapes = {'qi': ['B', heads, 'Nq', size], 'ki': ['B', of_keys, 'Nk', size]} | ({'wi': shape} if shape else {})
    spec['arrays'] = spec.get('arrays', {}) | {name: {'shape': shape} for name, shape in shapes.items()}
    spec['scores'] = {'r': {'query': 'qi', 'key': 'ki', 'sum': weight + rng.choice(['fmax(r, 0)', 'fmax(r, 0)', 'r', 'tanh(r)', '(r * (x + 1) + 0.1 * (i - j))'])}}
    if rng.random() < 0.3: spec['prepare'] = [*spec.get('prepare', []), {rng.choice(['l2norm', 'rmsnorm'] + ['rope'] * (size in (4, 8))): {'rows': ['qi', 'ki']}}]
    return '%.2g' % (0.5 / (heads * size) ** 0.5)


def score(rng, spec):
    """Adds a score r. Returns its factor in a logit."""
    if rng.random() < 0.4: return indexer(rng, spec)
    own, size, heads = rng.choice([('q2', 'k2')] * 3 + [('q2', 'k'), ('q', 'k2')]), spec['shape']['head_dim'], pick(rng, 'G', 'H', 1)
    axis = 'D'   # the size may be made smaller
    if own == ('q2', 'k2') and rng.random() < 0.6: axis = size = rng.choice([1, 4, 8, 17])
    shapes = {'q2': ['B', pick(rng, 'H', 'H', 1), 'Nq', axis], 'k2': ['B', heads, 'Nk', axis]}
    spec['arrays'] = spec.get('arrays', {}) | {name: {'shape': shape} for name, shape in shapes.items() if name in own}
    spec['scores'] = {'r': {'query': own[0], 'key': own[1]}}
    rows = [name for name in own if name in shapes]
    steps = [{kind: {'rows': rows}} for kind in rng.sample(['rmsnorm', 'l2norm'] + ['rope'] * (axis in (4, 8)), 1)]
    if rng.random() < 0.5: spec['prepare'] = [*spec.get('prepare', []), *steps]
    return '%.2g' % (0.5 / size ** 0.5)


def several(rng, spec):
    """Adds a score, and sums that differ in weights, masks and values."""
    by = score(rng, spec) if rng.random() < 0.6 else ''
    weights = ['softmax', {'softmax': {'modify': 's + tanh(s)'}}, {'linear': {'features': 'elu_plus_one'}},
               {'linear': {'features': {'relu': {'eps': 0.1}}}}, {'polynomial': {'degree': 2}}, {'custom': {'weight': '1 + s * s'}}]
    factors = ['tanh(s)', '0.5 + (j % 3) * 0.25', 's * 0.5', 'i - j < 5']
    if by:
        weights += [{'softmax': {'modify': 's + %s * r' % by}}, {'softmax': {'modify': '%s * r' % by}},
                    {'custom': {'weight': '1 + (%s * r) * (%s * r)' % (by, by)}}, {'custom': {'weight': 'exp(%s * r)' % by}}]
        factors += ['%s * r' % by, '1 + tanh(%s * r)' % by]
        if rng.random() < 0.4: spec['similarity'] = rng.choice(weights[-4:])
    decodes = 'decode' in spec.get('emit', [])
    masks = ['causal', {'window': {'left': 5}}, {'all': ['causal', {'block_window': {'block': 8, 'left': 1}}]}, earlier(rng)]
    if not decodes and 'decay' not in spec: masks += ['none', {'window': {'left': 3, 'right': 4}}]
    values = ['v', 'v', 1]
    if rng.random() < 0.3:
        spec.setdefault('arrays', {})['v2'] = {'shape': ['B', pick(rng, 'G', 'H'), 'Nk', 'E']}
        values += ['v2', 'v2']
    names = rng.sample(['o1', 'o2', 'o3'], rng.choice([1, 2, 2, 3]))
    draw = lambda: some(rng, 0.4, similarity=lambda: rng.choice(weights), factor=lambda: rng.choice(factors), values=lambda: rng.choice(values)) | \
        some(rng, 0.25, mask=lambda: rng.choice(masks), normalize=lambda: rng.choice(['sum', 'none', {'sum_plus': 1}, {'sink': '0.5 * h'}]))
    spec['sums'] = {name: draw() for name in names}
    spec['emit'] = [x for x in spec.get('emit', ['forward']) if x != 'statistics' and (x != 'weights' or len(names) == 1)] or ['forward']
    if len(names) == 1 and rng.random() < 0.5: return
    gate = ''
    if rng.random() < 0.4:
        spec.setdefault('arrays', {})['mix'] = {'shape': rng.choice([['H'], ['B', 'H', 'Nq'], ['H', 'E']])}
        gate = 'mix' + {1: '[h]', 3: '[b][h][row]', 2: '[h][e]'}[len(spec['arrays']['mix']['shape'])] + ' * '
    a, b, c = (names * 3)[:3]
    spec['output'] = gate + rng.choice(['%s - 0.5 * %s + %s', '%s * %s + 0.25 * %s', 'tanh(%s) * (1 + %s) - %s', '%s + (e %% 2 ? %s : %s)']) % (a, b, c)


def running(spec):
    """Adds running sums to some specs. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('running %s' % spec)
    if {'project', 'delta'} & set(spec) or rng.random() > 0.12: return
    spec.pop('schedule', None)   # most knobs are of linear forms
    similar, backward = spec['similarity'], 'backward' in spec.get('emit', [])
    if spec.get('algorithm') == 'linear' and rng.random() < 0.9: del spec['algorithm']
    sums = ['sigmoid(s)', 'fmax(0.25 * s, 0) + log1p(exp(-fabs(0.25 * s)))', 'tanh(s)', '0.05 * s * s', '(i - j) %% 3 * 0.1 + 0 * s', '0.1']
    draw = lambda: {'sum': rng.choice(sums).replace('%%', '%')} | ({'own': rng.random() < 0.7} if rng.random() < 0.5 else {})
    spec['running'] = {'near': draw()}
    if not backward and rng.random() < 0.3: spec['running']['more'] = {'sum': 'tanh(near)'}
    name = rng.choice(list(spec['running']))
    kind = rng.random()
    if 'sums' not in spec and 'decay' not in spec and rng.random() < 0.2:   # a decay
        spec.setdefault('arrays', {})['step'] = {'shape': ['B', rng.choice(['H', 'G']), 'Nk']}
        step = 'step[b][%s][j]' % spec['arrays']['step']['shape'][1].lower()
        spec['running'] = {'near': {'sum': rng.choice(['0.1', '0.05 * (j % 3)', '0.3 * fabs(%s)' % step, 'log1p(exp(%s))' % step])}}
        spec['similarity'] = rng.choice([{'softmax': {'modify': 's - near / 2'}}, {'custom': {'weight': '(1 + s * s) * exp(-near)'}},
                                         {'linear': {'features': 'elu_plus_one', 'modify': 's * exp(-0.5 * near)'}}])
        spec['mask'] = rng.choice([spec.get('mask', 'causal'), 'causal', {'window': {'left': 20}}, {'all': ['causal', {'block_window': {'block': 8, 'left': 2, 'right': 1}}]}])
        kind = 1
    if 'sums' in spec:
        if '*' in str(spec.get('output', '')) and backward: spec['output'] = ' + '.join(spec['sums'])
        for one in spec['sums'].values():
            if rng.random() < 0.5: one['similarity'] = {'custom': {'weight': 'sigmoid(s) * exp(-%s)' % name}}
            elif rng.random() < 0.5: one['factor'] = '1 + tanh(%s)' % name
        return
    if kind < 0.4: spec['similarity'] = {'softmax': {'modify': 's - 0.25 * %s' % name}}
    elif kind < 0.7: spec['similarity'] = {'custom': {'weight': 'sigmoid(s) * exp(-fabs(%s))' % name}}
    elif kind < 0.85 and 'decay' not in spec:
        spec.setdefault('arrays', {})['places'] = {'shape': ['B', 'H', 'Nq', rng.choice([3, 8])]}
        spec['similarity'] = {'softmax': {'modify': 's + places[b][h][row][(int)%s]' % name}}
    elif kind < 1: spec['similarity'] = {'custom': {'weight': '1 + s * s / (1 + fabs(%s))' % name}}
    if 'polysketch' in str(similar): spec.pop('block', None)
    spec['arrays'] = {n: a for n, a in spec.get('arrays', {}).items() if re.search(r'\b%s\b' % n, str({k: v for k, v in spec.items() if k != 'arrays'}))}
    if not spec['arrays']: del spec['arrays']


def capped(node, largest, key=''):
    """Returns the spec with sizes up to those in `largest`, so that it compiles quickly."""
    if isinstance(node, dict): return {k: capped(v, largest, k) for k, v in node.items()}
    if isinstance(node, list): return [capped(v, largest) for v in node]
    most = largest.get(key)
    return min(node, most) if most and isinstance(node, int) and not isinstance(node, bool) else node


def fitting(spec):
    """Makes other sizes fit a shorter row."""
    shape = spec['shape']
    if shape.get('values') == 'keys' and 'value_dim' in shape: shape['value_dim'] = min(shape['value_dim'], shape['head_dim'])
    for step in spec.get('prepare', []):
        options = step.get('rope') if isinstance(step, dict) else None
        if not options or 'dims' not in options: continue
        options['dims'] = min(options['dims'], shape['head_dim'] // 2 * 2)
        if 'first' in options: options['first'] = min(options['first'], shape['head_dim'] - options['dims'])
    return spec


def storage(spec):
    """Adds types of keys and values to some specs. The random numbers depend only on the spec, as in decay()."""
    rng, shape = random.Random('storage %s' % spec), spec['shape']
    if rng.random() > 0.15 or spec.get('dtype', 'f32') != 'f32' or 'backward' in spec.get('emit', []): return
    if rng.random() < 0.5: shape['head_dim'], shape['value_dim'] = 32 * rng.randrange(1, 3), 32 * rng.randrange(1, 3)
    kinds = lambda n: ['f16', 'bf16', 'fp8', 'i8'] + ['i8_32', 'q8_0', 'q4_0', 'q8_0', 'q4_0'] * (n % 32 == 0) + ['i8_64'] * (n % 64 == 0)
    own = {'k': rng.choice(kinds(shape['head_dim']))} | some(rng, 0.7, v=lambda: rng.choice(kinds(shape.get('value_dim', shape['head_dim']))))
    if rng.random() < 0.2 and 'v' in own: del own['k']
    if shape.get('values') == 'keys':
        own = {'k': rng.choice(kinds(shape['head_dim']))}
        shape['value_dim'] = min(shape.get('value_dim', shape['head_dim']), shape['head_dim'])
    spec['storage'] = own
    fitting(spec)


def draw_spec(rng, numbers):
    head, project = size(rng), rng.random() < 0.1
    spec = {'name': name_of(rng)} | some(rng, 0.1, description=lambda: rng.choice(DESCRIPTIONS))
    if rng.random() < 0.5:
        steps = rng.choice([0, 1, 1, 1, 2, 2, 3, 4])
        spec['prepare'] = [step(rng, numbers, head, not project) for _ in range(steps)]
    spec['similarity'] = similarity(rng, numbers, not project)
    if 'exact' in str(spec['similarity']) or rng.random() < 0.2: spec['block'] = rng.choice([1, 7, 16, 20, 50, 64, 256])
    elif rng.random() < 0.05: spec['block'] = 'auto'
    if not project and rng.random() < 0.8: spec['mask'] = 'causal' if rng.random() < 0.3 else masks(rng, numbers)
    spec |= some(rng, 0.4,
                 normalize=lambda: rng.choice(['sum', 'none', {'sum_plus': real(rng, numbers, 1, 0.5, 0, 3)},
                                               {'sink': rng.choice(SINKS)}]))
    if project: spec['project'] = {'linformer': {'size': size(rng)}}
    if rng.random() < 0.1:
        spec['dropout'] = rng.choice([0, 0.1, 0.5, rng.random()])
        spec |= some(rng, 0.5, seed=lambda: rng.choice([0, 7, rng.randrange(2 ** 64)]))
    spec['shape'] = {'head_dim': head} | some(rng, 0.6, value_dim=lambda: size(rng))
    if rng.random() < 0.15: spec['shape'] = {'head_dim': head, 'value_dim': rng.randrange(1, head + 1), 'values': 'keys'}
    elif rng.random() < 0.1: spec['shape']['values'] = 'keys' if 'value_dim' not in spec['shape'] else 'given'
    spec |= some(rng, 0.6, dtype=lambda: rng.choice(['f32', 'f64', 'bf16', 'f16']))
    spec |= some(rng, 0.4, algorithm=lambda: rng.choice(['auto', 'linear', 'linear', 'quadratic']))
    if spec.get('dropout') and spec.get('algorithm') == 'linear' and rng.random() < 0.9: del spec['algorithm']
    if rng.random() < (0.75 if numbers else 0.2): parts_of(rng, spec)
    if rng.random() < 0.25 and head > 1:   # layernorm of one element makes all weights 0
        spec['emit'] = [*spec.get('emit', ['forward']), 'statistics']
    if not project and rng.random() < 0.15: spec['emit'] = [*spec.get('emit', ['forward']), 'weights']
    if numbers and 'backward' in spec.get('emit', []) and "'learned'" in str(spec['similarity']):
        options = spec['similarity']['polysketch']
        options['sketch'] = max(options['sketch'], 4)   # layernorm of two elements gives only signs
    if rng.random() < READS: arrays(rng, spec)
    if not project and rng.random() < READS * 2 / 3: given(rng, spec)
    if rng.random() < 0.08: delta(rng, spec)
    if rng.random() < 0.3: spec['schedule'] = knobs(rng)
    elif rng.random() < 0.15:
        starts = sorted(rng.sample(range(2, 100), rng.randrange(1, 3)))
        spec['schedule'] = [knobs(rng)] + [{'from': start} | knobs(rng) for start in starts]
    slopes(spec)
    forms(spec)
    if numbers: limits(spec), best(spec), decay(spec)
    rows_of_delta(spec)
    own = random.Random('several %s' % spec)   # the random numbers depend only on the spec, as in decay()
    if numbers and 'project' not in spec and 'delta' not in spec and own.random() < SEVERAL: several(own, spec)
    if numbers: running(spec)
    pairs(spec)
    truncated(spec)
    angles(spec)
    storage(spec)
    narrow(spec)
    return spec


def pairs(spec):
    """Lets some outputs of weights be expressions. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('pairs %s' % spec)
    if 'weights' in spec.get('emit', []) and rng.random() < 0.4:
        spec['weights'] = rng.choice(['0.125 * s', 'j <= i ? 3 * tanh(s / 3) : -0.5 * h', 's - 0.01 * (i - j) * (h + 1)'])


def limits(spec):
    """Lets some masks read s. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('limits %s' % spec)
    if 'project' in spec or rng.random() < 0.88: return
    mask, condition = spec.get('mask', 'causal'), {'expr': limit(rng)}
    spec['mask'] = rng.choice([{'all': [mask, condition]}] * 3 + [{'all': [mask, {'any': [{'not': condition}, {'window': {'left': 3}}]}]}, condition])
    if 'decode' in spec.get('emit', []) and spec['mask'] == condition: spec['mask'] = {'all': ['causal', condition]}
    if spec.get('algorithm') == 'linear' and rng.random() < 0.9: del spec['algorithm']


def best(spec):
    """Lets some masks show the best keys of a row. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('best %s' % spec)
    if 'project' in spec or 'delta' in spec or rng.random() < 0.9: return
    def top(): return {'top': {'count': rng.choice([1, 2, 3, 5, 9, 16, 100]), 'by': value_of_keys(rng), **({'block': rng.choice([2, 3, 8, 16, 40])} if rng.random() < 0.4 else {})}}
    mask = spec.get('mask', 'causal')
    spec['mask'] = rng.choice([{'all': [mask, top()]}] * 4 + [{'all': [top(), mask, top()]}, {'any': [mask, top()]}, {'all': [mask, {'not': top()}]}, top(),
                               {'any': [{'all': ['causal', top()]}, {'window': {'left': 2}}]}])
    if spec.get('algorithm') == 'linear': del spec['algorithm']


def narrow(spec):
    """Stores some arrays of real numbers in 16 bits. The random numbers depend only on the spec, as in decay()."""
    rng = random.Random('narrow %s' % spec)
    if spec.get('dtype') == 'f64' or rng.random() < 0.5: return
    for array in spec.get('arrays', {}).values():
        if array.get('type', 'real') != 'real' or rng.random() < 0.3: continue
        array['type'] = rng.choice(['f16', 'bf16'])
        array.pop('learned', None)


def draw(seed, number, numbers):
    rng = random.Random('%d %d %d' % (seed, number, numbers))
    spec, length = draw_spec(rng, numbers), lambda: rng.choice([size(rng), rng.randrange(1, 71), rng.randrange(1, 200)])
    kv_heads, n_k = rng.choice([1, 1, 2, 3]), length()
    members = 1 if 'delta' in spec else rng.choice([1, 1, 2, 3])
    drawn = {'spec': spec, 'targets': rng.sample(targets_of(), rng.choice([1, 1, 1, 2])) if rng.random() < 0.85 else [],
             'standalone': rng.random() < 0.1,
             'optimize': '-fsyntax-only' if numbers
             else rng.choices(['-fsyntax-only', '-O0', '-O2'], [0.88, 0.1, 0.02])[0],
             'heads': kv_heads * members, 'kv_heads': kv_heads,
             'n_q': n_k if rng.random() < 0.6 else length(),
             'n_k': n_k, 'batch': rng.choice([1, 2, 3]), 'threads': rng.randrange(1, 5), 'seed': number,
             'ids': rng.choice(['sorted', 'rising', 'many'])}
    # The lengths for attnc check.
    drawn['lengths'] = [rng.choice([1, 2, 7, 16, 31, 40, rng.randrange(1, 66)]) for _ in range(2)]
    drawn['chunks'] = [rng.choice([1, 2, 7, 16, 33, 64, rng.randrange(1, 200)]) for _ in range(rng.randrange(1, 5))]
    return drawn
