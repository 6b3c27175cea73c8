"""Counts and sums of scores by key (an id or a word), exact over parts, in memory bounded by the number of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Floats, Ints, floats_of_arrow
from fastmetrics.base.errors import InputError

KEY = "key"
_MANY = 1 << 20


class Tally:
    """Counts by key: tables of a column ``key`` and integer columns are summed; equal keys are merged.

    >>> tally = Tally(["n"])
    >>> for part in (["a", "b"], ["b", "c"]):
    ...     tally.add(counted(pa.array(part), {"n": np.ones(2)}))
    >>> sorted(zip(*tally.table().to_pydict().values()))
    [('a', 1), ('b', 2), ('c', 1)]
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._most = _MANY

    def add(self, part: pa.Table | None) -> None:
        """Add the counts of a part, or None."""
        if part is None or not part.num_rows:
            return
        self._parts.append(part)
        self._rows += part.num_rows
        if self._rows > self._most:
            self._merge()
            self._most = max(_MANY, 2 * self._rows)

    def table(self) -> pa.Table:
        """Every key once, with its counts."""
        self._merge()
        if not self._parts:
            return pa.table(
                {KEY: pa.array([], pa.large_string()), **{name: pa.array([], _INT) for name in self._columns}}
            )
        return self._parts[0]

    def _merge(self) -> None:
        if self._parts:
            joined = pa.concat_tables(_alike(self._parts), promote_options="permissive")
            encoded = joined[KEY].combine_chunks().dictionary_encode()
            codes, keys = np.asarray(encoded.indices), encoded.dictionary
            sums = {name: _summed(codes, np.asarray(joined[name]), len(keys)) for name in self._columns}
            self._parts = [pa.table({KEY: keys, **sums})]
            self._rows = self._parts[0].num_rows


_INT = pa.int64()


def _summed(codes: npt.NDArray[np.int32], counts: Ints, n: int) -> Ints:
    """The sum of each code's counts, as integers."""
    total = np.zeros(n, np.int64)
    np.add.at(total, codes, counts)
    return total


def _alike(parts: Sequence[pa.Table]) -> Sequence[pa.Table]:
    """The parts with keys of one type: text, if some are numbers and others text."""
    if len({part.schema.field(KEY).type for part in parts}) == 1:
        return parts
    return [part.set_column(0, KEY, part[KEY].cast(pa.large_string())) for part in parts]


def counted(keys: pa.Array, counts: Mapping[str, npt.ArrayLike]) -> pa.Table:
    """A part of a tally: integers of any representation, with their keys."""
    return pa.table(
        {KEY: keys, **{name: pa.array(np.asarray(values).astype(np.int64)) for name, values in counts.items()}}
    )


_SCALE = 2.0**30
_LARGEST = 2.0**32
_HALF = 1 << 31


def score_column(rows: pa.RecordBatch, name: str, first: int) -> Floats:
    """A column of scores, NaN if missing; raises ``InputError`` for a score that is too large to be score_sums."""
    values = floats_of_arrow(rows.column(name), name)
    wrong = np.flatnonzero(np.abs(values) > _LARGEST)
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {first + row}: {values[row]:g} is not a score; expected at most ±2**32")
    return values


def sum_names(name: str) -> tuple[str, str, str]:
    """The three columns of a tally that hold the sum of a score: its number, and its high and low part."""
    return f"{name} n", f"{name} high", f"{name} low"


def score_sums(name: str, codes: Ints, values: Floats, keys: int) -> dict[str, Any]:
    """The sums of a part: ``values[i]``, if it is a number, belongs to the key ``codes[i]``.

    A score is rounded to the nearest multiple of 2⁻³⁰, so means of scores are accurate to about 10⁻⁹.
    """
    present = ~np.isnan(values)
    codes, whole = codes[present], np.rint(values[present] * _SCALE).astype(np.int64)
    # sums of fewer than 2**21 numbers below 2**32 are exact in float64
    parts = (np.ones(len(codes)), whole // _HALF, whole % _HALF)
    sums = (np.bincount(codes, part, keys) for part in parts)
    return dict(zip(sum_names(name), sums, strict=True))


def mean_of(table: pa.Table, name: str) -> Floats:
    """The mean score of each key of a tally, NaN without scores."""
    n, high, low = (np.asarray(table[column]) for column in sum_names(name))
    total = (high * float(_HALF) + low) / _SCALE
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
