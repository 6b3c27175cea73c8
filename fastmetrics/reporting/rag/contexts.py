"""The texts of the chunks that a search retrieved, beside the questions: the contexts that a bot reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.errors import ColumnError
from fastmetrics.tables.table_source import TableSource
from fastmetrics.tables.whole_table import Piece, gathered

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
        kind = schema.field(id).type
        if len(retrieved_names) and kind != retrieved_names.type:
            raise ColumnError(
                f"{name}: the ids are of type {kind}, and those of the index of type {retrieved_names.type}"
            )
        batches = (piece.batch() for piece in pieces)
        own = retrieved_names.cast(kind)
        rows = (batch.filter(pc.is_in(batch[id], value_set=own, skip_nulls=True)) for batch in batches)
        return pa.Table.from_batches(rows, schema=schema)

    rows = gathered(chunks, {id: "any", text: "text"}, texts_of_names)
    names, texts = rows[id].combine_chunks(), rows[text].combine_chunks()
    numbers = np.bincount(np.asarray(pc.index_in(names, retrieved_names)), minlength=len(retrieved_names))
    without = np.asarray(pc.index_in(retrieved_names, names.filter(texts.is_valid())).is_null())
    for wrong, what in (
        (numbers == 0, "of a retrieved chunk is not among them; were the vectors made of other chunks?"),
        (numbers > 1, "is that of several chunks; expected one chunk for each id"),
        (without, f"has no text: column {text!r} is null"),
    ):
        if wrong.any():
            raise ColumnError(f"{name}: the id {retrieved_names[int(wrong.argmax())].as_py()!r} {what}")
    items = texts.take(pc.index_in(ids.flatten(), names))
    contexts = pa.LargeListArray.from_arrays(ids.offsets.cast(pa.int64()), items)
    columns: dict[str, Any] = dict(zip(questions.column_names, questions.columns, strict=True))
    retrieved = (ids, rankings["retrieved_scores"], ids, contexts)
    return pa.table(columns | dict(zip(CONTEXTS, retrieved, strict=True)))
