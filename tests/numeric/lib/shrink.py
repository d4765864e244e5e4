"""Reduces failing cases: removes keys and items, makes numbers small, replaces an expression by a part of it."""
import copy
import re

TOKEN = re.compile(r'\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\w+|<=|>=|==|!=|&&|\|\||\S')
LEVELS = [['||'], ['&&'], ['==', '!='], ['<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']]


def parse(text):
    """Returns an expression as nested lists: [operator or function, operand…]."""
    tokens = TOKEN.findall(text) + ['']

    def take():
        return tokens.pop(0)

    def binary(n):
        if n == len(LEVELS): return unary()
        a = binary(n + 1)
        while tokens[0] in LEVELS[n]: a = [take(), a, binary(n + 1)]
        return a

    def choice():
        c = binary(0)
        if tokens[0] != '?': return c
        take()
        a = choice()
        take()
        return ['?', c, a, choice()]

    def unary():
        t = take()
        if t in ('-', '+', '!'): return [t, unary()]
        if t == '(':
            inside = choice()
            take()
            return inside
        if tokens[0] == '[':
            element = ['[]', t]
            while tokens[0] == '[':
                take()
                element.append(choice())
                take()
            return element
        if tokens[0] != '(': return t
        call = [t]
        while take() != ')': call.append(choice())
        return call
    return choice()


def printed(e):
    if isinstance(e, str): return e
    if e[0] == '[]': return e[1] + ''.join('[%s]' % printed(subscript) for subscript in e[2:])
    operator, *operands = [e[0]] + ['(%s)' % printed(o) if not isinstance(o, str) and not (o[0].isalpha() or o[0] == '[]')
                                    else printed(o) for o in e[1:]]
    if operator == '?': return '%s ? %s : %s' % tuple(operands)
    if operator[0].isalpha(): return '%s(%s)' % (operator, ', '.join(operands))
    return operator + operands[0] if len(operands) == 1 else '%s %s %s' % (operands[0], operator, operands[1])


def expressions(e):
    """Yields smaller expressions, the smallest first."""
    if isinstance(e, str):
        yield from (t for t in ('1', '2', 'i', 's') if len(t) < len(e))
        return
    yield from ('1', 'i', 's')
    first = 2 if e[0] == '[]' else 1   # the name of an array stays
    yield from e[first:]
    for n in range(first, len(e)):
        for smaller in expressions(e[n]): yield e[:n] + [smaller] + e[n + 1:]


def numbers(x):
    if isinstance(x, bool): return [False] if x else []
    if isinstance(x, float): return [y for y in (1, 2, 0.5) if y != x]
    return sorted({y for y in (1, 2, 3, x // 4, x // 2, x - x % 16, x - 1) if 0 <= y < x})


def trees(x):
    """Yields smaller YAML values."""
    if isinstance(x, dict):
        for key in x: yield {k: v for k, v in x.items() if k != key}
        if len(x) == 1: # A choice with options is replaced by the choice alone, and by one with smaller options.
            (key, inside), = x.items()
            yield key
            if isinstance(inside, (dict, list)):
                yield from (part for part in (inside if isinstance(inside, list) else [inside])
                            if isinstance(part, (dict, str)))
        for key, value in x.items(): yield from (x | {key: smaller} for smaller in trees(value))
    elif isinstance(x, list):
        for n in range(len(x)): yield x[:n] + x[n + 1:]
        for n, value in enumerate(x): yield from (x[:n] + [smaller] + x[n + 1:] for smaller in trees(value))
    elif isinstance(x, str):
        if re.search(r'[ ()]', x) and re.search(r'[-+*/%<>=!?(]', x): yield from map(printed, expressions(parse(x)))
    elif x is not None: yield from numbers(x)


def drawn(d):
    """Yields smaller draws: smaller specs first, then simpler builds and runs."""
    spec = d['spec']
    for key in ('similarity', 'mask'):
        for plain in ('softmax', 'causal'):
            if spec.get(key) not in (None, plain) and (key == 'similarity') == (plain == 'softmax'):
                yield d | {'spec': spec | {key: plain}}
    if spec['name'] != 'spec': yield d | {'spec': spec | {'name': 'spec'}}
    for smaller in trees({k: v for k, v in spec.items() if k != 'name'}):
        if isinstance(smaller, dict): yield d | {'spec': {'name': spec['name']} | copy.deepcopy(smaller)}
    yield from (d | {'targets': [t]} for t in d['targets'] if len(d['targets']) > 1)
    for key, plain in (('heads', 1), ('kv_heads', 1), ('batch', 1), ('threads', 1), ('standalone', False),
                       ('optimize', '-fsyntax-only'), ('ids', 'sorted')):
        if d[key] != plain: yield d | {key: plain}
    if d['batch'] > 2: yield d | {'batch': 2}
    for n, length in enumerate(d.get('lengths', [])):
        yield from (d | {'lengths': d['lengths'][:n] + [smaller] + d['lengths'][n + 1:]}
                    for smaller in numbers(length) if smaller)
    if d['heads'] > 1: yield d | {'heads': 1, 'kv_heads': 1}
    for key in ('n_q', 'n_k'): yield from (d | {key: smaller} for smaller in numbers(d[key]) if smaller)
    if d['n_q'] == d['n_k']: yield from (d | {'n_q': smaller, 'n_k': smaller}
                                         for smaller in numbers(d['n_q']) if smaller)


def shrink(d, fails, deadline):
    """Returns a small draw for which fails() is still true. The search ends at deadline()."""
    found = True
    while found and not deadline():
        found = False
        for smaller in drawn(d):
            if deadline(): break
            if fails(smaller):
                d, found = smaller, True
                break
    return d
