"""Relevance, and the verdict from hallucination, relevance and completeness (the answer checks)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Tokens
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import LimitedText
from fastmetrics.metrics.batch import UNSPACED, Batch, Number, Numbers, need
from fastmetrics.metrics.claim_support import Passage, Passages, anchors, passage_in, unread_anchors
from fastmetrics.metrics.hallucination import (
    BY_MODEL,
    Claims,
    Share,
    StopWords,
    Window,
    completeness,
    keywords_in,
    of_claims,
    unsupported,
)
from fastmetrics.metrics.metric import Explained, RowHooks, metric
from fastmetrics.metrics.pair_counts import divide, sets
from fastmetrics.metrics.tfidf import Idf, Tfidf, Weighed, cosine, fit_idf, weighed_in
from fastmetrics.text.word_roles import STOP_WORDS

FAIL, WARN, PASS = 0.0, 0.5, 1.0
"""The verdicts as numbers."""


def in_words(scores: Floats) -> pa.Array:
    """The words for the values of ``verdict``, null for NaN."""
    missing = np.isnan(scores)
    words = pa.array(np.where(missing, 0, 2 * scores).astype(np.int8), mask=missing)
    return pa.array(["FAIL", "WARN", "PASS"]).take(words)


@dataclass(frozen=True, eq=False)
class QuestionWords:
    """A question's words and its keywords."""

    weighed: Weighed
    keywords: Tokens


def asked_in(batch: Batch, column: str, options: Mapping[str, Any]) -> QuestionWords:
    """A question with its keywords under the option ``stop_words``."""
    return QuestionWords(weighed_in(batch, column, {"idf": "pair"}), keywords_in(batch, column, options))


Questions = Annotated[QuestionWords, need(asked_in, convention="words")]


@dataclass(frozen=True, eq=False)
class WeighedAnswer:
    """An answer's words, with their positions."""

    weighed: Weighed
    passage: Passage


def answered_in(batch: Batch, column: str, options: Mapping[str, Any]) -> WeighedAnswer:
    """An answer with the data for relevance and hallucination."""
    return WeighedAnswer(weighed_in(batch, column, {"idf": "pair"}), passage_in(batch, column, options))


Answers = Annotated[WeighedAnswer, need(answered_in, convention="words")]


@metric(
    bounds=(0, 1),
    better="higher",
    source="S3, relevance score",
    rows=RowHooks(fit=fit_idf),
    caution=UNSPACED,
)
def answer_relevance(question: Tfidf, answer: Tfidf, *, idf: Idf = "pair") -> Floats:
    """Word similarity of question and answer: (``tfidf_cosine`` + ``jaccard``) / 2.

    Below 0.1 an answer is irrelevant.  An undefined cosine (neither text has words) counts as 0.  ``idf`` as in
    ``tfidf_cosine``.

    >>> import fastmetrics as fm
    >>> fm.answer_relevance(["who wrote Emma"], ["Jane Austen wrote Emma"]).round(3)
    array([0.406])
    """
    if idf == "corpus":
        raise OptionError("idf='corpus' needs all rows and cannot score a single batch")
    return _relevance(question, answer)


def _relevance(question: Weighed, answer: Weighed) -> Floats:
    counts = sets(question.tokens, answer.tokens)
    jaccard = divide(counts.shared, counts.a + counts.b - counts.shared, empty=0.0)
    return (np.nan_to_num(cosine(question, answer)) + jaccard) / 2


def _explained(
    scores: Floats,
    question: QuestionWords,
    answer: WeighedAnswer,
    contexts: Passage,
    entailment: Numbers | None = None,
    **options: Any,
) -> Any:
    """The verdicts as words, and why those that do not pass do not."""
    passage = answer.passage
    entailed = entailment if options["claims"] == "entailment" else None
    values = {
        "hallucination": unsupported(passage, contexts, options["window"], entailed),
        "relevance": _relevance(question.weighed, answer.weighed),
        "completeness": completeness(question.keywords, answer.weighed.tokens),
    }
    hallucinates = values["hallucination"] > options["hallucination_threshold"]
    why = np.where(hallucinates, 0, np.where(scores == FAIL, 1, 2))
    said = [
        pc.binary_join_element_wise(name, pc.cast(pc.round(pa.array(value), 2), pa.string()), sign, limit, " ")
        for (name, value), sign in zip(values.items(), "><<", strict=True)
        for limit in [f"{options[f'{name}_threshold']:g}"]
    ]
    if entailed is None:
        facts = anchors(passage, contexts, options["window"]).unsupported_texts(passage.text, hallucinates)
        listed = pc.if_else(pc.greater(pc.list_value_length(facts), 0), pc.binary_join(facts, "; "), None)
        said[0] = pc.binary_join_element_wise(said[0], listed, ": ", null_handling="skip")
    return in_words(scores), pc.if_else(pa.array(scores < PASS), pc.choose(pa.array(why), *said), None)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S3, verdict logic",
    statistics=("at_0", "at_50", "at_100"),
    labels={"at_0": "FAIL", "at_50": "WARN", "at_100": "PASS"},
    rows=BY_MODEL,
    caution=of_claims,
    unread=unread_anchors,
    explained=Explained(("word", "reason"), _explained),
)
def verdict(
    question: Questions,
    answer: Answers,
    contexts: Passages,
    entailment: Number | None = None,
    *,
    claims: Claims = "words",
    hallucination_threshold: Annotated[Share, "the hallucination above which an answer fails"] = 0.5,
    relevance_threshold: Annotated[Share, "the relevance below which an answer fails"] = 0.1,
    completeness_threshold: Annotated[Share, "the completeness below which an answer does not pass"] = 0.6,
    window: Window = 30,
    stop_words: StopWords = STOP_WORDS,
    fitted: Annotated[str | None, LimitedText(what="the path of a file"), "a fitted score to decide by"] = None,
) -> Floats:
    """1 for PASS, 0.5 for WARN, 0 for FAIL, with the word and the reason beside it; a summary counts them.

    The scores of a table have the columns ``verdict_word`` and ``verdict_reason`` too: "hallucination 0.67 > 0.5: 2023;
    900", with the anchors that no context supports.

    FAIL if ``hallucination`` is above 0.5, else FAIL if ``answer_relevance`` is below 0.1, else WARN if
    ``keyword_completeness`` is below 0.6, else PASS; all three thresholds are options, as are
    those of the three scores.

    ``fitted`` is the file of a score with thresholds that ``fm.fit`` wrote: PASS from the cut of precision or risk on,
    FAIL below that of recall, WARN between them (the other way round if lower is better), and the thresholds of the
    other options are not used.  The columns are then those that the fitted score reads: call ``fm.score(table,
    "verdict(fitted='mine.toml')")``.

    >>> import fastmetrics as fm
    >>> contexts = [["The tower opened in 1889."]] * 2
    >>> fm.verdict(["When did the tower open?"] * 2, ["The tower did open in 1889.", "It opened in 1890."], contexts)
    array([1., 0.])
    """
    if fitted is not None:
        raise OptionError('a fitted score reads columns of its own: fm.score(table, "verdict(fitted=...)") computes it')
    entailed = entailment if claims == "entailment" else None
    failed = unsupported(answer.passage, contexts, window, entailed) > hallucination_threshold
    failed |= _relevance(question.weighed, answer.weighed) < relevance_threshold
    thin = completeness(question.keywords, answer.weighed.tokens) < completeness_threshold
    return np.where(failed, FAIL, np.where(thin, WARN, PASS))
