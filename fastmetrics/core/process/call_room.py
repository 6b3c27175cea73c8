"""Room for deeply nested Python calls.

CPython keeps the frames of nested calls in chunks of 16 KB.  A call that does not fit into a chunk maps a new one, and
its return unmaps it again: a loop that happens to call from there asks the system for memory at each turn.  Imports
and Numba's compiler nest hundreds of calls; the system's time is a tenth of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")

_SLOTS = 70_000
"""Places of a frame: more than half of a chunk of 1 MB, the next size, whose other half is for the calls within."""


def with_room(function: Callable[..., R], *arguments: Any) -> R:
    """The result of ``function``, whose nested calls share one large chunk of frames.

    >>> with_room(max, 3, 5)
    5
    """
    return function(*arguments)


with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)
