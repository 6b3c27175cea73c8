"""The attack on model calls: its check of a run notices faults, and some modes are survived here."""

import json
import runpy
import subprocess
import sys

import pytest

from tests.support.program import ENVIRONMENT, ROOT

SCRIPT = ROOT / "scripts" / "attack_calls"


@pytest.mark.full
def test_drawn_modes_are_survived(full):
    modes = 5 if full else 1
    run = [sys.executable, SCRIPT, "--modes", str(modes), "--seed", "2"]
    done = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=600)
    said = f"seed 2: {modes} modes tried, {modes} survived ({2 * modes} runs, "
    assert (done.returncode, done.stdout.startswith(said)) == (0, True), done


@pytest.fixture(scope="module")
def script():
    """The names of the script, in a process that keeps its shorter waits for itself."""
    from fastmetrics.models import clients

    longest = clients.LONGEST_WAIT
    try:
        return runpy.run_path(str(SCRIPT))
    finally:
        clients.LONGEST_WAIT = longest


def test_faults_of_a_run_are_noticed(script, tmp_path):
    faults, ended = script["Attack"]._faults, script["Run"]
    whole = "".join(f"{json.dumps({'id': n})}\n" for n in range(script["ROWS"]))
    (tmp_path / "out.jsonl").write_text(whole)
    assert faults("run", ended(0, "", 0), tmp_path, (0,)) == []
    assert faults("run", ended(8, "Traceback", 0), tmp_path, (0,)) == [
        "run: ended with 8: Traceback",
        "run: traceback",
        "run: an output of a run that failed",
    ]
    assert faults("run", ended(0, "\x1b[31m", 200 << 20), tmp_path, (0,)) == ["run: escape sequence", "run: 200 MB"]
    (tmp_path / "out.jsonl").write_text(whole[:20])
    (tmp_path / "printed.txt").write_text(script["KEY"])
    assert faults("run", ended(0, "", 0), tmp_path, (0,)) == [
        "run: not the whole output",
        "run: the key in printed.txt",
    ]
    (tmp_path / "out.jsonl").unlink()
    assert "run: no output" in faults("run", ended(0, "", 0), tmp_path, (0,))
