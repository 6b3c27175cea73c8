"""Error rates by edit distances: of words and characters, rows and tables, and the Levenshtein ratio."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints, Memo, Text, Tokens, Uint64s
from fastmetrics.base.options import Choice
from fastmetrics.kernels.edit_distance import LANES, Texts, character_distances, edit_distances
from fastmetrics.metrics.batch import Batch, Caution, Need, Options, need, one_word
from fastmetrics.metrics.metric import Corpus, Formula, RowHooks, metric
from fastmetrics.metrics.pair_counts import lists
from fastmetrics.metrics.tokenizers import TokenizedIn, TokenizerName
from fastmetrics.text.conventions import SIZE, is_space
from fastmetrics.text.tokenize import N_CHARACTERS, Folded, frozen

T = TypeVar("T")

Tokenizer = Annotated[
    str,
    TokenizerName("none", ("split", "plain")),
    "what splits texts into words: none at white space, split also lowercases, plain also drops punctuation",
]
Lowercase = Annotated[bool, "whether texts are compared in lower case"]
SubstitutionCost = Annotated[int, Choice(1, 2), "what a substitution costs: 1, or 2 as a deletion and an insertion"]


@dataclass(frozen=True, eq=False)
class Spelled:
    """Texts whose characters are compared."""

    texts: Texts
    memo: Memo = field(default_factory=Memo, repr=False)

    def __len__(self) -> int:
        return len(self.texts.starts)

    def take(self, rows: Ints) -> Spelled:
        """The texts ``rows``, which may repeat."""
        return Spelled(Texts(self.texts.data, self.texts.starts[rows], self.texts.stops[rows]))


def spelled_in(batch: Batch, column: str, options: Options) -> Spelled:
    """Texts, in lower case if the option ``lowercase`` says so."""
    text: Text | Folded = batch.folded(column, "lower") if options["lowercase"] else batch.text(column)
    texts = Texts(*map(frozen, (text.data, text.starts, text.stops)))
    return batch.remember(("spelled alone", column, options["lowercase"]), lambda: Spelled(texts))


@dataclass(frozen=True, eq=False)
class Grouped(Generic[T]):
    """The representation of all texts of a column: row r has the texts ``groups[r]:groups[r + 1]``."""

    texts: T
    groups: Ints


@dataclass(frozen=True)
class AllReferences:
    """The representation of ``need``, with all references of a row together."""

    need: Need

    def of(self, batch: Batch, column: str, options: Options) -> Grouped[Any]:
        """The column's texts, grouped by row."""
        groups = batch.text(column).groups
        texts = self.need.of(batch, column, options)
        return Grouped(texts, np.arange(batch.n_rows + 1) if groups is None else groups)


Words = Annotated[Tokens, TokenizedIn("none")]
AllWords = Annotated[Grouped[Tokens], AllReferences(TokenizedIn("none"))]
Characters = Annotated[Spelled, need(spelled_in)]
AllCharacters = Annotated[Grouped[Spelled], AllReferences(need(spelled_in))]

_UNSPACED = one_word("cer compares characters, and wer(tokenizer='unicode') takes each as a word")


def _caution(options: Options) -> Caution | None:
    return _UNSPACED if options["tokenizer"] in ("none", "split", "plain") else None


class Edits(NamedTuple):
    """The distance of each pair, and the lengths of both texts."""

    distances: Ints
    of_answer: Ints
    of_reference: Ints


def _masks(n_words: int) -> Uint64s:
    """The masks that kernels need; NumPy asks for zeroed memory, where a kernel would write the zeros itself."""
    return np.zeros(LANES * n_words, np.uint64)


@functools.cache
def _edges(stripped: bool) -> Flags:
    """Whether each character is left out at the ends of a text."""
    flags = np.zeros(N_CHARACTERS, np.bool_)
    flags[:SIZE] = is_space() & stripped
    return flags


def _of_words(a: Tokens, b: Tokens) -> Edits:
    def count() -> Ints:
        return edit_distances(lists(a), lists(b), _masks(max(a.n_words, b.n_words)))

    return Edits(a.memo.remember(edit_distances, count, b), a.counts, b.counts)


def _of_characters(a: Spelled, b: Spelled, *, stripped: bool, substitutes: bool = True) -> Edits:
    """The edits of the characters; without white space at the ends of the texts if ``stripped``."""

    def count() -> Ints:
        return character_distances(a.texts, b.texts, _edges(stripped), _masks(N_CHARACTERS), substitutes)

    return Edits(*a.memo.remember((character_distances, stripped, substitutes), count, b))


def _rates(edits: Ints, sizes: Ints) -> Floats:
    """Edits for each word of the reference; for a reference without any, as jiwer, as if it had one."""
    return edits / np.maximum(sizes, 1)


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="word error rate; jiwer 4",
    aliases=["word_error_rate"],
    cues=["edit_distance", "error_rate", "word_accuracy"],
    caution=_caution,
)
def wer(answer: Words, reference: Words, *, tokenizer: Tokenizer = "none") -> Floats:
    """Word error rate: the edits that turn the reference into the answer, for each word of the reference.

    WER = (S + D + I) / N: substituted, deleted and inserted words, as few as possible, over the N words of the
    reference.  It exceeds 1 if the answer is longer.  Words are split at white space and compared as they are; with
    ``tokenizer="split"`` in lower case, with ``"plain"`` without punctuation too.  A reference without words counts as
    having one, so the rate is the number of the answer's words.  Of several references the lowest rate counts.

    Equal to ``jiwer.wer`` of each row, whose words end at spaces only, not at tabs or line breaks.

    >>> import fastmetrics as fm
    >>> fm.wer(["the cat sat on mat", "yes"], ["the cat sat on the mat", "no way"]).round(3)
    array([0.167, 1.   ])
    """
    edits = _of_words(answer, reference)
    return _rates(edits.distances, edits.of_reference)


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="character error rate; jiwer 4",
    aliases=["character_error_rate"],
    cues=["edit_distance", "error_rate"],
)
def cer(answer: Characters, reference: Characters, *, lowercase: Lowercase = False) -> Floats:
    """Character error rate: the edits that turn the reference into the answer, for each character of the reference.

    CER = (S + D + I) / N: substituted, deleted and inserted characters, as few as possible, over the N characters of
    the reference.  Characters are Unicode code points; white space at the ends of a text does not count, that within
    does.  A reference without characters counts as having one.  Of several references the lowest rate counts.  Equal to
    ``jiwer.cer`` of each row.

    >>> import fastmetrics as fm
    >>> fm.cer(["Pariss", "rome"], ["Paris", "Rome"], lowercase=True)
    array([0.2, 0. ])
    """
    edits = _of_characters(answer, reference, stripped=True)
    return _rates(edits.distances, edits.of_reference)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Levenshtein 1966; normalized_similarity of RapidFuzz 3",
    cues={
        "edit_distance": "",
        "levenshtein": "",
        "fuzz_ratio": "fuzz.ratio is 100 times levenshtein_ratio(substitution_cost=2)",
        "ratio": "Levenshtein.ratio is levenshtein_ratio(substitution_cost=2)",
        "string_similarity": "",
    },
)
def levenshtein_ratio(
    answer: Characters, reference: Characters, *, lowercase: Lowercase = False, substitution_cost: SubstitutionCost = 1
) -> Floats:
    """Similarity of the characters of answer and reference by their edit distance.

    L = 1 - d / max(n, m): d is the least number of insertions, deletions and substitutions of characters that turn one
    text into the other, n and m are their lengths in code points.  With ``substitution_cost=2`` a substitution counts
    as a deletion and an insertion, and L = 1 - d / (n + m), as python-Levenshtein's ``ratio``.  1 for two empty texts.

    >>> import fastmetrics as fm
    >>> fm.levenshtein_ratio(["kitten"], ["sitting"]).round(3)
    array([0.571])
    >>> fm.levenshtein_ratio(["kitten"], ["sitting"], substitution_cost=2).round(3)
    array([0.615])
    """
    edits = _of_characters(answer, reference, stripped=False, substitutes=substitution_cost == 1)
    combine = np.add if substitution_cost == 2 else np.maximum
    return 1.0 - edits.distances / np.maximum(combine(edits.of_answer, edits.of_reference), 1)


# Error rates of whole tables: all edits over all words.


@dataclass(frozen=True)
class ErrorRate:
    """The error rate of a table: its ``score``, the ``edits`` of all rows, and the ``length`` of all references."""

    score: float
    edits: int
    length: int

    def __float__(self) -> float:
        return self.score


def _finish(sums: Sequence[int], **_: Any) -> ErrorRate:
    edits, length = sums or (0, 0)
    return ErrorRate(edits / max(length, 1), edits, length)


def _finish_many(sums: Ints, **_: Any) -> Floats:
    return _rates(sums[:, 0], sums[:, 1])


_CORPUS = Corpus(finish=Formula(_finish, _finish_many))


def _chosen(edits: Edits, owner: Ints, n_rows: int) -> Ints:
    """Edits and length of a reference of each row: that with the lowest rate, and the first of such."""
    order = np.lexsort((_rates(edits.distances, edits.of_reference), owner))
    rows, firsts = np.unique(owner[order], return_index=True)
    best, counts = order[firsts], np.zeros((n_rows, 2), np.int64)
    counts[rows] = np.column_stack([edits.distances[best], edits.of_reference[best]])
    return counts


def _owners(groups: Ints) -> Ints:
    return np.repeat(np.arange(len(groups) - 1), np.diff(groups))


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="word error rate; jiwer 4",
    rows=RowHooks(grouped=True),
    corpus=_CORPUS,
    caution=_caution,
)
def corpus_wer(answer: Words, reference: AllWords, *, tokenizer: Tokenizer = "none") -> Ints:
    """Word error rate of all answers together: all edits over all words of the references.

    Like ``wer``, but edits and words are summed over the rows first, as ``jiwer.wer`` does for lists of texts, so a
    long row weighs more.  Of several references of a row, that with the lowest rate counts.  Returns an ``ErrorRate``
    with the sums.

    >>> import fastmetrics as fm
    >>> fm.corpus_wer(["the cat sat on mat", "yes"], ["the cat sat on the mat", "no way"])
    ErrorRate(score=0.375, edits=3, length=8)
    """
    owner = _owners(reference.groups)
    return _chosen(_of_words(answer.take(owner), reference.texts), owner, len(answer))


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="character error rate; jiwer 4",
    rows=RowHooks(grouped=True),
    corpus=_CORPUS,
)
def corpus_cer(answer: Characters, reference: AllCharacters, *, lowercase: Lowercase = False) -> Ints:
    """Character error rate of all answers together: all edits over all characters of the references.

    Like ``cer``, but edits and characters are summed over the rows first, as ``jiwer.cer`` does for lists of texts.  Of
    several references of a row, that with the lowest rate counts.  Returns an ``ErrorRate`` with the sums.

    >>> import fastmetrics as fm
    >>> fm.corpus_cer(["Pariss", "rome"], ["Paris", "Rome"])
    ErrorRate(score=0.2222222222222222, edits=2, length=9)
    """
    owner = _owners(reference.groups)
    return _chosen(_of_characters(answer.take(owner), reference.texts, stripped=True), owner, len(answer))
