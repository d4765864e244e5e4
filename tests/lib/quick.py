"""C compilers for tests without timing, which compile at -O0.
- clang starts itself again to compile and link, and this takes a quarter of its time. So the linker is called directly.
- The headers that kernels include are compiled once. Reading them takes a sixth of the time, or half with immintrin.h.
  Standalone kernels do not use the compiled headers, because they define functions of attnrt.h themselves.
- Functions for other processors are read, but no code is made for them."""
import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading

from processor import MACHINE, cpuinfo, missing_flags
from suite import ROOT

RUNTIME = os.path.join(ROOT, 'runtime')
# Only compilations with these options and -I can use the compiled headers.
OPTIONS = ['-O0', '-std=gnu11', '-fopenmp', '-fPIC', '-w']
HEADERS = 'float math stdlib string omp sched attnrt'
REAL = next(filter(shutil.which, ('clang-19', 'clang', 'gcc')), 'cc')
SCRIPT = '''#!/bin/sh
# Compiles a C file to a shared library and calls the linker directly. Gives all other work to the compiler.
case " $* " in
*' -shared '*' -O0'*) ;;
*) exec %(cc)s "$@" ;;
esac
library= objects= headers=%(headers)s
for word do
    shift
    case $library$word in
    -o) library=next; continue ;;
    next*) library=$word; continue ;;
    esac
    case $word in
    -shared | -Wl,* | -lm) ;;
    *.o) objects="$objects '$word'" ;;
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
%(cc)s ${headers:+-include-pch "$headers"} -c -o "$library.o" "$@" && eval ld -shared -Bsymbolic -o '"$library" "$library.o"' "$objects" %(libraries)s
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


@contextlib.contextmanager
def shared(*words):
    """Gives the folder for files that depend on these words, for one process at a time. It is in the build folder, or in
    $TMPDIR if the build folder cannot be written."""
    key = hashlib.sha256('\0'.join(words).encode()).hexdigest()[:16]
    folder = os.path.join(os.environ.get('ATTNC_BUILD', os.path.join(ROOT, 'build')), 'kept', key)
    try:
        os.makedirs(folder, exist_ok=True)
        lock = open(folder + '/lock', 'w')
    except OSError:
        made = tempfile.mkdtemp(prefix='attnc-kept-')
        atexit.register(shutil.rmtree, made, True)
        yield made
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@functools.cache
def compiled_headers(cc):
    """Returns the path of the compiled headers, or '' if the compiler is not clang. Suites share them. They are compiled
    again if a header has changed."""
    version = subprocess.run([cc, '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
    if 'clang' not in version: return ''
    text = ''.join('#include <%s.h>\n' % name for name in HEADERS.split() + ['immintrin'] * (MACHINE == 'x86_64'))
    text += ''.join('#define attn_%s\n' % macro for macro in features())
    with shared(shutil.which(cc), version, text, *OPTIONS, RUNTIME) as folder:
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
    return ([cc, *options, *headers, '-fopenmp', '-fPIC', '-c', '-o', library + '.o', source],
            ['ld', '-shared', '-Bsymbolic', '-o', library, library + '.o', *objects, *libraries(cc)])


def compiler():
    """Writes a compiler to a folder, which becomes the first of $PATH. Returns its name for $ATTNC_CC, which is split at
    blanks, so it cannot be a path. All suites have the same file, because names in the cache of kernels depend on it."""
    text = SCRIPT % {'cc': REAL, 'libraries': shlex.join(libraries(REAL)), 'headers': shlex.quote(compiled_headers(REAL))}
    with shared(text) as folder:
        path = os.path.join(folder, 'quick-cc')
        if not os.path.exists(path):
            with open(path + '.new', 'w') as f: f.write(text)
            os.chmod(path + '.new', 0o755)
            os.rename(path + '.new', path)
    if folder not in os.environ['PATH'].split(os.pathsep): os.environ['PATH'] = folder + os.pathsep + os.environ['PATH']
    return 'quick-cc'


def environment(folder, **more):
    """Returns the variables for an attnc that keeps kernels in the folder and compiles them in this way."""
    name = compiler()
    return dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, 'cache'), ATTNC_CC=name, **more)


def short():
    """Returns the variables for an attnc that compiles in this way and measures the machine briefly."""
    return {'ATTNC_CC': compiler(), 'ATTNC_CFLAGS': '-O0 -DATTN_SHORT_PROBE'}
