"""Quality against cost and latency: figures of each system, which ones no other beats."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.display import number
from tests.reporting.test_report import HOSTILE

HOSTILE_NAME = HOSTILE[1]


def run(f1: float, hallucination: float, tokens: float, latency: list[float], **more) -> pa.Table:
    n = len(latency)
    columns = {"token_f1": [f1] * n, "hallucination": [hallucination] * n, "total_tokens": [tokens] * n}
    return pa.table({"id": [f"q{at}" for at in range(n)], **columns, "latency_ms": latency, **more})


RUNS = {
    "small": run(0.4, 0.1, 100.0, [10.0, 20.0, 90.0]),
    HOSTILE_NAME: run(0.8, 0.4, 900.0, [100.0, 200.0, 300.0]),
    "beaten": run(0.4, 0.5, 500.0, [50.0, 60.0, None]),
}


def table_of(page: str) -> list[list[str]]:
    table = page[page.index('id="tradeoff-table"') :].partition("</table>")[0]
    return [re.findall(r"<t[hd][^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</t[hd]>", line) for line in table.split("<tr>")[1:]]


def test_figures_of_each_system_and_which_ones_no_other_beats(tmp_path):
    fm.report(RUNS, tmp_path / "r.html")
    head, *lines = table_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert head == ["system", "token_f1", "hallucination", "total_tokens", "latency_ms (p50)",
                    "latency_ms (p95)", "not beaten"]  # fmt: skip
    p95 = float(np.percentile([10.0, 20.0, 90.0], 95))
    assert lines[0] == ["small", "0.4000", "0.1000", "100", "20", number(p95), "✓"]
    assert [line[-1] for line in lines] == ["✓", "✓", ""]


def test_a_column_of_prices_is_the_cost_where_the_runs_have_one(tmp_path):
    runs = {name: run_.append_column("cost_usd", pa.array([0.25, 0.5, None])) for name, run_ in RUNS.items()}
    runs["free"] = RUNS["small"]
    fm.report(runs, tmp_path / "r.html")
    head, *lines = table_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert ("cost_usd" in head, len(lines)) == (True, 3)
    assert lines[0][head.index("cost_usd")] == "0.3750"
    assert "Systems without these columns: 1." in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "runs",
    [
        {"one": RUNS["small"]},
        {name: table.select(["id", "token_f1"]) for name, table in RUNS.items()},
        {name: table.select(["id", "total_tokens", "latency_ms"]) for name, table in RUNS.items()},
        {"a": RUNS["small"], "b": RUNS["beaten"].select(["id", "token_f1"])},
        {"a": RUNS["small"], "empty": RUNS["small"].slice(0, 0)},
        {"a": RUNS["small"], "b": RUNS["small"].select(["id", "token_f1"]).append_column("cost", pa.array(["x"] * 3))},
    ],
)  # fmt: skip
def test_without_two_systems_with_costs_and_scores_there_is_no_page(tmp_path, runs):
    fm.report(runs, tmp_path / "r.html")
    assert '<section id="tradeoffs"' not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_costs_of_no_row_leave_a_gap(tmp_path):
    unknown = run(0.9, 0.1, 100.0, [None, None, None])
    unknown = unknown.set_column(unknown.column_names.index("latency_ms"), "latency_ms", pa.nulls(3, pa.float64()))
    fm.report({"a": RUNS["small"], "unknown": unknown}, tmp_path / "r.html")
    lines = table_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert lines[2][4:6] == ["–", "–"]
