"""Costs, limits of cost, and waiting."""

import asyncio
import json
import random
import re
import sqlite3
import time
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FileFormatError, OptionError, ServiceError
from fastmetrics.base.limits import SIZES
from fastmetrics.metrics.prices import REPLY_TOKENS, Price, price_of, price_table
from fastmetrics.models.call_sender import FIRST, IN_A_ROW, Budget, CircuitBreaker, RateLimits, Retries, Spending
from fastmetrics.models.calls import CallMaker, Failure, Message, Model
from fastmetrics.models.dry_run import estimate_answering, estimate_judging
from tests.support.goldens import refused
from tests.support.judge_server import client_file, completion, grade, judge_server, user_message, with_client
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


CALL = CallMaker(Model("m", "here"), None).call([Message("user", "four")])


def judged_files(table, settings, folder):
    """A judge's run over a table in a file."""
    pq.write_table(pa.table(table), folder / "rows.parquet")
    return fm.judge(folder / "rows.parquet", settings, output=folder / "o.parquet")


def test_the_schema_of_a_reply_counts_among_the_tokens_of_the_prompt():
    schema = {"type": "object", "description": "x" * 1000}
    call = CallMaker(Model("m", "here"), schema).call([Message("user", "four")])

    async def run():
        per_token = Price(1e6, 0.0)
        assert await Budget(None, 1000.0, per_token, 10).take(CALL)
        with pytest.raises(OptionError, match="may cost"):
            await Budget(None, 1000.0, per_token, 10).take(call)

    asyncio.run(run())


def test_runs_whose_calls_fail_at_first_use_the_whole_budget(tmp_path):
    table = {"question": [f"q{n}" for n in range(6)], "answer": ["a"] * 6}
    options = {"max_cost": 2.0, "prices": {"m": {"input": 0.0, "output": 1000.0}}, "parameters": {"max_tokens": 1000}}
    with judge_server(draw=lambda body, seen: "500" if seen < 2 else None) as server:
        settings = fm.models.JudgeSettings(
            "safety",
            "m",
            base_url=server.url,
            **with_client(store=tmp_path / "s.sqlite", pause=0.001, concurrency=2, **options),
        )
        made = judged_files(table, settings, tmp_path)
        assert made.spending.cost == pytest.approx(0.12)
        assert (made.spending.replies, made.spending.ended, dict(made.failed)) == (6, False, {})


def swapped(body):
    """A reply whose numbers of tokens depend on the prompt and differ."""
    number = int(re.findall(r"question (\d+)[?]", user_message(body))[0])
    asked_again = len(body["messages"]) > 2
    text = grade(body) if asked_again or number < 2 else "I cannot say."
    usage = {"prompt_tokens": 1000 + number + 500 * asked_again, "completion_tokens": 30 + number + 5 * asked_again}
    return completion(text) | {"usage": usage}


def test_tokens_are_those_of_prompts_and_replies_with_the_follow_up_calls(tmp_path):
    table = {"id": [0, 1, 2, 3], "question": [f"question {n}?" for n in range(4)], "answer": ["a"] * 4}
    prices = {"m": {"input": 1.0, "output": 1000.0}}
    read = [1000, 1001, 1002 + 1502, 1003 + 1503]
    written = [30, 31, 32 + 37, 33 + 38]
    with judge_server(reply=swapped) as server:
        settings = {"base_url": server.url, "store": tmp_path / "s.sqlite", "client": {"prices": prices}}
        made = judged_files(table, fm.models.JudgeSettings("safety", "m", **settings), tmp_path)
    rows = fm.judge(table, "safety", model="m", **settings).to_pylist()
    assert [row["judge_safety_prompt_tokens"] for row in rows] == read
    assert [row["judge_safety_completion_tokens"] for row in rows] == written
    spent = made.spending
    assert (spent.prompt_tokens, spent.completion_tokens, spent.requests) == (sum(read), sum(written), 6)
    assert spent.cost == pytest.approx((sum(read) + 1000 * sum(written)) / 1e6)
    report = fm.judge_report(tmp_path / "o.parquet", prices=prices)
    assert report.axes[0].cost == pytest.approx(spent.cost)


def test_bots_answers_have_the_tokens_of_prompt_and_reply(tmp_path):
    usage = {"prompt_tokens": 70, "completion_tokens": 3}
    with judge_server(reply=lambda body: completion("x") | {"usage": usage}) as server:
        bot = fm.models.GivenContextsBot("m", template="{question}", base_url=server.url, store=tmp_path / "s.sqlite")
        made = fm.answer({"question": ["q"]}, bot).to_pylist()[0]
    assert (made["prompt_tokens"], made["completion_tokens"]) == (70, 3)
    function = fm.models.FunctionBot(lambda question: {"answer": "x", **usage}, name="f")
    made = fm.answer({"question": ["q"]}, function).to_pylist()[0]
    assert (made["prompt_tokens"], made["completion_tokens"]) == (70, 3)
    assert Price(2.0, 50.0).cost(1_000_000, 0) == 2.0
    assert Price(2.0, 50.0).cost(0, 1_000_000) == 50.0


def repeated_prompts(server, folder, **settings):
    """A judge's run over many batches of rows with two prompts."""
    table = {"question": [f"q{n % 2}" for n in range(80)], "answer": ["a"] * 80}
    asked = {"base_url": server.url, "store": folder / "s.sqlite", "concurrency": 2, "max_unparsed": 0, **settings}
    return judged_files(table, fm.models.JudgeSettings("safety", "m", **with_client(**asked)), folder)


@pytest.mark.timeout(60)
def test_prompts_of_several_batches_are_sent_once_and_are_no_calls_of_an_earlier_run(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "call_rows", 4)
    with judge_server(delay=0.3) as server:
        spending = repeated_prompts(server, tmp_path).spending
        assert (spending.requests, server.count, spending.from_store) == (2, 2, 0)
        (tmp_path / "o.parquet").unlink()
        spending = repeated_prompts(server, tmp_path).spending
        assert (spending.requests, server.count, spending.from_store) == (0, 2, 2 * 80 // 4)


def test_an_estimate_with_the_reply_and_then_the_tokens_count_against_the_limit_per_minute(tmp_path, monkeypatch):
    reserved, counted = [], []
    wait = RateLimits.wait

    async def recorded(self, tokens):
        reserved.append(tokens)
        await wait(self, tokens)

    monkeypatch.setattr(RateLimits, "wait", recorded)
    monkeypatch.setattr(RateLimits, "used", lambda self, guessed, tokens: counted.append((guessed, tokens)))
    usage = {"prompt_tokens": 70, "completion_tokens": 3}
    with judge_server(reply=lambda body: completion("x") | {"usage": usage}) as server:
        bot = fm.models.GivenContextsBot(
            "m", template="{question}", base_url=server.url, store=tmp_path / "s.sqlite", client={"tpm": 1e9}
        )
        fm.answer({"question": ["q" * 400, "r" * 400]}, bot)
    estimate = 4 + 400 / 4 + REPLY_TOKENS
    assert reserved == [estimate, estimate]
    assert counted == [(estimate, 73), (estimate, 73)]


def test_a_shorter_wait_does_not_end_a_longer_one():
    announced = []
    spending = Spending(on_wait=announced.append)
    spending.wait(100.0)
    spending.wait(10.0)
    assert 90 < spending.waits <= 100
    assert announced == ["the server asks to wait 100 s; waiting"]


def test_the_higher_of_two_limits_of_a_reply_is_reserved():
    prices = {"m": {"input": 0.0, "output": 1e6}}
    parameters = {"max_tokens": 10, "max_completion_tokens": 20}
    settings = fm.models.JudgeSettings("safety", "m", parameters=parameters, client={"prices": prices}, max_cost=15.0)
    refused(OptionError, "20", lambda: asyncio.run(settings.budget().take(CALL)))


def test_prices_may_be_written_on_the_command_line():
    written = price_table('{"local": {"input": 0.5, "output": 2}}')
    assert price_of("local", written) == Price(0.5, 2.0)
    refused(FileFormatError, "prices", price_table, "{local: 1}")


def test_requests_a_minute_and_pauses_are_kept_between_calls(tmp_path):
    """The last of four calls at 600 a minute begins .3 seconds after the first; a second try waits for its pause."""
    came = []

    @fm.models.model_client("mine")
    def mine(request):
        came.append((time.monotonic(), request.messages[-1].content))
        if "again" in request.messages[-1].content and len(came) == 5:
            raise ConnectionError
        return "a"

    for client, questions in (({"rpm": 600.0}, ["a", "b", "c", "d"]), ({"pause": 0.3, "tries": 2}, ["again"])):
        bot = fm.models.GivenContextsBot("m", template="{question}", base_url="mine:", store=":memory:", client=client)
        assert set(fm.answer({"question": questions}, bot)["answer_status"].to_pylist()) == {"ok"}
    times = [moment for moment, _ in came]
    assert len(times) == 6
    assert times[3] - times[0] >= 0.29
    assert times[5] - times[4] >= 0.29


class Clock:
    """A time that passes by sleeping only."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        """Let the time pass, and others run."""
        self.now += seconds
        await asyncio.sleep(0)


def limits(**options):
    """Limits under a clock of their own."""
    clock = Clock()
    return RateLimits(clock=clock, sleep=clock.sleep, **options), clock


def times(count, **options):
    """When so many calls of 100 tokens may be sent that come back at once."""

    async def run():
        allowed, clock = limits(**options)
        found = []
        for _ in range(count):
            await allowed.wait(100)
            found.append(clock.now - 1000)
        return found

    return [round(at, 6) for at in asyncio.run(run())]


def test_requests_and_tokens_per_minute_are_limited():
    assert times(4) == [0, 0, 0, 0]
    assert times(4, requests=30) == [0, 2, 4, 6]
    assert times(4, tokens=6000) == [0, 1, 2, 3]
    assert times(4, requests=30, tokens=6000) == [0, 2, 4, 6]


def test_wrong_token_estimates_are_corrected():
    async def run():
        allowed, clock = limits(tokens=6000)
        await allowed.wait(100)
        allowed.used(100, 400)
        await allowed.wait(100)
        return clock.now - 1000

    assert asyncio.run(run()) == 4


def test_waits_double_unless_the_server_sets_them():
    retries = Retries(tries=5, pause=1.0)
    for failures, least in ((1, 1), (2, 2), (3, 4), (4, 8)):
        assert least <= retries.wait(failures, None) <= 1.25 * least
    assert 3 <= retries.wait(4, 3.0) <= 3.75
    assert retries.wait(60, None) <= 375
    assert retries.wait(1, 1e9) <= 375


def failing(count, *, given_up=False, worked=False, **kind):
    """What a breaker says of so many failures in a row."""
    breaker = CircuitBreaker("here")
    if worked:
        breaker.worked()
    return [said(breaker, given_up, **kind) for _ in range(count)]


def said(breaker, given_up, last=False, **kind):
    """The error that a breaker raises after a failed request, or call."""
    try:
        breaker.failed(Failure("http", "why", **kind), given_up=given_up, last=last)
    except ServiceError as error:
        return str(error)
    return None


def test_run_with_only_failures_stops():
    assert [error is not None for error in failing(FIRST)] == [False] * (FIRST - 1) + [True]
    assert failing(FIRST)[-1] == f"here: no reply to {FIRST} requests: why"
    assert failing(1000, worked=True) == [None] * 1000
    after = failing(IN_A_ROW, given_up=True, worked=True)
    assert [error is not None for error in after] == [False] * (IN_A_ROW - 1) + [True]
    assert failing(1, last=True) == ["here: no reply to 1 requests: why"]
    assert failing(2, last=True, worked=True) == [None] * 2
    assert failing(FIRST, fatal=True, passing=False)[-2:] == [None, "here refuses all calls: why"]
    assert failing(1, fatal=True, passing=False, last=True) == ["here refuses all calls: why"]
    assert failing(IN_A_ROW - 1, worked=True, fatal=True, passing=False, given_up=True) == [None] * (IN_A_ROW - 1)
    assert failing(1000, limited=True) == [None] * 1000


def test_a_reply_and_a_refusal_of_one_call_reset_the_count():
    assert failing(1000, given_up=True, passing=False) == [None] * 1000
    refused = failing(IN_A_ROW, given_up=True, passing=False, last=True)
    assert [error is not None for error in refused] == [False] * (IN_A_ROW - 1) + [True]
    breaker = CircuitBreaker("here")
    breaker.worked()
    for turn in range(20):
        assert [said(breaker, True) for _ in range(IN_A_ROW - 1)] == [None] * (IN_A_ROW - 1)
        assert turn % 2 or said(breaker, True, passing=False, last=True) is None
        if turn % 2:
            breaker.worked()


def test_the_longest_wait_that_a_server_asks_for_holds():
    """A later reply that asks for less does not shorten it."""

    async def run(waits):
        allowed, clock = limits()
        for seconds in waits:
            allowed.limited(seconds)
        await allowed.wait(1)
        return clock.now - 1000.0

    assert [asyncio.run(run(waits)) for waits in ([60.0, 1.0], [1.0, 60.0], [5.0], [])] == [60.0, 60.0, 5.0, 0.0]
