"""The variance of a difference between systems that answered each question several times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import Grid, number
from fastmetrics.results.rows.pairing import PairedRuns
from fastmetrics.stats.pass_at_k import QuestionScores, variance
from fastmetrics.stats.sums import exact_sum


@dataclass(frozen=True)
class RepeatParts:
    """The variance of a question's difference of means: between questions, and within them by repeats.

    Variance of Δ = (``between`` + ``within_baseline`` + ``within_other``) / ``n_questions``.
    """

    metric: str
    baseline: str
    other: str
    n_questions: int
    """Questions where both systems have a score."""
    answers_baseline: float
    """The mean number of scored answers to a question."""
    answers_other: float
    between: float
    """ω², the variance between questions of the true differences, at least 0; NaN if it cannot be separated."""
    within_baseline: float
    """σ²/K of the baseline's answers; 0 for a single answer, whose noise is part of ``between``."""
    within_other: float


def repeat_parts(paired: PairedRuns, metrics: Sequence[str]) -> list[RepeatParts]:
    """The parts of each metric and pair of systems, if a run has several answers to a question."""
    if not any(paired.repeated):
        return []
    return [parts for metric in metrics for parts in _of_metric(paired, metric)]


def _of_metric(paired: PairedRuns, metric: str) -> Iterator[RepeatParts]:
    scores = [paired.scores(run, metric) for run in range(len(paired.runs))]
    answers = [None if run is None else run.scores(metric) for run in paired.repeated]
    for a, b in itertools.combinations(range(len(scores)), 2):
        both = ~np.isnan(scores[a]) & ~np.isnan(scores[b])
        within = [_within(answers[run]) for run in (a, b)]
        yield RepeatParts(
            metric=metric,
            baseline=paired.runs[a].name,
            other=paired.runs[b].name,
            n_questions=int(both.sum()),
            answers_baseline=_mean_count(answers[a]),
            answers_other=_mean_count(answers[b]),
            between=_between(scores[b][both] - scores[a][both], sum(within)),
            within_baseline=within[0],
            within_other=within[1],
        )


def _within(answers: QuestionScores | None) -> float:
    """σ²/K: the mean over questions of the variance of a question's mean; 0 for single answers."""
    if answers is None or not len(answers.counts):
        return 0.0
    return answers.within * exact_sum(1.0 / answers.counts) / len(answers.counts)


def _between(differences: Floats, within: float) -> float:
    total = variance(differences)
    return float(np.maximum(total - within, 0.0))  # keeps NaN


def _mean_count(answers: QuestionScores | None) -> float:
    return 1.0 if answers is None else exact_sum(answers.counts.astype(np.float64)) / max(len(answers.counts), 1)


def repeat_grid(parts: Sequence[RepeatParts]) -> Grid:
    """The parts of the variance as a table."""
    rows = [
        (
            part.metric,
            f"{part.baseline} → {part.other}",
            f"{part.answers_baseline:.3g}, {part.answers_other:.3g}",
            number(part.n_questions),
            number(part.between),
            number(part.within_baseline + part.within_other),
        )
        for part in parts
    ]
    return Grid(("variance of Δ", "systems", "answers", "questions", "between ω²", "within σ²/K"), rows)
