"""How long and how often the package waits for networks and workers: the only home of such limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RetryLimits:
    """The limits that all modules look up in :data:`RETRY_LIMITS` when they need them; tests set smaller ones there."""

    connect_seconds: float = 5.0
    """Seconds that a store has to accept a connection."""
    request_seconds: float = 30.0
    """Seconds that a store has to answer a request."""
    store_attempts: int = 3
    """How often Arrow's S3 client sends a request before it reports the failure."""

    read_tries: int = 3
    """How often a read is tried before its failure counts."""
    pause_seconds: float = 0.2
    """Seconds before the second try of a read; each later one waits twice as long."""

    lock_seconds: float = 30.0
    """Seconds that a write waits for a table of PostgreSQL that another connection, maybe of the same run, reads."""

    span_starts: int = 5
    """How often the workers of a cluster start a span before the run stops: a span may end its worker's process."""


RETRY_LIMITS = RetryLimits()
"""The limits in use in this process."""
