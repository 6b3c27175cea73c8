"""Nested dictionaries of plain values as TOML, which ``tomllib`` reads back as they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LINE = 116


def to_toml(values: Mapping[str, Any]) -> str:
    """The text of nested dictionaries; lists of dictionaries become arrays of tables, and None is left out.

    >>> print(to_toml({"name": "a", "features": [{"knots": [0.0, 0.5]}], "label": {"rows": 3, "group": None}}), end="")
    name = "a"
    <BLANKLINE>
    [[features]]
    knots = [0.0, 0.5]
    <BLANKLINE>
    [label]
    rows = 3
    """
    return "\n".join(_table(values, ())) + "\n"


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: its own values first, then the tables inside it."""
    inner = {key: value for key, value in values.items() if _is_table(value)}
    for key, value in values.items():
        if key not in inner and value is not None:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        whole = (*path, key)
        name = ".".join(map(_key, whole))
        tables = [value] if isinstance(value, Mapping) else value
        for table in tables:
            if isinstance(value, list | tuple) or not all(map(_is_table, table.values())):
                yield ""
                yield f"[[{name}]]" if isinstance(value, list | tuple) else f"[{name}]"
            yield from _table(table, whole)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(item, Mapping) for item in value)
    )


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else _text(key)


def _text(value: str) -> str:
    """A text in quotes; JSON's escapes are TOML's, except that of the character 127."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    return _list([_value(item) for item in value])


def _list(items: Sequence[str]) -> str:
    """The items on one line, or folded into several."""
    line = f"[{', '.join(items)}]"
    if len(line) <= _LINE:
        return line
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) + 2 > _LINE - 4:
            lines.append(current)
            current = ""
        current += f"{item}, " if current else f"    {item}, "
    lines.append(current)
    return "[\n" + "\n".join(line.rstrip() for line in lines) + "\n]"
