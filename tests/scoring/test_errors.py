"""What functions that score refuse: tables, columns, options and metrics that do not fit."""

import uuid
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, InputError, OptionError, OutputError, UnknownNameError
from tests.support.goldens import errors_of
from tests.support.table_files import write

ROWS = {"id": ["p", "q"], "answer": ["in Paris", None], "reference": [["Paris"], ["Oslo"]]}
TABLE = pa.table(ROWS)
TWO = {"output": ["a", "b"], "response": ["b", "c"], "reference": ["a", "b"]}
CORPUS = "answer_relevance(idf='corpus')"
VECTORS = fm.Embedder(lambda texts: np.ones((len(texts), 2)))
UNION = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])])
MONTHS = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())

fm.pandas.register()


def sql(call, *specs):
    """Register metrics and call one in SQL."""
    with duckdb.connect() as connection:
        connection.register("answers", TABLE)
        fm.duckdb.register(connection, [*specs] or "token_f1")
        return connection.sql(f"SELECT {call} FROM answers").fetchall()


def twice():
    """A function that is in the database already, by another cursor."""
    with duckdb.connect() as connection:
        fm.duckdb.register(connection.cursor(), "token_f1")
        return fm.duckdb.register(connection, "token_f1")


def with_scores(table, metrics="token_f1"):
    return fm.with_scores(table, metrics)


def scored(table, metrics="token_f1", **options):
    return fm.score(table, metrics, **options)


def kept(name, **columns):
    """Keep a column of a file in an output of this name."""
    (column,) = columns
    table = pa.table({"id": [1, 2], "answer": ["a", "b"], "reference": ["a", "a"], **columns})
    return fm.score(write(table, Path("in.arrow")), "token_f1", output=name, keep=[column])


def counts(metrics, name="corpus_bleu.counts"):
    return fm.score({**ROWS, name: ["a", "b"]}, metrics, keep_counts=True, keep=name)


def folder():
    """Files that differ in a column that is kept."""
    for name, meta in (("a", 1), ("b", "b")):
        write(pa.table({"answer": ["a"], "reference": ["a"], "meta": [meta]}), Path(f"{name}.parquet"))
    return fm.score(".", "token_f1", keep="meta")


SINGLE = ["text", b"bytes", 5, 0.5, True]
OF_OUTPUTS = [("resume", True), ("overwrite", True), ("name", "a run"), ("times", True)]
OF_FILES = [("on_error", "skip"), ("batch_rows", 5)]
ODD = {
    "dicts": [{"a": 1}, {"a": "b"}],
    "sets": [{1}, {"a"}],
    "objects": [object, print],
    "types": [uuid.UUID(int=5), 1j],
    "huge": [10**40, -1],
    "bytes": [b"\xff", "\ud800"],
}
REFUSED = [
    ("rows.parquet", "fm.score"),
    (TABLE.to_reader(), "RecordBatchReader"),
    (iter([ROWS]), "list_iterator"),
    ([TABLE], "list"),
    (7, "int"),
]

ERRORS = [
    # columns
    *((f"single {one!r}", lambda one=one: fm.token_f1(one, ["b"]), ColumnError, "answer") for one in SINGLE),
    ("single in a table", lambda: scored({"answer": "text", "reference": ["a"]}), ColumnError, "answer"),
    ("single in rouge", lambda: fm.rouge("text", ["a"]), ColumnError, "answer"),
    ("single in match_faq", lambda: fm.retrieval.match_faq("text", ["a"]), ColumnError, "questions"),
    ("single in anchors", lambda: fm.scoring.anchors("text", [["a"]]), ColumnError, "answer"),
    *((f"column of {name}", lambda odd=odd: scored({**ROWS, "odd": odd}, columns={"answer": "odd"}), ColumnError, "odd")
      for name, odd in ODD.items()),
    ("column twice", lambda: fm.token_f1(["a"], ["b"], reference=["c"]), UnknownNameError, "reference"),
    ("columns of two lengths", lambda: scored({**ROWS, "id": ["a"]}), ColumnError, "id", "answer"),
    ("item without a column", lambda: scored([TABLE, TABLE.drop(["answer"])]), ColumnError, "item 1", "answer"),
    ("item of another kind", lambda: scored([TABLE, ROWS]), ColumnError, "item 1", "dict"),
    ("items of two types", lambda: scored([TABLE, pa.table({**ROWS, "id": [1, 2]})]), ColumnError, "id"),
    ("index of two types", lambda: scored(pd.DataFrame(ROWS, index=[1, "a"])), ColumnError, "reset_index()"),
    ("number beyond 64 bits", lambda: scored({**ROWS, "id": [2**64, 1]}), ColumnError, "id"),
    ("aliases of a column", lambda: scored(TWO), ColumnError, "output", "response", "answer"),
    ("ids twice", lambda: scored([{"qid": 1, "sample_id": 2, "answer": "a"}], "answer_length"),
     ColumnError, "qid", "id"),
    ("reversed columns", lambda: scored({**ROWS, **TWO}, columns={"output": "answer"}),
     UnknownNameError, "output", "answer"),
    ("question of a FAQ", lambda: fm.retrieval.StrictMatchBot({"query": ["a"], "prompt": ["b"], "answer": ["c"]}),
     ColumnError, "query", "prompt"),
    ("files that differ", folder, ColumnError, "meta"),
    ("unions", lambda: kept("o.csv", union=UNION), ColumnError, "union"),
    ("months in Parquet", lambda: kept("o.parquet", months=MONTHS), OutputError, "o.parquet"),
    ("months in parts", lambda: kept("o/", months=MONTHS), OutputError, "o"),
    ("bytes in CSV", lambda: kept("o.csv", bytes=pa.array([b"\xff", None])), OutputError, "o.csv"),
    # options
    *((f"{name} without an output", lambda one={name: value}: scored(TABLE, **one),
     OptionError, name) for name, value in OF_OUTPUTS),
    *((f"{name} without an output", lambda one={name: value}: scored(TABLE, files=fm.tables.FileSettings(**one)),
     OptionError, name)
      for name, value in OF_FILES),
    ("answer: resume without an output", lambda: fm.answer({"question": ["a"]}, str.upper, resume=True),
     OptionError, "resume"),
    ("embed: overwrite without an output", lambda: fm.embed(TABLE, VECTORS, overwrite=True), OptionError, "overwrite"),
    ("match: overwrite without an output",
     lambda: fm.match({"question": ["a"]}, {"question": ["a"], "answer": ["b"]}, overwrite=True),
     OptionError, "overwrite", "output"),
    ("counts without a corpus metric", lambda: counts("bleu,token_f1"), OptionError),
    ("counts of the same name", lambda: counts("bleu,corpus_bleu"), OptionError, "corpus_bleu.counts"),
    ("extracted without extract", lambda: scored(TABLE, keep_extracted=True), OptionError, "keep_extracted", "extract"),
    ("extracted twice",
     lambda: scored({**ROWS, "extracted": ["a", "b"]}, extract="answer", keep_extracted=True, keep="all"),
     OptionError, "extracted"),
    ("extract without answers",
     lambda: fm.score({"retrieved_ids": [["a"]], "relevant_ids": [["a"]]}, extract="boxed"), OptionError),
    ("extract in two ways", lambda: scored({**ROWS, "question": ["q", "q"]},
     ["response_exact_match_rate", "response_exact_match_rate(extract='hashes')"]), OptionError, "extract"),
    *((f"threads {one}", lambda one=one: fm.token_f1([1], [], threads=one), OptionError, "threads")
      for one in (0, -1, 1025, 10**30, 1.5, float("nan"), "2", True, [])),
    ("sample beside rows", lambda: fm.answer({"question": ["a"], "row": [1]}, str.upper, sample=1, keep="row"),
     ColumnError, "row"),
    # other kinds of table
    *((f"with_scores {at}", lambda one=one: with_scores(one),
     ColumnError, name) for at, (one, name) in enumerate(REFUSED)),
    *((f"with_scores twice in {kind.__module__}", lambda kind=kind: with_scores(kind({**ROWS, "token_f1": [1.0, 0.5]})),
       OptionError, "token_f1") for kind in (pl.DataFrame, pl.LazyFrame, pd.DataFrame)),
    ("with_scores of a corpus", lambda: with_scores(pl.DataFrame(ROWS), "token_f1,corpus_bleu"),
     OptionError, "corpus_bleu"),
    ("with_scores of a lazy corpus", lambda: with_scores(pl.LazyFrame({**ROWS, "question": ["a", "b"]}), CORPUS),
     OptionError),
    ("with_scores of a relation", lambda: with_scores(duckdb.from_arrow(TABLE)),
     ColumnError, "fm.duckdb.register(connection)"),
    ("scorer of a corpus", lambda: fm.scorer(["token_f1", "corpus_bleu"]), OptionError, "corpus_bleu"),
    ("scorer of all rows", lambda: fm.scorer(["tfidf_cosine(idf='corpus')"]), OptionError),
    ("scorer of no metric", lambda: fm.scorer("token_f2"), UnknownNameError, "token_f2"),
    ("scorer of objects", lambda: fm.scorer("token_f1")(TABLE.set_column(1, "answer", pa.array([{"a": 1}] * 2))),
     ColumnError, "answer"),
    ("scorer without a column", lambda: fm.scorer("grounding_overlap")(TABLE), ColumnError, "contexts"),
    ("scorer of a dict", lambda: fm.scorer("token_f1")(ROWS), InputError, "dict"),
    ("pandas: a column", pd.DataFrame(ROWS).drop(columns="reference").fm.token_f1, TypeError, "reference"),
    ("pandas: no metric", lambda: pd.DataFrame(ROWS).fm.token_f2, AttributeError, "token_f2"),
    ("pandas: a name twice",
     lambda: pd.DataFrame([["a", "b", "c"]], columns=["answer", "x", "x"]).fm.token_f1("answer", "x"),
     ColumnError, "2", "x"),
    ("polars: a column", lambda: fm.polars.token_f1("answer"), TypeError, "reference"),
    ("polars: columns", lambda: fm.polars.token_f1("answer", "reference", "id"), TypeError, "2"),
    ("polars: an option", lambda: fm.polars.token_f1("answer", "reference", k=3), UnknownNameError, "k"),
    ("polars: no metric", lambda: fm.polars.token_f2, AttributeError, "token_f2"),
    ("polars: a corpus", lambda: fm.polars.corpus_bleu("answer", "reference"), OptionError, "corpus_bleu"),
    ("polars: all rows", lambda: fm.polars.answer_relevance("question", "answer", idf="corpus"), OptionError),
    ("duckdb: a corpus", lambda: sql("1", "corpus_bleu"), OptionError, "corpus_bleu"),
    ("duckdb: all rows", lambda: sql("1", CORPUS), OptionError),
    ("duckdb: twice", twice, OptionError, "token_f1"),
    ("duckdb: a column", lambda: sql("token_f1(answer)"), duckdb.InvalidInputException, "reference"),
    ("duckdb: columns", lambda: sql("token_f1(answer, reference, id)"), duckdb.InvalidInputException, "2"),
    ("profile: threads", lambda: fm.scoring.profile(TABLE, "token_f1", threads=0), OptionError, "threads"),
    ("vectors of two widths", lambda: fm.semantic_similarity(np.eye(2), np.ones((2, 3))), ColumnError),
]  # fmt: skip

test_errors = errors_of(ERRORS)
