"""What reports, charts and evaluations of RAG systems refuse."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    UnknownColumnError,
    UnknownNameError,
)
from fastmetrics.reporting import page as page_module
from fastmetrics.reporting.plot import draw_into, picture_target
from tests.support.goldens import errors_of
from tests.support.program import program

QUESTION = {"id": 1, "question": "ab", "answer": "ab"}
CHUNKS = [{"id": "c0", "text": "ab"}, {"id": "c1", "text": "b"}]
LENGTHS = fm.Embedder(lambda texts: np.array([[float(len(text)), 1.0] for text in texts]))


def bot(question, contexts):
    return contexts[0]


def files(question=QUESTION, chunks=CHUNKS):
    """The names of the files of a question and of its chunks, in the working folder."""
    Path("q.jsonl").write_text(json.dumps(question))
    if isinstance(chunks, pa.Table):
        pq.write_table(chunks, "c.parquet")
        return "q.jsonl", "c.parquet"
    Path("c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chunks))
    return "q.jsonl", "c.jsonl"


def rag(question=QUESTION, chunks=CHUNKS, output="rag", read=None, **options):
    options = {"embedder": LENGTHS, "metrics": "answer_length", **options}
    asked, there = files(question, chunks)
    return fm.evaluate_rag(asked, read or there, output, options.pop("bot", bot), **options)


def columns(**names):
    return fm.reporting.ChunkSettings(**names)


def indexed(names):
    fm.Index.build([[2.0, 1.0], [1.0, 1.0]], names=names).save("index")
    return columns(index="index")


def command(*options, bot="math:sin"):
    return program("evaluate-rag", *files(), "-o", "rag", "--bot", bot, *options)


def beside(name):
    """An evaluation of its own file."""
    rag()
    fm.evaluate_rag(f"rag/{name}", "c.jsonl", "rag", bot, embedder=LENGTHS, metrics="answer_length", overwrite=True)


VECTORS = pa.table({"id": ["a"], "text": pa.array([None], pa.string()), "embedding": [[1.0, 1.0]]})
FAQ = ("--faq", "q.jsonl")
GIVEN = ("--model", "m", "--rubrics", "safety", "--embedder", "wordllama")
SECRET = "http://me:secret@127.0.0.1/v1"

IDS = [f"q{at}" for at in range(5)]
SCORES = pa.table({"id": IDS, "token_f1": [0.0, 0.25, 0.5, 0.75, 1.0]})
BARE = SCORES.select(["token_f1"])
SYSTEMS = SCORES.append_column("model", pa.array(["one"] * 5))
OTHERS = {"id": ["x"], "answer": ["y"]}
TEXTS = {"id": IDS, "answer": IDS}
POINTS = np.eye(5)[:, :2]
CHOSEN = partial(fm.validate, {"token_f1": [0.1, 0.9] * 20, "latency_ms": [1.0, 2.0] * 20})


def page(scores=SCORES, output="r.html", **options):
    """A report that is refused before anything is written."""
    try:
        fm.report(scores, output, **options)
    finally:
        assert {"r.html", "pages"}.isdisjoint(path.name for path in Path().iterdir())


def holding(name, content=""):
    """The path of a file in the working folder."""
    Path(name).write_text(content)
    return name


def without(package, call):
    def called():
        page_module._environment.cache_clear()
        parent, _, name = package.rpartition(".")
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            if parent in sys.modules:  # which keeps what was imported before
                patched.delattr(sys.modules[parent], name, raising=False)
            call()

    return called


def chart(path="a.svg", result=None, **options):
    draw_into(picture_target(path, (), False), fm.results.histograms(SCORES) if result is None else result, **options)


def curve(labels=(0, 1) * 20, **options):
    CHOSEN(list(labels)).plot(Figure(), **options)


def drawn(*words):
    pq.write_table(SCORES, "s.parquet")
    pq.write_table(pa.table({"v": POINTS.tolist(), "kind": IDS}), "v.parquet")
    return program(*words)


ERRORS = [
    # reports
    ("report: texts of other ids", lambda: page(texts=OTHERS), InputError, "q0"),
    ("report: texts of other ids for all rows", lambda: page(output="pages", rows="all", texts=OTHERS), InputError,
     "q0"),
    ("report: texts of other rows", lambda: page(BARE, texts=OTHERS), InputError, "5", "1"),
    ("report: ids on one side", lambda: page(BARE, baseline=SCORES), ColumnError, "run 1", "id"),
    ("report: texts of no baseline", lambda: page(baseline_texts=TEXTS), OptionError, "baseline_texts", "baseline"),
    ("report: labels of no judge", lambda: page(labels=OTHERS), OptionError, "labels", "judged"),
    ("report: by", lambda: page(by="language"), UnknownColumnError, "language"),
    ("report: language", lambda: page(language="de"), OptionError, "language", "de"),
    ("report: rows", lambda: page(rows="some"), OptionError, "rows", "some"),
    ("report: no scores", lambda: page(holding("t.jsonl", '{"id": 1, "name": "x"}\n')), FileFormatError, "t.jsonl"),
    ("report: no usage", lambda: page(usage="no.json"), FileFormatError, "no.json"),
    ("report: there already", lambda: page(output=holding("there.html")), OutputError, "there.html", "overwrite"),
    ("report: no folder", lambda: page(output="no/such/r.html"), OutputError, "no/such"),
    ("report: without jinja2", without("jinja2", page), MissingExtraError, "jinja2", "report"),
    ("report: only the baseline", lambda: page(SYSTEMS, system="model", baseline="one"), InputError, "one"),
    ("report: no systems", lambda: page(SYSTEMS, system="llm"), UnknownColumnError, "llm"),
    ("report: texts of some runs", lambda: page(dict.fromkeys("abc", SCORES), texts=[TEXTS] * 2), OptionError,
     "texts", "2", "3"),
    ("report: texts of a run of other ids", lambda: page({"a": SCORES, "b": SCORES}, texts=[TEXTS, OTHERS]),
     InputError, "q0"),
    ("report: judgements of some runs", lambda: page(dict.fromkeys("abc", SCORES), judged=[TEXTS] * 2),
     OptionError, "judged", "2", "3"),
    ("report: fewer vectors", lambda: page(vectors=POINTS[:4]), InputError, "4", "5"),
    ("report: vectors of other ids", lambda: page(vectors={"id": ["x"], "v": [[1.0, 2.0]]}), InputError, "q0"),
    ("report: no vectors", lambda: page(vectors={"id": ["q0"]}), ColumnError, "vectors_column"),
    ("report: nothing finite", lambda: page(vectors=np.full((5, 2), np.nan)), InputError, "5"),
    ("report: a column without vectors", lambda: page(vectors_column="b"), OptionError, "vectors_column", "vectors"),
    ("report: a column of an array", lambda: page(vectors=POINTS, vectors_column="b"), OptionError, "vectors_column"),
    ("report: a column of no lists", lambda: page(vectors={"id": IDS, "x": [1.0] * 5}, vectors_column="x"),
     ColumnError, "x"),
    # charts
    ("chart: of a dict", lambda: chart(result={}), InputError, "dict"),
    ("chart: another format", lambda: chart("a.pdf"), OptionError, ".svg", ".png"),
    ("chart: there already", lambda: chart(holding("b.svg")), OutputError, "b.svg", "overwrite"),
    ("chart: other colours", lambda: chart(result=fm.vectors.project(POINTS), color=["a"]), OptionError, "color", "5",
     "1"),
    ("chart: more colours", lambda: chart(result=fm.vectors.project(POINTS), color=IDS * 2), OptionError, "color",
     "10"),
    ("chart: without matplotlib", without("matplotlib", chart), MissingExtraError, "matplotlib", "plot"),
    ("chart: without pyplot", without("matplotlib.pyplot", fm.results.histograms(SCORES).plot), MissingExtraError,
     "matplotlib", "plot"),
    ("curve: kind", lambda: curve(kind="roq"), OptionError, "kind", "roq"),
    ("curve: metric", lambda: curve(metrics="token_f2"), UnknownNameError, "token_f2", "token_f1"),
    ("curve: no calibration", lambda: curve(kind="calibration", metrics="latency_ms"), InputError, "calibration"),
    ("curve: grades", lambda: curve([1.0, 2.0, 3.0, 4.0] * 10), OptionError, "positive"),
    ("curve: no risk", lambda: fm.stats.risk_coverage([], []).plot(Figure()), InputError, "confidence"),
    ("chart: command without a chart", lambda: drawn("summarize", "s.parquet", "--plot", "n.svg"), 2, "--plot", "--by"),
    ("chart: command, another format", lambda: drawn("compare", "s.parquet", "s.parquet", "--plot", "n.pdf"), 2,
     "n.pdf"),
    ("chart: command, colours alone", lambda: drawn("vectors", "project", "v.parquet", "-o", "q.csv", "--color",
     "kind"), 2, "--color", "--plot"),
    # options
    ("rag: k", lambda: rag(k=0), OptionError, "k", "0"),
    ("rag: retrieve below k", lambda: rag(k=3, retrieve=2), OptionError, "retrieve", "2"),
    ("rag: judges without a model", lambda: rag(judges="safety"), OptionError, "judges", "bot"),
    ("rag: settings of chunks", lambda: rag(chunk_settings={}), OptionError, "chunk_settings"),
    ("rag: distance", lambda: columns(metric="l2"), OptionError, "metric", "l2"),
    ("rag: an address as output", lambda: rag(output="s3://bucket/rag"), OptionError, "output", "s3://bucket/rag"),
    # columns
    ("rag: no question", lambda: rag({"id": 1, "q": "a"}), ColumnError, "question", "id", "q", "columns"),
    ("rag: no text", lambda: rag(chunk_settings=columns(text="body")), UnknownColumnError, "body", "text"),
    ("rag: no id", lambda: rag(chunk_settings=columns(id="nr")), UnknownColumnError, "nr", "id"),
    ("rag: no vector", lambda: rag(chunk_settings=columns(vector="v")), UnknownColumnError, "v", "vector"),
    ("rag: lists of texts", lambda: rag(chunks=[{"id": "c0", "text": ["ab"]}]), ColumnError, "text", "list"),
    # ids
    ("rag: an id twice", lambda: rag(chunks=[*CHUNKS, CHUNKS[0]]), ColumnError, "c.jsonl", "c0"),
    ("rag: a null id", lambda: rag(chunks=[*CHUNKS, {"id": None, "text": "b"}]), ColumnError, "id", "1"),
    ("rag: a null text", lambda: rag(chunks=VECTORS), ColumnError, "a", "text"),
    ("rag: an id that is no chunk's", lambda: rag(chunk_settings=indexed(["c0", "d1"])), ColumnError, "d1"),
    ("rag: ids of another kind", lambda: rag(chunk_settings=indexed(None)), ColumnError, "string", "int64"),
    ("rag: an id out of the type", lambda: rag(chunks=VECTORS.set_column(0, "id", pa.array([0], pa.int32())),
     chunk_settings=indexed([2**32, 0])), ColumnError, "4294967296"),
    ("rag: other lengths", lambda: rag(chunks=VECTORS.set_column(2, "embedding", [[[1.0]]])), InputError, "1", "2"),
    # files
    ("rag: no chunks", lambda: rag(read="absent.jsonl"), FileFormatError, "absent.jsonl"),
    ("rag: a file as output", lambda: rag(output="q.jsonl"), OutputError, "q.jsonl"),
    ("rag: other files", lambda: rag(output="."), OutputError, "."),
    ("rag: other files, overwritten", lambda: rag(output=".", overwrite=True), OutputError, "."),
    ("rag: its own answers", lambda: beside("answers.parquet"), OutputError, "rag/answers.parquet"),
    # the command
    ("rag: rubrics of a bot without a model", lambda: command("--rubrics", "safety", *FAQ, bot="faq"), 2,
     "--rubrics", "--judge-model"),
    ("rag: a model without rubrics", lambda: command("--judge-model", "m", *FAQ, bot="faq"), 2, "--rubrics"),
    ("rag: an address with secrets", lambda: command("--judge-base-url", SECRET, *GIVEN, bot="given-contexts"), 2,
     "--judge-base-url"),
    ("rag: no module", lambda: command(bot="absent_module:reply"), 2, "--bot", "absent_module"),
    ("rag: no function", lambda: command(bot="math:reply"), 2, "--bot", "math", "reply"),
    ("rag: no file of a function", lambda: command(bot="absent.py:reply"), 2, "--bot", "absent.py:reply"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
