"""The fuzzer of input files: it runs, the same seed spoils the same bytes, and it tells apart how a command ends."""

import random
import subprocess
import sys

import pytest

from tests.support.fuzz_mutations import mutate
from tests.support.fuzz_seeds import all_seeds
from tests.support.program import ENVIRONMENT, ROOT, program

TRIALS = """
import os, signal, sys
from pathlib import Path
from tests.support import fuzz_trials

def trial(ending, seconds=60):
    fuzz_trials.program.main = ending
    outcome = fuzz_trials.attempt(["score"], Path(sys.argv[1]), seconds=seconds)
    print(outcome.kind, outcome.failed)

def raises():
    raise ValueError("x")

def loops():
    while True:
        pass

trial(lambda: os.kill(os.getpid(), signal.SIGSEGV))
trial(raises)
trial(loops, seconds=1)
trial(lambda: bytearray(b"x") * (1200 << 20))
trial(lambda: sys.exit(3))
"""
ENDINGS = ["SIGSEGV True", "traceback True", "hang True", "memory True", "input False"]


@pytest.mark.full
def test_fuzz_outcomes_are_classified(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", TRIALS, str(tmp_path)], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.splitlines()) == (0, ENDINGS), run.stderr


def test_same_seed_gives_the_same_mutations():
    seeds = list(all_seeds())
    spoilt = [[mutate(one.data, random.Random(f"7/{n}"), [one.data]) for n, one in enumerate(seeds)] for _ in range(2)]
    assert spoilt[0] == spoilt[1]
    changed = [data != one.data for (data, _), one in zip(spoilt[0], seeds, strict=True)]
    assert sum(changed) > 0.8 * len(changed)


def test_spoilt_tables_are_scored_or_refused(tmp_path):
    """A few in this process; no more than an error of ours may come of one."""
    chance = random.Random(3)
    seeds = [one for one in all_seeds() if one.name.endswith((".csv", ".jsonl", ".parquet", ".arrow"))]
    for number, one in enumerate(chance.sample(seeds, min(12, len(seeds)))):
        path = tmp_path / f"{number}{one.name}"
        path.write_bytes(mutate(one.data, chance, [one.data])[0])
        done = program("score", path, "-o", tmp_path / f"{number}.out.csv", "-m", "answer_words", "--threads", 1)
        assert done.code in (0, 2, 3), (one.name, done)
        assert done.code == 0 or done.err.startswith("error: "), (one.name, done)


@pytest.mark.full
@pytest.mark.parametrize("mutations", [2, 30])
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
