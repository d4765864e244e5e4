"""Tests attnc bench and the costs of attnc explain. No case measures time."""
import json
import os
import pty
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

from cases import AFFINE, DENSE, DOCUMENTS, LENGTHS, LISTS, POLYNOMIAL, SKETCH, SOFTMAX, WRONG, Place, says, temporary_files
from suite import Failure, check

QUICK = ('--time', '0', '--quiet')   # the options for one call of each kernel
UNITS = {'AVX-512', 'AVX2', 'SSE4.2', 'NEON', 'vectors'}
UNITS_OF_BF16 = {'AMX', 'AVX512-BF16'}
CASES = []
FIELDS = ('spec dtype head_dim value_dim batch heads kv_heads key_heads threads length skipped form runs median_s best_s spread '
          'flops gflops peak_gflops peak_spread shaking share_of_peak pairs visited pairs_exact scalar_operations '
          'bytes flops_per_byte bandwidth_gbs bound expected_s measured_over_expected workspace_bytes '
           'would_take_s compiler pass saved_bytes over_forward unit finite flops_of_loops tokens tokens_per_s read_bytes read_gbs '
           'share_of_bandwidth state_bytes').split()
OF_BACKWARD = {'saved_bytes', 'over_forward'}   # the fields that exist only if backward is measured
OF_DECODE = set(FIELDS[FIELDS.index('tokens'):])
NOT_OF_DECODE = set('flops gflops peak_gflops peak_spread share_of_peak pairs visited pairs_exact scalar_operations '
                    'bytes flops_per_byte bound expected_s measured_over_expected flops_of_loops'.split())
ELU = ('name: elu\nsimilarity: {linear: {features: elu_plus_one}}\nmask: causal\nshape: {head_dim: 8}\n'
       'algorithm: linear\n')


def case(function):
    CASES.append(function)
    return function


def bench(place, *words, **options):
    return place.attnc('bench', *words, *QUICK, **options)


def results(place, *words, **options):
    return json.loads(bench(place, *words, '--json', **options).stdout)['results']


def near(a, b):
    return abs(a - b) <= 1e-6 * abs(b)


@case
def a_table(place):
    done = bench(place, 'soft.yaml', 'poly.yaml', '--lengths', '64,100')
    check(not done.stderr, '--quiet is not: ' + done.stderr)
    lines = done.stdout.splitlines()
    title = next(k for k, line in enumerate(lines) if line.lstrip().startswith('length'))
    for words in 'median', 'best', 'spread', 'GFLOP/s', 'of peak', 'of expected', 'bytes', 'workspace', 'x soft':
        check(words in lines[title], 'no column ' + words)
    rows = lines[title + 1:title + 5]
    check([row.split()[:2] for row in rows] == [['64', 'soft'], ['64', 'poly'], ['100', 'soft'], ['100', 'poly']],
          '\n'.join(rows))
    check(len({len(row) for row in rows}) == 1, 'the columns are not aligned:\n' + '\n'.join(rows))
    check(re.search(r'thread.*GFLOP/s at peak in f32.*GB/s of memory', done.stdout), done.stdout)
    check(place.files() == ['poly.yaml', 'soft.yaml'], 'left %s' % place.files())


@case
def json_adds_up(place):
    rows = results(place, 'soft.yaml', 'poly.yaml', '--lengths', '64,300', '--threads', '1,2')
    check([(r['threads'], r['length'], r['spec'])
           for r in rows] == [(t, n, s) for t in (1, 2) for n in (64, 300) for s in ('soft', 'poly')], str(rows))
    for r in rows:
        n, causal = r['length'], r['spec'] == 'soft'
        pairs = n * (n + 1) // 2 if causal else n * n
        check(set(r) == set(FIELDS) - OF_BACKWARD - OF_DECODE - {'skipped', 'would_take_s', 'spread'},
              'fields %s' % sorted(set(r) ^ set(FIELDS)))
        check(r['pairs'] == pairs and r['pairs_exact'] is True, '%s pairs' % r['pairs'])
        check(pairs <= r['visited'] <= pairs + 64 * n and (causal or r['visited'] == pairs),
              '%s pairs visited of %s' % (r['visited'], pairs))
        check(r['flops'] == pairs * (4 * 8 if causal else 2 * (8 + 4)), '%s FLOPs' % r['flops'])
        check(r['bytes'] == 4 * n * (4 * 8 if causal else 3 * 8 + 2 * 4 - 8), '%s bytes' % r['bytes'])
        check(near(r['gflops'], r['flops'] / r['best_s'] / 1e9)
              and near(r['share_of_peak'], r['gflops'] / r['peak_gflops']), 'GFLOP/s: %s' % r)
        check(near(r['measured_over_expected'], r['best_s'] / r['expected_s'])
              and near(r['flops_per_byte'], r['flops'] / r['bytes']), 'ratios: %s' % r)
        check(r['runs'] == 1 and r['best_s'] == r['median_s'] > 0, 'runs: %s' % r)
        check(r['form'] == 'quadratic' and r['bound'] in ('compute', 'memory') and r['workspace_bytes'] > 0, str(r))
    one, two = rows[0], rows[4]
    check(two['workspace_bytes'] == 2 * one['workspace_bytes'],
          'the workspace of two threads is not that of one, twice')


@case
def backward(place):
    """Each spec has two results, even if it does not ask for gradients."""
    place.write('asks.yaml', POLYNOMIAL.replace('poly', 'asks', 1) + 'emit: [forward, backward]\n')
    words = ['soft.yaml', 'asks.yaml', '--lengths', '40,300', '--heads', '4/2', '--backward']
    done = bench(place, *words, '--json=x.json', '--plot=x.svg')
    rows = json.loads(place.read('x.json'))['results']
    check([(r['length'], r['spec'], r['pass']) for r in rows]
          == [(n, s, p) for n in (40, 300) for s in ('soft', 'asks') for p in ('forward', 'backward')], str(rows))
    for forward, back in zip(rows[::2], rows[1::2]):
        n, soft = forward['length'], forward['spec'] == 'soft'
        pairs = 4 * (n * (n + 1) // 2 if soft else n * n)
        D, E = (8, 8) if soft else (8, 4)
        check(forward['pairs'] == back['pairs'] == pairs and back['pairs_exact'], 'pairs: %s' % back)
        check(forward['flops'] == pairs * 2 * (D + E) and back['flops'] == pairs * 2 * (3 * D + 2 * E),
              'three products of D and two of E: %s' % back)
        sweeps = round(back['visited'] / forward['visited'])   # one sweep for all gradients, or one for each
        check(1 <= sweeps <= 3 and sweeps * pairs <= back['visited'] <= sweeps * (pairs + 4 * 64 * n),
              'visited: %s' % back)
        check(near(back['over_forward'], back['best_s'] / forward['best_s']) and 'over_forward' not in forward,
              'over forward: %s' % back)
        check(forward['saved_bytes'] == back['saved_bytes'] >= 4 * 4 * n and back['form'] == 'quadratic', str(back))
        check(back['bytes'] > forward['bytes'] and back['workspace_bytes'] > 0, 'bytes: %s' % back)
    table = done.stdout.splitlines()
    title = next(line for line in table if line.lstrip().startswith('length'))
    for words in 'pass', 'saved', 'of forward', 'x soft':
        check(words in title, 'no column ' + words)
    check(len(re.findall(r'^ *(?:40|300) +4/2 +\w+ +(?:forward|backward) +quadratic', done.stdout, re.M)) == 8,
          done.stdout)
    text = ''.join(svg(place, 'x.svg')[0].itertext())
    check(all('%s, %s' % (s, p) in text for s in ('soft', 'asks') for p in ('forward', 'backward')), text)


GATED = ('name: gated\nsimilarity: {linear: {features: identity}}\nmask: causal\nnormalize: none\n'
         'decay: {log: "gate[b][h][t]"}\ndelta: {rate: "beta[b][h][t]"}\nshape: {head_dim: 8}\n'
         'arrays: {gate: {shape: [B, H, Nk]}, beta: {shape: [B, H, Nk]}}\n')


@case
def arrays_that_stay_finite(place):
    """Gates and rates are drawn so that a state stays bounded. A result that is not finite is said."""
    place.write('gated.yaml', GATED)
    rate = '"beta[b][h][t]"'
    place.write('sigmoid.yaml', GATED.replace('gated', 'sigmoid').replace(rate, '"1 / (1 + exp(-beta[b][h][t]))"'))
    place.write('grows.yaml', GATED.replace('gated', 'grows').replace(rate, '"9 + beta[b][h][t]"'))
    done = bench(place, 'gated.yaml', 'sigmoid.yaml', 'grows.yaml', '--lengths', '2k', '--backward', '--json=x.json',
                 '--limit', '100')
    rows = json.loads(place.read('x.json'))['results']
    for r in rows:
        check(r['finite'] == (r['spec'] != 'grows'), '%s is finite: %s' % (r['spec'], r['finite']))
        check(r['pairs'] <= r['visited'], '%s of %s visited pairs are useful' % (r['pairs'], r['visited']))
        check(r['flops'] <= r['flops_of_loops'], 'more useful FLOPs than loops have: %s' % r)
    said = re.findall(r'^! (\w+), \w+ at 2048: .* is not finite', done.stdout, re.M)
    check(said == ['grows', 'grows'], done.stdout)


BY_CHANNEL = ('name: channel\nsimilarity: {linear: {features: identity}}\nmask: causal\nnormalize: none\n'
              'decay: {log: "gate[b][h][t][d]"}\narrays: {gate: {shape: [B, H, Nk, D]}}\nshape: {head_dim: 16}\n')
GIVEN = ('name: given\nsimilarity: softmax\nmask: {expr: "seen[b][h][row][j]"}\n'
         'arrays: {seen: {shape: [B, H, Nq, Nk], type: bool}}\nshape: {head_dim: 8}\n')


@case
def explain_says_the_bytes_of_a_call(place):
    """explain's workspace and saved bytes are those that the compiled kernel's functions return."""
    specs = {'soft.yaml': SOFTMAX, 'elu.yaml': ELU, 'gated.yaml': GATED, 'channel.yaml': BY_CHANNEL, 'given.yaml': GIVEN,
             'bounded.yaml': 'name: bounded\nsimilarity: softmax\nshape: {head_dim: 8, max_length: 300}\n',
             'squares.yaml': GATED.replace('gated', 'squares').replace('{linear: {features: identity}}', 'softmax')
             .replace('normalize: none\n', '').replace('decay: {log: "gate[b][h][t]"}\n', '')
             .replace('gate: {shape: [B, H, Nk]}, ', '').replace('beta[b][h][t]', '0.1 * beta[b][h][t]')}
    for name, text in specs.items(): place.write(name, text)
    for name in specs:
        for threads in '1', '3':
            made = json.loads(bench(place, name, '--lengths', '40,300', '--threads', threads, '--backward',
                                    '--json').stdout)
            rows, target = made['results'], made['target']
            said = place.attnc('explain', name, '--backward', '--lengths', '40,300', '--threads', threads).stdout
            table = said.split('Bytes of memory')[1].split('\n\n')[0].splitlines()
            column = 1 + re.findall(r'workspace on (\S+)', table[1]).index(target)
            for r in rows:
                line = next(line.split() for line in table[2:] if line.split()[0] == str(r['length']))
                if r['pass'] == 'forward':
                    check(int(line[column]) == r['workspace_bytes'] and int(line[-1]) == r['saved_bytes'],
                          '%s, %s threads: explain says %s, and the kernel %d and %d' % (
                              name, threads, line, r['workspace_bytes'], r['saved_bytes']))


@case
def backward_that_there_is_not(place):
    place.write('sketch.yaml', SKETCH.replace('mask: causal\n', '') + 'algorithm: linear\nemit: [decode]\n')
    done = bench(place, 'sketch.yaml', '--lengths', '40', '--backward', status=1)
    check('cannot be decoded' in done.stderr and not done.stdout, done.stderr)


@case
def decode(place):
    place.write('elu.yaml', ELU)
    words = ['soft.yaml', 'elu.yaml', '--decode', '--lengths', '40,2k', '--heads', '4/2', '--batch', '3']
    done = bench(place, *words, '--json=x.json', '--plot=x.svg')
    rows = json.loads(place.read('x.json'))['results']
    check([(r['length'], r['spec'], r['form'], r['pass']) for r in rows]
          == [(n, s, f, 'decode') for n in (40, 2048) for s, f in (('soft', 'few'), ('elu', 'linear'))], str(rows))
    for r in rows:
        check(set(r) == set(FIELDS) - NOT_OF_DECODE - OF_BACKWARD - {'skipped', 'would_take_s', 'spread'},
              'fields %s' % sorted(set(r) ^ set(FIELDS)))
        check(near(r['tokens_per_s'], 3 / r['best_s']) and near(r['read_gbs'], r['read_bytes'] / r['best_s'] / 1e9)
              and near(r['share_of_bandwidth'], r['read_gbs'] / r['bandwidth_gbs']), 'a second: %s' % r)
    few, carried = rows[::2], rows[1::2]
    text = place.attnc('explain', 'elu.yaml', '--set', 'emit=[forward, decode]').stdout
    of_head, = map(int, re.findall(r'(\d+) bytes for every sequence and (?:key/value )?head, however', text))
    chunk, = map(int, re.findall(r'carried over chunks of (\d+) keys', text))
    for r, n in zip(few, (40, 2048)):   # a token reads n + 8 keys and values on average
        check(r['tokens'] == 16 and r['read_bytes'] == 3 * 4 * (2 * (n + 8) * (8 + 8) + 4 * 8), 'softmax: %s' % r)
        check(0 <= r['state_bytes'] - 3 * 4 * 2 * (n + 16) * (8 + 8) < 1024, 'the state of softmax: %s' % r)
    check(len({(r['state_bytes'], r['read_bytes'], r['tokens']) for r in carried}) == 1, 'it grows: %s' % carried)
    for r in carried:
        check(r['tokens'] == chunk and 3 * 2 * of_head <= r['state_bytes'] < 3 * 4 * of_head + 1024,
              '%s tokens of %s, a state of %s' % (r['tokens'], chunk, r['state_bytes']))
        check(r['read_bytes'] < r['state_bytes'], str(r))
    table = done.stdout.splitlines()
    title = next(line for line in table if line.lstrip().startswith('position'))
    for words in 'heads', 'form', 'tokens/s', 'reads', 'GB/s', 'of memory', 'state', 'x soft':
        check(words in title, 'no column ' + words)
    check('of peak' not in title and 'of expected' not in title and 'Batch 3.' in done.stdout, done.stdout)
    check(re.search(r'thread.*: [\d.]+ GB/s read from memory', done.stdout), done.stdout)
    root, every = svg(place, 'x.svg')
    text = ''.join(root.itertext())
    for words in 'Time of a token against position', 'time of one token', 'position: tokens before it', 'soft', 'elu':
        check(words in text, 'no %r in the picture' % words)
    check(len(every('polyline')) == 2 and len(every('circle')) == 4, 'other curves')


@case
def decode_of_every_kind(place):
    shape = 'shape: {head_dim: 8}\n'
    specs = {'window': 'similarity: softmax\nmask: {window: {left: 30}}\n' + shape,
             'documents': 'similarity: softmax\nmask: {all: [document, causal]}\n' + shape,
             'sketch': SKETCH + 'algorithm: linear\n',
             'blocks': ELU.replace('mask: causal', 'mask: {all: [causal, {block_window: {block: 16, left: 1}}]}'),
             'half': SOFTMAX + 'dtype: f16\n'}
    for name, text in specs.items():
        place.write(name + '.yaml', re.sub('name: .*', 'name: ' + name, text))
    rows = results(place, *(name + '.yaml' for name in specs), '--decode', '--lengths', '1,250', '--batch', '2',
                   '--threads', '1')
    check([r.get('spec') for r in rows if r.get('best_s')] == 2 * list(specs), str(rows))
    window, documents, half = ({r['length']: r for r in rows if r['spec'] == name}
                               for name in ('window', 'documents', 'half'))
    check(window[1]['state_bytes'] == window[250]['state_bytes'] and window[250]['tokens'] == 64, str(window))
    check(window[250]['read_bytes'] < 2 * 4 * (2 * 31 * 8 + 8) * 1.5, 'more than the window: %s' % window)
    check(documents[250]['read_bytes'] > documents[1]['read_bytes'], str(documents))
    check(half[250]['read_bytes'] == 2 * 2 * ((250 + 8) * (8 + 8) + 8), str(half))


@case
def decode_that_cannot_be(place):
    place.write('linformer.yaml', 'similarity: softmax\nproject: {linformer: {size: 16}}\nshape: {head_dim: 8}\n')
    for spec, why in ('poly.yaml', 'without a mask a query sees keys after its own'), ('linformer.yaml', "'project'"):
        done = bench(place, 'soft.yaml', spec, '--decode', '--json=x.json', status=1)
        check(why in done.stderr and 'cannot be decoded' in done.stderr and not done.stdout
              and '--decode asks for a state' in done.stderr and "'emit' asks" not in done.stderr, done.stderr)
        check('x.json' not in place.files(), 'it measured the other spec')
    done = bench(place, 'soft.yaml', '--decode', '--lengths', '16,64M', '--heads', '4096', '--json=x.json')
    check(re.search(r'67108864 +4096 +soft +left out: its state, arrays and workspace take [\d.]+ TiB', done.stdout),
          done.stdout)
    place.write('elu.yaml', ELU)
    rows = results(place, 'soft.yaml', 'elu.yaml', '--decode', '--lengths', '64,1M', '--limit', '1e-9')
    check(all('to reach the position and ' in r['skipped'] and r['would_take_s'] > 0 for r in rows), str(rows))


@case
def several_runs(place):
    rows = json.loads(place.attnc('bench', 'soft.yaml', 'poly.yaml', '--lengths', '32', '--time', '0.05', '--quiet',
                                  '--json').stdout)['results']
    check(all(r['runs'] >= 3 and 0 < r['best_s'] <= r['median_s'] and r['spread'] >= 0 for r in rows), str(rows))


@case
def heads_and_batches(place):
    rows = results(place, 'soft.yaml', '--lengths', '40', '--heads', '1,6/2', '--batch', '3')
    check([(r['batch'], r['heads'], r['kv_heads']) for r in rows] == [(3, 1, 1), (3, 6, 2)], str(rows))
    check(rows[1]['flops'] == 6 * rows[0]['flops'] and rows[1]['bytes'] == 3 * 40 * 4 * 8 * (2 * 6 + 2 * 2),
          str(rows[1]))
    table = bench(place, 'soft.yaml', '--lengths', '40', '--heads', '1,6/2').stdout
    check(re.search(r'^ *40 +6/2 +soft', table, re.M), table)


@case
def lengths_double(place):
    check([r['length'] for r in results(place, 'soft.yaml', '--lengths', '100,16..128,1k..1k,32')] == [
        16, 32, 64, 100, 128, 1024], 'other lengths')


@case
def every_type_and_parameter(place):
    for name, text in ('affine', AFFINE), ('dense', DENSE), ('documents', DOCUMENTS), ('sketch', SKETCH):
        place.write(name + '.yaml', text)
    specs = ['affine.yaml', 'dense.yaml', 'documents.yaml', 'sketch.yaml']
    rows = results(place, *specs, '--lengths', '50,700')
    check([r['spec'] for r in rows] == 2 * ['affine', 'dense', 'documents', 'sketch'], str(rows))
    check([r['form'] for r in rows if r['spec'] == 'sketch'] == ['quadratic', 'linear'],
          'the sketch is not linear where it is long')
    single = results(place, 'affine.yaml', '--lengths', '50')[0]
    check(single['unit'] in UNITS, str(single))
    for dtype, size in ('f64', 2), ('bf16', 0.5), ('f16', 0.5):
        row = results(place, 'affine.yaml', '--lengths', '50', '--set', 'dtype=' + dtype)[0]
        check(row['dtype'] == dtype and row['flops'] == single['flops'], str(row))
        check(row['unit'] in UNITS_OF_BF16 | {single['unit']} if dtype == 'bf16' else row['unit'] == single['unit'],
              'the unit of %s: %s' % (dtype, row['unit']))
        params = 4 * 4 * 8 * (2 if dtype == 'f64' else 1)
        check(row['bytes'] - params == size * (single['bytes'] - 4 * 4 * 8),
              '%s: %s bytes, of f32 %s' % (dtype, row['bytes'], single['bytes']))


@case
def documents(place):
    place.write('documents.yaml', DOCUMENTS)
    for length in 1000, 7:
        words = ['--document', str(length)] if length == 7 else []
        top = json.loads(bench(place, 'documents.yaml', '--lengths', '50', '--json', *words).stdout)
        check(top['document'] == length and top['results'][0]['pairs'] == (2500 if length == 1000 else 7 * 49 + 1),
              str(top))
        check(': %d consecutive positions' % length in bench(place, 'documents.yaml', '--lengths', '50', *words).stdout,
              'the table does not say what ids there were')


@case
def assumed_integers(place):
    """In the first spec, half of the keys are padding. In the second, 2 of 25 blocks of two keys are listed."""
    for name, text, pairs, word in (('padded', LENGTHS, 50 * 25, 'padding'), ('lists', LISTS, 50 * 4, 'Lists of blocks')):
        place.write(name + '.yaml', text)
        top = json.loads(bench(place, name + '.yaml', '--lengths', '50', '--json').stdout)
        check('document' not in top and top['results'][0]['pairs'] == pairs, str(top))
        check(word in bench(place, name + '.yaml', '--lengths', '50').stdout, 'the table does not say what is assumed')


@case
def names_that_are_the_same(place):
    place.write('a, "b" <&>.yaml', SOFTMAX)
    words = ['soft.yaml', 'a, "b" <&>.yaml', '--lengths', '20,30']
    rows = results(place, *words, '--plot', 'x.svg')
    check({r['spec'] for r in rows} == set(words[:2]), str({r['spec'] for r in rows}))
    check(words[1] in ''.join(xml.etree.ElementTree.parse(place.path('x.svg')).getroot().itertext()),
          'not named in the picture')


def svg(place, name):
    root = xml.etree.ElementTree.parse(place.path(name)).getroot()
    tag = '{http://www.w3.org/2000/svg}'
    check(root.tag == tag + 'svg', root.tag)
    return root, lambda what: root.findall('.//' + tag + what)


@case
def a_picture(place):
    bench(place, 'soft.yaml', 'poly.yaml', '--lengths', '32..256', '--plot', 'out.svg')
    root, every = svg(place, 'out.svg')
    text = ''.join(root.itertext())
    for words in 'soft', 'poly', 'at 256', 'time of one call', 'length: queries and keys', 'prefers-color-scheme: dark':
        check(words in text, 'no %r in the picture' % words)
    check(len(every('polyline')) == 2 and len(every('circle')) == 8,
          '%d lines, %d points' % (len(every('polyline')), len(every('circle'))))
    check('expected' not in text and not [l for l in every('polyline') if 'stroke-dasharray' in l.attrib],
          'dashes, but all was measured')
    check('href' not in place.read('out.svg').decode() and 'url(' not in place.read('out.svg').decode(),
          'it needs another file')
    width, height = (float(root.attrib[name]) for name in ('width', 'height'))
    for circle in every('circle'):
        check(0 < float(circle.attrib['cx']) < width and 0 < float(circle.attrib['cy']) < height, 'a point outside')
    bench(place, 'soft.yaml', '--lengths', '64', '--threads', '1,2', '--heads', '1,2', '--plot', 'one.svg')
    text = ''.join(svg(place, 'one.svg')[0].itertext())
    check(all('soft, %d heads, %d thread' % (h, t) in text for h in (1, 2) for t in (1, 2)), text)


@case
def what_would_take_too_long_is_left_out(place):
    done = bench(place, 'soft.yaml', '--lengths', '256,1M', '--limit', '0.2', '--plot', 'x.svg', '--json=x.json')
    check(re.search(r'1048576 +soft +left out: a call would take about .* s, more than --limit', done.stdout),
          done.stdout)
    first, last = json.loads(place.read('x.json'))['results']
    check('runs' in first and 'skipped' in last and last['would_take_s'] > 0.2 and 'best_s' not in last, str(last))
    root, every = svg(place, 'x.svg')
    check(len(every('circle')) == 1 and len([l for l in every('polyline') if 'stroke-dasharray' in l.attrib]) == 1,
          'no dashes')
    check('at 1M, expected' in ''.join(root.itertext()), 'the picture does not say what was not measured')
    check(all('skipped' in r for r in results(place, 'soft.yaml', '--lengths', '64,128', '--limit', '0')),
          '--limit 0 leaves something')


@case
def what_does_not_fit_is_left_out(place):
    done = bench(place, 'soft.yaml', '--lengths', '16,64M', '--heads', '4096', '--json=x.json')
    check(re.search(r'67108864 +4096 +soft +left out: its arrays and workspace take [\d.]+ TiB, and .* are free',
                    done.stdout), done.stdout)
    rows = json.loads(place.read('x.json'))['results']
    check(rows[0]['flops'] > 0 and 'TiB' in rows[1]['skipped'], str(rows))


def all_of(terminal):
    """Returns what was written to a terminal whose other end is closed, and closes it. A read may return a part."""
    said = b''
    try:
        while part := os.read(terminal, 65536): said += part
    except OSError: pass   # the end
    os.close(terminal)
    return said


@case
def progress(place):
    done = place.attnc('bench', 'soft.yaml', '--lengths', '16,32', '--threads', '1', '--time', '0')
    lines = [line for line in done.stderr.splitlines()
             if not line.startswith(('compiling', 'attnc: warning: '))]   # A busy machine causes warnings.
    check(lines == ['attnc: 1/2: length 16, 1 head, 1 thread', 'attnc: 2/2: length 32, 1 head, 1 thread'], done.stderr)
    master, slave = pty.openpty()
    process = subprocess.Popen([place.suite.attnc, 'bench', 'soft.yaml', '--lengths', '16', '--time', '0'],
                               cwd=place.folder, env=place.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    out = process.communicate(timeout=120)[0].decode()
    seen = re.sub(r'attnc: warning: [^\n]*\n', '', all_of(master).decode())
    check('\r\x1b[K[1/1] length 16' in seen and seen.rstrip().endswith('\x1b[K'), 'on a terminal: %r' % seen)
    check('\x1b' not in out and 'soft' in out, out)


@case
def interrupted(place):
    """After a signal, attnc bench prints the results so far and ends by this signal."""
    for number in signal.SIGINT, signal.SIGTERM:
        words = ['bench', 'soft.yaml', '--lengths', '64,1M', '--limit', '1e9', '--time', '0', '--threads', '1',
                 '--json=x.json', '--plot=x.svg']
        process = subprocess.Popen([place.suite.attnc, *words], cwd=place.folder, env=place.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if '2/2' in line:
                    break
            else:
                raise Failure('it ended by itself')
            time.sleep(1.5)
            process.send_signal(number)
            out, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            raise Failure('it does not end')
        finally:
            process.kill()
        check(process.returncode == -number, 'exit status %d' % process.returncode)
        check(re.search(r'^ *64 +soft +quadratic', out, re.M) and '1048576' not in out
              and 'Interrupted: 2 of 2 points were started' in out, out)
        top = json.loads(place.read('x.json'))
        check(top['interrupted'] is True and [r['length'] for r in top['results']] == [64], str(top))
        check(svg(place, 'x.svg'), 'the picture is not what it should be')
        check(place.files() == ['poly.yaml', 'soft.yaml', 'x.json', 'x.svg'], 'left %s' % place.files())


@case
def a_spec_that_is_wrong(place):
    place.write('wrong.yaml', WRONG)
    done = bench(place, 'soft.yaml', 'wrong.yaml', '--json=x.json', status=1)
    check('wrong.yaml:2:13: error' in done.stderr and not done.stdout and 'x.json' not in place.files(),
          done.stdout + done.stderr)


@case
def a_machine_that_fails(place):
    with open('/dev/full', 'w') as full:
        bench(place, 'soft.yaml', '--lengths', '16', status=3, stdout=full)
    bench(place, 'soft.yaml', '--lengths', '16', status=3,
          env={'ATTNC_CC': '/bin/false', 'XDG_CACHE_HOME': place.path('cache')})
    os.mkdir(place.path('folder'))
    done = bench(place, 'soft.yaml', '--plot', 'folder', status=3)
    check(not done.stdout, 'measured first, then found that the file cannot be written')
    check(not temporary_files(place.folder), 'left %s' % place.files())


@case
def explain_has_costs(place):
    place.write('sketch.yaml', SKETCH)
    text = place.attnc('explain', 'sketch.yaml', '--lengths', '16,4k').stdout
    rows = re.findall(r'^ +(16|4096) +(quadratic|linear)(?: +\S+){6} +(compute|memory)', text, re.M)
    check([row[:2] for row in rows] == [('16', 'quadratic'), ('4096', 'linear')], text)
    check('this machine' not in text and 'expected' not in text, 'it depends on the machine')
    check(text == place.attnc('explain', 'sketch.yaml', '--lengths', '16,4k',
                              env={'OMP_NUM_THREADS': '7', 'HOME': '/'}).stdout, 'not the same each time')
    core = r'a core of x86-64-v4: 64 FLOPs%s and 4 bytes of memory a cycle\n'
    check(re.search(core % '', text), text)
    text = place.attnc('explain', 'soft.yaml', '--set', 'dtype=bf16', '--lengths', '8k').stdout
    check(re.search(core % r' \(products of bf16 on matrix units, AMX: 1024\)', text)
          and 'for products on matrix units, below 256.0' in text
          and re.search('^  x86-64-v4 .* quadratic on matrix units: tiles', text, re.M), text)
    narrow = place.attnc('explain', 'soft.yaml', '--set', 'dtype=bf16', '--target', 'x86-64-v3').stdout
    check('matrix units' not in narrow, narrow)


@case
def explain_has_gradients(place):
    """The parts and costs are the same with `emit: [backward]` and with --backward."""
    words = ['explain', 'soft.yaml', '--lengths', '100,4k']
    check('Gradients' not in place.attnc(*words).stdout, 'there are gradients that nobody asked for')
    text = place.attnc(*words, '--backward').stdout
    check(text == place.attnc(*words, '--set', 'emit=[forward, backward]').stdout,
          '--backward is not what emit asks for')
    part = text[text.index('Gradients'):text.index('\nTargets')]
    parts = re.search('parts, one after the other: (.*)\n  forward saves 4 bytes a row and head', part)
    check(parts, part)
    made = [names for names in parts[1].split('; ') if names.startswith('d')]
    check(sorted(', '.join(made).split(', ')) == ['dk', 'dq', 'dv'], 'parts: ' + parts[1])
    rows = re.findall(r'^ +(100|4096) +quadratic +(\S+) +(\S+) +(\S+)% +\S+ +(\S+) +\S+ +(?:compute|memory)',
                      part, re.M)
    check([row[0] for row in rows] == ['100', '4096'], part)
    for n, flops, visited, useful, bytes_ in (map(float, row) for row in rows):
        pairs = n * (n + 1) / 2
        check(abs(flops / (pairs * 10 * 8) - 1) < 1e-3, '%g FLOPs for %g pairs' % (flops, pairs))
        # one sweep computes all gradients
        check(pairs < visited * 1.001 <= pairs + 65 * n and abs(visited * useful / 100 / pairs - 1) < 0.02, part)
        once = 4 * n * (8 * 8 + 2)   # the bytes of four inputs, out, three gradients, saved values and sums of rows
        check(once <= bytes_ * 1.001 <= 2 * once, '%g bytes' % bytes_)
    place.write('sketch.yaml', SKETCH + 'emit: [forward, backward]\n')
    text = place.attnc('explain', 'sketch.yaml', '--lengths', '4k').stdout
    check(re.search(r'^  parts, one after the other: .*d[qkv].*\n  forward saves (nothing|\d+ bytes)', text, re.M),
          text)


def table_of(place, mask, n):
    """Returns the visited pairs, the percentage of useful pairs, and the work, for one length."""
    place.write('mask.yaml', 'similarity: softmax\nshape: {head_dim: 64}\nmask: %s\n' % mask)
    text = place.attnc('explain', 'mask.yaml', '--lengths', str(n)).stdout
    row = re.search(r'^ +%d +quadratic +(\S+) +(\S+) +(\S+)%% +(\S+) ' % n, text, re.M)
    check(row, text)
    flops, visited, useful, work = map(float, row.groups())
    check(abs(flops / (visited * useful / 100 * 256) - 1) < 0.03,
          'useful is not what the mask leaves of what is visited: ' + row[0])
    check(work > visited * 256, 'work of less than is visited: ' + row[0])
    return visited, useful, work


@case
def explain_costs_what_is_visited(place):
    n = 8192
    for mask, most in (('{expr: "j <= i && (i - j < 64 || j % 64 >= 60)"}', n / 32 + 140),
                       ('{window: {left: 128, right: 128, dilation: 5}}', 257 + 64),
                       ('{expr: "j <= i && (i - j) % 32 == 0"}', n / 64 + 64),
                       ('{expr: "j <= i && j / 256 % 8 == 3"}', n / 16 + 200)):
        visited, useful, _ = table_of(place, mask, n)
        check(visited <= n * most and useful > 45, '%s: %g visited, %g%% useful' % (mask, visited, useful))
    # The mask has no period, so every pair is visited.
    visited, useful, work = table_of(place, '{expr: "(i * j) % 97 == 0"}', n)
    check(abs(visited / n / n - 1) < 0.001 and useful < 3, '%g visited, %g%% useful' % (visited, useful))


@case
def help_of_its_own(place):
    text = place.attnc('bench', '--help').stdout
    check(len(text.splitlines()) <= 24 and max(map(len, text.splitlines())) <= 80, 'it does not fit a screen')
    for word in '--lengths --threads --heads --batch --document --seed --time --limit --json --plot --decode'.split():
        check(word in text, 'no ' + word)


# Each value is (arguments of attnc, words of the message).
USAGE = {
    'bench_without_spec': ((), ['bench']),
    'bench_lengths_zero': (('soft.yaml', '--lengths', '0'), ['--lengths', "'0'"]),
    'bench_lengths_fall': (('soft.yaml', '--lengths', '8..4'), ['8..4']),
    'bench_lengths_too_large': (('soft.yaml', '--lengths', '65M'), ['64M', '65M']),
    'bench_lengths_not_numbers': (('soft.yaml', '--lengths', '1,two'), ['1,two']),
    'bench_lengths_end_in_a_comma': (('soft.yaml', '--lengths', '1,'), ["'1,'"]),
    'bench_lengths_too_many': (('soft.yaml', '--lengths', ','.join(map(str, range(1, 66)))), ['64 numbers']),
    'bench_heads_no_multiple': (('soft.yaml', '--heads', '8/3'), ['8/3']),
    'bench_threads_zero': (('soft.yaml', '--threads', '1,0'), ['--threads', '1,0']),
    'bench_batch_zero': (('soft.yaml', '--batch', '0'), ['--batch']),
    'bench_time_negative': (('soft.yaml', '--time', '-1'), ['--time', "'-1'"]),
    'bench_limit_not_a_number': (('soft.yaml', '--limit', 'nan'), ['--limit', 'nan']),
    'bench_document_zero': (('soft.yaml', '--document', '0'), ['--document']),
    'bench_two_on_standard_output': (('soft.yaml', '--json', '--plot=-'), ['--json', '--plot', 'standard output']),
    'bench_two_in_one_file': (('soft.yaml', '--json=x', '--plot', 'x'), ['--json', '--plot', 'x']),
    'bench_backward_and_decode': (('soft.yaml', '--backward', '--decode'), ['--backward', '--decode']),
}


def usage(folder, suite, name, words, needles):
    place = Place(suite, folder, soft=SOFTMAX)
    words = ('bench', *words)
    done = place.attnc(*words, status=2)
    says(suite, place, name, words, done, needles)
    check(not done.stdout, 'a failure writes to standard output')


def option_of_another(folder, suite):
    place = Place(suite, folder, soft=SOFTMAX)
    words = ('run', 'soft.yaml', '--lengths', '4')
    says(suite, place, 'lengths_of_run', words, place.attnc(*words, status=2), ['bench', 'check', 'explain'])


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL))


def register(suite):
    for function in CASES:
        suite.case('bench-' + function.__name__, run, suite, function)
    for name, (words, needles) in USAGE.items():
        suite.case('usage-' + name, usage, suite, name, words, needles)
    suite.case('usage-lengths_of_run', option_of_another, suite)
