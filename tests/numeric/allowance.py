#!/usr/bin/python3
"""Tests the tolerance of `attnc check`. Rounding errors pass, even if terms cancel or results underflow. An error
that is a little larger than rounding is found."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

import yaml

import quick
from suite import WHOLE, Suite, check, execute

BASE = {'mask': 'causal', 'emit': ['forward', 'backward']}
SPECS = {
    # weights of both signs, with a sum near 0
    'cubes': BASE | {'similarity': {'custom': {'weight': 's * s * s'}}, 'normalize': 'sum', 'algorithm': 'quadratic',
                     'shape': {'head_dim': 64}},
    'signed': BASE | {'similarity': {'custom': {'weight': 'tanh(s)'}}, 'normalize': {'sum_plus': 0.01},
                      'shape': {'head_dim': 64}},
    # The results are 1e-50 or less.
    'tiny_plus': BASE | {'similarity': {'polynomial': {'degree': 64, 'beta': 30}}, 'shape': {'head_dim': 8}},
    'tiny': BASE | {'similarity': {'custom': {'weight': 'exp(-s * s - 160)'}}, 'normalize': 'none',
                    'shape': {'head_dim': 4}},
    # Keys of weight 0 have the largest exponents of some rows.
    'zeros': BASE | {'similarity': {'linear': {'features': 'relu', 'modify': 's * exp(a[h][j] * 30)'}},
                     'arrays': {'a': {'shape': ['H', 'Nk']}}, 'shape': {'head_dim': 4}},
    # a vector of one element always has the same direction
    'one_element': BASE | {'prepare': ['l2norm'], 'similarity': 'softmax', 'shape': {'head_dim': 1}},
    'one_element_power': BASE | {'prepare': ['l2norm'], 'similarity': {'polynomial': {'degree': 2}},
                                 'normalize': 'sum', 'shape': {'head_dim': 1, 'value_dim': 4}}}
# Scripts that put errors into the emitted C: 3e-5 of the scale of logits, or 1e-4 of a term.
FAULTS = {'one_element': 's/1\\.442695[0-9]*/1.442735/g',
          'softmax': 's/0.7213475[0-9]*/0.721365/g',
          'signed': 's/ 0\\.01f/ 0.010001f/g'}


def checked(folder, suite, name, seed, fault):
    spec = SPECS.get(name) or BASE | {'similarity': 'softmax', 'shape': {'head_dim': 4}}
    path = folder + '/allowance.yaml'
    # the seeds of a spec have one kernel, so it is compiled once
    environment = dict(suite.environment, XDG_CACHE_HOME=(folder if fault else suite.folder) + '/cache',
                       ATTNC_CFLAGS='-O2' if WHOLE or name == 'signed' else '-O0')
    with open(path, 'w') as f:
        yaml.safe_dump({'name': 'allowance'} | spec, f, sort_keys=False)
    if fault:
        with open(folder + '/spoiling-cc', 'w') as f:
            f.write('#!/bin/sh\nfor word; do case $word in *.c) cp "$word" "%s"; sed -i "%s" "$word"; ! cmp -s "$word" '
                    '"%s" || exit 1 ;; esac; done\nexec quick-cc "$@" -O0\n' % (folder + '/kept', fault, folder + '/kept'))
        os.chmod(folder + '/spoiling-cc', 0o755)
        environment |= {'ATTNC_CC': 'spoiling-cc', 'PATH': folder + os.pathsep + environment['PATH']}
    done = execute([suite.attnc, 'check', path, '--seed', seed, '--target', 'native'], env=environment, timeout=900)
    check(done.returncode == (1 if fault else 0), 'exit status %d: %s%s' % (done.returncode, done.stdout[-600:],
                                                                           done.stderr))
    wrong = [line for line in done.stdout.splitlines() if 'WRONG' in line]
    check(len(wrong) > 0 if fault else not wrong, '\n'.join(wrong))
    check(all('kernel' in line for line in wrong), 'a pass is wrong: %s' % wrong)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder)
    for name in SPECS:
        for seed in (1, 2, 3) if WHOLE else (1, 2):
            suite.case('%s-%d' % (name, seed), checked, suite, name, seed, None)
    for name, fault in FAULTS.items():
        suite.case('fault-' + name, checked, suite, name, 1, fault)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
