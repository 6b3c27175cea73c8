"""What the program does not import, because it would take much of the time of a short run."""

import json
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.program import ENVIRONMENT, program

COSTLY = (
    *("pandas", "polars", "sklearn", "matplotlib", "faiss", "pyarrow.dataset"),
    *("fastmetrics.stats.raters", "fastmetrics.vectors.geometry_values"),
)
"""Packages and modules that scoring a file of texts and numbers needs nothing of."""


def imported(*words):
    """The costly modules that the program has imported at its end, where its kernels need no compilation."""
    assert program(*words).code == 0
    code = f"""
import sys
from fastmetrics.cli import program as cli
sys.argv = ["fastmetrics", *{[*map(str, words)]!r}]
try:
    cli.main()
finally:
    print([name for name in {COSTLY!r} if name in sys.modules])
"""
    # in another folder than that of the checkout
    settings = {"env": ENVIRONMENT, "cwd": tempfile.gettempdir(), "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", code], check=True, **settings)
    return done.stdout.split("\n")[-2]


def test_scoring_a_file_imports_no_costly_module(tmp_path):
    rows, output = tmp_path / "rows.parquet", tmp_path / "scores.parquet"
    columns = {"id": [1, 2], "question": ["Where?", None], "answer": ["in Paris", None], "reference": ["Paris", "Rome"]}
    columns |= {"latency_ms": [1.5, None], "total_tokens": [3, 4]}
    columns |= {"retrieved_ids": [["a", "b"], None], "relevant_ids": [["b"], ["a"]], "relevance": [[2.0], None]}
    pq.write_table(pa.table(columns), rows)
    assert imported("score", rows, "-o", output, "-q", "--overwrite") == "[]"
    assert pq.read_table(output)["token_f1"].to_pylist() == [2 / 3, None]


@pytest.mark.full
def test_ranking_files_imports_no_costly_module(tmp_path):
    run, qrels, output = (tmp_path / f"{name}.parquet" for name in ("run", "qrels", "values"))
    ids = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"]}
    pq.write_table(pa.table({**ids, "score": [2.0, 1.0, 3.0]}), run)
    pq.write_table(pa.table({**ids, "relevance": [0, 1, 1]}), qrels)
    assert imported("rank", run, qrels, "-m", "mrr", "-o", output, "--overwrite") == "[]"
    assert pq.read_table(output)["mrr"].to_pylist() == [0.5, 1.0]


@pytest.mark.full
def test_counting_chunks_imports_no_costly_module(tmp_path):
    log, output = tmp_path / "log.parquet", tmp_path / "chunks.json"
    pq.write_table(pa.table({"id": ["q1", "q2"], "retrieved_ids": [["a", "b"], ["a"]]}), log)
    assert imported("logs", "chunks", log, "-o", output, "--overwrite") == "[]"
    assert json.loads(output.read_text())["used_chunks"] == 2
