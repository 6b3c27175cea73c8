"""The store of calls, alone and shared by processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.call_store import IN_MEMORY, CallStore, prune_calls
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from tests.support.goldens import refused
from tests.support.judge_server import completion, judge_server, with_client
from tests.support.optional_parts import NO_MOUNT
from tests.support.program import ENVIRONMENT, jsonl, program

MODEL = Model("m", "here", {"temperature": 0})
MAKER = CallMaker(MODEL, None, [Message("system", "s")])
GOOD = Answer("reply", '{"a": 1}', 10, 2, 3.5, 100.0, 1)


def call(text, repeat=0):
    """The call that asks this."""
    return MAKER.call([Message("user", text)], repeat)


def stored(store, one, answer, **more):
    """What the store holds after a put, without its place."""
    return store.put(one, MODEL, answer, **more)._replace(place=0)


def test_stored_calls_persist_after_reopening(tmp_path):
    calls = [call(str(number)) for number in range(1_234)]
    with CallStore(tmp_path / "new" / "calls.sqlite") as store:
        for number, one in enumerate(calls):
            assert stored(store, one, GOOD._replace(body=str(number))) == GOOD._replace(body=str(number))
    with CallStore(tmp_path / "new" / "calls.sqlite") as store:
        found = store.find([one.key for one in [*calls, call("never asked")]])
    assert {key: answer.body for key, answer in found.items()} == {c.key: str(n) for n, c in enumerate(calls)}
    assert next(iter(found.values()))._replace(body="", place=0) == GOOD._replace(body="")


def test_a_reply_is_final_and_a_failure_is_not(tmp_path):
    failure, other = Answer("http", "500: no", time=1.0, attempt=5), GOOD._replace(body="other", attempt=9)
    with CallStore(tmp_path / "calls.sqlite") as store:
        one = call("a")
        assert stored(store, one, failure) == failure
        assert stored(store, one, failure._replace(attempt=6)).attempt == 6
        assert stored(store, one, GOOD) == GOOD
        assert stored(store, one, failure) == GOOD
        assert stored(store, one, other) == GOOD
        assert stored(store, one, failure, replace=True) == GOOD
        both = other._replace(prompt_tokens=20, completion_tokens=4)  # the tokens of the reply that is replaced, too
        assert stored(store, one, other, replace=True) == both
        assert store.find([one.key]) == {one.key: both._replace(place=4)}
        assert stored(store, one, other._replace(prompt_tokens=None), replace=True).prompt_tokens == 20


def test_key_depends_only_on_the_request():
    message, split = Message("user", "a"), [Message("user", "x"), Message("user", "y")]
    schema = {"type": "object", "required": []}
    keys = [
        CallMaker(Model("m", "e", parameters), schema_, opening).call(messages, repeat).key
        for parameters, schema_, opening, messages, repeat in (
            ({}, None, [], [message], 0),
            ({"t": 1}, None, [], [message], 0),
            ({}, schema, [], [message], 0),
            ({}, None, [message], [message], 0),
            ({}, None, [], [Message("system", "a")], 0),
            ({}, None, [], [message], 1),
            ({}, None, [], split, 0),
            ({}, None, [], [Message("user", "xy")], 0),
            ({}, None, [], [Message("user", "xuser 1 y")], 0),
            ({}, None, [], [Message("user", "\ud800")], 0),
        )
    ]
    others = [CallMaker(Model(*who), None).call([message]).key for who in (("n", "e"), ("m", "f"), ("me", ""))]
    assert len({*keys, *others}) == len(keys) + len(others)
    ordered = [
        CallMaker(Model("m", "e", given), None).call([message]).key for given in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    ]
    assert ordered[0] == ordered[1]
    assert (
        CallMaker(Model("m", "e"), None, [message]).call([message]).key
        == CallMaker(Model("m", "e"), None).call([message, message]).key
    )


def test_threads_that_create_the_same_store_share_it(tmp_path):
    for number in range(20):
        start, opened = threading.Barrier(4), []

        def create(path=tmp_path / f"{number}.sqlite", start=start, opened=opened):
            start.wait()
            with CallStore(path) as store:
                opened.append(store.counts())

        threads = [threading.Thread(target=create) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened == [[]] * 4


WRITER = """
import sys
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from fastmetrics.models.call_store import CallStore
MODEL = Model("m", "here", {"temperature": 0})
MAKER = CallMaker(MODEL, None, [Message("system", "s")])
with CallStore(sys.argv[1]) as store:
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        answer = Answer("reply", str(number), 10, 2, 3.5, 100.0, 1)
        store.put(MAKER.call([Message("user", str(number))]), MODEL, answer)
        print(number, flush=True)
"""


def writer(path, start, stop):
    """A process that puts calls one after the other, and tells each when it is put."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, path, str(start), str(stop)], stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
    )


@pytest.mark.full
def test_killed_process_keeps_stored_calls(tmp_path):
    path = str(tmp_path / "calls.sqlite")
    process = writer(path, 0, 1_000_000)
    told = [process.stdout.readline() for _ in range(500)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read().splitlines()
    process.stdout.close()
    process.wait()
    put = [int(line) for line in told if line.strip()]
    with CallStore(path) as store:
        found = store.find([call(str(number)).key for number in put])
        assert sorted(int(answer.body) for answer in found.values()) == put
        assert stored(store, call("after"), GOOD) == GOOD


@pytest.mark.full
def test_processes_and_threads_share_a_store(tmp_path):
    path = str(tmp_path / "calls.sqlite")
    processes = [writer(path, start, start + 400) for start in (0, 200, 400)]
    with CallStore(path) as store:
        threads = [
            threading.Thread(target=lambda at=at: [store.put(call(str(n)), MODEL, GOOD) for n in range(at, at + 300)])
            for at in (1000, 1100)
        ]
        for thread in threads:
            thread.start()
        for process in processes:
            assert len(process.stdout.read().splitlines()) == 400
            process.stdout.close()
            assert process.wait() == 0
        for thread in threads:
            thread.join()
        [counts] = store.counts()
    assert (counts["calls"], counts["outcome"], counts["prompt_tokens"]) == (1200, "reply", 12_000)


def test_a_store_in_memory_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with CallStore(IN_MEMORY) as store:
        assert stored(store, call("a"), GOOD) == GOOD
    assert list(tmp_path.iterdir()) == []


def test_locked_store_is_waited_for(tmp_path):
    path = tmp_path / "calls.sqlite"
    with CallStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("begin immediate")
        release = threading.Timer(0.3, lambda: other.execute("commit"))
        release.start()
        began = time.monotonic()
        assert stored(store, call("a"), GOOD) == GOOD
        assert time.monotonic() > began
        release.join()
        other.close()


@pytest.mark.parametrize(("days", "left"), [("0.25", 0), ("1", 1), ("2", 2), ("2.5", 2), ("4", 3)])
def test_calls_of_more_days_ago_are_deleted(tmp_path, days, left):
    with CallStore(tmp_path / "s.sqlite") as store:
        for age in (0.5, 1.5, 3.0):
            made = time.time() - age * 24 * 60 * 60
            store.put(call(f"{age}"), MODEL, Answer("reply", "{}", time=made, attempt=1))
        assert prune_calls(store, [f"days={days}"]) == 3 - left


SHARED_STORE_MODEL = Model("m", "here")


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def written(path, count):
    """So many questions with answers."""
    return jsonl(path, *({"id": n, "question": f"q {n}", "answer": f"a {n}"} for n in range(count)))


def settings(folder, judge, **more):
    """A judge with short pauses."""
    usual = {"store": folder / "s.sqlite", "base_url": judge.url, "pause": 0.01, "concurrency": 4, **more}
    return fm.models.JudgeSettings("safety", "m", **with_client(**usual))


def stored_of_shared_store(path):
    """The number of calls in a store."""
    with CallStore(path) as store:
        return sum(one["calls"] for one in store.counts())


def test_runs_that_share_a_store_pay_twice_only_for_what_they_ask_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "call_rows", 20)
    path = written(tmp_path / "rows.jsonl", 200)
    outputs = [tmp_path / f"{name}.parquet" for name in "abc"]
    with judge_server(delay=0.005) as judge, ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda output: fm.judge(path, settings(tmp_path, judge), output=output), outputs))
        assert 200 <= judge.count <= 3 * 200
        assert stored_of_shared_store(tmp_path / "s.sqlite") == 200
        assert [run.spending.requests + run.spending.from_store for run in made] == [200] * 3
        assert sum(run.spending.requests for run in made) == (paid := judge.count)
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "again.parquet")
        assert judge.count == paid
    assert len({output.read_bytes() for output in outputs}) == 1


def test_two_runs_that_retry_the_same_replies_end_with_the_same(tmp_path):
    path = written(tmp_path / "rows.jsonl", 20)
    with judge_server(reply=lambda body: completion(None, refusal="no")) as judge, ThreadPoolExecutor(2) as pool:
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet")
        judge.reply, judge.delay, judge.count = (lambda body: '{"reason": "", "score": 3}'), 0.02, 0
        asked = settings(tmp_path, judge, retry="refused")
        outputs = [tmp_path / f"{name}.parquet" for name in "ab"]
        made = list(pool.map(lambda output: fm.judge(path, asked, output=output), outputs))
        assert 20 <= judge.count <= 40
    assert [run.summary["judge_safety"].n for run in made] == [20, 20]


def test_a_store_that_cannot_be_written_ends_the_run(tmp_path, monkeypatch):
    path = written(tmp_path / "rows.jsonl", 50)
    with judge_server() as judge:

        def full(*arguments, **more):
            raise OutputError("the store of calls: database or disk is full")

        monkeypatch.setattr(CallStore, "put", full)
        refused(OutputError, "full", lambda: fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet"))
        assert judge.count <= 4 + 1
    assert not (tmp_path / "o.parquet").exists()


def no_writes(monkeypatch, *folders):
    """Let files in these folders look as they do on a read-only disk, whoever runs the tests."""
    real = os.access
    inside = lambda path: any(str(path).startswith(str(folder)) for folder in folders)  # noqa: E731
    monkeypatch.setattr(
        os, "access", lambda path, mode, **more: not (mode & os.W_OK and inside(path)) and real(path, mode, **more)
    )


@pytest.fixture
def filled(tmp_path):
    """A folder with the replies to ten rows, and the rows."""
    (tmp_path / "kept").mkdir()
    path = written(tmp_path / "rows.jsonl", 10)
    with judge_server() as judge:
        fm.judge(path, settings(tmp_path / "kept", judge), output=tmp_path / "first.parquet")
        yield path, judge


def check_read_only(tmp_path, path, judge, store):
    """A run that finds all replies works, another one pays nothing."""
    before = {one.name: one.read_bytes() for one in store.parent.iterdir()}
    fm.judge(path, settings(tmp_path, judge, store=store), output=tmp_path / "o.parquet")
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "first.parquet").read_bytes()
    more = written(tmp_path / "more.jsonl", 13)
    asked = settings(tmp_path, judge, store=store)
    refused(OutputError, "store", fm.judge, more, asked, output=tmp_path / "more.parquet")
    assert judge.count == 10
    assert "10 calls in" in program("judge", "store", store).out
    assert {one.name: one.read_bytes() for one in store.parent.iterdir()} == before


def test_a_read_only_store_is_read_and_a_run_that_needs_more_pays_nothing(tmp_path, filled, monkeypatch):
    path, judge = filled
    no_writes(monkeypatch, tmp_path / "kept")
    check_read_only(tmp_path, path, judge, tmp_path / "kept" / "s.sqlite")


def test_a_store_on_a_read_only_disk_is_read(tmp_path, filled):
    path, judge = filled
    folder = tmp_path / "kept"
    if subprocess.run(["mount", "--bind", folder, folder], check=False, capture_output=True).returncode:
        pytest.skip(NO_MOUNT)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        check_read_only(tmp_path, path, judge, folder / "s.sqlite")
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_clocks_that_step_back_neither_call_twice_nor_void_retry(tmp_path, monkeypatch):
    path = written(tmp_path / "rows.jsonl", 6)
    jsonl(path, *path.read_text().splitlines(), *path.read_text().splitlines())  # each prompt twice
    reply = lambda body: completion(None, refusal="no")  # noqa: E731
    with judge_server(reply=reply) as judge:
        now = time.time()
        monkeypatch.setattr("fastmetrics.models.call_sender.time.time", lambda: now + 1_000_000)
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet")
        assert judge.count == 6
        monkeypatch.setattr("fastmetrics.models.call_sender.time.time", lambda: now)
        asked = settings(tmp_path, judge, retry="refused")
        fm.judge(path, asked, output=tmp_path / "o.parquet", overwrite=True)
        assert judge.count == 12
        steps = iter(range(1_000))
        monkeypatch.setattr("fastmetrics.models.call_sender.time.time", lambda: now - 60 * next(steps))
        fm.judge(path, asked, output=tmp_path / "o.parquet", overwrite=True)
        assert judge.count == 18


@pytest.mark.parametrize("command", ["judge run", "answer"])
def test_an_output_must_not_be_the_store(tmp_path, monkeypatch, command):
    rows = written(tmp_path / "rows.jsonl", 2)
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "store.jsonl"
    with CallStore(store) as made:
        made.put(
            CallMaker(SHARED_STORE_MODEL, None).call([Message("user", "a")]), SHARED_STORE_MODEL, Answer("reply", "{}")
        )
    (tmp_path / "link.jsonl").symlink_to(store)
    os.link(store, tmp_path / "hard.jsonl")
    before = store.read_bytes()
    options = ["--model", "m", *(["--rubrics", "safety"] if command == "judge run" else ["--bot", "given-contexts"])]
    words = command.split()
    first = [*words, rows, *options, "--store", store]
    for out in ("store.jsonl", "./store.jsonl", "link.jsonl", "hard.jsonl"):
        done = program(*first, "-o", out, "--overwrite")
        assert (done.code, "is the store of calls" in done.err) == (4, True), done.err
        assert (store.read_bytes(), store.is_file()) == (before, True)
    inside = [("new/s.sqlite", "new/"), ("o.jsonl.meta.json", "o.jsonl"), ("p.csv.partial/s", "p.csv")]
    for path, out in inside:
        done = program(*words, rows, *options, "--store", path, "-o", out)
        assert (done.code, "is the store of calls" in done.err) == (4, True), (out, done.err)
        assert not (tmp_path / path).exists()
