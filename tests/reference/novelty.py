"""What an answer adds to its contexts: new words, pairs, names, numbers and negations, in plain Python over strings."""

import itertools
import math

from tests.reference.claims import SILENT, ends_sentence, stem
from tests.reference.marks import marks, word_list
from tests.reference.text import words
from tests.reference.values import supported, values

NEGATIONS = word_list("negations")
CONTRACTED = word_list("contracted")
"""The words before the "t" of "n't"."""
REACH = 3
"""A negation negates this many words after it."""


def rate(hits: list[bool]) -> float:
    """The share of true values; undefined without any."""
    return sum(hits) / len(hits) if hits else math.nan


def is_negation(tokens: list[str], k: int) -> bool:
    """Whether word k negates."""
    return tokens[k] in NEGATIONS or (tokens[k] == "t" and k > 0 and tokens[k - 1] in CONTRACTED)


def polar_words(text: str) -> list[tuple[str, bool]]:
    """The stems of the content words, and whether one of the three words before each negates."""
    tokens = words(text)
    negations = {k for k in range(len(tokens)) if is_negation(tokens, k)}
    content = [k for k, word in enumerate(tokens) if word not in SILENT | NEGATIONS]
    return [(stem(tokens[k]), bool(negations & set(range(k - REACH, k)))) for k in content]


def novel_word_rate(answer: str, contexts: list[str]) -> float:
    """The share of the answer's content words whose stem no context contains."""
    stems = {word for context in contexts for word, _ in polar_words(context)}
    return rate([word not in stems for word, _ in polar_words(answer)])


def novel_bigram_rate(answer: str, contexts: list[str]) -> float:
    """The share of the answer's pairs of adjacent words that are adjacent in no context."""
    pairs = {pair for context in contexts for pair in itertools.pairwise(words(context))}
    return rate([pair not in pairs for pair in itertools.pairwise(words(answer))])


def novel_name_rate(answer: str, contexts: list[str]) -> float:
    """The share of the answer's capitalised words within sentences that no context contains."""
    vocabulary = {word for context in contexts for word in words(context)}
    tokens = marks(answer)
    inner = [word for before, word in itertools.pairwise(tokens) if not ends_sentence(before)]
    return rate([word.low not in vocabulary for word in inner if word.raw[0].isupper() and word.low not in SILENT])


def novel_number_rate(answer: str, contexts: list[str]) -> float:
    """The share of the answer's numbers, dates and times that no context contains."""
    stated = [value for context in contexts for value in values(marks(context))]
    return rate([not supported(value, stated) for value in values(marks(answer)) if value[0] != "weak"])


def negation_mismatch(answer: str, contexts: list[str]) -> float:
    """The share of the answer's content words in the contexts that are negated on one side alone."""
    pairs = {pair for context in contexts for pair in polar_words(context)}
    stems = {word for word, _ in pairs}
    return rate([(word, negated) not in pairs for word, negated in polar_words(answer) if word in stems])
