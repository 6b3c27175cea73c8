"""Consistency of the documents retrieved for repeats of one query (the RAG benchmark): one number per table."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Text, Uint64s
from fastmetrics.base.options import Choice, Real, Rows
from fastmetrics.metrics.batch import KeptRows, numbered, row_lists
from fastmetrics.metrics.metric import Corpus, metric
from fastmetrics.metrics.ranking_inputs import Ranked
from fastmetrics.metrics.repeated_questions import (
    SHARED_CALLS,
    Calls,
    Keys,
    Repeated,
    Repeats,
    consistency,
    heads,
    rank_biased_overlap,
    repeated,
)
from fastmetrics.retrieval.rankings import Rankings, offsets
from fastmetrics.text.text_keys import keys_of

Against = Annotated[str, Choice("pairs", "first"), "whether all pairs of repeats are compared, or each with the first"]
First = Annotated[int, Rows, "the number of documents that are compared"]
Persistence = Annotated[
    float, Real(0.0, 1.0, above=True, below=True), "the probability that a reader goes on to the next document"
]
STORED = "repeats.retrieved_ids"
"""The column in which a run stores the keys of each row's question and documents."""


def _stored_rows(question: Uint64s, retrieved_ids: Rankings, answer_call: Uint64s | None) -> pa.ListArray:
    """For each row, the keys of its question and documents."""
    ids = retrieved_ids.ids
    if ids.starts.size:
        keys = keys_of(Text(ids.data, ids.starts, ids.stops, np.ones(ids.starts.size, np.bool_)))
    else:
        keys = np.column_stack([ids.keys, np.zeros_like(ids.keys)])
    return row_lists(heads(question, answer_call), keys.ravel(), 2 * retrieved_ids.sizes)


def _rankings(rows: KeptRows) -> tuple[Repeated, pa.ListArray]:
    """The rows of repeated questions, and their rankings as document numbers."""
    repeats = repeated(rows)
    ids = numbered(repeats.values.reshape(-1, 2))
    return repeats, pa.LargeListArray.from_arrays(offsets(repeats.sizes // 2), ids)


def _finish(rows: KeptRows, *, k: int, against: str) -> Repeats:
    repeats, lists = _rankings(rows)
    return repeats.counted(consistency(repeats.questions, lists, k, against))


def _finish_rbo(rows: KeptRows, *, p: float) -> Repeats:
    repeats, lists = _rankings(rows)
    return repeats.counted(rank_biased_overlap(repeats.questions, lists, p))


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1",
    corpus=Corpus(finish=_finish, keeps=STORED),
    caution=SHARED_CALLS,
)
def retrieval_consistency(
    question: Keys,
    retrieved_ids: Ranked,
    answer_call: Calls | None = None,
    *,
    k: First = 10,
    against: Against = "pairs",
) -> pa.ListArray:
    """Overlap of the first ``k`` documents of the repeats of a query.

    For each query that occurs at least twice, the mean over all pairs of its repeats of |A ∩ B| / |A ∪ B| of their
    first ``k`` documents (1 for two empty ones); then the mean over these queries, NaN without any.  ``question``
    identifies queries by texts or ids; rows without it or without a ranking are excluded and counted.

    ``against="first"`` follows the RAG benchmark: the share of all repeats, excluding the first row of each query,
    whose first ``k`` documents equal those of that row in the same order; ``n_pairs`` is then the number of repeats.

    ``answer_call``, a column of :func:`fastmetrics.answer`, shows which rows share a call and are equal by
    construction; ``n_shared`` counts them, and a summary notes them.

    A run stores 24 bytes for the question and the call, and 16 for each document of a row, with its scores.  Computing
    the value takes 24 bytes per row, and the rankings of the repeated rows.  Returns a ``Repeats``.

    >>> import fastmetrics as fm
    >>> fm.retrieval_consistency(["q", "q", "r"], [["a", "b"], ["b", "c"], ["d"]], k=2).score
    0.3333333333333333
    """
    return _stored_rows(question, retrieved_ids, answer_call)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1; Webber, Moffat and Zobel 2010, equation 32",
    corpus=Corpus(finish=_finish_rbo, keeps=STORED),
    caution=SHARED_CALLS,
)
def retrieval_rbo(
    question: Keys, retrieved_ids: Ranked, answer_call: Calls | None = None, *, p: Persistence = 0.9
) -> pa.ListArray:
    """Rank-biased overlap of the rankings of the repeats of a query.

    Averaging over pairs and queries, and the stored data, are as in ``retrieval_consistency``.  RBO of two rankings of
    lengths s ≤ l, with X_d ids in common after d ranks, extrapolated beyond the lists: (1-p)/p · (Σ_{d≤l} X_d/d · p^d +
    Σ_{s<d≤l} X_s(d-s)/(sd) · p^d) + ((X_l - X_s)/l + X_s/s) · p^l.

    >>> import fastmetrics as fm
    >>> round(fm.retrieval_rbo(["q", "q"], [["a", "b", "c"], ["a", "b", "c"]]).score, 12)
    1.0
    """
    return _stored_rows(question, retrieved_ids, answer_call)
