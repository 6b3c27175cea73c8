"""Claims from the dependency parses of a user's spaCy pipeline (S3)."""

from __future__ import annotations

import functools
import importlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fastmetrics.core.allowed_values import NotAllowedError, Source
from fastmetrics.core.arrays import Bytes, Text
from fastmetrics.errors import MissingExtraError, OptionError
from fastmetrics.kernels.facts import claims as kernels
from fastmetrics.kernels.facts.claims import Claims
from fastmetrics.text.word_roles import word_list

Pipeline = Callable[[str], Any]
"""A function from a text to a document of sentences (``sents``) of tokens with ``idx``, ``text``, ``lemma_``, ``dep_``
and ``head``.
"""

MODEL = "en_core_web_sm"
SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
RELATIVE = frozenset({"relcl", "acl:relcl"})

_turn = threading.Lock()  # one thread at a time: some pipeline components are not thread-safe


@dataclass(frozen=True)
class _Parsers(Source):
    def take(self, value: Any) -> Any:
        """The name, or the pipeline."""
        if isinstance(value, str) and value.split(":")[0] != "spacy":
            raise NotAllowedError
        return super().take(value)


Parser = Annotated[Any, _Parsers("'spacy', 'spacy:MODEL' or a spaCy pipeline")]
"""The pipeline that finds claims in sentences; None uses rules."""


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


def find_claims(text: Text, bounds: Any, roles: Bytes, claims: str | Pipeline) -> Claims:
    """The claims of every text in the form that kernels take; its words start at ``bounds``."""
    with _turn:
        pipeline = load(claims) if isinstance(claims, str) else claims
    found: list[tuple[int, int, int, bool]] = []
    ends = np.zeros(len(bounds), np.int64)
    for row in range(len(text)):
        string = text.data[text.starts[row] : text.stops[row]].tobytes().decode()
        words = _Words(string, int(bounds[row]), roles)
        if string.strip():
            with _turn:
                document = pipeline(string)
            found += _claims(document, words)
        ends[row + 1] = len(found)
    table = np.array(found, np.int64).reshape(-1, 4)
    lows, highs, targets, vague = np.ascontiguousarray(table.T)
    return Claims(lows, highs, targets, vague != 0, ends)


class _Words:
    """The words of one text, by their first character."""

    def __init__(self, string: str, first: int, roles: Bytes) -> None:
        self.numbers = {match.start(): first + k for k, match in enumerate(re.finditer(r"\w+", string))}
        self.roles = roles

    def of(self, token: Any) -> list[int]:
        """The words that start within a token."""
        places = range(token.idx, token.idx + len(token.text))
        return [self.numbers[place] for place in places if place in self.numbers]

    def is_capital(self, word: int) -> bool:
        """Whether a word is capitalised like a name."""
        return int(self.roles[word]) & (kernels.CAPITAL | kernels.PERSON) == kernels.CAPITAL

    def names(self, tokens: list[Any]) -> list[int]:
        """The words of the tokens that form subjects and objects."""
        words = sorted(word for token in tokens for word in self.of(token))
        return [word for word in words if kernels.is_name(int(self.roles[word]))]


def _claims(document: Any, words: _Words) -> Iterator[tuple[int, int, int, bool]]:
    """Start and end of the other side, the target, and whether it may stand alone, for each sentence."""
    subject: list[int] = []
    for sentence in document.sents:
        tokens = list(sentence)
        if any("?" in token.text for token in tokens):
            continue
        opening = words.of(tokens[0])[:1] if tokens else []
        for place, (who, verb, what) in enumerate(_clauses(tokens)):
            named = words.names(who)
            subject = named or subject
            objects = words.names(what)
            done = objects or words.names([verb])
            vague = not any(words.is_capital(k) for k in subject if k not in opening)
            if place == 0 and (not objects or _has_target(objects, words)):
                yield from _put(done, False, named, words)
            yield from _put(subject, vague, done, words)


def _has_target(numbers: list[int], words: _Words) -> bool:
    """Whether any of the words is not an anchor itself."""
    return any(not words.roles[k] & kernels.VALUE for k in numbers)


def _put(end: list[int], vague: bool, targets: list[int], words: _Words) -> Iterator[tuple[int, int, int, bool]]:
    low, high = (end[0], end[-1] + 1) if end else (0, 0)
    for word in targets:
        if not words.roles[word] & kernels.VALUE:
            yield low, high, word, vague


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
    said = [verb.lemma_, verb.text, *(child.text for child in children[verb.idx])]
    return any(word.lower() in hedges for word in said)


@functools.cache
def _hedges() -> frozenset[str]:
    return frozenset(word_list("hedges"))


def _below(token: Any, children: Any, clauses: Any) -> Iterator[Any]:
    """A token and everything below it except separate clauses."""
    yield token
    for child in children[token.idx]:
        if child.idx not in clauses:
            yield from _below(child, children, clauses)
