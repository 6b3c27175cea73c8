"""The three worst rows on the overview: with their texts, one click from all, and ties that are told."""

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


def worst(page) -> tuple[str, list[tuple[str, str, str]], list[list[tuple[str, str]]], tuple[str, str]] | None:
    """What the rows are of, the address, id and value of each row, its texts by title, and the last link."""
    text = html.unescape(page.read_text(encoding="utf-8"))
    found = re.search(r'<h3>The worst rows by (.*?)</h3>\s*<ol class="worst.*?>(.*?)</ol>\s*(.*?)</p>', text, re.S)
    if found is None:
        return None
    rows = re.findall(r'<p><a href="(.*?)"><bdi>(.*?)</bdi></a> <strong>(.*?)</strong>', found.group(2))
    titled = r'<h4>(.*?)</h4><p class="(?:text|note)".*?>(.*?)</p>'
    texts = [
        [(re.sub("<.*?>", "", title), text) for title, text in re.findall(titled, line, re.S)]
        for line in found.group(2).split("<li>")[1:]
    ]
    return re.sub("<.*?>", "", found.group(1)), rows, texts, re.findall('<a href="(.*?)">(.*?)</a>', found.group(3))[0]


def test_the_rows_that_fell_most_are_named_with_their_ties_in_the_order_of_the_file(tmp_path):
    fm.report({"new": run(NEW)}, tmp_path / "r.html", baseline=run(OLD), texts={"id": ["q0"], "question": ["?"]})
    name, rows, texts, more = worst(tmp_path / "r.html")
    assert name == "token_f1: new, against run 1"
    assert texts == [[], [("question", "?")], []]
    assert [row[1:] for row in rows] == [("q20", "-0.4000"), ("q0", "-0.2500"), ("q5", "-0.2500")]
    assert [row[0] for row in rows] == [f"#page=rows&metric=0&row={at}" for at in (20, 0, 5)]
    assert more == ("#page=rows&metric=0", "+ 7 more with -0.2500")


def test_a_system_alone_has_its_lowest_scores(tmp_path):
    scores = np.linspace(1, 0.02, ROWS)
    fm.report({"new": run(scores)}, tmp_path / "r.html")
    name, rows, _, more = worst(tmp_path / "r.html")
    assert name == "token_f1"
    assert [row[1] for row in rows] == ["q49", "q48", "q47"]
    assert more[1] == labels("en")["all_worst"]


def test_lower_is_better_turns_the_order(tmp_path):
    table = pa.table({"id": [f"q{at}" for at in range(ROWS)], "hallucination": np.linspace(0, 1, ROWS)})
    fm.report({"new": table}, tmp_path / "r.html")
    assert [row[1] for row in worst(tmp_path / "r.html")[1]] == ["q49", "q48", "q47"]


@pytest.mark.parametrize("rows", ["sample", "all"])
def test_of_several_systems_the_rows_are_those_of_the_leading_one(tmp_path, rows):
    """Those in which it falls behind the first, with the answers of all; of the first one, its own lowest."""
    better = np.where(np.arange(ROWS) == 7, 0.25, OLD + 0.25)
    texts = {"question": "Who?", "reference": "Ann"}
    runs = {
        name: pa.table(
            {"id": [f"q{at}" for at in range(ROWS)], **{key: [one] * ROWS for key, one in texts.items()},
             "answer": [None if at == 7 and name == "a" else name for at in range(ROWS)], "token_f1": values}
        )
        for name, values in {"a": OLD, "b": NEW, "c": better}.items()
    }  # fmt: skip
    fm.report(runs, tmp_path / "r", rows=rows)
    page = tmp_path / "r" / "report.html" if rows == "all" else tmp_path / "r"
    name, shown, [beside], _ = worst(page)
    assert (name, shown) == (
        "token_f1: c, against a",
        [("#page=rows&metric=0&system=2&against=0&row=7", "q7", "-0.2500")],
    )
    answers = [("answer: a", "no answer"), ("answer: b", "b"), ("answer: c", "c")]
    assert beside == [("question", "Who?"), *answers, ("reference", "Ann")]
    fm.report({"c": runs["c"], "a": runs["a"]}, tmp_path / "r", rows=rows, baseline="c", overwrite=True)
    name, shown, *_ = worst(page)
    assert (name, [row[1:] for row in shown]) == ("token_f1: a, against c", [(f"q{at}", "-0.2500") for at in range(3)])
    fm.report({**runs, "same": runs["c"]}, tmp_path / "r", rows=rows, baseline="c", overwrite=True)
    name, shown, _, more = worst(page)
    assert (name, [row[1] for row in shown]) == ("token_f1: c", ["q7", "q0", "q1"])
    assert more[1] == "+ 47 more with 0.7500"


def test_rows_that_are_all_alike_have_no_worst(tmp_path):
    fm.report({"new": run(OLD)}, tmp_path / "r.html")
    assert worst(tmp_path / "r.html") is None


def test_rows_of_the_page_alone_are_linked(tmp_path, monkeypatch):
    monkeypatch.setattr("fastmetrics.reporting.page_rows.BUDGET", 400)
    fm.report({"new": run(NEW)}, tmp_path / "r.html", baseline=run(OLD))
    present = {row["at"] for row in read(tmp_path / "r.html")[2]["rows"]}
    linked = {int(row[0].rpartition("=")[2]) for row in worst(tmp_path / "r.html")[1]}
    assert linked <= present
    assert len(present) < ROWS


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_and_missing_scores(tmp_path, n):
    table = pa.table({"id": pa.array(map(str, range(n)), pa.string()), "token_f1": pa.array([None] * n, pa.float64())})
    fm.report({"new": table}, tmp_path / "r.html", baseline=table)
    assert worst(tmp_path / "r.html") is None


def test_hostile_ids_are_text(tmp_path):
    ids = [f"{at} {HOSTILE[at % 8]}" for at in range(ROWS)]
    fm.report({HOSTILE[0]: run(NEW, ids)}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    _, rows, *_ = worst(tmp_path / "r.html")
    assert rows[0][1] == visible(ids[20])
