"""The type stubs of the public names: what type checkers read, from the declarations themselves."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from typing import Any

from fastmetrics.base.options import Choice
from fastmetrics.base.public_names import CAUGHT, IN_ROOMS, MODULES, VERBS
from fastmetrics.metrics.metric import REGISTRY, Formula, Metric
from fastmetrics.metrics.suites import functions

NOTE = '"""Written by scripts/docs.py from the declarations; edit those."""\n'
HEADER = f"""{NOTE}
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
"""

COLUMN = """
__version__: str

Column: TypeAlias = Any
"""


def stubs() -> dict[str, str]:
    """The stub of the package and of each room with public names, by its path."""
    rooms: dict[str, list[str]] = {}
    for name, home in sorted(IN_ROOMS.items()):
        rooms.setdefault(home.partition(".")[0], []).append(_import(name, home))
    texts = {f"fastmetrics/{room}/__init__.pyi": "\n".join([NOTE, *imports, ""]) for room, imports in rooms.items()}
    return texts | {"fastmetrics/__init__.pyi": package_stub(sorted([*rooms, "text"]))}


def package_stub(rooms: list[str]) -> str:
    """The text of ``fastmetrics/__init__.pyi``."""
    metrics = [REGISTRY[name] for name in functions()]
    imports = {_import(name, home) for name, home in VERBS.items()}
    imports |= {f"from fastmetrics import {room} as {room}" for room in rooms}
    imports |= {f"from fastmetrics.{home.rpartition('.')[0]} import {name} as {name}" for name, home in MODULES.items()}
    imports |= {_import(name, "base.errors") for name in CAUGHT}
    finishes = [_number(metric.corpus.finish) for metric in metrics if metric.corpus is not None]
    imports |= {f"from {_home(finish)} import {_returned(finish)}" for finish in finishes}
    return "\n".join([HEADER, *sorted(imports), COLUMN, *map(_function, metrics), ""])


def _import(name: str, home: str) -> str:
    return f"from fastmetrics.{home} import {name} as {name}"


def _function(metric: Metric) -> str:
    """The signature of a metric called with raw columns."""
    columns = [f"{name}: Column" + (" = None" if name in metric.optional else "") for name in metric.needs]
    hints = typing.get_type_hints(metric.function)
    options = [
        f"{name}: {_annotation(metric.allowed[name], hints[name])} = {_default(default)}"
        for name, default in metric.defaults.items()
    ]
    options += [f"{name}: Sequence[str] | str | None = None" for name in metric.text_options]
    parameters = ", ".join([*columns, "*", *options, "threads: int | None = None"])
    result = "NDArray[np.float64]" if metric.corpus is None else _returned(_number(metric.corpus.finish))
    return f"def {metric.name}({parameters}) -> {result}: ..."


def _annotation(allowed: Any, hint: Any) -> str:
    """The type of an option: the values themselves if they are few."""
    if isinstance(allowed, Choice):
        return f"Literal[{', '.join(map(repr, allowed.values))}]"
    if typing.get_origin(hint) is tuple:
        return f"Sequence[{typing.get_args(hint)[0].__name__}]"
    return hint.__name__ if isinstance(hint, type) else re.sub(r"(typing|collections\.abc)\.", "", str(hint))


def _default(value: Any) -> str:
    """The default, unless it is long."""
    return repr(value) if len(repr(value)) < 20 else "..."


def _number(finish: Any) -> Any:
    """What makes one value: the function itself, or that of a formula, which knows another for many."""
    return finish.of if isinstance(finish, Formula) else finish


def _home(finish: Any) -> str:
    """The module of what a corpus metric returns, which its own module may import only for type checkers."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[finish.__module__])))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    homes = [node.module for node in imports if _returned(finish) in [alias.name for alias in node.names]]
    return str(homes[0] if homes else finish.__module__)


def _returned(finish: Any) -> str:
    return str(inspect.signature(finish).return_annotation)
