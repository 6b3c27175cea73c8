"""Abstention (the RAG project): answers that say "I don't know", and such sentences with a citation.

The built-in phrases are English and Russian.  Answers in other scripts than Latin and Cyrillic are counted, and a
summary notes them; other languages in these two scripts (German, Ukrainian) are not told apart from English and
Russian.  The option ``phrases`` replaces the phrases, and with them the note.

**Abstention.** An answer abstains if, as a whole, it says "I don't know". A sentence says so if it contains one of the
phrases, unless the phrase is one of several choices ("… or I don't know"), doubts an answer before it ("It is 5, but
I'm not sure"), speaks of a work ("not mentioned in the novel"), or a "but" follows with four or more words, or with a
name or a number ("but it was Paris"). At most eight words, apologies excluded, may precede the phrase, and no
later sentence may start an answer ("However, …"). An answer beside it is an answer: a statement before it ("Paris. I
don't know."), or after one that leaves the rest open ("I don't know exactly. It was …"); what is about the passages or
the question is none. An empty answer does not abstain. The phrases are English and
Russian; an option replaces them, and with them the note on other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ids, Ints, Text, Tokens, arrow_texts
from fastmetrics.base.options import LimitedTexts
from fastmetrics.base.patterns import Pattern, UserPattern
from fastmetrics.kernels import sentences as kernels
from fastmetrics.metrics.batch import Batch, Caution, Options, english_and_russian_words, need
from fastmetrics.metrics.metric import metric
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.phrases import Phrases, compile_phrases
from fastmetrics.text.segmentation import statements
from fastmetrics.text.tokenize import Vocabulary

PHRASES = lexicon("abstain")
"""The default phrases for "I don't know", in English and Russian."""

WHOLE = lexicon("abstain_whole")
"""Sentences that say so as a whole: "Unknown." does, and "the unknown soldier" does not."""

Patterns = Annotated[tuple[str, ...], LimitedTexts(what="phrases"), "phrases that say that the answer is not known"]
Citation = Annotated[str, Pattern(), "what a citation mark looks like"]

PREAMBLE = 8
"""Maximum number of words in the sentences before an "I don't know"."""

BUT = ("but", "however", "но", "однако")
YES = ("yes", "да")

TURN = 4
"""Number of words after a "but" that count as an answer; fewer do if one of them is a name or a number."""

_CITED = re.compile(r"\[[0-9][0-9, ]*\]")


@dataclass(frozen=True, eq=False)
class Refusals:
    """The answers that contain a phrase, split into sentences; ``rows`` are their rows among all ``n_rows``.

    Answer i has the sentences ``groups[i]:groups[i + 1]``; ``idk`` marks the sentences that say "I don't know",
    ``filler`` marks sentences with an apology or similar words, ``turns`` those that begin an answer with a "but",
    ``openings`` is the first word of each sentence that is not a number, and ``answers`` marks those that give an
    answer by themselves.
    """

    n_rows: int
    rows: Ints
    groups: Ints
    sentences: Text
    tokens: Tokens
    idk: Flags
    filler: Flags
    turns: Flags
    openings: list[str]
    answers: Flags


@dataclass(frozen=True)
class PhrasesOption:
    """The phrases of abstention."""

    phrases: Patterns = PHRASES


def refusals_in(batch: Batch, column: str, options: Mapping[str, Any]) -> Refusals:
    """The answers of a column that may say "I don't know"; other answers need no further check."""
    phrases = tuple(options["phrases"])
    return batch.remember(("refusals", column, phrases), lambda: _refusals(batch, column, phrases))


Answers = Annotated[Refusals, need(refusals_in, convention="words", options=PhrasesOption)]


def _refusals(batch: Batch, column: str, patterns: tuple[str, ...]) -> Refusals:
    phrases = compile_phrases(patterns)
    words, vocabulary = batch.tokens(column, "words"), batch.vocabulary("words")
    holding = _hold_phrase(words.ids, words.starts, words.stops, vocabulary, phrases)
    if patterns == PHRASES:
        holding |= _hold_phrase(words.ids, words.starts, words.stops, vocabulary, compile_phrases(WHOLE))
    rows = np.flatnonzero(holding)
    sentences = statements(batch.text(column).take(rows))
    assert sentences.groups is not None
    tokens = vocabulary.tokenize(sentences)
    strings = sentences.strings()
    filler, whole, answers, partial, tells, openings = _looks(strings)
    affirms = np.array([opening in YES for opening in openings], np.bool_)
    named = _names_after_but(tokens, strings, vocabulary)
    idk = _says_idk(batch, tokens, phrases, filler, named) & ~affirms & ~tells
    if patterns == PHRASES:
        idk |= whole
    contrast = set(lexicon("contrast"))
    turns = np.array([word in contrast for word in openings], np.bool_) & (tokens.counts > TURN)
    # Models that reach their limit stop within a sentence: "However, context 1".
    whole_but = [word in BUT and not text[-1].isalnum() for word, text in zip(openings, strings, strict=True)]
    turns |= named & np.array(whole_but, np.bool_)
    answers &= ~idk
    # "I don't know exactly." leaves something that an answer may follow.
    left = np.cumsum(idk & partial)
    before = np.repeat(np.append(0, left)[sentences.groups[:-1]], np.diff(sentences.groups))
    turns |= answers & (left > before)
    return Refusals(batch.n_rows, rows, sentences.groups, sentences, tokens, idk, filler, turns, openings, answers)


def _hold_phrase(ids: Ids, starts: Ints, stops: Ints, vocabulary: Vocabulary, phrases: Phrases) -> Flags:
    """Whether each text contains a phrase."""
    openings, letters = phrases.openings(vocabulary), phrases.letters(vocabulary)
    return kernels.holds_phrase(ids, starts, stops, openings, letters, phrases.table, phrases.final)


def _names_after_but(tokens: Tokens, strings: list[str], vocabulary: Vocabulary) -> Flags:
    """Whether the words after the last "but" of each sentence, fewer than ``TURN``, have a name or a number.

    That is a word that no small letter begins, as in "but it was Paris", other than "I" and the number of a citation.
    """
    named = np.zeros(len(strings), np.bool_)
    last = np.maximum(tokens.stops - TURN, tokens.starts)
    left = kernels.words_after(tokens.ids, last, tokens.stops, vocabulary.places_in(BUT))
    for sentence in np.flatnonzero(left > 0).tolist():  # few: most are longer
        text = _CITED.sub(lambda mark: re.sub("[0-9]+", "x", mark[0]), strings[sentence])
        words = re.findall(r"\w+", text)[-left[sentence] :]
        named[sentence] = any(not word[0].islower() and word != "I" for word in words)
    return named


def _looks(strings: list[str]) -> tuple[Flags, Flags, Flags, Flags, Flags, list[str]]:
    """Whether each sentence contains filler, is one of ``WHOLE``, gives an answer, ends with what it leaves open, and
    tells something beside its phrase; and its first word that is not a number.

    In Python, for few sentences: refusals are often identical.
    """
    fillers = re.compile("|".join(map(re.escape, lexicon("filler"))))
    looks = {}
    for sentence in set(strings):
        words = re.findall(r"\w+", sentence.lower())
        spoken = " ".join(words)
        has_filler = fillers.search(spoken) is not None
        answers = not has_filler and _ANSWERS.match(sentence) is not None and ABOUT.search(spoken) is None
        first = next((word for word in words if not word.isdigit()), "")
        is_partial, tells = PARTIAL.search(sentence) is not None, not has_filler and tells_more(sentence)
        looks[sentence] = has_filler, spoken in WHOLE, answers, is_partial, tells, first
    found = [looks[sentence] for sentence in strings]
    filler, whole, gives, partial, tells_some = (np.array([one[at] for one in found], np.bool_) for at in range(5))
    return filler, whole, gives, partial, tells_some, [one[-1] for one in found]


def tells_more(sentence: str) -> bool:
    """Whether a sentence gives an answer that it doubts, "It is 5, but I'm not sure", or tells of a work, as does "his
    name is not mentioned in the book"."""
    work = OF_WORK.search(sentence)
    if work is not None:
        return ABOUT.search(sentence[work.end() :].lower()) is None
    doubted = DOUBTED.search(sentence)
    if doubted is None:
        return False
    said = _ANSWER_IS.sub("", doubted["said"].lower())
    return re.search(r"\w", doubted["said"]) is not None and ABOUT.search(said) is None and not NEGATED.search(said)


DOUBTED = re.compile(
    r"^(?!\W*(?:I|We|My|As|Я|Мы)\b(?!\W+(?:think|believe|guess|suppose|assume|думаю|полагаю|считаю)\b))(?P<said>.*)"
    r"\b(?:but|though|although|но|хотя)\W+(?:(?:I|we)\W*(?:am|m|are|re)\W+(?:not\W+(?:\w+\W+){0,2}(?:sure|certain)"
    r"|unsure|uncertain)|(?:(?:я|мы)\W+)?(?:\w+\W+)?не\W+(?:\w+\W+)?уверен[аы]?)\b",
    re.IGNORECASE | re.DOTALL,
)
"""An answer that the one who gives it is not sure of."""
_ANSWER_IS = re.compile(r"\b(?:answers? (?:is|was|may be|might be|could be|would be)|ответ)\b")
NEGATED = re.compile(r"\b(?:not?|n['’]t|cannot|nothing|не|нет)\b|n['’]t\b")
OF_WORK = re.compile(
    r"(?:\b(?:not|never)|n['’]t)\s+(?:\w+ly\s+)?(?:mentioned|specified|stated)\s+(?:in|throughout|by|during|at|on|until)\b"
    r"|\bне\s+(?:упомина\w+|указ\w+|назван\w*|сообща\w+|уточня\w+)\s+(?:в|во|на|до|при)\b",
    re.IGNORECASE,
)
"""What is said of a book or a film: "his name is not mentioned in the novel"."""


_ANSWERS = re.compile(r"(?!\W*(?:I|We|My|As|Я|Мы)\b)\W*\w.*[.!…]\W*\Z", re.DOTALL)
"""A statement of somebody else than the one who answers."""
ABOUT = re.compile(
    r"\b(?:contexts?|passages?|documents?|texts?|articles?|sources?|information|snippets?|excerpts?|results?|answers?"
    r"|questions?|knowledge|materials?|documentation|provided|given|mention\w*|instructions?|example|note|hmm+|well|ok|okay|sure|hello|hi|yes|no|let|ai"
    r"|model|assistant|контекст\w*|документ\w*|текст\w*|стать\w*|источник\w*|информаци\w*|материал\w*|базе|данн\w+|ответ\w*|вопрос\w*|да|нет|ну|хм"
    r"|пример|модель)\b"
)
"""Words of sentences about what was asked or retrieved, and of those that say nothing."""
PARTIAL = re.compile(
    r"\b(?:exactly|precisely|for sure|for certain|certain|when|where|who|why|how|which|how (?:many|much|long|old|far)"
    r"|the (?:exact|precise) \w+|точно|наверняка|когда|где|кто|почему|как|сколько)\W*\Z",
    re.IGNORECASE,
)
"""The end of an "I don't know" that leaves the rest open."""


def _says_idk(batch: Batch, tokens: Tokens, phrases: Phrases, filler: Flags, named: Flags) -> Flags:
    """Whether each sentence contains a phrase that is not one of several choices and not followed by a "but"."""
    vocabulary = batch.vocabulary("words")
    contrast, choice, but = map(vocabulary.places_in, (lexicon("contrast"), ("or", "или"), BUT))
    letters = phrases.letters(vocabulary)
    begins, ends = kernels.last_phrase(tokens.ids, tokens.starts, tokens.stops, letters, phrases.table, phrases.final)
    has_phrase = ends >= 0
    after = tokens.starts + np.maximum(ends, 0)
    words_left = kernels.words_after(tokens.ids, after, tokens.stops, contrast)
    named = named & (kernels.words_after(tokens.ids, after, tokens.stops, but) > 0)
    before = tokens.ids[np.maximum(tokens.starts + begins - 1, 0)[has_phrase]]
    offered = np.zeros(len(has_phrase), np.bool_)
    offered[has_phrase] = (begins[has_phrase] > 0) & (choice[before] >= 0)
    before_but = _words_before_but(tokens, begins, but)
    ends_there = tokens.starts + before_but
    again = _hold_phrase(tokens.ids, tokens.starts, ends_there, vocabulary, phrases)
    answered = (before_but > PREAMBLE) & ~filler & ~again
    return has_phrase & ~offered & ~answered & (words_left < TURN) & ~named


def _words_before_but(tokens: Tokens, begins: Ints, but: Ids) -> Ints:
    """The number of words of each sentence before the last "but" that precedes the word ``begins``; 0 without one."""
    last = np.maximum.accumulate(np.where(but[tokens.ids] >= 0, np.arange(len(tokens.ids)), -1))
    inside = np.flatnonzero(begins > 0)
    counts = np.zeros(len(begins), np.int64)
    counts[inside] = np.maximum(last[tokens.starts[inside] + begins[inside] - 1] - tokens.starts[inside], 0)
    return counts


def check_phrases(phrases: tuple[str, ...], **_: object) -> None:
    """Raise ``OptionError`` for phrases that cannot be compiled."""
    compile_phrases(phrases)


_OTHER_SCRIPTS = english_and_russian_words("phrases", "phrases=[...] sets those of other languages")


def other_scripts(options: Options) -> Caution | None:
    """The caution of the built-in phrases; None for the user's own."""
    return _OTHER_SCRIPTS if options["phrases"] == PHRASES else None


@metric(
    bounds=(0, 1),
    better=None,
    source="S1, abstain rate",
    labels={"mean": "abstain_rate"},
    check=check_phrases,
    caution=other_scripts,
    cues=["abstention", "refusal", "refusal_rate"],
)
def abstained(answer: Answers) -> Floats:
    """1 if the answer as a whole says "I don't know" in English or Russian, else 0.

    A sentence says "I don't know" if it contains one of ``phrases`` (compared as ``words``; ``(a|b)`` matches either,
    ``[a]`` matches a or nothing); set them for other languages.  Exceptions: the phrase is one of several choices ("…
    or I don't know"), four or more words follow a "but" after the phrase, or fewer with a name or a number ("but it was
    Paris"), more than eight words without a phrase precede a "but" before it, it doubts an answer ("It is 5, but I'm
    not sure") or speaks of a work ("not mentioned in the novel"), or the sentence starts with "Yes".  The
    answer abstains if at most eight words precede such a sentence, excluding apologies and with no statement but on
    the passages or the question, and no later sentence turns to an answer ("However, …", or any after "I don't know
    exactly").  Other sentences of any length may follow and give reasons.  An empty answer does not abstain.

    A summary notes answers in other scripts than Latin and Cyrillic.  It does not note other languages in these two
    scripts, such as German: short answers have too few words to recognise their language.

    >>> import fastmetrics as fm
    >>> fm.abstained(["I'm sorry, I don't know.", "I don't know who, but it was Paris.", "Paris. I don't know."])
    array([1., 0., 0.])
    """
    sizes = answer.tokens.counts
    affirms = np.array([word in YES for word in answer.openings], np.bool_)
    weights = np.where(affirms | answer.answers, PREAMBLE + 1, sizes)
    result = np.zeros(answer.n_rows)
    result[answer.rows] = kernels.abstains(answer.groups, answer.idk, answer.filler, answer.turns, weights, PREAMBLE)
    return result


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, IDK + citation count",
    statistics=("sum",),
    labels={"sum": "IDK+Cit Count"},
    check=check_phrases,
    caution=other_scripts,
)
def idk_citations(answer: Answers, *, phrases: Patterns = PHRASES, pattern: Citation = r"\[\d+\]") -> Floats:
    """Number of "I don't know" sentences of the answer with a citation; the sum over a table should be 0.

    A summary adds this sum, and ``gate`` takes it: ``idk_citations.sum <= 0``.

    Sentences are split as for grounding and include the citations that follow them.  ``phrases`` is as in
    ``abstained``; ``pattern`` is the regular expression of a citation.

    >>> import fastmetrics as fm
    >>> fm.idk_citations(["I don't know. [2] Ask again.", "Paris [1]."])
    array([1., 0.])
    """
    counts = np.zeros(answer.n_rows)
    rows = np.repeat(answer.rows, np.diff(answer.groups))[answer.idk]
    sentences = answer.sentences.take(np.flatnonzero(answer.idk)).strings()
    np.add.at(counts, rows[UserPattern(pattern).is_in(arrow_texts(sentences))], 1.0)
    return counts
