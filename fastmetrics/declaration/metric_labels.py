"""The labels of a metric: the source's names for the figures of its summary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

AT_K = "@k"
"""The end of a label that applies with a cut-off only."""


class Label(NamedTuple):
    """A label: the options that it belongs to, as in a spec (empty for the defaults), its statistic, and the name."""

    options: str
    statistic: str
    name: str


def labelled(labels: Mapping[str, str]) -> list[Label]:
    """The labels of a declaration.

    >>> labelled({"mean": "mrr", "(k=3).mean": "mrr3"})
    [Label(options='', statistic='mean', name='mrr'), Label(options='(k=3)', statistic='mean', name='mrr3')]
    """
    return [Label(*key.rpartition(".")[::2], name) for key, name in labels.items()]


def typed(labels: Mapping[str, str]) -> list[str]:
    """The labels that can be typed where names of metrics are expected: of default options, without spaces.

    >>> typed({"mean": "mrr", "p50": "P50 Latency (ms)", "(k=3).mean": "mrr3"})
    ['mrr']
    """
    return [label.name for label in labelled(labels) if not label.options and re.fullmatch(r"[\w+-]+(@k)?", label.name)]


def labels_of(labels: Mapping[str, str], options: str) -> dict[str, str]:
    """The labels by statistic of a metric with options, which are written as in its spec.

    A label applies to the default options, and with a cut-off gets the same (``mrr@10``); a label such as ``recall@k``
    applies with a cut-off only; a label of other options applies to exactly these.  Labels are thus unique.

    >>> [labels_of({"mean": "mrr", "(k=3).mean": "mrr3"}, options) for options in ("@10", "(k=3)", "(k=4)")]
    [{'mean': 'mrr@10'}, {'mean': 'mrr3'}, {}]
    """
    by_statistic = {}
    plain = re.fullmatch("(@[0-9]+)?", options) is not None
    for label in labelled(labels):
        if label.options and label.options == options:
            by_statistic[label.statistic] = label.name
        elif plain and not label.options and (options or not label.name.endswith(AT_K)):
            by_statistic[label.statistic] = label.name.removesuffix(AT_K) + options
    return by_statistic


def described(labels: Mapping[str, str], quote: str = "") -> list[str]:
    """A line for each label.

    >>> described({"(k=3).mean": "mrr3"}, "`")
    ['in a summary, its mean is also `mrr3` with `k=3`']
    """
    return [
        f"in a summary, its {label.statistic} is also {quote}{label.name}{quote}"
        + (f" with {quote}{label.options[1:-1]}{quote}" if label.options else "")
        for label in labelled(labels)
    ]
