"""The columns that a run kept beside its scores and texts, shown in the detail of a row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from fastmetrics.base.arrow import is_list, is_number
from fastmetrics.base.display import strict
from fastmetrics.base.errors import visible
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.score_metadata import counts_column
from fastmetrics.reporting.rows.texts.row_texts import JUDGED
from fastmetrics.results.score_run import ScoreRun

_MOST = 30
"""Maximum number of displayed columns: the first ones."""
_LONG = 500
"""Maximum characters of a displayed value."""


@dataclass(frozen=True)
class KeptColumns:
    """The names of the kept columns, and their values in the rows."""

    run: ScoreRun
    names: Sequence[str]

    @classmethod
    def of(cls, run: ScoreRun, system: str | None) -> KeptColumns:
        """The columns of a run that are no vectors; ``system`` is the column that names its systems."""
        names = [name for name in candidates(run) if name != system and not _is_vector(run.type_of(name))]
        return cls(run, names[:_MOST])

    @cached_property
    def table(self) -> pa.Table:
        """The columns of all rows, read once."""
        return self.run.read(self.names)

    def to(self, rows: Sequence[int]) -> list[list[str | None]]:
        """For each of the rows the values as text, None for a missing one."""
        if not self.names:
            return [[] for _ in rows]
        columns = self.table.take(pa.array(rows, pa.int64())).columns
        return [list(map(_text, values)) for values in zip(*(column.to_pylist() for column in columns), strict=True)]


def candidates(run: ScoreRun) -> list[str]:
    """The columns of a run that are no ids, scores, counts of corpus metrics, texts that are shown, or embeddings."""
    columns = resolve(run.columns, needed=())
    shown = {*run.scores, *map(counts_column, run.counted), *(columns[name] for name in JUDGED if name in columns)}
    return [name for name in run.columns if name not in {*shown, *_VECTORS, run.id_column}]


_VECTORS = ("question_embedding", "answer_embedding", "reference_embedding", "embedding")


def _is_vector(type_: pa.DataType) -> bool:
    return pa.types.is_binary(type_) or (is_list(type_) and is_number(type_.value_type))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, list | dict):
        value = json.dumps(strict(value), ensure_ascii=False, default=str)
    text = value if isinstance(value, str) else str(value)
    return visible(text[:_LONG]) + (f" … [+{len(text) - _LONG:,}]" if len(text) > _LONG else "")
