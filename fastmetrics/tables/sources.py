"""A table as its readers see it: files of any format and number, a frame in memory, or a database, as batches of
records.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrays import is_list, is_text, plain
from fastmetrics.base.columns import check_type, fits, of_kinds, open_frame
from fastmetrics.base.errors import ColumnError, FileFormatError, UnknownNameError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.paths import Names, Path, PathError, empty_because, is_path, parse
from fastmetrics.base.presets import Preset, recognised
from fastmetrics.tables.file_columns import Selection, WrongValueError, cast, key_types, loose, settle, unify
from fastmetrics.tables.formats import Reader
from fastmetrics.tables.input_files import MAX_ROW_BYTES, DataFile, reading
from fastmetrics.tables.remote_files import patient
from fastmetrics.tables.table_chunks import BEGINNING, Chunk, Position, Reject, Split, batch_of

# A table as its readers see it, in memory or in files.


class TableSource(Protocol):
    """An opened table: its columns, and its rows in chunks; a table in memory is one file without a name."""

    @property
    def names(self) -> Names:
        """The names of the columns; ``in`` also finds paths."""

    @property
    def rows(self) -> int | None:
        """The number of rows, if it is known."""

    @property
    def nbytes(self) -> int:
        """The bytes of the files, or of the columns in memory."""

    @property
    def max_row_bytes(self) -> int:
        """The maximum bytes of a row; a longer row is a bad row."""

    @property
    def files(self) -> Sequence[DataFile]:
        """The files."""

    @property
    def notes(self) -> Sequence[str]:
        """What the reader of a result should know."""

    @property
    def unstable(self) -> str | None:
        """Why a run cannot go on in the middle of the rows, if it cannot."""

    @property
    def has_blanks(self) -> bool:
        """Whether a missing value of a column of text is a blank cell."""

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the table, which differs for a changed table."""

    def file_rows(self, number: int) -> int | None:
        """The number of rows of a file, if it is known."""

    def bytes_before(self, file: int) -> int:
        """The bytes of the files before the given one."""

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches."""

    def splits(self, start: Position = BEGINNING) -> list[Split]:
        """The rows from ``start`` on in splits that can be scored independently."""

    def chunks(
        self, selection: Selection, start: Position = BEGINNING, threads: int = 1, stop: Position | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` to before ``stop``, in order."""

    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position, for messages."""

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with exactly the selected columns and types."""


class NarrowedSource:
    """A source that shows another one in a narrower form; a subclass changes its rows or columns."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self.names = source.names
        self.rows = source.rows
        self.nbytes = source.nbytes
        self.max_row_bytes = source.max_row_bytes
        self.files = source.files
        self.notes = source.notes
        self.unstable = source.unstable
        self.has_blanks = source.has_blanks

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

    def splits(self, start: Position = BEGINNING) -> list[Split]:
        """The splits of the source."""
        return self._source.splits(start)

    def chunks(
        self, selection: Selection, start: Position = BEGINNING, threads: int = 1, stop: Position | None = None
    ) -> Iterator[Chunk]:
        """The rows of the source."""
        return self._source.chunks(selection, start, threads, stop)

    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position."""
        return self._source.where(position)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the selected types."""
        return self._source.conform(chunk, selection)


# A table in memory with the interface of files, so that a run reads both in the same way.


class FrameSource:
    """A table of any kind that ``open_frame`` accepts; its columns are converted when they are selected.

    >>> source = FrameSource({"answer": ["yes", None], "meta": [object(), object()]})
    >>> [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))]
    [[{'answer': 'yes'}, {'answer': None}]]

    Raises ``ColumnError`` for anything else.
    """

    files: tuple[DataFile, ...] = ()
    notes: tuple[str, ...] = ()
    unstable: str | None = None
    has_blanks = False

    def __init__(self, table: Any, max_row_bytes: int | None = None, name: str = "") -> None:
        self._frame = open_frame(table, name)
        self.names = Names(dict.fromkeys(self._frame.names))
        self.index = self._frame.index
        """The index of a pandas frame."""
        self.max_row_bytes = MAX_ROW_BYTES if max_row_bytes is None else max_row_bytes
        self._columns: pa.Table | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Other processes get the selected columns only."""
        return {**self.__dict__, "_frame": None, "index": None}

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
                self._columns = pa.concat_tables(pieces, promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ColumnError(f"the batches of the table hold columns of different types: {error}") from error
        return self._columns

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
    def rows(self) -> int | None:
        """The number of rows, once columns are selected."""
        return None if self._columns is None else int(self._columns.num_rows)

    @property
    def nbytes(self) -> int:
        """The bytes of the selected columns."""
        return 0 if self._columns is None else int(self._columns.nbytes)

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of the selected columns, which differs for other values."""
        digest = hashlib.blake2b(digest_size=16)
        table = pa.table({}) if self._columns is None else self._columns
        with pa.PythonFile(_Hashing(digest), mode="w") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return [["table", digest.hexdigest()]]

    def file_rows(self, number: int) -> int | None:
        """The number of rows."""
        return self.rows

    def bytes_before(self, file: int) -> int:
        """No bytes: there are no files."""
        return 0

    def select(self, columns: Mapping[str, str]) -> Selection:
        """The named columns (user's name: kind), each with the type in its batches.

        Raises ``ColumnError`` for a column that is missing or not of its kind.
        """
        self.hold(columns)
        self._columns = of_kinds(self._with(list(columns)), columns)
        return plain_selection(self._columns.select(list(columns)).schema, columns)

    def splits(self, start: Position = BEGINNING) -> list[Split]:
        """All rows from ``start`` on."""
        return [Split(start, None)]

    def chunks(
        self, selection: Selection, start: Position = BEGINNING, threads: int = 1, stop: Position | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` on, in order."""
        row = start.row
        for batch in self.hold(selection.schema.names).slice(row).to_batches(max_chunksize=SIZES.read_batch_rows):
            yield Chunk(0, np.arange(row, row + batch.num_rows), batch)
            row += batch.num_rows

    def where(self, position: Position) -> tuple[str, str]:
        """The row of a position, for messages."""
        return "the table", f"row {position.row}"

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with the types of the selection: no dictionaries, views or runs."""
        if chunk.batch.schema.equals(selection.schema):
            return chunk.batch
        arrays = [
            array if array.type == field.type else cast(array, field.type)
            for array, field in zip(chunk.batch.columns, selection.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=selection.schema)


def plain_selection(schema: pa.Schema, columns: Mapping[str, str]) -> Selection:
    """The columns of a schema with the types in batches: no dictionaries, views or runs."""
    return Selection(pa.schema([pa.field(field.name, plain(field.type)) for field in schema]), dict(columns))


class _Hashing:
    """A file that adds what is written to a digest."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True


# A table on disk, in any format and number of files, as one stream of record batches.


class FileSource:
    """An opened input: ``schema`` of all columns, ``rows`` if the files store it, ``nbytes`` on disk."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = without_empty(readers)
        self._own = self._keep_own_columns()
        self.files = [reader.file for reader in self._readers]
        self._unfit: dict[str, str] = {}
        """The columns that cannot be read, with the reasons; the error is raised when such a column is requested."""
        self.schema = self._unified()
        counts = [reader.rows for reader in self._readers]
        self.rows: int | None = None if None in counts else sum(count for count in counts if count is not None)
        sizes = [file.size for file in self.files]
        self.nbytes = sum(sizes)
        self.max_row_bytes = min(file.max_row_bytes for file in self.files)
        self._before = np.concatenate([[0], np.cumsum(sizes)])

    @property
    def names(self) -> Names:
        """The names of the columns."""
        preset = None if self.preset is None else self.preset.name
        return Names(self.schema.names, dict(zip(self.schema.names, self.schema.types, strict=True)), preset)

    @cached_property
    def preset(self) -> Preset | None:
        """The preset of the files: the named one, or the one by which all of them were recognised."""
        presets = [reader.preset or recognised(fields_of(reader.schema)) for reader in self._readers]
        return presets[0] if all(preset is presets[0] for preset in presets) else None

    @property
    def fingerprint(self) -> list[list[Any]]:
        """The identity of this input, which differs for a changed input."""
        return [reader.fingerprint() for reader in self._readers]

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
                    self._unfit.setdefault(name, f"{reader.file.shown}: the file has {count} columns {name!r}")
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
                own = path.column({field.name: pa.nulls(0, field.type) for field in reader.schema}).type
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
        if path.is_list and not is_list(type_):
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

    @property
    def notes(self) -> list[str]:
        """What the reader of a result should know."""
        notes = [f"{name} is read from the files, not from the names of their folders ({name}=…)" for name in self._own]
        if (preset := self.preset) is not None and not any(file.schema for file in self.files):
            way = f"schema={preset.name!r} (--schema {preset.name})"
            notes.append(f"recognised as {preset.name}: {preset.files}; {way} says so, columns (--columns) name others")
        return notes

    @property
    def unstable(self) -> str | None:
        """Why a run cannot go on in the middle of the rows, if it cannot."""
        reasons = (f"{reader.file.shown}: {reader.unstable}" for reader in self._readers if reader.unstable is not None)
        return next(reasons, None)

    @property
    def snapshot(self) -> str | None:
        """The moment of PostgreSQL that the rows are of, as long as this source lives."""
        return next((reader.snapshot for reader in self._readers if reader.snapshot is not None), None)

    @property
    def has_blanks(self) -> bool:
        """Whether a missing value of a column of text is a blank cell."""
        return all(reader.has_blanks for reader in self._readers)

    @property
    def has_types(self) -> bool:
        """Whether the columns have types: CSV has none."""
        return any(reader.has_types for reader in self._readers)

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

    def splits(self, start: Position = BEGINNING) -> list[Split]:
        """The rows from ``start`` on in splits that can be scored independently, computed without reading rows.

        A split is a run of Parquet row groups of 131,072 rows or more (256 MB, if their rows are long), or of whole
        files of other formats of 32 MB or more on disk; small files of any formats share a split.  The starts of
        splits depend only on the files, and each split starts a new part, so that every engine makes the same parts.
        """
        begins, share = [BEGINNING], 0.0
        for number, reader in enumerate(self._readers):
            for row, piece in self._pieces(number, reader):
                if share >= 1:
                    begins.append(Position(number, row))
                    share = 0.0
                share += piece
        splits = [Split(*pair) for pair in zip(begins, [*begins[1:], None], strict=True)]
        left = [split for split in splits if split.stop is None or split.stop > start]
        return [Split(max(start, split.start), split.stop) for split in left]

    def _pieces(self, number: int, reader: Reader) -> Sequence[tuple[int, float]]:
        """The rows at which a file can be divided, each with the share of a split that follows it."""
        if reader.pieces is not None:
            return reader.pieces
        return [(0, (self.bytes_before(number + 1) - self.bytes_before(number)) / reader.file.sizes.split_bytes)]

    def chunks(
        self, selection: Selection, start: Position = BEGINNING, threads: int = 1, stop: Position | None = None
    ) -> Iterator[Chunk]:
        """The rows from ``start`` to before ``stop`` (the end of a split), or to the end of the input, in order.

        Types are those of the files until ``conform`` unifies them.
        """
        for number in range(start.file, len(self._readers)):
            if stop is not None and stop <= (number, 0):
                return
            reader = self._readers[number]
            row = start.row if number == start.file else 0
            ends = (stop.row,) if stop is not None and stop.file == number else ()
            # Columns from folder names (key=value) are not read from the files.
            within = selection.without(reader.file.keys) if reader.file.keys else selection
            apart = bool(selection.paths) and not reader.follows_paths
            roots = within.roots(reader.schema) if apart else within
            chunks = patient(self._watched_reader(reader, roots, number, threads, *ends), row)
            yield from (self._at_paths(chunk, within) for chunk in chunks) if apart else chunks

    def _at_paths(self, chunk: Chunk, selection: Selection) -> Chunk:
        """The chunk with the selected columns, from those that the paths go into."""
        whole = dict(zip(chunk.batch.schema.names, chunk.batch.columns, strict=True))
        if not chunk.batch.num_rows:
            return replace(chunk, batch=batch_of(selection.schema))
        arrays: list[pa.Array] = []
        wrong: dict[int, tuple[str, str]] = {}
        for field in selection.schema:
            path = selection.paths.get(field.name)
            if path is None:
                array = whole[field.name]
            elif any(is_text(whole[root].type) for root in path.columns(whole)):
                roots = [whole[root].to_pylist() for root in path.columns(whole)]
                cells = []
                for row, values in enumerate(zip(*roots, strict=True)):
                    try:
                        record = dict(zip(path.columns(whole), values, strict=True))
                        cells.append(selection.cell(record, field.name))
                    except WrongValueError as error:
                        wrong.setdefault(row, (field.name, str(error)))
                        cells.append(None)
                array = pa.array(cells, field.type)
                if chunk.rows[0] == 0 and array.null_count == len(array) and not wrong:
                    reason = empty_because(path, {root: whole[root] for root in path.columns(whole)})
                    if reason is not None:
                        raise ColumnError(f"{self.files[chunk.file].shown}: path {field.name!r}: {reason}")
            else:
                array = path.column(whole)
            arrays.append(array)
        batch = pa.RecordBatch.from_arrays(arrays, names=selection.schema.names)
        if not wrong:
            return replace(chunk, batch=batch)
        rejects = list(chunk.rejects)
        for row, (column, reason) in wrong.items():
            position = Position(chunk.file, int(chunk.rows[row]))
            raw = json.dumps(chunk.batch.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False)
            rejects.append(Reject(position, *self.where(position), column, reason, raw))
        good = np.ones(batch.num_rows, np.bool_)
        good[list(wrong)] = False
        rejects.sort(key=lambda reject: reject.position)
        return replace(chunk, rows=chunk.rows[good], batch=batch.filter(pa.array(good)), rejects=tuple(rejects))

    @staticmethod
    def _watched_reader(
        reader: Any, selection: Selection, number: int, threads: int, *ends: int
    ) -> Callable[[int], Iterator[Chunk]]:
        def read(row: int) -> Iterator[Chunk]:
            try:
                with reading(reader.file.shown):
                    yield from reader.read(selection, number, row, threads, *ends)
            except FileFormatError:
                reader.check_unchanged()  # rather the cause than its effect
                raise
            reader.check_unchanged()

        return read

    def where(self, position: Position) -> tuple[str, str]:
        """The file and row of a position, for messages."""
        reader = self._readers[position.file]
        return reader.file.shown, reader.where(position.row)

    def conform(self, chunk: Chunk, selection: Selection) -> pa.RecordBatch:
        """A chunk's batch with exactly the selected columns and types, hive partition keys among them."""
        batch, reader = chunk.batch, self._readers[chunk.file]
        if batch.schema.equals(selection.schema):
            return batch
        arrays = []
        for field in selection.schema:
            if field.name in reader.file.keys:
                key = reader.file.keys[field.name]
                array = pa.repeat(pa.scalar(key, pa.string()), batch.num_rows).cast(field.type)
            else:
                array = batch.column(batch.schema.get_field_index(field.name))
                if array.type != field.type:
                    with reading(reader.file.shown):
                        array = cast(array, field.type)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=selection.schema)


def fields_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The paths of all fields of a schema with their types, as an outline of JSON has them.

    >>> list(fields_of(pa.schema({"id": pa.int64(), "docs": pa.list_(pa.struct({"text": pa.string()}))})))
    ['id', 'docs', 'docs[].text']
    """
    paths: dict[str, pa.DataType] = {}

    def add(path: str, type_: pa.DataType) -> None:
        while is_list(type_):
            path, type_ = f"{path}[]", type_.value_type
        for field in type_ if pt.is_struct(type_) else ():
            paths[f"{path}.{field.name}"] = field.type
            add(f"{path}.{field.name}", field.type)

    for field in schema:
        paths[field.name] = field.type
        add(field.name, field.type)
    return paths


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
