"""Fifty rows of real shape and scores that others published: what tests of real data check, checked everywhere."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.suites import SUITES
from tests.reference import retrieval
from tests.retrieval.test_match import assert_plain
from tests.retrieval.test_rank import RENAMED, lines
from tests.support.every_metric import CASES
from tests.support.program import program
from tests.support.public_functions import letters
from tests.support.strategies import is_plain

DATA = Path(__file__).parents[1] / "data"
FILE = DATA / "rows.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
PUBLISHED: dict[str, Any] = json.loads((DATA / "published.json").read_text(encoding="utf-8"))


def column(name: str) -> list[Any]:
    return [row[name] for row in ROWS]


MEASURED = [name for name in CASES if set(REGISTRY[name].needs) <= set(ROWS[0])]


def test_metrics_equal_their_definitions() -> None:
    """The rows as ``fm.score`` reads them from the file."""
    assert len(MEASURED) > 80
    with pytest.warns(fm.ScoreWarning, match="in a script other than Latin"):
        scored = fm.score(FILE, metrics=MEASURED)
    for name in MEASURED:
        columns = [column(needed) for needed in REGISTRY[name].needs]
        expected = [CASES[name].oracle(*row) for row in zip(*columns, strict=True)]
        assert any(one is not None and not math.isnan(one) for one in expected), name
        for row, ours, theirs in zip(ROWS, scored[name].to_pylist(), expected, strict=True):
            if not is_plain(row["answer"]):
                continue  # numbers in other spellings: tables in tests/metrics have their values
            if theirs is None or math.isnan(theirs):
                assert ours is None or math.isnan(ours), (name, row)
            else:
                assert math.isclose(ours, theirs, rel_tol=max(CASES[name].tolerance, 1e-15)), (name, row)


@pytest.mark.parametrize("suite", [suite for suite in SUITES if suite != "tools"])  # the rows call none
def test_suites_score_the_file_by_the_program(tmp_path: Path, suite: str) -> None:
    scored = []
    for threads in ("1", "2"):
        output = tmp_path / f"{threads}.parquet"
        done = program("score", FILE, "-o", output, "--suites", suite, "--threads", threads)
        assert done.code == 0, done.err
        scored.append(pq.read_table(output))
    assert scored[0].num_rows == 50
    assert str(scored[0].to_pydict()) == str(scored[1].to_pydict())


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_tables_are_read_as_written(tmp_path: Path, suffix: str) -> None:
    names = [name for name, value in ROWS[0].items() if suffix != "csv" or not isinstance(value, list)]
    rows = {"metrics": "answer_length", "keep": names}
    fm.score(FILE, output=tmp_path / f"one.{suffix}", **rows)
    fm.score(tmp_path / f"one.{suffix}", output=tmp_path / "two.jsonl", **rows)
    read = [json.loads(line) for line in (tmp_path / "two.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, again in zip(ROWS, read, strict=True):
        for name in names:
            kept, read_again = row[name], again[name]
            if suffix == "csv" and isinstance(read_again, str) and not isinstance(kept, str):
                read_again = json.loads(read_again)  # CSV holds text, unless a metric asks for something else
            assert read_again == kept, name


def test_rankings_equal_their_definitions() -> None:
    scored = fm.score(FILE, metrics=["ndcg@5", "reciprocal_rank", "recall@3", "hit_rate@1"]).to_pylist()
    for row, scores in zip(ROWS, scored, strict=True):
        if row["retrieved_ids"] is None or row["relevant_ids"] is None:
            assert scores["ndcg@5"] is None
            continue
        grades = dict(zip(row["relevant_ids"], row["relevance"], strict=True))
        assert scores["ndcg@5"] == pytest.approx(retrieval.ndcg(row["retrieved_ids"], grades, 5), abs=1e-12)
        assert scores["reciprocal_rank"] == retrieval.reciprocal_rank(row["retrieved_ids"], grades)
        assert scores["retrieval_recall@3"] == retrieval.recall(row["retrieved_ids"], grades, 3)
        assert scores["hit_rate@1"] == retrieval.success(row["retrieved_ids"], grades, 1)


def test_questions_find_the_faq_entry_that_the_plain_bot_finds() -> None:
    texts = [[text for text in column(name) if text is not None] for name in ("answer", "question")]
    assert_plain(*texts, 3)
    found = fm.retrieval.match_faq(column("question"), column("question"), 2)
    asked = [at for at, row in enumerate(ROWS) if row["question"] is not None]
    assert all(ROWS[found.index[at, 0]]["group"] == ROWS[at]["group"] for at in asked)


def test_metrics_agree_with_labels_as_scikit_learn_says() -> None:
    labels = column("human_correct")
    for name in ("token_f1", "squad_f1", "keyword_recall", "token_recall"):
        scores = fm.score(FILE, metrics=[name])[name].to_pandas().to_numpy(float)
        known = [at for at in range(50) if labels[at] is not None and not math.isnan(scores[at])]
        expected = roc_auc_score([labels[at] for at in known], scores[known])
        assert expected > 0.6, name
        table = pa.table({"id": column("id"), "label": labels})
        made = fm.validate({"id": column("id"), name: scores}, table, label="label")
        assert f"{expected:.3f}" in str(made) or expected == pytest.approx(made.to_arrow()["auc"][0].as_py(), abs=1e-12)


def test_cosines_separate_supported_claims() -> None:
    evidence = fm.metrics.grounding_evidence(column("answer"), column("contexts"), embedder=fm.Embedder(letters))
    best = np.full(50, -1.0)
    np.fmax.at(best, evidence["row"].to_numpy(), evidence["cosine"].to_pandas().to_numpy(float))
    cited = [at for at in range(50) if best[at] > -1 and ROWS[at]["human_correct"] is not None]
    assert len(cited) > 15
    assert roc_auc_score([ROWS[at]["human_correct"] for at in cited], best[cited]) > 0.5


def test_vectors_find_their_neighbours() -> None:
    vectors = np.array([row["reference_embedding"] for row in ROWS])
    cosines = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = np.argsort(-(cosines @ cosines.T) + 9 * np.eye(50), axis=1, kind="stable")[:, :5]
    for method in ("exact", "hnsw"):
        assert np.array_equal(fm.vectors.nearest(vectors, k=5, method=method).ids, expected)


@pytest.fixture
def quiet() -> Any:
    """Without sacreBLEU's advice on tokenized text."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
def test_published_scores_of_sacrebleu() -> None:
    cases = PUBLISHED["sacrebleu"]
    for answers, streams, options, score in cases["test_bleu"]["test_corpus_bleu_cases"]:
        references = [list(row) for row in zip(*streams, strict=True)]
        if set(options) <= {"smooth_method", "smooth_value", "lowercase"}:
            assert fm.corpus_bleu(answers, references, **options).score == pytest.approx(score, abs=1e-3)
    sentence = cases["test_sentence_bleu"]
    for method, value, lowercase, tokenizer, score in sentence["test_cases"]:
        options = {"smooth_method": method, "lowercase": lowercase, "tokenizer": tokenizer, "smooth_value": value}
        found = fm.bleu([sentence["SYS"]], [sentence["REF"]], effective_order=True, **options)
        assert found[0] == pytest.approx(score, abs=1e-3), options
    for answers, references, score in cases["test_chrf"]["test_cases"]:
        found = fm.corpus_chrf(answers, references, word_order=0, beta=3, eps_smoothing=True)
        assert found.score == pytest.approx(score, abs=1e-3), answers


def test_published_scores_of_rouge() -> None:
    parts = {"fmeasure": "f1"}
    for case in PUBLISHED["rouge155"]:
        answer, reference = (PUBLISHED[name][case["line"]] for name in ("prediction", "target"))
        found = fm.rouge([answer], [reference], types=[case["rouge"]], stemmer=case["use_stemmer"])
        ours = found[f"{case['rouge']}_{parts.get(case['field'], case['field'])}"][0]
        assert round(ours - case["expected"], case["places"]) == 0, case


def test_published_scores_of_mkqa() -> None:
    for answer, references, _, f1, em in PUBLISHED["mkqa"]:
        assert fm.squad_f1([answer], [references], version=2)[0] == pytest.approx(f1, rel=1e-15)
        assert fm.squad_em([answer], [references], version=2)[0] == em


def test_published_scores_of_trec_eval() -> None:
    expected = lines(DATA / "trec_eval.out")
    names = list(dict.fromkeys(RENAMED.get(name, name) for name, _, _ in expected))
    found = fm.rank(DATA / "trec_eval.run", DATA / "trec_eval.qrels", names, no_relevant="zero")
    [row] = found.per_query.to_pylist()
    assert len(expected) > 90
    for name, _, value in expected:
        assert abs(row[RENAMED.get(name, name)] - float(value)) <= 0.00005 + 1e-9, name
