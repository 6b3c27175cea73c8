"""The commands of the ``fastmetrics`` program: one module each, imported when its command is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

COMMANDS = (
    "score",
    "metrics",
    "summarize",
    "compare",
    "sacrebleu",
    "power",
    "repeats",
    "gate",
    "report",
    "plot",
    "rows",
    "runs",
    "trend",
    "profile",
    "validate",
    "rank",
    "geometry",
    "project",
    "index",
    "search",
    "match",
    "embed",
    "answer",
    "judge",
    "judges",
    "sample",
    "check",
    "usage",
    "domain",
    "topics",
    "ux",
    "cache",
)
"""The names of the commands, in the order of the help page."""


def load(name: str) -> Callable[..., None]:
    """The function of a command, imported from the module that has its name."""
    function: Callable[..., None] = getattr(importlib.import_module(f"fastmetrics.commands.{name}"), name)
    return function


def all_commands() -> dict[str, Callable[..., Any]]:
    """The function of every command, by name."""
    return {name: load(name) for name in COMMANDS}
