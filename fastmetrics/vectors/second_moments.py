"""Second moments of many vectors, and statistics of all pairs computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastmetrics.base.threads import ordered
from fastmetrics.vectors.centred_vectors import BLOCK, Cloud

_SHARE = 0.95
_DOUBLE_WORK = 2e10  # up to this many multiplications, second moments are computed in float64


class Moments:
    """Second moments of a cloud's centred rows, and statistics of all pairs computed from them.

    With v the centred rows, q = ‖v‖², C = Σ v vᵀ and h a row's summand in its pairs' half squared distances t:
    t_ij = h_i + h_j − v_i·v_j and Σv = 0, so the mean and variance of t over all pairs follow from C, Σq, Σh², Σhq.
    """

    def __init__(self, cloud: Cloud, threads: int) -> None:
        count = len(cloud)
        self.count = count
        self.cloud = cloud
        self.squares = np.empty(count)
        scatter = np.zeros((cloud.vectors.dim, cloud.vectors.dim))

        double = count * cloud.vectors.dim**2 <= _DOUBLE_WORK

        def part(start: int) -> npt.NDArray[Any]:
            stop = min(start + BLOCK, count)
            rows, self.squares[start:stop] = cloud.centred(start, stop)
            fine = cloud.centred_in_float64(start, stop) if double else rows
            return fine.T @ fine

        for products in ordered(part, range(0, count, BLOCK), threads):
            scatter += products
        self.scatter = scatter / cloud.factor**2
        self.halves = cloud.halves(self.squares, slice(None))

    def dimensionality(self) -> int:
        """Smallest number of eigenvalues with 95 % of the variance; 0 if all rows are equal."""
        values = np.clip(np.linalg.eigvalsh(self.scatter)[::-1], 0.0, None)
        cumulative = np.cumsum(values)
        if cumulative[-1] <= 0:
            return 0
        return int(np.searchsorted(cumulative, _SHARE * cumulative[-1]) + 1)

    def of_halves(self) -> tuple[float, float]:
        """Exact mean and variance of the half squared distances of all pairs."""
        pairs = 0.5 * self.count * (self.count - 1)
        q, middle = self.squares, float(self.halves.mean())
        off = self.halves - middle
        shift = float(q.sum()) / (2 * pairs)
        total = (self.count - 2) * (off @ off) + 2 * (off @ q) + 0.5 * (np.sum(self.scatter**2) - q @ q)
        return 2 * middle + shift, max(float(total) / pairs - shift**2, 0.0)

    def diameter_bound(self) -> float:
        """Upper bound of the diameter: the sum of the two largest distances to the centre."""
        radii = np.sort(np.sqrt(self.squares))[-2:]
        if self.cloud.metric == "euclidean":
            return float(radii.sum())
        return float(min(2.0, max(0.5 * radii.sum() ** 2, 1.0 if self.cloud.zero.any() else 0.0)))
