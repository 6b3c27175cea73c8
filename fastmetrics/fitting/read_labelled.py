"""Reading a labelled table: its columns, the metrics that a fit may read, and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrow import is_number
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.base.input_columns import COLUMNS, listed, resolve
from fastmetrics.metrics.fitted_file import RowScores
from fastmetrics.metrics.plan import ScoreRequest, canonical_name, parse, part_of, plan
from fastmetrics.results.score_file import read_table
from fastmetrics.scoring.score import score
from fastmetrics.tables.sources import FrameSource, open_table


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
    """The arguments about columns, embedder and rows without relevant documents."""
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
    source = open_table(table)
    names = list(source.names)
    for name in [label, *([] if group is None else [group])]:
        if name not in names:
            raise UnknownNameError.of("column", name, names)
    mapping = resolve(names, naming["columns"], naming["schema"], needed=())
    texts = {column for name, column in mapping.items() if COLUMNS[name].kind in ("text", "texts", "ids", "id")}
    if not isinstance(source, FrameSource):
        whole = read_table(table, texts | ({group} if group is not None else set()))
    else:
        columns = [label, *([] if group is None else [group]), *mapping.values(), *listed(metrics)]
        whole = source.hold([name for name in dict.fromkeys(columns) if name in names])
    features = _features(names, whole.schema, mapping, label, group, metrics, suites, naming)
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
        planned = plan(names, ScoreRequest(suites=suites, **naming))
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
    return name, _split(score(columns, metric, threads=threads).column(metric))
