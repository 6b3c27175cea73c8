"""The attack on model calls: its check of a run notices faults, and some modes are survived here."""

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
