"""The commands of the ``fastmetrics`` program: a module for each subject, imported when a command of it is called."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

GROUPS = {
    "Score": {
        "score": "scoring",
        "columns": "scoring",
        "metrics": "scoring",
        "profile": "scoring",
        "warm-up": "scoring",
        "pairwise-scores": "scoring",
    },
    "Look at scores": {
        "summarize": "summaries",
        "summarize-by": "summaries",
        "side-by-side": "summaries",
        "primary-table": "summaries",
        "correlations": "summaries",
        "histograms": "summaries",
        "classification": "summaries",
        "worst-rows": "report",
        "report": "report",
        "plot": "report",
        "list-runs": "summaries",
        "trend": "summaries",
    },
    "Compare and check": {
        "compare": "comparison",
        "gate": "comparison",
        "power": "comparison",
        "repeats": "comparison",
        "validate": "comparison",
        "fit": "comparison",
    },
    "Retrieval and vectors": {
        "rank": "vectors",
        "compare-rankings": "vectors",
        "embed": "vectors",
        "geometry": "vectors",
        "project": "vectors",
        "index": "vectors",
        "search": "vectors",
        "load-vectors": "vectors",
    },
    "Models": {
        "answer": "answering",
        "evaluate-rag": "answering",
        "match": "answering",
        "judge": "judging",
        "rubric": "judging",
        "judge-report": "judging",
        "sample-rows": "judging",
        "stored-calls": "judging",
    },
    "Logs": {
        "check-dataset": "log_analysis",
        "chunk-utilization": "log_analysis",
        "domain-analysis": "log_analysis",
        "topic-coverage": "log_analysis",
        "cache-hit-rate": "log_analysis",
        "context-preservation": "log_analysis",
    },
}
"""The commands as the help page groups them, and the module of each; a name is that of a function, with hyphens."""

COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}


@functools.cache
def load(name: str) -> Callable[..., None]:
    """The function of a command, imported from its module."""
    # here, so that __main__ can report an installation without Typer
    from fastmetrics.cli.options import flat

    return flat(_function(name))


def summary(name: str) -> str:
    """The first line of a command's docstring."""
    return inspect.cleandoc(_function(name).__doc__ or "").split("\n")[0]


def _function(name: str) -> Callable[..., Any]:
    module = importlib.import_module(f"fastmetrics.cli.{COMMANDS[name]}")
    function: Callable[..., Any] = getattr(module, name.replace("-", "_"))
    return function


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
