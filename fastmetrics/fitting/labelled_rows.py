"""The labelled rows: reading labels, groups and scores with their checks, and dividing groups into folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_number, is_text
from fastmetrics.base.column_names import COLUMNS, listed, resolve
from fastmetrics.base.columns import as_array, as_numbers
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.metrics.fitted_file import RowScores
from fastmetrics.metrics.score_names import canonical_name, parse, part_of
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.results.score_columns import check_scores
from fastmetrics.results.score_table import read_table
from fastmetrics.scoring.score import score
from fastmetrics.stats.labels import positive_from
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.sources import FrameSource

# Dividing groups of rows: every group is on one side.


FOLDS = 5
_REACH = 1e100
"""The largest score that is fitted as it is: the square of a sum of such scores is finite."""


def folds_of(labels: Floats, groups: Ints, seed: int) -> Ints:
    """The number of each row's fold; those of classes have about the same share of each class."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold

    held_together = groups if len(np.unique(groups)) < len(groups) else None
    kind = StratifiedKFold if held_together is None else StratifiedGroupKFold
    if len(np.unique(labels)) > 2:
        kind, held_together = GroupKFold, groups
    folds = np.empty(len(labels), np.int64)
    splits = kind(FOLDS, shuffle=True, random_state=seed).split(labels, labels, held_together)
    for number, (_, held_out) in enumerate(splits):
        folds[held_out] = number
    return folds


def part_of_groups(groups: Ints, share: float, seed: int) -> Ints:
    """The rows of a random share of the groups, in order."""
    from sklearn.model_selection import GroupShuffleSplit

    [(_, part)] = GroupShuffleSplit(1, test_size=share, random_state=seed).split(groups, groups=groups)
    return part


def within_reach(values: Floats) -> Floats:
    """The scores, of which infinite and huge ones become the largest that a fit can square, and tiny ones 0."""
    return np.where(np.abs(values) < 1 / _REACH, 0.0, np.clip(values, -_REACH, _REACH))


# The labelled rows: labels, groups and the scores that a fit may read, with the checks of all three.


SUITES = ("core", "grounding", "novelty", "writing")
"""The suites of which a fit reads the metrics, if none is named."""
LEAST_ROWS, LEAST_OF_A_CLASS, LEAST_GROUPS = 30, 10, 10
_SHOWN = 5
_COPY = 1 - 1e-9
LARGEST = 1e100
"""The largest label: the sum of the squares of such labels is finite."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labels of rows (0 and 1 if ``is_binary``), their groups numbered from 0, and scores by name."""

    labels: Floats
    is_binary: bool
    groups: Ints
    scores: dict[str, RowScores]
    has_groups: bool

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows, by their numbers or by flags."""
        scores = {name: (values[rows], present[rows]) for name, (values, present) in self.scores.items()}
        return replace(self, labels=self.labels[rows], groups=self.groups[rows], scores=scores)

    @property
    def clusters(self) -> Ints | None:
        """The groups, if rows are dependent."""
        return self.groups if self.has_groups else None

    @property
    def values(self) -> list[RowScores]:
        """The scores in order."""
        return list(self.scores.values())

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(np.unique(self.groups))


def labels_of(table: pa.Table, label: str, positive: float | None) -> tuple[Floats, bool]:
    """The labels, NaN where there is none, and whether they are 0 and 1.

    Raises ``ColumnError`` for a column that is absent or holds text, ``InputError`` for infinite labels or one class.
    """
    column = column_of(table, label)
    if is_text(as_array(column, label).type):
        values = [shown.as_py() for shown in pc.unique(column).drop_null()[:_SHOWN]]
        raise ColumnError(
            f"column {label!r} holds text ({', '.join(map(repr, values))}); expected labels that are numbers or "
            "booleans: convert the classes to 1 (good) and 0 (bad), or to grades"
        )
    labels = as_numbers(column, label)
    if (np.abs(labels) > LARGEST).any():
        row = int(np.flatnonzero(np.abs(labels) > LARGEST)[0])
        value = "an infinite one" if np.isinf(labels[row]) else f"{labels[row]:g}"
        raise InputError(f"column {label!r}: expected finite labels up to {LARGEST:g}, row {row:,} holds {value}")
    positive = positive_from(labels[~np.isnan(labels)]) if positive is None else positive
    if positive is not None:
        labels = np.where(np.isnan(labels), np.nan, labels >= positive)
    return labels, positive is not None


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of the table; raises ``UnknownNameError`` for another name."""
    if name not in table.column_names:
        raise UnknownNameError.of("column", name, table.column_names)
    return table.column(name)


def groups_of(table: pa.Table, group: str | None) -> Ints:
    """The number of each row's group; a row without a group is one of its own."""
    if group is None:
        return np.arange(table.num_rows)
    column = as_array(column_of(table, group), group)
    if pa.types.is_nested(column.type):
        raise ColumnError(f"column {group!r}: expected groups that are texts or numbers, got {column.type}")
    codes = column.dictionary_encode().indices.cast(pa.int64())
    own = pa.array(np.arange(table.num_rows) + table.num_rows)
    numbers = pc.if_else(codes.is_valid(), codes, own)
    return np.unique(np.asarray(numbers), return_inverse=True)[1].astype(np.int64)


def check_rows(rows: LabelledRows, label: str, group: str | None, *, n_apart: int = 0) -> None:
    """Raise ``InputError`` for labels that no evaluation on held-out groups could use.

    ``n_apart`` is the number of rows that are kept apart for the cuts, which ``rows`` are without.
    """
    n, what = len(rows), f"column {label!r}"
    if n_apart:
        what += f", without the {n_apart:,} rows that are kept apart for the cuts"
    if n < LEAST_ROWS:
        raise InputError(
            f"{what}: {n:,} labelled rows are too few to fit and evaluate a score; label {LEAST_ROWS} or more"
        )
    if len(np.unique(rows.labels)) < 2:
        raise InputError(f"{what}: all {n:,} labels are {rows.labels[0]:g}; a fit needs rows of two classes or grades")
    if rows.has_groups and rows.n_groups < LEAST_GROUPS:
        raise InputError(
            f"{what}: the {n:,} labelled rows have too few groups of {group!r} ({rows.n_groups}); an evaluation on "
            f"held-out groups needs {LEAST_GROUPS} or more"
        )
    if not rows.is_binary:
        return
    for value in (0, 1):
        of_class = rows.labels == value
        count, n_groups = int(of_class.sum()), len(np.unique(rows.groups[of_class]))
        name = "positive" if value else "negative"
        if count < LEAST_OF_A_CLASS:
            raise InputError(f"{what}: only {count} of {n:,} rows are {name}; label {LEAST_OF_A_CLASS} or more")
        if n_groups < FOLDS:
            raise InputError(
                f"{what}: all {count:,} {name} rows are in {n_groups} of {rows.n_groups:,} groups of {group!r}; "
                f"held-out groups need {name} rows in {FOLDS} or more"
            )


def check_leaks(rows: LabelledRows, grades: Floats, label: str) -> None:
    """Raise ``InputError`` for a score that is a copy of the label: equal order, with as many values as the label.

    ``grades`` are the labels before they became two classes.
    """
    from scipy.stats import rankdata

    for name, (values, present) in rows.scores.items():
        usable = present & np.isfinite(values)
        if usable.sum() < LEAST_ROWS or len(np.unique(values[usable])) < 2:
            continue
        scores = values[usable]
        same_size = [
            labels[usable]
            for labels in (rows.labels, grades)
            if len(np.unique(labels[usable])) == len(np.unique(scores))
        ]
        agreements = [float(np.corrcoef(rankdata(scores), rankdata(labels))[0, 1]) for labels in same_size]
        if any(abs(agreement) > _COPY for agreement in agreements):
            raise InputError(
                f"{name!r} is a copy of the label {label!r}: both rank all {int(usable.sum()):,} rows alike, so a "
                "score fitted on it repeats it; leave it out with ",
                Argument("metrics"),
            )


def repeated_questions(table: pa.Table, question: str | None, groups: Ints) -> int:
    """The number of rows whose question is also in another group."""
    if question is None or question not in table.column_names:
        return 0
    codes = np.asarray(as_array(table.column(question), question).dictionary_encode().indices.fill_null(-1))
    pairs = np.unique(np.stack([codes, groups]), axis=1)[0]
    several = np.bincount(pairs[pairs >= 0], minlength=1) > 1
    return int(np.count_nonzero(several[codes[codes >= 0]]))


def filled(values: Floats, present: Flags) -> Floats:
    """Scores without missing and undefined ones, which take the median of the others; infinite ones stay."""
    usable = present & ~np.isnan(values)
    middle = float(np.median(within_reach(values[usable]))) if usable.any() else 0.0
    return np.where(usable, values, middle)


# Reading a labelled table: its columns, the metrics that a fit may read, and their scores.


@dataclass(frozen=True)
class Features:
    """What a fit may read: metrics by their specs, and columns of numbers."""

    metrics: Sequence[str]
    columns: Sequence[str]
    left_out: Sequence[str] = ()
    """The metrics of suites that read the label."""


@dataclass(frozen=True)
class LabelledTable:
    """A table with labels, the user's names of its columns, and the features."""

    table: pa.Table
    mapping: Mapping[str, str]
    features: Features
    naming: Mapping[str, Any]
    """The arguments about columns, thoughts, embedder and rows without relevant documents."""
    embedder: str | None = None
    """The embedder that the metrics were asked to use, if any of them embeds text."""

    def scores(self, rows: Any, threads: int | None) -> dict[str, RowScores]:
        """The scores of some rows, by feature."""
        table = self.table.filter(pa.array(rows))
        scores: dict[str, RowScores] = {}
        if self.features.metrics:
            scored = score(table, list(self.features.metrics), threads=threads, **self.naming)
            scores = {name: _split(scored.column(name)) for name in self.features.metrics}
        return scores | {name: _split(table.column(name)) for name in self.features.columns}


def _split(column: pa.ChunkedArray) -> RowScores:
    """The numbers of a column, and which are not null."""
    return as_numbers(column, "scores"), column.is_valid().to_numpy()


def read_labelled(
    table: Any,
    label: str,
    group: str | None,
    metrics: Sequence[str] | str | None,
    suites: Sequence[str] | str,
    naming: Mapping[str, Any],
) -> LabelledTable:
    """Read what a fit needs of a table in memory or in files.

    Raises ``UnknownNameError`` and ``ColumnError`` for metrics and columns that the table does not allow.
    """
    source = open_table(table, schema=naming["schema"])
    names = source.names
    for name in [label, *([] if group is None else [group])]:
        if name not in names:
            raise UnknownNameError.of("column", name, names)
    mapping = resolve(names, naming["columns"], naming["schema"], needed=())
    texts = {
        column for name, column in mapping.items() if COLUMNS[name].kind in ("text", "texts", "ids", "id_groups", "id")
    }
    if not isinstance(source, FrameSource):
        whole = read_table(table, texts | ({group} if group is not None else set()))
    else:
        columns = [label, *([] if group is None else [group]), *mapping.values(), *listed(metrics)]
        whole = source.hold([name for name in dict.fromkeys(columns) if name in names])
    features = _features(names, whole.schema, mapping, label, group, metrics, suites, naming)
    check_scores(whole, features.columns, "")
    embedder = None
    if features.metrics:
        # with all names, of which two may fit one column
        planned = plan(names, ScoreRequest(list(features.metrics), **naming))
        embeds = any("embedder" in score.metric.defaults for score in planned.scores)
        embedder = naming["embedder"] if embeds else None
    return LabelledTable(whole, mapping, features, naming, embedder)


def _features(
    names: Sequence[str],
    schema: pa.Schema,
    mapping: Mapping[str, str],
    label: str,
    group: str | None,
    metrics: Sequence[str] | str | None,
    suites: Sequence[str] | str,
    naming: Mapping[str, Any],
) -> Features:
    """The features of names and suites; a name is a metric if the columns allow it, otherwise a column."""
    specs: list[str] = []
    columns: list[str] = []
    left_out: list[str] = []
    for name in listed(metrics):
        if name in (label, group):
            raise ColumnError(f"column {name!r} is the label or the group; a fit cannot read it as a score")
        if _is_column(name, schema, mapping):
            columns.append(name)
        else:
            specs.append(_with_rule(part_of(name, is_column=False).name, naming["no_relevant"]))
    if listed(suites) or not (specs or columns):
        planned = plan(names, ScoreRequest(suites=suites or SUITES, **naming))
        for scored in planned.scores:
            own = {planned.columns[column] for column in scored.metric.needs if column in planned.columns}
            if scored.metric.corpus is None and scored.name not in specs:
                (left_out if label in own else specs).append(_with_rule(scored.name, naming["no_relevant"]))
    return Features(tuple(dict.fromkeys(specs)), tuple(dict.fromkeys(columns)), left_out)


def _with_rule(spec: str, no_relevant: str) -> str:
    """The spec with the rule for rows without relevant documents, if it is not the default and the spec has none."""
    own, with_rule = parse(spec), parse(spec, {"no_relevant": no_relevant})
    if own.options == with_rule.options:
        return spec
    changed = [name for name, value in with_rule.options.items() if value != own.metric.defaults[name]]
    return canonical_name(own.metric, with_rule.options, changed)


def _is_column(name: str, schema: pa.Schema, mapping: Mapping[str, str]) -> bool:
    """Whether a name means a column of numbers: there is one, and no metric of this name can be computed."""
    if name not in schema.names:
        return False
    kind = schema.field(name).type
    if not (is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        return False
    try:
        part = part_of(name, is_column=False)
    except UnknownNameError:
        return True
    return part.metric is None or not part.metric.fits(mapping) or name in part.metric.needs


def naive_overlap(labelled: LabelledTable, rows: Any, threads: int | None) -> tuple[str, RowScores] | None:
    """The share of the answer's words that the contexts hold; without contexts the overlap with reference or question.

    None if the table has no answers, or nothing to compare them with.
    """
    table, mapping = labelled.table.filter(pa.array(rows)), labelled.mapping
    if "answer" not in mapping:
        return None
    answer = table.column(mapping["answer"])
    if "contexts" in mapping:
        contexts = table.column(mapping["contexts"])
        if pa.types.is_list(contexts.type) or pa.types.is_large_list(contexts.type):
            contexts = pc.binary_join(contexts.cast(pa.list_(pa.string())), " ")
        made_of = {"answer": answer, "reference": contexts}, "token_precision", "words of the contexts"
    elif "reference" in mapping:
        made_of = (
            {"answer": answer, "reference": table.column(mapping["reference"])},
            "token_f1",
            "words of the reference",
        )
    elif "question" in mapping:
        made_of = {"answer": answer, "question": table.column(mapping["question"])}, "jaccard", "words of the question"
    else:
        return None
    columns, metric, name = made_of
    strip = labelled.naming["strip_thoughts"]
    return name, _split(score(columns, metric, threads=threads, strip_thoughts=strip).column(metric))
