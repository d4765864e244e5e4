"""Makes a virtual environment with autograd, for gradient_definitions.py."""
import fcntl
import glob
import os
import subprocess
import sys

from suite import ROOT

VENV = os.path.join(ROOT, 'build-autograd')


def install():
    """Creates the environment if needed. Other suites wait. Returns the reason of a failure, or ''."""
    root = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(root, fcntl.LOCK_EX)
        if installed(): return ''
        for line in [sys.executable, '-m', 'venv', VENV], [VENV + '/bin/python', '-m', 'pip', 'install', '--quiet',
                                                           '--disable-pip-version-check', '--no-deps', 'autograd']:
            try:
                done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=300)
            except (OSError, subprocess.TimeoutExpired) as error:
                return 'autograd cannot be installed: %s' % error
            if done.returncode: return 'autograd cannot be installed: ' + (done.stdout.strip().splitlines() or [''])[-1]
        return ''
    finally:
        os.close(root)


def installed():
    return glob.glob(VENV + '/lib/python*/site-packages/autograd')


def autograd():
    """Returns '' if autograd can be imported, otherwise the reason."""
    why = install()
    if why: return why
    sys.path.append(os.path.dirname(installed()[0]))
    try:
        import gradient_definitions
    except ImportError as error:
        return str(error)
    return ''
