#!/usr/bin/python3
"""Compiles kernels for other systems, runs them in emulators, and compares them with the interpreter.

- SYSTEMS has a row for each system and compiler. README.md has the same table (`systems.py ATTNC --table` prints it).
- Right is what a kernel of this machine computes in float64, after `attnc check` has compared it with the interpreter.
- Cases whose programs are missing are skipped, with the packages to install. `./dev test systems` installs them."""
import os
import shutil
import sys
import threading

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../numeric', '../numeric/lib', '../lib')]

import glob

import numpy as np
import yaml

import definitions
import quick
from stored import HALVES, rounded
from suite import ROOT, WHOLE, Failure, Skip, Suite, check, execute

RUNTIME = os.path.join(ROOT, 'runtime')
TOOLS = os.path.join(ROOT, 'build', 'systems')   # ./dev installs packages of PyPI here, and Wine keeps its files here
PYTHON = os.path.join(TOOLS, 'venv', 'bin', 'python')
EVERY = ['forward', 'backward', 'decode']
# A kernel of each kind. `library`: linked with libattnrt; the others are standalone files.
KERNELS = {
    'softmax': {'similarity': {'softmax': {'cap': 20.0}}, 'mask': 'causal', 'shape': {'head_dim': 64}, 'emit': EVERY},
    'linear': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'block': 16,
               'algorithm': 'linear', 'shape': {'head_dim': 32}, 'emit': EVERY},
    'delta': {'prepare': ['l2norm', {'scale': {'by': 0.2}}], 'similarity': {'linear': {'features': 'identity'}},
              'mask': 'causal', 'normalize': 'none', 'decay': {'log': 'gate[b][h][t]'}, 'delta': {'rate': 'beta[b][h][t]'},
              'arrays': {'gate': {'shape': ['B', 'H', 'Nk']}, 'beta': {'shape': ['B', 'H', 'Nk']}},
              'shape': {'head_dim': 24}, 'emit': EVERY},
    'polysketch': {'prepare': ['layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
                   'normalize': {'sum_plus': 1}, 'mask': 'causal', 'block': 16, 'algorithm': 'linear',
                   'shape': {'head_dim': 16}, 'emit': EVERY},
    'top': {'similarity': 'softmax', 'mask': {'all': ['causal', {'top': {'count': 12, 'by': 's'}}]},
            'shape': {'head_dim': 16}, 'emit': EVERY},
    'bf16': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 32}, 'dtype': 'bf16', 'emit': EVERY},
    'f16': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': 'causal', 'block': 16,
            'algorithm': 'linear', 'shape': {'head_dim': 16}, 'dtype': 'f16', 'emit': EVERY},
}
LIBRARY = 'polysketch', 'bf16'
FOR_FILES = [os.path.join(RUNTIME, name + '.c') for name in ('npy', 'npy_write', 'memory', 'half', 'kernel')]   # of kernel.c
EQUAL_HEADS = 'delta',   # the others have 2 heads of keys
BATCH, HEADS, LENGTH = 2, 4, 53
# The largest error, relative to the largest number. 16 bits round out, weights and gradients.
ALLOWED = {'f32': 4e-6, 'bf16': 2.0 ** -7, 'f16': 2.0 ** -10}
GCC_WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']


def program(packages, *names):
    """Returns the first of these programs that exists."""
    for name in names:
        if shutil.which(name): return shutil.which(name)
    raise Skip('there is no %s: install %s' % (' and no '.join(names), packages))


def of_pypi(module, package):
    if os.access(PYTHON, os.X_OK) and glob.glob(os.path.join(TOOLS, 'venv/lib/python*/site-packages', module)):
        return PYTHON
    raise Skip('there is no %s in %s: ./dev test systems installs %s from PyPI' % (module, TOOLS, package))


def zig(target, *more):
    return lambda: [of_pypi('ziglang', 'ziglang'), '-m', 'ziglang', 'cc', '-target', target, *more]


def gcc(name, package):
    return lambda: [program(package, name)]


def wine():
    """Wine asks for no display if it makes its folder without the packages that it would download."""
    return [program('wine', 'wine', 'wine-stable')]


def node_or_wasmtime(folder):
    if shutil.which('node'): return [shutil.which('node'), '--no-warnings', os.path.join(HERE, 'wasi.mjs')]
    return [of_pypi('wasmtime', 'wasmtime'), os.path.join(HERE, 'wasi.py')]


def qemu(machine):
    return lambda: [program('qemu-user', 'qemu-' + machine, 'qemu-%s-static' % machine), '-L', '/usr/%s-linux-gnu' % machine]


class System:
    def __init__(self, name, said, compiler, how, machine=None, openmp=False, targets='', flags=(), end=''):
        self.name, self.said, self.compiler, self.how, self.machine = name, said, compiler, how, machine
        self.openmp, self.targets, self.flags, self.end = openmp, targets, list(flags), end


# Targets: '' is what attnc writes if no option says otherwise. Without OpenMP, kernels run on one thread.
SYSTEMS = [
    System('windows-gcc', 'Windows, x86-64 | gcc of mingw-w64', gcc('x86_64-w64-mingw32-gcc', 'gcc-mingw-w64-x86-64'),
           'run in Wine', wine, True, 'x86-64-v3,generic', ['-static'], '.exe'),
    System('windows-zig', 'Windows, x86-64 | clang (`zig cc`)', zig('x86_64-windows-gnu'), 'run in Wine', wine, end='.exe'),
    System('wasm', 'WebAssembly, WASI with simd128 | clang (`zig cc`)', zig('wasm32-wasi', '-msimd128'),
           'run in Node.js or Wasmtime', node_or_wasmtime, end='.wasm'),
    System('riscv64', 'Linux, riscv64 | gcc', gcc('riscv64-linux-gnu-gcc', 'gcc-riscv64-linux-gnu libc6-dev-riscv64-cross'),
           'run in QEMU', qemu('riscv64'), True),
    System('aarch64', 'Linux, aarch64 | gcc', gcc('aarch64-linux-gnu-gcc', 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross'),
           'run in QEMU', qemu('aarch64'), True, 'aarch64'),
    System('macos-arm64', 'macOS, arm64 | clang (`zig cc`)', zig('aarch64-macos'), 'linked, not run',
           targets='aarch64,generic'),
    System('macos-x86_64', 'macOS, x86-64 | clang (`zig cc`)', zig('x86_64-macos'), 'linked, not run'),
]


class Made:
    """Things that several cases share, made once: the right results of each kernel, and the library for each system."""

    def __init__(self, suite):
        self.suite, self.lock, self.locks, self.made = suite, threading.Lock(), {}, {}

    def once(self, key, function, *arguments):
        with self.lock: lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.made:
                try: self.made[key] = function(os.path.join(self.suite.folder, 'shared-' + key), *arguments)
                except (Failure, Skip) as error: self.made[key] = error
        if isinstance(self.made[key], Exception): raise self.made[key]
        return self.made[key]

    def right(self, folder, name):
        """Returns the folder of the inputs of a kernel, and its output and gradients, computed in float64."""
        os.makedirs(folder)
        spec = {'name': name, 'dtype': 'f32'} | KERNELS[name]
        path, inputs = os.path.join(folder, name + '.yaml'), os.path.join(folder, 'in')
        with open(path, 'w') as f: yaml.safe_dump(spec, f, sort_keys=False)
        loaded = definitions.load(path)
        heads = HEADS, HEADS if name in EQUAL_HEADS else 2
        definitions.make_inputs(loaded, inputs, *heads, LENGTH, LENGTH, BATCH, 11)
        dout = np.random.default_rng(12).standard_normal((BATCH, HEADS, LENGTH, spec['shape']['head_dim']))
        np.save(inputs + '/dout.npy', dout.astype(np.float32))
        for array in ('q', 'k', 'v', 'dout') if spec['dtype'] in HALVES else ():
            np.save('%s/%s.npy' % (inputs, array), rounded(np.load('%s/%s.npy' % (inputs, array)), spec['dtype']))
        wide, made = ['--set', 'dtype=f64', '--target', 'generic', '--quiet'], os.path.join(folder, 'right')
        self.of_attnc('check', path, *wide, '--lengths', LENGTH)
        self.of_attnc('run', path, *wide, '--in', inputs, '--out', made, '--backward')
        right = {name: np.load('%s/%s.npy' % (made, name)) for name in ('out', 'dq', 'dk', 'dv')}
        return path, inputs, right | {'decoded': right['out']}

    def of_attnc(self, *words):
        done = execute([self.suite.attnc, *words], env=self.suite.environment)
        check(done.returncode == 0, '%s\n%s%s' % (' '.join(map(str, words)), done.stdout, done.stderr))

    def library(self, folder, system, level, sources):
        os.makedirs(folder)
        for source in sources:
            compiled(self.suite, [*system.compiler(), level, *flags_of(system), '-ffp-contract=off', '-c', source, '-o',
                                  os.path.join(folder, os.path.basename(source)[:-2] + '.o')], folder)
        return sorted(glob.glob(folder + '/*.o'))

    def wine(self, folder):
        """Makes Wine's folder of settings."""
        if not os.path.exists(os.path.join(TOOLS, 'wine', 'system.reg')):
            os.makedirs(TOOLS, exist_ok=True)
            execute(wine() + ['wineboot'], env=self.suite.environment, timeout=300)


def flags_of(system):
    return ['-std=gnu11', '-D_GNU_SOURCE', *GCC_WARNINGS, *(['-fopenmp'] if system.openmp else []), *system.flags, '-I', RUNTIME]


def compiled(suite, line, folder):
    done = execute(line, cwd=folder, env=suite.environment, timeout=300)
    check(done.returncode == 0 and not done.stderr.strip(), '%s\n%s' % (' '.join(line), done.stderr[-3000:]))


def on_system(folder, suite, system, name, level):
    compiler, machine = system.compiler(), system.machine
    if machine is node_or_wasmtime: machine = machine(folder)
    elif machine: machine = machine()
    if system.machine is wine: suite.made.once('wine', suite.made.wine)
    path, inputs, right = suite.made.once(name, suite.made.right, name)
    whole = sorted(glob.glob(RUNTIME + '/*.c') + glob.glob(RUNTIME + '/call/*.c')) if name in LIBRARY else FOR_FILES
    objects = suite.made.once('%s-%d-files' % (system.name, len(whole)), suite.made.library, system, level, whole)
    options = ['-o', folder, *(['--target', system.targets] if system.targets else [])]
    suite.made.of_attnc(path, *options, *([] if name in LIBRARY else ['--standalone']))
    out = 'kernel' + system.end
    began = [*compiler, level, *flags_of(system), '-DKERNEL=%s_kernel' % name]
    compiled(suite, [*began, '-c', name + '.c', '-o', name + '.o'], folder)
    compiled(suite, [*began, os.path.join(HERE, 'kernel.c'), name + '.o', *objects, '-o', out, '-lm'], folder)
    if not machine: return '(linked)'
    for file in glob.glob(inputs + '/*.npy'): shutil.copy(file, folder)
    done = execute([*machine, out, '.', '2'], cwd=folder, env=suite.environment, timeout=300)
    for call in 'forward', 'backward', 'extend':
        check(call + ' returned 0' in done.stdout, 'exit status %d\n%s%s' % (done.returncode, done.stdout, done.stderr))
    largest, allowed = 0.0, ALLOWED[KERNELS[name].get('dtype', 'f32')]
    for array, wanted in right.items():
        made = np.load(os.path.join(folder, array + '.npy')).astype('f8')
        check(made.shape == wanted.shape, '%s has the shape %s' % (array, made.shape))
        error = np.abs(made - wanted).max() / np.abs(wanted).max()
        check(error <= allowed, '%s is off by %.2g of its largest number' % (array, error))
        largest = max(largest, error)
    return '(largest error %.1e of the largest number)' % largest


def table():
    """Returns the table of README.md."""
    lines = ['| system | compiler | how it is tested |', '| --- | --- | --- |']
    return '\n'.join(lines + ['| %s | %s |' % (s.said, s.how) for s in SYSTEMS]) + '\n'


def in_readme(folder):
    with open(os.path.join(ROOT, 'README.md'), encoding='utf-8') as f:
        check(table() in f.read(), 'README.md has not the table of systems.py:\n' + table())


def main():
    if '--table' in sys.argv:
        print(table(), end='')
        return 0
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder) | {
        'ZIG_GLOBAL_CACHE_DIR': os.path.join(TOOLS, 'zig'), 'ZIG_LOCAL_CACHE_DIR': os.path.join(TOOLS, 'zig'),
        'WINEPREFIX': os.path.join(TOOLS, 'wine'), 'WINEDEBUG': '-all', 'WINEDLLOVERRIDES': 'mscoree,mshtml='}
    suite.environment.pop('DISPLAY', None)
    suite.made = Made(suite)
    suite.case('the table in README.md', in_readme)
    for system in SYSTEMS:
        for name in KERNELS:
            # Without optimisation, zig adds sanitizers, and its code takes longer than -O1 saves.
            level = '-O2' if WHOLE else '-O0' if 'gcc' in system.said else '-O1'
            suite.case('%s-%s' % (system.name, name), on_system, suite, system, name, level)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
