"""The texts of the chunks that a search retrieved, beside the questions: the contexts that a bot reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fastmetrics.base.arrow import is_text
from fastmetrics.base.errors import ColumnError
from fastmetrics.tables.sources import TableSource
from fastmetrics.tables.table_rows import Piece, gathered

CONTEXTS = ("retrieved_ids", "retrieved_scores", "context_ids", "contexts")
"""The columns of what was retrieved."""


def with_contexts(
    questions: pa.Table, rankings: pa.Table, chunks: TableSource, name: str, *, id: str, text: str
) -> pa.Table:
    """The questions, in the order of their rankings, with the ids, scores and texts of the retrieved chunks.

    Only the texts that were retrieved are held.  Raises ``ColumnError`` for an id without a text, with several, or of
    another type than those of the rankings.
    """
    ids = rankings["retrieved_ids"].combine_chunks()
    retrieved_names = ids.flatten().unique()

    def texts_of_names(schema: pa.Schema, pieces: Iterator[Piece]) -> pa.Table:
        batches = (piece.batch() for piece in pieces)
        own = _as_type(retrieved_names, schema.field(id).type, name)
        rows = (batch.filter(pc.is_in(batch[id], value_set=own, skip_nulls=True)) for batch in batches)
        return pa.Table.from_batches(rows, schema=schema)

    rows = gathered(chunks, {id: "any", text: "text"}, texts_of_names)
    names, texts = rows[id].combine_chunks(), rows[text].combine_chunks()
    own = _as_type(retrieved_names, names.type, name)
    numbers = np.bincount(np.asarray(pc.index_in(names, own)), minlength=len(own))
    without = np.asarray(pc.index_in(own, names.filter(texts.is_valid())).is_null())
    for wrong, what in (
        (numbers == 0, "of a retrieved chunk is not among them; were the vectors made of other chunks?"),
        (numbers > 1, "is that of several chunks; expected one chunk for each id"),
        (without, f"has no text: column {text!r} is null"),
    ):
        if wrong.any():
            raise ColumnError(f"{name}: the id {retrieved_names[int(wrong.argmax())].as_py()!r} {what}")
    rows_of_names = pc.index_in(own, names)
    items = texts.take(rows_of_names.take(pc.index_in(ids.flatten(), retrieved_names)))
    contexts = pa.LargeListArray.from_arrays(ids.offsets.cast(pa.int64()), items)
    columns: dict[str, Any] = dict(zip(questions.column_names, questions.columns, strict=True))
    retrieved = (ids, rankings["retrieved_scores"], ids, contexts)
    return pa.table(columns | dict(zip(CONTEXTS, retrieved, strict=True)))


def _as_type(names: pa.Array, type_: pa.DataType, shown: str) -> pa.Array:
    """Ids in the type of those of the chunks, of the same kind; null for an integer that it does not hold."""
    if names.type == type_ or (is_text(names.type) and is_text(type_)):
        return names.cast(type_)
    if pt.is_integer(names.type) and pt.is_integer(type_):
        bits, signed = type_.bit_width, pt.is_signed_integer(type_)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return pa.array([value if low <= value <= high else None for value in names.to_pylist()], type_)
    if not len(names):
        return pa.nulls(0, type_)
    raise ColumnError(f"{shown}: the ids are of type {type_}, and those of the index of type {names.type}")
