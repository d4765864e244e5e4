#!/usr/bin/python3
"""Tests decoding of sequences that share the pages of a common beginning. Keys of such pages are summed once for the
rows of all these sequences. The bits are those of a sequence alone, whichever sequences share pages, and for any number
of threads. (decode.py compares sequences alone with definitions.py.)"""
import os
import re
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import numpy as np
import yaml

import definitions
from kernel import Objects, State, best_target, compiled, optimised
from suite import Suite, check, compiler

CHUNK = 1024   # keys that are summed at a time
LONGEST = 2 * CHUNK + 300
# (spec, heads, kv_heads, tokens of a page, whether keys are summed once)
F16 = {'storage': {'k': 'f16', 'v': 'f16'}}
CASES = {
    'f32': ({}, 2, 2, 64, True),
    'grouped': (F16 | {'shape': {'head_dim': 32, 'value_dim': 48}}, 12, 2, 48, True),
    'one-key-head': ({'shape': {'head_dim': 24, 'value_dim': 20}}, 9, 1, 256, True),
    'q8': ({'storage': {'k': 'q8_0', 'v': 'q8_0'}, 'shape': {'head_dim': 64}}, 4, 2, 64, True),
    'q8-one-row': ({'storage': {'k': 'q8_0', 'v': 'q8_0'}, 'shape': {'head_dim': 64}}, 2, 2, 16, True),
    'q4-one-row': ({'storage': {'k': 'q4_0', 'v': 'q4_0'}, 'shape': {'head_dim': 64}}, 2, 2, 16, True),
    'i8': ({'storage': {'k': 'i8', 'v': 'i8'}, 'shape': {'head_dim': 32}}, 4, 2, 16, True),
    'mixed': ({'storage': {'k': 'bf16', 'v': 'fp8'}, 'shape': {'head_dim': 64, 'value_dim': 32}}, 3, 3, 64, True),
    'bf16': ({'dtype': 'bf16', 'shape': {'head_dim': 32}}, 4, 2, 64, True),
    'f64': ({'dtype': 'f64'}, 2, 1, 100, True),
    'rope': ({'prepare': [{'rope': {'pairs': 'halves'}}], 'shape': {'head_dim': 32}}, 4, 2, 64, True),
    'sink': ({'normalize': {'sink': 'h * 2 - i * 0.01'}, 'emit': ['forward', 'decode', 'statistics']}, 4, 2, 64, True),
    'capped': ({'similarity': {'softmax': {'cap': 8.0}}}, 4, 2, 32, True),
    'values': ({'shape': {'head_dim': 24, 'value_dim': 16, 'values': 'keys'}}, 8, 1, 64, True),
    # Weights that depend on positions or heads beyond the query itself are summed for each sequence.
    'alibi': ({'similarity': {'softmax': {'bias': 'alibi'}}}, 4, 2, 64, False),
    'window': ({'mask': {'window': {'left': 1500}}}, 4, 2, 64, False),
    'scaled': ({'arrays': {'tau': {'shape': ['H']}}, 'similarity': {'softmax': {'modify': 's * tau[h]'}}}, 4, 2, 64, True),
    'by-head': ({'arrays': {'tau': {'shape': ['H']}}, 'similarity': {'softmax': {'modify': 'fmax(s, tau[h])'}}}, 4, 2, 64, False),
    'row-bias': ({'arrays': {'gate': {'shape': ['B', 'Nk']}}, 'similarity': {'softmax': {'modify': 's + gate[b][j]'}}}, 4, 2,
                 64, True),
}
# The first tokens of each sequence are those of prompt 0 up to a length, then its own. The last sequence shares nothing.
SHARED = [2200, 2048, 2100, 1024, 1500, 2048, 700, 0]
LENGTHS = [2250, 2048, 2300, 1030, 2047, 2049, 1900, 2200]
NEW = [1, 1, 3, 1, 1, 4, 1, 1]   # the tokens of the call that is compared


class Sequences:
    def __init__(self, folder, suite, name, n):
        case, self.heads, self.kv_heads, self.tokens, self.once = CASES[name]
        self.spec = {'name': 'common', 'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f32',
                     'emit': ['forward', 'decode'], 'shape': {'head_dim': 16}} | case
        path = os.path.join(folder, 'common.yaml')
        with open(path, 'w') as f: yaml.safe_dump(self.spec, f, sort_keys=False)
        level = '-O2' if optimised(n - 1, 2) else '-O0'
        cc = 'gcc' if optimised(n - 1, 4) else compiler('clang')
        self.kernel = compiled(suite, path, folder, 'generic' if n % 5 == 4 else best_target(), level, cc)
        with open(path[:-5] + '.c') as f: text = f.read()
        found = '_common' in ''.join(re.findall(r'few_common_\w+\(', text))
        check(self.once == found, 'keys of common pages are %ssummed once' % ('' if found else 'not '))
        self.spec = definitions.load(path)
        self.batch = len(SHARED)
        definitions.make_inputs(self.spec, folder + '/in', self.heads, self.kv_heads, LONGEST, LONGEST, self.batch, n)
        self.P = definitions.read_dir(folder + '/in')
        self.q, self.k, self.v = (self.P.pop(x).astype(np.float64) for x in 'qkv')
        for b, shared in enumerate(SHARED):
            for x in self.k, self.v: x[b, :, :shared] = x[0, :, :shared]
            if 'gate' in self.P: self.P['gate'][b, :shared] = self.P['gate'][0, :shared]

    def rows(self, sequences, tokens):
        """Returns the rows of arrays with a row for each key."""
        if 'gate' not in self.P: return None
        made = np.zeros((len(sequences), max(map(len, tokens))), np.float32)
        for x, (b, numbers) in enumerate(zip(sequences, tokens)): made[x, :len(numbers)] = self.P['gate'][b, numbers]
        return {'gate': made}

    def extend(self, state, sequences, tokens, asks=True):
        """Appends tokens[x] of each sequence, and returns the new rows of each."""
        given = [np.full((len(sequences), x.shape[1], max(map(len, tokens)), x.shape[3]), np.nan) for x in (self.q, self.k, self.v)]
        for x, (b, numbers) in enumerate(zip(sequences, tokens)):
            for to, of in zip(given, (self.q, self.k, self.v)): to[x, :, :len(numbers)] = of[b][:, numbers]
        out = state.extend(given[0] if asks else None, *given[1:], [len(t) for t in tokens], rows=self.rows(sequences, tokens))
        return None if not asks else [out[x, :, :len(t)] for x, t in enumerate(tokens)]

    def state(self, batch, threads):
        P = dict(self.P)
        if 'gate' in P: P.pop('gate')
        return State(self.kernel, P if 'gate' not in self.P else self.P, batch, self.heads, self.kv_heads, capacity=LONGEST,
                     threads=threads, pages=self.tokens)

    def together(self, sequences, threads, shares=True):
        """Returns the new rows of the sequences, which are appended in one call."""
        state = self.state(len(sequences), threads)
        pages, first = state.pages, {}
        for x, b in enumerate(sequences):
            whole = SHARED[b] // self.tokens * self.tokens
            source = next((y for y in range(x) if shares and SHARED[sequences[y]] >= whole and LENGTHS[sequences[y]] >= whole), None)
            begun = whole if source is not None and whole else 0
            if begun:
                check(state.copy(x, state, source) == 0 and state.truncate(x, begun) == 0, 'copy failed')
                pages.numbers[x, :begun // self.tokens] = pages.numbers[source, :begun // self.tokens]
            counts = [range(begun, LENGTHS[b]) if y == x else range(0) for y in range(len(sequences))]
            self.extend(state, sequences, counts, asks=False)
        return self.extend(state, sequences, [range(LENGTHS[b], LENGTHS[b] + NEW[b]) for b in sequences])


def one(folder, suite, name, n):
    x = Sequences(folder, suite, name, n)
    every = list(range(x.batch))
    alone = [x.together([b], 1 + b % 3)[0] for b in every]
    for sequences, threads in (every, 1), (every[::-1], 3), ([0, 1], 2), ([3, 0, 2, 7], 7), (every, 2):
        made = x.together(sequences, threads)
        wrong = [b for b, rows in zip(sequences, made) if not np.array_equal(rows, alone[b])]
        check(not wrong, 'sequences %s of %s have other bits than alone' % (wrong, sequences))
    apart = x.together(every, 2, shares=False)
    check(all(np.array_equal(*two) for two in zip(apart, alone)), 'other bits where nothing is shared')


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for n, name in enumerate(CASES): suite.case(name, one, suite, name, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
