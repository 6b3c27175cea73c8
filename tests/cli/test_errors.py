"""What the program refuses: with which code, and what its message names; a refused run leaves nothing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fastmetrics.models.call_store import CallStore
from tests.support.goldens import errors_of
from tests.support.program import jsonl, program

GOOD = {"id": 1, "question": "Where?", "answer": "in Paris", "reference": "Paris", "latency_ms": 5.0}


def score(*options, rows=(GOOD,)):
    """Score rows of JSON lines; no file besides them is left."""
    jsonl(Path("t.jsonl"), *rows)
    return left(program("score", "t.jsonl", "-o", "o.parquet", *options))


def scored(name, content, *options):
    """Score a file of this text or bytes, or of a table."""
    if isinstance(content, dict):
        pq.write_table(pa.table(content), name)
    else:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return left(program("score", name, "-o", "o.parquet", *options))


def left(done):
    assert (done.out, [path.name for path in Path().iterdir() if path.name.startswith("o.")]) == ("", [])
    return done


def runs(*words):
    """A command on two files of scores."""
    jsonl(Path("old.jsonl"), *({"id": row, "token_f1": row / 9} for row in range(9)))
    jsonl(Path("new.jsonl"), *({"id": row, "token_f1": row / 8} for row in range(9)))
    pq.write_table(pa.table({"token_f1": [0.5] * 9}), "noid.parquet")
    return program(*words)


def written(name):
    """Write scores to this name, beside a file, a folder and an output that are there."""
    for path in ("file", "o.parquet"):
        Path(path).write_text("mine")
    jsonl(Path("t.jsonl"), GOOD)
    done = program("score", "t.jsonl", "-o", name)
    assert sorted(path.name for path in Path().iterdir()) == ["file", "o.parquet", "t.jsonl"]
    assert Path("o.parquet").read_text() == Path("file").read_text() == "mine"
    return done


def store(*options):
    CallStore(Path("s.sqlite")).close()
    return program("judge", "store", "s.sqlite", *options)


def arrays(*words, **made):
    """A command on arrays of vectors."""
    for name, array in {"v": np.eye(3, dtype=np.float32), **made}.items():
        np.save(f"{name}.npy", array)
    Path("index").mkdir()
    return program("vectors", *words)


def tools(**columns):
    return score(rows=[columns])


BAD_LINES = ['{"id": 3, "answer"', b'{"id": 3, "answer": "\xff"}', {"answer": {"a": 7}}]
LATIN = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())
OPTIONS = [
    (("-m", "token_f2"), "token_f2", "token_f1"),
    (("-m", "squad_f1(versoin=2)"), "versoin", "version"),
    (("-m", "squad_f1(version=3)"), "version", "3"),
    (("-m", "squad_f1(version='2')"), "version"),
    (("-m", "squad_f1(2)"), "squad_f1"),
    (("-m", "squad_f1(version=2)(version=1)"), "squad_f1"),
    (("-m", "squad_f1(version=1,version=2)"), "once"),
    (("-m", "squad_f1(version=x)"), "version"),
    (("-m", "politeness(markers=None)"), "markers", "None"),
    (("-m", "idk_citations(pattern=3)"), "pattern", "3"),
    (("-m", "abstained(phrases=['i (know'])"), "i (know"),
    (("-m", "abstained(phrases=['...'])"), "..."),
    (("-m", "squad_f1(version="), "squad_f1"),
    (("-m", "token_f1@3"), "token_f1", "3"),
    (("-m", "token_f1,token_f1"), "token_f1"),
    (("--columns", "anwser=answer"), "anwser", "answer"),
    (("--columns", "answer"), "--columns"),
    (("--columns", "answer=answer,answer=question"), "--columns", "answer"),
    (("--suites", "lexicl"), "lexicl", "lexical"),
    (("--keep", "anser"), "anser", "answer"),
    (("--keep", "latency_ms", "-m", "latency_ms"), "latency_ms"),
    (("--schema", "raga"), "raga", "ragas"),
    (("--on-error", "ignore"), "--on-error"),
    (("--format", "xml"), "--format", "jsonl"),
    (("--thread", "2"), "--threads"),
    (("--threads", "0"), "--threads"),
    (("--batch-rows", "x"), "--batch-rows"),
    (("--extract", "regex:a"), "--extract"),
]
WAYS = [
    ("summarize old.jsonl --plot x.svg", "--plot", "--histograms"),
    ("summarize old.jsonl --histograms -o x.csv", "--output", "--worst"),
    ("summarize old.jsonl --primary --histograms", "--primary", "--histograms"),
    ("summarize old.jsonl old.jsonl --histograms", "--histograms", "2"),
    ("summarize old.jsonl --primary -m token_f1", "--metrics"),
    ("compare a.run b.run --qrels q --margin 0.1", "--margin"),
    ("compare old.jsonl new.jsonl --depth 3", "--depth", "--qrels"),
    ("compare old.jsonl new.jsonl --json --latex", "--json", "--latex"),
    ("compare old.jsonl new.jsonl -m token_f2", "token_f2"),
    ("compare old.jsonl new.jsonl --names old", "--names", "2"),
    ("report old.jsonl -o r.html --language de", "--language", "de"),
    ("worst-rows", "worst-rows", "summarize"),
    ("list-runs", "list-runs", "runs list"),
    ("judge-report", "judge report"),
    ("judge raport", "raport", "judge report"),
    ("scor", "score"),
    ("check-dataset", "logs check"),
    ("metrics jacard", "jacard", "jaccard"),
    ("vectors embed old.jsonl", "--output"),
    ("vectors geometry v.npy --seed -1", "--seed"),
    ("judge rubrics corectness", "corectness", "correctness"),
    ("judge rubrics --language fr", "--language", "fr"),
    ("rank old.jsonl old.jsonl -m mrr -o out.xlsx", "out.xlsx"),
]

ERRORS = [
    *((f"score {' '.join(one)}", lambda one=one: score(*one), 2, *names) for one, *names in OPTIONS),
    *((line, lambda line=line: runs(*line.split()), 2, *names) for line, *names in WAYS),
    # columns
    ("no question", lambda: score("-m", "jaccard", rows=[{"answer": "a", "reference": "b"}]), 3, "question",
     "--columns"),
    ("no known columns", lambda: tools(foo="a", bar="b"), 3, "foo", "bar", "--columns"),
    ("suites that can", lambda: tools(tool_calls=[{"name": "f"}], expected_tool_calls=[]), 3, "--suites", "tools"),
    ("suite without columns", lambda: score("--suites", "novelty", rows=[{"contexts": ["f"]}]), 3, "contexts",
     "answer"),
    ("suite of retrieval", lambda: score("--suites", "retrieval"), 3, "retrieval", "id"),
    ("suite of vectors", lambda: score("--suites", "semantic"), 3, "semantic", "id"),
    ("two aliases", lambda: tools(output="a", response="b"), 3, "output", "response", "--columns answer"),
    ("missing column", lambda: score("--columns", "answer=anser"), 2, "anser", "answer"),
    ("objects as answers", lambda: scored("t.parquet", {"answer": [{"a": 5}], "reference": ["a"]}), 3, "answer"),
    ("lists of lists", lambda: scored("t.parquet", {"answer": pa.array([[["a"]]]), "reference": ["a"]}), 3, "answer"),
    ("objects as references", lambda: scored("t.parquet", {"answer": ["a"], "reference": [{"a": 1.5}]}), 3,
     "reference"),
    ("texts as numbers", lambda: scored("t.parquet", {"latency_ms": ["fast"]}, "-m", "latency_ms"), 3, "latency_ms"),
    # rows
    *((f"bad line {at}", lambda one=one: score(rows=[GOOD, GOOD, one, GOOD]), 3, "t.jsonl", "line 3")
      for at, one in enumerate(BAD_LINES)),
    ("bytes in Parquet", lambda: scored("t.parquet", {"answer": LATIN, "reference": ["a", "b"]}), 3, "row 1", "answer"),
    ("bytes in CSV", lambda: scored("t.csv", b"answer,reference\nfine,a\ncaf\xe9,b\n"), 3, "t.csv", "row 1"),
    ("ragged CSV", lambda: scored("t.csv", "id,answer\n1,a\n2\n"), 3, "t.csv", "row 1"),
    (
        "a quote that skipping cannot close",
        lambda: scored("t.csv", 'id,answer\n1,a\n2,"b\n', "--on-error", "skip"),
        3,
        "close the quote",
        "--on-error skip",
    ),
    # files
    ("empty JSON lines", lambda: scored("t.jsonl", ""), 3, "t.jsonl"),
    ("empty CSV", lambda: scored("t.csv", ""), 3, "t.csv"),
    ("nothing on standard input", lambda: program("score", "-"), 3, "standard input", "nothing"),
    ("a file of SQLite", lambda: scored("t.db", b"SQLite format 3\0"), 3, "sqlite:///t.db?table=answers"),
    ("a file as an index", lambda: arrays("search", "v.npy", "v.npy", "-o", "o.jsonl"), 3, "vectors index v.npy"),
    ("no file", lambda: program("score", "no.jsonl"), 3, "no.jsonl"),
    ("no file to summarize", lambda: program("summarize", "no.parquet"), 3, "no.parquet"),
    ("no match", lambda: program("score", "*.parquet"), 3, "*.parquet"),
    ("no folder", lambda: program("score", "."), 3),
    ("unknown format", lambda: scored("t.bin", b"\1\2"), 3, "t.bin", "--format"),
    ("link to itself", lambda: (Path("l.jsonl").symlink_to("l.jsonl"), program("score", "l.jsonl"))[1], 3, "l.jsonl"),
    ("file as folder", lambda: (Path("f").touch(), program("score", "f/t.jsonl"))[1], 3, "f/t.jsonl"),
    # outputs
    ("output exists", lambda: written("o.parquet"), 4, "o.parquet", "--overwrite"),
    ("output is an input", lambda: written("t.jsonl"), 4, "t.jsonl"),
    ("output in a file", lambda: written("file/o.parquet"), 4, "file"),
    ("output in no folder", lambda: written("no/o.parquet"), 4, "no"),
    ("output without a name", lambda: written(""), 2, "-o"),
    ("page of another kind", lambda: runs("report", "old.jsonl", "-o", "r.pdf"), 2, "r.pdf", ".html"),
    ("preset that nearly matches",
     lambda: score("-m", "token_f1", "--schema", "langfuse", rows=[{"id": "a", "input": {"query": "q"}}]), 3,
     "langfuse", "output.answer", "--columns"),
    ("resume without output", lambda: program("score", "t", "-m", "token_f1", "--resume"), 2, "--resume", "--output"),
    ("overwrite without output", lambda: program("score", "t", "--overwrite"), 2, "--overwrite", "--output"),
    ("quiet without output", lambda: program("score", "t", "--quiet"), 2, "--quiet", "--output"),
    ("skip without output", lambda: program("score", "t", "--on-error", "skip"), 2, "--on-error", "--output"),
    # runs, stores, vectors
    ("one run", lambda: runs("compare", "old.jsonl"), 3, "two"),
    ("runs without ids", lambda: runs("compare", "old.jsonl", "noid.parquet"), 3, "--pairing"),
    *((f"prune {one}", lambda one=one: store("--prune", one), 2, "--prune") for one in ("all", "model=", "days=x")),
    ("prune days=-1", lambda: store("--prune", "days=-1"), 2, "--prune"),
    ("rubric of another kind",
     lambda: (Path("r.toml").write_text("a = 1"), program("judge", "rubrics", "r.toml"))[1], 3, "r.toml"),
    ("no store", lambda: program("judge", "store", "none.sqlite"), 4, "none.sqlite"),
    ("index exists", lambda: arrays("index", "v.npy", "-o", "index"), 4, "index"),
    ("index in a file", lambda: arrays("index", "v.npy", "-o", "v.npy/index"), 4, "v.npy"),
    ("folder without vectors", lambda: arrays("geometry", "index"), 3, "index"),
    ("vectors of two widths", lambda: arrays("geometry", "*.npy", w=np.eye(2)), 3, "3", "2"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
