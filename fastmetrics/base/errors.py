"""Every exception the package raises on purpose, and its warning.

::

    FastmetricsError                 base of all; its text is ready to show to a user
    ├── InputError  (ValueError)     data that cannot be scored: names column, row and what was expected
    │   ├── ColumnError              a column is missing, doubled by aliases, or of the wrong type
    │   │   └── UnknownColumnError   a column that the caller named is not there; also an UnknownNameError
    │   └── FileFormatError          a file is truncated, malformed, of an unknown format, or not readable
    ├── UnknownNameError (ValueError) a metric, column, option or measure nobody knows; suggests the nearest
    ├── OptionError (ValueError)     an option has a value that it cannot take
    ├── OutputError (OSError)        the output exists, cannot be written, or belongs to another run
    ├── PluginError (ValueError)     a metric of one's own cannot be declared, or does not give scores
    ├── MissingExtraError (ImportError) an optional dependency is needed; says which extra to install
    ├── ServiceError (RuntimeError)  a model's server refuses or fails call after call
    └── ModelCallError (RuntimeError) raised by a model client of one's own: a call of its model failed

    ScoreWarning (UserWarning)       no exception: notes on the rows behind scores that come without a summary
"""

from __future__ import annotations

import difflib
import inspect
import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Messages with arguments: Python and the command line write an argument in their own syntax.


_NOTHING = object()

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 80
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = 12
_MANY_BITS = 1024
"""Integers of more bits are shown by their size: Python cannot write more than 4,300 digits."""


@dataclass(frozen=True)
class Argument:
    """An argument in a message, optionally with its current or expected value.

    ``otherwise`` is what a command says that has no option for it.

    >>> print(Argument("threads", 0), Argument("columns", {"answer": ...}), Argument("format"))
    threads=0 columns={'answer': ...} format=
    """

    name: str
    value: Any = _NOTHING
    otherwise: str = ""

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


class FastmetricsError(Exception):
    """Base of every error the package raises on purpose.

    The text may consist of several parts; an :class:`~fastmetrics.base.errors.Argument` is written ``threads=0`` in
    Python and ``--threads 0`` on the command line.
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(ErrorMessage(*parts))

    @property
    def message(self) -> ErrorMessage:
        """The text, with its arguments."""
        return self.args[0] if isinstance(self.args[0], ErrorMessage) else ErrorMessage(self.args[0])


class InputError(FastmetricsError, ValueError):
    """Data that cannot be scored; ``row`` is the place of the one bad row in its batch, if known."""

    def __init__(self, *parts: object, row: int | None = None) -> None:
        super().__init__(*parts)
        self.row = row


class ColumnError(InputError):
    """A column is missing, duplicated, or of the wrong type."""


class FileFormatError(InputError):
    """A file cannot be read in its format."""


class UnknownNameError(FastmetricsError, ValueError):
    """An unknown name."""

    @classmethod
    def of(
        cls,
        kind: str,
        name: str,
        choices: Iterable[str],
        first: Iterable[str] = (),
        aliases: Mapping[str, str] | None = None,
        listing: str = "",
    ) -> UnknownNameError:
        """The error for ``name``, with suggestions; names in ``first`` come before others.

        ``aliases`` are further spellings, with the names to suggest for them.  Without a similar name, the text lists
        the known names if there are few, otherwise ``listing`` says where to find them.

        >>> print(UnknownNameError.of("metric", "token_f2", ["token_f1", "jaccard"]))
        unknown metric 'token_f2'; did you mean 'token_f1'?
        """
        return cls(f"unknown {kind} {shown(name)}; {suggestion(name, choices, first, aliases, listing)}")


class UnknownColumnError(ColumnError, UnknownNameError):
    """A table lacks a column that the caller named."""


class OptionError(FastmetricsError, ValueError):
    """An option has an invalid value."""


class PluginError(FastmetricsError, ValueError):
    """A custom metric cannot be declared, or does not return scores."""


class OutputError(FastmetricsError, OSError):
    """The output exists, cannot be written, or belongs to another run."""


class MissingExtraError(FastmetricsError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtraError:
        """The error for ``package``, which the extra ``extra`` installs.

        >>> print(MissingExtraError.of("ray", "ray"))
        this needs ray, which is not installed; in a clone of fastmetrics, run: pip install -e '.[ray]'
        """
        # fastmetrics is on no package index
        command = f"pip install -e '.[{extra}]'"
        return cls(f"this needs {package}, which is not installed; in a clone of fastmetrics, run: {command}")


class ServiceError(FastmetricsError, RuntimeError):
    """A service, such as a model server, refuses calls or fails repeatedly."""


class ScoreWarning(UserWarning):
    """What the reader of scores should know of the rows: the notes that a summary would have, one on each line."""


def warn_of(notes: Iterable[str]) -> None:
    """Hand on notes as one warning, at the line that called this package; without notes, nothing."""
    text = "\n".join(notes)
    if not text:
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fastmetrics":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ScoreWarning, stacklevel=level)


class ModelCallError(FastmetricsError, RuntimeError):
    """The failure of one call, for model clients to raise.

    It is repeated, after ``retry_after`` seconds if known, unless it is ``final``; ``limited`` is a refusal for too
    many requests, ``fatal`` a failure that every other call would have too.
    """

    def __init__(
        self,
        *parts: object,
        retry_after: float | None = None,
        final: bool = False,
        fatal: bool = False,
        limited: bool = False,
    ) -> None:
        super().__init__(*parts)
        self.retry_after, self.limited, self.fatal = retry_after, limited, fatal
        self.final = final or fatal


# Comparing spellings of names, and suggestions for unknown names.


MOST = 3
"""Maximum number of suggestions in a message."""

LEAST, LEAST_OF_ALIAS = 0.6, 0.75
"""Minimum similarity for suggesting a name, and for suggesting a name by its alias."""

MARGIN = 0.15
"""How much less similar than the nearest name a further suggestion may be."""

FEW = 12
"""Up to this number, a message lists all known names."""

_LONGEST = 100
"""Longer names get no suggestions, because the comparison takes quadratic time."""


def fold(name: str) -> str:
    """The case-folded name without hyphens and underscores; equal for all spellings of one name.

    >>> fold("nDCG"), fold("ROUGE-L") == fold("rouge_l")
    ('ndcg', True)
    """
    return re.sub(r"[-_\s]", "", name).casefold()


def nearest(
    name: str, choices: Iterable[str], first: Iterable[str] = (), aliases: Mapping[str, str] | None = None
) -> list[str]:
    """At most three known names, best first: those in ``first``, then the most similar to ``name``.

    A prefix or a word of a known name is similar to it; otherwise the similarity is that of ``difflib``, ignoring
    case.  ``aliases`` are further spellings, with the name for each.

    >>> nearest("token_fl", ["token_f1", "token_recall", "jaccard"]), nearest("rouge2", ["rouge1_f1", "rouge2_f1"])
    (['token_f1'], ['rouge2_f1'])
    """
    likeness: dict[str, float] = dict.fromkeys(first, 2.0)
    typed = fold(name)
    spelled = (
        [*((choice, choice) for choice in choices), *(aliases or {}).items()] if 1 < len(typed) <= _LONGEST else []
    )
    for spelling, meant in spelled:
        alike = _alike(typed, spelling)
        if alike >= (LEAST if spelling == meant else LEAST_OF_ALIAS):
            likeness[meant] = max(likeness.get(meant, 0.0), alike)
    least = min(max(likeness.values(), default=0.0), 1.0) - MARGIN
    return sorted((choice for choice in likeness if likeness[choice] >= least), key=lambda choice: -likeness[choice])[
        :MOST
    ]


def _alike(typed: str, spelling: str) -> float:
    """The similarity of a folded name and a known name: from 0 to 1, or more for the same name in another spelling."""
    folded = fold(spelling)
    if folded == typed:
        return 3.0
    if folded.startswith(typed):
        return 0.9 + 0.1 * len(typed) / len(folded)
    if typed in map(fold, re.split(r"[-_]", spelling)):
        return 0.9
    return difflib.SequenceMatcher(None, typed, folded).ratio()


def either(names: Iterable[object]) -> str:
    """Alternatives in quotes.

    >>> either(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def suggestion(
    name: str,
    choices: Iterable[str],
    first: Iterable[str] = (),
    aliases: Mapping[str, str] | None = None,
    listing: str = "",
) -> str:
    """The suggestion for the unknown ``name``: the nearest names, or all if there are few, or where to find them.

    >>> suggestion("jacard", ["jaccard", "token_f1"]), suggestion("x", ["a", "b"])
    ("did you mean 'jaccard'?", 'known: a, b')
    """
    names = sorted(set(choices))
    near = nearest(name, names, first, aliases)
    if near:
        return f"did you mean {either(near)}?"
    return listing or f"known: {some(names, FEW) or 'none'}"


def near_or_all(name: str, columns: Iterable[str]) -> str:
    """What is said beside a column that a table lacks: the nearest ones, or all that there are.

    >>> near_or_all("langauge", ["id", "language"]), near_or_all("x", ["id", "language"])
    ("did you mean 'language'?", 'there are id, language')
    """
    names = list(dict.fromkeys(columns))
    near = nearest(name, names)
    return f"did you mean {either(near)}?" if near else f"there are {some(names, FEW) or 'none'}"


# Text as it may be shown: no character that hides or turns round what stands beside it.


_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""The marks that turn the direction of text."""

_SHOWN = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},
    **dict.fromkeys(range(0x7F, 0xA0), 0x2421),
    **dict.fromkeys(_TURNING, 0x2426),
}
"""A visible sign for each character that is not to be seen; one for one, so that places in a text stay."""

_HIDDEN = re.compile(f"[{re.escape(''.join(map(chr, _SHOWN)))}]")

_BREAKS = {0x09: 0x2409, 0x0A: 0x240A, 0x2028: 0x240A, 0x2029: 0x240A}
_BREAK = re.compile(f"[{''.join(map(chr, _BREAKS))}]")

_ESCAPE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links, device strings
    "|\x1b[ -/]*[0-~]"
)


def escaped_json(text: str) -> str:
    """JSON with escapes in place of characters that a terminal would act on; its values stay.

    >>> print(escaped_json('"a' + chr(0x9B) + 'b' + chr(0x202E) + '"'))
    "a\\u009bb\\u202e"
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def visible(text: str) -> str:
    """The text with a sign for each control character and each mark of direction, as long as before.

    >>> visible("a" + chr(0) + "b" + chr(0x202E) + "c")
    'a␀b␦c'
    """
    return text.translate(_SHOWN) if _HIDDEN.search(text) else text


def one_line(text: str) -> str:
    """The visible text in one line: a sign for each line break and tab, too.

    >>> one_line("a" + chr(10) + "::error::b" + chr(27) + "[31m")
    'a␊::error::b␛[31m'
    """
    return visible(text.translate(_BREAKS) if _BREAK.search(text) else text)


def without_escapes(text: str) -> str:
    """The text without the escape sequences of terminals, control characters and marks of direction.

    >>> without_escapes("a" + chr(27) + "[31mred" + chr(27) + "]0;title" + chr(7) + " b" + chr(8))
    'ared b'
    """
    return _HIDDEN.sub("", _ESCAPE.sub("", text))
