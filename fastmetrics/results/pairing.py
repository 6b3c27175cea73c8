"""Pairing the rows of several runs by id, and checking that the runs can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.core.precision import narrowest, rounded
from fastmetrics.errors import ColumnError, InputError, OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.results.question_means import RepeatedRun, repeated_run
from fastmetrics.results.score_runs import ScoreRun
from fastmetrics.tables.output.run_differences import differences

_TOLD = 5


@dataclass(frozen=True)
class PairedRuns:
    """Runs with paired rows: ``rows[i][r]`` is the row of run i for the r-th question, or −1.

    Questions are sorted by id, so the order of the rows in the runs does not matter; without ids, they are in the order
    of the rows.
    """

    runs: Sequence[ScoreRun]
    rows: Sequence[Ints]
    ids: pa.Array | None
    joined_by: str
    notes: Sequence[str] = ()
    """Differences in the questions, if these were allowed."""
    repeated: Sequence[RepeatedRun | None] = ()
    """For each run, its answers if it has several to a question; ``runs`` then has one row per question."""

    @property
    def n(self) -> int:
        """The number of questions in any run."""
        return len(self.rows[0])

    @property
    def arrival(self) -> Ints:
        """When each question was complete: the greatest of its rows' numbers in the runs."""
        return np.max(np.stack(self.rows), axis=0)

    def scores(self, run: int, metric: str) -> Floats:
        """The scores of a metric in the common order and precision, NaN where the run has no finite score."""
        repeated, precision, rows = self.repetition(run), self.precision(metric), self.rows[run]
        if repeated is None:
            values = rounded(self.runs[run].values(metric), precision)
        else:
            values = repeated.means(metric, precision)
        found = np.full(self.n, np.nan)
        found[rows >= 0] = values[rows[rows >= 0]]
        found[np.isinf(found)] = np.nan
        return found

    def precision(self, metric: str) -> type[np.floating] | None:
        """The narrowest floating type in which a run stores the metric, if narrower than float64.

        The scores of all runs are compared in this type: 0.7 of float32 equals 0.7 of float64.
        """
        held = [self.repetition(at) for at in range(len(self.runs))]
        runs = [run if several is None else several.run for run, several in zip(self.runs, held, strict=True)]
        return narrowest([run.read([metric]).schema.field(0).type for run in runs])

    def repetition(self, run: int) -> RepeatedRun | None:
        """The answers of a run, if it has several to a question."""
        return self.repeated[run] if self.repeated else None

    def counts(self, metric: str) -> tuple[Ints, Flags]:
        """The counts of a corpus metric for each run and row in the common order, and which of them exist.

        Raises ``OptionError`` if the runs store different counts.
        """
        held = [run.counts(metric) for run in self.runs]
        sizes = sorted({counts.shape[1] for counts, known in held if known.any()})
        if len(sizes) > 1:
            many = " and ".join(map(str, sizes))
            raise OptionError(
                f"the runs store different counts of {metric}: {many} per row; score both with the same settings"
            )
        found = np.zeros((len(held), self.n, sizes[0] if sizes else 0), np.int64)
        has = np.zeros((len(held), self.n), np.bool_)
        for run, (counts, known) in enumerate(held):
            rows = self.rows[run]
            has[run, rows >= 0] = known[rows[rows >= 0]]
            found[run, has[run]] = counts[rows[has[run]]]
        return found, has

    def column(self, name: str) -> pa.Array:
        """A column of any run in the common order: the value of the first run that has the row."""
        holders = [at for at, run in enumerate(self.runs) if name in run.columns]
        if not holders:
            known = ", ".join(dict.fromkeys(column for run in self.runs for column in run.columns))
            raise ColumnError(f"no run has the column {name!r}; keep it when scoring; the columns are {known}")
        found = self._placed(holders[0], name)
        for at in holders[1:]:
            if found.null_count == 0:
                break
            other = self._placed(at, name)
            found = other if pa.types.is_null(found.type) else pc.coalesce(found, other.cast(found.type))
        return found

    def disagreements(self, name: str) -> list[str]:
        """A note for each run whose values of a column differ from those of the first run that has it."""
        holders = [at for at, run in enumerate(self.runs) if name in run.columns]
        notes = []
        for at in holders[1:]:
            first = self._placed(holders[0], name)
            other = self._placed(at, name)
            if pa.types.is_null(first.type) or pa.types.is_null(other.type):
                continue  # a column of nulls only differs from nothing
            differ = pc.not_equal(first, other.cast(first.type)).fill_null(False)
            if count := int(pc.sum(differ).as_py() or 0):
                names = f"{self.runs[holders[0]].name} and {self.runs[at].name}"
                notes.append(
                    f"{names} differ in {name!r} in {count:,} rows, which are put by {self.runs[holders[0]].name}"
                )
        return notes

    def _placed(self, run: int, name: str) -> pa.Array:
        rows = pa.array(self.rows[run], mask=self.rows[run] < 0)
        column = self.runs[run].column(name, "")
        return column.cast(pa.large_string()).take(rows) if pa.types.is_string(column.type) else column.take(rows)


def pair_runs(
    runs: Sequence[ScoreRun], on: str | None, by_position: bool, allow: bool = False, *, repeats: bool = False
) -> PairedRuns:
    """Pair the rows of the runs by the column ``on``, by default the id, or by position on request.

    With ``repeats``, a run may have several answers to each question: its rows are then questions, with the means of
    their scores.  Raises ``ColumnError`` if a run has no ids, ``InputError`` for other duplicate ids, for runs without
    a shared id, and, unless ``allow``, for different questions under the same id.
    """
    paired = _by_position(runs) if by_position else _by_id(runs, on, repeats)
    found = [*_other_questions(paired), *_other_fingerprints(runs)]
    if found and not allow:
        raise InputError(f"{found[0]}; to compare them anyway, use ", Argument("allow_differences", True))
    return replace(paired, notes=found)


def _by_id(runs: Sequence[ScoreRun], on: str | None, repeats: bool) -> PairedRuns:
    keys = [on or run.id_column for run in runs]
    for run, key in zip(runs, keys, strict=True):
        if key is None:
            ways = Argument("on"), " or, if row i of each run is the same question, pair rows with "
            raise ColumnError(
                f"{run.name} has no id column to match rows by; set one with ", *ways, Argument("by_position", True)
            )
    repeated = [repeated_run(run, str(key)) if repeats else None for run, key in zip(runs, keys, strict=True)]
    runs = [run if several is None else several.reduced() for run, several in zip(runs, repeated, strict=True)]
    ids = [run.ids(str(key)) for run, key in zip(runs, keys, strict=True)]
    alike = all(one.equals(ids[0]) for one in ids[1:])
    if not alike:
        _share_ids(runs, ids)
    every = ids[0] if alike else pc.unique(pa.chunked_array(ids))
    order = pc.sort_indices(every)
    every = every.take(order)
    pa.default_memory_pool().release_unused()
    if alike:
        return PairedRuns(runs, [order.to_numpy().astype(np.int64)] * len(runs), every, str(keys[0]), (), repeated)
    rows = [pc.index_in(every, value_set=one).fill_null(-1).to_numpy().astype(np.int64) for one in ids]
    return PairedRuns(runs, rows, every, str(keys[0]), (), repeated)


def unpaired_runs(runs: Sequence[ScoreRun]) -> PairedRuns:
    """Runs that share no rows: every row is a question of one run only."""
    lengths = [run.read([]).num_rows for run in runs]
    rows = np.full((len(runs), sum(lengths)), -1, np.int64)
    start = 0
    for run, length in enumerate(lengths):
        rows[run, start : start + length] = np.arange(length)
        start += length
    return PairedRuns(runs, list(rows), None, "nothing")


def _by_position(runs: Sequence[ScoreRun]) -> PairedRuns:
    lengths = [run.read([]).num_rows for run in runs]
    for run, length in zip(runs, lengths, strict=True):
        if length != lengths[0]:
            both = f"{runs[0].name} has {lengths[0]:,} rows and {run.name} {length:,}"
            raise InputError(f"{both}: pairing by position needs equal numbers of rows")
    return PairedRuns(runs, [np.arange(lengths[0])] * len(runs), None, "position")


def _share_ids(runs: Sequence[ScoreRun], ids: Sequence[pa.Array]) -> None:
    for run, mine in zip(runs[1:], ids[1:], strict=True):
        if len(mine) and len(ids[0]) and not pc.any(pc.is_in(mine, value_set=ids[0])).as_py():
            has = f"{runs[0].name} has {ids[0][0].as_py()!r}, {run.name} has {mine[0].as_py()!r}"
            way = Argument("unpaired", True)
            raise InputError(
                f"{runs[0].name} and {run.name} share no id: {has}; to compare them as independent samples, use ", way
            )


def _other_questions(paired: PairedRuns) -> list[str]:
    """Notes on runs with different questions in paired rows, if they kept their questions."""
    asked = [(at, run.question_column) for at, run in enumerate(paired.runs) if run.question_column is not None]
    columns = [(at, paired._placed(at, str(name))) for at, name in asked]
    found = []
    for at, other in columns[1:]:
        first = columns[0][1]
        differ = pc.not_equal(first, other.cast(first.type)).fill_null(False).to_numpy(zero_copy_only=False)
        if differ.any():
            row = int(differ.argmax())
            where = f"row {row}" if paired.ids is None else f"id {paired.ids[row].as_py()!r}"
            names = f"{paired.runs[columns[0][0]].name} and {paired.runs[at].name}"
            texts = " and ".join(repr(one[row].as_py()[:80]) for one in (first, other))
            found.append(f"{names} have different questions in {int(differ.sum()):,} rows, first in {where}: {texts}")
    return found


def _other_fingerprints(runs: Sequence[ScoreRun]) -> list[str]:
    """Notes on runs with the same ids but different questions, by the fingerprints in their metadata."""
    told = [(run, run.metadata.get("fingerprint")) for run in runs]
    known = [(run, one) for run, one in told if isinstance(one, Mapping) and {"ids", "questions"} <= one.keys()]
    return [
        f"{known[0][0].name} and {run.name} have the same ids but different questions, by their fingerprints"
        for run, one in known[1:]
        if one["ids"] == known[0][1]["ids"] and one["questions"] != known[0][1]["questions"]
    ]


def _other_settings(runs: Sequence[ScoreRun], metrics: Sequence[str]) -> list[str]:
    """Differences in the versions and options of these metrics, as text, as far as the metadata record them."""
    known = [(run, run.settings(metrics)) for run in runs]
    known = [(run, settings) for run, settings in known if settings]
    found = []
    for run, settings in known[1:]:
        first = {name: value for name, value in known[0][1].items() if name in settings}
        mine = {name: value for name, value in settings.items() if name in first}
        found += [f"{what} is {a} in {known[0][0].name}, {b} in {run.name}" for what, a, b in differences(first, mine)]
    return found


def check_settings(runs: Sequence[ScoreRun], metrics: Sequence[str], allow: bool) -> list[str]:
    """Notes on differences in settings; raises an ``OptionError`` with them unless ``allow``."""
    found = _other_settings(runs, metrics)
    if found and not allow:
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise OptionError(
            f"the runs were scored with different settings: {'; '.join(found[:_TOLD])}{more}. Score "
            "them with the same settings, or compare them anyway with ",
            Argument("allow_differences", True),
        )
    return found
