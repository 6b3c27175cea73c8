"""The stored simulation of intervals: coverage near the level wherever there is no note, and a short run of it."""

from __future__ import annotations

import json

import pytest

from scripts import interval_simulation as simulation

pytestmark = pytest.mark.slow

RESULTS = json.loads(simulation.RESULTS.read_text(encoding="utf-8"))
NOISE = 0.0025
"""Of 4,000 trials: one standard error of a rate of 2.5 %, and 0.7 of one of 95 %."""


def test_stored_coverage_is_near_the_level_without_a_note():
    assert RESULTS["trials"] >= 4000
    cases = {(one["unit"], one["data"], one["count"]): one for one in RESULTS["coverage"]}
    assert set(cases) == set(simulation.cases())
    for (_, name, count), one in cases.items():
        if one["noted"] < 0.5:
            assert 0.94 - NOISE <= one["coverage"] <= 0.965 + NOISE, (name, count)


def test_stored_false_passes_are_nominal_without_a_note():
    for one in RESULTS["coverage"]:
        if one["count"] >= 20:
            assert one["unnoted_passes"] <= 0.025 + 3 * NOISE, (one["data"], one["count"])
    unnoted = [one["unnoted_passes"] for one in RESULTS["coverage"] if one["count"] >= 20]
    assert sum(unnoted) / len(unnoted) <= 0.025


def test_page_has_the_stored_results():
    page = simulation.PAGE.read_text(encoding="utf-8")
    assert simulation.section(RESULTS) in page
    assert simulation.passes_section(RESULTS) in page


@pytest.mark.parametrize("case", [("rows", "scores: skewed, exponential", 20), ("clusters", "normal, 1 to 9 rows", 20)])
def test_short_run_agrees_with_the_stored_one(case):
    found = simulation.coverage(case, 400)
    assert found["coverage"] == pytest.approx(0.95, abs=0.035)
