"""Runs the Python blocks of the documents that need PyTorch or JAX. tests/readme.py runs the others."""
import os
import re

from common import *


def blocks():
    found = []
    for file in 'README.md', 'runtime/python/README.md':
        with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), file)) as f:
            found += re.findall(r'^```python\n(.*?)^```', f.read(), flags=re.M | re.S)
    return [text for text in found if re.search(r'^import (torch|jax)\b', text, flags=re.M)
            and re.search(r'^import .*\battnc\b', text, flags=re.M)]


# what torchrun sets
ONE_PROCESS = {'RANK': '0', 'WORLD_SIZE': '1', 'MASTER_ADDR': 'localhost', 'MASTER_PORT': '0'}


def run(folder, text):
    done = execute([sys.executable, '-c', text], cwd=folder,
                   env=dict(os.environ, JAX_PLATFORMS='cpu', **(ONE_PROCESS if 'init_process_group' in text else {})), timeout=300)
    check(done.returncode == 0, done.stderr[-1500:])


for number, text in enumerate(blocks()):
    CASES.append(lambda folder, text=text: run(folder, text))
    CASES[-1].__name__ = 'block_%d' % (number + 1)

if __name__ == '__main__':
    sys.exit(main(__doc__))
