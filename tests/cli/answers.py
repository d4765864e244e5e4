"""Tests outputs of the commands: verdicts of check, warnings, explain, names of specs, help pages."""
import glob
import json
import os
import re
import sys

import yaml

from cases import POLYNOMIAL, SOFTMAX, Place, says
from suite import ROOT, WHOLE, check, execute

CASES = []
EXP = 'name: exponential\nsimilarity: {custom: {weight: "%s"}}\nmask: causal\nshape: {head_dim: 64}\n'
CANCELS = 'name: cancels\nsimilarity: {polynomial: {degree: 4, alpha: -1}}\nnormalize: none\nshape: {head_dim: 2}\n'
HEDGEHOG = ('name: hedgehog\nsimilarity: {linear: {features: hedgehog}}\nalgorithm: quadratic\nshape: {head_dim: 4}\n'
            'emit: [forward, backward]\n')
ALONE = ('--target', 'generic')

LARGE = 'similarity: {softmax: {scale: 3}}\nnormalize: none\nshape: {head_dim: 64}\n'


def case(function):
    CASES.append(function)
    return function


def compiler(place, name, script):
    """Makes a compiler that runs a script on the source $file and then gcc. Returns the environment that selects
    it."""
    place.write(name, '#!/bin/sh\nfile=; for word in "$@"; do case $word in *.c) file=$word ;; esac; done\n'
                '%s\nexec gcc "$@"\n' % script)
    os.chmod(place.path(name), 0o755)
    return {'ATTNC_CC': name, 'PATH': place.folder + os.pathsep + os.environ['PATH'],
            'XDG_CACHE_HOME': place.path('cache')}


def spoiled(name, result, words, before='', after=''):
    """Returns a script that adds statements before and after each call of an entry point of the kernel, which writes
    the array `result`. `words` are the arguments after v."""
    call = 'float *const made = %s; { float *const %s = made; %s; const int error = soft_%s(problem, params, q, k, v, %s); ' \
        '%s; return error; }' % (result, result, before, name, words, after)
    return r'''
case $file in */soft.c) sed -i '/^static int %s_any(/i #include <time.h>
/^static int %s_any(/,/^}/{
s/^    return .*/    %s/
/^        /d
}' "$file" ;; esac
''' % (name, name, re.sub(r'[&/]', r'\\\g<0>', call))


def wrapped(before='', after=''):
    return spoiled('forward', 'out', 'out, workspace', before, after)


# ---------------------------------------------------------------- check

@case
def a_verdict(place):
    words = ['check', 'soft.yaml', 'poly.yaml', *ALONE, *([] if WHOLE else ['--lengths', '1,40'])]
    done = place.attnc(*words, timeout=300)
    line = r'%s: ok; the largest error is [0-9.e-]+ of the tolerance, in out\[\d+, \d+, \d+, \d+\] with \d+ queries and \d+ keys\n'
    check(re.fullmatch(line % 'soft' + line % 'poly', done.stdout), done.stdout)
    said = place.attnc(*words, '--verbose', timeout=300).stdout
    check(done.stdout.splitlines()[0] in said and said.endswith(done.stdout.splitlines()[1] + '\n'), said)
    check(re.match(r'soft: sequences x queries x keys .*\n generic, quadratic\n  simplify ', said) and '\n  lower  ' in said
          and '\n  the compiled kernel  ' in said, said)
    done = place.attnc('check', 'soft.yaml', *ALONE, '--quiet')
    check(not done.stdout and not done.stderr, '--quiet says ' + done.stdout + done.stderr)


@case
def passes_of_gradients(place):
    place.write('hedgehog.yaml', HEDGEHOG)
    done = place.attnc('check', 'hedgehog.yaml', *ALONE, '--lengths', '1,20', '--heads', '2/1', '--verbose', timeout=300)
    part, passes = None, {}
    for line in done.stdout.splitlines():
        part = line if re.match(' [^ ]', line) else part
        if re.match('  [a-z_]+ .* of the row', line): passes.setdefault(part, []).append(line.split()[0])
    check(list(passes) == [' generic, quadratic'] + [' generic, quadratic, backward: ' + name for name in (
        'what is saved', 'sums of rows', 'dq', 'dk, dv', 'dfeatures.wq', 'dfeatures.wk')], done.stdout)
    check(all(names[0] == 'differentiate' and names[-1] == 'register_block' and 'lower' in names and 'bound' in names
              for part, names in passes.items() if 'backward' in part), passes)
    check(re.search('  gradients +[0-9.e-]+ of central differences\n.*  the kernel.s gradients', done.stdout,
                    re.DOTALL), done.stdout)


@case
def a_wrong_kernel(place):
    environment = compiler(place, 'wrongcc', 'case $file in */soft.c) sed -i "s/0\\.5100697/0.25/" "$file" ;; esac')
    place.attnc('soft.yaml', *ALONE)
    check('0.5100697' in place.read('soft.c').decode(),
          'the scale is not in the C, so that this compiler would do nothing')
    for quiet in [], ['--quiet']:
        done = place.attnc('check', 'soft.yaml', *ALONE, *quiet, status=1, env=environment)
        check(re.search(r'error: soft: the compiled kernel is wrong by .*, out\[\d, \d, \d+, \d\] is ', done.stderr),
              done.stderr)
        check(not done.stdout if quiet else
              re.fullmatch('  the compiled kernel +.* of the tolerance   WRONG\nsoft: wrong\n', done.stdout), done.stdout)
    # The kernel returns one NaN among correct numbers.
    environment = compiler(place, 'nancc', wrapped(after='out[0] = __builtin_nanf("");'))
    done = place.attnc('check', 'soft.yaml', *ALONE, status=1,
                       env={**environment, 'XDG_CACHE_HOME': place.path('other')})
    check('out[0, 0, 0, 0] is nan, expected' in done.stderr, done.stderr)


@case
def a_kernel_that_is_wrong_for_some_calls(place):
    """Each of four kernels is wrong in one case: for a second sequence, for a piece of a sequence, without queries,
    or for some gradients alone."""
    for number, (name, result, words, spoil, said) in enumerate((
            ('forward', 'out', 'out, workspace',
             'if (problem->batch > 1) out[problem->heads * problem->n_q * 3] += 1', 'out[1, 0, 0, 0] is'),
            ('extend', 'out', 'out, state, workspace',
             'if (out && problem->n_q != problem->capacity) out[0] += 1', "the compiled kernel's extend is wrong"),
            ('extend', 'out', 'out, state, workspace',
             'for (size_t at = problem->state_bytes / 2; !out && at < problem->state_bytes; at++) ((char *)state)[at] ^= 64',
             'after extend without queries, results have other bits than after extend with queries'),
            ('backward', 'dv', 'out, dout, dq, dk, dv, gradients, workspace',
             'if (!dq && !dk) dv[0] += 1', 'dv has different bits if only it is requested'))):
        place.write('soft.yaml', 'similarity: softmax\nmask: causal\nshape: {head_dim: 4, value_dim: 3}\n'
                    'emit: [forward, backward, decode]\n')
        script = spoiled(name, result, words, after=spoil)
        environment = compiler(place, 'cc-%d' % number, script) | {'XDG_CACHE_HOME': place.path('cache-%d' % number)}
        done = place.attnc('check', 'soft.yaml', *ALONE, '--lengths', '7', status=1, env=environment)
        check(said in done.stderr and done.stdout.endswith('soft: wrong\n'), done.stdout + done.stderr)


@case
def lengths_and_heads_of_check(place):
    done = place.attnc('check', 'soft.yaml', *ALONE, '--lengths', '5,700', '--heads', '2,6/2', '--verbose')
    check(re.search(r'^soft: sequences x queries x keys 2x5x5, 3x5x5, 1x187x700, 2x31x700;', done.stdout)
          and '\nsoft: ok; ' in done.stdout, done.stdout)
    # without an option, a linear form for long sequences is also checked
    done = place.attnc('check', 'sketch.yaml', *ALONE, '--verbose', timeout=300)
    length = re.search(r'less work from (\d+) keys on', place.attnc('explain', 'sketch.yaml', *ALONE).stdout)[1]
    check(re.search('of the kernel also [23]x3x%s;' % length, done.stdout), done.stdout)
    for words in ['--lengths', '1M'], ['--heads', '65']:
        check('interpreter' in place.attnc('check', 'soft.yaml', *words, status=2).stderr, 'no reason')


@case
def rows_that_cancel(place):
    """(s - 1)^4 for s near 1 changes by more than 1e-9 if features are added in another order."""
    place.write('cancels.yaml', CANCELS)
    done = place.attnc('check', 'cancels.yaml', *ALONE, '--lengths', '1', '--heads', '64', '--seed', '3', '--verbose')
    check('of a row that cancels' in done.stdout and '\ncancels: ok; ' in done.stdout, done.stdout)


@case
def results_that_f32_cannot_hold(place):
    """If weights overflow f32, attnc check says that it cannot compare the kernel."""
    place.write('large.yaml', LARGE)
    done = place.attnc('check', 'large.yaml', *ALONE, status=1)
    check(done.stderr == 'attnc: error: large: the weights of random arrays overflow f32, '
          'so the kernel cannot be compared\n', done.stderr)
    check(place.attnc('check', 'large.yaml', *ALONE, '--set', 'dtype=f64').stdout.startswith('large: ok; '), 'f64 holds them')


@case
def costs_of_a_mask_with_ids_and_words(place):
    """explain must not test all 32k x 32k pairs, which would take minutes."""
    lengths = [] if WHOLE else ['--lengths', '32k']   # otherwise to 64k, in four times the time
    done = place.attnc('explain', os.path.join(ROOT, 'tests', 'spec', 'good', 'mask_words.yaml'), *lengths, timeout=120 if WHOLE else 60)
    check('Parameters\n  document' in done.stdout, done.stdout)


# ---------------------------------------------------------------- exponentials that overflow

@case
def an_exponential_that_overflows(place):
    """Tests rows of (weight, words of --set, whether there is a warning)."""
    for weight, words, warned in (('exp(s) + 1', [], True), ('2 + exp(0.5 * s) / (1 + exp(s))', [], True),
                                  ('pow(2.0, s) + 1', [], True), ('log(1 + exp(s))', [], True),
                                  ('exp(s)', [], False), ('exp(s) * (1 + s * s)', [], False),
                                  ('exp(-s * s) + 1', [], False), ('1 / (1 + exp(-s))', [], False),
                                  ('exp(fmin(s, 60.0)) + 1', [], False), ('exp(s) + 1', ['prepare=[l2norm]'], False),
                                  ('exp(s) + 1', ['prepare=[layernorm]'], False),
                                  ('exp(s) + 1', ['prepare=[layernorm]', 'shape.head_dim=128'], True),
                                  ('exp(s)', ['normalize=none'], False)):
        place.write('e.yaml', EXP % weight)
        said = place.attnc('explain', 'e.yaml', *(w for word in words for w in ('--set', word))).stderr
        check(('warning' in said) == warned, '%s, %s: %s' % (weight, words, said or 'no warning'))
        check(not warned or 'e.yaml:2:%d: warning: ' % (32 + re.search('exp|pow', weight).start()) in said,
              '%s: another place: %s' % (weight, said))
    place.write('e.yaml', EXP % 'exp(s) + 1')
    words = ('check', 'e.yaml', *ALONE, '--lengths', '3')
    done = place.attnc(*words, env=compiler(place, 'mycc', ''))
    check(done.stderr.startswith('e.yaml:2:32: warning: ') and done.stderr.count('\n') == 5, done.stderr)
    check(not place.attnc('check', 'e.yaml', *ALONE, '--lengths', '3', '--quiet').stderr, '--quiet is not')
    check("in 'exp(s) + 2'" in place.attnc('explain', 'e.yaml', '--set', 'similarity.custom.weight=exp(s) + 2').stderr,
          'of a --set')
    check('warning' in place.attnc('explain', 'soft.yaml', '--set', 'similarity.softmax.modify=s + exp(s)').stderr,
          'inside softmax')


# ---------------------------------------------------------------- divisions with a remainder

@case
def a_division_that_leaves_a_remainder(place):
    """1/8 is 0 in C, so the term vanishes. Every command warns once."""
    place.write('e.yaml', 'name: soft\nsimilarity: {softmax: {modify: "s - 1/8 * (i - j)"}}\nshape: {head_dim: 8}\n')
    place.arrays()
    wanted = ('e.yaml:2:37: warning: 1 / 8 is 0, because both are integers; write 1.0 / 8\n'
              'similarity: {softmax: {modify: "s - 1/8 * (i - j)"}}\n' + ' ' * 36 + '^\n')
    for words in (['e.yaml'], ['explain', 'e.yaml'], ['run', 'e.yaml', '--in', 'in', '--out', 'out'],
                  ['check', 'e.yaml', *ALONE, '--lengths', '3'], ['build', 'e.yaml'],
                  ['bench', 'e.yaml', '--lengths', '16', '--time', '0']):
        said = place.attnc(*words).stderr
        check(said.count('because both are integers') == 1 and said.startswith(wanted), '%s: %s' % (words[0], said))
        said = place.attnc(*words, '--quiet').stderr
        check(not said, '%s --quiet: %s' % (words[0], said))
        said = place.attnc(*words, '--no-remainders', status=1).stderr
        check(said == wanted.replace('warning', 'error'), '%s --no-remainders: %s' % (words[0], said))
    place.attnc('e.yaml', '--no-remainders', '--set', 'similarity.softmax.modify=s - 1.0/8 * (i / 64 - j)')


@case
def no_spec_of_the_library_overflows(place):
    names = [line.split()[0] for line in place.attnc('list').stdout.splitlines() if line.startswith(' ')]
    done = place.attnc('explain', *names, *ALONE, '--lengths', '1k', timeout=300)
    check(not done.stderr, done.stderr)


# ---------------------------------------------------------------- explain

@case
def explain_answers_first(place):
    place.write('e.yaml', EXP % 'exp(s) * (j <= 5 ? 1.0 : 2.0)')
    said = place.attnc('explain', 'e.yaml').stdout
    titles = re.findall(r'^(\w.*)$', said, re.M)
    check(titles[1] == 'Algorithm: quadratic'
          and titles[2:5] == ['Cost', 'Roofline, for one head with n queries and keys', 'Targets'], titles)
    check('input q' not in said and 'no linear form: exp' in said and '\n  weight: exp(s) * ' in said, said)
    said = place.attnc('explain', 'e.yaml', '--emit', 'graph,loops', *ALONE).stdout
    graph = place.attnc('e.yaml', '--emit', 'graph', '--stdout').stdout
    check(all(line in said for line in graph.splitlines() if line.startswith('%')), 'not the graph: ' + said)
    check(place.attnc('e.yaml', '--emit', 'loops', '--stdout', *ALONE).stdout in said, 'not the loops: ' + said)


@case
def heads_that_differ(place):
    """Half of the heads see a window, half see all earlier keys."""
    place.write('h.yaml', 'similarity: softmax\nmask: {expr: "j <= i && (h >= 4 || i - j < 256)"}\nshape: {head_dim: 64}\n')
    said = place.attnc('explain', 'h.yaml', '--lengths', '1024', *ALONE).stdout
    flops, visited = map(float, re.search(r'^ +1024 +quadratic +(\S+) +(\S+)', said, re.M).groups())
    pairs = sum((i + 1 + min(i + 1, 256)) / 2 for i in range(1024))
    check(abs(flops / (256 * pairs) - 1) < 1e-3 and pairs <= visited < 1.15 * pairs and 'the mean of the first 8' in said,
          said)


@case
def explain_tells_sums_apart(place):
    """The rows of a sum are those of a kernel that computes it alone, without the spec's schedule and gradients."""
    place.write('s.yaml', 'similarity: softmax\nmask: {window: {left: 99}}\nsums: {near: {}, all: {mask: none, similarity: {linear: '
                '{features: elu_plus_one}}}}\noutput: 3 * near + all\nemit: [forward, backward]\nschedule: {tile_q: 32}\nshape: {head_dim: 64}\n')
    done = place.attnc('explain', 's.yaml', '--lengths', '4096', *ALONE)
    near, rest = done.stdout.split('\nSums, each ')[1].split('\n  near: no linear form: exp(')[1].split('\n  all\n')
    row = r'^ +4096 +%s +(\S+)'
    pairs = sum(min(i + 1, 100) for i in range(4096))
    check(abs(float(re.search(row % 'quadratic', near, re.M)[1]) / (256 * pairs) - 1) < 1e-3, near)
    check(float(re.search(row % 'linear', rest.split('\n\n')[0], re.M)[1]) < 4096 * 64 * 64 * 8, rest)
    check(not done.stderr and 'Sums' not in place.attnc('explain', 'softmax', *ALONE).stdout, done.stderr)


@case
def explain_tells_the_time_on_ranks(place):
    def rows(*words):
        said = place.attnc('explain', *words, *ALONE, '--lengths', '64k', '--heads', '32/8').stdout
        return said, [line.split() for line in said.split('\nRanks, ')[1].split('\n\n')[0].splitlines() if line.startswith('      65536')]
    said, sketch = rows('polysketch_r32', '--ranks', '1..8,64')
    check('a link has 12.5 GB/s, and an empty message takes 2.00 µs' in said, said)
    efficiency = [float(re.search(r' ([0-9.]+)%', ' '.join(row))[1]) for row in sketch]
    check(len(sketch) == 5 and efficiency[0] == 100 and efficiency == sorted(efficiency, reverse=True), said)
    received = [re.search(r'([0-9.]+ .?i?B) +[0-9.]+%', ' '.join(row))[1] for row in sketch]
    check(received[0] == '0 B' and received[1:] == received[1:2] * 4, 'a state does not depend on the ranks: ' + said)
    slow, fast = (rows('softmax_causal', '--ranks', '8', '--link', link)[0] for link in ('1B/s,1s', '100Gbit/s,1us'))
    check('no length' in slow and 'emit: [forward, statistics]' in slow and 'no length' not in fast, slow + fast)
    whole = rows('linear_elu', '--set', 'mask=none', '--ranks', '2,64')[0]
    check('go to the last rank' in whole and 'emit: [forward, statistics]' in whole, whole)
    padded = rows('linear_elu', '--set', 'mask={all: [causal, lengths]}', '--ranks', '2,64')[0]
    check('from rank to rank' in padded and 'emit: [forward, statistics]' in padded, padded)
    opened = rows('linear_elu', '--set', 'mask={any: [causal, {prefix: {length: 40}}]}', '--ranks', '2')[0]
    check('over the first 40 keys back' in opened and 'emit: [forward, statistics]' in opened, opened)
    ahead, table = rows('linear_elu', '--set', 'mask={block_window: {block: 128, left: 2, right: 1}}', '--ranks', '2')
    check('refuse this form, whose queries see later keys' in ahead and 'goes from rank' not in ahead and not table, ahead)
    window = 'mask={all: [causal, {block_window: {block: %d, left: 2, right: 0}}]}'
    states = [rows('linear_elu', '--set', mask, '--ranks', '2')[0] for mask in (window % 128, 'mask=causal')]
    check([int(re.search(r'a state of (\d+) bytes goes', said)[1]) for said in states] == [3 * 133120, 133120], states[0])
    short = rows('linear_elu', '--set', window % 16, '--ranks', '2')[0]   # the quadratic form is cheaper
    check('keys and values go' in short and 'goes from rank' not in short, short)
    short = rows('linear_elu', '--set', window % 16, '--set', 'emit=[forward, statistics]', '--ranks', '2')[0]
    check('do not merge: use algorithm: quadratic' in short, short)
    for name, refused in ('forgetting', False), ('deltanet_softmax', True):
        said = rows(name, '--set', 'emit=[forward, statistics]', '--ranks', '2')[0]
        check(('refuse this kernel' in said) == refused, said)
    place.write('sums.yaml', 'similarity: softmax\nsums: {a: {}, c: {mask: causal}}\noutput: a - c\nshape: {head_dim: 64}\n')
    check("merge the results of one sum: compute each of 'sums' by" in place.attnc('explain', 'sums.yaml', '--ranks', '2', *ALONE).stdout, 'sums')
    for words, why in ((('--link', '1GB/s,1us'), 'explain needs --ranks for --link'),
                       (('--ranks', '2', '--link', '5,1us'), "--link takes a rate and the time of an empty message, as in 12.5GB/s,2us, not '5,1us'"),
                       (('--ranks', '2', '--link', '0B/s,1us'), '--link takes'), (('--ranks', '2,'), '--ranks takes'),
                       (('--ranks', ''), '--ranks takes'), (('--ranks', '2', '--heads', '3/2'), 'explain takes --heads')):
        check(why in place.attnc('explain', 'softmax', *words, status=2).stderr, words)


@case
def explain_tells_how_busy_threads_are(place):
    def busy(spec, threads, *words):
        said = place.attnc('explain', spec, *ALONE, '--threads', threads, '--lengths', '512', *words).stdout
        return re.search(r'Threads, for .*\n.*\n +512  (\S+) +(\d+) +(\S+)%', said).groups()
    check(busy('softmax', '64', '--heads', '12') == ('quadratic', '96', '75.0'), '96 equal tasks take the time of 128')
    check(busy('softmax', '64', '--heads', '12', '--batch', '2') == ('quadratic', '192', '100.0'), 'two sequences')
    check(50 < float(busy('softmax_causal', '8')[2]) < 60, 'the longest of 8 tiles takes nearly twice the mean')
    check(busy('linear_elu', '2', '--heads', '4') == ('linear', '4', '100.0'), 'whole heads')
    check(busy('linear_elu', '2', '--heads', '3')[2] == '100.0', 'threads share the chunks of the third head')
    check('Threads, for' not in place.attnc('explain', 'softmax', *ALONE, '--threads', '1').stdout, 'one thread')
    check('explain needs --ranks or --threads for --heads' in place.attnc('explain', 'softmax', '--heads', '8', status=2).stderr, 'heads')


@case
def explain_says_what_is_so(place):
    said = place.attnc('explain', 'softmax_alibi', *ALONE).stdout
    check('left out' not in said and 'tested against the mask only if' in said, said)
    check(re.search(r'^ +1024  quadratic .*%  +\S+  +\d{7}  +\d+\.\d  compute ', said, re.M), said)
    said = place.attnc('explain', 'retention', *ALONE).stdout
    check('a state is multiplied by pow(1 - pow(2.0, -5 - h), 32)\n' in said, said)
    check(len(re.findall(r'^  few: ', said, re.M)) == 1 and re.search(r'rows of queries \(from \d+ keys on \d+\);', said), said)
    check('\n    queries i of the tile run from i0 up to but excluding i1, ' in said and 'keys i ' not in said
          and '\n    a tile of queries is skipped unless j0 < ' in said, said)
    said = place.attnc('explain', 'packed_documents_polysketch', *ALONE).stdout
    check('multiplied by (document[b, min((chunk + 1) * 256, n_k) - 1] == document[b, min(chunk * 256, n_k) - 1]) ? '
          '1.0 : 0.0\n' in said, said)
    place.write('e.yaml', EXP % 'fabs(s) * exp(s) + (s < 1 ? 1.0 : s)')
    for mask, first in ('causal', ''), ('{expr: i - j < 5 || j % 2 == 0}', 'a carried state can gain keys .*?; and '):
        said = place.attnc('explain', 'e.yaml', *ALONE, '--set', 'mask=' + mask).stdout
        check(re.search(r'\n  no linear form: %sfabs\(…\) of query and key has no finite features; and exp\(…\) of .*; and '
                        r"a choice '\? :' by 's < 1', a condition on both query and key, has no finite features\n" % first, said), said)


@case
def bound_by_memory(place):
    """Reads of arrays that fit into the caches are no memory traffic. 512 rows of 1 KiB fit. 65536 rows do not fit."""
    place.write('w.yaml', 'similarity: {custom: {weight: "s + 2.0"}}\nmask: {prefix: {length: 1}}\nnormalize: none\n'
                'algorithm: quadratic\nshape: {head_dim: 64}\n')
    small, large = [('512', 'compute'), ('65536', 'compute')], [('512', 'compute'), ('65536', 'memory')]
    for mask, n_queries, one in ('{prefix: {length: 1}}', large, small), ('causal', small, large):
        said = place.attnc('explain', 'w.yaml', '--lengths', '512,64k', '--target', 'x86-64-v4', '--set',
                           'mask=' + mask).stdout
        check(re.findall(r'^ +(512|65536) .* (compute|memory) *$', said, re.M) == n_queries + one, said)


# ---------------------------------------------------------------- a busy machine

SHAKES = wrapped('static int calls; const struct timespec wait = {0, 20000000}; '
                 'if (calls++ % 2) nanosleep(&wait, NULL);') + r'''
case $file in
*/probe.c) sed -i 's/return best;/{ static int turns; return turns++ % 2 ? best : best \/ 2; }/' "$file" ;;
esac
'''


@case
def repeats_that_differ(place):
    """Every second call waits, and every second measured peak is half."""
    environment = compiler(place, 'shakycc', SHAKES)
    words = ['bench', 'soft.yaml', '--lengths', '64', '--threads', '1', '--time', '0.2', '--json=x.json']
    done = place.attnc(*words, env=environment)
    check(re.search(r'^ +64 +soft .* ! \d+%', done.stdout, re.M)
          and '\n! repeats differ by more than 10%' in done.stdout, done.stdout)
    check(re.search(r'GFLOP/s at peak in f32 \(! measurements differ by \d+%\)', done.stdout), done.stdout)
    check(len(re.findall('^attnc: warning: .* differed by ', done.stderr, re.M)) == 2, done.stderr)
    row = json.loads(place.read('x.json'))['results'][0]
    check(row['shaking'] is True and row['spread'] > 0.1 and row['peak_spread'] > 0.1, row)
    check('warning' not in place.attnc(*words, '--quiet', env=environment).stderr, '--quiet is not')


@case
def the_compiler_is_named(place):
    environment = compiler(place, 'mycc', 'case $* in --version) echo "my compiler 1.2"; exit ;; esac')
    done = place.attnc('bench', 'soft.yaml', '--lengths', '32', '--time', '0', '--quiet', '--json=x.json', env=environment)
    check('kernels compiled by my compiler 1.2\n' in done.stdout, done.stdout)
    check(json.loads(place.read('x.json'))['results'][0]['compiler'] == 'my compiler 1.2', 'not in JSON')


@case
def a_compiler_without_path(place):
    """Without PATH, the compiler finds its linker in attnc's default folders."""
    environment = {'PATH': None, 'ATTNC_CC': None, 'XDG_CACHE_HOME': place.path('cache')}
    done = place.attnc('check', 'soft.yaml', *ALONE, '--lengths', '3', env=environment)
    check(done.stdout.startswith('soft: ok; '), done.stdout + done.stderr)


# ---------------------------------------------------------------- names, files

@case
def names_in_place_of_files(place):
    """Every command takes the name of a spec that comes with attnc. A file of that name has precedence."""
    spec = os.path.join(ROOT, 'specs', 'softmax.yaml')
    for words in ['explain'], ['--stdout', '--emit', 'graph,loops']:
        check(place.attnc(*words, 'softmax').stdout == place.attnc(*words, spec).stdout,
              '%s has other words of it' % words)
    check(place.attnc('check', 'softmax', *ALONE, '--lengths', '3').stdout.startswith('softmax: ok; '), 'check')
    place.attnc('bench', 'softmax', 'polynomial_p2', '--lengths', '16', '--time', '0', '--quiet')
    place.arrays(D=64, E=64)
    place.attnc('run', 'softmax', '--in', 'in', '--out', 'out')
    check(place.files('out') == ['out.npy'], 'run')
    os.remove(place.path('in/v.npy'))
    place.attnc('run', 'softmax', '--in', 'in', '--out', 'out', status=1)
    # If values are keys, attnc reads no v.npy.
    place.attnc('run', 'softmax', '--in', 'in', '--out', 'out', '--set', 'shape.values=keys')
    place.attnc('softmax', '-MD', '-o', 'out')
    check(place.read('out/softmax.d') == b'out/softmax.c out/softmax.h:\n', place.read('out/softmax.d'))
    check("'attnc tune softmax'" in place.attnc('softmax', '--tuned', status=1).stderr, '--tuned')
    os.mkdir(place.path('softmax'))
    check(place.attnc('explain', 'softmax').stdout.startswith('softmax: '), 'a folder hides it')
    os.rmdir(place.path('softmax'))
    place.write('softmax', POLYNOMIAL)
    check(place.attnc('explain', 'softmax').stdout.startswith('poly: '), 'the file is not taken')
    place.attnc('explain', './cosine', status=1)


@case
def a_line_break_in_a_path(place):
    place.write('soft\nx.yaml', SOFTMAX)
    done = place.attnc('soft\nx.yaml', '-MD', '-MF', 'x.d', status=2)
    check('-MD' in done.stderr and 'line break' in done.stderr and not {'soft.c', 'x.d'} & set(place.files()),
          done.stderr)
    os.mkdir(place.path('a\nb'))
    place.attnc('soft.yaml', '-MD', '-o', 'a\nb', status=2)
    place.attnc('soft.yaml', '-MD', '-MT', 'a\nb', status=2)
    place.attnc('soft\nx.yaml', '-o', 'a\nb')
    check(place.files('a\nb') == ['soft.c', 'soft.h'], 'without -MD it is a name as any other')


@case
def a_plot_is_svg(place):
    words = ['bench', 'soft.yaml', '--lengths', '16', '--time', '0', '--quiet', '--plot']
    done = place.attnc(*words, 'x.png', status=2)
    check('--plot' in done.stderr and 'SVG' in done.stderr and 'x.png' in done.stderr and not done.stdout
          and 'x.png' not in place.files(), done.stderr)
    for name in 'x', 'a.b/x', 'x.SVG':
        os.makedirs(place.path('a.b'), exist_ok=True)
        place.attnc(*words, name)
        check(place.read(name).startswith(b'<svg'), name)


def cells_of(picture):
    """Returns the cells (column, row) of a picture, whose paths have a stroke for each run of cells in a row."""
    cells = []
    for path in re.findall(r' d="(.*?)"', picture):
        x = y = 0
        for start, first, row, length in re.findall(r'([Mm])(\d+) (\d+)h(\d+)', path):
            x, y = (int(first), int(row)) if start == 'M' else (x + int(first), y + int(row))
            cells += [(x + k, y) for k in range(int(length))]
            x += int(length)
    return cells


@case
def a_picture_has_the_weights(place):
    """A causal picture has as many cells as a query sees keys, and none above the diagonal."""
    place.write('causal.yaml', 'similarity: softmax\nmask: causal\nshape: {head_dim: 64, value_dim: 7}\n')
    place.attnc('show', 'causal.yaml', '--picture', 'causal.svg')
    cells = cells_of(place.read('causal.svg').decode())
    check(len(set(cells)) == len(cells) == 64 * 65 // 2 and all(x <= y for x, y in cells), '%d cells' % len(cells))
    keys = place.attnc('show', 'softmax_mla', '--picture', '-').stdout
    check(keys.startswith('<svg ') and keys.endswith('</svg>\n') and 'softmax_mla' in keys, keys[:200])
    place.attnc('show', 'softmax', 'bigbird', '--picture', 'two.svg', status=2)
    said = place.attnc('show', 'softmax', '--picture', 'no/folder.svg', status=3).stderr
    check('no/folder.svg' in said and not os.path.exists(place.path('no')), said)


def shown(place, name):
    """The cells and the positions of a picture, without the name of its spec."""
    picture = place.attnc('show', name, '--picture', '-').stdout
    return picture.replace(os.path.splitext(name)[0], '')


@case
def different_masks_have_different_pictures(place):
    """Every mask of specs/ with the same weights, and all specs that differ by more than the type of elements."""
    masks, pictures = {}, {}
    for file in sorted(glob.glob(os.path.join(ROOT, 'specs', '*.yaml'))):
        with open(file) as f: spec = yaml.safe_load(f)
        if 'top' in str(spec.get('mask')): continue   # it reads scores, or chooses among more positions than a picture has
        mask = json.dumps([spec.get('mask', 'none'), spec.get('arrays') if 'expr' in str(spec.get('mask')) else None])
        masks.setdefault(mask, os.path.basename(file)[:-5])
    for n, (mask, name) in enumerate(masks.items()):
        mask, arrays = json.loads(mask)
        spec = {'similarity': 'softmax', 'mask': mask, 'shape': {'head_dim': 8}} | ({'arrays': arrays} if arrays else {})
        place.write('same.yaml', yaml.safe_dump(spec))
        other = pictures.setdefault(shown(place, 'same.yaml'), name)
        check(other == name, '%s and %s have the same picture' % (name, other))
    check(len(pictures) > 15, 'only %d masks' % len(pictures))
    names = 'softmax bigbird longformer prefix prefix_lm softmax_causal sliding_window'.split()
    check(len({shown(place, name) for name in names}) == len(names), 'two specs have the same picture')


@case
def a_picture_says_its_positions(place):
    """A window of 100 and 3 first keys: 512 positions, 8 in a cell. The window is 13 cells wide, the first column is seen."""
    place.write('wide.yaml', 'similarity: softmax\nmask: {all: [causal, {any: [{window: {left: 100}}, {global: {count: 3}}]}]}\nshape: {head_dim: 8}\n')
    picture = place.attnc('show', 'wide.yaml', '--picture', '-').stdout
    cells = set(cells_of(picture))
    expected = {(j, i) for i in range(64) for j in range(64) if j == 0 or j <= i and (8 * i - (8 * j + 7)) <= 100}
    check(cells == expected, '%d cells, not %d: %s' % (len(cells), len(expected), sorted(cells ^ expected)[:9]))
    ticks = re.findall(r'>(\d+)</text>', picture)
    check(sorted(ticks) == sorted(2 * ['0', '128', '256', '384', '512']), str(ticks))
    check('512 keys, 8 a cell' in picture and '>512 queries<' in picture, picture[-600:])


@case
def a_picture_gives_arrays_an_example(place):
    """Three quarters of the keys are no padding, and a given mask is a prompt with a tree of drafts after it."""
    cells = cells_of(place.attnc('show', 'softmax_padding', '--picture', '-').stdout)
    check(sorted(cells) == [(j, i) for j in range(48) for i in range(64)], '%d cells' % len(cells))
    def path(i):
        return {i} | (path(32 + (i - 33) // 2) if i > 32 else set())
    cells = set(cells_of(place.attnc('show', 'softmax_tree', '--picture', '-').stdout))
    expected = {(j, i) for i in range(64) for j in range(64) if (j <= i if i < 32 else j < 32 or j in path(i))}
    check(cells == expected, sorted(cells ^ expected)[:9])


@case
def the_gallery_has_its_parts(place):
    program = [sys.executable, os.path.join(ROOT, 'examples', 'gallery', 'gallery.py'), '--attnc', place.suite.attnc,
               '--out', place.path('gallery'), '--links', '../..']
    done = execute([*program, '--times', '--length', '64', 'softmax', 'gla'])
    check(done.returncode == 0, done.stderr)
    page, list_of = (place.read('gallery/' + name).decode() for name in ('index.html', 'README.md'))
    for text in ('id="gla" data-family="linear" data-form="both"', 'id="softmax" data-family="softmax" data-form="quadratic"',
                 'src="softmax.svg"', 'softmax takes', 'gated linear attention', 'sum over j', 'Linear: the weight is an inner product of 64 features',
                 'No linear form: exp', '../../generated/gla.c', '../../specs/README.md#decay', 'prefers-color-scheme: dark'):
        check(text in page, 'the page has no ' + text)
    check('## Softmax' in list_of and 'src="gla.svg"' in list_of, list_of)
    check(sorted(os.listdir(place.path('gallery'))) == ['README.md', 'gla.svg', 'index.html', 'softmax.svg'],
          os.listdir(place.path('gallery')))
    done = execute([*program, 'nonsense'])
    check(done.returncode == 2 and 'there is no spec nonsense' in done.stderr, done.stderr)


@case
def a_full_device_is_the_reason(place):
    with open('/dev/full', 'w') as full:
        for words in (['list'], ['show', 'softmax', 'bigbird'], ['explain', 'softmax'], ['explain', 'softmax', 'bigbird'],
                      ['--help'], ['--passes'], ['check', 'soft.yaml', *ALONE, '--lengths', '3'], ['build', 'soft.yaml'],
                      ['check', 'soft.yaml', *ALONE, '--lengths', '3', '--verbose'], ['soft.yaml', '--stdout']):
            said = place.attnc(*words, status=3, stdout=full).stderr
            check(said.endswith('attnc: error: cannot write to standard output: No space left on device\n'),
                  '%s: %s' % (words, said))


@case
def words_of_the_compiler_in_quotes(place):
    """$ATTNC_CC is split as in a shell. If a compiler compiles nothing, no message says that it lacks OpenMP."""
    place.arrays()
    place.write('my cc', '#!/bin/sh\necho "$*" >> "%s"\nexec gcc "$@"\n' % place.path('log'))
    os.chmod(place.path('my cc'), 0o755)
    run = ('run', 'soft.yaml', '--in', 'in', '--out', 'out')
    environment = {'PATH': place.folder + os.pathsep + os.environ['PATH'], 'XDG_CACHE_HOME': place.path('cache')}
    for k, name in enumerate(('"my cc" -O2', "'my cc'", 'my\\ cc', 'm"y c"c "-DX=\\"a b\\""')):
        place.attnc(*run, '--set', 'name=soft%d' % k, env={**environment, 'ATTNC_CC': name})
        check(place.read('log').decode().splitlines()[k].startswith(('-O2 ', '', '', '-DX="a b" ')[k]), place.read('log'))
    said = place.attnc(*run, '--set', 'name=other', status=3, env={**environment, 'ATTNC_CC': 'gcc "-Onono"'}).stderr
    check('OpenMP' not in said and 'compiles nothing else either' in said and 'gcc -Onono ' in said, said)


# ---------------------------------------------------------------- help

@case
def words_for_help_and_version(place):
    for word in 'help', 'version':
        check(place.attnc(word).stdout == place.attnc('--' + word).stdout, word)
    check(place.attnc('help', 'bench').stdout == place.attnc('bench', '--help').stdout, 'help bench')
    said = place.attnc('help', 'bnch', status=2).stderr
    check("'bnch'" in said and "did you mean 'bench'?" in said, said)


@case
def specs_are_listed_in_groups_and_by_words(place):
    whole, some = place.attnc('list').stdout, place.attnc('list', 'Window', 'softmax').stdout
    rows = lambda text: {line for line in text.splitlines() if line.startswith('  ')}
    names = lambda text: {line.split()[0] for line in rows(text)}
    check({'linear, with a delta rule:', 'linear, with a decay:', 'softmax, with a mask:', 'softmax:'} <= set(whole.splitlines()), whole)
    check({'longformer', 'softmax_window_padding'} <= names(some) < names(whole) and 'gla' not in names(some), some)
    check('no spec' in place.attnc('list', 'nothing_at_all', status=1).stderr, 'a word that no spec has')
    items = [json.loads(line) for line in place.attnc('list', '--json').stdout.splitlines()]
    check({item['name'] for item in items} == names(whole) and set(items[0]) == {'name', 'group', 'description', 'source'}, items[0])
    check('--json takes no file' in place.attnc('list', '--json=x', status=2).stderr, 'a file of list')


@case
def explain_and_check_say_objects(place):
    said = [json.loads(line) for line in place.attnc('explain', 'soft.yaml', 'poly.yaml', '--json', '--lengths', '1k').stdout.splitlines()]
    check([x['name'] for x in said] == ['soft', 'poly'], [x['name'] for x in said])
    cost = said[0]['costs'][0]
    check(cost['call'] == 'forward' and cost['n'] == 1024 and cost['form'] == 'quadratic'
          and cost['flops'] == 4 * said[0]['head_dim'] * cost['pairs'], cost)
    verdict = json.loads(place.attnc('check', 'soft.yaml', '--json', '--lengths', '9').stdout)
    check(verdict['name'] == 'soft' and verdict['ok'] is True and 0 <= verdict['largest_error'] <= 1, verdict)


@case
def a_folder_for_outputs_is_made(place):
    place.attnc('soft.yaml', '-o', 'new/deep')
    check(os.path.exists(place.path('new/deep/soft.c')), 'no file')
    place.write('wrong.yaml', 'similarity: sotmax\n')
    place.attnc('wrong.yaml', '-o', 'other', status=1)
    check(not os.path.exists(place.path('other')), 'a folder without outputs')
    said = place.attnc('soft.yaml', '-o', 'soft.yaml/x', status=3).stderr
    check('soft.yaml/x' in said, said)


@case
def show_prints_a_file(place):
    check(place.attnc('show', 'soft.yaml').stdout.encode() == place.read('soft.yaml'), 'show soft.yaml')
    done = place.attnc('show', 'soft.yaml', 'none.yaml', status=1)
    check('none.yaml' in done.stderr and not done.stdout, done.stderr)


@case
def a_page_of_help_for_each_command(place):
    own = {'explain': '--lengths --document --threads --emit', 'run': '--in --out --seed --threads',
           'check': '--lengths --heads --seed --threads --verbose', 'bench': '--lengths --heads --plot',
           'tune': '--shape --knobs --report', 'list': '', 'show': 'NAME'}
    pages = {command: place.attnc(command, '--help').stdout for command in own}
    with open(os.path.join(ROOT, 'compiler', 'command', 'command_line.def')) as f:
        rows = re.findall(r'^OPTION\("(\S+?)", "\S*", \w+, (.*?), (?:true|false),', f.read(), re.M)
    check(len(rows) > 30, 'the rows of the table were not found')
    for command, page in pages.items():
        check(page.startswith('usage: attnc %s [options]' % command)
              and page == place.attnc(command, 'soft.yaml', '-h').stdout, page)
        check(max(map(len, page.split('\n'))) <= 80, command + ' --help is wide')
        for word in own[command].split():
            check(word in page, '%s --help does not name %s' % (command, word))
        for option, on in rows:
            belongs = 'ON(%s)' % command in on or 'ON_ALL' in on or ('ON_SPECS' in on
                                                                     and command not in ('list', 'show'))
            check(belongs == bool(re.search(r'(?<![\w-])%s(?![\w-])' % option, page)),
                  '%s --help and %s' % (command, option))


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL,
                          sketch='name: sketch\nsimilarity: {polysketch: {degree: 4, sketch: 32}}\n'
                                 'mask: causal\nshape: {head_dim: 8}\n'))


# Each value is (arguments of attnc, exit status, words of the message).
USAGE = {
    'no_spec_of_that_name': (('explain', 'sofmax'), 1, ["did you mean 'softmax'"]),
    'no_spec_of_any_such_name': (('check', 'nothing_like_it'), 1, ['attnc list']),
    'check_lengths_too_large': (('check', 'soft.yaml', '--lengths', '1M'), 2, ['interpreter']),
    'plot_of_another_kind': (('bench', 'soft.yaml', '--plot', 'x.png'), 2, ['SVG', 'x.png']),
    'line_break_in_a_depfile': (('soft.yaml', '-MD', '-MT', 'a\nb'), 2, ['line break']),
}


def usage(folder, suite, name, words, status, needles):
    place = Place(suite, folder, soft=SOFTMAX)
    done = place.attnc(*words, status=status)
    says(suite, place, name, words, done, needles)
    check(not done.stdout, 'a failure writes to standard output')


def register(suite):
    for function in CASES:
        suite.case('answers-' + function.__name__, run, suite, function)
    for name, (words, status, needles) in USAGE.items():
        suite.case('usage-' + name, usage, suite, name, words, status, needles)
