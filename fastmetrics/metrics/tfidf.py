"""Cosine of the TF-IDF vectors of two texts (the answer checks), equal to scikit-learn's TfidfVectorizer."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Tokens
from fastmetrics.base.errors import OptionError
from fastmetrics.base.options import Choice
from fastmetrics.kernels.token_overlap import count_documents, count_products, weighted_products
from fastmetrics.metrics.batch import UNSPACED, Batch, Options, need
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.pair_counts import lists
from fastmetrics.text.tokenize import Vocabulary

Idf = Annotated[
    str,
    Choice("pair", "corpus"),
    "the texts in which document frequencies are counted: the two of a pair, or the whole table",
]

_CONVENTION = "words"


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """The document frequency of each word in ``n_documents`` texts, from which the idf is computed."""

    n_documents: int
    documents: Mapping[str, int] = field(repr=False)
    digest: str

    def idf(self, word: str) -> float:
        """scikit-learn's smooth idf: ln((1 + n) / (1 + df)) + 1."""
        return math.log((1 + self.n_documents) / (1 + self.documents.get(word, 0))) + 1


@dataclass(frozen=True, eq=False)
class Weighed:
    """Tokens; whether each word of the vocabulary counts; and, for a corpus, the squared idf of the words."""

    tokens: Tokens
    keep: Flags
    squares: Floats | None


def weighed_in(batch: Batch, column: str, options: Options) -> Weighed:
    """Tokens with the weights of the option ``idf``."""
    idf, tokens = options["idf"], batch.tokens(column, _CONVENTION)
    vocabulary = batch.vocabulary(_CONVENTION)
    keep = _grown(vocabulary, "longer than one", _longer_than_one)
    if not isinstance(idf, DocumentFrequencies):
        return Weighed(tokens, keep, None)
    return Weighed(tokens, keep, _grown(vocabulary, idf, lambda words, first: _squares(words, first, idf)))


Tfidf = Annotated[Weighed, need(weighed_in, convention=_CONVENTION)]


def _grown(vocabulary: Vocabulary, key: Any, make: Callable[[Vocabulary, int], Any]) -> Any:
    """The result of ``make`` for every word of a vocabulary, computed only for new words."""
    values = vocabulary.memo.get(key)
    if values is None or len(values) < len(vocabulary):
        new = make(vocabulary, 0 if values is None else len(values))
        values = vocabulary.memo[key] = new if values is None else np.concatenate([values, new])
    return values


def _longer_than_one(vocabulary: Vocabulary, first: int) -> Flags:
    """The words of two characters or more, as in scikit-learn's token pattern."""
    last = len(vocabulary)
    byte = vocabulary.arrays.heads[2 * first : 2 * last : 2] & np.uint64(0xFF)
    character = 1 + (byte >= 0xC0).astype(np.int32) + (byte >= 0xE0) + (byte >= 0xF0)
    return vocabulary.arrays.lengths[first:last] > character


def _squares(vocabulary: Vocabulary, first: int, corpus: DocumentFrequencies) -> Floats:
    idf = np.array([corpus.idf(word) for word in vocabulary.words(first)], np.float64)
    return np.where(_longer_than_one(vocabulary, first), idf * idf, 0.0)


def fit_idf(batches: Iterable[Batch], options: Options) -> dict[str, Any]:
    """The options with the document counts of all questions and answers in place of ``idf="corpus"``."""
    if options["idf"] != "corpus":
        return dict(options)
    counts: Counter[str] = Counter()
    n_documents = 0
    for batch in batches:
        columns = [batch.tokens(column, _CONVENTION) for column in ("question", "answer")]
        words = batch.vocabulary(_CONVENTION).words()
        n_documents += sum(int(batch.present(column).sum()) for column in ("question", "answer"))
        documents = sum(count_documents(t.ids, t.starts, t.stops, len(words)) for t in columns)
        counts.update({word: count for word, count in zip(words, np.asarray(documents).tolist(), strict=True) if count})
    digest = hashlib.blake2b(repr(sorted(counts.items())).encode(), digest_size=8).hexdigest()
    return {**options, "idf": DocumentFrequencies(n_documents, dict(counts), digest)}


@metric(
    bounds=(0, 1),
    better="higher",
    source="S3, relevance score",
    rows=RowHooks(fit=fit_idf),
    cues=["cosine", "tfidf"],
    caution=UNSPACED,
)
def tfidf_cosine(question: Tfidf, answer: Tfidf, *, idf: Idf = "pair") -> Floats:
    """Cosine of the TF-IDF vectors of question and answer, equal to scikit-learn's ``TfidfVectorizer()``.

    Words are those of ``words`` with two characters or more, weighted by count · (ln((1 + n) / (1 + df)) + 1), where df
    is the number of the n documents that contain the word.  The documents are the two texts for ``idf="pair"``, and all
    questions and answers of the table for ``idf="corpus"``, which needs an additional pass.  0 if only one text has
    words, undefined if neither has.  Works for any two columns.  Raises ``OptionError`` for another ``idf``.

    >>> import fastmetrics as fm
    >>> fm.tfidf_cosine(["who wrote Emma"], ["Jane Austen wrote Emma"]).round(3)
    array([0.411])
    """
    if idf == "corpus":
        raise OptionError("idf='corpus' needs all rows and cannot score a single batch")
    return cosine(question, answer)


def cosine(question: Weighed, answer: Weighed) -> Floats:
    """``tfidf_cosine`` from the data of the batch."""
    keep = max(question.keep, answer.keep, key=len)
    a, b = lists(question.tokens), lists(answer.tokens)
    if question.squares is not None and answer.squares is not None:
        product, a_squares, b_squares = weighted_products(a, b, max(question.squares, answer.squares, key=len))
    else:
        own = (math.log(3 / 2) + 1) ** 2
        product, a_both, a_alone, b_both, b_alone = question.tokens.memo.remember(
            count_products, lambda: count_products(a, b, keep), answer.tokens
        )
        a_squares, b_squares = a_both + own * a_alone, b_both + own * b_alone
    cosines = np.zeros(len(product))
    np.divide(product, np.sqrt(a_squares * b_squares), out=cosines, where=(a_squares > 0) & (b_squares > 0))
    return np.where((a_squares > 0) | (b_squares > 0), cosines, np.nan)
