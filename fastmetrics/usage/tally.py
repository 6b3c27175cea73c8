"""Integer counts by key (an id or a word), summed exactly over parts, in memory bounded by the number of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.core.arrays import Ints

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


def tallied(parts: Iterable[pa.Table | None], columns: Sequence[str]) -> pa.Table:
    """The sum of many parts."""
    tally = Tally(columns)
    for part in parts:
        tally.add(part)
    return tally.table()
