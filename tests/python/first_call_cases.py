"""Tests kernels that are compiled for a first call and replaced by whole kernels while the program runs, with only NumPy.

The C compiler of most cases is a program that writes a line of its log for each kernel, and compiles whole kernels only when
there is a file `go`."""
import itertools
import signal
import subprocess
import time
import unittest.mock

from common import *

from attnc import _background, _kernel
from attnc._compiler import Source

WRAPPER = r'''#!/bin/sh
case " $* " in
*.so\ *attnrt.o*) ;;
*) exec %(compiler)s "$@" ;;
esac
case " $* " in
*\ -DQUICK=1\ *) echo quick >> %(folder)s/log ;;
*) echo whole $$ >> %(folder)s/log
   while ! test -e %(folder)s/go; do sleep 0.05; done
   if test -e %(folder)s/fail; then echo broken >&2; exit 1; fi ;;
esac
exec %(compiler)s "$@"
'''
BEGIN = '''
import attnc, os, signal, sys, threading, time
import numpy as np
from attnc._background import Work
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 2, 40, 8), np.float32) for _ in range(3))
def call(): return attnc.attention(q, k, v, weight='(1 + s) * (1.5 + s)', mask='i - j < 20 && j <= i')
def there(name): return os.path.exists(os.path.join(%r, name))
def until(condition):
    end = time.time() + 60
    while not condition():
        assert time.time() < end
        time.sleep(0.01)
first = call()
until(lambda: there('log') and 'whole' in open(os.path.join(%r, 'log')).read() or not Work.all)
'''


class Place:
    """A cache, and a C compiler that waits before it compiles whole kernels."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder + '/bin')
        with open(folder + '/bin/waiting-cc', 'w') as f:
            f.write(WRAPPER % {'compiler': compiler('clang'), 'folder': folder})
        os.chmod(folder + '/bin/waiting-cc', 0o755)
        self.environment = dict(os.environ, ATTNC_QUICK='1', ATTNC_CC=folder + '/bin/waiting-cc', XDG_CACHE_HOME=folder + '/cache',
                                TMPDIR=folder)

    def begin(self, text, **more):
        return subprocess.Popen([sys.executable, '-c', BEGIN % (self.folder, self.folder) + text], text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                env=self.environment | more)

    def run(self, text, status=0, **more):
        process = self.begin(text, **more)
        out, err = process.communicate(timeout=120)
        check(process.returncode == status, 'status %d: %s%s' % (process.returncode, out, err[-2000:]))
        return out

    def make(self, name):
        open(os.path.join(self.folder, name), 'w').close()

    def compiled(self):
        if not os.path.exists(self.folder + '/log'):
            return []
        with open(self.folder + '/log') as f: return [line.split()[0] for line in f]

    def check_clean(self, whole=False, killed=False):
        """Checks that there are no processes and no files of a process that was ended. If Python was `killed`, the folder of
        a spec may be left."""
        with open(self.folder + '/log') as f: numbers = [line.split()[1] for line in f if line.startswith('whole')]
        end = time.time() + 10
        left = True
        while left and time.time() < end:
            left = [n for n in numbers if os.path.exists('/proc/' + n)]
            left += [f for f in os.listdir(self.folder + '/cache/attnc') if f.startswith(('attnc-', 'failed-'))]
            left += [f for f in os.listdir(self.folder) if f.startswith('attnc-') and not killed]
            time.sleep(0.02)
        check(not left, left)
        kernels = [f for f in os.listdir(self.folder + '/cache/attnc') if f.endswith('.so')]
        check(len(kernels) == 1 + whole, kernels)


@case
def whole_kernels_take_over(folder):
    """In a running program, also while several threads call the kernel. Results have the same bits."""
    place = Place(folder)
    place.run('''
kernel, = attnc._formula._formulas.values()
path, library = kernel._info['library'], kernel._binding.library
assert len(Work.all) == 1 and Work.all[0].kernel is kernel
wrong, calls, going = [], [0], [True]
def several():
    while going[0]:
        calls[0] += 1
        if call().tobytes() != first.tobytes(): wrong.append(1)
threads = [threading.Thread(target=several) for _ in range(4)]
for thread in threads: thread.start()
until(lambda: calls[0] > 20)
open(os.path.join(%r, 'go'), 'w').close()
until(lambda: not Work.all)
before = calls[0]
until(lambda: calls[0] > before + 20)
going[0] = False
for thread in threads: thread.join()
assert not wrong and calls[0] > 40
assert kernel._info['library'] != path and kernel._binding.library is not library
assert kernel._binding.path == kernel.library == kernel._info['library']
''' % folder)
    check(place.compiled() == ['quick', 'whole'], place.compiled())
    place.check_clean(whole=True)
    place.run('assert not Work.all')   # the whole kernel is in the cache
    check(place.compiled() == ['quick', 'whole'], place.compiled())


@case
def compile_waits(folder):
    place = Place(folder)
    place.run('''
def go():
    time.sleep(0.3)
    open(os.path.join(%r, 'go'), 'w').close()
threading.Thread(target=go).start()
assert len(Work.all) == 1 and attnc.compile() == [] and not Work.all and there('go')
assert call().tobytes() == first.tobytes()
made, = attnc.compile({'similarity': 'softmax', 'shape': {'head_dim': 8}})
assert not Work.all and 'quick' not in made._info['library']
''' % folder)
    check(place.compiled() == ['quick', 'whole', 'whole'], place.compiled())


@case
def kernels_of_specs_are_whole(folder):
    """kernel() waits for the whole, also of a kernel that attention() made for its call. So does ATTNC_QUICK=0."""
    place = Place(folder)
    place.make('go')
    place.run('''
kernel, = attnc._formula._formulas.values()
assert attnc._kernel._of_source(kernel._source) is kernel and not Work.all
''')
    other = Place(folder + '/other')
    other.make('go')
    other.run('assert not Work.all', ATTNC_QUICK='0')
    check(other.compiled() == ['whole'], other.compiled())


@case
def programs_end(folder):
    """The end of the interpreter ends the process that compiles, and it leaves no file. So do exceptions, Ctrl-C and
    SIGKILL."""
    for name, text, status in (('end', '', 0), ('error', 'raise ValueError', 1),
                               ('interrupt', 'os.killpg(0, signal.SIGINT); time.sleep(60)', -signal.SIGINT),
                               ('kill', 'os.kill(os.getpid(), signal.SIGKILL); time.sleep(60)', -signal.SIGKILL)):
        place = Place(os.path.join(folder, name))
        place.run(text, status)
        place.check_clean(killed=name == 'kill')
        place.make('go')   # the next program finds the first kernel, and begins again
        place.run('attnc.compile()\nassert call().tobytes() == first.tobytes()')
        check(place.compiled() == ['quick', 'whole', 'whole'], place.compiled())
        place.check_clean(True, name == 'kill')


@case
def interrupts_leave_it_alone(folder):
    """A program that goes on after Ctrl-C, such as a notebook, gets the whole kernel."""
    place = Place(folder)
    place.run('''
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt: pass
open(os.path.join(%r, 'go'), 'w').close()
until(lambda: not Work.all)
assert call().tobytes() == first.tobytes()
''' % folder)
    place.check_clean(whole=True)


@case
def failures_do_not_matter(folder):
    """If the whole kernel cannot be compiled, the first one stays. compile() says why."""
    place = Place(folder)
    place.make('go')
    place.make('fail')
    out = place.run('''
until(lambda: not Work.all[0].is_alive())
assert call().tobytes() == first.tobytes()
try: attnc.compile()
except attnc.CompilerError as error: print(str(error).splitlines()[0])
os.unlink(os.path.join(%r, 'fail'))
attnc.compile()
assert not Work.all and call().tobytes() == first.tobytes()
''' % folder)
    check("the C that attnc emitted for 'attention' does not compile" in out, out)
    none = Place(folder + '/none')
    process = none.begin('', ATTNC_CC='/no/compiler')
    err = process.communicate(timeout=60)[1]
    check(process.returncode == 1 and "CompilerError: no C compiler found: $ATTNC_CC is '/no/compiler'" in err, err[-600:])


@case
def caches_that_cannot_be_written_to(folder):
    """Kernels are then stored among the temporary files. Without a cache, there is no kernel at all, as without a first
    call."""
    place = Place(folder)
    place.make('go')
    os.makedirs(folder + '/cache/attnc', 0o777)
    os.chmod(folder + '/cache/attnc', 0o777)   # others could put code there, so it is not used
    place.run('attnc.compile()\nassert call().tobytes() == first.tobytes()')
    kernels = [f for f in os.listdir('%s/attnc-cache-%d' % (folder, os.geteuid())) if f.endswith('.so')]
    check(len(kernels) == 2 and not os.listdir(folder + '/cache/attnc'), kernels)
    if os.geteuid() != 0:   # root can write to every folder
        read_only = Place(folder + '/read_only')
        read_only.make('go')
        os.makedirs(folder + '/read_only/cache/attnc', 0o755)
        os.chmod(folder + '/read_only/cache/attnc', 0o555)
        read_only.run('attnc.compile()\nassert call().tobytes() == first.tobytes()')


@case
def two_programs_at_once(folder):
    """Each kernel is compiled once."""
    place = Place(folder)
    several = [place.begin('attnc.compile()\nassert not Work.all and call().tobytes() == first.tobytes()') for _ in range(3)]
    time.sleep(0.5)
    place.make('go')
    for one in several:
        out, err = one.communicate(timeout=120)
        check(one.returncode == 0, out + err)
    check(sorted(place.compiled()) == ['quick', 'whole'], place.compiled())
    place.check_clean(whole=True)


@case
def forks(folder):
    """A forked process gets the whole kernel, too, and does not wait for processes of its parent."""
    place = Place(folder)
    place.run('''
import warnings
warnings.simplefilter('ignore')
child = os.fork()
if not child:
    assert len(Work.all) == 1
    open(os.path.join(%r, 'go'), 'w').close()
    attnc.compile()
    assert not Work.all and call().tobytes() == first.tobytes()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
attnc.compile()
assert not Work.all and call().tobytes() == first.tobytes()
''' % folder)
    place.check_clean(whole=True)


KERNELS = {'a window': {'similarity': {'custom': {'weight': '(1.5 + s) * (1 + s)'}}, 'mask': {'expr': 'j <= i && i - j < 70'}},
           'gradients': {'similarity': 'softmax', 'mask': 'causal', 'emit': ['forward', 'backward']},
           'halves': {'similarity': 'softmax', 'mask': 'causal', 'dtype': 'f16'},
           'linear': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'emit': ['forward', 'decode']}}


def bits(folder, spec):
    """A kernel of a first call has the bits of the whole one, with the optimisation that each has for users."""
    environment = {name: os.environ.get(name) for name in ('ATTNC_CFLAGS', 'XDG_CACHE_HOME')}
    os.environ['ATTNC_CFLAGS'] = ''
    spec = {**spec, 'shape': {'head_dim': 32, 'value_dim': 32}}
    try:
        with unittest.mock.patch.object(_background, 'Work'):
            made = []
            for first in (300, 300, 1), (1, 2000, 2):
                os.environ['XDG_CACHE_HOME'] = '%s/%d' % (folder, first[0])
                made.append(_kernel.Kernel(Source.of(spec), first))
                check(made[-1]._info['quick'], 'it is whole')
        whole = _kernel.Kernel(Source.of(spec))
        check(not whole._info['quick'], 'it is not whole')
        for (heads, kv_heads), (n, m) in itertools.product(((2, 2), (4, 2), (32, 1)), ((1, 40), (3, 90), (17, 17), (16, 1100), (130, 130))):
            q, k, v = arrays(dtype='float16' if spec.get('dtype') else 'float32', H=heads, G=kv_heads, n=n, m=m, D=32)
            out = whole(q, k, v)
            for one in made:
                check(one(q, k, v).tobytes() == out.tobytes(), 'forward of %s, %d and %d heads' % ((n, m), heads, kv_heads))
                if 'backward' in str(spec.get('emit')):
                    for name, x, y in zip('qkv', whole.backward(q, k, v, out, q), one.backward(q, k, v, out, q)):
                        check(x.tobytes() == y.tobytes(), 'd%s of %s' % (name, (n, m)))
                if 'decode' in str(spec.get('emit')) and n == m:
                    states = [kernel.state(batch=2, capacity=m) for kernel in (whole, one)]
                    rows = [state.extend(q, k, v) for state in states]
                    check(rows[0].tobytes() == rows[1].tobytes(), 'a state')
    finally:
        os.environ.update((name, value) for name, value in environment.items() if value is not None)
        for name, value in environment.items():
            if value is None: del os.environ[name]


for name, spec in KERNELS.items():
    def one(folder, spec=spec): bits(folder, spec)
    one.__name__ = 'bits_of_' + name.replace(' ', '_')
    case(one)


if __name__ == '__main__':
    sys.exit(main(__doc__.split('\n\n')[0]))
