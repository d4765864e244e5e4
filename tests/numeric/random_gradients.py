#!/usr/bin/python3
"""Compares gradients of random specs with central differences of the same kernels.

random_gradients.py ATTNC [--count N] [--seed N] [--only CASE] [--spec FILE]

- Specs are compiled for float64, where differences have many correct digits.
- For a random direction u of q, k, v or a learned parameter, <gradient, u> must be the slope of <out, dout>
  along u.
- A call for some of the gradients, on another number of threads, must give the same bits.
- With fewer heads of q and k than of v, results must have the bits of a call with repeated heads.
- Lengths are near that of a tile. Heads are grouped. There may be more or fewer queries than keys.
- Another spec is drawn if attnc has no gradients, or if differences at several steps disagree. Differences
  disagree near a kink, and where weights nearly cancel.
- For a failure, the smallest spec that fails in the same way is printed.
- --only with the same seed repeats a case. --spec takes a spec from a file.
"""
import copy
import ctypes
import json
import os
import random
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
import draw_spec
import quick
import random_specs
from kernel import RUNTIME, Kernel, Objects, Problem, runtime_objects
from shrink import shrink
from suite import WHOLE, Failure, Skip, Suite, execute, signal_name

DRAWS = 8        # the maximum number of specs drawn for one case
GUARD = 4096
STEP = 1e-3      # the largest of three steps; 1/2 and 1/4 of it cancel the leading errors
ALIKE = 1e-6     # the maximum difference between the slopes of two steps, relative to the slope's terms
RIGHT = 1e-5     # the maximum difference between the gradient and the slope, relative to the slope's terms
LARGEST = {'head_dim': 20, 'value_dim': 20, 'sketch': 6, 'count': 8, 'hidden': 6, 'size': 20, 'degree': 8}


class Wrong(Failure):
    """`kind` says how the draw failed. A reduced spec must fail in the same way."""
    def __init__(self, kind, said):
        super().__init__('%s: %s' % (kind, said))
        self.kind = kind


def draw(seed, number):
    d, rng = draw_spec.draw(seed, number, True), random.Random('%d %d' % (seed, number))
    spec = draw_spec.capped(d['spec'], LARGEST) | {'name': 'spec', 'dtype': 'f64', 'emit': ['forward', 'backward']}
    spec.pop('storage', None)   # there are no gradients with it
    for array in spec.get('arrays', {}).values():   # f64 kernels read no arrays of 16 bits
        if array.get('type') in ('f16', 'bf16'): array['type'] = 'real'
    if spec['shape']['head_dim'] % 2 and 'rope' in str(spec.get('prepare')): spec['shape']['head_dim'] += 1
    draw_spec.fitting(spec)
    spec.pop('schedule', None)   # schedules are only for forward
    spec.pop('description', None)
    length = lambda: rng.choice([rng.randrange(1, 8), rng.randrange(8, 40), rng.randrange(60, 72)])
    n_k = length()
    form = rng.choice(['linear', 'quadratic'])   # one form alone has half as much C
    spec['algorithm'] = 'quadratic' if 'dropout' in spec else form
    spec['shape'].pop('values', None)   # with `values`, functions have other arguments; backward.py tests this
    if 'delta' in spec: spec['algorithm'] = 'auto'
    # a norm leaves only the sign of one or two elements, which has no gradient
    if spec.get('prepare') and spec['shape']['head_dim'] < 3: spec['shape']['head_dim'] = 4
    d |= {'spec': spec, 'targets': ['generic'], 'n_k': n_k, 'n_q': n_k if rng.random() < 0.5 else length(),
          'batch': rng.choice([1, 2, 3])}
    if 'learned' in str(spec['similarity']):   # networks are slow and have dozens of arrays
        d |= {'heads': 2 // d['batch'] or 1, 'kv_heads': 1, 'n_q': min(d['n_q'], 20), 'n_k': min(n_k, 20)}
    return d


def compiled(suite, d, folder):
    """Returns the library of a draw. Skips it if attnc has a valid reason to refuse it."""
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(folder + '/spec.yaml', 'w') as f: yaml.safe_dump(d['spec'], f, sort_keys=False, allow_unicode=True)
        done = execute([suite.attnc, folder + '/spec.yaml', '-o', folder, '--target', 'generic'], timeout=600,
                       signals=True)
        if done.returncode == 0: break
        if done.returncode < 0: raise Wrong('attnc is killed by', signal_name(-done.returncode))
        found = next(((m, without) for m, without in ((re.search(p, done.stderr), w)
                                                      for p, w in random_specs.REFUSED) if m), None)
        if not found: raise Wrong('refused: ' + random_specs.kind_of(done.stderr), done.stderr.strip()[:2000])
        if found[1]: found[1](d['spec'], found[0])
        if not found[1] or 'backward' not in d['spec'].get('emit', []): raise Skip(done.stderr.split('error: ')[-1].split('\n')[0])
    for line in quick.lines(suite.compiler, ['-O0', '-w', '-I', RUNTIME], folder + '/spec.c', folder + '/kernel.so',
                            *runtime_objects(suite)):
        done = execute(line, timeout=600)
        if done.returncode != 0: raise Wrong('compiler', done.stderr[:2000])
    return folder + '/kernel.so'


class Function:
    """Computes <out, dout> of a kernel as a function of the arrays, and its gradient."""

    def __init__(self, kernel, d, arrays, dout):
        self.kernel, self.arrays, self.dout, library = kernel, arrays, dout, kernel.library
        self.guarded = []
        self.shape, self.threads = (d['batch'], d['heads'], d['kv_heads'], d['n_q'], d['n_k']), d['threads']
        self.sizes = {name: getattr(library, 'spec_' + name) for name in ('saved', 'workspace', 'backward_workspace')}
        for function in self.sizes.values(): function.restype = ctypes.c_size_t
        about = [kernel.about.param[n] for n in range(kernel.about.params)]
        self.params = [(p.name.decode(), p.offset) for p in about]
        self.learned = [p.name.decode() for p in about if not p.random and p.dtype == 3]

    def call(self, name, problem, arrays, *others):
        """Calls a function of the kernel with a workspace of the required size."""
        params, keep = (ctypes.c_char * max(1, self.kernel.about.params_bytes))(), []
        for word, offset in self.params:
            keep.append(np.ascontiguousarray(arrays[word], np.float64 if arrays[word].dtype.kind == 'f' else arrays[word].dtype))
            ctypes.c_void_p.from_buffer(params, offset).value = keep[-1].ctypes.data
        of_backward = 'backward_' if name == 'backward' else ''
        problem.workspace_bytes = self.sizes[of_backward + 'workspace'](ctypes.byref(problem))
        work = self.room(problem.workspace_bytes, np.uint8)
        pointers = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else x for x in others]
        error = getattr(self.kernel.library, 'spec_' + name)(
            ctypes.byref(problem), params, *(ctypes.c_void_p(arrays[n].ctypes.data) for n in 'qkv'), *pointers,
            ctypes.c_void_p(work.ctypes.data))
        if error: raise Wrong(name, 'returns %d' % error)
        self.check_guards(name)

    def room(self, shape, dtype=np.float64):
        """Returns an array of this shape between bytes that must not be written."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        whole = np.full(size + 2 * GUARD + 64, 0xff, np.uint8)   # the bytes 0xff give NaN
        begin = -whole.ctypes.data % 64 + GUARD
        whole[:begin], whole[begin + size:] = 0xa5, 0xa5
        self.guarded.append((whole, begin, size))
        return whole[begin:begin + size].view(dtype).reshape(shape)

    def check_guards(self, name):
        for whole, begin, size in self.guarded:
            if (whole[:begin] != 0xa5).any() or (whole[begin + size:] != 0xa5).any():
                raise Wrong(name, 'writes outside its arrays')
        self.guarded = []

    @staticmethod
    def saves(problem, saved):
        if saved is not None and saved.size: problem.saved, problem.saved_bytes = saved.ctypes.data, saved.size

    def forward(self, arrays, saved=None, key_heads=0):
        problem, out = Problem(*self.shape, threads=self.threads, key_heads=key_heads), self.room(self.dout.shape)
        self.saves(problem, saved)
        self.call('forward', problem, arrays, out)
        return out

    def gradient(self, wanted=None, threads=0, arrays=None, key_heads=0):
        """Returns all gradients, or only the wanted ones, as {name: gradient}."""
        problem, arrays = Problem(*self.shape, threads=self.threads, key_heads=key_heads), arrays or self.arrays
        saved = self.room(self.sizes['saved'](ctypes.byref(problem)), np.uint8)
        out = self.forward(arrays, saved, key_heads)
        self.saves(problem, saved)
        made = {name: self.room(arrays[name].shape) for name in ['q', 'k', 'v', *self.learned]
                if wanted is None or name in wanted}
        places = [made[name].ctypes.data if name in made else None for name in self.learned]
        of_params = (ctypes.c_void_p * (len(self.learned) + 1))(*places)
        problem.threads = threads or self.threads
        self.call('backward', problem, arrays, out, self.dout, *(made.get(n) for n in 'qkv'),
                  of_params if any(places) else None)
        return made


def slope(function, name, direction):
    """Returns the slope of <out, dout> along a direction, and the sum of its |terms|. Skips the draw if the
    differences of three steps disagree."""
    found, sizes = [], 0.0
    for step in STEP, STEP / 2, STEP / 4:
        ends = []
        for by in step, -step:
            out = function.forward(function.arrays | {name: function.arrays[name] + by * direction}) * function.dout
            if not np.isfinite(out).all(): raise Skip('the result is not finite')
            ends.append(out)
            sizes = max(sizes, np.abs(out).sum())
        found.append((ends[0] - ends[1]).sum() / (2 * step))
    first, second = (4 * found[1] - found[0]) / 3, (4 * found[2] - found[1]) / 3
    return second, abs(first - second), sizes


def shared(function, heads, rng):
    """Compares calls in which heads of v share heads of q and k with calls in which these are repeated."""
    key_heads = rng.choice([n for n in range(1, heads) if heads % n == 0])
    fewer = function.arrays | {n: np.ascontiguousarray(function.arrays[n][:, ::heads // key_heads]) for n in 'qk'}
    repeated = fewer | {n: fewer[n].repeat(heads // key_heads, 1) for n in 'qk'}
    if function.forward(fewer, None, key_heads).tobytes() != function.forward(repeated).tobytes():
        raise Wrong('shared heads', 'out has other bits with %d heads of q and k for %d of v' % (key_heads, heads))
    some, all_of = function.gradient(None, 0, fewer, key_heads), function.gradient(None, 0, repeated)
    for name, gradient in all_of.items():
        if name in 'qk':
            gradient = sum(gradient[:, n::heads // key_heads] for n in range(heads // key_heads))
        if not np.array_equal(gradient, some[name], equal_nan=True):
            raise Wrong('shared heads by ' + name, 'other numbers with %d heads of q and k for %d of v' % (key_heads, heads))


def compared(d, folder, kernel):
    """Compares the gradients of all arrays. Returns the number of arrays that could be judged."""
    spec = definitions.load(folder + '/spec.yaml')
    sizes = d['heads'], d['kv_heads'], d['n_q'], d['n_k'], d['batch']
    definitions.make_inputs(spec, folder + '/in', *sizes, d['seed'])
    arrays = {n: np.ascontiguousarray(x, np.float64) if x.dtype.kind == 'f' else x
              for n, x in definitions.read_dir(folder + '/in').items()}
    rng = np.random.default_rng(d['seed'])
    dout = rng.standard_normal((*arrays['q'].shape[:3], arrays['v'].shape[3]))
    function, judged = Function(kernel, d, arrays, dout), 0
    if not np.isfinite(function.forward(arrays)).all(): raise Skip('the result is not finite')
    made = function.gradient()
    some = [name for name in made if rng.random() < 0.4]
    for name, gradient in function.gradient(some, rng.integers(1, 5)).items():
        if gradient.tobytes() != made[name].tobytes():
            raise Wrong('by %s where some are wanted' % name, 'other bits where those by %s are' % ', '.join(some))
    if d['heads'] == d['kv_heads'] > 1: shared(function, d['heads'], rng)
    for name, gradient in made.items():
        direction = rng.standard_normal(gradient.shape)
        wanted, apart, terms = slope(function, name, direction)
        with np.errstate(all='ignore'): along = (gradient * direction).sum()
        # The size of the terms limits the accuracy of a difference.
        sizes = np.abs(gradient * direction).sum() + 1e-4 * terms
        if apart > ALIKE * sizes and np.isfinite(gradient).all(): continue
        judged += 1
        if not abs(along - wanted) <= RIGHT * sizes:
            raise Wrong('by ' + name, '%.9g along a direction, and the slope is %.9g; terms of %.3g' % (
                along, wanted, sizes))
    if not judged: raise Skip('differences do not agree')
    return judged


def judge(suite, d, folder):
    """Compares gradients in a child process, because a kernel may crash."""
    path = compiled(suite, d, folder)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            said = ['', compared(d, folder, Kernel(path, 'spec'))]
        except Skip as skip:
            said = ['skip', str(skip)]
        except Wrong as wrong:
            said = [wrong.kind, str(wrong).split(': ', 1)[1]]
        except BaseException as error:
            said = ['the test itself broke', repr(error)]
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f: said = f.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) or not said: raise Wrong('the kernel is killed by', signal_name(os.WTERMSIG(status)))
    kind, rest = json.loads(said)
    if kind == 'skip': raise Skip(rest)
    if kind: raise Wrong(kind, rest)
    return rest


def told(d):
    rest = {k: v for k, v in d.items() if k != 'spec'}
    spec = yaml.safe_dump(d['spec'], default_flow_style=True, sort_keys=False, width=1000, allow_unicode=True)
    return '%s\n# %s' % (spec.strip(), json.dumps(rest))


def smaller(suite, d, wrong, folder):
    """Returns the smallest spec that fails as the draw `d` does, and its failure."""
    if wrong.kind in suite.seen: return d, wrong
    suite.seen.add(wrong.kind)
    last = wrong

    def fails(other):
        nonlocal last
        if other['spec'].get('emit') != d['spec']['emit'] or other['spec'].get('dtype') != 'f64': return False
        try:
            judge(suite, copy.deepcopy(other), folder)
        except Wrong as again:
            if again.kind == wrong.kind: last = again
            return again.kind == wrong.kind
        except (Exception, SystemExit):   # the reduced spec is not valid
            return False
        return False
    end = time.monotonic() + suite.options.shrink
    return shrink(d, fails, lambda: time.monotonic() > end), last


def case(folder, suite, draws):
    """Judges drawn specs until one can be judged."""
    why = ''
    for d in draws():
        try:
            count = judge(suite, copy.deepcopy(d), folder + '/spec')
            return '(by %d arrays%s)' % (count, '; drawn again: ' + why if why else '')
        except Skip as skip:
            why = str(skip)
        except Wrong as wrong:
            small_one, last = smaller(suite, d, wrong, folder + '/small')
            raise Failure('%s\n--- drawn\n%s\n--- made smaller\n%s' % (last, told(d), told(small_one)))
    raise Skip('nothing to compare in %d draws; %s' % (DRAWS, why))


def main():
    def more(parser):
        add = parser.add_argument
        add('--count', type=int, default=150 if WHOLE else 45, help='specs (default: %(default)s)')
        add('--seed', type=int, default=1, help='other specs (default: 1)')
        add('--shrink', type=float, default=60, metavar='SECONDS', help='for making smaller what fails (default: 60)')
        add('--spec', metavar='FILE', help='this spec alone; what a failure prints as a comment says how it is run')
        parser.set_defaults(jobs=os.cpu_count())
    suite = Suite(__doc__.split('\n\n')[0], more)
    o = suite.options
    suite.objects = Objects(suite.folder)
    suite.seen = set()
    suite.compiler = shutil.which('clang-19') or shutil.which('clang') or 'cc'
    if o.spec:
        with open(o.spec) as f: rest = re.findall(r'^# (\{.*\})$', f.read(), re.M)
        d = draw(o.seed, 0) | json.loads((rest or ['{}'])[-1]) | {'spec': definitions.load(o.spec) | {'name': 'spec'}}
        suite.case('spec', case, suite, lambda: [d])
        return suite.run()
    print('seed %d' % o.seed, flush=True)
    for n in range(o.count):
        suite.case('%05d' % n, case, suite, lambda n=n: (draw(o.seed, n + 1000000 * again) for again in range(DRAWS)))
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
