"""An assertive claim as one anchor, a triple of subject, verb and object (S3): what it is, and what supports it."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from tests.reference import claims

CONTEXT = "The tower was built by Eiffel in Paris."
FAR = " y" * 40


def anchors(answer: str, *contexts: str, **options: Any) -> dict[str, bool]:
    """The anchors by their text, and whether they are supported."""
    table = fm.scoring.anchors([answer], [list(contexts)], **options)
    return {anchor["text"]: anchor["supported"] for anchor in table["anchors"][0].as_py()}


class TestWorkedExample:
    """The example of the definition: two wrong facts of three."""

    rows = (
        ["Acme released the Widget phone in 2023 for $900."],
        [["Acme announced the Widget phone on 5 January 2024. It costs $1,000."]],
    )

    def test_a_triple_is_one_anchor_of_three(self) -> None:
        expected = {"Acme released the Widget phone": True, "2023": False, "900": False}
        assert anchors(self.rows[0][0], *self.rows[1][0]) == expected
        assert fm.hallucination(*self.rows).tolist() == [2 / 3]
        assert claims.hallucination(self.rows[0][0], self.rows[1][0]) == 2 / 3
        assert fm.hallucination_risk(*self.rows).tolist() == [1.0]

    def test_the_verdict_follows_the_triples(self) -> None:
        rows = (["When did Acme release the Widget phone?"], *self.rows)
        assert fm.verdict(*rows).tolist() == [0.0]
        table = fm.scoring.verdicts(*rows)
        assert table["verdict"].to_pylist() == ["FAIL"]
        assert [anchor["text"] for anchor in table["unsupported"][0].as_py()] == ["2023", "900"]


class TestWordsOfATriple:
    """Which words are subject and object."""

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("The tower was built by Eiffel.", ["tower was built by Eiffel"]),
            ("It was built by Eiffel.", ["was built by Eiffel"]),
            (
                "The tower was built by Eiffel, and the bridge opened in Rome.",
                ["tower was built by Eiffel", "bridge opened in Rome"],
            ),
            ("Eiffel built the tower. He was born in Dijon.", ["Eiffel built the tower", "was born in Dijon"]),
            ("The tower closed.", ["tower closed"]),
            ("It closed.", ["closed"]),
            ("The tower is.", []),
            ("Eiffel, in Paris.", []),
            ("1. The tower was built [2].\n2. The bridge", ["tower was built"]),
            ("The tower may be in Rome. Is it in Rome?", []),
            ("Старая башня была построена в Париже.", ["Старая башня была построена в Париже"]),
        ],
    )
    def test_one_claim_for_each_clause(self, answer: str, expected: list[str]) -> None:
        assert list(anchors(answer, CONTEXT)) == expected

    def test_numbers_and_dates_are_no_words_of_a_triple(self) -> None:
        context = "The tower was built by Eiffel in 1889, of 20 parts, with 5 men."
        assert anchors("In 1890, 5 towers were built for Eiffel, 20 of them.", context) == {
            "1890": False,
            "5": True,
            "towers were built for Eiffel": True,
            "20": True,
        }

    def test_a_wrong_number_fails_the_claim_of_its_clause_unless_it_says_when_or_where(self) -> None:
        context = "Eiffel built 5 towers in 1889, and Bob saw them."
        for number in ("5", "6"):
            assert anchors(f"Eiffel built {number} towers in 1890, and Bob saw them.", context) == {
                number: number == "5",
                f"Eiffel built {number} towers": number == "5",
                "1890": False,
                "Bob saw": True,
            }

    def test_an_object_of_numbers_alone_is_no_triple(self) -> None:
        assert anchors("The Louvre opened in 1889.", "The tower opened in 1889.") == {"1889": True}
        assert anchors("1889 was the year.", "The tower opened in 1889. A year of joy.") == {
            "1889": True,
            "was the year": True,
        }


class TestSupport:
    """When subject and object stand close together."""

    def test_three_quarters_of_the_words_of_each_are_enough(self) -> None:
        context = "The old stone tower of Paris was built by Eiffel, Zola and Rodin."
        assert anchors("The tower was built by Eiffel, Zola, Rodin and Monet.", context).popitem()[1]
        assert not anchors("The tower was built by Eiffel, Zola and Monet.", context).popitem()[1]
        assert not anchors("The tower was built by Eiffel, Zola, Rodin, Monet and Manet.", context).popitem()[1]
        assert anchors("The high old stone tower was built by Zola.", context).popitem()[1]
        assert not anchors("The high old tower was built by Zola.", context).popitem()[1]

    def test_a_subject_that_no_context_mentions_is_unsupported(self) -> None:
        for subject in ("The building", "The Louvre", "I"):
            assert list(anchors(f"{subject} was built by Eiffel.", CONTEXT).values()) == [False]

    def test_the_verb_is_not_compared(self) -> None:
        assert anchors("Eiffel destroyed the tower.", CONTEXT) == {"Eiffel destroyed the tower": True}
        assert anchors("The tower closed.", CONTEXT) == {"tower closed": False}

    def test_a_pronoun_stands_for_the_subject_before(self) -> None:
        context = f"Eiffel built the tower.{FAR} Dijon is a town, and Perret built a church."
        assert anchors("Eiffel built the tower. He was born in Dijon.", context)["was born in Dijon"] is False
        assert anchors("He was born in Dijon.", context) == {"was born in Dijon": True}
        assert anchors("Eiffel built the tower. There is Dijon.", context)["is Dijon"] is True

    @pytest.mark.parametrize("window", [0, 1, 2, 3, 30])
    def test_no_two_words_are_further_apart_than_the_window(self, window: int) -> None:
        for distance in range(max(2, window - 1), window + 3):
            for context in (
                f"tower Eiffel{' y' * (distance - 2)} Zola",
                f"z Zola tower{' y' * (distance - 2)} Eiffel z",
            ):
                supported = anchors("The tower is Eiffel and Zola.", context, window=window).values()
                assert list(supported) == [distance <= window], (context, window)

    def test_words_of_two_contexts_are_near_each_other_in_neither(self) -> None:
        for contexts in (["the tower", "Eiffel"], ["Eiffel", "tower"], ["tower Zola", "tower Eiffel", "Eiffel Zola"]):
            assert anchors("The tower is Eiffel, Zola.", *contexts, window=10**6).popitem() == (
                "tower is Eiffel, Zola",
                False,
            )
        assert anchors("The tower is Eiffel.", "tower", "Eiffel", "tower Eiffel", window=1) == {"tower is Eiffel": True}

    def test_stems_are_compared_in_russian(self) -> None:
        context = "В 1889 году в городе Париже построили каменную башню."
        assert anchors("Каменная башня стоит в Париже.", context) == {"Каменная башня стоит в Париже": True}
        assert anchors("Каменная башня стоит в Лионе.", context) == {"Каменная башня стоит в Лионе": False}


@pytest.mark.parametrize("many", [-1, 1 << 60])
def test_an_answer_that_repeats_itself_has_the_anchors_of_the_plain_definition(many: int) -> None:
    """Equal claims are compared once in rows with many of them, and claims that differ in one word are not equal."""
    chance = random.Random(3)
    words = ["tower", "Eiffel", "Paris", "Zola", "Rome", "bridge"]
    rows = []
    for _ in range(30):
        sentences = [f"The {chance.choice(words)} is {chance.choice(words)} {chance.choice(words)}." for _ in range(60)]
        long = " ".join(f"w{n}" for n in range(80))
        sentences += [f"{long} is Paris.", f"{long} is Rome."] * 2
        contexts = [
            "".join(f"{chance.choice(words)}{' y' * chance.choice([0, 1, 3])} " for _ in range(9)) for _ in "ab"
        ]
        rows.append((" ".join(sentences), [*contexts, f"{long} {'y ' * 9} Rome"]))
    with mock.patch.object(SIZES, "compared_claims", many):
        lists = fm.scoring.anchors(*map(list, zip(*rows, strict=True)), window=4)["anchors"].to_pylist()
    for row, ours in zip(rows, lists, strict=True):
        actual = sorted((a["kind"], a["start"], a["stop"], a["supported"]) for a in ours)
        assert actual == sorted(claims.anchors(*row, 4))
    supported = [anchor["supported"] for row in lists for anchor in row]
    assert 0.05 < sum(supported) / len(supported) < 0.95


def test_claims_of_one_row_do_not_support_those_of_another() -> None:
    answers = ["The tower is Eiffel.", "The tower is Eiffel. The tower is Eiffel."] * 3
    contexts = [["the tower is Eiffel"], ["the tower"]] * 3
    for many in (-1, 1 << 60):
        with mock.patch.object(SIZES, "compared_claims", many):
            assert fm.hallucination(answers, contexts).tolist() == [0.0, 1.0] * 3
