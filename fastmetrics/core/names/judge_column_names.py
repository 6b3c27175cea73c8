"""The names of a judge's columns: ``judge_<axis>`` contains the scores; the names of related columns start with it."""

from __future__ import annotations

PREFIX = "judge_"
PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY = "_prompt_tokens", "_completion_tokens", "_latency_ms"
COSTS = (PROMPT_TOKENS, COMPLETION_TOKENS, LATENCY)
"""The suffixes of columns with numbers about a judgement that are not scores of answers."""

CALL = "_call"
"""The suffix of the column with the id of a row's first call; rows of the same id share all their calls."""

LATENCIES = "_latencies_ms"
"""The suffix of the column with the latency of each repeat."""


def is_cost(name: str) -> bool:
    """Whether a column contains the cost of a judgement, in tokens or milliseconds.

    >>> is_cost("judge_safety_latency_ms"), is_cost("judge_safety"), is_cost("latency_ms")
    (True, False, False)
    """
    return name.startswith(PREFIX) and name.endswith(COSTS)


def is_axis(name: str) -> bool:
    """Whether a column contains a judge's scores; higher is better in every rubric.

    >>> is_axis("judge_safety"), is_axis("judge_safety_latency_ms")
    (True, False)
    """
    return name.startswith(PREFIX) and not name.endswith(COSTS)
