"""Tables and notes as HTML from templates shared by all pages: the display of results in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from fastmetrics.core.display.visible_text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(*folders: str) -> Environment:
    """Templates of these folders of the package and of those that all pages share; every value is escaped.

    Raises ``ImportError`` if Jinja2 is not installed.
    """
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("fastmetrics", folder) for folder in (*folders, "core/display/templates")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    env.filters["visible"] = visible
    return env


@cache
def _own() -> Environment | None:
    try:
        return environment()
    except ImportError:
        return None


def html_of(grids: Sequence[Any], notes: Sequence[str]) -> str | None:
    """The tables and notes as HTML without external resources; None if Jinja2 is not installed."""
    env = _own()
    if env is None:
        return None
    return env.get_template("result.html").render(grids=grids, notes=list(map(visible, notes)))
