"""``fastmetrics summarize-by``: means with intervals, over all rows and segments."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import (
    AsJson,
    Bootstrap,
    By,
    Cluster,
    Confidence,
    Interval,
    IntervalKind,
    OnlyMetrics,
    Plugins,
    Scores,
    Seed,
    Threads,
)


def summarize_by(
    scores: Scores,
    *,
    by: By = None,
    metrics: OnlyMetrics = None,
    cluster: Cluster = None,
    confidence: Confidence = 0.95,
    interval: Interval = IntervalKind.auto,
    bootstrap: Bootstrap = 2_000,
    seed: Seed = 0,
    threads: Threads = None,
    plugin: Plugins = None,
    as_json: AsJson = False,
    arguments: Arguments,
) -> Any:
    """Show means with intervals, also of segments."""
    from fastmetrics.results.summary.summarize_by import summarize_by

    return arguments.call(summarize_by)
