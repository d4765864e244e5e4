#!/usr/bin/python3
"""Compares random masks and expressions with definitions.py, at odd lengths. Most masks run in the interpreters,
several in a case. Some masks run in kernels.

random_masks.py ATTNC [--seed N] [--specs N] [--kernels N]; repeat a case with --only and the same seed."""
import os
import random
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import definitions
import quick
from draw_text import mask, smooth, weight
from kernel import optimised
from suite import WHOLE, Failure, Suite, check, execute

EACH = 20


def neighbourhood(rng):
    """Draws a mask in which queries see their neighbours in an image. The image is stored row by row, and may be
    cut off."""
    width, rows = rng.choice([5, 8, 16, 24, 48]), rng.randrange(2, 12)
    near, tall = rng.randrange(1, max(2, width // 3)), rng.randrange(3)
    row, column = '%%s / %d' % width, '%%s %%%% %d' % width
    if rng.random() < 0.4:
        clamped = 'fabs(%s - fmin(fmax(%s, %d), %d)) <= %d'
        return {'expr': ' && '.join([
            clamped % (row % 'j', row % 'i', tall, max(tall, rows - 1 - tall), tall),
            clamped % (column % 'j', column % 'i', near, width - 1 - near, near)])}
    parts = ['%s - %s <= %d' % (of % a, of % b, most) for of, most in ((row, tall), (column, near)) for a, b in ('ij', 'ji')]
    if rng.random() < 0.3: parts.append('j <= i')
    return {'expr': ' && '.join(parts)}


def striped(rng):
    """Returns a periodic mask, alone or combined with other masks."""
    d, w = rng.choice([2, 3, 4, 5, 7, 8, 12]), rng.randrange(1, 12)
    period = rng.choice([5, 8, 16, 24, 48, 64])
    run = rng.randrange(1, period)
    stripe = rng.choice([
        {'window': {'left': w * d, 'right': rng.choice([0, w * d]), 'dilation': d}},
        {'expr': '(i - j) %% %d == 0' % d},
        {'expr': 'j <= i && (i - j) %% %d == %d' % (d, rng.randrange(d))},
        {'expr': 'j <= i && (i - j) %% %d < %d' % (period, run)},
        {'expr': 'i %% %d == j %% %d && fabs(i - j) < %d' % (d, d, w * d)},
        {'expr': 'j %% %d >= %d' % (period, run)},
        {'expr': 'j <= i && j / %d %% %d == %d' % (period, d, rng.randrange(d))},
        {'expr': '(j + %d) %% %d < %d && j != %d' % (rng.randrange(9), period, run, w)},
        {'expr': 'j <= i && i / %d %% %d == j / %d %% %d' % (period, d, period, d)},
        {'expr': 'h == 0 ? j %% %d == 0 : (i - j) %% %d == 0' % (d, d + 1)},
        {'expr': '(i + j) %% %d == 0 || j %% %d == 1' % (d, period)},
        {'expr': 'i %% %d == j %% %d' % (period, period)},
        {'expr': 'h %% 2 == 0 ? i - j < %d && j <= i : i %% %d == j %% %d' % (w, d, d)},
        {'expr': 'j <= i && (h >= %d || i - j < %d * (h + 1))' % (rng.randrange(4), w)},
        neighbourhood(rng),
    ])
    other = rng.choice(['causal', {'window': {'left': w, 'right': w}}, {'global': {'count': w}},
                        {'prefix': {'length': w}}, {'expr': 'i - j < %d && j <= i' % w},
                        {'expr': 'j %% %d == 2' % d}, {'not': {'expr': 'j %% %d == 0' % (d + 1)}}])
    kind = rng.randrange(6)
    if kind < 2: return stripe
    if kind == 2: return {'all': [stripe, other]}
    if kind == 3: return {'any': [stripe, other]}
    if kind == 4: return {'all': ['causal', {'any': [stripe, other]}]}
    return {'not': {'any': [stripe, other]}} if rng.random() < 0.5 else {'any': [stripe, other, striped(rng)]}


def draw_striped(rng, name):
    """Returns a spec with a periodic mask and other uses of positions, such as rope or a bias."""
    similarity = rng.choice(['softmax', 'softmax', {'softmax': {'bias': 'alibi'}},
                             {'softmax': {'modify': 's - (i - j) / 64.0'}},
                             {'custom': {'weight': '(1 + s * s) * (1 + (i - j) % 3 == 0)'}}])
    spec = {'name': name, 'similarity': similarity, 'mask': striped(rng), 'dtype': rng.choice(['f32', 'f64']),
            'shape': {'head_dim': rng.choice([2, 4, 6]), 'value_dim': rng.randrange(1, 5)}}
    if rng.random() < 0.4: spec['prepare'] = rng.choice([['rope'], ['l2norm'], [{'layernorm': {'affine': False}}]])
    if rng.random() < 0.7: spec['schedule'] = {'tile_q': rng.choice([16, 32]), 'tile_k': rng.choice([8, 16, 40])}
    sizes = rng.choice([(n, n) for n in (1, 33, 90, 131)] + [(20, 117), (117, 20), (130, 64)])
    return spec, sizes, rng.choice([(1, 1), (2, 1), (4, 2)]), 1


def draw(rng, name):
    """Returns a spec and the shapes that it is run on."""
    kind = rng.random()
    if kind < 0.35: similarity = 'softmax'
    elif kind < 0.45: similarity = {'polynomial': {'degree': 2, 'alpha': 2.0}}
    elif kind < 0.75: similarity = {'custom': {'weight': weight(rng)}}
    else: similarity = {'softmax': {'modify': smooth(rng, 3), **({'bias': 'alibi'} if rng.random() < 0.2 else {})}}
    spec = {'name': name, 'similarity': similarity,
            'mask': mask(rng, rng.randrange(4)), 'dtype': rng.choice(['f32', 'f64']),
            'shape': {'head_dim': rng.randrange(1, 5), 'value_dim': rng.randrange(1, 5)}}
    if rng.random() < 0.5: spec['schedule'] = {'tile_q': rng.choice([16, 32]), 'tile_k': rng.randrange(1, 40)}
    if rng.random() < 0.3: spec['block'] = rng.randrange(1, 40)
    if rng.random() < 0.3: spec['normalize'] = rng.choice(['none', {'sum_plus': 1}])
    sizes = rng.choice([(n, n) for n in (1, 7, 33, 61)] + [(5, 50), (50, 5), (37, 45), (70, 41)])
    return spec, sizes, rng.choice([(1, 1), (2, 1), (4, 2), (3, 3)]), rng.randrange(1, 3)


def prepare(folder, drawn, seed):
    """Writes the spec and its inputs. Returns the spec as definitions.py reads it."""
    spec, (n_q, n_k), (heads, kv_heads), batch = drawn
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/spec.yaml', 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    read = definitions.load(folder + '/spec.yaml')
    definitions.make_inputs(read, folder, heads, kv_heads, n_q, n_k, batch, seed)
    if os.path.exists(folder + '/document.npy') and seed % 2:  # shuffles the ids and makes some negative
        ids = np.load(folder + '/document.npy')
        np.save(folder + '/document.npy', np.random.default_rng(seed).permuted(ids, axis=1) - 2)
    return read


def in_order(folder):
    """Returns whether ids are sorted, as a state needs them."""
    return not os.path.exists(folder + '/document.npy') or (np.diff(np.load(folder + '/document.npy')) >= 0).all()


def answer(spec, folder, of_kernel=False):
    """Returns the expected output, the scale of its rows, and the tolerance."""
    arrays = {n: x.astype(np.float64) for n, x in definitions.read_dir(folder).items() if n in ('q', 'k', 'v')}
    q, k, v = arrays['q'], arrays['k'], arrays['v']
    P = {n: x for n, x in definitions.read_dir(folder).items() if n in ('document', 'lengths', 'blocks')}
    with np.errstate(all='ignore'):
        expected = definitions.attend(spec, P, q, k, v)
        own, values = definitions.values_apart(spec, k, v)
        scale = np.abs(definitions.attend(own, P, q, k, np.abs(values))).max(-1, keepdims=True)
        allowed = definitions.allowed_error(spec, P, q, k, v, expected) if of_kernel else None
        return expected, scale, allowed


def worst(out, expected, allowed):
    over = np.abs(out - expected) / np.maximum(allowed, 1e-300)
    return 0.0 if not over.size else float(np.where(np.isfinite(over), over, np.inf).max())


def told(spec):
    return yaml.safe_dump(spec, default_flow_style=True, sort_keys=False, width=1000).strip()


def interpreted(folder, interpret, make, seed, numbers):
    specs = [prepare('%s/%d' % (folder, n), make(random.Random(1000003 * seed + n), 'r%d' % n), n) for n in numbers]
    done = execute([interpret] + ['%s/%d' % (folder, n) for n in numbers])
    wrong, linear = [], 0
    for n, spec in zip(numbers, specs):
        here = '%s/%d' % (folder, n)
        errors = [line for line in done.stderr.split('\n') if line.startswith(here)]
        if errors or not os.path.exists(here + '/quadratic.npy'):
            wrong.append('%d: %s\n%s' % (n, '\n'.join(errors), told(spec)))
            continue
        expected, scale, _ = answer(spec, here)
        check(np.isfinite(expected).all(), 'the generator made a case whose answer is not finite: %s' % told(spec))
        for form in 'graph', 'quadratic', 'linear':
            if form == 'linear' and (not os.path.exists(here + '/linear.npy') or not in_order(here)): continue
            linear += form == 'linear'
            out = np.load('%s/%s.npy' % (here, form))
            error = worst(out, expected, 1e-9 * scale)
            if out.shape != expected.shape or not error <= 1:
                wrong.append('%d, %s: off by %.3g times 1e-9 of the row\n%s' % (n, form, error, told(spec)))
                break
    if wrong:
        raise Failure('%d of %d specs\n%s' % (len(wrong), len(specs), '\n'.join(wrong)))
    return '(%d specs, %d linear forms)' % (len(specs), linear)


def compiled(folder, suite, make, seed, n):
    drawn = make(random.Random(7000003 * seed + n), 'k%d' % n)
    spec = prepare(folder + '/in', drawn, n)
    os.rename(folder + '/in/spec.yaml', folder + '/spec.yaml')
    command = [suite.attnc, 'run', folder + '/spec.yaml', '--in', folder + '/in', '--out', folder + '/out',
               '--target', 'native', '--threads', 1 + n % 3]
    # A few kernels are compiled with the flags that users get.
    done = execute(command, env=suite.environment | ({} if optimised(n, 4) else {'ATTNC_CFLAGS': '-O0'}))
    if done.returncode == 1 and 'ascending order' in done.stderr and not in_order(folder + '/in'): return '(refused)'
    check(done.returncode == 0, 'exit status %d: %s\n%s' % (done.returncode, done.stderr.strip()[:400], told(spec)))
    expected, _, allowed = answer(spec, folder + '/in', of_kernel=True)
    check(np.isfinite(expected).all(), 'the generator made a case whose answer is not finite: %s' % told(spec))
    if spec['dtype'] == 'f64': allowed = allowed * 2.0 ** -29
    if spec['similarity'] != 'softmax': allowed = 2 * allowed  # The linear form has twice the tolerance.
    error = worst(np.load(folder + '/out/out.npy'), expected, allowed)
    check(error <= 1, 'off by %.3g times what is allowed\n%s' % (error, told(spec)))
    return '(error %.2f of what is allowed)' % error


def main():
    def more(parser):
        parser.add_argument('--interpret',
                            default=os.path.join(os.environ.get('ATTNC_BUILD', 'build'), 'tests', 'interpret'),
                            help='the program of that name')
        parser.add_argument('--seed', type=int, default=1, help='other masks (default: 1)')
        parser.add_argument('--specs', type=int, default=500 if WHOLE else 300, help='through the interpreters (default: %(default)s)')
        parser.add_argument('--kernels', type=int, default=40 if WHOLE else 28, help='compiled (default: %(default)s)')
    suite = Suite(__doc__.split('\n\n')[0], more)
    o = suite.options
    suite.environment = quick.environment(suite.folder)
    for n in range(o.kernels):
        suite.case('kernel/%d' % n, compiled, suite, draw, o.seed, n)
    for n in range(0, o.specs, EACH):
        suite.case('interpreted/%d' % n, interpreted, os.path.abspath(o.interpret), draw, o.seed,
                   range(n, min(n + EACH, o.specs)))
    for n in range(o.kernels // 4):
        suite.case('striped_kernel/%d' % n, compiled, suite, draw_striped, o.seed, n)
    for n in range(0, o.specs // 4, EACH):
        suite.case('striped/%d' % n, interpreted, os.path.abspath(o.interpret), draw_striped, o.seed,
                   range(n, min(n + EACH, o.specs // 4)))
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
