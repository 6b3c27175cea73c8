"""Files of rankings and judgements: finding them, and detecting their formats from the contents, not the names."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.file_columns import WrongValueError
from fastmetrics.tables.file_formats import sniff
from fastmetrics.tables.formats.jsonl import record_of
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.inputs.input_paths import DATABASE, expand
from fastmetrics.tables.inputs.input_streams import compression_of
from fastmetrics.tables.rankings.ranking_columns import NAMES, canonical
from fastmetrics.tables.remote.remote_files import side_by_side

BOM = b"\xef\xbb\xbf"
_UNSEEN = "ranking"
_HEAD = 16


def ranking_files(path: str | Path) -> list[DataFile]:
    """The files of a path; for a folder, all files except hidden ones.

    Each is ``parquet``, ``arrow``, ``jsonl``, ``csv``, ``tsv``, ``json`` or ``trec``, or in a database.
    """
    return side_by_side(_recognised, expand(path, _UNSEEN, (_UNSEEN,)))


def opened(file: DataFile) -> BinaryIO:
    """The text of a file, without a byte order mark."""
    stream = io.BufferedReader(file.open()[0])
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    return stream


def _recognised(file: DataFile) -> DataFile:
    """The file with the format and the compression detected from its first bytes; a table in a database has none."""
    if file.format == DATABASE:
        return file
    with reading(file.shown), replace(file, compression=None).open()[0] as packed:
        head = packed.read(_HEAD)
    file = replace(file, compression=compression_of(head))
    if (format := sniff(head)) in ("parquet", "arrow"):
        return replace(file, format=str(format))
    with reading(file.shown), opened(file) as text:
        line = text.readline(file.max_row_bytes)
    begin = line.strip()
    is_json = begin[:1] in (b"{", b"[")
    if len(line) == file.max_row_bytes and not is_json:
        raise FileFormatError(f"{file.shown}, line 1: the line is longer than {file.max_row_bytes:,} bytes")
    if is_json:
        return replace(file, format="jsonl" if _is_record(begin) else "json")
    return replace(file, format=_table_format(begin, file.shown) or "trec")


def _table_format(head: bytes, where: str) -> str | None:
    """csv or tsv, if the line is a header with names of columns of rankings or judgements."""
    expected = {name for names in NAMES.values() for name in names}
    for format, mark in (("csv", ","), ("tsv", "\t")):
        try:
            cells = next(csv.reader([head.decode("utf-8", "replace")], delimiter=mark), [])
        except csv.Error as error:
            raise FileFormatError(f"{where}, line 1: {error}") from error
        names = set(map(canonical, cells))
        if len(names) > 2 and len(names & expected) > 1:
            return format
    return None


def _is_record(line: bytes) -> bool:
    """Whether a line is one row of JSON lines, not (the beginning of) a dictionary of dictionaries."""
    if not line.startswith(b"{"):
        return False
    try:
        record = record_of(line)
    except WrongValueError:
        return False
    return bool(record) and not any(isinstance(value, dict) for value in record.values())
