"""Claims from the dependency parses of a user's spaCy pipeline (the answer checks)."""

from __future__ import annotations

import functools
import importlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.arrays import Bytes, Ints, Text
from fastmetrics.base.errors import MissingExtraError, OptionError
from fastmetrics.kernels import claims as kernels
from fastmetrics.kernels.claims import Claims
from fastmetrics.text.word_roles import word_list

Pipeline = Callable[[str], Any]
"""A function from a text to a document of sentences (``sents``) of tokens with ``idx``, ``text``, ``lemma_``, ``dep_``
and ``head``.
"""

MODEL = "en_core_web_sm"
SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
RELATIVE = frozenset({"relcl", "acl:relcl"})

_turn = threading.Lock()  # one thread at a time: some pipeline components are not thread-safe


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
    with _turn:
        pipeline = load(source) if isinstance(source, str) else source
    triples: list[_Triple] = []
    ends = np.zeros(len(bounds), np.int64)
    for row in range(len(text)):
        string = text.data[text.starts[row] : text.stops[row]].tobytes().decode()
        words = _Words(string, int(bounds[row]), roles)
        if string.strip():
            with _turn:
                document = pipeline(string)
            triples += _triples(document, words)
        ends[row + 1] = len(triples)
    sides = [side for triple in triples for side in (triple.subject, triple.target)]
    edges = np.cumsum([0, *map(len, sides)])
    firsts, lasts = np.array([triple.span for triple in triples], np.int64).reshape(-1, 2).T.copy()
    flat = np.array([word for side in sides for word in side], np.int64)
    starts, middles, stops = edges[:-1:2].copy(), edges[1::2].copy(), edges[2::2].copy()
    return Claims(flat, starts, middles, middles, stops, firsts, lasts, np.zeros(len(triples), np.bool_), ends)


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
