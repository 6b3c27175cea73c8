"""What is known of scores beside their columns: the counts that corpus metrics are made of, kept in metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa

METADATA = b"fastmetrics"
"""The key of a schema's metadata under which scores keep, as JSON, what is known of them beside the columns."""


def metadata(rows: Mapping[str, tuple[int, int]], counts: Mapping[str, list[int]]) -> dict[bytes, str]:
    """Metadata that hold the counts of corpus metrics, and of each column of scores its rows and its nulls."""
    metrics = {
        name: {"n_rows": n_rows, "n_missing": n_missing, "n_undefined": 0, "n_error": 0}
        for name, (n_rows, n_missing) in rows.items()
    }
    return {METADATA: json.dumps({"metrics": metrics, "counts": dict(counts)})}


def add_counts(batches: Iterable[pa.RecordBatch]) -> dict[str, list[int]]:
    """The counts of the corpus metrics of scored batches, added up."""
    return add_up(json.loads((batch.schema.metadata or {}).get(METADATA, b"{}")).get("counts", {}) for batch in batches)


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
