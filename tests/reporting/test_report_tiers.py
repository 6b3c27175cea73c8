"""The page of tiers: every figure of the RAG benchmark under its own name, where the systems have it."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from tests.reporting.test_report import HOSTILE
from tests.reporting.test_report_browser import usage

ROWS = {
    "id": ["a", "b", "c"],
    "question": ["Where?", "When?", "Who?"],
    "answer": ["in Paris", "in 1889", "Eiffel"],
    "reference": ["Paris", "1889", "Gustave Eiffel"],
    "answer_embedding": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]],
    "reference_embedding": [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]],
    "retrieved_ids": [["x", "y"], ["y", "x"], ["z"]],
    "relevant_ids": [["x"], ["x"], ["x"]],
}
TEXTS = "avg_rouge1_f,avg_rouge2_f,avg_rougeL_f,bleu"
TIER_0, TIER_1 = "Tier 0: Embedding Quality (Intrinsic)", "Tier 1: Retrieval"
TIER_2, TIER_3 = "Tier 2: Generation", "Tier 3: End-to-End"
ROUGE1 = "rouge1_f1(tokenizer='by_script')"


def scored(metrics: str, **columns) -> pa.Table:
    return fm.score({**ROWS, **columns}, metrics)


def tiers_of(path) -> dict[str, dict[str, list[str]]]:
    """Each heading with the cells of its figures, by label."""
    page = path.read_text(encoding="utf-8").partition('<section id="tiers"')[2].partition("</section>")[0]
    headed = re.split(r"<h2>(.*?)</h2>", page)[1:]
    shown = {}
    for head, table in zip(headed[::2], headed[1::2], strict=True):
        rows = re.findall(r'<tr><th scope="row"><bdi>(.*?)</bdi></th>(.*?)</tr>', table, re.DOTALL)
        cells = {name: [re.sub(r"<[^>]*>", " ", cell).split() for cell in re.findall(r"<td.*?</td>", line, re.DOTALL)]
                 for name, line in rows}  # fmt: skip
        shown[head] = {
            name: [*(words[-1] for words in some[:-1]), some[-1][0].rstrip(":")] for name, some in cells.items()
        }
    return shown


def test_figures_of_each_tier_have_the_names_of_the_benchmark(tmp_path):
    retrieval = "hit_rate@1,reciprocal_rank,retrieval_recall@5,retrieval_precision@3,ndcg@10"
    similar = "semantic_similarity,dot_similarity,euclidean_distance"
    whole = scored(f"{TEXTS},{retrieval},{similar},embedding_geometry", embedding=ROWS["answer_embedding"])
    alone = scored(TEXTS)
    fm.report({"searched": whole, HOSTILE[0]: alone}, tmp_path / "r.html")
    shown = tiers_of(tmp_path / "r.html")
    assert list(shown) == [TIER_0, TIER_1, TIER_2, TIER_3]
    assert {"avg_nn_distance", "total_samples", "effective_dimensionality"} <= shown[TIER_0].keys()
    assert list(shown[TIER_1]) == ["hit_rate@1", "mrr", "recall@5", "precision@3", "ndcg@10"]
    texts = ["avg_rouge1_f", "avg_rouge2_f", "avg_rougeL_f", "avg_bleu"]
    assert list(shown[TIER_2]) == texts
    assert set(shown[TIER_3]) == {*texts, "avg_semantic_similarity", "avg_dot_similarity",
                                                "avg_euclidean_distance"}  # fmt: skip
    mean = np.mean(whole[ROUGE1].to_numpy())
    assert shown[TIER_3]["avg_rouge1_f"] == [f"{mean:.4f}", "–", f"{ROUGE1}.mean".replace("'", "&#39;")]
    assert shown[TIER_2]["avg_rouge1_f"] == ["–", f"{mean:.4f}", f"{ROUGE1}.mean".replace("'", "&#39;")]
    assert shown[TIER_1]["mrr"] == ["0.5000", "–", "reciprocal_rank.mean"]


def test_options_keep_a_figure_on_the_page(tmp_path):
    table = {name: values * 2 for name, values in ROWS.items() if name != "id"}
    named = "rouge1_f1(tokenizer='unicode'),response_exact_match_rate(against='first'),semantic_similarity"
    named += ",retrieval_consistency(against='first'),embedding_geometry(metric='euclidean'),ndcg@5(gain='exponential')"
    scores = fm.score({**table, "embedding": table["answer_embedding"]}, named)
    fm.report(scores, tmp_path / "r.html")
    shown = tiers_of(tmp_path / "r.html")
    assert "(metric=&#39;euclidean&#39;) avg_nn_distance" in shown[TIER_0]
    tier_1 = ["ndcg@5(gain=&#39;exponential&#39;)", "retrieval_consistency(against=&#39;first&#39;)"]
    assert list(shown[TIER_1]) == tier_1
    labels = ["avg_rouge1_f(tokenizer=&#39;unicode&#39;)", "response_exact_match_rate(against=&#39;first&#39;)"]
    assert [name for name in shown[TIER_3] if "=" in name] == labels


def test_judged_answers_of_a_searching_system_are_end_to_end(tmp_path):
    judged = {"judge_answer_faithfulness": [1.0, 0.5, 0.0]}
    metrics = f"{TEXTS},judge_answer_faithfulness"
    searched, given = scored(f"{metrics},ndcg@5", **judged), scored(metrics, **judged)
    fm.report({"searched": searched, "given": given}, tmp_path / "r.html")
    shown = tiers_of(tmp_path / "r.html")
    assert shown[TIER_3]["avg_faithfulness"][:2] == ["0.5000", "–"]
    assert shown[TIER_2]["avg_faithfulness"][:2] == ["–", "0.5000"]


def test_judges_and_usage_are_tiers_of_their_own(tmp_path):
    judged = {"id": ["a", "b"], "judge_x": [1.0, None], "judge_x_status": ["ok", "timeout"]}
    fm.report({HOSTILE[0]: scored(TEXTS)}, tmp_path / "r.html", judged=judged, usage=usage())
    shown = tiers_of(tmp_path / "r.html")
    assert shown["Tier Judge: LLM Judge Quality"]["error_rate"] == ["0.5000", "judge_x"]
    assert "cache_hit_rate" in shown["Tier UX: User Experience, cache and sessions"]
    users = shown["Users: chunks, topics and questions"]
    assert (users["total_chunks"], users["used_chunks"]) == (["24", "usage"], ["7", "usage"])


def test_decisions_against_labels_are_the_production_judge(tmp_path):
    shown, labels = [1, 1, 0, 0, 1], {"id": list("abcde"), "right": [1, 0, 1, 0, 1]}
    judged = pa.table(
        {"id": list("abcde"), "judge_show": pa.array(shown, pa.float64()), "judge_show_status": ["ok"] * 5}
    )
    rubric = {"scores": {"judge_show": {"kind": "decision", "range": [0, 1]}}, "metrics": {}}
    judged = judged.replace_schema_metadata({"fastmetrics": json.dumps(rubric)})
    options = {"judged": judged, "labels": labels, "label": "right"}
    fm.report({"new": scored(TEXTS)}, tmp_path / "r.html", **options)
    found = tiers_of(tmp_path / "r.html")["Tier Judge Pipeline: Production Judge"]
    wanted = fm.stats.judge_decisions(shown, labels["right"])
    figures = {"accuracy": wanted.accuracy, "precision": wanted.precision, "recall": wanted.recall, "F1": wanted.f1}
    assert {name: cells[0] for name, cells in found.items()} == {
        name: f"{figure.value:.4f}" for name, figure in figures.items()
    }
    assert f"judge_show [{wanted.accuracy.low:.4f}, {wanted.accuracy.high:.4f}]" in (tmp_path / "r.html").read_text()
    fm.report({"new": scored(TEXTS)}, tmp_path / "s.html", judged=judged)
    assert "Tier Judge Pipeline: Production Judge" not in tiers_of(tmp_path / "s.html")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_fewer_than_two_tiers_are_no_page(tmp_path, language):
    fm.report(scored(TEXTS), tmp_path / "r.html", language=language)
    assert '<section id="tiers"' not in (tmp_path / "r.html").read_text(encoding="utf-8")
    fm.report(scored(f"{TEXTS},semantic_similarity"), tmp_path / "s.html", language=language)
    assert '<section id="tiers"' in (tmp_path / "s.html").read_text(encoding="utf-8")
