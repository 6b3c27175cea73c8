"""The quality of a judge: consistency, errors, decisions against labels; win rates and strengths from pairwise
judgements.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.arrays import Floats, floats_of_arrow, is_list
from fastmetrics.base.columns import as_array, as_matrix, as_numbers, as_strings, by_index
from fastmetrics.base.display import Grid, NotebookTables, plain
from fastmetrics.base.errors import Argument, InputError, OptionError
from fastmetrics.base.notes import Note
from fastmetrics.base.options import Real, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.stats.confusion import Confusion, class_figures, zero_by_zero
from fastmetrics.stats.estimates import UNDEFINED, Estimate, Sample
from fastmetrics.stats.mean_interval import mean_interval, share
from fastmetrics.stats.raters import krippendorff_alpha

# The quality of a judge: consistency, error rate, latency, and its decisions against labels.


_SHARE = 0.125
"""The default tolerance as a share of the range: 0.5 of the range 1 to 5."""
_RELIABLE, _UNSTABLE = 0.9, 0.7
_NO_CALL = ("missing", "too_long", "budget", "identical")
"""Statuses of rows without a call."""
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Consistency(NotebookTables):
    """Agreement of the repeats of one question; NaN if no row has two scores."""

    share: Estimate
    """Rows whose two scores differ by at most the tolerance / rows; for more repeats, the mean over pairs.

    Its interval is over rows, whose repeats belong together."""
    deviation: float
    """The mean over rows of the standard deviation of the row's scores (ddof = 1)."""
    alpha: float
    """Krippendorff's alpha of the repeats, as numbers."""
    n: int
    """Rows with two scores or more."""
    tolerance: float

    @property
    def reading(self) -> str:
        """``reliable`` above 0.9, ``unstable`` below 0.7, ``fair`` between, ``undefined`` without repeats."""
        share = self.share.value
        if math.isnan(share):
            return "undefined"
        return "reliable" if share > _RELIABLE else "unstable" if share < _UNSTABLE else "fair"

    def to_dict(self) -> dict[str, Any]:
        """The figures with their reading."""
        return {**plain(self), "reading": self.reading}


def judge_consistency(
    scores: Any,
    *,
    range: tuple[float, float] = (1, 5),
    tolerance: float | None = None,
    confidence: float = 0.95,
) -> Consistency:
    """Agreement between repeated scores; ``scores`` has one row per question and one column per repeat.

    Null and NaN scores are ignored.  Two scores agree if they differ by at most ``tolerance``, by default an eighth of
    the rubric's ``range``: 0.5 for 1 to 5, 0.125 for 0 to 1.  For two repeats, the share is over the rows with both
    scores; for more, it is the mean of that share over the pairs of repeats that have such rows.  The
    interval is that of a mean over rows (:func:`fastmetrics.stats.mean_interval.mean_interval`).

    >>> found = judge_consistency([[4, 4.5], [3, 5], [2, 2], [1, None]])
    >>> round(found.share.value, 4), found.n, found.reading
    (0.6667, 3, 'unstable')

    Raises ``ColumnError`` for rows of different length and ``OptionError`` for an empty range or a negative tolerance.
    """
    low, high = range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OptionError(Argument("range", range), ": expected the lowest and the highest score")
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    limit = (high - low) * _SHARE if tolerance is None else argument("tolerance", tolerance, Real(0, high - low))
    matrix = as_matrix(scores, "scores")
    present = ~np.isnan(matrix)
    shares = []
    agreed, compared = np.zeros(len(matrix)), np.zeros(len(matrix))
    for first, second in itertools.combinations(np.arange(matrix.shape[1]), 2):
        both = present[:, first] & present[:, second]
        close = np.abs(matrix[both, first] - matrix[both, second]) <= limit + 1e-12 * (high - low)
        shares += [int(close.sum()) / len(close)] if len(close) else []
        agreed[both] += close
        compared[both] += 1
    several = matrix[present.sum(axis=1) >= 2]
    return Consistency(
        share=_share_of_rows(_mean(shares), agreed[compared > 0] / compared[compared > 0], confidence),
        deviation=_mean([float(np.std(row[~np.isnan(row)], ddof=1)) for row in several]),
        alpha=krippendorff_alpha(several.T, level="interval") if len(several) else math.nan,
        n=len(several),
        tolerance=float(limit),
    )


def _share_of_rows(share: float, rows: Floats, confidence: float) -> Estimate:
    """A share, with the interval of the mean of rows, moved to it, as rows without some repeats weigh less in it."""
    if math.isnan(share):
        return UNDEFINED
    sample = Sample.of(rows, None, (0.0, 1.0))
    interval, moved = mean_interval(sample, confidence), share - sample.mean
    low, high = max(interval.low + moved, 0.0), min(interval.high + moved, 1.0)
    return Estimate.of(share, replace(interval, low=low, high=high))


def judge_error_rate(statuses: Any) -> float:
    """Calls without a score / calls, by their statuses; NaN if there were no calls.

    Only ``ok`` has a score.  ``missing``, ``too_long``, ``budget``, ``identical`` and null mean that no call was made.

    >>> judge_error_rate(["ok", "unparsed", "ok", "timeout", "missing"])
    0.5

    Raises ``ColumnError`` for a column that is not text.
    """
    calls = [status for status in as_strings(statuses, "statuses") if status is not None and status not in _NO_CALL]
    return sum(status != "ok" for status in calls) / len(calls) if calls else math.nan


@dataclass(frozen=True)
class Latency(NotebookTables):
    """Milliseconds: the mean and percentiles (linear interpolation, as NumPy) of ``n`` values; NaN without values."""

    n: int
    mean: float
    percentiles: Mapping[str, float]


def judge_latency(milliseconds: Any) -> Latency:
    """The mean and percentiles of the latency of judgements; null and NaN are ignored.

    ``milliseconds`` has one value for each judgement, or a list of them for each row: ``judge_X_latency_ms`` without
    repeats, ``judge_X_latencies_ms`` with repeats.  A judgement that took a second request lasts as long as both.

    >>> judge_latency([100, 200, 300, None]).percentiles["p50"]
    200.0
    >>> judge_latency([[100, 300], [200, None]]).n
    3

    Raises ``ColumnError`` for a column that contains neither numbers nor lists of them.
    """
    array = as_array(milliseconds, "milliseconds")
    values = floats_of_arrow(array.flatten() if is_list(array.type) else array, "milliseconds")
    values = values[~np.isnan(values)]
    percentiles = np.percentile(values, PERCENTILES).tolist() if len(values) else [math.nan] * len(PERCENTILES)
    names = [f"p{percent}" for percent in PERCENTILES]
    return Latency(len(values), _mean(values.tolist()), dict(zip(names, percentiles, strict=True)))


def status_counts(statuses: Sequence[str | None]) -> dict[str, int]:
    """The count of each status, in alphabetical order; null is ``none``."""
    return dict(sorted(Counter(status or "none" for status in statuses).items()))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


@dataclass(frozen=True)
class JudgeDecisions(NotebookTables):
    """The confusion table of decisions, and figures derived from it."""

    tp: int
    """Shown correctly."""
    fp: int
    """Shown, but should have been held back."""
    fn: int
    """Held back, but should have been shown."""
    tn: int
    """Held back correctly."""
    n_left_out: int
    """Rows without a decision or a label."""
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    latency: Latency
    confidence: float

    def grids(self) -> Sequence[Grid]:
        """The figures, and the latency."""
        return [*super().grids(), *self.latency.grids()]


def judge_decisions(
    shown: Any,
    labels: Any,
    *,
    latency_ms: Any = (),
    confidence: float = 0.95,
) -> JudgeDecisions:
    """The quality of decisions: counts, accuracy, precision, recall and F1, each with its interval, and latency.

    ``shown`` and ``labels`` contain booleans (or 0 and 1): the decision and the correct decision; rows with null or NaN
    are ignored.  0/0 is 0.  The intervals are exact (Clopper and Pearson 1934), that of F1 by way of the share TP/(TP +
    FP + FN), of which F1 is a function.  A figure with a zero denominator has no interval: NaN.

    >>> found = judge_decisions([1, 1, 0, 0, None], [1, 0, 1, 0, 1])
    >>> found.tp, found.fp, found.fn, found.tn, found.f1.value
    (1, 1, 1, 1, 0.5)

    Raises ``InputError`` for columns of different length and for values other than 0 and 1, ``ColumnError`` for columns
    that contain neither numbers nor booleans.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    predicted, good = (_flags(name, data) for name, data in by_index({"shown": shown, "labels": labels}).items())
    if len(predicted) != len(good):
        raise InputError(f"shown has {len(predicted):,} rows and labels {len(good):,}")
    complete = ~np.isnan(predicted) & ~np.isnan(good)
    asked, named = good[complete].astype(np.int64), predicted[complete].astype(np.int64)
    confusion = Confusion.of(asked, named, ["0", "1"])
    tn, fp, fn, tp = confusion.matrix().ravel().tolist()
    of_ones = class_figures(confusion, confidence)[1]
    return JudgeDecisions(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        n_left_out=int((~complete).sum()),
        accuracy=zero_by_zero(share(tp + tn, len(asked), confidence)),
        precision=of_ones.precision,
        recall=of_ones.recall,
        f1=of_ones.f1,
        latency=judge_latency(latency_ms),
        confidence=confidence,
    )


def _flags(name: str, data: Any) -> Floats:
    """0, 1 and NaN."""
    values = as_numbers(data, name)
    other = ~(np.isnan(values) | (values == 0) | (values == 1))
    if other.any():
        row = int(other.argmax())
        raise InputError(f"{name}, row {row}: expected true or false (1 or 0), got {values[row]:g}")
    return values


# Pairwise judgements: win rate, flips by order, and the strengths of many systems.


_FEW = 20
"""With fewer contests, the normal interval of a strength is approximate."""


@dataclass(frozen=True)
class Pairwise(NotebookTables):
    """The results of comparing two answers in both orders."""

    win_rate: Estimate
    """The win rate of the first system over the rows judged in both orders; a tie is half a win."""
    flips: Estimate
    """The share of rows judged in both orders whose two verdicts differ, without rows of identical answers."""
    first_place: Estimate
    """The share of verdicts for the answer shown first, excluding ties; 0.5 is no preference."""
    n: int
    """Rows judged in both orders, and rows of identical answers."""
    n_identical: int
    """Rows of identical answers: ties without a call."""
    n_one_order: int
    """Rows judged in one order only."""
    n_none: int
    """Rows without a verdict."""


def pairwise(
    first: Annotated[Any, Help("The verdicts with a first.")],
    second: Annotated[Any, Help("The verdicts with b first.")],
    *,
    a: Annotated[str, Help("The name of one system.")] = "A",
    b: Annotated[str, Help("The name of the other system.")] = "B",
    tie: Annotated[str, Help("The verdict of a tie.")] = "tie",
    rows: Annotated[Any, Help("The row of each pair of verdicts.")] = None,
    identical: Annotated[Any, Help("Whether the answers of a row are identical.")] = None,
    confidence: shared.Confidence = 0.95,
) -> Pairwise:
    """Win rate, flips and first-position preference of verdicts given with A shown first, then with B first.

    A verdict is the name of the better system, ``a`` or ``b``, whatever its position, or ``tie``; null is no verdict.
    Rows with one verdict are excluded from the win rate and the flips, which the position would bias.  They count in
    the first-position preference, which excludes ties.  The intervals are those of means over rows, whose two verdicts
    belong together (:func:`fastmetrics.stats.mean_interval.mean_interval`).  Without rows, all figures
    are NaN.

    ``rows`` identifies the row of each pair of verdicts if rows were judged several times: pairs with the same value
    are repeats of one row.  A row then counts once, with the means of its pairs, since repeats add no rows.

    ``identical`` marks the pairs of verdicts on two identical answers, which :func:`judge` counts as ties without a
    call (status ``identical``).  They count in the win rate, but not in the flips and the first-position preference,
    which describe the judge.

    >>> found = pairwise(["A", "A", "tie", "B"], ["A", "B", "B", None])
    >>> round(found.win_rate.value, 3), round(found.flips.value, 3), round(found.first_place.value, 3), found.n
    (0.583, 0.667, 0.667, 3)

    >>> pairwise(["A", "A", "B"], ["A", "B", "B"], rows=[1, 1, 2]).win_rate.value
    0.375

    All are columns of any kind.  Raises ``InputError`` for columns of different length and for another verdict,
    ``ColumnError`` for verdicts that are not text.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    given = by_index({"first": first, "second": second, "rows": rows, "identical": identical})
    first, second = (as_strings(given[name], name) for name in ("first", "second"))
    rows, identical = given["rows"], given["identical"]
    if len(first) != len(second):
        raise InputError(f"the first order has {len(first):,} verdicts and the second {len(second):,}")
    names = range(len(first)) if rows is None else as_array(rows, "rows").to_pylist()
    marks = [False] * len(first) if identical is None else as_array(identical, "identical").to_pylist()
    for name, values in (("rows", names), ("identical", marks)):
        if len(values) != len(first):
            lengths = f"there are {len(first):,} pairs of verdicts, but "
            raise InputError(lengths, Argument(name), f" has {len(values):,}")
    worth = {a: 1.0, b: 0.0, tie: 0.5}
    for order, verdicts in (("first", first), ("second", second)):
        for row, verdict in enumerate(verdicts):
            if verdict is not None and verdict not in worth:
                raise InputError(f"{order} order, row {row}: expected {a!r}, {b!r}, {tie!r} or null, got {verdict!r}")
    pairs_of_row: dict[Any, list[tuple[str | None, str | None]]] = {}
    for row, pair in zip(names, zip(first, second, strict=True), strict=True):
        pairs_of_row.setdefault(row, []).append(pair)
    same = {row for row, equal in zip(names, marks, strict=True) if equal}
    wins, flips, first_shown = [], [], []
    none = 0
    for row, pairs in pairs_of_row.items():
        complete = [(x, y) for x, y in pairs if x is not None and y is not None]
        if complete:
            wins.append(sum(worth[x] + worth[y] for x, y in complete) / (2 * len(complete)))
            flips += [] if row in same else [sum(x != y for x, y in complete) / len(complete)]
        none += all(x is None and y is None for x, y in pairs)
        choices = [x == a for x, _ in pairs if x in (a, b)] + [y == b for _, y in pairs if y in (a, b)]
        if choices and row not in same:
            first_shown.append((sum(choices) / len(choices), min(len(choices), 2)))
    return Pairwise(
        win_rate=_mean_of_pairwise(wins, confidence),
        flips=_mean_of_pairwise(flips, confidence),
        first_place=_mean_of_pairwise(
            [share for share, _ in first_shown], confidence, [orders for _, orders in first_shown]
        ),
        n=len(wins),
        n_identical=len(same),
        n_one_order=len(pairs_of_row) - len(wins) - none,
        n_none=none,
    )


def _mean_of_pairwise(shares: Sequence[float], confidence: float, verdicts: Sequence[int] = ()) -> Estimate:
    """The mean over rows, or over verdicts if rows have different numbers of them, with its interval."""
    if not shares:
        return UNDEFINED
    rows = Sample.of(np.array(shares), None, (0.0, 1.0))
    if len(set(verdicts)) > 1:
        clusters = np.repeat(np.arange(len(shares)), verdicts)
        rows = Sample.of(np.repeat(shares, verdicts), clusters, (0.0, 1.0))
    return Estimate.of(rows.mean, mean_interval(rows, confidence))


def bradley_terry(
    contests: Iterable[tuple[str, str, str | None]], *, tie: str = "tie", confidence: float = 0.95
) -> dict[str, Estimate]:
    """Strengths of systems from contests of two, given as (one, other, winner); strongest first.

    P(i beats j) = 1 / (1 + exp(sⱼ − sᵢ)); the strengths s maximise the likelihood and sum to 0.  A tie is half a win
    for each; contests with a null winner are ignored.  Intervals are s ± z·e with e from the inverse of the information
    matrix, assuming independent contests; those of a system with fewer than 20 contests have a note.  Source: Bradley
    and Terry 1952; Hunter 2004.

    >>> found = bradley_terry([("x", "y", "x")] * 3 + [("x", "y", "y")])
    >>> {name: round(one.value, 4) for name, one in found.items()}
    {'x': 0.5493, 'y': -0.5493}

    Raises ``InputError`` if the winner is neither of the two, if a system is compared with itself, or if strengths are
    undefined: the contests do not connect all systems, or a group of systems won, or lost, all contests with the
    others.
    """
    argument("confidence", confidence, Real(0.0, 1.0, above=True, below=True))
    names, wins = _wins(contests, tie)
    if not names:
        raise InputError("expected at least one contest")
    _defined(names, wins)
    strengths, information = _fitted(wins)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    errors = np.sqrt(np.diag(np.linalg.inv(information + 1.0) - 1.0 / len(names) ** 2))
    order = sorted(range(len(names)), key=lambda i: (-strengths[i], names[i]))
    estimates = {}
    for i in order:
        value, margin = float(strengths[i]), z * float(errors[i])
        few = float((wins[i] + wins[:, i]).sum()) < _FEW
        note = Note("few_contests", least=_FEW) if few else None
        estimates[names[i]] = Estimate(value, value - margin, value + margin, "normal", note)
    return estimates


def _wins(contests: Iterable[tuple[str, str, Any]], tie: str) -> tuple[list[str], Floats]:
    """The systems in alphabetical order, and the number of wins of each (row) against each (column)."""
    decided = [(row, *contest) for row, contest in enumerate(contests) if contest[2] is not None]
    names = sorted({name for _, left, right, _ in decided for name in (left, right)})
    place, wins = {name: at for at, name in enumerate(names)}, np.zeros((len(names), len(names)))
    for row, left, right, winner in decided:
        if left == right:
            raise InputError(f"contest {row}: {left!r} is compared with itself")
        if winner not in (left, right, tie):
            raise InputError(f"contest {row}: expected {left!r}, {right!r}, {tie!r} or null, got {winner!r}")
        share = 0.5 if winner == tie else float(winner == left)
        wins[place[left], place[right]] += share
        wins[place[right], place[left]] += 1 - share
    return names, wins


def _defined(names: Sequence[str], wins: Floats) -> None:
    """Raise ``InputError`` unless a chain of wins leads from each system to each other."""
    from scipy.sparse.csgraph import connected_components, shortest_path

    n_groups, group = connected_components(wins)
    if n_groups > 1:
        groups = sorted(", ".join(names[i] for i in np.flatnonzero(group == one).tolist()) for one in range(n_groups))
        raise InputError(f"strengths are undefined: no contests connect these groups of systems: {' | '.join(groups)}")
    won = np.isfinite(shortest_path(wins > 0))
    if not won.all():
        row = int(np.argmax(won.sum(axis=1) < len(names)))
        below = ", ".join(names[i] for i in np.flatnonzero(won[row]).tolist())
        above = ", ".join(names[i] for i in np.flatnonzero(~won[row]).tolist())
        raise InputError(
            f"strengths are undefined: {below} lost all contests with {above}, so the difference is infinite"
        )


def _fitted(wins: Floats) -> tuple[Floats, Floats]:
    """The maximum-likelihood strengths, by Newton steps with halving; and the information matrix."""
    games, strengths = wins + wins.T, np.zeros(len(wins))
    for _ in range(200):
        odds = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        slope = wins.sum(axis=1) - (games * odds).sum(axis=1)
        weights = games * odds * odds.T
        information = np.diag(weights.sum(axis=1)) - weights
        step = np.linalg.solve(information + 1.0, slope)
        size = float(np.abs(step).max())
        if size < 1e-13:
            break
        strengths = strengths + step * min(1.0, 1.0 / size)
        strengths -= math.fsum(strengths) / len(strengths)
    return strengths, information
