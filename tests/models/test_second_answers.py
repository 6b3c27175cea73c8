"""Judging the answers of two tables against each other, joined by id."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError, OutputError
from fastmetrics.models.dry_run import estimate_judging
from tests.support.judge_server import judge_server, user_message
from tests.support.program import jsonl, program

OLD = [
    {"id": 1, "question": "q1", "answer": "a long answer"},
    {"id": 2, "question": "q2", "answer": "brief"},
    {"id": 3, "question": "q3", "answer": "equal"},
    {"id": 4, "question": "q4", "answer": "only here"},
]
NEW = [
    {"id": "3", "question": "q3", "output": "equal"},
    {"id": "2", "question": "q2", "output": "a longer answer"},
    {"id": "1", "question": "q1", "output": "short"},
    {"id": "5", "question": "q5", "output": "only there"},
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def longer(body):
    """The verdict of a judge that prefers the longer answer."""
    first, second = (
        len(user_message(body).partition(f"<{name} id=")[2].partition("</")[0]) for name in ("first", "second")
    )
    return json.dumps({"reason": "the longer", "better": "first" if first > second else "second"})


@pytest.fixture
def files(tmp_path):
    return jsonl(tmp_path / "old.jsonl", *OLD), jsonl(tmp_path / "new.jsonl", *NEW)


SCORES, STATUSES = [1.0, 0.0, 0.5, None], ["ok", "ok", "identical", "missing"]


@pytest.mark.parametrize("form", ["paths", "tables", "named"])
def test_the_second_answers_are_joined_by_id(tmp_path, files, form):
    tables = list(files) if form == "paths" else [OLD, pa.Table.from_pylist(NEW)]
    tables = dict(zip(("old", "new"), tables, strict=True)) if form == "named" else tables
    with judge_server(reply=longer) as judge:
        settings = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        made = fm.judge(tables, "preference", pairwise=True, keep="other_answer", **settings)
        assert judge.count == 4
    assert made["judge_preference"].to_pylist() == SCORES
    assert made["judge_preference_status"].to_pylist() == STATUSES
    assert made["other_answer"].to_pylist() == ["short", "a longer answer", "equal", None]
    (axis,) = fm.judge_report(made).axes
    first, second = ("table 1", "table 2") if form == "tables" else ("old", "new")
    assert (axis.systems, axis.orders.n, axis.orders.win_rate.value) == ((first, second), 3, 0.5)


def test_the_command_compares_two_files(tmp_path, files, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with judge_server(reply=longer) as judge:
        options = ("--rubrics", "preference", "--model", "m", "--base-url", judge.url, "--store", "s.sqlite")
        words = ("judge", "run", "--pairwise", "old.jsonl", "new.jsonl", *options)
        assert "4 rows: 4 calls to make" in program(*words, "--dry-run").out
        settings = fm.models.JudgeSettings("preference", "m", base_url=judge.url, store="s.sqlite")
        assert estimate_judging(["old.jsonl", "new.jsonl"], settings, pairwise=True).calls == 4
        refused = program(*words, "-o", "new.jsonl", "--overwrite")
        assert (refused.code, refused.err) == (4, "error: new.jsonl is an input; write to another name\n")
        assert program(*words, "-o", "judged.parquet").code == 0
        assert judge.count == 4
    judged = pq.read_table("judged.parquet")
    assert judged["judge_preference"].to_pylist() == SCORES
    shown = program("judge", "report", "judged.parquet").out
    assert "wins are those of old over new" in shown


def test_a_changed_second_table_is_another_run(tmp_path, files):
    with judge_server(reply=longer) as judge:
        settings = fm.models.JudgeSettings("preference", "m", base_url=judge.url, store=tmp_path / "s.sqlite")
        fm.judge(list(files), settings, pairwise=True, output=tmp_path / "o.parquet")
        jsonl(files[1], *[{**row, "output": row["output"] + "!"} for row in NEW])
        fm.judge(list(files), settings, pairwise=True, output=tmp_path / "o.parquet", overwrite=True)
        assert judge.count > 4
    assert pq.read_table(tmp_path / "o.parquet")["judge_preference_status"].to_pylist() == ["ok", "ok", "ok", "missing"]


@pytest.mark.parametrize(
    ("second", "error", "message"),
    [
        ([NEW[0], NEW[0]], InputError, "new: expected unique ids, but '3' occurs twice"),
        ([{"id": 1, "question": "other", "answer": "a"}], InputError, "id '1': the two tables ask different questions"),
        ([{"question": "q1", "answer": "a"}], ColumnError, "new has no column 'id'"),
        ([{"id": 1, "question": "q1"}], ColumnError, "new has no column 'answer'"),
        ([{"id": 1.5, "answer": "a"}], ColumnError, "column 'id' holds double, not ids"),
    ],
)
def test_second_tables_that_do_not_fit(second, error, message, tmp_path):
    settings = {"model": "m", "base_url": "http://localhost:1/v1", "store": tmp_path / "s", "max_calls": 0}
    with pytest.raises(error, match=message):
        fm.judge({"old": OLD, "new": second}, "preference", pairwise=True, **settings)


def test_what_pairwise_refuses(tmp_path, files):
    settings = {"model": "m", "base_url": "http://localhost:1/v1", "store": tmp_path / "s", "max_calls": 0}
    with pytest.raises(OptionError, match="the rubric 'safety' does not compare two answers"):
        fm.judge(list(files), ["preference", "safety"], pairwise=True, **settings)
    with pytest.raises(OptionError, match="expected two tables of answers, got 1"):
        fm.judge(files[0], "preference", pairwise=True, **settings)
    with pytest.raises(ColumnError, match="old has a column 'other_answer', which is to hold the answers of new"):
        fm.judge({"old": [{**OLD[0], "other_answer": "x"}], "new": NEW}, "preference", pairwise=True, **settings)
    with pytest.raises(OutputError, match="is an input"):
        fm.judge(list(files), "preference", pairwise=True, output=files[1], overwrite=True, **settings)
