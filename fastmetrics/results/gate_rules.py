"""Parsing rules for scores from text (``token_f1.p95 >= 0.6 where language=ru``) and from TOML files.

::

    rule   = [name] ["." figure] compare number ["where" column "=" value {"," column "=" value}] ["with n >=" whole]
    figure = mean | std | min | max | p0 … p100 | n | n_missing | n_undefined | n_error
           | share_missing | share_undefined | share_error | delta | drop
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fastmetrics.errors import FileFormatError, OptionError

RELATIVE = ("delta", "drop")
"""Figures that compare the scores with a baseline."""
SHARES = {"share_missing": "n_missing", "share_undefined": "n_undefined", "share_error": "n_error"}
FIGURES = ("mean", "std", "min", "max", "n", "n_missing", "n_undefined", "n_error", *SHARES, *RELATIVE)
COMPARISONS = (">=", "<=", "==", ">", "<")

_END = "expected 'where column=value' or 'with n >= number' or the end"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?"
_COMPARE = "|".join(COMPARISONS)
_LIMIT = re.compile(rf"({_COMPARE})\s*({_NUMBER})(?=\s*$|\s+[^\W\d])")
_FIGURE = re.compile(rf"(.+)\.({'|'.join(FIGURES)}|p(?:100|\d?\d(?:\.\d+)?))", re.DOTALL)


@dataclass(frozen=True)
class Rule:
    """A rule for a figure of a metric; ``metric`` is None if every metric must meet it."""

    text: str
    metric: str | None
    figure: str | None
    """None: the mean, or the corpus metric or label with that name."""
    compare: str
    limit: float
    where: Mapping[str, str] = field(default_factory=dict)
    """Columns and their values; ``*`` is every value."""
    least: int = 1
    """The minimum number of rows with a score."""
    name: str | None = None

    @property
    def relative(self) -> bool:
        """Whether the rule needs a baseline."""
        return self.figure in RELATIVE

    def met(self, value: float) -> bool:
        """Whether a value meets the rule; NaN does not."""
        return {
            ">=": value >= self.limit,
            "<=": value <= self.limit,
            "==": value == self.limit,
            ">": value > self.limit,
            "<": value < self.limit,
        }[self.compare]


def parse_rule(text: str) -> Rule:
    """Parse a rule.

    >>> rule = parse_rule("token_f1.p95 >= 0.6 where language=ru with n >= 50")
    >>> rule.metric, rule.figure, rule.compare, rule.limit, dict(rule.where), rule.least
    ('token_f1', 'p95', '>=', 0.6, {'language': 'ru'}, 50)
    >>> parse_rule("drop <= 1%").limit
    0.01

    Raises an ``OptionError`` that shows the position of a syntax error.
    """
    found = _LIMIT.search(text)
    if found is None:
        raise _without_limit(text)
    metric, figure = _named(text, text[: found.start()])
    limit = float(found[2].rstrip("%")) / (100 if found[2].endswith("%") else 1)
    if not math.isfinite(limit):
        raise _unreadable(text, found.start(2), "expected a finite number")
    where, least = _conditions(text, found.end())
    return Rule(text.strip(), metric, figure, found[1], limit, where, least)


def _without_limit(text: str) -> OptionError:
    """The error message for a rule without a comparison with a number."""
    compare = re.search(_COMPARE, text)
    if compare is None:
        return _unreadable(text, len(text.rstrip()), f"expected one of {' '.join(COMPARISONS)}")
    number = re.compile(r"\s*").match(text, compare.end())
    place = compare.end() if number is None else number.end()
    whole = re.compile(_NUMBER).match(text, place)
    if whole is None:
        return _unreadable(text, place, "expected a number")
    return _unreadable(text, whole.end(), _END)


def _named(text: str, left: str) -> tuple[str | None, str | None]:
    """The metric and the figure before the comparison."""
    name = left.strip()
    if not name:
        raise _unreadable(text, 0, "expected a metric, as in token_f1.mean")
    if name[-1] in "=<>!~":
        raise _unreadable(text, len(left.rstrip()) - 1, f"expected one of {' '.join(COMPARISONS)}")
    split = _FIGURE.fullmatch(name)
    if split is not None:
        return split[1], split[2]
    return (None, name) if name in RELATIVE else (name, None)


def _conditions(text: str, start: int) -> tuple[dict[str, str], int]:
    """The conditions after the number: the rows of a rule, and their minimum number."""
    rest = text[start:]
    least = re.search(r"\s+with\s+n\s*>=\s*(\d[\d,_]*)\s*$", rest)
    if least is not None:
        rest = rest[: least.start()]
    if not rest.strip():
        return {}, int(re.sub("[,_]", "", least[1])) if least else 1
    where = re.match(r"\s+where\s+", rest)
    if where is None:
        place = start + len(rest) - len(rest.lstrip())
        raise _unreadable(text, place, _END)
    found, place = {}, start + where.end()
    for piece in rest[where.end() :].split(","):
        column, equals, value = piece.partition("=")
        if not (equals and column.strip() and value.strip()):
            raise _unreadable(text, place, "expected a column, = and a value")
        found[column.strip()] = value.strip()
        place += len(piece) + 1
    return found, int(re.sub("[,_]", "", least[1])) if least else 1


def _unreadable(text: str, place: int, expected: str) -> OptionError:
    return OptionError(f"rule {text!r}, character {place + 1}: {expected}\n  {text}\n  {' ' * place}^")


def parse_rules(rules: Sequence[str | Rule] | str) -> list[Rule]:
    """Parse several rules; raises ``OptionError`` if there are none."""
    given = [rules] if isinstance(rules, str) else list(rules)
    found = [one if isinstance(one, Rule) else parse_rule(one) for one in given]
    if not found:
        raise OptionError("no rule given; expected for example 'token_f1.mean >= 0.6'")
    return found


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a TOML file: ``require = ["token_f1 >= 0.6"]``, or tables ``[[rule]]``.

    A table has ``require`` and optionally ``name``, ``where`` (a table of columns and values) and ``n``, the minimum
    number of rows.  Raises ``FileFormatError`` for anything else.
    """
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path}: not valid TOML: {error}") from error
    unknown = [key for key in found if key not in ("require", "rule")]
    if unknown:
        raise FileFormatError(f"{path}: {unknown[0]!r} is neither 'require' nor [[rule]]")
    texts, tables = found.get("require", []), found.get("rule", [])
    texts = [texts] if isinstance(texts, str) else texts
    if not (isinstance(texts, list) and isinstance(tables, list) and all(isinstance(one, str) for one in texts)):
        raise FileFormatError(f'{path}: expected require = ["token_f1 >= 0.6"] and tables [[rule]]')
    try:
        rules = [_of_table({"require": one}) for one in texts] + [_of_table(one) for one in tables]
    except OptionError as error:
        raise FileFormatError(f"{path}: {error}") from error
    if not rules:
        raise FileFormatError(f"{path}: contains no rules")
    return rules


def _of_table(table: Any) -> Rule:
    known = {"require": str, "name": str, "where": dict, "n": int}
    if not isinstance(table, Mapping) or "require" not in table:
        raise OptionError(f'a rule needs require = "token_f1 >= 0.6", got {table!r}')
    for key, value in table.items():
        if key not in known or not isinstance(value, known[key]):
            raise OptionError(f"rule {table['require']!r}: {key} = {value!r} is none of {', '.join(known)}")
    rule = parse_rule(table["require"])
    where = {**rule.where, **{str(column): str(value) for column, value in table.get("where", {}).items()}}
    return replace(rule, where=where, least=max(rule.least, table.get("n", 1)), name=table.get("name"))
