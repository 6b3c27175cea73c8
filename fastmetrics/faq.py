"""Questions against a list of frequently asked ones: the rows whose words are most alike, exactly (S0)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.arrays import Text, Tokens, as_arrow, text_of_arrow
from fastmetrics.errors import InputError, OptionError
from fastmetrics.kernels import match as kernels
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.vectors.arrays import check_threads, in_order

_CHUNK = 8192
_ROOM = 1 << 20  # words met in questions before a vocabulary starts afresh


@dataclass(frozen=True, eq=False)
class Match:
    """The rows most similar to each question, best first.

    ``index`` (n, k) int64 are row numbers, ``score`` (n, k) float64 their token-set cosines. -1 and NaN where the
    question is null or there are fewer than k rows.
    """

    index: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]


def match(questions: Any, faq_questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
    """The ``k`` rows of ``faq_questions`` that share most words with each of ``questions``.

    The score is ``token_cosine``: with A and B the sets of words under the convention ``light``,
    |A ∩ B| / √(|A| · |B|), 0 if either is empty. Exact; equal scores go to the first row, so a question that shares
    no word with any row gets the first rows with score 0. Both columns are lists, NumPy, pandas, Polars or Arrow.

    >>> found = match(["where is my card?", "hello"], ["Lost card", "Where is my new card"])
    >>> found.index.tolist(), found.score.round(3).tolist()
    ([[1], [0]], [[0.894], [0.0]])

    Raises ``InputError`` for an empty FAQ, ``ColumnError`` for columns that are no text, ``OptionError`` for a k below
    1. Source: S0, strict semantic match.
    """
    return Matcher(faq_questions).match(questions, k, threads=threads)


class Matcher:
    """An inverted index over FAQ questions, made once and asked many times, from any number of threads."""

    def __init__(self, faq_questions: Any) -> None:
        text = _text(faq_questions, "faq_questions")
        if not len(text):
            raise InputError("faq_questions: expected at least one row")
        self._text = text
        self._vocabularies: SimpleQueue[Vocabulary] = SimpleQueue()
        vocabulary = Vocabulary(convention("light"))
        tokens = vocabulary.tokenize(text)
        self._vocabularies.put(vocabulary)
        self._known = len(vocabulary)
        self._sets = _distinct(tokens)
        sizes = np.diff(self._sets.bounds)
        bounds = np.zeros(self._known + 1, np.int64)
        np.cumsum(np.bincount(self._sets.words, minlength=self._known), out=bounds[1:])
        rows = np.empty(len(self._sets.words), np.int64)
        kernels.invert(self._sets, np.argsort(sizes, kind="stable"), bounds, rows)
        self._inverted = kernels.Inverted(rows, bounds)

    def __len__(self) -> int:
        return len(self._text)

    def match(self, questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
        """See :func:`match`."""
        if k < 1:
            raise OptionError(f"k={k}: expected at least 1")
        text = _text(questions, "questions")

        def part(start: int) -> Match:
            rows = np.arange(start, min(start + _CHUNK, len(text)))
            with self._vocabulary() as vocabulary:
                return self._found(vocabulary.tokenize(text.take(rows)), text.valid[rows], k)

        parts = list(in_order(part, range(0, len(text), _CHUNK), check_threads(threads)))
        if not parts:
            return Match(np.empty((0, k), np.int64), np.empty((0, k)))
        return Match(np.concatenate([one.index for one in parts]), np.concatenate([one.score for one in parts]))

    @contextmanager
    def _vocabulary(self) -> Iterator[Vocabulary]:
        """A vocabulary that no other thread uses, in which the words of the FAQ have the numbers of the index."""
        if self._vocabularies.empty():
            vocabulary = Vocabulary(convention("light"))
            vocabulary.tokenize(self._text)
        else:
            vocabulary = self._vocabularies.get()
        try:
            yield vocabulary
        finally:
            if len(vocabulary) < self._known + _ROOM:
                self._vocabularies.put(vocabulary)

    def _found(self, tokens: Tokens, valid: npt.NDArray[np.bool_], k: int) -> Match:
        kept = min(k, len(self))
        score = np.full((len(tokens), k), np.nan)
        index = np.full((len(tokens), k), -1, np.int64)
        best = kernels.Best(
            np.zeros((len(tokens), kept)), np.tile(np.arange(len(self), len(self) + kept), (len(tokens), 1))
        )
        asked = _distinct(tokens)
        kernels.match_rows(asked, self._sets, self._inverted, best, max(tokens.n_words, self._known))
        for q in np.flatnonzero(best.rows[:, -1] >= len(self)):
            alike = best.rows[q][best.rows[q] < len(self)]
            rest = np.setdiff1d(np.arange(min(2 * kept, len(self))), alike)
            best.rows[q, len(alike) :] = rest[: kept - len(alike)]
        index[:, :kept], score[:, :kept] = best.rows, best.scores
        index[~valid], score[~valid] = -1, np.nan
        return Match(index, score)


def _text(values: Any, name: str) -> Text:
    array = as_arrow(values, name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return text_of_arrow(array, name)


def _distinct(tokens: Tokens) -> kernels.Rows:
    words = np.empty(int(tokens.counts.sum()), np.int32)
    bounds = np.zeros(len(tokens) + 1, np.int64)
    kernels.distinct(tokens.ids, tokens.starts, tokens.stops, tokens.n_words, words, bounds)
    return kernels.Rows(words[: bounds[-1]], bounds)
