"""What to score, worked out from names: metrics and suites asked for, columns found."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics import metrics as families
from fastmetrics.columns import COLUMNS, resolve
from fastmetrics.declare import Metric
from fastmetrics.errors import ColumnError, OptionError, UnknownNameError
from fastmetrics.lists import listed
from fastmetrics.metrics.semantic import from_text


@dataclass(frozen=True)
class Score:
    """One column to make: a metric with all its options, under the name that was asked for."""

    name: str
    metric: Metric
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What to score: the scores, where each canonical column is found, and the columns copied along."""

    scores: tuple[Score, ...]
    columns: Mapping[str, str]
    keep: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns of scores: one a row metric."""
        return [score.name for score in self.scores if score.metric.finish is None]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the user's table that the plan reads, each once."""
        used = [self.columns[c] for score in self.scores for c in score.metric.needs if c in self.columns]
        return tuple(dict.fromkeys([*self.keep, *used]))

    @property
    def shared(self) -> frozenset[str]:
        """The columns whose tokens several text conventions ask for."""
        asked: dict[str, set[str | None]] = defaultdict(set)
        for score in self.scores:
            for column, need in score.metric.needs.items():
                asked[column].add(getattr(need, "convention", None))
        return frozenset(column for column, conventions in asked.items() if len(conventions - {None}) > 1)


_SPEC = re.compile(r"(?P<name>[\w+]+)(@(?P<k>\w+))?(\((?P<options>.*)\))?", re.DOTALL)


def parse(spec: str) -> Score:
    """The score that ``spec`` asks for: ``name``, ``name@k`` or ``name(option=value, ...)``.

    >>> parse("squad_f1(version=2)").options
    {'version': 2}

    Raises ``UnknownNameError`` for a metric or option nobody knows, ``OptionError`` for a value it cannot take.
    """
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise OptionError(f"metric {spec!r}: expected name, name@k or name(option=value, ...)")
    found = families.find(match["name"])
    given: dict[str, Any] = {}
    if match["k"] is not None:
        if not match["k"].isdigit() or "k" not in found.defaults:
            raise OptionError(f"metric {spec!r}: {found.name} takes no cut-off {match['k']!r}")
        given["k"] = int(match["k"])
    if match["options"]:
        given.update(_options(spec, match["options"]))
    return Score(spec.strip(), found, found.options(given))


def _options(spec: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise OptionError(f"metric {spec!r}: cannot read its options: {error.args[0]}") from error
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.keywords and not call.args):
        raise OptionError(f"metric {spec!r}: expected option=value")
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in values:
            raise OptionError(f"metric {spec!r}: expected option=value, each option once")
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError as error:
            raise OptionError(f"metric {spec!r}: {keyword.arg} expects a number, a 'string', or a list") from error
    return values


def plan(
    present: Iterable[str],
    metrics: Sequence[str] | str | None = None,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] = (),
    suites: Sequence[str] | str = (),
    embedder: Any = None,
    cache: str | os.PathLike[str] | None = None,
) -> Plan:
    """How to score a table that has the columns ``present``.

    ``metrics`` are specs, in a list or separated by commas, and ``suites`` names of
    :data:`fastmetrics.metrics.SUITES`, each of which stands for its usual metrics whose columns exist; with neither, it
    is the suite ``core``.  ``embedder`` and ``cache`` are those of every
    metric that embeds text and does not name its own; with an ``embedder``, embeddings that the table lacks are made of
    its texts.  Raises ``ColumnError`` naming the column that
    a metric lacks, or if a suite finds none of its columns.
    """
    names = list(present)
    found = resolve(names, columns, schema)
    for name in keep:
        if name not in names:
            raise UnknownNameError.of("column", name, names)
    metrics, suites = listed(metrics), listed(suites)
    embedding = {"embedder": embedder, "cache": "" if cache is None else os.path.abspath(cache)}
    scores = [_embedding(parse(spec), found, embedding) for spec in metrics]
    for suite in suites if suites or metrics else ["core"]:
        usual = [Score(m.name, m, m.options({})) for m in families.suite(suite) if m.level == "row"]
        usual = [_embedding(score, found, embedding) for score in usual]
        able = [score for score in usual if set(score.metric.required) <= set(found)]
        if not able:
            some = "no metric" if suite in ("core", "all") else f"no metric of the suite {suite!r}"
            raise ColumnError(f"{some} can be computed from the columns {', '.join(map(repr, names)) or '(none)'}")
        asked = {score.name for score in scores}
        scores += [score for score in able if score.name not in asked]
    for score in scores:
        for column in score.metric.required:
            if column not in found:
                aliases = ", ".join(COLUMNS[column].aliases)
                also = f" (or {aliases})" if aliases else ""
                have = ", ".join(map(repr, names)) or "none"
                raise ColumnError(
                    f"{score.name} needs the column {column!r}{also}; the table has: {have}; "
                    f"name yours with columns={{{column!r}: ...}}"
                )
    if all(score.metric.finish is not None for score in scores):
        raise OptionError(f"{scores[0].name} is one value a table: ask for a row metric beside it")
    twice = {score.name for score in scores if [s.name for s in scores].count(score.name) > 1}
    if twice:
        raise OptionError(f"metrics asked for twice: {', '.join(sorted(twice))}")
    clash = [score.name for score in scores if score.name in keep]
    if clash:
        raise OptionError(f"cannot keep the column {clash[0]!r}: a metric has that name")
    return Plan(tuple(scores), found, tuple(keep))


def _embedding(score: Score, found: Mapping[str, str], given: Mapping[str, Any]) -> Score:
    """The score with the embedder and the cache ``given`` where it embeds text and names none of its own."""
    metric = score.metric if given["embedder"] is None else from_text(score.metric, found)
    if "embedder" not in metric.defaults:
        return score
    own = {name: value for name, value in score.options.items() if value}
    return Score(score.name, metric, {**metric.defaults, **given, **own})
