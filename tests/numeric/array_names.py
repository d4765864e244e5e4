#!/usr/bin/python3
"""Tests that an array may bear any name that its kernel has not: results, gradients, states, warnings of compilers, and
the Python package, which takes it by keyword."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import quick
from kernel import RUNTIME, done_well
from suite import ROOT, Suite, check, compiler, execute

NAMES = ('bias', 'blocks', 'lengths', 'document', 'seed', 'statistics', 'coefficients', 'lse', 'table', 'pages',
         'cu_seqlens')
# The elements that a formula reads, and the axes
KINDS = {'rows': ('{}[b][j]', ['B', 'Nk']), 'heads': ('{}[h]', ['H']), 'ids': ('0.1 * {}[b][j]', ['B', 'Nk'])}
# Specs that have an array of this name
WITH = {
    'bias': {'similarity': {'softmax': {'bias': 'dense', 'modify': 's + bias[h]'}}},
    'blocks': {'mask': {'blocks': {'block': 16}}, 'emit': ['forward']},
    'lengths': {'mask': {'all': ['causal', 'lengths']}}, 'document': {'mask': {'all': ['causal', 'document']}},
    'statistics': {'emit': ['forward', 'statistics']},
}


def spec_of(folder, name, kind):
    element, axes = KINDS[kind]
    spec = {'name': 'named', 'similarity': {'softmax': {'modify': 's + ' + element.format(name)}}, 'mask': 'causal',
            'arrays': {name: {'shape': axes, 'type': 'int' if kind == 'ids' else 'float'}}, 'shape': {'head_dim': 8},
            'emit': ['forward', 'backward', 'decode']}
    if kind != 'ids': del spec['arrays'][name]['type']
    path = os.path.join(folder, 'named.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    return path, spec


def compiles(folder, suite, name, kind):
    path, _ = spec_of(folder, name, kind)
    done_well([suite.attnc, path, '-o', folder, '--emit', 'c,h,py'], folder)
    for cc in 'gcc', 'clang':
        done_well([compiler(cc), '-O0', '-fsyntax-only', '-fopenmp', '-Wall', '-Wextra', '-Wconversion', '-Werror', '-I', RUNTIME,
                   'named.c'], folder)
    done = execute([suite.attnc, 'check', path, '--target', 'native'], env=suite.environment | {'ATTNC_CFLAGS': '-O0'}, timeout=600)
    check(done.returncode == 0, 'check: ' + done.stdout[-500:] + done.stderr)


def python(folder, suite, kind):
    """Arrays of all names give the results of an array `plain`, by keyword."""
    import attnc
    rng = np.random.default_rng(1)
    q, k, v, dout = (rng.standard_normal((2, heads, 9, 8)).astype(np.float32) for heads in (4, 2, 2, 4))
    array = rng.integers(0, 9, (2, 9)).astype(np.int32) if kind == 'ids' else rng.standard_normal(
        (4,) if kind == 'heads' else (2, 9)).astype(np.float32)
    expected = None
    for name in ('plain', *NAMES):
        _, spec = spec_of(folder, name, kind)
        call = attnc.kernel({**spec, 'emit': ['forward', 'backward', 'decode']})
        word, = (p.keyword for p in call.parameters)
        check(word.rstrip('_') == name, 'the keyword of %s is %s' % (name, word))
        out = call(q, k, v, **{word: array})
        found = [out, *call.backward(q, k, v, out, dout, **{word: array})]
        for given in {word, name} if name in ('table', 'pages') else {word}:
            if kind == 'heads':
                found.append(call.state(2, **{given: array}).extend(q, k, v))
            else:
                found.append(call.state(2).extend(q, k, v, **{word: array}))
        found = found[:len(found) if expected is None else len(expected)]
        expected = expected or found
        check(all(np.array_equal(x, y) for x, y in zip(found, expected)), name + ' has other bits')


def refused(folder, suite, name):
    """A kernel that has an array of the name refuses another one, with a remedy."""
    spec = {'similarity': {'softmax': {'modify': 's + %s[h]' % name}}, 'mask': 'causal'} | WITH[name] | {
        'name': 'named', 'arrays': {name: {'shape': ['H']}}, 'shape': {'head_dim': 8}}
    path = os.path.join(folder, 'named.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
    done = execute([suite.attnc, path, '-o', folder])
    check(done.returncode == 1 and "this kernel has another array '%s'; choose another name" % name in done.stderr, done.stderr)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder)
    os.environ |= {'ATTNC': suite.attnc, 'XDG_CACHE_HOME': suite.folder + '/cache', 'ATTNC_CFLAGS': '-O0'}
    sys.path.insert(0, os.path.join(ROOT, 'runtime', 'python'))
    for n, name in enumerate(NAMES):
        for kind in list(KINDS)[n % 2::2]: suite.case('%s/%s' % (name, kind), compiles, suite, name, kind)
    for name in WITH: suite.case('refused/' + name, refused, suite, name)
    for kind in KINDS: suite.case('python/' + kind, python, suite, kind)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
