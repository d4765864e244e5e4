"""Helpers of the cases of attnc tune: a folder, calls of attnc, changed compilers."""
import json
import os

from quick import REAL
from suite import check, execute

SPEC = '''name: small   # of little work
similarity: softmax
mask: causal
shape: {head_dim: 16}
'''


class Tuning:
    """A folder with a spec, and calls of attnc in it."""

    def __init__(self, suite, folder, spec=SPEC, **environment):
        self.suite, self.folder = suite, folder
        self.env = dict(os.environ, OMP_NUM_THREADS='2', NO_COLOR='1', **environment)
        with open(folder + '/small.yaml', 'w') as file:
            file.write(spec)

    def command(self, *arguments):
        return [self.suite.attnc, 'tune', *map(str, arguments)]

    def call(self, *arguments, status=0, **options):
        done = execute(self.command(*arguments), cwd=self.folder, env=self.env, **options)
        check(done.returncode == status, 'exit status %d, not %d: %s' % (done.returncode, status, done.stderr))
        return done

    def search(self, *arguments, **options):
        return self.call('small.yaml', '--shape', 'n=200,heads=2', '--samples', 3, '--json=small.json', '--time', 60,
                         *arguments, **options)

    def runs(self):
        """Returns the runs of the last search, with their trials, which are numbered from 1."""
        with open(self.folder + '/small.json') as file:
            runs = json.load(file)
        for run in runs:
            for number, trial in enumerate(run['trials']):
                trial['number'] = number + 1
        return runs

    def trials(self):
        """Returns the trials of all runs of the last search."""
        return [trial for run in self.runs() for trial in run['trials']]


def compiler(folder, pattern, statement, log=None, otherwise='', function='forward_any'):
    """A C compiler that inserts `statement` into sources that match the pattern, and `otherwise` into other
    sources. It logs the id of its parent process."""
    with open(folder + '/changing-cc', 'w') as file:
        file.write('''#!/usr/bin/python3
import os, re, sys
for a in sys.argv[1:]:
    if a.endswith('/small.c') and os.path.exists(a):
        text = open(a).read()
        statement = %r if re.search(%r, text) else %r
        text = re.sub(r'(\\nstatic int %s\\([^{]*\\{\\n)', lambda m: m.group(1) + statement + '\\n', text)
        open(a, 'w').write('#include <fcntl.h>\\n#include <stdlib.h>\\n#include <signal.h>\\n#include <unistd.h>\\n' + text)
        if %r:
            open(%r, 'a').write('%%d\\n' %% os.getppid())
os.execvp(%r, [%r] + sys.argv[1:])
''' % (statement, pattern, otherwise, function, log, log, REAL, REAL))
    os.chmod(folder + '/changing-cc', 0o755)
    # The folder's name may contain blanks, so the compiler is found through PATH.
    return {'ATTNC_CC': 'changing-cc', 'PATH': folder + ':' + os.environ['PATH'], 'XDG_CACHE_HOME': folder + '/cache'}


TILE_32 = r'i0 \+ 32\b|\.tile = 32\b'
