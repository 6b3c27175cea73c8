"""The options of a comparison, checked: tests, intervals, resamples, and which of them fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastmetrics.base.errors import Argument, OptionError, UnknownNameError
from fastmetrics.base.input_columns import distinct
from fastmetrics.base.options import Choice, Real, Seed, Whole, argument
from fastmetrics.base.threads import cores
from fastmetrics.stats.mean_interval import INTERVALS, SEQUENTIAL
from fastmetrics.stats.significance import TESTS, UNPAIRED_TESTS


@dataclass(frozen=True)
class HowToCompare:
    """The settings of a comparison, common to all metrics, segments and pairs."""

    tests: Sequence[str]
    resamples: int
    bootstrap: int
    confidence: float
    interval: str
    seed: int
    threads: int | None
    margin: float | None = None
    """The difference that does not matter, for the tests of equivalence."""
    family: int = 1
    """The number of comparisons that are corrected together."""

    @property
    def corrected_alpha(self) -> float:
        """The level at which a single difference among the family is sure to be significant."""
        return (1 - self.confidence) / self.family


def check_sequential(interval: str, cluster: str | None) -> None:
    """Raise ``OptionError`` for clusters of rows and an interval that holds at every look, which no method has."""
    if interval == SEQUENTIAL and cluster is not None:
        raise OptionError(Argument("interval", interval), " cannot be combined with ", Argument("cluster"))


def check_unpaired(segments: Any, counted: Sequence[str]) -> None:
    """Raise ``OptionError`` for a table and for metrics that need pairs of rows."""
    if segments is not None:
        raise OptionError(Argument("segments"), " needs paired rows, but there is ", Argument("pairing", "none"))
    if counted:
        metrics = Argument("metrics")
        raise OptionError(
            f"{counted[0]} is compared over paired rows only; leave it out with ", metrics, ", or pair the runs"
        )


def how_to_compare(
    tests: Sequence[str] | str | None,
    resamples: int,
    bootstrap: int,
    confidence: float,
    interval: str,
    seed: int,
    threads: Any,
    margin: float | None,
    unpaired: bool,
) -> HowToCompare:
    """The settings, checked; raises ``OptionError`` and ``UnknownNameError``."""
    chosen, allowed = distinct(tests), UNPAIRED_TESTS if unpaired else TESTS
    default = SEQUENTIAL if interval == SEQUENTIAL else allowed[0]
    for name in chosen:
        if name not in allowed:
            raise UnknownNameError.of("test", name, allowed)
    if margin is not None:
        argument("margin", margin, Real(0.0, 1e300, above=True))
    if unpaired and interval not in ("auto", "t"):
        raise OptionError(Argument("interval", interval), ": runs without shared rows have Welch's interval only")
    argument("resamples", resamples, Whole(1, 100_000_000))
    argument("bootstrap", bootstrap, Whole(1, 10_000_000))
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    argument("interval", interval, Choice(*INTERVALS, SEQUENTIAL))
    argument("seed", seed, Seed)
    cores(threads)
    return HowToCompare(chosen or [default], resamples, bootstrap, confidence, interval, seed, threads, margin)
