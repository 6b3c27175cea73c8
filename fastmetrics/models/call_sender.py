"""Sending calls within limits of rate and money: each distinct call is sent once, and stored calls are not sent.

**Model calls are paid for once.** A column maker turns a batch of rows into calls, submits them to the sender, and
builds columns from the replies. It is run by the same function as scoring, so it shares outputs, parts, resuming and
summaries. Only the sender knows the store, the client, the limits, the budget and the circuit breaker. The key of a
stored call contains the exact messages, so rubrics need no version numbers, and a follow-up question after an
unreadable reply is a call like any other. When many calls fail, a call that worked before (or a short prompt, if none
has; for a function, another row) tells whether the server is down or the rows are at fault: only a server that does not
answer ends the run, and rows whose calls fail keep their status. A resumed run recomputes a part if one of its rows
failed for a transient reason. Three batches are in progress at a time, so that the last calls of one batch do not idle
the sender.
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

from fastmetrics.base.errors import Argument, OptionError, OutputError, ServiceError
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
    """Receives why the run waits, if it does so for ``LONG_WAIT`` or more, or for another run."""
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


# A circuit breaker that tells a server that is down from calls that always fail.


FIRST = 20
"""Number of failed requests before any reply after which a server is checked."""

IN_A_ROW = 20
"""Number of consecutive failed calls, each with several attempts, after which a server is checked."""


class CircuitBreaker:
    """Counts consecutive failures; a reply resets the count.

    Failures alone do not tell whether the server or the calls are at fault.  After a ``suspicion``, the caller
    therefore checks the server with another call, and reports the result with ``is_alive`` or by raising the error.
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

    def failed(self, failure: Failure) -> None:
        """A request failed."""
        self._requests += not failure.limited

    def gave_up(self) -> None:
        """A call failed, with its last attempt."""
        self._calls += 1

    def suspicion(self, failure: Failure, *, given_up: bool) -> ServiceError | None:
        """The error that ends the run after this failure, unless the server answers a check."""
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
        self._in_progress = 0
        self._has_place = asyncio.Event()
        self._next = self._blocked_until = 0.0
        self._cut = -math.inf

    async def enter(self, tokens: float) -> None:
        """Wait until a call of about this many tokens may be sent; call ``leave`` when it has returned."""
        while self._in_progress >= int(self.allowed):
            self._has_place.clear()
            await self._has_place.wait()  # wakes all that wait, which are few: the sender starts no more
        self._in_progress += 1
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
        self._in_progress -= 1
        self._has_place.set()

    def used(self, guessed: float, tokens: float) -> None:
        """Record the actual tokens of a call, in place of the estimate."""
        self._next += (tokens - guessed) * self._per_token

    def worked(self) -> None:
        """Record a reply: raise the limit slightly."""
        self.allowed = min(self._most, self.allowed + 1 / self.allowed)
        self._has_place.set()

    def limited(self, retry_after: float | None) -> None:
        """Record a refusal for too many requests: reduce the limit, and send nothing for the requested time."""
        now = self._clock()
        if now - self._cut >= _LEAST_BETWEEN_CUTS:
            self._cut = now
            self.allowed = max(1.0, self.allowed / 2)
        if retry_after is not None:
            self._blocked_until = max(self._blocked_until, now + retry_after)


# Sending calls within limits: each distinct call is sent once, and stored calls are not sent.


_PATIENCE = 1.0
"""Seconds that calls in progress have to stop when nobody waits for them any more."""

_LAST_REPLIES = 120.0
"""Seconds to wait for the replies to calls in progress if the output cannot be written: they are paid for."""

_SPACE = 60.0
"""Seconds to wait for space on the disk of the store before replies that are only in memory are lost."""

_BETWEEN_LOOKS = 0.1
"""Seconds between looks whether another run has ended, the last calls have, or the disk has space."""

_CHECKS = 2
"""Number of requests that check whether a server answers at all, unless it refuses the first one."""


class ModelCalls(Protocol):
    """The interface of a sender: the results of calls, and whether they are older than this run."""

    def is_old(self, answer: Answer) -> bool: ...

    def ask(self, calls: Sequence[Call], *, again: bool = False) -> list[Answer]: ...


class CallSender:
    """Sends calls to one model, at most ``concurrency`` at a time; thread-safe.

    A call with a stored reply is not sent; equal concurrent calls are sent once, also by several runs that share the
    store, since these take turns.  Every reply is stored before it is parsed.  ``connect`` creates the client before
    the first call is sent.  Before failures end the run, a call that worked before, or else ``neutral``, or else
    another row, checks whether the server answers.  Use it as a context manager: leaving it cancels the calls in
    progress, or, after an ``OutputError``, waits for their replies.
    """

    def __init__(
        self,
        model: Model,
        store: CallStore,
        budget: Budget,
        settings: ClientSettings,
        connect: Callable[[], Client],
        neutral: Call | None = None,
    ) -> None:
        self._model, self._store, self._connect = model, store, connect
        self._budget, self._breaker = budget, CircuitBreaker(str(model))
        self._limits = RateLimits(settings.concurrency, settings.rpm, settings.tpm)
        self._retries = Retries(settings.tries, settings.pause)
        self._neutral = neutral
        self._last = self._before = store.last  # before this sender, and before its turn
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Future[Answer]] = {}
        self._failed: dict[bytes, Answer] = {}
        self._broken: BaseException | None = None
        self._thread: threading.Thread | None = None
        # of the loop's thread alone
        self._places = asyncio.Semaphore(settings.concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[bytes, Call] = {}
        self._worked: Call | None = None
        self._checking = asyncio.Lock()
        self._turn, self._end = asyncio.Event(), asyncio.Event()
        self._in_progress = 0

    def is_old(self, answer: Answer) -> bool:
        """Whether an answer was stored before this sender was made; clocks do not matter."""
        return answer.place <= self._last

    def _holds(self, answer: Answer | None, again: bool) -> bool:
        """Whether an answer is a reply that is not to be requested ``again``."""
        return answer is not None and answer.outcome == REPLY and not (again and self.is_old(answer))

    def __enter__(self) -> CallSender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._break(ServiceError("the run has ended"))
        if self._thread is not None:
            if isinstance(error, OutputError):
                _wait_until(lambda: not self._in_progress, _LAST_REPLIES)
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(_PATIENCE)
        unsaved = self._store.unsaved
        if unsaved:
            _wait_until(lambda: not self._store.save(), _SPACE if isinstance(error, Exception) else 0.0)
        if unsaved and isinstance(error, OutputError):
            left = self._store.unsaved
            stored = f"the {unsaved:,} results that could not be written were kept, and are stored now"
            lost = f"{left:,} results that were paid for could not be stored and are lost"
            outcome = f"; no further calls were made; {lost if left else stored}; make space, and run again"
            raise OutputError(error.message, outcome) from error

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
            self._worked = next((distinct[key] for key in answers), self._worked)
            waits = not self._turn.is_set()  # until its turn this run sends nothing
            self._budget.spending.from_store += sum(waits or one.place <= self._before for one in answers.values())
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
        """Wait for the turn of this run, let calls be sent until its end, and cancel what is left."""
        try:
            await self._wait_for_turn()
        except Exception as error:  # noqa: BLE001 - raised where the answers are waited for
            self._break(error)
        await self._end.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    async def _wait_for_turn(self) -> None:
        is_new = True
        while (holder := self._store.take_turn(self._model)) is not None and not self._end.is_set():
            if is_new:
                self._budget.spending.on_wait(
                    f"{holder} asks {self._model} through the store {self._store.path}; waiting for its end"
                )
            is_new = False
            await asyncio.sleep(_BETWEEN_LOOKS)
        self._before = self._store.last
        self._turn.set()

    def _begin(self, calls: Sequence[Call], again: bool) -> None:
        for call in calls:
            self._waiting[call.key] = call
            task = self._loop.create_task(self._settle(call, again))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _settle(self, call: Call, again: bool) -> None:
        """Find the result of a call, and give it to those who wait for it; an error ends all calls."""
        try:
            async with self._places:
                await self._turn.wait()
                self._waiting.pop(call.key, None)
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
            came = await self._sent(call, attempt + 1, store=True, again=again)
            if came.outcome != BUDGET:
                attempt += 1
            if isinstance(came, Failure):
                self._breaker.failed(came)
                await self._check(came, given_up=False)
            return came

        came = await self._retries.last(request)
        if isinstance(came, Answer):
            return came
        self._breaker.gave_up()
        await self._check(came, given_up=True)
        return self._store.put(call, self._model, Answer(came.outcome, came.reason, time=time.time(), attempt=attempt))

    async def _sent(self, call: Call, attempt: int = 0, *, store: bool, again: bool = False) -> Answer | Failure:
        """Send a call once, and ``store`` its reply; an answer of the outcome BUDGET if it was not to be sent."""
        guessed = tokens_of(call) + REPLY_TOKENS
        await self._limits.enter(guessed)
        try:
            if self._broken is not None or not await self._budget.take(call):
                return Answer(BUDGET, "the budget is spent", attempt=attempt - 1)
            self._in_progress += 1
            try:
                came = await self._client.send(call)
                return self._received(call, came, guessed, attempt, store, again)
            finally:
                self._in_progress -= 1
        finally:
            self._limits.leave()

    def _received(
        self, call: Call, came: Answer | Failure, guessed: int, attempt: int, store: bool, again: bool
    ) -> Answer | Failure:
        """Count what a request brought, and store a reply."""
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
        self._limits.worked()
        if store:
            self._worked = call
            self._breaker.worked()
            answer = self._store.put(call, self._model, answer, replace=again)
        return answer

    async def _check(self, failure: Failure, *, given_up: bool) -> None:
        """Raise the error that the breaker suspects unless the server answers another call; one check at a time."""
        if self._breaker.suspicion(failure, given_up=given_up) is None:
            return
        async with self._checking:
            error = self._breaker.suspicion(failure, given_up=given_up)
            if error is None:  # a reply came meanwhile
                return
            if not await self._answers():
                raise error
            self._breaker.is_alive()

    async def _answers(self) -> bool:
        """Whether the server answers a call; a refusal for too many requests, or a spent budget, is no evidence."""
        reference = self._worked or self._neutral
        if reference is None:  # a function: the last waiting row, if there is one
            return not self._waiting or isinstance(await self._sent(self._waiting.popitem()[1], 1, store=True), Answer)
        for _ in range(_CHECKS):
            came = await self._sent(reference, store=False)
            if isinstance(came, Answer) or came.limited:
                return True
            if not came.passing:
                break
        return False

    def _break(self, error: BaseException) -> None:
        """No further calls are sent: every waiting caller gets the error."""
        with self._lock:
            self._broken = self._broken or error
            waiting, self._under_way = list(self._under_way.values()), {}
        for future in waiting:
            future.set_exception(self._broken)


def _wait_until(happened: Callable[[], bool], seconds: float) -> None:
    """Wait for something, at most so long."""
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(_BETWEEN_LOOKS)
