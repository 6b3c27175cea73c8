"""Answerable and unanswerable questions, and how a system responds to each (the RAG project)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints
from fastmetrics.metrics.abstention import Answers, check_phrases, other_scripts
from fastmetrics.metrics.answerability_flags import (
    KNOWN_ANSWERABILITY,
    AnswerabilityAndScore,
    AnswerabilityFlags,
    AnswerabilityIn,
    DecisionsIn,
    judged_by,
)
from fastmetrics.metrics.lexical import exact_match, token_f1
from fastmetrics.metrics.metric import REGISTRY, Corpus, Formula, RowHooks, metric

Decided = Annotated[AnswerabilityFlags, DecisionsIn()]
Matched = Annotated[AnswerabilityAndScore, AnswerabilityIn(metric=exact_match.__name__)]
Overlapping = Annotated[AnswerabilityAndScore, AnswerabilityIn(metric=token_f1.__name__)]


def _on(rows: Flags, happened: Flags) -> Floats:
    """1 for true and 0 for false on the selected rows, NaN on other rows."""
    return np.where(rows, happened.astype(np.float64), np.nan)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, abstain rate, over unanswerable questions",
    rows=RowHooks(grouped=True, either=KNOWN_ANSWERABILITY),
    check=check_phrases,
    caution=other_scripts,
)
def correct_abstention(answer: Decided) -> Floats:
    """1 if the answer to an unanswerable question abstains, 0 if it does not; NaN for an answerable question.

    The mean is the share of unanswerable questions on which the system abstained: the recall of abstention.  A question
    is answerable if the column ``answerable`` is true, or, where that is absent or null, if the row has a reference
    that is not itself an "I don't know".  Null if ``answerable`` is null and the row has no reference; in a table
    without that column, a row without a reference is unanswerable.  ``phrases`` as in ``abstained``.

    >>> import fastmetrics as fm
    >>> fm.correct_abstention(["I don't know.", "Rome.", "Paris."], [False, False, True])
    array([ 1.,  0., nan])
    """
    return _on(answer.answerable == 0, answer.abstained)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S1, abstain rate, over unanswerable questions",
    rows=RowHooks(grouped=True, either=KNOWN_ANSWERABILITY),
    check=check_phrases,
    caution=other_scripts,
)
def answered_unanswerable(answer: Decided) -> Floats:
    """1 if an unanswerable question is answered, 0 if the answer abstains; NaN for an answerable question.

    Such an answer is a hallucination by construction.  The mean is the share of unanswerable questions that were
    answered, 1 - ``correct_abstention``, which defines unanswerable questions.

    >>> import fastmetrics as fm
    >>> fm.answered_unanswerable(["I don't know.", "Rome.", "Paris."], reference=[None, "I don't know.", "Paris"])
    array([ 0.,  1., nan])
    """
    return _on(answer.answerable == 0, ~answer.abstained)


@metric(
    bounds=(0, 1),
    better="lower",
    source="S1, answers to answerable questions that are wrong",
    rows=RowHooks(grouped=True, either=judged_by(token_f1.__name__)),
    check=check_phrases,
    caution=other_scripts,
)
def wrong_on_answerable(answer: Overlapping) -> Floats:
    """1 if the answer to an answerable question shares no word with any reference, else 0.

    1 if the answer does not abstain and its ``token_f1`` is 0.  An answer that abstains is absent rather than wrong:
    0.  NaN for an unanswerable question, so the mean is a share of the answerable ones; null for an answerable question
    without a reference.  ``correct_abstention`` defines answerable questions.

    >>> import fastmetrics as fm
    >>> fm.wrong_on_answerable(["Rome.", "In Paris.", "I don't know.", "Rome."], reference=["Paris"] * 3 + [None])
    array([ 1.,  0.,  0., nan])
    """
    return _on(answer.answerable == 1, ~answer.abstained & (answer.score == 0))


@metric(
    bounds=(0, 1), better=None, source="S1, abstain rate: its complement", check=check_phrases, caution=other_scripts
)
def answer_rate(answer: Answers) -> Floats:
    """1 if the answer does not abstain, else 0: 1 - ``abstained``; the mean is the share of answered questions.

    An empty answer does not abstain.  ``phrases`` as in ``abstained``.

    >>> import fastmetrics as fm
    >>> fm.answer_rate(["I don't know.", "Paris."])
    array([0., 1.])
    """
    rate: Floats = 1.0 - REGISTRY["abstained"].function(answer)
    return rate


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, exact match and abstain rate; SQuAD 2.0, exact",
    rows=RowHooks(grouped=True, either=judged_by(exact_match.__name__)),
    check=check_phrases,
    caution=other_scripts,
)
def overall_accuracy(answer: Matched) -> Floats:
    """1 if the system abstained on an unanswerable question, or matched a reference of an answerable one.

    ``correct_abstention`` for an unanswerable question, ``exact_match`` with the best reference for an answerable one;
    null for an answerable question without a reference, and where ``correct_abstention`` is null.

    >>> import fastmetrics as fm
    >>> fm.overall_accuracy(["I don't know.", "Paris", "I don't know."], [False, None, True], ["", "paris", "Rome"])
    array([1., 1., 0.])
    """
    return np.where(answer.answerable == 0, answer.abstained.astype(np.float64), answer.score)


@dataclass(frozen=True)
class AbstentionF1:
    """F1 of abstention as a decision; unanswerable questions are positive.

    ``score`` = 2·TP / (2·TP + FP + FN), with precision TP / (TP + FP) and recall TP / (TP + FN); NaN if a denominator
    is 0.  TP and FN are unanswerable questions on which the system abstained and which it answered; FP and TN are the
    same counts for answerable questions.
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
    """The figures of the decision from summed counts."""
    tp, fp, fn, tn = counts or [0] * 4
    f1, precision, recall = (
        hits / total if total else math.nan
        for hits, total in ((2 * tp, 2 * tp + fp + fn), (tp, tp + fp), (tp, tp + fn))
    )
    return AbstentionF1(f1, precision, recall, tp, fp, fn, tn)


def _finish_many(sums: Ints, **options: Any) -> Floats:
    """F1 of each row of summed counts."""
    tp, fp, fn, _ = sums.T
    total = 2 * tp + fp + fn
    return np.divide(2 * tp, total, out=np.full(len(sums), np.nan), where=total > 0)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S1, abstain rate, judged by answerability",
    rows=RowHooks(grouped=True, either=KNOWN_ANSWERABILITY),
    corpus=Corpus(finish=Formula(_finish, _finish_many)),
    check=check_phrases,
    caution=other_scripts,
)
def abstention_f1(answer: Decided) -> Ints:
    """F1 of abstention as a decision, over a table; unanswerable questions are positive.

    F1 = 2·TP / (2·TP + FP + FN): TP are unanswerable questions on which the system abstained, FN those it answered, FP
    the answerable questions on which it abstained.  NaN if all three are 0: no question is unanswerable and no answer
    abstains.  Rows whose answerability is unknown (see ``correct_abstention``) are excluded.  Returns an
    ``AbstentionF1``, which also has precision, recall and the four counts.

    >>> import fastmetrics as fm
    >>> fm.abstention_f1(["I don't know.", "Rome.", "I don't know."], [False, False, True]).score
    0.5
    """
    can = answer.answerable == 1
    return np.stack(
        [~can & answer.abstained, can & answer.abstained, ~can & ~answer.abstained, can & ~answer.abstained], axis=1
    ).astype(np.int64)
