"""The topics of a log's questions and the gaps of the knowledge base, as figures and as printed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from fastmetrics.core.display import Grid, Shown

_WORDS = 6


@dataclass(frozen=True)
class Topic:
    """One topic; figures that need a missing column are None."""

    topic: int
    """The topic's number, from 0, in descending order of questions."""
    questions: int
    words: Sequence[str]
    """The most typical words of the topic, by class-based TF-IDF."""
    samples: Sequence[str]
    """The distinct questions nearest to the topic's centre."""
    chunks: int | None
    """Distinct chunks in the first positions of the topic's rankings."""
    sources: int | None
    """Distinct sources of these chunks; None without the chunks' sources."""
    abstain_rate: float | None
    unanswered_rate: float | None
    """Share of the topic's questions without an answer: missing, blank or abstaining."""
    gap: float | None
    """Questions · share of failures: the number of failed questions."""
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Topics(Shown):
    """The topics of a log's questions, most frequent first, and the ``gaps``: the topics' numbers by failures."""

    questions: int
    left_out: int
    """Rows without a question or its vector."""
    k: int
    seed: int
    failure: str | None
    """The definition of a failure; None if the log has no suitable column."""
    avg_chunks_per_topic: float | None
    topics: Sequence[Topic]
    gaps: Sequence[int]
    assignment: pa.Table = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """One row per topic."""
        return pa.Table.from_pylist([{**asdict(topic), **asdict(topic).pop("scores")} for topic in self.topics])

    def to_rows(self) -> pa.Table:
        """The rows of the log in order: the number of each question's ``topic``, null without one."""
        return self.assignment

    def to_dict(self) -> dict[str, Any]:
        """All figures, without the rows."""
        single = ("questions", "left_out", "k", "seed", "failure", "avg_chunks_per_topic")
        figures: dict[str, Any] = {name: getattr(self, name) for name in single}
        return {**figures, "topics": [asdict(topic) for topic in self.topics], "gaps": list(self.gaps)}

    def grids(self) -> list[Grid]:
        """The topics, and the gaps, largest first."""
        scores = list(self.topics[0].scores) if self.topics else []
        head = ("topic", "questions", "chunks", "sources", "abstain", "unanswered", *scores, "words")
        grids = [Grid(head, [_line(topic) for topic in self.topics])]
        worst = [next(topic for topic in self.topics if topic.topic == gap) for gap in self.gaps]
        if worst:
            lines = [(str(topic.topic), _shown(topic.gap), (topic.samples or [""])[0]) for topic in worst]
            grids.append(Grid(("gap: topic", "failures", "for example"), lines))
        return grids

    def remarks(self) -> list[str]:
        """Notes on the data behind the figures."""
        notes = [f"{self.questions:,} questions in {len(self.topics)} topics, seed {self.seed}"]
        if len(self.topics) < self.k:
            notes.append(f"fewer than {self.k} distinct questions, so there are fewer topics than requested")
        notes.append(
            f"failures: {self.failure}" if self.failure else "no column identifies failures, so no gaps are listed"
        )
        if self.left_out:
            notes.append(f"{self.left_out:,} rows without a question or vector were left out")
        return notes


def _line(topic: Topic) -> tuple[str, ...]:
    figures = (topic.chunks, topic.sources, topic.abstain_rate, topic.unanswered_rate, *topic.scores.values())
    return str(topic.topic), f"{topic.questions:,}", *map(_shown, figures), " ".join(topic.words[:_WORDS])


def _shown(value: float | int | None) -> str:
    return "" if value is None or value != value else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"  # noqa: PLR0124
