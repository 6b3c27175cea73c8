"""Surroundings in which libraries fail, signals, and the codes that errors exit with."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from fastmetrics.__main__ import main
from tests.support.program import ENVIRONMENT, command, jsonl, program


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(Path("in.jsonl"), *({"id": n, "answer": "a b", "reference": "b"} for n in range(20)))


def test_deleted_working_folder_is_an_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = program("score", tmp_path / "in.jsonl", "-o", tmp_path / "o.parquet", "-m", "token_f1")
    said = "error: the working folder was deleted; change to another one, for example: cd ~\n"
    assert (done.code, done.err) == (2, said)


@pytest.mark.parametrize("threads", ["0", "-3", "00"])
def test_variable_that_numba_refuses_is_an_error(threads, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    done = program("score", "in.jsonl", "-o", "o.csv")
    expected = f"error: the variable NUMBA_NUM_THREADS is {threads}; unset it, or set a number from 1 on\n"
    assert (done.code, done.err) == (2, expected)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl.gz"])
def test_long_names(suffix):
    written = 0
    for length in (200, 237, 240, 244, 250, 255, 256, 300):
        name = "n" * (length - len(suffix)) + suffix
        done = program("score", "in.jsonl", "-o", name, "-m", "token_f1")
        assert done.code in (0, 4), done.err
        if done.code:
            assert done.err == f"error: cannot write {Path(name).absolute()}: File name too long\n"
        written += not done.code
    assert written >= 2
    assert not [path for path in Path().iterdir() if path.name.startswith(".") or path.name.endswith(".partial")]


def test_pages_may_have_the_longest_names():
    jsonl(Path("s.jsonl"), *({"id": n, "token_f1": n / 20} for n in range(20)))
    for length, code in ((240, 0), (255, 0), (256, 4)):
        done = program("gate", "s.jsonl", "-r", "token_f1.mean >= 0", "--junit", "n" * (length - 4) + ".xml")
        assert (done.code, "Traceback" in done.err) == (code, False), done.err


def test_stream_without_a_temporary_folder_is_an_error(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/nonexistent"])
    done = program("score", "-", "-o", "o.csv", stdin=Path("in.jsonl").read_bytes())
    assert (done.code, "set TMPDIR to a folder that can be written" in done.err) == (3, True), done.err


@pytest.mark.parametrize("shape", ["(-3, 2)", "(3, -2)", "(10**15, 2)", "(2**62, 2**62)", "(" * 5000])
@pytest.mark.parametrize("packed", [False, True])
def test_odd_shapes_of_arrays_are_errors(shape, packed):
    import gzip

    shape = shape.replace("10**15", str(10**15)).replace("2**62", str(2**62))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.zeros(6, "<f4").tobytes()
    name = "odd.npy.gz" if packed else "odd.npy"
    Path(name).write_bytes(gzip.compress(data) if packed else data)
    done = program("vectors", "geometry", name)
    assert (done.code, f"error: {name}: cannot be read" in done.err) == (3, True), done.err


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "[" * 100_000, "a = " + "{a = " * 50_000, "a" + ".a" * 20_000]
)
def test_deep_rules_are_errors(text):
    jsonl(Path("s.jsonl"), {"id": 1, "token_f1": 0.5})
    Path("rules.toml").write_text(text)
    done = program("gate", "s.jsonl", "--rules", "rules.toml")
    assert (done.code, "error: rules.toml: " in done.err) == (3, True), done.err[-500:]


@pytest.mark.full
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [pytest.param("SIGTERM", 143, "terminated", marks=pytest.mark.full), ("SIGHUP", 129, "terminal closed")],
)
def test_signals_clean_up_and_say_so(number, code, word):
    """A run that reads a pipe waits for its end, which does not come before the signal."""
    os.mkfifo("pipe")
    words = command("score", "pipe", "--format", "jsonl", "-o", "o.csv", "-m", "token_f1")
    listens = partial(signal.signal, getattr(signal, number), signal.SIG_DFL)  # nohup leaves it ignored
    run = subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, preexec_fn=listens)  # noqa: PLW1509
    with open("pipe", "wb") as pipe:
        pipe.write(Path("in.jsonl").read_bytes())
        pipe.flush()
        time.sleep(0.5)
        run.send_signal(getattr(signal, number))
        _, err = run.communicate(timeout=300)
    assert (run.returncode, err.decode()) == (code, f"{word}\n")  # what a pipe gave is not resumed
    assert sorted(path.name for path in Path().iterdir()) == ["in.jsonl", "pipe"]


@pytest.mark.full
def test_ignored_hangup_stays_ignored():
    """As under nohup."""
    os.mkfifo("pipe")
    ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    words = command("score", "pipe", "--format", "jsonl", "-o", "o.csv", "-m", "token_f1")
    run = subprocess.Popen(words, env=ENVIRONMENT, preexec_fn=ignore, stdout=subprocess.DEVNULL)  # noqa: PLW1509
    with open("pipe", "wb") as pipe:
        pipe.write(Path("in.jsonl").read_bytes())
        pipe.flush()
        time.sleep(0.5)
        run.send_signal(signal.SIGHUP)
    assert run.wait(300) == 0


@pytest.mark.full
@pytest.mark.parametrize("name", ["finalizer", "callback"])
def test_signal_ends_the_program_where_exceptions_are_lost(name):
    """A finalizer's exception is dropped, and so is that of a function which LLVM calls back."""
    code = """
        import ctypes, signal, sys, time
        from fastmetrics.cli.exits import listen

        class Finalized:
            def __del__(self):
                signal.raise_signal(signal.SIGTERM)
                print("finalizer")

        def finalizer():
            Finalized()

        def callback():
            space = {"__name__": "llvmlite.binding", "signal": signal}
            exec("def called():\\n    signal.raise_signal(signal.SIGTERM)\\n    print('callback')", space)
            ctypes.CFUNCTYPE(None)(space["called"])()

        listen()
        globals()[sys.argv[1]]()
        time.sleep(60)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), name], check=False, capture_output=True, timeout=300
    )
    assert (done.returncode, done.stdout.decode().strip(), done.stderr) == (143, name, b"")


class _Panic(BaseException):
    """An exception outside Exception, as the panics of packages written in Rust."""


@pytest.mark.parametrize(
    "error", [ValueError("odd"), EOFError("cut"), BrokenPipeError(32, "pipe"), SystemExit(1), _Panic("odd")]
)
def test_a_traceback_never_exits_with_a_gates_code(tmp_path, error):
    (tmp_path / "scores.jsonl").write_text("".join(f'{{"id": {n}, "token_f1": 0.5}}\n' for n in range(9)))
    rule = ("gate", tmp_path / "scores.jsonl", "-r", "token_f1 >= 0.6")
    assert program(*rule).code == 1
    with mock.patch("fastmetrics.cli.comparison.gate", side_effect=error):
        done = program(*rule)
    assert (done.code, done.out) == (8, "")
    assert "Traceback" in done.err
    assert type(error).__name__ in done.err.splitlines()[-1]


def test_too_little_memory_is_reported_in_one_line(tmp_path):
    (tmp_path / "scores.jsonl").write_text('{"id": 1, "token_f1": 0.5}\n')
    rule = ("gate", tmp_path / "scores.jsonl", "-r", "token_f1 >= 0 with n >= 1")
    assert program(*rule).code == 0
    with mock.patch("fastmetrics.cli.comparison.gate", side_effect=MemoryError("1 PB")):
        done = program(*rule)
    advice = "use fewer --threads, or a machine with more memory"
    assert (done.code, done.err) == (8, f"error: not enough memory; {advice}\n")


def test_an_error_outside_a_command_exits_with_8(monkeypatch):
    monkeypatch.setattr("fastmetrics.cli.program.app", mock.Mock(side_effect=RuntimeError("odd")))
    monkeypatch.setattr("fastmetrics.__main__.listen", lambda: None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 8


def test_a_broken_installation_exits_with_8(tmp_path):
    (tmp_path / "run.py").write_text(
        textwrap.dedent("""
            import runpy, sys
            sys.modules["typer"] = None
            sys.argv = ["fastmetrics", "gate", "scores.csv", "-r", "token_f1 >= 0.6"]
            runpy.run_module("fastmetrics", run_name="__main__")
        """)
    )
    done = subprocess.run([sys.executable, tmp_path / "run.py"], check=False, capture_output=True, env=ENVIRONMENT)
    assert (done.returncode, b"ImportError" in done.stderr or b"ModuleNotFoundError" in done.stderr) == (8, True)
