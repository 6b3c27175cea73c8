"""Files of text get their embeddings by the same runs that score, judge and answer."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.errors import ColumnError, OptionError
from fastmetrics.tables import open_source
from fastmetrics.tables.output.output import find_metadata
from fastmetrics.vectors.embedder import add_embeddings
from tests.program import jsonl, program

ROWS = [
    {"id": n, "question": None if n % 7 == 0 else f"question {n % 50}", "answer": f"answer {n} é", "score": n / 2}
    for n in range(400)
]


class Counting:
    """Embeds a text as its length and its bytes' sum, and counts the texts it has seen."""

    def __init__(self):
        self.seen = []

    def __call__(self, texts):
        self.seen += texts
        return np.array([[len(text), sum(text.encode())] for text in texts], np.float32)


def test_files_get_the_embeddings_that_tables_get(tmp_path):
    path, count = jsonl(tmp_path / "rows.jsonl", *ROWS), Counting()
    done = fm.embed_files(path, tmp_path / "o.parquet", fm.Embedder(count))
    assert (done.run.rows, done.embedded) == (400, {"question_embedding": 342, "answer_embedding": 400})
    found = pq.read_table(tmp_path / "o.parquet")
    expected = add_embeddings(pa.Table.from_pylist(ROWS), fm.Embedder(Counting()), ["question", "answer"])
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert find_metadata(tmp_path / "o.parquet", open_source(tmp_path / "o.parquet").files)["embedded"] == done.embedded
    scored = fm.score(found.rename_columns({"question_embedding": "reference_embedding"}), "semantic_similarity")
    assert scored["semantic_similarity"].null_count == 58


def test_no_text_is_embedded_twice_and_a_column_may_have_any_name(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"text": f"t{n % 5}", "qid": n} for n in range(50)))
    for turn in range(2):
        count = Counting()
        embedder = fm.Embedder(count, cache=tmp_path / "cache", revision="1")
        done = fm.embed_files(path, tmp_path / f"{turn}.jsonl", embedder, "text", keep=[])
        assert sorted(count.seen)[1:] == ([] if turn else [f"t{n}" for n in range(5)])  # "a" determines the dimension
        assert done.embedded == {"text_embedding": 50}
    first, second = ((tmp_path / f"{turn}.jsonl").read_bytes() for turn in range(2))
    assert first == second
    assert list(json.loads(first.splitlines()[0])) == ["qid", "text_embedding"]


def test_failed_run_leaves_no_output_and_resumes(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *ROWS)

    def broken(texts):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        fm.embed_files(path, tmp_path / "o.parquet", fm.Embedder(broken, revision="1"), "answer")
    assert not (tmp_path / "o.parquet").exists()


def test_invalid_embed_inputs_raise(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "text": "a", "answer_embedding": [1.0], "answer": "b", "n": 5})
    embedder = fm.Embedder(Counting())
    for of, keep, message in (
        ("txt", None, "unknown column 'txt'.*text"),
        ("answer", None, "the column 'answer_embedding' already exists.*keep="),
    ):
        with pytest.raises(ColumnError, match=message):
            fm.embed_files(path, tmp_path / "o.parquet", embedder, of, keep=keep)
    with pytest.raises(OptionError, match="CSV and TSV cannot store embeddings"):
        fm.embed_files(path, tmp_path / "o.csv", embedder, "text")
    with pytest.raises(ColumnError, match=r"no column question, answer or reference; list .* of="):
        fm.embed_files(jsonl(tmp_path / "x.jsonl", {"a": "b"}), tmp_path / "o.parquet", embedder)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["rows.jsonl", "x.jsonl"]


def test_the_command_embeds_with_a_model_of_the_extras(tmp_path):
    pytest.importorskip("wordllama")
    path = jsonl(tmp_path / "rows.jsonl", {"id": 1, "answer": "a cat", "reference": "a cat"})
    done = program("embed", path, "-o", tmp_path / "o.parquet", "--cache", tmp_path / "cache")
    assert (done.code, "1 in answer_embedding, 1 in reference_embedding" in done.out) == (0, True), done.err
    scored = fm.score(pq.read_table(tmp_path / "o.parquet"), "semantic_similarity")
    assert scored["semantic_similarity"].to_pylist() == [pytest.approx(1.0, abs=1e-6)]
