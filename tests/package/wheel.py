#!/usr/bin/env python3
"""Installs a wheel of `./dev wheel` in a Debian that has Python, but no C compiler and no network. Calls kernels there.
`./dev wheel --test` runs this. FOLDER keeps the Debian and packages of PyPI for the next run. A wheel for another
processor runs in a Debian for it (bare.py).

wheel.py WHEEL FOLDER: the wheel contains at least softmax_causal/f32/64 and numbers/f32/64."""
import glob
import os
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

from bare import Bare, must
from suite import Failure, check

PYTHON = '3.11'   # of Debian 12
REFERENCE = '''
import time
started = time.perf_counter()
import attnc
import numpy as np

rng = np.random.default_rng(1)

def draw(size, n=100, heads=3):
    return [rng.standard_normal((2, heads, n, size), dtype=np.float32) for _ in range(4)]

def softmax(q, k, v, seen, scale):
    """Returns the output and the weights in float64."""
    s = np.where(seen, np.float64(q) @ np.swapaxes(k, -1, -2) * scale, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return w @ v, w

def positions(n):
    return np.arange(n)[:, None], np.arange(n)[None, :]

def near(ours, right):
    assert ours.shape == right.shape, (ours.shape, right.shape)
    error = np.abs(ours - right).max() / np.abs(right).max()
    assert error < 1e-5, error
'''

FORWARD = '''
attend = attnc.kernel("softmax_causal")
for n in 1, 31, 100:
    q, k, v, _ = draw(64, n)
    i, j = positions(n)
    out = attend(q, k, v)
    if n == 1:
        print("import, kernel and first call: %.2f s" % (time.perf_counter() - started))
    near(out, softmax(q, k, v, j <= i, 1 / 8)[0])
'''

GRADIENT = '''
q, k, v, dout = draw(64)
i, j = positions(100)
attend, saved = attnc.kernel("softmax_causal"), attnc.Saved()
out = attend(q, k, v, saved=saved)
made = attend.backward(q, k, v, out, dout, saved=saved)
right, w = softmax(q, k, v, j <= i, 1 / 8)
dw = np.float64(dout) @ np.swapaxes(v, -1, -2)
ds = w * (dw - (dw * w).sum(-1, keepdims=True)) / 8
near(made.dq, ds @ k)
near(made.dk, np.swapaxes(ds, -1, -2) @ q)
near(made.dv, np.swapaxes(w, -1, -2) @ dout)
'''

DECODE = '''
q, k, v, _ = draw(64)
i, j = positions(100)
state = attnc.kernel("softmax_causal").state(2, capacity=128)
made = [state.extend(*(np.ascontiguousarray(x[:, :, t:t + 1]) for x in (q, k, v))) for t in range(100)]
near(np.concatenate(made, 2), softmax(q, k, v, j <= i, 1 / 8)[0])
'''

# One kernel serves every scale and window.
NUMBERS = '''
from attnc._traits import Traits, spec_of

attend = attnc.kernel(spec_of(Traits(), 64, 64, "f32"))
q, k, v, _ = draw(64)
i, j = positions(100)
zero, all_keys = np.zeros(2, np.int32), np.full(2, 100, np.int32)
for scale, left, right in (0.125, 1000, 0), (0.3, 9, 0), (0.05, 5, 3):
    made = attend(q, k, v, scale=np.float32(scale), left=np.int32(left), right=np.int32(right), at=zero, since=zero,
                  until=all_keys)
    near(made, softmax(q, k, v, (i - j < left) & (j - i <= right), np.float32(scale))[0])
'''

OTHER = '''
try:
    attend = attnc.kernel({"similarity": "softmax", "shape": {"head_dim": 48}, "mask": {"expr": "j <= i && i - j < 9"}})
except attnc.CompilerError as error:
    print(error)
    raise SystemExit(3)
for n in 1, 100:
    q, k, v, _ = draw(48, n)
    i, j = positions(n)
    near(attend(q, k, v), softmax(q, k, v, (j <= i) & (i - j < 9), 48 ** -0.5)[0])
print("compiled and called in %.2f s" % (time.perf_counter() - started))
'''


class Debian(Bare):
    """A Debian in a folder. `install` makes a new virtual environment in it."""

    def __init__(self, folder, wheel):
        machine = re.search(r'_(x86_64|aarch64)\.whl$', wheel).group(1)
        self.wheel, self.packages = wheel, os.path.join(folder, 'packages-of-pypi')
        super().__init__(os.path.join(folder, 'root'), ['python3-venv'], machine)
        for stale in glob.glob(os.path.join(self.packages, 'attnc-*')):   # pip would keep it
            os.remove(stale)
        old = ('manylinux_2_28', 'manylinux_2_27', 'manylinux2014', 'manylinux_2_17', 'manylinux_2_12')
        platforms = [word for name in old for word in ('--platform', '%s_%s' % (name, machine))]
        must([sys.executable, '-m', 'pip', 'download', '--quiet', '--only-binary=:all:', *platforms,
              '--python-version', PYTHON, '-d', self.packages, wheel + '[compiler]'], timeout=600)

    def clean(self):
        for name in 'venv', 'packages', '.cache':
            shutil.rmtree(os.path.join(self.root, 'root', name), ignore_errors=True)
        shutil.copytree(self.packages, os.path.join(self.root, 'root', 'packages'))
        self.of('python3', '-m', 'venv', '/root/venv')

    def install(self, more=''):
        begin = time.monotonic()
        self.of('pip', 'install', '--quiet', '--no-index', '--find-links', '/root/packages', 'attnc' + more)
        return '%.1f s' % (time.monotonic() - begin)

    def python(self, program):
        return self.of('python', '-c', REFERENCE + program)


def without_compiler(debian):
    debian.clean()
    for name in 'clang', 'gcc', 'cc', 'c++', 'tcc':
        check(debian.run('which', name).returncode == 1, 'there is a compiler: ' + name)
    megabytes = os.path.getsize(debian.wheel) / 1e6
    check(megabytes < 60, 'the wheel has %.1f MB; the limit is 60 MB' % megabytes)
    seconds = debian.install()
    size = debian.of('du', '-sm', '/root/venv/lib/python%s/site-packages/attnc' % PYTHON).split()[0]
    return 'pip install: %s; the wheel: %.1f MB; installed: %s MiB' % (seconds, megabytes, size)


def lists(debian):
    names = debian.of('attnc', 'list')
    check('softmax_causal' in names and 'gated_deltanet' in names, names)


def other_refused(debian):
    done = debian.run('python', '-c', REFERENCE + OTHER)
    check(done.returncode == 3, 'status %d\n%s%s' % (done.returncode, done.stdout, done.stderr))
    for words in '$ATTNC_CC', 'install clang or gcc', "pip install 'attnc[compiler]'":
        check(words in done.stdout, 'the error does not name %s: %s' % (words, done.stdout))
    return done.stdout.strip()


def other_compiled(debian):
    return 'pip install: %s; %s' % (debian.install('[compiler]'), debian.python(OTHER))


CASES = {
    'install without a compiler': without_compiler,
    'list': lists,
    'a kernel compiled ahead': lambda debian: debian.python(FORWARD),
    'its gradient': lambda debian: debian.python(GRADIENT),
    'its decoding': lambda debian: debian.python(DECODE),
    'scale and window of a call': lambda debian: debian.python(NUMBERS),
    'another spec without a compiler': other_refused,
    'another spec with ziglang': other_compiled,
}


def main():
    wheel, folder = map(os.path.abspath, sys.argv[1:])
    try:
        debian, failed = Debian(folder, wheel), 0
    except Failure as failure:
        sys.exit('wheel.py: cannot make a Debian: %s' % failure)
    for name, function in CASES.items():
        try:
            said = function(debian)
            print('ok %s%s' % (name, ': ' + said if said else ''), flush=True)
        except Failure as failure:
            failed += 1
            print('FAIL %s %s' % (name, failure), flush=True)
    print('%d passed, %d failed, 0 skipped' % (len(CASES) - failed, failed))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
