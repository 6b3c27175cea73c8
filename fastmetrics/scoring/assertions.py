"""An assertion for tests: scores meet rules."""

from __future__ import annotations

from typing import Any

from fastmetrics.base.columns import open_frame
from fastmetrics.results.gate import gate
from fastmetrics.results.gate_rules import parse_rules
from fastmetrics.results.score_columns import column_named
from fastmetrics.scoring.score import score
from fastmetrics.tables.opening import is_paths


def assert_scores(table: Any, *rules: str, baseline: Any = None, **options: Any) -> None:
    """Raise ``AssertionError`` with a readable table unless the scores meet every rule; for use in pytest.

    ``table`` is a score file or a table of scores.  A table of answers without the columns named in the rules is first
    scored with these metrics.  ``rules`` and ``options`` are as in :func:`fastmetrics.results.gate.gate`.

    >>> import fastmetrics as fm
    >>> fm.scoring.assert_scores({"answer": ["in Paris"], "reference": ["Paris"]}, "token_f1 > 0.6", min_n=1)
    >>> fm.scoring.assert_scores({"token_f1": [0.2, 0.4]}, "token_f1 >= 0.6", min_n=2)
    Traceback (most recent call last):
    AssertionError: scores FAILED: 1 of 1 check not met
    token_f1 >= 0.6: 0.3000 over 2 rows, expected >= 0.6

    Raises the errors of ``gate`` and ``score``.
    """
    result = gate(_scored(table, rules), list(rules), baseline=baseline, **options)
    if not result.passed:
        lines = [f"{check.title}: {check.reason}" for check in result.failures]
        raise AssertionError("\n".join([f"{result.scores} {result.verdict}", *lines, *result.notes]))


def _scored(table: Any, rules: tuple[str, ...]) -> Any:
    """The table, or its scores if it lacks columns named in the rules."""
    if is_paths(table):
        return table
    metrics = list(dict.fromkeys(rule.metric for rule in parse_rules(rules) if rule.metric is not None))
    names = open_frame(table, "table").names
    return (
        table
        if not metrics or any(column_named(name, names) in names for name in metrics)
        else score(table, metrics=metrics)
    )
