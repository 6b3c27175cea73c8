"""Running Python files that declare metrics and other functions as separate modules, and the functions in them."""

from __future__ import annotations

import hashlib
import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, OptionError, PluginError

LOADED: dict[str, tuple[str, str]] = {}
"""The path and text of each file, by the name of its module."""


REGISTRIES: list[dict[str, Any]] = []
"""The functions that files may declare besides metrics, by name: each registry adds itself."""


def execute(path: str, text: str) -> str:
    """Run the text of a file as a module, once; returns the module's name.

    Raises ``PluginError`` if it fails.
    """
    name = "fastmetrics_plugin_" + hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:16]
    if name in LOADED:
        return name
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    LOADED[name] = (path, text)
    try:
        exec(compile(text, path, "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name], LOADED[name]
        if isinstance(error, PluginError) or not isinstance(error, Exception):
            raise
        raise PluginError(f"plugin {path}: {type(error).__name__}: {error}") from error
    return name


def function_in(named: str, option: str) -> Callable[..., Any]:
    """The function that an option names as ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION``.

    Raises ``OptionError`` for one that cannot be imported or that is not there.
    """
    place, _, name = named.rpartition(":")
    try:
        if place.endswith(".py"):
            module = sys.modules[execute(str(Path(place).absolute()), Path(place).read_text("utf-8"))]
        else:
            sys.path.append("")  # last: a file beside the data has no name of a module that is installed
            module = importlib.import_module(place)
    except (ImportError, OSError, ValueError) as error:
        raise OptionError(Argument(option, named), f": cannot be imported: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise OptionError(Argument(option, named), f": {place} has no function {name!r}")
    return function
