"""Parsing retrieval measures by the names of trec_eval, ir_measures and ranx.

``ndcg@10``, ``nDCG@10``, ``ndcg_cut_10`` and ``ndcg_cut.10`` are one measure; so are ``P@5``, ``P_5`` and
``precision@5``, ``AP`` and ``map``, ``RR@10`` and ``mrr@10``, ``RBP(p=0.8)`` and ``rbp.8``.  Letter case, hyphens and
underscores of a name do not matter.  Options go in brackets, ``AP(rel=2)@100``; ranx's suffix ``-l2`` is ``rel=2``.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fastmetrics.core.allowed_values import Allowed, of_hint, option
from fastmetrics.core.arrays import Flags, Floats
from fastmetrics.declaration import spec as specs
from fastmetrics.errors import OptionError, UnknownNameError
from fastmetrics.errors.messages import shown
from fastmetrics.errors.spelling import fold
from fastmetrics.retrieval import formulas as ranked
from fastmetrics.retrieval import measure_names as names
from fastmetrics.retrieval import trec_formulas as ranked_trec
from fastmetrics.retrieval.ids import frozen, offsets
from fastmetrics.retrieval.rankings import Judged


@dataclass(frozen=True)
class Family:
    """A formula and its properties.

    ``at`` is the option set by ``@``; ``needs`` defines the documents that make a query defined: "level" those at or
    above the relevance level, "gain" those with a positive grade, "" none; ``mean`` is how queries are combined.
    """

    formula: Callable[..., Floats]
    names: tuple[str, ...]
    at: str = ""
    needs: str = "level"
    mean: str = "arithmetic"
    fixed: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The user options, with their defaults."""
        given = inspect.signature(self.formula).parameters.values()
        return {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY and p.name not in self.fixed}

    @cached_property
    def allowed(self) -> dict[str, Allowed]:
        """The allowed values of each option."""
        hints = typing.get_type_hints(self.formula, include_extras=True)
        return {name: of_hint(hints[name]) for name in self.options}

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (self.formula.__doc__ or "").strip().split("\n")[0]


FAMILIES = (
    Family(ranked.ndcg, names.NDCG, "k", "gain"),
    Family(ranked.ndcg, ("ndcg_burges",), "k", "gain", fixed={"gain": "exponential"}),
    Family(ranked.dcg, ("dcg",), "k", "gain"),
    Family(ranked.ideal_dcg, ("ideal_dcg",), "k", "gain"),
    Family(ranked.reciprocal_rank, names.RECIPROCAL_RANK, "k"),
    Family(ranked.average_precision, names.AVERAGE_PRECISION, "k"),
    Family(ranked.precision, names.PRECISION, "k"),
    Family(ranked.recall, names.RECALL, "k"),
    Family(ranked.f1, names.F1, "k"),
    Family(ranked.success, names.HIT_RATE, "k"),
    Family(ranked.hits, ("hits", "num_rel_ret"), "k", mean="sum"),
    Family(ranked.r_precision, names.R_PRECISION, fixed={"share": 1.0}),
    Family(ranked.r_precision, ("Rprec_mult",), "share"),
    Family(ranked.bpref, ("bpref",)),
    Family(ranked.inferred_ap, ("infAP",)),
    Family(ranked.interpolated_precision, ("IPrec", "iprec_at_recall"), "recall"),
    Family(ranked.expected_reciprocal_rank, ("ERR",), "k", "gain"),
    Family(ranked.rank_biased_precision, ("RBP",), "k", "gain"),
    Family(ranked.rank_biased_residual, ("rbp_resid",), needs=""),
    Family(ranked.judged_share, ("judged",), "k", ""),
    Family(ranked.unjudged_share, ("unj", "unjudged"), "k", ""),
    Family(ranked.geometric_average_precision, ("gm_map",), mean="geometric"),
    Family(ranked.geometric_bpref, ("gm_bpref",), mean="geometric"),
    Family(ranked.num_retrieved, ("num_ret",), needs="", mean="sum"),
    Family(ranked.num_relevant, ("num_rel",), needs="", mean="sum"),
    Family(ranked.num_nonrelevant_retrieved, ("num_nonrel_judged_ret",), needs="", mean="sum"),
    Family(ranked_trec.relative_precision, ("relative_P", "set_relative_P", "SetRelP"), "k"),
    Family(ranked_trec.set_average_precision, ("set_map", "SetAP")),
    Family(ranked_trec.set_f, ("set_F",)),
    Family(ranked_trec.utility, ("utility",)),
    Family(ranked_trec.eleven_point_average, ("11pt_avg",)),
    Family(ranked_trec.binary_g, ("binG",)),
    Family(ranked_trec.g, ("G",), needs="gain"),
    Family(ranked_trec.ndcg_relevant, ("ndcg_rel",), needs="gain"),
    Family(ranked_trec.ndcg_levels, ("Rndcg",)),
)
"""Every measure; the first name of a family is its canonical name."""


_BY_NAME = {fold(name): family for family in FAMILIES for name in family.names}
_SYNONYMS = {"rel": "level", "relevance_level": "level", "cutoff": "k", "dcg": "gain", "persistence": "p"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}


@dataclass(frozen=True)
class Measure:
    """A family with its options, under the requested ``name``."""

    name: str
    family: Family
    options: dict[str, Any]
    judged_only: bool = False

    def __call__(self, judged: Judged, *, level: float = 1.0) -> Floats:
        """One value per query; ``level`` is the relevance level unless the measure sets its own."""
        options = self.family.fixed | self._leveled(level)
        return self.family.formula(only_judged(judged) if self.judged_only else judged, **options)

    def defined(self, judged: Judged, *, level: float = 1.0) -> Flags:
        """The queries for which the measure is defined: those with relevant documents, if it needs them."""
        least = {"level": self._leveled(level).get("level"), "gain": math.ulp(0.0), "": None}[self.family.needs]
        if least is None:
            return np.ones(judged.starts.size - 1, np.bool_)
        return ranked.relevant(judged, least) > 0

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
    fastmetrics.errors.UnknownNameError: unknown measure 'ncdg'; did you mean 'ndcg' or 'Rndcg'?
    >>> measure("RBP(p=2)")
    Traceback (most recent call last):
    fastmetrics.errors.OptionError: measure 'RBP(p=2)': option 'p' expects a number from 0 to 1, got 2

    Raises ``UnknownNameError`` for an unknown measure or option, ``OptionError`` for an invalid value.
    """
    spec = specs.read(text, lambda name: fold(name) in _BY_NAME, "measure")
    family = _BY_NAME.get(fold(spec.name))
    if family is None:
        aliases = {name: known.names[0] for known in FAMILIES for name in known.names}
        listing = "`fastmetrics metrics --rank` lists all"
        raise UnknownNameError.of("measure", spec.name, set(aliases.values()), (), aliases, listing)
    options: dict[str, Any] = {}
    for written, value in spec.options.items():
        name = _SYNONYMS.get(written, written)
        if name in options:
            raise OptionError(f"measure {shown(spec.text)}: expected option=value, each option once")
        options[name] = value
    if spec.level:
        options["level"] = int(spec.level)
    if spec.at:
        share = spec.mark == "." and "p" in family.options
        at = "p" if share else family.at
        if not at:
            raise OptionError(f"measure {shown(spec.text)}: {family.names[0]} takes no cut-off")
        options[at] = float("." + spec.at.lstrip(".")) if share else spec.cutoff
    judged_only = bool(options.pop("judged_only", False))
    for name in options:
        if name not in family.options:
            raise UnknownNameError.of(f"option of {family.names[0]}", name, family.options)
    for name, default in family.options.items():
        if default is inspect.Parameter.empty and name not in options:
            example = f"{family.names[0]}({name}=0.5)"
            raise OptionError(f"measure {shown(spec.text)} needs the option {name!r}, as in {example}")
    return Measure(
        text, family, {key: _checked(spec.text, family, key, value) for key, value in options.items()}, judged_only
    )


def measures(texts: str | Sequence[str]) -> list[Measure]:
    """The measures for a list of names, or for one text with commas.

    >>> [one.name for one in measures("ndcg@10, mrr,RBP(p=0.8)")]
    ['ndcg@10', 'mrr', 'RBP(p=0.8)']
    """
    names = re.split(r",(?![^(]*\))", texts) if isinstance(texts, str) else list(texts)
    found = [measure(name.strip()) for name in names]
    if not found:
        raise OptionError("expected at least one measure")
    for place, one in enumerate(found):
        if one.name in [other.name for other in found[:place]]:
            raise OptionError(f"measure {one.name!r} is requested twice")
    return found


def only_judged(judged: Judged) -> Judged:
    """The rankings without documents that have no judgement or a negative one."""
    kept = judged.grades >= 0.0
    before = offsets(kept.astype(np.int64))
    return Judged(frozen(judged.grades[kept]), frozen(before[judged.starts]), judged.ideal, judged.ideal_starts)


def _checked(text: str, family: Family, name: str, value: Any) -> Any:
    value = _GAINS.get(value, value) if name == "gain" and isinstance(value, str) else value
    return option(f"measure {shown(text)}", name, value, family.allowed[name])
