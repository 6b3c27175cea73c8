"""Reading score files: their metadata, their score columns and what these declare, single columns, and whole tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import floats_of_arrow, is_list, is_number
from fastmetrics.base.column_names import COLUMNS, is_axis, is_cost, is_id, is_repeat, is_round, is_setting
from fastmetrics.base.columns import as_numbers
from fastmetrics.base.errors import (
    Argument,
    FastmetricsError,
    FileFormatError,
    InputError,
    OptionError,
    UnknownNameError,
    some,
)
from fastmetrics.base.score_metadata import METADATA, ScoreMetadata, counts_column
from fastmetrics.base.specs import Better, Side
from fastmetrics.metrics.metric import Reading
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.suites import lookup
from fastmetrics.plans.corpus_values import lists_read
from fastmetrics.plans.stored_metadata import Declared, Stored
from fastmetrics.retrieval.measures import is_measure, measure
from fastmetrics.stats.summed_scores import score_columns
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.csv_files import as_it_looks
from fastmetrics.tables.good_rows import good_batches, whole_table
from fastmetrics.tables.input_files import DataFile
from fastmetrics.tables.opening import open_each, open_source
from fastmetrics.tables.outputs import find_metadata
from fastmetrics.tables.readers import batch_of
from fastmetrics.tables.sources import FileSource

# The score column that a name means, and its declared properties: stored with it, or those of its metric.


T = TypeVar("T", pa.Table, pa.RecordBatch)


def column_named(name: str, columns: Sequence[str]) -> str:
    """The column that a name means: the one with this name, or the only one of the same metric with the same options.

    >>> column_named("MRR", ["reciprocal_rank", "token_f1"]), column_named("ndcg@10", ["nDCG@10", "ndcg@5"])
    ('reciprocal_rank', 'nDCG@10')

    A name that means no column is returned as it is.
    """
    if name in columns:
        return name
    meant = _canonical(name)
    if meant is None or meant in columns:
        return meant or name
    same = [column for column in columns if _canonical(column) == meant]
    return same[0] if len(same) == 1 else name


def _canonical(name: str) -> str | None:
    """The name of a column of this metric; None for an unknown metric."""
    try:
        return parse(name).name
    except FastmetricsError:
        return None


def untyped_scores(schema: pa.Schema) -> list[str]:
    """The columns of metrics without any value, whose type is unknown: JSON, records and objects have no other type.

    >>> untyped_scores(pa.schema({"token_f1": pa.null(), "comment": pa.null(), "chrf": pa.float64()}))
    ['token_f1']
    """
    return [field.name for field in schema if pa.types.is_null(field.type) and _canonical(field.name) is not None]


def with_score_types(table: T) -> T:
    """A table whose columns of metrics without any value are columns of missing scores, so that they are counted."""
    for name in untyped_scores(table.schema):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.nulls(table.num_rows, pa.float64()))
    return table


def unknown_metric(name: str, columns: Sequence[str], stored: Stored) -> UnknownNameError:
    """The error for a name that means no column; a metric stored under the user's own name is suggested by it."""
    specs: Mapping[str, str] = {declaration.spec: column for column, declaration in stored.items() if column in columns}
    meant = _canonical(name)
    own = [specs[meant]] if meant is not None and meant in specs else []
    return UnknownNameError.of("metric", name, columns, own)


def stored_declarations(metadata: ScoreMetadata) -> dict[str, Declared]:
    """The declarations of scores in their metadata; the bounds of a judge's scores are the range of its rubric.

    Raises ``FileFormatError`` for another structure.
    """
    ranges = {name: metadata.range_of(name) for name in metadata.scores or () if is_axis(name)}
    judged = {name: Declared(name, "higher", bounds) for name, bounds in ranges.items() if bounds is not None}
    stored = (metadata.declared or {}).items()
    return {**judged, **{name: Declared.of_json(name, declaration) for name, declaration in stored}}


def declarations_of(schema: pa.Schema) -> dict[str, Declared]:
    """The declarations in the metadata of a table of scores."""
    metadata = ScoreMetadata.of_schema(schema)
    return stored_declarations(ScoreMetadata(declared=metadata.declared))


def declared(names: Iterable[str], stored: Stored) -> dict[str, Declared]:
    """The declarations of these score columns, of those that have one; ``ndcg@10`` is a score of ``ndcg``."""
    declarations = {}
    for name in names:
        metric = None if name in stored else lookup(re.split(r"[@(]", name)[0])
        if name in stored:
            declarations[name] = stored[name]
        elif metric is not None:
            declarations[name] = Declared.of(metric, name)
    return declarations


def declared_statistics(names: Iterable[str], stored: Stored) -> dict[str, tuple[str, ...]]:
    """The percentiles that the metrics of these score columns declare."""
    return {
        name: declaration.statistics for name, declaration in declared(names, stored).items() if declaration.statistics
    }


def declared_labels(names: Iterable[str], stored: Stored) -> dict[str, str]:
    """The declared labels of statistics of these score columns: ``{"abstained.mean": "abstain_rate"}``."""
    return {
        f"{name}.{statistic}": label
        for name, declaration in declared(names, stored).items()
        for statistic, label in declaration.labels.items()
    }


def declared_better(names: Iterable[str], stored: Stored) -> dict[str, Better]:
    """The declared direction of these columns: ``{"hallucination": "lower"}``.

    Higher is better for a judge's scores, lower for columns of the cost of its calls; a measure of rankings has that of
    its family.
    """
    names = list(names)
    better: dict[str, Better] = {name: "higher" for name in names if is_axis(name)}
    better |= {name: "lower" for name in names if is_cost(name)}
    better |= {name: declaration.better for name, declaration in declared(names, stored).items()}
    return better | {name: _of_measure(name) for name in names if name not in better}


def _of_measure(name: str) -> Better:
    """The direction of a measure of rankings, such as ``recall@100``; None for any other name."""
    try:
        return measure(name).family.better if is_measure(name) else None
    except FastmetricsError:
        return None


def declared_readings(names: Iterable[str], stored: Stored) -> dict[str, Reading]:
    """The readings of means that the metrics of these columns declare."""
    return {
        name: declaration.reading
        for name, declaration in declared(names, stored).items()
        if declaration.reading is not None
    }


def declared_specs(stored: Stored) -> dict[str, str]:
    """The metric with its options of each column whose name does not tell it."""
    return {name: declaration.spec for name, declaration in stored.items()}


def declared_bounds(names: Iterable[str], stored: Stored) -> dict[str, tuple[float, float]]:
    """The smallest and the largest score that the metrics of these columns declare."""
    return {name: declaration.bounds for name, declaration in declared(names, stored).items()}


_NOISE = 1e-6
"""The share of the width of bounds by which rounding, as to float32, may leave them."""


def check_bounds(
    column: pa.Array | pa.ChunkedArray,
    name: str,
    bounds: tuple[float, float],
    start: int | None = None,
    table: str = "",
) -> None:
    """Raise ``InputError`` for the first score of a column that lies outside the bounds of its metric.

    ``start`` is the row of a ``table`` in which the column begins, if it is known.
    """
    if not is_number(column.type):
        return
    values, (low, high) = as_numbers(column, name), bounds
    noise = _NOISE * (high - low if math.isfinite(high - low) else 1.0)
    outside = np.isfinite(values) & ((values < low - noise) | (values > high + noise))
    if outside.any():
        place = int(outside.argmax())
        value, row = float(values[place]), "" if start is None else f"row {start + place:,}"
        where = ", ".join(filter(None, (table, row)))
        percent = "divide a percentage by 100" if bounds == (0, 1) and 1 < value <= 100 else "bring them to that scale"
        span = f"between {low:g} and {high:g}" if math.isfinite(high) else f"{low:g} or more"
        raise InputError(
            f"{where and where + ': '}{name} is {value:g}, but the scores of this metric are {span}; {percent}, or "
            "give another name to a column that is not this metric"
        )


def check_scores(table: pa.Table, names: Iterable[str], what: str) -> None:
    """Raise ``InputError`` for the first score of these columns outside the bounds that its metric declares."""
    for name, bounds in declared_bounds(names, stored_declarations(ScoreMetadata.of_schema(table.schema))).items():
        check_bounds(table.column(name), name, bounds, 0, what)


def directions(
    names: Sequence[str], stored: Stored, stated: Mapping[str, str], what: str = "metric"
) -> dict[str, Better]:
    """The direction of each column: as ``stated`` by the user, or as declared.

    Raises ``UnknownNameError`` for an unknown column, ``OptionError`` for another direction than higher or lower.
    """
    better: dict[str, Better] = {**dict.fromkeys(names), **declared_better(names, stored)}
    for name, direction in stated.items():
        column = column_named(name, names)
        if column not in names:
            raise UnknownNameError.of(what, name, list(dict.fromkeys(names)))
        if direction not in get_args(Side):
            raise OptionError(Argument("better", {name: direction}), ": expected higher or lower")
        better[column] = cast(Side, direction)
    return better


def direction_of(name: str, stored: Stored, stated: Mapping[str, str]) -> Side:
    """The direction of one column; raises ``OptionError`` if neither the user nor a declaration states it."""
    better = directions([name], stored, stated)[name]
    if better is None:
        statement = Argument("better", {name: "higher"})
        raise OptionError(f"{name!r} declares no direction; state it with ", statement, " or lower")
    return better


# Reading score files: their metadata, their score columns, single columns, and whole tables.


_NUMERIC = ("number", "amounts", "flag")
_MOST_NAMED = 5
"""Maximum number of runs that an error names."""

UNSCORED = "holds answers, not scores: run `fastmetrics score` (fm.score) first"
"""What is said of a table of answers where scores are expected."""


def has_answers(names: Iterable[str]) -> bool:
    """Whether one of the columns is a column of answers."""
    answer = ("answer", *COLUMNS["answer"].aliases)
    return any(name.lower() in answer for name in names)


@dataclass(frozen=True)
class ScoreFile:
    """An opened score file or folder: its metadata, if a run wrote it, and its score columns."""

    name: str
    source: FileSource
    metadata: ScoreMetadata | None
    scores: Sequence[str]
    looks: Mapping[str, pa.DataType]
    """The types of scores that only their text tells, as in CSV without metadata: numbers or booleans."""

    @classmethod
    def open(cls, path: str | Path) -> ScoreFile:
        """Open ``path``; raises ``FileFormatError`` if it cannot be read or contains no scores."""
        text = as_local(path)
        source = open_source(text)
        return cls._of(shown_address(text), source, metadata_of(text, source.files))

    @classmethod
    def open_all(cls, path: str | Path) -> list[ScoreFile]:
        """Open ``path``: one output, or each file of a folder or pattern, with its own metadata."""
        whole = open_source(as_local(path))
        if len(whole.files) == 1 or find_metadata(path) is not None:
            return [cls._of(shown_address(as_local(path)), whole, metadata_of(path, whole.files))]
        return cls._each(whole.files)

    @classmethod
    def _each(cls, files: Sequence[DataFile]) -> list[ScoreFile]:
        """Each file by itself, with its own metadata."""
        each = ((source, source.files[0]) for source in open_each(files))
        return [cls._of(file.shown, source, metadata_of(file.path, [file])) for source, file in each]

    def parts(self) -> list[ScoreFile]:
        """This output, or, without metadata of its own, each of its files, as :meth:`open_all` opens them."""
        return [self] if len(self.source.files) == 1 or self.metadata is not None else self._each(self.source.files)

    @classmethod
    def _of(cls, name: str, source: FileSource, metadata: ScoreMetadata | None) -> ScoreFile:
        stored = stored_scores(metadata)
        names = source.schema.names
        looks = {} if stored is not None or source.has_types else _looks(source)
        schema = pa.schema(looks.items()) if looks else source.schema
        scores = {*score_columns(schema), *untyped_scores(schema)} if stored is None else stored
        scores = [name for name in names if name in scores]
        if not (scores or (metadata is not None and metadata.metrics is not None)):
            raise FileFormatError(
                f"{name} {UNSCORED}" if has_answers(names) else f"{name}: no column of scores (numbers or booleans)"
            )
        flags = {score for score in scores if score in looks and pa.types.is_boolean(looks[score])}
        types = {score: pa.bool_() if score in flags else pa.float64() for score in scores if score in looks}
        return cls(name, source, metadata, scores, types)

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        """The kind of each column: scores are numbers or flags, or text that is read as it looks."""
        flags = {field.name for field in self.source.schema if pa.types.is_boolean(field.type)}
        plain = {name for name in names if name not in self.scores or name in self.looks}
        return {name: "any" if name in plain else "flag" if name in flags else "number" for name in names}

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of the scores, or of ``names`` only, each with the metadata.

        The first batch is empty, so that the columns of an empty file are known too.
        """
        chosen = self.summed_columns if names is None else names
        listed = [] if self.source.has_types else [*self._lists, *self._counts]  # in CSV, known by their values
        plain: dict[str, pa.DataType | None] = {**dict.fromkeys(listed), **self.looks}
        selection = self.source.select(self.kinds(chosen))
        metadata = self.schema_metadata
        nothing = batch_of(selection.schema)
        places = [(at, name) for at, name in enumerate(nothing.schema.names) if name in plain]
        for at, name in places:
            nothing = nothing.set_column(at, name, pa.array([], plain[name] or pa.list_(pa.float64())))
        yield nothing.replace_schema_metadata(metadata)
        for batch in good_batches(self.source, selection, any_length=True):
            for at, name in places:
                looked = as_it_looks(pa.chunked_array([batch.column(at)]), comma=self.source.has_decimal_comma)
                column, type_ = looked, plain[name]
                column = column if type_ is None else column.cast(type_)
                batch = batch.set_column(at, name, column.combine_chunks())
            yield batch.replace_schema_metadata(metadata)

    @property
    def schema_metadata(self) -> dict[bytes, str]:
        """The metadata, for the schema of a table."""
        return {METADATA: json.dumps({} if self.metadata is None else self.metadata.stored)}

    @property
    def summed_columns(self) -> list[str]:
        """The columns that a summary reads: scores, lists, counts, which another program may have filtered, and keys,
        which tell the rows that answer one question.
        """
        return [*self.scores, *self._lists, *self._counts, *self.key_columns]

    @cached_property
    def key_columns(self) -> list[str]:
        """The columns with ids, the numbers of repeats and of rounds, the names of systems, and parameters."""
        names = [name for name in self.source.schema.names if name not in self.scores]
        return [name for is_key in (is_id, is_repeat, is_round, is_setting) for name in names if is_key(name)]

    @property
    def _counted(self) -> Sequence[str]:
        """The corpus metrics that the metadata count."""
        return [] if self.metadata is None else list(self.metadata.counts or ())

    @property
    def _counts(self) -> list[str]:
        """The columns with the counts of rows."""
        return [name for name in map(counts_column, self._counted) if name in self.source.schema.names]

    @property
    def _lists(self) -> list[str]:
        """The columns with lists for corpus metrics that need all rows at once."""
        specs = {} if self.metadata is None else declared_specs(stored_declarations(self.metadata))
        columns = lists_read(specs.get(name, name) for name in self._counted)
        return [name for name in columns if name in self.source.schema.names]

    @property
    def run_names(self) -> list[str]:
        """The files with metadata of a run of their own."""
        each = ((file.shown, metadata_of(file.path, [file])) for file in self.source.files)
        return [name for name, metadata in each if metadata is not None and metadata.metrics is not None]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the scores, from the metadata."""
        return {} if self.metadata is None else self.metadata.settings()

    @property
    def columns_read(self) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
        """The scored and the ignored columns, from the metadata."""
        return ({}, {}) if self.metadata is None else (self.metadata.columns or {}, self.metadata.passed_over or {})


_INPUT = frozenset(
    name for column in COLUMNS.values() if column.kind not in _NUMERIC for name in (column.name, *column.aliases)
)
"""The input columns that hold no numbers, though an answer or a reference may look like one."""


def _looks(source: FileSource) -> dict[str, pa.DataType]:
    """The types of the columns of text that hold numbers or booleans only, or nothing; empty if there are none."""
    types: dict[str, set[pa.DataType]] = {name: set() for name in source.schema.names if name.lower() not in _INPUT}
    for batch in good_batches(source, source.select(dict.fromkeys(types, "any")), any_length=True):
        for name, found in list(types.items()):
            type_ = as_it_looks(pa.chunked_array([batch.column(name)]), comma=source.has_decimal_comma).type
            found |= set() if pa.types.is_null(type_) else {pa.float64() if is_number(type_) else type_}
            if not found <= {pa.float64()} and found != {pa.bool_()}:
                del types[name]
        if not types:
            break
    return {name: next(iter(found), pa.null()) for name, found in types.items()}


def metadata_of(path: str | Path, files: Sequence[DataFile] = ()) -> ScoreMetadata | None:
    """The metadata beside a path, or in its single file, or None if there are none.

    Raises a ``FileFormatError`` with the file's name if they cannot be read.
    """
    stored = find_metadata(path, files)
    try:
        return None if stored is None else ScoreMetadata.of(stored)
    except FileFormatError as error:
        raise FileFormatError(f"{shown_address(as_local(path))}: {error}") from error


def stored_scores(metadata: ScoreMetadata | None) -> list[str] | None:
    """The score columns of a file according to its metadata, or None if unknown."""
    if metadata is None:
        return None
    if metadata.metrics is not None:
        return list(metadata.metrics)  # the other numeric columns are copied input
    output = metadata.stored.get("output")
    if not isinstance(output, Mapping):
        return None
    return score_columns(pa.schema([(name, _NUMBERS.get(str(type_), pa.string())) for name, type_ in output.items()]))


_NUMBERS = {str(type_): type_ for type_ in (pa.bool_(), pa.int64(), pa.int32(), pa.float64(), pa.float32())}
"""The types of scores by their names in metadata."""


def column_of(path: str | Path, name: str) -> Iterator[Any]:
    """The scores of one column of an output, or the lists stored in it, at each call."""
    for batch in ScoreFile.open(path).batches([name]):
        yield batch.column(0) if is_list(batch.schema.field(0).type) else floats_of_arrow(batch.column(0), name)


def check_one(file: ScoreFile, *, latest: bool = False) -> None:
    """Raise ``OptionError`` if several files of this input are outputs of runs of their own.

    Files without the metadata of a run are parts of one table.  ``latest`` says whether the caller can take the last.
    """
    if file.metadata is not None or len(file.source.files) < 2:
        return
    runs = file.run_names
    if len(runs) < 2:
        return
    ways = (", or take the last one with ", Argument("latest", True)) if latest else ()
    raise OptionError(f"{file.name} holds {len(runs):,} runs: {some(runs, _MOST_NAMED)}; name one of them", *ways)


def read_table(path: str | Path | Sequence[str | Path], text: Collection[str] | None = None) -> pa.Table:
    """The rows of a file, a folder, or any other input of ``open_source``; raises ``FileFormatError`` for a bad row.

    In CSV and TSV, the columns ``text`` (by default all) and ids are read as text and the types of the others are
    inferred.  The metadata of the table contain the stored declarations of the scores.
    """
    source = open_source(path)
    metadata: ScoreMetadata | None = None
    scores: Collection[str] = ()
    if isinstance(path, str | Path):  # several files are read as tables of any kind
        metadata = metadata_of(path, source.files)
        scores = stored_scores(metadata) or ()
    table = whole_table(source, {name: "number" if name in scores else "any" for name in source.schema.names})
    if metadata is not None and metadata.declared is not None:
        table = table.replace_schema_metadata(ScoreMetadata(declared=metadata.declared).for_schema())
    if text is None or source.has_types:
        return table
    for at, field in enumerate(table.schema):
        if field.name not in text and field.name not in scores and not is_id(field.name):
            table = table.set_column(at, field.name, as_it_looks(table.column(at)))
    return table
