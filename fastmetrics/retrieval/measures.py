"""The retrieval measures: their formulas over graded rankings, and their names in trec_eval, ir_measures and ranx."""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base import specs
from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.base.errors import FastmetricsError, OptionError, UnknownNameError, fold, shown
from fastmetrics.base.options import (
    MOST,
    Allowed,
    Cutoff,
    Flag,
    Gain,
    Level,
    NotAllowedError,
    Real,
    description_of,
    of_hint,
    option,
)
from fastmetrics.base.specs import Better
from fastmetrics.kernels import ranking_measures as kernels
from fastmetrics.retrieval.rankings import GradedRankings, descending, frozen, offsets

# The formulas of the retrieval measures: graded rankings (``retrieval.rankings.GradedRankings``) to numbers per query.
#
# Every function takes the judged rankings of n queries and returns n float64 values.  Without relevant documents the
# value is 0 here, and the caller decides whether it is undefined.  ``k`` truncates the ranking (None = all of it),
# ``level`` is the lowest relevant grade.  The numbers are trec_eval's; functions of measures from other packages say
# so.


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
OptionalLevel = Annotated[
    float | None, Real(0.0, float(MOST), above=True), "the lowest relevant grade; None for no such limit"
]

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


def mean_precision(judged: GradedRankings, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Mean of the precisions at the retrieved relevant documents; 0 without any."""
    return ratio(kernels.precision_sum(judged.grades, judged.starts, cuts(judged, k), level), _hits(judged, k, level))


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
    wrong, pairs = kernels.pairs_of_documents(judged.grades, judged.starts, cuts(judged, k), level)
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
    overlap, best, weights = kernels.overlap_with_ideal(
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
    return ratio(kernels.cost_discounted_hits(judged.grades, judged.starts, level), relevant(judged, level))


def g(judged: GradedRankings) -> Floats:
    """Gain discounted by the gain missed so far, divided by the total gain."""
    gain = kernels.cost_discounted_gain(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    owners = np.repeat(np.arange(gain.size), np.diff(judged.ideal_starts))
    return ratio(gain, np.bincount(owners, np.maximum(judged.ideal, 0.0), gain.size))


def ndcg_relevant(judged: GradedRankings) -> Floats:
    """NDCG averaged over the ranks of the relevant documents."""
    return kernels.ndcg_at_relevant(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)


def ndcg_levels(judged: GradedRankings, *, level: Level = 1.0) -> Floats:
    """NDCG averaged over the ranks where the ideal gain decreases; 0 if no grade reaches ``level``."""
    scores = kernels.ndcg_at_levels(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    return np.where(relevant(judged, level) > 0, scores, 0.0)


# The registry of retrieval measures: formulas, their names in all tools, and how queries are combined.
#
# ``rank`` computes all of them; the retrieval metrics of ``score`` take their names from here.


@dataclass(frozen=True)
class Family:
    """A formula and its properties.

    ``at`` is the option set by ``@``; ``needs`` defines the documents that make a query defined: "level" those at or
    above the relevance level, "gain" those with a positive gain, "pairs" a retrieved relevant and another retrieved
    document (the formula returns NaN without them), "" none; ``mean`` is how queries are combined; ``better`` is the
    direction of better rankings, None for plain counts.
    """

    formula: Callable[..., Floats]
    names: tuple[str, ...]
    at: str = ""
    needs: str = "level"
    mean: str = "arithmetic"
    better: Better = "higher"
    fixed: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The user options, with their defaults."""
        parameters = inspect.signature(self.formula).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in self.fixed}

    @cached_property
    def allowed(self) -> dict[str, Allowed]:
        """The allowed values of each option."""
        hints = typing.get_type_hints(self.formula, include_extras=True)
        return {name: of_hint(hints[name]) for name in self.options}

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """The description of each option."""
        hints = typing.get_type_hints(self.formula, include_extras=True)
        return {name: description_of(hints[name]) for name in self.options}

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, and the options that the name sets."""
        defaults = inspect.signature(self.formula).parameters
        fixed = [f"{name}={value!r}" for name, value in self.fixed.items() if value != defaults[name].default]
        first = (self.formula.__doc__ or "").strip().split("\n")[0]
        if self.mean == "geometric":
            return f"{first}  At least {_SMALLEST:.5f}; the mean over the queries is geometric."
        return f"{first}  With {', '.join(fixed)}." if fixed else first


FAMILIES = (
    Family(ndcg, ("ndcg", "ndcg_cut"), "k", "gain"),
    Family(ndcg, ("ndcg_burges",), "k", "gain", fixed={"gain": "exponential", "gains": None}),
    Family(dcg, ("dcg",), "k", "gain"),
    Family(reciprocal_rank, ("mrr", "rr", "recip_rank", "reciprocal_rank"), "k"),
    Family(average_precision, ("ap", "map", "map_cut", "average_precision"), "k"),
    Family(precision, ("p", "precision", "retrieval_precision", "set_P", "precision_at_k"), "k"),
    Family(recall, ("r", "recall", "retrieval_recall", "set_recall", "SetR", "recall_at_k"), "k"),
    Family(f1, ("f1", "retrieval_f1"), "k"),
    Family(success, ("success", "hit_rate", "hit"), "k"),
    Family(hits, ("hits", "num_rel_ret"), "k", mean="sum"),
    Family(r_precision, ("Rprec", "r_precision"), fixed={"share": 1.0}),
    Family(r_precision, ("Rprec_mult",), "share"),
    Family(bpref, ("bpref",)),
    Family(inferred_ap, ("infAP",)),
    Family(interpolated_precision, ("IPrec", "iprec_at_recall"), "recall"),
    Family(expected_reciprocal_rank, ("ERR",), "k", "gain"),
    Family(rank_biased_precision, ("RBP",), "k", "gain"),
    Family(rank_biased_residual, ("rbp_resid",), needs="", better="lower"),
    Family(judged_share, ("judged",), "k", ""),
    Family(unjudged_share, ("unj", "unjudged"), "k", "", better="lower"),
    Family(average_precision, ("gm_map",), mean="geometric", fixed={"k": None}),
    Family(bpref, ("gm_bpref",), mean="geometric"),
    Family(num_queries, ("num_q",), needs="", mean="sum", better=None),
    Family(num_retrieved, ("num_ret",), needs="", mean="sum", better=None),
    Family(num_relevant, ("num_rel",), needs="", mean="sum", better=None),
    Family(num_nonrelevant_retrieved, ("num_nonrel_judged_ret",), needs="", mean="sum", better="lower"),
    Family(precision, ("relative_P", "set_relative_P", "SetRelP"), "k", fixed={"relative": True}),
    Family(set_average_precision, ("set_map", "SetAP")),
    Family(set_f, ("set_F",), "beta"),
    Family(utility, ("utility",)),
    Family(eleven_point_average, ("11pt_avg",)),
    Family(binary_g, ("binG",)),
    Family(g, ("G",), needs="gain"),
    Family(ndcg_relevant, ("ndcg_rel",), needs="gain"),
    Family(ndcg_levels, ("Rndcg",)),
    Family(accuracy, ("accuracy",), "k", "pairs"),
    Family(compatibility, ("compat",), needs="gain"),
)
"""Every measure; the first name of a family is its canonical name."""


def names_of(formula: Callable[..., Floats]) -> tuple[str, ...]:
    """The names of the first family with a formula, in trec_eval, ir_measures, ranx and papers.

    >>> from fastmetrics.retrieval import measures as formulas
    >>> names_of(formulas.ndcg)
    ('ndcg', 'ndcg_cut')
    """
    return next(family.names for family in FAMILIES if family.formula is formula)


_SUBTOPICS = "it needs judgements by subtopic of a query, and rank reads one grade per document"
_USER_MODEL = "it is a user model of the package cwl-eval; ir_measures computes it with that package"
UNSUPPORTED = {
    **dict.fromkeys(("alpha_DCG", "α_DCG", "alpha_nDCG", "α_nDCG", "AP_IA", "MAP_IA", "ERR_IA"), _SUBTOPICS),
    **dict.fromkeys(("nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"), _SUBTOPICS),
    **dict.fromkeys(("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG"), _USER_MODEL),
}
"""Measures of ir_measures that are not supported, and the reason."""


# Parsing retrieval measures by the names of trec_eval, ir_measures and ranx.
#
# ``ndcg@10``, ``nDCG@10``, ``ndcg_cut_10`` and ``ndcg_cut.10`` are one measure; so are ``P@5``, ``P_5`` and
# ``precision@5``, ``AP`` and ``map``, ``RR@10`` and ``mrr@10``, ``RBP(p=0.8)`` and ``rbp.8``.  Letter case, hyphens
# and underscores of a name do not matter.  Options go in brackets, ``AP(rel=2)@100``; ranx's suffix ``-l2`` is
# ``rel=2``.


_BY_NAME = {fold(name): family for family in FAMILIES for name in family.names}
_UNSUPPORTED = {fold(name): reason for name, reason in UNSUPPORTED.items()}
_SYNONYMS = {"rel": "level", "relevance_level": "level", "cutoff": "k", "dcg": "gain", "persistence": "p"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}
_JUDGED_ONLY = "judged_only"
"""The option of every measure that ignores documents without a judgement."""


@dataclass(frozen=True)
class Measure:
    """A family with its options, under the requested ``name``."""

    name: str
    family: Family
    options: dict[str, Any]
    judged_only: bool = False

    def __call__(self, judged: GradedRankings, *, level: float = 1.0) -> Floats:
        """One value per query; ``level`` is the relevance level unless the measure sets its own."""
        options = self.family.fixed | self._leveled(level)
        values = self.family.formula(only_judged(judged) if self.judged_only else judged, **options)
        return np.maximum(values, _SMALLEST) if self.family.mean == "geometric" else values

    def defined(self, judged: GradedRankings, *, level: float = 1.0) -> Flags:
        """The queries with the relevant documents that the measure needs; all for one that needs none."""
        needs, options = self.family.needs, self._leveled(level)
        if needs == "level" or (needs == "gain" and options.get("level") is not None):
            return relevant(judged, options["level"]) > 0
        if needs == "gain":
            return have_gain(judged, options.get("gains"))
        return np.ones(judged.starts.size - 1, np.bool_)

    def _leveled(self, level: float) -> dict[str, Any]:
        return {"level": level} | self.options if self.family.options.get("level") == 1.0 else self.options

    def over(self, values: Floats) -> float:
        """The combined value of the queries: mean, sum or geometric mean, independent of their order."""
        if not values.size:
            return math.nan
        if self.family.mean == "geometric":
            return math.exp(math.fsum(np.log(values).tolist()) / values.size)
        total = math.fsum(values.tolist())
        return total if self.family.mean == "sum" else total / values.size


def measure(text: str) -> Measure:
    """The measure for ``text``.

    >>> measure("nDCG@10").options
    {'k': 10}
    >>> measure("RBP(p=0.8)").options, measure("rbp.8").options, measure("Rprec").family.names[0]
    ({'p': 0.8}, {'p': 0.8}, 'Rprec')
    >>> measure("ncdg@10")
    Traceback (most recent call last):
    fastmetrics.base.errors.UnknownNameError: unknown measure 'ncdg'; did you mean 'ndcg' or 'Rndcg'?
    >>> measure("RBP(p=2)")
    Traceback (most recent call last):
    fastmetrics.base.errors.OptionError: measure 'RBP(p=2)': option 'p' expects a number from 0 to 1, or None, got 2

    Raises ``UnknownNameError`` for an unknown measure or option, ``OptionError`` for an invalid value.
    """
    spec = _spec(text)
    family = _BY_NAME.get(fold(spec.name))
    if family is None:
        raise _unknown(spec.name)
    values = dict(spec.options)
    if spec.level:
        _add(spec, values, "rel", int(spec.level))
    if spec.at:
        share = spec.mark == "." and "p" in family.options
        at = "p" if share else family.at
        if not at:
            raise OptionError(f"measure {shown(spec.text)}: {family.names[0]} takes no cut-off")
        _add(spec, values, at, float("." + spec.at.lstrip(".")) if share else spec.cutoff)
    judged_only = option(f"measure {shown(spec.text)}", _JUDGED_ONLY, values.pop(_JUDGED_ONLY, False), Flag())
    options: dict[str, Any] = {}
    for written, value in values.items():
        name = _SYNONYMS.get(written, written)
        if name not in family.options:
            raise UnknownNameError.of(f"option of {family.names[0]}", written, [*family.options, _JUDGED_ONLY])
        _add(spec, options, name, _checked(spec, family, written, name, value))
    for name, default in family.options.items():
        if default is inspect.Parameter.empty and name not in options:
            example = f"{family.names[0]}({name}=0.5)"
            raise OptionError(f"measure {shown(spec.text)} needs the option {name!r}, as in {example}")
    if options.get("gains") and (family.fixed | options).get("gain") == "exponential":
        raise OptionError(
            f"measure {shown(spec.text)}: 'gains' replaces the gains of grades, so it cannot be combined with "
            "exponential gains; write the gains themselves"
        )
    return Measure(text, family, options, judged_only)


def is_measure(text: str) -> bool:
    """Whether ``text`` names a measure, whatever its options."""
    try:
        return fold(_spec(text).name) in _BY_NAME
    except FastmetricsError:
        return False


def _spec(text: str) -> specs.Spec:
    return specs.parse_spec(text, lambda name: fold(name) in _BY_NAME, "measure")


def measures(texts: str | Sequence[str]) -> list[Measure]:
    """The measures for a list of names, or for one text with commas.

    >>> [one.name for one in measures("ndcg@10, mrr,RBP(p=0.8)")]
    ['ndcg@10', 'mrr', 'RBP(p=0.8)']
    """
    names = re.split(r",(?![^(]*\))", texts) if isinstance(texts, str) else list(texts)
    parsed = [measure(name.strip()) for name in names]
    if not parsed:
        raise OptionError("expected at least one measure")
    for place, item in enumerate(parsed):
        if item.name in [other.name for other in parsed[:place]]:
            raise OptionError(f"measure {item.name!r} is requested twice")
    return parsed


def only_judged(judged: GradedRankings) -> GradedRankings:
    """The rankings without documents that have no judgement or a negative one."""
    mask = judged.grades >= 0.0
    before = offsets(mask.astype(np.int64))
    return GradedRankings(frozen(judged.grades[mask]), frozen(before[judged.starts]), judged.ideal, judged.ideal_starts)


def _unknown(name: str) -> UnknownNameError:
    if fold(name) in _UNSUPPORTED:
        return UnknownNameError(f"measure {shown(name)} is not supported: {_UNSUPPORTED[fold(name)]}")
    aliases = {alias: family.names[0] for family in FAMILIES for alias in family.names}
    listing = "`fastmetrics metrics --rank` lists all"
    return UnknownNameError.of("measure", name, set(aliases.values()), (), aliases, listing)


def _add(spec: specs.Spec, options: dict[str, Any], name: str, value: Any) -> None:
    if name in options:
        raise OptionError(f"measure {shown(spec.text)}: expected option=value, each option once")
    options[name] = value


def _checked(spec: specs.Spec, family: Family, written: str, name: str, value: Any) -> Any:
    value = _GAINS.get(value, value) if name == "gain" and isinstance(value, str) else value
    return option(f"measure {shown(spec.text)}", written, value, family.allowed[name])
