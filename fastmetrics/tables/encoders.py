"""Encoding scores into files: one encoder per format, fed part by part; its bytes depend only on the parts."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyarrow.types as pt

from fastmetrics.base.arrays import arrow_numbers, as_lists, is_list, is_text, numpy_values, plain
from fastmetrics.base.errors import FileFormatError, OutputError
from fastmetrics.kernels.byte_search import deepest
from fastmetrics.tables.addresses import is_url, parse, shown_address
from fastmetrics.tables.column_types import cast, entries_type
from fastmetrics.tables.input_files import DataFile, read_small, reading
from fastmetrics.tables.remote_files import cause, passing

# The maximum nesting of JSON: parsers recurse, and crash the process at some depth.


DEPTH = 100
"""Maximum nesting of brackets."""


def is_deep(block: bytes) -> bool:
    """Whether a line of the block is nested more than ``DEPTH`` levels deep.

    >>> is_deep(b"[[1]]"), is_deep(b"[" * 101)
    (False, True)
    """
    return bool(deepest(np.frombuffer(block, np.uint8), DEPTH) >= 0)


# Values of any Arrow type as text, for CSV and JSON lines.


_STRINGS = pa.large_string()


def csv_column(column: pa.Array) -> pa.Array:
    """A column that Arrow can write to CSV: lists, structs and maps become JSON."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _uuid_text(column) if is_uuid(column.type) else csv_column(column.storage)
    column = cast(column, plain(column.type))
    if pt.is_nested(column.type):
        return pa.array([None if value is None else _json(value) for value in portable(column).to_pylist()], _STRINGS)
    return column


def json_lines(batch: pa.RecordBatch) -> list[str]:
    """Each row as one line of JSON.

    >>> json_lines(pa.record_batch({"id": ["a"], "token_f1": [0.5]}))
    ['{"id": "a", "token_f1": 0.5}\\n']
    """
    pieces: list[object] = []
    for index, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        pieces.append(pa.scalar(f"{', ' if index else '{'}{_json(name)}: ", _STRINGS))
        pieces.append(_json_cells(column))
    pieces.append(pa.scalar("}\n", _STRINGS))
    joined: list[str] = pc.binary_join_element_wise(*pieces, pa.scalar("", _STRINGS)).to_pylist()
    return joined


def _json_cells(column: pa.Array) -> pa.Array:
    column = portable(column)
    if pt.is_floating(column.type):
        return _numbers(column)
    if pt.is_integer(column.type) or pt.is_boolean(column.type):
        return column.cast(_STRINGS).fill_null("null")
    return pa.array([_json(value) for value in column.to_pylist()], _STRINGS)


def _numbers(column: pa.Array) -> pa.Array:
    """Floats in JSON; −0 as ``-0.0``, because ``-0`` is an integer."""
    text = column.cast(_STRINGS)
    odd = pc.or_(pc.invert(pc.is_finite(column)), pc.equal(text, "-0"))
    if pc.any(odd).as_py():
        names = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"', "-0": "-0.0"}
        text = pa.array([names.get(value, value) for value in text.to_pylist()], _STRINGS)
    return text.fill_null("null")


def portable(column: pa.Array) -> pa.Array:
    """A column whose ``to_pylist`` JSON can express, apart from numbers that are not finite."""
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType):
        return _uuid_text(column) if is_uuid(type_) else portable(column.storage)
    column = cast(column, plain(type_))
    type_ = column.type
    if pt.is_map(type_):
        return portable(column.cast(entries_type(type_)))
    if is_list(type_):
        lists = as_lists(column)
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(lists.offsets, portable(lists.values), mask=mask)
    if pt.is_struct(type_):
        mask = column.is_null() if column.null_count else None
        fields = [portable(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in type_], mask=mask)
    if pt.is_duration(type_):
        return column.cast(pa.int64())
    if pt.is_float16(type_):
        return column.cast(pa.float32())
    if pt.is_boolean(type_) or pt.is_integer(type_) or pt.is_floating(type_) or pt.is_null(type_) or is_text(type_):
        return column
    if pt.is_binary(type_) or pt.is_large_binary(type_) or pt.is_fixed_size_binary(type_):
        return pa.array([None if value is None else base64.b64encode(value).decode() for value in column.to_pylist()])
    return column.cast(pa.string())


def is_uuid(type_: pa.DataType) -> bool:
    """Whether the type holds UUIDs, which are written in their usual form."""
    return getattr(type_, "extension_name", None) == "arrow.uuid"


def _uuid_text(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_with_names(value), ensure_ascii=False)


def _with_names(value: Any) -> Any:
    """The value with strings in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: _with_names(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_names(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


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


def metadata_beside(file: DataFile) -> dict[str, Any]:
    """The metadata beside a file; empty if there are none, and for a stream or a web address."""
    if file.checksum is not None or (is_url(file.path) and parse(file.path).scheme in ("http", "https")):
        return {}
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


def described(schema: pa.Schema, encoder: Encoder) -> dict[str, Any]:
    """The metadata beside a complete file: its columns, and the number of ``guarded`` cells, if any."""
    output = {field.name: str(field.type) for field in schema}
    return {"output": output, **({"guarded": encoder.guarded} if encoder.guarded else {})}


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


class Encoder(ABC):
    """A file being written; ``close`` receives the final metadata, for formats that can store them."""

    guarded = 0
    """The number of cells and column names with a leading quote so far."""

    @abstractmethod
    def write(self, part: pa.RecordBatch) -> None:
        """Write the rows of a part."""

    @abstractmethod
    def close(self, conclusion: Mapping[str, Any]) -> None:
        """Complete the file."""

    def discard(self) -> None:
        """Close a file that is not needed, in any state."""
        with suppress(OSError, pa.ArrowException):
            self.close({})


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


class ParquetEncoder(Encoder):
    """Parquet, one row group per part.

    Scores are mostly ratios of small counts: a dictionary makes a column with few distinct values 2-6 times smaller at
    the same speed, but one with many distinct values 5-10 times slower.  The first part decides for each column.
    """

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


def _repeats(column: pa.Array) -> bool:
    sample = column.slice(0, _SAMPLE_ROWS)
    if pt.is_nested(sample.type) or pt.is_null(sample.type) or isinstance(sample.type, pa.BaseExtensionType):
        return False
    return bool(pc.count_distinct(sample, mode="all").as_py() * 4 <= len(sample))


class ArrowEncoder(Encoder):
    """Arrow IPC file, one record batch per part."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)

    def write(self, part: pa.RecordBatch) -> None:
        self._writer.write_batch(part)

    def close(self, conclusion: Mapping[str, Any]) -> None:
        self._writer.close()
        self._sink.close()


class TextEncoder(Encoder):
    """JSON lines, or CSV with a ``delimiter``, in which formulas are guarded, optionally compressed."""

    def __init__(self, path: Path, schema: pa.Schema, compression: str | None, delimiter: str | None = None) -> None:
        self._file = pa.OSFile(str(path), "wb")
        self._sink = pa.CompressedOutputStream(self._file, compression) if compression else self._file
        self._delimiter = delimiter
        if self._delimiter is not None:
            names = self._guarded(pa.array(schema.names, pa.string())).to_pylist()
            self._csv(pa.table([pa.array([], pa.string())] * len(names), names=names), header=True)

    def _guarded(self, column: pa.Array) -> pa.Array:
        """The column with leading quotes before formulas; the quoted cells are counted."""
        if not holds_text(column.type):
            return column
        column, count = guarded(column)
        self.guarded += count
        return column

    def _csv(self, table: pa.Table, *, header: bool) -> None:
        options = pacsv.WriteOptions(include_header=header, delimiter=self._delimiter)
        block = pa.BufferOutputStream()
        pacsv.write_csv(table, block, options)
        text = block.getvalue()
        if table.num_columns == 1 and not holds_text(table.schema.field(0).type):
            text = _BLANK_LINE.sub(b'""\n', text.to_pybytes())  # many readers skip blank lines
        self._sink.write(text)

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
