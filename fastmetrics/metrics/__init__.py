"""The metrics, one file a family.  Importing this package declares them all."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from fastmetrics.declare import REGISTRY, Metric
from fastmetrics.errors import UnknownNameError

__all__ = ["CORE", "FAMILIES", "REGISTRY", "SUITES", "find", "suite"]

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
"""Families of metrics under one name; ``core`` stands for those in ``CORE``, ``all`` for every one."""

CORE = ("lexical", "retrieval", "semantic", "operations")
"""The suites computed where nothing is asked for: all but those that take long to compile or to run."""

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

    Raises ``UnknownNameError`` for a name that is neither in ``SUITES`` nor ``core`` nor ``all``.
    """
    if name not in (*SUITES, "core", "all"):
        raise UnknownNameError.of("suite", name, [*SUITES, "core", "all"])
    parts = {"core": CORE, "all": tuple(SUITES)}.get(name, (name,))
    homes = [f"{__name__}.{family}" for part in parts for family in SUITES[part]]
    members = [metric for metric in REGISTRY.values() if metric.function.__module__ in homes]
    return [metric for metric in members if metric.usual or name == COSTLY]
