"""The worst rows of each system by one metric: those that fell most from the first system, else the lowest scores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fastmetrics.base.arrays import Floats
from fastmetrics.base.display import number
from fastmetrics.base.errors import visible
from fastmetrics.base.specs import Better
from fastmetrics.reporting.row_links import RowLinks
from fastmetrics.reporting.rows.paired_rows import PairedRows
from fastmetrics.reporting.rows.row_selection import least
from fastmetrics.results.comparison import signed

EACH = 3
"""Maximum number of rows of a system."""
_SYSTEMS = 12
"""Maximum number of systems."""


@dataclass(frozen=True)
class WorstRow:
    """A row: its id, its score or its change from the first system, and its address on the page."""

    id: str
    value: str
    href: str


@dataclass(frozen=True)
class WorstRows:
    """The worst rows of a system, with the address of all of its rows, and the system that they are compared with."""

    metric: str
    system: str
    against: str | None
    rows: Sequence[WorstRow]
    href: str
    n_tied: int
    """Number of further rows with the value of the last one."""

    @property
    def has_ties(self) -> bool:
        """Whether rows have equal values."""
        values = [row.value for row in self.rows]
        return bool(self.n_tied) or len(set(values)) < len(values)


def worst_of_systems(
    rows: PairedRows, name: str, better: Better, systems: Sequence[str], links: RowLinks, shown: Collection[int] | None
) -> list[WorstRows]:
    """The worst rows of each system but the baseline; ``shown`` are the rows of the page, None for all of them."""
    shown_name = visible(name)
    first = systems[0]
    scores = dict(_scores(rows, name))
    lines = []
    for system in systems[:_SYSTEMS]:
        if system not in scores or (system == first and rows.base is not None):
            continue
        own, earlier = scores[system], scores.get(first) if system != first else None
        change = None if earlier is None else own - earlier
        sign = -1.0 if better == "lower" else 1.0
        fell = change is not None and bool((sign * change < 0).any())
        values = change if fell and change is not None else own
        places = [int(place) for place in least(sign * values, EACH) if shown is None or int(place) in shown]
        if fell:
            places = [place for place in places if sign * values[place] < 0]
        if not places:
            continue
        pair = (visible(first), visible(system)) if fell else None
        address = _address(links, shown_name, visible(system), pair)
        shown_rows = [
            WorstRow(rows.label(place), (signed if fell else number)(float(values[place])), f"{address}&row={place}")
            for place in places
        ]
        last = values[places[-1]]
        n_tied = int((values == last).sum() - (values[places] == last).sum())
        lines.append(WorstRows(shown_name, visible(system), pair[0] if pair else None, shown_rows, address, n_tied))
    return lines


def _scores(rows: PairedRows, name: str) -> Iterator[tuple[str, Floats]]:
    """The scores of the rows by each system that has them."""
    if not rows.n or name not in rows.names:
        return
    yield rows.main.name, np.asarray(rows.main.values(name))
    if rows.base is not None and (before := rows.before(name)) is not None:
        yield rows.base.name, before
    for system in rows.further:
        if system.has(name):
            yield system.run.name, system.scores(name)


def _address(links: RowLinks, metric: str, system: str, pair: tuple[str, str] | None) -> str:
    if pair is not None:
        return str(links.to(metric, None, pair))
    at = links.systems[system]
    alone = "" if links.shown[0] is None else "&against=none"
    own = "" if at == links.shown[1] else f"&system={at}"
    return f"{links.to(metric)}{own}{alone}"
