"""The signature of a metric: columns in the forms that it asks for, several references, and options."""

from __future__ import annotations

import functools
import inspect
import math
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Floats, Ints, decoded
from fastmetrics.base.column_names import BUILT_IN, COLUMNS, Column
from fastmetrics.base.errors import InputError, PluginError, UnknownNameError, shown
from fastmetrics.base.options import Allowed, LimitedText, Real, Whole, description_of, of_hint
from fastmetrics.metrics.batch import Batch, Need, Options

# Alternative columns: a metric needs one of several sets of columns.


@dataclass(frozen=True)
class Either:
    """``sets`` of optional columns, one of which a table must have; ``rows`` says which rows are complete.

    >>> str(Either((("total_tokens",), ("prompt_tokens", "completion_tokens")), lambda batch, options: None))
    "'total_tokens', or 'prompt_tokens' and 'completion_tokens'"
    """

    sets: tuple[tuple[str, ...], ...]
    rows: Callable[[Batch, Options], Flags]

    def met_by(self, columns: Collection[str]) -> bool:
        """Whether the columns contain one of the sets."""
        return any(set(names) <= set(columns) for names in self.sets)

    def __str__(self) -> str:
        return ", or ".join(" and ".join(map(repr, names)) for names in self.sets)


# Columns that a metric outside the package declares for itself.


_KINDS: Mapping[Any, str] = {str: "text", int: "number", float: "number", bool: "flag"}
_LIST_KINDS: Mapping[Any, str] = {str: "ids", int: "numbers", float: "numbers"}
"""The kinds of columns by their annotation, as a value and as the items of a list; all others may hold anything."""


def declare_columns(function: Callable[..., Any], meanings: Mapping[str, str]) -> None:
    """Add the columns with these meanings, whose kinds the annotations of the function's parameters tell.

    Raises ``PluginError`` for a name that is no parameter or that a column of the package has, for one with capitals,
    and for a column that another metric declares with another kind.
    """
    if not meanings:
        return
    hints = typing.get_type_hints(function)
    for name, meaning in meanings.items():
        where = f"metric {function.__name__}: the column {name!r}"
        if name not in hints or name != name.lower():
            raise PluginError(f"{where}: expected the name of a parameter, in lower case")
        aliases = _aliases()
        if name in BUILT_IN or name in aliases:
            raise PluginError(f"{where} is {aliases.get(name, name)!r} of every table; leave it out")
        declared = Column(name, _kind(hints[name]), meaning)
        other = COLUMNS.setdefault(name, declared)
        if other.kind != declared.kind:
            raise PluginError(f"{where} is read by another metric as {other.kind}, not as {declared.kind}")


def _aliases() -> dict[str, str]:
    """The column of each alias."""
    return {alias: column.name for column in COLUMNS.values() for alias in column.aliases}


def _kind(hint: Any) -> str:
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    listed = next((kind for kind in (hint, *kinds) if typing.get_origin(kind) is list), None)
    if listed is not None:
        return _LIST_KINDS.get(typing.get_args(listed)[0], "any")
    return _KINDS.get(kinds[0], "any")


# Columns as plain Python values or Arrow arrays for custom metrics, and row-by-row calls.


VALUES = (str, float, int, bool, list)
"""The annotations of a function of one row; a list may have an item type: ``list[str]``."""

_LARGEST = float(np.finfo(np.float64).max)
_OPTIONS: dict[Any, Allowed] = {int: Whole(-(2**63), 2**63 - 1), float: Real(-_LARGEST, _LARGEST), str: LimitedText()}


@dataclass(frozen=True)
class ValuesIn:
    """One Python value per row, None for null; with ``lists``, the whole list of a row.

    Numbers have the type ``number``: ``int``, ``float`` or ``bool``; None leaves them as they are.
    """

    lists: bool
    number: Any = None

    def of(self, batch: Batch, column: str, options: Options) -> NDArray[np.object_]:
        """The column's values, or, in a column of lists read item by item, the value of each item."""

        def make() -> NDArray[np.object_]:
            values = self._values(batch, column)
            return _objects(values if self.number is None else _typed(values, self.number, column))

        return batch.remember(("values", column, self.lists, self.number), make)

    def _values(self, batch: Batch, column: str) -> list[Any]:
        kind = COLUMNS[column].kind
        if self.lists:
            lists: list[Any] = batch.columns[column].to_pylist()
            return [value if value is None or isinstance(value, list) else [value] for value in lists]
        if kind in ("text", "texts"):
            text = batch.text(column)
            strings: list[Any] = text.strings()
            return strings if text.groups is not None else _nulls(strings, text.valid.tolist())
        if kind in ("number", "amounts", "flag") and not pa.types.is_integer(batch.columns[column].type):
            numbers = batch.numbers(column).values.tolist()
            return _nulls(numbers, batch.present(column).tolist())
        return list(batch.columns[column].to_pylist())


@dataclass(frozen=True)
class ArrowIn:
    """The column as an Arrow array; for ``reference``, the strings of all lists in sequence."""

    def of(self, batch: Batch, column: str, options: Options) -> pa.Array:
        """The array with dictionaries decoded."""

        def make() -> pa.Array:
            if column == "reference" and batch.owners(column) is not None:
                return pa.array(batch.text(column).strings(), pa.string())
            return decoded(batch.columns[column])

        return batch.remember(("arrow", column), make)


def need_of(hint: Any, column: str) -> ValuesIn | ArrowIn | None:
    """The representation of a plain annotation (``str``, ``float``, ``int``, ``bool``, ``list[...]``, ``pa.Array``)."""
    kinds = [kind for kind in (typing.get_args(hint) or (hint,)) if kind is not type(None)]
    plain = hint if typing.get_origin(hint) is list else kinds[0]
    if isinstance(plain, type) and issubclass(plain, pa.Array):
        return ArrowIn()
    lists = plain is list or typing.get_origin(plain) is list
    if not lists and plain not in VALUES:
        return None
    if (
        COLUMNS[column].kind != "any"
        and lists != (COLUMNS[column].kind in ("texts", "ids", "id_groups", "numbers", "vector", "vectors"))
        and column != "reference"
    ):
        expected = "a list" if not lists else "one value a row"
        raise TypeError(f"{column}: the annotation {plain} does not match the column, which holds {expected}")
    items = typing.get_args(plain)[0] if lists and typing.get_args(plain) else plain
    number = next((one for one in (items, *typing.get_args(items)) if one in _EXPECTED), None)
    return ValuesIn(lists, number)


def option_of(hint: Any) -> Allowed:
    """The allowed values of an option's annotation; ``int``, ``float`` and ``str`` allow all values of the type."""
    kind, *metadata = typing.get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if kind in (int, float, str) and not any(hasattr(entry, "take") for entry in metadata):
        return _OPTIONS[kind]
    return of_hint(hint)


def by_row(function: Callable[..., Any], required: Sequence[str], bounds: tuple[float, float]) -> Callable[..., Floats]:
    """The function called once per row with the row's values, at Python speed; incomplete rows give NaN."""

    @functools.wraps(function)
    def rows(**arguments: Any) -> Floats:
        columns = {name: values for name, values in arguments.items() if isinstance(values, np.ndarray)}
        options = {name: value for name, value in arguments.items() if name not in columns}
        scores = np.full(len(next(iter(columns.values()))), np.nan)
        for at in range(len(scores)):
            row = {name: values[at] for name, values in columns.items()}
            if all(row[name] is not None for name in required):
                scores[at] = _score(function, row, options, bounds)
        return scores

    return rows


def by_array(function: Callable[..., Any], bounds: tuple[float, float]) -> Callable[..., Floats]:
    """The function called with whole columns; its result must be one number per row within the bounds."""

    @functools.wraps(function)
    def whole(**arguments: Any) -> Floats:
        rows = len(next(value for value in arguments.values() if isinstance(value, pa.Array | np.ndarray)))
        returned = function(**arguments)
        try:
            scores = np.asarray(returned, np.float64)
        except (TypeError, ValueError) as error:
            message = f"metric {function.__name__}: expected one number per row, got {shown(returned)}"
            raise PluginError(message) from error
        if scores.shape != (rows,):
            raise PluginError(f"metric {function.__name__}: expected {rows:,} scores, got an array of {scores.shape}")
        low, high = bounds
        outside = np.flatnonzero((scores < low) | (scores > high))
        if len(outside):
            raise PluginError(_outside(function, scores[outside[0]], bounds))
        return scores

    return whole


def _score(function: Callable[..., Any], row: dict[str, Any], options: dict[str, Any], bounds: Any) -> float:
    """The score of one row; raises a ``PluginError`` that shows the row if the result is not a score."""
    inputs = ", ".join(f"{name}={shown(value)}" for name, value in row.items())
    try:
        score = function(**row, **options)
    except Exception as error:
        raise PluginError(f"metric {function.__name__} of {inputs}: {type(error).__name__}: {error}") from error
    if score is None:
        return math.nan
    if not isinstance(score, int | float | np.number | np.bool_):
        raise PluginError(f"metric {function.__name__} of {inputs}: expected a number or None, got {shown(score)}")
    if score < bounds[0] or score > bounds[1]:
        raise PluginError(f"{_outside(function, score, bounds)}, of {inputs}")
    return float(score)


def _outside(function: Callable[..., Any], score: Any, bounds: tuple[float, float]) -> str:
    return f"metric {function.__name__}: the score {score:g} is outside its bounds, {bounds[0]:g} to {bounds[1]:g}"


_EXPECTED: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false"}


def _typed(values: list[Any], kind: Any, column: str) -> list[Any]:
    """The values, or the lists of them, with their numbers as ``kind``; raises ``InputError`` for another number."""

    def convert(value: Any, row: int) -> Any:
        if not isinstance(value, int | float | Decimal):
            return value
        if kind is float:
            return float(value)
        if math.isnan(value):  # as pandas writes missing values
            return None
        if value not in (0, 1) if kind is bool else value % 1 != 0:
            raise InputError(f"column {column!r}: expected {_EXPECTED[kind]}, got {shown(value)}", row=row)
        return kind(value)

    return [
        [convert(item, row) for item in value] if isinstance(value, list) else convert(value, row)
        for row, value in enumerate(values)
    ]


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _nulls(values: list[Any], present: list[bool]) -> list[Any]:
    return [value if is_present else None for value, is_present in zip(values, present, strict=True)]


# Rows with several references: each reference is scored separately, and the best score counts.


def column_of_items(needs: Mapping[str, Need], columns: Iterable[str]) -> str | None:
    """The column whose items are scored one by one: references, or their embeddings if the metric reads vectors."""
    for column in columns:
        if column == "reference" or (COLUMNS[column].kind == "vectors" and getattr(needs[column], "by_item", False)):
            return column
    return None


def aligned(batch: Batch, column: str, need: Need, options: Options, owner: Ints) -> Any:
    """A column's representation, repeated for each reference of its row; ``owner`` has the row of each reference."""
    value = need.of(batch, column, options)
    return batch.remember("aligned", lambda: value.take(owner), value, owner)


def best_of(scores: Floats, merit: Floats, owner: Ints, n_rows: int) -> Floats:
    """The score of the first reference with the highest defined merit, for each row."""
    highest = np.full(n_rows, np.nan)
    np.fmax.at(highest, owner, merit)
    best = np.flatnonzero(merit == highest[owner])[::-1]
    chosen = np.full(n_rows, np.nan)
    chosen[owner[best]] = scores[best]
    return chosen


# Parsing the signature of a declared function: columns, their representations, and options.


@dataclass(frozen=True)
class Parameters:
    """The columns a function reads, the optional ones, and the defaults and allowed values of its options.

    ``call`` takes the columns in the representations of ``needs``; ``grouped`` means that it receives all references at
    once.
    """

    call: Callable[..., Any]
    needs: Mapping[str, Need]
    optional: frozenset[str]
    defaults: Mapping[str, Any]
    allowed: Mapping[str, Allowed]
    descriptions: Mapping[str, str]
    grouped: bool


def parameters(function: Callable[..., Any], bounds: tuple[float, float]) -> Parameters:
    """Parse the signature.

    Raises ``UnknownNameError`` for a parameter that is not a column, ``TypeError`` for an unsupported annotation.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    needs: dict[str, Need] = {}
    own: dict[str, str] = {}
    optional, defaults = set(), {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name!r} has no annotation")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            defaults[name] = parameter.default
            continue
        column = name if name in COLUMNS else _aliases().get(name)
        if column is None:
            unknown = UnknownNameError.of("column", name, COLUMNS)
            own_column = f"@fm.metric(..., columns={{{name!r}: 'what it holds'}})"
            raise UnknownNameError(f"{unknown}; a column of your own is declared by {own_column}")
        if column in needs:
            raise TypeError(f"{function.__name__}: the parameter {name!r} is the column {column!r} once more")
        needs[column] = _need(hints[name], column)
        own |= {column: name} if column != name else {}
        if parameter.default is None:
            optional.add(column)
    if not needs:
        raise TypeError(f"{function.__name__}: expected a positional parameter that names a column, such as answer")
    for need in list(needs.values()):
        for column, hint in getattr(need, "columns", {}).items():
            if column not in needs:
                needs[column] = _need(hint, column)
                optional.add(column)
        if hasattr(need, "options"):
            hints = {**typing.get_type_hints(need.options, include_extras=True), **hints}
            defaults = {**defaults, **{setting.name: setting.default for setting in fields(need.options)}, **defaults}
    reference = needs.get("reference")
    return Parameters(
        call=_callable(
            _with_aliases(function, own), hints, needs, [name for name in needs if name not in optional], bounds
        ),
        needs=needs,
        optional=frozenset(optional),
        defaults=defaults,
        allowed={name: option_of(hints[name]) for name in defaults},
        descriptions={name: description_of(hints[name]) for name in defaults},
        grouped=isinstance(reference, ValuesIn) and reference.lists,
    )


def _with_aliases(function: Callable[..., Any], own: Mapping[str, str]) -> Callable[..., Any]:
    """The function with the canonical names of columns for those of its parameters that are aliases."""
    if not own:
        return function

    @functools.wraps(function)
    def call(**arguments: Any) -> Any:
        return function(**{own.get(name, name): value for name, value in arguments.items()})

    return call


def _callable(
    function: Callable[..., Any],
    hints: Mapping[str, Any],
    needs: Mapping[str, Need],
    required: list[str],
    bounds: tuple[float, float],
) -> Callable[..., Any]:
    """The function over a batch, for every supported form of function."""
    kinds = {type(need) for need in needs.values()}
    if kinds == {ValuesIn}:
        return by_row(function, required, bounds)
    if kinds == {ArrowIn}:
        return by_array(function, bounds)
    if kinds & {ValuesIn, ArrowIn}:
        raise TypeError(f"{function.__name__}: expected all columns in one form: Python values, or Arrow arrays")
    own = inspect.signature(function).parameters
    if set(own) >= {*hints} - {"return"} | {*needs}:
        return function

    @functools.wraps(function)
    def call(*columns: Any, **arguments: Any) -> Any:
        return function(*columns, **{name: value for name, value in arguments.items() if name in own})

    call.__annotations__ = dict(hints)
    return call


def _need(hint: Any, column: str) -> Need:
    for candidate in (hint, *typing.get_args(hint)):
        if hasattr(candidate, "__metadata__"):
            need: Need = candidate.__metadata__[0]
            return need
    plain = need_of(hint, column)
    if plain is None:
        raise TypeError(f"{column}: expected str, float, int, bool, list or pyarrow.Array, got {hint}")
    return plain
