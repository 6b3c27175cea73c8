"""The commands of the ``fastmetrics`` program: one module each, imported when its command is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fastmetrics.commands.groups import flat

COMMANDS = (
    "score",
    "metrics",
    "summarize",
    "summarize-by",
    "side-by-side",
    "primary-table",
    "correlations",
    "histograms",
    "compare",
    "sacrebleu-paired",
    "power",
    "repeats",
    "gate",
    "report",
    "plot",
    "worst-rows",
    "list-runs",
    "trend",
    "profile",
    "validate",
    "rank",
    "compare-rankings",
    "geometry",
    "project",
    "index",
    "search",
    "match",
    "embed",
    "answer",
    "judge",
    "judge-report",
    "sample-rows",
    "check-dataset",
    "chunk-utilization",
    "domain-analysis",
    "topic-coverage",
    "cache-hit-rate",
    "context-preservation",
    "stored-calls",
)
"""The names of the commands, in the order of the help page: those of the functions behind them, with hyphens."""


def load(name: str) -> Callable[..., None]:
    """The function of a command, imported from the module that has its name."""
    own = name.replace("-", "_")
    return flat(getattr(importlib.import_module(f"fastmetrics.commands.{own}"), own))


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
