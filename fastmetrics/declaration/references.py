"""Rows with several references: each reference is scored separately, and the best score counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.batch import Batch
from fastmetrics.declaration.representations import Need, Options


def aligned(batch: Batch, column: str, need: Need, options: Options, owner: Ints | None) -> Any:
    """A column's representation, repeated for each reference of its row if ``owner`` is given."""
    value = need.of(batch, column, options)
    if owner is None or column == "reference":
        return value
    return batch.remember("aligned", lambda: value.take(owner), value)


def best_of(scores: Floats, merit: Floats, owner: Ints, n_rows: int) -> Floats:
    """The score of the first reference with the highest defined merit, for each row."""
    highest = np.full(n_rows, np.nan)
    np.fmax.at(highest, owner, merit)
    best = np.flatnonzero(merit == highest[owner])[::-1]
    chosen = np.full(n_rows, np.nan)
    chosen[owner[best]] = scores[best]
    return chosen
