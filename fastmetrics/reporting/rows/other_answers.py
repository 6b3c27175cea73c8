"""The answers of the other systems to the rows of a report, shown beside that of its main run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Ints
from fastmetrics.base.errors import visible
from fastmetrics.base.input_columns import resolve
from fastmetrics.reporting.rows.matched_scores import MatchedScores
from fastmetrics.reporting.rows.texts.row_texts import cut
from fastmetrics.reporting.rows.texts.text_sources import TextSource


@dataclass(frozen=True)
class OtherAnswers:
    """For each system with known answers: its name, its answers, and their row for each row of the main run."""

    systems: Sequence[tuple[str, pa.Array | pa.ChunkedArray, Ints]]

    @classmethod
    def of(
        cls, ids: pa.Array | None, others: Sequence[MatchedScores], sources: Mapping[str, TextSource]
    ) -> OtherAnswers:
        """The answers of the runs that have a source of texts, or that kept them with ids of which none is repeated."""
        systems = []
        for other in others:
            run = other.run
            if run.name in sources and ids is not None:
                joined = sources[run.name].added(pa.table({"id": ids}), ["answer"])
                if "answer" in joined.column_names:
                    systems.append((visible(run.name), joined["answer"], np.arange(len(ids))))
                continue
            column = resolve(run.columns, needed=()).get("answer")
            if other.partner is not None and column is not None and column not in run.scores:
                systems.append((visible(run.name), run.column(column, ""), other.partner))
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
