"""Templates of prompts: texts with the columns of a row in braces, such as ``{question}``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastmetrics.base.input_columns import COLUMNS

_NAME = r"[^\W\d][\w .-]*"
_PLACEHOLDER = re.compile(rf"\{{\{{(?P<literal>{_NAME})\}}\}}|\{{(?P<name>{_NAME})\}}")


def split_template(template: str) -> list[str]:
    """A template split at its placeholders: text, column, text, and so on; ``{{name}}`` is the text ``{name}``.

    A name starts with a letter; other braces, as in JSON, are text.

    >>> split_template('{question} in {{braces}}, as {"json": 1}: {contexts}')
    ['', 'question', ' in {braces}, as {"json": 1}: ', 'contexts', '']
    """
    pieces, end = [""], 0
    for match in _PLACEHOLDER.finditer(template):
        pieces[-1] += template[end : match.start()]
        if match["name"] is None:
            pieces[-1] += f"{{{match['literal']}}}"
        else:
            pieces += [match["name"], ""]
        end = match.end()
    pieces[-1] += template[end:]
    return pieces


def text_of(value: Any, missing: str = "") -> str:
    """The text of a value in a prompt: several values of a list are numbered from 1; ``missing`` stands for null.

    >>> text_of(["a", "b"]), text_of(["a"]), text_of(2.5), text_of(True)
    ('[1] a\\n[2] b', 'a', '2.5', 'true')
    """
    if value is None:
        return missing
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [text_of(item) for item in value]
        return texts[0] if len(texts) == 1 else "\n".join(f"[{place}] {text}" for place, text in enumerate(texts, 1))
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def columns_of(placeholders: Iterable[str], resolved: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The user's column of each placeholder, a canonical name or a name of the table; unknown ones are left out."""
    return {name: resolved.get(name, name) for name in placeholders if name in resolved or name in names}


def kind_of(placeholder: str) -> str:
    """The kind of a placeholder's column: text, text that may be in lists, or anything."""
    column = COLUMNS.get(placeholder)
    return column.kind if column is not None and column.kind in ("text", "texts") else "any"


def values_of(column: Any) -> list[Any]:
    """The values of an Arrow column; an empty list and NaN are missing, as null is."""
    return [None if value == [] or value != value else value for value in column.to_pylist()]  # noqa: PLR0124 - NaN
