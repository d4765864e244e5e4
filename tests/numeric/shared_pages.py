#!/usr/bin/python3
"""Tests decoding of sequences that share the pages of a common beginning. Keys of such pages are summed once for the
rows of all these sequences. The bits are those of a sequence alone, whichever sequences share pages, and for any number
of threads. (decode.py compares sequences alone with definitions.py.)"""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

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
    # Weights and masks that depend on the position or head of a row look these up for each row.
    'alibi': ({'similarity': {'softmax': {'bias': 'alibi'}}}, 4, 2, 64, True),
    'alibi-f16': (F16 | {'similarity': {'softmax': {'bias': 'alibi'}}, 'shape': {'head_dim': 64}}, 8, 1, 64, True),
    'distances': ({'similarity': {'softmax': {'modify': 's - 0.01 * log1p(1.0 * (i - j)) * (h + 1)'}}}, 4, 2, 64, True),
    'slopes': ({'arrays': {'slope': {'shape': ['H']}}, 'similarity': {'softmax': {'modify': 's - slope[h] * (i - j)'}}}, 6, 2, 64,
               True),
    'window': ({'mask': {'window': {'left': 1500}}}, 4, 2, 64, True),
    'window-sink': ({'mask': {'window': {'left': 1400}}, 'normalize': {'sink': 'h * 2 - i * 0.01'}}, 4, 1, 64, True),
    'narrow': ({'mask': {'window': {'left': 700}}}, 4, 2, 64, True),
    'long-window': ({'mask': {'window': {'left': 3200}}, 'dtype': 'bf16'}, 2, 2, 64, True),
    'window-alibi': (F16 | {'mask': {'window': {'left': 1500}}, 'similarity': {'softmax': {'bias': 'alibi', 'cap': 20}}}, 3, 3, 64,
                     True),
    'given-window': ({'arrays': {'width': {'shape': [], 'type': 'int'}}, 'mask': {'all': ['causal', {'expr': 'i - j < width'}]}}, 4, 2,
                     64, True),
    'lengths': ({'mask': {'all': ['causal', 'lengths']}}, 4, 2, 64, True),
    'tree': ({'arrays': {'base': {'shape': ['B'], 'type': 'int'}, 'ancestor': {'shape': ['B', 'Nq', 64], 'type': 'bool'}},
              'mask': {'all': ['causal', {'expr': 'j < base[b] || ancestor[b][row][j - base[b]]'}]}}, 4, 2, 64, True),
    'table': ({'arrays': {'table': {'shape': ['H', 128]}}, 'similarity': {'softmax': {'modify': 's + table[h][i - j]'}}}, 4, 2, 64,
              True),
    # Queries also see keys before their window.
    'kept': ({'mask': {'all': ['causal', {'any': [{'window': {'left': 1500}}, {'prefix': {'length': 4}}]}]}}, 2, 2, 64, False),
    'scaled': ({'arrays': {'tau': {'shape': ['H']}}, 'similarity': {'softmax': {'modify': 's * tau[h]'}}}, 4, 2, 64, True),
    'by-head': ({'arrays': {'tau': {'shape': ['H']}}, 'similarity': {'softmax': {'modify': 'fmax(s, tau[h])'}}}, 4, 2, 64, True),
    'row-bias': ({'arrays': {'gate': {'shape': ['B', 'Nk']}}, 'similarity': {'softmax': {'modify': 's + gate[b][j]'}}}, 4, 2,
                 64, True),
}
RANDOM = 6   # cases whose specs are drawn


def drawn(n):
    """Returns a case that is drawn by the number n."""
    rng = np.random.default_rng(n)
    pick = lambda *of: of[int(rng.integers(len(of)))]
    modify = pick(None, None, 's - 0.002 * (i - j)', 's * tau[h]', 's - tau[h] * (i - j)', 'fmin(s, tau[h] + 3)', 's + table[h][i - j]',
                  's + 0.1 * cos(0.01 * (i - j))', 's - fabs(tau[h]) * log1p(1.0 * (i - j))', 's + sin(0.003 * j + h)')
    softmax = {'cap': pick(5.0, 20.0)} if rng.random() < 0.3 else {}
    if modify: softmax['modify'] = modify
    elif rng.random() < 0.4: softmax['bias'] = 'alibi'
    spec = {'similarity': {'softmax': softmax} if softmax else 'softmax', 'dtype': pick('f32', 'f32', 'bf16', 'f16'),
            'shape': {'head_dim': pick(32, 64), 'value_dim': pick(32, 48, 64)},
            'mask': pick('causal', {'window': {'left': int(rng.integers(100, 2300))}}, {'window': {'left': 1230}},
                         {'all': ['causal', {'expr': 'i - j < %d' % rng.integers(1000, 2300)}]}, {'all': ['causal', 'lengths']})}
    arrays = {'tau': {'shape': ['H']}, 'table': {'shape': ['H', 200]}}
    used = {name: shape for name, shape in arrays.items() if modify and name in modify}
    if used: spec['arrays'] = used
    if spec['dtype'] == 'f32' and rng.random() < 0.6: spec['storage'] = {'k': pick('f16', 'i8', 'fp8'), 'v': pick('f16', 'bf16', 'i8')}
    if rng.random() < 0.3: spec['normalize'] = {'sink': 'h - i * 0.002'}
    if rng.random() < 0.3: spec['prepare'] = [pick({'rope': {'pairs': 'halves'}}, 'l2norm', 'rmsnorm')]
    kv_heads = int(rng.integers(1, 4))
    return spec, kv_heads * int(rng.integers(1, 6)), kv_heads, pick(16, 48, 64, 100, 256), None


# The first tokens of each sequence are those of prompt 0 up to a length, then its own. The last sequence shares nothing.
SHARED = [2200, 2048, 2100, 1024, 1500, 2048, 700, 0]
LENGTHS = [2250, 2048, 2300, 1030, 2047, 2049, 1900, 2200]
NEW = [1, 1, 3, 1, 9, 4, 16, 1]   # the tokens of the call that is compared
LATER = {'long-window': 2 * CHUNK}   # tokens that all sequences have more
GIVEN = {'given-window': {'width': np.array(1300, np.int32)}}


class Sequences:
    def __init__(self, folder, suite, name, n):
        case, self.heads, self.kv_heads, self.tokens, self.once = CASES[name] if name in CASES else drawn(n)
        self.spec = {'name': 'common', 'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f32',
                     'emit': ['forward', 'decode'], 'shape': {'head_dim': 16}} | case
        path = os.path.join(folder, 'common.yaml')
        with open(path, 'w') as f: yaml.safe_dump(self.spec, f, sort_keys=False)
        level = '-O2' if optimised(n - 1, 2) else '-O0'
        cc = 'gcc' if optimised(n - 1, 4) else compiler('clang')
        self.kernel = compiled(suite, path, folder, 'generic' if n % 5 == 4 else best_target(), level, cc)
        with open(path[:-5] + '.c') as f: text = f.read()
        found = 'few_common)(' in text
        check(self.once in (found, None), 'keys of common pages are %ssummed once' % ('' if found else 'not '))
        self.spec = definitions.load(path)
        self.batch = len(SHARED)
        more = LATER.get(name, 0)
        self.shared, self.lengths, self.longest = [x + more if x else 0 for x in SHARED], [x + more for x in LENGTHS], LONGEST + more
        definitions.make_inputs(self.spec, folder + '/in', self.heads, self.kv_heads, self.longest, self.longest, self.batch, n)
        self.P = definitions.read_dir(folder + '/in') | GIVEN.get(name, {})
        self.of_call = {word: self.P.pop(word) for word in ('gate', 'base', 'ancestor', 'lengths') if word in self.P}
        if 'lengths' in self.of_call: self.of_call['lengths'] = np.array([x - 100 * (b % 2) for b, x in enumerate(self.lengths)])
        self.q, self.k, self.v = (self.P.pop(x).astype(np.float64) for x in 'qkv')
        for b, shared in enumerate(self.shared):
            for x in self.k, self.v: x[b, :, :shared] = x[0, :, :shared]
            if 'gate' in self.of_call: self.of_call['gate'][b, :shared] = self.of_call['gate'][0, :shared]

    def rows(self, sequences, tokens, begun):
        """Returns the arrays that a call gives for its sequences, after `begun` tokens of each."""
        made, most = {}, max(map(len, tokens))
        if 'gate' in self.of_call: made['gate'] = np.zeros((len(sequences), most), np.float32)
        if 'lengths' in self.of_call: made['lengths'] = self.of_call['lengths'][sequences].astype(np.int32)
        if 'base' in self.of_call:
            made['base'] = np.array(begun, np.int32)
            made['ancestor'] = np.zeros((len(sequences), most, 64), np.uint8)
        for x, (b, numbers) in enumerate(zip(sequences, tokens)):
            if 'gate' in made: made['gate'][x, :len(numbers)] = self.of_call['gate'][b, numbers]
            for t in range(len(numbers) if 'base' in made else 0):   # a tree, whose branches have the numbers t % 3
                made['ancestor'][x, t, [y for y in range(min(t + 1, 64)) if (t - y) % 3 == 0]] = 1
        return made

    def extend(self, state, sequences, tokens, asks=True):
        """Appends tokens[x] of each sequence, and returns the new rows of each."""
        given = [np.full((len(sequences), x.shape[1], max(map(len, tokens)), x.shape[3]), np.nan) for x in (self.q, self.k, self.v)]
        for x, (b, numbers) in enumerate(zip(sequences, tokens)):
            for to, of in zip(given, (self.q, self.k, self.v)): to[x, :, :len(numbers)] = of[b][:, numbers]
        out = state.extend(given[0] if asks else None, *given[1:], [len(t) for t in tokens],
                           rows=self.rows(sequences, tokens, [state.length(x) for x in range(len(sequences))]))
        return None if not asks else [out[x, :, :len(t)] for x, t in enumerate(tokens)]

    def state(self, batch, threads):
        return State(self.kernel, self.P, batch, self.heads, self.kv_heads, capacity=self.longest, threads=threads,
                     pages=self.tokens)

    def together(self, sequences, threads, shares=True):
        """Returns the new rows of the sequences, which are appended in one call."""
        state = self.state(len(sequences), threads)
        pages, first = state.pages, {}
        for x, b in enumerate(sequences):
            whole = self.shared[b] // self.tokens * self.tokens
            source = next((y for y in range(x) if shares and self.shared[sequences[y]] >= whole and self.lengths[sequences[y]] >= whole), None)
            begun = whole if source is not None and whole else 0
            if begun:
                check(state.copy(x, state, source) == 0 and state.truncate(x, begun) == 0, 'copy failed')
                pages.numbers[x, :begun // self.tokens] = pages.numbers[source, :begun // self.tokens]
            counts = [range(begun, self.lengths[b]) if y == x else range(0) for y in range(len(sequences))]
            self.extend(state, sequences, counts, asks=False)
        return self.extend(state, sequences, [range(self.lengths[b], self.lengths[b] + NEW[b]) for b in sequences])


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
    for n in range(len(CASES), len(CASES) + RANDOM): suite.case('random/%d' % n, one, suite, 'random/%d' % n, n)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
