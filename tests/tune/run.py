#!/usr/bin/python3
"""Tests attnc tune as users run it: searches, stored results, failing candidates, damaged databases."""
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))

import yaml

import kept
import quick
from suite import WHOLE, Suite, check, execute
from tuning import SPEC, TILE_32, Tuning, compiler

KILLS = int(os.environ.get('ATTNC_TEST_KILLS', '12' if WHOLE else '6'))


# ---- a search

def searches(suite, folder):
    t = Tuning(suite, folder)
    done = t.search('--trials', 6, '--report', 'out.html')
    trials = t.trials()
    check(3 <= len(trials) <= 6 and all(x['status'] == 'measured' for x in trials), str([x['status'] for x in trials]))
    check(all(len(x['samples']) >= 3 for x in trials), 'too few samples')
    check('n=200 heads=2' in done.stdout, done.stdout)
    check(all(x['ratio_low'] <= x['ratio'] <= x['ratio_high'] and x['seconds'] > 0 for x in trials), 'statistics')
    page = open(folder + '/out.html').read()
    check('<html' in page and 'small' in page, 'no page')
    t.call('--report', 'all.html', '--db', 'small.db')
    check(open(folder + '/all.html').read() == page, 'the database has another search')
    t.integrity()


def tuned(suite, folder):
    """The schedule compiles, computes the right values, and keeps the user's comment."""
    t = Tuning(suite, folder)
    t.call('small.yaml', '--shape', 'n=100..400,heads=2', '--samples', 3, '--trials', 3, '--time', 60,
           '--db', 'small.db')
    text = open(folder + '/small.tuned.yaml').read()
    check('# of little work' in text, 'the comment is lost')
    schedules = yaml.safe_load(text)['schedule']
    check(isinstance(schedules, (list, dict)), repr(schedules))
    for arguments in (['small.tuned.yaml'], ['small.yaml', '--tuned']):
        done = execute([suite.attnc, 'check', *arguments], cwd=folder, env=t.env)
        check(done.returncode == 0, done.stdout + done.stderr)
    t.search('--tuned', '--trials', 2, '--db', 'again.db')
    check(all(x['status'] == 'measured' for x in t.trials('again.db')), 'no search starts from what was tuned')


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


# ---- databases

def resumes(suite, folder):
    t = Tuning(suite, folder)
    all_points = ('--knobs', 'tile_q', '--trials', 40)
    t.search(*all_points)
    before = t.trials()
    t.search(*all_points, '--resume')
    after = t.trials()
    check(len(before) > 2 and [x['schedule'] for x in before] == [x['schedule'] for x in after],
          '%d trials became %d' % (len(before), len(after)))
    t.search('--knobs', 'tile_q', '--trials', 2)
    check(len(t.trials()) > len(before), 'without --resume nothing new was measured')


def storm(suite, folder):
    """After a kill, finished results are still there, and the search continues."""
    t = Tuning(suite, folder)
    known, longest, rng = 0, 4, random.Random(7)
    for kill in range(KILLS):
        process = subprocess.Popen(t.command('small.yaml', '--shape', 'n=128,heads=1', '--samples', 3, '--knobs',
                                             'tile_q,rows', '--resume', '--db', 'small.db', '--time', 100, '--quiet'),
                                   cwd=t.folder, env=t.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        time.sleep(rng.uniform(0.3, longest))
        process.kill()
        process.wait()
        count = len(t.trials()) if os.path.exists(folder + '/small.db') else 0
        longest *= 1 if count > known else 1.3   # If the machine is busy, the next kill comes later.
        check(count >= known, 'after %d kills %d finished trials became %d' % (kill + 1, known, count))
        known = count
        if known:
            t.integrity()
    check(known > 0, 'no trial was ever finished')
    points = [json.dumps(x['schedule'], sort_keys=True) for x in t.trials()]
    check(len(points) == len(set(points)), 'a finished trial was measured again')


def two_at_once(suite, folder):
    t = Tuning(suite, folder)
    arguments = ('small.yaml', '--shape', 'n=128,heads=1', '--samples', 3, '--trials', 5,
                 '--db', 'small.db', '--time', 60)
    both = [subprocess.Popen(t.command(*arguments, '--seed', seed), cwd=folder, env=t.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for seed in (1, 2)]
    for process in both:
        _, err = process.communicate(timeout=170)
        check(process.returncode == 0, err)
    runs = t.runs()
    check([run['seed'] for run in sorted(runs, key=lambda run: run['seed'])] == ['1', '2']
          and all(2 <= len(run['trials']) <= 5 for run in runs), str([(r['seed'], len(r['trials'])) for r in runs]))
    t.integrity()


def broken_databases(suite, folder):
    t = Tuning(suite, folder)
    with open(folder + '/garbage.db', 'w') as file:
        file.write('this is no database, however long one looks at it\n' * 40)
    for db in ('garbage.db', 'no/such/folder/x.db', '/dev/full', '.'):
        done = execute(t.command('small.yaml', '--trials', 1, '--db', db), cwd=folder, env=t.env)
        check(done.returncode in (1, 3), '%s: status %d' % (db, done.returncode))
        check(db in done.stderr and done.stderr.count('\n') <= 3, repr(done.stderr))
    check('this is no database' in open(folder + '/garbage.db').read(), 'the file that is no database was changed')
    done = t.call('--report', 'none.html', '--db', 'none.db', status=1)
    check('none.db' in done.stderr and not os.path.exists(folder + '/none.db'), done.stderr)
    t.search('--trials', 2)
    os.chmod(folder + '/small.db', stat.S_IRUSR)
    before = len(t.trials())
    done = t.search('--trials', 1, status=3, obeys_modes=True)
    check('small.db' in done.stderr, done.stderr)
    check(len(t.trials()) == before, 'a database that may only be read was changed')


def full_disk(suite, folder):
    """A limit on file sizes acts as a full disk. Existing results stay."""
    t = Tuning(suite, folder)
    t.search('--trials', 2)
    before = t.trials()
    limit = os.path.getsize(folder + '/small.db') // 1024 + 4
    script = 'trap "" XFSZ; ulimit -f %d; exec "$@"' % limit
    done = execute(['bash', '-c', script, 'bash',
                    *t.command('small.yaml', '--shape', 'n=64,heads=1', '--samples', 900,
                               '--trials', 60, '--db', 'small.db', '--time', 60)],
                   cwd=folder, env=t.env, signals=True)
    check(done.returncode == 3 and 'error' in done.stderr, 'status %d: %s' % (done.returncode, done.stderr[-500:]))
    after = t.trials()
    check([x['schedule'] for x in after[:len(before)]] == [x['schedule'] for x in before], 'trials of before are gone')
    t.integrity()


# ---- the command line

def interrupted(suite, folder):
    t = Tuning(suite, folder)
    process = subprocess.Popen(t.command('small.yaml', '--shape', 'n=64..8192,heads=2',
                                         '--samples', 3, '--db', 'small.db', '--time', 120),
                               cwd=folder, env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    deadline = time.time() + 60
    while time.time() < deadline and not (os.path.exists(folder + '/small.db') and len(t.trials()) > 1):
        time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    check(process.returncode == -signal.SIGINT, 'it ended with %d: %s' % (process.returncode, err))
    check('n=64' in out and os.path.exists(folder + '/small.tuned.yaml'),
          'what was found was not written: ' + out + err)
    # An orphan that has ended is listed until init has read its status.
    left = subprocess.run(['pgrep', '--runstates', 'RSDT', '-s', str(process.pid)], capture_output=True, text=True).stdout.split()
    check(not left, 'processes are left: %s' % left)
    t.integrity()


def usage(suite, folder):
    t = Tuning(suite, folder)
    for arguments, words in ((['--shape', 'n=0'], '--shape'), (['--shape', 'heads=2'], '--shape'),
                             (['--shape', 'n=64,heads=8/3'], '--shape'), (['--shape', 'n=64,colour=3'], '--shape'),
                             (['--strategy', 'model'], 'unknown option'), (['--trials', 'x'], '--trials'),
                             (['--samples', '0'], '--samples'), (['--time', '-1'], '--time'),
                             (['--knobs', 'tile_q,tile_z'], 'tile_k'),
                             (['--set', 'schedule.tile_q=8'], 'tile_q')):
        done = execute(t.command('small.yaml', '--db', 'small.db', *arguments), cwd=folder, env=t.env)
        check(done.returncode in (1, 2) and words in done.stderr,
              '%s: %d %s' % (arguments, done.returncode, done.stderr))
    check(t.call(status=2).stderr.count('\n') == 1, 'no spec')
    check('--knobs' in t.call('--help').stdout, 'the help is not whole')
    with open(folder + '/bad.yaml', 'w') as file:
        file.write(SPEC.replace('causal', 'casual'))
    check('bad.yaml:3' in t.call('bad.yaml', '--db', 'small.db', status=1).stderr, 'a bad spec')


def main():
    suite = Suite(__doc__)
    os.environ.update(quick.short())
    for name, function in (('search', searches), ('tuned', tuned), ('resume', resumes), ('storm', storm),
                           ('two_at_once', two_at_once), ('broken_databases', broken_databases),
                           ('full_disk', full_disk), ('interrupted', interrupted), ('usage', usage)):
        suite.case(name, lambda folder, f=function: f(suite, folder))
    for name, statement, status in (('crash', 'raise(SIGSEGV);', 'crashed'), ('hang', 'for (;;) pause();', 'late'),
                                    ('wrong', 'return 0;', 'wrong')):
        suite.case('failing/' + name, lambda folder, s=statement, e=status: failing(suite, folder, s, e))
    kept.register(suite)
    return suite.run()


sys.exit(main())
