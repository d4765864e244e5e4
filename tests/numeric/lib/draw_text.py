"""Draws random expressions and masks.

- Expressions of positions are exact in any order.
- Expressions of s are smooth and bounded, or of any kind."""
import re


def pick(rng, *choices):
    return rng.choice(choices)


def constant(rng, positive=False):
    return str(rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 31, 64] if positive else [0, 1, 2, 3, 5, 9, 17, 40]))


def eighths(rng):
    """Returns a constant. Sums and products of these constants are exact in any order."""
    return rng.choice(['0.5', '0.25', '1.5', '2.0', '0.125', '3.', '.75', '1e1', '2.5e-1'])


# The names in expressions, in addition to i, j and h.
NAMES = ['b', 'g', 'row', 'B', 'H', 'G', 'Nq', 'Nk', 'D', 'E']


def integer(rng, depth):
    """Returns an integer expression in i, j, h, and sometimes another name."""
    if depth <= 0 or rng.random() < 0.2:
        return rng.choice(['i', 'j', 'i', 'j', 'h', constant(rng), 'i', 'j', 'i', 'j', constant(rng), rng.choice(NAMES)])
    a = lambda: integer(rng, depth - 1)
    kind = rng.randrange(19)
    if kind == 16: return '(%s %s %s)' % (a(), pick(rng, '&', '|', '^'), pick(rng, constant(rng, True), a()))
    if kind == 17: return '((%s) %s)' % (a(), pick(rng, '<< 1', '<< 3', '>> 1', '>> 4', '>> (h)', '>> (%s)' % a()))
    if kind == 18: return pick(rng, '~(%s)', 'sign(%s)', '(int)log2(fabs(%s) + 1)') % a()
    if kind == 14: return 'clamp(%s, %s, %s)' % (a(), constant(rng), a())
    if kind == 15: return '(int)%s' % rng.choice(['(%s)' % real(rng, depth - 2), 'sqrt(fabs(%s))' % a()])
    if kind < 3: return '%s + %s' % (a(), a())
    if kind < 6: return '(%s - (%s))' % (a(), a())
    if kind == 6: return '(%s) * %s' % (a(), constant(rng))
    if kind == 7: return '(%s) / %s' % (a(), rng.choice([constant(rng, True), '-3', '(%s)' % a()]))
    if kind == 8: return '(%s) %% %s' % (a(), rng.choice([constant(rng, True), '-4', '(%s)' % a()]))
    if kind == 9: return '(%s ? %s : %s)' % (truth(rng, depth - 1), a(), a())
    if kind == 10: return '%s(%s, %s)' % (pick(rng, 'fmin', 'fmax', 'min', 'max'), a(), a())
    if kind == 11: return 'fabs(%s)' % a()
    if kind == 12: return '- %s' % integer(rng, 0)
    return '(%s)' % truth(rng, depth - 1)


def real(rng, depth):
    """Returns a real expression of positions that is computed without rounding."""
    if depth <= 0: return '(%s) * %s' % (integer(rng, 0), eighths(rng))
    kind = rng.randrange(6)
    if kind == 5: return '%s(%s)' % (pick(rng, 'ceil', 'round', 'trunc', 'sign', 'rint'), real(rng, depth - 1))
    if kind == 0: return '((%s) * %s + %s)' % (integer(rng, depth - 1), eighths(rng), eighths(rng))
    if kind == 1: return '(%s) / %s' % (integer(rng, depth - 1), rng.choice(['2.0', '4.0', '0.5', '8.']))
    if kind == 2: return 'floor(%s)' % real(rng, depth - 1)
    if kind == 3: return '%s(%s, %s)' % (pick(rng, 'fmin', 'fmax', 'min', 'max'), real(rng, depth - 1), integer(rng, depth - 1))
    return '(%s ? %s : %s)' % (truth(rng, depth - 1), real(rng, depth - 1), integer(rng, depth - 1))


def truth(rng, depth):
    if depth <= 0: return '%s %s %s' % (rng.choice('ij'), pick(rng, '<', '<=', '>', '>=', '==', '!='), integer(rng, 0))
    kind = rng.randrange(12)
    compare = pick(rng, '<', '<=', '>', '>=', '==', '!=')
    if kind < 3: return '%s %s %s' % (integer(rng, depth - 1), compare, integer(rng, depth - 1))
    if kind == 3: return 'j %s i + %s' % (compare, constant(rng))
    if kind == 4: return '%s(i - j) %s %s' % (pick(rng, 'fabs', ''), compare, constant(rng))
    if kind == 5: return '%s %s %s' % (real(rng, depth - 1), pick(rng, '<', '<=', '>', '>='),
                                       pick(rng, real, integer)(rng, depth - 1))
    if kind == 6: return '!(%s)' % truth(rng, depth - 1)
    if kind == 7: return '(%s) == (%s)' % (truth(rng, depth - 1), truth(rng, depth - 1))
    if kind == 8: return '(%s ? %s : %s)' % (truth(rng, depth - 1), truth(rng, depth - 1), truth(rng, depth - 1))
    if kind == 9: return '(%s) %% %s == %s' % (integer(rng, depth - 1), constant(rng, True), constant(rng))
    return '(%s %s %s)' % (truth(rng, depth - 1), pick(rng, '&&', '||'), truth(rng, depth - 1))


def position(rng, depth):
    """Returns an expression of positions whose values are small. Smooth functions use it as their variable."""
    return rng.choice(['(i - j) / 32.0', 'i * 0.0625', 'b - 0.5', 'cos(i * 0.3)', 'log1p(j)', '(row + 1.0) / Nq', '(j % 7) * 0.3', 'h + 0.5', '(%s)' % truth(rng, depth),
                       'fmin(fabs(i - j), 9) * 0.11'])


def smooth(rng, depth):
    """Returns a bounded expression in s that is continuous in s."""
    if depth <= 0: return rng.choice(['s', 's', 's * 0.3', 's - 0.25', 'tanh(s)', eighths(rng)])
    a = lambda: smooth(rng, depth - 1)
    kind = rng.randrange(16)
    if kind == 14: return 'sigmoid(%s)' % a()
    if kind == 15: return rng.choice(['log2(1.5 + fabs(%s))', 'exp2(tanh(%s))', '(s > 0 ? sigmoid(%s) * s : 0)']) % a()
    if kind == 10: return '%s(%s)' % (pick(rng, 'sin', 'cos'), a())
    if kind == 11: return 'clamp(%s, -0.5, %s)' % (a(), a())
    if kind == 12: return 'expm1(tanh(%s))' % a()
    if kind == 13: return '%s(%s)' % (pick(rng, 'sin', 'cos'), position(rng, 1))
    if kind == 0: return '(%s + %s)' % (a(), a())
    if kind == 1:
        return '(%s) * %s' % (a(), rng.choice(['0.4', 'exp(-fabs(i - j) / 16.0)', '(%s ? 0.5 : 1)' % truth(rng, 1)]))
    if kind == 2: return 'tanh(%s) - %s' % (a(), 'tanh(%s)' % position(rng, 1))
    if kind == 3: return 'sqrt(1 + pow(%s, 2))' % a()
    if kind == 4: return 'log(1.5 + fabs(%s))' % a()
    if kind == 5: return '%s(%s, %s)' % (pick(rng, 'fmin', 'fmax', 'min', 'max'), a(), a())
    if kind == 6: return '(%s ? %s : %s)' % (truth(rng, 1), a(), a())
    if kind == 7: return '(s > 0 ? %s * s : %s * s)' % (eighths(rng), a())
    if kind == 8: return '%s / (1 + fabs(%s))' % (a(), position(rng, 0))
    return '-(%s)' % a()


def limit(rng):
    """Returns a condition on s, for a mask."""
    return rng.choice(['s > %s' % pick(rng, '0', '-0.25', '0.1 * (h - 1)', '(i - j & 3) * 0.125', 'sigmoid(i - 20)'), 's * s < %s' % pick(rng, '2', '0.5'),
                       '(s < 0) == (%s)' % truth(rng, 1), 's > 0.25 || i == j', '%s ? s < 1 : s > -1' % truth(rng, 1), '!(s >= 0.5 && s < 0.75)'])


def value_of_keys(rng):
    """Returns the value of a key for the mask `top`. Some values are equal, and some are NaN."""
    return rng.choice(['s', 's', '-fabs(s) * (h + 1)', 'floor(4 * s)', 'log(s)', 'i - j', 'j % 3', '(j * 7 + h) % 5 - fabs(i - j) / 8.0', 'i % 2 ? s : j', smooth(rng, 1)])


def weight(rng):
    """Returns a weight above 0, so that no sum vanishes."""
    kind = rng.randrange(11)
    if kind == 10: return 'exp2(%s) * sigmoid(%s)' % (smooth(rng, 1), smooth(rng, 1))
    if kind == 0: return 'pow(1 + s, %d)' % rng.choice([2, 4])
    if kind == 1: return '(1 + %s * s + s * s)' % eighths(rng) + rng.choice([' * (1 + s * s)', '', ' * 0.5 + 2'])
    if kind == 2: return 'exp(%s)' % smooth(rng, 2)
    if kind == 3: return 'exp(s / 2) * (1 + %s * s * s)' % eighths(rng)
    if kind == 4: return 'pow(%s, 2) + 0.5' % smooth(rng, 2)
    if kind == 5: return '1 + s * s * (h + 1) / (1 + fabs(i - j))'
    if kind == 6: return '1.5 + tanh(%s)' % smooth(rng, 2)
    if kind == 7: return '1 + (%s)' % truth(rng, 2)
    if kind == 8:
        angle = rng.choice(['0.3 * (i - j)', '(j - i) / 7.0 + h', '-(i * 0.5 - (j - b) * 0.25)'])
        return '(1 + s * s) * (1.5 + %s(%s))' % (pick(rng, 'sin', 'cos'), angle)
    return '(2 + (i %% 3) + (j %% 5)) * (%s)' % rng.choice(['1 + s * s', 'pow(s, 4) + 1', '2 + s * s / 8'])


def earlier(rng):
    """Returns a mask that shows a query the keys up to one that is usually earlier than its own position."""
    n, block = rng.randrange(1, 40), rng.randrange(1, 33)
    return rng.choice([{'expr': 'j / %d < i / %d' % (block, block)}, {'expr': 'i - j >= %d' % n}, {'expr': 'j <= i / %d * %d' % (block, block)},
                       {'all': ['causal', {'not': {'block_window': {'block': block, 'left': n % 3}}}]},
                       {'all': ['causal', {'not': {'window': {'left': n}}}]}, {'all': [{'expr': 'i - j >= %d' % n}, 'document']},
                       {'expr': 'j < i / %d' % (n % 4 + 1)}, {'expr': '%d * j <= i' % (n % 4 + 1)}])


def mask(rng, depth):
    kind = rng.randrange(16 if depth > 0 else 12)
    if kind == 0: return 'none'
    if kind == 1: return 'causal' if rng.random() < 0.5 else earlier(rng)
    if kind == 2: return {'window': {'left': rng.randrange(20), 'right': rng.randrange(20),
                                     **({'dilation': rng.randrange(1, 4)} if rng.random() < 0.5 else {})}}
    if kind == 3:
        return {'block_window': {'block': rng.randrange(1, 17), 'left': rng.randrange(3), 'right': rng.randrange(3)}}
    if kind == 4: return {'prefix': {'length': rng.randrange(50)}}
    if kind == 5: return {'global': rng.choice([{'count': rng.randrange(1, 9)},
                                                {'tokens': rng.sample(range(70), rng.randrange(1, 6))}])}
    if kind == 6: return {'random': {'block': rng.randrange(1, 17), 'count': rng.randrange(1, 5),
                                     'seed': rng.randrange(100)}} if rng.random() < 0.3 else 'causal'
    if kind == 9: return 'document'
    if kind < 9: return {'expr': truth(rng, rng.randrange(4))}
    if kind == 10: return 'lengths'
    if kind == 11: return {'blocks': {'block': 16, 'count': 3}}   # all masks of a spec read one parameter
    if kind == 12: return {'not': mask(rng, depth - 1)}
    return {pick(rng, 'any', 'all'): [mask(rng, depth - 1) for _ in range(rng.randrange(1, 4))]}


ORDINARY = ['0', '1', '2', '3', '7', '64', '0.5', '1.', '.25', '2e0', '1e-3', '0.1', '3.14159', '0.0', '10']
EXTREME = ['1e300', '1e-300', '4.9e-324', '1e38', '1e39', '1e-46', '2147483648', '4294967295', '9223372036854775807',
           '16777217.0', '1e15']


def number(rng):
    """Returns a constant, usually of moderate size."""
    return rng.choice(ORDINARY if rng.random() < 0.97 else EXTREME)


def whole(rng, depth):
    """Returns any integer expression in s, i, j, h and other names."""
    if depth <= 0: return rng.choice(['i', 'j', 'h', 'i', 'j', constant(rng), rng.choice(NAMES), re.match(r'\d*', number(rng))[0] or '1'])
    a, b = lambda: whole(rng, depth - 1), lambda: anything(rng, depth - 1)
    kind = rng.randrange(17)
    if kind == 14: return '(%s) %s (%s)' % (a(), pick(rng, '&', '|', '^'), a())
    if kind == 15: return '(%s) %s (%s)' % (a(), pick(rng, '<<', '>>'), a())
    if kind == 16: return '~(%s)' % a()
    if kind == 12: return '(int)(%s)' % b()
    if kind == 13: return 'clamp(%s, %s, %s)' % (a(), a(), a())
    if kind == 0: return '(%s) + (%s)' % (a(), a())
    if kind == 1: return '(%s) - (%s)' % (a(), a())
    if kind == 2: return '(%s) * (%s)' % (a(), a())
    if kind == 3: return '(%s) / (%s)' % (a(), a())
    if kind == 4: return '(%s) %% (%s)' % (a(), a())
    if kind == 5: return '(%s ? %s : %s)' % (b(), a(), a())
    if kind == 6: return '%s(%s, %s)' % (pick(rng, 'fmin', 'fmax', 'min', 'max'), a(), a())
    if kind == 7: return 'fabs(%s)' % a()
    if kind == 8: return '%s(%s)' % (pick(rng, '-', '+', '!'), a())
    if kind == 9: return '((%s) %s (%s))' % (b(), pick(rng, '<', '<=', '>', '>=', '==', '!='), b())
    if kind == 10: return '((%s) %s (%s))' % (b(), pick(rng, '&&', '||'), b())
    return '!(%s)' % b()


def anything(rng, depth):
    """Returns any expression in s, i, j, h and other names, of any type and any size."""
    if depth <= 0: return rng.choice(['s', 's', 's', 'i', 'j', 'h', number(rng), rng.choice(NAMES)])
    if rng.random() < 0.25: return '(%s)' % whole(rng, depth)
    a = lambda: anything(rng, depth - 1)
    kind = rng.randrange(14)
    if kind < 3: return '(%s) %s (%s)' % (a(), pick(rng, '+', '-'), a())
    if kind < 6: return '(%s) * (%s)' % (a(), a())
    if kind == 6: return '(%s) / (%s)' % (a(), a())
    if kind == 7: return '((%s) ? %s : %s)' % (a(), a(), a())
    if kind == 8: return '%s(%s, %s)' % (pick(rng, 'fmin', 'fmax', 'min', 'max'), a(), a())
    if kind == 9: return 'pow(%s, %s)' % (a(), rng.choice(['2', '3', '0.5', '-1', '0', '-2.5', '64', a()]))
    if kind == 10: return '%s(%s)' % (pick(rng, '-', '!', '+'), a())
    if kind == 11: return 'exp(%s)' % a()
    return '%s(%s)' % (pick(rng, 'log', 'tanh', 'sqrt', 'fabs', 'floor', 'sin', 'cos', 'log1p', 'expm1', '(int)', 'ceil', 'round', 'trunc', 'sign', 'log2',
                            'exp2', 'sigmoid'), a())
