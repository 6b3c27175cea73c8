"""The suites tier0 to tier3: what S2's tables list, as far as the columns allow, under its names."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.suites import SUITES, TIERS, suite
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.scoring.metric_functions import callable_of
from tests.support.program import jsonl, program

TIER0 = ["total_samples", "avg_nn_distance", "std_nn_distance", "density_score", "avg_spread", "max_spread"]
TIER0 += ["spread_std", "effective_dimensionality", "avg_pairwise_distance", "std_pairwise_distance"]
TIER0 += ["min_pairwise_distance", "max_pairwise_distance"]
CUTS = (1, 3, 5, 10)
TIER1 = ["hit_rate@1", "hit_rate@5", "hit_rate@10", "mrr", *(f"recall@{k}" for k in CUTS)]
TIER1 += [*(f"precision@{k}" for k in CUTS), "ndcg@5", "ndcg@10", "retrieval_consistency"]
TEXTS = ["avg_rouge1_f", "avg_rouge2_f", "avg_rougeL_f", "avg_bleu"]
REPEATED = ["response_exact_match_rate", "response_semantic_consistency"]
TIER2 = ["avg_faithfulness", "avg_answer_relevance", "avg_answer_correctness", *REPEATED, *TEXTS]
TIER3 = ["avg_e2e_score", "avg_semantic_similarity", "avg_dot_similarity", "avg_euclidean_distance", *REPEATED, *TEXTS]
"""The names in the tables of S2's sections 3.3, 4.3, 5.3, 5.4 and 6.2."""

JUDGED = {
    "judge_answer_faithfulness": [1.0, 0.5, None, 0.0, 1.0],
    "judge_answer_relevance": [0.25, 0.5, 1.0, 0.75, None],
    "judge_correctness": [5.0, 4.0, 1.0, None, 2.5],
    "judge_e2e": [0.5, None, 1.0, 0.0, 0.25],
}
TABLE: dict[str, list[Any]] = {
    "id": ["a", "b", "c", "d", "e"],
    "question": ["who?", "who?", "when?", "where?", None],
    "answer": ["the cat sat", "the cat", "in 1889", "Rome", "Paris"],
    "reference": [["the cat sat"], ["a cat"], ["1889", "in 1889"], ["Paris"], ["Paris"]],
    "retrieved_ids": [["x", "y", "z"], ["y", "x"], ["u"], [], ["v", "w", "x", "y", "z", "u"]],
    "relevant_ids": [["y"], ["z", "x"], ["u"], ["v"], ["u"]],
    "answer_embedding": [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [3.0, 0.0], [1.0, 0.0]],
    "reference_embedding": [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]],
    "embedding": [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [3.0, 0.0], [1.0, 0.0]],
    **JUDGED,
}


def figures_of(tier: str, table: Any = None, **options: Any) -> dict[str, float]:
    return dict(fm.summarize(fm.score(TABLE if table is None else table, suites=tier, **options)).figures)


@pytest.mark.parametrize(("tier", "names"), [("tier1", TIER1), ("tier2", TIER2), ("tier3", TIER3)])
def test_a_tier_has_every_figure_of_its_table_and_no_other_metric(tier, names):
    figures = figures_of(tier)
    flat = {name: figures[name] if name in figures else figures[f"{name}.mean"] for name in names}
    assert not any(math.isnan(value) for value in flat.values())
    assert len(TIERS[tier]) == len(names)
    made = {parse(spec).metric.name for spec in TIERS[tier]}
    assert made == {parse(name.replace("precision@", "P@")).metric.name for name in names}


def test_tier0_is_the_geometry_of_the_embeddings():
    figures, geometry = figures_of("tier0"), fm.vectors.geometry(TABLE["embedding"])
    for name in TIER0:
        assert figures[f"embedding_geometry.{name}"] == getattr(geometry, name)


def mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def test_a_metric_of_two_tiers_is_scored_once_and_named_metrics_come_first():
    made = fm.score(TABLE, ["bleu", "token_f1"], suites=["tier2", "tier3"])
    names = [name for name in made.column_names if not pa.types.is_list(made[name].type)]
    assert names[:3] == ["id", "bleu", "token_f1"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_tiers_from_files_equal_those_in_memory(tmp_path, rows):
    table = pa.table(TABLE).slice(0, rows)
    pq.write_table(table, tmp_path / "t.parquet")
    for tier in TIERS:
        expected = figures_of(tier, table)
        made = fm.score(tmp_path / "t.parquet", output=tmp_path / f"{tier}.parquet", suites=tier)
        for figures in (made.summary.figures, fm.summarize(tmp_path / f"{tier}.parquet").figures):
            np.testing.assert_equal(dict(figures), expected)
    if rows:
        asked = {"suites": list(TIERS), "files": fm.tables.FileSettings(batch_rows=1), "threads": 2}
        again = fm.score(tmp_path / "t.parquet", output=tmp_path / "all.jsonl", **asked)
        np.testing.assert_equal(dict(again.summary.figures), figures_of(",".join(TIERS), table))


def test_metrics_without_their_columns_are_left_out_and_named(tmp_path):
    few = [{name: TABLE[name][at] for name in ("id", "question", "answer", "reference")} for at in range(5)]
    path = jsonl(tmp_path / "t.jsonl", *few)
    done = program("score", path, "-o", tmp_path / "o.parquet", "--suites", "tier2")
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert (
        "tier2: not scored for lack of columns: judge_answer_faithfulness (judge run --rubrics answer_faithfulness), "
        "judge_answer_relevance (judge run --rubrics answer_relevance), "
        "judge_correctness (judge run --rubrics correctness), "
        "response_semantic_consistency (answer_embedding)" in said
    )
    assert set(TEXTS) <= set(json.loads(program("summarize", tmp_path / "o.parquet", "--json").out)["figures"])
    whole = fm.score(
        jsonl(tmp_path / "w.jsonl", *pa.table(TABLE).to_pylist()), output=tmp_path / "w.parquet", suites="tier2"
    )
    assert not any("not scored" in note for note in whole.summary.notes)


def test_embeddings_of_tiers_are_computed_from_the_texts():
    few = {name: TABLE[name] for name in ("question", "answer", "reference")}
    embedder = fm.Embedder(lambda texts: np.array([[len(text), text.count("a") + 1.0] for text in texts]))
    figures = figures_of("tier3", few, embedder=embedder)
    expected = fm.score(few, ["semantic_similarity"], embedder=embedder)["semantic_similarity"]
    assert figures["avg_semantic_similarity"] == pytest.approx(mean(expected.to_pylist()))
    vectors = embedder.embed(TABLE["answer"][:2]).astype(float)
    cosine = float(vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1]))
    assert figures["response_semantic_consistency"] == pytest.approx(cosine)


def test_scorers_of_batches_get_the_row_metrics_of_a_tier():
    assert fm.scorer(suites="tier1")(pa.table(TABLE)).column_names == ["id", *TIERS["tier1"][:-1]]


def test_the_options_of_all_metrics_apply_to_a_tier():
    found = plan(list(TABLE), ScoreRequest(suites="tier1", no_relevant="zero"))
    assert all(score.options.get("no_relevant", "zero") == "zero" for score in found.scores)


@pytest.mark.parametrize("name", JUDGED)
def test_scores_of_a_judge_are_metrics(name):
    values = JUDGED[name]
    metric = REGISTRY[name]
    assert (metric.better, metric.usual, metric.required) == ("higher", False, (name,))
    np.testing.assert_array_equal(callable_of(name)(values), np.array(values, float))
    made = fm.score({name: values}, [name])
    assert made[name].to_pylist() == values


def test_summaries_of_judged_files_have_the_labels_of_the_source():
    figures = fm.summarize({"judge_e2e": [0.5, 1.0], "judge_faithfulness": [3.0, 4.0]}).figures
    assert figures["avg_e2e_score"] == 0.75
    assert "avg_faithfulness" not in figures  # a score from 1 to 5 is not that of the source


def test_scores_of_a_judge_are_in_no_other_suite(tmp_path):
    assert not set(JUDGED) & {one.name for name in (*SUITES, "core", "all") for one in suite(name)}
    path = jsonl(tmp_path / "t.jsonl", *pa.table(TABLE).to_pylist())
    done = program("score", path, "-o", tmp_path / "o.parquet", "--suites", "lexical,generation", "--keep", "judge_e2e")
    assert done.code == 0
    assert pq.read_table(tmp_path / "o.parquet")["judge_e2e"].to_pylist() == JUDGED["judge_e2e"]


def test_options_of_a_suite_are_those_of_its_metrics():
    requested = ScoreRequest(suites=["tier2(tokenizer='unicode', against='first')"])
    made = [score.name for score in plan(["question", "answer", "reference", "answer_embedding"], requested).scores]
    rouges = [f"rouge{kind}_f1(tokenizer='unicode')" for kind in "12L"]
    assert made == ["response_exact_match_rate(against='first')", "response_semantic_consistency", *rouges, "bleu"]
    made = [
        score.name for score in plan(["answer", "reference"], ScoreRequest(suites="lexical(tokenizer='char')")).scores
    ]
    assert "token_f1(tokenizer='char')" in made
    assert "token_cosine" in made
