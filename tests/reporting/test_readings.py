"""How means read, by the thresholds of the sources and of declarations, in both directions."""

from __future__ import annotations

import math

import pytest

from fastmetrics.metrics.suites import lookup
from fastmetrics.plans.stored_metadata import Declared
from fastmetrics.reporting.readings import READINGS, reading, turn


@pytest.mark.parametrize(
    ("better", "band", "expected"),
    [
        ("higher", (0.9, 0.5), {0.95: "good", 0.9: "middling", 0.7: "middling", 0.5: "middling", 0.4: "poor"}),
        ("lower", (0.1, 0.5), {0.05: "good", 0.1: "middling", 0.3: "middling", 0.5: "middling", 0.6: "poor"}),
        ("higher", (0.9, None), {0.95: "good", 0.7: None, math.nan: None}),
        ("lower", (0.1, None), {0.05: "good", 0.7: None}),
    ],
)
def test_a_declared_reading_follows_its_direction(better, band, expected):
    stored = {"own": Declared("own", better, (0.0, 1.0), reading=band)}
    assert {mean: reading("own", mean, stored) for mean in expected} == expected


@pytest.mark.parametrize("name", READINGS)
def test_each_threshold_of_the_sources_parts_the_means(name):
    band = READINGS[name]
    below = None if band.poor is None else "middling"
    assert [reading(name, band.good + change, {}) for change in (0.01, 0.0, -0.01)] == [band.beyond, below, below]
    if band.poor is not None:
        assert [reading(name, band.poor + change, {}) for change in (0.01, 0.0, -0.01)] == [
            "middling",
            "middling",
            "poor",
        ]
    assert band.beyond == ("acceptable" if name == "rouge1_f1" else "good")
    assert band.range == lookup(name).bounds
    assert reading(name, band.range[1] + 0.01, {}) is None
    assert reading(name, band.good + 0.01, {}, highest=band.range[1] + 1) is None


@pytest.mark.parametrize("name", ["judge_answer_faithfulness", "judge_answer_relevance", "judge_e2e"])
def test_a_band_belongs_to_the_range_of_its_rubric(name):
    """A mean of 1 is the best of a rubric of 0 to 1 and the worst of one of 1 to 5."""
    stored = {span: {name: Declared(name, "higher", span)} for span in ((0.0, 1.0), (1.0, 5.0))}
    assert [reading(name, 1.0, stored[span]) for span in stored] == ["good", None]


@pytest.mark.parametrize("name", ["judge_faithfulness", "overall_accuracy", "token_f1", "unheard_of"])
def test_a_metric_without_a_band_has_no_reading(name):
    assert [reading(name, mean, {}) for mean in (0.0, 0.5, 1.0, 5.0)] == [None] * 4


@pytest.mark.parametrize(
    ("better", "turns"),
    [
        ("higher", ["gain", "loss", "same", "same"]),
        ("lower", ["loss", "gain", "same", "same"]),
        (None, ["change", "change", "same", "same"]),
    ],
)
def test_a_difference_is_a_gain_in_the_direction_of_the_metric(better, turns):
    assert [turn(better, delta) for delta in (0.1, -0.1, 0.0, math.nan)] == turns
