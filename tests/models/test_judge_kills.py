"""Runs of a judge that are killed or interrupted at random moments, and go on from the store."""

import math
import random
import signal
import subprocess
import time

import pytest

from tests.support.judge_server import judge_server
from tests.support.program import ENVIRONMENT, command, jsonl, program

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("hears_interrupts")]

CONCURRENCY = 8


def started(*arguments):
    """The program in a process of its own."""
    environment = {**ENVIRONMENT, "OPENAI_API_KEY": "sk-test"}
    return subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.DEVNULL)


def wait_until(happened):
    """Wait for something, two minutes at most."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.001)


def test_kills_lose_the_calls_under_way_and_nothing_else(tmp_path):
    kills, count, rng = 6, 500, random.Random(11)
    questions = [*range(count), *range(100)]  # some questions occur twice
    path = jsonl(
        tmp_path / "rows.jsonl", *({"id": i, "question": f"q {n}", "answer": "a"} for i, n in enumerate(questions))
    )
    with judge_server(delay=0.01) as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--concurrency", CONCURRENCY]
        for kill in range(kills):
            before = judge.count
            store, out = ["--store", tmp_path / "killed.sqlite"], ["-o", tmp_path / "killed.parquet", "--resume"]
            wanted = rng.randrange(0, 20)
            judge.limit = before + wanted + CONCURRENCY  # however late the kill comes, the run is not over
            child = started("judge", "run", path, *common, *store, *out)
            wait_until(lambda wanted=wanted, before=before: judge.count >= before + wanted)
            time.sleep(rng.random() * 0.02)
            child.kill()
            assert child.wait() == -signal.SIGKILL, kill
            assert not (tmp_path / "killed.parquet").exists()
            judge.limit = math.inf
            wait_until(lambda: judge.under_way == 0)
        assert started("judge", "run", path, *common, *store, *out).wait() == 0
        assert count <= judge.count <= count + kills * CONCURRENCY
        store, out = ["--store", tmp_path / "b.sqlite"], ["-o", tmp_path / "undisturbed.parquet"]
        assert started("judge", "run", path, *common, *store, *out).wait() == 0
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "undisturbed.parquet").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir() if "partial" in one.name) == []


def test_an_interrupt_ends_a_run_at_once_and_cleanly(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": "a"} for n in range(200)))
    with judge_server(delay=0.02, limit=60) as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        child = started("judge", "run", path, *common, "-o", tmp_path / "o.parquet", "--concurrency", CONCURRENCY)
        wait_until(lambda: judge.count > 60)
        child.send_signal(signal.SIGINT)
        assert child.wait() == 130
        judge.limit = math.inf
        assert not (tmp_path / "o.parquet").exists()
        done = program("judge", "run", path, *common, "-o", tmp_path / "o.parquet", "--resume")
        assert (done.code, judge.count <= 200 + CONCURRENCY) == (0, True)


def test_two_processes_that_share_a_store_have_the_same_replies(tmp_path):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": "a"} for n in range(150)))
    with judge_server(delay=0.005) as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        other = started("judge", "run", path, *common, "-o", tmp_path / "one.parquet")
        done = program("judge", "run", path, *common, "-o", tmp_path / "two.parquet")
        assert (other.wait(), done.code) == (0, 0)
        assert 150 <= judge.count <= 300
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
