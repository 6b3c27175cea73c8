"""Keys in messages: an exception or a reply may repeat the key that it was sent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_SECRET = 12
"""Minimum length of a key that is treated as a secret; shorter keys, such as "none", are common words."""


class KeyMask:
    """Replaces keys in texts, in any case; also with ``\\u`` escapes, and with escapes of escapes, as in JSON in JSON.

    >>> KeyMask("sk-0123456789")(r'a "sk-0123456789", a "\\u0073k-012345678\\\\u0039"')
    'a "[key]", a "[key]"'
    """

    def __init__(self, *keys: str) -> None:
        patterns = ("".join(map(self._letter, key)) for key in keys if len(key) >= _SECRET)
        self._pattern = re.compile("|".join(patterns) or "(?!)", re.IGNORECASE)

    @staticmethod
    def _letter(letter: str) -> str:
        return rf"(?:{re.escape(letter)}|\\+u{ord(letter):04x})"

    def __call__(self, text: str) -> str:
        """The text without the keys."""
        return self._pattern.sub("[key]", text)


def keys_of_environment() -> Iterator[str]:
    """The values of the environment variables that are named as keys are: ``OPENAI_API_KEY``, ``HF_TOKEN``."""
    return (value.strip() for name, value in os.environ.items() if re.search(r"(API_?KEY|TOKEN|SECRET)$", name.upper()))
