"""Sending calls within limits of rate and money: each distinct call is sent once, and stored calls are not sent."""

from __future__ import annotations

import asyncio
import json
import math
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias

from fastmetrics.base.errors import Argument, OptionError, OutputError, ServiceError
from fastmetrics.models.call_store import CallStore, SharedStore
from fastmetrics.models.calls import BUDGET, REPLY, Answer, Call, Client, Failure, Model, Reply, usage
from fastmetrics.models.clients import LONGEST_WAIT
from fastmetrics.results.prices import REPLY_TOKENS, Price, estimated_tokens

# How often and when a failed call is repeated.


@dataclass(frozen=True)
class Retries:
    """The maximum attempts of a call, and the waiting time between them, doubled each time, with jitter."""

    tries: int = 5
    pause: float = 0.5

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Seconds before the next attempt, as the server requests, or after this many failures."""
        jitter = 1 + random.random() / 4
        if retry_after is not None:
            return min(retry_after, LONGEST_WAIT) * jitter
        return min(self.pause * 2 ** (failures - 1), LONGEST_WAIT) * jitter


# The spending of a run, and its limits.


LONGEST_REPLY = 4_096
"""The tokens of the longest reply, if the parameters of the call do not limit them."""

LONG_WAIT = 5.0
"""Seconds of a wait from which on it is announced."""

_MARKUP = 16
"""The highest number of tokens that a server adds to a message, such as its role."""


@dataclass
class Spending:
    """The spending of a run so far: requests, answers from the store, failures by kind, tokens and cost.

    The cost is that of the tokens of all replies that this run received, as the server counts them.  Every other cost
    (of judged rows, of a store) is the same sum over other replies: each call counts once, however many rows share it,
    with all its replies.
    """

    requests: int = 0
    replies: int = 0
    from_store: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """None without prices."""
    uncounted: int = 0
    """Replies whose tokens the server did not count; their cost is unknown and not included."""
    refusal: str | None = None
    """Why the budget refused a call; no call is sent after that."""
    waits_until: float = 0.0
    """Until when the server asks to send nothing, by ``time.monotonic``."""
    on_wait: Callable[[float], None] | None = None
    """Receives the seconds of each wait of ``LONG_WAIT`` or more."""
    unstructured: bool = False
    """Whether the server refused structured output and was asked without it."""

    @property
    def ended(self) -> bool:
        """Whether the budget refused a call."""
        return self.refusal is not None

    @property
    def waits(self) -> float:
        """Seconds for which the server still asks to send nothing."""
        return max(0.0, self.waits_until - time.monotonic())

    def wait(self, seconds: float) -> None:
        """Record that the server asks to send nothing for so many seconds."""
        now = time.monotonic()
        is_new, self.waits_until = self.waits_until <= now, max(self.waits_until, now + seconds)
        if is_new and seconds >= LONG_WAIT and self.on_wait is not None:
            self.on_wait(seconds)


class Budget:
    """Allows calls until ``max_calls`` requests were sent, or until one more call might exceed ``max_cost``.

    A call in progress counts with its highest possible cost: one token per byte of its messages, and a reply of
    ``reply_tokens``.  A reply without token counts keeps counting so.  Use a budget within one event loop.
    """

    def __init__(
        self,
        max_calls: int | None,
        max_cost: float | None,
        price: Price | None,
        reply_tokens: int = LONGEST_REPLY,
        reply_limit: str = "max_tokens",
    ) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._price, self._reply_tokens, self._reply_limit = price, reply_tokens, reply_limit
        self._in_progress = 0
        self._reserved = 0.0
        self._returned = asyncio.Event()
        self.spending = Spending(cost=None if price is None else 0.0)

    async def take(self, call: Call) -> bool:
        """Whether one more request may be sent, which is then counted.

        If only calls in progress leave too little, their cost is waited for: it may be lower than reserved.  Raises
        ``OptionError`` if the limit of the cost, unless 0, is too low for even the first call.
        """
        spending = self.spending
        while not spending.ended:
            highest = self._highest_cost(call)
            if self._max_calls is not None and spending.requests >= self._max_calls:
                spending.refusal = f"the limit of {self._max_calls:,} requests is reached"
            elif self._max_cost is None or (spending.cost or 0.0) + self._reserved + highest <= self._max_cost:
                spending.requests += 1
                self._in_progress += 1
                self._reserved += highest
                return True
            elif self._in_progress:
                await self._returned.wait()
            elif not spending.requests and self._max_cost:
                raise OptionError(*self._too_low(call, highest))
            else:
                spending.refusal = (
                    f"one more call may cost {highest:,.4g} (a reply of {self._reply_tokens:,} tokens), which might "
                    f"exceed the limit of {self._max_cost:,.4g}"
                )
        return False

    def back(self, call: Call, answer: Answer | None) -> None:
        """Record that a request returned, with an answer or not."""
        self._in_progress -= 1
        spending = self.spending
        if answer is not None:
            spending.replies += 1
            spending.prompt_tokens += answer.prompt_tokens or 0
            spending.completion_tokens += answer.completion_tokens or 0
            if self._price is not None:
                spending.cost = self._price.cost(spending.prompt_tokens, spending.completion_tokens)
        if answer is not None and None in (answer.prompt_tokens, answer.completion_tokens):
            spending.uncounted += 1
        else:
            self._reserved -= self._highest_cost(call)
        self._returned.set()  # wakes all that wait
        self._returned.clear()

    def _too_low(self, call: Call, highest: float) -> tuple[object, ...]:
        """The message for a limit that allows no call, with the settings that would."""
        cost = (
            f"{highest:,.4g} (a prompt of {self._prompt_tokens(call):,} and a reply of {self._reply_tokens:,} tokens)"
        )
        ways: tuple[object, ...] = ("raise the limit to ", Argument("max_cost", _rounded_up(highest)))
        price, most = self._price, self._max_cost or 0.0
        left = 0 if price is None else most - price.cost(self._prompt_tokens(call), 0)
        shorter = 0 if price is None or not price.output else int(left / price.cost(0, 1))
        if shorter >= REPLY_TOKENS:
            parameters = Argument("parameters", {self._reply_limit: shorter})
            ways = (*ways, ", or limit each reply to ", parameters)
        return (Argument("max_cost", most), f": no call was made, since the first one may cost {cost}; ", *ways)

    def _prompt_tokens(self, call: Call) -> int:
        """The highest number of tokens of a call's messages and schema."""
        schema = "" if call.schema is None else json.dumps(call.schema)
        texts = [schema, *(message.content for message in call.messages)]
        return sum(_MARKUP + len(text.encode("utf-8", "surrogatepass")) for text in texts)

    def _highest_cost(self, call: Call) -> float:
        if self._max_cost is None or self._price is None:
            return 0.0
        return self._price.cost(self._prompt_tokens(call), self._reply_tokens)


def _rounded_up(cost: float) -> float:
    """A cost with three significant digits, not lower than the cost."""
    unit = 10.0 ** (math.floor(math.log10(cost)) - 2)
    return float(f"{math.ceil(cost / unit) * unit:.3g}")


def tokens_of(call: Call) -> int:
    """The approximate number of tokens in the messages of a call."""
    return sum(estimated_tokens(message.content) for message in call.messages)


# A circuit breaker that tells a server that is down from calls that always fail.


FIRST = 20
"""Number of failed requests before any reply after which a server is checked."""

IN_A_ROW = 20
"""Number of consecutive failed calls, each with several attempts, after which a server is checked."""


class CircuitBreaker:
    """Counts consecutive failures; a reply resets the count.

    Failures alone do not tell whether the server or the calls are at fault.  An error of ``failed`` is therefore a
    suspicion: the caller checks the server with another call, and reports the result with ``is_alive`` or by raising
    the error.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._requests = 0
        self._calls = 0
        self._most = IN_A_ROW
        self._has_worked = False
        self._refuses_some = False

    def worked(self) -> None:
        """A reply came."""
        self._has_worked = True
        self._requests = self._calls = 0
        self._most = IN_A_ROW

    def is_alive(self) -> None:
        """The server answered a check, so the calls are at fault; the next check comes after twice as many."""
        self._has_worked = self._refuses_some = True
        self._requests = self._calls = 0
        self._most *= 2

    def failed(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """Record a failed request, or with the last attempt a failed call; the error to check for, if due."""
        self._requests += not failure.limited
        self._calls += given_up
        return self.suspicion(failure, given_up=given_up)

    def suspicion(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """The error that ends the run, unless the server answers a check."""
        if failure.fatal and not self._refuses_some:
            return ServiceError(f"{self._address} refuses all calls: {failure.reason}")
        nothing_yet = not self._has_worked and failure.passing
        if nothing_yet and (self._requests >= FIRST or (given_up and self._requests)):
            return ServiceError(f"{self._address}: no reply to {self._requests} requests: {failure.reason}")
        if self._calls >= self._most:
            return ServiceError(f"{self._address}: {self._calls} consecutive calls failed: {failure.reason}")
        return None


# Rate limits: concurrent calls, adapted to the server's refusals, and requests and tokens per minute.


_MINUTE = 60.0
_LEAST_BETWEEN_CUTS = 1.0
"""Minimum seconds between reductions: refusals of calls sent together count as one."""


class RateLimits:
    """Controls when calls may be sent, within one event loop.

    At most ``most`` calls are in progress.  A refusal for too many requests halves that number, at most once a second,
    and each reply raises it again by a fraction, so that it grows by one per round (additive increase, multiplicative
    decrease).  ``requests`` and ``tokens`` are those per minute, sent evenly.  ``clock`` and ``sleep`` return the
    time and wait, in seconds.
    """

    def __init__(
        self,
        most: int,
        requests: float | None = None,
        tokens: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._most = most
        self._clock, self._sleep = clock, sleep
        self._pace = 0.0 if requests is None else _MINUTE / requests
        self._per_token = 0.0 if tokens is None else _MINUTE / tokens
        self.allowed = float(most)
        """The current maximum of concurrent calls."""
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._next = self._blocked_until = 0.0
        self._cut = -math.inf

    async def enter(self, tokens: float) -> None:
        """Wait until a call of about this many tokens may be sent; call ``leave`` when it has returned."""
        while self._under_way >= int(self.allowed):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self._under_way += 1
        try:
            await self._wait_for_turn(tokens)
        except BaseException:
            self.leave()
            raise

    async def _wait_for_turn(self, tokens: float) -> None:
        now = self._clock()
        start = max(now, self._next, self._blocked_until)
        if self._pace or self._per_token:
            self._next = max(now, self._next) + max(self._pace, tokens * self._per_token)
        while start > now:
            await self._sleep(start - now)
            now = self._clock()
            start = max(start, self._blocked_until)

    def leave(self) -> None:
        """Record that a call is no longer in progress."""
        self._under_way -= 1
        self._wake()

    def _wake(self) -> None:
        room = int(self.allowed) - self._under_way
        while room > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                room -= 1

    def used(self, guessed: float, tokens: float) -> None:
        """Record the actual tokens of a call, in place of the estimate."""
        self._next += (tokens - guessed) * self._per_token

    def worked(self) -> None:
        """Record a reply: raise the limit slightly."""
        self.allowed = min(self._most, self.allowed + 1 / self.allowed)
        self._wake()

    def limited(self, retry_after: float | None) -> None:
        """Record a refusal for too many requests: reduce the limit, and send nothing for the requested time."""
        now = self._clock()
        if now - self._cut >= _LEAST_BETWEEN_CUTS:
            self._cut = now
            self.allowed = max(1.0, self.allowed / 2)
        if retry_after is not None:
            self._blocked_until = max(self._blocked_until, now + retry_after)


# The event loop of a sender, on its own thread, and the queue of its workers.


Task: TypeAlias = tuple[Call, int, bool]
"""A call to send, with the number of earlier requests, and whether its reply replaces a stored one."""

Queue: TypeAlias = "asyncio.Queue[Task]"


class CallLoop:
    """An event loop on its own thread, and the queue of its workers."""

    def __init__(self, work: Callable[[Queue], Coroutine[None, None, None]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._queue: Queue = asyncio.Queue()
        self._task = self._loop.create_task(work(self._queue))
        self._thread = threading.Thread(target=self._run, name="fastmetrics-calls", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(asyncio.wait([self._task]))
        finally:
            self._loop.close()

    def put(self, item: Task) -> None:
        """Give the workers a task, from any thread."""
        self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    def stop(self) -> None:
        """Cancel the work."""
        with suppress(RuntimeError):  # the loop may have ended already
            self._loop.call_soon_threadsafe(self._task.cancel)

    def close(self, patience: float) -> None:
        """Wait until the work has ended, at most this many seconds."""
        self._thread.join(patience)


# Sending calls within limits: each distinct call is sent once, and stored calls are not sent.


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
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Future[Answer]] = {}
        self._failed: dict[bytes, Answer] = {}
        self._neutral = neutral
        self._worked: Call | None = None
        self._queued: dict[bytes, Call] = {}
        self._early: dict[bytes, asyncio.Task[Reply | Failure]] = {}
        self._checking = asyncio.Lock()
        self._broken: BaseException | None = None
        self._loop: CallLoop | None = None

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this sender was made."""
        return self._shared.is_old(answer)

    def __enter__(self) -> CallSender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OutputError) and self._loop is not None:
            self._shared.fail(error)
            if self._shared.in_progress:
                self._loop.close(_LAST_REPLIES)
        self._break(ServiceError("the run has ended"))
        if self._loop is not None:
            self._loop.close(_PATIENCE)
        self._shared.end(error)

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
        client, limits, ended = None, self._limits(), None
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
            ended = error
        finally:
            if client is not None:
                await client.close()
        if ended is not None:  # only now, since this cancels the work, and so would the closing of connections
            self._break(ended)

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
            self._budget.back(call, came.charged)
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
