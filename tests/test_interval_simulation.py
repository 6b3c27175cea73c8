"""The stored simulation of intervals: coverage near the level wherever there is no note, and a short run of it."""

from __future__ import annotations

import json

import pytest

from scripts import interval_simulation as simulation

RESULTS = json.loads(simulation.RESULTS.read_text(encoding="utf-8"))
BEYOND = "scores: very skewed, lognormal(0, 1)"
"""No kind of interval holds its level for few of these; the page says so."""


def test_stored_coverage_is_near_the_level_without_a_note():
    assert RESULTS["trials"] >= 4000
    cases = {(one["unit"], one["data"], one["count"]): one for one in RESULTS["coverage"]}
    assert set(cases) == set(simulation.cases())
    for (_, name, count), one in cases.items():
        if one["noted"] < 0.5 and name != BEYOND:
            assert 0.94 <= one["coverage"] <= 0.9675, (name, count)
        if count < 5 or (one["noted"] == 0 and name == BEYOND):
            assert one["coverage"] > 0.92


def test_page_has_the_stored_results():
    assert simulation.section(RESULTS) in simulation.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", [("rows", "scores: skewed, exponential", 20), ("clusters", "normal, 1 to 9 rows", 20)])
def test_short_run_agrees_with_the_stored_one(case):
    found = simulation.coverage(case, 400)
    assert found["coverage"] == pytest.approx(0.95, abs=0.035)
