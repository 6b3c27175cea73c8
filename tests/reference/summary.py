"""What a column of scores comes down to."""

import math


def summary(values: list[float | None]) -> dict[str, float]:
    """Counts, and the statistics of the values that are neither missing (None) nor undefined (NaN)."""
    defined = [value for value in values if value is not None]
    scored = sorted(value for value in defined if not math.isnan(value))
    counts = {"n": len(scored), "n_missing": len(values) - len(defined), "n_undefined": len(defined) - len(scored)}
    if not scored:
        return counts | dict.fromkeys(("mean", "std", "min", "max"), math.nan)
    mean = math.fsum(scored) / len(scored)
    variance = math.fsum((value - mean) ** 2 for value in scored) / len(scored)
    return counts | {"mean": mean, "std": math.sqrt(variance), "min": scored[0], "max": scored[-1]}


def percentile(values: list[float], percent: float) -> float:
    """Linear interpolation between the two nearest ranks, the ranks running from 0 to n - 1."""
    ranked = sorted(values)
    if not ranked:
        return math.nan
    position = (len(ranked) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (position - below)
