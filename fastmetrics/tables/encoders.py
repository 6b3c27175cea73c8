"""Encoding scores into files: one encoder per format, fed part by part; its bytes depend only on the parts."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyarrow.types as pt

from fastmetrics.base.arrays import arrow_numbers, is_text, numpy_values, plain
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.tables.addresses import is_url, parse, shown_address
from fastmetrics.tables.input_files import DataFile, read_small, reading
from fastmetrics.tables.remote_files import cause, passing
from fastmetrics.tables.text_values import csv_column, decode_schema, encode_schema, json_lines

# Guarding text that a spreadsheet would run as a formula with a leading quote, and removing the quote.
#
# Excel and LibreOffice treat a CSV cell that begins with ``=``, ``+``, ``-``, ``@`` or whitespace other than a space
# as a formula, and a formula can send the sheet to a server.  Numbers (``-5``) are harmless and unchanged.


_RISKY = r"[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def holds_text(type_: pa.DataType) -> bool:
    """Whether CSV writes values of the type as text: strings in any layout, and bytes."""
    type_ = plain(type_)
    return is_text(type_) or any(test(type_) for test in (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary))


def plain_text(text: pa.Array) -> pa.Array:
    """Text of any layout as consecutive strings or bytes."""
    text = text.cast(plain(text.type))
    return text.cast(pa.binary()) if pt.is_fixed_size_binary(text.type) else text


def guarded(text: pa.Array) -> tuple[pa.Array, int]:
    """The texts with a leading quote before formulas, and the number of quoted texts.

    Texts that already look quoted get another quote, so the original can be restored.

    >>> texts, count = guarded(pa.array(["=1+1", "-5", "- five", "'=1", "five"]))
    >>> texts.to_pylist(), count
    (["'=1+1", '-5', "'- five", "''=1", 'five'], 3)
    """
    text = plain_text(text)
    seen = text.view(pa.large_string() if pt.is_large_binary(text.type) else pa.string()) if _is_bytes(text) else text
    begins = pc.match_substring_regex(seen, f"^'*{_RISKY}")
    risky = pc.and_not(begins, pc.match_substring_regex(seen, _NUMBER)) if pc.any(begins).as_py() else begins
    count = pc.sum(risky).as_py() or 0
    if not count:
        return text, 0
    quote, nothing = (pa.scalar(character, text.type) for character in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(quote, text, nothing), text), count


def _is_bytes(text: pa.Array) -> bool:
    return bool(pt.is_binary(text.type) or pt.is_large_binary(text.type))


def unguarded(text: pa.Array) -> pa.Array:
    """The texts as they were before ``guarded``.

    >>> unguarded(pa.array(["'=1+1", "''=1", "it's", None])).to_pylist()
    ['=1+1', "'=1", "it's", None]
    """
    return pc.replace_substring_regex(text, f"^'('*{_RISKY})", r"\1")


# What the metadata beside a text file record of its columns: their types, and which cells are null.
#
# They hold for exactly the file that was written: its size and a digest of its beginning are recorded too.  A file
# that was changed since, or replaced, is read like any other file of its format.


_BEGINNING = 1 << 16


@dataclass(frozen=True)
class Recorded:
    """The record of a text file: the ``columns`` it was written with; whether text begins with quotes (``guarded``);
    the rows that are null in a CSV file of one column of text; whether the file was ``changed`` since.
    """

    columns: pa.Schema | None = None
    guarded: bool = False
    null_rows: Sequence[int] = ()
    changed: bool = False

    @property
    def schema(self) -> pa.Schema | None:
        """The columns with their types, if the file is the one that was written."""
        return None if self.changed else self.columns

    @property
    def is_plain(self) -> bool:
        """Whether JSON itself shows the types of all columns."""
        return all(_is_plain(field.type) for field in self.columns or ())


NO_RECORD = Recorded()


def described(schema: pa.Schema, encoder: Encoder, path: Path) -> dict[str, Any]:
    """The metadata beside a complete file: its columns and, for text, what :func:`recorded` needs.

    They also contain the number of ``guarded`` cells, if any: the reader removes their quotes.
    """
    output = {field.name: str(field.type) for field in schema}
    about: dict[str, Any] = {"output": output}
    if encoder.is_text:
        with open(path, "rb") as file:
            about["file"] = {"bytes": path.stat().st_size, "sha256": _digest(file.read(_BEGINNING))}
        about["schema"] = encode_schema(pa.schema([(field.name, plain(field.type)) for field in schema]))
    if encoder.null_rows:
        about["null_rows"] = list(encoder.null_rows)
    return {**about, **({"guarded": encoder.guarded} if encoder.guarded else {})}


def recorded(file: DataFile) -> Recorded:
    """The record of a text file; empty for a file without metadata beside it, a copied stream, and a web address.

    Raises ``FileFormatError`` if the metadata cannot be read.
    """
    if file.checksum is not None or (is_url(file.path) and parse(file.path).scheme in ("http", "https")):
        return NO_RECORD
    metadata = _beside(file)
    guarded = bool(metadata.get("guarded"))
    schema = recorded_schema(metadata)
    if schema is None:
        return Recorded(guarded=guarded)
    rows = metadata.get("null_rows")
    whole = isinstance(rows, list) and all(isinstance(row, int) for row in rows)
    null_rows = rows if whole and isinstance(rows, list) else ()
    return Recorded(schema, guarded, null_rows, changed=not _is_of(metadata, file))


def _is_plain(type_: pa.DataType) -> bool:
    if pt.is_list(type_):
        return _is_plain(type_.value_type)
    if pt.is_struct(type_):
        return all(_is_plain(field.type) for field in type_)
    return type_ in (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.null())


def recorded_schema(metadata: Mapping[str, Any]) -> pa.Schema | None:
    """The columns of a text file with their types, according to its metadata; None if unknown."""
    try:
        return decode_schema(metadata["schema"])
    except (KeyError, TypeError, ValueError, OSError, pa.ArrowException):
        return None


def _beside(file: DataFile) -> Mapping[str, Any]:
    """The metadata beside a file; empty if there are none, or if a store does not say whether there are."""
    name = str(parse(file.path).beside(".meta.json")) if is_url(file.path) else f"{file.path}.meta.json"
    try:
        with reading(shown_address(name)):
            data = read_small(name)
    except FileFormatError as error:
        if file.is_remote and not passing(error.__cause__):
            return {}
        raise
    try:
        metadata = {} if data is None else json.loads(data)
    except (ValueError, RecursionError):  # the file of another program
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _is_of(metadata: Mapping[str, Any], file: DataFile) -> bool:
    """Whether metadata are of the file, by its size and its first bytes as stored."""
    about = metadata.get("file")
    if not isinstance(about, dict) or about.get("bytes") != file.size:
        return False
    stream = replace(file, compression=None).open()[0]
    with reading(file.shown), stream:
        return bool(about.get("sha256") == _digest(stream.read(_BEGINNING)))


def _digest(beginning: bytes) -> str:
    return hashlib.sha256(beginning).hexdigest()


# The metadata that a run stores in its Parquet file.


def metadata_in(parquet: pq.ParquetFile, shown: str) -> dict[str, Any] | None:
    """The signature and the conclusion of a run, or None if there are none."""
    metadata = {**(parquet.schema_arrow.metadata or {}), **(parquet.metadata.metadata or {})}
    if KEY.encode() not in metadata:
        return None
    return json_object(metadata[KEY.encode()], shown) | json_object(metadata.get(CONCLUSION.encode(), b"{}"), shown)


def json_object(data: bytes | str, shown: str) -> dict[str, Any]:
    """Metadata as an object; raises ``FileFormatError`` for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FileFormatError(f"{shown}: the metadata of fastmetrics are not a JSON object")
    return value


# Encoding scores into files: one encoder per format, fed part by part; its bytes depend only on the parts.


_SAMPLE_ROWS = 4_096
_BLANK_LINE = re.compile(rb"^\n", re.MULTILINE)
KEY = "fastmetrics"
CONCLUSION = "fastmetrics.conclusion"


class Encoder(Protocol):
    """A file being written; ``close`` receives the final metadata, for formats that can store them.

    ``guarded`` is the number of cells and column names with a leading quote so far; ``null_rows`` are the rows so far
    that are null in a CSV file of one column of text, where nulls are written like empty texts.  ``is_text`` files
    lack the types of their columns, which are recorded beside them.
    """

    is_text: bool

    def write(self, part: pa.RecordBatch) -> None: ...

    def close(self, conclusion: Mapping[str, Any]) -> None: ...

    def discard(self) -> None: ...

    @property
    def guarded(self) -> int: ...

    @property
    def null_rows(self) -> Sequence[int]: ...


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Convert errors while writing a file into ``OutputError``."""
    try:
        yield
    except OutputError:
        raise
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        # The format does not support the type of a column.
        raise OutputError(f"cannot write {path}: {(str(error).splitlines() or [''])[0]}") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else cause(error)
        raise OutputError(f"cannot write {path}: {reason}") from error


class ParquetEncoder:
    """Parquet, one row group per part.

    Scores are mostly ratios of small counts: a dictionary makes a column with few distinct values 2-6 times smaller at
    the same speed, but one with many distinct values 5-10 times slower.  The first part decides for each column.
    """

    is_text = False
    guarded = 0
    null_rows: Sequence[int] = ()

    def __init__(self, path: Path | pa.BufferOutputStream, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None

    def write(self, part: pa.RecordBatch) -> None:
        if self._writer is None:
            few = [name for name, column in zip(part.schema.names, part.columns, strict=True) if _repeats(column)]
            # PyArrow rejects duplicate column names here, and reads dots in names as nested fields.
            self._writer = pq.ParquetWriter(
                self._path, self._schema, use_dictionary=few or False, write_statistics=True
            )
        if part.num_rows:
            self._writer.write_table(pa.Table.from_batches([part]), row_group_size=part.num_rows)

    def close(self, conclusion: Mapping[str, Any]) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, self._schema)
        if conclusion:
            self._writer.add_key_value_metadata({CONCLUSION: dump(conclusion)})
        self._writer.close()

    def discard(self) -> None:
        if self._writer is not None:
            with _quietly():
                self._writer.close()


def _repeats(column: pa.Array) -> bool:
    sample = column.slice(0, _SAMPLE_ROWS)
    if pt.is_nested(sample.type) or pt.is_null(sample.type) or isinstance(sample.type, pa.BaseExtensionType):
        return False
    return bool(pc.count_distinct(sample, mode="all").as_py() * 4 <= len(sample))


class ArrowEncoder:
    """Arrow IPC file, one record batch per part."""

    is_text = False
    guarded = 0
    null_rows: Sequence[int] = ()

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def write(self, part: pa.RecordBatch) -> None:
        self._writer.write_batch(part)

    def close(self, conclusion: Mapping[str, Any]) -> None:
        self._writer.close()
        self._sink.close()

    def discard(self) -> None:
        with _quietly():
            self._sink.close()


class TextEncoder:
    """JSON lines, or CSV with a ``delimiter``, optionally compressed; ``guard`` quotes formulas in CSV."""

    is_text = True

    def __init__(
        self, path: Path, schema: pa.Schema, compression: str | None, *, guard: bool, delimiter: str | None = None
    ) -> None:
        self._file = pa.OSFile(str(path), "wb")
        self._sink = pa.CompressedOutputStream(self._file, compression) if compression else self._file
        self._delimiter = delimiter
        self._guard = guard
        self.guarded = 0
        self.null_rows: list[int] = []
        self._rows = 0
        if self._delimiter is not None:
            names = self._guarded(pa.array(schema.names, pa.string())).to_pylist()
            self._csv(pa.table([pa.array([], pa.string())] * len(names), names=names), header=True)

    def _guarded(self, column: pa.Array) -> pa.Array:
        """The column with leading quotes before formulas; the quoted cells are counted."""
        if not (self._guard and holds_text(column.type)):
            return column
        column, count = guarded(column)
        self.guarded += count
        return column

    def _csv(self, table: pa.Table, *, header: bool) -> None:
        options = pacsv.WriteOptions(include_header=header, delimiter=self._delimiter)
        block = pa.BufferOutputStream()
        lone = table.num_columns == 1
        if lone and holds_text(table.schema.field(0).type):
            self.null_rows += (np.flatnonzero(table.column(0).is_null()) + self._rows).tolist()
            table = _null_text_as_empty(table)
        pacsv.write_csv(table, block, options)
        text = block.getvalue()
        if lone and table.column(0).null_count:  # readers skip blank lines, so a lone null is quoted
            text = _BLANK_LINE.sub(b'""\n', text.to_pybytes())
        self._sink.write(text)
        self._rows += table.num_rows

    def write(self, part: pa.RecordBatch) -> None:
        if not part.num_rows:
            return
        if self._delimiter is None:
            self._sink.write("".join(json_lines(part)).encode())
        else:
            columns = [self._guarded(csv_column(column)) for column in part.columns]
            self._csv(pa.Table.from_arrays(columns, names=part.schema.names), header=False)

    def close(self, conclusion: Mapping[str, Any]) -> None:
        self._sink.close()
        self._file.close()

    def discard(self) -> None:
        with _quietly():
            self._sink.close()
            self._file.close()


@contextmanager
def _quietly() -> Iterator[None]:
    """Close a file that is discarded, ignoring errors."""
    try:
        yield
    except (OSError, pa.ArrowException):
        return


def _null_text_as_empty(table: pa.Table) -> pa.Table:
    """A text column with empty text for null, so that blank lines within a text are not read as rows."""
    text = plain_text(table.column(0))
    return pa.table([text.fill_null(pa.scalar("", text.type))], table.schema.names)


def dump(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON."""
    return json.dumps(metadata, ensure_ascii=False)


def undefined_as_null(batch: pa.RecordBatch, user_columns: set[str]) -> pa.RecordBatch:
    """The batch with NaN as null in every float column except ``user_columns``.

    Values under nulls are zeroed or emptied, because Arrow files would expose the previous memory contents.
    """
    arrays = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in user_columns and pt.is_floating(column.type):
            values = numpy_values(column)
            missing = np.isnan(values)
            if missing.any():
                zeroed = np.where(missing, values.dtype.type(0), values)
                column = arrow_numbers(zeroed, column.type, missing)
        elif column.null_count or pt.is_nested(column.type):
            rows = arrow_numbers(np.arange(len(column)), pa.int64(), numpy_values(column.is_null()))
            column = column.take(rows)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
