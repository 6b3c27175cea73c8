"""The answers of the other systems to the rows of a report, shown beside that of its main run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Ints
from fastmetrics.core.input_columns import resolve
from fastmetrics.core.visible_text import visible
from fastmetrics.reporting.rows.row_partners import partners
from fastmetrics.reporting.rows.row_texts import cut
from fastmetrics.results.runs.score_run import ScoreRun


@dataclass(frozen=True)
class OtherAnswers:
    """For each system that kept its answers: its name, its answers, and their row for each row of the main run."""

    systems: Sequence[tuple[str, pa.Array, Ints]]

    @classmethod
    def of(cls, main: ScoreRun, others: Sequence[ScoreRun]) -> OtherAnswers:
        """The answers of the runs that kept them, with ids of which none is repeated."""
        systems = []
        for run in others:
            column = resolve(run.columns, needed=()).get("answer")
            if main.id_column is None or run.id_column is None or column is None or column in run.scores:
                continue
            if run.sorted_ids(run.id_column).are_distinct:
                systems.append((visible(run.name), run.column(column, ""), partners(main, run)))
        return cls(systems)

    def to(self, rows: Sequence[int]) -> list[list[tuple[str, str]]]:
        """For each of the rows the names of the systems that answered it, with their answers."""
        answers: list[list[tuple[str, str]]] = [[] for _ in rows]
        for name, column, partner in self.systems:
            places = partner[np.asarray(rows, np.int64)]
            for row, answer in zip(answers, column.take(pa.array(places, mask=places < 0)).to_pylist(), strict=True):
                if answer is not None:
                    row.append((name, cut(answer)))
        return answers
