#!/usr/bin/python3
"""Compiles graphs in place of specs: dumps of specs, whose kernels have the bits of the spec's, and graphs that no spec
can say, compared with NumPy and with the interpreter.

A graph has small rows, and lengths are no multiples of tiles."""
import os
import re
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np

import quick
from suite import Suite, check, execute

B, H, G, NQ, NK, D, E = 2, 4, 2, 41, 70, 8, 6
SOFTMAX = 'similarity: softmax\nmask: causal\n'
# name: the spec, its arrays [B, ...] over keys, and the settings that are in no graph
DUMPED = {
    'softmax': (SOFTMAX, {}, {}),
    'window': ('similarity: {softmax: {modify: "s - 0.1 * (i - j)"}}\nmask: {window: {left: 20}}\nprepare: [rope]\n', {}, {}),
    'polysketch': ('prepare: [{layernorm: {affine: true}}]\nsimilarity: {polysketch: {degree: 4, sketch: 4, seed: 3, '
                   'local: exact}}\nnormalize: {sum_plus: 1}\nmask: causal\nblock: 16\n', {}, {'block': 16}),
    'delta': ('prepare: [l2norm]\nsimilarity: {linear: {features: identity}}\nmask: causal\nnormalize: none\n'
              'decay: {log: "gate[b][h][t]"}\ndelta: {rate: "beta[b][h][t]"}\n'
              'arrays: {gate: {shape: [B, H, Nk]}, beta: {shape: [B, H, Nk]}}\n',
              {'gate': lambda x: -abs(x) / 8, 'beta': lambda x: 1 / (1 + np.exp(-x))}, {}),
    'dropout': (SOFTMAX + 'dropout: 0.2\n', {}, {}),
    'bf16': (SOFTMAX + 'dtype: bf16\n', {}, {}),
    'linear': (SOFTMAX.replace('softmax', '{polynomial: {degree: 2}}') + 'algorithm: linear\n', {}, {'algorithm': 'linear'}),
}
TWO = """# softmax(q1 k1) v - weight * softmax(q2 k2) v, with a weight for each head
graph two f32
axis b batch
axis g kv_heads
axis m members
axis i n_q
axis j n_k
axis d 8
axis e 6
%0 = input q1 [b g m i d]
%1 = input k1 [b g j d]
%2 = input q2 [b g m i d]
%3 = input k2 [b g j d]
%4 = input v [b g j e]
%5 = param weight [g m]
%6 = contract [b g m i j] %0 %1
%7 = map [b g m i j] exp(mul(%6, 0.5))
%8 = reduce sum 0 [b g m i] %7 where le(j, add(i, start(b, sub(size(j), size(i)))))
%9 = contract [b g m i e] %7 %4 where le(j, add(i, start(b, sub(size(j), size(i)))))
%10 = contract [b g m i j] %2 %3
%11 = map [b g m i j] exp(mul(%10, 0.5))
%12 = reduce sum 0 [b g m i] %11 where le(j, add(i, start(b, sub(size(j), size(i)))))
%13 = contract [b g m i e] %11 %4 where le(j, add(i, start(b, sub(size(j), size(i)))))
%14 = map [b g m i e] select(eq(%8, 0.0), 0.0, div(%9, %8))
%15 = map [b g m i e] select(eq(%12, 0.0), 0.0, div(%13, %12))
%16 = map [b g m i e] sub(%14, mul(%5[g, m], %15))
output out %16
"""

LISTED = """# softmax over the keys in a list of each query, which the heads that share keys have in common
graph listed %(dtype)s
axis b batch
axis g kv_heads
axis m members
axis i n_q
axis j n_k
axis d 8
axis e 6
axis c 5
%%0 = input q [b g m i d]
%%1 = input k [b g j d]
%%2 = input v [b g j e]
%%3 = contract [b g m i j] %%0 %%1
%%4 = map [b g m i j] exp(add(mul(%%3, 0.5), mul(0.01, sub(i, j))))
%%5 = param taken i32 [b g i c]
%%6 = reduce sum 0 [b g m i] %%4 where drawn(i, %(key)s, mul(add(mul(b, size(g)), g), size(i)), 5, in taken)
%%7 = contract [b g m i e] %%4 %%2 where drawn(i, %(key)s, mul(add(mul(b, size(g)), g), size(i)), 5, in taken)
%%8 = map [b g m i e] select(eq(%%6, 0.0), 0.0, div(%%7, %%6))
output %%8
"""
KEYS = {'keys': 'j', 'blocks': 'div(sub(j, floormod(j, 4)), 4)'}


def attnc(suite, *arguments):
    done = execute([suite.attnc, *arguments], env=suite.environment)
    check(done.returncode == 0, '%s: exit status %d: %s' % (' '.join(map(str, arguments)), done.returncode,
                                                          done.stderr.strip()[:600]))
    return done


def settings(more):
    return [word for key, value in more.items() for word in ('--set', '%s=%s' % (key, value))]


def inputs(folder, heads, more):
    os.makedirs(folder)
    random = np.random.default_rng(7)
    queries, keys = heads
    shapes = {'q': (B, queries, NQ, D), 'k': (B, keys, NK, D), 'v': (B, keys, NK, E), 'dout': (B, queries, NQ, E)}
    arrays = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    for name, (shape, made) in more.items():
        arrays[name] = made(random.standard_normal(shape))
    for name, array in arrays.items():
        np.save('%s/%s.npy' % (folder, name), array.astype('f4'))
    return {name: array.astype('f4').astype('f8') for name, array in arrays.items()}


def dumped(folder, suite, name):
    """A dump after the first pass has the spec's name, so its kernel makes the same random parameters."""
    text, arrays, more = DUMPED[name]
    spec, graph = '%s/%s.yaml' % (folder, name), '%s/dump/%s.graph' % (folder, name)
    os.makedirs(folder + '/dump')
    with open(spec, 'w') as f:
        f.write(text + 'shape: {head_dim: %d, value_dim: %d}\nemit: [forward, backward]\n' % (D, E))
    dump = attnc(suite, spec, '--dump-after', 'simplify', '-o', folder).stderr
    with open(graph, 'w') as f:
        f.write(re.match(r'(# after .*\n)(graph (?:.*\n)*?output .*\n)', dump).group(0))
    heads = (G, G) if name == 'delta' else (H, G)
    inputs(folder + '/in', heads, {a: ((B, G, NK), made) for a, made in arrays.items()} |
           ({a: ((D,), abs) for a in ('q_norm.weight', 'q_norm.bias', 'k_norm.weight', 'k_norm.bias')}
            if 'affine' in text else {}))
    where = ['--in', folder + '/in', '--seed', 5]
    attnc(suite, 'run', spec, *where, '--out', folder + '/of_spec')
    attnc(suite, 'run', graph, *where, '--out', folder + '/of_graph', '--backward', *settings(more))
    written = sorted(os.listdir(folder + '/of_spec'))
    check('dq.npy' in written and written == sorted(os.listdir(folder + '/of_graph')), 'other files: %s' % written)
    for file in written:
        a, b = (open('%s/%s/%s' % (folder, of, file), 'rb').read() for of in ('of_spec', 'of_graph'))
        check(a == b, '%s has other bits' % file)
    return '(%d arrays)' % len(written)


def of_softmax(q, k, v, dout, times):
    """Returns softmax(q k / 2) v under a causal mask, and times the gradients with respect to q, k, v."""
    logit = np.einsum('bhid,bhjd->bhij', q, k) / 2
    seen = np.arange(NK)[None, :] <= np.arange(NQ)[:, None] + NK - NQ
    weight = np.where(seen, np.exp(logit - np.where(seen, logit, -np.inf).max(-1, keepdims=True)), 0)
    weight /= weight.sum(-1, keepdims=True)
    out = weight @ v
    dweight = weight * (dout @ v.transpose(0, 1, 3, 2) - (dout * out).sum(-1, keepdims=True)) / 2
    return out, [times * x for x in (dweight @ k, dweight.transpose(0, 1, 3, 2) @ q, weight.transpose(0, 1, 3, 2) @ dout)]


def two(folder, suite, size):
    """The first queries and keys are the arguments q and k, and the others are arrays of the graph's names."""
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/two.graph', 'w') as f:
        f.write(TWO)
    x = inputs(folder + '/in', (H, G), {'q2': ((B, H, NQ, D), lambda x: size * x), 'k2': ((B, G, NK, D), lambda x: x),
                                        'weight': ((H,), lambda x: x)})
    attnc(suite, 'run', folder + '/two.graph', '--in', folder + '/in', '--out', folder + '/out', '--backward')
    heads = {name: np.repeat(x[name], H // G, 1) for name in ('k', 'k2', 'v')}
    times = x['weight'][None, :, None, None]
    one, (dq, dk, dv) = of_softmax(x['q'], heads['k'], heads['v'], x['dout'], 1)
    other, (dq2, dk2, dv2) = of_softmax(x['q2'], heads['k2'], heads['v'], x['dout'], -times)
    sums = {name: value.reshape(B, G, H // G, *value.shape[2:]).sum(2)
            for name, value in (('dk', dk), ('dk2', dk2), ('dv', dv + dv2))}
    expected = {'out': one - times * other, 'dq': dq, 'dq2': dq2, 'dweight': -(x['dout'] * other).sum((0, 2, 3)), **sums}
    for name, value in expected.items():
        got = np.load('%s/out/%s.npy' % (folder, name))
        check(got.shape == value.shape, '%s has the shape %s' % (name, got.shape))
        off = abs(got - value).max() / abs(value).max()
        check(off < 2e-5, '%s is off by %.1e of its largest element' % (name, off))


def checked(folder, suite, emit):
    with open(folder + '/two.graph', 'w') as f:
        f.write(TWO)
    done = attnc(suite, 'check', folder + '/two.graph', '--lengths', '1,7,70', '--set', 'emit=' + emit)
    check('two: ok' in done.stdout, done.stdout)


def listed(folder, suite, key, dtype):
    """Kernels copy the rows of the keys in a list next to each other."""
    graph = folder + '/listed.graph'
    with open(graph, 'w') as f:
        f.write(LISTED % {'key': KEYS[key], 'dtype': dtype})
    attnc(suite, graph, '-o', folder)
    with open(folder + '/listed.c') as f:
        check('listed_indices(' in f.read(), 'the kernel gathers no rows')
    for heads in ('1', '4/2', '40/2'):
        done = attnc(suite, 'check', graph, '--lengths', '1,7,70', '--heads', heads)
        check('listed: ok' in done.stdout, done.stdout)


def commands(folder, suite):
    """The other commands that take a spec, and those that do not take a graph."""
    graph = folder + '/two.graph'
    with open(graph, 'w') as f:
        f.write(TWO)
    check(' q2 ' in attnc(suite, 'explain', graph).stdout, 'explain names no array q2')
    check('"name":"two"' in attnc(suite, 'build', graph, '--json').stdout.replace(' ', ''), 'build names no kernel')
    attnc(suite, 'bench', graph, '--lengths', '64', '--time', '0.01', '--backward')
    for arguments, says in ((['tune', graph], 'tune takes a spec'), ([graph, '--emit', 'graph', '-o', folder], 'overwrite'),
                            ([graph, '--set', 'mask=causal'], 'a graph says what'),
                            ([graph, '--set', 'emit=[jvp]'], 'is not compiled yet')):
        done = execute([suite.attnc, *arguments], env=suite.environment)
        check(done.returncode in (1, 2) and says in done.stderr, '%s: %s' % (arguments, done.stderr))
    with open(graph) as f:
        check(f.read() == TWO, 'the graph was overwritten')


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder, ATTNC_CFLAGS='-O0')
    for name in DUMPED:
        suite.case('dumped/' + name, dumped, suite, name)
    suite.case('two_softmaxes', two, suite, 1)
    suite.case('two_softmaxes/large', two, suite, 30)
    for key in KEYS:
        for dtype in ('f32', 'f64', 'bf16'):
            suite.case('listed/%s/%s' % (key, dtype), listed, suite, key, dtype)
    suite.case('check/gradients', checked, suite, '[forward, backward]')
    suite.case('check/state', checked, suite, '[forward, decode]')
    suite.case('commands', commands, suite)
    sys.exit(suite.run())


if __name__ == '__main__':
    main()
