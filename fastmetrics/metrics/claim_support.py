"""The anchors of answers and their support by the contexts, the basis of the hallucination scores.

**Claims.** An assertive claim is one anchor, the source's triple of subject, verb and object. Its rules fill what the
source leaves open:

- *Clauses.* A verb is a word of the list ``assertive`` or a word that ends in "ed". Each verb, or group of verbs with
  at most two stop words between them, makes a clause and each clause at most one triple; a list of objects is one
  object. A hedge ("may", "suggests") voids its own clause; "I think" does not. A question claims nothing, but its
  numbers are anchors as everywhere. Numbers of list items and citation marks are no words of a claim.
- *Subject*: the content words between the last punctuation and the verb. A clause without them has the subject of the
  clause before; a third-person pronoun refers to the subject of the previous sentence. "I", "we" and "you" are words
  that a context must contain.
- *Object*: the content words from the verb to the next verb, or to the punctuation before the next clause's subject.
  Without any, the verb is the object ("the tower closed"), or, if it says nothing ("it is"), there is no claim. A
  sentence without a verb is an object without a subject; so is each line of a list.
- *Numbers and dates* are anchors of their own and words of no triple. If nothing else is left of an object, they alone
  are checked. One that no context has also fails the claim of its clause ("a profit of -12 million"), except behind a
  word of the list ``apart`` ("in 1998"): of the 71 answers of five labelled tables that fail the verdict for this
  alone, 61 are unsupported, and the AUC of no table falls by more than 0.0006.
- *Support*: one stretch of one context must contain three quarters of the subject's stems and three quarters of the
  object's (of one, two or three: all), with no two further apart than ``window`` words. A subject that no context
  contains is thus unsupported. The verb is not compared: the source asks for subject and object only ("released" for
  "announced"). Of the shares a half, two thirds, three quarters and all, three quarters agreed best with labels:
  docs/studies/validity.md has the study, also of ``claims="words"``.

With ``claims="words"``, a triple is checked word by word, so one wrong word does not fail a long claim. Each content
word of an object must occur near a word of its subject, and each content word before a sentence's first verb near a
word of its object. A subject that no context mentions is unsupported. If that subject is a name (a capital within the
sentence), its objects are unsupported too; otherwise they only need to occur, since "the firm" may stand for a name in
the context.
"""

from __future__ import annotations

import functools
import importlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints, Memo, Text, Tokens
from fastmetrics.base.errors import MissingExtraError, OptionError
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import NameOrObject, NotAllowedError
from fastmetrics.kernels import claim_support
from fastmetrics.kernels import claims as claim_kernels
from fastmetrics.kernels import claims as clause_kernels
from fastmetrics.kernels import claims as kernels
from fastmetrics.kernels import values as value_kernels
from fastmetrics.kernels.claim_support import ClaimRules, claims_hold
from fastmetrics.kernels.claims import Claims
from fastmetrics.kernels.located_words import Marks
from fastmetrics.kernels.values import DATE, NUMBER, TIME, WEAK, WEEKDAY, Values
from fastmetrics.metrics.batch import Batch
from fastmetrics.metrics.pair_counts import divide
from fastmetrics.text import conventions
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.text.word_roles import Senses, ids_of_marks, pick, scan, word_list

# Comparing values through sets, for rows with too many values to compare all pairs.
#
# The rules are those of ``kernels.support``, which is faster for few values.


HALF_DAY = 720
"""Minutes between the two readings of a 12-hour time."""


def among(answer: Values, first: int, last: int, context: Values, context_first: int, context_last: int) -> list[bool]:
    """Whether each of the values ``first:last`` is among the known ones from ``context_first`` to ``context_last``."""
    keys = {key for value in _of(context, context_first, context_last) for key in _keys(*value)}
    return [_holds(keys, *value) for value in _of(answer, first, last)]


def _of(values: Values, first: int, last: int) -> Iterator[tuple[int, float, float]]:
    columns = (values.kinds, values.a, values.b)
    return zip(*(column[first:last].tolist() for column in columns), strict=True)


def _keys(kind: int, a: float, b: float) -> list[tuple[Any, ...]]:
    """All keys that match a known value."""
    if kind in (NUMBER, WEAK):
        return [("number", a), ("number", a, b)]
    if kind == TIME:
        return [("time", a), ("either", a % HALF_DAY), *([("open", a % HALF_DAY)] if b else [])]
    if kind == WEEKDAY:
        return [("weekday", a)]
    return [
        ("date", year, month, day)
        for date in (a, b)
        if date >= 0
        for year in (date // 10000, None)
        for month in (date // 100 % 100, None)
        for day in (date % 100, None)
    ]


def _holds(keys: set[tuple[Any, ...]], kind: int, a: float, b: float) -> bool:
    if kind == NUMBER:
        return ("number", a, b) in keys or ("number", a, 0.0) in keys if b else ("number", a) in keys
    if kind == TIME:
        return ("time", a) in keys or ("either" if b else "open", a % HALF_DAY) in keys
    if kind == WEEKDAY:
        return ("weekday", a) in keys
    return kind == DATE and any(_agrees(keys, date) for date in (a, b) if date >= 0)


def _agrees(keys: set[tuple[Any, ...]], date: float) -> bool:
    """Whether a known date has all parts of this date; its year may be elsewhere."""
    year, month, day = date // 10000, date // 100 % 100 or None, date % 100 or None
    if ("date", year or None, month, day) in keys:
        return True
    return ("number", year) in keys and ("date", 0.0, month, day) in keys


# Claims from the dependency parses of a user's spaCy pipeline (the answer checks).


Pipeline = Callable[[str], Any]
"""A function from a text to a document of sentences (``sents``) of tokens with ``idx``, ``text``, ``lemma_``, ``dep_``
and ``head``.
"""

MODEL = "en_core_web_sm"
SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
RELATIVE = frozenset({"relcl", "acl:relcl"})

_lock = threading.Lock()  # one thread at a time: some pipeline components are not thread-safe


@functools.lru_cache(maxsize=4)
def load(name: str) -> Pipeline:
    """The pipeline for ``spacy`` or ``spacy:MODEL``."""
    model = name.partition(":")[2] or MODEL
    try:
        spacy = importlib.import_module("spacy")
    except ImportError as error:
        raise MissingExtraError.of("spacy", "spacy") from error
    try:
        pipeline: Pipeline = spacy.load(model)
    except OSError as error:
        raise OptionError(f"option 'claims': spaCy has no model {model!r}: python -m spacy download {model}") from error
    return pipeline


def parsed_claims(text: Text, bounds: Ints, roles: Bytes, source: str | Pipeline) -> Claims:
    """The claims of every text in the form that kernels take; its words start at ``bounds``."""
    with _lock:
        pipeline = load(source) if isinstance(source, str) else source
    triples: list[_Triple] = []
    ends = np.zeros(len(bounds), np.int64)
    for row in range(len(text)):
        string = text.data[text.starts[row] : text.stops[row]].tobytes().decode()
        words = _Words(string, int(bounds[row]), roles)
        if string.strip():
            with _lock:
                document = pipeline(string)
            triples += _triples(document, words)
        ends[row + 1] = len(triples)
    sides = [side for triple in triples for side in (triple.subject, triple.target)]
    edges = np.cumsum([0, *map(len, sides)])
    firsts, lasts = np.array([triple.span for triple in triples], np.int64).reshape(-1, 2).T.copy()
    flat = np.array([word for side in sides for word in side], np.int64)
    starts, middles, stops = edges[:-1:2].copy(), edges[1::2].copy(), edges[2::2].copy()
    none, vague = np.zeros(len(triples), np.int64), np.zeros(len(triples), np.bool_)
    return Claims(flat, starts, middles, middles, stops, firsts, lasts, none, none, vague, ends)


class _Words:
    """The words of one text, by their first character."""

    def __init__(self, string: str, first: int, roles: Bytes) -> None:
        self.numbers = {match.start(): first + k for k, match in enumerate(re.finditer(r"\w+", string))}
        self.roles = roles

    def of(self, token: Any) -> list[int]:
        """The words that start within a token."""
        places = range(token.idx, token.idx + len(token.text))
        return [self.numbers[place] for place in places if place in self.numbers]

    def names(self, tokens: list[Any]) -> list[int]:
        """The words of the tokens that form subjects and objects."""
        words = sorted(word for token in tokens for word in self.of(token))
        return [word for word in words if kernels.is_name(int(self.roles[word]))]

    def anchored(self, tokens: list[Any]) -> list[int]:
        """Those of the words that are no part of a number or date."""
        return [word for word in self.names(tokens) if not self.roles[word] & kernels.VALUE]


class _Triple(NamedTuple):
    """The words of a subject and of an object, and the first and last word to show."""

    subject: list[int]
    target: list[int]
    span: tuple[int, int]


def _triples(document: Any, words: _Words) -> Iterator[_Triple]:
    """One triple for each clause with an object that is not only numbers and dates."""
    subject: list[int] = []
    for sentence in document.sents:
        tokens = list(sentence)
        if any("?" in token.text for token in tokens):
            continue
        for who, verb, what in _clauses(tokens):
            anchored = words.anchored(who)
            if words.names(who):
                subject = anchored
            target = words.anchored(what if words.names(what) else [verb])
            if target:
                shown = [*anchored, *words.of(verb), *target]
                yield _Triple(subject, target, (min(shown), max(shown)))


def _clauses(tokens: list[Any]) -> Iterator[tuple[list[Any], Any, list[Any]]]:
    """The asserting clauses of a sentence: subject, verb, and all else below the verb except separate clauses."""
    children = defaultdict(list)
    for token in tokens:
        if token.head.idx != token.idx:
            children[token.head.idx].append(token)
    subjects = {
        verb.idx: [child for child in children[verb.idx] if child.dep_ in SUBJECTS]
        for verb in tokens
        if any(child.dep_ in SUBJECTS for child in children[verb.idx])
    }
    for token in tokens:  # "sat and ate": a conjoined verb inherits the subject of the first
        if token.dep_ == "conj" and token.idx not in subjects and token.head.idx in subjects:
            subjects[token.idx] = [] if token.head.dep_ in SUBJECTS else subjects[token.head.idx]
    for verb in tokens:
        if verb.idx not in subjects or _is_guess(verb, children):
            continue
        own = subjects[verb.idx]
        who = [part for child in own for part in _below(child, children, subjects)]
        if verb.dep_ in RELATIVE:
            who.append(verb.head)
        others = [child for child in children[verb.idx] if child.dep_ not in SUBJECTS and child.idx not in subjects]
        yield who, verb, [part for child in others for part in _below(child, children, subjects)]


def _is_guess(verb: Any, children: Any) -> bool:
    hedges = _hedges()
    words = [verb.lemma_, verb.text, *(child.text for child in children[verb.idx])]
    return any(word.lower() in hedges for word in words)


@functools.cache
def _hedges() -> frozenset[str]:
    return frozenset(word_list("hedges"))


def _below(token: Any, children: Any, clauses: Any) -> Iterator[Any]:
    """A token and everything below it except separate clauses."""
    yield token
    for child in children[token.idx]:
        if child.idx not in clauses:
            yield from _below(child, children, clauses)


# The anchors of answers and their support by the contexts, the basis of the hallucination scores.


ANCHOR_KINDS = ("number", "date", "time", "weekday", "claim")
"""The kinds of anchors."""

TRIPLES, WORDS = "triples", "words"
"""Claims by rules: one for each clause, or one for each of its words."""


@dataclass(frozen=True)
class _ClaimSource(NameOrObject):
    def take(self, value: Any) -> Any:
        """The name, or the pipeline."""
        if isinstance(value, str) and value not in (TRIPLES, WORDS) and value.split(":")[0] != "spacy":
            raise NotAllowedError
        return super().take(value)


ClaimSource = Annotated[
    str | Pipeline,
    _ClaimSource("'triples', 'words', 'spacy', 'spacy:MODEL' or a spaCy pipeline"),
    "how the claims of an answer are found",
]
"""How claims are found: by rules, or by a pipeline that parses the answers."""


@dataclass(frozen=True, eq=False)
class Passage:
    """A column of text with its words, and their positions in the text on request."""

    text: Text
    tokens: Tokens
    vocabulary: Vocabulary
    senses: Senses
    memo: Memo = field(default_factory=Memo, repr=False)

    @functools.cached_property
    def marks(self) -> Marks:
        """The words with their positions."""
        return scan(self.text)

    @functools.cached_property
    def ids(self) -> Ids:
        """The id of each of ``marks``."""
        return ids_of_marks(self.text, self.marks, self.tokens, self.vocabulary)

    @functools.cached_property
    def roles(self) -> Bytes:
        """The role of each of ``marks``."""
        marks, ids = self.marks, self.ids  # which can add words to the vocabulary
        roles = self.senses.catch_up().roles
        return clause_kernels.roles_in_place(self.text.data, marks, conventions.is_upper(), ids, roles)

    @property
    def groups(self) -> Ints:
        """The strings of each row, as in :class:`fastmetrics.base.arrays.Text`."""
        return np.arange(len(self.text) + 1) if self.text.groups is None else self.text.groups

    @property
    def words(self) -> claim_support.Passages:
        """The words as kernels read them."""
        return claim_support.Passages(self.tokens.ids, self.tokens.starts, self.tokens.stops, self.groups)


@dataclass(frozen=True)
class PassageIn:
    """Text with its words and their positions."""

    convention: str = "words"

    def of(self, batch: Batch, column: str, options: Mapping[str, Any]) -> Passage:
        """The column's passages."""
        return batch.remember(("passage", column), lambda: _passage(batch, column))


Passages = Annotated[Passage, PassageIn()]


def _passage(batch: Batch, column: str) -> Passage:
    text, tokens = batch.text(column), batch.tokens(column, "words")
    return Passage(text, tokens, batch.vocabulary("words"), senses_of(batch))


def senses_of(batch: Batch) -> Senses:
    """The roles of the batch's words."""
    return batch.words.remember("senses", lambda: Senses(batch.vocabulary("words"))).catch_up()


@dataclass(frozen=True, eq=False)
class Anchors:
    """The anchors of all answers: row, kind (a number in ``KINDS``), first byte, byte after the last, supported."""

    rows: Ints
    kinds: Bytes
    starts: Ints
    stops: Ints
    supported: Flags
    n_answers: int

    @functools.cached_property
    def unsupported_shares(self) -> Floats:
        """The share of each answer's anchors that are not supported; 0 without anchors."""
        missing = np.bincount(self.rows[~self.supported], minlength=self.n_answers)
        return divide(missing, np.bincount(self.rows, minlength=self.n_answers), empty=0.0)


def anchors(answer: Passage, contexts: Passage, window: int, source: ClaimSource = TRIPLES) -> Anchors:
    """The anchors of the answers, compared with the contexts; numbers and dates first, then claims.

    ``source`` is the source of the claims: rules, or the pipeline that parses the answers.
    """
    name = source if isinstance(source, str) else None
    beside = (contexts,) if source is name else (contexts, source)
    return answer.memo.of(("anchors", window, name), beside, lambda: _anchors(answer, contexts, window, source))


def _anchors(answer: Passage, contexts: Passage, window: int, source: ClaimSource) -> Anchors:
    own, supported = supported_values(answer, contexts)
    strong = own.kinds != value_kernels.WEAK
    claims = _claims(answer, own, source)
    senses, words = answer.senses, contexts.words
    reach = min(window, len(words.ids))  # a size that fits a NumPy integer
    stems = senses.stems.view(np.uint32)
    rules = ClaimRules(source != WORDS, reach, SIZES.compared_claims)
    meets = claims_hold(claims, rules, answer.ids, words, stems, senses.n_stems)
    apart = answer.vocabulary.places_in(word_list("apart"))
    meets &= ~claim_kernels.misstated(claims, own, supported, answer.ids, apart)
    rows, n = np.arange(len(answer.text)), len(meets)
    marks = answer.marks
    return Anchors(
        np.concatenate([np.repeat(rows, np.diff(own.bounds))[strong], np.repeat(rows, np.diff(claims.bounds))]),
        np.concatenate([own.kinds[strong] - 1, np.full(n, ANCHOR_KINDS.index("claim"), np.uint8)]),
        np.concatenate([marks.starts[own.first[strong]], marks.starts[claims.firsts[:n]]]),
        np.concatenate([marks.stops[own.last[strong] - 1], marks.stops[claims.lasts[:n]]]),
        np.concatenate([supported[strong], meets]),
        len(answer.text),
    )


def shared_pairs(answer: Tokens, contexts: Passage) -> Ints:
    """The number of pairs of adjacent words of each answer that are adjacent in one of its contexts."""
    n_words = max(answer.n_words, contexts.tokens.n_words)
    pairs: Ints = answer.memo.of(
        claim_support.count_pairs,
        (contexts,),
        lambda: claim_support.count_pairs(answer.ids, answer.starts, answer.stops, contexts.words, n_words),
    )
    return pairs


def supported_values(answer: Passage, contexts: Passage) -> tuple[Values, Flags]:
    """The values of the answers, and whether each is among those of its contexts."""

    def make() -> tuple[Values, Flags]:
        own = values_of(answer)
        return own, _supported(own, values_of(contexts), contexts.groups)

    return answer.memo.of("values", (contexts,), make)


def has_values_only(answer: Passage, contexts: Passage) -> Flags:
    """Whether each answer consists of values that its contexts hold and of stop words: "in 2024", of "5 May 2024"."""
    own, supported = supported_values(answer, contexts)
    bounds = answer.marks.bounds
    edges = np.zeros(bounds[-1] + 1, np.int64)
    np.add.at(edges, own.first[supported], 1)
    np.add.at(edges, own.last[supported], -1)
    held = np.cumsum(edges)[:-1] > 0
    inside, silent = (
        np.diff(np.concatenate([[0], np.cumsum(words)])[bounds])
        for words in (held, ~held & (answer.roles & claim_kernels.STOP > 0))
    )
    lone: Flags = (inside + silent == np.diff(bounds)) & ((inside > 0) | (silent == 0))
    return lone


def _supported(answer: Values, context: Values, groups: Ints) -> Flags:
    """Whether each value of the answers is among those of its contexts."""
    supported, skipped = claim_support.values_hold(answer, context, groups, SIZES.compared_values)
    for row in np.flatnonzero(skipped).tolist():
        first, last = answer.bounds[row], answer.bounds[row + 1]
        supported[first:last] = among(
            answer, first, last, context, context.bounds[groups[row]], context.bounds[groups[row + 1]]
        )
    return supported


def values_of(passage: Passage) -> Values:
    """The values of a column, found once; ``first`` and ``last`` count all of its words."""
    return passage.memo.of("own values", (), lambda: _values(passage))


def _values(passage: Passage) -> Values:
    senses, tokens = passage.senses, passage.tokens
    picked = pick(passage.text, tokens.ids, tokens.starts, tokens.counts, senses.of_values)
    if picked is None:  # lower case changes the tokens of some text
        ids, bounds = passage.ids, passage.marks.bounds
        picked = pick(passage.text, ids, bounds[:-1], np.diff(bounds), senses.catch_up().of_values)
        assert picked is not None
    n = len(picked.places)
    values = Values(
        np.empty(n, np.uint8),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(len(passage.text) + 1, np.int64),
    )
    n = value_kernels.find_values(passage.text.data, picked.marks, picked.values, values)
    value_kernels.place(values, n, picked.places)
    return Values(values.kinds[:n], values.a[:n], values.b[:n], values.first[:n], values.last[:n], values.bounds)


def _claims(answer: Passage, values: Values, source: ClaimSource) -> Claims:
    """The claims of the answers, whose ``values`` that are anchors need no claim."""
    roles = clause_kernels.mark_values(answer.roles, values)
    if source not in (TRIPLES, WORDS):
        return parsed_claims(answer.text, answer.marks.bounds, roles, source)
    clauses = clause_kernels.find_clauses(answer.marks, roles)
    return claim_kernels.triples(clauses, roles) if source == TRIPLES else claim_kernels.single_words(clauses, roles)
