"""Every output of a gate names the kind of interval and the number of rows of each check; so do LaTeX tables."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.program import program


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
