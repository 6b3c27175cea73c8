"""Messages with arguments: Python and the command line write an argument in their own syntax."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_NOTHING = object()

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = 12
_MANY_BITS = 1024
"""Integers of more bits are shown by their size: Python cannot write more than 4,300 digits."""


@dataclass(frozen=True)
class Argument:
    """An argument in a message, optionally with its current or expected value.

    >>> print(Argument("threads", 0), Argument("columns", {"answer": ...}), Argument("format"))
    threads=0 columns={'answer': ...} format=
    """

    name: str
    value: Any = _NOTHING

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.value is not _NOTHING

    def __str__(self) -> str:
        return f"{self.name}={_python(self.value) if self.has_value else ''}"


def _python(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_python(key)}: {_python(item)}" for key, item in value.items()) + "}"
    return "..." if value is ... else shown(value)


class ErrorMessage(str):
    """A text made of parts, some of which are arguments."""

    __slots__ = ("parts",)
    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: object) -> ErrorMessage:
        """A message from parts; nested messages are flattened, and other parts that are not arguments become text."""
        message = super().__new__(cls, "".join(map(str, parts)))
        pieces = [piece for part in parts for piece in (part.parts if isinstance(part, ErrorMessage) else (part,))]
        message.parts = tuple(piece if isinstance(piece, Argument) else str(piece) for piece in pieces)
        return message

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Pickling keeps the parts."""
        return self.parts

    def written(self, write: Callable[[Argument], str]) -> str:
        """The text with every argument as ``write`` writes it.

        >>> ErrorMessage("name it with ", Argument("format")).written(lambda argument: f"--{argument.name}")
        'name it with --format'
        """
        return "".join(write(part) if isinstance(part, Argument) else part for part in self.parts)


def shown(value: Any) -> str:
    """The repr of a value, truncated if it is long.

    >>> shown("x" * 1000)[-8:], shown(10**5000)
    ("xxxxxxx'", 'a whole number of 16,610 bits')
    """
    if isinstance(value, int) and value.bit_length() > _MANY_BITS:
        return f"a whole number of {value.bit_length():,} bits"
    return _BRIEF.repr(value)


def some(names: Iterable[str], most: int, between: str = ", ") -> str:
    """Names, separated; for more than ``most``, the first ones and the number of the others.

    >>> some(["a", "b"], 2), some("abc", 2)
    ('a, b', 'a, b and 1 more')
    """
    every = list(names)
    return between.join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def quoted(names: Iterable[object], most: int = 20) -> str:
    """Names in quotes, separated by commas; for more than ``most``, the first ones and the number of the others.

    >>> quoted(["id", "answer"]), quoted("abcd", most=2), quoted([])
    ("'id', 'answer'", "'a', 'b' and 2 more", 'none')
    """
    return some(map(shown, names), most) or "none"
