"""The scores of a judge by a rubric of the user's: a metric wherever a metric may stand."""

import pickle
import re

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError
from fastmetrics.metrics.judge_scores import JudgedMetric
from fastmetrics.models.call_setup import RUBRICS
from tests.support.judge_server import judge_server
from tests.support.program import program

COMPLETE = """
name = "complete"
version = 1
language = "en"
range = [1, 5]
instructions = "Rate how complete the answer is."
template = "{question} {answer}"
[grades]
1 = "empty"
5 = "complete"
"""
ROWS = {
    "id": [1, 2, 3],
    "question": ["Where?", "When?", "Who?"],
    "answer": ["in Rome", "in May", None],
    "reference": ["Rome", "in May", "Ann"],
}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """A table and a file with the scores of an own rubric."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "complete.toml").write_text(COMPLETE)
    with judge_server() as judge:
        settings = fm.models.JudgeSettings("complete.toml", "m", base_url=judge.url, store=tmp_path / "s.sqlite")
        table = fm.judge(ROWS, settings, keep=["answer", "reference"])
        fm.judge(ROWS, settings, keep=["answer", "reference"], output="judged.parquet")
    return table


def test_a_judged_column_is_a_metric_with_the_range_of_its_rubric(judged, tmp_path):
    expected = judged["judge_complete"].to_pylist()
    assert expected[2] is None
    for table in (judged, "judged.parquet"):
        scored = fm.score(table, "token_recall,judge_complete")
        assert scored["judge_complete"].to_pylist() == expected
        assert fm.summarize(scored)["judge_complete"].n == 2
    done = program("score", "judged.parquet", "-m", "token_recall,judge_complete", "-o", "scores.csv")
    assert done.code == 0, done.err
    assert "judge_complete" in done.out
    assert program("gate", "scores.csv", "--require", "judge_complete.n >= 1 with n >= 1").code == 0
    worst = fm.gate("scores.csv", "judge_complete >= 1 with n >= 1")[0]
    assert (worst.n_worst, worst.value) == (1, pytest.approx((sum(expected[:2]) + 1) / 3))  # 1: the lowest of the range


def test_a_judged_column_is_checked_like_that_of_a_built_in_rubric(judged):
    with pytest.raises(ColumnError, match="judge_complet is a column of scores that judge writes for a rubric"):
        fm.score(judged, "judge_complet")
    outside = judged.set_column(judged.schema.get_field_index("judge_complete"), "judge_complete", [[1.0, 9.0, None]])
    with pytest.raises(
        InputError, match="column 'judge_complete': expected scores from 1 to 5, as of the rubric complete"
    ):
        fm.score(outside, "judge_complete")
    assert fm.score({"judge_other": [0.5, 70]}, "judge_other")["judge_other"].to_pylist() == [0.5, 70.0]
    metric = pickle.loads(pickle.dumps(JudgedMetric.of("judge_complete", (1.0, 5.0))))
    assert (metric.name, metric.bounds, metric.better) == ("judge_complete", (1.0, 5.0), "higher")


def test_two_systems_are_compared_by_an_own_rubric(judged):
    fm.score("judged.parquet", "token_recall,judge_complete", output="scores.parquet")
    better = judged.set_column(judged.schema.get_field_index("judge_complete"), "judge_complete", [[5.0, 5.0, 5.0]])
    fm.score(better, "token_recall,judge_complete", output="better.parquet")
    pair = fm.compare(["scores.parquet", "better.parquet"], metrics="judge_complete")["judge_complete"]
    assert (pair.n_paired, pair.wins + pair.ties) == (2, 2)  # the direction of every rubric
    assert "judge_complete" in pq.read_schema("better.parquet").names


def test_help_lists_the_rubrics_that_there_are():
    listed = {line.split()[0] for line in program("judge", "rubrics").out.splitlines()}
    assert listed == set(re.findall(r"(?:Rubrics: |, )([a-z_0-9]+)", RUBRICS)) - {"or"}
