"""Finds the targets of attnc that this processor can run."""
import collections
import functools
import os
import platform
import subprocess
import sys

CALLED = {'bmi': 'bmi1', 'sse4.2': 'sse4_2'}   # features with different names: {compiler's name: Linux's name}
MACHINE = {'AMD64': 'x86_64', 'arm64': 'aarch64'}.get(platform.machine(), platform.machine())
Target = collections.namedtuple('Target', 'name suffix architecture vectors chosen attribute')


@functools.cache
def targets():
    """Returns the rows of `attnc list targets`."""
    build = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'build', 'attnc')
    named = [a for a in sys.argv[1:] if os.path.basename(a) == 'attnc']
    done = subprocess.run([*named, os.environ.get('ATTNC', build)][:1] + ['list', 'targets'], check=True, text=True,
                          stdout=subprocess.PIPE)
    return [Target(*line.split()) for line in done.stdout.splitlines()]


def targets_of(*architectures):
    """Returns the names of the targets for these architectures, or of all targets."""
    return [t.name for t in targets() if not architectures or t.architecture in architectures]


# Flags for kernels that use products of bf16 even where they are slower, and no matrix units. See target.def.
SLOWER_TOO = '-DATTN_SLOWER_TOO=1 -DATTN_NO_TILES'


# How much rounding to bf16 may change a row, relative to the row's scale. OF_WEIGHTS is for rounded weights,
# OF_LINEAR_FORMS for linear forms on matrix units. `attnc check` has the same numbers.
OF_WEIGHTS, OF_LINEAR_FORMS = 2.0 ** -8, 2.0 ** -8 + 2.0 ** -12


def cpuinfo():
    with open('/proc/cpuinfo') as f:
        return f.read()


def has_matrix_units():
    return ' amx_bf16' in cpuinfo()


def multiplies_bf16(slower_too=False):
    """Returns whether kernels for x86-64-v4 use products of bf16 on this processor."""
    text = cpuinfo()
    return has_matrix_units() or (' avx512_bf16' in text and (slower_too or 'GenuineIntel' not in text))


def never_negative(similarity):
    """Returns whether no weight is negative. An expression is evaluated at many places."""
    if isinstance(similarity, str) or not set(similarity) & {'linear', 'custom'}: return True
    import definitions
    import numpy as np
    rng, n = np.random.default_rng(0), 10000
    names = {name: rng.integers(0, 1000, n) for name in ('i', 'j', 'row', 'b', 'g', 'h')} | dict.fromkeys('BGHDE', 7)
    try:
        weights = definitions.expression(similarity['custom']['weight'], s=rng.normal(0, 9, n), Nq=1000, Nk=1000, **names)
        return bool((weights >= 0).all())
    except (KeyError, TypeError, NameError):   # features, or arrays
        return False


def rounding(spec, target, flags):
    """Returns the tolerance for rounding to bf16 on this processor, relative to a row's scale. Only weights that
    are never negative are rounded. A linear form rounds only on matrix units."""
    if spec['dtype'] != 'bf16' or target not in ('native', '', 'x86-64-v4'):
        return 0.0
    if has_matrix_units() and 'ATTN_NO_TILES' not in flags and "'units': 0" not in str(spec.get('schedule')):
        return OF_LINEAR_FORMS if spec['similarity'] != 'softmax' else OF_WEIGHTS
    if (spec.get('algorithm') == 'linear' or not multiplies_bf16(SLOWER_TOO in flags)
            or not never_negative(spec['similarity'])):
        return 0.0
    return OF_WEIGHTS


def missing_flags(target):
    """Returns the features of a target that this processor lacks, or ''."""
    found = next((t for t in targets() if t.name == target), None)
    if not found or found.attribute == '-':
        return ''
    if found.architecture != MACHINE:
        return 'an %s processor' % found.architecture.replace('_', '-')
    with open('/proc/cpuinfo') as f:
        have = next((line.split() for line in f if line.startswith('flags')), [])
    wanted = (CALLED.get(name, name) for name in found.attribute.split(','))
    return ' '.join(flag for flag in wanted if flag not in have)
