"""Quality of writing: coherence, completeness, length, structure, vocabulary (S4).

``docs/studies/writing.md`` lists the contradictions between S4's worked examples and its formulas.  The word lists are
English and Russian; ``language`` ("any", "en", "ru") restricts them, and files in the folder ``lexicons`` replace the
built-in lists of the same name.  An answer without words scores 0.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from fastmetrics.core.allowed_values import Real, Several
from fastmetrics.core.arrays import Floats
from fastmetrics.declaration.metric import metric
from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import shown
from fastmetrics.metrics.shared.pair_counts import divide
from fastmetrics.metrics.shared.prose import Language, Lexicons, Prose, Writing
from fastmetrics.metrics.writing_components import OPTIMAL_RATIO, building, fulfilment, kinds, ties

WEIGHTS = (0.25, 0.25, 0.20, 0.15, 0.15)
"""The weights of coherence, completeness, length, structure and vocabulary in ``overall_quality``, in this order."""

Weights = Annotated[tuple[float, ...], Several(len(WEIGHTS), Real(0.0, 1.0))]


def _mean(parts: tuple[Floats, ...], answer: Writing) -> Floats:
    """The mean of the components that apply; 0 for an answer without words."""
    stacked = np.stack(parts)
    applies = ~np.isnan(stacked)
    means = divide(np.where(applies, stacked, 0.0).sum(axis=0), applies.sum(axis=0), empty=np.nan)
    return np.where(answer.counts == 0, 0.0, means)


@metric(bounds=(0, 1), better="higher", source="S4, coherence score")
def coherence(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Coherence of the sentences: mean of ``connector_score``, ``pronoun_score`` and ``topic_score``.

    >>> import fastmetrics as fm
    >>> fm.coherence(["Cats are animals. Pizza is food. Cars are vehicles."]).round(3)
    array([0.333])
    """
    return _mean(ties(answer), answer)


@metric(bounds=(0, 1), better="higher", source="S4, completeness score", cues=["completeness"])
def writing_completeness(
    question: Prose, answer: Prose, *, language: Language = "any", lexicons: Lexicons = None
) -> Floats:
    """Coverage of the prompt: mean of ``keyword_coverage``, ``question_score`` and ``task_score``.

    >>> import fastmetrics as fm
    >>> fm.writing_completeness(["Explain machine learning."], ["The weather is nice today."]).round(3)
    array([0.133])
    """
    return _mean(fulfilment(question, answer), answer)


@metric(bounds=(0, 1), better="higher", source="S4, length score")
def length_score(question: Prose, answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Closeness to 2.5 words per word of the question: max(0, 1 - \\|ln(words / (2.5 · words of it))\\|).

    0 for an answer or a question without words.

    >>> import fastmetrics as fm
    >>> fm.length_score(["What is AI?"], ["AI is artificial intelligence that simulates human thinking."]).round(3)
    array([0.935])
    """
    ratio = divide(answer.counts, np.multiply(question.counts, OPTIMAL_RATIO), empty=0.0)
    logs = np.log(ratio, out=np.full(len(ratio), -np.inf), where=ratio > 0)
    return np.maximum(0.0, 1.0 - np.abs(logs))


@metric(bounds=(0, 1), better="higher", source="S4, structure score", aliases=["structure"])
def structure_score(
    answer: Prose,
    question: Prose = None,  # type: ignore[assignment]
    *,
    language: Language = "any",
    lexicons: Lexicons = None,
) -> Floats:
    """Structure of the answer: mean of ``paragraph_score``, ``introduction_score`` and ``conclusion_score``.

    >>> import fastmetrics as fm
    >>> fm.structure_score(["Machines learn from data these days. In conclusion, machines learn."]).round(3)
    array([1.])
    """
    return _mean(building(question, answer), answer)


@metric(bounds=(0, 1), better="higher", source="S4, vocabulary score", aliases=["vocabulary"])
def vocabulary_score(answer: Prose, *, language: Language = "any", lexicons: Lexicons = None) -> Floats:
    """Richness of the words: mean of ``diversity_score``, ``sophistication_score`` and ``repetition_score``.

    >>> import fastmetrics as fm
    >>> fm.vocabulary_score(["The sophisticated algorithm shows remarkable efficiency and effectiveness."]).round(3)
    array([0.875])
    """
    return _mean(kinds(answer), answer)


def _check_weights(weights: tuple[float, ...], **_: object) -> None:
    if not math.isclose(sum(weights), 1.0):
        raise OptionError(f"overall_quality: option 'weights' expects numbers that sum to 1, got {shown(weights)}")


@metric(bounds=(0, 1), better="higher", source="S4, overall score", check=_check_weights, cues=["quality"])
def overall_quality(
    question: Prose,
    answer: Prose,
    *,
    weights: Weights = WEIGHTS,
    language: Language = "any",
    lexicons: Lexicons = None,
) -> Floats:
    """Weighted mean of the five writing scores.

    0.25 · coherence + 0.25 · writing_completeness + 0.20 · length_score + 0.15 · structure_score +
    0.15 · vocabulary_score.
    Raises ``OptionError`` for weights that do not sum to 1.

    >>> import fastmetrics as fm
    >>> fm.overall_quality(["What is AI?"], ["AI is artificial intelligence that simulates human thinking."]).round(3)
    array([0.787])
    """
    scores = (
        _mean(ties(answer), answer),
        _mean(fulfilment(question, answer), answer),
        length_score(question, answer),
        _mean(building(question, answer), answer),
        _mean(kinds(answer), answer),
    )
    total = np.zeros(len(answer.text))
    for weight, score in zip(weights, scores, strict=True):
        total += weight * score
    return total
