"""What a search retrieved against what is relevant (S2, tier 1): one number a row.

Every row has a ranking ``retrieved_ids``, best first and taken in the order given, and ``relevant_ids``, whose grades
are ``relevance`` (absent: all 1).  The formulas are those of :mod:`fastmetrics.formulas.ranked`, the numbers
trec_eval's.

- A row with nothing relevant is undefined (NaN); an empty ranking scores 0; a missing list gives no score.
- An id retrieved twice counts at its first place only and leaves nothing at the later one; :func:`repeated_ids` counts
  such places.  Ids judged twice count once, with the first grade.
- ``k`` cuts the ranking; one that is shorter is taken as it is.
- Binary metrics take grades from ``relevance_level`` on as relevant; NDCG takes every positive grade as a gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.allowed import Cutoff, Gain, Level
from fastmetrics.arrays import Floats
from fastmetrics.batch import Batch
from fastmetrics.declare import metric
from fastmetrics.formulas import names, ranked
from fastmetrics.kernels import ids as kernels
from fastmetrics.needs import Options
from fastmetrics.rankings import Judged, Rankings, grades_of, judge, rankings


@dataclass(frozen=True)
class RankingsIn:
    """Lists of ids."""

    def of(self, batch: Batch, column: str, options: Options) -> Rankings:
        """The column's lists, looked up once a batch."""
        return batch.remember(("rankings", column), lambda: rankings(batch.columns[column], column))


@dataclass(frozen=True)
class GradesIn:
    """One grade per relevant id."""

    def of(self, batch: Batch, column: str, options: Options) -> Floats:
        """The column's grades, in the order of the relevant ids."""
        relevant = batch.columns["relevant_ids"]
        return batch.remember(("grades", column), lambda: grades_of(batch.columns[column], relevant, column))


Ranked = Annotated[Rankings, RankingsIn()]
Grades = Annotated[Floats, GradesIn()]


def _binary(formula: Callable[..., Floats], judged: Judged, level: float, **options: Any) -> Floats:
    """The formula where something is relevant, NaN elsewhere."""
    return np.where(ranked.relevant(judged, level) > 0, formula(judged, level=level, **options), np.nan)


@metric(bounds=(0, 1), better="higher", source="S2, tier 1, hit rate", aliases=names.HIT_RATE, cues=["hits"])
def hit_rate(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """1 if any of the first ``k`` retrieved documents is relevant, else 0 (trec_eval's success_k).

    >>> import fastmetrics as fm
    >>> fm.hit_rate([["a", "b"], ["c", "d"]], [["b"], ["x"]], k=2)
    array([1., 0.])
    """
    return _binary(ranked.success, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, MRR",
    labels={"mean": "mrr"},
    aliases=names.RECIPROCAL_RANK,
)
def reciprocal_rank(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """1 / rank of the first relevant document; 0 if there is none among the first ``k``.  Its mean is MRR.

    >>> import fastmetrics as fm
    >>> fm.reciprocal_rank([["a", "b"], ["c"], []], [["b"], [], ["d"]])
    array([0.5, nan, 0. ])
    """
    return _binary(ranked.reciprocal_rank, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, recall@k",
    aliases=names.RECALL,
    cues=["context_recall"],
)
def recall(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """Share of the relevant documents that are among the first ``k`` retrieved.

    recall@k = |first k ∩ G| / |G|; also called :func:`recall_at_k`.

    >>> import fastmetrics as fm
    >>> fm.recall([[7, 8, 9]], [[9, 7, 5, 4]], k=2)
    array([0.25])
    """
    return _binary(ranked.recall, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, precision@k",
    aliases=names.PRECISION,
    cues=["context_precision"],
)
def precision(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """Share of the first ``k`` places that hold a relevant document.

    precision@k = |first k ∩ G| / k, also when fewer than k were retrieved; without ``k`` the divisor is the number
    retrieved.  Also called :func:`precision_at_k`.

    >>> import fastmetrics as fm
    >>> fm.precision([["a", "b", "c"]], [["a", "c"]], k=5)
    array([0.4])
    """
    return _binary(ranked.precision, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(bounds=(0, 1), better="higher", source="S2, tier 1, F1@k")
def f1(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """Harmonic mean of precision and recall of the first ``k`` documents.

    >>> import fastmetrics as fm
    >>> fm.f1([["a", "b"]], [["a", "c"]], k=2)
    array([0.5])
    """
    return _binary(ranked.f1, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S2, tier 1, MAP",
    labels={"mean": "map"},
    aliases=names.AVERAGE_PRECISION,
)
def average_precision(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    relevance_level: Level = 1,
) -> Floats:
    """Sum of the precisions at the relevant documents among the first ``k``, divided by |G|.  Its mean is MAP.

    >>> import fastmetrics as fm
    >>> fm.average_precision([["a", "x", "b"]], [["a", "b"]]).round(4)
    array([0.8333])
    """
    return _binary(ranked.average_precision, judge(retrieved_ids, relevant_ids, relevance), relevance_level, k=k)


@metric(bounds=(0, 1), better="higher", source="S2, tier 1, R-precision", aliases=names.R_PRECISION)
def r_precision(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    relevance_level: Level = 1,
) -> Floats:
    """Precision after as many documents as are relevant.

    >>> import fastmetrics as fm
    >>> fm.r_precision([["a", "x", "b"]], [["a", "b"]])
    array([0.5])
    """
    return _binary(ranked.r_precision, judge(retrieved_ids, relevant_ids, relevance), relevance_level)


@metric(bounds=(0, 1), better="higher", source="S2, tier 1, NDCG@k", aliases=names.NDCG)
def ndcg(
    retrieved_ids: Ranked,
    relevant_ids: Ranked,
    relevance: Grades | None = None,
    *,
    k: Cutoff = None,
    gain: Gain = "linear",
) -> Floats:
    """Discounted gain of the first ``k`` documents, divided by that of the best possible ranking.

    DCG = Σ gainᵢ / log₂(i + 1), the gain being the grade, or 2^grade - 1 if ``gain="exponential"``; the ideal order is
    that of all judged grades.

    >>> import fastmetrics as fm
    >>> fm.ndcg([["a", "b", "c"]], [["b", "c"]], [[2, 1]], k=10).round(4)
    array([0.6697])
    """
    judged = judge(retrieved_ids, relevant_ids, relevance)
    best = ranked.ideal_dcg(judged, k=k, gain=gain)
    found = ranked.ratio(ranked.dcg(judged, k=k, gain=gain), best)
    return np.where(best > 0, found, np.nan)


@metric(bounds=(0, np.inf), better="lower", source="S2, tier 1, ids retrieved more than once")
def repeated_ids(retrieved_ids: Ranked) -> Floats:
    """Number of places of a ranking that repeat an id from a better one, and so count for nothing.

    >>> import fastmetrics as fm
    >>> fm.repeated_ids([["a", "b", "a"], ["c"]])
    array([1., 0.])
    """
    again = kernels.repeats(retrieved_ids.ids, retrieved_ids.starts)
    rows = np.repeat(np.arange(len(retrieved_ids)), retrieved_ids.sizes)
    return np.bincount(rows, again, len(retrieved_ids)).astype(np.float64)


recall_at_k = recall
precision_at_k = precision
