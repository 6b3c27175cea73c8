"""The geometry of a table's vectors (the RAG benchmark, Tier 0)."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa

from fastmetrics.base.options import Choice, Neighbours, Seed
from fastmetrics.metrics.batch import KeptRows, heads_of, row_lists
from fastmetrics.metrics.metric import Corpus, metric
from fastmetrics.metrics.repeated_questions import joined, vectors_of, words_of
from fastmetrics.metrics.semantic import Vector
from fastmetrics.vectors.vector_arrays import METRICS, Block, Vectors

if TYPE_CHECKING:
    from fastmetrics.vectors.geometry_values import Geometry

Distance = Annotated[str, Choice(*METRICS), "the distance of two vectors"]
Near = Annotated[int, Neighbours, "the number of neighbours"]
Drawn = Annotated[int, Seed, "the seed of the sample"]


def _finish(rows: KeptRows, *, metric: str, k: int, seed: int) -> Geometry:
    from fastmetrics.vectors.geometry_values import geometry  # every run imports this module

    parts: list[Block] = []
    missing = 0
    for (lists,) in rows():
        missing += lists.null_count
        heads, words, _ = heads_of(lists, 1)
        parts += [vectors_of(heads[:, 0], words).all()] if len(heads) else []
    vectors = joined(parts) if parts else Vectors([], 0)
    if not vectors.dim or not any(np.isfinite(part).all(axis=1).any() for part in parts):
        return _of_nothing(metric, missing + vectors.rows)
    return geometry(vectors, metric=metric, k=k, seed=seed)  # type: ignore[arg-type]


def _of_nothing(metric: str, left_out: int) -> Geometry:
    """The figures of a table without a finite vector."""
    from fastmetrics.vectors.geometry_values import Geometry

    values = {"metric": metric, "n_nonfinite": left_out, **dict.fromkeys(("k", "n_duplicates", "n_zero_norm"), 0)}
    values |= {"total_samples": 0, "estimates": {}}
    return Geometry(**{field.name: values.get(field.name, np.nan) for field in fields(Geometry)})  # type: ignore[arg-type]


@metric(
    bounds=(-np.inf, np.inf),
    better=None,
    source="S2, Tier 0",
    corpus=Corpus(finish=_finish, keeps="geometry.embedding"),
)
def embedding_geometry(
    embedding: Vector, *, metric: Distance = "cosine", k: Near = 10, seed: Drawn = 0
) -> pa.ListArray:
    """The geometry of a column of vectors: the values of ``geometry``, each a figure of the table.

    A summary has ``embedding_geometry.avg_nn_distance``, ``.avg_spread``, ``.effective_dimensionality`` and the others;
    ``fm.vectors.geometry`` defines them and says which are estimates for many vectors.  Rows without a vector are
    excluded.  In a table without a finite vector, every figure but the counts is NaN.

    A run stores the vectors with its scores, and the figures need all vectors in memory.  ``columns`` selects the
    column: ``columns={"embedding": "answer_embedding"}``.  Returns a ``Geometry``; raises ``ColumnError`` for vectors
    of different lengths.

    >>> import fastmetrics as fm
    >>> fm.embedding_geometry([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], k=1).max_pairwise_distance
    2.0
    """
    return row_lists(*words_of(Vectors.of(embedding)))
