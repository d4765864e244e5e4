#!/usr/bin/python3
"""A kernel drops exactly the weights that definitions.py drops.

The values are a unit matrix, so the output is the matrix of weights. It has an exact 0 only for dropped and masked
weights."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
import quick
from processor import MACHINE, missing_flags, targets_of
from suite import Skip, Suite, check, execute

MASKS = {
    'none': 'none', 'causal': 'causal', 'window': {'window': {'left': 40, 'right': 7}},
    'dilated': {'window': {'left': 20, 'right': 5, 'dilation': 3}},
    'blocks': {'block_window': {'block': 16, 'left': 1, 'right': 1}}, 'prefix': {'prefix': {'length': 21}},
    'global': {'any': [{'window': {'left': 9}}, {'global': {'count': 3}}]},
    'random': {'random': {'block': 8, 'count': 3}}, 'document': {'all': ['causal', 'document']},
    'congruent': {'expr': 'i % 16 == j % 16'}, 'heads': {'expr': '(i + h) % 3 != j % 2'}}
SEEDS = [None, 1, 2 ** 32, 2 ** 64 - 1]
# Each shape is (batch, heads, kv_heads, n_q, n_k).
SHAPES = [(2, 4, 2, 129, 129), (1, 3, 1, 70, 33), (2, 2, 2, 33, 129), (1, 6, 2, 5, 70), (3, 2, 1, 1, 15), (1, 1, 1, 1, 1)]


def case(folder, suite, spec, target, seed):
    if missing_flags(target): raise Skip('this processor lacks ' + missing_flags(target))
    for number, (batch, heads, kv_heads, n_q, n_k) in enumerate(SHAPES):
        spec['shape'] = {'head_dim': 4, 'value_dim': n_k}
        path, d = os.path.join(folder, 'k%d.yaml' % n_k), '%s/%d' % (folder, number)
        with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
        definitions.make_inputs(spec, d, heads, kv_heads, n_q, n_k, batch, number)
        np.save(d + '/v.npy', np.broadcast_to(np.eye(n_k, dtype=np.float32), (batch, kv_heads, n_k, n_k)))
        line = [suite.attnc, 'run', path, '--in', d, '--out', d + '/out', '--target', target, '--threads', 1 + number % 3]
        done = execute(line + (['--seed', seed] if seed is not None else []), env=suite.environment)
        check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:600]))
        out, P = np.load(d + '/out/out.npy'), definitions.read_dir(d)
        for b in range(batch):
            for h in range(heads):
                i, j = np.arange(n_q)[:, None] + (n_k - n_q), np.arange(n_k)[None, :]
                seen = definitions.mask(spec['mask'], n_q, n_k, P, h, b)
                dropped = definitions.dropped(spec['seed'] if seed is None else seed, spec['dropout'], b, h, i, j)
                wrong = (out[b, h] != 0) != (seen & ~dropped)
                check(not wrong.any(), '%d of %d weights at B%d H%d G%d nq%d nk%d, such as %s' % (
                    wrong.sum(), wrong.size, batch, heads, kv_heads, n_q, n_k, [b, h, *map(int, np.argwhere(wrong)[0])]
                    if wrong.any() else ''))
    return ''


def philox(folder):
    """Compares Philox with two known answers of Random123: for zeros, and for ones."""
    zeros = [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    ones = [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
    for word in range(4):
        for seed, counter, wanted in (0, 0, zeros), (2 ** 64 - 1, 2 ** 32 - 1, ones):
            at = (counter, counter, np.int64(counter), np.int64(4 * counter + word))
            below = [definitions.dropped(seed, (wanted[word] + more) / 2 ** 32, *at) for more in (0, 1)]
            check(list(map(bool, below)) == [False, True], 'word %d with the seed %d' % (word, seed))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder, ATTNC_CFLAGS='-O0')
    targets, dtypes = targets_of(MACHINE, 'any'), ('f32', 'f64', 'f16', 'bf16')
    suite.case('philox', philox)
    for n, (name, mask) in enumerate(MASKS.items()):
        spec = {'name': 'dropped', 'similarity': 'softmax', 'mask': mask, 'dtype': dtypes[n % 4], 'dropout': 0.1 + n / 15,
                'seed': 12345 + n, 'shape': {}}
        suite.case('%s-%s' % (name, dtypes[n % 4]), case, suite, spec, targets[n % len(targets)], SEEDS[n % 4])
    for n, target in enumerate(targets):
        for dtype in dtypes[n % 2::2]:
            spec = {'name': 'dropped', 'similarity': 'softmax', 'mask': 'causal', 'dtype': dtype, 'dropout': 0.5,
                    'seed': 7, 'shape': {}}
            suite.case('%s-%s' % (target, dtype), case, suite, spec, target, SEEDS[(n + 1) % 4])
    # Dropout rules out the linear form, so features are not used.
    features = {'custom': {'weight': '(1 + s) * (1 + s) * exp(j * 0.01)'}}
    suite.case('features', case, suite, {'name': 'dropped', 'similarity': features, 'mask': 'causal', 'dtype': 'f32',
                                         'dropout': 0.3, 'seed': 9, 'shape': {}}, targets[0], SEEDS[0])
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
