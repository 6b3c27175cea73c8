"""The families of retrieval measures: formulas, their names, and how queries are combined."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fastmetrics.core.allowed_values import Allowed, description_of, of_hint
from fastmetrics.core.arrays import Floats
from fastmetrics.declaration.metric import Better
from fastmetrics.retrieval import formulas as ordered
from fastmetrics.retrieval import formulas as ranked
from fastmetrics.retrieval import formulas as ranked_trec
from fastmetrics.retrieval import measure_names as names


@dataclass(frozen=True)
class Family:
    """A formula and its properties.

    ``at`` is the option set by ``@``; ``needs`` defines the documents that make a query defined: "level" those at or
    above the relevance level, "gain" those with a positive gain, "pairs" a retrieved relevant and another retrieved
    document (the formula returns NaN without them), "" none; ``mean`` is how queries are combined; ``better`` is the
    direction of better runs, None for plain counts.
    """

    formula: Callable[..., Floats]
    names: tuple[str, ...]
    at: str = ""
    needs: str = "level"
    mean: str = "arithmetic"
    better: Better = "higher"
    fixed: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The user options, with their defaults."""
        parameters = inspect.signature(self.formula).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in self.fixed}

    @cached_property
    def allowed(self) -> dict[str, Allowed]:
        """The allowed values of each option."""
        hints = typing.get_type_hints(self.formula, include_extras=True)
        return {name: of_hint(hints[name]) for name in self.options}

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """The description of each option."""
        hints = typing.get_type_hints(self.formula, include_extras=True)
        return {name: description_of(hints[name]) for name in self.options}

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, and the options that the name sets."""
        defaults = inspect.signature(self.formula).parameters
        fixed = [f"{name}={value!r}" for name, value in self.fixed.items() if value != defaults[name].default]
        first = (self.formula.__doc__ or "").strip().split("\n")[0]
        return f"{first}  With {', '.join(fixed)}." if fixed else first


FAMILIES = (
    Family(ranked.ndcg, names.NDCG, "k", "gain"),
    Family(ranked.ndcg, ("ndcg_burges",), "k", "gain", fixed={"gain": "exponential", "gains": None}),
    Family(ranked.dcg, ("dcg",), "k", "gain"),
    Family(ranked.ideal_dcg, ("ideal_dcg",), "k", "gain", better=None),
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
    Family(ranked.rank_biased_residual, ("rbp_resid",), needs="", better="lower"),
    Family(ranked.judged_share, ("judged",), "k", ""),
    Family(ranked.unjudged_share, ("unj", "unjudged"), "k", "", better="lower"),
    Family(ranked.geometric_average_precision, ("gm_map",), mean="geometric"),
    Family(ranked.geometric_bpref, ("gm_bpref",), mean="geometric"),
    Family(ranked.num_queries, ("num_q",), needs="", mean="sum", better=None),
    Family(ranked.num_retrieved, ("num_ret",), needs="", mean="sum", better=None),
    Family(ranked.num_relevant, ("num_rel",), needs="", mean="sum", better=None),
    Family(ranked.num_nonrelevant_retrieved, ("num_nonrel_judged_ret",), needs="", mean="sum", better="lower"),
    Family(ranked.precision, ("relative_P", "set_relative_P", "SetRelP"), "k", fixed={"relative": True}),
    Family(ranked_trec.set_average_precision, ("set_map", "SetAP")),
    Family(ranked_trec.set_f, ("set_F",), "beta"),
    Family(ranked_trec.utility, ("utility",)),
    Family(ranked_trec.eleven_point_average, ("11pt_avg",)),
    Family(ranked_trec.binary_g, ("binG",)),
    Family(ranked_trec.g, ("G",), needs="gain"),
    Family(ranked_trec.ndcg_relevant, ("ndcg_rel",), needs="gain"),
    Family(ranked_trec.ndcg_levels, ("Rndcg",)),
    Family(ordered.accuracy, ("accuracy",), "k", "pairs"),
    Family(ordered.compatibility, ("compat",), needs="gain"),
)
"""Every measure; the first name of a family is its canonical name."""
