"""Measures of trec_eval only: set measures, multiples of R, and experimental gain measures."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fastmetrics.core.allowed_values import Level
from fastmetrics.core.arrays import Floats
from fastmetrics.kernels.ranking import trec_gains as kernels
from fastmetrics.retrieval import formulas as ranked
from fastmetrics.retrieval.formulas import Multiple, Number, ratio
from fastmetrics.retrieval.rankings import Judged


def set_average_precision(judged: Judged, *, level: Level = 1.0) -> Floats:
    """Precision times recall of the retrieved documents, ignoring their order."""
    return ranked.precision(judged, level=level) * ranked.recall(judged, level=level)


def set_f(judged: Judged, *, level: Level = 1.0, beta: Annotated[Multiple, "the weight of recall"] = 1.0) -> Floats:
    """(beta + 1)·P·R / (R + beta·P) of the documents retrieved; ``beta`` is not squared."""
    p, r = ranked.precision(judged, level=level), ranked.recall(judged, level=level)
    return ratio((beta + 1.0) * p * r, r + beta * p)


def utility(
    judged: Judged,
    *,
    level: Level = 1.0,
    hit: Annotated[Number, "the utility of a relevant document"] = 1.0,
    junk: Annotated[Number, "the utility of another document"] = -1.0,
    missed: Annotated[Number, "the utility of a relevant document that is not retrieved"] = 0.0,
) -> Floats:
    """Utility of the retrieved documents: ``hit`` per relevant, ``junk`` per other, ``missed`` per missed document."""
    hits = ranked.hits(judged, level=level)
    return hit * hits + junk * (ranked.sizes(judged) - hits) + missed * (ranked.relevant(judged, level) - hits)


def eleven_point_average(judged: Judged, *, level: Level = 1.0) -> Floats:
    """Mean of the interpolated precision at recall 0, 0.1, …, 1."""
    points = [ranked.interpolated_precision(judged, recall=tenth / 10, level=level) for tenth in range(11)]
    return np.add.accumulate(points)[-1] / 11.0  # sequential: independent of the batch


def binary_g(judged: Judged, *, level: Level = 1.0) -> Floats:
    """Mean over the relevant documents of 1 / log2(2 + number of others ranked above)."""
    return ratio(kernels.cost_discounted_hits(judged.grades, judged.starts, level), ranked.relevant(judged, level))


def g(judged: Judged) -> Floats:
    """Gain discounted by the gain missed so far, divided by the total gain."""
    gain = kernels.cost_discounted_gain(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    owners = np.repeat(np.arange(gain.size), np.diff(judged.ideal_starts))
    return ratio(gain, np.bincount(owners, np.maximum(judged.ideal, 0.0), gain.size))


def ndcg_relevant(judged: Judged) -> Floats:
    """NDCG averaged over the ranks of the relevant documents."""
    return kernels.ndcg_at_relevant(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)


def ndcg_levels(judged: Judged, *, level: Level = 1.0) -> Floats:
    """NDCG averaged over the ranks where the ideal gain decreases; 0 if no grade reaches ``level``."""
    scores = kernels.ndcg_at_levels(judged.grades, judged.starts, judged.ideal, judged.ideal_starts)
    return np.where(ranked.relevant(judged, level) > 0, scores, 0.0)
