"""Where autograd is, which gradients.py needs: in a virtual environment of its own, made where there is none."""
import glob
import os
import subprocess
import sys

from suite import ROOT

VENV = os.path.join(ROOT, 'build-autograd')


def autograd():
    """'' where autograd can be imported, from its virtual environment, or else why not."""
    found = glob.glob(VENV + '/lib/python*/site-packages/autograd')
    if not found:
        for line in [sys.executable, '-m', 'venv', VENV], [VENV + '/bin/python', '-m', 'pip', 'install', '--quiet',
                                                           '--disable-pip-version-check', '--no-deps', 'autograd']:
            try:
                done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=300)
            except (OSError, subprocess.TimeoutExpired) as error:
                return 'autograd cannot be installed: %s' % error
            if done.returncode: return 'autograd cannot be installed: ' + (done.stdout.strip().splitlines() or [''])[-1]
        found = glob.glob(VENV + '/lib/python*/site-packages/autograd')
    sys.path.append(os.path.dirname(found[0]))
    try:
        import gradients
    except ImportError as error:
        return str(error)
    return ''
