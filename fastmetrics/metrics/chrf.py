"""chrF and chrF++ (Popović 2015, 2017): shared character and word n-grams, as sacreBLEU counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Floats, Ints, Tokens
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Real, Whole
from fastmetrics.metrics.batch import Batch, Options, need
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import ngrams
from fastmetrics.text import tokenize as text

Characters = Annotated[int, Whole(0, 100), "the length of the longest n-grams of characters"]
Words = Annotated[int, Whole(0, 100), "the length of the longest n-grams of words; 0 leaves words out"]
Lowercase = Annotated[bool, "whether texts are compared in lower case"]
Whitespace = Annotated[bool, "whether white space counts as characters"]
EpsSmoothing = Annotated[bool, "whether precisions and recalls of zero are smoothed"]
Beta = Annotated[float, Real(0.0, 1e6), "how many times as much recall counts as precision"]

_EPSILON = 1e-16


@dataclass(frozen=True, eq=False)
class Spelled:
    """The characters of texts, and their words if word n-grams are counted."""

    characters: Tokens
    words: Tokens | None

    def take(self, rows: Ints) -> Spelled:
        """The texts ``rows``, which may repeat."""
        return Spelled(self.characters.take(rows), None if self.words is None else self.words.take(rows))


def spelled_in(batch: Batch, column: str, options: Options) -> Spelled:
    """Characters and words under the options ``lowercase``, ``whitespace`` and ``word_order``."""
    lowercase, whitespace, worded = options["lowercase"], options["whitespace"], options["word_order"] > 0
    key = ("spelled", column, lowercase, whitespace, worded)
    return batch.remember(key, lambda: _spell(batch, column, lowercase, whitespace, worded))


Spelling = Annotated[Spelled, need(spelled_in)]


def _spell(batch: Batch, column: str, lowercase: bool, whitespace: bool, worded: bool) -> Spelled:
    spaced = "split" if lowercase else "none"
    exact = ("lower" if lowercase else "characters") if whitespace else spaced
    characters = batch.remember(("characters", column, exact), lambda: _characters(batch, column, exact, whitespace))
    if not worded:
        return Spelled(characters, None)
    words = batch.remember(
        ("chrf words", column, spaced), lambda: text.chrf_words(batch.tokens(column, spaced), spaced, batch.words)
    )
    return Spelled(characters, words)


def _characters(batch: Batch, column: str, exact: str, whitespace: bool) -> Tokens:
    if exact == "none":  # its characters are those of the text
        return text.visible_characters(batch.text(column))
    return text.characters(batch.folded(column, exact), whitespace)


def check_orders(char_order: int, word_order: int, **_: object) -> None:
    """Raise ``OptionError`` if both orders are 0."""
    if char_order + word_order == 0:
        raise OptionError("chrf: options 'char_order' and 'word_order' cannot both be 0")


def f_score(hypothesis: Ints, reference: Ints, matched: Ints, beta: float, smoothed: bool) -> Floats:
    """chrF from n-gram counts, one row per order; operations are in sacreBLEU's order."""
    factor = beta**2
    precision_sum, recall_sum, score, effective = np.zeros((4, hypothesis.shape[1]))
    for answered, in_reference, both in zip(hypothesis, reference, matched, strict=True):
        precision = np.divide(both, answered, out=np.full(len(both), _EPSILON), where=answered > 0)
        recall = np.divide(both, in_reference, out=np.full(len(both), _EPSILON), where=in_reference > 0)
        total = factor * precision + recall
        f = np.divide((1 + factor) * precision * recall, total, out=np.full(len(both), _EPSILON), where=total > 0)
        counted = (answered > 0) & (in_reference > 0)
        score += f
        precision_sum += np.where(counted, precision, 0.0)
        recall_sum += np.where(counted, recall, 0.0)
        effective += counted
    if smoothed:
        return 100 * score / len(hypothesis)
    precision = precision_sum / np.maximum(effective, 1)
    recall = recall_sum / np.maximum(effective, 1)
    total = factor * precision + recall
    f = np.divide((1 + factor) * precision * recall, total, out=np.zeros(len(total)), where=precision + recall > 0)
    return 100 * f


def shared_ngrams(answer: Spelled, reference: Spelled, char_order: int, word_order: int) -> tuple[Ints, Ints, Ints]:
    """The numbers of n-grams of the answer, the reference and both, for each pair; one row per order, characters first.

    N-grams of the answer are not counted in orders in which the reference has none.
    """
    hypotheses, references, matches = [], [], []
    for a, b, orders in (
        (answer.characters, reference.characters, char_order),
        (answer.words, reference.words, word_order),
    ):
        if a is not None and b is not None and orders:
            before = np.arange(orders)[:, np.newaxis]
            in_reference = np.maximum(b.counts - before, 0)
            hypotheses.append(np.maximum(a.counts - before, 0) * (in_reference > 0))
            references.append(in_reference)
            matches.append(ngrams(a, b, orders)[:orders])
    return np.concatenate(hypotheses), np.concatenate(references), np.concatenate(matches)


def _chrf(answer: Spelled, reference: Spelled, char_order: int, word_order: int, beta: float, smoothed: bool) -> Floats:
    return f_score(*shared_ngrams(answer, reference, char_order, word_order), beta, smoothed)


@metric(
    bounds=(0, 100), better="higher", source="S2, chrF; sacreBLEU 2.6", check=check_orders, aliases=["sentence_chrf"]
)
def chrf(
    answer: Spelling,
    reference: Spelling,
    *,
    char_order: Characters = 6,
    word_order: Words = 0,
    beta: Beta = 2,
    lowercase: Lowercase = False,
    whitespace: Whitespace = False,
    eps_smoothing: EpsSmoothing = False,
) -> Floats:
    """Character n-gram F-score of each answer, from 0 to 100: sacreBLEU's ``sentence_chrf``.

    chrF = 100 · (1 + β²)PR / (β²P + R), with P and R the mean precision and recall of the n-grams of 1 … ``char_order``
    characters, without whitespace unless ``whitespace`` is set, and of 1 … ``word_order`` words, over the orders that
    both texts have; 0 if none is shared.  ``eps_smoothing`` averages the F-scores of the orders instead.  With several
    references, the best score counts.  Raises ``OptionError`` for an order below 0.

    >>> import fastmetrics as fm
    >>> fm.chrf(["the cat sat"], ["the cats sat"]).round(2)
    array([68.66])
    """
    return _chrf(answer, reference, char_order, word_order, beta, eps_smoothing)


@metric(
    name="chrf++",
    bounds=(0, 100),
    better="higher",
    source="S2, chrF++; sacreBLEU 2.6",
    check=check_orders,
    aliases=["chrf_plus_plus", "chrfpp"],
)
def chrf_plus_plus(
    answer: Spelling,
    reference: Spelling,
    *,
    char_order: Characters = 6,
    word_order: Words = 2,
    beta: Beta = 2,
    lowercase: Lowercase = False,
    whitespace: Whitespace = False,
    eps_smoothing: EpsSmoothing = False,
) -> Floats:
    """Character and word n-gram F-score of each answer, from 0 to 100: ``chrf`` with ``word_order=2``.

    Words are split at whitespace; a punctuation mark at the end of a word, or otherwise at its start, is a separate
    word.  0 if nothing is shared; ``OptionError`` for an order below 0.

    >>> import fastmetrics as fm
    >>> fm.score({"answer": ["the cat sat"], "reference": ["the cats sat"]}, "chrf++")["chrf++"][0].as_py().__round__(2)
    59.85
    """
    return _chrf(answer, reference, char_order, word_order, beta, eps_smoothing)


globals()["chrf++"] = chrf_plus_plus
