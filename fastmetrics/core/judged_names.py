"""The names of a judge's columns: ``judge_<axis>`` holds the scores, and the columns beside it begin with that name."""

from __future__ import annotations

PREFIX = "judge_"
PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY = "_prompt_tokens", "_completion_tokens", "_latency_ms"
COSTS = (PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY)
"""The endings of columns that hold numbers of an axis, but no scores of answers."""


def is_cost(name: str) -> bool:
    """Whether a column holds what a judgement cost, in tokens or milliseconds.

    >>> is_cost("judge_safety_latency_ms"), is_cost("judge_safety"), is_cost("latency_ms")
    (True, False, False)
    """
    return name.startswith(PREFIX) and name.endswith(COSTS)


def is_axis(name: str) -> bool:
    """Whether a column holds a judge's scores, of which higher is better on every rubric.

    >>> is_axis("judge_safety"), is_axis("judge_safety_latency_ms")
    (True, False)
    """
    return name.startswith(PREFIX) and not name.endswith(COSTS)
