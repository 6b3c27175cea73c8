"""Every option of every public function counts: another value than the default changes what is returned.

Results are compared without the option itself, which many repeat.  A literal or a flag is tried with each of its
values, others with the value in ``FUNCTIONS``; ``SHOWN_NOWHERE`` and ``ELSEWHERE`` say of the rest where it is tested.
"""

from __future__ import annotations

import dataclasses
import inspect
import random
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.metrics.suites import functions
from tests.repository.test_metric_options import BESIDE, CITING, TELLING, VALUES
from tests.support.public_functions import letters, public


def plain(result: Any, option: str, *values: Any) -> Any:
    """A result as plain values, without the option itself, where it has one of its values."""
    if isinstance(result, pa.Table | pa.RecordBatch):
        return repr(result.to_pydict())
    if isinstance(result, np.ndarray | pa.Array | pa.ChunkedArray):
        return repr(result.tolist())
    if hasattr(result, "to_dict"):
        return plain(result.to_dict(), option, *values)
    if dataclasses.is_dataclass(result):
        return {one.name: plain(getattr(result, one.name), option, *values) for one in dataclasses.fields(result)}
    if isinstance(result, Mapping):
        kept = {name: one for name, one in result.items() if name != option or repr(one) not in map(repr, values)}
        return {name: plain(one, option, *values) for name, one in kept.items()}
    return [plain(one, option, *values) for one in result] if isinstance(result, list | tuple) else repr(result)


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
RUN = {q: {d: CHANCE.random() for d in "abcdefgh"} | {q: 0.99} for q in IDS[1:20]}
RUN_B = {q: {d: CHANCE.random() for d in "abcdefgh"} for q in IDS[1:20]}
QRELS = {q: {d: CHANCE.choice((0, 1, 2)) for d in "abcdefghq"} for q in IDS[2:22]} | {"q1": {"a": 0}}
OWN_SCORES = {"query_id": ["q2", "q2"], "doc_id": ["a", "b"], "own": [1.0, 2.0]}
TWICE = {"query_id": ["q2", "q2"], "doc_id": ["a", "a"], "score": [2.0, 1.0]}
VECTORS = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)


def runs(**options: Any) -> Any:
    return fm.compare({"a": SCORED, "b": OTHER}, **options)


def paired(function: Callable[..., Any], *data: Any) -> Callable[..., Any]:
    """The function of some data, in whose place an option may bring other data."""
    return lambda data=data, **options: function(*data, **options)


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

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "summarize": (paired(fm.summarize, SCORED), {"statistics": {"jaccard": ("p50",)}, "labels": {"jaccard.mean": "J"}}),
    "summarize_by": (
        paired(fm.results.summarize_by, SCORED),
        {
            "by": "language",
            "metrics": "jaccard",
            "cluster": "group",
            "bootstrap": (300, PERCENTILE),
            "seed": (1, PERCENTILE),
            "flags": ("fine", {"metrics": "fine"}),
        },
    ),
    "worst_rows": (
        paired(fm.worst_rows, SCORED, "token_f1"),
        {
            "n": 3,
            "answers": {"id": IDS, "answer": IDS},
            "baseline": OTHER,
            "on": ("other_id", {"baseline": OTHER}),
            "by": "language",
            "segment": ("language=ru", {"by": "language"}),
            "system": ("run", {"data": (BOTH, "token_f1")}),
            "keep": "jaccard",
            "other": ("c", {"data": (ALL_THREE, "token_f1"), "system": "run", "baseline": "a"}),
            "better": {"token_f1": "lower"},
            "columns": {"answer": "group"},
        },
    ),
    "compare": (
        paired(fm.compare, RUNS),
        {
            "metrics": "token_f1",
            "by": "language",
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
            "margin": 0.1,
            "better": {"jaccard": "lower"},
            "main": "jaccard",
            "flags": ("fine", {"metrics": "fine"}),
        },
    ),
    "gate": (
        paired(fm.gate, SCORED, ["token_f1.mean >= 0.1", "token_f1.delta >= -0.3", "jaccard.drop <= 0.5"]),
        {
            "baseline": OTHER,
            "unpaired": (None, {"baseline": OTHER}),
            "min_n": (50, {"baseline": OTHER}),
            "better": ({"jaccard": "lower"}, {"baseline": OTHER}),
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
            "thresholds": ({"jaccard": 0.5}, {"label": "label"}),
            "promises": (fm.stats.CutPromises(precision=0.1), {"label": "label"}),
            "confidence": (0.8, {"label": "label"}),
            "cluster": ("group", {"label": "label"}),
            "better": ({"jaccard": "lower"}, {"label": "label"}),
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
        {"metrics": "jaccard", "k": (1, 2), "threshold": 0.5, "on": "other_id"},
    ),
    "compare_rankings": (
        paired(fm.results.compare_rankings, {"a": RUN, "b": RUN_B}, QRELS, "ndcg,P@2"),
        {
            "baseline": "b",
            "tests": "t",
            "bootstrap": (300, PERCENTILE),
            "seed": (5, PERCENTILE),
            "resamples": 40,
            "duplicates": ("first", {"data": ({"a": TWICE, "b": RUN_B}, QRELS, "ndcg")}),
            "columns": ({"score": "own"}, {"data": ({"a": OWN_SCORES, "b": RUN_B}, QRELS, "ndcg")}),
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
            "duplicates": ("first", {"data": (TWICE, QRELS, "ndcg")}),
            "columns": ({"score": "own"}, {"data": (OWN_SCORES, QRELS, "ndcg")}),
            "missing": "zero",
        },
    ),
    "score": (
        paired(fm.score, ROWS, "exact_match,retrieval_recall"),
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
            "prices": ({"m": {"input": 0.5, "output": 1}}, {"data": (ROWS, "cost")}),
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
    "columns": (paired(fm.columns, {"question": ["a"], "text": ["b"]}), {"columns": {"question": "text"}}),
    "StrictMatchBot": (
        lambda **o: fm.retrieval.StrictMatchBot({"question": ["a"], "answer": ["b"], "text": ["c"]}, **o).answer_all(
            ["a", "c"]
        ),
        {"columns": {"question": "text"}},
    ),
    "embed": (paired(fm.embed, ROWS, fm.Embedder(letters)), {"keep": "text", "columns": {"question": "text"}}),
    "answer": (
        paired(lambda rows, **o: fm.answer(rows, str.upper, **o).drop_columns("latency_ms"), ROWS),
        {
            "system": "mine",
            "columns": {"question": "text"},
            "keep": "text",
            "repeats": 2,
            "sample": 3,
            "seed": (3, {"sample": 3}),
        },
    ),
}
EVERYWHERE = {"confidence": 0.8, "columns": {"question": "answer"}}
OF_FILES = "is of files: tests/cli and tests/scoring"
SHOWN_NOWHERE = {
    "threads": "changes no bit: tests/scoring/test_scorer.py",
    **dict.fromkeys(("progress", "watch"), "prints how far a run is: tests/scoring/test_memory_and_files.py"),
    **dict.fromkeys(
        ("output", "files", "reading", "resume", "overwrite", "latest", "last", "skip_unreadable", "rules"), OF_FILES
    ),
    "schema": "names the types of columns: tests/scoring/test_columns.py",
    "cache": "stores vectors for the next run: tests/vectors/test_vector_files.py",
    **dict.fromkeys(("name", "times"), "is stored with the scores: tests/results/test_run_folders.py"),
    "allow_differences": "turns an error into a note: tests/results",
    "languages": "loads a model of languages: tests/logs",
    "budget": "bounds memory: tests/results/test_summary.py",
    "summarize finish": "makes statistics of whole columns for a plan: tests/results/test_corpus_comparison.py",
    "gate seed": "draws for corpus metrics alone: tests/results/test_gate.py",
    "judge_report prices": "reads the model in the metadata of a judged file: tests/results/test_judge_report.py",
    **{
        f"nearest {option}": "settles how an index searches: tests/vectors/test_neighbors.py"
        for option in ("method", "exact_work", "recall", "recall_sample", "seed")
    },
    **{
        f"project {option}": "is of layouts by PaCMAP and UMAP: tests/vectors/test_layouts.py"
        for option in ("method", "sample", "seed")
    },
    "answer retry": "asks a model again: tests/models/test_rubrics.py",
}
"""Options, alone or with their function, that show in no result here, and where they are tested."""
ELSEWHERE = {
    "metric": "declares a metric: tests/metrics/test_plugins.py",
    "trend": "reads a folder of runs: tests/results/test_run_folders.py",
    "list_runs": "reads a folder of runs: tests/results/test_run_folders.py",
    "fit": "fits many models: tests/fitting/test_fit.py",
    **dict.fromkeys(
        ("judge", "JudgeSettings", "ClientSettings", "FullContextBot", "GivenContextsBot", "FunctionBot"),
        "calls a model: tests/models",
    ),
    **dict.fromkeys(
        ("apply", "rerank", "bert_score", "LocalSettings"), "is of models: tests/models/test_local_models.py"
    ),
    "stored_calls": "reads a store of calls: tests/models/test_costs.py",
    **dict.fromkeys(("Embedder", "search", "load_vectors"), "is of models, files and servers: tests/vectors"),
    **dict.fromkeys(("evaluate_rag", "report", "ChunkSettings"), "writes pages: tests/reporting"),
    **dict.fromkeys(("profile", "warm_up"), "measures or compiles: tests/scoring/test_scorer.py"),
    "assert_scores": "has the options of gate",
    **dict.fromkeys(("FileSettings", "ReadSettings"), "is of files: tests/tables"),
    "side_by_side": "has the options of summarize: tests/results/test_summary_views.py",
    "json_fields": "has the options of json_match: tests/metrics/test_structure.py",
    "CutPromises": "is given to validate and fit: tests/fitting/test_promises.py",
    **dict.fromkeys(("match_faq", "verdicts"), "has threads alone"),
    **dict.fromkeys(("sample", "with_sample"), "draws rows: tests/results/test_sampling.py"),
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_of_functions(name):
    call, given = FUNCTIONS[name]
    silent = []
    for option, (default, choices) in options_of(public()[name]).items():
        if option not in given and (option in SHOWN_NOWHERE or f"{name} {option}" in SHOWN_NOWHERE):
            continue
        value = given.get(option, EVERYWHERE.get(option))
        value, beside = value if isinstance(value, tuple) and isinstance(value[-1], dict) else (value, {})
        tried = choices if value is None else [value]
        assert tried, f"{option}: which value is another one?"
        known = [default, beside.get(option, default), *tried]
        try:
            before = plain(call(**beside), option, *known)
        except fm.FastmetricsError:
            before = None
        silent += [(option, one) for one in tried if plain(call(**{**beside, option: one}), option, *known) == before]
    assert silent == []
