"""The formulas of the retrieval measures: graded rankings (``retrieval.rankings.GradedRankings``) to numbers per query.

Every function takes the judged rankings of n queries and returns n float64 values.  Without relevant documents the
value is 0 here, and the caller decides whether it is undefined.  ``k`` truncates the ranking (None = all of it),
``level`` is the lowest relevant grade.  The numbers are trec_eval's; functions of measures from other packages say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.options import MOST, Cutoff, Gain, Level, NotAllowedError, Real
from fastmetrics.kernels import ranking_measures
from fastmetrics.kernels import ranking_measures as kernels
from fastmetrics.retrieval.rankings import GradedRankings, descending, frozen


@dataclass(frozen=True)
class _GainsOfGrades:
    """Gains of some grades."""

    def take(self, value: Any) -> dict[float, float]:
        """The gains by grade."""
        if not isinstance(value, Mapping) or len(value) > _MOST_GAINS:
            raise NotAllowedError
        return {_NUMBERS.take(grade): _NUMBERS.take(gain) for grade, gain in value.items()}

    def __str__(self) -> str:
        return "numbers by grade, as in {0: 0, 1: 3}"


_NUMBERS = Real(float(-MOST), float(MOST))
_MOST_GAINS = 1_000

Gains = Annotated[Mapping[float, float] | None, _GainsOfGrades(), "gains that replace those of some grades"]
"""Gains that replace those of some grades."""

Number = Annotated[float, _NUMBERS]
"""Any number of reasonable size."""

Portion = Annotated[float, Real(0.0, 1.0)]
"""A share or a probability."""

Persistence = Annotated[Portion, "the probability that a reader goes on to the next document"]

OptionalPersistence = Annotated[
    float | None, Real(0.0, 1.0), "the probability that a reader goes on to the next document; None for the default"
]

Multiple = Annotated[float, Real(0.0, 1e6)]
"""A factor."""

TopGrade = Annotated[float, Real(0.0, 1_000.0), "the highest grade that a document can have"]
"""The highest grade."""

OptionalLevel = Annotated[
    float | None, Real(0.0, float(MOST), above=True), "the lowest relevant grade; None for no such limit"
]
"""The lowest relevant grade; None for no such limit."""

_EVERYTHING = np.iinfo(np.int64).max // 2
_SMALLEST = 0.00001
"""trec_eval's replacement for 0 in logarithms, and its addition to the counts of infAP."""


def sizes(judged: GradedRankings) -> Ints:
    """Number of documents retrieved."""
    return np.diff(judged.starts)


def cuts(judged: GradedRankings, k: int | None) -> Ints:
    """The number of ranks used of each query."""
    return frozen(np.full(judged.starts.size - 1, _EVERYTHING if k is None else k, np.int64))


def relevant(judged: GradedRankings, level: float) -> Ints:
    """Number of documents judged relevant, retrieved or not."""
    return kernels.hits(judged.ideal, judged.ideal_starts, cuts(judged, None), level)


def have_gain(judged: GradedRankings, gains: Gains) -> Flags:
    """The queries with a judged document of positive gain."""
    best = gained(judged.ideal, "linear", gains)
    return kernels.hits(best, judged.ideal_starts, cuts(judged, None), math.ulp(0.0)) > 0


def hits(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Number of relevant documents among the first ``k``."""
    return _hits(judged, k, level).astype(np.float64)


def success(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """1 if any of the first ``k`` documents is relevant, else 0."""
    return (_hits(judged, k, level) > 0).astype(np.float64)


def precision(
    judged: GradedRankings,
    *,
    k: Cutoff = None,
    level: Level = 1.0,
    relative: Annotated[bool, "whether fewer relevant documents than k are the divisor"] = False,
) -> Floats:
    """Relevant documents among the first ``k``, divided by ``k`` even if fewer were retrieved.

    ``relative`` divides by the maximum possible number instead: no more than all relevant documents can be found.
    """
    depth = sizes(judged) if k is None else k
    return ratio(_hits(judged, k, level), np.minimum(depth, relevant(judged, level)) if relative else depth)


def recall(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Relevant documents among the first ``k``, divided by the number of relevant documents."""
    return ratio(_hits(judged, k, level), relevant(judged, level))


def f1(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Harmonic mean of precision and recall among the first ``k``."""
    return ratio(2 * _hits(judged, k, level), (sizes(judged) if k is None else k) + relevant(judged, level))


def r_precision(
    judged: GradedRankings,
    *,
    level: Level = 1.0,
    share: Annotated[Multiple, "the rank as a multiple of the number of relevant documents"] = 1.0,
) -> Floats:
    """Precision at ``share`` times the number of relevant documents, rounded up as in trec_eval."""
    depth = (share * relevant(judged, level) + 0.9).astype(np.int64)
    return ratio(kernels.hits(judged.grades, judged.starts, frozen(depth), level), depth)


def reciprocal_rank(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """1 divided by the rank of the first relevant document; 0 without one among the first ``k``."""
    rank = kernels.first_hit(judged.grades, judged.starts, cuts(judged, k), level)
    return ratio(np.ones(rank.size), rank)


def average_precision(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Sum of the precisions at the retrieved relevant documents, divided by the number of relevant ones."""
    return ratio(kernels.precision_sum(judged.grades, judged.starts, cuts(judged, k), level), relevant(judged, level))


def geometric_average_precision(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Average precision, at least 0.00001; the mean over the queries is geometric."""
    return np.maximum(average_precision(judged, level=level), _SMALLEST)


def geometric_bpref(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Binary preference, at least 0.00001; the mean over the queries is geometric."""
    return np.maximum(bpref(judged, level=level), _SMALLEST)


def dcg(judged: GradedRankings, *, k: Cutoff = None, gain: Gain = "linear", gains: Gains = None) -> Floats:
    """Sum of gain / log2(rank + 1): the gain is the grade, or 2^grade - 1 if ``gain`` is "exponential"."""
    return _discounted(gained(judged.grades, gain, gains), judged.starts, cuts(judged, k))


def ideal_dcg(judged: GradedRankings, *, k: Cutoff = None, gain: Gain = "linear", gains: Gains = None) -> Floats:
    """The DCG of the ideal ranking: all judged documents by descending gain."""
    best = gained(judged.ideal, gain, gains)
    if gains:
        best = frozen(descending(best, judged.ideal_starts))
    return _discounted(best, judged.ideal_starts, cuts(judged, k))


def ndcg(judged: GradedRankings, *, k: Cutoff = None, gain: Gain = "linear", gains: Gains = None) -> Floats:
    """DCG of the first ``k`` documents, divided by that of the ideal ranking."""
    return ratio(dcg(judged, k=k, gain=gain, gains=gains), ideal_dcg(judged, k=k, gain=gain, gains=gains))


def bpref(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Share of judged non-relevant documents ranked below the relevant ones, ignoring unjudged documents."""
    n_relevant = relevant(judged, level)
    nonrelevant = kernels.hits(judged.ideal, judged.ideal_starts, cuts(judged, None), 0.0) - n_relevant
    return ratio(kernels.preference_sum(judged.grades, judged.starts, level, n_relevant, nonrelevant), n_relevant)


def inferred_ap(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Average precision inferred from a partly judged pool; a negative grade means pooled but not judged."""
    total = kernels.inferred_precision_sum(judged.grades, judged.starts, level, _SMALLEST)
    return ratio(total, relevant(judged, level))


def interpolated_precision(
    judged: GradedRankings,
    *,
    recall: Annotated[Portion, "the least share of the relevant documents"],
    level: Level = 1.0,
) -> Floats:
    """Best precision at any rank with at least ``recall`` of the relevant documents.

    ``recall`` times the number of relevant documents is rounded as in trec_eval 10; version 9 and pytrec_eval add 0.9
    and truncate.
    """
    needed = np.floor(recall * relevant(judged, level) + 0.5).astype(np.int64)
    return kernels.interpolated_precision(judged.grades, judged.starts, level, needed, _hits(judged, None, level))


def judged_share(judged: GradedRankings, *, k: Cutoff = None) -> Floats:
    """Share of the first ``k`` documents, or of all if there are fewer, that were judged (ir_measures)."""
    depth = np.minimum(cuts(judged, k), sizes(judged))
    return ratio(_hits(judged, k, -np.inf), depth)


def unjudged_share(judged: GradedRankings, *, k: Cutoff = None) -> Floats:
    """Documents among the first ``k`` without a judgement or with a negative one, divided by ``k``."""
    depth = np.minimum(cuts(judged, k), sizes(judged))
    return ratio(depth - _hits(judged, k, 0.0), sizes(judged) if k is None else k)


def expected_reciprocal_rank(judged: GradedRankings, *, k: Cutoff = None, max_grade: TopGrade = 4.0) -> Floats:
    """Expected 1/rank at which a user stops; probability (2^g - 1) / 2^max_grade at grade g (gdeval)."""
    stops = np.exp2(np.clip(judged.grades, 0.0, max_grade)) - 1.0
    return kernels.expected_reciprocal_rank(frozen(stops / 2.0**max_grade), judged.starts, cuts(judged, k))


def rank_biased_precision(
    judged: GradedRankings, *, p: OptionalPersistence = None, k: Cutoff = None, level: OptionalLevel = None
) -> Floats:
    """(1 - p) times the sum of gain times p^(rank - 1).

    The gain is the grade, divided by the query's highest grade if that is above 1, as in trec_eval; with ``level`` it
    is 1 for a relevant document and 0 for others, as in ranx and ir_measures.  ``p`` defaults to 0.9 without ``level``
    and to 0.8 with it: the defaults of trec_eval and of ir_measures.
    """
    if p is None:
        p = 0.9 if level is None else 0.8
    if level is None:
        best = np.ones(judged.starts.size - 1)
        has_any = np.diff(judged.ideal_starts) > 0
        best[has_any] = np.maximum(judged.ideal[judged.ideal_starts[:-1][has_any]], 1.0)
        gain = judged.grades / np.repeat(best, sizes(judged))
    else:
        gain = (judged.grades >= level).astype(np.float64)
    return (1.0 - p) * kernels.persistent_gain(frozen(gain), judged.starts, cuts(judged, k), p)


def rank_biased_residual(judged: GradedRankings, *, p: Persistence = 0.9) -> Floats:
    """The maximum increase of rank-biased precision if every unjudged document were relevant."""
    unjudged = frozen((~(judged.grades >= 0.0)).astype(np.float64))
    total = kernels.persistent_gain(unjudged, judged.starts, cuts(judged, None), p)
    return np.where(total > 0.0, p ** sizes(judged) + (1.0 - p) * total, 0.0)


def num_queries(judged: GradedRankings) -> Floats:
    """1 for every query; the sum is the number of queries."""
    return np.ones(judged.starts.size - 1)


def num_retrieved(judged: GradedRankings, *, level: OptionalLevel = None) -> Floats:
    """Number of documents retrieved; with ``level``, of the relevant ones."""
    return sizes(judged).astype(np.float64) if level is None else hits(judged, level=level)


def num_relevant(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Number of documents judged relevant."""
    return relevant(judged, level).astype(np.float64)


def num_nonrelevant_retrieved(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Number of retrieved documents that were judged as not relevant."""
    return (_hits(judged, None, 0.0) - _hits(judged, None, level)).astype(np.float64)


def gained(grades: Floats, gain: str, gains: Gains) -> Floats:
    """The gain of each grade: the grade or 2^grade - 1, unless ``gains`` sets another."""
    amounts = np.exp2(grades) - 1.0 if gain == "exponential" else grades
    for grade, value in (gains or {}).items():
        amounts = np.where(grades == grade, float(value), amounts)
    return frozen(amounts)


def ratio(over: NDArray[Any], under: NDArray[Any] | float) -> Floats:
    """``over`` / ``under``, and 0 where ``under`` is 0."""
    bottom = np.broadcast_to(np.asarray(under, np.float64), over.shape)
    quotient: Floats = np.divide(over, bottom, out=np.zeros(over.shape), where=bottom != 0)
    return quotient


def logs(starts: Ints) -> Floats:
    """log2(rank + 1) for every rank that occurs."""
    return frozen(np.log2(np.arange(2, int(np.diff(starts).max(initial=0)) + 3)))


def _discounted(gains: Floats, starts: Ints, depth: Ints) -> Floats:
    return kernels.discounted_gain(gains, starts, depth, logs(starts))


def _hits(judged: GradedRankings, k: int | None, level: float) -> Ints:
    return kernels.hits(judged.grades, judged.starts, cuts(judged, k), level)


def accuracy(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Share of the pairs of a relevant and another retrieved document in which the relevant one ranks higher.

    NaN without such a pair: documents that were not retrieved do not count, so this describes the order alone.
    """
    wrong, pairs = ranking_measures.pairs_of_documents(judged.grades, judged.starts, cuts(judged, k), level)
    return np.where(pairs > 0, 1.0 - ratio(wrong, pairs), np.nan)


def compatibility(
    judged: GradedRankings,
    *,
    p: Persistence = 0.95,
    normalize: Annotated[bool, "whether the ideal ranking scores 1"] = True,
) -> Floats:
    """Rank-biased overlap with the ideal ranking (Clarke, Vtyurina and Smucker 2021).

    The ideal ranking has all documents of positive grade by descending grade; of documents of one grade, the retrieved
    ones are first, in the order of the ranking.  ``normalize`` divides by the overlap of the ideal ranking with itself,
    which is below 1 if it is shorter than the ranking.
    """
    overlap, best, weights = ranking_measures.overlap_with_ideal(
        judged.grades, judged.starts, judged.ideal, judged.ideal_starts, p
    )
    return ratio(overlap, best if normalize else weights)


def set_average_precision(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Precision times recall of the retrieved documents, ignoring their order."""
    return precision(judged, level=level) * recall(judged, level=level)


def set_f(
    judged: GradedRankings, *, level: Level = 1.0, beta: Annotated[Multiple, "the weight of recall"] = 1.0
) -> Floats:
    """(beta + 1)·P·R / (R + beta·P) of the documents retrieved; ``beta`` is not squared."""
    p, r = precision(judged, level=level), recall(judged, level=level)
    return ratio((beta + 1.0) * p * r, r + beta * p)


def utility(
    judged: GradedRankings,
    *,
    level: Level = 1.0,
    hit: Annotated[Number, "the utility of a relevant document"] = 1.0,
    junk: Annotated[Number, "the utility of another document"] = -1.0,
    missed: Annotated[Number, "the utility of a relevant document that is not retrieved"] = 0.0,
) -> Floats:
    """Utility of the retrieved documents: ``hit`` per relevant, ``junk`` per other, ``missed`` per missed document."""
    matches = hits(judged, level=level)
    return hit * matches + junk * (sizes(judged) - matches) + missed * (relevant(judged, level) - matches)


def eleven_point_average(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Mean of the interpolated precision at recall 0, 0.1, …, 1."""
    points = [interpolated_precision(judged, recall=tenth / 10, level=level) for tenth in range(11)]
    return np.add.accumulate(points)[-1] / 11.0  # sequential: independent of the batch


def binary_g(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """Mean over the relevant documents of 1 / log2(2 + number of others ranked above)."""
    return ratio(ranking_measures.cost_discounted_hits(judged.grades, judged.starts, level), relevant(judged, level))


def g(judged: GradedRankings) -> Floats:
    """Gain discounted by the gain missed so far, divided by the total gain."""
    gain = ranking_measures.cost_discounted_gain(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    owners = np.repeat(np.arange(gain.size), np.diff(judged.ideal_starts))
    return ratio(gain, np.bincount(owners, np.maximum(judged.ideal, 0.0), gain.size))


def ndcg_relevant(judged: GradedRankings) -> Floats:
    """NDCG averaged over the ranks of the relevant documents."""
    return ranking_measures.ndcg_at_relevant(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)


def ndcg_levels(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """NDCG averaged over the ranks where the ideal gain decreases; 0 if no grade reaches ``level``."""
    scores = ranking_measures.ndcg_at_levels(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    return np.where(relevant(judged, level) > 0, scores, 0.0)
