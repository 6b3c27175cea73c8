"""All pairs of the texts of two columns: each pair is a row, and each text keeps its place among the distinct ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fastmetrics.base.arrays import Ints, Memo, Tokens


@dataclass(frozen=True, eq=False)
class Side:
    """One side of all pairs of n and m texts, where row i · m + j is the pair of texts i and j.

    ``texts`` are the positions of the texts in their column, and ``rows`` is the one of each pair.
    """

    texts: Ints
    rows: Ints
    is_first: bool


def sides(first: Ints, second: Ints) -> tuple[Side, Side]:
    """Both sides of all pairs of the texts at these positions.

    >>> [side.rows.tolist() for side in sides(np.array([4, 5]), np.array([0, 1, 2]))]
    [[4, 4, 4, 5, 5, 5], [0, 1, 2, 0, 1, 2]]
    """
    return (
        Side(first, np.repeat(first, len(second)), is_first=True),
        Side(second, np.tile(second, len(first)), is_first=False),
    )


@dataclass(frozen=True, eq=False)
class Crossed(Tokens):
    """The tokens of one side of all pairs; ``texts`` are those of its distinct texts, which may cache an index."""

    texts: Tokens = field(kw_only=True)
    is_first: bool = field(kw_only=True)

    def take(self, rows: Ints) -> Tokens:
        """The texts of the pairs ``rows``, which are no longer all pairs."""
        return Tokens(self.ids, self.starts[rows], self.stops[rows], self.n_words)


def crossed(tokens: Tokens, side: Side) -> Crossed:
    """The tokens of a column on one side of all pairs.  The second side shares the memo of ``tokens``."""
    starts, stops = tokens.starts[side.rows], tokens.stops[side.rows]
    texts = tokens.take(side.texts) if side.is_first else tokens
    return Crossed(tokens.ids, starts, stops, tokens.n_words, Memo(), texts=texts, is_first=side.is_first)
