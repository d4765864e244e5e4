#!/usr/bin/env python3
"""Compares the time of ranks with a simulated link with the time that `attnc explain --ranks` expects.

    ranks.py                               100 Gbit/s and 2 us, then 10 Gbit/s and 50 us
    ranks.py --link 1.25GB/s,10us --n 65536 --heads 8 --ranks 1,2

Ranks are threads of this process, with one core each; other programs must not run meanwhile. A message arrives after
the link's latency and the time of its bytes. For each kernel, the table has
- the time of one rank with a thread for each of these cores, and of the ranks: the best of some calls, in turn
- the time of the ranks that `explain` expects if one thread takes as long as those threads together
- the ratio of both, and the measured efficiency: the first time over that of the ranks."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../mpi', '../numeric/lib', '../lib')]

import numpy as np

import definitions
import ours
from kernel import RUNTIME, Kernel, inputs, runtime_sources
from measure import say
from ranks import Post, Ranks, built, calls_of, run_all

KERNELS = {  # label: (spec, what it computes on ranks, foldable)
    'polysketch r32': ('polysketch_r32', '[forward, decode]', 0),
    'polysketch r32, foldable': ('polysketch_r32', '[forward, decode]', 1),
    'gated DeltaNet': ('gated_deltanet', '[forward, decode]', 0),
    'softmax, causal': ('softmax_causal', '[forward, statistics]', 0),
    'window': ('sliding_window', '[forward, statistics]', 0),
}
UNITS = {'us': 1e-6, 'µs': 1e-6, 'ms': 1e-3, 's': 1, 'ns': 1e-9}


def made(folder, spec, emit):
    attnc, compiler = os.path.join(ours.BUILD, 'attnc'), ours.compiler()
    ours.make([attnc, '--quiet', '-o', folder, '--set', 'emit=' + emit, os.path.join(ours.ROOT, 'specs', spec + '.yaml')],
              'attnc')
    path = os.path.join(folder, spec + '.so')
    ours.make([*compiler, '-O2', '-std=gnu11', '-shared', '-fPIC', '-fopenmp', '-I', RUNTIME, os.path.join(folder, spec + '.c'),
               *runtime_sources(), '-lm', '-o', path], spec)
    return Kernel(path, spec)


def expected(spec, emit, o, link):
    """Returns the seconds on one rank and on each number of ranks by `attnc explain`, and those of foldable states."""
    said = subprocess.run(
        [os.path.join(ours.BUILD, 'attnc'), 'explain', '--set', 'emit=' + emit, '--link', link,
         '--ranks', ','.join(map(str, o.ranks)), '--heads', str(o.heads), '--lengths', str(o.n),
         os.path.join(ours.ROOT, 'specs', spec + '.yaml')], capture_output=True, text=True, check=True).stdout
    plain, joined = {}, {}
    for line in said.splitlines():
        row = re.match(r' +%d +(\d+) +([\d.]+) (\S+) +([\d.]+) (\S+) .*? ([\d.]+)%%(?: +([\d.]+)%%)?' % o.n, line)
        if row:
            alone, ranks = float(row[2]) * UNITS[row[3]], int(row[1])
            plain[ranks] = float(row[4]) * UNITS[row[5]] / alone
            if row[7]: joined[ranks] = 100 / float(row[7]) / ranks
    return plain, joined


def measured(library, calls, times):
    """Returns the least seconds of some calls for each of `calls`, which are called in turn."""
    best = {key: float('inf') for key in calls}
    for turn in range(times + 1):
        for key, ranks in calls.items():
            begun = time.monotonic()
            run_all(ranks, library)
            if turn: best[key] = min(best[key], time.monotonic() - begun)   # the first one warms up
    return best


def rows_of(label, library, folder, o):
    spec, emit, foldable = KERNELS[label]
    say(label)
    kernel = made(folder, spec, emit)
    described = {'dtype': 'f32'} | definitions.load(os.path.join(ours.ROOT, 'specs', spec + '.yaml'))
    P, q, k, v = inputs(described, o.heads, o.heads, o.n, o.n, 1, 1, os.path.join(folder, 'data-' + spec))

    def calls(ranks, threads, link, **more):
        runs = [(o.n * (r + 1) // ranks - o.n * r // ranks,) * 2 for r in range(ranks)]
        return calls_of(library, kernel, P, q, k, v, runs, Post(ranks, link=link), threads, **more)
    links = {}
    for text in o.link:
        rate, latency = (re.match(r'([\d.]+)(.*)', word) for word in text.split(','))
        links[text] = float(rate[1]) * {'GB/s': 1e9, 'MB/s': 1e6}[rate[2]], float(latency[1]) * UNITS[latency[2]]
    for ranks in o.ranks:
        took = measured(library, {None: calls(1, ranks, None)} | {
            text: calls(ranks, 1, link, foldable=foldable) for text, link in links.items()}, o.times)
        for text in links:
            model = took[None] * ranks * expected(spec, emit, o, text)[foldable][ranks]
            print('| %s | %s | %d | %.1f ms | %.1f ms | %.1f ms | %.2f | %.0f%% |' % (
                label, text, ranks, 1e3 * took[None], 1e3 * took[text], 1e3 * model, took[text] / model,
                100 * took[None] / took[text]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--link', action='append', metavar='RATE,LATENCY', help='default: 12.5GB/s,2us and 1.25GB/s,50us')
    parser.add_argument('--n', type=int, default=32768, metavar='N', help='tokens of all ranks (default: %(default)s)')
    parser.add_argument('--heads', type=int, default=8, help='default: %(default)s')
    parser.add_argument('--ranks', type=lambda text: [int(word) for word in text.split(',')], default=[2], metavar='LIST',
                        help='numbers of ranks, up to that of cores (default: 2)')
    parser.add_argument('--times', type=int, default=3, help='calls, of which the fastest counts (default: %(default)s)')
    parser.add_argument('--only', default='', metavar='TEXT', help='only kernels whose names contain TEXT')
    o = parser.parse_args()
    o.link = o.link or ['12.5GB/s,2us', '1.25GB/s,50us']
    with tempfile.TemporaryDirectory() as folder:
        line = built(folder, runtime_sources())
        subprocess.run([word for word in line if not word.startswith('-DATTN_RANKS_PIECE')] + ['-O2'], check=True)
        library = Ranks(os.path.join(folder, 'ranks.so'))
        print('| kernel | link | ranks | one rank, as many threads | measured | expected | measured / expected | efficiency |\n'
              '| --- | --- | --- | --- | --- | --- | --- | --- |')
        for label in KERNELS:
            if o.only in label:
                rows_of(label, library, folder, o)


if __name__ == '__main__':
    main()
