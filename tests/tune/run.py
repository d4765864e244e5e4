#!/usr/bin/python3
"""Tests attnc tune as users run it: searches, results, failing candidates."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))

import yaml

import kept
import quick
from suite import Suite, check, execute
from tuning import SPEC, TILE_32, Tuning, compiler

# ---- a search

def searches(suite, folder):
    t = Tuning(suite, folder)
    done = t.search('--trials', 6, '--report', 'out.html')
    trials = t.trials()
    check(3 <= len(trials) <= 6 and all(x['status'] == 'measured' for x in trials), str([x['status'] for x in trials]))
    check(all(len(x['samples']) >= 3 for x in trials), 'too few samples')
    check('n=200 heads=2' in done.stdout, done.stdout)
    check(all(x['ratio_low'] <= x['ratio'] <= x['ratio_high'] and x['median_s'] > 0 for x in trials), 'statistics')
    page = open(folder + '/out.html').read()
    check('<html' in page and 'small' in page, 'no page')
    done = t.call('small.yaml', '--shape', 'n=64,heads=1', '--trials', 2, '--json')
    check(json.loads(done.stdout)[0]['length'] == 64, done.stdout)
    for option in ['--json=no/such/x'], ['--report', 'no/such/x']:
        done = t.call('small.yaml', '--shape', 'n=64,heads=1', '--trials', 1, *option, status=3)
        check('no/such/x' in done.stderr, done.stderr)


def tuned(suite, folder):
    """The schedule compiles, computes the right values, and keeps the user's comment."""
    t = Tuning(suite, folder)
    t.call('small.yaml', '--shape', 'n=100..400,heads=2', '--samples', 3, '--trials', 3, '--time', 60,
           '--json=small.json')
    text = open(folder + '/small.tuned.yaml').read()
    check('# of little work' in text, 'the comment is lost')
    schedules = yaml.safe_load(text)['schedule']
    check(isinstance(schedules, (list, dict)), repr(schedules))
    for arguments in (['small.tuned.yaml'], ['small.yaml', '--tuned']):
        done = execute([suite.attnc, 'check', *arguments], cwd=folder, env=t.env)
        check(done.returncode == 0, done.stdout + done.stderr)
    t.search('--tuned', '--trials', 2)
    check(all(x['status'] == 'measured' for x in t.trials()), 'no search starts from what was tuned')


# ---- failing candidates

def failing(suite, folder, statement, status):
    """A compiler breaks the kernels of one candidate, which fails and is never chosen."""
    t = Tuning(suite, folder)
    t.env.update(compiler(folder, TILE_32, statement))
    t.search('--knobs', 'tile_q', '--trials', 12,
             '--limit', 25 if status == 'late' else 60, '--time', 200)
    trials = t.trials()
    bad = [x for x in trials if x['status'] == status]
    check(bad and any(x['status'] == 'measured' for x in trials),
          str([(x['schedule'], x['status'], x.get('why')) for x in trials]))
    check(all(x['status'] in ('measured', status) for x in trials),
          str([(x['schedule'], x['status'], x.get('why')) for x in trials]))
    text = open(folder + '/small.tuned.yaml').read()
    chosen = yaml.safe_load(text)['schedule']
    for entry in chosen if isinstance(chosen, list) else [chosen]:
        check(entry.get('tile_q') != 32, 'a candidate that fails was chosen: ' + text)


# ---- the command line

def interrupted(suite, folder):
    t = Tuning(suite, folder)
    process = subprocess.Popen(t.command('small.yaml', '--shape', 'n=64..8192,heads=2',
                                         '--samples', 3, '--json=small.json', '--time', 120),
                               cwd=folder, env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    while 'trial' not in (line := process.stderr.readline()):
        check(line, 'it ended')
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    check(process.returncode == -signal.SIGINT, 'it ended with %d: %s' % (process.returncode, err))
    check('n=64' in out and os.path.exists(folder + '/small.tuned.yaml'),
          'what was found was not written: ' + out + err)
    # An orphan that has ended is listed until init has read its status.
    left = subprocess.run(['pgrep', '--runstates', 'RSDT', '-s', str(process.pid)], capture_output=True, text=True).stdout.split()
    check(not left, 'processes are left: %s' % left)
    check(t.trials(), 'its results are lost')


def usage(suite, folder):
    t = Tuning(suite, folder)
    for arguments, words in ((['--shape', 'n=0'], '--shape'), (['--shape', 'heads=2'], '--shape'),
                             (['--shape', 'n=64,heads=8/3'], '--shape'), (['--shape', 'n=64,colour=3'], '--shape'),
                             (['--strategy', 'model'], 'unknown option'), (['--trials', 'x'], '--trials'),
                             (['--samples', '0'], '--samples'), (['--time', '-1'], '--time'),
                             (['--knobs', 'tile_q,tile_z'], 'tile_k'),
                             (['--set', 'schedule.tile_q=8'], 'tile_q')):
        done = execute(t.command('small.yaml', *arguments), cwd=folder, env=t.env)
        check(done.returncode in (1, 2) and words in done.stderr,
              '%s: %d %s' % (arguments, done.returncode, done.stderr))
    check(t.call(status=2).stderr.count('\n') == 1, 'no spec')
    check('--knobs' in t.call('--help').stdout, 'the help is not whole')
    with open(folder + '/bad.yaml', 'w') as file:
        file.write(SPEC.replace('causal', 'casual'))
    check('bad.yaml:3' in t.call('bad.yaml', status=1).stderr, 'a bad spec')


def main():
    suite = Suite(__doc__)
    os.environ.update(quick.short())
    for name, function in (('search', searches), ('tuned', tuned), ('interrupted', interrupted), ('usage', usage)):
        suite.case(name, lambda folder, f=function: f(suite, folder))
    for name, statement, status in (('crash', 'raise(SIGSEGV);', 'crashed'), ('hang', 'for (;;) pause();', 'late'),
                                    ('wrong', 'return 0;', 'wrong')):
        suite.case('failing/' + name, lambda folder, s=statement, e=status: failing(suite, folder, s, e))
    kept.register(suite)
    return suite.run()


sys.exit(main())
