"""The registry of retrieval measures: formulas, their names in all tools, and how queries are combined.

``rank`` computes all of them; the retrieval metrics of ``score`` take their names from here.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fastmetrics.base.arrays import Floats
from fastmetrics.base.options import Allowed, description_of, of_hint
from fastmetrics.base.specs import Better
from fastmetrics.retrieval import formulas


@dataclass(frozen=True)
class Family:
    """A formula and its properties.

    ``at`` is the option set by ``@``; ``needs`` defines the documents that make a query defined: "level" those at or
    above the relevance level, "gain" those with a positive gain, "pairs" a retrieved relevant and another retrieved
    document (the formula returns NaN without them), "" none; ``mean`` is how queries are combined; ``better`` is the
    direction of better rankings, None for plain counts.
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
    Family(formulas.ndcg, ("ndcg", "ndcg_cut"), "k", "gain"),
    Family(formulas.ndcg, ("ndcg_burges",), "k", "gain", fixed={"gain": "exponential", "gains": None}),
    Family(formulas.dcg, ("dcg",), "k", "gain"),
    Family(formulas.ideal_dcg, ("ideal_dcg",), "k", "gain", better=None),
    Family(formulas.reciprocal_rank, ("mrr", "rr", "recip_rank", "reciprocal_rank"), "k"),
    Family(formulas.average_precision, ("ap", "map", "map_cut", "average_precision"), "k"),
    Family(formulas.precision, ("p", "precision", "retrieval_precision", "set_P", "precision_at_k"), "k"),
    Family(formulas.recall, ("r", "recall", "retrieval_recall", "set_recall", "SetR", "recall_at_k"), "k"),
    Family(formulas.f1, ("f1", "retrieval_f1"), "k"),
    Family(formulas.success, ("success", "hit_rate", "hit"), "k"),
    Family(formulas.hits, ("hits", "num_rel_ret"), "k", mean="sum"),
    Family(formulas.r_precision, ("Rprec", "r_precision"), fixed={"share": 1.0}),
    Family(formulas.r_precision, ("Rprec_mult",), "share"),
    Family(formulas.bpref, ("bpref",)),
    Family(formulas.inferred_ap, ("infAP",)),
    Family(formulas.interpolated_precision, ("IPrec", "iprec_at_recall"), "recall"),
    Family(formulas.expected_reciprocal_rank, ("ERR",), "k", "gain"),
    Family(formulas.rank_biased_precision, ("RBP",), "k", "gain"),
    Family(formulas.rank_biased_residual, ("rbp_resid",), needs="", better="lower"),
    Family(formulas.judged_share, ("judged",), "k", ""),
    Family(formulas.unjudged_share, ("unj", "unjudged"), "k", "", better="lower"),
    Family(formulas.geometric_average_precision, ("gm_map",), mean="geometric"),
    Family(formulas.geometric_bpref, ("gm_bpref",), mean="geometric"),
    Family(formulas.num_queries, ("num_q",), needs="", mean="sum", better=None),
    Family(formulas.num_retrieved, ("num_ret",), needs="", mean="sum", better=None),
    Family(formulas.num_relevant, ("num_rel",), needs="", mean="sum", better=None),
    Family(formulas.num_nonrelevant_retrieved, ("num_nonrel_judged_ret",), needs="", mean="sum", better="lower"),
    Family(formulas.precision, ("relative_P", "set_relative_P", "SetRelP"), "k", fixed={"relative": True}),
    Family(formulas.set_average_precision, ("set_map", "SetAP")),
    Family(formulas.set_f, ("set_F",), "beta"),
    Family(formulas.utility, ("utility",)),
    Family(formulas.eleven_point_average, ("11pt_avg",)),
    Family(formulas.binary_g, ("binG",)),
    Family(formulas.g, ("G",), needs="gain"),
    Family(formulas.ndcg_relevant, ("ndcg_rel",), needs="gain"),
    Family(formulas.ndcg_levels, ("Rndcg",)),
    Family(formulas.accuracy, ("accuracy",), "k", "pairs"),
    Family(formulas.compatibility, ("compat",), needs="gain"),
)
"""Every measure; the first name of a family is its canonical name."""


def names_of(formula: Callable[..., Floats]) -> tuple[str, ...]:
    """The names of the first family with a formula, in trec_eval, ir_measures, ranx and papers.

    >>> from fastmetrics.retrieval import formulas
    >>> names_of(formulas.ndcg)
    ('ndcg', 'ndcg_cut')
    """
    return next(family.names for family in FAMILIES if family.formula is formula)


_SUBTOPICS = "it needs judgements by subtopic of a query, and rank reads one grade per document"
_USER_MODEL = "it is a user model of the package cwl-eval; ir_measures computes it with that package"
UNSUPPORTED = {
    **dict.fromkeys(("alpha_DCG", "α_DCG", "alpha_nDCG", "α_nDCG", "AP_IA", "MAP_IA", "ERR_IA"), _SUBTOPICS),
    **dict.fromkeys(("nERR_IA", "NRBP", "nNRBP", "P_IA", "StRecall"), _SUBTOPICS),
    **dict.fromkeys(("BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG"), _USER_MODEL),
}
"""Measures of ir_measures that are not supported, and the reason."""
