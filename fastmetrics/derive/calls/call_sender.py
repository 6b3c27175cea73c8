"""Sending calls within limits: each distinct call is sent once, and stored calls are not sent."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from types import FrameType
from typing import Protocol

from fastmetrics.base.errors import OutputError, ServiceError
from fastmetrics.derive.calls.budget import Budget, tokens_of
from fastmetrics.derive.calls.call import BUDGET, REPLY, Answer, Call, Model
from fastmetrics.derive.calls.call_loop import CallLoop, Queue, Task
from fastmetrics.derive.calls.circuit_breaker import CircuitBreaker
from fastmetrics.derive.calls.rate_limits import RateLimits
from fastmetrics.derive.calls.retries import Retries
from fastmetrics.derive.clients.client import Client, Failure, Reply
from fastmetrics.derive.clients.completion import usage
from fastmetrics.derive.store.call_store import CallStore
from fastmetrics.derive.store.shared_store import SharedStore
from fastmetrics.results.prices import REPLY_TOKENS

_PATIENCE = 1.0
"""Seconds that calls in progress have to stop when nobody waits for them any more."""

_LAST_REPLIES = 120.0
"""Seconds to wait for the replies to calls in progress if the output cannot be written: they are paid for."""

_MOST_REFUSALS = 30
"""Number of refusals for too many requests after which a call fails; refusals are not attempts."""

_CHECKS = 2
"""Number of requests that check whether a server answers at all."""


class ModelCalls(Protocol):
    """The interface of a sender: the results of calls, and whether they are older than this run."""

    def is_old(self, answer: Answer) -> bool: ...

    def ask(self, calls: Sequence[Call], *, again: bool = False) -> list[Answer]: ...


class CallSender:
    """Sends calls to one model, at most ``concurrency`` at a time; thread-safe.

    A call with a stored reply is not sent; equal concurrent calls are sent once, also by several runs that share the
    store.  Every reply is stored before it is parsed.  ``connect`` creates the client before the first call is sent.
    Before failures end the run, a call that worked before, or else ``neutral``, or else another row, checks whether the
    server answers.  Use it as a context manager: leaving it cancels the calls in progress, or, after an
    ``OutputError``, waits for their replies.
    """

    def __init__(
        self,
        model: Model,
        store: CallStore,
        connect: Callable[[], Client],
        budget: Budget,
        limits: Callable[[], RateLimits],
        concurrency: int,
        retries: Retries,
        breaker: CircuitBreaker,
        neutral: Call | None = None,
    ) -> None:
        self._store, self._connect = store, connect
        self._shared = SharedStore(store, model)
        self._budget, self._limits, self._concurrency = budget, limits, concurrency
        self._retries, self._breaker = retries, breaker
        self._lock = threading.RLock()  # reentrant, since an interrupt may arrive while it is held
        self._under_way: dict[bytes, Future[Answer]] = {}
        self._failed: dict[bytes, Answer] = {}
        self._neutral = neutral
        self._worked: Call | None = None
        self._queued: dict[bytes, Call] = {}
        self._early: dict[bytes, asyncio.Task[Reply | Failure]] = {}
        self._checking = asyncio.Lock()
        self._broken: BaseException | None = None
        self._loop: CallLoop | None = None
        self._before: Callable[[int, FrameType | None], object] | None = None

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this sender was made."""
        return self._shared.is_old(answer)

    def __enter__(self) -> CallSender:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if isinstance(error, OutputError) and self._loop is not None:
            self._shared.fail(error)
            if self._shared.in_progress:
                self._loop.close(_LAST_REPLIES)
        self._break(ServiceError("the run has ended"))
        if self._loop is not None:
            self._loop.close(_PATIENCE)
        self._shared.end(error)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """Stop sending calls at once, before anything else is shut down."""
        self._break(ServiceError("the run was interrupted"))
        if self._before is not None:
            self._before(number, frame)

    def ask(self, calls: Sequence[Call], *, again: bool = False) -> list[Answer]:
        """The results of the calls, in their order; blocks until all have arrived.

        With ``again``, replies stored before this sender was opened are ignored and replaced.  Raises ``ServiceError``
        if the server fails repeatedly.
        """
        distinct = {call.key: call for call in calls}
        with self._lock:
            if self._broken is not None:
                raise self._broken
            stored = self._store.find(list(distinct))
            answers = {key: answer for key, answer in stored.items() if self._shared.holds(answer, again=again)}
            self._worked = next((distinct[key] for key in answers), self._worked)
            self._budget.spending.from_store += sum(map(self.is_old, answers.values()))
            answers |= {key: self._failed[key] for key in distinct if key in self._failed}
            self._store.check_writable(len(distinct.keys() - answers.keys()))
            waiting = {}
            for key, call in distinct.items():
                if key not in answers:
                    before = stored[key].attempt if key in stored else 0
                    waiting[key] = self._under_way.get(key) or self._send(call, before, again)
        answers |= {key: future.result() for key, future in waiting.items()}
        return [answers[call.key] for call in calls]

    def _send(self, call: Call, attempt: int, again: bool) -> Future[Answer]:
        future: Future[Answer] = Future()
        self._under_way[call.key] = future
        self._queued[call.key] = call
        if self._loop is None:
            self._loop = CallLoop(self._work)
        self._loop.put((call, attempt, again))
        return future

    async def _work(self, queue: Queue) -> None:
        """Create the client, and let ``concurrency`` workers process calls until they are cancelled."""
        client, limits = None, self._limits()
        try:
            client = self._connect()
            work = [self._worker(client, limits, queue) for _ in range(self._concurrency)]
            workers = [asyncio.ensure_future(job) for job in (*work, self._shared.watch())]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        except Exception as error:  # noqa: BLE001 - raised where the answers are waited for
            self._break(error)
        finally:
            if client is not None:
                await client.close()

    async def _worker(self, client: Client, limits: RateLimits, queue: Queue) -> None:
        shared = self._shared
        while shared.error is None:
            task = await queue.get()
            self._queued.pop(task[0].key, None)
            answer = None
            try:
                if shared.error is None and shared.take(task[0], partial(queue.put_nowait, task)):
                    answer = await self._result(task, client, limits)
            except OutputError as error:
                shared.fail(error)
            if answer is not None and shared.error is None:
                self._settle(task[0], answer)
        shared.check_end()

    async def _result(self, task: Task, client: Client, limits: RateLimits) -> Answer:
        """The stored result of a claimed call, which another run may just have made."""
        call, attempt, again = task
        answer = self._shared.find(call, again=again)
        if answer is not None:
            self._budget.spending.from_store += 1
            return answer
        answer = await self._answer(call, attempt, client, limits)
        return self._shared.put(call, answer, again=again)

    def _settle(self, call: Call, answer: Answer) -> None:
        """Give an answer to those who wait for it."""
        with self._lock:
            if answer.outcome != REPLY:
                self._failed[call.key] = answer
                self._budget.spending.failures[answer.outcome] += 1
            future = self._under_way.pop(call.key, None)
        if future is not None:
            future.set_result(answer)

    async def _answer(self, call: Call, attempt: int, client: Client, limits: RateLimits) -> Answer:
        """Retry a call until there is a reply, or a final failure."""
        failures = refusals = 0
        while True:
            came = await self._sent(call, client, limits)
            if came is None or (isinstance(came, Failure) and self._shared.error is not None):
                return Answer(BUDGET, "the budget is spent", attempt=attempt)
            attempt += 1
            if isinstance(came, Answer):
                self._breaker.worked()
                self._worked = call
                return came._replace(attempt=attempt)
            failures, refusals = failures + (not came.limited), refusals + came.limited
            given_up = not came.passing or failures >= self._retries.tries or refusals >= _MOST_REFUSALS
            if self._breaker.failed(came, given_up=given_up) is not None:
                await self._check(came, client, limits, given_up=given_up)
            if given_up:
                return Answer(came.outcome, came.reason, time=time.time(), attempt=attempt)
            await asyncio.sleep(self._retries.wait(max(failures, min(refusals, 6)), came.retry_after))

    async def _sent(self, call: Call, client: Client, limits: RateLimits) -> Answer | Failure | None:
        """Send a call once; None if the budget does not allow it, or its result could not be stored."""
        guessed = tokens_of(call) + REPLY_TOKENS
        await limits.enter(guessed)
        try:
            if not await self._budget.take(call):
                return None
            if self._shared.error is not None:
                self._budget.back(call, None)
                return None
            self._shared.in_progress.add(call.key)
            early = self._early.pop(call.key, None)
            came = await (client.send(call) if early is None else early)
        finally:
            limits.leave()
        self._budget.spending.unstructured = not client.structured
        if isinstance(came, Failure):
            self._shared.in_progress.discard(call.key)
            self._budget.back(call, None)
            if came.retry_after is not None:
                self._budget.spending.wait(came.retry_after)
            if came.limited:
                limits.limited(came.retry_after)
            return came
        prompt, completion = usage(came.body)
        answer = Answer(REPLY, came.body, prompt, completion, came.latency_ms, time.time())
        self._budget.back(call, answer)
        limits.used(guessed, (prompt or 0) + (completion or 0))
        limits.worked()
        return answer

    async def _check(self, failure: Failure, client: Client, limits: RateLimits, *, given_up: bool) -> None:
        """Raise the breaker's error unless the server answers another call; one check at a time."""
        async with self._checking:
            error = self._breaker.suspicion(failure, given_up=given_up)
            if error is None:  # a reply came meanwhile
                return
            reference = self._worked or (None if failure.fatal else self._neutral)
            if reference is not None:
                answered = await self._answers(reference, client, limits)
            else:
                answered = not failure.fatal and await self._answers_another(client)
            if not answered:
                raise error
            self._breaker.is_alive()

    async def _answers(self, reference: Call, client: Client, limits: RateLimits) -> bool:
        """Whether the server answers a call; a refusal for too many requests, or a spent budget, is no evidence."""
        for _ in range(_CHECKS):
            came = await self._sent(reference, client, limits)
            self._shared.in_progress.discard(reference.key)  # its reply is not stored
            if not isinstance(came, Failure) or came.limited:
                return True
        return False

    async def _answers_another(self, client: Client) -> bool:
        """Whether the last waiting call works, which is thus sent early; without one there is no evidence."""
        if not self._queued:
            return True
        key, call = self._queued.popitem()
        if not self._shared.take(call, lambda: None):  # another run makes it, so there is no evidence
            return True
        self._early[key] = asyncio.ensure_future(client.send(call))
        return isinstance(await asyncio.shield(self._early[key]), Reply)

    def _break(self, error: BaseException) -> None:
        """Stop all calls: every waiting caller gets the error."""
        with self._lock:
            self._broken = self._broken or error
            waiting, self._under_way = list(self._under_way.values()), {}
            if self._loop is not None:
                self._loop.stop()
        for future in waiting:
            future.set_exception(self._broken)
