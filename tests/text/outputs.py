#!/usr/bin/python3
"""Tests outputs of --emit other than C: the picture, the JSON description, the Python module and its calls."""
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../cli', '../numeric/lib', '../lib')]

import importlib.util

import numpy as np

import outputs_backward
import stored
from cases import AFFINE, DENSE, PACKED, POLYNOMIAL, SKETCH, SOFTMAX, Place
from python_modules import Lent, close, compiled, inputs, module, program, python_with, ran, refuses
from suite import ROOT, Skip, Suite, check, compiler, execute, header_of_runtime

SPECS = sorted(f[:-5] for f in os.listdir(os.path.join(ROOT, 'specs')) if f.endswith('.yaml'))
CASES = []


def case(function):
    CASES.append(function)
    return function


# ---------------------------------------------------------------- files

@case
def they_are_files_like_others(place):
    os.mkdir(place.path('out'))
    place.attnc('soft.yaml', '--emit', 'dot,json,py', '-o', 'out', '-MD')
    check(place.files('out') == ['soft.d', 'soft.dot', 'soft.json', 'soft.py'], 'wrote %s' % place.files('out'))
    rule = place.read('out/soft.d').decode()
    check(rule == 'out/soft.dot out/soft.json out/soft.py: soft.yaml\n', 'the depfile says ' + rule)
    for what in 'dot', 'json', 'py':
        text = place.attnc('soft.yaml', '--emit', what, '--stdout').stdout.encode()
        check(text == place.read('out/soft.' + what), '--stdout --emit %s is not the file' % what)
        check(place.folder.encode() not in text and not re.search(rb'[ \t]\n|\n\n\Z', text),
              '%s names a path, or has idle blanks' % what)
    place.write('place/soft.yaml', SOFTMAX)
    for what in 'dot', 'json', 'py':
        text = place.attnc('place/soft.yaml', '--emit', what, '--stdout').stdout.encode()
        check(text == place.read('out/soft.' + what), '%s depends on the folder' % what)


# ---------------------------------------------------------------- words and expressions

SAME = [
    ('similarity: {softmax: {cap: 30}}', 'similarity: {softmax: {modify: "30 * tanh(s / 30)"}}'),
    ('similarity: {softmax: {bias: dense}}',
     'similarity: {softmax: {modify: "s + bias[h][row][j]"}}\narrays: {bias: {shape: [H, Nq, Nk], learned: true}}'),
    ('similarity: softmax', 'similarity: {softmax: {scale: 1, modify: "s / 4"}}'),
    ('similarity: softmax', 'similarity: {custom: {weight: "exp(s / 4)"}}'),
    ('similarity: {polynomial: {degree: 4, alpha: 1, beta: 2}}',
     'similarity: {custom: {weight: "pow(s / 2 + 0.5, 4)"}}\nnormalize: {sum_plus: 1}'),
    ('similarity: {polynomial_square: {degree: 2, coefficients: [1, 0.5, 2]}}',
     'similarity: {custom: {weight: "pow((2 * s + 0.5) * s + 1.0, 2)"}}'),
    ('similarity: {polynomial_square: {degree: 1, coefficients: param}}',
     'similarity: {custom: {weight: "pow(coefficients[1] * s + coefficients[0], 2)"}}\n'
     'arrays: {coefficients: {shape: [2], learned: true, init: exponential}}'),
    ('similarity: {linear: {features: identity}}', 'similarity: {custom: {weight: "s"}}'),
    ('similarity: softmax\nnormalize: {sum_plus: 2}', 'similarity: softmax\nnormalize: {sink: "log(2)"}'),
    *[('similarity: %s\nmask: %s' % (similarity, word), 'similarity: %s\nmask: {expr: "%s"}' % (similarity, text))
      for similarity in ('softmax', '{linear: {features: relu}}')
      for word, text in [('causal', 'j <= i'), ('causal', 'i - j >= 0'), ('causal', '!(j > i)'),
                         ('{prefix: {length: 32}}', 'j < 32'), ('{window: {left: 8, right: 8}}', 'fabs(i - j) <= 8'),
                         ('{window: {left: 63}}', 'i - j >= 0 && i - j < 64'),
                         ('{any: [causal, {prefix: {length: 32}}]}', 'j <= i || j < 32'),
                         ('{all: [causal, {not: {window: {left: 63}}}]}', 'i - j >= 64'),
                         ('{not: {any: [causal, {prefix: {length: 32}}]}}', 'j > i && j >= 32')]]]


@case
def two_ways_to_say_the_same(place):
    """Words and the expressions that say the same give the same C."""
    for word, other in SAME:
        made = []
        for spec in word, other:
            place.write('same.yaml', spec + '\nshape: {head_dim: 16}\nemit: [forward, backward]\n')
            place.attnc('same.yaml', '--target', 'generic', '--quiet')
            made.append((place.read('same.c'), place.read('same.h')))
        check(made[0] == made[1], '%s is not %s' % (word, other))


# ---------------------------------------------------------------- dot, json

@case
def descriptions_of_all_specs(place):
    for name in SPECS:
        spec = os.path.join(ROOT, 'specs', name + '.yaml')
        place.attnc(spec, '--emit', 'json,dot,graph,h', '--target', 'generic')
        made = json.loads(place.read(name + '.json'))
        check(made['name'] == name and made['graph']['text'].encode() == place.read(name + '.graph'),
              name + ': another name or graph')
        header = place.read(name + '.h').decode()
        letters = {'batch': 'B', 'heads': 'H', 'kv_heads': 'G'}
        for p in made['parameters']:
            kind = {'f32': 'float', 'f64': 'double', 'i32': 'int32_t', 'u8': 'uint8_t'}[p['dtype']]
            line = 'const %s *%s; /* [%s]' % (kind, p['member'], ', '.join(
                re.sub(r'^(n_\w)/(\d+)$', r'ceil(\1 / \2)', letters.get(n, str(n))) for n in p['shape']))
            check(line in header, '%s: the header has no %s' % (name, line))
            check((p['from_seed'] is not None) == (('%s; /*' % p['member'] in header)
                                                   and 'from a seed: %s' % p['from_seed'] in header),
                  '%s: %s' % (name, p))
        members = header.split('_params {')[1].split('\n};')[0] if made['parameters'] else ''
        check(members.count('; /* [') == len(made['parameters']), name + ': other parameters than the header')
        values = made['graph']['values']
        check(made['graph']['output'] in [v['name'] for v in values]
              and len(values) == made['graph']['text'].count('\n%'), name + ': other values')
        dot = place.read(name + '.dot').decode()
        check(len(re.findall(r'^    n\d+ \[', dot, re.M)) == len(values), name + ': the picture has other values')
        edges = sum(len(set(v['operands'])) for v in values)
        check(len(re.findall(r'^    n\d+ -> n\d+;', dot, re.M)) == edges, name + ': the picture has other edges')
        explained = place.attnc('explain', spec, '--target', 'generic', '--lengths', '1k').stdout
        length = re.search(r'less work from (\d+) keys on', explained)
        check(made['algorithm']['crossover'] == (int(length[1]) if length else None),
              '%s: crossover %s' % (name, made['algorithm']['crossover']))
        for k in made['kernels']:
            block = ', in blocks of %d queries' % k['queries_together'] if k['queries_together'] != k['tile_q'] else ''
            tiles = 'tiles of %d queries and %d keys%s' % (k['tile_q'], k['tile_k'], block)
            check(tiles in explained and k['form'] in explained, '%s: explain does not say %s' % (name, tiles))
        why = re.search(r'^  no linear form: (.*)', explained, re.M)   # other lines are those of sums
        check(not why or made['algorithm']['why'] == why[1], '%s: why %s' % (name, made['algorithm']['why']))


@case
def pictures_are_drawn(place):
    if not shutil.which('dot'):
        raise Skip('dot of Graphviz is not installed')
    place.write('odd.yaml', SOFTMAX.replace('name: soft', 'name: odd\ndescription: \'a "quoted" \\ word\'').replace(
        'causal', '{expr: "j <= i && !(j % 3 == 1)"}'))
    for spec in ['odd.yaml', 'soft.yaml', *(os.path.join(ROOT, 'specs', name + '.yaml')
                                            for name in ('bigbird', 'packed_documents', 'polysketch_r32_local'))]:
        dot = place.attnc(spec, '--emit', 'dot', '--stdout').stdout
        done = subprocess.run(['dot', '-Tsvg'], input=dot, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60)
        check(done.returncode == 0 and not done.stderr, 'dot says %s' % done.stderr)
        check(done.stdout.count('class="node"') == len(re.findall(r'^    n\d+ \[', dot, re.M)) + 1,
              spec + ': nodes are lost')
        check('quoted' in done.stdout or spec != 'odd.yaml', 'the description is lost')


# ---------------------------------------------------------------- py

NAMED = """name: named
similarity: {softmax: {modify: "s + class[h] + threads[h] * threads_[h] + el[h] + self[h] * gradients + this[b][j]"}}
mask: {all: [causal, {expr: "new[b][j] != 3"}]}
arrays: {class: {shape: [H]}, threads: {shape: [H]}, threads_: {shape: [H]}, el: {shape: [H]}, self: {shape: [H]},
         gradients: {shape: []}, new: {shape: [B, Nk], type: int}, this: {shape: [B, Nk]}}
shape: {head_dim: 8}
emit: [forward, backward]
"""


@case
def arrays_may_have_any_name(place):
    """Names of arrays that are words of C++ or Python, or arguments of functions."""
    made, rng = compiled(place, NAMED), np.random.default_rng(2)
    place.write('user.cc', '#include "named.h"\nbool given(const named_params &p) { return p.class_ && p.new_ && p.self; }\n')
    done = execute([compiler('c++'), '-std=c++17', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                    '-I' + os.path.join(ROOT, 'runtime'), 'user.cc'], cwd=place.folder)
    check(done.returncode == 0, 'C++: ' + done.stderr)
    q, k, v = inputs()
    given = {name: rng.standard_normal(4).astype('f4') for name in ('class', 'threads', 'threads_', 'el', 'self')}
    given |= {'gradients': np.float32(0.5).reshape(()), 'new': rng.integers(2, 5, (2, 7)).astype('i4'),
              'this': rng.standard_normal((2, 7)).astype('f4')}
    word = {'class': 'class_', 'threads': 'threads__', 'el': 'el_', 'self': 'self_', 'gradients': 'gradients_'}
    words = {word.get(name, name): x for name, x in given.items()}
    out = made.forward(q, k, v, **words)
    close(out, ran(place, (q, k, v), **given), 0, 'forward')
    dout = rng.standard_normal(out.shape).astype('f4')
    got = made.backward(q, k, v, out, dout, **words)
    check([*got._fields] == ['dq', 'dk', 'dv', 'dclass_', 'dthreads__', 'dthreads_', 'del_', 'dself_', 'dgradients_', 'dthis'],
          'gradients are named %s' % [*got._fields])
    moved = [made.forward(q, k, v, **words | {'el_': given['el'] + x}).astype('f8') for x in (-0.01, 0.01)]
    close(got.del_.sum(), ((moved[1] - moved[0]) * dout).sum() / 0.02, 1e-2, 'the gradient of el')


@case
def python_calls_kernels(place):
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs()
    out = soft.forward(q, k, v)
    logit = np.einsum('bhid,bhjd->bhij', q.astype('f8'), k.repeat(2, 1)) / np.sqrt(8)
    weight = np.where(np.arange(7) <= np.arange(5)[:, None] + 2, np.exp(logit), 0)
    close(out, np.einsum('bhij,bhje->bhie', weight / weight.sum(-1, keepdims=True), v.repeat(2, 1)),
          1e-5, 'the definition')
    check(out.dtype == np.float32 and isinstance(out, np.ndarray), 'gives %s' % type(out))
    close(out, ran(place, (q, k, v)), 0, 'attnc run')
    alone = compiled(place, SOFTMAX.replace('soft', 'alone', 1), '--standalone')
    check('attnrt' not in alone.COMPILE, 'a standalone kernel is not to be compiled with ' + alone.COMPILE)
    close(alone.forward(q, k, v), out, 0, 'standalone')
    for threads in 1, 2, 3:
        close(soft.forward(q, k, v, threads=threads), out, 0, 'threads=%d' % threads)
    # The rows of these arrays are not adjacent: [B,N,H,D], slices, a shared batch.
    turned = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in (q, k, v)]
    close(soft.forward(*turned), out, 0, '[B,N,H,D]')
    wide = [np.zeros(a.shape[:-1] + (20,), 'f4') for a in (q, k, v)]
    for w, a in zip(wide, (q, k, v)):
        w[..., 3:11] = a
    close(soft.forward(*(w[..., 3:11] for w in wide)), out, 0, 'columns of wider rows')
    one = soft.forward(q[:1], k[:1], v[:1])
    shared = soft.forward(*(np.broadcast_to(a[:1], a.shape) for a in (q, k, v)))
    close(shared[0], one[0], 0, 'a shared batch')
    close(shared[1], one[0], 0, 'a shared batch')
    single = np.broadcast_to(q[:1, :1, :1], (2, 4, 1, 8))
    close(soft.forward(single, k, v), soft.forward(single.copy(), k, v), 0, 'one query for all')
    frozen = [a.copy() for a in (q, k, v)]
    for a in frozen:
        a.flags.writeable = False
    close(soft.forward(*frozen), out, 0, 'arrays that are read-only')
    given = np.full((2, 4, 9, 8), 7, 'f4')
    check(soft.forward(q, k, v, out=given[:, :, 2:7]).base is given, 'out= is not returned')
    close(given[:, :, 2:7], out, 0, 'out=')
    check((given[:, :, :2] == 7).all() and (given[:, :, 7:] == 7).all(), 'wrote outside out')
    check(soft.forward(q[:, :, :0], k, v).shape == (2, 4, 0, 8), 'no queries')
    close(soft.forward(q, k[:, :, :0], v[:, :, :0]), np.zeros_like(out), 0, 'no keys')
    results = [None] * 4
    big = inputs(n=200, m=200, seed=1)

    def call(number):
        results[number] = [soft.forward(*(a[:, :, :50 * number + 50] for a in big)) for _ in range(5)]
    callers = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    for number, several in enumerate(results):
        for result in several:
            close(result, soft.forward(*(a[:, :, :50 * number + 50] for a in big)), 0, 'four callers at once')


@case
def python_takes_stored_rows(place):
    made = compiled(place, SOFTMAX.replace('soft', 'kept', 1).replace('8', '32') + 'storage: {k: q8_0, v: f16}\n')
    q, k, v = inputs(D=32, E=32)
    rows = stored.packed(k, 'q8_0'), stored.packed(v, 'f16')
    plain = compiled(place, SOFTMAX.replace('8', '32'))
    close(made.forward(q, *rows), plain.forward(q, *(stored.unpacked(a, kind, 32) for a, kind in zip(rows, ('q8_0', 'f16')))),
          1e-5, 'the rounded rows')
    check('k: [B, G, n_k, 32] as rows of q8_0, each 34 bytes of uint8' in made.forward.__doc__, made.forward.__doc__)
    refuses(lambda: made.forward(q, k, rows[1]), TypeError, 'k is float32; kept takes uint8, rows of q8_0')


@case
def python_says_what_is_wrong(place):
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs()
    for arrays, kind, *words in (((q.astype('f8'), k, v), TypeError, 'q is float64', 'float32'),
                                 ((q, k.astype('i4'), v), TypeError, 'k is int32'),
                                 ((q, k, v.astype('f2')), TypeError, 'v is float16'),
                                 ((q.astype('>f4'), k, v), TypeError, 'byte order'),
                                 ((q.tolist(), k, v), TypeError, 'q is a list'),
                                 ((q, k, None), TypeError, 'v is missing'),
                                 ((q[0], k, v), ValueError, 'q has shape [4, 5, 8]', '[B, H, n_q, 8]'),
                                 ((q, k[..., :4], v), ValueError, 'k has shape [2, 2, 7, 4]', '[B, G, n_k, 8]'),
                                 ((q, k[:1], v), ValueError, 'k has shape [1, 2, 7, 8]', 'B = 2'),
                                 ((q, k, v[:, :, :6]), ValueError, 'v has shape [2, 2, 6, 8]', 'n_k = 7'),
                                 ((q, k, v[:, :1]), ValueError, 'v has shape', 'G = 2'),
                                 ((q[:, :3], k, v), ValueError, 'q has 3 heads and k has 2')):
        refuses(lambda: soft.forward(*arrays), kind, *words)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        close(soft.forward(q[:, :, ::-1], k, v), soft.forward(q[:, :, ::-1].copy(), k, v), 0, 'rows that run backwards')
    check('run backwards' in str(said[0].message), 'they are copied without a word')
    odd = np.zeros(q.nbytes + 1, 'u1')[1:].view('f4').reshape(q.shape)
    odd[:] = q
    close(soft.forward(odd, k, v), soft.forward(q, k, v), 0, 'a q that is not aligned')
    frozen = np.zeros_like(q)
    frozen.flags.writeable = False
    for out, kind, *words in ((frozen, ValueError, 'out', 'read-only'),
                              (np.zeros((2, 4, 5, 9), 'f4'), ValueError, 'out has shape [2, 4, 5, 9]'),
                              (np.zeros(q.shape), TypeError, 'out is float64'),
                              (np.lib.stride_tricks.as_strided(np.zeros((4, 5, 8), 'f4'), q.shape, (0, 160, 32, 4)),
                               ValueError, 'out', 'share')):
        refuses(lambda: soft.forward(q, k, v, out=out), kind, *words)
    refuses(lambda: soft.forward(q, k, v, threads=-1), ValueError, 'threads', '-1')
    refuses(lambda: soft.forward(q, k, v, seed=1), TypeError, 'seed')
    other = compiled(place, SOFTMAX.replace('8', '16').replace('soft', 'other', 1))
    refuses(lambda: other.forward(q, k, v), ValueError, '[B, H, n_q, 16]')
    shutil.copy(place.path('libother.so'), place.path('libelse.so'))
    refuses(lambda: soft.load(place.path('libelse.so')), OSError, 'libelse.so has no kernel soft')
    place.attnc('made.yaml', '--emit', 'py', '--set', 'shape.head_dim=8')
    refuses(lambda: module(place, 'other').load(), OSError, 'compile it again')
    os.remove(place.path('libother.so'))
    refuses(lambda: module(place, 'other').forward(q, k, v), FileNotFoundError, 'libother.so', 'cc -O2 -shared')


@case
def python_takes_parameters(place):
    sketch = compiled(place, SKETCH)
    q, k, v = inputs()
    refuses(lambda: sketch.forward(q, k, v), ValueError, 'seed=', 'sketch_g1 [8, 4]', 'sketch_g2 [8, 4]')
    out = sketch.forward(q, k, v, seed=7)
    close(out, ran(place, (q, k, v), '--seed', '7'), 0, 'attnc run --seed 7')
    for seed in range(8):
        check((sketch.forward(q, k, v, seed=seed) == out).all() == (seed == 7), 'seed %d' % seed)
    rng = np.random.default_rng(2)
    g1, g2 = (rng.standard_normal((8, 4)).astype('f4') for _ in range(2))
    close(sketch.forward(q, k, v, sketch_g1=g1, sketch_g2=g2),
          ran(place, (q, k, v), **{'sketch.g1': g1, 'sketch.g2': g2}), 0, 'given parameters')
    refuses(lambda: sketch.forward(q, k, v, sketch_g1=g1), ValueError, 'sketch_g2')
    check(not (sketch.forward(q, k, v, sketch_g1=g1, seed=7) == out).all(), 'a given parameter is not taken')
    refuses(lambda: sketch.forward(q, k, v, sketch_g1=g1.T, sketch_g2=g2), ValueError,
            'sketch_g1 has shape [4, 8]', '[8, 4]')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        copied = sketch.forward(q, k, v, sketch_g1=np.asfortranarray(g1), sketch_g2=g2)
    close(copied, sketch.forward(q, k, v, sketch_g1=g1, sketch_g2=g2), 0, 'a copied parameter')
    check('sketch_g1 has to be contiguous' in str(said[0].message), 'it is copied without a word')
    refuses(lambda: sketch.forward(q, k, v, sketch_g1=g1.astype('f8'), sketch_g2=g2), TypeError, 'sketch_g1 is float64')
    refuses(lambda: sketch.forward(q, k, v, seed=-1), ValueError, 'seed')
    refuses(lambda: sketch.forward(q, k, v, seed='one'), TypeError)
    dense = compiled(place, DENSE)
    bias = rng.standard_normal((4, 5, 7)).astype('f4')
    close(dense.forward(q, k, v, bias=bias), ran(place, (q, k, v), bias=bias), 0, 'a bias')
    refuses(lambda: dense.forward(q, k, v), ValueError, 'bias', '[H, n_q, n_k]')
    refuses(lambda: dense.forward(q, k, v, bias=bias[:2]), ValueError, 'bias has shape [2, 5, 7]', 'H = 4')
    packed = compiled(place, PACKED)
    document = np.repeat(np.array([[0, 0, 0, 1, 1, 2, 2]], 'i4'), 2, 0)
    close(packed.forward(q, k, v, document=document), ran(place, (q, k, v), document=document), 0, 'documents')
    refuses(lambda: packed.forward(q, k, v, document=document[:, ::-1].copy()), ValueError, 'ascending')
    close(packed.forward(q, k, v, document=document.astype('i8')), packed.forward(q, k, v, document=document), 0, 'int64')
    refuses(lambda: packed.forward(q, k, v, document=document.astype('i8') + 2**32), ValueError,
            'document is int64 and has an element 4294967296')
    refuses(lambda: packed.forward(q, k, v, document=document.astype('f4')), TypeError, 'document is float32', 'int32')
    seeded = compiled(place, SKETCH.replace('sketch: 4', 'sketch: 4, seed: 7').replace('name: sketch', 'name: seeded'))
    close(seeded.forward(q, k, v), out, 0, "the spec's seed")


@case
def python_takes_every_dtype(place):
    for dtype, kind, limit in ('f64', 'f8', 0), ('f16', 'f2', 0):
        made = compiled(place, POLYNOMIAL.replace('poly', dtype + '_', 1) + 'dtype: %s\n' % dtype)
        q, k, v = inputs(kind, E=4)
        out = made.forward(q, k, v)
        check(out.dtype == np.dtype(kind), '%s gives %s' % (dtype, out.dtype))
        close(out, ran(place, (q, k, v)), limit, dtype)
    made = compiled(place, POLYNOMIAL.replace('poly', 'narrow', 1) + 'dtype: bf16\n')
    bits = [(a.view('u4') >> 16).astype('u2') for a in inputs(E=4)]
    wide = [(b.astype('u4') << 16).view('f4') for b in bits]
    out = made.forward(*bits)
    check(out.dtype == np.uint16, 'bf16 gives %s' % out.dtype)
    close((out.astype('u4') << 16).view('f4'), ran(place, wide), 0, 'bf16')
    refuses(lambda: made.forward(*wide), TypeError, 'q is float32', 'bfloat16')


@case
def python_takes_dlpack(place):
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs()
    out = soft.forward(q, k, v)
    lent = soft.forward(Lent(q), Lent(k), v)
    check(isinstance(lent, Lent), 'gives %s' % type(lent))
    close(lent.array, out, 0, '__dlpack__')
    close(soft.forward(Lent(np.ascontiguousarray(q.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)), k, v).array, out, 0,
          '__dlpack__ with strides')
    into = np.zeros_like(q)
    soft.forward(Lent(q), k, v, out=Lent(into))
    close(into, out, 0, 'out= by __dlpack__')
    refuses(lambda: soft.forward(Lent(q, (2, 0)), k, v), ValueError, 'q', 'another device', '(2, 0)')
    refuses(lambda: soft.forward(Lent(q.astype('f8')), k, v), TypeError, 'q is float64')
    before = sys.getrefcount(q)
    for _ in range(20):
        soft.forward(Lent(q), k, v)
    check(sys.getrefcount(q) == before, 'the capsules are not given back')


class Capsule:
    """A DLPack 1.0 tensor of a NumPy array. If `flags` is 1, it is read-only."""

    def __init__(self, made, array, flags=0, code=2):
        self.array = array
        shape, strides = ((ctypes.c_int64 * array.ndim)(*n)
                          for n in (array.shape, (s // array.itemsize for s in array.strides)))
        self.held = made._VersionedTensor(1, 0, None, None, flags, made._Tensor(
            array.ctypes.data, 1, 0, array.ndim, code, 8 * array.itemsize, 1, shape, strides, 0))
        self.shape, self.strides = shape, strides

    def __dlpack__(self, max_version=None):
        check(max_version == (1, 0), 'asks for DLPack %s' % (max_version,))
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                ctypes.c_void_p)(('PyCapsule_New', ctypes.pythonapi))
        return new(ctypes.addressof(self.held), b'dltensor_versioned', None)

    def __dlpack_device__(self):
        return 1, 0


@case
def python_takes_dlpack_1(place):
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs()
    out = soft.forward(q, k, v)
    into = np.zeros_like(q)
    soft.forward(Capsule(soft, q, 1), Capsule(soft, k), v, out=Capsule(soft, into))
    close(into, out, 0, 'DLPack 1.0')
    refuses(lambda: soft.forward(q, k, v, out=Capsule(soft, into, 1)), ValueError, 'out is read-only')
    half = compiled(place, SOFTMAX.replace('soft', 'narrow', 1) + 'dtype: bf16\n')
    bits = [(a.view('u4') >> 16).astype('u2') for a in (q, k, v)]
    into = np.zeros_like(bits[0])
    half.forward(*(Capsule(half, a, code=4) for a in bits), out=into)
    check((into == half.forward(*bits)).all() and into.any(), 'bfloat16 by DLPack')
    if importlib.util.find_spec('ml_dtypes') is None:
        refuses(lambda: half.forward(*(Capsule(half, a, code=4) for a in bits)), TypeError, 'ml_dtypes', 'out=')


@case
def python_wants_an_out_apart(place):
    """Two slices of one array are accepted if they share no element."""
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs(H=4, G=4, m=5)
    out = soft.forward(q, k, v)
    for name, shape, slices in (('columns', (2, 4, 5, 32), lambda a, t: a[..., 8 * t:8 * t + 8]),
                                ('rows', (2, 4, 20, 8), lambda a, t: a[:, :, 5 * t:5 * t + 5]),
                                ('every fourth row', (2, 4, 20, 8), lambda a, t: a[:, :, t::4]),
                                ('heads', (2, 16, 5, 8), lambda a, t: a[:, 4 * t:4 * t + 4]),
                                ('every fourth head', (2, 16, 5, 8), lambda a, t: a[:, t::4]),
                                ('batches', (8, 4, 5, 8), lambda a, t: a[2 * t:2 * t + 2]),
                                ('[B,N,4,H,D]', (2, 5, 4, 4, 8), lambda a, t: a[:, :, t].transpose(0, 2, 1, 3)),
                                ('[B,N,H,4,D]', (2, 5, 4, 4, 8), lambda a, t: a[:, :, :, t].transpose(0, 2, 1, 3))):
        whole = np.zeros(shape, 'f4')
        views = [slices(whole, t) for t in range(4)]
        for view, array in zip(views, (q, k, v)):
            view[:] = array
        for word, view in zip('qkv', views):
            refuses(lambda: soft.forward(*views[:3], out=view), ValueError, 'out shares memory with ' + word)
        close(soft.forward(*views[:3], out=views[3]), out, 0, name)
        close(views[0], q, 0, name + ': q')
    wide = np.zeros((2, 4, 12, 20), 'f4')
    parts = wide[:, :, :5, 3:11], wide[:, :, 5:10, 3:11]
    for part, array in zip(parts, (k, v)):
        part[:] = array
    for other in wide[:, :, 7:12, 8:16], wide[:, :, 4:9, :8], wide[:, :, 5:10, 10:18]:
        before = wide.copy()
        refuses(lambda: soft.forward(q, *parts, out=other), ValueError, 'out shares memory with')
        check((wide == before).all(), 'it was written all the same')
    close(soft.forward(q, *parts, out=wide[:, :, :5, 12:]), out, 0, 'outside the rows of v')
    dense = compiled(place, DENSE)
    bias = np.zeros(2 * 4 * 5 * 8, 'f4')
    refuses(lambda: dense.forward(q, k, v, bias=bias[:100].reshape(4, 5, 5), out=bias.reshape(2, 4, 5, 8)), ValueError,
            'out shares memory with bias')


@case
def python_refuses_what_it_would_harm(place):
    """Masked arrays, read-only arrays and JAX's tracers are refused. JAX is imitated."""
    soft = compiled(place, SOFTMAX)
    q, k, v = inputs()
    for position, word in enumerate('qkv'):
        arrays = [q, k, v]
        arrays[position] = np.ma.array(arrays[position], mask=arrays[position] > 0)
        refuses(lambda: soft.forward(*arrays), TypeError, word + ' is a masked array', 'filled')
    refuses(lambda: soft.forward(q, k, v, out=np.ma.array(np.zeros_like(q))), TypeError, 'out is a masked array')
    said = program(place, 'class Array: pass', 'sys.modules["jax"] = types.SimpleNamespace(Array=Array)',
                   'import numpy as np, soft', """
q = np.ones((1, 2, 3, 8), 'f4')
class Real(Array):
    __dlpack__ = lambda self, **options: self.array.__dlpack__(**options)
    __dlpack_device__ = lambda self: (1, 0)
class Traced(Array):
    __dlpack__ = None
real = Real()
real.array = np.zeros_like(q)
for arrays in (q, q, q, real), (q, Traced(), q, None):
    try:
        soft.forward(*arrays[:3], out=arrays[3])
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
print(real.array.any(), (soft.forward(real, q, q) == 1).all())
""")
    check(re.fullmatch('ValueError out is an immutable array.*\n'
                       'TypeError k is traced by JAX.*jit.*pure_callback.*\nFalse True\n', said), said)


@case
def python_in_a_forked_process(place):
    """GNU's OpenMP hangs in a child that was forked after a call on several threads. In this child, a call on
    several threads raises an error."""
    if 'GOMP' not in execute(['sh', '-c', 'echo "void f(void); void g(void) {\n'
                              '#pragma omp parallel\nf(); }" | cc -fopenmp -x c -S -o - -']).stdout:
        raise Skip("cc has not GNU's OpenMP")
    compiled(place, SOFTMAX)
    compiled(place, POLYNOMIAL)
    said = program(place, 'import numpy as np, soft, poly', """
q = np.random.default_rng(0).standard_normal((1, 8, 200, 8)).astype('f4')
v = q[..., :4].copy()
def child(threads):
    sys.stdout.flush()
    process = os.fork()
    if process:
        return os.waitpid(process, 0)
    try:
        print((soft.forward(q, q, q, threads=1) == out).all(),
              (soft.forward(q, q, q, threads=threads) == out).all(), poly.forward(q, q, v).shape)
    except RuntimeError as error:
        print(error)
    sys.stdout.flush()
    os._exit(0)
out = soft.forward(q, q, q, threads=1)
child(2)
poly.forward(q, q, v, threads=2)
child(1)
child(2)
child(0)
""", timeout=60)
    lines = said.splitlines()
    check(len(lines) == 4 and lines[0] == 'True True (1, 8, 200, 4)', said)
    for line, name in zip(lines[1:], ('poly', 'soft', 'soft')):
        check(line.startswith(name + ': ') and 'forked' in line and 'threads=1' in line and 'spawn' in line, said)
    text = module(place, 'soft').forward.__doc__
    check('fork' in text and 'must pass 1' in text, 'the docstring says nothing of processes: ' + text)


@case
def python_takes_jax_arrays(place):
    python = python_with('jax', 'numpy')
    compiled(place, SOFTMAX)
    compiled(place, SOFTMAX.replace('soft', 'narrow', 1) + 'dtype: bf16\n')
    said = program(place, 'import jax, jax.numpy as jnp, numpy as np, soft, narrow', """
rng = np.random.default_rng(0)
q, k, v = arrays = [rng.standard_normal((1, 2, 5, 8)).astype('f4') for _ in range(3)]
right = soft.forward(q, k, v)
made = list(map(jnp.asarray, arrays))
out = soft.forward(*made)
assert isinstance(out, jax.Array) and (np.asarray(out) == right).all(), type(out)
half = [a.astype(jnp.bfloat16) for a in made]
out = narrow.forward(*half)
assert isinstance(out, jax.Array) and out.dtype == jnp.bfloat16, type(out)
bits = narrow.forward(*(np.asarray(a).view('u2') for a in half))
assert (np.asarray(out).view('u2') == bits).all()
into = np.zeros_like(np.asarray(half[0]))
assert narrow.forward(*half, out=into) is into and (into.view('u2') == bits).all()
def error(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except (TypeError, ValueError) as error:
        print(error)
error(soft.forward, *made, out=made[0])
error(jax.jit(soft.forward), *made)
error(jax.vmap(soft.forward), *(a[None] for a in made))
error(jax.grad(lambda q: soft.forward(q, *made[1:]).sum()), made[0])
call = jax.jit(lambda *a: jax.pure_callback(lambda *b: soft.forward(*map(np.asarray, b)),
                                            jax.ShapeDtypeStruct(q.shape, q.dtype), *a))
assert (np.asarray(call(*made)) == right).all()
""", python=python)
    check([line.split(' by')[0].split(' (')[0] for line in said.splitlines()] == ['out is an immutable array']
          + ['q is traced'] * 3, said)


@case
def python_takes_tensors(place):
    try:
        import torch
    except ImportError:
        raise Skip('PyTorch is not installed')
    soft = compiled(place, SOFTMAX)
    arrays = inputs()
    q, k, v = map(torch.from_numpy, arrays)
    out = soft.forward(q, k, v)
    check(isinstance(out, torch.Tensor) and out.dtype == torch.float32, 'gives %s' % type(out))
    close(out.numpy(), soft.forward(*arrays), 0, 'tensors')
    mask = torch.ones(5, 7, dtype=torch.bool).tril(2)
    logit = (q @ k.repeat_interleave(2, 1).transpose(2, 3) / 8 ** 0.5).masked_fill(~mask, float('-inf'))
    close(out.numpy(), (logit.softmax(-1) @ v.repeat_interleave(2, 1)).numpy(), 1e-5, "PyTorch's own")
    close(soft.forward(q.transpose(1, 2).contiguous().transpose(1, 2), k, v).numpy(), out.numpy(), 0,
          'a transposed tensor')
    given = torch.zeros_like(q)
    check(soft.forward(q, k, v, out=given) is given, 'out= is not returned')
    close(given.numpy(), out.numpy(), 0, 'out=')
    refuses(lambda: soft.forward(q.requires_grad_(), k, v), ValueError, 'q', 'detach')
    refuses(lambda: soft.forward(q.detach().double(), k, v), TypeError, 'q is float64')
    half = compiled(place, SOFTMAX.replace('soft', 'narrow', 1) + 'dtype: bf16\n')
    narrow = [torch.from_numpy(a).bfloat16() for a in arrays]
    out = half.forward(*narrow)
    check(out.dtype == torch.bfloat16, 'bf16 gives %s' % out.dtype)
    close(out.float().numpy(), ran(place, [a.float().numpy() for a in narrow]), 0, 'bf16')


@case
def python_needs_its_own_library_alone(place):
    compiled(place, SOFTMAX)
    program = ('import sys; sys.path.insert(0, "."); import soft; soft.load(); '
               'print([m for m in ("numpy", "torch") if m in sys.modules]); print(soft.forward.__doc__)')
    done = execute([sys.executable, '-I', '-S', '-W', 'error', '-c', program], cwd=place.folder)
    check(done.returncode == 0 and not done.stderr and done.stdout.startswith('[]\n'), done.stdout + done.stderr)
    check('q: [B, H, n_q, 8]' in done.stdout and 'v: [B, G, n_k, 8]' in done.stdout,
          'the docstring has no shapes: ' + done.stdout)
    for spec in SPECS:
        text = place.attnc(os.path.join(ROOT, 'specs', spec + '.yaml'), '--emit', 'py', '--stdout').stdout
        compile(text, spec + '.py', 'exec')


@case
def python_cannot_have_every_name(place):
    """NAME.py is refused if Python cannot import it, or if the name is one of Python's modules."""
    import keyword
    place.write('odd.yaml', '# a comment\n{similarity: softmax, name: ctypes, shape: {head_dim: 8}}\n')
    said = place.attnc('odd.yaml', '--emit', 'c,py', status=1).stderr
    check('odd.yaml:2:29: error' in said and "'name': ctypes.py would hide" in said and '--set name=' in said, said)
    check(place.files() == ['affine.yaml', 'odd.yaml', 'poly.yaml', 'soft.yaml'], 'wrote %s' % place.files())
    check('lambda.py' in place.attnc('soft.yaml', '--emit', 'py', '--set', 'name=lambda', status=1).stderr, 'a keyword')
    place.attnc('odd.yaml', '--emit', 'c,h')
    shutil.copy(place.path('odd.yaml'), place.path('json.yaml'))
    place.write('struct.yaml', SOFTMAX.replace('name: soft\n', ''))
    place.attnc('struct.yaml', '--emit', 'py', status=1)

    def refused(name):
        done = execute([place.suite.attnc, 'soft.yaml', '--emit', 'py', '--set', 'name=' + name], cwd=place.folder)
        return done.returncode == 1 and name in done.stderr
    words = set(keyword.kwlist) | {n for n in getattr(sys, 'stdlib_module_names', ()) if n[0] != '_'} | {
        '_thread', 'numpy', 'torch', 'jax'}
    check(not [w for w in sorted(words) if not refused(w)],
          'not refused: %s' % [w for w in sorted(words) if not refused(w)])
    imported = re.findall(r'^ *(?:import|from) (\w+)', place.attnc('soft.yaml', '--emit', 'py', '--stdout').stdout,
                          flags=re.M)
    check(len(imported) > 7 and all(map(refused, imported)), 'imports %s' % imported)
    compiled(place, SOFTMAX.replace('soft', 'print', 1)) # A spec may have the name of a Python function.
    check('(1, 2, 3, 8)' in program(place, 'import print as attention, numpy as np', 'q = np.ones((1, 2, 3, 8), "f4")',
                                    'print(attention.forward(q, q, q).shape)'), 'print')


@case
def python_knows_the_runtime(place):
    place.attnc('soft.yaml', '--emit', 'py')
    made = module(place, 'soft')
    header = header_of_runtime()
    codes = {int(n) for n in re.findall(r'ATTN_E\w+ = (-\d+)', header)}
    check(codes and codes == set(made._ERRORS), 'enum attn_error is %s' % sorted(codes))
    names = re.search(r'enum attn_dtype \{(.*?)\}', header, re.S)[1].replace('ATTN_', '').lower().split(',')
    check(tuple(n.strip() for n in names) == made._DTYPES, 'enum attn_dtype is %s' % names)
    program = ['#include <attnrt.h>', '#include <stddef.h>', '#include <stdio.h>', 'int main(void) {']
    wanted = []
    for structure, kind in (('attn_problem', made._Problem), ('attn_kernel', made._Kernel), ('attn_param', made._Param),
                            ('attn_strides', made._Strides)):
        program.append('printf("%%zu\\n", sizeof(struct %s));' % structure)
        wanted.append(ctypes.sizeof(kind))
        for name, _ in kind._fields_:
            program.append('printf("%%zu\\n", offsetof(struct %s, %s));' % (structure, name))
            wanted.append(getattr(kind, name).offset)
    place.write('layout.c', '\n'.join(program + ['return 0;}']))
    check(execute(['cc', '-I', os.path.join(ROOT, 'runtime'), 'layout.c', '-o', 'layout'],
                  cwd=place.folder).returncode == 0, 'layout.c does not compile')
    found = [int(n) for n in execute([place.path('layout')]).stdout.split()]
    check(found == wanted, 'structs are laid out as %s, not %s' % (found, wanted))


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL, affine=AFFINE))


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    for function in CASES + outputs_backward.CASES:
        suite.case(function.__name__, run, suite, function)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
