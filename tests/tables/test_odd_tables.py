"""Tables of no rows, in every format and command, and tables that people hand over by mistake."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.tables.opening import open_source
from tests.support.program import program
from tests.support.table_files import write

EMPTY = pa.schema({"id": pa.string(), "answer": pa.string(), "reference": pa.string(), "latency_ms": pa.float64()})
METRICS = "token_f1,latency_ms,corpus_bleu"
INPUTS = ["in.parquet", "in.arrow", "in.arrows", "in.csv", "in.tsv", "in.csv.gz", "in.tsv.zst"]
OUTPUTS = ["o.parquet", "o.arrow", "o.feather", "o.jsonl", "o.ndjson", "o.csv", "o.tsv", "o/"]
OUTPUTS += ["o.jsonl.gz", "o.jsonl.zst", "o.csv.gz", "o.tsv.zst"]
COLUMNS = ["id", "token_f1", "latency_ms"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", INPUTS)
def test_empty_input_of_every_format_is_scored(tmp_path, name):
    write(EMPTY.empty_table(), tmp_path / name)
    done = program("score", name, "-o", "o.jsonl", "-m", METRICS)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "o.jsonl").read_bytes() == b""


@pytest.mark.parametrize("rows", ["none", "bad"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_empty_output_of_every_format_is_readable(tmp_path, name, rows):
    text = "id,answer,reference,latency_ms\n" + ("1,a,b,soon\n2,a\n" if rows == "bad" else "")
    (tmp_path / "in.csv").write_text(text)
    done = program("score", "in.csv", "-o", name, "-m", METRICS, "--on-error", "skip")
    assert (done.code, done.err) == (0, "")
    assert open_source(name).schema.names == COLUMNS
    again = program("summarize", name, "--json")
    assert (again.code, again.err) == (0, "")
    told = json.loads(again.out)
    assert (told["n_rows"], list(told["metrics"])) == (0, ["token_f1", "latency_ms"])
    assert told["metrics"]["token_f1"]["n_error"] == (2 if rows == "bad" else 0)
    assert told["figures"]["corpus_bleu"] is None
    assert program("summarize", name).out.split("\n\n")[0] in done.out
    held = program("validate", name, name, "--label", "latency_ms", "--json")
    assert (held.code, held.err) == (0, "")
    assert (json.loads(held.out)["n_rows"], list(json.loads(held.out)["metrics"])) == (0, ["token_f1"])
    assert program("score", name, "-o", "again.parquet", "-m", "latency_ms").code == 0


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b"\xff", b'{"metrics": 7}', b'{"metrics": {"x": 1}}', b"[" * 99_999]
)
def test_foreign_metadata_raise_with_file_name(tmp_path, said):
    (tmp_path / "s.csv").write_text("token_f1\n")
    (tmp_path / "s.csv.meta.json").write_bytes(said)
    done = program("summarize", "s.csv")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("error: s.csv")
    assert "metadata" in done.err


def test_single_reference_among_lists_is_a_list_of_one(tmp_path):
    rows = [{"answer": "a", "reference": one} for one in ("a", ["b", "a"], None, [])]
    expected = [1.0, 1.0, None, None]
    assert fm.score(rows, ["token_f1"])["token_f1"].to_pylist() == expected
    assert fm.score(pd.DataFrame(rows), ["token_f1"])["token_f1"].to_pylist() == expected


def test_pandas_row_labels_are_not_scores():
    frame = pd.DataFrame({"fit": [0.5, np.nan]}, index=[3.5, 4.5])
    assert list(fm.summarize(frame)) == ["fit"]
    labels = pd.DataFrame({"label": [9, 0, 1]}, index=[5, 7, 6])
    assert fm.validate({"fit": [0.1, 0.2]}, labels[labels["label"] < 9]).label == "label"
