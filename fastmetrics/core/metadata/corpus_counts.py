"""The counts of corpus metrics: their columns, and their sums over batches beside those of cautions, ids and drift."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Flags, Ints
from fastmetrics.core.metadata.score_metadata import METADATA


@dataclass(frozen=True)
class BatchSums:
    """Sums over the rows of scored batches, which travel in the metadata of a batch from its scorer to the engine."""

    counts: Mapping[str, list[int]] = field(default_factory=dict)
    """The counts of each corpus metric."""
    cautions: Mapping[str, list[int]] = field(default_factory=dict)
    """Per metric, the rows that its caution concerns, and the scored rows."""
    fingerprint: Mapping[str, list[int]] = field(default_factory=dict)
    """The sums of the fingerprint of the rows."""
    drift: Mapping[str, list[int]] = field(default_factory=dict)
    """Per fitted score, the rows in each part of the distributions of the metrics that it reads."""

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> BatchSums:
        """The sums that scored batches carry, added up."""
        return cls.added(json.loads((batch.schema.metadata or {}).get(METADATA, b"{}")) for batch in batches)

    @classmethod
    def added(cls, parts: Iterable[Mapping[str, Any]]) -> BatchSums:
        """The sums of parts, whose sums are among plain values as by :meth:`to_json`."""
        listed = list(parts)
        return cls(**{entry.name: add_up(part.get(entry.name, {}) for part in listed) for entry in fields(cls)})

    def __bool__(self) -> bool:
        return bool(self.counts or self.cautions or self.fingerprint or self.drift)

    def to_json(self) -> dict[str, dict[str, list[int]]]:
        """The sums as plain values."""
        return {entry.name: dict(getattr(self, entry.name)) for entry in fields(self)}

    def on(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with these sums as the metadata of its scores; without metadata if there are none."""
        return batch.replace_schema_metadata(
            {METADATA: json.dumps({"metrics": {}, **self.to_json()})} if self else None
        )


def counts_column(metric: str) -> str:
    """The column that stores each row's counts for a corpus metric.

    >>> counts_column("corpus_bleu")
    'corpus_bleu.counts'
    """
    return f"{metric}.counts"


def counts_array(counts: Ints, present: Flags) -> pa.Array:
    """The counts of rows as lists; null for a row that was not counted."""
    ends = np.concatenate([[0], np.cumsum(present * np.int64(counts.shape[1]))])
    mask = None if present.all() else pa.array(~present)
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(counts[present].ravel(), pa.int64()), mask=mask
    )


def add_up(parts: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """The sums of counts by name.

    >>> add_up([{"corpus_bleu": [1, 2]}, {"corpus_bleu": [10, 20]}])
    {'corpus_bleu': [11, 22]}
    """
    total: dict[str, list[int]] = {}
    for part in parts:
        for name, counts in part.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0] * len(counts)), counts, strict=True)]
    return total
