"""Times as microseconds since 1970: of Arrow's types, of texts in ISO 8601, and of numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Ints, floats_of_arrow
from fastmetrics.base.arrow import decoded, is_number, is_text
from fastmetrics.base.errors import ColumnError, InputError

MISSING = np.iinfo(np.int64).min
"""The value of a missing time."""

ZONED, LOCAL = "with a time zone", "without a time zone"
_MILLISECONDS = 1e11
"""Numbers this large are milliseconds: as seconds they would be beyond the year 5000."""
_MICRO = 1_000_000
_MOST = 1e14


def times_of(column: pa.Array, name: str, first: int = 0) -> tuple[Ints, str | None]:
    """Microseconds since 1970 of each row, and whether they are ``ZONED`` or ``LOCAL``, None without times.

    ``first`` is the number of the first row.  Numbers are seconds, from 10¹¹ on milliseconds, and zoned.  Raises
    ``InputError`` with the row for text that is not a time, and for times with a time zone among times without.
    """
    column = decoded(column)
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return np.full(len(column), MISSING), None
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = ZONED if pa.types.is_timestamp(kind) and kind.tz is not None else LOCAL
        return _filled(pc.cast(column, pa.timestamp("us", kind.tz if zone == ZONED else None), safe=False)), zone
    if is_number(kind):
        return _of_numbers(floats_of_arrow(column, name), name, first), ZONED
    if not is_text(kind):
        raise ColumnError(f"column {name!r}: expected times, got {kind}")
    blank = pc.equal(pc.utf8_trim_whitespace(column), "")
    text = pc.if_else(blank, pa.scalar(None, kind), pc.utf8_trim_whitespace(column))
    if text.null_count == len(text):
        return np.full(len(column), MISSING), None
    for type_, zone in ((pa.timestamp("us", "UTC"), ZONED), (pa.timestamp("us"), LOCAL)):
        try:
            return _filled(text.cast(type_)), zone
        except pa.ArrowInvalid:
            continue
    return _of_texts(text, name, first)


def _filled(times: pa.Array) -> Ints:
    return np.asarray(times.cast(pa.int64()).fill_null(MISSING)).astype(np.int64)


def _of_numbers(values: Floats, name: str, first: int) -> Ints:
    wrong = np.flatnonzero(~(np.abs(values) < _MOST) & ~np.isnan(values))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"column {name!r}, row {first + row}: {values[row]:g} is not a time in seconds since 1970")
    scale = np.where(np.abs(values) >= _MILLISECONDS, _MICRO / 1000, _MICRO)
    return np.where(np.isnan(values), MISSING, np.rint(np.nan_to_num(values) * scale).astype(np.int64))


def _of_texts(text: pa.Array, name: str, first: int) -> tuple[Ints, str | None]:
    """Texts of mixed forms: numbers as text, or an error with the first invalid row."""
    try:
        return _of_numbers(floats_of_arrow(text.cast(pa.float64()), name), name, first), ZONED
    except pa.ArrowInvalid:
        seen: dict[str, int] = {}
    for row, value in enumerate(text):
        if value.is_valid:
            zone = next((zone for type_, zone in _TYPES if _reads(value, type_)), None)
            if zone is None:
                way = "expected a time in ISO 8601, such as 2024-01-05T10:30:00Z, or seconds since 1970"
                raise InputError(f"column {name!r}, row {first + row}: {way}, got {value.as_py()[:40]!r}")
            seen.setdefault(zone, first + row)
    raise InputError(mixed(name, seen))


_TYPES = ((pa.timestamp("us", "UTC"), ZONED), (pa.timestamp("us"), LOCAL))


def _reads(value: pa.Scalar, type_: pa.DataType) -> bool:
    try:
        value.cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def mixed(name: str, rows: dict[str, int]) -> str:
    """The error message for a column with and without time zones; ``rows`` has the first row of each."""
    zones_text = " and ".join(f"row {row} is {zone}" for zone, row in sorted(rows.items(), key=lambda item: item[1]))
    return f"column {name!r}: {zones_text}, so their order is unknown; give all times a zone, or none"
