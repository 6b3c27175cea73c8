"""Data of a page as JSON in its ``<script>``, which no text of the data can end."""

from __future__ import annotations

import json
from typing import Any

from fastmetrics.base.display import strict


def embedded(value: Any) -> str:
    """JSON that may stand in a ``<script>``: no ``<``, ``>`` or ``&`` in it, NaN as null.

    >>> embedded({"text": "</script>"})
    '{"text":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(strict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
