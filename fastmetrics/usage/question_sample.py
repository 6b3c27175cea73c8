"""A uniform sample of a log's distinct questions, independent of the order of rows: the smallest hashes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fastmetrics.core.arrays import Uint64s

_KEY, _TEXT = "key", "question"


def sampled(questions: pa.Array, keys: Uint64s, size: int) -> pa.Table:
    """The ``size`` distinct questions of a part with the smallest keys; among equal keys, the first in text order."""
    first = keys[: len(questions) if size else 0, 0]
    return with_smallest_keys(
        pa.table({_KEY: first, _TEXT: questions[: len(first)].cast(pa.large_string())}), size, _TEXT
    )


def sampled_of(samples: Sequence[pa.Table], size: int) -> pa.Table:
    """The sample of all parts, from the samples of each."""
    return with_smallest_keys(pa.concat_tables(samples), size, _TEXT)


def questions_of(samples: Sequence[pa.Table]) -> pa.Array:
    """The questions of samples."""
    nothing = pa.table({_TEXT: pa.array([], pa.large_string())})
    return pa.concat_tables([nothing, *(sample.select([_TEXT]) for sample in samples)])[_TEXT].combine_chunks()


def with_smallest_keys(table: pa.Table, size: int, tie: str) -> pa.Table:
    """The rows with the smallest values of ``key``, one row for each; among equal keys, the smallest in ``tie``."""
    table = table.sort_by([(_KEY, "ascending"), (tie, "ascending")])
    keys = np.asarray(table[_KEY])
    new = np.flatnonzero(np.append(np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]))
    return table.take(pa.array(new[:size]))
