#!/usr/bin/python3
"""Tests the C of gradients in users' builds: standalone, without OpenMP, from C++, under ThreadSanitizer.

Every build must have no warnings. Gradients are compared with gradient_definitions.py, which needs autograd."""
import os
import shutil
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np

import backward
from autograd_venv import autograd
from kernel import RUNTIME, Objects, runtime_sources
from suite import Skip, Suite, check, compiler, execute

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
SHAPE = 2, 4, 2, 97, 135   # batch, heads, key/value heads, queries, keys
SPECS = {
    'softmax': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 40, 'right': 3}}},
    'polynomial': {'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear'}}


def quiet(line, folder):
    done = execute(line, cwd=folder, timeout=600)
    check(done.returncode == 0 and not done.stderr.strip(), '%s\n%s' % (' '.join(line), done.stderr[-3000:]))


def emitted(folder, suite, name, *options):
    path, spec = backward.write_spec(folder, {'name': name, 'emit': ['forward', 'backward'],
                                              'shape': {'head_dim': 12, 'value_dim': 20}} | SPECS[name])
    quiet([suite.attnc, path, '-o', folder, *options], folder)
    about = ['-DHEADER="%s.h"' % name, '-DNAME=%s' % name, '-DD=12', '-DE=20', '-I', folder, '-I', RUNTIME]
    return spec, about


def right(folder, suite, spec, program):
    """Compares the program's gradients, on one thread and on three."""
    P = backward.inputs(folder + '/in', spec, SHAPE, 4)
    with open(folder + '/given', 'wb') as f:
        f.write(b''.join(P[name].astype('f4').tobytes() for name in ('q', 'k', 'v', 'dout')))
    said = []
    for threads in 1, 3:
        done = execute([program, *SHAPE, threads, folder + '/given', folder + '/made'], timeout=300)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr))
        said.append(np.fromfile(folder + '/made', 'f4'))
    check((said[0] == said[1]).all(), 'other bits on three threads')
    numbers, made = said[0].astype('f8'), {}
    for name in ('q', 'k', 'v'):
        made['d' + name], numbers = numbers[:P[name].size].reshape(P[name].shape), numbers[P[name].size:]
    check(numbers.size == 0, '%d numbers too many' % numbers.size)
    return '(largest error %.2f of what is allowed)' % backward.judge(spec, P, made)


def standalone(folder, suite, name, cc, flags):
    if suite.without: raise Skip(suite.without)
    spec, about = emitted(folder, suite, name, '--standalone', '--target', 'generic')
    source = os.path.join(folder, name + '.c')
    quiet([compiler(cc), '-O2', *WARNINGS, *flags, *about[:-2], source, os.path.join(HERE, 'backward_main.c'),
           '-o', 'program', '-lm'], folder)
    return right(folder, suite, spec, folder + '/program')


def cplusplus(folder, suite, name):
    """C++ that includes NAME.h links with the kernel and the runtime."""
    if suite.without: raise Skip(suite.without)
    spec, about = emitted(folder, suite, name, '--target', 'generic')
    quiet([compiler('gcc'), '-O1', *WARNINGS, '-fopenmp', *about[-4:], '-c', name + '.c', *runtime_sources()], folder)
    shutil.copy(os.path.join(HERE, 'backward_main.c'), os.path.join(folder, 'main.cpp'))
    objects = sorted(f for f in os.listdir(folder) if f.endswith('.o'))
    quiet([compiler('c++'), '-std=c++17', '-O1', *WARNINGS, '-fopenmp', *about,
           'main.cpp', *objects, '-o', 'program', '-lm'], folder)
    return right(folder, suite, spec, folder + '/program')


def threads(folder, suite, name):
    """Gradients have no data races. With OpenMP, ThreadSanitizer needs the library Archer to know about barriers."""
    where = execute([compiler('clang'), '-print-file-name=libarcher.so']).stdout.strip()
    if not os.path.exists(where):
        raise Skip('there is no libarcher.so for ' + compiler('clang'))
    emitted(folder, suite, name, '--target', 'generic')
    line = [compiler('clang'), '-O1', '-g1', '-fopenmp', '-fsanitize=thread']
    quiet([*line, '-I', RUNTIME, '-I', folder, name + '.c', '-o', 'driver',
           *backward.driver(suite, 'threads', line, name)], folder)
    environment = dict(os.environ, TSAN_OPTIONS='ignore_noninstrumented_modules=1', OMP_TOOL_LIBRARIES=where,
                       LD_LIBRARY_PATH=os.path.dirname(os.path.realpath(where)))
    before = []
    for _ in range(2):
        done = execute([*before, './driver'], cwd=folder, env=environment, timeout=600, signals=True)
        if 'unexpected memory mapping' not in done.stderr:
            break
        before = ['setarch', '-R']   # turns off Linux's random addresses, which the sanitizer may not support
    check(done.returncode == 0 and not done.stderr.strip(),
          'exit status %d\n%s%s' % (done.returncode, done.stdout[-500:], done.stderr[:3000]))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.objects = Objects(suite.folder)
    suite.without = autograd() if not suite.options.list else ''
    builds = ('gcc', []), ('clang', ['-fopenmp']), ('clang', []), ('gcc', ['-fopenmp'])
    for n, name in enumerate(SPECS):
        for cc, flags in builds[2 * n:2 * n + 2]:
            suite.case('standalone/%s-%s%s' % (name, cc, '-openmp' if flags else ''), standalone, suite, name, cc, flags)
        suite.case('c++/' + name, cplusplus, suite, name)
        suite.case('threads/' + name, threads, suite, name)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
