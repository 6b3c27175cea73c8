"""Texts for the writing scores: words by sentence, their roles, and the formulas over counts computed once a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints, Memo, Text, Tokens
from fastmetrics.base.options import MOST, Choice, Folder, Real, Whole
from fastmetrics.kernels import sentences as kernels
from fastmetrics.kernels.byte_search import count_characters
from fastmetrics.metrics.batch import Batch, Caution, Options, english_and_russian_words, english_words, need, no_word
from fastmetrics.metrics.pair_counts import divide
from fastmetrics.text import segmentation as segments
from fastmetrics.text.lexicons import LANGUAGES, lexicons
from fastmetrics.text.phrases import Phrases, compile_phrases
from fastmetrics.text.tokenize import Vocabulary

# Texts for the writing scores: words by sentence, and their possible roles (the writing guide).


T = TypeVar("T")

Tokenizer = Annotated[str, Choice("words", "ascii_words"), "the convention by which texts are split into words"]
Language = Annotated[str, Choice("any", *LANGUAGES), "the language of the word lists"]
Lexicons = Annotated[str | None, Folder("a folder of word lists"), "where the word lists of other languages are"]

BRIEF, LENGTHY = 2, 6
"""Length up to which a word is no content word, except in a prompt, and above which it can be sophisticated."""

Letters = Annotated[int, Whole(0, 1_000), "the length above which a word counts as sophisticated"]
"""Length above which a word can be sophisticated."""


_LISTS = "word lists", "lexicons='folder' reads those of other languages"
_ENGLISH, _BOTH = english_words(*_LISTS), english_and_russian_words(*_LISTS)
_ASCII = no_word("tokenizer='words' keeps them")


def other_scripts(options: Options) -> Caution | None:
    """The caution of the built-in word lists, or of a tokeniser that drops words."""
    if options["tokenizer"] == "ascii_words":
        return _ASCII
    if options["lexicons"] is not None:
        return None
    return _ENGLISH if options["language"] == "en" else _BOTH


def dropped_words(options: Options) -> Caution | None:
    """The caution of a tokeniser that drops words, for scores that read no word list."""
    return _ASCII if options["tokenizer"] == "ascii_words" else None


@dataclass(frozen=True, eq=False)
class Writing:
    """A column of text, its sentences, and their words."""

    text: Text
    sentences: Text
    tokens: Tokens
    vocabulary: Vocabulary
    style: Style
    memo: Memo = field(default_factory=Memo, repr=False)

    def remember(self, key: Hashable, other: Any, make: Callable[[], T]) -> T:
        """The first result of ``make`` for ``key`` and ``other``; ``other`` is kept alive with it."""
        return self.memo.remember(key, make, other)

    @property
    def groups(self) -> Ints:
        """The sentences of each row."""
        assert self.sentences.groups is not None
        return self.sentences.groups

    @functools.cached_property
    def counts(self) -> Ints:
        """The number of words in each row."""
        before = np.concatenate([[0], np.cumsum(self.tokens.counts)])
        return before[self.groups[1:]] - before[self.groups[:-1]]

    @property
    def prose(self) -> kernels.Prose:
        """The words in the form that kernels take; call it after all columns are tokenised."""
        roles = self.style.roles(self.vocabulary)
        return kernels.Prose(self.tokens.ids, self.tokens.starts, self.tokens.stops, self.groups, roles)

    def letters(self, phrases: Phrases) -> tuple[Ids, Ids, Flags]:
        """The automaton that finds ``phrases``, in the form that kernels take."""
        return phrases.letters(self.vocabulary), phrases.table, phrases.final


class Style:
    """The word lists of one language and folder, and the roles of a vocabulary's words.

    A word of more than ``letters`` letters can be sophisticated.
    """

    def __init__(self, language: str, folder: str | None, letters: int) -> None:
        self._letters = letters
        self.connectors = compile_phrases(lexicons("connectors", language, folder))
        self.summaries = compile_phrases(lexicons("summary", language, folder))
        self._lists = {
            kernels.STOP_WORD: _words("stop", language, folder),
            kernels.PRONOUN: _words("pronouns", language, folder),
            kernels.COMMON: _words("common", language, folder),
            kernels.TASK: _words("tasks", language, folder),
            kernels.QUESTION: _words("questions", language, folder),
            kernels.OPENS: tuple(dict.fromkeys([*self.connectors.first_words, *self.summaries.first_words])),
        }
        self._roles, self._is_pair = np.zeros(0, np.uint8), np.zeros(0, np.bool_)

    def roles(self, vocabulary: Vocabulary) -> Bytes:
        """The bits of ``kernels.writing`` for every word of the vocabulary."""
        first = len(self._roles)
        words_of = vocabulary.convention.words_of
        ids = {role: vocabulary.ids_of(words_of(words)) for role, words in self._lists.items()} if first == 0 else {}
        for phrases in (self.connectors, self.summaries) if first == 0 else ():
            phrases.letters(vocabulary)
        if first < len(vocabulary):
            new = vocabulary.spelled(first)
            size = count_characters(new.data, new.starts, new.stops)
            bits = np.where(size <= BRIEF, kernels.BRIEF, 0) + np.where(size > self._letters, kernels.LENGTHY, 0)
            self._roles = np.concatenate([self._roles, bits.astype(np.uint8)])
            self._is_pair = np.concatenate([self._is_pair, size == BRIEF])
        for role, words in ids.items():
            self._roles[words] |= np.uint8(role)
        return self._roles

    def prompt_roles(self, vocabulary: Vocabulary) -> Bytes:
        """The roles in a prompt, where a word of two characters can be a keyword, as in "What is AI?"."""
        roles = self.roles(vocabulary)
        return np.where(self._is_pair, roles & ~np.uint8(kernels.BRIEF), roles)


def _words(name: str, language: str, folder: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for line in lexicons(name, language, folder) for word in line.split()))


@dataclass(frozen=True)
class WritingOptions:
    """How texts are split into words, and the lists of words."""

    tokenizer: Tokenizer = "words"
    language: Language = "any"
    lexicons: Lexicons = None


def writing_in(batch: Batch, column: str, options: Mapping[str, Any]) -> Writing:
    """Text by sentence under the option ``tokenizer``, with the word lists of ``language`` and ``lexicons``."""
    lists = options["language"], options["lexicons"], options.get("sophisticated_letters", LENGTHY)
    key = "writing", column, options["tokenizer"], lists
    return batch.remember(key, lambda: _writing(batch, column, options["tokenizer"], lists))


Prose = Annotated[Writing, need(writing_in, convention="words", options=WritingOptions)]


def _writing(batch: Batch, column: str, tokenizer: str, lists: tuple[str, str | None, int]) -> Writing:
    text, vocabulary = batch.text(column), batch.vocabulary(tokenizer)
    cut = batch.remember(("sentences", column), lambda: segments.sentences(text))
    tokens = batch.remember(("sentence tokens", column, tokenizer), lambda: _in_order(vocabulary.tokenize(cut)))
    style = batch.words.remember(("style", tokenizer, lists), lambda: Style(*lists))
    return Writing(text, cut, tokens, vocabulary, style)


def _in_order(tokens: Tokens) -> Tokens:
    """The tokens of the texts in order; rare strings are tokenised last."""
    if np.array_equal(tokens.starts[1:], tokens.stops[:-1]):
        return tokens
    bounds = np.concatenate([[0], np.cumsum(tokens.counts)])
    ids = tokens.ids[np.arange(bounds[-1]) + np.repeat(tokens.starts - bounds[:-1], tokens.counts)]
    return Tokens(ids, bounds[:-1], bounds[1:], tokens.n_words)


def asks(writing: Writing) -> Flags:
    """Whether each sentence ends with a question mark."""
    n = len(writing.sentences)
    following = np.empty(n, np.int64)
    following[:-1] = writing.sentences.starts[1:]
    last = writing.groups[1:][np.diff(writing.groups) > 0] - 1
    following[last] = writing.text.stops[np.diff(writing.groups) > 0]
    return kernels.holds_mark(writing.text.data, writing.sentences.stops, following)


# The formulas of the components of the writing scores, over counts that are computed once per batch.


LENGTH_RATIO = 2.5
"""Optimal number of words of an answer per word of its question."""
LengthRatio = Annotated[
    float, Real(0.001, 1_000.0), "the optimal number of words of an answer per word of its question"
]

CONNECTOR_SHARE = 0.3
"""Connectors per sentence that give the full score."""
ConnectorShare = Annotated[float, Real(0.001, 1_000.0), "connectors per sentence that give the full score"]

TopicThreshold = Annotated[float, Real(0.0, 1.0), "topic shifts per sentence that do not reduce the score"]
"""Topic shifts per sentence that do not reduce the score; 0 reduces it from the first shift on."""

PARAGRAPH_WORDS = 100
ParagraphWords = Annotated[int, Whole(1, MOST), "the words of a paragraph in a text of the best structure"]

OPENING, CLOSING = 20, 15
"""Minimum lengths of the first and the last sentence, in characters (exclusive)."""
Opening = Annotated[int, Whole(0, MOST), "the characters above which a first sentence can be an introduction"]
Closing = Annotated[int, Whole(0, MOST), "the characters above which a last sentence can be a conclusion"]

REPEATS = 3
Repeats = Annotated[int, Whole(1, MOST), "the occurrences above which a word is repeated"]
Counted = Annotated[
    str, Choice("words", "tokens"), "what is counted of repeated words: each once, or all their occurrences"
]

KEYWORD_SHARE = 0.6
KeywordShare = Annotated[float, Real(0.0, 1.0), "the part of keywords in the coverage; the rest is that of the length"]


def ties(
    answer: Writing, connector_share: float = CONNECTOR_SHARE, topic_threshold: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Connector, pronoun and topic scores; the counts are computed once per batch."""
    connectors, pronouns, unclear, shifts = answer.remember("ties", None, lambda: _count_ties(answer))
    sentences = np.diff(answer.groups)
    connector = np.minimum(divide(connectors, np.multiply(sentences, connector_share), empty=0.0), 1.0)
    shifting = divide(shifts, sentences, empty=0.0)
    shifting[shifting <= topic_threshold] = 0.0
    topic = np.where(sentences > 1, 1.0 - shifting, np.nan)
    return connector, 1.0 - divide(unclear, pronouns, empty=0.0), topic


def _count_ties(answer: Writing) -> Ints:
    """Connectors, pronouns, unclear pronouns and topic shifts."""
    prose = answer.prose
    return kernels.count_ties(prose, *answer.letters(answer.style.connectors))


def fulfilment(
    question: Writing, answer: Writing, length_ratio: float = LENGTH_RATIO, keyword_share: float = KEYWORD_SHARE
) -> tuple[Floats, Floats, Floats]:
    """Coverage, question and task scores; the counts are computed once per batch."""
    counts = answer.remember("fulfilment", question, lambda: _count_fulfilled(question, answer))
    keywords, matched, questions, answered, tasks, fulfilled = counts
    expected = np.multiply(question.counts, length_ratio)
    length = np.minimum(divide(answer.counts, expected, empty=1.0), 1.0)
    coverage = keyword_share * divide(matched, keywords, empty=1.0) + (1.0 - keyword_share) * length
    return coverage, divide(answered, questions, empty=np.nan), divide(fulfilled, tasks, empty=np.nan)


def _count_fulfilled(question: Writing, answer: Writing) -> Ints:
    """Keywords, those in the answer, questions, answered questions, tasks, fulfilled tasks."""
    prose, prompt = answer.prose, question.prose
    prompt = prompt._replace(roles=question.style.prompt_roles(question.vocabulary))
    return kernels.count_fulfilled(prompt, asks(question), prose)


def building(
    question: Writing | None,
    answer: Writing,
    paragraph_words: int = PARAGRAPH_WORDS,
    opening: int = OPENING,
    closing: int = CLOSING,
) -> tuple[Floats, Floats, Floats]:
    """Paragraph, introduction and conclusion scores; the last two are computed once per batch."""
    optimal = -(-answer.counts // paragraph_words)
    paragraphs = answer.remember("paragraphs", None, lambda: _paragraphs(answer))
    key = "parts", opening, closing
    opens, closes = answer.remember(key, question, lambda: _find_parts(question, answer, opening, closing))
    return np.minimum(divide(paragraphs, optimal, empty=0.0), 1.0), opens, closes


def _find_parts(question: Writing | None, answer: Writing, opening: int, closing: int) -> tuple[Floats, Floats]:
    """Introduction and conclusion scores."""
    prose = answer.prose
    empty = prose._replace(groups=np.zeros(len(prose.groups), np.int64))
    topics = empty if question is None else question.prose
    flags = kernels.opens_and_closes(topics, prose, *answer.letters(answer.style.summaries))
    opens = flags[0] & (_size(answer, answer.groups[:-1]) > opening)
    closes = flags[1] & (_size(answer, answer.groups[1:] - 1) > closing)
    return opens.astype(np.float64), closes.astype(np.float64)


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


def kinds(answer: Writing, repeats: int = REPEATS, counted: str = "words") -> tuple[Floats, Floats, Floats]:
    """Diversity, sophistication and repetition scores; the counts are computed once per batch."""
    words, distinct, sophisticated, repeated, occurrences = answer.remember(
        ("kinds", repeats), None, lambda: kernels.count_kinds(answer.prose, repeats)
    )
    again = repeated if counted == "words" else occurrences
    shares = (divide(count, words, empty=np.nan) for count in (distinct, sophisticated, again))
    diversity, sophistication, repetition = shares
    return diversity, sophistication, 1.0 - repetition
