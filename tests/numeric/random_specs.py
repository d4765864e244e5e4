#!/usr/bin/python3
"""Tests random specs of the whole language.

random_specs.py ATTNC [--count N] [--check N] [--seed N] [--arrays PART] [--only CASE] [--spec FILE]

- attnc accepts each spec or says why not. gcc and clang compile its C without a warning.
- The first --check specs are run by `attnc run`, compared with definitions.py, and checked by `attnc check`.
- Tangents of these specs (`emit: [jvp]`) are compared with differences of definitions.py.
- Gradients of these specs are compared with gradient_definitions.py, if autograd can be installed.
- The other specs are only compiled. Their expressions and numbers are of any kind.
- A part that attnc refuses for a valid reason, such as a knob without effect, is removed. Then the case
  continues.
- For a failure, the smallest spec that fails in the same way is printed.
- --only with the same seed repeats a case. --spec takes a spec from a file.
"""
import ast
import copy
import json
import os
import re
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import numpy as np
import yaml

import answers
import backward
import definitions
import draw_spec
import quick
import tangents
from autograd_venv import autograd
from processor import (MACHINE, OF_LINEAR_FORMS, OF_WEIGHTS, has_matrix_units, missing_flags, multiplies_bf16,
                       targets_of)
from shrink import shrink
from stored import holds
from suite import ROOT, WHOLE, Failure, Skip, Suite, execute, signal_name

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-std=gnu11', '-I', os.path.join(ROOT, 'runtime')]
MAX_F16 = 65504   # a larger gradient is infinite in f16
CANCELS = 8    # if the error is a larger multiple of the tolerance, the gradient is wrong
LONGEST = 4    # the maximum number of seconds of `attnc check`
CANCELLED = 1e-9     # gradients below this part of the largest gradient are only rounding
MOST_PAIRS = 40000   # the maximum number of pairs of query and key, of all heads, for gradient_definitions.py
DRAWS = 6      # the maximum number of specs drawn for one case


def without_delta(spec):
    """Removes the delta rule, and the rows that it erases."""
    del spec['delta']
    for name in 'rows_erase', 'rows_write': spec.get('arrays', {}).pop(name, None)
    if 'prepare' in spec: spec['prepare'] = [step for step in spec['prepare'] if "'rows_" not in str(step)]


# Each row is a message with which attnc may refuse a spec, and a function that removes the cause. If the function is
# None, the spec is dropped.
REFUSED = [
    (r"'\w+' stores blocks of \d+ elements", lambda spec, m: spec['emit'].remove('decode')),
    (r"'storage' needs a state that stores keys", lambda spec, m: spec.pop('storage')),
    (r"there is no linear form(: |, because | with 'dropout')", lambda spec, m: spec.pop('algorithm')),
    (r"the knob '(\w+)' has no effect on this spec: ", lambda spec, m: [e.pop(m[1], None) for e in entries(spec)]),
    (r"emit 'backward'.* is not compiled yet", lambda spec, m: spec['emit'].remove('backward')),
    (r"so (this spec|it|'\w+') cannot be decoded|decoding (with|a linear form that) .* is not compiled yet", lambda spec, m: spec['emit'].remove('decode')),
    (r"the gradient of an array (that is read at computed subscripts along an axis of run-time size|with several elements "
     r"for each query or key) is not compiled yet", lambda spec, m: spec['emit'].remove('backward')),
    (r"is not compiled yet\n.*this concerns the gradients that 'emit' asks for",
     lambda spec, m: spec['emit'].remove('backward')),
    (r"under this mask a query may see keys after its own position, and '\w+' has no value for these", None),
    (r"'name': '\w+' is a keyword of C", lambda spec, m: spec.update(name='spec')),
    (r"'name': '\w+\.h' would hide the system's header of that name", lambda spec, m: spec.update(name='spec')),
    (r"'name': the kernel would declare '[\w ]+', which attnrt\.h declares", lambda spec, m: spec.update(name='spec')),
    (r"'name': (\w+\.py would hide the module of that name|(names of Python.s own modules|Python cannot import))",
     lambda spec, m: spec.update(name='spec')),
    (r"'name': C reserves names|'name' is longer than", lambda spec, m: spec.update(name='spec')),
    (r"f(64|32|16) cannot hold the value \S+, which results from these options", None),
    (r"'delta' (corrects a value by earlier ones|with )|with 'delta'|'delta' is",
     lambda spec, m: without_delta(spec)),
    (r"; the gradient of 'running' is one in this spec|the gradient of this sum with 'running' is not compiled yet",
     lambda spec, m: spec['emit'].remove('backward')),
    (r"'top' by 's' is not compiled yet if each element has its own decay", None),
    (r"the gradient of too many operands is not compiled yet", lambda spec, m: spec['emit'].remove('backward')),
    (r"polynomial_square with degree above \d+ and with coefficients as a parameter is not compiled yet", None),
    (r"division by zero|this constant (is infinite|is not a number|does not fit 64 bits)|'%' takes integers", None),
    (r"written out, the expression has more than|has more than \d+ names, numbers and signs", None),
    (r"the expression has more than|parentheses more than \d+ deep", None)]

LEARNED = {'degree': 4, 'sketch': 48, 'map': 'learned'}
# Specs that failed once: each is compiled, run and checked like a draw.
FOUND = {
    'rising_features': {'similarity': {'linear': {'features': 'squared_relu', 'modify': 's * exp(0.5 * j)'}},
                        'algorithm': 'linear', 'shape': {'head_dim': 8}},
    'pages_of_the_call': {'similarity': {'custom': {'weight': 'exp(s) * exp(a[(b + 1) % B][h] / 4)'}}, 'mask': 'causal',
                          'emit': ['decode'], 'arrays': {'a': {'shape': ['B', 'H']}}, 'shape': {'head_dim': 5}},
    'turned': {'prepare': ['layernorm'], 'similarity': {'linear': {'features': 'elu_plus_one'}},
               'project': {'linformer': {'size': 8}}, 'shape': {'head_dim': 16}},
    'turned_hedgehog': {'prepare': ['l2norm'], 'similarity': {'linear': {'features': 'hedgehog'}},
                        'project': {'linformer': {'size': 21}}, 'shape': {'head_dim': 7}},
    'two_loops_over_parts': {'prepare': ['layernorm'], 'similarity': {'polysketch': LEARNED}, 'mask': 'causal',
                             'shape': {'head_dim': 8}},
    'row_in_a_lane': {'similarity': {'custom': {'weight': 's * (1 + (s > 0))'}}, 'normalize': 'none',
                      'shape': {'head_dim': 5}},
    'choice_in_a_row': {'similarity': {'custom': {'weight': '(s > 1 ? 1 : 2) * s'}}, 'normalize': 'none',
                        'mask': 'causal',
                        'shape': {'head_dim': 5}},
    'choice_as_a_vector': {'similarity': {'custom': {'weight': 's * (i > 3 ? 7 / j : 2)'}}, 'normalize': 'none',
                           'shape': {'head_dim': 5}},
    'axis_that_cancels': {'similarity': {'custom': {'weight': 's * (j - (i + j))'}}, 'shape': {'head_dim': 1}},
    'divides_by_zero': {'similarity': 'softmax', 'mask': {'expr': '1 / (!i)'}, 'shape': {'head_dim': 3}},
    'name_of_an_array': {'similarity': {'custom': {'weight': 'exp(s / 2) * (1 + 1.5 * s * s)'}},
                         'project': {'linformer': {'size': 1}}, 'shape': {'head_dim': 8}, 'dtype': 'f16'},
    'parts_in_a_ring': {'similarity': {'polynomial_square': {'degree': 1, 'coefficients': 'param'}},
                        'mask': {'block_window': {'block': 2, 'left': 1}}, 'shape': {'head_dim': 31}},
    'weight_of_one_feature': {'similarity': {'linear': {'features': {'favor_positive': {'count': 1}}}},
                              'shape': {'head_dim': 1},
                              'project': {'linformer': {'size': 1}}},
    'halves_turned_and_not': {'prepare': ['l2norm'], 'similarity': 'softmax', 'project': {'linformer': {'size': 2}},
                              'shape': {'head_dim': 4}, 'dtype': 'bf16'},
    'bounds_of_queries': {
        'similarity': 'softmax', 'emit': ['forward', 'backward'], 'shape': {'head_dim': 5},
        'mask': {'all': ['causal', {'expr': 'fmin(fabs(i && j) % (!(i - h)), (j ? i : j) / (!i) + (!(i + i)))'}]}},
    'grows_to_a_prefix': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'algorithm': 'linear',
                          'mask': {'all': ['causal', {'prefix': {'length': 3}}]}, 'shape': {'head_dim': 65},
                          'schedule': {'chunk': 4}, 'emit': ['forward', 'decode']},
    'grows_without_itself': {'similarity': {'linear': {'features': 'relu'}}, 'shape': {'head_dim': 9},
                             'mask': {'all': ['causal', {'expr': 'i > j'}]}, 'emit': ['forward', 'decode']},
    'grows_by_small_tiles': {'similarity': {'linear': {'features': 'squared_relu'}}, 'mask': 'causal',
                             'shape': {'head_dim': 3, 'value_dim': 32}, 'schedule': {'tile_k': 1},
                             'emit': ['forward', 'decode']},
    'kernel': {'name': 'kernel', 'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 4},
               'emit': ['forward', 'decode']},
    'prepares_for_nobody': {'prepare': ['rope'], 'similarity': {'custom': {'weight': '1 + (i >= 2 * j)'}},
                            'mask': 'causal', 'shape': {'head_dim': 64}, 'dtype': 'f64',
                            'emit': ['forward', 'decode']},
    'axis_u_around_unrolled_vectors': {'similarity': {'polysketch': {'degree': 8, 'sketch': 32}},
                                       'project': {'linformer': {'size': 1}}, 'shape': {'head_dim': 4},
                                       'emit': ['forward', 'backward']},
    'leaves_nothing_for_totals': {'similarity': {'softmax': {'bias': 'dense'}}, 'shape': {'head_dim': 3},
                                  'emit': ['forward', 'backward']},
    'statistics_of_one_weight': {'similarity': {'custom': {'weight': '1'}}, 'project': {'linformer': {'size': 1}},
                                 'shape': {'head_dim': 4}, 'emit': ['forward', 'statistics']},
    'integers_of_queries': {'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': '!u[b][h][row]'}]},
                            'arrays': {'u': {'shape': ['B', 'H', 'Nq'], 'type': 'bool'}}, 'shape': {'head_dim': 4},
                            'emit': ['forward', 'decode']},
    'integers_and_decay': {'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': 'u[g][j] < u[g][i]'}]},
                           'arrays': {'u': {'shape': ['G', 'Nk'], 'type': 'int'}}, 'shape': {'head_dim': 8},
                           'emit': ['forward', 'decode'], 'decay': {'log': '-0.05 * (h + 1)'}},
    'chunks_of_one_key': {'similarity': {'polysketch': {'degree': 4, 'sketch': 2}}, 'mask': 'causal', 'block': 1,
                          'algorithm': 'linear', 'shape': {'head_dim': 3}},
    'linear_for_any_length': {'similarity': {'linear': {'features': 'relu'}}, 'mask': 'causal',
                              'shape': {'head_dim': 4}, 'emit': ['forward', 'decode'], 'schedule': {'crossover': 1},
                              'targets': ['generic']},
    'remainder_of_the_head': {'similarity': 'softmax', 'mask': {'expr': 'h % 8'}, 'shape': {'head_dim': 1}},
    'sum_in_both_orders': {'similarity': 'softmax', 'mask': {'expr': '(j + i) < (i + j) || (j != i) == (i != j)'},
                           'shape': {'head_dim': 1}},
    'choice_of_all_queries': {'similarity': 'softmax', 'mask': {'not': {'expr': 'i ? (+j) : (i >= i)'}},
                              'shape': {'head_dim': 48, 'value_dim': 64}, 'targets': ['x86-64-v3'],
                              'optimize': '-O2'},
    'schedule_of_before': {'prepare': ['layernorm'], 'similarity': 'softmax', 'mask': 'causal',
                           'shape': {'head_dim': 4}, 'emit': ['decode'],
                           'schedule': [{}, {'from': 2, 'tile_k': 1}, {'from': 3}]},
    'whole_that_one_gradient_needs': {'similarity': {'linear': {'features': {'favor_positive': {'count': 2}}}},
                                      'normalize': 'none', 'project': {'linformer': {'size': 1}},
                                      'shape': {'head_dim': 8}, 'emit': ['forward', 'backward'],
                                      'targets': ['generic']},
    'phases_of_heads': {'similarity': {'linear': {'features': 'squared_relu'}},
                        'project': {'linformer': {'size': 4}}, 'emit': ['forward', 'backward'],
                        'shape': {'head_dim': 4, 'value_dim': 2, 'values': 'keys'}},
    'exponent_under_lengths': {'similarity': {'linear': {'features': {'favor_positive': {'count': 6}}}}, 'mask': 'lengths',
                               'algorithm': 'linear', 'shape': {'head_dim': 8}, 'emit': ['forward', 'backward']},
    'decay_without_parameters': {
        'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'shape': {'head_dim': 4}, 'dtype': 'f64',
        'emit': ['forward', 'backward'], 'delta': {'rate': '0.05'}, 'decay': {'log': 0}, 'kv_heads': 2},
    'sums_with_and_without_members': {
        'similarity': {'polynomial_square': {'degree': 1, 'coefficients': 'param'}}, 'mask': 'causal', 'algorithm': 'linear',
        'normalize': 'none', 'decay': {'log': '-0.1'}, 'shape': {'head_dim': 3}, 'emit': ['forward', 'backward']},
    'uniform_weight_of_projected_values': {
        'similarity': {'custom': {'weight': 'exp(a[h])'}}, 'project': {'linformer': {'size': 5}}, 'arrays': {'a': {'shape': ['H']}},
        'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'decay_without_products': {
        'similarity': {'softmax': {'modify': 'tanh(a[h])'}}, 'mask': 'causal', 'decay': {'log': 'gate[b][h][t][d]'},
        'arrays': {'a': {'shape': ['H']}, 'gate': {'shape': ['B', 'H', 'Nk', 'D']}},
        'shape': {'head_dim': 8, 'values': 'keys'}, 'emit': ['forward', 'backward', 'decode']},
    'exponent_of_positions': {'similarity': {'softmax': {'modify': '(i - j) * 9.0'}}, 'mask': 'causal',
                              'shape': {'head_dim': 4}, 'emit': ['forward', 'backward']},
    'exponentials_of_query_and_key': {
        'similarity': {'linear': {'features': {'favor_trig': {'count': 1}}}}, 'project': {'linformer': {'size': 1}},
        'shape': {'head_dim': 3}, 'emit': ['forward', 'backward']},
    'sign_of_an_infinite_sum': {'similarity': {'custom': {'weight': 'exp(16 * s) * (s - 0.1)'}}, 'shape': {'head_dim': 3},
                                'emit': ['forward', 'backward']},
    'joined_states_of_one_token': {
        'similarity': {'linear': {'features': 'identity'}}, 'block': 1, 'mask': 'causal', 'shape': {'head_dim': 5},
        'normalize': 'none', 'decay': {'log': 'gate[b][h][t]'}, 'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}},
        'emit': ['forward', 'decode']},
    'ids_at_given_positions': {
        'similarity': {'softmax': {'modify': 's + a0[h][row]'}}, 'mask': {'expr': 'u4[B - 1 - b][i] <= u4[b][j]'},
        'shape': {'head_dim': 5}, 'emit': ['forward', 'backward'],
        'arrays': {'a0': {'shape': ['H', 'Nq']}, 'u4': {'shape': ['B', 'Nk'], 'type': 'int'}}},
    'keys_without_heads': {
        'similarity': {'custom': {'weight': 'j * ((c0[b][i] % 2) ? a0[h / 2] : 0.5)'}}, 'mask': 'causal',
        'shape': {'head_dim': 5, 'value_dim': 3}, 'algorithm': 'linear',
        'arrays': {'c0': {'shape': ['B', 'Nk'], 'type': 'bool'}, 'a0': {'shape': ['H']}}},
    'queries_and_keys_without_heads': {
        'similarity': {'custom': {'weight': 'a0[j] * c0[b][i]'}}, 'shape': {'head_dim': 5}, 'algorithm': 'linear',
        'arrays': {'c0': {'shape': ['B', 'Nk']}, 'a0': {'shape': ['Nk']}}},
    'dropout_and_stored_keys': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.5, 'storage': {'k': 'i8'},
                                'shape': {'head_dim': 3, 'value_dim': 2, 'values': 'keys'}, 'emit': ['decode']},
    'decay_of_one_feature': {'similarity': {'linear': {'features': 'identity'}}, 'mask': 'causal', 'algorithm': 'linear',
                             'arrays': {'rate': {'shape': ['H']}}, 'decay': {'log': '-exp(rate[h])'}, 'shape': {'head_dim': 1},
                             'emit': ['forward', 'backward']},
    'decay_of_hidden_keys': {'similarity': 'softmax', 'mask': {'all': ['causal', {'expr': 'Nk == -9'}]}, 'decay': {'log': -0.1},
                             'shape': {'head_dim': 4}, 'emit': ['forward', 'decode']},
    'truth_value_and_two': {'similarity': 'softmax', 'mask': {'expr': '2 != (0 >= h)'}, 'shape': {'head_dim': 1}},
    'decays_of_many_factors': {'similarity': {'polynomial': {'degree': 6, 'alpha': 0.5}}, 'mask': 'causal', 'shape': {'head_dim': 1},
                               'arrays': {'rate': {'shape': ['H', 'D']}}, 'decay': {'log': '-exp(rate[h][d]) * 0.2'}},
    'gradient_of_rows_alone': {'similarity': {'custom': {'weight': 'exp(a0[b][row][1] / 4)'}}, 'mask': 'causal', 'dropout': 0.5,
                               'emit': ['forward', 'backward'], 'arrays': {'a0': {'shape': ['B', 'Nq', 1]}}, 'shape': {'head_dim': 8}}
}


class Wrong(Failure):
    """`kind` says how the draw failed. A reduced spec must fail in the same way."""
    def __init__(self, kind, said):
        super().__init__('%s: %s' % (kind, said))
        self.kind = kind


def entries(spec):
    schedule = spec.get('schedule', [])
    return schedule if isinstance(schedule, list) else [schedule]


def ended(line, **options):
    """Runs a command that must end in time."""
    try:
        return execute(line, timeout=600, **options)
    except Failure as failure:
        raise Wrong('no end', failure)


def command(suite, d, *words, seconds='unlimited'):
    """Runs attnc with a limit of `seconds` seconds of CPU time."""
    targets = ['--target', ','.join(d['targets'])] if d['targets'] else []
    # Every twelfth draw is compiled with the flags that users get. The others are compiled with -O0.
    environment = suite.environment | ({'ATTNC_CFLAGS': '-O0'} if d['seed'] % 12 else {})
    limited = [suite.attnc, *words, *targets]
    if seconds != 'unlimited': limited = ['sh', '-c', 'ulimit -S -t %s; exec "$@"' % seconds, 'sh', *limited]
    done = ended(limited, env=environment, signals=True)
    if done.returncode < 0 and done.returncode != -signal.SIGXCPU:
        raise Wrong('killed by ' + signal_name(-done.returncode), ' '.join(map(str, limited)))
    return done


def error_of(text):
    """Returns the first error in the output of a compiler or attnc."""
    found = re.search(r'error: (.*)', text)
    return found[1] if found else text.strip()[:200]


def kind_of(text):
    """Returns the kind of an error: its text without details of the spec."""
    return re.sub(r"'[^']*'|\d+", '_', error_of(text.replace('‘', "'").replace('’', "'")))


def accepted(suite, d, folder, outputs='c,h,json,py,loops'):
    """Removes refused parts until attnc accepts the spec and writes its C. Returns the spec's file or None, and the
    refused parts."""
    refused = []
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        path = os.path.join(folder, d['spec']['name'] + '.yaml')
        with open(path, 'w') as f: yaml.safe_dump(d['spec'], f, sort_keys=False, allow_unicode=True)
        how = ['--quiet', '--emit', outputs, *(['--standalone'] if d['standalone'] else [])]
        done = command(suite, d, path, '-o', folder, *how)
        if done.returncode == 0 and not done.stderr.strip(): return path, refused
        if done.returncode != 1: raise Wrong('exit status %d' % done.returncode, done.stderr.strip()[:2000])
        found = next(((m, without) for m, without in ((re.search(p, done.stderr), w) for p, w in REFUSED) if m), None)
        if not found: raise Wrong('refused: ' + kind_of(done.stderr), done.stderr.strip()[:2000])
        refused.append(found[0][0])
        if not found[1]: return None, refused
        found[1](d['spec'], found[0])


def described(d, folder):
    """Checks the JSON description of the kernel, and that Python can parse the module."""
    name = os.path.join(folder, d['spec']['name'])
    with open(name + '.py') as f: ast.parse(f.read())
    with open(name + '.json') as f: return json.load(f)


def compiles(suite, d, folder):
    """gcc and clang compile the C of a draw without a warning. If code is made, one of them does it."""
    source = os.path.join(folder, d['spec']['name'] + '.c')
    one = d['optimize'] != '-fsyntax-only' and not WHOLE
    for cc in suite.compilers[d['seed'] % len(suite.compilers):][:1] if one else suite.compilers:
        done = ended([cc, *WARNINGS, d['optimize'], '-c', source, '-o', folder + '/kernel.o'],
                     env=dict(os.environ, LC_ALL='C'))
        if done.returncode != 0:
            said = '%s %s\n%s' % (cc, d['optimize'], done.stderr[:1200])
            raise Wrong('%s: %s' % (os.path.basename(cc), kind_of(done.stderr)), said)


def grows(spec):
    return 'decode' in spec.get('emit', [])


def run(suite, d, folder, path, *options):
    done = command(suite, d, 'run', path, '--in', folder + '/in', '--out', folder + '/out', '--threads', d['threads'],
                   *options)
    if done.returncode != 0: raise Wrong('run', 'exit status %d: %s' % (done.returncode, done.stderr.strip()[:2000]))
    return np.load(folder + '/out/out.npy')


def rounding(folder, name, linear):
    """Returns how much rounding to bf16 may change a row on this processor, relative to the row's scale."""
    if not multiplies_bf16(): return 0.0
    with open(os.path.join(folder, name + '.loops')) as f: loops = f.read()
    arrays = dict(re.findall(r'^array (\S+) (.*)', loops, re.M))
    copies = re.findall(r'copy \[[^]]*\] %(\S+) = %(\S+)', loops)
    rounds = any(re.search(r'\b(paired|matrix)\b', arrays[to]) and ' f32 ' in arrays[of] for to, of in copies)
    return (OF_LINEAR_FORMS if linear and has_matrix_units() else OF_WEIGHTS) if rounds else 0.0


def place(d, folder, linear):
    """Draws positions of the first queries. In a linear form, no query is after the last key."""
    last = d['n_k'] - d['n_q'] if linear else d['n_k'] + 1
    start = last - np.random.default_rng(d['seed']).integers(0, d['n_k'] + d['n_q'] // 2 + 1, d['batch'])
    np.save(folder + '/query_start.npy', start)


def compared(suite, d, folder, path, linear):
    """Compares `attnc run` with definitions.py. Skips the draw if there are no numbers to compare."""
    spec, into = {'dtype': 'f32'} | definitions.load(path), folder + '/in'
    sizes = d['heads'], d['kv_heads'], d['n_q'], d['n_k'], d['batch']
    try:
        # decoding ignores dropout
        meant = {key: x for key, x in spec.items() if key not in ('dropout', 'seed') or not grows(spec)}
        meant |= {'appended': grows(spec)}
        with np.errstate(all='ignore'):
            answers.make_inputs(meant, into, sizes, d['seed'], d['ids'])
            if d['seed'] % 3 == 1 and not grows(spec): place(d, into, linear)
            answer = answers.Answer(meant, definitions.read_dir(into))
    except Failure as failure:
        raise Skip(str(failure))
    except SystemExit as refused:
        raise Wrong('definitions.py', refused)
    out = run(suite, d, folder, path, *(['--chunks', ','.join(map(str, d['chunks']))] if grows(spec) else []))
    right(suite, d, folder, path, answer, out, linear)


def right(suite, d, folder, path, answer, out, linear, what='numbers'):
    """Compares an output with an answer. Skips the draw if only rounding errors can be compared."""
    spec = answer.spec
    if out.shape != answer.expected.shape: raise Wrong('shape', '%s, not %s' % (out.shape, answer.expected.shape))
    if not holds(out, spec['dtype']): raise Wrong('storage', 'out has numbers that are no ' + spec['dtype'])
    beside = rounding(folder, spec['name'], linear) * answer.scale
    judge = lambda numbers: answer.judge(numbers, 2 if linear else 1, beside)[0]
    try:
        with np.errstate(all='ignore'): why = judge(out)
        if why and re.search('taylor1|identity|favor_trig|custom', str(spec['similarity'])):
            # The tolerance is 0: perturbed inputs change nothing, as in 1 - x / |x| for one element.
            exact = np.broadcast_to(answer.allowed + beside == 0, out.shape)
            if exact.any() and not judge(np.where(exact, answer.expected, out)): raise Skip('weights cancel exactly')
    except Failure as failure:
        raise Skip(str(failure))
    if why and of_signs(spec): raise Skip('weights of 0 and 2 alone')
    if why and overflows(suite, d, path, answer, out, judge): raise Skip('weights that f32 cannot hold')
    if why and linear and times(why) <= CANCELS and accurate_if_quadratic(suite, d, folder, path, judge):
        raise Skip('features cancel in a small weight')
    if why: raise Wrong(what, why)


def overflows(suite, d, path, answer, out, judge):
    """Returns whether the output is wrong only where definitions.py overflows, too, in the kernel's type, and no maximum
    can be subtracted: attnc warns of this, or values are corrected by sums of such weights."""
    with np.errstate(all='ignore'): lost = ~np.isfinite(out) & ~np.isfinite(answer.own)
    if not lost.any() or judge(np.where(lost, answer.expected, out)): return False
    return 'delta' in answer.spec or ' overflows f' in command(suite, d, path, '--stdout').stderr


def of_signs(spec):
    """Returns whether all elements are 1 or -1, and the weight 1 + x y is 0 or 2. Then a sum of 0 may be 1e-16 instead,
    so such rows are only rounding."""
    size = 2 if 'layernorm' in str(spec.get('prepare')) else 1
    return 'taylor1' in str(spec['similarity']) and spec['shape']['head_dim'] <= size


def times(why):
    """Returns the error in a judge's message, relative to the tolerance."""
    return float(re.search(r'off by (\S+) times|$', why)[1] or 'inf')


def accurate_if_quadratic(suite, d, folder, path, judge):
    """Returns whether the quadratic form is within the tolerance. A linear form loses more digits if features
    cancel."""
    with open(path) as f: spec = yaml.safe_load(f)
    other = os.path.join(folder, 'quadratic.yaml')
    with open(other, 'w') as f:
        yaml.safe_dump({k: v for k, v in spec.items() if k not in ('schedule', 'emit')} | {'algorithm': 'quadratic'}, f)
    return not judge(run(suite, d, folder, other))


def differentiated(suite, d, folder, path):
    """Compares the gradients of `attnc run` with gradient_definitions.py. Returns '', or the reason why all were
    skipped."""
    spec, pairs = {'dtype': 'f32'} | definitions.load(path), d['batch'] * d['heads'] * d['n_q'] * d['n_k']
    if suite.without or pairs > MOST_PAIRS: return suite.without or 'gradient_definitions.py takes it long'
    if of_signs(spec): return 'weights of 0 and 2 alone'
    normed = 'layernorm' in str(spec.get('prepare')) or "'learned'" in str(spec['similarity'])
    if normed and spec['shape']['head_dim'] <= 2:
        return 'layernorm makes 1 and -1 of any two elements: only rounding errors are left of dq and dk'
    for seed in range(d['seed'], d['seed'] + 3):   # with one seed, weights may be almost 0
        why = differentiated_once(suite, d, folder, path, spec, seed)
        if not why: return ''
        if times(why) > CANCELS: break
    raise Wrong('gradients', why)


def differentiated_once(suite, d, folder, path, spec, seed):
    """Compares the gradients once. Returns the errors, or ''."""
    P = backward.inputs(folder + '/in', spec, (d['batch'], d['heads'], d['kv_heads'], d['n_q'], d['n_k']), seed)
    run(suite, d, folder, path)
    names = [*backward.wanted_of(spec), *('d' + n for n in backward.learned(spec, P))]
    made = {n: np.load('%s/out/%s.npy' % (folder, n)).astype(np.float64) for n in names}
    with np.errstate(all='ignore'): wanted = backward.gradients_of(spec, P)
    most = max(np.abs(wanted[n]).max() for n in names)
    largest = MAX_F16 if spec['dtype'] == 'f16' else np.inf
    made = {n: x for n, x in made.items() if CANCELLED * most <= np.abs(wanted[n]).max() <= largest}
    if not made: raise Skip('every gradient is too large for f16, or only rounding')
    try:
        backward.judge(spec, P, made, cancels=True)
    except Failure as failure:
        return str(failure)
    return ''


def pushed(suite, d, folder, path):
    """Compares the tangent that `attnc run` computes with a difference of definitions.py. Returns '', or the reason why it
    was skipped."""
    spec, pairs = {'dtype': 'f32'} | definitions.load(path), d['batch'] * d['heads'] * d['n_q'] * d['n_k']
    if 'storage' in spec: return ''
    if of_signs(spec) or pairs > MOST_PAIRS: return 'no tangents: definitions.py takes it long, or weights of 0 and 2 alone'
    if 'layernorm' in str(spec) and spec['shape']['head_dim'] <= 2: return 'no tangents: layernorm of two elements'
    folder, into = folder + '/jvp', folder + '/jvp/in'
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump({k: x for k, x in spec.items() if k not in ('schedule', 'algorithm')} | {'emit': ['jvp']}, f)
    done = command(suite, d, path, '-o', folder, '--quiet')
    if 'delta' in spec and re.search('a maximum|with exponentials, the tangent of a rate from an array is one', done.stderr): return ''
    if done.returncode != 0: raise Wrong('tangent: ' + kind_of(done.stderr), done.stderr.strip()[:2000])
    compiles(suite, d | {'spec': spec}, folder)
    why = ''
    for seed in range(d['seed'], d['seed'] + 3):   # with one seed, weights may be almost 0
        try:
            with np.errstate(all='ignore'):
                answers.make_inputs(spec, into, (d['heads'], d['kv_heads'], d['n_q'], d['n_k'], d['batch']), seed, d['ids'])
                arrays, given = tangents.make(spec, into, seed)
                wanted = tangents.expected(spec, arrays, given)
        except (Failure, SystemExit) as failure:
            return 'no tangents: %s' % failure
        out = run(suite, d, folder, path)
        try:
            tangents.judge(spec, out, *wanted)
            return ''
        except Failure as failure:
            why = str(failure)
        if times(why) > CANCELS: break
    raise Wrong('tangent', why)


def checked(suite, d, path):
    """Runs `attnc check`. Returns '', or a note if it was stopped."""
    if of_signs(d['spec']): return 'weights of 0 and 2 alone'
    said, sizes = '', []   # every tenth case uses all shapes of attnc check
    if d['seed'] % 10:
        sizes = ['--lengths', ','.join(map(str, d['lengths'])), '--heads', '%d/%d' % (d['heads'], d['kv_heads'])]
    for seed in 1, 2, 3:   # weights may nearly vanish with one seed, so all seeds must fail
        done = command(suite, d, 'check', path, *sizes, '--threads', d['threads'], '--seed', seed, seconds=LONGEST)
        if done.returncode == 0: return ''
        if done.returncode == -signal.SIGXCPU: return 'check: thousands of features take it long'
        if 'weights of random arrays overflow' in done.stderr: return ''
        said = '%s\n%s' % (done.stdout, done.stderr.strip()[:2000])
        if 'different bits' in done.stdout: break
    wrong = [line.split('  ')[1] for line in done.stdout.split('\n') if 'WRONG' in line] or [kind_of(done.stderr)]
    raise Wrong('check: ' + wrong[0], said)


def judge(suite, d, folder, numbers):
    """Runs all checks of a draw without its refused parts. Returns the skipped checks."""
    path, refused = accepted(suite, d, folder)
    if not path and numbers: raise Skip(refused[-1])
    if not path: return refused
    if grows(d['spec']): d['n_q'] = d['n_k']
    linear = any(k['form'] == 'linear' for k in described(d, folder)['kernels'])
    compiles(suite, d, folder)
    if numbers:
        compared(suite, d, folder, path, linear)
        if 'backward' in d['spec'].get('emit', []): refused.append(differentiated(suite, d, folder, path))
        refused.append(pushed(suite, d, folder, path))
        refused.append(checked(suite, d, path))
    # The run must succeed, whatever its numbers are.
    elif d['optimize'] == '-O2' and set(d['targets']) <= set(suite.runnable):
        spec, sizes = {'dtype': 'f32'} | definitions.load(path), (d['heads'], d['kv_heads'], d['n_q'],
                                                                  d['n_k'], d['batch'])
        answers.make_inputs(spec, folder + '/in', sizes, d['seed'], d['ids'])
        run(suite, d, folder, path)
    return refused


def told(d):
    rest = {k: v for k, v in d.items() if k != 'spec'}
    spec = yaml.safe_dump(d['spec'], default_flow_style=True, sort_keys=False, width=1000, allow_unicode=True)
    return '%s\n# %s' % (spec.strip(), json.dumps(rest))


def smaller(suite, d, wrong, folder, numbers):
    """Returns the smallest spec that fails as the draw `d` does, and its failure."""
    if wrong.kind in suite.seen: return d, wrong
    suite.seen.add(wrong.kind)
    last = wrong

    def fails(other):
        nonlocal last
        try:
            judge(suite, copy.deepcopy(other), folder, numbers)
        except Wrong as again:
            if again.kind == wrong.kind: last = again
            return again.kind == wrong.kind
        except (Exception, SystemExit):   # the reduced spec is not valid
            return False
        return False
    end = time.monotonic() + suite.options.shrink
    return shrink(d, fails, lambda: time.monotonic() > end), last


def case(folder, suite, draws, numbers):
    """Judges drawn specs until one can be judged."""
    why = ''
    for d in draws:
        # attnc check interprets every pass for each target, so there is only one target.
        if numbers and d['targets'] != ['generic']: d['targets'] = suite.runnable[d['seed'] % len(suite.runnable):][:1]
        try:
            left_out = judge(suite, copy.deepcopy(d), folder + '/spec', numbers)
            return '; '.join(filter(None, left_out + [why]))
        except Skip as skip:
            why = 'drawn again: %s' % skip
        except Wrong as wrong:
            small, last = smaller(suite, d, wrong, folder + '/small', numbers)
            raise Failure('%s\n--- drawn\n%s\n--- made smaller\n%s' % (last, told(d), told(small)))
    raise Skip('no numbers to compare in %d draws; %s' % (len(draws), why))


def main():
    def more(parser):
        add = parser.add_argument
        add('--count', type=int, default=180 if WHOLE else 45, help='specs (default: %(default)s)')
        add('--check', type=int, default=32 if WHOLE else 9, help='of these, how many are run and checked (default: %(default)s)')
        add('--seed', type=int, default=1, help='other specs (default: 1)')
        add('--arrays', type=float, default=draw_spec.READS, metavar='PART',
            help='the part of the specs whose weights may read arrays (default: %(default)s)')
        add('--shrink', type=float, default=60, metavar='SECONDS', help='for making smaller what fails (default: 60)')
        add('--spec', metavar='FILE', help='this spec alone; what a failure prints as a comment says how it is run')
        parser.set_defaults(jobs=os.cpu_count())
    suite = Suite(__doc__.split('\n\n')[0], more)
    o = suite.options
    draw_spec.READS = o.arrays
    suite.environment = quick.environment(suite.folder)
    suite.seen = set()
    suite.without = autograd() if not o.list else ''
    suite.compilers = [cc for cc in (shutil.which('gcc'), shutil.which('clang-19') or shutil.which('clang')) if cc]
    suite.runnable = [t for t in targets_of(MACHINE, 'any') if not missing_flags(t)]
    plain = {'standalone': False, 'optimize': '-O0' if WHOLE else '-fsyntax-only'}
    if o.spec:
        with open(o.spec) as f: rest = re.findall(r'^# (\{.*\})$', f.read(), re.M)
        d = draw_spec.draw(o.seed, 0, True) | plain | json.loads((rest or ['{}'])[-1]) | {
            'spec': definitions.load(o.spec)}
        suite.case('spec', case, suite, [d], True)
        return suite.run()
    print('seed %d' % o.seed, flush=True)
    for n, (name, spec) in enumerate(FOUND.items()):
        sizes = {'n_k': 40, 'chunks': [7, 1]} if grows(spec) else {}
        if 'backward' in spec.get('emit', []): sizes |= {'heads': 2, 'kv_heads': 1, 'n_q': 20, 'n_k': 20}
        sizes |= {key: spec.pop(key) for key in ('targets', 'optimize', 'kv_heads') if key in spec}
        suite.case('found/' + name, case, suite,
                   [draw_spec.draw(1, n, True) | plain | sizes | {'spec': {'name': 'spec'} | spec}], True)
    for n in range(o.count):
        numbers = (n + 1) * o.check // o.count > n * o.check // o.count
        draws = [draw_spec.draw(o.seed, n + 1000000 * again, numbers) for again in range(DRAWS if numbers else 1)]
        suite.case('%05d' % n, case, suite, draws, numbers)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
