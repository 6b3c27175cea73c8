"""Rendering the self-contained page from templates; its content security policy blocks all other resources."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastmetrics.base.display import cell, environment, number, p_value
from fastmetrics.base.errors import MissingExtraError, visible
from fastmetrics.base.notes import mark_of, weighty_first
from fastmetrics.reporting.labels import figures, headed, plural_form, written
from fastmetrics.reporting.report_options import embedded, label
from fastmetrics.results.comparison_result import bounds, signed

if TYPE_CHECKING:
    from jinja2 import Environment

STYLES = ("base.css", "tables.css", "rows.css")
_PARTS = (
    "start",
    "address",
    "word_diff",
    "table",
    "rendering",
    "row_labels",
    "detail",
    "sorting",
    "systems",
    "sources",
    "rows_out",
    "rows",
    "svg",
    "chart_files",
    "charts",
    "points",
    "pages",
)
SCRIPTS = tuple(f"{name}.js" for name in _PARTS)
"""The parts of the page's script, in order."""


def rendered(parts: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The page from the parts for its templates and the data for its script."""
    opening, own = _static("inflate.js"), "\n".join(_static(name) for name in SCRIPTS)
    packed = visible(embedded({**data, "script": own})).encode()
    deflated = base64.b64encode(zlib.compress(packed, 9)).decode()
    shards = " 'self' file:" if data["all"] else ""
    policy = (
        f"default-src 'none'; script-src {_digest(opening)} {_digest(own)}{shards}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    page = _environment(parts["language"]).get_template("report.html")
    styles = "\n".join(_static(name) for name in STYLES)
    return visible(page.render(**parts, policy=policy, styles=styles, script=opening, data=deflated, size=len(packed)))


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _static(name: str) -> str:
    """The text of a style or script, without its indentation and lines of comments, to keep the page small."""
    text = files("fastmetrics.reporting").joinpath("static", name).read_text(encoding="utf-8")
    return "\n".join(line for line in map(str.strip, text.splitlines()) if line and not line.startswith("//"))


@cache
def _environment(language: str) -> Environment:
    """The templates of pages in a language; raises ``MissingExtraError`` if Jinja2 is not installed."""
    try:
        templates = environment("reporting/templates")
    except ImportError as error:
        raise MissingExtraError.of("jinja2", "report") from error
    templates.filters |= {"number": lambda value: figures(number(value), language)}
    templates.filters |= {"figures": partial(figures, language=language), "written": written}
    templates.filters |= {"spark": spark, "label": label, "template": templates.from_string}
    templates.filters |= {"signed": lambda value: figures(signed(value), language), "bounds": bounds, "p": p_value}
    templates.filters |= {"mark": mark_of, "weighty_first": weighty_first, "cell": cell}
    # the name as it stands on a page that shows a metric at several cut-offs as one
    templates.filters |= {"headed": headed, "form": plural_form, "family": lambda name: name.partition("@")[0]}
    return templates


def spark(counts: list[int]) -> str:
    """The path of a histogram's outline in a box of 100 × 24.

    >>> spark([1, 2])
    'M0 24V12H50V0H100V24Z'
    """
    most = max(counts, default=0) or 1
    width = 100 / max(1, len(counts))
    steps = "".join(f"V{24 - 24 * count / most:.3g}H{(place + 1) * width:.4g}" for place, count in enumerate(counts))
    return f"M0 24{steps}V24Z"
