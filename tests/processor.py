"""What this processor can run of the targets that attnc makes code for."""
import platform

FLAGS = {'x86-64-v2': 'ssse3 sse4_1 sse4_2 popcnt',
         'x86-64-v3': 'avx avx2 bmi1 bmi2 f16c fma movbe', 'x86-64-v4': 'avx512f avx512bw avx512cd avx512dq avx512vl'}


# Compiled with these, kernels use products of bf16 wherever the processor has them, not only where they are faster, and
# no matrix units (target.def).
SLOWER_TOO = '-DATTN_SLOWER_TOO=1 -DATTN_NO_TILES'


# Of a row's scale, what rounding to bf16 may move it by: of weights, ahead of their product with values; in a linear
# form on matrix units, which takes what features and states leave of two terms beside. `attnc check` has the same.
OF_WEIGHTS, OF_LINEAR_FORMS = 2.0 ** -8, 2.0 ** -8 + 2.0 ** -12


def cpuinfo():
    with open('/proc/cpuinfo') as f:
        return f.read()


def has_matrix_units():
    return ' amx_bf16' in cpuinfo()


def multiplies_bf16(slower_too=False):
    """Whether kernels use products of bf16 here, on matrix units or not, where those for x86-64-v4 have them."""
    text = cpuinfo()
    return has_matrix_units() or (' avx512_bf16' in text and (slower_too or 'GenuineIntel' not in text))


def rounding(spec, target, flags):
    """Of a row's scale, what rounding to bf16 adds to what a kernel may be off by here. Weights are rounded where none
    is negative; a linear form rounds on matrix units alone."""
    if spec['dtype'] != 'bf16' or target not in ('native', '', 'x86-64-v4'):
        return 0.0
    if has_matrix_units() and 'ATTN_NO_TILES' not in flags and "'units': 0" not in str(spec.get('schedule')):
        return OF_LINEAR_FORMS if spec['similarity'] != 'softmax' else OF_WEIGHTS
    signed = not isinstance(spec['similarity'], str) and set(spec['similarity']) & {'linear', 'custom'}
    if signed or spec.get('algorithm') == 'linear' or not multiplies_bf16(SLOWER_TOO in flags):
        return 0.0
    return OF_WEIGHTS


def missing_flags(target):
    """What this processor lacks of a target, in words; '' if nothing."""
    if target not in FLAGS:
        return ''
    if platform.machine() not in ('x86_64', 'AMD64'):
        return 'an x86-64 processor'
    with open('/proc/cpuinfo') as f:
        have = next((line.split() for line in f if line.startswith('flags')), [])
    return ' '.join(flag for flag in FLAGS[target].split() if flag not in have)
