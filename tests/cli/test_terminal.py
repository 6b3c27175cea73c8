"""What the program prints where: messages, streams that are closed or full, and a bar that vanishes."""

import os
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    Argument,
    ErrorMessage,
    FastmetricsError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    quoted,
    shown,
)
from fastmetrics.cli.commands import load
from fastmetrics.cli.terminal import message_with_options, print_folded
from tests.support.program import ENVIRONMENT, command, jsonl, program, unfolded
from tests.support.terminal import on_terminal

rank, score = load("rank"), load("score")
WRITTEN = [
    (score, Argument("threads", 0), "threads=0", "--threads 0"),
    (score, Argument("batch_rows", -1), "batch_rows=-1", "--batch-rows -1"),
    (score, Argument("columns", {"answer": ...}), "columns={'answer': ...}", "--columns answer=..."),
    (score, Argument("columns", {"id": "a b", "answer": "x"}), "columns={'id': 'a b', 'answer': 'x'}", None),
    (score, Argument("format"), "format=", "--format"),
    (score, Argument("overwrite", True), "overwrite=True", "--overwrite"),
    (score, Argument("suites", "x"), "suites='x'", "--suites x"),
    (score, Argument("output", "a b"), "output='a b'", "--output 'a b'"),
    (score, Argument("on_error", "a\nb"), r"on_error='a\nb'", r"--on-error 'a\nb'"),
    (rank, Argument("duplicates", "first"), "duplicates='first'", "--duplicates first"),
    (rank, Argument("relevance_level", 0), "relevance_level=0", "--relevance-level 0"),
    (rank, Argument("revision", ...), "revision=...", "--revision ..."),
]


@pytest.mark.parametrize(("command", "argument", "python", "option"), WRITTEN)
def test_argument_is_written_for_function_or_command(command, argument, python, option):
    error = OptionError("name it with ", argument, "; {braces} and --dashes stay")
    assert str(error) == f"name it with {python}; {{braces}} and --dashes stay"
    expected = "--columns id='a b',answer=x" if option is None else option
    assert message_with_options(error, command) == f"name it with {expected}; {{braces}} and --dashes stay"


def test_long_value_is_abbreviated_in_both_forms():
    error = OptionError(Argument("on_error", "x" * 10_000), ": expected fail or skip")
    assert len(str(error)) < 150
    assert len(message_with_options(error, score)) < 150
    assert len(shown(list(range(10**6)))) < 100
    assert shown(10**5000) == "a whole number of 16,610 bits"
    assert quoted(range(100), most=2) == "0, 1 and 98 more"


@pytest.mark.parametrize("kind", [FastmetricsError, InputError, OptionError, OutputError, MissingExtraError])
def test_arguments_survive_pickling_and_message_formatting(kind):
    error = kind("choose ", Argument("overwrite", True), ".")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, "choose overwrite=True.")
    wrapped = InputError("t.csv: ", again.message)
    assert message_with_options(wrapped, score) == "t.csv: choose --overwrite."
    assert str(wrapped) == "t.csv: choose overwrite=True."
    assert ErrorMessage(wrapped.message, "x").parts[-1] == "x"
    assert str(kind("plain")) == "plain"


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("0", 80), ("60", 60), ("200", 200)])
def test_notes_are_folded_to_the_width_of_the_terminal(monkeypatch, columns, width):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    notes = ["one " * 60, "two-hyphens " * 30, "a" * 250]
    summary = replace(fm.summarize({"token_f1": [0.5]}), notes=notes)
    lines = str(summary).split("\n\n")[-1].splitlines()
    assert lines[-1] == "a" * 250
    assert width - 12 < max(map(len, lines[:-1])) <= width
    assert unfolded("\n".join(lines)) == unfolded(" ".join(notes))
    assert summary.to_dict()["notes"] == notes


def test_listed_lines_are_folded_below_the_text_beside_their_name(monkeypatch, capsys):
    lines = ["short  fits", f"metric    {'word ' * 20}".rstrip(), f"a sentence of {'words ' * 20}".rstrip()]
    print_folded(lines)
    assert capsys.readouterr().out.splitlines() == lines  # a pipe
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    print_folded(lines)
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["short  fits", "metric    word word word word word word", " " * 10 + "word " * 5 + "word"]
    assert printed[-1].startswith("  words")
    assert max(map(len, printed)) <= 40
    assert unfolded(" ".join(printed)) == unfolded(" ".join(lines))


def run(script):
    """A shell's word on the program: code, what it printed and complained of."""
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=ENVIRONMENT, check=False, timeout=900)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def scoring(tmp_path):
    jsonl(tmp_path / "t.jsonl", *({"answer": "a b", "reference": "a"} for _ in range(3)))
    words = command("score", tmp_path / "t.jsonl", "-o", tmp_path / "o.parquet", "-m", "token_f1", "--overwrite")
    return " ".join(f"'{word}'" for word in words), tmp_path / "o.parquet"


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


CANNOT = "error: cannot print to standard output:"


@pytest.mark.parametrize(
    ("streams", "code", "complaint"),
    [
        pytest.param("2>&-", 0, "", marks=pytest.mark.full),
        ("| true", 0, ""),
        pytest.param("2>/dev/full", 0, "", marks=[FULL, pytest.mark.full]),
        pytest.param(
            ">/dev/full",
            4,
            f"{CANNOT} No space left on device; output files are complete\n",
            marks=[FULL, pytest.mark.full],
        ),
        pytest.param(">/dev/full 2>&-", 4, "", marks=[FULL, pytest.mark.full]),
    ],
)
def test_output_is_written_without_working_stdout(scoring, streams, code, complaint):
    script, output = scoring
    done = run(f"set -o pipefail; {script} {streams}")
    assert (done[0], done[2]) == (code, complaint)
    assert pq.read_table(output).num_rows == 3


@pytest.mark.full
def test_a_closed_standard_output_is_an_error_before_anything_is_written(scoring):
    script, output = scoring
    assert run(f"{script} >&-") == (4, "", "error: cannot print: standard output is closed\n")
    assert not output.exists()


@pytest.mark.full
def test_a_pipe_closed_in_the_middle_of_a_long_output_is_quiet(tmp_path):
    scores = tmp_path / "s.parquet"
    pq.write_table(pa.table({"id": [f"q{row}" for row in range(20_000)], "token_f1": [0.5] * 20_000}), scores)
    words = command("summarize", scores, "--worst", "token_f1", "-n", 20_000)
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as done:
        assert done.stdout.readline() == b"q0  token_f1 0.5000\n"
        done.stdout.close()
        said = done.stderr.read().decode()
    assert (done.returncode, said) == (0, "")


@pytest.mark.full
@pytest.mark.parametrize(
    ("rule", "code"), [pytest.param("token_f1.mean >= 0", 0, marks=pytest.mark.full), ("token_f1.mean >= 0.9", 1)]
)
def test_a_closed_pipe_keeps_the_exit_code_of_a_gate(tmp_path, rule, code):
    scores = tmp_path / "s.parquet"
    pq.write_table(pa.table({"token_f1": [0.5] * 100}), scores)
    words = command("gate", scores, "-r", rule)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as done:
        done.stdout.close()
        said = done.stderr.read().decode()
    assert (done.returncode, said) == (code, "")


@pytest.mark.full
@pytest.mark.parametrize("words", ["metrics zzz", pytest.param("scor", marks=pytest.mark.full)])
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(words):
    assert run(f"'{sys.executable}' -m fastmetrics {words} 2>&-") == (2, "", "")


@FULL
@pytest.mark.parametrize("words", ["--version", pytest.param("score --help", marks=pytest.mark.full)])
def test_what_typer_prints_reports_failed_output(words):
    code, out, error = run(f"'{sys.executable}' -m fastmetrics {words} >/dev/full")
    assert (code, out, error) == (4, "", f"{CANNOT} No space left on device; output files are complete\n")


@pytest.mark.full
def test_closed_standard_input_is_empty():
    code, _, error = run(f"'{sys.executable}' -m fastmetrics score - -o o.parquet --format jsonl <&-")
    assert (code, error) == (3, "error: standard input: the file is empty\n")


if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)


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
