"""Calling a user's function in threads, or awaiting it, with a time limit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastmetrics.core.arrays import well_formed
from fastmetrics.core.visible_text import without_escapes

_LONGEST = 500


class FunctionCalls:
    """Calls one function, up to ``threads`` times at once, each call for at most ``timeout`` seconds."""

    def __init__(self, function: Callable[..., Any], name: str, threads: int, timeout: float) -> None:
        self._function, self._timeout = function, timeout
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def returned(self, *values: Any) -> Any:
        """The returned value; raises ``TimeoutError`` after the time limit."""
        async with asyncio.timeout(self._timeout):
            value = await asyncio.get_running_loop().run_in_executor(self._pool, self._function, *values)
            return await value if inspect.isawaitable(value) else value

    async def close(self) -> None:
        """Release the threads without waiting for running ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def words_of(error: Exception) -> str:
    """An exception of a user's function for messages."""
    return well_formed(without_escapes(f"{type(error).__name__}: {error}"))[:_LONGEST]
