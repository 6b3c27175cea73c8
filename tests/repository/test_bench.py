"""The benchmarks' own honesty: the same rows for a seed, and peers that give the definitions' numbers."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench import compare, data, peers
from bench.kernels import BENCHES, Rows
from tests.reference import lexical
from tests.support.program import ROOT


def test_rows_depend_on_the_seed_alone(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.parquet"), str(tmp_path / "two.parquet")
    data.write(one, 300, seed=3)
    data.write(two, 300, seed=3)
    assert Path(one).read_bytes() == Path(two).read_bytes()
    assert pq.read_table(one).equals(data.table(300, seed=3))
    assert not data.table(300, seed=4)["answer"].equals(data.table(300, seed=3)["answer"])


def test_peers_equal_the_definitions() -> None:
    table = data.table(100, seed=8)
    odd = ["", "The the", "...", "Please, don't. I don't know [1]."]
    questions, answers, references = (
        [*table[column].to_pylist(), *extra]
        for column, extra in (("question", odd), ("answer", odd[::-1]), ("reference", odd[1:] + odd[:1]))
    )
    every = peers.every_metric(questions, answers, references)
    for name in [name for name in peers.METRICS if hasattr(lexical, name)]:
        if name == "jaccard":
            columns = [questions, answers]
        else:
            columns = [answers] if name.startswith("answer_") or name == "politeness" else [answers, references]
        slow = [getattr(lexical, name)(*row) for row in zip(*columns, strict=True)]
        assert every[name] == pytest.approx(slow, rel=1e-15, nan_ok=True), name
        if name in peers.PEERS:
            assert peers.PEERS[name](*columns) == pytest.approx(slow, rel=1e-15, nan_ok=True), name


@pytest.mark.full
def test_benchmarks_of_kernels_run(tmp_path: Path) -> None:
    """Those of ``bench/test_kernels.py``, on a few rows."""
    names = [name for calls in BENCHES.values() for name in calls]
    assert len(names) == len(set(names)) > 10
    rows = Rows(24, tmp_path)
    for calls in BENCHES.values():
        for call in calls.values():
            call(rows)


def test_the_example_files_are_what_their_script_writes(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "examples"
    script = shutil.copy(folder / "make_answers.py", tmp_path)
    subprocess.run([sys.executable, script], check=True)
    for name in ("answers.jsonl", "brief_answers.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


PEERS = ("bleuscore", "rouge_score_rs", "bm25s", "ranx", "ir_measures")
"""Packages that the extra ``test`` does not install."""


@pytest.mark.full
def test_the_benchmark_of_text_runs() -> None:
    contests = compare.text(20, 1)
    assert {"token_f1", "rougeL_f1"} < {contest["name"] for contest in contests}
    assert all(contest["ours"]["rows"] == 20 and math.isfinite(contest["ratio"]) for contest in contests)


@pytest.mark.full
def test_benchmarks_are_collected_without_their_peers() -> None:
    names = [f"bench.{path.stem}" for path in (ROOT / "bench").glob("*.py")]
    code = f"import importlib, sys; sys.modules.update(dict.fromkeys({PEERS}))\n"
    code += f"for name in {names}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
