"""The answers of all systems beside each other: matched by id, those that are kept, of a sample and of all rows."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import fastmetrics as fm
from tests.reporting.test_report import HOSTILE, read


def run(name: str, ids: list[str], **columns) -> pa.Table:
    answers = [None if id_ == "q3" else f"{name} {id_} {HOSTILE[0]}" for id_ in ids]
    return pa.table({"id": ids, "token_f1": [0.5] * len(ids), "answer": answers, **columns})


RUNS = {
    "first": run("first", ["q1", "q2", "q3"], language=["en", "ru", "en"]),
    "second": run("second", ["q3", "q1", "q9", "q2"]),
    "silent": run("silent", ["q1", "q2", "q3"]).drop_columns("answer"),
    "third": run("third", ["q2", "q1"]),
}
EXPECTED = {
    "q1": [["second", f"second q1 {HOSTILE[0]}"], ["third", f"third q1 {HOSTILE[0]}"]],
    "q2": [["second", f"second q2 {HOSTILE[0]}"], ["third", f"third q2 {HOSTILE[0]}"]],
    "q3": None,
}


@pytest.mark.parametrize("every", [False, True])
def test_answers_of_the_other_systems_are_matched_by_id(tmp_path, every):
    out = tmp_path / ("pages" if every else "r.html")
    fm.report(RUNS, out, rows="all" if every else "sample", by="language")
    if every:
        written = (out / "rows" / "texts-0.js").read_text(encoding="utf-8")
        rows = dict(
            zip(("q1", "q2", "q3"), json.loads(written.partition(",")[2].removesuffix(");\n"))["rows"], strict=True)
        )
    else:
        rows = {row["id"]: row for row in read(out)[2]["rows"]}
    assert {id_: row.get("o") for id_, row in rows.items()} == EXPECTED
    assert [rows[id_]["g"] for id_ in ("q1", "q2", "q3")] == [[0], [1], [0]]


def test_the_baseline_is_not_among_the_other_systems(tmp_path):
    others = {name: table for name, table in RUNS.items() if name != "second"}
    fm.report(others, tmp_path / "r.html", baseline=RUNS["second"])
    rows = {row["id"]: row for row in read(tmp_path / "r.html")[2]["rows"]}
    assert rows["q1"]["other"] == f"second q1 {HOSTILE[0]}"
    assert [name for name, _ in rows["q1"]["o"]] == ["third"]


def test_one_system_has_no_other_answers(tmp_path):
    fm.report(RUNS["first"], tmp_path / "r.html")
    assert all("o" not in row for row in read(tmp_path / "r.html")[2]["rows"])
