"""What is known of scores beside their columns, kept in metadata: the counts of corpus metrics and of cautions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

METADATA = b"fastmetrics"
"""The key of a schema's metadata under which scores keep, as JSON, what is known of them beside the columns."""


Counts: TypeAlias = Mapping[str, list[int]]


def metadata(
    rows: Mapping[str, tuple[int, int]],
    counts: Counts,
    cautions: Counts,
    fingerprint: Counts | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[bytes, str]:
    """Metadata with the counts of corpus metrics and of cautions, and of each column of scores its rows and nulls.

    And with the sums that make the ``fingerprint`` of the rows, and the ``options`` given to all metrics, if any.
    """
    metrics = {
        name: {"n_rows": n_rows, "n_missing": n_missing, "n_undefined": 0, "n_error": 0}
        for name, (n_rows, n_missing) in rows.items()
    }
    more = {"fingerprint": fingerprint, "options": options}
    given = {name: dict(values) for name, values in more.items() if values}
    return {METADATA: json.dumps({"metrics": metrics, "counts": dict(counts), "cautions": dict(cautions), **given})}


KINDS = ("counts", "cautions", "fingerprint")


def add_counts(batches: Iterable[pa.RecordBatch]) -> list[dict[str, list[int]]]:
    """Of scored batches the counts of the corpus metrics, those of the cautions, and the fingerprint, added up."""
    held = [json.loads((batch.schema.metadata or {}).get(METADATA, b"{}")) for batch in batches]
    return [add_up(one.get(kind, {}) for one in held) for kind in KINDS]


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
