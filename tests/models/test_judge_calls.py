"""Calls that go wrong: every fault of a server, retries, budgets, and what is asked again."""

import json
import math
import re
from collections import Counter

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, ServiceError
from tests.support.goldens import refused
from tests.support.judge_server import (
    FAULTS,
    client_file,
    completion,
    drawn,
    grade,
    judge_server,
    shares,
    user_message,
    with_client,
)
from tests.support.program import jsonl, program


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path, count, start=0):
    """So many questions with answers, as JSON lines."""
    rows = ({"id": n, "question": f"question {n}?", "answer": f"answer {n}"} for n in range(start, start + count))
    return jsonl(path, *rows)


def judged(folder, judge, path, name="o", **more):
    """The rows of a file judged with short pauses, as dicts, and the run."""
    output = {key: more.pop(key) for key in ("resume", "overwrite") if key in more}
    usual = {"store": folder / "s.sqlite", "timeout": 30.0, "pause": 0.01, "base_url": judge.url, **more}
    made = fm.judge(
        path, fm.models.JudgeSettings("safety", "m", **with_client(**usual)), output=folder / f"{name}.jsonl", **output
    )
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    return rows, made


def number_in(text):
    """Which question this is."""
    return int(re.findall(r"question (\d+)[?]", text)[0])


def statuses(rows):
    """The status of each row."""
    return [row["judge_safety_status"] for row in rows]


def test_five_percent_of_every_fault_and_every_row_has_a_score_or_a_status(tmp_path, full):
    count = 250 if full else 120
    path = written(tmp_path / "rows.jsonl", count)
    draw = shares(FAULTS, 0.05)
    with judge_server(draw=draw) as judge:
        rows, made = judged(tmp_path, judge, path, timeout=2.0 if full else 1.0)
        faults = {user_message(body): draw(body, 0) for body in judge.bodies}
        assert set(faults.values()) == {None, *FAULTS}
        # on a busy machine a request can time out before the server reads it
        assert 0 <= made.spending.requests - judge.count <= 20
    expected = {"refused": "refused", "truncated": "truncated"}
    texts = {number_in(text): text for text in faults}
    assert len(texts) == count
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
    lost = count - len(scores)
    assert (figures.n, figures.n_error, figures.n_missing) == (len(scores), lost, 0)
    counted = fm.summarize(tmp_path / "o.jsonl")["judge_safety"]
    assert (counted.n, counted.n_error, counted.mean) == (figures.n, lost, figures.mean)


@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        ("500", "http", "500: out of order"),
        ("hang", "timeout", "no reply within 1 seconds"),
        pytest.param("slow", "timeout", "no reply within 1 seconds", marks=pytest.mark.full),
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
        rows, _ = judged(tmp_path, judge, path, timeout=1.0 if status == "timeout" else 60.0, tries=2, concurrency=1)
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


def test_a_second_reply_to_an_old_one_is_as_old(tmp_path):
    path = written(tmp_path / "rows.jsonl", 1)
    with judge_server(reply=lambda body: PROSE) as judge:
        judged(tmp_path, judge, path, max_calls=1)  # the second request is that of the next run
        rows, _ = judged(tmp_path, judge, path, retry="unparsed", overwrite=True)
        assert (statuses(rows), judge.count) == (["unparsed"], 3), "its second request, and the first again"


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
        ("401", "refuses all calls: 401: wrong key", 28),
        ("404", "refuses all calls: 404: the model `nobody` does not exist", 28),
        ("quota", "refuses all calls: 429: you have no money left", 28),
        ("500", "no reply to 20 requests: 500: out of order", 40),
        ("close", "no reply to 20 requests: the connection failed", 40),
        ("400", "20 consecutive calls failed: 400: maximum context length", 40),
    ],
)
def test_run_with_failures_only_exits_with_code_7(tmp_path, fault, message, most):
    path = written(tmp_path / "rows.jsonl", 60)
    with judge_server(draw=lambda body, seen: fault) as judge:
        settings = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        done = program("judge", "run", path, "-o", tmp_path / "o.parquet", *settings, "--concurrency", 8)
        assert (done.code, done.out, message in done.err) == (7, "", True), done.err
        assert judge.count <= most
        assert not (tmp_path / "o.parquet").exists()
        judge.draw = lambda body, seen: None
        rows, _ = judged(tmp_path, judge, path)
        assert statuses(rows) == ["ok"] * 60


def test_structured_output_falls_back_to_plain_requests(tmp_path):
    path = written(tmp_path / "rows.jsonl", 20)
    with judge_server(draw=lambda body, seen: "format" if "response_format" in body else None) as judge:
        rows, made = judged(tmp_path, judge, path, concurrency=2)
        assert (statuses(rows), made.spending.unstructured) == (["ok"] * 20, True)
        assert judge.count <= 22
        judged(tmp_path, judge, path, "again")
        assert judge.count <= 22


PROSE = "I think this answer is quite good."


def test_judge_stops_if_no_first_reply_has_a_score(tmp_path):
    path = written(tmp_path / "rows.jsonl", 300)
    with judge_server(reply=lambda body: PROSE) as judge:
        options = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        command = ["judge", "run", path, "-o", tmp_path / "o.jsonl", *options]
        done = program(*command)
        assert (done.code, done.out, judge.count) == (7, "", 20)
        assert "none of the first 20 replies of 'm' has a score" in done.err
        assert PROSE in done.err
        assert "--max-unparsed 0" in done.err
        assert "--parameters" in done.err
        assert not (tmp_path / "o.jsonl").exists()
        again = program(*command, "--resume")  # the stored replies say the same, at no cost
        assert (again.code, judge.count) == (7, 20)
        refused(ServiceError, "20 max_unparsed=0", judged, tmp_path, judge, path)
        assert judge.count == 20
        judge.reply = grade
        rows, _ = judged(tmp_path, judge, path, retry="unparsed", resume=True)
        assert (statuses(rows), judge.count) == (["ok"] * 300, 320)


def test_limit_of_replies_without_score_can_be_set_or_removed(tmp_path):
    path = written(tmp_path / "rows.jsonl", 60)
    with judge_server(reply=lambda body: PROSE) as judge:
        refused(ServiceError, "6", judged, tmp_path, judge, path, max_unparsed=6)
        assert judge.count == 6
        options = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        done = program("judge", "run", path, "-o", tmp_path / "o.jsonl", *options, "--max-unparsed", 0)
        assert (done.code, judge.count) == (11, 120)
        rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert statuses(rows) == ["unparsed"] * 60


@pytest.mark.parametrize("n", [0, 1, 9])  # each takes a second request: the tenth would be the last
def test_few_rows_without_a_score_are_no_error(tmp_path, n):
    table = {"id": list(range(n)), "question": [f"{k}" for k in range(n)], "answer": ["a"] * n}
    columns = {name: pa.array(values, pa.int64() if name == "id" else pa.string()) for name, values in table.items()}
    with judge_server(reply=lambda body: PROSE) as judge:
        made = fm.judge(pa.table(columns), "safety", model="m", base_url=judge.url, store=tmp_path / "s.sqlite")
    assert made["judge_safety_status"].to_pylist() == ["unparsed"] * n


def test_one_score_among_the_first_replies_lets_the_run_go_on(tmp_path):
    path = written(tmp_path / "rows.jsonl", 300)

    def reply(body):
        return grade(body) if number_in(user_message(body)) in (9, 200) else PROSE

    with judge_server(reply=reply) as judge:
        rows, _ = judged(tmp_path, judge, path, concurrency=64)
        assert Counter(statuses(rows)) == {"unparsed": 298, "ok": 2}
        assert judge.count == 598


def test_equal_prompts_and_refusals_are_no_evidence_against_a_judge(tmp_path):
    table = {"question": ["q"] * 200, "answer": ["a"] * 199 + ["b"]}
    options = {"model": "m", "store": tmp_path / "s.sqlite"}
    with judge_server(reply=lambda body: PROSE) as judge:
        fm.judge(table, "safety", base_url=judge.url, **options)
        assert judge.count == 4
    table = {"question": ["q"] * 60, "answer": [f"{n}" for n in range(60)]}
    with judge_server(reply=lambda body: completion(None, refusal="no")) as judge:
        made = fm.judge(table, "safety", base_url=judge.url, **options)
        assert set(made["judge_safety_status"].to_pylist()) == {"refused"}


def test_replies_cut_at_the_token_limit_stop_a_judge(tmp_path):
    table = {"question": ["q"] * 60, "answer": [f"{n}" for n in range(60)]}
    with judge_server(draw=lambda body, seen: "truncated") as judge:
        options = {"model": "m", "base_url": judge.url, "store": tmp_path / "s.sqlite"}
        refused(ServiceError, "cut reason", fm.judge, table, "safety", **options)
        assert judge.count == 20


def test_budget_limits_calls_and_cost(tmp_path):
    path = written(tmp_path / "rows.jsonl", 50)
    prices = {"m": {"input": 100.0, "output": 1000.0}}  # 0.01 + 0.02 per call
    parameters = {"max_tokens": 20}
    with judge_server() as judge:
        rows, made = judged(tmp_path, judge, path, max_calls=20, parameters=parameters)
        assert (judge.count, made.spending.ended) == (20, True)
        assert made.spending.refusal == "the limit of 20 requests is reached"
        assert sorted(statuses(rows)) == ["budget"] * 30 + ["ok"] * 20
        assert made.summary["judge_safety"].n_error == 30
        options = {"max_cost": 0.6, "prices": prices, "concurrency": 3, "parameters": parameters}
        rows, made = judged(tmp_path, judge, path, overwrite=True, **options)
        spent = made.spending
        assert (spent.from_store, judge.count) == (20, 20 + spent.requests)
        assert 0.03 <= spent.cost <= 0.6
        assert spent.cost == pytest.approx(0.03 * spent.replies)
        rows, made = judged(tmp_path, judge, path, overwrite=True, parameters=parameters)
        assert (statuses(rows), judge.count, made.spending.ended) == (["ok"] * 50, 50, False)


def costly(tokens, usage=True):
    """A reply of so many completion tokens, which the server counts or not."""
    body = completion('{"score": 3, "reason": "so"}')
    body["usage"] = {"prompt_tokens": 0, "completion_tokens": tokens} if usage else None
    return body


PER_REPLY = {"m": {"input": 0.0, "output": 1000.0}}  # 1 for a reply of 1,000 tokens


@pytest.mark.parametrize(("usage", "replies"), [(True, 5), (False, 5)])
def test_calls_in_flight_do_not_exceed_the_limit_of_the_cost(tmp_path, usage, replies):
    path = written(tmp_path / "rows.jsonl", 100)
    with judge_server(reply=lambda body: costly(1000, usage), delay=0.05) as judge:
        options = {"max_cost": 5.0, "prices": PER_REPLY, "parameters": {"max_tokens": 1000}}
        rows, made = judged(tmp_path, judge, path, **options)
        assert (judge.count, made.spending.requests) == (replies, replies)
        assert made.spending.cost == (5.0 if usage else 0.0)
        assert made.spending.uncounted == (0 if usage else 5)
        assert Counter(statuses(rows)) == {"ok": 5, "budget": 95}
        reason = "one more call may cost 1 (a reply of 1,000 tokens), which might exceed the limit of 5"
        assert made.spending.refusal == reason
        assert rows[-1]["judge_safety_reason"] == "the budget is spent"


def test_replies_shorter_than_reserved_leave_their_cost_to_other_calls(tmp_path):
    path = written(tmp_path / "rows.jsonl", 100)
    with judge_server(reply=lambda body: costly(20), delay=0.005) as judge:
        options = {"max_cost": 3.0, "prices": PER_REPLY, "parameters": {"max_tokens": 1000}}
        rows, made = judged(tmp_path, judge, path, **options)  # 2 in all, up to 3 calls at a time
        assert (statuses(rows), made.spending.ended) == (["ok"] * 100, False)
        assert judge.most_under_way <= 3
        assert made.spending.cost == pytest.approx(2.0)


def test_retries_and_second_requests_are_within_the_limit_of_the_cost(tmp_path):
    path = written(tmp_path / "rows.jsonl", 40)

    def reply(body):
        return completion(PROSE) | {"usage": costly(1000)["usage"]} if len(body["messages"]) == 2 else costly(1000)

    with judge_server(reply=reply, draw=lambda body, seen: "500" if seen == 0 else None) as judge:
        options = {"max_cost": 7.0, "prices": PER_REPLY, "parameters": {"max_completion_tokens": 1000}}
        _, made = judged(tmp_path, judge, path, **options)
        assert (made.spending.cost, made.spending.replies, made.spending.ended) == (7.0, 7, True)


def test_limit_below_the_cost_of_one_call_is_refused_with_the_limits_that_work(tmp_path):
    path = written(tmp_path / "rows.jsonl", 3)
    client = ["--client", client_file(tmp_path, prices=PER_REPLY)]
    with judge_server() as judge:
        options = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        command = ["judge", "run", path, "-o", tmp_path / "o.jsonl", *options, "--max-cost", 4]
        done = program(*command, *client)
        assert (done.code, judge.count, (tmp_path / "o.jsonl").exists()) == (2, 0, False)
        assert "--max-cost 4.0: no call was made, since the first one may cost 4.096 (a prompt of " in done.err
        assert "and a reply of 4,096 tokens); raise the limit to --max-cost 4.1, or limit each reply to " in done.err
        assert done.err.rstrip().endswith("--parameters max_tokens=4000")
        for way in (["--max-cost", 4.1], ["--max-cost", 4, "--parameters", "max_tokens=4000"]):
            before = judge.count
            more = [*command[:-2], *way, *client, "--overwrite", "--concurrency", 1]
            assert program(*more).code == 10
            assert judge.count > before
        priced = {"max_cost": 0.05, "prices": {"m": {"input": 100.0, "output": 1000.0}}, "name": "few"}
        for word, limits, cost in (
            ("max_cost=0.05", {"max_completion_tokens": 50, "temperature": 1}, 0.05),
            ("max_completion_tokens", {"max_completion_tokens": 1500}, 1.0),
        ):
            asked = {**priced, "max_cost": cost, "parameters": limits}
            refused(OptionError, word, judged, tmp_path, judge, path, **asked)
        rows, made = judged(tmp_path, judge, path, parameters={"top_p": 0.5}, **{**priced, "max_cost": 0.0})
        assert (statuses(rows), made.spending.requests) == (["budget"] * 3, 0)


def test_retries_count_as_calls(tmp_path):
    path = written(tmp_path / "rows.jsonl", 5)
    with judge_server(draw=lambda body, seen: "500" if seen == 0 else None) as judge:
        rows, made = judged(tmp_path, judge, path, max_calls=7, concurrency=1)
        assert (judge.count, made.spending.requests) == (7, 7)
        assert statuses(rows) == ["ok"] * 3 + ["budget"] * 2


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_a_resumed_run_asks_the_rows_that_the_budget_stopped(tmp_path, suffix):
    path, output = written(tmp_path / "rows.jsonl", 5), tmp_path / f"o.{suffix}"
    with judge_server() as judge:
        common = ["judge", "run", path, "-o", output, "--model", "m", "--base-url", judge.url, "--rubrics", "safety"]
        common += ["--store", tmp_path / "s.sqlite"]
        assert (program(*common, "--max-calls", 2).code, judge.count) == (10, 2)
        assert (program(*common, "--resume", "--max-calls", 1).code, judge.count) == (10, 3)
        assert (program(*common, "--resume", "--max-calls", 9).code, judge.count) == (0, 5)
        assert fm.summarize(output)["judge_safety"].n == 5
        assert (program(*common, "--resume").code, judge.count) == (0, 5)


def test_dry_run_predicts_the_run(tmp_path):
    path = written(tmp_path / "rows.jsonl", 12)
    with judge_server() as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        dry = ["judge", "run", path, *common, "--dry-run", "--repeats", 2]
        done = program(*dry)
        assert (done.code, judge.count) == (0, 0)
        assert done.out.startswith("12 rows: 24 calls to make, 0 already stored\n")
        assert "and 2,880 completion tokens; cost unknown: no prices given" in done.out
        assert program("judge", "run", path, "-o", tmp_path / "o.csv", *common, "--sample", 5).code == 0
        assert judge.count == 5
        priced = program(*dry, "--client", client_file(tmp_path, prices={"m": {"input": 1.0, "output": 2.0}})).out
        assert priced.startswith("12 rows: 19 calls to make, 5 already stored\n")
        assert "by the table of prices" in priced
        assert program(*dry, "--sample", 3).out.startswith("3 rows: ")


def test_a_spent_budget_and_unreadable_replies_have_exit_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "rows.jsonl", 30)
    with judge_server() as judge:
        command = ["judge", "run", str(path), "--rubrics", "safety", "--model", "m", "--base-url", judge.url]
        command += ["--store", "s.sqlite", "-o", "o.parquet"]
        spent = program(*command, "--max-calls", "24")
        assert (spent.code, "24 of 30 rows judged in" in spent.out) == (10, True)
        assert "6 rows have the status budget. Run again with --resume" in spent.err
        again = program(*command, "--resume")
        assert (again.code, "\n30 rows judged in" in again.out) == (0, True)
    with judge_server(reply=lambda body: PROSE) as judge:
        command = ["judge", "run", str(path), "--rubrics", "safety", "--model", "m", "--base-url", judge.url]
        unread = program(*command, "--store", "t.sqlite", "-o", "p.parquet", "--max-unparsed", "0")
        assert (unread.code, "0 of 30 rows judged in" in unread.out) == (11, True)
        assert "judge_safety: none of 30 replies can be read" in unread.err
        (tmp_path / "k.txt").write_text("much")
        answered = ["answer", str(path), "--bot", "full-context", "--knowledge", "k.txt", "--model", "m"]
        limited = program(*answered, "--base-url", judge.url, "--keep", "id", "-o", "a.csv", "--max-calls", "0")
        assert limited.code == 10, limited.err
