"""The report that kernels are about to be compiled."""

from __future__ import annotations

from fastmetrics.core.work_watch import COMPILING, report


def tell_watchers() -> None:
    """Report, from any thread, that a kernel is compiled instead of read from the disk."""
    report(COMPILING)
