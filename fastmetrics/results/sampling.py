"""Sampling rows for people to label: uniformly, by strata of the judge's scores, or by disagreement."""

from __future__ import annotations

import math
import random
from typing import Annotated, Any, Literal, get_args

import numpy as np
import pyarrow as pa

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats
from fastmetrics.base.column_names import COLUMNS
from fastmetrics.base.errors import Argument, ColumnError, InputError, OptionError
from fastmetrics.base.options import Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.aligned_scores import AlignedScores, align, with_row_ids
from fastmetrics.results.estimation import score_of
from fastmetrics.results.opening_scores import are_several, open_scores
from fastmetrics.results.row_groups import segments_of
from fastmetrics.results.worst_rows import TextSource
from fastmetrics.stats.labels import ROW

Strategy = Literal["random", "stratified", "disagreement"]
_TEXTS = ("question", "reference", "answer")


def sample_rows(
    judged: shared.Judged,
    *,
    n: shared.N = 200,
    strategy: Annotated[Strategy, Help("Strategy: random, stratified (by score) or disagreement.")] = "random",
    seed: shared.Seed = 0,
    score: shared.Score = None,
    label: Annotated[str, Help("The name of the empty column for labels.")] = "human",
    texts: Annotated[Any, Help("The file that was judged, for its texts.")] = None,
    on: shared.On = None,
) -> pa.Table:
    """A sheet for human labels: ids and texts of ``n`` judged rows (or all, if fewer), and an empty label column.

    ``judged`` is a judged file or table, or a list of them, whose rows are matched by ``on`` or ``id``.  ``random`` is
    a uniform sample, as :func:`estimate` needs.  ``stratified`` samples each value of the ``score``, or each quartile
    if there are many values, in proportion to its share of all rows; rows without a score are a stratum too.
    ``disagreement`` selects the rows with the largest spread of judgements over the repeats and files; such a sheet
    finds difficult rows and cannot estimate the mean.  The same ``seed`` selects the same rows in any order of the
    rows.  Question, reference and answer come from the first judged file if it kept them, otherwise from ``texts``, a
    file or table of answers with the same ids.  Rows without ids have the column ``row``, counted from 0, by which
    :func:`estimate` finds them again.  The sheet omits the scores, because they would influence people.

    >>> judged = {"id": [1, 2, 3], "answer": ["a", "b", "c"], "judge_x": [1.0, 4.0, 5.0], "judge_x_status": ["ok"] * 3}
    >>> sheet = sample_rows(judged, n=2)
    >>> sheet.column_names, sheet.num_rows
    (['id', 'answer', 'human'], 2)

    Raises ``OptionError`` for an unknown strategy or a label that is already a column of the sheet, ``ColumnError`` if
    the column of scores or ids is ambiguous, and ``InputError`` for duplicate ids, and for ``disagreement`` with one
    judgement per row.
    """
    count, start = argument("n", n, Whole(1, 100_000_000)), argument("seed", seed, Seed)
    if strategy not in get_args(Strategy):
        raise OptionError(Argument("strategy", strategy), f": expected one of {', '.join(get_args(Strategy))}")
    opened = [open_scores(rows) for rows in (judged if are_several(judged) else [judged])]
    runs = [run.by_column(run.columns) for run in opened]
    if not runs:
        raise InputError("there are no judged rows")
    score = score_of(runs[0].schema, score, [on] if on is not None else [])
    for run in runs[1:]:
        run.column(score, "to be sampled by")
    runs = with_row_ids(runs, on)
    paired = align(runs, on)
    generator = random.Random(start)
    if strategy == "random":
        rows = generator.sample(range(paired.n), min(count, paired.n))
    elif strategy == "stratified":
        rows = _stratified(paired.scores(0, score), count, generator)
    else:
        rows = _apart(_spread(paired, score), count, generator)
    return _sheet(paired, sorted(rows), label, texts, on)


def _stratified(scores: Floats, count: int, generator: random.Random) -> list[int]:
    """Sizes of the samples from each stratum, in proportion to its share, by largest remainders."""
    strata = segments_of([("score", pa.array(scores, from_pandas=True))])
    shares = [min(count, len(scores)) * len(stratum.rows) / max(len(scores), 1) for stratum in strata]
    sizes = [int(share) for share in shares]
    order = sorted(range(len(strata)), key=lambda at: (sizes[at] - shares[at], at))
    for at in order[: min(count, len(scores)) - sum(sizes)]:
        sizes[at] += 1
    return [
        row
        for stratum, size in zip(strata, sizes, strict=True)
        for row in generator.sample(stratum.rows.tolist(), size)
    ]


def _spread(paired: AlignedScores, score: str) -> Floats:
    """The spread of the judgements of each row; −1 for fewer than two."""
    judgements: list[list[float]] = [[] for _ in range(paired.n)]
    for at, run in enumerate(paired.runs):
        listed = f"{score}_scores" in run.columns and pa.types.is_list(run.column(f"{score}_scores", "").type)
        judged: Any = run.column(f"{score}_scores", "").to_pylist() if listed else run.values(score)
        for place, row in enumerate(paired.rows[at].tolist()):
            judgement = judged[row] if row >= 0 else None
            several = judgement if isinstance(judgement, list) else [judgement]
            judgements[place] += [float(value) for value in several if value is not None and not math.isnan(value)]
    spread = np.array([max(some) - min(some) if len(some) > 1 else -1.0 for some in judgements])
    if not (spread >= 0).any():
        raise InputError("disagreement needs two judgements of a row: judge with repeats, or give several judged files")
    return spread


def _apart(spread: Floats, count: int, generator: random.Random) -> list[int]:
    """The rows with the largest spread; ties are drawn at random."""
    ties = [generator.random() for _ in spread]
    return sorted(range(len(spread)), key=lambda row: (-spread[row], ties[row]))[:count]


def _sheet(paired: AlignedScores, rows: list[int], label: str, texts: Any, on: str | None) -> pa.Table:
    assert paired.ids is not None
    sheet = pa.table({"id": paired.ids.take(pa.array(rows, pa.int64()))})
    columns = {}
    for name in _TEXTS:
        names = (name, *COLUMNS[name].aliases)
        column = next((existing for existing in paired.runs[0].columns if existing.lower() in names), None)
        if column is not None:
            columns[name] = paired.column(column).take(pa.array(rows, pa.int64()))
    for name, column in columns.items():
        sheet = sheet.append_column(name, column)
    if texts is not None:
        answers = TextSource(texts, on=on).beside(paired.runs[0]).added(sheet.select(["id"]))
        for name in answers.column_names:
            if name in _TEXTS and name not in columns:
                sheet = sheet.append_column(name, answers.column(name))
    if len(sheet.column_names) == 1:
        raise ColumnError(
            "the judged rows have neither question nor answer; give the judged file with ", Argument("texts")
        )
    if label in sheet.column_names:
        raise OptionError(Argument("label", label), ": the sheet already has a column with this name")
    if paired.runs[0].is_numbered:
        sheet = sheet.set_column(0, ROW, sheet["id"].cast(pa.int64()))
    return sheet.append_column(label, pa.nulls(sheet.num_rows, pa.float64()))
