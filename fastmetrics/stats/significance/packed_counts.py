"""Packing several integer columns into 64-bit words, so that one sum of words gives the sums of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Ints

_BITS = 63


@dataclass(frozen=True)
class Packed:
    """``words[w]`` contains, for each row, the fields (w, first bit, number of bits).

    The number of bits is negative for a field of signed sums.  ``columns`` gives the field of each column: equal
    columns share one.
    """

    words: Ints
    fields: Sequence[tuple[int, int, int]]
    columns: Sequence[int]

    @classmethod
    def of(cls, counts: Ints, bounds: Ints, signed: bool = False) -> Packed:
        """The packed columns of ``counts``, whose sums are between 0, or −``bounds`` if ``signed``, and ``bounds``."""
        numbers: dict[bytes, int] = {}
        columns = [numbers.setdefault(column.tobytes(), len(numbers)) for column in np.ascontiguousarray(counts.T)]
        firsts = [columns.index(field) for field in range(len(numbers))]
        fields: list[tuple[int, int, int]] = []
        word, begins = 0, 0
        for first in firsts:
            bits = int(bounds[first]).bit_length() + signed
            if begins + bits > _BITS:
                word, begins = word + 1, 0
            fields.append((word, begins, -bits if signed else bits))
            begins += bits
        words = np.zeros((word + 1, len(counts)), np.int64)
        for first, (word, begins, _) in zip(firsts, fields, strict=True):
            words[word] += counts[:, first] << begins
        return cls(words, fields, columns)

    def unpacked(self, sums: Ints) -> Ints:
        """The sums of the columns, one row for each row of sums of the words.

        >>> counts = np.array([[1, -2, 3], [10, 20, 30]])
        >>> packed = Packed.of(counts, np.array([11, 22, 33]), signed=True)
        >>> packed.unpacked(packed.words.sum(axis=1, keepdims=True).T).tolist()
        [[11, 18, 33]]
        """
        totals = np.empty((len(sums), len(self.fields)), np.int64)
        words = sums.T.copy()
        for field, (word, _, bits) in enumerate(self.fields):
            spare = 64 - abs(bits)
            totals[:, field] = (words[word] << spare) >> spare if bits < 0 else words[word] & ((1 << bits) - 1)
            words[word] = (words[word] - totals[:, field]) >> abs(bits)
        return totals[:, self.columns]
