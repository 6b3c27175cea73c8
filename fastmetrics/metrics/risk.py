"""Confidence, and the area under the risk-coverage curve (the RAG project: its uncertainty gate)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fastmetrics.base import specs
from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.errors import FastmetricsError, OptionError, UnknownNameError
from fastmetrics.base.options import LimitedText
from fastmetrics.metrics.batch import Number, Options, Raw
from fastmetrics.metrics.metric import REGISTRY, Corpus, RowHooks, metric
from fastmetrics.metrics.source_names import named
from fastmetrics.stats.risk import Pairs, risks
from fastmetrics.stats.sums import exact_mean

Quality = Annotated[str, LimitedText(1_000, "the name of a metric"), "the metric that says how right an answer is"]


@metric(bounds=(-np.inf, np.inf), better=None, source="S1, uncertainty gate", usual=False)
def confidence(confidence: Number) -> Floats:
    """The system's confidence in its answer, as logged; larger is more confident.

    Any scale works, such as probabilities or their logarithms, because only the order of rows counts.  ``aurc`` reads
    it.

    >>> import fastmetrics as fm
    >>> fm.confidence([0.9, None])
    array([0.9, nan])
    """
    return confidence.values


def _check(quality: str) -> None:
    """Raise for a quality that is not a row metric from 0 to 1 with higher scores better."""
    try:
        parsed = specs.parse_spec(quality, lambda name: bool(named(name, "metric")))
    except FastmetricsError as error:
        raise OptionError(f"aurc: option 'quality' expects a metric, got {quality!r}: {error}") from error
    spelled = (parsed.name, f"{parsed.name}@k")
    metric = next((REGISTRY[one.spec] for name in spelled for one in named(name, "metric")), None)
    if metric is None:
        unknown = UnknownNameError.of("metric", parsed.name, REGISTRY).message
        raise OptionError(f"aurc: option 'quality' expects a metric, got {quality!r}: {unknown}")
    if metric.level != "row" or metric.bounds != (0, 1) or metric.better != "higher":
        expected = "a row metric from 0 to 1 with higher scores better"
        raise OptionError(f"aurc: option 'quality' expects {expected}, got {quality!r}")


@dataclass(frozen=True)
class Aurc:
    """The area under the risk-coverage curve of ``n`` rows; ``risk`` is the risk of all rows."""

    score: float
    risk: float
    n: int

    def __float__(self) -> float:
        return self.score


def _finish(rows: Pairs, *, quality: str) -> Aurc:
    """The area of all rows."""
    curve = risks(rows)
    return Aurc(exact_mean(curve), float(curve[-1]) if len(curve) else math.nan, len(curve))


def _over(options: Options) -> tuple[str, str]:
    return "confidence", options["quality"]


@metric(
    bounds=(0, 1),
    better="lower",
    source="S1, uncertainty gate; Geifman, Uziel and El-Yaniv 2019, AURC",
    rows=RowHooks(grouped=True),
    corpus=Corpus(finish=_finish, over=_over),
    check=_check,
)
def aurc(
    confidence: Number,
    answer: Raw = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    answerable: Number = None,  # type: ignore[assignment]
    *,
    quality: Quality = "token_f1",
) -> Ints:
    """Area under the risk-coverage curve: the mean risk among the i most confident rows, over all i from 1 to n.

    AURC = Σᵢ rᵢ / n, where rᵢ is the mean of 1 - ``quality`` over the i rows of highest ``confidence``; lower is
    better, and an uninformative confidence gives the risk of all rows.  ``quality`` is any row metric from 0 to 1 with
    higher scores better (``overall_accuracy``, ``ndcg@10``).  Rows of equal confidence are unordered: rᵢ is the mean
    over all their orders.  Rows without a confidence or a quality are excluded; NaN without any row.

    It is computed from two score columns, ``confidence`` and the quality, which a run adds if they are not requested,
    and which a summary needs.  The sum is exact and rounded once, so it does not depend on batches, threads or
    engines.  Both columns are in memory at once.  ``fm.stats.risk_coverage`` gives the curve.  Returns an
    ``Aurc``, with the number of rows and the risk of all rows.

    >>> import fastmetrics as fm
    >>> fm.aurc([0.9, 0.2, 0.5], ["Paris", "Rome", "Oslo"], ["Paris", "Bern", "Oslo"]).score
    0.1111111111111111
    """
    return np.ones((len(confidence.values), 1), np.int64)
