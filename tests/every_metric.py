"""One row maker and one plain definition for every metric: the suite over all metrics reads this table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import fastmetrics as fm
from fastmetrics.metrics import REGISTRY
from fastmetrics.metrics.abstention import PHRASES
from fastmetrics.text.lexicons import lexicon
from tests import strategies
from tests.reference import lexical
from tests.reference.abstention import Refusing

REFUSING = Refusing(PHRASES, lexicon("contrast"), lexicon("filler"), lexicon("abbreviations"))
TALK = [
    *strategies.EDGE_TOKENS,
    *("the", "cat", "sat.", "on", "a", "Mat", "please", "thanks,", "да", "нет", "Dr.", "[1]", "[2]", "\n\n", "but") * 4,
    *("I don't know.", "не знаю", "The context does not say [1].", "However,", "sorry,") * 2,
]


def text(chance: random.Random) -> str:
    """A few words, some of them nasty."""
    return " ".join(chance.choices(TALK, k=chance.choice((0, 1, 3, 9))))


def texts(chance: random.Random) -> list[str | None]:
    """One or a few texts, some of them null, the first not."""
    return [text(chance), *(chance.choice((None, text(chance))) for _ in range(chance.choice((0, 0, 0, 2))))]


def number(chance: random.Random) -> float:
    """A number as logs hold them: whole or not, small or large."""
    return chance.choice((0.0, 1.0, 12.5, 1e9, round(chance.random() * 1000, 2)))


def identity(value: float | None) -> float | None:
    """What was logged."""
    return value


@dataclass(frozen=True)
class Case:
    """How a metric is tested: a maker for each of its columns, and its plain definition.

    The definition gives None where an input is missing, and NaN where the metric is undefined.

    ``tolerance`` is the relative error allowed where the definition may sum in another order; 0 asks for the same bits.
    """

    makers: tuple[Callable[[random.Random], Any], ...]
    oracle: Callable[..., float | None]
    tolerance: float = 0.0


PAIR = (text, texts)

CASES = {
    **{name: Case(PAIR, getattr(lexical, name)) for name in ("exact_match", "keyword_recall", "squad_em", "squad_f1")},
    **{
        name: Case(PAIR, getattr(lexical, name), 1e-15)
        for name in ("token_f1", "token_precision", "token_recall", "token_cosine")
    },
    "jaccard": Case((text, text), lexical.jaccard),
    "answer_length": Case((text,), lexical.answer_length),
    "answer_words": Case((text,), lexical.answer_words),
    "politeness": Case((text,), lexical.politeness),
    "abstained": Case((text,), REFUSING.abstained),
    "idk_citations": Case((text,), REFUSING.idk_citations),
    **{
        name: Case((number,), identity) for name in ("latency_ms", "prompt_tokens", "completion_tokens", "total_tokens")
    },
}


def columns(name: str, rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Rows for a metric: its columns by name, one cell in forty null."""
    chance = random.Random(f"{name} {seed}")

    def cell(make: Callable[[random.Random], Any]) -> Any:
        return None if chance.random() < 1 / 40 else make(chance)

    made = [[cell(make) for make in CASES[name].makers] for _ in range(rows)]
    return {column: [row[at] for row in made] for at, column in enumerate(REGISTRY[name].needs)}


def bits(rows: int, names: Iterable[str] = ()) -> dict[str, list[str]]:
    """The scores of the named metrics, or of all, on made rows, to the last bit."""
    made = {name: columns(name, rows) for name in names or CASES}
    return {name: [score.hex() for score in getattr(fm, name)(**given).tolist()] for name, given in made.items()}
