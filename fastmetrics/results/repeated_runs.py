"""Several answers to each question: variance between and within questions, pass@k and pass^k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.column_names import listed
from fastmetrics.base.display import Grid, ShownSequence, flat, lines_of
from fastmetrics.base.errors import Argument, ColumnError, InputError
from fastmetrics.base.notes import Figure, Note, interval_notes, said
from fastmetrics.base.options import Real, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.results.aligned_scores import units_of
from fastmetrics.results.opening_scores import open_scores
from fastmetrics.results.questions import RepeatedRun
from fastmetrics.results.score_table import bounds_of, shared_metrics
from fastmetrics.stats.attempts import pass_at_k, pass_hat_k, question_scores
from fastmetrics.stats.estimates import Estimate, Sample
from fastmetrics.stats.mean_interval import mean_interval


@dataclass(frozen=True)
class PassRate:
    """Of ``k`` answers to a question, at least one (pass@k) or all (pass^k) correct: means over questions."""

    k: int
    pass_at_k: Estimate
    pass_hat_k: Estimate
    n_questions: int
    """Questions with at least ``k`` scored answers."""


@dataclass(frozen=True)
class RepeatedMetric:
    """One metric over questions with several answers."""

    metric: str
    n_questions: int
    """Questions with a scored answer."""
    n_answers: int
    """Scored answers."""
    n_missing: int
    """Answers without a finite score."""
    mean: Estimate
    """The mean over questions of the question's mean; the interval is over questions."""
    between: float
    """ω², the variance between the questions' true means."""
    within: float
    """σ², the variance of one answer's score within a question."""
    passes: Sequence[PassRate]
    """Empty for scores that are no flags without a ``threshold``."""


@dataclass(frozen=True)
class RepeatReport(ShownSequence[RepeatedMetric], of="metrics"):
    """Figures of repeated answers; prints as tables."""

    run: str
    metrics: Sequence[RepeatedMetric]
    confidence: float
    threshold: float | None
    answers: str
    """How many answers the questions have."""

    def __getitem__(self, place: Any) -> Any:
        """The figures at a position, or of a metric by its name; raises ``KeyError``."""
        if not isinstance(place, str):
            return self.metrics[place]
        for metric in self.metrics:
            if metric.metric == place:
                return metric
        raise KeyError(place)

    def grids(self) -> list[Grid]:
        """Means and variances, then pass@k and pass^k."""
        mean = ("mean=mean.value", "interval=mean", "questions=n_questions")
        rates = [(metric.metric, rate) for metric in self.metrics for rate in metric.passes]
        passes = (
            *("metric=0", ("k", lambda one: str(one[1].k))),
            *("pass@k=1.pass_at_k.value", "interval=1.pass_at_k"),
            *("pass^k=1.pass_hat_k.value", "interval=1.pass_hat_k"),
            "questions=1.n_questions",
        )
        grid = lines_of(self.metrics, "metric", *mean, "between", "within")
        return [grid, *([lines_of(rates, *passes)] if rates else [])]

    def remarks(self) -> Sequence[str]:
        """The number of answers, missing scores, and the kind of intervals."""
        missing = sum(metric.n_missing for metric in self.metrics)
        return said(
            self.answers,
            Note("variances"),
            interval_notes(self.record(), self.confidence, " over questions"),
            missing and Note("missing_scores", n=missing),
            self.threshold is not None and Note("correct_from", score=self.threshold),
        )

    def record(self) -> Sequence[Figure]:
        """The mean of each metric, and its rates of passes."""
        rows = []
        for metric in self.metrics:
            rows.append(Figure.of(metric.metric, metric.mean, n=metric.n_questions))
            for rate in metric.passes:
                both = (("@", rate.pass_at_k), ("^", rate.pass_hat_k))
                rows += [
                    Figure.of(f"{metric.metric} pass{sign}{rate.k}", one, n=rate.n_questions) for sign, one in both
                ]
        return rows

    def records(self) -> Sequence[Mapping[str, Any]]:
        """One row per metric and ``k`` (none without passes)."""
        return [flat(metric) | rate for metric in self.metrics for rate in list(map(flat, metric.passes)) or [{}]]


def repeats(
    scores: shared.Scores,
    *,
    metrics: shared.OnlyMetrics = None,
    k: Annotated[Sequence[int] | int, Help("Numbers of answers for pass@k and pass^k; repeatable.")] = (1, 2, 3, 5),
    threshold: Annotated[float | None, Help("Scores of at least this value are correct.")] = None,
    on: Annotated[str | None, Help("The column that names the question; by default the id.")] = None,
    confidence: shared.Confidence = 0.95,
) -> RepeatReport:
    """Split the variance of repeated answers into between and within questions, and compute pass@k and pass^k.

    ``scores`` is a score file, folder, address or table with several rows per question: rows with the same value of the
    column ``on``, or with the same id, and the same system and parameters.  Ids can repeat by mistake, so without
    ``on`` a column ``repeat`` must number the answers to a question, or every question have equally many.  Questions
    are the sample: the interval of the mean is over questions, so more answers to the same questions narrow it only to
    √(ω²/n).

    For flags (booleans, and metrics with the bounds 0 and 1 that score nothing else), or with ``threshold`` (scores of
    at least this value are correct), pass@k is the probability that at least one of k answers is correct, and pass^k
    that all are, by their unbiased estimators 1 − C(n − c, k) / C(n, k) and C(c, k) / C(n, k); each question counts
    once, and questions with fewer than k answers are left out.

    >>> import fastmetrics as fm
    >>> table = {"id": [1, 1, 2, 2, 3, 3], "exact_match": [1, 0, 1, 1, 0, 0]}
    >>> report = fm.results.repeats(table, k=2)
    >>> report["exact_match"].mean.value, report["exact_match"].within
    (0.5, 0.16666666666666666)
    >>> [(round(rate.pass_at_k.value, 3), round(rate.pass_hat_k.value, 3)) for rate in report["exact_match"].passes]
    [(0.667, 0.333)]

    Raises ``InputError`` if no question has several answers or other ids are duplicates, ``ColumnError`` without ids,
    ``UnknownNameError`` for an unknown metric, and ``OptionError`` for a ``k`` below 1.

    Sources: Miller 2024, Adding Error Bars to Evals; Chen and others 2021 (pass@k); Yao and others 2024 (pass^k).
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    sizes = [int(argument("k", size, Whole(1, 1_000_000))) for size in ([k] if isinstance(k, int) else k)]
    run = open_scores(scores, asked=listed(metrics))
    key = run.key(on)
    if key is None:
        raise ColumnError(
            f"{run.name} has no id column that tells which answers belong together; set one with ", Argument("on")
        )
    names = shared_metrics([run], listed(metrics))
    answers = units_of(run.in_memory([*names, *run.keys(key)]), key).repetition(0)
    if answers is None:
        raise InputError(f"{run.name} has one answer to each question (column {key!r}); repeats need several")
    reports = [_report(answers, name, sizes, threshold, confidence) for name in names]
    return RepeatReport(run.name, reports, confidence, threshold, answers.describe())


def _report(
    answers: RepeatedRun, metric: str, sizes: Sequence[int], threshold: float | None, confidence: float
) -> RepeatedMetric:
    states, questions = answers.states(metric)
    has = states.has
    values, questions = states.values[has], questions[has]
    scores, bounds = question_scores(values, questions), bounds_of([answers.run], [metric]).get(metric)
    is_flag = threshold is not None or Sample.of(values, None, bounds).kind == "flags"
    return RepeatedMetric(
        metric=metric,
        n_questions=len(scores.means),
        n_answers=len(values),
        n_missing=len(has) - len(values),
        mean=_mean(scores.means, confidence, bounds),
        between=scores.between,
        within=scores.within,
        passes=_passes(values, questions, sizes, threshold, confidence) if is_flag else [],
    )


def _passes(
    values: Floats, questions: Ints, sizes: Sequence[int], threshold: float | None, confidence: float
) -> list[PassRate]:
    correct = values >= (1.0 if threshold is None else threshold)
    n = np.bincount(questions)
    c = np.bincount(questions, correct, minlength=len(n)).astype(np.int64)
    n, c = n[n > 0], c[n > 0]
    rates = []
    for size in sizes:
        enough = n >= size
        pairs, places = np.unique(np.stack([n[enough], c[enough]]), axis=1, return_inverse=True)
        places = places.ravel()
        any_correct, all_correct = (
            np.array([rate(int(a), int(b), size) for a, b in pairs.T], np.float64)[places]
            for rate in (pass_at_k, pass_hat_k)
        )
        at_k, hat_k = (_mean(chances, confidence, (0.0, 1.0)) for chances in (any_correct, all_correct))
        rates.append(PassRate(size, at_k, hat_k, int(enough.sum())))
    return rates


def _mean(values: Floats, confidence: float, bounds: tuple[float, float] | None) -> Estimate:
    rows = Sample.of(values, None, bounds)
    return Estimate.of(rows.mean, mean_interval(rows, confidence))
