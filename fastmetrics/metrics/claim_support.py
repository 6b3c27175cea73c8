"""The anchors of answers and their support by the contexts, the basis of the hallucination scores.

**Claims.** An assertive claim is one anchor, the source's triple of subject, verb and object. Its rules fill what the
source leaves open:

- *Clauses.* A verb is a word of the list ``assertive`` or a word that ends in "ed". Each verb, or group of verbs with
  at most two stop words between them, makes a clause and each clause at most one triple; a list of objects is one
  object. A hedge ("may", "suggests"), or a verb within a phrase of the list ``courtesy``, voids its own clause; "I
  think" does not. A question claims nothing, nor does the "I don't know" of an answer that abstains, but their
  numbers are anchors as everywhere. Numbers of list items and citation marks are no words of a claim.
- *Subject*: the content words between the last punctuation and the verb. A clause without them has the subject of the
  clause before; a third-person pronoun refers to the subject of the previous sentence. "I", "we" and "you" are words
  that a context must contain.
- *Object*: the content words from the verb to the next verb, or to the punctuation before the next clause's subject.
  Without any, the verb is the object ("the tower closed"), or, if it says nothing ("it is"), there is no claim,
  nor in a sentence without a verb ("The keeper: John", "Капитан — Пётр").
- *Numbers and dates* are anchors of their own and words of no triple. If nothing else is left of an object, they alone
  are checked. One that no context has also fails the claim of its clause ("a profit of -12 million"), except behind a
  word of the list ``apart`` ("in 1998"): of the 71 answers of five labelled tables that fail the verdict for this
  alone, 61 are unsupported, and the AUC of no table falls by more than 0.0006.
- *Support*: one stretch of one context must contain three quarters of the subject's stems and three quarters of the
  object's (of one, two or three: all), with no two further apart than ``window`` words. A subject that no context
  contains is thus unsupported. The verb is not compared: the source asks for subject and object only ("released" for
  "announced"). Of the shares a half, two thirds, three quarters and all, three quarters agreed best with labels:
  docs/studies/validity.md has the study.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints, Memo, Text, Tokens, text_of_strings
from fastmetrics.base.limits import SIZES
from fastmetrics.kernels import claim_support
from fastmetrics.kernels import claims as kernels
from fastmetrics.kernels import values as value_kernels
from fastmetrics.kernels.claim_support import ClaimRules, claims_hold
from fastmetrics.kernels.claims import Claims
from fastmetrics.kernels.located_words import Marks
from fastmetrics.kernels.picked_words import Picked, ask
from fastmetrics.kernels.values import Values
from fastmetrics.metrics.abstention import PHRASES, abstained, refusals_in
from fastmetrics.metrics.batch import Batch, Unread, need
from fastmetrics.metrics.pair_counts import divide
from fastmetrics.text import conventions
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.phrases import compile_phrases, words_in_phrases
from fastmetrics.text.plain_numbers import STAND_IN, Plain, plain
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.text.word_roles import Senses, ids_of_marks, pick, scan, word_list

# The anchors of answers and their support by the contexts, the basis of the hallucination scores.


ANCHOR_KINDS = ("number", "date", "time", "weekday", "claim")
"""The kinds of anchors."""
_ANCHORS = np.array([0, 0, 1, 2, 3, 0], np.uint8)
_NO_KIND = 255
"""The kind of anchor of each kind of value; a version is a number."""


@dataclass(frozen=True, eq=False)
class Passage:
    """A column of text with its words, and their positions in the text on request."""

    text: Text
    tokens: Tokens
    vocabulary: Vocabulary
    senses: Senses
    abstains: Callable[[], Flags]
    """Which texts say "I don't know" as a whole; asked of answers only."""
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
        return kernels.roles_in_place(self.text.data, marks, conventions.is_upper(), ids, roles)

    @property
    def groups(self) -> Ints:
        """The strings of each row, as in :class:`fastmetrics.base.arrays.Text`."""
        return np.arange(len(self.text) + 1) if self.text.groups is None else self.text.groups

    @property
    def words(self) -> claim_support.Passages:
        """The words as kernels read them."""
        return claim_support.Passages(self.tokens.ids, self.tokens.starts, self.tokens.stops, self.groups)


def passage_in(batch: Batch, column: str, options: Mapping[str, Any]) -> Passage:
    """Text with its words and their positions."""
    return batch.remember(("passage", column), lambda: _passage(batch, column))


Passages = Annotated[Passage, need(passage_in, convention="words")]


def _passage(batch: Batch, column: str) -> Passage:
    text, tokens = batch.text(column), batch.tokens(column, "words")

    def abstains() -> Flags:
        refusals: Flags = abstained(refusals_in(batch, column, {"phrases": PHRASES})) == 1
        return refusals

    return Passage(text, tokens, batch.vocabulary("words"), senses_of(batch), abstains)


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

    @property
    def counts(self) -> Ints:
        """The number of each answer's anchors."""
        return np.bincount(self.rows, minlength=self.n_answers)

    @property
    def unsupported(self) -> Ints:
        """The number of each answer's anchors that are not supported."""
        return np.bincount(self.rows[~self.supported], minlength=self.n_answers)

    @functools.cached_property
    def unsupported_shares(self) -> Floats:
        """The share of each answer's anchors that are not supported; 0 without anchors."""
        return divide(self.unsupported, self.counts, empty=0.0)

    def in_text(self, only_unsupported: bool) -> Ints:
        """The places of the anchors in the order of the texts."""
        order = np.lexsort((self.starts, self.rows))
        return order[~self.supported[order]] if only_unsupported else order

    def texts(self, text: Text, places: Ints) -> pa.Array:
        """The words of the anchors at these places."""
        starts, sizes = self.starts[places], (self.stops - self.starts)[places]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        letters = text.data[np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(letters))]
        return pa.Array.from_buffers(pa.large_string(), len(places), buffers).cast(pa.string())

    def unsupported_texts(self, text: Text, of_rows: Flags) -> pa.Array:
        """For some of the answers the words of the anchors that are not supported, and no words for the others."""
        places = self.in_text(only_unsupported=True)
        places = places[of_rows[self.rows[places]]]
        return pa.ListArray.from_arrays(self.bounds_of(places), self.texts(text, places))

    def bounds_of(self, places: Ints) -> pa.Array:
        """Where the anchors of each answer begin and end among those at ``places``."""
        sizes = np.bincount(self.rows[places], minlength=self.n_answers)
        return pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))


def anchors(answer: Passage, contexts: Passage, window: int) -> Anchors:
    """The anchors of the answers, compared with the contexts; numbers and dates first, then claims."""
    return answer.memo.remember(("anchors", window), lambda: _anchors(answer, contexts, window), contexts)


def _anchors(answer: Passage, contexts: Passage, window: int) -> Anchors:
    own, supported, _ = supported_values(answer, contexts)
    strong = own.kinds < value_kernels.WEAK
    claims = _claims(answer, own)
    senses, words = answer.senses, contexts.words
    reach = min(window, len(words.ids))  # a size that fits a NumPy integer
    stems = senses.stems.view(np.uint32)
    rules = ClaimRules(reach, SIZES.compared_claims)
    meets = claims_hold(claims, rules, answer.ids, words, stems, senses.n_stems)
    apart = answer.vocabulary.places_in(word_list("apart"))
    meets &= ~kernels.misstated(claims, own, supported, answer.ids, apart)
    rows, n = np.arange(len(answer.text)), len(meets)
    marks = answer.marks
    return Anchors(
        np.concatenate([np.repeat(rows, np.diff(own.bounds))[strong], np.repeat(rows, np.diff(claims.bounds))]),
        np.concatenate([_ANCHORS[own.kinds[strong]], np.full(n, ANCHOR_KINDS.index("claim"), np.uint8)]),
        np.concatenate([marks.starts[own.first[strong]], marks.starts[claims.firsts[:n]]]),
        np.concatenate([marks.stops[own.last[strong] - 1], marks.stops[claims.lasts[:n]]]),
        np.concatenate([supported[strong], meets]),
        len(answer.text),
    )


def shared_pairs(answer: Tokens, contexts: Passage) -> Ints:
    """The number of pairs of adjacent words of each answer that are adjacent in one of its contexts."""
    n_words = max(answer.n_words, contexts.tokens.n_words)
    pairs: Ints = answer.memo.remember(
        claim_support.count_pairs,
        lambda: claim_support.count_pairs(answer.ids, answer.starts, answer.stops, contexts.words, n_words),
        contexts,
    )
    return pairs


def supported_values(answer: Passage, contexts: Passage) -> tuple[Values, Flags, Flags]:
    """The values of the answers, whether each is among those of its contexts, and whether that cannot be told."""

    def make() -> tuple[Values, Flags, Flags]:
        own = values_of(answer)
        held, ordered = in_order(values_of(contexts), contexts.groups, np.diff(own.bounds))
        return own, *claim_support.values_hold(own, held, contexts.groups, ordered)

    return answer.memo.remember("values", make, contexts)


def has_values_only(answer: Passage, contexts: Passage) -> Flags:
    """Whether each answer consists of values that its contexts hold and of stop words: "in 2024", of "5 May 2024"."""
    own, supported, _ = supported_values(answer, contexts)
    bounds = answer.marks.bounds
    edges = np.zeros(bounds[-1] + 1, np.int64)
    np.add.at(edges, own.first[supported], 1)
    np.add.at(edges, own.last[supported], -1)
    held = np.cumsum(edges)[:-1] > 0
    inside, silent = (
        np.diff(np.concatenate([[0], np.cumsum(words)])[bounds])
        for words in (held, ~held & (answer.roles & kernels.STOP > 0))
    )
    lone: Flags = (inside + silent == np.diff(bounds)) & ((inside > 0) | (silent == 0))
    return lone


def in_order(values: Values, groups: Ints, wanted: Ints) -> tuple[Values, Flags]:
    """The values, of rows with very many in order, each once; and which rows these are.

    Row i has the texts ``groups[i]:groups[i + 1]``, in which ``wanted[i]`` values are sought.
    """
    bounds = values.bounds[groups]
    many = np.diff(bounds) * wanted > SIZES.compared_values
    if many.any():
        values = values._replace(kinds=values.kinds.copy(), a=values.a.copy(), b=values.b.copy())
    for row in np.flatnonzero(many).tolist():
        own = slice(bounds[row], bounds[row + 1])
        some = np.unique(np.array([values.kinds[own], values.a[own], values.b[own]]), axis=1)
        # what is left of the room holds no kind of value, after all kinds
        some = np.pad(some, ((0, 0), (0, own.stop - own.start - some.shape[1])), constant_values=_NO_KIND)
        values.kinds[own], values.a[own], values.b[own] = some
    return values, many


def values_of(passage: Passage) -> Values:
    """The values of a column, found once; ``first`` and ``last`` count all of its words."""
    return passage.memo.remember("own values", lambda: _values(passage))


def _values(passage: Passage) -> Values:
    text, senses, tokens = passage.text, passage.senses, passage.tokens
    words = _Words(text, tokens.ids, tokens.starts, tokens.counts)
    picked = _pick(words, senses)
    if picked is None:  # lower case changes the tokens of some text
        words = _Words(text, passage.ids, passage.marks.bounds[:-1], np.diff(passage.marks.bounds))
        picked = _pick(words, senses.catch_up())
    assert picked is not None
    values = _found(text, picked)
    rows = np.flatnonzero(picked.hard)
    return values if len(rows) == 0 else _with_plain(values, words, rows, passage.vocabulary, senses)


class _Words(NamedTuple):
    """Texts with the ids of their words: those of text i are the ``counts[i]`` from ``ids[first[i]]`` on."""

    text: Text
    ids: Ids
    first: Ints
    counts: Ints


def _pick(words: _Words, senses: Senses) -> Picked | None:
    """The words that can be part of values, when all words beside numbers have been looked up."""
    while ask(words.ids, words.first, words.counts, senses.of_values):
        senses.learn()
    return pick(*words, senses.of_values)


def _found(text: Text, picked: Picked) -> Values:
    """The values among the words of texts; ``first`` and ``last`` count all words."""
    room = 2 * len(picked.places) + 2  # a date is followed by its year and its day
    values = Values(
        np.empty(room, np.uint8),
        np.empty(room),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros(len(text) + 1, np.int64),
    )
    n = value_kernels.find_values(text.data, picked.marks, picked.values, values)
    value_kernels.place(values, n, picked.places)
    return Values(values.kinds[:n], values.a[:n], values.b[:n], values.first[:n], values.last[:n], values.bounds)


def _with_plain(values: Values, words: _Words, rows: Ints, vocabulary: Vocabulary, senses: Senses) -> Values:
    """The values, of some rows those of their texts in plain spelling, at the words where these came from."""
    strings = words.text.take(rows).strings()
    written = {text: one for text in dict.fromkeys(strings) if (one := plain(text)).text != text}
    changed = np.array([text in written for text in strings], np.bool_)
    if not written:
        return values
    number = {text: i for i, text in enumerate(written)}
    rows, same = rows[changed], np.array([number[text] for text in strings if text in number])
    found = _spelled(written, vocabulary, senses)
    sizes = np.diff(found.bounds)[same]
    offsets, begins = np.cumsum(sizes) - sizes, np.cumsum(words.counts) - words.counts
    taken = np.repeat(found.bounds[same] - offsets, sizes) + np.arange(sizes.sum())
    owners, shifts = np.repeat(rows, sizes), np.repeat(begins[rows], sizes)
    kinds, a, b, first, last, _ = found
    olds: list[Any] = [values.kinds, values.a, values.b, values.first, values.last]
    new: list[Any] = [kinds[taken], a[taken], b[taken], first[taken] + shifts, last[taken] + shifts]
    owner = np.repeat(np.arange(len(words.text)), np.diff(values.bounds))
    kept = ~np.isin(owner, rows)
    every = np.concatenate([owner[kept], owners])
    order = np.argsort(every, kind="stable")
    kinds, a, b, first, last = (np.concatenate([old[kept], more])[order] for old, more in zip(olds, new, strict=True))
    return Values(
        kinds, a, b, first, last, np.concatenate([[0], np.cumsum(np.bincount(every, minlength=len(words.text)))])
    )


def _spelled(written: Mapping[str, Plain], vocabulary: Vocabulary, senses: Senses) -> Values:
    """The values of texts in plain spelling; ``first`` and ``last`` count the words of each text as it was."""
    texts, spelled = text_of_strings(written), text_of_strings([one.text for one in written.values()])
    tokens = vocabulary.tokenize(spelled)
    picked = _pick(_Words(spelled, tokens.ids, tokens.starts, tokens.counts), senses.catch_up())
    if picked is None:  # a letter that lower case makes two of
        marks = scan(spelled)
        own = Passage(spelled, tokens, vocabulary, senses, lambda: np.zeros(len(spelled), np.bool_))
        picked = _pick(_Words(spelled, own.ids, marks.bounds[:-1], np.diff(marks.bounds)), senses.catch_up())
    assert picked is not None
    found, marks, originals = _found(spelled, picked), scan(spelled), scan(texts)
    for row, (data, one) in enumerate(written.items()):
        places = originals.starts[originals.bounds[row] : originals.bounds[row + 1]] - texts.starts[row]
        for v in range(found.bounds[row], found.bounds[row + 1]):
            for bounds, word in ((found.first, found.first[v]), (found.last, found.last[v] - 1)):
                character = len(spelled.data[spelled.starts[row] : marks.starts[word]].tobytes().decode())
                byte = len(data[: one.origin(character)].encode())
                at = max(int(np.searchsorted(places, byte, "right")) - 1, 0)
                bounds[v] = at + (bounds is found.last)
    return found


# What was not read, by reason.


def unread_anchors(batch: Batch, options: Mapping[str, Any]) -> Iterator[Unread]:
    """The rows whose answer has a number of which nobody can tell whether the contexts hold it."""
    if options.get("claims") == "entailment":  # which a model judged
        return
    answer, contexts = passage_in(batch, "answer", options), passage_in(batch, "contexts", options)
    values, _, unknown = supported_values(answer, contexts)
    places = np.flatnonzero(unknown)
    rows = np.repeat(np.arange(len(answer.text)), np.diff(values.bounds))[places]
    first = np.unique(rows, return_index=True)[1]
    yield from unread_rows(answer.vocabulary, [(values, places[first], rows[first])], batch.n_rows)


MATHEMATICS = "hold mathematics that is not read: roots, powers, variables, comparisons, angles"
BRACKETS = "hold the number in brackets beside others: a citation, or the answer"
LONG_NUMBER = "hold a number of more than 15 digits"
SHORT_MONTH = "hold a day beside what may be a shortened month"
SAME_DIGITS = "have contexts with the digits of a number beside a word that may change it"


def unread_rows(vocabulary: Vocabulary, found: Sequence[tuple[Values, Ints, Ints]], n_rows: int) -> Iterator[Unread]:
    """The rows in which a value could not be read, by reason; each is given by values, its place and its row."""
    reasons: dict[tuple[str, str], list[int]] = {}
    columns = [(rows, *(column[places] for column in values[:3])) for values, places, rows in found]
    for row, kind, a, b in zip(*(np.concatenate(parts).tolist() for parts in zip(*columns, strict=True)), strict=True):
        if kind == value_kernels.MARK:
            reason = BRACKETS, "write the answer without brackets"
        elif kind != value_kernels.UNREAD:
            reason = SAME_DIGITS, "write numbers out in digits"
        elif b < 0:
            reason = SHORT_MONTH, "write the month out"
        else:
            word = vocabulary.spelled(int(b)).take(np.zeros(1, np.int64)).strings()[0]
            if a < np.inf:
                reason = f"hold a number beside {word!r}, which may change it", "write the number out in digits"
            elif word.startswith(STAND_IN):
                reason = MATHEMATICS, "math_match compares algebra"
            else:
                reason = LONG_NUMBER, "exact_match compares it as a text"
        reasons.setdefault(reason, []).append(row)
    for (said, advice), rows in sorted(reasons.items()):
        flags = np.zeros(n_rows, np.bool_)
        flags[rows] = True
        yield Unread(said, flags, advice)


def _claims(answer: Passage, values: Values) -> Claims:
    """The claims of the answers, whose ``values`` that are anchors need no claim."""
    roles = kernels.mark_values(answer.roles, values)
    bounds = answer.marks.bounds
    said = words_in_phrases(answer.ids, bounds, answer.vocabulary, compile_phrases(lexicon("courtesy")))
    roles[said[roles[said] & kernels.VERB > 0]] |= kernels.HEDGE
    if (abstaining := answer.abstains()).any():  # "I don't know" claims nothing
        refused = words_in_phrases(answer.ids, bounds, answer.vocabulary, compile_phrases(PHRASES))
        refused = refused[abstaining[np.searchsorted(bounds, refused, "right") - 1]]
        roles[refused[roles[refused] & kernels.VERB > 0]] |= kernels.HEDGE
    return kernels.triples(kernels.find_clauses(answer.marks, roles), roles)
