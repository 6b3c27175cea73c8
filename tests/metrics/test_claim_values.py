"""Numbers, dates and times in answers: how each is read, and which value of a context it is equal to (S3)."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

import fastmetrics as fm
from tests.reference import claims
from tests.support import made_values
from tests.support.strategies import is_plain

FAMILIES = [
    [*made_values.NUMBERS, *made_values.SCALED, *made_values.SHARES],
    [*made_values.MONEY, *made_values.NUMBERS[:20]],
    [*made_values.DAYS, *made_values.DIGIT_DATES, "2024", "1999", "5", "May 5 and 2024"],
    [*made_values.TIMES, *made_values.WEEKDAYS, "3", "12", "30"],
    made_values.VALUES,
]
FAMILIES = [[value for value in family if is_plain(f"xy {value} yx")] for family in FAMILIES]


def check(table: list[tuple[str, list[str]]]) -> int:
    """Compare the anchors with those of the plain definition; how many are supported."""
    found = fm.scoring.anchors(*(list(column) for column in zip(*table, strict=True)))["anchors"].to_pylist()
    for (answer, contexts), ours in zip(table, found, strict=True):
        got = sorted((one["kind"], one["start"], one["stop"], one["supported"]) for one in ours)
        assert got == sorted(claims.anchors(answer, contexts)), (answer, contexts)
    return sum(one["supported"] for row in found for one in row)


@pytest.mark.parametrize("frame", ["{}", "xy {} yx", "{}.", "xy {}, 5 yx", "1. {}\n2. {}", "({})"])
def test_parsed_values_equal_the_definition(frame: str) -> None:
    check([(text, ["q"]) for text in (frame.replace("{}", value) for value in FAMILIES[-1]) if is_plain(text)])


@pytest.mark.parametrize("n_numbers", [1, 3, 40])
def test_texts_may_have_nothing_but_values(n_numbers: int) -> None:
    """Room is made at first for one value in eight words."""
    texts = [" ".join(str(row + 2 * k) for k in range(n_numbers)) for row in range(30)]
    assert check([(text, [text, "and no more"]) for text in texts]) > 25 * n_numbers
    check([(text, [other]) for text, other in zip(texts, texts[::-1], strict=True)])


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_equal_values_are_found_in_contexts(family: int) -> None:
    chance = random.Random(family)
    draw = lambda: chance.choice(FAMILIES[family])  # noqa: E731
    held = check([(f"xy {draw()} yx", [f"zu {draw()} uz, {draw()}", draw()]) for _ in range(1500)])
    assert held > 100


def held(pairs: list[tuple[str, str]]) -> list[bool]:
    """Whether the one value of each first text is among those of the second."""
    table = fm.scoring.anchors([f"x {one} y" for one, _ in pairs], [[f"z {other} w"] for _, other in pairs])["anchors"]
    own = [[one for one in row if one["kind"] != "claim"] for row in table.to_pylist()]
    assert [len(row) for row in own] == [1] * len(pairs)
    return [row[0]["supported"] for row in own]


def equal(*values: str) -> None:
    assert all(held([*permutations(values, 2)])), values


def different(*values: str) -> None:
    assert not any(held([*permutations(values, 2)])), values


def test_currency_named_on_one_side_is_ignored() -> None:
    equal("$5", "5")
    equal("5 euros", "5")
    different("$5", "€5", "£5", "¥5", "₽5", "₹5")


@pytest.mark.parametrize(
    "forms",
    [
        ["$5", "5 dollars", "5 usd"],
        ["5 €", "5 euros"],
        ["£5", "5 pounds"],
        ["¥5", "5 yen"],
        ["5 ₽", "5 рублей"],
        ["₹5", "5 rupees"],
    ],
)
def test_currency_signs_equal_currency_names(forms: list[str]) -> None:
    equal(*forms)


def test_two_digit_years_are_from_1950_to_2049() -> None:
    """Up to 49 of this century, from 50 on of the last."""
    equal("5.1.00", "2000-01-05")
    equal("5.1.49", "2049-01-05")
    equal("5.1.50", "1950-01-05")
    equal("5.1.99", "1999-01-05")
    different("5.1.49", "1949-01-05")
    different("5.1.50", "2050-01-05")


def test_12_am_is_midnight_and_12_pm_noon() -> None:
    equal("12 am", "0:00", "00:00")
    equal("12:30 am", "0:30")
    equal("12 pm", "12:00")
    equal("12:30 p.m.", "12:30", "12:30pm")
    equal("11 pm", "23:00")
    different("12 am", "12 pm")
    different("12 pm", "0:00")
    different("1 am", "13:00")


def test_times_without_am_or_pm_match_either() -> None:
    """Of one to twelve o'clock; 0:30 and 15:00 leave no choice."""
    equal("3:00", "3 am")
    equal("3:00", "3 pm")
    equal("3:00", "15:00")
    equal("12:00", "12 am")
    different("0:30", "12:30 pm")
    different("15:00", "3 am")
    different("3:00", "3:30")


def test_date_matches_on_all_its_parts() -> None:
    pairs = {
        ("January 2024", "5 January 2024"): True,
        ("5 January 2024", "January 2024"): False,
        ("5 January", "5 January 2024"): True,
        ("5 January 2024", "5 January 2023"): False,
        ("5 January 2024", "5 January"): False,
        ("5 January 2024", "in 2024, on 5 January"): True,
        ("5 January 2024", "5 January 2023 and 2024"): False,
        ("05/01/2024", "5 January 2024"): True,
        ("05/01/2024", "1 May 2024"): True,
        ("5.1.2024", "1 May 2024"): False,
        ("13/1/2024", "1/13/2024"): True,
    }
    assert dict(zip(pairs, held([*pairs]), strict=True)) == pairs
