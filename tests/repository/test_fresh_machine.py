"""README's commands are found by a script, and run as on a machine that has nothing else."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import ENVIRONMENT

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"


def _script(name: str, *arguments: object, text: str = "", **variables: str) -> str:
    command = [str(one) for one in (SCRIPTS / name, *arguments)]
    environment = {**os.environ, **variables}
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=True).stdout


def test_commands_of_the_readme_are_extracted() -> None:
    commands = _script("readme_commands").splitlines()
    assert [shlex.split(line)[0] for line in commands] == ["python3", ".venv/bin/python"]
    assert "'.[test]'" in commands[0]
    assert commands[1].startswith(".venv/bin/python -m pytest")


def test_files_with_skipped_tests_are_extracted() -> None:
    printed = """...s [100%]
SKIPPED [1] tests/engines/test_ray.py:31: could not import 'ray': No module named 'ray'
SKIPPED [12] tests/tables/test_b.py:7: FASTMETRICS_DATA is not set
SKIPPED [1] tests/tables/test_b.py:9: not installed: Chromium or chromedriver
3 passed, 14 skipped in 1.00s
"""
    assert _script("skipped_files", text=printed) == "tests/engines/test_ray.py\ntests/tables/test_b.py\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="not installed: git")
def test_a_fresh_machine_has_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "chromium").chmod(0o755)
    commands = ["env", "ls -A ~ | wc -l", "pwd", "python3 -c 'import sys, venv; print(sys.version_info[0])'"]
    commands += [f"command -v {name} || echo no {name}" for name in ("ls", "chromium", "git", "pip")]
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    printed = _script("fresh_machine", tmp_path / "m", *commands, PATH=path, PIP_RETRIES="7", FASTMETRICS_DATA="/data")
    for line in ("PIP_RETRIES=7", "0", str(tmp_path / "m" / "clone"), "3", "no chromium", "no git", "no pip"):
        assert line in printed.splitlines(), line
    assert f"{tmp_path}/m/bin/ls" in printed.splitlines()
    assert "FASTMETRICS_DATA" not in printed
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _script("fresh_machine", tmp_path / "n", "false", "echo never")
    assert "never\n" not in failed.value.stdout.replace("$ echo never\n", "")


@pytest.mark.parametrize("options", [[], ["-n", "1"]])
def test_complete_fails_where_a_package_is_missing(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_one.py").write_text("""
import pytest
from tests.support.optional_parts import NO_MOUNT, needs

@needs("no_such_package")
def test_marked():
    pass

def test_allowed():
    pytest.skip(NO_MOUNT)

def test_passes():
    pass
""")
    (tmp_path / "test_two.py").write_text("import pytest\npytest.importorskip('no_such_package')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-rsfE", "-p", "tests.conftest", "-c", "/dev/null", *options]
    command += ["--rootdir", str(tmp_path)]
    files = tmp_path / "test_one.py", tmp_path / "test_two.py"

    def run(*more: object) -> str:
        arguments = [*command, *map(str, more)]
        root = SCRIPTS.parent
        return subprocess.run(arguments, env=ENVIRONMENT, cwd=root, capture_output=True, text=True, check=False).stdout

    assert "1 passed, 3 skipped" in run(*files)
    only = run("--complete", files[0])
    assert "1 passed, 1 skipped, 1 error" in only
    assert "skipped: not installed: no_such_package" in only
    collected = run("--complete", files[1])
    assert "1 error" in collected
    assert "could not import 'no_such_package'" in collected
