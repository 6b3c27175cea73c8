"""Columns of embeddings: one vector for each text of a column, or a list of vectors for each list of texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.core.column_kinds import check, is_list
from fastmetrics.core.columns import as_array
from fastmetrics.errors import ColumnError
from fastmetrics.errors.messages import quoted
from fastmetrics.vectors.embedder import Embedder

SUFFIX = "_embedding"
"""What the name of a column of embeddings adds to the name of its texts."""


def add_embeddings(
    table: pa.Table, embedder: Embedder, columns: Sequence[str] = ("answer", "reference"), *, progress: bool = False
) -> pa.Table:
    """The table with an added column ``<column>_embedding`` for each text column in ``columns``.

    A column of lists of texts, such as several references, gets a list of embeddings per row.

    >>> import numpy as np
    >>> lengths = Embedder(lambda texts: np.array([[float(len(text))] for text in texts]))
    >>> made = add_embeddings(pa.table({"answer": ["a", None], "reference": [["b", "bc"], []]}), lengths)
    >>> made["answer_embedding"].to_pylist(), made["reference_embedding"].to_pylist()
    ([[1.0], None], [[[1.0], [2.0]], []])

    Raises ``ColumnError`` for a column that is missing, contains no text, or already has embeddings, and for lists of
    questions or answers.
    """
    if not isinstance(table, pa.Table):
        raise ColumnError(f"expected an Arrow table, got {type(table).__name__}")
    for name in columns:
        if name not in table.column_names:
            raise ColumnError(f"no column {name!r} to embed; the table has: {quoted(table.column_names)}")
        if f"{name}{SUFFIX}" in table.column_names:
            raise ColumnError(f"the table already has a column '{name}{SUFFIX}'")
        check("", name, kind_of(name), table[name].type)
        table = table.append_column(f"{name}{SUFFIX}", embedded(table[name], embedder, progress=progress))
    return table


def kind_of(name: str) -> str:
    """The kind of a column to embed: a question and an answer are one text, other columns may hold lists."""
    return "text" if name in ("question", "answer") else "texts"


def embedded(texts: pa.Array | pa.ChunkedArray, embedder: Embedder, *, progress: bool = False) -> pa.Array:
    """The embeddings of a column of texts, null for null; for lists of texts, lists of embeddings without nulls.

    >>> lengths = Embedder(lambda texts: np.array([[float(len(text))] for text in texts]))
    >>> embedded(pa.array([["a", None, "bc"], [], None]), lengths).to_pylist()
    [[[1.0], [2.0]], [], None]
    """
    column = as_array(texts, "texts")
    if not is_list(column.type):
        return _vectors(column, embedder, progress)
    items, rows = column.flatten(), np.asarray(pc.list_parent_indices(column))
    there = np.asarray(items.is_valid())
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[there], minlength=len(column)))])
    vectors = _vectors(items.filter(pa.array(there)), embedder, progress)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), vectors, mask=column.is_null())


def _vectors(texts: pa.Array, embedder: Embedder, progress: bool) -> pa.Array:
    vectors = pa.array(embedder.embed(texts, progress=progress).ravel())
    return pa.FixedSizeListArray.from_arrays(vectors, embedder.dim, mask=texts.is_null())


def count(embeddings: pa.Array) -> int:
    """The number of embeddings in a column."""
    items = embeddings.flatten() if is_list(embeddings.type.value_type) else embeddings
    return len(items) - int(items.null_count)
