"""One default seed in the whole package, except where a source fixes its own."""

from __future__ import annotations

import inspect

import pytest

import fastmetrics as fm
from fastmetrics.commands import all_commands

OF_SOURCES = {"project": 42, "topic_coverage": 42}
"""The seed of the source of a formula."""


@pytest.mark.parametrize("place", ["functions", "commands"])
def test_the_default_seed_is_zero(place: str) -> None:
    functions = {name: getattr(fm, name) for name in fm.HOMES}
    if place == "commands":
        functions = {name.replace("-", "_"): function for name, function in all_commands().items()}
    seeds = {
        name: parameters["seed"].default
        for name, function in functions.items()
        if "seed" in (parameters := inspect.signature(function).parameters)
    }
    assert {name: seed for name, seed in seeds.items() if seed != 0} == {
        name: seed for name, seed in OF_SOURCES.items() if name in functions
    }
    assert len(seeds) > len(OF_SOURCES)
