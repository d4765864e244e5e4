#!/usr/bin/python3
"""Measures what a server does: one token after many, by the type in which keys and values are stored, next to ggml;
several tokens of one sequence; sequences of different lengths; sequences that share their beginning.

Needs numpy, for ggml also libggml-python. The kernels are those of the Python package, made by $ATTNC. Prints tables.
The bandwidth is that of a loop that only reads, in turn with the calls."""
import argparse
import ctypes
import importlib.util
import os
import sys
import time

sys.dont_write_bytecode = True
for name in 'KMP_BLOCKTIME', 'GOMP_SPINCOUNT':   # threads of one library would spin while another one computes
    os.environ.setdefault(name, '0')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('', '../package', '../../runtime/python')]

import numpy as np

import attnc
import ggml
import measure
import ours

D, TOKENS, PIECE = 128, 128, 1024   # the dimension of heads; tokens of a page; tokens that are appended at a time
ROW = {'f32': 4 * D, 'f16': 2 * D, 'bf16': 2 * D, 'i8': D + 4, 'fp8': D, 'q8_0': D // 32 * 34, 'q4_0': D // 32 * 18}   # bytes
TOLERANCE = {'f32': 1e-5}   # 0.1 for others: ggml rounds queries to the type of keys, and adds rows of f16 in f16


def kernel(stored):
    storage = {'storage': {'k': stored, 'v': stored}} if stored != 'f32' else {}
    return attnc.kernel({'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': D}} | storage)


def fill(state, b, heads, k, v, n):
    """Appends the first n tokens to sequence b."""
    no_tokens = [x[:, :, :0] for x in (k, v)]
    state.extend(np.zeros((1, heads, 0, D), np.float32), *no_tokens, cu_seqlens=[0] * (state.batch + 1))
    for first in range(0, n, PIECE):
        last = min(first + PIECE, n)
        state.extend(None, k[:, :, first:last], v[:, :, first:last], cu_seqlens=[0] * (b + 1) + [last - first] * (state.batch - b))
    return state


def token(state, n, q, k, v):
    """Returns a call that appends tokens to sequences of n tokens each."""
    out = np.empty_like(q)

    def call():
        state.truncate(n)
        return state.extend(q, k, v, out=out)
    return call


def random(seed, batch, heads, n):
    return measure.normal(seed, batch, heads, n, D)


def every(calls):
    def call():
        for one in calls: out = one()
        return out
    return call


class Reader:
    """A loop that reads memory."""

    def __init__(self, threads):
        source = os.path.join(HERE, 'read.c')
        line = [*ours.compiler(), '-O3', '-march=native', '-fopenmp', '-shared', '-fPIC', source]
        self.read = ctypes.CDLL(ours.library('read', line, [source])).read_all
        self.read.argtypes, self.read.restype = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int], ctypes.c_uint64
        self.memory, self.threads = np.ones(1 << 28, np.uint8), threads

    def __call__(self):
        self.read(self.memory.ctypes.data, self.memory.nbytes, self.threads)


def of_ggml(library, q, k, v, stored, threads):
    """Returns a call of ggml's flash_attn_ext and its result, for each of two layouts of keys and values: rows of all heads
    of a token are neighbours, as in llama.cpp, or rows of all tokens of a head."""
    library('ggml_backend_cpu_set_n_threads', None, ggml.P, ggml.I)(library.backend, threads)
    compute, made = library('ggml_backend_graph_compute', ggml.I, ggml.P, ggml.P), []
    for by_token in True, False:
        g = ggml.Graph(library, library.backend)
        tensor = lambda x, kind: (g.permute(g.tensor(np.ascontiguousarray(x.swapaxes(1, 2)), kind), 0, 2, 1, 3)
                                  if by_token else g.tensor(x, kind))
        result = library('ggml_flash_attn_ext', *[ggml.P] * 6, *[ggml.F] * 3)(
            g.context, tensor(q, 'f32'), tensor(k, stored), tensor(v, stored), None, D ** -0.5, 0, 0)
        graph, _ = g.ready(result)

        def call(graph=graph):
            if compute(library.backend, graph): raise RuntimeError('ggml failed')
        call()
        made.append((call, g.out(result).reshape(1, 1, -1, D).swapaxes(1, 2)))
    return made


def one_token(o):
    print('| heads | tokens | stored | attnc | GB/s | of the bandwidth | f32 / this | ggml | ggml / attnc |\n' + '| --- ' * 9 + '|')
    folder = importlib.util.find_spec('libggml')
    library = ggml.Ggml(folder.submodule_search_locations[0]) if folder else None
    if library: library.backend = library.cpu()
    read = Reader(o.threads)
    for heads, kv_heads in o.heads:
        for n in o.tokens:
            q, one, plain = random(1, 1, heads, 1), random(2, 1, kv_heads, 1), None
            k, v = (random(seed, 1, kv_heads, n) for seed in (3, 4))
            for stored in o.stored:
                # as many layers as fill 256 MiB, so that none is in the cache when its turn comes
                size = 2 * kv_heads * n * ROW[stored]
                layers, own = range(-(-(1 << 28) // size)), kernel(stored)
                states = [fill(own.state(1, capacity=n + 1, threads=o.threads), 0, heads, k, v, n) for _ in layers]
                calls = [every([token(state, n, q, one, one) for state in states]), read]
                if library and stored in ggml.TYPES:
                    last = calls[0]()
                    made = [of_ggml(library, q, *(np.concatenate([x, one], 2) for x in (k, v)), stored, o.threads) for _ in layers]
                    for form in zip(*made):
                        far = measure.difference(form[0][1], last)
                        if not far <= TOLERANCE.get(stored, 0.1): sys.exit('%s: another result: %.1e' % (stored, far))
                        calls.append(every([call for call, _ in form]))
                (here, reads, *there), _ = measure.alternate(calls, o.limit)
                here, there = here / len(layers), [t / len(layers) for t in there]
                rate, plain = size / here, plain or here
                print('| %d on %d | %d | %s | %.2f ms | %.2f | %.2f | %.2f | %s | %s |' % (
                    heads, kv_heads, n, stored, 1e3 * here, rate / 1e9, rate * reads / read.memory.nbytes, plain / here,
                    *(('%.2f ms' % (1e3 * min(there)), '%.2f' % (min(there) / here)) if there else ('', ''))), flush=True)


def queries(o):
    print('\n| heads | tokens | stored | one query | four | four / one |\n' + '| --- ' * 6 + '|')
    for heads, kv_heads in o.heads:
        n = o.tokens[0]
        k, v = (random(seed, 1, kv_heads, n) for seed in (3, 4))
        for stored in 'f32', 'f16', 'bf16':
            state = fill(kernel(stored).state(1, capacity=n + 4, threads=o.threads), 0, heads, k, v, n)
            (one, four), _ = measure.alternate([token(state, n, random(1, 1, heads, count), *[random(2, 1, kv_heads, count)] * 2)
                                                for count in (1, 4)], o.limit)
            print('| %d on %d | %d | %s | %.2f ms | %.2f ms | %.2f |' % (
                heads, kv_heads, n, stored, 1e3 * one, 1e3 * four, four / one), flush=True)


def ragged(o):
    """Sequences of 1 to 8192 tokens get a token each, in one call or in a call for each."""
    heads, kv_heads, sequences = *o.heads[0], 64
    lengths = np.linspace(1, 8191, sequences).astype(int).tolist()
    k, v = (random(seed, 1, kv_heads, max(lengths)) for seed in (3, 4))
    q, one = random(1, sequences, heads, 1), random(2, sequences, kv_heads, 1)
    print('\n| %d on %d heads, %d sequences of 1 to 8192 tokens | a call for each | one call | for each / one |\n' % (
        heads, kv_heads, sequences) + '| --- ' * 4 + '|')
    for stored in 'f16', 'q8_0':
        made = kernel(stored)
        all_of = made.state(sequences, capacity=8192, threads=o.threads)
        for b, n in enumerate(lengths): fill(all_of, b, heads, k, v, n)
        alone = [fill(made.state(1, capacity=n + 1, threads=o.threads), 0, heads, k, v, n) for n in lengths]

        def together():
            for b, n in enumerate(lengths): all_of.truncate(n, b)
            return all_of.extend(q, one, one)

        def apart():
            return [token(state, n, *(x[b:b + 1] for x in (q, one, one)))()[0] for b, (state, n) in enumerate(zip(alone, lengths))]
        if any((x != y).any() for x, y in zip(together(), apart())): sys.exit('another result')
        (all_in_one, each), _ = measure.alternate([together, apart], o.limit)
        print('| %s | %.1f ms | %.1f ms | %.2f |' % (stored, 1e3 * each, 1e3 * all_in_one, each / all_in_one), flush=True)


def shared(o):
    """Sequences with a common beginning get a token each. Its pages are in all their tables, or each has its own."""
    sequences, n = 64, 4096
    pages = n // TOKENS
    print('\n| %d sequences with %d common tokens | apart | shared | apart / shared |\n' % (sequences, n) + '| --- ' * 4 + '|')
    for heads, kv_heads in (8, 8), (32, 8):
        k, v = (random(seed, 1, kv_heads, n) for seed in (3, 4))
        q, one = random(1, sequences, heads, 1), random(2, sequences, kv_heads, 1)
        for stored in o.stored:
            calls = []
            for own in pages, 0:   # the pages of the beginning that each sequence has
                table = np.zeros((sequences, pages + 1), np.int32)
                table[:, :own] = np.arange(sequences * own).reshape(sequences, own)
                if not own: table[:, :pages] = np.arange(pages)
                table[:, pages] = np.arange(sequences) + (sequences * own or pages)
                state = kernel(stored).state(sequences, pages=attnc.Pages(int(table.max()) + 1, tokens=TOKENS), table=table,
                                             threads=o.threads)
                for b in range(sequences):
                    if own or b == 0: fill(state, b, heads, k, v, n)
                    else: state.assign(b, state, 0)
                calls.append(token(state, n, q, one, one))
            if (calls[0]() != calls[1]()).any(): sys.exit('another result')
            (apart, together), _ = measure.alternate(calls, o.limit)
            print('| %d on %d heads, %s | %.1f ms | %.1f ms | %.2f |' % (
                heads, kv_heads, stored, 1e3 * apart, 1e3 * together, apart / together), flush=True)


JOBS = {'one': one_token, 'queries': queries, 'ragged': ragged, 'shared': shared}


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    numbers = lambda text: [int(x) for x in text.split(',')]
    p.add_argument('--only', choices=JOBS, action='append', help='one of the tables')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    p.add_argument('--tokens', type=numbers, default=[8192, 32768], metavar='LIST', help='default: 8192,32768')
    p.add_argument('--heads', type=lambda text: [tuple(map(int, x.split('/'))) for x in text.split(',')], default=[(32, 8), (32, 32)],
                   metavar='LIST', help='default: 32/8,32/32')
    p.add_argument('--stored', type=lambda text: text.split(','), default=['f32', 'f16', 'i8', 'q8_0', 'q4_0'], metavar='LIST',
                   help='default: f32,f16,i8,q8_0,q4_0')
    p.add_argument('--limit', type=float, default=3, metavar='SECONDS', help='for the alternating calls of a row')
    options = p.parse_args()
    if options.thread_time: measure.clock = time.process_time
    for name in options.only or JOBS: JOBS[name](options)


if __name__ == '__main__':
    main()
