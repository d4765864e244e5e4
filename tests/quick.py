"""A C compiler for tests that do not depend on speed: it does not optimise, and attnc measures the machine in a
hundredth of the time (compiler/host/probe.c). Otherwise every bench, tune or explain --machine would write four times
as much memory as the processor's cache."""
import shutil

REAL = next(filter(shutil.which, ('clang', 'clang-19', 'gcc')), 'cc')
ENVIRONMENT = {'ATTNC_CC': REAL, 'ATTNC_CFLAGS': '-O0 -DATTN_SHORT_PROBE'}
