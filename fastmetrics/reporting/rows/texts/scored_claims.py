"""How the anchors of a run's answers were found, so that a report marks what was scored."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fastmetrics.base.errors import FastmetricsError, MissingExtraError, OptionError
from fastmetrics.metrics.claim_support import TRIPLES, WORDS, load
from fastmetrics.metrics.plan import parse
from fastmetrics.results.score_run import ScoreRun
from fastmetrics.scoring.metric_functions import anchors

_COUNTING = ("hallucination", "verdict", "hallucination_risk")
"""The metrics that count anchors; the first one that a run has decides how they are marked."""


_ANYWHERE = 1_000_000
"""A window of words that no displayed text exceeds."""


class Anchor(NamedTuple):
    """An anchor: its span in characters, 1 if the contexts support it, its kind, and where it may be nevertheless."""

    start: int
    stop: int
    supported: int
    kind: str
    apart: int = 0
    """1 if the contexts do not support it but have its words, not near each other."""


@dataclass(frozen=True)
class ScoredClaims:
    """The options of the score that counted anchors, or the defaults."""

    window: int
    claims: Any
    absent: str | None = None
    """The parser of the claims if it is not installed here: then only values are marked."""

    @classmethod
    def of(cls, run: ScoreRun) -> ScoredClaims:
        """The options of the first score of a run that counts anchors."""
        names = [name for metric in _COUNTING for name in scores_of(run, metric)]
        options = parse(run.spec(names[0]) if names else _COUNTING[0]).options
        window, claims = options["window"], options["claims"]
        if claims not in (TRIPLES, WORDS):
            try:
                load(claims)
            except (MissingExtraError, OptionError):  # the page says so
                return cls(window, TRIPLES, absent=claims)
        return cls(window, claims)

    def anchors(self, answers: Sequence[str], contexts: Sequence[Sequence[str]]) -> Iterator[list[Anchor]]:
        """The anchors of each answer in its contexts, without the claims of an absent parser."""
        for chunk in anchors(answers, contexts, window=self.window, claims=self.claims)["anchors"].chunks:
            inside = chunk.flatten()
            fields = (inside.field(name).to_pylist() for name in ("start", "stop", "supported", "kind"))
            spans = [
                Anchor(start, stop, int(supported), kind) for start, stop, supported, kind in zip(*fields, strict=True)
            ]
            edges = np.append(0, np.cumsum(chunk.value_lengths().fill_null(0))).tolist()
            for start, stop in itertools.pairwise(edges):
                yield [anchor for anchor in spans[start:stop] if self.absent is None or anchor.kind != "claim"]

    def told_apart(
        self, anchors_by_row: Sequence[list[Anchor]], answers: Sequence[str], contexts: Sequence[Sequence[str]]
    ) -> list[list[Anchor]]:
        """The anchors, of which those that no context supports are marked if their words are there but apart."""
        rows = [row for row, some in enumerate(anchors_by_row) if not all(anchor.supported for anchor in some)]
        whole = [["\n".join(contexts[row])] for row in rows]
        far = replace(self, window=_ANYWHERE).anchors([answers[row] for row in rows], whole) if rows else []
        marked = list(anchors_by_row)
        for row, some in zip(rows, far, strict=True):
            present = {anchor[:2] for anchor in some if anchor.supported}
            marked[row] = [
                anchor._replace(apart=int(not anchor.supported and anchor[:2] in present)) for anchor in marked[row]
            ]
        return marked

    def remarks(self) -> list[str]:
        """A note if claims are not marked."""
        if self.absent is None:
            return []
        return [f"claims are not marked: they were scored by {self.absent}, which is not installed here"]


def scores_of(run: ScoreRun, metric: str) -> list[str]:
    """The score columns of a metric, whatever their options and names."""
    return [name for name in run.scores if _metric(run.spec(name)) == metric]


def _metric(spec: str) -> str | None:
    try:
        return parse(spec).metric.name
    except FastmetricsError:  # a column of another origin
        return None
