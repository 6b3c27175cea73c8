"""Questions that can be answered and those that cannot, and what a system does with each (S1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.core.arrays import Flags, Floats, Ints
from fastmetrics.declaration.formula import Formula
from fastmetrics.declaration.hooks import Corpus, Rows
from fastmetrics.declaration.metric import REGISTRY, metric
from fastmetrics.declaration.representations import Number, Raw
from fastmetrics.metrics.abstention import PHRASES, Answers, Patterns, check_phrases
from fastmetrics.metrics.lexical import exact_match, token_f1
from fastmetrics.metrics.shared.decisions import TOLD, Decisions, DecisionsIn, Judged, JudgedIn, judged_by

Decided = Annotated[Decisions, DecisionsIn()]
Matched = Annotated[Judged, JudgedIn(exact_match.__name__)]
Overlapping = Annotated[Judged, JudgedIn(token_f1.__name__)]


def _on(rows: Flags, happened: Flags) -> Floats:
    """1 where it happened and 0 where not, NaN on other rows."""
    return np.where(rows, happened.astype(np.float64), np.nan)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, abstain rate, over unanswerable questions",
    rows=Rows(grouped=True, either=TOLD),
    check=check_phrases,
)
def correct_abstention(
    answer: Decided,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    *,
    phrases: Patterns = PHRASES,
) -> Floats:
    """1 if the answer to an unanswerable question abstains, 0 if it does not; NaN for a question that can be answered.

    The mean is the share of the unanswerable questions from which the system abstained: the recall of abstaining.  A
    question can be answered if the column ``answerable`` says so, or where that is absent or null, if the row has a
    reference that is not itself an "I don't know".  Null where neither column says anything.  ``phrases`` as in
    ``abstained``.

    >>> import fastmetrics as fm
    >>> fm.correct_abstention(["I don't know.", "Rome.", "Paris."], [False, False, True])
    array([ 1.,  0., nan])
    """
    return _on(answer.answerable == 0, answer.abstained)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S1, abstain rate, over unanswerable questions",
    rows=Rows(grouped=True, either=TOLD),
    check=check_phrases,
)
def answered_unanswerable(
    answer: Decided,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    *,
    phrases: Patterns = PHRASES,
) -> Floats:
    """1 if an unanswerable question is answered, 0 if the answer abstains; NaN for a question that can be answered.

    Such an answer is a hallucination by construction.  The mean is the share of the unanswerable questions that were
    answered, 1 - ``correct_abstention``; which questions these are is told there too.

    >>> import fastmetrics as fm
    >>> fm.answered_unanswerable(["I don't know.", "Rome.", "Paris."], reference=[None, "I don't know.", "Paris"])
    array([ 0.,  1., nan])
    """
    return _on(answer.answerable == 0, ~answer.abstained)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S1, answers to answerable questions that are wrong",
    rows=Rows(grouped=True, either=judged_by(token_f1.__name__)),
    check=check_phrases,
)
def wrong_on_answerable(
    answer: Overlapping,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    *,
    phrases: Patterns = PHRASES,
) -> Floats:
    """1 if a question that can be answered got an answer without a word of any reference, else 0.

    1 if the answer does not abstain and its ``token_f1`` is 0.  An answer that abstains is not wrong but absent: 0.
    NaN for an unanswerable question, so that the mean is a share of the answerable ones; null for an answerable one
    without a reference.  Which questions can be answered is told under ``correct_abstention``.

    >>> import fastmetrics as fm
    >>> fm.wrong_on_answerable(["Rome.", "In Paris.", "I don't know.", "Rome."], reference=["Paris"] * 3 + [None])
    array([ 1.,  0.,  0., nan])
    """
    return _on(answer.answerable == 1, ~answer.abstained & (answer.score == 0))


@metric(bounds=(0, 1), better=None, source="S1, abstain rate: its complement", check=check_phrases)
def answer_rate(answer: Answers, *, phrases: Patterns = PHRASES) -> Floats:
    """1 if the answer does not abstain, else 0: 1 - ``abstained``; its mean is the share of questions answered.

    An empty answer does not abstain.  ``phrases`` as in ``abstained``.

    >>> import fastmetrics as fm
    >>> fm.answer_rate(["I don't know.", "Paris."])
    array([0., 1.])
    """
    rate: Floats = 1.0 - REGISTRY["abstained"].function(answer, phrases=phrases)
    return rate


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, exact match and abstain rate; SQuAD 2.0, exact",
    rows=Rows(grouped=True, either=judged_by(exact_match.__name__)),
    check=check_phrases,
)
def overall_accuracy(
    answer: Matched,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    *,
    phrases: Patterns = PHRASES,
) -> Floats:
    """1 if the system did right: it abstained from an unanswerable question, or matched the reference of another.

    ``correct_abstention`` for an unanswerable question, ``exact_match`` with the best of the references for any other;
    null for an answerable one without a reference.

    >>> import fastmetrics as fm
    >>> fm.overall_accuracy(["I don't know.", "Paris", "I don't know."], [False, None, True], ["", "paris", "Rome"])
    array([1., 1., 0.])
    """
    return np.where(answer.answerable == 0, answer.abstained.astype(np.float64), answer.score)


@dataclass(frozen=True)
class AbstentionF1:
    """F1 of abstaining as a decision; positive are the unanswerable questions.

    ``score`` = 2·TP / (2·TP + FP + FN), with precision TP / (TP + FP) and recall TP / (TP + FN); NaN where a divisor
    is 0.  TP and FN are unanswerable questions from which the system abstained and which it answered, FP and TN
    answerable ones.
    """

    score: float
    precision: float
    recall: float
    tp: int
    fp: int
    fn: int
    tn: int

    def __float__(self) -> float:
        return self.score


def _finish(counts: Sequence[int], **options: Any) -> AbstentionF1:
    """The decision's figures of added counts."""
    tp, fp, fn, tn = counts or [0] * 4
    f1, precision, recall = (
        hits / total if total else math.nan
        for hits, total in ((2 * tp, 2 * tp + fp + fn), (tp, tp + fp), (tp, tp + fn))
    )
    return AbstentionF1(f1, precision, recall, tp, fp, fn, tn)


def _finish_many(sums: Ints, **options: Any) -> Floats:
    """F1 of each row of added counts."""
    tp, fp, fn, _ = sums.T
    total = 2 * tp + fp + fn
    return np.divide(2 * tp, total, out=np.full(len(sums), np.nan), where=total > 0)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, abstain rate, judged by answerability",
    rows=Rows(grouped=True, either=TOLD),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
    check=check_phrases,
)
def abstention_f1(
    answer: Decided,
    answerable: Number = None,  # type: ignore[assignment]
    reference: Raw = None,  # type: ignore[assignment]
    *,
    phrases: Patterns = PHRASES,
) -> Ints:
    """F1 of abstaining as a decision, over a table; positive are the unanswerable questions.

    F1 = 2·TP / (2·TP + FP + FN): TP are unanswerable questions from which the system abstained, FN those it answered,
    FP the answerable ones from which it abstained.  NaN if there are none of these, no question being unanswerable and
    no answer abstaining.  Rows of which nothing tells whether the question can be answered (``correct_abstention`` says
    what does) are left out.  Returns an ``AbstentionF1``, which has precision, recall and the four counts too.

    >>> import fastmetrics as fm
    >>> fm.abstention_f1(["I don't know.", "Rome.", "I don't know."], [False, False, True]).score
    0.5
    """
    can = answer.answerable == 1
    return np.stack(
        [~can & answer.abstained, can & answer.abstained, ~can & ~answer.abstained, can & ~answer.abstained], axis=1
    ).astype(np.int64)
