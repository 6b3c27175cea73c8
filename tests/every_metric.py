"""One row maker and one plain definition for every metric: the suite over all metrics reads this table."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import fastmetrics as fm
from fastmetrics.metrics import REGISTRY
from fastmetrics.metrics.abstention import PHRASES
from fastmetrics.text.lexicons import lexicon
from tests import strategies
from tests.reference import lexical, retrieval
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
    """How a metric is tested: a maker of its rows, a value for each column, and its plain definition.

    The definition gives None where an input is missing, and NaN where the metric is undefined.

    ``tolerance`` is the relative error allowed where the definition may sum in another order; 0 asks for the same bits.
    """

    row: Callable[[random.Random], Sequence[Any]]
    oracle: Callable[..., float | None]
    tolerance: float = 0.0


def each(*makers: Callable[[random.Random], Any]) -> Callable[[random.Random], Sequence[Any]]:
    """A row of values that do not depend on each other."""
    return lambda chance: [make(chance) for make in makers]


def search(chance: random.Random) -> Sequence[Any]:
    """A ranking, what is relevant, and its grades; with ids that repeat, and lists that are empty."""
    retrieved = chance.choices([f"d{n}" for n in range(12)], k=chance.choice((0, 1, 5, 20)))
    relevant = chance.choices([f"d{n}" for n in range(15)], k=chance.choice((0, 1, 3, 6)))
    return retrieved, relevant, [float(chance.randint(0, 3)) for _ in relevant]


def ranked(measure: Callable[..., float], level: float = 1) -> Callable[..., float | None]:
    """A measure of a ranking: missing without both lists, undefined where nothing is relevant."""

    def oracle(found: list[str] | None, relevant: list[str] | None, relevance: list[float] | None) -> float | None:
        if found is None or relevant is None:
            return None
        grades: dict[str, float] = {}
        for one, grade in zip(relevant, relevance or [1.0] * len(relevant), strict=True):
            grades.setdefault(one, grade)
        return measure(found, grades) if any(grade >= level for grade in grades.values()) else math.nan

    return oracle


def repeated(found: list[str] | None) -> float | None:
    """Places of a ranking that hold an id once more."""
    return None if found is None else float(len(found) - len(set(found)))


PAIR = each(text, texts)

CASES = {
    **{name: Case(PAIR, getattr(lexical, name)) for name in ("exact_match", "keyword_recall", "squad_em", "squad_f1")},
    **{
        name: Case(PAIR, getattr(lexical, name), 1e-15)
        for name in ("token_f1", "token_precision", "token_recall", "token_cosine")
    },
    "jaccard": Case(each(text, text), lexical.jaccard),
    "answer_length": Case(each(text), lexical.answer_length),
    "answer_words": Case(each(text), lexical.answer_words),
    "politeness": Case(each(text), lexical.politeness),
    "abstained": Case(each(text), REFUSING.abstained),
    "idk_citations": Case(each(text), REFUSING.idk_citations),
    **{
        name: Case(search, ranked(getattr(retrieval, name)), 1e-14)
        for name in ("reciprocal_rank", "recall", "precision", "f1", "average_precision", "r_precision", "ndcg")
    },
    "hit_rate": Case(search, ranked(retrieval.success)),
    "repeated_ids": Case(lambda chance: search(chance)[:1], repeated),
    **{
        name: Case(each(number), identity)
        for name in ("latency_ms", "prompt_tokens", "completion_tokens", "total_tokens")
    },
}


def columns(name: str, rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Rows for a metric: its columns by name, one cell in forty null."""
    chance = random.Random(f"{name} {seed}")

    made = [[None if chance.random() < 1 / 40 else value for value in CASES[name].row(chance)] for _ in range(rows)]
    return {column: [row[at] for row in made] for at, column in enumerate(REGISTRY[name].needs)}


def bits(rows: int, names: Iterable[str] = ()) -> dict[str, list[str]]:
    """The scores of the named metrics, or of all, on made rows, to the last bit."""
    made = {name: columns(name, rows) for name in names or CASES}
    return {name: [score.hex() for score in getattr(fm, name)(**given).tolist()] for name, given in made.items()}
