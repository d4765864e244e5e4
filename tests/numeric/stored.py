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
