"""Draws score_mod and mask_mod at random, and compares what flex_attention makes of them with what PyTorch computes.

- translations: each formula is translated, and its C text is evaluated here by NumPy, as the language of specs defines it.
  PyTorch evaluates the formula on grids of all indices. Both compute in float64, and each pair is compared.
- kernels, graphs: each kernel has eight formulas, one for each head, and is compared with PyTorch's flex_attention.

`--formulas N --seed S` draws N formulas in `translations`."""
import math
import random
import re
import warnings

from common import *

import torch
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask

import attnc.torch
from attnc._flex_formula import _condition, _not, _Trace, conjuncts, Untranslatable

B, H, N = 2, 8, 9
CASES_OF_FORMULAS, FORMULAS = 4, 200
MAX_ARRAYS = 16   # of a kernel
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False
warnings.filterwarnings('ignore')


# ---- captured tensors

def captured(seed):
    """Returns tensors of every dtype. Those named w have integers of 64 bits, which only comparisons can use."""
    made = torch.Generator().manual_seed(seed)
    drawn = {}
    for name, shape in (('', ()), ('h', (H,)), ('j', (N,)), ('bi', (B, N)), ('ij', (N, N)), ('t', (5,))):
        whole = torch.randint(-9, 9, shape, generator=made)
        real = torch.randn(shape, generator=made)
        for dtype in torch.float16, torch.bfloat16, torch.float32, torch.float64:   # PyTorch computes with single halves itself
            drawn['%s_%s' % (str(dtype)[6:], name)] = real.roll(len(drawn)).to(dtype if name else torch.float32)
        for dtype in torch.int64, torch.int32, torch.int16, torch.int8:
            drawn['%s_%s' % (str(dtype)[6:], name)] = whole.roll(len(drawn)).to(dtype)
        drawn['uint8_' + name] = torch.randint(0, 256, shape, generator=made, dtype=torch.uint8)
        drawn['bool_' + name] = whole.roll(1) > 0
        drawn['place_' + name] = torch.randint(-5, 5, shape, generator=made)
        drawn['w_' + name] = torch.randint(0, 4, shape, generator=made) * 2 ** 32 + torch.randint(-1, 2, shape, generator=made)
    return drawn


SUBSCRIPTS = {'': [''], 'h': ['[h]', '[h - 8]'], 'j': ['[j]', '[i]', '[-1 - j]', '[(i - j)]', '[(i - j).abs()]'],
              'bi': ['[b, i]', '[b, j]', '[b][j]', '[1, i]'], 'ij': ['[i, j]', '[j, i]', '[i][j]', '[i, 2]'],
              't': ['[h % 5]', '[(i + j) % 5]', '[place_j[j]]', '[h * 0 - 1]', '[torch.clamp(i - j, -2, 3)]',
                    '[(i // 2).clamp(max=4).to(torch.int32)]']}


# ---- drawing


class Draw:
    """Draws the text of a formula. P(x) is a number that is rounded, so formulas whose result jumps with it are not
    compared there."""

    def __init__(self, seed, scores, most=12):
        """most: the largest number of operations"""
        self.random, self.scores, self.most = random.Random(seed), scores, most

    def one(self, *choices):
        return self.random.choice(choices)

    def element(self, *kinds):
        shape = self.one(*SUBSCRIPTS)
        return '%s_%s%s' % (self.one(*kinds), shape, self.one(*SUBSCRIPTS[shape]))

    def real(self, size):
        if size <= 0:
            leaves = ['s'] * 6 if self.scores else []
            return self.one(*leaves, *[self.element('float16', 'bfloat16', 'float32', 'float64') for _ in range(2)],
                            self.integer(0) + '.float()')
        a, one = lambda: self.real(size - 1 - self.random.randrange(2)), self.one
        half = lambda: self.real((size - 1) // 2)
        rest = lambda: self.real(size - 1 - (size - 1) // 2)
        number = lambda: one('2', '0.5', 'P(0.3)', '-1.5', '3', 'P(1.1)', 'True')
        return one(
            lambda: '(%s %s %s)' % (half(), one('+', '-', '*', '+', '-', '*', '/'), rest()),
            lambda: '(%s %s %s)' % (a(), one('+', '-', '*', '/'), number()),
            lambda: '(%s %s %s)' % (number(), one('+', '-', '*'), a()),
            lambda: '(%s %s %s)' % (half(), one('+', '-', '*'), self.integer(size - 1 - (size - 1) // 2)),
            lambda: '(%s / %s)' % (self.integer(size - 1), one('4', '3', '(h + 1)', '2.5')),
            lambda: '(%s * %s)' % (self.truth(size - 1), one('P(0.3)', 's' if self.scores else '0.25')),
            lambda: 'torch.%s(%s)' % (one('tanh', 'sigmoid', 'erf', 'sin', 'cos', 'floor', 'ceil', 'round', 'trunc', 'abs', 'sign',
                                          'neg', 'square', 'relu', 'frac', 'fix'), a()),
            lambda: 'torch.%s(%s)' % (one('exp', 'exp2', 'expm1'), 'torch.clamp(%s, max=3)' % a()),
            lambda: 'torch.%s(1 + %s.abs())' % (one('log', 'log2', 'log10', 'sqrt', 'rsqrt', 'reciprocal', 'log1p'), a()),
            lambda: 'F.%s(%s)' % (one('gelu', 'silu', 'softplus', 'relu', 'logsigmoid', 'leaky_relu', 'elu', 'hardtanh', 'relu6',
                                      'softsign', 'tanhshrink', 'mish', 'hardsigmoid', 'hardswish'),
                                 'torch.clamp(%s, -4, 30)' % a()),
            lambda: "F.gelu(torch.clamp(%s, -4, 9), approximate='tanh')" % a(),
            lambda: 'torch.%s(%s, %s)' % (one('maximum', 'minimum', 'max', 'min', 'fmax', 'fmin', 'hypot', 'logaddexp'),
                                          *self.alike(half(), rest())),
            lambda: 'torch.%s(%s, %s)' % (one('fmod', 'remainder'), a(), one('P(0.737)', '2', 'P(-1.319)')),
            lambda: '(%s %s %s)' % (a(), one('%', '//'), one('P(0.737)', '2', 'P(-1.319)')),
            lambda: 'torch.div(%s, %s, rounding_mode=%r)' % (a(), one('P(0.737)', '3', 'P(-1.319)'), one('floor', 'trunc')),
            lambda: 'torch.where(%s, %s, %s)' % (self.truth((size - 1) // 3), half(), self.real((size - 1) // 3)),
            lambda: 'torch.where(%s, %s, %s)' % (self.truth((size - 1) // 2), half(), one('0', '1.5', 'P(0.1)', 'True')),
            lambda: 'torch.clamp(%s, %s)' % (a(), one('min=P(-0.2)', 'max=1', '-1, P(0.4)', 'min=0.5, max=2')),
            lambda: '%s.masked_fill(%s, %s)' % (half(), self.truth((size - 1) // 2), one('0.0', '2.5')),
            lambda: '(%s ** %s)' % (a(), one('2', '3', '2.0')),
            lambda: 'torch.addcmul(%s, %s, %s%s)' % (*self.alike(half(), self.real(0), self.real(0)), one('', ', value=2')),
            lambda: 'torch.lerp(%s, %s, 0.25)' % self.alike(half(), rest()),
            lambda: 'torch.add(%s, %s, alpha=%s)' % (half(), rest(), one('2', '0.5')),
            lambda: 'torch.sub(%s, %s, alpha=3)' % (half(), rest()),
            lambda: '%s.%s' % (a(), one('float()', 'double()', 'to(torch.float32)', 'clone()', 'abs()', 'neg()')),
            lambda: '(%s + torch.%s)' % (a(), one('tensor(1.5)', 'full((), 2.0)', 'zeros(())', 'tensor(3)')),
            lambda: 'torch.nan_to_num(%s)' % a(),
        )()

    def alike(self, *values):
        """Returns values of one dtype, for functions that do not promote."""
        return tuple('%s.double()' % one for one in values)

    def integer(self, size):
        if size <= 0:
            return self.one('b', 'h', 'i', 'j', 'i', 'j', self.element('int64', 'int32', 'int16', 'int8', 'uint8', 'place'))
        a, one = lambda: self.integer(size - 1 - self.random.randrange(2)), self.one
        half = lambda: self.integer((size - 1) // 2)
        rest = lambda: self.integer(size - 1 - (size - 1) // 2)
        number = lambda: one('2', '3', '-1', '7', 'True', '200')
        divisor = lambda: one('2', '3', '-4', '5', '(h + 1)', '(j - 20)')
        return one(
            lambda: '(%s %s %s)' % (half(), one('+', '-', '*', '&', '|', '^'), rest()),
            lambda: '(%s %s %s)' % (a(), one('+', '-', '*', '&', '|', '^'), number()),
            lambda: '(%s %s %s)' % (number(), one('+', '-', '*', '&', '|', '^'), a()),
            lambda: '(%s %s %s)' % (a(), one('//', '%'), divisor()),
            lambda: '(%s %s %s)' % (a(), one('<<', '>>'), one('1', '2', '3', 'h', '(i - j)', '(7 * i)')),
            lambda: 'torch.div(%s, %s, rounding_mode=%r)' % (a(), divisor(), one('floor', 'trunc')),
            lambda: 'torch.%s(%s, %s)' % (one('fmod', 'remainder', 'floor_divide'), a(), divisor()),
            lambda: 'torch.%s(%s, %s)' % (one('maximum', 'minimum', 'max', 'min'), half(), rest()),
            lambda: one('~%s', '(-%s)', 'torch.abs(%s)', 'torch.sign(%s)', '%s.neg()', 'torch.square(%s)', 'F.relu(%s)',
                        'torch.round(%s)') % a(),
            lambda: 'torch.where(%s, %s, %s)' % (self.truth((size - 1) // 2), half(), one(half(), '4', 'True')),
            lambda: 'torch.clamp(%s, %s)' % (a(), one('min=0', 'max=6', '-2, 5')),
            lambda: '%s.%s' % (self.truth(size - 1), one('int()', 'long()', 'to(torch.int32)', 'to(torch.uint8)')),
            lambda: '(%s + %s)' % (self.truth((size - 1) // 2), rest()),
            lambda: 'torch.%s(torch.tanh(%s) * 20).%s' % (one('floor', 'round', 'ceil', 'trunc', 'abs'), self.real(size - 2),
                                                          one('to(int)', 'int()', 'long()', 'to(torch.int32)', 'to(torch.int8)')),
            lambda: 'torch.log2(1 + %s.abs()).%s' % (one('i', 'j', '(i * j)', '(i << h)'), one('to(int)', 'int()', 'floor().long()')),
            lambda: '%s.%s' % (a(), one('long()', 'int()', 'to(torch.int16)', 'to(torch.uint8)', 'to(torch.int8)', 'clone()')),
            lambda: '(%s ** %s)' % (a(), one('2', '3', '1')),
            lambda: '(2 ** %s)' % one('h', 'i', '(j // 2)', '(i - j)'),
            lambda: 'torch.bitwise_%s(%s, %s)' % (one('and', 'or', 'xor'), half(), rest()),
        )()

    def truth(self, size):
        wide = lambda: self.element('w')
        sign = lambda: self.one('<', '<=', '>', '>=', '==', '!=')
        if size <= 0:
            return self.one('(%s %s %s)' % (self.one('i', 'j', 'h'), sign(), self.one('i', 'j', '3', 'b')), self.element('bool'),
                            '(%s %s %s)' % (wide(), sign(), self.one(wide(), wide(), wide(), '0', '-1', '1')))
        one = self.one
        half = lambda: self.truth((size - 1) // 2)
        rest = lambda: self.truth(size - 1 - (size - 1) // 2)
        return one(
            lambda: '(%s %s %s)' % (half(), one('&', '|', '^', '+', '*', '&', '|', '==', '<'), rest()),
            lambda: 'torch.%s(%s, %s)' % (one('logical_and', 'logical_or', 'logical_xor', 'bitwise_and', 'maximum', 'mul'), half(),
                                          rest()),
            lambda: one('~%s', 'torch.logical_not(%s)', '%s.bool()', '%s.to(torch.int8).bool()') % self.truth(size - 1),
            lambda: '(%s %s %s)' % (self.integer((size - 1) // 2), sign(), self.integer(size - 1 - (size - 1) // 2)),
            lambda: '(%s %s %s)' % (self.integer(size - 1), sign(), one('2', '-1', '0.5', '300', 'True')),
            lambda: '(%s %s %s + P(0.0137))' % (self.real((size - 1) // 2), one('<', '>'),
                                                self.real(size - 1 - (size - 1) // 2)),
            lambda: '(%s %s %s)' % (self.real(size - 1), one('<', '>'), one('P(0.1)', '1', 'i', 'h')),
            lambda: 'torch.logical_%s(%s, %s)' % (one('and', 'or', 'xor'), self.integer((size - 1) // 2), rest()),
            lambda: 'torch.%s(%s)' % (one('isnan', 'isinf', 'isfinite'), self.real(size - 1)),
            lambda: '%s.bool()' % self.integer(size - 1),
            lambda: 'torch.where(%s, %s, %s)' % (half(), half(), one(half(), 'False')),
        )()

    def score(self, size):
        """Returns a score, which may have -inf."""
        x, c = self.real(size - 1), self.truth(self.random.randrange(3))
        low = self.one("-float('inf')", "torch.tensor(-float('inf'))", "torch.full_like(s, -float('inf'))",
                       "s.new_full((), -float('inf'))", "torch.tensor(-float('inf'), dtype=s.dtype, device=s.device)")
        return self.one(x, x, x, x, x, 'torch.where(%s, %s, %s)' % (c, x, low), 'torch.where(%s, %s, %s)' % (c, low, x),
                        '(s + torch.where(%s, 0.0, %s))' % (c, low), '(torch.where(%s, s, %s) * 2)' % (c, low),
                        '%s.double().masked_fill(%s, -float("inf"))' % (x, c),
                        '(torch.exp(torch.where(%s, torch.tanh(s), %s)) + %s)' % (c, low, x),
                        'torch.maximum(torch.where(%s, s, %s), torch.tanh(s))' % (c, low),
                        'torch.where(torch.where(%s, s, %s) > P(0.1), s, %s)' % (c, low, low),
                        'torch.where(s > P(0.2), s, %s)' % low)

    def formula(self):
        size = self.random.randint(1, self.most)
        return self.score(size) if self.scores else self.one(self.truth(size), self.truth(size), self.integer(size - 1))


def function(text, names, scores):
    """Returns the formula as a function of Python."""
    text = re.sub(r'P\(([-\d.]+)\)', r'(\1)', text)
    return eval('lambda %sb, h, i, j: %s' % ('s, ' if scores else '', text),
                dict(names, torch=torch, F=torch.nn.functional, float=float, int=int))


# ---- what PyTorch computes


def on_grids(text, names, scores, s, shift):
    """Evaluates the formula on grids of all indices. shift: how much numbers of reals are changed, relatively"""
    grids = torch.meshgrid(*(torch.arange(n) for n in (B, H, N, N)), indexing='ij')
    turned = {}
    for number, (name, tensor) in enumerate(names.items()):
        if tensor.dtype.is_floating_point:
            tensor = tensor.double() * (1 + shift * (1 + number % 7))
        turned[name] = tensor.reshape(1, 1, 1, 1) if tensor.dim() == 0 else tensor
    text = text.replace('[b][', '[b, ').replace('[i][', '[i, ')   # grids have no rows
    places = iter(range(10 ** 6))   # each number changes by another amount
    text = re.sub(r'P\(([-\d.]+)\)', lambda m: '(%r)' % (float(m[1]) * (1 + shift * (2 + next(places) % 5))), text)
    text = re.sub(r'float\(\)', lambda m: 'double().mul(%r)' % (1 + shift * (1.5 + next(places) % 3)), text)
    text = text.replace('torch.float32', 'torch.float64')
    made = function(text, turned, scores)(*([s * (1 + shift)] if scores else []), *grids)
    return made if scores else made != 0


def wanted(text, names, scores, s, shift=1e-9):
    """Returns PyTorch's result in float64, and where it is no matter of rounding: where it changes little if numbers
    change by `shift`. Returns None if PyTorch refuses."""
    torch.set_default_dtype(torch.float64)
    try:
        made = [on_grids(text, names, scores, s.double(), change).double().expand(B, H, N, N) for change in (0, shift, -shift)]
    except (RuntimeError, TypeError, ValueError):
        return None
    finally:
        torch.set_default_dtype(torch.float32)
    sure = torch.ones(B, H, N, N, dtype=torch.bool)
    for one in made[1:]:
        sure &= (one == made[0]) | ((one - made[0]).abs() <= 1e4 * shift * (1 + made[0].abs()))
    return made[0], sure & ~made[0].isnan() & (made[0] != math.inf) & ~((made[0] < -1e300) & ~made[0].isinf())


# ---- what the text means


TOKEN = re.compile(r'\s*(?:(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)|(\d+)|(\w+)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:()\[\],]))')
LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '<=', '>', '>='], ['<<', '>>'], ['+', '-'], ['*', '/', '%']]


def quotient(a, b):
    if a.dtype.kind == b.dtype.kind == 'i':
        safe = np.where(b == 0, 1, b)
        return np.where(b == 0, 0, np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe))
    return a / b


def remainder(a, b):
    check(a.dtype.kind == b.dtype.kind == 'i', '% of reals')
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def integers(function):
    def made(a, b):
        check(a.dtype.kind == b.dtype.kind == 'i', 'bits of reals')
        return function(a, b)
    return made


def whole(x):
    return np.nan_to_num(np.clip(np.trunc(x), -2.0 ** 62, 2.0 ** 62)).astype(np.int64)


truth = lambda x: x.astype(np.int64)
BINARY = {'||': lambda a, b: truth((a != 0) | (b != 0)), '&&': lambda a, b: truth((a != 0) & (b != 0)),
          '|': integers(np.bitwise_or), '^': integers(np.bitwise_xor), '&': integers(np.bitwise_and),
          '==': lambda a, b: truth(a == b), '!=': lambda a, b: truth(a != b), '<': lambda a, b: truth(a < b),
          '<=': lambda a, b: truth(a <= b), '>': lambda a, b: truth(a > b), '>=': lambda a, b: truth(a >= b),
          '<<': integers(lambda a, b: np.where((b < 0) | (b > 63), 0, np.left_shift(a, np.clip(b, 0, 63)))),
          '>>': integers(lambda a, b: np.right_shift(a, np.where((b < 0) | (b > 63), 63, b))),
          '+': np.add, '-': np.subtract, '*': np.multiply, '/': quotient, '%': remainder}
erf = np.vectorize(math.erf, otypes=[float])
real = lambda f: lambda x: f(np.asarray(x, np.float64))
FUNCTIONS = {'fabs': np.abs, 'fmin': np.minimum, 'fmax': np.maximum, 'pow': lambda a, b: np.power(a * 1.0, b), 'erf': real(erf),
             'round': real(np.rint), 'sigmoid': real(lambda x: 1 / (1 + np.exp(-x))),
             **{name: real(getattr(np, name)) for name in ('exp', 'exp2', 'expm1', 'log', 'log2', 'log1p', 'sqrt', 'sin', 'cos',
                                                           'tanh', 'floor', 'ceil', 'trunc')}}


class Text:
    """Evaluates the C text of a formula. A subscript after the end reads the last element."""

    def __init__(self, text, names):
        self.tokens = [m[0].strip() for m in TOKEN.finditer(text)]
        check(''.join(self.tokens) == re.sub(r'\s', '', text), text)
        self.at, self.names = 0, names

    def take(self, *words):
        if self.at < len(self.tokens) and self.tokens[self.at] in words:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def need(self, word):
        check(self.take(word), 'no %s in %s' % (word, self.tokens[self.at:]))

    def value(self):
        made = self.binary(0)
        if self.take('?'):
            a = self.value()
            self.need(':')
            b = self.value()
            made = np.where(made != 0, a, b)
        return made

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        made = self.binary(level + 1)
        while word := self.take(*LEVELS[level]):
            made = BINARY[word](made, self.binary(level + 1))
        return made

    def unary(self):
        if self.take('-'):
            return -self.unary()
        if self.take('!'):
            return truth(self.unary() == 0)
        if self.take('('):
            if self.take('int'):
                self.need(')')
                return whole(self.unary())
            made = self.value()
            self.need(')')
            return made
        word = self.tokens[self.at]
        self.at += 1
        if word[0].isdigit():
            return np.asarray(float(word) if re.search(r'[.e]', word) else int(word))
        if self.take('('):
            given = [self.value()]
            while self.take(','):
                given.append(self.value())
            self.need(')')
            return FUNCTIONS[word](*given)
        made, subscripts = self.names[word], []
        while self.take('['):
            at = self.value()
            self.need(']')
            check(at.dtype.kind == 'i', 'a subscript that is no integer')
            subscripts.append(np.clip(at, 0, made.shape[len(subscripts)] - 1))
        check(len(subscripts) == made.ndim or word in ('s', 'row', *'bhij'), word)
        return made[tuple(subscripts)] if subscripts else made


def translated(text, names, scores, s):
    """Returns what flex_attention makes of the formula, in float64: -inf where the key is masked."""
    trace = _Trace(B, H, N, N, False, torch.float64)
    taken = function(text, names, scores)
    if scores:
        made = trace.run(taken, trace.score(), *trace.positions()).used()
        texts = [made.text, *(conjuncts(_not(made.hidden) or '0'))]
    else:
        texts = conjuncts(_condition(trace, trace.run(taken, *trace.positions())) or '0')
    declared = trace.declared()
    grids = np.meshgrid(*(np.arange(n) for n in (B, H, N, N)), indexing='ij')
    values = dict(zip('bhij', grids), row=grids[2], s=s.double().numpy())
    for name, tensor in trace.arrays(declared).items():
        values[name] = tensor.numpy().astype(np.float64 if tensor.dtype.is_floating_point else np.int64)
    with np.errstate(all='ignore'):
        made = [np.broadcast_to(Text(trace.text(one, declared, 's'), values).value(), (B, H, N, N)) for one in texts]
    return np.where(np.all([one != 0 for one in made[1:]], 0), made[0] * 1.0, -np.inf) if scores else np.all(made, 0)


def compare(text, names, scores, s):
    """Compares a formula. Returns the part of the pairs that was compared, or None if PyTorch refuses the formula."""
    expected = wanted(text, names, scores, s)
    if expected is None:
        return None
    value, sure = (x.numpy() for x in expected)
    try:
        made = translated(text, names, scores, s)
    except Untranslatable as error:
        raise Failure('%s\nis refused: %s' % (text, error)) from None
    except Exception as error:
        raise Failure('%s\n%s: %s' % (text, type(error).__name__, error)) from error
    with np.errstate(all='ignore'):
        same = (made == value) | (np.isfinite(value) & (np.abs(made - value) <= 1e-4 * (1 + np.abs(value))))
        right = ~sure | (same if scores else made == (value != 0))
    if not right.all():
        at = tuple(np.argwhere(~right)[0])
        raise Failure('%s\nat b, h, i, j = %s: %s, PyTorch has %s (%d of %d pairs differ)'
                      % (text, at, made[at], value[at], (~right).sum(), right.size))
    return sure.mean()


# A divisor, a base or a text that no kernel can compute may be drawn; these refusals are right.
RIGHT = re.compile('by a number that may be 0|no tensor|-inf times|-inf as an integer|this operation on -inf|difference of -inf'
                   '|a power of integers|which PyTorch refuses|whose text has')


def translations(first, count):
    compared, refused, shares, wrong = 0, 0, [], []
    for number in range(first, first + count):
        scores = number % 2 == 0
        text, names = Draw(number, scores).formula(), captured(number // 64)
        s = torch.randn(B, H, N, N, generator=torch.Generator().manual_seed(number)) * 2
        try:
            share = compare(text, names, scores, s)
        except Failure as failure:
            if RIGHT.search(str(failure)):
                refused += 1
            else:
                wrong.append('%d: %s' % (number, failure))
            continue
        if share is not None:
            compared += 1
            shares.append(share)
    said = '%d formulas: %d compared (%.1f%% of their pairs), %d refused by attnc, %d by PyTorch' % (
        count, compared, 100 * np.mean(shares or [0]), refused, count - compared - refused - len(wrong))
    check(not wrong, '%s\n%d wrong:\n%s' % (said, len(wrong), '\n'.join(wrong[:40])))
    check(compared > 0.6 * count and np.mean(shares) > 0.8, said)
    return said


def together(texts, names, scores):
    """Returns a function with a formula for each head."""
    each = [function(text, names, scores) for text in texts]

    def choose(h, *arguments):
        result = each[0](*arguments)
        for number, one in enumerate(each[1:], 1):
            result = torch.where(h == number, one(*arguments), result)
        return result
    if scores:
        return lambda s, b, h, i, j: choose(h, s, b, h, i, j)
    return lambda b, h, i, j: choose(h, b, h, i, j)


def kernel(seed, dtype, most, way=lambda f: f):
    """Compares a kernel of eight score_mods, and one of eight mask_mods."""
    names, compared = captured(seed), 0
    torch.manual_seed(seed)
    q, k = (torch.randn(B, H, N, 8, dtype=dtype) for _ in range(2))
    v = torch.eye(N, dtype=dtype).expand(B, H, N, N)
    s = q.double() @ k.double().transpose(-1, -2) / math.sqrt(8)
    shift, limit, largest = {torch.float64: (1e-9, 1e-6, 1e4), torch.float32: (3e-6, 1e-3, 50),
                          torch.bfloat16: (3e-6, 1e-2, 50)}[dtype]
    for scores in True, False:
        texts, sure, draw = [], [], Draw(seed, scores, most)
        while len(texts) < H:
            text = draw.formula() if scores else '%s.bool()' % draw.truth(5)
            if len({word for one in (*texts, text) for word in re.findall(r'\w+', one) if word in names}) > MAX_ARRAYS:
                continue
            try:
                expected = wanted(text, names, scores, s, shift)
                if expected is not None and compare(text, names, scores, s) is not None:
                    if scores:
                        expected = expected[0], expected[1] & ((expected[0].abs() < largest) | (expected[0] == -math.inf))
                    sure.append(expected[1].all(-1)[:, len(texts)])
                    texts.append(text)
            except Failure as failure:
                check(RIGHT.search(str(failure)), failure)
        made, wants = together(texts, names, scores), []
        for flex_attention in flex.flex_attention, way(attnc.torch.flex_attention):
            if scores:
                wants.append(flex_attention(q, k, v, made))
            else:
                wants.append(flex_attention(q, k, v, None, create_block_mask(made, B, H, N, N, device='cpu')))
        apart = (wants[0] - wants[1]).abs().amax(-1)
        for number, text in enumerate(texts):
            wrong = float(torch.where(sure[number], apart[:, number], 0).nan_to_num(9).max())
            check(wrong <= limit, '%s\nhead %d, %s: differs by %g' % (text, number, dtype, wrong))
            compared += int(sure[number].sum())
    check(compared > 0.5 * 2 * B * H * N, '%d rows are compared' % compared)


@case
def kernels(folder):
    for seed, dtype in (1, torch.float64), (2, torch.float32), (3, torch.bfloat16):
        kernel(seed, dtype, 12)


@case
def graphs(folder):
    kernel(4, torch.float64, 5, lambda f: torch.compile(f, fullgraph=True, backend='aot_eager'))


def main_of_formulas():
    def more(parser):
        parser.add_argument('--formulas', type=int, default=FORMULAS, metavar='N', help='how many translations draws')
        parser.add_argument('--seed', type=int, default=1, metavar='S')
    suite = Suite(__doc__, more)
    each = suite.options.formulas // CASES_OF_FORMULAS
    for k in range(CASES_OF_FORMULAS):
        suite.case('translations_%d' % k, lambda folder, k=k: translations(suite.options.seed * 10 ** 6 + k * each, each))
    for function in CASES:
        suite.case(function.__name__, lambda folder, made=function: made(folder))
    return suite.run()


if __name__ == '__main__':
    sys.exit(main_of_formulas())
