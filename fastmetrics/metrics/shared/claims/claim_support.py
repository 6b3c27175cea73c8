"""The anchors of answers and their support by the contexts, the basis of the hallucination scores."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from fastmetrics.base.arrays import Bytes, Flags, Floats, Ids, Ints, Memo, Text, Tokens
from fastmetrics.base.limits import SIZES
from fastmetrics.base.options import NameOrObject, NotAllowedError
from fastmetrics.declaration.batch import Batch
from fastmetrics.kernels import claim_support
from fastmetrics.kernels import claims as claim_kernels
from fastmetrics.kernels import claims as clause_kernels
from fastmetrics.kernels import values as value_kernels
from fastmetrics.kernels.claim_support import claims_hold
from fastmetrics.kernels.claims import Claims
from fastmetrics.kernels.located_words import Marks
from fastmetrics.kernels.values import Values
from fastmetrics.metrics.shared.claims.spacy_claims import Pipeline, parsed_claims
from fastmetrics.metrics.shared.claims.value_sets import among
from fastmetrics.metrics.shared.pair_counts import divide
from fastmetrics.text import conventions
from fastmetrics.text.tokenize import Vocabulary
from fastmetrics.text.word_roles import Senses, ids_of_marks, pick, scan

KINDS = ("number", "date", "time", "weekday", "claim")
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
    meets = claims_hold(claims, source != WORDS, answer.ids, words, stems, senses.n_stems, reach, SIZES.compared_claims)
    rows, n = np.arange(len(answer.text)), len(meets)
    marks = answer.marks
    return Anchors(
        np.concatenate([np.repeat(rows, np.diff(own.bounds))[strong], np.repeat(rows, np.diff(claims.bounds))]),
        np.concatenate([own.kinds[strong] - 1, np.full(n, KINDS.index("claim"), np.uint8)]),
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
        own = _values(answer)
        return own, _supported(own, _values(contexts), contexts.groups)

    return answer.memo.of("values", (contexts,), make)


def _supported(answer: Values, context: Values, groups: Ints) -> Flags:
    """Whether each value of the answers is among those of its contexts."""
    supported, skipped = claim_support.values_hold(answer, context, groups, SIZES.compared_values)
    for row in np.flatnonzero(skipped).tolist():
        first, last = answer.bounds[row], answer.bounds[row + 1]
        supported[first:last] = among(
            answer, first, last, context, context.bounds[groups[row]], context.bounds[groups[row + 1]]
        )
    return supported


def _values(passage: Passage) -> Values:
    """The values of a column; ``first`` and ``last`` count all of its words."""
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
