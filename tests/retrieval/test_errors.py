"""What retrieval refuses: measures, options, rankings and judgements in memory and in files, questions and FAQs."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    UnknownColumnError,
    UnknownNameError,
)
from fastmetrics.retrieval.faq import match_faq
from fastmetrics.retrieval.measures import UNSUPPORTED
from tests.support.goldens import errors_of
from tests.support.program import Done, program

RUN, JUDGED = {"q": {"a": 1}}, {"q": {"a": 1}}
SEVERAL = {"a": RUN, "b": RUN}
HOLES = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["q", None]))
FAQ = pa.table({"question": ["Where?", "How?"], "body": ["here", "so"]})
TWICE = {"qid": ["q", "q"], "docid": ["a", "a"]}
NEAR = [float(2**53), float(2**53 + 2), 1.0]
RECORD = {"qid": "q1", "docid": "d1"}


def rank(run: Any = RUN, judged: Any = JUDGED, measures: Any = "mrr", **options: Any) -> Any:
    return lambda: fm.rank(run, judged, measures, **options)


def file(name: str, content: str | bytes, judged: bool = False) -> Any:
    """A ranking, or judgements, in a file."""

    def call() -> Any:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return fm.rank(RUN, name) if judged else fm.rank(name, JUDGED, "mrr")

    return call


def recall(*columns: Any, **options: Any) -> Any:
    return lambda: fm.retrieval_recall(*columns, **options)


def command(text: str, judged: bool) -> Any:
    """The program with JSON that is no ranking, or no judgements."""

    def call() -> Done:
        Path("r.json").write_text(text)
        Path("other").write_text("q1 Q0 d1 1 1.0 t\n" if judged else "q1 0 d1 1\n")
        done = program("rank", *(("other", "r.json") if judged else ("r.json", "other")))
        assert (len(done.err) < 600, done.err.count("\n")) == (True, 1)
        return done

    return call


def of_float(name: str) -> pa.Table:
    run = pa.table({"query_id": [1], "doc_id": [2**53 + 1], "score": [1.0]})
    return run.set_column(run.column_names.index(name), name, pa.array([1.0]))


MEASURES: dict[str, tuple[Any, ...]] = {
    "nDCG(rel=2)@5": (UnknownNameError, "rel", "ndcg"),
    "ERR(rel=1)@5": (UnknownNameError, "rel", "ERR"),
    "Bpref@5": (OptionError, "bpref"),
    "Bpref(cutoff=5)": (UnknownNameError, "cutoff", "bpref"),
    "IPrec(cutoff=5)@0.1": (UnknownNameError, "cutoff", "IPrec"),
    "SetR(relative=True)": (UnknownNameError, "relative", "r"),
    "NumQ(rel=1)": (UnknownNameError, "rel", "num_q"),
    "AP(depth=3)": (UnknownNameError, "depth", "ap"),
    "ncdg@10": (UnknownNameError, "ncdg", "ndcg"),
    **dict.fromkeys(("IPrec@1.5", "IPrec"), (OptionError, "recall")),
    **{f"P(judged_only={value})@5": (OptionError, "judged_only") for value in ("'no'", "1")},
    **dict.fromkeys(("SetF(beta=-1)", "SetF(beta='a')"), (OptionError, "beta")),
    **dict.fromkeys(("Compat(p=2)", "RBP(p=1.5)"), (OptionError, "p", "0", "1")),
    **dict.fromkeys(("Accuracy@0", "P@0", "P@2.5"), (OptionError, "k", "1")),
    **dict.fromkeys(("P(rel=0)@5", "AP(rel=0)", "AP(rel='x')"), (OptionError, "rel")),
    **dict.fromkeys(("P(cutoff=5)@5", "P(rel=2,level=2)@5"), (OptionError, "once")),
    **dict.fromkeys(("P@5@5", ""), (OptionError, "expected name")),
    "SetP(relative=2)": (OptionError, "relative"),
    "Compat(normalize=1)": (OptionError, "normalize"),
    "Compat@5": (OptionError, "compat"),
    "Accuracy(cutoff=0)": (OptionError, "cutoff", "1"),
    "nDCG(dcg='exp')": (OptionError, "dcg", "linear", "exponential"),
    "ndcg(gain='cubic')": (OptionError, "gain", "linear"),
    "nDCG(gains={0:'a'})": (OptionError, "gains"),
    "nDCG(gains={1:2},dcg='exp-log2')": (OptionError, "gains"),
    "AP(3)": (OptionError, "option=value"),
}
OPTIONS: list[dict[str, Any]] = [
    *[{"missing": "drop"}, {"no_relevant": "nan"}, {"duplicates": "last"}, {"relevance_level": 0}, {"depth": 0}],
    *[{"overwrite": True}],
]
COLUMNS: list[tuple[Any, ...]] = [
    *[(([["a"], [1]], [["a"], ["b"]]), "retrieved_ids"), (([["a"]], [[1]]), "retrieved_ids", "relevant_ids")],
    (([["a", None]], [["a"]]), "retrieved_ids", "row 0"),
    (([[], ["a"], [], [None, "d"]], [["a"]] * 4), "retrieved_ids", "row 3"),
    *[((["a"], [["a"]]), "retrieved_ids", "string"), (([["a"]], [["a"]], [[1, 2]]), "relevance", "row 0", "1", "2")],
    (([["a"]], [["a"]], [[None]]), "relevance", "row 0"),
    (([["a"]] * 3, [["a"], None, ["b"]], [[1.0], [2.0], [math.nan]]), "relevance", "row 2"),
    *[(([["a"]], [["a"], ["b"]]), "length"), (([[2**64 - 1]], [[1]]), "retrieved_ids", "64")],
    ((np.array([[2**64 - 1]], np.uint64), [[1]]), "2**63"),
]
FLOATS = [
    *[[[1.0, 2.0]], [[1.5]], [NEAR], pd.Series([NEAR]), np.array([NEAR])],
    *[pa.array([NEAR], pa.list_(pa.float64())), pa.array([[1.0]], pa.list_(pa.float32()))],
]
"""Ids that are floats, even if they are whole: beyond 2⁵³ neighbouring integers have become one float."""
BROKEN: list[tuple[Any, ...]] = [
    ("run.txt", "q Q0 a 1 2.0 t\nq Q0 b 2\n", FileFormatError, "line 2"),
    ("run.txt", "q1\td1\t1\nq1\td2\n", FileFormatError, "line 2", "query document rank"),
    ("run.txt", "q1\td1\nq1\td2\t3\n", FileFormatError, "line 2", "query document"),
    ("run.txt", "# many words in a row\nq 0 d 1\n", FileFormatError, "line 2"),
    ("run.txt", "q Q0 a 1 2.0 t\n\nq Q0 b 2 high t\n", FileFormatError, "line 3", "high"),
    ("run.txt", "# a comment\n\nq Q0 d 0 +1 t\n\nq Q0 e 0 +one t\n", FileFormatError, "line 5", "+one"),
    ("run.txt", "q Q0 a 1 nan t\n", ColumnError, "row 0", "score"),
    ("run.csv", "qid,docid,text\nq,a,b\n", ColumnError, "score", "sim"),
    ("run.csv", "qid,docid,score\nq,a,high\n", ColumnError, "score"),
    ("run.csv", "qid,docid,score\nq,a\n", FileFormatError, "run.csv"),
    ("run.json", '{"q": {"a": 1, "a": 2}}', InputError, "a"),
    ("run.jsonl", '{"qid": "q", "pid": "a", "score": null}\n', ColumnError, "row 0", "score"),
    ("run.jsonl", '{"qid": null, "pid": "a", "score": 1}\n', ColumnError, "row 0", "query"),
    ("run.jsonl", '{"qid": "1", "pid": 9007199254740993.0, "score": 1}\n', FileFormatError, "line 1", "pid"),
    ("run.gz", b"\x1f\x8b\x08broken", FileFormatError, "run.gz"),
    ("run.parquet", b"PAR1 but not really", FileFormatError, "run.parquet"),
    ("run.txt", b"q Q0 \xff\xfe 1 2.0 t\n", FileFormatError, "UTF-8"),
    ("qrels", "q 0 a 1\n", FileFormatError, "line 1", "judgements"),
    (
        *["mteb.json", json.dumps({"mteb_model_meta": {}, "en": {"test": {}, "dev": {}}, "ru": {}}), FileFormatError],
        *["en/test", "en/dev"],
    ),
]
QRELS: list[tuple[Any, ...]] = [
    ("qrels.txt", "q 0 a 1\nq 0 b 1 extra\n", FileFormatError, "line 2"),
    ("a.run", "q Q0 a 1 2.0 t\n", FileFormatError, "line 1", "rankings"),
    *[("r.json", text, InputError, "r.json") for text in ("[]", "[\n]\n", "{}", '{"q1": {}}')],
]
NO_RANKINGS = [
    *["[1, 2]", '["q1", "q2"]', "[[]]", "[null]", "[{}]", '[{"question": 1}]', "5", '"text"', "null", "{"],
    json.dumps([{**RECORD, "score": 1}, 5]),
    json.dumps([{**RECORD, "score": 1}] * 2)[:-9],
    *['{"q1": {"d1": 1}, "q2": 7}', '{"q1": {"d1": 1}, "q2": null}', '{"q1": {"d1": 1}, "q2": [["d1"]]}'],
    *['{"q1": {"d1": 1}, "\\ud800": "d1"}', '{"q1": {"d1": 1}}\n{"q2": {"d1": 1}}', '{"q1": {"d1": 1}'],
    *["[" * 100_000, '{"a":' * 5_000],
    *['{"q1": {"d1": "x"}}', '{"q1": {"d1": "1"}}', '{"q1": {"d1": [1]}}', '{"q1": {"d1": {"d2": 1}}}'],
    *['{"q1": {"d1": 1' + "0" * 400 + "}}", '{"q1": {"d1": null}}', '{"q1": {"d1": NaN}}'],
    *['{"q1": 5}', '{"q1": ["d1", null]}', '{"q1": null}\n{"q2": null}'],
    json.dumps([{**RECORD, "score": [1]}, {**RECORD, "score": 2}]),
    json.dumps([{**RECORD, "score": "x"}, {**RECORD, "score": 2}]),
    json.dumps([{"docid": "d1", "qid": None, "score": 1}]),
    json.dumps([{**RECORD, "score": None}]),
    json.dumps({**RECORD, "score": None}),
    *[
        json.dumps([{**RECORD, "score": 1}, {**RECORD, "score": 1, key: value}])
        for key in ("qid", "docid")
        for value in (True, 1.5, ["a"], {})
    ],
]
"""JSON that is neither a ranking nor judgements."""

ERRORS: list[tuple[Any, ...]] = [
    *((f"measure {name!r}", rank(measures=[name]), *expected) for name, expected in MEASURES.items()),
    *((f"unsupported {name}", rank(measures=[f"{name}@5"]), UnknownNameError, name) for name in UNSUPPORTED),
    *((f"options {given}", partial(fm.rank, RUN, JUDGED, **given), OptionError, *given) for given in OPTIONS),
    ("a measure twice", rank(measures=["mrr", "mrr"]), OptionError, "mrr"),
    ("no measure", rank(measures=[]), OptionError),
    ("missing of several rankings", rank(SEVERAL, missing="drop"), OptionError, "missing"),
    *((f"columns {n}", partial(fm.ndcg, *given), ColumnError, *said) for n, (given, *said) in enumerate(COLUMNS)),
    *(
        (f"floats {n}, {name}", recall(*((ids, [[1]]) if name == "retrieved_ids" else ([[1]], ids))), ColumnError, name)
        for n, ids in enumerate(FLOATS)
        for name in ("retrieved_ids", "relevant_ids")
    ),
    *(
        (f"{name}={value}", recall([["a"]], [["a"]], **{name: value}), OptionError, name)
        for name, value in (("k", 0), ("k", 2.5), ("k", True), ("relevance_level", 0), ("relevance_level", -1.0))
    ),
    ("consistency: lengths", lambda: fm.retrieval_consistency([1], [["a"], ["b"]]), ColumnError, "length"),
    ("consistency: k", lambda: fm.retrieval_consistency([1], [["a"]], k=0), OptionError, "k"),
    ("rbo: p", lambda: fm.retrieval_rbo([1], [["a"]], p=1.0), OptionError, "p"),
    # rankings and judgements in memory
    *((f"floats of {name}", rank(of_float(name)), ColumnError, "double") for name in ("query_id", "doc_id")),
    ("a document twice", rank({**TWICE, "score": [2, 1]}), InputError, "a", "q"),
    ("judged twice", rank(judged={**TWICE, "rel": [1, 0]}), InputError, "row 1", "a", "q"),
    ("judged twice, several", rank(SEVERAL, {**TWICE, "rel": [1, 0]}), InputError, "a", "q"),
    ("a null in a dictionary", rank({"qid": HOLES, "pid": ["a", "b"], "score": [1, 2]}), ColumnError, "row 1", "query"),
    *((f"no judgements: {judged}", rank(judged=judged), InputError) for judged in ({}, {"q": {}})),
    *(
        (f"a grade of {grade}", rank(judged={"q": {"a": 1, "b": grade}}), ColumnError, "row 1", "grade")
        for grade in (math.inf, -math.inf)
    ),
    ("no file", rank("absent.txt"), FileFormatError, "absent.txt"),
    ("a number", rank(3), ColumnError),
    *(
        (f"no shared query, {rule}", rank({"other": {"d1": 1}}, missing=rule), InputError, "other", "q")
        for rule in (None, "zero", "skip")
    ),
    ("command: missing", lambda: program("rank", "r.json", "q.json", "--missing", "drop"), 2, "drop"),
    # files
    *((f"ranking {n}: {name}", file(name, text), *expected) for n, (name, text, *expected) in enumerate(BROKEN)),
    *(
        (f"judgements {n}: {name}", file(name, text, True), *expected)
        for n, (name, text, *expected) in enumerate(QRELS)
    ),
    *(
        (f"JSON {n} as {'judgements' if judged else 'a ranking'}", command(text, judged), 3, "r.json")
        for n, text in enumerate(NO_RANKINGS)
        for judged in (False, True)
    ),
    # questions and FAQs
    ("match: no FAQ", lambda: match_faq(["a"], []), InputError, "faq_questions"),
    ("match: k", lambda: match_faq(["a"], ["b"], 0), OptionError, "k", "0"),
    ("match: numbers", lambda: match_faq([1, 2], ["b"]), ColumnError, "questions"),
    ("match: lists", lambda: match_faq(["a"], [["b"]]), ColumnError, "faq_questions", "list<item: string>"),
    ("match: no answers", lambda: fm.match(FAQ, FAQ), ColumnError, "faq", "answer"),
    (
        "match: an unknown column",
        lambda: fm.match(FAQ, FAQ, columns={"answer": "bodi"}),
        UnknownColumnError,
        "bodi",
        "body",
    ),
    ("bot: no answers", lambda: fm.retrieval.StrictMatchBot({"question": ["a"]}), ColumnError, "answer"),
    ("bot: a number", lambda: fm.retrieval.StrictMatchBot(7), ColumnError, "faq"),
]

test_errors = errors_of(ERRORS)
