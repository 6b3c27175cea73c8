"""Score tables of model answers at memory speed.

``fm.score(table)`` scores a table, ``fm.token_f1(answers, references)`` and its siblings one metric.  Names are loaded
at first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "rouge": "generation",
    "score": "scoring",
    "score_files": "pipeline",
    "anchors": "reasons",
    "verdicts": "reasons",
    "summarize": "summary",
    "validate": "validation",
    "agreement": "stats.raters",
    "cohen_kappa": "stats.raters",
    "krippendorff_alpha": "stats.raters",
    "precision_at_k": "metrics.retrieval",
    "rank": "runs.ranking",
    "rank_runs": "runs.ranking",
    "recall_at_k": "metrics.retrieval",
    "retrieval_consistency": "metrics.repeats",
    "retrieval_rbo": "metrics.repeats",
    "geometry": "metrics.geometry",
    "nearest": "neighbors",
    "Index": "neighbors",
    "Embedder": "embed",
    "add_embeddings": "embed",
    "match": "faq",
    "StrictMatchBot": "bots",
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
        return getattr(importlib.import_module(metrics.REGISTRY[name].function.__module__), name)
    raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}{_instead(name, metrics)}")


def _instead(name: str, metrics: Any) -> str:
    """The public names that somebody may have meant who wrote ``name``."""
    from fastmetrics.errors.spelling import either, nearest

    near = nearest(name, [*_HOMES, *metrics.REGISTRY], metrics.meant(name), metrics.SPELLINGS)
    return f"; did you mean {either(near)}?" if near else ""


def __dir__() -> list[str]:
    metrics = importlib.import_module("fastmetrics.metrics")
    return sorted([*globals(), *_HOMES, *metrics.REGISTRY])
