"""One metric of all pairs of texts, in blocks whose words and n-grams are counted once a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.all_pair_tokens import sides
from fastmetrics.core.arrays import Floats
from fastmetrics.core.batch_sizes import SIZES
from fastmetrics.core.threads import ordered
from fastmetrics.declaration.batch import Batch
from fastmetrics.plan.plan import Score
from fastmetrics.text.tokenize import Wordbook

T = TypeVar("T")


@dataclass(frozen=True)
class AllPairs:
    """A metric of two texts, and the canonical names of its columns of candidates and of references."""

    score: Score
    candidate: str
    reference: str
    threads: int

    def fill(self, candidates: pa.Array, references: pa.Array, scores: Floats) -> None:
        """Write the score of each pair to ``scores``, for some thousand texts of each side at a time."""
        most = SIZES.crossed_bytes // max(1, _orders(self.score))
        for rows in _cuts(candidates, SIZES.batch_bytes):
            for others in _cuts(references, most):
                self._fill_block(candidates[rows], references[others], scores[rows, others])

    def _fill_block(self, candidates: pa.Array, references: pa.Array, scores: Floats) -> None:
        sides_of = _Sides(self.score, self._by_column(candidates, references))
        every = np.arange(len(references))
        together = max(1, SIZES.crossed_pairs // len(references))
        starts = range(0, len(candidates), together)
        blocks = [slice(start, min(start + together, len(candidates))) for start in starts]

        def compute(rows: slice) -> Floats:
            computed = sides_of.scores(self._by_column(*sides(np.arange(len(candidates))[rows], every)))
            return computed.reshape(-1, len(every))

        for _ in ordered(compute, [slice(0, 0)], 1):  # what all blocks share is computed once, for no candidate
            pass
        for rows, block in zip(blocks, ordered(compute, blocks, self.threads), strict=True):
            scores[rows] = block

    def _by_column(self, of_candidates: T, of_references: T) -> dict[str, T]:
        return {self.candidate: of_candidates, self.reference: of_references}


class _Sides:
    """The texts of both sides, with the representations that the metric needs."""

    def __init__(self, score: Score, texts: dict[str, pa.Array]) -> None:
        words, prepare = Wordbook(), score.metric.rows.prepare
        batches = {column: Batch({column: array}, words=words) for column, array in texts.items()}
        if prepare is not None:
            batches = {column: prepare(batch, score.options) for column, batch in batches.items()}
        self._score, self._batches = score, batches

    def scores(self, pairs: dict[str, Any]) -> Floats:
        """The score of each pair, NaN where a text is missing."""
        options, arguments, present = self._score.options, {}, np.True_
        for column, side in pairs.items():
            need: Any = self._score.metric.needs[column]
            batch = self._batches[column]
            arguments[column] = need.crossed(need.of(batch, column, options), side)
            present = present & batch.present(column)[side.rows]
        return np.where(present, self._score.metric.function(**arguments, **options), np.nan)


def _orders(score: Score) -> int:
    """The lengths of n-grams that the options add up to, 0 without such options."""
    orders = (value for name, value in score.options.items() if name.endswith("_order"))
    return sum(value for value in orders if not isinstance(value, bool))


def _cuts(texts: pa.Array, most_bytes: int) -> Iterator[slice]:
    """Ranges of the texts, of at most ``SIZES.batch_rows`` texts and ``most_bytes`` bytes, or of one text."""
    ends = np.cumsum(pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + most_bytes, side="right"))
        stop = min(max(stop, start + 1), start + SIZES.batch_rows)
        yield slice(start, min(stop, len(ends)))
        start = stop
