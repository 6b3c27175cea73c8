"""The program's commands and options, and the codes it ends with."""

import gzip
import json
import re
import signal
import tempfile
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics
from fastmetrics.cli.exits import Stopped
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.metric import REGISTRY, in_words
from fastmetrics.tables.outputs import read_metadata
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


@pytest.mark.slow
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
        "score",
        "t.jsonl",
        "-o",
        "o.parquet",
        "--keep",
        "question",
        "-m",
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


LEXICAL = ("--suites", "lexical")


def test_columns_and_schema(tmp_path):
    jsonl(tmp_path / "u.jsonl", {"frage": "q a", "text": "a", "gold": "a b"})
    names = ("--columns", "question=frage,answer=text", "--columns", "reference=gold")
    ok("score", "u.jsonl", "-o", "o.parquet", *names, *LEXICAL)
    assert pq.read_table("o.parquet", columns=["token_f1", "jaccard"]).to_pylist() == [
        {"token_f1": pytest.approx(2 / 3), "jaccard": 0.5}
    ]
    jsonl(tmp_path / "v.jsonl", {"input": "q a", "actual_output": "a", "expected_output": "a b", "response": "zzz"})
    ok("score", "v.jsonl", "-o", "p.parquet", "--schema", "deepeval", *LEXICAL)
    assert pq.read_table("p.parquet").to_pydict() == pq.read_table("o.parquet").to_pydict()


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


def test_the_default_suite_has_what_is_read_first(tmp_path):
    assert not {"jaccard", "politeness"} & set(named())
    assert {"jaccard", "politeness"} <= set(named("--suites", "lexical"))


@pytest.mark.slow
def test_suites(tmp_path):
    assert named() == named("--suites", "core") == usual("core")
    assert named("--suites", "generation,writing", "--suites", "lexical") == usual("generation", "writing", "lexical")
    assert named("--suites", "latency_and_cost", "-m", "jaccard") == ["jaccard", "latency_ms"]
    everything = named("--suites", "all")
    assert everything == usual("all")
    assert {"token_f1", "bleu", "answer_relevance", "overall_quality", "latency_ms"} <= set(everything)


@pytest.mark.parametrize("suite", ["retrieval", "semantic"])
def test_a_suite_without_its_columns_ends_with_code_3(suite):
    done = program("score", "t.jsonl", "-o", "o.parquet", "--suites", suite)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"error: no metric of the suite '{suite}' can be computed from the columns 'id', ")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_threads_and_batch_rows_change_nothing(tmp_path, threads, batch_rows):
    ok("score", "t.jsonl", "-o", "o.parquet")
    ok("score", "t.jsonl", "-o", "p.parquet", "--threads", threads, "--batch-rows", batch_rows)
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "p.parquet").read_bytes()


def test_quiet_prints_nothing():
    assert ok("score", "t.jsonl", "-o", "o.parquet", "--quiet") == ""
    done = program("score", "t.jsonl", "-o", "o.parquet", "-q")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("error: ")


def _said(path):
    """The scores of a file, and all that its metadata say but what its input was called."""
    metadata = {name: value for name, value in read_metadata(path).items() if name != "inputs"}
    return pq.read_table(path).to_pydict(), metadata


def test_every_input_form_gives_the_same_scores(tmp_path):
    ok("score", "t.jsonl", "-o", "o.parquet")
    expected = _said(tmp_path / "o.parquet")
    text = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "z.jsonl.gz").write_bytes(gzip.compress(text))
    sink = BytesIO()
    with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as stream:
        stream.write(text)
        stream.flush()
        stream.close()
        packed = sink.getvalue() if not sink.closed else b""
    (tmp_path / "z.jsonl.zst").write_bytes(packed or pa.Codec("zstd").compress(text, asbytes=True))
    (tmp_path / "folder").mkdir()
    for number, row in enumerate(ROWS):
        jsonl(tmp_path / "folder" / f"{number}.jsonl", row)
    for n, given in enumerate(
        (["z.jsonl.gz"], ["z.jsonl.zst"], ["folder"], ["folder/*.jsonl"], ["folder/0.jsonl", "folder/[12].jsonl"])
    ):
        ok("score", *given, "-o", f"{n}.parquet")
        assert _said(tmp_path / f"{n}.parquet") == expected, given
    for n, (data, options) in enumerate([(text, []), (gzip.compress(text), []), (text, ["--format", "jsonl"])]):
        ok("score", "-", "-o", f"s{n}.parquet", *options, stdin=data)
        assert _said(tmp_path / f"s{n}.parquet") == expected


def test_a_folder_of_parts(tmp_path):
    ok("score", "t.jsonl", "-o", "o.parquet")
    ok("score", "t.jsonl", "-o", "scores/")
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == ["_fastmetrics.json", "part-000000.parquet"]
    assert pq.read_table("scores/part-000000.parquet").to_pydict() == pq.read_table("o.parquet").to_pydict()
    assert ok("summarize", "scores") == ok("summarize", "o.parquet")


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.tsv.gz", "o.arrow", "o.jsonl.zst"])
def test_every_output_sums_up_alike(name):
    ok("score", "t.jsonl", "-o", "o.parquet")
    ok("score", "t.jsonl", "-o", name)
    assert ok("summarize", name) == ok("summarize", "o.parquet")


WRONG = [
    (["-m", "token_f2"], "unknown metric 'token_f2'; did you mean 'token_f1'?"),
    (["-m", "squad_f1(versoin=2)"], "unknown option of squad_f1 'versoin'; did you mean 'version'?"),
    (["-m", "squad_f1(version=3)"], "squad_f1: option 'version' expects 1 or 2, got 3"),
    (["-m", "squad_f1(version='2')"], "squad_f1: option 'version' expects 1 or 2, got '2'"),
    (["-m", "squad_f1(2)"], "metric 'squad_f1(2)': expected option=value"),
    (["-m", "squad_f1(version=2)(version=1)"], "metric 'squad_f1(version=2)(version=1)': expected option=value"),
    (
        ["-m", "squad_f1(version=1,version=2)"],
        "metric 'squad_f1(version=1,version=2)': expected option=value, each option once",
    ),
    (["-m", "squad_f1(version=x)"], "metric 'squad_f1(version=x)': version expects a number, a 'string', or a list"),
    (
        ["-m", "politeness(markers=None)"],
        "politeness: option 'markers' expects a list of markers that are not blank, of at most 10,000 characters "
        "together, got None",
    ),
    (
        ["-m", "idk_citations(pattern=3)"],
        "idk_citations: option 'pattern' expects a regular expression of RE2 of at most 1,000 characters, got 3",
    ),
    (["-m", "abstained(phrases=['i (know'])"], "phrase 'i (know': expected closed brackets without nesting"),
    (["-m", "abstained(phrases=['...'])"], "phrase '...': expected at least one required word"),
    (["-m", "squad_f1(version="], "metric 'squad_f1(version=': expected name, name@k or name(option=value, ...)"),
    (["-m", "token_f1@3"], "metric 'token_f1@3': token_f1 takes no cut-off '3'"),
    (["-m", "token_f1,token_f1"], "metrics requested twice: token_f1"),
    (["--columns", "anwser=answer"], "unknown column 'anwser'; did you mean 'answer'?"),
    (["--columns", "answer"], "--columns 'answer': expected canonical=yours"),
    (["--columns", "answer=answer,answer=question"], "--columns names 'answer' twice"),
    (["--suites", "lexicl"], "unknown suite 'lexicl'; did you mean 'lexical'?"),
    (["--keep", "anser"], "unknown column 'anser'; did you mean 'answer'?"),
    (
        ["--keep", "latency_ms", "-m", "latency_ms"],
        "cannot keep the column 'latency_ms': a metric has the same name; rename the column",
    ),
    (["--schema", "raga"], "unknown schema 'raga'; did you mean 'ragas'?"),
    (["--on-error", "ignore"], "--on-error ignore: expected 'fail' or 'skip'"),
    (["--format", "xml"], "--format xml: expected one of parquet, jsonl, json, csv, tsv, arrow, eval, xlsx"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options_end_with_code_2(tmp_path, options, message):
    done = program("score", "t.jsonl", "-o", "o.parquet", *options)
    assert (done.code, done.out, done.err) == (2, "", f"error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["score", "t.jsonl", "-o", "o.parquet", "--thread", "2"], "--threads"),
        (["score", "t.jsonl", "-o", "o.parquet", "--threads", "0"], "--threads"),
        (["score", "t.jsonl", "-o", "o.parquet", "--batch-rows", "x"], "--batch-rows"),
        (["vectors", "embed", "t.jsonl"], "--output"),
        (["scor", "t.jsonl"], "did you mean 'score'?"),
    ],
)
def test_wrong_usage_ends_with_code_2_and_names_the_option(arguments, hint):
    done = program(*arguments)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


def test_missing_column_suggests_the_nearest_name():
    done = program("score", "t.jsonl", "-o", "o.parquet", "--columns", "answer=anser")
    assert (done.code, done.err) == (
        3,
        "error: --columns answer=anser: unknown column 'anser'; did you mean 'answer'?\n",
    )


def test_invalid_outputs_raise(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "o.parquet").write_text("mine")
    for name, code, message in (
        ("o.parquet", 4, f"{tmp_path}/o.parquet exists; choose --overwrite to replace it"),
        ("t.jsonl", 4, f"{tmp_path}/t.jsonl is an input; write to another name"),
        ("file/o.parquet", 4, f"cannot write {tmp_path}/file/o.parquet: there is no folder {tmp_path}/file"),
        ("no/o.parquet", 4, f"cannot write {tmp_path}/no/o.parquet: there is no folder {tmp_path}/no"),
        ("file", 4, f"{tmp_path}/file exists and is not a folder"),
        (
            "",
            2,
            "output '': expected the name of a file or folder; commands write JSON lines to standard output with -o -",
        ),
    ):
        done = program("score", "t.jsonl", "-o", name)
        assert (done.code, done.out, done.err) == (code, "", f"error: {message}\n")
    assert (tmp_path / "o.parquet").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "o.parquet", "t.jsonl"]
    ok("score", "t.jsonl", "-o", "o.parquet", "--overwrite")
    assert pq.read_table("o.parquet").num_rows == 3


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
    done = program("metrics", "jacard")
    assert (done.code, done.err) == (2, "error: unknown metric 'jacard'; did you mean 'jaccard'?\n")


def test_an_interrupt_names_resume_only_where_there_is_one(monkeypatch):
    def interrupted(*_, **__):
        raise Stopped(signal.SIGINT)

    words = [("gate", "o.parquet", "-r", "token_f1 >= 0"), ("score", "t.jsonl", "-o", "o.parquet")]
    assert [program(*each, "--threads", 0).code for each in words] == [2, 2]
    monkeypatch.setattr("fastmetrics.cli.comparison.gate", interrupted)
    monkeypatch.setattr("fastmetrics.scoring.score.score", interrupted)
    assert program(*words[0]).err == "interrupted\n"
    done = program(*words[1])
    assert (done.code, done.err) == (130, "interrupted; run again with --resume to continue\n")


def test_version_and_help():
    assert ok("--version") == f"fastmetrics {fastmetrics.__version__}\n"
    for command in ("score", "metrics", "summarize", "profile", "validate"):
        assert command in ok("--help")
        assert "Usage: fastmetrics" in ok(command, "--help")


def test_summarize_rejects_unreadable_files():
    done = program("summarize", "no.parquet")
    assert (done.code, done.err) == (3, "error: no.parquet: cannot be read: No such file or directory\n")


def test_scores_without_an_output_are_summarised_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    jsonl(tmp_path / "t.jsonl", {"answer": "in Paris", "reference": "Paris"})
    done = program("score", "t.jsonl", "-m", "token_f1,exact_match")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split()[:2] == ["token_f1", "0.6667"]
    assert done.out.endswith("the scores are not kept:\nadd -o scores.parquet to compare, gate or report them\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    for option in ("--resume", "--overwrite", "--quiet", "--on-error skip"):
        refused = program("score", "t.jsonl", "-m", "token_f1", *option.split())
        assert (refused.code, refused.err) == (
            2,
            f"error: {option} needs --output: name the file of scores, such as scores.parquet\n",
        )


@pytest.mark.parametrize("kept", [(), ("-o", "s.parquet")])
def test_the_summary_of_a_run_is_printed_as_json(tmp_path, kept):
    jsonl(tmp_path / "t.jsonl", {"answer": "Paris", "reference": "Paris"})
    told = json.loads(program("score", "t.jsonl", "-m", "exact_match", *kept, "--json").out)
    summary = fastmetrics.score(tmp_path / "t.jsonl", "exact_match", output=tmp_path / "again.parquet").summary
    assert told == json.loads(summary.to_json())
