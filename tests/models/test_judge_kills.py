"""Runs of a judge that are killed or interrupted at random moments, and go on from the store."""

import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.judge_server import judge_server
from tests.support.program import ENVIRONMENT, jsonl, program

pytestmark = pytest.mark.full

NURSERY = """
import os, signal, sys
import httpx, pandas, pyarrow.parquet
import fastmetrics.cli.options, fastmetrics.models.judge
from fastmetrics.__main__ import main
from fastmetrics.stats import fingerprints
from fastmetrics.stats import sums as moments
from fastmetrics.tables import json_lines as jsonl
jsonl.record_of(b"{}")
fingerprints.fingerprint([pyarrow.array(["a"])])
moments.State().add(pyarrow.array([1.0]))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what runs in its background ignore interrupts
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.argv = ["fastmetrics", *line.rstrip("\\n").split("\\t")]
        sys.stdin, sys.stdout = open(os.devnull), open(os.devnull, "w")
        try:
            main()
        except SystemExit as left:
            os._exit(left.code or 0)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
CONCURRENCY = 8


class Nursery:
    """A process that has loaded everything, of which each run of the program is a fork."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**ENVIRONMENT, "OPENAI_API_KEY": "sk-test"},
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def start(self, *arguments):
        """Begin a run; its number as a process."""
        self._process.stdin.write("\t".join(map(str, arguments)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def code(self):
        """Wait for the end of the run; its exit code, or the number of the signal that ended it, below 0."""
        return int(self._process.stdout.readline())

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def nursery():
    """Forks that start at once."""
    made = Nursery()
    yield made
    made.close()


def wait_until(happened):
    """Wait for something, two minutes at most."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.001)


def test_kills_lose_the_calls_under_way_and_nothing_else(tmp_path, nursery, full):
    kills, count, rng = (20, 500, random.Random(11)) if full else (3, 150, random.Random(11))
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
            child = nursery.start("judge", "run", path, *common, *store, *out)
            wait_until(lambda wanted=wanted, before=before: judge.count >= before + wanted)
            time.sleep(rng.random() * 0.02)
            os.kill(child, signal.SIGKILL)
            assert nursery.code() == -signal.SIGKILL, kill
            assert not (tmp_path / "killed.parquet").exists()
            judge.limit = math.inf
            wait_until(lambda: judge.under_way == 0)
        nursery.start("judge", "run", path, *common, *store, *out)
        assert nursery.code() == 0
        assert count <= judge.count <= count + kills * CONCURRENCY
        nursery.start(
            "judge", "run", path, *common, "--store", tmp_path / "b.sqlite", "-o", tmp_path / "undisturbed.parquet"
        )
        assert nursery.code() == 0
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "undisturbed.parquet").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir() if "partial" in one.name) == []


def test_an_interrupt_ends_a_run_at_once_and_cleanly(tmp_path, nursery):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": "a"} for n in range(200)))
    with judge_server(delay=0.02, limit=60) as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        child = nursery.start("judge", "run", path, *common, "-o", tmp_path / "o.parquet", "--concurrency", CONCURRENCY)
        wait_until(lambda: judge.count > 60)
        os.kill(child, signal.SIGINT)
        assert nursery.code() == 130
        judge.limit = math.inf
        assert not (tmp_path / "o.parquet").exists()
        done = program("judge", "run", path, *common, "-o", tmp_path / "o.parquet", "--resume")
        assert (done.code, judge.count <= 200 + CONCURRENCY) == (0, True)


def test_two_processes_that_share_a_store_have_the_same_replies(tmp_path, nursery):
    path = jsonl(tmp_path / "rows.jsonl", *({"id": n, "question": f"q {n}", "answer": "a"} for n in range(150)))
    with judge_server(delay=0.005) as judge:
        common = ["--model", "m", "--base-url", judge.url, "--rubrics", "safety", "--store", tmp_path / "s.sqlite"]
        nursery.start("judge", "run", path, *common, "-o", tmp_path / "one.parquet")
        done = program("judge", "run", path, *common, "-o", tmp_path / "two.parquet")
        assert (nursery.code(), done.code) == (0, 0)
        assert 150 <= judge.count <= 300
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
