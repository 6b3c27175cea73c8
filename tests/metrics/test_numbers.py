"""Numbers, dates and yes or no in any form, against the plain definition."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.base.limits import SIZES
from tests.reference import numbers
from tests.support import strategies
from tests.support.every_metric import FACTS

PIECES = st.sampled_from(
    [
        *FACTS[:9],
        *("1.5e6", "5e", "+3", "× 10^6", "x 10⁻³", "10⁶", "1 1/2", "and a half", "and", "US$-4", "-US$4", "5-7%", "to"),
        *("hundred", "million", "two", "twenty", "third", "thirds", "сто", "пять", "тысяча", "с половиной", "‰", "a"),
        "2024-01-05T10:30:00Z",
        *(
            "1",
            "2",
            "1,000",
            "1.000,5",
            "1 000",
            "3.14",
            "-5",
            "−5",
            "50 %",
            "1/2",
            "½",
            "$5",
            "5 €",
            "twelve",
            "one",
            "да",
        ),
        *("1.2 million", "2024-01-05", "January 5, 2024", "5.1.2024", "2024", "3 pm", "15:00", "Monday", "двенадцать"),
        *("yes,", "No", "true", "нет", "9" * 20, "minus", "and", "x", "."),
    ]
)
TEXTS = st.lists(PIECES, max_size=5).map(" ".join) | strategies.texts
OPTIONS: list[dict[str, Any]] = [{}, {"which": "last"}, {"absolute": 0.5}, {"relative": 0.1, "which": "last"}]


@pytest.mark.parametrize(
    ("answer", "reference", "options", "score"),
    [
        *[
            ("It costs $1,200.", "1200", {}, 1),
            ("1.000,5 km", "1000.5", {}, 1),
            ("-5", "5", {}, 0),
            ("3.14", "314", {}, 0),
        ],
        *[
            ("50%", "1/2", {}, 1),
            ("twelve", "12", {}, 1),
            ("двенадцать", "12", {}, 1),
            ("1.2 million", "1200000", {}, 1),
        ],
        *[
            ("€5", "$5", {}, 0),
            ("$5", "5", {}, 1),
            ("Jan 5, 2024", "2024-01-05", {}, 1),
            ("in 2024", "2024-01-05", {}, 0),
        ],
        *[("Yes, it is.", "yes", {}, 1), ("No, yes", "yes", {}, 0), ("False.", "no", {}, 1), ("It is", "yes", {}, 0)],
        *[("3.15", "3.14", {}, 0), ("3.15", "3.14", {"absolute": 0.02}, 1), ("99", "100", {"relative": 0.01}, 1)],
        *[("98", "100", {"relative": 0.01}, 0), ("3, no: 4", "3", {}, 1), ("3, no: 4", "3", {"which": "last"}, 0)],
        *[("12 and 5", "5 of 12", {}, 1), ("12", "5 of 12", {}, 0), ("one", "1", {}, 1), ("x", "y", {}, np.nan)],
        *[("9" * 400, "9" * 400, {}, np.nan), ("2", ["x", "2"], {}, 1), ("2", [None, "x"], {}, np.nan)],
    ],
)
def test_worked_values(answer: str, reference: Any, options: dict[str, Any], score: float) -> None:
    np.testing.assert_equal(fm.number_match([answer], [reference], **options)[0], score)
    np.testing.assert_equal(numbers.number_match(answer, reference, **options), score)


ALIKE = [
    *[("1.5e6", "1500000"), ("1.5E-3", "0.0015"), ("2e+3", "2000"), ("1.5×10^6", "1500000"), ("10^6", "1000000")],
    *[("about 1.5 x 10^6", "1,500,000"), ("6.02×10²³", "6.02e23"), ("2·10⁻³", "0.002"), ("1.5x10**6", "1500000")],
    *[(r"$1.5 \times 10^{-6}$", "1.5e-6"), (r"2 \cdot 10^5", "200000"), ("1 1/2 cups", "1.5"), ("1½", "1 1/2")],
    *[("2 and a half", "2.5"), ("two and a half million", "2500000"), ("half a million", "500000")],
    *[("five and three quarters", "5.75"), ("one third of them", "1/3"), ("треть", "1/3"), ("a hundred", "100")],
    *[("-US$4", "-4"), ("US$-4", "-4"), ("paid -A$4", "-4"), ("-$4", "-4"), ("$-4", "-4"), ("US$4", "4")],
    *[
        ("5-7%", "5% to 7%"),
        ("5 to 7 %", "5%-7%"),
        ("5 – 7 %", "5-7%"),
        ("2–3 million", "2,000,000 and 3,000,000"),
        ("5‰", "0.005"),
    ],
    *[("5 per mille", "0.5 %"), ("one hundred and five", "105"), ("two thousand twenty-four", "2024")],
    *[("one million two hundred thousand", "1.2 million"), ("five hundred and twelve thousand", "512 000")],
    *[("двести пять", "205"), ("сто", "100"), ("полтора миллиона", "1,5 млн"), ("три с половиной", "3,5")],
    *[("тысяча девятьсот сорок пять", "1945"), ("две тысячи двадцать четыре", "2024"), ("полторы тысячи", "1500")],
    *[("between one hundred and two hundred", "100 to 200"), ("two thousand and three thousand", "3000")],
    *[("2024-01-05T10:30:00Z", "January 5, 2024"), ("2024-01-05T10:30:00+02:00", "10:30")],
    *[("£1,234.56", "1234.56"), ("1.234,56 €", "1234.56"), ("CHF 1'234.50", "1234.5"), ("₹1,00,000", "100000")],
]
UNLIKE = [
    *[("-US$4", "4"), ("5-7%", "-7%"), ("5 - US$4", "-4"), ("COVID-19", "-19"), ("x-US$4", "-4"), ("1/2/2024", "1.5")],
    *[("5x10 cm", "50"), ("5 x 10", "50"), ("2 × 5^6", "2000000"), ("1.5e", "15"), ("third quarter", "0.75")],
    *[
        ("500 to 2 million", "500 million"),
        ("5 - 2 million", "5 million"),
        ("one third-party tool", "1/3"),
        ("several million", "2 million"),
    ],
    *[("($1,200)", "-1200"), ("5 dollars", "5 euros"), ("forty, five", "45"), ("one hundred and two hundred", "102")],
]


@pytest.mark.parametrize(("pairs", "score"), [(ALIKE, 1.0), (UNLIKE, 0.0)])
def test_forms_that_people_write(pairs: list[tuple[str, str]], score: float) -> None:
    found = fm.number_match(*(list(side) for side in zip(*pairs, strict=True)))
    assert [pair for pair, one in zip(pairs, found, strict=True) if one != score] == []
    assert [pair for pair in pairs if numbers.number_match(*pair) != score] == []


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=3)), max_size=6))
@example([("İ 5", ["5", "İ"]), ("5 İ yes", ["yes"]), ("", [""])])
@pytest.mark.parametrize("options", OPTIONS)
def test_any_row(options: dict[str, Any], rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [numbers.number_match(*row, **options) for row in rows]
    np.testing.assert_array_equal(
        fm.number_match(answers, references, **options),
        np.array([np.nan if score is None else score for score in expected]),
    )


@pytest.mark.parametrize("option", ["absolute", "relative"])
@pytest.mark.parametrize("value", [-0.1, float("nan")])
def test_a_tolerance_is_not_negative(option: str, value: float) -> None:
    options: Any = {option: value}
    with pytest.raises(OptionError, match=f"'{option}' expects"):
        fm.number_match(["1"], ["1"], **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_many_values_are_compared_without_all_pairs(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    pieces = ["1", "1.5", "$2", "€2", "3", "40 %", "2024-01-05", "Jan 5", "3 pm", "15:00", "Monday", "one", "9.7", "x"]
    answers, references = (
        [" and ".join(chance.choices(pieces, k=chance.randint(0, size))) for _ in range(300)] for size in (12, 3)
    )
    expected = [numbers.number_match(*row, **options) for row in zip(answers, references, strict=True)]
    monkeypatch.setattr(SIZES, "compared_values", 0)
    np.testing.assert_array_equal(fm.number_match(answers, references, **options), np.array(expected, np.float64))


def test_a_long_row_takes_time_in_proportion_to_its_length() -> None:
    stated = "1 2.5 $3 2024-01-05 " * 50_000
    assert fm.number_match([stated, stated], [stated, f"{stated} 7"]).tolist() == [1.0, 0.0]
