"""Every exception the package raises on purpose.

::

    FastmetricsError                 base of all; its text is ready to show to a user
    ├── InputError  (ValueError)     data that cannot be scored: names column, row and what was expected
    │   ├── ColumnError              a column is missing, doubled by aliases, or of the wrong type
    │   └── FileFormatError          a file is truncated, malformed, of an unknown format, or not readable
    ├── UnknownNameError (ValueError) a metric, column, option or measure nobody knows; suggests the nearest
    ├── OptionError (ValueError)     an option has a value that it cannot take
    ├── OutputError (OSError)        the output exists, cannot be written, or belongs to another run
    ├── MissingExtraError (ImportError) an optional dependency is needed; says which extra to install
    └── WorkerError (RuntimeError)   a process of a cluster cannot start, or dies again and again
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FastmetricsError(Exception):
    """Base of every error the package raises on purpose."""


class InputError(FastmetricsError, ValueError):
    """Data that cannot be scored."""


class ColumnError(InputError):
    """A column is missing, named twice, or of the wrong type."""


class FileFormatError(InputError):
    """A file cannot be read as what it claims to be."""


class UnknownNameError(FastmetricsError, ValueError):
    """A name that nobody knows."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """The error for ``name``, with the nearest known names.

        >>> print(UnknownNameError.of("metric", "token_f2", ["token_f1", "jaccard"]))
        unknown metric 'token_f2'; did you mean 'token_f1'?
        """
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known) or 'none'}"
        return cls(f"unknown {kind} {name!r}; {hint}")


class OptionError(FastmetricsError, ValueError):
    """An option has a value that it cannot take."""


class OutputError(FastmetricsError, OSError):
    """The output exists, cannot be written, or belongs to another run."""


class MissingExtraError(FastmetricsError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtraError:
        """The error for ``package``, which the extra ``extra`` brings.

        >>> print(MissingExtraError.of("ray", "ray"))
        this needs ray, which is not installed: pip install 'fastmetrics-eval[ray]'
        """
        return cls(f"this needs {package}, which is not installed: pip install 'fastmetrics-eval[{extra}]'")


class WorkerError(FastmetricsError, RuntimeError):
    """A process of a cluster cannot start, or dies again and again."""
