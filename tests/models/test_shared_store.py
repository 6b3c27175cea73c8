"""Stores that several runs share, that are full, that can only be read, and that an output must not replace."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError, ServiceError
from fastmetrics.base.limits import SIZES
from fastmetrics.models import call_sender
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from tests.support.judge_server import completion, judge_server, with_client
from tests.support.optional_parts import NO_MOUNT
from tests.support.program import jsonl, program

pytestmark = pytest.mark.slow

MODEL = Model("m", "here")


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


def stored(path):
    """The number of calls in a store."""
    with CallStore(path) as store:
        return sum(one["calls"] for one in store.counts())


def test_two_windows_of_one_process_send_each_call_once(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "call_rows", 20)
    path = written(tmp_path / "rows.jsonl", 200)
    with judge_server(delay=0.005) as judge, ThreadPoolExecutor(3) as pool:
        outputs = [tmp_path / f"{name}.parquet" for name in "abc"]
        made = list(pool.map(lambda output: fm.judge(path, settings(tmp_path, judge), output=output), outputs))
        assert judge.count == 200
    assert sorted(run.spending.requests for run in made) == [0, 0, 200]
    assert [run.spending.requests + run.spending.from_store for run in made] == [200] * 3
    assert len({output.read_bytes() for output in outputs}) == 1


def test_two_runs_that_retry_the_same_replies_pay_once(tmp_path):
    path = written(tmp_path / "rows.jsonl", 20)
    with judge_server(reply=lambda body: completion(None, refusal="no")) as judge:
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet")
        judge.reply, judge.delay, judge.count = (lambda body: '{"reason": "", "score": 3}'), 0.02, 0
        asked = settings(tmp_path, judge, retry="refused")
        runs = [
            threading.Thread(target=fm.judge, args=(path, asked), kwargs={"output": tmp_path / f"{name}.parquet"})
            for name in "ab"
        ]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert judge.count == 20


def test_a_run_waits_for_the_turn_of_another_and_says_whose_it_is(tmp_path):
    path, announced = written(tmp_path / "rows.jsonl", 3), []
    store = CallStore(tmp_path / "s.sqlite")
    with judge_server() as judge:
        asked = settings(tmp_path, judge)
        assert store.take_turn(asked.configured_model) is None

        def waited(text):
            announced.append(text)
            store.close()

        table = pa.table({"question": ["q"], "answer": ["a"]})
        fm.judge(table, settings(tmp_path, judge, endpoint="elsewhere"))  # another model or server is asked meanwhile
        assert announced == []
        fm.judge(path, asked, watch=lambda spending: setattr(spending, "on_wait", waited))
        assert judge.count == 4
    who = f"process {os.getpid()} on {socket.gethostname()} asks {asked.configured_model}"
    assert announced == [f"{who} through the store {tmp_path / 's.sqlite'}; waiting for its end"]


def test_a_run_in_python_logs_that_it_waits(tmp_path, caplog):
    with judge_server() as judge, CallStore(tmp_path / "s.sqlite") as store:
        asked = settings(tmp_path, judge)
        store.take_turn(asked.configured_model)
        threading.Timer(0.3, store.close).start()
        fm.judge(pa.table({"question": ["q"], "answer": ["a"]}), asked)
    [said] = [record.getMessage() for record in caplog.records if record.name == "fastmetrics"]
    assert said.endswith(f"through the store {tmp_path / 's.sqlite'}; waiting for its end")


def test_a_lock_that_cannot_be_made_ends_the_run(tmp_path, monkeypatch):
    def fails(self, model):
        raise NotImplementedError("no locks here")

    monkeypatch.setattr(CallStore, "take_turn", fails)
    with judge_server() as judge:
        with pytest.raises(NotImplementedError, match="no locks here"):
            fm.judge(pa.table({"question": ["q"], "answer": ["a"]}), settings(tmp_path, judge))
        assert judge.count == 0


def test_a_run_that_is_interrupted_while_it_waits_for_its_turn_ends(tmp_path):
    with judge_server() as judge, CallStore(tmp_path / "s.sqlite") as store:
        asked = settings(tmp_path, judge)
        store.take_turn(asked.configured_model)
        with CallStore(tmp_path / "s.sqlite") as other, ThreadPoolExecutor(1) as pool:
            call = CallMaker(asked.configured_model, None).call([Message("user", "a")])
            with asked.sender(other, asked.budget()) as sender:
                waiting = pool.submit(sender.ask, [call])
                time.sleep(0.1)
            assert isinstance(waiting.exception(10), ServiceError)
        assert judge.count == 0


def full(store, seconds=None):
    """Let the connection of a store refuse to write, for some seconds from now on."""
    real = store._connection
    until = None if seconds is None else time.monotonic() + seconds

    class Full:
        def __getattr__(self, name):
            return getattr(real, name)

        def execute(self, statement, *values):
            writes = statement.split()[0] in ("insert", "update", "delete")
            if writes and (until is None or time.monotonic() < until):
                raise sqlite3.OperationalError("database or disk is full")
            return real.execute(statement, *values)

    store._connection = Full()


def test_room_that_the_log_of_changes_takes_is_freed_for_a_reply(tmp_path):
    with CallStore(tmp_path / "s.sqlite") as store:
        real = store._connection

        class Full:
            """A disk that is full until the log is written to the file."""

            room = False

            def execute(self, statement, *values):
                self.room = self.room or "wal_checkpoint" in statement
                if statement.split()[0] == "insert" and not self.room:
                    raise sqlite3.OperationalError("database or disk is full")
                return real.execute(statement, *values)

            def close(self):
                real.close()

        store._connection = Full()
        assert store.put(CallMaker(MODEL, None).call([Message("user", "a")]), MODEL, Answer("reply", "{}")).body == "{}"
        assert store.unsaved == 0


@pytest.fixture
def disk(tmp_path):
    """A disk of 400 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip(NO_MOUNT)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("seconds", [1.5, None])
def test_replies_that_meet_a_full_store_are_kept(tmp_path, monkeypatch, seconds):
    monkeypatch.setattr(call_sender, "_SPACE", 60.0 if seconds else 0.2)
    path = written(tmp_path / "rows.jsonl", 100)
    with judge_server(delay=0.05) as judge:
        opened = []
        real = CallStore.__init__

        def opens(self, *arguments, **more):
            real(self, *arguments, **more)
            opened.append(self)

        monkeypatch.setattr(CallStore, "__init__", opens)

        def reply(body):
            if judge.count == 10:
                full(opened[0], seconds)
            return '{"reason": "", "score": 3}'

        judge.reply = reply
        with pytest.raises(OutputError, match=r"disk is full.*no further calls were made") as raised:
            fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet")
        assert judge.count <= 14
        paid = judge.count
        kept = stored(tmp_path / "s.sqlite")
        if seconds:
            assert (kept, "are stored now" in str(raised.value)) == (paid, True)
        else:
            assert (kept < paid, f"{paid - kept} results that were paid for" in str(raised.value)) == (True, True)
        assert not (tmp_path / "o.parquet").exists()
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet", resume=True)
        assert judge.count == 100 + paid - kept


def test_a_full_disk_loses_no_reply_if_space_returns(tmp_path, disk):
    path = written(tmp_path / "rows.jsonl", 100)
    (disk / "ballast").write_bytes(bytes(200_000))
    with judge_server(delay=0.02) as judge:
        judge.reply = lambda body: json.dumps({"reason": "r" * 9_000, "score": 3})

        def free():
            end = time.monotonic() + 60
            while time.monotonic() < end and (
                judge.under_way or judge.count < 4 or shutil.disk_usage(disk).free > 9_000
            ):
                time.sleep(0.05)
            time.sleep(1.0)
            (disk / "ballast").unlink()

        helper = threading.Thread(target=free)
        options = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--concurrency", 4]
        helper.start()
        done = program("judge", "run", path, *options, "-o", tmp_path / "o.parquet", "--store", disk / "s.sqlite")
        helper.join()
        assert (done.code, "no further calls were made" in done.err, "are stored now" in done.err) == (4, True, True), (
            done.err
        )
        assert stored(disk / "s.sqlite") == judge.count < 100
        assert shutil.disk_usage(disk).total < 500_000


def test_calls_in_progress_are_stored_when_the_output_cannot_be_written(tmp_path, monkeypatch):
    path = written(tmp_path / "rows.jsonl", 600)
    with judge_server(delay=0.02) as judge:

        def broken(*arguments, **more):
            judge.delay = 0.15
            time.sleep(0.1)  # until further calls are in progress
            raise OutputError("cannot write o.parquet: No space left on device")

        monkeypatch.setattr("fastmetrics.engines.run.PartWriter.add", broken)
        monkeypatch.setattr(SIZES, "call_rows", 20)
        monkeypatch.setattr(SIZES, "answered_part_rows", 40)
        with pytest.raises(OutputError, match="No space left"):
            fm.judge(path, settings(tmp_path, judge), output=tmp_path / "o.parquet")
        assert stored(tmp_path / "s.sqlite") == judge.count < 600


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
    with pytest.raises(
        OutputError, match=r"can only be read, and [1-3] calls are not in it; no call was made; .*store"
    ):
        fm.judge(more, settings(tmp_path, judge, store=store), output=tmp_path / "more.parquet")
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


@pytest.mark.parametrize("command", ["judge run", "answer", "judge store"])
def test_an_output_must_not_be_the_store(tmp_path, monkeypatch, command):
    rows = written(tmp_path / "rows.jsonl", 2)
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "store.jsonl"
    with CallStore(store) as made:
        made.put(CallMaker(MODEL, None).call([Message("user", "a")]), MODEL, Answer("reply", "{}"))
    (tmp_path / "link.jsonl").symlink_to(store)
    os.link(store, tmp_path / "hard.jsonl")
    before = store.read_bytes()
    options = ["--model", "m", *(["--rubrics", "safety"] if command == "judge run" else ["--bot", "given-contexts"])]
    words = command.split()
    first = [*words, store] if command == "judge store" else [*words, rows, *options, "--store", store]
    for out in ("store.jsonl", "./store.jsonl", "link.jsonl", "hard.jsonl"):
        done = program(*first, "-o", out, "--overwrite")
        reason = {"judge store": "is an input|is a link"}.get(command, "is the store of calls")
        assert (done.code, bool(re.search(reason, done.err))) == (4, True), done.err
        assert (store.read_bytes(), store.is_file()) == (before, True)
    inside = [("new/s.sqlite", "new/"), ("o.jsonl.meta.json", "o.jsonl"), ("p.csv.partial/s", "p.csv")]
    for path, out in inside if command != "judge store" else ():
        done = program(*words, rows, *options, "--store", path, "-o", out)
        assert (done.code, "is the store of calls" in done.err) == (4, True), (out, done.err)
        assert not (tmp_path / path).exists()
