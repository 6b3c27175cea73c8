"""The metrics, one file a family.  Importing this package declares them all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from fastmetrics.declare import REGISTRY, Metric
from fastmetrics.errors import UnknownNameError

__all__ = ["FAMILIES", "REGISTRY", "SUITES", "find", "suite"]

SUITES: Mapping[str, tuple[str, ...]] = {
    "lexical": ("lexical", "squad", "abstention"),
    "grounding": ("abstention", "grounding"),
    "generation": ("rouge", "bleu", "chrf", "tfidf"),
    "verdict": ("claims", "verdict"),
    "writing": ("components", "writing"),
    "retrieval": ("retrieval",),
    "semantic": ("semantic",),
    "operations": ("operations",),
}
"""Families of metrics under one name; ``all`` stands for every one."""

COSTLY = "grounding"
"""The suite whose metrics embed text, and so are computed only where it or they are asked for."""

FAMILIES = tuple(dict.fromkeys(family for families in SUITES.values() for family in families))
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


def suite(name: str) -> list[Metric]:
    """The metrics of a suite: its usual ones, and of the ``COSTLY`` one all.

    >>> [metric.name for metric in suite("operations")]
    ['latency_ms', 'prompt_tokens', 'completion_tokens', 'total_tokens']

    Raises ``UnknownNameError`` for a name that is neither in ``SUITES`` nor ``all``.
    """
    if name == "all":
        return [metric for metric in REGISTRY.values() if metric.usual]
    if name not in SUITES:
        raise UnknownNameError.of("suite", name, [*SUITES, "all"])
    homes = [f"{__name__}.{family}" for family in SUITES[name]]
    members = [metric for metric in REGISTRY.values() if metric.function.__module__ in homes]
    return [metric for metric in members if metric.usual or name == COSTLY]
