"""The rows behind a figure: the worst scores, or the largest changes against a baseline, with their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, is_text
from fastmetrics.base.column_names import COLUMNS, distinct, resolve
from fastmetrics.base.columns import fits, index_columns, tells_rows, with_index
from fastmetrics.base.display import Grid, Shown, cell
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    InputError,
    OptionError,
    UnknownColumnError,
    UnknownNameError,
    near_or_all,
)
from fastmetrics.base.options import Flag, LimitedText, Whole, argument, check_names
from fastmetrics.base.shared_parameters import Help, also_named
from fastmetrics.base.text_structure import as_json, shown_values
from fastmetrics.results.aligned_scores import align, check_settings, with_row_ids
from fastmetrics.results.opening_scores import open_runs, open_scores, two_runs
from fastmetrics.results.row_groups import Segment, segments_of
from fastmetrics.results.score_columns import direction_of, stated_better
from fastmetrics.results.score_table import ScoreTable, first_declared, labels_of, shared_metrics
from fastmetrics.stats.labels import ROW
from fastmetrics.tables.good_rows import good_batches
from fastmetrics.tables.opening import open_as_read
from fastmetrics.tables.sources import FrameSource, TableSource

if TYPE_CHECKING:
    import pandas

TEXTS = ("question", "reference", "answer", "contexts")
BASELINE_ANSWER = "baseline_answer"
_WIDTH = 60
"""Characters of a text in print."""


@also_named(metrics="metric")
def worst_rows(
    scores: shared.Scores,
    metric: shared.Metric,
    *,
    n: shared.N = 20,
    answers: Annotated[Any, Help("The file that was scored, for its texts.")] = None,
    baseline: Annotated[
        Any, Help("Scores of another run, or with a system its name: show the rows with the largest changes.")
    ] = None,
    best: Annotated[bool, Help("Show the best rows, or the largest gains.")] = False,
    on: shared.On = None,
    by: shared.By = None,
    segment: shared.Segment = None,
    system: shared.System = None,
    keep: Annotated[Sequence[str] | str, Help("Columns of the scores or the answers to add.")] = (),
    other: Annotated[
        str | None, Help("The name of the run that is compared with the baseline, if one file has several systems.")
    ] = None,
    better: shared.Better = None,
    columns: shared.Columns = None,
    allow_differences: shared.AllowDifferences = False,
) -> WorstRows:
    """The ``n`` rows with the worst scores of a metric, worst first, or those of each segment.

    Which scores are worse, the metric declares, or ``better``.

    ``scores`` is a score file, folder, address or table.  With a ``baseline``, the result has the rows with the largest
    drops, with the columns ``baseline``, ``score`` and ``change``; texts are those of ``scores``, and the
    ``baseline_answer`` that of the baseline, if it kept one.  ``answers``, a file or table with ids, or ``on``,
    adds question, reference, answer and contexts; it is read once, and only the selected rows are held in memory.
    Without it, the rows have those of these texts that the scores kept, also under names or paths that ``columns`` gave
    to a frame of pandas or Arrow; other tables do not remember these: name them again with ``columns``.
    ``keep`` adds columns of yours, of the scores or the answers.  A unique pandas index with a name is the id where no
    column is.  Other scores without ids have the index of their frame if it tells rows apart, else the column ``row``,
    counted from 0; they meet the answers by the index, or by position.  Rows of equal scores are sorted by id; rows
    without a score are omitted.
    With ``by``, there are ``n`` rows of each segment, or those of one ``segment``, named as in the output of
    ``compare`` and ``summarize_by``: ``by="language", segment="language=ru"``.

    >>> import fastmetrics as fm
    >>> scores = {"id": ["a", "b", "c"], "token_f1": [0.9, 0.1, None]}
    >>> answers = {"id": ["c", "b", "a"], "question": ["Who?", "Where?", "When?"], "answer": ["Ann", "here", "now"]}
    >>> print(fm.worst_rows(scores, "token_f1", n=1, answers=answers))
    id  token_f1  question  answer
    b     0.1000    Where?    here

    Raises ``UnknownNameError`` for an unknown metric, system or segment, ``ColumnError`` for answers without
    ids and columns that are not there, ``InputError`` for answers with a duplicate id, ``OptionError`` for ``segment``
    without ``by`` and for a metric without a direction, and the errors of ``compare``.
    """
    argument("n", n, Whole(1, 1_000_000))
    argument("best", best, Flag())
    argument("metric", metric, LimitedText(what="a name"))
    check_names(on=on, segment=segment, system=system, other=other)
    divided = distinct(by, "by")
    if segment is not None and not divided:
        raise OptionError(Argument("segment"), " needs ", Argument("by"), ", the columns that define it")
    of, runs = None, list[ScoreTable]()
    if system is not None:
        runs = [*two_runs(open_runs(scores, system, columns=columns, asked=[metric]), baseline, other)]
        of = (system, runs[1].name)
    elif baseline is None:
        runs = [open_scores(scores, columns=columns, asked=[metric])]
    else:
        runs = open_runs({"baseline": baseline, "scores": scores}, columns=columns, asked=[metric])
    # the column may be that of the answers alone, whose ids the scores have under another name
    key = None if answers is not None and on not in runs[-1].columns and runs[-1].id_column is not None else on
    runs = with_row_ids(runs, key)
    runs = [run.with_texts(TEXTS) if answers is None else run for run in runs]
    of_both = ("question", "reference")  # an answer and its contexts are those of one run
    kept = [
        *(name for name in TEXTS if answers is None and name in runs[-1].columns),
        *(name for name in of_both if answers is None and name not in runs[-1].columns and name in runs[0].columns),
    ]
    keep = distinct([*distinct(keep, "keep"), *kept])
    [metric] = shared_metrics(runs, [metric])
    is_lower = direction_of(metric, first_declared(runs), stated_better(better)) == "lower"
    loaded = [run.by_column([metric, *divided, *run.keys(key)]) for run in runs]
    if len(loaded) == 1 and (ids_of_run := key or loaded[0].id_column) is not None:
        loaded[0].check_distinct(ids_of_run)
    check_settings(loaded, [metric], allow_differences)
    paired = align(loaded, key, allow=allow_differences)
    assert paired.ids is not None
    ids, column = paired.ids, paired.column
    if len(loaded) == 1:
        values = paired.placed(0, loaded[0].values(metric), np.nan)
        figures = {metric: values}
    else:
        before, after = (paired.scores(at, metric) for at in range(2))
        values = after - before
        figures = {"baseline": before, "score": after, "change": values}
    if runs[0].is_numbered:
        ids = ids.cast(pa.int64())  # sorted as numbers
    parts = _segments(divided, segment, column) if divided else [Segment(None, np.arange(len(values)))]
    names, places = _worst(values if is_lower == best else -values, ids, parts, n)
    table = {"id": ids.take(places)}
    if divided and segment is None:
        table |= {"segment": pa.array(names, pa.string()), **{name: column(name).take(places) for name in divided}}
    table |= {name: pa.array(some).take(places) for name, some in figures.items()}
    for name in keep:
        holders = [at for at, run in enumerate(runs) if name in run.columns]
        if holders and name not in table:  # not a text of the baseline where the run has none
            table[name] = paired.alone(holders[-1]).column(name).take(places)
    if len(runs) == 2 and answers is None and "answer" in runs[0].columns:
        table[BASELINE_ANSWER] = paired.alone(0).column("answer").take(places)
    rows = pa.table(table)
    if answers is not None:
        wanted = [*TEXTS, *(name for name in keep if name not in rows.column_names)]
        rows = TextSource(answers, of, on=on).beside(runs[-1], runs[0].row_labels).added(rows, wanted)
    lacking = [name for name in keep if name not in rows.column_names]
    if lacking:
        sources = "scores" if answers is None else "scores nor the answers"
        near = near_or_all(lacking[0], [*rows.column_names, *runs[-1].columns])
        raise UnknownColumnError(f"the column {lacking[0]!r} to keep is not in the {sources}; {near}")
    if runs[0].is_numbered:
        labels = {name: column(name).take(places) for name in runs[0].shown_index.values()}
        rows = pa.table(
            {
                **{own: labels[name] for own, name in runs[0].shown_index.items() if own not in rows.column_names},
                **({} if labels else {ROW: rows["id"]}),
                **{name: rows[name] for name in rows.column_names[1:]},
            }
        )
    elif key is None and (own := str(runs[0].id_column)) in runs[0].index and own not in rows.column_names:
        rows = rows.rename_columns([own, *rows.column_names[1:]])
    return WorstRows(rows, metric)


@dataclass(frozen=True)
class WorstRows(Shown):
    """The rows behind a score, which print as a table: ``table`` has them, ``rows["answer"]`` is one of its columns."""

    table: pa.Table
    metric: str

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = [shown_values(column) for column in self.table.columns]
        return (dict(zip(self.table.column_names, row, strict=True)) for row in zip(*columns, strict=True))

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        if column not in self.table.column_names:
            raise UnknownNameError.of("column", column, self.table.column_names)
        return self.table[column]

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The rows, each by column."""
        return list(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a frame of pandas."""
        frame = super().to_pandas()
        for name, column in zip(self.table.column_names, self.table.columns, strict=True):
            if name in frame and pa.types.is_nested(column.type):
                frame[name] = shown_values(column)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The metric and the rows."""
        return {"metric": self.metric, "rows": list(self), "notes": []}

    def grids(self) -> Sequence[Grid]:
        """The rows, their texts shortened."""
        names = self.table.column_names
        return [Grid(names, [[_shown(row[name]) for name in names] for row in self])]


def _shown(value: Any) -> str:
    """A value in one cell, a text of at most ``_WIDTH`` characters."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return cell(value)
    text = " ".join((" | ".join(map(str, value)) if isinstance(value, list) else str(value)).split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _segments(by: Sequence[str], wanted: str | None, column: Callable[[str], pa.Array]) -> list[Segment]:
    """The segments, or the one that is asked for."""
    parts = segments_of([(name, column(name)) for name in by])
    found = [part for part in parts if wanted is None or part.name == wanted]
    if wanted is not None and not found:
        raise UnknownNameError.of("segment", wanted, [str(part.name) for part in parts])
    return found


def _worst(values: Floats, ids: pa.Array, parts: Sequence[Segment], n: int) -> tuple[list[str | None], pa.Array]:
    """The segments and the places of the n lowest values of each part; equal ones are sorted by id."""
    order = np.lexsort((np.asarray(pc.rank(ids, tiebreaker="first").to_numpy()), values))
    order = order[: int((~np.isnan(values)).sum())]
    chosen, names = [np.zeros(0, np.int64)], list[str | None]()
    for part in parts:
        inside = np.zeros(len(values), np.bool_)
        inside[part.rows] = True
        chosen.append(order[inside[order]][:n])
        names += [part.name] * len(chosen[-1])
    return names, pa.array(np.concatenate(chosen))


@dataclass(frozen=True)
class TextSource:
    """A file or table with the texts of scored rows, matched by id; ``of`` is its column of systems and one of them.

    Where there is such a column, only the system's rows count.
    """

    answers: Any
    of: tuple[str, str] | None = None
    n_rows: int | None = None
    """The number of scored rows, if they have no ids and meet the texts by position."""
    labels: pa.Array | None = None
    """The labels of their pandas index, by which they meet the texts of a frame with one."""
    on: str | None = None
    """The column of the ids; by default the one that the run named, or that is named like one."""
    named: Mapping[str, str] = field(default_factory=dict)
    """The columns that the run read or named, by their canonical names."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the run read its files."""

    def beside(self, run: ScoreTable, labels: pa.Array | None = None) -> TextSource:
        """The texts of the rows of a run, or of the run with these labels, in whose order its rows are."""
        reading = (run.metadata.inputs or {}).get("reading", {})
        n_rows = run.read([]).num_rows if run.is_numbered else None
        labels = None if n_rows is None else run.row_labels if labels is None else labels
        return replace(self, n_rows=n_rows, labels=labels, named=run.metadata.own_columns, reading=reading)

    def added(self, rows: pa.Table, texts: Sequence[str] = TEXTS) -> pa.Table:
        """The rows, which have ids, or row numbers, with these texts; null for missing texts."""
        row_ids = rows["id"].combine_chunks()
        ids = row_ids.cast(pa.large_string())
        found, pieces = self.pieces(texts)
        if not found:
            return rows
        matches = [piece.filter(pc.is_in(piece["id"], value_set=ids)) for piece in pieces]
        matched = pa.concat_tables(matches) if matches else None
        if len(row_ids) and (matched is None or matched.num_rows == 0):
            raise InputError(f"the answers contain no id of the scores, such as {row_ids[0].as_py()!r}")
        if matched is None:
            return rows
        counts = pc.value_counts(matched["id"].combine_chunks())
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            first = twice[0].as_py()
            many = f"the answers contain the id {first['values']!r} in {first['counts']:,} rows"
            raise InputError(f"{many}; give the answers of one run")
        places = pc.index_in(ids, value_set=matched["id"].combine_chunks())
        for name in found:
            rows = rows.append_column(name, matched[name].take(places))
        return rows

    def pieces(self, texts: Sequence[str]) -> tuple[list[str], Iterator[pa.Table]]:
        """The names of the texts that there are, and the rows piece by piece: their texts, and their ids as text.

        Raises ``ColumnError`` if all texts are asked for and there is none.
        """
        source = open_as_read(self.answers, self.reading, name="answers")
        columns = self._columns(source.names, texts, self._ids_of(source))
        found = [name for name in texts if name in columns]
        if not found and (self.n_rows or {*TEXTS}.issubset(texts)):
            has, way = (
                f"they have {', '.join(source.names)}",
                Argument("columns", {"answer": ...}, "other column names"),
            )
            raise ColumnError(f"the answers have none of {', '.join(TEXTS)}; {has}; name yours with ", way)
        return found, self._rows(source, columns) if found else iter(())

    def _rows(self, source: TableSource, columns: Mapping[str, str]) -> Iterator[pa.Table]:
        """The columns by name in pieces; raises ``InputError`` for another number of rows where these have no ids."""
        of = self.of if self.of is not None and self.of[0] in source.names else None
        read = [name for name in columns if name != "id" or self.n_rows is None]
        kinds = {} if of is None else {of[0]: "any"}
        kinds |= {columns[name]: _shown_kind(source, name, columns[name]) for name in read}
        if isinstance(source, FrameSource):
            pieces = source.pieces({}, kinds)[1]
        else:
            batches = good_batches(source, source.select(kinds), any_length=True)
            pieces = (pa.Table.from_batches([batch]) for batch in batches)
        start, index, ids = 0, getattr(source, "index", None), None if "id" in columns else self._ids_of(source)
        by_label = self.labels is not None and index is not None and (tells_rows(index) or self._recurs(source))
        for piece in pieces:
            if by_label:
                piece = with_index(piece, index)
            elif ids is not None:
                piece = with_index(piece, ids)
            if of is not None:
                piece = piece.filter(pc.equal(piece.column(of[0]).cast(pa.large_string()), of[1]))
            found = {name: piece.column(columns[name]) for name in read}
            if by_label:
                labels = labels_of([piece[name] for name in sorted(index_columns(piece.schema))])
                found["id"] = pc.index_in(labels, value_set=self.labels)
            elif ids is not None:
                found["id"] = piece.column(*index_columns(piece.schema))
            elif self.n_rows is not None:
                found["id"] = pa.chunked_array([np.arange(start, start + piece.num_rows)])
                start += piece.num_rows
            shown = {name: _objects_as_json(found[name]) for name in TEXTS if name in found}
            yield pa.table({**found, **shown, "id": found["id"].cast(pa.large_string())})
        if not by_label and start != (self.n_rows or 0):
            raise InputError(
                f"the scores have {self.n_rows:,} rows and the answers {start:,}; without ids, rows are matched by "
                "position"
            )

    def _recurs(self, source: TableSource) -> bool:
        """Whether the labels of a pandas index recur, as those of several systems; ids with repeats are refused."""
        index = getattr(source, "index", None)
        return self.of is not None and self.of[0] in source.names and index is not None and not index.is_unique

    def _ids_of(self, source: TableSource) -> Any:
        """The index of a pandas frame, if it is the ids of its rows where they have no column; else None."""
        index = getattr(source, "index", None)
        if index is None or self.n_rows is not None or index.nlevels > 1:
            return None
        if not (index.is_unique or (self._recurs(source) and index.name is not None)):
            return None
        if index.name is None and not tells_rows(index):
            return None
        return index if self.on is None or (self.on == index.name and self.on not in source.names) else None

    def _columns(self, names: Sequence[str], texts: Sequence[str], index: Any) -> dict[str, str]:
        named = {name: column for name, column in self.named.items() if name in COLUMNS and column in names}
        resolved = {name: name for name in texts if name in names} | resolve(names, named, needed=("id", *texts))
        if self.on is not None and (self.on in names or self.on not in ("id", self.named.get("id"))):
            resolved |= {"id": self.on}
        if index is not None and resolved.get("id") not in names:
            resolved.pop("id", None)
        elif resolved.get("id") not in names and self.n_rows is None:
            key = "id column" if self.on is None else f"column {self.on!r}"
            kind = ColumnError if self.on is None else UnknownColumnError
            raise kind(f"the answers have no {key} to match rows by; the columns are {', '.join(names)}")
        return {name: resolved[name] for name in ("id", *texts) if name in resolved}


def _shown_kind(source: TableSource, name: str, column: str) -> str:
    """The kind by which a column is read to be shown: texts that are, or may be among, objects as JSON."""
    kind = COLUMNS[name].kind if name in COLUMNS else "any"
    type_ = getattr(source.names, "types", {}).get(column, pa.null())
    may_mix = is_text(type_) and any(file.format in ("json", "jsonl") for file in source.files)
    return "jsons" if name in TEXTS and (may_mix or not fits(kind, type_)) else kind


def _objects_as_json(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts, which are JSON where they are objects."""
    if fits("values", column.type):
        return column
    return pa.chunked_array([as_json(chunk, several=True) for chunk in column.chunks], pa.large_string())
