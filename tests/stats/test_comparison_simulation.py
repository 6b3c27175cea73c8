"""The tests of systems err as often as they say, and the intervals hold as often: a short run of the simulation."""

from __future__ import annotations

import re

import pytest

from scripts import comparison_simulation as simulation

pytestmark = pytest.mark.slow

TRIALS = 300
"""Of so many a share of 0.05 is found to within 0.045, and one of 0.95, with a probability of 0.9997."""


@pytest.mark.parametrize(
    ("test", "make"),
    [
        ("fisher", simulation.normal),
        ("t", simulation.normal),
        ("wilcoxon", simulation.normal),
        ("mcnemar", simulation.binary),
        ("fisher", simulation.sessions),
        ("t", simulation.sessions),
    ],
)
def test_false_positive_rates_are_nominal(test, make):
    assert simulation.rejections(make, test, TRIALS) == pytest.approx(0.05, abs=0.045)


def test_ignoring_clusters_inflates_errors():
    assert simulation.rejections(simulation.sessions, "fisher", TRIALS, flat=True) > 0.2


@pytest.mark.parametrize("make", [simulation.normal, simulation.skewed, simulation.binary])
def test_interval_coverage_is_nominal(make):
    assert simulation.coverage(make, TRIALS) == pytest.approx(0.95, abs=0.045)


def test_tukey_family_error_is_nominal():
    assert simulation.family_errors(TRIALS) == pytest.approx(0.05, abs=0.045)


def test_power_at_the_detectable_difference():
    assert simulation.power(simulation.normal, TRIALS) == pytest.approx(0.8, abs=0.085)


def test_the_page_holds_the_figures_of_the_whole_run():
    page = simulation.PAGE.read_text(encoding="utf-8")
    table = page.partition(simulation.BEGIN)[2].partition(simulation.END)[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[2:]]
    assert len(rows) == 20
    assert re.search(r"[1-9][0-9]*,000 trials each", table)
    for what, _, found, promised in rows:
        if "without" not in what:
            assert float(found) == pytest.approx(float(promised), abs=0.025), what
