"""The inputs of retrieval metrics: rankings and grades, and rows without relevant documents."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastmetrics.base.arrays import Flags, Floats
from fastmetrics.base.errors import ColumnError
from fastmetrics.base.options import Choice, Level
from fastmetrics.metrics.batch import Batch, Caution, Options, need
from fastmetrics.retrieval import measures as ranked
from fastmetrics.retrieval.rankings import (
    GradedGroups,
    GradedRankings,
    Groups,
    Rankings,
    graded,
    graded_groups,
    grades_of,
    groups_of,
    rankings,
)


def rankings_in(batch: Batch, column: str, options: Options) -> Rankings:
    """Lists of ids."""
    groups = _groups(batch) if column == "relevant_ids" else None
    ids = batch.columns[column] if groups is None else groups.flat
    return batch.remember(("rankings", column), lambda: rankings(ids, column))


def _groups(batch: Batch) -> Groups | None:
    """The groups of relevant ids; None for plain lists."""
    return batch.remember(("groups", "relevant_ids"), lambda: groups_of(batch.columns["relevant_ids"]))


def grades_in(batch: Batch, column: str, options: Options) -> Floats:
    """One grade per relevant id."""
    relevant = batch.columns["relevant_ids"]
    if _groups(batch) is not None:
        raise ColumnError(f"column {column!r}: grades are for plain lists of relevant ids, not for groups")
    return batch.remember(("grades", column), lambda: grades_of(batch.columns[column], relevant, column))


NoRelevant = Annotated[str, Choice("undefined", "zero"), "the score of a question without relevant documents"]
Ranked = Annotated[Rankings, need(rankings_in)]
Grades = Annotated[Floats, need(grades_in)]


@dataclass(frozen=True)
class Judged:
    """Rankings with their grades, the lowest relevant grade, and the score of a row without relevant documents."""

    rankings: GradedRankings
    level: float
    no_relevant: float
    groups: GradedGroups | None = None
    """The grades of each group, if the relevant documents are in groups."""


@dataclass(frozen=True)
class JudgedOptions:
    """What counts as relevant, and the score of a row without relevant documents."""

    relevance_level: Level = 1
    no_relevant: NoRelevant = "undefined"


def judged_in(batch: Batch, column: str, options: Options) -> Judged:
    """Rankings with the grades of the relevant documents of the same batch."""
    groups, judged = _groups(batch), None
    if groups is not None:
        retrieved = rankings_in(batch, "retrieved_ids", options)
        judged = batch.remember(("graded groups", column), lambda: graded_groups(retrieved, groups))
    return Judged(_graded(batch, options), float(options["relevance_level"]), ELSE[options["no_relevant"]], judged)


RankedAndJudged = Annotated[Judged, need(judged_in, options=JudgedOptions, columns={"relevance": Grades})]
ELSE = {"undefined": math.nan, "zero": 0.0}
"""The score of a row without relevant documents."""


def _graded(batch: Batch, options: Options) -> GradedRankings:
    retrieved, relevant = (rankings_in(batch, name, options) for name in ("retrieved_ids", "relevant_ids"))
    return graded(retrieved, relevant, grades_in(batch, "relevance", options) if "relevance" in batch.columns else None)


def _without(batch: Batch, options: Options, columns: Iterable[str]) -> Flags:
    """The rows without relevant documents; for gains, without a positive grade."""
    level = float(options.get("relevance_level", math.ulp(0.0)))
    return batch.remember(("nothing relevant", level), lambda: ranked.relevant(_graded(batch, options), level) == 0)


_CAUTIONS = {
    "undefined": Caution(
        "have no relevant document and are excluded from the mean",
        "no_relevant='zero' (--no-relevant zero) scores them 0, as trec_eval does",
        _without,
        least=0.0,
    ),
    "zero": Caution(
        "have no relevant document and score 0",
        "no_relevant='undefined' (--no-relevant undefined) excludes them from the mean",
        _without,
        0.0,
    ),
}


def _short(batch: Batch, options: Options, columns: Iterable[str]) -> Flags | None:
    """The rows with fewer retrieved documents than the cut-off."""
    k = options.get("k")
    if k is None:
        return None
    retrieved = rankings_in(batch, "retrieved_ids", options)
    return batch.remember(("short", k), lambda: retrieved.sizes < k)


_SHORT = Caution(
    "have fewer retrieved documents than the cut-off",
    "the search was not asked for {k}, or found no more: the scores are those of what it returned",
    _short,
    least=1.0,
)
"""All rows are short: a search that could return more would do so in some row."""


def cut_off(options: Options) -> tuple[Caution, ...]:
    """The cautions of rows without relevant documents, and of a cut-off beyond all rankings."""
    return nothing_relevant(options), _SHORT


def nothing_relevant(options: Options) -> Caution:
    """The number of rows without relevant documents, and how they are scored."""
    return _CAUTIONS[options["no_relevant"]]
