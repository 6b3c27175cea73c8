"""Sending calls within limits of rate and money: each distinct call is sent once, and stored calls are not sent.

**Model calls are paid for once.** A column maker turns a batch of rows into calls, submits them to the sender, and
builds columns from the replies. It is run by the same function as scoring, so it shares outputs, parts, resuming and
summaries. Only the sender knows the store, the client, the limits, the budget and the circuit breaker. The key of a
stored call contains the exact messages, so rubrics need no version numbers, and a follow-up question after an
unreadable reply is a call like any other. A server that refuses one call is alive, and the row keeps the status of its
refusal; only failures without such an answer, one after the other, end the run. A resumed run recomputes a part if one
of its rows failed for a transient reason. Three batches are in progress at a time, so that the last calls of one batch
do not idle the sender.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

import tenacity

from fastmetrics.base.errors import Argument, OptionError, ServiceError
from fastmetrics.metrics.prices import REPLY_TOKENS, Price, estimated_tokens
from fastmetrics.models.call_store import CallStore
from fastmetrics.models.calls import BUDGET, REPLY, Answer, Call, Client, Failure, Model
from fastmetrics.models.clients import LONGEST_WAIT, ClientSettings

# How often and when a request is repeated, by the kind of its failure.


_MOST_DOUBLED = 7
_MOST_REFUSALS = 30
"""Number of refusals for too many requests after which a call fails; refusals are not attempts."""


@dataclass(frozen=True)
class Retries:
    """The maximum attempts of a call, and the waiting time between them, doubled each time, with jitter."""

    tries: int = 5
    pause: float = 0.5

    async def last(self, request: Callable[[], Awaitable[Answer | Failure]]) -> Answer | Failure:
        """Repeat a request until there is a reply, a failure that lasts, or too many of its kind."""
        first = await request()
        if not _passing(first):  # as most are: what follows would take a tenth of the time of a call
            return first
        refusals, waiting = 0, [first]

        async def next_one() -> Answer | Failure:
            return waiting.pop() if waiting else await request()

        def is_enough(state: tenacity.RetryCallState) -> bool:
            nonlocal refusals
            refusals += _failure(state).limited
            return refusals >= _MOST_REFUSALS or state.attempt_number - refusals >= self.tries

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(_passing),
            stop=is_enough,
            wait=lambda state: self.wait(state.attempt_number, _failure(state).retry_after),
            retry_error_callback=_failure,
        )
        return await retrying(next_one)

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Seconds before the next attempt, as the server requests, or after this many failures."""
        seconds = self.pause * 2 ** (min(failures, _MOST_DOUBLED) - 1) if retry_after is None else retry_after
        return min(seconds, LONGEST_WAIT) * (1 + random.random() / 4)


def _failure(state: tenacity.RetryCallState) -> Failure:
    """The failure of the last attempt."""
    assert state.outcome is not None
    failure: Failure = state.outcome.result()
    return failure


def _passing(came: Answer | Failure) -> bool:
    return isinstance(came, Failure) and came.passing


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
    on_wait: Callable[[str], None] = logging.getLogger("fastmetrics").warning
    """Receives why the run waits, if it does so for ``LONG_WAIT`` or more."""
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
        if is_new and seconds >= LONG_WAIT:
            self.on_wait(f"the server asks to wait {seconds:,.0f} s; waiting")


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


# A circuit breaker for a server that is down.


FIRST = 20
"""Number of failed requests before any reply after which the run ends."""

IN_A_ROW = 20
"""Number of consecutive failed calls, each with several attempts, after which the run ends."""


class CircuitBreaker:
    """Counts consecutive failures; a reply resets the count, and after one so does a refusal of a single call."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._requests = 0
        self._calls = 0
        self._has_worked = False

    def worked(self) -> None:
        """A reply came."""
        self._has_worked = True
        self._requests = self._calls = 0

    def failed(self, failure: Failure, *, given_up: bool, last: bool = False) -> None:
        """A request failed, or a call with its last attempt; raises ``ServiceError`` if the server is down.

        ``last`` is a call after which none is left that may work.
        """
        is_of_call = not (failure.passing or failure.fatal)
        if is_of_call and self._has_worked:
            self._requests = self._calls = 0
            return
        self._calls += given_up
        self._requests += not (given_up or failure.limited or is_of_call)
        if not self._has_worked and (self._requests >= FIRST or (last and self._requests)):
            if failure.fatal:
                raise ServiceError(f"{self._address} refuses all calls: {failure.reason}")
            raise ServiceError(f"{self._address}: no reply to {self._requests} requests: {failure.reason}")
        if self._calls >= IN_A_ROW and (last or not is_of_call):
            raise ServiceError(f"{self._address}: {self._calls} consecutive calls failed: {failure.reason}")


# Rate limits: requests and tokens per minute.


_MINUTE = 60.0


class RateLimits:
    """Says when a call may be sent, within one event loop: requests and tokens per minute, sent evenly.

    ``clock`` and ``sleep`` return the time and wait, in seconds.
    """

    def __init__(
        self,
        requests: float | None = None,
        tokens: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._pace = 0.0 if requests is None else _MINUTE / requests
        self._per_token = 0.0 if tokens is None else _MINUTE / tokens
        self._next = self._blocked_until = 0.0

    async def wait(self, tokens: float) -> None:
        """Wait until a call of about this many tokens may be sent."""
        now = self._clock()
        start = max(now, self._next, self._blocked_until)
        if self._pace or self._per_token:
            self._next = max(now, self._next) + max(self._pace, tokens * self._per_token)
        while start > now:
            await self._sleep(start - now)
            now = self._clock()
            start = max(start, self._blocked_until)

    def used(self, guessed: float, tokens: float) -> None:
        """Record the actual tokens of a call, in place of the estimate."""
        self._next += (tokens - guessed) * self._per_token

    def limited(self, retry_after: float) -> None:
        """Record a refusal: send nothing for the requested time."""
        self._blocked_until = max(self._blocked_until, self._clock() + retry_after)


# Sending calls within limits: each distinct call is sent once, and stored calls are not sent.


_PATIENCE = 1.0
"""Seconds that calls in progress have to stop when nobody waits for them any more."""


class ModelCalls(Protocol):
    """The interface of a sender: the results of calls, and whether they are older than this run."""

    def is_old(self, answer: Answer) -> bool: ...

    def ask(self, calls: Sequence[Call], *, again: bool = False) -> list[Answer]: ...


class CallSender:
    """Sends calls to one model, at most ``concurrency`` at a time; thread-safe.

    A call with a stored reply is not sent, nor one whose reply another run has stored meanwhile; equal concurrent calls
    are sent once.  Every reply is stored before it is parsed.  ``connect`` creates the client before the first call is
    sent.  Use it as a context manager: leaving it cancels the calls in progress.
    """

    def __init__(
        self, model: Model, store: CallStore, budget: Budget, settings: ClientSettings, connect: Callable[[], Client]
    ) -> None:
        self._model, self._store, self._connect = model, store, connect
        self._budget, self._breaker = budget, CircuitBreaker(str(model))
        self._limits = RateLimits(settings.rpm, settings.tpm)
        self._retries = Retries(settings.tries, settings.pause)
        self._last = store.last
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Future[Answer]] = {}
        self._failed: dict[bytes, Answer] = {}
        self._own: set[bytes] = set()
        self._broken: BaseException | None = None
        self._thread: threading.Thread | None = None
        # of the loop's thread alone
        self._places = asyncio.Semaphore(settings.concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._end = asyncio.Event()

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this sender was made; clocks do not matter."""
        return answer.place <= self._last

    def _holds(self, answer: Answer | None, again: bool) -> bool:
        """Whether an answer is a reply that is not to be requested ``again``."""
        return answer is not None and answer.outcome == REPLY and not (again and self.is_old(answer))

    def __enter__(self) -> CallSender:
        return self

    def __exit__(self, *exc: object) -> None:
        self._break(ServiceError("the run has ended"))
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(_PATIENCE)

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
            answers = {key: answer for key, answer in stored.items() if self._holds(answer, again)}
            self._budget.spending.from_store += len(answers.keys() - self._own)
            if answers:
                self._breaker.worked()
            answers |= {key: self._failed[key] for key in distinct if key in self._failed}
            missing = [call for key, call in distinct.items() if key not in answers]
            self._store.check_writable(len(missing))
            new = {call.key: Future[Answer]() for call in missing if call.key not in self._under_way}
            self._under_way |= new
            waiting = {call.key: self._under_way[call.key] for call in missing}
            if new:
                self._start()
                self._loop.call_soon_threadsafe(self._begin, [call for call in missing if call.key in new], again)
        answers |= {key: future.result() for key, future in waiting.items()}
        return [answers[call.key] for call in calls]

    # The work of the loop, on a thread of its own.

    def _start(self) -> None:
        if self._thread is None:
            self._client, self._loop = self._connect(), asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, name="fastmetrics-calls", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        """Let calls be sent until the end of this run, and cancel what is left."""
        await self._end.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    def _begin(self, calls: Sequence[Call], again: bool) -> None:
        for call in calls:
            task = self._loop.create_task(self._settle(call, again))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _settle(self, call: Call, again: bool) -> None:
        """Find the result of a call, and give it to those who wait for it; an error ends all calls."""
        try:
            async with self._places:
                answer = await self._result(call, again)
        except Exception as error:  # noqa: BLE001 - raised where the answers are waited for
            self._break(error)
            return
        with self._lock:
            if answer.outcome != REPLY:
                self._failed[call.key] = answer
                self._budget.spending.failures[answer.outcome] += 1
            future = self._under_way.pop(call.key, None)
        if future is not None:
            future.set_result(answer)

    async def _result(self, call: Call, again: bool) -> Answer:
        """The reply that another run has stored meanwhile, or the stored result of requests."""
        stored = self._store.find([call.key]).get(call.key)
        if stored is not None and self._holds(stored, again):
            self._budget.spending.from_store += 1
            return stored
        attempt = 0 if stored is None else stored.attempt

        async def request() -> Answer | Failure:
            nonlocal attempt
            came = await self._sent(call, attempt + 1, again)
            if came.outcome != BUDGET:
                attempt += 1
            if isinstance(came, Failure):
                self._breaker.failed(came, given_up=False)
            return came

        came = await self._retries.last(request)
        if isinstance(came, Answer):
            return came
        self._breaker.failed(came, given_up=True, last=len(self._under_way) == 1)
        return self._store.put(call, self._model, Answer(came.outcome, came.reason, time=time.time(), attempt=attempt))

    async def _sent(self, call: Call, attempt: int, again: bool) -> Answer | Failure:
        """Send a call once, and store its reply; an answer of the outcome BUDGET if it was not to be sent."""
        guessed = tokens_of(call) + REPLY_TOKENS
        await self._limits.wait(guessed)
        if self._broken is not None or not await self._budget.take(call):
            return Answer(BUDGET, "the budget is spent", attempt=attempt - 1)
        came = await self._client.send(call)
        spending = self._budget.spending
        spending.unstructured = not self._client.structured
        if isinstance(came, Failure):
            self._budget.back(call, came.charged)
            if came.retry_after is not None:
                spending.wait(came.retry_after)
                if came.limited:
                    self._limits.limited(came.retry_after)
            return came
        answer = came._replace(time=time.time(), attempt=attempt)
        self._budget.back(call, answer)
        self._limits.used(guessed, (answer.prompt_tokens or 0) + (answer.completion_tokens or 0))
        self._breaker.worked()
        self._own.add(call.key)
        return self._store.put(call, self._model, answer, replace=again)

    def _break(self, error: BaseException) -> None:
        """No further calls are sent: every waiting caller gets the error."""
        with self._lock:
            self._broken = self._broken or error
            waiting, self._under_way = list(self._under_way.values()), {}
        for future in waiting:
            future.set_exception(self._broken)
