"""The rows of a report: their scores and segments, the matching rows of other runs, and judgements of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import Argument, ColumnError, OptionError, visible
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.reporting.report_options import ReportOptions, label
from fastmetrics.reporting.row_texts import KeptColumns, cut, row_texts
from fastmetrics.results.opening_scores import are_several, open_runs, open_scores
from fastmetrics.results.row_groups import rows_of_ids, segments_of
from fastmetrics.results.score_columns import axes_of
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.summary import Summary, summarize
from fastmetrics.results.worst_rows import TextSource

# The rows of another run with the ids of the rows of a report.


def partners(main: ScoreTable, base: ScoreTable) -> Ints:
    """The row of the baseline with the id of each row, or −1; raises ``InputError`` for a repeated id of it."""
    ids = main.sorted_ids(str(main.id_column))
    others = base.sorted_ids(str(base.id_column), like=ids)
    base.check_distinct(str(base.id_column))
    if others is ids:
        return np.arange(len(ids))
    _, (rows, base_rows) = rows_of_ids([ids, others])
    partner = np.full(len(ids), -1, np.int64)
    partner[rows[rows >= 0]] = base_rows[rows >= 0]
    return partner


# The scores of a run in the rows of a report.


@dataclass(frozen=True)
class MatchedScores:
    """A run, and its row for each row of the main run: −1 for none, and None where ids match no rows."""

    run: ScoreTable
    partner: Ints | None
    is_main: bool = False

    @classmethod
    def of(cls, main: ScoreTable, run: ScoreTable) -> MatchedScores:
        """Match a run by id, if both have ids and the run repeats none."""
        matches = main.id_column is not None and run.id_column is not None
        matches = matches and run.sorted_ids(str(run.id_column)).are_distinct
        return cls(run, partners(main, run) if matches else None)

    def has(self, name: str) -> bool:
        """Whether the run has scores of this metric that match rows."""
        return name in self.run.scores and (self.is_main or self.partner is not None)

    def scores(self, name: str, rows: slice | Sequence[int] = slice(None)) -> Floats:
        """The scores of these rows, NaN if missing; the run ``has`` the metric."""
        column = self.run.read([name]).column(0)
        if self.is_main and isinstance(rows, slice):
            start, stop, _ = rows.indices(len(column))
            return as_numbers(column.slice(start, stop - start))
        places = np.asarray(rows, np.int64) if self.partner is None else self.partner[rows]
        return as_numbers(column.take(pa.array(places, mask=places < 0)))


# The answers of the other systems to the rows of a report, shown beside that of its main run.


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
            column = run.text_columns.get("answer")
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


# The segments of the rows in a report, by which the page filters them.


@dataclass(frozen=True)
class RowSegments:
    """The displayed names of all segments, the number of rows of each, and for each column the segment of each row."""

    names: Sequence[str]
    counts: Sequence[int]
    codes: Sequence[Ints]

    @classmethod
    def of(cls, run: ScoreTable, by: Sequence[str]) -> RowSegments:
        """The segments of a run by each of the columns that it has."""
        names: list[str] = []
        counts: list[int] = []
        codes: list[Ints] = []
        for column in by:
            if column not in run.columns:
                continue
            values = run.column(column, "")
            of_rows = np.zeros(len(values), np.int64)
            for segment in segments_of([(column, values)]):
                of_rows[segment.rows] = len(names)
                names.append(str(segment.name))
                counts.append(len(segment.rows))
            codes.append(of_rows)
        return cls(names, counts, codes)

    def of_row(self, row: int) -> list[int]:
        """The segments of a row, one for each column."""
        return [int(codes[row]) for codes in self.codes]

    def data(self) -> list[dict[str, Any]]:
        """The names and numbers of rows, for the page's script."""
        return [{"name": label(visible(name)), "n": count} for name, count in zip(self.names, self.counts, strict=True)]


# Judgements of the rows in a report.


_OF_AXIS = ("", "_status", "_reason", "_reply", "_trace")
"""The endings of the columns of a judge that a row shows: its score, status and reason, and where kept its reply."""


class JudgedRows:
    """The judgements of a file or table of ``judge``, by id: for each axis its score, status and reason.

    ``of`` is a column of systems and the name of one, whose judgements count.  Ids may repeat if the rows of the report
    have the same ids in the same order; then row n meets row n.
    """

    def __init__(self, judged: Any, of: tuple[str, str] | None = None) -> None:
        run = open_scores(judged)
        if of is not None and of[0] in run.columns:
            systems = {system.name: system for system in open_runs(judged, of[0], least=1)}
            run = systems.get(of[1], run)
        self.axes = axes_of(run.columns)
        self.ids: pa.Array | None = None
        if run.id_column is not None and self.axes:
            columns = [f"{axis}{ending}" for axis in self.axes for ending in _OF_AXIS]
            loaded = run.in_memory([run.id_column, *(name for name in columns if name in run.columns)])
            self.ids = loaded.texts(run.id_column)
            self.id_column = run.id_column
            self.run: ScoreTable = loaded
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
        """For each of the rows a list of [axis, score, status, reason], None for what is not there, and of a kept
        reply its text and the model's reasoning.

        ``ids`` are those of all rows of the report.  Raises ``InputError`` for a duplicate id of the judgements.
        """
        if self.ids is None or ids is None or not len(rows):
            return [[] for _ in rows]
        places = pa.array(rows, pa.int64())
        if not self._are_by_position(ids):
            places = self._places(ids.take(places))
        cells: list[list[Any]] = [[] for _ in rows]
        for axis in self.axes:
            columns = [self._column(f"{axis}{ending}", places) for ending in _OF_AXIS]
            for row, score, status, reason, *reply in zip(cells, *columns, strict=True):
                if score is not None or status is not None:
                    shown = None if score is None or score != score else score  # noqa: PLR0124
                    kept = reply if any(reply) else []
                    row.append([visible(axis), shown, *map(_text, (status, reason, *kept))])
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


def judged_files(options: ReportOptions) -> list[Any]:
    """The files or tables of judgements: one of the first run, or one of each run, that of the baseline last."""
    judged = options.judged
    if judged is None or not are_several(judged):
        return [] if judged is None else [judged]
    return list(judged.values() if isinstance(judged, Mapping) else judged)


def judged_of_first(options: ReportOptions, name: str) -> JudgedRows | None:
    """The judgements of the run whose rows are shown; of a file of several systems, of the one with its name."""
    files = judged_files(options)
    return JudgedRows(files[0], None if options.system is None else (options.system, name)) if files else None


def judged_by_run(options: ReportOptions, names: Sequence[str]) -> dict[str, JudgedRows]:
    """The judgements of runs by their names: of one file the first run, or with a column of systems all of them; of
    several files one for each run, the baseline last.

    Raises ``OptionError`` for several files whose number is not that of the runs.
    """
    files, system = judged_files(options), options.system
    if system is not None and files:
        judged = {names[0]}
        if system in open_scores(files[0]).columns:
            judged |= {run.name for run in open_runs(files[0], system, least=1)}
        return {name: JudgedRows(files[0], (system, name)) for name in names if name in judged}
    if len(files) > 1 and len(files) != len(names):
        count = f" has {len(files)} files for {len(names)} runs; give one for the first run, or one for each run"
        raise OptionError(Argument("judged"), f"{count}, that of the baseline last")
    return {name: JudgedRows(one) for name, one in zip(names, files, strict=False)}


# The scores of judges as metrics of a report, joined to the rows of their runs by id.


def with_judge_metrics(run: ScoreTable, judged: JudgedRows) -> tuple[ScoreTable, Summary]:
    """The run with the scores of each judge that it lacks as metrics of its own, and their summary."""
    labels = None if run.id_column is None else run.column(run.id_column, "")
    scores: dict[str, Floats] = {} if labels is None else judged.scores(labels)
    own = {name: pa.array(values, from_pandas=True) for name, values in scores.items() if name not in run.columns}
    return _with_scores(run, own, list(own), judged.metadata(list(own))), summarize(pa.table(own))


def _with_scores(
    run: ScoreTable, columns: Mapping[str, pa.Array], own: Sequence[str], settings: ScoreMetadata
) -> ScoreTable:
    """The run with more columns, of which its ``own`` are scores."""
    metadata = run.metadata
    if metadata.scores is not None:
        metadata = replace(metadata, scores={**metadata.scores, **(settings.scores or {})})
    return replace(run.with_columns(columns), scores=[*run.scores, *own], metadata=metadata)


def joined_runs(runs: Sequence[ScoreTable]) -> ScoreTable | None:
    """Runs of the same rows under other metrics, such as own ones beside a judge's, as one run; None for other runs.

    Their ids, and the scores and texts that several of them have, are the same, and something tells that they are of
    the same answers: these, another score that both have, or one file that both were made from.
    """
    joined = runs[0]
    for run in runs[1:]:
        own = [name for name in run.scores if name not in joined.scores]
        partner = MatchedScores.of(joined, run).partner if own and set(joined.scores) - set(run.scores) else None
        if partner is None or not np.array_equal(np.sort(partner), np.arange(run.read([]).num_rows)):
            return None
        beside = {name: run.column(name, "").take(pa.array(partner)) for name in run.columns if name != run.id_column}
        texts = [one.text_columns for one in (joined, run)]
        for name in {"question", "answer", "reference"} & texts[0].keys() & texts[1].keys():
            both = joined.column(texts[0][name], ""), beside[texts[1][name]]
            if both[0].to_pylist() != both[1].to_pylist():
                return None
        for name in set(joined.scores) & set(run.scores):
            if not np.array_equal(joined.values(name), run.values(name)[partner], equal_nan=True):
                return None
        answers = {one.metadata.own_columns.get("answer") for one in (joined, run)} - {None}
        if len(answers) > 1:  # two columns of one file
            return None
        files = [(one.metadata.inputs or {}).get("digest") for one in (runs[0], run)]
        shared = set(joined.scores) & set(run.scores) or "answer" in texts[0].keys() & texts[1].keys()
        if not shared and (files[0] is None or files[0] != files[1]):
            return None
        further = {name: column for name, column in beside.items() if name not in joined.columns}
        declared = {**run.declared, **joined.declared}
        joined = replace(_with_scores(joined, further, own, run.metadata), declared=declared)
    return replace(joined, name=" + ".join(run.name for run in runs))


# The rows of a report, and the matching row of the baseline for each.


_LABEL = 300
"""Maximum characters of a displayed id."""


@dataclass(frozen=True)
class PairedRows:
    """The rows of a run with their ids, and the positions of the baseline's rows with the same ids, −1 for none."""

    main: ScoreTable
    base: ScoreTable | None
    names: Sequence[str]
    ids: pa.Array | None
    """The ids as text, if texts or a baseline need them."""
    labels: pa.Array | None
    partner: Ints | None
    segments: RowSegments
    others: OtherAnswers
    further: Sequence[MatchedScores]
    """The systems that are neither the main run nor the baseline."""
    judged: JudgedRows | None
    """The judgements of the main run."""
    shown_columns: KeptColumns
    texts: TextSource | None
    base_texts: TextSource | None

    @classmethod
    def of(
        cls,
        main: ScoreTable,
        base: ScoreTable | None,
        names: Sequence[str],
        options: ReportOptions,
        others: Sequence[ScoreTable],
        sources: Mapping[str, TextSource],
    ) -> PairedRows:
        """Match the rows of a run to those of a baseline and of ``others``; ``sources`` have the texts of runs.

        Raises ``ColumnError`` if required ids are missing.
        """
        needs_ids = bool(sources) or base is not None
        if needs_ids and main.id_column is None:
            raise ColumnError(
                f"{main.name} has no id column, but another run has; rows meet by id, or by position if none has ids"
            )
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
            judged_of_first(options, main.name),
            KeptColumns.of(main, options.system),
            sources.get(main.name),
            None if base is None else sources.get(base.name),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.main.read(self.names[:1]).num_rows) if self.names else 0

    @property
    def systems(self) -> list[MatchedScores | None]:
        """The main run, the baseline (None without one), and the further systems."""
        base = None if self.base is None else MatchedScores(self.base, self.partner)
        return [MatchedScores(self.main, None, is_main=True), base, *self.further]

    def before(self, name: str) -> Floats | None:
        """The baseline's scores of the rows, or None without a baseline or score."""
        base = self.systems[1]
        return base.scores(name) if base is not None and base.has(name) else None

    def scores(self, rows: slice | Sequence[int]) -> list[list[Floats | None]]:
        """For each of the ``systems`` its scores of these rows in each metric; None for a metric that it lacks."""
        return [
            [system.scores(name, rows) if system is not None and system.has(name) else None for name in self.names]
            for system in self.systems
        ]

    def described(
        self, places: Sequence[int], texts: Sequence[Mapping[str, Any]], earlier: Sequence[str | None]
    ) -> list[dict[str, Any]]:
        """Each row but its scores, as the script reads it: texts, answers of others, columns, judgements, segments."""
        judged: Sequence[Any] = [()] * len(places) if self.judged is None else self.judged.of(self.labels, places)
        beside = zip(self.others.to(places), self.shown_columns.to(places), judged, strict=True)
        rows = []
        for at, own, before, parts in zip(places, texts, earlier, beside, strict=True):
            row = {**self.named(at), "t": own} | {key: part for key, part in zip("okj", parts, strict=True) if part}
            row |= {} if self.base is None else {"other": before}
            rows.append(row | ({"g": self.segments.of_row(at)} if self.segments.codes else {}))
        return rows

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

    def named(self, row: int) -> dict[str, str]:
        """The label of a row, and where that differs its id as it is in the run, as JSON of plain characters."""
        label, exact = self.label(row), None if self.labels is None else self.labels[row].as_py()
        return {"id": label} | ({} if exact is None or str(exact) == label else {"key": json.dumps(str(exact))})

    def earlier_answers(self, rows: Sequence[int]) -> list[str | None]:
        """The baseline's answers to the rows, if known."""
        if self.base is None or not rows or self.partner is None:
            return [None] * len(rows)
        if self.base_texts is not None:
            found_texts = row_texts(self.base, self.ids, rows, self.base_texts)
            return [texts_of_row.get("answer") for texts_of_row in found_texts]
        column = self.base.text_columns.get("answer")
        if column is None or column in self.base.scores:
            return [None] * len(rows)
        places = self.partner[np.asarray(rows)]
        answers = self.base.column(column, "").take(pa.array(places, mask=places < 0)).to_pylist()
        return [None if answer is None else cut(answer) for answer in answers]


def _has_answers(run: ScoreTable, texts: TextSource | None) -> bool:
    """Whether the source of its texts, or without one the run itself, has answers."""
    if texts is not None:
        names, _ = texts.pieces(["answer"])
        return "answer" in names
    column = run.text_columns.get("answer")
    return column is not None and column not in run.scores
