"""Rows with several references: each reference is scored separately, and the best score counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.base.input_columns import COLUMNS
from fastmetrics.declaration.batch import Batch, Need, Options


def column_of_items(needs: Mapping[str, Need], columns: Iterable[str]) -> str | None:
    """The column whose items are scored one by one: references, or their embeddings if the metric reads vectors."""
    for column in columns:
        if column == "reference" or (COLUMNS[column].kind == "vectors" and getattr(needs[column], "by_item", False)):
            return column
    return None


def aligned(batch: Batch, column: str, need: Need, options: Options, owner: Ints) -> Any:
    """A column's representation, repeated for each reference of its row; ``owner`` has the row of each reference."""
    value = need.of(batch, column, options)
    return batch.remember("aligned", lambda: value.take(owner), value, owner)


def best_of(scores: Floats, merit: Floats, owner: Ints, n_rows: int) -> Floats:
    """The score of the first reference with the highest defined merit, for each row."""
    highest = np.full(n_rows, np.nan)
    np.fmax.at(highest, owner, merit)
    best = np.flatnonzero(merit == highest[owner])[::-1]
    chosen = np.full(n_rows, np.nan)
    chosen[owner[best]] = scores[best]
    return chosen
