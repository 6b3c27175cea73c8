"""Word-level comparison of the answer with reference and question, and the form of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Floats, Text, Tokens
from fastmetrics.base.options import LimitedTexts
from fastmetrics.kernels import byte_search as strings
from fastmetrics.metrics.batch import UNSPACED, Batch, Caution, Light, Options, Raw, Words, english_words
from fastmetrics.metrics.metric import metric
from fastmetrics.metrics.pair_counts import divide, same, sets, shared, shares
from fastmetrics.metrics.tokenizers import TokenizedIn, TokenizerName
from fastmetrics.text.phrases import count_markers
from fastmetrics.text.tokenize import Vocabulary

MARKERS = (
    "please",
    "thank you",
    "thanks",
    "happy to help",
    "glad to help",
    "you're welcome",
    "let me know",
    "feel free",
    "sorry",
    "apologize",
)
"""The politeness markers of the QA framework, the default of ``politeness``."""

Markers = Annotated[tuple[str, ...], LimitedTexts(10_000, "markers"), "words and phrases that count as polite"]


_F1 = ("f1", "f1_score", "qa_f1", "word_f1", "avg_f1")


_ABOUT = "what splits texts into words: unicode and char also split scripts without spaces"
SplitTokenizer = Annotated[str, TokenizerName("split", ("plain",)), _ABOUT]
PlainTokenizer = Annotated[str, TokenizerName("plain"), _ABOUT]
LightTokenizer = Annotated[str, TokenizerName("light"), _ABOUT]
SplitTokens = Annotated[Tokens, TokenizedIn("split")]
PlainTokens = Annotated[Tokens, TokenizedIn("plain")]
LightTokens = Annotated[Tokens, TokenizedIn("light")]


def _one_word(options: Options) -> Caution | None:
    return UNSPACED if options["tokenizer"] in ("plain", "light") else None


@dataclass(frozen=True, eq=False)
class SearchedText:
    """Texts with their words."""

    text: Text
    words: Tokens
    vocabulary: Vocabulary


@dataclass(frozen=True)
class SearchedIn:
    """Texts in which markers are looked for, lower-cased."""

    convention: str = "split"

    def of(self, batch: Batch, column: str, options: Options) -> SearchedText:
        """The column's texts and words."""
        words = batch.tokens(column, self.convention)
        return SearchedText(batch.text(column), words, batch.vocabulary(self.convention))


Searched = Annotated[SearchedText, SearchedIn()]


@metric(
    bounds=(0, 1),
    better="higher",
    source="S0, exact match; S1, exact match (Avg EM)",
    labels={"(tokenizer='plain').mean": "Avg EM"},
    cues=["em", "accuracy", "avg_em"],
)
def exact_match(answer: SplitTokens, reference: SplitTokens, *, tokenizer: SplitTokenizer = "split") -> Floats:
    """1 if answer and reference are equal after normalisation, else 0.

    EM = 1 if N(answer) = N(reference) else 0.  N lowercases, strips, and replaces every run of whitespace by one space;
    with ``tokenizer="plain"`` it also deletes punctuation, as for ``token_f1``.  With several references,
    the best score counts.  Two empty texts are equal; a missing one gives NaN.  ``squad_em`` also drops articles.

    >>> import fastmetrics as fm
    >>> fm.exact_match(["Paris ", "paris"], [" paris", "Paris, France"])
    array([1., 0.])
    >>> fm.exact_match(["Paris.", "a cat"], ["paris", "cat"], tokenizer="plain")
    array([1., 0.])
    """
    return same(answer, reference).astype(np.float64)


@metric(bounds=(0, 1), better="higher", source="S0, keyword recall", cues=["keywords"], caution=_one_word)
def keyword_recall(answer: LightTokens, reference: LightTokens, *, tokenizer: LightTokenizer = "light") -> Floats:
    """Share of the reference's distinct words that occur in the answer.

    Recall = |G ∩ E| / |E| over the sets of ``light`` tokens of answer (G) and reference (E); 0 if E is empty.

    >>> import fastmetrics as fm
    >>> fm.keyword_recall(["It is Paris, France."], ["Paris, in France"]).round(3)
    array([0.667])
    """
    counts = sets(answer, reference)
    return divide(counts.shared, counts.b, empty=0.0)


@metric(
    bounds=(0, 1),
    better="higher",
    source="S0, semantic search in the strict semantic-match bot",
    cues=["cosine"],
    caution=UNSPACED,
)
def token_cosine(answer: Light, reference: Light) -> Floats:
    """Cosine of the binary word vectors of answer and reference.

    cos = |A ∩ B| / √(|A|·|B|) over the sets of ``light`` tokens; 0 if either is empty.  Works for any two columns.

    >>> import fastmetrics as fm
    >>> fm.token_cosine(["reset my password"], ["how do I reset a password"]).round(3)
    array([0.471])
    """
    counts = sets(answer, reference)
    return divide(counts.shared, np.sqrt(counts.a * counts.b), empty=0.0)


@metric(bounds=(0, 1), better="higher", source="S1, F1 score", labels={"mean": "Avg F1"}, cues=_F1, caution=_one_word)
def token_f1(answer: PlainTokens, reference: PlainTokens, *, tokenizer: PlainTokenizer = "plain") -> Floats:
    """Harmonic mean of token precision and recall: the word overlap of answer and reference.

    F1 = 2PR / (P + R) over the multisets of ``plain`` tokens (lowercase, no punctuation); both empty: 1, one empty: 0.
    ``tokenizer="unicode"`` takes each character of scripts without spaces as a word, ``"char"`` each character of any
    text, and a plugin may register a function (:func:`fastmetrics.metrics.tokenizer`).  By ``"unicode"`` a text without
    a word is compared by its symbols (✓ and ✗, 👍 and 👎, ★★★ and ★), and the signs +, ++, # and - right behind one or
    two Latin letters at the end of a word are a token (C++ and C#, A+ and A−); other signs and punctuation do not
    count.

    ``plain`` deletes the point and the minus of numbers: 3.14 equals 314, and -5 equals 5 (see ``number_match``).

    >>> import fastmetrics as fm
    >>> fm.token_f1(["the cat sat"], ["The cat sat down."]).round(3)
    array([0.857])
    >>> fm.token_f1(["巴黎是法国的首都"], ["法国首都"], tokenizer="unicode").round(3)
    array([0.667])
    """
    both_empty = (answer.counts == 0) & (reference.counts == 0)
    *_, f1 = shares(shared(answer, reference), answer.counts, reference.counts)
    return np.where(both_empty, 1.0, f1)


@metric(bounds=(0, 1), better="higher", source="S1, F1 score: its precision", cues=["precision"], caution=_one_word)
def token_precision(answer: PlainTokens, reference: PlainTokens, *, tokenizer: PlainTokenizer = "plain") -> Floats:
    """Share of the answer's tokens that also occur in the reference.

    P = |A ∩ B| / |A| over the multisets of ``plain`` tokens; both empty: 1, one empty: 0.

    >>> import fastmetrics as fm
    >>> fm.token_precision(["the cat sat"], ["The cat sat down."])
    array([1.])
    """
    both_empty = (answer.counts == 0) & (reference.counts == 0)
    return np.where(both_empty, 1.0, divide(shared(answer, reference), answer.counts, empty=0.0))


@metric(bounds=(0, 1), better="higher", source="S1, F1 score: its recall", cues=["recall"], caution=_one_word)
def token_recall(answer: PlainTokens, reference: PlainTokens, *, tokenizer: PlainTokenizer = "plain") -> Floats:
    """Share of the reference's tokens that also occur in the answer.

    R = |A ∩ B| / |B| over the multisets of ``plain`` tokens; both empty: 1, one empty: 0.

    >>> import fastmetrics as fm
    >>> fm.token_recall(["the cat sat"], ["The cat sat down."])
    array([0.75])
    """
    both_empty = (answer.counts == 0) & (reference.counts == 0)
    return np.where(both_empty, 1.0, divide(shared(answer, reference), reference.counts, empty=0.0))


@metric(bounds=(0, 1), better="higher", source="S3, relevance score", caution=UNSPACED)
def jaccard(question: Words, answer: Words) -> Floats:
    """Share of the distinct words of question and answer that occur in both.

    J = |Q ∩ A| / |Q ∪ A| over the sets of ``words``; undefined (NaN) if both are empty.

    >>> import fastmetrics as fm
    >>> fm.jaccard(["Who wrote Emma?"], ["Jane Austen wrote Emma."])
    array([0.4])
    """
    counts = sets(question, answer)
    return divide(counts.shared, counts.a + counts.b - counts.shared, empty=np.nan)


@metric(bounds=(0, np.inf), better=None, source="S0, answer length", cues=["length"])
def answer_length(answer: Raw) -> Floats:
    """Number of characters (Unicode code points) of the answer.

    >>> import fastmetrics as fm
    >>> fm.answer_length(["Да, 42."])
    array([7.])
    """
    return strings.count_characters(answer.data, answer.starts, answer.stops).astype(np.float64)


@metric(bounds=(0, np.inf), better=None, source="S0, answer length, in words", cues=["words", "word_count", "length"])
def answer_words(answer: Words) -> Floats:
    r"""Number of ``words`` (maximal runs of ``\w``) of the answer.

    >>> import fastmetrics as fm
    >>> fm.answer_words(["It's 3.5 km away"])
    array([6.])
    """
    return answer.counts.astype(np.float64)


_OTHER_SCRIPTS = english_words("markers", "markers=[...] sets those of other languages")


def _other_scripts(options: Options) -> Caution | None:
    """The caution of the built-in markers; None for the user's own."""
    return _OTHER_SCRIPTS if options["markers"] == MARKERS else None


@metric(bounds=(0, 1), better="higher", source="S0, politeness heuristic", caution=_other_scripts)
def politeness(answer: Searched, *, markers: Markers = MARKERS) -> Floats:
    """Number of politeness markers in the answer; two give the full score.

    P = min(½ · Σ 1[mᵢ is a substring of the lowercase answer], 1).  A marker inside another marker counts too.
    The built-in markers are English.

    >>> import fastmetrics as fm
    >>> fm.politeness(["Sorry! Please try again.", "You're welcome.", "No."])
    array([1. , 0.5, 0. ])
    """
    return np.minimum(0.5 * count_markers(answer.text, answer.words, answer.vocabulary, markers), 1.0)
