"""What ``-m "not slow"`` leaves out, and the hint at tests that lack the mark."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import ENVIRONMENT

pytestmark = pytest.mark.slow

TESTS = """
import pytest
from hypothesis import settings

def test_examples():
    print("examples", settings().max_examples)

@pytest.mark.slow
def test_marked():
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_unmarked(number):
    pass

@pytest.fixture
def s3_process():
    pass

@pytest.fixture
def bucket(s3_process):
    pass

def test_of_a_server(bucket):
    pass
"""


def _run(folder: Path, *options: str) -> str:
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = a_test.py b_test.py\nmarkers = slow\n")
    (folder / "a_test.py").write_text("def test_quick():\n    pass\n")
    (folder / "b_test.py").write_text(TESTS)
    (folder / "conftest.py").write_text("import tests.conftest\n\ntests.conftest.LONG = 0.0\n")
    command = [sys.executable, "-m", "pytest", "-sv", "-p", "tests.conftest", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_not_slow_leaves_out_marked_tests_and_those_of_servers_and_tries_few_examples(tmp_path: Path) -> None:
    printed = _run(tmp_path, "-m", "not slow")
    assert "4 passed, 2 deselected" in printed
    assert "examples 8\n" in printed
    assert "examples 60\n" in _run(tmp_path)


@pytest.mark.parametrize("processes", [[], ["-n", "1"]])
def test_a_full_run_names_long_tests_without_the_mark(tmp_path: Path, processes: list[str]) -> None:
    printed = _run(tmp_path, *processes)
    first, hint = printed.split("tests of 0 s or more without the mark slow")
    assert first.index("b_test.py") < first.index("a_test.py::test_quick")
    assert all(hint.count(f" s  {test}\n") == 1 for test in ("b_test.py::test_unmarked", "a_test.py::test_quick"))
    assert "test_marked" not in hint
    assert "test_of_a_server" not in hint
    assert "without the mark" not in _run(tmp_path, "b_test.py", *processes)
