"""The public functions and classes with the module of each, which is loaded at first use, and the version."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import suggestion
from fastmetrics.base.shared_parameters import readable

VERBS = {
    "score": "scoring.score",
    "scorer": "scoring.score",
    "with_scores": "scoring.frames.with_scores",
    "rouge": "scoring.metric_functions",
    "metric": "metrics.metric",
    "columns": "scoring.found_columns",
    "summarize": "results.summary",
    "worst_rows": "results.worst_rows",
    "compare": "results.compare",
    "gate": "results.gate",
    "trend": "results.trend",
    "power": "results.power",
    "classification": "results.classification",
    "validate": "results.validate",
    "judge_report": "results.judge_report",
    "fit": "fitting.fit",
    "sample": "results.sampling",
    "with_sample": "results.sampling",
    "judge": "models.judge",
    "answer": "models.answer",
    "embed": "models.embed",
    "Embedder": "vectors.embedder",
    "Index": "vectors.neighbors",
    "search": "vectors.search",
    "rank": "retrieval.rank",
    "match": "retrieval.faq",
    "evaluate_rag": "reporting.evaluate_rag",
    "report": "reporting.report",
}
"""The functions and classes that the package itself has beside those of the metrics, and the module of each."""

IN_ROOMS = {
    "list_metrics": "metrics.suites",
    "load_plugin": "metrics.plugins",
    "tokenizer": "metrics.tokenizers",
    "grounding_evidence": "metrics.grounding",
    "json_fields": "metrics.structure",
    "profile": "scoring.profiling",
    "warm_up": "scoring.profiling",
    "assert_scores": "scoring.assertions",
    "anchors": "scoring.metric_functions",
    "verdicts": "scoring.metric_functions",
    "FileSettings": "tables.input_files",
    "ReadSettings": "tables.input_files",
    "summarize_by": "results.by_segment",
    "side_by_side": "results.summary",
    "primary_table": "results.primary",
    "correlations": "results.distributions",
    "histograms": "results.distributions",
    "list_runs": "results.run_folders",
    "repeats": "results.repeated_runs",
    "compare_rankings": "results.ranking_comparison",
    "CutPromises": "stats.promises",
    "judge_consistency": "stats.judge_quality",
    "judge_error_rate": "stats.judge_quality",
    "judge_latency": "stats.judge_quality",
    "judge_decisions": "stats.judge_quality",
    "pairwise": "stats.judge_quality",
    "bradley_terry": "stats.judge_quality",
    "pass_at_k": "stats.attempts",
    "pass_hat_k": "stats.attempts",
    "agreement": "stats.raters",
    "cohen_kappa": "stats.raters",
    "krippendorff_alpha": "stats.raters",
    "risk_coverage": "stats.risk",
    "geometry": "vectors.geometry_values",
    "nearest": "vectors.neighbors",
    "duplicates": "vectors.near_pairs",
    "load_vectors": "vectors.pgvector",
    "project": "vectors.projection",
    "FullContextBot": "models.bots",
    "FunctionBot": "models.bots",
    "GivenContextsBot": "models.bots",
    "model_client": "models.clients",
    "ModelRequest": "models.clients",
    "ModelReply": "models.calls",
    "stored_calls": "models.call_store",
    "ClientSettings": "models.clients",
    "JudgeSettings": "models.judge_batch",
    "apply": "models.local_columns",
    "entailment": "models.local_columns",
    "rerank": "models.local_columns",
    "bert_score": "models.local_columns",
    "classifier": "models.local_columns",
    "LocalSettings": "models.local_folders",
    "match_faq": "retrieval.faq",
    "StrictMatchBot": "retrieval.faq",
    "ChunkSettings": "reporting.evaluate_rag",
    "chunk_utilization": "logs.chunks",
    "domain_analysis": "logs.domains",
    "check_dataset": "logs.dataset",
    "topic_coverage": "logs.topics",
    "cache_hit_rate": "logs.similar_questions",
    "context_preservation": "logs.similar_questions",
    "sessions": "logs.session_report",
}
"""The functions and classes that their room has, ``fm.stats.cohen_kappa``, and the module of each."""

HOMES = VERBS | IN_ROOMS

MODULES = {
    "errors": "base.errors",
    "pandas": "scoring.frames.pandas",
    "polars": "scoring.frames.polars",
    "duckdb": "scoring.frames.duckdb",
    "datasets": "scoring.frames.datasets",
}
"""The public modules: the errors, and those for other tools, which a star import would hide."""

CAUGHT = ("FastmetricsError", "ScoreWarning")
"""The base of all exceptions, and the warning of public functions; the module ``errors`` shows their tree."""


def spelled(name: str) -> str:
    """What users write for a public function or class.

    >>> spelled("compare"), spelled("cohen_kappa")
    ('fm.compare', 'fm.stats.cohen_kappa')
    """
    return f"fm.{name}" if name in VERBS else f"fm.{HOMES[name].partition('.')[0]}.{name}"


def load(name: str) -> Any:
    """A public function or class; the signature of a function shows plain types."""
    return readable(getattr(importlib.import_module(f"fastmetrics.{HOMES[name]}"), name))


def exports(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What the package of a room needs for its public names, loaded at first use: to give one, and to list all."""
    names = sorted(name for name, home in IN_ROOMS.items() if f"fastmetrics.{home}".startswith(f"{room}."))

    def attribute(name: str) -> Any:
        if name in names:
            return load(name)
        near = "" if name.startswith("_") else f"; {suggestion(name, names)}"
        raise AttributeError(f"module {room!r} has no attribute {name!r}{near}")

    return attribute, lambda: names


# The version of the package, and a digest of its source, which also tells two clones of one version apart.


__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of the package."""
