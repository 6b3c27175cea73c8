"""The simulation of levels: known truths, limits, a few trials of each quantity, and the page of the results."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import fastmetrics as fm
from scripts import simulation

STORED = json.loads(simulation.RESULTS.read_text(encoding="utf-8"))
EVERY = list(simulation.cells())


@pytest.mark.parametrize("quantity", dict.fromkeys(cell.quantity for cell in EVERY))
def test_a_few_trials_of_each_quantity(quantity):
    place = max(place for place, cell in enumerate(EVERY) if cell.quantity == quantity and cell.n <= 20)
    tally = simulation.simulated(place, 10)
    entries = simulation.entries_of(EVERY[place], tally)
    assert entries
    for entry in entries:
        assert entry["claim"] in simulation.NOMINAL
        assert entry["trials"] >= 10
        assert 0 <= entry["unnoted_wrong"] <= entry["wrong"] <= 1


@pytest.mark.parametrize("kind", simulation.RATINGS)
def test_figures_of_joint_shares_are_those_of_many_ratings(kind):
    table = simulation.RATINGS[kind]
    counts = np.rint(table * 4000).astype(int).ravel()
    first, second = np.unravel_index(np.repeat(np.arange(table.size), counts), table.shape)
    found = fm.validate({"m": first.astype(float)}, second.astype(float))["m"]
    agreed = found.agreement
    figures = {name: getattr(found, name).value for name in ("pearson", "spearman", "kendall")}
    figures |= {"kappa": agreed.pairs[0].kappa.value, "alpha": agreed.alpha_nominal.value}
    assert figures == pytest.approx(simulation.agreement_of(table), abs=1e-3)


def claim(**figures):
    return {"claim": "interval", "trials": 1000, "wrong": 0.05, "noted": 0.0, "unnoted_wrong": 0.05, **figures}


@pytest.mark.parametrize(
    ("figures", "outside"),
    [
        ({}, False),
        ({"wrong": 0.08, "unnoted_wrong": 0.08}, True),
        ({"wrong": 0.08, "noted": 0.9, "unnoted_wrong": 0.01}, False),
        ({"wrong": 0.01, "unnoted_wrong": 0.01}, True),
        ({"wrong": 0.01, "noted": 0.9, "unnoted_wrong": 0.0}, False),
        ({"claim": "drop", "wrong": 0.028, "unnoted_wrong": 0.028}, False),
        ({"claim": "drop", "wrong": 0.045, "unnoted_wrong": 0.045}, True),
        ({"claim": "test", "wrong": 0.0, "unnoted_wrong": 0.0}, False),
    ],
)
def test_limits(figures, outside):
    assert (simulation.why_outside(claim(**figures)) is not None) == outside


def test_claims_of_other_trials_are_added():
    first, second = simulation.Claims(), simulation.Claims()
    first.add(True, None)
    second.add(False, "few rows")
    first.update(second)
    found = first.to_dict()
    assert (found["trials"], found["wrong"], found["noted"], found["notes"]) == (2, 0.5, 0.5, {"few rows": 0.5})


def test_an_interval_that_does_not_exist_claims_nothing():
    tally = simulation.Tally()
    tally.interval(0.5, math.nan, math.nan, None)
    assert tally["interval"].to_dict() == {
        "trials": 1,
        "wrong": 0.0,
        "noted": 1.0,
        "unnoted_wrong": 0.0,
        "notes": {"no interval": 1.0},
    }


def test_the_page_has_the_stored_results_of_all_cells():
    assert simulation.section(STORED) in simulation.PAGE.read_text(encoding="utf-8")
    stored = {(entry["quantity"].partition(",")[0], entry["data"], entry["n"]) for entry in STORED["entries"]}
    assert stored == {(cell.quantity, cell.data, cell.n) for cell in EVERY}
