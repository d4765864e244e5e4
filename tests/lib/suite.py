"""Runs the cases of a suite in parallel, and prints a line for each and a summary.

A case is a function that gets an empty folder and raises Failure or Skip. The folder of a failed case is kept."""
import argparse
import concurrent.futures
import fnmatch
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHOLE = os.environ.get('ATTN_TESTS') == 'whole'   # `./dev test whole`, with more kernels and more of them compiled with -O2


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(condition, why):
    if not condition:
        raise Failure(why)


def header_of_runtime():
    """Returns the text of attnrt.h and of the headers that it includes."""
    text = ''
    for path in glob.glob(os.path.join(ROOT, 'runtime', 'attnrt', '*.h')) + [os.path.join(ROOT, 'runtime', 'attnrt.h')]:
        with open(path) as f: text += f.read()
    return text


def compiler(name):
    """Returns the path of gcc, clang or a C++ compiler. For clang, it is the version for which attnc is tuned."""
    for found in map(shutil.which, {'clang': ('clang-19', 'clang'), 'c++': ('g++', 'c++', 'clang++-19')}.get(name, (name,))):
        if found:
            return found
    raise Skip('there is no ' + name)


def cached(name):
    """Returns a command for the compiler, with ccache if it exists."""
    return 'ccache ' + compiler(name) if shutil.which('ccache') else compiler(name)


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return 'signal %d' % number


def processes_of(group):
    """Returns a line for each process of the group: its number, state, CPU seconds and command. The lines show why
    a command did not end."""
    lines = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as f: before, after = f.read().rsplit(')', 1)
            with open(os.path.dirname(path) + '/cmdline') as f: command = f.read().replace('\0', ' ')
        except OSError:   # the process has ended
            continue
        state, _, own_group, *rest = after.split()
        seconds = (int(rest[8]) + int(rest[9])) / os.sysconf('SC_CLK_TCK')
        if int(own_group) == group: lines.append('%s %s %.1f %s' % (before.split()[0], state, seconds, command[:160]))
    return '\n'.join(lines)


def execute(argv, cwd=None, env=None, timeout=180, signals=False, **options):
    """Runs a command as its own process group, and returns it with its output. A time-out fails the case. A signal
    that ends the command also fails it, unless `signals`."""
    options = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) | options
    process = subprocess.Popen([str(a) for a in argv], cwd=cwd, env=env, start_new_session=True, text=True,
                               encoding='utf-8', errors='replace', **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        running = processes_of(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failure('no end after %d s: %s\nits processes, with seconds of CPU:\n%s'
                      % (timeout, ' '.join(map(str, argv)), running))
    except KeyboardInterrupt:   # the group is its own, so Ctrl-C does not reach it
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode < 0 and not signals:
        raise Failure('killed by %s: %s\n%s' % (signal_name(-process.returncode), ' '.join(map(str, argv)), err or ''))
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def obeying_modes(*rights):
    """Returns the prefix of a command that makes root obey the modes of files."""
    return ['setpriv', '--bounding-set=' + ','.join('-' + right for right in rights)] if os.geteuid() == 0 else []


def part(text):
    """Reads the option --part K/N."""
    first, every = map(int, text.split('/'))
    if not 0 <= first < every:
        raise ValueError
    return first, every


class Suite:
    """A test program: its command line, its cases, and the functions that run them. `more` adds options."""

    def __init__(self, description, more=None):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument('attnc', help='the compiler under test')
        parser.add_argument('--only', metavar='PATTERN',
                            help='only cases whose name contains PATTERN (* and ? as in a shell)')
        parser.add_argument('--jobs', type=int, default=2, metavar='N', help='cases at a time (default: 2)')
        parser.add_argument('--times', action='store_true', help='say how long each case took; with --jobs 1, how much CPU too')
        parser.add_argument('--part', type=part, metavar='K/N', help='every N-th case, from number K on (0/2: every second one)')
        parser.add_argument('--list', action='store_true', help='print the names of the cases and stop')
        if more:
            more(parser)
        self.options = parser.parse_args()
        self.attnc = os.path.abspath(self.options.attnc)
        os.environ.setdefault('OMP_WAIT_POLICY', 'passive')   # idle threads take no cores from other tests
        if not self.options.list and not os.access(self.attnc, os.X_OK):
            parser.error('%s is not a program' % self.options.attnc)
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='attnc-test-'))
        self.cases, self.folders = [], set()

    def case(self, name, function, *arguments):
        folder = self.folder_of(name)
        if folder in self.folders:
            raise ValueError('two cases have the folder %s' % folder)
        self.folders.add(folder)
        self.cases.append((name, function, arguments))

    def folder_of(self, name):
        return os.path.join(self.folder, name.replace('/', '.').replace(' ', '_'))

    def timed(self, *case):
        began, used = time.monotonic(), sum(os.times()[:4])
        verdict, said = self.one(*case)
        if self.options.times:
            said = '%.2f s, %.2f s of CPU%s' % (time.monotonic() - began, sum(os.times()[:4]) - used, ' ' + said if said else '')
        return verdict, said

    def one(self, name, function, arguments):
        folder = self.folder_of(name)
        os.makedirs(folder)
        try:
            said = function(folder, *arguments)
            shutil.rmtree(folder, ignore_errors=True)
            return 'ok', said
        except Skip as skip:
            shutil.rmtree(folder, ignore_errors=True)
            return 'skip', str(skip)
        except Failure as failure:
            return 'FAIL', '%s\nkept: %s' % (failure, folder)
        except Exception:
            return 'FAIL', 'the test itself broke\n%s\nkept: %s' % (traceback.format_exc().rstrip(), folder)

    def run(self):
        pattern = self.options.only
        first, every = self.options.part or (0, 1)
        cases = [c for c in self.cases[first::every] if not pattern or fnmatch.fnmatch(c[0], '*%s*' % pattern)]
        if self.options.list:
            print('\n'.join(name for name, _, _ in cases))
            shutil.rmtree(self.folder)
            return 0
        if not cases:
            print('no case matches %r' % pattern)
            return 2
        count = {'ok': 0, 'skip': 0, 'FAIL': 0}
        began, live = time.monotonic(), sys.stderr.isatty()
        pool = concurrent.futures.ThreadPoolExecutor(max(1, self.options.jobs))
        try:
            futures = {pool.submit(self.timed, *case): case[0] for case in cases}
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                verdict, said = future.result()
                count[verdict] += 1
                first, *rest = (said or '').split('\n')
                if live:
                    sys.stderr.write('\r\033[K')
                    sys.stderr.flush()
                print(' '.join(filter(None, (verdict, futures[future], first))), flush=True)
                for line in rest:
                    print('    ' + line, flush=True)
                if live:
                    sys.stderr.write('[%d/%d, %d failed, %.0f s]' % (
                        done, len(cases), count['FAIL'], time.monotonic() - began))
                    sys.stderr.flush()
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print('\ninterrupted')
            return 130
        if live:
            sys.stderr.write('\r\033[K')
        print('%d passed, %d failed, %d skipped' % (count['ok'], count['FAIL'], count['skip']))
        if not count['FAIL']:
            shutil.rmtree(self.folder, ignore_errors=True)
        return 1 if count['FAIL'] else 0
