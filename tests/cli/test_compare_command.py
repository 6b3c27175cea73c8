"""The command ``compare``: the tables and formats that it prints, and its errors."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.results.test_comparison import NEW, OLD, SMALL
from tests.support.program import program


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(OLD, "old.parquet")
    pq.write_table(NEW, "new.parquet")


def test_the_program_prints_tables_json_markdown_and_latex(files):
    arguments = ("compare", "old.parquet", "new.parquet", "--by", "language", "--names", "old,new")
    text = program(*arguments)
    assert text.code == 0
    assert all(len(line) <= 80 for line in text.out.split("rows paired")[0].splitlines())
    assert text.out == str(fm.compare({"old": OLD, "new": NEW}, by="language")) + "\n"
    told = json.loads(program(*arguments, "--json", "--threads", "1").out)
    assert told == json.loads(fm.compare({"old": OLD, "new": NEW}, by="language").to_json())
    verdict, _, table = program(*arguments, "--markdown").out.partition("\n\n")
    assert verdict == "**new is better than old (token_f1 0.5086 → 0.5656)**"
    assert table.startswith("| metric | verdict | old | new | Δ | interval | p |\n| --- |")
    assert program(*arguments, "--latex").out.startswith("\\begin{tabular}{llr}")


@pytest.mark.slow
def test_runs_with_equal_names_are_shown_by_path(files):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        pq.write_table(NEW, f"{folder}/scores.parquet")
    found = fm.compare(["a/scores.parquet", "b/scores.parquet", "old.parquet", "old.parquet"], **SMALL)
    assert list(found.systems) == ["a/scores.parquet", "b/scores.parquet", "old.parquet", "old.parquet (2)"]


@pytest.mark.parametrize(
    ("command", "again"),
    [
        (("compare", "old.parquet", "new.parquet", "--by", "language", "--tests", "t"), ("--by", "language")),
        (("compare", "old.parquet", "new.parquet", "--by", "language", "--tests", "t"), ("--tests", "t")),
        (("compare", "old.parquet", "new.parquet", "--tests", "t"), ("--tests", "t,t")),
        (("summarize", "--intervals", "old.parquet", "--by", "language"), ("--by", "language,language")),
    ],
)
def test_a_column_or_a_test_that_is_given_twice_counts_once(files, command, again):
    once, twice = program(*command, "--json"), program(*command, *again, "--json")
    assert (once.code, twice.code) == (0, 0)
    assert json.loads(twice.out) == json.loads(once.out)
