"""The labelled rows: reading labels, groups and scores with their checks, and dividing groups into folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Flags, Floats, Ints, is_list, is_number
from fastmetrics.base.column_names import COLUMNS, listed, resolve
from fastmetrics.base.columns import as_numbers, codes_of
from fastmetrics.base.errors import Argument, ColumnError, InputError, UnknownNameError
from fastmetrics.metrics.fitted_file import RowScores
from fastmetrics.metrics.score_names import canonical_name, parse, part_of
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.results.opening_scores import read_table
from fastmetrics.results.score_columns import check_scores
from fastmetrics.scoring.score import score
from fastmetrics.stats.labels import RowLabels
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
    beside: dict[str, RowScores] = field(default_factory=dict)
    """The overlap of words, which no fit reads."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """The least and the greatest label."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows, by their numbers or by flags."""
        scores, beside = (
            {name: (values[rows], present[rows]) for name, (values, present) in those.items()}
            for those in (self.scores, self.beside)
        )
        return replace(self, labels=self.labels[rows], groups=self.groups[rows], scores=scores, beside=beside)

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


def labels_of(table: pa.Table, label: str) -> Floats:
    """The labels as numbers, of flags 0 and 1, NaN where there is none.

    Raises ``InputError`` for text that is no flag and for labels whose squares have no finite sum, ``ColumnError`` for
    labels of another type, and for infinite ones.
    """
    labels = RowLabels.of(table, None, label=label).truth
    for row in np.flatnonzero(np.abs(labels) > LARGEST):
        raise InputError(f"column {label!r}: expected labels up to {LARGEST:g}, row {row:,} holds {labels[row]:g}")
    return labels


def groups_of(table: pa.Table, group: str | None) -> Ints:
    """The number of each row's group; a row without a group is one of its own."""
    every = np.arange(len(table))
    if group is None:
        return every
    if pa.types.is_nested(kind := table.column(group).type):
        raise ColumnError(f"column {group!r}: expected groups that are texts or numbers, got {kind}")
    codes = codes_of(table.column(group), group)
    return np.unique(np.where(codes < 0, every + len(every), codes), return_inverse=True)[1].astype(np.int64)


def check_rows(rows: LabelledRows, label: str, group: str | None, *, n_apart: int = 0) -> None:
    """Raise ``InputError`` for labels that no evaluation on held-out groups could use.

    ``n_apart`` is the number of rows that are kept apart for the cuts, which ``rows`` are without.
    """
    n, what = len(rows), f"column {label!r}"
    if n_apart:
        what += f", without the {n_apart:,} rows that are kept apart for the cuts"
    for reason in _lacking(rows, n, group):
        raise InputError(f"{what}: {reason}")


def _lacking(rows: LabelledRows, n: int, group: str | None) -> Iterator[str]:
    if n < LEAST_ROWS:
        yield f"{n:,} labelled rows are too few to fit and evaluate a score; label {LEAST_ROWS} or more"
    if len(np.unique(rows.labels)) < 2:
        yield f"all {n:,} labels are {rows.labels[0]:g}; a fit needs rows of two classes or grades"
    few, held_out = f"labelled rows have too few groups of {group!r} ({rows.n_groups})", "held-out groups"
    if rows.has_groups and rows.n_groups < LEAST_GROUPS:
        yield f"the {n:,} {few}; an evaluation on {held_out} needs {LEAST_GROUPS} or more"
    for value, name in enumerate(("negative", "positive") if rows.is_binary else ()):
        of_class = rows.take(rows.labels == value)
        if len(of_class) < LEAST_OF_A_CLASS:
            yield f"only {len(of_class)} of {n:,} rows are {name}; label {LEAST_OF_A_CLASS} or more"
        if of_class.n_groups < FOLDS:
            of = f"{of_class.n_groups} of {rows.n_groups:,} groups of {group!r}"
            yield f"all {len(of_class):,} {name} rows are in {of}; {held_out} need {name} rows in {FOLDS} or more"


def check_leaks(rows: LabelledRows, grades: Floats, label: str) -> None:
    """Raise ``InputError`` for a score that is a copy of the label: equal order, with as many values as the label.

    ``grades`` are the labels before they became two classes.
    """
    from scipy.stats import rankdata

    for name, (values, present) in rows.scores.items():
        usable = present & np.isfinite(values)
        scores, of_label = values[usable], [labels[usable] for labels in (rows.labels, grades)]
        distinct = len(np.unique(scores))
        if len(scores) < LEAST_ROWS or distinct < 2:
            continue
        alike = [
            np.corrcoef(rankdata(scores), rankdata(one))[0, 1] for one in of_label if len(np.unique(one)) == distinct
        ]
        if any(abs(agreement) > _COPY for agreement in alike):
            same = f"both rank all {len(scores):,} rows alike, so a score fitted on it repeats it"
            raise InputError(
                f"{name!r} is a copy of the label {label!r}: {same}; leave it out with ", Argument("metrics")
            )


def repeated_questions(questions: pa.ChunkedArray, groups: Ints) -> int:
    """The number of rows whose question is also in another group."""
    codes = codes_of(questions)
    pairs = np.unique(np.stack([codes, groups]), axis=1)[0]
    several = np.bincount(pairs[pairs >= 0], minlength=1) > 1
    return int(np.count_nonzero(several[codes[codes >= 0]]))


def has_score(values: Floats, present: Flags) -> Flags:
    """Which rows have a score that is neither missing nor undefined."""
    return present & ~np.isnan(values)


def filled(values: Floats, present: Flags) -> Floats:
    """Scores without missing and undefined ones, which take the median of the others; infinite ones stay."""
    usable = has_score(values, present)
    middle = float(np.median(within_reach(values[usable]))) if usable.any() else 0.0
    return np.where(usable, values, middle)


# Reading a labelled table: its columns, the metrics that a fit may read, and their scores.


@dataclass(frozen=True)
class LabelledTable:
    """A table with labels, the user's names of its columns, and what a fit may read."""

    table: pa.Table
    mapping: Mapping[str, str]
    metrics: Sequence[str]
    """The metrics by their specs."""
    columns: Sequence[str]
    """The columns of numbers."""
    left_out: Sequence[str]
    """The metrics of suites that read the label."""
    naming: Mapping[str, Any]
    """The arguments about columns, thoughts, embedder and rows without relevant documents."""
    embedder: str | None
    """The embedder that the metrics were asked to use, if any of them embeds text."""

    def scores(self, threads: int | None) -> dict[str, RowScores]:
        """The scores of the rows, by metric and column."""
        of = score(self.table, list(self.metrics), threads=threads, **self.naming) if self.metrics else self.table
        return {
            name: _split((of if name in self.metrics else self.table)[name]) for name in (*self.metrics, *self.columns)
        }

    def naive_overlap(self, threads: int | None) -> dict[str, RowScores]:
        """The share of the answer's words that the contexts hold; without these the overlap with another text.

        Empty if the table has no answers, or nothing to compare them with.
        """
        found = next((each for each in _OVERLAPS if each[0] in self.mapping), None)
        if found is None or "answer" not in self.mapping:
            return {}
        beside, column, metric = found
        texts = self.table[self.mapping[beside]]
        if beside == "contexts" and is_list(texts.type):
            texts = pc.binary_join(texts.cast(pa.list_(pa.string())), " ")
        columns = {"answer": self.table[self.mapping["answer"]], column: texts}
        scored = score(columns, metric, threads=threads, strip_thoughts=self.naming["strip_thoughts"])
        return {f"words of the {beside}": _split(scored[metric])}


_OVERLAPS = (
    ("contexts", "reference", "token_precision"),
    ("reference", "reference", "token_f1"),
    ("question", "question", "jaccard"),
)
"""What the words of answers are compared with, as which column, and by which metric: the first that a table has."""


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
    keys = [label] if group is None else [label, group]
    for name in keys:
        if name not in names:
            advice = "; labels are a column of the table: join those of another file to it first"
            message = UnknownNameError.of("column", name, names).message
            raise UnknownNameError(message, advice if name == label and not str(message).endswith("?") else "")
    mapping = resolve(names, naming["columns"], naming["schema"], needed=())
    kinds = ("text", "texts", "ids", "id_groups", "id")
    texts = {column for name, column in mapping.items() if COLUMNS[name].kind in kinds}
    if not isinstance(source, FrameSource):
        whole = read_table(table, {*texts, *keys[1:]})
    else:
        columns = [*keys, *mapping.values(), *listed(metrics)]
        whole = source.hold([name for name in dict.fromkeys(columns) if name in names])
    for name in listed(metrics):
        if name in keys:
            raise ColumnError(f"column {name!r} is the label or the group; leave it out of ", Argument("metrics"))
    own = [name for name in dict.fromkeys(listed(metrics)) if _is_column(name, whole.schema, mapping)]
    asked = [part_of(name, is_column=False).name for name in listed(metrics) if name not in own]
    check_scores(whole, own, "")
    specs: list[str] = []
    left_out: list[str] = []
    embeds = False
    if asked or listed(suites) or not own:
        members = suites or (() if asked or own else SUITES)
        planned = plan(names, ScoreRequest(list(dict.fromkeys(asked)), suites=members, **naming))
        for scored in planned.scores:
            read = {planned.columns[column] for column in scored.metric.needs if column in planned.columns}
            if scored.name in asked or (scored.metric.corpus is None and label not in read):
                specs.append(_with_rule(scored.name, naming["no_relevant"]))
                embeds |= "embedder" in scored.metric.defaults
            elif scored.metric.corpus is None:
                left_out.append(_with_rule(scored.name, naming["no_relevant"]))
    return LabelledTable(whole, mapping, specs, own, left_out, naming, naming["embedder"] if embeds else None)


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
