"""Finding the rows that repeat a question, in the data that a run stores for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fastmetrics.core.arrays import Ints, Uint64s, decoded, text_of_arrow
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.kept_rows import KeptRows, heads_of, numbered
from fastmetrics.declaration.representations import Options
from fastmetrics.retrieval.ids import ids_of
from fastmetrics.text.keys import keys_of


@dataclass(frozen=True)
class Repeats:
    """A value over repeats of questions, with the numbers of questions, pairs and excluded rows."""

    score: float
    n_questions: int
    n_pairs: int
    n_missing: int
    n_undefined: int = 0

    def __float__(self) -> float:
        return self.score


@dataclass(frozen=True)
class KeysIn:
    """A 16-byte hash key of the text or integer in each row."""

    kind = "id"

    def of(self, batch: Batch, column: str, options: Options) -> Uint64s:
        """Two keys per row; keys of null rows are not used."""
        array = decoded(batch.columns[column])
        return batch.remember(("keys", column), lambda: _keys(array, column))


Keys = Annotated[Uint64s, KeysIn()]
"""Texts or ids, as keys."""


def _keys(array: object, column: str) -> Uint64s:
    import pyarrow as pa

    assert isinstance(array, pa.Array)
    if pa.types.is_integer(array.type):
        keys = ids_of(array.fill_null(0), column)[0].keys
        return np.column_stack([keys, np.zeros_like(keys)])
    if pa.types.is_null(array.type):
        return np.zeros((len(array), 2), np.uint64)
    return keys_of(text_of_arrow(array, column))


@dataclass(frozen=True)
class Repeated:
    """The rows whose question occurs at least twice: the number of the question, and the stored values of the row.

    ``missing`` rows lack the question or another value.
    """

    questions: Ints
    values: Uint64s
    sizes: Ints
    missing: int


def repeated(rows: KeptRows) -> Repeated:
    """The rows of repeated questions, in two passes; 16 bytes per row and the repeated rows are in memory."""
    keys, missing = [np.zeros((0, 2), np.uint64)], 0
    for (lists,) in rows():
        missing += lists.null_count
        keys.append(heads_of(lists, 2)[0])
    questions = numbered(np.concatenate(keys))
    again = (np.bincount(questions) > 1)[questions]
    values, sizes, done = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], 0
    for (lists,) in rows():
        heads, found, each = heads_of(lists, 2)
        wanted = again[done : done + len(heads)]
        values.append(found[np.repeat(wanted, each)])
        sizes.append(each[wanted])
        done += len(heads)
    return Repeated(questions[again], np.concatenate(values), np.concatenate(sizes), missing)
