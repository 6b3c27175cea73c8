"""Score columns: which they are, the columns that names mean, and what they declare: bounds, directions, labels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, is_list, is_number
from fastmetrics.base.column_names import is_axis, is_cost
from fastmetrics.base.columns import as_numbers, index_columns
from fastmetrics.base.errors import (
    Argument,
    FastmetricsError,
    InputError,
    OptionError,
    UnknownNameError,
    quoted,
)
from fastmetrics.base.options import by_name
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.base.specs import Better, Side
from fastmetrics.metrics.metric import Reading
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.suites import lookup
from fastmetrics.plans.stored_metadata import Declared, Stored
from fastmetrics.retrieval.measures import is_measure, measure


def score_columns(schema: pa.Schema) -> list[str]:
    """The names of the score columns: numeric and boolean columns except ``id``, ``repeat``, ``round``, parameters such
    as ``temperature``, and the pandas index.

    Integer and boolean columns that the metadata do not list as metrics were kept by a run and are not scores.

    >>> score_columns(pa.schema({"id": pa.int64(), "token_f1": pa.float64(), "passed": pa.bool_(), "why": pa.string()}))
    ['token_f1', 'passed']
    """
    labels = index_columns(schema)
    metadata = ScoreMetadata.of_schema(schema)
    if metadata.n_rows is not None and not metadata.metrics:
        return []  # the file contains corpus metrics only
    kinds = _KINDS[:1] if metadata.metrics else _KINDS
    keys = labels.union(*metadata.roles(schema.names).values(), belonging(schema.names))
    others = [field for field in schema if field.name not in keys]
    return [field.name for field in others if any(kind(field.type) for kind in kinds)]


INCLUSION, PREDICTED, SAMPLE = "_inclusion", "_predicted", "_sample"
"""After the name of a dear column that few rows have: the probability of each drawn row, a prediction of all, and in
the sample of which table it is and how it was drawn."""


def tells_sample(name: str) -> bool:
    """Whether a column belongs to a sample, beside the dear column that is made for it."""
    return name.endswith((INCLUSION, SAMPLE))


def belonging(names: Sequence[str]) -> list[str]:
    """The columns that say how few rows of a dear column were drawn.

    >>> belonging(["judge_x", "judge_x_inclusion", "judge_x_predicted", "length_predicted"])
    ['judge_x_inclusion', 'judge_x_predicted']
    """
    stems = [name.removesuffix(INCLUSION) for name in names if name.endswith(INCLUSION)]
    return [
        name
        for name in names
        if name.endswith(INCLUSION) or (name.endswith(PREDICTED) and name.removesuffix(PREDICTED) in stems)
    ]


def check_drawn(run: str, name: str, shares: Floats, values: Floats) -> None:
    """Raise ``InputError`` for a probability of 0, below or above 1, and for a score of a row that was not drawn."""
    for wrong, why in (
        (~np.isnan(shares) & ~((shares > 0) & (shares <= 1)), "expected a probability above 0, at most 1"),
        (np.isnan(shares) & ~np.isnan(values), f"but the row has a score of {name}: expected its probability"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            shown = "null" if np.isnan(shares[row]) else f"{shares[row]:g}"
            raise InputError(f"{run}, row {row:,}: {name + INCLUSION} is {shown}, {why}")


def axes_of(columns: Sequence[str]) -> list[str]:
    """The columns of a judge's scores: those with a status column, but the answers of a bot, which have one too."""
    return [name for name in columns if name != "answer" and f"{name}_status" in columns]


def list_columns(schema: pa.Schema) -> list[str]:
    """The names of list columns, in which a run stores data of each row for corpus metrics."""
    return [field.name for field in schema if is_list(field.type)]


def has_numbers(type_: pa.DataType) -> bool:
    """Whether a column of this type holds numbers or booleans."""
    return any(kind(type_) for kind in _KINDS)


_KINDS = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal)


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


def unknown_metric(
    name: str, columns: Sequence[str], stored: Stored, present: Collection[str] = ()
) -> UnknownNameError:
    """The error for a name that means no column; a metric stored under the user's own name is suggested by it.

    A name of the columns that are ``present`` is that of a column without numbers.
    """
    if name in present:
        return UnknownNameError(
            f"{name!r} is a column with values that are no numbers; known metrics: {quoted(columns)}"
        )
    specs: Mapping[str, str] = {declaration.spec: column for column, declaration in stored.items() if column in columns}
    meant = _canonical(name)
    own = [specs[meant]] if meant is not None and meant in specs else []
    return UnknownNameError.of("metric", name, columns, own)


def stored_declarations(metadata: ScoreMetadata) -> dict[str, Declared]:
    """The declarations of scores in their metadata; the bounds of a judge's scores are the range of its rubric.

    Raises ``FileFormatError`` for another structure.
    """
    ranges = metadata.ranges.items()
    judged = {name: Declared(name, "higher", bounds) for name, bounds in ranges if is_axis(name)}
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
    better = {name: declaration.better for name, declaration in declared(names, stored).items()}
    return better | {name: _undeclared_better(name) for name in names if name not in better}


def _undeclared_better(name: str) -> Better:
    if is_axis(name) or is_cost(name):
        return "lower" if is_cost(name) else "higher"
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
    low, high = bounds
    noise = _NOISE * (high - low if math.isfinite(high - low) else 1.0)
    ends = pc.min_max(column).as_py().values()
    if all(end is None or low - noise <= end <= high + noise for end in ends):
        return
    values = as_numbers(column, name)
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


def stated_better(better: Mapping[str, str] | str | None) -> dict[str, str]:
    """The directions that a user states; raises ``OptionError`` for something else."""
    return by_name("better", better, "higher or lower: {'price': 'lower'}", spelled=True)


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
