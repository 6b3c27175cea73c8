"""The sizes in a Parquet file's metadata and page headers, which show a row that is too long before it is unpacked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

_LENGTH_BYTES = 8
"""Maximum bytes of a value's length and levels, which are no content."""
_LEVELS = 8
"""The maximum size of what precedes the levels in a page, in lengths of values."""
_HEADER_BYTES = 1 << 16
"""Bytes read for a page header, which can contain statistics."""
_COUNTED = {0: 5, 2: 7, 3: 8}
"""The field of a page header that contains the number of values, by the type of the page: data, dictionary, data 2."""


class Page(NamedTuple):
    """The sizes of a page: ``nbytes`` of its unpacked content, and how many values they encode."""

    nbytes: int
    values: int

    @property
    def content(self) -> int:
        """The bytes without the lengths and levels of the values, at least."""
        return max(0, self.nbytes - _LENGTH_BYTES * (self.values + _LEVELS))


def stored_columns(parquet: pq.ParquetFile, names: Collection[str]) -> list[int]:
    """The columns of values that store the columns ``names``, by their numbers in a row group.

    PyArrow ends the process at some damage in what the file says of a column: only columns that are read are looked at.
    """
    paths = (parquet.schema.column(index).path for index in range(len(parquet.schema)))
    return [index for index, path in enumerate(paths) if path.split(".")[0] in names]


def long_columns(
    parquet: pq.ParquetFile,
    names: Collection[str],
    most: int,
    page_bytes: int,
    headers: Callable[[int], pa.NativeFile | None],
) -> Iterator[tuple[int, str]]:
    """The row groups with columns of more than ``page_bytes`` that must contain a row of more than ``most`` bytes.

    Each comes with the column.  The sizes give the mean of the values of a column or a page, and the longest value has
    at least the mean.  ``headers`` opens the file to read page headers within so many bytes, or returns None.
    """
    indices = stored_columns(parquet, names)
    for number in range(parquet.metadata.num_row_groups):
        group = parquet.metadata.row_group(number)
        if group.total_byte_size <= page_bytes:
            continue
        for column in map(group.column, indices):
            if _has_long(column, group.num_rows, most, page_bytes, headers):
                yield number, column.path_in_schema.split(".")[0]
                break


def _has_long(
    column: Any, rows: int, most: int, page_bytes: int, headers: Callable[[int], pa.NativeFile | None]
) -> bool:
    size = column.total_uncompressed_size
    if column.physical_type != "BYTE_ARRAY" or size <= page_bytes:
        return False
    file = headers(column.total_compressed_size)
    if file is None:
        return bool(Page(size, column.num_values).content > most * rows)
    with file:
        pages = list(_pages(file, column))
    long = any(page.nbytes > page_bytes and page.content > most * page.values for page in pages)
    return long or sum(page.content for page in pages) > most * rows


def _pages(file: pa.NativeFile, column: Any) -> Iterator[Page]:
    """The pages of a column chunk, up to the first header that cannot be read."""
    starts = [column.data_page_offset, column.dictionary_page_offset]
    place = min(start for start in starts if start)
    end = place + column.total_compressed_size
    while place < end:
        file.seek(place)
        try:
            header, length = _struct(file.read(min(_HEADER_BYTES, end - place)), 0)
            counted = _COUNTED.get(header[1])
            if counted is not None:
                yield Page(header[2], header[counted][1])
            place += length + max(0, header[3])
        except (IndexError, KeyError, TypeError, RecursionError):  # the reader of the values reports damage
            return


_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12
_BITS = 64


def _struct(data: bytes, at: int) -> tuple[Mapping[int, Any], int]:
    """A structure of Thrift's compact protocol by the numbers of its fields, and the place after it.

    https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
    """
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """A value of a kind that page headers have; raises ``KeyError`` for another."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if _BYTE < kind < _DOUBLE:
        return _integer(data, at)
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        return None, at + size
    if kind == _STRUCT:
        return _struct(data, at)
    raise KeyError(kind)


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < _BITS:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise KeyError(shift)


def _integer(data: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag order: 0, -1, 1, -2, ..."""
    number, at = _unsigned(data, at)
    return (number >> 1) ^ -(number & 1), at
