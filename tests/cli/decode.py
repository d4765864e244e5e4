"""Tests run --chunks, which decodes token by token, and explain's description of the state."""
import os
import re

import numpy as np

from cases import SOFTMAX, Place
from suite import check

ELU = 'name: elu\nsimilarity: {linear: {features: elu_plus_one}}\nmask: causal\nshape: {head_dim: 8}\nalgorithm: linear\n'
CASES = []


def case(function):
    CASES.append(function)
    return function


def arrays(place, n_q, n_k):
    os.makedirs(place.path('in'), exist_ok=True)
    rng = np.random.default_rng(1)
    for name, heads, n in ('q', 4, n_q), ('k', 2, n_k), ('v', 2, n_k):
        place.array(name, rng.standard_normal((2, heads, n, 8)).astype(np.float32))


@case
def chunks_give_what_forward_gives(place):
    arrays(place, 75, 75)
    for spec in 'soft.yaml', 'elu.yaml':
        place.attnc('run', spec, '--in', 'in', '--out', 'whole')
        done = place.attnc('run', spec, '--in', 'in', '--out', 'out', '--chunks', '1,7,20')
        said = re.search(r'(\d+) calls of extend, a state of .*; the largest difference from forward is (\S+) of a row',
                         done.stderr)
        check(said and said.group(1) == '9' and float(said.group(2)) < 1e-5, done.stderr)
        pays = re.search(r'\(smaller than keys and values from (\d+) tokens on\)', done.stderr)
        text = place.attnc('explain', spec, '--set', 'emit=[forward, decode]').stdout
        told = re.search(r'smaller than all keys and values from (\d+) tokens on', text)
        # explain does not count the header
        check(bool(pays) == bool(told) == (spec == 'elu.yaml')
              and (not pays or 0 <= int(pays.group(1)) - int(told.group(1)) < 8), done.stderr)
        whole, out = (np.load(place.path(folder, 'out.npy')) for folder in ('whole', 'out'))
        check(np.abs(whole - out).max() < 1e-5 and not np.isnan(out).any(), 'another out.npy')


@case
def chunks_have_the_rows_of_their_tokens(place):
    """Tests arrays with an axis Nk or Nq, with and without an axis B."""
    arrays(place, 75, 75)
    rng = np.random.default_rng(2)
    for name, shape in ('far', (4, 75)), ('gate', (2, 2, 75, 3)), ('own', (2, 75)):
        place.array(name, rng.standard_normal(shape).astype(np.float32))
    place.write('rows.yaml', 'similarity: {softmax: {modify: "s * own[b][row] + far[h][j] + gate[b][g][i][1]"}}\n'
                'arrays: {far: {shape: [H, Nk]}, gate: {shape: [B, G, Nk, 3]}, own: {shape: [B, Nq]}}\n'
                'mask: causal\nshape: {head_dim: 8}\n')
    place.attnc('run', 'rows.yaml', '--in', 'in', '--out', 'whole')
    place.attnc('run', 'rows.yaml', '--in', 'in', '--out', 'out', '--chunks', '1,7,20')
    whole, out = (np.load(place.path(folder, 'out.npy')) for folder in ('whole', 'out'))
    check(np.abs(whole - out).max() < 1e-5 and not np.isnan(out).any(), 'another out.npy')
    text = place.attnc('explain', 'rows.yaml', '--set', 'emit=[forward, decode]').stdout
    check('  far: 4 bytes more for each of these tokens and each sequence and head\n'
          '  gate: 12 bytes more for each of these tokens and each sequence and key/value head\n\n' in text, text)


@case
def run_writes_statistics(place):
    arrays(place, 75, 75)
    done = place.attnc('run', 'soft.yaml', '--in', 'in', '--out', 'plain')
    check(not os.path.exists(place.path('plain', 'statistics.npy')), 'statistics that nobody asked for')
    for spec, chunks in ('soft.yaml', []), ('soft.yaml', ['--chunks', '1,7,20']), ('elu.yaml', ['--chunks', '9']):
        done = place.attnc('run', spec, '--in', 'in', '--out', 'out', '--set', 'emit=[forward, decode, statistics]',
                           *chunks)
        check('out/statistics.npy: [2, 4, 75] f32' in done.stderr, done.stderr)
        out, statistics = (np.load(place.path('out', name + '.npy')) for name in ('out', 'statistics'))
        q, k, v = (np.load(place.path('in', name + '.npy')).astype(float) for name in 'qkv')
        s = q @ np.repeat(k, 2, 1).swapaxes(2, 3)
        if spec == 'soft.yaml':
            w = np.exp(s / np.sqrt(8))
        else:
            f = [np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, np.repeat(k, 2, 1))]
            w = f[0] @ f[1].swapaxes(2, 3)
        total = np.tril(w).sum(-1)
        wanted = np.log(total) if spec == 'soft.yaml' else total
        check(np.abs(statistics - wanted).max() < 1e-5 * np.abs(wanted).max(), 'other statistics of ' + spec)
        check(np.abs(out - np.tril(w) @ np.repeat(v, 2, 1) / total[..., None]).max() < 1e-5, 'another out.npy')


@case
def chunks_that_cannot_be(place):
    arrays(place, 40, 75)
    for chunks in '', '0', '1,,2', '1,x', '1,2,':
        done = place.attnc('run', 'soft.yaml', '--in', 'in', '--out', 'out', '--chunks', chunks, status=2)
        check('--chunks takes' in done.stderr, done.stderr)
    done = place.attnc('run', 'soft.yaml', '--in', 'in', '--out', 'out', '--chunks', '5', status=1)
    check('40 queries and 75 keys' in done.stderr, done.stderr)
    check(not os.path.exists(place.path('out', 'out.npy')), 'out.npy was written')


@case
def explain_says_what_a_state_takes(place):
    def state(spec, *more):
        text = place.attnc('explain', spec, '--set', 'emit=[forward, decode]', *more).stdout
        return text.split('\nState\n')[1].split('\n\n')[0]
    check(re.match(r'  64 bytes of key and value for every token, sequence and key/value head,', state('soft.yaml')),
          state('soft.yaml'))
    window = state('soft.yaml', '--set', 'mask={window: {left: 300}}')
    check('up to 600 tokens of 64 bytes: 38400 bytes for every sequence and key/value head, however long it is' in window
          and 'from 601 tokens on' in window, window)
    carried = state('elu.yaml')
    found = re.search(r'(\d+) bytes of sums and the last tokens, up to (\d+) tokens of 64 bytes: (\d+) bytes', carried)
    check(found and int(found.group(3)) == int(found.group(1)) + 64 * int(found.group(2)), carried)
    check('State' not in place.attnc('explain', 'soft.yaml').stdout, 'a state that was not asked for')
    check('keys are' not in state('soft.yaml'), 'a state of keys that nothing is done to')
    rope = '--set', 'prepare=[rope]'
    check('keys are prepared once, when they are appended, and stored prepared' in state('soft.yaml', *rope),
          state('soft.yaml', *rope))
    half = state('soft.yaml', *rope, '--set', 'dtype=f16')
    check('attends to them, because prepared keys are not rounded' in half, half)
    check('prepared again for every token that attends to them' in state('elu.yaml', *rope), state('elu.yaml', *rope))


@case
def explain_counts_no_preparation_of_stored_keys(place):
    def work(title, *more):
        text = place.attnc('explain', 'soft.yaml', '--set', 'emit=[forward, decode]', *more).stdout
        return {int(row[0]): float(row[5]) for row in map(str.split, text.split(title)[1].splitlines()[2:6])}
    def tokens(prepare):
        more = '--set', 'prepare=[%s]' % prepare
        return work('appended to a state of prepared keys', *more), work('with one query and n keys', *more)
    plain = work('with one query and n keys')
    for prepare in 'rope', 'l2norm', 'layernorm':
        token, query = tokens(prepare)
        check(len(token) == 4, token)
        for n in token:
            check(plain[n] <= token[n] < plain[n] + 0.02 * plain[max(token)] < query[max(query)],
                  '%s at %d: %g, of plain keys %g' % (prepare, n, token[n], plain[n]))
        check(query[65536] > 1.05 * token[65536], '%s: %g for a query of forward, %g for a token'
              % (prepare, query[65536], token[65536]))


@case
def explain_counts_keys_that_one_query_sees(place):
    def read(mask):
        text = place.attnc('explain', 'soft.yaml', '--set', 'mask=' + mask).stdout
        text = text.split('with one query and n keys')[1].split('- FLOPs: ')[0]
        return {int(row[0]): float(row[6]) for row in map(str.split, text.splitlines()) if row and row[0].isdigit()}
    all_keys, window = read('causal'), read('{window: {left: 300}}')
    check(len(window) == 4 and max(window.values()) == min(window.values()) < 1.1 * 301 * 64 + 64, window)
    check(all_keys[65536] > 60 * all_keys[1024], all_keys)


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, elu=ELU))


def register(suite):
    for function in CASES:
        suite.case('decode-' + function.__name__, run, suite, function)
