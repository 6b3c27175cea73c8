"""Calls that go wrong: every fault of a server, retries, budgets, and what is asked again."""

from __future__ import annotations

import json
import math
import re

import pytest

import fastmetrics as fm
from fastmetrics.errors import ServiceError
from tests.judge_server import FAULTS, drawn, judge_server, shares, user_message
from tests.program import jsonl, program


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path, count, start=0):
    """So many questions with answers, as JSON lines."""
    rows = ({"id": n, "question": f"question {n}?", "answer": f"answer {n}"} for n in range(start, start + count))
    return jsonl(path, *rows)


def judged(folder, judge, path, name="o", **more):
    """The rows of a file judged with little patience, as dicts, and the run."""
    output = {key: more.pop(key) for key in ("resume", "overwrite") if key in more}
    usual = {"store": folder / "s.sqlite", "timeout": 1.0, "pause": 0.01, "base_url": judge.url, **more}
    made = fm.judge_files(path, folder / f"{name}.jsonl", fm.JudgeSettings("safety", "m", **usual), **output)
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    return rows, made


def number_in(text):
    """Which question this is."""
    return int(re.findall(r"question (\d+)[?]", text)[0])


def statuses(rows):
    """The status of each row."""
    return [row["judge_safety_status"] for row in rows]


def test_five_percent_of_every_fault_and_every_row_has_a_score_or_a_status(tmp_path):
    path = written(tmp_path / "rows.jsonl", 400)
    draw = shares(FAULTS, 0.05)
    with judge_server(draw=draw) as judge:
        rows, made = judged(tmp_path, judge, path, timeout=2.0)
        faults = {user_message(body): draw(body, 0) for body in judge.bodies}
        assert set(faults.values()) == {None, *FAULTS}
        # on a busy machine a request can time out before the server reads it
        assert 0 <= made.spending.requests - judge.count <= 20
    expected = {"refused": "refused", "truncated": "truncated"}
    texts = {number_in(text): text for text in faults}
    assert len(texts) == 400
    scores = []
    for row in rows:
        text = texts[row["id"]]
        status = expected.get(faults[text] or "", "ok")
        score = 1 + drawn(text, 5) if status == "ok" else None
        assert (row["judge_safety"], row["judge_safety_status"]) == (score, status), faults[text]
        assert (row["judge_safety_repairs"] == "asked again") == (faults[text] == "types")
        scores += [] if score is None else [score]
    figures = made.summary["judge_safety"]
    assert math.isclose(figures.mean, sum(scores) / len(scores))
    lost = 400 - len(scores)
    assert (figures.n, figures.n_error, figures.n_missing) == (len(scores), lost, 0)
    counted = fm.summarize_files(tmp_path / "o.jsonl")["judge_safety"]
    assert (counted.n, counted.n_error, counted.mean) == (figures.n, lost, figures.mean)


@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        ("500", "http", "500: out of order"),
        ("hang", "timeout", "no reply within 0.2 seconds"),
        ("slow", "timeout", "no reply within 0.2 seconds"),
        ("cut", "http", "the connection failed"),
        ("close", "http", "the connection failed"),
        ("broken", "http", "the reply is not a JSON object"),
        ("list", "http", "the reply is not a JSON object: [1, 2]"),
        ("400", "http", "400: maximum context length is 10 tokens"),
        ("filter", "refused", "400: filtered"),
        ("refused", "refused", "I cannot help with that"),
        ("truncated", "truncated", ""),
        ("types", "unparsed", 'no score from 1 to 5 in: {"score": "high", "reason": 7}'),
    ],
)
def test_lasting_failures_have_status_and_reason(tmp_path, fault, status, why):
    path = written(tmp_path / "rows.jsonl", 3)
    one = lambda body, seen: fault if "question 1?" in user_message(body) else None  # noqa: E731
    with judge_server(draw=one) as judge:
        rows, _ = judged(tmp_path, judge, path, timeout=0.2, tries=2, concurrency=1)
        assert statuses(rows) == ["ok", status, "ok"]
        assert (rows[1]["judge_safety"], why in (rows[1]["judge_safety_reason"] or "")) == (None, True)
        tries = 1 if status in ("refused", "truncated") or fault == "400" else 2
        assert judge.count == 2 + tries
        judge.draw = lambda body, seen: None
        again, _ = judged(tmp_path, judge, path, overwrite=True)
        asked = judge.count - 2 - tries
    if status in ("http", "timeout"):
        assert (statuses(again), asked) == (["ok"] * 3, 1)
    else:
        assert (again, asked) == (rows, 0)


def test_replies_that_hold_no_score_are_asked_again_only_on_request(tmp_path):
    path = written(tmp_path / "rows.jsonl", 6)
    faults = ("refused", "truncated", "types", None, None, None)
    with judge_server(draw=lambda body, seen: faults[number_in(user_message(body))]) as judge:
        first, _ = judged(tmp_path, judge, path)
        assert statuses(first) == ["refused", "truncated", "unparsed", "ok", "ok", "ok"]
        judge.draw = lambda body, seen: None
        for retry, changed in (("refused", [0]), (["unparsed", "truncated"], [1, 2]), (["refused"], [])):
            before = judge.count
            rows, _ = judged(tmp_path, judge, path, overwrite=True, retry=retry)
            assert judge.count - before == len(changed)
            assert all(statuses(rows)[place] == "ok" for place in changed)
        assert statuses(rows) == ["ok"] * 6


@pytest.mark.parametrize("kind", ["429", "429-after", "429-date"])
def test_refusals_for_too_many_requests_are_no_failures(tmp_path, kind):
    path = written(tmp_path / "rows.jsonl", 10)
    with judge_server(faults=[kind] * 25) as judge:
        rows, made = judged(tmp_path, judge, path, tries=1, concurrency=4)
        assert (statuses(rows), judge.count) == (["ok"] * 10, 35)
        assert dict(made.spending.failures) == {}


@pytest.mark.parametrize(
    ("fault", "message", "most"),
    [
        ("401", "refuses all calls: 401: wrong key", 8),
        ("404", "refuses all calls: 404: the model `nobody` does not exist", 8),
        ("quota", "refuses all calls: 429: you have no money left", 8),
        ("500", "no reply to 20 requests: 500: out of order", 40),
        ("close", "no reply to 20 requests: the connection failed", 40),
        ("400", "20 consecutive calls failed: 400: maximum context length", 40),
    ],
)
def test_run_with_failures_only_exits_with_code_7(tmp_path, fault, message, most):
    path = written(tmp_path / "rows.jsonl", 500)
    with judge_server(draw=lambda body, seen: fault) as judge:
        settings = ["--model", "m", "--base-url", judge.url, "--rubric", "safety", "--store", tmp_path / "s.sqlite"]
        done = program("judge", path, "-o", tmp_path / "o.parquet", *settings, "--concurrency", 8, "--timeout", 5)
        assert (done.code, done.out, message in done.err) == (7, "", True), done.err
        assert judge.count <= most
        assert not (tmp_path / "o.parquet").exists()
        judge.draw = lambda body, seen: None
        rows, _ = judged(tmp_path, judge, path)
        assert statuses(rows) == ["ok"] * 500


def test_later_server_failure_keeps_replies(tmp_path):
    path = written(tmp_path / "rows.jsonl", 300)
    with judge_server(draw=lambda body, seen: "500" if judge.count > 100 else None) as judge:
        with pytest.raises(ServiceError, match="20 consecutive calls failed: 500: out of order"):
            judged(tmp_path, judge, path, concurrency=8)
        judge.draw, before = (lambda body, seen: None), judge.count
        rows, made = judged(tmp_path, judge, path, resume=True)
        assert (statuses(rows), judge.count - before) == (["ok"] * 300, 200)
        assert made.spending.found == 100


def test_structured_output_falls_back_to_plain_requests(tmp_path):
    path = written(tmp_path / "rows.jsonl", 20)
    with judge_server(draw=lambda body, seen: "format" if "response_format" in body else None) as judge:
        rows, made = judged(tmp_path, judge, path, concurrency=2)
        assert (statuses(rows), made.spending.unstructured) == (["ok"] * 20, True)
        assert judge.count <= 22
        judged(tmp_path, judge, path, "again")
        assert judge.count <= 22


def test_budget_limits_calls_and_cost(tmp_path):
    path = written(tmp_path / "rows.jsonl", 50)
    prices = {"m": {"input": 100.0, "output": 1000.0}}  # 0.01 + 0.02 per call
    with judge_server() as judge:
        rows, made = judged(tmp_path, judge, path, max_calls=20)
        assert (judge.count, made.spending.ended) == (20, True)
        assert sorted(statuses(rows)) == ["budget"] * 30 + ["ok"] * 20
        assert made.summary["judge_safety"].n_error == 30
        rows, made = judged(tmp_path, judge, path, max_cost=0.6, prices=prices, concurrency=3, overwrite=True)
        spent = made.spending
        assert (spent.found, judge.count) == (20, 20 + spent.requests)
        assert 0.03 <= spent.cost <= 0.6
        assert spent.cost == pytest.approx(0.03 * spent.replies)
        rows, made = judged(tmp_path, judge, path, overwrite=True)
        assert (statuses(rows), judge.count, made.spending.ended) == (["ok"] * 50, 50, False)


def test_retries_count_as_calls(tmp_path):
    path = written(tmp_path / "rows.jsonl", 5)
    with judge_server(draw=lambda body, seen: "500" if seen == 0 else None) as judge:
        rows, made = judged(tmp_path, judge, path, max_calls=7, concurrency=1)
        assert (judge.count, made.spending.requests) == (7, 7)
        assert statuses(rows) == ["ok"] * 3 + ["budget"] * 2


def test_dry_run_predicts_the_run(tmp_path):
    path = written(tmp_path / "rows.jsonl", 12)
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n")
    with judge_server() as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubric", "safety", "--store", tmp_path / "s.sqlite"]
        dry = ["judge", path, *common, "--dry-run", "--repeats", 2]
        done = program(*dry)
        assert (done.code, judge.count) == (0, 0)
        assert done.out.startswith("12 rows: 24 calls to make, 0 already stored\n")
        assert "and 2,880 completion tokens; cost unknown: no prices given" in done.out
        assert program("judge", path, "-o", tmp_path / "o.csv", *common, "--sample", 5).code == 0
        assert judge.count == 5
        priced = program(*dry, "--prices", tmp_path / "prices.toml").out
        assert priced.startswith("12 rows: 19 calls to make, 5 already stored\n")
        assert "by the table of prices" in priced
        assert program(*dry, "--sample", 3).out.startswith("3 rows: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[n]\ninput = 1\noutput = 1", "unknown model 'm'"),
        ("[m]\ninput = 1", "the price of 'm': expected"),
        ("[m]\ninput = -1\noutput = 1", "the price of 'm': expected"),
        ("m = 3", "the price of 'm': expected"),
        ("[m", "not a table of prices"),
    ],
)
def test_invalid_price_tables_raise(tmp_path, text, message):
    path = written(tmp_path / "rows.jsonl", 1)
    (tmp_path / "p.toml").write_text(text)
    arguments = ["--model", "m", "--rubric", "safety", "--dry-run", "--prices", tmp_path / "p.toml"]
    done = program("judge", path, *arguments)
    assert (done.code in (2, 3), message in done.err) == (True, True), done.err
