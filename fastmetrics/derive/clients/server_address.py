"""The address of a model server, and the key for it: where they come from, and how messages hide secrets in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.derive.clients.model_client import MODEL_CLIENTS, scheme_of

KEY = "OPENAI_API_KEY"
"""The environment variable with the API key."""

ADDRESS = "OPENAI_BASE_URL"

_OPENAI = "https://api.openai.com/v1"


def address_of(base_url: str | None, argument: str = "base_url") -> str:
    """The server's address: the given one, otherwise from the environment, otherwise OpenAI's own.

    ``argument`` is the name of the address, for messages.

    Raises ``OptionError`` for a malformed address, or one with a user or password.
    """
    text = base_url or os.environ.get(ADDRESS) or _OPENAI
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
        good = good or scheme_of(text) is not None
        good = good and parts.username is None and text.isprintable() and not {" ", "#"}.intersection(text)
    except ValueError:
        good = False
    if not good:
        reason = f" without user and password; put the key into {KEY}" if "@" in text else ""
        clients = "".join(f", or {name}:" for name in MODEL_CLIENTS)
        raise OptionError(
            Argument(argument, shown_address(text)), f": expected an address such as https://host/v1{reason}{clients}"
        )
    return text


def shown_address(text: str) -> str:
    """An address for messages, without user, password and query, whatever is wrong with it.

    >>> shown_address("htp:/me:secret@host/v1?key=1"), shown_address("me:secret@host")
    ('htp:/***@host/v1', '***@host')
    """
    address = text.partition("?")[0] if "@" not in text.partition("?")[2] else text
    user, at, host = address.rpartition("@")
    if not at:
        return address
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/+", user)
    return f"{scheme[0] if scheme else ''}***@{host.partition('?')[0]}"


def endpoint_of(base_url: str | None) -> str:
    """The name of an address in the keys of stored calls: host, port and path, without query.

    >>> endpoint_of("https://host:8000/v1/?key=1")
    'host:8000/v1'

    The address of a model client is named with its scheme, without query.
    """
    address = address_of(base_url)
    if scheme_of(address) is not None:
        return address.partition("?")[0].rstrip("/")
    parts = urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"


def query_of(base_url: str | None) -> Mapping[str, str]:
    """The fields of an address's query, which belong to every request: ``api-version`` for example."""
    return dict(parse_qsl(urlsplit(address_of(base_url)).query, keep_blank_values=True))


def key_for(base_url: str | None) -> str:
    """The API key from the environment; a custom server needs none.

    Raises ``OptionError`` without a key for OpenAI's server, and for a key that no request can carry.
    """
    key = os.environ.get(KEY, "").strip()
    if not key and address_of(base_url) == _OPENAI:
        raise OptionError(f"no API key for {_OPENAI}: set {KEY}, or give ", Argument("base_url"), " of your own")
    if not (key.isascii() and key.isprintable()):
        raise OptionError(
            f"the API key in {KEY} contains a line break, another control character or a character beyond ASCII: "
            "set it to the key alone"
        )
    return key
