"""Retrieval metrics (the RAG benchmark, tier 1): one score per row.

Every row has a ranking ``retrieved_ids``, best first and used in the given order, and ``relevant_ids``, with grades in
``relevance`` (absent: all 1).  The formulas are those of :mod:`fastmetrics.retrieval.measures`, the numbers are
trec_eval's.

- A row without relevant documents is undefined (NaN), or 0 with ``no_relevant="zero"``, as in trec_eval; a note in the
  summary states their number and their score.
- An empty ranking scores 0; a missing list gives no score.
- An id retrieved twice counts at its first position only; the later position stays empty.  :func:`repeated_ids` counts
  such positions.  Ids judged twice count once, with the first grade.
- Relevant ids may be in groups, ``[["a", "b"], ["c"]]``: of each group any document is enough, and all groups are
  needed (AutoRAG's ground truth).  Recall is then the share of the groups found, reciprocal rank and average
  precision are means over the groups, and all other metrics take the documents of all groups as relevant.
- ``k`` truncates the ranking; a shorter ranking is used as it is.
- Binary metrics treat grades of at least ``relevance_level`` as relevant; NDCG treats every positive grade as a gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.options import Cutoff, Gain
from fastmetrics.kernels import rankings as kernels
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.ranking_inputs import (
    ELSE,
    Grades,
    Judged,
    NoRelevant,
    Ranked,
    RankedAndJudged,
    cut_off,
    nothing_relevant,
)
from fastmetrics.retrieval import measures as ranked
from fastmetrics.retrieval.measures import names_of
from fastmetrics.retrieval.rankings import graded


def _binary(formula: Callable[..., Floats], judged: Judged, **options: Any) -> Floats:
    """The formula for rows with relevant documents, otherwise the score set by ``no_relevant``."""
    return _scored(formula(judged.rankings, level=judged.level, **options), judged)


def _grouped(formula: Callable[..., Floats], of_group: Callable[..., Floats], judged: Judged, k: Cutoff) -> Floats:
    """The formula, or the mean over the groups of relevant documents of that of a group, as AutoRAG defines it."""
    groups = judged.groups
    if groups is None:
        return _binary(formula, judged, k=k)
    return _scored(groups.mean(of_group(groups.rankings, k=k)), judged)


def _scored(scores: Floats, judged: Judged) -> Floats:
    return np.where(ranked.relevant(judged.rankings, judged.level) > 0, scores, judged.no_relevant)


def _at_k(bare: str, spellings: Sequence[str]) -> list[str]:
    """The spellings; ``bare`` needs a cut-off, because without one it could name a text metric."""
    return [f"{bare}@k", *(name for name in spellings if name != bare)]


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, hit rate",
    aliases=names_of(ranked.success),
    cues=["hits"],
    caution=cut_off,
)
def hit_rate(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """1 if any of the first ``k`` retrieved documents is relevant, else 0 (trec_eval's success_k).

    >>> import fastmetrics as fm
    >>> fm.hit_rate([["a", "b"], ["c", "d"]], [["b"], ["x"]], k=2)
    array([1., 0.])
    """
    return _binary(ranked.success, retrieved_ids, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, MRR",
    labels={"mean": "mrr"},
    aliases=names_of(ranked.reciprocal_rank),
    caution=cut_off,
)
def reciprocal_rank(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """1 / rank of the first relevant document; 0 if there is none among the first ``k``.  Its mean is MRR.

    >>> import fastmetrics as fm
    >>> fm.reciprocal_rank([["a", "b"], ["c"], []], [["b"], ["c"], ["d"]])
    array([0.5, 1. , 0. ])
    """
    return _grouped(ranked.reciprocal_rank, ranked.reciprocal_rank, retrieved_ids, k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, recall@k",
    labels={"mean": "recall@k"},
    aliases=_at_k("recall", names_of(ranked.recall)),
    cues=["recall"],
    caution=cut_off,
)
def retrieval_recall(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """Share of the relevant documents among the first ``k`` retrieved documents.

    recall@k = |first k ∩ G| / |G|; also called :func:`recall_at_k`.

    >>> import fastmetrics as fm
    >>> fm.retrieval_recall([[7, 8, 9]], [[9, 7, 5, 4]], k=2)
    array([0.25])
    """
    return _grouped(ranked.recall, ranked.success, retrieved_ids, k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, precision@k",
    labels={"mean": "precision@k"},
    aliases=_at_k("precision", names_of(ranked.precision)),
    cues=["precision"],
    caution=cut_off,
)
def retrieval_precision(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """Share of relevant documents among the first ``k`` positions.

    precision@k = |first k ∩ G| / k, also if fewer than k documents were retrieved; without ``k`` the denominator is the
    number retrieved.  Also called :func:`precision_at_k`.

    >>> import fastmetrics as fm
    >>> fm.retrieval_precision([["a", "b", "c", "d", "e"]], [["a", "c"]], k=5)
    array([0.4])
    """
    return _binary(ranked.precision, retrieved_ids, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, F1@k",
    aliases=_at_k("f1", names_of(ranked.f1)),
    cues=["f1", "f1_score"],
    caution=cut_off,
)
def retrieval_f1(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """Harmonic mean of precision and recall of the first ``k`` documents.

    >>> import fastmetrics as fm
    >>> fm.retrieval_f1([["a", "b"]], [["a", "c"]], k=2)
    array([0.5])
    """
    if retrieved_ids.groups is None:
        return _binary(ranked.f1, retrieved_ids, k=k)
    precision = ranked.precision(retrieved_ids.rankings, k=k, level=retrieved_ids.level)
    recall = retrieved_ids.groups.mean(ranked.success(retrieved_ids.groups.rankings, k=k))
    return _scored(ranked.ratio(2 * precision * recall, precision + recall), retrieved_ids)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, MAP",
    labels={"mean": "map"},
    aliases=names_of(ranked.average_precision),
    caution=cut_off,
)
def average_precision(retrieved_ids: RankedAndJudged, relevant_ids: Ranked, *, k: Cutoff = None) -> Floats:
    """Sum of the precisions at the relevant documents among the first ``k``, divided by |G|.  Its mean is MAP.

    >>> import fastmetrics as fm
    >>> fm.average_precision([["a", "x", "b"]], [["a", "b"]]).round(4)
    array([0.8333])
    """
    return _grouped(ranked.average_precision, ranked.mean_precision, retrieved_ids, k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, R-precision",
    aliases=names_of(ranked.r_precision),
    caution=nothing_relevant,
)
def r_precision(retrieved_ids: RankedAndJudged, relevant_ids: Ranked) -> Floats:
    """Precision at the rank equal to the number of relevant documents.

    >>> import fastmetrics as fm
    >>> fm.r_precision([["a", "x", "b"]], [["a", "b"]])
    array([0.5])
    """
    return _binary(ranked.r_precision, retrieved_ids)


@metric(bounds=(0, 1), better="higher", source="S2, tier 1, NDCG@k", aliases=names_of(ranked.ndcg), caution=cut_off)
def ndcg(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    gain: Gain = "linear",
    no_relevant: NoRelevant = "undefined",
) -> Floats:
    """Discounted gain of the first ``k`` documents, divided by that of the ideal ranking.

    DCG = Σ gainᵢ / log₂(i + 1), the gain being the grade, or 2^grade - 1 if ``gain="exponential"``; the ideal order is
    that of all judged grades.

    >>> import fastmetrics as fm
    >>> fm.ndcg([["a", "b", "c"]], [["b", "c"]], [[2, 1]], k=3).round(4)
    array([0.6697])
    """
    judged = graded(retrieved_ids, relevant_ids, relevance)
    best = ranked.ideal_dcg(judged, k=k, gain=gain)
    scores = ranked.ratio(ranked.dcg(judged, k=k, gain=gain), best)
    return np.where(best > 0, scores, ELSE[no_relevant])


@metric(bounds=(0, np.inf), better="lower", source="S2, tier 1, ids retrieved more than once")
def repeated_ids(retrieved_ids: Ranked) -> Floats:
    """Number of positions in a ranking that repeat an earlier id, and so do not count.

    >>> import fastmetrics as fm
    >>> fm.repeated_ids([["a", "b", "a"], ["c"]])
    array([1., 0.])
    """
    again = kernels.repeats(retrieved_ids.ids, retrieved_ids.starts)
    rows = np.repeat(np.arange(len(retrieved_ids)), retrieved_ids.sizes)
    return np.bincount(rows, again, len(retrieved_ids)).astype(np.float64)


recall_at_k = retrieval_recall
precision_at_k = retrieval_precision
