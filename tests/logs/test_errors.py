"""What the functions of logs refuse."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    InputError,
    MissingExtraError,
    OptionError,
    UnknownColumnError,
    UnknownNameError,
)
from fastmetrics.base.limits import SIZES, ReadSizes
from fastmetrics.tables.opening import open_source
from tests.support.goldens import errors_of
from tests.support.program import jsonl, program

GRADED = {"retrieved_ids": ["a"], "relevant_ids": ["a"], "relevance": [1.0]}
SESSION = {"session_id": ["a"], "success": [True], "answer": ["x"]}
PRICES = {"m": {"input": 1, "output": 1}, "n": {"input": 2, "output": 2}}
VECTOR = {"question_embedding": [[1.0]]}


def chunks(log, chunks=None, **options):
    return lambda: fm.logs.chunk_utilization(log, chunks=chunks, **options)


def asked(**columns):
    return lambda: fm.logs.domain_analysis({"question": ["a", "b"], **columns})


def topics(log, **options):
    return lambda: fm.logs.topic_coverage(log, **options)


def cache(log, **options):
    return lambda: fm.logs.cache_hit_rate(log, **options)


def sessions(log, **options):
    return lambda: fm.logs.sessions(log, **options)


def in_parts(row, change, files=False):
    """Eleven rows in parts of two, of which one is changed: its number counts over all parts."""
    rows = [GRADED] * row + [{**GRADED, **change}] + [GRADED] * (10 - row)

    def call():
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SIZES, "log_rows", 2)
            places = [jsonl(Path("a.jsonl"), *rows[:6]), jsonl(Path("b.jsonl"), *rows[6:])] if files else rows
            fm.logs.chunk_utilization(open_source(places, sizes=ReadSizes(line_block_bytes=80)) if files else rows)

    return call


def without_py3langid():
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "py3langid.langid", None)
        fm.logs.check_dataset({"question": ["a"]}, languages=["en"])


def command(*words, **row):
    return lambda: program("logs", words[0], jsonl(Path("log.jsonl"), row), *words[1:])


ERRORS = [
    # chunks
    ("chunks: a null id", chunks([["a", None]]), ColumnError, "retrieved_ids", "0"),
    ("chunks: an id twice", chunks([["a"]], ["b", "a", "a"]), InputError, "chunks", "a", "2"),
    ("chunks: no id", chunks([["a"]], ["a", None]), InputError, "chunks", "1"),
    ("chunks: other ids", chunks([["a"]], ["b"]), InputError, "a", "b", "chunk_column"),
    ("chunks: other numbers", chunks([[7]], ["b"]), InputError, "7", "b", "chunk_column"),
    ("chunks: no chunks", chunks([[7]], pa.array([], pa.string())), InputError, "7", "none", "chunk_column"),
    ("chunks: no column of ids", chunks([["a"]], {"x": ["a"], "y": ["b"]}), ColumnError, "x", "y", "chunk_column"),
    (
        "chunks: an unknown column",
        chunks([["a"]], {"id": ["a"]}, chunk_column="idd"),
        UnknownColumnError,
        "idd",
        "chunk_column",
    ),
    ("chunks: k", chunks([["a"]], k=0), OptionError, "k", "0"),
    ("chunks: share", chunks([["a"]], share=0.0), OptionError, "share", "0.0"),
    ("chunks: no rankings", chunks({"question": ["q"]}), ColumnError, "retrieved_ids", "question"),
    ("chunks: texts", chunks({"retrieved_ids": ["q"]}), ColumnError, "retrieved_ids"),
    ("chunks: fractions", chunks([[1.5]]), ColumnError, "retrieved_ids"),
    ("chunks: large ids", chunks(pa.array([[2**63]], pa.list_(pa.uint64()))), ColumnError, "retrieved_ids"),
    (
        "chunks: an unknown score",
        chunks({"retrieved_ids": [["a"]], "f2": [1.0]}, scores="f1"),
        UnknownColumnError,
        "scores",
        "f1",
    ),
    (
        "chunks: a large score",
        chunks({"retrieved_ids": [["a"], ["a"]], "s": [2.0**32, 2.0**33]}, scores="s"),
        InputError,
        "s",
        "1",
    ),
    ("chunks: a grade too many", in_parts(9, {"relevance": [1, 2]}), ColumnError, "relevance", "9", "1", "2"),
    ("chunks: grades in files", in_parts(9, {"relevance": [1.0, 2.0]}, True), ColumnError, "relevance", "9"),
    ("chunks: null ids in parts", in_parts(6, {"relevant_ids": ["a", None]}), ColumnError, "relevant_ids", "6"),
    ("chunks: null ids in files", in_parts(6, {"relevant_ids": ["a", None]}, True), ColumnError, "relevant_ids", "6"),
    # data sets
    (
        "check: an unknown label",
        lambda: fm.logs.check_dataset({"verdict": [1]}, labels="verdct"),
        UnknownColumnError,
        "labels",
    ),
    ("check: near", lambda: fm.logs.check_dataset({"question": ["a"]}, near=1.1), OptionError, "near", "1.1"),
    ("check: an extra", without_py3langid, MissingExtraError, "languages"),
    # domains
    ("domains: two kinds of times", asked(timestamp=["2024-01-05T10:30:00Z", "2024-01-05"]), InputError, "0", "1"),
    ("domains: no time", asked(timestamp=["2024-01-05", "yesterday"]), InputError, "timestamp", "1", "yesterday"),
    ("domains: a large time", asked(timestamp=[1.0, 1e300]), InputError, "timestamp", "1", "1e+300"),
    ("domains: lists of times", asked(timestamp=[[1], [2]]), ColumnError, "timestamp"),
    ("domains: words as ratings", asked(rating=["good", "bad"]), ColumnError, "rating"),
    ("domains: numbers as questions", asked(question=[1, 2]), ColumnError, "question"),
    (
        "domains: no questions",
        lambda: fm.logs.domain_analysis({"text": ["a"]}),
        ColumnError,
        "question",
        "query",
        "text",
    ),
    (
        "domains: grades",
        lambda: fm.logs.domain_analysis({"question": ["a"] * 1001, "rating": range(1001)}),
        ColumnError,
    ),
    (
        "domains: kinds of times by part",
        lambda: fm.logs.domain_analysis(
            [pa.table({"question": ["a"], "timestamp": [time]}) for time in ("2024-01-05", "2024-01-05T10:30:00Z")]
        ),
        InputError,
        "0",
        "1",
    ),
    # topics
    ("topics: no vectors", topics({"question": ["a"]}), ColumnError, "question_embedding", "embedder"),
    ("topics: none", topics(VECTOR, topics=0), OptionError, "topics", "0"),
    ("topics: an unknown score", topics(VECTOR, failure="f1"), UnknownColumnError, "f1"),
    ("topics: no answers", topics(VECTOR, failure="unanswered"), ColumnError, "answer"),
    ("topics: no score", topics({**VECTOR, "f1": [2.0]}, failure="f1"), ColumnError, "f1", "0", "2"),
    (
        "topics: no sources",
        topics({**VECTOR, "retrieved_ids": [["a"]]}, chunks={"id": ["a"], "file": ["x"]}),
        UnknownColumnError,
        "source_column",
        "source",
    ),
    # caches and sessions
    ("cache: no vectors", cache({"question": ["a"]}), ColumnError, "question_embedding", "embedder"),
    ("cache: tau", cache(VECTOR, tau=2), OptionError, "tau", "2"),
    (
        "cache: two kinds of times",
        cache({"question_embedding": [[1.0]] * 2, "timestamp": ["2024-01-05", "2024-01-05T00:00Z"]}),
        InputError,
        "timestamp",
        "0",
        "1",
    ),
    ("context: no sessions", lambda: fm.logs.context_preservation({"question": ["a"]}), ColumnError, "session_id"),
    (
        "context: no vectors",
        lambda: fm.logs.context_preservation({"session_id": [1], "question": ["a"]}),
        ColumnError,
        "question_embedding",
        "embedder",
    ),
    ("sessions: none", sessions({"answer": ["x"]}), ColumnError, "session_id", "messages", "columns"),
    ("sessions: a limit", sessions(SESSION, success="success > 1"), OptionError, "success"),
    ("sessions: an unknown metric", sessions(SESSION, success="exact_matsch >= 1"), UnknownNameError, "exact_match"),
    ("sessions: turn", sessions(SESSION, turn="first"), OptionError, "turn", "first"),
    ("sessions: no tokens", sessions(SESSION, model="m", prices=PRICES), ColumnError, "cost", "prompt_tokens"),
    (
        "sessions: no models",
        sessions(SESSION | {"prompt_tokens": [1], "completion_tokens": [1]}, prices=PRICES),
        OptionError,
        "cost",
        "model",
    ),
    ("sessions: an unknown model", sessions(SESSION, model="x", prices=PRICES), UnknownNameError, "x"),
    # commands, by exit code
    ("logs chunks: an unknown column", command("chunks", "--columns", "retrieved_ids=no", hits=["a"]), 2, "no"),
    ("logs cache: no vectors", command("cache", question="a"), 3, "--embedder"),
    ("logs context: no vectors", command("context", question="a", session=1), 3, "--embedder"),
]

test_errors = errors_of(ERRORS)
