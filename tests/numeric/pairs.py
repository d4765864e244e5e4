#!/usr/bin/python3
"""Tests every two features of the language in one kernel.

pairs.py ATTNC [--all] [--seed N]

- In a table of specs, every two choices of different factors occur together in at least one row.
- `attnc check` checks each row: forward, sequences in pieces, and all and some of the gradients.
- Without --all, only a part of the table is checked. The seed chooses it.
- RULES has the pairs that attnc refuses. The case `refused` confirms that every spec with such a pair is
  refused.
"""
import os
import random
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('lib', '../lib')]

import yaml

import quick
from cover import allowed, all_pairs, cover, impossible, pairs_of
from processor import MACHINE, missing_flags, targets_of
from suite import WHOLE, Failure, Suite, check, execute, signal_name

PARTS = 40 if WHOLE else 60      # a call without --all takes one of these parts
SIMILARITY = {
    'softmax': 'softmax', 'scale': {'softmax': {'scale': 0.3}}, 'cap': {'softmax': {'cap': 2.0}},
    'alibi': {'softmax': {'bias': 'alibi'}}, 'dense': {'softmax': {'bias': 'dense', 'cap': 4.0}},
    'modify': {'softmax': {'modify': 's + 0.5 * tanh(s) - fabs(i - j) / (8.0 + h)'}},
    'gelu': {'softmax': {'modify': '0.5 * s * (1 + erf(s / 1.4142135623730951)) - erf((i - j) / (8.0 + h))'}},
    'named': {'softmax': {'modify': 's * (1 + 0.5 * cos(0.3 * (i - j) + b)) + sin(clamp(s, -1, h)) * expm1(-fabs(i - j) / 8.0) '
                                    '- 0.1 * (int)sqrt(fabs(i - j)) * (g + 1) + log1p(B + H + G + D + E)'}},
    'named_custom': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + cos(i * 0.7 + b)) * (1 + (int)sqrt(j) % 3 + log1p(j))'}},
    'multiplicative': {'softmax': {'compatibility': 'multiplicative'}},
    'additive': {'softmax': {'compatibility': {'additive': {'hidden': 3}}}},
    'polynomial_2': {'polynomial': {'degree': 2, 'alpha': 0.5, 'beta': 3}}, 'polynomial_4': {'polynomial': {'degree': 4}},
    'square': {'polynomial_square': {'degree': 2, 'coefficients': [1.0, 0.25, 0.125]}},
    'square_param': {'polynomial_square': {'degree': 2, 'coefficients': 'param'}},
    'sketch_2': {'polysketch': {'degree': 2, 'sketch': 3}}, 'sketch_4': {'polysketch': {'degree': 4, 'sketch': 4}},
    'sketch_8': {'polysketch': {'degree': 8, 'sketch': 16}},
    'sketch_local': {'polysketch': {'degree': 4, 'sketch': 4, 'local': 'exact'}},
    'learned': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned'}},
    'learned_local': {'polysketch': {'degree': 4, 'sketch': 4, 'map': 'learned', 'local': 'exact'}},
    'identity': {'linear': {'features': 'identity'}}, 'elu_plus_one': {'linear': {'features': 'elu_plus_one'}},
    'relu': {'linear': {'features': {'relu': {'eps': 0.01}}}}, 'squared_relu': {'linear': {'features': 'squared_relu'}},
    'taylor1': {'linear': {'features': 'taylor1'}}, 'hedgehog': {'linear': {'features': 'hedgehog'}},
    'favor_positive': {'linear': {'features': {'favor_positive': {'count': 5}}}},
    'favor_trig': {'linear': {'features': {'favor_trig': {'count': 4}}}},
    'favor_relu': {'linear': {'features': {'favor_relu': {'count': 6, 'orthogonal': True}}}},
    'custom': {'custom': {'weight': '(1 + s) * (1 + s)'}},
    'custom_exponential': {'custom': {'weight': 'exp(s / 2) * (1 + 0.25 * s * s)'}},
    'custom_positions': {'custom': {'weight': '1 + s * s * (h + 1) / (1 + fabs(i - j))'}},
    'decay': {'custom': {'weight': '(1 + s) * (1 + s) * pow(1 - pow(2, -4 - h), i - j)'}},
    'table': {'softmax': {'modify': 's * (2 + tau[h]) + table[h][i - j + 7] + fmin(s, bound)'}},
    'operators': {'softmax': {'modify': 's > 0 ? 2 * sigmoid(s) : max(round(s), -2) + 0.1 * ((i ^ j) & 5 | i >> 3) - exp2(-s * s)'}},
    'capped': {'softmax': {'modify': '(1 + bound * bound) * tanh(s / (1 + bound * bound))'}},
    'of_entries': {'softmax': {'modify': 's * (2 + entry[b][h]) + kv[g][i - j + 7 + b]'}},
    'of_tokens': {'softmax': {'modify': 's + far[h][j] + of_entry[b][j] + near[i / 4 - j / 4 + 2][j % 3]'}},
    'of_queries': {'softmax': {'modify': 's + of_group[b][g][row] * tanh(s) + pairs[b][h][row][j]'}},
    'of_buckets': {'softmax': {'modify': 's + table[h][bucket[b][j] - bucket[b][i]] * (1 + given_keys[h][j])'}},
    'of_sequences': {'softmax': {'modify': 's * (2 + own[b][row]) + gate[b][h][i][1] * gate[b][h][j][0]'}},
    'arrays': {'custom': {'weight': '(1 + s * tau[h]) * (1 + s * tau[h])'}},
    'arrays_of_tokens': {'custom': {'weight': '(1 + s) * (1 + s) * (2 + lasts[b][g][j] * lasts[b][g][j])'}}}
ARRAYS = {'table': {'shape': ['H', 15], 'learned': True}, 'tau': {'shape': ['H']}, 'bound': {'shape': []},
          'far': {'shape': ['H', 'Nk']}, 'near': {'shape': [5, 3]}, 'entry': {'shape': ['B', 'H']},
          'kv': {'shape': ['G', 31]}, 'own': {'shape': ['B', 'Nq']}, 'gate': {'shape': ['B', 'H', 'Nk', 2]},
          'of_entry': {'shape': ['B', 'Nk']},
          'of_group': {'shape': ['B', 'G', 'Nq']}, 'pairs': {'shape': ['B', 'H', 'Nq', 'Nk']},
          'given': {'shape': ['B', 'Nq', 'Nk'], 'type': 'bool'}, 'of_pairs': {'shape': ['H', 'Nq', 'Nk'], 'type': 'bool'}, 'given_keys': {'shape': ['H', 'Nk'], 'type': 'bool'},
          'bucket': {'shape': ['B', 'Nk'], 'type': 'int'}, 'ends': {'shape': ['B', 'H'], 'type': 'int'},
          'width': {'shape': [], 'type': 'int'}, 'sinks': {'shape': [4], 'type': 'bool'}, 'lasts': {'shape': ['B', 'G', 'Nk']}, 'waves': {'shape': [3]}, 'turn': {'shape': ['B']}}
MASK = {
    'none': 'none', 'causal': 'causal', 'window': {'window': {'left': 20, 'right': 3}},
    'window_back': {'window': {'left': 13}}, 'dilated': {'window': {'left': 7, 'dilation': 3}},
    'blocks': {'block_window': {'block': 8, 'left': 1, 'right': 1}},
    'blocks_back': {'all': ['causal', {'block_window': {'block': 16, 'left': 1}}]},
    'prefix': {'prefix': {'length': 21}}, 'prefix_lm': {'any': ['causal', {'prefix': {'length': 21}}]},
    'global': {'any': [{'window': {'left': 9, 'right': 2}}, {'global': {'count': 3}}]},
    'sinks': {'all': ['causal', {'any': [{'window': {'left': 9}}, {'global': {'tokens': [0, 4]}}]}]},
    'random': {'random': {'block': 8, 'count': 2}},
    'random_back': {'all': ['causal', {'random': {'block': 8, 'count': 2, 'causal': True}}]},
    'document': 'document', 'documents_back': {'all': ['causal', 'document']},
    'no_document': {'any': [{'not': 'document'}, {'window': {'left': 2}}]},
    'lengths': 'lengths', 'lengths_back': {'all': ['causal', 'lengths']},
    'padded_window': {'all': [{'window': {'left': 12, 'right': 6}}, 'lengths']},
    'lists': {'blocks': {'block': 16, 'count': 2}},
    'lists_causal': {'all': ['causal', {'any': [{'blocks': {'block': 8, 'count': 3}}, {'window': {'left': 4}}]}]},
    'of_heads': {'expr': '(i + h) % 3 != j % 2'}, 'of_heads_back': {'expr': 'j <= i && (i + h) % 3 != j % 2'},
    'of_batch': {'expr': '(i + b) % 3 != j % 2'}, 'of_batch_back': {'expr': 'j <= i && (b % 2 == 1 || i - j < 9 + g)'},
    'of_rows': {'expr': 'row % 3 != j % 2 && j < Nk - 1 - Nq / 9'},
    'given': {'expr': 'given[b][row][j] || given_keys[h][j] && bucket[b][j] != bucket[b][i]'},
    'given_tiles': {'any': [{'expr': 'given[b][row][j]'}, {'all': ['causal', {'expr': 'of_pairs[h][row][j]'}]}]},
    'given_back': {'all': ['causal', {'expr': 'j < ends[b][h] && i - j < width || sinks[j % 4]'}]},
    'bits_back': {'all': ['causal', {'expr': '(i >> 4) == (j >> 4) || ((i ^ j) & 9) == 8'}]},
    'of_s': {'any': [{'expr': 's * s > 1'}, {'window': {'left': 2, 'right': 3}}]},
    'of_s_back': {'all': ['causal', {'expr': 's > -0.25 * (h + 1) || i == j'}]},
    'roots_back': {'expr': 'j <= i && i - j <= 2 * (int)sqrt(i + 1)'},
    'nothing': {'all': [{'prefix': {'length': 10}}, {'not': {'prefix': {'length': 12}}}]}}
PREPARE = {
    'plain': [], 'layernorm': ['layernorm'], 'affine': [{'layernorm': {'affine': True}}], 'l2norm': ['l2norm'],
    'scaled': [{'l2norm': {'eps': 0.5}}, {'scale': {'by': -1.5}}], 'rope': ['rope'],
    'rmsnorm': [{'rmsnorm': {'affine': True}}],
    'angle': [{'rope': {'angle': '(t % 2 ? i / 8 : i % 8 + b) * pow(100, -(t / 2) / 1.5)'}}],
    'given_angle': [{'rope': {'angle': '(bucket[b][i] + i % 2) * (1 + tanh(waves[t])) * 0.2 + turn[b]'}}], 'rope_part': ['rmsnorm', {'rope': {'first': 1, 'dims': 2}}],
    'halves': [{'layernorm': {'affine': True}}, {'rope': {'pairs': 'halves', 'base': 100}}]}
NORMALIZE = {'default': None, 'sum': 'sum', 'plus': {'sum_plus': 0.5}, 'unnormalized': 'none',
             'sink': {'sink': 'h * 0.5 - i * 0.01'}}
DROPOUT = {'kept': None, 'dropout': {'dropout': 0.3, 'seed': 2 ** 40 + 1}}
PROJECT = {'keys': None, 'linformer': {'linformer': {'size': 5}}}
SHAPE = {'6x5': {'head_dim': 6, 'value_dim': 5}, '8': {'head_dim': 8}, '10x18': {'head_dim': 10, 'value_dim': 18},
         'keys': {'head_dim': 10, 'value_dim': 4, 'values': 'keys'}, 'whole_keys': {'head_dim': 6, 'values': 'keys'}}
EMIT = {'forward': ['forward'], 'backward': ['forward', 'backward'], 'decode': ['forward', 'decode'],
        'everything': ['forward', 'backward', 'decode'], 'statistics': ['forward', 'statistics'],
        'statistics_backward': ['forward', 'backward', 'statistics'],
        'statistics_decode': ['forward', 'decode', 'statistics'], 'weights': ['forward', 'weights']}
# Rows of any size can be stored in these types.
STORAGE = {'dtype': None, 'halves': {'k': 'f16', 'v': 'bf16'}, 'bytes': {'k': 'i8', 'v': 'fp8'}, 'keys': {'k': 'fp8'}}
# The form of the kernel: the quadratic form, the linear form, attnc's choice, or a choice by the number of keys.
FORM = {'quadratic': {'algorithm': 'quadratic'}, 'linear': {'algorithm': 'linear'}, 'auto': {},
        'either': {'schedule': {'crossover': 20}}}
# Options of `attnc check`. Without options, it tries its own sizes.
SIZES = {'various': [], 'alone': ['--lengths', '7,33,50'], 'apart': ['--lengths', '33,7', '--heads', '3'],
         'grouped': ['--lengths', '20,41', '--heads', '4/2'], 'shared': ['--lengths', '5,35', '--heads', '3/1']}

OF_POWERS = {'polynomial_4', 'square', 'square_param'}   # weights with many features
FORWARD = {'forward', 'backward', 'statistics', 'statistics_backward', 'weights'}
BACKWARD = {'backward', 'everything', 'statistics_backward'}
BACK = {'causal', 'window_back', 'dilated', 'blocks_back', 'sinks', 'random_back', 'documents_back', 'of_heads_back',
        'of_batch_back', 'lengths_back', 'roots_back', 'bits_back', 'of_s_back', 'given_back', 'nothing'}
NO_FEATURES = {'softmax', 'scale', 'cap', 'alibi', 'dense', 'modify', 'gelu', 'named', 'multiplicative', 'additive',
               'custom_exponential', 'custom_positions', 'table', 'operators', 'capped', 'of_entries', 'of_tokens', 'of_sequences', 'of_queries', 'of_buckets'}
OF_BLOCKS = {'sketch_local', 'learned_local'}
ONE_FORM = {'quadratic', 'auto'}
CARRIED = {'none', 'causal', 'blocks', 'blocks_back', 'prefix', 'prefix_lm', 'documents_back', 'lengths', 'lengths_back'}
CHOSEN = {'none', 'causal', 'prefix_lm', 'documents_back', 'lengths', 'lengths_back'}   # masks under which either form can be faster
# Each rule is (factors, a function that returns whether attnc accepts their choices).
RULES = [
    (('dropout', 'form'), lambda dropout, form: dropout == 'kept' or form in ONE_FORM),
    (('storage', 'dtype'), lambda storage, dtype: storage == 'dtype' or dtype == 'f32'),
    (('storage', 'emit'), lambda storage, emit: storage == 'dtype' or emit not in BACKWARD),
    (('storage', 'emit', 'form'), lambda storage, emit, form: storage == 'dtype' or emit in FORWARD or form == 'quadratic'),
    (('project', 'mask'), lambda project, mask: project == 'keys' or mask == 'none'),
    (('project', 'prepare'), lambda project, prepare: project == 'keys' or prepare not in (
        'rope', 'halves', 'rope_part', 'angle', 'given_angle')),
    (('project', 'similarity'), lambda project, similarity: project == 'keys' or similarity not in (
        'alibi', 'dense', 'of_tokens', 'of_sequences', 'of_queries', 'of_buckets', 'arrays_of_tokens', *OF_BLOCKS)),
    (('project', 'form'), lambda project, form: project == 'keys' or form != 'either'),
    (('project', 'emit'), lambda project, emit: project == 'keys' or (emit in FORWARD and emit != 'weights')),
    (('mask', 'emit'), lambda mask, emit: mask in BACK or emit in FORWARD),
    (('similarity', 'emit'), lambda similarity, emit: similarity not in ('dense', 'of_queries') or emit in FORWARD),
    (('similarity', 'emit'), lambda similarity, emit: similarity != 'of_sequences' or emit not in BACKWARD),
    (('similarity', 'form', 'project'), lambda similarity, form, project: form in ONE_FORM or (
        similarity not in NO_FEATURES or project == 'linformer')),
    (('mask', 'form'), lambda mask, form: form in ONE_FORM or mask in (CARRIED if form == 'linear' else CHOSEN)),
    (('similarity', 'mask', 'form'), lambda similarity, mask, form: form in ONE_FORM or (
        similarity not in OF_BLOCKS or mask in ('causal', 'blocks_back', 'documents_back'))),
    (('similarity', 'mask', 'form'), lambda similarity, mask, form: form in ONE_FORM or (
        similarity != 'decay' or mask in ('causal', 'documents_back'))),
    (('similarity', 'mask', 'form'), lambda similarity, mask, form: form in ONE_FORM or (
        similarity not in ('favor_positive', 'favor_trig') or mask != 'documents_back')),
]


def factors(suite):
    return {'similarity': list(SIMILARITY), 'mask': list(MASK), 'prepare': list(PREPARE), 'normalize': list(NORMALIZE),
            'dropout': list(DROPOUT), 'project': list(PROJECT), 'shape': list(SHAPE), 'dtype': ['f32', 'f64', 'bf16', 'f16'], 'emit': list(EMIT),
            'storage': list(STORAGE), 'form': list(FORM), 'sizes': list(SIZES), 'threads': ['1', '3'], 'target': suite.targets}


def spec_of(row, name='spec'):
    spec = {'name': name, 'similarity': SIMILARITY[row['similarity']], 'mask': MASK[row['mask']],
            'prepare': PREPARE[row['prepare']], 'shape': SHAPE[row['shape']], 'dtype': row['dtype'],
            'emit': EMIT[row['emit']], 'block': 16} | FORM[row['form']]
    if NORMALIZE[row['normalize']]: spec['normalize'] = NORMALIZE[row['normalize']]
    spec |= DROPOUT[row['dropout']] or {}
    if PROJECT[row['project']]: spec['project'] = PROJECT[row['project']]
    if 'project' in spec: del spec['block']
    if STORAGE[row['storage']]:   # values that are keys have the type of k
        spec['storage'] = {name: kind for name, kind in STORAGE[row['storage']].items() if name == 'k' or 'values' not in spec['shape']}
    arrays = {name: a for name, a in ARRAYS.items() if re.search(r'\b%s\b' % name, str([spec['similarity'], spec['mask'], spec.get('prepare')]))}
    if arrays: spec['arrays'] = arrays
    if row['similarity'] in OF_POWERS: spec['shape'] = spec['shape'] | {'head_dim': 4}
    return spec


def written(folder, row, name='spec'):
    path = os.path.join(folder, name + '.yaml')
    with open(path, 'w') as f: yaml.safe_dump(spec_of(row, name), f, sort_keys=False)
    return path


def told(row):
    return '%s\n# %s' % (yaml.safe_dump(spec_of(row), default_flow_style=True, sort_keys=False, width=1000).strip(),
                         ' '.join([*SIZES[row['sizes']], '--threads', row['threads'], '--target', row['target']]))


def case(folder, suite, row):
    """Runs `attnc check`. Weights may nearly vanish by chance, so a failure counts only if every seed fails."""
    path, said = written(folder, row), []
    for seed in '1', '2', '3':
        done = execute([suite.attnc, 'check', path, '--threads', row['threads'], '--target', row['target'], '--seed',
                        seed, *SIZES[row['sizes']]], env=suite.environment, timeout=600, signals=True)
        if done.returncode == 0: return '; '.join(said)
        if done.returncode < 0: raise Failure('killed by %s\n%s' % (signal_name(-done.returncode), told(row)))
        wrong = [line.split('  ')[1] for line in done.stdout.split('\n') if 'WRONG' in line]
        said.append('seed %s: %s: %s' % (seed, ', '.join(wrong), done.stderr.split('error: ')[-1].strip()))
        if not wrong or 'some of the gradients' in wrong: break   # different bits are not due to chance
    raise Failure('%s\n%s' % ('\n'.join(said), told(row)))


def refused(folder, suite, choices, pairs):
    """For each pair that no allowed row has, attnc must refuse the closest spec that has it. Pairs with `either`
    depend on the cost model and are skipped."""
    rng, taken, rows = random.Random(1), [], {}
    for a, x, b, y in sorted(pairs):
        if ('form', 'either') in ((a, x), (b, y)): continue
        for _ in range(3):
            row = {name: rng.choice(c) for name, c in choices.items()} | {a: x, b: y}
            rows.setdefault(row['target'], []).append(((a, x, b, y), row))
    for target, some in rows.items():
        paths = [written(folder, row, 'spec%d' % n) for n, (_, row) in enumerate(some)]
        wrong = set()   # one process refuses many specs, because it loads libclang once
        for n in range(0, len(paths), 100):
            done = execute([suite.attnc, *paths[n:n + 100], '--stdout', '--emit', 'h', '--target', target], timeout=600)
            if done.returncode == 1: wrong |= set(re.findall(r'^(.*?\.yaml):\d+:\d+: error: ', done.stderr, re.M))
        for path, (pair, row) in zip(paths, some):
            if path in wrong: continue
            done = execute([suite.attnc, path, '--stdout', '--emit', 'h', '--target', target])
            if done.returncode != 1: taken.append('%s %s, %s %s: exit status %d\n%s' % (*pair, done.returncode, told(row)))
    check(not taken, 'taken, but no row of the table has it:\n' + '\n'.join(taken))
    return '(%d of %d pairs)' % (len(pairs), len(all_pairs(choices)))


def complete(folder, choices, rows, pairs):
    missing = all_pairs(choices) - pairs
    for row in rows:
        check(allowed(row, RULES), 'a row that rules do not allow: %s' % row)
        missing -= pairs_of(row, choices)
    check(not missing, '%d pairs are in no row: %s' % (len(missing), sorted(missing)[:9]))
    return '(%d rows)' % len(rows)


def main():
    def more(parser):
        parser.add_argument('--all', action='store_true', help='all rows of the table')
        parser.add_argument('--seed', type=int, default=0, help='which part of the table, without --all (default: 0)')
        parser.set_defaults(jobs=os.cpu_count())
    suite = Suite(__doc__.split('\n\n')[0], more)
    o = suite.options
    suite.environment = quick.environment(suite.folder, ATTNC_CFLAGS='-O0')
    suite.targets = [t for t in targets_of(MACHINE, 'any') if not missing_flags(t)]
    choices = factors(suite)
    pairs = impossible(choices, RULES)
    rows = cover(choices, tries=4, rules=RULES, never=pairs)
    print('%d rows' % len(rows) if o.all else 'seed %d: part %d of %d rows in %d parts' % (
        o.seed, o.seed % PARTS, len(rows), PARTS), flush=True)
    suite.case('complete', complete, choices, rows, pairs)
    suite.case('refused', refused, suite, choices, pairs)
    for n, row in enumerate(rows):
        if o.all or n % PARTS == o.seed % PARTS:
            suite.case('%04d-%s-%s-%s-%s' % (n, row['similarity'], row['mask'], row['emit'], row['dtype']), case, suite,
                       row)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
