"""The commands that need a whole file at once: what a CSV file's cells become, and what is refused."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
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


def test_labels_without_common_ids_raise(tmp_path):
    (tmp_path / "other.csv").write_text("id,label\n7,1\n8,0\n")
    done = program("validate", "s.parquet", "other.csv")
    assert (done.code, done.err) == (
        3,
        "error: scores and labels share no 'id'; the scores have for example '007', the labels '7'\n",
    )


def test_faq_cells_are_text(tmp_path):
    (tmp_path / "faq.csv").write_text('question,answer\n1889,2024-01-05\n"two\nlines",007\n')
    (tmp_path / "q.csv").write_text("id,question\n007,in 1889\n008,lines?\n")
    (tmp_path / "faq.jsonl").write_text('{"question": "in 1889", "answer": "2024-01-05"}\n')
    assert program("match", "q.csv", "faq.csv", "-o", "m.parquet").code == 0
    made = pq.read_table("m.parquet").to_pydict()
    assert (made["id"], made["answer"]) == (["007", "008"], ["2024-01-05", "007"])
    assert program("match", "q.csv", "faq.jsonl", "-o", "n.parquet").code == 0
    assert pq.read_table("n.parquet")["answer"].to_pylist() == ["2024-01-05"] * 2


@pytest.mark.parametrize("command", ["validate", "match"])
def test_empty_and_missing_files_raise(tmp_path, command):
    (tmp_path / "empty.csv").touch()
    options = ["-o", "m.csv"] if command == "match" else []
    for name, message in (("empty.csv", "the file is empty"), ("no.csv", "cannot be read: No such file or directory")):
        done = program(command, "s.parquet", name, *options)
        assert (done.code, done.err) == (3, f"error: {name}: {message}\n")


def test_file_without_scores_cannot_be_summarized(tmp_path):
    (tmp_path / "t.csv").write_text("id,comment\n1,good\n2,3\n")
    (tmp_path / "n.csv").write_text("id,answer,reference\n1,42,42\n2,7,8\n")
    unscored = "holds answers, not scores: run `fastmetrics score` (fm.score) first"
    for name, message in (
        ("s.csv", f"s.csv {unscored}"),
        ("n.csv", f"n.csv {unscored}"),
        ("t.csv", "t.csv: no column of scores"),
    ):
        done = program("summarize", name)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"error: {message}")


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


def test_unwritable_index_raises(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*file/index: Not a directory"):
        fm.Index.build(np.eye(3)).save(tmp_path / "file" / "index")


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.jsonl", "p.csv", "p.tsv", "p.csv.gz", "p.jsonl.zst", "p/"])
def test_validation_is_equal_for_every_format(name):
    assert program("score", "s.csv", "-o", name, "-m", "token_f1,exact_match").code == 0
    done = program("validate", name, "labels.csv", "--json")
    assert (done.err, done.out) == ("", program("validate", "s.parquet", "labels.csv", "--json").out)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("bad.csv", b"id,label\n007,1\n008\n", "row 1: expected 2 fields, got 1"),
        (
            "bad.csv",
            b"id,label\n007,1\n\xff,1\n",
            "row 1, column 'id': invalid UTF-8: byte 0xff at byte 0; if it has another encoding, such as cp1252 or "
            "cp1251: --encoding ...",
        ),
        ("bad.jsonl", b'{"id": "007", "label": 1}\n{"id":', "line 2: malformed JSON: Expecting value at character 7"),
    ],
)
def test_every_command_names_a_bad_row(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    for arguments in (
        ["validate", "s.parquet", name],
        ["match", name, "s.csv", "--columns", "question=id", "-o", "m.csv"],
    ):
        assert program(*arguments).err == f"error: {name}, {reason}\n"


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
