#!/usr/bin/python3
"""Compares the code of every target with definitions.py, and checks the choice at run time.

- Code for aarch64 is made by cross compilers and runs in qemu-aarch64.
- Code for x86-64 runs by `attnc run --target`, and in qemu-x86_64 as older processors.
- Cases whose programs are missing are skipped."""
import glob
import os
import platform
import shutil
import sys
import threading

sys.dont_write_bytecode = True
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ('../numeric', '../numeric/lib', '../lib')]

import numpy as np
import yaml

import backward
import definitions
import quick
from answers import draw
from autograd_venv import autograd
from kernel import optimised
from processor import missing_flags, targets, targets_of
from stored import holds
from suite import ROOT, Failure, Skip, Suite, check, execute

CAUSAL_DOCUMENTS = {'all': ['causal', 'document']}
SPECS = {
    'softmax': {'similarity': 'softmax', 'shape': {'head_dim': 64}},
    'softmax_f64': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 24, 'value_dim': 40},
                    'dtype': 'f64'},
    'cap': {'prepare': ['rope'], 'similarity': {'softmax': {'cap': 3.0, 'bias': 'alibi', 'scale': 0.2}},
            'mask': 'causal', 'shape': {'head_dim': 24, 'value_dim': 40}},
    'polynomial': {'prepare': ['layernorm'], 'similarity': {'polynomial': {'degree': 4}}, 'mask': 'causal',
                   'algorithm': 'quadratic', 'shape': {'head_dim': 64}},
    'window_f64': {'prepare': ['rope'], 'similarity': {'softmax': {'cap': 8.0}},
                   'mask': {'window': {'left': 20, 'right': 3, 'dilation': 2}},
                   'shape': {'head_dim': 24, 'value_dim': 40}, 'dtype': 'f64'},
    'unions': {'similarity': 'softmax', 'shape': {'head_dim': 8},
               'mask': {'any': [{'block_window': {'block': 7, 'right': 2}}, {'global': {'tokens': [0, 40, 41]}},
                                {'random': {'block': 7, 'count': 4, 'seed': 1}}]}},
    'documents': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': CAUSAL_DOCUMENTS,
                  'shape': {'head_dim': 8, 'value_dim': 24}},
    'dropout': {'similarity': 'softmax', 'mask': 'causal', 'dropout': 0.3, 'seed': 2 ** 63 + 1, 'shape': {'head_dim': 8}},
    'dropout_f64': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 20, 'right': 3}},
                    'dropout': 0.6, 'shape': {'head_dim': 8, 'value_dim': 24}, 'dtype': 'f64'},
    'additive': {'similarity': {'softmax': {'compatibility': {'additive': {'hidden': 12}}}}, 'shape': {'head_dim': 24}},
    'sketch_local': {'prepare': ['layernorm'],
                     'similarity': {'polysketch': {'degree': 4, 'sketch': 24, 'local': 'exact'}},
                     'normalize': {'sum_plus': 1}, 'mask': 'causal',
                     'block': 16, 'algorithm': 'linear', 'shape': {'head_dim': 24, 'value_dim': 40}},
    'sketch_f64': {'prepare': ['layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 8}},
                   'normalize': {'sum_plus': 1}, 'mask': 'causal', 'block': 16,
                   'algorithm': 'linear', 'shape': {'head_dim': 16}, 'dtype': 'f64'},
    'square_of_s': {'similarity': {'polynomial': {'degree': 2, 'alpha': 1}}, 'normalize': {'sum_plus': 1},
                    'mask': 'causal', 'block': 16, 'algorithm': 'linear',
                    'shape': {'head_dim': 8, 'value_dim': 24}},
    'favor': {'similarity': {'linear': {'features': {'favor_positive': {'count': 16}}}}, 'mask': 'causal', 'block': 16,
              'algorithm': 'linear', 'shape': {'head_dim': 24}},
    'favor_f64': {'similarity': {'linear': {'features': {'favor_trig': {'count': 16}}}}, 'normalize': 'none',
                  'algorithm': 'linear', 'shape': {'head_dim': 16}, 'dtype': 'f64'},
    'documents_carried': {'similarity': {'linear': {'features': 'elu_plus_one'}}, 'mask': CAUSAL_DOCUMENTS,
                          'algorithm': 'linear', 'block': 16,
                          'shape': {'head_dim': 8, 'value_dim': 24}},
    'softmax_bf16': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 24, 'value_dim': 40},
                     'dtype': 'bf16'},
    'sketch_f16': {'prepare': ['layernorm'], 'similarity': {'polysketch': {'degree': 4, 'sketch': 8, 'local': 'exact'}},
                   'normalize': {'sum_plus': 1}, 'mask': 'causal',
                   'block': 16, 'algorithm': 'linear', 'shape': {'head_dim': 16}, 'dtype': 'f16'},
    'decay': {'similarity': {'custom': {'weight': 's * s * pow(1 - pow(2, -5 - h), i - j)'}},
              'normalize': {'sum_plus': 1}, 'mask': 'causal', 'block': 16,
              'algorithm': 'linear', 'shape': {'head_dim': 8}},
}
# Specs with gradients, which are also compared.
BACKWARD = {
    'softmax_back': {'similarity': {'softmax': {'bias': 'alibi'}}, 'mask': {'window': {'left': 40, 'right': 3}},
                     'shape': {'head_dim': 24, 'value_dim': 40}},
    'polynomial_back_f64': {'similarity': {'polynomial': {'degree': 2}}, 'mask': 'causal', 'algorithm': 'linear',
                            'block': 16, 'shape': {'head_dim': 8, 'value_dim': 24}, 'dtype': 'f64'},
    'softmax_back_bf16': {'similarity': 'softmax', 'mask': 'causal', 'shape': {'head_dim': 24}, 'dtype': 'bf16'},
}
# The shape is (batch, heads, key/value heads, queries, keys).
SHAPE = 2, 4, 2, 41, 67
# Each shape is ((n_q, n_k), (heads, kv_heads), batch, threads).
SHAPES = [((1, 1), (2, 1), 1, 1), ((15, 15), (1, 1), 2, 2), ((16, 16), (4, 2), 1, 1),
          ((17, 17), (2, 2), 1, 3), ((97, 97), (4, 1), 1, 2), ((19, 37), (2, 1), 2, 1),
          ((150, 67), (2, 2), 1, 2)]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']
RUNTIME = os.path.join(ROOT, 'runtime')
CLANG = shutil.which('clang-19') or shutil.which('clang')
ARM = 'aarch64-linux-gnu'
ON_X86, ON_ARM = platform.machine() in ('x86_64', 'AMD64'), platform.machine() in ('aarch64', 'arm64')
SUFFIX = {t.name: t.suffix for t in targets()}
EVERY_X86 = ','.join(targets_of('x86_64', 'any'))
# Each row is (processor, targets in the C file, target that must run).
CHOICES = [('Conroe', EVERY_X86, 'generic'), ('Nehalem', EVERY_X86, 'x86-64-v2'), ('Nehalem', '', 'generic'),
           ('IvyBridge', EVERY_X86, 'x86-64-v2'), ('Haswell', EVERY_X86, 'x86-64-v3'), ('Haswell', '', 'x86-64-v3'),
           ('Nehalem', 'x86-64-v4,x86-64-v3', 'none')]


def program(*names):
    """Returns the first of these programs that exists."""
    for name in names:
        if name and shutil.which(name):
            return shutil.which(name)
    raise Skip('there is no ' + ' and no '.join(filter(None, names)))


def arm_compiler(name):
    """Returns a compiler for aarch64, as a command."""
    if name == 'gcc':
        return [program('gcc' if ON_ARM else ARM + '-gcc')]
    if ON_ARM:
        return [program(CLANG)]
    program(ARM + '-gcc')   # clang uses the C library and the linker that come with this gcc.
    return [program(CLANG), '--target=' + ARM, '-isystem', '/usr/%s/include' % ARM]


def arm_machine():
    return [] if ON_ARM else [program('qemu-aarch64', 'qemu-aarch64-static'), '-L', '/usr/' + ARM]


class Runtime:
    """The runtime's object files for a compiler. Every warning is an error."""

    def __init__(self, folder):
        self.folder, self.lock, self.made = folder, threading.Lock(), {}

    def objects(self, key, cc):
        with self.lock:
            if key not in self.made:
                folder = os.path.join(self.folder, 'runtime-' + key)
                os.makedirs(folder)
                sources = sorted(glob.glob(RUNTIME + '/*.c') + glob.glob(RUNTIME + '/call/*.c'))
                done = execute([*cc, '-O2', '-std=c11', '-D_GNU_SOURCE', '-ffp-contract=off', *WARNINGS, '-Wshadow',
                                '-I', RUNTIME, '-c', *sources], cwd=folder, timeout=300)
                failed = done.returncode != 0 or done.stderr.strip()
                self.made[key] = (done.stderr[-3000:] or 'no message' if failed
                                  else sorted(os.path.join(folder, f) for f in os.listdir(folder)))
            if isinstance(self.made[key], str):
                raise Failure('the runtime does not compile: ' + self.made[key])
            return self.made[key]


def write_spec(folder, spec):
    path = os.path.join(folder, spec['name'] + '.yaml')
    with open(path, 'w') as f:
        yaml.safe_dump(spec, f, sort_keys=False)
    return path


def built(folder, suite, key, cc, spec, targets, standard='gnu11', openmp=True, chooses=False, level='-O2'):
    """Builds a program that runs the kernel of a spec."""
    name, path = spec['name'], write_spec(folder, spec)
    done = execute([suite.attnc, path, '-o', folder] + (['--target', targets] if targets else []))
    check(done.returncode == 0, done.stderr[:2000])
    out, sources = os.path.join(folder, 'kernel'), [os.path.join(HERE, 'kernel.c')]
    flags = ['-DKERNEL=%s_kernel' % name]
    if chooses:
        with open(os.path.join(folder, name + '.c')) as f:
            text = f.read()
        known = ['{"%s", %s_rows_%s}' % (target, name, suffix) for target, suffix in SUFFIX.items()
                 if 'program programs_%s[]' % suffix in text]
        flags += ['-DSOURCE="%s.c"' % name, '-DKNOWN=' + ', '.join(known)]
    else:
        sources.append(os.path.join(folder, name + '.c'))
    line = [*cc, level, '-std=' + standard, *flags, *WARNINGS, *(['-fopenmp'] if openmp else []), '-I', RUNTIME,
            '-I', folder, *sources, *suite.runtime.objects(key, cc), '-o', out, '-lm']
    done = execute(line, timeout=300)
    check(done.returncode == 0 and not done.stderr.strip(), '%s\n%s' % (' '.join(line), done.stderr[-3000:]))
    return out


def right(answer, name, out, again):
    """Returns the largest error relative to the tolerance."""
    spec = answer.spec
    check(out.shape == answer.expected.shape,
          '%s: out has the shape %s, not %s%s' % (name, out.shape, answer.expected.shape, again))
    check(holds(out, spec['dtype']), '%s: out has numbers that are no %s%s' % (name, spec['dtype'], again))
    why, error, _ = answer.judge(out, 2 if spec.get('algorithm') == 'linear' else 1)
    check(not why, '%s: %s%s' % (name, why, again))
    return error


def against_definitions(folder, spec, seed, run):
    """Compares with definitions.py. `run` takes the folder of the inputs and the number of threads, and returns
    out.npy and its command."""
    spec, largest = definitions.load(write_spec(folder, spec)), 0.0
    for at, ((n_q, n_k), (heads, kv_heads), batch, threads) in enumerate(SHAPES):
        name = 'B%d H%d G%d nq%d nk%d threads%d' % (batch, heads, kv_heads, n_q, n_k, threads)
        inputs = os.path.join(folder, name.replace(' ', '_'))
        answer = draw(spec, inputs, (heads, kv_heads, n_q, n_k, batch), seed + at)
        out, again = run(inputs, threads)
        largest = max(largest, right(answer, name, np.load(out), again))
    return '(%d shapes, largest error %.2f of what is allowed)' % (len(SHAPES), largest)


def emulated(before, kernel):
    def run(inputs, threads):
        line = [*before, kernel, inputs, threads]
        done = execute(line, timeout=300)
        again = '\nreproduce: ' + ' '.join(map(str, line))
        check(done.returncode == 0 and 'forward returned 0' in done.stdout, done.stdout + done.stderr + again)
        return inputs + '/out.npy', again
    return run


def on_arm(folder, suite, spec, cc, standard, targets, seed, level):
    compiler, machine = arm_compiler(cc), arm_machine()
    kernel = built(folder, suite, 'arm-' + cc, compiler, spec, targets, standard, openmp=cc == 'gcc', level=level)
    return against_definitions(folder, spec, seed, emulated(machine, kernel))


def gradients(folder, suite, spec, machine, kernel):
    inputs = folder + '/in'
    P = backward.inputs(inputs, spec, SHAPE, 7)
    line = [*machine, kernel, inputs, 2]
    done = execute(line, timeout=300)
    again = '\nreproduce: ' + ' '.join(map(str, line))
    check(done.returncode == 0 and 'backward returned 0' in done.stdout, done.stdout + done.stderr + again)
    made = {name: np.load('%s/%s.npy' % (inputs, name)).astype('f8') for name in ('dq', 'dk', 'dv')}
    return '(largest error %.2f of what is allowed)' % backward.judge(spec, P, made)


def backward_on_arm(folder, suite, spec, cc):
    if suite.without:
        raise Skip(suite.without)
    compiler, machine = arm_compiler(cc), arm_machine()
    kernel = built(folder, suite, 'arm-' + cc, compiler, spec, 'aarch64,generic', openmp=cc == 'gcc', level='-O0')
    return gradients(folder, suite, spec, machine, kernel)


def backward_on_x86(folder, suite, spec, cc, processor):
    if suite.without:
        raise Skip(suite.without)
    if not ON_X86:
        raise Skip('this is no x86-64 processor')
    machine = [program('qemu-x86_64', 'qemu-x86_64-static'), '-cpu', processor]
    kernel = built(folder, suite, cc, [program({'gcc': 'gcc', 'clang': CLANG}[cc])], spec, EVERY_X86,
                   openmp=cc == 'gcc', level='-O0')
    return gradients(folder, suite, spec, machine, kernel)


def alone(folder, suite, spec, target, seed, level):
    lacks = missing_flags(target)
    if lacks:
        raise Skip('this processor lacks ' + lacks)

    def run(inputs, threads):
        line = [suite.attnc, 'run', folder + '/' + spec['name'] + '.yaml', '--in', inputs, '--out', inputs + '/out',
                '--threads', threads, '--target', target]
        done = execute(line, env=suite.environment | {'ATTNC_CFLAGS': level})
        again = '\nreproduce: ' + ' '.join(map(str, line))
        check(done.returncode == 0, 'exit status %d: %s%s' % (done.returncode, done.stderr[:400], again))
        return inputs + '/out/out.npy', again
    return against_definitions(folder, spec, seed, run)


def chooses(folder, suite, processor, targets, wanted, cc):
    """An older processor runs the best code that it supports, or the call is an error."""
    if not ON_X86:
        raise Skip('this is no x86-64 processor')
    machine = [program('qemu-x86_64', 'qemu-x86_64-static'), '-cpu', processor]
    spec = {'name': 'chosen', 'dtype': 'f32'} | SPECS['cap']
    kernel = built(folder, suite, cc, [program({'gcc': 'gcc', 'clang': CLANG}[cc])], spec, targets,
                   openmp=cc == 'gcc', chooses=True, level='-O0')
    spec = definitions.load(write_spec(folder, spec))
    answer = draw(spec, folder + '/in', (4, 2, 67, 130, 1), 5)
    line = [*machine, kernel, folder + '/in', 2]
    done = execute(line, signals=True)
    said = [l for l in done.stdout.splitlines() if l.startswith('chose ')]
    check(said == ['chose ' + wanted],
          '%s\nexit status %d: %s%s' % (' '.join(map(str, line)), done.returncode, done.stdout, done.stderr))
    if wanted == 'none':
        check('forward returned -10' in done.stdout and not os.path.exists(folder + '/in/out.npy'), done.stdout)
        return None
    check('forward returned 0' in done.stdout, done.stdout)
    right(answer, processor, np.load(folder + '/in/out.npy'), '')
    return None


def native(folder, suite, processor, wanted):
    """`--target native` chooses the target for the processor on which attnc runs."""
    if not ON_X86:
        raise Skip('this is no x86-64 processor')
    path = write_spec(folder, {'name': 'here', 'dtype': 'f32'} | SPECS['cap'])
    done = execute([program('qemu-x86_64', 'qemu-x86_64-static'), '-cpu', processor, suite.attnc, path,
                    '--target', 'native', '--stdout', '--emit', 'c'], signals=True)
    check(done.returncode == 0, 'exit status %d: %s' % (done.returncode, done.stderr))
    found = [line.split()[2] for line in done.stdout.splitlines() if line.startswith('/* ==== ') and 'tables' not in line
             and 'interface' not in line]
    check(found == [wanted], 'made for %s' % found)


def main():
    suite = Suite(__doc__.split('\n\n')[0])
    suite.environment = quick.environment(suite.folder)
    suite.runtime = Runtime(suite.folder)
    for n, (name, spec) in enumerate(SPECS.items()):
        spec = {'name': name, 'dtype': 'f32'} | spec
        cc, standard = (('gcc', 'gnu11'), ('clang', 'c11'), ('gcc', 'c11'))[n % 3]
        suite.case('aarch64-%s-%s' % (cc, name), on_arm, suite, spec, cc, standard,
                   'aarch64,generic' if n % 2 else 'aarch64', 10 * n, '-O2' if optimised(n, 4) else '-O0')
    for n, (name, spec) in enumerate(SPECS.items()):
        for target in [('x86-64-v2', 'generic'), ('x86-64-v3', 'generic'), ('x86-64-v2', 'x86-64-v3')][n % 3]:
            suite.case('%s-%s' % (target, name), alone, suite, {'name': name, 'dtype': 'f32'} | spec, target, 10 * n,
                       '-O2' if optimised(n, 3) else '-O0')
    suite.without = autograd() if not suite.options.list else ''
    for n, (name, spec) in enumerate(BACKWARD.items()):
        spec = {'name': name, 'dtype': 'f32', 'emit': ['forward', 'backward']} | spec
        cc = ('gcc', 'clang')[n % 2]
        suite.case('aarch64-%s-%s' % (cc, name), backward_on_arm, suite, spec, cc)
        processor = ('Conroe', 'Haswell', 'Nehalem')[n]
        suite.case('%s-%s' % (processor, name), backward_on_x86, suite, spec, ('clang', 'gcc')[n % 2], processor)
    for n, (processor, targets, wanted) in enumerate(CHOICES):
        suite.case('chooses-%s-of-%s-on-%s' % (wanted, targets.count(',') + 1 if targets else 'default', processor),
                   chooses, suite, processor, targets, wanted, ('gcc', 'clang')[n % 2])
    for processor, wanted in ('Conroe', 'generic'), ('Nehalem', 'x86-64-v2'), ('Haswell', 'x86-64-v3'):
        suite.case('native-on-' + processor, native, suite, processor, wanted)
    return suite.run()


if __name__ == '__main__':
    sys.exit(main())
