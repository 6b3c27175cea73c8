"""Running Python files that declare metrics and other functions as separate modules."""

from __future__ import annotations

import hashlib
import sys
import types
from typing import Any

from fastmetrics.base.errors import PluginError

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
