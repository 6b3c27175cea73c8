"""Exact quantiles of more values than fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.errors import OptionError

Batches = Callable[[], Iterable[NDArray[np.float64]]]
"""Returns the same values, in batches, at each call."""

_DIGIT = 16
_DIGITS = 64 // _DIGIT


def quantiles(batches: Batches, qs: Sequence[float], budget: int = 1 << 22) -> NDArray[np.float64]:
    """The quantiles ``qs`` (each from 0 to 1), interpolated linearly: the numbers of ``numpy.quantile``.

    NaN are ignored; without any value the result is NaN.  At most about ``budget`` values are held at once: beyond
    that, the order statistics are found digit by digit (a radix selection over keys that sort like floats), with at
    most five passes over the ``batches``.

    >>> quantiles(lambda: [np.array([3.0, 1.0]), np.array([2.0, np.nan])], [0.5, 0.75]).tolist()
    [2.0, 2.5]

    Raises ``OptionError`` for a quantile outside 0 to 1.
    """
    levels = np.asarray(qs, np.float64)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise OptionError(f"expected quantiles from 0 to 1, got {list(qs)}")
    chunks: list[NDArray[np.float64]] = []
    n = 0
    for batch in batches():
        values = _defined(batch)
        n += len(values)
        if n <= budget:
            chunks.append(values)
        else:
            chunks.clear()
    if n == 0:
        return np.full(len(levels), np.nan)
    places = (n - 1) * levels
    below = np.floor(places).astype(np.int64)
    above = np.minimum(below + 1, n - 1)
    ranks = sorted({*below.tolist(), *above.tolist()})
    if n <= budget:
        values = np.concatenate(chunks)
        values.partition(ranks)
        return _between(values[below], values[above], places - below)
    ranked = order_statistics(batches, ranks, budget)
    low, high = (np.array([ranked[rank] for rank in side.tolist()]) for side in (below, above))
    return _between(low, high, places - below)


def _between(low: NDArray[np.float64], high: NDArray[np.float64], part: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values at a ``part`` of the way from ``low`` to ``high``, as NumPy rounds them.

    ``numpy.quantile`` would import ``numpy.ma``.
    """
    with np.errstate(invalid="ignore"):  # NaN between −inf and inf, as in NumPy
        way = high - low
        return np.where(part >= 0.5, high - way * (1 - part), low + way * part)


def order_statistics(batches: Batches, ranks: Sequence[int], budget: int) -> dict[int, float]:
    """The values at the ``ranks`` (from 0) of the sorted values, without NaN; see :func:`quantiles`."""
    inside = {rank: (0, rank) for rank in ranks}  # rank -> leading digits of its key, rank among their values
    for digit in range(_DIGITS):
        counts = _histograms(batches, sorted({prefix for prefix, _ in inside.values()}), digit)
        sizes = {}
        for rank, (prefix, left) in inside.items():
            ends = np.cumsum(counts[prefix])
            bucket = int(np.searchsorted(ends, left, side="right"))
            inside[rank] = (prefix << _DIGIT | bucket, left - int(ends[bucket] - counts[prefix][bucket]))
            sizes[inside[rank][0]] = int(counts[prefix][bucket])
        if digit + 1 < _DIGITS and sum(sizes.values()) <= budget:
            return _sort_within(batches, inside, digit + 1)
    keys = np.array([prefix for prefix, _ in inside.values()], np.uint64)
    return dict(zip(inside, _values(keys).tolist(), strict=True))


def _histograms(batches: Batches, prefixes: Sequence[int], digit: int) -> dict[int, NDArray[np.int64]]:
    counts = {prefix: np.zeros(1 << _DIGIT, np.int64) for prefix in prefixes}
    for batch in batches():
        head = _keys(_defined(batch)) >> np.uint64(64 - _DIGIT * (digit + 1))
        for prefix, count in counts.items():
            chosen = head[head >> np.uint64(_DIGIT) == np.uint64(prefix)] if digit else head
            count += np.bincount((chosen & np.uint64(0xFFFF)).astype(np.int64), minlength=1 << _DIGIT)
    return counts


def _sort_within(batches: Batches, inside: dict[int, tuple[int, int]], digits: int) -> dict[int, float]:
    prefixes = np.array(sorted({prefix for prefix, _ in inside.values()}), np.uint64)
    shift = np.uint64(64 - _DIGIT * digits)
    chunks = []
    for batch in batches():
        keys = _keys(_defined(batch))
        chunks.append(keys[np.isin(keys >> shift, prefixes)])
    keys = np.sort(np.concatenate(chunks))
    starts = dict(zip(prefixes.tolist(), np.searchsorted(keys >> shift, prefixes).tolist(), strict=True))
    return {
        rank: float(_values(keys[starts[p] + left : starts[p] + left + 1])[0]) for rank, (p, left) in inside.items()
    }


def _defined(batch: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.asarray(batch, np.float64)
    return values[~np.isnan(values)] + 0.0  # makes −0.0 equal to 0.0 bit by bit


def _keys(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    bits = values.view(np.uint64)
    return np.where(bits >> np.uint64(63) == 1, ~bits, bits | np.uint64(1 << 63))


def _values(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.where(keys >> np.uint64(63) == 1, keys ^ np.uint64(1 << 63), ~keys).view(np.float64)
