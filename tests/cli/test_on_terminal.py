"""What a person sees on a terminal: a bar that vanishes, and nothing after the result."""

import re
import shutil
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.support.program import jsonl, program
from tests.support.terminal import on_terminal

PLUGIN = """
import atexit
import sys
import time

import fastmetrics as fm

@fm.models.model_client("grader")
def grade(request):
    atexit.register(sys.stdout.isatty)  # as colorama does, which other packages import
    time.sleep(0.02)
    return '{"reason": "so", "score": 4}'

@fm.metric(bounds=(0, 1), better="higher")
def slow_score(answer: str) -> float:
    time.sleep(0.01)
    return 0.5
"""


ERASE = "\r\x1b[2K"
"""What rich writes before it draws a bar again."""
RESET = "\x1b[0m"
"""The last word of colorama, which other packages import."""
BOLD = re.compile(r"\x1b\[1m|\x1b\[0m")
"""What makes a verdict bold, also where colours are not wanted."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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
    f"judge run rows.jsonl -o judged.parquet --rubrics safety {MODEL} judge.sqlite": "judge",
    f"answer log.jsonl -o answered.parquet --bot full-context --knowledge plugin.py {MODEL} bot.sqlite": "answer",
    "compare old.parquet new.parquet": "comparing",
    "summarize old.parquet": "summarize",
    "summarize old.parquet --intervals": "summarize",
    "report new.parquet --baseline old.parquet -o page.html": "report",
    "vectors geometry vectors.jsonl": "geometry",
    "logs topics log.jsonl --topics 5": "logs topics",
}
"""Commands, and a word of the bar that shows their progress."""


@pytest.mark.full
@pytest.mark.parametrize("words", COMMANDS)
def test_a_long_command_shows_progress_that_vanishes(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = on_terminal(*words.split())
    assert done.code == 0, done.out
    assert "Traceback" not in done.out
    assert "Exception" not in done.out
    drawn, _, printed = done.out.rpartition("\x1b[2K")
    lines = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", drawn).split("\r")
    assert any(line.startswith((COMMANDS[words], "reading", words.partition(" ")[0])) for line in lines)
    assert max(len(line.rstrip("\n")) for line in lines) <= 80
    assert "\x1b" not in BOLD.sub("", printed.removesuffix(RESET))
    assert printed.strip()


@pytest.mark.full
def test_quiet_and_dumb_terminals_have_no_progress(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for options, environment in (["-q"], None), ([], {"TERM": "dumb"}):
        done = on_terminal(
            "score", "rows.jsonl", "-o", "o.csv", "-m", "token_f1", "--overwrite", *options, environment=environment
        )
        assert (done.code, ERASE in done.out) == (0, False)


TABLES = ("compare old.parquet new.parquet newer.parquet", "runs list .", "metrics keyword_coverage")


def printed_on(width, *words, **environment):
    done = on_terminal(*words, width=width, environment=environment)
    assert done.code == 0, done.out
    return done.out.rpartition("\x1b[2K")[2].removesuffix(RESET)


@pytest.mark.slow
@pytest.mark.parametrize("words", [TABLES[0], *(pytest.param(one, marks=pytest.mark.full) for one in TABLES[1:])])
def test_nothing_is_wider_than_the_window(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    shutil.copy("new.parquet", "newer.parquet")
    printed = printed_on(50, *words.split())
    assert max(map(len, re.sub(r"\x1b\[\d+m", "", printed).splitlines())) <= 50
    piped = program(*words.split()).out
    assert set(re.findall(r"[\w@+-]{4,}", piped)) <= set(re.findall(r"[\w@+-]{4,}", printed))  # nothing is left out


@pytest.mark.full
def test_verdicts_are_coloured_on_a_terminal_only(folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("gate", "old.parquet", "-r", "token_f1.mean >= 0", "-r", "jaccard.mean >= 0")
    assert "\x1b[32m" in printed_on(80, *words)
    assert "\x1b" not in BOLD.sub("", printed_on(80, *words, NO_COLOR="1"))
    assert "\x1b" not in program(*words).out
