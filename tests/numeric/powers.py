#!/usr/bin/python3
"""Compares powers of high degree with float64: forward, gradients and decoding. Their weights overflow or underflow
f32. Rows have size 1, 10 and 0.01."""
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
from kernel import best_target
from processor import SLOWER_TOO
from stored import HALVES, rounded
from suite import Suite, check, execute

SIZES = 1, 10, 0.01
# Underflow may cause errors of this size. For other types, the size is 2^-126.
LEAST = {'f64': 2.0 ** -1022, 'f16': 2.0 ** -24}
ROUNDING = {'bf16': 2.0 ** -8, 'f16': 2.0 ** -11}
SHAPES = (1, 4, 2, 45, 150), (2, 2, 2, 3, 70)   # batch, heads, key/value heads, queries, keys


def attention(power, q, k, v, dout, single=False):
    """Returns out, dq, dk, dv and their scales. Causal attention has the weights ((s + alpha) / beta)^p divided by
    their sum + c. If `single`, sums are in float32 and powers are squares of squares, as in a kernel."""
    p, alpha, beta, c = power
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, 1) for x in (k, v))
    s = q @ k.swapaxes(2, 3)
    if single:
        s = np.zeros_like(s, np.float32)
        for d in range(q.shape[3]):
            s = (s + q[..., None, d] * k[..., None, :, d]).astype(np.float32)
    u = (s.astype(np.float64) + alpha) / beta
    n_q, n_k = u.shape[2:]
    seen = np.where(np.arange(n_k) <= np.arange(n_q)[:, None] + n_k - n_q, u, 0.0)
    w = seen ** p
    if single:
        most = np.abs(seen).max(-1, keepdims=True)
        w, power = (seen / most).astype(np.float32), 1
        while power < p:
            w, power = w * w, 2 * power
        w = w * most ** p
    w = w / (w.sum(-1, keepdims=True) + c)
    out = w @ v
    by_weight = dout @ v.swapaxes(2, 3)
    row = (dout * out).sum(-1, keepdims=True)
    out_scale = np.broadcast_to((w @ np.abs(v)).max(-1, keepdims=True), out.shape)
    size = np.abs(dout) @ np.abs(v).swapaxes(2, 3) + (np.abs(dout) * (w @ np.abs(v))).sum(-1, keepdims=True)

    def of_keys(x):
        return x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)

    def all_three(by_s, q, k, dout):
        return by_s @ k, of_keys(by_s.swapaxes(2, 3) @ q), of_keys(w.swapaxes(2, 3) @ dout)
    slope = p * w / (u * beta)
    return ((out, *all_three(slope * (by_weight - row), q, k, dout)),
            (out_scale, *all_three(np.abs(slope) * size, np.abs(q), np.abs(k), np.abs(dout))))


def expected(power, arrays, dtype, rng):
    """Returns the expected results by name, and their tolerances."""
    wanted, scale = attention(power, *arrays)
    moved = [attention(power, *(a * (1 + rng.choice([-1, 1], a.shape) * 2.0 ** -24) for a in arrays), True)[0]
             for _ in range(4)]
    unit, answer = 2.0 ** -29 if dtype == 'f64' else 1, {}
    for at, name in enumerate(('out', 'dq', 'dk', 'dv')):
        change = np.max([np.abs(m[at] - wanted[at]) for m in moved], 0)
        if name == 'out':
            change = np.broadcast_to(change.max(-1, keepdims=True), change.shape)
            most, rounding = scale[0], 2.0 ** -8 if dtype == 'bf16' else 0     # weights are rounded for products
        else:   # out is rounded before its product with dout
            most = np.abs(wanted[at]).max() + scale[at]
            rounding = {'bf16': 2.0 ** -5, 'f16': 2.0 ** -8}.get(dtype, 0)
        allowed = ((2e-6 if name == 'out' else 4e-6) * most + 4 * change) * unit + rounding * most
        answer[name] = wanted[at], allowed + (1e-13 * most if dtype == 'f64' else 0)
    return answer


def compare(what, got, wanted, allowed, dtype):
    allowed = allowed + LEAST.get(dtype, 2.0 ** -126) * 4
    if dtype in HALVES:
        allowed = allowed + 2 * ROUNDING[dtype] * np.abs(wanted)
    with np.errstate(invalid='ignore'):
        part = np.nan_to_num(np.abs(got - wanted) / allowed, nan=np.inf)
    at = np.unravel_index(np.argmax(part), part.shape)
    check(part[at] <= 1, '%s%s is %.9g, not %.9g: %.3g of what is allowed; %d of %d are off' % (
        what, list(map(int, at)), got[at], wanted[at], part[at], (part > 1).sum(), part.size))
    return part[at]


def one(folder, suite, degree, head, dtype, normalize, seed):
    alpha, beta = (0.5, 2.0) if seed % 2 else (0.0, 1.0)
    spec = {'name': 'power', 'similarity': {'polynomial': {'degree': degree, 'alpha': alpha, 'beta': beta}},
            'mask': 'causal', 'normalize': normalize, 'dtype': dtype, 'shape': {'head_dim': head},
            'algorithm': 'quadratic', 'emit': ['forward', 'backward', 'decode']}
    path = folder + '/power.yaml'
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    c, largest = 0.0 if normalize == 'sum' else normalize['sum_plus'], 0.0
    rng = np.random.default_rng(seed)
    for n, size in enumerate(SIZES):
        batch, heads, kv_heads, n_q, n_k = SHAPES[(seed + n) % 2]
        shape = {'q': (heads, n_q), 'k': (kv_heads, n_k), 'v': (kv_heads, n_k), 'dout': (heads, n_q)}
        d, x = '%s/%d' % (folder, n), {}
        os.makedirs(d + '/in')
        for name, (of, rows) in shape.items():
            x[name] = rng.standard_normal((batch, of, rows, head)).astype(np.float32) * (size if name in 'qk' else 1)
            x[name] = np.asarray(rounded(x[name], dtype) if dtype in HALVES else x[name], np.float32)
            np.save('%s/in/%s.npy' % (d, name), x[name])
        arrays = [x[name].astype(np.float64) for name in shape]

        def run(to, target, *options):
            flags = SLOWER_TOO if dtype == 'bf16' and target == 'native' else ''
            done = execute(['env', 'ATTNC_CFLAGS=-O0 ' + flags, suite.attnc, 'run', path, '--in', d + '/in', '--out',
                            d + to, '--target', target, *options])
            check(done.returncode == 0, 'size %g: exit status %d: %s' % (size, done.returncode, done.stderr[:600]))
        run('/out', 'native' if seed % 3 else 'generic')
        power = degree, alpha, beta, c
        answer = expected(power, arrays, dtype, rng)
        with np.errstate(all='ignore'):
            check(np.allclose(answer['out'][0], definitions.attend(spec, {}, *arrays[:3]), 1e-9, 0), 'the test is wrong')
        for name, (wanted, allowed) in answer.items():
            got = np.load('%s/out/%s.npy' % (d, name))
            largest = max(largest, compare('size %g: %s' % (size, name), got, wanted, allowed, dtype))
        if n_q == SHAPES[0][3]:
            last = [a[:, :, -n_q:] for a in arrays]
            for name, a in zip('qkv', last):
                np.save('%s/in/%s.npy' % (d, name), a.astype(np.float32))
            os.remove(d + '/in/dout.npy')
            run('/decoded', best_target(), '--chunks', '1,20,7')
            wanted, allowed = expected(power, last, dtype, rng)['out']
            got = np.load(d + '/decoded/out.npy')
            largest = max(largest, compare('size %g: decoded' % size, got, wanted, allowed, dtype))
    return '(largest error %.2f of what is allowed)' % largest


def told(folder, suite):
    """explain says which powers are relative to the row's maximum, and where other powers overflow. It warns if
    ordinary rows overflow."""
    path = folder + '/told.yaml'

    def explained(degree, **more):
        with open(path, 'w') as f:
            yaml.safe_dump({'name': 'told', 'similarity': {'polynomial': {'degree': degree}}, 'mask': 'causal',
                            'shape': {'head_dim': 2}} | more, f)
        done = execute([suite.attnc, 'explain', path])
        check(done.returncode == 0, done.stderr)
        return ' '.join(done.stdout.split()), done.stderr
    for degree, form, relative, above in ((64, 'quadratic', True, None), (12, 'quadratic', True, None),
                                          (8, 'quadratic', False, '65536'), (4, 'quadratic', False, None),
                                          (16, 'linear', False, '256'), (8, 'linear', False, '65536')):
        said, warned = explained(degree, algorithm=form)
        here = '%s, degree %d: %s\n%s' % (form, degree, said[:600], warned)
        check(('powers of degree %d are computed relative to the largest' % degree in said) == relative, here)
        overflows = 'a weight of degree %d overflows f32' % degree
        check((overflows in said) == bool(above) and (not above or 'its base exceeds %s' % above in said), here)
        check((overflows in warned) == (form == 'linear' and degree == 16), here)
    said, warned = explained(12, algorithm='quadratic', normalize='none')
    check('a weight of degree 12 overflows f32 in the quadratic form if its base exceeds 1.63e+03' in warned, warned)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    n = 0
    for degree in 8, 16, 32, 64:
        for head in 8, 64:
            suite.case('%d-%d-sum' % (degree, head), one, suite, degree, head, 'f32', 'sum', n)
            suite.case('%d-%d-plus' % (degree, head), one, suite, degree, head, 'f32', {'sum_plus': (1, 1e-12)[n % 2]},
                       n + 1)
            n += 3
    for degree, dtype in (16, 'bf16'), (64, 'bf16'), (32, 'f16'), (64, 'f64'):
        suite.case('%d-%s' % (degree, dtype), one, suite, degree, 16, dtype, 'sum', n)
        n += 1
    suite.case('told', told, suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
