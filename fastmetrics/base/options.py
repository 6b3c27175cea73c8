"""Options: the values that each may have, declared once beside it and checked by one function."""

from __future__ import annotations

import numbers
import os
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastmetrics.base.column_names import split
from fastmetrics.base.errors import Argument, OptionError, shown

# Allowed values of options: declared once, beside the option, and checked by one function.
#
# A metric declares them in the annotation of an option, ``k: Annotated[int | None, Whole(1, 100)] = None``;
# :func:`argument` checks the argument of a function.


class NotAllowedError(ValueError):
    """A value that is not allowed; its text may give a reason."""


class Allowed(Protocol):
    """The allowed values of an option; as text, the expected values: "a whole number from 1 to 100"."""

    def take(self, value: Any) -> Any:
        """The value converted for the owner of the option; raises ``NotAllowedError`` if it is not allowed."""


@dataclass(frozen=True)
class Whole:
    """Integers from ``low`` to ``high``."""

    low: int
    high: int

    def take(self, value: Any) -> int:
        """The value as a Python int."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise NotAllowedError
        if not self.low <= int(value) <= self.high:
            raise NotAllowedError
        return int(value)

    def __str__(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Real:
    """Finite numbers from ``low`` (exclusive if ``above``) to ``high`` (exclusive if ``below``)."""

    low: float
    high: float
    above: bool = False
    below: bool = False

    def take(self, value: Any) -> Any:
        """The value as a Python number; an integer stays an int."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise NotAllowedError
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        low = self.low < number if self.above else self.low <= number
        high = number < self.high if self.below else number <= self.high
        if not (low and high):  # also rejects NaN
            raise NotAllowedError
        return number

    def __str__(self) -> str:
        low, high = f"{self.low:,.15g}", f"{self.high:,.15g}"
        return f"a number {'above' if self.above else 'from'} {low} {'and below' if self.below else 'to'} {high}"


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def take(self, value: Any) -> bool:
        """The value as a Python bool."""
        if type(value).__name__ not in ("bool", "bool_"):
            raise NotAllowedError
        return bool(value)

    def __str__(self) -> str:
        return "True or False"


class Choice:
    """One of several words or integers."""

    def __init__(self, *values: str | int) -> None:
        self.values = values

    def take(self, value: Any) -> str | int:
        """The allowed value that it equals."""
        plain = isinstance(value, str) or (isinstance(value, numbers.Integral) and not isinstance(value, bool))
        for allowed in self.values if plain else ():
            if value == allowed:
                return allowed
        raise NotAllowedError

    def __str__(self) -> str:
        *others, last = map(repr, self.values)
        return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True)
class LimitedText:
    """A text of at most ``longest`` characters."""

    longest: int = 10_000
    what: str = "text"

    def take(self, value: Any) -> str:
        """The text."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise NotAllowedError
        return str(value)

    def __str__(self) -> str:
        return f"{self.what} of at most {self.longest:,} characters"


@dataclass(frozen=True)
class Folder:
    """The path of a folder, which must exist if ``exists`` is set."""

    what: str
    exists: bool = True

    def take(self, value: Any) -> str:
        """The path."""
        path = LimitedText().take(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if not path or "\0" in path or (self.exists and not os.path.isdir(path)):
            raise NotAllowedError
        return path

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class LimitedTexts:
    """A list of non-blank texts, of at most ``most`` characters in total."""

    most: int = 100_000
    what: str = "texts"

    def take(self, value: Any) -> tuple[str, ...]:
        """The texts as a tuple."""
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) and text.strip() for text in value):
            raise NotAllowedError
        if sum(map(len, value)) > self.most:
            raise NotAllowedError
        return tuple(map(str, value))

    def __str__(self) -> str:
        return f"a list of {self.what} that are not blank, of at most {self.most:,} characters together"


@dataclass(frozen=True)
class Several:
    """A list of ``count`` values, each allowed by ``each``."""

    count: int
    each: Allowed

    def take(self, value: Any) -> tuple[Any, ...]:
        """The values as a tuple."""
        if not isinstance(value, list | tuple) or len(value) != self.count:
            raise NotAllowedError
        return tuple(map(self.each.take, value))

    def __str__(self) -> str:
        return f"a list of {self.count}, each {self.each}"


@dataclass(frozen=True)
class Optional:
    """The values of another type, or None."""

    inner: Allowed

    def take(self, value: Any) -> Any:
        """None, or the value."""
        return None if value is None else self.inner.take(value)

    def __str__(self) -> str:
        return f"{self.inner}, or None"


MOST = 1_000_000_000
"""The largest meaningful number of rows, ranks or words."""

Cutoff = Annotated[int | None, Whole(1, MOST), "the number of ranks to use; None for all"]
"""The number of ranks to use; None for all."""

Level = Annotated[float, Real(0.0, float(MOST), above=True), "the lowest grade that counts as relevant"]
"""The lowest grade that counts as relevant."""

Gain = Annotated[str, Choice("linear", "exponential"), "the gain of a grade g: g, or 2 to the power of g, less 1"]
"""The gain of a grade."""

Threads = Whole(1, 1_024)
Rows = Whole(1, MOST)
Neighbours = Whole(1, 100_000)
Seed = Whole(0, 2**31 - 1)
ExactWork = Real(0.0, 1e18)


def of_hint(hint: Any) -> Allowed:
    """The allowed values of an annotation: from its metadata, plus None for an optional type; bool needs none.

    Raises ``TypeError`` for an annotation without allowed values.
    """
    kind, *metadata = typing.get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    allowed = next((entry for entry in metadata if hasattr(entry, "take")), Flag() if kind is bool else None)
    if allowed is None:
        raise TypeError(f"{hint}: the annotation of an option must declare its allowed values")
    optional = types.NoneType in typing.get_args(kind) or kind is Any
    return Optional(allowed) if optional else allowed


def description_of(hint: Any) -> str:
    """The description of an option in its annotation, a text in the metadata; empty without one.

    >>> description_of(Cutoff)
    'the number of ranks to use; None for all'
    """
    return next((entry for entry in getattr(hint, "__metadata__", ()) if isinstance(entry, str)), "")


def argument(name: str, value: Any, allowed: Allowed) -> Any:
    """The value of an argument; raises an ``OptionError`` that names the argument if it is not allowed.

    >>> argument("threads", 0, Threads)
    Traceback (most recent call last):
    fastmetrics.base.errors.OptionError: threads=0: expected a whole number from 1 to 1,024
    """
    try:
        return allowed.take(value)
    except NotAllowedError as error:
        raise OptionError(Argument(name, value), f": expected {allowed}", _more(error)) from error


def check_names(**arguments: Any) -> None:
    """Raise ``OptionError`` for an argument that is neither a name nor None."""
    for name, value in arguments.items():
        argument(name, value, Optional(LimitedText(what="a name")))


def by_name(name: str, values: Any, what: str, *, spelled: bool = False) -> dict[str, Any]:
    """The argument of values by name, empty for None; raises ``OptionError``, which says ``what`` was expected.

    If it may be ``spelled``, a text is read as on the command line.

    >>> by_name("better", "price=lower, seconds=lower", "higher or lower", spelled=True)
    {'price': 'lower', 'seconds': 'lower'}
    """
    if spelled and isinstance(values, str) and all("=" in item for item in split(values)):
        values = {key.strip(): value.strip() for key, _, value in (item.rpartition("=") for item in split(values))}
    if values is not None and not (isinstance(values, Mapping) and all(isinstance(key, str) for key in values)):
        raise OptionError(Argument(name, values), f": expected names with {what}")
    return dict(values or {})


def option(owner: str, name: str, value: Any, allowed: Allowed) -> Any:
    """The value of an option of a metric or measure; raises an ``OptionError`` that names both if it is not allowed."""
    try:
        return allowed.take(value)
    except NotAllowedError as error:
        message = f"{owner}: option {name!r} expects {allowed}, got {shown(value)}{_more(error)}"
        raise OptionError(message) from error


def _more(error: NotAllowedError) -> str:
    return f" ({error})" if error.args else ""


# Allowed values of options that create something: a name, or an object such as a model or a parser.


@dataclass(frozen=True)
class NameOrObject:
    """A name or an object that creates something, such as an embedder, and that can be cached by identity."""

    what: str
    kinds: tuple[type, ...] = ()
    longest: int = 10_000
    check: Callable[[str], object] | None = None
    """Raises an error for an unknown name, without creating anything."""

    def take(self, value: Any) -> Any:
        """The name, or the object."""
        is_name = isinstance(value, str) and 0 < len(value) <= self.longest
        if not (is_name or callable(value) or isinstance(value, self.kinds)) or not _is_hashable(value):
            raise NotAllowedError
        if is_name and self.check is not None:
            self.check(value)
        return value

    def __str__(self) -> str:
        return self.what


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return isinstance(value, Hashable)
