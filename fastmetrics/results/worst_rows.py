"""The rows behind a figure: those with the worst scores, or that changed most against a baseline, with their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.columns import COLUMNS, resolve
from fastmetrics.core.allowed_values import Flag, Whole, argument
from fastmetrics.core.frames import open_frame
from fastmetrics.errors import ColumnError, FileFormatError, InputError
from fastmetrics.results.pairing import check_settings, pair_runs
from fastmetrics.results.score_runs import ScoreRun, open_run, open_runs, shared_metrics
from fastmetrics.results.summary import declared_better
from fastmetrics.tables import open_source

TEXTS = ("question", "reference", "answer", "contexts")


def worst_rows(
    scores: Any,
    metric: str,
    *,
    n: int = 20,
    answers: Any = None,
    baseline: Any = None,
    best: bool = False,
    on: str | None = None,
    allow_differences: bool = False,
) -> pa.Table:
    """The ``n`` rows with the worst scores of a metric, worst first, by which way it is better (else higher).

    ``scores`` is a score file, folder, address or table.  With a ``baseline`` they are the rows that became worst
    against it, with the columns ``baseline``, ``score`` and ``change``.  ``answers``, a file or table with ids, gives
    their question, reference, answer and contexts; it is read once, and of its rows only these are held.  ``best``
    turns the order round.  Rows of equal scores come in the order of their ids; rows without a score are left out.

    >>> import fastmetrics as fm
    >>> scores = {"id": ["a", "b", "c"], "token_f1": [0.9, 0.1, None]}
    >>> answers = {"id": ["c", "b", "a"], "question": ["Who?", "Where?", "When?"], "answer": ["Ann", "here", "now"]}
    >>> fm.worst_rows(scores, "token_f1", n=1, answers=answers).to_pylist()
    [{'id': 'b', 'token_f1': 0.1, 'question': 'Where?', 'answer': 'here'}]

    Raises ``UnknownNameError`` for a metric that the scores lack, ``ColumnError`` for scores or answers without ids,
    and what ``compare`` raises for two runs that cannot be compared.
    """
    argument("n", n, Whole(1, 1_000_000))
    argument("best", best, Flag())
    if baseline is None:
        found = _of_one(open_run(scores), metric, n, best, on)
    else:
        found = _changed(open_runs({"baseline": baseline, "scores": scores}), metric, n, best, on, allow_differences)
    return found if answers is None else _with_texts(found, answers)


def _of_one(run: ScoreRun, metric: str, n: int, best: bool, on: str | None) -> pa.Table:
    shared_metrics([run], [metric])
    held = run.held([metric, *_keys(run, on)])
    ids = held.ids(_key(run, on))
    chosen = _chosen(held.values(metric), ids, _sign(metric, best), n)
    return pa.table({"id": ids.take(pa.array(chosen)), metric: held.values(metric)[chosen]})


def _changed(
    runs: Sequence[ScoreRun], metric: str, n: int, best: bool, on: str | None, allow_differences: bool
) -> pa.Table:
    shared_metrics(runs, [metric])
    held = [run.held([metric, *_keys(run, on)]) for run in runs]
    check_settings(held, [metric], allow_differences)
    paired = pair_runs(held, on, by_position=False, allow=allow_differences)
    assert paired.ids is not None
    before, after = (paired.scores(at, metric) for at in range(2))
    chosen = _chosen(after - before, paired.ids, _sign(metric, best), n)
    columns = {"baseline": before, "score": after, "change": after - before}
    return pa.table({"id": paired.ids.take(pa.array(chosen)), **{name: one[chosen] for name, one in columns.items()}})


def _keys(run: ScoreRun, on: str | None) -> list[str]:
    return [name for name in (on, run.id_column, run.question_column) if name is not None]


def _key(run: ScoreRun, on: str | None) -> str:
    key = on or run.id_column
    if key is None:
        raise ColumnError(f"{run.name} has no id column, by which rows could be told")
    return key


def _sign(metric: str, best: bool) -> int:
    return -1 if (declared_better([metric]).get(metric) == "lower") != best else 1


def _chosen(values: Any, ids: pa.Array, sign: int, n: int) -> Any:
    """The places of the n least values times ``sign``, ties in the order of ids."""
    ranks = np.asarray(pc.rank(ids, tiebreaker="first").to_numpy())
    order = np.lexsort((ranks, sign * values))
    return order[: min(n, int((~np.isnan(values)).sum()))]


def _with_texts(rows: pa.Table, answers: Any) -> pa.Table:
    """The rows with the texts of a file or table that has the same ids, null where it lacks one."""
    wanted = rows["id"].combine_chunks()
    columns, pieces = _file_pieces(answers) if isinstance(answers, str | Path) else _table_pieces(answers)
    found = []
    for piece in pieces:
        ids = piece.column(columns["id"]).cast(pa.large_string())
        here = pc.is_in(ids, value_set=wanted.cast(pa.large_string()))
        found.append(piece.set_column(piece.schema.get_field_index(columns["id"]), "id", ids).filter(here))
    held = pa.concat_tables(found) if found else None
    if len(wanted) and (held is None or held.num_rows == 0):
        raise InputError(f"the answers have none of the ids of the scores, such as {wanted[0].as_py()!r}")
    if held is None:
        return rows
    places = pc.index_in(wanted.cast(pa.large_string()), value_set=held["id"].combine_chunks())
    for name in TEXTS:
        if name in columns:
            rows = rows.append_column(name, held[columns[name]].take(places))
    return rows


def _columns_of(names: Sequence[str]) -> dict[str, str]:
    found = resolve(names, needed=("id", *TEXTS))
    if "id" not in found:
        raise ColumnError(f"the answers have no id column to match rows by; they have {', '.join(names)}")
    return {name: found[name] for name in ("id", *TEXTS) if name in found}


def _file_pieces(path: str | Path) -> tuple[dict[str, str], Iterator[pa.Table]]:
    source = open_source(path)
    columns = _columns_of(source.schema.names)
    selection = source.select({yours: COLUMNS[name].kind for name, yours in columns.items()})

    def pieces() -> Iterator[pa.Table]:
        for chunk in source.chunks(selection):
            if chunk.rejects:
                raise FileFormatError(str(chunk.rejects[0]))
            yield pa.Table.from_batches([source.conform(chunk, selection)])

    return columns, pieces()


def _table_pieces(table: Any) -> tuple[dict[str, str], Iterator[pa.Table]]:
    frame = open_frame(table)
    columns = _columns_of(frame.names)
    return columns, frame.read(list(columns.values()))[1]
