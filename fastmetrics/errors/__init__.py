"""Every exception the package raises on purpose.

::

    FastmetricsError                 base of all; its text is ready to show to a user
    ├── InputError  (ValueError)     data that cannot be scored: names column, row and what was expected
    │   ├── ColumnError              a column is missing, doubled by aliases, or of the wrong type
    │   └── FileFormatError          a file is truncated, malformed, of an unknown format, or not readable
    ├── UnknownNameError (ValueError) a metric, column, option or measure nobody knows; suggests the nearest
    ├── OptionError (ValueError)     an option has a value that it cannot take
    ├── OutputError (OSError)        the output exists, cannot be written, or belongs to another run
    ├── PluginError (ValueError)     a metric of one's own cannot be declared, or does not give scores
    ├── MissingExtraError (ImportError) an optional dependency is needed; says which extra to install
    ├── WorkerError (RuntimeError)   a process of a cluster cannot start, or dies again and again
    ├── ServiceError (RuntimeError)  a model's server refuses or fails call after call
    └── ModelCallError (RuntimeError) raised by a model client of one's own: a call of its model failed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fastmetrics.errors.messages import ErrorMessage, shown
from fastmetrics.errors.spelling import suggestion


class FastmetricsError(Exception):
    """Base of every error the package raises on purpose.

    The text may consist of several parts; an :class:`~fastmetrics.errors.messages.Argument` is written ``threads=0`` in
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


class WorkerError(FastmetricsError, RuntimeError):
    """A process of a cluster cannot start, or dies repeatedly."""


class ServiceError(FastmetricsError, RuntimeError):
    """A service, such as a model server, refuses calls or fails repeatedly."""


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
