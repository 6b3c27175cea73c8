"""Opening what users give as a table: paths, folders, patterns, addresses, streams, queries, or a table in memory.

**Paths, tables and columns.** A text or a ``Path`` is a path, an address or a pattern, and a list of them is several.
Where an argument may also be a plain column (labels, chunks, texts of pairs), a list of texts is the column, and
``Path`` objects in a list are several files. Anything else is a table or a column in memory. ``tables/opening.py`` has
the rule, for all functions.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.base.limits import STANDARD, ReadSizes
from fastmetrics.base.options import Optional, Whole, argument
from fastmetrics.tables import remote_files as remote
from fastmetrics.tables.addresses import (
    as_local,
    as_text,
    as_utf8,
    is_database,
    is_url,
    on_disk,
    parameters,
    parse,
    shown_address,
)
from fastmetrics.tables.database_reader import DatabaseReader
from fastmetrics.tables.formats import FORMATS, AllowedFormats, table_formats
from fastmetrics.tables.input_files import (
    PLAIN,
    DataFile,
    ReadSettings,
    compression_of,
    content_of,
    read_by_default,
    reading,
    spool,
)
from fastmetrics.tables.json_documents import JSON
from fastmetrics.tables.readers import Reader
from fastmetrics.tables.remote_files import plainly, side_by_side
from fastmetrics.tables.sources import FileSource, FrameSource, TableSource, without_empty

_HEAD = 4096
DATABASE = "database"
"""The format of a table or query in a database."""


# A table of any kind, and the rule that tells tables in memory from files.


def is_paths(data: Any, *, or_column: bool = False) -> bool:
    """Whether an argument of data is paths: the rule of all functions.

    A text or a ``Path`` is a path, an address or a pattern, and a list of them is several.  An argument that may also
    be a plain column, ``or_column``, differs in one point: a list of texts is a column, and several paths are ``Path``
    objects.  Anything else is in memory: a column
    (:func:`fastmetrics.base.columns.is_column`) or a table
    (:func:`fastmetrics.base.columns.open_frame`).

    >>> is_paths("rows.parquet"), is_paths(["a.csv", "b.csv"]), is_paths({"answer": ["yes"]}), is_paths([])
    (True, True, False, False)
    >>> is_paths("rows.parquet", or_column=True), is_paths(["yes", "no"], or_column=True)
    (True, False)
    """
    several = isinstance(data, Sequence) and not isinstance(data, str | bytes) and bool(data)
    kinds = Path if or_column else str | Path
    return isinstance(data, str | Path) or (several and all(isinstance(path, kinds) for path in data))


def open_table(
    table: Any,
    settings: ReadSettings = PLAIN,
    sizes: ReadSizes = STANDARD,
    *,
    name: str = "table",
    or_column: bool = False,
    schema: str | None = None,
) -> TableSource:
    """Open a table of any kind, or files by their paths, as ``open_source`` does.

    What is opened already, files with other sizes for example, stays as it is.

    ``name`` is the argument, for messages, ``or_column`` that of :func:`is_paths`, and ``schema`` the preset of files.

    Raises ``ColumnError`` for anything else, ``OptionError`` for settings of files beside a table in memory, and the
    errors of ``open_source``.
    """
    if isinstance(table, TableSource):
        return table
    if is_paths(table, or_column=or_column):
        if settings.query is not None:
            table = with_query(table, settings.query)
        elif (query := read_by_default().query) is not None and all(map(is_database, _listed(table))):
            table = with_query(table, query)
        return open_source(table, settings.format, settings.max_row_bytes, sizes, settings, schema)
    if settings.query is not None:
        raise OptionError(
            Argument("query", settings.query), ": a table in memory has none; give it with the address of a database"
        )
    for option, value in {"format": settings.format, **settings.of_cells}.items():
        if value is not None:
            raise OptionError(Argument(option, value), ": a table in memory has none; give it with paths")
    return FrameSource(table, argument("max_row_bytes", settings.max_row_bytes, Optional(Whole(1, 1 << 62))), name)


def open_as_read(table: Any, how: Mapping[str, Any] | None, *, name: str = "table") -> TableSource:
    """Open a table; files of the format that a run read are read as it did, by the ``reading`` in its metadata."""
    if not how or not is_paths(table):
        return open_table(table, name=name)
    settings = {key: value for key, value in how.items() if key in vars(PLAIN) and key != "format"}
    try:
        files = expand(table)
    except FileFormatError:  # the first bytes do not say the format
        files = expand(table, how["format"])
    if {file.format for file in files} == {how["format"]}:
        files = [replace(file, settings=ReadSettings(**settings), schema=how.get("schema")) for file in files]
    return open_files(files)


# Files, by paths, addresses and queries.


def open_source(
    inputs: str | Path | Sequence[str | Path],
    format: str | None = None,
    max_row_bytes: int | None = None,
    sizes: ReadSizes = STANDARD,
    settings: ReadSettings = PLAIN,
    schema: str | None = None,
) -> FileSource:
    """Open files, folders, globs, ``-`` (standard input), or tables and queries of databases as one table.

    Formats go by suffix, then by the first bytes: Parquet, JSON, CSV and TSV (with a header), Excel, Arrow IPC files
    and streams; text may be compressed (.gz, .zst, .bz2, .xz).  A folder gives its files in order of path, with the
    keys of hive folders (``lang=de/``) as columns: of integers if all values of a key are whole numbers, otherwise of
    text; a column that a file has itself is read from the file.  In text formats ids that mix numbers and strings
    become strings in the whole column.  A row of more than ``max_row_bytes`` bytes, by default 64 MiB, is a bad row.
    ``sizes`` say how much is read at a time, ``settings`` what the cells of CSV are, and ``schema`` names the preset of
    the files.

    Raises ``FileFormatError`` for a file that is missing, empty, truncated,
    damaged or of an unknown format.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.csv")
    >>> _ = path.write_text("id,answer\\n7,yes\\n")
    >>> source = open_source(path)
    >>> source.schema.names
    ['id', 'answer']
    >>> [chunk.batch.to_pylist() for chunk in source.chunks(source.select({"answer": "text"}))]
    [[{'answer': 'yes'}]]
    """
    settings = settings if settings.of_cells else read_by_default()
    max_row_bytes = read_by_default().max_row_bytes if max_row_bytes is None else max_row_bytes
    files = [replace(file, sizes=sizes, settings=settings, schema=schema) for file in expand(inputs, format)]
    if max_row_bytes is not None:
        if max_row_bytes < 1:
            raise OptionError(Argument("max_row_bytes", max_row_bytes), ": expected at least 1")
        files = [replace(file, max_row_bytes=max_row_bytes) for file in files]
    return open_files(files)


def open_files(files: Sequence[DataFile]) -> FileSource:
    """Files of known formats as one table."""
    return FileSource(side_by_side(_reader, files))


def open_each(files: Sequence[DataFile]) -> list[FileSource]:
    """Each file that is not empty as a separate table."""
    return [FileSource([reader]) for reader in without_empty(side_by_side(_reader, files))]


def _reader(file: DataFile) -> Reader:
    if file.format == DATABASE:
        return DatabaseReader(file)
    make = FORMATS[file.format].reader
    assert make is not None, file.format
    stated = PLAIN if file.settings is read_by_default() else file.settings
    if stated.records is not None and file.format not in ("json", "jsonl"):
        way = Argument("records", stated.records)
        raise OptionError(way, f": {file.shown} is {file.format}; records are within JSON")
    if stated.sheet is not None and file.format != "xlsx":
        raise OptionError(Argument("sheet", stated.sheet), f": {file.shown} is {file.format}; it has no sheets")
    return make(file)


def with_query(table: str | Path | Sequence[str | Path], query: str) -> list[str]:
    """The addresses of databases with a query; raises ``OptionError`` for anything else, or for two queries."""
    queried = []
    for path in _listed(table):
        if not is_database(path):
            raise OptionError(
                Argument("query", query),
                f": {shown_address(path)} is not the address of a database, as sqlite:///answers.db is",
            )
        url = parse(path)
        if {"table", "query"} & parameters(url).keys():
            raise OptionError(Argument("query", query), f": {url.shown} already names a table or a query")
        pair = f"query={quote(query, safe='')}"
        queried.append(as_text(str(replace(url, query="&".join(filter(None, [url.query, pair]))))))
    return queried


def _listed(table: str | Path | Sequence[str | Path]) -> list[str | Path]:
    return [table] if isinstance(table, str | Path) else list(table)


# The files of an input, each with its format.


def expand(
    inputs: str | Path | Sequence[str | Path], format: str | None = None, formats: Sequence[str] | None = None
) -> list[DataFile]:
    """The files for paths, folders, globs and ``-`` (standard input); the files of a folder are sorted by name.

    Each has one of the ``formats``, by default those of tables, and all have ``format`` if it is given.
    """
    formats = table_formats() if formats is None else formats
    if format is not None and format not in formats:
        raise OptionError(Argument("format", format), f": expected one of {', '.join(formats)}")
    allowed = AllowedFormats(format, formats)
    paths = _listed(inputs)
    if not paths:
        raise OptionError("no input given")
    files: list[DataFile] = []
    for path in map(as_local, paths):
        if path == "-":
            files.append(_spooled(sys.stdin.buffer, "standard input", allowed))
        elif is_database(path):
            files.append(_in_database(path, format if format in table_formats() else None))
        elif is_url(path):
            files.extend(_behind(path, allowed))
        else:
            found = [_file(name, allowed, relative) for name, relative in on_disk(path)]
            inputs_found = [file for file in found if file is not None]
            if not inputs_found:
                raise FileFormatError(f"{path}: {_nothing(path, allowed)}")
            files.extend(inputs_found)
    return files


def _in_database(address: str, format: str | None) -> DataFile:
    """The table or query at an address; raises ``OptionError`` for the format of a file."""
    shown = parse(address).shown
    if format is not None:
        raise OptionError(Argument("format", format), f": {shown} is in a database, which is no file")
    return DataFile(address, shown, DATABASE, stamp=(0, ""))


def _nothing(path: str, allowed: AllowedFormats) -> str:
    """The error for a folder or a pattern without matching files."""
    if has_magic(path) and not os.path.isdir(path):
        return "no file matches"
    kind = "table files" if allowed.formats == table_formats() else f"files of the formats {', '.join(allowed.formats)}"
    ends = "; their names end in the format, as in rows.jsonl" if kind == "table files" else ""
    return f"the folder contains no {kind}{ends}"


def _keys(relative: str | None, allowed: AllowedFormats) -> dict[str, str | None] | None:
    """The keys in the names of a file's folders; None for a file in a folder that is no input.

    JSON documents often describe the files beside them.
    """
    *folders, name = (relative or "").split("/")
    if relative is not None and allowed.by_name(name)[0] in (None, JSON.name):
        return None
    return dict(_hive(step) for step in folders if "=" in step)


def _file(path: str, allowed: AllowedFormats, relative: str | None) -> DataFile | None:
    """A file on this machine, with its path in the folder that is read; None if it is no input there."""
    keys = _keys(relative, allowed)
    if keys is None:
        return None
    as_utf8(os.path.abspath(path))
    kind, compression = allowed.by_name(path)
    with reading(path), open(path, "rb") as stream:
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):  # a named pipe, or the file of <(command)
            return _spooled(stream, path, allowed)
        head = stream.read(16)
        content = content_of(path)
    # Absolute path, because other processes may have other working directories.
    format = kind or allowed.by_bytes(head, path)
    return DataFile(os.path.abspath(path), path, format, compression, keys, content=content)


def _behind(address: str, allowed: AllowedFormats) -> list[DataFile]:
    """The files for an address."""
    shown = parse(address).shown
    with reading(shown), plainly():
        matches = remote.find(address)
    files = []
    for match in matches:
        if match.stamp[0] is None:
            with reading(match.url.shown), plainly():
                stream = remote.stream_of(match.url)
            files.append(_spooled(stream, match.url.shown, allowed))
            continue
        keys, (kind, compression) = _keys(match.relative, allowed), allowed.by_name(match.url.name)
        if keys is None:
            continue
        if kind is None:
            with reading(match.url.shown):
                kind = allowed.by_bytes(remote.remote_file(match.url, match.stamp, 16).read(16), match.url.shown)
        files.append(DataFile(str(match.url), match.url.shown, kind, compression, keys, stamp=match.stamp))
    if not files:
        raise FileFormatError(f"{shown}: {_nothing(parse(address).path, allowed)}")
    return files


def _hive(step: str) -> tuple[str, str | None]:
    key, _, value = step.partition("=")
    return unquote(key), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _spooled(stream: BinaryIO, path: str, allowed: AllowedFormats) -> DataFile:
    """The copied file of a stream, with format and compression from its first bytes."""
    with reading(path), plainly():
        first = stream.read(_HEAD)
    compression, kind = compression_of(first), allowed.by_name(path)[0]
    if compression is None:  # streams may be endless
        kind = kind or allowed.by_bytes(first, path)
    with reading(path), plainly():
        copy, checksum = spool(stream, path, first)
    file = DataFile(copy, path, "", compression, checksum=checksum)
    if kind is None:
        with reading(path), file.open()[0] as text:
            head = text.read(_HEAD)
        kind = allowed.by_bytes(head, path)
    return replace(file, format=kind)
