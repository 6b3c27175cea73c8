"""Specs: names with a cut-off and options, as in ``ndcg@10`` and ``squad_f1(version=2)``."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fastmetrics.base.errors import OptionError, shown

Side: TypeAlias = Literal["higher", "lower"]
Better: TypeAlias = Side | None
"""The direction of better scores; None if the value alone does not indicate quality."""

LONGEST = 100_000
"""Maximum characters of a spec; lists of phrases can be long."""

_FORM = re.compile(
    r"(?P<name>[\w+-]+?)"
    r"(?:(?P<mark>@|[._](?=[\d.]))(?P<at>(?:[0-9]*\.)?[0-9]+))?"
    r"(?:\((?P<options>.*)\))?"
    r"(?:@(?P<late>(?:[0-9]*\.)?[0-9]+))?"
    r"(?:-l(?P<level>[0-9]+))?",
    re.DOTALL,
)
_CUT = re.compile(r"[-_](?:at|cut)$", re.IGNORECASE)


@dataclass(frozen=True)
class Spec:
    """A parsed spec: a name; the cut-off ``at`` after its ``mark`` (``@``, ``_``, ``.``); options.

    ``level`` is ranx's suffix ``-l2``.
    """

    text: str
    name: str
    at: str = ""
    mark: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    level: str = ""

    @property
    def cutoff(self) -> int | float | None:
        """The number after the mark, if any."""
        return (float(self.at) if "." in self.at else int(self.at)) if self.at else None


def parse_spec(text: str, is_known: Callable[[str], bool], kind: str = "metric") -> Spec:
    """Parse a spec; ``is_known`` says whether a name is known, because a number may be part of a name.

    >>> parse_spec("nDCG_cut_10", lambda name: name.lower() == "ndcg").cutoff
    10
    >>> parse_spec("AP(rel=2)@100", lambda name: True).options
    {'rel': 2}

    Raises ``OptionError`` for a malformed spec.  The caller reports unknown names.
    """
    text = text.strip()
    form = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    if form is None or (form["at"] and form["late"]):
        raise OptionError(f"{kind} {shown(text)}: expected name, name@k or name(option=value, ...)")
    name, mark, at = form["name"], form["mark"] or "", form["at"] or ""
    if mark != "@" and is_known(name + mark + at):
        name, mark, at = name + mark + at, "", ""
    elif at and not is_known(name) and is_known(_CUT.sub("", name)):
        name = _CUT.sub("", name)
    elif mark != "@" and at and not is_known(name):
        name, mark, at = name + mark + at, "", ""
    if form["late"]:
        mark, at = "@", form["late"]
    if len(at) > _DIGITS:
        raise OptionError(f"{kind} {shown(text)}: the cut-off has {len(at):,} digits")
    return Spec(text, name, at, mark, _options(kind, text, form["options"]), form["level"] or "")


_DIGITS = 30


def _options(kind: str, text: str, inside: str | None) -> dict[str, Any]:
    """The options in brackets: numbers, strings and lists."""
    if not inside:
        return {}
    label = f"{kind} {shown(text)}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences, as in a regular expression
            call = ast.parse(f"f({inside})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # MemoryError: parser stack overflow
        raise OptionError(f"{label}: cannot read its options: {error.args[0] if error.args else 'nested'}") from error
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.keywords and not call.args):
        raise OptionError(f"{label}: expected option=value")
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in values:
            raise OptionError(f"{label}: expected option=value, each option once")
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            raise OptionError(f"{label}: {keyword.arg} expects a number, a 'string', or a list") from error
    return values
