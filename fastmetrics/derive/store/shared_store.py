"""The store of a run's calls, shared with other runs, and what happens when it can be written no longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from fastmetrics.base.errors import OutputError
from fastmetrics.derive.calls.call import BUDGET, REPLY, Answer, Call, Model
from fastmetrics.derive.store.call_claims import BEAT, CallClaims
from fastmetrics.derive.store.call_store import CallStore

_SPACE = 60.0
"""Seconds to wait for space on the disk of the store before replies that are only in memory are lost."""

_BETWEEN_WRITES = 0.5
_BETWEEN_LOOKS = 0.1
"""Seconds between looks at the claims of other runs."""


class SharedStore:
    """The results of one run: a call that another run has claimed is left to it, and its reply is waited for.

    After an ``error`` of the store, or of the run's output, no further call is to be made.  The replies to those in
    progress are waited for, kept in memory, and stored by ``end`` as soon as there is space.
    """

    def __init__(self, store: CallStore, model: Model) -> None:
        self._store, self._model = store, model
        self._claims = CallClaims(store)
        self._elsewhere: dict[bytes, Callable[[], None]] = {}
        self._last = store.last
        self.in_progress: set[bytes] = set()
        """Calls that were sent, and whose results are not stored yet."""
        self.error: OutputError | None = None

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this run began; clocks do not matter."""
        return answer.place <= self._last

    def holds(self, answer: Answer, *, again: bool) -> bool:
        """Whether an answer is a reply that is not to be requested ``again``."""
        return answer.outcome == REPLY and not (again and self.is_old(answer))

    def take(self, call: Call, free: Callable[[], None]) -> bool:
        """Claim a call; if another run has claimed it, ``free`` is called when that claim ends."""
        is_claimed = self._claims.take(call.key)
        if not is_claimed:
            self._elsewhere[call.key] = free
        return is_claimed

    def find(self, call: Call, *, again: bool) -> Answer | None:
        """The stored reply, if it is not to be requested ``again``; ends the claim if there is one."""
        answer = self._store.find([call.key]).get(call.key)
        if answer is None or not self.holds(answer, again=again):
            return None
        self._claims.release(call.key)
        return answer

    def put(self, call: Call, answer: Answer, *, again: bool) -> Answer:
        """Store the result of a call and end its claim; a call without a request has no result to store."""
        if answer.outcome != BUDGET:
            answer = self._store.put(call, self._model, answer, replace=again)
        self.in_progress.discard(call.key)
        self._claims.release(call.key)
        return answer

    def fail(self, error: OutputError) -> None:
        """Record that no further result can be written."""
        self.error = self.error or error

    def check_end(self) -> None:
        """Raise the error, if there is one and no more replies are expected."""
        if self.error is not None and len(self.in_progress) <= self._store.unsaved:
            raise self.error

    async def watch(self) -> None:
        """Give signs of life to other runs, and free the calls whose claims have ended."""
        beat = time.monotonic()
        while self.error is None:
            await asyncio.sleep(_BETWEEN_LOOKS)
            try:
                if time.monotonic() - beat > BEAT:
                    self._claims.beat()
                    beat = time.monotonic()
                for key in self._claims.free(self._elsewhere) if self._elsewhere else ():
                    self._elsewhere.pop(key)()
            except OutputError as error:
                self.fail(error)
        self.check_end()

    def end(self, error: BaseException | None) -> None:
        """Store the results that are only in memory, and end the claims of this run, which ended with an ``error``.

        Raises ``OutputError`` if results had to be kept, with what became of them.
        """
        unsaved = self._store.unsaved
        end = time.monotonic() + (_SPACE if isinstance(error, Exception) else 0.0)
        while (left := self._store.save()) and time.monotonic() < end:
            time.sleep(_BETWEEN_WRITES)
        with suppress(OutputError):  # the claims of a process that has ended do not count
            self._claims.close()
        if unsaved and isinstance(error, OutputError):
            stored = f"the {unsaved:,} results that could not be written were kept, and are stored now"
            lost = f"{left:,} results that were paid for could not be stored and are lost"
            outcome = f"; no further calls were made; {lost if left else stored}; make space, and run again"
            raise OutputError(error.message, outcome) from error
