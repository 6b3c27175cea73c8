"""Formulas of corpus metrics over summed counts: for one set of sums, and for the many sums of resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.base.arrays import Floats, Ints
from fastmetrics.declaration.batch import Options
from fastmetrics.declaration.metric import Metric


@dataclass(frozen=True)
class Formula:
    """A ``finish`` with a vectorised form: ``of_many`` gives the score of ``of`` for each row of sums."""

    of: Callable[..., Any]
    of_many: Callable[..., Floats]

    def __call__(self, sums: Sequence[int], **options: Any) -> Any:
        """The result of the metric for one set of sums."""
        return self.of(sums, **options)


def values_of(metric: Metric, sums: Ints, options: Options) -> Floats:
    """The values of a corpus metric, one per row of sums."""
    assert metric.corpus is not None
    finish = metric.corpus.finish
    if isinstance(finish, Formula):
        return finish.of_many(sums, **options)
    return np.array([float(finish(row, **options).score) for row in sums.tolist()])
