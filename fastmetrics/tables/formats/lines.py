"""A text file as blocks of whole lines, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fastmetrics.tables.inputs.input_files import DataFile, reading

_BOM = b"\xef\xbb\xbf"
_SHOWN = 10_000


class LineBlock(NamedTuple):
    """Whole lines: the number of the first line, from 0, and the number of bytes of the file read so far.

    Or, if ``cut``, the start of one line that is longer than the maximum row.
    """

    line: int
    data: bytes
    offset: int
    cut: bool = False


def blocks(file: DataFile) -> Iterator[LineBlock]:
    """The blocks of a file, without a byte order mark.

    A block reports a line longer than ``file.max_row_bytes`` at once; the rest of that line is skipped.
    """
    line = pending_bytes = 0
    pending: list[bytes] = []
    over = False
    stream, tell = file.open()
    with reading(file.shown), stream:
        first = True
        while data := stream.read(file.sizes.line_block_bytes):
            data, first = (data.removeprefix(_BOM) if first else data), False
            if over:
                stop = data.find(b"\n") + 1
                line, over, data = line + bool(stop), not stop, data[stop:] if stop else b""
            stop = data.rfind(b"\n") + 1
            if stop:
                whole = b"".join([*pending, memoryview(data)[:stop]])
                yield from _apart(LineBlock(line, whole, tell()), file.max_row_bytes)
                line, pending_bytes, pending = line + whole.count(b"\n"), 0, []
            if stop < len(data):
                pending.append(data[stop:])
                pending_bytes += len(pending[-1])
            if pending_bytes > file.max_row_bytes:
                yield LineBlock(line, b"".join(pending)[:_SHOWN], tell(), cut=True)
                pending_bytes, pending, over = 0, [], True
    if pending:
        yield LineBlock(line, b"".join(pending), file.size)


def _apart(block: LineBlock, most: int) -> Iterator[LineBlock]:
    """The block with lines of more than ``most`` bytes truncated and separated."""
    if len(block.data) <= most:
        yield block
        return
    ends = np.flatnonzero(np.frombuffer(block.data, np.uint8) == ord("\n")) + 1
    sizes = np.diff(ends, prepend=0)
    begin = row = 0
    for at in np.flatnonzero(sizes > most + 1).tolist():
        start, stop = int(ends[at] - sizes[at]), int(ends[at])
        if start > begin:
            yield LineBlock(block.line + row, block.data[begin:start], block.offset)
        yield LineBlock(block.line + at, block.data[start : min(stop - 1, start + _SHOWN)], block.offset, cut=True)
        begin, row = stop, at + 1
    if begin < len(block.data):
        yield LineBlock(block.line + row, block.data[begin:], block.offset)
