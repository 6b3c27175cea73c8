"""``fastmetrics summarize-by``: means with intervals, over all rows and segments."""

from __future__ import annotations

from fastmetrics.commands.options.option_syntax import name_list, split
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
    load_plugins,
)
from fastmetrics.commands.program.terminal import print_lines, print_pieces


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
) -> None:
    """Show means with intervals, also of segments."""
    from fastmetrics.results.summary.summarize_by import summarize_by

    load_plugins(plugin)
    summary = summarize_by(
        scores,
        by=name_list(by, "--by"),
        metrics=split(metrics) or None,
        cluster=cluster,
        confidence=confidence,
        interval=interval.value,
        bootstrap=bootstrap,
        seed=seed,
        threads=threads,
    )
    print_pieces(summary.json_pieces()) if as_json else print_lines(summary.lines())
