"""An interrupt at any moment of a run ends the program with code 130 and without a traceback."""

import json
import signal
import subprocess
import sys

import pytest

from fastmetrics.commands.program.interrupts import interruptible
from tests.support.program import ENVIRONMENT, program

pytestmark = pytest.mark.slow

MOMENTS = """
import inspect, json, os, signal, sys
from fastmetrics import cli

def run(moment):
    '''The exit code of the program, interrupted at one of its calls of functions, and how many it made.'''
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        if event != "call" or frame.f_code.co_flags & inspect.CO_GENERATOR:
            return  # a generator that is interrupted here would skip its finally, unlike one that a signal interrupts
        calls += 1
        if calls == moment:
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    try:
        cli.main()
        code = 0
    except SystemExit as left:
        code = left.code or 0
    except KeyboardInterrupt:
        code = "traceback"
    sys.setprofile(None)
    return code, calls

def forked(moment):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr = open(writing, "w")
        answer = run(moment)
        print(json.dumps(answer), flush=True)
        os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        *printed, last = answer.read().splitlines()
    os.waitpid(child, 0)
    return printed, *json.loads(last)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["fastmetrics", *sys.argv[1:]]
run(0)  # with imports
calls = forked(0)[2]
for moment in [*range(2, calls, calls // 40), *range(calls - 60, calls)]:  # the last call is made after the end
    printed, code, made = forked(moment)
    wrong = [line for line in printed if "Traceback" in line or "ignored" in line]
    if (code, wrong) != (130, []):
        sys.exit(f"at call {moment} of {calls}: {code}: {printed}")
print(calls, "calls")
"""


def test_an_interrupt_at_any_call_is_answered(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"answer": "a b", "reference": "b"}) + "\n" for _ in range(30)))
    assert program("score", rows, "-m", "token_f1", "-o", tmp_path / "scores.parquet").code == 0
    run = subprocess.run(
        [sys.executable, "-c", MOMENTS, "summarize", str(tmp_path / "scores.parquet")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith(" calls\n")


def _catches(replacement):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        if replacement is not None:
            raise replacement from None


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("replacement", [None, OSError("cancelled")])
def test_an_interrupt_that_a_library_catches_is_raised_at_the_end(replacement):
    with pytest.raises(KeyboardInterrupt), interruptible("last words"):
        _catches(replacement)


def test_a_block_without_an_interrupt_ends_as_it_would():
    with interruptible("last words"):
        pass
    with pytest.raises(OSError, match="broken"), interruptible("last words"):
        raise OSError("broken")
