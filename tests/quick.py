"""C compilers for tests without timing, which compile at -O0.
- clang stays in memory, because loading it takes a fifth of the time (resident.py).
- clang starts itself again to compile and link, and this takes a quarter of its time. So the linker is called directly.
- The headers that kernels include are compiled once. Reading them takes a sixth of the time, or half with immintrin.h.
  Standalone kernels do not use the compiled headers, because they define functions of attnrt.h themselves.
- Functions for other processors are read, but no code is made for them."""
import functools
import os
import shlex
import shutil
import subprocess
import threading

import resident
from processor import MACHINE, cpuinfo, missing_flags

RUNTIME = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'runtime')
# Only compilations with these options and -I can use the compiled headers.
OPTIONS = ['-O0', '-std=gnu11', '-fopenmp', '-fPIC', '-w']
HEADERS = 'float math stdlib string omp sched attnrt'
# A path, as suites name clang, so that they have one compiler in memory.
REAL = next(filter(None, map(shutil.which, ('clang-19', 'clang', 'gcc'))), 'cc')
SCRIPT = '''#!/bin/sh
# Compiles a C file to a shared library and calls the linker directly. Gives all other work to the compiler.
case " $* " in
*' -shared '*' -O0'*) ;;
*) exec %(cc)s "$@" ;;
esac
library= headers=%(headers)s
for word do
    shift
    case $library$word in
    -o) library=next; continue ;;
    next*) library=$word; continue ;;
    esac
    case $word in
    -shared | -Wl,* | -lm) ;;
    *) set -- "$@" "$word" ;;
    esac
    case $word in
    *.c) grep -qs '^#include <attnrt.h>' "${word%%.c}.h" || headers= ;;
    -O0 | -std=gnu11 | -fopenmp | -fPIC | -w | -O2 | -DATTN_NO_TILES | -DATTN_SLOWER_TOO* | -I* | -l* | -Wl,* | -shared | -o | [!-]*) ;;
    *) headers= ;;
    esac
done
case " $* " in
*' -fopenmp '*) ;;
*) headers= ;;
esac
%(resident)s ${headers:+-include-pch "$headers"} -c -o "$library.o" "$@" && ld -shared -Bsymbolic -o "$library" "$library.o" %(libraries)s
status=$?
rm -f "$library.o"
exit $status
'''


@functools.cache
def libraries(cc):
    """Returns the paths of the libraries to which the compiler links: of OpenMP, of C and its own."""
    def said(*words):
        return subprocess.run([cc, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    openmp = 'libgomp.so' if 'Free Software Foundation' in said('--version') else 'libomp.so'
    return [said('-print-file-name=' + name) for name in (openmp, 'libm.so.6')] + [said('-print-libgcc-file-name')]


def features():
    """Returns macros for what this processor has, so that clang makes no code for other processors."""
    if MACHINE != 'x86_64': return []
    level = max(n for n in (1, 2, 3, 4) if n == 1 or not missing_flags('x86-64-v%d' % n))
    lacks = [name for name, flag in (('tiles', ' amx_bf16'), ('avx512_bf16', ' avx512_bf16')) if flag not in cpuinfo()]
    return ['x86_64_level() %d' % level, *(name + '() 0' for name in lacks)]


LOCK = threading.Lock()


@functools.cache
def compiled_headers(cc):
    """Returns the path of the compiled headers, or '' if the compiler is not clang. Suites share them. They are compiled
    again if a header has changed."""
    if not resident.is_clang(cc): return ''
    text = ''.join('#include <%s.h>\n' % name for name in HEADERS.split() + ['immintrin'] * (MACHINE == 'x86_64'))
    text += ''.join('#define attn_%s\n' % macro for macro in features())
    with resident.shared(cc, text, *OPTIONS, RUNTIME) as folder:
        path = os.path.join(folder, 'kernel.h')
        use = [cc, *OPTIONS, '-I', RUNTIME, '-include-pch', path + '.pch', '-fsyntax-only', '-x', 'c', os.devnull]
        if not os.path.exists(path + '.pch') or subprocess.run(use, stderr=subprocess.DEVNULL).returncode:
            with open(path, 'w') as f: f.write(text)
            subprocess.run([cc, *OPTIONS, '-I', RUNTIME, '-x', 'c-header', path, '-o', path + '.pch'], check=True)
    return path + '.pch'


def is_standalone(source):
    """Returns whether a C file is a kernel that does not include attnrt.h."""
    header = os.path.splitext(source)[0] + '.h'
    if not os.path.exists(header): return False
    with open(header) as f: return '#include <attnrt.h>' not in f.read()


def of_headers(cc, options):
    """Returns the options for the compiled headers if the compiler and its options allow them."""
    others = [x for n, x in enumerate(options) if x not in OPTIONS and x != '-I' and (n == 0 or options[n - 1] != '-I')]
    if others or '-O0' not in options: return []
    with LOCK: path = compiled_headers(cc)
    return ['-std=gnu11', '-include-pch', path] if path else []


def lines(cc, options, source, library, *objects):
    """Returns the two commands that compile a C file to a shared library."""
    headers = [] if is_standalone(source) else of_headers(cc, options)
    return ([*resident.command(cc), *options, *headers, '-fopenmp', '-fPIC', '-c', '-o', library + '.o', source],
            ['ld', '-shared', '-Bsymbolic', '-o', library, library + '.o', *objects, *libraries(cc)])


def compiler(folder):
    """Writes a compiler to the folder, which becomes the first of $PATH. Returns its name for $ATTNC_CC, which is split at
    blanks, so it cannot be a path."""
    path = os.path.join(folder, 'quick-cc')
    words = {'cc': REAL, 'resident': shlex.join(resident.command(REAL)), 'libraries': shlex.join(libraries(REAL)), 'headers': shlex.quote(compiled_headers(REAL))}
    with open(path, 'w') as f: f.write(SCRIPT % words)
    os.chmod(path, 0o755)
    os.environ['PATH'] = folder + os.pathsep + os.environ['PATH']
    return 'quick-cc'


def environment(folder, **more):
    """Returns the variables for an attnc that keeps kernels in the folder and compiles them in this way."""
    name = compiler(folder)
    return dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, 'cache'), ATTNC_CC=name, **more)


def short(folder):
    """Returns the variables for an attnc that compiles in this way and measures the machine briefly."""
    return {'ATTNC_CC': compiler(folder), 'ATTNC_CFLAGS': '-O0 -DATTN_SHORT_PROBE'}
