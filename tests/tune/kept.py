"""Tests results that attnc tune keeps: other lengths, files written by hand, equal C. Also tests messages."""
import os
import re

import yaml

from quick import REAL
from suite import Skip, check, execute
from tuning import SPEC, TILE_32, Tuning, compiler

CASES = []
NOT_32 = r'(?s)\A(?!.*(%s))' % TILE_32
BY_HAND = SPEC + '''# mine, too
schedule:
  - {tile_k: 96}
  # for the long ones
  - {from: 9000, tile_q: 16, tile_k: 64}
'''
FOUND = SPEC + '''# a word before it
# Searched by attnc 0.0.9 on a machine of before, cc 1.
schedule:
  # n=2048 heads=2 threads=2: 1.057 times as fast (1.020 to 1.090) with tile_q=32
  - {tile_q: 32}
  # n=8192 heads=2 threads=2: nothing is faster than the default schedule, beyond noise
  - {from: 4000, tile_k: 96}
'''


def case(function):
    CASES.append(function)
    return function


def write(folder, text, name='small.tuned.yaml'):
    with open(os.path.join(folder, name), 'w') as file:
        file.write(text)


def read(folder, name='small.tuned.yaml'):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def schedule(folder):
    return yaml.safe_load(read(folder))['schedule']


def quick(t, shape, *arguments, **options):
    return t.call('small.yaml', '--shape', shape, '--samples', 3, '--trials', 1, '--json=small.json', '--time', 60, *arguments, **options)


@case
def queries_and_keys_may_have_fewer_heads(t, folder):
    quick(t, 'n=64,heads=4/4/2')
    check('n=64 heads=4/4/2 ' in read(folder), read(folder))
    check(t.runs()[0]['key_heads'] == 2, str(t.runs()))


# ---- SPEC.tuned.yaml

@case
def other_lengths_stay(t, folder):
    write(folder, FOUND)
    quick(t, 'n=64,heads=2')
    text, entries = read(folder), schedule(folder)
    version = execute([t.suite.attnc, '--version']).stdout.split('\n')[0]
    check(entries[1:] == [{'from': 363, 'tile_q': 32}, {'from': 4000, 'tile_k': 96}] and 'from' not in entries[0], text)
    for words in ('# of little work', '# a word before it', '1.057 times as fast (1.020 to 1.090) with tile_q=32',
                  '# n=64 heads=2', '# n=8192 heads=2', 'attnc 0.0.9 on a machine of before', 'Searched by ' + version):
        check(text.count(words) == 1, '%r is there %d times: %s' % (words, text.count(words), text))
    quick(t, 'n=64,heads=2')
    again = read(folder)
    check(re.sub(r'# n=64 .*|- \{.*', '', again) == re.sub(r'# n=64 .*|- \{.*', '', text),
          'written again it is another text: ' + again)
    check(schedule(folder)[1:] == entries[1:], again)
    done = execute([t.suite.attnc, 'explain', 'small.yaml', '--tuned'], cwd=folder, env=t.env)
    check(done.returncode == 0 and 'from 4000' in done.stdout, done.stdout + done.stderr)


@case
def what_was_found_is_compared(t, folder):
    """A short second search does not replace a better schedule."""
    t.env.update(compiler(folder, NOT_32, 'usleep(4000);'))
    found = FOUND.replace('n=2048', 'n=64')
    write(folder, found)
    quick(t, 'n=64,heads=2', '--knobs', 'tile_q,tile_k')
    check(schedule(folder)[0]['tile_q'] == 32, read(folder))
    check([x for x in t.trials() if x['schedule']['tile_q'] == 32 and x['status'] == 'measured'
           and len(x['samples']) >= 21], 'it was not measured')
    write(folder, found)
    said = quick(t, 'n=64,heads=2', '--knobs', 'tile_k').stderr
    check(schedule(folder)[0] == {'tile_q': 32} and 'could not be compared' in said, read(folder) + said)


@case
def by_hand_stays(t, folder):
    write(folder, BY_HAND)
    quick(t, 'n=100..1600,heads=1')
    entries = schedule(folder)
    check(entries[0] == {'tile_k': 96} and entries[-1] == {'from': 9000, 'tile_q': 16, 'tile_k': 64}, read(folder))
    check([e.get('from') for e in entries] == [None, 10, 142, 283, 566, 1132, 9000], read(folder))
    check('# mine, too' in read(folder) and '# for the long ones' in read(folder), read(folder))
    said = quick(t, 'n=20..40,heads=1', status=1).stderr
    check('more than 8' in said and 'small.tuned.yaml' in said, said)


@case
def gradients(t, folder):
    """A search for gradients keeps the forward schedule. A search for forward keeps the schedule of the gradients."""
    write(folder, FOUND.replace('2048', '200').replace('4000', '1000'))
    t.env.update(compiler(folder, r'\.tile = 32\b((?!\.role)[\s\S])*\.of_keys', '', otherwise='usleep(20000);',
                          function='backward_any'))
    said = t.search('--backward', '--knobs', 'tile_q').stdout
    check(re.search(r'n=200 heads=2 threads=2 backward: .* times as fast .* with backward.tile_q=32;', said), said)
    check(schedule(folder) == [{'tile_q': 32, 'backward': {'tile_q': 32}}, {'from': 1280, 'tile_k': 96}], read(folder))
    for line in ('  # n=200 heads=2 threads=2: 1.057 times as fast', '  # n=200 heads=2 threads=2 backward: '):
        check(line in read(folder), read(folder))
    run = t.runs()[0]
    check(run['backward'] and [k['name'] for k in run['knobs']] == ['backward.tile_q'], run['knobs'])

    quick(t, 'n=200,heads=2', '--knobs', 'tile_k')
    check(schedule(folder)[0]['backward'] == {'tile_q': 32} and 'backward: ' in read(folder), read(folder))

    # wrong gradients are found and never chosen
    t.env.update(compiler(folder, r'(?s)\A(?!.*sum_0)', 'return 0;', function='backward_any'))
    t.search('--backward', '--knobs', 'backward.sweep')
    wrong = [x for x in t.trials() if x['status'] == 'wrong']
    check([x['schedule'] for x in wrong] == [{'backward.sweep': 0}] and 'of the gradients' in wrong[0]['why'], wrong)
    check('sweep' not in schedule(folder)[0]['backward'], read(folder))
    check('backward.sweep' in t.search('--backward', '--knobs', 'together', status=2).stderr, 'no such knob')


@case
def nothing_measured_nothing_written(t, folder):
    done = t.call('small.yaml', '--time', 0, '--json=small.json')
    check('nothing was measured' in done.stdout and 'is not written' in done.stderr
          and not os.path.exists(folder + '/small.tuned.yaml'), done.stdout)
    for text in BY_HAND, FOUND:
        write(folder, text)
        for more in [], ['--shape', 'n=2k,heads=2']:
            done = t.call('small.yaml', '--time', 0, '--json=small.json', *more)
            check(read(folder) == text, 'it was overwritten')
            check('nothing was measured' in done.stdout and 'is unchanged' in done.stderr
                  and 'faster' not in done.stdout, done.stdout + done.stderr)


@case
def other_files_are_not_lost(t, folder):
    for text in 'schedule: [\n', SPEC + 'schedule: {tile_q: many}\n', 'notes of mine\n':
        write(folder, text)
        said = quick(t, 'n=64,heads=1', status=1).stderr
        check('small.tuned.yaml' in said and 'correct it' in said and read(folder) == text
              and not os.path.exists(folder + '/small.json'), said)
    of_another = FOUND.replace('causal', 'none')
    write(folder, of_another)
    said = quick(t, 'n=64,heads=1').stderr
    check('a different version of' in said and read(folder, 'small.tuned.yaml~') == of_another and len(schedule(folder)) == 1,
          said + read(folder))


# ---- equal C

def source(t, trial):
    settings = [word for knob, value in trial['schedule'].items()
                for word in ('--set', 'schedule.%s=%d' % (knob, value))]
    done = execute([t.suite.attnc, 'small.yaml', '--stdout', '--emit', 'c', '--target', 'x86-64-v3', *settings],
                   cwd=t.folder, env=t.env)
    check(done.returncode == 0, done.stderr)
    return done.stdout.partition('   Computes, in ')[2]   # without the command, which names the schedule


@case
def equal_code_is_measured_once(t, folder):
    t.env.update(compiler(folder, NOT_32, '', folder + '/log'))
    arguments = ('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--knobs', 'rows,vectors', '--target', 'x86-64-v3', '--time', 100)
    done = t.call(*arguments, '--json=small.json')
    trials = t.trials()
    codes = {x['number']: source(t, x) for x in trials}
    first = [x for x in trials if x['same_as'] is None]
    check(len(first) < len(trials) and len({codes[x['number']] for x in first}) == len(first),
          '%d of %d were measured' % (len(first), len(trials)))
    for x in trials:
        if x['same_as']:
            other = trials[x['same_as'] - 1]
            check(codes[x['number']] == codes[other['number']] and x['samples'] == other['samples']
                  and not other['same_as'], 'trial %d' % x['number'])
    check('%d measured (%d with the same C as another)' % (len(trials), len(trials) - len(first)) in done.stdout,
          done.stdout)
    compiled = read(folder, 'log').count('\n')
    check(compiled <= len(first) + 1, '%d compilations for %d sources' % (compiled, len(first) + 1))


@case
def best_is_confirmed(t, folder):
    t.env.update(compiler(folder, NOT_32, 'usleep(20000);'))
    said = t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--trials', 6, '--knobs', 'tile_q', '--json=small.json', '--time', 100).stderr
    best = re.findall(r'trial \d+.*, best (\S+) times as fast with (.*), \d+ s left', said)
    check(best and best[-1][1] == 'tile_q=32' and schedule(folder) == [{'tile_q': 32}], said)
    for times, point in best:
        samples = next(x['samples'] for x in t.trials() if 'tile_q=%d' % x['schedule']['tile_q'] == point)
        check(len(samples) >= 21, 'the best is of %d samples' % len(samples))


@case
def luck_is_not_the_best(t, folder):
    """A candidate that is slow when measured again is never the best."""
    # The first process, which creates the file, gets a fast kernel. Later processes get a slow one.
    t.env.update(compiler(folder, TILE_32, 'if (!getenv("RUN")) setenv("RUN", open("%s/run", O_CREAT | O_EXCL, 0600) < 0 ? '
                          '"20000" : "2000", 1); usleep(atoi(getenv("RUN")));' % folder, otherwise='usleep(8000);'))
    said = t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--trials', 8, '--knobs', 'tile_q', '--json=small.json', '--time', 100).stderr
    samples = next(x['samples'] for x in t.trials() if x['schedule']['tile_q'] == 32)
    check(min(seconds for seconds, _ in samples) >= 0.02, 'it was not measured again: %s' % samples)
    check('tile_q=32' not in said, said)


# ---- an ended process

@case
def nothing_is_left_in_shared_memory(t, folder):
    """LLVM's OpenMP leaves a file in shared memory if a process does not exit normally. attnc tune removes it."""
    for statement, trials in ('', 2), ('raise(SIGSEGV);', 3), ('for (;;) pause();', 2):
        t.env.update(compiler(folder, TILE_32 if statement else NOT_32, statement, folder + '/log'))
        t.env['XDG_CACHE_HOME'] = folder + '/cache%d' % len(statement)
        t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--knobs', 'tile_q',
               '--trials', trials, '--limit', 5, '--json=small.json', '--time', 60)
        processes = set(read(folder, 'log').split())
        left = [name for name in os.listdir('/dev/shm') if name.split('_')[-2:-1] and name.split('_')[-2] in processes]
        check(processes and not left, 'left: %s' % left)


# ---- messages

@case
def machine_and_compiler_are_named(t, folder):
    said = quick(t, 'n=64,heads=1').stderr
    check(re.search(r'clang.*; [\d.]+ GFLOP/s and [\d.]+ GB/s at best on 2 threads', said), said)
    check(quick(t, 'n=64,heads=1', '--quiet').stderr == '', 'with --quiet something is said')
    t.env.update(compiler(folder, '', 'static int calls; usleep(calls++ / 4 % 2 ? 24000 : 6000);'))
    said = quick(t, 'n=64,heads=1', '--samples', 20).stderr
    check(re.search(r'warning: n=64 heads=1 threads=2: a call with the default schedule took \S+ to \S+ ms', said), said)


def run(folder, suite, function):
    if not os.path.isdir('/dev/shm') and function is nothing_is_left_in_shared_memory:
        raise Skip('there is no /dev/shm')
    return function(Tuning(suite, folder), folder)


def register(suite):
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
