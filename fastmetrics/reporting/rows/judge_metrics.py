"""The scores of judges as metrics of a report, joined to the rows of its main run by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from fastmetrics.base.arrays import Floats
from fastmetrics.reporting.rows.judged_rows import JudgedRows
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.results.summary import Summary, summarize


def with_judge_metrics(run: ScoreRun, judged: JudgedRows) -> tuple[ScoreRun, Summary]:
    """The run with the scores of each judge that it lacks as metrics of its own, and their summary."""
    labels = None if run.id_column is None else run.column(run.id_column, "")
    scores: dict[str, Floats] = {} if labels is None else judged.scores(labels)
    own = {name: pa.array(values, from_pandas=True) for name, values in scores.items() if name not in run.columns}
    settings = judged.metadata(list(own))
    metadata = run.metadata
    if metadata.scores is not None:
        metadata = replace(metadata, scores={**metadata.scores, **(settings.scores or {})})

    def read(names: Sequence[str]) -> pa.Table:
        table = run.read([name for name in names if name not in own])
        for place, name in enumerate(names):
            if name in own:
                table = table.add_column(place, name, own[name])
        return table

    types = None if run.types is None else {**run.types, **dict.fromkeys(own, pa.float64())}
    joined = replace(
        run,
        columns=[*run.columns, *own],
        scores=[*run.scores, *own],
        read=read,
        types=types,
        metadata=metadata,
    )
    return joined, summarize(pa.table(own))
