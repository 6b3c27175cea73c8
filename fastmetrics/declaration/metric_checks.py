"""Checks of what a declaration says to the readers of a metric's scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from fastmetrics.base.errors import PluginError, either, nearest, shown

OWN_NAME = "name"
"""The option of every metric that names its column."""


def check_meaning(name: str, bounds: Any, better: Any, reading: Any, options: Iterable[str]) -> None:
    """Raise ``PluginError`` for a direction, bounds or a reading that no reader could use, or a reserved option."""
    if better not in ("higher", "lower", None):
        near = nearest(better, ("higher", "lower")) if isinstance(better, str) else []
        meant = f"; did you mean {either(near)}?" if near else ""
        raise PluginError(f"metric {name!r}: better={shown(better)}: expected 'higher', 'lower' or None{meant}")
    if not (_are_numbers(bounds) and len(bounds) == 2 and bounds[0] < bounds[1]):
        raise PluginError(
            f"metric {name!r}: bounds={shown(bounds)}: expected the smallest and the largest score, as in (0, 1)"
        )
    if reading is not None:
        _check_reading(name, better, reading)
    if OWN_NAME in options:
        raise PluginError(f"metric {name!r}: an option cannot be called {OWN_NAME!r}, which names the score column")


def _check_reading(name: str, better: Any, reading: Any) -> None:
    means = [mean for mean in reading if mean is not None] if isinstance(reading, tuple | list) else []
    if better is None or len(reading) != 2 or reading[0] is None or not _are_numbers(means):
        raise PluginError(
            f"metric {name!r}: reading={shown(reading)}: expected the means that are good and poor, as in (0.9, 0.5) "
            "or (0.9, None), of a metric with a direction"
        )
    if len(means) == 2 and (means[0] > means[1]) != (better == "higher"):
        raise PluginError(f"metric {name!r}: reading={shown(reading)}: {better} is better, but the poor mean is better")


def _are_numbers(values: Any) -> bool:
    return isinstance(values, tuple | list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) for value in values
    )
