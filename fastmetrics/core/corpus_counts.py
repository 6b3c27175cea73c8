"""Metadata of scores: the counts of corpus metrics and of cautions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Flags, Ints

METADATA = b"fastmetrics"
"""The key of the schema metadata that contains the information about scores as JSON."""


Counts: TypeAlias = Mapping[str, list[int]]


def metadata(
    rows: Mapping[str, tuple[int, int]],
    counts: Counts,
    cautions: Counts,
    fingerprint: Counts | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    n_rows: int | None = None,
    declared: Mapping[str, Any] | None = None,
) -> dict[bytes, str]:
    """Metadata with the counts of corpus metrics and cautions, and the numbers of rows and nulls of each score column.

    If given, it also contains the sums of the ``fingerprint`` of the rows, the ``options`` given to all metrics, what
    names do not tell of the ``declared`` metrics, and ``n_rows``, for tables without a score column.
    """
    metrics = {
        name: {"n_rows": n_rows, "n_missing": n_missing, "n_undefined": 0, "n_error": 0}
        for name, (n_rows, n_missing) in rows.items()
    }
    more = {"fingerprint": fingerprint, "options": options, "declared": declared}
    size = {} if n_rows is None or rows else {"n_rows": n_rows}
    extras = {name: dict(values) for name, values in more.items() if values}
    return {
        METADATA: json.dumps({"metrics": metrics, "counts": dict(counts), "cautions": dict(cautions), **extras, **size})
    }


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


KINDS = ("counts", "cautions", "fingerprint")


def add_counts(batches: Iterable[pa.RecordBatch]) -> list[dict[str, list[int]]]:
    """The summed counts of corpus metrics and cautions and the fingerprint of scored batches."""
    entries = [json.loads((batch.schema.metadata or {}).get(METADATA, b"{}")) for batch in batches]
    return [add_up(entry.get(kind, {}) for entry in entries) for kind in KINDS]


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
