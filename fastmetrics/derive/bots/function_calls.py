"""Calling a user's function in threads, or awaiting it, with a time limit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import without_escapes
from fastmetrics.derive.clients.key_mask import KeyMask, keys_of_environment

_LONGEST = 500
_ENDINGS = (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
"""Exceptions that would end the event loop, or its task, instead of one call."""


class FunctionCalls:
    """Calls one function, up to ``threads`` times at once, each call for at most ``timeout`` seconds."""

    def __init__(self, function: Callable[..., Any], name: str, threads: int, timeout: float) -> None:
        self._function, self._timeout = function, timeout
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def returned(self, *values: Any) -> Any:
        """The returned value; raises ``TimeoutError`` after the time limit."""
        try:
            async with asyncio.timeout(self._timeout) as limit:
                value = await asyncio.get_running_loop().run_in_executor(self._pool, self._value, *values)
                return await _awaited(value) if inspect.isawaitable(value) else value
        except TimeoutError as error:
            if limit.expired():
                raise
            raise RuntimeError(f"the function raised {words_of(error)}") from error  # before the limit

    def _value(self, *values: Any) -> Any:
        """What the function returns; no exception of its own ends the event loop or is lost in it."""
        try:
            return self._function(*values)
        except (StopIteration, *_ENDINGS) as error:
            raise _as_failure(error) from error

    async def close(self) -> None:
        """Release the threads without waiting for running ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _awaited(value: Awaitable[Any]) -> Any:
    """What a coroutine of the function returns; only this run itself cancels it."""
    try:
        return await value
    except _ENDINGS as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        raise _as_failure(error) from error


def _as_failure(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the function raised {type(error).__name__}")


def words_of(error: Exception) -> str:
    """An exception of a user's function for messages, without the keys in the environment."""
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001 - the method of an exception of the user, which may do anything
        text = f"its message cannot be read, {type(failure).__name__}"
    masked = KeyMask(*keys_of_environment())(f"{type(error).__name__}: {text}")
    return well_formed(without_escapes(masked))[:_LONGEST]
