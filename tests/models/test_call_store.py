"""The store of calls: final replies, failures for the record, and processes that share it."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from fastmetrics.models.call_store import IN_MEMORY, CallStore, prune_calls
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from tests.support.program import ENVIRONMENT

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
