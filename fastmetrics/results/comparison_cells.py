"""The cells of tables of comparisons as text; – for a value that does not exist."""

from __future__ import annotations

import math

from fastmetrics.core.display import number
from fastmetrics.results.compared_pair import Compared


def counted(count: int | None) -> str:
    """A count.

    >>> counted(1500), counted(None)
    ('1,500', '–')
    """
    return "–" if count is None else number(count)


def rows(one: Compared) -> str:
    """The number of paired rows, or of both systems' rows if they are independent."""
    return number(one.n_paired) if one.n_paired else f"{one.n_only_baseline:,} + {one.n_only_other:,}"


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.25), signed(-0.25), signed(math.nan)
    ('+0.2500', '-0.2500', '–')
    """
    return "–" if math.isnan(value) else ("+" if value > 0 else "") + number(value)


def bounds(low: float, high: float, mark: str = "") -> str:
    """The interval of a difference, and a mark.

    >>> bounds(-0.5, 0.25, "*")
    '[-0.5000, +0.2500]*'
    """
    return f"–{mark}" if math.isnan(low) else f"[{signed(low)}, {signed(high)}]{mark}"


def p_value(p: float) -> str:
    """A p value.

    >>> p_value(0.03), p_value(1e-9)
    ('0.0300', '<0.0001')
    """
    return "–" if math.isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}"
