"""Unexpected errors exit with a code of their own: 1 is a gate's unmet rule."""

import subprocess
import sys
import textwrap
from unittest import mock

import pytest

from fastmetrics.__main__ import main
from tests.support.program import ENVIRONMENT, program


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
