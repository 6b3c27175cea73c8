"""Reading a server's response within limits: of its size, of its redirects, and of the time it asks to wait."""

from __future__ import annotations

import email.utils
import math
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

LONGEST_WAIT = 300.0
"""The longest wait in seconds that a server may ask for."""

_FOLLOWED = (307, 308)
"""Redirects that keep method and body."""


class Received(Exception):  # noqa: N818 - no error: it hands a response over before the HTTP client reads its body
    """A response: status, headers, the text of its body, and the address that it came from."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str, url: str) -> None:
        super().__init__(status)
        self.status, self.headers, self.text, self.url = status, headers, text, url

    @property
    def redirect(self) -> str | None:
        """The address of a redirect."""
        location = self.headers.get("location")
        return urljoin(self.url, location) if 300 <= self.status < 400 and location else None


class TooLongError(Exception):
    """The body of a response is longer than allowed."""


class UnreadableError(Exception):
    """The body of a response cannot be decoded."""


def reader(most: int) -> Callable[[Any], Awaitable[None]]:
    """A hook of an HTTP client: it reads at most so many bytes of a response and raises them as ``Received``.

    The client itself would read, and unpack, a body of any size.
    """

    async def read(response: Any) -> None:
        text = (await _body(response, most)).decode("utf-8-sig", "replace")
        raise Received(response.status_code, response.headers, text, str(response.url))

    return read


async def _body(response: Any, most: int) -> bytes:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"the reply has the content encoding {encoding!r}, which was not requested")
    packed = encoding not in ("", "identity")
    unpack = zlib.decompressobj(wbits=47)  # gzip or zlib, by the header
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += unpack.decompress(chunk, most + 1 - len(body)) if packed else chunk
        if len(body) > most:
            raise TooLongError
    if packed and not unpack.eof:
        raise UnreadableError("the compressed reply ends early")
    return bytes(body)


def may_follow(received: Received, target: str) -> bool:
    """Whether a redirect leads to the same server, and the request can be repeated there."""
    return received.status in _FOLLOWED and origin_of(target) == origin_of(received.url)


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, without user; for messages and comparisons.

    >>> origin_of("https://me:secret@host:8000/v1?key=1"), origin_of("https://[bad")
    ('https://host:8000', 'an unreadable address')
    """
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}"
    except ValueError:
        return "an unreadable address"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The waiting time requested by a server, at most ``LONGEST_WAIT`` seconds, from a number or a date.

    >>> retry_after({"retry-after": "99999999"}), retry_after({"retry-after-ms": "1500"}), retry_after({})
    (300.0, 1.5, None)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = float(value) * unit
        except ValueError:
            try:
                wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
        if not math.isnan(wait):
            return min(max(wait, 0.0), LONGEST_WAIT)
    return None
