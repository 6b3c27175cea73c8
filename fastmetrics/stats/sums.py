"""Exact, mergeable mean, standard deviation, extremes and percentiles of a column, independent of split and order of
rows.

**Exact sums.** A summary adds integers (a float64 is a multiple of 2⁻¹⁰⁷⁴), so the order of rows and the split into
batches cannot change it. Mean and standard deviation are rounded once, at the end. The standard deviation is that of
the population (divided by n), since a table of scores is complete, not a sample. Percentiles are exact and interpolate
as NumPy does; they need all values of a column in memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.base.arrays import doubles, numpy_values
from fastmetrics.base.errors import InputError, UnknownNameError, shown
from fastmetrics.kernels import exact_sums as sums

# Exact, mergeable mean, standard deviation and extremes of a column, independent of the split and order of rows.


_UNIT = 1074  # unit of sums: 2**-1074, the smallest float64; unit of squares: 2**-2148
_MANY = 4_096
"""Number of values from which on summing by bins is faster than ``math.fsum``."""
_LARGE = 960
"""Values below 2⁹⁶⁰ can be summed without overflow."""
_COUNTS = ("n", "n_missing", "n_undefined", "n_infinite", "n_error")


class State:
    """The accumulated state of a column: counts, and the exact sums of values and squares as integers.

    ``mean`` = Σx / n and ``std`` = √(Σx²/n − (Σx/n)²) (population: ddof = 0) are rounded once, from the exact sums, to
    the nearest float64.  An infinite score is no number to average, so it counts as undefined.  Figures without a
    value are NaN.

    >>> a, b = State(), State()
    >>> a.add([0.1, 0.2, None])
    >>> b.add([1e308, -1e308, float("nan")])
    >>> both = a.merge(b)
    >>> both.n, both.n_missing, both.n_undefined, both.mean
    (4, 1, 1, 0.07500000000000001)
    >>> State.from_json(both.to_json()) == both
    True
    """

    def __init__(self, bin_rows: int = sums.ROWS) -> None:
        self._bin_rows = bin_rows
        self._total = 0
        self._squares = 0
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._lowest = math.inf
        self._highest = -math.inf
        self._bins: NDArray[np.int64] | None = None
        self._pending = 0

    def add(self, column: Any) -> None:
        """Add a column of numbers: null is a missing input, NaN or ±inf an undefined score.

        Raises ``InputError`` if the column is not numeric.
        """
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            values, n_null = _float64(chunk)
            self._counts["n_missing"] += n_null
            for start in range(0, len(values), self._bin_rows):
                self._accumulate(values[start : start + self._bin_rows])

    def tell_apart(self, n_undefined: int, n_error: int) -> None:
        """Reclassify missing rows as undefined or failed; raises ``InputError`` if there are too few missing rows."""
        if n_undefined < 0 or n_error < 0 or n_undefined + n_error > self.n_missing:
            raise InputError(f"{n_undefined} undefined and {n_error} failed of {self.n_missing} missing rows")
        self._counts["n_missing"] -= n_undefined + n_error
        self._counts["n_undefined"] += n_undefined
        self._counts["n_error"] += n_error

    def add_errors(self, n: int) -> None:
        """Count ``n`` rows whose scoring failed and that are in no column."""
        self._counts["n_error"] += n

    def merge(self, other: State) -> State:
        """The state of the rows of both, in any order."""
        self._fold()
        other._fold()
        both = State()
        both._total = self._total + other._total
        both._squares = self._squares + other._squares
        both._counts = {name: self._counts[name] + other._counts[name] for name in _COUNTS}
        both._lowest = min(self._lowest, other._lowest)
        both._highest = max(self._highest, other._highest)
        return both

    def to_json(self) -> str:
        """The state as JSON text, for a file's metadata or another process."""
        return json.dumps(self._fields())

    @classmethod
    def from_json(cls, text: str) -> State:
        """The state that :meth:`to_json` wrote; raises ``InputError`` for anything else."""
        state = cls()
        try:
            fields = json.loads(text)
            state._total, state._squares = int(fields["total"], 16), int(fields["squares"], 16)
            state._lowest, state._highest = float.fromhex(fields["min"]), float.fromhex(fields["max"])
            state._counts = {name: int(fields[name]) for name in _COUNTS}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"expected the state of a column, got {text[:60]!r}") from error
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]

    @property
    def n(self) -> int:
        """Rows with a finite score."""
        return self._counts["n"]

    @property
    def n_missing(self) -> int:
        """Rows with a missing input."""
        return self._counts["n_missing"]

    @property
    def n_undefined(self) -> int:
        """Rows with an undefined score, also an infinite one."""
        return self._counts["n_undefined"] + self._counts["n_infinite"]

    @property
    def n_infinite(self) -> int:
        """Rows with an infinite score."""
        return self._counts["n_infinite"]

    @property
    def n_error(self) -> int:
        """Rows whose scoring failed."""
        return self._counts["n_error"]

    @property
    def mean(self) -> float:
        """Σx / n, correctly rounded."""
        self._fold()
        return self._total / (self.n << _UNIT) if self.n else math.nan

    @property
    def total(self) -> float:
        """Σx, correctly rounded; raises ``OverflowError`` beyond the range of a float64."""
        self._fold()
        return self._total / (1 << _UNIT)

    @property
    def sum(self) -> float:
        """Σx, correctly rounded; NaN without scores, infinite beyond the range of a float64."""
        if not self.n:
            return math.nan
        try:
            return self.total
        except OverflowError:
            return math.inf if self._total > 0 else -math.inf

    @property
    def std(self) -> float:
        """√(n·Σx² − (Σx)²) / n, correctly rounded."""
        self._fold()
        n = self.n
        if n == 0:
            return math.nan
        square = (n * self._squares - self._total**2) << 2
        root = math.isqrt(square)
        # adding a half for an inexact root is enough: at this scale no rounding boundary is between root and root + 1
        return (2 * root + (root * root != square)) / (n << (_UNIT + 2))

    @property
    def min(self) -> float:
        """The lowest score."""
        return self._lowest + 0.0 if self.n else math.nan

    @property
    def max(self) -> float:
        """The highest score."""
        return self._highest + 0.0 if self.n else math.nan

    def _fields(self) -> dict[str, int | str]:
        self._fold()
        extremes = {"min": (self._lowest + 0.0).hex(), "max": (self._highest + 0.0).hex()}
        return {**self._counts, "total": hex(self._total), "squares": hex(self._squares), **extremes}

    def _accumulate(self, values: NDArray[np.float64]) -> None:
        if self._pending + len(values) > self._bin_rows:
            self._fold()
        if self._bins is None:
            self._bins = np.zeros((2048, 8), np.int64)
        seen = np.array([0, 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min], np.int64)
        sums.accumulate(values.view(np.int64), self._bins, seen)
        self._pending += len(values)
        n_nan, n_infinite = int(seen[sums.N_NAN]), int(seen[sums.N_INFINITE])
        n = len(values) - n_nan - n_infinite
        for name, count in (("n", n), ("n_undefined", n_nan), ("n_infinite", n_infinite)):
            self._counts[name] += count
        if n:
            lowest, highest = (_float_of_key(int(seen[which])) for which in (sums.LOWEST, sums.HIGHEST))
            self._lowest, self._highest = min(self._lowest, lowest), max(self._highest, highest)

    def _fold(self) -> None:
        """Move the contents of the bins into the exact integers."""
        if self._bins is None:
            return
        for exponent in np.flatnonzero(self._bins.any(axis=1)).tolist():
            digits = self._bins[exponent].tolist()
            shift = max(exponent, 1) - 1
            self._total += sum(digit << (18 * place) for place, digit in enumerate(digits[:3])) << shift
            self._squares += sum(digit << (18 * place) for place, digit in enumerate(digits[3:])) << (2 * shift)
        self._bins = None
        self._pending = 0


def exact_sum(values: NDArray[np.float64]) -> float:
    """Σx, correctly rounded: the bits of ``math.fsum``, which takes about twelve times as long for many values.

    >>> exact_sum(np.array([1e308, 1.0, -1e308]))
    1.0
    """
    if values.size < _MANY:
        return math.fsum(values)
    state = State()
    state.add(np.ascontiguousarray(values, np.float64))
    return state.total if state.n == values.size else math.fsum(values)


def exact_mean(values: NDArray[np.float64]) -> float:
    """Σx / n from the exact sum, also if the sum exceeds the largest float64; NaN without values.

    >>> exact_mean(np.array([1.5e308, 1.5e308]))
    1.5e+308
    """
    if not values.size:
        return math.nan
    exponent = max(0, math.frexp(float(np.abs(values).max()))[1] - _LARGE)
    return math.ldexp(exact_sum(np.ldexp(values, -exponent) if exponent else values) / values.size, exponent)


def _float_of_key(key: int) -> float:
    return float(np.int64(key if key >= 0 else key ^ 0x7FFFFFFFFFFFFFFF).view(np.float64))


def _float64(column: Any) -> tuple[NDArray[np.float64], int]:
    """The non-null values of a column as float64, and how many nulls there were."""
    try:
        array = doubles(column if isinstance(column, pa.Array) else pa.array(column))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"expected a column of numbers: {error}") from error
    n_null = array.null_count
    values = np.asarray(numpy_values(array.drop_null() if n_null else array), np.float64)
    values = np.ascontiguousarray(values).view()
    values.setflags(write=False)
    return values, n_null


# Statistics of a column by name, in addition to mean, standard deviation and extremes: the sum, and percentiles.


SUM, TRIMMED = "sum", "trimmed"
CUT = 0.1
"""The share of the values that a trimmed mean leaves out at each end."""


def percentiles(statistics: Sequence[str]) -> dict[str, float]:
    """The share of values below each percentile among the ``statistics``: 0.95 for ``p95``.

    >>> percentiles(["p50", "sum", "p99.9"])
    {'p50': 0.5, 'p99.9': 0.9990000000000001}

    Raises ``UnknownNameError`` for an unknown statistic.
    """
    return {name: _share(name) for name in statistics if name not in (SUM, TRIMMED) and not counted([name])}


def counted(statistics: Sequence[str]) -> dict[str, float]:
    """The scores, in hundredths, whose rows are counted by some of the ``statistics``.

    >>> counted(["at_50", "p50"])
    {'at_50': 0.5}
    """
    return {name: int(name[3:]) / 100 for name in statistics if re.fullmatch(r"at_\d{1,3}", name)}


def _share(name: str) -> float:
    try:
        percent = float(name.removeprefix("p"))
    except ValueError:
        percent = math.nan
    if not name.startswith("p") or not 0 <= percent <= 100:
        raise UnknownNameError(
            f"unknown statistic {shown(name)}; known: sum, trimmed, p0 to p100, as in p50 or p99.9, and the number of "
            "rows with a score in hundredths, as in at_50"
        )
    return percent / 100


def read_values(statistics: Sequence[str]) -> bool:
    """Whether some of the ``statistics`` need all values; raises ``UnknownNameError`` for an unknown one."""
    return bool(percentiles(statistics) or counted(statistics)) or TRIMMED in statistics


def trimmed(values: NDArray[np.float64]) -> float:
    """The mean of the middle 80 % of the values, without a tenth of them (rounded down) at each end; NaN without any.

    >>> trimmed(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1000.0]))
    5.5
    """
    cut = int(CUT * len(values))
    return exact_mean(np.sort(values)[cut : len(values) - cut])


def named_statistics(state: State, statistics: Sequence[str], batches: Callable[[], Iterable[Any]]) -> dict[str, float]:
    """The ``statistics`` by name, of the column accumulated in ``state``; ``batches`` returns its values.

    Percentiles are interpolated: the numbers of ``numpy.quantile``.  NaN and infinite values are ignored.
    """
    if not read_values(statistics):
        return dict.fromkeys(statistics, state.sum)
    values = np.concatenate([np.zeros(0), *(np.asarray(batch, np.float64) for batch in batches())])
    values = np.sort(values[np.isfinite(values)] + 0.0)  # makes −0.0 equal to 0.0 bit by bit
    found = {name: _quantile(values, share) for name, share in percentiles(statistics).items()}
    found |= {SUM: state.sum} | ({TRIMMED: trimmed(values)} if TRIMMED in statistics else {})
    found |= {name: float(np.count_nonzero(values == score)) for name, score in counted(statistics).items()}
    return {name: found[name] for name in statistics}


def _quantile(in_order: NDArray[np.float64], share: float) -> float:
    """The quantile of sorted values as NumPy, which would import ``numpy.ma``, rounds it; NaN without any."""
    if not len(in_order):
        return math.nan
    place = (len(in_order) - 1) * share
    below = math.floor(place)
    low, high = in_order[below], in_order[min(below + 1, len(in_order) - 1)]
    with np.errstate(over="ignore", invalid="ignore"):  # a way beyond the range of float64, as in NumPy
        way, part = high - low, place - below
        return float(high - way * (1 - part) if part >= 0.5 else low + way * part)
