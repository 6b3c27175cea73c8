"""Paths to values within nested data: parsing them, and following them in parsed JSON and in Arrow columns.

A path is a column where the data are nested: ``output.answer``, ``docs[].text``, ``choices[0].message.content``.

- ``a.b`` is the field ``b`` of the object ``a``; a name in quotes, ``a."b.c"``, may contain dots.  A name with dots is
  also found without quotes, as in the key "gen_ai.system" of attributes.
- ``a[0]`` is the first item of a list, ``a[-1]`` the last.
- ``a[]`` is every item of a list, so that the path gives one list; two of them give one flat list.
- ``a[role=user]`` is the first object in a list whose field "role" is the text ``user``.
- ``a[turn=last]`` is the last turn of a list of messages with an answer: ``.question`` and ``.answer`` are the texts of
  the last message of the assistant and of the user before it, ``.tool_calls`` the messages between (JSON).
- ``[a, b]`` is a list with the value of each of several paths.
- ``a || b`` is the first of several paths that has a value in the row.
- ``a unless b`` is ``a``, and missing where ``b`` has a value: the answer of a call unless it has an error.
- ``a since b`` is the time from ``b`` to ``a`` in milliseconds, of times in ISO 8601 or in numbers since 1970; NaN if
  one of them is no time, or only one has a zone.

Text that contains JSON, as databases and CSV have it, is parsed where a path goes into it.  What is missing on the way
is null; a value of another kind on the way is an error of the row.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, reduce
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrays import (
    array_of_strings,
    as_lists,
    decoded,
    is_list,
    is_list_view,
    is_number,
    is_text,
    numpy_values,
    plain,
    side_by_side,
)
from fastmetrics.base.conversations import LastTurn, last_turn
from fastmetrics.base.errors import ColumnError, UnknownNameError, shown
from fastmetrics.base.text_structure import as_json, number_text

# What a path is, and its text.


@dataclass(frozen=True)
class Every:
    """The step ``[]``: every item of a list."""


@dataclass(frozen=True)
class First:
    """The step ``[key=value]``: the first object of a list with this text in this field."""

    key: str
    value: str


@dataclass(frozen=True)
class Turn:
    """The step ``[turn=last]``: the last turn of a conversation that has an answer."""


EVERY: Final = Every()
LAST_TURN: Final = Turn()
Step: TypeAlias = str | int | Every | First | Turn
"""A field, the position of an item, or one of the above."""
Steps: TypeAlias = tuple[Step, ...]


class PathError(ValueError):
    """A value of another kind than a path expects on its way."""


@dataclass(frozen=True)
class Path:
    """A parsed path: ``choices`` are the alternatives, of which the first with a value counts.

    It is missing where ``unless`` has a value, and with ``since`` the time from there.
    """

    choices: tuple[Steps, ...]
    unless: Path | None = None
    since: Path | None = None
    together: tuple[Path, ...] = ()
    """The paths whose values are the items of a list; there are no ``choices`` then."""

    @property
    def is_list(self) -> bool:
        """Whether the path gives a list by itself."""
        return bool(self.together) or any(EVERY in steps for steps in self.choices)

    def value(self, record: Mapping[str, Any]) -> Any:
        """The value in a record of parsed JSON, or None.

        >>> parse("docs[].text").value({"docs": [{"text": "a"}, {"text": "b"}]})
        ['a', 'b']
        >>> parse("input[-1].content || input").value({"input": "Why?"})
        'Why?'

        Raises ``PathError`` if a value on the way is of another kind, and no alternative has a value.
        """
        if self.together:
            return [_item_text(path.value(record)) for path in self.together]
        if self.unless is not None and self.unless._is_set(record):
            return None
        if self.since is not None:
            return _milliseconds(self.since.value(record), replace(self, unless=None, since=None).value(record))
        failure = None
        for steps in self.choices:
            try:
                value = _follow(record, steps, 0)
            except PathError as error:
                failure = failure or error
                continue
            if value is not None:
                return value
        if failure is not None:
            raise failure
        return None

    def _is_set(self, record: Mapping[str, Any]) -> bool:
        """Whether the path has a value that is neither empty nor false, or one of another kind on its way."""
        try:
            return self.value(record) not in (None, "", False)
        except PathError:
            return True

    def column(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """The column that the path gives, from columns of Arrow data by name.

        >>> docs = pa.array([[{"text": "a"}, {"text": "b"}], None])
        >>> parse("docs[].text").column({"docs": docs}).to_pylist()
        [['a', 'b'], None]

        Raises ``PathError`` for a column whose type is of another kind, or that lacks a field, on every alternative.
        """
        if self.together:
            return side_by_side([path.column(columns) for path in self.together])
        if self.unless is not None:
            return _where_unset(replace(self, unless=None).column(columns), self.unless, columns)
        if self.since is not None:
            ends, starts = (path.column(columns).to_pylist() for path in (replace(self, since=None), self.since))
            return pa.array(map(_milliseconds, starts, ends), pa.float64())
        found: list[pa.Array] = []
        failure: PathError | None = None
        for steps in self.choices:
            try:
                found.append(_within(columns, steps))
            except PathError as error:
                failure = failure or error
        if not found and failure is not None:
            raise failure
        return found[0] if len(found) == 1 else _first_of(found)

    def type_in(self, types: Mapping[str, pa.DataType]) -> pa.DataType:
        """The type of the column, from the types of columns by name; raises what :meth:`column` does."""
        return self.column({name: pa.nulls(0, types.get(name, pa.null())) for name in self.columns(types)}).type

    def read_from(self, record: pa.StructType, leaf: pa.DataType | None) -> pa.StructType:
        """What of a record's type is read for the path, whose column has the type ``leaf``.

        >>> record = pa.struct({"id": pa.int64(), "docs": pa.list_(pa.struct({"text": pa.string(), "n": pa.int64()}))})
        >>> parse("docs[].text").read_from(record, pa.list_(pa.string()))
        StructType(struct<docs: list<item: struct<text: string>>>)

        Raises ``PathError`` for an alternative that does not lead through fields and lists to its end, and for a list
        that is to be text of JSON, which is written row by row.
        """
        whole = leaf if self.since is None else None
        parts = [path.read_from(record, None) for path in self.together]
        for steps in self.choices:
            if whole is not None and EVERY in steps and not is_list(whole):
                raise PathError(f"the items of a list are no {whole}")
            parts.append(_narrowed(record, steps, 0, whole.value_type if whole and EVERY in steps else whole))
        parts += [] if self.since is None else [self.since.read_from(record, None)]
        parts += [] if self.unless is None else self.unless._first_from(record)
        return reduce(merged, parts)

    def _first_from(self, record: pa.StructType) -> list[pa.StructType]:
        """The first alternative that the types do not rule out, as a later row may have a field that they lack."""
        for steps in self.choices:
            try:
                return [_narrowed(record, steps, 0, None)]
            except _NoFieldError:
                return [_narrowed(pa.null(), steps, 0, None)]
            except PathError:
                continue
        return []

    def columns(self, names: Iterable[str]) -> list[str]:
        """Which of the columns ``names`` the path reads; it is empty if none of its alternatives begins with one."""
        names = set(names)
        if self.together:
            roots = [path.columns(names) for path in self.together]
            return list(dict.fromkeys(name for found in roots for name in found)) if all(roots) else []
        found = [name for name, _ in (_root(steps, names) for steps in self.choices) if name is not None]
        for other in (self.since, self.unless):
            found += other.columns(names) if other is not None and found else ()
        return list(dict.fromkeys(found))


_NAME = r"[^\s.\[\]|\"'][^.\[\]|\"']*"
_STEP = re.compile(
    rf"""(?P<dot>\.?)(?:(?P<name>{_NAME})|"(?P<double>[^"]*)"|'(?P<single>[^']*)')
    |\[(?:(?P<every>)|(?P<item>-?\d{{1,9}})|(?P<key>[^=\]]+)=(?P<value>[^\]]*))\]""",
    re.VERBOSE,
)


@cache
def parse(text: str) -> Path:
    """The path that a text describes.

    >>> parse("choices[0].message.content || text").choices
    (('choices', 0, 'message', 'content'), ('text',))

    Raises ``ColumnError`` for a text that is no path.
    """
    listed = _LISTED.fullmatch(text)
    if listed is not None:
        return Path((), together=tuple(parse(part.strip()) for part in _COMMA.split(listed[1])))
    rest, *unless = _UNLESS.split(text, maxsplit=1)
    value, *since = _SINCE.split(rest, maxsplit=1)
    choices = tuple(_steps(choice.strip(), text) for choice in value.split("||"))
    unless_path, since_path = (parse(*other) if other else None for other in (unless, since))
    return Path(choices, unless_path, since_path)


_NOT_IN_QUOTES = r"""(?=(?:[^"]*"[^"]*")*[^"]*$)"""
_LISTED = re.compile(r"\s*\[([^\[\]].*)\]\s*", re.DOTALL)
_COMMA = re.compile(rf",{_NOT_IN_QUOTES}")
_UNLESS, _SINCE = (re.compile(rf"\s+{word}\s+{_NOT_IN_QUOTES}") for word in ("unless", "since"))


def is_path(name: str) -> bool:
    """Whether a name that is no column may be a path: it has a dot, brackets or alternatives.

    >>> is_path("docs[].text"), is_path("answer")
    (True, False)
    """
    return any(mark in name for mark in (".", "[", "||", " unless ", " since "))


def _steps(choice: str, text: str) -> Steps:
    steps: list[Step] = []
    at = 0
    while at < len(choice) or not steps:
        found = _STEP.match(choice, at)
        fields = found.groupdict() if found is not None else {}
        name = next((fields[kind] for kind in ("name", "double", "single") if fields.get(kind) is not None), None)
        if found is None or (name is not None and bool(fields["dot"]) != bool(steps)) or (name is None and not steps):
            forms = "a.b, a[0], a[-1], a[], a[key=value], a[turn=last], [a, b], 'a || b', 'a unless b', or 'a since b'"
            raise ColumnError(f"path {shown(text)}: not understood from {shown(choice[at:])} on; expected {forms}")
        if name is not None:
            steps.append(name.strip())
        elif fields["every"] is not None:
            steps.append(EVERY)
        elif fields["item"] is not None:
            steps.append(int(fields["item"]))
        else:
            first = First(fields["key"].strip(), fields["value"].strip().strip("\"'"))
            steps.append(LAST_TURN if first == First("turn", "last") else first)
        at = found.end()
    return tuple(steps)


def spelled(steps: Sequence[Step]) -> str:
    """The text of a path from its steps.

    >>> spelled(("docs", EVERY, "meta.id"))
    'docs[]."meta.id"'
    """
    parts: list[str] = []
    for step in steps:
        if isinstance(step, str):
            plain_name = re.fullmatch(_NAME, step) is not None
            parts.append(("." if parts else "") + (step if plain_name else json.dumps(step, ensure_ascii=False)))
        elif isinstance(step, First):
            parts.append(f"[{step.key}={step.value}]")
        else:
            parts.append({EVERY: "[]", LAST_TURN: "[turn=last]"}.get(step, f"[{step}]"))
    return "".join(parts)


# A name with dots may be one name: the longest name that exists wins at each place.


def _root(steps: Steps, names: Iterable[str] | Mapping[str, Any]) -> tuple[str | None, int]:
    """The name of ``names`` with which the steps begin, and the number of steps that it takes."""
    joined = ""
    best: tuple[str | None, int] = (None, 0)
    for taken, step in enumerate(steps, 1):
        if not isinstance(step, str):
            break
        joined = f"{joined}.{step}" if joined else step
        if joined in names:
            best = joined, taken
    return best


class _NoFieldError(PathError):
    """A field that the types do not have."""


def _narrowed(type_: pa.DataType, steps: Steps, at: int, leaf: pa.DataType | None) -> pa.DataType:
    """What of a type the steps from ``at`` on lead through, with ``leaf`` at their end; or the type there, or text."""
    if at == len(steps):
        is_own = is_number(type_) or pt.is_boolean(type_) or pt.is_struct(type_)
        return leaf or (type_ if is_own else pa.string())
    step = steps[at]
    if isinstance(step, Turn):
        raise PathError("a turn is of whole messages, whose types differ from row to row")
    is_known = not pt.is_null(type_)  # the first rows may not say what it is
    if isinstance(step, str) and (pt.is_struct(type_) or not is_known):
        fields = {field.name: field.type for field in type_} if is_known else {step: type_}
        name, taken = _root(steps[at:], fields)
        if name is None:
            raise _NoFieldError(f"no field {step!r}")
        return pa.struct([(name, _narrowed(fields[name], steps, at + taken, leaf))])
    if isinstance(step, str) or not (is_list(type_) or not is_known):
        raise _other_type(steps, at, type_)
    inner = _narrowed(type_.value_type if is_known else type_, steps, at + 1, leaf)
    return pa.list_(merged(pa.struct([(step.key, pa.string())]), inner) if isinstance(step, First) else inner)


def merged(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """A type with the fields of both; raises ``PathError`` if they disagree.

    >>> merged(pa.struct([("a", pa.string())]), pa.struct([("b", pa.int64())]))
    StructType(struct<a: string, b: int64>)
    """
    if first == second:
        return first
    if pt.is_list(first) and pt.is_list(second):
        return pa.list_(merged(first.value_type, second.value_type))
    if pt.is_struct(first) and pt.is_struct(second):
        types = {field.name: field.type for field in first}
        for field in second:
            types[field.name] = merged(types[field.name], field.type) if field.name in types else field.type
        return pa.struct(list(types.items()))
    raise PathError(f"{first} and {second} at once")


def empty_because(path: Path, columns: Mapping[str, pa.Array]) -> str | None:
    """Why a path has no value in any row of texts in JSON, with the nearest names of what is there.

    >>> empty_because(parse("output.anwser"), {"output": pa.array(['{"answer": "yes"}'])})
    "unknown field 'anwser'; did you mean 'answer'? (in 'output')"
    """
    values = {name: [_json_or_none(text) for text in column.to_pylist()] for name, column in columns.items()}
    try:
        path.type_in({name: pa.array(some).type for name, some in values.items()})
    except PathError as error:
        return str(error)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # values of several kinds
        return "no row has a value there" if any(any(some) for some in values.values()) else None
    return None


_SEEN = 1_000


def seen_type(column: pa.Array | pa.ChunkedArray) -> pa.DataType:
    """The type of a column, or, if its first texts are JSON, the type of their values.

    >>> seen_type(pa.array(['{"input": 3}', None, '{"output": 1}']))
    StructType(struct<input: int64, output: int64>)
    """
    column = decoded(column.chunk(0) if isinstance(column, pa.ChunkedArray) and column.num_chunks else column)
    if not is_text(column.type):
        return column.type
    values = [_json_or_none(text) for text in column.slice(0, _SEEN).to_pylist()]
    objects = [value for value in values if isinstance(value, dict)]
    try:
        return pa.array(objects).type if objects else column.type
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # values of several kinds
        return column.type


def _json_or_none(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return None


# Values of parsed JSON.


def _follow(value: Any, steps: Steps, at: int) -> Any:
    """The value at the steps from ``at`` on, within ``value``."""
    while at < len(steps):
        if value is None:
            return None
        step = steps[at]
        if isinstance(value, str):
            value = _loaded(value, steps, at)
            if value is None:
                return None
        if isinstance(step, str) and isinstance(value, Mapping):
            name, taken = _root(steps[at:], value)
            if name is None:
                return None
            value, at = value[name], at + taken
            continue
        if isinstance(step, str) or not isinstance(value, list):
            raise _other_kind(steps, at, value)
        if isinstance(step, Every):
            items = [_follow(item, steps, at + 1) for item in value]
            deeper = EVERY in steps[at + 1 :]
            return [leaf for item in items for leaf in (item or ())] if deeper else items
        if isinstance(step, First):
            fitting = (item for item in value if isinstance(item, Mapping) and item.get(step.key) == step.value)
            value = next(fitting, None)
        elif isinstance(step, Turn):
            value = _last_turn(value, steps, at)
        else:
            value = value[step] if -len(value) <= step < len(value) else None
        at += 1
    return value


def _last_turn(messages: Sequence[Any], steps: Steps, at: int) -> dict[str, str | None]:
    try:
        return last_turn(messages)._asdict()
    except ValueError as error:
        raise PathError(f"{error} (in {spelled(steps[:at])!r})") from None


def records_at(record: Mapping[str, Any], steps: Steps) -> Iterator[dict[str, Any]]:
    """The objects at the end of steps, whose last is ``[]``; each has what its list is beside as ``^``.

    >>> [dict(found) for found in records_at({"n": 1, "rows": [{"a": 2}]}, ("rows", EVERY))]
    [{'a': 2, '^': {'n': 1}}]

    Raises ``PathError`` for a value of another kind on the way or at its end.
    """
    place = steps.index(EVERY)
    values = _follow(record, steps[:place], 0) if place else record
    if values is None:
        return
    if not isinstance(values, list):
        raise _other_kind(steps, place, values)
    around = {name: value for name, value in record.items() if name != steps[0]}
    for value in values:
        if not isinstance(value, Mapping):
            raise _other_kind((*steps[: place + 1], ""), place + 1, value)
        within = {**value, CONTAINER: around}
        if EVERY in steps[place + 1 :]:
            yield from records_at(within, steps[place + 1 :])
        else:
            yield within


CONTAINER = "^"
"""The field of a record within another that holds the other, but for the list that the record is in."""


def _loaded(text: str, steps: Steps, at: int) -> Any:
    """The value of a text in JSON; None for white space alone."""
    if not text.strip():
        return None
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    raise _other_kind(steps, at, text)


def _other_kind(steps: Steps, at: int, value: Any) -> PathError:
    kind = "an object" if isinstance(steps[at], str) else "a list"
    got = "an object" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else shown(value)
    return PathError(f"expected {kind} at {spelled(steps[:at])!r}, got {got}")


# Columns of Arrow data.


def _within(columns: Mapping[str, pa.Array], steps: Steps) -> pa.Array:
    name, taken = _root(steps, columns)
    if name is None:
        raise PathError(UnknownNameError.of("column", str(steps[0]), columns).message)
    column = columns[name]
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return _reach(column, steps, taken)


def _reach(array: pa.Array, steps: Steps, at: int) -> pa.Array:
    """The values at the steps from ``at`` on, within each value of ``array``."""
    if at == len(steps):
        return array
    if isinstance(array.type, pa.BaseExtensionType):
        return _reach(array.storage, steps, at)
    array = decoded(array)
    type_, step = array.type, steps[at]
    if pt.is_null(type_):
        return array
    if is_text(type_):
        return parsed_column(array, lambda value: _follow(value, steps, at))
    if isinstance(step, str):
        if pt.is_map(type_):
            keys = type_.key_type
            return _reach(pc.map_lookup(array, pa.scalar(step, keys), "first"), steps, at + 1)
        if not pt.is_struct(type_):
            raise _other_type(steps, at, type_)
        fields = [field.name for field in type_]
        name, taken = _root(steps[at:], fields)
        if name is None:
            nearest = UnknownNameError.of("field", step, fields).message
            raise PathError(f"{nearest} (in {spelled(steps[:at])!r})")
        return _reach(pc.struct_field(array, [fields.index(name)]), steps, at + taken)
    if not (is_list(type_) or is_list_view(type_)):
        raise _other_type(steps, at, type_)
    if isinstance(step, Turn):
        return _reach(_last_turns(as_json(array, several=False), steps, at), steps, at + 1)
    lists = as_lists(array)
    if isinstance(step, Every):
        return _each(lists, _reach(lists.values, steps, at + 1), deeper=EVERY in steps[at + 1 :])
    if isinstance(step, First):
        return _reach(lists.values.take(_first_with(lists, step, steps, at)), steps, at + 1)
    return _reach(lists.values.take(_item(lists, step)), steps, at + 1)


def _last_turns(texts: pa.Array, steps: Steps, at: int) -> pa.Array:
    """The last turn of each conversation, of texts of JSON."""
    nothing = dict.fromkeys(LastTurn._fields)
    turns = [nothing if text is None else _follow(text, steps[: at + 1], at) or nothing for text in texts.to_pylist()]
    fields = [array_of_strings([turn[name] for turn in turns]) for name in LastTurn._fields]
    return pa.StructArray.from_arrays(fields, LastTurn._fields)


def _other_type(steps: Steps, at: int, type_: pa.DataType) -> PathError:
    kind = "an object" if isinstance(steps[at], str) else "a list"
    return PathError(f"expected {kind} at {spelled(steps[:at])!r}, got {type_}")


def _each(lists: pa.Array, values: pa.Array, *, deeper: bool) -> pa.Array:
    """One list of ``values`` for each of ``lists``; of ``deeper`` lists, their items."""
    mask = lists.is_null() if lists.null_count else None
    if not deeper or pt.is_null(values.type):
        return pa.ListArray.from_arrays(lists.offsets, values, mask=mask)
    inner = as_lists(values)
    ends = numpy_values(inner.offsets)[numpy_values(lists.offsets)]
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inner.values, mask=mask)


def _item(lists: pa.Array, item: int) -> pa.Array:
    """The position of an item of each list among all values, null without it."""
    ends = numpy_values(lists.offsets)
    places = ends[:-1] + item if item >= 0 else ends[1:] + item
    outside = (places < ends[:-1]) | (places >= ends[1:])
    return pa.array(places, pa.int64(), mask=outside)


def _first_with(lists: pa.Array, step: First, steps: Steps, at: int) -> pa.Array:
    """The position of the first fitting object of each list among all values, null without one."""
    keys = decoded(_reach(lists.values, (*steps[:at], EVERY, step.key), at + 1))
    places = np.full(len(lists), -1, np.int64)
    if is_text(keys.type):
        equal = np.flatnonzero(numpy_values(pc.equal(keys, pa.scalar(step.value, keys.type)).fill_null(False)))
        rows = np.searchsorted(numpy_values(lists.offsets), equal, side="right") - 1
        places[rows[::-1]] = equal[::-1]
    return pa.array(places, pa.int64(), mask=places < 0)


def parsed_column(array: pa.Array, follow: Callable[[Any], Any]) -> pa.Array:
    """What ``follow`` finds in each text of JSON; texts if the rows have values of several kinds."""
    values = [follow(text) for text in array.to_pylist()]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        lists = {type(value) for value in values if value is not None} == {list}
        as_text = [[_text(item) for item in value] if lists and value is not None else _text(value) for value in values]
        return pa.array(as_text, pa.list_(pa.string()) if lists else pa.string())


def _item_text(value: Any) -> str | None:
    """A text, number or flag as one of the texts of a list."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, int | float):
        raise PathError(f"expected text, got {'a list' if isinstance(value, list) else 'an object'}")
    return number_text(value)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first_of(arrays: list[pa.Array]) -> pa.Array:
    """The first value of each row."""
    types = [plain(array.type) for array in arrays if not pt.is_null(array.type)]
    if not types:
        return arrays[0]
    text = all(map(is_text, types))
    type_ = pa.large_string() if text and len(set(types)) > 1 else types[0]
    fitting = [array for array in arrays if pt.is_null(array.type) or plain(array.type) == type_ or text]
    return pc.coalesce(*(array.cast(type_) for array in fitting))


def _where_unset(array: pa.Array, unless: Path, columns: Mapping[str, pa.Array]) -> pa.Array:
    """The values of the rows in which another path has none that is neither empty nor false."""
    try:
        reasons = decoded(unless.column(columns))
    except PathError:  # no row has one
        return array
    is_set = reasons.is_valid()
    if is_text(reasons.type):
        is_set = pc.and_(is_set, pc.not_equal(reasons, pa.scalar("", reasons.type)).fill_null(False))
    elif pt.is_boolean(reasons.type):
        is_set = reasons.fill_null(False)
    return pc.if_else(is_set, pa.scalar(None, array.type), array)


# The time between two moments.


def _milliseconds(start: Any, end: Any) -> float | None:
    """The milliseconds between two moments; None without one of them, NaN if they cannot be told.

    That is what is no time, and a time without a zone beside one that has it.

    >>> _milliseconds("2026-01-01T00:00:00Z", "2026-01-01T00:00:01.5+00:00")
    1500.0
    >>> _milliseconds("1795768291532022592", 1795768291532522592), _milliseconds("2026-01-01T00:00:00", 1795768291)
    (0.5, nan)
    """
    if start is None or end is None:
        return None
    began, ended = _moment(start), _moment(end)
    if began is None or ended is None or began.is_placed != ended.is_placed:
        return math.nan
    return (ended.nanoseconds - began.nanoseconds) / 1e6


class _Moment(NamedTuple):
    """Nanoseconds since 1970, and whether a zone says of which clock."""

    nanoseconds: int
    is_placed: bool


_UNITS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6))
"""The least number since 1970 that is of a unit, and the nanoseconds in the unit; smaller numbers are seconds."""


def _moment(value: Any) -> _Moment | None:
    """A moment: a time, a text in ISO 8601, or a number, which is also read from text; None for anything else."""
    try:
        if isinstance(value, str):
            number = re.fullmatch(r"\s*(\d+)(\.\d+)?\s*", value)
            value = datetime.fromisoformat(value) if number is None else float(value) if number[2] else int(value)
        if isinstance(value, datetime):
            since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
            nanoseconds = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
            return _Moment(nanoseconds, value.tzinfo is not None)
        return _Moment(int(value * next((unit for least, unit in _UNITS if value >= least), 10**9)), True)
    except (ValueError, TypeError, OverflowError):
        return None


# The names of a table's columns, which know the paths within them.


def text_in(type_: pa.DataType) -> str | None:
    """The path to the text in objects of SQuAD: of an answer with its place, or of a prediction with its id.

    >>> text_in(pa.struct({"text": pa.list_(pa.string()), "answer_start": pa.list_(pa.int64())}))
    '.text'
    >>> text_in(pa.struct({"id": pa.string(), "prediction_text": pa.string()}))
    '.prediction_text'
    >>> text_in(pa.struct({"id": pa.int64(), "answers": pa.struct({"text": pa.string(), "answer_start": pa.int64()})}))
    '.answers.text'
    """
    if is_list(type_):
        within = text_in(type_.value_type)
        return None if within is None else f"[]{within}"
    fields = {field.name: field.type for field in type_} if pt.is_struct(type_) else {}
    if "prediction_text" in fields or {"text", "answer_start"} <= fields.keys():
        return ".prediction_text" if "prediction_text" in fields else ".text"
    within = text_in(fields["answers"]) if fields.keys() == {"id", "answers"} else None
    return None if within is None else f".answers{within}"


HOLDS_TEXT = ("text", "content", "value")
"""The names under which chats and tools usually keep the text of an object."""


def text_within(type_: pa.DataType, depth: int = 4) -> str | None:
    """The path to the text in the first object that a value of the type is or holds; None if it is deeper.

    >>> [text_within(type_of(one)) for one in ([{"type": "text", "text": "hi"}], {"a": {"content": "hi"}}, ["a"])]
    ['[0].text', '.a.content', None]
    """
    if is_list(type_) and depth:
        within = text_within(type_.value_type, depth - 1)
        return None if within is None else f"[0]{within}"
    fields = {field.name: field.type for field in type_} if pt.is_struct(type_) and depth else {}
    usual = [*(name for name in HOLDS_TEXT if name in fields), *fields]
    text = next((name for name in usual if is_text(fields[name])), None)
    if text is not None:
        return f".{spelled((text,))}"
    inner = ((name, text_within(one, depth - 1)) for name, one in fields.items())
    return next((f".{spelled((name,))}{within}" for name, within in inner if within is not None), None)


def type_of(first: Any) -> pa.DataType:
    """The type of a value, which may be a type itself; that of objects and lists only."""
    if isinstance(first, pa.DataType):
        return first
    first = first.as_py() if isinstance(first, pa.Scalar) else first
    try:
        return pa.array([first]).type if isinstance(first, dict | list) else pa.null()
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.null()


class Names(list[str]):
    """The names of the columns of a table; ``in`` also finds the paths within them.

    ``types`` are those of nested columns, as far as they are known; without them a path exists if its column does.
    ``preset`` is that by which the files of the table were recognised.  ``look`` finds the type of a column by rows, of
    a table in memory and of texts of JSON.  ``within`` are the paths to the text of columns that hold objects with it.

    >>> names = Names(["id", "output"], {"output": pa.struct([("answer", pa.string())])})
    >>> "output.answer" in names, "output.anwser" in names, "text.answer" in names
    (True, False, False)
    >>> names.unknown("output.anwser")
    "unknown field 'anwser'; did you mean 'answer'? (in 'output')"
    """

    def __init__(
        self,
        names: Iterable[str],
        types: Mapping[str, pa.DataType] | None = None,
        preset: str | None = None,
        look: Callable[[str], pa.DataType] | None = None,
        within: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(names)
        self.types = types or {}
        self.preset = preset
        self.look = look
        found = {name: text_in(type_) for name, type_ in self.types.items()}
        self.within = {name: path for name, path in found.items() if path is not None} if within is None else within

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and is_path(name) and not self._failure(name))

    def typed(self, roots: Iterable[str]) -> Names:
        """The names with the types of these columns, as far as they can be known."""
        own = [root for root in roots if list.__contains__(self, root)]
        open_roots = [root for root in own if root not in self.types or is_text(self.types[root])]
        if not open_roots or self.look is None:
            return self
        return Names(
            self, {**self.types, **{root: self.look(root) for root in open_roots}}, self.preset, within=self.within
        )

    def has_messages(self, name: str) -> bool:
        """Whether a column or path is known to hold conversations: lists of objects with a role or sender."""
        type_ = self.types.get(name, pa.null())
        if is_path(name) and not list.__contains__(self, name) and not self._failure(name):
            type_ = self._type_at(parse(name))
        item = type_.value_type if is_list(type_) else pa.null()
        return pt.is_struct(item) and any(field.name in ("role", "from") for field in item)

    def unknown(self, name: str) -> str:
        """Why a name is none of a column, with the nearest names."""
        failure = self._failure(name) if is_path(name) else None
        return failure or UnknownNameError.of("column", name, self).message

    def fitting(self, text: str) -> str | None:
        """A path with those of its alternatives that lead somewhere; None without any.

        >>> Names(["answer", "output"], {"output": pa.struct([("text", pa.string())])}).fitting("output.body || answer")
        'answer'
        """
        value, unless, error = text.partition(" unless ")
        choices = [choice for choice in map(str.strip, value.split("||")) if self._leads(choice)]
        return " || ".join(choices) + unless + error if choices else None

    def _leads(self, choice: str) -> bool:
        """Whether a path leads to something else than an object, and not into a column of text."""
        if list.__contains__(self, choice):
            return not pt.is_struct(self.types.get(choice, pa.null()))
        if choice not in self:
            return False
        path = parse(choice)
        if path.since is not None:
            return True
        if any(is_text(self.types.get(root, pa.null())) for root in path.columns(self)):
            return False
        return not pt.is_struct(self._type_at(path))

    def _type_at(self, path: Path) -> pa.DataType:
        return path.type_in({name: self.types.get(name, pa.null()) for name in self})

    def _failure(self, name: str) -> str | None:
        """Why a path leads nowhere, if it does not."""
        try:
            path = parse(name)
            for part in path.together:
                if not part.columns(list(self)):
                    return UnknownNameError.of("column", str(part.choices[0][0]), self).message
            roots = path.columns(list(self))
            if not roots:
                dotted = any("." in own for own in self)
                return UnknownNameError.of("column", name if dotted else str(path.choices[0][0]), self).message
            self._type_at(path)
        except (ColumnError, PathError) as error:
            return str(error)
        return None if path.unless is None or path.unless.columns(self) else self._mistyped(path.unless)

    def _mistyped(self, unless: Path) -> str | None:
        """The nearest name of a column that a path is ``unless``, which may be absent where no row has a failure."""
        message = UnknownNameError.of("column", str(unless.choices[0][0]), self).message
        return message if "did you mean" in message else None
