"""Exact sums: float64 significands accumulated per exponent, without rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel

ROWS = 1 << 24  # maximum values per bin without int64 overflow, since each adds less than 2**38

N_NAN, N_PLUS_INFINITY, N_MINUS_INFINITY, LOWEST, HIGHEST = range(5)


@kernel
def accumulate(bits: NDArray[np.int64], bins: NDArray[np.int64], seen: NDArray[np.int64]) -> None:
    """Add float64 values, given by their bits, to ``bins`` (2048 × 8) and ``seen`` (5: three counts, two extremes).

    A significand is split into 18-bit digits c, b, a.  ``bins[e]``, for the exponent e, sums the digits with
    their sign (0–2) and the digits of the square (3–7).  The extremes are stored as integers in the order of
    the floats.
    """
    for i in range(bits.shape[0]):
        value = bits[i]
        exponent = (value >> 52) & 2047
        significand = value & 0xFFFFFFFFFFFFF
        if exponent == 2047 and significand != 0:
            seen[0] += 1
            continue
        key = value if value >= 0 else value ^ 0x7FFFFFFFFFFFFFFF
        seen[3] = min(seen[3], key)
        seen[4] = max(seen[4], key)
        if exponent == 2047:
            seen[1 if value >= 0 else 2] += 1
            continue
        if exponent > 0:
            significand |= 1 << 52
        c, b, a = significand & 0x3FFFF, (significand >> 18) & 0x3FFFF, significand >> 36
        sign = 1 if value >= 0 else -1
        bins[exponent, 0] += sign * c
        bins[exponent, 1] += sign * b
        bins[exponent, 2] += sign * a
        bins[exponent, 3] += c * c
        bins[exponent, 4] += 2 * c * b
        bins[exponent, 5] += 2 * c * a + b * b
        bins[exponent, 6] += 2 * b * a
        bins[exponent, 7] += a * a
