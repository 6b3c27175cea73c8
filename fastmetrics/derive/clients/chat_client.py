"""A request to a chat completions server: the raw reply, or the failure and whether to retry."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastmetrics.base.arrays import well_formed
from fastmetrics.base.errors import Argument, MissingExtraError, OptionError, without_escapes
from fastmetrics.derive.calls.call import HTTP, TIMEOUT, Call
from fastmetrics.derive.clients.client import Connection, Failure, Reply
from fastmetrics.derive.clients.key_mask import KeyMask
from fastmetrics.derive.clients.reply_limits import Received, TooLongError, may_follow, origin_of, reader, retry_after
from fastmetrics.derive.clients.server_address import address_of, key_for, query_of, shown_address

_LONGEST_REASON = 500
_MOST_REDIRECTS = 5

_FINAL_CODES = ("insufficient_quota", "model_not_found", "invalid_api_key", "unsupported_parameter")
_FINAL_STATUSES = (401, 402, 403, 404, 405)
"""Refusals that every other call would get as well."""

_PASSING_STATUSES = (408, 409, 425, 429)
_FILTERED = ("content_filter", "content_policy_violation")


class ChatClient:
    """Sends calls to one address; use and close it within one event loop.

    Results and errors never contain the API key, or one in the address's query.  A reply has at most
    ``max_reply_bytes`` bytes.  Redirects to another server are refused, since prompts and the key are for this one.
    After a server refuses structured output, requests omit it.  Raises ``MissingExtraError`` if the package ``openai``
    is not installed.
    """

    def __init__(self, connection: Connection) -> None:
        try:
            openai = importlib.import_module("openai")
        except ImportError as error:
            raise MissingExtraError.of("openai", "judge") from error
        self._model = connection.model
        self._timeout = connection.timeout
        self._most_bytes = connection.max_reply_bytes
        key = key_for(connection.base_url)
        query = query_of(connection.base_url)
        self._without_key = KeyMask(key, *query.values(), *map(quote, query.values()))
        self.structured = True
        address = address_of(connection.base_url)
        try:
            self._client = openai.AsyncOpenAI(
                api_key=key or "none",
                base_url=address.partition("?")[0],
                default_query=query,
                max_retries=0,  # the sender retries, since it knows the limits of all calls
                timeout=None,  # ``send`` limits the whole call; the client would limit each read
                default_headers={"Accept-Encoding": "identity"},
                http_client=openai.DefaultAioHttpClient(
                    follow_redirects=False, event_hooks={"response": [reader(self._most_bytes)]}
                ),
            )
        except ValueError as error:
            raise OptionError(
                Argument("base_url", shown_address(address)), f": {self._for_message(str(error))}"
            ) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait at most ``timeout`` seconds for its complete reply."""
        structured = self.structured and call.schema is not None
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                received = await self._posted(self._body(call, structured))
        except TimeoutError:
            return Failure(TIMEOUT, f"no reply within {self._timeout:g} seconds")
        except TooLongError:
            return Failure(HTTP, f"the reply is above the limit max_reply_bytes of {self._most_bytes:,}", passing=False)
        except Exception as error:  # noqa: BLE001 - what a server sends makes other packages raise many exceptions
            return Failure(HTTP, self._for_message(f"the connection failed: {_cause(error)}"))
        latency = (time.perf_counter() - began) * 1000
        if received.redirect is not None:
            return self._redirected(received.status, received.redirect)
        if not 200 <= received.status < 300:
            refusal = _Refusal(received)
            if structured and refusal.is_about_format:
                self.structured = False
                return await self.send(call)
            return self._refused(refusal)
        if not _is_object(received.text):
            return Failure(HTTP, self._for_message(f"the reply is not a JSON object: {received.text[:200]}"))
        return Reply(self._without_key(received.text), latency)

    async def _posted(self, body: Mapping[str, Any]) -> Received:
        """The response to a request; redirects within the server are followed."""
        url = "/chat/completions"
        for _ in range(_MOST_REDIRECTS):
            try:
                await self._client.post(url, body=body, cast_to=str)
            except Received as received:
                target = received.redirect
                if target is None or not may_follow(received, target):
                    return received
                url = target
        raise ConnectionError(f"more than {_MOST_REDIRECTS} redirects")

    def _body(self, call: Call, structured: bool) -> dict[str, Any]:
        messages = [{"role": message.role, "content": well_formed(message.content)} for message in call.messages]
        body = {"model": self._model.name, "messages": messages, **self._model.parameters}
        if structured:
            schema = {"name": "reply", "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _redirected(self, status: int, target: str) -> Failure:
        place = origin_of(target) if self._without_key(target) == target else "an address that contains the key"
        reason = f"{status}: the server redirects to {place}, and prompts and keys are not sent there; if it"
        return Failure(
            HTTP, self._for_message(f"{reason} is the right server, use its address"), passing=False, fatal=True
        )

    def _refused(self, refusal: _Refusal) -> Reply | Failure:
        """The result for an HTTP error; a reply blocked by a filter is final, like any reply."""
        code, reason = refusal.status, self._for_message(f"{refusal.status}: {refusal.message}")
        if refusal.code in _FILTERED:
            return Reply(self._without_key(json.dumps({"error": {"code": _FILTERED[0], "message": reason}})), 0.0)
        fatal = code in _FINAL_STATUSES or refusal.code in _FINAL_CODES
        passing = not fatal and (code >= 500 or code in _PASSING_STATUSES)
        wait = retry_after(refusal.headers) if passing else None
        return Failure(HTTP, reason, wait, passing, fatal, limited=code == 429 and not fatal)

    def _for_message(self, text: str) -> str:
        """A server's words for messages, on one line, without the key, escape sequences and control characters."""
        text = self._without_key(well_formed(text))
        return " ".join(self._without_key(without_escapes(text)).split())[:_LONGEST_REASON]


class _Refusal:
    """An HTTP error: its status and headers, and the server's ``message`` and ``code``, if there are any."""

    def __init__(self, received: Received) -> None:
        self.status, self.headers = received.status, received.headers
        try:
            content = json.loads(received.text)
        except (ValueError, RecursionError):
            content = None
        error = content.get("error", content) if isinstance(content, Mapping) else None
        fields = error if isinstance(error, Mapping) else {"message": error}
        self.code = fields.get("code") if isinstance(fields.get("code"), str) else None
        message = fields.get("message")
        self.message: str = message if isinstance(message, str) else received.text or "an empty answer"

    @property
    def is_about_format(self) -> bool:
        """Whether the server refused structured output."""
        mentions_format = any(word in self.message for word in ("response_format", "json_schema", "structured output"))
        return self.status in (400, 404, 415, 422, 501) and mentions_format


def _cause(error: BaseException) -> str:
    """The words of the exception behind one of the HTTP client."""
    root = cause = error.__cause__ or error
    while root.__cause__ is not None:
        root = root.__cause__
    message = getattr(root, "message", None)  # aiohttp puts a status of its own before it, or the bytes so far
    if isinstance(message, str) and message:
        return message
    return "the server closed the connection within its reply" if message else str(cause) or type(cause).__name__


def _is_object(text: str) -> bool:
    """Whether a text is one complete JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
