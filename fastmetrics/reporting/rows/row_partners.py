"""The rows of another run with the ids of the rows of a report."""

from __future__ import annotations

import numpy as np

from fastmetrics.base.arrays import Ints
from fastmetrics.results.score_run import ScoreRun, rows_of_ids


def partners(main: ScoreRun, base: ScoreRun) -> Ints:
    """The row of the baseline with the id of each row, or −1; raises ``InputError`` for a repeated id of it."""
    ids = main.sorted_ids(str(main.id_column))
    others = base.sorted_ids(str(base.id_column), like=ids)
    base.check_distinct(str(base.id_column))
    if others is ids:
        return np.arange(len(ids))
    _, (rows, base_rows) = rows_of_ids([ids, others])
    partner = np.full(len(ids), -1, np.int64)
    partner[rows[rows >= 0]] = base_rows[rows >= 0]
    return partner
