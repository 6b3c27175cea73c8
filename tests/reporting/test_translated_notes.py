"""Notes of results in Russian reports: each pattern fits its source, and no text of a user changes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.declaration.cautions import UNSPACED, english_and_russian_words, english_words, no_word, one_word
from fastmetrics.reporting.language.russian_notes import HEADS, PHRASES, RUSSIAN
from fastmetrics.reporting.language.translated_notes import in_language
from fastmetrics.reporting.sections.runs_section import _places
from fastmetrics.results.summary.trend import TrendPoint
from fastmetrics.stats.intervals.mean_interval import NAMES
from tests.reporting.test_report import HOSTILE

PACKAGE = Path(fm.__file__).parent
TEXTS = "\n".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")) if path.name != "russian_notes.py")
SOURCES = " ".join(re.sub(r'"\s*f?"', "", path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))
                   if path.name != "russian_notes.py")  # fmt: skip


@pytest.mark.parametrize("english", RUSSIAN)
def test_each_pattern_is_that_of_a_note(english):
    """The words between the places of a pattern stand in some source of notes."""
    longest = max((part.strip(" .:;,()†*%") for part in english.split("{}")), key=len)
    forms = (longest, longest.split(" comparison")[0], longest.removeprefix("rows "), longest.split(" over")[0],
             longest.removeprefix("texts are lists").removeprefix("text is a list"))  # fmt: skip
    assert any(form in SOURCES for form in forms), longest


@pytest.mark.parametrize("english", RUSSIAN)
def test_values_of_a_note_are_kept(english):
    """Each value stands in the translation as it is, whatever a user wrote; only the ends of lists are translated."""
    values = [f"{HOSTILE[3]} {{}}{at}" for at in range(english.count("{}"))]
    parts = english.split("{}")
    note = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    [translated] = in_language([note], "ru")
    assert translated != note
    assert all(value in translated for value in values)
    assert "|" not in translated
    assert in_language([note], "en") == [note]


@pytest.mark.parametrize("phrase", PHRASES)
def test_each_phrase_is_one_of_the_package(phrase):
    assert f'"{phrase}"' in TEXTS


def test_the_kinds_of_intervals_and_the_causes_of_cautions_are_translated():
    assert set(NAMES.values()) - {"none"} <= set(PHRASES)
    for kind in NAMES.values():
        if kind != "none":
            [note] = in_language([f"95 % intervals: {kind} (a, b and 3 more)"], "ru")
            assert note == f"интервалы 95 %: {PHRASES[kind]} (a, b и ещё 3)"
    for caution in (one_word("tokenizer='words' keeps them"), no_word(UNSPACED.advice), english_words("markers", "x"),
                    english_and_russian_words("stop words", "x")):  # fmt: skip
        [note] = in_language([f"f1: up to 21 of 31 scored rows (68 %) {caution.cause}; {caution.advice}"], "ru")
        assert note.startswith("f1: до 21 из 31 строки с оценкой (68 %) — ")
        assert not re.search("[a-z]{2,} [a-z]{2,}", note)


@pytest.mark.parametrize(
    ("count", "russian"),
    [(1, "на 1 сравнение"), (3, "на 3 сравнения"), (11, "на 11 сравнений"), (1_001, "на 1,001 сравнение")],
)
def test_words_beside_numbers_have_their_forms(count, russian):
    [note] = in_language([f"p of t, corrected by Holm over {count:,} comparison{'s' * (count != 1)}"], "ru")
    assert note == f"p по t, с поправкой Холма {russian}"


def test_headings_are_russian():
    assert all(re.search("[а-я]", text) for text in HEADS.values() if text != "p50, мс")


def test_other_notes_and_very_long_ones_stay_as_they_are():
    long = "failures: " + "x" * 1_000_000
    assert in_language(["{}", "no such note", long, ""], "ru") == ["{}", "no such note", long, ""]


def test_runs_stand_where_they_began_on_the_axis():
    def points(*moments):
        figures = dict.fromkeys(TrendPoint.__dataclass_fields__)
        return [TrendPoint(**{**figures, "began": moment}) for moment in moments]

    assert _places(points("2026-01-01T00:00:00+00:00", "2026-01-03T12:00:00+00:00")) == [0.0, 2.5]
    assert _places(points("2026-01-01T00:00:00+00:00", None, "x")) == [1.0, 2.0, 3.0]
    assert _places(points()) == []
