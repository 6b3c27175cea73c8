"""Values per query of several rankings in one file, which other functions read as runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

import fastmetrics as fm

QRELS = {f"q{n}": {"d1": 1} for n in range(30)}
GOOD = {f"q{n}": {"d1": 2.0, "d2": 1.0} for n in range(30)}
POOR = {f"q{n}": {"d1": 1.0, "d2": 2.0} for n in range(1, 30)}


def test_the_rankings_are_runs_of_one_file(tmp_path: Path) -> None:
    report = fm.rank({"good": GOOD, "poor": POOR}, QRELS, "mrr", output=tmp_path / "q.parquet")
    table = pq.read_table(tmp_path / "q.parquet")
    assert table.column_names == ["ranking", "query_id", "mrr"]
    assert table["ranking"].to_pylist() == ["good"] * 30 + ["poor"] * 30
    assert table.replace_schema_metadata().equals(report.per_query.replace_schema_metadata())
    for name, result in report.results.items():
        rows = table.filter(table["ranking"].to_numpy(zero_copy_only=False) == name).drop_columns("ranking")
        assert rows.replace_schema_metadata().equals(result.per_query.replace_schema_metadata())
    (pair,) = fm.compare(tmp_path / "q.parquet", system="ranking").comparisons
    (direct,) = fm.results.compare_rankings({"good": GOOD, "poor": POOR}, QRELS, "mrr").comparisons
    assert (pair.delta, pair.p, pair.n_paired) == (direct.delta, direct.p, 30)
    assert fm.summarize(tmp_path / "q.parquet")["mrr"].n == 60


def test_one_ranking_in_a_list_has_no_column_of_its_name(tmp_path: Path) -> None:
    fm.rank({"good": GOOD}, QRELS, "mrr", output=tmp_path / "q.parquet")
    assert pq.read_table(tmp_path / "q.parquet").column_names == ["query_id", "mrr"]


def test_queries_that_are_left_out_are_null_in_each_ranking(tmp_path: Path) -> None:
    fm.rank({"good": GOOD, "poor": POOR}, QRELS, "mrr", missing="skip", output=tmp_path / "q.csv")
    table = fm.rank({"good": GOOD, "poor": POOR}, QRELS, "mrr", missing="skip").per_query
    assert table["mrr"].null_count == 1
    summary = fm.summarize(tmp_path / "q.csv")["mrr"]
    assert (summary.n, summary.n_missing) == (59, 1)
