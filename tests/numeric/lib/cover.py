"""Finds few rows in which every two choices of different factors occur together at least once. The search is greedy
and has a fixed seed."""
import itertools
import random


def pairs_of(row, names):
    return {(a, row[a], b, row[b]) for a, b in itertools.combinations(sorted(names), 2)}


def all_pairs(factors):
    return {(a, x, b, y) for a, b in itertools.combinations(sorted(factors), 2) for x in factors[a] for y in factors[b]}


def allowed(row, rules):
    """Returns whether the choices obey the rules. A rule has names of factors and a function that accepts choices."""
    return all(rule(*(row[n] for n in names)) for names, rule in rules if all(n in row for n in names))


def completed(row, factors, rules):
    """Returns a complete row that has the choices of `row` and obeys the rules, or None."""
    if not allowed(row, rules): return None
    rest, known, tested = [n for n in factors if n not in row], set(row), []
    for name in rest:   # the rules that read this choice, but no later ones
        known.add(name)
        tested.append([(names, rule) for names, rule in rules if name in names and known.issuperset(names)])

    def completion(row, at):
        if at == len(rest): return row
        for choice in factors[rest[at]]:
            more = {**row, rest[at]: choice}
            if all(rule(*(more[n] for n in names)) for names, rule in tested[at]):
                found = completion(more, at + 1)
                if found: return found
        return None
    return completion(row, 0)


def impossible(factors, rules):
    """Returns the pairs that no allowed row has."""
    return {(a, x, b, y) for a, x, b, y in all_pairs(factors) if not completed({a: x, b: y}, factors, rules)}


def cover(factors, seed=1, tries=40, rules=(), never=None):
    """Returns rows with a choice for each factor. Every pair of choices that the rules allow occurs in a row.
    `factors` is {name: choices}, `never` the result of `impossible` if it is known."""
    rng = random.Random(seed)
    if never is None: never = impossible(factors, rules) if rules else set()
    missing, rows = all_pairs(factors) - never, []
    ordered, of_name = sorted(missing), {name: [rule for rule in rules if name in rule[0]] for name in factors}
    partners = {}   # (name, other name, other choice): the choices of name whose pair with the other choice is missing
    for a, x, b, y in missing:
        partners.setdefault((a, b, y), set()).add(x)
        partners.setdefault((b, a, x), set()).add(y)
    while missing:
        best, gain = None, 0
        for _ in range(tries):
            a, x, b, y = rng.choice(ordered)
            row = {a: x, b: y}
            rest = [n for n in factors if n not in row]
            rng.shuffle(rest)
            for name in rest:
                # the row obeys the rules, so only those that read the new choice are tested
                choices = [c for c in factors[name] if allowed({**row, name: c}, of_name[name])]
                if not choices: break
                sets = [found for found in (partners.get((name, n, x)) for n, x in row.items()) if found]
                gained = [sum(c in found for found in sets) for c in choices]
                most = max(gained)
                row[name] = rng.choice([c for c, gain_of in zip(choices, gained) if gain_of == most])
            if len(row) < len(factors): continue
            found = len(pairs_of(row, factors) & missing)
            if found > gain:
                best, gain = row, found
        if not best:
            a, x, b, y = ordered[0]
            best = completed({a: x, b: y}, factors, rules)
        rows.append(best)
        for a, x, b, y in pairs_of(best, factors) & missing:
            partners[a, b, y].discard(x)
            partners[b, a, x].discard(y)
        missing -= pairs_of(best, factors)
        ordered = [pair for pair in ordered if pair in missing]
    return rows


def extend(rows, factors, each, seed=2, tries=60):
    """Extends each row by choices for `factors`, at least `each` times. Every pair with a new choice occurs."""
    rng = random.Random(seed)
    old = {name: sorted({row[name] for row in rows}) for name in rows[0]}
    missing = all_pairs(factors) | {pair for pair in all_pairs({**old, **factors})
                                    if (pair[0] in old) != (pair[2] in old)}
    result = [[] for _ in rows]

    def add(at):
        best, gain = None, -1
        for _ in range(tries):
            new = {name: rng.choice(choices) for name, choices in factors.items()}
            found = len(pairs_of({**rows[at], **new}, {**old, **factors}) & missing)
            if new not in result[at] and found > gain:
                best, gain = new, found
        result[at].append(best)
        missing.difference_update(pairs_of({**rows[at], **best}, {**old, **factors}))

    for _ in range(each):
        for at in range(len(rows)):
            add(at)
    while missing:
        a, x, b, y = min(missing)
        want = {a: x, b: y}
        fits = [at for at, row in enumerate(rows) if all(row[n] == c for n, c in want.items() if n in old)]
        at = min(fits, key=lambda f: len(result[f]))
        new = {name: want.get(name, rng.choice(choices)) for name, choices in factors.items()}
        result[at].append(new)
        missing.difference_update(pairs_of({**rows[at], **new}, {**old, **factors}))
    return result
