"""How many cores no process uses."""

from __future__ import annotations

import os
import time
from pathlib import Path


def idle_cores(seconds: float) -> float | None:
    """How many of the cores that this process may use are idle, on average over ``seconds``.

    None if the system does not tell, as none but Linux does.

    >>> idle_cores(0.05) is None or idle_cores(0.05) > -0.1
    True
    """
    began, before = time.monotonic(), _idle_seconds()
    if before is None:
        return None
    time.sleep(seconds)
    after = _idle_seconds()
    return None if after is None else (after - before) / (time.monotonic() - began)


def _idle_seconds() -> float | None:
    """The time that the cores of this process were idle since the system started."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        own_cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    except (OSError, AttributeError):
        return None
    times = {name: fields for name, *fields in map(str.split, lines) if name in own_cores}
    idle_and_waiting = sum(int(number) for fields in times.values() for number in fields[3:5])
    return idle_and_waiting / os.sysconf("SC_CLK_TCK") if len(times) == len(own_cores) else None
