"""A C compiler for tests that are not about speed: it does not optimise, and what attnc measures of the machine takes
it a hundredth of the work. Otherwise every bench, tune or explain --machine would write to four times as much memory as
the processor has of cache."""
import os
import shutil

# For a shell in which $file is the C file: the probe of compiler/host with few steps, short arrays and turns.
SHORTER = r'''case $file in */probe.c) sed -i 's/define STEPS 1000000/define STEPS 10000/
s/begun < seconds/begun < 0.1 * seconds/
/^static double triad/,/^}/s/double best = 0,/n = n < 100000 ? n : 100000;\n    &/
/^static double reading/,/^}/s/double best = 0,/n = n < 100000 ? n : 100000;\n    &/' "$file" ;; esac'''
REAL = next(filter(shutil.which, ('clang', 'clang-19', 'gcc')), 'cc')


def compiler(folder, name='quick-cc'):
    """Writes it into a folder; returns the environment in which attnc takes it."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, 'w') as f:
        f.write('#!/bin/sh\nfile=; for word in "$@"; do case $word in *.c) file=$word ;; esac; done\n'
                '%s\nexec %s "$@" -O0\n' % (SHORTER, REAL))
    os.chmod(path, 0o755)
    # blanks in the folder's own name would make words of it
    return {'ATTNC_CC': name, 'PATH': folder + os.pathsep + os.environ['PATH']}
