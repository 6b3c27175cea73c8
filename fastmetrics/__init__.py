"""Score tables of model answers at memory speed.

``fm.score(table)`` scores a table; ``fm.token_f1(answers, references)`` and the functions of the other metrics compute
one metric.  What is about one subject stands in its room: ``fm.logs``, ``fm.stats``, ``fm.vectors``, ``fm.models`` and
others.  All errors are a ``fm.FastmetricsError``; ``fm.errors`` has the kinds.  Names are loaded at first use, so
importing the package is fast.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from fastmetrics.base.public_names import CAUGHT, IN_ROOMS, MODULES, VERBS, load, spelled
from fastmetrics.base.public_names import __version__ as __version__


def __getattr__(name: str) -> Any:
    if name in VERBS:
        return load(name)
    if name in CAUGHT:
        return getattr(importlib.import_module("fastmetrics.base.errors"), name)
    if name in MODULES:
        return importlib.import_module(f"fastmetrics.{MODULES[name]}")
    if name == "__all__":
        return public_names()
    if _is_room(name):
        return importlib.import_module(f"fastmetrics.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}")
    metrics = importlib.import_module("fastmetrics.metrics.suites")
    function = metrics.function_of(metrics.SPELLINGS[name]) if name in metrics.SPELLINGS else None
    if function != metrics.SPELLINGS.get(name):
        raise AttributeError(
            f"module 'fastmetrics' has no attribute {name!r}: it is a name of a metric; fm.{function} computes it"
        )
    if function is not None:
        return importlib.import_module("fastmetrics.scoring.metric_functions").callable_of(metrics.SPELLINGS[name])
    raise AttributeError(f"module 'fastmetrics' has no attribute {name!r}{_instead(name, metrics)}")


def _is_room(name: str) -> bool:
    """Whether ``fastmetrics.name`` is a package."""
    return os.path.isfile(os.path.join(os.path.dirname(__file__), name, "__init__.py"))


def _instead(name: str, metrics: Any) -> str:
    """What to suggest for the unknown ``name``: its room, the rubric of a judge, or public names."""
    from fastmetrics.base import errors
    from fastmetrics.metrics.source_names import instead

    if name in IN_ROOMS:
        return f"; it is {spelled(name)}"
    if name.endswith("Error") and hasattr(errors, name):
        return f"; it is fm.errors.{name}"
    shown = {
        **{metric: metrics.function_of(metric) for metric in metrics.REGISTRY},
        **{home: spelled(home).removeprefix("fm.") for home in IN_ROOMS},
    }
    found = instead(name, [*VERBS, *CAUGHT, *IN_ROOMS], lambda known: shown.get(known, known))
    return f"; {found}" if found else ""


def public_names() -> list[str]:
    """The names of a star import: the verbs, what is caught, and one function for each metric or numbered family."""
    metrics = importlib.import_module("fastmetrics.metrics.suites")
    return sorted(["__version__", *VERBS, *CAUGHT, *metrics.functions()])


def __dir__() -> list[str]:
    rooms = {"text", *(home.partition(".")[0] for home in IN_ROOMS.values())}
    return sorted([*public_names(), *rooms, *MODULES])
