"""Declared properties of score columns: direction, percentiles, and labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fastmetrics.core.judged_names import is_axis, is_cost
from fastmetrics.declaration.metric import Better, Metric
from fastmetrics.metrics import lookup


def declared_statistics(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The percentiles that the metrics of these score columns declare."""
    return {name: found.statistics for name, found in _declared(names) if found.statistics}


def declared_labels(names: Iterable[str]) -> dict[str, str]:
    """The declared labels of statistics of these score columns: ``{"abstained.mean": "abstain_rate"}``.

    A label applies to a metric with its default options; the column ``name@k`` gets it with the cut-off (``mrr@10``).
    A column with other options gets no label, so labels are unique.
    """
    return {
        f"{name}.{statistic}": label + cutoff
        for name, found in _declared(names)
        if re.fullmatch("(@[0-9]+)?", cutoff := name.removeprefix(found.name))
        for statistic, label in found.labels.items()
    }


def declared_better(names: Iterable[str]) -> dict[str, Better]:
    """The declared direction of these columns: ``{"hallucination": "lower"}``.

    Higher is better for a judge's scores, lower for columns of the cost of its calls.
    """
    names = list(names)
    costs: dict[str, Better] = {name: "lower" for name in names if is_cost(name)}
    axes: dict[str, Better] = {name: "higher" for name in names if is_axis(name)}
    return {**axes, **costs, **{name: found.better for name, found in _declared(names)}}


def _declared(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    """The metric declaration of each score column that has one; ``ndcg@10`` is a score of ``ndcg``."""
    for name in names:
        metric = lookup(re.split(r"[@(]", name)[0])
        if metric is not None:
            yield name, metric
