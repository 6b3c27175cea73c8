"""What the program does not import, because it would take much of the time of a short run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.program import ENVIRONMENT

COSTLY = ("pandas", "polars", "scipy.linalg", "sklearn", "matplotlib", "plotly", "faiss", "pyarrow.dataset")
"""Packages that scoring a file of texts and numbers needs nothing of."""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env=ENVIRONMENT, capture_output=True, text=True, timeout=600
    )
    return done.stdout


def test_scoring_a_file_imports_no_costly_package(tmp_path: Path) -> None:
    rows, output = tmp_path / "rows.parquet", tmp_path / "scores.parquet"
    columns = {"id": [1, 2], "question": ["Where?", None], "answer": ["in Paris", None], "reference": ["Paris", "Rome"]}
    pq.write_table(pa.table({**columns, "latency_ms": [1.5, None], "total_tokens": [3, 4]}), rows)
    code = f"""
import sys
from fastmetrics import cli
sys.argv = ["fastmetrics", "score", {str(rows)!r}, "-o", {str(output)!r}, "-q"]
try:
    cli.main()
finally:
    print([name for name in {COSTLY!r} if name in sys.modules])
"""
    assert run(code).split("\n")[-2] == "[]"
    assert pq.read_table(output)["token_f1"].to_pylist() == [2 / 3, None]


def test_compiled_code_has_linear_algebra_after_all() -> None:
    code = """
from fastmetrics.commands.program.numba_loading import load_numba
load_numba()
import numba, numpy as np
matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
product, covariance = numba.njit(lambda a, b: np.dot(a, b)), numba.njit(lambda a: np.cov(a))
print(np.array_equal(product(matrix, matrix), matrix @ matrix), np.allclose(covariance(matrix), np.cov(matrix)))
"""
    assert run(code).split() == ["True", "True"]
