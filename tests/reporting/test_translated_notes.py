"""Notes of results in Russian reports: each pattern fits its source, and no text of a user changes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.reporting.sections.runs_section import _places
from fastmetrics.reporting.translated_notes import _RUSSIAN, in_language
from fastmetrics.results.summary.trend import TrendPoint
from tests.reporting.test_report import HOSTILE

PACKAGE = Path(fm.__file__).parent
SOURCES = " ".join(re.sub(r'"\s*f?"', "", path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))
                   if path.name != "translated_notes.py")  # fmt: skip


@pytest.mark.parametrize("english", _RUSSIAN)
def test_each_pattern_is_that_of_a_note(english):
    """The words between the places of a pattern stand in some source of notes."""
    longest = max((part.strip(" .:;,()†*%") for part in english.split("{}")), key=len)
    forms = (longest, longest.split(" comparison")[0], longest.removeprefix("rows "), longest.split(" over")[0])
    assert any(form in SOURCES for form in forms), longest


@pytest.mark.parametrize("english", _RUSSIAN)
def test_values_of_a_note_are_kept(english):
    russian = _RUSSIAN[english]
    assert russian.count("{}") + russian.count("{2}") >= min(1, english.count("{}"))
    values = [f"{HOSTILE[3]} {{}}{at}" for at in range(english.count("{}"))]
    parts = english.split("{}")
    note = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    [translated] = in_language([note], "ru")
    assert translated != note
    assert all(value in translated for value in values) or "{2}" in russian
    assert in_language([note], "en") == [note]


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
