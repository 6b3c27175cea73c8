"""Semantic similarity, from the embeddings of answer and reference (the RAG benchmark)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Floats, decoded, is_list
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.options import of_hint
from fastmetrics.kernels.vectors import pair_halves
from fastmetrics.metrics.batch import Batch, Options, need
from fastmetrics.metrics.cited_support import Cache, Embeds, embedder_of, english_model, strings_of
from fastmetrics.metrics.metric import Metric, metric
from fastmetrics.metrics.repeated_questions import doubles, products
from fastmetrics.vectors.vector_arrays import Block, Vectors


def vectors_in(batch: Batch, column: str, options: Options) -> Vectors:
    """Vectors as given, those of lists one by one; null rows are NaN."""
    return batch.remember(("vectors", column), lambda: _vectors_of(batch.columns[column], column))


def _vectors_of(column: pa.Array, name: str) -> Vectors:
    """The vectors of a column; if all are null, so that their length is unknown, one NaN per row."""
    column = decoded(column)
    if is_list(column.type) and is_list(column.type.value_type):
        return Vectors.of(column.flatten(), name=name)
    if len(column) and column.null_count == len(column):
        return Vectors.of(np.full((len(column), 1), np.nan))
    return Vectors.of(column, name=name)


Vector = Annotated[Vectors, need(vectors_in, by_item=True)]


def embedded_in(batch: Batch, column: str, options: Options) -> Vectors:
    """The embeddings of a column of text, by the options ``embedder`` and ``cache``."""
    key = ("embedded", column, options["embedder"], options["cache"])
    text = batch.text(column)
    return batch.remember(key, lambda: Vectors.of(embedder_of(options).embed(strings_of(text))))


@dataclass(frozen=True)
class _FromText(Metric):
    """A metric on embeddings computed from text; another process rebuilds it from the declared metric."""

    made_of: tuple[Metric, tuple[str, ...]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        return from_text, self.made_of or ()


def from_text(metric: Metric, columns: Collection[str]) -> Metric:
    """The metric with missing embedding ``columns`` computed from their texts, under its new options."""
    absent = [name for name in metric.required if name.endswith("_embedding") and name not in columns]
    texts = {name.removesuffix("_embedding"): name for name in absent}
    if not texts or not set(texts) <= set(columns):
        return metric

    def function(**arguments: Any) -> Floats:
        inputs = {
            texts.get(name, name): Vectors.of(value) if texts.get(name, name).endswith("_embedding") else value
            for name, value in arguments.items()
            if name in used or name in metric.defaults
        }
        scores: Floats = metric.function(**inputs)
        return scores

    used = [name.removesuffix("_embedding") if name in absent else name for name in metric.needs]
    needs = {name: need(embedded_in) if name in texts else metric.needs[name] for name in used}
    own = {field.name: getattr(metric, field.name) for field in fields(metric)}
    own |= {"function": function, "needs": needs, "rows": replace(metric.rows, best_by=None, prepare=None)}
    own |= {"defaults": {**metric.defaults, "embedder": None, "cache": None}}
    own |= {"allowed": {**metric.allowed, "embedder": of_hint(Embeds), "cache": of_hint(Cache)}}
    return _FromText(**own, made_of=(metric, tuple(columns)))


@metric(
    bounds=(-1, 1),
    better="higher",
    source="S2, Tier 3",
    caution=english_model,
    labels={"mean": "avg_semantic_similarity"},
    cues=["cosine_similarity", "cosine", "similarity", "embedding_similarity", "answer_similarity"],
)
def semantic_similarity(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Cosine of the embeddings of answer and reference.

    a·b / (‖a‖·‖b‖), computed in float64.  NaN if a vector is zero or not finite.  Raises ``ColumnError`` if the two
    columns contain vectors of different lengths.

    >>> import fastmetrics as fm
    >>> fm.semantic_similarity([[1.0, 0.0], [3.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 0.8]
    """
    a, b = _paired(answer_embedding, reference_embedding)
    norms = np.sqrt(products(a, a)) * np.sqrt(products(b, b))
    dots, defined = products(a, b), np.isfinite(norms) & (norms > 0)
    return np.clip(np.divide(dots, norms, out=np.full(len(a), np.nan), where=defined), -1.0, 1.0)


@metric(
    bounds=(-np.inf, np.inf),
    better="higher",
    source="S2, Tier 3",
    caution=english_model,
    labels={"mean": "avg_dot_similarity"},
    cues=["dot_product", "inner_product"],
)
def dot_similarity(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Dot product of the embeddings of answer and reference.

    Computed in float64; NaN if a vector is not finite.

    >>> import fastmetrics as fm
    >>> fm.dot_similarity([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [11.0]
    """
    return _finite(products(*_paired(answer_embedding, reference_embedding)))


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S2, Tier 3",
    caution=english_model,
    labels={"mean": "avg_euclidean_distance"},
    cues=["l2_distance"],
)
def euclidean_distance(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Euclidean distance between the embeddings of answer and reference; lower is more similar.

    Computed in float64; NaN if a vector is not finite.

    >>> import fastmetrics as fm
    >>> fm.euclidean_distance([[0.0, 0.0]], [[3.0, 4.0]]).tolist()
    [5.0]
    """
    a, b = _paired(answer_embedding, reference_embedding)
    rows, ones, halves = np.arange(len(a)), np.ones(len(a)), np.empty(len(a))
    pair_halves(a, b, rows, rows, ones, ones, halves)
    return _finite(np.sqrt(2.0 * halves))


def _paired(answers: Vectors | Block, references: Vectors) -> tuple[Block, Block]:
    """Both as matrices of equal width; all NaN if one side contains no number."""
    left, right = Vectors.of(answers), references
    a, b = doubles(left), doubles(right)
    if left.dim != right.dim and left.rows and right.rows:
        if not any(side.size and np.isnan(side).all() for side in (a, b)):
            raise ColumnError(f"answer_embedding has {left.dim} numbers per row, reference_embedding {right.dim}")
        a = b = np.full((len(a), 1), np.nan)
    return a, b


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)
