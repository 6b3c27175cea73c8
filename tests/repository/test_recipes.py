"""Every recipe of docs/start.md runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.judge_server import judge_server
from tests.support.program import name_of, program

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "start.md").read_text("utf-8").partition("\n## Recipes\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", RECIPES, re.M | re.S)
SERVER = "http://127.0.0.1:8080/v1"


def commands(block: str) -> list[list[str]]:
    """The words of each command of a block, without the name of the program."""
    lines = [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]
    return [line[1:] for line in lines if line[0] == "fastmetrics"]


def reply(body: dict[str, Any]) -> str:
    """A judge that gives every answer a 4 and prefers the first answer."""
    return '{"reason": "so", "better": "first"}' if "<first id=" in str(body) else '{"reason": "so", "score": 4}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "examples").mkdir()
    for name in ("answers.jsonl", "brief_answers.jsonl"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_recipes_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed: dict[str, str] = {}
    with judge_server(reply=reply) as judge:
        for language, block in BLOCKS:
            file = re.match(r"# (\w+\.(?:toml|py))\n", block)
            if file is not None:
                (folder / file[1]).write_text(block)
            elif language == "python":
                exec(block, {})
            elif language != "yaml":
                for made in re.findall(r"^mkdir -p (\w+)$", block, re.M):
                    (folder / made).mkdir()
                for words in commands(block.replace(SERVER, judge.url)):
                    store = ["--store", "calls.sqlite"] if judge.url in words else []
                    done = program(*words, *store)
                    assert (done.code, done.err) == (int(words[0] == "gate"), ""), words
                    printed[" ".join(words[: len(name_of(words).split()) + 1])] = done.out
    shown = capsys.readouterr().out
    assert "what" in shown
    assert "[1.] [46." in shown
    assert {"report.html", "gate.xml", "per_query.parquet"} <= {path.name for path in folder.iterdir()}
    assert "<failure" in (folder / "gate.xml").read_text()
    assert " 4 " in printed["judge run examples/answers.jsonl"]
    assert "wins are those of answers over brief_answers" in printed["judge report preferences.parquet"]
    assert pq.read_table("tools.parquet")["searched"].to_pylist() == [1.0, 0.0, None]
    assert "\\toprule" in printed["compare bm25.run"]
    assert "hybrid.run & \\textbf" in printed["compare bm25.run"]


def test_the_workflow_runs_the_commands_of_the_recipe() -> None:
    workflow = next(block for language, block in BLOCKS if language == "yaml")
    steps = [shlex.split(line)[1:] for line in re.findall(r"- run: (fastmetrics .*)", workflow)]
    assert [step[0] for step in steps] == ["score", "report", "gate"]
    recipe = {words[0]: words for words in commands(next(block for language, block in BLOCKS if language == "sh"))}
    for name, *words in steps:
        options = {word for word in words if word.startswith("-")}
        assert options <= set(recipe[name])
