"""Stores that several runs share, that are full, that can only be read, and that an output must not replace."""

import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import Answer, CallMaker, Message, Model
from tests.support.goldens import refused
from tests.support.judge_server import completion, judge_server, with_client
from tests.support.optional_parts import NO_MOUNT
from tests.support.program import jsonl, program

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


def test_runs_that_share_a_store_pay_twice_only_for_what_they_ask_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(SIZES, "call_rows", 20)
    path = written(tmp_path / "rows.jsonl", 200)
    outputs = [tmp_path / f"{name}.parquet" for name in "abc"]
    with judge_server(delay=0.005) as judge, ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda output: fm.judge(path, settings(tmp_path, judge), output=output), outputs))
        assert 200 <= judge.count <= 3 * 200
        assert stored(tmp_path / "s.sqlite") == 200
        assert [run.spending.requests + run.spending.from_store for run in made] == [200] * 3
        assert sum(run.spending.requests for run in made) == (paid := judge.count)
        fm.judge(path, settings(tmp_path, judge), output=tmp_path / "again.parquet")
        assert judge.count == paid
    assert len({output.read_bytes() for output in outputs}) == 1


def test_a_run_that_begins_later_asks_nothing_that_was_answered(tmp_path):
    path = written(tmp_path / "rows.jsonl", 120)
    with judge_server(delay=0.02) as judge:
        first = threading.Thread(
            target=fm.judge, args=(path, settings(tmp_path, judge)), kwargs={"output": tmp_path / "a.parquet"}
        )
        first.start()
        while judge.count < 60:
            time.sleep(0.002)
        known = stored(tmp_path / "s.sqlite")
        made = fm.judge(path, settings(tmp_path, judge), output=tmp_path / "b.parquet")
        first.join()
        assert made.spending.requests <= 120 - known
        assert made.spending.requests + made.spending.from_store == 120
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


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
    refused(
        OutputError,
        "store",
        lambda: fm.judge(more, settings(tmp_path, judge, store=store), output=tmp_path / "more.parquet"),
    )
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
        made.put(CallMaker(MODEL, None).call([Message("user", "a")]), MODEL, Answer("reply", "{}"))
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
