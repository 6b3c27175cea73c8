"""Jobs as new users have them: one command of docs/metrics.md each, from a small file to the right number."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.program import jsonl, program

DATA = Path(__file__).parents[1] / "data" / "jobs.jsonl"
PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
BLOCK = PAGE.partition("\n## Answers as models and people write them\n")[2].partition("```sh\n")[2].partition("```")[0]
COMMANDS = {line.split()[2]: shlex.split(line)[1:] for line in BLOCK.splitlines() if not line.startswith("#")}

JOBS = {job["file"]: job for job in map(json.loads, DATA.read_text("utf-8").splitlines())}
"""The rows of each job, and its figures."""


def test_every_command_of_the_page_has_a_job():
    assert list(COMMANDS) == list(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_one_command_gives_the_right_number(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / name, *JOBS[name]["rows"])
    done = program(*COMMANDS[name])
    assert done.code == 0, done.err
    for figure, value in JOBS[name]["figures"].items():
        found = re.search(rf"^{re.escape(figure)} +([\d.]+)", done.out, re.M)
        assert found is not None, done.out
        assert float(found[1]) == pytest.approx(value, abs=5e-5)
    assert "--normalize" not in done.out, "no note asks for more"
