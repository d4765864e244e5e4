"""Tests schedules: by length, for every knob, and from tuning."""
import json
import os
import re

import numpy as np

from cases import SKETCH, SOFTMAX, Place
from depfiles import depfile
from suite import check, execute

CASES = []


def case(function):
    CASES.append(function)
    return function


SCHEDULE = ('schedule: [{tile_q: 32, rows: 8}, {from: 30, tile_q: 32, rows: 8, crossover: 30}, '
            '{from: 60, tile_k: 20, crossover: 1}]\n')


@case
def schedules_by_length(place):
    place.write('sketch.yaml', SKETCH + SCHEDULE)
    said = place.attnc('explain', 'sketch.yaml', '--target', 'x86-64-v4,generic').stdout
    for words in ('set from 60 keys on: tile_k 20, crossover 1',
                  'from 1 keys on x86-64-v4 runs quadratic, tiles of 32 queries',
                  'from 30 keys on x86-64-v4 runs linear', r'chunk +\d+ +keys per chunk', 'worth trying: 0 1 2'):
        check(re.search(words, said), 'explain does not say %s: %s' % (words, said))
    place.attnc('check', 'sketch.yaml', timeout=300)
    place.attnc('sketch.yaml', '--target', 'x86-64-v4,generic', '--emit', 'c,h,json,loops')
    made = json.loads(place.read('sketch.json'))
    check([(v['target'], v['from']) for v in made['versions']]
          == [(t, n) for t in ('x86-64-v4', 'generic') for n in (0, 30, 60)], made['versions'])
    check([k['form'] for k in made['kernels']] == ['quadratic', 'linear', 'linear', 'few'] * 2, made['kernels'])
    check(made['kernels'][0]['rows'] == 8 and made['kernels'][2]['tile_k'] == 20 and made['schedule']['tile_q'] == 32,
          made['kernels'])
    knobs = {k['name']: k for k in made['knobs']}
    check({'tile_q', 'tile_k', 'chunk', 'rows', 'vectors', 'unroll', 'crossover', 'together'} == set(knobs),
          sorted(knobs))
    check(all(k['usual'] in k['values'] and k['values'] == sorted(set(k['values'])) and k['least'] <= k['values'][0]
              and k['values'][-1] <= k['most'] for k in knobs.values()), knobs)
    code = place.read('sketch.c').decode()
    check(all(len(re.findall(r'\{.role = RUN_FORWARD, .from = %d,\n *.head = sketch_linear_from%d_' % (n, n), code)) == 2
              for n in (30, 60)), 'the choice by length')

    # A workspace is also large enough for all shorter sequences.
    place.write('main.c', '#include "sketch.h"\n#include <stdio.h>\nint main(void)\n{\n'
                '    for (int n = 0; n < 100; n++) {\n'
                '        const struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1,'
                ' .n_q = n, .n_k = n, .threads = 3};\n        printf("%zu\\n", sketch_workspace(&p));\n    }\n'
                '    return 0;\n}\n')
    place.write('large.yaml', SKETCH.replace('sketch: 4', 'sketch: 32')
                + 'schedule: [{crossover: 2147483647, tile_q: 16}, {from: 30, crossover: 2147483647, tile_q: 128}, '
                '{from: 60, crossover: 2147483647, tile_q: 16}]\n')
    place.attnc('large.yaml', '--target', 'generic', '--standalone')
    done = execute(['sh', '-c', 'cc -O0 main.c sketch.c -lm -o main && ./main'], cwd=place.folder)
    sizes = [int(line) for line in done.stdout.split()]
    check(len(sizes) == 100 and sizes == sorted(sizes) and len(set(sizes)) == 2 and sizes[29] < sizes[30] == sizes[99],
          'workspaces %s %s' % (sorted(set(sizes)), done.stderr))

    # entries with the same loops are emitted once
    place.write('twice.yaml', SOFTMAX.replace('soft', 'twice', 1)
                + 'schedule: [{tile_q: 32}, {from: 9, tile_q: 64}, {from: 20, tile_q: 32}, {from: 30}]\n')
    place.attnc('twice.yaml', '--target', 'generic', '--emit', 'c,json')
    made = json.loads(place.read('twice.json'))
    check([k['tile_q'] for k in made['kernels'] if k['form'] == 'quadratic'] == [32, 64]
          and [(v['from'], v['kernel']) for v in made['versions']] == [(0, 0), (9, 1), (20, 0), (30, 1)],
          made['versions'])
    check(place.read('twice.c').count(b' void T(twice_rows') == 2, 'not two functions')


@case
def every_knob_can_be_set(place):
    """The minimum, the maximum and other values of each knob compile. All these kernels compute equal results."""
    place.write('sketch.yaml', SKETCH.replace('sketch: 4', 'sketch: 32'))
    place.attnc('sketch.yaml', '--target', 'generic', '--emit', 'json')
    knobs = json.loads(place.read('sketch.json'))['knobs']
    check(len(knobs) == 9, [k['name'] for k in knobs])
    place.arrays(n=70)
    place.attnc('run', 'sketch.yaml', '--seed', '1', '--in', 'in', '--out', 'usual')
    usual = np.load(place.path('usual', 'out.npy'))
    for knob in knobs:
        for turn, value in enumerate(sorted({knob['least'], knob['values'][0], knob['values'][-1]} | (
                {knob['most']} if knob['most'] < 100 else set()))):
            place.attnc('run', 'sketch.yaml', '--seed', '1', '--in', 'in', '--out', 'out',
                        '--target', ('native', 'generic')[turn % 2],
                        '--set', 'schedule.%s=%d' % (knob['name'], value), timeout=300)
            off = np.abs(np.load(place.path('out', 'out.npy')) - usual).max()
            check(off <= 1e-4, '%s = %d: off by %g' % (knob['name'], value, off))
        place.attnc('sketch.yaml', '--set', 'schedule.%s=%d' % (knob['name'], knob['least'] - 1), status=1)
        place.attnc('sketch.yaml', '--set', 'schedule.%s=%d' % (knob['name'], knob['most'] + 1), status=1)


@case
def schedules_of_gradients(place):
    """Knobs under `backward` apply only to gradients. The number of threads does not change the bits of gradients."""
    backward = SOFTMAX + 'emit: [forward, backward]\n'
    listed = backward + ('schedule: [{tile_q: 32}, {from: 20, backward: {tile_q: 32, sweep: 0}}, '
                         '{from: 40, backward: {tile_k: 8}}, {from: 50}]\n')
    place.write('soft.yaml', listed)
    said = place.attnc('explain', 'soft.yaml').stdout
    for words in ('  backward: knobs of the gradients', r'  sweep +1 ', 'set from 20 keys on: backward tile_q 32, sweep 0\n',
                  'set from 40 keys on: backward tile_k 8\n', 'set from 50 keys on: nothing'):
        check(re.search(words, said), 'explain does not say %s: %s' % (words, said))
    said = place.attnc('check', 'soft.yaml', '--target', 'native', '--lengths', '9,25,45', '--heads', '2/1',
                       '--verbose').stdout
    check(re.search('from 20 keys on, backward: dq\n.*from 20 keys on, backward: dk, dv\n'
                    '.*from 40 keys on, backward: dk, dv\n', said, re.DOTALL) and '\nsoft: ok; ' in said, said)
    check('from 50' not in said.split('backward: ', 1)[1], 'no separate parts if nothing is set')
    place.attnc('soft.yaml', '--target', 'generic', '--emit', 'c,json')
    made = json.loads(place.read('soft.json'))
    check(made['schedule']['tile_q'] == 32 and made['schedule']['backward']['sweep'] == 1, made['schedule'])
    check({'backward.tile_q', 'backward.tile_k', 'backward.rows', 'backward.vectors', 'backward.unroll',
           'backward.sweep', 'tile_q', 'tile_k', 'rows', 'vectors', 'unroll'} == {k['name'] for k in made['knobs']},
          made['knobs'])
    code = place.read('soft.c').decode()
    check({'soft_dk_dv_sum_0_any', 'soft_dq_from20_any', 'soft_dk_dv_sum_0_from40_any'}
          <= set(re.findall(r'soft_d\w+_any', code)), set(re.findall(r'soft_d\w+_any', code)))

    # forward is unchanged, and gradients differ by rounding only
    rng = np.random.default_rng(1)
    place.arrays(n=70, dout=rng.standard_normal((1, 2, 70, 8)).astype('f4'))
    place.write('usual.yaml', backward.replace('soft', 'usual', 1))
    place.write('other.yaml', backward.replace('soft', 'other', 1) + 'schedule: {backward: {sweep: 0, tile_q: 16}}\n')
    results = {}
    for name, threads in ('usual', 1), ('other', 1), ('other', 3):
        place.attnc('run', name + '.yaml', '--in', 'in', '--out', name, '--threads', str(threads))
        results[name, threads] = [np.load(place.path(name, array + '.npy')) for array in ('out', 'dq', 'dk', 'dv')]
    usual, other, threads = results['usual', 1], results['other', 1], results['other', 3]
    check(usual[0].tobytes() == other[0].tobytes(), 'out')
    check([a.tobytes() for a in other] == [a.tobytes() for a in threads], 'threads change bits')
    check(any(a.tobytes() != b.tobytes() for a, b in zip(usual, other)), 'the schedule does nothing')
    check(all(np.abs(a - b).max() < 1e-4 for a, b in zip(usual, other)), 'other gradients')

    # a tuned spec works without gradients, and with --backward
    place.write('soft.yaml', SOFTMAX)
    place.write('soft.tuned.yaml', SOFTMAX + 'schedule: {tile_q: 16, backward: {sweep: 0}}\n')
    place.attnc('soft.yaml', '--tuned', '--target', 'generic')
    check('soft_dq' not in place.read('soft.c').decode(), 'gradients that nobody asked for')
    check('set: tile_q 16, backward sweep 0' in place.attnc('explain', 'soft.yaml', '--tuned', '--backward').stdout,
          'explain --backward')


@case
def tuned_shared_sequence(place):
    shared = SOFTMAX.replace('causal', '{any: [causal, {prefix: {length: 4}}]}') + 'emit: [forward, statistics]\n'
    place.write('soft.yaml', shared)
    place.write('soft.tuned.yaml', shared + 'schedule: {tile_q: 16}\n')
    done = place.attnc('soft.yaml', '--tuned', '--target', 'generic')
    check('.in_parts = 1' in place.read('soft.c').decode(), 'positions count from the first key of a call')
    check(not done.stderr, done.stderr)


@case
def tuned_schedules(place):
    place.write('sketch.yaml', SKETCH)
    done = place.attnc('sketch.yaml', '--tuned', status=1)
    check('sketch.tuned.yaml' in done.stderr and "'attnc tune sketch.yaml'" in done.stderr
          and not os.path.exists(place.path('sketch.c')), done.stderr)
    place.write('sketch.tuned.yaml', SKETCH + SCHEDULE)
    done = place.attnc('sketch.yaml', '--tuned', '-MD')
    check(not done.stderr, done.stderr)
    check(depfile(place.read('sketch.d').decode())[1] == ['sketch.yaml', 'sketch.tuned.yaml'], place.read('sketch.d'))
    code = place.read('sketch.c').decode()
    check('.from = 60,' in code and 'attnc sketch.yaml --tuned\n' in code, 'the schedule is not taken')
    os.mkdir(place.path('alone'))
    place.attnc('sketch.tuned.yaml', '-o', 'alone')
    check(place.read('alone/sketch.c').decode() == code.replace('sketch.yaml --tuned', 'sketch.tuned.yaml'),
          'the tuned spec by itself is another kernel')
    check('from 60 keys on' in place.attnc('explain', 'sketch.yaml', '--tuned').stdout, 'explain')
    place.attnc('check', 'sketch.yaml', '--tuned', '--target', 'generic', timeout=300)

    place.write('sketch.yaml', SKETCH.replace('degree: 4', 'degree: 8'))
    done = place.attnc('sketch.yaml', '--tuned')
    check('warning' in done.stderr and 'sketch.tuned.yaml' in done.stderr, done.stderr)
    check(not place.attnc('sketch.yaml', '--tuned', '--quiet').stderr, '--quiet')
    os.remove(place.path('sketch.c'))
    place.write('sketch.yaml', SOFTMAX)
    done = place.attnc('sketch.yaml', '--tuned', status=1)
    check(re.search(r"sketch\.tuned\.yaml:5:\d+: error: the knob 'crossover' has no effect", done.stderr), done.stderr)
    place.write('sketch.yaml', SKETCH)
    place.write('sketch.tuned.yaml', SKETCH + 'schedule: {tile_q: 17}\n')
    done = place.attnc('sketch.yaml', '--tuned', status=1)
    check('sketch.tuned.yaml:5:20: error: tile_q' in done.stderr and 'sketch.yaml:' not in done.stderr, done.stderr)
    place.write('sketch.tuned.yaml', 'similarity: sofmax\n')
    check('sketch.tuned.yaml:1:13: error' in place.attnc('sketch.yaml', '--tuned', status=1).stderr,
          'a wrong tuned spec')
    check('--tuned' in place.attnc('sketch.yaml', '--tuned', '--set', 'schedule.tile_q=32', status=2).stderr,
          '--set beside --tuned')
    check(not os.path.exists(place.path('sketch.c')), 'an error left a file')


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX))


def register(suite):
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
