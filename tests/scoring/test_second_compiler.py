"""The process that compiles kernels beside a run: when it starts, what it compiles, and its end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from fastmetrics.core.names.input_columns import COLUMNS
from fastmetrics.core.process.threads import cores
from fastmetrics.core.process.work_watch import COMPILING, WATCHERS, report
from fastmetrics.kernels import jit_turns
from fastmetrics.kernels.jit_turns import Turn
from fastmetrics.plan.plan import plan
from fastmetrics.plan.score_request import ScoreRequest
from fastmetrics.scoring import second_compiler as module
from fastmetrics.scoring.score import score
from fastmetrics.scoring.second_compiler import SecondCompiler, made_column, second_compiler
from tests.scoring.test_processes import copied, said, start
from tests.support.program import ENVIRONMENT

several_cores = pytest.mark.skipif(cores() == 1, reason="a machine of one core starts no second process")

TABLE = pa.table(
    {"answer": ["in Paris"], "reference": ["Paris"], "retrieved_ids": [["a", "b"]], "relevant_ids": [["b"]]}
)
METRICS = ["answer_length", "repeated_ids", "reciprocal_rank"]
MESSAGE = module._message(plan(TABLE.column_names, ScoreRequest(METRICS)), TABLE.schema)

SCORED = f"""
import json, sys
processes = []
sys.addaudithook(lambda event, details: processes.append(details[1]) if event == "subprocess.Popen" else None)
import fastmetrics as fm
from fastmetrics.scoring import second_compiler
second_compiler.idle_cores = lambda seconds: IDLE
table = {TABLE.to_pydict()}
scores = fm.score(table, {METRICS}, threads=THREADS).to_pydict()
kernels = [k for n, m in sys.modules.items() if n.startswith("fastmetrics.kernels.")
           for k in vars(m).values() if hasattr(k, "py_func")]
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)
print(json.dumps([scores, sum("compile_requested" in code for *_, code in processes), misses]))
"""
"""Called from a script without a guard ``__name__ == "__main__"``."""


def scored(cache, threads=2, before="", idle=1.0, **environment):
    code = before + SCORED.replace("THREADS", str(threads)).replace("IDLE", str(idle))
    return said(start(code, **{"NUMBA_CACHE_DIR": cache, **environment}))


@pytest.mark.slow
@several_cores
def test_it_starts_once_and_only_if_a_kernel_is_missing(tmp_path):
    expected = score(TABLE, METRICS).to_pydict()
    scores, processes, _ = scored(tmp_path)
    assert (scores, processes) == (expected, 1)
    assert scored(tmp_path) == [expected, 0, 0]


@pytest.mark.slow
def test_a_run_of_one_thread_has_none(tmp_path):
    scores, processes, misses = scored(tmp_path, threads=1)
    assert (scores, processes) == (score(TABLE, METRICS).to_pydict(), 0)
    assert misses > 0


@pytest.mark.slow
@several_cores
@pytest.mark.parametrize(("idle", "processes"), [(0.1, 0), (None, 1)])
def test_it_starts_only_if_no_core_is_known_to_be_missing(tmp_path, idle, processes):
    assert scored(tmp_path, idle=idle)[1] == processes


@pytest.mark.slow
@several_cores
def test_it_does_not_start_if_no_folder_can_be_written_to(tmp_path):
    install = copied(tmp_path)
    nowhere = tmp_path / "fastmetrics" / "cli.py" / "cache"
    scores, processes, misses = scored(nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere, **install)
    assert (scores, processes) == (score(TABLE, METRICS).to_pydict(), 0)
    assert misses > 0


@pytest.mark.slow
@several_cores
@pytest.mark.parametrize("interpreter", ["/bin/false", "/nowhere/python", ""])
def test_a_run_compiles_alone_if_it_cannot_start(tmp_path, interpreter):
    scores, _, misses = scored(tmp_path, before=f"import sys; sys.executable = {interpreter!r}\n")
    assert scores == score(TABLE, METRICS).to_pydict()
    assert misses > 0


@pytest.mark.slow
def test_it_compiles_what_the_run_needs(tmp_path):
    process = started(NUMBA_CACHE_DIR=str(tmp_path))
    process.stdin.write(MESSAGE)
    process.stdin.flush()
    assert process.wait(300) == 0
    process.communicate()
    assert scored(tmp_path)[1:] == [0, 0]


def started(**environment):
    code = "from fastmetrics.scoring.second_compiler import compile_requested; compile_requested()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code], env={**ENVIRONMENT, **environment}, stdin=subprocess.PIPE
    )


@pytest.mark.slow
@pytest.mark.parametrize("message", [b"", MESSAGE])
def test_it_ends_with_its_parent(tmp_path, message):
    """The system closes the standard input that a dead parent held; a kernel is compiled to its end at most."""
    process = started(NUMBA_CACHE_DIR=str(tmp_path))
    process.stdin.write(message)
    process.stdin.close()
    assert process.wait(120) == 0


@pytest.mark.slow
@several_cores
def test_it_ends_with_the_run(monkeypatch):
    processes = []
    start_process = module._start
    monkeypatch.setattr(module, "_start", lambda: processes.append(start_process()) or processes[-1])
    monkeypatch.setattr(module, "idle_cores", lambda seconds: 1.0)
    monkeypatch.setattr(module, "takes_turns", lambda: True)
    with second_compiler(None):
        report(COMPILING)
        report(COMPILING)
        wait_for(lambda: processes)
    assert [process.returncode for process in processes] == [-signal.SIGKILL]
    report(COMPILING)
    assert len(processes) == 1


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_starts_after_the_end(monkeypatch):
    watches, ends = threading.Event(), threading.Event()
    monkeypatch.setattr(module, "idle_cores", lambda seconds: watches.set() or ends.wait(60) or 1.0)
    monkeypatch.setattr(module, "takes_turns", lambda: True)
    monkeypatch.setattr(module, "_start", pytest.fail)
    second, before = SecondCompiler(), threading.active_count()
    second.watch(COMPILING)
    assert watches.wait(60)
    second.end()
    ends.set()
    wait_for(lambda: threading.active_count() == before)
    second.watch(COMPILING)
    assert threading.active_count() == before
    assert second._process is None
    with second_compiler(1):
        assert not any(getattr(watch, "__self__", None).__class__ is SecondCompiler for watch in WATCHERS)


def test_request_leaves_out_what_another_process_cannot_compute():
    metrics = ["token_f1", "grounding_overlap", "ndcg@10"]
    columns = {name: name for name in COLUMNS if name in ("answer", "reference", "contexts", "context")}
    names = [*columns, "retrieved_ids", "relevant_ids"]
    planned = plan(names, ScoreRequest(metrics))
    request = json.loads(module._message(planned, pa.schema([(name, pa.string()) for name in names])))
    assert request["metrics"] == ["ndcg@10", "token_f1"]


HELD = """
import sys
from fastmetrics.kernels.jit_turns import Turn
from fastmetrics.kernels.text import tokenize
cache = tokenize.tokenize._cache
assert cache._open() and not Turn(cache._cache_path, cache._impl.filename_base).take()
print(cache._cache_path, flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.skipif(not jit_turns.HAS_TURNS, reason="this system has no file locks of POSIX")
def test_it_does_not_wait_for_the_kernel_that_finds_words(tmp_path):
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen([sys.executable, "-c", HELD], **pipes) as holder:
        folder = Path(holder.stdout.readline().strip())
        process = started(NUMBA_CACHE_DIR=str(tmp_path))
        process.stdin.write(module._message(plan(TABLE.column_names, ScoreRequest(["token_f1"])), TABLE.schema))
        process.stdin.flush()
        wait_for(lambda: list(tmp_path.rglob("token_overlap.*.nbi")))
        assert not list(folder.glob("tokenize.tokenize-*"))
        assert process.poll() is None
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert process.wait(120) == 0
        process.communicate()
        assert list(folder.glob("tokenize.tokenize-*"))


@pytest.mark.slow
def test_every_metric_can_be_scored_without_the_kernel_that_finds_words():
    lists = dict.fromkeys(("contexts", "context_ids", "retrieved_ids", "relevant_ids"), pa.list_(pa.string()))
    texts = dict.fromkeys(("question", "answer", "reference"), pa.string())
    schema = pa.schema({**texts, **lists, "latency_ms": pa.float64()})
    message = module._message(plan(schema.names, ScoreRequest(suites=["all"])), schema)
    process = started(NUMBA_DISABLE_JIT="1")
    process.stdin.write(message)
    process.stdin.flush()
    assert process.wait(120) == 0
    process.communicate()


@pytest.mark.parametrize(
    "type_",
    [
        *(pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.bool_()),
        *(pa.float32(), pa.uint8(), pa.list_(pa.large_string()), pa.large_list(pa.list_(pa.int64())), pa.null()),
        *(pa.list_(pa.float32(), 1), pa.struct([("a", pa.int8())]), pa.timestamp("us"), pa.decimal128(5, 2)),
    ],
    ids=str,
)
def test_a_row_is_made_of_any_type(type_):
    column = made_column(type_)
    assert (column.type, len(column)) == (type_, 1)


HOLDER = """
import sys, time
from fastmetrics.kernels.jit_turns import Turn
turn = Turn(sys.argv[1], "kernel")
print(turn.take(), flush=True)
sys.stdin.readline()
turn.give_back()
print("free", flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.skipif(not jit_turns.HAS_TURNS, reason="this system has no file locks of POSIX")
def test_a_turn_is_waited_for_and_freed_by_death(tmp_path, monkeypatch):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "False\n"
        monkeypatch.setattr(jit_turns, "PATIENCE", 0.1)
        turn, other = Turn(str(tmp_path), "kernel"), Turn(str(tmp_path), "another kernel")
        assert (turn.take(), turn._handle) == (True, None), "waited in vain"
        assert (other.take(), other._handle is None) == (False, False)
        other.give_back()
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "free\n"
        assert (turn.take(), turn._handle is None) == (False, False)
        turn.give_back()
        holder.kill()
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "False\n"
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert turn.take() is False
        turn.give_back()


def test_without_a_writable_folder_there_is_no_turn(tmp_path):
    turn = Turn(str(tmp_path / "missing"), "kernel")
    assert turn.take() is False
    turn.give_back()
    assert not list(tmp_path.iterdir())
