"""Tests modules of --emit py with compiled kernels."""
import importlib.util
import os
import re
import shlex
import subprocess
import sys

import numpy as np

from suite import ROOT, Failure, Skip, check, execute

BUILD = os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build'))


def compiled(place, spec, *options, target='generic'):
    """Compiles the kernel of a spec. Returns its Python module."""
    place.write('made.yaml', spec)
    name = re.match('name: (.*)', spec)[1]
    place.attnc('made.yaml', '--emit', 'c,h,py', '--target', target, *options)
    command = re.search(r'^COMPILE = "(.*)"$', place.read(name + '.py').decode(), re.M)[1]
    # The build folder also has the shared library, so the command names the static one.
    there = '-I%s %s' % (shlex.quote(os.path.join(ROOT, 'runtime')), shlex.quote(os.path.join(BUILD, 'libattnrt.a')))
    done = execute(['sh', '-c', command.replace('$(pkg-config --cflags --libs attnrt)', there).replace('-O2', '-O0')],
                   cwd=place.folder)
    check(done.returncode == 0 and not done.stderr, '%s\n%s' % (command, done.stderr))
    return module(place, name)


def module(place, name):
    loader = importlib.util.spec_from_file_location(name, place.path(name + '.py'))
    made = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(made)
    return made


def program(place, *lines, python=sys.executable, **options):
    """Runs a program in the folder of the modules. Returns its output."""
    place.write('program.py', '\n'.join(['import os, sys, types', 'sys.path.insert(0, ".")', *lines]))
    done = execute([python, 'program.py'], cwd=place.folder,
                   env={**place.environment, 'JAX_PLATFORMS': 'cpu', 'OMP_NUM_THREADS': '2'}, **options)
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, (done.stdout + done.stderr)[-1500:]))
    return done.stdout


def python_with(*modules):
    """Returns a Python that has these packages: the current one, or the one of tests/peers."""
    for python in sys.executable, os.path.join(ROOT, 'build-peers', 'bin', 'python'):
        if os.access(python, os.X_OK) and subprocess.run([python, '-c', 'import ' + ', '.join(modules)],
                                                         stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise Skip('no Python here has %s; tests/peers/run.py --setup makes one' % ' and '.join(modules))


def inputs(kind='f4', n=5, m=7, H=4, G=2, B=2, D=8, E=8, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(kind) for shape in ((B, H, n, D), (B, G, m, D), (B, G, m, E))]


def ran(place, arrays, *options, **parameters):
    """Returns the result of attnc run for these arrays."""
    for name, array in {**dict(zip('qkv', arrays)), **parameters}.items():
        os.makedirs(place.path('in'), exist_ok=True)
        place.array(name, array)
    place.attnc('run', 'made.yaml', '--in', 'in', '--out', 'result', '--target', 'generic', *options)
    return np.load(place.path('result', 'out.npy'))


def close(one, two, limit, why):
    one, two = np.asarray(one, np.float64), np.asarray(two, np.float64)
    check(one.shape == two.shape and np.max(np.abs(one - two), initial=0) <= limit,
          '%s: they differ by %s' % (why, np.max(np.abs(one - two), initial=0)))


def refuses(function, kind, *words):
    try:
        function()
    except Exception as error:
        check(type(error) is kind, 'raised %r, not a %s' % (error, kind.__name__))
        for word in words:
            check(str(word) in str(error), '%r does not name %r' % (error, word))
        return
    raise Failure('nothing raised; expected %s: %s' % (kind.__name__, words))


class Lent:
    """An array that has only the method __dlpack__ and its device."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.on = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.on

    def __array_namespace__(self):
        return Lender


class Lender:
    @staticmethod
    def from_dlpack(array):
        return Lent(array)
