"""A uniform random sample of the rows of an input, as a source."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.core.allowed_values import Seed, Whole, argument
from fastmetrics.tables.chunks import BEGINNING, Chunk, Place
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.source import Source

_MOST = 100_000_000


def sampled_rows(total: int, rows: int, seed: int) -> npt.NDArray[np.int64]:
    """The sorted numbers of this many random rows of ``total``; all rows if there are fewer.

    >>> sampled_rows(10, 3, seed=1).tolist() == sampled_rows(10, 3, seed=1).tolist(), len(sampled_rows(2, 3, seed=1))
    (True, 2)

    Raises ``OptionError`` for a number of rows below 1 or an invalid seed.
    """
    count, start = argument("sample", rows, Whole(1, _MOST)), argument("seed", seed, Seed)
    drawn = random.Random(start).sample(range(total), min(count, total))
    return np.array(sorted(drawn), np.int64)


class SampledSource(Source):
    """The sampled rows of a source; the other rows are read and skipped."""

    def __init__(self, source: Source, rows: int, seed: int) -> None:
        super().__init__(source._readers)
        sizes = [self._size(number) for number in range(len(self.files))]
        drawn = sampled_rows(sum(sizes), rows, seed)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self._drawn = [drawn[(drawn >= a) & (drawn < b)] - a for a, b in itertools.pairwise(starts)]
        self.rows = len(drawn)

    def _size(self, number: int) -> int:
        """The number of rows of a file, good and bad; text files are read to count them."""
        known = self._readers[number].rows
        if known is not None:
            return known
        nothing = Selection(pa.schema([]), {})
        stop = Place(number + 1, 0)
        return max((chunk.stop for chunk in super().chunks(nothing, Place(number, 0), 1, stop)), default=0)

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The sampled rows from ``start`` to before ``stop``; bad rows outside the sample are ignored."""
        for chunk in super().chunks(selection, start, threads, stop):
            drawn = self._drawn[chunk.file]
            good = np.isin(chunk.rows, drawn)
            rejects = tuple(one for one in chunk.rejects if one.place.row in drawn)
            if good.any() or rejects:
                yield Chunk(chunk.file, chunk.rows[good], chunk.batch.filter(pa.array(good)), rejects, chunk.offset)


def sampled(table: pa.Table, rows: int, seed: int) -> pa.Table:
    """A sample of the rows of a table, in its order."""
    return table.take(pa.array(sampled_rows(table.num_rows, rows, seed)))


__all__: Sequence[str] = ("SampledSource", "sampled", "sampled_rows")
