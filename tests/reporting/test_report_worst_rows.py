"""The worst rows of each system on the overview: one click from the verdict, with ties that are told."""

from __future__ import annotations

import html
import re

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import visible
from fastmetrics.reporting.labels import labels
from tests.reporting.test_report import HOSTILE, read

ROWS = 50


def run(values: np.ndarray, ids: list[str] | None = None) -> pa.Table:
    return pa.table({"id": ids or [f"q{at}" for at in range(ROWS)], "token_f1": values})


OLD = np.full(ROWS, 0.5)
NEW = np.where(np.arange(ROWS) == 20, 0.1, np.where(np.arange(ROWS) % 5 == 0, 0.25, 0.5))


def worst(page) -> list[tuple[str, list[tuple[str, str, str]], tuple[str, str]]]:
    """For each system its name, the address, id and value of each row, and the last link."""
    text = html.unescape(page.read_text(encoding="utf-8"))
    found = re.search(r'<ul class="worst">(.*?)</ul>', text, re.S)
    lines = []
    for line in re.findall("<li>(.*?)</li>", found.group(1), re.S) if found else ():
        name = re.match(r"\s*(?:<span>(.*?):</span>)?", line, re.S).group(1) or ""
        rows = re.findall(r'<a href="(.*?)"><bdi>(.*?)</bdi> <span class="value">(.*?)</span></a>', line)
        lines.append((re.sub("<.*?>", "", name), rows, re.findall(r'class="more" href="(.*?)">(.*?)<', line)[0]))
    return lines


def test_the_rows_that_fell_most_are_named_with_their_ties_in_the_order_of_the_file(tmp_path):
    fm.report({"new": run(NEW)}, tmp_path / "r.html", baseline=run(OLD), texts={"id": ["q0"], "question": ["?"]})
    [(name, rows, more)] = worst(tmp_path / "r.html")
    assert name == "new, against run 1"
    assert [row[1:] for row in rows] == [("q20", "-0.4000"), ("q0", "-0.2500"), ("q5", "-0.2500")]
    assert [row[0] for row in rows] == [f"#page=rows&metric=0&row={at}" for at in (20, 0, 5)]
    assert more == ("#page=rows&metric=0", "+ 7 more with -0.2500")
    assert f">{labels('en')['worst_note']}<" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_system_alone_has_its_lowest_scores(tmp_path):
    scores = np.linspace(1, 0.02, ROWS)
    fm.report({"new": run(scores)}, tmp_path / "r.html")
    [(name, rows, more)] = worst(tmp_path / "r.html")
    assert name == ""
    assert [row[1] for row in rows] == ["q49", "q48", "q47"]
    assert more[1] == labels("en")["all_worst"]
    assert f">{labels('en')['worst_note']}<" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_lower_is_better_turns_the_order(tmp_path):
    table = pa.table({"id": [f"q{at}" for at in range(ROWS)], "hallucination": np.linspace(0, 1, ROWS)})
    fm.report({"new": table}, tmp_path / "r.html")
    assert [row[1] for row in worst(tmp_path / "r.html")[0][1]] == ["q49", "q48", "q47"]


@pytest.mark.parametrize("rows", ["sample", "all"])
def test_each_of_several_systems_has_its_worst_rows(tmp_path, rows):
    first = np.where(np.arange(ROWS) == 7, 0.4, OLD)
    systems = {"a": first, "b": NEW, "c": np.where(np.arange(ROWS) == 33, 0.0, 0.5), "same": first}
    runs = {name: run(values) for name, values in systems.items()}
    fm.report(runs, tmp_path / "r", rows=rows)
    page = tmp_path / "r" / "report.html" if rows == "all" else tmp_path / "r"
    lines = {name: (shown, more) for name, shown, more in worst(page)}
    assert list(lines) == ["a", "b, against a", "c, against a", "same"]
    assert lines["b, against a"][0][0][1:] == ("q20", "-0.4000")
    assert lines["c, against a"][0] == [("#page=rows&metric=0&system=2&against=0&row=33", "q33", "-0.5000")]
    assert [row[1:] for row in lines["same"][0]] == [("q7", "0.4000"), ("q0", "0.5000"), ("q1", "0.5000")]
    assert lines["same"][1] == ("#page=rows&metric=0&system=3", "+ 47 more with 0.5000")


def test_rows_that_are_all_alike_have_no_worst(tmp_path):
    fm.report({"new": run(OLD)}, tmp_path / "r.html")
    assert worst(tmp_path / "r.html") == []


def test_rows_of_the_page_alone_are_linked(tmp_path, monkeypatch):
    monkeypatch.setattr("fastmetrics.reporting.page_rows.BUDGET", 400)
    fm.report({"new": run(NEW)}, tmp_path / "r.html", baseline=run(OLD))
    present = {row["at"] for row in read(tmp_path / "r.html")[2]["rows"]}
    linked = {int(row[0].rpartition("=")[2]) for line in worst(tmp_path / "r.html") for row in line[1]}
    assert linked <= present
    assert len(present) < ROWS


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_and_missing_scores(tmp_path, n):
    table = pa.table({"id": pa.array(map(str, range(n)), pa.string()), "token_f1": pa.array([None] * n, pa.float64())})
    fm.report({"new": table}, tmp_path / "r.html", baseline=table)
    assert worst(tmp_path / "r.html") == []


def test_hostile_ids_are_text(tmp_path):
    ids = [f"{at} {HOSTILE[at % 8]}" for at in range(ROWS)]
    fm.report({HOSTILE[0]: run(NEW, ids)}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    [(_, rows, _)] = worst(tmp_path / "r.html")
    assert rows[0][1] == visible(ids[20])
