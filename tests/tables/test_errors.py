"""What is no table, no file of one, no row and no place for an output: each is named, with what to do."""

import gzip
import os
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    OutputError,
    UnknownColumnError,
    UnknownNameError,
)
from tests.support.goldens import errors_of
from tests.support.program import ROOT, jsonl, program
from tests.support.table_files import write
from tests.support.workbooks import write_workbook

TOOLS = ROOT / "tests" / "data" / "tools"
TWICE = pa.table([pa.array(["a"])] * 3, names=["answer", "answer", "reference"])
ROWS = pa.table({"id": ["a"], "answer": ["in Paris"], "reference": ["Paris"], "contexts": [["a"]]})
NUMBERS = "id;latency_ms\n1;0,5\n2;1.5\n"
RUSSIAN = "вопрос;answer\nКто?;Анна\nГде?;Рим\n"
BOOK = [["id", "answer", "latency_ms"], [7, "a", 1.5], [8, "b", "slow"]]
LATIN = pa.array([b"fine", b"caf\xe9"], pa.binary()).view(pa.string())


def scored(content, name="t.csv", metric="answer_words", columns=None, **settings):
    """Score a file of this text, these bytes, this table or these rows of JSON lines."""
    if isinstance(content, pa.Table):
        write(content, Path(name))
    elif isinstance(content, list):
        jsonl(Path(name), *content)
    else:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return fm.score(name, metric, columns=columns, files=fm.tables.FileSettings(**settings))


def document(text, records=None):
    return scored(text, "t.json", columns={"answer": "text"}, records=records)


def cut(table, name, size):
    """A file of which the first bytes are left."""
    write(table, Path(name))
    return scored(Path(name).read_bytes()[:size], name)


def spoilt():
    """A page of Parquet is zeros."""
    table = pa.table({"answer": [f"{n} {n}" for n in range(5000)]})
    pq.write_table(table, "t.parquet", use_dictionary=False)
    data = bytearray(Path("t.parquet").read_bytes())
    data[2000:3000] = bytes(1000)
    return scored(bytes(data), "t.parquet")


def lost():
    """An empty page, at which the reader of Arrow ends without an error."""
    table = pa.table({"contexts": pa.array([[]], pa.list_(pa.string())), "answer": ["a"]})
    pq.write_table(table, "t.parquet", data_page_size=1, write_batch_size=1)
    return fm.score("t.parquet", "hallucination_risk")


def files(**tables):
    """Score a folder with these files."""
    Path("in").mkdir()
    for name, table in tables.items():
        write(table, Path("in", f"{name}.parquet"))
    return fm.score("in", "answer_words")


def book(sheets, sheet=None, size=None):
    path = write_workbook(Path("t.xlsx"), sheets)
    path.write_bytes(path.read_bytes()[:size])
    return fm.score("t.xlsx", "answer_words,latency_ms", files=fm.tables.FileSettings(sheet=sheet))


def log(**members):
    """A log of Inspect with these members."""
    with zipfile.ZipFile("log.eval", "w") as made:
        for name, text in members.items():
            made.writestr(name, text)
    return fm.score("log.eval", "answer_words")


def written(name, table=ROWS, keep=()):
    """Scores at a name that cannot have them; nothing is left."""
    before = sorted(os.listdir())
    try:
        return fm.score(table, "token_f1", output=name, keep=keep)
    finally:
        assert sorted(os.listdir()) == before


def database(query):
    with sqlite3.connect("rows.db") as made:
        made.execute("CREATE TABLE t (id integer, answer text)")
    made.close()
    Path("other.db").write_text("id,answer\n1,yes\n" * 100)
    return fm.score(query.replace("HERE", str(Path.cwd())), "answer_words")


def vectors(text, name):
    Path("v").mkdir()
    np.save("v/a.npy", np.eye(4, 3))
    Path("v", name).write_bytes(text)
    return fm.vectors.geometry("v")


def run(text):
    """A run of which the second file has this line."""
    Path("run").mkdir()
    Path("run/a.txt").write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 0.4 x\n")
    Path("run/b.txt").write_text(text)
    return fm.rank("run", {"q1": {"d1": 1}}, "mrr")


MEMORY = [
    (["a", 5], "list", "str"),
    ([{"answer": "a"}, None], "list", "NoneType"),
    (TWICE, "2", "answer"),
    (TWICE.to_pandas(), "2", "answer"),
    (5, "int"),
    (b"answers.parquet", "bytes"),
    (pl.Series(["a"]), "Series"),
    ({"answer": 5, "reference": ["a"]}, "answer", "int"),
]
DOCUMENTS = [
    ('{\n"a": 1}', None),
    ('{\n"a": {"b": [{"c": 1}]}}', None, "records", "a.b"),
    ('{\n"a": {"b": [{"c": 1}]}}', "a.c", "a.c", "a.b"),
    ('{\n"a": {"b": {"c": 1}}}', "a.b", "a.b"),
    ('{"a": [1]}', "b", "b[]"),
    ('[{"id": 1}]]', None),
    ('[{"id": 1}]\n{"id": 2}', None),
    ("[]", None),
    ('{\n"rows": [{"text": "a"}, {"text": "b c"},{"te', "rows", "record 3"),
]
LINES = [
    b'{"id": 1, "answer": "a"',
    b'["answer"]',
    b'{"answer": "\xff"}',
    b'{"answer": "a", "latency_ms": ' + b"9" * 400 + b"}",
    b'{"answer": {"a": 1}}',
    b'{"answer": [{"type": "text", "text": "hi"}]}',
    b'{"answer": "a"} {"answer": "b"}',
    b'{"answer": "a", "latency_ms": "fast"}',
    b'{"answer": "a", "latency_ms": true}',
]
ADDRESSES = [
    ("sqlite:///nosuch.db?table=t", FileFormatError, "nosuch.db"),
    ("duckdb:////nosuch/rows.duckdb?table=t", FileFormatError, "/nosuch/rows.duckdb"),
    ("sqlite://rows.db?table=t", OptionError, "three"),
    ("duckdb:///", OptionError, "table", "query"),
    ("sqlite:///rows.db?table=t&query=select 1", OptionError, "table", "query"),
    ("sqlite:///rows.db?table=", OptionError, "table"),
    ("sqlite:///rows.db?tabel=t&table=t", OptionError, "tabel", "table"),
    ("sqlite:///rows.db?table=t&order=id", OptionError, "order"),
    ("sqlite:///HERE/rows.db?table=nosuch", FileFormatError, "nosuch"),
    ('sqlite:///rows.db?table="a', OptionError, "table"),
    ("sqlite:///HERE/other.db?table=t", FileFormatError, "other.db"),
    ("postgresql://user:qq@zz/vv@host/db?table=t", OptionError, "%40"),
    ("postgresql://user:98/76@host/db?table=t", OptionError, "%40"),
    ("postgresql://user:q@z?zz@host/db?table=t", OptionError, "%40"),
    ("s3://key:hid/den@bucket/x.csv", OptionError, "s3://***", "%2F"),
    ("file://elsewhere/rows.csv", OptionError, "file:///"),
    ("memory://stored/none.csv", FileFormatError, "memory://stored/none.csv"),
    ("nope://bucket/rows.csv", OptionError, "nope"),
]
OUTPUTS = [
    ("sqlite:///scores.db?query=select 1", OptionError, "table"),
    ("sqlite:///scores.db?table=scores&order=id", OptionError, "order"),
    (f"sqlite:///scores.db?table={'x' * 60}", OptionError, "51"),
    ("sqlite:///scores.db", OptionError, "table"),
    ("sqlite:///scores.db?table=a.main.scores", OptionError, "table"),
    ("duckdb:///nosuch/scores.duckdb?table=scores", OutputError, "nosuch"),
    ("no/o.parquet", OutputError, "no"),
    ("o.txt", OptionError, "o.txt", ".parquet"),
    ("o.xlsx", OptionError, "o.xlsx", "xlsx"),
    ("o.npy", OptionError, "o.npy", "npy"),
    ("o.csv.bz2", OptionError, ".zst"),
    ("o.csv.xz", OptionError, ".zst"),
]
SETTINGS = [
    ({"blank": "none"}, "blank", "empty"),
    ({"delimiter": "x"}, "delimiter", "tab"),
    ({"encoding": "none"}, "encoding", "cp1251"),
    ({"on_error": "stop"}, "on_error", "skip"),
]
OF_FILES = [{"blank": "empty"}, {"records": "a"}, {"format": "csv"}, {"query": "select 1"}, {"sheet": "a"}]

ERRORS = [
    # tables in memory
    *((f"in memory {at}", lambda one=one: fm.score(one, "token_f1"), ColumnError, *names)
      for at, (one, *names) in enumerate(MEMORY)),
    ("generator of rows", lambda: fm.score((row for row in ({"answer": "a"}, 5)), "answer_words"), ColumnError, "int"),
    ("texts and numbers", lambda: fm.token_f1(["a", 1], ["a", "b"]), ColumnError, "row 0", "row 1"),
    ("references of a number", lambda: fm.token_f1(["a"], [["a", 1]]), ColumnError, "reference"),
    ("references and numbers", lambda: fm.token_f1(["a"] * 2, ["a", ["b", 1]]), ColumnError, "reference"),
    ("no references", lambda: fm.token_f1(["a"], None), TypeError, "reference"),
    ("no contexts", lambda: fm.scoring.anchors(["a"], None), ColumnError, "contexts"),
    ("columns in a list", lambda: fm.score(pd.DataFrame([["a", "b"]]), "token_f1", columns=["answer"]), ColumnError),
    ("other ids of labels",
     lambda: fm.validate({"id": ["q1", "q2"], "fit": [0.1, 0.2]}, {"id": [1, 2], "label": [0, 1]}),
     InputError, "id", "q1"),
    ("no scores", lambda: fm.validate({"id": [0, 1], "why": ["a", "b"]}, [0, 1]), ColumnError, "id", "why"),
    ("label of another word",
     lambda: fm.validate({"id": [1, 2], "fit": [0.1, 0.2]}, {"id": [1, 2], "l": ["yes", "so"]}, label="l"),
     InputError, "row 1", "l", "so"),
    ("null group",
     lambda: fm.validate({"id": [1, 2, 3], "fit": [0.1, 0.2, 0.3], "group": ["a", None, "b"]},
                         {"id": [1, 2, 3], "label": [0, 1, 1]}, cluster="group"), ColumnError, "row 1", "group"),
    *((f"k {one}", lambda one=one: fm.retrieval.match_faq(["a"], ["a"], k=one), OptionError, "k") for one in (1.5, 0)),
    *((f"{name}= in memory",
     lambda one={name: value}: fm.score(ROWS, "answer_words", files=fm.tables.FileSettings(**one)),
       OptionError, name) for each in OF_FILES for name, value in each.items()),
    *((f"settings {name}={value}", lambda one={name: value}: fm.tables.FileSettings(**one), OptionError, *names)
      for each, *names in SETTINGS for name, value in each.items()),
    ("settings as a mapping", lambda: fm.score(ROWS, "answer_words", files={"on_error": "skip"}),
     OptionError, "files", "FileSettings"),
    ("format xml", lambda: scored("answer\na\n", format="xml"), OptionError, "format", "jsonl"),
    ("rows of no bytes", lambda: scored("answer\na\n", max_row_bytes=0), OptionError, "max_row_bytes", "0"),
    # columns of files
    *((f"nearest column in {name}",
     lambda name=name: scored(ROWS.drop(["contexts"]), name, columns={"answer": "anwser"}),
       UnknownColumnError, "anwser", "answer") for name in ("t.parquet", "t.jsonl", "t.csv")),
    ("two types", lambda: files(a=pa.table({"answer": ["x"]}), b=pa.table({"answer": [b"\xff"]})),
     ColumnError, "answer"),
    ("binary answers", lambda: scored(pa.table({"answer": [b"\xff"]}), "t.parquet"), ColumnError, "answer", "binary"),
    *((f"column twice in {name}", lambda name=name: scored(TWICE, name), ColumnError, "2", "answer")
      for name in ("t.csv", "t.tsv", "t.arrow", "t.parquet")),
    ("path to a list", lambda: scored([{"docs": [{"t": "a"}, {"t": "b"}]}], "t.jsonl", columns={"answer": "docs[].t"}),
     InputError, "line 1", "docs[].t"),
    ("list of texts", lambda: scored([{"answer": ["a", "b"]}], "t.jsonl"), InputError, "line 1", "answer"),
    ("path into a text", lambda: scored([{"o": {"a": "b"}}, {"o": "oops"}], "t.jsonl", columns={"answer": "o.a"}),
     FileFormatError, "line 2", "o.a", "oops"),
    ("latency twice",
     lambda: fm.score(TOOLS / "inspect.eval", "latency_ms", columns={"latency_ms": "x", "latency_s": "x"}),
     ColumnError, "latency_ms", "latency_s"),
    ("unknown schema", lambda: fm.score(TOOLS / "promptfoo.json", schema="promptfo"), UnknownNameError, "promptfoo"),
    # CSV
    ("decimal point only", lambda: scored(NUMBERS, metric="latency_ms", decimal="."),
     FileFormatError, "row 0", "latency_ms"),
    ("decimal comma among commas", lambda: scored('id,latency_ms\n1,"0,5"\n', metric="latency_ms"),
     FileFormatError, "latency_ms"),
    ("thousands", lambda: scored("id;latency_ms\n1;1.000,5\n", metric="latency_ms"), FileFormatError, "1.000,5"),
    ("other delimiter", lambda: scored("id,answer\n1,a\n", delimiter=";"), FileFormatError, "t.csv", "delimiter"),
    ("few fields", lambda: scored("sep=;\nid;answer\n1;a b\n2\n"), FileFormatError, "row 1", "2"),
    ("header in cp1251", lambda: scored(RUSSIAN.encode("cp1251")), FileFormatError, "encoding"),
    ("row in cp1251", lambda: scored(b"answer;b\n" + b"a;a\n" * 3 + b"\x98;a\n"), FileFormatError, "row 3", "encoding"),
    ("no byte of cp1251", lambda: scored(b"answer;b\na;a\n\x98;a\n", encoding="cp1251"),
     FileFormatError, "row 1", "answer"),
    ("no UTF-8 half way", lambda: scored(b"id,answer\n" + b"1,a\n" * 500 + b"2,\xd0\n"),
     FileFormatError, "row 500", "answer"),
    *((f"{name} of CSV", lambda name=name: scored("answer\na\n", **{name: "a"}), OptionError, name, "t.csv")
      for name in ("records", "sheet")),
    # JSON
    *((f"document {at}", lambda one=one: document(*one), FileFormatError, *names)
      for at, (*one, names) in enumerate((text, records, names) for text, records, *names in DOCUMENTS)),
    *((f"line {at}",
     lambda one=one: scored([{"answer": "ok", "latency_ms": 1}, "", one], "t.jsonl", "answer_words,latency_ms"),
       FileFormatError, "t.jsonl", "line 3") for at, one in enumerate(LINES)),
    *((f"document {text}", lambda text=text: (Path("t.json").write_text(text), program("score", "t.json"))[1],
     3, "record 1")
      for text in ("[1]", '[{"id": 1 2}]')),
    ("long lines alone", lambda: scored([{"answer": "x" * 50}], "t.jsonl", max_row_bytes=40),
     FileFormatError, "line 1", "40"),
    # files that are damaged, empty or none
    *((f"empty {name}", lambda name=name: scored(b"", name),
     FileFormatError, name) for name in ("t.jsonl", "t.csv", "t.tsv")),
    ("empty gzip", lambda: scored(gzip.compress(b""), "t.jsonl.gz"), FileFormatError, "t.jsonl.gz"),
    ("empty Parquet", lambda: scored(b"", "t.parquet"), FileFormatError, "t.parquet"),
    ("short Parquet", lambda: cut(ROWS, "t.parquet", -100), FileFormatError, "t.parquet"),
    ("short Arrow", lambda: cut(ROWS, "t.arrow", 100), FileFormatError, "t.arrow"),
    ("short gzip", lambda: cut(ROWS.drop(["contexts"]), "t.csv.gz", 20), FileFormatError, "t.csv.gz"),
    ("spoilt page", spoilt, FileFormatError, "t.parquet"),
    ("lost rows", lost, FileFormatError, "t.parquet", "1"),
    ("bytes in Arrow", lambda: scored(pa.table({"answer": LATIN}), "t.arrow"), FileFormatError, "row 1", "answer"),
    ("no file", lambda: fm.score("no.parquet"), FileFormatError, "no.parquet"),
    ("no match", lambda: fm.score("*.parquet"), FileFormatError, "*.parquet"),
    ("no tables", lambda: fm.score("."), FileFormatError),
    ("unknown format", lambda: scored(b"\x01\x02", "x.doc"), FileFormatError, "x.doc", "format"),
    ("log of a newer version", lambda: log(**{"_journal/start.json": '{"version": 9}', "a/1.json": "{}"}),
     FileFormatError, "log.eval"),
    # workbooks
    ("several sheets", lambda: book({"January": BOOK, "Февраль": BOOK}), FileFormatError, "January", "Февраль"),
    ("unknown sheet", lambda: book({"January": BOOK}, "Januar"), FileFormatError, "Januar", "January"),
    ("bad cell", lambda: book({"a": BOOK}), FileFormatError, "line 3", "latency_ms", "slow"),
    ("bad cell below blank lines", lambda: book({"a": [[None], *BOOK]}), FileFormatError, "line 4", "latency_ms"),
    ("empty workbook", lambda: book({"a": []}), FileFormatError, "t.xlsx"),
    *((f"workbook of {size} bytes", lambda size=size: book({"a": BOOK}, size=size),
     FileFormatError, "t.xlsx") for size in (0, 30, -3)),
    # other readers
    ("second file of a run", lambda: run("q2 Q0 d1 1 half x\n"), FileFormatError, "run/b.txt", "line 1", "half"),
    ("second array", lambda: vectors(b"\x93NUMPY", "b.npy"), FileFormatError, "v/b.npy"),
    # addresses and databases
    *((one, lambda one=one: database(one), error, *names) for one, error, *names in ADDRESSES),
    ("format of a database",
     lambda: fm.score("sqlite:///a.db?table=t", files=fm.tables.FileSettings(format="csv")), OptionError),
    ("query of a file",
     lambda: fm.score("s3://key:hidden@bucket/x.csv", files=fm.tables.FileSettings(query="select 1")), OptionError),
    ("vectors of another database",
     lambda: fm.vectors.load_vectors("c.parquet", "mysql://user:hidden@host/db", table="t"), OptionError),
    # outputs
    *((f"output {one}", lambda one=one: written(one), error, *names) for one, error, *names in OUTPUTS),
    ("lists in SQLite", lambda: written("sqlite:///scores.db?table=scores", keep="contexts"),
     OutputError, "contexts", "sqlite"),
    ("table without a suffix", lambda: fm.rank({"q": {"d": 1}}, {"q": {"d": 1}}, "mrr", output="values"),
     OptionError, "values", "suffix"),
    ("number of threads", lambda: fm.score(ROWS, "token_f1", output="o.csv", threads=0), OptionError, "threads"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
