"""What corpus metrics make of added counts: of one set of sums, and of the many that resampling gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmetrics.core.arrays import Floats, Ints
from fastmetrics.declaration.metric import Metric
from fastmetrics.declaration.representations import Options


@dataclass(frozen=True)
class Formula:
    """A ``finish`` that is quick where there are many sums: ``of_many`` gives of each row the score of ``of``."""

    of: Callable[..., Any]
    of_many: Callable[..., Floats]

    def __call__(self, sums: Sequence[int], **options: Any) -> Any:
        """What the metric is of one set of sums."""
        return self.of(sums, **options)


def values_of(metric: Metric, sums: Ints, options: Options) -> Floats:
    """The values of a corpus metric, one for each row of sums."""
    assert metric.corpus is not None
    finish = metric.corpus.finish
    if isinstance(finish, Formula):
        return finish.of_many(sums, **options)
    return np.array([float(finish(row, **options).score) for row in sums.tolist()])
