"""A table as its readers see it: files of any format and number, a frame in memory, or a database, as batches of
records.
"""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_text, plain
from fastmetrics.base.columns import check_type, fits, of_kinds, open_frame
from fastmetrics.base.errors import ColumnError, FileFormatError, UnknownNameError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.paths import Names, Path, PathError, empty_because, is_path, parse, seen_type
from fastmetrics.base.presets import Preset, recognised
from fastmetrics.tables.column_types import Selection, WrongCells, cast, fields_of, key_types, loose, settle, unify
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile, reading
from fastmetrics.tables.readers import BEGINNING, Chunk, Position, Reader, batch_of
from fastmetrics.tables.remote_files import passing, pauses

# A table as its readers see it, in memory or in files.


def _weak(look: Callable[[str], pa.DataType]) -> Callable[[str], pa.DataType]:
    """A source's own method for its names, by which they do not keep it: a connection ends with its last user."""
    method = weakref.WeakMethod(look)

    def looked(name: str) -> pa.DataType:
        own = method()
        assert own is not None, "names are asked as long as their source is there"
        return own(name)

    return looked


class TableSource(ABC):
    """An opened table: its columns, and its rows in chunks; a table in memory is one file without a name."""

    names: Names
    """The names of the columns; ``in`` also finds paths."""
    rows: int | None = None
    """The number of rows, if it is known."""
    nbytes: int = 0
    """The bytes of the files, or of the columns in memory."""
    max_row_bytes: int
    """The maximum bytes of a row; a longer row is a bad row."""
    files: Sequence[DataFile] = ()
    notes: Sequence[str] = ()
    """What the reader of a result should know."""
    unstable: str | None = None
    """Why a run cannot go on in the middle of the rows, if it cannot."""
    has_blanks: bool = False
    """Whether a missing value of a column of text is a blank cell."""
    has_types: bool = True
    """Whether the columns have types, as those of CSV do not."""
    has_decimal_comma: bool = False
    """Whether numbers in columns without types may have a decimal comma."""

    @property
    def how_read(self) -> dict[str, Any]:
        """How the files are read, for reading them so again."""
        return {}

    @property
    @abstractmethod
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the table, which differs for a changed table."""

    def _type_of(self, name: str) -> pa.DataType:
        """The type of a column, or of the values in its first texts of JSON."""
        chunk = next(self.chunks(self.select({name: "any"})), None)
        return self.names.types[name] if chunk is None else seen_type(chunk.batch.column(name))

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file, if it is known."""
        return self.rows

    def bytes_before(self, file: int) -> int:
        """The bytes of the files before the given one."""
        return 0

    @abstractmethod
    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches."""

    @abstractmethod
    def chunks(self, selection: Selection, start: Position = BEGINNING, threads: int = 1) -> Iterator[Chunk]:
        """The rows from ``start`` on, in order."""

    @abstractmethod
    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position, for messages."""

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with exactly the selected columns and types, hive partition keys among them.

        There are no dictionaries, views or runs, unless they are selected.
        """
        batch, keys = chunk.batch, self.files[chunk.file].keys if self.files else {}
        if batch.schema.equals(selection.schema):
            return batch
        arrays = []
        with reading(self.where(Position(chunk.file, 0))[0]):
            for field in selection.schema:
                if field.name in keys:
                    key = pa.scalar(keys[field.name], pa.string())
                    arrays.append(pa.repeat(key, batch.num_rows).cast(field.type))
                else:
                    arrays.append(cast(batch.column(batch.schema.get_field_index(field.name)), field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=selection.schema)


class NarrowedSource(TableSource):
    """A source that shows another one in a narrower form; a subclass changes its rows or columns."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        for name in TableSource.__annotations__:
            setattr(self, name, getattr(source, name))

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the source."""
        return self._source.fingerprint

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file of the source."""
        return self._source.file_rows(number)

    def bytes_before(self, file: int) -> int:
        """The bytes of the files before the given one."""
        return self._source.bytes_before(file)

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns of the source."""
        return self._source.select(columns)

    def chunks(self, selection: Selection, start: Position = BEGINNING, threads: int = 1) -> Iterator[Chunk]:
        """The rows of the source."""
        return self._source.chunks(selection, start, threads)

    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position."""
        return self._source.where(position)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the selected types."""
        return self._source.conform(chunk, selection)


# A table in memory with the interface of files, so that a run reads both in the same way.


class FrameSource(TableSource):
    """A table of any kind that ``open_frame`` accepts; its columns are converted when they are selected.

    >>> source = FrameSource({"answer": ["yes", None], "meta": [object(), object()]})
    >>> [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))]
    [[{'answer': 'yes'}, {'answer': None}]]

    Raises ``ColumnError`` for anything else.
    """

    def __init__(self, table: Any, max_row_bytes: int | None = None, name: str = "") -> None:
        self._frame = open_frame(table, name)
        once = isinstance(table, Iterator | pa.RecordBatchReader) or not isinstance(table, Sized)
        self.names = Names(
            dict.fromkeys(self._frame.names), look=None if once else _weak(self._type_of), within=self._frame.within
        )
        self.index = self._frame.index
        """The index of a pandas frame."""
        self.max_row_bytes = MAX_ROW_BYTES if max_row_bytes is None else max_row_bytes
        self._columns: pa.Table | None = None

    def _type_of(self, name: str) -> pa.DataType:
        """The type of a column; null for one that cannot be converted."""
        try:
            return seen_type(self.hold([name]).column(name))
        except ColumnError:
            return pa.null()

    def hold(self, names: Iterable[str]) -> pa.Table:
        """The named columns, converted once; a reader or an iterator of batches can be read only by the first call.

        Raises ``ColumnError`` for a column that cannot be converted, or whose types differ between batches.
        """
        names = list(dict.fromkeys(names))
        return self._with(names).select(names)

    def _with(self, names: list[str]) -> pa.Table:
        """All columns that are converted, among them the named ones."""
        if self._columns is None or not set(names) <= set(self._columns.column_names):
            pieces = self._frame.read(names)[1]
            try:
                self._keep(pa.concat_tables(pieces, promote_options="permissive"))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ColumnError(f"the batches of the table hold columns of different types: {error}") from error
        return self._columns

    def _keep(self, columns: pa.Table) -> None:
        self._columns, self.rows, self.nbytes = columns, columns.num_rows, columns.nbytes

    def pieces(self, kinds: Mapping[str, str], names: Iterable[str]) -> tuple[pa.Schema, Iterator[pa.Table]]:
        """The named columns in their own types: their schema, and their rows as they are read, without a copy.

        Raises ``ColumnError`` for a column that is not of its kind.
        """
        names = list(names)
        if self._columns is not None and set(names) <= set(self._columns.column_names):
            chosen = self._columns.select(names)
            schema, pieces = chosen.schema, iter([chosen])
        else:
            schema, pieces = self._frame.read(names)
        if not all(fits(kind, schema.field(name).type) for name, kind in kinds.items()):
            whole = of_kinds(pa.concat_tables(pieces), kinds)
            schema, pieces = whole.schema, iter([whole])
        return schema, pieces

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the selected columns, which differs for other values."""
        digest = hashlib.blake2b(digest_size=16)
        if self._columns is not None:
            selection = plain_selection(self._columns.schema, dict.fromkeys(self._columns.schema.names, "any"))
            digest.update(str(selection.schema).encode())
            for chunk in self.chunks(selection):
                digest.update(self.conform(chunk, selection).serialize())
        return [["table", digest.hexdigest()]]

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches.

        Raises ``ColumnError`` for a column that is missing or not of its kind.
        """
        self.hold(columns)
        self._keep(of_kinds(self._with(list(columns)), columns))
        return plain_selection(self._with(list(columns)).select(list(columns)).schema, columns)

    def chunks(self, selection: Selection, start: Position = BEGINNING, threads: int = 1) -> Iterator[Chunk]:
        """The rows from ``start`` on, in order."""
        row = start.row
        for batch in self.hold(selection.schema.names).slice(row).to_batches(max_chunksize=SIZES.read_batch_rows):
            yield Chunk(0, np.arange(row, row + batch.num_rows), batch)
            row += batch.num_rows

    def where(self, position: Position) -> tuple[str, str]:
        """The row of a position, for messages."""
        return "the table", f"row {position.row}"


def plain_selection(schema: pa.Schema, columns: Mapping[str, str]) -> Selection:
    """The columns of a schema with the types in batches: no dictionaries, views or runs."""
    return Selection(pa.schema([pa.field(field.name, plain(field.type)) for field in schema]), dict(columns))


# A table on disk, in any format and number of files, as one stream of record batches.


class FileSource(TableSource):
    """An opened input: ``schema`` of all columns, ``rows`` if the files store it, ``nbytes`` on disk."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = without_empty(readers)
        self._own = self._keep_own_columns()
        self.files = [reader.file for reader in self._readers]
        self._unfit: dict[str, str] = {}
        """The columns that cannot be read, with the reasons; the error is raised when such a column is requested."""
        self.schema = self._unified()
        preset = None if self.preset is None else self.preset.name
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        self.names = Names(self.schema.names, types, preset, _weak(self._type_of))
        counts = [reader.rows for reader in self._readers]
        self.rows = None if None in counts else sum(count for count in counts if count is not None)
        sizes = [file.size for file in self.files]
        self.nbytes = sum(sizes)
        self.max_row_bytes = min(file.max_row_bytes for file in self.files)
        self.notes = self._notes()
        reasons = (f"{reader.file.shown}: {reader.unstable}" for reader in self._readers if reader.unstable is not None)
        self.unstable = next(reasons, None)
        self.has_blanks = all(reader.has_blanks for reader in self._readers)
        self.has_types = any(reader.has_types for reader in self._readers)
        self.has_decimal_comma = any(reader.has_decimal_comma for reader in self._readers)
        self._before = np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def preset(self) -> Preset | None:
        """The preset of the files: the named one, or the one by which all of them were recognised."""
        presets = [reader.preset or recognised(fields_of(reader.schema)) for reader in self._readers]
        return presets[0] if all(preset is presets[0] for preset in presets) else None

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of this input, which differs for a changed input."""
        return [reader.fingerprint() for reader in self._readers]

    @property
    def how_read(self) -> dict[str, Any]:
        """The format and the settings with which all files are read, as far as their names do not say it."""
        ways = [file.how_read for file in self.files]
        return ways[0] if all(way == ways[0] for way in ways) else {}

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file, if it stores it."""
        return self._readers[number].rows

    def bytes_before(self, file: int) -> int:
        """The total size on disk of the files before the given one."""
        return int(self._before[file])

    def _unified(self) -> pa.Schema:
        """One schema for all files; text of any layout or numbers of any width can be mixed, other types must agree."""
        types: dict[str, pa.DataType] = {}
        origin: dict[str, Reader] = {}
        for reader in self._readers:
            self._unfit |= reader.unreadable_columns
            for name, count in Counter(reader.schema.names).items():
                if count > 1:
                    twice = f"{reader.file.shown}: the file has {count} columns {name!r}; rename all but one"
                    self._unfit.setdefault(name, twice)
            for field in reader.schema:
                name = field.name
                type_ = types.get(name)
                joined = plain(field.type) if type_ is None else unify(type_, field.type)
                if joined is None:
                    other = origin[name]
                    if reader.is_text and other.is_text:
                        joined = loose(type_, field.type)
                    else:
                        before = f"but {other.file.shown} holds {type_}"
                        self._unfit.setdefault(
                            name, f"{reader.file.shown}: column {name!r} holds {field.type}, {before}"
                        )
                        joined = type_
                types[name] = joined
                origin.setdefault(name, reader)
        keys = key_types([reader.file.keys for reader in self._readers])
        return pa.schema([*((name, t) for name, t in types.items() if name not in keys), *keys.items()])

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches.

        Raises ``ColumnError`` for a column that no file has, that one file lacks or has twice, whose type is of another
        kind, or whose type differs between files.
        A column of JSON lines that occurs only in late rows is found here; earlier rows are null.
        """
        fields = []
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        names = [set(reader.schema.names) for reader in self._readers]
        paths = {name: parse(name) for name in columns if name not in types and self._is_path(name)}
        for name, kind in columns.items():
            if name in paths:
                fields.append(pa.field(name, self._type_at(name, paths[name], kind)))
                continue
            if name in self._unfit:
                raise ColumnError(self._unfit[name])
            recorded = types.get(name)
            for reader, own in zip(self._readers, names, strict=True):
                self._require(reader, name, kind, name in own, recorded is not None)
            type_ = recorded if recorded is not None and self.is_typed(name) else settle(kind, recorded)
            fields.append(pa.field(name, type_))
        return Selection(pa.schema(fields), dict(columns), paths)

    def _is_path(self, name: str) -> bool:
        """Whether a name that is no column of the first rows is a path into one."""
        return is_path(name) and bool(parse(name).columns(self.schema.names))

    def _type_at(self, name: str, path: Path, kind: str) -> pa.DataType:
        """The type of the column that a path gives, which all files share.

        Raises ``ColumnError`` for a path that leads nowhere in a file, or to values of another kind.
        """
        joined: pa.DataType = pa.null()
        typed = True
        for reader in self._readers:
            late = reader.has_late_columns
            try:
                own = path.type_in(dict(zip(reader.schema.names, reader.schema.types, strict=True)))
            except PathError as error:
                if not late or len(self._readers) == 1:
                    raise ColumnError(f"{reader.file.shown}: path {name!r}: {error}") from error
                own = pa.null()
            typed &= not reader.is_text and not pt.is_null(own)
            if reader.is_text and is_text(own) and kind == "texts" and not path.is_list:
                own = pa.null()
            both = unify(joined, own)
            if both is None and typed:
                held = f"path {name!r} leads to {own}, but in {self._readers[0].file.shown} to {joined}"
                raise ColumnError(f"{reader.file.shown}: {held}")
            joined = loose(joined, own) if both is None else both
        if typed:
            check_type("", name, kind, joined)
            return plain(joined)
        if path.is_list and not is_list(joined):
            joined = pa.list_(pa.null())
        type_ = settle(kind, joined)
        if path.is_list and not is_list(type_) and kind != "json":
            raise ColumnError(f"path {name!r} leads to a list in each row; expected one value; take one item: [0]")
        return type_

    def _keep_own_columns(self) -> list[str]:
        """Read a column that a file has from the file, although the name of its folder seems to give it too."""
        own = set()
        for reader in self._readers:
            keys = {name: value for name, value in reader.file.keys.items() if name not in reader.schema.names}
            own |= reader.file.keys.keys() - keys.keys()
            reader.file = replace(reader.file, keys=keys)
        return sorted(own)

    def _notes(self) -> list[str]:
        notes = [f"{name} is read from the files, not from the names of their folders ({name}=…)" for name in self._own]
        notes += [reader.note for reader in self._readers if reader.note is not None]
        if (preset := self.preset) is not None and not any(file.schema for file in self.files):
            way = f"schema={preset.name!r} (--schema {preset.name})"
            notes.append(f"recognised as {preset.name}: {preset.files}; {way} says so, columns (--columns) name others")
        return notes

    def is_typed(self, name: str) -> bool:
        """Whether a column has its own type, instead of one that depends on the requested kind, as text has."""
        if self._is_key(name) or not all(reader.is_text for reader in self._readers):
            return True
        return all(reader.states(name) for reader in self._readers if name in reader.schema.names)

    def _is_key(self, name: str) -> bool:
        return any(name in file.keys for file in self.files)

    @staticmethod
    def _require(reader: Reader, name: str, kind: str, has: bool, exists: bool) -> None:
        """Raise ``ColumnError`` if a reader has no such column, although others may, or one of another kind."""
        if name in reader.file.keys:
            return
        if has:
            if reader.states(name):
                check_type(f"{reader.file.shown}: ", name, kind, reader.schema.field(name).type)
        elif not (reader.has_late_columns and (exists or reader.holds(name))):
            nearest = UnknownNameError.of("column", name, reader.schema.names)
            raise ColumnError(f"{reader.file.shown}: {nearest}")

    def chunks(self, selection: Selection, start: Position = BEGINNING, threads: int = 1) -> Iterator[Chunk]:
        """The rows from ``start`` on, in order.

        Types are those of the files until ``conform`` unifies them.
        """
        for number in range(start.file, len(self._readers)):
            reader = self._readers[number]
            row = start.row if number == start.file else 0
            # Columns from folder names (key=value) are not read from the files.
            within = selection.without(reader.file.keys) if reader.file.keys else selection
            apart = bool(selection.paths) and not reader.follows_paths
            roots = within.roots(reader.schema) if apart else within
            chunks = _patient(partial(self._read, roots, number, threads), row)
            yield from (self._at_paths(chunk, within) for chunk in chunks) if apart else chunks

    def _at_paths(self, chunk: Chunk, selection: Selection) -> Chunk:
        """The chunk with the selected columns, from those that the paths go into."""
        whole = dict(zip(chunk.batch.schema.names, chunk.batch.columns, strict=True))
        if not chunk.batch.num_rows:
            return replace(chunk, batch=batch_of(selection.schema))
        arrays: list[pa.Array] = []
        wrong: WrongCells = {}
        for field in selection.schema:
            path = selection.paths.get(field.name)
            if path is None:
                array = whole[field.name]
            elif any(is_text(whole[root].type) for root in path.columns(whole)):
                roots = path.columns(whole)
                records = pa.table({root: whole[root] for root in roots}).to_pylist()
                array = selection.of_records(field.name, records, wrong)
                if chunk.rows[0] == 0 and array.null_count == len(array) and not wrong:
                    reason = empty_because(path, {root: whole[root] for root in roots})
                    if reason is not None:
                        raise ColumnError(f"{self.files[chunk.file].shown}: path {field.name!r}: {reason}")
            else:
                array = path.column(whole)
            arrays.append(array)
        whole_batch, batch = chunk.batch, pa.RecordBatch.from_arrays(arrays, names=selection.schema.names)
        return replace(chunk, batch=batch).without(
            wrong,
            self.where,
            lambda row: json.dumps(whole_batch.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False),
        )

    def _read(self, selection: Selection, number: int, threads: int, row: int) -> Iterator[Chunk]:
        """The rows of a file from ``row`` on, if it stays as it was."""
        reader: Any = self._readers[number]
        try:
            with reading(reader.file.shown):
                yield from reader.read(selection, number, row, threads)
        except FileFormatError:
            reader.check_unchanged()  # rather the cause than its effect
            raise
        reader.check_unchanged()

    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position, for messages."""
        return self._readers[position.file].place(position)


def _patient(chunks_from: Callable[[int], Iterator[Chunk]], start: int) -> Iterator[Chunk]:
    """The chunks of ``chunks_from`` from row ``start`` on; after a system error, reading restarts after the last chunk.

    Raises ``FileFormatError`` at once if the fault is permanent, else after three failures without a row in between.
    """
    waits = pauses()
    while True:
        try:
            for chunk in chunks_from(start):
                yield chunk
                start, waits = max(start, chunk.stop), pauses()
            return
        except FileFormatError as error:
            pause = next(waits, None)
            if pause is None or not passing(error.__cause__):
                raise
        time.sleep(pause)


def without_empty(readers: Sequence[Reader]) -> list[Reader]:
    """Skip files of 0 bytes, which jobs write for empty parts; raise an error if all files are empty."""
    full = [reader for reader in readers if reader.schema.names or reader.rows != 0]
    if not any(reader.schema.names for reader in full):
        for reader in full:
            if reader.unreadable is not None:
                raise reader.unreadable
    if not full:
        raise FileFormatError(f"{readers[0].file.shown}: the file is empty")
    return full
