"""Tests the gradients in the Python module and in the JSON description that --emit writes."""
import json
import re
import threading

import numpy as np

from cases import AFFINE, POLYNOMIAL, SKETCH, SOFTMAX
from python_modules import Lent, close, compiled, inputs, program, refuses
from suite import Skip, check

BACKWARD = 'emit: [forward, backward]\n'
NAMES = 'dq', 'dk', 'dv'
CASES = []


def case(function):
    CASES.append(function)
    return function


def gradients_of_softmax(q, k, v, dout):
    """Returns gradients of causal softmax attention in float64. The last query is at the last key."""
    q, k, v, dout = (a.astype('f8') for a in (q, k, v, dout))
    n, m, group, scale = q.shape[2], k.shape[2], q.shape[1] // k.shape[1], 1 / np.sqrt(q.shape[3])
    keys, values = k.repeat(group, 1), v.repeat(group, 1)
    logit = np.einsum('bhid,bhjd->bhij', q, keys) * scale
    weight = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, np.exp(logit), 0)
    weight /= weight.sum(-1, keepdims=True)
    by_weight = np.einsum('bhie,bhje->bhij', dout, values)
    by_logit = weight * (by_weight - (weight * by_weight).sum(-1, keepdims=True)) * scale
    together = lambda a: a.reshape(a.shape[0], k.shape[1], group, *a.shape[2:]).sum(2)
    return (np.einsum('bhij,bhjd->bhid', by_logit, keys), together(np.einsum('bhij,bhid->bhjd', by_logit, q)),
            together(np.einsum('bhij,bhie->bhje', weight, dout)))


def made_of(made, q, k, v, dout, **options):
    """Calls forward and backward. Returns the gradients."""
    saved = made.Saved()
    return made.backward(q, k, v, made.forward(q, k, v, saved=saved), dout, saved=saved, **options)


def same(one, two, why):
    for name, a, b in zip(NAMES, one, two):
        close(a, b, 0, '%s: %s' % (why, name))


@case
def python_differentiates(place):
    soft = compiled(place, SOFTMAX + BACKWARD)
    q, k, v = inputs()
    dout = np.random.default_rng(9).standard_normal(q.shape).astype('f4')
    saved = soft.Saved()
    out = soft.forward(q, k, v, saved=saved)
    many = [np.concatenate([a] * 20, 2) for a in (q, k, v)]
    close(soft.forward(*many, saved=soft.Saved()), soft.forward(*many), 0, 'what is saved changes nothing')
    close(out, soft.forward(q, k, v), 1e-6, 'nor where few queries have a form that saves nothing')
    first = soft.backward(q, k, v, out, dout, saved=saved)
    for name, got, wanted in zip(NAMES, first, gradients_of_softmax(q, k, v, dout)):
        close(got, wanted, 1e-5, name)
        check(got is getattr(first, name) and got.dtype == np.float32 and isinstance(got, np.ndarray), name)
    same(soft.backward(q, k, v, out, dout), first, 'without what forward saved')
    for threads in 1, 2, 3:
        same(soft.backward(q, k, v, out, dout, saved=saved, threads=threads), first, 'threads=%d' % threads)
    for wanted in 'dk', ('dq', 'dv'), []:
        some = soft.backward(q, k, v, out, dout, saved=saved, wanted=wanted)
        for name, a, b in zip(NAMES, some, first):
            check((a is None) == (name not in wanted), 'wanted=%r gives %s' % (wanted, name))
            close(b if a is None else a, b, 0, 'wanted=%r: %s' % (wanted, name))
    # A Saved() that was used before can be used again for other sizes.
    small = [a[:1, :, :3] for a in (q, k, v, dout)]
    again = soft.Saved()
    soft.forward(q, k, v, saved=again)
    small_out = soft.forward(*small[:3], saved=again)
    same(soft.backward(*small[:3], small_out, small[3], saved=again), made_of(soft, *small), 'a Saved once more')
    # The rows of each array are not adjacent.
    turned = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in (q, k, v, out, dout)]
    same(soft.backward(*turned, saved=saved), first, '[B,N,H,D]')
    shared = np.broadcast_to(dout[:1], dout.shape)
    same(soft.backward(q, k, v, out, shared), soft.backward(q, k, v, out, shared.copy()), 'a shared batch')
    wide = {name: np.full((*a.shape[:2], a.shape[2] + 4, 20), 7, 'f4') for name, a in zip(NAMES, (q, k, v))}
    parts = {name: w[:, :, 2:-2, 3:11] for name, w in wide.items()}
    given = soft.backward(q, k, v, out, dout, saved=saved, **parts)
    check(all(getattr(given, name) is parts[name] for name in NAMES), 'dq=, dk=, dv= are not returned')
    same(given, first, 'dq=, dk=, dv=')
    for name, w in wide.items():
        parts[name][:] = 7
        check((w == 7).all(), 'wrote outside ' + name)
    for array in soft.backward(q[:, :, :0], k, v, out[:, :, :0], dout[:, :, :0])[1:]:
        close(array, np.zeros_like(k), 0, 'no queries')
    nothing = soft.backward(q, k[:, :, :0], v[:, :, :0], out * 0, dout)
    close(nothing.dq, np.zeros_like(q), 0, 'no keys')
    check(nothing.dk.shape == (2, 2, 0, 8), 'no keys: dk')
    lent = soft.backward(Lent(q), k, Lent(v), out, Lent(dout), saved=saved)
    check(isinstance(lent.dq, Lent) and isinstance(lent.dk, np.ndarray) and isinstance(lent.dv, Lent), 'gives %s' % (
        [type(a).__name__ for a in lent]))
    same((lent.dq.array, lent.dk, lent.dv.array), first, '__dlpack__')
    results = [None] * 4

    def call(number):
        results[number] = [made_of(soft, *(a[:, :, :number + 2] for a in (q, k, v, dout))) for _ in range(5)]
    callers = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    for number, several in enumerate(results):
        for result in several:
            same(result, made_of(soft, *(a[:, :, :number + 2] for a in (q, k, v, dout))), 'four callers at once')


@case
def python_differentiates_every_dtype(place):
    q, k, v = inputs('f8', E=4)
    dout = np.random.default_rng(9).standard_normal((2, 4, 5, 4))
    wide = compiled(place, SOFTMAX.replace('soft', 'wide', 1).replace('8', '8, value_dim: 4') + BACKWARD
                      + 'dtype: f64\n', '--standalone')
    wanted = gradients_of_softmax(q, k, v, dout)
    for name, got, right in zip(NAMES, made_of(wide, q, k, v, dout), wanted):
        close(got, right, 1e-13, 'f64: ' + name)
    half = compiled(place, SOFTMAX.replace('soft', 'narrow', 1).replace('8', '8, value_dim: 4') + BACKWARD
                    + 'dtype: bf16\n')
    bits = [(a.astype('f4').view('u4') >> 16).astype('u2') for a in (q, k, v, dout)]
    made = made_of(half, *bits)
    for name, got, right in zip(NAMES, made, wanted):
        check(got.dtype == np.uint16, 'bf16 gives %s' % got.dtype)
        close((got.astype('u4') << 16).view('f4'), right, 0.05 * np.abs(right).max(), 'bf16: ' + name)


@case
def python_takes_parameters_of_backward(place):
    sketch = compiled(place, SKETCH + BACKWARD)
    q, k, v = inputs()
    dout = np.ones_like(q)
    out = sketch.forward(q, k, v, seed=7)
    refuses(lambda: sketch.backward(q, k, v, out, dout), ValueError, 'seed=', 'sketch_g1 [8, 4]')
    first = sketch.backward(q, k, v, out, dout, seed=7)
    rng = np.random.default_rng(2)
    g1, g2 = (rng.standard_normal((8, 4)).astype('f4') for _ in range(2))
    check(first._fields == NAMES, 'a sketch that is drawn has a gradient: %s' % (first._fields,))
    other = sketch.backward(q, k, v, sketch.forward(q, k, v, sketch_g1=g1, sketch_g2=g2), dout, sketch_g1=g1,
                            sketch_g2=g2)
    check(not (other.dq == first.dq).all(), 'given parameters are not taken')
    affine = compiled(place, AFFINE + BACKWARD + 'dtype: f64\n')
    q, k, v, dout = (rng.standard_normal(shape) for shape in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8), (2, 4, 5, 8)))
    names = [side + '_norm_' + what for side in 'qk' for what in ('weight', 'bias')]
    given = {name: 1 + 0.1 * rng.standard_normal(8) for name in names}
    out = affine.forward(q, k, v, **given)
    made = affine.backward(q, k, v, out, dout, **given)
    check(sorted(made._fields) == sorted([*NAMES, *('d' + name for name in names)]), str(made._fields))
    for name in names:
        along = rng.standard_normal(8)
        ends = [(affine.forward(q, k, v, **given | {name: given[name] + step * along}) * dout).sum()
                for step in (1e-5, -1e-5)]
        close((getattr(made, 'd' + name) * along).sum(), (ends[0] - ends[1]) / 2e-5, 1e-6, 'd' + name)
    room = np.full(8, np.nan)
    some = affine.backward(q, k, v, out, dout, **given, wanted=['dq_norm_bias'], dq_norm_bias=room)
    check(some.dq_norm_bias is room and some.dq is None and (room == made.dq_norm_bias).all(), 'one parameter alone')
    refuses(lambda: affine.backward(q, k, v, out, dout, **given, dq_norm_bias=np.empty(9)), ValueError,
            'dq_norm_bias has shape [9]', '[8]')
    refuses(lambda: affine.backward(q, k, v, out, dout, **given, dq_norm_bias=given['q_norm_bias']), ValueError,
            'dq_norm_bias shares memory with q_norm_bias', 'read')


@case
def python_refuses_wrong_gradients(place):
    soft = compiled(place, SOFTMAX + BACKWARD)
    q, k, v = inputs()
    saved, dout = soft.Saved(), np.ones_like(q)
    out = soft.forward(q, k, v, saved=saved)
    for arrays, kind, *words in (((out, dout.astype('f8')), TypeError, 'dout is float64', 'float32'),
                                 ((out[:, :, :4], dout), ValueError, 'out has shape [2, 4, 4, 8]', 'n_q = 5'),
                                 ((out, dout[:, :2]), ValueError, 'dout has shape [2, 2, 5, 8]', 'H = 4'),
                                 ((None, dout), TypeError, 'out is missing')):
        refuses(lambda: soft.backward(q, k, v, *arrays, saved=saved), kind, *words)
    refuses(lambda: soft.backward(q, k, v, out, dout, saved=soft.Saved()), ValueError, 'saved is empty', 'forward()')
    refuses(lambda: soft.backward(q[:, :, :4], k, v, out[:, :, :4], dout[:, :, :4], saved=saved), ValueError,
            'n_q = 5, but this call has 4')
    refuses(lambda: soft.backward(q, k, v, out, dout, saved=b''), TypeError, 'saved is a bytes', 'soft.Saved()')
    refuses(lambda: soft.forward(q, k, v, saved=True), TypeError, 'saved is a bool', 'soft.Saved()')
    refuses(lambda: soft.backward(q, k, v, out, dout, wanted=['dx']), ValueError, "'dx'", 'dq, dk, dv')
    refuses(lambda: soft.backward(q, k, v, out, dout, wanted='dk', dq=np.empty_like(q)), ValueError, 'dq=', 'wanted')
    refuses(lambda: soft.backward(q, k, v, out, dout, threads=-1), ValueError, 'threads', '-1')
    for options, kind, *words in (({'dk': np.empty_like(q)}, ValueError, 'dk has shape [2, 4, 5, 8]', 'G = 2'),
                                  ({'dv': np.zeros(v.shape)}, TypeError, 'dv is float64'),
                                  ({'dq': np.broadcast_to(q[:1], q.shape)}, ValueError, 'dq', 'read-only'),
                                  ({'dq': q}, ValueError, 'dq shares memory with q', 'read'),
                                  ({'dq': dout}, ValueError, 'dq shares memory with dout', 'read'),
                                  ({'dv': v[:, ::-1].copy()[:, ::-1]}, ValueError, 'dv', 'backwards')):
        refuses(lambda: soft.backward(q, k, v, out, dout, saved=saved, **options), kind, *words)
    both = np.empty_like(k)
    refuses(lambda: soft.backward(q, k, v, out, dout, dk=both, dv=both), ValueError, 'dv shares memory with dk',
            'written')
    beside = np.empty((2, 2, 7, 16), 'f4')   # dk and dv are parts of one array
    made = soft.backward(q, k, v, out, dout, dk=beside[..., :8], dv=beside[..., 8:])
    same(made, soft.backward(q, k, v, out, dout), 'dk and dv in one array')
    plain = compiled(place, SOFTMAX.replace('soft', 'plain', 1))
    check(not hasattr(plain, 'backward') and 'saved' not in plain.forward.__doc__, 'backward() without gradients')


@case
def python_differentiates_with_its_own_library_alone(place):
    made = compiled(place, SOFTMAX + BACKWARD)
    for words in 'dout: [B, H, n_q, 8]', 'saved: the Saved()', 'dq, dk, dv: ', 'H > G':
        check(words in made.backward.__doc__, 'the docstring has no %r: %s' % (words, made.backward.__doc__))
    check(sorted(made.__all__) == ['Gradients', 'Saved', 'backward', 'forward', 'load'], str(made.__all__))
    said = program(place, 'import soft', 'soft.load()', 'print([m for m in ("numpy", "torch") if m in sys.modules])')
    check(said == '[]\n', said)


@case
def python_differentiates_tensors(place):
    try:
        import torch
    except ImportError:
        raise Skip('PyTorch is not installed')
    soft = compiled(place, SOFTMAX + BACKWARD)
    q, k, v = map(torch.from_numpy, inputs(H=2, G=2, m=5))
    dout = torch.randn(q.shape)
    made = made_of(soft, q, k, v, dout)
    leaves = [a.clone().requires_grad_() for a in (q, k, v)]
    torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True).backward(dout)
    for name, a, b in zip(NAMES, made, leaves):
        check(isinstance(a, torch.Tensor), 'gives %s' % type(a))
        close(a.numpy(), b.grad.numpy(), 1e-5, name)


@case
def descriptions_have_gradients(place):
    place.attnc('soft.yaml', '--emit', 'json')
    plain = json.loads(place.read('soft.json'))
    check(plain['gradients'] is None and 'backward' not in plain['functions'], str(plain['functions']))
    place.write('both.yaml', POLYNOMIAL.replace('poly', 'both', 1) + BACKWARD)
    place.attnc('both.yaml', '--emit', 'json,h,c')
    made = json.loads(place.read('both.json'))
    header = place.read('both.h').decode()
    for word in 'saved', 'backward_workspace', 'backward':
        check(made['functions'][word] == 'both_' + word and ' both_%s(' % word in header, 'no function ' + word)
    told = made['gradients']
    check(told['inputs'] == [{'name': 'dout', 'dtype': 'f32', 'shape': ['batch', 'heads', 'n_q', 4]}], str(told))
    inputs = {i['name']: i for i in made['inputs']}
    check([o['name'] for o in told['outputs']] == list(NAMES) and all(
        o['shape'] == inputs[o['name'][1:]]['shape'] and o['dtype'] == 'f32' for o in told['outputs']), str(told))
    check(told['saved_bytes_a_row'] >= 4 and told['saved_bytes_a_row'] % 4 == 0, str(told['saved_bytes_a_row']))
    check({part['target'] for part in told['parts']} == {kernel['target'] for kernel in made['kernels']}, 'targets')
    for target, length in {(part['target'], part['from']) for part in told['parts']}:
        parts = [part for part in told['parts'] if (part['target'], part['from']) == (target, length)]
        computes = [name for part in parts for name in part['computes']]
        check(set(NAMES) <= set(computes) and len(computes) == len(set(computes)), '%s: %s' % (target, computes))
        check([part['part'] for part in parts] == sorted(part['part'] for part in parts), str(parts))
        check([part['computes'] for part in parts if part['only_if_none_were_saved']] == [['saved_0']], str(parts))
    rows = re.findall(r'\.role = RUN_BACKWARD,(?: \.part = (\d+))?', place.read('both.c').decode())
    called = {int(part or 0) for part in rows}
    check({part['part'] for part in told['parts']} == called, 'other parts than in C: %s' % called)
