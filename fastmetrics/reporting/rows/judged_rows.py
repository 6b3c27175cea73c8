"""Judgements of the rows in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import visible
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.reporting.rows.texts.row_texts import cut
from fastmetrics.results.estimate import axes_of
from fastmetrics.results.open_runs import open_run, open_runs
from fastmetrics.results.score_run import ScoreRun

_STATUS, _REASON = "_status", "_reason"


class JudgedRows:
    """The judgements of a file or table of ``judge``, by id: for each axis its score, status and reason.

    ``of`` is a column of systems and the name of one, whose judgements count.  Ids may repeat if the rows of the report
    have the same ids in the same order; then row n meets row n.
    """

    def __init__(self, judged: Any, of: tuple[str, str] | None = None) -> None:
        run = open_run(judged)
        if of is not None and of[0] in run.columns:
            systems = {system.name: system for system in open_runs(judged, of[0], least=1)}
            run = systems.get(of[1], run)
        self.axes = axes_of(run.columns)
        self.ids: pa.Array | None = None
        if run.id_column is not None and self.axes:
            columns = [f"{axis}{ending}" for axis in self.axes for ending in ("", _STATUS, _REASON)]
            loaded = run.in_memory([run.id_column, *columns])
            self.ids = loaded.texts(run.id_column)
            self.id_column = run.id_column
            self.run: ScoreRun = loaded
            self.by_position: bool | None = None

    def scores(self, ids: pa.Array) -> dict[str, Floats]:
        """The scores of each judge for the rows with these ids, NaN without one."""
        if self.ids is None:
            return {}
        rows = np.arange(len(ids))
        places = pa.array(rows) if self._are_by_position(ids) else self._places(ids)
        return {axis: as_numbers(self.run.column(axis, "").take(places)) for axis in self.axes}

    def metadata(self, axes: Sequence[str]) -> ScoreMetadata:
        """The settings of these judges."""
        return ScoreMetadata(scores={axis: self.run.metadata.settings_of(axis) for axis in axes} if axes else None)

    def of(self, ids: pa.Array | None, rows: Sequence[int]) -> list[list[Any]]:
        """For each of the rows a list of [axis, score or None, status or None, reason or None].

        ``ids`` are those of all rows of the report.  Raises ``InputError`` for a duplicate id of the judgements.
        """
        if self.ids is None or ids is None or not len(rows):
            return [[] for _ in rows]
        places = pa.array(rows, pa.int64())
        if not self._are_by_position(ids):
            places = self._places(ids.take(places))
        cells: list[list[Any]] = [[] for _ in rows]
        for axis in self.axes:
            columns = [self._column(f"{axis}{ending}", places) for ending in ("", _STATUS, _REASON)]
            for row, score, status, reason in zip(cells, *columns, strict=True):
                if score is not None or status is not None:
                    shown = None if score is None or score != score else score  # noqa: PLR0124
                    row.append([visible(axis), shown, _text(status), _text(reason)])
        return cells

    def _are_by_position(self, ids: pa.Array) -> bool:
        """Whether the judgements have the report's ids in the same order; else their ids must be unique."""
        if self.by_position is None:
            self.by_position = ids.cast(pa.large_string()).equals(self.ids)
            if not self.by_position:
                self.run.check_distinct(self.id_column)
        return self.by_position

    def _places(self, ids: pa.Array) -> pa.Array:
        return pc.index_in(ids.cast(pa.large_string()), value_set=self.ids)

    def _column(self, name: str, places: pa.Array) -> list[Any]:
        if name not in self.run.columns:
            return [None] * len(places)
        return list(self.run.column(name, "").take(places).to_pylist())


def _text(value: Any) -> str | None:
    return None if value is None else cut(value)
