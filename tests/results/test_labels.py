"""The labels of figures: the sources' names, beside the names of the statistics."""

import json
import random

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY, labelled
from fastmetrics.metrics.score_names import parse
from fastmetrics.results.summary import summarize
from fastmetrics.stats.sums import counted
from tests.support.program import jsonl, program

LABELLED = sorted(name for name, metric in REGISTRY.items() if metric.labels)
EVERY = pytest.mark.parametrize("name", LABELLED)


def specs(name):
    """Ways to ask for a metric with some options that are not its defaults, and its name alone."""
    options = REGISTRY[name].defaults
    changed = [f"{name}({option}={value!r})" for option, value in options.items() if isinstance(value, str | float)]
    changed += [name + of for of, _, _ in labelled(REGISTRY[name].labels) if of]
    cut = [f"{name}@1", f"{name}@10", f"{name}(k=1)", f"{name}@1(relevance_level=2)"] if "k" in options else []
    return [name, f"{name}()", *changed, *cut]


def test_the_labels_are_known_and_differ():
    labels = [label for name in LABELLED for label in REGISTRY[name].labels.values()]
    assert len(set(labels)) == len(labels)
    assert not set(labels) & set(REGISTRY)


def shown_label(label, its_options, options):
    """The label of a score with these options; None if it has none."""
    if label.endswith("@k") and not options.startswith("@"):
        return None
    if options == its_options:
        return label
    return label.removesuffix("@k") + options if options not in ("", "()") else None


@EVERY
def test_a_label_has_the_options_that_are_not_its_own(name):
    columns = specs(name)
    least, most = REGISTRY[name].bounds
    least, step = (0.0, 1.0) if most == np.inf else (least, (most - least) / len(columns))
    table = {spec: [least + step * place] for place, spec in enumerate(columns)}
    random.Random(name).shuffle(columns)
    summary = summarize({spec: table[spec] for spec in columns})
    expected = {}
    for options, statistic, label in labelled(REGISTRY[name].labels):
        for spec in columns:
            score = counted([statistic]).get(statistic)
            value = table[spec][0] if score is None else float(table[spec][0] == score)
            assert summary.figures[f"{spec}.{statistic}"] == value, spec
            expected[shown_label(label, options, spec.removeprefix(name))] = value
    expected.pop(None, None)
    assert summary.figures == summary.unlabelled | expected


@EVERY
def test_options_alone_do_not_take_the_label(name):
    for spec in specs(name)[1:]:
        fitting = {label for options, _, label in labelled(REGISTRY[name].labels) if options != spec.removeprefix(name)}
        assert not fitting & set(summarize({spec: [REGISTRY[name].bounds[1]]}).figures), spec


def test_every_mean_is_printed_and_in_the_json(tmp_path):
    rows = [{"retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}, {"retrieved_ids": ["b"], "relevant_ids": ["b"]}]
    table = jsonl(tmp_path / "t.jsonl", *rows)
    asked = "reciprocal_rank,reciprocal_rank@1,average_precision@1,reciprocal_rank(relevance_level=0.5)"
    done = program("score", table, "-o", tmp_path / "o.parquet", "-m", asked)
    assert done.code == 0
    printed = [line.split() for line in done.out.split("figure")[1].split("\n\n")[0].splitlines()[1:]]
    assert printed == [
        ["mrr", "0.7500", "reciprocal_rank.mean"],
        ["mrr@1", "0.5000", "reciprocal_rank@1.mean"],
        ["map@1", "0.5000", "average_precision@1.mean"],
        ["mrr(relevance_level=0.5)", "0.7500", "reciprocal_rank(relevance_level=0.5).mean"],
    ]
    found = json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"]
    means = {name: value for name, value in found.items() if name.endswith(".mean")}
    assert means == dict(zip([f"{name}.mean" for name in asked.split(",")], [0.75, 0.5, 0.5, 0.75], strict=True))
    assert {name: value for name, value in found.items() if "." not in name} == {
        "mrr": 0.75,
        "mrr@1": 0.5,
        "map@1": 0.5,
    }
    assert found["mrr(relevance_level=0.5)"] == 0.75


SOURCES = {
    **{"final_o": "grounding_overlap.mean", "final_f": "overlap_faithfulness.mean", "Avg F1": "token_f1.mean"},
    **{"Avg EM": "exact_match(tokenizer='plain').mean"},
    **{"abstain_rate": "abstained.mean", "Avg Total Tokens": "total_tokens.mean"},
    **{"P50 Latency (ms)": "latency_ms.p50", "IDK+Cit Count": "idk_citations.sum"},
    **{"mrr": "reciprocal_rank.mean", "map": "average_precision.mean"},
    **{f"{name}@{k}": f"retrieval_{name}@{k}.mean" for name in ("recall", "precision") for k in (1, 3, 5, 10)},
    **{f"avg_rouge{kind}_f": f"rouge{kind}_f1(tokenizer='by_script').mean" for kind in "12L"},
    **{"avg_bleu": "bleu.mean", "avg_semantic_similarity": "semantic_similarity.mean"},
    **{"avg_dot_similarity": "dot_similarity.mean", "avg_euclidean_distance": "euclidean_distance.mean"},
}


def test_the_names_of_the_sources_are_labels_of_figures(tmp_path):
    """The names are those of the tables of S1 and S2."""
    columns = {flat.rpartition(".")[0]: [0.5, 0.25, None] for flat in SOURCES.values()}
    summary = summarize(columns)
    assert {label: flat for flat, label in summary.labels.items()} == SOURCES
    for label, flat in SOURCES.items():
        assert summary.figures[label] == summary.figures[flat] == (0.75 if flat.endswith("sum") else 0.375)
    listed = {(name, of) for name, _, of in summary.further if of}
    assert listed == set(SOURCES.items())
    for label, flat in SOURCES.items():
        assert any(line.startswith(label) and line.endswith(flat) for line in str(summary).splitlines())
    assert list(summary.metrics) == list(columns)
    found = fm.gate(columns, [f"{label} > 0.3" for label in SOURCES], unpaired="ignore", min_n=1)
    assert (found.passed, [one.n for one in found]) == (True, [2] * len(SOURCES))


def test_the_description_of_a_metric_names_its_labels():
    assert "in a summary, its sum is also IDK+Cit Count" in program("metrics", "idk_citations").out
    said = program("metrics", "rouge1_f1").out
    assert "in a summary, its mean is also avg_rouge1_f with tokenizer='by_script'" in said
    assert "also called" not in program("metrics", "token_f1").out
    assert "in a summary, its mean is also Avg EM with tokenizer='plain'" in program("metrics", "exact_match").out


def test_a_label_of_options_is_that_of_the_scores_with_these_options(tmp_path):
    pair = {"answer": "Paris.", "reference": "paris"}, {"answer": "a b", "reference": "b"}
    rows = jsonl(tmp_path / "t.jsonl", *pair * 5)
    done = program(
        "score", rows, "-o", tmp_path / "o.parquet", "-m", 'exact_match,exact_match(tokenizer="plain"),squad_em'
    )
    assert done.code == 0
    figures = json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"]
    assert (figures["Avg EM"], figures["exact_match.mean"], figures["squad_em.mean"]) == (0.5, 0.0, 1.0)
    assert program("gate", tmp_path / "o.parquet", "-r", "Avg EM >= 0.1").code == 0
    assert parse("avg_em").spec == "exact_match(tokenizer='plain')"


def test_the_report_names_labels_and_their_statistics(tmp_path):
    fm.report({"id": ["a", "b"], "token_f1": [0.5, 1.0], "idk_citations": [0.0, 2.0]}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    for label, flat in (("Avg F1", "token_f1.mean"), ("IDK+Cit Count", "idk_citations.sum")):
        assert f"<bdi>{label}</bdi></th><td><bdi>{flat}</bdi></td>" in page
