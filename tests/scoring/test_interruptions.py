"""Runs cut short: killed, out of room, out of rights; and what a terminal sees of a run that is not."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmetrics.base import progress
from tests.support.program import ENVIRONMENT, Done, alone, command, jsonl, program

pytestmark = [pytest.mark.usefixtures("hears_interrupts")]

ROWS = 200_000


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    answers = pa.array([f"some words {n % 977} and {n % 31}" for n in range(ROWS)])
    table = pa.table({"id": range(ROWS), "answer": answers, "reference": answers.take(pa.array(range(ROWS)[::-1]))})
    table = table.append_column("question", table["reference"])
    pq.write_table(table, path, row_group_size=20_000)
    return path


def _started(*words):
    return subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _cut_short(out, number, *options):
    """Send a run a signal after its first part; one that was over before it came is run again. What it left said."""
    parts = out.with_name(f"{out.name}.partial")
    for _ in range(20):
        run = _started(*command("score", *options, "-o", out, "--quiet"))
        while run.poll() is None and not any(parts.glob("part-*.json")):
            time.sleep(0.001)
        run.send_signal(number)
        printed, said = run.communicate()
        if run.returncode:
            return Done(run.returncode, printed.decode(), said.decode())
        out.unlink()
    raise AssertionError("every run was over before its first part was noticed")


@pytest.mark.full
def test_killed_run_resumes_to_the_same_bytes(tmp_path, rows):
    whole, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    options = ("--threads", 1, "-m", "token_f1,jaccard,exact_match")
    assert _cut_short(out, signal.SIGKILL, rows, *options) == Done(-signal.SIGKILL, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet.partial"]
    refused = program("score", rows, "-o", out, *options)
    assert refused.code == 4
    assert refused.err == (
        f"error: {out}.partial contains an unfinished run; "
        "choose --resume to continue it or --overwrite to start again\n"
    )
    other = program("score", rows, "-o", out, "--resume", "-m", "token_f1")
    assert other.code == 4
    gone = [f"scores.{name} was set, is none" for name in ("jaccard", "exact_match")]
    assert other.err.startswith(f"error: cannot resume {out}: {'; '.join(gone)}; ")
    resumed = program("score", rows, "-o", out, "--resume", *options)
    assert resumed.code == 0
    assert " of them earlier) scored in " in resumed.out
    assert program("score", rows, "-o", whole, *options).code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "whole.parquet"]


@pytest.mark.full
def test_disk_full_error_keeps_finished_parts(tmp_path, rows):
    """A limit on the size of files stands for a full disk: it needs no rights, and fails at the same calls."""

    def cramped(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    out = tmp_path / "out.parquet"
    done = alone("score", rows, "-o", out, "-m", "token_f1", preexec_fn=partial(cramped, 100_000))
    assert (done.code, done.out) == (4, "")
    assert done.err == f"error: cannot write {out}: File too large\n"
    assert not out.exists()
    assert program("score", rows, "-o", out, "-m", "token_f1", "--resume", "-q").code == 0
    assert pq.read_metadata(out).num_rows == ROWS


SLOW = """
import time

import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher")
def slow_score(answer: str) -> float:
    time.sleep(0.001)
    return 0.5
"""
FEW = 400


@pytest.fixture
def slow(tmp_path, rows):
    """A few rows, the options of a score that takes half a second for them, and where a plugin for it is."""
    (tmp_path / "slow.py").write_text(SLOW)
    pq.write_table(pq.read_table(rows).slice(0, FEW), tmp_path / "rows.parquet")
    options = ("-m", "slow_score", "--threads", 1, "--batch-rows", 25)
    return tmp_path / "rows.parquet", ("--plugin", tmp_path / "slow.py", *options)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), pytest.param(signal.SIGTERM, 143, "terminated", marks=pytest.mark.full)],
)
def test_a_signal_ends_the_run_with_its_code_and_one_line(tmp_path, rows, number, code, word):
    out = tmp_path / "out.parquet"
    done = _cut_short(out, number, rows, "--threads", 1)
    assert done == Done(code, "", f"{word}; run again with --resume to continue\n")
    assert not out.exists()


STOPPED = """
import os, signal, time
import fastmetrics as fm

@fm.metric(bounds=(0, 9), better="higher")
def own_score(answer: str) -> float:
    if answer == os.environ.get("STOP_AT"):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)  # the run does not wait for it
    return float(len(answer))
"""


@pytest.mark.parametrize(("row", "kept"), [(0, 0), (5, 3)])
def test_a_stopped_run_promises_to_go_on_where_rows_are_kept(tmp_path, row, kept):
    """The rows of a slow metric are made a few at a time, so that few of them are lost, whatever its parts."""
    (tmp_path / "own.py").write_text(STOPPED)
    rows = jsonl(tmp_path / "rows.jsonl", *({"id": n, "answer": f"a{n}"} for n in range(9)))
    words = ("score", rows, "--plugin", tmp_path / "own.py", "-m", "own_score", "-o", tmp_path / "o.parquet")
    done = alone(*words, env={**ENVIRONMENT, "STOP_AT": f"a{row}"})
    assert done == Done(130, "", "interrupted" + "; run again with --resume to continue" * bool(kept) + "\n")
    assert [path.name for path in tmp_path.glob("o.*")] == ["o.parquet.partial"] * bool(kept)
    if kept:
        assert program(*words, "-m", "answer_words", "--resume").code == 4
    again = program(*words, "--resume")
    assert f"9 rows{f' ({kept} of them earlier)' * bool(kept)} scored in" in again.out


UNANSWERED = """
import signal
import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher")
def stubborn_score(answer: str) -> float:
    return 0.5

class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # Python prints and forgets what a finalizer raises

Finalized()
signal.raise_signal(signal.SIGINT)
"""


@pytest.mark.full
def test_a_second_interrupt_ends_the_process_at_once(tmp_path, rows):
    (tmp_path / "plugin.py").write_text(UNANSWERED)
    done = alone("score", rows, "-o", tmp_path / "out.parquet", "--plugin", tmp_path / "plugin.py")
    assert (done.code, done.out) == (-signal.SIGINT, "")


def test_without_a_terminal_a_line_is_printed_now_and_then(tmp_path, slow, monkeypatch):
    rows, options = slow
    monkeypatch.setattr(progress, "AFTER", 0.1)
    words = ("score", rows, "-o", tmp_path / "out.parquet", *options)
    done = program(*words, progress_every=0.1)
    assert done.code == 0
    lines = done.err.splitlines()
    assert all(line.startswith("score: ") for line in lines)
    assert any(re.fullmatch(r"score: \d+%, [\d,]+ of 400 rows, [\d,]+/s, \d:\d\d left", line) for line in lines)
    quiet = program(*words, "--overwrite", "--quiet", progress_every=0.1)
    assert (quiet.code, quiet.err) == (0, "")


WORDS = 1_200_000
"""Words of a text whose longest common subsequence with another takes minutes."""

LONG = f"""
import sys
import pyarrow as pa
import fastmetrics as fm
table = pa.table({{"answer": ["1 2 " * {WORDS // 2}], "reference": ["2 1 " * {WORDS // 2}]}})
fm.rouge(["a"], ["a"], types="rougeL")
print("begun", flush=True)
"""
SCORED = """
try:
    fm.score(table, ["rougeL_f1"], threads=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
"""


def _busy(process, seconds):
    """Wait until a process has taken so many more seconds of the processor; False if it ended before."""

    def taken():
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
            return sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    begun = taken()
    while process.poll() is None and taken() < begun + seconds:
        time.sleep(0.05)
    return process.poll() is None


def _interrupted(run):
    """Interrupt a run that is in the middle of one row; how it ended and what it said.

    The limit is far below what the row takes: a run that hears the interrupt only after it does not pass.
    """
    assert _busy(run, 0.5)
    run.send_signal(signal.SIGINT)
    try:
        printed, said = run.communicate(timeout=45)
    except subprocess.TimeoutExpired:
        run.kill()
        run.communicate()
        pytest.fail("the interrupt was not heard")
    return Done(run.returncode, printed.decode(), said.decode())


def _begun(program, *arguments):
    run = _started(sys.executable, "-c", LONG + program, *arguments)
    assert run.stdout.readline() == b"begun\n"
    return run


@pytest.mark.full
@pytest.mark.parametrize("threads", ["1", "2"])
def test_interrupt_is_handled_within_a_row(threads):
    """The thread that scores is left alone: it holds up neither the exception nor the end of Python."""
    assert _interrupted(_begun(SCORED, threads)) == Done(0, "interrupted\n", "")


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_within_a_row_keeps_finished_parts(tmp_path, threads):
    """The rows before it are in the work folder, from where --resume goes on."""
    out, work = tmp_path / "out.parquet", tmp_path / "out.parquet.partial"
    short = pa.table({"answer": ["1 2"] * 200_000, "reference": ["2 1"] * 200_000})
    pq.write_table(short, tmp_path / "a.parquet", row_group_size=100_000)
    long = pa.table({"answer": ["1 2 " * (WORDS // 2)], "reference": ["2 1 " * (WORDS // 2)]})
    pq.write_table(long, tmp_path / "b.parquet")
    options = ("-m", "rougeL_f1", "--threads", threads, "--quiet")
    inputs = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    run = _started(*command("score", *inputs, "-o", out, *options))
    while not any(work.glob("part-*.json")):
        assert run.poll() is None, run.communicate()
        time.sleep(0.01)
    assert _interrupted(run) == Done(130, "", "interrupted; run again with --resume to continue\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "out.parquet.partial"]
    pq.write_table(long.slice(0, 0), tmp_path / "b.parquet")
    refused = program("score", *inputs, "-o", out, *options, "--resume")
    assert refused.code == 4, "the input has changed"
