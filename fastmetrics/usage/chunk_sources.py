"""The source of each chunk of a knowledge base."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.arrays import Ints
from fastmetrics.usage.chunk_ids import with_column
from fastmetrics.usage.listed_ids import as_text


def sources_of(chunks: Any, chunk_column: str | None, source_column: str) -> pa.Table:
    """The ``chunk`` ids of a table or file of chunks, as text, and the number of the ``source`` of each.

    Raises ``ColumnError`` for a table without either column.
    """
    ids, sources = with_column(chunks, chunk_column, source_column)
    codes = sources.dictionary_encode().indices.fill_null(-1).cast(pa.int64())
    return pa.table({"chunk": as_text(ids), "source": codes})


def sources_of_words(words: pa.Array, sources: pa.Table) -> Ints:
    """The number of the source of each id, −1 for an unknown id."""
    places = np.asarray(pc.index_in(as_text(words), sources["chunk"].combine_chunks()).fill_null(-1)).astype(np.int64)
    numbers = np.append(np.asarray(sources["source"]), -1)
    return numbers[places]
