"""Options of the command line, and what the first steps print."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OptionError
from fastmetrics.base.shared_parameters import Help
from fastmetrics.cli.options import Arguments, OptionsOf, Spelling, flat, name_list, pairs
from fastmetrics.tables.input_files import ReadSettings
from tests.support.goldens import refused
from tests.support.program import ENVIRONMENT, jsonl, program


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a table is drawn."""

    width: Annotated[int, Help("Columns of a window.")] = 80


def drawn(
    rows: Annotated[Any, Help("The data.")],
    marks: Annotated[str, Help("The sign of a row.")] = "*",
    *,
    order: Annotated[Literal["up", "down"], Help("How rows follow.")] = "up",
    names: Annotated[list[str] | None, Help("Names of rows.")] = None,
    settings: Annotated[Settings | None, Help("How it is drawn.")] = None,
    hidden: bool = False,
) -> tuple[Any, ...]:
    """What a command shows."""
    return rows, marks, order, settings


def shown(
    rows: str,
    *,
    arguments: Annotated[Arguments, OptionsOf(drawn, without=["names"], marks=Spelling("SIGN", short="-s"))],
) -> None:
    """Print it."""
    typer.echo(repr(arguments.call(drawn)))


def test_a_function_makes_the_options_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = flat(shown)
    options = inspect.signature(command).parameters
    assert [*options][:4] == ["rows", "marks", "order", "width"]
    assert [*options][4:-1] == [*inspect.signature(ReadSettings).parameters], "every command takes those of reading"
    marks = options["marks"].annotation.__metadata__[0]
    assert (marks.help, marks.metavar, marks.param_decls) == ("The sign of a row.", "SIGN", ("-s",))
    assert (options["width"].default, options["order"].default) == (80, "up")
    command(rows="r", marks="-", order=options["order"].default, width=9)
    assert capsys.readouterr().out == "('r', '-', 'up', Settings(width=9))\n"


def test_an_unknown_option_of_no_way_is_none() -> None:
    refused(
        OptionError,
        "wide= --table",
        lambda: Arguments({"wide": True}, {"wide": False}).check_of("--mean", {"--mean": (), "--table": ("wide",)}),
    )


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


@pytest.mark.full
def test_ranking_files_imports_no_costly_module(tmp_path):
    run, qrels, output = (tmp_path / f"{name}.parquet" for name in ("run", "qrels", "values"))
    ids = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"]}
    pq.write_table(pa.table({**ids, "score": [2.0, 1.0, 3.0]}), run)
    pq.write_table(pa.table({**ids, "relevance": [0, 1, 1]}), qrels)
    assert imported("rank", run, qrels, "-m", "mrr", "-o", output, "--overwrite") == "[]"
    assert pq.read_table(output)["mrr"].to_pylist() == [0.5, 1.0]


@pytest.mark.full
def test_counting_chunks_imports_no_costly_module(tmp_path):
    log, output = tmp_path / "log.parquet", tmp_path / "chunks.json"
    pq.write_table(pa.table({"id": ["q1", "q2"], "retrieved_ids": [["a", "b"], ["a"]]}), log)
    assert imported("logs", "chunks", log, "-o", output, "--overwrite") == "[]"
    assert json.loads(output.read_text())["used_chunks"] == 2


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
