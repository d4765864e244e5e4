#!/usr/bin/python3
"""Runs ONNX's own tests of attention in ONNX Runtime with libattnc_ort, the provider of examples/onnxruntime.
Compares operators of com.microsoft and a transformer with ONNX Runtime's CPU provider (tests/lib/ort_cases.py).

Each test of a node is a case with the name that ONNX gives it, and ONNX's own comparison. The packages of PyPI are in
build-python/onnxruntime, and so is the cache of kernels, so a second run is fast."""
import importlib
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../lib'))
sys.path.remove(HERE)   # so that `import onnx` finds no file of this folder

import quick
from suite import ROOT, WHOLE, Suite, check, compiler

PACKAGES = 'onnx==1.23.2', 'onnxruntime==1.32.0', 'ml_dtypes', 'numpy'
INSTALLED = '''
from importlib.metadata import version
for package in %r:
    name, _, wanted = package.partition('==')
    assert version(name).startswith(wanted), package
''' % (PACKAGES,)
PLACE = os.path.join(ROOT, 'build-python', 'onnxruntime')
# the module with the tests of an operator, and their number
OPERATORS = {'Attention': ('attention', 93), 'LinearAttention': ('linear_attention', 14),
             'FlexAttention': ('flexattention', 11)}


def enter():
    """Runs this program in the environment with the packages, which it makes if necessary. Returns why it cannot."""
    python = os.path.join(PLACE, 'bin', 'python')
    try:
        if not os.path.exists(python):
            subprocess.run([sys.executable, '-m', 'venv', PLACE], check=True, stdout=subprocess.PIPE)
        if subprocess.run([python, '-c', INSTALLED], stderr=subprocess.PIPE).returncode:
            subprocess.run([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *PACKAGES],
                           check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return 'no ONNX Runtime: %s' % ' '.join((getattr(error, 'output', '') or str(error)).split())[-200:]
    os.environ['XDG_CACHE_HOME'] = os.path.join(PLACE, 'cache')
    os.execv(python, [python, '-W', 'ignore', os.path.abspath(__file__), *sys.argv[1:]])


def add_nodes(suite, provider):
    """Adds ONNX's tests of nodes as cases."""
    from onnx.backend.test.case import node
    from onnx.backend.test.runner import Runner

    def run(folder, test):
        session = provider.session(test.model)
        claimed = provider.nodes(session)
        check(claimed, 'no node is computed by attnc')
        for inputs, expected in test.data_sets:
            made = provider.run(session, {x.name: value for x, value in zip(session.get_inputs(), inputs)})
            Runner.assert_similar_outputs(expected, made, test.rtol, test.atol)

    for name in OPERATORS.values():   # the import of all nodes would take 10 seconds
        importlib.import_module('%s.%s' % (node.__name__, name[0]))
    all_tests = [test for test in node._NodeTestCases if '_expanded' not in test.name]
    for operator, (_, count) in OPERATORS.items():
        tests = [test for test in all_tests if test.model.graph.node[0].op_type == operator]
        check(len(tests) == count, 'ONNX has %d tests of %s; expected %d' % (len(tests), operator, count))
        for test in tests:
            suite.case(test.name, run, test)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    if sys.prefix != PLACE:
        why = enter()
        print('skip onnx %s\n0 passed, 0 failed, 1 skipped' % why)
        return 0
    import ort_cases
    import ort_provider
    os.environ['ATTNC'] = suite.attnc
    if 'ATTNC_CC' not in os.environ:
        os.environ.update({'ATTNC_CC': compiler('clang')} if WHOLE else {'ATTNC_CC': quick.compiler(), 'ATTNC_CFLAGS': '-O0'})
    provider = ort_provider.Provider(os.environ.get('ATTNC_ORT') or os.path.join(
        os.path.dirname(suite.attnc), 'examples', 'onnxruntime', 'libattnc_ort.so'))
    add_nodes(suite, provider)
    ort_cases.add(suite, provider)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
