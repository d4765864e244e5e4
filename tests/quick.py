"""C compilers for tests without timing. clang starts itself again to compile and link, and this takes a quarter of its time
at -O0. So the linker is called directly."""
import functools
import os
import shutil
import subprocess

REAL = next(filter(shutil.which, ('clang', 'clang-19', 'gcc')), 'cc')
SCRIPT = '''#!/bin/sh
# Compiles a C file to a shared library and calls the linker directly. Gives all other work to the compiler.
case " $* " in
*' -shared '*' -O0'*) ;;
*) exec %(cc)s "$@" ;;
esac
library=
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
done
%(cc)s -c -o "$library.o" "$@" && ld -shared -Bsymbolic -o "$library" "$library.o" %(libraries)s
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


def lines(cc, options, source, library, *objects):
    """Returns the two commands that compile a C file to a shared library."""
    return ([cc, *options, '-fopenmp', '-fPIC', '-c', '-o', library + '.o', source],
            ['ld', '-shared', '-Bsymbolic', '-o', library, library + '.o', *objects, *libraries(cc)])


def compiler(folder):
    """Writes a compiler to the folder, which becomes the first of $PATH. Returns its name for $ATTNC_CC, which is split at
    blanks, so it cannot be a path."""
    path = os.path.join(folder, 'quick-cc')
    with open(path, 'w') as f: f.write(SCRIPT % {'cc': REAL, 'libraries': ' '.join(libraries(REAL))})
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
