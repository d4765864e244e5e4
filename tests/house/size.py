#!/usr/bin/env python3
"""Checks that the tree, the emitted kernels and libattnrt stay small, and that what was merged does not come back.

size.py           `ok` or `FAIL` for each limit
size.py --print   prints the lines of each folder, and what it counts
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
COMPILER = ('compiler/**/*.[ch]', 'compiler/**/*.def', 'ir/*.[ch]', 'ir/*.def')
AFTER_SPECS = tuple('compiler/%s/**/*.c' % folder for folder in ('driver', 'emit', 'command', 'pass', 'analysis'))
# Each row is (name, largest number of lines that is allowed, pattern of a line or '' for every line, files). A commit
# that raises a number says why. A commit that makes the count smaller also lowers the number.
LIMITS = (
    ('compiler_and_ir', 74_161, '', COMPILER),
    ('runtime', 12_980, '', ('runtime/*.[ch]', 'runtime/attnrt/*.h', 'runtime/call/*.[ch]', 'runtime/kernel/*.h')),
    ('mpi', 3_700, '', ('runtime/mpi/*.[ch]',)),
    ('python', 11_750, '', ('runtime/python/**/*.py', 'runtime/python/**/*.[ch]')),
    ('generated', 130_000, '', ('generated/*.c',)),
    ('softmax_causal', 1_000, '', ('generated/softmax_causal.c',)),
    # #if and #elif in the C that the emitter fills in
    ('conditions', 35, r'#(el)?if', ('compiler/emit/embedded/*.c',)),
    # emitted functions that choose a version
    ('choosers', 0, r'static struct version', ('generated/*.c',)),
    # recursions over expressions, which ir/expr_query.c answers
    ('walks', 17, r'.*expr_arity\(e->op\)', ('compiler/**/*.c',)),
    # private analyses of sign
    ('signs', 0, r'static .*(not|never|none)_negative\(', ('compiler/**/*.c',)),
    # words of the spec language after compiler/variant
    ('variants', 0, r'(?!.*(MASK_AXES|PREPARE_CHOICE)).*\b(SIMILARITY|MASK|NORMALIZE|PREPARE|COMPATIBILITY|BIAS)_',
     AFTER_SPECS),
    # A graph is built once for a program.
    ('graphs', 2, r'.*build_graph\(', ('compiler/driver/**/*.c',)),
    # The printer compares names of arguments to find what a pass did not say.
    ('guesses', 10, r'.*str(cmp|str)\((name|step|product|(argument|finite)\[)', ('compiler/emit/*.c',)),
    # Arrays have names of quantities.
    ('letters', 3, r'.*"(q|k|v|out)"', ('compiler/[!v]*/**/*.[ch]', 'compiler/view/**/*.[ch]', 'ir/*.[ch]')),
)
MOST_LIBRARY_TEXT = 153_600   # bytes of machine code in libattnrt.so
LIBRARIES = r'lib(c|m|gomp|omp)\.so\.|ld-linux'
ALLOCATES = {'memory.c', 'npy.c', 'npy_write.c'}  # attn_alloc, and the files of arrays
ALLOCATORS = {'malloc', 'calloc', 'realloc', 'aligned_alloc', 'posix_memalign', 'strdup', 'mmap'}


def files(*patterns):
    for pattern in patterns:
        yield from (path for path in glob.glob(os.path.join(ROOT, pattern), recursive=True) if not os.path.islink(path))


def text(paths):
    return ''.join(open(path, encoding='utf-8').read() for path in paths)


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def counts():
    """Yields (name, number, largest number that is allowed)."""
    for name, most, pattern, of in LIMITS:
        yield name, len(re.findall('^%s.*\n' % pattern, text(files(*of)), re.M)), most
    if is_optimised():
        section = re.search(r'^\.text\s+(\d+)', said('size', '-A', os.path.join(BUILD, 'libattnrt.so')), re.M)
        yield 'library_text', int(section[1]), MOST_LIBRARY_TEXT


def folders():
    """Yields (folder, its lines)."""
    for folder in files('compiler/*/', 'ir/', 'runtime/', 'runtime/*/'):
        deep = '/**/*' if 'runtime' not in folder or 'python' in folder else '/*'
        number = text(files(*(folder + deep + end for end in ('.[ch]', '.def', '.py')))).count('\n')
        if number: yield os.path.relpath(folder, ROOT), number


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
        for folder, number in folders(): print('%8d              %s' % (number, folder))
        for name, number, most in counts(): print('%8d of %8d  %s' % (number, most, name))
        return 0
    results = [(name, '' if number <= most else '%d, at most %d' % (number, most)) for name, number, most in counts()]
    if is_optimised(): results += [('library_needs', library_needs()), ('library_allocates', library_allocates())]
    else: print('skip size/library it is compiled for tests')
    for name, wrong in results: print('%s size/%s %s' % ('FAIL' if wrong else 'ok', name, wrong))
    failed = sum(bool(wrong) for _, wrong in results)
    print('%d passed, %d failed, %d skipped' % (len(results) - failed, failed, not is_optimised()))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
