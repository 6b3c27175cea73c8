"""Options of the command line, and what the first steps print."""

from __future__ import annotations

import functools
import importlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OptionError
from fastmetrics.cli.options import name_list, pairs
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, jsonl, program


def arrived(monkeypatch: pytest.MonkeyPatch, place: str, *words: object) -> dict[str, Any]:
    """The arguments with which a command calls the function at ``place`` in ``fastmetrics.cli``."""
    module, _, name = place.rpartition(".")
    home = importlib.import_module(f"fastmetrics.cli.{module}")
    given: dict[str, Any] = {}

    @functools.wraps(getattr(home, name))
    def record(**arguments: Any) -> None:
        given.update(arguments)
        raise OptionError("recorded")

    monkeypatch.setattr(home, name, record)
    assert "recorded" in program(*words).err
    return given


def test_arguments_that_commands_convert_arrive(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "r.jsonl", {"id": 1, "question": "Who?", "answer": "I"})
    (tmp_path / "t.txt").write_text("Say {question}")
    for variances, expected in ((("0.5",), 0.5), (("0.5", "0.25"), [0.5, 0.25])):
        within = [word for variance in variances for word in ("--within", variance)]
        assert arrived(monkeypatch, "comparison.power", "power", "--delta", "0.1", *within)["within"] == expected
    asked = ("answer", "r.jsonl", "-o", "o.csv", "--store", "s.sqlite", "--concurrency", "3", "--bot")
    prompt = arrived(monkeypatch, "answering.answer", *asked, "given-contexts", "--model", "m", "--template", "t.txt")[
        "bot"
    ]
    assert (prompt.template, prompt.model, str(prompt.store), prompt.concurrency) == (
        "Say {question}",
        "m",
        "s.sqlite",
        3,
    )
    function = arrived(monkeypatch, "answering.answer", *asked, "json:dumps")["bot"]
    assert (str(function.store), function.concurrency) == ("s.sqlite", 3)
    runs = arrived(monkeypatch, "comparison.compare", "compare", "r.jsonl", "s.jsonl", "--names", "a,b", "--by", "x,y")
    assert (runs["runs"], runs["by"]) == ({"a": "r.jsonl", "b": "s.jsonl"}, [["x", "y"]])


NAMES = ["a,b", "answer = x", 'say "no"', "(a", "b)", "[1,", "'", "a=b=c", " padded "]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@given(st.lists(st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=["Cs"])), max_size=4))
def test_any_names_can_be_written(names):
    named = [name for name in names if name.strip()]
    assert name_list([",".join(map(quoted, named))] if named else [""], "--keep") == named
    assert name_list(list(map(quoted, named)), "--keep") == named
    mapped = dict.fromkeys(f"c{place}" for place in range(len(named)))
    written = [quoted(f"{key}={name}") for key, name in zip(mapped, named, strict=True)]
    assert pairs([",".join(written)]) == dict(zip(mapped, named, strict=True))


@pytest.mark.parametrize("option", ["--keep", "--columns", "--raters"])
@pytest.mark.parametrize("text", ['"a', '"a"b'])
def test_unclosed_quote_raises(option, text):
    refused(OptionError, f"{option} {text} CSV", name_list, [text], option)


def test_columns_of_any_name_are_read_and_kept(tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({name: [f"{place} x"] for place, name in enumerate(NAMES)})
    pq.write_table(table, source)
    for place, name in enumerate(NAMES):
        other = NAMES[place - 1]
        mapped = ",".join([quoted(f"answer={name}"), quoted(f"reference={other}")])
        options = ("-m", "token_recall", "--columns", mapped, "--keep", ",".join(map(quoted, NAMES)), "--overwrite")
        done = program("score", source, "-o", out, *options)
        assert (done.code, done.err) == (0, "")
        scored = pq.read_table(out)
        assert scored.select(NAMES).equals(table)
        assert scored["token_recall"].to_pylist() == [0.5]


COSTLY = (
    *("pandas", "polars", "sklearn", "matplotlib", "faiss", "pyarrow.dataset"),
    *("fastmetrics.stats.raters", "fastmetrics.vectors.geometry_values"),
)
"""Packages and modules that scoring a file of texts and numbers needs nothing of."""


def imported(*words):
    """The costly modules that the program has imported at its end, where its kernels need no compilation."""
    assert program(*words).code == 0
    code = f"""
import sys
from fastmetrics.cli import program as cli
sys.argv = ["fastmetrics", *{[*map(str, words)]!r}]
try:
    cli.main()
finally:
    print([name for name in {COSTLY!r} if name in sys.modules])
"""
    # in another folder than that of the checkout
    settings = {"env": ENVIRONMENT, "cwd": tempfile.gettempdir(), "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", code], check=True, **settings)
    return done.stdout.split("\n")[-2]


def test_scoring_a_file_imports_no_costly_module(tmp_path):
    rows, output = tmp_path / "rows.parquet", tmp_path / "scores.parquet"
    columns = {"id": [1, 2], "question": ["Where?", None], "answer": ["in Paris", None], "reference": ["Paris", "Rome"]}
    columns |= {"latency_ms": [1.5, None], "total_tokens": [3, 4]}
    columns |= {"retrieved_ids": [["a", "b"], None], "relevant_ids": [["b"], ["a"]], "relevance": [[2.0], None]}
    pq.write_table(pa.table(columns), rows)
    assert imported("score", rows, "-o", output, "-q", "--overwrite") == "[]"
    assert pq.read_table(output)["token_f1"].to_pylist() == [2 / 3, None]


DATA = Path(__file__).parents[1] / "data" / "jobs.jsonl"
PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
BLOCK = PAGE.partition("\n## Answers as models and people write them\n")[2].partition("```sh\n")[2].partition("```")[0]
ANSWERS_AS_WRITTEN_COMMANDS = {
    line.split()[2]: shlex.split(line)[1:] for line in BLOCK.splitlines() if not line.startswith("#")
}

JOBS = {job["file"]: job for job in map(json.loads, DATA.read_text("utf-8").splitlines())}
"""The rows of each job, and its figures."""


def test_every_command_of_the_page_has_a_job():
    assert list(ANSWERS_AS_WRITTEN_COMMANDS) == list(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_one_command_gives_the_right_number(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / name, *JOBS[name]["rows"])
    done = program(*ANSWERS_AS_WRITTEN_COMMANDS[name])
    assert done.code == 0, done.err
    for figure, value in JOBS[name]["figures"].items():
        found = re.search(rf"^{re.escape(figure)} +([\d.]+)", done.out, re.M)
        assert found is not None, done.out
        assert float(found[1]) == pytest.approx(value, abs=5e-5)
    assert "--normalize" not in done.out, "no note asks for more"
