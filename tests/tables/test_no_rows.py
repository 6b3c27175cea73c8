"""Tables of no rows, in every format and through every command that reads or writes tables."""

import json

import pyarrow as pa
import pytest

from fastmetrics.base.errors import FileFormatError
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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.zst", "o.csv", "o.parquet", "o.arrow"])
def test_empty_match_output_is_readable(tmp_path, name):
    (tmp_path / "q.csv").write_text("id,question\n")
    (tmp_path / "faq.csv").write_text("question,answer\na,b\n")
    done = program("match", "q.csv", "faq.csv", "-o", name)
    assert (done.code, done.err) == (0, "")
    assert open_source(name).schema.names == ["id", "question", "answer", "score", "index"]
    told = json.loads(program("summarize", name, "--json").out)
    assert (told["n_rows"], list(told["metrics"])) == (0, ["score", "index"])


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


def test_empty_file_without_valid_metadata_raises(tmp_path):
    for name in ("t.jsonl", "t.csv"):
        (tmp_path / name).touch()
        with pytest.raises(FileFormatError, match=f"^{name}: the file is empty$"):
            open_source(name)
        (tmp_path / f"{name}.meta.json").write_text('{"output": []}')
        assert program("summarize", name).err == f"error: {name}: the file is empty\n"
