"""What evaluations of RAG systems refuse."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, InputError, OptionError, OutputError
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
    fm.evaluate_rag(f"rag/{name}", "c.jsonl", "rag", bot, embedder=LENGTHS, overwrite=True)


VECTORS = pa.table({"id": ["a"], "text": pa.array([None], pa.string()), "embedding": [[1.0, 1.0]]})
FAQ = ("--faq", "q.jsonl")
GIVEN = ("--model", "m", "--rubrics", "safety", "--embedder", "wordllama")
SECRET = "http://me:secret@127.0.0.1/v1"

ERRORS = [
    # options
    ("rag: k", lambda: rag(k=0), OptionError, "k", "0"),
    ("rag: retrieve below k", lambda: rag(k=3, retrieve=2), OptionError, "retrieve", "2"),
    ("rag: judges without a model", lambda: rag(judges="safety"), OptionError, "judges", "bot"),
    ("rag: settings of chunks", lambda: rag(chunk_settings={}), OptionError, "chunk_settings"),
    ("rag: distance", lambda: columns(metric="l2"), OptionError, "metric", "l2"),
    ("rag: an address as output", lambda: rag(output="s3://bucket/rag"), OptionError, "output", "s3://bucket/rag"),
    # columns
    ("rag: no question", lambda: rag({"id": 1, "q": "a"}), ColumnError, "question", "id", "q", "columns"),
    ("rag: no text", lambda: rag(chunk_settings=columns(text="body")), ColumnError, "body", "text"),
    ("rag: no id", lambda: rag(chunk_settings=columns(id="nr")), ColumnError, "nr", "id"),
    ("rag: no vector", lambda: rag(chunk_settings=columns(vector="v")), ColumnError, "v", "vector"),
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
