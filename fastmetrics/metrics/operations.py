"""What a call cost: time and tokens as logged, with the percentiles a summary reports (S0, S1)."""

from __future__ import annotations

import numpy as np

from fastmetrics.core.arrays import Floats
from fastmetrics.declaration.metric import metric
from fastmetrics.declaration.representations import Number


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S0 and S1, latency",
    statistics=("p50", "p90", "p95", "p99"),
    aliases=["latency"],
)
def latency_ms(latency_ms: Number) -> Floats:
    """Milliseconds from request to answer, as logged.

    A summary adds the 50th, 90th, 95th and 99th percentile, interpolated linearly as NumPy does.

    >>> import fastmetrics as fm
    >>> fm.latency_ms([120, 80.5, None])
    array([120. ,  80.5,   nan])
    """
    return latency_ms.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def prompt_tokens(prompt_tokens: Number) -> Floats:
    """Tokens of the prompt, as logged.

    >>> import fastmetrics as fm
    >>> fm.prompt_tokens([512, 498])
    array([512., 498.])
    """
    return prompt_tokens.values


@metric(bounds=(0, np.inf), better="lower", source="S1, total tokens")
def completion_tokens(completion_tokens: Number) -> Floats:
    """Tokens of the answer, as logged.

    >>> import fastmetrics as fm
    >>> fm.completion_tokens([24, 31])
    array([24., 31.])
    """
    return completion_tokens.values


@metric(
    bounds=(0, np.inf),
    better="lower",
    source="S1, total tokens (Avg Total Tokens)",
    labels={"mean": "avg_total_tokens"},
    cues=["tokens"],
)
def total_tokens(total_tokens: Number) -> Floats:
    """Tokens of prompt and answer together, as logged.

    >>> import fastmetrics as fm
    >>> fm.total_tokens([536, 529])
    array([536., 529.])
    """
    return total_tokens.values
