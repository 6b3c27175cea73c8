"""Encoding scores into files: one encoder per format, fed part by part; its bytes depend only on the parts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyarrow.types as pt

from fastmetrics.base.arrow import arrow_numbers, numpy_values
from fastmetrics.base.errors import OutputError
from fastmetrics.tables.output.encoding.formula_guard import guarded, holds_text, plain_text
from fastmetrics.tables.remote.stores import cause
from fastmetrics.tables.text_values import csv_column, json_lines

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
