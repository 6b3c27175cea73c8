"""A small share of the attacks of ``scripts/attack_files``: two commands, a few kills, and every mode."""

from __future__ import annotations

import pytest

from tests.file_attacks import MODES, Attacker

pytestmark = [pytest.mark.usefixtures("hears_interrupts"), pytest.mark.slow]


@pytest.fixture(scope="module")
def attacker(tmp_path_factory: pytest.TempPathFactory) -> Attacker:
    return Attacker(tmp_path_factory.mktemp("attacks"), 24, 300, ["score csv", "match"])


@pytest.mark.parametrize("mode", MODES)
def test_attack_is_survived(attacker: Attacker, mode: str) -> None:
    assert MODES[mode](attacker) == []


def test_killed_runs_leave_nothing(attacker: Attacker) -> None:
    counts = attacker.kills(6)
    assert (counts.faults, counts.left) == ([], 0)
