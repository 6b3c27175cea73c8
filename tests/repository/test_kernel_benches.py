"""The benchmarks of kernels cover every family and every file of kernels, and run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastmetrics
from bench.kernels import BENCHES
from tests.support.program import ENVIRONMENT, ROOT

pytestmark = pytest.mark.slow

KERNELS = Path(fastmetrics.__file__).parent / "kernels"

REACHED = """
import inspect, sys, threading
from bench.kernels import BENCHES, Rows

reached = set()

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a function, not the body of a class
        reached.add(frame.f_code.co_filename)

rows = Rows(24)
threading.setprofile(note)  # work runs beside the main thread
for names in BENCHES.values():
    for call in names.values():
        sys.setprofile(note)
        call(rows)
        sys.setprofile(None)
print(*reached, sep="\\n")
"""


def test_every_family_of_kernels_has_benchmarks() -> None:
    folders = {path.parent.name for path in KERNELS.glob("*/*.py")}
    assert set(BENCHES) == folders
    assert all(BENCHES.values())
    names = [name for names in BENCHES.values() for name in names]
    assert len(names) == len(set(names))


def test_benchmarks_run_every_file_of_kernels() -> None:
    """As plain Python, in which every call is seen."""
    done = subprocess.run(
        [sys.executable, "-c", REACHED],
        env={**ENVIRONMENT, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    files = {str(path) for path in KERNELS.glob("*/*.py") if path.name != "__init__.py"}
    reached = {os.path.realpath(name) for name in done.stdout.splitlines()}
    assert {os.path.realpath(name) for name in files} - reached == set()
