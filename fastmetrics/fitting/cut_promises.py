"""The promises of cuts that users ask for, as one object."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from fastmetrics.base.options import Optional, Real, about, argument, with_parameters

_Share = Optional(Real(0.0, 1.0, above=True, below=True))


@with_parameters
@dataclass(frozen=True, kw_only=True)
class CutPromises:
    """The promises for which :func:`fit` finds cuts of a score, tested on rows that are kept apart.

    {parameters}

    >>> CutPromises(precision=0.95)
    CutPromises(precision=0.95, recall=None, risk=None)

    Raises ``OptionError`` for a share that is not between 0 and 1.
    """

    precision: float | None = field(
        default=None, metadata=about("Find the lowest cut from which on this share of rows is positive.")
    )
    recall: float | None = field(
        default=None, metadata=about("Find the highest cut above which this share of the positive rows is.")
    )
    risk: float | None = field(
        default=None, metadata=about("Find the lowest cut with at most this share of rows above it and negative.")
    )

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an invalid share."""
        for setting in fields(self):
            argument(setting.name, getattr(self, setting.name), _Share)
