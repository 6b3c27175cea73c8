"""The metrics that compare strings, against their plain definitions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import well_formed
from tests.reference import cases, lexical
from tests.support import strategies

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
BY_NAME = pytest.mark.parametrize(("name", "options"), AGAINST_REFERENCE)
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
    assert found.tobytes() == expected.tobytes()
    check(name, mended, options)


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


@BY_PAIR
def test_tokens_that_are_nearly_equal(name: str, options: dict[str, Any]) -> None:
    """NULs at the end, one byte more, a shared prefix: each token against each other, in one column."""
    tokens = strategies.EDGE_TOKENS
    check(name, [(one, f"{other} {one}x") for one in tokens for other in tokens], options)


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
