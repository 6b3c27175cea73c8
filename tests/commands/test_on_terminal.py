"""What a person sees on a terminal: a line of progress that vanishes, and nothing after the result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from fastmetrics.commands.program.terminal import ERASE
from tests.support.program import jsonl, program
from tests.support.terminal import on_terminal

PLUGIN = """
import atexit
import sys
import time

import fastmetrics as fm

@fm.model_client("grader")
def grade(request):
    atexit.register(sys.stdout.isatty)  # as colorama does, which other packages import
    time.sleep(0.05)
    return '{"reason": "so", "score": 4}'

@fm.metric(bounds=(0, 1), better="higher")
def slow_score(answer: str) -> float:
    time.sleep(0.02)
    return 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    rows = [
        {"id": row, "question": f"Where is {row}?", "answer": f"in Paris {row % 3}", "reference": "Paris"}
        for row in range(40)
    ]
    jsonl(folder / "rows.jsonl", *rows)
    jsonl(folder / "vectors.jsonl", *({"id": row, "vector": [row, 1.0, row % 7]} for row in range(40)))
    jsonl(folder / "log.jsonl", *({"question": f"{row}?", "question_embedding": [row % 5, 1.0]} for row in range(40)))
    for name in ("old", "new"):
        written = program("score", folder / "rows.jsonl", "-o", folder / f"{name}.parquet", "-m", "token_f1,jaccard")
        assert written.code == 0
    return folder


MODEL = "--plugin plugin.py --model m --base-url grader: --store"
COMMANDS = {
    "score rows.jsonl -o scored.parquet -m token_f1,slow_score --plugin plugin.py": "score",
    f"judge rows.jsonl -o judged.parquet --rubrics safety {MODEL} judge.sqlite": "judge",
    f"answer log.jsonl -o answered.parquet --bot full-context --knowledge plugin.py {MODEL} bot.sqlite": "answer",
    "compare old.parquet new.parquet": "comparing",
    "summarize old.parquet": "summarize",
    "summarize-by old.parquet": "summarize-by",
    "report new.parquet --baseline old.parquet -o page.html": "report",
    "geometry vectors.jsonl": "geometry",
    "topic-coverage log.jsonl --topics 5": "topic-coverage",
}
"""Commands, and a word of the line that shows their progress."""


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_a_long_command_shows_progress_that_vanishes(words: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = on_terminal(*words.split())
    assert done.code == 0, done.out
    assert "Traceback" not in done.out
    assert "Exception" not in done.out
    *drawn, printed = done.out.split(ERASE)
    assert any(line.startswith((COMMANDS[words], "reading", words.partition(" ")[0])) for line in drawn)
    assert max(len(line.split("\n")[0]) for line in drawn) < 80
    assert "\x1b" not in printed.removesuffix("\x1b[0m")  # the last word of colorama
    assert printed.strip()


def test_quiet_and_dumb_terminals_have_no_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for options, environment in (["-q"], None), ([], {"TERM": "dumb"}):
        done = on_terminal(
            "score", "rows.jsonl", "-o", "o.csv", "-m", "token_f1", "--overwrite", *options, environment=environment
        )
        assert (done.code, ERASE in done.out) == (0, False)
