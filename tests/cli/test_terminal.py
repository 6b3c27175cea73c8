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
from fastmetrics.commands import load
from fastmetrics.commands.program.printing import print_folded
from fastmetrics.commands.program.terminal import message_with_options
from tests.support.program import ENVIRONMENT, command, jsonl, program, unfolded

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


def test_messages_name_arguments_or_options_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = jsonl(tmp_path / "t.jsonl", {"output": "a", "response": "b"})
    for options, said in (
        (["--workers", "2"], "--workers and --address are of the engine ray; the local one has --threads"),
        (["--engine", "dask"], "--engine dask: expected local or ray"),
        (["--work", "w"], "--work w is only for outputs in a store; a local"),
        (["--on-error", "x", "--columns", "answer=output"], "--on-error x: expected 'fail' or 'skip'"),
        ((), "columns 'output' and 'response' both match 'answer'; choose one with --columns answer=..."),
    ):
        done = program("score", table, "-o", "o.parquet", *options)
        assert said in done.err
    with pytest.raises(InputError, match=r"choose one with columns=\{'answer': \.\.\.\}$"):
        fm.score({"output": ["a"], "response": ["b"]})


def run(script):
    """A shell's word on the program: code, what it printed and complained of."""
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=ENVIRONMENT, check=False, timeout=900)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def scoring(tmp_path):
    jsonl(tmp_path / "t.jsonl", *({"answer": "a b", "reference": "a"} for _ in range(3)))
    words = command("score", tmp_path / "t.jsonl", "-o", tmp_path / "o.parquet", "-m", "token_f1", "--overwrite")
    return " ".join(f"'{word}'" for word in words), tmp_path / "o.parquet"


FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "code", "complaint"),
    [
        ("2>&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
        ("| true", 0, ""),
        pytest.param("2>/dev/full", 0, "", marks=FULL),
        pytest.param(">/dev/full", 4, "cannot print to standard output: No space left on device", marks=FULL),
        pytest.param(">/dev/full 2>&-", 4, "", marks=FULL),
    ],
)
def test_output_is_written_without_working_stdout(scoring, streams, code, complaint):
    script, output = scoring
    done = run(f"{script} {streams}")
    assert done[0] == code
    assert complaint in done[2]
    assert "Traceback" not in done[2]
    assert pq.read_table(output).num_rows == 3


def head(*arguments, lines):
    """What ``fastmetrics ARGUMENTS | head -LINES`` prints, and the exit code and complaints of the program."""
    done = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    with done, done.stdout as out:
        first = [out.readline().decode() for _ in range(lines)]
        out.close()
        return first, done.wait(timeout=900), done.stderr.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize(("rule", "code"), [("token_f1.mean >= 0", 0), ("token_f1.mean >= 0.9", 1)])
def test_a_closed_pipe_is_quiet_and_keeps_the_exit_code(tmp_path, rule, code, lines):
    scores = tmp_path / "s.parquet"
    pq.write_table(pa.table({"token_f1": [0.5] * 100}), scores)
    junit = tmp_path / "rules.xml"
    first, ended, complaints = head("gate", scores, "-r", rule, "--junit", junit, lines=lines)
    assert (ended, complaints) == (code, "")
    assert [line.split()[0] for line in first] == ["rule"][:lines]
    assert "token_f1" in junit.read_text()


@pytest.mark.slow
def test_a_pipe_closed_in_the_middle_of_a_long_output_is_quiet(tmp_path):
    scores = tmp_path / "s.parquet"
    pq.write_table(pa.table({"id": [f"q{row}" for row in range(20_000)], "token_f1": [0.5] * 20_000}), scores)
    first, code, complaints = head("worst-rows", scores, "token_f1", "-n", 20_000, lines=1)
    assert (code, complaints) == (0, "")
    assert first == ["q0  token_f1 0.5000\n"]


@pytest.mark.slow
def test_an_error_whose_reader_has_gone_keeps_its_exit_code(tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            command("gate", tmp_path / "none.parquet", "-r", "token_f1.mean >= 0"),
            stdout=subprocess.PIPE,
            stderr=write,
            env=ENVIRONMENT,
            check=False,
            timeout=900,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stdout) == (3, b"")


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["2>&-", pytest.param("2>/dev/full", marks=FULL)])
@pytest.mark.parametrize(("words", "code"), [("metrics zzz", 2), ("scor", 2)])
def test_exit_code_of_an_error_is_kept(streams, words, code):
    assert run(f"'{sys.executable}' -m fastmetrics {words} {streams}") == (code, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["--version", "score --help", "metrics token_f1"])
def test_printing_commands_report_failed_output(words):
    alone = f"'{sys.executable}' -m fastmetrics {words}"
    assert run(f"{alone} >&-") == (0, "", "")
    if os.path.exists("/dev/full"):
        code, out, error = run(f"{alone} >/dev/full")
        assert (code, out) == (4, "")
        assert error.startswith("error: cannot print to standard output: No space left on device")


@pytest.mark.slow
def test_closed_standard_input_is_empty():
    code, _, error = run(f"'{sys.executable}' -m fastmetrics score - -o o.parquet --format jsonl <&-")
    assert (code, error) == (3, "error: standard input: the file is empty\n")
