"""The metrics that compare strings, against their plain definitions."""

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import well_formed
from tests.reference import cases, lexical
from tests.support import strategies

pytestmark = pytest.mark.slow

AGAINST_REFERENCE = [
    *[(name, {}) for name in ("exact_match", "keyword_recall", "token_cosine")],
    ("exact_match", {"tokenizer": "plain"}),
    *[(name, {}) for name in ("token_f1", "token_precision", "token_recall")],
    *[(name, {"version": version}) for name in ("squad_em", "squad_f1") for version in (1, 2)],
]
TWO_COLUMNS = [*AGAINST_REFERENCE, ("jaccard", {})]
ONE_COLUMN = [
    ("answer_length", {}),
    ("answer_words", {}),
    ("politeness", {}),
    ("politeness", {"markers": ("a", "да", "k")}),
]
OF_EACH_KIND = [("exact_match", {}), ("token_cosine", {}), ("token_f1", {}), ("squad_f1", {"version": 2})]
"""Of the keys of a whole text, weighed words, counted words, and the words of a convention of its own."""
BY_NAME = pytest.mark.parametrize(("name", "options"), AGAINST_REFERENCE)
BY_KIND = pytest.mark.parametrize(("name", "options"), OF_EACH_KIND)
BY_PAIR = pytest.mark.parametrize(("name", "options"), TWO_COLUMNS)
BY_TEXT = pytest.mark.parametrize(("name", "options"), ONE_COLUMN)


def expect(name: str, rows: list[tuple[Any, ...]], options: dict[str, Any]) -> list[float]:
    """The plain definition's scores; NaN where it has none."""
    scores = [getattr(lexical, name)(*row, **options) for row in rows]
    return [math.nan if score is None else score for score in scores]


def check(name: str, rows: list[tuple[Any, ...]], options: dict[str, Any]) -> None:
    """Score ``rows`` both ways and show the first row on which they differ."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    got = getattr(fm, name)(*columns, **options)
    assert isinstance(got, np.ndarray)
    assert got.dtype == np.float64
    assert got.shape == (len(rows),)
    for row, ours, theirs in zip(rows, got.tolist(), expect(name, rows, options), strict=True):
        assert close(name, ours, theirs), f"{name}{row!r} {options}: {ours!r}, not {theirs!r}"


def close(name: str, ours: float, theirs: float) -> bool:
    """Equal to the last bit for SQuAD's own numbers, to the last but a few for the others."""
    if math.isnan(theirs):
        return math.isnan(ours)
    return ours == theirs or (not name.startswith("squad") and math.isclose(ours, theirs, rel_tol=1e-15))


def same_bits(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one.view(np.int64), other.view(np.int64)))


@functools.cache
def many(rows: int, seed: int) -> tuple[list[str | None], list[list[str | None] | None]]:
    """Answers and lists of references, enough for several chunks of work."""
    chance = random.Random(seed)
    vocabulary = strategies.EDGE_TOKENS + ["the", "cat", "sat", "on", "mat", "dog", "please", "thanks", "да", "нет"] * 5

    def sentence() -> str | None:
        return None if chance.random() < 0.03 else " ".join(chance.choices(vocabulary, k=chance.randint(0, 9)))

    answers = [sentence() for _ in range(rows)]
    wanted = [
        None if chance.random() < 0.03 else [sentence() for _ in range(chance.choice((0, 1, 1, 1, 3)))]
        for _ in range(rows)
    ]
    return answers, wanted


def first(references: list[list[str | None] | None]) -> list[str | None]:
    return [one[0] if one else None for one in references]


@pytest.mark.parametrize(("name", "arguments", "options", "score"), cases.SCORES)
def test_worked_scores(name: str, arguments: tuple[Any, ...], options: dict[str, Any], score: float) -> None:
    assert getattr(lexical, name)(*arguments, **options) == pytest.approx(score, abs=1e-15)
    assert getattr(fm, name)(*[[argument] for argument in arguments], **options) == pytest.approx([score], abs=1e-15)


@BY_PAIR
@given(rows=strategies.pairs)
def test_any_pair(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows, options)


@BY_NAME
@given(rows=strategies.multi_pairs)
def test_any_list_of_references(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows, options)


@BY_TEXT
@given(rows=st.lists(st.tuples(st.none() | strategies.texts | strategies.markers), max_size=8))
def test_any_text(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    check(name, rows or [(None,)], options)


@BY_PAIR
@given(one=strategies.surrogate_texts, other=strategies.surrogate_texts)
def test_lone_surrogates(name: str, options: dict[str, Any], one: str, other: str) -> None:
    rows = [(one, other), (one, one), (other, None)]
    mended = [tuple(None if text is None else well_formed(text) for text in row) for row in rows]
    score = getattr(fm, name)
    found, expected = (score(*map(list, zip(*some, strict=True)), **options) for some in (rows, mended))
    assert same_bits(found, expected)
    check(name, mended, options)


@pytest.mark.parametrize(("name", "options"), [*OF_EACH_KIND, ("jaccard", {})])
@given(rows=strategies.pairs)
@settings(max_examples=5)
def test_every_container_gives_the_same_bits(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    score = getattr(fm, name)
    left, right = [one for one, _ in rows], [other for _, other in rows]
    expected = score(left, right, **options)
    for (disguise, a), (_, b) in zip(strategies.disguises(left, 1), strategies.disguises(right, 2), strict=True):
        assert same_bits(score(a, right, **options), expected), disguise
        assert same_bits(score(left, b, **options), expected), disguise
        assert same_bits(score(a, b, **options), expected), disguise


@BY_KIND
@given(rows=strategies.multi_pairs)
@settings(max_examples=5)
def test_every_container_of_lists(name: str, options: dict[str, Any], rows: list[tuple[Any, ...]]) -> None:
    score = getattr(fm, name)
    answers, wanted = [one for one, _ in rows], [other for _, other in rows]
    expected = score(answers, wanted, **options)
    for disguise, column in strategies.list_disguises(wanted):
        assert same_bits(score(answers, column, **options), expected), disguise


@pytest.mark.parametrize("size", [63, 64, 65, 128, 129])
def test_each_of_many_markers_counts(size: int) -> None:
    """They are looked for 64 at a time."""
    markers = tuple(f"marker{number:03}" for number in range(size))
    rows = [(f"So {one}.",) for one in markers] + [(f"{markers[0]} {one}",) for one in markers] + [("marker",)]
    check("politeness", rows, {"markers": markers})
    assert fm.politeness([markers[-1]], markers=markers).tolist() == [0.5]


def test_markers_with_white_space() -> None:
    """They match at the end of one word and the beginning of the next, over the same white space only."""
    markers = ("thank you", " a", "b ", "и\nд", "x  y", "\u00a0t", "né à", "\0 c")
    texts = [
        *("I thank  you", "thank you", "thanks, thankyou", "OUTTHANK YOUR", "thank\nyou", "a", " a", "ab b"),
        "b \u00a0",
        *("ИИ\nДД", "и д", "x  y x y", "x \ty", "NÉ À", "né", "\0 c\0", "\0c", "", " ", "İ b a\u00a0thank you"),
    ]
    check("politeness", [(text,) for text in texts], {"markers": markers})


@BY_TEXT
@given(rows=strategies.rows)
@settings(max_examples=5)
def test_every_container_of_texts(name: str, options: dict[str, Any], rows: list[str | None]) -> None:
    expected = getattr(fm, name)(rows, **options)
    for disguise, column in strategies.disguises(rows):
        assert same_bits(getattr(fm, name)(column, **options), expected), disguise


@BY_PAIR
def test_tokens_that_are_nearly_equal(name: str, options: dict[str, Any]) -> None:
    """NULs at the end, one byte more, a shared prefix: each token against each other, in one column."""
    tokens = strategies.EDGE_TOKENS
    check(name, [(one, f"{other} {one}x") for one in tokens for other in tokens], options)


@BY_NAME
def test_many_rows_in_any_order_and_any_number_of_threads(name: str, options: dict[str, Any], full: bool) -> None:
    answers, wanted = many(30_000 if full else 10_000, seed=5)
    score = getattr(fm, name)
    expected = score(answers, wanted, threads=1, **options)
    assert same_bits(score(answers, wanted, threads=3, **options), expected)
    order = np.random.default_rng(1).permutation(len(answers))
    shuffled = score([answers[i] for i in order], [wanted[i] for i in order], threads=2, **options)
    assert same_bits(shuffled, expected[order])
    middle = score(answers[3_333:7_777], wanted[3_333:7_777], **options)
    assert same_bits(middle, expected[3_333:7_777])
    check(name, list(zip(answers, wanted, strict=True))[:1000], options)


@pytest.mark.parametrize(("name", "options"), [("jaccard", {}), *ONE_COLUMN])
def test_many_texts_in_any_order_and_any_number_of_threads(name: str, options: dict[str, Any], full: bool) -> None:
    answers, wanted = many(30_000 if full else 10_000, seed=6)
    columns = [answers, first(wanted)][: 2 if name == "jaccard" else 1]
    score = getattr(fm, name)
    expected = score(*columns, threads=1, **options)
    assert same_bits(score(*columns, threads=3, **options), expected)
    assert same_bits(score(*[column[::-1] for column in columns], **options), expected[::-1].copy())
    check(name, list(zip(*columns, strict=True))[:1000], options)


@BY_PAIR
def test_empty_and_null_columns(name: str, options: dict[str, Any]) -> None:
    score = getattr(fm, name)
    assert score([], [], **options).shape == (0,)
    for left, right in ((["x", "y"], [None, None]), ([None, None], ["x", "y"]), ([None, None], [None, None])):
        for (disguise, a), (_, b) in zip(strategies.disguises(left), strategies.disguises(right), strict=True):
            assert np.isnan(score(a, b, **options)).all(), disguise


@BY_PAIR
def test_huge_cells(name: str, options: dict[str, Any], full: bool) -> None:
    """Megabytes in one cell, ten at full size, and as many different tokens in one row, beside small rows."""
    size = 10 if full else 1
    few, big = "The naïve fox, İstanbul. ", "The naïve fox, İstanbul. " * 40_000 * size
    ours = getattr(fm, name)(["x", big, "x"], [big, big, "x"], **options)
    assert ours.tolist() == expect(name, [("x", few), (few, few), ("x", "x")], options)
    long = " ".join(f"token{number}" for number in range(10_000 * size))
    check(name, [(long, long[: len(long) // 2]), (long, "token9999")], options)


@BY_NAME
@given(text=strategies.texts)
def test_a_text_matches_itself(name: str, options: dict[str, Any], text: str) -> None:
    check(name, [(text, [text]), (text, ["zzz", None, text])], options)


@pytest.mark.parametrize("name", ["token_cosine", "jaccard", "exact_match", "token_f1", "squad_em", "squad_f1"])
@given(rows=strategies.pairs)
def test_order_of_columns_does_not_matter(name: str, rows: list[tuple[Any, ...]]) -> None:
    score: Callable[..., Any] = getattr(fm, name)
    one, other = [a for a, _ in rows], [b for _, b in rows]
    assert score(one, other) == pytest.approx(score(other, one), nan_ok=True, rel=1e-15)
