"""The scores of another run in the rows of a report."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.reporting.rows.row_partners import partners
from fastmetrics.results.score_run import ScoreRun


@dataclass(frozen=True)
class MatchedScores:
    """Another run, and its row for each row of the main run: −1 for none, and None where ids match no rows."""

    run: ScoreRun
    partner: Ints | None

    @classmethod
    def of(cls, main: ScoreRun, run: ScoreRun) -> MatchedScores:
        """Match a run by id, if both have ids and the run repeats none."""
        matches = main.id_column is not None and run.id_column is not None
        matches = matches and run.sorted_ids(str(run.id_column)).are_distinct
        return cls(run, partners(main, run) if matches else None)

    def has(self, name: str) -> bool:
        """Whether the run has scores of this metric that match rows."""
        return self.partner is not None and name in self.run.scores

    def scores(self, name: str, start: int = 0, stop: int | None = None) -> Floats:
        """The scores of the rows from ``start`` to ``stop``, NaN if missing; the run ``has`` the metric."""
        assert self.partner is not None
        places = self.partner[start:stop]
        return as_numbers(self.run.read([name]).column(0).take(pa.array(places, mask=places < 0)))
