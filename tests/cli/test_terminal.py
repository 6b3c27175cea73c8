"""What the program prints where: messages that name options, and streams that are closed or full."""

import os
import pickle
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
from tests.support.program import ENVIRONMENT, command, jsonl, unfolded

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
    (rank, Argument("revision", ...), "revision=...", "revision=..."),
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


@pytest.mark.slow
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
@pytest.mark.slow
@pytest.mark.parametrize("words", ["--version", pytest.param("score --help", marks=pytest.mark.full)])
def test_what_typer_prints_reports_failed_output(words):
    code, out, error = run(f"'{sys.executable}' -m fastmetrics {words} >/dev/full")
    assert (code, out, error) == (4, "", f"{CANNOT} No space left on device; output files are complete\n")


@pytest.mark.full
def test_closed_standard_input_is_empty():
    code, _, error = run(f"'{sys.executable}' -m fastmetrics score - -o o.parquet --format jsonl <&-")
    assert (code, error) == (3, "error: standard input: the file is empty\n")
