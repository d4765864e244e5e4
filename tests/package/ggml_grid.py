"""The shapes with which ggml tests FLASH_ATTN_EXT and GATED_DELTA_NET of its backends, and what the backend of
examples/llama leaves to ggml's CPU backend, with the reason. llama.py runs them."""
import collections
import itertools

import numpy as np

from suite import check

NMSE = 5e-4   # ggml's own limit for the difference of two backends: the mean square, relative to that of the result
TYPES = 'f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', 'iq4_nl'
OUR_TYPES = 'f32', 'f16', 'bf16', 'q8_0', 'q4_0'
OUR_SIZES = (64, 64), (80, 80), (96, 96), (112, 112), (128, 128), (192, 192), (256, 256), (576, 512)
# sizes of a key and a value: heads of keys, and how many queries share one (with 512 keys, if more than 1)
SIZES = {(40, 40): {4: (1, 4)}, (64, 64): {4: (1, 4)}, (72, 72): {4: (1, 4)}, (80, 80): {4: (1, 4)}, (96, 96): {4: (1, 4)},
         (128, 128): {4: (1, 4, 12)}, (192, 128): {4: (1, 4, 8, 16)}, (192, 192): {4: (1, 4, 8, 16)}, (256, 256): {4: (1, 4)},
         (320, 256): {1: (1, 4, 32), 4: (1, 4)}, (512, 512): {4: (1, 4)}, (576, 512): {1: (1, 4, 20), 4: (1, 4)}}
Flash = collections.namedtuple('Flash', 'size value heads group sequences keys queries mask bias sinks cap precise kind '
                                        'value_kind permuted')
# types of keys and values that differ, or that have blocks of 128
MIXED = ((64, 64, 128, 'q8_0', 'q4_0'), (64, 64, 128, 'q4_0', 'f16'), (72, 72, 96, 'q4_0', 'q8_0'), (64, 64, 96, 'f16', 'f32'),
         (128, 128, 256, 'f16', 'q4_0'), (128, 128, 96, 'q1_0', 'q1_0'), (128, 64, 128, 'q1_0', 'q4_0'),
         (64, 128, 128, 'q4_0', 'q1_0'), (128, 64, 64, 'q1_0', 'f16'))
BLOCKS = {'f32': 1, 'f16': 1, 'bf16': 1, 'q1_0': 128}   # elements of a block; 32 of the other types
# GATED_DELTA_NET: heads of keys, head size, tokens, sequences; then heads of values for one of keys, snapshots of the
# state; p: permuted arrays, e: a decay for each element
DELTA = ((32, 128, 1, 1), (32, 16, 1, 1), (32, 16, 1, 1, 1, 1, 'pe'), (32, 16, 1, 1, 1, 1, 'e'), (16, 64, 1, 2), (4, 64, 4, 1),
         (4, 64, 4, 2), (8, 32, 4, 2, 2), (4, 64, 4, 2, 1, 1, 'p'), (4, 64, 4, 1, 1, 1, 'p'), (4, 64, 1, 1, 1, 1, 'e'),
         (4, 64, 1, 2, 1, 1, 'e'), (4, 16, 1, 2, 1, 1, 'e'), (4, 32, 4, 1, 1, 1, 'e'), (4, 64, 4, 2, 1, 1, 'e'),
         (8, 32, 4, 2, 2, 1, 'e'), (4, 64, 4, 2, 1, 1, 'pe'), (4, 16, 4, 2, 1, 1, 'pe'), (4, 64, 64, 1), (4, 64, 127, 1),
         (4, 64, 256, 1), (4, 64, 65, 1), (4, 64, 100, 1), (4, 64, 200, 1), (4, 64, 127, 2), (4, 64, 64, 1, 1, 1, 'e'),
         (4, 64, 33, 1, 1, 1, 'e'), (4, 64, 100, 1, 1, 1, 'e'), (4, 16, 2, 1, 1, 2), (4, 32, 4, 1, 1, 4), (4, 64, 4, 2, 1, 4),
         (8, 128, 4, 1, 1, 4), (4, 64, 4, 2, 1, 4, 'e'), (8, 32, 4, 2, 2, 4, 'e'), (4, 32, 8, 1, 1, 3), (4, 64, 16, 2, 1, 4))
# How many shapes ggml computes itself, for each reason
LEFT = {'heads of 40 and 40': 224, 'heads of 72 and 72': 336, 'heads of 192 and 128': 176, 'heads of 320 and 256': 256,
              'heads of 512 and 512': 112, 'keys of q5_1': 336, 'keys of q5_0': 336, 'keys of q4_1': 336, 'keys of iq4_nl': 336,
              'keys and values of two types': 8, 'keys of q1_0': 1,
        'fewer than 96 tokens': 22, 'states after several tokens': 8}


def flash_shapes():
    """Yields every shape of FLASH_ATTN_EXT."""
    for (size, value), heads in SIZES.items():
        few = size != 128
        for head_count, groups in heads.items():
            for group, keys, queries, kind in itertools.product(groups, (113, 512, 1024), (1, 3, 32, 75), TYPES):
                if (group > 1 and keys != 512) or (kind != 'f16' and size not in (64, 72)): continue
                for sequences, (mask, bias), sinks, cap, precise in itertools.product(
                        (1, 3) if size <= 64 else (1,), ((1, 0), (1, 8), (0, 0)), (0, 1), (0,) if few else (0, 10),
                        (1,) if few else (0, 1)):
                    for permuted in (0, 1) if mask and not bias and not cap and keys == 512 else (0,):
                        yield Flash(size, value, head_count, group, sequences, keys, queries, mask, bias, sinks, cap,
                                    precise, kind, kind, permuted)
    for size, value, keys, kind, value_kind in MIXED:
        many = keys != 256
        yield Flash(size, value, 4, 1, 1, keys, 1 + many, int(many), 0, 0, 0, 1, kind, value_kind, 0)


def stored_size(size, kind):
    """Returns the size of a row, which has whole blocks."""
    block = BLOCKS.get(kind, 32)
    return -(-size // block) * block


def why_left(shape):
    """Returns why ggml computes a shape of FLASH_ATTN_EXT itself, or None."""
    sizes = stored_size(shape.size, shape.kind), stored_size(shape.value, shape.value_kind)
    if shape.kind != shape.value_kind: return 'keys and values of two types'
    if shape.kind not in OUR_TYPES: return 'keys of ' + shape.kind
    return None if sizes in OUR_SIZES else 'heads of %d and %d' % sizes


def why_left_delta(heads, size, tokens, sequences, repeats=1, snapshots=1, form=''):
    if snapshots > 1: return 'states after several tokens'
    return 'fewer than 96 tokens' if tokens < 96 else None


def check_left():
    """The backend leaves no more shapes to ggml than before."""
    shapes, deltas = list(flash_shapes()), [why_left_delta(*shape) for shape in DELTA]
    found = collections.Counter([*map(why_left, shapes), *deltas])
    computed = found.pop(None)
    check(found == LEFT, 'ggml computes itself: %s; expected: %s' % (dict(found), LEFT))
    return '%d of %d shapes are computed' % (computed, len(shapes) + len(DELTA))


def numbers(rng, low, high, *shape):
    return rng.random(shape, np.float32) * np.float32(high - low) + np.float32(low)


def draw_mask(rng, sequences, queries, keys):
    """Returns a mask of numbers, in which some blocks are 0 or minus infinity."""
    mask = numbers(rng, -1, 1, sequences, 1, queries, keys)
    for _ in range(mask.size // 40960):
        s, i, j = (int(rng.integers(n)) for n in (sequences, queries, keys))
        mask[s, 0, i:i + 64, j:j + 128] = -np.inf if rng.random() < 0.5 else 0
    return mask.astype(np.float16)
