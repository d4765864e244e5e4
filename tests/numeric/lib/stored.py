"""Functions for 16-bit storage of q, k, v and out."""
import numpy as np

HALVES = ('bf16', 'f16')
# Each value is (bits of the fraction, power of two of the smallest normal number, smallest number rounded to infinity).
# No number of f32 is rounded to infinity in bf16.
LIMITS = {'bf16': (7, -126, np.inf), 'f16': (10, -14, 65520.0)}


def rounded(x, dtype):
    """Rounds an f32 array to `dtype`, with ties to even. The result is f32."""
    x = np.ascontiguousarray(x, np.float32)
    if dtype == 'f16':
        with np.errstate(over='ignore'):
            return x.astype(np.float16).astype(np.float32)
    bits = x.view(np.uint32)
    with np.errstate(over='ignore'):
        return ((bits + np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1)))
                & np.uint32(0xffff0000)).view(np.float32)


def off_by(out, expected, dtype):
    """Returns |out - expected|. For 16-bit types, half an ulp is subtracted, the error of rounding."""
    if dtype not in HALVES:
        return np.abs(out - expected)
    digits, least, infinity = LIMITS[dtype]
    out = out.astype(np.float64)
    with np.errstate(invalid='ignore'):
        exponent = np.maximum(np.frexp(np.where(np.isfinite(out), out, 0))[1] - 1, least)
        off = np.maximum(np.abs(out - expected) - np.ldexp(1.0, exponent - digits - 1), 0)   # a NaN stays a NaN
        return np.where(np.isinf(out) & (np.sign(out) == np.sign(expected)),
                        np.maximum(infinity - np.abs(expected), 0), off)


def holds(out, dtype):
    """True if `dtype` holds every number of out."""
    return dtype not in HALVES or np.array_equal(rounded(out, dtype), out.astype(np.float32), equal_nan=True)


# ---- rows of keys and values in types with few bits (`storage` of a spec)

BLOCK = {'i8_32': 32, 'i8_64': 64, 'q8_0': 32, 'q4_0': 32}


def e4m3():
    """Returns the numbers of e4m3fn without a sign, by their bits."""
    bits = np.arange(127)
    return np.where(bits < 8, bits * 2.0 ** -9, (8 + bits % 8) * 2.0 ** (bits // 8 - 10))


def packed(x, kind):
    """Returns rows of f32 as the type `kind` stores them: f16, the bits of bf16, or bytes."""
    x = np.ascontiguousarray(x, np.float32)
    if kind == 'f16': return x.astype(np.float16)
    if kind == 'bf16': return (rounded(x, kind).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if kind == 'fp8':
        numbers, size = e4m3(), np.minimum(np.abs(x).astype(np.float64), 448)
        above = np.clip(np.searchsorted(numbers, size), 1, 126)
        low, high = size - numbers[above - 1], numbers[above] - size
        down = (low < high) | ((low == high) & (above % 2 == 1))
        return (above - down + 128 * np.signbit(x)).astype(np.uint8)
    block = BLOCK.get(kind, x.shape[-1])
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // block, block)   # there may be no rows, so -1 has no meaning
    size = np.abs(blocks)
    with np.errstate(divide='ignore', over='ignore'):
        if kind == 'q4_0':
            scale = np.take_along_axis(blocks, size.argmax(-1)[..., None], -1) / np.float32(-8)
            inverse = np.where(scale != 0, np.float32(1) / scale, np.float32(0))
            whole = np.clip(np.floor(blocks * inverse + np.float32(8.5)), 0, 15).astype(np.uint8)
            whole = whole[..., :16] | whole[..., 16:] << 4
        else:
            scale = size.max(-1, keepdims=True) / np.float32(127)
            inverse = np.where(scale != 0, np.float32(1) / scale, np.float32(0))
            whole = blocks * inverse
            whole = np.clip(np.trunc(whole + np.copysign(np.float32(0.5), whole)), -127, 127).astype(np.int8).view(np.uint8)
        scale = scale.astype(np.float16 if kind in ('q8_0', 'q4_0') else np.float32)
    both = np.concatenate([scale.view(np.uint8), whole], -1)
    return np.ascontiguousarray(both.reshape(*x.shape[:-1], both.shape[-2] * both.shape[-1]))


def unpacked(x, kind, elements):
    """Returns the numbers of stored rows as f32."""
    if kind == 'f16': return x.astype(np.float32)
    if kind == 'bf16': return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind == 'fp8': return np.where(x & 128, -1, 1).astype(np.float32) * e4m3()[x & 127].astype(np.float32)
    count = elements // BLOCK.get(kind, elements)
    blocks = x.reshape(*x.shape[:-1], count, x.shape[-1] // count)
    half = kind in ('q8_0', 'q4_0')
    scale = np.ascontiguousarray(blocks[..., :2 if half else 4]).view(np.float16 if half else np.float32).astype(np.float32)
    whole = blocks[..., 2 if half else 4:]
    whole = np.concatenate([whole & 15, whole >> 4], -1).astype(np.float32) - 8 if kind == 'q4_0' else whole.view(np.int8).astype(np.float32)
    return (whole * scale).reshape(*x.shape[:-1], elements)


def kind_of(spec, name):
    """Returns the type in which keys ('k') or values ('v') are stored, or None for that of the spec."""
    keys = name == 'k' or spec['shape'].get('values', 'given') == 'keys'
    return spec.get('storage', {}).get('k' if keys else 'v')


def rounded_rows(x, kind):
    """Rounds rows to numbers that the type `kind` stores."""
    return unpacked(packed(np.asarray(x, np.float32), kind), kind, x.shape[-1]) if kind else x
