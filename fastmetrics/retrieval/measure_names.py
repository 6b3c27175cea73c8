"""Parsing retrieval measures by the names of trec_eval, ir_measures and ranx.

``ndcg@10``, ``nDCG@10``, ``ndcg_cut_10`` and ``ndcg_cut.10`` are one measure; so are ``P@5``, ``P_5`` and
``precision@5``, ``AP`` and ``map``, ``RR@10`` and ``mrr@10``, ``RBP(p=0.8)`` and ``rbp.8``.  Letter case, hyphens and
underscores of a name do not matter.  Options go in brackets, ``AP(rel=2)@100``; ranx's suffix ``-l2`` is ``rel=2``.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base import specs
from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import OptionError, UnknownNameError, fold, shown
from fastmetrics.base.options import Flag, option
from fastmetrics.retrieval import formulas as ranked
from fastmetrics.retrieval.measure_families import FAMILIES, UNSUPPORTED, Family
from fastmetrics.retrieval.rankings import GradedRankings, frozen, offsets

_BY_NAME = {fold(name): family for family in FAMILIES for name in family.names}
_UNSUPPORTED = {fold(name): reason for name, reason in UNSUPPORTED.items()}
_SYNONYMS = {"rel": "level", "relevance_level": "level", "cutoff": "k", "dcg": "gain", "persistence": "p"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}
_JUDGED_ONLY = "judged_only"
"""The option of every measure that ignores documents without a judgement."""


@dataclass(frozen=True)
class Measure:
    """A family with its options, under the requested ``name``."""

    name: str
    family: Family
    options: dict[str, Any]
    judged_only: bool = False

    def __call__(self, judged: GradedRankings, *, level: float = 1.0) -> Floats:
        """One value per query; ``level`` is the relevance level unless the measure sets its own."""
        options = self.family.fixed | self._leveled(level)
        return self.family.formula(only_judged(judged) if self.judged_only else judged, **options)

    def defined(self, judged: GradedRankings, *, level: float = 1.0) -> Flags:
        """The queries with the relevant documents that the measure needs; all for one that needs none."""
        needs, options = self.family.needs, self._leveled(level)
        if needs == "level" or (needs == "gain" and options.get("level") is not None):
            return ranked.relevant(judged, options["level"]) > 0
        if needs == "gain":
            return ranked.have_gain(judged, options.get("gains"))
        return np.ones(judged.starts.size - 1, np.bool_)

    def _leveled(self, level: float) -> dict[str, Any]:
        return {"level": level} | self.options if self.family.options.get("level") == 1.0 else self.options

    def over(self, values: Floats) -> float:
        """The combined value of the queries: mean, sum or geometric mean, independent of their order."""
        if not values.size:
            return math.nan
        if self.family.mean == "geometric":
            return math.exp(math.fsum(np.log(values).tolist()) / values.size)
        total = math.fsum(values.tolist())
        return total if self.family.mean == "sum" else total / values.size


def measure(text: str) -> Measure:
    """The measure for ``text``.

    >>> measure("nDCG@10").options
    {'k': 10}
    >>> measure("RBP(p=0.8)").options, measure("rbp.8").options, measure("Rprec").family.names[0]
    ({'p': 0.8}, {'p': 0.8}, 'Rprec')
    >>> measure("ncdg@10")
    Traceback (most recent call last):
    fastmetrics.base.errors.UnknownNameError: unknown measure 'ncdg'; did you mean 'ndcg' or 'Rndcg'?
    >>> measure("RBP(p=2)")
    Traceback (most recent call last):
    fastmetrics.base.errors.OptionError: measure 'RBP(p=2)': option 'p' expects a number from 0 to 1, or None, got 2

    Raises ``UnknownNameError`` for an unknown measure or option, ``OptionError`` for an invalid value.
    """
    spec = specs.parse_spec(text, lambda name: fold(name) in _BY_NAME, "measure")
    family = _BY_NAME.get(fold(spec.name))
    if family is None:
        raise _unknown(spec.name)
    values = dict(spec.options)
    if spec.level:
        _add(spec, values, "rel", int(spec.level))
    if spec.at:
        share = spec.mark == "." and "p" in family.options
        at = "p" if share else family.at
        if not at:
            raise OptionError(f"measure {shown(spec.text)}: {family.names[0]} takes no cut-off")
        _add(spec, values, at, float("." + spec.at.lstrip(".")) if share else spec.cutoff)
    judged_only = option(f"measure {shown(spec.text)}", _JUDGED_ONLY, values.pop(_JUDGED_ONLY, False), Flag())
    options: dict[str, Any] = {}
    for written, value in values.items():
        name = _SYNONYMS.get(written, written)
        if name not in family.options:
            raise UnknownNameError.of(f"option of {family.names[0]}", written, [*family.options, _JUDGED_ONLY])
        _add(spec, options, name, _checked(spec, family, written, name, value))
    for name, default in family.options.items():
        if default is inspect.Parameter.empty and name not in options:
            example = f"{family.names[0]}({name}=0.5)"
            raise OptionError(f"measure {shown(spec.text)} needs the option {name!r}, as in {example}")
    if options.get("gains") and (family.fixed | options).get("gain") == "exponential":
        raise OptionError(
            f"measure {shown(spec.text)}: 'gains' replaces the gains of grades, so it cannot be combined with "
            "exponential gains; write the gains themselves"
        )
    return Measure(text, family, options, judged_only)


def measures(texts: str | Sequence[str]) -> list[Measure]:
    """The measures for a list of names, or for one text with commas.

    >>> [one.name for one in measures("ndcg@10, mrr,RBP(p=0.8)")]
    ['ndcg@10', 'mrr', 'RBP(p=0.8)']
    """
    names = re.split(r",(?![^(]*\))", texts) if isinstance(texts, str) else list(texts)
    parsed = [measure(name.strip()) for name in names]
    if not parsed:
        raise OptionError("expected at least one measure")
    for place, item in enumerate(parsed):
        if item.name in [other.name for other in parsed[:place]]:
            raise OptionError(f"measure {item.name!r} is requested twice")
    return parsed


def only_judged(judged: GradedRankings) -> GradedRankings:
    """The rankings without documents that have no judgement or a negative one."""
    mask = judged.grades >= 0.0
    before = offsets(mask.astype(np.int64))
    return GradedRankings(frozen(judged.grades[mask]), frozen(before[judged.starts]), judged.ideal, judged.ideal_starts)


def _unknown(name: str) -> UnknownNameError:
    if fold(name) in _UNSUPPORTED:
        return UnknownNameError(f"measure {shown(name)} is not supported: {_UNSUPPORTED[fold(name)]}")
    aliases = {alias: family.names[0] for family in FAMILIES for alias in family.names}
    listing = "`fastmetrics metrics --rank` lists all"
    return UnknownNameError.of("measure", name, set(aliases.values()), (), aliases, listing)


def _add(spec: specs.Spec, options: dict[str, Any], name: str, value: Any) -> None:
    if name in options:
        raise OptionError(f"measure {shown(spec.text)}: expected option=value, each option once")
    options[name] = value


def _checked(spec: specs.Spec, family: Family, written: str, name: str, value: Any) -> Any:
    value = _GAINS.get(value, value) if name == "gain" and isinstance(value, str) else value
    return option(f"measure {shown(spec.text)}", written, value, family.allowed[name])
