"""Attacks by scripts/attack_files and spoilt files by scripts/fuzz_inputs, in small: every mode on a few commands."""

import random
import subprocess
import sys

import pytest

from tests.support.file_attacks import MODES, Attacker
from tests.support.fuzz import all_seeds, mutate
from tests.support.judge_server import judge_server
from tests.support.program import ENVIRONMENT, ROOT, program

pytestmark = pytest.mark.usefixtures("hears_interrupts")


@pytest.fixture(scope="module")
def attacker(tmp_path_factory):
    with judge_server(keep=False, delay=0.01) as server:
        yield Attacker(tmp_path_factory.mktemp("attacks"), 24, 300, server.url, ["score csv", "judge", "match"], 3)


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_attack_is_survived(attacker, mode):
    assert MODES[mode](attacker) == []


@pytest.mark.full
def test_killed_runs_leave_nothing(attacker):
    counts = attacker.kills(4)
    assert (counts.faults, counts.left) == ([], 0)


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
