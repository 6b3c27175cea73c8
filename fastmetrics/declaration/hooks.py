"""Groups of a metric's hooks: how its function gets the rows, and how the value of a whole table is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.arrays import Floats
from fastmetrics.declaration.batch import Batch, Options
from fastmetrics.declaration.signature.alternative_columns import Either


@dataclass(frozen=True)
class RowHooks:
    """How a metric's function gets the rows of a batch."""

    prepare: Callable[[Batch, Options], Batch] | None = None
    """Replaces the batch before its columns are read."""
    fit: Callable[[Iterable[Batch], Options], Options] | None = None
    """Computes from all batches the options that each is scored with; reads no batch if the given options suffice."""
    either: Either | None = None
    """Sets of optional columns of which at least one must be complete."""
    grouped: bool = False
    """Whether the function sees all references of a row together and returns one score a row."""
    best_by: Callable[..., Floats] | None = None
    """Ranks the references of a row, called as the function is; by default the best score counts."""


@dataclass(frozen=True)
class Corpus:
    """How a corpus metric, which has one value a table, is computed from what its function returns for each row."""

    finish: Callable[..., Any]
    """Called with the sums of the rows' counts and all options; the ``score`` of what it returns is the value."""
    over: Callable[[Options], tuple[str, ...]] | None = None
    """Names the row metrics whose scores replace the counts; ``finish`` gets a function that reads them."""
    keeps: str | None = None
    """The column in which a run keeps lists of whole numbers that replace the counts, one for all metrics that name it;
    ``finish`` gets a function that reads them."""
