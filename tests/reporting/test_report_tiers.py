"""The page of tiers: every figure of the RAG benchmark under its own name, where the systems have it."""

from __future__ import annotations

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
TEXTS = "rouge1_f1,rouge2_f1,rougeL_f1,bleu"


def scored(metrics: str, **columns) -> pa.Table:
    return fm.score({**ROWS, **columns}, metrics)


def tiers_of(path) -> dict[str, dict[str, list[str]]]:
    """Each heading with the cells of its figures, by label."""
    html = path.read_text(encoding="utf-8").partition('<section id="tiers"')[2].partition("</section>")[0]
    headed = re.split(r"<h2>(.*?)</h2>", html)[1:]
    shown = {}
    for head, table in zip(headed[::2], headed[1::2], strict=True):
        rows = re.findall(r'<tr><th scope="row"><bdi>(.*?)</bdi></th>(.*?)</tr>', table, re.DOTALL)
        cells = {name: [re.sub(r"<[^>]*>", " ", cell).split() for cell in re.findall(r"<td.*?</td>", line, re.DOTALL)]
                 for name, line in rows}  # fmt: skip
        shown[head] = {name: [words[-1] for words in some] for name, some in cells.items()}
    return shown


def test_figures_of_each_tier_have_the_names_of_the_benchmark(tmp_path):
    retrieval = "hit_rate@1,reciprocal_rank,retrieval_recall@5,retrieval_precision@3,ndcg@10"
    similar = "semantic_similarity,dot_similarity,euclidean_distance"
    whole = scored(f"{TEXTS},{retrieval},{similar},embedding_geometry", embedding=ROWS["answer_embedding"])
    alone = scored(TEXTS)
    fm.report({"searched": whole, HOSTILE[0]: alone}, tmp_path / "r.html")
    shown = tiers_of(tmp_path / "r.html")
    assert list(shown) == ["Tier 0: embeddings", "Tier 1: retrieval", "Tier 2: generation", "Tier 3: end to end"]
    assert {"avg_nn_distance", "total_samples", "effective_dimensionality"} <= shown["Tier 0: embeddings"].keys()
    assert list(shown["Tier 1: retrieval"]) == ["hit_rate@1", "mrr", "recall@5", "precision@3", "ndcg@10"]
    texts = ["avg_rouge1_f", "avg_rouge2_f", "avg_rougeL_f", "avg_bleu"]
    assert list(shown["Tier 2: generation"]) == texts
    assert set(shown["Tier 3: end to end"]) == {*texts, "avg_semantic_similarity", "avg_dot_similarity",
                                                "avg_euclidean_distance"}  # fmt: skip
    mean = np.mean(whole["rouge1_f1"].to_numpy())
    assert shown["Tier 3: end to end"]["avg_rouge1_f"] == [f"{mean:.4f}", "–", "rouge1_f1.mean"]
    assert shown["Tier 2: generation"]["avg_rouge1_f"] == ["–", f"{mean:.4f}", "rouge1_f1.mean"]
    assert shown["Tier 1: retrieval"]["mrr"] == ["0.5000", "–", "reciprocal_rank.mean"]


def test_judges_and_usage_are_tiers_of_their_own(tmp_path):
    judged = {"id": ["a", "b"], "judge_x": [1.0, None], "judge_x_status": ["ok", "timeout"]}
    fm.report({HOSTILE[0]: scored(TEXTS)}, tmp_path / "r.html", judged=judged, usage=usage())
    shown = tiers_of(tmp_path / "r.html")
    assert shown["Tier Judge: the judges themselves"]["error_rate"] == ["0.5000", "judge_x"]
    assert "cache_hit_rate" in shown["Tier UX: cache and sessions"]
    users = shown["Users: chunks, topics and questions"]
    assert (users["total_chunks"], users["used_chunks"]) == (["24", "usage"], ["7", "usage"])


@pytest.mark.parametrize("language", ["en", "ru"])
def test_fewer_than_two_tiers_are_no_page(tmp_path, language):
    fm.report(scored(TEXTS), tmp_path / "r.html", language=language)
    assert '<section id="tiers"' not in (tmp_path / "r.html").read_text(encoding="utf-8")
    fm.report(scored(f"{TEXTS},semantic_similarity"), tmp_path / "s.html", language=language)
    assert '<section id="tiers"' in (tmp_path / "s.html").read_text(encoding="utf-8")
