"""The vectors of a log's questions: from the log, or computed by an embedder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.core.arrays import Flags
from fastmetrics.errors import ColumnError
from fastmetrics.errors.messages import Argument
from fastmetrics.usage.log import Log
from fastmetrics.vectors.embedding.embedder import embedder_of
from fastmetrics.vectors.vector_arrays import Vectors

Units = npt.NDArray[np.float32]


class QuestionVectors(NamedTuple):
    """One unit vector per row, in float32; rows that are not ``given`` have no question, or a zero or NaN vector."""

    units: Units
    valid: Flags


def check_vectors(log: Log, embedder: Any) -> None:
    """Raise ``ColumnError`` for a log without vectors and without an embedder."""
    if embedder is None and "question_embedding" not in log.has:
        way = Argument("embedder", "wordllama")
        raise ColumnError("the log has no column 'question_embedding'; have the questions embedded with ", way)


def question_vectors(table: pa.Table, embedder: Any, cache: Any = None) -> QuestionVectors:
    """The vectors of a log's column ``question_embedding``, or the embeddings of its questions by an embedder."""
    if embedder is None:
        rows = Vectors.of(table["question_embedding"]).all().astype(np.float32)
    else:
        rows = embedder_of(embedder, cache).embed(table["question"])
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    valid = np.isfinite(norms) & (norms > 0)
    units = np.zeros(rows.shape, np.float32)
    np.divide(rows, norms[:, None], out=units, where=valid[:, None], casting="same_kind")
    return QuestionVectors(units, valid)
