"""Every public function that takes columns: a call on made columns, by the names of its arguments."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.columns import index_columns
from fastmetrics.base.public_names import HOMES, load
from fastmetrics.metrics.suites import functions
from tests.support import every_metric

Columns = dict[str, list[Any]]


def letters(texts: Sequence[str]) -> np.ndarray:
    """A made-up model: how often each small letter occurs, and one more."""
    return np.array([[text.lower().count(chr(97 + code)) + 0.5 for code in range(26)] for text in texts], np.float32)


@dataclass(frozen=True)
class Call:
    """A public function on columns: a call with the columns as keyword arguments, and made columns as lists.

    With ``tables``, the call takes one table of the columns as its only argument.
    """

    call: Callable[..., Any]
    columns: Columns
    tables: bool = False


CHANCE = random.Random(3)
ROWS = 16
IDS = [f"q{row}" for row in range(ROWS)]
VERDICTS = [CHANCE.choice(["A", "B", "tie", None]) for _ in range(ROWS)]
FLAGS = [CHANCE.choice([True, False, True, None]) for _ in range(ROWS)]
GRADES = [CHANCE.choice([1.0, 2.0, 3.0, 4.5, None]) for _ in range(ROWS)]
SCORES = [CHANCE.choice([0.25, 0.5, 0.75, 1.0, None]) for _ in range(ROWS)]
WHOLE = [CHANCE.choice([0.0, 0.25, 0.5, 1.0]) for _ in range(ROWS)]
COUNTS = [CHANCE.choice([1, 2, 30]) for _ in range(ROWS)]
WORDS = [CHANCE.choice(["bad", "fair", "good", None]) for _ in range(ROWS)]
STATUSES = [CHANCE.choice(["ok", "ok", "timeout", "missing", None]) for _ in range(ROWS)]
QUESTIONS = [CHANCE.choice(["Where is my card?", "How do I pay rent?", "Lost pin", None]) for _ in range(ROWS)]
ANSWERS = [CHANCE.choice(["By mail [1].", "Online. [2]", "I don't know.", "", None]) for _ in range(ROWS)]
CONTEXTS = [CHANCE.choice([["It comes by mail.", "Pay online."], ["Nothing"], [], None]) for _ in range(ROWS)]
RANKINGS = [CHANCE.choice([["a", "b"], ["c"], ["b", "d", "a"], None]) for _ in range(ROWS)]
RELEVANT = [CHANCE.choice([["a"], ["b", "e"]]) for _ in range(ROWS)]
VECTORS = [[CHANCE.gauss(0, 1) for _ in range(4)] for _ in range(ROWS)]
TIMES = [1_700_000_000 + 60 * row for row in range(ROWS)]
LANGUAGES = [CHANCE.choice(["en", "ru"]) for _ in range(ROWS)]
SESSIONS = [CHANCE.choice(["s", "t", "u"]) for _ in range(ROWS)]

SCORED = {"id": IDS, "language": LANGUAGES, "token_f1": SCORES, "jaccard": WHOLE}
LOG = {
    "question": QUESTIONS,
    "answer": ANSWERS,
    "retrieved_ids": RANKINGS,
    "question_embedding": VECTORS,
    "timestamp": TIMES,
    "rating": COUNTS,
    "session": SESSIONS,
}
RUN = {"query_id": ["q", "q", "p", "p"], "doc_id": ["a", "b", "a", "c"], "score": [2.0, 1.0, 0.5, 3.0]}
QRELS = {"q": {"a": 1}, "p": {"a": 2, "c": 1}}
OTHER = {"id": IDS[::-1], "token_f1": WHOLE, "jaccard": WHOLE}


def metric(name: str) -> Call:
    """The call of a metric of rows."""
    return Call(getattr(fm, name), every_metric.columns(name, ROWS))


def of_table(call: Callable[[Any], Any], columns: Columns) -> Call:
    """The call of a function of a table."""
    return Call(call, columns, tables=True)


def with_grades(drawn: Any) -> pa.Table:
    """Drawn rows with grades of people."""
    table = pa.table(drawn)
    return table.append_column("human", table["judge_x"])


def embedded(name: str) -> Call:
    """The call of a metric that takes an embedder."""
    embedder = fm.Embedder(letters)
    return Call(
        lambda **columns: getattr(fm, name)(**columns, embedder=embedder), {"answer": ANSWERS, "contexts": CONTEXTS}
    )


def rank_result(result: Any) -> Any:
    """The result of an evaluation, with its values per query."""
    return result.per_query, result.mean


def indexed(vectors: Any, names: Any) -> Any:
    """The nearest names of each vector in an index of all."""
    index = fm.Index.build(vectors, names=names)
    return index.names, index.search(vectors, k=3)


METRICS: dict[str, Call] = {
    **{name: metric(name) for name in every_metric.CASES if name in functions()},
    **{name: embedded(name) for name in sorted(every_metric.EMBEDDING)},
    "choice_match": Call(fm.choice_match, {"answer": ANSWERS, "reference": QUESTIONS}),
    "number_match": Call(fm.number_match, {"answer": ANSWERS, "reference": QUESTIONS}),
    "abstention_f1": Call(fm.abstention_f1, {"answer": ANSWERS, "answerable": FLAGS}),
    "aurc": Call(fm.aurc, {"confidence": SCORES, "answerable": FLAGS, "reference": QUESTIONS, "answer": ANSWERS}),
    "corpus_bleu": Call(fm.corpus_bleu, {"answer": ANSWERS, "reference": QUESTIONS}),
    "corpus_cer": Call(fm.corpus_cer, {"answer": ANSWERS, "reference": QUESTIONS}),
    "corpus_ter": Call(fm.corpus_ter, {"answer": ANSWERS, "reference": QUESTIONS}),
    "corpus_wer": Call(fm.corpus_wer, {"answer": ANSWERS, "reference": QUESTIONS}),
    **{
        f"corpus_tool_call_{name}": Call(
            getattr(fm, f"corpus_tool_call_{name}"), every_metric.columns(f"tool_call_{name}", ROWS)
        )
        for name in ("precision", "recall", "f1")
    },
    "corpus_chrf": Call(fm.corpus_chrf, {"answer": ANSWERS, "reference": QUESTIONS}),
    "retrieval_consistency": Call(fm.retrieval_consistency, {"question": QUESTIONS, "retrieved_ids": RANKINGS}),
    "retrieval_rbo": Call(fm.retrieval_rbo, {"question": QUESTIONS, "retrieved_ids": RANKINGS}),
    "response_exact_match_rate": Call(fm.response_exact_match_rate, {"answer": ANSWERS, "question": QUESTIONS}),
    "response_semantic_consistency": Call(
        fm.response_semantic_consistency, {"answer_embedding": VECTORS, "question": QUESTIONS}
    ),
    "embedding_geometry": Call(fm.embedding_geometry, {"embedding": VECTORS}),
    "rater_agreement": Call(fm.rater_agreement, {"ratings": [[1.0, 2.0], [2.0, 2.0], None, [1.0, 3.0]] * 4}),
}

FUNCTIONS: dict[str, Call] = {
    "judge_consistency": Call(
        fm.stats.judge_consistency, {"scores": [[1.0, 2.0], [3.0, None], [4.0, 4.5], [2.0, 2.0]]}
    ),
    "judge_error_rate": Call(fm.stats.judge_error_rate, {"statuses": STATUSES}),
    "judge_latency": Call(fm.stats.judge_latency, {"milliseconds": GRADES}),
    "judge_latency of repeats": Call(fm.stats.judge_latency, {"milliseconds": [[1.0, None], [3.0], None, [4.0, 4.5]]}),
    "judge_decisions": Call(fm.stats.judge_decisions, {"shown": FLAGS, "labels": FLAGS[::-1], "latency_ms": GRADES}),
    "pairwise": Call(
        fm.stats.pairwise,
        {"first": VERDICTS, "second": VERDICTS[::-1], "rows": COUNTS, "identical": [flag or False for flag in FLAGS]},
    ),
    "cohen_kappa": Call(fm.stats.cohen_kappa, {"first": GRADES, "second": GRADES[::-1]}),
    "cohen_kappa of words": Call(fm.stats.cohen_kappa, {"first": WORDS, "second": WORDS[::-1]}),
    "krippendorff_alpha": Call(
        lambda **columns: fm.stats.krippendorff_alpha(list(columns.values())), {"first": WORDS, "second": WORDS[::-1]}
    ),
    "agreement": Call(
        lambda **columns: fm.stats.agreement(list(columns.values())),
        {"first": FLAGS, "second": FLAGS[::-1], "third": [1.0, 0.0] * (ROWS // 2)},
    ),
    "risk_coverage": Call(fm.stats.risk_coverage, {"confidence": SCORES, "quality": SCORES[::-1]}),
    "match_faq": Call(fm.retrieval.match_faq, {"questions": QUESTIONS, "faq_questions": ANSWERS}),
    "rouge": Call(fm.rouge, {"answer": ANSWERS, "reference": CONTEXTS}),
    "anchors": Call(fm.scoring.anchors, {"answer": ANSWERS, "contexts": CONTEXTS}),
    "verdicts": Call(fm.scoring.verdicts, {"question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS}),
    "grounding_evidence": Call(
        lambda **columns: fm.metrics.grounding_evidence(**columns, embedder=fm.Embedder(letters)),
        {"answer": ANSWERS, "contexts": CONTEXTS},
    ),
    "json_fields": Call(fm.metrics.json_fields, {"answer": ANSWERS, "reference": CONTEXTS}),
    "duplicates": Call(lambda vectors: fm.vectors.duplicates(vectors, near=0.99), {"vectors": VECTORS}),
    "geometry": Call(lambda vectors: fm.vectors.geometry(vectors, k=2), {"vectors": VECTORS}),
    "nearest": Call(lambda vectors: fm.vectors.nearest(vectors, k=2), {"vectors": VECTORS}),
    "Index": Call(indexed, {"vectors": VECTORS, "names": IDS}),
    "project": Call(lambda vectors: fm.vectors.project(vectors).points, {"vectors": VECTORS}),
    "Embedder": Call(lambda texts: fm.Embedder(letters).embed(texts), {"texts": QUESTIONS}),
    "StrictMatchBot": Call(
        lambda question, answer: fm.retrieval.StrictMatchBot({"question": question, "answer": answer}).answer_all(
            question
        ),
        {"question": ["Where is my card?", "Pay rent", None], "answer": ["By mail.", None, "x"]},
    ),
    "validate": Call(
        lambda scores, labels: fm.validate({"jaccard": scores}, labels), {"scores": WHOLE, "labels": SCORES}
    ),
}

OF_TABLES: dict[str, Call] = {
    "krippendorff_alpha of a table": of_table(
        fm.stats.krippendorff_alpha, {"id": IDS, "ann": GRADES, "bob": GRADES[::-1], "cid": FLAGS}
    ),
    "validate of a table": of_table(
        lambda table: fm.validate({"id": IDS, "fit": WHOLE}, table, cluster="group", label="label"),
        {"id": IDS[::-1], "label": SCORES, "group": SESSIONS},
    ),
    "compare with segments": of_table(
        lambda table: fm.compare({"a": OTHER, "b": SCORED}, metrics="jaccard", by="group", segments=table),
        {"id": IDS, "group": COUNTS},
    ),
    "compare in clusters": of_table(
        lambda table: fm.compare({"a": OTHER, "b": table}, metrics="jaccard", cluster="language"), SCORED
    ),
    "chunk_utilization of chunks": of_table(
        lambda table: fm.logs.chunk_utilization(RANKINGS, chunks=table, k=2), {"id": list("abcdefgh")}
    ),
    "score": of_table(
        lambda table: fm.score(table, "token_f1,ndcg,latency_ms", columns={"latency_ms": "rating"}),
        {**LOG, "reference": CONTEXTS, "relevant_ids": RELEVANT},
    ),
    "columns": of_table(
        lambda table: {name: column.first for name, column in fm.columns(table).columns.items()},
        {"id": IDS, "latency_ms": COUNTS},
    ),
    "profile": of_table(
        lambda table: list(fm.scoring.profile(table, "latency_ms").metrics), {"id": IDS, "latency_ms": COUNTS}
    ),
    "summarize": of_table(fm.summarize, SCORED),
    "summarize_by": of_table(lambda table: fm.results.summarize_by(table, by="language"), SCORED),
    "compare": of_table(lambda table: fm.compare({"a": OTHER, "b": table}, metrics="token_f1,jaccard"), SCORED),
    "power": of_table(lambda table: fm.power({"a": OTHER, "b": table}, metrics="token_f1", delta=0.1), SCORED),
    "gate": of_table(lambda table: fm.gate(table, ["token_f1 >= 0.1", "jaccard.delta >= -1"], baseline=OTHER), SCORED),
    "assert_scores": of_table(lambda table: fm.scoring.assert_scores(table, "token_f1 >= 0.1"), SCORED),
    "worst_rows": of_table(lambda table: fm.worst_rows(table, "token_f1", n=4), SCORED),
    "correlations": of_table(fm.results.correlations, SCORED),
    "histograms": of_table(fm.results.histograms, SCORED),
    "side_by_side": of_table(lambda table: fm.results.side_by_side({"a": OTHER, "b": table}), SCORED),
    "primary_table": of_table(lambda table: fm.results.primary_table({"a": table}), SCORED),
    "repeats": of_table(
        fm.results.repeats,
        {"id": [f"q{row // 2}" for row in range(ROWS)], "exact_match": [1.0, 0.0, 1.0, 1.0] * (ROWS // 4)},
    ),
    "judge_report": of_table(
        lambda table: fm.judge_report(table, label="human"),
        {
            "id": IDS,
            "judge_x": GRADES,
            "judge_x_status": STATUSES,
            "judge_x_scores": [[1.0, 2.0], None, [3.0, None], [4.0, 4.0]] * (ROWS // 4),
            "judge_x_statuses": [["ok", "ok"], None, ["ok", "timeout"], ["ok", "ok"]] * (ROWS // 4),
            "judge_x_latencies_ms": [[10.0, 20.0], None, [5.0, None], [1.0, 2.0]] * (ROWS // 4),
            "human": WHOLE,
        },
    ),
    "sample": of_table(
        lambda table: pa.table(fm.sample(table, budget=4, for_="human", using="judge_x")).select(
            ["id", "human_inclusion"]
        ),
        {"id": IDS, "question": QUESTIONS, "judge_x": GRADES},
    ),
    "with_sample": of_table(
        lambda table: pa.table(
            fm.with_sample(table, with_grades(fm.sample(table, budget=4, for_="human", using="judge_x")))
        ).select(["id", "human", "human_predicted"]),
        {"id": IDS, "question": QUESTIONS, "judge_x": GRADES},
    ),
    "classification": of_table(
        lambda table: fm.classification(table, predicted="predicted", expected="expected", by="language"),
        {"predicted": WORDS, "expected": WORDS[::-1], "language": LANGUAGES},
    ),
    "check_dataset": of_table(
        lambda table: fm.logs.check_dataset(table, labels="language"),
        {"id": IDS, "question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS, "language": LANGUAGES},
    ),
    "chunk_utilization": of_table(lambda table: fm.logs.chunk_utilization(table, k=2), LOG),
    "domain_analysis": of_table(lambda table: fm.logs.domain_analysis(table, indicators=["pay"]), LOG),
    "topic_coverage": of_table(lambda table: fm.logs.topic_coverage(table, topics=2), LOG),
    "cache_hit_rate": of_table(fm.logs.cache_hit_rate, LOG),
    "context_preservation": of_table(fm.logs.context_preservation, LOG),
    "sessions": of_table(
        lambda table: fm.logs.sessions(table, "rating"), LOG | {"success": [True, False] * (len(IDS) // 2)}
    ),
    "rank": of_table(lambda table: rank_result(fm.rank(table, QRELS, "ndcg,mrr")), RUN),
    "rank of runs": of_table(lambda table: fm.rank({"a": table}, QRELS, "ndcg,mrr"), RUN),
    "compare_rankings": of_table(
        lambda table: fm.results.compare_rankings({"a": QRELS, "b": table}, QRELS, "ndcg"), RUN
    ),
    "embed": of_table(lambda table: fm.embed(table, fm.Embedder(letters)), {"id": IDS, "question": QUESTIONS}),
    "apply": of_table(
        lambda table: fm.models.apply(table, fm.models.rerank(lambda pairs: [len(text) for _, text in pairs])),
        {"id": IDS, "question": QUESTIONS, "contexts": CONTEXTS},
    ),
    "with_scores": of_table(
        lambda table: pa.table(fm.with_scores(fm.score(table, "token_f1", keep="all"), "token_recall")),
        {"id": IDS, "answer": ANSWERS, "reference": QUESTIONS},
    ),
    "match": of_table(lambda table: fm.match(table, table), {"id": IDS, "question": QUESTIONS, "answer": ANSWERS}),
    "answer": of_table(
        lambda table: fm.answer(table, str.upper).drop_columns("latency_ms"), {"id": IDS, "question": QUESTIONS}
    ),
}

CALLS = {**METRICS, **FUNCTIONS, **OF_TABLES}

_FILES = "takes paths: readers of files have tests of their own"
_NO_COLUMN = "takes no column of values"
EXCEPTIONS = {
    **dict.fromkeys(("list_runs", "trend", "load_plugin"), _FILES),
    **dict.fromkeys(("metric", "list_metrics", "pass_at_k", "pass_hat_k", "FullContextBot", "FunctionBot"), _NO_COLUMN),
    **dict.fromkeys(
        (
            *("GivenContextsBot", "JudgeSettings", "FileSettings", "ReadSettings", "CutPromises", "ChunkSettings"),
            "ClientSettings",
        ),
        _NO_COLUMN,
    ),
    **dict.fromkeys(("model_client", "tokenizer", "ModelReply", "ModelRequest"), _NO_COLUMN),
    **dict.fromkeys(("rerank", "bert_score", "classifier", "LocalSettings"), _NO_COLUMN),
    "stored_calls": "reads a store of calls",
    "search": "reads an index, or a table of a server",
    "warm_up": "takes names of metrics and columns",
    "load_vectors": "writes a table of a server",
    "fit": "fits many models; tests/fitting has tables in memory and in files",
    "bradley_terry": "takes contests of three names each",
    "scorer": "takes names of metrics; tests/scoring/test_scorer.py gives its batches",
    "math_match": "starts processes of an extra; tests/metrics/test_numbers.py has its kinds of columns",
    "judge": "reads its table as answer does, and needs a server",
    "evaluate_rag": "writes a folder; tests/reporting/test_evaluate_rag.py compares each stage with its function",
    "report": "writes the results of other functions, and needs an extra",
}
"""Public functions and classes without a call, and why."""


def public() -> dict[str, Any]:
    """Every public function and class by its name, those of metrics too."""
    return {name: load(name) for name in HOMES} | {name: getattr(fm, name) for name in functions()}


def as_plain(result: Any) -> Any:
    """A result as plain values, so that two can be compared; without the index of a pandas frame."""
    if isinstance(result, pa.Table):
        names = [name for name in result.column_names if name not in index_columns(result.schema)]
        return repr(result.select(names).to_pydict())
    if isinstance(result, np.ndarray):
        return repr(result.tolist())
    if isinstance(result, pa.Array):
        return repr(result.to_pylist())
    if hasattr(result, "to_dict"):
        return repr(result.to_dict())
    if dataclasses.is_dataclass(result):
        return {field.name: as_plain(getattr(result, field.name)) for field in dataclasses.fields(result)}
    if isinstance(result, Mapping):
        return {name: as_plain(value) for name, value in result.items()}
    return [as_plain(part) for part in result] if isinstance(result, list | tuple) else repr(result)
