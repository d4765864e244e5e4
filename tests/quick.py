"""A C compiler for tests without timing. It does not optimise, and attnc measures the machine briefly."""
import shutil

REAL = next(filter(shutil.which, ('clang', 'clang-19', 'gcc')), 'cc')
ENVIRONMENT = {'ATTNC_CC': REAL, 'ATTNC_CFLAGS': '-O0 -DATTN_SHORT_PROBE'}
