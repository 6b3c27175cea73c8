"""The section of tiers: the figures of each level of a RAG system on one page, under the names of the RAG benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.display import number
from fastmetrics.reporting.readings import reading
from fastmetrics.reporting.sections.section import WORDS, Section, SectionInput

_TIERS: Mapping[str, str] = {
    "tier_0": r"embedding_geometry\.(?!n_|estimates|k$).+",
    "tier_1": r"(hit_rate|reciprocal_rank|retrieval_(recall|precision)|ndcg)(@\d+)?\.mean|retrieval_consistency(\..+)?",
    "tier_2": r"",
    "tier_3": r"(judge_e2e|semantic_similarity|dot_similarity|euclidean_distance)\.mean",
    "tier_ux": r"response_(exact_match_rate|semantic_consistency)(\..+)?",
}
"""The figures of each tier, by the names of a summary."""
_OF_TEXTS = (
    r"(rouge[12L]_f1|bleu|judge_(answer_faithfulness|answer_relevance|correctness))\.mean"
    r"|response_(exact_match_rate|semantic_consistency)(\..+)?"
)
"""Figures of answers: of the third tier where a system has searched for its contexts, else of the second."""
_LABELS = ("semantic_similarity", "dot_similarity", "euclidean_distance")
"""Metrics that the benchmark calls by their own names and ``avg_``."""
_SAY = ("avg_nn_distance", "std_nn_distance", "density_score", "effective_dimensionality")
"""Figures of vectors that the benchmark interprets, each by a label of its own; the largest distances share one."""
_LARGEST = ("max_pairwise_distance", "max_spread")
_LEAST = 2
"""Number of tiers from which on a page shows them together."""


@dataclass(frozen=True)
class TierLine:
    """A figure of a tier: its label, its name in a summary, and its value and reading for each system."""

    label: str
    name: str
    cells: Sequence[tuple[str, str | None]]
    says: str = ""
    """The label of what the figure says, for figures of vectors."""


@dataclass(frozen=True)
class Tiers:
    """The tiers with their figures: those of systems, and those of a whole log or of judges."""

    systems: Sequence[str]
    of_systems: Sequence[tuple[str, Sequence[TierLine]]]
    of_sources: Sequence[tuple[str, Sequence[tuple[str, str, Any]]]]
    """For each tier its figures: the source, the label and the value."""


def tiers(section_input: SectionInput) -> Tiers | None:
    """The figures by tier; None if fewer than two tiers have any."""
    summaries = section_input.summaries
    flat = {system: summary.unlabelled for system, summary in summaries.items()}
    searched = {system: any(_stands_in(_TIERS["tier_1"], name) for name in some) for system, some in flat.items()}
    lines = {tier: list(_lines(tier, flat, searched, section_input)) for tier in _TIERS}
    judges, usage = (section_input.earlier.get(name) or () for name in ("judges", "usage"))
    used = [(part.kind in ("cache", "sessions"), figure) for part in usage for figure in part.figures]
    others = {
        "tier_judge": judges["figures"] if judges else [],
        "tier_decisions": judges["decisions"] if judges else [],
        "tier_ux_log": [figure for is_ux, figure in used if is_ux],
        "tier_users": [figure for is_ux, figure in used if not is_ux],
    }
    of_systems = [(tier, some) for tier, some in lines.items() if some]
    of_sources = [(tier, some) for tier, some in others.items() if some]
    if len(of_systems) + len(of_sources) < _LEAST:
        return None
    return Tiers(list(summaries), of_systems, of_sources)


def _lines(
    tier: str, flat: Mapping[str, Mapping[str, float]], searched: Mapping[str, bool], section_input: SectionInput
) -> Iterator[TierLine]:
    """The figures of a tier that a system has, in the order of the summaries, of which ``flat`` has all figures."""
    end = {"tier_2": False, "tier_3": True}.get(tier)
    for name in dict.fromkeys(name for some in flat.values() for name in some):
        of_texts = end is not None and _stands_in(_OF_TEXTS, name)
        having = {
            system: some[name]
            for system, some in flat.items()
            if name in some and (_stands_in(_TIERS[tier], name) or (of_texts and searched[system] == end))
        }
        if having:
            metric = name.removesuffix(".mean")
            stored = section_input.rows.main.declared
            cells = [
                (number(having[system]), reading(metric, having[system], stored)) if system in having else ("–", None)
                for system in flat
            ]
            labels = next(section_input.summaries[system].labels for system in having)
            figure = name.rpartition(".")[2] if tier == "tier_0" else ""
            says = f"says_{figure}" if figure in _SAY else "says_largest" if figure in _LARGEST else ""
            yield TierLine(labels.get(name, _label(metric)), name, cells, says)


_OPTIONS = re.compile(r"\(.*\)", re.DOTALL)


def _stands_in(tier: str, name: str) -> bool:
    """Whether a figure is one of a tier, with any options of its metric."""
    return re.fullmatch(tier, _OPTIONS.sub("", name)) is not None


def _label(metric: str) -> str:
    if metric.startswith("embedding_geometry"):
        return metric.removeprefix("embedding_geometry").replace(").", ") ").lstrip(".")
    return f"avg_{metric}" if _OPTIONS.sub("", metric) in _LABELS else metric.removesuffix(".score")


SECTION = Section(
    "tiers",
    labels=WORDS["sections"]["tiers"],
    content=tiers,
    template="{% include 'tiers_section.html' %}",
)
