"""Runs the Python blocks of the documents that need PyTorch or JAX. tests/package/readme.py runs the others."""
import multiprocessing
import os
import re
import traceback

from common import *

try:
    import torch   # once, for the processes of all blocks; JAX cannot be forked
except ImportError:
    pass


def blocks():
    found = []
    for file in 'README.md', 'runtime/python/README.md':
        with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), file)) as f:
            found += re.findall(r'^```python\n(.*?)^```', f.read(), flags=re.M | re.S)
    return [text for text in found if re.search(r'^import (torch|jax)\b', text, flags=re.M)
            and re.search(r'^import .*\battnc\b', text, flags=re.M)]


# what torchrun sets
ONE_PROCESS = {'RANK': '0', 'WORLD_SIZE': '1', 'MASTER_ADDR': 'localhost', 'MASTER_PORT': '0'}


def program(folder, text):
    os.chdir(folder)
    os.environ.update(JAX_PLATFORMS='cpu', **(ONE_PROCESS if 'init_process_group' in text else {}))
    for descriptor in 1, 2:
        os.dup2(os.open('said', os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    status = 1
    try:
        exec(compile(text, 'block', 'exec'), {'__name__': '__main__'})
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)   # without the end of the threads that the parent has


def run(folder, text):
    process = multiprocessing.get_context('fork').Process(target=program, args=(folder, text))
    process.start()
    process.join(300)
    process.kill()
    with open(os.path.join(folder, 'said')) as f: check(process.exitcode == 0, f.read()[-1500:])


for number, text in enumerate(blocks()):
    CASES.append(lambda folder, text=text: run(folder, text))
    CASES[-1].__name__ = 'block_%d' % (number + 1)

if __name__ == '__main__':
    sys.exit(main(__doc__))
