#!/usr/bin/python3
"""Holds the loops of kernels for aarch64 to the shares of a processor's vector units that they had.

llvm-mca computes the shares from LLVM's models of processors. They are no measurements: a model knows no caches.
- The main loop of each function counts, for products and for maps: the one with the most vector instructions.
- Product: multiply-adds of vectors in each cycle, divided by the units. Map: all vector instructions.
- models.txt has the shares, which may not fall. A new product must reach WANTED. `--write` writes the file, after a
  change of kernels."""
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '../lib')]

import run as targets
from suite import ROOT, Suite, check, execute

KERNELS = ['softmax_causal', 'softmax_causal_gradients', 'polynomial_p4', 'polysketch_learned_r32_local', 'linear_elu',
           'gated_deltanet']
# LLVM's model for apple-m1 is that of an older core, whose vector units were three.
UNITS = {'neoverse-n1': 2, 'neoverse-v1': 4, 'neoverse-v2': 4, 'apple-m1': 3}
TABLE = os.path.join(HERE, 'models.txt')
TIMES = 100        # iterations of a loop in the model
SMALL = 16         # loops with fewer vector instructions do not count
SLACK = 2          # percent
WANTED = [95, 95, 95, 90]

LABEL = re.compile(r'([.\w$]+):')
BRANCH = re.compile(r'(?:b\.?\w*|cbn?z|tbn?z)\s+(?:.*,\s*)?(\.L\w+)$')
MULTIPLY_ADD = re.compile(r'fml[as]\s+v')
VECTOR = re.compile(r'(?!ld|st)[a-z]\w*\s+[vqds]\d')


def innermost(text):
    """Yields the name of the function and the instructions of each loop that has no loop inside."""
    code, at, of, ends = [], {}, [], []
    for line in text.split('\n'):
        label = LABEL.match(line)
        if label:
            at[label.group(1)] = len(code)
            name = name if label.group(1).startswith('.L') else label.group(1)
        elif line.startswith('\t') and not line.strip().startswith(('.', '//')):
            code.append(line.split('//')[0].strip())
            of.append(name)
    for n, instruction in enumerate(code):
        branch = BRANCH.match(instruction)
        if branch and at.get(branch.group(1), n + 1) <= n: ends.append((at[branch.group(1)], n))
    for first, last in ends:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in ends):
            yield of[first], [line for line in code[first:last + 1] if not BRANCH.match(line)]


def main_loops(text):
    """Returns the main loops by function and kind, each with its number of counted instructions."""
    found = {}
    for name, code in innermost(text):
        vectors = sum(bool(VECTOR.match(line)) for line in code)
        products = sum(bool(MULTIPLY_ADD.match(line)) for line in code)
        kind, count = ('product', products) if 4 * products > 3 * vectors else ('map', vectors)
        if count >= SMALL and count > found.get((name, kind), (0, ''))[0]: found[name, kind] = count, '\n'.join(code)
    return found


def measured(folder, suite, name):
    """Returns the shares of the main loops of a spec in percent, a number for each model, by function and kind."""
    source, text, regions = (os.path.join(folder, name + ending) for ending in ('.c', '.s', '.loops.s'))
    execute([suite.attnc, os.path.join(ROOT, 'specs', name + '.yaml'), '--target', 'aarch64', '-o', folder])
    done = execute(targets.arm_compiler('clang') + ['-O2', '-S', '-I', os.path.join(ROOT, 'runtime'), source, '-o', text])
    check(done.returncode == 0, done.stderr)
    with open(text) as f: loops = main_loops(f.read())
    with open(regions, 'w') as f:
        for _, code in loops.values(): f.write('# LLVM-MCA-BEGIN\n%s\n# LLVM-MCA-END\n' % code)
    shares = []
    for model, units in UNITS.items():
        said = execute([targets.program('llvm-mca-19'), '-mtriple=aarch64', '-mcpu=' + model, '-iterations=%d' % TIMES,
                        '-instruction-info=0', '-resource-pressure=0', regions])
        cycles = re.findall(r'Total Cycles:\s+(\d+)', said.stdout)
        check(len(cycles) == len(loops), said.stderr)
        shares.append([round(100 * count * TIMES / int(c) / units) for (count, _), c in zip(loops.values(), cycles)])
    return {(name,) + key: list(row) for key, row in zip(loops, zip(*shares))}


def table():
    with open(TABLE) as f: rows = [line.split() for line in f if not line.startswith('#')]
    return {tuple(row[:3]): list(map(int, row[3:])) for row in rows}


def keeps(folder, suite, name):
    found = measured(folder, suite, name)
    suite.found.update(found)
    if suite.options.write: return
    floors = {key: row for key, row in table().items() if key[0] == name}
    least = {key: floors.get(key, WANTED if key[2] == 'product' else [0] * len(UNITS)) for key in found}
    low = ['%s: %s, least %s' % (' '.join(key), row, least[key]) for key, row in found.items()
           if any(share < floor - SLACK for share, floor in zip(row, least[key]))]
    check(found and not low, 'shares in percent of %s are too low:\n%s\nIf this is meant, run `%s ATTNC --write`.'
          % (', '.join(UNITS), '\n'.join(low), __file__))


def main():
    suite = Suite(__doc__.split('\n\n')[0], lambda parser: parser.add_argument(
        '--write', action='store_true', help='write the shares of all kernels into models.txt'))
    suite.found = {}
    for name in KERNELS: suite.case(name, keeps, suite, name)
    failed = suite.run()
    if suite.options.write and not failed:
        with open(TABLE, 'w') as f:
            f.write('# kernel, function, kind, and percent of the vector units of %s\n' % ', '.join(UNITS))
            for key in sorted(suite.found): f.write(' '.join(key) + ' %d %d %d %d\n' % tuple(suite.found[key]))
    return failed


if __name__ == '__main__':
    sys.exit(main())
