"""Several score tables as one aligned matrix: rows paired by id, several answers to a question as one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, Uint64s, is_text, narrowest, rounded
from fastmetrics.base.columns import codes_of
from fastmetrics.base.errors import (
    Argument,
    ColumnError,
    InputError,
    OptionError,
    UnknownColumnError,
    near_or_all,
    nearest,
)
from fastmetrics.base.notes import Note
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.results.questions import RepeatedRun, ScoreStates, repeated_run
from fastmetrics.results.row_groups import (
    Segment,
    SortedIds,
    cluster_numbers,
    range_texts,
    rows_of_ids,
    segments_of,
    texts_of,
)
from fastmetrics.results.score_columns import INCLUSION, PREDICTED, check_drawn
from fastmetrics.results.score_table import ScoreTable, infinite_notes, labels_of
from fastmetrics.stats.fingerprints import text_hashes
from fastmetrics.tables.resume import differences

# Pairing the rows of several runs by id, and checking that the runs can be compared.


_MOST_NOTED = 5


@dataclass(frozen=True)
class AlignedScores:
    """Runs with paired rows: ``rows[i][r]`` is the row of run i for the r-th question, or −1.

    Questions are sorted by id, so the order of the rows in the runs does not matter; without ids, they are in the order
    of the rows.
    """

    runs: Sequence[ScoreTable]
    rows: Sequence[Ints]
    by_id: SortedIds | None
    joined_by: str
    notes: Sequence[str] = ()
    """Differences in the questions, if these were allowed."""
    repeated: Sequence[RepeatedRun | None] = ()
    """For each run, its answers if it has several to a question; ``runs`` then has one row per question."""
    cluster: str | None = None
    """The column whose values are the clusters of the units."""
    side: tuple[ScoreTable, Ints] | None = None
    """A table beside the runs, whose columns count before theirs, and its row for each question, or −1."""
    again: Callable[..., AlignedScores] | None = field(default=None, compare=False, repr=False)
    """The same rows, with those of one id told apart by more columns."""

    infinite: dict[tuple[str, str], int] = field(default_factory=dict, compare=False, repr=False)
    """The numbers of infinite scores by run and metric, of the metrics that have been read."""
    precisions: dict[str, type[np.floating] | None] = field(default_factory=dict, compare=False, repr=False)
    """The precision of each metric that has been read."""

    @property
    def repeat_notes(self) -> list[str]:
        """How many answers the questions of each run have, if they have several."""
        return [run.describe() for run in self.repeated if run is not None]

    @property
    def infinite_notes(self) -> list[str]:
        """How many scores of the metrics that have been read were infinite."""
        return [note for (run, metric), n in self.infinite.items() for note in infinite_notes({metric: n}, run)]

    @property
    def ids(self) -> pa.Array | None:
        """The ids of the questions, if rows are paired by id."""
        return None if self.by_id is None else self.by_id.distinct()

    @property
    def n(self) -> int:
        """The number of questions in any run."""
        return len(self.rows[0])

    def alone(self, run: int) -> AlignedScores:
        """One of the runs alone, with the questions in the common order."""
        return replace(
            self, runs=[self.runs[run]], rows=[self.rows[run]], repeated=[self.repetition(run)], precisions={}
        )

    def scores(self, run: int, metric: str) -> Floats:
        """The scores of a metric in the common order and precision, NaN where the run has no finite score."""
        if self.repetition(run) is not None:
            return self.states(run, metric).values
        values, precision = self.runs[run].values(metric), self.precision(metric)
        values = values if precision is None else rounded(values, precision)
        infinite = np.isinf(values)
        self.infinite[self.runs[run].name, metric] = int(infinite.sum())
        return self.placed(run, np.where(infinite, np.nan, values) if infinite.any() else values, np.nan)

    def drawn(self, metric: str, values: Floats) -> tuple[Floats, Floats] | None:
        """For each run and row the probability with which a row with a dear score was drawn, and its prediction.

        None if all runs have the metric of all rows.  A run that has it of all rows is drawn and predicted for certain.
        Raises ``InputError`` for a probability of 0 or above 1, and for several answers to a question.
        """
        names = [metric + INCLUSION, metric + PREDICTED]
        dear = [names[0] in run.columns for run in self.runs]
        if not any(dear):
            return None
        shares, predicted = np.where(np.isnan(values), np.nan, 1.0), values.copy()
        for at, run in enumerate(self.runs):
            if not dear[at]:
                continue
            if self.repetition(at) is not None:
                raise InputError(f"{run.name}: {metric} was drawn by rows, but several rows have one id")
            own = run.values(names[0])
            expected = run.values(names[1]) if names[1] in run.columns else np.zeros(len(own))
            check_drawn(run.name, metric, own, run.values(metric))
            shares[at], predicted[at] = self.placed(at, own, np.nan), self.placed(at, expected, np.nan)
        return shares, predicted

    def placed(self, run: int, values: Any, nothing: float) -> Any:
        """Values of the rows of a run in the common order, ``nothing`` where it has no row."""
        rows, placed = self.rows[run], np.full(self.n, nothing, values.dtype)
        placed[rows >= 0] = values[rows[rows >= 0]]
        return placed

    def states(self, run: int, metric: str) -> ScoreStates:
        """The scores of a metric in the common order and precision, and why rows have none."""
        repeated, precision = self.repetition(run), self.precision(metric)
        if repeated is None:
            states = ScoreStates.of(self.runs[run], metric, precision)
        else:
            by_answer, questions = repeated.states(metric, precision)
            states = by_answer.by_question(questions)
        self.infinite[self.runs[run].name, metric] = states.n_infinite
        return states.placed(self.rows[run])

    def precision(self, metric: str) -> type[np.floating] | None:
        """The narrowest floating type in which a run stores the metric, if narrower than float64.

        The scores of all runs are compared in this type: 0.7 of float32 equals 0.7 of float64.
        """
        if metric not in self.precisions:
            runs = [
                run if several is None else several.run for run, several in zip(self.runs, self._answers, strict=True)
            ]
            self.precisions[metric] = narrowest([run.type_of(metric) for run in runs])
        return self.precisions[metric]

    @property
    def _answers(self) -> Sequence[RepeatedRun | None]:
        return self.repeated or [None] * len(self.runs)

    @cached_property
    def questions(self) -> Ints | None:
        """The number of each unit's id where the runs have units of one id, such as one question to several systems."""
        if all(run.questions is None for run in self.runs):
            return None
        ids: pa.Array = pa.nulls(self.n, pa.large_string())
        for run, rows in zip(self.runs, self.rows, strict=True):
            if run.questions is not None:
                ids = pc.coalesce(ids, texts_of(run.questions).take(pa.array(rows, mask=rows < 0)))
        return cluster_numbers("id", ids)

    def clusters_of(self, rows: Ints | slice) -> Ints | None:
        """The cluster of each unit: by the column, or else by the id if several of these units have one."""
        if self.cluster is not None:
            return self._clusters
        if self.questions is None or len(np.unique(some := self.questions[rows])) == len(some):
            return None
        return self.questions

    @cached_property
    def _clusters(self) -> Ints:
        name = str(self.cluster)
        return cluster_numbers(name, self.column(name))

    def varying(self, names: Iterable[str]) -> list[str]:
        """The columns among these that have several values in the rows of one question."""
        several = [run for run in self.repeated if run is not None]
        return [name for name in names if any(run.varies(name) for run in several)]

    def apart(self, names: Iterable[str]) -> AlignedScores:
        """The units, of which those of one question are several where it has several values in a column of these."""
        if self.again is None or self.side is not None or not (varied := self.varying(names)):
            return self
        return replace(self.again(beside=varied), cluster=self.cluster)

    def divided(self, names: Sequence[str]) -> tuple[AlignedScores, list[Segment]]:
        """The units and their segments by these columns."""
        units = self.apart(names)
        return units, segments_of([(name, units.division(name)) for name in names])

    def repetition(self, run: int) -> RepeatedRun | None:
        """The answers of a run, if it has several to a question."""
        return self.repeated[run] if self.repeated else None

    def counts(self, metric: str) -> tuple[Ints, Flags]:
        """The counts of a corpus metric for each run and row in the common order, and which of them exist.

        Raises ``OptionError`` if the runs store different counts.
        """
        counted = [run.counts(metric) for run in self.runs]
        sizes = sorted({counts.shape[1] for counts, has in counted if has.any()})
        if len(sizes) > 1:
            many = " and ".join(map(str, sizes))
            raise OptionError(
                f"the runs store different counts of {metric}: {many} per row; score both with the same settings"
            )
        placed = np.zeros((len(counted), self.n, sizes[0] if sizes else 0), np.int64)
        has = np.zeros((len(counted), self.n), np.bool_)
        for run, (counts, present) in enumerate(counted):
            rows = self.rows[run]
            has[run, rows >= 0] = present[rows[rows >= 0]]
            placed[run, has[run]] = counts[rows[has[run]]]
        return placed, has

    def column(self, name: str) -> pa.Array:
        """A column of the table beside the runs, or of any run in the common order: of the first that has the row."""
        if self.side is not None and name in self.side[0].columns:
            table, rows = self.side
            return table.column(name).take(pa.array(rows, mask=rows < 0))
        holders = [at for at, run in enumerate(self.runs) if name in run.columns]
        if not holders:
            columns = list(dict.fromkeys(column for run in self.runs for column in run.columns))
            advice = "" if nearest(name, columns) else "; keep it when scoring"
            raise UnknownColumnError(f"no run has the column {name!r}{advice}; {near_or_all(name, columns)}")
        values = self._placed(holders[0], name)
        for at in holders[1:]:
            if values.null_count == 0:
                break
            other = self._placed(at, name)
            values = other if pa.types.is_null(values.type) else pc.coalesce(values, other.cast(values.type))
        return values

    def division(self, name: str) -> pa.Array:
        """A column by whose values the units are divided."""
        divided = any(_DIVIDED + name in run.columns for run in self.runs)
        return self.column(_DIVIDED + name if divided else name)

    def disagreements(self, name: str) -> list[str]:
        """A note for each run whose values of a column differ from those of the first run that has it."""
        holders = [at for at, run in enumerate(self.runs) if name in run.columns]
        notes: list[str] = []
        for at in holders[1:]:
            first = self._placed(holders[0], name)
            other = self._placed(at, name)
            if pa.types.is_null(first.type) or pa.types.is_null(other.type):
                continue  # a column of nulls only differs from nothing
            differ = pc.not_equal(first, other.cast(first.type)).fill_null(False)
            if count := int(pc.sum(differ).as_py() or 0):
                both = {"first": self.runs[holders[0]].name, "other": self.runs[at].name}
                notes.append(Note("runs_differ", column=name, n=count, **both))
        return notes

    def _placed(self, run: int, name: str) -> pa.Array:
        rows = pa.array(self.rows[run], mask=self.rows[run] < 0)
        column = self.runs[run].column(name)
        return column.cast(pa.large_string()).take(rows) if pa.types.is_string(column.type) else column.take(rows)


_BY_IDS = (
    "pair them by a column named id, or another one with ",
    Argument("on", otherwise="--columns id=... when it is scored"),
)
PAIRINGS = ("id", "position", "none")
"""What pairs the rows of runs; with "none", they share no rows."""


def align(
    runs: Sequence[ScoreTable],
    on: str | None,
    pairing: str = "id",
    allow: bool = False,
    *,
    repeats: bool = False,
    beside: Sequence[str] = (),
) -> AlignedScores:
    """Pair the rows of the runs by one of ``PAIRINGS``: the id, or the column ``on`` instead, or the position.

    Runs of which none has ids meet by the index of pandas frames where all have one that tells rows apart, or else by
    position.  A named index without repeats is their id, see :func:`~fastmetrics.results.opening_scores.are_ids`.
    With ``repeats``, a run may have several answers to each question: its rows are then questions, with the means of
    their scores.  Rows of one id that differ in a setting, or in a column ``beside``, are different questions.  Raises
    ``OptionError`` for ``on`` with another pairing than by ids, ``ColumnError`` if a run has no ids, ``InputError`` for
    other duplicate ids, for runs without a shared id, and, unless ``allow``, for different questions under the same id.
    """
    if on is not None and pairing != "id":
        raise OptionError(Argument("on"), " pairs rows by a column, so it needs ", Argument("pairing", "id"))
    again = partial(align, runs, on, pairing, allow, repeats=True) if repeats else None
    if pairing == "none":
        return replace(_without_pairs(runs, beside), again=again)
    has_ids = on is not None or any(run.id_column is not None for run in runs)
    if pairing == "id" and has_ids:
        paired = _by_id(runs, on, repeats, beside)
    elif pairing == "id" and _are_labelled(runs):
        paired = replace(by_position(in_one_order(runs)), joined_by="index")
    else:
        if pairing == "id":
            _check_index(runs)
        paired = by_position(runs)
    notes = [*_other_questions(paired), *_other_fingerprints(runs)]
    if notes and not allow:
        is_by_position = paired.joined_by == "position" or (runs[0].is_numbered and not _are_labelled(runs))
        ways = ("rows were paired by position; ", *_BY_IDS, "; ") if is_by_position else ()
        raise InputError(f"{notes[0]}; ", *ways, "to compare them anyway, use ", Argument("allow_differences", True))
    return replace(paired, notes=notes, again=again)


def _by_id(runs: Sequence[ScoreTable], on: str | None, repeats: bool, beside: Sequence[str]) -> AlignedScores:
    keys = []
    for run in runs:
        keys.append(run.key(on) or "")
        if not keys[-1]:
            ways = Argument("on"), " or, if row i of each run is the same question, pair rows with "
            lacks = f"{run.name} has no id column to match rows by, but another run has; set one with "
            raise ColumnError(lacks, *ways, Argument("pairing", "position"))
    _sorted_ids(runs, keys)
    runs = _told_apart(runs, keys, beside)
    _sorted_ids(runs, keys)
    repeated = [
        repeated_run(run, key) if repeats and not run.sorted_ids(key).are_distinct else None
        for run, key in zip(runs, keys, strict=True)
    ]
    runs = [run if several is None else several.reduced() for run, several in zip(runs, repeated, strict=True)]
    for run, key in zip(runs, keys, strict=True):
        run.check_distinct(key)
    columns = _sorted_ids(runs, keys)
    every, rows = rows_of_ids(columns)
    for at in range(1, len(runs)):
        shared = (rows[0] >= 0) & (rows[at] >= 0)
        if len(columns[0]) and len(columns[at]) and not shared.any():
            raise _nothing_shared(runs[0], columns[0], runs[at], columns[at])
    pa.default_memory_pool().release_unused()
    return AlignedScores(runs, rows, every, keys[0], (), repeated)


def _sorted_ids(runs: Sequence[ScoreTable], keys: Sequence[str]) -> list[SortedIds]:
    """The ids of each run; runs with the same ids in the same order share them."""
    first = runs[0].sorted_ids(keys[0])
    return [first, *(run.sorted_ids(key, like=first) for run, key in zip(runs[1:], keys[1:], strict=True))]


def units_of(run: ScoreTable, on: str | None = None, beside: Sequence[str] = ()) -> AlignedScores:
    """The rows of one run in their order, or its questions, if rows of one id, system, parameters and columns
    ``beside`` are several answers to a question.

    Raises the errors of :func:`repeated_run`.
    """
    key, own_run = run.key(on), run
    if key is None:
        return by_position([run])
    ids = run.column(key)
    if ids.null_count or not (is_text(ids.type) or pa.types.is_integer(ids.type)):
        own = pa.array([f"row {row}" for row in range(len(ids))], pa.large_string())  # a row without an id is alone
        run = run.with_columns({key: pc.if_else(ids.is_null(nan_is_null=True), own, texts_of(ids))})
    run = _told_apart([run], [key], beside)[0]
    repeated = repeated_run(run, key)
    if repeated is None:
        return by_position([run])
    rows, again = np.arange(len(repeated.rows.first_rows)), partial(units_of, own_run, on)
    return AlignedScores([repeated.reduced()], [rows], None, "position", (), [repeated], again=again)


def _told_apart(runs: Sequence[ScoreTable], keys: Sequence[str], beside: Sequence[str]) -> list[ScoreTable]:
    """The runs, whose ids tell apart the rows of one id with different systems, parameters or columns ``beside``.

    A numeric column of many values divides the rows at its quartiles over all runs, as segments do.  Raises
    ``InputError`` if a run lacks a column in which the rows of an id differ in another run.
    """
    names = dict.fromkeys(name for run in runs for name in (*run.settings_columns, *beside))
    varied = [name for name in names if any(_varies(*each, name) for each in zip(runs, keys, strict=True))]
    for name in varied:
        if lacking := next((run for run in runs if name not in run.columns), None):
            raise InputError(
                f"another run has rows of one id with different values of {name!r}, which are no repeats, and "
                f"{lacking.name} has no column {name!r}; compare the values of one run with ",
                Argument("system", name),
            )
    for name in varied:
        if name in beside:
            texts = range_texts(name, [run.column(name) for run in runs])
            runs = [run.with_columns({_DIVIDED + name: text}) for run, text in zip(runs, texts, strict=True)]
    columns = [_DIVIDED + name if name in beside else name for name in varied]
    return [_with_ids_of(run, key, columns) if columns else run for run, key in zip(runs, keys, strict=True)]


def _with_ids_of(run: ScoreTable, key: str, names: Sequence[str]) -> ScoreTable:
    """The run whose ids, in the column ``key``, tell apart rows with other values in the columns ``names``."""
    own = run.column(key)
    named = [(pa.scalar(f", {name}=", pa.large_string()), texts_of(run.column(name))) for name in names]
    nothing = pa.scalar("", pa.large_string())
    ids = pc.binary_join_element_wise(texts_of(own), *(part for pair in named for part in pair), nothing)
    return replace(run.with_columns({key: ids}), questions=own if run.questions is None else run.questions)


_DIVIDED = "by "
"""Before the name of a column, that of its values by which rows of one id are told apart."""


def _varies(run: ScoreTable, key: str, name: str) -> bool:
    """Whether rows of one id have different values in a column."""
    if name not in run.columns or name == key:
        return False
    ids, codes = run.sorted_ids(key), codes_of(run.column(name), name)
    if ids.are_distinct:
        return False
    return bool((codes != codes[ids.order[ids.is_first]][ids.numbers]).any())


def _without_pairs(runs: Sequence[ScoreTable], beside: Sequence[str] = ()) -> AlignedScores:
    """Runs that share no rows: every row, or question of several answers, is one of one run only."""
    each = [units_of(run, None, beside) for run in runs]
    starts = np.cumsum([0, *(units.n for units in each)])
    rows = np.full((len(runs), int(starts[-1])), -1, np.int64)
    for at, units in enumerate(each):
        rows[at, starts[at] : starts[at + 1]] = units.rows[0]
    runs = [units.runs[0] for units in each]
    return AlignedScores(runs, list(rows), None, "none", (), [units.repetition(0) for units in each])


def by_position(runs: Sequence[ScoreTable]) -> AlignedScores:
    """Row i of each run as one question; raises ``InputError`` for different numbers of rows."""
    return AlignedScores(runs, [np.arange(_common_length(runs))] * len(runs), None, "position")


def _are_labelled(runs: Sequence[ScoreTable]) -> bool:
    """Whether all runs are pandas frames, or scores of some, with an index that tells rows apart."""
    return len(runs) > 1 and all(run.row_labels is not None for run in runs)


def in_one_order(runs: Sequence[ScoreTable]) -> list[ScoreTable]:
    """The runs, with the rows of each in the order of the first one's index, if all have one that tells rows apart.

    Raises ``InputError`` if two of them do not have the same labels.
    """
    if not _are_labelled(runs):
        return list(runs)
    first = runs[0].row_labels
    ordered = [runs[0]]
    for run in runs[1:]:
        rows = pc.index_in(first, value_set=run.row_labels)
        if rows.null_count or len(rows) != len(run.row_labels or ()):
            raise InputError(
                f"{runs[0].name} and {run.name} have no ids, and pandas indexes with different labels; give both an id "
                "column, or pair their rows with ",
                Argument("pairing", "position"),
            )
        ordered.append(_reordered(run, rows))
    return ordered


def _reordered(run: ScoreTable, rows: pa.Array) -> ScoreTable:
    def read(names: Sequence[str]) -> pa.Table:
        table = run.read(names)
        return table.take(rows) if names else table  # a table without columns would lose its rows

    return replace(run, read=read, sorted={})


def _check_index(runs: Sequence[ScoreTable]) -> None:
    """Raise ``ColumnError`` for systems of one pandas frame whose index has a name, but repeats within a system."""
    for run in runs if len(runs) > 1 else ():
        named = [name for name in run.index if not name.startswith("__index_level_")]
        if run.is_part and named and (labels := labels_of([run.column(name) for name in run.index])).unique() != labels:
            what = (
                f"the index {', '.join(map(repr, named))} of the frame has labels that recur within {run.name}, so it "
            )
            ways = "; or, if row i of each system is the same question, call reset_index() first"
            raise ColumnError(what, "pairs no rows; ", *_BY_IDS, ways)


def _common_length(runs: Sequence[ScoreTable]) -> int:
    lengths = [run.read([]).num_rows for run in runs]
    for run, length in zip(runs, lengths, strict=True):
        if length != lengths[0]:
            raise InputError(
                f"{runs[0].name} has {lengths[0]:,} rows and {run.name} {length:,}: without ids, rows meet by "
                "position, which needs equal numbers; ",
                *_BY_IDS,
            )
    return lengths[0]


def with_row_ids(runs: Sequence[ScoreTable], on: str | None = None) -> list[ScoreTable]:
    """The runs; where none has ids, with the numbers of their rows as ids, in the order of :func:`in_one_order`.

    Raises ``InputError`` for different numbers of rows.
    """
    if on is not None or any(run.id_column is not None for run in runs):
        return list(runs)
    runs = in_one_order(runs)
    _check_index(runs)
    numbers = {"id": pa.array(np.arange(_common_length(runs)))}
    return [replace(run.with_columns(numbers), columns=["id", *run.columns], is_numbered=True) for run in runs]


def _nothing_shared(first: ScoreTable, ids: SortedIds, other: ScoreTable, others: SortedIds) -> InputError:
    has = f"{first.name} has {ids.text_of(0)!r}, {other.name} has {others.text_of(0)!r}"
    return InputError(
        f"{first.name} and {other.name} share no id: {has}; name the column that pairs their rows with ",
        Argument("on", ...),
        "; compare takes them as independent samples with ",
        Argument("pairing", "none"),
    )


def _other_questions(paired: AlignedScores) -> list[str]:
    """Notes on runs with different questions in paired rows, if they kept their questions.

    Hashes are compared, so that the questions of one run at a time are in memory.
    """
    having = [(at, run.question_column) for at, run in enumerate(paired.runs) if run.question_column is not None]
    if len(having) < 2:
        return []
    first, notes = _question_hashes(paired, *having[0]), list[str]()
    for at, name in having[1:]:
        others = _question_hashes(paired, at, name)
        differ = (first != others) & (first != 0) & (others != 0)
        if differ.any():
            row, both = int(differ.argmax()), {"first": paired.runs[having[0][0]].name, "other": paired.runs[at].name}
            own = row if paired.by_id is None else paired.by_id.distinct_text(row)
            where = f"row {own}" if paired.by_id is None or paired.runs[0].is_numbered else f"id {own!r}"
            texts = " and ".join(
                repr(str(paired.runs[of].column(column)[int(paired.rows[of][row])].as_py())[:80])
                for of, column in (having[0], (at, name))
            )
            notes.append(Note("other_questions", n=int(differ.sum()), where=where, texts=texts, **both))
    return notes


def _question_hashes(paired: AlignedScores, at: int, name: str) -> Uint64s:
    hashes: Uint64s = paired.placed(at, text_hashes(paired.runs[at].column(name)), 0)
    return hashes


def _other_fingerprints(runs: Sequence[ScoreTable]) -> list[str]:
    """Notes on runs with the same ids but different questions, by the fingerprints in their metadata."""
    prints = [(run.name, run.metadata.fingerprint or {}) for run in runs]
    prints = [(name, rows) for name, rows in prints if {"ids", "questions"} <= rows.keys()]
    return [
        Note("other_fingerprints", first=prints[0][0], other=name)
        for name, rows in prints[1:]
        if rows["ids"] == prints[0][1]["ids"] and rows["questions"] != prints[0][1]["questions"]
    ]


def check_settings(runs: Sequence[ScoreTable], metrics: Sequence[str], allow: bool) -> list[str]:
    """Notes on differences in the versions and options of these metrics, as far as the metadata record them.

    Raises an ``OptionError`` with them unless ``allow``.
    """
    known = [(run.name, settings) for run in runs if (settings := _settings(run, metrics))]
    notes = []
    for name, settings in known[1:]:
        first = {key: value for key, value in known[0][1].items() if key in settings}
        other = {key: value for key, value in settings.items() if key in first}
        notes += [f"{what} is {a} in {known[0][0]}, {b} in {name}" for what, a, b in differences(first, other)]
    if notes and not allow:
        more = f"; and {len(notes) - _MOST_NOTED} more" if len(notes) > _MOST_NOTED else ""
        raise OptionError(
            f"the runs were scored with different settings: {'; '.join(notes[:_MOST_NOTED])}{more}. Score "
            "them with the same settings, or compare them anyway with ",
            Argument("allow_differences", True),
        )
    return notes


def _settings(run: ScoreTable, metrics: Sequence[str]) -> dict[str, Any]:
    of = run.metadata
    scores = None if of.scores is None else {name: of.scores[name] for name in metrics if name in of.scores}
    declared = {name: run.declared[name].to_json() for name in of.declared or () if name in metrics}
    return ScoreMetadata(version=of.version, unicode=of.unicode, scores=scores, declared=declared or None).to_json()
