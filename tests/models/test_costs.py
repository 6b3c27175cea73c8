"""One cost everywhere: that of all replies, each call once, in the run, the judged rows, the store and the dry run."""

import json
import random
import re
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.models.dry_run import estimate_answering, estimate_judging
from tests.support.judge_server import client_file, completion, grade, judge_server, user_message
from tests.support.program import jsonl, program

PRICES = {"m": {"input": 1.0, "output": 10.0}}
ONE = (100 + 20 * 10) / 1e6
"""The cost of one reply of the test server."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))


def reply(body):
    """Question 3 gets no score at first, question 4 never."""
    text = user_message(body)
    if "question 4?" in text or ("question 3?" in text and len(body["messages"]) == 2):
        return "I cannot say."
    return grade(body)


def costs_of(folder, out):
    """The cost in the report on judges, and that in the overview of the store, as printed and as computed."""
    report = fm.judge_report(out, prices=PRICES)
    printed = program("judge", "report", out, "--prices", folder / "prices.json").out
    shown = sum(float(cost) for cost in re.findall(r"cost ([0-9.e-]+)", printed))
    store = program("judge", "store", folder / "s.sqlite", "--prices", folder / "prices.json", "--json")
    stored = json.loads(store.out)["calls"]
    assert shown == pytest.approx(sum(axis.cost for axis in report.axes), rel=1e-3)
    return sum(axis.cost for axis in report.axes), sum(one["cost"] or 0 for one in stored)


def test_run_report_store_and_dry_run_state_one_cost(tmp_path):
    rows = [{"id": n, "question": f"question {n % 6}?", "answer": "a"} for n in range(600)]  # rows share 6 prompts
    path, out = jsonl(tmp_path / "rows.jsonl", *rows), tmp_path / "o.parquet"
    with judge_server(reply=reply) as judge:
        options = {"base_url": judge.url, "store": tmp_path / "s.sqlite", "client": {"prices": PRICES}, "repeats": 2}
        settings = fm.models.JudgeSettings(["safety", "relevance"], "m", **options)
        planned = estimate_judging(path, settings)
        assert (planned.rows, planned.calls, planned.stored_calls) == (600, 24, 0)
        run = fm.judge(path, settings, output=out)
        assert judge.count == 24 + 8  # eight second requests
        spent = run.spending.cost
        assert spent == pytest.approx(32 * ONE)
        assert costs_of(tmp_path, out) == (pytest.approx(spent), pytest.approx(spent))
        assert not any("cost" in note for note in run.summary.notes)
        planned = estimate_judging(path, settings)
        assert (planned.calls, planned.stored_calls, planned.cost) == (0, 32, 0.0)

        again = fm.judge(path, settings, output=tmp_path / "again.parquet")
        assert (again.spending.cost, judge.count) == (0.0, 32)
        assert costs_of(tmp_path, tmp_path / "again.parquet")[0] == pytest.approx(spent)

        settings = fm.models.JudgeSettings(["safety", "relevance"], "m", retry="unparsed", **options)
        planned = estimate_judging(path, settings)
        assert (planned.calls, planned.stored_calls) == (4, 28)  # and second requests, if a reply is unreadable again
        before = judge.count
        retried = fm.judge(path, settings, output=tmp_path / "retried.parquet")
        assert judge.count - before == 8
        assert retried.spending.cost == pytest.approx(8 * ONE)
        total = pytest.approx(40 * ONE)  # replies that were replaced were paid for, too
        assert costs_of(tmp_path, tmp_path / "retried.parquet") == (total, total)
        assert total == judge.count * ONE


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("kind", ["judge", "bot"])
def test_dry_run_of_a_sample_counts_the_rows_that_it_draws(tmp_path, kind, seed):
    """The sample is drawn from all files together: it costs what its rows cost as a table of their own."""
    rows = [{"id": n, "question": "word " * n + "?", "answer": "a"} for n in range(60)]
    files = [jsonl(tmp_path / "first.jsonl", *rows[:25]), jsonl(tmp_path / "second.jsonl", *rows[25:])]
    drawn = [rows[at] for at in sorted(random.Random(seed).sample(range(60), 20))]
    options = {"base_url": "http://localhost:1/v1", "store": tmp_path / "s.sqlite"}
    if kind == "judge":
        planned, asked = estimate_judging, fm.models.JudgeSettings("safety", "m", **options)
    else:
        planned, asked = estimate_answering, fm.models.FullContextBot("text", "m", **options)
    assert planned(files, asked, sample=20, seed=seed) == planned(pa.Table.from_pylist(drawn), asked)


def test_command_states_tokens_and_cost_once(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"question": "q", "answer": "a"} for _ in range(30)))
    with judge_server() as judge:
        options = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        options += ["--client", client_file(tmp_path, prices="prices.json")]
        command = ["judge", "run", path, "-o", tmp_path / "o.parquet", *options]
        first, second = program(*command), program(*command, "--overwrite")
    assert re.findall(r"cost [0-9.e-]+", first.out) == ["cost 0.0003"]
    assert re.findall(r"cost [0-9.e-]+", second.out) == ["cost 0"]
    assert re.findall(r"\S+ [+] \S+ tokens", first.out) == ["100 + 20 tokens"]  # of the prompt, then of the reply
    assert re.findall(r"\S+ [+] \S+ tokens", second.out) == ["0 + 0 tokens"]


def test_rows_of_one_call_have_its_id(tmp_path):
    table = {"question": ["q", "r", "q", None], "answer": ["a"] * 4}
    with judge_server() as judge:
        made = fm.judge(table, "safety", model="m", base_url=judge.url, repeats=2, store=tmp_path / "s.sqlite")
        assert judge.count == 4
    first, other, same, missing = made["judge_safety_call"].to_pylist()
    assert (first == same, first != other, missing) == (True, True, None)
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as stored:
        keys = {key.hex()[:16] for (key,) in stored.execute("select key from calls where repeat = 0")}
    assert keys == {first, other}


def test_answers_state_one_cost(tmp_path):
    path = jsonl(tmp_path / "q.jsonl", *({"id": n, "question": f"{n % 3}?"} for n in range(30)))
    with judge_server(reply=lambda body: completion("cut", "length")) as judge:
        store = tmp_path / "s.sqlite"
        bot = fm.models.FullContextBot("text", "m", base_url=judge.url, store=store, client={"prices": PRICES})
        assert estimate_answering(path, bot).calls == 3
        run = fm.answer(path, bot, output=tmp_path / "o.parquet")
        assert (judge.count, run.spending.cost) == (3, pytest.approx(3 * ONE))
        assert (estimate_answering(path, bot).calls, estimate_answering(path, bot, retry="truncated").calls) == (0, 3)
        run = fm.answer(path, bot, output=tmp_path / "o.parquet", retry="truncated", overwrite=True)
        assert (judge.count, run.spending.cost) == (6, pytest.approx(3 * ONE))
    answers = pq.read_table(tmp_path / "o.parquet")
    assert len(set(answers["answer_call"].to_pylist())) == 3
    counts = json.loads(program("judge", "store", store, "--prices", tmp_path / "prices.json", "--json").out)["calls"]
    assert [one["cost"] for one in counts] == [pytest.approx(6 * ONE)]


def test_store_overview_prices_the_models_it_can(tmp_path):
    path = jsonl(tmp_path / "q.jsonl", {"question": "q", "answer": "a"})
    with judge_server() as judge:
        for model in ("m", "other"):
            settings = fm.models.JudgeSettings("safety", model, base_url=judge.url, store=tmp_path / "s.sqlite")
            fm.judge(path, settings, output=tmp_path / f"{model}.parquet")
    table = program("judge", "store", tmp_path / "s.sqlite", "--prices", tmp_path / "prices.json").out.splitlines()
    assert table[0].split() == ["model", "endpoint", "outcome", "calls", "read", "written", "cost", "first", "last"]
    assert [line.split()[6] for line in table[1:3]] == ["0.000300", "–"]
    assert "cost" not in program("judge", "store", tmp_path / "s.sqlite").out.splitlines()[0].split()
