"""Likeness of meaning, by embeddings: answer against reference, and repeats of one question against each other (S2)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.allowed_values import Choice, argument, of_hint
from fastmetrics.core.arrays import Floats, Ints, codes_of, decoded
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.metric import Metric, metric
from fastmetrics.declaration.representations import Options
from fastmetrics.errors import ColumnError
from fastmetrics.kernels.vectors.distances import pair_halves, pair_products
from fastmetrics.metrics.shared.cited_support import Cache, Embeds, embedder_of, strings_of
from fastmetrics.vectors.arrays import Block, Vectors, VectorsLike


@dataclass(frozen=True)
class VectorsIn:
    """Vectors as they are, those of null rows NaN."""

    def of(self, batch: Batch, column: str, options: Options) -> Vectors:
        """The column's vectors."""
        return batch.remember(("vectors", column), lambda: _read(batch.columns[column], column))


def _read(column: pa.Array, name: str) -> Vectors:
    """The vectors of a column; where all are null, which says nothing of their length, one NaN a row."""
    column = decoded(column)
    if len(column) and column.null_count == len(column):
        return Vectors.of(np.full((len(column), 1), np.nan))
    return Vectors.of(column, name=name)


Vector = Annotated[Vectors, VectorsIn()]


@dataclass(frozen=True)
class EmbeddedIn:
    """The embeddings of a column of text, by the options ``embedder`` and ``cache``."""

    def of(self, batch: Batch, column: str, options: Options) -> Vectors:
        """One vector a string, which a row of several references has more than one of."""
        key = ("embedded", column, options["embedder"], options["cache"])
        text = batch.text(column)
        return batch.remember(key, lambda: Vectors.of(embedder_of(options).embed(strings_of(text))))


@dataclass(frozen=True)
class _FromText(Metric):
    """A metric of embeddings that are made of text; another process makes it anew of the declared one."""

    made_of: tuple[Metric, tuple[str, ...]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Metric], tuple[Any, ...]]:
        return from_text, self.made_of or ()


def from_text(metric: Metric, columns: Collection[str]) -> Metric:
    """The metric with the embeddings that ``columns`` lack made of the texts they have, by its new options."""
    absent = [name for name in metric.required if name.endswith("_embedding") and name not in columns]
    texts = {name.removesuffix("_embedding"): name for name in absent}
    if not texts or not set(texts) <= set(columns):
        return metric

    def function(**arguments: Any) -> Floats:
        given = {texts.get(name, name): Vectors.of(value) for name, value in arguments.items() if name in used}
        scores: Floats = metric.function(**given)
        return scores

    used = [name.removesuffix("_embedding") if name in absent else name for name in metric.needs]
    needs = {name: EmbeddedIn() if name in texts else metric.needs[name] for name in used}
    own = {field.name: getattr(metric, field.name) for field in fields(metric)}
    own |= {"function": function, "needs": needs, "best_by": None, "prepare": None}
    own |= {"defaults": {"embedder": None, "cache": None}}
    own |= {"allowed": {"embedder": of_hint(Embeds), "cache": of_hint(Cache)}}
    return _FromText(**own, made_of=(metric, tuple(columns)))


@metric(
    bounds=(-1, 1),
    better="higher",
    source="S2, Tier 3",
    cues=["bert_score", "cosine_similarity", "cosine", "similarity", "embedding_similarity", "answer_similarity"],
)
def semantic_similarity(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Cosine of the embeddings of answer and reference.

    a·b / (‖a‖·‖b‖), worked out in float64. NaN where a vector is zero or not finite. Raises ``ColumnError`` where the
    two columns hold vectors of different lengths.

    >>> import fastmetrics as fm
    >>> fm.semantic_similarity([[1.0, 0.0], [3.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 0.8]
    """
    a, b = _paired(answer_embedding, reference_embedding)
    norms = np.sqrt(_products(a, a)) * np.sqrt(_products(b, b))
    products, defined = _products(a, b), np.isfinite(norms) & (norms > 0)
    return np.clip(np.divide(products, norms, out=np.full(len(a), np.nan), where=defined), -1.0, 1.0)


@metric(bounds=(-np.inf, np.inf), better="higher", source="S2, Tier 3", cues=["dot_product", "inner_product"])
def dot_similarity(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Scalar product of the embeddings of answer and reference.

    Worked out in float64; NaN where a vector is not finite.

    >>> import fastmetrics as fm
    >>> fm.dot_similarity([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [11.0]
    """
    return _finite(_products(*_paired(answer_embedding, reference_embedding)))


@metric(bounds=(0, np.inf), better="lower", source="S2, Tier 3", cues=["l2_distance"])
def euclidean_distance(answer_embedding: Vector, reference_embedding: Vector) -> Floats:
    """Euclidean distance of the embeddings of answer and reference; lower is nearer.

    Worked out in float64; NaN where a vector is not finite.

    >>> import fastmetrics as fm
    >>> fm.euclidean_distance([[0.0, 0.0]], [[3.0, 4.0]]).tolist()
    [5.0]
    """
    a, b = _paired(answer_embedding, reference_embedding)
    rows, ones, halves = np.arange(len(a)), np.ones(len(a)), np.empty(len(a))
    pair_halves(a, b, rows, rows, ones, ones, halves)
    return _finite(np.sqrt(2.0 * halves))


@dataclass(frozen=True)
class Repeats:
    """A value over all pairs of repeats: of how many questions and pairs, and how many rows were left out."""

    value: float
    n_questions: int
    n_pairs: int
    n_missing: int
    n_undefined: int = 0


def response_exact_match_rate(answers: Any, questions: Any, *, against: str = "pairs") -> Repeats:
    """Share of the pairs of answers to one question that are equal strings.

    ``questions`` says which rows repeat each other: the question, or its id. Every pair of repeats counts once;
    NaN where no question repeats. A row without answer or question is left out and counted. Source: S2.

    ``against="first"`` is the reading of S2: each repeat is held against the first answer to its question only, and
    ``n_pairs`` is the number of repeats.

    >>> response_exact_match_rate(["a", "a", "b", "c"], ["q1", "q1", "q1", "q2"]).value
    0.3333333333333333
    """
    answer_codes, questions_codes = codes_of(answers, "answers"), codes_of(questions, "questions")
    _check_rows(len(answer_codes), len(questions_codes))
    present = (answer_codes >= 0) & (questions_codes >= 0)
    owner, sizes = _grouped(questions_codes[present])
    if argument("against", against, Choice("pairs", "first")) == "first":
        return _as_the_first(answer_codes[present], owner, sizes, int((~present).sum()))
    both = np.stack([owner, answer_codes[present]], axis=1)
    equal = np.unique(both, axis=0, return_counts=True)[1]
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    same = int((equal * (equal - 1)).sum()) // 2
    value = same / pairs if pairs else np.nan
    return Repeats(value, int((sizes > 1).sum()), pairs, int((~present).sum()))


def _as_the_first(answers: Ints, owner: Ints, sizes: Ints, missing: int) -> Repeats:
    """The share of repeats whose answer is the first one to their question."""
    repeats = int((sizes - 1).sum())
    first = answers[np.unique(owner, return_index=True)[1]] if len(owner) else answers
    same = int((answers == first[owner]).sum()) - len(sizes)
    return Repeats(same / repeats if repeats else np.nan, int((sizes > 1).sum()), repeats, missing)


def response_semantic_consistency(embeddings: VectorsLike, questions: Any) -> Repeats:
    """Mean cosine of the embeddings of all pairs of answers to one question.

    ``questions`` says which rows repeat each other. Every pair of repeats counts once: for unit vectors u of one
    question, the sum over its pairs is (‖Σu‖² − Σ‖u‖²)/2. NaN where no question repeats. Rows without a vector or
    question are left out and counted, as are those whose vector is zero or not finite (``n_undefined``). Source: S2.

    >>> response_semantic_consistency([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [7, 7, 7]).value
    0.3333333333333333
    """
    vectors, codes = Vectors.of(embeddings), codes_of(questions, "questions")
    _check_rows(vectors.rows, len(codes))
    rows = _doubles(vectors)
    squares = _products(rows, rows)
    missing = (codes < 0) | np.isnan(rows).all(axis=1)
    defined = np.isfinite(squares) & (squares > 0) & ~missing
    owner, sizes = _grouped(codes[defined])
    units = rows[defined] / np.sqrt(squares[defined])[:, None]
    totals = np.zeros((len(sizes), vectors.dim))
    np.add.at(totals, owner, units)
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    total = 0.5 * float((_products(totals, totals) - np.bincount(owner, _products(units, units), len(sizes))).sum())
    value = min(max(total / pairs, -1.0), 1.0) if pairs else np.nan
    return Repeats(value, int((sizes > 1).sum()), pairs, int(missing.sum()), int((~defined & ~missing).sum()))


def _paired(one: Vectors, other: Vectors) -> tuple[Block, Block]:
    """Both as matrices of one width: nothing but NaN if one side has no number."""
    a, b = _doubles(one), _doubles(other)
    if one.dim != other.dim and one.rows and other.rows:
        if not any(side.size and np.isnan(side).all() for side in (a, b)):
            raise ColumnError(f"answer_embedding has {one.dim} numbers a row, reference_embedding {other.dim}")
        a = b = np.full((len(a), 1), np.nan)
    return a, b


def _doubles(vectors: Vectors) -> Block:
    rows: Block = vectors.all().astype(np.float64)
    rows.setflags(write=False)
    return rows


def _products(one: Block, other: Block) -> Floats:
    rows, products = np.arange(len(one)), np.empty(len(one))
    pair_products(one, other, rows, rows, products)
    return products


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _grouped(codes: Ints) -> tuple[Ints, Ints]:
    """Each row's group, numbered from 0, and the groups' sizes."""
    _, owner, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return owner.ravel(), sizes


def _check_rows(one: int, other: int) -> None:
    if one != other:
        raise ColumnError(f"columns differ in length: {one} and {other} rows")
