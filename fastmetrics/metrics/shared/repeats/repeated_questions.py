"""Finding the rows that repeat a question, in the data that a run stores for each row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Ints, Uint64s, text_of_arrow
from fastmetrics.base.arrow import decoded
from fastmetrics.declaration.batch import Batch, Options
from fastmetrics.declaration.cautions import Caution
from fastmetrics.declaration.stored_row_lists import KeptRows, heads_of, numbered
from fastmetrics.retrieval.rankings import ids_of
from fastmetrics.text.text_keys import keys_of


@dataclass(frozen=True)
class Repeats:
    """A value over repeats of questions, with the numbers of questions, pairs and excluded rows."""

    score: float
    n_questions: int
    n_pairs: int
    n_missing: int
    n_undefined: int = 0
    n_shared: int = field(default=0, compare=False)
    """Rows that share a model call with another row of their question, so that they are equal by construction."""
    n_rows: int = field(default=0, compare=False)
    """Rows of questions that repeat."""

    @property
    def cautioned(self) -> list[int]:
        """The number of rows that share a call, and of all rows of questions that repeat."""
        return [self.n_shared, self.n_rows]

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


@dataclass(frozen=True)
class CallsIn:
    """One key for the model call that made each row; 0 for a row without one."""

    kind = "id"

    def of(self, batch: Batch, column: str, options: Options) -> Uint64s:
        """The first word of the key of the call's id."""
        keys = KeysIn().of(batch, column, options)[:, 0]
        return np.where(batch.columns[column].is_valid().to_numpy(zero_copy_only=False), keys, np.uint64(0))


Calls = Annotated[Uint64s, CallsIn()]


def heads(question: Uint64s, answer_call: Uint64s | None) -> Uint64s:
    """What the stored list of each row starts with: the key of its question, and that of its call."""
    calls = np.zeros(len(question), np.uint64) if answer_call is None else answer_call
    return np.column_stack([question, calls])


SHARED_CALLS = Caution(
    "share a model call with another row of their question, so they are equal by construction",
    "answer with repeats (--repeats K) to make a call for each",
    rows=None,
    least=0.0,
)
"""Counts the rows whose equality means nothing, since one call made them."""


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

    ``missing`` rows lack the question or another value; ``shared`` rows share a call with another row of their
    question.
    """

    questions: Ints
    values: Uint64s
    sizes: Ints
    missing: int
    shared: int

    def counted(self, value: Repeats) -> Repeats:
        """A value with the numbers of missing rows, of rows that share a call, and of rows."""
        missing = value.n_missing + self.missing
        return replace(value, n_missing=missing, n_shared=self.shared, n_rows=len(self.questions))


def repeated(rows: KeptRows) -> Repeated:
    """The rows of repeated questions, in two passes; 24 bytes per row and the repeated rows are in memory."""
    keys, missing = [np.zeros((0, 3), np.uint64)], 0
    for (lists,) in rows():
        missing += lists.null_count
        keys.append(heads_of(lists, 3)[0])
    heads = np.concatenate(keys)
    questions = numbered(np.ascontiguousarray(heads[:, :2]))
    repeated = heads[heads[:, 2] != 0]
    sharing = np.bincount(numbered(repeated)) if len(repeated) else np.zeros(0, np.int64)
    again = (np.bincount(questions) > 1)[questions]
    values, sizes, done = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], 0
    for (lists,) in rows():
        _, flat, each = heads_of(lists, 3)
        mask = again[done : done + len(each)]
        values.append(flat[np.repeat(mask, each)])
        sizes.append(each[mask])
        done += len(each)
    shared = int(sharing[sharing > 1].sum())
    return Repeated(questions[again], np.concatenate(values), np.concatenate(sizes), missing, shared)
