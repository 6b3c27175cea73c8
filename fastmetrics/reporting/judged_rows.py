"""Judgements of the rows in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.reporting.plain_text import visible
from fastmetrics.reporting.row_texts import cut
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.score_runs import open_run

_STATUS, _REASON = "_status", "_reason"


class JudgedRows:
    """The judgements of a file or table of ``judge``, by id: for each axis its score, status and reason."""

    def __init__(self, judged: Any) -> None:
        run = open_run(judged)
        axes = [name.removesuffix(_STATUS) for name in run.columns if name.endswith(_STATUS)]
        self.axes = [axis for axis in axes if axis in run.columns]
        self.ids: pa.Array | None = None
        if run.id_column is not None and self.axes:
            wanted = [f"{axis}{ending}" for axis in self.axes for ending in ("", _STATUS, _REASON)]
            held = run.held([run.id_column, *wanted])
            self.ids = held.column(run.id_column, "").cast(pa.large_string())
            self.run: ScoreRun = held

    def of(self, ids: pa.Array | None, rows: Sequence[int]) -> list[list[Any]]:
        """For each of the rows a list of [axis, score or None, status or None, reason or None]."""
        if self.ids is None or ids is None or not len(rows):
            return [[] for _ in rows]
        wanted = ids.take(pa.array(rows, pa.int64())).cast(pa.large_string())
        places = pc.index_in(wanted, value_set=self.ids)
        cells: list[list[Any]] = [[] for _ in rows]
        for axis in self.axes:
            columns = [self._column(f"{axis}{ending}", places) for ending in ("", _STATUS, _REASON)]
            for row, score, status, reason in zip(cells, *columns, strict=True):
                if score is not None or status is not None:
                    shown = None if score is None or score != score else score  # noqa: PLR0124
                    row.append([visible(axis), shown, _text(status), _text(reason)])
        return cells

    def _column(self, name: str, places: pa.Array) -> list[Any]:
        if name not in self.run.columns:
            return [None] * len(places)
        return list(self.run.column(name, "").take(places).to_pylist())


def _text(value: Any) -> str | None:
    return None if value is None else cut(value)
