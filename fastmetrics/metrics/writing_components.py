"""The components of the writing scores (S4); NaN where a component does not apply."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.metric import metric
from fastmetrics.kernels.text import writing as kernels
from fastmetrics.kernels.text.substrings import count_characters
from fastmetrics.metrics.shared.pair_counts import divide
from fastmetrics.metrics.shared.prose import Language, Lexicons, Prose, Writing, asks
from fastmetrics.text import segmentation as segments

CONNECTORS_PER_SENTENCE = 0.3
OPTIMAL_RATIO = 2.5
"""Optimal number of words of an answer per word of its question."""

WORDS_PER_PARAGRAPH = 100
OPENING, CLOSING = 20, 15
"""Minimum lengths of the first and the last sentence, in characters (exclusive)."""


def ties(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Connector, pronoun and topic scores, computed once per batch."""
    return answer.remember("ties", None, lambda: _count_ties(answer))


def _count_ties(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Connector, pronoun and topic scores."""
    prose = answer.prose
    connectors, pronouns, unclear, shifts = kernels.count_ties(prose, *answer.letters(answer.style.connectors))
    sentences = np.diff(answer.groups)
    connector = np.minimum(divide(connectors, np.multiply(sentences, CONNECTORS_PER_SENTENCE), empty=0.0), 1.0)
    topic = np.where(sentences > 1, 1.0 - divide(shifts, sentences, empty=0.0), np.nan)
    return connector, 1.0 - divide(unclear, pronouns, empty=0.0), topic


@metric(bounds=(0, 1), better="higher", source="S4, connector score", usual=False)
def connector_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Connectors ("however", "as a result") relative to three in ten sentences: min(connectors / (0.3 · sentences), 1).

    >>> import fastmetrics as fm
    >>> fm.connector_score(["It rained. However, we went out.", "It rained."])
    array([1., 0.])
    """
    return ties(answer)[0]


@metric(bounds=(0, 1), better="higher", source="S4, pronoun score", usual=False)
def pronoun_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Share of third-person pronouns with a possible referent: 1 - unclear / total, 1 without pronouns.

    A pronoun is unclear if no content word precedes it in its own or the previous sentence.

    >>> import fastmetrics as fm
    >>> fm.pronoun_score(["The tower is old. It was built in 1889.", "It was built in 1889."])
    array([1., 0.])
    """
    return ties(answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, topic score", usual=False)
def topic_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Share of sentences that continue a topic: 1 - shifts / sentences; undefined for fewer than two sentences.

    A sentence shifts the topic if it shares no content word with the previous sentence (the first has none), and starts
    with neither a connector nor a clear pronoun.

    >>> import fastmetrics as fm
    >>> fm.topic_score(["The tower is old. It was built in 1889.", "Cats purr. Cars honk."])
    array([0.5, 0. ])
    """
    return ties(answer)[2]


def fulfilment(question: Writing, answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Coverage, question and task scores, computed once per batch."""
    return answer.remember("fulfilment", question, lambda: _count_fulfilled(question, answer))


def _count_fulfilled(question: Writing, answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Coverage, question and task scores."""
    prose = answer.prose
    counts = kernels.count_fulfilled(question.prose, asks(question), prose)
    keywords, matched, questions, answered, tasks, fulfilled = counts
    expected = np.multiply(question.counts, OPTIMAL_RATIO)
    length = np.minimum(divide(answer.counts, expected, empty=1.0), 1.0)
    coverage = 0.6 * divide(matched, keywords, empty=1.0) + 0.4 * length
    return coverage, divide(answered, questions, empty=np.nan), divide(fulfilled, tasks, empty=np.nan)


@metric(bounds=(0, 1), better="higher", source="S4, keyword coverage", usual=False)
def keyword_coverage(
    question: Prose, answer: Prose, *, language: Language = "any", lexicons: Lexicons = None
) -> Floats:
    """0.6 · share of the prompt's keywords in the answer + 0.4 · min(1, words / (2.5 · words of the prompt)).

    Keywords are the distinct words of three characters or more, excluding stop words, pronouns and task verbs.

    >>> import fastmetrics as fm
    >>> fm.keyword_coverage(["Explain machine learning."], ["Machine learning finds rules in many data by itself."])
    array([1.])
    """
    return fulfilment(question, answer)[0]


@metric(bounds=(0, 1), better="higher", source="S4, question answering", usual=False)
def question_score(question: Prose, answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Share of the prompt's questions for which the answer contains half of the keywords; undefined without questions.

    A question ends with a question mark or starts with a question word, and has a keyword.

    >>> import fastmetrics as fm
    >>> fm.question_score(["Who built the tower? Why?"], ["Eiffel built it."])
    array([1.])
    """
    return fulfilment(question, answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, task fulfillment", usual=False)
def task_score(question: Prose, answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Share of the prompt's tasks whose object the answer covers; undefined without tasks.

    A task is a task verb ("explain", "list") with the keywords up to the next task verb or the end of the sentence; the
    answer must contain at least half of them.

    >>> import fastmetrics as fm
    >>> fm.task_score(["Describe cats and compare tigers with lions."], ["Cats purr."])
    array([0.5])
    """
    return fulfilment(question, answer)[2]


def building(question: Writing | None, answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Paragraph, introduction and conclusion scores, computed once per batch."""
    return answer.remember("parts", question, lambda: _count_parts(question, answer))


def _count_parts(question: Writing | None, answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Paragraph, introduction and conclusion scores."""
    optimal = -(-answer.counts // WORDS_PER_PARAGRAPH)
    paragraph = np.minimum(divide(_paragraphs(answer), optimal, empty=0.0), 1.0)
    prose = answer.prose
    empty = prose._replace(groups=np.zeros(len(prose.groups), np.int64))
    topics = empty if question is None else question.prose
    found = kernels.opens_and_closes(topics, prose, *answer.letters(answer.style.summaries))
    opens = found[0] & (_size(answer, answer.groups[:-1]) > OPENING)
    closes = found[1] & (_size(answer, answer.groups[1:] - 1) > CLOSING)
    return paragraph, opens.astype(np.float64), closes.astype(np.float64)


def _paragraphs(answer: Writing) -> Ints:
    """The paragraphs of each answer with words; a text without line breaks has one."""
    text = answer.text
    if len(text) == 0 or not (text.data[text.starts.min() : text.stops.max()] == ord("\n")).any():
        return np.ones(len(text), np.int64)
    paragraphs = segments.paragraphs(text).groups
    assert paragraphs is not None
    return np.diff(paragraphs)


def _size(answer: Writing, sentence: Ints) -> Ints:
    """The number of characters of one sentence of each row, 0 for a row without sentences."""
    some = np.diff(answer.groups) > 0
    size = np.zeros(len(some), np.int64)
    text = answer.sentences.take(sentence[some])
    size[some] = count_characters(text.data, text.starts, text.stops)
    return size


@metric(bounds=(0, 1), better="higher", source="S4, paragraph score", usual=False)
def paragraph_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """min(paragraphs / ⌈words / 100⌉, 1).

    >>> import fastmetrics as fm
    >>> fm.paragraph_score(["word " * 150, "One. Two."])
    array([0.5, 1. ])
    """
    return building(None, answer)[0]


@metric(bounds=(0, 1), better="higher", source="S4, introduction score", usual=False)
def introduction_score(
    answer: Prose,
    question: Prose = None,  # type: ignore[assignment]
    *,
    language: Language = "any",
    lexicons: Lexicons = None,
) -> Floats:
    """1 if the first sentence is longer than 20 characters and contains a keyword of the question, else 0.

    Without a question, or without keywords in it, the answer's five most frequent content words are used.

    >>> import fastmetrics as fm
    >>> fm.introduction_score(["The tower was built in 1889.", "Yes."], ["When was the tower built?"] * 2)
    array([1., 0.])
    """
    return building(question, answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, conclusion score", usual=False)
def conclusion_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """1 if the last sentence is longer than 15 characters and contains a summary word ("overall"), else 0.

    >>> import fastmetrics as fm
    >>> fm.conclusion_score(["It rains. Overall, stay at home.", "It rains."])
    array([1., 0.])
    """
    return building(None, answer)[2]


def kinds(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Diversity, sophistication and repetition scores, computed once per batch."""
    return answer.remember("kinds", None, lambda: _count_kinds(answer))


def _count_kinds(answer: Writing) -> tuple[Floats, Floats, Floats]:
    """Diversity, sophistication and repetition scores."""
    words, distinct, sophisticated, repeated = kernels.count_kinds(answer.prose)
    shares = (divide(count, words, empty=np.nan) for count in (distinct, sophisticated, repeated))
    diversity, sophistication, repetition = shares
    return diversity, sophistication, 1.0 - repetition


@metric(bounds=(0, 1), better="higher", source="S4, diversity score", usual=False)
def diversity_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Distinct words / words; undefined without words.

    >>> import fastmetrics as fm
    >>> fm.diversity_score(["no no yes yes"])
    array([0.5])
    """
    return kinds(answer)[0]


@metric(bounds=(0, 1), better="higher", source="S4, sophistication score", usual=False)
def sophistication_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Words of more than six letters that are not common / words; undefined without words.

    >>> import fastmetrics as fm
    >>> fm.sophistication_score(["a remarkable example indeed"])
    array([0.25])
    """
    return kinds(answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, repetition score", usual=False)
def repetition_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """1 - distinct words that occur more than three times / words; undefined without words.

    >>> import fastmetrics as fm
    >>> fm.repetition_score(["very very very very good"])
    array([0.8])
    """
    return kinds(answer)[2]
