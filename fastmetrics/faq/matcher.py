"""Exact matching of questions to FAQ rows by word similarity (the QA framework)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastmetrics.base.arrays import Text, Tokens, text_of_arrow
from fastmetrics.base.columns import as_array, as_text
from fastmetrics.base.display import Grid, NotebookTables, first_rows, number, rows_note
from fastmetrics.base.errors import InputError
from fastmetrics.base.options import Neighbours, argument
from fastmetrics.base.threads import cores, ordered
from fastmetrics.kernels import inverted_index as kernels
from fastmetrics.text.conventions import convention
from fastmetrics.text.tokenize import Vocabulary

_CHUNK = 8192
_RARE = 16  # words in more than one of 16 rows get a dense row
_LINES = 512  # maximum number of dense rows
_ROOM = 1 << 20  # number of new question words before the vocabulary is reset


@dataclass(frozen=True, eq=False)
class Match(NotebookTables):
    """The rows most similar to each question, best first.

    ``index`` (n, k) int64 are row numbers, ``score`` (n, k) float64 their token-set cosines; -1 and NaN where the
    question is null or there are fewer than k rows.
    """

    index: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]

    def grids(self) -> Sequence[Grid]:
        """The rows of the first questions with their scores, best first."""
        heads = ("question", *(f"{place}. row (score)" for place in range(1, self.index.shape[1] + 1)))
        lines = (
            (str(question), *(f"{row} ({number(float(score))})" if row >= 0 else "–" for row, score in pairs))
            for question, pairs in enumerate(map(zip, self.index, self.score))
        )
        return [first_rows(heads, lines)]

    def remarks(self) -> Sequence[str]:
        """How many questions there are, if not all are shown."""
        return rows_note(len(self.index))


def match_faq(questions: Any, faq_questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
    """The ``k`` rows of ``faq_questions`` that share the most words with each of ``questions``.

    The score is ``token_cosine``: with A and B the sets of words under the convention ``light``, |A ∩ B| / √(|A| ·
    |B|), 0 if either is empty.  The search is exact; ties go to the first row, so a question without common words
    returns the first rows with score 0.  Both columns are lists, NumPy, pandas, Polars or Arrow.

    >>> found = match_faq(["where is my card?", "hello"], ["Lost card", "Where is my new card"])
    >>> found.index.tolist(), found.score.round(3).tolist()
    ([[1], [0]], [[0.894], [0.0]])

    Raises ``InputError`` for an empty FAQ, ``ColumnError`` for columns that are not text, ``OptionError`` for a k below
    1.  Source: the QA framework, strict semantic match.
    """
    return Matcher(faq_questions).match(questions, k, threads=threads)


class Matcher:
    """A reusable, thread-safe inverted index over FAQ questions."""

    def __init__(self, faq_questions: Any) -> None:
        text = as_text(faq_questions, "faq_questions")
        if not len(text):
            raise InputError("faq_questions: expected at least one row")
        self._text = text
        self._vocabularies: SimpleQueue[Vocabulary] = SimpleQueue()
        vocabulary = Vocabulary(convention("light"))
        tokens = vocabulary.tokenize(text)
        self._vocabularies.put(vocabulary)
        self._n_words = len(vocabulary)
        self._index = _inverted(_distinct(tokens), self._n_words)

    def __len__(self) -> int:
        return len(self._text)

    def match(self, questions: Any, k: int = 1, *, threads: int | None = None) -> Match:
        """See :func:`match`."""
        k, workers = argument("k", k, Neighbours), cores(threads)
        text, which = _distinct_texts(questions, "questions")

        def part(start: int) -> Match:
            rows = np.arange(start, min(start + _CHUNK, len(text)))
            with self._vocabulary() as vocabulary:
                return self._nearest(vocabulary.tokenize(text.take(rows)), k)

        none = Match(np.full((1, k), -1), np.full((1, k), np.nan))  # the result for null, number -1
        parts = [*ordered(part, range(0, len(text), _CHUNK), workers), none]
        index, score = (np.concatenate([getattr(result, name) for result in parts]) for name in ("index", "score"))
        return Match(index[which], score[which])

    @contextmanager
    def _vocabulary(self) -> Iterator[Vocabulary]:
        """A vocabulary for one thread, in which the words of the FAQ have the numbers of the index."""
        if self._vocabularies.empty():
            vocabulary = Vocabulary(convention("light"))
            vocabulary.tokenize(self._text)
        else:
            vocabulary = self._vocabularies.get()
        try:
            yield vocabulary
        finally:
            if len(vocabulary) < self._n_words + _ROOM:
                self._vocabularies.put(vocabulary)

    def _nearest(self, tokens: Tokens, k: int) -> Match:
        width, rows = min(k, len(self)), len(tokens)
        score, index = np.full((rows, k), np.nan), np.full((rows, k), -1, np.int64)
        best = kernels.Best(np.zeros((rows, width)), np.tile(np.arange(len(self), len(self) + width), (rows, 1)))
        mark = np.full(max(tokens.n_words, self._n_words) + 1, -1, np.int64)
        kernels.match_rows(_distinct(tokens), self._index, best, mark, np.empty(len(self), self._index.lines.dtype))
        kernels.fill(best.rows, len(self))
        index[:, :width], score[:, :width] = best.rows, best.scores
        return Match(index, score)


def _inverted(sets: kernels.TokenSets, n_words: int) -> kernels.InvertedIndex:
    """The index of token sets over ``n_words`` words."""
    sizes = np.diff(sets.bounds)
    order = np.argsort(sizes, kind="stable")
    counts = np.bincount(sets.words, minlength=n_words)
    starts = np.concatenate([[0], np.cumsum(counts)])
    by_place = kernels.TokenSets(np.empty_like(sets.words), np.zeros_like(sets.bounds))
    places = np.empty(len(sets.words), np.int32)
    kernels.invert(sets, order, by_place.words, by_place.bounds, places, starts)
    frequent = np.argsort(-counts, kind="stable")[:_LINES]
    frequent = frequent[counts[frequent] > len(order) // _RARE]
    slots = np.full(n_words, -1, np.int32)
    slots[frequent] = np.arange(len(frequent))
    lines = np.zeros((len(frequent), len(order)), np.min_scalar_type(int(sizes.max(initial=0))))
    for line, word in zip(lines, frequent, strict=True):
        line[places[starts[word] : starts[word + 1]]] = 1
    groups = np.flatnonzero(np.diff(sizes[order], prepend=-1, append=-1))
    return kernels.InvertedIndex(order, by_place, places, starts, groups, slots, lines)


def _distinct_texts(values: Any, name: str) -> tuple[Text, npt.NDArray[np.int64]]:
    """The distinct texts, and the number of each row's text, -1 where it is null."""
    array = as_array(values, name)
    if not any(check(array.type) for check in (pa.types.is_string, pa.types.is_large_string)):
        text = text_of_arrow(array, name)
        return text, np.where(text.valid, np.arange(len(text)), -1)
    encoded = array.dictionary_encode()
    which = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return text_of_arrow(encoded.dictionary, name), which.astype(np.int64)


def _distinct(tokens: Tokens) -> kernels.TokenSets:
    words = np.empty(int(tokens.counts.sum()), np.int32)
    bounds = np.zeros(len(tokens) + 1, np.int64)
    kernels.distinct(tokens.ids, tokens.starts, tokens.stops, tokens.n_words, words, bounds)
    return kernels.TokenSets(words[: bounds[-1]], bounds)
