#!/usr/bin/env python3
"""Compares other libraries on the CPU with attnc, call by call. README.md explains the table.

Each library has its own process. Exit status: 0 done, 1 different results or nothing measured, 2 wrong usage, 3 the
machine failed."""
import argparse
import fnmatch
import importlib
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, 'build-peers')
PYTHON = os.path.join(WORK, 'bin/python')
BEGIN, END = '<!-- table: written by tests/peers/run.py --write -->', '<!-- end of the table -->'
SHORT_TITLE = ('Softmax in f32 at the shapes of models. attnc is called as a C function; '
               'in the rows that say so from Python, as `attnc.kernel(…)(q, k, v)`.')
# The rows that the project's README.md shows.
SHOWN = (('PyTorch', 'softmax, causal, n = 8192'), ('PyTorch', 'sliding window of 1024, n = 8192'),
         ('PyTorch', 'linear, ELU + 1, causal, n = 8192'), ('JAX', 'polysketch, r = 32, sketched, n = 32768'),
         ('OpenBLAS', 'polysketch, r = 32, sketched, n = 32768'))
LIBRARIES = ('torch', 'jax', 'openblas', 'onnxruntime', 'openvino')
PACKAGES = ('torch==2.13.0', 'jax==0.10.2', 'onnxruntime==1.32.0', 'onnx==1.23.2', 'openvino==2026.4.1', 'numpy')
DEBIAN = ('libopenblas0-pthread', 'libopenblas-pthread-dev')


def say(text):
    print('peers: ' + text, file=sys.stderr, flush=True)


def fail(text):
    say('error: ' + text)
    sys.exit(3)


def command_line():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--setup', action='store_true',
                   help='install the libraries into build-peers/ (Python packages, OpenBLAS unpacked; needs no root)')
    p.add_argument('--only', metavar='PATTERN', action='append',
                   help='rows whose library or job contains PATTERN (* is any text); repeatable')
    p.add_argument('--quick', action='store_true', help='short lengths and few calls: to see that it works')
    p.add_argument('--write', action='store_true',
                   help='put the table into README.md here, and some of its rows into the README.md of the project')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    p.add_argument('--heads', type=int, default=4, help='of jobs that name no number of heads (default 4)')
    p.add_argument('--limit', type=float, metavar='SECONDS',
                   help='for the alternating calls of a row (default 3; 1 with --quick)')
    p.add_argument('--minutes', type=float, default=11,
                   help='rows that would begin later are left out, and said to be (default 11)')
    p.add_argument('--library', choices=LIBRARIES, help=argparse.SUPPRESS)
    p.add_argument('--until', type=float, help=argparse.SUPPRESS)
    options = p.parse_args()
    if (options.threads < 1 or options.heads < 1 or (options.limit is not None and options.limit <= 0)
            or options.minutes <= 0):
        p.error('threads, heads, limit and minutes are positive')
    if options.write and (options.only or options.quick):
        p.error('--write is for a whole run')
    if options.thread_time and options.threads != 1:
        p.error('--thread-time is for --threads 1')
    options.limit = options.limit or (1 if options.quick else 3)

    def wanted(peer, job):
        name = '%s: %s' % (peer, job)
        if options.only and not any(fnmatch.fnmatch(name.lower(), '*%s*' % o.lower()) for o in options.only):
            return False
        if time.monotonic() > options.until:
            print(json.dumps(dict(table='late', job=name)), flush=True)
            return False
        return True
    options.wanted = wanted
    options.lengths = lambda *full: (1024,) if options.quick else full
    return options


def execute(*command, **more):
    say(' '.join(os.path.basename(w) if os.sep in w else w for w in command))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, **more)
    if done.returncode:
        fail('%s: exit status %d' % (command[0], done.returncode))


def setup():
    if not os.path.exists(PYTHON):
        execute('/usr/bin/python3' if os.path.exists('/usr/bin/python3') else 'python3', '-m', 'venv', WORK)
    execute(PYTHON, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *PACKAGES)
    if shutil.which('apt-get'):
        folder = os.path.join(WORK, 'deb')
        os.makedirs(folder, exist_ok=True)
        execute('apt-get', 'download', *DEBIAN, cwd=folder)
        for name in sorted(os.listdir(folder)):
            execute('dpkg', '-x', os.path.join(folder, name), os.path.join(WORK, 'openblas'))


def processor():
    """Returns the processor's model from /proc/cpuinfo."""
    entries = {}
    with open('/proc/cpuinfo') as f:
        for line in f:
            name, _, value = line.partition(':')
            entries.setdefault(name.strip(), value.strip())
    model = entries.get('model name', os.uname().machine)
    if 'cpu family' in entries:
        model += ' (family %s, model %s)' % (entries['cpu family'], entries.get('model'))
    return model


def child(options):
    """Measures one library. Prints its rows as JSON."""
    sys.path.insert(0, HERE)
    try:
        if options.thread_time:
            importlib.import_module('measure').clock = time.process_time
        peer = importlib.import_module(options.library + '_peer')
        version = peer.version()
    except (ImportError, RuntimeError, OSError) as error:
        print(json.dumps(dict(table='skipped', library=options.library, why=str(error).splitlines()[0])), flush=True)
        return
    print(json.dumps(dict(table='versions', text=version)), flush=True)
    peer.rows(options)


def environment(options):
    threads = str(options.threads)
    own = dict(OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, OPENBLAS_NUM_THREADS='1', PYTHONDONTWRITEBYTECODE='1',
               TORCHINDUCTOR_CACHE_DIR=os.path.join(WORK, 'inductor'), JAX_PLATFORMS='cpu')
    # Our OpenMP library spins for 200 ms after a call, and would take a core from the peer.
    own['KMP_BLOCKTIME'] = '5'
    return {**os.environ, **own}


def run_library(library, options, until):
    python = PYTHON if os.path.exists(PYTHON) else sys.executable
    argv = [python, os.path.abspath(__file__), *[a for a in sys.argv[1:] if a != '--write'], '--library', library,
            '--until', str(until)]
    cores = sorted(os.sched_getaffinity(0))[:options.threads]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               env=environment(options), preexec_fn=lambda: os.sched_setaffinity(0, cores))
    found = [json.loads(line) for line in process.stdout]
    if process.wait():
        found.append(dict(table='skipped', library=library, why='it ended with exit status %d' % process.returncode,
                          failed=True))
    return found


def milliseconds(x):
    return '%.2f ms' % x if x < 10 else '%.1f ms' % x if x < 100 else '%.0f ms' % x


def times(r):
    return '| %s | %s: %s | %s | %s | %.2f |' % (r['job'], r['peer'], r['form'], milliseconds(r['peer_ms']),
                                                 milliseconds(r['ours_ms']), r['peer_ms'] / r['ours_ms'])


def jobs_table(rows):
    """Returns a table with a row for each job and a column for each library: its time over attnc's in the same run."""
    peers = list(dict.fromkeys(r['peer'] for r in rows))
    lines = ['| job | attnc | %s |' % ' | '.join('%s / attnc' % p for p in peers), '| --- |' + ' --- |' * (1 + len(peers))]
    for job in dict.fromkeys(r['job'] for r in rows):
        of_job = [r for r in rows if r['job'] == job]
        cells = {p: '; '.join('did not work' if 'error' in r else '%.2f (%s)' % (r['peer_ms'] / r['ours_ms'], r['form'])
                              for r in of_job if r['peer'] == p) for p in peers}
        ours = min((r['ours_ms'] for r in of_job if 'error' not in r), default=None)
        lines.append('| %s | %s | %s |' % (job, milliseconds(ours) if ours else '',
                                           ' | '.join(cells.values())))
    return lines


def shown_table(rows):
    """Returns the table in the project's README.md: the first row of each job."""
    first = {}
    for r in rows:
        if 'error' not in r:
            first.setdefault((r['peer'], r['job']), r)
    return ['| job | library, its fastest form | its time | attnc | times as fast |', '| --- | --- | --- | --- | --- |',
            *(times(first[shown]) for shown in SHOWN if shown in first)]


def claim_table(rows):
    """Returns a table of the times of several kernels at several lengths, with speeds relative to the library's
    quadratic kernel."""
    names = list(rows[0]['ms'])
    lines = ['| n | ' + ' | '.join(names) + ' |', '| --- |' + ' --- |' * len(names)]
    for r in rows:
        cells = []
        for name, ms in r['ms'].items():
            base = r['base'][name]
            cells.append(milliseconds(ms) + ('' if base == name else ' (%.2f)' % (ms / r['ms'][base])))
        lines.append('| %d | %s |' % (r['n'], ' | '.join(cells)))
    return lines


def main():
    options = command_line()
    if options.library:
        return child(options)
    if options.setup:
        return setup()
    if not os.path.exists(os.path.join(os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build')), 'attnc')):
        fail('no build/attnc: run ./dev build')
    model = processor()
    begin, found = time.monotonic(), []
    for library in LIBRARIES:
        found += run_library(library, options, begin + 60 * options.minutes)
    of = lambda table: [r for r in found if r['table'] == table]
    jobs, short, claim, skipped, late = of('jobs'), of('short'), of('claim'), of('skipped'), of('late')
    for s in skipped:
        say('%s left out: %s' % (s['library'], s['why']))
    lines = ['%s, %d threads, %d heads of 64 where a job names no others; %s.' % (
        model, options.threads, options.heads, '; '.join(v['text'] for v in of('versions')))]
    lines += ['Left out: %s (%s).' % (s['library'], s['why']) for s in skipped]
    if late:
        lines.append('Left out for lack of time: %s.' % '; '.join(r['job'] for r in late))
    if jobs:
        lines += ['', *jobs_table(jobs)]
    lines += ['', *('%s, %s: %s.' % (r['peer'], r['job'], r['error']) for r in jobs + short if 'error' in r)]
    if short:
        lines += ['', SHORT_TITLE, '', *jobs_table(short)]
    if claim:
        lines += ['', claim[0]['title'], '', *claim_table(claim)]
    print('\n'.join(lines))
    say('%d rows in %.0f s' % (len(jobs + short + claim), time.monotonic() - begin))
    if options.write:
        write(os.path.join(HERE, 'README.md'), lines)
        write(os.path.join(ROOT, 'README.md'), [lines[0], '', *shown_table(jobs + short)])
    measured = jobs + short
    return 1 if (any(r['differs'] for r in measured) or any('failed' in s for s in skipped)
                 or not measured + claim) else 0


def write(file, lines, first=BEGIN):
    with open(file) as f:
        text = f.read()
    head, begin, rest = text.partition(first + '\n')
    _, end, tail = rest.partition(END)
    if not begin or not end:
        fail('%s: no marks of the table' % file)
    with open(file + '.part', 'w') as f:
        f.write('\n'.join([head + first, *lines, END + tail]))
    os.rename(file + '.part', file)
    say('written: ' + os.path.relpath(file, ROOT))


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
