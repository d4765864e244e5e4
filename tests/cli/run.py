#!/usr/bin/python3
"""Tests the command line: exit statuses, messages, complete outputs, depfiles, equal bytes, failures of the
machine.

expected/NAME.txt has the messages, with DIR for the folder of the case. --update rewrites these files."""
import json
import os
import pty
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('', '../lib', '../numeric/lib')]

import numpy as np

import answers
import bench
import build
import cache
import decode
import definitions
import depfiles
import messages
import quick
import schedules
from cases import POLYNOMIAL, SKETCH, SOFTMAX, WRONG, Place, temporary_files
from stored import rounded
from suite import ROOT, WHOLE, Failure, Skip, Suite, check, execute, obeying_modes

RUN = messages.RUN[:-1]
CASES = []


def case(function):
    CASES.append(function)
    return function


# ---------------------------------------------------------------- help and version

@case
def help_fits_a_screen(place):
    text = place.attnc('--help').stdout
    lines = text.split('\n')
    check(text.endswith('\n') and len(lines) - 1 <= 24, '--help has %d lines' % (len(lines) - 1))
    check(max(map(len, lines)) <= 80, '--help is %d columns wide' % max(map(len, lines)))
    for word in ('explain run check bench list show --stdout --emit --dump-after --passes --target --threads --seed '
                 '--set -MD -MF -MT --quiet --color --version --help --lengths --heads --batch --document --time '
                 '--limit --json --plot --standalone --decode').split():
        check(word in text, '--help does not name ' + word)
    check(place.attnc('run', '--help').stdout, 'run --help says nothing')
    check(place.attnc('--help', 'nothing.yaml').stdout == text, '--help looks at the operands')


@case
def version(place):
    done = place.attnc('--version')
    check(re.fullmatch(r'attnc \d+\.\d+\.\d+\n', done.stdout) and not done.stderr, '--version says %r' % done.stdout)
    for words in ('--version', '--verbose'), ('version', '--verbose'), ('--verbose', '--version'):
        lines = place.attnc(*words).stdout.splitlines()
        check(lines[0] == done.stdout.rstrip(), '%s says %r' % (words, lines))
        names = [line.split(':')[0] for line in lines[1:]]
        check(names == ['system', 'processor', 'targets that run here', 'C compiler', 'libclang, for expressions', 'ATTNC_CC',
                        'CC', 'ATTNC_CFLAGS', 'OMP_NUM_THREADS'], '%s says %r' % (words, lines))
        check('generic' in lines[3].split(': ')[1].split(', '), 'generic code does not run here: ' + lines[3])


@case
def list_and_show(place):
    names = [line.split()[0] for line in place.attnc('list').stdout.splitlines() if line.startswith(' ')]
    check('softmax' in names and len(set(names)) == len(names) > 70, 'list says %s' % names)
    for name in names:
        text = place.attnc('show', name).stdout
        place.write(name + '.yaml', text)
        check(definitions.load(place.path(name + '.yaml'))['similarity'], 'show %s is no spec' % name)
    place.attnc('softmax.yaml')
    check('softmax.c' in place.files(), 'the spec that show writes does not compile')


@case
def passes_are_listed_and_dumped(place):
    os.mkdir(place.path('out'))
    lines = place.attnc('--passes').stdout.splitlines()
    rows = lines[:lines.index('')]
    names, contracts = [line.split()[0] for line in rows[0::2]], rows[1::2]
    check(len(names) >= 3 and len(set(names)) == len(names), '--passes says %s' % lines)
    check(all(re.match(r' +(requires|establishes|invalidates) ', line) for line in contracts),
          'the contracts of --passes are %s' % contracts)
    for name in names:
        done = place.attnc('soft.yaml', '--dump-after', name, '-o', 'out')
        check(done.stderr.strip() and not done.stdout, '--dump-after %s writes nothing to standard error' % name)
    check(place.files('out') == ['soft.c', 'soft.h'], 'dumping also wrote %s' % place.files('out'))


@case
def a_small_stack_is_enlarged_or_refused(place):
    limited = lambda soft, hard: execute(['bash', '-c', 'ulimit -Ss %d && ulimit -Hs %d && exec "$@"' % (soft, hard),
                                          '-', place.suite.attnc, 'soft.yaml', '--stdout'], cwd=place.folder)
    done = limited(64, 65536)
    check(done.returncode == 0 and 'soft_forward' in done.stdout, done.stderr)
    done = limited(64, 64)
    check(done.returncode == 3 and 'the stack of 64 KiB is too small' in done.stderr and not done.stdout,
          '%d: %s' % (done.returncode, done.stderr))


# ---------------------------------------------------------------- compiling

@case
def writes_two_files(place):
    done = place.attnc('soft.yaml')
    check(place.files() == ['affine.yaml', 'poly.yaml', 'soft.c', 'soft.h', 'soft.yaml', 'wrong.yaml'],
          'wrote %s' % place.files())
    check(not done.stdout and not done.stderr, 'says %r' % (done.stdout + done.stderr))
    check(b'soft_forward' in place.read('soft.h') and b'#include "soft.h"' in place.read('soft.c'),
          'the files are not what they should be')


@case
def name_comes_from_the_file(place):
    place.write('my_kernel.yaml', 'similarity: softmax\nshape: {head_dim: 8}\n')
    place.attnc('my_kernel.yaml')
    check(b'my_kernel_forward' in place.read('my_kernel.h'), 'no my_kernel_forward')


@case
def options_stand_anywhere(place):
    os.mkdir(place.path('a'))
    os.mkdir(place.path('b'))
    place.attnc('-o', 'a', 'soft.yaml', '--target=generic')
    place.attnc('soft.yaml', '--target', 'generic', '-ob')
    check(place.read('a/soft.c') == place.read('b/soft.c'), '-o a … --target=generic and … --target generic -ob differ')
    shutil.copy(place.path('soft.yaml'), place.path('-odd.yaml'))
    place.attnc('-o', 'a', '--', '-odd.yaml')


@case
def folder_is_made_or_refused(place):
    done = place.attnc('soft.yaml', '-o', 'new', status=(0, 3))
    check(done.returncode == 3 or place.files('new') == ['soft.c', 'soft.h'], 'wrote %s' % place.files('new'))
    check(done.returncode == 0 or ('new' in done.stderr and not os.path.exists(place.path('new'))), done.stderr)
    os.makedirs(place.path('old', 'deep'))
    place.attnc('soft.yaml', '-o', 'old/deep/')
    check(place.files('old/deep') == ['soft.c', 'soft.h'], 'wrote %s' % place.files('old'))


@case
def standard_output(place):
    before = place.files()
    out = place.attnc('soft.yaml', '--stdout').stdout
    check(place.files() == before, '--stdout also wrote files')
    check('soft_forward' in out and 'soft_kernel' in out, 'the C is not there')
    only = place.attnc('soft.yaml', '--stdout', '--emit', 'c').stdout
    place.attnc('soft.yaml')
    check(only.encode() == place.read('soft.c'), '--stdout --emit c is not the file')
    check(place.attnc('soft.yaml', '--stdout', '--emit', 'h').stdout.encode() == place.read('soft.h'),
          '--stdout --emit h is not the file')


@case
def emits_what_is_asked(place):
    for what, files in ('c', ['soft.c']), ('h', ['soft.h']), ('h,c', ['soft.c', 'soft.h']):
        os.mkdir(place.path(what))
        place.attnc('soft.yaml', '--emit', what, '-o', what)
        check(place.files(what) == files, '--emit %s wrote %s' % (what, place.files(what)))
    both = place.attnc('soft.yaml', '--emit', 'graph,loops', '--stdout').stdout
    graph, loops = (place.attnc('soft.yaml', '--emit', what, '--stdout').stdout for what in ('graph', 'loops'))
    check(graph and loops and graph != loops and both == graph + loops,
          '--emit graph,loops is not the one after the other')
    os.mkdir(place.path('ir'))
    place.attnc('soft.yaml', '--emit', 'graph,loops', '-o', 'ir')
    check(len(place.files('ir')) == 2 and all(f.startswith('soft') for f in place.files('ir')),
          '--emit graph,loops wrote %s' % place.files('ir'))
    check({place.read('ir/' + f).decode() for f in place.files('ir')} == {graph, loops},
          'the files are not what --stdout shows')


@case
def several_specs(place):
    os.mkdir(place.path('out'))
    place.attnc('soft.yaml', 'poly.yaml', 'affine.yaml', '-o', 'out')
    check(place.files('out') == ['affine.c', 'affine.h', 'poly.c', 'poly.h', 'soft.c', 'soft.h'],
          'wrote %s' % place.files('out'))


@case
def a_failing_spec_spoils_no_other(place):
    for folder in 'alone', 'out':
        os.mkdir(place.path(folder))
    place.attnc('soft.yaml', 'poly.yaml', '-o', 'alone')
    place.write('out/wrong.c', 'kept')
    place.attnc('soft.yaml', 'wrong.yaml', 'poly.yaml', '-o', 'out', status=1)
    files = place.files('out')
    check({'soft.c', 'soft.h', 'wrong.c'} <= set(files) <= {'soft.c', 'soft.h', 'poly.c', 'poly.h', 'wrong.c'},
          'left %s' % files)
    check(all(place.read('out/' + f) == place.read('alone/' + f) for f in files if f != 'wrong.c'),
          'an output is not whole')
    check(place.read('out/wrong.c') == b'kept', 'a failure touched an older output')


@case
def same_bytes(place):
    """attnc writes the same bytes in another folder, at another time, and with another home and language."""
    os.makedirs(place.path('else', 'where'))
    for n in '1234':
        os.mkdir(place.path(n))
    for n, words, options in (('1', ['soft.yaml'], {}), ('2', [place.path('soft.yaml')], {}),
                              ('3', ['../../soft.yaml'], {'cwd': place.path('else/where')}),
                              ('4', ['./else/../soft.yaml'], {'env': {'LC_ALL': 'de_DE.UTF-8', 'TZ': 'Asia/Tokyo',
                                                                      'HOME': '/', 'OMP_NUM_THREADS': '3'}})):
        if n == '4':
            os.utime(place.path('soft.yaml'), (1, 1))
        place.attnc(*words, '-o', place.path(n), **options)
        for f in 'soft.c', 'soft.h':
            check(place.read(n + '/' + f) == place.read('1/' + f), '%s differs in run %s' % (f, n))
    text = place.read('1/soft.c') + place.read('1/soft.h')
    check(place.folder.encode() not in text, 'a path is in it')
    check(not re.search(rb'20\d\d-\d\d|__DATE__|__TIME__', text), 'a date is in it')
    first = place.read('1/soft.c').decode().split('*/')[0]
    check(re.search(r'attnc .*soft\.yaml', first), 'the reproducing command is not in it: ' + first)


@case
def the_reproducing_command_reproduces(place):
    words = ['poly.yaml', '--target', 'x86-64-v3,generic', '--standalone', '--set', 'dtype=f64',
             '--set', 'shape.value_dim=12']
    os.mkdir(place.path('a'))
    os.mkdir(place.path('b'))
    place.attnc(*words, '-o', 'a')
    found = re.search(r'.*attnc (.*poly\.yaml.*)', place.read('a/poly.c').decode().split('*/')[0])
    check(found, 'there is no command')
    place.attnc(*shlex.split(found[1]), '-o', 'b')
    check(place.read('a/poly.c') == place.read('b/poly.c') and place.read('a/poly.h') == place.read('b/poly.h'),
          'attnc %s does not give the same' % found[1])


@case
def standalone_needs_no_runtime(place):
    """Several standalone files can be used in one program, even together with attnrt.h."""
    words = ['--standalone', '--target', 'x86-64-v3,generic', '-o', 'out']
    specs = ['polysketch_r32', 'performer_positive', 'performer_relu', 'bigbird', 'packed_documents_polysketch',
             'softmax_causal_bf16', 'linformer']
    os.mkdir(place.path('out'))
    place.attnc(*[os.path.join(ROOT, 'specs', s + '.yaml') for s in specs], *words)
    headers = ''.join('#include "%s.h"\n' % s for s in specs)
    empty = ' || '.join('(%s_workspace(&(struct attn_problem){.threads = 1}) == 0)' % s for s in specs)
    place.write('out/both.c',
                headers + '#include <attnrt.h>\nint main(void)\n{\n    return %s || !attn_strerror(0);\n}\n' % empty)
    place.write('out/both.cpp', headers + '#include <attnrt.h>\n')
    warnings = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
    for compiler in 'gcc', 'clang-19':
        if not shutil.which(compiler):
            continue
        for n, s in enumerate(specs):   # clang compiles every second one again
            if n % 2 == 0 and not WHOLE and os.path.exists(place.path('out/%s.o' % s)): continue
            text = place.read('out/%s.c' % s).decode()
            check(not re.search(r'#include <attn|#include "', text), s + ' includes what is not standard')
            check('.yaml --target x86-64-v3,generic --standalone' in text.split('*/')[0],
                  s + ': the reproducing command: ' + text.split('\n')[0])
            if not text.count('__x86_64__') or os.uname().machine == 'x86_64':
                done = execute([compiler, '-std=c11', *warnings, '-c', s + '.c'], cwd=place.path('out'))
                check(done.returncode == 0 and not done.stderr, '%s %s.c: %s' % (compiler, s, done.stderr[:600]))
            names = execute(['nm', '-g', '--defined-only', s + '.o'], cwd=place.path('out')).stdout
            check(all(line.split()[-1].startswith(s + '_') for line in names.splitlines()) and s + '_forward' in names,
                  s + ' exports ' + names)
        done = execute([compiler, *warnings, '-I', os.path.join(ROOT, 'runtime'), 'both.c',
                        os.path.join(ROOT, 'runtime/error.c'), *[s + '.o' for s in specs], '-lm', '-o', 'both'],
                       cwd=place.path('out'))
        check(done.returncode == 0, 'one program: ' + done.stderr[:600])
        check(execute([place.path('out/both')]).returncode == 0, 'one program does not run')
    if shutil.which('g++'):
        done = execute(['g++', '-std=c++11', *warnings, '-I', os.path.join(ROOT, 'runtime'),
                        '-fsyntax-only', 'both.cpp'], cwd=place.path('out'))
        check(done.returncode == 0, 'C++: ' + done.stderr[:600])


@case
def standalone_computes_the_same(place):
    place.arrays()
    place.write('sketch.yaml', SKETCH)
    out = []
    for words in [], ['--standalone']:
        place.attnc('run', 'sketch.yaml', '--in', 'in', '--out', 'out', '--seed', '3', '--target', 'generic', *words)
        out.append(place.read('out/out.npy'))
    check(out[0] == out[1], 'other bytes')


@case
def set_overrides(place):
    out = place.attnc('soft.yaml', '--set', 'dtype=f64', '--set', 'name=other', '--stdout').stdout
    check('other_forward' in out and 'const double *' in out, '--set does nothing')


@case
def every_target(place):
    for target in ('native', 'generic', 'x86-64-v2', 'x86-64-v3', 'x86-64-v4', 'aarch64',
                   'x86-64-v4,x86-64-v2', 'aarch64,generic'):
        check('soft_forward' in place.attnc('soft.yaml', '--target', target, '--stdout').stdout, target)


@case
def slower_features(place):
    """Products of bf16 are only for processors on which they are faster."""
    out = place.attnc('soft.yaml', '--set', 'dtype=bf16', '--target', 'x86-64-v4', '--stdout').stdout
    chosen = [' '.join(line.split()) for line in out.replace('\n        ', ' ').splitlines() if 'attn_avx512_bf16()' in line]
    faster = '(ATTN_SLOWER_TOO || !attn_is_intel())'
    check(chosen and any(faster in line for line in chosen), 'chosen where: %s' % chosen)
    check('ATTN_SLOWER_TOO' not in place.attnc('soft.yaml', '--target', 'x86-64-v4', '--stdout').stdout, 'of f32')


# ---------------------------------------------------------------- a machine that fails

def limited(bytes):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes))
    return limit


@case
def a_file_too_large_is_not_left_half_written(place):
    place.write('out/soft.c', 'old')
    done = place.attnc('soft.yaml', '-o', 'out', status=3, preexec_fn=limited(1024), restore_signals=False)
    check(re.search(r'out/(soft\.[ch]|\S*): .*[Ff]ile too large', done.stderr), done.stderr)
    check(place.read('out/soft.c') == b'old' and not temporary_files(place.path('out')), 'left %s' % place.files('out'))
    place.arrays(n=100)
    place.attnc(*RUN)
    os.remove(place.path('out', 'out.npy'))
    done = place.attnc(*RUN, status=3, preexec_fn=limited(1024), restore_signals=False)
    check('out/out.npy' in done.stderr and place.files('out') == ['soft.c'],
          'left %s: %s' % (place.files('out'), done.stderr))


@case
def a_full_disk(place):
    os.mkdir(place.path('disk'))
    script = 'mount -t tmpfs -o size=8k tmpfs disk || exit 77; "$@"; code=$?; ls -A disk; exit $code'
    unshare = shutil.which('unshare')
    if not unshare:
        raise Skip('there is no unshare')
    user = [] if os.geteuid() == 0 else ['-r']
    done = subprocess.run([unshare, *user, '-m', 'sh', '-c', script, 'sh', place.suite.attnc, 'soft.yaml', 'poly.yaml',
                           '-o', 'disk'], cwd=place.folder, env=place.environment, capture_output=True, text=True)
    if done.returncode in (1, 77) and ('mount' in done.stderr or 'unshare' in done.stderr):
        raise Skip('no tmpfs can be mounted here')
    check(done.returncode == 3 and 'No space left' in done.stderr,
          'exit status %d: %s' % (done.returncode, done.stderr))
    check(set(done.stdout.split()) <= {'soft.h', 'poly.h'}, 'left ' + done.stdout)


@case
def standard_output_is_full_or_closed(place):
    with open('/dev/full', 'w') as full:
        for words in (['soft.yaml', '--stdout'], ['list'], ['show', 'softmax'], ['--help'], ['--version'],
                      ['explain', 'soft.yaml'], ['--passes']):
            place.attnc(*words, status=3, stdout=full)
    place.attnc('soft.yaml', '--stdout', status=3, preexec_fn=lambda: os.close(1))


@case
def a_reader_that_leaves(place):
    done = subprocess.run(['sh', '-c', '"$0" soft.yaml --stdout | head -c 10', place.suite.attnc],
                          cwd=place.folder, env=place.environment, capture_output=True, text=True)
    check(len(done.stdout) == 10 and done.returncode == 0, str(done))


@case
def a_folder_that_may_not_be_written(place):
    os.makedirs(place.path('closed'))
    for path, mode in ('closed', 0o555), ('soft.yaml', 0o644), ('poly.yaml', 0o000), ('.', 0o755):
        os.chmod(place.path(path), mode)
    def run(*words):
        return subprocess.run([*obeying_modes('dac_override', 'dac_read_search'), place.suite.attnc, *words],
                              cwd=place.folder, env=place.environment, capture_output=True, text=True)
    done = run('soft.yaml', '-o', 'closed')
    os.chmod(place.path('closed'), 0o755)
    check(done.returncode == 3 and 'Permission denied' in done.stderr and 'closed' in done.stderr, str(done))
    check(not place.files('closed'), 'left %s' % place.files('closed'))
    done = run('poly.yaml', '--stdout')
    check(done.returncode in (1, 3) and 'poly.yaml' in done.stderr and 'Permission denied' in done.stderr, str(done))


@case
def out_of_memory(place):
    place.arrays(n=3000)
    place.attnc('soft.yaml', '-o', '.')
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (6 << 20, 6 << 20))
    done = place.attnc('soft.yaml', '--stdout', status=(0, 3, 127), preexec_fn=limit)
    check(done.returncode != 3 or 'memory' in done.stderr, done.stderr)


# ---------------------------------------------------------------- run

def expected(place, spec='soft.yaml'):
    P = {n: x.astype(np.float64) for n, x in definitions.read_dir(place.path('in')).items()}
    return definitions.attend(definitions.load(place.path(spec)), P, *(P.pop(n) for n in 'qkv'))


def close(place, wanted, tolerance=1e-5, dtype=np.float32, out='out'):
    got = np.load(place.path(out, 'out.npy'))
    check(got.dtype == dtype and got.shape == wanted.shape and np.abs(got - wanted).max() < tolerance,
          'the result is wrong')


@case
def run_writes_out_npy(place):
    place.arrays()
    done = place.attnc(*RUN)
    check(not done.stdout, 'writes to standard output: ' + done.stdout)
    check(place.files('out') == ['out.npy'], 'wrote %s' % place.files('out'))
    close(place, expected(place))
    done = place.attnc(*RUN, '--quiet', '--threads', '2')
    check(not done.stdout and not done.stderr, '--quiet says ' + done.stdout + done.stderr)
    place.attnc('run', '--in', 'in/', '--out', 'new/and/deep/', 'soft.yaml')
    close(place, expected(place), out='new/and/deep')


@case
def run_converts_arrays(place):
    place.arrays()
    q, k, v = (np.load(place.path('in', n + '.npy')) for n in 'qkv')
    place.array('q', q.astype('>f4'))
    place.array('k', k.astype('<f8'))
    place.array('v', v.astype('<f2'))
    wanted = expected(place)
    place.attnc(*RUN)
    close(place, wanted)
    place.attnc(*RUN, '--set', 'dtype=f64')
    close(place, wanted, 1e-12, np.float64)
    for version in (1, 0), (2, 0), (3, 0):
        with open(place.path('in', 'q.npy'), 'wb') as f:
            np.lib.format.write_array(f, q, version)
        place.attnc(*RUN)
        close(place, wanted)


@case
def run_reads_fortran_order(place):
    place.arrays()
    place.attnc(*RUN)
    wanted = place.read('out/out.npy')
    for name in 'qkv':
        place.array(name, np.asfortranarray(np.load(place.path('in', name + '.npy'))))
        check(b"'fortran_order': True" in place.read('in/%s.npy' % name), name + ' is in C order')
    place.attnc(*RUN, '--out', 'again')
    check(place.read('again/out.npy') == wanted, 'other numbers')


@case
def wrong_arrays_cost_no_compilation(place):
    """An error in arrays is reported before the C compiler is searched."""
    place.write('dense.yaml', 'similarity: {softmax: {bias: dense}}\nshape: {head_dim: 8}\n')
    place.write('bf16.yaml', SOFTMAX + 'dtype: bf16\n')
    place.write('sketch.yaml', SKETCH)
    environment = {'PATH': '/nonexistent', 'ATTNC_CC': None, 'XDG_CACHE_HOME': place.path('cache')}
    for spec, name, shape, said in (('soft.yaml', 'v', (1, 2, 6, 8), r'expected \[1, 2, 5, 8\]'),
                                    ('bf16.yaml', 'k', (2, 2, 5, 8), r'expected \[1, 2, 5, 8\]'),
                                    ('dense.yaml', 'bias', (2, 5, 4), r'expected \[2, 5, 5\]'),
                                    ('sketch.yaml', 'sketch.g1', (8, 5), r'expected \[8, 4\]')):
        place.arrays()
        place.array(name, np.zeros(shape, np.float32))
        done = place.attnc('run', spec, '--in', 'in', '--out', 'out', '--seed', '1', status=1, env=environment)
        check(re.search(said, done.stderr) and 'compile' not in done.stderr, done.stderr)
    check(not os.path.exists(place.path('cache')), 'there is a cache')


@case
def run_of_16_bits(place):
    """f16 is read and written as f2. bf16 is read and written as f4, because .npy files have no bf16."""
    place.arrays()
    place.array('q', np.load(place.path('in', 'q.npy')).astype('>f8'))
    for dtype, written, unit in ('f16', np.float16, 2.0 ** -11), ('bf16', np.float32, 2.0 ** -8):
        arrays = [np.load(place.path('in', n + '.npy')).astype(np.float32) for n in 'qkv']
        wanted = definitions.attend(definitions.load(place.path('soft.yaml')), {},
                                    *(rounded(x, dtype).astype(np.float64) for x in arrays))
        place.attnc(*RUN, '--set', 'dtype=' + dtype, '--target', 'generic')   # this target rounds only the result
        out = np.load(place.path('out', 'out.npy'))
        check(out.dtype == written and out.shape == wanted.shape, '%s is written as %s' % (dtype, out.dtype))
        check(np.array_equal(rounded(out, dtype), out.astype(np.float32)), 'out is not %s' % dtype)
        check((np.abs(out - wanted) <= 1e-5 + unit * np.abs(wanted)).all(), 'the result of %s is wrong' % dtype)
        check(np.abs(out - wanted).max() > 1e-5, 'the result of %s is not rounded' % dtype)
        place.attnc('check', 'soft.yaml', '--set', 'dtype=' + dtype, timeout=300)
    for name in 'kv':
        place.array(name, np.load(place.path('in', name + '.npy')).astype(np.float16))
    place.attnc(*RUN, '--set', 'dtype=f16')


@case
def run_finds_the_compiler_and_keeps_the_kernel(place):
    place.arrays()
    gcc = shutil.which('gcc')
    if not gcc:
        raise Skip('there is no gcc')
    place.write('mycc', '#!/bin/sh\nfor w in "$@"; do case $w in */soft.c|soft.c) echo x >> "%s";; esac; done\n'
                'exec %s "$@" -O0\n' % (place.path('log'), gcc))
    os.chmod(place.path('mycc'), 0o755)
    cache = {'XDG_CACHE_HOME': place.path('cache')}
    # $ATTNC_CC is split at blanks, but a folder's name may contain one
    env = {'ATTNC_CC': 'mycc', 'PATH': place.folder + os.pathsep + os.environ['PATH'], **cache}
    place.attnc(*RUN, env=env)
    check(place.read('log') == b'x\n', '$ATTNC_CC compiled %d times' % place.read('log').count(b'x'))
    close(place, expected(place))
    place.attnc(*RUN, env=env)
    check(place.read('log') == b'x\n', 'the kernel was not kept')
    check(place.files('cache') and all(f.startswith('attnc/') for f in place.files('cache')),
          'the cache holds %s' % place.files('cache'))
    check(all(f.endswith('.so') for f in place.files('cache')), 'the cache holds %s' % place.files('cache'))
    place.attnc(*RUN, '--set', 'mask=none', env=env)
    check(place.read('log') == b'x\nx\n', 'another spec took the kept kernel')
    for kept in place.files('cache'):     # A damaged file in the cache is not loaded.
        with open(place.path('cache', kept), 'r+b') as f:
            f.truncate(os.path.getsize(place.path('cache', kept)) // 2)
    place.attnc(*RUN, env=env)
    close(place, expected(place))
    for bad in '/proc/nothing', place.path('soft.yaml'):
        place.attnc(*RUN, env={'XDG_CACHE_HOME': bad})
        close(place, expected(place))
    place.attnc(*RUN, env={'XDG_CACHE_HOME': None, 'HOME': None, 'ATTNC_CC': None})
    place.attnc(*RUN, env={'PATH': os.path.dirname(gcc), 'CC': gcc, 'ATTNC_CC': None, **cache})


@case
def run_without_openmp(place):
    place.arrays()
    gcc = shutil.which('gcc')
    if not gcc:
        raise Skip('there is no gcc')
    place.write('mycc', '#!/bin/sh\ncase " $* " in *" -fopenmp "*) exit 1;; esac\nexec %s "$@" -O0\n' % gcc)
    os.chmod(place.path('mycc'), 0o755)
    env = {'ATTNC_CC': 'mycc', 'PATH': place.folder + os.pathsep + os.environ['PATH'],
           'XDG_CACHE_HOME': place.path('cache')}
    for name in 'soft', 'probe':
        done = place.attnc(*RUN, '--set', 'name=' + name, env=env)
        check('OpenMP does not work with' in done.stderr, 'says ' + done.stderr)
        close(place, expected(place))


@case
def interrupted_run_leaves_nothing(place):
    place.arrays()
    os.mkdir(place.path('tmp'))
    place.write('mycc', '#!/bin/sh\ntouch "$TMPDIR/left"; touch "%s"; sleep 30\n' % place.path('started'))
    os.chmod(place.path('mycc'), 0o755)
    env = dict(place.environment, ATTNC_CC='mycc', PATH=place.folder + os.pathsep + os.environ['PATH'],
               TMPDIR=place.path('tmp'), XDG_CACHE_HOME=place.path('cache'))
    for number in signal.SIGINT, signal.SIGTERM:
        process = subprocess.Popen([place.suite.attnc, *RUN], cwd=place.folder, env=env, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            until = time.monotonic() + 30
            while not os.path.exists(place.path('started')):
                check(time.monotonic() < until and process.poll() is None, 'the compiler never started')
                time.sleep(0.02)
            process.send_signal(number) if number == signal.SIGTERM else os.killpg(process.pid, number)
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            raise Failure('it does not end')
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        check(process.returncode in (-number, 128 + number), 'exit status %d' % process.returncode)
        left = place.files('tmp') + (place.files('cache') if os.path.exists(place.path('cache')) else [])
        check(not left and not os.listdir(place.path('tmp')), 'left %s' % (left or os.listdir(place.path('tmp'))))
        check(not os.path.exists(place.path('out', 'out.npy')), 'there is an out.npy')
        os.remove(place.path('started'))


@case
def explain_and_check(place):
    done = place.attnc('explain', 'soft.yaml')
    for word in 'quadratic', 'FLOP', 'workspace':
        check(re.search(word, done.stdout, re.I), 'explain does not say %s: %s' % (word, done.stdout))
    done = place.attnc('check', 'poly.yaml', '--lengths', '5', timeout=300)   # checks all targets
    check(done.stdout.strip(), 'check says nothing')
    place.attnc('check', 'wrong.yaml', status=1)


@case
def explain_says_what_is_carried(place):
    elu = 'similarity: {linear: {features: elu_plus_one}}\nshape: {head_dim: 64}\n'
    fall = ('similarity: {custom: {weight: "s * pow(0.5, i - j)"}}\nblock: 4\nmask: causal\nnormalize: none\n'
            'shape: {head_dim: 8}\n')
    for name, text, *words in (
            ('few', elu + 'mask: {prefix: {length: 9}}\n', 'Algorithm: quadratic\n', 'queries see at most 9'),
            ('many', elu + 'mask: {prefix: {length: 4000}}\n', 'linear for long'),
            ('window', elu + 'mask: {window: {left: 4}}\n', 'no linear form: its window is too short for sums of whole chunks'),
            ('fall', fall, 'carried over chunks of 4 keys', r'a state is multiplied by 0\.0625')):
        place.write(name + '.yaml', text)
        done = place.attnc('explain', name + '.yaml')
        for word in words:
            check(re.search(word, done.stdout), 'explain %s.yaml does not say %s: %s' % (name, word, done.stdout))


# ---------------------------------------------------------------- colours

def on_a_terminal(place, *words, **environment):
    master, slave = pty.openpty()
    process = subprocess.Popen([place.suite.attnc, *words], cwd=place.folder, env={**place.environment, **environment},
                               stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    text = b''
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(master)
    process.wait()
    return text.decode()


@case
def colours(place):
    def colour(*words, **environment):
        return '\x1b[' in place.attnc('wrong.yaml', *words, status=1, env=environment).stderr
    check(not colour(), 'colours in a pipe')
    check(colour('--color=always') and colour('--color', 'always', NO_COLOR='1'), '--color=always gives none')
    check(not colour('--color=never'), '--color=never gives some')
    check('\x1b[' in on_a_terminal(place, 'wrong.yaml'), 'no colours on a terminal')
    check('\x1b[' not in on_a_terminal(place, 'wrong.yaml', NO_COLOR='1'), 'NO_COLOR is not obeyed')
    check('\x1b[' in on_a_terminal(place, 'wrong.yaml', NO_COLOR=''), 'an empty NO_COLOR takes the colours away')
    check('\x1b[' not in on_a_terminal(place, 'wrong.yaml', '--color=never'), '--color=never gives some on a terminal')


# ---------------------------------------------------------------- time

@case
def awkward_specs_compile(place):
    place.write('any.yaml', SOFTMAX.replace('soft', 'any', 1))
    place.attnc('check', 'any.yaml', '--target', 'generic', '--set', "description=' */ int twice; /* it''s ??/'",
                timeout=300)
    place.attnc('check', 'any.yaml', '--target', 'generic', '--set', 'schedule.tile_k=1',
                '--set', 'similarity.softmax.bias=dense', timeout=300)
    place.attnc('check', 'any.yaml', '--target', 'generic,native', *([] if WHOLE else ['--lengths', '1,40']), timeout=300)
    place.write('windows.yaml', SOFTMAX.replace('mask: causal\n', '') + 'mask: {all: [%s]}\n'
                % ', '.join('{window: {left: %d, right: %d}}' % (k + 40, 99 - k) for k in range(60)))
    # This check takes 3 s, or longer on a busy machine.
    place.attnc('check', 'windows.yaml', '--target', 'generic', timeout=900)
    place.attnc('any.yaml', '--target', 'generic,x86-64-v4')
    check(b'--target x86-64-v4,generic\n' in place.read('any.c'), 'the better target is not the first')


@case
def products_end_with_the_rows(place):
    """A short sequence needs fewer lanes than a wide tile has, so callers of a product pass their number."""
    place.attnc('soft.yaml', '--target', 'x86-64-v3', '--set', 'emit=[forward, backward]', '--set',
                'schedule={tile_q: 256, tile_k: 64, backward: {tile_q: 256, tile_k: 64}}')
    text = re.sub(r'/\*\w+=\*/', '', place.read('soft.c').decode())   # removes the names of constant arguments
    text = re.sub(r',\n +', ', ', text)
    # Rows have 256 elements and a gap.
    lanes = re.findall(r'^    T\(dot\w*\)\(\d, (\w+), .* b, 272, c, 272, ', text, re.M)
    check(len(lanes) > 4 and set(lanes) == {'lanes'}, 'products of tiles of 256 have %r lanes' % lanes)
    check(re.search(r'^ *T\(dot\d+\)\(round_up\(i1 - i0, 8\), ', text, re.M), 'nothing ends with the queries')


@case
def compile_time(place):
    best = {}
    os.mkdir(place.path('out'))
    for spec in 'soft.yaml', 'poly.yaml':
        for _ in range(20):
            began = time.perf_counter()
            place.attnc(spec, '-o', 'out')
            best[spec] = min(best.get(spec, 9e9), time.perf_counter() - began)
    return 'best of 20: ' + ', '.join('attnc %s %.1f ms' % (spec, 1e3 * t) for spec, t in best.items())


def run(folder, suite, function):
    return function(Place(suite, folder, soft=SOFTMAX, poly=POLYNOMIAL, wrong=WRONG, affine=messages.AFFINE))


def main():
    suite = Suite(__doc__.split('\n\n')[0],
                  lambda p: p.add_argument('--update', action='store_true', help='rewrite expected/*.txt'))
    suite.compiler = quick.short()
    for function in CASES:
        suite.case(function.__name__, run, suite, function)
    messages.register(suite)
    bench.register(suite)
    build.register(suite)
    answers.register(suite)
    cache.register(suite)
    schedules.register(suite)
    depfiles.register(suite)
    decode.register(suite)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
