"""Score tables of model answers at memory speed.

``fm.score(table)`` scores a table, ``fm.token_f1(answers, references)`` and its siblings one metric.  Names are loaded
at first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from fastmetrics.core.version import __version__ as __version__

_HOMES = {
    "rouge": "scoring.rouge_call",
    "score": "scoring.score",
    "score_files": "scoring.files",
    "anchors": "scoring.verdict_reasons",
    "verdicts": "scoring.verdict_reasons",
    "summarize": "results.summary",
    "summarize_files": "results.score_files",
    "validate": "results.validation",
    "agreement": "stats.agreement",
    "cohen_kappa": "stats.agreement",
    "krippendorff_alpha": "stats.agreement",
    "precision_at_k": "metrics.retrieval",
    "rank": "retrieval.evaluate",
    "rank_runs": "retrieval.evaluate",
    "recall_at_k": "metrics.retrieval",
    "retrieval_consistency": "metrics.retrieval_consistency",
    "retrieval_rbo": "metrics.retrieval_consistency",
    "geometry": "vectors.geometry",
    "nearest": "vectors.neighbors",
    "Index": "vectors.neighbors",
    "Embedder": "vectors.embedder",
    "add_embeddings": "vectors.embedder",
    "match": "faq.matcher",
    "StrictMatchBot": "faq.bot",
    "grounding_evidence": "metrics.grounding",
    "response_exact_match_rate": "metrics.semantic",
    "response_semantic_consistency": "metrics.semantic",
}
"""The module of each public function that is no metric; metrics are found where they are declared."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"fastmetrics.{_HOMES[name]}"), name)
    if name.startswith("_"):
        raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}")
    metrics = importlib.import_module("fastmetrics.metrics")
    if name in metrics.REGISTRY:
        return importlib.import_module("fastmetrics.scoring.calls").callable_of(name)
    raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}{_instead(name, metrics)}")


def _instead(name: str, metrics: Any) -> str:
    """The public names that somebody may have meant who wrote ``name``."""
    from fastmetrics.errors.spelling import either, nearest

    near = nearest(name, [*_HOMES, *metrics.REGISTRY], metrics.meant(name), metrics.SPELLINGS)
    return f"; did you mean {either(near)}?" if near else ""


def __dir__() -> list[str]:
    metrics = importlib.import_module("fastmetrics.metrics")
    return sorted([*globals(), *_HOMES, *metrics.REGISTRY])
