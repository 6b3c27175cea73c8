"""Parsing rules for scores from text (``token_f1.p95 >= 0.6 where language=ru``) and from TOML files.

::

    rule      = [name] ["." reading] compare number ["%"] ["where" column "=" value {"," column "=" value}]
                ["with" condition {"," condition}]
    reading   = figure | bound | change
    figure    = mean | std | min | max | sum | trimmed | p0 … p100 | count | share
    count     = n | n_missing | n_undefined | n_unread | n_error | n_unpaired
    share     = share_missing | share_undefined | share_unread | share_error | share_unpaired
    bound     = low | high, also after trimmed or a percentile
    change    = delta | drop | delta.point | drop.point | equivalent | not_worse
    condition = "n >=" whole | "unpaired =" (worst | ignore)

A number with ``%`` is a share of 1; for a change it is a share of the baseline's value.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import Argument, FileFormatError, OptionError
from fastmetrics.stats.sums import TRIMMED
from fastmetrics.tables.input_files import read_text

BOUNDS = ("low", "high")
"""The bounds of an interval: of the mean, or after the name of a percentile, of that."""
MARGINS = ("equivalent", "not_worse")
"""The smallest margins that the rows show: of a change in either direction, and of a change for the worse."""
CHANGES = ("delta", "drop", "delta.point", "drop.point", *MARGINS)
"""Readings that compare the scores with a baseline: by the bound of the interval, or as it is."""
SHARES = {f"share_{what}": f"n_{what}" for what in ("missing", "undefined", "unread", "error", "unpaired")}
COUNTS = ("n", *SHARES.values())
READINGS = ("mean", "std", "min", "max", "sum", TRIMMED, *COUNTS, *SHARES, *BOUNDS, *CHANGES)
COMPARISONS = (">=", "<=", "==", ">", "<")

_END = "expected 'where column=value', 'with n >= number', 'with unpaired=ignore' or the end"
_EXPECTED_UNPAIRED = "expected unpaired=worst or unpaired=ignore"
UNPAIRED = ("worst", "ignore")
"""How rows without a score count in a rule."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?%?"
_COMPARE = "|".join(COMPARISONS)
_LIMIT = re.compile(rf"({_COMPARE})\s*({_NUMBER})(?=\s*$|\s+[^\W\d])")
_PERCENTILE = rf"(?:p(?:100|\d?\d(?:\.\d+)?)(?:\.low|\.high)?|{TRIMMED}\.(?:low|high)|at_\d{{1,3}})"
_READING = re.compile(rf"(.+?)\.({'|'.join(map(re.escape, READINGS))}|{_PERCENTILE})", re.DOTALL)
_CONDITION = r"(?:n\s*>=\s*\d[\d_]*(?:,\d{3})*|unpaired\s*=\s*[^\s,]+)"
_CONDITIONS = re.compile(rf"\s+with\s+({_CONDITION}(?:\s*,\s*{_CONDITION})*)\s*$")


@dataclass(frozen=True)
class Rule:
    """A rule for a figure of a metric; ``metric`` is None if every metric must meet it."""

    text: str
    metric: str | None
    reading: str | None
    """None: the mean, or the corpus metric or label with that name."""
    compare: str
    limit: float
    percent: bool = False
    """Whether the limit was written in per cent: of the baseline, for a change."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Columns and their values; ``*`` is every value."""
    least: int | None = None
    """The minimum number of rows with a score; None for the default of the call."""
    unpaired: str | None = None
    """How rows without a score count: ``worst`` or ``ignore``; None for the default of the call."""
    name: str | None = None

    @property
    def is_change(self) -> bool:
        """Whether the rule needs a baseline."""
        return self.reading in CHANGES

    @property
    def bound(self) -> str | None:
        """The bound that the rule reads of a mean or a percentile: ``low`` or ``high``."""
        last = (self.reading or "").rpartition(".")[2]
        return last if last in BOUNDS else None

    @property
    def figure(self) -> str | None:
        """The figure of the scores that the rule reads, or whose bound it reads; None if it names none."""
        return self.reading if self.bound is None else (self.reading or "").rpartition(".")[0] or "mean"

    @property
    def reads_interval(self) -> bool:
        """Whether the rule reads a bound of an interval."""
        return self.bound is not None or self.reading in ("delta", "drop", *MARGINS)

    @property
    def is_margin(self) -> bool:
        """Whether the rule tests equivalence, by one-sided tests at the level 1 − confidence."""
        return self.reading in MARGINS

    @property
    def is_directed(self) -> bool:
        """Whether the rule reads a change for the worse, by the direction of the metric."""
        return self.reading in ("drop", "drop.point", "not_worse")

    @property
    def point(self) -> str:
        """The reading of the change itself, without an interval."""
        return "drop.point" if self.is_directed else "delta.point"

    @property
    def is_count(self) -> bool:
        """Whether the rule reads a number or share of rows."""
        return self.reading in (*COUNTS, *SHARES)

    @property
    def several(self) -> bool:
        """Whether the rule covers each value of a column."""
        return "*" in self.where.values()

    @property
    def limit_text(self) -> str:
        """The limit as it is written: ``0.6``, ``2%``."""
        return f"{self.limit * 100:g}%" if self.percent else f"{self.limit:g}"

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

    >>> rule = parse_rule("token_f1.p95 >= 0.6 where language=ru with n >= 50, unpaired=ignore")
    >>> rule.metric, rule.reading, rule.compare, rule.limit, dict(rule.where), rule.least, rule.unpaired
    ('token_f1', 'p95', '>=', 0.6, {'language': 'ru'}, 50, 'ignore')
    >>> rule = parse_rule("drop <= 1%")
    >>> rule.metric, rule.reading, rule.limit, rule.percent
    (None, 'drop', 0.01, True)

    Raises an ``OptionError`` that shows the position of a syntax error.
    """
    comparison = _LIMIT.search(text)
    if comparison is None:
        raise _without_limit(text)
    metric, reading = _left_side(text, text[: comparison.start()])
    percent = comparison[2].endswith("%")
    limit = float(comparison[2].rstrip("%")) / (100 if percent else 1)
    if not math.isfinite(limit):
        raise _unreadable(text, comparison.start(2), "expected a finite number")
    if reading in MARGINS and comparison[1] not in ("<", "<="):
        raise _unreadable(
            text, comparison.start(1), f"expected < or <=, because {reading} is a margin that the rows show"
        )
    if reading == "equivalent" and limit <= 0:
        raise _unreadable(text, comparison.start(2), "expected a margin above 0")
    if comparison[1] == "==" and reading in ("delta", "drop"):
        way = f"{reading}.point reads the change itself"
        raise _unreadable(
            text, comparison.start(1), f"expected <, <=, > or >=, because {reading} is the bound of an interval; {way}"
        )
    where, least, unpaired = _conditions(text, comparison.end())
    return Rule(text.strip(), metric, reading, comparison[1], limit, percent, where, least, unpaired)


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


def _left_side(text: str, left: str) -> tuple[str | None, str | None]:
    """The metric and the reading before the comparison."""
    name = left.strip()
    if not name:
        raise _unreadable(text, 0, "expected a metric, as in token_f1.mean")
    if name[-1] in "=<>!~":
        raise _unreadable(text, len(left.rstrip()) - 1, f"expected one of {' '.join(COMPARISONS)}")
    if name in CHANGES:
        return None, name
    split = _READING.fullmatch(name)
    return (name, None) if split is None else (split[1], split[2])


def _conditions(text: str, start: int) -> tuple[dict[str, str], int | None, str | None]:
    """The conditions after the number: the rows of a rule, their minimum number, and how rows without a score count."""
    conditions_text, least, unpaired = text[start:], None, None
    conditions = _CONDITIONS.search(conditions_text)
    if conditions is not None:
        for condition in re.finditer(_CONDITION, conditions[1]):
            place = start + conditions.start(1) + condition.start()
            what, value = re.split(r"\s*>?=\s*", condition[0])
            if what == "n":
                least = int(re.sub("[,_]", "", value))
            else:
                unpaired = value
                if unpaired not in UNPAIRED:
                    raise _unreadable(text, place, _EXPECTED_UNPAIRED)
        conditions_text = conditions_text[: conditions.start()]
    if not conditions_text.strip():
        return {}, least, unpaired
    where = re.match(r"\s+where\s+", conditions_text)
    if where is None:
        place = start + len(conditions_text) - len(conditions_text.lstrip())
        raise _unreadable(text, place, _END)
    columns, place = {}, start + where.end()
    for piece in conditions_text[where.end() :].split(","):
        column, equals, value = piece.partition("=")
        if not (equals and column.strip() and value.strip()):
            raise _unreadable(text, place, "expected a column, = and a value")
        columns[column.strip()] = value.strip()
        place += len(piece) + 1
    return columns, least, unpaired


def _unreadable(text: str, place: int, expected: str) -> OptionError:
    return OptionError(f"rule {text!r}, character {place + 1}: {expected}\n  {text}\n  {' ' * place}^")


def parse_rules(rules: Sequence[str | Rule] | str) -> list[Rule]:
    """Parse several rules; raises ``OptionError`` if there are none."""
    if not isinstance(rules, Sequence) or not all(isinstance(rule, str | Rule) for rule in rules):
        raise OptionError(Argument("require", rules), ": expected a rule or a list of rules: 'token_f1.mean >= 0.6'")
    texts = [rules] if isinstance(rules, str) else list(rules)
    parsed = [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in texts]
    if not parsed:
        raise OptionError("no rule given; expected for example 'token_f1.mean >= 0.6'")
    return parsed


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a TOML file: ``require = ["token_f1 >= 0.6"]``, or tables ``[[rule]]``.

    A table has ``require`` and optionally ``name``, ``where`` (a table of columns and values), ``n``, the minimum
    number of rows, and ``unpaired``: ``worst`` or ``ignore``.  Raises ``FileFormatError`` for anything else.
    """
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not valid TOML: {error}") from error
    unknown = [key for key in document if key not in ("require", "rule")]
    if unknown:
        raise FileFormatError(f"{path}: {unknown[0]!r} is neither 'require' nor [[rule]]")
    texts, tables = document.get("require", []), document.get("rule", [])
    texts = [texts] if isinstance(texts, str) else texts
    if not (isinstance(texts, list) and isinstance(tables, list) and all(isinstance(text, str) for text in texts)):
        raise FileFormatError(f'{path}: expected require = ["token_f1 >= 0.6"] and tables [[rule]]')
    try:
        rules = [_of_table({"require": entry}) for entry in texts] + [_of_table(entry) for entry in tables]
    except OptionError as error:
        raise FileFormatError(f"{path}: {error}") from error
    if not rules:
        raise FileFormatError(f"{path}: contains no rules")
    return rules


def _of_table(table: Any) -> Rule:
    types: dict[str, Any] = {"require": str, "name": str, "where": dict, "n": int, "unpaired": str}
    if not isinstance(table, Mapping) or "require" not in table:
        raise OptionError(f'a rule needs require = "token_f1 >= 0.6", got {table!r}')
    for key, value in table.items():
        if key not in types or not isinstance(value, types[key]) or isinstance(value, bool):
            raise OptionError(f"rule {table['require']!r}: {key} = {value!r} is none of {', '.join(types)}")
    rule = parse_rule(table["require"])
    where = {**rule.where, **{str(column): str(value) for column, value in table.get("where", {}).items()}}
    least = rule.least if "n" not in table else max(rule.least or 0, table["n"])
    unpaired = table.get("unpaired", rule.unpaired)
    if unpaired not in (None, *UNPAIRED):
        raise OptionError(f"rule {rule.text!r}: unpaired = {table['unpaired']!r}: {_EXPECTED_UNPAIRED}")
    return replace(rule, where=where, least=least, unpaired=unpaired, name=table.get("name"))
