"""The commands that need a whole file at once: what a CSV file's cells become, and what is refused."""

import json

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.results.opening_scores import read_table
from tests.support.program import program


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("id,label\n007,1\n008,0\n")
    (tmp_path / "labels.tsv").write_text("id\tlabel\n007\t1\n008\t0\n")
    (tmp_path / "s.csv").write_text("id,answer,reference\n007,a,a\n008,b,c\n009,x,x\n")
    assert program("score", "s.csv", "-o", "s.parquet", "-m", "token_f1,exact_match").code == 0


@pytest.mark.parametrize("labels", ["labels.csv", "labels.tsv"])
def test_label_ids_keep_their_spelling(labels):
    done = program("validate", "s.parquet", labels, "--json")
    found = json.loads(done.out)
    assert (found["n_rows"], found["n_only_scores"], found["metrics"]["token_f1"]["auc"]["value"]) == (2, 1, 1.0)


def test_validate_accepts_metrics_in_every_form():
    for options in (["-m", "token_f1, exact_match"], ["-m", "token_f1", "-m", "exact_match"]):
        done = program("validate", "s.parquet", "labels.csv", "--json", *options)
        assert list(json.loads(done.out)["metrics"]) == ["token_f1", "exact_match"]


def test_faq_cells_are_text(tmp_path):
    (tmp_path / "faq.csv").write_text('question,answer\n1889,2024-01-05\n"two\nlines",007\n')
    (tmp_path / "q.csv").write_text("id,question\n007,in 1889\n008,lines?\n")
    (tmp_path / "faq.jsonl").write_text('{"question": "in 1889", "answer": "2024-01-05"}\n')
    assert program("match", "q.csv", "faq.csv", "-o", "m.parquet").code == 0
    made = pq.read_table("m.parquet").to_pydict()
    assert (made["id"], made["answer"]) == (["007", "008"], ["2024-01-05", "007"])
    assert program("match", "q.csv", "faq.jsonl", "-o", "n.parquet").code == 0
    assert pq.read_table("n.parquet")["answer"].to_pylist() == ["2024-01-05"] * 2


def test_scores_in_text_without_metadata_are_found_by_their_look(tmp_path):
    assert program("score", "s.csv", "-o", "s2.csv", "-m", "token_f1").code == 0
    with_metadata = fm.summarize("s2.csv")["token_f1"]
    (tmp_path / "s2.csv.meta.json").unlink()
    assert fm.summarize("s2.csv")["token_f1"] == with_metadata
    (tmp_path / "a.csv").write_text("id,score,ok,comment\n1,0.5,True,3\n2,,False,good\n3,NA,,\n4,1,True,\n")
    (tmp_path / "b.tsv").write_text("id\tscore\tok\n1\t0\tTrue\n2\t1\tTrue\n3\t0\tFalse\n4\t0.5\tTrue\n")
    found = fm.summarize("a.csv")
    assert list(found) == ["score", "ok"]
    assert [(one.n, one.n_missing, one.mean) for one in found.values()] == [(2, 2, 0.75), (3, 1, 2 / 3)]
    difference = fm.compare({"a": "a.csv", "b": "b.tsv"}, better={"score": "higher", "ok": "higher"})
    assert "score" in str(difference)
    assert "ok" in str(difference)
    rules = ("-r", "score.mean >= 0.7", "-r", "ok.delta >= -1", "--unpaired", "ignore", "--min-n", 1)
    checked = program("gate", "a.csv", "--baseline", "b.tsv", *rules)
    assert checked.code == 0, checked.err


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.jsonl", "p.csv", "p.tsv", "p.csv.gz", "p.jsonl.zst", "p/"])
def test_validation_is_equal_for_every_format(name):
    assert program("score", "s.csv", "-o", name, "-m", "token_f1,exact_match").code == 0
    done = program("validate", name, "labels.csv", "--json")
    assert (done.err, done.out) == ("", program("validate", "s.parquet", "labels.csv", "--json").out)


def test_late_numbers_keep_their_values(tmp_path):
    (tmp_path / "l.jsonl").write_text('{"id": "007", "label": 1}\n{"id": 8, "label": 0.5}\n')
    assert read_table("l.jsonl").to_pydict() == {"id": ["007", "8"], "label": [1.0, 0.5]}
    (tmp_path / "l.csv").write_text("id,label,flag,text,none\n007,1,TRUE,a,\n8,,false,NA,null\n")
    assert read_table("l.csv", {"id"}).to_pylist() == [
        {"id": "007", "label": 1, "flag": True, "text": "a", "none": None},
        {"id": "8", "label": None, "flag": False, "text": "NA", "none": None},
    ]
    assert read_table("l.csv").to_pylist()[1] == {
        "id": "8",
        "label": None,
        "flag": "false",
        "text": "NA",
        "none": "null",
    }
