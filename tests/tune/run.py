#!/usr/bin/python3
"""Tests attnc tune as users run it: searches, stored results, failing candidates, shared databases."""
import csv
import io
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
from tuning import SPEC, TILE_32, Tuning, compiler, finished, runs_of

KILLS = int(os.environ.get('ATTNC_TEST_KILLS', '12' if WHOLE else '6'))


# ---- a search

def searches(suite, folder):
    t = Tuning(suite, folder)
    done = t.search('--strategy', 'random', '--trials', 6, '--report', 'out.html')
    trials = t.trials()
    check(5 <= len(trials) <= 6 and all(x['status'] == 'measured' for x in trials), str([x['status'] for x in trials]))
    check(all(len(x['samples']) >= 3 for x in trials), 'too few samples')
    check('n=200 heads=2' in done.stdout, done.stdout)
    rows = list(csv.DictReader(io.StringIO(t.call('--export', 'csv', '--db', 'small.db').stdout)))
    check(len(rows) == len(trials), '%d rows of CSV for %d trials' % (len(rows), len(trials)))
    check('small' in t.call('--query', '--db', 'small.db').stdout, 'the query does not name the spec')
    page = open(folder + '/out.html').read()
    check('<html' in page and 'small' in page, 'no page')
    t.integrity()


def tuned(suite, folder):
    """The schedule compiles, computes the right values, and keeps the user's comment."""
    t = Tuning(suite, folder)
    t.call('small.yaml', '--shape', 'n=100..400,heads=2', '--samples', 3, '--trials', 3, '--time', 60,
           '--db', 'small.db', '--strategy', 'random')
    text = open(folder + '/small.tuned.yaml').read()
    check('# of little work' in text, 'the comment is lost')
    schedules = yaml.safe_load(text)['schedule']
    check(isinstance(schedules, (list, dict)), repr(schedules))
    for arguments in (['small.tuned.yaml'], ['small.yaml', '--tuned']):
        done = execute([suite.attnc, 'check', *arguments], cwd=folder, env=t.env)
        check(done.returncode == 0, done.stdout + done.stderr)
    t.search('--tuned', '--strategy', 'random', '--trials', 2, '--db', 'again.db')
    check(all(x['status'] == 'measured' for x in t.trials('again.db')), 'no search starts from what was tuned')


def interpreted_strategies(suite, folder):
    t = Tuning(suite, folder)
    for strategy in ('exhaustive', 'random', 'halving', 'model'):
        db = strategy + '.db'
        t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--trials', 8 if WHOLE else 4, '--strategy', strategy,
               '--db', db, '--time', 60)
        check(len(t.trials(db)) >= 2, strategy)


def same_order(suite, folder):
    t = Tuning(suite, folder)
    orders = []
    for db in ('a.db', 'b.db'):
        t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--trials', 4, '--strategy', 'random',
               '--seed', 5, '--db', db, '--time', 60)
        orders.append([x['schedule'] for x in t.trials(db)])
    check(orders[0] == orders[1], str(orders))


# ---- failing candidates

def failing(suite, folder, statement, status):
    """A compiler breaks the kernels of one candidate, which fails and is never chosen."""
    t = Tuning(suite, folder)
    t.env.update(compiler(folder, TILE_32, statement))
    t.search('--strategy', 'exhaustive', '--knobs', 'tile_q', '--trials', 12,
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
    t.search('--strategy', 'exhaustive', '--trials', 5)
    before = t.trials()
    t.search('--strategy', 'exhaustive', '--trials', 5, '--resume')
    after = t.trials()
    check([x['schedule'] for x in before] == [x['schedule'] for x in after],
          '%d trials became %d' % (len(before), len(after)))
    t.search('--strategy', 'exhaustive', '--trials', 5)
    check(len(t.trials()) > len(before), 'without --resume nothing new was measured')


def storm(suite, folder):
    """After a kill, finished results are still there, and the search continues."""
    t = Tuning(suite, folder)
    known, longest, rng = 0, 4, random.Random(7)
    for kill in range(KILLS):
        process = subprocess.Popen(t.command('small.yaml', '--shape', 'n=128,heads=1', '--samples', 3, '--strategy',
                                             'exhaustive', '--resume', '--db', 'small.db', '--time', 100, '--quiet'),
                                   cwd=t.folder, env=t.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        time.sleep(rng.uniform(0.3, longest))
        process.kill()
        process.wait()
        count = len(finished(t.trials())) if os.path.exists(folder + '/small.db') else 0
        longest *= 1 if count > known else 1.3   # If the machine is busy, the next kill comes later.
        check(count >= known, 'after %d kills %d finished trials became %d' % (kill + 1, known, count))
        known = count
        if known:
            t.integrity()
    check(known > 0, 'no trial was ever finished')
    points = [json.dumps(x['schedule'], sort_keys=True) for x in finished(t.trials())]
    check(len(points) == len(set(points)), 'a finished trial was measured again')


def two_at_once(suite, folder):
    t = Tuning(suite, folder)
    arguments = ('small.yaml', '--shape', 'n=128,heads=1', '--samples', 3, '--strategy', 'random', '--trials', 5,
                 '--db', 'small.db', '--time', 60)
    both = [subprocess.Popen(t.command(*arguments, '--seed', seed), cwd=folder, env=t.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for seed in (1, 2)]
    for process in both:
        _, err = process.communicate(timeout=170)
        check(process.returncode == 0, err)
    runs = runs_of(json.loads(t.call('--export', 'json', '--db', 'small.db').stdout))
    check(len(runs) == 2 and all(len(finished(run['trials'])) >= 4 for run in runs),
          str([len(run['trials']) for run in runs]))
    t.integrity()


def shards(suite, folder):
    t = Tuning(suite, folder, SPEC)
    for k in (1, 2, 3):
        t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--strategy', 'exhaustive', '--trials', 6,
               '--shard', '%d/3' % k, '--db', '%d.db' % k, '--time', 60)
    parts = [len(finished(t.trials('%d.db' % k))) for k in (1, 2, 3)]
    points = [json.dumps(x['schedule'], sort_keys=True) for k in (1, 2, 3) for x in finished(t.trials('%d.db' % k))]
    check(len(set(points)) == len(points) and len(points) > 0, 'shards overlap: %s' % parts)
    for _ in range(2):
        for k in (2, 3):
            t.call('--merge', '%d.db' % k, '--db', '1.db')
    check(len(finished(t.trials('1.db'))) == len(points),
          'merged: %d of %d' % (len(finished(t.trials('1.db'))), len(points)))
    done = t.call('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--strategy', 'exhaustive', '--trials', 6,
                  '--db', '1.db', '--time', 60, '--resume')
    check(len(finished(t.trials('1.db'))) == len(points), 'what another shard had measured was measured again')
    check('%d measured' % len(points) in done.stdout, done.stdout)


def ranks(suite, folder):
    """Ranks of a launcher share the space and join their results. If a rank is killed, its results are in its own file."""
    t = Tuning(suite, folder, SPEC)
    def start(names, rank, count, *more):
        own = {name: str(number) for name, number in zip(names, (rank, count))}
        return subprocess.Popen(t.command('small.yaml', '--shape', 'n=64,heads=1', '--samples', 3, '--knobs', 'tile_q,rows',
                                          '--db', 'all.db', '--time', 100, *more), cwd=folder, env=t.env | own,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    open_mpi, slurm = ('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE'), ('SLURM_PROCID', 'SLURM_NTASKS')
    all_of_them = [start(open_mpi, rank, 3, '--strategy', 'exhaustive', '--trials', 9) for rank in range(3)]
    all_of_them[1].kill()   # probably before it has finished a trial
    said = [process.communicate(timeout=170) for process in all_of_them]
    check([process.returncode for process in all_of_them] == [0, -signal.SIGKILL, 0], said)
    check('rank 3 of 3: its results are in all.db' in said[2][1], said)
    trials = finished(t.trials('all.db'))
    points = [json.dumps(x['schedule'], sort_keys=True) for x in trials]
    check(len(set(points)) == len(points) and len(points) >= 2, points)
    check('schedule' in open(folder + '/small.tuned.yaml').read(), 'no schedule was written')
    check(not any(name.startswith(('all.db.1-', 'all.db.3-')) for name in os.listdir(folder)), os.listdir(folder))
    second = start(slurm, 1, 3, '--strategy', 'exhaustive', '--resume', '--trials', 9)
    said = second.communicate(timeout=170)
    check(second.returncode == 0, said)
    after = [json.dumps(x['schedule'], sort_keys=True) for x in finished(t.trials('all.db'))]
    check(len(set(after)) == len(after) and set(points) < set(after), 'rank 2 measured %s after %s' % (after, points))
    said = start(slurm, 0, 2, '--strategy', 'model').communicate(timeout=60)
    check('under mpirun and Slurm, tune needs --strategy exhaustive or random' in said[1], said)


def broken_databases(suite, folder):
    t = Tuning(suite, folder)
    with open(folder + '/garbage.db', 'w') as file:
        file.write('this is no database, however long one looks at it\n' * 40)
    for db in ('garbage.db', 'no/such/folder/x.db', '/dev/full', '.'):
        done = execute(t.command('small.yaml', '--trials', 1, '--db', db), cwd=folder, env=t.env)
        check(done.returncode in (1, 3), '%s: status %d' % (db, done.returncode))
        check(db in done.stderr and done.stderr.count('\n') <= 3, repr(done.stderr))
    check('this is no database' in open(folder + '/garbage.db').read(), 'the file that is no database was changed')
    done = t.call('--query', '--db', 'none.db', status=1)
    check('none.db' in done.stderr and not os.path.exists(folder + '/none.db'), done.stderr)
    t.search('--strategy', 'random', '--trials', 2)
    os.chmod(folder + '/small.db', stat.S_IRUSR)
    before = len(t.trials())
    done = t.search('--trials', 1, status=3, obeys_modes=True)
    check('small.db' in done.stderr, done.stderr)
    check(len(t.trials()) == before, 'a database that may only be read was changed')


def full_disk(suite, folder):
    """A limit on file sizes acts as a full disk. Existing results stay."""
    t = Tuning(suite, folder)
    t.search('--strategy', 'random', '--trials', 2)
    before = t.trials()
    limit = os.path.getsize(folder + '/small.db') // 1024 + 4
    script = 'trap "" XFSZ; ulimit -f %d; exec "$@"' % limit
    done = execute(['bash', '-c', script, 'bash',
                    *t.command('small.yaml', '--shape', 'n=64,heads=1', '--samples', 900,
                               '--strategy', 'random', '--trials', 60, '--db', 'small.db', '--time', 60)],
                   cwd=folder, env=t.env, signals=True)
    check(done.returncode == 3 and 'error' in done.stderr, 'status %d: %s' % (done.returncode, done.stderr[-500:]))
    after = t.trials()
    check([x['schedule'] for x in after[:len(before)]] == [x['schedule'] for x in before], 'trials of before are gone')
    t.integrity()


# ---- strategies of the user

PIPE = '''import json, sys
space = json.loads(sys.stdin.readline())
knobs = {k['name']: k for k in space['space']}
for turn in range(4):
    point = {name: k['values'][turn % len(k['values'])] for name, k in knobs.items()}
    print(json.dumps({'point': point, 'samples': 3}), flush=True)
    answer = json.loads(sys.stdin.readline())
    assert answer['point'] == point, answer
    open('answers', 'a').write(answer['status'] + '\\n')
print(json.dumps({'done': True}), flush=True)
'''


def piped(suite, folder):
    t = Tuning(suite, folder)
    with open(folder + '/mine.py', 'w') as file:
        file.write(PIPE)
    t.search('--strategy', 'pipe:python3 mine.py')
    answers = open(folder + '/answers').read().split()
    check(len(answers) == 4 and set(answers) <= {'measured', 'refused'}, str(answers))
    t.search('--strategy', 'pipe:cat > /dev/null', '--time', 3, timeout=60)
    for program in ('exit 3', 'echo nonsense', "printf '{\"point\": {\"tile_z\": 3}, \"samples\": 3}\\n'; sleep 60",
                    'true'):
        done = t.search('--strategy', 'pipe:' + program, status=3, timeout=60)
        check('pipe' in done.stderr or 'strategy' in done.stderr, program + ': ' + done.stderr)


# ---- the command line

def interrupted(suite, folder):
    t = Tuning(suite, folder)
    process = subprocess.Popen(t.command('small.yaml', '--shape', 'n=64..8192,heads=2',
                                         '--samples', 3, '--strategy', 'random', '--db', 'small.db', '--time', 120),
                               cwd=folder, env=t.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    deadline = time.time() + 60
    while time.time() < deadline and not (os.path.exists(folder + '/small.db') and len(finished(t.trials())) > 1):
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
                             (['--strategy', 'modle'], 'model'), (['--trials', 'x'], '--trials'),
                             (['--samples', '0'], '--samples'), (['--time', '-1'], '--time'),
                             (['--shard', '3/2'], '--shard'), (['--shard', '1/2'], '--shard'),
                             (['--export', 'xml'], 'xml'), (['--knobs', 'tile_q,tile_z'], 'tile_k'),
                             (['--set', 'schedule.tile_q=8'], 'tile_q')):
        done = execute(t.command('small.yaml', '--db', 'small.db', *arguments), cwd=folder, env=t.env)
        check(done.returncode in (1, 2) and words in done.stderr,
              '%s: %d %s' % (arguments, done.returncode, done.stderr))
    check(t.call(status=2).stderr.count('\n') == 1, 'no spec')
    check('--strategy' in t.call('--help').stdout and '"samples"' in t.call('--help').stdout, 'the help is not whole')
    with open(folder + '/bad.yaml', 'w') as file:
        file.write(SPEC.replace('causal', 'casual'))
    check('bad.yaml:3' in t.call('bad.yaml', '--db', 'small.db', status=1).stderr, 'a bad spec')


def main():
    suite = Suite(__doc__)
    os.environ.update(quick.short())
    for name, function in (('search', searches), ('tuned', tuned), ('strategies', interpreted_strategies),
                           ('same_order', same_order), ('resume', resumes), ('storm', storm),
                           ('two_at_once', two_at_once), ('shards', shards), ('ranks', ranks), ('broken_databases', broken_databases),
                           ('full_disk', full_disk), ('pipe', piped), ('interrupted', interrupted), ('usage', usage)):
        suite.case(name, lambda folder, f=function: f(suite, folder))
    for name, statement, status in (('crash', 'raise(SIGSEGV);', 'crashed'), ('hang', 'for (;;) pause();', 'late'),
                                    ('wrong', 'return 0;', 'wrong')):
        suite.case('failing/' + name, lambda folder, s=statement, e=status: failing(suite, folder, s, e))
    kept.register(suite)
    return suite.run()


sys.exit(main())
