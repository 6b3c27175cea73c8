"""Text as it may be shown: no character that hides or turns round what stands beside it."""

from __future__ import annotations

import re

_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""The marks that turn the direction of text."""

_SHOWN = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},
    **dict.fromkeys(range(0x7F, 0xA0), 0x2421),
    **dict.fromkeys(_TURNING, 0x2426),
}
"""A visible sign for each character that is not to be seen; one for one, so that places in a text stay."""

_HIDDEN = re.compile(f"[{re.escape(''.join(map(chr, _SHOWN)))}]")

_ESCAPE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links, device strings
    "|\x1b[ -/]*[0-~]"
)


def visible(text: str) -> str:
    """The text with a sign for each control character and each mark of direction, as long as before.

    >>> visible("a" + chr(0) + "b" + chr(0x202E) + "c")
    'a␀b␦c'
    """
    return text.translate(_SHOWN) if _HIDDEN.search(text) else text


def without_escapes(text: str) -> str:
    """The text without the escape sequences of terminals, control characters and marks of direction.

    >>> without_escapes("a" + chr(27) + "[31mred" + chr(27) + "]0;title" + chr(7) + " b" + chr(8))
    'ared b'
    """
    return _HIDDEN.sub("", _ESCAPE.sub("", text))
