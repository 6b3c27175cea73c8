"""One name for each metric with its options, whatever the spelling; and names of the user's own."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from tests.support.program import jsonl, program

ROWS = [
    {"id": n, "answer": f"the cat sat {n % 3}", "reference": f"the cat sat on {n % 4}", "language": ["en", "ru"][n % 2]}
    for n in range(40)
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("tokenf1", "token_f1"),
        ("Token_F1", "token_f1"),
        ("MRR", "reciprocal_rank"),
        ("P_5", "retrieval_precision@5"),
        ("nDCG_cut_10", "ndcg@10"),
        ("ndcg(k=10)", "ndcg@10"),
        ("map-l2", "average_precision(relevance_level=2)"),
        ("nDCG( gain = 'exponential', k=3 )", "ndcg@3(gain='exponential')"),
        ("SQuAD-F1(version=2)", "squad_f1(version=2)"),
        ("squad_f1(version=1)", "squad_f1"),
        ("retrieval_consistency@10", "retrieval_consistency"),
        ("recall@5(no_relevant='undefined')", "retrieval_recall@5(no_relevant='undefined')"),
        ("corpus_bleu(lowercase=True, tokenizer='char')", "corpus_bleu(tokenizer='char', lowercase=True)"),
        ("token_f1(name='f1')", "f1"),
        ("token_f1(name='TokenF1')", "TokenF1"),
        ("reciprocal_rank(name='mrr')", "mrr"),
    ],
)
def test_a_score_has_its_canonical_name_whatever_the_spelling(typed, name):
    score = parse(typed)
    assert score.name == name
    again = parse(score.spec)
    assert (again.name, again.metric, again.options) == (score.spec, score.metric, score.options)


def test_the_canonical_name_of_every_metric_is_its_own():
    spellings = [(name, one) for name, metric in REGISTRY.items() for one in (name, *metric.others)]
    for name, spelling in spellings:
        typed = spelling.replace("@k", "@5")
        assert parse(typed.upper()).name == parse(name + typed[typed.find("@") :] * ("@" in typed)).name


def test_the_options_of_a_run_do_not_change_what_a_name_means():
    zero = {"no_relevant": "zero"}
    for typed in ("recall@5", "recall@5(no_relevant='undefined')", "recall@5(no_relevant='zero')"):
        score = parse(typed, zero)
        assert parse(score.name, zero).options == score.options


def test_columns_files_and_programs_use_the_canonical_name(tmp_path):
    made = fm.score(TABLE, "tokenf1,Keyword-Recall")
    assert made.column_names == ["id", "token_f1", "keyword_recall"]
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    done = program("score", rows, "-o", tmp_path / "s.parquet", "-m", "Token_F1,CorpusBLEU", "--keep-counts")
    assert (done.code, done.err) == (0, "")
    assert pq.read_schema(tmp_path / "s.parquet").names == ["id", "token_f1", "corpus_bleu.counts"]
    assert fm.score(TABLE, ["tokenf1"], suites="lexical").column_names.count("token_f1") == 1


OWN = (
    "token_f1(name='f1'),exact_match,bleu(name='B'),corpus_bleu(tokenizer='char', name='corpus'),latency_ms(name='ms')"
)


@pytest.fixture
def own(tmp_path):
    """A file with scores under the user's own names, and the same scores under their canonical names."""
    rows = [{**row, "latency_ms": 100.0 + row["id"]} for row in ROWS]
    table = pa.Table.from_pylist(rows)
    jsonl(tmp_path / "rows.jsonl", *rows)
    how = {"keep": ["language"], "keep_counts": True}
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "own.parquet", metrics=OWN, **how)
    canonical = "token_f1,exact_match,bleu,corpus_bleu(tokenizer='char'),latency_ms"
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "canonical.parquet", metrics=canonical, **how)
    return tmp_path, table


def test_own_names_are_read_as_their_metrics(own):
    folder, table = own
    path, canonical = folder / "own.parquet", folder / "canonical.parquet"
    summary, plain = fm.summarize(path), fm.summarize(canonical)
    assert list(summary.metrics) == ["f1", "exact_match", "B", "ms"]
    assert summary["f1"] == plain["token_f1"]
    assert summary["ms"].extra == plain["latency_ms"].extra != {}
    assert summary.corpus == {"corpus": plain.corpus["corpus_bleu(tokenizer='char')"]}
    in_memory = fm.score(table, OWN, keep_counts=True)
    assert fm.summarize(in_memory).corpus == summary.corpus
    compared = fm.compare({"a": path, "b": path}, metrics="corpus", resamples=10, bootstrap=10)
    assert (compared.counted, compared[0].mean_other) == (["corpus"], summary.corpus["corpus"])
    assert fm.worst_rows(path, "ms", n=1)["ms"].to_pylist() == [139.0]
    assert [one.met for one in fm.gate(path, ["f1 >= 0", "ms.p95 < 1000", "corpus > 0"])] == [True, True, True]
    assert fm.results.histograms(path, metrics="f1")["f1"].edges[0] == 0.0
    assert fm.results.summarize_by(path, by="language", metrics=["ms"]).better == {"ms": "lower"}
    assert {one.a for one in fm.results.correlations(path)} == {"f1", "exact_match", "B"}


def test_readers_take_any_spelling_of_a_stored_score(own):
    folder, _ = own
    path = folder / "canonical.parquet"
    for typed in ("tokenf1", "Token-F1", "token_f1"):
        assert fm.compare([path, path], metrics=typed, resamples=10, bootstrap=10)["token_f1"].ties == 40
        assert fm.worst_rows(path, typed, n=1).table.column_names == ["id", "token_f1"]
        assert fm.gate(path, f"{typed} >= 0").passed
        assert fm.gate(path, f"{typed}.drop <= 0.1", baseline=path).passed
        assert [one.metric for one in fm.results.summarize_by(path, metrics=typed)] == ["token_f1"]
        assert fm.trend(folder, typed).metric == "token_f1"
        labels = {"id": range(40), "good": [n % 2 for n in range(40)]}
        assert list(fm.validate(pq.read_table(path), labels, metrics=typed).metrics) == ["token_f1"]
    assert fm.gate(path, "Corpus_BLEU(tokenizer='char') >= 0").passed
    ways = {"Token_F1": "lower"}
    assert fm.compare([path, path], metrics="token_f1", better=ways, resamples=10, bootstrap=10).better == {
        "token_f1": "lower"
    }


def test_a_metric_may_stand_under_two_names():
    both = fm.score(TABLE, "token_f1,token_f1(name='f1')")
    assert both["f1"].to_pylist() == both["token_f1"].to_pylist()


def test_own_names_survive_every_format(tmp_path):
    jsonl(tmp_path / "rows.jsonl", *({**row, "latency_ms": 1.0 * row["id"]} for row in ROWS))
    for suffix in (".parquet", ".jsonl", ".csv", ".arrow", "/"):
        out = tmp_path / f"own{suffix}"
        fm.score(tmp_path / "rows.jsonl", output=out, metrics="latency_ms(name='ms'),token_f1(name='f1')")
        assert list(fm.summarize(out)["ms"].extra) == ["p50", "p90", "p95", "p99"]
        assert fm.worst_rows(out, "ms", n=1)["id"].to_pylist() == ["39"]
    metadata = json.loads(pq.read_schema(tmp_path / "own.parquet").metadata[b"fastmetrics"])
    assert metadata["declared"]["ms"] == {
        "spec": "latency_ms",
        "better": "lower",
        "bounds": [0, None],
        "statistics": ["p50", "p90", "p95", "p99"],
        "labels": {},
        "reading": None,
    }


def test_corpus_metrics_read_scores_under_any_spelling():
    table = {**TABLE.to_pydict(), "confidence": np.linspace(0, 1, 40)}
    made = fm.score(table, "aurc(quality='TOKEN_F1')")
    assert made.column_names == ["id", "confidence", "token_f1"]
    assert fm.summarize(made).corpus == {
        "aurc(quality='TOKEN_F1')": fm.aurc(table["confidence"], table["answer"], table["reference"]).score
    }
