#!/usr/bin/python3
"""Kills a process while it appends tokens to a state, and goes on from the files that it left.

After each call, the process replaces the file of the state. Pages are in a file that is mapped to memory, so a call that
was killed may have written a part of its tokens there. The outputs must have the bits of a process that was not killed."""
import os
import signal
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import Objects, State, best_target, compiled, inputs
from suite import Suite, check, compiler

GATES = {'gate': {'shape': ['B', 'H', 'Nk']}, 'beta': {'shape': ['B', 'H', 'Nk']}}
CASES = {   # the keys of a spec, and the tokens of a page
    'pages': ({'similarity': 'softmax', 'prepare': ['rope']}, 16),
    'quantised-pages': ({'similarity': 'softmax', 'storage': {'k': 'q8_0', 'v': 'q4_0'}}, 32),
    'keys': ({'similarity': 'softmax', 'mask': {'window': {'left': 100}}}, 0),
    'sums': ({'similarity': {'polysketch': {'degree': 4, 'sketch': 8}}}, 0),
    'delta': ({'similarity': {'linear': {'features': 'identity'}}, 'normalize': 'none', 'prepare': ['l2norm'],
               'delta': {'rate': 'beta[b][h][t]'}, 'decay': {'log': 'gate[b][h][t]'}, 'arrays': GATES}, 0),
}
HEADS, TOKENS, KILLS = 2, 2000, 12


def kernel_of(folder, suite, keys):
    spec = {'name': 'killed', 'mask': 'causal', 'shape': {'head_dim': 32}, 'emit': ['forward', 'decode']} | keys
    path = os.path.join(folder, 'killed.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    return compiled(suite, path, folder, best_target(), '-O0', compiler('clang')), {'dtype': 'f32'} | definitions.load(path)


class Files:
    """A state, pages and outputs in a folder."""

    def __init__(self, folder, kernel, drawn, tokens):
        os.makedirs(folder, exist_ok=True)
        self.folder, (P, q, k, v) = folder, drawn
        self.rows = {name: x for name, x in P.items() if x.ndim == 3}
        self.tokens = q, k, v
        self.state = State(kernel, P, 1, HEADS, HEADS, capacity=TOKENS, pages=tokens)
        pages = self.state.pages
        if pages:
            pages.mine = False
            pages.numbers[0] = np.arange(pages.row)[::-1] + 1
            pages.memory = self.mapped('pages', np.uint8, pages.memory.shape)
            pages.base = pages.memory.ctypes.data
        self.out = self.mapped('out', np.float32, q.shape)
        self.saved = os.path.join(folder, 'state')
        if os.path.exists(self.saved): self.state.block[:] = np.fromfile(self.saved, np.uint8)

    def mapped(self, name, dtype, shape):
        path = os.path.join(self.folder, name)
        return np.memmap(path, dtype, 'r+' if os.path.exists(path) else 'w+', shape=shape)

    def go_on(self):
        while (at := self.state.length(0)) < TOKENS:
            new = slice(at, min(TOKENS, at + 1 + at * 7919 % 60))
            rows = {name: x[:, :, new] for name, x in self.rows.items()}
            self.out[:, :, new] = self.state.extend(*(x[:, :, new] for x in self.tokens), rows=rows)
            self.state.block.tofile(self.saved + '.new')
            os.replace(self.saved + '.new', self.saved)


def killed_after(seconds, function):
    """Calls the function in a process that an alarm kills after some seconds. Returns whether it was killed."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            if seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
            function()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    check(status in (0, signal.SIGALRM), 'the process ended with status %d' % status)
    return status != 0


def goes_on(folder, suite, name):
    keys, tokens = CASES[name]
    kernel, spec = kernel_of(folder, suite, keys)
    drawn = inputs(spec, HEADS, HEADS, TOKENS, TOKENS, 1, 7, os.path.join(folder, 'data'))

    def run(place): return lambda: Files(os.path.join(folder, place), kernel, drawn, tokens).go_on()
    check(not killed_after(0, run('whole')), 'it was killed')
    kills, seconds = 0, 0.002
    while killed_after(seconds if kills < KILLS else 0, run('killed')):
        kills, seconds = kills + 1, seconds * 1.5
    outs = [np.fromfile(os.path.join(folder, place, 'out'), np.uint32) for place in ('whole', 'killed')]
    check(kills >= 3, 'killed %d times only' % kills)
    check(np.array_equal(*outs), 'other bits after %d kills' % kills)
    return 'killed %d times' % kills


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    for name in CASES: suite.case(name, goes_on, suite, name)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
