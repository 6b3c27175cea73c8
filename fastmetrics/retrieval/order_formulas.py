"""Measures of the order of documents: pairs in the right order, and similarity to the ideal ranking."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from fastmetrics.core.allowed_values import Cutoff, Level
from fastmetrics.core.arrays import Floats
from fastmetrics.kernels.ranking import order as kernels
from fastmetrics.retrieval.formulas import Persistence, cuts, ratio
from fastmetrics.retrieval.rankings import Judged


def accuracy(judged: Judged, *, k: Cutoff = None, level: Level = 1.0) -> Floats:
    """Share of the pairs of a relevant and another retrieved document in which the relevant one ranks higher.

    NaN without such a pair: documents that were not retrieved do not count, so this describes the order alone.
    """
    wrong, pairs = kernels.pairs_of_documents(judged.grades, judged.starts, cuts(judged, k), level)
    return np.where(pairs > 0, 1.0 - ratio(wrong, pairs), np.nan)


def compatibility(
    judged: Judged, *, p: Persistence = 0.95, normalize: Annotated[bool, "whether the ideal ranking scores 1"] = True
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
