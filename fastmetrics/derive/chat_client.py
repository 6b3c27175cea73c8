"""A request to a chat completions server: the raw reply, or the failure and whether to retry."""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastmetrics.derive.call import HTTP, TIMEOUT, Call, Model
from fastmetrics.errors import MissingExtraError, OptionError
from fastmetrics.errors.messages import Argument

KEY = "OPENAI_API_KEY"
"""The environment variable with the API key."""

ADDRESS = "OPENAI_BASE_URL"

_OPENAI = "https://api.openai.com/v1"
_LONGEST_REASON = 500
_SECRET = 12
"""Minimum length of a key that is treated as a secret; shorter keys, such as "none", are common words."""

_FINAL_CODES = ("insufficient_quota", "model_not_found", "invalid_api_key", "unsupported_parameter")
_FINAL_STATUSES = (401, 402, 403, 404, 405)
"""Refusals that every other call would get as well."""

_PASSING_STATUSES = (408, 409, 425, 429)
_FILTERED = ("content_filter", "content_policy_violation")


@dataclass(frozen=True)
class Failure:
    """The failure of a request.

    ``retry_after`` is the waiting time requested by the server, in seconds; ``passing`` faults are transient, ``fatal``
    ones affect every other call too.  ``limited`` is a refusal for too many requests.
    """

    outcome: str
    reason: str
    retry_after: float | None = None
    passing: bool = True
    fatal: bool = False
    limited: bool = False


@dataclass(frozen=True)
class Reply:
    """The raw body of a reply, and its latency."""

    body: str
    latency_ms: float


def address_of(base_url: str | None) -> str:
    """The server's address: the given one, otherwise from the environment, otherwise OpenAI's own.

    Raises ``OptionError`` for a malformed address.
    """
    text = base_url or os.environ.get(ADDRESS) or _OPENAI
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if not good:
        raise OptionError(Argument("base_url", text), ": expected an address such as https://host/v1")
    return text


def endpoint_of(base_url: str | None) -> str:
    """The name of an address in the keys of stored calls: host, port and path, without credentials and queries.

    >>> endpoint_of("https://me:secret@host:8000/v1/?key=1")
    'host:8000/v1'
    """
    parts = urlsplit(address_of(base_url))
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"


def key_for(base_url: str | None) -> str:
    """The API key from the environment; a custom server needs none.

    Raises ``OptionError`` without a key for OpenAI's server.
    """
    key = os.environ.get(KEY, "").strip()
    if not key and address_of(base_url) == _OPENAI:
        raise OptionError(f"no API key for {_OPENAI}: set {KEY}, or give ", Argument("base_url"), " of your own")
    return key


class ChatClient:
    """Sends calls to one address; use and close it within one event loop.

    Results and errors never contain the API key.  After a server refuses structured output, requests omit it.  Raises
    ``MissingExtraError`` if the package ``openai`` is not installed.
    """

    def __init__(self, model: Model, base_url: str | None, timeout: float) -> None:
        try:
            openai = importlib.import_module("openai")
        except ImportError as error:
            raise MissingExtraError.of("openai", "judge") from error
        self._model = model
        self._timeout = timeout
        self._key = key_for(base_url)
        self._errors = openai.APIStatusError, openai.APIError
        self.structured = True
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=address_of(base_url),
            max_retries=0,  # the window retries, since it knows the limits of all calls
            timeout=None,  # ``send`` limits the whole call; the client would limit each read
            http_client=openai.DefaultAioHttpClient(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait at most ``timeout`` seconds for its complete reply."""
        structured = self.structured and call.schema is not None
        body = self._body(call, structured)
        status, other = self._errors
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                text: str = await self._client.post("/chat/completions", body=body, cast_to=str)
        except TimeoutError:
            return Failure(TIMEOUT, f"no reply within {self._timeout:g} seconds")
        except status as error:
            failure = self._refused(error)
            if structured and _is_about_format(error):
                self.structured = False
                return await self.send(call)
            return failure
        except other as error:
            return Failure(HTTP, self._told(f"the connection failed: {error.__cause__ or error}"))
        latency = (time.perf_counter() - began) * 1000
        if not _is_object(text):
            return Failure(HTTP, self._told(f"the reply is not a JSON object: {text[:200]}"))
        return Reply(self._without_key(text), latency)

    def _body(self, call: Call, structured: bool) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in call.messages]
        body = {"model": self._model.name, "messages": messages, **self._model.parameters}
        if structured:
            schema = {"name": "reply", "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _refused(self, error: Any) -> Reply | Failure:
        """The result for an HTTP error; a reply blocked by a filter is final, like any reply."""
        code, reason = error.status_code, self._told(f"{error.status_code}: {_message(error)}")
        if getattr(error, "code", None) in _FILTERED:
            return Reply(self._without_key(json.dumps({"error": {"code": _FILTERED[0], "message": reason}})), 0.0)
        fatal = code in _FINAL_STATUSES or getattr(error, "code", None) in _FINAL_CODES
        passing = not fatal and (code >= 500 or code in _PASSING_STATUSES)
        wait = _retry_after(error.response.headers) if passing else None
        return Failure(HTTP, reason, wait, passing, fatal, limited=code == 429 and not fatal)

    def _told(self, text: str) -> str:
        return " ".join(self._without_key(text).split())[:_LONGEST_REASON]

    def _without_key(self, text: str) -> str:
        """The text without the API key, which a server may repeat."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SECRET else text


def _is_object(text: str) -> bool:
    """Whether a text is one complete JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_about_format(error: Any) -> bool:
    """Whether a server refused a request because of structured output."""
    said = _message(error)
    named = any(word in said for word in ("response_format", "json_schema", "structured output"))
    return error.status_code in (400, 404, 415, 422, 501) and named


def _message(error: Any) -> str:
    """The server's message about an error, or the status if there is none."""
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])
    return str(error.response.text) or "an empty answer"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The waiting time requested by a server in seconds, from a number or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = float(value) * unit
        except ValueError:
            try:
                wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                continue
        if math.isfinite(wait):
            return max(wait, 0.0)
    return None
