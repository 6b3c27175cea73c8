"""Plugins: Python files that declare metrics or model clients, and packages that offer metrics as entry points."""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path
from typing import Any

from fastmetrics.base.column_names import BUILT_IN, COLUMNS
from fastmetrics.base.errors import PluginError
from fastmetrics.base.plugin_files import LOADED, REGISTRIES, execute
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS, Metric

ENTRY_POINTS = "fastmetrics.metrics"
"""The group of entry points whose modules declare metrics."""


def load_plugin(path: str | os.PathLike[str]) -> list[str]:
    """Run a Python file that declares metrics, tokenizers or model clients; return their names.

    It declares them with :func:`fastmetrics.metric`, :func:`fastmetrics.metrics.tokenizer` and
    :func:`fastmetrics.models.model_client`.  The metrics then work in ``fm.score`` and ``fm.summarize``, and as
    ``fm.<name>``, the clients as ``base_url="NAME:"``.  On the command line, use ``--plugin PATH``.  Ray and Spark
    workers receive the text of the file.  A file is run once; if the file has changed, it is run again and its
    declarations replace the earlier ones.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "mine.py")
    >>> lines = ["import fastmetrics as fm", "@fm.metric(bounds=(0, 1), better='higher')"]
    >>> lines += ["def ends_well(answer: str) -> float:", "    return float(answer.endswith('.'))"]
    >>> _ = file.write_text("\\n".join(lines))
    >>> fm.metrics.load_plugin(file), fm.ends_well(["Yes.", "No"]).tolist()
    (['ends_well'], [1.0, 0.0])

    Raises ``PluginError`` if the file cannot be read, fails or declares nothing, or if a name is already used.
    """
    if re.match("[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)):
        raise PluginError(f"plugin {os.fspath(path)}: expected a path on this machine, not an address")
    name = os.path.abspath(os.fspath(path))
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"plugin {os.fspath(path)}: cannot be read: {error}") from error
    registries: list[dict[str, Any]] = [REGISTRY, SPELLINGS, COLUMNS, *REGISTRIES]
    before = [dict(registry) for registry in registries]
    earlier = {module for module, (file, content) in LOADED.items() if file == name and content != text}
    for metric in [metric for metric in REGISTRY.values() if metric.function.__module__ in earlier]:
        forget(metric)
    for registry in REGISTRIES:
        for own in [own for own, function in registry.items() if function.__module__ in earlier]:
            del registry[own]
    replaced = {module: LOADED.pop(module) for module in earlier}
    try:
        module = execute(name, text)
    except BaseException:  # some of its metrics may already be declared
        for registry, entries in zip(registries, before, strict=True):
            registry.clear()
            registry.update(entries)
        LOADED.update(replaced)
        raise
    declared = [metric.name for metric in REGISTRY.values() if metric.function.__module__ == module]
    for registry in REGISTRIES:
        declared += [own for own, function in registry.items() if function.__module__ == module]
    if not declared:
        raise PluginError(
            f"plugin {os.fspath(path)}: it declares nothing; expected a function decorated with "
            "@fastmetrics.metric(...), @fastmetrics.metrics.tokenizer(...) or @fastmetrics.models.model_client(...)"
        )
    return declared


def forget(declared: Metric) -> None:
    """Remove a metric and its spellings from the registry."""
    del REGISTRY[declared.name]
    needed = {column for metric in REGISTRY.values() for column in metric.needs}
    for column in [column for column in declared.needs if column not in BUILT_IN | needed]:
        COLUMNS.pop(column, None)
    for spelling in [alias for alias, name in SPELLINGS.items() if name == declared.name]:
        del SPELLINGS[spelling]


def load_entry_points() -> None:
    """Import the modules of the entry point group ``fastmetrics.metrics`` of installed packages.

    Raises a ``PluginError`` that names the package if one fails.
    """
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist is not None else entry.name
            message = f"{type(error).__name__}: {error}"
            raise PluginError(f"package {package}: its metrics ({entry.value}) cannot be loaded: {message}") from error
