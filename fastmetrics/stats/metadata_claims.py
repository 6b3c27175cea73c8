"""What the metadata of scores say about them: counts, options, missing queries and declarations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastmetrics.core.corpus_counts import METADATA
from fastmetrics.core.missing_queries import MissingQueries
from fastmetrics.errors import FileFormatError


@dataclass(frozen=True)
class Claims:
    """The metadata of a score file about its rows.

    ``{"metrics": {name: {"n_rows", "n_missing", "n_undefined", "n_error"}}, "counts": {corpus metric: [integers]},
    "cautions": {metric: [rows it speaks of, scored rows]}, "n_rejected": rows of the input that are not among these,
    "options": {name: the value for all metrics whose names set no other value}, "n_rows": if no metric has it,
    "missing_queries": {"count", "judged", "rule"} of an evaluated run,
    "declared": {score: what its name does not tell of its metric}}``
    """

    metrics: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    counts: Mapping[str, list[int]] = field(default_factory=dict)
    n_rejected: int = 0
    cautions: Mapping[str, list[int]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    missing_queries: MissingQueries | None = None
    declared: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: bytes | None) -> Claims:
        """The claims from the metadata's JSON; raises ``FileFormatError`` for another structure."""
        if metadata is None:
            return cls()
        try:
            fields = json.loads(metadata)
            metrics = {
                name: {key: int(counts[key]) for key in ("n_rows", "n_missing", "n_undefined", "n_error")}
                for name, counts in fields.get("metrics", {}).items()
            }
            counts, cautions = (
                {name: [int(count) for count in vector] for name, vector in fields.get(kind, {}).items()}
                for kind in ("counts", "cautions")
            )
            if any(len(pair) != 2 for pair in cautions.values()):
                raise ValueError("cautions: expected pairs of counts")
            n_rejected = int(fields.get("n_rejected", 0))
            options = dict(fields.get("options", {}))
            rows = None if fields.get("n_rows") is None else int(fields["n_rows"])
            missing_queries = MissingQueries.of(fields)
            declared = dict(fields.get("declared", {}))
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise FileFormatError(f"the scores' metadata {METADATA.decode()!r} cannot be read: {error!r}") from error
        return cls(metrics, counts, n_rejected, cautions, options, rows, missing_queries, declared)

    @property
    def n_rows(self) -> int | None:
        """The number of rows in the metadata; None if unknown or contradictory."""
        numbers = {counts["n_rows"] for counts in self.metrics.values()}
        return numbers.pop() if len(numbers) == 1 else None if numbers else self.rows
