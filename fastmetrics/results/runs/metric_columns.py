"""Finding the score column that a user's name means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastmetrics.errors import FastmetricsError, UnknownNameError
from fastmetrics.plan.plan import parse
from fastmetrics.plan.stored_declarations import Stored


def column_named(name: str, columns: Sequence[str]) -> str:
    """The column that a name means: the one with this name, or the only one of the same metric with the same options.

    >>> column_named("MRR", ["reciprocal_rank", "token_f1"]), column_named("ndcg@10", ["nDCG@10", "ndcg@5"])
    ('reciprocal_rank', 'nDCG@10')

    A name that means no column is returned as it is.
    """
    if name in columns:
        return name
    meant = _canonical(name)
    if meant is None or meant in columns:
        return meant or name
    same = [column for column in columns if _canonical(column) == meant]
    return same[0] if len(same) == 1 else name


def _canonical(name: str) -> str | None:
    """The name of a column of this metric; None for an unknown metric."""
    try:
        return parse(name).name
    except FastmetricsError:
        return None


def unknown_metric(name: str, columns: Sequence[str], stored: Stored) -> UnknownNameError:
    """The error for a name that means no column; a metric stored under the user's own name is suggested by it."""
    specs: Mapping[str, str] = {declaration.spec: column for column, declaration in stored.items() if column in columns}
    meant = _canonical(name)
    own = [specs[meant]] if meant is not None and meant in specs else []
    return UnknownNameError.of("metric", name, columns, own)
