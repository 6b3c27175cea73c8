"""Every option of every public function counts: with another value than the default, other figures are returned.

A literal or a flag is tried with each of its values, others with the value in ``FUNCTIONS``; ``SHOWN_NOWHERE`` and
``ELSEWHERE`` say of the rest where it is tested.  The file ``golden/options.txt`` names what changes with each option,
so that one which a part of the result ignores is seen too; what only repeats an option is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import random
import re
import shutil
import time
import tomllib
import typing
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.metrics.suites import functions
from tests.repository.test_metric_options import BESIDE, CITING, TELLING, VALUES
from tests.support.program import jsonl
from tests.support.public_functions import letters, public
from tests.support.workbooks import write_workbook


def leaves(result: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """The values of a result, numbers to nine digits, each with the names that lead to it."""
    if isinstance(result, pa.Table | pa.RecordBatch):
        yield from leaves(result.to_pydict(), at)
        yield from leaves(json.loads((result.schema.metadata or {}).get(b"fastmetrics", "{}")), f"{at}metadata.")
    elif isinstance(result, np.ndarray | pa.Array | pa.ChunkedArray):
        yield from leaves(result.tolist(), at)
    elif hasattr(result, "to_dict"):
        yield from leaves(result.to_dict(), at)
    elif dataclasses.is_dataclass(result):
        yield from leaves({one.name: getattr(result, one.name) for one in dataclasses.fields(result)}, at)
    elif isinstance(result, Mapping):
        for name, one in result.items():
            if name != "seconds":
                yield from leaves(one, f"{at}{'*' if name in NAMES else name}.")
    elif isinstance(result, list | tuple):
        for one in result:
            yield from leaves(one, at)
    else:
        yield at.rstrip("."), f"{result:.9g}" if isinstance(result, float) else repr(result)


HEARD: list[Any] = []


def heard(*said: Any) -> None:
    """Hears how far a run is."""
    HEARD.append(said)


def shown(call: Callable[..., Any], option: str, options: Mapping[str, Any]) -> dict[str, list[str]]:
    """The values of what a call returns, writes and says, by what leads to them."""
    HEARD.clear()
    found: dict[str, list[str]] = {}
    output = options.get("output", "")
    if option not in ("overwrite", "resume"):
        for path in Path().glob(f"{output or 'new.parquet'}*"):
            path.unlink()
    returned = call(**options)
    written = [pq.read_table(output)] if output.endswith(".parquet") and Path(output).is_file() else []
    for at, value in leaves([returned, *written]):
        found.setdefault(at, []).append(value)
    return found | ({"heard": []} if HEARD else {})


NAMES = {"token_f1", "jaccard", "exact_match", "fine", "judge_x", "rating", *(f"q{row}" for row in range(40)), *"xyz"}
"""Keys that are names of the data, in whose place one star stands."""
CHANCE = random.Random(8)
N = 40
IDS = [f"q{row}" for row in range(N)]


def drawn(*values: Any, n: int = N) -> list[Any]:
    """A column drawn from some values."""
    return CHANCE.choices(values, k=n)


SCORED = {
    "id": IDS,
    "other_id": [f"o{(row * 7) % N}" for row in range(N)],
    "language": drawn("en", "ru"),
    "group": drawn("a", "b", "c", "d", "e"),
    "token_f1": drawn(0.0, 0.2, 0.5, 0.75, 1.0, None),
    "jaccard": drawn(0.0, 0.25, 0.5, 1.0),
    "exact_match": drawn(0.0, 1.0),
    "fine": drawn(0.0, 1.0),
}
OTHER = {
    **SCORED,
    "id": [*IDS[1:], "q99"],
    "token_f1": drawn(0.1, 0.2, 0.4, 0.75, 0.9, None),
    "jaccard": drawn(0.0, 0.25, 0.4, 0.9),
    "exact_match": drawn(0.0, 1.0, 1.0),
    "fine": drawn(0.0, 1.0, 1.0),
}
LABELS = {
    "id": IDS,
    "label": drawn(0.0, 1.0),
    "ann": drawn(0.0, 1.0),
    "bob": drawn(0.0, 1.0),
    "human": drawn(1, 2, 4, 5),
}
LABELLED = {**LABELS, "other_id": IDS[::-1]}
SCORED_TOO = {**SCORED, "other_id": IDS}
JUDGED = {
    **SCORED,
    "question": drawn("Where is my card?", "How do I pay?", "Lost pin"),
    "judge_x": drawn(1.0, 2.0, 4.0, 5.0, None),
    "judge_x_status": drawn("ok", "ok", "timeout"),
    "judge_x_scores": drawn([1.0, 1.0], [2.0, 3.0], [4.0, 5.0]),
    "judge_x_latency_ms": drawn(10.0, 25.0, 700.0),
    "judge_x_prompt_tokens": drawn(100, 200),
    "judge_x_completion_tokens": drawn(10, 20),
    "human": drawn(1.0, 2.0, 4.0, 5.0),
}
LOG = {
    "id": IDS,
    "question": drawn(
        "Where is my card?", "Where is my card", "How do I pay rent?", "Lost pin", "Где моя карта?", None
    ),
    "answer": drawn("By mail [1].", "Online. [2]", "I don't know."),
    "contexts": drawn(["It comes by mail.", "Pay online."], ["Nothing"]),
    "retrieved_ids": drawn(["a", "b"], ["c", "a", "d"], ["b", "d", "a", "e"]),
    "relevant_ids": drawn(["a"], ["b", "e"]),
    "retrieval_scores": drawn([0.9, 0.5], [0.8, 0.4], [0.7, 0.2]),
    "question_embedding": [[CHANCE.gauss(0, 1) for _ in range(4)] for _ in range(N)],
    "timestamp": [1_700_000_000 + 60 * row for row in range(N)],
    "rating": drawn(1, 2, 30),
    "session": drawn(*"stuvw"),
    "success": drawn(True, False),
    "label": drawn("x", "y"),
    "model": drawn("m", "n"),
    "other_model": drawn("m", "n"),
    "prompt_tokens": drawn(100, 200),
    "completion_tokens": drawn(10, 20),
    "token_f1": drawn(0.0, 0.5, 1.0),
}
ROWS = {
    "id": IDS,
    "question": drawn("Why?", "Where is <b>it</b>?"),
    "answer": drawn("<think>Rome</think> Paris", "It is Paris.", '["Paris"]', "ＰＡＲＩＳ", "The answer is Rome."),
    "reference": drawn("Paris", "Rome", "paris"),
    "relevant_ids": drawn(["a"], []),
    "retrieved_ids": drawn(["a", "b"], ["b"]),
    "text": drawn("Paris", "Rome"),
    "prompt_tokens": drawn(10, 20),
    "completion_tokens": drawn(1, 2),
}
RUN = {q: {d: CHANCE.random() for d in "abcdefgh"} | {q: 0.99} for q in IDS[1:38]}
RUN_B = {q: {d: CHANCE.random() for d in "abcdefgh"} for q in IDS[1:38]}
QRELS = {q: {d: CHANCE.choice((0, 1, 2)) for d in "abcdefghq"} for q in IDS[2:40]} | {"q1": {"a": 0}}
ONE_QUERY = {"query_id": ["q2"] * 2, "doc_id": ["a", "b"], "score": [2.0, 1.0], "second": [1.0, 2.0]}
RANKED_BY = {"score": "second"}
TWICE = {"query_id": ["q2", "q2"], "doc_id": ["a", "a"], "score": [2.0, 1.0]}
VECTORS = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)


def untimed(answers: Any) -> Any:
    """Answers without the time that each took."""
    return answers.drop_columns("latency_ms") if isinstance(answers, pa.Table) else answers


def paired(function: Callable[..., Any], *data: Any, files: str | None = None) -> Callable[..., Any]:
    """The function of some data, in whose place an option may bring other data, beside files that it may name."""

    def call(data: Any = data, **options: Any) -> Any:
        if files is not None:
            MAKERS[files]()
        return function(*data, **options)

    return call


RUNS = {"a": SCORED, "b": OTHER}
BOTH = {name: [*column, *OTHER[name]] for name, column in SCORED.items()} | {"run": ["a"] * N + ["b"] * N}
SHUFFLED = {"a": SCORED, "b": {**SCORED, "token_f1": OTHER["token_f1"], "id": IDS[::-1]}}
THREE = {**RUNS, "c": {**SCORED, "token_f1": drawn(0.0, 1.0)}}
ALL_THREE = {name: [*BOTH[name], *column] for name, column in THREE["c"].items()} | {
    "run": ["a"] * N + ["b"] * N + ["c"] * N
}
FIRST = {name: column[:20] for name, column in LABELS.items()} | {"other_id": IDS[::-1][:20]}
LABELLED_ANSWERS = {
    "id": IDS,
    "predicted": drawn("a", "A ", "b", "x: c"),
    "expected": drawn("a", "B", "b", "c"),
    "p": drawn("a", "b"),
    "e": drawn("a", "b"),
    "language": SCORED["language"],
    "group": SCORED["group"],
}
REPEATED = {
    "id": [f"q{row // 4}" for row in range(N)],
    "other_id": [f"q{row % 10}" for row in range(N)],
    "exact_match": SCORED["exact_match"],
    "jaccard": SCORED["jaccard"],
}
PRICES = {"m": {"input": 1, "output": 2}, "n": {"input": 3, "output": 1}}
UNNAMED = {name: column for name, column in LOG.items() if name not in ("model", "other_model")}
TWO_VECTORS = {"a": VECTORS.tolist(), "b": VECTORS[::-1, :3].tolist()}
CHUNKS = {"id": list("abcdefgh"), "other": list("ijkdcbae"), "source": list("xxxxxyyy"), "file": list("mnmnmnmn")}
CLASSES = {"predicted": "predicted", "expected": "expected"}
PERCENTILE = {"interval": "percentile"}
CONTESTS = [("x", "y", "x"), ("y", "z", "z"), ("z", "x", "x"), ("x", "y", "y"), ("y", "z", "y"), ("x", "z", "z")]
TOPICS = {"id": IDS, "topic": drawn("x", "y")}

LATEST = {"data": ("alike", "answer_words.delta.point >= 0"), "latest": True, "baseline": "alike"}
DIFFERENT = {"data": ("nights/1.parquet", "token_f1.drop <= 1"), "baseline": "nights/0.parquet"}
MLFLOW = {"question": "inputs", "answer": "predictions", "contexts": "context", "reference": "targets"}


def of_mlflow(table: Mapping[str, Any]) -> tuple[dict[str, Any]]:
    """The table with MLflow's names of columns."""
    return ({MLFLOW.get(name, name): column for name, column in table.items()},)


FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "summarize": (paired(fm.summarize, SCORED), {"statistics": {"jaccard": ("p50",)}, "labels": {"jaccard.mean": "J"}}),
    "summarize_by": (
        paired(fm.results.summarize_by, SCORED),
        {
            "by": ("language", {"by": "group"}),
            "metrics": "jaccard",
            "cluster": "group",
            "bootstrap": (300, PERCENTILE),
            "seed": (1, PERCENTILE),
            "flags": ("fine", {"metrics": "fine"}),
        },
    ),
    "worst_rows": (
        paired(fm.worst_rows, SCORED, "token_f1", files="nights"),
        {
            "n": 3,
            "answers": {"id": IDS, "answer": IDS},
            "columns": ({"answer": "note"}, {"answers": {"id": IDS, "answer": IDS, "note": IDS[::-1]}}),
            "baseline": OTHER,
            "on": ("other_id", {"baseline": OTHER}),
            "by": "language",
            "segment": ("language=ru", {"by": "language"}),
            "system": ("run", {"data": (BOTH, "token_f1")}),
            "keep": "jaccard",
            "other": ("c", {"data": (ALL_THREE, "token_f1"), "system": "run", "baseline": "a"}),
            "better": "token_f1=lower",
            "allow_differences": (True, {**DIFFERENT, "data": ("nights/1.parquet", "token_f1")}),
        },
    ),
    "compare": (
        paired(fm.compare, RUNS, files="nights"),
        {
            "metrics": "token_f1",
            "by": ("language", {"by": "group"}),
            "correction": (None, {"margin": 0.05, "by": "group"}),
            "allow_differences": (True, {"data": (["nights/0.parquet", "nights/1.parquet"],)}),
            "segments": (TOPICS, {"by": "language"}),
            "cluster": "group",
            "tests": "t",
            "bootstrap": (300, PERCENTILE),
            "seed": (5, PERCENTILE),
            "resamples": (200, {"data": (RUNS,)}),
            "baseline": "b",
            "system": ("run", {"data": (BOTH,)}),
            "on": "other_id",
            "pairing": (None, {"data": (SHUFFLED,)}),
            "margin": (0.1, {"margin": 0.05}),
            "better": "jaccard=lower",
            "main": "jaccard",
            "flags": ("fine", {"metrics": "fine"}),
        },
    ),
    "gate": (
        paired(
            fm.gate,
            *(SCORED, ["token_f1.mean >= 0.1", "token_f1.delta >= -0.3", "jaccard.drop <= 0.5"]),
            files="nights",
        ),
        {
            "rules": ("rules.toml", {"data": (SCORED, "token_f1 >= 0.1")}),
            "latest": (True, {"data": ("alike", "answer_words >= 1")}),
            "last": (1, {**LATEST, "last": 2}),
            "skip_unreadable": (True, {"data": ("torn", "answer_words >= 1"), "latest": True}),
            "allow_differences": (True, DIFFERENT),
            "baseline": (OTHER, {"baseline": SCORED}),
            "unpaired": (None, {"baseline": OTHER}),
            "min_n": (50, {"baseline": OTHER}),
            "better": ("jaccard=lower", {"baseline": OTHER}),
            "cluster": ("group", {"baseline": OTHER}),
            "correction": (None, {"baseline": OTHER}),
            "on": ("other_id", {"baseline": OTHER}),
            "pairing": (None, {"baseline": {**SHUFFLED["b"]}}),
            "confidence": (0.8, {"baseline": OTHER}),
            "flags": ("fine", {"data": (SCORED, ["fine.mean >= 0.1"])}),
        },
    ),
    "power": (
        paired(fm.power, RUNS),
        {
            "metrics": ("jaccard", {"n": 100}),
            "delta": 0.1,
            "margin": 0.1,
            "n": 100,
            "between": (0.3, {"data": (None,), "n": 100, "within": 0.1}),
            "within": (0.3, {"data": (None,), "n": 100, "between": 0.3, "repeats": 2}),
            "correlation": (0.5, {"data": (SCORED,), "n": 100}),
            "repeats": (3, {"n": 100, "within": 0.1}),
            "power": (0.9, {"n": 100}),
            "confidence": (0.8, {"n": 100}),
            "cluster": ("group", {"n": 100}),
            "baseline": ("c", {"data": (THREE,), "n": 100, "other": "b"}),
            "other": ("c", {"data": (THREE,), "n": 100, "baseline": "a"}),
            "on": ("other_id", {"n": 100}),
            "pairing": (None, {"n": 100}),
            "system": ("run", {"data": (BOTH,), "n": 100}),
        },
    ),
    "classification": (
        paired(fm.classification, LABELLED_ANSWERS),
        {
            "predicted": ("p", CLASSES),
            "expected": ("e", CLASSES),
            "extract": (r"regex:(\w)", CLASSES),
            "lowercase": (True, CLASSES),
            "by": ("language", CLASSES),
            "cluster": ("group", CLASSES),
            "confidence": (0.8, CLASSES),
        },
    ),
    "validate": (
        paired(fm.validate, SCORED, LABELS),
        {
            "label": ("ann", {"label": "label"}),
            "raters": "ann,bob",
            "on": ("other_id", {"label": "label", "data": (SCORED_TOO, LABELLED)}),
            "metrics": ("jaccard", {"label": "label"}),
            "positive": (3, {"label": "human"}),
            "thresholds": ({"jaccard": 0.5}, {"label": "label", "thresholds": {"jaccard": 0.25}}),
            "promises": (fm.stats.CutPromises(precision=0.1), {"label": "label"}),
            "confidence": (0.8, {"label": "label"}),
            "cluster": ("group", {"label": "label"}),
            "better": ("jaccard=lower", {"label": "label"}),
        },
    ),
    "judge_report": (
        paired(fm.judge_report, JUDGED),
        {
            "label": ("bob", {"data": (JUDGED, LABELS), "label": "ann"}),
            "by": "language",
            "on": ("other_id", {"data": ({**JUDGED, "other_id": IDS}, LABELLED), "label": "human"}),
            "positive": (3, {"data": (JUDGED, LABELS), "label": "human"}),
            "ranges": {"judge_x": (0, 10)},
            "confidence": (0.8, {"data": (JUDGED, LABELS), "label": "human"}),
        },
    ),
    "correlations": (paired(fm.results.correlations, SCORED), {"metrics": "token_f1,jaccard"}),
    "histograms": (paired(fm.results.histograms, SCORED), {"metrics": "token_f1", "bins": 5}),
    "repeats": (
        paired(fm.results.repeats, REPEATED),
        {"metrics": "jaccard", "k": (1, 2), "threshold": (0.5, {"threshold": 0.75}), "on": "other_id"},
    ),
    "compare_rankings": (
        paired(fm.results.compare_rankings, {"a": RUN, "b": RUN_B}, QRELS, "ndcg,P@2"),
        {
            "baseline": "b",
            "tests": "t",
            "bootstrap": (300, PERCENTILE),
            "seed": (5, PERCENTILE),
            "resamples": 40,
            "columns": (RANKED_BY, {"data": ({"a": ONE_QUERY, "b": ONE_QUERY}, {"q2": {"a": 1}}, "mrr")}),
            "correction": (None, {"data": ({"a": RUN, "b": RUN_B}, QRELS, "ndcg,P@2,mrr")}),
            "duplicates": ("first", {"data": ({"a": TWICE, "b": RUN_B}, QRELS, "ndcg")}),
            "relevance_level": 2,
            "depth": 2,
        },
    ),
    "judge_consistency": (
        paired(fm.stats.judge_consistency, [[1.0, 2.0], [3.0, None], [4.0, 4.5], [2.0, 2.0], [3.0, 3.5]]),
        {"range": (0, 10), "tolerance": 0.1},
    ),
    "judge_decisions": (
        paired(fm.stats.judge_decisions, drawn(True, False), drawn(True, False)),
        {"latency_ms": drawn(1.0, 2.0)},
    ),
    "pairwise": (
        paired(fm.stats.pairwise, drawn("A", "B", "tie"), drawn("B", "A", "tie")),
        {
            "a": ("x", {"data": (drawn("x", "B", "tie"),) * 2}),
            "b": ("x", {"data": (drawn("x", "A", "tie"),) * 2}),
            "tie": ("x", {"data": (drawn("x", "A", "B"),) * 2}),
            "rows": drawn(1, 5),
            "identical": drawn(True, False),
        },
    ),
    "bradley_terry": (
        paired(fm.stats.bradley_terry, CONTESTS),
        {"tie": ("same", {"data": ([(a, b, "same") for a, b, _ in CONTESTS],)})},
    ),
    "agreement": (
        paired(fm.stats.agreement, [drawn("bad", "fair", "good", None), drawn("bad", "fair", "good")]),
        {"order": ["bad", "fair", "good"], "clusters": SCORED["group"], "raters": ("ann,bob", {"data": ({**LABELS},)})},
    ),
    "cohen_kappa": (
        paired(fm.stats.cohen_kappa, drawn(1, 2, 3), drawn(1, 2, 3)),
        {"order": ([3, 1, 2], {"weights": "linear"})},
    ),
    "krippendorff_alpha": (
        paired(fm.stats.krippendorff_alpha, [drawn(1, 2, 4), drawn(1, 2, 4)]),
        {"order": ([4, 1, 2], {"level": "ordinal"}), "raters": ("ann,bob", {"data": ({**LABELS},)})},
    ),
    "geometry": (
        paired(fm.vectors.geometry, VECTORS),
        {
            "k": 3,
            "sample": (20, {"exact_work": 10.0}),
            "pair_sample": (50, {"exact_work": 10.0, "metric": "euclidean"}),
            "column": ("b", {"data": (TWO_VECTORS,)}),
            "exact_work": (10.0, {"sample": 20}),
            "seed": (3, {"sample": 20, "exact_work": 10.0}),
        },
    ),
    "nearest": (paired(fm.vectors.nearest, VECTORS), {"k": 3}),
    "duplicates": (
        paired(lambda data, **options: fm.vectors.duplicates(data, **options).to_dict(), VECTORS),
        {
            "near": 0.5,
            "limit": 3,
            "column": ("b", {"data": (TWO_VECTORS,)}),
            "text": ("id", {"data": ({"id": IDS, "question": IDS[::-1], "a": TWO_VECTORS["a"][:N]},)}),
        },
    ),
    "project": (
        paired(lambda data, **o: fm.vectors.project(data, **o).points, VECTORS),
        {"column": ("b", {"data": (TWO_VECTORS,)}), "dims": 3},
    ),
    "chunk_utilization": (
        paired(fm.logs.chunk_utilization, LOG),
        {"chunks": CHUNKS, "k": 1, "scores": "rating", "share": 0.5, "chunk_column": ("other", {"chunks": CHUNKS})},
    ),
    "domain_analysis": (
        paired(fm.logs.domain_analysis, LOG),
        {
            "schema": ("mlflow", {"data": of_mlflow(LOG)}),
            "indicators": ["card"],
            "embedder": fm.Embedder(letters),
            "near": (0.999, {"embedder": fm.Embedder(letters)}),
            "sample": (3, {"embedder": fm.Embedder(letters)}),
        },
    ),
    "check_dataset": (
        paired(fm.logs.check_dataset, LOG),
        {
            "labels": "label",
            "embedder": fm.Embedder(letters),
            "near": (0.5, {"embedder": fm.Embedder(letters)}),
            "sample": (2, {"embedder": fm.Embedder(letters)}),
        },
    ),
    "topic_coverage": (
        paired(fm.logs.topic_coverage, LOG),
        {
            "topics": 3,
            "k": (1, {"topics": 3}),
            "embedder": fm.Embedder(letters),
            "seed": (1, {"topics": 3}),
            "chunks": (CHUNKS, {"topics": 2}),
            "chunk_column": ("other", {"topics": 2, "chunks": CHUNKS}),
            "source_column": ("file", {"topics": 2, "chunks": CHUNKS}),
            "scores": ("rating", {"topics": 2}),
            "failure": ("token_f1", {"topics": 2}),
        },
    ),
    "cache_hit_rate": (
        paired(fm.logs.cache_hit_rate, LOG),
        {"tau": 0.3, "best": 0.5, "embedder": fm.Embedder(letters)},
    ),
    "context_preservation": (
        paired(fm.logs.context_preservation, LOG),
        {"embedder": fm.Embedder(letters), "columns": {"session_id": "label"}},
    ),
    "sessions": (
        paired(fm.logs.sessions, LOG, "rating"),
        {
            "success": ("token_f1 >= 0.5", {"turn": "last"}),
            "by": "label",
            "columns": {"session_id": "label"},
            "prices": (PRICES, {"data": (LOG,)}),
            "model": ("n", {"data": (UNNAMED,), "prices": PRICES}),
        },
    ),
    "rank": (
        paired(lambda *data, **o: fm.rank(*data, **o).per_query, RUN, QRELS, "ndcg,P@2,mrr"),
        {
            "relevance_level": 2,
            "depth": 2,
            "drop_self": True,
            "columns": (RANKED_BY, {"data": (ONE_QUERY, {"q2": {"a": 1}}, "mrr")}),
            "duplicates": ("first", {"data": (TWICE, QRELS, "ndcg")}),
            "missing": "zero",
        },
    ),
    "score": (
        paired(fm.score, ROWS, "exact_match,retrieval_recall", files="texts"),
        {
            "suites": "lexical",
            "lists": "answer",
            "extract": "answer",
            "normalize": "nfkc",
            "keep": "text",
            "columns": ({"reference": "text"}, {"data": (ROWS, "token_f1")}),
            "embedder": (VALUES["embedder"][0], {"data": (CITING, "citation_precision"), **BESIDE["embedder"]}),
            "keep_extracted": (True, {"extract": "answer"}),
            "keep_counts": (True, {"data": (ROWS, "answer_rate,corpus_chrf")}),
            "prices": (
                {"m": {"input": 0.5, "output": 1}},
                {"data": (ROWS, "cost"), "prices": {"m": {"input": 1, "output": 1}}},
            ),
            "schema": ("mlflow", {"data": (*of_mlflow(ROWS), "token_f1")}),
            "files": (
                fm.tables.FileSettings(on_error="skip"),
                {"data": ("torn.jsonl", "answer_words"), "output": "new.parquet"},
            ),
            "resume": (True, {"data": ("rows.jsonl", "answer_words")}),
            "name": ("mine", {"output": "new.parquet"}),
            "times": (True, {"output": "new.parquet"}),
        },
    ),
    "grounding_evidence": (
        paired(fm.metrics.grounding_evidence, CITING["answer"], CITING["contexts"]),
        {"threshold": 0.1, "phrases": ["cats"], "pattern": r"\(([0-9]+)\)", "embedder": VALUES["embedder"][0]},
    ),
    "rouge": (
        paired(fm.rouge, TELLING["answer"], TELLING["reference"]),
        {"types": ("rouge3",), "tokenizer": "by_script"},
    ),
    "anchors": (
        paired(fm.scoring.anchors, ["The tower is 300 tall."], [["The tower " + "x " * 40 + "is 300 tall."]]),
        {"window": 100},
    ),
}
ASKED = (ROWS, "exact_match,retrieval_recall")
FAQ = {"question": ["Why?", "Where?"], "answer": ["a", "b"], "text": ["Where?", "Why?"]}
SCORE_OPTIONS = {
    "no_relevant": "zero",
    "suites": "lexical",
    "lists": "answer",
    "extract": "answer",
    "normalize": "nfkc",
    "columns": ({"reference": "text"}, {"data": (ROWS, "token_f1")}),
    "keep_extracted": (True, {"extract": "answer"}),
    "schema": ("mlflow", {"data": (*of_mlflow(ROWS), "token_f1")}),
    "embedder": (VALUES["embedder"][0], {"data": (CITING, "citation_precision"), **BESIDE["embedder"]}),
}
FUNCTIONS |= {
    "with_scores": (
        paired(lambda rows, names, **o: pa.table(fm.with_scores(pa.table(rows), names, **o)), *ASKED),
        SCORE_OPTIONS,
    ),
    "scorer": (
        paired(lambda rows, names, **o: fm.scorer(names, **o)(pa.table(rows)), *ASKED),
        {**SCORE_OPTIONS, "keep": "text"},
    ),
    "match": (paired(fm.match, ROWS, FAQ), {"columns": {"question": "text"}, "faq_columns": {"answer": "text"}}),
    "columns": (
        paired(fm.columns, {"question": ["a"], "text": ["b"]}, files="texts"),
        {
            "columns": {"question": "text"},
            "schema": ("mlflow", {"data": of_mlflow(ROWS)}),
            "reading": (fm.tables.ReadSettings(decimal="."), {"data": ("semicolons.csv",)}),
        },
    ),
    "StrictMatchBot": (
        lambda **o: fm.retrieval.StrictMatchBot({"question": ["a"], "answer": ["b"], "text": ["c"]}, **o).answer_all(
            ["a", "c"]
        ),
        {"columns": {"question": "text"}},
    ),
    "embed": (
        paired(fm.embed, ROWS, fm.Embedder(letters), files="texts"),
        {
            "keep": "text",
            "columns": {"question": "text"},
            "resume": (True, {"data": ("rows.jsonl", fm.Embedder(letters))}),
        },
    ),
    "answer": (
        paired(lambda rows, **o: untimed(fm.answer(rows, str.upper, **o)), ROWS, files="texts"),
        {
            "resume": (True, {"data": ("rows.jsonl",)}),
            "system": "mine",
            "columns": {"question": "text"},
            "keep": "text",
            "repeats": 2,
            "sample": 3,
            "seed": (3, {"sample": 3}),
        },
    ),
}


def len_of_pairs(pairs: Any) -> list[float]:
    """A made-up reranker."""
    return [float(len(question) + ord(text[0])) for question, text in pairs]


TWO_COLUMNS = {"a": VECTORS[:N].tolist(), "b": VECTORS[20:].tolist()}


def once(make: Callable[[], None]) -> Callable[[], None]:
    """What makes files, in a folder that has none of them yet."""

    def made() -> None:
        if not (mark := Path(f".{make.__name__}")).exists():
            mark.touch()
            make()

    return made


@once
def nights() -> None:
    """Four nights of answers, of which the first has other settings, and folders without it, or with it torn."""
    Path("nights").mkdir()
    for night in range(4):
        answers = ["a " * (row % 5 + night) if row % 9 else None for row in range(N)]
        rows = {"id": IDS, "answer": answers, "reference": ["a a"] * N, "group": SCORED["group"]}
        how: dict[str, Any] = {"keep": "group", "name": f"night {night}", "extract": None if night else "first_line"}
        fm.score(rows, "token_f1,answer_words", output=f"nights/{night}.parquet", **how)
    Path("old").mkdir()
    shutil.copytree("nights", "torn")
    shutil.copytree("nights", "alike")
    Path("alike/0.parquet").unlink()
    Path("torn/0.parquet").write_bytes(b"PAR1")
    Path("rules.toml").write_text('require = ["jaccard >= 0.99"]')


@once
def texts() -> None:
    """The rows in files of many kinds."""
    rows = [{name: column[row] for name, column in ROWS.items()} for row in range(4)]
    jsonl(Path("rows.jsonl"), *rows)
    jsonl(Path("torn.jsonl"), *rows, "no row")
    Path("odd.csv").write_text(json.dumps(rows[0]))
    Path("semicolons.csv").write_text("answer;latency_ms\na b,c;1,5\n;2,5\n")
    Path("cyrillic.csv").write_bytes("answer,x\nда,1\n".encode("cp1251"))
    Path("blank.csv").write_text("answer,x\n,1\na,2\n")
    Path("document.json").write_text(json.dumps({"all": rows[:1], "some": rows}))
    pq.write_table(pa.table(GRADED), "graded.parquet")
    write_workbook(Path("book.xlsx"), {"one": [["answer"], ["a"]], "two": [["answer"], ["b c"], ["d"]]})


@once
def chunks() -> None:
    """Questions, chunks with two texts, ids and vectors, and an index of them."""
    topics = ["card mail", "rent pay", "pin lost", "bank open", "fee due", "app log"]
    rows = [
        {
            "id": f"c{at}",
            "nr": f"n{at}",
            "text": text,
            "body": text[::-1],
            **{"a": letters([text])[0].tolist(), "b": letters([text[:3]])[0].tolist()},
        }
        for at, text in enumerate(topics)
    ]
    jsonl(Path("chunks.jsonl"), *({name: row[name] for name in ("id", "nr", "text", "body")} for row in rows))
    jsonl(Path("vectors.jsonl"), *rows)
    asked = [
        {"id": f"q{at}", "question": f"the {text}?", "why": text[:2], "reference": text, "relevant_ids": [f"c{at}"]}
        for at, text in enumerate(topics[:4])
    ]
    jsonl(Path("questions.jsonl"), *asked)
    fm.Index.build(letters(topics[::-1]), names=[row["id"] for row in rows]).save("index")
    fm.score([{**row, "answer": "card"} for row in asked], "token_f1", output="old.parquet", keep="question")


MAKERS = {"nights": nights, "texts": texts, "chunks": chunks}


def replies(request: Any) -> Any:
    """A grade that depends on all that is asked; a model may be slow, silent or fail at first."""
    asked = repr((request.messages, request.parameters, request.schema, request.address, request.model))
    if request.model == "slow":
        time.sleep(0.1)
    if request.model == "shaky" and asked not in SEEN:
        SEEN.add(asked)
        raise ConnectionError
    chance = zlib.crc32(asked.encode())
    grade = json.dumps({"reason": "so", "score": chance % 5 + 1, "better": ("first", "second", "tie")[chance % 3]})
    return fm.models.ModelReply("none" if request.model == "silent" else grade, prompt_tokens=1000, completion_tokens=9)


SEEN: set[str] = set()
GRADED = {"id": IDS[:8], "answer": [f"answer {row}" for row in range(8)]}
GRADED |= {"question": ["Why?", "Where?"] * 4, "text": ["Who?", "When?"] * 4, "contexts": [["a", "b"]] * 8}
RETURNED = {"returns": ["confidence"]}
PRICE = {"m": {"input": 1, "output": 1}}
ASKING = {"base_url": "replies:", "store": "calls.sqlite"}
STORES = ("calls.sqlite", "third.sqlite")


def graded(data: Any = (GRADED, "safety"), model: str = "m", **options: Any) -> Any:
    fm.models.model_client("replies")(replies)
    texts()
    for store in STORES:
        Path(store).unlink(missing_ok=True)
    return fm.judge(*data, model=model, **{**ASKING, **options})


def asked(bot: Any, *given: Any) -> Callable[..., Any]:
    """Answers of a bot, without the times that they took."""

    def call(**options: Any) -> Any:
        fm.models.model_client("replies")(replies)
        Path("calls.sqlite").unlink(missing_ok=True)
        calls = {} if bot is fm.models.FunctionBot else ASKING
        return untimed(fm.answer(GRADED, bot(*given, **{**calls, **options})))

    return call


def client(model: str = "m", **options: Any) -> Any:
    """Grades of a client, which has stored those of the usual one before."""
    graded()
    SEEN.clear()
    given = {**ASKING, **options}
    settings = fm.models.JudgeSettings("safety", model, client=fm.models.ClientSettings(**given))
    return fm.judge(GRADED, settings, watch=heard), HEARD[-1]


def page(scores: Any = None, output: str = "pages/page.html", **options: Any) -> Any:
    """The page of a report."""
    nights()
    shutil.rmtree("pages", ignore_errors=True)
    Path("pages").mkdir()
    made = fm.report(NEW_RUN if scores is None else scores, output, **options)
    pages = sorted(path for path in Path(output).parent.rglob("*.html") if path.is_file())
    return {"n": made.n_rows, "n_shown": made.n_shown, **{path.name: path.read_text() for path in pages}}


def rag(chunks: str = "chunks.jsonl", bot: Any = None, output: str = "rag", **options: Any) -> Any:
    """The scores and the page of an evaluation."""
    MAKERS["chunks"]()
    shutil.rmtree("rag", ignore_errors=True)
    bot = bot or fm.models.FunctionBot(lambda question, contexts: contexts[0], name="first")
    if "judges" in options:
        fm.models.model_client("replies")(replies)
        options["judges"] = fm.models.JudgeSettings(options["judges"], "m", **ASKING)
    given = {"embedder": fm.Embedder(letters), "metrics": "token_f1,retrieval_recall@3", **options}
    made = fm.evaluate_rag("questions.jsonl", chunks, output, bot, **given)
    tables = {path.stem: pq.read_table(path) for path in sorted(made.folder.glob("*.parquet"))}
    tables["answers"] = untimed(tables["answers"])
    page = (made.folder / "report.html").read_text()
    frame = re.findall(r'<html lang="(\w+)"|<title>(.*?)</title>|href="#([\w-]+)"', page)  # the rest shows times
    return {**tables, "page": [*map("".join, frame)], "statuses": made.statuses}


def text_file(path: str = "rows.jsonl", metrics: str = "answer_words", **options: Any) -> Any:
    texts()
    how: dict[str, Any] = {"keep": "all", "output": "all.parquet", "overwrite": True}
    fm.score(path, metrics, files=fm.tables.FileSettings(**options), **how)
    return pq.read_table("all.parquet")


def text_columns(path: str = "rows.jsonl", **options: Any) -> Any:
    texts()
    return fm.columns(path, reading=fm.tables.ReadSettings(**options))


FORMATS = {
    "format": ("jsonl", {"path": "odd.csv"}),
    "max_row_bytes": (1000, {"max_row_bytes": 10}),
    "records": ("some", {"path": "document.json", "records": "all"}),
    "blank": ("empty", {"path": "blank.csv"}),
    "delimiter": (";", {"path": "semicolons.csv", "delimiter": ","}),
    "decimal": (",", {"decimal": ".", "path": "semicolons.csv"}),
    "encoding": ("cp1251", {"path": "cyrillic.csv", "encoding": "latin-1"}),
    "sheet": ("two", {"path": "book.xlsx", "sheet": "one"}),
}
NEW_RUN = {**SCORED, "judge_x": JUDGED["judge_x"]}
TEXTS = {"data": {"question": ["ab", "cd"], "text": ["e", "d"]}, "embedder": fm.Embedder(letters)}


def searched(data: Any = None, **options: Any) -> Any:
    """The nearest of some vectors, or of some texts."""
    texts = "embedder" in options
    index = fm.Index.build(letters(["abc", "bcd", "cde"])) if texts else fm.Index.build(VECTORS)
    return fm.search(index, VECTORS[:5] if data is None else data, **options).table


DRAWN = {"budget": 40, "for_": "dear", "using": "token_f1"}
DEAR = {"id": [f"r{row}" for row in range(200)], "other_id": [f"o{row * 7 % 200}" for row in range(200)]}
DEAR |= {"falling": [(row * 7 % 200) / 200 for row in range(200)]}
DEAR |= {"token_f1": [row / 200 for row in range(200)], "language": drawn("en", "ru", n=200)}
PILOT = {**DEAR, "dear": [score + (score > 0.5) * (row % 3) for row, score in enumerate(DEAR["token_f1"])]}


def sampled(judged: int | None = None, **options: Any) -> Any:
    """Rows drawn after so many that are judged."""
    earlier = None if judged is None else sampled(budget=judged).append_column("dear", pa.array([1.0] * judged))
    return fm.sample(DEAR, **{**DRAWN, "judged": earlier, **options})


def put_back(drawn: bool = False, **options: Any) -> Any:
    """All rows with the scores of a sample, or with those of a sheet of its first ids."""
    sample, scores = sampled(**options), pa.array([0.5, 1.0] * 20)
    sheet = pa.table({"id": sample["id"], "dear": scores}).slice(0, 30)
    judged, more = (sheet, {"drawn": sample}) if drawn else (sample.append_column("dear", scores), {})
    return fm.with_sample(DEAR, judged, **more, **options)


def asserted(*rules: str, **options: Any) -> str:
    """What is said of rules that fail."""
    with pytest.raises(AssertionError) as failed:
        fm.scoring.assert_scores(SCORED, *rules, **options)
    return str(failed.value)


FITTED = {name: [*column] * 3 for name, column in TELLING.items() if name in ("answer", "reference")}
FITTED |= {name: [float(x) for x in range(len(FITTED["answer"]))] for name in ("x", "latency_ms")}
FITTED |= {"good": [int(x % 3 > 0) for x in FITTED["x"]], "grade": [x % 4 for x in FITTED["x"]]}
FITTED |= {"retrieved_ids": [["a"]] * len(FITTED["x"]), "relevant_ids": [["a"] * int(x % 4) for x in FITTED["x"]]}
FITTED["answer"] = [f"<think>the cats</think>{one}" for one in FITTED["answer"]]
FITTED |= {"group": [x // 2 for x in FITTED["x"]], "text": FITTED["reference"][::-1]}


def fitted(data: Any, label: str = "good", metrics: str = "token_f1,x", **options: Any) -> Any:
    """A fit with its file."""
    made = fm.fit(data, label=label, metrics=metrics, **options)
    return {**made.to_dict(), "file": tomllib.loads(made.text)}


FUNCTIONS |= {
    "trend": (
        paired(fm.trend, "alike", "answer_words", files="nights"),
        {
            "alert": "answer_words >= 3",
            "last": (1, {"alert": "answer_words.delta.point >= 1"}),
            "better": (
                "answer_words=lower",
                {"alert": "answer_words.drop.point <= 1", "better": {"answer_words": "higher"}},
            ),
            "allow_differences": (True, {"data": ("nights", "token_f1"), "alert": "token_f1.drop <= 1"}),
            "cluster": "group",
            "skip_unreadable": (True, {"data": ("torn", "answer_words")}),
        },
    ),
    "side_by_side": (
        paired(fm.results.side_by_side, RUNS),
        {"metrics": "jaccard", "system": ("run", {"data": (BOTH,)})},
    ),
    "json_fields": (
        paired(
            fm.metrics.json_fields, ['{"a": 1.2, "l": [1, 2]}', '```\n{"a": 1}\n```'], ['{"a": 1, "l": [2, 1]}'] * 2
        ),
        {"extract": "code", "fields": "a=ignore", "absolute": 0.5, "relative": 0.5},
    ),
    "list_runs": (paired(fm.results.list_runs, "torn", files="nights"), {}),
    "sample": (
        sampled,
        {
            "for_": "other",
            "using": "falling",
            "by": "language",
            "pilot": PILOT,
            "judged": 20,
            "texts": {"id": DEAR["id"], "question": DEAR["id"]},
            "on": "other_id",
        },
    ),
    "with_sample": (put_back, {"on": "other_id", "drawn": True}),
    "assert_scores": (
        functools.partial(asserted, "token_f1 >= 0.9", "token_f1.delta >= 0.5"),
        {"baseline": (OTHER, {"baseline": SCORED})},
    ),
    "CutPromises": (
        lambda **o: fm.validate(SCORED, LABELS, label="label", promises=fm.stats.CutPromises(**{"recall": 0.2, **o})),
        {"precision": 0.1, "recall": 0.5, "risk": 0.5},
    ),
    "judge": (
        graded,
        {
            "schema": ("mlflow", {"data": (*of_mlflow(GRADED), "safety")}),
            "resume": (True, {"data": ("rows.jsonl", "safety")}),
            "name": ("mine", {"output": "new.parquet"}),
            "times": (True, {"output": "new.parquet"}),
            "lists": ("contexts=|", {"data": ({**GRADED, "contexts": ["a|b"] * 8}, "faithfulness")}),
            "columns": {"question": "text"},
            "keep": "text",
            "sample": 3,
            "seed": (2, {"sample": 3}),
            "pairwise": (True, {"data": ([GRADED, {**GRADED, "answer": GRADED["answer"][::-1]}], "preference")}),
        },
    ),
    "JudgeSettings": (
        graded,
        {
            "client": fm.models.ClientSettings(max_calls=2),
            "base_url": "replies:elsewhere",
            "parameters": {"temperature": 0.5},
            "store": "other.sqlite",
            "max_calls": 2,
            "max_cost": (0.0065, {"client": fm.models.ClientSettings(prices=PRICE)}),
            "language": "ru",
            "repeats": 2,
            "max_unparsed": (0, {"max_unparsed": 2, "model": "silent"}),
        },
    ),
    "ClientSettings": (
        client,
        {
            "base_url": "replies:elsewhere",
            "endpoint": ("elsewhere", {"max_calls": 0}),
            "max_chars": 10,
            "store": "other.sqlite",
            "timeout": (60.0, {"model": "slow", "timeout": 0.01, "tries": 1, "store": "third.sqlite"}),
            "tries": (2, {"model": "shaky", "tries": 1, "pause": 0.001, "store": "third.sqlite"}),
            "max_reply_bytes": (5, {"store": "third.sqlite"}),
            "max_calls": (2, {"store": "third.sqlite"}),
            "max_cost": (0.0065, {"store": "third.sqlite", "prices": PRICE}),
            "prices": PRICE,
        },
    ),
    "GivenContextsBot": (
        asked(fm.models.GivenContextsBot, "m"),
        BOT := {
            "client": fm.models.ClientSettings(max_calls=1),
            "base_url": "replies:elsewhere",
            "parameters": {"temperature": 0.5},
            "store": "other.sqlite",
            "max_calls": 1,
            "max_cost": (0.0048, {"client": fm.models.ClientSettings(prices=PRICE)}),
            "context_window": (1000, {"context_window": 10}),
            "name": "mine",
            "template": "{question}",
        },
    ),
    "FullContextBot": (
        asked(fm.models.FullContextBot, "What is known.", "m"),
        {**BOT, "template": "{question} {knowledge}"},
    ),
    "FunctionBot": (
        asked(fm.models.FunctionBot, lambda question: {"answer": question, "confidence": len(question)}),
        {
            "returns": ["confidence"],
            "name": ("mine", RETURNED),
            "reads": (["text"], RETURNED),
            "store": ("other.sqlite", RETURNED),
            "timeout": (1e-9, RETURNED),
        },
    ),
    "stored_calls": (lambda **o: (graded(), fm.models.stored_calls("calls.sqlite", **o))[1], {"prices": PRICE}),
    "apply": (
        paired(lambda data, **o: fm.models.apply(data, fm.models.rerank(len_of_pairs), **o), GRADED, files="texts"),
        {"keep": "text", "columns": {"question": "text"}, "resume": (True, {"data": ("graded.parquet",)})},
    ),
    "rerank": (lambda **o: fm.models.apply(GRADED, fm.models.rerank(len_of_pairs, **o)), {"k": 1}),
    "search": (
        searched,
        {
            "k": 3,
            "column": ("b", {"data": {"a": VECTORS[:5].tolist(), "b": VECTORS[5:10].tolist()}, "column": "a"}),
            "query_column": ("text", {**TEXTS, "query_column": "question"}),
            "embedder": (fm.Embedder(lambda texts: -letters(texts)), TEXTS),
        },
    ),
    "fit": (
        paired(fitted, FITTED),
        {
            "output": "mine.toml",
            "overwrite": (True, {"output": "there.toml"}),
            "lists": ("reference=|", {"data": ({**FITTED, "reference": [f"a|{one}" for one in FITTED["reference"]]},)}),
            "schema": ("mlflow", {"data": of_mlflow(FITTED)}),
            "no_relevant": ("zero", {"metrics": "retrieval_recall,x"}),
            "group": "group",
            "metrics": "token_recall,x",
            "suites": "latency_and_cost",
            "columns": {"reference": "text"},
            "positive": (3, {"label": "grade", "positive": 2}),
            "better": "good=lower",
            "promises": (
                fm.stats.CutPromises(recall=0.2),
                {"data": ({name: one * 2 for name, one in FITTED.items()},)},
            ),
        },
    ),
    "report": (
        page,
        {
            "overwrite": (True, {"output": "old/there.html"}),
            "runs": "alike",
            "skip_unreadable": (True, {"runs": "torn"}),
            "allow_differences": (True, {"scores": "nights/1.parquet", "baseline": "nights/0.parquet"}),
            "texts": LOG,
            "baseline": OTHER,
            "judged": (JUDGED, {"scores": SCORED}),
            "title": "<Mine>",
            "by": "language",
            "main": ("jaccard", {"baseline": OTHER}),
            "seed": (3, {"baseline": OTHER, "resamples": 99}),
            "resamples": (99, {"baseline": OTHER}),
            "baseline_texts": (LOG, {"texts": LOG, "baseline": OTHER}),
            "labels": (LABELS, {"judged": JUDGED, "label": "human"}),
            "label": ("bob", {"judged": JUDGED, "labels": LABELS, "label": "ann"}),
            "predicted": ("p", {"scores": LABELLED_ANSWERS | SCORED, "expected": "e", "predicted": "e"}),
            "expected": ("e", {"scores": LABELLED_ANSWERS | SCORED, "predicted": "p", "expected": "p"}),
            "system": ("run", {"scores": BOTH}),
            "vectors": {"id": IDS, "a": VECTORS[:N].tolist()},
            "vectors_column": ("b", {"vectors": {"id": IDS, **TWO_COLUMNS}, "vectors_column": "a"}),
        },
    ),
    "evaluate_rag": (
        rag,
        {
            "embedder": fm.Embedder(lambda texts: -letters(texts) + 2),
            "k": 2,
            "retrieve": (5, {"k": 2}),
            "chunk_settings": fm.reporting.ChunkSettings(text="body"),
            "judges": "safety",
            "metrics": "token_recall",
            "suites": "lexical",
            "columns": {"question": "why"},
            "keep": "why",
            "name": "mine",
            "baseline": "old.parquet",
            "repeats": 2,
        },
    ),
    "ChunkSettings": (
        lambda chunks="chunks.jsonl", **o: rag(chunks, chunk_settings=fm.reporting.ChunkSettings(**o)),
        {"index": "index", "text": "body", "id": "nr", "vector": ("b", {"chunks": "vectors.jsonl", "vector": "a"})},
    ),
    "FileSettings": (
        text_file,
        {
            **FORMATS,
            "decimal": (",", {"path": "semicolons.csv", "decimal": ".", "metrics": "latency_ms"}),
            "on_error": ("skip", {"path": "torn.jsonl"}),
        },
    ),
    "ReadSettings": (text_columns, FORMATS),
}
EVERYWHERE = {
    **{"confidence": 0.8, "columns": {"question": "answer"}, "name": "mine", "cache": "vectors", "seed": 2},
    **{"output": "new.parquet", "progress": heard, "watch": heard},
}
SHOWN_NOWHERE = {
    "threads": "changes no bit: tests/scoring/test_scorer.py",
    "cache": "stores vectors of named models: tests/vectors/test_vector_files.py",
    "concurrency": "settles how many calls are made at once: tests/models/test_call_limits.py",
    "languages": "loads a model of languages: tests/logs",
    "budget": "bounds memory: tests/results/test_summary.py",
    "schema": "is tried with score and columns",
    "files": "is tried with score, and FileSettings",
    "reading": "is tried with columns, and ReadSettings",
    "retry": "asks a model again: tests/models/test_rubrics.py",
    "summarize finish": "makes statistics of whole columns for a plan: tests/results/test_corpus_comparison.py",
    "gate seed": "draws for corpus metrics alone: tests/results/test_gate.py",
    "judge_report prices": "reads the model in the metadata of a judged file: tests/results/test_judge_report.py",
    "evaluate_rag overwrite": "makes an evaluation anew: tests/reporting/test_evaluate_rag.py",
    "report usage": "reads outputs of logs: tests/reporting/test_report_usage.py",
    "fit embedder": "is that of score",
    "FileSettings batch_rows": "bounds memory: tests/scoring/test_memory_and_files.py",
    **dict.fromkeys(("FileSettings query", "ReadSettings query"), "is of databases: tests/tables"),
    **dict.fromkeys((f"ClientSettings {one}" for one in ("rpm", "tpm", "pause")), "takes time: tests/models"),
    **{
        f"nearest {option}": "settles how an index searches: tests/vectors/test_neighbors.py"
        for option in ("method", "exact_work", "recall", "recall_sample", "seed")
    },
    **{
        f"project {option}": "is of layouts by PaCMAP and UMAP: tests/vectors/test_layouts.py"
        for option in ("method", "sample", "seed")
    },
    "search recall": "settles how an index searches: tests/vectors/test_neighbors.py",
    "ChunkSettings pgvector": "is of PostgreSQL: tests/vectors/test_pgvector.py",
    **{
        f"search {option}": "is of PostgreSQL: tests/vectors/test_pgvector.py"
        for option in ("table", "vector", "id", "where", "exact", "metric", "pgvector", "sweep", "connections")
    },
}
"""Options, alone or with their function, that show in no result here, and where they are tested."""
ELSEWHERE = {
    "metric": "declares a metric: tests/metrics/test_plugins.py",
    "bert_score": "needs a model: tests/models/test_local_models.py",
    "Embedder": "is of installed models: tests/vectors",
    "load_vectors": "needs a server: tests/vectors/test_pgvector.py",
    **dict.fromkeys(("profile", "warm_up"), "measures or compiles: tests/scoring/test_profile.py"),
    "LocalSettings": "is of models in folders: tests/models/test_local_models.py",
    "match_faq": "has threads alone",
    "verdicts": "has threads alone",
}
"""Functions and classes whose options are tested in their rooms."""


def options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, list[Any]]]:
    """The options of a function: their defaults, and the other values of literals and flags."""
    try:
        hints = typing.get_type_hints(function)
    except NameError:  # of a module that only type checkers import
        hints = {}
    found = {}
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is one.KEYWORD_ONLY and one.default is not one.empty:
            literal = typing.get_args(hints.get(name)) if typing.get_origin(hints.get(name)) is Literal else ()
            values = [not one.default] if isinstance(one.default, bool) else [v for v in literal if v != one.default]
            found[name] = one.default, values
    return found


def test_every_function_with_options_is_tried():
    having = {name for name, one in public().items() if name not in functions() and options_of(one)}
    assert having == {name for name in (*FUNCTIONS, *ELSEWHERE) if options_of(public()[name])}


def tries(name: str) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """The options of a function: each with its default, another value and what goes beside it."""
    given = FUNCTIONS[name][1]
    for option, (default, choices) in options_of(public()[name]).items():
        if option not in given and (option in SHOWN_NOWHERE or f"{name} {option}" in SHOWN_NOWHERE):
            continue
        value = given.get(option, EVERYWHERE.get(option))
        value, beside = value if isinstance(value, tuple) and isinstance(value[-1], dict) else (value, {})
        tried = choices if value is None else [value]
        assert tried, f"{option}: which value is another one?"
        yield from ((option, default, one, beside) for one in tried)


PARTS = {"report": 8, "fit": 12, "evaluate_rag": 6, "score": 3, "compare": 2, "judge": 2}
"""Functions whose options make several cases."""
CASES = [(name, part) for name in FUNCTIONS for part in range(PARTS.get(name, 1))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "part"), CASES)
def test_options_of_functions(name, part, golden):
    call, changes = FUNCTIONS[name][0], []
    for option, default, value, beside in [*tries(name)][part :: PARTS.get(name, 1)]:
        known = {repr(one) for one in (default, beside.get(option, default), value)}
        if option in ("overwrite", "resume"):
            beside = {"output": "there.parquet", **beside}
            shown(call, "", beside)
        try:
            before = shown(call, option, beside)
        except fm.FastmetricsError:
            before = None
        had = {*Path().iterdir()}
        after = shown(call, option, {**beside, option: value})
        after |= {f"the file {path}": [] for path in {*Path().iterdir()} - had}
        changed = sorted(at for at in {**(before or {}), **after} if before and before.get(at) != after.get(at))
        if option not in ("name", "system"):  # all that these change is what is said of a run
            changed = [
                at for at in changed if at.rpartition(".")[2] != option or not known.issuperset(after.get(at, ""))
            ]
        assert before is None or {*changed} - {"notes"}, f"{option}={value!r} changes nothing"
        if before and name == "fit":
            changed = ["figures"]  # which of them depends on scikit-learn
        said = f"={value}" if isinstance(value, str | int) and len(str(value)) < 20 else ""
        places: dict[str, list[str]] = {}
        for at in changed:
            place, _, last = at.rpartition(".")
            places.setdefault(place, []).append(last)
        each = [f"{place}({' '.join(some)})" if place else ", ".join(some) for place, some in places.items()]
        changes.append(f"{option}{said}: {'refused without' if before is None else ', '.join(each)}")
    golden.part(f"{name} {part}" if part else name, "\n".join(changes), "options.txt")


def test_no_other_functions(golden):
    golden.complete([f"{name} {part}" if part else name for name, part in CASES], "options.txt")
