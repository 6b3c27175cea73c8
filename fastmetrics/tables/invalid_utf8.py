"""Finding text that is not UTF-8, by column, and reporting it by cell."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as pt

from fastmetrics.base.arrow import is_list, is_text
from fastmetrics.text.text_keys import is_utf8


def bad_text(batch: pa.RecordBatch) -> dict[int, tuple[str, str]]:
    """The rows with invalid UTF-8, each with its first invalid column and the reason."""
    bad: dict[int, tuple[str, str]] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not _valid(column):
            for row in range(len(column)):
                reason = None if row in bad else _reason(column.slice(row, 1))
                if reason is not None:
                    bad[row] = (name, reason)
    return bad


def _valid(array: pa.Array) -> bool:
    if is_list(array.type):
        return _valid(array.flatten())
    if pt.is_struct(array.type):
        return all(map(_valid, array.flatten()))
    return not is_text(array.type) or is_utf8(array)


def _reason(cell: pa.Array) -> str | None:
    for text in _texts(cell):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            return f"invalid UTF-8: byte 0x{text[error.start]:02x} at byte {error.start}"
    return None


def _texts(array: pa.Array) -> Iterator[bytes]:
    if is_list(array.type):
        yield from _texts(array.flatten())
    elif pt.is_struct(array.type):
        for field in array.flatten():
            yield from _texts(field)
    elif is_text(array.type):
        binary = pa.large_binary() if pt.is_large_string(array.type) else pa.binary()
        yield from (text for text in array.view(binary).to_pylist() if text is not None)


def raw_text(batch: pa.RecordBatch, row: int) -> str:
    """A short form of a row for the rejects file, with any bytes."""
    parts = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        cell = column.slice(row, 1)
        texts = [text.decode(errors="replace") for text in _texts(cell)]
        parts.append(f"{name}: {', '.join(texts) if texts else (cell[0].as_py() if _valid(cell) else '')}")
    return "; ".join(parts)
