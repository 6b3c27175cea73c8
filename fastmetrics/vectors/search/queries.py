"""The queries of a search: vectors, or texts and the embedder that makes vectors of them, in files or in memory."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.errors import ColumnError
from fastmetrics.base.input_columns import resolve
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.sources import is_paths, open_table
from fastmetrics.tables.table_rows import whole_table
from fastmetrics.vectors.embedding.embedder import Embedder
from fastmetrics.vectors.vector_arrays import Vectors, VectorsLike
from fastmetrics.vectors.vectors_and_ids import vectors_and_ids

_TIMED = 256
"""Texts that are embedded once more, each alone, for the latency of one."""


@dataclass(frozen=True)
class Queries:
    """The vectors of queries and their ids, or row numbers where there are no ids.

    Of texts also the signature of the ``embedder``, and the ``seconds`` of embedding one text, for some of them.
    """

    vectors: Vectors
    ids: pa.Array
    embedder: str | None = None
    seconds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of_vectors(cls, queries: VectorsLike, column: str | None = None) -> Queries:
        """The vectors of files, a table, an array or a column; of a table, those of a column or of the only one."""
        return cls(*vectors_and_ids(queries, column, "queries"))

    @classmethod
    def of_texts(cls, queries: Any, column: str | None, embedder: Embedder) -> Queries:
        """The embeddings of a column of texts of files or a table, by default the question.

        Raises ``ColumnError`` for a column that is missing or no text, and for a text that is null.
        """
        name = shown_address(as_local(queries)) if is_paths(queries) else "queries"
        source = open_table(queries, name="queries")
        columns = resolve(source.names, None if column is None else {"question": column}, needed={"id", "question"})
        texts_column = columns.get("question", "question")
        kinds = {columns["id"]: "any"} if "id" in columns else {}
        table = whole_table(source, {**kinds, texts_column: "text"})
        texts = table[texts_column].combine_chunks()
        if texts.null_count:
            row = int(np.argmin(texts.is_valid()))
            raise ColumnError(f"{name}: column {texts_column!r}, row {row:,}: null; expected the text of each query")
        vectors = Vectors.of_array(embedder.embed(texts), f"{name}: column {texts_column!r}")
        rows = np.linspace(0, len(texts) - 1, min(_TIMED, len(texts))).astype(np.int64)
        seconds = np.array([_seconds(embedder, texts[row].as_py()) for row in rows.tolist()])
        ids = table[columns["id"]].combine_chunks() if "id" in columns else pa.array(np.arange(len(texts)))
        return cls(vectors, ids, embedder.signature, seconds)


def _seconds(embedder: Embedder, text: str) -> float:
    """The seconds of the model for one text, whatever is cached."""
    began = time.perf_counter()
    embedder.model.encode([text])
    return time.perf_counter() - began
