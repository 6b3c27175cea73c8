"""Rankings as MS MARCO and others write them: ranks, order alone, lists of documents; and no query in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fastmetrics as fm

QRELS = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 1}}
RANKED = {"q1": ["d9", "d1", "d3"], "q2": ["d2", "d1"]}
MEASURES = "mrr,map,P@2"


def expected() -> dict[str, float]:
    scored = {query: {doc: float(-place) for place, doc in enumerate(docs)} for query, docs in RANKED.items()}
    return fm.rank(scored, QRELS, MEASURES).mean


def lines(form: str, mark: str) -> str:
    made = []
    for query, docs in RANKED.items():
        for place, doc in enumerate(docs, 1):
            made.append(
                mark.join(
                    {"rank": [query, doc, str(place)], "score": [query, doc, str(10.5 - place)], "order": [query, doc]}[
                        form
                    ]
                )
            )
    return "\n".join(made)


@pytest.mark.parametrize("form", ["rank", "score", "order"])
@pytest.mark.parametrize("mark", ["\t", " "])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_of_query_and_document(tmp_path: Path, form: str, mark: str, end: str) -> None:
    (tmp_path / "run").write_text("# made\n" * (mark == " ") + lines(form, mark) + end)
    assert fm.rank(tmp_path / "run", QRELS, MEASURES).mean == expected()


@pytest.mark.parametrize("kind", ["memory", "file", "several"])
def test_lists_of_documents_by_query(tmp_path: Path, kind: str) -> None:
    ranking: Any = RANKED
    if kind == "file":
        ranking = tmp_path / "run.json"
        ranking.write_text(json.dumps(RANKED))
    if kind == "several":
        report = fm.rank({"a": RANKED, "b": RANKED}, QRELS, MEASURES)
        assert [result.mean for result in report.results.values()] == [expected()] * 2
        return
    assert fm.rank(ranking, QRELS, MEASURES).mean == expected()
    relevant = {query: list(docs) for query, docs in QRELS.items()}
    assert fm.rank(ranking, relevant, MEASURES).mean == expected()


def test_a_dict_of_columns_is_still_a_table() -> None:
    table = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "score": [1.0, 1.0]}
    assert fm.rank(table, QRELS, "mrr").mean == {"mrr": 1.0}


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_documents_with_the_id_of_their_query_are_left_out(tmp_path: Path, kind: str) -> None:
    ranking: Any = {"d1": {"d1": 9.0, "d2": 1.0}, "d2": {"d3": 2.0, "d1": 1.0}}
    without = {"d1": {"d2": 1.0}, "d2": ranking["d2"]}
    qrels = {"d1": {"d2": 1}, "d2": {"d1": 1}}
    expected = fm.rank(without, qrels, MEASURES).mean
    if kind == "file":
        (tmp_path / "run").write_text("d1 Q0 d1 1 9 t\nd1 Q0 d2 2 1 t\nd2 Q0 d3 1 2 t\nd2 Q0 d1 2 1 t\n")
        ranking = tmp_path / "run"
    assert fm.rank(ranking, qrels, MEASURES, drop_self=True).mean == expected
    assert fm.rank(ranking, qrels, MEASURES).mean != expected
    compared = fm.results.compare_rankings({"a": ranking, "b": without}, qrels, MEASURES, drop_self=True)
    assert {name: compared[name].delta for name in expected} == dict.fromkeys(expected, 0.0)


def test_predictions_of_mteb_are_read(tmp_path: Path) -> None:
    """As its ``_save_task_predictions`` writes them: by subset and split, beside the model."""
    model, ranking = {"model_name": "m", "revision": None}, {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.5}}
    path = tmp_path / "NFCorpus_predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": model, "default": {"test": ranking}}))
    assert fm.rank(path, QRELS, MEASURES).mean == fm.rank(ranking, QRELS, MEASURES).mean
    path.write_text(json.dumps({"mteb_model_meta": model, "en": {"test": ranking, "dev": ranking}, "ru": {}}))


def test_a_cut_off_that_no_ranking_reaches_has_a_note() -> None:
    short = "scored rows (100 %) have fewer retrieved documents than the cut-off"
    rows = {"retrieved_ids": [["a", "b", "c"], ["b"], []], "relevant_ids": [["a"], ["b"], ["c"]]}
    notes = fm.summarize(fm.score(rows, "hit_rate@3,ndcg@10,recall@10,P@4,mrr")).notes
    assert [note.partition(": ")[0] for note in notes] == ["ndcg@10, retrieval_recall@10", "retrieval_precision@4"]
    assert all(short in note for note in notes)
    assert "the search was not asked for 10, or found no more: the scores" in notes[0]
    result = fm.rank({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}}, "ndcg@10,P@2,mrr,recall@100")
    assert result.notes == ["ndcg@10, recall@100: the ranking has at most 2 documents for a query"]
    assert fm.rank({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}}, "ndcg@2").notes == []
