"""The geometry of an embedding space: twelve values, and the accuracy of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fastmetrics.core.display import Grid, Shown


@dataclass(frozen=True)
class Estimate:
    """The accuracy of an estimated value: sample size, standard error, and bounds if known."""

    method: str
    sample: int | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Geometry(Shown):
    """The twelve values of an embedding space, the number of excluded rows, and the accuracy of each value.

    A value that is not named in ``estimates`` is exact. Undefined values are NaN: neighbour and pair distances of a
    single row.
    """

    metric: str
    k: int
    total_samples: int
    avg_nn_distance: float
    std_nn_distance: float
    density_score: float
    avg_spread: float
    max_spread: float
    spread_std: float
    effective_dimensionality: int
    avg_pairwise_distance: float
    std_pairwise_distance: float
    min_pairwise_distance: float
    max_pairwise_distance: float
    n_duplicates: int
    n_nonfinite: int
    n_zero_norm: int
    estimates: dict[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Every value under its name; ``estimates`` as a dictionary of dictionaries without unknown parts."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["estimates"] = {
            name: {key: value for key, value in asdict(estimate).items() if value is not None}
            for name, estimate in self.estimates.items()
        }
        return plain

    @property
    def figures(self) -> dict[str, float]:
        """The values by name."""
        selected = [field.name for field in fields(self) if field.name not in ("metric", "k", "estimates")]
        return {name: float(getattr(self, name)) for name in selected}

    def grids(self) -> list[Grid]:
        """The values, and the accuracy of the estimated ones."""
        values = {name: value for name, value in self.to_dict().items() if name != "estimates"}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else str(value) for name, value in values.items()}
        selected = [(name, text, _shown(self.estimates.get(name))) for name, text in shown.items()]
        return [Grid(("figure", "value", "estimate"), selected)]

    def remarks(self) -> list[str]:
        """No remarks."""
        return []

    def __str__(self) -> str:
        """One line per value, with the accuracy of estimated values."""
        lines = []
        for name, value in self.to_dict().items():
            if name != "estimates":
                shown = f"{value:.9g}" if isinstance(value, float) else str(value)
                lines.append(f"{name:<26}{shown:<16}{_shown(self.estimates.get(name))}".rstrip())
        return "\n".join(lines)


def _shown(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    parts = [estimate.method]
    if estimate.sample is not None:
        parts.append(f"sample of {estimate.sample:,}")
    if estimate.standard_error is not None:
        parts.append(f"standard error {estimate.standard_error:.2g}")
    if estimate.low is not None and estimate.high is not None:
        parts.append(f"between {estimate.low:.9g} and {estimate.high:.9g}")
    return "; ".join(parts)
