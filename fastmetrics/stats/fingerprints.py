"""Order-independent fingerprints of the rows of a run, which can be summed over parts.

The metadata hold a fingerprint of the ids, and one of ids and questions: the number of rows, and two
sums modulo 2⁶⁴ of a hash of each row. The order of rows does not change it, and fingerprints of parts can be added. It
detects accidents, not forgery. Questions are read for it if a metric reads them, the user keeps them or the run has a
name (``--name``); other runs read no additional column. The start and end of a run are stored only on request
(``--times``): they differ between two runs of the same rows, whose outputs are otherwise the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Uint64s, decoded, text_of_arrow
from fastmetrics.kernels.rankings import hash_texts

_HALF = 64
_ODD, _FIRST, _SECOND = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def fingerprint(columns: Sequence[pa.Array]) -> list[int]:
    """The fingerprint of columns: the number of rows, and two sums of a 64-bit hash of each row.

    The hash of a row depends on the texts in the columns and on the positions of the columns; integers are hashed as
    text, nulls are skipped.  The sums of parts add up to those of the whole.

    >>> one, other = fingerprint([pa.array(["a", "b"])]), fingerprint([pa.array(["b", "a"])])
    >>> one == other, fingerprint_text(one) == fingerprint_text([2 * count for count in one])
    (True, False)
    """
    return fingerprint_of_hashes([text_hashes(column) for column in columns])


def fingerprint_of_hashes(columns: Sequence[Uint64s]) -> list[int]:
    """The fingerprint of columns with these hashes of their rows, as ``text_hashes`` gives them."""
    rows = len(columns[0])
    first, second = (np.full(rows, start) for start in (_FIRST, _SECOND))
    for keys in columns:
        first, second = mixed((first ^ keys) * _ODD), mixed((second + keys) * _FIRST)
    return [rows, *(_sum(numbers) for numbers in (first, second))]


def fingerprint_text(sums: Sequence[int]) -> str:
    """The fingerprint as text: the number of rows, and both sums modulo 2⁶⁴ as 32 hexadecimal digits."""
    rows, first, second = sums
    return f"{rows:x}-{first % (1 << _HALF):016x}{second % (1 << _HALF):016x}"


def is_hashable(type_: pa.DataType) -> bool:
    """Whether a column of this type has a fingerprint: texts and integers."""
    if pa.types.is_dictionary(type_):
        return is_hashable(type_.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_null(type_) or pa.types.is_integer(type_) or any(test(type_) for test in texts)


def text_hashes(column: pa.Array) -> Uint64s:
    """A 64-bit hash per text, or per integer as text; 0 for null.  Of other types, the hash of the value's text."""
    array = decoded(column)
    if not is_hashable(array.type):
        array = pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.large_string())
    text = text_of_arrow(array.cast(pa.large_string()) if pa.types.is_integer(array.type) else array, "column")
    keys: Uint64s = hash_texts(
        text.data, np.ascontiguousarray(text.starts), np.ascontiguousarray(text.stops), np.uint64(0)
    )
    return np.where(text.valid, keys, np.uint64(0))


def mixed(numbers: Uint64s) -> Uint64s:
    """Numbers in which every bit depends on all bits of the given ones."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


def _sum(numbers: Uint64s) -> int:
    return int(np.add.reduce(numbers, dtype=np.uint64))
