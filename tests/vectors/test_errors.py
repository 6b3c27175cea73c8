"""What functions on vectors refuse."""

import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
from tests.support.goldens import errors_of

geometry, nearest, project, Index = fm.vectors.geometry, fm.vectors.nearest, fm.vectors.project, fm.Index
duplicates = fm.vectors.duplicates
ROWS = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
INDEX = Index.build(ROWS)
TABLE = {"id": [1, 2], "embedding": ROWS[:2].tolist(), "note": ["a", "b"]}
DATABASE = "postgresql://user@host/shop"


def letters(texts):
    return np.array([[len(text), 1.0, 2.0, 3.0] for text in texts], np.float32)


def failing(texts):
    if len(texts) > 1:
        raise RuntimeError("no model")
    return letters(texts)


def holding(name, content):
    """The path of a file in the working folder."""
    Path(name).write_bytes(content)
    return name


def asked(embedder=letters, texts=("a cab", None), **options):
    pq.write_table(pa.table({"question": pa.array(texts, pa.string()), "vector": ROWS[:2].tolist()}), "q.parquet")
    return fm.search(INDEX, "q.parquet", **({} if embedder is None else {"embedder": embedder}), **options)


def saved(name):
    INDEX.save("index")
    INDEX.save("index") if name == "index" else INDEX.save(holding("file", b"") + "/index")


def without(package):
    """A projection by a method whose package is missing."""

    def call():
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            project(np.eye(20), method=package)

    return call


ERRORS = [
    *((f"project: without {name}", without(name), MissingExtraError, name, "project") for name in ("pacmap", "umap")),
    *(
        (f"search: {name} of an index", partial(fm.search, INDEX, ROWS[:2], **{name: "other"}), OptionError, name)
        for name in ("metric", "vector", "id", "table")
    ),
    # vectors
    ("geometry: rows of other lengths", lambda: geometry([[1.0, 2.0], [1.0]]), ColumnError, "vectors"),
    ("geometry: a longer list", lambda: geometry(pa.array([[1.0, 2.0], [1.0, 2.0, 3.0]])), ColumnError, "row 1", "3"),
    ("geometry: a longer list in a later chunk", lambda: geometry(pa.chunked_array([[[1.0, 2.0]] * 4, [[1.0]]])),
     ColumnError, "row 4", "1"),
    ("geometry: one dimension", lambda: geometry(np.ones(3)), ColumnError, "vectors"),
    ("geometry: two columns", lambda: geometry(pa.table({"a": [[1.0]], "b": [[1.0]]})), ColumnError, "a", "b"),
    ("geometry: nothing finite", lambda: geometry(np.full((2, 3), np.nan)), InputError, "2"),
    ("geometry: no rows", lambda: geometry(np.empty((0, 3))), InputError, "0"),
    ("geometry: distance", lambda: geometry([[1.0]], metric="cosin"), UnknownNameError, "cosin"),
    ("geometry: k", lambda: geometry([[1.0]], k=0), OptionError, "k", "0"),
    ("geometry: work", lambda: geometry(ROWS, exact_work=math.nan), OptionError, "exact_work"),
    # files
    ("a header that ends", lambda: geometry(holding("bad.npy", b"\x93NUMPY")), FileFormatError, "bad.npy"),
    ("no format", lambda: geometry(holding("v.bin", b"1 2")), FileFormatError, "v.bin"),
    ("no vectors in a file", lambda: geometry(holding("v.csv", b"1,2")), ColumnError, "v.csv"),
    ("no file", lambda: geometry("absent.npy"), FileFormatError, "absent.npy"),
    # neighbours
    ("nearest: not finite", lambda: nearest(ROWS, [ROWS[0], [np.nan, 0, 0, 0]]), InputError, "query 1"),
    ("nearest: other length", lambda: nearest(ROWS, [[1.0, 2.0, 3.0]]), InputError, "3", "4"),
    ("nearest: method", lambda: nearest(ROWS, method="ivff"), UnknownNameError, "ivff"),
    ("nearest: distance", lambda: nearest(ROWS, metric="manhattan"), UnknownNameError, "manhattan"),
    ("nearest: k", lambda: nearest(ROWS, k=0), OptionError, "k", "0"),
    ("nearest: work", lambda: nearest(ROWS, exact_work=-1.0), OptionError, "exact_work"),
    ("nearest: sample", lambda: nearest(ROWS, method="hnsw", recall_sample=0), OptionError, "recall_sample", "0"),
    ("nearest: seed", lambda: nearest(ROWS, method="exact", seed=-1), OptionError, "seed", "-1"),
    ("nearest: no numbers", lambda: nearest(np.empty((3, 0)), method="exact"), InputError, "3"),
    ("nearest: no numbers, by an index", lambda: nearest(np.empty((3, 0)), method="ivf"), InputError, "3"),
    ("index: recall", lambda: INDEX.search(ROWS, recall=98), OptionError, "recall", "98"),
    ("index: names", lambda: Index.build(ROWS, names=["a", "b"]), InputError, "2", "10"),
    ("index: excluded rows", lambda: INDEX.search(ROWS, exclude=[1]), InputError, "1", "10"),
    ("index: no folder of one", lambda: Index.load("."), FileFormatError, "."),
    ("index: there already", lambda: saved("index"), OutputError, "index"),
    ("index: in a file", lambda: saved("file"), OutputError, "file/index"),
    # projections
    ("project: method", lambda: project(ROWS, method="tsne"), OptionError, "method", "tsne"),
    ("project: dimensions", lambda: project(ROWS, dims=4), OptionError, "dims", "4"),
    ("project: sample", lambda: project(ROWS, sample=5), OptionError, "sample", "5"),
    ("project: seed", lambda: project(ROWS, seed=-1), OptionError, "seed", "-1"),
    ("project: zero vectors", lambda: project([[0.0, 0.0]]), InputError, "1"),
    ("project: nothing finite", lambda: project([[np.nan, 1.0]]), InputError, "1"),
    ("project: no rows", lambda: project(np.zeros((0, 3))), InputError, "0"),
    ("project: other lengths", lambda: project([[1.0], [1.0, 2.0]]), ColumnError, "vectors"),
    # near duplicates
    ("duplicates: text", lambda: duplicates(TABLE, text="prompt"), UnknownNameError, "prompt"),
    ("duplicates: texts of an array", lambda: duplicates(ROWS, text="note"), ColumnError, "note"),
    ("duplicates: near", lambda: duplicates(ROWS, near=1.1), OptionError, "near", "1.1"),
    ("duplicates: limit", lambda: duplicates(ROWS, limit=0), OptionError, "limit", "0"),
    # searches
    ("search: no vectors", lambda: fm.search(INDEX, {"id": [1], "question": ["a"]}), ColumnError, "column"),
    ("search: no such column", lambda: fm.search(INDEX, TABLE, column="vector"), UnknownNameError, "vector"),
    ("search: one dimension", lambda: fm.search(INDEX, ROWS[0]), ColumnError, "queries"),
    ("search: no index", lambda: fm.search(ROWS, ROWS), OptionError, "index"),
    ("search: a null text", asked, ColumnError, "q.parquet", "question", "row 1"),
    ("search: a null text in memory", lambda: fm.search(INDEX, {"question": ["a", None]}, embedder=letters),
     ColumnError, "queries", "question", "row 1"),
    ("search: no texts", lambda: fm.search(INDEX, TABLE, embedder=letters), ColumnError, "question", "query_column"),
    ("search: no such texts", lambda: asked(query_column="absent"), UnknownColumnError, "absent"),
    ("search: vectors as texts", lambda: asked(query_column="vector"), ColumnError, "vector"),
    ("search: texts without an embedder", lambda: asked(None, query_column="question"), OptionError, "query_column"),
    ("search: a cache without an embedder", lambda: asked(None, cache="c"), OptionError, "cache", "embedder"),
    ("search: vectors with an embedder", lambda: asked(column="question"), OptionError, "column", "query_column"),
    ("search: texts of another length", lambda: asked(lambda texts: np.ones((len(texts), 1)), ["a", "b"]), InputError,
     "1", "4"),
    ("search: options of a database", lambda: fm.search(INDEX, ROWS, connections=2), OptionError, "connections"),
    ("search: another database", lambda: fm.search("sqlite:///x.db", ROWS, table="t"), OptionError, "sqlite:///x.db"),
    ("search: no table", lambda: fm.search(DATABASE, ROWS), OptionError, "table"),
    ("search: a table twice", lambda: fm.search(f"{DATABASE}?table=t", ROWS, table="t"), OptionError, "table"),
    ("search: settings of no index", lambda: fm.search(DATABASE, ROWS, table="t", exact=True, pgvector="ef_search=9"),
     OptionError, "exact"),
    ("search: settings that are SQL", lambda: fm.search(DATABASE, ROWS, table="t", pgvector="ef_search=1;drop"),
     OptionError, "pgvector", "ef_search=1;drop"),
    # embedders
    ("embedder: raises", lambda: fm.Embedder(failing).embed(["a", "bb"]), InputError, "failing", "RuntimeError", "bb"),
    ("embedder: raises at once", lambda: fm.Embedder(lambda texts: {}["x"]), InputError, "KeyError"),
    ("embedder: a row too few", lambda: fm.Embedder(lambda texts: letters(texts[:1])).embed(["a", "b"]), InputError,
     "(1, 4)"),
    ("embedder: no numbers", lambda: fm.Embedder(lambda texts: [["x"]]), InputError, "numbers"),
    ("embedder: no texts", lambda: fm.Embedder(letters).embed([1, 2]), ColumnError, "texts"),
    ("embedder: no name", lambda: fm.Embedder("word2vec"), UnknownNameError, "word2vec"),
    ("embedder: a cache without a revision", lambda: fm.Embedder(letters, cache="c"), InputError, "revision"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
