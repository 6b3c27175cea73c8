"""Score tables of model answers at memory speed.

``fm.score(table)`` scores a table; ``fm.token_f1(answers, references)`` and the functions of the other metrics compute
one metric.  All errors are a ``fm.FastmetricsError``.  Names are loaded at first use, so importing the package is fast.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from fastmetrics.core.version import __version__ as __version__

HOMES = {
    "metric": "declaration.metric",
    "load_plugin": "declaration.plugins",
    "rouge": "scoring.rouge_function",
    "score": "scoring.score",
    "pairwise_scores": "scoring.pairwise_scores",
    "profile": "scoring.profile",
    "with_scores": "scoring.frames.with_scores",
    "FileSettings": "engines.run_settings",
    "RayCluster": "engines.run_settings",
    "anchors": "scoring.verdict_reasons",
    "verdicts": "scoring.verdict_reasons",
    "summarize": "results.summary.summary",
    "summarize_by": "results.summary.summarize_by",
    "side_by_side": "results.summary.side_by_side",
    "primary_table": "results.summary.primary_table",
    "correlations": "results.summary.correlations",
    "histograms": "results.summary.histograms",
    "trend": "results.summary.trend",
    "list_runs": "results.runs.list_runs",
    "validate": "results.people.validate",
    "fit": "fitting.fit",
    "CutPromises": "fitting.cut_promises",
    "estimate": "results.people.estimate",
    "judge_report": "results.people.judge_report",
    "sample_rows": "results.people.sample_rows",
    "judge_consistency": "stats.agreement.judge_quality",
    "judge_error_rate": "stats.agreement.judge_quality",
    "judge_latency": "stats.agreement.judge_quality",
    "judge_decisions": "stats.agreement.judge_quality",
    "pairwise": "stats.agreement.pairwise",
    "bradley_terry": "stats.agreement.pairwise",
    "compare": "results.compare.compare",
    "power": "results.compare.power",
    "repeats": "results.summary.repeats",
    "pass_at_k": "stats.pass_at_k",
    "pass_hat_k": "stats.pass_at_k",
    "sacrebleu_paired": "results.compare.sacrebleu_paired",
    "gate": "results.gate.gate",
    "worst_rows": "results.rows.worst_rows",
    "assert_scores": "scoring.assert_scores",
    "agreement": "stats.agreement.agreement",
    "cohen_kappa": "stats.agreement.agreement",
    "krippendorff_alpha": "stats.agreement.agreement",
    "rank": "retrieval.rank",
    "compare_rankings": "results.compare.compare_rankings",
    "geometry": "vectors.geometry",
    "nearest": "vectors.search.neighbors",
    "search": "vectors.search.search",
    "load_vectors": "vectors.search.load_vectors",
    "project": "vectors.projection.project",
    "Index": "vectors.search.neighbors",
    "Embedder": "vectors.embedding.embedder",
    "answer": "derive.bots.answer",
    "embed": "derive.embed",
    "FullContextBot": "derive.bots.full_context_bot",
    "FunctionBot": "derive.bots.function_bot",
    "GivenContextsBot": "derive.bots.prompt_bot",
    "report": "reporting.report",
    "evaluate_rag": "reporting.rag.evaluate_rag",
    "ChunkSettings": "reporting.rag.chunk_settings",
    "plot": "reporting.charts.plot",
    "judge": "derive.judge.judge",
    "tokenizer": "declaration.tokenizers",
    "model_client": "derive.clients.model_client",
    "ModelRequest": "derive.clients.model_client",
    "ModelReply": "derive.clients.completion",
    "stored_calls": "derive.store.call_store_overview",
    "JudgeSettings": "derive.judge.judge_settings",
    "match": "faq.match",
    "match_faq": "faq.matcher",
    "StrictMatchBot": "faq.strict_match_bot",
    "grounding_evidence": "metrics.grounding",
    "tokens_by_id": "metrics.latency_and_cost",
    "risk_coverage": "stats.risk_coverage",
    "chunk_utilization": "usage.knowledge_chunks.chunk_utilization",
    "domain_analysis": "usage.domain.domain_analysis",
    "check_dataset": "usage.dataset.check_dataset",
    "topic_coverage": "usage.topics.topic_coverage",
    "cache_hit_rate": "usage.cache_hit_rate",
    "context_preservation": "usage.context_preservation",
}
"""The module of each public function that is not a metric; metrics are found in the registry."""

MODULES = ("pandas", "polars", "duckdb", "datasets")
"""The public modules for other tools, named after them; a star import leaves them out, as it would hide the tools."""

EXCEPTIONS = (
    "FastmetricsError",
    "InputError",
    "ColumnError",
    "FileFormatError",
    "UnknownNameError",
    "OptionError",
    "OutputError",
    "PluginError",
    "MissingExtraError",
    "WorkerError",
    "ServiceError",
    "ModelCallError",
)
"""The exceptions that public functions raise; the module ``errors`` shows their tree."""


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(importlib.import_module(f"fastmetrics.{HOMES[name]}"), name)
    if name in EXCEPTIONS:
        return getattr(importlib.import_module("fastmetrics.errors"), name)
    if name in MODULES:
        return importlib.import_module(f"fastmetrics.scoring.frames.{name}")
    if name == "__all__":
        return public_names()
    if name.startswith("_") or _is_package(name):
        raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}")
    metrics = importlib.import_module("fastmetrics.metrics")
    function = metrics.function_of(metrics.SPELLINGS[name]) if name in metrics.SPELLINGS else None
    if function != metrics.SPELLINGS.get(name):
        raise AttributeError(
            f"module 'fastmetrics' has no attribute {name!r}: it is a name of a metric; fm.{function} computes it"
        )
    if function is not None:
        return importlib.import_module("fastmetrics.scoring.metric_functions").callable_of(metrics.SPELLINGS[name])
    raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}{_instead(name, metrics)}")


def _is_package(name: str) -> bool:
    """Whether ``fastmetrics.name`` is a package; Python asks for its name before importing it."""
    return os.path.isfile(os.path.join(os.path.dirname(__file__), name, "__init__.py"))


def _instead(name: str, metrics: Any) -> str:
    """The public names to suggest for the unknown ``name``."""
    from fastmetrics.errors.spelling import either, nearest

    meant = [metrics.function_of(metric) for metric in metrics.meant(name)]
    near = nearest(name, public_names(), dict.fromkeys(meant), metrics.SPELLINGS)
    near = list(
        dict.fromkeys(metrics.function_of(spelling) if spelling in metrics.REGISTRY else spelling for spelling in near)
    )
    return f"; did you mean {either(near)}?{metrics.difference(name)}" if near else ""


def public_names() -> list[str]:
    """Every public name: functions, classes, exceptions, and one function for each metric or numbered family."""
    metrics = importlib.import_module("fastmetrics.metrics")
    return sorted(["__version__", *HOMES, *EXCEPTIONS, *metrics.functions()])


__dir__ = public_names
