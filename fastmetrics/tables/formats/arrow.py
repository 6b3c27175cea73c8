"""Arrow IPC files and streams; their offsets are checked before any data is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrow import check_names, check_table
from fastmetrics.base.errors import FileFormatError
from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.formats.reader import Format, Reader
from fastmetrics.tables.inputs.input_files import DataFile, reading
from fastmetrics.tables.output.encoding.encoders import ArrowEncoder
from fastmetrics.tables.table_chunks import Chunk


class ArrowReader(Reader):
    """One Arrow IPC file or stream; also Feather version 2."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(file)
        with reading(file.shown), self._open(None)[0] as arrow:
            self.schema = arrow.schema.remove_metadata()
            check_names(self.schema, file.shown, FileFormatError)

    def _open(self, columns: list[int] | None) -> tuple[Any, Callable[[], int]]:
        """The file or stream, and how many of its bytes have been read."""
        stream, tell = self.file.open()
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=columns)
        if self.file.compression is None:
            magic = stream.read(6)
            stream.seek(0)
            if magic == b"ARROW1":
                return pa.ipc.open_file(stream, options=options), tell
        return pa.ipc.open_stream(stream, options=options), tell

    def read(self, selection: Selection, number: int, start: int, threads: int) -> Iterator[Chunk]:
        """The rows from ``start`` on."""
        names = [name for name in selection.schema.names if name in self.schema.names]
        indices = [self.schema.get_field_index(name) for name in names]
        with reading(self.file.shown):
            arrow, tell = self._open(indices)
            row, most = 0, self.file.sizes.arrow_rows
            for batch, offset in _each(arrow, tell, self.file.size):
                check_table(batch, f"{self.file.shown}, from row {row}, column", FileFormatError)
                for keep in range(max(0, start - row), batch.num_rows, most):
                    piece = batch.slice(keep, most)
                    first = row + keep
                    yield Chunk(number, np.arange(first, first + len(piece), dtype=np.int64), piece, (), offset)
                row += batch.num_rows


def _each(arrow: Any, tell: Callable[[], int], size: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches, each with the approximate number of bytes of the file read so far."""
    if isinstance(arrow, pa.ipc.RecordBatchFileReader):
        for index in range(arrow.num_record_batches):
            yield arrow.get_batch(index), size * (index + 1) // arrow.num_record_batches
    else:
        for batch in arrow:
            yield batch, tell()


ARROW = Format(
    "arrow",
    (".arrow", ".feather", ".ipc", ".arrows"),
    ArrowReader,
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    encoder=lambda path, schema, compression, guard: ArrowEncoder(path, schema),
)
