"""TREC text: runs (``query Q0 document rank score tag``) and judgements (``query 0 document grade``).

Fields are separated by whitespace; blank lines and lines that start with ``#`` are skipped, and additional fields of a
run are ignored, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fastmetrics.base.errors import FileFormatError
from fastmetrics.kernels import byte_search as kernels
from fastmetrics.tables.inputs.input_files import MAX_ROW_BYTES

_RUN = "query Q0 document rank score tag"
_JUDGEMENTS = "query 0 document grade"


def read_trec(stream: Any, path: str, judgements: bool, block_bytes: int) -> Iterator[pa.RecordBatch]:
    """Batches with the columns query, doc and value of the TREC text in ``stream``, a file of bytes, read by blocks.

    Raises ``FileFormatError`` for a line with missing fields, and for a line of more than 64 MiB.
    """
    tail, line = b"", 1
    while True:
        block = stream.read(block_bytes)
        text = tail + block
        end = len(text) if not block else text.rfind(b"\n") + 1
        tail = text[end:]
        if end:
            data = np.frombuffer(text, np.uint8, end)
            yield _batch(data, path, line, judgements)
            line += kernels.count_lines(data)
        if len(tail) > MAX_ROW_BYTES:
            raise FileFormatError(f"{path}, line {line}: the line is longer than {MAX_ROW_BYTES:,} bytes")
        if not block:
            return


def _batch(data: NDArray[np.uint8], path: str, line: int, judgements: bool) -> pa.RecordBatch:
    most = int(kernels.count_lines(data)) + 1
    fields = (0, 2, 3) if judgements else (0, 2, 4)
    starts, stops = np.empty((5, most), np.int64), np.empty((5, most), np.int64)
    numbers = np.empty(most, np.int64)
    rows = kernels.cut_fields(data, starts, stops, numbers)
    numbers = numbers[:rows] + line
    excess = starts[4, :rows] >= 0 if judgements else np.zeros(rows, np.bool_)
    short = np.flatnonzero((starts[fields[-1], :rows] < 0) | excess)
    if short.size:
        form = _JUDGEMENTS if judgements else _RUN
        raise FileFormatError(f"{path}, line {numbers[short[0]]}: expected a line {form!r}")
    query, doc, value = (_texts(data, starts[field, :rows], stops[field, :rows], path) for field in fields)
    return pa.record_batch({"query": query, "doc": doc, "value": _floats(value, numbers, path)})


def _texts(data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], path: str) -> pa.Array:
    bounds = np.empty(starts.size + 1, np.int64)
    gathered = kernels.gather(data, starts, stops, bounds)
    texts = pa.LargeStringArray.from_buffers(starts.size, pa.py_buffer(bounds), pa.py_buffer(gathered))
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path}: an id is not UTF-8: {error}") from None
    return texts


def _floats(texts: pa.Array, numbers: NDArray[np.int64], path: str) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        values = np.empty(len(texts))
    for row, text in enumerate(texts.to_pylist()):
        try:
            values[row] = float(text)
        except ValueError:
            raise FileFormatError(f"{path}, line {numbers[row]}: expected a number, got {text!r}") from None
    return pa.array(values)
