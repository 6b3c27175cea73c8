"""Translation edit rates, against sacreBLEU."""

import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

import fastmetrics as fm
from tests.reference import packages
from tests.support import strategies

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "A,", "don't."]), max_size=14).map(" ".join)
ROWS = st.lists(st.tuples(WORDS | strategies.texts, st.lists(WORDS | strategies.texts, min_size=1, max_size=3)))
OPTIONS: list[dict[str, Any]] = [
    {},
    {"case_sensitive": True},
    {"normalized": True, "asian_support": True, "no_punct": True},
]


@given(ROWS)
@example([("", [""]), ("a b", [""]), ("", ["a b"]), ("c d e a b", ["a b c d e"])])
@pytest.mark.parametrize("options", OPTIONS)
def test_any_row(options: dict[str, Any], rows: list[tuple[str, list[str]]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [packages.ter(*row, **options) for row in rows]
    assert fm.ter(answers, references, **options) == pytest.approx(expected, rel=1e-14)


@pytest.fixture(scope="module")
def moved() -> tuple[list[str], list[str]]:
    """Texts of which runs of words have moved, some far, and texts of very different lengths."""
    chance = random.Random(3)
    answers, references = [], []
    for row in range(15):
        words = [f"w{chance.randrange(chance.choice((3, 40)))}" for _ in range(chance.choice((3, 12, 25, 40)))]
        if row == 5:
            words = [f"w{chance.randrange(200)}" for _ in range(90)]
        other = list(words)
        for _ in range(chance.randint(0, 4)):
            start = chance.randrange(len(other))
            run = other[start : start + chance.randint(1, 14)]
            del other[start : start + len(run)]
            place = chance.randint(0, len(other))
            other[place:place] = run
        if row % 9 == 0:
            other = other[: chance.randint(0, 3)] + ["x"] * chance.choice((0, 90))
        answers.append(" ".join(words))
        references.append(" ".join(other))
    return answers, references


def test_equal_to_sacrebleu(moved: tuple[list[str], list[str]]) -> None:
    answers, references = moved
    scorer = TER()
    assert fm.ter(answers, references).tolist() == [
        scorer.sentence_score(answer, [reference]).score for answer, reference in zip(answers, references, strict=True)
    ]
    others = references[1:] + references[:1]
    found = fm.corpus_ter(answers[:9], [list(pair) for pair in zip(references[:9], others[:9], strict=True)])
    expected = scorer.corpus_score(answers[:9], [references[:9], others[:9]])
    assert found.score == pytest.approx(expected.score, rel=1e-14)
    assert (found.num_edits, found.ref_length) == (expected.num_edits, expected.ref_length)
    assert found.signature == str(scorer.get_signature())
