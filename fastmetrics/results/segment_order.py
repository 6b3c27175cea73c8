"""The order of segments in a table: the worst first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from fastmetrics.core.arrays import Ints
from fastmetrics.core.records import Records
from fastmetrics.declaration.metric import Better


def worst_first(segments: Records[Any], figure: str, better: Better) -> Ints:
    """The places of the segments by a figure, the worst first, equal ones by name; those without the figure last."""
    values = segments.numbers(figure)
    known = ~np.isnan(values)
    names = pc.rank(segments.column("segment"), tiebreaker="dense").to_numpy().astype(np.int64)
    signed = -values if better == "lower" else values
    return np.lexsort((np.where(known, names, 0), np.where(known, signed, 0.0), ~known))
