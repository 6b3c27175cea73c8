"""The program's commands and options, and the codes it ends with."""

import json
import re
import signal
import tempfile
import warnings
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics
from fastmetrics.base.errors import ScoreWarning
from fastmetrics.cli.exits import Stopped
from fastmetrics.cli.terminal import printed_warnings
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.metric import REGISTRY, in_words
from tests.support.program import jsonl, program

ROWS = [
    {
        "id": "a",
        "question": "Where is it?",
        "answer": "It is in Paris.",
        "reference": ["Paris"],
        "latency_ms": 5.0,
        "weight": 0.5,
    },
    {"id": "b", "question": "?", "answer": "!", "reference": ["x", "y"], "latency_ms": None},
    {"id": "c", "question": None, "answer": "I don't know. [1]", "reference": [], "latency_ms": 7.5},
]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "t.jsonl", *ROWS)


def ok(*arguments, **options):
    done = program(*arguments, **options)
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_summary_printed_is_that_of_summarize(tmp_path):
    suites = ("--suites", "lexical,latency_and_cost")
    printed = ok("score", "t.jsonl", "-o", "o.parquet", "--keep", "weight,question", *suites)
    summary, end = printed.rsplit("\n\n", 1)
    assert end.startswith("3 rows scored in ")
    assert end.endswith(f" s: {tmp_path}/o.parquet\n")
    assert ok("summarize", "o.parquet") == summary + "\n"
    lines = {line.split()[0]: line.split() for line in summary.splitlines() if line}
    assert lines["jaccard"][-3:] == ["1", "1", "1"]
    assert lines["abstain_rate"] == ["abstain_rate", "0.3333", "abstained.mean"]
    assert lines["P50"] == ["P50", "Latency", "(ms)", "6.250", "latency_ms.p50"]


def test_keep_and_the_signature(tmp_path):
    ok(
        *["score", "t.jsonl", "-o", "o.parquet", "--keep", "question", "-m"],
        "token_f1, squad_f1(version=2)",
        "-m",
        "jaccard",
    )
    made = pq.read_table("o.parquet")
    assert made.schema.names == ["id", "question", "token_f1", "squad_f1(version=2)", "jaccard"]
    assert made["question"].to_pylist() == ["Where is it?", "?", None]
    signature = json.loads(made.schema.metadata[b"fastmetrics"])
    assert signature["fastmetrics"] == fastmetrics.__version__
    assert signature["scores"] == {
        "token_f1": {"metric": "token_f1", "tokenizer": "plain"},
        "squad_f1(version=2)": {"metric": "squad_f1", "version": 2},
        "jaccard": {"metric": "jaccard"},
    }
    assert signature["columns"]["reference"] == "reference"
    assert signature["keep"] == ["id", "question"]


def named(*options):
    """The scores that the program writes under these options."""
    ok("score", "t.jsonl", "-o", "o.arrow", "--overwrite", "-q", *options)
    with pa.ipc.open_file("o.arrow") as made:
        return made.schema.names[1:]


def usual(*suites):
    """The metrics of the suites whose columns the table has."""
    members = [metric for suite in suites for metric in families.suite(suite)]
    columns = {column for row in ROWS for column in row}
    return [metric.name for metric in members if metric.level == "row" and metric.fits(columns)]


def test_suites(tmp_path):
    assert named() == named("--suites", "core") == usual("core")
    assert named("--suites", "generation,writing", "--suites", "lexical") == usual("generation", "writing", "lexical")
    assert named("--suites", "latency_and_cost", "-m", "jaccard") == ["jaccard", "latency_ms"]
    everything = named("--suites", "all")
    assert everything == usual("all")
    assert {"token_f1", "bleu", "answer_relevance", "overall_quality", "latency_ms"} <= set(everything)


def test_threads_and_batch_rows_change_nothing(tmp_path):
    ok("score", "t.jsonl", "-o", "o.parquet")
    ok("score", "t.jsonl", "-o", "p.parquet", "--threads", 3, "--batch-rows", 2)
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "p.parquet").read_bytes()


def test_quiet_prints_nothing():
    assert ok("score", "t.jsonl", "-o", "o.parquet", "--quiet") == ""
    done = program("score", "t.jsonl", "-o", "o.parquet", "-q")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error: ")


def test_metrics_lists_and_explains_each():
    listed = dict(line.split(":  ") for line in ok("metrics").splitlines())
    assert [name for names in listed.values() for name in names.split(", ")] == list(REGISTRY)
    assert (next(iter(listed)), len(listed)) == ("lexical", len(families.FAMILIES))
    lexical = ok("metrics", "lexical")
    assert [line.split()[0] for line in lexical.splitlines()] == listed["lexical"].split(", ")
    assert "`" not in lexical
    for name, metric in REGISTRY.items():
        explained = ok("metrics", name)
        assert explained.startswith(f"{name}: {metric.level} metric, ")
        assert in_words(metric.source) in explained
        assert not re.search(r"\bS[0-4]\b", explained)
        assert (f"\n{metric.better} is better\n" in explained) == (metric.better is not None)
        assert ">>> import fastmetrics as fm" in explained
        assert "`" not in explained
        assert all(f"option: {option}=" in explained for option in metric.defaults)


def test_an_interrupt_names_resume_only_where_something_is_kept(monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise Stopped(signal.SIGINT)

    words = [("gate", "o.parquet", "-r", "token_f1 >= 0"), ("score", "t.jsonl", "-o", tmp_path / "o.parquet")]
    judged = ("judge", "run", "t.jsonl", "-o", tmp_path / "j.parquet", "--rubrics", "safety", "--model", "m")
    assert [program(*each, "--threads", 0).code for each in (*words, judged)] == [2, 2, 2]
    for name in ("cli.comparison.gate", "scoring.score.score", "cli.judging.judge"):
        monkeypatch.setattr(f"fastmetrics.{name}", interrupted)
    assert [program(*each).err for each in words] == ["interrupted\n"] * 2
    assert program(*judged).err == "interrupted; run the same command again: the replies so far are in the store\n"
    (tmp_path / "o.parquet.partial").mkdir()
    for name in ("run.json", "rows-0-0"):
        (tmp_path / "o.parquet.partial" / name).touch()
    done = program(*words[1])
    assert (done.code, done.err) == (130, "interrupted; run again with --resume to continue\n")


@pytest.mark.parametrize("quiet", [False, True])
def test_notes_on_rows_in_memory_are_lines_without_code(tmp_path, quiet):
    """Of a command that scores on its way, and of other packages."""
    rows = ({"answer": "Спасибо вам" + " да" * (n % 7), "reference": "да", "good": n % 2} for n in range(40))
    path = jsonl(tmp_path / "rows.jsonl", *rows)
    done = program("fit", path, "--label", "good", "-m", "politeness,answer_length")
    assert (done.code, done.err[:18], "ScoreWarning" in done.err) == (0, "note: politeness: ", False)
    assert all(line.startswith("note: ") for line in done.err.splitlines())
    with printed_warnings(quiet=quiet), mock.patch("fastmetrics.cli.terminal.print_error") as printed:
        warnings.showwarning(UserWarning("two\nlines"), UserWarning, "x.py", 1)
        warnings.showwarning(ScoreWarning("one\ntwo"), ScoreWarning, "x.py", 1)
    said = ["note: two␊lines", "note: one", "note: two"]
    assert [call.args[0] for call in printed.call_args_list] == ([] if quiet else said)


def test_version_and_help():
    assert ok("--version") == f"fastmetrics {fastmetrics.__version__}\n"
    for command in ("score", "metrics", "summarize", "profile", "validate"):
        assert command in ok("--help")
        assert "Usage: fastmetrics" in ok(command, "--help")


def test_scores_without_an_output_are_summarised_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    jsonl(tmp_path / "t.jsonl", {"answer": "in Paris", "reference": "Paris"})
    done = program("score", "t.jsonl", "-m", "token_f1,exact_match")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split()[:2] == ["token_f1", "0.6667"]
    assert done.out.endswith("the scores are not kept:\nadd -o scores.parquet to compare, gate or report them\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


@pytest.mark.parametrize("kept", [(), ("-o", "s.parquet")])
def test_the_summary_of_a_run_is_printed_as_json(tmp_path, kept):
    jsonl(tmp_path / "t.jsonl", {"answer": "Paris", "reference": "Paris"})
    told = json.loads(program("score", "t.jsonl", "-m", "exact_match", *kept, "--json").out)
    summary = fastmetrics.score(tmp_path / "t.jsonl", "exact_match", output=tmp_path / "again.parquet").summary
    assert told == json.loads(summary.to_json())
