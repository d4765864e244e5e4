"""What this processor can run of the targets that attnc makes code for."""
import platform

FLAGS = {'x86-64-v2': 'ssse3 sse4_1 sse4_2 popcnt',
         'x86-64-v3': 'avx avx2 bmi1 bmi2 f16c fma movbe', 'x86-64-v4': 'avx512f avx512bw avx512cd avx512dq avx512vl'}


# Compiled with these, kernels use products of bf16 wherever the processor has them, not only where they are faster, and
# no matrix units (target.def).
SLOWER_TOO = '-DATTN_SLOWER_TOO=1 -DATTN_NO_TILES'


def multiplies_bf16(slower_too=False):
    """Whether kernels use products of bf16 here, on matrix units or not, where those for x86-64-v4 have them."""
    with open('/proc/cpuinfo') as f:
        text = f.read()
    return ' amx_bf16' in text or (' avx512_bf16' in text and (slower_too or 'GenuineIntel' not in text))


def missing_flags(target):
    """What this processor lacks of a target, in words; '' if nothing."""
    if target not in FLAGS:
        return ''
    if platform.machine() not in ('x86_64', 'AMD64'):
        return 'an x86-64 processor'
    with open('/proc/cpuinfo') as f:
        have = next((line.split() for line in f if line.startswith('flags')), [])
    return ' '.join(flag for flag in FLAGS[target].split() if flag not in have)
