"""The commands of the ``fastmetrics`` program: one module each, imported when its command is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

COMMANDS = {
    "score": "scoring",
    "metrics": "scoring",
    "summarize": "overview",
    "summarize-by": "overview",
    "side-by-side": "overview",
    "primary-table": "overview",
    "correlations": "overview",
    "histograms": "overview",
    "compare": "comparison",
    "sacrebleu-paired": "comparison",
    "power": "comparison",
    "repeats": "comparison",
    "gate": "comparison",
    "report": "overview",
    "plot": "overview",
    "worst-rows": "overview",
    "list-runs": "overview",
    "trend": "overview",
    "profile": "scoring",
    "pairwise-scores": "scoring",
    "validate": "comparison",
    "fit": "comparison",
    "rank": "retrieval",
    "compare-rankings": "retrieval",
    "geometry": "vectors",
    "project": "vectors",
    "index": "vectors",
    "search": "vectors",
    "load-vectors": "vectors",
    "match": "models",
    "embed": "vectors",
    "answer": "models",
    "judge": "models",
    "judge-report": "models",
    "sample-rows": "models",
    "check-dataset": "logs",
    "chunk-utilization": "logs",
    "domain-analysis": "logs",
    "topic-coverage": "logs",
    "cache-hit-rate": "logs",
    "context-preservation": "logs",
    "stored-calls": "models",
}
"""The commands in the order of the help page, and the folder of each; a name is that of a function, with hyphens."""


def load(name: str) -> Callable[..., None]:
    """The function of a command, imported from the module of its name."""
    # here, so that __main__ can report an installation without Typer
    from fastmetrics.commands.options.option_groups import flat

    own = name.replace("-", "_")
    return flat(getattr(importlib.import_module(f"fastmetrics.commands.{COMMANDS[name]}.{own}"), own))


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
