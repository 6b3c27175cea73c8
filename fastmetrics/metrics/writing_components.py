"""The components of the writing scores (the writing guide); NaN where a component does not apply."""

from __future__ import annotations

from fastmetrics.base.arrays import Floats
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.prose import (
    CLOSING,
    CONNECTOR_SHARE,
    KEYWORD_SHARE,
    LENGTH_RATIO,
    LENGTHY,
    OPENING,
    PARAGRAPH_WORDS,
    REPEATS,
    Closing,
    ConnectorShare,
    Counted,
    KeywordShare,
    LengthRatio,
    Letters,
    Opening,
    ParagraphWords,
    Prose,
    Repeats,
    TopicThreshold,
    building,
    dropped_words,
    fulfilment,
    kinds,
    other_scripts,
    ties,
)


@metric(bounds=(0, 1), better="higher", source="S4, connector score", caution=other_scripts, usual=False)
def connector_score(answer: Prose, *, connector_share: ConnectorShare = CONNECTOR_SHARE) -> Floats:
    """Connectors ("however", "as a result") relative to three in ten sentences: min(connectors / (0.3 · sentences), 1).

    ``connector_share`` replaces 0.3.

    >>> import fastmetrics as fm
    >>> fm.connector_score(["It rained. However, we went out.", "It rained."])
    array([1., 0.])
    """
    return ties(answer, connector_share)[0]


@metric(bounds=(0, 1), better="higher", source="S4, pronoun score", caution=other_scripts, usual=False)
def pronoun_score(answer: Prose) -> Floats:
    """Share of third-person pronouns with a possible referent: 1 - unclear / total, 1 without pronouns.

    A pronoun is unclear if no content word precedes it in its own or the previous sentence.

    >>> import fastmetrics as fm
    >>> fm.pronoun_score(["The tower is old. It was built in 1889.", "It was built in 1889."])
    array([1., 0.])
    """
    return ties(answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, topic score", caution=other_scripts, usual=False)
def topic_score(answer: Prose, *, topic_threshold: TopicThreshold = 0.0) -> Floats:
    """Share of sentences that continue a topic: 1 - shifts / sentences; undefined for fewer than two sentences.

    A sentence shifts the topic if it shares no content word with the previous sentence (the first has none), and starts
    with neither a connector nor a clear pronoun.  Shares of shifts up to ``topic_threshold`` score 1; the
    writing guide's text, unlike its formula, names 0.2.

    >>> import fastmetrics as fm
    >>> fm.topic_score(["The tower is old. It was built in 1889.", "Cats purr. Cars honk."])
    array([0.5, 0. ])
    """
    return ties(answer, topic_threshold=topic_threshold)[2]


@metric(bounds=(0, 1), better="higher", source="S4, keyword coverage", caution=other_scripts, usual=False)
def keyword_coverage(
    question: Prose,
    answer: Prose,
    *,
    length_ratio: LengthRatio = LENGTH_RATIO,
    keyword_share: KeywordShare = KEYWORD_SHARE,
) -> Floats:
    """0.6 · share of the prompt's keywords in the answer + 0.4 · min(1, words / (2.5 · words of the prompt)).

    ``length_ratio`` replaces 2.5, ``keyword_share`` 0.6, and 0.4 by its complement.

    Keywords are the distinct words of two characters or more, excluding stop words, pronouns and task verbs.

    >>> import fastmetrics as fm
    >>> fm.keyword_coverage(["Explain machine learning."], ["Machine learning finds rules in many data by itself."])
    array([1.])
    """
    return fulfilment(question, answer, length_ratio, keyword_share)[0]


@metric(bounds=(0, 1), better="higher", source="S4, question answering", caution=other_scripts, usual=False)
def question_score(question: Prose, answer: Prose) -> Floats:
    """Share of the prompt's questions for which the answer contains half of the keywords; undefined without questions.

    A question ends with a question mark or starts with a question word, and has a keyword.

    >>> import fastmetrics as fm
    >>> fm.question_score(["Who built the tower? Why?"], ["Eiffel built it."])
    array([1.])
    """
    return fulfilment(question, answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, task fulfillment", caution=other_scripts, usual=False)
def task_score(question: Prose, answer: Prose) -> Floats:
    """Share of the prompt's tasks whose object the answer covers; undefined without tasks.

    A task is a task verb ("explain", "list") with the keywords up to the next task verb or the end of the sentence; the
    answer must contain at least half of them.

    >>> import fastmetrics as fm
    >>> fm.task_score(["Describe cats and compare tigers with lions."], ["Cats purr."])
    array([0.5])
    """
    return fulfilment(question, answer)[2]


@metric(bounds=(0, 1), better="higher", source="S4, paragraph score", caution=dropped_words, usual=False)
def paragraph_score(answer: Prose, *, paragraph_words: ParagraphWords = PARAGRAPH_WORDS) -> Floats:
    """min(paragraphs / ⌈words / 100⌉, 1); ``paragraph_words`` replaces 100.

    >>> import fastmetrics as fm
    >>> fm.paragraph_score(["word " * 150, "One. Two."])
    array([0.5, 1. ])
    """
    return building(None, answer, paragraph_words)[0]


@metric(bounds=(0, 1), better="higher", source="S4, introduction score", caution=other_scripts, usual=False)
def introduction_score(
    answer: Prose,
    question: Prose = None,  # type: ignore[assignment]
    *,
    opening_characters: Opening = OPENING,
) -> Floats:
    """1 if the first sentence is longer than 20 characters and contains a keyword of the question, else 0.

    ``opening_characters`` replaces 20.  Without a question, or without keywords in it, the answer's five most frequent
    content words are used.

    >>> import fastmetrics as fm
    >>> fm.introduction_score(["The tower was built in 1889.", "Yes."], ["When was the tower built?"] * 2)
    array([1., 0.])
    """
    return building(question, answer, opening=opening_characters)[1]


@metric(bounds=(0, 1), better="higher", source="S4, conclusion score", caution=other_scripts, usual=False)
def conclusion_score(answer: Prose, *, closing_characters: Closing = CLOSING) -> Floats:
    """1 if the last sentence is longer than 15 characters and contains a summary word ("overall"), else 0.

    ``closing_characters`` replaces 15.

    >>> import fastmetrics as fm
    >>> fm.conclusion_score(["It rains. Overall, stay at home.", "It rains."])
    array([1., 0.])
    """
    return building(None, answer, closing=closing_characters)[2]


@metric(bounds=(0, 1), better="higher", source="S4, diversity score", caution=dropped_words, usual=False)
def diversity_score(answer: Prose) -> Floats:
    """Distinct words / words; undefined without words.

    >>> import fastmetrics as fm
    >>> fm.diversity_score(["no no yes yes"])
    array([0.5])
    """
    return kinds(answer)[0]


@metric(bounds=(0, 1), better="higher", source="S4, sophistication score", caution=other_scripts, usual=False)
def sophistication_score(answer: Prose, *, sophisticated_letters: Letters = LENGTHY) -> Floats:
    """Words of more than six letters that are not common / words; undefined without words.

    ``sophisticated_letters`` replaces six.

    >>> import fastmetrics as fm
    >>> fm.sophistication_score(["a remarkable example indeed"])
    array([0.25])
    """
    return kinds(answer)[1]


@metric(bounds=(0, 1), better="higher", source="S4, repetition score", caution=dropped_words, usual=False)
def repetition_score(answer: Prose, *, repeats: Repeats = REPEATS, counted: Counted = "words") -> Floats:
    """1 - distinct words that occur more than three times / words; undefined without words.

    ``repeats`` replaces three.  ``counted="tokens"`` counts every occurrence of such a word, so that a text of one word
    alone scores 0.

    >>> import fastmetrics as fm
    >>> fm.repetition_score(["very very very very good"])
    array([0.8])
    """
    return kinds(answer, repeats, counted)[2]
