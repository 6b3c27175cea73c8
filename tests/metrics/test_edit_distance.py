"""Error rates by edit distances, against the table of the textbook and the packages of the field."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from tests.reference import edit_distance
from tests.support import strategies

FEW = st.lists(st.sampled_from(["a", "b", "A", " ", "é"]), max_size=12).map("".join)
TEXTS = FEW | strategies.texts
ROWS = st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=3)), max_size=8)
OPTIONS = [
    *[("wer", {"tokenizer": name}) for name in ("none", "split", "plain")],
    *[("cer", {"lowercase": flag}) for flag in (False, True)],
    *[("levenshtein_ratio", {"lowercase": flag, "substitution_cost": cost}) for flag, cost in ((False, 1), (True, 2))],
]


@given(ROWS)
@example([("\0a\0", ["a", "\0"]), (" a", ["a "]), ("a\tb", ["a b"]), ("", [" "]), ("x", [""]), ("İ", ["i"])])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_any_row(name: str, options: dict[str, Any], rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [getattr(edit_distance, name)(*row, **options) for row in rows]
    scores = getattr(fm, name)(answers, references, **options)
    np.testing.assert_array_equal(
        scores, np.array([np.nan if score is None else score for score in expected], np.float64), strict=True
    )


@given(ROWS)
def test_any_table(rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    assert fm.corpus_wer(answers, references).score == edit_distance.corpus_wer(answers, references)
    assert fm.corpus_cer(answers, references).score == edit_distance.corpus_cer(answers, references)


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[str]]:
    """Texts that differ a little or wholly, of up to some thousand characters, many of 60 to 70."""
    chance = random.Random(0)
    words = ["a", "bb", "the", "cat", "é", "сто", "中", "\U0001f600", "."]
    answers, references = [], []
    for row in range(3000):
        size = chance.choice((0, 1, 5, 33, 64, 65, 130)) if row % 50 else 1500
        tokens = chance.choices(words, k=chance.randint(0, size))
        kept = [chance.choice(words) if chance.random() < 0.2 else token for token in tokens if chance.random() > 0.1]
        answers.append(" ".join(tokens))
        references.append(" ".join(kept if chance.random() < 0.7 else chance.choices(words, k=chance.randint(0, size))))
    return answers, references


def test_equal_to_the_packages(pairs: tuple[list[str], list[str]]) -> None:
    import jiwer
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Levenshtein

    answers, references = pairs
    rows = list(zip(answers, references, strict=True))
    assert fm.wer(answers, references).tolist() == [jiwer.wer(reference, answer) for answer, reference in rows]
    assert fm.cer(answers, references).tolist() == [jiwer.cer(reference, answer) for answer, reference in rows]
    assert fm.corpus_wer(answers, references).score == jiwer.wer(references, answers)
    assert fm.corpus_cer(answers, references).score == jiwer.cer(references, answers)
    assert fm.levenshtein_ratio(answers, references) == pytest.approx(
        [Levenshtein.normalized_similarity(*row) for row in rows], rel=1e-15
    )
    assert fm.levenshtein_ratio(answers, references, substitution_cost=2) == pytest.approx(
        [fuzz.ratio(*row) / 100 for row in rows], rel=1e-14
    )


def test_corpora_are_compared_by_resampling() -> None:
    rows = {"id": list(range(60)), "reference": ["a b c"] * 60}
    runs = {
        name: fm.score({**rows, "answer": [answer] * 30 + ["a b c"] * 30}, "corpus_wer", keep_counts=True)
        for name, answer in (("right", "a b c"), ("wrong", "a x c"))
    }
    found = fm.compare(runs, metrics="corpus_wer", seed=1)["corpus_wer"]
    assert found.delta == pytest.approx(1 / 6)
    assert found.low > 0
    assert found.p < 0.01
