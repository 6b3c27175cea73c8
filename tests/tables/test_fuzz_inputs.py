"""The fuzzer of input files: it runs, the same seed spoils the same bytes, and it tells apart how a command ends."""

import random
import subprocess
import sys

import pytest

from tests.support.fuzz_mutations import mutate
from tests.support.fuzz_seeds import all_seeds
from tests.support.program import ENVIRONMENT, ROOT

pytestmark = pytest.mark.slow

TRIAL = """
import os, signal, sys, time
from pathlib import Path
from tests.support import fuzz_trials

def ending():
    {code}

fuzz_trials.program.main = ending
outcome = fuzz_trials.attempt(["score"], Path(sys.argv[1]), seconds={seconds})
print(outcome.kind, outcome.failed)
"""
ENDINGS = [
    ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV True"),
    ("raise ValueError('x')", "traceback True"),
    ("while True: pass", "hang True"),
    ("held = bytearray(b'x') * (1200 << 20)", "memory True"),
    ("sys.exit(3)", "input False"),
]


@pytest.mark.parametrize(("code", "ends"), ENDINGS)
def test_fuzz_outcomes_are_classified(tmp_path, code, ends):
    program = TRIAL.format(code=code, seconds=2 if ends == "hang True" else 60)
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, ends), run.stderr


def test_same_seed_gives_the_same_mutations():
    seeds = list(all_seeds())
    spoilt = [[mutate(one.data, random.Random(f"7/{n}"), [one.data]) for n, one in enumerate(seeds)] for _ in range(2)]
    assert spoilt[0] == spoilt[1]
    changed = [data != one.data for (data, _), one in zip(spoilt[0], seeds, strict=True)]
    assert sum(changed) > 0.8 * len(changed)


@pytest.mark.parametrize("mutations", [1, pytest.param(13, marks=pytest.mark.full)])
def test_damaged_files_are_scored_or_rejected(tmp_path, mutations):
    command = [sys.executable, ROOT / "scripts" / "fuzz_inputs", "--mutations", str(mutations), "--seed", "3"]
    run = subprocess.run(
        [*command, "--jobs", "1", "--failures", tmp_path],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith(f"seed 3: {mutations} mutations, 0 failures")
    assert not any(tmp_path.iterdir())
