"""The texts of the rows in a report, truncated if long, with the support of their anchors and citations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import visible
from fastmetrics.base.input_columns import resolve
from fastmetrics.reporting.rows.texts.citation_marks import Mark, citation_marks
from fastmetrics.reporting.rows.texts.scored_claims import Anchor, ScoredClaims
from fastmetrics.reporting.rows.texts.text_sources import TextSource
from fastmetrics.results.score_run import ScoreRun

Seen = Callable[[Mapping[str, pa.ChunkedArray]], None]
"""Callback that receives the columns of all rows during reading."""

TEXTS = ("question", "reference", "answer", "contexts", "retrieved_ids", "relevant_ids")

JUDGED = (*TEXTS, "relevance")

_LONG = 4_000
"""Maximum characters of a displayed text."""
_MANY = 30
"""Maximum number of displayed contexts and ids of a row."""


def row_texts(
    run: ScoreRun, ids: pa.Array | None, places: Sequence[int], texts: TextSource | None, seen: Seen | None = None
) -> list[dict[str, Any]]:
    """The texts of each row by name: from ``texts``, matched by id, else those stored in the run.

    ``seen`` is called with the columns of all rows, piece by piece.
    """
    at = pa.array(places, pa.int64())
    if texts is None:
        canonical = resolve(run.columns, needed=())
        stored = {name: canonical[name] for name in JUDGED if name in canonical and canonical[name] not in run.scores}
        whole = run.read(list(stored.values())).rename_columns(list(stored))
        if seen is not None:
            seen(dict(zip(stored, whole.columns, strict=True)))
        table = whole.take(at)
    else:
        assert ids is not None
        table = texts.added(pa.table({"id": ids.take(at)}), JUDGED, seen).drop_columns("id")
    rows = table.to_pylist() if table.num_columns else [{} for _ in places]
    return shown_texts(rows, ScoredClaims.of(run))


def shown_texts(rows: Sequence[Mapping[str, Any]], scored: ScoredClaims) -> list[dict[str, Any]]:
    """The displayed texts of rows: truncated if long, with the anchors and citations of their answers."""
    return [_shown(*row) for row in zip(rows, *_marks(rows, scored), strict=True)]


def _shown(row: Mapping[str, Any], anchors: Sequence[Anchor], citations: Sequence[Mark]) -> dict[str, Any]:
    """The texts of a row, with lists for multi-valued columns, without missing texts."""
    texts: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or name not in TEXTS:
            continue
        if name in ("question", "answer"):
            texts[name] = cut(value)
        else:
            several = value if isinstance(value, list) else [value]
            texts[name] = [cut(entry) for entry in several[:_MANY] if entry is not None]
            if len(several) > _MANY:
                texts[f"{name}_more"] = len(several) - _MANY
    if anchors:
        texts["anchors"] = [list(entry if entry.apart else entry[:4]) for entry in anchors if entry.stop <= _LONG]
    if citations:
        texts["cites"] = [list(entry) for entry in citations]
    return texts


def cut(value: Any) -> str:
    """A value as displayable text; a long one is truncated, with the number of omitted characters."""
    text = value if isinstance(value, str) else str(value)
    beginning = visible(text[:_LONG])
    return beginning if len(text) <= _LONG else f"{beginning} … [+{len(text) - _LONG:,}]"


def _marks(rows: Sequence[Mapping[str, Any]], scored: ScoredClaims) -> tuple[list[list[Anchor]], list[list[Mark]]]:
    """The anchors and citations of each answer with known contexts."""
    anchors_by_row: list[list[Anchor]] = [[] for _ in rows]
    citations_by_row: list[list[Mark]] = [[] for _ in rows]
    having = [at for at, row in enumerate(rows) if isinstance(row.get("answer"), str) and row.get("contexts")]
    if having:
        contexts = [_passages(rows[at]["contexts"]) for at in having]
        answers = [rows[at]["answer"][:_LONG] for at in having]
        anchors = scored.told_apart(list(scored.anchors(answers, contexts)), answers, contexts)
        marks = citation_marks(answers, contexts, scored)
        for at, some, several in zip(having, anchors, marks, strict=True):
            anchors_by_row[at], citations_by_row[at] = some, several
    return anchors_by_row, citations_by_row


def _passages(value: Any) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [str(passage)[: _LONG * 4] for passage in several if passage is not None]
