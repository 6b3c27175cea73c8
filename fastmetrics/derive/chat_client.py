"""One request to a server of chat completions: the reply as it came, or what failed and whether to try again."""

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
"""The environment variable that holds the key of the service."""

ADDRESS = "OPENAI_BASE_URL"

_OPENAI = "https://api.openai.com/v1"
_LONGEST_REASON = 500
_SECRET = 12
"""Characters from which on a key is taken for a secret; shorter ones, such as "none", are words of many replies."""

_FINAL_CODES = ("insufficient_quota", "model_not_found", "invalid_api_key", "unsupported_parameter")
_FINAL_STATUSES = (401, 402, 403, 404, 405)
"""Refusals that every other call would meet as well."""

_PASSING_STATUSES = (408, 409, 425, 429)
_FILTERED = ("content_filter", "content_policy_violation")


@dataclass(frozen=True)
class Failure:
    """Why a request gave no reply.

    ``retry_after`` is how many seconds the server asks to wait; ``passing`` faults may go away by themselves, and
    ``fatal`` ones will meet every other call too.  ``limited`` is a refusal because of too many requests.
    """

    outcome: str
    reason: str
    retry_after: float | None = None
    passing: bool = True
    fatal: bool = False
    limited: bool = False


@dataclass(frozen=True)
class Reply:
    """The body of a reply, as it came, and how long it took."""

    body: str
    latency_ms: float


def address_of(base_url: str | None) -> str:
    """The address that is asked: the one given, else the environment's, else OpenAI's own.

    Raises ``OptionError`` for one that is no address of a web server.
    """
    text = base_url or os.environ.get(ADDRESS) or _OPENAI
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if not good:
        raise OptionError(Argument("base_url", text), ": expected an address like https://host/v1")
    return text


def endpoint_of(base_url: str | None) -> str:
    """What calls to an address are kept under: host, port and path, without names, passwords and queries.

    >>> endpoint_of("https://me:secret@host:8000/v1/?key=1")
    'host:8000/v1'
    """
    parts = urlsplit(address_of(base_url))
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"


def key_for(base_url: str | None) -> str:
    """The key from the environment; a server of one's own needs none.

    Raises ``OptionError`` if there is none for OpenAI's own.
    """
    key = os.environ.get(KEY, "").strip()
    if not key and address_of(base_url) == _OPENAI:
        raise OptionError(f"no key to ask {_OPENAI} with: set {KEY}, or give ", Argument("base_url"), " of your own")
    return key


class ChatClient:
    """Sends calls to one address; to be used and closed within one event loop.

    Nothing that it returns or raises holds the key.  A server that refuses structured output is asked without it from
    then on.  Raises ``MissingExtraError`` where the package ``openai`` is not installed.
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
            max_retries=0,  # the window tries again, as it knows the limits of all calls
            timeout=None,  # of the whole call, which ``send`` sees to; the client's own is one between bytes
            http_client=openai.DefaultAioHttpClient(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def send(self, call: Call) -> Reply | Failure:
        """Send one call and wait for its reply, ``timeout`` seconds at most, however slowly the bytes come."""
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
            return Failure(HTTP, self._told(f"the reply is no JSON object: {text[:200]}"))
        return Reply(self._without_key(text), latency)

    def _body(self, call: Call, structured: bool) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in call.messages]
        body = {"model": self._model.name, "messages": messages, **self._model.parameters}
        if structured:
            schema = {"name": "reply", "strict": True, "schema": call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _refused(self, error: Any) -> Reply | Failure:
        """What an error of HTTP means; a reply that a filter held back is final, like any reply."""
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
        """The text without the key, which a server may say again."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SECRET else text


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object, whole."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_about_format(error: Any) -> bool:
    """Whether a server refused a request for its wish for structured output."""
    said = _message(error)
    named = any(word in said for word in ("response_format", "json_schema", "structured output"))
    return error.status_code in (400, 404, 415, 422, 501) and named


def _message(error: Any) -> str:
    """What the server said of an error, or the little that there is."""
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        return str(body["message"])
    return str(error.response.text) or "an empty answer"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a server asks to wait, be it as a number or as a date."""
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
