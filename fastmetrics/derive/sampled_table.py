"""A uniform random sample of the rows of an input, as a source."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.options import Seed, Whole, argument
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.sources import NarrowedSource, TableSource
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Place

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


class SampledSource(NarrowedSource):
    """The sampled rows of a source; the other rows are read and skipped."""

    def __init__(self, source: TableSource, rows: int, seed: int) -> None:
        super().__init__(source)
        sizes = [self._size(number) for number in range(max(1, len(self.files)))]
        sample = sampled_rows(sum(sizes), rows, seed)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self._sample = [sample[(sample >= a) & (sample < b)] - a for a, b in itertools.pairwise(starts)]
        self.rows = len(sample)

    def _size(self, number: int) -> int:
        """The number of rows of a file, good and bad; text files are read to count them."""
        rows = self.file_rows(number)
        if rows is not None:
            return rows
        nothing = Selection(pa.schema([]), {})
        stop = Place(number + 1, 0)
        return max((chunk.stop for chunk in super().chunks(nothing, Place(number, 0), 1, stop)), default=0)

    def chunks(
        self, selection: Selection, start: Place = BEGINNING, threads: int = 1, stop: Place | None = None
    ) -> Iterator[Chunk]:
        """The sampled rows from ``start`` to before ``stop``; bad rows outside the sample are ignored."""
        for chunk in super().chunks(selection, start, threads, stop):
            sample = self._sample[chunk.file]
            good = np.isin(chunk.rows, sample)
            rejects = tuple(reject for reject in chunk.rejects if reject.place.row in sample)
            if good.any() or rejects:
                yield Chunk(chunk.file, chunk.rows[good], chunk.batch.filter(pa.array(good)), rejects, chunk.offset)


def sampled(source: TableSource, columns: Mapping[str, str], sample: int | None, seed: int) -> TableSource:
    """The rows of a random sample of a source, from which ``columns`` (yours: kind) will be read; all without one."""
    source.select(columns)  # all at once: a reader in memory can be read only once
    return source if sample is None else SampledSource(source, sample, seed)


def described(sample: int | None, seed: int) -> dict[str, int]:
    """The description of a sample for signatures; empty without one."""
    return {} if sample is None else {"rows": sample, "seed": seed}
