"""Numbers: what is read of a text, and equal forms of mathematics."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.errors import MissingExtraError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.suites import suite
from tests.reference import numbers
from tests.support import strategies
from tests.support.every_metric import FACTS
from tests.support.goldens import refused, tables

TABLES = tables("numbers")

PIECES = st.sampled_from(
    [
        *FACTS[:9],
        *("1.5e6", "5e", "+3", "× 10^6", "x 10⁻³", "10⁶", "1 1/2", "and a half", "and", "US$-4", "-US$4", "5-7%", "to"),
        *("hundred", "million", "two", "twenty", "third", "thirds", "сто", "пять", "тысяча", "с половиной", "‰", "a"),
        "2024-01-05T10:30:00Z",
        *("1", "2", "1,000", "1.000,5", "1 000", "3.14", "-5", "−5", "50 %", "1/2", "½", "$5", "5 €", "twelve"),
        *("one", "да"),
        *("1.2 million", "2024-01-05", "January 5, 2024", "5.1.2024", "2024", "3 pm", "15:00", "Monday", "двенадцать"),
        *("yes,", "No", "true", "нет", "9" * 20, "minus", "and", "x", "."),
    ]
)
TEXTS = (st.lists(PIECES, max_size=5).map(" ".join) | strategies.texts).filter(strategies.is_plain)
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
        *[("2", ["x", "2"], {}, 1), ("2", [None, "x"], {}, np.nan)],
    ],
)
def test_worked_values(answer: str, reference: Any, options: dict[str, Any], score: float) -> None:
    np.testing.assert_equal(fm.number_match([answer], [reference], **options)[0], score)
    np.testing.assert_equal(numbers.number_match(answer, reference, **options), score)


ALIKE = TABLES["alike"]
UNLIKE = TABLES["unlike"]


@pytest.mark.parametrize(("pairs", "score"), [(ALIKE, 1.0), (UNLIKE, 0.0)])
def test_forms_that_people_write(pairs: list[tuple[str, str]], score: float) -> None:
    found = fm.number_match(*(list(side) for side in zip(*pairs, strict=True)))
    assert [pair for pair, one in zip(pairs, found, strict=True) if one != score] == []
    assert [pair for pair in pairs if numbers.number_match(*pair) != score] == []


# Numbers in all languages.  The months and words of scale are written down here, not taken from babel.


MONTHS = TABLES["months"]
DAYS = {"de": "{d}. {m} {y}", "es": "{d} de {m} de {y}", "pt": "{d} de {m} de {y}", "hu": "{y}. {m} {d}."}
DATES = [
    (DAYS.get(code, "{d} {m} {y}").format(d=day, m=month, y=year), year, number, day)
    for place, (code, names) in enumerate(MONTHS.items())
    for number, month in enumerate(names.split(), 1)
    for year, day in [(2020 - place, number + place)]
]
SCALES = TABLES["scales"]


def test_months_of_all_languages_are_those_of_the_digits() -> None:
    texts = [text for text, *_ in DATES]
    right = [f"{year}-{month:02}-{day:02}" for _, year, month, day in DATES]
    assert [text for text, one in zip(texts, fm.number_match(texts, right), strict=True) if one != 1] == []
    assert fm.number_match(texts, right[1:] + right[:1]).sum() == 0
    assert fm.novel_number_rate([f"On {text}." for text in texts], [[text] for text in right]).sum() == 0


def test_words_of_scale_of_all_languages() -> None:
    known = [(text, value) for text, value in SCALES if value is not None]
    texts, right = [text for text, _ in known], [f"{value:.0f}" for _, value in known]
    assert [text for text, one in zip(texts, fm.number_match(texts, right), strict=True) if one != 1] == []
    others = [f"{10 * value:.0f}" for _, value in known]
    assert fm.number_match(texts, others).sum() == 0


MORE = TABLES["more"]


def test_what_changes_a_number_is_read_or_said() -> None:
    """Unread where ``right`` is None: neither equal nor different."""
    answers, references, right = map(list, zip(*MORE, strict=True))
    table = fm.score({"answer": answers, "reference": references}, "number_match")
    found = [None if np.isnan(one) else one for one in table["number_match"].to_pylist()]
    assert [row for row, one in zip(MORE, found, strict=True) if row[2] != one] == []
    counts = fm.summarize(table)["number_match"]
    assert (counts.n_unread, counts.n_undefined, counts.n) == (right.count(None), 0, len(right) - right.count(None))


def test_a_note_names_the_word_and_what_to_do() -> None:
    table = fm.score({"answer": ["5", "5 Millionär", "√2"], "reference": ["5", "5", "2"]}, "number_match")
    notes = [note for note in fm.summarize(table).notes if note.startswith("number_match")]
    assert notes == [
        "number_match: 1 of 3 rows (first: row 1) hold a number beside 'millionär', which may change it, and are "
        "undefined; write the number out in digits",
        "number_match: 1 of 3 rows (first: row 2) hold mathematics that is not read: roots, powers, variables, "
        "comparisons, angles, and are undefined; math_match compares algebra",
    ]


@pytest.mark.parametrize(
    ("answer", "contexts", "scores"),
    [
        ("In 5. Februar 2020.", ["2020-02-05"], (0, 0)),
        ("In 5. Februar 2020.", ["5. Januar 2020"], (1, 1)),
        ("Es sind 2,5 Milliarden.", ["2.5 billion"], (0, 0)),
        ("Es sind 2,5 Milliarden.", ["2,5 Millionen"], (1, 1)),
        ("Rund 5 Millionär.", ["5 Millionär"], (np.nan, 0)),
        ("Rund 5 Millionär.", ["5 km"], (np.nan, np.nan)),
        ("Rund 5 km.", ["5 Millionär"], (np.nan, np.nan)),
        ("Rund 5 km.", ["7 Millionär"], (1, 1)),
        ("Nur [1].", ["so"], (np.nan, 0)),
        ("Version v2.0.1.", ["v2.0.1"], (0, 0)),
        ("Version v2.0.1.", ["0.1 und 2"], (1, 1)),
    ],
)
def test_unread_numbers_of_answers_and_contexts(answer: str, contexts: list[str], scores: tuple[float, float]) -> None:
    found = fm.novel_number_rate([answer], [contexts])[0], fm.hallucination([answer], [contexts])[0]
    for one, expected in zip(found, scores, strict=True):
        if np.isnan(expected) or expected == 1:
            np.testing.assert_equal(one, expected)
        else:
            assert one < 0.5


# Two hundred answers with units in ten languages, whose right value is known by how they are made.


UNITS = TABLES["units"]


def made_answers(seed: int, n: int = 200) -> list[tuple[str, str, float]]:
    """Answers, references in digits, and 1, 0, or NaN where a number stands beside what cannot be told."""
    chance, rows = random.Random(seed), []
    for place in range(n):
        unit, frame, scales, unclear = UNITS[[*UNITS][place % len(UNITS)]]
        number, kind = chance.randint(2, 999), chance.choice(["plain", "scaled", "other", "wrong", "unclear"])
        scale = chance.choice([*scales])
        written, value, right = str(number), number, 1.0
        if kind in ("scaled", "other", "wrong"):
            written, value = f"{number} {scale}", number * 10 ** scales[scale]
        if kind == "other":
            value, right = number * 10 ** (scales[scale] + 1), 0.0
        elif kind == "wrong":
            value, right = number, 0.0
        elif kind == "unclear" and unclear is not None:
            written, right = f"{number} {unclear}", np.nan
        rows.append((frame.format(unit.format(written)), f"{value}", right))
    return rows


@pytest.mark.parametrize("seed", [0, 1])
def test_units_in_ten_languages_are_never_silently_wrong(seed: int) -> None:
    answers, references, right = map(list, zip(*made_answers(seed), strict=True))
    table = fm.score({"answer": answers, "reference": references}, "number_match")
    found = table["number_match"].to_numpy()
    wrong = [row for row in zip(answers, references, right, found, strict=True) if row[2] != row[3] == row[3]]
    assert wrong == []
    assert np.isnan(found).tolist() == np.isnan(right).tolist()
    assert fm.summarize(table)["number_match"].n_unread == np.isnan(right).sum() > 10


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


def made_pairs(seed, n):
    """Pairs of expressions, equal and not, of kinds that come up as final answers."""
    chance, pairs = random.Random(seed), []
    for place in range(n):
        a, b, c = chance.randint(2, 9), chance.randint(2, 9), chance.randint(2, 9)
        d = a if chance.random() < 0.5 else a + 1  # half of the pairs differ in it
        one, other = [
            (rf"\frac{{{a}}}{{{b}}}", rf"\frac{{{d * c}}}{{{b * c}}}"),
            (rf"-\frac{{{a}}}{{{b}}}", rf"\frac{{-{d}}}{{{b}}}"),
            (rf"-\frac{{{a}}}{{{b}}}", rf"\frac{{{d}}}{{{b}}}"),
            (rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{d * d * b}}}"),
            (rf"\sqrt{{{a * a}}}", f"{d}"),
            (f"x^2+{a}", f"{d}+x^2"),
            (f"x^2-{a * a}", f"(x-{d})(x+{d})"),
            (f"({a}, {b})", f"({d}, {b})"),
            (f"({a}, {b})", f"({b}, {d})"),
            (f"{a}^{{{c}}}", f"{d**c}"),
            (f"{a}x + {b}", f"{b} + {d}x"),
            (rf"{a} \times 10^{{{c}}}", f"{d * 10**c}"),
            (f"{a / 4}", rf"\frac{{{d}}}{{4}}"),
            (f"{a}", f"{d}"),
            (f"{a}+{b}", f"{d + b}"),
        ][place % 15]
        pairs.append((f"${one}$", f"${other}$"))
    return pairs


@pytest.mark.full
def test_300_pairs_have_the_verdict_of_math_verify_and_numbers_never_contradict_it():
    from math_verify import parse, verify

    answers, references = map(list, zip(*made_pairs(0, 300), strict=True))
    read = lambda text: parse(text, parsing_timeout=None)  # noqa: E731
    own = [verify(read(two), read(one), timeout_seconds=None) for one, two in zip(answers, references, strict=True)]
    assert 0.25 * len(own) < sum(own) < 0.75 * len(own)
    assert fm.math_match(answers, references).tolist() == [float(one) for one in own]
    numbers = fm.number_match(answers, references)
    rows = zip(answers, references, own, numbers, strict=True)
    assert [row for row in rows if row[3] == 1 and not row[2]] == []
    assert np.isnan(numbers).sum() > len(own) / 3


ROWS = [
    ("So it is $x^2-1$.", "$(x-1)(x+1)$", 1.0),
    (r"\sqrt{8}", r"2\sqrt{2}", 1.0),
    ("5", ["6", "5.0"], 1.0),
    ("5", ["6", "7"], 0.0),
    ("I don't know", "5", np.nan),
    ("5", "none", np.nan),
    ("the same", "the same", 1.0),
    (None, "5", None),
]
ENDLESS = [("$10^{10^{10}}$", "$7^{7^{7^{7}}}$", np.nan)]


@pytest.mark.parametrize(("rows", "seconds", "unread"), [(ROWS, 60, 2), (ENDLESS, 1, 1)], ids=["read", "endless"])
def test_what_is_equal_unparsed_or_endless(rows, seconds, unread):
    answers, references, expected = map(list, zip(*rows, strict=True))
    references = [one if isinstance(one, list) else [one] for one in references]
    table = fm.score({"answer": answers, "reference": references}, f"math_match(seconds={seconds})")
    np.testing.assert_equal(table[0].to_pylist(), expected)
    assert fm.summarize(table)[table.column_names[0]].n_unread == unread


def test_no_suite_has_it_and_the_extra_is_named(monkeypatch):
    assert "math_match" not in [metric.name for metric in suite("all")]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(MissingExtraError, "[math]", fm.math_match, ["1"], ["2"])
