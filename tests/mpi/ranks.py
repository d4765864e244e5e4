"""Calls attn_ranks_… with ranks that are threads of this process. Messages are copies of bytes in queues."""
import ctypes
import os
import threading
import time

import numpy as np

from kernel import RUNTIME, Problem
from suite import check

LIMIT, LIMIT_OF_LOST = 60, 5   # seconds that a rank waits for a message; if messages are lost
ATTN_ERANKS = -17
START = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                         ctypes.POINTER(ctypes.c_int64))
WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))
SUM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
TAGS = {'error': 1, 'runs': 2, 'state': 3, 'sum': 4, 'keys': 5, 'down': 6, 'sums': 8, 'sums_down': 9, 'totals': 10}   # as in runtime/mpi/ranks.h


class Transport(ctypes.Structure):
    _fields_ = [('user', ctypes.c_void_p), ('rank', ctypes.c_int), ('ranks', ctypes.c_int), ('send', START),
                ('receive', START), ('wait', WAIT), ('sum', SUM)]


class Post:
    """The messages between all ranks. `sent` counts the bytes that a rank has sent with a tag. After `failing` messages
    of rank `fails`, that rank delivers none. `link` is the bytes a second and the seconds of an empty message: between
    two ranks, messages follow one another in each direction, and arrive after that time."""

    def __init__(self, ranks, fails=None, failing=0, link=None):
        self.ranks, self.fails, self.failing, self.link = ranks, fails, failing, link
        self.there, self.boxes, self.sent, self.ends = threading.Condition(), {}, {}, {}

    def arrival(self, size, *between):
        if not self.link: return 0
        self.ends[between] = max(self.ends.get(between, 0), time.monotonic()) + size / self.link[0]
        return self.ends[between] + self.link[1]

    def transport(self, rank):
        waiting, made = {}, []

        def send(_, data, size, to, tag, request):
            with self.there:
                if rank == self.fails:
                    self.failing -= 1
                    if self.failing < 0:
                        self.there.notify_all()
                        return ATTN_ERANKS
                self.sent[rank, tag] = self.sent.get((rank, tag), 0) + size
                self.boxes.setdefault((rank, to, tag), []).append(
                    (self.arrival(size, rank, to), ctypes.string_at(data, size)))
                self.there.notify_all()
            request[0] = 0
            return 0

        def receive(_, data, size, source, tag, request):
            made.append(None)
            request[0] = len(made)
            waiting[len(made)] = data, size, (source, rank, tag)
            return 0

        def wait(_, request):
            if request[0] == 0: return 0
            data, size, box = waiting.pop(request[0])
            with self.there:
                lost = lambda: box[0] == self.fails and self.failing < 0
                limit = LIMIT if self.fails is None else LIMIT_OF_LOST
                if not self.there.wait_for(lambda: self.boxes.get(box) or lost(), limit): return ATTN_ERANKS
                if not self.boxes.get(box): return ATTN_ERANKS
                arrives, message = self.boxes[box].pop(0)
            if self.link: time.sleep(max(0, arrives - time.monotonic()))
            if len(message) != size: return ATTN_ERANKS
            ctypes.memmove(data, message, size)
            return 0
        return Transport(None, rank, self.ranks, START(send), START(receive), WAIT(wait))

    def bytes_of(self, tag, rank=None):
        tags = [TAGS[tag], TAGS['down']] if tag == 'keys' else [TAGS[tag]]
        return sum(n for (r, t), n in self.sent.items() if t in tags and rank in (None, r))


def built(folder, sources, compiler=('cc', '-O1', '-g')):
    """Returns the command for a shared library of attn_ranks_…"""
    own = os.path.join(RUNTIME, 'mpi')
    # Short pieces, so that a run has several.
    return [*compiler, '-DATTN_RANKS_PIECE=32', '-fPIC', '-shared', '-I', RUNTIME, '-I', own, '-o',
            os.path.join(folder, 'ranks.so'),
            *(os.path.join(own, f) for f in sorted(os.listdir(own)) if f.endswith('.c') and f != 'mpi.c'),
            *sources, '-lm']


class Ranks:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.workspace, self.forward = library.attn_ranks_workspace, library.attn_ranks_forward
        self.workspace.restype = ctypes.c_size_t
        self.workspace.argtypes = [ctypes.c_void_p] * 3
        self.forward.argtypes = [ctypes.c_void_p] * 9
        self.backward_workspace, self.backward = library.attn_ranks_backward_workspace, library.attn_ranks_backward
        self.backward_workspace.restype = ctypes.c_size_t
        self.backward_workspace.argtypes = [ctypes.c_void_p] * 3
        self.backward.argtypes = [ctypes.c_void_p] * 14
        self.extend = library.attn_ranks_extend
        self.extend.argtypes = [ctypes.c_void_p] * 10


def block_of(extent):
    """Returns the number of queries of a block, or 0 for another extent. The inverse of ATTN_BLOCKS."""
    return (-4 - extent) // 8 if extent < -8 and extent % 8 == 4 else 0


def aligned(kernel, runs, axis=-4):
    """Returns runs of queries (axis -4) or keys, each of which begins with a block of queries or keys."""
    lists = [block_of(n) for p in kernel.about.param[:kernel.about.params] for n in p.shape[:p.rank] if block_of(n)]
    block, total = int(np.lcm.reduce([1, *lists] if axis == -4 else [max(kernel.about.period, 1), *lists])), sum(runs)
    if not lists: return runs
    ends = [end if end == total else end // block * block for end in np.cumsum([0, *runs])]
    return [int(end - begin) for begin, end in zip(ends, ends[1:])]


def share(kernel, P, rows_q, rows_k):
    """Returns the parameters with the rows of a rank. Integers that are compared, such as `document`, are for all
    tokens."""
    mine = dict(P)
    for param in kernel.about.param[:kernel.about.params]:
        name = param.name.decode()
        for axis in range(param.rank if name in P else 0):
            rows = {-4: rows_q, -5: rows_k}.get(param.shape[axis])
            if block := block_of(param.shape[axis]):   # lists of a block of queries
                rows = slice(-(-rows_q.start // block), -(-rows_q.stop // block))
            both = -4 in param.shape[:param.rank] and -5 in param.shape[:param.rank]
            both |= any(map(block_of, param.shape[:param.rank]))
            if rows is None or (both and rows is rows_k) or (param.dtype == 4 and not param.rows and not block): continue
            mine[name] = mine[name][(slice(None),) * axis + (rows,)]
    return mine


def stored_rows(kernel, x, name):
    """Returns the rows in the type of this argument of forward."""
    some = np.ascontiguousarray(x if x.shape[2] else np.zeros(x.shape[:2] + (1,) + x.shape[3:]), kernel.dtype)
    return np.ascontiguousarray(kernel.as_stored(some, name)[:, :, :x.shape[2]])


class Call:
    """A call on one rank."""

    def __init__(self, ranks, kernel, transport, P, q, k, v, threads=1, **more):
        self.kernel, self.transport = kernel, transport
        self.arrays = [stored_rows(kernel, x, name) for x, name in ((q, 'q'), (k, 'k'), (v, 'v'))]
        self.problem = Problem(q.shape[0], q.shape[1], v.shape[1], q.shape[2], k.shape[2], threads=threads, **more)
        if q.shape[1] != v.shape[1] and q.shape[1] == k.shape[1]:
            self.problem.heads, self.problem.key_heads = v.shape[1], q.shape[1]
        self.params, self.keep = kernel.parameters(P)
        self.out = kernel.as_stored(np.full((q.shape[0], self.problem.heads) + q.shape[2:3] + v.shape[3:], np.nan,
                                            kernel.dtype))
        self.dout, self.error, self.state = None, None, None
        self.set_workspace(ranks.workspace)

    def set_workspace(self, function):
        size = function(ctypes.byref(self.transport), ctypes.byref(self.kernel.about), ctypes.byref(self.problem))
        self.memory = np.full(size + 128, 0xFF, np.uint8)
        self.problem.workspace_bytes = size
        self.work = self.memory[-self.memory.ctypes.data % 64:][:size + 64]
        self.after = self.work[size:].copy()

    def differentiate(self, ranks, dout, P):
        """Makes the next run a call of attn_ranks_backward, with gradients of all learned parameters."""
        self.dout = self.kernel.as_stored(np.ascontiguousarray(dout, self.kernel.dtype))
        self.gradients = {n: np.full_like(x, 0x7FFF if x.dtype == np.uint16 else np.nan)
                          for n, x in zip(('dq', 'dk', 'dv'), self.arrays)}
        about = self.kernel.about
        learned = [p for p in about.param[:about.params] if p.dtype < 4 and not p.random]
        names = ['d' + p.name.decode() for p in learned]
        self.of_params = {n: np.full(np.shape(P[n[1:]]), np.nan, self.kernel.dtype) for n in names}
        pointers = [x.ctypes.data for x in self.of_params.values()]
        self.pointers = (ctypes.c_void_p * max(1, len(names)))(*pointers)
        self.set_workspace(ranks.backward_workspace)

    def run(self, ranks):
        about = self.kernel.about
        if self.dout is not None:
            self.error = ranks.backward(
                ctypes.byref(self.transport), ctypes.byref(about), ctypes.byref(self.problem),
                self.params if about.params else None, *(x.ctypes.data for x in (*self.arrays, self.out, self.dout)),
                *(x.ctypes.data for x in self.gradients.values()), self.pointers, self.work.ctypes.data)
            check((self.work[-64:] == self.after).all(), 'a rank wrote after its workspace')
            return
        if self.state is not None:   # a State, or 0 for none
            self.error = ranks.extend(
                ctypes.byref(self.transport), ctypes.byref(about), ctypes.byref(self.problem),
                self.params if about.params else None, *(x.ctypes.data for x in (*self.arrays, self.out)),
                self.state and self.state.address, self.work.ctypes.data)
            check((self.work[-64:] == self.after).all(), 'a rank wrote after its workspace')
            return
        self.error = ranks.forward(
            ctypes.byref(self.transport), ctypes.byref(about), ctypes.byref(self.problem),
            self.params if about.params else None,
            *(x if x is None else x.ctypes.data for x in (*self.arrays, self.out)), self.work.ctypes.data)
        check((self.work[-64:] == self.after).all(), 'a rank wrote after its workspace')


def together(calls, ranks):
    """Runs all calls at the same time, and returns their errors."""
    failures = []

    def run(call):
        try:
            call.run(ranks)
        except Exception as failure:   # raised in the main thread
            failures.append(failure)
    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads: thread.start()
    for thread in threads: thread.join(4 * LIMIT)
    check(not any(t.is_alive() for t in threads), 'a rank hangs')
    if failures: raise failures[0]
    return [call.error for call in calls]


def calls_of(ranks, kernel, P, q, k, v, runs, post, threads, **more):
    """Returns a call for each rank. `runs` has each rank's numbers of queries and keys."""
    calls, at_q, at_k = [], 0, 0
    for rank, (n_q, n_k) in enumerate(runs):
        rows_q, rows_k = slice(at_q, at_q + n_q), slice(at_k, at_k + n_k)
        calls.append(Call(ranks, kernel, post.transport(rank), share(kernel, P, rows_q, rows_k), q[:, :, rows_q],
                          k[:, :, rows_k], v[:, :, rows_k], threads, capacity=k.shape[2], all_keys=k.shape[2], **more))
        at_q, at_k = at_q + n_q, at_k + n_k
    return calls


def run_all(calls, ranks):
    errors = together(calls, ranks)
    check(len(set(errors)) == 1, 'ranks have different errors: %s' % errors)
    check(errors[0] == 0, 'attn_ranks_… returned %d' % errors[0])


def forward(ranks, kernel, P, q, k, v, runs, post=None, threads=1, **more):
    """Returns `out` for all queries."""
    calls = calls_of(ranks, kernel, P, q, k, v, runs, post or Post(len(runs)), threads, **more)
    run_all(calls, ranks)
    return kernel.as_numbers(np.concatenate([call.out for call in calls], axis=2))


def extend(ranks, kernel, P, q, k, v, runs, first, last):
    """Appends the tokens of all ranks to State `first`, which becomes State `last`. Returns `out`."""
    calls = calls_of(ranks, kernel, P, q, k, v, runs, Post(len(runs)), 1, rewind=first.problem.rewind)
    for call in calls: call.state = 0
    calls[0].state, calls[-1].state = first, last
    run_all(calls, ranks)
    return kernel.as_numbers(np.concatenate([call.out for call in calls], axis=2))


def backward(ranks, kernel, P, q, k, v, dout, runs, threads=1, post=None, **more):
    """Returns all gradients, after forward."""
    post = post or Post(len(runs))
    calls, at, at_k = calls_of(ranks, kernel, P, q, k, v, runs, post, threads, **more), 0, 0
    for call, (n_q, _) in zip(calls, runs):
        if not kernel.about.statistics: continue
        call.statistics = np.full(call.out.shape[:3], np.nan, kernel.dtype)
        call.problem.give(call.statistics)
    run_all(calls, ranks)
    for call, (n_q, n_k) in zip(calls, runs):
        rows = slice(at, at + n_q)
        call.differentiate(ranks, dout[:, :, rows], share(kernel, P, rows, slice(at_k, at_k + n_k)))
        at, at_k = at + n_q, at_k + n_k
    run_all(calls, ranks)
    made = {n: kernel.as_numbers(np.concatenate([call.gradients[n] for call in calls], axis=2))
            for n in ('dq', 'dk', 'dv')}
    rows = {'d' + p.name.decode(): list(p.shape[:p.rank]).index(max(-5, *(n for n in p.shape[:p.rank] if n in (-4, -5))))
            for p in kernel.about.param[:kernel.about.params] if {-4, -5} & set(p.shape[:p.rank])}
    for name, first in list(calls[0].of_params.items()):
        if name in rows:
            made[name] = np.concatenate([call.of_params.pop(name) for call in calls], axis=rows[name])
            continue
        check(all(call.of_params[name].tobytes() == first.tobytes() for call in calls), name + ' differs between ranks')
    return made | calls[0].of_params
