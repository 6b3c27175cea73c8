"""Vectors with the ids of their rows, of files or of anything in memory."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from fastmetrics.base.input_columns import resolve
from fastmetrics.tables.sources import FrameSource
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike, is_table
from fastmetrics.vectors.vector_files import read_vectors


def vectors_and_ids(source: VectorsLike, column: str | None = None, name: str = "vectors") -> tuple[Vectors, pa.Array]:
    """The vectors of paths, a table of any kind, an array or a column, and their ids: row numbers where there are none.

    ``column`` names the column of vectors of a table; ``name`` is the argument, for messages.

    >>> vectors, ids = vectors_and_ids({"id": ["a", "b"], "embedding": [[3.0, 4.0], [0.0, 1.0]]})
    >>> vectors.rows, vectors.dim, ids.to_pylist()
    (2, 2, ['a', 'b'])
    """
    ids = None
    if isinstance(source, str | os.PathLike):
        files = read_vectors(source, column)
        vectors, ids = Vectors.of_files(files), files.ids
    elif isinstance(source, Vectors) or not is_table(source):
        vectors = Vectors.of(source, column, name=name)
    else:
        frame = FrameSource(source, name=name)
        id_column = resolve(frame.names, needed={"id"}).get("id")
        table = frame.hold(filter(None, (column, id_column)) if column in frame.names else frame.names)
        vectors = Vectors.of(table, column, name=name)
        ids = None if id_column is None else table[id_column].combine_chunks()
    return vectors, pa.array(np.arange(vectors.rows)) if ids is None else ids
