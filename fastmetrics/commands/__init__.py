"""The commands of the ``fastmetrics`` program: one module each, imported when its command is called."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

GROUPS = {
    "Score": {
        "score": "scoring",
        "metrics": "scoring",
        "profile": "scoring",
        "pairwise-scores": "scoring",
    },
    "Look at scores": {
        "summarize": "overview",
        "summarize-by": "overview",
        "side-by-side": "overview",
        "primary-table": "overview",
        "correlations": "overview",
        "histograms": "overview",
        "worst-rows": "overview",
        "report": "overview",
        "plot": "overview",
        "list-runs": "overview",
        "trend": "overview",
    },
    "Compare and check": {
        "compare": "comparison",
        "gate": "comparison",
        "sacrebleu-paired": "comparison",
        "power": "comparison",
        "repeats": "comparison",
        "validate": "comparison",
        "fit": "comparison",
    },
    "Retrieval and vectors": {
        "rank": "retrieval",
        "compare-rankings": "retrieval",
        "embed": "vectors",
        "geometry": "vectors",
        "project": "vectors",
        "index": "vectors",
        "search": "vectors",
        "load-vectors": "vectors",
    },
    "Models": {
        "answer": "models",
        "evaluate-rag": "models",
        "match": "models",
        "judge": "models",
        "rubric": "models",
        "judge-report": "models",
        "sample-rows": "models",
        "stored-calls": "models",
    },
    "Logs": {
        "check-dataset": "usage",
        "chunk-utilization": "usage",
        "domain-analysis": "usage",
        "topic-coverage": "usage",
        "cache-hit-rate": "usage",
        "context-preservation": "usage",
    },
}
"""The commands as the help page groups them, and the folder of each; a name is that of a function, with hyphens."""

COMMANDS = {name: folder for group in GROUPS.values() for name, folder in group.items()}


@functools.cache
def load(name: str) -> Callable[..., None]:
    """The function of a command, imported from the module of its name."""
    # here, so that __main__ can report an installation without Typer
    from fastmetrics.commands.options.option_groups import flat

    return flat(_function(name))


def summary(name: str) -> str:
    """The first line of a command's docstring."""
    return inspect.cleandoc(_function(name).__doc__ or "").split("\n")[0]


def _function(name: str) -> Callable[..., Any]:
    own = name.replace("-", "_")
    function: Callable[..., Any] = getattr(importlib.import_module(f"fastmetrics.commands.{COMMANDS[name]}.{own}"), own)
    return function


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
