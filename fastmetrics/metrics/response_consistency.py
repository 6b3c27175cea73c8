"""Consistency of the answers to repeats of one question (the RAG benchmark): one number per table."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa

from fastmetrics.base.options import Choice
from fastmetrics.metrics.batch import KeptRows, Raw, numbered, row_lists
from fastmetrics.metrics.cited_support import english_model
from fastmetrics.metrics.metric import Corpus, metric
from fastmetrics.metrics.repeated_questions import (
    SHARED_CALLS,
    Calls,
    Keys,
    Repeats,
    exact_match_rate,
    heads,
    repeated,
    semantic_consistency,
    vectors_of,
    words_of,
)
from fastmetrics.metrics.semantic import Vector
from fastmetrics.text.text_keys import keys_of
from fastmetrics.vectors.vector_arrays import Vectors

Against = Annotated[str, Choice("pairs", "first"), "whether all pairs of repeats are compared, or each with the first"]


def _finish_exact(rows: KeptRows, *, against: str) -> Repeats:
    repeats = repeated(rows)
    answers = numbered(repeats.values.reshape(-1, 2))
    return repeats.counted(exact_match_rate(answers, repeats.questions, against))


def _finish_semantic(rows: KeptRows, **_: object) -> Repeats:
    repeats = repeated(rows)
    first = np.cumsum(repeats.sizes) - repeats.sizes
    words = np.delete(repeats.values, first)
    return repeats.counted(semantic_consistency(vectors_of(repeats.values[first], words), repeats.questions))


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2",
    corpus=Corpus(finish=_finish_exact, keeps="repeats.answer"),
    caution=SHARED_CALLS,
)
def response_exact_match_rate(
    answer: Raw, question: Keys, answer_call: Calls | None = None, *, against: Against = "pairs"
) -> pa.ListArray:
    """Share of the pairs of answers to one question that are equal strings.

    ``question`` identifies repeats: the question, or its id.  Every pair of repeats counts once; NaN if no question
    repeats.  Rows without answer or question are excluded and counted.

    ``against="first"`` follows the RAG benchmark: each repeat is compared only with the first answer to its
    question, and ``n_pairs`` is the number of repeats.

    ``answer_call``, a column of :func:`fastmetrics.answer`, shows which rows share a model call and are equal by
    construction; ``n_shared`` counts them, and a summary notes them.

    A run stores 40 bytes per row with its scores: keys of question, call and answer.  Returns a ``Repeats``.

    >>> import fastmetrics as fm
    >>> fm.response_exact_match_rate(["a", "a", "b", "c"], ["q1", "q1", "q1", "q2"]).score
    0.3333333333333333
    """
    return row_lists(heads(question, answer_call), keys_of(answer).ravel(), np.full(len(question), 2, np.int64))


@metric(
    bounds=(-1, 1),
    better="higher",
    source="S2",
    corpus=Corpus(finish=_finish_semantic, keeps="repeats.answer_embedding"),
    caution=lambda options: (SHARED_CALLS, *english_model(options)),
)
def response_semantic_consistency(
    answer_embedding: Vector, question: Keys, answer_call: Calls | None = None
) -> pa.ListArray:
    """Mean cosine of the embeddings of all pairs of answers to one question.

    ``question`` identifies repeats: the question, or its id.  Every pair of repeats counts once: for unit vectors u of
    one question, the sum over its pairs is (‖Σu‖² − Σ‖u‖²)/2.  NaN if no question repeats.  Rows without a vector or
    question are excluded and counted, and so are repeats whose vector is zero or not finite (``n_undefined``).

    ``answer_call`` is as in ``response_exact_match_rate``.

    A run stores the vectors with its scores.  Computing the value takes 24 bytes per row, and the vectors of the
    repeated rows.  Returns a ``Repeats``; raises ``ColumnError`` for vectors of different lengths.

    >>> import fastmetrics as fm
    >>> fm.response_semantic_consistency([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [7, 7, 7]).score
    0.3333333333333333
    """
    vectors = Vectors.of(answer_embedding)
    lengths, words, sizes = words_of(vectors)
    values = np.insert(words, np.cumsum(sizes) - sizes, lengths[:, 0])
    return row_lists(heads(question, answer_call), values, sizes + 1)
