"""A folder of several runs is no run; the last one is chosen on request."""

from __future__ import annotations

from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import jsonl, program

ROWS = [{"id": n, "answer": "in Paris", "reference": "in Paris"} for n in range(9)]
WORSE = [{**row, "answer": "no"} for row in ROWS]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three nightly runs, the last of which failed."""
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "good.jsonl", *ROWS)
    jsonl(tmp_path / "bad.jsonl", *WORSE)
    (tmp_path / "runs").mkdir()
    for day, rows in (("1", "good"), ("2", "good"), ("3", "bad")):
        fm.score(f"{rows}.jsonl", output=f"runs/day-{day}.parquet", metrics="token_f1")
    return tmp_path / "runs"


def test_the_latest_run_is_the_last_of_the_trend(folder):
    found = fm.gate("runs", "token_f1 >= 0.6", latest=True)
    assert (found.passed, found.scores) == (False, "day-3")
    assert (
        "day-3.parquet is the last of 3 runs in runs, by file name, since no run stores when it began (score --times)"
        in (found.notes)
    )
    assert [one.file for one in fm.trend("runs", "token_f1")][-1] == "day-3.parquet"
    done = program("gate", "runs", "--latest", "-r", "token_f1 >= 0.6")
    assert (done.code, "day-3 FAILED" in done.out) == (1, True)
    (folder / "day-3.parquet").unlink()
    assert program("gate", "runs", "--latest", "-r", "token_f1 >= 0.6").code == 0


def test_times_order_the_runs(folder, tmp_path):
    (tmp_path / "timed").mkdir()
    for day, rows, began in (("0", "bad", "2026-01-09T00:00:00"), ("9", "good", "2026-01-05T00:00:00")):
        with mock.patch("fastmetrics.scoring.score_runs.now", lambda began=began: began):
            fm.score(f"{rows}.jsonl", output=f"timed/day-{day}.parquet", metrics="token_f1", times=True)
    found = fm.gate("timed", "token_f1 >= 0.6", latest=True)
    assert (found.passed, found.scores) == (False, "day-0")
    fm.score("good.jsonl", output="timed/untimed.parquet", metrics="token_f1")
    (tmp_path / "empty").mkdir()


def test_one_run_in_parts_and_parts_without_metadata_are_one_table(folder, tmp_path):
    fm.score("good.jsonl", output=tmp_path / "parts/", metrics="token_f1")
    assert fm.gate("parts", "token_f1 >= 0.6").passed
    (tmp_path / "plain").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"id": range(part * 9, part * 9 + 9), "token_f1": [0.8] * 9}), f"plain/{part}.parquet")
    (one,) = fm.gate("plain", "token_f1 >= 0.6")
    assert (one.met, one.n) == (True, 27)
    assert fm.summarize("runs").n_rows == 27


def test_trend_and_the_report_give_the_same_interval(folder, tmp_path):
    rows = [{**row, "answer": ["in Paris", "no", "Paris"][row["id"] % 3]} for row in ROWS]
    jsonl(tmp_path / "mixed.jsonl", *rows)
    fm.score("mixed.jsonl", output="runs/day-4.parquet", metrics="token_f1")
    points = fm.trend("runs", "token_f1")
    fm.report("runs/day-4.parquet", tmp_path / "report.html", runs="runs")
    page = (tmp_path / "report.html").read_text()
    assert points[3].low < points[3].mean < points[3].high
    for grid_line in points.grids()[0].rows:
        assert grid_line[4] in page


def test_a_change_can_be_against_the_mean_of_the_last_runs(tmp_path):
    """Night k answers question n with n % 5 + k words, in another order each night; the first one lacks a question."""
    for night in range(5):
        order = list(range(0 if night else 1, 40))[:: -1 if night % 2 else 1]
        rows = [{"id": f"q{n}", "answer": "a " * (n % 5 + night)} for n in order]
        fm.score(
            pa.Table.from_pylist(rows), "answer_words", output=tmp_path / f"{night}.parquet", name=f"night {night}"
        )
    rules = ["answer_words.delta.point == 2", "answer_words.n == 40"]
    found = fm.gate(tmp_path, rules, baseline=tmp_path, latest=True, last=3)
    assert (found.passed, found[0].n, found.baseline) == (True, 40, f"the last 3 runs of {tmp_path}")
    assert "the baseline is the mean of night 1, night 2, night 3 (by file name)" in found.notes
    earlier = fm.gate(tmp_path / "2.parquet", "answer_words.delta.point == 1.5", baseline=tmp_path, last=3)
    assert "the baseline is the mean of night 0, night 1 (by file name)" in earlier.notes
    assert earlier[0].value == pytest.approx((39 * 1.5 + 1) / 40)
    rule = "answer_words.delta.point == 2.5"  # question 0 has three nights: 2, and 39 others four: 2.5
    (one,) = fm.gate(tmp_path / "4.parquet", rule, baseline=tmp_path, last=9)
    assert one.value == pytest.approx((39 * 2.5 + 2) / 40)
    told = program("gate", tmp_path, "--latest", "--baseline", tmp_path, "--last", "3", "-r", rules[0])
    assert told.code == 0, told
