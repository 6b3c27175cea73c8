"""The segments of the rows in a report, by which the page filters them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import visible
from fastmetrics.reporting.row_links import label
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.segments import segments_of


@dataclass(frozen=True)
class RowSegments:
    """The displayed names of all segments, the number of rows of each, and for each column the segment of each row."""

    names: Sequence[str]
    counts: Sequence[int]
    codes: Sequence[Ints]

    @classmethod
    def of(cls, run: ScoreRun, by: Sequence[str]) -> RowSegments:
        """The segments of a run by each of the columns that it has."""
        names: list[str] = []
        counts: list[int] = []
        codes: list[Ints] = []
        for column in by:
            if column not in run.columns:
                continue
            values = run.column(column, "")
            of_rows = np.zeros(len(values), np.int64)
            for segment in segments_of([(column, values)]):
                of_rows[segment.rows] = len(names)
                names.append(visible(str(segment.name)))
                counts.append(len(segment.rows))
            codes.append(of_rows)
        return cls(names, counts, codes)

    def of_row(self, row: int) -> list[int]:
        """The segments of a row, one for each column."""
        return [int(codes[row]) for codes in self.codes]

    def data(self) -> list[dict[str, Any]]:
        """The names and numbers of rows, for the page's script."""
        return [{"name": label(name), "n": count} for name, count in zip(self.names, self.counts, strict=True)]
