"""Every output of a gate names the kind of interval and the number of rows of each check; so do LaTeX tables."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.display import interval
from tests.support.program import program

N = 60
RNG = np.random.default_rng(2)
BEFORE = RNG.beta(4, 2, N)
OLD = {"id": list(range(N)), "token_f1": BEFORE.tolist(), "exact_match": (BEFORE > 0.6).astype(float).tolist()}
NEW = {**OLD, "token_f1": np.clip(BEFORE + RNG.normal(0, 0.05, N), 0, 1).tolist(), "exact_match": [1.0] * N}
RULES = ["token_f1.drop <= 0.1", "exact_match.low >= 0.5", "exact_match.delta.point >= 0", "token_f1 >= 0.1"]
KINDS = ["skew_t", "exact", "bounded", "skew_t"]


def test_table_names_the_kind_and_n_of_every_check():
    found = fm.gate(NEW, RULES, baseline=OLD)
    (grid,) = found.grids()
    assert grid.header == ("rule", "verdict", "value", "n", "no score")
    shown = {row[0]: (row[1], row[3]) for row in grid.rows}
    assert [shown[rule] for rule in RULES] == [("ok", "60")] * 4
    kinds = "95 % intervals: t widened for skewness (token_f1), exact for scores of 0 and 1 (exact_match), "
    assert f"{kinds}the worst case within the bounds (exact_match)" in found.remarks()
    assert "| verdict | value | n |" in found.to_markdown()


def test_json_and_junit_name_the_kind_and_n_of_every_check(tmp_path):
    for name, table in (("old", OLD), ("new", NEW)):
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rules = [part for rule in RULES for part in ("-r", rule)]
    files = (tmp_path / "new.jsonl", "--baseline", tmp_path / "old.jsonl", "--junit", tmp_path / "junit.xml")
    checks = json.loads(program("gate", *files, *rules, "--json", "-").out)["checks"]
    assert [(check["interval"], check["n"]) for check in checks] == [(kind, N) for kind in KINDS]
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot().findall("testcase")
    printed = [str(case.findtext("system-out")) for case in cases]
    words = ["t widened for skewness", "exact for scores", "the worst case within the bounds", "t widened for skewness"]
    for text, kind, check in zip(printed, words, checks, strict=True):
        assert f"95 % interval {interval(check['low'], check['high'])}: {kind}" in text
        assert text.endswith("n = 60")


def test_junit_has_the_notes_and_the_rows_without_a_score():
    scores = {
        **NEW,
        "token_f1": [None, *NEW["token_f1"][1:19], *[None] * (N - 19)],
        "session": [n // 2 for n in range(N)],
    }
    found = fm.gate(scores, "token_f1.drop <= 0.9 with n >= 2", baseline=OLD, cluster="session")
    text = found.to_junit()
    assert "n = 18 in 30 clusters; 42 rows without a score" in text
    few = fm.gate({"token_f1": [0.1, 0.2, 0.4]}, "token_f1.low >= 0 with n >= 2").to_junit()
    assert "unreliable: no kind of interval holds its level for fewer than 5 rows; n = 3" in few


def test_latex_names_the_test_and_the_kind_of_interval():
    latex = fm.compare({"old": OLD, "new": NEW}).to_latex()
    assert "superscripts: better than these systems, by the test fisher, level 0.05" in latex
    assert (
        "95 \\% intervals of differences: t widened for skewness (token\\_f1), the worst case within the bounds"
        in latex
    )


def test_an_unmet_rule_names_its_worst_rows_in_junit():
    failed = fm.gate({"id": [f"q{n}" for n in range(9)], "token_f1": [n / 10 for n in range(9)]}, "token_f1 >= 0.6")
    failure = ElementTree.fromstring(failed.to_junit().split("\n", 1)[1]).find("testcase/failure")
    assert failure.text.startswith("worst: ")
    assert "q0" in failure.text


def test_rows_without_a_score_that_count_as_the_worst_are_named():
    base = {"id": [f"q{n}" for n in range(40)], "token_recall": [1.0] * 40, "lang": ["bad"] * 10 + ["de"] * 30}
    new = {**base, "token_recall": [None] * 10 + [1.0] * 29 + [0.5]}
    drop, mean = fm.gate(new, ["token_recall.drop.point <= 0.02", "token_recall >= 0.95"], baseline=base).checks
    for check in (drop, mean):
        assert check.places.rows == ["q0", "q1", "q2", "q3", "q4"]
        assert check.places.segment.startswith("lang=bad")
    one = fm.gate({**base, "token_recall": [1.0] * 39 + [0.0]}, "token_recall.drop.point <= 0.02", baseline=base)
    assert one.checks[0].places.rows == ["q39"]


def test_three_files_in_one_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": ["![x](http://a.b/c)", *"bcdefgh"], "token_f1": [0.0, *[0.9] * 7]}), "s.parquet")
    files = ("--json", "g.json", "--markdown", "g.md", "--junit", "g.xml")
    done = program("gate", "s.parquet", "-r", "token_f1 >= 0.95", *files)
    assert (done.code, done.out) == (1, str(fm.gate("s.parquet", "token_f1 >= 0.95")) + "\n")
    assert json.loads(Path("g.json").read_text())["passed"] is False
    assert "![x]" in Path("g.md").read_text()
    assert "](" not in Path("g.md").read_text()
    assert ElementTree.parse("g.xml").getroot().get("failures") == "1"
    assert program("gate", "s.parquet", "-r", "token_f1 >= 0.95", "--json", "-", "--markdown", "-").code == 2


@pytest.mark.parametrize(("n", "code"), [(4, 6), (5, 1), (6, 1)])
def test_too_few_rows_have_a_code_of_their_own(tmp_path, n, code):
    pq.write_table(pa.table({"token_f1": [0.1 * row for row in range(n)]}), tmp_path / "s.parquet")
    assert program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9").code == code
    assert program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9", "-r", "token_f1.n >= 100").code == 1


def test_junit_of_an_input_that_cannot_be_read(tmp_path):
    (tmp_path / "s.parquet").write_bytes(b"cut")
    done = program("gate", tmp_path / "s.parquet", "-r", "token_f1 >= 0.9", "--junit", tmp_path / "g.xml")
    assert done.code == 3
    suite = ElementTree.parse(tmp_path / "g.xml").getroot()
    assert (suite.get("errors"), suite.find("testcase/error").get("message")) == ("1", done.err[len("error: ") : -1])
