"""Helpers for tests of an installed attnc: an installation in an empty folder (DESTDIR), and folders of users."""
import glob
import os
import re
import shutil
import subprocess

from suite import ROOT, Failure, Skip, check, execute

TEXT = '/usr/share/common-licenses/GPL-3'


class Place:
    """A folder, and the environment of a user who has installed attnc."""

    def __init__(self, suite, folder, name='a b'):
        self.suite, self.prefix, self.folder = suite, suite.prefix, os.path.join(folder, name)
        os.mkdir(self.folder)
        self.environment = clean(PREFIX=self.prefix, OMP_NUM_THREADS='2')
        # The libraries of the tested build are in the folders that Debian uses.
        exports = blocks(os.path.join('examples', 'README.md'), 'Examples')[1][1].replace(
            '"$PREFIX/lib/pkgconfig"', '"$(dirname "$(find "$PREFIX" -name attnc.pc)")"')
        shown = self.run(['bash', '-ec', exports + 'env -0'], cwd=self.folder).stdout
        self.environment = dict(line.split('=', 1) for line in shown.split('\0') if line)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def run(self, argv, cwd=None, status=0, env=None, **options):
        done = execute(argv, cwd=cwd or self.folder, env=self.environment | (env or {}), **options)
        check(done.returncode == status, 'exit status %d, not %d: %s\n%s' % (
            done.returncode, status, ' '.join(map(str, argv))[:200], (done.stdout + done.stderr)[-1500:]))
        return done

    def write(self, name, text):
        with open(self.path(name), 'w') as f:
            f.write(text)

    def read(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program):
                raise Skip('there is no ' + program)

    def library(self):
        """Returns the folder of libattnrt."""
        return os.path.dirname(self.environment['PKG_CONFIG_PATH'])


def clean(**more):
    """Returns the environment without variables that affect users' builds."""
    gone = ('CC', 'CXX', 'CFLAGS', 'LDFLAGS', 'MAKEFLAGS', 'ATTNC', 'DESTDIR', 'LD_LIBRARY_PATH', 'CMAKE_GENERATOR')
    return {k: v for k, v in os.environ.items() if k not in gone} | {'LC_ALL': 'C'} | more


def sections(file):
    """Returns the title and text of each section of a Markdown file."""
    with open(os.path.join(ROOT, file)) as f:
        text = f.read()
    found, title, fenced = [], None, False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith('```')
        if not fenced and re.match('#+ ', line):
            title = line.lstrip('#').strip()
            found.append([title, ''])
        elif found:
            found[-1][1] += line
    return [(title, body) for title, body in found]


def blocks(file, title):
    """Returns (word after the fence, lines) of each block in a section."""
    return [block for name, body in sections(file) if name == title
            for block in re.findall(r'^```(\w*)\n(.*?)^```$', body, flags=re.M | re.S)]


def install(suite, command='meson install -C build', folder='an empty folder', **environment):
    """Runs an install command and sets suite.prefix. Returns the error, or ''."""
    destination = os.path.join(suite.folder, folder)
    environment = {k: v for k, v in clean(DESTDIR=destination).items() if k != 'PKG_CONFIG_PATH'} | environment
    named = command.replace('meson install -C build', 'meson install --no-rebuild -C "$BUILD"')
    if named == command:
        return 'nothing is installed by: ' + command
    done = subprocess.run(['bash', '-ec', named], env=environment | {'BUILD': os.path.dirname(suite.attnc)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = glob.glob(glob.escape(destination) + '/**/bin/attnc', recursive=True)
    if done.returncode or len(found) != 1:
        return 'meson install: ' + (done.stdout + done.stderr)[-1500:].replace('\n', ' ')
    suite.prefix = os.path.dirname(os.path.dirname(found[0]))
    return None
