#!/usr/bin/python3
"""Runs a table of cases. A row has a spec, shapes, a target and checks.

Each kernel is compiled once and called from NumPy. The tables are the files of this folder; loop.py has the loop."""
import importlib
import os
import sys

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('', '..', '../lib', '../../lib')]

from kernel import Objects
from loop import Row, case
from suite import Suite

TABLES = sorted(name[:-3] for name in os.listdir(HERE) if name.endswith('.py') and name not in ('run.py', 'loop.py'))


def main():
    suite = Suite(__doc__.split('\n\n')[0], lambda parser: parser.add_argument('table', choices=TABLES))
    suite.objects = Objects(suite.folder)
    for row in importlib.import_module(suite.options.table).cases():
        if isinstance(row, Row): suite.case(row.name, case, suite, row)
        else: suite.case(*row[:2], suite, *row[2:])   # a function that makes everything itself
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
