"""The metrics, one file a family.  Importing this package declares them all."""

from __future__ import annotations

import importlib

from fastmetrics.declare import REGISTRY, Metric
from fastmetrics.errors import UnknownNameError

__all__ = ["FAMILIES", "REGISTRY", "find"]

FAMILIES = (
    "lexical",
    "squad",
    "abstention",
    "grounding",
    "rouge",
    "bleu",
    "chrf",
    "tfidf",
    "claims",
    "verdict",
    "writing",
    "retrieval",
    "semantic",
    "operations",
)
"""The modules that declare metrics, in the order in which lists show them."""

for _family in FAMILIES:
    importlib.import_module(f"fastmetrics.metrics.{_family}")


def find(name: str) -> Metric:
    """The metric called ``name``.

    >>> find("jacard")
    Traceback (most recent call last):
    fastmetrics.errors.UnknownNameError: unknown metric 'jacard'; did you mean 'jaccard'?
    """
    if name not in REGISTRY:
        raise UnknownNameError.of("metric", name, REGISTRY)
    return REGISTRY[name]
