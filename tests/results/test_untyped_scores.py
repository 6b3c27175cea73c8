"""Columns of scores without any value: JSON and records give them no type, and their rows still count as missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fastmetrics as fm

ROWS = [{"id": number, "token_f1": None, "chrf": 50.0 + number % 7, "comment": None} for number in range(40)]
BASELINE = [{**row, "token_f1": 0.9} for row in ROWS]


@pytest.fixture(params=["records", "files"])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Any]:
    if request.param == "records":
        return BASELINE, ROWS
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for path, rows in zip(paths, (BASELINE, ROWS), strict=True):
        path.write_text("\n".join(map(json.dumps, rows)))
    return paths


def test_summary_counts_the_rows_without_a_score(runs: tuple[Any, Any]) -> None:
    summary = fm.summarize(runs[1])
    assert (summary["token_f1"].n, summary["token_f1"].n_missing) == (0, 40)
    assert list(summary.metrics) == ["token_f1", "chrf"]


def test_gate_is_not_passed_by_a_metric_that_lost_all_its_scores(runs: tuple[Any, Any]) -> None:
    result = fm.gate(runs[1], ["drop <= 10"], baseline=runs[0])
    assert not result.passed
    assert "drop <= 10 · token_f1: 0 rows with a score" in str(result)


def test_comparison_shows_the_rows_that_only_the_baseline_scores(runs: tuple[Any, Any]) -> None:
    assert "token_f1   0         40           0" in str(fm.compare(list(runs)))


def test_no_rows_fail_the_gate_in_words() -> None:
    assert not fm.gate({"id": [], "token_f1": []}, ["token_f1 >= 0"]).passed
