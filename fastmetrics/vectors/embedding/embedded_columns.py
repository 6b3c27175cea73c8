"""Columns of embeddings: one vector for each text of a column, or a list of vectors for each list of texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrow import is_list
from fastmetrics.base.columns import as_array
from fastmetrics.vectors.embedding.embedder import Embedder

SUFFIX = "_embedding"
"""What the name of a column of embeddings adds to the name of its texts."""


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
    present = np.asarray(items.is_valid())
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[present], minlength=len(column)))])
    vectors = _vectors(items.filter(pa.array(present)), embedder, progress)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), vectors, mask=column.is_null())


def _vectors(texts: pa.Array, embedder: Embedder, progress: bool) -> pa.Array:
    vectors = pa.array(embedder.embed(texts, progress=progress).ravel())
    return pa.FixedSizeListArray.from_arrays(vectors, embedder.dim, mask=texts.is_null())


def count(embeddings: pa.Array) -> int:
    """The number of embeddings in a column."""
    items = embeddings.flatten() if is_list(embeddings.type.value_type) else embeddings
    return len(items) - int(items.null_count)
