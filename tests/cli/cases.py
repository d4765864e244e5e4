"""Helpers of the command line's suites: a folder with specs and arrays, and calls of attnc."""
import glob
import os
import re

import numpy as np

from suite import ROOT, check, execute

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'expected')
SOFTMAX = 'name: soft\nsimilarity: softmax\nmask: causal\nshape: {head_dim: 8}\n'
POLYNOMIAL = 'name: poly\nsimilarity: {polynomial: {degree: 4}}\nshape: {head_dim: 8, value_dim: 4}\n'
AFFINE = 'name: affine\nprepare: [{layernorm: {affine: true}}]\nsimilarity: softmax\nshape: {head_dim: 8}\n'
DENSE = 'name: dense\nsimilarity: {softmax: {bias: dense}}\nshape: {head_dim: 8}\n'
DOCUMENTS = 'name: documents\nsimilarity: softmax\nmask: document\nshape: {head_dim: 8}\n'
LENGTHS = 'name: padded\nsimilarity: softmax\nmask: lengths\nshape: {head_dim: 8}\n'
LISTS = 'name: lists\nsimilarity: softmax\nmask: {blocks: {block: 2, count: 2}}\nshape: {head_dim: 8}\n'
PACKED = ('name: packed\nsimilarity: {linear: {features: relu}}\nmask: {all: [causal, document]}\nalgorithm: linear\n'
          'shape: {head_dim: 8}\n')
SKETCH = 'name: sketch\nsimilarity: {polysketch: {degree: 4, sketch: 4}}\nmask: causal\nshape: {head_dim: 8}\n'
WRONG = 'name: wrong\nsimilarity: sofmax\nshape: {head_dim: 8}\n'


class Place:
    """A folder in which a case runs attnc, with its own compiler, colour and cache."""

    def __init__(self, suite, folder, **files):
        self.suite, self.folder = suite, folder
        self.environment = {k: v for k, v in os.environ.items()
                            if k not in ('ATTNC_CC', 'CC', 'NO_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'COLUMNS')}
        self.environment |= {'XDG_CACHE_HOME': os.path.join(suite.folder, 'cache'), 'LC_ALL': 'C', 'TERM': 'xterm',
                             **getattr(suite, 'compiler', {})}   # The suite may have its own compiler.
        for name, text in files.items():
            self.write(name + '.yaml', text)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'wb') as f:
            f.write(text.encode() if isinstance(text, str) else text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def arrays(self, folder='in', H=2, G=2, n=5, D=8, E=8, **others):
        rng = np.random.default_rng(0)
        os.makedirs(self.path(folder), exist_ok=True)
        for name, shape in {'q': (1, H, n, D), 'k': (1, G, n, D), 'v': (1, G, n, E)}.items():
            np.save(self.path(folder, name + '.npy'), rng.standard_normal(shape).astype(np.float32))
        for name, array in others.items():
            self.array(name, array, folder)

    def array(self, name, array, folder='in'):
        np.save(self.path(folder, name + '.npy'), array)

    def files(self, folder='.'):
        """Returns all files in a folder, including hidden ones."""
        top = self.path(folder)
        return sorted(os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names)

    def attnc(self, *words, status=0, env=None, cwd=None, **options):
        environment = {k: v for k, v in {**self.environment, **(env or {})}.items() if v is not None}
        done = execute([self.suite.attnc, *words], cwd=cwd or self.folder, env=environment, **options)
        wanted = status if isinstance(status, tuple) else (status,)
        check(done.returncode in wanted, 'exit status %d, not %s: attnc %s\n%s' % (
            done.returncode, ' or '.join(map(str, wanted)), ' '.join(map(str, words)),
            (done.stderr or '').strip()[:600]))
        if done.returncode == 0 and done.stderr is not None:
            check(not re.search(r'\berror\b', done.stderr), 'status 0 with an error: ' + done.stderr)
        elif done.stderr is not None:
            check(done.stderr.strip(), 'exit status %d without a message' % done.returncode)
        return done


def temporary_files(*folders):
    """Returns files that an interrupted write may have left."""
    return [f for folder in folders
            for f in glob.glob(folder + '/**', recursive=True) + glob.glob(folder + '/**/.*', recursive=True)
            if os.path.isfile(f) and not re.search(r'\.(c|h|d|npy|yaml|so|graph|loops)$', f)]


def says(suite, place, name, words, done, needles=()):
    """Compares the command, its messages and status with expected/NAME.txt. The messages must contain `needles`."""
    text = done.stderr.replace(place.folder, 'DIR').replace(suite.attnc, 'attnc').replace(ROOT, 'ROOT')
    for needle in needles:
        check(re.search(needle, text), 'the message does not match %r: %s' % (needle, text.strip()))
    check('\x1b' not in text, 'colours in a file')
    text = '$ attnc %s\n%s' % (' '.join(str(w).replace(place.folder, 'DIR') for w in words), text)
    text += ('' if text.endswith('\n') else '\\ no newline at the end\n') + 'exit status %d\n' % done.returncode
    path = os.path.join(EXPECTED, name + '.txt')
    if suite.options.update:
        os.makedirs(EXPECTED, exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        return
    check(os.path.exists(path), 'there is no %s; --update writes it:\n%s' % (os.path.relpath(path, ROOT), text))
    with open(path) as f:
        wanted = f.read()
    check(text == wanted, 'other words than in %s:\n%s' % (os.path.relpath(path, ROOT), '\n'.join(
        ['-' + line for line in wanted.splitlines()] + ['+' + line for line in text.splitlines()])))
