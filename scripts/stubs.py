"""The type stub of the public names: what editors complete and type checkers read, from the declarations themselves."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from typing import Any

import fastmetrics as fm
from fastmetrics.base.options import Choice
from fastmetrics.metrics.metric import REGISTRY, Formula, Metric
from fastmetrics.metrics.suites import functions

HEADER = '''"""Public names of fastmetrics.  Written by scripts/docs.py from the declarations; edit those."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
'''

NAMES = '''
__version__: str
HOMES: dict[str, str]
EXCEPTIONS: tuple[str, ...]
MODULES: tuple[str, ...]

def public_names() -> list[str]: ...

Column: TypeAlias = Any
"""A column: an Arrow array, a NumPy array, a pandas or Polars series, or a list with one value a row."""
'''


def stub() -> str:
    """The text of ``fastmetrics/__init__.pyi``."""
    metrics = [REGISTRY[name] for name in functions()]
    imports = [f"from fastmetrics.{home} import {name} as {name}" for name, home in fm.HOMES.items()]
    imports += [f"from fastmetrics.scoring.frames import {name} as {name}" for name in fm.MODULES]
    imports += [f"from fastmetrics.base.errors import {name} as {name}" for name in fm.EXCEPTIONS]
    finishes = [_number(metric.corpus.finish) for metric in metrics if metric.corpus is not None]
    imports += [f"from {_home(finish)} import {_returned(finish)}" for finish in finishes]
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in fm.public_names()) + "]\n"
    return "\n".join([HEADER, *sorted(imports), "", listed + NAMES, *map(_function, metrics)])


def _function(metric: Metric) -> str:
    """The signature of a metric called with raw columns, and the first line of its docstring."""
    columns = [f"{name}: Column" + (" = None" if name in metric.optional else "") for name in metric.needs]
    hints = typing.get_type_hints(metric.function)
    options = [
        f"{name}: {_annotation(metric.allowed[name], hints[name])} = {_default(default)}"
        for name, default in metric.defaults.items()
    ]
    parameters = ", ".join([*columns, "*", *options, "threads: int | None = None"])
    result = "NDArray[np.float64]" if metric.corpus is None else _returned(_number(metric.corpus.finish))
    raw = "r" if "\\" in metric.summary else ""
    return f'def {metric.name}({parameters}) -> {result}:\n    {raw}"""{metric.summary}"""\n'


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
