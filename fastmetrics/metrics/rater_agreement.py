"""Agreement between the raters of a table's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats, Ints, decoded, floats_of_arrow
from fastmetrics.metrics.batch import Batch, KeptRows, Options, heads_of, need, row_lists
from fastmetrics.metrics.metric import Corpus, metric

if TYPE_CHECKING:
    from fastmetrics.stats.raters import Agreement


@dataclass(frozen=True)
class Rated:
    """Ratings of all rows in sequence, NaN for no rating, and the number in each row."""

    values: Floats
    sizes: Ints


def rated_in(batch: Batch, column: str, options: Options) -> Rated:
    """Lists of ratings."""
    array = decoded(batch.columns[column])
    if pa.types.is_null(array.type):
        return Rated(np.zeros(0), np.zeros(len(array), np.int64))
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return Rated(floats_of_arrow(array.flatten(), column), sizes)


Ratings = Annotated[Rated, need(rated_in)]


def _finish(rows: KeptRows) -> Agreement:
    from fastmetrics.stats.raters import Agreement, agreement  # every run imports this module

    values, sizes = [np.zeros(0)], [np.zeros(0, np.int64)]
    for (lists,) in rows():
        _, words, each = heads_of(lists, 0)
        values.append(words.view(np.float64))
        sizes.append(each)
    flat, counts = np.concatenate(values), np.concatenate(sizes)
    raters = int(counts.max(initial=0))
    if not raters:
        return Agreement(0, [])
    table = np.full((len(counts), raters), np.nan)
    table[np.arange(raters) < counts[:, None]] = flat
    return agreement(np.ascontiguousarray(table.T), confidence=None)


@metric(
    bounds=(-np.inf, 1),
    better=None,
    source="Cohen 1960 and 1968; Krippendorff 2011",
    corpus=Corpus(finish=_finish, keeps="agreement.ratings"),
)
def rater_agreement(ratings: Ratings) -> pa.ListArray:
    """Agreement between raters: kappa of each pair of raters, and Krippendorff's alphas.

    ``ratings`` contains the numeric ratings of a row by all raters, in a fixed order, with null for no rating.  A
    summary has ``rater_agreement.n_units``, ``.alpha_nominal``, ``.alpha_ordinal``, ``.alpha_interval`` and, for the
    first and the second rater, ``.kappa_1_2``, ``.kappa_linear_1_2``, ``.kappa_quadratic_1_2``; NaN where the
    definition divides by zero.  ``fm.stats.agreement`` defines them, and accepts raters as columns, and words.

    A run stores the ratings with its scores, and the figures need all ratings in memory.  Returns an ``Agreement``.

    >>> import fastmetrics as fm
    >>> fm.rater_agreement([[1, 1], [0, 0], [1, 0], [1, 1]]).pairs[0].kappa.value
    0.5
    """
    heads = np.zeros((len(ratings.sizes), 0), np.uint64)
    return row_lists(heads, np.ascontiguousarray(ratings.values).view(np.uint64), ratings.sizes)
