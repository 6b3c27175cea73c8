"""Every option of a metric and of a measure says what it sets, where metrics and measures are explained."""

import pytest

from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.plugins import forget, load_plugin
from fastmetrics.retrieval.measures import FAMILIES
from tests.support.program import program

OPTIONS = [(metric, name) for metric in list(REGISTRY.values()) for name in metric.defaults]
MEASURES = [(family, name) for family in FAMILIES for name in family.options]
PLUGIN = """
from typing import Annotated
import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher")
def long_enough(answer: str, *, least: Annotated[int, "the least number of words"] = 3, plain: int = 1) -> float:
    return float(len(answer.split()) >= least)
"""


def test_every_option_has_a_description() -> None:
    assert len(OPTIONS) > 200
    assert [(metric.name, name) for metric, name in OPTIONS if not metric.descriptions[name]] == []
    assert len(MEASURES) > 50
    assert [(family.names[0], name) for family, name in MEASURES if not family.descriptions[name]] == []


def test_descriptions_are_short_texts_without_a_final_stop() -> None:
    texts = {owner.descriptions[name] for owner, name in (*OPTIONS, *MEASURES)}
    assert [text for text in texts if len(text) > 110 or text.endswith(".") or text != text.strip()] == []


@pytest.mark.parametrize("name", ["retrieval_rbo", "verdict", "chrf++"])
def test_explanation_of_a_metric_shows_the_descriptions(name) -> None:
    explained = program("metrics", name).out
    for option, text in REGISTRY[name].descriptions.items():
        assert any(
            line.startswith(f"option: {option}=") and line.endswith(f"; {text}") for line in explained.split("\n")
        )


def test_list_of_measures_shows_the_options_of_each() -> None:
    listed = program("metrics", "--rank").out
    assert "option beta=1.0: a number from 0 to 1,000,000; the weight of recall" in listed
    assert "option recall: a number from 0 to 1; the least share of the relevant documents" in listed


def test_metric_of_a_plugin_describes_its_options(tmp_path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    load_plugin(tmp_path / "plugin.py")
    try:
        explained = program("metrics", "--plugin", tmp_path / "plugin.py", "long_enough").out
    finally:
        forget(REGISTRY["long_enough"])
    lines = explained.split("\n")
    assert any(line.startswith("option: least=3: ") and line.endswith("; the least number of words") for line in lines)
    assert any(line.startswith("option: plain=1: a whole number from") and ";" not in line for line in lines)
