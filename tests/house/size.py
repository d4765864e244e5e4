#!/usr/bin/env python3
"""Checks that the tree, the emitted kernels and libattnrt stay small.

size.py           `ok` or `FAIL` for each limit
size.py --print   prints what it counts
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build'))
# The largest numbers that are allowed. Whoever needs more lines says why in the commit that raises a number.
LIMITS = {
    'compiler_and_ir': 73_600,    # lines
    'runtime': 12_300,            # lines of C, without mpi/ and python/
    'mpi': 4_100,                 # lines of runtime/mpi
    'generated': 110_000,         # lines of all emitted kernels
    'softmax_causal': 1_000,      # lines of generated/softmax_causal.c
    'conditions': 150,            # #if and #elif in the C that the emitter fills in
    'choosers': 0,                # functions of emitted kernels that choose a version
    'library_text': 150_000,      # bytes of machine code in libattnrt.so
}
LIBRARIES = r'lib(c|m|gomp|omp)\.so\.|ld-linux'
ALLOCATES = {'memory.c', 'npy.c', 'npy_write.c'}  # attn_alloc, and the files of arrays
ALLOCATORS = {'malloc', 'calloc', 'realloc', 'aligned_alloc', 'posix_memalign', 'strdup', 'mmap'}


def files(*patterns):
    for pattern in patterns:
        yield from glob.glob(os.path.join(ROOT, pattern), recursive=True)


def text(paths):
    return ''.join(open(path, encoding='utf-8').read() for path in paths)


def lines(*patterns):
    return text(files(*patterns)).count('\n')


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def counts():
    yield 'compiler_and_ir', lines(*('%s/**/*.%s' % (top, end) for top in ('compiler', 'ir') for end in 'ch'),
                                   'compiler/**/*.def', 'ir/**/*.def')
    yield 'runtime', lines('runtime/*.[ch]', 'runtime/call/*.[ch]', 'runtime/kernel/*.h')
    yield 'mpi', lines('runtime/mpi/*.[ch]')
    yield 'generated', lines('generated/*.c')
    yield 'softmax_causal', lines('generated/softmax_causal.c')
    yield 'conditions', len(re.findall(r'^#(?:el)?if', text(files('compiler/emit/embedded/*.c')), re.M))
    yield 'choosers', len(re.findall(r'^static struct version', text(files('generated/*.c')), re.M))
    if is_optimised():
        section = re.search(r'^\.text\s+(\d+)', said('size', '-A', os.path.join(BUILD, 'libattnrt.so')), re.M)
        yield 'library_text', int(section[1])


def is_optimised():
    """Returns whether the library is compiled as it is installed."""
    with open(os.path.join(BUILD, 'compile_commands.json'), encoding='utf-8') as f:
        command = next(c['command'] for c in json.load(f) if c['file'].endswith('runtime/memory.c'))
    return bool(re.search(r' -O[23s] ', command)) and '-fsanitize' not in command


def library_needs():
    needed = re.findall(r'NEEDED.*\[(.*)\]', said('readelf', '-d', os.path.join(BUILD, 'libattnrt.so')))
    return ' '.join(name for name in needed if not re.match(LIBRARIES, name))


def library_allocates():
    takes = collections.defaultdict(set)
    for line in said('nm', '-A', '--undefined-only', os.path.join(BUILD, 'libattnrt.a')).split('\n'):
        found = re.match(r'.*:runtime_(\w+\.c)\.o:\s+U (\w+)', line)
        if found and found[2] in ALLOCATORS: takes[found[1]].add(found[2])
    return ' '.join('%s:%s' % (name, ','.join(sorted(of))) for name, of in takes.items() if name not in ALLOCATES)


def main():
    if sys.argv[1:] == ['--print']:
        for name, number in counts(): print('%8d of %8d  %s' % (number, LIMITS[name], name))
        return 0
    results = [(name, '' if number <= LIMITS[name] else '%d, at most %d' % (number, LIMITS[name]))
               for name, number in counts()]
    if is_optimised(): results += [('library_needs', library_needs()), ('library_allocates', library_allocates())]
    else: print('skip size/library it is compiled for tests')
    for name, wrong in results: print('%s size/%s %s' % ('FAIL' if wrong else 'ok', name, wrong))
    failed = sum(bool(wrong) for _, wrong in results)
    print('%d passed, %d failed, %d skipped' % (len(results) - failed, failed, not is_optimised()))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
