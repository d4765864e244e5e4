#!/usr/bin/env python3
"""Checks that tests/suites.txt has every suite, that Meson has the same suites and all modules of the Python package, and
that no command leaves files in the root of the project."""
import fnmatch
import glob
import json
import os
import platform
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NO_TESTS = {'tests/peers/run.py', 'tests/peers/delta.py', 'tests/peers/flex.py', 'tests/peers/ranks.py',
            'tests/peers/paged.py', 'tests/peers/best.py'}  # these programs measure times
NAMED = {'quick', 'unit', 'house'}
BUILDS = {'plain', 'sanitized'}
WHEN = {'-', 'x86_64', 'demo'}
OF_ROOT = {'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'compiler', 'dev', 'examples', 'generated', 'ir',
           'meson.build', 'meson_options.txt', 'pyproject.toml', 'runtime', 'specs', 'tests'}
BUILT = ('.*', 'build*', 'debian', 'obj-*', '__pycache__')  # .gitignore has these, and nobody commits them


def rows():
    with open(os.path.join(ROOT, 'tests', 'suites.txt')) as f:
        return [line.split() for line in f if line.strip() and not line.startswith('#')]


def well_formed():
    names = [row[0] for row in rows()]
    for row in rows():
        name, groups, build, when, program = row[:5]
        if names.count(name) > 1 or name in NAMED: return name + ' is a name of two things'
        if not set(groups.split(',')) <= NAMED | {'-'}: return '%s: no groups: %s' % (name, groups)
        if build not in BUILDS or when not in WHEN: return '%s: %s %s' % (name, build, when)
        if program.startswith('tests/') and not os.access(os.path.join(ROOT, program), os.X_OK):
            return '%s: %s is no program' % (name, program)


def scripts():
    """Every executable file in tests/ is a suite and has an extension."""
    listed = {row[4] for row in rows()} | NO_TESTS
    for path in glob.glob(os.path.join(ROOT, 'tests', '**', '*'), recursive=True):
        name = os.path.relpath(path, ROOT)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            if name not in listed: return name + ' is in no line'
            if not name.endswith(('.py', '.sh', '.bash')): return name + ' has no extension'


def units():
    listed = ' '.join(row[4] for row in rows()) + ' '
    for path in glob.glob(os.path.join(ROOT, 'tests', 'unit', 'test_*.c')):
        name = os.path.basename(path)[:-2]
        # This program is compiled for several types.
        end = '_' if name == 'test_vector' else ' '
        if 'BUILD/tests/' + name + end not in listed: return name + ' is in no line'


def meson():
    build = os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build'))
    said = subprocess.run(['meson', 'introspect', '--tests', build], stdout=subprocess.PIPE, check=True).stdout
    tests = [test['name'] for test in json.loads(said)]
    wanted = [row[0] for row in rows() if row[3] in ('-', platform.machine()) or row[3] == 'demo' and 'demo' in tests]
    if tests != wanted: return 'these differ: ' + ' '.join(sorted(set(tests) ^ set(wanted)))


def modules():
    """A wheel has the modules that Meson installs."""
    folder = os.path.join(ROOT, 'runtime', 'python')
    with open(os.path.join(folder, 'meson.build')) as f: installed = f.read()
    left = [name for name in sorted(glob.glob('attnc/**/*.py', root_dir=folder, recursive=True))
            if "'%s'" % name not in installed]
    if left: return 'runtime/python/meson.build does not install: ' + ' '.join(left)


def root():
    """This suite starts late, so it sees what other suites and the commands of README files leave."""
    left = [name for name in sorted(set(os.listdir(ROOT)) - OF_ROOT)
            if not any(fnmatch.fnmatch(name, pattern) for pattern in BUILT)]
    if left: return 'remove these, which attnc or a test has written: ' + ' '.join(left)
    gone = sorted(OF_ROOT - set(os.listdir(ROOT)))
    if gone: return 'OF_ROOT lists these, which the root does not have: ' + ' '.join(gone)


def main():
    count = {'ok': 0, 'FAIL': 0, 'skip': 0}
    for check in well_formed, scripts, units, meson, modules, root:
        verdict, why = 'ok', ''
        if check is meson and not shutil.which('meson'): verdict, why = 'skip', 'there is no meson'
        else: why = check() or ''
        if why and verdict == 'ok': verdict = 'FAIL'
        count[verdict] += 1
        print('%s listed/%s %s' % (verdict, check.__name__, why))
    print('%(ok)d passed, %(FAIL)d failed, %(skip)d skipped' % count)
    return 1 if count['FAIL'] else 0


if __name__ == '__main__':
    sys.exit(main())
