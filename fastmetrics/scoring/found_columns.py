"""What a table holds before it is scored: its preset, the columns that are found, what suites read, and the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import is_list, is_text
from fastmetrics.base.column_names import (
    COLUMNS,
    SECONDS,
    fitting_names,
    milliseconds_in,
    named_columns,
    passed_over,
    preset_of,
    resolve,
)
from fastmetrics.base.display import HIDDEN, Grid, Shown, flat, lines_of
from fastmetrics.base.errors import ColumnError, UnknownNameError
from fastmetrics.base.notes import Note, said
from fastmetrics.base.paths import HOLDS_TEXT
from fastmetrics.base.presets import presets
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.source_names import named
from fastmetrics.tables.column_types import Selection, fields_of
from fastmetrics.tables.good_rows import good_rows
from fastmetrics.tables.input_files import PLAIN, Reading
from fastmetrics.tables.opening import open_table
from fastmetrics.tables.readers import Chunk, batch_of
from fastmetrics.tables.sources import TableSource

_SHOWN = 60
"""The characters of a value, and the paths, that are shown."""
_ASKED = ("answer", "reference", "question", "contexts")
"""The columns that most metrics read; where one is not found, the rest of the file is searched for it."""


@dataclass(frozen=True)
class FoundColumn:
    """A column that is found: the column or path of the table, and of the first rows how many have a value.

    ``first`` is the first value, and ``fault`` why the column cannot be read.
    """

    path: str
    rows: int = 0
    filled: int = 0
    first: Any = None
    fault: str | None = None


@dataclass(frozen=True)
class FoundColumns(Shown):
    """What is found in a table.

    ``preset`` is the named or recognised one, ``columns`` are those that are found, by canonical name.  ``suites`` has
    the metrics that each suite computes from them, ``reads`` the columns that these read, and ``lacking`` those that
    the other metrics of the suite read besides.
    ``rest`` has the other columns and paths of the table, with their types where they are known, and ``ambiguous`` the
    columns that match as well as the one that is read.
    """

    preset: str | None
    columns: Mapping[str, FoundColumn]
    suites: Mapping[str, Sequence[str]]
    reads: Mapping[str, Sequence[str]]
    lacking: Mapping[str, Sequence[str]]
    rest: Mapping[str, str]
    ambiguous: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict, metadata=HIDDEN)
    """The columns that the preset and the caller name."""

    def _named(self, one: tuple[str, FoundColumn]) -> str:
        """The name of a column, that of latencies with their unit."""
        name, column = one
        in_seconds = name == "latency_ms" and milliseconds_in(column.path, self.stated, [*self.rest]) == 1000
        return SECONDS if in_seconds else name

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per column that was found."""
        return [{"column": name, **flat(column)} for name, column in self.columns.items()]

    def grids(self) -> list[Grid]:
        """The columns, the suites, and the rest of the table."""
        filled = ("filled", lambda one: f"{one[1].filled:,} of {one[1].rows:,}")
        first = ("first value", lambda one: one[1].fault or _brief(one[1].first))
        others = (("which read", self.reads), ("others also read", self.lacking))
        columns = ((head, lambda name, of=of: ", ".join(of[name]) or "–") for head, of in others)
        suites = (("suite", str), ("metrics", lambda name: len(self.suites[name])))
        meant = {name: ", ".join(one.where for one in named(name)) for name in islice(self.rest, _SHOWN)}
        known = [("in the sources", lambda name: meant[name] or "–")] if any(meant.values()) else []
        grids = [
            lines_of(self.columns.items(), ("column", self._named), filled, first, "read from=1.path"),
            lines_of(self.suites, *suites, *columns),
            lines_of(meant, ("not read", str), ("type", self.rest.get), *known),
        ]
        return [grid for grid in grids if grid.rows]

    def remarks(self) -> list[str]:
        """The preset, and what to type for what was not found."""
        missing = [name for name in _ASKED if name not in self.columns]
        paths = [path for path, kind in self.rest.items() if kind in ("text", "texts", "")][:8]
        asked = "tool_calls" in self.columns and "expected_tool_calls" not in self.columns
        calls = dict.fromkeys(match[1] for path in self.rest if asked and (match := _CALLS.match(path)))
        more = len(self.rest) - _SHOWN
        return said(
            self.preset is not None and Note("preset", name=self.preset, files=presets()[self.preset].files),
            more > 0 and Note("more_columns", n=more),
            [Note("ambiguous", name=name, others=list(map(repr, also))) for name, also in self.ambiguous.items()],
            missing and Note("not_found_such" if paths else "not_found", names=missing, first=missing[0], paths=paths),
            [Note("expected_calls", path=path) for path in list(calls)[:1]],
        )


def columns(
    table: shared.Table,
    *,
    columns: shared.Columns = None,
    schema: shared.Schema = None,
    reading: Reading = None,
) -> FoundColumns:
    """What a table holds, in memory or in files, and what ``score`` would read of it.

    It shows the preset by which a file was recognised, the column or path of each column that is found with its first
    value, how many metrics of each suite can be computed and what the others lack, and what else the table holds.
    Only its first rows are read.

    >>> import tempfile, pathlib, fastmetrics as fm
    >>> rows = pathlib.Path(tempfile.mkdtemp(), "rows.jsonl")
    >>> _ = rows.write_text('{"response": "in Paris", "gold": "Paris", "meta": {"model": "m"}}')
    >>> found = fm.columns(rows)
    >>> {name: column.path for name, column in found.columns.items()}, dict(found.rest)
    ({'answer': 'response', 'reference': 'gold'}, {'meta.model': 'text'})

    Raises ``ColumnError`` for a column or path that the table does not have, with the nearest names,
    ``UnknownNameError`` for a canonical name or preset nobody knows, and the errors of opening files.
    """
    source = open_table(table, reading or PLAIN, schema=schema)
    names = source.names
    mapping = resolve(names, columns, schema, needed=())
    preset = preset_of(names, schema)
    suites, reads, lacking = {}, {}, {}
    for name in families.SUITES:
        members = [metric for metric in families.suite(name) if metric.level == "row"]
        suites[name] = [metric.name for metric in members if metric.fits(mapping)]
        read = (column for metric in members if metric.fits(mapping) for column in metric.needs)
        reads[name] = [column for column in dict.fromkeys(read) if column in mapping]
        lacks = (column for metric in members if not metric.fits(mapping) for column in metric.required)
        lacking[name] = [column for column in dict.fromkeys(lacks) if column not in mapping]
    used = {part for path in mapping.values() for part in (path, *_APART.split(path), *path.strip("[]").split(", "))}
    stated = named_columns(names, columns, schema)
    ambiguous = {
        name: others for name, others in passed_over(fitting_names(names), mapping).items() if name not in stated
    }
    return FoundColumns(
        None if preset is None else preset.name,
        _looked_up(source, mapping),
        suites,
        reads,
        lacking,
        {path: kind for path, kind in _paths_of(source).items() if path not in used},
        ambiguous,
        stated,
    )


_TRIED = 8
"""The chunks in which a row that can be read is looked for."""

_CALLS = re.compile(r"(?!messages\[\])((?:[^.]+\.)*[^.]*tool[^.]*?)(?:\[\]\.(?:function\.)?name)?$")
"""A path to names of tools outside messages, and in its group to the list of calls."""
_APART = re.compile(r" (?:\|\||unless|since) ")
"""What stands between the parts of a path."""


def _looked_up(source: TableSource, mapping: Mapping[str, str]) -> dict[str, FoundColumn]:
    """The found columns with what the first rows hold of them."""
    kinds: dict[str, str] = {}
    faults: dict[str, str] = {}
    for name, path in mapping.items():
        kind = {"text": "value", "texts": "values", "time": "any"}.get(COLUMNS[name].kind, COLUMNS[name].kind)
        try:
            source.select({path: kind})
        except (ColumnError, UnknownNameError) as error:
            faults[name] = str(error)
        else:
            kinds.setdefault(path, kind)
    first_rows = _first_rows(source, kinds)
    found = {}
    for name, path in mapping.items():
        if name in faults:
            found[name] = FoundColumn(path, fault=faults[name])
            continue
        chunk = _first_rows(source, {path: kinds[path]}) if first_rows.rejects else first_rows
        column = chunk.batch.column(chunk.batch.schema.names.index(path))
        rows, filled = len(column) + len(chunk.rejects), len(column) - column.null_count
        first = column.drop_null()[0].as_py() if filled else None
        fault = None if filled or not chunk.rejects else _fault(name, path, source, chunk.rejects[0].reason)
        found[name] = FoundColumn(path, rows, filled, first, fault)
    return found


def _first_rows(source: TableSource, kinds: Mapping[str, str]) -> Chunk:
    """The first rows, with those rejected that do not fit one of the columns."""

    def read(selection: Selection) -> Chunk:
        found = Chunk(0, np.empty(0, np.int64), batch_of(selection.schema))
        for chunk in islice(source.chunks(selection), _TRIED):
            good = good_rows(source, selection, chunk, skip=True)
            found = replace(good, rejects=(*found.rejects, *good.rejects))
            if len(found.rows):
                break
        return found

    return source.select(kinds).settled(read)


def _fault(name: str, path: str, source: TableSource, reason: str) -> str:
    """Why no row of a column can be read; for objects of text, the path that reads their text."""
    within = [
        other
        for other, kind in _paths_of(source).items()
        if re.match(rf"{re.escape(path)}(\[\])?\.", other) and kind == "text"
    ]
    if not within:
        return reason
    read = min(within, key=lambda other: not other.endswith(tuple(f".{end}" for end in HOLDS_TEXT)))
    read = read.replace("[]", "[0]") if COLUMNS[name].kind == "text" else read
    return f"objects, not text; try --columns {name}={read}"


def _paths_of(source: TableSource) -> dict[str, str]:
    """The columns and paths of a table with their kinds; objects are left out, as their fields are there."""
    schema = getattr(source, "schema", None)
    if schema is None:
        return dict.fromkeys(source.names, "")
    kinds = ((path, _kind(type_)) for path, type_ in fields_of(schema).items() if not path.startswith("^"))
    return {path: kind for path, kind in kinds if kind is not None}


def _kind(type_: pa.DataType) -> str | None:
    """A type in a word; None for an object, or a list of objects."""
    if pt.is_struct(type_):
        return None
    if is_list(type_):
        inner = _kind(type_.value_type)
        return None if inner is None else f"{inner}s" if inner in ("text", "number") else f"list of {inner}"
    if is_text(type_):
        return "text"
    number = pt.is_integer(type_) or pt.is_floating(type_)
    return "number" if number else "empty" if pt.is_null(type_) else str(type_)


def _brief(value: Any) -> str:
    """A value on a line."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
