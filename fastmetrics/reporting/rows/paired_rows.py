"""The rows of a report, and the matching row of the baseline for each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import ColumnError, visible
from fastmetrics.base.input_columns import resolve
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.rows.matched_scores import MatchedScores
from fastmetrics.reporting.rows.other_answers import OtherAnswers
from fastmetrics.reporting.rows.row_partners import partners
from fastmetrics.reporting.rows.row_segments import RowSegments
from fastmetrics.reporting.rows.texts.kept_columns import KeptColumns
from fastmetrics.reporting.rows.texts.row_texts import cut, row_texts
from fastmetrics.reporting.rows.texts.text_sources import TextSource
from fastmetrics.results.score_run import ScoreRun

_LABEL = 300
"""Maximum characters of a displayed id."""


@dataclass(frozen=True)
class PairedRows:
    """The rows of a run with their ids, and the positions of the baseline's rows with the same ids, −1 for none."""

    main: ScoreRun
    base: ScoreRun | None
    names: Sequence[str]
    ids: pa.Array | None
    """The ids as text, if texts or a baseline need them."""
    labels: pa.Array | None
    partner: Ints | None
    segments: RowSegments
    others: OtherAnswers
    further: Sequence[MatchedScores]
    """The systems that are neither the main run nor the baseline."""
    shown_columns: KeptColumns
    texts: TextSource | None
    base_texts: TextSource | None

    @classmethod
    def of(
        cls,
        main: ScoreRun,
        base: ScoreRun | None,
        names: Sequence[str],
        options: ReportOptions,
        others: Sequence[ScoreRun],
        sources: Mapping[str, TextSource],
    ) -> PairedRows:
        """Match the rows of a run to those of a baseline and of ``others``; ``sources`` have the texts of runs.

        Raises ``ColumnError`` if required ids are missing.
        """
        needs_ids = bool(sources) or base is not None
        if needs_ids and main.id_column is None:
            raise ColumnError(f"{main.name} has no id column, by which its rows and their texts could meet")
        ids = main.ids(str(main.id_column)) if needs_ids else None
        labels = ids if ids is not None or main.id_column is None else main.column(main.id_column, "")
        partner = None if base is None or ids is None else partners(main, base)
        further = [MatchedScores.of(main, run) for run in others]
        return cls(
            main,
            base,
            names,
            ids,
            labels,
            partner,
            RowSegments.of(main, options.by),
            OtherAnswers.of(ids, further, sources),
            further,
            KeptColumns.of(main, options.system),
            sources.get(main.name),
            None if base is None else sources.get(base.name),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.main.read(self.names[:1]).num_rows) if self.names else 0

    def of_system(self, options: ReportOptions) -> tuple[str, str] | None:
        """The column that names the systems of one file, and the name of the main one."""
        return None if options.system is None else (options.system, self.main.name)

    def before(self, name: str) -> Floats | None:
        """The baseline's scores of the rows, or None without a baseline or score."""
        base = self._matched_base
        return base.scores(name) if base is not None and base.has(name) else None

    @property
    def _matched_base(self) -> MatchedScores | None:
        return None if self.base is None else MatchedScores(self.base, self.partner)

    def part(self, name: str, start: int, stop: int) -> Floats:
        """The scores of the rows from ``start`` to ``stop``."""
        return as_numbers(self.main.read([name]).column(0).slice(start, stop - start))

    def part_before(self, name: str, start: int, stop: int) -> Floats:
        """The baseline's scores of these rows, NaN if missing."""
        return self._part_of(self._matched_base, name, start, stop)

    def parts_of_further(self, start: int, stop: int) -> list[list[Floats]]:
        """For each of the further systems, its scores of these rows in each metric, NaN if missing."""
        return [[self._part_of(system, name, start, stop) for name in self.names] for system in self.further]

    @staticmethod
    def _part_of(matched: MatchedScores | None, name: str, start: int, stop: int) -> Floats:
        if matched is None or not matched.has(name):
            return np.full(stop - start, np.nan)
        return matched.scores(name, start, stop)

    @property
    def answering(self) -> list[str]:
        """The displayed names of the systems whose answers are known."""
        own = [(self.main, self.texts), *([] if self.base is None else [(self.base, self.base_texts)])]
        return [
            *(visible(run.name) for run, source in own if _has_answers(run, source)),
            *(name for name, *_ in self.others.systems),
        ]

    def label(self, row: int) -> str:
        """The label of a row: its id, or its number."""
        return str(row) if self.labels is None else cut(self.labels[row].as_py())[:_LABEL]

    @property
    def label_key(self) -> str:
        """The name under which a browser keeps labels: that of these rows, whatever report shows them."""
        ids = [] if self.labels is None else self.labels.cast(pa.large_string()).fill_null("").to_pylist()
        return hashlib.sha256(json.dumps([self.main.name, self.n, ids]).encode()).hexdigest()[:16]

    def exact_id(self, row: int) -> dict[str, str]:
        """The id of a row as it is in the run, as JSON of plain characters, where its label differs."""
        exact = None if self.labels is None else self.labels[row].as_py()
        return {} if exact is None or str(exact) == self.label(row) else {"key": json.dumps(str(exact))}

    def earlier_answers(self, rows: Sequence[int]) -> list[str | None]:
        """The baseline's answers to the rows, if known."""
        if self.base is None or not rows or self.partner is None:
            return [None] * len(rows)
        if self.base_texts is not None:
            found_texts = row_texts(self.base, self.ids, rows, self.base_texts)
            return [texts_of_row.get("answer") for texts_of_row in found_texts]
        column = resolve(self.base.columns, needed=()).get("answer")
        if column is None or column in self.base.scores:
            return [None] * len(rows)
        places = self.partner[np.asarray(rows)]
        answers = self.base.column(column, "").take(pa.array(places, mask=places < 0)).to_pylist()
        return [None if answer is None else cut(answer) for answer in answers]


def _has_answers(run: ScoreRun, texts: TextSource | None) -> bool:
    """Whether the source of its texts, or without one the run itself, has answers."""
    if texts is not None:
        names, _ = texts.pieces(["answer"])
        return "answer" in names
    column = resolve(run.columns, needed=()).get("answer")
    return column is not None and column not in run.scores
