#!/usr/bin/python3
"""Tests the Python package as a wheel, in one environment with NumPy alone and one with PyTorch, JAX and mypy.

The environment of the frameworks stays in build-python/, so a second run is fast. Cases are skipped if a package
cannot be installed."""
import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))

from suite import ROOT, Skip, cached, compiler, processes_of

BUILD = os.path.join(ROOT, 'build-python')
README = os.path.join(ROOT, 'runtime', 'python', 'README.md')
FRAMEWORKS = ('jax==0.10.2', 'mypy', 'pyyaml', 'expecttest')   # the last is needed by PyTorch's own tests
PYTORCH = ('torch==2.13.0+cpu', 'transformers', 'accelerate')   # without +cpu, PyPI serves gigabytes of CUDA
UNREACHABLE = re.compile('No matching distribution|Connection|Temporary failure|timed out|Max retries|ensurepip')
LIMIT = 900   # seconds for the cases of a file
count = {'passed': 0, 'failed': 0, 'skipped': 0}


class Impossible(Exception):
    """A test's requirement is not available here."""


def say(verdict, name, why=''):
    count[{'ok': 'passed', 'FAIL': 'failed', 'skip': 'skipped'}[verdict]] += 1
    print(verdict, name, why.strip().replace('\n', '\n    '), flush=True)


def run(argv, why, **options):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', **options)
    if done.returncode:
        lines = done.stdout.strip().splitlines()
        unreachable = [line.strip() for line in lines if UNREACHABLE.search(line)]
        if unreachable:
            raise Impossible('%s: %s' % (why, unreachable[-1]))
        raise RuntimeError('%s: %s' % (why, '\n'.join(lines[-15:])))
    return done.stdout


def readme_line():
    """Returns the installation command of README."""
    with open(README) as f:
        line, = re.search(r'^```\n(.*?)^```', f.read(), flags=re.M | re.S)[1].splitlines()
    return line.split('#')[0].strip()


def environment(name, *packages):
    """Makes a Python environment with the package of this tree. Returns the path of its Python and its environment
    variables."""
    folder = os.path.join(BUILD, name)
    python = os.path.join(folder, 'bin', 'python')
    settings = dict(os.environ, PATH=os.path.dirname(python) + os.pathsep + os.environ['PATH'], VIRTUAL_ENV=folder,
                    PIP_DISABLE_PIP_VERSION_CHECK='1', PIP_NO_COMPILE='1', CC=compiler('clang'))
    for unwanted in 'PYTHONPATH', 'ATTNC', 'ATTNC_CC':
        settings.pop(unwanted, None)
    if name == 'numpy' or not os.path.exists(os.path.join(folder, 'bin', 'pip')):   # pip comes last
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, '-m', 'venv', folder], 'there is no venv')
    # This folder is as deep as build/, so ccache sees equal file names.
    run(['sh', '-c', 'exec %s' % readme_line()], readme_line(), cwd=ROOT,
        env=settings | {'CC': cached('clang'), 'PIP_CONFIG_SETTINGS': 'builddir=' + os.path.join(ROOT, 'build-wheel')})
    if packages:
        run([python, '-m', 'pip', 'install', '--quiet', *packages], 'pip', env=settings)
    return python, settings


def cases(name, python, settings, more, link):
    """Runs the cases of a file with `python` and with `more` options. `link` leads to BUILD. All files share the bytecode
    of imported packages: compiling that of PyTorch takes as long as importing it."""
    folder = os.path.dirname(link)
    # parallel cases would disturb PyTorch's threads
    words = [os.path.join(HERE, name + '_cases.py'), os.path.join(os.path.dirname(python), 'attnc'), '--jobs',
             '2' if name in ('numpy', 'stored', 'pages') else '1']
    command = [os.path.join(link, os.path.relpath(python, BUILD)), *words, *more]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=settings | {'TMPDIR': folder, 'PYTHONPYCACHEPREFIX': os.path.join(folder, 'bytecode'),
                                               'PYTHONDONTWRITEBYTECODE': ''},
                               errors='replace', start_new_session=True)
    ended = []
    timer = threading.Timer(LIMIT, stop, (process, ended))
    timer.start()
    last = None
    for line in process.stdout:
        last = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped\n|no case matches.*\n', line)
        if not last: print(line, end='', flush=True)
    timer.cancel()
    process.wait()
    if not last:
        say('FAIL', name, ''.join(ended) or 'exit status %d' % process.returncode)
    elif last[1]:
        for key, number in zip(count, map(int, last.groups())):
            count[key] += number


def stop(process, ended):
    ended.append('no end after %d s; its processes, with seconds of CPU:\n%s' % (LIMIT, processes_of(process.pid)))
    os.killpg(process.pid, signal.SIGKILL)


def numpy_is_all_it_needs(python, settings):
    listed = run([python, '-m', 'pip', 'list', '--format=freeze'], 'pip list', env=settings)
    names = {line.split('=')[0].split(' ')[0] for line in listed.splitlines()}
    if not {'attnc', 'libclang', 'numpy'} <= names <= {'attnc', 'libclang', 'numpy', 'pip', 'setuptools', 'wheel'}:
        raise RuntimeError('there are ' + ' '.join(sorted(names)))
    place = os.path.join(glob.glob(os.path.join(BUILD, 'numpy', 'lib', 'python*', 'site-packages'))[0], 'attnc')
    for file in ('py.typed', '_bin/attnc', 'attnrt.h', 'specs/softmax.yaml', 'xla.c', 'attnrt_ranks.h', 'attnrt/problem.h', 'attnrt/kernel/vector.h',
                 '_bin/attnc_team.so', '_bin/attnc_ranks.so', '_bin/attnc_tensors.so', '_bin/libattnc_ort.so'):
        if not os.path.isfile(os.path.join(place, file)):
            raise RuntimeError('the wheel has no ' + file)
    with open(glob.glob(place + '-*.dist-info/METADATA')[0]) as f, open(README) as description:
        if description.read().strip() not in f.read():
            raise RuntimeError('the description of the wheel is not ' + README)


def it_is_for_every_python(python, settings):
    """The wheel's tag names no Python version. The program in the wheel is linked statically with the
    libraries that have archives."""
    place = glob.glob(os.path.join(BUILD, 'numpy', 'lib', 'python*', 'site-packages'))[0]
    with open(glob.glob(os.path.join(place, 'attnc-*.dist-info', 'WHEEL'))[0]) as f:
        tag = re.search(r'^Tag: (.*)', f.read(), flags=re.M)[1]
    if not tag.startswith('py3-none-') or tag.endswith('-any'):
        raise RuntimeError('its tag is ' + tag)
    needed = run(['readelf', '--dynamic', '--wide', os.path.join(place, 'attnc', '_bin', 'attnc')], 'readelf')
    for library in 'libyaml', 'libmd', 'libjansson':
        archive = run([settings['CC'], '-print-file-name=%s.a' % library], settings['CC']).strip()
        if os.path.isabs(archive) and 'Shared library: [%s' % library in needed:
            raise RuntimeError('it needs %s although there is %s' % (library, archive))


def folder_of_mypy():
    """Returns a folder without modules, so that mypy checks the installed package. It takes every folder for one."""
    folder = os.path.join(BUILD, 'mypy')
    os.makedirs(folder, exist_ok=True)
    return folder


def types_are_strict(python, settings):
    run([python, '-m', 'mypy', '--strict', '--cache-dir', folder_of_mypy(), '-p', 'attnc'], 'mypy', cwd=folder_of_mypy(),
        env=settings)


def types_refuse_what_is_wrong(python, settings):
    file = os.path.join(HERE, 'typed_use.py')
    done = subprocess.run([python, '-m', 'mypy', '--strict', '--cache-dir', folder_of_mypy(), '--no-error-summary',
                           '--hide-error-context', file], cwd=folder_of_mypy(), env=settings, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = {}
    for number, code in re.findall(r'typed_use[.]py:(\d+): error: .*\[([a-z-]+)\]$', done.stdout, flags=re.M):
        said.setdefault(int(number), set()).add(code)
    with open(file) as f:
        wanted = {number: set(line.split('# error: ')[1].split()) for number, line in enumerate(f, 1)
                  if '  # error: ' in line}
    if said != wanted or not wanted:
        raise RuntimeError('mypy says\n' + done.stdout)


def main():
    # PyTorch does not quote paths for the C++ compiler, so this path must have no blank. All files share it, because
    # PyTorch's cache of compiled code depends on it.
    plain = next(f for f in (tempfile.gettempdir(), '/tmp', '/var/tmp') if ' ' not in f)
    with tempfile.TemporaryDirectory(prefix='attnc-python-', dir=plain) as folder:
        os.makedirs(BUILD, exist_ok=True)
        os.symlink(BUILD, os.path.join(folder, 'build'))
        return all_cases(os.path.join(folder, 'build'))


def all_cases(link):
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('attnc', help='not used: the wheel has its own')
    parser.add_argument('--only', metavar='PATTERN', help='only cases whose name contains PATTERN')
    parser.add_argument('--part', metavar='K/N', help='of each file every N-th case, from number K on')
    options = parser.parse_args()
    only = ['--only', options.only] if options.only else []
    part = ['--part', options.part] if options.part else []
    for name, packages, files, more in (
            ('numpy', (), ('numpy', 'stored', 'pages', 'first_call'), (numpy_is_all_it_needs, it_is_for_every_python)),
            ('frameworks', FRAMEWORKS, ('torch', 'tensors', 'replace', 'flex', 'flex_mods', 'formulas', 'sdpa', 'opinfo', 'transformers',
                                        'sharing', 'jax', 'jax_grid', 'sums', 'readme', 'train', 'distributed'), (types_are_strict, types_refuse_what_is_wrong))):
        try:
            python, settings = environment(name, *packages)
        except (Impossible, Skip) as why:
            say('skip', name, str(why))
            continue
        except RuntimeError as why:
            say('FAIL', name, str(why))
            continue
        try:
            if name == 'frameworks':
                run([python, '-m', 'pip', 'install', '--quiet', *PYTORCH], 'pip', env=settings)
        except Impossible as why:
            say('skip', 'torch, replace, transformers, readme, train, types', str(why))
            files, more = ('jax',), ()
        for function in more if not only else ():
            try:
                function(python, settings)
                say('ok', function.__name__)
            except RuntimeError as why:
                say('FAIL', function.__name__, str(why))
        try:
            if name == 'numpy':
                run([python, '-m', 'pip', 'install', '--quiet', 'pyyaml', 'ml_dtypes'], 'packages of tests', env=settings)
        except Impossible as why:
            say('skip', 'numpy_cases', str(why))
            continue
        for file in files:
            cases(file, python, settings, only + part, link)
    print('%(passed)d passed, %(failed)d failed, %(skipped)d skipped' % count)
    return 1 if count['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
