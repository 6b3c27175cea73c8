"""One row maker and one plain definition for every metric: the suite over all metrics reads this table."""

from __future__ import annotations

import inspect
import json
import math
import operator
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from fastmetrics.metrics.abstention import PHRASES
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.scoring.metric_functions import callable_of
from fastmetrics.text.lexicons import lexicon
from tests.reference import (
    answerability,
    claims,
    edit_distance,
    latency_and_cost,
    lexical,
    matching,
    novelty,
    packages,
    retrieval,
    structure,
    tool_calls,
    writing,
)
from tests.reference.abstention import Refusing
from tests.support.strategies import EDGE_TOKENS

TALK = [
    *EDGE_TOKENS,
    *("the", "cat", "sat.", "on", "a", "Mat", "please", "thanks,", "да", "нет", "Dr.", "[1]", "[2]", "\n\n", "but") * 4,
    *("I don't know.", "не знаю", "The context does not say [1].", "However,", "sorry,") * 2,
]
FACTS = [
    *("The tower", "was built in", "1889", "on 5 Jan 2024.", "for $2.5 million", "50 %", "at 3 pm", "It", "may cost"),
    *("Explain", "Why", "is", "it?", "machine learning.", "In conclusion,", "as a result", "sophisticated", "башня"),
]


@cache
def refusing() -> Refusing:
    """What tells an "I don't know"; made at use, as many tests start new processes that score other things."""
    return Refusing(
        PHRASES,
        lexicon("contrast"),
        lexicon("filler"),
        lexicon("abbreviations"),
        lexicon("abstain_whole"),
    )


def text(chance: random.Random) -> str:
    """A few words, some of them nasty."""
    return " ".join(chance.choices(TALK, k=chance.choice((0, 1, 3, 9))))


def texts(chance: random.Random) -> list[str | None]:
    """One or a few texts, some of them null, the first not."""
    return [text(chance), *(chance.choice((None, text(chance))) for _ in range(chance.choice((0, 0, 0, 2))))]


def prose(chance: random.Random) -> str:
    """Sentences with facts, questions and tasks among words, some of them nasty."""
    return " ".join(chance.choices(TALK + FACTS * 4, k=chance.choice((0, 1, 5, 15, 30))))


def proses(chance: random.Random) -> list[str]:
    """One or a few such texts."""
    return [prose(chance) for _ in range(chance.choice((1, 1, 3)))]


def stated(chance: random.Random) -> str:
    """An answer to a multiple-choice question."""
    form = chance.choice(("{}", "({})", "The answer is **{}**.", "{}) " + text(chance), text(chance), "{} or A"))
    return form.format(chance.choice("ABCab"))


def rights(chance: random.Random) -> list[str | None]:
    """One or a few right choices, by letter or by text, some of them null, the first not."""
    return [chance.choice(("A", "(B)", text(chance))), *chance.choice(([], [], ["c"], [None]))]


def labels(chance: random.Random) -> list[str]:
    """The labels of choices, as far as there are some."""
    return chance.choice(([], ["A", "B", "C"], ["1", "2", "3"], ["C", "b", "x y"]))


def record(chance: random.Random) -> str:
    """An object in JSON with a few fields, now and then cut off."""
    values: tuple[Any, ...] = (1, 1.0, "a", text(chance), None, True, [1, "b"], {"c": text(chance)}, {})
    written = json.dumps({key: chance.choice(values) for key in chance.sample("abcdef", 3)}, ensure_ascii=False)
    return written if chance.random() < 0.9 else written[:-3]


def records(chance: random.Random) -> list[str | None]:
    """One or a few such objects, some of them null, the first not."""
    return [record(chance), *chance.choice(([], [], [None], [record(chance)]))]


def query(chance: random.Random) -> str:
    """A query in SQL."""
    return " ".join(
        (chance.choice(("SELECT", "select")), chance.choice(("a", "A", "\n b")), chance.choice(("FROM t", "from T;")))
    )


def function(chance: random.Random) -> str:
    """A function in Python, of two lines or three."""
    head = chance.choice(("def f(x):", "def f( x ):  # twice"))
    indent = chance.choice(("  ", "    ", "\t"))
    body = [indent + chance.choice(("x += 1", "x+=1", "x += 'a # b'")) for _ in range(chance.choice((0, 1)))]
    return "\n".join([head, *body, chance.choice(("", "\n")) + indent + chance.choice(("return 2*x", "return 2 * x"))])


def calls(chance: random.Random) -> str:
    """A few calls of tools with arguments, in JSON."""
    names = chance.choices(("search", "read", "add"), k=chance.choice((0, 1, 1, 2, 3)))
    return json.dumps(
        [{"name": name, "arguments": chance.choice(({}, {"a": 1}, {"a": "1", "b": 2}))} for name in names]
    )


def conversation(chance: random.Random) -> str:
    """Messages of a user, an assistant and a tool, in JSON."""
    roles = chance.choices(("user", "assistant", "tool"), k=chance.choice((0, 1, 3, 6)))
    return json.dumps([{"role": role, "content": text(chance)} for role in roles])


def maybe(chance: random.Random) -> bool | None:
    """Yes, no, or nothing said."""
    return chance.choice((True, False, None))


def vector(chance: random.Random) -> list[float]:
    """Five numbers, now and then all 0."""
    return [0.0] * 5 if chance.random() < 1 / 20 else [chance.gauss(0, 1) for _ in range(5)]


def number(chance: random.Random) -> float:
    """A number as logs hold them: whole or not, small or large."""
    return chance.choice((0.0, 1.0, 12.5, 1e9, round(chance.random() * 1000, 2)))


def rounds(chance: random.Random) -> list[float | None] | None:
    """A number for each round, some of them unknown, or nothing."""
    numbers = [number(chance) for _ in range(chance.choice((0, 1, 1, 2, 5)))]
    return chance.choice((numbers, numbers, numbers, [*numbers, None], None))


def usage(*order: str) -> Callable[[random.Random], Sequence[Any]]:
    """Rows of counts of tokens in this order, then cached, written and reasoning tokens, mostly within the others."""

    def row(chance: random.Random) -> Sequence[Any]:
        counts = {name: float(chance.choice((0, 5, 86, 1000))) for name in ("prompt", "completion")}
        read, written, reasoning = (float(chance.choice((0, 0, 5, 80, 900))) for _ in range(3))
        parts = chance.choice(((), (read, written), (reasoning,), (read, written, reasoning), (7.0,)))
        counts["total"] = sum(counts.values()) + sum(parts)
        cells = [counts[name] for name in order] + [read, written, reasoning]
        return [chance.choice(([cell], [cell], [cell], [cell / 2, cell / 2], [], None)) for cell in cells]

    return row


def identity(value: float | None) -> float | None:
    """What was logged."""
    return value


@dataclass(frozen=True)
class Case:
    """How a metric is tested: a maker of its rows, a value for each column, and its plain definition.

    The definition gives None where an input is missing, and NaN where the metric is undefined.

    ``tolerance`` is the relative error allowed where the definition may sum in another order; 0 asks for the same bits.
    ``rows`` are few where the definition takes long.
    """

    row: Callable[[random.Random], Sequence[Any]]
    oracle: Callable[..., float | None]
    tolerance: float = 0.0
    rows: int = 150


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

    def oracle(retrieved: list[str] | None, relevant: list[str] | None, relevance: list[float] | None) -> float | None:
        if retrieved is None or relevant is None:
            return None
        grades: dict[str, float] = {}
        for document, grade in zip(relevant, relevance or [1.0] * len(relevant), strict=True):
            grades.setdefault(document, grade)
        return measure(retrieved, grades) if any(grade >= level for grade in grades.values()) else math.nan

    return oracle


def repeated(retrieved: list[str] | None) -> float | None:
    """Places of a ranking that hold an id once more."""
    return None if retrieved is None else float(len(retrieved) - len(set(retrieved)))


def whole(definition: Callable[..., float]) -> Callable[..., float | None]:
    """A definition that gives None where any input is missing."""
    return lambda *row: None if any(value is None for value in row) else definition(*row)


def by_references(definition: Callable[..., float]) -> Callable[..., float | None]:
    """A definition for an answer and its references, those that are null left out."""
    return whole(
        lambda answer, all_references: definition(
            answer, [reference for reference in all_references if reference is not None]
        )
    )


def by_question(definition: Callable[..., float]) -> Callable[..., float | None]:
    """A definition for a question, which may be missing, and an answer."""
    return lambda answer, question: None if answer is None else definition(question, answer)


def dot(first: list[float], second: list[float]) -> float:
    """a·b."""
    return math.fsum(map(operator.mul, first, second))


def cosine(first: list[float], second: list[float]) -> float:
    """a·b / (‖a‖·‖b‖)."""
    norms = math.hypot(*first) * math.hypot(*second)
    return dot(first, second) / norms if norms else math.nan


PAIR = each(text, texts)
FEW = 100


def some(row: Callable[[random.Random], Sequence[Any]], oracle: Callable[..., float | None]) -> Case:
    """A case of few rows."""
    return Case(row, oracle, 1e-12, FEW)


GENERATION = {
    **{
        f"rouge{kind}_{part}": Case(PAIR, by_references(partial(packages.rouge, f"rouge{kind}", measure)), rows=FEW)
        for kind in (*range(1, 10), "L", "Lsum")
        for part, measure in (("precision", "precision"), ("recall", "recall"), ("f1", "fmeasure"))
    },
    "bleu": some(PAIR, by_references(packages.bleu)),
    "chrf": some(PAIR, by_references(packages.chrf)),
    "chrf++": some(PAIR, by_references(partial(packages.chrf, word_order=2))),
    "ter": Case(PAIR, by_references(packages.ter), 1e-14, 30),
    "tfidf_cosine": some(each(text, text), whole(packages.tfidf)),
}

VERDICT = {
    "keyword_completeness": some(each(prose, prose), whole(claims.keyword_completeness)),
    "drift": some(each(prose, proses), whole(claims.drift)),
    "hallucination": some(each(prose, proses), whole(claims.hallucination)),
    **{
        name: some(each(prose, proses), whole(getattr(claims, name)))
        for name in ("ngram_overlap", "unsupported_share", "anchor_count", "unsupported_count")
    },
    "hallucination_risk": some(
        each(prose, proses), whole(lambda answer, contexts: float(claims.hallucination(answer, contexts) > 0.6))
    ),
    "answer_relevance": some(each(prose, prose), whole(claims.relevance)),
    "verdict": some(each(prose, prose, proses), whole(claims.verdict)),
}

NOVELTY = {
    name: some(each(prose, proses), whole(getattr(novelty, name)))
    for name in ("novel_word_rate", "novel_bigram_rate", "novel_name_rate", "novel_number_rate", "negation_mismatch")
}

TIES, KINDS = ("connector", "pronoun", "topic"), ("diversity", "sophistication", "repetition")
WRITING = {
    **{f"{name}_score": some(each(prose), whole(lambda a, at=at: writing.ties(a)[at])) for at, name in enumerate(TIES)},
    **{
        f"{name}_score": some(each(prose), whole(lambda a, at=at: writing.kinds(a)[at]))
        for at, name in enumerate(KINDS)
    },
    **{
        name: some(each(prose, prose), whole(lambda q, a, at=at: writing.fulfilment(q, a)[at]))
        for at, name in enumerate(("keyword_coverage", "question_score", "task_score"))
    },
    "paragraph_score": some(each(prose), whole(lambda answer: writing.parts(None, answer)[0])),
    "introduction_score": some(each(prose, prose), by_question(lambda q, a: writing.parts(q, a)[1])),
    "conclusion_score": some(each(prose), whole(lambda answer: writing.parts(None, answer)[2])),
    "structure_score": some(each(prose, prose), by_question(writing.structure)),
    "coherence": some(each(prose), whole(writing.coherence)),
    "vocabulary_score": some(each(prose), whole(writing.vocabulary)),
    **{
        name: some(each(prose, prose), whole(getattr(writing, name)))
        for name in ("writing_completeness", "length_score", "overall_quality")
    },
}

SEMANTIC = {
    name: Case(each(vector, vector), whole(definition), 1e-9)
    for name, definition in (
        ("semantic_similarity", cosine),
        ("dot_similarity", dot),
        ("euclidean_distance", math.dist),
    )
}

ANSWERABILITY = {
    name: Case(
        each(text, maybe, texts), lambda *row, name=name: getattr(answerability, name)(refusing().abstained, *row)
    )
    for name in ("correct_abstention", "answered_unanswerable", "wrong_on_answerable", "overall_accuracy")
}

CASES = {
    **GENERATION,
    **ANSWERABILITY,
    **VERDICT,
    **NOVELTY,
    **WRITING,
    **SEMANTIC,
    **{name: Case(PAIR, getattr(lexical, name)) for name in ("exact_match", "keyword_recall", "squad_em", "squad_f1")},
    **{
        name: Case(PAIR, getattr(lexical, name), 1e-15)
        for name in ("token_f1", "token_precision", "token_recall", "token_cosine")
    },
    "json_valid": Case(each(record), structure.json_valid),
    "json_match": Case(each(record, records), structure.json_match, 1e-15),
    "json_f1": Case(each(record, records), structure.json_f1, 1e-15),
    "sql_match": Case(each(query, lambda chance: [query(chance)]), structure.sql_match),
    "code_match": Case(each(function, lambda chance: [function(chance)]), structure.code_match),
    **{
        f"tool_call_{name}": Case(
            each(calls, *([] if name == "count" else [calls])), getattr(tool_calls, f"tool_call_{name}"), 1e-15
        )
        for name in ("precision", "recall", "f1", "match", "accuracy", "count")
    },
    "turns": Case(each(conversation), tool_calls.turns),
    "task_success": Case(each(lambda chance: chance.random() < 0.5), identity),
    "cover_match": Case(PAIR, matching.cover_match),
    "answer_in_context": Case(each(texts, texts), matching.answer_in_context),
    **{name: Case(PAIR, getattr(edit_distance, name)) for name in ("wer", "cer", "levenshtein_ratio")},
    "jaccard": Case(each(text, text), lexical.jaccard),
    "answer_length": Case(each(text), lexical.answer_length),
    "answer_words": Case(each(text), lexical.answer_words),
    "politeness": Case(each(text), lexical.politeness),
    "answer_rate": Case(each(text), whole(lambda answer: 1.0 - refusing().abstained(answer))),
    "abstained": Case(each(text), lambda answer: refusing().abstained(answer)),
    "idk_citations": Case(each(text), lambda answer: refusing().idk_citations(answer)),
    **{
        name: Case(search, ranked(getattr(retrieval, name)), 1e-14)
        for name in ("reciprocal_rank", "average_precision", "r_precision", "ndcg")
    },
    **{
        f"retrieval_{name}": Case(search, ranked(getattr(retrieval, name)), 1e-14)
        for name in ("recall", "precision", "f1")
    },
    "hit_rate": Case(search, ranked(retrieval.success)),
    "repeated_ids": Case(lambda chance: search(chance)[:1], repeated),
    "latency_ms": Case(each(number), identity),
    "confidence": Case(each(number), identity),
    "judge_correctness": Case(each(lambda chance: chance.choice((1.0, 5.0, 3.5, chance.uniform(1, 5)))), identity),
    **{
        f"judge_{rubric}": Case(each(lambda chance: chance.choice((0.0, 1.0, chance.random()))), identity)
        for rubric in ("answer_faithfulness", "answer_relevance", "e2e")
    },
    **{
        name: Case(each(random.Random.random), identity)
        for name in ("entailment", "contradiction", "bert_score_precision", "bert_score_recall", "bert_score_f1")
    },
    "context_relevance": Case(
        each(lambda chance: [chance.random() for _ in range(chance.choice((0, 1, 4)))]),
        whole(lambda numbers: math.nan if not numbers else math.fsum(numbers) / len(numbers)),
        1e-14,
    ),
    "prompt_tokens": Case(usage("prompt", "completion", "total"), latency_and_cost.prompt_tokens),
    "completion_tokens": Case(usage("completion", "prompt", "total"), latency_and_cost.completion_tokens),
    "total_tokens": Case(usage("total", "prompt", "completion"), latency_and_cost.total_tokens),
    "cost": Case(
        each(rounds, rounds, rounds, text, rounds, rounds, rounds, rounds),
        lambda cost, *_: latency_and_cost.amount(cost),
    ),
}

EMBEDDING = frozenset({"grounding_overlap", "overlap_faithfulness", "citation_precision", "citation_recall"})
"""Metrics that take an embedder, which no spec can hold and no row decides."""
EXEMPT = EMBEDDING | {"math_match", "choice_match", "number_match"}
"""Those, and metrics that start processes of an extra or read statements and numbers: ``tests/metrics`` has files of
their own for them."""


def _reading(name: str) -> tuple[str, ...]:
    """What a metric reads: its family, and the representations of its columns."""
    function = REGISTRY[name].function
    columns = (one for one in inspect.signature(function).parameters.values() if one.kind is not one.KEYWORD_ONLY)
    return function.__module__, *(str(column.annotation) for column in columns)


READERS = sorted({_reading(name): name for name in CASES}.values())
"""One metric for each way of reading columns: what holds for how cells are read holds for the others like it."""


def columns(name: str, rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Rows for a metric: its columns by name, one cell in forty null, and in each column one of the first rows."""
    chance = random.Random(f"{name} {seed}")
    values = [
        [None if chance.random() < 1 / 40 or row == 5 + at else cell for at, cell in enumerate(CASES[name].row(chance))]
        for row in range(rows)
    ]
    return {column: [row[at] for row in values] for at, column in enumerate([*REGISTRY[name].needs][: len(values[0])])}


@cache
def tables(rows: int, names: tuple[str, ...]) -> dict[str, dict[str, list[Any]]]:
    """Made rows for each of the named metrics."""
    return {name: columns(name, rows) for name in names}


def bits(rows: int, names: Iterable[str] = ()) -> dict[str, list[str]]:
    """The scores of the named metrics, or of all, on made rows, to the last bit."""
    columns = tables(rows, tuple(names) or tuple(CASES))
    return {
        name: [score.hex() for score in callable_of(name)(**arguments).tolist()] for name, arguments in columns.items()
    }
