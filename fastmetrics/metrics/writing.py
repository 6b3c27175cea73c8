"""Quality of writing: coherence, completeness, length, structure, vocabulary (the writing guide).

``docs/studies/writing.md`` lists the contradictions between the writing guide's worked examples and its formulas.  The
word lists are English and Russian; ``language`` ("any", "en", "ru") restricts them, and files in the folder
``lexicons`` replace the built-in lists of the same name.  ``tokenizer="ascii_words"`` splits as the writing guide's own
code does: text in other than ASCII letters then has no words.  An answer without words scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import OptionError, shown
from fastmetrics.base.options import NotAllowedError, Real, Several
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import divide
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
    Writing,
    building,
    dropped_words,
    fulfilment,
    kinds,
    other_scripts,
    ties,
)

WEIGHTS = (0.25, 0.25, 0.20, 0.15, 0.15)
"""The weights of coherence, completeness, length, structure and vocabulary in ``overall_quality``, in this order."""

PARTS = ("coherence", "writing_completeness", "length_score", "structure_score", "vocabulary_score")
"""The scores that ``overall_quality`` weighs, in the order of its weights."""


_SHORT = dict(zip(("coherence", "completeness", "length", "structure", "vocabulary"), PARTS, strict=True))
"""The scores by the names that the source's map of weights has."""


class _FiveWeights(Several):
    """Five weights in this order or by name."""

    def take(self, value: Any) -> tuple[Any, ...]:
        """The weights in this order."""
        if isinstance(value, Mapping):
            names = [_SHORT.get(name, name) for name in value]
            if len(value) != len(PARTS) or set(names) != set(PARTS):
                raise NotAllowedError(f"or a map of {', '.join(_SHORT)}")
            by_name = dict(zip(names, value.values(), strict=True))
            return super().take([by_name[name] for name in PARTS])
        return super().take(value)


Weights = Annotated[
    tuple[float, ...],
    _FiveWeights(len(WEIGHTS), Real(0.0, 1.0)),
    "the weights of coherence, completeness, length, structure and vocabulary",
]


def _mean(parts: tuple[Floats, ...], answer: Writing) -> Floats:
    """The mean of the components that apply; 0 for an answer without words."""
    stacked = np.stack(parts)
    applies = ~np.isnan(stacked)
    means = divide(np.where(applies, stacked, 0.0).sum(axis=0), applies.sum(axis=0), empty=np.nan)
    return np.where(answer.counts == 0, 0.0, means)


@metric(bounds=(0, 1), better="higher", source="S4, coherence score", caution=other_scripts)
def coherence(
    answer: Prose,
    *,
    connector_share: ConnectorShare = CONNECTOR_SHARE,
    topic_threshold: TopicThreshold = 0.0,
) -> Floats:
    """Coherence of the sentences: mean of ``connector_score``, ``pronoun_score`` and ``topic_score``.

    ``connector_share`` and ``topic_threshold`` are options of these.

    >>> import fastmetrics as fm
    >>> fm.coherence(["Cats are animals. Pizza is food. Cars are vehicles."]).round(3)
    array([0.333])
    """
    return _mean(ties(answer, connector_share, topic_threshold), answer)


@metric(bounds=(0, 1), better="higher", source="S4, completeness score", caution=other_scripts, cues=["completeness"])
def writing_completeness(
    question: Prose,
    answer: Prose,
    *,
    length_ratio: LengthRatio = LENGTH_RATIO,
    keyword_share: KeywordShare = KEYWORD_SHARE,
) -> Floats:
    """Coverage of the prompt: mean of ``keyword_coverage``, ``question_score`` and ``task_score``.

    ``length_ratio`` and ``keyword_share`` are those of ``keyword_coverage``.

    >>> import fastmetrics as fm
    >>> fm.writing_completeness(["Explain machine learning."], ["The weather is nice today."]).round(3)
    array([0.133])
    """
    return _mean(fulfilment(question, answer, length_ratio, keyword_share), answer)


@metric(bounds=(0, 1), better="higher", source="S4, length score", caution=dropped_words)
def length_score(question: Prose, answer: Prose, *, length_ratio: LengthRatio = LENGTH_RATIO) -> Floats:
    """Closeness to 2.5 words per word of the question: max(0, 1 - \\|ln(words / (2.5 · words of it))\\|).

    0 for an answer or a question without words.  ``length_ratio`` replaces 2.5.

    >>> import fastmetrics as fm
    >>> fm.length_score(["What is AI?"], ["AI is artificial intelligence that simulates human thinking."]).round(3)
    array([0.935])
    """
    ratio = divide(answer.counts, np.multiply(question.counts, length_ratio), empty=0.0)
    logs = np.log(ratio, out=np.full(len(ratio), -np.inf), where=ratio > 0)
    return np.maximum(0.0, 1.0 - np.abs(logs))


@metric(bounds=(0, 1), better="higher", source="S4, structure score", caution=other_scripts, aliases=["structure"])
def structure_score(
    answer: Prose,
    question: Prose = None,  # type: ignore[assignment]
    *,
    paragraph_words: ParagraphWords = PARAGRAPH_WORDS,
    opening_characters: Opening = OPENING,
    closing_characters: Closing = CLOSING,
) -> Floats:
    """Structure of the answer: mean of ``paragraph_score``, ``introduction_score`` and ``conclusion_score``.

    The options are those of these scores.

    >>> import fastmetrics as fm
    >>> fm.structure_score(["Machines learn from data these days. In conclusion, machines learn."]).round(3)
    array([1.])
    """
    return _mean(building(question, answer, paragraph_words, opening_characters, closing_characters), answer)


@metric(bounds=(0, 1), better="higher", source="S4, vocabulary score", caution=other_scripts, aliases=["vocabulary"])
def vocabulary_score(
    answer: Prose,
    *,
    sophisticated_letters: Letters = LENGTHY,
    repeats: Repeats = REPEATS,
    counted: Counted = "words",
) -> Floats:
    """Richness of the words: mean of ``diversity_score``, ``sophistication_score`` and ``repetition_score``.

    The options are those of the last two.

    >>> import fastmetrics as fm
    >>> fm.vocabulary_score(["The sophisticated algorithm shows remarkable efficiency and effectiveness."]).round(3)
    array([0.875])
    """
    return _mean(kinds(answer, repeats, counted), answer)


def _check_weights(weights: tuple[float, ...], **_: object) -> None:
    if not math.isclose(sum(weights), 1.0):
        raise OptionError(f"overall_quality: option 'weights' expects numbers that sum to 1, got {shown(weights)}")


@metric(
    bounds=(0, 1),
    better="higher",
    source="S4, overall score",
    caution=other_scripts,
    check=_check_weights,
    cues=["quality"],
)
def overall_quality(
    question: Prose,
    answer: Prose,
    *,
    weights: Weights = WEIGHTS,
    connector_share: ConnectorShare = CONNECTOR_SHARE,
    topic_threshold: TopicThreshold = 0.0,
    length_ratio: LengthRatio = LENGTH_RATIO,
    paragraph_words: ParagraphWords = PARAGRAPH_WORDS,
    sophisticated_letters: Letters = LENGTHY,
    keyword_share: KeywordShare = KEYWORD_SHARE,
    opening_characters: Opening = OPENING,
    closing_characters: Closing = CLOSING,
    repeats: Repeats = REPEATS,
    counted: Counted = "words",
) -> Floats:
    """Weighted mean of the five writing scores.

    0.25 · coherence + 0.25 · writing_completeness + 0.20 · length_score + 0.15 · structure_score +
    0.15 · vocabulary_score.  The options of these scores apply to all that have them.
    ``weights`` may also be a map of the five, ``{"coherence": 0.25, "completeness": 0.25, …}``.  Raises ``OptionError``
    for weights that do not sum to 1.

    >>> import fastmetrics as fm
    >>> fm.overall_quality(["What is AI?"], ["AI is artificial intelligence that simulates human thinking."]).round(3)
    array([0.787])
    """
    scores = (
        _mean(ties(answer, connector_share, topic_threshold), answer),
        _mean(fulfilment(question, answer, length_ratio, keyword_share), answer),
        length_score(question, answer, length_ratio=length_ratio),
        _mean(building(question, answer, paragraph_words, opening_characters, closing_characters), answer),
        _mean(kinds(answer, repeats, counted), answer),
    )
    total = np.zeros(len(answer.text))
    for weight, score in zip(weights, scores, strict=True):
        total += weight * score
    return total
