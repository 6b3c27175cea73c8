"""Alternative columns: a metric needs one of several sets of columns."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from fastmetrics.base.arrays import Flags
from fastmetrics.declaration.batch import Batch, Options


@dataclass(frozen=True)
class Either:
    """``sets`` of optional columns, one of which a table must have; ``rows`` says which rows are complete.

    >>> str(Either((("total_tokens",), ("prompt_tokens", "completion_tokens")), lambda batch, options: None))
    "'total_tokens', or 'prompt_tokens' and 'completion_tokens'"
    """

    sets: tuple[tuple[str, ...], ...]
    rows: Callable[[Batch, Options], Flags]

    def met_by(self, columns: Collection[str]) -> bool:
        """Whether the columns contain one of the sets."""
        return any(set(names) <= set(columns) for names in self.sets)

    def __str__(self) -> str:
        return ", or ".join(" and ".join(map(repr, names)) for names in self.sets)
