"""Tests pages of states (attnc.Pages), with only NumPy."""
import ctypes
import mmap
import multiprocessing.shared_memory
import os
import signal
import time
import traceback

from common import *

KINDS = {   # the keys of a spec, the tokens of a page, the window
    'softmax': ({'mask': 'causal', 'prepare': ['rope']}, 16, None),
    'stored': ({'mask': 'causal', 'storage': {'k': 'q8_0', 'v': 'q4_0'}}, 32, None),
    'window': ({'mask': {'window': {'left': 70}}, 'storage': {'k': 'f16', 'v': 'f16'}}, 16, 70),
}
HEADS, SHARED, D = 4, 40, 32
STEPS = [((37 * step + 11) % 90, (53 * step + 5) % 70) for step in range(14)]   # the new tokens of both sequences


def kernel_of(kind):
    return attnc.kernel({'name': 'paged', 'similarity': 'softmax', 'shape': {'head_dim': D}, **KINDS[kind][0]})


class Server:
    """Two sequences with a common beginning. Their pages, table, state and outputs are in the files of a folder. It goes
    on from the files that are there."""

    def __init__(self, folder, kind):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.made, (_, self.tokens, self.window) = folder, kernel_of(kind), KINDS[kind]
        total = SHARED + max(sum(step[b] for step in STEPS) for b in range(2))
        self.q, self.k, self.v = arrays(B=2, H=HEADS, G=2, n=total, m=total, D=D)
        for a in self.q, self.k, self.v: a[1, :, :SHARED] = a[0, :, :SHARED]
        row = -(-total // self.tokens)
        count = 2 * (row if self.window is None else 12)   # under the window, sequences take pages that were freed
        size = self.made.page_bytes(HEADS, 2, tokens=self.tokens)
        self.pages = attnc.Pages(count, self.tokens, self.mapped('pages', np.uint8, count * size))
        self.table = self.mapped('table', np.int32, (2, row), -1)
        self.out = self.mapped('out', np.float32, self.q.shape)
        self.place = self.mapped('place', np.int32, 2)   # the step, and 1 in a call
        self.saved = os.path.join(folder, 'state')
        where = {'pages': self.pages, 'table': self.table, 'threads': 2}
        if os.path.exists(self.saved):
            with open(self.saved, 'rb') as f: self.state = self.made.load_state(f.read(), **where)
        else:
            self.state = self.made.state(2, **where)

    def mapped(self, name, dtype, shape, value=0):
        path = os.path.join(self.folder, name)
        if os.path.exists(path): return np.memmap(path, dtype, 'r+', shape=shape)
        made = np.memmap(path + '.new', dtype, 'w+', shape=shape)
        made[:] = value
        os.replace(path + '.new', path)
        return made

    def save(self):
        with open(self.saved + '.new', 'wb') as f: f.write(self.state.tobytes())
        os.replace(self.saved + '.new', self.saved)

    def grow(self, b, tokens):
        """Gives sequence b pages for its next tokens."""
        first, end = (-(-n // self.tokens) for n in (self.state.lengths[b], self.state.lengths[b] + tokens))
        for x in range(first, end):
            self.table[b, x] = next(page for page in range(self.pages.count) if page not in self.table)

    def call(self, step, lengths, stop):
        for b in range(2): self.grow(b, lengths[b])
        at, n = self.state.lengths, max(lengths)
        new = [np.zeros((2, a.shape[1], n, D), np.float32) for a in (self.q, self.k, self.v)]
        for b in range(2):
            for to, a in zip(new, (self.q, self.k, self.v)): to[b, :, :lengths[b]] = a[b, :, at[b]:at[b] + lengths[b]]
        self.place[:] = step, 1
        made = self.state.extend(*new, lengths=lengths)
        self.place[1] = 0
        for b in range(2): self.out[b, :, at[b]:at[b] + lengths[b]] = made[b, :, :lengths[b]]
        stop(step, 'extended')
        self.save()
        stop(step, 'saved')
        for b in range(2 if self.window else 0):
            # a saved state needs no keys before its window, so others may have these pages from now on
            self.table[b, :max(0, self.state.lengths[b] - self.window) // self.tokens] = -1

    def go_on(self, stop=lambda step, place: None):
        ends = [tuple(SHARED + sum(one[b] for one in STEPS[:step]) for b in range(2)) for step in range(len(STEPS) + 1)]
        if self.state.lengths == [0, 0]: self.call(-2, [SHARED, 0], stop)
        if self.state.lengths == [SHARED, 0]:
            self.state.assign(1, self.state, 0)
            full = SHARED // self.tokens
            self.table[1, :full] = self.table[0, :full]
            self.table[1, full] = -1
            page = next(page for page in range(self.pages.count) if page not in self.table)
            self.pages.copy(page, self.table[0, full])
            self.table[1, full] = page
            stop(-1, 'extended')
            self.save()
        for step in range(ends.index(tuple(self.state.lengths)), len(STEPS)): self.call(step, STEPS[step], stop)


def child(function):
    """Runs a function in a forked process. Returns the number of the process."""
    process = os.fork()
    if not process:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def ended(process):
    """Waits for a process. Returns whether it was killed."""
    _, status = os.waitpid(process, 0)
    check(status in (0, signal.SIGKILL), 'a process ended with status %d' % status)
    return status != 0


def goes_on_after_kills(folder, kind):
    """A process that is killed leaves files from which another process goes on, with the bits of one that was not."""
    kernel_of(kind)
    whole, killed = (os.path.join(folder, name) for name in ('whole', 'killed'))
    check(not ended(child(lambda: Server(whole, kind).go_on())), 'it was killed')

    def dies_at(*wanted): return lambda *place: os.kill(os.getpid(), signal.SIGKILL) if place == wanted else None
    for place in (-2, 'extended'), (-2, 'saved'), (-1, 'extended'), (2, 'extended'), (2, 'saved'), (3, 'extended'):
        check(ended(child(lambda: Server(killed, kind).go_on(dies_at(*place)))), 'not killed at %d, %s' % place)
    inside, at = 0, 3
    while True:   # each process is killed in the first call of a later step
        process, place = child(lambda: Server(killed, kind).go_on()), np.memmap(os.path.join(killed, 'place'), np.int32, 'r')
        while not (place[0] > at and place[1]) and not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            time.sleep(0.0001)
        time.sleep(0.0003 * (inside % 4))
        os.kill(process, signal.SIGKILL)
        if not ended(process): break
        inside, at = inside + int(place[1]), int(place[0])
    outs = [np.fromfile(os.path.join(place, 'out'), np.uint32) for place in (whole, killed)]
    check(inside >= 2, 'killed in %d calls only' % inside)
    check(np.array_equal(*outs), 'other bits')
    server = Server(killed, kind)
    for b, first in enumerate((0, SHARED) if kind == 'softmax' else ()):
        part = slice(first, server.state.lengths[b])
        wanted = server.made(*(a[b:b + 1, :, :part.stop] for a in (server.q, server.k, server.v)))
        close(server.out[b:b + 1, :, part], wanted[:, :, part], 1e-5, 'outputs')
    return 'killed in %d calls' % inside


def alone(folder, kind):
    """Runs the case in a process without other threads, which can be forked."""
    done = execute([sys.executable, __file__, 'alone', folder, kind], timeout=120,
                   env=os.environ | {'OPENBLAS_NUM_THREADS': '1'})
    check(done.returncode == 0, done.stderr[-1500:])
    return done.stdout.strip()


for kind in KINDS:
    CASES.append(lambda folder, kind=kind: alone(folder, kind))
    CASES[-1].__name__ = 'goes_on_after_kills/' + kind


def aligned(size, offset=0):
    """Returns memory whose address is a multiple of 64, plus the offset."""
    memory = np.zeros(size + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    return memory[begin:begin + size]


@case
def pages_are_in_the_memory_of_the_caller(folder):
    q, k, v = arrays(n=60, m=60)
    made, table = small('softmax_causal'), np.array([[4, 1, 2, 0], [3, 5, 6, 7]], 'int32')
    wanted = made(q, k, v)
    size = made.page_bytes(4, 2, tokens=16)
    check(size == 16 * 2 * 8 * 4 * 2 and size == small('softmax_causal').page_bytes(4, tokens=16) // 2, 'bytes: %d' % size)
    check(size == made.page_bytes(2, tokens=16), 'the heads of queries count')
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=8 * size)
    try:
        with open(os.path.join(folder, 'pages'), 'wb+') as f:
            f.truncate(8 * size)
            for memory in aligned(8 * size), aligned(8 * size).reshape(8, size), mmap.mmap(f.fileno(), 0), memoryview(shared.buf):
                pages = attnc.Pages(8, 16, memory)
                state = made.state(2, pages=pages, table=table)
                close(state.extend(q, k, v), wanted, 1e-5, 'out')
                first = bytes(memoryview(memory).cast('B'))[4 * size:][:32] if isinstance(memory, np.ndarray) else \
                    bytes(memory[4 * size:4 * size + 32])
                check(first == k[0, 0, 0].tobytes(), 'page 4 does not begin with the first key')
                check(pages.bytes == size, 'bytes of a page')
                other = made.load_state(state.tobytes(), pages=attnc.Pages(8, 16, memory), table=table)
                one = [a[:, :, :1] for a in (q, k, v)]
                other.extend(*one)
                del other, state, pages, memory
    finally:
        shared.close()
        shared.unlink()


@case
def wrong_memory_is_refused(folder):
    made, (q, k, v) = small('softmax_causal'), arrays(n=20, m=20)
    size, table = made.page_bytes(4, 2, tokens=16), np.array([[0, 1], [2, 3]], 'int32')

    def given(memory): return lambda: attnc.Pages(4, 16, memory)
    read_only = aligned(4 * size)
    read_only.flags.writeable = False
    refuses(given(read_only), ValueError, 'memory is read-only')
    refuses(given(bytes(4 * size)), ValueError, 'memory is read-only')
    refuses(given(aligned(4 * size, 8)), ValueError, 'memory is not aligned: its address must be a multiple of 64')
    refuses(given(aligned(8 * size)[::2]), ValueError, 'memory has to be contiguous, but has strides [2]')
    refuses(given(memoryview(bytearray(8))[::2]), ValueError, 'memory has to be contiguous')
    refuses(given(aligned(4 * size).view('f4')), TypeError, 'memory is float32; expected bytes (uint8)')
    refuses(given([0] * 9), TypeError, 'memory is a list; expected an array of bytes, or an object with a writable buffer')
    state = made.state(2, pages=attnc.Pages(4, 16, aligned(4 * size - 1)), table=table)
    refuses(lambda: state.extend(q, k, v), ValueError, 'memory has %d bytes; 4 pages of %d bytes need %d'
            % (4 * size - 1, size, 4 * size))
    check(state.lengths == [0, 0], 'it has tokens')
    early = attnc.Pages(4, 16, aligned(4 * size))
    refuses(lambda: early.copy(0, 1), ValueError, 'the size of a page is not known before a state is loaded, or the first '
            'extend()')
    refuses(lambda: made.page_bytes(4, 3), ValueError, 'heads is 4; expected 1 or more, a multiple of kv_heads (3) and of '
            'key_heads')
    refuses(lambda: made.page_bytes(4, tokens=300), ValueError, 'tokens is 300; expected 16 to 256 tokens a page')
    refuses(lambda: small('linear_elu').page_bytes(4), ValueError, 'linear_elu: the states of this kernel cannot be in pages')


MORE = {   # keys of a spec, and the types of stored keys and values
    'sink': ({'mask': 'causal', 'normalize': {'sink': 'h * 0.5 - i * 0.01'}}, ('q8_0', 'fp8')),
    'alibi': ({'mask': 'causal', 'similarity': {'softmax': {'bias': 'alibi'}}}, ('q4_0', 'bf16')),
    'window': ({'mask': {'all': [{'window': {'left': 40}}, 'lengths']}}, ('i8', 'q8_0')),
    'statistics': ({'mask': 'causal', 'emit': ['forward', 'decode', 'statistics']}, ('f16', 'q4_0')),
    'draft': ({'arrays': {'base': {'shape': ['B'], 'type': 'int'}, 'ancestor': {'shape': ['B', 'Nq', 64], 'type': 'bool'}},
               'mask': {'all': ['causal', {'expr': 'j < base[b] || ancestor[b][row][j - base[b]]'}]}}, ('q8_0', 'i8')),
}


def grown(made, name, paged):
    """Returns the results of calls with a state in pages or without."""
    inputs, row, results, at = arrays(H=HEADS, G=2, n=150, m=150, D=D), 10, [], 0
    table = np.random.default_rng(3).permutation(2 * row).astype('int32').reshape(2, row)
    given = {'window': {'lengths': np.array([140, 90], 'int32')}, 'draft': {'base': np.zeros(2, 'int32')}}.get(name, {})
    where = {'pages': attnc.Pages(2 * row, 16), 'table': table} if paged else {}
    state = made.state(2, capacity=150, rewind=16, threads=2, **where, **given)
    for n in 40, 30, 1, 9, 3, 30, 1, 20:
        part = [a[:, :, at:at + n] for a in inputs]
        at += n
        if name == 'draft':
            given['base'][:] = state.lengths
            parents = np.arange(-1, n - 1) if n > 9 else np.maximum(-1, np.arange(n) - 2)
            mask, _ = attnc.ancestors(np.stack([parents] * 2))
            results.append(state.extend(*part, ancestor=mask))
            for b in range(2): state.keep(np.flatnonzero(mask[0, n - 1]), b)
        elif name == 'statistics':
            results += state.extend(*part, statistics=True)
        else:
            less = max(0, n - 2)
            out = state.extend(*part, lengths=[n, less])
            results += [out[0], out[1, :, :less]]
    return results


def has_the_bits_of_a_state_without_pages(folder, name):
    keys, kinds = MORE[name]
    for kind in kinds:
        made = attnc.kernel({'name': 'paged', 'similarity': 'softmax', 'shape': {'head_dim': D},
                             'storage': {'k': kind, 'v': kind}} | keys)
        without, within = (grown(made, name, paged) for paged in (False, True))
        check(all(np.isfinite(a).all() for a in without), kind + ': not finite')
        check(all(map(np.array_equal, without, within)), kind + ': other bits in pages')


for name in MORE:
    CASES.append(lambda folder, name=name: has_the_bits_of_a_state_without_pages(folder, name))
    CASES[-1].__name__ = 'has_the_bits_of_a_state_without_pages/' + name


@case
def sequences_share_pages(folder):
    """The keys and values of sequences are in pages."""
    q, k, v = arrays(n=60, m=60)
    made = small('softmax_causal')
    pages, table = attnc.Pages(10, tokens=16), np.full((2, 4), -1, 'int32')
    state = made.state(2, pages=pages, table=table)
    table[0] = 3, 1, 4, 2
    first = state.extend(*(a[:, :, :40] for a in (q, k, v)), lengths=[40, 0])
    state.assign(1, state, 0)
    table[1] = 3, 1, 7, 8
    pages.copy(7, 4)
    later = state.extend(*(a[:1, :, 40:].repeat(2, 0) for a in (q, k, v)))
    wanted = made(q, k, v)
    close(np.concatenate([first[0], later[0]], 1), wanted[0], 1e-5, 'in pages')
    check(np.array_equal(later[0], later[1]) and state.lengths == [60, 60], 'with shared pages')
    check(made.load_state(state.tobytes(), pages=pages, table=table).lengths == [60, 60], 'a saved state in pages')
    state.truncate(50)
    table[1, 3] = 2
    one = [a[:, :, :1] for a in (q, k, v)]
    refuses(lambda: state.extend(*one), ValueError, "softmax_causal: a page's number is out of range, a page is twice in a "
            "table or gets tokens of two sequences, or the states of this kernel cannot be in pages")
    refuses(lambda: made.load_state(state.tobytes()), ValueError, 'the state is in pages of 16 tokens; expected pages= and '
            'table= of it')
    refuses(lambda: made.state(2, pages=pages, table=table[:, ::2]), ValueError, 'table has to be contiguous, but has '
            'strides [4, 2]')
    refuses(lambda: made.state(2, pages=pages), ValueError, 'pages and table: expected both, or none of them')


if __name__ == '__main__':
    sys.exit(main(__doc__) if sys.argv[1:2] != ['alone'] else print(goes_on_after_kills(*sys.argv[2:])))
