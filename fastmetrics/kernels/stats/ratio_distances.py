"""Distances of ratio-scaled data, for Krippendorff's alpha with the ratio metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmetrics.kernels.jit import kernel


@kernel
def squared_ratios(
    starts: NDArray[np.int64], amounts: NDArray[np.float64], times: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Σ tᵢ·tⱼ·((aᵢ − aⱼ) / (aᵢ + aⱼ))² over the ordered pairs of each group ``starts[g]:starts[g + 1]``.

    aᵢ is ``amounts[i]``, and tᵢ ``times[i]``, how often it occurs.
    """
    for group in range(out.shape[0]):
        total = 0.0
        for i in range(starts[group], starts[group + 1]):
            row = 0.0
            for j in range(starts[group], i):
                both = amounts[i] + amounts[j]
                if both > 0.0:
                    ratio = (amounts[i] - amounts[j]) / both
                    row += times[j] * ratio * ratio
            total += 2.0 * times[i] * row
        out[group] = total
