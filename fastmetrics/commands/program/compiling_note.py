"""The note that a command compiles kernels, which takes 13 to 20 seconds at the first use on a machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastmetrics.base.threads import COMPILING, WATCHERS, WorkDone
from fastmetrics.commands.program.terminal import print_error

NOTE = "compiling kernels for this machine: up to 20 seconds, at the first use only"


@contextmanager
def compiling_note(options: Mapping[str, Any]) -> Iterator[None]:
    """Within this block, say once on a terminal that kernels are compiled; not with ``--quiet`` or ``--json``."""
    if any(options.get(name) for name in ("quiet", "as_json", "json")) or not sys.stderr.isatty():
        yield
        return

    def say(work: WorkDone) -> None:
        if work is COMPILING and say in WATCHERS:
            WATCHERS.remove(say)
            print_error(NOTE)

    WATCHERS.append(say)
    try:
        yield
    finally:
        if say in WATCHERS:
            WATCHERS.remove(say)
