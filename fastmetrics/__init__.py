"""Score tables of model answers at memory speed.

``fm.score(table)`` scores a table; ``fm.token_f1(answers, references)`` and the functions of the other metrics compute
one metric.  All errors are a ``fm.FastmetricsError``.  Names are loaded at first use, so importing the package is fast.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from fastmetrics.base.public_names import HOMES as HOMES
from fastmetrics.base.public_names import __version__ as __version__

MODULES = ("pandas", "polars", "duckdb", "datasets")
"""The public modules for other tools, named after them; a star import leaves them out, as it would hide the tools."""

EXCEPTIONS = (
    "FastmetricsError",
    "InputError",
    "ColumnError",
    "FileFormatError",
    "UnknownNameError",
    "OptionError",
    "OutputError",
    "PluginError",
    "MissingExtraError",
    "WorkerError",
    "ServiceError",
    "ModelCallError",
    "ScoreWarning",
)
"""The exceptions and the warning of public functions; the module ``errors`` shows their tree."""


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(importlib.import_module(f"fastmetrics.{HOMES[name]}"), name)
    if name in EXCEPTIONS:
        return getattr(importlib.import_module("fastmetrics.base.errors"), name)
    if name in MODULES:
        return importlib.import_module(f"fastmetrics.scoring.frames.{name}")
    if name == "__all__":
        return public_names()
    if name.startswith("_") or _is_package(name):
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


def _is_package(name: str) -> bool:
    """Whether ``fastmetrics.name`` is a package; Python asks for its name before importing it."""
    return os.path.isfile(os.path.join(os.path.dirname(__file__), name, "__init__.py"))


def _instead(name: str, metrics: Any) -> str:
    """The public names to suggest for the unknown ``name``, or the rubric of a judge."""
    from fastmetrics.base.errors import either, nearest

    if metrics.judged(name):
        return str(metrics.judged(name))
    meant = [metrics.function_of(metric) for metric in metrics.meant(name)]
    near = nearest(name, public_names(), dict.fromkeys(meant), metrics.SPELLINGS)
    near = list(
        dict.fromkeys(metrics.function_of(spelling) if spelling in metrics.REGISTRY else spelling for spelling in near)
    )
    return f"; did you mean {either(near)}?{metrics.difference(name)}" if near else ""


def public_names() -> list[str]:
    """Every public name: functions, classes, exceptions, and one function for each metric or numbered family."""
    metrics = importlib.import_module("fastmetrics.metrics.suites")
    return sorted(["__version__", *HOMES, *EXCEPTIONS, *metrics.functions()])


__dir__ = public_names
