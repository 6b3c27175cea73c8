"""Claims from the parses of a spaCy pipeline: a stand-in with its attributes, and spaCy itself where installed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import MissingExtraError, OptionError
from tests.support.optional_parts import needs

CONTEXT = ["The tower was built by Eiffel. " + "word " * 40 + "A church was opened in Dijon."]

# word, head, dependency
PARSED = {
    "The tower was built by Eiffel.": (
        "The/1/det tower/3/nsubjpass was/3/auxpass built/3/ROOT by/3/agent Eiffel/4/pobj ./3/punct"
    ),
    "The tower was built in Dijon.": (
        "The/1/det tower/3/nsubjpass was/3/auxpass built/3/ROOT in/3/prep Dijon/4/pobj ./3/punct"
    ),
    "The tower may be in Rome.": "The/1/det tower/3/nsubj may/3/aux be/3/ROOT in/3/prep Rome/4/pobj ./3/punct",
    "Is the tower in Rome?": "Is/0/ROOT the/2/det tower/0/nsubj in/0/prep Rome/3/pobj ?/0/punct",
    "Eiffel drew and built a bridge.": (
        "Eiffel/1/nsubj drew/1/ROOT and/1/cc built/1/conj a/5/det bridge/3/dobj ./1/punct"
    ),
    "The tower opened in 1890.": "The/1/det tower/2/nsubj opened/2/ROOT in/2/prep 1890/3/pobj ./2/punct",
    "A tower that pleased Rome.": "A/1/det tower/1/ROOT that/3/nsubj pleased/1/relcl Rome/3/dobj ./1/punct",
    "It was built.": "It/2/nsubjpass was/2/auxpass built/2/ROOT ./2/punct",
    "Стоит башня.": "Стоит/0/ROOT башня/0/nsubj ./0/punct",
    " ": "",
}


@dataclass(eq=False)
class Token:
    text: str
    idx: int
    dep_: str
    head: Any = None

    @property
    def lemma_(self) -> str:
        return self.text.lower()


@dataclass
class Document:
    sents: list[list[Token]] = field(default_factory=list)


def stand_in(text: str) -> Document:
    tokens, place = [], 0
    parts = [part.rsplit("/", 2) for part in PARSED[text].split()]
    for word, _, dependency in parts:
        place = text.index(word, place)
        tokens.append(Token(word, place, dependency))
        place += len(word)
    for token, (_, head, _) in zip(tokens, parts, strict=True):
        token.head = tokens[int(head)]
    return Document([tokens])


def spacy_pipeline(text: str) -> Any:
    """A document of spaCy's own, its parse written down."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    parts = [part.rsplit("/", 2) for part in PARSED[text].split()]
    words = [word for word, _, _ in parts]
    spaces = [not text[: text.index(word)] or word not in ".?" for word in words[1:]] + [False]
    heads, dependencies = [int(head) for _, head, _ in parts], [dependency for _, _, dependency in parts]
    return Doc(Vocab(), words=words, spaces=spaces, heads=heads, deps=dependencies, lemmas=[w.lower() for w in words])


PIPELINES = [stand_in, pytest.param(spacy_pipeline, marks=needs("spacy"))]


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The tower was built by Eiffel.", {"tower was built by Eiffel": True}),
        ("The tower was built in Dijon.", {"tower was built in Dijon": False}),
        ("The tower may be in Rome.", {}),
        ("Is the tower in Rome?", {}),
        ("Eiffel drew and built a bridge.", {"Eiffel drew": False, "Eiffel drew and built a bridge": False}),
        ("The tower opened in 1890.", {"1890": False}),
        ("A tower that pleased Rome.", {"tower that pleased Rome": False}),
        ("It was built.", {"built": True}),
        ("Стоит башня.", {"Стоит башня": False}),
        (" ", {}),
    ],
)
def test_claims_equal_the_definition_on_the_parse(pipeline: Any, answer: str, expected: dict[str, bool]) -> None:
    found = fm.scoring.anchors([answer], [CONTEXT], claims=pipeline)["anchors"][0].as_py()
    assert {anchor["text"]: anchor["supported"] for anchor in found} == expected


def test_claim_scores_accept_a_pipeline() -> None:
    answers = ["The tower was built by Eiffel.", "The tower was built in Dijon."]
    rows = (answers, [CONTEXT] * 2)
    assert fm.hallucination(*rows, claims=stand_in).tolist() == [0.0, 1.0]
    assert fm.hallucination_risk(*rows, claims=stand_in).tolist() == [0.0, 1.0]
    questions = ["Who built the tower?", "Where was the tower built?"]
    assert fm.verdict(questions, *rows, claims=stand_in).tolist() == [1.0, 0.0]
    table = fm.scoring.verdicts(questions, *rows, claims=stand_in)
    assert [anchor["text"] for anchor in table["unsupported"][1].as_py()] == ["tower was built in Dijon"]


def test_threads_do_not_change_the_claims() -> None:
    answers = list(PARSED)[:-1] * 500
    once = fm.hallucination(answers, [CONTEXT] * len(answers), claims=stand_in, threads=1)
    assert once.tolist() == fm.hallucination(answers, [CONTEXT] * len(answers), claims=stand_in, threads=2).tolist()


def test_missing_spacy_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match="spacy"):
        fm.hallucination(["It is."], [["It is."]], claims="spacy:of-no-such-name")


def test_unknown_model_error_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class Spacy:
        @staticmethod
        def load(name: str) -> Any:
            raise OSError(name)

    monkeypatch.setitem(sys.modules, "spacy", Spacy)
    with pytest.raises(OptionError, match="no-such-model"):
        fm.hallucination(["It is."], [["It is."]], claims="spacy:no-such-model")


def test_foreign_claims_raise() -> None:
    with pytest.raises(OptionError, match="claims"):
        fm.hallucination(["It is."], [["It is."]], claims="stanza")
    with pytest.raises(OptionError, match="claims"):
        fm.verdict(["Is it?"], ["It is."], [["It is."]], claims=3)
