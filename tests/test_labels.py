"""What a summary calls its figures: a label for the default options alone, and never one name for two figures."""

import json
import random

import pytest

import fastmetrics as fm
from fastmetrics.errors import OptionError
from fastmetrics.metrics import REGISTRY
from fastmetrics.plan.plan import parse
from fastmetrics.results.summary import Summary, summarize
from tests.program import jsonl, program

LABELLED = sorted(name for name, metric in REGISTRY.items() if metric.labels)
EVERY = pytest.mark.parametrize("name", LABELLED)


def specs(name):
    """Ways to ask for a metric with some options that are not its defaults, and its name alone."""
    options = REGISTRY[name].defaults
    changed = [f"{name}({option}={value!r})" for option, value in options.items() if isinstance(value, str | float)]
    cut = [f"{name}@1", f"{name}@10", f"{name}(k=1)", f"{name}@1(relevance_level=2)"] if "k" in options else []
    return [name, f"{name}()", *changed, *cut]


def test_the_labels_are_known_and_differ():
    labels = [label for name in LABELLED for label in REGISTRY[name].labels.values()]
    assert {"mrr", "map", "final_o", "final_f", "abstain_rate"} <= set(labels)
    assert len(set(labels)) == len(labels)
    assert not set(labels) & set(REGISTRY)


@EVERY
def test_a_label_is_that_of_the_default_options(name):
    columns = specs(name)
    table = {spec: [float(place)] for place, spec in enumerate(columns)}
    random.Random(name).shuffle(columns)
    figures = summarize({spec: table[spec] for spec in columns}).figures
    assert len(figures) == 4 * len(columns), "every figure is there"
    for statistic, label in REGISTRY[name].labels.items():
        for spec in columns:
            plain = parse(spec).options == REGISTRY[name].defaults and spec == name
            cut = spec.removeprefix(name) if spec in (f"{name}@1", f"{name}@10") else ""
            figure = label + cut if plain or cut else f"{spec}.{statistic}"
            assert figures[figure] == table[spec][0], spec


@EVERY
def test_options_alone_do_not_take_the_label(name):
    for spec in specs(name)[1:]:
        assert not set(REGISTRY[name].labels.values()) & set(summarize({spec: [0.5]}).figures), spec


def test_every_mean_is_printed_and_in_the_json(tmp_path):
    rows = [{"retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}, {"retrieved_ids": ["b"], "relevant_ids": ["b"]}]
    table = jsonl(tmp_path / "t.jsonl", *rows)
    asked = "reciprocal_rank,reciprocal_rank@1,average_precision@1,reciprocal_rank(relevance_level=0.5)"
    done = program("score", table, "-o", tmp_path / "o.parquet", "-m", asked)
    assert done.code == 0
    printed = dict(line.split() for line in done.out.split("figure")[1].splitlines()[1:] if len(line.split()) == 2)
    assert printed == {"mrr": "0.7500", "mrr@1": "0.5000", "map@1": "0.5000"}
    found = json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"]
    means = {name: value for name, value in found.items() if name.endswith(".mean") or "." not in name}
    assert means == {"mrr": 0.75, "mrr@1": 0.5, "map@1": 0.5, "reciprocal_rank(relevance_level=0.5).mean": 0.75}


@pytest.mark.parametrize(
    "labels",
    [
        {"token_f1.mean": "quality", "jaccard.mean": "quality"},
        {"token_f1.mean": "quality", "token_f1.std": "quality"},
        {"token_f1.mean": "jaccard.max"},
    ],
)
def test_labels_that_give_two_figures_one_name_are_refused(labels):
    with pytest.raises(OptionError, match=r"2 figures have the name '(quality|jaccard\.max)'"):
        fm.summarize({"token_f1": [1.0], "jaccard": [0.0]}, labels=labels)
    with pytest.raises(OptionError, match="give each a different name"):
        Summary(1, {}, {"corpus_bleu": 1.0, "corpus_x": 2.0}, {"corpus_x": "corpus_bleu"})
